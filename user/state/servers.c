// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the settings' table, as those of grants.c. */
#include "state/servers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "state/internal.h"
#include "state/settings.h"

#define OF_LIST	 "server list "
#define OF_AGENT "server agent "

#define DAY	  86400
#define AGENT_FOR (30 * DAY)

/* "server list drop ", in front of each address. */
static void begin_name(char name[SETTING_ROW_MAX], const char *list)
{
	snprintf(name, SETTING_ROW_MAX, "%s%s%s", list ? OF_LIST : OF_AGENT, list ?: "", list ? " " : "");
}

static bool take_name(struct feed_server *server, const char *name)
{
	const char *addr = strrchr(name, ' ') + 1;
	size_t length = 0;

	if (!strncmp(name, OF_LIST, strlen(OF_LIST))) {
		name += strlen(OF_LIST);
		length = strspn(name, LIST_NAME_BYTES);
		if (!length || length >= sizeof(server->list) || name + length + 1 != addr)
			return false;
	} else if (addr != name + strlen(OF_AGENT)) {
		return false;
	}
	memcpy(server->list, name, length);
	server->list[length] = '\0';
	return !addr_parse(addr, strlen(addr), &server->addr);
}

bool state_server_is_sound(const char *name)
{
	return (strncmp(name, OF_LIST, strlen(OF_LIST)) != 0 && strncmp(name, OF_AGENT, strlen(OF_AGENT)) != 0) ||
	       take_name(&(struct feed_server){ 0 }, name);
}

static int read_server(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	char name[SETTING_ROW_MAX];

	row_text(&row, 0, name, sizeof(name));
	if (err_is(row.err, ENOMEM) || (!row.err && take_name(entry, name)))
		return row.err;
	return because(-EUCLEAN, "%s: where lists are fetched from is damaged; see 'xdp-bloom state recover'",
		       s->directory);
}

/* A version that knows nothing of them may have ended the feed. */
int state_feed_servers(struct state *state, struct feed_server **servers, size_t *n)
{
	sqlite3_stmt *stmt;

	*servers = NULL;
	*n = 0;
	if (!state->db || state->version < VERSION_FEEDS)
		return 0;
	stmt = state_prepare(state, "SELECT name FROM setting WHERE name GLOB '" OF_LIST "*' AND EXISTS"
				    " (SELECT 1 FROM feed"
				    "  WHERE name GLOB '" OF_LIST "' || replace(list, ' before', '') || ' *')"
				    " UNION ALL"
				    " SELECT name FROM setting WHERE name GLOB '" OF_AGENT "*' AND value > ?");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, time(NULL) - AGENT_FOR);
	return state_rows(state, stmt, read_server, sizeof(**servers), servers, n);
}

/* All but those two, unless there is a feed of that name. */
static int forget(struct state *state, const char *list, const char *unless, const char *a, const char *b)
{
	char name[SETTING_ROW_MAX];

	begin_name(name, list);
	return state_put(
		state,
		"DELETE FROM setting WHERE name GLOB ? || '*' AND NOT EXISTS (SELECT 1 FROM feed WHERE list = ?)"
		" AND name NOT IN (?, ?)",
		"ssss", name, unless, a, b);
}

/* What a version goes back to came from those before. */
int state_feed_servers_put(struct state *state, const char *list, const struct addr *servers, size_t n)
{
	char names[FEED_SERVERS][SETTING_ROW_MAX] = { "" }, before[LIST_NAME_MAX + sizeof(" before")];
	double now = list ? 1 : (double)time(NULL);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		char text[PREFIX_TEXT_MAX];
		double is;

		begin_name(names[i], list);
		strcat(names[i], prefix_text(text, servers[i], -1));
		is = state_setting(state, names[i], 0);
		if (!is || now > is + DAY)
			err = state_set(state, names[i], now);
	}
	snprintf(before, sizeof(before), "%s before", list ?: "");
	return err ?: forget(state, list, before, names[0], names[1]);
}

int state_feed_servers_forget(struct state *state, const char *list)
{
	return forget(state, list, list, "", "");
}
