/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists with and without a scope, exceptions, shadows and live bans, at random or real, in the state and in force. */
#ifndef SCOPE_WORLD_H
#define SCOPE_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "change/apply.h"
#include "change/guard_needs.h"
#include "kernel/live.h"
#include "naive.h"
#include "own_pins.h"
#include "state/bans.h"
#include "state/state.h"

enum { LISTS = 9, RANGES_OF = 24, BANS = 12 };

#define SOON 150000000 /* ns */

struct area {
	int family;
	ip6 lo, hi;
};

/* A real list: by their first addresses, each with the last one that any up to it has. */
static struct held {
	struct area *at;
	size_t n;
} held[64];
static size_t held_n;

static struct world {
	struct model_list {
		enum list_kind kind;
		struct scope scope;
		uint8_t label;
		struct area area[RANGES_OF];
		size_t n;
		const struct held *held; /* these instead: a real list */
	} list[LISTS];
	size_t n;
	struct model_ban {
		struct area area;
		bool ends, over;
	} ban[BANS];
	size_t bans;
} w;

static struct state *state;
static struct live live;

static unsigned int below(unsigned int n)
{
	return (unsigned int)(ktap_random() % n);
}

/* --- A world ---------------------------------------------------------------------------------------------------------
 */

#define BASE4  0x2d000000u
#define BASE6  ((ip6)0x2a0100 << 104)
#define MAPPED ((ip6)0xffff << 32)

static struct area random_area(void)
{
	struct area a = { .family = below(2) ? 4 : 6 };
	unsigned int length;

	if (a.family == 4) {
		length = (unsigned int[]){ 32, 32, 32, 31, 28, 25, 24, 24, 22 }[below(9)];
		a.lo = BASE4 | (below(1 << 11) & ~(uint32_t)addr_mask(4, length));
	} else {
		/* Few bits are random at each length, so that many lie within each other. */
		length = (unsigned int[]){ 128, 128, 64, 64, 60, 56, 48, 47, 44, 40, 36, 33, 32 }[below(13)];
		a.lo = BASE6 | (ip6)below(4) << 94 | (ip6)below(4) << 80 | (ip6)below(4) << 64 | below(8);
		a.lo &= ~addr_mask(6, length);
	}
	a.hi = a.lo | addr_mask(a.family, length);
	return a;
}

static bool in_area(const struct area *a, struct addr addr)
{
	return a->family == addr.family && addr.num >= a->lo && addr.num <= a->hi;
}

static const uint8_t protocols[] = { 6, 6, 6, 17, 17, 132, 1, 58, 47 };
static const uint16_t ports[] = { 22, 22, 53, 80, 1000, 1500, 2000, 65535, 0 };
static const char *const names[] = { "lo", "no-such-0" };
static const char *const others4[] = { "192.0.2.0/28", "192.0.2.0/24", "198.51.100.7" };
static const char *const others6[] = { "2001:db8::/32", "2001:db8:1::/48", "2001:db8:1::7" };

static void random_scope(struct scope *s)
{
	static const char *const only[] = { "tcp/22",	     "tcp/22,udp/53", "udp",
					    "tcp/1000-2000", "sctp/80,icmp",  "icmp,icmpv6,47",
					    "tcp,udp/53",    "tcp/0-1000",    "udp/53-65535" };

	*s = (struct scope){ 0 };
	if (below(4))
		ENOUGH(!scope_add_only(s, only[below(9)]));
	if (!below(3))
		ENOUGH(!scope_add_to(s, others4[below(3)]) && !scope_add_to(s, others6[below(3)]));
	if (!below(3))
		ENOUGH(!scope_add_on(s, names[below(2)]));
	if (scope_is_all(s))
		ENOUGH(!scope_add_only(s, only[below(9)]));
}

static int ranges_add(struct ranges *set, const struct area *a)
{
	return a->family == 4 ? ranges_add4(set, (uint32_t)a->lo, (uint32_t)a->hi) : ranges_add6(set, a->lo, a->hi);
}

/* --- Real lists ------------------------------------------------------------------------------------------------------
 */

static int by_first(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void read_held(struct held *h, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		struct area a;
		struct addr first;
		unsigned int length;

		line[strcspn(line, " \t\r\n#;,")] = '\0';
		if (!*line || prefix_parse(line, strlen(line), &first, &length))
			continue;
		a = (struct area){ first.family, first.num, first.num | addr_mask(first.family, length) };
		ENOUGH(h->at = reallocarray(h->at, h->n + 1, sizeof(*h->at)));
		h->at[h->n++] = a;
	}
	if (file)
		fclose(file);
	if (h->n)
		qsort(h->at, h->n, sizeof(*h->at), by_first);
	for (size_t i = 1; i < h->n; i++)
		if (h->at[i].family == h->at[i - 1].family && h->at[i].hi < h->at[i - 1].hi)
			h->at[i].hi = h->at[i - 1].hi;
}

static void read_all_held(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *file;
	char path[512];

	while (dir && (file = readdir(dir)) && held_n < sizeof(held) / sizeof(held[0])) {
		snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
		if (*file->d_name == '.' || !strncmp(file->d_name, "README", 6))
			continue;
		read_held(&held[held_n], path);
		held_n += held[held_n].n > 0;
	}
	if (dir)
		closedir(dir);
}

static bool held_has(const struct held *h, struct addr addr)
{
	size_t low = 0, high = h->n;

	/* The last one that begins there or before. */
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (h->at[mid].family < addr.family || (h->at[mid].family == addr.family && h->at[mid].lo <= addr.num))
			low = mid + 1;
		else
			high = mid;
	}
	return low && h->at[low - 1].family == addr.family && h->at[low - 1].hi >= addr.num;
}

/* At an edge of one of its entries, or within. */
static bool near_held(struct addr *addr, int family)
{
	const struct held *h = w.list[below((unsigned int)w.n)].held;
	const struct area *a = h ? &h->at[ktap_random() % h->n] : NULL;

	if (!a || a->family != family)
		return false;
	addr->family = family;
	switch (below(4)) {
	case 0:
		addr->num = a->lo - (a->lo != 0);
		break;
	case 1:
		addr->num = a->hi + (a->hi != addr_mask(family, 0));
		break;
	default:
		addr->num = a->lo + ((ip6)ktap_random() << 64 | ktap_random()) % (a->hi - a->lo + 1 ?: 1);
	}
	return true;
}

static bool put_list(struct model_list *l, unsigned int number, unsigned int kind)
{
	struct list_info info = { .prefixes = 1, .addresses = "1", .source = "a", .loaded = "2026-01-01T00:00:00Z" };
	struct ranges set = RANGES_EMPTY;
	int err = 0;

	*l = (struct model_list){ .kind = kind == 0 ? LIST_ALLOW : kind < 4 ? LIST_BAN : LIST_SHADOW };
	if (kind == 2 || kind == 3 || kind == 5)
		random_scope(&l->scope);
	info.kind = l->kind;
	ENOUGH(scope_text(info.scope, &l->scope));
	l->n = l->kind == LIST_ALLOW ? below(4) : 1 + below(RANGES_OF);
	l->held = held_n && l->kind != LIST_ALLOW ? &held[below((unsigned int)held_n)] : NULL;
	if (l->held)
		l->n = 0;
	for (size_t i = 0; l->held && i < l->held->n && !err; i++)
		err = ranges_add(&set, &l->held->at[i]);
	for (size_t i = 0; i < l->n && !err; i++) {
		l->area[i] = random_area();
		err = ranges_add(&set, &l->area[i]);
	}
	err = err ?: ranges_finish(&set);
	info.prefixes = ranges_count_prefixes(&set);
	snprintf(info.name, sizeof(info.name), "list%u", number);
	err = err ?: state_list_put(state, &info, &set);
	l->label = info.label;
	ranges_free(&set);
	return CHECK(!err, "a list is not put: %s", reason(err));
}

/* Nobody is asked about these: with so many, the roster keeps codes. */
static bool put_many(void)
{
	struct list_info info = { .kind = LIST_BAN,
				  .prefixes = 600000,
				  .addresses = "600000",
				  .source = "a",
				  .loaded = "2026-01-01T00:00:00Z",
				  .name = "many" };
	struct ranges set = RANGES_EMPTY;
	int err = 0;

	for (uint32_t i = 0; i < info.prefixes && !err; i++)
		err = ranges_add4(&set, 0x50000000 + i * 300, 0x50000000 + i * 300);
	err = err ?: ranges_finish(&set) ?: state_list_put(state, &info, &set);
	ranges_free(&set);
	return CHECK(!err, "a list is not put: %s", reason(err));
}

static bool put_ban(struct model_ban *b)
{
	struct ban ban = { .added = 1, .reason = "" };
	bool renewed;
	int err;

	b->area = random_area();
	b->ends = below(2);
	b->over = b->ends && below(2);
	ban.first = (struct addr){ b->area.lo, b->area.family };
	for (ban.length = 0; addr_mask(b->area.family, ban.length) != (b->area.hi ^ b->area.lo); ban.length++)
		;
	if (b->ends) {
		ban.expires = time(NULL) + 3600;
		ban.due = clock_boot() + (b->over ? SOON : 3600 * 1000000000LL);
	}
	err = state_ban_put(state, &ban, &renewed);
	/* One more of the same prefix is the one that counts. */
	for (size_t i = 0; i < w.bans; i++)
		if (!memcmp(&w.ban[i].area, &b->area, sizeof(b->area)) && &w.ban[i] != b)
			w.ban[i] = *b;
	return CHECK(!err, "a ban is not put: %s", reason(err));
}

/* The state is open then. */
static int without_lists(void)
{
	struct list_info *lists = NULL;
	size_t n = 0;
	int err = state_open(&state, &own_context, true) ?: state_lists(state, &lists, &n) ?: state_bans_clear(state);

	for (size_t i = 0; i < n && !err; i++)
		err = state_list_drop(state, lists[i].name);
	free(lists);
	return err;
}

static bool put_in_force(int err)
{
	struct guard guard = { .everything = true }; /* real lists may have an address of this machine */
	int64_t last;

	live_open(&live, &own_context);
	last = clock_boot();
	err = err ?: apply(state, &live, &guard);
	/* In the arrays they are; now they end. */
	while (clock_boot() <= last + SOON)
		usleep(1000);
	guard_free(&guard);
	state_close(state);
	live_close(&live);
	return CHECK(!err, "a world: %s", reason(err));
}

static bool make_world(void)
{
	int err = without_lists();

	w = (struct world){ .n = 2 + below(LISTS - 1) };
	for (size_t i = 0; i < w.n && !err; i++)
		if (!put_list(&w.list[i], (unsigned int)i, below(6)))
			err = -EINVAL;
	if (!err && !held_n && below(2) && !put_many())
		err = -EINVAL;
	for (size_t i = below(BANS); i && !err; i--, w.bans++)
		if (!put_ban(&w.ban[w.bans]))
			err = -EINVAL;
	return put_in_force(err);
}

#endif
