// SPDX-License-Identifier: GPL-2.0-only
/* What the process of a fleet has seen: what is written comes back, whatever else lies there is judged; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_fleet_seen.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_seen.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char own_directory[] = "/tmp/unit_fleet_seen.XXXXXX", file[64], beside[64];
static struct context own = CONTEXT_DEFAULT;

/* Which call fails, and with what. */
static const char *failing = "";
static int with;

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0)
		return false;
	errno = with;
	return true;
}

static json_t *given_packed(json_t *object)
{
	if (!fails("pack"))
		return object;
	json_decref(object);
	return NULL;
}

static off_t size_is; /* of what is read; 0: as it is */

static int given_fstat(int fd, struct stat *st)
{
	int err = fstat(fd, st);

	st->st_size = size_is ?: st->st_size;
	return err;
}

#define fstat			  given_fstat
#define trust_directory(of)	  (fails("trust") ? because(-with, "it is not ours") : trust_directory(of))
#define json_pack(...)		  given_packed(json_pack(__VA_ARGS__))
#define json_dumpfd(what, fd, as) (fails("write") ? -1 : json_dumpfd(what, fd, as))
#define rename(from, to)	  (fails("rename") ? -1 : rename(from, to))
#define calloc(n, size)		  (fails("calloc") ? NULL : calloc(n, size))
#include "observe/fleet_seen.c"
#undef rename
#undef fstat
#undef calloc

static void print(const struct fleet_seen *s)
{
	printf("%s at %lld since %lld '%s' '%s'\n", s->up ? "up" : "down", (long long)s->at, (long long)s->since,
	       s->version, s->why);
	printf("  clock %s %lld, away %lld, said %lld, unsaid '%s', lost at %lld '%s'\n",
	       s->clock_known ? "is" : "is not", (long long)s->offset, (long long)s->rtt, (long long)s->said, s->unsaid,
	       (long long)s->lost_at, s->lost);
	for (size_t i = 0; i < s->n; i++) {
		const struct member_seen *m = &s->members[i];

		printf("  '%s' heard %lld, %lld entries, %lld gaps, %lld bad, %g %g, '%s'\n", m->name,
		       (long long)m->heard, (long long)m->entries, (long long)m->gaps, (long long)m->bad, m->p50,
		       m->p99, m->why);
	}
}

static void reads(void)
{
	struct fleet_seen seen;
	static const struct fleet_seen none;

	memset(&seen, 0xff, sizeof(seen));
	if (fleet_seen_read(&own, &seen))
		print(&seen);
	else
		printf("nothing%s\n", memcmp(&seen, &none, sizeof(seen)) != 0 ? ", but something is left" : "");
	fleet_seen_free(&seen);
}

static void put(const char *path, const char *text, size_t blanks)
{
	FILE *out = fopen(path, "w");

	if (!out || fchmod(fileno(out), 0600) || fputs(text, out) < 0)
		abort();
	while (blanks--)
		putc(' ', out);
	if (fclose(out))
		abort();
}

static void lies_there(const char *text)
{
	printf("-- %s\n", text);
	put(file, text, 0);
	reads();
}

static void begin(void)
{
	unlink(file);
	unlink(beside);
	failing = "";
	with = 0;
}

static struct member_seen members[] = {
	{ .name = "one", .heard = 1, .entries = 2, .gaps = 3, .bad = 4, .p50 = 0.5, .p99 = 9.25, .why = "a\tgap" },
	{ .name = "two", .p50 = -1, .p99 = -1 },
};

static const struct fleet_seen whole = { .up = true,
					 .at = 11,
					 .since = 12,
					 .version = "8.0",
					 .why = "wh\x1by",
					 .clock_known = true,
					 .offset = -13,
					 .rtt = 14,
					 .said = 15,
					 .unsaid = "full",
					 .lost_at = 16,
					 .lost = "it began anew",
					 .members = members,
					 .n = 2 };

static void writes(const struct fleet_seen *seen)
{
	char text[2000] = "";
	struct stat st;
	FILE *in;
	int err = fleet_seen_write(&own, seen);

	printf("%s\n", !err ? "written" : strstr(reason(err), FRESH) ?: reason(err));
	if (!stat(beside, &st))
		puts("what was begun is left");
	in = fopen(file, "r");
	if (in) {
		size_t n = fread(text, 1, sizeof(text) - 1, in);

		printf("mode %o: %.*s\n", !stat(file, &st) ? st.st_mode & 0777 : 0, (int)n, text);
		fclose(in);
	}
}

static void comes_back(void)
{
	static const struct fleet_seen little = { .at = 1 };

	reads();
	put(beside, "what a process left that was killed", 2000);
	writes(&whole);
	reads();
	writes(&little);
	reads();
	fleet_seen_forget(&own);
	reads();
	fleet_seen_forget(&own);
}

static void texts(void)
{
	static const char *const each[] = {
		"",
		"[]",
		"7",
		"{}",
		"{\"at\": 0}",
		"{\"at\": 1}",
		"{\"at\": -1}",
		"{\"at\": 1",
		"{\"at\": 1.5}",
		"{\"at\": 253402300799, \"since\": 253402300799, \"lost_at\": 253402300799}",
		"{\"at\": 1, \"since\": 253402300800, \"lost_at\": 253402300800}",
		"{\"at\": 253402300800}",
		"{\"at\": 1, \"since\": -1, \"lost_at\": -1, \"up\": 1, \"clock\": \"yes\"}",
		"{\"at\": 1, \"version\": 8, \"why\": null, \"unsaid\": \"a\\nb\", \"lost\": \"\\u001b[2J\"}",
		"{\"at\": 1, \"version\": \"12345678901234567890123456789012345678901234567\"}",
		"{\"at\": 1, \"version\": \"123456789012345678901234567890123456789012345678\"}",
		"{\"at\": 1, \"members\": {\"name\": \"one\"}}",
		"{\"at\": 1, \"members\": [{\"name\": \"one\"}, {\"name\": \"a b\"}, 7, {\"name\": \"\"}, {\"why\": \"x\"},"
		" {\"name\": \"*\"}, {\"name\": \"two\", \"p50\": 3, \"why\": \"\\u007f\"}]}",
		"{\"at\": 1, \"members\": [{\"name\": \"a\", \"heard\": -1}, {\"name\": \"b\", \"heard\": 1},"
		" {\"name\": \"c\", \"heard\": 253402300799999}, {\"name\": \"d\", \"heard\": 253402300800000}]}",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		lies_there(each[i]);
}

/* As much as it may be, and one more; and what is no file. */
static void files(void)
{
	static const char text[] = "{\"at\": 1}";

	put(file, text, 0);
	for (size_is = (4 << 20) - 1; size_is < (4 << 20) + 2; size_is++)
		reads();
	size_is = 0;
	put(beside, text, 0);
	unlink(file);
	puts("-- a link");
	if (symlink(beside, file))
		abort();
	reads();
	unlink(file);
	puts("-- a pipe");
	if (mkfifo(file, 0600))
		abort();
	reads();
	unlink(file);
	puts("-- a directory");
	if (mkdir(file, 0700))
		abort();
	reads();
	rmdir(file);
	/* Nor is it written through one. */
	unlink(beside);
	put(file, "mine", 0);
	puts("-- a link to write to");
	if (symlink(file, beside))
		abort();
	errno = 0;
	printf("%d\n", err_is(fleet_seen_write(&own, &whole), ELOOP));
	lies_there("{\"at\": 1}");
}

/* What was there stays. */
static void each_fails(void)
{
	static const char *const each[] = { "pack", "trust", "write", "rename" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (int how = 0; how < 2; how++) {
			if (how && i < 2)
				continue;
			put(file, "{\"at\": 7}", 0);
			failing = each[i];
			with = how ? 0 : ENOSPC;
			printf("-- %s%s\n", failing, how ? ", and nobody says why" : "");
			errno = 0;
			writes(&whole);
			reads();
		}
	puts("-- no memory to read it");
	failing = "calloc";
	reads();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "it comes back", comes_back },
					       { "whatever lies there", texts },
					       { "files", files },
					       { "each fails", each_fails } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	begin();
}

static void found_by_name(void)
{
	const struct member_seen *one = fleet_seen_of(&whole, "one"), *two = fleet_seen_of(&whole, "two");

	CHECK(one == &members[0] && two == &members[1], "another is found");
	CHECK(!fleet_seen_of(&whole, "on") && !fleet_seen_of(&(struct fleet_seen){ 0 }, "one"), "one is found");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word },
						  { "a member by its name", found_by_name } };
	int status;

	if (!mkdtemp(own_directory))
		return KTAP_FAIL;
	own.state = own_directory;
	snprintf(file, sizeof(file), "%s/" STATE_FLEET, own_directory);
	snprintf(beside, sizeof(beside), "%s/" FRESH, own_directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(own_directory);
	return status;
}
