/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists packed, to be sent to many machines: a head of lines that people can read, and then zstd.
 *
 *	xdp-bloom set 1
 *	time 2026-01-01T00:00:00Z
 *	sha256 (of what it holds: packed_sum())
 *	from (of what it changes; only a change has this line)
 *	(an empty line)
 *
 * Packed, the head comes once more, as no sum is of its time; then come blocks: a kind, so many numbers, and which of
 * their bytes are not zero in all of them; then for each of these bytes, the highest first, that byte of every number.
 * What is alike lies side by side, so that zstd finds it: high bytes of gaps pack well, low ones not at all.
 *
 *	PACKED_GONE4, PACKED_GONE6	which ranges of the list before are gone: the gap to the one before, in ranges
 *	PACKED_NEW4, PACKED_NEW6	ranges: gaps to the first address that could follow; then lengths, less one
 *
 * IPv4 comes before IPv6, what is gone before what is new, and PACKED_END at the end. All is little-endian.
 */
#ifndef SETS_PACKED_H
#define SETS_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "sets/ranges.h"

#define PACKED_BEGINS	"xdp-bloom set "
#define PACKED_VERSION	"1"
#define PACKED_HEAD_MAX 512
#define PACKED_BLOCK	((uint32_t)1 << 18)

enum { PACKED_END, PACKED_GONE4, PACKED_NEW4, PACKED_GONE6, PACKED_NEW6 };

struct packed_block {
	uint32_t kind, n, gaps, lengths; /* the last two: bit i: byte i is there */
};

/* The least that follows: adjacent ranges are one. */
#define PACKED_NEXT(hi) ((hi) + 2)

struct packed_head {
	char time[32], sum[SHA256_TEXT], from[SHA256_TEXT]; /* from: empty in a list that is whole */
};

/* The length of the head that these bytes begin with; 0: there is none, and *why it is none of ours, or NULL. */
size_t packed_head_read(struct packed_head *head, const char *text, size_t bytes, const char **why);
/* False: not a change, or none that can be read. */
bool packed_is_change(int fd);

/*
 * SHA-256 of what a list holds, however it was packed: of all IPv4 ranges and all IPv6 ranges, in order, and how many
 * there are of each, in 8 bytes. A range is two numbers in groups of seven bits, the low ones first: the gap to the
 * first address that could follow the range before, and the length less one. So a host is three bytes: a sum takes its
 * time for each.
 */
struct packed_sum {
	struct sha256 sha;
	ip6 next;
	uint64_t n4, n6;
	size_t n;
	unsigned char bytes[4096];
};

void packed_sum_begin(struct packed_sum *sum);
void packed_sum_add4(struct packed_sum *sum, uint32_t lo, uint32_t hi);
void packed_sum_add6(struct packed_sum *sum, ip6 lo, ip6 hi);
void packed_sum_end(struct packed_sum *sum, char text[SHA256_TEXT]);
void packed_sum(const struct ranges *set, char text[SHA256_TEXT]);

/* How hard zstd tries. */
#define PACKED_QUICK 1
#define PACKED_SMALL 19

/* Writes a list, or where `from` is not NULL what makes `set` of it. 0 or -errno. */
int packed_write(int fd, const struct ranges *set, const struct ranges *from, int level);

#endif
