/* SPDX-License-Identifier: GPL-2.0-only */
/* Beside other XDP programs: what attach.c asks of libxdp. The pin of that path is the program's. */
#ifndef KERNEL_DISPATCHER_H
#define KERNEL_DISPATCHER_H

#include <linux/types.h>
#include <stdbool.h>

#include "kernel/attachment.h"

/*
 * May we do all of this? The kernel shows what runs on an interface only to CAP_SYS_ADMIN: without it libxdp attaches
 * what it can neither find nor take away again. -EPERM, with that interface's name in the reason.
 */
int shared_allowed(const char *ifname);
/* Does a libxdp dispatcher run there already? */
bool shared_is_there(int ifindex);
/* Attaches the generation in force; the pin becomes its program's, in place of one that may be there. */
int shared_attach(const struct context *context, struct attachment *at, int ifindex, const char *pin);
/* Which program a pin is; 0: none. */
__u32 shared_id(const char *pin);
/*
 * Where the program with that id runs: on that interface, or on another, which was renamed; 0: nowhere. Where the
 * kernel does not let us look, it is taken to run there.
 */
unsigned int shared_where(unsigned int ifindex, __u32 id);
/* Takes the program with that id out. */
int shared_remove(const char *ifname, __u32 id);
/* Takes all programs of this instance out but those that are to be kept, and what was to become that pin. */
typedef bool shared_kept_fn(const struct context *context, __u32 id);
int shared_sweep(const struct context *context, const char *ifname, unsigned int ifindex, const char *pin,
		 shared_kept_fn *kept);
/* Is the program of that pin the one of the generation in force, if any is? */
bool shared_is_live(const struct context *context, const char *pin);

#endif
