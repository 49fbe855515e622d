// SPDX-License-Identifier: GPL-2.0-only
/* Packed lists (packed.h), and changes of them. Nothing is taken whose sum is another than the head's. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/log.h"
#include "sets/packed.h"
#include "sets/reader_internal.h"

#define DAMAGED "a packed list that is damaged, or ends too early"

struct unpacking {
	struct reader *reader;
	struct packed_head head;
	ZSTD_DStream *zstd;
	uint64_t padding;
	struct packed_sum sum;
	bool ended;	 /* of the frame */
	uint32_t done;	 /* the last kind of block that was begun */
	uint64_t next;	 /* IPv4, places: the least that may follow */
	ip6 next6;	 /* IPv6 */
	bool full;	 /* nothing may follow */
	uint64_t least4; /* of what is given out: the least that may follow */
	ip6 least6;
	bool any6;
	/* A change: which of the ranges before are gone, and how many of these and of those have been met. */
	const struct ranges *before;
	uint32_t *gone;
	size_t gone_n, gone_at, before_at;
	unsigned char bytes[PACKED_BLOCK];
	uint32_t gaps[PACKED_BLOCK], lengths[PACKED_BLOCK];
	ip6 gaps6[PACKED_BLOCK], lengths6[PACKED_BLOCK];
};

static int damaged(const struct unpacking *u)
{
	return reader_fail(u->reader, -EBADMSG, DAMAGED);
}

/* Unpacks what is there. A frame may have blocks of nothing, and zeros are such. */
static int unpack_some(struct unpacking *u, ZSTD_outBuffer *out)
{
	struct reader *r = u->reader;
	ZSTD_inBuffer in = { r->buf, r->end, r->start };
	size_t before = out->pos, ret = ZSTD_decompressStream(u->zstd, out, &in);

	u->padding = out->pos > before ? 0 : u->padding + in.pos - r->start;
	if (ZSTD_isError(ret) || u->padding > READER_PADDING)
		return damaged(u);
	u->ended = !ret;
	r->start = in.pos;
	return 0;
}

/* So many bytes, or damaged. */
static int unpack(struct unpacking *u, void *to, size_t bytes)
{
	ZSTD_outBuffer out = { to, bytes, 0 };
	struct reader *r = u->reader;

	while (out.pos < bytes) {
		size_t before = out.pos, start = r->start;
		int err = u->ended ? damaged(u) : unpack_some(u, &out);

		if (err)
			return err;
		if (r->start == start && out.pos == before) {
			int got = reader_fill(r);

			if (got <= 0)
				return got ?: damaged(u);
			reader_progress(r);
		}
	}
	return 0;
}

#define UNPACK_NUMBERS(name, type)                                                 \
	static int name(struct unpacking *u, type *to, uint32_t n, uint32_t there) \
	{                                                                          \
		int err = there >> sizeof(*to) ? damaged(u) : 0;                   \
                                                                                   \
		memset(to, 0, n * sizeof(*to));                                    \
		for (unsigned int byte = sizeof(*to); byte-- && !err;) {           \
			if (!(there >> byte & 1))                                  \
				continue;                                          \
			err = unpack(u, u->bytes, n);                              \
			for (uint32_t i = 0; i < n; i++)                           \
				to[i] |= (type)u->bytes[i] << 8 * byte;            \
		}                                                                  \
		return err;                                                        \
	}

/* IPv4 has a loop of its own, which is four times as narrow. */
UNPACK_NUMBERS(unpack_numbers, uint32_t)
UNPACK_NUMBERS(unpack_numbers6, ip6)

/* --- What is given out: in order, none adjacent to the one before --- */

static int give4(struct unpacking *u, uint64_t lo, uint64_t hi)
{
	struct item item = { .family = 4, .kind = ITEM_PREFIX, .lo = lo, .hi = hi };

	if (lo < u->least4 || hi > UINT32_MAX)
		return damaged(u);
	u->least4 = PACKED_NEXT(hi);
	packed_sum_add4(&u->sum, (uint32_t)lo, (uint32_t)hi);
	u->reader->line++;
	return reader_add(u->reader, &item);
}

static int give6(struct unpacking *u, ip6 lo, ip6 hi)
{
	struct item item = { .family = 6, .kind = ITEM_PREFIX, .lo = lo, .hi = hi };

	if (u->any6 && (lo < u->least6 || u->least6 < 2))
		return damaged(u);
	u->any6 = true;
	u->least6 = PACKED_NEXT(hi);
	packed_sum_add6(&u->sum, lo, hi);
	u->reader->line++;
	return reader_add(u->reader, &item);
}

static bool next_is_gone(struct unpacking *u)
{
	bool is = u->gone_at < u->gone_n && u->gone[u->gone_at] == u->before_at;

	u->gone_at += is;
	return is;
}

/* What was there before, and stays, up to this address. */
static int give_before4(struct unpacking *u, uint64_t to)
{
	const struct ranges *b = u->before;
	int err = 0;

	for (; !err && b && u->before_at < b->n4 && b->v4[u->before_at].lo < to; u->before_at++)
		if (!next_is_gone(u))
			err = give4(u, b->v4[u->before_at].lo, b->v4[u->before_at].hi);
	return err;
}

static int give_before6(struct unpacking *u, ip6 to, bool all)
{
	const struct ranges *b = u->before;
	int err = 0;

	for (; !err && b && u->before_at < b->n6 && (all || b->v6[u->before_at].lo < to); u->before_at++)
		if (!next_is_gone(u))
			err = give6(u, b->v6[u->before_at].lo, b->v6[u->before_at].hi);
	return err;
}

/* --- Blocks --- */

static int take_gone(struct unpacking *u, uint32_t n, size_t most)
{
	for (uint32_t i = 0; i < n; i++) {
		u->next += u->gaps[i];
		if (u->lengths[i] || u->next >= most)
			return damaged(u);
		u->gone[u->gone_n++] = (uint32_t)u->next++;
	}
	return 0;
}

static int take_new4(struct unpacking *u, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t lo = u->next + u->gaps[i], hi = lo + u->lengths[i];

		err = reader_work(u->reader) ?: give_before4(u, lo) ?: give4(u, lo, hi);
		u->next = PACKED_NEXT(hi);
	}
	return err;
}

static int take_new6(struct unpacking *u, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		ip6 lo = u->next6 + u->gaps6[i], hi = lo + u->lengths6[i];

		if (u->full || lo < u->next6 || hi < lo)
			return damaged(u);
		err = reader_work(u->reader) ?: give_before6(u, lo, false) ?: give6(u, lo, hi);
		u->next6 = PACKED_NEXT(hi);
		u->full = u->next6 < 2;
	}
	return err;
}

static int begin_gone(struct unpacking *u, size_t most)
{
	free(u->gone);
	u->gone = most ? malloc(most * sizeof(*u->gone)) : NULL;
	u->gone_n = u->gone_at = u->before_at = 0;
	return most && !u->gone ? reader_fail(u->reader, -ENOMEM, strerror(ENOMEM)) : 0;
}

/* Kinds come in order, and each has an end, whether it had a block or not. */
static int begin_kind(struct unpacking *u, uint32_t kind)
{
	size_t most4 = u->before ? u->before->n4 : 0, most6 = u->before ? u->before->n6 : 0;
	int err = 0;

	while (u->done < kind && !err) {
		u->next = 0;
		u->next6 = 0;
		if (u->done == PACKED_NEW4)
			err = give_before4(u, UINT64_MAX);
		u->done++;
		if (!err && u->done == PACKED_GONE4)
			err = begin_gone(u, most4);
		else if (!err && u->done == PACKED_GONE6)
			err = begin_gone(u, most6);
	}
	return err;
}

static int take_block(struct unpacking *u, const struct packed_block *b)
{
	size_t most;
	int err;

	if (b->kind < u->done || b->kind > PACKED_NEW6 || !b->n || b->n > PACKED_BLOCK)
		return damaged(u);
	err = begin_kind(u, b->kind);
	if (err)
		return err;
	if (b->kind == PACKED_NEW6)
		return unpack_numbers6(u, u->gaps6, b->n, b->gaps) ?:
		       unpack_numbers6(u, u->lengths6, b->n, b->lengths) ?:
		       take_new6(u, b->n);
	err = unpack_numbers(u, u->gaps, b->n, b->gaps) ?: unpack_numbers(u, u->lengths, b->n, b->lengths);
	if (err)
		return err;
	if (b->kind == PACKED_NEW4)
		return take_new4(u, b->n);
	most = !u->before ? 0 : b->kind == PACKED_GONE4 ? u->before->n4 : u->before->n6;
	return take_gone(u, b->n, most);
}

static int take_blocks(struct unpacking *u)
{
	struct packed_block b = { 0 };
	int err;

	do {
		err = unpack(u, &b, sizeof(b));
		if (err)
			return err;
		b = (struct packed_block){ le32toh(b.kind), le32toh(b.n), le32toh(b.gaps), le32toh(b.lengths) };
		err = b.kind == PACKED_END ? b.n || b.gaps || b.lengths ? damaged(u) : 0 : take_block(u, &b);
	} while (!err && b.kind != PACKED_END);
	return err ?: begin_kind(u, PACKED_NEW6) ?: give_before6(u, 0, true);
}

/* zstd's own sum stands behind the last block, and nothing behind that. */
static int nothing_follows(struct unpacking *u)
{
	struct reader *r = u->reader;
	char none;
	int got = 1;

	while (!u->ended && got > 0) {
		ZSTD_outBuffer out = { &none, 1, 0 };
		int err = unpack_some(u, &out);

		if (err || out.pos)
			return err ?: damaged(u);
		if (!u->ended && r->start == r->end)
			got = reader_fill(r);
	}
	if (got > 0 && r->start == r->end)
		got = reader_fill(r);
	return got < 0 ? got : !u->ended || r->start < r->end ? damaged(u) : 0;
}

/* What a change is made of: the list before as it was; where it is what the change makes already, that is all. */
static int take_change(struct unpacking *u, bool *is_there)
{
	const struct ranges *before = u->reader->options->before;
	char sum[SHA256_TEXT];

	if (!before)
		return reader_fail(u->reader, -EINVAL,
				   "a change of a list, not a list: load it over the list that it was made from");
	packed_sum(before, sum);
	*is_there = !strcmp(sum, u->head.sum);
	if (!*is_there && strcmp(sum, u->head.from) != 0)
		return reader_fail(
			u->reader, -ESTALE,
			"a change of another version than the one that is loaded: load the list whole, once");
	u->before = before;
	return 0;
}

static int take_head(struct unpacking *u)
{
	struct reader *r = u->reader;
	char head[PACKED_HEAD_MAX], again[PACKED_HEAD_MAX];
	const char *why = NULL;
	size_t bytes = packed_head_read(&u->head, r->buf + r->start, r->end - r->start, &why);
	int err;

	if (!bytes)
		return reader_fail(r, -EINVAL, why ? why : "not a packed list, which begins 'xdp-bloom set 1'");
	memcpy(head, r->buf + r->start, bytes);
	r->start += bytes;
	err = unpack(u, again, bytes);
	return err ?: (memcmp(head, again, bytes) ? damaged(u) : 0);
}

static int take_all(struct unpacking *u)
{
	char sum[SHA256_TEXT];
	bool is_there = false;
	int err = take_head(u);

	if (!err && u->head.from[0])
		err = take_change(u, &is_there);
	if (err)
		return err;
	packed_sum_begin(&u->sum);
	if (is_there) {
		u->before = u->reader->options->before;
		err = give_before4(u, UINT64_MAX);
		u->before_at = 0;
		err = err ?: give_before6(u, 0, true);
		u->reader->start = u->reader->end;
	} else {
		err = take_blocks(u) ?: nothing_follows(u);
	}
	packed_sum_end(&u->sum, sum);
	if (!err && strcmp(sum, u->head.sum) != 0)
		err = reader_fail(u->reader, -EBADMSG, "what it holds has another SHA-256 than its head says");
	return err;
}

bool packed_begins(const char *text, size_t len)
{
	return len >= strlen(PACKED_BEGINS) && !memcmp(text, PACKED_BEGINS, strlen(PACKED_BEGINS));
}

int packed_stream(struct reader *reader)
{
	struct unpacking *u = calloc(1, sizeof(*u));
	ZSTD_DStream *zstd = ZSTD_createDStream();
	int err;

	if (u && zstd) {
		u->reader = reader;
		u->zstd = zstd;
		err = take_all(u);
		free(u->gone);
	} else {
		err = reader_fail(reader, -ENOMEM, strerror(ENOMEM));
	}
	ZSTD_freeDStream(zstd);
	free(u);
	return err;
}
