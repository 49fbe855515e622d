// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is done to a detector in force: its interfaces are followed by their numbers, those in its jail are let out,
 * some are spared, and addresses become this machine's own. The kernel is memory here (made_maps.h).
 */
#include "made_detector.h"

static const struct shown known_texts[] = {
#include "unit_detector_in_force.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detector_in_force.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static void put_numbers(unsigned int map)
{
	if (fail_at)
		return;
	printf(" %s:", detect_pin(map));
	for (size_t i = 0; pinned[map] && i < pinned[map]->n; i++)
		printf(" %u is %llu", *(const __u32 *)(const void *)pinned[map]->key[i], pinned[map]->of[i]);
	putchar('\n');
}

static int followed(void)
{
	int err = kernel_follow(&own_context, proven, 3);

	put_numbers(MAP_PROVEN);
	put_numbers(MAP_SLOT_OF);
	return err;
}

/* One that stays, one that has gone, one that goes behind it, and one of another value. */
static void numbers_there(void)
{
	static const struct numbered before[] = { { 3, 1 }, { 9, 1 }, { 8, 1 }, { 4, 2 } };

	suspects_there();
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		made_put(pinned[MAP_PROVEN], &before[i].index, &before[i].value);
}

/* Limits are also for what comes in by ports of what has them, but for those that have their own. */
static int followed_to_ports(void)
{
	int err;

	has_ports = true;
	err = followed();
	has_ports = false;
	return err;
}

static void put_changes(const struct suspects *before, const __u64 *cells_before)
{
	const struct detect *d = detect_in_force();

	for (unsigned int i = 0; i < d->buckets * SUSPECTS_OF_BUCKET && !fail_at; i++) {
		const struct suspects *was = &before[i / 4], *is = &suspects_in_force()[i / 4];
		unsigned int stamps = 0, proofs = 0;

		if (!memcmp(&was->place[i % 4], &is->place[i % 4], sizeof(was->place[0])) &&
		    !memcmp(&was->suspect[i % 4], &is->suspect[i % 4], sizeof(was->suspect[0])))
			continue;
		for (size_t class = 0; class < CLASSES; class ++) {
			stamps += is->suspect[i % 4].stamp[class] == NOW_SEEN;
			proofs += is->suspect[i % 4].proven[class] == NOW_SEEN;
		}
		printf(" place %u: %llx, mark %llx of %llu, until %llu, asked %llu, %u stamps, %u proven\n", i,
		       is->place[i % 4].key, MARK_IS(is->place[i % 4].mark),
		       (NOW_SEEN >> 16) - (MARK_SEEN(is->place[i % 4].mark) >> 16), is->suspect[i % 4].until,
		       is->suspect[i % 4].asked, stamps, proofs);
	}
	for (__u64 i = 0; i <= d->cells && !fail_at; i++)
		if (cells_before[i] != cells_in_force()[i])
			printf(" cell %llu is %s\n", i, cells_in_force()[i] == NOW_SEEN ? "now" : "another");
}

static struct suspects suspects_before[64];
static __u64 cells_before[1 << 15];

static void remember(void)
{
	if (detect_in_force()->buckets > 64 || detect_in_force()->cells >= 1 << 15)
		abort();
	memcpy(suspects_before, suspects_in_force(), detect_in_force()->buckets * sizeof(struct suspects));
	memcpy(cells_before, cells_in_force(), (detect_in_force()->cells + 1) * 8);
}

static void jailed(void)
{
	suspects_there();
	/* Both of one address, in slot 0 and 1: until later; and another of the same /64. */
	suspect_at(2, 0xc0000201, MARK(SUSPECT_IPV4 | 1 << 8, NOW_SEEN + 90))->until = NOW_SEEN + 90;
	suspect_at(5, 0xc0000203, MARK(SUSPECT_IPV4, NOW_SEEN + 90))->until = NOW_SEEN + 1;
	suspect_at(6, 0xc0000203, MARK(SUSPECT_NET6, NOW_SEEN + 90))->until = NOW_SEEN + 1;
	remember();
}

static struct addr ipv4(__u32 address)
{
	return (struct addr){ address, 4 };
}

static int let_out_range(void)
{
	int err = kernel_unjail(&own_context, ipv4(0xc0000200), 24);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_one(void)
{
	int err = kernel_unjail(&own_context, ipv4(0xc0000203), 32);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_6(void)
{
	int err = kernel_unjail(&own_context, (struct addr){ ((ip6)0x20010db800000001 << 64) + 5, 6 }, 128);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_all_6(void)
{
	int err = kernel_unjail(&own_context, (struct addr){ 0, 6 }, 0);

	put_changes(suspects_before, cells_before);
	return err;
}

static int let_out_nobody(void)
{
	struct ranges none = RANGES_EMPTY;

	return kernel_unjail_set(&own_context, &none);
}

static int let_out_badly(void)
{
	return kernel_unjail(&own_context, ipv4(1), 32);
}

/* The cells of who was let out are those that the program charges. */
static int let_out_cells(void)
{
	const struct detect *d = detect_in_force();
	struct slot one = { .number = 1 };

	for (int in = 0; in < 2; in++) {
		struct detect_packet packet = { .key = 0xc0000201, .kind = SUSPECT_IPV4, .by = in ? &one : NULL };

		packet.hash = hash_in_slot(d, source_hash(d->hash, packet.kind, packet.key), packet.by);
		printf(" slot %d: cell %llu\n", in, reduce(packet.hash >> 32, d->cells));
	}
	return 0;
}

static struct end_key net_key(__u32 address, unsigned int length)
{
	return (struct end_key){ END_KEY_BITS(length), 4, { htobe32(address) } };
}

static void trusted_there(void)
{
	const struct {
		struct end_key key;
		__u64 scale;
	} at[] = { { net_key(0x0a000000, 8), TRUST_ALL }, { net_key(0x0a010200, 24), 0 },
		   { net_key(0x0a010203, 32), 5 },	  { net_key(0x0a010300, 24), 6 },
		   { net_key(0x0b000000, 8), 7 },	  { net_key(0x0c000001, 32), 0 } };

	suspects_there();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		made_put(pinned[MAP_TRUSTED], &at[i].key, &at[i].scale);
	for (unsigned int i = 0; i < detect_in_force()->buckets * 4; i++)
		suspects_in_force()[i / 4].suspect[i % 4].asked =
			i < 6 || i > detect_in_force()->buckets * 4 - 3 ? i : 0;
	remember();
}

static int spared(void)
{
	const struct spared who[] = { { net_key(0x0a010000, 16), true },
				      { net_key(0x0c000001, 32), false },
				      { net_key(0x0b000000, 8), false } };
	int err = kernel_spare(&own_context, who, 3);

	put_changes(suspects_before, cells_before);
	return err;
}

/* Guests find room for two more. */
static void little_room(void)
{
	trusted_there();
	pinned[MAP_TRUSTED]->max_entries = (__u32)pinned[MAP_TRUSTED]->n + 256 + 2;
}

static void no_room(void)
{
	trusted_there();
	pinned[MAP_TRUSTED]->max_entries = 3;
}

static int spared_guests(void)
{
	const struct spared who[] = { { net_key(0xcb007101, 32), true },
				      { net_key(0xcb007102, 32), true },
				      { net_key(0xcb007103, 32), true },
				      { net_key(0xcb007104, 32), false },
				      { net_key(0xcb007105, 32), true } };

	return kernel_spare(&own_context, who, 5);
}

static struct end_key key_6(unsigned int length, __u32 host)
{
	return (struct end_key){ END_KEY_BITS(length), 6, { htobe32(0x20010db8), htobe32(5), 0, htobe32(host) } };
}

/* Some were needed that lists have, or have a network around of. */
static void spared_there(void)
{
	const struct {
		struct end_key key;
		__u64 scale;
	} at[] = { { net_key(0x0a010203, 32), 5 | TRUST_NO_BAN },
		   { net_key(0x0a010305, 32), 6 | TRUST_NO_BAN },
		   { net_key(0x0b010101, 32), 7 | TRUST_NO_BAN },
		   { net_key(0xcb007107, 32), TRUST_ALL | TRUST_NO_BAN },
		   { net_key(0xcb007108, 32), TRUST_ALL | TRUST_NO_BAN },
		   { key_6(64, 0), TRUST_ALL | TRUST_NO_BAN },
		   { key_6(128, 9), 8 | TRUST_NO_BAN },
		   { key_6(128, 10), 0 } };

	trusted_there();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		made_put(pinned[MAP_TRUSTED], &at[i].key, &at[i].scale);
}

static int who_is_spared(void)
{
	struct end_key *keys;
	size_t n;
	int err = kernel_spared(&own_context, &keys, &n);

	for (size_t i = 0; i < n; i++) {
		putchar(' ');
		put_end_key(&keys[i]);
		putchar('\n');
	}
	free(keys);
	return err;
}

/* Whichever comes first; one is not there any more, and one stays. */
static int end_most(void)
{
	const struct end_key keys[] = { net_key(0x0a010203, 32),
					net_key(0x0a010305, 32),
					net_key(0x0b010101, 32),
					net_key(0xcb007107, 32),
					net_key(0xcb007109, 32),
					key_6(128, 9),
					key_6(64, 0) };

	return kernel_unspare(&own_context, keys, 7);
}

static int unspared(void)
{
	int err = end_most();

	put_changes(suspects_before, cells_before);
	return err;
}

static int spared_still(void)
{
	return end_most() ?: who_is_spared();
}

/* What a packet may have kept meanwhile is asked again. */
static int unspared_nobody(void)
{
	int err = kernel_unspare(&own_context, NULL, 0);

	put_changes(suspects_before, cells_before);
	return err;
}

static int spared_nobody(void)
{
	return kernel_spare(&own_context, NULL, 0);
}

static int spared_one(void)
{
	const struct spared one = { net_key(0x0a010000, 16), false };

	return kernel_spare(&own_context, &one, 1);
}

static int owned(void)
{
	const struct end_key keys[] = { net_key(0x0a010001, 32), net_key(0x0a010002, 32) };
	const struct end_key gone[] = { net_key(0x0b000000, 8), net_key(0x0b000000, 9), net_key(0x0c000001, 32) };

	return kernel_own(&own_context, keys, 2, gone, 3);
}

static void looks_at_none(void)
{
	trusted_there();
	detect_in_force()->looks_up = 0;
}

static const struct scenario all[] = {
	{ "follow", numbers_there, followed, EACH_FAILS },
	{ "follow, a bond has ports", numbers_there, followed_to_ports, ONCE },
	{ "follow, each slot has an interface", all_interfaces, followed, ONCE },
	{ "follow, without slots", no_slots, followed, ONCE },
	{ "follow, slots of another size", slots_read_badly, followed, ONCE },
	{ "follow, no detector", nothing_is_pinned, followed, ONCE },
	{ "follow, nothing in force", live_is_gone, followed, ONCE },
	{ "follow, what is in force cannot be read", live_is_broken, followed, ONCE },
	{ "let out a network", jailed, let_out_range, EACH_FAILS },
	{ "let out one", jailed, let_out_one, ONCE },
	{ "let out one of IPv6", jailed, let_out_6, ONCE },
	{ "let out all of IPv6", jailed, let_out_all_6, ONCE },
	{ "let out nobody", jailed, let_out_nobody, ONCE },
	{ "let out, no detector", nothing_is_pinned, let_out_badly, ONCE },
	{ "let out, nothing in force", live_is_gone, let_out_badly, ONCE },
	{ "let out, what is in force cannot be read", live_is_broken, let_out_badly, ONCE },
	{ "the cells of who is let out", jailed, let_out_cells, ONCE },
	{ "spare", trusted_there, spared, EACH_FAILS },
	{ "spare nobody", trusted_there, spared_nobody, ONCE },
	{ "spare, no detector", nothing_is_pinned, spared_one, ONCE },
	{ "spare, nothing in force", live_is_gone, spared_one, ONCE },
	{ "spare, what is in force cannot be read", live_is_broken, spared_one, ONCE },
	{ "spare, little room", little_room, spared_guests, ONCE },
	{ "spare, no room", no_room, spared_guests, ONCE },
	{ "who is spared", spared_there, who_is_spared, ONCE },
	{ "who is spared, no detector", nothing_is_pinned, who_is_spared, ONCE },
	{ "who is spared, nothing in force", live_is_gone, who_is_spared, ONCE },
	{ "who is spared, what is in force cannot be read", live_is_broken, who_is_spared, ONCE },
	{ "spare no more", spared_there, unspared, EACH_FAILS },
	{ "who is spared still", spared_there, spared_still, ONCE },
	{ "spare nobody less", spared_there, unspared_nobody, ONCE },
	{ "spare no more, no detector", nothing_is_pinned, end_most, ONCE },
	{ "spare no more, nothing in force", live_is_gone, end_most, ONCE },
	{ "spare no more, what is in force cannot be read", live_is_broken, end_most, ONCE },
	{ "own", trusted_there, owned, EACH_FAILS },
	{ "own, nothing is looked up", looks_at_none, owned, ONCE },
	{ "own, no detector", nothing_is_pinned, owned, ONCE },
	{ "own, nothing in force", live_is_gone, owned, ONCE },
	{ "own, what is in force cannot be read", live_is_broken, owned, ONCE },
};

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

static bool bit_of(const struct end_key *key, unsigned int bit)
{
	return be32toh(key->addr[bit / 32]) >> (31 - bit % 32) & 1;
}

static void keys_within(void)
{
	static const unsigned int lengths[] = { 0, 1, 8, 24, 31, 32, 33, 63, 64, 65, 96, 127, 128 };

	for (int round = 0; round < 4000; round++) {
		struct end_key wide = { .family = ktap_random() % 8 ? 6 : 4 }, narrow = { .family = 6 };
		unsigned int a = lengths[ktap_random() % 13], b = lengths[ktap_random() % 13];
		bool want = wide.family == 6 && a <= b, is;

		wide.bits = END_KEY_BITS(a);
		narrow.bits = END_KEY_BITS(b);
		for (size_t i = 0; i < 4; i++)
			wide.addr[i] = narrow.addr[i] = (__u32)ktap_random();
		if (ktap_random() % 2) {
			unsigned int bit = ktap_random() % 3 ? (a + 127 + ktap_random() % 2) % 128
							     : (unsigned int)(ktap_random() % 128);

			narrow.addr[bit / 32] ^= htobe32(1U << (31 - bit % 32));
		}
		for (unsigned int bit = 0; bit < a; bit++)
			want = want && bit_of(&wide, bit) == bit_of(&narrow, bit);
		is = end_key_holds(&wide, &narrow);
		if (!CHECK(is == want, "/%u in /%u: %d", b, a, is))
			return;
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what becomes of a detector's maps", happens },
		{ "prefixes within others", keys_within },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
