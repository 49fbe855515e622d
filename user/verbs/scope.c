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

/* Its words stand as they were given: "tcp/22", "192.0.2.0/28", "eth0". */
json_t *scope_json(const char *scope)
{
	json_t *only = json_array(), *to = json_array(), *on = json_array(), *into = only;
	char copy[SCOPE_TEXT_MAX], *word, *next = copy;

	if (!*scope) {
		json_decref(only);
		json_decref(to);
		json_decref(on);
		return json_null();
	}
	snprintf(copy, sizeof(copy), "%s", scope);
	while ((word = strsep(&next, " ,"))) {
		if (!strcmp(word, "to"))
			into = to;
		else if (!strcmp(word, "on") && into != on)
			into = on;
		else
			json_array_append_new(into, json_string(word));
	}
	return json_pack("{s:o, s:o, s:o}", "only", only, "to", to, "on", on);
}
