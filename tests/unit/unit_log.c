// SPDX-License-Identifier: GPL-2.0-only
/* A failure is reported with its own reason: never with that of another one that was got over. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "ktap.h"

static uid_t user;
static unsigned int ends; /* of what shows how far it is */

#define geteuid()	user
#define time(to)	((time_t)1700000000)
#define clock_seconds() 12.3456
#define progress_end()	(ends++)
#include "base/log.c"
#undef time

static bool reads(int err, const char *text)
{
	return CHECK(!strcmp(reason(err), text), "'%s', not '%s'", reason(err), text);
}

static void own_text(void)
{
	int err = because(-ENOENT, "%s: there is no list '%s'", "unload", "drop");

	reads(err, "unload: there is no list 'drop'");
	reads(err, "unload: there is no list 'drop'");
}

/* As add does: the edit in place finds no memory for its map, and the generation built instead finds none either. */
static void swallowed(void)
{
	int first = because(-ENOMEM, "filter: Cannot allocate memory");

	reads(-ENOMEM, strerror(ENOMEM));
	reads(first, "filter: Cannot allocate memory");
}

/* A failure on the way back must not take the place of what it goes back for. */
static void on_the_way_back(void)
{
	int err = because(-EBUSY, "eth1: another program is attached there");

	for (int i = 0; i < 200; i++)
		because(-EBUSY, "eth%d: it cannot be detached", i);
	because(-EIO, "state.db: cannot be written");
	reads(err, "eth1: another program is attached there");
}

/* What nobody was told, as there was no -v, is not the reason of the next failure. */
static void not_said(void)
{
	FILE *messages = stderr;

	stderr = fopen("/dev/null", "we");
	note("%s", reason(-EPERM));
	fail("the words are wrong");
	CHECK(!log_last_errno(), "after a note: %d", log_last_errno());
	log_settings.quiet = true;
	warn("%s", reason(-EIO));
	fail("the words are wrong");
	CHECK(!log_last_errno(), "after a warning: %d", log_last_errno());
	fail("%s", reason(-ENOSPC));
	CHECK(log_last_errno() == ENOSPC, "its own: %d", log_last_errno());
	fclose(stderr);
	stderr = messages;
}

/* Of each kind the first, and how many more there are. */
static void by_their_kinds(void)
{
	static const char wanted[] = "xdp-bloom: list 'a' is empty\nxdp-bloom: 'b' is not shown\n"
				     "xdp-bloom: 2 more like this: list 'a' is empty\n"
				     "xdp-bloom: list 'e' is empty\nxdp-bloom: list 'f' is empty\n"
				     "xdp-bloom: list 'g' is empty\nxdp-bloom: 1 more like this: list 'g' is empty\n";
	static const char names[] = "abcdefgh";
	FILE *messages = stderr;
	char *said;
	size_t size;

	log_settings.quiet = false;
	stderr = open_memstream(&said, &size);
	log_by_kind(true);
	for (int i = 0; i < 8; i++) {
		if (i == 4)
			log_by_kind(false);
		if (i == 6)
			log_by_kind(true);
		warn(i == 1 ? "'%c' is not shown" : "list '%c' is empty", names[i]);
	}
	log_by_kind(false);
	fclose(stderr);
	stderr = messages;
	CHECK(!strcmp(said, wanted), "'%s', not '%s'", said, wanted);
	free(said);
}

/* Two kinds that repeat: each is told of. */
static void two_kinds(void)
{
	static const char wanted[] = "xdp-bloom: x1\nxdp-bloom: y1\nxdp-bloom: 1 more like this: x1\n"
				     "xdp-bloom: 2 more like this: y1\n";
	FILE *messages = stderr;
	char *said;
	size_t size;

	stderr = open_memstream(&said, &size);
	log_by_kind(true);
	for (int i = 1; i <= 3; i++) {
		if (i < 3)
			warn("x%d", i);
		warn("y%d", i);
	}
	log_by_kind(false);
	fclose(stderr);
	stderr = messages;
	CHECK(!strcmp(said, wanted), "'%s', not '%s'", said, wanted);
	free(said);
}

/* However many errors there were: the last number is followed by the first. */
static void marks(void)
{
	unsigned int before = recorded;

	recorded = MARKS - 1;
	for (int i = 0; i < 3; i++) {
		int err = because(-EIO, "it is number %d", i);
		char wanted[32];

		snprintf(wanted, sizeof(wanted), "it is number %d", i);
		CHECK(err < -(1 << ERRNO_BITS) && err_is(err, EIO) && !strcmp(reason(err), wanted), "%d: %d, '%s'", i,
		      err, reason(err));
	}
	recorded = before;
}

/* --- Word for word --- */

static int was[2], to;

/* Both outputs are one, as on a terminal. */
static void begin(void)
{
	fflush(stdout);
	to = memfd_create("said", MFD_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		was[i] = dup(i + 1);
		dup2(to, i + 1);
	}
	log_settings = (struct log_settings){ 0 };
}

static void said(const char *text)
{
	static char is[4 * LINE_MAX_BYTES];
	ssize_t n;

	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(was[i], i + 1);
		close(was[i]);
	}
	n = pread(to, is, sizeof(is) - 1, 0);
	is[n > 0 ? n : 0] = '\0';
	close(to);
	log_settings = (struct log_settings){ 0 };
	log_where(NULL);
	log_subject = (struct log_subject){ 0 };
	CHECK(!strcmp(is, text), "'%s', not '%s'", is, text);
}

static void as_text(void)
{
	begin();
	ends = 0;
	fputs("before ", stdout);
	warn("%s", "a\nb\x1b");
	CHECK(ends == 1 && strcmp(log_last(), "a?b?") != 0, "'%s'", log_last());
	note("not with -v");
	log_settings.verbose = true;
	note("with -v");
	log_where("lists.conf:7");
	CHECK(fail("wrong: %d", 7) == EXIT_ERROR && !strcmp(log_last(), "wrong: 7"), "'%s'", log_last());
	warn("after");
	CHECK(!strcmp(log_last(), "wrong: 7"), "'%s'", log_last());
	log_settings.quiet = true;
	warn("with --quiet");
	CHECK(!log_told(&log_subject, "as JSON alone"), "it is told as text");
	said("before xdp-bloom: a?b?\nxdp-bloom: with -v\nxdp-bloom: lists.conf:7: wrong: 7\n"
	     "xdp-bloom: lists.conf:7: after\n");
}

static void as_json(void)
{
	static const struct log_subject about = { "load", "drop", 10 }, other = { NULL, "drop", 0 },
					long_ago = { "run", NULL, 12.3456 - 123456.789 };

	begin();
	log_settings.json = true;
	warn("a \"b\"");
	log_where("lists.conf:7");
	log_settings.verbose = true;
	note("c");
	log_where(NULL);
	log_subject = about;
	fail("d");
	CHECK(log_told(&other, "e"), "it is not told");
	log_told(&long_ago, "f");
	said("{\"time\":\"2023-11-14T22:13:20Z\",\"level\":\"warning\",\"message\":\"a \\\"b\\\"\"}\n"
	     "{\"time\":\"2023-11-14T22:13:20Z\",\"level\":\"info\",\"message\":\"c\",\"where\":\"lists.conf:7\"}\n"
	     "{\"time\":\"2023-11-14T22:13:20Z\",\"level\":\"error\",\"message\":\"d\",\"verb\":\"load\",\"seconds\":2.346,"
	     "\"list\":\"drop\"}\n"
	     "{\"time\":\"2023-11-14T22:13:20Z\",\"level\":\"info\",\"message\":\"e\",\"list\":\"drop\"}\n"
	     "{\"time\":\"2023-11-14T22:13:20Z\",\"level\":\"info\",\"message\":\"f\",\"verb\":\"run\",\"seconds\":123456.789}\n");
}

static void *nothing(size_t n)
{
	(void)n;
	return NULL;
}

/* A line is one all the same. */
static void without_memory(void)
{
	begin();
	log_settings.json = true;
	log_where("lists.conf:7");
	log_subject = (struct log_subject){ "load", "drop", 10 };
	json_set_alloc_funcs(nothing, free);
	warn("a");
	json_set_alloc_funcs(malloc, free);
	said("\n");
}

/* Whoever may not is told how he may. */
static void not_root(void)
{
	static char long_one[LINE_MAX_BYTES];
	char expected[LINE_MAX_BYTES + 100];

	begin();
	user = 1000;
	fail("%s", reason(-EPERM));
	fail("%s", reason(-EACCES));
	fail("%s", reason(-ENOENT));
	fail("only root may: %s", reason(-EPERM));
	warn("%s", reason(-EPERM));
	user = 0;
	fail("%s", reason(-EPERM));
	said("xdp-bloom: Operation not permitted (you are not root: sudo xdp-bloom)\n"
	     "xdp-bloom: Permission denied (you are not root: sudo xdp-bloom)\n"
	     "xdp-bloom: No such file or directory\nxdp-bloom: only root may: Operation not permitted\n"
	     "xdp-bloom: Operation not permitted\nxdp-bloom: Operation not permitted\n");
	/* As far as there is room. */
	memset(long_one, 'x', sizeof(long_one) - 10);
	begin();
	user = 1000;
	reason(-EPERM);
	fail("%s", long_one);
	user = 0;
	snprintf(expected, sizeof(expected), "xdp-bloom: %s (you are\n", long_one);
	said(expected);
}

/* One more than are kept apart: of that one, all are said. */
static void many_kinds(void)
{
	static const char *const kinds_of[] = { "a%d", "b%d", "c%d", "d%d", "e%d", "f%d", "g%d", "h%d", "i%d",
						"j%d", "k%d", "l%d", "m%d", "n%d", "o%d", "p%d", "q%d" };
	char expected[2000] = "";
	size_t n = 0;

	begin();
	log_by_kind(true);
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < 17; k++) {
			void (*say_it)(const char *fmt, ...) = warn;

			say_it(kinds_of[k], i);
			if (!i || k == 16)
				n += (size_t)snprintf(expected + n, sizeof(expected) - n, "xdp-bloom: %c%d\n",
						      kinds_of[k][0], i);
		}
	log_by_kind(false);
	for (size_t k = 0; k < 16; k++)
		n += (size_t)snprintf(expected + n, sizeof(expected) - n, "xdp-bloom: 1 more like this: %c0\n",
				      kinds_of[k][0]);
	said(expected);
}

/* Each of as many as are kept has its own. */
static void every_text(void)
{
	int errs[TEXTS];
	char text[20];

	for (int i = 0; i < TEXTS; i++)
		errs[i] = because(-EIO, "text %d", i);
	for (int i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		reads(errs[i], text);
	}
	because(-EIO, "one more");
	reads(errs[0], strerror(EIO));
	reads(0, strerror(0));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a failure has its own text", own_text },
		{ "an error without a text does not take an older one", swallowed },
		{ "a failure on the way back does not hide the first", on_the_way_back },
		{ "what was not said is no reason", not_said },
		{ "warnings by their kinds", by_their_kinds },
		{ "two kinds", two_kinds },
		{ "marks of errors", marks },
		{ "many kinds", many_kinds },
		{ "as text", as_text },
		{ "as JSON", as_json },
		{ "without memory", without_memory },
		{ "whoever is not root", not_root },
		{ "as many texts as are kept", every_text },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
