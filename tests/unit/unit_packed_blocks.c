// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed lists that are in order for zstd, and whose blocks say what no list says: at the bounds of each number, and of
 * what is there before a change. Nothing of them has the sum of its head: who says so has believed all blocks.
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <zstd.h>

/* What the kernel takes at once, and which call is interrupted, or fails. */
static size_t at_once = SIZE_MAX;
static unsigned int writes, write_fails;
static int write_errno;

static ssize_t given_write(int fd, const void *data, size_t bytes)
{
	if (++writes == write_fails) {
		errno = write_errno;
		return -1;
	}
	return write(fd, data, bytes < at_once ? bytes : at_once);
}

#define write	 given_write
#define time(to) 1800000000
#include "base/log.h"
#include "sets/packed.c"
#undef write
#undef time

#include "sets/reader.h"

#include "ktap.h"

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

#define MANY	 (PACKED_BLOCK + 1)
#define DAMAGED	 "a packed list that is damaged, or ends too early"
#define BELIEVED "what it holds has another SHA-256 than its head says"
#define SUM	 "0000000000000000000000000000000000000000000000000000000000000000"

/* Of each number the bytes that are there, the highest first; of several numbers side by side. */
struct block {
	uint32_t kind, n, gaps, lengths;
	const char *bytes;
	size_t bytes_n;
};
#define BYTES(text) text, sizeof(text) - 1
#define NEW4(n, gaps, lengths, text)                                  \
	{                                                             \
		PACKED_NEW4, n, gaps, lengths, text, sizeof(text) - 1 \
	}
#define NEW6(n, gaps, lengths, text)                                  \
	{                                                             \
		PACKED_NEW6, n, gaps, lengths, text, sizeof(text) - 1 \
	}
#define GONE4(n, gaps, lengths, text)                                  \
	{                                                              \
		PACKED_GONE4, n, gaps, lengths, text, sizeof(text) - 1 \
	}
#define GONE6(n, gaps, lengths, text)                                  \
	{                                                              \
		PACKED_GONE6, n, gaps, lengths, text, sizeof(text) - 1 \
	}
#define END                                \
	{                                  \
		PACKED_END, 0, 0, 0, "", 0 \
	}
#define END_(n, gaps, lengths)                      \
	{                                           \
		PACKED_END, n, gaps, lengths, "", 0 \
	}
#define FF14 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
#define FF15 FF14 "\xff"

static char text[1 << 20], whole[2 << 20];

static size_t put_made(char *to, const struct block *b)
{
	struct packed_block head = { htole32(b->kind), htole32(b->n), htole32(b->gaps), htole32(b->lengths) };

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), b->bytes, b->bytes_n);
	return sizeof(head) + b->bytes_n;
}

/* The file, up to its END, with what is to stand behind that in it; before: what it is a change of. */
static int file_of(const struct block *blocks, const struct ranges *before, const char *head_again, const char *behind)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	char head[PACKED_HEAD_MAX], from[SHA256_TEXT];
	size_t n, all;

	if (before)
		packed_sum(before, from);
	n = (size_t)snprintf(head, sizeof(head),
			     PACKED_BEGINS PACKED_VERSION "\ntime 2026-01-01T00:00:00Z\nsha256 " SUM "\n%s%s%s\n",
			     before ? "from " : "", before ? from : "", before ? "\n" : "");
	memcpy(whole, head, n);
	memcpy(text, head_again ?: head, n);
	all = n;
	do
		all += put_made(text + all, blocks);
	while (blocks++->kind != PACKED_END);
	all += (size_t)sprintf(text + all, "%s", behind);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n += ZSTD_compress2(zstd, whole + n, sizeof(whole) - n, text, all);
	ZSTD_freeCCtx(zstd);
	NEEDED(fd >= 0 && write(fd, whole, n) == (ssize_t)n);
	return fd;
}

static void is(const char *name, int fd, const struct ranges *before, const char *wanted)
{
	struct reader_options options = { .name = "packed", .before = before };
	struct ranges set = RANGES_EMPTY;
	struct reader_report report;
	char path[64], error[READER_TEXT_MAX] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	NEEDED(reader_read(path, &options, &set, &report, error));
	CHECK(strstr(error, wanted), "%s: '%s'", name, error);
	ranges_free(&set);
	close(fd);
}

static const struct {
	const char *name;
	bool good;
	struct block blocks[4];
} whole_lists[] = {
	{ "nothing", true, { END } },
	{ "an end with a number", false, { END_(1, 0, 0) } },
	{ "an end with gaps", false, { END_(0, 1, 0) } },
	{ "an end with lengths", false, { END_(0, 0, 1) } },
	{ "one", true, { NEW4(1, 1, 1, "\1\2"), END } },
	{ "one IPv6", true, { NEW6(1, 1, 1, "\1\2"), END } },
	{ "a kind that there is not", false, { { PACKED_NEW6 + 1, 1, 1, 1, BYTES("\1\2") }, END } },
	{ "a block of none", false, { NEW4(0, 0, 0, ""), END } },
	{ "the largest block", true, { NEW4(PACKED_BLOCK, 0, 0, ""), END } },
	{ "a block that is too large", false, { NEW4(MANY, 0, 0, ""), END } },
	{ "two of a kind", true, { NEW4(1, 0, 0, ""), NEW4(1, 0, 0, ""), END } },
	{ "IPv4 behind IPv6", false, { NEW6(1, 0, 0, ""), NEW4(1, 0, 0, ""), END } },
	{ "gaps of four bytes", true, { NEW4(1, 15, 0, "\1\1\1\1"), END } },
	{ "gaps of five bytes", false, { NEW4(1, 16, 0, "\1"), END } },
	{ "lengths of five bytes", false, { NEW4(1, 1, 16, "\1\1"), END } },
	{ "gaps of sixteen bytes", true, { NEW6(1, 0xffff, 0, "\1" FF15), END } },
	{ "gaps of seventeen bytes", false, { NEW6(1, 0x10000, 0, "\1"), END } },
	{ "up to the last address", true, { NEW4(1, 15, 1, "\xff\xff\xff\xfe\1"), END } },
	{ "beyond the last address", false, { NEW4(1, 15, 1, "\xff\xff\xff\xfe\2"), END } },
	{ "two up to the last address", true, { NEW4(2, 15, 0, "\xff\0\xff\0\xff\0\xfd\0"), END } },
	{ "two beyond the last address", false, { NEW4(2, 15, 0, "\xff\0\xff\0\xff\0\xfe\0"), END } },
	{ "IPv6 up to the last address", true, { NEW6(1, 0xffff, 1, FF15 "\xfe\1"), END } },
	{ "IPv6 beyond the last address", false, { NEW6(1, 0xffff, 1, FF15 "\xfe\2"), END } },
	{ "one behind the last but two", true, { NEW6(1, 0xffff, 0, FF15 "\xfd"), NEW6(1, 0, 0, ""), END } },
	{ "one behind the last but one", false, { NEW6(1, 0xffff, 0, FF15 "\xfe"), NEW6(1, 0, 0, ""), END } },
	{ "one behind the last", false, { NEW6(1, 0xffff, 0, FF15 "\xff"), NEW6(1, 0, 0, ""), END } },
	{ "a gap once around", false, { NEW6(1, 0, 1, "\4"), NEW6(1, 0xffff, 0, FF15 "\xfb"), END } },
	{ "a gap to the last address", true, { NEW6(1, 0, 1, "\4"), NEW6(1, 0xffff, 0, FF15 "\xf9"), END } },
	{ "gone, of nothing", false, { GONE4(1, 0, 0, ""), END } },
	{ "IPv6 gone, of nothing", false, { GONE6(1, 0, 0, ""), END } },
};

static void whole_ones(void)
{
	for (size_t i = 0; i < sizeof(whole_lists) / sizeof(*whole_lists); i++)
		is(whole_lists[i].name, file_of(whole_lists[i].blocks, NULL, NULL, ""), NULL,
		   whole_lists[i].good ? BELIEVED : DAMAGED);
}

/* Of 10 to 19, 30 and 50, of each family. */
static const struct {
	const char *name;
	bool good;
	struct block blocks[4];
} changes[] = {
	{ "nothing changes", true, { END } },
	{ "the last is gone", true, { GONE4(1, 1, 0, "\2"), END } },
	{ "one that is not there is gone", false, { GONE4(1, 1, 0, "\3"), END } },
	{ "all are gone", true, { GONE4(3, 0, 0, ""), END } },
	{ "one more than all is gone", false, { GONE4(4, 0, 0, ""), END } },
	{ "one is gone with a length", false, { GONE4(1, 1, 1, "\1\1"), END } },
	{ "all of IPv6 are gone", true, { GONE6(3, 0, 0, ""), END } },
	{ "one more than all of IPv6", false, { GONE6(4, 0, 0, ""), END } },
	{ "IPv6 is gone with a length", false, { GONE6(1, 1, 1, "\1\1"), END } },
	{ "gone behind what is new", false, { NEW4(1, 0, 0, ""), GONE4(1, 0, 0, ""), END } },
	{ "one in front", true, { NEW4(1, 0, 1, "\x08"), END } },
	{ "one that touches what follows", false, { NEW4(1, 0, 1, "\x09"), END } },
	{ "one that touches what follows, and IPv6", false, { NEW4(1, 0, 1, "\x09"), NEW6(1, 0, 0, ""), END } },
	{ "one that touches what follows, which is gone", true, { GONE4(1, 0, 0, ""), NEW4(1, 0, 1, "\x09"), END } },
	{ "one behind", true, { NEW4(1, 1, 0, "\x15"), END } },
	{ "one that touches what is before it", false, { NEW4(1, 1, 0, "\x14"), END } },
	{ "one within", false, { NEW4(1, 1, 0, "\x0b"), END } },
	{ "the same once more", false, { NEW4(1, 1, 0, "\x32"), END } },
	{ "one behind the last of before", true, { NEW4(1, 1, 0, "\x34"), END } },
	{ "IPv6 in front", true, { NEW6(1, 0, 1, "\x08"), END } },
	{ "IPv6 that touches what follows", false, { NEW6(1, 0, 1, "\x09"), END } },
	{ "IPv6 that touches what is gone", true, { GONE6(1, 0, 0, ""), NEW6(1, 0, 1, "\x09"), END } },
	{ "IPv6 behind", true, { NEW6(1, 1, 0, "\x15"), END } },
	{ "IPv6 that touches what is before it", false, { NEW6(1, 1, 0, "\x14"), END } },
	{ "IPv6 within", false, { NEW6(1, 1, 0, "\x0b"), END } },
	{ "the same of IPv6 once more", false, { NEW6(1, 1, 0, "\x32"), END } },
};

static void changed_ones(void)
{
	struct ranges before = RANGES_EMPTY;

	NEEDED(!ranges_add4(&before, 10, 19) && !ranges_add4(&before, 30, 30) && !ranges_add4(&before, 50, 50));
	NEEDED(!ranges_add6(&before, 10, 19) && !ranges_add6(&before, 30, 30) && !ranges_add6(&before, 50, 50));
	NEEDED(!ranges_finish(&before));
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		is(changes[i].name, file_of(changes[i].blocks, &before, NULL, ""), &before,
		   changes[i].good ? BELIEVED : DAMAGED);
	is("without what it changes", file_of(changes[0].blocks, &before, NULL, ""), NULL,
	   "a change of a list, not a list: load it over the list that it was made from");
	ranges_free(&before);
}

/* Its end stands in a frame of its own. */
static void in_two_frames(void)
{
	static const struct block all[] = { NEW4(1, 1, 1, "\1\2"), END };
	int fd = file_of(all, NULL, NULL, "");
	ssize_t n = pread(fd, whole, sizeof(whole), 0);
	size_t head = (size_t)(strstr(whole, "\n\n") + 2 - whole), plain = head + sizeof(struct packed_block) + 2;
	char frames[2000];

	NEEDED(n > 0 && ZSTD_decompress(text, sizeof(text), whole + head, (size_t)n - head) ==
				plain + sizeof(struct packed_block));
	for (size_t first = plain - 1; first <= plain; first++) {
		size_t one = ZSTD_compress(frames, sizeof(frames), text, first, 1),
		       two = ZSTD_compress(frames + one, sizeof(frames) - one, text + first,
					   plain + sizeof(struct packed_block) - first, 1);

		NEEDED(!ZSTD_isError(one) && !ZSTD_isError(two) && !ftruncate(fd, (off_t)head));
		NEEDED(pwrite(fd, frames, one + two, (off_t)head) == (ssize_t)(one + two));
		is("two frames", dup(fd), NULL, DAMAGED);
	}
	close(fd);
}

/* Behind the end and around it. */
static void ends(void)
{
	static const struct block none[] = { END };
	char head[PACKED_HEAD_MAX];
	int fd = file_of(none, NULL, NULL, "");
	off_t size = lseek(fd, 0, SEEK_END);

	NEEDED(pread(fd, head, sizeof(head), 0) > 0 && write(fd, "x", 1) == 1);
	is("a byte behind it", fd, NULL, DAMAGED);
	is("a byte behind its last block", file_of(none, NULL, NULL, "x"), NULL, DAMAGED);
	for (off_t less = 1; less < 24; less++) {
		fd = file_of(none, NULL, NULL, "");
		NEEDED(!ftruncate(fd, size - less));
		is("it ends too early", fd, NULL, DAMAGED);
	}
	strstr(head, "2026")[3] = '7';
	is("its time is another inside", file_of(none, NULL, head, ""), NULL, DAMAGED);
}

/* --- How it is written --- */

static int written(const struct ranges *set, const struct ranges *from, int *err)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	NEEDED(fd >= 0);
	writes = 0;
	*err = packed_write(fd, set, from, PACKED_QUICK);
	return fd;
}

static size_t bytes_of_file(int fd, char *to)
{
	ssize_t n = pread(fd, to, sizeof(whole), 0);

	NEEDED(n > 0);
	close(fd);
	return (size_t)n;
}

/* IPv6 that hardly packs: several times what goes out at once. */
static void each_write_fails(void)
{
	struct ranges set = RANGES_EMPTY, from = RANGES_EMPTY;
	unsigned int all;
	int err;

	for (unsigned int i = 0; i < 60000; i++) {
		ip6 first = (ip6)ktap_random() << 64 | ktap_random();

		NEEDED(!ranges_add6(i % 2 ? &set : &from, first, first) && !ranges_add_host(&from, 3 * i));
	}
	NEEDED(!ranges_finish(&set) && !ranges_finish(&from));
	close(written(&set, &from, &err));
	all = writes;
	CHECK(!err && all > 4, "%u calls", all);
	write_errno = EIO;
	for (write_fails = 1; write_fails <= all; write_fails++) {
		close(written(&set, &from, &err));
		CHECK(err_is(err, EIO) && writes == write_fails, "call %u of %u fails: %d, after %u", write_fails, all,
		      err, writes);
	}
	write_fails = 0;
	ranges_free(&set);
	ranges_free(&from);
}

/* zstd knows how much there will be, where it is little: of both lists and families together. */
static void how_much(void)
{
	for (unsigned int which = 0; which < 4; which++)
		for (uint32_t less = 0; less < 2; less++) {
			struct ranges set = RANGES_EMPTY, from = RANGES_EMPTY, *more = which % 2 ? &from : &set;
			unsigned long long is;
			int err = 0;

			NEEDED(!ranges_add4(&set, 0, 0) && !ranges_add6(&set, 0, 0) && !ranges_add4(&from, 0, 0) &&
			       !ranges_add6(&from, 0, 0));
			for (uint32_t i = 1; i < COUNTED_MOST - 3 - less && !err; i++)
				err = which < 2 ? ranges_add4(more, 2 * i, 2 * i) : ranges_add6(more, 2 * i, 2 * i);
			NEEDED(!err && !ranges_finish(&set) && !ranges_finish(&from));
			bytes_of_file(written(&set, &from, &err), whole);
			is = ZSTD_getFrameContentSize(strstr(whole, "\n\n") + 2, 1000);
			CHECK(!err && (is == ZSTD_CONTENTSIZE_UNKNOWN) == !less, "%u, %u less: %llu", which, less, is);
			ranges_free(&set);
			ranges_free(&from);
		}
}

static void bit_by_bit(void)
{
	static char other[sizeof(whole)];
	struct ranges set = RANGES_EMPTY;
	int err;
	size_t n;

	for (ip6 i = 0; i < 200; i++)
		NEEDED(!ranges_add6(&set, i << 100, i << 100) && !ranges_add_host(&set, (uint32_t)i << 9));
	NEEDED(!ranges_finish(&set));
	n = bytes_of_file(written(&set, NULL, &err), whole);
	CHECK(!err, "%s", reason(err));
	write_errno = EINTR;
	for (at_once = 1; at_once < 2 * n; at_once = 2 * at_once + 1) {
		write_fails = 2;
		CHECK(bytes_of_file(written(&set, NULL, &err), other) == n && !err && !memcmp(whole, other, n),
		      "%zu bytes at once: another file", at_once);
	}
	at_once = SIZE_MAX;
	write_fails = 0;
	ranges_free(&set);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "lists", whole_ones },
		{ "changes", changed_ones },
		{ "in two frames", in_two_frames },
		{ "what stands at the end", ends },
		{ "written bit by bit", bit_by_bit },
		{ "each call that writes fails", each_write_fails },
		{ "how much there will be", how_much },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
