// SPDX-License-Identifier: GPL-2.0-only
#include "base/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* One word, without its quotes, to *to. */
static const char *take_word(const char **from, char **to)
{
	const char *in = *from;
	char *out = *to, quote = '\0';

	for (; *in && (quote || !is_blank(*in)); in++) {
		if (quote ? *in == quote : *in == '\'' || *in == '"') {
			quote = quote ? '\0' : *in;
			continue;
		}
		if (*in == '\\' && quote != '\'') {
			/* As in a shell: between double quotes a backslash is itself, except before these two. */
			if (!in[1] || in[1] == '\r' || in[1] == '\n')
				return "there is nothing behind the backslash";
			if (!quote || in[1] == '"' || in[1] == '\\')
				in++;
		}
		*out++ = *in;
	}
	*out++ = '\0';
	*from = in;
	*to = out;
	return quote ? "a quote is not closed" : NULL;
}

const char *words_split(struct words *w, const char *line)
{
	size_t length = strlen(line), most = length / 2 + 2;
	const char *fault = NULL;
	char *text;

	/* The text of the words stands behind their table: it is never longer than the line. */
	w->n = 0;
	w->words = malloc(most * sizeof(*w->words) + length + 1);
	if (!w->words)
		return "out of memory";
	text = (char *)(w->words + most);
	for (const char *c = line; *c && !fault; c++)
		if (((unsigned char)*c < ' ' || *c == 0x7f) && !is_blank(*c))
			fault = "there is a control character";
	while (!fault) {
		while (is_blank(*line))
			line++;
		if (!*line || *line == '#')
			break;
		w->words[w->n++] = text;
		fault = take_word(&line, &text);
	}
	if (fault)
		words_free(w);
	else
		w->words[w->n] = NULL;
	return fault;
}

bool words_quote(char *to, size_t size, const char *word)
{
	size_t n = 0;

	for (const char *p = word; *p || p == word; p++) {
		if (n + 6 > size)
			return false;
		if (p == word)
			to[n++] = '"';
		if (*p == '"' || *p == '\\')
			to[n++] = '\\';
		if (!*p)
			break;
		to[n++] = *p;
	}
	to[n++] = '"';
	to[n] = '\0';
	return true;
}

bool words_same(const struct words *a, const struct words *b)
{
	int i = 0;

	while (i < a->n && i < b->n && !strcmp(a->words[i], b->words[i]))
		i++;
	return i == a->n && i == b->n;
}

void words_free(struct words *w)
{
	free(w->words);
	w->words = NULL;
	w->n = 0;
}

int words_file(FILE *file, const char *name, int (*each)(void *arg, const struct words *w, unsigned int line),
	       void *arg)
{
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int err = 0;

	while (!err && (length = getline(&line, &room, file)) >= 0) {
		struct words w;
		const char *fault;

		/* What editors of Windows put first. */
		if (!number++ && !strncmp(line, "\xef\xbb\xbf", 3))
			memmove(line, line + 3, (size_t)(length -= 3) + 1);
		fault = words_split(&w, line);
		if (!fault && memchr(line, '\0', (size_t)length))
			fault = "there is a control character";
		if (fault)
			err = because(-EINVAL, "%s:%u: %s", name, number, fault);
		else if (w.n)
			err = each(arg, &w, number);
		words_free(&w);
	}
	/* getline() also ends when it is out of memory, and then ferror() says nothing. */
	if (!err && !feof(file))
		err = because(-EIO, "%s: cannot be read to its end", name);
	free(line);
	return err;
}
