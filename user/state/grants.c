// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the settings' table: versions that do not know them leave them alone. */
#include "state/grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
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

int state_grants_confirm(struct state *state)
{
	return state_put(state, "UPDATE setting SET value = ? WHERE name GLOB '" GRANTED "*' AND value < 0", "I",
			 (sqlite3_int64)time(NULL));
}

int state_grants_undo(struct state *state)
{
	return state_put(state,
			 "DELETE FROM setting WHERE name GLOB '" GRANTED "*' AND value < 0 AND"
			 " NOT EXISTS (SELECT 1 FROM pending WHERE deadline = -value)",
			 "");
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
