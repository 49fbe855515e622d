// SPDX-License-Identifier: GPL-2.0-only
/* run: what of the command line and of the file the service begins with, what it refuses, and --check; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/trusted_dir.h"
#include "observe/web_address.h"
#include "service/config.h"
#include "service/service.h"
#include "state/state.h"
#include "naive.h"
#include "typed.h"
#include "verbs/errand.h"

/* What it says does not depend on who runs the test. */
#define geteuid() 0
#include "base/log.c"
#undef geteuid

static const struct shown known[] = {
#include "unit_run_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_run_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char directory[200];
static bool no_process, is_locked, again;
static const char *changed; /* what the file says when it is read again */
static int held;

static int given_errands(const struct context *context)
{
	printf("  serves others in %s\n", context->state);
	return 42;
}

static int given_lock(const char *path, long seconds)
{
	printf("  locks %s%s\n", path, seconds ? ", and waits" : "");
	return is_locked ? because(-EBUSY, "another service runs") : dup(STDOUT_FILENO);
}

static int given_check(const struct context *context, const struct words *w, const char *where, bool files)
{
	if (no_process)
		return because(-EAGAIN, "%s: no process to check it", where);
	return verb_check(context, w, where, files);
}

static int given_read(struct config *config, const char *path, const struct verb *all)
{
	int err = config_read(config, path, all);

	held += config->n > 0;
	return err;
}

static void given_free(struct config *config)
{
	held -= config->n > 0;
	config_free(config);
	config->n = 0;
}

static void file_is(const char *name, mode_t mode, const char *text)
{
	int fd;

	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ENOUGH(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !fchmod(fd, mode));
	close(fd);
}

static void print_options(const struct service_options *o)
{
	printf("  listens on %s, for %s, token %s%s; hook %s; rotates every %ld\n", o->listen.address ?: "nothing",
	       o->listen.hosts ?: "any", o->listen.token ?: "none", o->listen.page ? ", page" : "", o->hook ?: "none",
	       o->rotate_every);
}

static int given_run(const struct context *context, struct service_options *options, struct config *config)
{
	struct config next = { 0 };

	printf("  runs in %s%s%s%s by %s, %zu lines\n", context->state, log_settings.kept ? ", kept" : "",
	       log_settings.verbose ? ", verbose" : "", log_settings.quiet ? ", quiet" : "", config->path, config->n);
	print_options(options);
	if (changed)
		file_is("usual.conf", 0600, changed);
	if (again) {
		int err = options->configure(options, &next, false);

		printf("  again: %d\n", err ? error_number(err) : 0);
		print_options(options);
		if (!err)
			given_free(&next);
	}
	return 43;
}

/* Of a whole path, and the same wherever the test is. */
#define HOOK "/proc/self/cwd/hook"

#undef CONFIG_DEFAULT
#define CONFIG_DEFAULT "usual.conf"
#define errand_serve   given_errands
#define lock_take      given_lock
#define service_run    given_run
#define verb_check     given_check
#define config_read    given_read
#define config_free    given_free
#include "verbs/run.c"
#undef config_free

static void empty(void)
{
	static const char *const names[] = { "usual.conf", "a.conf", "hook", "other", "token", "list" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
}

static void begin(void)
{
	no_process = is_locked = again = false;
	changed = NULL;
	held = 0;
	empty();
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		typed(lines[i]);
		if (held)
			printf("  %d files are not freed\n", held);
		held = 0;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void command_line(void)
{
	TYPES("run", "run --listen 8080", "run --listen 127.0.0.1:8080 --host a,b --page", "run --page",
	      "run --rotate-every 12h", "run --rotate-every 0", "run --rotate-every 0.5s", "run --rotate-every x",
	      "run --hook hook", "run --hook " HOOK, "run --hook /proc/self/cwd/none", "run more", "run --errands",
	      "run --listen 0", "run --listen-token token", "run --listen 8080 --listen-token token",
	      "run --config a.conf", "run -v", "run -q");
	file_is("token", 0600, "0123456789abcdef\n");
	TYPES("run --listen-token token", "run --listen 8080 --listen-token token");
	file_is("token", 0600, "short\n");
	TYPES("run --listen 8080 --listen-token token");
	is_locked = true;
	TYPES("run");
}

static void line(const char *text)
{
	printf("-- %s", text);
	file_is("usual.conf", 0600, text);
	TYPES("run");
}

/* What the file says holds, unless the command line says something else. */
static void file_says(void)
{
	file_is("token", 0600, "0123456789abcdef\n");
	line("run --listen 8080 --host a --listen-token token --page --hook " HOOK " --rotate-every 2h\n");
	TYPES("run --listen 9090", "run --host b", "run --listen-token other", "run --rotate-every 3h",
	      "run --rotate-every 0", "run --page");
	line("run --rotate-every 0\nallow 45.0.0.1\nrun --listen 8080\nrun --page\n");
	file_is("other", 0700, "#!/bin/sh\n");
	TYPES("run --hook /proc/self/cwd/other");
	line("run --rotate-every 1h\nrun --rotate-every 2h\n");
	line("run --page\n");
	TYPES("run --listen 8080");
	line("run --listen-token token\n");
	TYPES("run --listen 8080");
	line("run -v\n");
	TYPES("run -q");
	line("run -q\n");
	line("run --listen 1.2.3:4\n");
	TYPES("run --listen 8080");
}

static void faults(void)
{
	line("run more\n");
	line("run more again\n");
	line("run --config a.conf\n");
	line("run --config a.conf\nrun -v\n");
	line("run --page --none\nallow 45.0.0.300\nrun --hook x\nallow 45.0.0.1\nrun --page x\n");
	line("run -S /somewhere\n");
	line("run --json\n");
	line("run -v\nrun x\n");
	line("run --hook /proc/self/cwd/none\n");
	line("run --listen x\n");
	line("run --listen 80 --listen-token none\n");
	line("allow 45.0.0.300\n");
	line("status\n");
	line("allow 45.0.0.1\nload list list\n");
	no_process = true;
	TYPES("run");
	line("run --page\n");
	file_is("usual.conf", 0602, "");
	TYPES("run");
}

static void hooks(void)
{
	static const mode_t modes[] = { 0600, 0700, 0722, 0622 };

	again = true;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		printf("-- of mode %o\n", modes[i]);
		file_is("hook", modes[i], "#!/bin/sh\n");
		TYPES("run --hook " HOOK, "run --check --hook " HOOK, "run --check=words --hook " HOOK);
	}
	unlink("hook");
	puts("-- none yet");
	TYPES("run --hook " HOOK, "run --check --hook " HOOK, "run --check=words --hook " HOOK);
}

/* Once more while it runs: the files that are named are read, too. */
static void read_again(void)
{
	again = true;
	file_is("token", 0600, "0123456789abcdef\n");
	line("load list list\n");
	line("run --listen 8080 --listen-token token --rotate-every 2h\n");
	file_is("list", 0600, "45.0.0.0/24\n");
	line("load list list\nrun --page --listen 8080\n");
	changed = "run --page\n";
	TYPES("run");
}

static void checks(void)
{
	TYPES("run --check", "run --check --json", "run --check --quiet", "run --check --config a.conf",
	      "run --check --hook /proc/self/cwd/none", "run --check --listen 8080 --listen-token none",
	      "run --check --page");
	file_is("usual.conf", 0600, "allow 45.0.0.1\nload list list\nrun --hook /proc/self/cwd/none\n");
	TYPES("run --check", "run --check=words");
	file_is("usual.conf", 0600, "allow 45.0.0.1\nload list list\n");
	TYPES("run --check", "run", "run --check=words");
	file_is("list", 0600, "45.0.0.0/24\n");
	TYPES("run --check", "run --check --json", "run --check --quiet");
	file_is("usual.conf", 0600, "");
	TYPES("run --check", "run --check --quiet");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "command line", command_line }, { "file", file_says }, { "faults", faults }, { "hooks", hooks },
		{ "read again", read_again },	  { "checks", checks },
	};
	const char *temporary = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-run-XXXXXX", temporary ?: "/tmp");
	if (!CHECK(mkdtemp(directory), "%s: %s", directory, strerror(errno)))
		return;
	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	empty();
	rmdir(directory);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
