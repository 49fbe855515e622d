// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes of a list, plain and packed, against what was packed: of every size around the pieces that are read, with reads
 * that are short and interrupted; and what is said where they are cut, damaged, too many, or there is no memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "ktap.h"

static size_t at_once;			    /* bytes of a read, at most; 0: all */
static unsigned int interrupts, reads_left; /* reads_left: the one after so many fails; 0: none does */
static uint64_t xz_most;
static enum { ALL_WORKS, NO_INPUT, NO_BUFFER, NO_GZIP, NO_XZ, NO_ZSTD } fails;

static ssize_t given_read(int fd, void *to, size_t n)
{
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	if (reads_left && !--reads_left) {
		errno = EIO;
		return -1;
	}
	return read(fd, to, at_once && n > at_once ? at_once : n);
}

static void *given_calloc(size_t n, size_t size)
{
	return fails == NO_INPUT ? NULL : calloc(n, size);
}

static void *given_malloc(size_t n)
{
	return fails == NO_BUFFER ? NULL : malloc(n);
}

static int given_gzip(z_stream *stream, int bits)
{
	return fails == NO_GZIP ? Z_MEM_ERROR : inflateInit2(stream, bits);
}

static lzma_ret given_xz(lzma_stream *stream, uint64_t most, uint32_t flags)
{
	return fails == NO_XZ ? LZMA_MEM_ERROR : lzma_stream_decoder(stream, most, flags);
}

static ZSTD_DStream *given_zstd(void)
{
	return fails == NO_ZSTD ? NULL : ZSTD_createDStream();
}

#define UNPACKED_MOST	 100000
#define READER_PADDING	 (4 * READER_PACKED)
#define LIST_PACKED_MOST (7 * READER_PACKED)
#define LIST_TEXT_MOST	 (9 * READER_PACKED)
#define XZ_MEMORY_MAX	 xz_most
#define read		 given_read
#define calloc		 given_calloc
#define malloc		 given_malloc
#undef inflateInit2
#define inflateInit2	    given_gzip
#define lzma_stream_decoder given_xz
#define ZSTD_createDStream  given_zstd
#include "sets/reader_input.c"
#undef read
#undef calloc
#undef malloc

#define MOST ((size_t)5 * READER_PACKED)

static unsigned char given[MOST], packed[2 * MOST], got[MOST + 100];
static const char *why;

static void random_bytes(size_t n)
{
	for (size_t i = 0; i < n; i++)
		given[i] = (unsigned char)ktap_random();
}

static size_t gzip(unsigned char *to, const void *from, size_t n)
{
	z_stream s = {
		.next_in = (unsigned char *)(uintptr_t)from, .avail_in = (uInt)n, .next_out = to, .avail_out = MOST
	};

	if (deflateInit2(&s, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&s, Z_FINISH) != Z_STREAM_END || deflateEnd(&s) != Z_OK)
		abort();
	return s.total_out;
}

static size_t xz(unsigned char *to, const void *from, size_t n)
{
	size_t made = 0;

	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, from, n, to, &made, MOST) != LZMA_OK)
		abort();
	return made;
}

static size_t zstd(unsigned char *to, const void *from, size_t n)
{
	size_t made = ZSTD_compress(to, MOST, from, n, 1);

	if (ZSTD_isError(made))
		abort();
	return made;
}

static size_t plain(unsigned char *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return n;
}

static const struct {
	const char *name, *damaged;
	size_t (*pack)(unsigned char *to, const void *from, size_t n);
} kinds[] = {
	{ "plain", NULL, plain },
	{ "gzip", "damaged gzip data", gzip },
	{ "xz", "damaged xz data", xz },
	{ "zstd", "damaged zstd data, or data that takes more than 128 MiB to unpack", zstd },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* What there is to read; `fd` becomes a file of it. */
static struct input *opened(size_t n, int *fd)
{
	struct input *in = NULL;
	char path[64];
	int err;

	*fd = memfd_create("packed", MFD_CLOEXEC);
	if (*fd < 0 || write(*fd, packed, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	err = input_open(&in, path, &why);
	CHECK(!err && in && input_fd(in) > *fd && !input_taken(in), "it cannot be opened: %d", err);
	return in;
}

/* All of it, so much at a time; -errno, or how many bytes. */
static ssize_t all_of(struct input *in, size_t piece)
{
	ssize_t err = input_begin(in, &why), n;
	size_t done = 0;

	if (err)
		return err;
	memset(got, 0, sizeof(got));
	do {
		n = input_read(in, got + done, done + piece < sizeof(got) ? piece : sizeof(got) - done, &why);
		if (n < 0)
			return n;
		done += (size_t)n;
		CHECK(!got[done], "more than it was asked for");
	} while (n && done < sizeof(got));
	return (ssize_t)done;
}

static ssize_t reads_as(size_t n, size_t piece)
{
	struct input *in;
	ssize_t is;
	int fd;

	why = "none";
	in = opened(n, &fd);
	is = all_of(in, piece);
	CHECK(is < 0 || input_taken(in) == n, "%llu of %zu bytes are taken", (unsigned long long)input_taken(in), n);
	input_close(in);
	close(fd);
	return is;
}

static void same(const char *what, size_t bytes, size_t n, size_t piece)
{
	ssize_t is = reads_as(bytes, piece);

	CHECK(is == (ssize_t)n && !memcmp(got, given, n), "%s, %zu bytes by %zu at once: %zd, %s", what, n, piece, is,
	      why);
}

/* Of every kind and size: the pieces of the file end anywhere. */
static void unpacked(void)
{
	static const size_t sizes[] = { 0,
					1,
					5,
					6,
					7,
					1000,
					READER_PACKED - 1,
					READER_PACKED,
					READER_PACKED + 1,
					2 * READER_PACKED,
					3 * READER_PACKED + 77 };

	xz_most = UINT64_MAX;
	random_bytes(MOST);
	memcpy(given, "1.2.3.4", 7); /* and not packed */
	for (size_t k = 0; k < KINDS; k++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			size_t n = kinds[k].pack(packed, given, sizes[i]);

			same(kinds[k].name, n, sizes[i], MOST);
			same(kinds[k].name, n, sizes[i], 4096);
			same(kinds[k].name, n, sizes[i], sizes[i] ? sizes[i] : 1);
			if (sizes[i] > 1000)
				continue;
			for (at_once = 1; at_once <= 7; at_once++) {
				interrupts = 3;
				same(kinds[k].name, n, sizes[i], 3);
				CHECK(!interrupts, "nothing was read");
			}
			at_once = 0;
		}
}

static void fails_with(const char *what, ssize_t is, int err, const char *says)
{
	CHECK(is == -err && !strcmp(why, says), "%s: %zd, '%s', not '%s'", what, is, why, says);
}

/* One behind the other is one; and zeros behind gzip, as of a tape. */
static void several(void)
{
	for (size_t k = 1; k < KINDS; k++) {
		size_t n = kinds[k].pack(packed, given, 3000);

		n += kinds[k].pack(packed + n, given + 3000, 2000);
		same(kinds[k].name, n, 5000, MOST);
		same(kinds[k].name, n, 5000, 1);
		at_once = 1;
		same(kinds[k].name, n, 5000, 100);
		at_once = 0;
		/* What stands behind is none. */
		memcpy(packed + n, "rubbish rubbish", 15);
		fails_with(kinds[k].name, reads_as(n + 15, MOST), EBADMSG, kinds[k].damaged);
	}
	{
		size_t n = gzip(packed, given, 3000);

		memset(packed + n, 0, 100);
		same("gzip and zeros", n + 100, 3000, MOST);
		n += 100;
		n += gzip(packed + n, given + 3000, 10);
		same("gzip, zeros and gzip", n, 3010, MOST);
		at_once = 1;
		same("gzip, zeros and gzip", n, 3010, 1);
		at_once = 0;
		memset(packed + n, 0, 3 * READER_PACKED);
		same("gzip and many zeros", n + 3 * READER_PACKED, 3010, MOST);
	}
}

/* Cut at every byte, and each byte of it another. */
static void cut_and_damaged(void)
{
	for (size_t k = 1; k < KINDS; k++) {
		size_t n = kinds[k].pack(packed, given, 200);

		for (size_t cut = 6; cut < n; cut++)
			fails_with(kinds[k].name, reads_as(cut, MOST), EBADMSG, "the compressed data ends too early");
		/* The end of it has sums of what was before. */
		for (size_t at = n - 8; at < n; at++) {
			ssize_t is;

			packed[at] ^= 0xff;
			is = reads_as(n, MOST);
			CHECK(k == 3 || (err_is((int)is, EBADMSG) && why != NULL && strcmp(why, "none") != 0),
			      "%s, byte %zu: %zd, %s", kinds[k].name, at, is, why);
			packed[at] ^= 0xff;
		}
		/* What its head says of it. */
		packed[k == 1 ? 3 : k == 2 ? 6 : 4] = 0xff;
		fails_with(kinds[k].name, reads_as(n, MOST), EBADMSG, kinds[k].damaged);
	}
}

/* As much as somebody has allowed, or as files may: more than that only if it does not pack to a hundredth. */
static void too_much(void)
{
	static unsigned char zeros[3 * UNPACKED_MOST];
	struct input *in;
	size_t n;
	int fd;

	for (size_t k = 1; k < KINDS; k++) {
		n = kinds[k].pack(packed, given, 1000);
		for (uint64_t most = 999; most <= 1001; most++) {
			in = opened(n, &fd);
			input_limit(in, most);
			if (most < 1000)
				fails_with(
					kinds[k].name, all_of(in, MOST), EFBIG,
					"it unpacks to more than 999 bytes; 'tune --fetch-unpacked' sets how many it may");
			else
				CHECK(all_of(in, MOST) == 1000, "%s: %s", kinds[k].name, why);
			input_close(in);
			close(fd);
		}
		n = kinds[k].pack(packed, zeros, UNPACKED_MOST);
		CHECK(reads_as(n, MOST) == UNPACKED_MOST, "%s: %s", kinds[k].name, why);
		n = kinds[k].pack(packed, zeros, UNPACKED_MOST + 100);
		fails_with(kinds[k].name, reads_as(n, MOST), EFBIG,
			   "it unpacks to more than 1 GiB, and to more than a hundred times its size: unpack it "
			   "first if that is right");
		/* Who has allowed more has allowed it. */
		in = opened(n, &fd);
		input_limit(in, 2 * UNPACKED_MOST);
		CHECK(all_of(in, MOST) == UNPACKED_MOST + 100, "%s: %s", kinds[k].name, why);
		input_close(in);
		close(fd);
		/* What does not pack is no trick. */
		n = kinds[k].pack(packed, given, UNPACKED_MOST + 100);
		CHECK(reads_as(n, MOST) == UNPACKED_MOST + 100, "%s: %s", kinds[k].name, why);
	}
	n = xz(packed, given, 1000);
	xz_most = 1000;
	fails_with("xz", reads_as(n, MOST), ENOMEM, "xz data that takes more than 256 MiB to unpack");
	xz_most = UINT64_MAX;
}

/* What becomes of such a file; nothing of it is kept. */
static ssize_t ends_as(size_t n)
{
	struct input *in;
	ssize_t is;
	int fd;

	why = "none";
	in = opened(n, &fd);
	is = input_begin(in, &why) ?: 1;
	while (is > 0)
		is = input_read(in, got, 4096, &why);
	CHECK(is || input_at(in) == n, "%llu of %zu bytes are taken", (unsigned long long)input_at(in), n);
	input_close(in);
	close(fd);
	return is;
}

static size_t zeros(unsigned char *to, size_t n)
{
	memset(to, 0, n);
	return n;
}

/* A frame of zstd that is to be skipped. */
static size_t skipped(unsigned char *to, size_t n)
{
	memcpy(to, "\x50\x2a\x4d\x18", 4);
	for (size_t i = 0; i < 4; i++)
		to[4 + i] = (unsigned char)((n - 8) >> 8 * i);
	return 8 + zeros(to + 8, n - 8);
}

/* Members with nothing in them, so many bytes in all or a few less. */
static size_t empty(size_t kind, unsigned char *to, size_t n)
{
	size_t one = kinds[kind].pack(to, given, 0), done = one;

	for (; done + one <= n; done += one)
		memcpy(to + done, to, one);
	return done;
}

static size_t empty_gzip(unsigned char *to, size_t n)
{
	return empty(1, to, n);
}

static size_t empty_xz(unsigned char *to, size_t n)
{
	return empty(2, to, n);
}

static size_t empty_zstd(unsigned char *to, size_t n)
{
	return empty(3, to, n);
}

/* A frame whose blocks are zeros, of nothing each, but for the last. */
static size_t blocks(unsigned char *to, size_t n)
{
	memcpy(to, "\x28\xb5\x2f\xfd\x00\x58", 6);
	n = 6 + zeros(to + 6, n / 3 * 3);
	to[n - 3] = 1;
	return n;
}

/* The name of a file that gzip keeps ends somewhere, or nowhere. */
static size_t name(unsigned char *to, size_t n)
{
	static const unsigned char begin[10] = { 0x1f, 0x8b, 8, 8 }, nothing[10] = { 3 };

	memcpy(to, begin, 10);
	memset(to + 10, 'a', n - 11);
	to[n - 1] = '\0';
	memcpy(to + n, nothing, 10);
	return n + 10;
}

/* It is read as long as something comes of it: a file's holes cost who makes it nothing. */
static void padding(void)
{
	static const struct {
		const char *what;
		size_t kind;
		size_t (*pad)(unsigned char *to, size_t n);
	} each[] = {
		{ "zeros behind gzip", 1, zeros },  { "zeros behind xz", 2, zeros },
		{ "empty gzip", 1, empty_gzip },    { "empty xz", 2, empty_xz },
		{ "empty zstd", 3, empty_zstd },    { "what is to be skipped", 3, skipped },
		{ "blocks of nothing", 3, blocks }, { "a name in gzip", 1, name },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		size_t n = kinds[each[i].kind].pack(packed, given, 1000), all;

		all = n + each[i].pad(packed + n, READER_PADDING - READER_PACKED);
		all += each[i].kind == 3 ? kinds[3].pack(packed + all, given + 1000, 1000) : 0;
		same(each[i].what, all, each[i].kind == 3 ? 2000 : 1000, MOST);
		/* Some that is between nothings is no matter. */
		all = n + each[i].pad(packed + n, READER_PADDING + READER_PACKED);
		fails_with(each[i].what, ends_as(all), EBADMSG, "damaged: more than 4 MiB of it unpack to nothing");
	}
	/* To the byte. */
	for (size_t more = 0; more < 2; more++) {
		size_t n = gzip(packed, given, 1000), all = n + zeros(packed + n, READER_PADDING + more);

		CHECK(err_is((int)ends_as(all), EBADMSG) == more, "%zu more: %s", more, why);
		n = gzip(packed, given, 1000);
		for (size_t i = 1; i < 3; i++) {
			n += zeros(packed + n, READER_PADDING / 2 + more);
			n += gzip(packed + n, given + i * 1000, 1000);
		}
		same("twice some zeros", n, 3000, MOST);
	}
}

/* Whoever it comes from, it is so long, and its text, and no longer. */
static void most(void)
{
	size_t n;

	for (size_t more = 0; more < 2; more++) {
		memset(packed, 'a', LIST_TEXT_MOST + 1);
		if (!more)
			CHECK(!ends_as(LIST_TEXT_MOST), "%s", why);
		else
			fails_with("plain", ends_as(LIST_TEXT_MOST + 1), EFBIG,
				   "it has more than 16 GiB, and that is no list");
	}
	for (size_t k = 1; k < KINDS; k++) {
		random_bytes(MOST);
		n = kinds[k].pack(packed, given, 3 * READER_PACKED);
		n += kinds[k].pack(packed + n, given, 3 * READER_PACKED);
		CHECK(!ends_as(n), "%s: %s", kinds[k].name, why);
		n += kinds[k].pack(packed + n, given, READER_PACKED);
		fails_with(kinds[k].name, ends_as(n), EFBIG, "it has more than 1 GiB, packed, and that is no list");
		for (size_t i = 0; i < MOST; i++)
			given[i] = 'a' + given[i] % 2;
		n = kinds[k].pack(packed, given, 5 * READER_PACKED);
		n += kinds[k].pack(packed + n, given, 4 * READER_PACKED);
		CHECK(!ends_as(n), "%s: %s", kinds[k].name, why);
		n += kinds[k].pack(packed + n, given, 1);
		fails_with(kinds[k].name, ends_as(n), EFBIG, "it unpacks to more than 16 GiB, and that is no list");
	}
	random_bytes(MOST);
}

static void failures(void)
{
	static const struct {
		size_t kind;
		int what;
	} memory[] = { { 0, NO_BUFFER }, { 1, NO_GZIP }, { 2, NO_XZ }, { 3, NO_ZSTD } };
	struct input *in = (struct input *)got;
	int fd;

	why = "none";
	CHECK(err_is(input_open(&in, "/none/such", &why), ENOENT) && !in && !strcmp(why, "No such file or directory"),
	      "%s", why);
	fails = NO_INPUT;
	CHECK(err_is(input_open(&in, "-", &why), ENOMEM) && !in && !strcmp(why, "Cannot allocate memory"), "%s", why);
	input_close(NULL);
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++) {
		size_t n = kinds[memory[i].kind].pack(packed, given, 100);

		fails = memory[i].what;
		fails_with(kinds[memory[i].kind].name, reads_as(n, MOST), ENOMEM, "Cannot allocate memory");
		fails = ALL_WORKS;
	}
	/* The first read fails, or one behind it. */
	for (size_t k = 0; k < KINDS; k++) {
		size_t n = kinds[k].pack(packed, given, 3 * READER_PACKED);

		for (unsigned int at = 1; at <= 3; at++) {
			reads_left = at;
			fails_with(kinds[k].name, reads_as(n, MOST), EIO, "Input/output error");
			CHECK(!reads_left, "so often it is not read");
		}
	}
	/* How far it is: by the file, of which another descriptor may be read instead. */
	memset(packed, 'a', 2000);
	in = opened(2000, &fd);
	CHECK(input_progress(in) == 0, "%f", input_progress(in));
	CHECK(lseek(input_fd(in), 500, SEEK_SET) == 500 && input_progress(in) == 0.25, "%f", input_progress(in));
	{
		int own = input_fd(in);

		input_move(in, 0);
		CHECK(!input_fd(in), "it reads from %d", input_fd(in));
		input_close(in);
		CHECK(fcntl(0, F_GETFD) >= 0 && fcntl(own, F_GETFD) >= 0, "what is not its own is closed");
		close(own);
	}
	close(fd);
	in = opened(0, &fd);
	CHECK(input_progress(in) < 0, "%f of nothing", input_progress(in));
	input_close(in);
	close(fd);
	{
		int pipes[2];
		char path[64];

		if (CHECK(!pipe2(pipes, O_CLOEXEC), "no pipe")) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", pipes[0]);
			CHECK(!input_open(&in, path, &why) && input_progress(in) < 0, "of a pipe: %s", why);
			input_close(in);
			close(pipes[0]);
			close(pipes[1]);
		}
	}
	if (CHECK(!input_open(&in, "-", &why), "%s", why)) {
		CHECK(!input_fd(in), "standard input is %d", input_fd(in));
		input_close(in);
		CHECK(fcntl(0, F_GETFD) >= 0, "standard input is closed");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what was packed", unpacked },
		{ "several behind each other", several },
		{ "cut and damaged", cut_and_damaged },
		{ "too much", too_much },
		{ "padding", padding },
		{ "the most of all", most },
		{ "failures", failures },
	};
	int null = open("/dev/null", O_RDONLY);

	/* Standard input is open, whoever runs this. */
	if (null > 0)
		dup2(null, 0);
	if (null > 0)
		close(null);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
