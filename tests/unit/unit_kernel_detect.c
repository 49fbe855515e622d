// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maps of a detector: what is made, what is taken over, and what is said where the kernel refuses. The kernel is
 * memory here (made_maps.h).
 */
#include "made_detector.h"

static const struct shown known_texts[] = {
#include "unit_kernel_detect.txt"
};

static struct shows shows = { .file = "tests/unit/unit_kernel_detect.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static int made_detector(void)
{
	int err;

	candidate.g.number = 7;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		candidate.detect[map - MAP_DETECT] = -1;
	err = kernel_detect(context, &candidate, in_force, &detector);
	if (!fail_at && !quiet) {
		printf(" candidate:");
		for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
			printf("%s %s", map == MAP_DETECT ? "" : ",", made_text(candidate.detect[map - MAP_DETECT]));
		putchar('\n');
	}
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		if (candidate.detect[map - MAP_DETECT] >= 0)
			given_close(candidate.detect[map - MAP_DETECT]);
	return err;
}

static void off(void)
{
	plain();
	detector.limits.on = false;
}

static void policed_lost(void)
{
	same_plain();
	shared = NULL;
}

static void nothing_in_force(void)
{
	with_context();
	live.err = -ENOENT;
	in_force = &live;
}

static void none_in_force(void)
{
	with_context();
	in_force = &live;
}

static void other_tick(void)
{
	same_plain();
	detect_in_force()->tick++;
}

static void of_another_version(void)
{
	same_plain();
	detect_in_force()->version++;
}

static void without_cells(void)
{
	same_plain();
	detect_in_force()->cells = 0;
}

static void no_map(void)
{
	same_plain();
	pinned[MAP_DETECT]->program = true;
}

static void short_description(void)
{
	same_plain();
	pinned[MAP_DETECT]->value_size -= 8;
}

static void small_sketch(void)
{
	same_plain();
	pinned[MAP_SKETCH]->value_size -= 8;
}

static void small_suspects(void)
{
	same_plain();
	pinned[MAP_SUSPECTS]->value_size -= 8;
}

static void claims_lost(void)
{
	same_plain();
	pinned[MAP_CLAIMS] = NULL;
}

static void proven_lost(void)
{
	same_plain();
	pinned[MAP_PROVEN] = NULL;
}

static void slots_are_new(void)
{
	same_plain();
	limits_put_on(&detector.limits, "eth0", CLASS_SYN, (struct limit){ .rate = 10, .then = THENS });
}

static void slots_are_gone(void)
{
	same_limits();
	detector.limits.interfaces = 0;
}

/* Those that only say what becomes of what is above. */
static void slots_do_more(void)
{
	same_limits();
	limits_of(&detector.limits, "wan")->of[CLASS_PACKETS].then = THEN_POLICE;
}

static void all_do_more(void)
{
	all_interfaces();
	limits_of(&detector.limits, "wan")->of[CLASS_PACKETS].then = THEN_POLICE;
	detector.limits.of[CLASS_UDP].then = THEN_POLICE;
	detect_in_force()->then[THEN_POLICE] = 9;
}

static void slots_of_others(void)
{
	same_limits();
	((struct slot *)(void *)pinned[MAP_SLOTS]->value)[31].limit[CLASS_PACKETS].burst++;
}

static void slots_of_another_size(void)
{
	same_limits();
	pinned[MAP_SLOTS]->value_size -= 8;
}

static void slots_lost(void)
{
	same_limits();
	pinned[MAP_SLOTS] = NULL;
	pinned[MAP_SLOT_OF] = NULL;
}

/* Each word of the description another one: is all of it made anew? */
static int each_word(void)
{
	for (size_t word = 0; word < sizeof(struct detect) / 8; word++) {
		__u64 *at = (__u64 *)(void *)pinned[MAP_DETECT]->value + word, was = *at;
		size_t before = made_n;

		quiet = true;
		*at ^= 2;
		made_detector();
		*at = was;
		quiet = false;
		for (size_t i = before; i < made_n; i++)
			free(made_maps[i].value);
		printf(" %zu: %s\n", word, made_n - before > 5 ? "anew" : "taken over");
		made_n = before;
	}
	return 0;
}

static void bans(void)
{
	plain();
	detector.limits.of[CLASS_PACKETS].then = THEN_BAN;
}

#define LAID(name, how)        \
	static void name(void) \
	{                      \
		bans();        \
		layout = how;  \
	}

LAID(laid_odd, LAID_ODD)
LAID(laid_deep, LAID_DEEP)
LAID(laid_without, LAID_WITHOUT)
LAID(no_sockets, NO_SOCKETS)
LAID(no_layout, NO_LAYOUT)

static void polices(void)
{
	plain();
	detector.limits.of[CLASS_PACKETS].then = THEN_POLICE;
}

static void no_proof_at_all(void)
{
	bans();
	lacks[0] = BPF_FUNC_skc_lookup_tcp;
}

static void half_a_proof(void)
{
	bans();
	lacks[0] = BPF_FUNC_skc_to_tcp_sock;
}

static void scans(void)
{
	plain();
	detector.limits.of[CLASS_SCAN] = (struct limit){ .rate = 20, .then = THEN_POLICE };
	limits_put_on(&detector.limits, "eth0", CLASS_UNANSWERED, (struct limit){ .rate = 10, .then = THENS });
	limits_put_on(&detector.limits, "wan", CLASS_PACKETS, (struct limit){ .rate = 10, .then = THENS });
	limits_put_on(&detector.limits, "wan", CLASS_SCAN, (struct limit){ .rate = 10, .then = THENS });
}

#define SCANS(name, without)                   \
	static void scans_without_##name(void) \
	{                                      \
		scans();                       \
		lacks[0] = without;            \
	}

SCANS(tcp, BPF_FUNC_skc_lookup_tcp)
SCANS(udp, BPF_FUNC_sk_lookup_udp)
SCANS(cookies, BPF_FUNC_tcp_check_syncookie)
SCANS(routes, BPF_FUNC_fib_lookup)

static int asked_twice(void)
{
	int looks = kernel_looks_up(), proves = kernel_proves();

	printf(" %d %d\n", looks, proves);
	return kernel_looks_up() == looks && kernel_proves() == proves;
}

static void lacks_both(void)
{
	lacks[0] = BPF_FUNC_fib_lookup;
	lacks[1] = BPF_FUNC_skc_to_tcp_sock;
}

static const struct scenario all[] = {
	{ "off", off, made_detector, ONCE },
	{ "a plain one, without pins", plain, made_detector, EACH_FAILS },
	{ "a plain one, with pins", with_context, made_detector, EACH_FAILS },
	{ "all of it", all_of_it, made_detector, BY_EACH_ERRNO },
	{ "the same limits are in force", same_limits, made_detector, BY_EACH_ERRNO },
	{ "the same limits, without interfaces", same_plain, made_detector, EACH_FAILS },
	{ "the same limits, a pin was lost", policed_lost, made_detector, EACH_FAILS },
	{ "nothing is in force", nothing_in_force, made_detector, ONCE },
	{ "no detector is in force", none_in_force, made_detector, ONCE },
	{ "another tick", other_tick, made_detector, ONCE },
	{ "of another version", of_another_version, made_detector, ONCE },
	{ "without cells", without_cells, made_detector, ONCE },
	{ "no map", no_map, made_detector, ONCE },
	{ "a short description", short_description, made_detector, ONCE },
	{ "a small sketch", small_sketch, made_detector, ONCE },
	{ "few suspects", small_suspects, made_detector, ONCE },
	{ "claims are lost", claims_lost, made_detector, ONCE },
	{ "what is proven is lost", proven_lost, made_detector, ONCE },
	{ "slots are new", slots_are_new, made_detector, ONCE },
	{ "slots are gone", slots_are_gone, made_detector, ONCE },
	{ "slots do more", slots_do_more, made_detector, ONCE },
	{ "each slot has an interface", all_interfaces, made_detector, ONCE },
	{ "each slot has an interface, and does more", all_do_more, made_detector, ONCE },
	{ "slots of others", slots_of_others, made_detector, ONCE },
	{ "slots of another size", slots_of_another_size, made_detector, ONCE },
	{ "slots are lost", slots_lost, made_detector, ONCE },
	{ "each word another", same_plain, each_word, ONCE },
	{ "bans", bans, made_detector, ONCE },
	{ "bans, a member at the beginning", laid_odd, made_detector, ONCE },
	{ "bans, members within another", laid_deep, made_detector, ONCE },
	{ "bans, without a member", laid_without, made_detector, ONCE },
	{ "bans, without sockets", no_sockets, made_detector, ONCE },
	{ "bans, without a layout", no_layout, made_detector, ONCE },
	{ "polices", polices, made_detector, ONCE },
	{ "bans, no socket is looked up", no_proof_at_all, made_detector, ONCE },
	{ "bans, no socket is read", half_a_proof, made_detector, ONCE },
	{ "scans", scans, made_detector, ONCE },
	{ "scans, without TCP", scans_without_tcp, made_detector, ONCE },
	{ "scans, without UDP", scans_without_udp, made_detector, ONCE },
	{ "scans, without cookies", scans_without_cookies, made_detector, ONCE },
	{ "scans, without routes", scans_without_routes, made_detector, ONCE },
	{ "asked twice", NULL, asked_twice, ONCE },
	{ "asked twice, neither", lacks_both, asked_twice, ONCE },
};

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "what becomes of a detector's maps", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
