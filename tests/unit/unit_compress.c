// SPDX-License-Identifier: GPL-2.0-only
/* Files packed into pieces: they come back as they were, whatever their size; what cannot be read is said. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <zstd.h>

#include "base/grow.h"
#include "ktap.h"

#define IN_BYTES	 1000
#define PIECE_BYTES	 ((size_t)4096)
#define LIST_PACKED_MOST 1234567
#define LIST_TEXT_MOST	 ((uint64_t)2000000)

enum { ROOM = 1, PIECE, ALL, STREAM, PACK, THREAD };
static int fails;	       /* these calls, */
static int after;	       /* when so many of them have succeeded */
static size_t some = IN_BYTES; /* as many bytes are read at once */
static bool endless;
static atomic_bool waits;		 /* nothing is asked for yet */
static uint64_t half = LIST_PACKED_MOST; /* of what is free */
static atomic_uint reads;
static atomic_int held; /* memory, streams and threads */

static bool works(int what)
{
	return fails != what || after-- > 0;
}

static ssize_t given_read(int fd, void *to, size_t n)
{
	ssize_t got = read(endless ? -1 : fd, to, n < some ? n : some) + (endless && reads < 1000000 ? 2 : 0);

	reads++;
	errno = got < 0 ? errno : EINVAL; /* what is not asked for means nothing */
	return got;
}

static void *taken(void *what)
{
	held += what != NULL;
	return what;
}

static void *given_grow(void *array, size_t n, size_t size)
{
	void *grown = works(ROOM) ? grow(array, n, size) : NULL;

	held += grown && !array;
	return grown;
}

static void *given_malloc(size_t n)
{
	return works(PIECE) ? taken(malloc(n)) : NULL;
}

static void *given_calloc(size_t n, size_t size)
{
	return works(ALL) ? taken(calloc(n, size)) : NULL;
}

static void given_free(void *what)
{
	held -= what != NULL;
	free(what);
}

static ZSTD_CCtx *given_stream(void)
{
	return works(STREAM) ? taken(ZSTD_createCCtx()) : NULL;
}

static size_t given_no_stream(ZSTD_CCtx *stream)
{
	held -= stream != NULL;
	return ZSTD_freeCCtx(stream);
}

/* As fast as it can be. */
static size_t given_level(ZSTD_CCtx *stream, ZSTD_cParameter what, int level)
{
	CHECK(what == ZSTD_c_compressionLevel && level == 1, "%d is %d", what, level);
	return ZSTD_CCtx_setParameter(stream, what, level);
}

static size_t given_pack(ZSTD_CCtx *stream, ZSTD_outBuffer *out, ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	return works(PACK) ? ZSTD_compressStream2(stream, out, in, end) : (size_t)-1;
}

static void *(*packs)(void *);

static void *begins(void *arg)
{
	while (waits)
		sched_yield();
	return packs(arg);
}

static int given_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg)
{
	int err;

	packs = run;
	err = works(THREAD) ? pthread_create(thread, how, begins, arg) : EAGAIN;

	held += !err;
	return err;
}

static uint64_t given_half(uint64_t most)
{
	CHECK(most == LIST_PACKED_MOST, "%llu is the most", (unsigned long long)most);
	return half;
}

static void given_join(pthread_t thread, void **result)
{
	held--;
	pthread_join(thread, result);
}

#define read		       given_read
#define grow		       given_grow
#define malloc		       given_malloc
#define calloc		       given_calloc
#define ZSTD_createCCtx	       given_stream
#define ZSTD_compressStream2   given_pack
#define ZSTD_freeCCtx	       given_no_stream
#define ZSTD_CCtx_setParameter given_level
#define pthread_create	       given_thread
#define pthread_join	       given_join
#define free		       given_free
#define memory_half	       given_half
#include "base/compress.c"
#undef read
#undef grow
#undef malloc
#undef calloc
#undef free

static int file_of(const void *bytes, size_t n)
{
	char path[] = "/tmp/xdp-bloom-compress.XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0 && (unlink(path) || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET)))
		abort();
	return fd;
}

/* All pieces in one; free() it. */
static char *joined(const struct packed_piece *pieces, size_t n, size_t *bytes)
{
	char *all;

	*bytes = 0;
	for (size_t i = 0; i < n; i++)
		*bytes += pieces[i].bytes;
	all = malloc(*bytes + 1);
	*bytes = 0;
	for (size_t i = 0; all && i < n; i++) {
		memcpy(all + *bytes, pieces[i].data, pieces[i].bytes);
		*bytes += pieces[i].bytes;
	}
	return all;
}

static void kinds(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum packing is;
	} known[] = {
		{ "\x1f\x8b\x08", 3, GZIP },	      { "\x1f\x8b\x08xyz", 6, GZIP },  { "\x1f\x8b\x08", 2, PLAIN },
		{ "\x1f\x8b\x09xyz", 6, PLAIN },      { "\xfd\x37zXZ\0", 6, XZ },      { "\xfd\x37zXZ\0", 5, PLAIN },
		{ "\xfd\x37zXZ\1", 6, PLAIN },	      { "\x28\xb5\x2f\xfd", 4, ZSTD }, { "\x28\xb5\x2f\xfd", 3, PLAIN },
		{ "\x28\xb5\x2f\xfc\0\0", 6, PLAIN }, { "1.2.3.4\n", 8, PLAIN },       { "", 0, PLAIN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(packing_of(known[i].bytes, known[i].n) == known[i].is, "%zu is %d", i,
		      packing_of(known[i].bytes, known[i].n));
}

#define MOST 20008

static void come_back_by(size_t each)
{
	static const size_t sizes[] = { 0,    1,    5,	  999,	1000, 1001, 1002, 4092,	 4095, 4096,
					4097, 4100, 4992, 5000, 8191, 8192, 8193, 12288, 20000 };
	static char bytes[MOST], back[MOST];

	some = each;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		size_t size = sizes[i / 2], packed, n;
		const struct packed_piece *pieces;
		struct packer *p;
		char *all;
		int fd, err;

		/* The second time it looks as if it were packed, and stays as it is. */
		for (size_t at = 0; at < size; at += 8) {
			uint64_t word = ktap_random();

			memcpy(bytes + at, &word, 8);
		}
		if (i % 2 && size > 3)
			memcpy(bytes, "\x1f\x8b\x08", 3);
		fd = file_of(bytes, size);
		p = packer_begin(fd);
		err = p ? packer_end(p, &pieces, &n) : -ENOMEM;
		if (!CHECK(!err, "%zu bytes: %s", size, reason(err)))
			return;
		all = joined(pieces, n, &packed);
		for (size_t at = 0; at < n; at++)
			CHECK(pieces[at].bytes && (at == n - 1 || pieces[at].bytes == PIECE_BYTES),
			      "piece %zu of %zu has %zu bytes", at, n, pieces[at].bytes);
		if (i % 2 && size > 3)
			CHECK(packed == size && !memcmp(all, bytes, size), "%zu bytes are not as they were", size);
		else if (size)
			CHECK(packing_of(all, packed) == ZSTD && ZSTD_decompress(back, MOST, all, packed) == size &&
				      !memcmp(back, bytes, size),
			      "%zu bytes do not come back from %zu", size, packed);
		else
			CHECK(!packed, "of nothing %zu bytes are kept", packed);
		free(all);
		packer_free(p);
		close(fd);
	}
	some = IN_BYTES;
	CHECK(!held, "%d are left", held);
}

/* Also where they are read in parts, which end elsewhere than the pieces. */
static void come_back(void)
{
	static const size_t parts[] = { IN_BYTES, 997, 512, 100, 7 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		come_back_by(parts[i]);
}

static void unreadable(void)
{
	static const char *const paths[] = { "/", "/proc/self/mem" };

	for (size_t i = 0; i < 2; i++) {
		const struct packed_piece *pieces;
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC), err;
		struct packer *p = packer_begin(fd);
		size_t n;

		err = p ? packer_end(p, &pieces, &n) : 0;
		CHECK(err_is(err, i ? EIO : EISDIR) && strstr(reason(err), "keeping the list's text: "), "%s: %s",
		      paths[i], reason(err));
		packer_free(p);
		close(fd);
	}
	packer_free(NULL);
	CHECK(!held, "%d are left", held);
}

/* What cannot be had: no error is lost, and nothing is kept of what was begun. */
static void no_memory(void)
{
	static const struct {
		int fails, after;
	} cases[] = { { ROOM, 0 },   { ROOM, 1 }, { PIECE, 0 }, { PIECE, 1 },
		      { STREAM, 0 }, { PACK, 0 }, { PACK, 1 },	{ PACK, 5 } };
	static char bytes[3 * 4096];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)ktap_random();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct packed_piece *pieces;
		int fd = file_of(bytes, sizeof(bytes)), err = 0;
		struct packer *p;
		size_t n;

		/* Packed already, it is kept as it comes. */
		memcpy(bytes, cases[i].fails < STREAM ? "\x1f\x8b\x08" : "abc", 3);
		if (pwrite(fd, bytes, 3, 0) != 3)
			abort();
		fails = cases[i].fails;
		after = cases[i].after;
		reads = 0;
		p = packer_begin(fd);
		if (CHECK(p, "case %zu: nothing is begun", i))
			err = packer_end(p, &pieces, &n);
		CHECK(err_is(err, ENOMEM) && !strcmp(reason(err), "keeping the list's text: Cannot allocate memory"),
		      "case %zu: %s", i, err ? reason(err) : "no error");
		CHECK(reads < 7 || fails == PACK, "case %zu: it reads on", i);
		packer_free(p);
		close(fd);
		CHECK(!held, "case %zu: %d are left", i, held);
	}
	fails = ALL;
	after = 0;
	CHECK(!packer_begin(-1), "it begins without memory");
	fails = 0;
}

/* Where there is no thread for it, it is done at once. */
static void no_thread(void)
{
	const struct packed_piece *pieces;
	int fd = file_of("\x1f\x8b\x08 and more", 12);
	struct packer *p;
	size_t n;

	fails = THREAD;
	after = 0;
	reads = 0;
	p = packer_begin(fd);
	fails = 0;
	CHECK(p && reads == 2, "read %u times", reads);
	CHECK(!packer_end(p, &pieces, &n) && n == 1 && pieces[0].bytes == 12, "%zu pieces", n);
	packer_free(p);
	CHECK(!held, "%d are left", held);
	close(fd);
}

/* It ends before what it reads does. */
static void not_wanted(void)
{
	struct packer *p;

	endless = true;
	reads = 0;
	p = packer_begin(-1);
	packer_free(p);
	CHECK(reads < 1000000 && !held, "it goes on to the end; %d are left", held);
	endless = false;
}

/* More than it may keep; and to the byte. */
static void too_much(void)
{
	static char bytes[3 * 4096 + 1] = "\x1f\x8b\x08";

	for (uint64_t more = 0; more < 2; more++) {
		const struct packed_piece *pieces;
		int fd = file_of(bytes, 3 * 4096 + more), err;
		struct packer *p;
		size_t n;

		half = 3 * 4096;
		p = packer_begin(fd);
		err = p ? packer_end(p, &pieces, &n) : -ENOMEM;
		CHECK(more ? err_is(err, EFBIG) && !strcmp(reason(err), "keeping the list's text: it takes more than "
									"12.3 kB, the most that is kept of it")
			   : !err,
		      "%llu more: %s", (unsigned long long)more, err ? reason(err) : "kept");
		packer_free(p);
		close(fd);
	}
	half = LIST_PACKED_MOST;
	CHECK(!held, "%d are left", held);
}

static uint64_t kept_of(struct packer *p, bool is_packed)
{
	static char back[LIST_TEXT_MOST];
	const struct packed_piece *pieces;
	size_t n, bytes, text;
	char *all;

	if (!CHECK(!packer_end(p, &pieces, &n), "it is not kept"))
		return 0;
	all = joined(pieces, n, &bytes);
	text = is_packed ? bytes : ZSTD_decompress(back, sizeof(back), all, bytes);
	free(all);
	return text;
}

/* The file is longer by now than what was read of it, or ever longer than a list. */
static void grows(void)
{
	static const uint64_t each[] = { 1, 999, 1000, 1001, 2500, 5000, 5001, 6000, UINT64_MAX };
	static char bytes[5001];
	struct packer *p;
	int fd;

	for (size_t i = 0; i < 2 * sizeof(each) / sizeof(*each); i++) {
		uint64_t most = each[i / 2], kept;

		memcpy(bytes, "\x1f\x8b\x08", i % 2 ? 3 : 0);
		fd = file_of(bytes, sizeof(bytes));
		waits = true;
		p = packer_begin(fd);
		packer_most(p, most);
		waits = false;
		kept = kept_of(p, i % 2 && most >= 3);
		CHECK(kept == (most < sizeof(bytes) ? most : sizeof(bytes)), "%llu of %llu", (unsigned long long)kept,
		      (unsigned long long)most);
		packer_free(p);
		close(fd);
		memset(bytes, 0, 3);
	}
	fd = file_of(bytes, 1);
	if (ftruncate(fd, 2 * LIST_TEXT_MOST))
		abort();
	p = packer_begin(fd);
	CHECK(kept_of(p, false) == LIST_TEXT_MOST, "not as much as a list may have");
	packer_free(p);
	close(fd);
	endless = true;
	reads = 0;
	p = packer_begin(-1);
	packer_most(p, 100);
	CHECK(kept_of(p, false) >= 100 && reads < 1000000, "read %u times", reads);
	packer_free(p);
	endless = false;
	CHECK(!held, "%d are left", held);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is packed", kinds },	       { "they come back", come_back },
		{ "what cannot be read", unreadable }, { "without memory", no_memory },
		{ "without a thread", no_thread },     { "what is not wanted any more", not_wanted },
		{ "more than is kept", too_much },     { "a file that grows", grows },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
