// SPDX-License-Identifier: GPL-2.0-only
#include "prefixes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* NULL, or what is wrong. */
static const char *add(struct prefixes *p, const char *text, size_t length)
{
	if (p->n == p->room) {
		struct prefix *grown = reallocarray(p->at, p->room ? 2 * p->room : 16, sizeof(*grown));

		if (!grown)
			return "out of memory";
		p->at = grown;
		p->room = p->room ? 2 * p->room : 16;
	}
	return prefix_parse(text, length, &p->at[p->n].first, &p->at[p->n].length) ?: (p->n++, NULL);
}

static int read_lines(struct prefixes *p)
{
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, stdin) > 0) {
		const char *word = line + strspn(line, " \t"), *fault;
		size_t length = strcspn(word, " \t\r\n#");

		number++;
		if (!length)
			continue;
		fault = add(p, word, length);
		if (fault)
			err = because(-EINVAL, "standard input:%u: '%.*s': %s", number, (int)length, word, fault);
	}
	if (!err && !feof(stdin))
		err = because(-EIO, "standard input cannot be read to its end");
	free(line);
	return err;
}

int prefixes_read(struct prefixes *p, int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc && !err; i++) {
		const char *fault = NULL;

		if (!strcmp(argv[i], "-"))
			err = read_lines(p);
		else
			fault = add(p, argv[i], strlen(argv[i]));
		if (fault)
			err = because(-EINVAL, "'%s': %s", argv[i], fault);
	}
	return err;
}

void prefixes_free(struct prefixes *p)
{
	free(p->at);
	*p = (struct prefixes){ 0 };
}
