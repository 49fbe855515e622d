// SPDX-License-Identifier: GPL-2.0-only
/* --only, --to and --on, for the verbs that take them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sets/scope.h"
#include "verbs/verbs.h"

/* Names with commas between them. */
static int add_on(struct scope *scope, const char *names)
{
	char *list = strdup(names), *at = list, *name, own[IF_NAMESIZE];
	int err = list ? 0 : -ENOMEM;

	while (!err && (name = strsep(&at, ",")))
		err = scope_add_on(scope, own_name(name, own) ? own : name);
	free(list);
	return err;
}

static int add_to(struct scope *scope, const char *nets)
{
	size_t n = scope->to_n;
	int err = scope_add_to(scope, nets);
	char text[PREFIX_TEXT_MAX];

	for (; n < scope->to_n && !err; n++)
		if (scope_net_holds_4(&scope->to[n]))
			warn("--to %s takes what is sent to IPv4, too, as ::ffff:0:0/96",
			     prefix_text(text, scope->to[n].first, (int)scope->to[n].length));
	return err;
}

int read_scope(const struct option_spec *o, void *scope, const char *value)
{
	int err = !strcmp(o->name, "only") ? scope_add_only(scope, value)
		  : !strcmp(o->name, "to") ? add_to(scope, value)
					   : add_on(scope, value);

	return err ? fail("%s", reason(err)) : 0;
}
