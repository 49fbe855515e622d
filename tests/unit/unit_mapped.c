// SPDX-License-Identifier: GPL-2.0-only
/* Files in memory that are cut under whoever reads them: which of them were is known, and the others are as they were.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bus_error.h"
#include "ktap.h"

static void *place;	    /* where the next file goes; NULL: anywhere */
static bool no_other_pages; /* where a file was cut */
static unsigned int unmapped;

/* Its errno is changed also where it works. */
static void *given_map(void *at, size_t n, int access, int kind, int fd, off_t from)
{
	void *is = kind & MAP_FIXED && no_other_pages
			   ? MAP_FAILED
			   : mmap(place ?: at, n, access, place ? kind | MAP_FIXED : kind, fd, from);

	if (is != MAP_FAILED)
		errno = ERANGE;
	return is;
}

static int given_unmap(void *at, size_t n)
{
	unmapped++;
	return munmap(at, n);
}

#define mmap   given_map
#define munmap given_unmap
#include "base/mapped.c"
#undef mmap
#undef munmap

#define MOST  16 /* as many as there are places for */
#define BYTES ((size_t)3 * 65536)

static struct {
	int fd;
	volatile char *memory;
} files[MOST];

static bool open_one(int i)
{
	char path[] = "/tmp/xdp-bloom-mapped.XXXXXX";
	int fd = mkstemp(path);

	files[i].fd = fd;
	files[i].memory = NULL;
	if (fd < 0 || unlink(path) || ftruncate(fd, (off_t)BYTES) || pwrite(fd, &(char){ 'a' }, 1, 0) != 1 ||
	    pwrite(fd, &(char){ 'z' }, 1, (off_t)BYTES - 1) != 1)
		return false;
	files[i].memory = mapped_file(fd, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED);
	return files[i].memory;
}

static void close_one(int i)
{
	if (files[i].memory)
		mapped_end((void *)files[i].memory, BYTES);
	close(files[i].fd);
}

/* Each of them cut, the others not; where each begins, within it, and where it ends. */
static void each(void)
{
	static const size_t at[] = { 0, BYTES / 2, BYTES - 1 };

	if (!bus_errors_say_where()) {
		ktap_skip(BUS_ERROR_SKIP);
		return;
	}
	for (int cut = 0; cut < MOST && !ktap_failed; cut++) {
		for (int i = 0; i < MOST; i++)
			if (!CHECK(open_one(i), "file %d: %d", i, errno))
				return;
		errno = 77;
		CHECK(!ftruncate(files[cut].fd, 0) && !files[cut].memory[at[cut % 3]] && errno == 77,
		      "file %d reads as something else, or errno is %d", cut, errno);
		CHECK(!files[cut].memory[0] && !files[cut].memory[BYTES - 1], "file %d is not empty", cut);
		for (int i = 0; i < MOST; i++)
			CHECK(mapped_is_cut((void *)files[i].memory) == (i == cut) &&
				      (i == cut || (files[i].memory[0] == 'a' && files[i].memory[BYTES - 1] == 'z')),
			      "file %d, when %d is cut", i, cut);
		CHECK(!mapped_is_cut(files) && !mapped_is_cut((char *)files[cut].memory + 1), "what is none is cut");
		for (int i = 0; i < MOST; i++)
			close_one(i);
	}
}

/* One more than there are places for is refused; where one ends, another begins, and is not cut for that. */
static void more_than_places(void)
{
	int fd;

	if (!bus_errors_say_where()) {
		ktap_skip(BUS_ERROR_SKIP);
		return;
	}
	for (int i = 0; i < MOST; i++)
		if (!CHECK(open_one(i), "file %d: %d", i, errno))
			return;
	fd = dup(files[0].fd);
	errno = 0;
	unmapped = 0;
	CHECK(!mapped_file(fd, BYTES, PROT_READ, MAP_SHARED) && errno == ENOMEM && unmapped == 1, "one too many: %d",
	      errno);
	CHECK(!ftruncate(files[9].fd, 0) && !files[9].memory[0] && mapped_is_cut((void *)files[9].memory), "not cut");
	close_one(9);
	CHECK(unmapped == 2, "it is mapped still");
	CHECK(open_one(9) && !mapped_is_cut((void *)files[9].memory), "it was cut before it was there");
	CHECK(!mapped_file(fd, BYTES, PROT_READ, MAP_SHARED), "one too many");
	close(fd);
	for (int i = 0; i < MOST; i++)
		close_one(i);
	/* What is written to it is in the file. */
	if (CHECK(open_one(0), "no file")) {
		char is = 0;

		files[0].memory[1] = 'w';
		CHECK(pread(files[0].fd, &is, 1, 1) == 1 && is == 'w', "the file has %d", is);
		close_one(0);
	}
	CHECK(!mapped_file(-1, BYTES, PROT_READ, MAP_SHARED) && errno == EBADF, "no file: %d", errno);
}

/* One that begins where another ends is another. */
static void side_by_side(void)
{
	char *room;

	if (!bus_errors_say_where()) {
		ktap_skip(BUS_ERROR_SKIP);
		return;
	}
	room = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!CHECK(room != MAP_FAILED, "no room"))
		return;
	for (int i = 0; i < 2; i++) {
		place = room + (size_t)i * BYTES;
		CHECK(open_one(i), "file %d: %d", i, errno);
	}
	place = NULL;
	CHECK(!ftruncate(files[1].fd, 0) && !files[1].memory[0] && mapped_is_cut((void *)files[1].memory) &&
		      !mapped_is_cut((void *)files[0].memory) && files[0].memory[0] == 'a' &&
		      files[0].memory[BYTES - 1] == 'z',
	      "the other one is cut");
	for (int i = 0; i < 2; i++)
		close_one(i);
}

/* Where there are no other pages for it, the kernel kills. */
static void no_pages(void)
{
	int status = 0;
	pid_t pid;

	if (!CHECK(open_one(0), "no file"))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		no_other_pages = true;
		alarm(60);
		_exit(ftruncate(files[0].fd, 0) ? 0 : files[0].memory[0]);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "it goes on: %x",
	      (unsigned int)status);
	close_one(0);
}

/* What none of them has: the kernel kills, as it would. */
static void others(void)
{
	int status = 0;
	pid_t pid;

	if (!CHECK(open_one(0), "no file"))
		return;
	pid = fork();
	if (!pid) {
		volatile char *other = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, files[0].fd, 0);

		if (ftruncate(files[0].fd, 0) || other == MAP_FAILED)
			_exit(0);
		_exit(other[0]);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "it goes on: %d", status);
	close_one(0);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each of them", each },	    { "more than places", more_than_places },
		{ "side by side", side_by_side },   { "no other pages", no_pages },
		{ "what is none of them", others },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
