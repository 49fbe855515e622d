// SPDX-License-Identifier: GPL-2.0-only
#include "packer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "log.h"

#define IN_ROOM ((size_t)1 << 20)

static int fill(struct packer *p)
{
	ssize_t got = read(p->fd, p->in, IN_ROOM);

	if (got < 0)
		return because(-errno, "reading the list once more: %s", strerror(errno));
	p->in_at = 0;
	p->in_end = (size_t)got;
	return 0;
}

static bool packed_already(const struct packer *p)
{
	static const struct {
		const char *bytes;
		size_t length;
	} magic[] = { { "\x1f\x8b", 2 },
		      { "\xfd"
			"7zXZ",
			5 },
		      { "\x28\xb5\x2f\xfd", 4 } };

	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if (p->in_end >= magic[i].length && !memcmp(p->in, magic[i].bytes, magic[i].length))
			return true;
	return false;
}

int packer_open(struct packer *p, int fd, size_t piece)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->room = piece;
	p->in = malloc(IN_ROOM);
	p->data = malloc(piece);
	if (!p->in || !p->data)
		return -ENOMEM;
	err = fill(p);
	if (err || packed_already(p))
		return err;
	p->stream = ZSTD_createCCtx();
	if (!p->stream)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(p->stream, ZSTD_c_compressionLevel, 1);
	/* On the other core, where the library can. */
	ZSTD_CCtx_setParameter(p->stream, ZSTD_c_nbWorkers, 1);
	return 0;
}

/* Moves what it can from the input to the piece. */
static int move(struct packer *p)
{
	ZSTD_inBuffer in = { p->in, p->in_end, p->in_at };
	ZSTD_outBuffer out = { p->data, p->room, p->bytes };
	size_t left = p->in_end - p->in_at, room = p->room - p->bytes, now = left < room ? left : room, more;

	if (!p->stream) {
		memcpy(p->data + p->bytes, p->in + p->in_at, now);
		p->bytes += now;
		p->in_at += now;
		p->ended = !p->in_end;
		return 0;
	}
	more = ZSTD_compressStream2(p->stream, &out, &in, p->in_end ? ZSTD_e_continue : ZSTD_e_end);
	if (ZSTD_isError(more))
		return because(-ENOMEM, "packing the list: %s", ZSTD_getErrorName(more));
	p->ended = !p->in_end && !more;
	p->in_at = in.pos;
	p->bytes = out.pos;
	return 0;
}

int packer_next(struct packer *p)
{
	int err = 0;

	p->bytes = 0;
	while (!err && !p->ended && p->bytes < p->room) {
		if (p->in_at == p->in_end && p->in_end)
			err = fill(p);
		if (!err)
			err = move(p);
	}
	return err;
}

void packer_close(struct packer *p)
{
	ZSTD_freeCCtx(p->stream);
	free(p->in);
	free(p->data);
}
