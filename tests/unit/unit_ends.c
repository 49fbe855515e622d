// SPDX-License-Identifier: GPL-2.0-only
/*
 * When bans end, as the kernel is to have it: each with the latest end of those that hold it, against what is found by
 * looking through all of them; and who has no end of its own any more. The state is made up.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "kernel/generation.h"
#include "sets/prefixes.h"
#include "sets/ranges.h"
#include "state/bans.h"
#include "ktap.h"

#define MOST 300

static struct ban there[MOST];
static size_t there_n;
static int state_fails;
static unsigned int grown, grows; /* growing fails after so many; 0: never */
static const struct ranges *asked_within;

static int given_ending(struct state *state, int64_t now, const struct ranges *within, struct ban **bans, size_t *n)
{
	CHECK(!state && !now && within == asked_within, "it asks for others");
	*bans = NULL;
	*n = 0;
	if (state_fails)
		return state_fails;
	*bans = malloc((there_n + 1) * sizeof(**bans));
	if (!*bans)
		abort();
	memcpy(*bans, there, there_n * sizeof(**bans));
	*n = there_n;
	return 0;
}

static void *given_reallocarray(void *old, size_t n, size_t size)
{
	return grows && ++grown >= grows ? NULL : reallocarray(old, n, size);
}

#define state_bans_ending given_ending
#define reallocarray	  given_reallocarray
#include "change/ends.c"
#undef reallocarray

static int by_place(const void *a, const void *b)
{
	const struct ban *x = a, *y = b;

	return prefix_order(&(struct prefix){ x->first, x->length }, &(struct prefix){ y->first, y->length });
}

static void add(struct addr first, unsigned int length, int64_t due)
{
	first.num &= ~addr_mask(first.family, length);
	for (size_t i = 0; i < there_n; i++)
		if (there[i].first.family == first.family && there[i].first.num == first.num &&
		    there[i].length == length)
			return;
	there[there_n++] = (struct ban){ .first = first, .length = length, .due = due };
	qsort(there, there_n, sizeof(there[0]), by_place);
}

static bool holds(const struct ban *wide, const struct ban *narrow)
{
	ip6 lo = wide->first.num, hi = lo | addr_mask(wide->first.family, wide->length);

	return wide->first.family == narrow->first.family && wide->length <= narrow->length &&
	       narrow->first.num >= lo && narrow->first.num <= hi;
}

/* Of those that a command ends nothing is said. */
static void as_found(void)
{
	struct ends ends = { 0 };
	size_t at = 0;

	if (!CHECK(!ends_read(&ends, NULL, asked_within), "it is refused"))
		return;
	for (size_t i = 0; i < there_n; i++) {
		struct end_key key = end_key_of(there[i].first, there[i].length);
		int64_t due = there[i].due;

		if (!due)
			continue;
		for (size_t k = 0; k < there_n; k++)
			if (there[k].due && holds(&there[k], &there[i]) && there[k].due > due)
				due = there[k].due;
		if (!CHECK(at < ends.n && !memcmp(&ends.at[at].key, &key, sizeof(key)), "number %zu is another", i) ||
		    !CHECK(ends.at[at].until == (due > 0 ? (__u64)due : 1), "number %zu ends at %llu, not %lld", i,
			   ends.at[at].until, (long long)due))
			break;
		at++;
	}
	CHECK(at == ends.n, "%zu ends, not %zu", ends.n, at);
	ends_free(&ends);
	CHECK(!ends.at && !ends.n, "it is not freed");
}

static void keys(void)
{
	static const struct {
		const char *first;
		unsigned int length;
		__u32 bits, family, addr[4];
	} known[] = {
		{ "192.0.2.0", 24, 56, 4, { 0xc0000200 } },
		{ "0.0.0.0", 0, 32, 4, { 0 } },
		{ "255.255.255.255", 32, 64, 4, { 0xffffffff } },
		{ "2001:db8:1:2:3:4:5:6", 128, 160, 6, { 0x20010db8, 0x10002, 0x30004, 0x50006 } },
		{ "::", 0, 32, 6, { 0 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct addr first;
		struct end_key key;

		if (addr_parse(known[i].first, strlen(known[i].first), &first))
			abort();
		key = end_key_of(first, known[i].length);
		CHECK(key.bits == known[i].bits && key.family == known[i].family, "%s: %u of %u", known[i].first,
		      key.bits, key.family);
		for (size_t k = 0; k < 4; k++)
			CHECK(be32toh(key.addr[k]) == known[i].addr[k], "%s: word %zu is %x", known[i].first, k,
			      be32toh(key.addr[k]));
	}
}

static void latest(void)
{
	static const struct ranges some = RANGES_EMPTY;

	for (int round = 0; round < 400; round++) {
		there_n = 0;
		asked_within = round % 2 ? &some : NULL;
		for (size_t n = ktap_random() % 40; n; n--) {
			bool is4 = ktap_random() % 2;
			struct addr first = { is4 ? 0xc0000200 | ktap_random() % 16
						  : (ip6)0x20010db8 << 96 | ktap_random() % 16,
					      is4 ? 4 : 6 };
			unsigned int length = addr_width(first.family) - (unsigned int)(ktap_random() % 6);

			add(first, ktap_random() % 8 ? length : 0, (int64_t)(ktap_random() % 12) - 2);
		}
		as_found();
	}
	asked_within = NULL;
}

/* One within the other, of each length; and behind it another that holds none of them. */
static void nested(void)
{
	there_n = 0;
	for (unsigned int length = 0; length <= 128; length++)
		add((struct addr){ (ip6)0x20010db8 << 96, 6 }, length, 1000 - length);
	add((struct addr){ ~(ip6)0, 6 }, 128, 3);
	as_found();
	for (size_t i = 0; i < there_n; i++)
		there[i].due = 1000 + (int64_t)i;
	as_found();
}

static struct prefix prefix_of(const char *text)
{
	struct prefix p = { 0 };

	if (prefix_parse(text, strlen(text), &p.first, &p.length))
		abort();
	return p;
}

/* Those of them that end keep their end, the others have none. */
static void dropped(void)
{
	struct prefix each[] = { prefix_of("192.0.2.9/32"), prefix_of("2001:db8::/32"), prefix_of("192.0.2.0/24"),
				 prefix_of("192.0.2.0/25"), prefix_of("45.1.0.0/16") };
	struct prefixes prefixes = { .at = each, .n = sizeof(each) / sizeof(each[0]) };

	for (unsigned int ending = 0; ending < 32; ending++) {
		unsigned int found = 0;
		struct ends ends = { 0 };

		there_n = 0;
		for (size_t i = 0; i < prefixes.n; i++)
			if (ending >> i & 1)
				add(each[i].first, each[i].length, 100 + (int64_t)i);
		/* Widest first, so that none has the end of another. */
		for (size_t i = 0; i < there_n; i++)
			there[i].due = 500 + (int64_t)i;
		if (!CHECK(!ends_read(&ends, NULL, NULL) && !ends_drop(&ends, &prefixes), "refused"))
			return;
		CHECK(ends.n == prefixes.n, "%u: %zu of them", ending, ends.n);
		for (size_t i = 0; i < ends.n; i++)
			for (size_t k = 0; k < prefixes.n; k++) {
				struct end_key key = end_key_of(each[k].first, each[k].length);

				if (memcmp(&key, &ends.at[i].key, sizeof(key)) != 0)
					continue;
				found |= 1U << k;
				CHECK(!ends.at[i].until == !(ending >> k & 1), "%u, prefix %zu ends at %llu", ending, k,
				      ends.at[i].until);
			}
		CHECK(found == 31, "%u: only %x are there", ending, found);
		ends_free(&ends);
	}
	there_n = 0;
	CHECK(!ends_drop(&(struct ends){ 0 }, &(struct prefixes){ 0 }), "of nothing");
}

static void refused(void)
{
	struct prefix each[2] = { prefix_of("192.0.2.9/32"), prefix_of("192.0.2.10/32") };
	struct prefixes prefixes = { .at = each, .n = 2 };
	struct ends ends = { 0 };

	there_n = 0;
	state_fails = -EIO;
	CHECK(err_is(ends_read(&ends, NULL, NULL), EIO) && !ends.n, "the state fails");
	state_fails = 0;
	for (unsigned int i = 0; i < 5; i++)
		add((struct addr){ 0xc0000200 + i, 4 }, 32, 7);
	for (grows = 1; grows < 4; grows++) {
		grown = 0;
		CHECK(err_is(ends_read(&ends, NULL, NULL), ENOMEM) && ends.n == (grows == 1 ? 0 : 1U << (grows - 2)),
		      "no memory the %u. time: %zu", grows, ends.n);
		ends_free(&ends);
	}
	for (grows = 1; grows < 3; grows++) {
		grown = 0;
		CHECK(err_is(ends_drop(&ends, &prefixes), ENOMEM) && ends.n == grows - 1,
		      "no memory the %u. time: %zu are dropped", grows, ends.n);
		ends_free(&ends);
	}
	grows = 0;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "keys", keys },
		{ "the latest end", latest },
		{ "one within the other", nested },
		{ "no end any more", dropped },
		{ "what is refused", refused },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
