/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sample of the packets that pass, taken behind the filter: a packet socket on each filtered interface, whose filter
 * keeps one of so many at random, about so many a second of all. XDP's programs are the same with it and without it,
 * and the kernel takes the sockets away when their process ends, however it ends. The stack pays for them, so they are
 * there only while somebody looks.
 */
#ifndef OBSERVE_TAP_H
#define OBSERVE_TAP_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "kernel/attachment.h"

/* What top, watch and capture take. */
#define TAP_RATE 1000

struct taps;

/* About so many samples a second. NULL where there is no memory. */
struct taps *taps_new(unsigned int per_second);
/*
 * All packets of one source in so many, by a hash that nobody else knows; of IPv6 a source is the /64.
 * With more than one, what has a second tag or another header before IP's is not seen.
 */
struct taps *taps_of_sources(unsigned int one_in);
/* From now on of one source in so many, of those that it followed until now. 0 or -errno. */
int taps_thin(struct taps *taps, unsigned int one_in);
/* How many packets there was no room for, since the last call. */
uint64_t taps_missed(const struct taps *taps);
void taps_free(struct taps *taps);

/* From now on of these interfaces. 0, or -errno with the reason recorded; one that goes meanwhile is no error. */
int taps_follow(struct taps *taps, const struct attachment *on, size_t n);

/* So many of fds are taken. */
#define TAPS_MAX PORTS
unsigned int taps_fds(const struct taps *taps, struct pollfd *fds);
/* Each sample, and for how many packets it stands. Call it ten times a second at least. */
void taps_read(struct taps *taps, void (*each)(void *arg, const struct sample *sample, double packets), void *arg);

#endif
