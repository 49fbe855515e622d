// SPDX-License-Identifier: GPL-2.0-only
#include "base/compress.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "base/grow.h"
#include "base/list_most.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out.h"

#ifndef PIECE_BYTES /* a test has smaller ones */
#define IN_BYTES    ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)16 << 20)
#endif

struct packer {
	pthread_t thread;
	bool running;
	_Atomic uint64_t most; /* bytes to read */
	uint64_t taken, room;  /* room: what the pieces may have */
	int fd, err;
	ZSTD_CCtx *stream;
	struct packed_piece *pieces;
	size_t n;
	char in[IN_BYTES];
};

/* Room in the last piece, or in a new one. */
static int room(struct packer *p, struct packed_piece **piece)
{
	if (!p->n || p->pieces[p->n - 1].bytes == PIECE_BYTES) {
		if (p->n * PIECE_BYTES >= p->room)
			return -EFBIG;
		if (!GROW(p->pieces, p->n))
			return -ENOMEM;
		p->pieces[p->n] = (struct packed_piece){ .data = malloc(PIECE_BYTES) };
		if (!p->pieces[p->n].data)
			return -ENOMEM;
		p->n++;
	}
	*piece = &p->pieces[p->n - 1];
	return 0;
}

/* Adds bytes; with none, brings the stream to its end. */
static int add(struct packer *p, size_t bytes)
{
	ZSTD_inBuffer in = { p->in, bytes, 0 };
	size_t more = 1;

	while (in.pos < bytes || (!bytes && more && p->stream)) {
		struct packed_piece *piece;
		ZSTD_outBuffer out;
		int err = room(p, &piece);

		if (err)
			return err;
		out = (ZSTD_outBuffer){ piece->data, PIECE_BYTES, piece->bytes };
		if (p->stream) {
			more = ZSTD_compressStream2(p->stream, &out, &in, bytes ? ZSTD_e_continue : ZSTD_e_end);
			if (ZSTD_isError(more))
				return -ENOMEM;
		} else {
			size_t now = bytes - in.pos < out.size - out.pos ? bytes - in.pos : out.size - out.pos;

			memcpy(piece->data + out.pos, p->in + in.pos, now);
			in.pos += now;
			out.pos += now;
		}
		piece->bytes = out.pos;
	}
	return 0;
}

enum packing packing_of(const void *begin, size_t bytes)
{
	static const struct {
		size_t length;
		const char *bytes;
	} magic[] = { [GZIP] = { 3, "\x1f\x8b\x08" }, [XZ] = { 6, "\xfd\x37zXZ" }, [ZSTD] = { 4, "\x28\xb5\x2f\xfd" } };

	for (enum packing p = GZIP; p <= ZSTD; p++)
		if (bytes >= magic[p].length && !memcmp(begin, magic[p].bytes, magic[p].length))
			return p;
	return PLAIN;
}

static ssize_t take(struct packer *p)
{
	uint64_t most = p->most, left = most > p->taken ? most - p->taken : 0;
	ssize_t got = left ? read(p->fd, p->in, left < IN_BYTES ? left : IN_BYTES) : 0;

	p->taken += got > 0 ? (uint64_t)got : 0;
	return got;
}

static void *pack(void *arg)
{
	struct packer *p = arg;
	ssize_t got = take(p);

	if (got > 0 && packing_of(p->in, (size_t)got) == PLAIN) {
		p->stream = ZSTD_createCCtx();
		if (!p->stream)
			p->err = -ENOMEM;
		else
			ZSTD_CCtx_setParameter(p->stream, ZSTD_c_compressionLevel, 1);
	}
	while (!p->err && got > 0) {
		p->err = add(p, (size_t)got);
		got = take(p);
	}
	if (got < 0)
		p->err = -errno;
	if (!p->err)
		p->err = add(p, 0);
	return NULL;
}

struct packer *packer_begin(int fd)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = fd;
	p->most = LIST_TEXT_MOST;
	p->room = memory_half(LIST_PACKED_MOST);
	p->running = !pthread_create(&p->thread, NULL, pack, p);
	if (!p->running)
		pack(p);
	return p;
}

void packer_most(struct packer *packer, uint64_t bytes)
{
	packer->most = bytes;
}

static void join(struct packer *p)
{
	if (p->running)
		pthread_join(p->thread, NULL);
	p->running = false;
}

int packer_end(struct packer *packer, const struct packed_piece **pieces, size_t *n)
{
	char text[BYTES_TEXT_MAX];

	join(packer);
	*pieces = packer->pieces;
	*n = packer->n;
	if (err_is(packer->err, EFBIG))
		return because(-EFBIG, "keeping the list's text: it takes more than %s, the most that is kept of it",
			       bytes_text(text, packer->room));
	return packer->err ? because(packer->err, "keeping the list's text: %s", errno_text(packer->err)) : 0;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	packer_most(packer, 0);
	join(packer);
	for (size_t i = 0; i < packer->n; i++)
		free(packer->pieces[i].data);
	ZSTD_freeCCtx(packer->stream);
	free(packer->pieces);
	free(packer);
}
