// SPDX-License-Identifier: GPL-2.0-only
/* set: what it prints of lists in files, word for word, and what it says where it cannot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "sets/packed.h"
#include "sets/ranges.h"
#include "shown.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_set.txt"
};

static struct shows shows = { .file = "tests/unit/unit_set.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char directory[200];
static bool no_memory, terminal, full;
static int fails_at, calls, pack_fails; /* of the calls of the algebra, that one */

static int given_intersect(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return ++calls == fails_at ? -ENOMEM : ranges_intersect(out, a, b);
}

static int given_subtract(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return ++calls == fails_at ? -ENOMEM : ranges_subtract(out, a, b);
}

/* What zstd makes of it is zstd's. */
static int given_pack(int fd, const struct ranges *set, const struct ranges *from, int level)
{
	fflush(stdout);
	dprintf(fd, "%zu and %zu ranges", set->n4, set->n6);
	if (from)
		dprintf(fd, ", from %zu and %zu", from->n4, from->n6);
	dprintf(fd, ", %s\n", level == PACKED_SMALL ? "small" : "quick");
	return pack_fails;
}

static int given_fstat(int fd, struct stat *st)
{
	if (fails_at == 1) {
		errno = EIO;
		return -1;
	}
	return fstat(fd, st);
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define ranges_intersect given_intersect
#define ranges_subtract	 given_subtract
#define packed_write	 given_pack
#define fstat(fd, to)	 given_fstat(fd, to)
#define calloc(n, size)	 given_calloc(n, size)
#define isatty(fd)	 ((fd) == STDOUT_FILENO && terminal)
#define out_end()	 (full ? EXIT_ERROR : out_end())
#include "verbs/set.c"
#undef calloc
#undef fstat

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* In a directory that has these lists and nothing else. */
static void begin(void)
{
	put("a", "45.0.0.0/24\n45.0.1.0/25\n2001:db8::/32\n");
	put("b", "45.0.0.128/25\n45.0.1.0/24\n45.0.0.128/25\n2001:db8:8000::/33\n");
	put("c", "45.0.1.64\n2001:db8:ffff::/48\n");
	put("none", "# nothing\n");
	put("bad", "45.0.0.1\n45.0.0.300\nx\n");
	put("masked", "45.0.0.7/24\n");
	put("table", "ip,kind\n45.0.0.1,x\n45.0.0.2,y\n");
	unlink("new");
	fails_at = calls = pack_fails = 0;
	no_memory = terminal = full = false;
}

static void algebra(void)
{
	static const char *const lines[] = {
		"set union a",
		"set union a b c",
		"set merge b",
		"set intersect a b",
		"set intersect a b c",
		"set subtract a b",
		"set subtract a b c",
		"set subtract b a",
		"set intersect a none",
		"set subtract a none",
		"set union none",
		"set union a b --json",
		"set union a none b --output ranges",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		typed(lines[i]);
	puts("-- a call fails");
	for (fails_at = 1; fails_at <= 3; fails_at++)
		for (int i = 0; i < 2; i++) {
			calls = 0;
			typed(i ? "set subtract a b c" : "set intersect a b c");
		}
}

static void formats(void)
{
	typed("set union a c --output ipset");
	typed("set union c --output nft");
	typed("set union c --output ipset --name my_Set.9");
	typed("set union c --output json");
	typed("set union c --output csv --json");
	typed("set union a --output dat");
	puts("-- words");
	typed("set union c --output plai");
	typed("set union c --output lain");
	typed("set union c --output 'plain json'");
	typed("set union c --output ''");
	typed("set union c --output ' '");
	typed("set union c --name ''");
	typed("set union c --name a-b");
	typed("set union c --output ipset --name 1234567890123456789012345678901");
	typed("set union c --output ipset --name 123456789012345678901234567890");
	puts("-- reading");
	typed("set union bad");
	typed("set union bad --skip-bad");
	typed("set union c bad a");
	typed("set union masked");
	typed("set union masked --quiet");
	typed("set union table --where kind=y");
	typed("set union table --format csv:kind");
	typed("set union c --format json");
	typed("set union nowhere");
	typed("set intersect a nowhere");
}

static void differences(void)
{
	typed("set diff a b");
	typed("set diff a b --json");
	typed("set diff a a");
	typed("set diff none a");
	typed("set diff a");
	typed("set diff a b c");
	typed("set diff a b --output plain");
	typed("set diff nowhere b");
	typed("set diff a nowhere");
	for (fails_at = 1; fails_at <= 3; fails_at++) {
		calls = 0;
		typed("set diff a b");
	}
}

static void counts(void)
{
	typed("set count a");
	typed("set count a b none");
	typed("set count a b --json");
	typed("set count none");
	typed("set count bad --skip-bad --json");
	typed("set count a nowhere");
	put("a\xe2\x80\xae", "45.0.0.1\n");
	typed("set count a\xe2\x80\xae");
	typed("set count a\xe2\x80\xae --json");
	unlink("a\xe2\x80\xae");
	no_memory = true;
	typed("set count a");
}

/* What was printed was not all written. */
static void cannot_print(void)
{
	full = true;
	typed("set union a");
	typed("set diff a b");
	typed("set count a");
	typed("set pack new a");
}

static void print_file(const char *name)
{
	struct stat st;
	char text[200] = "";
	FILE *file = fopen(name, "r");

	if (!file || stat(name, &st)) {
		printf("  no %s\n", name);
		return;
	}
	printf("  %s, mode %o: %s", name, st.st_mode & 0777, fgets(text, sizeof(text), file) ?: "nothing\n");
	fclose(file);
}

static void packs(void)
{
	static const char *const lines[] = {
		"set pack new a b", "set pack new none --json", "set delta a b new", "set delta a b new --json",
		"set pack - a",	    "set pack - a --json",	"set delta a b -",
	};

	umask(027);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		unlink("new");
		typed(lines[i]);
		print_file("new");
	}
	printf("the mask is %o\n", umask(022));
	typed("set pack new a");
	print_file("new");
	puts("-- nowhere");
	put("new", "as before\n");
	typed("set pack nowhere/new a");
	typed("set pack new nowhere");
	typed("set pack new a nowhere");
	typed("set delta a nowhere new");
	typed("set delta nowhere a new");
	pack_fails = -ENOSPC;
	typed("set pack new a");
	typed("set pack - a");
	pack_fails = 0;
	fails_at = 1;
	typed("set pack new a");
	fails_at = 0;
	terminal = true;
	typed("set pack - a");
	typed("set delta a b -");
	typed("set delta a b c new");
	print_file("new");
	typed("set pack new a");
	print_file("new");
}

static void usage(void)
{
	static const char *const lines[] = {
		"set",		 "set union",	 "set merge",  "set intersect a", "set subtract a",
		"set diff",	 "set count",	 "set pack a", "set delta a b",	  "set xor a",
		"set union - -", "set pack - -", "set -",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		typed(lines[i]);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "algebra", algebra }, { "formats", formats }, { "diff", differences },	  { "count", counts },
		{ "pack", packs },	{ "usage", usage },	{ "cannot print", cannot_print },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };
	static const char *const names[] = { "a", "b", "c", "none", "bad", "masked", "table", "new" };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-set-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	typed_in(directory, &shows);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	rmdir(directory);
	return status;
}
