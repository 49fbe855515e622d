// SPDX-License-Identifier: GPL-2.0-only
/*
 * Codes in place of addresses: each means one address and no other. XDP_BLOOM_ALL=1 asks for all 2^32 of them, which
 * takes minutes (make codes-test).
 */
#include "filter/roster_table.h"
#include "ktap.h"
#include "naive.h"

#define ROUNDS 20000

/* With fewer, the codes of a bucket are too few for its addresses. */
#define BUCKETS_LEAST 65538

static void labels_apart(void)
{
	unsigned int seen = 0;

	for (unsigned int slot = 0; slot < CODES4_SLOTS; slot++) {
		unsigned int at = codes4_label_index(codes4_slot_bit(slot));

		CHECK(at < sizeof(((struct codes4 *)0)->label) && !(seen & 1u << at), "slot %u has label %u", slot, at);
		seen |= 1u << at;
	}
}

/* What arithmetic on quarters of words might trip over. */
static const uint16_t odd[] = { 1, 2, 0x7fff, 0x8000, 0x8001, 0xffff, 0xfffe, 0x7ffe, 0x4000, 0xff, 0xff00, 0xc000 };

static uint16_t some_code(void)
{
	uint64_t r = ktap_random();
	uint16_t code = (uint16_t)(r >> 32);

	return r & 3 && code ? code : odd[(r >> 32) % (sizeof(odd) / sizeof(*odd))];
}

static void buckets(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int used = (unsigned int)(ktap_random() % (CODES4_SLOTS + 1)), cleared = 0;
		_Alignas(BLOCK_BYTES) struct codes4 bucket = { 0 };
		uint16_t held[CODES4_SLOTS];
		uint8_t label[CODES4_SLOTS];

		for (unsigned int i = 0; i < used; i++) {
			bool again = true;

			while (again) {
				/* Neighbours by one bit are what a comparison gets wrong first. */
				held[i] = i && ktap_random() & 1 ? held[i - 1] ^ (uint16_t)(1u << ktap_random() % 16)
								 : some_code();
				again = !held[i];
				for (unsigned int k = 0; k < i; k++)
					again |= held[k] == held[i];
			}
			label[i] = (uint8_t)ktap_random();
			codes4_set(&bucket, i, held[i], label[i]);
		}
		for (int question = 0; question < 40; question++) {
			uint16_t asked = used && question < 33 ? held[question % used] : some_code();
			unsigned int found;
			int wanted = -1;

			if (question >= 12 && question < 33)
				asked ^= (uint16_t)(1u << ktap_random() % 16);
			if (question == 36 && used) {
				codes4_clear(&bucket, 0);
				cleared = 1;
			}
			if (!asked)
				continue;
			for (unsigned int i = cleared; i < used; i++)
				if (held[i] == asked)
					wanted = label[i];
			found = codes4_test(&bucket, asked);
			if (!CHECK(found <= sizeof(bucket.label) && !found == (wanted < 0),
				   "%04x in a bucket of %u: found %u", asked, used, found) ||
			    (found && !CHECK(bucket.label[found - 1] == wanted, "%04x: label %u, not %d", asked,
					     bucket.label[found - 1], wanted)))
				return;
		}
	}
}

static bool draw(struct generation *g, uint64_t buckets)
{
	memset(g, 0, sizeof(*g));
	seeds_set(g);
	g->roster4_buckets = codes4_shape(buckets);
	return CHECK(g->roster4_buckets && buckets4(g) == buckets, "%" PRIu64 " buckets have no shape", buckets);
}

/* Both of its codes are codes of such a bucket, and mean this address. */
static bool means_itself(const struct generation *g, uint32_t addr)
{
	struct code4 first, second;
	uint32_t back = ~addr;

	codes4_of(g, addr, &first, &second);
	if (!CHECK(first.code && first.code <= CODES4_SHARE(g->roster4_buckets) && first.bucket < buckets4(g) &&
			   codes4_addr(g, first.bucket, (uint32_t)first.code, &back) && back == addr,
		   "%08x: its first code %" PRIx64 " of bucket %" PRIu64 " of %" PRIu64 " means %08x", addr,
		   (uint64_t)first.code, (uint64_t)first.bucket, (uint64_t)buckets4(g), back))
		return false;
	return !second.code ||
	       CHECK(second.code <= CODES4_TOP && second.bucket < buckets4(g) &&
			     codes4_addr(g, second.bucket, (uint32_t)second.code, &back) && back == addr,
		     "%08x: its second code %" PRIx64 " of bucket %" PRIu64 " of %" PRIu64 " means %08x", addr,
		     (uint64_t)second.code, (uint64_t)second.bucket, (uint64_t)buckets4(g), back);
}

/* A code of a bucket means one address, so two that mean themselves have no code in common. */
static void all_apart(void)
{
	bool all = getenv("XDP_BLOOM_ALL") != NULL;
	uint64_t n = all ? 1ULL << 32 : 1 << 20, from = all ? 0 : ktap_random();
	struct generation g;

	if (!draw(&g, all ? 122223 : BUCKETS_LEAST + ktap_random() % 1000000))
		return;
	for (uint64_t i = 0; i < n; i++)
		if (!means_itself(&g, (uint32_t)(from + i)))
			return;
	printf("# %" PRIu64 " addresses, %" PRIu64 " buckets\n", n, (uint64_t)buckets4(&g));
}

static void many_shapes(void)
{
	static const uint64_t counts[] = { BUCKETS_LEAST, BUCKETS_LEAST + 1, 1 << 17,  (1 << 17) + 1,
					   1 << 24,	  12222223,	     1u << 31, UINT32_MAX };
	struct generation g;

	for (int round = 0; round < 4000; round++) {
		uint64_t r = ktap_random();

		if (!draw(&g, round < 800 ? counts[round % 8] : BUCKETS_LEAST + (r >> 32) % (1ULL << (17 + r % 15))))
			return;
		for (int i = 0; i < 100; i++)
			if (!means_itself(&g, i < 4 ? (uint32_t)i - 2 : (uint32_t)ktap_random()))
				return;
	}
	CHECK(!codes4_shape(BUCKETS_LEAST - 2) && !codes4_shape(1), "so few buckets have a shape");
	/* 255 times as many are all addresses but one, which has a code, too. */
	CHECK(CODES4_SHARE(codes4_shape(16843009)) == 256, "the last address has no code");
}

/* Of all codes of a bucket each means another address, or none; and it is that bucket's. */
static void whole_buckets(void)
{
	static uint32_t seen[CODES4_TOP + 1];
	struct generation g;

	for (int round = 0; round < 40; round++) {
		uint64_t at = ktap_random();
		size_t n = 0, firsts = 0;

		if (!draw(&g, BUCKETS_LEAST + ktap_random() % 400000))
			return;
		at = round < 4 ? (round & 1) * (buckets4(&g) - 1) : at % buckets4(&g);
		for (uint32_t code = 0; code <= CODES4_TOP; code++) {
			if (!codes4_addr(&g, at, code, &seen[n]))
				continue;
			firsts += choose4(&g, seen[n]).first == at && !codes4_is_second(g.roster4_buckets, code);
			if (!CHECK(is_bucket_of(&g, at, seen[n]) || codes4_is_second(g.roster4_buckets, code),
				   "%08x is not of bucket %" PRIu64, seen[n], at))
				return;
			n++;
		}
		/* 2^32 addresses in so many buckets, one more or less. */
		if (!CHECK(firsts - (1ULL << 32) / buckets4(&g) <= 1,
			   "%zu addresses begin in bucket %" PRIu64 " of %" PRIu64, firsts, at, (uint64_t)buckets4(&g)))
			return;
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "labels of a bucket are apart", labels_apart },
		{ "buckets against a linear scan", buckets },
		{ "each address has codes of its own", all_apart },
		{ "whatever the seeds and the number of buckets", many_shapes },
		{ "a bucket has its share of all addresses", whole_buckets },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
