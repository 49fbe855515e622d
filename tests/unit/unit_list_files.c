// SPDX-License-Identifier: GPL-2.0-only
/* Lists as operands: what a file's list is called, which of a list and a file is taken, and each call that fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "change/guard_rails.h"
#include "ktap.h"
#include "sets/list.h"
#include "sets/owned.h"
#include "state/bans.h"
#include "state/state.h"

static int open_err, get_err, set_err, union_err, settle_err, allocations, allocation_fails_at;
static enum list_kind kind_is;
static int opened;

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	CHECK(!change, "opened to change");
	*state = open_err ? NULL : (struct state *)&opened;
	opened += !open_err;
	return open_err ? because(open_err, "it cannot be opened") : 0;
}

static int given_get(struct state *state, const char *name, struct list_info *list)
{
	(void)state;
	*list = (struct list_info){ .kind = kind_is, .source = "the state" };
	snprintf(list->name, LIST_NAME_MAX, "%s", name);
	return strncmp(name, "loaded", 6) != 0 ? -ENOENT : get_err;
}

static int given_set(struct state *state, const struct list_info *list, struct ranges *set)
{
	(void)state, (void)list;
	if (ranges_add4(set, 0x2d000000, 0x2d0000ff) || ranges_finish(set))
		abort();
	return set_err;
}

static int given_union(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return union_err ?: ranges_union(out, a, b);
}

static int given_settle(struct owned *out, const struct account *accounts, size_t n, const struct ranges *allowed)
{
	return settle_err ?: owned_settle(out, accounts, n, allowed);
}

static void *given_calloc(size_t n, size_t size)
{
	return ++allocations == allocation_fails_at ? NULL : calloc(n, size);
}

#define state_open	     given_open
#define state_close(state)   (opened -= (state) != NULL)
#define state_list_get	     given_get
#define state_list_whole_set given_set
#define ranges_union	     given_union
#define owned_settle	     given_settle
#define calloc		     given_calloc
#include "verbs/list_files.c"
#undef calloc
#undef ranges_union
#undef owned_settle

static char own_directory[] = "/tmp/unit_list_files.XXXXXX";
static const struct context own = CONTEXT_DEFAULT;
static struct list_files files;

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Of these names, up to NULL. */
static int reads(bool loaded, const char *one, const char *other)
{
	char *names[] = { (char *)(uintptr_t)one, (char *)(uintptr_t)other };
	static const struct reader_options reading = { .format = "plain" };

	list_files_free(&files);
	allocations = 0;
	return list_files_read(&files, loaded ? &own : NULL, &reading, names, other ? 2 : 1);
}

static bool is(int err, int wanted, const char *text)
{
	return CHECK(wanted ? err_is(err, wanted) : !err, "error %d (%s), not %d", err, err ? reason(err) : "",
		     wanted) &&
	       CHECK(!text || !strcmp(reason(err), text), "'%s', not '%s'", reason(err), text) &&
	       CHECK(!opened, "the state stays open");
}

static void names(void)
{
	static const struct {
		const char *path, *name;
	} each[] = {
		{ "drop", "drop" },
		{ "./drop.txt", "drop" },
		{ "sub/drop.txt.gz", "drop" },
		{ ".hidden", ".hidden" },
		{ "a b.txt", "a_b" },
		{ "a+b=c", "a_b_c" },
		{ "sub/./x", "x" },
		{ "..x", "..x" },
		{ "...", "..." },
		{ "a", "a" },
	};
	char *names_of[1];

	if (mkdir("sub", 0700))
		abort();
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		int err;

		put(each[i].path, "45.0.0.1\n45.0.0.2\n10.0.0.1\n");
		err = reads(false, each[i].path, NULL);
		names_of[0] = files.lists ? files.lists[0].name : NULL;
		is(err, 0, NULL);
		CHECK(names_of[0] && !strcmp(names_of[0], each[i].name), "'%s' is called '%s'", each[i].path,
		      names_of[0]);
		CHECK(files.n == 1 && files.paths[0] == each[i].path && files.lists[0].label == 1 &&
			      files.lists[0].kind == LIST_BAN && !strcmp(files.lists[0].source, each[i].path) &&
			      !strcmp(files.lists[0].format, "plain") && !strcmp(files.lists[0].addresses, "2") &&
			      files.lists[0].prefixes == 2 && files.lists[0].loaded[0] == '2',
		      "'%s': %llu prefixes, %s addresses", each[i].path, (unsigned long long)files.lists[0].prefixes,
		      files.lists[0].addresses);
		unlink(each[i].path);
	}
	put("live", "45.0.0.1\n");
	is(reads(false, "live", NULL), EEXIST, "live: live bans go by the name 'live': call the file something else");
	unlink("live");
	rmdir("sub");
}

static void list_or_file(void)
{
	put("file", "45.0.0.1\n");
	put("loaded", "45.0.0.1\n45.0.0.9\n45.0.1.1\n");
	kind_is = LIST_SHADOW;
	is(reads(true, "loaded", "file"), 0, NULL);
	CHECK(!files.paths[0] && files.lists[0].kind == LIST_BAN && !strcmp(files.lists[0].addresses, "256") &&
		      !strcmp(files.lists[0].source, "the state") && files.lists[0].label == 1,
	      "the list is not taken: %s addresses", files.lists[0].addresses);
	CHECK(files.paths[1] && files.lists[1].label == 2 && !strcmp(files.lists[1].addresses, "1"), "the file is not");
	kind_is = LIST_ALLOW;
	is(reads(true, "loaded", NULL), 0, NULL);
	CHECK(files.lists[0].kind == LIST_ALLOW, "another kind");
	is(reads(true, "./loaded", NULL), 0, NULL);
	CHECK(files.paths[0] && !strcmp(files.lists[0].addresses, "3"), "the list is taken for the file");
	is(reads(false, "loaded", NULL), 0, NULL);
	CHECK(files.paths[0], "a list, where none is asked for");
	is(reads(true, "loaded", "./loaded"), EEXIST, "two lists would be called 'loaded'");
	is(reads(false, "loaded", "file"), 0, NULL);
	is(reads(true, "none", NULL), ENOENT, "'none' is neither a loaded list nor a file");
	is(reads(false, "none", NULL), ENOENT, "none: No such file or directory");
	is(reads(true, "./none", NULL), ENOENT, "./none: No such file or directory");
	/* The state cannot be read: a file of that name is taken, and nothing else. */
	open_err = -EBUSY;
	is(reads(true, "loaded", NULL), 0, NULL);
	CHECK(files.paths[0], "a list that cannot be read is taken");
	is(reads(true, "none", NULL), EBUSY, "it cannot be opened");
	open_err = 0;
	get_err = -EIO;
	is(reads(true, "loaded", NULL), 0, NULL);
	unlink("loaded");
	is(reads(true, "loaded", NULL), EIO, NULL);
	get_err = 0;
	set_err = -EIO;
	is(reads(true, "loaded", NULL), EIO, NULL);
	set_err = 0;
	put("bad", "45.0.0.300\n");
	CHECK(reads(false, "file", "bad") < 0 && files.n == 2, "a file that cannot be read");
	unlink("bad");
	for (allocation_fails_at = 1; allocation_fails_at < 4; allocation_fails_at++)
		is(reads(false, "file", NULL), ENOMEM, NULL);
	allocation_fails_at = 0;
	unlink("file");
}

/* The first that holds an address has it, and none what an allow list holds; trust lists say nothing of it. */
static void settled(void)
{
	static const enum list_kind kinds[] = { LIST_BAN, LIST_ALLOW, LIST_TRUST, LIST_BAN, LIST_ALLOW };
	static struct list_info lists[5];
	static struct ranges sets[5];
	struct list_files all = { .lists = lists, .sets = sets, .n = 5 };
	struct owned owned;
	int err;

	for (unsigned int i = 0; i < 5; i++) {
		lists[i].kind = kinds[i];
		lists[i].label = (uint8_t)(i + 1);
		if (ranges_add4(&sets[i], 0x2d000000 + 2 * i, 0x2d000003 + 2 * i) || ranges_finish(&sets[i]))
			abort();
	}
	is(list_files_settle(&all, &owned), 0, NULL);
	/* 0 to 1 of the first; 2 to 5 and 8 on are allowed; 6 and 7 of the fourth. */
	CHECK(owned.n4 == 2 && owned.v4[0].lo == 0x2d000000 && owned.v4[0].hi == 0x2d000001 && owned.label4[0] == 1 &&
		      owned.v4[1].lo == 0x2d000006 && owned.v4[1].hi == 0x2d000007 && owned.label4[1] == 4,
	      "%zu ranges", owned.n4);
	owned_free(&owned);
	union_err = -ENOMEM;
	err = list_files_settle(&all, &owned);
	is(err, ENOMEM, NULL);
	union_err = 0;
	settle_err = -EIO;
	is(list_files_settle(&all, &owned), EIO, NULL);
	settle_err = 0;
	allocations = 0;
	allocation_fails_at = 1;
	is(list_files_settle(&all, &owned), ENOMEM, NULL);
	allocation_fails_at = 0;
	for (unsigned int i = 0; i < 5; i++)
		ranges_free(&sets[i]);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "what it is called", names },
						  { "a list or a file", list_or_file },
						  { "on whose account", settled } };
	int status;

	log_settings.quiet = true;
	if (!mkdtemp(own_directory) || chdir(own_directory))
		return KTAP_FAIL;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	list_files_free(&files);
	rmdir(own_directory);
	return status;
}
