// SPDX-License-Identifier: GPL-2.0-only
/* --only, --to and --on, for the verbs that take them. */
#include <string.h>

#include "base/log.h"
#include "sets/scope.h"
#include "verbs/verbs.h"

int read_scope(const struct option_spec *o, void *scope, const char *value)
{
	int err = !strcmp(o->name, "only") ? scope_add_only(scope, value)
		  : !strcmp(o->name, "to") ? scope_add_to(scope, value)
					   : scope_add_on(scope, value);

	return err ? fail("%s", reason(err)) : 0;
}
