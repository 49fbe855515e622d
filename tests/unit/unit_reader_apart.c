// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list that is read in another process, at the bounds of its parts: what is told there is heard here, all of it and
 * in its order; and what is said of it where something fails. The process is made up: what it writes is in memory.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/log.h"
#include "base/memory.h"
#include "ktap.h"
#include "sets/ranges.h"
#include "sets/ranges_packed.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"

#define ENOUGH(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

static struct {
	unsigned char bytes[1 << 20];
	size_t n, heard;
	unsigned int tries, moves;
	unsigned int parts, most; /* so many parts are told before nobody listens; 0: all */
} * told;
#define said (*told)

/* What there is in the list, and what comes of reading it. */
static struct {
	int err;
	const char *error, *format;
	size_t entries;
	struct ranges set;
} list;

static struct {
	int start_err;
	const char *how; /* it ended before its time */
	size_t memory;	 /* it may take */
	unsigned int waits, shown, ended, stopped;
	unsigned int allocations; /* so many more are possible; 0: all */
} process;

static void *given_memory(size_t size)
{
	if (process.allocations && !--process.allocations)
		return NULL;
	return malloc(size);
}

static void *given_zeroes(size_t n, size_t size)
{
	if (process.allocations && !--process.allocations)
		return NULL;
	return calloc(n, size);
}

static bool given_tell(int answer, const void *from, size_t size)
{
	said.tries++;
	if (said.most && said.parts == said.most)
		return false;
	ENOUGH(answer == 1 && said.n + size <= sizeof(said.bytes));
	memcpy(said.bytes + said.n, from, size);
	said.n += size;
	said.parts++;
	return true;
}

static int given_answer(const struct confined *c, void *to, size_t size)
{
	(void)c;
	if (said.n - said.heard < size)
		return -EIO;
	memcpy(to, said.bytes + said.heard, size);
	said.heard += size;
	return 0;
}

static int given_start(struct confined *c, int input, size_t memory, confined_work *work, void *arg)
{
	const struct reader *reader = arg;
	int status;
	pid_t pid;

	*c = (struct confined){ .answer = -1 };
	CHECK(input == 7 && memory == reader->options->memory, "input %d, %zu bytes", input, memory);
	if (process.start_err)
		return process.start_err;
	c->pid = 5;
	if (said.n) /* it is forged */
		return 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(arg, 1);
		_exit(0);
	}
	ENOUGH(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(!status, "what reads it ended with status %x", (unsigned int)status);
	return 0;
}

static int given_end(struct confined *c, char *how, size_t size)
{
	CHECK(c->pid == 5, "it is not there");
	process.ended++;
	if (process.how)
		snprintf(how, size, "%s", process.how);
	return process.how ? -EIO : 0;
}

static void given_stop(struct confined *c)
{
	(void)c;
	process.stopped++;
}

static size_t given_most(size_t memory)
{
	return memory ? memory : process.memory;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	CHECK(n == 1 && fds->events == POLLIN && ms == 100, "it waits %d ms", ms);
	if (!process.waits)
		return 1;
	process.waits--;
	return 0;
}

static void given_progress(struct reader *reader)
{
	(void)reader;
	process.shown++;
}

static void given_move(struct input *input, int fd)
{
	ENOUGH(!input && !fd);
	said.moves++;
}

static struct network network_of(size_t i)
{
	struct network network = { .asn = (uint32_t)i, .country = "DE" };

	snprintf(network.name, sizeof(network.name), "NET %zu", i);
	return network;
}

static ip6 first_of(size_t i)
{
	return i % 2 ? i : (ip6)i << 64 | 3;
}

static int family_of(size_t i)
{
	return i % 2 ? 4 : 6;
}

static int made_read(struct reader *reader)
{
	const struct reader_options *o = reader->options;
	struct reader_report *report = reader->report;

	for (size_t i = 0; i < list.entries && (o->each || o->named); i++) {
		struct network network = network_of(i);
		int err = o->named ? o->named(o->arg, family_of(i), first_of(i), first_of(i) + i, &network)
				   : o->each(o->arg, family_of(i), first_of(i), first_of(i) + i, i + 1);

		if (err)
			return err;
	}
	report->format = list.format;
	report->lines = 1ULL << 40;
	report->entries = list.entries;
	report->duplicates = 2;
	report->masked = 1;
	snprintf(report->masked_text, sizeof(report->masked_text), "a host");
	*reader->set = list.set;
	snprintf(reader->error, READER_TEXT_MAX, "%s", list.error);
	return list.err;
}

#define confined_start	given_start
#define confined_answer given_answer
#define confined_end	given_end
#define confined_stop	given_stop
#define confined_tell	given_tell
#define confined_memory given_most
#define malloc		given_memory
#define calloc		given_zeroes
#define poll		given_poll
#define input_fd(input) 7
#define input_move	given_move
#define reader_parse	made_read
#define reader_progress given_progress
#include "sets/reader_apart.c"
#undef malloc
#undef calloc

static struct {
	size_t n;
	bool good;
	int err; /* of the one after so many */
	size_t after;
} heard;

static int on_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	size_t i = heard.n++;

	heard.good &=
		arg == &heard && family == family_of(i) && lo == first_of(i) && hi == first_of(i) + i && line == i + 1;
	return heard.n == heard.after ? heard.err : 0;
}

static int on_named(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	struct network is = network_of(heard.n);

	heard.good &= !memcmp(network, &is, sizeof(is));
	return on_entry(arg, family, lo, hi, heard.n + 1);
}

static struct reader_report report;
static char error[READER_TEXT_MAX];

static int reads(const struct reader_options *options, struct ranges *set)
{
	struct reader reader = { .options = options, .report = &report, .set = set, .name = "it", .error = error };
	int err;

	memset(&report, 0, sizeof(report));
	strcpy(error, "");
	said.heard = said.parts = said.tries = said.moves = 0;
	process.ended = process.stopped = process.shown = 0;
	heard.n = 0;
	heard.good = true;
	err = reader_parse_apart(&reader);
	CHECK(reader.options == options, "it has other options");
	return err;
}

/* A list of so many ranges, none of which touches another: of one byte each, or of two. */
static void make_list(size_t n4, size_t n6, unsigned int bytes)
{
	memset(&list, 0, sizeof(list));
	list.error = "";
	list.format = "plain";
	list.entries = n4 + n6 + 2;
	list.set.v4 = malloc((n4 + 1) * sizeof(*list.set.v4));
	list.set.v6 = malloc((n6 + 1) * sizeof(*list.set.v6));
	ENOUGH(list.set.v4 && list.set.v6);
	for (size_t i = 0; i < n4; i++)
		list.set.v4[i].lo = list.set.v4[i].hi = (uint32_t)(i + 1) * (bytes == 1 ? 2 : 80);
	for (size_t i = 0; i < n6; i++)
		list.set.v6[i].lo = list.set.v6[i].hi = (ip6)(i + 1) << 66;
	list.set.n4 = n4;
	list.set.n6 = n6;
}

/* What was told is heard, in so many parts and what was said of it. */
static void round_trip(size_t n4, size_t n6, unsigned int bytes, unsigned int parts)
{
	static const struct reader_options options = { .memory = 1 << 24 };
	struct ranges set = { .duplicates = 5 };
	int err;

	make_list(n4, n6, bytes);
	said.n = 0;
	err = reads(&options, &set);
	CHECK(!err && !error[0] && process.stopped == 1, "%zu and %zu ranges: %s", n4, n6, error);
	CHECK(said.parts == parts && said.heard == said.n && said.moves == 1, "%zu and %zu ranges in %u parts, not %u",
	      n4, n6, said.parts, parts);
	CHECK(set.n4 == n4 && set.n6 == n6 && !set.v4 == !n4 && !set.v6 == !n6 && set.room4 == n4 && set.room6 == n6 &&
		      set.settled4 == n4 && set.settled6 == n6 && set.duplicates == 7,
	      "%zu and %zu ranges, not %zu and %zu", set.n4, set.n6, n4, n6);
	CHECK((!n4 || !memcmp(set.v4, list.set.v4, n4 * sizeof(*set.v4))) &&
		      (!n6 || !memcmp(set.v6, list.set.v6, n6 * sizeof(*set.v6))),
	      "other ranges, of %zu and %zu", n4, n6);
	CHECK(!strcmp(report.format, "plain") && report.lines == 1ULL << 40 && report.entries == n4 + n6 + 2 &&
		      report.duplicates == 2 && report.masked == 1 && !strcmp(report.masked_text, "a host") &&
		      !report.bad,
	      "another report");
	ranges_free(&set);
	ranges_free(&list.set);
}

static void ranges_are_heard(void)
{
	const size_t most4 = PART_MAX - PACKED4_MAX + 1, most6 = PART_MAX / sizeof(struct range6);

	round_trip(0, 0, 1, 1);
	round_trip(1, 0, 1, 2);
	round_trip(0, 1, 1, 2);
	round_trip(1, 1, 1, 3);
	round_trip(most4, 0, 1, 2);
	round_trip(most4 + 1, 0, 1, 3);
	round_trip(2 * most4 - 16, 0, 2, 5);
	round_trip(0, most6 - 1, 1, 2);
	round_trip(0, most6, 1, 2);
	round_trip(0, most6 + 1, 1, 3);
	round_trip(7, 2 * most6, 1, 4);
	round_trip(7, 2 * most6 + 1, 1, 5);
}

/* So many entries; each is told of, in its order. */
static void entries(bool named, size_t n, unsigned int parts)
{
	struct reader_options options = { .each = named ? NULL : on_entry,
					  .named = named ? on_named : NULL,
					  .arg = &heard };
	struct ranges set = RANGES_EMPTY;
	int err;

	make_list(0, 0, 1);
	list.entries = n;
	said.n = 0;
	heard.after = 0;
	err = reads(&options, &set);
	CHECK(n < 2 ? err_is(err, EPROTO) : !err, "%zu entries: %d", n, err);
	CHECK(heard.good && heard.n == n && said.parts == parts && !error[0], "%zu of %zu, in %u parts, not %u: '%s'",
	      heard.n, n, said.parts, parts, error);
	ranges_free(&set);
	ranges_free(&list.set);
}

/* Of fewer than two entries it says that two are double: they are heard all the same, and then it is not believed. */
static void entries_are_heard(void)
{
	const size_t most = PART_MAX / sizeof(struct entry), most_named = PART_MAX / sizeof(struct named_entry);

	entries(false, 0, 1);
	entries(false, 1, 2);
	entries(false, most - 1, 2);
	entries(false, most, 2);
	entries(false, most + 1, 3);
	entries(false, 2 * most, 3);
	entries(true, 0, 1);
	entries(true, 1, 2);
	entries(true, most_named, 2);
	entries(true, most_named + 1, 3);
}

/* Whoever gets the entries has enough: it goes no further, and he says why. */
static void enough_entries(void)
{
	struct reader_options options = { .each = on_entry, .arg = &heard };
	struct ranges set = RANGES_EMPTY;

	make_list(0, 0, 1);
	list.entries = 10;
	said.n = 0;
	heard.after = 4;
	heard.err = -ECANCELED;
	CHECK(err_is(reads(&options, &set), ECANCELED) && heard.n == 4 && !error[0], "%zu: '%s'", heard.n, error);
	ranges_free(&list.set);
}

/* Nobody listens any more after so many parts: nothing more is told. */
static void nobody_listens(void)
{
	struct reader_options options = { .arg = &heard, .memory = 1 << 24 };
	struct ranges set = RANGES_EMPTY;

	heard.after = 0;
	for (said.most = 1; said.most <= 4; said.most++) {
		make_list(2, 5000, 1);
		list.entries = 5010;
		said.n = 0;
		process.how = "it was killed";
		options.each = said.most < 2 ? on_entry : NULL;
		CHECK(err_is(reads(&options, &set), EIO) && said.parts == said.most && process.ended == 1 &&
			      said.tries <= said.most + 2,
		      "%u: %u parts", said.most, said.parts);
		CHECK(!strcmp(error, "it: the process that reads it did not come to an end: it was killed"), "'%s'",
		      error);
		ranges_free(&list.set);
	}
	said.most = 0;
	process.how = NULL;
}

/* What is said where it fails: the reader's own words, if it has some. */
static void fails(int err, const char *words, bool each, const char *says)
{
	struct reader_options options = { .each = each ? on_entry : NULL, .arg = &heard, .memory = (size_t)5 << 20 };
	struct ranges set = RANGES_EMPTY;
	int got;

	make_list(3, 3, 1);
	list.entries = 0;
	list.err = err;
	list.error = words;
	said.n = 0;
	got = reads(&options, &set);
	CHECK(error_number(got) == -err && !strcmp(error, says), "%d, '%s': %d, '%s', not '%s'", err, words, got, error,
	      says);
	CHECK(!set.n4 && !set.n6 && !report.entries && !report.format && process.stopped == 1, "%d: it is heard", err);
	ranges_free(&list.set);
}

static void what_is_said(void)
{
	fails(-EINVAL, "it:3: 'x': no address", false, "it:3: 'x': no address");
	fails(-EINVAL, "it:3: 'x': no address", true, "it:3: 'x': no address");
	fails(-EINVAL, "", false, "it: Invalid argument");
	fails(-EINVAL, "", true, "");
	fails(-EPROTO, "", false, "it: the process that reads it gave no proper answer");
	fails(-EPROTO, "", true, "");
	fails(-ENOMEM, "it: Cannot allocate memory", false, "it: it takes more than 5 MiB of memory to read");
	fails(-ENOMEM, "it: Cannot allocate memory", true, "it: it takes more than 5 MiB of memory to read");
	fails(-ENOMEM, "it: xz data that takes more than 256 MiB to unpack", false,
	      "it: xz data that takes more than 256 MiB to unpack");
	fails(-EINVAL, "it: Cannot allocate memory", false, "it: Cannot allocate memory");
	/* An error of the list's own, and the process ended as it should. */
	fails(-EIO, "it: Input/output error", false, "it: Input/output error");
	process.how = "it ended with 1";
	fails(-EIO, "it: Input/output error", false,
	      "it: the process that reads it did not come to an end: it ended with 1");
	process.how = NULL;
}

/* No process, or no memory for what it says. */
static void does_not_begin(void)
{
	struct reader_options options = { .memory = (size_t)1 << 24 };
	struct ranges set = RANGES_EMPTY;

	make_list(3, 3, 1);
	said.n = 0;
	process.start_err = -EAGAIN;
	CHECK(err_is(reads(&options, &set), EAGAIN) && process.stopped == 1 &&
		      !strcmp(error, "it: Resource temporarily unavailable"),
	      "'%s'", error);
	process.start_err = 0;
	/* The process's own is the first; then those for either family. */
	for (unsigned int at = 1; at <= 3; at++) {
		said.n = 0;
		process.allocations = at;
		CHECK(err_is(reads(&options, &set), ENOMEM) && process.stopped == (at > 1) &&
			      !strcmp(error, "it: Cannot allocate memory"),
		      "%u: '%s'", at, error);
	}
	process.allocations = 4;
	said.n = 0;
	CHECK(!reads(&options, &set), "%s", error);
	process.allocations = 0;
	ranges_free(&set);
	ranges_free(&list.set);
}

/* As much as it may take itself, and a range more. */
static void room(void)
{
	struct reader_options options = { 0 };
	struct ranges set = RANGES_EMPTY;

	make_list(100, 10, 1);
	for (int less = 0; less < 3; less++) {
		list.set.n6 = less < 2 ? 0 : 10;
		process.memory = less ? 100 * sizeof(struct range4) - 1 : 100 * sizeof(struct range4);
		if (less == 2) {
			list.set.n4 = 1;
			process.memory = 10 * sizeof(struct range6) - 1;
		}
		said.n = 0;
		CHECK(less ? err_is(reads(&options, &set), ENOMEM) : !reads(&options, &set), "%d: %s", less, error);
		ranges_free(&set);
	}
	process.memory++;
	said.n = 0;
	CHECK(!reads(&options, &set), "%s", error);
	ranges_free(&set);
	ranges_free(&list.set);
}

/* While it reads, somebody sees how far it is; only where he wants to. */
static void progress(void)
{
	struct reader_options options = { .progress = true, .memory = 1 << 24 };
	struct ranges set = RANGES_EMPTY;

	make_list(3, 0, 1);
	said.n = 0;
	process.waits = 3;
	CHECK(!reads(&options, &set) && process.shown == 3 && !process.waits, "shown %u times", process.shown);
	ranges_free(&set);
	options.progress = false;
	said.n = 0;
	process.waits = 3;
	CHECK(!reads(&options, &set) && !process.shown && process.waits == 3, "shown %u times", process.shown);
	process.waits = 0;
	ranges_free(&set);
	ranges_free(&list.set);
}

/* --- What is forged --- */

static void add(uint32_t kind, const void *from, size_t bytes)
{
	struct part part = { kind, (uint32_t)bytes };

	memcpy(said.bytes + said.n, &part, sizeof(part));
	memcpy(said.bytes + said.n + sizeof(part), from, bytes);
	said.n += sizeof(part) + bytes;
}

static struct ending ending(uint64_t n4, uint64_t n6)
{
	return (struct ending){ .format = "plain", .entries = n4 + n6, .n4 = n4, .n6 = n6 };
}

static void forge(const struct ending *end)
{
	said.n = 0;
	add(PART_END, end, sizeof(*end));
}

static void believed(bool is, const char *what)
{
	struct reader_options options = { .memory = 1 << 24, .skip_bad = true };
	struct range4 *had = malloc(sizeof(*had));
	struct ranges set = { .v4 = had, .n4 = 1, .room4 = 1, .settled4 = 1 };
	int err;

	ENOUGH(had);
	*had = (struct range4){ 0, 0 };
	err = reads(&options, &set);
	CHECK(is ? !err : err_is(err, EPROTO), "%s: %d", what, err);
	CHECK(!error[0] == is && (is || !strcmp(error, "it: " NOT_AN_ANSWER)), "%s: '%s'", what, error);
	ranges_free(&set);
}

/* Numbers that are the most that can be, and one more. */
static void numbers_are_checked(void)
{
	static const struct range4 two[] = { { 4, 4 }, { 6, 6 } };
	struct ending end = ending(1, 0);
	unsigned char packed[32];
	size_t done, bytes = packed4_put(two, 2, &done, packed, sizeof(packed));

	/* One that was there before, and one that was an entry. */
	end.n4 = 2;
	forge(&end);
	add(PART_RANGES4, packed, bytes);
	believed(true, "as many as were there and were read");
	end.n4 = 3;
	forge(&end);
	believed(false, "one more than were there and were read");
	end = ending(0, 0);
	end.entries = end.duplicates = end.masked = 5;
	forge(&end);
	believed(true, "all are double, and all masked");
	end.duplicates = 6;
	forge(&end);
	believed(false, "more are double than there are");
	end.duplicates = 5;
	end.masked = 6;
	forge(&end);
	believed(false, "more are masked than there are");
	end = ending((uint64_t)UINT32_MAX + 1, 0);
	forge(&end);
	believed(false, "more ranges than addresses");
	end = ending(0, SIZE_MAX / 64 + 1);
	forge(&end);
	believed(false, "more ranges than memory");
	end = ending(0, 0);
	end.err = 1;
	forge(&end);
	believed(false, "an error that is none");
	end.err = -(1 << ERRNO_BITS);
	forge(&end);
	believed(false, "an error beyond all");
	end.err = -EPROTO;
	forge(&end);
	believed(false, "it says so itself");
	strcpy(end.format, "");
	end.err = 0;
	forge(&end);
	believed(false, "a format without a name");
	end = ending(0, 0);
	said.n = 0;
	add(PART_END, &end, sizeof(end) - 1);
	believed(false, "a short ending");
}

/* The largest error that there can be, and sizes that only memory is too small for. */
static void bounds(void)
{
	struct reader_options options = { .memory = 1 << 24 };
	struct ranges set = RANGES_EMPTY;
	struct ending end = ending(0, 0);

	end.err = -((1 << ERRNO_BITS) - 1);
	forge(&end);
	CHECK(reads(&options, &set) == end.err, "'%s'", error);
	end = ending(UINT32_MAX, 0);
	forge(&end);
	CHECK(err_is(reads(&options, &set), ENOMEM), "'%s'", error);
	end = ending(0, SIZE_MAX / 64);
	forge(&end);
	CHECK(err_is(reads(&options, &set), ENOMEM), "'%s'", error);
}

/* Lines that were left out: the words of so many are kept, and only where somebody asked for it. */
static void bad_lines(void)
{
	struct reader_options options = { .memory = 1 << 24, .skip_bad = true };
	struct ranges set = RANGES_EMPTY;
	struct ending end = ending(0, 0);

	for (size_t i = 0; i < READER_BAD_MAX; i++)
		snprintf(end.bad_text[i], sizeof(end.bad_text[i]), "line %zu\x1b", i);
	for (end.bad = 0; end.bad <= READER_BAD_MAX + 1; end.bad++) {
		bool good = true;

		forge(&end);
		CHECK(!reads(&options, &set) && report.bad == end.bad, "%u: '%s'", (unsigned int)report.bad, error);
		for (size_t i = 0; i < READER_BAD_MAX; i++) {
			char text[READER_TEXT_MAX] = "";

			if (i < end.bad)
				snprintf(text, sizeof(text), "line %zu?", i);
			good &= !strcmp(report.bad_text[i], text);
		}
		CHECK(good, "of %u lines: '%s'", (unsigned int)end.bad, report.bad_text[0]);
	}
	options.skip_bad = false;
	end.bad = 1;
	forge(&end);
	CHECK(err_is(reads(&options, &set), EPROTO) && !report.bad, "'%s'", error);
	/* It says what it left out also where it fails then. */
	options.skip_bad = true;
	end.err = -EINVAL;
	strcpy(end.error, "it: \x1b");
	forge(&end);
	CHECK(err_is(reads(&options, &set), EINVAL) && report.bad == 1 && !strcmp(error, "it: ?"), "'%s'", error);
}

/* Where the one part ends and the next begins, ranges are as far apart as elsewhere. */
static void joints(void)
{
	static const struct {
		struct range4 first, second;
		bool good;
	} four[] = {
		{ { 0, 9 }, { 11, 12 }, true },
		{ { 5, 9 }, { 10, 12 }, false },
		{ { 5, 9 }, { 9, 12 }, false },
		{ { 5, 9 }, { 1, 2 }, false },
		{ { 5, UINT32_MAX - 2 }, { UINT32_MAX, UINT32_MAX }, true },
		{ { 5, UINT32_MAX - 1 }, { UINT32_MAX, UINT32_MAX }, false },
		{ { 5, UINT32_MAX }, { UINT32_MAX, UINT32_MAX }, false },
	};
	static const struct {
		struct range6 first, second;
		bool good;
	} six[] = {
		{ { 5, 9 }, { 11, 11 }, true },	    { { 5, 9 }, { 10, 12 }, false },
		{ { 5, 9 }, { 9, 12 }, false },	    { { 5, 9 }, { 8, 12 }, false },
		{ { 5, 9 }, { 12, 11 }, false },    { { 9, 5 }, { 11, 12 }, false },
		{ { 0, 0 }, { 2, -(ip6)1 }, true }, { { 0, -(ip6)2 }, { -(ip6)1, -(ip6)1 }, false },
	};
	struct ending end;

	for (size_t i = 0; i < sizeof(four) / sizeof(*four); i++) {
		unsigned char packed[32];
		size_t done;

		end = ending(2, 0);
		forge(&end);
		add(PART_RANGES4, packed, packed4_put(&four[i].first, 1, &done, packed, sizeof(packed)));
		add(PART_RANGES4, packed, packed4_put(&four[i].second, 1, &done, packed, sizeof(packed)));
		believed(four[i].good, "IPv4");
	}
	for (size_t i = 0; i < sizeof(six) / sizeof(*six); i++)
		for (int parts = 1; parts <= 2; parts++) {
			struct range6 both[] = { six[i].first, six[i].second };

			end = ending(0, 2);
			forge(&end);
			add(PART_RANGES6, both, sizeof(both) / (size_t)parts);
			if (parts == 2)
				add(PART_RANGES6, both + 1, sizeof(*both));
			believed(six[i].good, "IPv6");
		}
	/* More than it said, in one part or in the next. */
	end = ending(0, 1);
	forge(&end);
	add(PART_RANGES6, (struct range6[]){ { 1, 1 }, { 5, 5 } }, 2 * sizeof(struct range6));
	believed(false, "one more than it said");
	end = ending(2, 0);
	forge(&end);
	add(PART_RANGES4, (unsigned char[]){ 2 }, 1);
	add(PART_RANGES4, (unsigned char[]){ 8, 2 }, 2);
	believed(false, "one more than it said");
	end = ending(0, 2);
	forge(&end);
	add(PART_RANGES6, (struct range6[]){ { 1, 1 } }, sizeof(struct range6));
	add(PART_RANGES6, (struct range6[]){ { 5, 5 }, { 9, 9 } }, 2 * sizeof(struct range6));
	believed(false, "one more than it said");
}

static int on_unclean(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	static const struct network clean = { .asn = 7, .name = "?a?" };

	(void)lo;
	(void)hi;
	heard.n++;
	heard.good &= arg == &heard && family == 4 && !memcmp(network, &clean, sizeof(clean));
	return 0;
}

/* What a name has in it is in order for whoever shows it. */
static void names_are_clean(void)
{
	struct reader_options options = { .named = on_unclean, .arg = &heard, .memory = 1 << 24 };
	static const struct named_entry entry = { .entry = { .family = 4 },
						  .network = { .asn = 7,
							       .country = "a\x1b",
							       .name = "\x1b"
								       "a\x1b" } };
	struct ranges set = RANGES_EMPTY;
	struct ending end = ending(0, 0);

	said.n = 0;
	add(PART_NAMED, &entry, sizeof(entry));
	add(PART_END, &end, sizeof(end));
	CHECK(!reads(&options, &set) && heard.good && heard.n == 1, "%zu, %s", heard.n, error);
	/* Only where names were asked for, and then nothing but names. */
	options.named = NULL;
	CHECK(err_is(reads(&options, &set), EPROTO), "%s", error);
	options.each = on_entry;
	CHECK(err_is(reads(&options, &set), EPROTO) && !heard.n, "%s", error);
	options.named = on_unclean;
	said.n = 0;
	add(PART_ENTRIES, &entry.entry, sizeof(entry.entry));
	add(PART_END, &end, sizeof(end));
	CHECK(err_is(reads(&options, &set), EPROTO) && !heard.n, "%s", error);
}

/* Parts that come when it is not their turn, are too long, or of no kind. */
static void turns(void)
{
	static const struct entry entry = { .family = 4 };
	static const struct range6 six = { 5, 5 };
	struct part much = { PART_END, PART_MAX + 1 };
	struct ending end = ending(0, 1);

	said.n = 0;
	add(PART_RANGES6, &six, sizeof(six));
	believed(false, "ranges before the ending");
	forge(&end);
	add(PART_END, &end, sizeof(end));
	believed(false, "two endings");
	forge(&end);
	add(PART_ENTRIES, &entry, sizeof(entry));
	believed(false, "entries after the ending");
	forge(&end);
	add(PART_NAMED, &entry, sizeof(entry));
	believed(false, "named ones after the ending");
	said.n = 0;
	add(PART_ENTRIES, &entry, sizeof(entry));
	believed(false, "entries that nobody asked for");
	for (uint32_t kind = 6; kind <= 8; kind++) {
		forge(&end);
		add(kind, &six, sizeof(six));
		believed(false, "a part of no kind");
	}
	said.n = sizeof(much);
	memcpy(said.bytes, &much, sizeof(much));
	memset(said.bytes + said.n, 0, much.bytes);
	said.n += much.bytes;
	believed(false, "more than a part");
	forge(&end);
	add(PART_RANGES6, &six, sizeof(six));
	believed(true, "all as it should be");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "ranges are heard", ranges_are_heard },
		{ "entries are heard", entries_are_heard },
		{ "enough entries", enough_entries },
		{ "nobody listens", nobody_listens },
		{ "what is said where it fails", what_is_said },
		{ "one that does not begin", does_not_begin },
		{ "as much as it may take", room },
		{ "how far it is", progress },
		{ "numbers are checked", numbers_are_checked },
		{ "the last ones of each", bounds },
		{ "lines that were left out", bad_lines },
		{ "where parts meet", joints },
		{ "each in its turn", turns },
		{ "names are clean", names_are_clean },
	};

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ENOUGH(told != MAP_FAILED);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
