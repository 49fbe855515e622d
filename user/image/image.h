/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation as a file, which another machine can put into force without the lists: seeds, sizes, names of the lists,
 * and the arrays as they are mapped into memory. The checksum finds damage; it is no signature.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct list_info;

#define IMAGE_MAGIC   "XDPBLOOM"
#define IMAGE_VERSION 1
#define IMAGE_ALIGN   4096 /* of each array */

/* The file begins with this, then lists, then the arrays in the order of enum array, then eight bytes of checksum. */
struct image_header {
	char magic[8];
	__u32 version;	     /* IMAGE_VERSION */
	__u32 byte_order;    /* IMAGE_BYTE_ORDER, as the machine that saved it wrote it */
	__u64 generation;    /* sizeof(struct generation) */
	__u64 bytes;	     /* of the whole file */
	__u64 lists;	     /* how many struct image_list follow */
	double asked;	     /* the filter's rate that was asked for */
	char saved[32];	     /* UTC, as 2026-01-01T00:00:00Z */
	struct generation g; /* the members that stand for maps are 0 or 1 */
};

#define IMAGE_BYTE_ORDER 0x01020304u

struct image_list {
	char name[64];
	__u32 kind, label;
	__u64 prefixes;
	char addresses[48];
	char loaded[32];
};

_Static_assert(sizeof(struct image_header) == 80 + sizeof(struct generation), "no padding");
_Static_assert(sizeof(struct image_list) == 160, "no padding");

#define IMAGE_ID_MAX 17

struct image {
	const struct image_header *header;
	const struct image_list *lists;
	struct generation g;   /* the members that stand for maps are addresses, for reading only */
	char id[IMAGE_ID_MAX]; /* its checksum as text */
	void *memory;
	size_t size;
};

/*
 * Maps a file into memory. `whole`: all of it is checked first, in a process without rights, since it may be hostile.
 * Otherwise only sizes are: for a copy of our own that was checked before. All return 0 or -errno with the reason
 * recorded, which names the file.
 */
int image_open(struct image *image, const char *path, const char *name, bool whole);
void image_close(struct image *image);
/* The same for bytes that are in memory already, aligned to IMAGE_ALIGN. */
int image_parse(struct image *image, const char *name, const void *memory, size_t size, bool whole);

/* Does a file begin as images do? */
bool image_is(const char *path);

/* The bytes of such a file; and the checksum that must stand at its end. */
uint64_t image_bytes(const struct generation *g, uint64_t lists);
uint64_t image_checksum(const void *memory, size_t size, uint64_t before);

/* Lists as the image tells of them; free() the array. */
int image_lists(const struct image *image, struct list_info **lists, size_t *n);

#endif
