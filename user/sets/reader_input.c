// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/path_walk.h"
#include "base/compress.h"
#include "base/list_most.h"
#include "base/log.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"

/* What "xz -9" needs is 65 MiB; a file that asks for far more is not a list. */
#ifndef XZ_MEMORY_MAX
#define XZ_MEMORY_MAX ((uint64_t)256 << 20)
#endif

/* Lists pack to a third or a tenth; a small file that is made to fill a machine packs to a thousandth. */
#ifndef UNPACKED_MOST
#define UNPACKED_MOST ((uint64_t)1 << 30)
#endif
#define UNPACKED_TIMES 100

struct input {
	int fd;
	enum packing packing;
	bool fd_ended, ended;
	bool midway; /* inside a compressed frame: the file must not end here */
	uint64_t size, taken, unpacked, most;
	uint64_t padding; /* taken since there last was any text */
	char too_much[128];
	uint8_t *packed; /* as it lies in the file: [at, filled) waits to be unpacked */
	size_t at, filled;
	z_stream gzip;
	lzma_stream xz;
	ZSTD_DStream *zstd;
};

static int take(struct input *in, void *buf, size_t size, size_t *got, const char **reason)
{
	ssize_t n;

	do
		n = read(in->fd, buf, size);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		int err = -errno;

		*reason = errno_text(err);
		return err;
	}
	in->fd_ended = n == 0;
	in->taken += (uint64_t)n;
	*got = (size_t)n;
	if (in->taken > (in->packing == PLAIN ? LIST_TEXT_MOST : LIST_PACKED_MOST)) {
		*reason = in->packing == PLAIN ? "it has more than 16 GiB, and that is no list"
					       : "it has more than 1 GiB, packed, and that is no list";
		return -EFBIG;
	}
	return 0;
}

static int refill(struct input *in, const char **reason)
{
	int err;

	if (in->at < in->filled || in->fd_ended)
		return 0;
	in->at = 0;
	err = take(in, in->packed, READER_PACKED, &in->filled, reason);
	if (err)
		in->filled = 0;
	return err;
}

static int start_unpacking(struct input *in)
{
	in->midway = in->packing != PLAIN;
	switch (in->packing) {
	case GZIP:
		return inflateInit2(&in->gzip, 16 + MAX_WBITS) == Z_OK ? 0 : -ENOMEM;
	case XZ:
		return lzma_stream_decoder(&in->xz, XZ_MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK ? 0 : -ENOMEM;
	case ZSTD:
		in->zstd = ZSTD_createDStream();
		return in->zstd ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

int input_open(struct input **input, const char *path, const char **reason)
{
	struct input *in = calloc(1, sizeof(*in));
	struct stat st;
	int err = -ENOMEM;

	*input = NULL;
	*reason = strerror(ENOMEM);
	if (!in)
		return err;
	in->fd = strcmp(path, "-") ? way_open_named(path) : STDIN_FILENO;
	if (in->fd < 0) {
		err = in->fd;
		*reason = errno_text(err);
		input_close(in);
		return err;
	}
	if (!fstat(in->fd, &st) && S_ISREG(st.st_mode))
		in->size = (uint64_t)st.st_size;
	*input = in;
	return 0;
}

int input_begin(struct input *in, const char **reason)
{
	int err;

	*reason = strerror(ENOMEM);
	in->packed = malloc(READER_PACKED);
	if (!in->packed)
		return -ENOMEM;
	while (in->filled < PACKING_BYTES && !in->fd_ended) {
		size_t got = 0;

		err = take(in, in->packed + in->filled, READER_PACKED - in->filled, &got, reason);
		if (err)
			return err;
		in->filled += got;
	}
	in->packing = packing_of(in->packed, in->filled);
	err = start_unpacking(in);
	if (err)
		*reason = errno_text(err);
	return err;
}

void input_limit(struct input *in, uint64_t unpacked)
{
	in->most = unpacked;
}

static int gzip_step(struct input *in, uint8_t *out, size_t room, size_t *made, const char **reason)
{
	int ret;

	if (!in->midway) {
		/* Between two members; tapes pad the last one with zeros. */
		while (in->at < in->filled && !in->packed[in->at])
			in->at++;
		if (in->at == in->filled)
			return 0;
		inflateReset(&in->gzip);
		in->midway = true;
	}
	in->gzip.next_in = in->packed + in->at;
	in->gzip.avail_in = (uInt)(in->filled - in->at);
	in->gzip.next_out = out;
	in->gzip.avail_out = (uInt)room;
	ret = inflate(&in->gzip, Z_NO_FLUSH);
	in->at = in->filled - in->gzip.avail_in;
	*made = room - in->gzip.avail_out;
	if (ret == Z_STREAM_END)
		in->midway = false;
	else if (ret != Z_OK && ret != Z_BUF_ERROR) {
		*reason = "damaged gzip data";
		return -EBADMSG;
	}
	return 0;
}

static int xz_step(struct input *in, uint8_t *out, size_t room, size_t *made, const char **reason)
{
	lzma_ret ret;

	in->xz.next_in = in->packed + in->at;
	in->xz.avail_in = in->filled - in->at;
	in->xz.next_out = out;
	in->xz.avail_out = room;
	ret = lzma_code(&in->xz, in->fd_ended ? LZMA_FINISH : LZMA_RUN);
	in->at = in->filled - in->xz.avail_in;
	*made = room - in->xz.avail_out;
	if (ret == LZMA_STREAM_END) {
		in->midway = false;
		in->ended = true;
	} else if (ret == LZMA_MEMLIMIT_ERROR) {
		*reason = "xz data that takes more than 256 MiB to unpack";
		return -ENOMEM;
	} else if (ret != LZMA_OK && ret != LZMA_BUF_ERROR) {
		*reason = "damaged xz data";
		return -EBADMSG;
	}
	return 0;
}

static int zstd_step(struct input *in, uint8_t *out, size_t room, size_t *made, const char **reason)
{
	ZSTD_inBuffer from = { in->packed, in->filled, in->at };
	ZSTD_outBuffer to = { out, room, 0 };
	size_t ret;

	ret = ZSTD_decompressStream(in->zstd, &to, &from);
	*made = to.pos;
	if (ZSTD_isError(ret)) {
		*reason = "damaged zstd data, or data that takes more than 128 MiB to unpack";
		return -EBADMSG;
	}
	/* zstd says 0 once at the end of a frame: without progress the state stays. */
	if (from.pos != in->at || to.pos)
		in->midway = ret != 0;
	in->at = from.pos;
	return 0;
}

static int (*const unpack[])(struct input *in, uint8_t *out, size_t room, size_t *made, const char **reason) = {
	[GZIP] = gzip_step,
	[XZ] = xz_step,
	[ZSTD] = zstd_step,
};

static int check_unpacked(struct input *in, const char **reason)
{
	if (in->most && in->unpacked > in->most) {
		snprintf(in->too_much, sizeof(in->too_much),
			 "it unpacks to more than %" PRIu64 " bytes; 'tune --fetch-unpacked' sets how many it may",
			 in->most);
		*reason = in->too_much;
		return -EFBIG;
	}
	if (in->unpacked > LIST_TEXT_MOST) {
		*reason = "it unpacks to more than 16 GiB, and that is no list";
		return -EFBIG;
	}
	if (!in->most && in->unpacked > UNPACKED_MOST && in->unpacked / UNPACKED_TIMES > in->taken) {
		*reason = "it unpacks to more than 1 GiB, and to more than a hundred times its size: unpack it "
			  "first if that is right";
		return -EFBIG;
	}
	return 0;
}

static int check_padding(struct input *in, size_t used, size_t made, const char **reason)
{
	in->padding = made ? 0 : in->padding + used;
	if (in->padding <= READER_PADDING)
		return 0;
	*reason = "damaged: more than 4 MiB of it unpack to nothing";
	return -EBADMSG;
}

static int unpack_more(struct input *in, uint8_t *out, size_t room, size_t *made, const char **reason)
{
	int err = refill(in, reason);
	size_t at = in->at;

	err = err ?: unpack[in->packing](in, out, room, made, reason);
	if (err)
		return err;
	in->unpacked += *made;
	in->ended |= !*made && in->at == at && in->fd_ended;
	return check_unpacked(in, reason) ?: check_padding(in, in->at - at, *made, reason);
}

ssize_t input_read(struct input *in, void *buf, size_t size, const char **reason)
{
	size_t done = 0;
	int err;

	while (done < size && !in->ended) {
		size_t made = 0;

		if (in->packing == PLAIN) {
			made = in->filled - in->at < size - done ? in->filled - in->at : size - done;
			if (made) {
				memcpy((uint8_t *)buf + done, in->packed + in->at, made);
				in->at += made;
			} else {
				err = take(in, (uint8_t *)buf + done, size - done, &made, reason);
				if (err)
					return err;
				in->ended = in->fd_ended;
			}
		} else {
			err = unpack_more(in, (uint8_t *)buf + done, size - done, &made, reason);
			if (err)
				return err;
		}
		done += made;
	}
	if (in->ended && in->midway) {
		*reason = "the compressed data ends too early";
		return -EBADMSG;
	}
	return (ssize_t)done;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	inflateEnd(&in->gzip);
	lzma_end(&in->xz);
	ZSTD_freeDStream(in->zstd);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in->packed);
	free(in);
}

uint64_t input_taken(const struct input *in)
{
	return in->taken;
}

uint64_t input_at(const struct input *in)
{
	off_t at = lseek(in->fd, 0, SEEK_CUR);

	return at < 0 ? UINT64_MAX : (uint64_t)at;
}

double input_progress(const struct input *in)
{
	uint64_t at = in->size ? input_at(in) : UINT64_MAX;

	return at != UINT64_MAX ? (double)at / (double)in->size : -1;
}

int input_fd(const struct input *in)
{
	return in->fd;
}

void input_move(struct input *in, int fd)
{
	in->fd = fd;
}
