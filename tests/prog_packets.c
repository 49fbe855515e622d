// SPDX-License-Identifier: GPL-2.0-only
/*
 * The real programs in the real kernel, on made packets: every header shape, cut off at every byte, through the
 * generation's program, through the root's tail call and through the asking program. After every packet the verdict and
 * all counters it may touch are compared with what was expected of it.
 */
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "build.h"
#include "check.h"
#include "decide.h"
#include "frames.h"
#include "kernel.h"
#include "ktap.h"
#include "log.h"
#include "naive.h"
#include "own_pins.h"
#include "plan.h"

#define ETHERNET_BYTES 14 /* the kernel runs no test on less */

/* Values of the kernel's own, which no header of ours may redefine. */
enum { DROP = 1, PASS = 2 };

static struct candidate live; /* what is in the slot, and its arrays in memory */
static struct naive model;
static struct tally wanted[VERDICTS], wanted_lists[LABELS];
static int root = -1, program = -1, ask = -1, counters = -1, list_counters = -1;

/* --- Counters --------------------------------------------------------------------------------------------------------
 */

static int get_pin(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", opt_bpffs, name);
	return bpf_obj_get(path);
}

static void get_generation_pin(int *fd, __u64 number, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), PIN_GENERATIONS "/%llu/%s", number, name);
	if (*fd >= 0)
		close(*fd);
	*fd = get_pin(path);
	CHECK(*fd >= 0, "no %s", path);
}

static struct tally read_tally(int map, __u32 key)
{
	static struct tally *each;
	int cpus = libbpf_num_possible_cpus();
	struct tally sum = { 0 };

	if (!each)
		ENOUGH(each = calloc((size_t)cpus, sizeof(*each)));
	if (!CHECK(!bpf_map_lookup_elem(map, &key, each), "counter %u cannot be read", key))
		return sum;
	for (int cpu = 0; cpu < cpus; cpu++) {
		sum.packets += each[cpu].packets;
		sum.bytes += each[cpu].bytes;
	}
	return sum;
}

/* All stages that come to a verdict, on the loopback interface: that is what test runs run on. */
static struct tally read_verdict(enum verdict verdict)
{
	struct tally sum = { 0 };

	for (unsigned int why = 0; why < REASONS; why++) {
		struct tally one = read_tally(counters, COUNTER(PORT_OF(1), why));

		if (reason_verdict(why) == verdict)
			tally_add(&sum, &one);
	}
	return sum;
}

static bool same_tally(struct tally got, struct tally want, const char *what, unsigned int which)
{
	return CHECK(got.packets == want.packets && got.bytes == want.bytes,
		     "%s %u: %llu packets, %llu bytes; not %llu and %llu", what, which, got.packets, got.bytes,
		     want.packets, want.bytes);
}

/* The verdicts, and of the lists the two that matter. */
static bool check_counters(__u8 label)
{
	for (unsigned int v = 0; v < VERDICTS; v++)
		if (!same_tally(read_verdict(v), wanted[v], "verdict", v))
			return false;
	return same_tally(read_tally(list_counters, label), wanted_lists[label], "list", label) &&
	       same_tally(read_tally(list_counters, LABEL_LIVE), wanted_lists[LABEL_LIVE], "list", LABEL_LIVE);
}

/* All of them, as the command reads them. */
static bool check_all_counters(void)
{
	static struct counted all;
	int err = kernel_counters(&all);

	if (!CHECK(!err, "kernel_counters: %s", reason(err)))
		return false;
	for (unsigned int v = 0; v < VERDICTS; v++)
		if (!same_tally(all.verdict[v], wanted[v], "verdict", v))
			return false;
	for (unsigned int l = 0; l < LABELS; l++)
		if (!same_tally(all.list[l], wanted_lists[l], "list", l))
			return false;
	return true;
}

/* --- A generation in force -------------------------------------------------------------------------------------------
 */

/* The whole way but for the state: sets, plan, maps, arrays, check, programs, slot. */
static bool install(const struct settings *settings, const __u64 *shadow)
{
	static __u64 number;
	struct generation g, now;
	struct owned owned;
	int err;

	kernel_release(&live);
	naive_settle(&model, &owned);
	err = plan_generation(&g, &owned, settings);
	g.number = ++number;
	for (unsigned int i = 0; shadow && i < LABELS / 64; i++)
		g.shadow[i] = shadow[i];
	g.shadows = !!shadow;
	for (int attempt = 0; !err && attempt < 8; attempt++) {
		seeds_set(&g);
		err = kernel_arrays(&live, &g);
		if (!err)
			err = build_arrays(&live.g, &owned);
		if (err != -EAGAIN)
			break;
		kernel_release(&live);
	}
	if (!err)
		err = check_arrays(&live.g, &owned);
	if (!err)
		err = kernel_load(&live);
	if (!err)
		err = kernel_switch(&live);
	owned_free(&owned);
	if (!CHECK(!err, "no generation: %s", reason(err)))
		return false;
	get_generation_pin(&program, number, "program");
	get_generation_pin(&ask, number, "ask");
	err = kernel_live(&now);
	return !ktap_failed && CHECK(!err && now.number == number, "generation %llu is in force, not %" PRIu64,
				     now.number, (uint64_t)number);
}

struct run {
	__u32 result;
	bool ran;
};

/* How much of a packet lies in its first buffer; 0: all. */
static size_t first_buffer;

static struct run run_program(int fd, const uint8_t *frame, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (__u32)size, .repeat = 1);
	struct xdp_md cut = { .data_end = (__u32)(first_buffer < size ? first_buffer : size) };
	int err;

	if (first_buffer && fd != ask) { /* the asking program is only ever given whole packets */
		opts.ctx_in = &cut;
		opts.ctx_size_in = sizeof(cut);
	}
	err = bpf_prog_test_run_opts(fd, &opts);
	CHECK(!err, "a packet of %zu bytes is not run: %s", size, strerror(errno));
	return (struct run){ opts.retval, !err };
}

/* One packet through all three; family 0 where no source is to be found in it. */
static bool judge(const char *shape, const uint8_t *frame, size_t size, int family, ip6 source, bool exact)
{
	__u32 answer = ~0U, verdict = PASS;
	enum verdict counted = UNPARSED;
	int label = family ? naive_label(&model, family, source) : -1;
	int programs[] = { program, root };

	if (family) {
		answer = family == 4 ? decide_ipv4(&live.g, (__u32)source)
				     : decide_ipv6(&live.g, (__u64)(source >> 64), (__u64)source);
		answer = decide_shadow(&live.g, answer);
		verdict = answer & ANSWER_DROP ? DROP : PASS;
		counted = answer & ANSWER_DROP ? DROPPED : PASSED;
		/* The arrays say what the model says; without a roster they may drop more. */
		if (!CHECK(exact ? !(answer & (ANSWER_DROP | ANSWER_SHADOW)) == (label < 0)
				 : label < 0 || answer & (ANSWER_DROP | ANSWER_SHADOW),
			   "%s: answer %x, label %d", shape, answer, label) ||
		    (exact && label >= 0 &&
		     !CHECK((int)ANSWER_LABEL(answer) == label, "%s: label %u, not %d", shape, ANSWER_LABEL(answer),
			    label)))
			return false;
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct run run = run_program(programs[i], frame, size);

		wanted[counted].packets++;
		wanted[counted].bytes += size;
		if (family && answer & (ANSWER_DROP | ANSWER_SHADOW)) {
			wanted_lists[ANSWER_LABEL(answer)].packets++;
			wanted_lists[ANSWER_LABEL(answer)].bytes += size;
		}
		if (!run.ran ||
		    !CHECK(run.result == verdict, "%s cut to %zu bytes, %s: verdict %u, not %u", shape, size,
			   i ? "through the root" : "the program itself", run.result, verdict) ||
		    !check_counters(family ? (__u8)ANSWER_LABEL(answer) : 1))
			return false;
	}
	return CHECK(run_program(ask, frame, size).result == answer, "%s cut to %zu bytes: the asking program differs",
		     shape, size) &&
	       check_counters(family ? (__u8)ANSWER_LABEL(answer) : 1);
}

/* --- Sets ------------------------------------------------------------------------------------------------------------
 */

#define IP6(hi, lo) ((ip6)(hi) << 64 | (lo))

static void add(int family, ip6 first, unsigned int length, unsigned int account)
{
	naive_add(&model, family, first, first | addr_mask(family, length), account);
}

static void hosts_only(void)
{
	model = (struct naive){ .label = { 1, 200, 255 } };
	add(4, 0xc0000201, 32, 0);
	add(4, 0xc0000203, 32, 1);
	add(4, 0, 32, 2);
	add(4, 0xffffffff, 32, 0);
	for (uint32_t i = 0; i < 300; i++)
		add(4, 0x0a000000 + i * 0x10101, 32, i % 3);
}

static void everything(void)
{
	hosts_only();
	add(4, 0x0b000000, 8, 0);
	add(4, 0xc6336400, 24, 1); /* and a host of it on another account: the more important one */
	add(4, 0xc6336407, 32, 0);
	add(4, 0xcb007180, 25, 1);
	add(4, 0xcb007140, 30, 2);
	add(4, 0x0b0b0b00, 24, NAIVE_ALLOWED);
	add(6, IP6(0x20010db800000000, 0), 32, 1);
	add(6, IP6(0x20010db900010000, 0), 48, 0);
	add(6, IP6(0x20010db900020003, 0), 64, 2);
	add(6, IP6(0x20010db9000200ff, 1), 128, 0);
	add(6, 0, 128, 2);
	add(6, ~(ip6)0, 128, 1);
	add(6, IP6(0x20010db800000007, 0), 64, NAIVE_ALLOWED);
}

/* The first and last address of some range, the one before and the one after, or a random one. */
static ip6 worth_asking(int family)
{
	for (int i = 0; i < 64; i++) {
		const struct naive_range *r = &model.range[ktap_random() % (model.n ? model.n : 1)];
		ip6 end = addr_mask(family, 0);

		if (!model.n || r->family != family)
			continue;
		switch (ktap_random() % 6) {
		case 0:
			return (r->lo - 1) & end;
		case 1:
			return r->lo;
		case 2:
			return r->hi;
		case 3:
			return (r->hi + 1) & end;
		case 4:
			return r->lo + (IP6(ktap_random(), ktap_random()) & (r->hi - r->lo));
		}
	}
	return family == 4 ? (uint32_t)ktap_random() : IP6(ktap_random(), ktap_random());
}

static bool ask_shape(const struct frame_shape *shape, size_t from, bool exact)
{
	for (size_t size = from; size <= FRAME_MAX; size++) {
		ip6 source = worth_asking(shape->family == 6 ? 6 : 4);
		uint8_t frame[FRAME_MAX];

		frame_make(frame, shape, source);
		if (!judge(shape->name, frame, size, size >= shape->needed ? shape->family : 0, source, exact))
			return false;
	}
	return true;
}

/* --- Cases -----------------------------------------------------------------------------------------------------------
 */

/* Before anything is loaded, and after: nothing in the slot lets packets pass and counts nothing. */
static void empty_slot(void)
{
	int slot = get_pin(PIN_SLOT);
	__u32 key = 0;

	if (!CHECK(slot >= 0, "no slot"))
		return;
	bpf_map_delete_elem(slot, &key);
	close(slot);
	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		uint8_t frame[FRAME_MAX];

		frame_make(frame, &frame_shapes[i], 0xc0000201);
		CHECK(run_program(root, frame, FRAME_MAX).result == PASS, "%s is dropped", frame_shapes[i].name);
	}
	check_all_counters();
}

static void every_shape(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	everything();
	if (!install(&settings, NULL))
		return;
	for (size_t i = 0; i < FRAME_SHAPES; i++)
		if (!ask_shape(&frame_shapes[i], ETHERNET_BYTES, true) || !check_all_counters())
			return;
	CHECK(wanted[DROPPED].packets > 1000 && wanted[PASSED].packets > 1000 && wanted[UNPARSED].packets > 1000,
	      "too few packets of a kind");
	printf("# %llu packets dropped, %llu passed, %llu unparsed\n", wanted[DROPPED].packets, wanted[PASSED].packets,
	       wanted[UNPARSED].packets);
}

static void counters_survive(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct generation g;

	everything();
	for (int i = 0; i < 3; i++) {
		if (!install(&settings, NULL) || !check_all_counters())
			return;
		for (size_t s = 0; s < FRAME_SHAPES; s += 5)
			if (!ask_shape(&frame_shapes[s], FRAME_MAX - 3, true))
				return;
	}
	CHECK(!kernel_zero_label(200), "a list's counter is not set to zero");
	wanted_lists[200] = (struct tally){ 0 };
	check_all_counters();
	CHECK(!kernel_live(&g) && g.keys4 == live.g.keys4 && g.rungs == live.g.rungs && g.hash.add == live.g.hash.add,
	      "its own description differs");
}

/* Many addresses, as the test verb asks them: the kernel says what the arrays in memory say. */
static void answers(void)
{
	enum { ASKED = 6000 };
	static struct addr asked[ASKED];
	static __u32 got[ASKED];
	struct settings settings = SETTINGS_DEFAULT;
	int err;

	everything();
	if (!install(&settings, NULL))
		return;
	for (int i = 0; i < ASKED; i++)
		asked[i] = (struct addr){ worth_asking(i & 1 ? 4 : 6), i & 1 ? 4 : 6 };
	err = kernel_ask(asked, ASKED, got);
	CHECK(!err, "kernel_ask: %s", reason(err));
	for (int i = 0; i < ASKED && !ktap_failed; i++) {
		ip6 num = asked[i].num;
		__u32 mine = asked[i].family == 4 ? decide_ipv4(&live.g, (__u32)num)
						  : decide_ipv6(&live.g, (__u64)(num >> 64), (__u64)num);
		int label = naive_label(&model, asked[i].family, num);

		CHECK(got[i] == mine, "address %d: %x, not %x", i, got[i], mine);
		CHECK(!(got[i] & ANSWER_DROP) == (label < 0) && (label < 0 || (int)ANSWER_LABEL(got[i]) == label),
		      "address %d: %x, label %d", i, got[i], label);
	}
	check_all_counters();
}

static bool some_shapes(bool exact)
{
	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < FRAME_SHAPES; i++)
			if (!ask_shape(&frame_shapes[i], FRAME_MAX - 1, exact))
				return false;
	return check_all_counters();
}

/* Programs without the stages that their set does not need. */
static void other_sets(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	hosts_only();
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model = (struct naive){ .label = { 3 } };
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	add(4, 0x0b000000, 8, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	add(6, IP6(0x20010db800000000, 0), 32, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	add(6, (ip6)1 << 127, 1, 0);
	add(6, 5, 128, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	for (unsigned int length = 20; length <= 128; length++) /* all rungs there can be */
		add(6, ((ip6)1 << 125) + ((ip6)1 << (128 - length)), length, 0);
	if (!install(&settings, NULL) || !CHECK(live.g.rungs == RUNGS_MAX, "%llu rungs", live.g.rungs) ||
	    !some_shapes(true))
		goto failed;
	return;
failed:
	printf("# the set had %zu ranges\n", model.n);
}

/* The filter alone decides: no banned packet passes, and the programs agree with the arrays on all others. */
static void without_roster(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	settings.exact = false;
	hosts_only();
	if (install(&settings, NULL))
		some_shapes(false);
}

/* Every layout of the filter, with both families, all rungs, and with the roster or alone. */
static void every_layout(void)
{
	static const unsigned int ks[] = { 1, 2, 11, 24 };

	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		for (size_t k = 0; k < (layout == LAYOUT_CLASSIC ? sizeof(ks) / sizeof(*ks) : 1); k++) {
			struct settings settings = SETTINGS_DEFAULT;

			settings.layout = layout;
			settings.k = ks[k];
			settings.exact = true;
			everything();
			for (unsigned int length = 20; length <= 128; length++)
				add(6, ((ip6)1 << 125) + ((ip6)1 << (128 - length)), length, 0);
			if (!install(&settings, NULL) ||
			    !CHECK(live.g.filter_layout == layout && live.g.rungs == RUNGS_MAX, "not the layout") ||
			    !some_shapes(true))
				return;
			settings.exact = false;
			hosts_only();
			if (!install(&settings, NULL) || !some_shapes(false))
				return;
		}
	}
}

static void shadow_lists(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	__u64 shadow[LABELS / 64] = { [200 / 64] = 1ULL << 200 % 64 };

	everything();
	if (install(&settings, shadow))
		some_shapes(true);
}

/* The first buffer ends somewhere in the headers: what drivers do that leave it empty, at worst. */
static void frags(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	uint8_t frame[FRAME_MAX] = { 0 };
	struct xdp_md cut = { .data_end = ETHERNET_BYTES };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME_MAX, .ctx_in = &cut,
		    .ctx_size_in = sizeof(cut), .repeat = 1);

	if (bpf_prog_test_run_opts(ask, &opts))
		return ktap_skip("this kernel makes no such packets");
	everything();
	if (!install(&settings, NULL))
		return;
	for (size_t i = 0; i < FRAME_SHAPES; i++)
		for (first_buffer = ETHERNET_BYTES; first_buffer < frame_shapes[i].needed && !ktap_failed;
		     first_buffer++)
			ask_shape(&frame_shapes[i], FRAME_MAX - 2, true);
	first_buffer = 0;
	check_all_counters();
}

/* Larger than a page: frags, whatever the kernel makes of the first. */
static void jumbo(void)
{
	static uint8_t frame[9000];

	if (kernel_frags() != 1)
		return ktap_skip("this kernel has no packets of several buffers");
	for (size_t i = 0; i < FRAME_SHAPES && !ktap_failed; i++) {
		const struct frame_shape *shape = &frame_shapes[i];
		ip6 source = worth_asking(shape->family == 6 ? 6 : 4);

		frame_make(frame, shape, source);
		judge(shape->name, frame, sizeof(frame), shape->family, source, true);
	}
	check_all_counters();
}

/* What was predicted is what the kernel holds, to the byte. */
static void memory(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	__u64 bytes[ARRAYS];

	for (int set = 0; set < 2; set++) {
		struct generation g;
		int err;

		if (set)
			everything();
		else
			hosts_only();
		for (uint32_t i = 0; i < 3000; i++)
			add(4, (uint32_t)ktap_random(), 32, i % 3);
		if (!install(&settings, NULL))
			return;
		err = kernel_live(&g);
		if (!err)
			err = kernel_map_bytes(&g, bytes);
		if (!CHECK(!err, "the bytes of the maps: %s", reason(err)))
			return;
		for (enum array a = 0; a < ARRAYS; a++) {
			__u64 predicted = array_bytes(&live.g, a);

			CHECK(bytes[a] == predicted, "%s: %llu bytes, not %llu", array_kinds[a].name, bytes[a],
			      predicted);
		}
	}
}

/* --- All of it in a process of its own -------------------------------------------------------------------------------
 */

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "an empty slot passes packets and counts nothing", empty_slot },
		{ "every header shape, cut off at every byte", every_shape },
		{ "counters outlive generations", counters_survive },
		{ "answers for many addresses", answers },
		{ "sets that leave stages out", other_sets },
		{ "without a roster", without_roster },
		{ "every layout of the filter", every_layout },
		{ "shadow lists pass, and are counted", shadow_lists },
		{ "headers in several buffers", frags },
		{ "jumbo frames", jumbo },
		{ "the memory that was predicted", memory },
		{ "an emptied slot passes packets and counts nothing", empty_slot },
	};
	int err = kernel_ready(), status;

	if (!err)
		err = kernel_base();
	root = err ? -1 : kernel_root_fd();
	counters = get_pin(PIN_COUNTERS);
	list_counters = get_pin(PIN_LIST_COUNTERS);
	if (err || root < 0 || counters < 0 || list_counters < 0) {
		printf("Bail out! %s\n", reason(err));
		return KTAP_FAIL;
	}
	/* Nothing to release yet. */
	for (enum array a = 0; a < ARRAYS; a++)
		live.map[a].fd = -1;
	live.program = live.ask = live.meta = -1;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	kernel_release(&live);
	return status;
}

int main(void)
{
	return own_pins_run(run_cases);
}
