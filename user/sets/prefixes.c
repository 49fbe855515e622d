// SPDX-License-Identifier: GPL-2.0-only
#include "sets/prefixes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stdin.h"
#include "sets/slip.h"

#define FAR_EACH 4096 /* lines, and it is looked whether somebody waits */

/* NULL, or what is wrong. */
static const char *add(struct prefixes *p, const char *text, size_t length)
{
	struct addr written;
	struct prefix *to;
	const char *fault;

	if (!GROW(p->at, p->n))
		return "out of memory";
	to = &p->at[p->n];
	fault = prefix_parse(text, length, &to->first, &to->length);
	if (fault)
		return fault;
	p->n++;
	if (prefix_is_masked(text, length, to->first, &written) && !p->masked++) {
		p->masked_host = written;
		p->masked_first = *to;
	}
	return NULL;
}

int prefixes_exact(const struct prefixes *p, const char *option)
{
	char text[MASKED_TEXT_MAX], network[PREFIX_TEXT_MAX];

	if (!p->masked)
		return 0;
	masked_text(text, p->masked_host, p->masked_first.first, p->masked_first.length);
	return because(-EINVAL, "%s: write %s, or --%s to mean the network", text,
		       prefix_text(network, p->masked_first.first, (int)p->masked_first.length), option);
}

void prefixes_warn_masked(const struct prefixes *p)
{
	char text[MASKED_TEXT_MAX];

	if (p->masked)
		warn("%s, which is taken%s",
		     masked_text(text, p->masked_host, p->masked_first.first, p->masked_first.length),
		     p->masked > 1 ? "; so it is with others" : "");
}

static int read_lines(const struct context *context, struct prefixes *p)
{
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	int err = standard_input(context);

	while (!err && (got = getline(&line, &room, stdin)) > 0) {
		if (!(++number % FAR_EACH))
			progress(context, "reading standard input", progress_of(STDIN_FILENO));
		/* What stands behind a NUL would be lost silently. */
		if (memchr(line, '\0', (size_t)got))
			err = because(-EINVAL, "standard input:%u: there is a control character", number);
		line[strcspn(line, "#;\n")] = '\0';
		for (const char *word = line; *(word += strspn(word, " \t\r")) && !err;) {
			size_t length = strcspn(word, " \t\r");
			const char *fault = add(p, word, length);

			if (fault)
				err = because(-EINVAL, "standard input:%u: '%.*s': %s", number, (int)length, word,
					      fault);
			word += length;
		}
	}
	if (number > FAR_EACH)
		progress_end();
	if (!err && !feof(stdin))
		err = because(-EIO, "standard input cannot be read to its end");
	free(line);
	return err;
}

int prefixes_read(const struct context *context, struct prefixes *p, int n, char **operands)
{
	char slip[SLIP_TEXT_MAX];
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		const char *fault = NULL;

		if (!strcmp(operands[i], "-"))
			err = read_lines(context, p);
		else
			fault = add(p, operands[i], strlen(operands[i]));
		if (fault)
			err = because(-EINVAL, "'%s': %s", operands[i],
				      address_slip(slip, operands[i], strlen(operands[i]), fault));
	}
	return err;
}

int prefix_order(const struct prefix *p, const struct prefix *q)
{
	if (p->first.family != q->first.family)
		return p->first.family < q->first.family ? -1 : 1;
	if (p->first.num != q->first.num)
		return p->first.num < q->first.num ? -1 : 1;
	return p->length < q->length ? -1 : p->length > q->length;
}

/* Equal ones in the order in which they were given. */
static int by_place(const void *a, const void *b)
{
	const struct prefix *p = *(struct prefix *const *)a, *q = *(struct prefix *const *)b;

	return prefix_order(p, q) ?: (p > q) - (p < q);
}

int prefixes_once(struct prefixes *p)
{
	struct prefix **sorted = calloc(p->n + 1, sizeof(*sorted));
	bool *again = calloc(p->n + 1, sizeof(*again));
	size_t kept = 0;
	int err = sorted && again ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->n && !err; i++)
		sorted[i] = &p->at[i];
	if (!err)
		qsort(sorted, p->n, sizeof(*sorted), by_place);
	for (size_t i = 1; i < p->n && !err; i++)
		again[sorted[i] - p->at] = !prefix_order(sorted[i], sorted[i - 1]);
	for (size_t i = 0; i < p->n && !err; i++)
		if (!again[i])
			p->at[kept++] = p->at[i];
	if (!err)
		p->n = kept;
	free(sorted);
	free(again);
	return err;
}

void prefixes_free(struct prefixes *p)
{
	free(p->at);
	*p = (struct prefixes){ 0 };
}
