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

/* The running program's answer for each address: ANSWER() of abi.h. */
int kernel_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers);
/* Is it dropped? No, if that cannot be found out. */
bool live_drops(const struct live *live, struct addr addr);

/* What an answer says: is it a drop, and by which stage? */
bool answer_drops(__u32 answer);
const char *answer_stage(__u32 answer);

#endif
