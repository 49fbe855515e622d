// SPDX-License-Identifier: GPL-2.0-only
#include "base/label.h"

#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"

const char *label_of(char label[LABEL_MAX], const char *name, unsigned int match)
{
	snprintf(label, LABEL_MAX, "%s%s", name, MATCH_LEAVES(match) ? LABEL_LEAVES : "");
	return label;
}

bool label_is(const char *label, const char *name, unsigned int match)
{
	char is[LABEL_MAX];

	return !strcmp(label, label_of(is, name, match));
}

bool label_split(const char *label, char name[IF_NAMESIZE])
{
	size_t length = strcspn(label, " ");

	snprintf(name, IF_NAMESIZE, "%.*s", (int)length, label);
	return !strcmp(label + length, LABEL_LEAVES);
}
