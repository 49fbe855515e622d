/* SPDX-License-Identifier: GPL-2.0-only */
/* A file packed piece by piece: what is packed already stays as it is, the rest becomes zstd. */
#ifndef PACKER_H
#define PACKER_H

#include <stddef.h>

struct packer {
	char *data; /* the piece */
	size_t bytes, room;
	int fd;
	void *stream; /* NULL: the file is packed already */
	char *in;
	size_t in_at, in_end;
	int ended;
};

/* Both return 0 or -errno; packer_close() may follow either. After the last piece comes one of no bytes. */
int packer_open(struct packer *p, int fd, size_t piece);
int packer_next(struct packer *p);
void packer_close(struct packer *p);

#endif
