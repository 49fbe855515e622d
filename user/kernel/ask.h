/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to an address: the running program is asked. */
#ifndef KERNEL_ASK_H
#define KERNEL_ASK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "sets/address.h"

struct context;
struct live;

/* The running program's answer for each address: ANSWER() of abi.h. Of lists with a scope, as if they had none. */
int kernel_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers);
/* The same of a packet: where it came in, and its destination where that is of the same family. */
struct asked_packet {
	__u32 ifindex;
	__u8 protocol;
	__u16 port;
	struct addr to;
};
int kernel_ask_packet(const struct context *context, const struct addr *addr, const struct asked_packet *packet,
		      __u32 *answer);
/* Is it dropped? No, if that cannot be found out. */
bool live_drops(const struct live *live, struct addr addr);
/* The same of many, one after the other: what is asked is a descriptor, which the caller closes, or -errno. */
int live_ask(const struct live *live);
bool ask_drops(int asked, struct addr addr);

/* What an answer says: is it a drop, and by which stage? */
bool answer_drops(__u32 answer);
const char *answer_stage(__u32 answer);

#endif
