/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that touches the kernel's BPF side. Functions return 0 or -errno with the reason recorded (log.h), and
 * leave nothing behind when they fail.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sets/address.h"
#include "filter/arrays.h"

/* The bpffs directory is there and ours, and we may load programs. */
int kernel_ready(void);

/* The root, its slot and the counters are loaded and pinned. */
int kernel_base(void);
/* May packets lie in several buffers, as with jumbo frames? The kernel decided when the root was loaded (5.18).
 * 1, 0 or -errno. */
int kernel_frags(void);

/* A generation on its way into the slot. */
struct candidate {
	struct generation g; /* the members that stand for maps are addresses here */
	struct {
		int fd;
		size_t size;
	} map[ARRAYS];
	int program, ask, meta;
	char dir[256]; /* its pins, once there are any */
};

/* Makes zeroed maps of the planned sizes and maps them into memory. */
int kernel_arrays(struct candidate *c, const struct generation *planned);
/* Verifies the programs with the generation's constants, and pins all of it beside the one in force. */
int kernel_load(struct candidate *c);
/* From the return on it is in force, on every interface; then the one before is let go. */
int kernel_switch(struct candidate *c);
/* Unpins what a command that was killed left beside the generation in force. */
void kernel_sweep(void);
/* Lets go of our hold; unpins it unless it is in force. */
void kernel_release(struct candidate *c);

/* The generation in force, as its maps say; -ENOENT where there is none. Map members are 0 or 1. */
int kernel_live(struct generation *g);
/* Its number alone; 0: there is none, or it cannot be read. */
unsigned long long kernel_live_generation(void);
/* How long ago it was loaded. */
int kernel_age(double *seconds);
/* Likewise, with its arrays mapped into memory, to read or to edit; kernel_release() lets go of them. */
int kernel_open_live(struct candidate *c, bool edit);

/* What was edited is noted in its description. */
int kernel_live_note(const struct generation *edited);
/* A descriptor of its description. */
int kernel_live_meta(void);
/* Likewise of its program. */
int kernel_live_program(void);

/* The running program's answer for each address: ANSWER() of abi.h. */
int kernel_ask(const struct addr *addrs, size_t n, __u32 *answers);
/* Is it dropped, as far as anybody can tell? */
bool kernel_drops(struct addr addr);

/* What was counted, summed over all CPUs. */
struct counted {
	struct tally verdict[VERDICTS];
	struct tally port[PORTS + 1][REASONS]; /* the last is PORT_RETIRED */
	struct tally list[LABELS];
};
int kernel_counters(struct counted *counted);
/* The row of an interface that the filter is no longer on begins anew; the sums stay. */
int kernel_retire_port(unsigned int port);

static inline void tally_add(struct tally *sum, const struct tally *more)
{
	sum->packets += more->packets;
	sum->bytes += more->bytes;
}

static inline enum verdict reason_verdict(unsigned int why)
{
	return why == REASON_UNPARSED ? UNPARSED : why >= REASON_DROPPED ? DROPPED : PASSED;
}

/* A list's count begins anew. */
int kernel_zero_label(__u8 label);

/* The bytes that its maps really hold, as the kernel says. */
void kernel_map_bytes(const struct candidate *c, __u64 bytes[ARRAYS]);

/* Descriptors of the live generation's maps; -1 where it has none. The caller closes them. */
int kernel_live_maps(const struct generation *g, int maps[ARRAYS]);

/* A descriptor of the root, for attach.c. */
int kernel_root_fd(void);

#endif
