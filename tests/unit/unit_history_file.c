// SPDX-License-Identifier: GPL-2.0-only
/* The history's file: what is taken for one, how it begins, and each call that fails. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mapped.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "ktap.h"

static const char *failing = "";

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0)
		return false;
	errno = EIO;
	return true;
}

static int mapped_n; /* less those that are given back */

static void *given_map(int fd, size_t bytes, int protection, int flags)
{
	void *memory = fails("map") ? NULL : mapped_file(fd, bytes, protection, flags);

	mapped_n += memory != NULL;
	return memory;
}

static void given_unmap(void *memory, size_t bytes)
{
	mapped_n--;
	mapped_end(memory, bytes);
}

#define fstat(fd, st)		 (fails("fstat") ? -1 : fstat(fd, st))
#define ftruncate(fd, n)	 (fails("truncate") ? -1 : ftruncate(fd, n))
#define posix_fallocate(f, a, n) (fails("allocate") ? EIO : posix_fallocate(f, a, n))
#define mapped_file		 given_map
#define mapped_end		 given_unmap
#define mmap(a, n, p, m, f, o)	 (fails("mmap") ? MAP_FAILED : mmap(a, n, p, m, f, o))
#define calloc(n, size)		 (fails("calloc") ? NULL : calloc(n, size))
#define trust_directory(path)	 (fails("trust") ? because(-EPERM, "it is not ours") : trust_directory(path))
#include "observe/history_file.c"
#undef calloc
#undef fstat
#undef ftruncate
#undef mmap

static char own_directory[] = "/tmp/unit_history_file.XXXXXX", name[64];
static struct context own = CONTEXT_DEFAULT;

static bool is(int err, int wanted, const char *text)
{
	const char *said = err ? reason(err) : "";

	said += strncmp(said, own_directory, strlen(own_directory)) ? 0 : strlen(own_directory);
	return CHECK(wanted ? err_is(err, wanted) : !err, "error %d, not %d", err, wanted) &&
	       CHECK(!text || !strcmp(said, text), "'%s', not '%s'", said, text);
}

/* Opened, and closed at once: the error. */
static int opens(bool write)
{
	struct history *h = (void *)1;
	int err = history_open(&own, &h, write);

	CHECK(!err == !!h, "error %d, and %s", err, h ? "a history" : "none");
	history_close(h);
	CHECK(!mapped_n, "%d are mapped", mapped_n);
	return err;
}

static long size_of(void)
{
	struct stat st;

	return stat(name, &st) ? -1 : (long)st.st_size;
}

/* Its first numbers, and one far behind them. */
static void put(uint64_t magic, uint64_t version, uint64_t size, long bytes)
{
	uint64_t head[4] = { magic, version, size, 7 }, last = 7;
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || pwrite(fd, head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, &last, sizeof(last), (off_t)sizeof(struct file) - 8) != 8 || (ftruncate)(fd, bytes))
		abort();
	close(fd);
}

static bool is_new(void)
{
	struct history *h;
	bool new;

	if (!is(history_open(&own, &h, false), 0, NULL))
		return false;
	new = h->file->magic == HISTORY_MAGIC && h->file->version == HISTORY_VERSION &&
	      h->file->size == sizeof(*h->file) && !h->file->sequence && !h->file->attacks;
	history_close(h);
	return new;
}

static void taken_for_one(void)
{
	const long whole = sizeof(struct file);
	const struct {
		uint64_t magic, version, size;
		long bytes;
	} each[] = {
		{ HISTORY_MAGIC + 1, HISTORY_VERSION, sizeof(struct file), whole },
		{ HISTORY_MAGIC, HISTORY_VERSION + 1, sizeof(struct file), whole },
		{ HISTORY_MAGIC, HISTORY_VERSION - 1, sizeof(struct file), whole },
		{ HISTORY_MAGIC, HISTORY_VERSION, sizeof(struct file) - 1, whole },
		{ 0, 0, 0, whole },
		{ HISTORY_MAGIC, HISTORY_VERSION, sizeof(struct file), whole - 1 },
		{ HISTORY_MAGIC, HISTORY_VERSION, sizeof(struct file), whole + 1 },
		{ HISTORY_MAGIC, HISTORY_VERSION, sizeof(struct file), 0 },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		put(each[i].magic, each[i].version, each[i].size, each[i].bytes);
		is(opens(false), EPROTO, "/history: of another version");
		CHECK(size_of() == each[i].bytes, "%zu: who reads it has changed it", i);
		is(opens(true), 0, NULL);
		CHECK(size_of() == whole && is_new(), "%zu: it does not begin anew", i);
	}
	put(HISTORY_MAGIC, HISTORY_VERSION, sizeof(struct file), whole);
	is(opens(true), 0, NULL);
	CHECK(!is_new(), "what is ours is emptied");
	unlink(name);
}

static void begins(void)
{
	struct stat st;

	is(opens(false), ENOENT, "there is no history: the service keeps it (xdp-bloom run)");
	CHECK(size_of() < 0, "who reads it has made it");
	umask(0);
	is(opens(true), 0, NULL);
	umask(022);
	CHECK(!stat(name, &st) && (st.st_mode & 0777) == 0600 && st.st_blocks * 512 >= st.st_size,
	      "mode %o, %lld blocks", (unsigned int)st.st_mode, (long long)st.st_blocks);
	CHECK(is_new(), "it is not empty");
	unlink(name);
}

static void each_fails(void)
{
	static const struct {
		const char *call, *text;
		int wanted;
		bool reads; /* who only reads it, too */
	} each[] = {
		{ "fstat", "/history: Input/output error", EIO, true },
		{ "truncate", "/history: No space left on device", ENOSPC, false },
		{ "allocate", "/history: No space left on device", ENOSPC, false },
		{ "map", "/history: Input/output error", EIO, true },
		{ "calloc", NULL, ENOMEM, true },
		{ "trust", "it is not ours", EPERM, true },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		failing = each[i].call;
		is(opens(true), each[i].wanted, each[i].text);
		failing = "";
		is(opens(true), 0, NULL);
		failing = each[i].call;
		is(opens(false), each[i].reads ? each[i].wanted : 0, each[i].reads ? each[i].text : NULL);
		failing = "";
		unlink(name);
	}
}

static void no_directory(void)
{
	static char is_long[STATE_PATH_MAX + 100];
	char none[100];
	int err;

	memset(is_long, 'x', sizeof(is_long) - 1);
	own.state = is_long;
	err = opens(true);
	CHECK(err_is(err, ENAMETOOLONG) && !strncmp(reason(err), is_long, 60), "a long path: '%.80s'", reason(err));
	/* Of what is not there nothing is asked. */
	snprintf(none, sizeof(none), "%s/none", own_directory);
	own.state = none;
	failing = "trust";
	is(opens(false), ENOENT, "there is no history: the service keeps it (xdp-bloom run)");
	is(opens(true), ENOENT, "there is no history: the service keeps it (xdp-bloom run)");
	failing = "";
	own.state = own_directory;
}

static void in_memory(void)
{
	struct history *h = (void *)1;

	failing = "calloc";
	CHECK(err_is(history_private(&h), ENOMEM) && !h, "without memory");
	failing = "mmap";
	h = (void *)1;
	CHECK(err_is(history_private(&h), ENOMEM) && !h, "without memory to map");
	failing = "";
	is(history_private(&h), 0, NULL);
	CHECK(is_ours(h->file) && !history_is_lost(h) && !h->file->sequence, "it is none");
	for (int i = 0; i < LABELS; i++)
		CHECK(!h->place[i], "label %d has a place", i);
	mapped_n = 1;
	history_close(h);
	CHECK(!mapped_n, "it is not given back");
	history_close(NULL);
}

/* Odd while it is written, and even behind it, also behind one who was killed. */
static void sequence(void)
{
	struct history *h;

	is(history_private(&h), 0, NULL);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK(h->file->sequence == 2 * i, "%llu", (unsigned long long)h->file->sequence);
		history_write_begin(h);
		CHECK(h->file->sequence == 2 * i + 1, "%llu", (unsigned long long)h->file->sequence);
		history_write_begin(h);
		CHECK(h->file->sequence == 2 * i + 1, "begun twice: %llu", (unsigned long long)h->file->sequence);
		history_write_end(h);
	}
	h->file->version++;
	CHECK(history_is_lost(h), "overwritten, it is not lost");
	mapped_n = 1;
	history_close(h);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "how it begins", begins },	   { "what is taken for one", taken_for_one },
		{ "each call fails", each_fails }, { "no directory", no_directory },
		{ "in memory", in_memory },	   { "its sequence", sequence },
	};
	int status;

	if (!mkdtemp(own_directory))
		return KTAP_FAIL;
	own.state = own_directory;
	snprintf(name, sizeof(name), "%s/history", own_directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(own_directory);
	return status;
}
