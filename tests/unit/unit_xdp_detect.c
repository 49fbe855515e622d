// SPDX-License-Identifier: GPL-2.0-only
/* The programs of XDP with a detector, as plain C: sources that send too much, word for word. */
#include "made_kernel.h"

#include "bpf/xdp_bloom.bpf.c"

#include "made_program.h"
#include "made_sockets.h"

static const struct shown known[] = {
#include "unit_xdp_detect.txt"
};

static struct shows shows = { .file = "tests/unit/unit_xdp_detect.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define CELLS	16
#define BUCKETS 4

static __u64 sketch[CELLS], made_detected[DETECTEDS], scale;
static struct suspects suspects[BUCKETS];
static struct tally made_policed[POLICED];
static struct slot slots[SLOTS];
static __u32 slot_number;
static struct {
	int any;
} map_of_detected, map_of_policed, map_of_trusted, map_of_proven, map_of_slots, map_of_claims;

static void *given_trusted(const void *key)
{
	const struct end_key *asked = key;

	if (asked->family > 255) /* this machine's own */
		return &scale;
	return asked->family == 4 && asked->addr[0] == htonl(0xc6336409) ? &scale : NULL;
}

static void *given_proven(const void *key)
{
	(void)key;
	return &scale;
}

static void *given_slot(const void *key)
{
	__u32 interface;

	memcpy(&interface, key, sizeof(interface));
	return interface == 9 ? &slot_number : NULL;
}

static const struct made_map maps[] = {
	MADE_MAPS(counters),
	MADE_MAP(map_of_detected, made_detected, DETECTEDS),
	MADE_MAP(map_of_policed, made_policed, POLICED),
	{ .map = &map_of_trusted, .find = given_trusted },
	{ .map = &map_of_proven, .find = given_proven },
	{ .map = &map_of_slots, .find = given_slot },
	{ .map = NULL },
};

#include "made_worlds.h"

/* A packet takes 100 ns of 300, a SYN 200 of 500; a cell is hot from 250 on. */
static void detector(void)
{
	memset(sketch, 0, sizeof(sketch));
	memset(suspects, 0, sizeof(suspects));
	memset(slots, 0, sizeof(slots));
	memset(&given_detect, 0, sizeof(given_detect));
	given_detect.hash = given.hash;
	given_detect.cells = CELLS;
	given_detect.buckets = BUCKETS;
	given_detect.tick = 1;
	given_detect.cap = 250;
	given_detect.most = 400;
	given_detect.keep = 1 << 20;
	given_detect.limit[CLASS_PACKETS].price = given_detect.moves[CLASS_PACKETS] = 100;
	given_detect.limit[CLASS_PACKETS].burst = 300;
	given_detect.limit[CLASS_SYN].price = given_detect.moves[CLASS_SYN] = 200;
	given_detect.limit[CLASS_SYN].burst = 500;
	given_detect.jail = 10000;
	given_detect.number = 1;
	given_detect.sketch = (__u64)(uintptr_t)sketch;
	given_detect.suspects = (__u64)(uintptr_t)suspects;
	given_detect.claims = (__u64)(uintptr_t)&map_of_claims;
	given_detect.detected = (__u64)(uintptr_t)&map_of_detected;
	given_detect.trusted = (__u64)(uintptr_t)&map_of_trusted;
	given_detect.proven = (__u64)(uintptr_t)&map_of_proven;
	scale = TRUST_ALL / 2;
	tcp_there = udp_there = false;
	route_is = BPF_FIB_LKUP_RET_FWD_DISABLED;
	comes_in_by = 3;
	clock_is = 5000000;
}

static void polices(void)
{
	given_detect.then[THEN_POLICE] = 1 << CLASS_PACKETS | 1 << CLASS_SYN;
	given_detect.policed = (__u64)(uintptr_t)&map_of_policed;
	given_detect.account = 1;
}

static void says(const char *text, unsigned int times, int (*program)(struct made_packet *))
{
	printf(" %s\n", text);
	for (unsigned int i = 0; i < times; i++, clock_is += 10) {
		make(text);
		printf("  = %d", judged(program));
		say_counts();
		say_tallies("policed", made_policed, POLICED);
		for (size_t d = 0; d < DETECTEDS; d++)
			if (made_detected[d])
				printf(" detected %zu", d);
		memset(made_detected, 0, sizeof(made_detected));
		putchar('\n');
	}
}

/* What is known of them in the end. */
static void say_suspects(void)
{
	for (size_t b = 0; b < BUCKETS; b++)
		for (size_t i = 0; i < SUSPECTS_OF_BUCKET; i++) {
			const struct suspect *s = &suspects[b].suspect[i];

			if (!suspects[b].place[i].mark)
				continue;
			printf(" place %zu.%zu: key %#llx, mark %#llx, dropped %llu, banned for %#x until %llu, port %u,"
			       " pairs %#llx;",
			       b, i, (unsigned long long)suspects[b].place[i].key,
			       (unsigned long long)suspects[b].place[i].mark, (unsigned long long)s->dropped,
			       s->banned_for, (unsigned long long)s->until, s->port, (unsigned long long)s->pairs);
			for (size_t c = 0; c < CLASSES; c++)
				printf(" %llu/%llu", (unsigned long long)s->count[c], (unsigned long long)s->over[c]);
			putchar('\n');
		}
	for (size_t i = 0; i < CELLS; i++)
		if (sketch[i])
			printf(" cell %zu: %llu", i, (unsigned long long)sketch[i]);
	putchar('\n');
}

static const char *const floods[] = {
	"e800 s198.51.100.1 d203.0.113.8 4:6 T2:9:22",
	"e800 s198.51.100.9 4:17 p53:9",
	"e86dd s2001:db8:77::1 d2001:db8:ff::2 6:17 p53:9",
	"e86dd s::ffff:198.51.100.5 6:6 T2:9:22",
	"e86dd sfe80::1 6:58 z20",
	"e800 s0.0.0.0 4:17 p68:67",
	"e800 s45.0.0.1 4:17 p9:53",
	"e800 s45.0.3.3 4:17 p9:53",
	"e806 z28",
};

static void each_flood(const char *name, void (*how)(void), int (*program)(struct made_packet *))
{
	make_world(0);
	detector();
	how();
	shows_begin(&shows);
	anew();
	for (size_t i = 0; i < sizeof(floods) / sizeof(*floods); i++)
		says(floods[i], 7, program);
	say_suspects();
	shows_as(&shows, name);
	end_world();
	held_bytes = 0;
	memset(made_shares, 0, sizeof(made_shares));
}

static void watches(void)
{
}

static void polices_alone(void)
{
	polices();
	given_detect.policed = 0;
}

static void polices_samples(void)
{
	polices();
	given_detect.account = 0;
	given.samples = 1;
	made_shares[LABEL_DETECTOR].left = 2;
}

static void bans(void)
{
	polices();
	given_detect.then[THEN_BAN] = 1 << CLASS_PACKETS;
	random_is = 0x8000;
}

static void looks(void)
{
	bans();
	given_detect.looks_up = 1 << CLASS_UNANSWERED | 1 << CLASS_SCAN;
	for (int class = CLASS_UNANSWERED; class <= CLASS_SCAN; class ++) {
		given_detect.limit[class].price = 150;
		given_detect.limit[class].burst = 400;
	}
	given_detect.then[THEN_POLICE] |= 1 << CLASS_UNANSWERED;
}

static void networks(void)
{
	polices();
	given_detect.networks = TRUST_ALL / 4;
}

static void networks_that_look(void)
{
	looks();
	given_detect.networks = TRUST_ALL / 4;
}

/* An interface that has limits of its own, or another. */
static void in_slot(void)
{
	polices();
	given_detect.slots = (__u64)(uintptr_t)slots;
	given_detect.slot_of = (__u64)(uintptr_t)&map_of_slots;
	comes_in_by = 9;
	slot_number = 2;
	for (unsigned int i = 0; i < 3; i += 2) {
		slots[i].number = i;
		slots[i].limit[CLASS_PACKETS].price = slots[i].moves[CLASS_PACKETS] = 60 + 20 * i;
		slots[i].limit[CLASS_PACKETS].burst = 400;
		slots[i].limit[CLASS_SYN].burst = 400;
		slots[i].then[THEN_POLICE] = 1 << CLASS_PACKETS;
	}
}

static void in_slot_looking(void)
{
	in_slot();
	given_detect.looks_up = 1 << CLASS_UNANSWERED;
	slots[2].limit[CLASS_UNANSWERED].price = 300;
	slots[2].limit[CLASS_UNANSWERED].burst = 500;
	slots[2].then[THEN_BAN] = 1 << CLASS_UNANSWERED;
}

static void elsewhere(void)
{
	in_slot();
	comes_in_by = 8;
}

static void networks_in_slot(void)
{
	in_slot_looking();
	given_detect.networks = TRUST_ALL / 4;
}

static void in_buffers(void)
{
	polices();
	given.frags = 1;
	held_bytes = 20;
}

static void without_maps(void)
{
	polices();
	given_detect.claims = 0;
}

static void without_sketch(void)
{
	polices();
	given_detect.sketch = 0;
}

static void without_slots(void)
{
	in_slot();
	given_detect.slot_of = 0;
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*how)(void);
		int (*program)(struct made_packet *);
	} each[] = {
		{ "watches", watches, xdp_bloom_rates },
		{ "polices", polices, xdp_bloom_rates },
		{ "polices, uncounted", polices_alone, xdp_bloom_rates },
		{ "polices, sampled", polices_samples, xdp_bloom_rates },
		{ "bans", bans, xdp_bloom_rates },
		{ "on trial", bans, xdp_bloom_trial },
		{ "looks", looks, xdp_bloom_looks },
		{ "looks, on trial", looks, xdp_bloom_trial },
		{ "networks", networks, xdp_bloom_rates },
		{ "networks, looking", networks_that_look, xdp_bloom_looks },
		{ "in a slot", in_slot, xdp_bloom_slots },
		{ "in a slot, on trial", in_slot, xdp_bloom_trial_slots },
		{ "in a slot, looking", in_slot_looking, xdp_bloom_slots },
		{ "networks in a slot, looking", networks_in_slot, xdp_bloom_slots },
		{ "elsewhere", elsewhere, xdp_bloom_slots },
		{ "in several buffers", in_buffers, xdp_bloom_rates },
		{ "without maps", without_maps, xdp_bloom_rates },
		{ "without a sketch", without_sketch, xdp_bloom_rates },
		{ "without slots", without_slots, xdp_bloom_slots },
	};

	made_maps = maps;
	made_trial.until = ~0ULL;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		each_flood(each[i].name, each[i].how, each[i].program);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
