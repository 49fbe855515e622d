// SPDX-License-Identifier: GPL-2.0-only
#include "observe/documents.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/out.h"
#include "kernel/attach.h"
#include "sets/address.h"
#include "sets/networks.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/state.h"

json_t *out_interfaces(const struct attachment *list, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_pack("{s:o, s:s, s:s, s:s, s:b, s:b, s:b, s:i}", "name",
						       out_text(list[i].name), "mode", attach_mode_names[list[i].mode],
						       "match", match_names[MATCH_OF(list[i].match)], "direction",
						       direction_names[MATCH_LEAVES(list[i].match)], "shared",
						       list[i].shared, "gone", list[i].gone, "moved", list[i].moved,
						       "behind", (int)list[i].behind));
	return array;
}

json_t *out_failure(const struct list_failure *f)
{
	char since[UTC_TEXT_MAX], last[UTC_TEXT_MAX];

	if (!f)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:o}", "list", f->list, "since", utc_text(since, f->since), "last",
			 utc_text(last, f->last), "why", out_text(f->why));
}

json_t *out_where(const struct list_info *list)
{
	json_t *conditions = list->where[0] ? json_array() : json_null();
	char condition[WHERE_MAX];
	size_t at = 0;

	while (where_next(list->where, &at, condition))
		json_array_append_new(conditions, out_text(condition));
	return conditions;
}

int64_t list_age(const struct list_info *list, int64_t now)
{
	struct tm utc = { 0 };

	return strptime(list->loaded, "%Y-%m-%dT%H:%M:%SZ", &utc) ? now - (int64_t)timegm(&utc) : -1;
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

json_t *out_lists(const struct list_info *lists, size_t n, const struct list_failure *failed, size_t failed_n,
		  int64_t now)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct list_info *l = &lists[i];

		json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:o, s:o}", "name", l->name,
						       "kind", list_kind_names[l->kind], "prefixes",
						       (json_int_t)l->prefixes, "addresses", l->addresses, "loaded",
						       l->loaded, "age", (json_int_t)list_age(l, now), "refused",
						       out_failure(list_failure_of(failed, failed_n, l->name)), "scope",
						       scope_json(l->scope)));
	}
	return array;
}

void put_network(json_t *object, const struct networks *networks, struct addr first, unsigned int length)
{
	struct network is;
	json_t *network;

	if (!networks)
		return;
	network = !networks_find(networks, first, length, &is)
			  ? json_null()
			  : json_pack("{s:s?, s:o, s:o}", "country", is.country[0] ? is.country : NULL, "asn",
				      is.asn ? json_integer((json_int_t)is.asn) : json_null(), "name",
				      is.name[0] ? out_text(is.name) : json_null());
	json_object_set_new(object, "network", network);
}

json_t *out_ban(const struct ban *ban, int64_t now, const struct networks *networks)
{
	json_t *object;
	char text[PREFIX_TEXT_MAX], added[UTC_TEXT_MAX], expires[UTC_TEXT_MAX];

	object = json_pack("{s:s, s:o, s:o, s:o, s:o}", "prefix", prefix_text(text, ban->first, (int)ban->length),
			   "added", ban->added ? json_string(utc_text(added, ban->added)) : json_null(), "expires",
			   ban->expires ? json_string(utc_text(expires, ban->expires)) : json_null(), "seconds_left",
			   ban->expires ? json_integer((json_int_t)(ban->expires - now)) : json_null(), "reason",
			   ban->reason[0] ? out_text(ban->reason) : json_null());
	put_network(object, networks, ban->first, ban->length);
	return object;
}
