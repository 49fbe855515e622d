// SPDX-License-Identifier: GPL-2.0-only
/* Names of interfaces, as they are typed. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"
#include "base/other_name.h"
#include "state/state.h"
#include "verbs/verbs.h"

static int no_interface_name(const char *name)
{
	return fail("'%s' can be no interface's name: it has 1 to %d characters, no space, '/' or ':'", name,
		    IF_NAMESIZE - 1);
}

bool own_name(const char *word, char own[IF_NAMESIZE])
{
	char clean[OTHER_NAME_MAX], clean_own[IF_NAMESIZE];

	if (!is_other_name(word, own))
		return false;
	warn("%s is %s", clean_copy(clean, sizeof(clean), word), clean_copy(clean_own, sizeof(clean_own), own));
	return true;
}

int read_interface(const char *word, char name[IF_NAMESIZE])
{
	if (own_name(word, name))
		return 0;
	if (!is_interface_name(word))
		return no_interface_name(word);
	snprintf(name, IF_NAMESIZE, "%s", word);
	return 0;
}

int read_interfaces(const struct call *call, char (**names)[IF_NAMESIZE])
{
	int err = 0;

	*names = calloc((size_t)call->n + 1, sizeof(**names));
	if (!*names)
		return fail("out of memory");
	for (int i = 0; i < call->n && !err; i++) {
		err = read_interface(call->operands[i], (*names)[i]);
		call->operands[i] = (*names)[i];
	}
	return err;
}
