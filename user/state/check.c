// SPDX-License-Identifier: GPL-2.0-only
/* What is wrong with a state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/bans.h"
#include "state/internal.h"
#include "state/recover.h"

static int check_pages(struct state *s, void (*found)(void *arg, const char *fault), void *arg, size_t *faults)
{
	sqlite3_stmt *stmt = state_prepare(s, "PRAGMA integrity_check(20)");
	int code = SQLITE_DONE;

	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (!text || !strcmp(text, "ok"))
			continue;
		found(arg, text);
		++*faults;
	}
	return state_end(s, stmt, code);
}

bool state_list_is_whole(struct state *s, const struct list_info *list)
{
	struct ranges set;
	bool whole;

	if (state_list_set(s, list->name, &set))
		return false;
	whole = ranges_count_prefixes(&set) == list->prefixes;
	ranges_free(&set);
	return whole;
}

int state_check(const struct context *context, void (*found)(void *arg, const char *fault), void *arg, size_t *faults)
{
	struct list_info *lists = NULL;
	struct ban *bans = NULL;
	const char *setting;
	struct state *s;
	char fault[128];
	size_t n = 0, bans_n;
	int err = state_open(&s, context, false);

	*faults = 0;
	if (err)
		return err;
	err = (s->db ? check_pages(s, found, arg, faults) : 0) ?: state_lists(s, &lists, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (state_list_is_whole(s, &lists[i]))
			continue;
		snprintf(fault, sizeof(fault), "a part of list '%s' is gone", lists[i].name);
		found(arg, fault);
		++*faults;
	}
	setting = err || !s->db ? NULL : state_setting_damaged(s);
	if (setting) {
		snprintf(fault, sizeof(fault), "setting '%s' is damaged", setting);
		found(arg, fault);
		++*faults;
	}
	err = err ?: state_bans(s, &bans, &bans_n);
	free(bans);
	free(lists);
	state_close(s);
	return err;
}
