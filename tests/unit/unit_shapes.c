// SPDX-License-Identifier: GPL-2.0-only
/* Which images can be united: every part of their shape and seeds that must be the same, one after the other. */
#include "image/union.c"

#include "edited.h"

/* The same in both, with rosters or without. */
static void alike(struct image *a, struct image *b, bool exact)
{
	*a = (struct image){ .g = { .filter = 1,
				    .filter_blocks = 64,
				    .filter_k = 5,
				    .gate4 = 1,
				    .gate6 = 1,
				    .gate6_log2 = 10,
				    .keys4 = 7,
				    .keys6 = 3,
				    .rungs = 1,
				    .roster4 = exact,
				    .roster6 = exact,
				    .roster4_buckets = 8 * exact,
				    .roster6_buckets = 8 * exact } };
	a->g.rung[0].length = 64;
	*b = *a;
}

enum { UNITED, SHAPE, SHADOWS, GATE };

static const char *const words[] = {
	[SHAPE] = "differ in shape or seeds",
	[SHADOWS] = "with shadow lists and IPv6 cannot",
	[GATE] = "only one of the images has an IPv4 gate",
};

/* Either way round. */
static void is(const struct image *a, const struct image *b, int wanted, bool exact, const char *what)
{
	for (int turn = 0; turn < 2; turn++) {
		int err = turn ? check_shapes(b, a) : check_shapes(a, b);

		CHECK(wanted ? err_is(err, EINVAL) && strstr(reason(err), words[wanted]) : !err,
		      "with rosters %d, turn %d, %s: %s", exact, turn, what, err ? reason(err) : "they are united");
	}
}

#define OTHER(wanted, ...)                               \
	do {                                             \
		alike(&a, &b, exact);                    \
		__VA_ARGS__;                             \
		is(&a, &b, wanted, exact, #__VA_ARGS__); \
	} while (0)

static void shapes(void)
{
	static struct image a, b;

	for (int exact = 0; exact < 2; exact++) {
		OTHER(UNITED, );
		OTHER(UNITED, b.g.keys4 = 9);
		OTHER(UNITED, b.g.number = 9);
		OTHER(SHAPE, b.g.filter = 0);
		OTHER(SHAPE, a.g.filter = b.g.filter = 0);
		OTHER(SHAPE, b.g.filter_blocks++);
		OTHER(SHAPE, b.g.filter_layout++);
		OTHER(SHAPE, b.g.filter_k++);
		OTHER(SHAPE, b.g.hash.mul1 = 1);
		OTHER(SHAPE, b.g.hash.mul3 = 1);
		OTHER(SHAPE, b.g.tag.mul2 = 1);
		OTHER(SHAPE, b.g.rungs = 0);
		OTHER(SHAPE, b.g.rung[0].length = 65);
		OTHER(SHAPE, b.g.rung[0].salt = 1);
		OTHER(SHAPE, b.g.roster6_buckets++);
		OTHER(SHAPE, b.g.gate6 = 0);
		OTHER(SHAPE, b.g.gate6_log2++);
		OTHER(SHAPE, b.g.gate6_add = 1);
		OTHER(SHAPE, b.g.gate6_mul = 1);
		OTHER(SHADOWS, b.g.shadows = 1);
		OTHER(SHADOWS, a.g.shadows = b.g.shadows = 1);
		OTHER(UNITED, b.g.shadows = 1; a.g.rungs = b.g.rungs = 0);
		OTHER(exact ? UNITED : GATE, b.g.gate4 = 0);
		OTHER(UNITED, a.g.gate4 = b.g.gate4 = 0);
		OTHER(UNITED, b.g.gate4 = 0; b.g.keys4 = 0);
		OTHER(UNITED, b.g.gate4 = 0; a.g.keys4 = 0);
	}
	alike(&a, &b, true);
	b.g.roster4 = b.g.roster6 = 0;
	is(&a, &b, SHAPE, true, "one has rosters");
}

static void sums(void)
{
	static const struct {
		const char *a, *b, *sum;
	} known[] = {
		{ "0", "0", "0" },
		{ "1", "99", "100" },
		{ "", "7", "7" },
		{ "4294967295", "1", "4294967296" },
		{ "18446744073709551615", "18446744073709551615", "36893488147419103230" },
		{ "340282366920938463463374607431768211454", "1", "340282366920938463463374607431768211455" },
		{ "12x", "3/", "15" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char text[48];

		snprintf(text, sizeof(text), "%s", known[i].a);
		add_text(text, sizeof(text), known[i].b);
		CHECK(!strcmp(text, known[i].sum), "%s and %s is %s", known[i].a, known[i].b, text);
	}
}

/* What is united is looked at once more: a tag that is not there is noticed. */
static void tags(void)
{
	struct ranges listed = RANGES_EMPTY;
	struct account account = { &listed, LABEL_LIST };
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g, other;
	struct image image = { 0 };
	struct merge m = { 0 };

	for (int i = 0; i < 50; i++)
		ENOUGH(!ranges_add6(&listed, (ip6)0x2001 << 112 | (ip6)i << 80, (ip6)0x2001 << 112 | (ip6)i << 80));
	ENOUGH(!ranges_finish(&listed));
	if (generate_with(&g, &account, 1, &settings) && generate_with(&other, &account, 1, &settings)) {
		image.g = m.g = g;
		CHECK(!check_tags(&m, &image), "of itself one is missing");
		m.g = other;
		CHECK(err_is(check_tags(&m, &image), EILSEQ), "under other seeds all are there");
	}
	memory_release(&g);
	memory_release(&other);
	ranges_free(&listed);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "shapes", shapes },
		{ "sums", sums },
		{ "tags", tags },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
