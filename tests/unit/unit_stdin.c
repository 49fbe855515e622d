// SPDX-License-Identifier: GPL-2.0-only
/* Standard input: who reads it, and copies of what can be read only once, on the disk or in memory; and free memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "ktap.h"

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

#define NO_DISK	  1
#define NO_MEMORY 2
#define FULL	  4
#define NO_SEEK	  8
#define NO_COPY	  16
#define NO_STREAM 32

static unsigned int lacks;
static const char *memory_text; /* NULL: what this machine has */
static dev_t device;		/* what the file is; 0: what it is */
static bool block;
static uint64_t more; /* what else there is to read, which nobody keeps */
static bool keeps_none;

static ssize_t given_read(int fd, void *to, size_t n)
{
	if (!more)
		return read(fd, to, n);
	n = n < more ? n : more;
	more -= n;
	return (ssize_t)n;
}

static FILE *given_file(void)
{
	errno = EROFS;
	return lacks & NO_DISK ? NULL : tmpfile();
}

static int given_memory(const char *name, unsigned int flags)
{
	errno = ENOSYS;
	return lacks & NO_MEMORY ? -1 : memfd_create(name, flags);
}

static size_t given_write(const void *bytes, size_t size, size_t n, FILE *file)
{
	errno = ENOSPC;
	return keeps_none ? n : fwrite(bytes, size, lacks & FULL ? n - 1 : n, file);
}

static int given_seek(FILE *file, long to, int whence)
{
	errno = ENOSPC;
	return lacks & NO_SEEK ? -1 : fseek(file, to, whence);
}

static FILE *given_stream(int fd, const char *how)
{
	errno = ENOMEM;
	return lacks & NO_STREAM ? NULL : fdopen(fd, how);
}

static int given_dup(int fd)
{
	errno = EMFILE;
	return lacks & NO_COPY ? -1 : dup(fd);
}

static int given_stat(int fd, struct stat *st)
{
	int err = fstat(fd, st);

	if (device) {
		st->st_mode = block ? S_IFBLK : S_IFCHR;
		st->st_rdev = device;
	}
	return err;
}

static uint64_t room = 1 << 30; /* on the disk; 1: that is not known */

static int given_statvfs(int fd, struct statvfs *on)
{
	int err = fstatvfs(fd, on);

	on->f_frsize = 4096;
	on->f_bavail = room / 4096;
	return room == 1 ? -1 : err;
}

#define tmpfile	     given_file
#define memfd_create given_memory
#define fwrite	     given_write
#define read	     given_read
#define fdopen	     given_stream
#define fseek	     given_seek
#define dup	     given_dup
#define fstat	     given_stat
#define fstatvfs     given_statvfs
#include "base/stdin.c"
#undef tmpfile
#undef memfd_create
#undef fwrite
#undef read
#undef dup
#undef fstat
#undef fstatvfs

static FILE *given_open(const char *path, const char *mode)
{
	CHECK(!strcmp(path, "/proc/meminfo") && !strcmp(mode, "re"), "%s is read", path);
	return !memory_text ? NULL : fmemopen((char *)memory_text, strlen(memory_text), "r");
}

#define fopen given_open
#include "base/memory.c"

static void one_reader(void)
{
	struct context context = CONTEXT_DEFAULT;
	int err;

	standard_again();
	context.line = 5;
	err = standard_input(&context);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "'-': a line of a file of commands reads no standard input"),
	      "%s", err ? reason(err) : "no error");
	context.line = 0;
	CHECK(!standard_input(&context), "it is taken by a line that may not");
	err = standard_input(&context);
	CHECK(err_is(err, EBUSY) && !strcmp(reason(err), "'-': standard input can be read only once"), "%s",
	      err ? reason(err) : "no error");
	standard_again();
	CHECK(!standard_input(&context), "another one is taken, too");
	standard_again();
}

/* What has this to read. */
static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	NEEDED(fd >= 0 && write(fd, text, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	return fd;
}

static void copies(void)
{
	static const size_t lengths[] = { 0, 1, 65535, 65536, 65537, 200000 };
	static char text[200000], got[200001];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i / 251 + i);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (lacks = 0; lacks <= NO_DISK; lacks++) {
			int from = file_of(text, lengths[i]), fd = standard_keep(from);
			ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got));

			CHECK(n == (ssize_t)lengths[i] && !memcmp(got, text, lengths[i]), "%zd bytes of %zu", n,
			      lengths[i]);
			close(from);
			close(fd);
		}
	lacks = 0;
}

static void no_copies(void)
{
	static const struct {
		unsigned int lacks;
		int err;
	} known[] = { { NO_DISK | NO_MEMORY, ENOSYS },
		      { NO_DISK | NO_STREAM, ENOMEM },
		      { FULL, ENOSPC },
		      { NO_SEEK, ENOSPC },
		      { NO_COPY, EMFILE } };
	int fd;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int from = file_of("1.2.3.4\n", 8);

		lacks = known[i].lacks;
		fd = standard_keep(from);
		lacks = 0;
		CHECK(err_is(fd, known[i].err), "lacks %u: %d", known[i].lacks, fd);
		close(from);
	}
	fd = standard_keep(-1);
	CHECK(err_is(fd, EBADF), "nothing is read: %d", fd);
}

/* As major and minor numbers are. */
static void endless(void)
{
	static const struct {
		unsigned int major, minor;
		bool block, endless;
	} known[] = { { 1, 3, false, false }, { 1, 4, false, false }, { 1, 5, false, true }, { 1, 6, false, false },
		      { 1, 7, false, true },  { 1, 8, false, true },  { 1, 9, false, true }, { 1, 10, false, false },
		      { 0, 5, false, false }, { 2, 5, false, false }, { 1, 5, true, false } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int from = file_of("", 0), fd;

		device = makedev(known[i].major, known[i].minor);
		block = known[i].block;
		fd = standard_keep(from);
		device = 0;
		CHECK(known[i].endless ? err_is(fd, EFBIG) : fd >= 0, "%u:%u is %d", known[i].major, known[i].minor,
		      fd);
		close(from);
		if (fd >= 0)
			close(fd);
	}
}

/* Who owns a list's file may put a pipe there, and write for ever. */
static void too_long(void)
{
	static const char *const little = "MemAvailable: 2000 kB\n";
	static const struct {
		unsigned int lacks;
		const char *free;
		uint64_t bytes;
		const char *said; /* NULL: so much is kept */
	} known[] = {
		{ 0, NULL, 1 << 30, NULL },
		{ 0, NULL, (1 << 30) + 1, "more than 1.1 GB, " },
		{ 0, little, 1 << 30, NULL },
		{ NO_DISK, NULL, 1 << 30, NULL },
		{ NO_DISK, little, 1024000, NULL },
		{ NO_DISK, little, 1024001, "more than 1.0 MB, " },
		{ NO_DISK, NULL, 1ULL << 60, "more than 1.1 GB, " },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int from = file_of("", 0), fd;

		lacks = known[i].lacks;
		memory_text = known[i].free;
		more = known[i].bytes;
		keeps_none = true;
		fd = standard_keep(from);
		CHECK(known[i].said ? err_is(fd, EFBIG) && strstr(reason(fd), known[i].said) : fd >= 0,
		      "%llu bytes: %s", (unsigned long long)known[i].bytes, fd < 0 ? reason(fd) : "kept");
		close(from);
		if (fd >= 0)
			close(fd);
	}
	lacks = 0;
	memory_text = NULL;
	more = 0;
	keeps_none = false;
}

/* A disk in memory can seal its files, too. */
static bool is_in_memory(FILE *file)
{
	char path[64], name[16] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	return readlink(path, name, sizeof(name) - 1) > 0 && !strncmp(name, "/memfd:", strlen("/memfd:"));
}

/* Where the disk has less than may be had in memory, there; and on the disk all the same where that fails. */
static void more_room(void)
{
	static const struct {
		unsigned int lacks;
		uint64_t room;
		const char *free;
		bool in_memory;
	} known[] = {
		{ 0, 1 << 30, NULL, false },
		{ 0, (1 << 30) - 4096, NULL, true },
		{ 0, 0, "MemAvailable: 2000 kB\n", true },
		{ 0, 1024000, "MemAvailable: 2000 kB\n", false },
		{ 0, 1, NULL, false },
		{ NO_DISK, 1 << 30, NULL, true },
		{ NO_MEMORY, 0, NULL, false },
		{ NO_STREAM, 0, NULL, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint64_t most = 0, wanted = known[i].in_memory ? known[i].free ? 1024000 : 1 << 30 : 1 << 30;
		FILE *file;

		lacks = known[i].lacks;
		room = known[i].room;
		memory_text = known[i].free;
		file = file_without_name(&most);
		CHECK(file && most == wanted && is_in_memory(file) == known[i].in_memory, "%zu: %llu bytes", i,
		      (unsigned long long)most);
		if (file)
			fclose(file);
	}
	lacks = 0;
	room = 1 << 30;
	memory_text = NULL;
}

static void free_memory(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} known[] = {
		{ "MemTotal:  800 kB\nMemFree: 70 kB\nMemAvailable:   12345 kB\nMemAvailable: 1 kB\n", 12345 << 10 },
		{ "MemAvailable: 1 kB\n", 1024 },
		{ "MemTotal: 800 kB\nMemFree: 7 kB\n", 0 },
		{ "MemTotal: 800 kB\nMemAvailable: none\n", 0 },
		{ NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		memory_text = known[i].text;
		CHECK(memory_available() == known[i].bytes, "%llu of '%s'", (unsigned long long)memory_available(),
		      memory_text ?: "no file");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one reads it", one_reader },
		{ "copies of what can be read once", copies },
		{ "no copies", no_copies },
		{ "what has no end", endless },
		{ "what is too long", too_long },
		{ "how much memory is free", free_memory },
		{ "where there is more room", more_room },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
