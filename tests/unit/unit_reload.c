// SPDX-License-Identifier: GPL-2.0-only
/* When the service looks at the files of its lists: when the kernel reports a change, and once a minute where it
 * reports none. */
#include "own_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "service/config.h"
#include "service/jobs.h"
#include "service/reload.h"
#include "state/failed.h"
#include "state/sources.h"
#include "verbs/verbs.h"

static char list_file[240];
static const struct config config; /* no lines */

static void write_list(const char *text)
{
	char fresh[250];
	FILE *out;

	snprintf(fresh, sizeof(fresh), "%s.new", list_file);
	out = fopen(fresh, "w");
	ENOUGH(out && fputs(text, out) >= 0 && !fclose(out) && !rename(fresh, list_file));
}

/* A list that was loaded from the file as it is. */
static void load_list(void)
{
	struct source source = { .list = "bad" };
	struct ranges set = RANGES_EMPTY;
	struct state *s = opened(true);

	snprintf(list_file, sizeof(list_file), "%s/list", directory);
	write_list("192.0.2.1\n");
	ENOUGH(!source_locate(source.path, list_file) && !source_look(source.stamp, source.path));
	ENOUGH(s && !put(s, "bad", LIST_BAN, &set) && !state_source_put(s, &source) && !state_commit(s));
	state_close(s);
}

static void grow_old(void)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - 3600 }, { .tv_sec = time(NULL) - 3600 } };

	ENOUGH(!utimensat(AT_FDCWD, list_file, times, 0));
}

/* As if what it loads were loaded at once. */
static bool turn(struct reload *r, int64_t now)
{
	struct jobs jobs = { .context = &own_context };
	bool loads;

	reload_turn(r, &config, &jobs, now);
	reload_ended(r, "bad", now);
	loads = jobs.first && jobs.first->kind == JOB_LOAD && !strcmp(jobs.first->list, "bad");
	jobs_stop(&jobs);
	return loads;
}

/* What the service knows of a list that is loaded. */
static struct reload *follow(void)
{
	struct reload *r;
	struct state *s;

	load_list();
	s = opened(false);
	ENOUGH(s && !reload_open(&r) && !reload_follow(r, s, &config, &(struct jobs){ .context = &own_context }));
	state_close(s);
	return r;
}

static void minute(void)
{
	struct reload *r = follow();
	int64_t now = clock_ms();
	struct stat before, after;

	CHECK(!reload_due(r) && !turn(r, now) && reload_due(r), "a file that is loaded is loaded again");
	/* The kernel's reports are not read: all of them are lost. */
	write_list("192.0.2.2\n");
	CHECK(!turn(r, now), "it looks at every turn");
	CHECK(reload_due(r) > now && reload_due(r) <= now + 61000, "it looks in %" PRId64 " ms", reload_due(r) - now);
	CHECK(!turn(r, now + 61000), "it takes what may be on its way still");
	grow_old();
	CHECK(!turn(r, now + 62000) && turn(r, now + 122000), "it did not look after a minute");
	CHECK(!turn(r, now + 123000) && !turn(r, now + 183000), "what was tried is tried again and again");
	reload_again(r);
	CHECK(turn(r, now + 184000), "what failed is not tried again");
	/* Now who may read it may be others. An emulator that knows no parts of a second does not show that at once. */
	ENOUGH(!stat(list_file, &before) && !chmod(list_file, 0444) && !stat(list_file, &after));
	if (before.st_ctim.tv_sec == after.st_ctim.tv_sec && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec) {
		reload_close(r);
		remove(list_file);
		ktap_skip("the emulator shows no change of a mode");
		return;
	}
	CHECK(turn(r, now + 245000), "a change of its mode goes unnoticed");
	reload_close(r);
	remove(list_file);
}

/* What is loaded from another file now, or beside another list from the same one, is looked at as well. */
static void another(void)
{
	struct reload *r = follow();
	struct jobs jobs = { .context = &own_context };
	struct source source = { .list = "worse" };
	struct ranges set = RANGES_EMPTY;
	int64_t now = clock_ms();
	char wanted[250];
	struct state *s;

	turn(r, now);
	CHECK(reload_due(r), "it waits on");
	s = opened(true);
	ENOUGH(s && !source_locate(source.path, list_file) && !source_look(source.stamp, source.path) &&
	       !put(s, "worse", LIST_BAN, &set) && !state_source_put(s, &source) && !state_commit(s));
	state_close(s);
	s = opened(false);
	ENOUGH(s && !reload_follow(r, s, &config, &jobs));
	CHECK(!reload_due(r), "another list from the same file is not looked at");
	state_close(s);
	turn(r, now);
	/* The same again is nothing new. */
	s = opened(false);
	ENOUGH(s && !reload_follow(r, s, &config, &jobs));
	CHECK(reload_due(r), "what was there before is looked at again");
	state_close(s);
	snprintf(wanted, sizeof(wanted), "%s-2", list_file);
	ENOUGH(!rename(list_file, wanted));
	s = opened(true);
	ENOUGH(s && !source_locate(source.path, wanted) && !state_source_put(s, &source) && !state_commit(s));
	state_close(s);
	s = opened(false);
	ENOUGH(s && !reload_follow(r, s, &config, &jobs));
	CHECK(!reload_due(r), "the same list from another file is not looked at");
	state_close(s);
	reload_close(r);
	remove(wanted);
	empty_directory();
}

static void told(void)
{
	int64_t now = clock_ms();
	struct reload *r = follow();

	turn(r, now);
	write_list("192.0.2.2\n");
	reload_read(r, now);
	CHECK(reload_due(r) > now && reload_due(r) < now + 1000 && !turn(r, now),
	      "it looks before all files of a download can be there");
	CHECK(turn(r, reload_due(r)), "what was told is not looked at");
	CHECK(reload_due(r) > now + 1000, "it waits on");
	reload_close(r);
	remove(list_file);
}

static bool forbidden;
int __real_source_look(char stamp[SOURCE_STAMP_MAX], const char *path);
int __wrap_source_look(char stamp[SOURCE_STAMP_MAX], const char *path);

int __wrap_source_look(char stamp[SOURCE_STAMP_MAX], const char *path)
{
	return forbidden ? because(-EACCES, "%s: it may not be seen", path) : __real_source_look(stamp, path);
}

/* What is said of the list is this, or nothing. */
static void fails_with(const char *why)
{
	struct list_failure *failures;
	size_t n;

	list_failures(&own_context, &failures, &n);
	CHECK(n == (why != NULL) && (!n || (!strcmp(failures->list, "bad") && !strcmp(failures->why, why))),
	      "%zu fail: '%s'", n, n ? failures->why : "none");
	free(failures);
}

/* A file that may not be seen: said once, and as what the list fails with for as long; then it is loaded. */
static void not_seen(void)
{
	struct reload *r = follow();
	int was = dup(STDERR_FILENO), said = memfd_create("said", MFD_CLOEXEC);
	char text[1000] = "", why[300], wanted[700];
	int64_t now = clock_ms();

	turn(r, now);
	fails_with(NULL);
	snprintf(why, sizeof(why), "%s: it may not be seen", list_file);
	snprintf(
		wanted, sizeof(wanted),
		"xdp-bloom: list 'bad': %s; its new versions are not loaded: put it elsewhere, or name it in the config"
		" file\n",
		why);
	write_list("192.0.2.2\n");
	grow_old();
	forbidden = true;
	dup2(said, STDERR_FILENO);
	for (int i = 1; i < 4; i++) {
		CHECK(!turn(r, now + i * 61000), "it is loaded");
		fails_with(why);
	}
	dup2(was, STDERR_FILENO);
	CHECK(pread(said, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, wanted), "it says '%s', not '%s'", text,
	      wanted);
	forbidden = false;
	CHECK(turn(r, now + 400000), "it is not loaded now");
	fails_with(why); /* until it is */
	close(was);
	close(said);
	reload_close(r);
	remove(list_file);
}

/* The same file has the same name, in whatever words; and what only this process knows under a name has none. */
static void located(void)
{
	struct source source = { .list = "bad" };
	char wanted[240];

	ENOUGH(!chdir(directory));
	write_list("192.0.2.1\n");
	snprintf(wanted, sizeof(wanted), "%s/list", directory);
	CHECK(!source_locate(source.path, "list") && !strcmp(source.path, wanted), "list: '%s'", source.path);
	CHECK(!source_locate(source.path, "././list") && !strcmp(source.path, wanted), "././list: '%s'", source.path);
	CHECK(!source_locate(source.path, wanted) && !strcmp(source.path, wanted), "%s: '%s'", wanted, source.path);
	CHECK(source_locate(source.path, "/dev/stdin"), "/dev/stdin: '%s'", source.path);
	CHECK(source_locate(source.path, "missing"), "missing: '%s'", source.path);
	ENOUGH(!symlink("list", "turned"));
	snprintf(wanted, sizeof(wanted), "%s/turned", directory);
	CHECK(!source_locate(source.path, "turned") && !strcmp(source.path, wanted), "turned: '%s'", source.path);
	remove("turned");
	remove("list");
	ENOUGH(!chdir("/") && !source_locate(source.path, "etc"));
	CHECK(!strcmp(source.path, "/etc"), "from the root: '%s'", source.path);
}

static int read_config(struct config *to, const char *text)
{
	static char name[250]; /* it is pointed to */
	FILE *out;
	int err;

	snprintf(name, sizeof(name), "%s/conf", directory);
	out = fopen(name, "w");
	ENOUGH(out && fputs(text, out) >= 0 && !fclose(out));
	err = config_read(to, name, verbs);
	remove(name);
	return err;
}

/* Which list and which file a line names, whatever stands between them. */
static void lines(void)
{
	static const char text[] = "load a /l/a\nload --format plain b /l/b\nload c --format=plain /l/c\n"
				   "load --form plain d /l/d\nload e /l/e --bogons keep\nload --bogons keep f /l/f\n"
				   "load g --allow /l/g\nload --confirm 1h h --wide /l/h\nallow load /l/i\n";
	struct config read = { 0 };

	if (!CHECK(!read_config(&read, text) && read.n == 9, "not read: %zu lines", read.n))
		return;
	for (size_t i = 0; i < 8; i++) {
		const char *list = "", *path = "", wanted[] = { (char)('a' + i), '\0' };

		CHECK(config_loads(&read.lines[i], &list, &path) && !strcmp(list, wanted) && !strncmp(path, "/l/", 3) &&
			      !strcmp(path + 3, wanted),
		      "line %zu loads '%s' from '%s'", i + 1, list, path);
		CHECK(config_load_of(&read, wanted) == &read.lines[i], "line %zu is not found by its list", i + 1);
	}
	CHECK(!config_load_of(&read, "load") && !config_load_of(&read, "keep"), "a list that no line loads");
	config_free(&read);
}

/* One line may join a fleet, wherever it stands; and one that goes on may not stand there twice. */
static void said_once(void)
{
	static const struct {
		const char *text, *refused;
	} all[] = {
		{ "fleet join redis://a\n", NULL },
		{ "allow 192.0.2.1\nfleet join redis://a\nfleet accept b\n", NULL },
		{ "fleet accept b\nfleet accept join\nfleet join redis://a\n", NULL },
		{ "fleet join redis://a\nfleet join redis://b\n",
		  "conf:2: a machine takes part in one fleet, and line 1 joins one" },
		{ "allow 192.0.2.1\nfleet accept b\nfleet join redis://a\n\nfleet join redis://a\n",
		  "conf:5: a machine takes part in one fleet, and line 3 joins one" },
		{ "announce --table 667\n", NULL },
		{ "follow /a\nfollow /b\nannounce --table 667\nallow 192.0.2.1\nallow 192.0.2.1\n", NULL },
		{ "follow /a\nallow 192.0.2.1\nfollow /a\n", "conf:3: a line before says the same" },
		{ "allow 192.0.2.1\nannounce --table 667\nannounce --table 667\n",
		  "conf:3: a line before says the same" },
		{ "follow -\n", "conf:1: nobody writes to the service's standard input" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct config read = { 0 };
		int err = read_config(&read, all[i].text);

		CHECK(all[i].refused ? err && strstr(reason(err), all[i].refused) : !err, "%s: %s", all[i].text,
		      err ? reason(err) : "taken");
		config_free(&read);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a new version that the kernel reports", told },
		{ "one that is not, within a minute", minute },
		{ "another list, and another file", another },
		{ "one that may not be seen", not_seen },
		{ "where a file is", located },
		{ "what a line loads", lines },
		{ "what is said once", said_once },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
