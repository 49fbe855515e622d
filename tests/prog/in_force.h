/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation in force in the real kernel, and one packet at a time through its program, through the root's tail call
 * and through the asking program: the verdict and all counters it may touch are compared with what was expected of it.
 */
#ifndef IN_FORCE_H
#define IN_FORCE_H

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "filter/build.h"
#include "filter/verify.h"
#include "bpf/decide.h"
#include "kernel/ask.h"
#include "kernel/detect.h"
#include "kernel/detect_in_force.h"
#include "kernel/detect_seen.h"
#include "kernel/generation.h"
#include "kernel/counters.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "frames.h"
#include "ktap.h"
#include "base/log.h"
#include "in_codes.h"
#include "naive.h"
#include "own_pins.h"
#include "filter/plan_sizes.h"

/* Values of the kernel's own, which no header of ours may redefine. */
enum { DROP = 1, PASS = 2 };

static struct candidate live; /* what is in the slot, and its arrays in memory */
static struct naive model;
static struct limits with_limits;			    /* of the detector; off */
static struct detector with_detector = { .account = true }; /* the rest of it */
static __u64 with_trial;				    /* until then; 0: not on trial */
static struct tally wanted[VERDICTS], wanted_lists[LABELS];
static int root = -1, program = -1, ask = -1, counters = -1, list_counters = -1;

/* --- Counters --------------------------------------------------------------------------------------------------------
 */

static int get_pin(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", own_context.bpffs, name);
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

	for (unsigned int why = 0; why < COUNTER_ROW; why++) {
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
__attribute__((unused)) static bool check_all_counters(void)
{
	static struct counted all;
	int err = kernel_counters(&own_context, &all);

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

/* The whole way but for the state: sets, plan, maps, arrays, check, detector, programs, slot. */
static bool install(const struct settings *settings, const __u64 *shadow)
{
	static __u64 number;
	struct generation g, now;
	struct owned owned;
	struct live before;
	int err;

	if (number)
		kernel_release(&live);
	naive_settle(&model, &owned);
	err = plan_generation(&g, &owned, settings);
	/* Where no /24 is banned whole it does without the gate as well. */
	if (!err && ktap_random() % 2) {
		if (g.roster4 && !g.all24)
			g.gate4 = g.gate4_labels = g.minorities = 0;
		keep_codes(&g);
	}
	g.number = ++number;
	for (unsigned int i = 0; shadow && i < LABELS / 64; i++)
		g.shadow[i] = shadow[i];
	g.shadows = !!shadow;
	for (int attempt = 0; !err && attempt < 8; attempt++) {
		seeds_set(&g);
		err = kernel_arrays(&live, &g);
		if (!err)
			err = build_arrays(&live.g, &owned);
		if (!err_is(err, EAGAIN))
			break;
		kernel_release(&live);
	}
	if (!err)
		err = check_arrays(&live.g, &owned);
	live_open(&before, &own_context);
	with_detector.limits = with_limits;
	live.trial = (struct trial){ .until = with_trial };
	if (!err)
		err = kernel_detect(&own_context, &live, &before, &with_detector)
			      ?: kernel_load(&own_context, &live, &(struct ends){ 0 });
	live_close(&before);
	if (!err)
		err = kernel_switch(&own_context, &live);
	owned_free(&owned);
	if (!CHECK(!err, "no generation: %s", reason(err)))
		return false;
	get_generation_pin(&program, number, "program");
	get_generation_pin(&ask, number, "ask");
	err = kernel_live(&own_context, &now);
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

/* What the arrays say of a source, and on whose account it is banned. One that carries an IPv4 address is that, too. */
static __u32 answer_for(int family, ip6 source, int *label)
{
	__u32 answer;

	if (family == 6 && source >> 32 == 0xffff) {
		answer = answer_for(4, (__u32)source, label);
		if (answer & ANSWER_DROP)
			return answer;
	}
	*label = naive_label(&model, family, source);
	answer = family == 4 ? decide_ipv4(&live.g, (__u32)source)
			     : decide_ipv6(&live.g, (__u64)(source >> 64), (__u64)source);
	return decide_shadow(&live.g, answer);
}

/* One packet through all three; family 0 where no source is to be found in it, or HIDDEN. */
__attribute__((unused)) static bool judge(const char *shape, const uint8_t *frame, size_t size, int family, ip6 source,
					  bool exact)
{
	bool found = family == 4 || family == 6;
	__u32 answer = family == HIDDEN ? ANSWER_HIDDEN : ANSWER_UNPARSED, verdict = family == HIDDEN ? DROP : PASS;
	enum verdict counted = family == HIDDEN ? DROPPED : UNPARSED;
	int label = -1;
	int programs[] = { program, root };

	if (found) {
		answer = answer_for(family, source, &label);
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
		if (found && answer & (ANSWER_DROP | ANSWER_SHADOW)) {
			wanted_lists[ANSWER_LABEL(answer)].packets++;
			wanted_lists[ANSWER_LABEL(answer)].bytes += size;
		}
		if (!run.ran ||
		    !CHECK(run.result == verdict, "%s cut to %zu bytes, %s: verdict %u, not %u", shape, size,
			   i ? "through the root" : "the program itself", run.result, verdict) ||
		    !check_counters(found ? (__u8)ANSWER_LABEL(answer) : 1))
			return false;
	}
	return CHECK(run_program(ask, frame, size).result == answer, "%s cut to %zu bytes: the asking program differs",
		     shape, size) &&
	       check_counters(found ? (__u8)ANSWER_LABEL(answer) : 1);
}

/* --- The cases of a program ------------------------------------------------------------------------------------------
 */

/* In a process of their own: for own_pins_run(). */
static int in_force_run(const struct ktap_case *cases, size_t count)
{
	int err = kernel_ready(&own_context), status;

	if (!err)
		err = kernel_base(&own_context, (struct committed){ 0 });
	root = get_pin(PIN_ROOT);
	counters = get_pin(PIN_COUNTERS);
	list_counters = get_pin(PIN_LIST_COUNTERS);
	if (err || root < 0 || counters < 0 || list_counters < 0) {
		printf("Bail out! %s\n", reason(err));
		return KTAP_FAIL;
	}
	/* Nothing to release yet. */
	for (enum array a = 0; a < ARRAYS; a++)
		live.map[a].fd = -1;
	live.program = live.ask = live.meta = live.on_trial = live.before = live.term = -1;
	live.ends = live.scopes = live.unread = -1;
	for (unsigned int m = 0; m < MATCHES; m++)
		live.match[m] = (struct match_programs){ -1, -1, -1 };
	status = ktap_run(cases, count);
	kernel_release(&live);
	return status;
}

#endif
