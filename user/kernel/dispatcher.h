/* SPDX-License-Identifier: GPL-2.0-only */
/* Beside other XDP programs: what attach.c needs of libxdp. A pin's path names the program. */
#ifndef KERNEL_DISPATCHER_H
#define KERNEL_DISPATCHER_H

#include <stdbool.h>

#include "kernel/attachment.h"

/* -EPERM without CAP_SYS_ADMIN: libxdp would attach a program that it can neither find nor take away again. */
int shared_allowed(const char *ifname);
/* Does the kernel let libxdp run several programs on an interface? */
bool shared_possible(void);
/* Does a libxdp dispatcher run there already? */
bool shared_is_there(int ifindex);
/* Attaches the generation in force; its program replaces the one that may have that pin. */
int shared_attach(const struct context *context, struct attachment *at, int ifindex, const char *pin);
/* The id of a pin's program; 0: none. */
__u32 shared_id(const char *pin);
/*
 * The interface where the program with that id runs: this one, or another, which was renamed; 0: nowhere. Where the
 * kernel does not let us look: this one.
 */
unsigned int shared_where(unsigned int ifindex, __u32 id);
/* Takes the program with that id out. */
int shared_remove(const char *ifname, __u32 id);
/* Takes this instance's programs out, but not those to be kept, and removes a half-made new pin. */
typedef bool shared_kept_fn(const struct context *context, __u32 id);
int shared_sweep(const struct context *context, const char *ifname, unsigned int ifindex, const char *pin,
		 shared_kept_fn *kept);
/* Is the program of that pin the one of the generation in force, if any is? */
bool shared_is_live(const struct context *context, const char *pin);

#endif
