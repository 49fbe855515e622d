/* SPDX-License-Identifier: GPL-2.0-only */
/* A file packed into pieces of memory by a thread: what is packed already stays as it is, the rest becomes zstd. */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

enum packing { PLAIN, GZIP, XZ, ZSTD };

/* By the first bytes; PACKING_BYTES of them are enough. */
#define PACKING_BYTES 6
enum packing packing_of(const void *begin, size_t bytes);

struct packer;

struct packed_piece {
	char *data;
	size_t bytes;
};

/* Starts to read the file: nothing else may read it until packer_end(). NULL: out of memory. */
struct packer *packer_begin(int fd);
/* Reads no more than these bytes of it, however much is behind them by now. */
void packer_most(struct packer *packer, uint64_t bytes);

/* Waits for the end. 0 or -errno with the reason recorded; the pieces stay until packer_free(). */
int packer_end(struct packer *packer, const struct packed_piece **pieces, size_t *n);

void packer_free(struct packer *packer);

#endif
