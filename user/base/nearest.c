// SPDX-License-Identifier: GPL-2.0-only
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Letters that are wrong, missing, too many, or changed places with the next (optimal string alignment). */
static unsigned int slips(const char *a, size_t n, const char *b, size_t m)
{
	unsigned int rows[3][NEAREST_MAX]; /* of this letter of a, of the one before, and of the one before that */

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

static void keep(struct nearest *n, const char *name, unsigned int count)
{
	if (n->name[0] && n->slips <= count)
		return;
	snprintf(n->name, sizeof(n->name), "%s", name);
	n->slips = count;
}

void nearest_try(struct nearest *n, const char *name)
{
	size_t length = strlen(n->word), its = strlen(name);
	unsigned int count;

	if (length >= NEAREST_MAX || its >= NEAREST_MAX)
		return;
	count = slips(n->word, length, name, its);
	if (!strcasecmp(n->word, name) || (length > 1 && !strncmp(n->word, name, length)))
		count = 0;
	if (count <= (length + 1) / 3 && count < its)
		keep(n, name, count);
}

void nearest_try_also(struct nearest *n, const char *also, const char *name)
{
	size_t length = strlen(n->word);

	for (const char *word = also; word && *word; word += strspn(word, " ")) {
		size_t its = strcspn(word, " ");

		if (its == length && !strncasecmp(word, n->word, its))
			keep(n, name, 0);
		word += its;
	}
}

const char *nearest_text(struct nearest *n, const char *otherwise)
{
	if (!n->name[0])
		return otherwise;
	snprintf(n->text, sizeof(n->text), " (did you mean '%s'?)", n->name);
	return n->text;
}
