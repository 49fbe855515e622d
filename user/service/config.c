// SPDX-License-Identifier: GPL-2.0-only
#include "service/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/log.h"

/* What can be said again and again and changes nothing the second time. */
static const char *const allowed[] = { "attach", "load", "allow", "tune", "run" };

static int take_line(void *arg, const struct words *w, unsigned int number)
{
	struct config *config = arg;
	struct config_line *grown, line = { .number = number };
	const char *list, *file;
	size_t length = 0;
	char *text;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (!strcmp(w->words[0], allowed[i]))
			length = 1;
	if (!length)
		return because(-EINVAL,
			       "%s:%u: '%s' cannot stand in a config file; attach, load, allow, tune and run can",
			       config->path, number, w->words[0]);
	/* It would be put into force again and again, and take the place of all lists. */
	for (int i = 1; i < w->n && !strcmp(w->words[0], "load") && strcmp(w->words[i], "--"); i++)
		if (!strncmp(w->words[i], "--image", strlen("--image")))
			return because(-EINVAL, "%s:%u: 'load --image' cannot stand in a config file; lists can",
				       config->path, number);
	/* Each would take the other's place, at every start. */
	if (config_loads(w, &list, &file) && config_load_of(config, list))
		return because(-EINVAL, "%s:%u: list '%s' is loaded by a line before", config->path, number, list);
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

/* Nobody may ever write into a pipe that has a name; into one that a shell made, somebody does. */
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
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int config_read(struct config *config, const char *path)
{
	int fd = open_file(path), err = fd < 0 ? fd : 0;
	FILE *file = err ? NULL : fdopen(fd, "r");

	*config = (struct config){ .path = path };
	if (!file && !err) {
		err = -errno;
		close(fd);
	}
	if (err)
		return err;
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

/* The word behind these belongs to them, unless it stands behind a '='. */
static bool takes_next(const char *option)
{
	static const char *const with_value[] = { "--format", "--bogons", "--confirm" };
	size_t length = strlen(option);

	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
		if (length > 2 && !strncmp(option, with_value[i], length))
			return true;
	return false;
}

bool config_loads(const struct words *w, const char **list, const char **file)
{
	const char *operands[2];
	int n = 0;

	if (strcmp(w->words[0], "load") != 0) /* the options of run have been taken out of its words */
		return false;
	for (int at = 1; at < w->n && n < 2; at++)
		if (w->words[at][0] != '-')
			operands[n++] = w->words[at];
		else
			at += takes_next(w->words[at]);
	if (n < 2)
		return false;
	*list = operands[0];
	*file = operands[1];
	return true;
}

const struct words *config_load_of(const struct config *config, const char *list)
{
	for (size_t i = 0; i < config->n; i++) {
		const struct words *w = &config->lines[i].words;
		const char *name, *file;

		if (config_loads(w, &name, &file) && !strcmp(name, list))
			return w;
	}
	return NULL;
}
