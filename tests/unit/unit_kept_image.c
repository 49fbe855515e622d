// SPDX-License-Identifier: GPL-2.0-only
/* The copies of images that a state keeps: how they are made, which stay, and what each call that fails leaves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "own_state.h"
#include "no_disk.h"
#include "base/log.h"
#include "base/close_fd.h"
#include "image/image.h"
#include "state/kept_image.h"

#define BYTES ((size_t)300000) /* of the file that is kept, more than one read() takes */

static char source[250];
static int shares;				/* what copy_file_range() says: 0: it works, or an errno */
static size_t shares_most;			/* bytes at a time */
static int reads_fail, writes_fail, syncs_fail; /* the one that does, from 1; or 0 */
static size_t writes_most;
static unsigned long long total;
static int opened_whole, opens_fail; /* the one that does */
static char opened_at[300], opened_as[300];
static unsigned int closed;

static ssize_t given_range(int from, off_t *at, int to, off_t *where, size_t left, unsigned int flags)
{
	static char buf[1 << 16];
	size_t most = shares_most < left ? shares_most : left;
	ssize_t got;

	if (shares) {
		errno = shares;
		return -1;
	}
	CHECK(!at && !where && !flags && left <= (size_t)1 << 30, "copied from a place of its own");
	got = read(from, buf, most < sizeof(buf) ? most : sizeof(buf));
	return got > 0 ? write(to, buf, (size_t)got) : got;
}

static ssize_t given_read(int fd, void *to, size_t bytes)
{
	if (reads_fail && !--reads_fail) {
		errno = EIO;
		return -1;
	}
	return read(fd, to, bytes);
}

static ssize_t given_write(int fd, const void *from, size_t bytes)
{
	if (writes_fail && !--writes_fail) {
		errno = ENOSPC;
		return -1;
	}
	return write(fd, from, bytes < writes_most ? bytes : writes_most);
}

static int given_fsync(int fd)
{
	struct stat st;

	CHECK(!fstat(fd, &st), "what is synced is not open");
	if (syncs_fail && !--syncs_fail) {
		errno = EDQUOT;
		return -1;
	}
	return 0;
}

static int given_open(struct image *image, const char *path, const char *name, bool whole)
{
	snprintf(opened_at, sizeof(opened_at), "%s", path);
	snprintf(opened_as, sizeof(opened_as), "%s", name);
	*image = (struct image){ .size = BYTES };
	opened_whole = whole;
	if (opens_fail && !--opens_fail)
		return because(-EBADMSG, "%s: no image", path);
	return 0;
}

static void given_close(struct image *image)
{
	closed += image->size == BYTES;
}

static int given_lists(const struct image *image, struct list_info **lists, size_t *n)
{
	CHECK(image->size == BYTES, "another image");
	*lists = calloc(1, sizeof(**lists));
	ENOUGH(*lists);
	snprintf((*lists)->name, sizeof((*lists)->name), "of_image");
	(*lists)->kind = LIST_BAN;
	*n = 1;
	return 0;
}

#define copy_file_range	 given_range
#define read		 given_read
#define write		 given_write
#define fsync		 given_fsync
#define image_open	 given_open
#define image_close	 given_close
#define image_lists	 given_lists
#define arrays_total(of) ((void)(of), total)
#include "state/kept_image.c"
#undef read
#undef write
#undef fsync
#undef copy_file_range

/* --- What happens --- */

static unsigned char byte_at(size_t at)
{
	return (unsigned char)(at * 31 + at / 251 * 7);
}

static void make_source(size_t bytes)
{
	FILE *to = fopen(source, "w");

	ENOUGH(to);
	for (size_t i = 0; i < bytes; i++)
		fputc(byte_at(i), to);
	ENOUGH(!fclose(to));
}

/* Of the copy of that number: how many bytes are as they were; -1: there is none. */
static long bytes_kept(unsigned int number)
{
	char path[300];
	FILE *from;
	long n = 0;
	int c;

	snprintf(path, sizeof(path), "%s/" STATE_IMAGE "%u", directory, number);
	from = fopen(path, "r");
	if (!from)
		return -1;
	while ((c = fgetc(from)) != EOF && c == byte_at((size_t)n))
		n++;
	ENOUGH(!fclose(from));
	return c == EOF ? n : -2;
}

static void put_copy(unsigned int number)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/" STATE_IMAGE "%u", directory, number);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ENOUGH(fd >= 0);
	close(fd);
}

static void sweep_all(void)
{
	char path[300];

	for (unsigned int number = 0; number < 40; number++) {
		snprintf(path, sizeof(path), "%s/" STATE_IMAGE "%u", directory, number);
		unlink(path);
	}
	unlink(source);
	empty_directory();
}

/* A state without a copy, and a file that would be one. */
static struct state *begin(void)
{
	sweep_all();
	shares = reads_fail = writes_fail = syncs_fail = opens_fail = 0;
	shares_most = writes_most = SIZE_MAX;
	total = 0;
	closed = 0;
	make_source(BYTES);
	return opened(true);
}

static void end(struct state *s)
{
	state_close(s);
	sweep_all();
}

static unsigned int mode_of(unsigned int number)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" STATE_IMAGE "%u", directory, number);
	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

static void kept_however(void)
{
	static const int errors[] = { 0, EXDEV, EINVAL, ENOSYS, EOPNOTSUPP };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		for (size_t most = SIZE_MAX; most; most = most == SIZE_MAX ? 1 << 12 : 0) {
			struct state *s = begin();
			struct image image;
			int err;

			if (!s)
				return;
			shares = errors[i];
			shares_most = writes_most = most;
			umask(0);
			err = image_keep(s, source, &image);
			CHECK(mode_of(1) == 0600, "mode %o", mode_of(1));
			CHECK(!err && bytes_kept(1) == (long)BYTES && image_kept(s) == 1,
			      "%s, %zu at a time: %s; %ld bytes of number %llu", strerror(errors[i]), most, reason(err),
			      bytes_kept(1), (unsigned long long)image_kept(s));
			CHECK(!strcmp(strrchr(opened_at, '/'), "/" STATE_IMAGE "1") && !strcmp(opened_as, source) &&
				      opened_whole == 1 && closed == 1,
			      "%s is opened%s, %u are closed", opened_at, opened_whole ? " as a whole" : "", closed);
			end(s);
		}
}

/* What it has of the file is what it had when it was looked at. */
static void of_that_size(void)
{
	static const struct {
		size_t is;
		long kept;
	} files[] = { { 0, 0 }, { 1, 1 }, { BYTES - 1, (long)BYTES - 1 }, { BYTES + 1, BYTES }, { 2 * BYTES, BYTES } };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		for (int way = 0; way <= 1; way++) {
			struct state *s = begin();
			struct image image;

			if (!s)
				return;
			make_source(files[i].is);
			shares = way ? EXDEV : 0;
			CHECK(!image_keep(s, source, &image) && bytes_kept(1) == files[i].kept,
			      "of %zu bytes, %ld are kept", files[i].is, bytes_kept(1));
			end(s);
		}
}

static void each_call_fails(void)
{
	static const struct {
		const char *what, *says;
		int shares, reads, writes, syncs, opens, err;
	} calls[] = {
		{ "sharing", "keeping a copy of the image in %s: Input/output error", EIO, 0, 0, 0, 0, EIO },
		{ "the first read", "keeping a copy of the image in %s: Input/output error", EXDEV, 1, 0, 0, 0, EIO },
		{ "the third read", "keeping a copy of the image in %s: Input/output error", EXDEV, 3, 0, 0, 0, EIO },
		{ "the first write", "keeping a copy of the image in %s: No space left on device", EXDEV, 0, 1, 0, 0,
		  ENOSPC },
		{ "the second write", "keeping a copy of the image in %s: No space left on device", EXDEV, 0, 2, 0, 0,
		  ENOSPC },
		{ "syncing it", "keeping a copy of the image in %s: Disk quota exceeded", 0, 0, 0, 1, 0, EDQUOT },
		{ "syncing its name", "keeping a copy of the image in %s: Disk quota exceeded", 0, 0, 0, 2, 0, EDQUOT },
		{ "opening it", "%s: no image", 0, 0, 0, 0, 1, EBADMSG },
		{ "opening the copy", "%s/" STATE_IMAGE "1: no image", 0, 0, 0, 0, 2, EBADMSG },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct state *s = begin();
		struct image image;
		char says[400];
		int err;

		if (!s)
			return;
		shares = calls[i].shares;
		reads_fail = calls[i].reads;
		writes_fail = calls[i].writes;
		syncs_fail = calls[i].syncs;
		opens_fail = calls[i].opens;
		err = image_keep(s, source, &image);
		snprintf(says, sizeof(says), calls[i].says, calls[i].opens == 1 ? source : directory);
		CHECK(err_is(err, calls[i].err) && !strcmp(reason(err), says), "%s: %s", calls[i].what, reason(err));
		CHECK(!image_kept(s) && closed == 1, "%s: it is kept, or open", calls[i].what);
		state_close(s);
		CHECK(bytes_kept(1) == -1, "%s: its copy stays", calls[i].what);
		end(NULL);
	}
}

static void no_source(void)
{
	struct state *s = begin();
	struct image image;
	char says[400];
	int err;

	if (!s)
		return;
	unlink(source);
	err = image_keep(s, source, &image);
	snprintf(says, sizeof(says), "%s: No such file or directory", source);
	CHECK(err_is(err, ENOENT) && !strcmp(reason(err), says), "%s", reason(err));
	CHECK(bytes_kept(1) == -1, "a copy of nothing");
	end(s);
}

/* Under the first number behind that in force that no copy has; in a batch, the last one counts. */
static void numbers(void)
{
	struct state *s = begin();
	struct image image;

	if (!s)
		return;
	ENOUGH(!state_set(s, "image", 4));
	put_copy(5);
	put_copy(6);
	put_copy(8);
	CHECK(!image_keep(s, source, &image) && image_kept(s) == 7 && bytes_kept(7) == (long)BYTES, "number %llu",
	      (unsigned long long)image_kept(s));
	CHECK(!image_keep(s, source, &image) && image_kept(s) == 9 && bytes_kept(9) == (long)BYTES, "then number %llu",
	      (unsigned long long)image_kept(s));
	CHECK(bytes_kept(7) == -1 && !bytes_kept(5) && !bytes_kept(6) && !bytes_kept(8), "of a batch both stay");
	CHECK(!state_commit(s), "not committed");
	state_close(s);
	CHECK(bytes_kept(9) == (long)BYTES, "what is committed is gone");
	s = opened(false);
	CHECK(s && !image_kept_open(s, &image, true) && opened_whole &&
		      !strcmp(strrchr(opened_at, '/'), "/" STATE_IMAGE "9"),
	      "%s is opened", opened_at);
	CHECK(s && !image_kept_open(s, &image, false) && !opened_whole, "it is opened as a whole");
	end(s);
	s = begin();
	CHECK(s && err_is(image_kept_open(s, &image, false), ENOENT), "what is not there is opened");
	CHECK(s && !image_keep(s, source, &image) && !image_leave(s) && !image_kept(s), "it does not leave");
	end(s);
}

/* That in force, and the one that it would go back to. */
static void swept(void)
{
	struct pending pending = { .kind = PENDING_IMAGE, .name = "image", .deadline = 5 };
	struct state *s = begin();
	char other[300];

	if (!s)
		return;
	for (unsigned int number = 1; number <= 12; number++)
		put_copy(number);
	snprintf(other, sizeof(other), "%s/imag", directory);
	make_source(1); /* its name begins like theirs, nearly */
	ENOUGH(!rename(source, other));
	ENOUGH(!state_set(s, "image", 3) && !state_pending_add(s, &pending) && !state_set(s, "image", 11));
	for (int i = 0; i <= 1; i++) {
		s->broken = i ? 0 : because(-EIO, "a setting could not be read");
		ENOUGH(!i || !state_run(s, "ALTER TABLE pending RENAME TO other"));
		image_sweep(s, image_kept(s));
		CHECK(!bytes_kept(1) && !bytes_kept(12), "swept by what could not be read");
	}
	ENOUGH(!state_run(s, "ALTER TABLE other RENAME TO pending"));
	image_sweep(s, image_kept(s));
	for (unsigned int number = 1; number <= 12; number++)
		CHECK((bytes_kept(number) == 0) == (number == 3 || number == 11), "number %u: %ld", number,
		      bytes_kept(number));
	CHECK(!unlink(other), "another file is swept");
	ENOUGH(!state_pending_forget(s, PENDING_IMAGE, "image"));
	image_sweep(s, 11);
	CHECK(bytes_kept(3) == -1 && !bytes_kept(11), "what it does not go back to stays");
	image_sweep(s, 0);
	CHECK(bytes_kept(11) == -1, "the last one stays");
	end(s);
}

static void memory(void)
{
	struct image image = { .size = BYTES };
	struct state *s = begin();
	int err;

	if (!s)
		return;
	ENOUGH(!state_set(s, "memory_max", 1000000));
	total = 1000000;
	CHECK(!image_fits(s, &image), "what fits does not");
	total = 1000001;
	err = image_keep(s, source, &image);
	CHECK(err_is(err, E2BIG) &&
		      !strcmp(reason(err), "this image needs 1000001 bytes in the kernel; the limit is 1000000"),
	      "%s", reason(err));
	CHECK(bytes_kept(1) == -1 && closed == 1, "what does not fit is kept");
	end(s);
}

/* Of an image, its own, and the exceptions that stand beside it; without one, those of the state. */
static void lists(void)
{
	struct ranges none = RANGES_EMPTY;
	struct list_info *lists = NULL;
	struct state *s = begin();
	struct image image;
	size_t n = 0;

	if (!s)
		return;
	ENOUGH(!put(s, "a", LIST_ALLOW, &none) && !put(s, "b", LIST_BAN, &none) && !put(s, "c", LIST_ALLOW, &none) &&
	       !put(s, "d", LIST_SHADOW, &none));
	CHECK(!lists_in_force(s, &lists, &n) && n == 4 && !strcmp(lists[1].name, "b"), "%zu of no image", n);
	free(lists);
	ENOUGH(!image_keep(s, source, &image));
	closed = 0;
	CHECK(!lists_in_force(s, &lists, &n) && n == 3 && !strcmp(lists[0].name, "of_image") &&
		      !strcmp(lists[1].name, "a") && !strcmp(lists[2].name, "c") && closed == 1,
	      "%zu of an image; %u are closed", n, closed);
	free(lists);
	opens_fail = 1;
	CHECK(!lists_in_force(s, &lists, &n) && n == 2 && !strcmp(lists[0].name, "a") && !strcmp(lists[1].name, "c"),
	      "%zu of a damaged one", n);
	free(lists);
	end(s);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "kept, whatever the file system can", kept_however },
		{ "as much as was looked at", of_that_size },
		{ "each call fails", each_call_fails },
		{ "no file", no_source },
		{ "its number", numbers },
		{ "what is swept", swept },
		{ "the limit of memory", memory },
		{ "the lists in force", lists },
	};
	const char *temporary = getenv("TMPDIR");
	int ended;

	snprintf(source, sizeof(source), "%s/unit-kept-image-XXXXXX", temporary ? temporary : "/tmp");
	ended = mkstemp(source);
	if (ended < 0) {
		perror(source);
		return KTAP_FAIL;
	}
	close(ended);
	ended = own_state_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(source);
	return ended;
}
