// SPDX-License-Identifier: GPL-2.0-only
/*
 * detach, with --purge, too: what it asks of the kernel in which order, and what is left in the state, the kernel and
 * the directories; over a state in a directory of the test's own and a kernel that is made up, word for word.
 */
#include "made_interfaces.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>

static const struct shown known[] = {
#include "unit_detaching.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detaching.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void detaches(const char *name, bool comes_in, bool leaves, bool ports)
{
	const struct detach_what what = { comes_in, leaves, ports };
	char labels[DETACH_LABELS][LABEL_MAX], *list[DETACH_LABELS];
	int n = name ? detach_labels(&own_context, name, &what, labels) : 0, err;
	bool stopped = false;

	for (int i = 0; i < n; i++) {
		list[i] = labels[i];
		printf("-- detach %s\n", labels[i]);
	}
	if (!name)
		puts("-- detach all");
	err = detach_interfaces(&own_context, list, n, &stopped);
	printf("  %s%s\n", err ? reason(err) : "done", stopped ? ", stopped" : "");
	print_state();
}

static void detach_before(void)
{
	anew();
	bridge_is();
	kept("eth0", "auto", MATCH_SOURCE, NULL, true);
	kept("eth0", "tc", MATCH_LEAVING(MATCH_DESTINATION), NULL, true);
	kept("eth9", "auto", MATCH_SOURCE, NULL, false);
}

static void detach(void)
{
	static const struct {
		const char *name;
		bool comes_in, leaves, ports;
	} each[] = { { "eth0", true, true, false }, { "eth0", true, false, false }, { "eth0", false, true, false },
		     { "eth9", true, true, false }, { "eth1", true, true, false },  { "eth1", false, true, false },
		     { "br0", true, true, false },  { "br0", true, true, true },    { "br0", false, true, true },
		     { "p1", true, true, false },   { NULL, false, false, false } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		detach_before();
		detaches(each[i].name, each[i].comes_in, each[i].leaves, each[i].ports);
	}
	puts("-- a port that came");
	detach_before();
	came[0] = (struct ports_due){ .name = "p1", .of = &(struct interface_info){ .match = MATCH_SOURCE } };
	came[1] = (struct ports_due){ .name = "p2", .of = came[0].of };
	came[2] = (struct ports_due){ .name = "p1" };
	came_n = 3;
	detaches("p1", true, true, false);
	for (int at = 1; at <= 9; at++) {
		detach_before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		detaches("eth0", true, true, false);
		detach_before();
		fails_at = at;
		detaches(NULL, false, false, false);
		if (at > 5)
			continue;
		detach_before();
		fails_at = at;
		detaches("br0", true, true, true);
	}
	attached_as = "eth5";
	today = "eth0";
	for (int n = 0; n < 3; n++) {
		printf("-- eth0 was attached as eth5%s%s\n", n ? ", which is kept" : "",
		       n > 1 ? ", and the state cannot be read" : "");
		detach_before();
		if (n)
			kept("eth5", "auto", MATCH_SOURCE, NULL, false);
		unread = n > 1 ? "interfaces" : NULL;
		reads = 0;
		detaches("eth5", true, false, false);
		unread = NULL;
	}
	attached_as = NULL;
	puts("-- what is kept cannot be read");
	for (int n = 0; n < 3; n++) {
		detach_before();
		unread = n ? "interfaces" : "ports";
		reads = n - 1;
		detaches(!n ? "br0" : n > 1 ? "eth9" : "eth0", true, true, !n);
		unread = NULL;
	}
	puts("-- at the end, three times");
	detach_before();
	fails_at = 6;
	fails_on = true;
	detaches("eth0", true, false, false);
}

/* --- detach --all --purge --- */

static char usual_state[200], pins[220];
static const char *systemctl_at, *remains; /* nothing removes that */
static bool pinned, stops;
static enum { SPAWNS, NO_ACTIONS, NO_SPAWN, NO_WAIT } spawning;

/* Where the state is has another name each time. */
static void shows_text(const char *before, const char *text)
{
	const char *at = strstr(text, directory);

	if (at)
		printf("%s%.*sSTATE%s\n", before, (int)(at - text), text, at + strlen(directory));
	else
		printf("%s%s\n", before, text);
}

__attribute__((format(printf, 1, 2))) static void says_of_state(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	shows_text("  ! ", text);
}

static int given_access(const char *path, int mode)
{
	if (mode == F_OK)
		return access(path, mode);
	return mode == X_OK && systemctl_at && !strcmp(path, systemctl_at) ? 0 : -1;
}

static int given_actions(posix_spawn_file_actions_t *actions)
{
	puts("  actions");
	return spawning == NO_ACTIONS ? ENOMEM : posix_spawn_file_actions_init(actions);
}

static int given_addopen(posix_spawn_file_actions_t *actions, int fd, const char *path, int flags, mode_t mode)
{
	printf("  %d is %s, %s\n", fd, path, flags == O_WRONLY && !mode ? "to write" : "otherwise");
	return posix_spawn_file_actions_addopen(actions, fd, path, flags, mode);
}

static int given_destroy(posix_spawn_file_actions_t *actions)
{
	puts("  no actions any more");
	return posix_spawn_file_actions_destroy(actions);
}

static int given_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *how, char *const *words, char *const *environment)
{
	printf("  %s", path);
	for (; *words; words++)
		printf(" %s", *words);
	for (; *environment; environment++)
		printf(", with %s", *environment);
	puts(actions && !how ? "" : ", otherwise");
	*pid = 77;
	return spawning == NO_SPAWN ? ENOENT : 0;
}

static pid_t given_wait(pid_t pid, int *status, int flags)
{
	printf("  waits for %d%s\n", (int)pid, flags ? ", otherwise" : "");
	*status = 3 << 8;
	return spawning == NO_WAIT ? -1 : pid;
}

static bool given_pins(const struct context *its)
{
	(void)its;
	return pinned;
}

static int given_detach_all(const struct context *its, char *const *labels, int n, bool *stopped)
{
	(void)its;
	*stopped = stops;
	return labels || n ? -EINVAL : call("all are detached");
}

static void given_remove(const char *path)
{
	if (!remains || strcmp(strrchr(path, '/') + 1, remains) != 0)
		remove(path);
}

#undef warn
#undef note
#undef CONTEXT_DEFAULT
#define CONTEXT_DEFAULT                             \
	{                                           \
		.state = usual_state, .bpffs = pins \
	}
#define warn				 says_of_state
#define note				 says_of_state
#define access				 given_access
#define posix_spawn_file_actions_init	 given_actions
#define posix_spawn_file_actions_addopen given_addopen
#define posix_spawn_file_actions_destroy given_destroy
#define posix_spawn			 given_spawn
#define waitpid				 given_wait
#define pins_are_there			 given_pins
#define detach_interfaces		 given_detach_all
#define pin_remove			 given_remove
#define kept				 kept_in_state
#define is_kept				 is_kept_in_state
#define directory			 removed_from
#include "change/purge.c"
#undef kept
#undef directory
#undef access
#undef waitpid

static int no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void shows_left(const char *what, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, no_dot, alphasort);

	if (n < 0)
		return;
	printf("  = %s\n", what);
	for (int i = 0; i < n; i++) {
		printf("  = %s/%s\n", what, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void purges(const char *what, const char *more)
{
	struct context context = { .state = directory, .bpffs = pins };
	char state[220], pins_too[240], path[240];
	bool stopped = true;
	int err;

	printf("-- %s\n", what);
	if (strstr(what, "another state")) {
		snprintf(state, sizeof(state), "/%s", directory);
		context.state = state;
	}
	if (strstr(what, "other pins")) {
		snprintf(pins_too, sizeof(pins_too), "%s.too", pins);
		context.bpffs = pins_too;
	}
	anew();
	watched = strstr(what, "service");
	fails_at = strstr(what, "detached") != NULL;
	if (mkdir(pins, 0700) && errno != EEXIST)
		abort();
	snprintf(path, sizeof(path), "%s/links", pins);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/%s", directory, more ?: "events");
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (char other = 'a'; other < 'i' && strstr(what, "beside many"); other++) {
		snprintf(path, sizeof(path), "%s/%c", directory, other);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	err = purge(&context, &stopped);
	shows_text("  ", err ? reason(err) : "done");
	if (stopped)
		puts("  stopped");
	shows_left("STATE", directory);
	shows_left("PINS", pins);
	snprintf(path, sizeof(path), "%s/%s", directory, more ?: "events");
	remove(path);
	for (char other = 'a'; other < 'i'; other++) {
		snprintf(path, sizeof(path), "%s/%c", directory, other);
		remove(path);
	}
	snprintf(path, sizeof(path), "%s/links", pins);
	remove(path);
	rmdir(pins);
	if (mkdir(directory, 0700) && errno != EEXIST)
		abort();
}

static void purged(void)
{
	snprintf(usual_state, sizeof(usual_state), "%s", directory);
	snprintf(pins, sizeof(pins), "%s.pins", directory);
	pinned = true;
	stops = false;
	remains = NULL;
	systemctl_at = "/usr/bin/systemctl";
	spawning = SPAWNS;
	purges("all", NULL);
	purges("of another state", NULL);
	purges("with other pins", NULL);
	purges("beside the service", NULL);
	purges("what cannot be detached", NULL);
	stops = true;
	purges("what was stopped, and not detached", NULL);
	stops = pinned = false;
	purges("nothing is pinned", NULL);
	systemctl_at = "/bin/systemctl";
	purges("with a file of others", "mine");
	remains = "state.db";
	purges("one remains", NULL);
	remains = "state.db";
	purges("one remains beside many of others", NULL);
	remains = "links";
	purges("a pin remains", NULL);
	remains = systemctl_at = NULL;
	purges("without systemctl", NULL);
	systemctl_at = "/bin/systemctl";
	for (spawning = NO_ACTIONS; spawning <= NO_WAIT; spawning++)
		purges(spawning == NO_ACTIONS ? "no actions"
		       : spawning == NO_SPAWN ? "no process"
					      : "not waited for",
		       NULL);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "detach", detach }, { "purge", purged } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	anew();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
