/* SPDX-License-Identifier: GPL-2.0-only */
/* The service's file of commands: one a line, in the command line's own grammar. */
#ifndef SERVICE_CONFIG_H
#define SERVICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/verb.h"

/* The file that the service reads unless it is told of another. */
#define CONFIG_DEFAULT "/etc/xdp-bloom.conf"

struct config_line {
	unsigned int number;
	const struct verb *verb;
	struct words words;
};

struct config {
	const char *path;
	const struct verb *verbs; /* all verbs */
	struct config_line *lines;
	size_t n;
};

/* Each line must begin with a verb that may stand there. 0, or -errno with the reason recorded: then no lines. */
int config_read(struct config *config, const char *path, const struct verb *verbs);
void config_free(struct config *config);

/* Is it done for as long as the service runs, in a process of its own? */
bool config_goes_on(const struct config_line *line);
/* Does the line join a fleet? */
bool config_line_joins(const struct config_line *line);
/* Does the line load a list, which, and from where? */
bool config_loads(const struct config_line *line, const char **list, const char **file);
/* The line that loads the list, or NULL. */
const struct config_line *config_load_of(const struct config *config, const char *list);

#endif
