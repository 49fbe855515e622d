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

const char *label_of_ports(char label[LABEL_MAX], const char *name, unsigned int match)
{
	char is[LABEL_MAX];

	snprintf(label, LABEL_MAX, LABEL_PORTS "%.*s", (int)(LABEL_MAX - sizeof(LABEL_PORTS)),
		 label_of(is, name, match));
	return label;
}

bool label_ports(const char *label)
{
	return !strncmp(label, LABEL_PORTS, strlen(LABEL_PORTS));
}

bool label_is(const char *label, const char *name, unsigned int match)
{
	char is[LABEL_MAX];

	return !strcmp(label, label_of(is, name, match));
}

bool label_split(const char *label, char name[IF_NAMESIZE])
{
	size_t length;

	if (label_ports(label))
		label += strlen(LABEL_PORTS);
	length = strcspn(label, " ");
	snprintf(name, IF_NAMESIZE, "%.*s", (int)length, label);
	return !strcmp(label + length, LABEL_LEAVES);
}
