// SPDX-License-Identifier: GPL-2.0-only
/* When the groups that a machine is in are its own: where something that comes in is judged by where it goes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "change/own_internal.h"
#include "ktap.h"
#include "state/ports.h"
#include "state/settings.h"
#include "state/state.h"

/* What is filtered, and by which rules more comes to be. */
static struct {
	unsigned int match[2][3];
	size_t n[2];
	int fails[2];
} given;
static bool groups;

static int given_of(int k, struct interface_info **all, size_t *n)
{
	if (given.fails[k])
		return because(given.fails[k], "it cannot be read");
	*n = given.n[k];
	*all = calloc(3, sizeof(**all));
	if (!*all)
		abort();
	for (size_t i = 0; i < *n; i++)
		(*all)[i].match = given.match[k][i];
	return 0;
}

static int given_interfaces(struct state *state, struct interface_info **all, size_t *n)
{
	(void)state;
	return given_of(0, all, n);
}

static int given_ports(struct state *state, struct interface_info **all, size_t *n)
{
	(void)state;
	return given_of(1, all, n);
}

static int given_routes(struct learned *l)
{
	groups = l->groups;
	return 0;
}

static int given_files(struct learned *l)
{
	(void)l;
	return 0;
}

static void given_others(struct learned *l, struct state *state)
{
	(void)l;
	(void)state;
}

#define state_interfaces		      given_interfaces
#define state_ports			      given_ports
#define state_setting(state, name, otherwise) (otherwise)
#define state_pending_has(state, kind, name)  0
#define own_from_routes			      given_routes
#define own_from_files			      given_files
#define own_from_fleet			      given_others
#define own_from_feeds			      given_others
#define own_from_people			      given_others
#include "change/own_addresses.c"

static bool asks(bool anyway)
{
	struct own_address *list;
	size_t n;
	int err;

	groups = !anyway;
	err = own_addresses(NULL, anyway, NULL, NULL, &list, &n);
	CHECK(!err && !list && !n, "%zu are needed", n);
	return groups;
}

static void of_what_is_filtered(void)
{
	static const struct {
		unsigned int match;
		bool asks;
	} known[] = {
		{ MATCH_SOURCE, false },
		{ MATCH_DESTINATION, true },
		{ MATCH_BOTH, true },
		{ MATCH_LEAVING(MATCH_SOURCE), false },
		{ MATCH_LEAVING(MATCH_DESTINATION), false },
		{ MATCH_LEAVING(MATCH_BOTH), false },
		{ MATCH_COMING(MATCH_SOURCE), false },
		{ MATCH_COMING(MATCH_DESTINATION), true },
		{ MATCH_COMING(MATCH_BOTH), true },
	};

	memset(&given, 0, sizeof(given));
	CHECK(!asks(false) && asks(true), "nothing is filtered");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		for (int k = 0; k < 2; k++)
			for (size_t at = 0; at < 3; at++) {
				memset(&given, 0, sizeof(given));
				given.n[k] = 3;
				given.match[k][at] = known[i].match;
				CHECK(asks(false) == known[i].asks && asks(true), "%s %zu matches %u",
				      k ? "rule" : "interface", at, known[i].match);
			}
}

/* Who needs what cannot be read says so. */
static void unread(void)
{
	for (int k = 0; k < 2; k++) {
		memset(&given, 0, sizeof(given));
		given.n[0] = 1;
		given.match[0][0] = MATCH_BOTH;
		given.fails[k] = -EIO;
		CHECK(!asks(false) && asks(true), "%s cannot be read", k ? "rules" : "interfaces");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "of what is filtered", of_what_is_filtered },
		{ "what cannot be read", unread },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
