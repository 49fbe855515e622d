// SPDX-License-Identifier: GPL-2.0-only
/* What a confined process can do: read its input, compute and answer; and what becomes of an answer that is forged. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/confined.c"
#include "sets/reader_apart.c"

#include "ktap.h"

/* Runs it, and gives what it tells; "": nothing. */
static int tells(confined_work *work, int input, size_t memory, char *text, size_t size, char how[96])
{
	struct confined c;
	ssize_t n;
	int err = confined_start(&c, input, memory, work, &c);

	memset(text, 0, size);
	how[0] = '\0';
	if (err)
		return err;
	n = read(c.answer, text, size - 1);
	err = confined_end(&c, how, 96);
	return n < 0 ? -EIO : err;
}

static bool seccomp_is_there(void)
{
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "Seccomp:", 8);
	if (file)
		fclose(file);
	return found && !SANITIZED;
}

static void echo(void *arg, int answer)
{
	char text[64];
	ssize_t n = read(0, text, sizeof(text));

	(void)arg;
	if (n > 0)
		confined_tell(answer, text, (size_t)n);
}

static void open_file(void *arg, int answer)
{
	(void)arg;
	confined_tell(answer, open("/dev/null", O_RDONLY) < 0 ? "refused" : "opened", 7);
}

static void other_files(void *arg, int answer)
{
	bool any = false;

	(void)arg;
	for (int fd = 2 + SANITIZED; fd < 1024; fd++)
		any |= !close(fd);
	confined_tell(answer, any ? "open" : "none", 4);
}

static void make_socket(void *arg, int answer)
{
	(void)arg;
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		confined_tell(answer, "refused", 7);
	else
		confined_tell(answer, "made", 4);
}

/* What the vDSO calls where it cannot read the clock itself; libjansson makes a seed of it. */
static void ask_clocks(void *arg, int answer)
{
	struct timespec now;
	struct timeval of_day;
	bool both = !syscall(__NR_clock_gettime, CLOCK_MONOTONIC, &now) && !syscall(__NR_gettimeofday, &of_day, NULL);

	(void)arg;
	confined_tell(answer, both ? "both" : "none", 4);
}

static void take_memory(void *arg, int answer)
{
	void *volatile block; /* one that is not looked at clang does not even ask for */
	size_t taken = 0;

	(void)arg;
	while (taken < 512 && (block = malloc((size_t)1 << 20)))
		taken++;
	confined_tell(answer, taken < 64 ? "bounded" : "unbounded", 7);
}

static void is_confined(void)
{
	char text[64], how[96];
	int pipes[2];

	if (!CHECK(!pipe(pipes) && write(pipes[1], "hello", 5) == 5, "no pipe"))
		return;
	CHECK(!tells(echo, pipes[0], 0, text, sizeof(text), how) && !strcmp(text, "hello"), "'%s', %s", text, how);
	CHECK(!tells(open_file, pipes[0], 0, text, sizeof(text), how) && !strcmp(text, "refused"), "open: '%s', %s",
	      text, how);
	CHECK(!tells(other_files, pipes[0], 0, text, sizeof(text), how) && !strcmp(text, "none"), "files: '%s', %s",
	      text, how);
	CHECK(!tells(ask_clocks, -1, 0, text, sizeof(text), how) && !strcmp(text, "both"), "clocks: '%s', %s", text,
	      how);
	close(pipes[0]);
	close(pipes[1]);
}

static void is_killed(void)
{
	char text[64], how[96];

	if (!seccomp_is_there()) {
		ktap_skip("needs a kernel with seccomp, and no sanitizer");
		return;
	}
	CHECK(err_is(tells(make_socket, -1, 0, text, sizeof(text), how), EIO) && !text[0], "'%s', %s", text, how);
	CHECK(!strncmp(how, "it was killed by signal 31", 26), "%s", how);
}

static void is_bounded(void)
{
	char text[64], how[96];

	if (SANITIZED) {
		ktap_skip("needs a build without sanitizers");
		return;
	}
	CHECK(!tells(take_memory, -1, (size_t)32 << 20, text, sizeof(text), how) && !strcmp(text, "bounded"),
	      "'%s', %s", text, how);
}

static void waits(void *arg, int answer)
{
	pid_t who = getpid();
	char byte;

	(void)arg;
	confined_tell(answer, &who, sizeof(who));
	(void)!read(0, &byte, 1);
}

/* Who started it is killed: nobody is left behind, who would wait for input for ever. */
static void ends_with_its_parent(void)
{
	int input[2], said[2];
	struct pollfd gone = { .events = POLLIN };
	pid_t parent, who = 0;
	int status = 0;

	/* What it leaves behind becomes ours. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || pipe2(input, O_CLOEXEC) || pipe2(said, O_CLOEXEC)) {
		CHECK(false, "%s", strerror(errno));
		return;
	}
	parent = fork();
	if (!parent) {
		struct confined c;

		if (!confined_start(&c, input[0], 0, waits, NULL) && !confined_answer(&c, &who, sizeof(who)))
			(void)!write(said[1], &who, sizeof(who));
		kill(getpid(), SIGKILL);
	}
	close(said[1]);
	CHECK(read(said[0], &who, sizeof(who)) == sizeof(who) && waitpid(parent, NULL, 0) == parent,
	      "it has not begun");
	gone.fd = who > 0 ? (int)syscall(SYS_pidfd_open, who, 0) : -1;
	if (CHECK(gone.fd >= 0, "%s", strerror(errno)))
		CHECK(poll(&gone, 1, 10000) == 1, "it goes on without who has started it");
	close(input[1]);
	if (who > 0)
		CHECK(waitpid(who, &status, 0) == who && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "it ended with status %x", (unsigned int)status);
	close(gone.fd);
	close(input[0]);
	close(said[0]);
}

/* --- Forged answers --- */

struct forged {
	unsigned char bytes[4 * PART_MAX];
	size_t n;
};

static struct forged forged;

static void add_part(uint32_t kind, const void *from, size_t bytes)
{
	struct part part = { kind, (uint32_t)bytes };

	memcpy(forged.bytes + forged.n, &part, sizeof(part));
	memcpy(forged.bytes + forged.n + sizeof(part), from, bytes);
	forged.n += sizeof(part) + bytes;
}

static void add_ranges4(const struct range4 *ranges, size_t n)
{
	unsigned char packed[256];
	size_t done;

	add_part(PART_RANGES4, packed, packed4_put(ranges, n, &done, packed, sizeof(packed)));
}

static void hand_out(void *arg, int answer)
{
	(void)arg;
	confined_tell(answer, forged.bytes, forged.n);
}

/* What comes of the forged answer: 0 or -errno. */
static int heard(struct ranges *set, struct reader_report *report, char error[READER_TEXT_MAX], bool skip_bad)
{
	struct reader_options options = { .skip_bad = skip_bad };
	struct reader reader = { .options = &options, .report = report, .set = set, .name = "it", .error = error };
	struct listener l = { .reader = &reader };
	int err;

	*set = RANGES_EMPTY;
	memset(report, 0, sizeof(*report));
	error[0] = '\0';
	err = confined_start(&l.process, -1, 0, hand_out, NULL) ?: hear_all(&l);
	if (!err)
		take_ranges(&l);
	ranges_free(&l.got);
	confined_stop(&l.process);
	return err;
}

static struct ending ending(uint64_t n4, uint64_t n6)
{
	return (struct ending){ .format = "plain", .entries = n4 + n6, .lines = n4 + n6, .n4 = n4, .n6 = n6 };
}

#define FORGE(end, ...)                              \
	do {                                         \
		struct ending it = (end);            \
		forged.n = 0;                        \
		add_part(PART_END, &it, sizeof(it)); \
		__VA_ARGS__;                         \
	} while (0)

#define REFUSED(...)                                                                               \
	do {                                                                                       \
		FORGE(__VA_ARGS__);                                                                \
		CHECK(heard(&set, &report, error, false) < 0, "it is believed: %s", #__VA_ARGS__); \
		ranges_free(&set);                                                                 \
	} while (0)

static void is_checked(void)
{
	static const struct range4 good4[] = { { 1, 1 }, { 3, 9 }, { 11, UINT32_MAX } };
	static const struct range6 good6[] = { { 5, 5 }, { 7, 9 } };
	static const struct range6 next[] = { { 1, 2 }, { 3, 4 } }, over[] = { { 1, 5 }, { 4, 9 } },
				   turned[] = { { 9, 1 } };
	static const unsigned char adjacent[] = { 0, 0 }, endless[] = { 0x80, 0x80 },
				   beyond[] = { 0xfe, 0xff, 0xff, 0xff, 0x7f };
	static const unsigned char much[2 * PART_MAX];
	static const struct entry entry = { .family = 4 };
	struct reader_report report;
	char error[READER_TEXT_MAX];
	struct ending end;
	struct ranges set;

	FORGE(ending(3, 2), add_ranges4(good4, 2), add_ranges4(good4 + 2, 1),
	      add_part(PART_RANGES6, good6, sizeof(good6)));
	if (!CHECK(!heard(&set, &report, error, false) && set.n4 == 3 && set.n6 == 2, "a good one is refused: %s",
		   error))
		return;
	CHECK(!memcmp(set.v4, good4, sizeof(good4)) && !memcmp(set.v6, good6, sizeof(good6)), "another set");
	ranges_free(&set);

	REFUSED(ending(3, 0), add_ranges4(good4, 2)); /* it ends too early */
	REFUSED(ending(2, 0), add_ranges4(good4, 3));
	REFUSED(ending(4, 0), add_ranges4(good4, 2), add_ranges4(good4, 2)); /* from the beginning again */
	REFUSED(ending(4, 0), add_ranges4(good4 + 1, 2), add_ranges4(good4, 2));
	REFUSED(ending(2, 0), add_part(PART_RANGES4, adjacent, sizeof(adjacent)));
	REFUSED(ending(1, 0), add_part(PART_RANGES4, endless, sizeof(endless)));
	REFUSED(ending(1, 0), add_part(PART_RANGES4, beyond, sizeof(beyond)));
	REFUSED(ending(1, 0), add_part(PART_RANGES4, "", 0));
	REFUSED(ending(0, 2), add_part(PART_RANGES6, next, sizeof(next)));
	REFUSED(ending(0, 2), add_part(PART_RANGES6, over, sizeof(over)));
	REFUSED(ending(0, 1), add_part(PART_RANGES6, turned, sizeof(turned)));
	REFUSED(ending(0, 1), add_part(PART_RANGES6, good6, sizeof(good6)));
	REFUSED(ending(0, 1), add_part(PART_RANGES6, good6, sizeof(*good6) - 1));
	REFUSED(ending(0, 0), add_ranges4(good4, 1), forged.bytes[0] = PART_RANGES4);
	REFUSED(ending(1, 0), add_part(77, good4, 8));
	REFUSED(ending(1, 0), add_part(PART_RANGES4, much, sizeof(much)));
	REFUSED(ending(1, 0), add_part(PART_ENTRIES, &entry, sizeof(entry)));
	REFUSED(ending(1, 0), add_part(PART_END, &end, sizeof(end)));
	REFUSED(ending((uint64_t)1 << 60, 0), add_ranges4(good4, 2));
	REFUSED(ending(0, (uint64_t)1 << 58), add_part(PART_RANGES6, good6, sizeof(good6)));
	end = ending(3, 0);
	end.entries = 2; /* fewer than ranges */
	REFUSED(end, add_ranges4(good4, 3));
	end = ending(3, 0);
	end.duplicates = 4;
	REFUSED(end, add_ranges4(good4, 3));
	end = ending(3, 0);
	strcpy(end.format, "none");
	REFUSED(end, add_ranges4(good4, 3));
	end = ending(3, 0);
	memset(end.format, 'x', sizeof(end.format));
	REFUSED(end, add_ranges4(good4, 3));
	end = ending(3, 0);
	end.bad = 1; /* and nobody asked to skip any */
	REFUSED(end, add_ranges4(good4, 3));
	end = ending(3, 0);
	end.err = 5;
	REFUSED(end, add_ranges4(good4, 3));

	end = ending(0, 0);
	end.bad = 2;
	memset(end.bad_text, 0x1b, sizeof(end.bad_text));
	FORGE(end);
	CHECK(!heard(&set, &report, error, true) && strlen(report.bad_text[1]) < READER_TEXT_MAX &&
		      !strchr(report.bad_text[0], 0x1b),
	      "'%s'", report.bad_text[0]);
	end.err = -EINVAL;
	memset(end.error, 0x1b, sizeof(end.error));
	FORGE(end);
	CHECK(err_is(heard(&set, &report, error, true), EINVAL) && strlen(error) < READER_TEXT_MAX &&
		      !strchr(error, 0x1b),
	      "'%s'", error);
}

/* --- Forged entries, one by one --- */

static struct {
	struct entry got[8];
	size_t n;
	int err;
} entries;

static int on_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	(void)arg;
	entries.got[entries.n++ % 8] = (struct entry){ .family = (uint32_t)family,
						       .line = line,
						       .lo = { (uint64_t)lo, (uint64_t)(lo >> 64) },
						       .hi = { (uint64_t)hi, (uint64_t)(hi >> 64) } };
	return entries.err;
}

/* What comes of these, in a part that is so much longer than they are. */
static int hears_entries(const struct entry *from, size_t n, size_t more)
{
	static struct listener l;
	struct reader_options options = { .each = on_entry };
	struct reader reader = { .options = &options };

	l.reader = &reader;
	l.part = (struct part){ PART_ENTRIES, (uint32_t)(n * sizeof(*from) + more) };
	memcpy(l.bytes, from, n * sizeof(*from));
	entries.n = 0;
	return hear_entries(&l);
}

static void entries_are_checked(void)
{
	static const struct entry good[] = {
		{ .family = 4, .line = 7 },
		{ .family = 4, .line = 8, .lo = { UINT32_MAX }, .hi = { UINT32_MAX } },
		{ .family = 4, .line = 9, .hi = { UINT32_MAX } },
		{ .family = 6, .line = 1ULL << 40, .lo = { 5, 3 }, .hi = { 4, 4 } },
		{ .family = 6, .hi = { UINT64_MAX, UINT64_MAX } },
	};
	static const struct entry bad[] = {
		{ .family = 0 },
		{ .family = 5 },
		{ .family = 7 },
		{ .family = 4, .lo = { 1 } },
		{ .family = 6, .lo = { 1 } },
		{ .family = 6, .lo = { 0, 1 }, .hi = { UINT64_MAX } },
		{ .family = 4, .hi = { UINT32_MAX + 1ULL } },
		{ .family = 4, .hi = { 0, 1 } },
	};
	size_t n = sizeof(good) / sizeof(*good);

	entries.err = 0;
	CHECK(!hears_entries(good, n, 0) && entries.n == n && !memcmp(entries.got, good, sizeof(good)),
	      "%zu of %zu are heard, or others", entries.n, n);
	CHECK(!hears_entries(good, 0, 0) && !entries.n, "of none %zu are heard", entries.n);
	for (size_t more = 1; more < sizeof(*good); more++)
		CHECK(err_is(hears_entries(good, 1, more), EPROTO) && !entries.n, "%zu bytes more", more);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct entry two[] = { good[1], bad[i] };

		CHECK(err_is(hears_entries(two, 2, 0), EPROTO) && entries.n == 1, "bad entry %zu is heard", i);
	}
	entries.err = -ECANCELED;
	CHECK(err_is(hears_entries(good, n, 0), ECANCELED) && entries.n == 1, "it goes on after %zu", entries.n);
}

static void ends_itself(void *arg, int answer)
{
	(void)answer;
	_exit(*(const int *)arg);
}

static void kills_itself(void *arg, int answer)
{
	(void)arg;
	(void)answer;
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* How it ended; and that whoever asks waits for it, and leaves nothing behind. */
static void how_it_ends(void)
{
	static const int statuses[] = { 0, 1, 2, 77 };
	struct confined c;
	char how[96], expected[96];
	int pipes[2];

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		int status = statuses[i], err;

		if (!CHECK(!confined_start(&c, -1, 0, ends_itself, &status), "it does not start"))
			return;
		err = confined_end(&c, how, sizeof(how));
		snprintf(expected, sizeof(expected), "it ended with %d", status);
		CHECK((status ? err_is(err, EIO) : !err) && !strcmp(how, expected), "%d: %s, %d", status, how, err);
		CHECK(c.pid <= 0 && c.answer < 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "it is left");
		strcpy(how, "before");
		CHECK(!confined_end(&c, how, sizeof(how)) && !strcmp(how, "before"), "it ended twice: %s", how);
		confined_stop(&c);
	}
	if (seccomp_is_there() && CHECK(!confined_start(&c, -1, 0, kills_itself, NULL), "it does not start"))
		CHECK(err_is(confined_end(&c, how, sizeof(how)), EIO) &&
			      !strncmp(how, "it was killed by signal ", strlen("it was killed by signal ")),
		      "%s", how);
	/* One that waits for its input is stopped. */
	if (!CHECK(!pipe(pipes), "no pipe"))
		return;
	if (CHECK(!confined_start(&c, pipes[0], 0, echo, NULL), "it does not start")) {
		confined_stop(&c);
		CHECK(c.pid <= 0 && c.answer < 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "it goes on");
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* An answer that comes in pieces, and one that is too short. */
static void in_pieces(void)
{
	struct confined c = { .answer = -1 };
	char got[10] = "";
	int pipes[2];
	pid_t pid;

	if (!CHECK(!pipe(pipes), "no pipe"))
		return;
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 14; i++)
			if (write(pipes[1], &"0123456789abcd"[i], 1) != 1)
				break;
		_exit(0);
	}
	close(pipes[1]);
	c.answer = pipes[0];
	CHECK(!confined_answer(&c, got, 9) && !strcmp(got, "012345678"), "'%s'", got);
	CHECK(!confined_answer(&c, got, 0) && !confined_answer(&c, got, 4) && !memcmp(got, "9abc", 4), "'%s'", got);
	CHECK(err_is(confined_answer(&c, got, 2), EIO) && got[0] == 'd', "more than there is");
	close(c.answer);
	CHECK(err_is(confined_answer(&c, got, 2), EBADF), "from nowhere");
	waitpid(pid, NULL, 0);
}

static const struct ktap_case cases[] = {
	{ "is_confined", is_confined }, { "is_killed", is_killed },
	{ "is_bounded", is_bounded },	{ "ends_with_its_parent", ends_with_its_parent },
	{ "is_checked", is_checked },	{ "entries_are_checked", entries_are_checked },
	{ "how_it_ends", how_it_ends }, { "in_pieces", in_pieces },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
