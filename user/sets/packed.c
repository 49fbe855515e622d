// SPDX-License-Identifier: GPL-2.0-only
#include "sets/packed.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zstd.h>

#include "base/clock.h"

/* --- The head --- */

/* Takes "WORD VALUE\n"; false where it is another line, or the value has not so many characters. */
static bool take_line(const char **at, const char *end, const char *word, char *value, size_t length)
{
	size_t n = strlen(word);
	const char *from = *at + n + 1;

	if ((size_t)(end - *at) < n + length + 2 || memcmp(*at, word, n) != 0 || (*at)[n] != ' ' ||
	    from[length] != '\n')
		return false;
	memcpy(value, from, length);
	value[length] = '\0';
	*at = from + length + 1;
	return true;
}

static bool is_sum(const char *text)
{
	return strspn(text, "0123456789abcdef") == SHA256_TEXT - 1;
}

size_t packed_head_read(struct packed_head *head, const char *text, size_t bytes, const char **why)
{
	const char *at = text, *end = text + (bytes < PACKED_HEAD_MAX ? bytes : PACKED_HEAD_MAX);
	char version[2];

	*head = (struct packed_head){ 0 };
	*why = NULL;
	if (bytes < strlen(PACKED_BEGINS) || memcmp(text, PACKED_BEGINS, strlen(PACKED_BEGINS)) != 0)
		return 0;
	if (!take_line(&at, end, "xdp-bloom set", version, 1) || strcmp(version, PACKED_VERSION) != 0) {
		*why = "a packed list of a version that this xdp-bloom does not know";
		return 0;
	}
	if (!take_line(&at, end, "time", head->time, strlen("2026-01-01T00:00:00Z")) ||
	    !take_line(&at, end, "sha256", head->sum, SHA256_TEXT - 1) || !is_sum(head->sum) ||
	    (take_line(&at, end, "from", head->from, SHA256_TEXT - 1) && !is_sum(head->from)) || at >= end ||
	    *at++ != '\n') {
		*why = "a packed list whose head is damaged";
		return 0;
	}
	return (size_t)(at - text);
}

bool packed_is_change(int fd)
{
	char text[PACKED_HEAD_MAX];
	struct packed_head head;
	const char *why;
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && packed_head_read(&head, text, (size_t)got, &why) && head.from[0];
}

/* --- The sum --- */

#define SUM_NUMBER(sum, number)                                                   \
	do {                                                                      \
		__typeof__(number) rest_ = (number);                              \
		for (; rest_ >= 0x80; rest_ >>= 7)                                \
			(sum)->bytes[(sum)->n++] = (unsigned char)(rest_ | 0x80); \
		(sum)->bytes[(sum)->n++] = (unsigned char)rest_;                  \
	} while (0)

/* What a range takes at most: two numbers of 128 bits. */
#define SUMMED_MAX (2 * 19)

void packed_sum_begin(struct packed_sum *sum)
{
	*sum = (struct packed_sum){ 0 };
	sha256_begin(&sum->sha);
}

static void flush(struct packed_sum *sum)
{
	sha256_add(&sum->sha, sum->bytes, sum->n);
	sum->n = 0;
}

void packed_sum_add4(struct packed_sum *sum, uint32_t lo, uint32_t hi)
{
	sum->n4++;
	SUM_NUMBER(sum, lo - (uint32_t)sum->next);
	SUM_NUMBER(sum, hi - lo);
	sum->next = PACKED_NEXT((uint64_t)hi);
	if (sum->n > sizeof(sum->bytes) - SUMMED_MAX)
		flush(sum);
}

void packed_sum_add6(struct packed_sum *sum, ip6 lo, ip6 hi)
{
	if (!sum->n6++)
		sum->next = 0;
	SUM_NUMBER(sum, lo - sum->next);
	SUM_NUMBER(sum, hi - lo);
	sum->next = PACKED_NEXT(hi);
	if (sum->n > sizeof(sum->bytes) - SUMMED_MAX)
		flush(sum);
}

void packed_sum_end(struct packed_sum *sum, char text[SHA256_TEXT])
{
	const uint64_t counts[] = { htole64(sum->n4), htole64(sum->n6) };

	flush(sum);
	sha256_add(&sum->sha, counts, sizeof(counts));
	sha256_end(&sum->sha, text);
}

void packed_sum(const struct ranges *set, char text[SHA256_TEXT])
{
	struct packed_sum sum;

	packed_sum_begin(&sum);
	for (size_t i = 0; i < set->n4; i++)
		packed_sum_add4(&sum, set->v4[i].lo, set->v4[i].hi);
	for (size_t i = 0; i < set->n6; i++)
		packed_sum_add6(&sum, set->v6[i].lo, set->v6[i].hi);
	packed_sum_end(&sum, text);
}

/* --- Writing --- */

/*
 * zstd makes its tables for megabytes, and fills them first, where it is not told how much there will be. What is so
 * small is gone through twice.
 */
#define COUNTED_MOST (1 << 18)

struct writing {
	int fd;
	ZSTD_CCtx *zstd; /* NULL: it is counted only */
	uint64_t counted;
	uint32_t kind, n;
	ip6 next; /* what the next gap counts from */
	ip6 gaps[PACKED_BLOCK], lengths[PACKED_BLOCK];
	unsigned char bytes[PACKED_BLOCK], out[PACKED_BLOCK];
};

static int put(int fd, const void *data, size_t bytes)
{
	const char *from = data;

	while (bytes) {
		ssize_t done = write(fd, from, bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		from += done;
		bytes -= (size_t)done;
	}
	return 0;
}

/* A frame's blocks end here, so that each kind of bytes has statistics of its own. */
static int squeeze(struct writing *w, const void *data, size_t bytes, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, bytes, 0 };
	size_t more = 1;
	int err = 0;

	if (!w->zstd) {
		w->counted += bytes;
		return 0;
	}
	while (!err && more) {
		ZSTD_outBuffer out = { w->out, sizeof(w->out), 0 };

		more = ZSTD_compressStream2(w->zstd, &out, &in, how);
		err = ZSTD_isError(more) ? -ENOMEM : put(w->fd, w->out, out.pos);
	}
	return err;
}

static uint32_t bytes_of(const ip6 *numbers, uint32_t n)
{
	uint32_t there = 0;
	ip6 all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= numbers[i];
	for (unsigned int i = 0; i < sizeof(ip6); i++)
		there |= (uint32_t)(all >> 8 * i & 0xff ? 1 : 0) << i;
	return there;
}

static int put_numbers(struct writing *w, const ip6 *numbers, uint32_t there)
{
	int err = 0;

	for (unsigned int byte = sizeof(ip6); byte-- && !err;) {
		if (!(there >> byte & 1))
			continue;
		for (uint32_t i = 0; i < w->n; i++)
			w->bytes[i] = (unsigned char)(numbers[i] >> 8 * byte);
		err = squeeze(w, w->bytes, w->n, ZSTD_e_flush);
	}
	return err;
}

static int put_block(struct writing *w)
{
	uint32_t gaps = bytes_of(w->gaps, w->n), lengths = bytes_of(w->lengths, w->n);
	struct packed_block block = { htole32(w->kind), htole32(w->n), htole32(gaps), htole32(lengths) };
	int err;

	if (!w->n)
		return 0;
	err = squeeze(w, &block, sizeof(block), ZSTD_e_flush) ?:
	      put_numbers(w, w->gaps, gaps) ?:
	      put_numbers(w, w->lengths, lengths);
	w->n = 0;
	return err;
}

static int begin_kind(struct writing *w, uint32_t kind)
{
	int err = put_block(w);

	w->kind = kind;
	w->next = 0;
	return err;
}

static int put_number(struct writing *w, ip6 lo, ip6 hi, ip6 next)
{
	w->gaps[w->n] = lo - w->next;
	w->lengths[w->n++] = hi - lo;
	w->next = next;
	return w->n == PACKED_BLOCK ? put_block(w) : 0;
}

/* In order, what `b` has not; of it either the place or the range is told. */
#define PUT_OTHERS(w, a, a_n, b, b_n, place, err)                                                      \
	for (size_t i_ = 0, j_ = 0; i_ < (a_n) && !(err); i_++) {                                      \
		while (j_ < (b_n) && (b)[j_].lo < (a)[i_].lo)                                          \
			j_++;                                                                          \
		if (j_ < (b_n) && (b)[j_].lo == (a)[i_].lo && (b)[j_].hi == (a)[i_].hi)                \
			continue;                                                                      \
		(err) = (place) ? put_number(w, i_, i_, i_ + 1)                                        \
				: put_number(w, (a)[i_].lo, (a)[i_].hi, PACKED_NEXT((ip6)(a)[i_].hi)); \
	}

static int put_all(struct writing *w, const struct ranges *set, const struct ranges *from)
{
	const struct packed_block end = { PACKED_END, 0, 0, 0 };
	int err = begin_kind(w, PACKED_GONE4);

	PUT_OTHERS(w, from->v4, from->n4, set->v4, set->n4, true, err);
	err = err ?: begin_kind(w, PACKED_NEW4);
	PUT_OTHERS(w, set->v4, set->n4, from->v4, from->n4, false, err);
	err = err ?: begin_kind(w, PACKED_GONE6);
	PUT_OTHERS(w, from->v6, from->n6, set->v6, set->n6, true, err);
	err = err ?: begin_kind(w, PACKED_NEW6);
	PUT_OTHERS(w, set->v6, set->n6, from->v6, from->n6, false, err);
	return err ?: put_block(w) ?: squeeze(w, &end, sizeof(end), ZSTD_e_end);
}

static int put_whole(struct writing *w, const char *head, int bytes, const struct ranges *set,
		     const struct ranges *from)
{
	return squeeze(w, head, (size_t)bytes, ZSTD_e_flush) ?: put_all(w, set, from);
}

int packed_write(int fd, const struct ranges *set, const struct ranges *from, int level)
{
	static const struct ranges nothing = { 0 };
	struct writing *w = calloc(1, sizeof(*w));
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	char head[PACKED_HEAD_MAX], sum[SHA256_TEXT], now[UTC_TEXT_MAX];
	int err = -ENOMEM, n;

	if (!w || !zstd)
		goto out;
	w->fd = fd;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	packed_sum(set, sum);
	n = snprintf(head, sizeof(head), PACKED_BEGINS PACKED_VERSION "\ntime %s\nsha256 %s\n",
		     utc_text(now, time(NULL)), sum);
	if (from) {
		packed_sum(from, sum);
		n += snprintf(head + n, sizeof(head) - (size_t)n, "from %s\n", sum);
	} else {
		from = &nothing;
	}
	n += snprintf(head + n, sizeof(head) - (size_t)n, "\n");
	if (set->n4 + set->n6 + from->n4 + from->n6 < COUNTED_MOST) {
		put_whole(w, head, n, set, from);
		ZSTD_CCtx_setPledgedSrcSize(zstd, w->counted);
	}
	w->zstd = zstd;
	err = put(fd, head, (size_t)n) ?: put_whole(w, head, n, set, from);
out:
	ZSTD_freeCCtx(zstd);
	free(w);
	return err;
}
