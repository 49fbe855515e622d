// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed lists: random sets, and changes from one to another, come back as they were; a change of another version is
 * refused; so is a file with any byte damaged, cut anywhere, or with something behind its end. And SHA-256, by what
 * FIPS 180-4 and its examples say.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sets/packed.h"
#include "sets/reader.h"

#include "ktap.h"

static uint32_t any(uint32_t below)
{
	return (uint32_t)(ktap_random() % below);
}

static uint32_t any32(void)
{
	return (uint32_t)ktap_random();
}

static ip6 any128(void)
{
	return (ip6)any32() << 96 | (ip6)any32() << 64 | (ip6)any32() << 32 | any32();
}

/* --- SHA-256 --- */

static const char *sum_of(const char *text, size_t times, size_t piece)
{
	static char sum[SHA256_TEXT];
	size_t length = strlen(text);
	struct sha256 s;

	sha256_begin(&s);
	for (; times; times--)
		for (size_t at = 0; at < length; at += piece)
			sha256_add(&s, text + at, piece < length - at ? piece : length - at);
	sha256_end(&s, sum);
	return sum;
}

static void sha256(void)
{
	static const struct {
		const char *text;
		size_t times;
		const char *sum;
	} known[] = {
		{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		for (size_t piece = 1; piece < 60; piece += 7) {
			const char *sum = sum_of(known[i].text, known[i].times, piece);

			CHECK(!strcmp(sum, known[i].sum), "%zu in pieces of %zu: %s", i, piece, sum);
		}
}

/* --- There and back --- */

static int packed(const struct ranges *set, const struct ranges *from)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	if (fd < 0 || packed_write(fd, set, from, any(2) ? PACKED_SMALL : PACKED_QUICK))
		abort();
	return fd;
}

static int unpacked(int fd, const struct ranges *before, struct ranges *set, char error[READER_TEXT_MAX])
{
	struct reader_options options = { .name = "packed", .before = before };
	struct reader_report report;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return reader_read(path, &options, set, &report, error);
}

/* Of each family none, few or many; single ones, wide ones, beside each other, at both ends. */
static struct ranges a_set(void)
{
	static const uint32_t amounts[] = { 0, 1, 3, 50, 2000 };
	struct ranges set = RANGES_EMPTY;
	uint32_t n = amounts[any(5)], near = any32();
	int err = 0;

	for (; n; n--) {
		uint32_t lo = any(2) ? any32() : near + any(4000), length = any(3) ? 0 : any32() >> any(32);

		err |= ranges_add4(&set, lo, lo > UINT32_MAX - length ? UINT32_MAX : lo + length);
	}
	for (n = amounts[any(5)]; n; n--) {
		ip6 lo = any(2) ? any128() >> 48 << 48 : any128() >> any(128), length = ((ip6)1 << any(100)) - 1;

		err |= ranges_add6(&set, lo, lo > ~(ip6)0 - length ? ~(ip6)0 : lo + length);
	}
	if (!any(4))
		err |= ranges_add4(&set, any(2) ? 0 : UINT32_MAX, UINT32_MAX);
	if (!any(4))
		err |= ranges_add6(&set, any(2) ? 0 : ~(ip6)0, ~(ip6)0);
	if (err || ranges_finish(&set))
		abort();
	return set;
}

/* Some of it, and of another. */
static struct ranges like(const struct ranges *of)
{
	struct ranges other = a_set(), set = RANGES_EMPTY;
	uint32_t part = any(4);
	int err = 0;

	for (size_t i = 0; i < of->n4; i++)
		err |= any(8) >= part ? ranges_add4(&set, of->v4[i].lo, of->v4[i].hi) : 0;
	for (size_t i = 0; i < of->n6; i++)
		err |= any(8) >= part ? ranges_add6(&set, of->v6[i].lo, of->v6[i].hi) : 0;
	for (size_t i = 0; i < other.n4; i++)
		err |= any(8) < part ? ranges_add4(&set, other.v4[i].lo, other.v4[i].hi) : 0;
	for (size_t i = 0; i < other.n6; i++)
		err |= any(8) < part ? ranges_add6(&set, other.v6[i].lo, other.v6[i].hi) : 0;
	ranges_free(&other);
	if (err || ranges_finish(&set))
		abort();
	return set;
}

static void comes_back(const char *what, int fd, const struct ranges *before, const struct ranges *wanted)
{
	struct ranges got = RANGES_EMPTY;
	char error[READER_TEXT_MAX];
	int err = unpacked(fd, before, &got, error);

	CHECK(!err, "%s: %s", what, error);
	CHECK(err || ranges_equal(&got, wanted), "%s: %zu and %zu ranges instead of %zu and %zu", what, got.n4, got.n6,
	      wanted->n4, wanted->n6);
	ranges_free(&got);
}

static void refused(const char *what, int fd, const struct ranges *before, const char *words)
{
	struct ranges got = RANGES_EMPTY;
	char error[READER_TEXT_MAX] = "";
	int err = unpacked(fd, before, &got, error);

	CHECK(err, "%s: taken", what);
	CHECK(!words || strstr(error, words), "%s: '%s'", what, error);
	ranges_free(&got);
}

static void there_and_back(void)
{
	for (int i = 0; i < 40; i++) {
		struct ranges a = a_set(), b = like(&a);
		int whole = packed(&a, NULL), change = packed(&b, &a);
		char sum[SHA256_TEXT], other[SHA256_TEXT];

		CHECK(!packed_is_change(whole) && packed_is_change(change), "which of them is a change");
		comes_back("whole", whole, NULL, &a);
		comes_back("whole, over another", whole, &b, &a);
		comes_back("a change", change, &a, &b);
		comes_back("a change that was made already", change, &b, &b);
		refused("a change of nothing", change, NULL, "a change of a list, not a list");
		packed_sum(&a, sum);
		packed_sum(&b, other);
		CHECK(!strcmp(sum, other) == ranges_equal(&a, &b), "sums are alike where sets are");
		close(whole);
		close(change);
		ranges_free(&a);
		ranges_free(&b);
	}
}

/* Other machines say which list they have by it, whatever version they run. */
static void sums_stay(void)
{
	struct ranges set = RANGES_EMPTY;
	char sum[SHA256_TEXT];

	if (ranges_add4(&set, 0x2d000001, 0x2d000001) || ranges_add4(&set, 0x2d000100, 0x2d0002ff) ||
	    ranges_add6(&set, (ip6)0x20010db8 << 96, ((ip6)0x20010db8 << 96) + 7) ||
	    ranges_add6(&set, (ip6)0x20010db9 << 96, (ip6)0x20010db9 << 96) || ranges_finish(&set))
		return (void)CHECK(false, "no memory");
	packed_sum(&set, sum);
	CHECK(!strcmp(sum, "7ecc584ff7de9698cbe8a4fa058a2cd171ff23e0daa7ac7c8c50cd2d988264db"), "it is %s", sum);
	ranges_free(&set);
}

/* More than is read at once: read on in the middle of it, and cut, damaged or followed by something there. */
static void a_long_one(void)
{
	struct ranges set = RANGES_EMPTY;
	off_t bytes;
	int fd;

	for (unsigned int i = 0; i < 250000; i++)
		if (ranges_add4(&set, i << 14 | any(1 << 13), i << 14 | any(1 << 13) | 1 << 13))
			abort();
	if (ranges_finish(&set))
		abort();
	fd = memfd_create("packed", MFD_CLOEXEC);
	if (fd < 0 || packed_write(fd, &set, NULL, PACKED_QUICK))
		abort();
	bytes = lseek(fd, 0, SEEK_END);
	CHECK(bytes > 600000, "%lld bytes", (long long)bytes);
	comes_back("a long one", fd, NULL, &set);
	if (pwrite(fd, "x", 1, bytes) != 1)
		abort();
	refused("a long one, with a byte behind it", fd, NULL, "damaged");
	for (off_t at = bytes - 1; at > 0; at -= 150000) {
		if (ftruncate(fd, at))
			abort();
		refused("a long one that is cut", fd, NULL, "damaged");
	}
	close(fd);
	ranges_free(&set);
}

static void another_version(void)
{
	struct ranges a = RANGES_EMPTY, b = RANGES_EMPTY, c = RANGES_EMPTY;
	int change;

	if (ranges_add_host(&a, 0x01020304) || ranges_add_host(&b, 0x01020305) || ranges_add_host(&c, 0x01020306) ||
	    ranges_finish(&a) || ranges_finish(&b) || ranges_finish(&c))
		abort();
	change = packed(&b, &a);
	refused("a change of another version", change, &c, "of another version");
	close(change);
	ranges_free(&a);
	ranges_free(&b);
	ranges_free(&c);
}

/* A few hundred bytes are not to keep a machine busy for minutes: every second address of a long range. */
static void bomb(void)
{
	struct ranges set = RANGES_EMPTY;
	int fd;

	for (uint32_t i = 0; i < 5000000; i++)
		if (ranges_add_host(&set, 2 * i))
			abort();
	if (ranges_finish(&set))
		abort();
	fd = packed(&set, NULL);
	CHECK(lseek(fd, 0, SEEK_END) < 8192, "%lld bytes", (long long)lseek(fd, 0, SEEK_END));
	refused("five million hosts from nothing", fd, NULL, "packed to so little");
	close(fd);
	ranges_free(&set);
}

/* Zeros in a frame are blocks of nothing, and a hole of a file costs who makes it nothing. */
static void hole(void)
{
	struct ranges set = RANGES_EMPTY;
	char head[PACKED_HEAD_MAX] = "";
	unsigned char begins[9] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x58 };
	int fd = packed(&set, NULL);
	off_t n;

	if (pread(fd, head, sizeof(head) - 1, 0) < 0 || !strstr(head, "\n\n"))
		abort();
	n = strstr(head, "\n\n") + 2 - head;
	/* The head once more, as it is, and nothing behind it. */
	begins[6] = (unsigned char)(n << 3);
	begins[7] = (unsigned char)(n >> 5);
	if (pwrite(fd, begins, 9, n) != 9 || pwrite(fd, head, (size_t)n, n + 9) != n || ftruncate(fd, 1LL << 40))
		abort();
	refused("a terabyte of nothing", fd, NULL, "a packed list that is damaged, or ends too early");
	close(fd);
}

/* --- Damage --- */

/* There are bits that zstd has no use for: then it is the same list. */
static void damaged(const char *what, int fd, const struct ranges *before, const struct ranges *is)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	unsigned char byte, other;

	for (off_t at = 0; at < bytes; at++) {
		struct ranges got = RANGES_EMPTY;
		char error[READER_TEXT_MAX];

		if (pread(fd, &byte, 1, at) != 1)
			abort();
		other = byte ^ (unsigned char)(1 << any(8));
		if (pwrite(fd, &other, 1, at) != 1)
			abort();
		if (!unpacked(fd, before, &got, error))
			CHECK(ranges_equal(&got, is), "%s: %02x for %02x in byte %lld, and it is another list", what,
			      other, byte, (long long)at);
		ranges_free(&got);
		if (pwrite(fd, &byte, 1, at) != 1)
			abort();
	}
	if (pwrite(fd, "\n", 1, bytes) != 1)
		abort();
	refused("with a byte behind it", fd, before, NULL);
	for (bytes -= 1; bytes > 0; bytes -= 1 + (off_t)any(4)) {
		if (ftruncate(fd, bytes))
			abort();
		refused("cut", fd, before, NULL);
	}
}

static void each_byte(void)
{
	struct ranges a = RANGES_EMPTY, b;
	int fd;

	for (uint32_t i = 0; i < 12; i++)
		if (ranges_add4(&a, i << 20, (i << 20) + i % 3) ||
		    ranges_add6(&a, (ip6)i << 80, ((ip6)i << 80) + i % 2))
			abort();
	if (ranges_finish(&a))
		abort();
	fd = packed(&a, NULL);
	damaged("whole", fd, NULL, &a);
	close(fd);
	/* Of one that makes nothing else, only the head matters; and what a byte does it does in a short one. */
	while (b = like(&a), ranges_equal(&a, &b) || b.n4 + b.n6 > 200)
		ranges_free(&b);
	fd = packed(&b, &a);
	damaged("a change", fd, &a, &b);
	close(fd);
	ranges_free(&a);
	ranges_free(&b);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "SHA-256", sha256 },
		{ "random lists and changes come back", there_and_back },
		{ "their sums stay as they are", sums_stay },
		{ "a long one", a_long_one },
		{ "a change of another version", another_version },
		{ "a bomb", bomb },
		{ "a hole", hole },
		{ "any bit damaged, cut anywhere", each_byte },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
