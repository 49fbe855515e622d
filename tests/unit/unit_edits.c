// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random edits against a model that keeps every address, under all settings that shape the arrays: after each of them
 * every verdict is right, and on the right account. What readers see meanwhile is for unit_edit.c.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/log.h"
#define EDITED_IN_CODES
#include "edited.h"
#include "filter/arrays.h"
#include "filter/settings.h"

/* --- What is brought in ----------------------------------------------------------------------------------------------
 */

/* What edit_make() writes has been touched by edit_bring_in(): a page that comes only then might not come at all. */
static struct {
	const struct generation *g;
	bool made;
	unsigned int missed, times;
} pages;

static bool in_array(const struct generation *g, const char *at)
{
	for (enum array which = 0; which < ARRAYS; which++) {
		const char *array = (const char *)(uintptr_t)*generation_member((struct generation *)(uintptr_t)g,
										array_kinds[which].member);

		if (array && at >= array && at < array + array_bytes(g, which))
			return true;
	}
	return false;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

	(void)context;
	if (!pages.g || mprotect((void *)page, 4096, PROT_READ | PROT_WRITE))
		signal(signo, SIG_DFL);
	else if (pages.made && in_array(pages.g, info->si_addr))
		pages.missed++;
}

static void protect(struct generation *g, int how)
{
	for (enum array which = 0; which < ARRAYS; which++) {
		uintptr_t from = (uintptr_t)*generation_member(g, array_kinds[which].member) & ~(uintptr_t)4095;
		uintptr_t to = (uintptr_t)*generation_member(g, array_kinds[which].member) + array_bytes(g, which);

		if (from)
			ENOUGH(!mprotect((void *)from, (to - from + 4095) & ~(uintptr_t)4095, how));
	}
}

/* As live bans come into force; now and then under watch. */
static void make(struct edit *e)
{
	bool watched = ktap_random() % 8 == 0;

	if (watched) {
		struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

		ENOUGH(!sigaction(SIGSEGV, &act, NULL));
		pages.g = e->g;
		pages.made = false;
		protect(e->g, PROT_NONE);
	}
	edit_bring_in(e);
	pages.made = true;
	edit_make(e);
	if (!watched)
		return;
	protect(e->g, PROT_READ | PROT_WRITE);
	pages.g = NULL;
	pages.times++;
	signal(SIGSEGV, SIG_DFL);
	CHECK(!pages.missed, "%u pages were written that had not been touched", pages.missed);
}

/* --- IPv4 ------------------------------------------------------------------------------------------------------------
 */

#define WORLD  4096 /* addresses: sixteen /24 */
#define BASE   0x2d070000u
#define ROUNDS 300

/* Whose /24 there are in the gate: one list's, two lists' (only a gate that has labels takes one of live bans then), a
 * shadow list's, which must not drop, or nobody's. */
enum lists { ONE_LIST, TWO_LISTS, A_SHADOW, HOSTS, KINDS_OF_LISTS };

static const char *const lists_names[] = { "one list", "two lists", "a shadow list", "hosts" };

static struct world {
	enum lists lists;
	bool listed[WORLD], live[WORLD];
	unsigned int refused, done, wide, gone;
} world;

/* The verdict, and on whose account it is, wherever accounts are kept. */
static bool is_right(const struct world *w, const struct generation *g, bool labels, uint32_t i)
{
	__u32 answer = decide_shadow(g, decide_ipv4(g, BASE + i));
	__u32 stage = ANSWER_STAGE(answer);
	bool drop = answer & ANSWER_DROP;

	if (drop != (w->live[i] || (w->listed[i] && w->lists != A_SHADOW)))
		return CHECK(false, "address %u: %s; listed %d, live %d", i, drop ? "drop" : "pass", w->listed[i],
			     w->live[i]);
	if (!drop || (stage != STAGE_ROSTER && (stage != STAGE_GATE || !labels)))
		return true;
	return CHECK(ANSWER_LABEL(answer) == LABEL_LIVE ? w->live[i] : w->listed[i],
		     "address %u is on account %u; listed %d, live %d", i, ANSWER_LABEL(answer), w->listed[i],
		     w->live[i]);
}

/* A prefix into force, or out of it; false: all of it is as it was. */
static bool edit(struct world *w, struct generation *g, uint32_t first, uint32_t n, bool ban)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, LABEL_LIVE };
	struct owned owned;
	struct edit e;
	int err;

	ENOUGH(!ranges_add4(&set, BASE + first, BASE + first + n - 1) && !ranges_finish(&set));
	ENOUGH(!owned_settle(&owned, &account, 1, &none));
	edit_begin(&e, g);
	err = ban ? edit_ban(&e, &owned) : edit_unban4(&e, &set);
	if (!err) {
		w->wide += e.net24s;
		w->gone += e.gone4 != 0;
		make(&e);
		for (uint32_t i = first; i < first + n; i++)
			w->live[i] = ban;
	}
	edit_end(&e);
	owned_free(&owned);
	ranges_free(&set);
	CHECK(!err || err_is(err, EAGAIN), "error %d", err);
	return !err;
}

/* Every address of a small world: listed, banned live, or neither. */
static void random_edits_with(enum lists lists, const struct settings *settings)
{
	struct ranges list = RANGES_EMPTY, other = RANGES_EMPTY, live = RANGES_EMPTY;
	/* Live bans come behind lists, and before shadow lists. */
	const struct account accounts[] = {
		{ &live, LABEL_LIVE }, { &list, LABEL_LIST }, { &other, LABEL_OTHER }, { &live, LABEL_LIVE }
	};
	struct world *w = &world;
	struct generation g;

	*w = (struct world){ .lists = lists, .refused = w->refused, .done = w->done, .wide = w->wide, .gone = w->gone };
	for (uint32_t i = 0; i < WORLD; i++) {
		uint32_t net24 = i / 256;
		bool half = net24 == 6 && lists != HOSTS; /* of a /24, whose other half is banned live */

		w->listed[i] = (lists != HOSTS && net24 == 3) || (lists == TWO_LISTS && net24 == 5) ||
			       (half ? i % 256 < 160 : net24 < 8 && ktap_random() % 8 == 0);
		w->live[i] = half ? i % 256 >= 160 : net24 > 4 && ktap_random() % 16 == 0;
		if (w->listed[i])
			ENOUGH(!ranges_add_host(net24 == 5 ? &other : &list, BASE + i));
		if (w->live[i])
			ENOUGH(!ranges_add_host(&live, BASE + i));
	}
	ENOUGH(!ranges_finish(&list) && !ranges_finish(&other) && !ranges_finish(&live));
	if (!generate_with(&g, &accounts[lists == A_SHADOW ? 0 : 1], 3, settings))
		goto out;
	if (lists == A_SHADOW) {
		g.shadows = 1;
		g.shadow[0] = 1 << LABEL_LIST | 1 << LABEL_OTHER;
	}
	for (unsigned int round = 0; round < ROUNDS && !ktap_failed; round++) {
		uint32_t n = 1u << ktap_random() % 9, first = (uint32_t)(ktap_random() % WORLD) & ~(n - 1);
		bool whole = round % 16 == 15;

		*(edit(w, &g, first, n, ktap_random() % 2) ? &w->done : &w->refused) += 1;
		for (uint32_t i = whole ? 0 : first; i < (whole ? WORLD : first + n); i++)
			if (!is_right(w, &g, settings->labels && settings->exact, i))
				break;
	}
	memory_release(&g);
out:
	ranges_free(&list);
	ranges_free(&other);
	ranges_free(&live);
}

/* Each of them under all settings that shape the arrays. */
static void random_edits(enum lists lists)
{
	memset(&world, 0, sizeof(world));
	/* A shadow list takes the roster and the labels, whatever the settings. */
	for (int way = lists == A_SHADOW ? 3 : 0; way < 4; way++) {
		for (enum layout layout = 0; layout <= LAYOUT_AUTO && !ktap_failed; layout++) {
			struct settings settings = SETTINGS_DEFAULT;

			settings.headroom = 4;
			settings.bits_per_key = 64; /* without a roster, strangers are too few to be met */
			settings.layout = layout;
			settings.exact = way & 1;
			settings.labels = way & 2;
			random_edits_with(lists, &settings);
			if (ktap_failed)
				printf("# %s, exact %d, labels %d, layout %s\n", lists_names[lists], settings.exact,
				       settings.labels, layout_names[layout]);
		}
	}
	printf("# %s: %u edits done, %u left to a rotation\n", lists_names[lists], world.done, world.refused);
	CHECK(world.done && world.refused && !world.gone == (lists == A_SHADOW), "%u done, %u refused, %u taken out",
	      world.done, world.refused, world.gone);
	CHECK(lists == ONE_LIST || lists == A_SHADOW || world.wide, "%u /24 were banned in place", world.wide);
}

static void edits_on_one_list(void)
{
	random_edits(ONE_LIST);
}

static void edits_on_two_lists(void)
{
	random_edits(TWO_LISTS);
}

static void edits_on_a_shadow(void)
{
	random_edits(A_SHADOW);
}

/* A host that a shadow list counts is banned in place: its entry changes the account, nobody else's does. */
static void host_of_a_shadow(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges list = RANGES_EMPTY;
	const struct account account = { &list, LABEL_LIST };
	struct generation g;

	memset(&world, 0, sizeof(world));
	world.lists = A_SHADOW;
	settings.headroom = 10;
	for (uint32_t i = 0; i < WORLD; i += 37) {
		world.listed[i] = true;
		ENOUGH(!ranges_add_host(&list, BASE + i));
	}
	ENOUGH(!ranges_finish(&list));
	if (!generate_with(&g, &account, 1, &settings))
		goto out;
	g.shadows = 1;
	g.shadow[0] = 1 << LABEL_LIST;
	for (uint32_t i = 0; i < WORLD && !ktap_failed; i += 37) {
		__u32 answer;

		CHECK(edit(&world, &g, i, 1, true), "host %u is not banned in place", i);
		answer = decide_shadow(&g, decide_ipv4(&g, BASE + i));
		CHECK(answer & ANSWER_DROP && ANSWER_LABEL(answer) == LABEL_LIVE, "host %u: answer %x", i, answer);
	}
	for (uint32_t i = 0; i < WORLD; i++)
		if (!is_right(&world, &g, true, i))
			break;
	memory_release(&g);
out:
	ranges_free(&list);
}

static void edits_on_hosts(void)
{
	random_edits(HOSTS);
}

/* --- IPv6 ------------------------------------------------------------------------------------------------------------
 */

#define PREFIXES 40
#define BASE6	 ((ip6)0x20010db8 << 96)

/* IPv6 bans are prefixes, one within the other or not, and each is taken out as it was put in. */
struct prefix6 {
	ip6 first;
	unsigned int length;
};

struct world6 {
	struct prefix6 listed[PREFIXES], live[PREFIXES];
	size_t listed_n, live_n;
	unsigned int done, refused, gone, allowed;
	bool far, many;
};

static bool covers(struct prefix6 outer, struct prefix6 inner)
{
	return outer.length <= inner.length && (inner.first & ~addr_mask(6, outer.length)) == outer.first;
}

static bool any_covers(const struct prefix6 *list, size_t n, struct prefix6 one)
{
	for (size_t i = 0; i < n; i++)
		if (covers(list[i], one))
			return true;
	return false;
}

/* One of 256 addresses: in few prefixes far apart, or in many that lie side by side. */
static ip6 address6(const struct world6 *w, uint64_t n)
{
	if (w->far)
		return BASE6 | (ip6)(n & 1) << 76 | (ip6)(n >> 1 & 3) << 64 | (ip6)(n >> 3 & 1) << 12 | (n >> 4 & 3);
	return BASE6 | (ip6)(n & 63) << 64 | (n >> 6 & 3);
}

/* Lengths that are near share a rung, those far apart have one each. */
static struct prefix6 random_prefix6(const struct world6 *w)
{
	static const unsigned int near[] = { 60, 62, 63, 64, 112, 127, 128, 128 };
	static const unsigned int far[] = { 52, 52, 62, 63, 64, 116, 127, 128 };
	struct prefix6 p = { address6(w, ktap_random()), (w->far ? far : near)[ktap_random() % 8] };

	p.first &= ~addr_mask(6, p.length);
	return p;
}

static void add_prefixes(struct ranges *set, const struct prefix6 *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ENOUGH(!ranges_add6(set, list[i].first, list[i].first | addr_mask(6, list[i].length)));
	ENOUGH(!ranges_finish(set));
}

/* What the caller of edit_unban6() asks about a ban that others hold (user/change/live_bans.c). */
static bool wider_keys_are_bans(const struct edit *e, const struct prefix6 *bans, size_t n, struct prefix6 one)
{
	int wider;

	while ((wider = edit_wider6(e, &one.first, one.length)) >= 0) {
		bool own = false, shared = true;

		one.length = (unsigned int)wider;
		for (size_t i = 0; i < n; i++) {
			own |= bans[i].first == one.first && bans[i].length == one.length;
			shared &= !covers(bans[i], one) || edit_has_rung6(e, bans[i].length);
		}
		if (!own && shared)
			return false;
	}
	return true;
}

static bool edit6(struct world6 *w, struct generation *g, struct prefix6 one, bool ban)
{
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, LABEL_LIVE };
	struct prefix6 after[PREFIXES];
	size_t n = 0, within = 0;
	struct owned owned;
	struct edit e;
	int err;

	for (size_t i = 0; i < w->live_n; i++) {
		if (w->live[i].first == one.first && w->live[i].length == one.length)
			continue;
		within += covers(one, w->live[i]);
		after[n++] = w->live[i];
	}
	add_prefixes(&set, &one, 1);
	ENOUGH(!owned_settle(&owned, &account, 1, &none));
	edit_begin(&e, g);
	if (ban)
		err = edit_ban(&e, &owned);
	else if (any_covers(after, n, one) ? wider_keys_are_bans(&e, after, n, one) : !within)
		err = edit_unban6(&e, one.first, one.length, any_covers(after, n, one));
	else
		err = -EAGAIN;
	if (ban)
		after[n++] = one;
	if (!err) {
		w->gone += e.gone6 != 0;
		make(&e);
		memcpy(w->live, after, n * sizeof(*after));
		w->live_n = n;
	}
	edit_end(&e);
	owned_free(&owned);
	ranges_free(&set);
	CHECK(!err || err_is(err, EAGAIN), "error %d", err);
	return !err;
}

static void compare6(const struct world6 *w, const struct generation *g)
{
	for (uint64_t n = 0; n < 256 && !ktap_failed; n++) {
		struct prefix6 one = { address6(w, n), 128 };
		bool live = any_covers(w->live, w->live_n, one), listed = any_covers(w->listed, w->listed_n, one);
		bool drop = is_dropped6(g, one.first);

		CHECK(drop == (live || listed), "address %u: %s; listed %d, live %d", (unsigned int)n,
		      drop ? "drop" : "pass", listed, live);
	}
}

/* Nothing of it is dropped any more, and all else as before; or everything is as it was. */
static void allow6(struct world6 *w, struct generation *g)
{
	struct prefix6 one = random_prefix6(w);
	bool before[256], any = false;
	struct edit e;
	int err;

	for (uint64_t n = 0; n < 256; n++)
		before[n] = is_dropped6(g, address6(w, n));
	edit_begin(&e, g);
	err = edit_allow6(&e, one.first, one.length);
	if (!err)
		make(&e);
	edit_end(&e);
	CHECK(!err || err_is(err, EAGAIN), "error %d", err);
	for (uint64_t n = 0; n < 256 && !ktap_failed; n++) {
		bool within = !err && covers(one, (struct prefix6){ address6(w, n), 128 });

		any |= within && before[n];
		CHECK(is_dropped6(g, address6(w, n)) == (before[n] && !within), "address %u, /%u allowed: %d, was %d",
		      (unsigned int)n, one.length, err, before[n]);
	}
	w->allowed += any;
}

static void random_edits6_with(struct world6 *w, const struct settings *settings)
{
	struct ranges list = RANGES_EMPTY, live = RANGES_EMPTY;
	struct account accounts[] = { { &list, LABEL_LIST }, { &live, LABEL_LIVE } };
	struct generation g;

	w->listed_n = w->live_n = 0;
	while (w->listed_n < 1 + ktap_random() % 8)
		w->listed[w->listed_n++] = random_prefix6(w);
	for (uint64_t i = 0; w->many && i < 2; i++)
		w->live[w->live_n++] = (struct prefix6){ address6(w, 7) + i, 128 };
	while (w->live_n < ktap_random() % 8)
		w->live[w->live_n++] = random_prefix6(w);
	/* So many that /127 get a rung of their own: two live hosts side by side become one key of it. */
	for (ip6 i = 0; w->many && i < 20000; i++)
		ENOUGH(!ranges_add6(&list, BASE6 + ((i + 1) << 97), BASE6 + ((i + 1) << 97) + 1));
	add_prefixes(&list, w->listed, w->listed_n);
	add_prefixes(&live, w->live, w->live_n);
	if (generate_with(&g, accounts, 2, settings)) {
		for (unsigned int refused = 0; refused < 40 && !ktap_failed;) {
			bool ban = w->live_n < PREFIXES / 2 && (!w->live_n || ktap_random() % 2);
			struct prefix6 one = ban ? random_prefix6(w) : w->live[ktap_random() % w->live_n];

			refused = edit6(w, &g, one, ban) ? 0 : refused + 1;
			*(refused ? &w->refused : &w->done) += 1;
			compare6(w, &g);
		}
		for (int i = 0; i < 20 && g.roster6 && !ktap_failed; i++)
			allow6(w, &g);
		memory_release(&g);
	}
	ranges_free(&list);
	ranges_free(&live);
}

static void random_edits6(void)
{
	struct world6 w = { .done = 0 };

	for (int i = 0; i < 400 && !ktap_failed; i++) {
		struct settings settings = SETTINGS_DEFAULT;

		settings.headroom = 10;
		settings.bits_per_key = 64;
		settings.layout = (enum layout)(i / 2 % (LAYOUT_AUTO + 1));
		settings.exact = i & 1;
		w.many = i % 16 == 1;
		w.far = !w.many && ktap_random() & 1;
		random_edits6_with(&w, &settings);
		if (ktap_failed)
			printf("# exact %d, layout %s\n", settings.exact, layout_names[settings.layout]);
	}
	printf("# IPv6: %u edits done, %u left to a rotation, %u taken out, %u allowed\n", w.done, w.refused, w.gone,
	       w.allowed);
	CHECK(w.done && w.refused && w.gone && w.allowed, "not all of it happened");
}

/* What is edited no longer, but made from scratch: too many bits of keys that are gone, or a family without a key. */
static void worthwhile(void)
{
	static const struct {
		__u64 keys4, keys6, stale, gone4, gone6, swept, new4, new6;
		bool is;
	} known[] = {
		{ 10000, 20000, 4024, .is = true },
		{ 10000, 20000, 4025, .is = false },
		{ 20000, 10000, 4024, .is = true },
		{ 10000, 20000, 4025, .new4 = 10, .is = true },
		{ 10000, 20000, 4025, .new6 = 10, .is = true },
		{ 10000, 20000, 4025, .swept = 1, .is = true },
		{ 10010, 20000, 4014, .gone4 = 10, .is = true },
		{ 10010, 20000, 4015, .gone4 = 10, .is = false },
		{ 10000, 20010, 4014, .gone6 = 10, .is = true },
		{ 10000, 20010, 4015, .gone6 = 10, .is = false },
		{ 2, 2, 0, .gone4 = 1, .gone6 = 1, .is = true },
		{ 2, 2, 0, .gone4 = 2, .is = false },
		{ 2, 2, 0, .gone6 = 2, .is = false },
		{ 2, 2, 0, .gone4 = 2, .new4 = 1, .is = true },
		{ 0, 2, 0, .gone6 = 1, .is = true },
		{ 2, 0, 0, .gone4 = 1, .is = true },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct generation g = { .keys4 = known[i].keys4, .keys6 = known[i].keys6, .stale = known[i].stale };
		struct edit e = { .g = &g,
				  .new4 = known[i].new4,
				  .new6 = known[i].new6,
				  .gone4 = known[i].gone4,
				  .gone6 = known[i].gone6,
				  .swept = known[i].swept };
		int err = edit_worthwhile(&e);

		CHECK(known[i].is ? !err : err_is(err, EAGAIN), "%zu: %d", i, err);
	}
}

/* A list has a wide prefix, and another the first network in it: what ends within the wide one stays that one's. */
static void first_of_a_wide_one(void)
{
	static const struct {
		const char *prefix;
		uint8_t label;
	} lists[] = {
		{ "2001:db8:1b:100::/64", LABEL_LIST },
		{ "2001:db8:18::/46", LABEL_OTHER },
		{ "2001:db8:aa:1::/64", LABEL_ENDS },
	};
	struct ranges sets[3] = { 0 }, ending = RANGES_EMPTY, none = RANGES_EMPTY;
	struct settings settings = SETTINGS_DEFAULT;
	struct account accounts[3], ends = { &ending, LABEL_ENDS };
	struct owned wanted = { 0 };
	struct generation g;
	struct addr first;
	unsigned int length;
	struct edit e;

	settings.labels = true;
	settings.headroom = 9;
	for (size_t i = 0; i < 3; i++) {
		ENOUGH(!prefix_parse(lists[i].prefix, strlen(lists[i].prefix), &first, &length));
		ENOUGH(!ranges_add_prefix(&sets[i], first, length) && !ranges_finish(&sets[i]));
		accounts[i] = (struct account){ &sets[i], lists[i].label };
	}
	ENOUGH(!prefix_parse("2001:db8:1b:100::/56", 20, &first, &length));
	ENOUGH(!ranges_add_prefix(&ending, first, length) && !ranges_finish(&ending));
	if (!generate_with(&g, accounts, 3, &settings))
		return;
	g.ends = 1;
	edit_begin(&e, &g);
	e.wait = NULL;
	ENOUGH(!owned_settle(&wanted, &ends, 1, &none));
	if (CHECK(!edit_ban(&e, &wanted), "it is refused") && CHECK(!e.n, "%zu places change", e.n))
		for (ip6 net = 0; net < 256; net++) {
			ip6 addr = first.num + (net << 64);
			__u32 answer = decide_ipv6(&g, (__u64)(addr >> 64), 1);

			CHECK(answer & ANSWER_DROP && ANSWER_LABEL(answer) == (net ? LABEL_OTHER : LABEL_LIST),
			      "network %u: %x", (unsigned int)net, answer);
		}
	edit_end(&e);
	owned_free(&wanted);
	memory_release(&g);
	for (size_t i = 0; i < 3; i++)
		ranges_free(&sets[i]);
	ranges_free(&ending);
}

/* Whatever goes on, what ends must not do so in it: neither a live ban's /24 nor a list's. */
static void ends_at(uint32_t at)
{
	const uint32_t net = 0x2d070500u;
	struct ranges host = RANGES_EMPTY, whole = RANGES_EMPTY, none = RANGES_EMPTY, wide[2] = { 0 };
	struct settings settings = SETTINGS_DEFAULT;
	struct account accounts[3] = { { &host, LABEL_ENDS }, { &wide[0], LABEL_LIST }, { &wide[1], LABEL_OTHER } };
	struct generation g;

	settings.labels = true;
	settings.headroom = 9;
	ENOUGH(!ranges_add_host(&host, net + at) && !ranges_finish(&host));
	ENOUGH(!ranges_add4(&whole, net, net + 255) && !ranges_finish(&whole));
	for (unsigned int i = 0; i < 2; i++)
		ENOUGH(!ranges_add4(&wide[i], net + 256 * (i + 1), net + 256 * (i + 1) + 255) &&
		       !ranges_finish(&wide[i]));
	if (!generate_with(&g, accounts, 3, &settings))
		return;
	for (int i = 0; i < 6; i++) {
		static const uint8_t labels[] = { LABEL_LIST, LABEL_LIVE, LABEL_ENDS };
		struct account account = { &whole, labels[i % 3] };
		bool ends = i < 3, may = !ends || labels[i % 3] == LABEL_ENDS;
		struct owned wanted = { 0 };
		struct edit e;
		int err;

		g.ends = ends;
		edit_begin(&e, &g);
		ENOUGH(!owned_settle(&wanted, &account, 1, &none));
		err = edit_ban(&e, &wanted);
		CHECK(may ? !err : err_is(err, EAGAIN), "host %u, label %u, %s: %d", at, account.label,
		      ends ? "with a clock" : "without a clock", err);
		edit_end(&e);
		owned_free(&wanted);
	}
	memory_release(&g);
	ranges_free(&host);
	ranges_free(&whole);
	ranges_free(&wide[0]);
	ranges_free(&wide[1]);
}

static void host_that_ends(void)
{
	ends_at(0);
	ends_at(77);
	ends_at(255);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one list", edits_on_one_list },
		{ "two lists", edits_on_two_lists },
		{ "a shadow list", edits_on_a_shadow },
		{ "a host of a shadow list", host_of_a_shadow },
		{ "hosts", edits_on_hosts },
		{ "IPv6", random_edits6 },
		{ "the first of a wide one", first_of_a_wide_one },
		{ "a host that ends", host_that_ends },
		{ "what is worth it", worthwhile },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
