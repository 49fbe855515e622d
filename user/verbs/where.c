// SPDX-License-Identifier: GPL-2.0-only
/* --where */
#include "sets/where.h"
#include "verbs/verbs.h"

int read_where(const struct option_spec *o, void *where, const char *condition)
{
	const char *reason = where_add(where, condition);

	return reason ? fail("--%s %s, not '%s'", o->name, reason, condition) : 0;
}
