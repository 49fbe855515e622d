// SPDX-License-Identifier: GPL-2.0-only
#include "service/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/trusted_dir.h"

static int because_not_allowed(const struct config *config, const struct verb *verb, const char *name,
			       unsigned int number)
{
	struct nearest near = { .word = name };
	char allowed[128] = "";
	size_t n = 0;

	for (const struct verb *v = config->verbs; v->name; v++)
		if (v->flags & VERB_IN_CONFIG && n < sizeof(allowed))
			n += (size_t)snprintf(allowed + n, sizeof(allowed) - n, "%s%s", n ? ", " : "", v->name);
	if (!verb)
		verb_nearest(config->verbs, &near);
	return because(-EINVAL, "%s:%u: '%s%s%s' cannot stand in a config file%s; these can: %s", config->path, number,
		       name, verb && verb->with ? " --" : "", verb && verb->with ? verb->with : "",
		       nearest_text(&near, ""), allowed);
}

bool config_goes_on(const struct config_line *line)
{
	return !strcmp(line->verb->name, "follow") || !strcmp(line->verb->name, "announce");
}

bool config_line_joins(const struct config_line *line)
{
	const char *what;

	return !strcmp(line->verb->name, "fleet") && verb_operands(line->verb, &line->words, &what, 1) &&
	       !strcmp(what, "join");
}

static const struct config_line *join_of(const struct config *config)
{
	for (size_t i = 0; i < config->n; i++)
		if (config_line_joins(&config->lines[i]))
			return &config->lines[i];
	return NULL;
}

static bool has_line(const struct config *config, const struct words *w)
{
	for (size_t i = 0; i < config->n; i++)
		if (words_same(&config->lines[i].words, w))
			return true;
	return false;
}

static int take_line(void *arg, const struct words *w, unsigned int number)
{
	struct config *config = arg;
	struct config_line line = { number, NULL, *w };
	const char *list, *file;
	size_t length = 1;
	char *text;

	line.verb = verb_find(config->verbs, w);
	if (!line.verb || !(line.verb->flags & VERB_IN_CONFIG))
		return because_not_allowed(config, line.verb, w->words[0], number);
	if (!strcmp(line.verb->name, "follow") && verb_operands(line.verb, w, &list, 1) && !strcmp(list, "-"))
		return because(-EINVAL, "%s:%u: nobody writes to the service's standard input", config->path, number);
	if (config_goes_on(&line) && has_line(config, w))
		return because(-EINVAL, "%s:%u: a line before says the same", config->path, number);
	if (config_line_joins(&line) && join_of(config))
		return because(-EINVAL, "%s:%u: a machine takes part in one fleet, and line %u joins one", config->path,
			       number, join_of(config)->number);
	/* Each would replace the other, at every start. */
	if (config_loads(&line, &list, &file) && config_load_of(config, list))
		return because(-EINVAL, "%s:%u: list '%s' is loaded by a line before", config->path, number, list);
	if (!GROW(config->lines, config->n))
		return -ENOMEM;
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

/* Refuse named pipes: they may never get a writer. A pipe from the shell has one. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || fstatfs(fd, &fs))
		err = because(-errno, "%s: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode) || (S_ISFIFO(st.st_mode) && fs.f_type != PIPEFS_MAGIC))
		err = because(-EINVAL, "%s: not a regular file", path);
	else if (fcntl(fd, F_SETFL, 0))
		err = because(-errno, "%s: %s", path, strerror(errno));
	else
		err = trust_open_file(fd, path, "what the service does");
	if (!err)
		return fd;
	close_fd(fd);
	return err;
}

int config_read(struct config *config, const char *path, const struct verb *verbs)
{
	int fd = open_file(path), err = fd < 0 ? fd : 0;
	FILE *file = err ? NULL : fdopen(fd, "r");

	*config = (struct config){ .path = path, .verbs = verbs };
	if (!file) {
		err = err ? err : -errno;
		close_fd(fd);
		return err;
	}
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

bool config_loads(const struct config_line *line, const char **list, const char **file)
{
	const char *operands[2];

	if (strcmp(line->words.words[0], "load") != 0 || verb_operands(line->verb, &line->words, operands, 2) < 2)
		return false;
	*list = operands[0];
	*file = operands[1];
	return true;
}

const struct config_line *config_load_of(const struct config *config, const char *list)
{
	for (size_t i = 0; i < config->n; i++) {
		const char *name, *file;

		if (config_loads(&config->lines[i], &name, &file) && !strcmp(name, list))
			return &config->lines[i];
	}
	return NULL;
}
