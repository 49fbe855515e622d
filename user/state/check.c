// SPDX-License-Identifier: GPL-2.0-only
/* What is wrong with a state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "state/bans.h"
#include "state/internal.h"
#include "state/members.h"
#include "state/ports.h"
#include "state/recover.h"
#include "state/sources.h"
#include "state/strikes.h"

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

	if (state_list_whole_set(s, list, &set))
		return false;
	ranges_free(&set);
	return true;
}

bool state_list_before_is_whole(struct state *s, const struct list_info *list)
{
	char name[LIST_NAME_MAX + 8];
	struct ranges set;
	bool whole;

	snprintf(name, sizeof(name), "%s before", list->name);
	if (list->damaged || state_list_set(s, name, &set))
		return false;
	whole = ranges_count_prefixes(&set) == list->prefixes;
	ranges_free(&set);
	return whole;
}

static int check_versions(struct state *s, void (*found)(void *arg, const char *fault), void *arg, size_t *faults)
{
	struct list_info *lists;
	char fault[160];
	size_t n;
	int err = state_entries_before(s, &lists, &n);

	for (size_t i = 0; i < n; i++) {
		if (state_list_before_is_whole(s, &lists[i]))
			continue;
		snprintf(fault, sizeof(fault), "the version of list '%s' that it would go back to is damaged",
			 lists[i].name);
		found(arg, fault);
		++*faults;
	}
	free(lists);
	return err;
}

static int bans_before(struct state *s)
{
	struct ban *bans;
	size_t n;
	int err;

	if (s->version < VERSION_DUE)
		return 0;
	err = state_rows(s, state_prepare(s, "SELECT * FROM ban_before"), state_read_ban, sizeof(*bans), &bans, &n);
	free(bans);
	return err;
}

int state_check(const struct context *context, void (*found)(void *arg, const char *fault), void *arg, size_t *faults)
{
	struct list_info *lists = NULL;
	struct interface_info *interfaces = NULL, *rules = NULL;
	struct pending *pending = NULL;
	struct source *sources = NULL;
	struct strike *strikes = NULL;
	struct member *members = NULL;
	struct port_row *ports = NULL;
	struct ban *bans = NULL;
	char setting[SETTING_ROW_MAX];
	struct state *s;
	char fault[SETTING_ROW_MAX + 32];
	size_t n = 0, bans_n = 0;
	int err = state_open(&s, context, false);

	*faults = 0;
	if (err)
		return err;
	progress(context, "checking the state", -1);
	err = (s->db ? check_pages(s, found, arg, faults) : 0) ?: state_lists(s, &lists, &n);
	progress(context, "checking the lists", -1);
	for (size_t i = 0; i < n && !err; i++) {
		if (state_list_is_whole(s, &lists[i]))
			continue;
		snprintf(fault, sizeof(fault), "a part of list '%s' is gone", lists[i].name);
		found(arg, fault);
		++*faults;
	}
	err = err ?: check_versions(s, found, arg, faults);
	if (!err && s->db && state_setting_damaged(s, setting)) {
		snprintf(fault, sizeof(fault), "setting '%s' is damaged", setting);
		found(arg, fault);
		++*faults;
	}
	progress(context, "checking the bans", -1);
	err = err ?: state_bans(s, &bans, &bans_n);
	if (!err && state_bans_miscounted(s, bans_n)) {
		found(arg, "the number of bans that is kept is wrong");
		++*faults;
	}
	err = err ?:
	      bans_before(s) ?:
	      state_accepted_check(s) ?:
	      state_feeds_check(s) ?:
	      state_said_check(s) ?:
	      state_behind_check(s) ?:
	      state_fleet_check(s) ?:
	      state_members(s, &members, &n) ?:
	      state_strikes(s, &strikes, &n) ?:
	      state_interfaces(s, &interfaces, &n) ?:
	      state_ports(s, &rules, &n) ?:
	      state_port_rows(s, &ports, &n) ?:
	      state_pending(s, &pending, &n) ?:
	      state_sources(s, &sources, &n);
	progress_end();
	free(strikes);
	free(members);
	free(bans);
	free(interfaces);
	free(rules);
	free(ports);
	free(pending);
	free(sources);
	free(lists);
	state_close(s);
	return err;
}
