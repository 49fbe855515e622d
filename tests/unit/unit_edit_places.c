// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which place each key of a tiny roster gets, until there is none, and which keys move for it: one edit for each, or
 * one for all; word for word.
 */
#include <errno.h>

#include "base/log.h"
#include "edited.h"
#include "filter/edit_internal.h"
#include "filter/fill_roster.h"
#include "filter/roster_table.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_edit_places.txt"
};

static struct shows shows = { .file = "tests/unit/unit_edit_places.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define BUCKETS 4
#define KEYS	(BUCKETS * ROSTER6_SLOTS + 4)

static struct bucket4 places4[BUCKETS] __attribute__((aligned(BLOCK_BYTES)));
static struct bucket6 places6[BUCKETS] __attribute__((aligned(BLOCK_BYTES)));
static __u64 blocks[64 * FILTER_LANES] __attribute__((aligned(BLOCK_BYTES)));
static unsigned int waited;

static void wait_for_none(void)
{
	waited++;
}

/* The same seeds each time. */
static struct generation tiny(void)
{
	struct generation g = {
		.version = GENERATION_VERSION,
		.hash = { 0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89 },
		.tag = { 0x452821e638d01377, 0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917 },
		.rungs = 1,
		.filter = (__u64)(uintptr_t)blocks,
		.filter_blocks = 64,
		.lanes_blocks = 64,
		.filter_k = 8,
		.roster4 = (__u64)(uintptr_t)places4,
		.roster6 = (__u64)(uintptr_t)places6,
		.roster4_buckets = BUCKETS,
		.roster6_buckets = BUCKETS,
		.keys4 = 1,
		.keys6 = 1,
		.capacity = 1000,
		.capacity4 = 1000,
		.capacity6 = 1000,
	};

	g.rung[0] = rung_of(128);
	g.rung[0].salt = salt_for(0x9216d5d98979fb1b, 128);
	memset(places6, 0, sizeof(places6));
	memset(blocks, 0, sizeof(blocks));
	for (__u64 b = 0; b < BUCKETS; b++)
		for (unsigned int i = 0; i < ROSTER4_SLOTS; i++)
			value4_clear(&g, b, i);
	return g;
}

static void print_step(const struct step *s)
{
	static const char *const kinds[] = { "", " /24", " another label", "", " gone", " gone", " shift" };

	printf("%s %llu.%u", kinds[s->kind], (unsigned long long)s->bucket, s->slot);
	if (s->move)
		printf(" to %llu.%u", (unsigned long long)s->to, s->to_slot);
}

/* Of some of these a key finds a place only where another has moved twice, from its first bucket or its second. */
static unsigned int apart = 77;

static __u32 host_of(unsigned int i)
{
	return 0x2d000001 + i * apart;
}

static ip6 key_of(unsigned int i)
{
	return (ip6)0x20010db8 << 96 | (i + 1) * 7919;
}

static int choose(struct edit *e, int family, unsigned int i, struct step *step)
{
	*step = (struct step){ .kind = family == 4 ? STEP_HOST : STEP_KEY6,
			       .label = (__u8)(i + 1),
			       .key = family == 4 ? host_of(i) : key_of(i) };
	return (family == 4 ? place_choose4(e, host_of(i), step) : place_choose6(e, key_of(i), step))
		       ?: edit_step(e, step);
}

/* Those that are there, each with its label. */
static void look(const struct generation *g, int family, const bool there[KEYS])
{
	for (unsigned int i = 0; i < KEYS; i++) {
		__u8 label = 0;
		struct step at;
		bool found = family == 4 ? place_find4(g, host_of(i), &at) : place_find6(g, 0, key_of(i), &at, &label);

		if (found && family == 4)
			label = *label4(g, at.bucket, at.slot);
		if (found != there[i] || (found && label != i + 1))
			printf("  number %u is %s with label %u\n", i, found ? "there" : "absent", label);
	}
}

/* One edit for each key; or one for all. */
static void fill(int family, bool at_once, bool waits)
{
	struct generation g = tiny();
	bool there[KEYS] = { false };
	struct step step;
	struct edit e;

	waited = 0;
	edit_begin(&e, &g);
	for (unsigned int i = 0; i < KEYS; i++) {
		size_t before = e.n;
		int err;

		e.wait = waits ? wait_for_none : NULL;
		err = choose(&e, family, i, &step);
		there[i] = !err;
		printf("%s%u:", i % 6 ? "; " : "  ", i);
		for (size_t k = before; k < e.n; k++)
			print_step(&e.steps[k]);
		printf("%s", err_is(err, EAGAIN) ? " none" : err ? " fails" : "");
		if (i % 6 == 5 || i + 1 == KEYS)
			puts("");
		if (at_once && i + 1 < KEYS)
			continue;
		edit_bring_in(&e);
		edit_make(&e);
		edit_end(&e);
		edit_begin(&e, &g);
		look(&g, family, there);
	}
	edit_end(&e);
	printf("  waited %u times, %llu edits\n", waited, (unsigned long long)g.edits);
}

static void ipv6(void)
{
	for (int i = 0; i < 4; i++) {
		printf("-- %s%s\n", i & 1 ? "at once" : "one by one", i & 2 ? ", and nobody can be waited for" : "");
		fill(6, i & 1, !(i & 2));
	}
}

/* Elsewhere keys of IPv4 move only where packets can be waited for, and no two for one. */
static void ipv4(void)
{
	for (int i = 0; i < 4; i++) {
		printf("-- %s%s\n", i & 1 ? "at once" : "one by one", i & 2 ? ", and nobody can be waited for" : "");
		fill(4, i & 1, !(i & 2));
	}
	for (apart = 65; apart <= 87; apart += 22) {
		printf("-- %u apart\n", apart);
		fill(4, false, true);
	}
	apart = 77;
}

/* Beside shadows or scopes no key of IPv4 moves. */
static void stays(void)
{
	for (int i = 0; i < 2; i++) {
		struct generation g = tiny();
		struct step step;
		unsigned int n = 0;
		struct edit e;
		int err = 0;

		g.shadows = i == 0;
		g.scoped = i == 1;
		edit_begin(&e, &g);
		e.wait = wait_for_none;
		while (n < KEYS && !(err = choose(&e, 4, n, &step))) {
			CHECK(!step.move, "number %u moves another", n);
			n++;
		}
		printf("  %u keys, and then %s\n", n, err_is(err, EAGAIN) ? "none" : "an error");
		edit_end(&e);
	}
}

/* Slots that are taken, of both families, by the hundred. */
static void taken(void)
{
	struct generation g = tiny();
	struct edit e;

	edit_begin(&e, &g);
	CHECK(!place_is_taken(&e, 4, 0, 0), "one of none is taken");
	for (unsigned int i = 0; i < 1000; i++) {
		int family = i % 2 ? 6 : 4;

		ENOUGH(!place_take(&e, family, i * 3, i % 8));
		if (i < 40 || i > 990)
			for (unsigned int k = 0; k < 1002; k++) {
				bool is = k <= i;

				if (place_is_taken(&e, k % 2 ? 6 : 4, k * 3, k % 8) != is ||
				    place_is_taken(&e, k % 2 ? 4 : 6, k * 3, k % 8) ||
				    place_is_taken(&e, k % 2 ? 6 : 4, k * 3, (k + 1) % 8) ||
				    place_is_taken(&e, k % 2 ? 6 : 4, k * 3 + 1, k % 8)) {
					CHECK(false, "number %u after %u", k, i);
					break;
				}
			}
	}
	CHECK(e.taken_n == 1000 && e.taken_room == 2048, "%zu in %zu", e.taken_n, e.taken_room);
	edit_end(&e);
	CHECK(!e.taken && !e.steps && !e.taken_n, "they stay");
}

/* Tags that an image has, until no walk finds a place. */
static void tags(void)
{
	struct generation g = tiny();
	unsigned int n = 0, absent = 0;
	int err = 0;

	while (n < 1000 && !err) {
		__u64 tag = ((__u64)(n + 1) * 0x9e3779b97f4a7c15 >> 1) | 1;

		err = enrol_tag6(&g, n % BUCKETS, tag, (__u8)(n + 1));
		n += !err;
	}
	for (unsigned int i = 0; i < n; i++) {
		__u64 tag = ((__u64)(i + 1) * 0x9e3779b97f4a7c15 >> 1) | 1;
		__u64 other = roster6_other(i % BUCKETS, tag, BUCKETS);
		__u8 label = 0;

		for (unsigned int s = 0; s < 2 * ROSTER6_SLOTS; s++) {
			struct bucket6 *b = &places6[s < ROSTER6_SLOTS ? i % BUCKETS : other];

			if (b->key[s % ROSTER6_SLOTS] == tag)
				label = *label6(b, s % ROSTER6_SLOTS);
		}
		absent += label != i + 1;
	}
	printf("  %u tags, and then %s; %u of them are absent\n", n, err_is(err, EAGAIN) ? "none" : "an error", absent);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "IPv6", ipv6 },
		{ "stays", stays },
		{ "tags", tags },
#if defined(__x86_64__)
		{ "IPv4", ipv4 },
#endif
	};

	(void)ipv4;
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "word for word", word_for_word },
		{ "a slot that is taken is no other's", taken },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
