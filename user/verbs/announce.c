// SPDX-License-Identifier: GPL-2.0-only
/* announce: this machine's bans, for a routing daemon */
#include <linux/rtnetlink.h>

#include "change/change.h"
#include "feeds/announce.h"
#include "verbs/verbs.h"

#define ENTRIES_MOST 100000

struct options {
	struct number table, family, entries;
	bool clean;
};

const struct option_spec announce_options[] = {
	{ "table", .type = OPTION_WHOLE, AT(options, table), .value = "NUMBER", .least = 1, .most = UINT32_MAX,
	  .does = "of the kernel, which nothing looks up", .wants = "the number of a route table" },
	{ "family", .type = OPTION_WHOLE, AT(options, family), .value = "4|6", .least = 4, .most = 6,
	  .does = "bans of one family alone" },
	{ "max-entries", .type = OPTION_WHOLE, AT(options, entries), .value = "N", .least = 1, .most = 1e7,
	  .does = "so many routes at a time (100000)" },
	{ "clean", AT(options, clean), .does = "takes its routes out when it ends" },
	OPTIONS_END(struct options),
};

int verb_announce(const struct call *call)
{
	const struct options *o = call->options;
	struct announce_options a = { .table = (unsigned int)o->table.value,
				      .family = (int)o->family.value,
				      .most = o->entries.given ? (size_t)o->entries.value : ENTRIES_MOST,
				      .clean = o->clean };
	int err;

	if (!o->table.given)
		return fail("announce: into which table? announce --table 667");
	if (a.family == 5)
		return fail("announce: --family is 4 or 6");
	if (a.table >= RT_TABLE_DEFAULT && a.table <= RT_TABLE_LOCAL)
		return fail("announce: by table %u this machine finds its own ways: another, such as --table 667",
			    a.table);
	change_check(call->context, false);
	err = announce(call->context, &a);
	return err ? fail("announce: %s", reason(err)) : EXIT_DONE;
}
