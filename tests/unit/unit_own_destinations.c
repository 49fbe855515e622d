// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the groups that a machine is in are its own: where something that comes in is judged by where it goes. And how
 * often it is asked whether one address is wanted.
 */
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
static bool groups, embedded;
static void (*learns)(struct learned *l);

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
	if (learns)
		learns(l);
	return 0;
}

static int given_files(struct learned *l)
{
	(void)l;
	return 0;
}

static void given_clocks(struct learned *l)
{
	(void)l;
}

static void given_others(struct learned *l, struct state *state)
{
	(void)l;
	(void)state;
}

#define state_interfaces		      given_interfaces
#define state_ports			      given_ports
#define state_setting(state, name, otherwise) (embedded)
#define state_pending_has(state, kind, name)  0
#define own_from_routes			      given_routes
#define own_from_files			      given_files
#define own_from_fleet			      given_others
#define own_from_feeds			      given_others
#define own_from_clocks			      given_clocks
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

/* --- Who is asked whether an address is wanted: that may be the kernel --- */

#define POOL  300
#define TIMES 5000

static struct addr pool[POOL];
static const char *const whats[] = { "a gateway", "a peer", "a server" };
static bool learned[POOL][3];
static size_t asked[POOL + 1]; /* the last: of others */

/* The first third is IPv4, the next IPv6 within which each of those is (6to4), the last IPv6 with none. */
static void fill_pool(void)
{
	for (unsigned int i = 0; i < POOL; i++) {
		unsigned int third = i / (POOL / 3), of = i % (POOL / 3);
		uint32_t ipv4 = 0xc6336400 + of;

		pool[i] = third == 0   ? (struct addr){ ipv4, 4 }
			  : third == 1 ? (struct addr){ (ip6)0x2002 << 112 | (ip6)ipv4 << 80 | 1, 6 }
				       : (struct addr){ (ip6)0x20010db8 << 96 | (ip6)of << 64 | of << 3, 6 };
	}
}

static size_t in_pool(struct addr addr)
{
	size_t i = 0;

	while (i < POOL && !is_same(pool[i], addr))
		i++;
	return i;
}

static bool is_third(const void *arg, struct addr addr)
{
	size_t i = in_pool(addr);

	(void)arg;
	asked[i]++;
	return i < POOL && i % 3 == 0;
}

/* As routes and sockets come: the same ones again and again. */
static void learns_often(struct learned *l)
{
	memset(learned, 0, sizeof(learned));
	for (int i = 0; i < TIMES; i++) {
		size_t at = ktap_random() % POOL, what = ktap_random() % 3;

		if (ktap_random() % 2) {
			own_learn(l, pool[at], whats[what], "here");
			learned[at][what] = true;
		} else {
			size_t inner = embedded && at / (POOL / 3) == 1 ? at - POOL / 3 : at;

			CHECK(own_wanted(l, pool[at]) == (!l->wanted || at % 3 == 0 || inner % 3 == 0), "%zu", at);
		}
	}
}

/* Is it to be in the list? */
static bool is_listed(size_t i, size_t what, bool all)
{
	bool within = embedded && i < POOL / 3 && learned[i + POOL / 3][what];

	return (all || i % 3 == 0) && (learned[i][what] || within);
}

static void learn_often(bool all)
{
	struct own_address *list;
	size_t n, listed = 0;
	int err;

	memset(asked, 0, sizeof(asked));
	err = own_addresses(NULL, false, all ? NULL : is_third, NULL, &list, &n);
	CHECK(!err, "%d", err);
	for (size_t i = 0; i < POOL; i++) {
		CHECK(asked[i] <= !all, "%zu was asked about %zu times", i, asked[i]);
		for (size_t what = 0; what < 3; what++) {
			bool found[2] = { false, false };

			for (size_t k = 0; k < n; k++)
				if (is_same(list[k].addr, pool[i]) && list[k].what == whats[what])
					found[!is_same(list[k].source, pool[i])] = true;
			CHECK((found[0] || found[1]) == is_listed(i, what, all), "%zu, %s", i, whats[what]);
			listed += found[0] + found[1];
		}
	}
	CHECK(listed == n, "%zu are known, %zu of them once", n, listed);
	free(list);
}

static void asked_once(void)
{
	memset(&given, 0, sizeof(given));
	fill_pool();
	learns = learns_often;
	for (int i = 0; i < 4; i++) {
		embedded = i % 2;
		learn_often(i / 2);
	}
	learns = NULL;
	embedded = false;
}

#define AIMED 20000

/* Of one network, where multiplying by what is known gives each the same place. */
static void learns_aimed(struct learned *l)
{
	uint64_t inverse = 1, hi = 0x20010db800000000;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15 * inverse;
	for (uint64_t i = 0; i < AIMED; i++)
		own_learn(l, (struct addr){ (ip6)hi << 64 | ((i * inverse) ^ hi), 6 }, whats[0], "here");
}

/* How far the fullest place goes, where each is looked for from. */
static void learns_nowhere(struct learned *l)
{
	size_t longest = 0, run = 0;

	learns_aimed(l);
	for (size_t i = 0; i < l->room; i++) {
		run = l->slots[i].addr.family ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	CHECK(longest < 500, "%zu of them are in one place", longest);
}

static void aimed(void)
{
	struct own_address *list;
	size_t n;
	int err;

	memset(&given, 0, sizeof(given));
	learns = learns_nowhere;
	err = own_addresses(NULL, false, NULL, NULL, &list, &n);
	CHECK(!err && n == AIMED, "%zu are known", n);
	learns = NULL;
	free(list);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "of what is filtered", of_what_is_filtered },
		{ "what cannot be read", unread },
		{ "each is asked about once", asked_once },
		{ "nobody aims at one place", aimed },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
