// SPDX-License-Identifier: GPL-2.0-only
/* The most frequent of many, against a naive count: what is counted, by how much it may be wrong, and in which order.
 */
#include "ktap.h"
#include "observe/top_table.h"

#define KEYS 1000

static struct top_entry table[TOP_ENTRIES], other[TOP_ENTRIES], out[TOP_ENTRIES];

static struct top_entry key(unsigned int i)
{
	return (struct top_entry){ .hi = i / 10, .lo = i % 10, .family = i & 1 ? 6 : 4 };
}

static unsigned int number(const struct top_entry *e)
{
	return (unsigned int)(e->hi * 10 + e->lo);
}

static bool is_alike(const struct top_entry *a, const struct top_entry *b)
{
	return a->family == b->family && a->hi == b->hi && a->lo == b->lo && a->samples == b->samples &&
	       a->packets == b->packets && a->over == b->over && a->spread == b->spread;
}

/* As many as there is room for are counted exactly; equal ones come by family, then by their upper half. */
static void all_of_them(void)
{
	struct top_entry sample;

	memset(table, 0, sizeof(table));
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
			sample = key(i * 7 % TOP_ENTRIES);
			sample.samples = 1 + round;
			sample.packets = 2;
			sample.over = .5;
			sample.spread = .25;
			top_count(table, &sample);
		}
	for (unsigned int i = 0; i < TOP_ENTRIES; i++)
		CHECK(table[i].samples == 6 && table[i].packets == 6 && table[i].over == 1.5 && table[i].spread == .75,
		      "%u: %u samples, %f packets", number(&table[i]), table[i].samples, table[i].packets);
	top_best(out, table, TOP_ENTRIES);
	for (unsigned int i = 1; i < TOP_ENTRIES; i++)
		CHECK(out[i - 1].family < out[i].family ||
			      (out[i - 1].family == out[i].family && number(&out[i - 1]) < number(&out[i])),
		      "%u stands before %u", number(&out[i - 1]), number(&out[i]));
}

/* Of more than there is room for, a weight is too high by its error at most, and who had much is there. */
static void many(void)
{
	static unsigned int counts[KEYS];
	unsigned int all = 0;

	memset(table, 0, sizeof(table));
	memset(counts, 0, sizeof(counts));
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int which = (unsigned int)(ktap_random() % (ktap_random() % 2 ? 20 : KEYS));
		struct top_entry sample = key(which);

		sample.samples = 1;
		sample.packets = 1;
		counts[which]++;
		all++;
		top_count(table, &sample);
	}
	for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
		const struct top_entry *e = &table[i];
		struct top_entry named = key(number(e));

		CHECK(named.family == e->family, "%u has family %u", number(e), e->family);
		CHECK(e->packets >= counts[number(e)] && e->packets - e->over <= counts[number(e)],
		      "%u: %f, of them %f wrong; it is %u", number(e), e->packets, e->over, counts[number(e)]);
	}
	for (unsigned int which = 0; which < KEYS; which++) {
		bool found = counts[which] <= all / TOP_ENTRIES;

		for (unsigned int i = 0; i < TOP_ENTRIES && !found; i++)
			found = number(&table[i]) == which;
		CHECK(found, "%u had %u of %u, and is not there", which, counts[which], all);
	}
}

/* The same whatever order they come in, as far as there is room. */
static void best(void)
{
	static struct top_entry all[KEYS], wanted[KEYS];

	for (unsigned int n = 0; n <= KEYS; n += n < 140 ? 1 : 86) {
		for (unsigned int i = 0; i < n; i++) {
			wanted[i] = key(i);
			wanted[i].packets = KEYS - i / 3 * 3.0; /* three of them alike, by their keys */
			wanted[i].samples = i;
		}
		/* Of three alike, those of family 4 come first. */
		for (unsigned int i = 0; i + 2 < n; i += 3)
			if (wanted[i].family == 6) {
				struct top_entry first = wanted[i + 1];

				wanted[i + 1] = wanted[i];
				wanted[i] = first;
			} else {
				struct top_entry last = wanted[i + 1];

				wanted[i + 1] = wanted[i + 2];
				wanted[i + 2] = last;
			}
		if (n % 3 == 2 && wanted[n - 2].family == 6) {
			struct top_entry first = wanted[n - 1];

			wanted[n - 1] = wanted[n - 2];
			wanted[n - 2] = first;
		}
		memcpy(all, wanted, n * sizeof(*all));
		for (unsigned int i = n; i > 1; i--) {
			unsigned int with = (unsigned int)(ktap_random() % i);
			struct top_entry one = all[i - 1];

			all[i - 1] = all[with];
			all[with] = one;
		}
		memset(out, 1, sizeof(out));
		top_best(out, all, n);
		for (unsigned int i = 0; i < TOP_ENTRIES; i++)
			if (!CHECK(i < n ? is_alike(&out[i], &wanted[i]) : !out[i].family && !out[i].packets,
				   "%u of %u is %u", i, n, number(&out[i])))
				return;
	}
}

static void merged(void)
{
	const struct top_entry *in[] = { table, other, table };

	memset(table, 0, sizeof(table));
	memset(other, 0, sizeof(other));
	for (unsigned int i = 0; i < 100; i++) {
		table[i + 5] = key(i);
		table[i + 5].samples = 1;
		table[i + 5].packets = 10 + i;
		table[i + 5].over = 1;
		table[i + 5].spread = 2;
		other[i] = key(i + 50);
		other[i].samples = 4;
		other[i].packets = 1000 - i;
		other[i].over = 8;
		other[i].spread = 16;
	}
	top_merge(out, in, 3);
	for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
		unsigned int which = number(&out[i]);
		bool one = which < 100, two = which >= 50;
		double packets = one * 2 * (10.0 + which) + two * (1000.0 - (which - 50.0));

		CHECK(out[i].samples == one * 2u + two * 4u && out[i].packets == packets &&
			      out[i].over == one * 2 + two * 8 && out[i].spread == one * 4 + two * 16,
		      "%u: %f packets, not %f", which, out[i].packets, packets);
		CHECK(!i || out[i - 1].packets > out[i].packets ||
			      (out[i - 1].packets == out[i].packets &&
			       (out[i - 1].family < out[i].family ||
				(out[i - 1].family == out[i].family && number(&out[i - 1]) < which))),
		      "%u stands before %u", number(&out[i ? i - 1 : 0]), which);
	}
	/* Those of the first table alone have the fewest: 128 of 150 have room. */
	for (unsigned int i = 0; i < TOP_ENTRIES; i++)
		CHECK(number(&out[i]) >= 22, "%u is there", number(&out[i]));
	top_merge(out, in, 0);
	CHECK(!out[0].family, "nothing is something");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "as many as there is room for", all_of_them },
		{ "more than there is room for", many },
		{ "the best", best },
		{ "merged", merged },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
