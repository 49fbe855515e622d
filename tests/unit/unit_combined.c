// SPDX-License-Identifier: GPL-2.0-only
/* Accounts that hold an address together, against a model that asks every range about every address. */
#include <errno.h>

#include "base/log.h"
#include "sets/combined.h"
#include "naive.h"

/* How many times there is memory before there is none, once. */
static unsigned int until_none;

static bool is_none(void)
{
	return until_none && !--until_none;
}

static void *given_malloc(size_t size)
{
	return is_none() ? NULL : malloc(size);
}

static void *given_array(void *old, size_t n, size_t size)
{
	return is_none() ? NULL : reallocarray(old, n, size);
}

static int given_settle(struct owned *out, const struct account *accounts, size_t count, const struct ranges *allowed)
{
	return is_none() ? -ENOMEM : owned_settle(out, accounts, count, allowed);
}

static int given_subtract(struct ranges *out, const struct ranges *from, const struct ranges *what)
{
	return is_none() ? -ENOMEM : ranges_subtract(out, from, what);
}

static int given_take(struct owned *out, struct ranges *set, uint8_t label)
{
	return is_none() ? -ENOMEM : owned_take(out, set, label);
}

static int given_behind(struct owned *out, struct owned *a, struct owned *b)
{
	int err = owned_behind(out, a, b);

	if (!is_none())
		return err;
	owned_free(out);
	return -ENOMEM;
}

#define malloc		given_malloc
#define reallocarray	given_array
#define owned_settle	given_settle
#define ranges_subtract given_subtract
#define owned_take	given_take
#define owned_behind	given_behind
#include "sets/combined.c"
#undef malloc
#undef reallocarray

#define UNIVERSE 64U
#define ROUNDS	 4000
#define FIRST	 2 /* accounts of which the first counts */
#define JOINTS	 3

/* What each address is: in which sets. */
static struct model {
	int family;
	ip6 base;
	bool allowed[UNIVERSE], first[FIRST][UNIVERSE], joint[JOINTS][UNIVERSE];
} model;

static struct ranges allowed, first[FIRST], joint[JOINTS];

static ip6 origin(int family, unsigned int place)
{
	if (place == 0)
		return 0;
	if (place == 1)
		return family == 4 ? 0x0a000000 - 24 : ((ip6)0x20010db8 << 96) - 24;
	return family == 4 ? ((ip6)1 << 32) - UNIVERSE : -(ip6)UNIVERSE;
}

static void fill(struct ranges *set, bool *has, unsigned int ranges)
{
	*set = RANGES_EMPTY;
	memset(has, 0, UNIVERSE);
	for (unsigned int i = 0; i < ranges; i++) {
		unsigned int lo = (unsigned int)(ktap_random() % UNIVERSE),
			     hi = ktap_random() % 4 ? lo + (unsigned int)(ktap_random() % (UNIVERSE - lo)) : lo;
		ip6 from = model.base + lo, to = model.base + hi;

		ENOUGH(!(model.family == 4 ? ranges_add4(set, (uint32_t)from, (uint32_t)to)
					   : ranges_add6(set, from, to)));
		memset(has + lo, true, hi - lo + 1);
	}
	ENOUGH(!ranges_finish(set));
}

static void random_model(int family, unsigned int place)
{
	model = (struct model){ .family = family, .base = origin(family, place) };
	fill(&allowed, model.allowed, (unsigned int)(ktap_random() % 3));
	for (int i = 0; i < FIRST; i++)
		fill(&first[i], model.first[i], (unsigned int)(ktap_random() % 3));
	for (int i = 0; i < JOINTS; i++)
		fill(&joint[i], model.joint[i], (unsigned int)(ktap_random() % 5));
}

static void free_model(void)
{
	ranges_free(&allowed);
	for (int i = 0; i < FIRST; i++)
		ranges_free(&first[i]);
	for (int i = 0; i < JOINTS; i++)
		ranges_free(&joint[i]);
}

/* What stands on an account, by who holds it: an account of its own for each, or one for several of these. */
struct labels {
	unsigned int each, asked;
	uint64_t fails; /* for whom there is no account; 0: for none */
};

static uint8_t label_for(const struct labels *l, uint64_t mask)
{
	return (uint8_t)(100 + mask / l->each);
}

static int label_of(void *arg, uint64_t mask, uint8_t *label)
{
	struct labels *l = arg;

	l->asked++;
	CHECK(mask && mask < 1 << JOINTS, "held by %llx", (unsigned long long)mask);
	*label = label_for(l, mask);
	return mask == l->fails ? because(-E2BIG, "no account is left") : 0;
}

static int wanted(const struct labels *l, size_t n, unsigned int i)
{
	uint64_t mask = 0;

	if (model.allowed[i])
		return -1;
	for (size_t a = 0; a < n; a++)
		if (model.first[a][i])
			return (int)a + 1;
	for (int a = 0; a < JOINTS; a++)
		mask |= (uint64_t)model.joint[a][i] << a;
	return mask ? label_for(l, mask) : -1;
}

static int got(const struct owned *owned, unsigned int at)
{
	ip6 num = model.base + at, narrowest = 0;
	int label = -1;

	for (size_t i = 0; i < owned->n4; i++)
		if (num >= owned->v4[i].lo && num <= owned->v4[i].hi)
			label = owned->label4[i];
	for (size_t i = 0; i < owned->n6; i++) {
		ip6 more = owned->v6[i].hi - owned->v6[i].lo;

		if (num < owned->v6[i].lo || num > owned->v6[i].hi || (label >= 0 && more >= narrowest))
			continue;
		narrowest = more;
		label = owned->label6[i];
	}
	return label;
}

/* No two could be one. */
static void is_short4(const struct owned *o)
{
	for (size_t i = 1; i < o->n4; i++)
		CHECK(o->v4[i - 1].hi < o->v4[i].lo &&
			      (o->v4[i - 1].hi + 1 != o->v4[i].lo || o->label4[i - 1] != o->label4[i]),
		      "IPv4 range %zu could be longer", i - 1);
}

/* No prefix says what the next wider one around it says, and the longest come first. */
static void is_short6(const struct owned *o)
{
	for (size_t i = 0; i < o->n6; i++) {
		const struct range6 *one = &o->v6[i], *around = NULL;
		uint8_t label = 0;

		CHECK(!i || one->hi - one->lo > o->v6[i - 1].hi - o->v6[i - 1].lo ||
			      (one->hi - one->lo == o->v6[i - 1].hi - o->v6[i - 1].lo && one->lo > o->v6[i - 1].lo),
		      "IPv6 prefix %zu is out of order", i);
		for (size_t k = i + 1; k < o->n6 && !around; k++)
			if (o->v6[k].lo <= one->lo && o->v6[k].hi >= one->hi) {
				around = &o->v6[k];
				label = o->label6[k];
			}
		CHECK(!around || label != o->label6[i], "IPv6 prefix %zu says nothing new", i);
	}
}

static struct combined combined_of(const struct account accounts[FIRST], size_t n, const struct joint joints[JOINTS],
				   struct labels *l)
{
	return (struct combined){ accounts, n, joints, JOINTS, label_of, l };
}

static void against_model(void)
{
	const struct account accounts[FIRST] = { { &first[0], 1 }, { &first[1], 2 } };
	const struct joint joints[JOINTS] = { { &joint[0], 1 }, { &joint[1], 2 }, { &joint[2], 4 } };

	for (int round = 0; round < ROUNDS && !ktap_failed; round++) {
		struct labels l = { .each = 1 + round % 3 % 2 * 2 };
		size_t n = (size_t)round % (FIRST + 1);
		struct combined c = combined_of(accounts, n, joints, &l);
		struct owned owned;

		random_model(round & 1 ? 4 : 6, (unsigned int)round / 2 % 3);
		ENOUGH(!combined_settle(&owned, &c, &allowed));
		CHECK(!(model.family == 4 ? owned.n6 : owned.n4), "ranges of the other family");
		for (unsigned int i = 0; i < UNIVERSE && !ktap_failed; i++)
			CHECK(got(&owned, i) == wanted(&l, n, i), "IPv%d, address %u: label %d, not %d", model.family,
			      i, got(&owned, i), wanted(&l, n, i));
		is_short4(&owned);
		if (!n && l.each == 1)
			is_short6(&owned);
		owned_free(&owned);
		free_model();
	}
}

static void nobody(void)
{
	struct ranges none = RANGES_EMPTY, some = RANGES_EMPTY;
	const struct account one = { &some, 9 };
	struct combined c = { 0 };
	struct owned owned;

	ENOUGH(!ranges_add4(&some, 5, 9) && !ranges_add6(&some, 0, addr_mask(6, 0)) && !ranges_finish(&some));
	CHECK(!combined_settle(&owned, &c, &none) && !owned.n4 && !owned.n6, "nothing is not nothing");
	owned_free(&owned);
	c = (struct combined){ .accounts = &one, .n = 1 };
	CHECK(!combined_settle(&owned, &c, &none) && owned.n4 == 1 && owned.n6 == 1 && *owned.label4 == 9 &&
		      *owned.label6 == 9,
	      "one account is another");
	owned_free(&owned);
	ranges_free(&some);
}

/* Of either family: there is no account for those who hold it, and nothing is left behind. */
static void no_account(void)
{
	for (int family = 4; family <= 6; family += 2) {
		const struct account accounts[FIRST] = { { &first[0], 1 }, { &first[1], 2 } };
		const struct joint joints[JOINTS] = { { &joint[0], 1 }, { &joint[1], 2 }, { &joint[2], 4 } };
		struct labels l = { .each = 1, .fails = 3 };
		struct combined c = combined_of(accounts, FIRST, joints, &l);
		struct owned owned = { 0 };
		int err;

		random_model(family, 1);
		free_model();
		allowed = first[0] = first[1] = joint[0] = joint[1] = joint[2] = RANGES_EMPTY;
		for (int i = 0; i < 2; i++)
			for (unsigned int k = 0; k < 3; k++)
				ENOUGH(!(family == 4 ? ranges_add4(&joint[i], 10 * k, 10 * k)
						     : ranges_add6(&joint[i], 10 * k, 10 * k)));
		ENOUGH(!ranges_finish(&joint[0]) && !ranges_finish(&joint[1]));
		err = combined_settle(&owned, &c, &allowed);
		CHECK(err_is(err, E2BIG) && !strcmp(reason(err), "no account is left"), "IPv%d: %s", family,
		      err ? reason(err) : "no error");
		CHECK(l.asked == 1 && !owned.n4 && !owned.n6 && !owned.v4 && !owned.v6, "IPv%d: asked %u times", family,
		      l.asked);
		free_model();
	}
}

/* Wherever there is none, nothing else comes of it, and nothing is left behind (make check SAN=1). */
static void no_memory(void)
{
	const struct account accounts[FIRST] = { { &first[0], 1 }, { &first[1], 2 } };
	const struct joint joints[JOINTS] = { { &joint[0], 1 }, { &joint[1], 2 }, { &joint[2], 4 } };
	struct labels l = { .each = 1 };
	struct combined c = combined_of(accounts, FIRST, joints, &l);
	unsigned int n = 0;
	bool met;

	random_model(6, 1);
	for (int i = 0; i < JOINTS; i++) {
		ranges_free(&joint[i]);
		ENOUGH(!ranges_add4(&joint[i], 5, 9) && !ranges_add6(&joint[i], 5, 9) && !ranges_finish(&joint[i]));
	}
	do {
		struct owned owned = { 0 };
		int err;

		until_none = ++n;
		err = combined_settle(&owned, &c, &allowed);
		met = !until_none;
		until_none = 0;
		CHECK(met ? err_is(err, ENOMEM) && !owned.v4 && !owned.v6 && !owned.label4 && !owned.label6 : !err,
		      "none at %u: %s", n, err ? reason(err) : "no error");
		owned_free(&owned);
	} while (met && !ktap_failed);
	CHECK(n == 1 + JOINTS * 5 + 4 + 1 + 1, "%u times there was some", n);
	free_model();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each address is on the account of all that hold it", against_model },
		{ "nobody holds anything with others", nobody },
		{ "there is no account for those who hold it", no_account },
		{ "there is no memory", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
