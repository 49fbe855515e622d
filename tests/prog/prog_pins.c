// SPDX-License-Identifier: GPL-2.0-only
/*
 * What lies at a pin's place and is not ours: known by each thing in which it differs, by whoever asks for it. And what
 * is in a slot that was lost.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "kernel/counters.h"
#include "kernel/pins.h"
#include "kernel/root.h"
#include "naive.h"
#include "own_pins.h"

static const char *const shared[] = { PIN_SLOT,
				      PIN_SLOT PIN_TO,
				      PIN_SLOT PIN_BOTH,
				      PIN_SLOT PIN_OUT,
				      PIN_SLOT PIN_OUT PIN_TO,
				      PIN_SLOT PIN_OUT PIN_BOTH,
				      PIN_COUNTERS,
				      PIN_LIST_COUNTERS,
				      PIN_POLICED,
				      PIN_UNREAD,
				      PIN_SAMPLES,
				      PIN_SAMPLE_SHARES,
				      PIN_SAMPLE_BUDGET };

static const char *path_of(const char *name)
{
	static char path[2][128];
	static int which;

	which = !which;
	snprintf(path[which], sizeof(path[which]), "%s/%s", own_context.bpffs, name);
	return path[which];
}

/* Ours is aside meanwhile; `fd` lies in its place, and is closed. */
static bool put_in_place(const char *name, int fd)
{
	bool ok = CHECK(fd >= 0, "%s: what is to lie there cannot be made: %s", name, strerror(errno)) &&
		  CHECK(!rename(path_of(name), path_of("own")) && !bpf_obj_pin(fd, path_of(name)), "%s: %s", name,
			strerror(errno));

	close_fd(fd);
	return ok;
}

static void put_back(const char *name)
{
	unlink(path_of(name));
	CHECK(!rename(path_of("own"), path_of(name)), "%s: %s", name, strerror(errno));
}

static int map_like(const struct pinned *is, const char *name)
{
	return bpf_map_create(is->type, name, is->key_size, is->value_size, is->max_entries, NULL);
}

static int program_called(const char *name)
{
	const struct bpf_insn passes[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_XDP, name, "GPL", passes, 2, NULL);
}

static struct pinned look_at(const char *name)
{
	int fd = pin_get(&own_context, name);
	struct pinned is = { 0 };

	ENOUGH(fd >= 0 && !pinned_info(fd, &is));
	close(fd);
	return is;
}

static bool is_foreign(int fd, const char *name, const char *words)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "/%s is %s", name, words);
	close_fd(fd);
	return CHECK(err_is(fd, EBADF) && strstr(reason(fd), wanted) && strstr(reason(fd), ", not ours: "), "%s: %s",
		     name, fd < 0 ? reason(fd) : "is taken for ours");
}

static bool is_ours(int fd, const char *name)
{
	close_fd(fd);
	return CHECK(fd >= 0, "%s: %s", name, reason(fd));
}

/* One map in the place of another, different in one thing. An array's keys have four bytes in any case. */
static void maps(void)
{
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		struct pinned is, other;
		bool ring, programs;

		/* Which there are depends on the kernel, and on what it is used for. */
		if (access(path_of(shared[i]), F_OK))
			continue;
		is = look_at(shared[i]);
		ring = is.type == BPF_MAP_TYPE_RINGBUF;
		programs = is.type == BPF_MAP_TYPE_PROG_ARRAY;
		for (int differs = 0; differs < 4; differs++) {
			other = is;
			if (differs == 0 && ring)
				other = (struct pinned){ .type = BPF_MAP_TYPE_ARRAY,
							 .key_size = 4,
							 .value_size = 4,
							 .max_entries = is.max_entries };
			else if (differs == 0)
				other.type = BPF_MAP_TYPE_ARRAY;
			else if (differs == 1 && (ring || programs))
				continue;
			else if (differs == 1)
				other.value_size += 8;
			else if (ring) /* a power of two */
				other.max_entries = differs == 2 ? is.max_entries * 2 : is.max_entries / 2;
			else
				other.max_entries += differs == 2 ? 1u : -1u;
			if (!other.max_entries)
				continue;
			if (!put_in_place(shared[i], map_like(&other, shared[i])))
				return;
			is_foreign(pin_shared_map(&own_context, shared[i]), shared[i], "map ");
			is_foreign(pins_are_ours(&own_context), shared[i], "map ");
			put_back(shared[i]);
		}
		if (!put_in_place(shared[i], program_called(shared[i])))
			return;
		is_foreign(pin_shared_map(&own_context, shared[i]), shared[i], "program ");
		is_foreign(pins_are_ours(&own_context), shared[i], "program ");
		put_back(shared[i]);
		/* What is like ours is as good; what is gone, nobody has taken. */
		if (!put_in_place(shared[i], map_like(&is, "like_it")))
			return;
		is_ours(pin_shared_map(&own_context, shared[i]), shared[i]);
		CHECK(!pins_are_ours(&own_context), "%s: one that is like it", shared[i]);
		unlink(path_of(shared[i]));
		CHECK(err_is(pin_shared_map(&own_context, shared[i]), ENOENT) && !pins_are_ours(&own_context),
		      "%s: gone", shared[i]);
		put_back(shared[i]);
	}
}

static const struct pinned small = { .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

/* That of another match, or without a link's header. */
static void other_root(unsigned int match, bool bare)
{
	static const char *const names[2][4] = { { "other", ROOT_BARE, ROOT_PLAIN, ROOT_FRAGS },
						 { "other", ROOT_PLAIN, ROOT_FRAGS, ROOT_BARE } };
	const char *name = bare ? match_pins[match].bare : match_pins[match].root, *slot = match_pins[match].slot;
	struct pinned is;

	CHECK(err_is(pin_root_of(&own_context, match, bare), ENOENT), "%s, that nobody has asked for", name);
	if (!is_ours(root_of(&own_context, match, bare), name))
		return;
	is_ours(pin_root_of(&own_context, match, bare), name);
	for (int i = 0; i < 6; i++) {
		bool map = i > 3;
		int of = map ? i - 2 : i;

		if (!put_in_place(name, map ? map_like(&small, names[bare][of]) : program_called(names[bare][of])))
			return;
		/* By that name it may be a root; but it uses no slot of ours. */
		if (!map && of > (bare ? 2 : 1))
			CHECK(err_is(pin_root_of(&own_context, match, bare), ENOENT), "%s: %s", name, names[bare][of]);
		else
			is_foreign(pin_root_of(&own_context, match, bare), name, map ? "map " : "program ");
		put_back(name);
	}
	/* One that calls what lies in another slot is not the one that is wanted. */
	is = look_at(slot);
	if (!put_in_place(slot, map_like(&is, "like_it")))
		return;
	CHECK(err_is(pin_root_of(&own_context, match, bare), ENOENT), "%s: of another slot", name);
	put_back(slot);
	is_ours(pin_root_of(&own_context, match, bare), name);
}

/* The root is known by its name, and is a program. */
static void roots(void)
{
	struct pinned is = look_at(PIN_ROOT);
	bool frags, has_frags = !strcmp(is.name, ROOT_FRAGS);

	for (int i = 0; i < 5; i++) {
		static const char *const names[] = { "other", ROOT_BARE, ROOT_PLAIN, ROOT_FRAGS, "xdp_bloom_roo" };
		bool map = i == 2 || i == 3;

		if (!put_in_place(PIN_ROOT, map ? map_like(&small, names[i]) : program_called(names[i])))
			return;
		is_foreign(pin_root(&own_context, &frags), PIN_ROOT, map ? "map " : "program ");
		put_back(PIN_ROOT);
	}
	for (int with = 0; with < 2; with++) {
		if (!put_in_place(PIN_ROOT, program_called(with ? ROOT_FRAGS : ROOT_PLAIN)))
			return;
		is_ours(pin_root(&own_context, &frags), PIN_ROOT);
		CHECK(frags == with, "its packets lie in several buffers: %d", frags);
		put_back(PIN_ROOT);
	}
	is_ours(pin_root(&own_context, &frags), PIN_ROOT);
	CHECK(frags == has_frags && kernel_frags(&own_context) == has_frags, "its packets lie in several buffers: %d",
	      frags);
	for (unsigned int match = 0; match < MATCHES; match++)
		for (int bare = !match; bare < 2; bare++)
			other_root(match, bare);
}

/* What cannot be read is not counted as nothing; what is not there yet is nothing. */
static void counters(void)
{
	static const char *const names[] = { PIN_COUNTERS, PIN_POLICED, PIN_LIST_COUNTERS, PIN_UNREAD };
	int cpus = libbpf_num_possible_cpus();
	static struct counted counted;
	static __u64 *packets;

	ENOUGH(packets = calloc(LABELS * (size_t)cpus, sizeof(*packets)));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool of_lists = i >= 2;
		struct pinned is = look_at(names[i]);
		int all, lists, retired, zeroed;

		is.value_size += 8;
		for (int gone = 0; gone < 2; gone++) {
			if (!gone && !put_in_place(names[i], map_like(&is, names[i])))
				return;
			if (gone)
				unlink(path_of(names[i]));
			all = kernel_counters(&own_context, &counted);
			lists = kernel_list_packets(&own_context, packets, cpus);
			retired = kernel_retire_port(&own_context, 3, false);
			zeroed = kernel_zero_label(&own_context, 3);
			if (gone) {
				CHECK(!all && !lists && !retired && !zeroed, "%s is gone", names[i]);
				continue;
			}
			is_foreign(all, names[i], "map ");
			if (i == 2)
				is_foreign(lists, names[i], "map ");
			else
				CHECK(!lists, "%s: the lists are not read: %s", names[i], reason(lists));
			if (of_lists)
				is_foreign(zeroed, names[i], "map ");
			else
				CHECK(!zeroed, "%s: a label is not zeroed: %s", names[i], reason(zeroed));
			if (!of_lists)
				is_foreign(retired, names[i], "map ");
			else
				CHECK(!retired, "%s: a port is not retired: %s", names[i], reason(retired));
		}
		put_back(names[i]);
	}
	CHECK(err_is(kernel_list_packets(&own_context, packets, cpus + 1), EIO), "for another number of CPUs");
	CHECK(!kernel_counters(&own_context, &counted), "the counters cannot be read");
	free(packets);
}

/* A root with a slot of its own, as if both had been lost: what is in the slot. */
static __u32 in_new_slot(struct committed committed)
{
	__u32 key = 0, id = 0;
	int slot;

	unlink(path_of(PIN_ROOT));
	unlink(path_of(PIN_SLOT));
	ENOUGH(!kernel_base(&own_context, committed));
	slot = pin_get(&own_context, PIN_SLOT);
	if (bpf_map_lookup_elem(slot, &key, &id))
		id = 0;
	close_fd(slot);
	return id;
}

/* Its id. What lies in a slot has to fit to the root, as another root does. */
static __u32 pin_root_below(const char *name)
{
	struct pinned is = look_at(PIN_ROOT);
	int fd = pin_get(&own_context, PIN_ROOT);

	ENOUGH(fd >= 0 && !bpf_obj_pin(fd, path_of(name)));
	close_fd(fd);
	in_new_slot((struct committed){ 0 });
	return is.id;
}

static void slot_again(void)
{
	const struct committed none = { 0 }, third = { .number = 3 }, fourth = { .number = 4 },
			       trial = { .number = 4, .on_trial = true }, first = { .number = 1, .on_trial = true };
	__u32 of_3, of_4, of_trial;

	ENOUGH(!mkdir(path_of(PIN_GENERATIONS "/3"), 0700) && !mkdir(path_of(PIN_GENERATIONS "/4"), 0700));
	of_3 = pin_root_below(PIN_GENERATIONS "/3/" PIN_PROGRAM);
	of_4 = pin_root_below(PIN_GENERATIONS "/4/" PIN_PROGRAM);
	of_trial = pin_root_below(PIN_GENERATIONS "/4/" PIN_TRIAL);
	CHECK(in_new_slot(none) == 0, "nothing was committed, and something is in the slot");
	CHECK(in_new_slot(third) == of_3, "another program than that of the generation");
	CHECK(in_new_slot(trial) == of_trial, "another program than that with the clock");
	CHECK(in_new_slot(fourth) == of_trial,
	      "confirmed, but not yet in the kernel: another than that with the clock");
	unlink(path_of(PIN_GENERATIONS "/4/" PIN_TRIAL));
	CHECK(in_new_slot(fourth) == of_4, "another program than that of the generation that is there for good");
	CHECK(in_new_slot(trial) == of_3, "the clock is lost: another program than that of the generation before");
	pin_root_below(PIN_GENERATIONS "/3/" PIN_TRIAL_TERM);
	CHECK(in_new_slot(trial) == 0, "the one before was on trial, too, and is in the slot");
	unlink(path_of(PIN_GENERATIONS "/3/" PIN_TRIAL_TERM));
	CHECK(in_new_slot(trial) == of_3, "another program than that of the generation before");
	CHECK(in_new_slot(first) == 0, "there is none before, and something is in the slot");
	pin_remove(path_of(PIN_GENERATIONS "/3"));
	CHECK(in_new_slot(trial) == 0, "the one before is lost, too, and something is in the slot");
	pin_remove(path_of(PIN_GENERATIONS "/4"));
}

/* As kernel/detect.c and kernel/scopes.c make one where it is needed first. */
static void make_those_of_later(void)
{
	static const struct {
		const char *name;
		__u32 entries;
	} later[] = { { PIN_POLICED, POLICED }, { PIN_UNREAD, LABELS } };

	for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, later[i].name, 4, sizeof(struct tally),
					later[i].entries, NULL);

		ENOUGH(fd >= 0 && !bpf_obj_pin(fd, path_of(later[i].name)));
		close(fd);
	}
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "roots", roots },
		{ "maps", maps },
		{ "counters", counters },
		{ "a slot that was lost", slot_again },
	};
	int err = kernel_ready(&own_context) ?: kernel_base(&own_context, (struct committed){ 0 });

	if (err) {
		printf("Bail out! %s\n", reason(err));
		return KTAP_FAIL;
	}
	make_those_of_later();
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return own_pins_run(run_cases);
}
