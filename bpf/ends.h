/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bans that end: asked only behind a "yes", and only where the label is LABEL_ENDS. The clock is that of --confirm: it
 * counts while the machine is suspended, and setting the date does not move it.
 */
#ifndef ENDS_H
#define ENDS_H

#include "constants.h"

#ifdef __bpf__

inline_always int end_is_over(const struct end_key *key)
{
	__u64 map = LOADED(CONSTANT_ENDS);
	const __u64 *until;

	/* Newer verifiers know that no answer comes here without such a map; 5.10 does not. */
	if (!map)
		return 0;
	until = bpf_map_lookup_elem((void *)map, key);
	return until && bpf_ktime_get_boot_ns() >= *until;
}

/* What the answer comes to. */
inline_always __u32 end_answer(__u32 answer, int over)
{
	return answer & ~(over ? ANSWER_DROP | 0xff : 0xff);
}

inline_always int end_is_over4(__u32 in_network_order)
{
	struct end_key key = { .bits = END_KEY_BITS(32), .family = 4, .addr = { in_network_order } };

	return end_is_over(&key);
}

inline_always int end_is_over6(const __u32 *addr)
{
	struct end_key key = { .bits = END_KEY_BITS(128), .family = 6, .addr = { addr[0], addr[1], addr[2], addr[3] } };

	return end_is_over(&key);
}

#else

#define end_is_over4(addr)	 ((void)(addr), 0)
#define end_is_over6(addr)	 ((void)(addr), 0)
#define end_answer(answer, over) ((void)(over), (answer))

#endif

#endif
