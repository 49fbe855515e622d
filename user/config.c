// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "verbs.h"

/* What can be said again and again and changes nothing the second time. */
static const char *const allowed[] = { "attach", "load", "allow", "tune", "run" };

static int take_line(void *arg, const struct words *w, unsigned int number)
{
	struct config *config = arg;
	struct config_line *grown, line = { .number = number };
	size_t length = 0;
	char *text;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (!strcmp(w->words[0], allowed[i]))
			length = 1;
	if (!length)
		return because(-EINVAL,
			       "%s:%u: '%s' cannot stand in a config file; attach, load, allow, tune and run can",
			       config->path, number, w->words[0]);
	grown = reallocarray(config->lines, config->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	config->lines = grown;
	for (int i = 0; i < w->n; i++)
		length += strlen(w->words[i]) + 1;
	line.words.words = malloc(((size_t)w->n + 1) * sizeof(char *) + length);
	if (!line.words.words)
		return -ENOMEM;
	text = (char *)(line.words.words + w->n + 1);
	for (int i = 0; i < w->n; i++) {
		line.words.words[i] = text;
		text = stpcpy(text, w->words[i]) + 1;
	}
	line.words.words[w->n] = NULL;
	line.words.n = w->n;
	config->lines[config->n++] = line;
	return 0;
}

int config_read(struct config *config, const char *path)
{
	FILE *file = fopen(path, "re");
	int err;

	*config = (struct config){ .path = path };
	if (!file)
		return because(-errno, "%s: %s", path, strerror(errno));
	err = words_file(file, path, take_line, config);
	fclose(file);
	if (err)
		config_free(config);
	return err;
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < config->n; i++)
		words_free(&config->lines[i].words);
	free(config->lines);
	config->lines = NULL;
	config->n = 0;
}

/* 1 where the line is wrong: it has said why. In a process of its own, as a verb keeps what it was told. */
static int check_line(const struct config *config, const struct config_line *line, bool files)
{
	const struct words *w = &line->words;
	char where[512];
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		snprintf(where, sizeof(where), "%s:%u", config->path, line->number);
		log_where(where);
		opt_check = true;
		opt_check_words = !files;
		exit(verb_find(w->words[0])->run(w->n, w->words));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return because(-EAGAIN, "%s: no process to check it", config->path);
	return status != 0;
}

int config_check(const struct config *config, bool files)
{
	int faults = 0;

	for (size_t i = 0; i < config->n; i++) {
		int wrong = strcmp(config->lines[i].words.words[0], "run")
				    ? check_line(config, &config->lines[i], files)
				    : 0;

		if (wrong < 0)
			return wrong;
		faults += wrong;
	}
	return faults;
}

bool config_has_word(const struct words *w, const char *word)
{
	for (int i = 1; i < w->n; i++)
		if (!strcmp(w->words[i], word))
			return true;
	return false;
}
