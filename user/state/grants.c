// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the settings' table: versions that do not know them leave them alone. */
#include "state/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "sets/ranges.h"
#include "state/bans_internal.h"
#include "state/internal.h"
#include "state/settings.h"

#define GRANTED "granted "
#define PORT	"guarded port "
#define SERVER	"fleet server "

static const char *name_of(char name[80], struct addr addr)
{
	char text[PREFIX_TEXT_MAX];

	snprintf(name, 80, GRANTED "%s", prefix_text(text, addr, -1));
	return name;
}

static int drop(struct state *state, const char *name)
{
	return state_put(state, "DELETE FROM setting WHERE name = ?", "s", name);
}

/* Since when; of one that waits, less than 0: to versions that do not know that it is none. Then, when it goes back. */
int state_grant(struct state *state, struct addr addr, int64_t waits)
{
	double back = -(double)waits, is;
	char name[80];

	name_of(name, addr);
	is = waits ? state_setting(state, name, 0) : 0;
	/* For good, or for longer. */
	if (is > 0 || is < back)
		return 0;
	return state_set(state, name, waits ? back : (double)time(NULL));
}

int64_t state_granted(struct state *state, struct addr addr)
{
	char name[80];
	double is = state_setting(state, name_of(name, addr), 0);

	return is < 0 ? (int64_t)-is : is > 0 ? GRANTED_ENDLESS : 0;
}

int state_grant_drop(struct state *state, struct addr addr)
{
	char name[80];

	return drop(state, name_of(name, addr));
}

bool state_grant_is_sound(const char *name)
{
	size_t length = strlen(name), digits = 0;
	struct addr addr;

	if (!strncmp(name, GRANTED, strlen(GRANTED)))
		return !addr_parse(name + strlen(GRANTED), length - strlen(GRANTED), &addr);
	if (!strncmp(name, SERVER, strlen(SERVER)))
		return !addr_parse(name + strlen(SERVER), length - strlen(SERVER), &addr);
	if (strncmp(name, PORT, strlen(PORT)) != 0)
		return true;
	digits = strspn(name + strlen(PORT), "0123456789");
	return digits && digits < 6 && digits + strlen(PORT) == length && atoi(name + strlen(PORT)) < TCP_PORTS;
}

static int read_name(const struct state *s, sqlite3_stmt *stmt, char name[80])
{
	struct row row = { .stmt = stmt };

	row_text(&row, 0, name, 80);
	if (err_is(row.err, ENOMEM) || (!row.err && state_grant_is_sound(name)))
		return row.err;
	return because(-EUCLEAN, "%s: what the guard rails were told is damaged; see 'xdp-bloom state recover'",
		       s->directory);
}

static int read_grant(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	char name[80];
	int err = read_name(s, stmt, name);

	if (!err)
		addr_parse(name + strlen(GRANTED), strlen(name) - strlen(GRANTED), entry);
	return err;
}

int state_grants(struct state *state, struct addr **grants, size_t *n)
{
	return state_rows(state, state_prepare(state, "SELECT name FROM setting WHERE name GLOB '" GRANTED "*'"),
			  read_grant, sizeof(**grants), grants, n);
}

/* One that waits, and until when something does that bans it. */
struct waiting {
	struct addr addr;
	int64_t until, held;
};

struct waitings {
	struct state *state;
	struct waiting *at;
	size_t n;
};

static int read_waiting(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct waiting *waiting = entry;

	waiting->until = sqlite3_column_int64(stmt, 1);
	return read_grant(s, stmt, &waiting->addr);
}

static void hold(struct waiting *one, int64_t deadline)
{
	if (deadline <= one->until && deadline > one->held)
		one->held = deadline;
}

/* A list that cannot be read may hold all of them. */
static int hold_list(const struct waitings *w, int64_t deadline, const char *name, enum list_kind kind)
{
	sqlite3_stmt *stmt = state_prepare(w->state, "SELECT 1 FROM list WHERE name = ? AND ? ="
						     " coalesce((SELECT kind FROM scope WHERE list = id), kind)");
	struct ranges set = RANGES_EMPTY;
	int code, err;

	if (!stmt)
		return because_sqlite(w->state, "reading");
	state_bind_text(stmt, 1, name);
	sqlite3_bind_int(stmt, 2, (int)kind);
	code = sqlite3_step(stmt);
	err = state_finish(w->state, stmt, code);
	if (err || code != SQLITE_ROW)
		return err;
	err = state_list_set(w->state, name, &set);
	for (size_t i = 0; i < w->n; i++)
		if (err || ranges_covering(&set, w->at[i].addr) >= 0)
			hold(&w->at[i], deadline);
	ranges_free(&set);
	return err_is(err, ENOMEM) ? err : 0;
}

/* The prefix of a row, as far as it is the ban of one of them. */
static bool is_ban_of(const struct waitings *w, const char *prefix, struct ban *ban)
{
	bool any = false;

	if (!prefix_parse(prefix, strlen(prefix), &ban->first, &ban->length))
		for (size_t i = 0; i < w->n && !any; i++)
			any = ban_covers(ban, w->at[i].addr);
	return any;
}

/* It may be over. */
static int hold_ban(const struct waitings *w, int64_t deadline, const char *prefix)
{
	struct ban ban = { 0 };
	int err = is_ban_of(w, prefix, &ban) ? state_ban_get(w->state, ban.first, ban.length, &ban) : -ENOENT;

	for (size_t i = 0; i < w->n && !err; i++)
		if (ban_covers(&ban, w->at[i].addr))
			hold(&w->at[i], deadline);
	return err_is(err, ENOENT) ? 0 : err;
}

/* By what it bans while it waits. Where something begins to filter, or to look, and in an image, that may be all. */
static int hold_by(const struct waitings *w, const struct pending *one)
{
	char before[LIST_NAME_MAX + sizeof(" before")];

	if (one->deadline == PENDING_IN_PROGRESS)
		return 0;
	switch (one->kind) {
	case PENDING_LIST:
		snprintf(before, sizeof(before), "%s before", one->name);
		return hold_list(w, one->deadline, one->name, LIST_BAN)
			       ?: hold_list(w, one->deadline, before, LIST_ALLOW);
	case PENDING_LIST_KIND:
		return hold_list(w, one->deadline, one->name, LIST_BAN);
	case PENDING_BAN:
		return hold_ban(w, one->deadline, one->name);
	case PENDING_SETTING:
		if (strcmp(one->name, "inner") != 0 && strcmp(one->name, "embedded") != 0)
			return 0;
		break;
	default:
		break;
	}
	for (size_t i = 0; i < w->n; i++)
		hold(&w->at[i], one->deadline);
	return 0;
}

static int settle(const struct waitings *w)
{
	struct pending *pending = NULL;
	size_t n = 0;
	int err = state_pending(w->state, &pending, &n);
	bool known;

	for (size_t i = 0; i < n && !err; i++)
		err = hold_by(w, &pending[i]);
	free(pending);
	known = !err;
	err = err_is(err, ENOMEM) ? err : 0;
	for (size_t i = 0; i < w->n && known && !err; i++) {
		char name[80];

		name_of(name, w->at[i].addr);
		err = w->at[i].held ? state_set(w->state, name, -(double)w->at[i].held) : drop(w->state, name);
	}
	return err;
}

/* Whatever else is damaged, what there is can be taken off. */
int state_grants_undo(struct state *state, const char *ban)
{
	struct waitings w = { .state = state };
	struct ban gone = { 0 };
	int err = state_put(state,
			    "DELETE FROM setting WHERE name GLOB '" GRANTED "*' AND value < 0 AND"
			    " NOT EXISTS (SELECT 1 FROM pending WHERE deadline <= -value)",
			    "");

	if (err)
		return err;
	err = state_rows(state,
			 state_prepare(state,
				       "SELECT name, -value FROM setting WHERE name GLOB '" GRANTED "*' AND value < 0"),
			 read_waiting, sizeof(*w.at), &w.at, &w.n);
	if (!err && w.n && (!ban || is_ban_of(&w, ban, &gone)))
		err = settle(&w);
	free(w.at);
	return err_is(err, EUCLEAN) ? 0 : err;
}

int state_grants_confirm(struct state *state)
{
	return state_grants_undo(state, NULL)
		       ?: state_put(state, "UPDATE setting SET value = ? WHERE name GLOB '" GRANTED "*' AND value < 0",
				    "I", (sqlite3_int64)time(NULL));
}

int state_guard_port(struct state *state, unsigned int port, bool guarded)
{
	char name[32];

	snprintf(name, sizeof(name), PORT "%u", port);
	return guarded ? state_set(state, name, 1) : drop(state, name);
}

static int read_port(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	char name[80];
	int err = read_name(s, stmt, name);

	if (!err)
		*(int *)entry = atoi(name + strlen(PORT));
	return err;
}

int state_guarded_ports(struct state *state, bool *ports)
{
	int *at;
	size_t n;
	int err = state_rows(state, state_prepare(state, "SELECT name FROM setting WHERE name GLOB '" PORT "*'"),
			     read_port, sizeof(*at), &at, &n);

	for (size_t i = 0; i < n && !err; i++)
		ports[at[i]] = true;
	free(at);
	return err;
}

static int read_server(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	char name[80];
	int err = read_name(s, stmt, name);

	if (!err)
		addr_parse(name + strlen(SERVER), strlen(name) - strlen(SERVER), entry);
	return err;
}

int state_fleet_servers(struct state *state, struct addr **servers, size_t *n)
{
	return state_rows(state, state_prepare(state, "SELECT name FROM setting WHERE name GLOB '" SERVER "*'"),
			  read_server, sizeof(**servers), servers, n);
}

int state_fleet_servers_put(struct state *state, const struct addr *servers, size_t n)
{
	char name[80], text[PREFIX_TEXT_MAX];
	int err = state_put(state, "DELETE FROM setting WHERE name GLOB '" SERVER "*'", "");

	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), SERVER "%s", prefix_text(text, servers[i], -1));
		err = state_set(state, name, 1);
	}
	return err;
}
