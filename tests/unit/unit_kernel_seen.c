// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a detector has seen: what is read of its maps, by which clock, what becomes of that while another one comes into
 * force, and in which order it is. The kernel is memory here (made_maps.h).
 */
#include "made_detector.h"

static const struct shown known_texts[] = {
#include "unit_kernel_seen.txt"
};

static struct shows shows = { .file = "tests/unit/unit_kernel_seen.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static void put_seen(const struct seen *seen)
{
	if (fail_at)
		return;
	printf(" %s, now %lld, packets", seen->on ? "on" : "off", seen->on ? (long long)(seen->now - NOW_SEEN) : 0);
	for (size_t i = 0; i < DETECTEDS; i++)
		printf(" %llx", seen->packets[i]);
	printf(", %zu suspects, room %zu, %zu cells%s\n", seen->n, seen->room, seen->cells,
	       seen->cell ? "" : " that were not read");
	for (size_t i = 0; i < seen->n; i++)
		printf(" %llx, %llu by %llu %s%s\n", seen->suspect[i].key, MARK_KIND(seen->suspect[i].mark),
		       MARK_SLOT(seen->suspect[i].mark), seen->interface[MARK_SLOT(seen->suspect[i].mark)],
		       seen_banned(seen, &seen->suspect[i]) ? ", banned" : "");
	if (seen->cell)
		printf(" cells %llu ... %llu\n", seen->cell[0], seen->cell[seen->cells - 1]);
	for (size_t i = 0; i < SLOTS; i++)
		if (seen->interface[i][0])
			printf(" %zu is %s\n", i, seen->interface[i]);
	if (seen->n)
		printf(" %zu are banned\n", seen_banned_n(seen));
}

static int seen_with(int (*see_it)(const struct context *context, struct seen *seen))
{
	struct seen seen;
	int err = see_it(&own_context, &seen);

	put_seen(&seen);
	seen_free(&seen);
	if (seen.suspect || seen.cell || seen.on || seen.n)
		printf(" not freed\n");
	return err;
}

static int seen_all(void)
{
	return seen_with(kernel_seen_all);
}

static int seen_twice(void)
{
	return seen_with(kernel_seen) ?: seen_with(kernel_seen);
}

static int seen_once_only(void)
{
	return seen_with(kernel_seen);
}

/* Another has come into force while its pins were looked up. */
static void replaced(void)
{
	suspects_there();
	memcpy(pinned_next, pinned, sizeof(pinned));
	pinned[MAP_PROVEN] = NULL;
	overtaken = 1;
}

static void replaced_by_none(void)
{
	replaced();
	live_errno = -EIO;
}

static void gone_without_another(void)
{
	suspects_there();
	pinned[MAP_TRUSTED] = NULL;
}

/* Nor can it be told which is in force now. */
static void gone_and_unreadable(void)
{
	gone_without_another();
	live_errno = -EIO;
}

static void without_tick(void)
{
	suspects_there();
	detect_in_force()->tick = 0;
}

static void without_buckets(void)
{
	suspects_there();
	detect_in_force()->buckets = 0;
}

static void does_not_fit(void)
{
	suspects_there();
	pinned[MAP_SKETCH]->value_size += 8;
}

static void no_cpus(void)
{
	suspects_there();
	cpus_there = 0;
}

static void large_sketch(void)
{
	suspects_there();
	detect_in_force()->cells = (1u << 17) + 1;
	put_pin(MAP_SKETCH, BPF_MAP_TYPE_ARRAY, 4, ((1u << 17) + 2) * 8, 1);
	cells_in_force()[(1u << 17) - 1] = 14;
	cells_in_force()[1u << 17] = 15;
}

static int clocks(void)
{
	static const struct {
		__u64 ticks;
		int64_t away;
	} at[] = { { 20000, 0 },	   { 20000, 3 },       { 20000, -3 },	       { 1, -7 },
		   { 0xffffffff, 2 },	   { 0xffffffff, -2 }, { 0x1ffffffff, 75000 }, { 1000, 0x7fffffff },
		   { 1000, -0x80000000LL } };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		__u64 now = 0;
		int err;

		clock_at(at[i].ticks, at[i].away);
		err = detect_clock(TICK, &now);
		printf(" %llx and %lld: %lld, %d\n", at[i].ticks, (long long)at[i].away,
		       (long long)(now / TICK - at[i].ticks - (1ULL << 32)), err);
	}
	return 0;
}

static const struct scenario all[] = {
	{ "seen, all of it", suspects_there, seen_all, EACH_FAILS },
	{ "seen, twice", suspects_there, seen_twice, ONCE },
	{ "seen, nothing in force", live_is_gone, seen_once_only, ONCE },
	{ "seen, what is in force cannot be read", live_is_broken, seen_once_only, ONCE },
	{ "seen, no detector", nothing_is_pinned, seen_all, ONCE },
	{ "seen, another comes into force", replaced, seen_once_only, ONCE },
	{ "seen, another that cannot be read", replaced_by_none, seen_once_only, ONCE },
	{ "seen, a pin is lost", gone_without_another, seen_once_only, ONCE },
	{ "seen, a pin is lost, and what is in force cannot be read", gone_and_unreadable, seen_once_only, ONCE },
	{ "seen, without a tick", without_tick, seen_once_only, ONCE },
	{ "seen, without buckets", without_buckets, seen_once_only, ONCE },
	{ "seen, it does not fit", does_not_fit, seen_once_only, ONCE },
	{ "seen, without CPUs", no_cpus, seen_once_only, ONCE },
	{ "seen, slots of another size", slots_read_badly, seen_once_only, ONCE },
	{ "seen, without slots", no_slots, seen_once_only, ONCE },
	{ "seen, of a large sketch a part", large_sketch, seen_all, ONCE },
	{ "the clock", NULL, clocks, ONCE },
	{ "seen, each slot has an interface", all_interfaces, seen_all, ONCE },
};

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

/* --- In order, against what is naive ------------------------------------------------------------------------------ */

static struct suspect_seen random_suspect(void)
{
	static const __u64 kinds[] = { SUSPECT_IPV4, SUSPECT_IPV6, SUSPECT_NET4 };
	struct suspect_seen one = { .key = ktap_random() % 4,
				    .mark = kinds[ktap_random() % 3] | (ktap_random() % 3) << 8 |
					    (ktap_random() % 3) << 16 };

	one.is.since = ktap_random() % 3;
	one.is.until = ktap_random() % 2 ? 0 : 90 + ktap_random() % 20;
	for (enum packet_class class = 0; class < CLASSES; class ++)
		one.is.over[class] = ktap_random() % 3 ? 0 : ktap_random() % 8;
	return one;
}

static __u64 worst_of(const struct suspect_seen *one)
{
	__u64 worst = 0;

	for (size_t i = 0; i < 8; i++)
		worst = one->is.over[i] > worst ? one->is.over[i] : worst;
	return worst;
}

static bool is_same(const struct suspect_seen *a, const struct suspect_seen *b)
{
	return a->key == b->key && (a->mark & 255) == (b->mark & 255);
}

static void each_once(void)
{
	for (int round = 0; round < 300; round++) {
		struct suspect_seen list[24];
		const struct suspect_seen *who[24];
		size_t n = ktap_random() % 25, sources = 0, banned = 0, is;
		struct seen seen = { .suspect = list, .n = n, .now = 100 };

		for (size_t i = 0; i < n; i++) {
			bool known = false, banned_before = false;
			bool is_banned = false;

			list[i] = random_suspect();
			who[i] = &list[i];
			is_banned = list[i].is.until > 100 && (list[i].mark & 255) != SUSPECT_NET4;
			for (size_t k = 0; k < i; k++) {
				known = known || is_same(&list[k], &list[i]);
				banned_before =
					banned_before || (is_same(&list[k], &list[i]) && list[k].is.until > 100);
			}
			sources += !known;
			banned += is_banned && !banned_before;
			if (!CHECK(suspect_over(&list[i]) == worst_of(&list[i]), "over") ||
			    !CHECK(seen_banned(&seen, &list[i]) == is_banned, "banned until %llu", list[i].is.until))
				return;
		}
		if (!CHECK(seen_banned_n(&seen) == banned, "%zu banned, not %zu", seen_banned_n(&seen), banned))
			return;
		is = seen_once(who, n);
		if (!CHECK(is == sources, "%zu sources, not %zu", is, sources))
			return;
		for (size_t i = 0; i < n; i++) {
			size_t at = 0;

			while (at < n && who[at] != &list[i])
				at++;
			if (!CHECK(at < n, "%zu is lost", i))
				return;
			for (size_t k = 0; k < sources; k++)
				if (is_same(who[k], &list[i]) &&
				    !CHECK(who[k]->is.until > list[i].is.until ||
						   (who[k]->is.until == list[i].is.until &&
						    worst_of(who[k]) >= worst_of(&list[i])),
					   "%zu is worse than who stands for it", i))
					return;
		}
		for (size_t k = 1; k < sources; k++)
			if (!CHECK(seen_by_source(who[k - 1], who[k]) < 0 && !is_same(who[k - 1], who[k]), "order"))
				return;
	}
}

/* Of all suspects one is enough that was above a limit just now, and is not banned only as it was needed. */
static void spared_above(void)
{
	static const __u64 second = 1000000000, now = 100 * second;
	static const struct {
		__u64 kind, scale, over_at;
		bool is;
	} of[] = {
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now, true },
		{ SUSPECT_IPV6, 5 | TRUST_NO_BAN, now - 9 * second, true },
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now - 10 * second, false },
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, now + 1, true }, /* since the clock was read */
		{ SUSPECT_IPV4, TRUST_ALL | TRUST_NO_BAN, 0, false },
		{ SUSPECT_IPV4, TRUST_ALL, now, false },
		{ SUSPECT_NET4, TRUST_ALL | TRUST_NO_BAN, now, false },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct suspect_seen list[2] = { { .mark = SUSPECT_IPV4, .is = { .scale = TRUST_ALL, .over_at = now } },
						{ .mark = of[i].kind,
						  .is = { .scale = of[i].scale, .over_at = of[i].over_at } } };
		struct seen seen = { .suspect = list, .n = 2, .now = now };

		CHECK(seen_spared(&seen) == of[i].is, "case %zu", i);
		seen.n = 1;
		CHECK(!seen_spared(&seen), "case %zu, without it", i);
	}
}

/* By key, kind, slot, and since when. */
static void by_source(void)
{
	for (int round = 0; round < 2000; round++) {
		struct suspect_seen a = random_suspect(), b = random_suspect();
		__u64 x[] = { a.key, a.mark & 255, a.mark >> 8 & 255, a.is.since };
		__u64 y[] = { b.key, b.mark & 255, b.mark >> 8 & 255, b.is.since };
		int want = 0, is = seen_by_source(&a, &b);

		for (size_t i = 0; i < 4 && !want; i++)
			want = x[i] < y[i] ? -1 : x[i] > y[i];
		if (!CHECK((is > 0) - (is < 0) == want, "%d, not %d", is, want))
			return;
	}
}

static void no_memory(void)
{
	struct suspect_seen list[3] = { { .key = 1, .mark = SUSPECT_IPV4, .is = { .until = 200 } },
					{ .key = 1, .mark = SUSPECT_IPV4, .is = { .until = 200 } },
					{ .key = 2, .mark = SUSPECT_IPV4, .is = { .until = 99 } } };
	struct seen seen = { .suspect = list, .n = 3, .now = 100 };
	size_t n;

	calls = 0;
	fail_at = 1;
	fail_errno = ENOMEM;
	n = seen_banned_n(&seen);
	fail_at = 0;
	CHECK(n == 2, "%zu without memory", n);
	CHECK(detect_tick() == TICK, "a tick of %llu", detect_tick());
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what becomes of a detector's maps", happens },    { "each source once, the worst of it", each_once },
		{ "who was needed is above a limit", spared_above }, { "suspects in order", by_source },
		{ "without memory, and the tick", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
