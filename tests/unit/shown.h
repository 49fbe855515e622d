/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is printed, compared with the text kept in unit_NAME.txt, word for word. After a change of it, from the top:
 * SHOWN=record build/tests/unit_NAME, and read the difference.
 */
#ifndef SHOWN_H
#define SHOWN_H

#include <sys/mman.h>
#include <unistd.h>

#include "ktap.h"

struct shown {
	const char *name, *text;
};

struct shows {
	const char *file;
	const struct shown *known;
	size_t n;
	FILE *record; /* where SHOWN=record */
	int out, seen;
	bool plain; /* the file is no C: each name behind "== ", and its text */
};

__attribute__((unused)) static void shows_begin(struct shows *s)
{
	fflush(stdout);
	s->out = dup(STDOUT_FILENO);
	s->seen = memfd_create("shown", MFD_CLOEXEC);
	dup2(s->seen, STDOUT_FILENO);
}

/* As a string of C for each line. */
static void shows_record(struct shows *s, const char *name, const char *text)
{
	if (!s->record && !(s->record = fopen(s->file, "w")))
		return;
	if (s->plain) {
		fprintf(s->record, "== %s\n%s", name, text);
		fflush(s->record);
		return;
	}
	fprintf(s->record, "{ \"%s\",", name);
	for (const char *at = text; *at; at++) {
		if (at == text || at[-1] == '\n')
			fputs("\n\"", s->record);
		if (*at == '"' || *at == '\\')
			fprintf(s->record, "\\%c", *at);
		else if (*at != '\n')
			fputc(*at, s->record);
		if (*at == '\n' || !at[1])
			fputs(*at == '\n' ? "\\n\"" : "\"", s->record);
	}
	fputs(" },\n", s->record);
	fflush(s->record);
}

/* What has been printed since shows_begin(): is it the known text of that name? */
__attribute__((unused)) static bool shows_as(struct shows *s, const char *name)
{
	static char text[1 << 20];
	const char *is = text, *known = "";
	unsigned int line = 1;
	ssize_t n;

	fflush(stdout);
	dup2(s->out, STDOUT_FILENO);
	n = pread(s->seen, text, sizeof(text) - 1, 0);
	close(s->out);
	close(s->seen);
	text[n < 0 ? 0 : n] = '\0';
	if (getenv("SHOWN")) {
		shows_record(s, name, text);
		return true;
	}
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->known[i].name, name))
			known = s->known[i].text;
	for (; *is && *is == *known; is++, known++)
		line += *is == '\n';
	while (is > text && is[-1] != '\n') {
		is--;
		known--;
	}
	return CHECK(!strcmp(is, known), "%s, line %u: '%.*s', not '%.*s'", name, line, (int)strcspn(is, "\n"), is,
		     (int)strcspn(known, "\n"), known);
}

struct scene {
	const char *name;
	void (*happens)(void);
};

/* One after the other, each from the beginning. */
__attribute__((unused)) static void shows_scenes(struct shows *s, const struct scene *scenes, size_t n,
						 void (*begin)(void))
{
	for (size_t i = 0; i < n; i++) {
		if (begin)
			begin();
		shows_begin(s);
		scenes[i].happens();
		shows_as(s, scenes[i].name);
	}
}

#endif
