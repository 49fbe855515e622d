// SPDX-License-Identifier: GPL-2.0-only
#include "change/detector.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "change/ends.h"
#include "change/own_addresses.h"
#include "kernel/detect.h"
#include "kernel/detect_in_force.h"
#include "state/limits.h"
#include "state/proven.h"
#include "sets/writer.h"
#include "state/kept_image.h"
#include "state/state.h"

struct trusting {
	struct detector *detector;
	__u64 scale;
	int err;
};

static void trust(struct addr first, unsigned int length, void *arg)
{
	struct trusting *t = arg;
	struct detector *d = t->detector;

	if (t->err || !GROW(d->trusted, d->trusted_n)) {
		t->err = -ENOMEM;
		return;
	}
	d->trusted[d->trusted_n++] = (struct trusted){ end_key_of(first, length), t->scale };
	if (first.family == 6 && length > 64)
		d->trusts_hosts = true;
}

static int prove(struct detector *detector, struct state *state)
{
	return state_proven(state, &detector->proven, &detector->proven_n);
}

static int jail(struct detector *detector, struct state *state)
{
	unsigned int ladder[LADDER_STEPS];
	size_t n;
	int err = state_ladder(state, ladder, &n);

	detector->jail_ns = err ? 0 : ladder[0] * 1000000000ULL;
	return err;
}

/* All of `set` that nobody had before. */
static int claim(struct trusting *t, struct ranges *claimed, const struct ranges *set)
{
	struct ranges own = RANGES_EMPTY, both = RANGES_EMPTY;
	int err = ranges_subtract(&own, set, claimed) ?: ranges_union(&both, claimed, &own);

	if (!err) {
		writer_prefixes(&own, trust, t);
		err = t->err;
	}
	if (!err) {
		ranges_free(claimed);
		*claimed = both;
		both = RANGES_EMPTY;
	}
	ranges_free(&own);
	ranges_free(&both);
	return err;
}

static int by_times(const void *a, const void *b)
{
	const struct list_info *x = a, *y = b;

	return (x->times < y->times) - (x->times > y->times);
}

/*
 * No prefix of one lies within another's: whom an allow list has is allowed, however long the prefix by which he is
 * trusted; and who is in two lists has the more generous one.
 */
static int trust_lists(struct trusting *t, struct state *state, struct ranges *claimed)
{
	struct list_info *lists;
	struct ranges set;
	size_t n;
	int err = state_lists(state, &lists, &n);

	if (!err && n)
		qsort(lists, n, sizeof(*lists), by_times);
	for (size_t i = 0; i < n && !err; i++) {
		if (lists[i].kind != LIST_TRUST || lists[i].times < 2)
			continue;
		t->scale = TRUST_ALL / lists[i].times;
		err = state_list_whole_set(state, &lists[i], &set) ?: claim(t, claimed, &set);
		ranges_free(&set);
	}
	free(lists);
	return err;
}

static int trusts(struct detector *detector, struct state *state)
{
	struct trusting t = { .detector = detector };
	struct ranges allowed = RANGES_EMPTY;
	struct list_info *lists = NULL;
	size_t n;
	int err = lists_in_force(state, &lists, &n) ?: state_allowed(state, &allowed);

	detector->account = true;
	for (size_t i = 0; i < n && !err; i++)
		if (list_counts(&lists[i]) && lists[i].label == LABEL_DETECTOR)
			detector->account = false;
	if (!err) {
		writer_prefixes(&allowed, trust, &t);
		err = t.err ?: trust_lists(&t, state, &allowed);
	}
	ranges_free(&allowed);
	free(lists);
	return err;
}

/* What is charged of a source whose longest prefix in the map this one will be, by the first n. */
static __u64 scale_around(const struct detector *detector, size_t n, const struct end_key *key)
{
	const struct trusted *longest = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct trusted *t = &detector->trusted[i];

		if ((!longest || t->key.bits > longest->key.bits) && end_key_holds(&t->key, key))
			longest = t;
	}
	return longest ? longest->scale : TRUST_ALL;
}

/* A host, or of IPv6 its network. */
static struct addr judged(const struct own_address *own)
{
	ip6 rest = addr_mask(own->addr.family, own->addr.family == 4 ? 32 : 64);

	return (struct addr){ own->addr.num & ~rest, own->addr.family };
}

static int by_judged(const void *a, const void *b)
{
	struct addr one = judged(a), two = judged(b);

	return one.family != two.family ? one.family - two.family : (one.num > two.num) - (one.num < two.num);
}

/* What this machine needs may be policed: whose ban would be taken back is not banned at all. As far as it is known. */
static int spare_needs(struct detector *detector, struct state *state)
{
	struct own_address *needs = NULL;
	size_t n = 0, lists_n = detector->trusted_n;
	int err = limits_do(&detector->limits, THEN_BAN) ? own_addresses(state, false, NULL, NULL, &needs, &n) : 0;

	if (err && !err_is(err, ENOMEM)) {
		note("the detector does not know what this machine needs: %s", reason(err));
		err = n = 0;
	}
	if (n)
		qsort(needs, n, sizeof(*needs), by_judged);
	for (size_t i = 0; i < n && !err; i++) {
		struct addr first = judged(&needs[i]);
		struct end_key key = end_key_of(first, first.family == 4 ? 32 : 64);
		__u64 scale = scale_around(detector, lists_n, &key);

		if (!scale || (i && !by_judged(&needs[i - 1], &needs[i])))
			continue;
		for (size_t t = 0; t < lists_n; t++)
			if (detector->trusted[t].scale && end_key_holds(&key, &detector->trusted[t].key))
				detector->trusted[t].scale |= TRUST_NO_BAN;
		if (GROW(detector->trusted, detector->trusted_n))
			detector->trusted[detector->trusted_n++] = (struct trusted){ key, scale | TRUST_NO_BAN };
		else
			err = -ENOMEM;
	}
	free(needs);
	return err;
}

/* What sockets of this machine may be asked about. A loopback address comes from nowhere else. */
static int own(struct detector *detector)
{
	struct ifaddrs *all = NULL;
	int err = getifaddrs(&all) ? because(-errno, "this machine's addresses: %s", strerror(errno)) : 0;

	for (const struct ifaddrs *at = all; at && !err; at = at->ifa_next) {
		struct trusted *own = &(struct trusted){ .scale = 1 };

		if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6))
			continue;
		if (at->ifa_addr->sa_family == AF_INET) {
			own->key = (struct end_key){ .bits = END_KEY_BITS(32), .family = END_KEY_OWN + 4 };
			memcpy(own->key.addr, &((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr, 4);
		} else {
			own->key = (struct end_key){ .bits = END_KEY_BITS(128), .family = END_KEY_OWN + 6 };
			memcpy(own->key.addr, &((struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr, 16);
		}
		if (GROW(detector->trusted, detector->trusted_n))
			detector->trusted[detector->trusted_n++] = *own;
		else
			err = -ENOMEM;
	}
	freeifaddrs(all);
	return err;
}

static bool is_among(const struct end_key *key, const struct end_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(key, &keys[i], sizeof(*key)))
			return true;
	return false;
}

/* Those that were told and are none any more go to the front. How many they are. */
static size_t gone_first(struct own_told *told, const struct own_told *now)
{
	size_t gone = 0;

	for (size_t i = 0; i < told->n; i++) {
		struct end_key key = told->keys[i];

		if (is_among(&key, now->keys, now->n))
			continue;
		told->keys[i] = told->keys[gone];
		told->keys[gone++] = key;
	}
	return gone;
}

int detector_follow(const struct context *context, const struct limits *limits, struct own_told *told)
{
	struct detector detector = { 0 };
	struct own_told now = { 0 };
	int err = limits->on && limits_look_up(limits) ? own(&detector) : 0;

	if (!err && detector.trusted_n) {
		now.keys = calloc(detector.trusted_n, sizeof(*now.keys));
		for (size_t i = 0; now.keys && i < detector.trusted_n; i++)
			now.keys[now.n++] = detector.trusted[i].key;
		err = now.keys ? kernel_own(context, now.keys, now.n, told->keys, gone_first(told, &now)) : -ENOMEM;
	}
	if (!err) {
		own_told_free(told);
		*told = now;
		now = (struct own_told){ 0 };
	}
	own_told_free(&now);
	detector_free(&detector);
	return err;
}

void own_told_free(struct own_told *told)
{
	free(told->keys);
	*told = (struct own_told){ 0 };
}

int detector_fill(struct detector *detector, struct state *state)
{
	detector->limits = state_limits(state);
	return !detector->limits.on ? 0
				    : trusts(detector, state) ?:
				      spare_needs(detector, state) ?:
				      (limits_look_up(&detector->limits) ? own(detector) : 0) ?:
				      prove(detector, state) ?:
				      jail(detector, state);
}

void detector_free(struct detector *detector)
{
	free(detector->trusted);
	free(detector->proven);
}
