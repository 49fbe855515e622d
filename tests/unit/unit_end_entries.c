// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ends of bans in the kernel where it has no memory for some of them: against a trie that is asked by looking
 * through all of it.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel/generation.h"
#include "ktap.h"

/* As a trie of prefixes has them. */
static struct {
	bool dead; /* it is not even read */
	struct end at[64];
	size_t n;
	unsigned int puts; /* before the memory is used up */
} trie;

static bool holds(const struct end_key *wide, const struct end_key *narrow)
{
	const unsigned char *a = (const void *)&wide->family, *b = (const void *)&narrow->family;
	bool same = wide->bits <= narrow->bits;

	for (unsigned int bit = 0; bit < wide->bits && same; bit++)
		same = !((a[bit / 8] ^ b[bit / 8]) & 0x80 >> bit % 8);
	return same;
}

static struct end *longest(const struct end_key *key, bool itself)
{
	struct end *found = NULL;

	for (size_t i = 0; i < trie.n; i++)
		if (holds(&trie.at[i].key, key) && (!itself || trie.at[i].key.bits == key->bits) &&
		    (!found || found->key.bits < trie.at[i].key.bits))
			found = &trie.at[i];
	return found;
}

static int trie_put(const struct end_key *key, __u64 until)
{
	struct end *at = longest(key, true);

	if (!trie.puts) {
		errno = ENOMEM;
		return -errno;
	}
	trie.puts--;
	if (!at)
		at = &trie.at[trie.n++];
	*at = (struct end){ *key, until };
	return 0;
}

static int trie_take(const struct end_key *key)
{
	struct end *at = longest(key, true);

	if (!at) {
		errno = ENOENT;
		return -errno;
	}
	*at = trie.at[--trie.n];
	return 0;
}

static int given_put(int fd, const void *key, const void *value, __u64 flags)
{
	CHECK(!fd && flags == BPF_ANY, "another map");
	return trie_put(key, *(const __u64 *)value);
}

static int given_take(int fd, const void *key)
{
	CHECK(!fd, "another map");
	return trie_take(key);
}

static int given_ask(int fd, const void *key, void *value)
{
	const struct end *at = !trie.dead ? longest(key, false) : NULL;

	(void)fd;
	if (!at) {
		errno = trie.dead ? ENOMEM : ENOENT;
		return -errno;
	}
	*(__u64 *)value = at->until;
	return 0;
}

#define bpf_map_update_elem given_put
#define bpf_map_delete_elem given_take
#define bpf_map_lookup_elem given_ask
#include "kernel/generation.c"

#define BANS 12

static struct end ban_of(unsigned int family)
{
	static const unsigned int lengths[] = { 0, 8, 9, 16, 24, 31, 32, 128 };
	unsigned int length = lengths[ktap_random() % (family == 4 ? 7 : 8)];
	struct end ban = { .key = { .bits = END_KEY_BITS(length), .family = family } };

	/* One bit decides behind each of these lengths, so most of them lie within others. */
	for (unsigned int bit = 0; bit < length; bit++)
		if (bit == 7 || bit == 8 || bit == 15 || bit == 23 || bit == 31 || bit == 127)
			((unsigned char *)ban.key.addr)[bit / 8] |= (ktap_random() & 1) << (7 - bit % 8);
	ban.until = 1 + ktap_random() % 100;
	return ban;
}

/* The latest end of those that hold it. */
static __u64 end_of(const struct end *bans, size_t n, const struct end_key *key)
{
	__u64 until = 0;

	for (size_t i = 0; i < n; i++)
		if (bans[i].until > until && holds(&bans[i].key, key))
			until = bans[i].until;
	return until;
}

static void entries_of(struct ends *to, const struct end *bans, size_t n)
{
	to->n = n;
	for (size_t i = 0; i < n; i++)
		to->at[i] = (struct end){ bans[i].key, bans[i].until ? end_of(bans, n, &bans[i].key) : 0 };
}

/*
 * Bans come, become longer and go, and from some entry on there is no memory: none of those that stay ends before its
 * time, and with memory each ends exactly then.
 */
static void no_ban_ends_early(void)
{
	struct end bans[BANS], entries[BANS];
	struct ends these = { entries, 0 };
	unsigned int failed = 0, went_on = 0;

	for (unsigned int round = 0; round < 50000 && !ktap_failed; round++) {
		size_t n = 0, before;
		int err;

		while (n < 2 + round % (BANS - 1)) {
			struct end ban = ban_of(round & 1 ? 4 : 6);
			bool is_new = true;

			for (size_t i = 0; i < n; i++)
				is_new = is_new && memcmp(&bans[i].key, &ban.key, sizeof(ban.key));
			if (is_new)
				bans[n++] = ban;
			else if (ktap_random() % 4 == 0)
				break;
		}
		before = ktap_random() % (n + 1);
		trie.n = 0;
		trie.dead = false;
		trie.puts = BANS;
		entries_of(&these, bans, before);
		CHECK(!kernel_ends_put(0, &these), "there is memory");
		for (size_t i = 0; i < n; i++)
			bans[i].until = i < before && ktap_random() % 8 == 0 ? 0 : bans[i].until + ktap_random() % 100;
		entries_of(&these, bans, n);
		trie.puts = ktap_random() % (BANS + 4);
		trie.dead = ktap_random() % 8 == 0;
		err = kernel_ends_put(0, &these);
		failed += !!err;
		for (size_t i = 0; i < n; i++) {
			const struct end *is = longest(&bans[i].key, false);
			__u64 wanted = end_of(bans, n, &bans[i].key);

			if (!bans[i].until)
				continue;
			CHECK(is ? is->until >= wanted : !!err, "round %u, ban %zu of %zu: it ends at %llu, not %llu",
			      round, i, n, is ? (unsigned long long)is->until : 0ULL, (unsigned long long)wanted);
			CHECK(err || (is && is->until == wanted), "round %u, ban %zu of %zu: it ends later", round, i,
			      n);
			went_on += !is;
		}
	}
	printf("# %u times without memory, %u bans have no end\n", failed, went_on);
	CHECK(failed && went_on, "there was always enough");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "no memory for an end", no_ban_ends_early } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
