// SPDX-License-Identifier: GPL-2.0-only
/* The program for events: what it is told, one after the other; one that hangs, that is gone, and no process to be had.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "ktap.h"

static char warned[512];
static int64_t later; /* ms */
static bool forks;

PRINTF(1, 2) static void warn_given(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(warned, sizeof(warned), fmt, args);
	va_end(args);
}

static int64_t clock_given(void)
{
	return clock_ms() + later;
}

static pid_t fork_given(void)
{
	if (forks)
		return fork();
	errno = EAGAIN;
	return -1;
}

#define warn	 warn_given
#define clock_ms clock_given
#define fork	 fork_given

#include "service/hook.c"

#undef clock_ms
#undef fork

static char directory[] = "/tmp/unit_hook.XXXXXX", program[64], other[64], out[64], events[64];
static struct context context = CONTEXT_DEFAULT;
static struct hook hook;

static void script(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	if (!f || fprintf(f, "#!/bin/sh\n%s\n", text) < 0 || fclose(f) || chmod(path, mode))
		abort();
}

static void happens(const char *what)
{
	event(&context, (struct event){ EVENT_DONE, .verb = "add", .generation = 7 }, "%s", what);
}

/* Until what runs has ended. */
static bool ends(void)
{
	for (int i = 0; i < 2000 && hook.running; i++) {
		see_to(&hook);
		poll(NULL, 0, 5);
	}
	return !hook.running;
}

static const char *said(void)
{
	static char text[512];
	FILE *f = fopen(out, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	unlink(out);
	return text;
}

static void begin(const char *text)
{
	*warned = '\0';
	later = 0;
	forks = true;
	script(program, text, 0755);
	hook_begin(&hook, &context, program);
}

#define TELLS "read -r line; echo \"$0 $XDP_BLOOM_EVENT|$XDP_BLOOM_MESSAGE|$XDP_BLOOM_GENERATION|${line%%,*}\" >>out"

static bool tells(const char *message)
{
	char wanted[256];
	const char *got;

	hook_turn(&hook);
	if (!CHECK(ends(), "%s: it runs on", message))
		return false;
	got = said();
	snprintf(wanted, sizeof(wanted), "%s add|%s|7|{\"time\":\"", hook.program, message);
	return CHECK(!strncmp(got, wanted, strlen(wanted)) && strchr(got, '\n') == got + strlen(got) - 1,
		     "'%s', not '%s'", got, wanted);
}

static void each_event(void)
{
	happens("before");
	begin(TELLS);
	hook_turn(&hook);
	CHECK(!hook.running && !*said(), "what happened before is told");
	happens("one");
	happens("two");
	if (!tells("one") || !tells("two"))
		return;
	hook_turn(&hook);
	CHECK(!hook.running, "something else is told");
	/* Another program goes on; without one, nothing is told later. */
	script(other, TELLS, 0755);
	happens("three");
	hook_change(&hook, other);
	tells("three");
	hook_change(&hook, NULL);
	happens("four");
	hook_turn(&hook);
	CHECK(!hook.running, "there is none, and it is run");
	hook_change(&hook, program);
	happens("five");
	tells("five");
	CHECK(!*warned, "%s", warned);
}

/* So much of others that another file begins with what matters. */
static void flood(const char *what)
{
	FILE *log = fopen(events, "ae");

	if (!log)
		abort();
	for (int i = 0; i < 5000; i++)
		fprintf(log, "{\"event\":\"ban\",\"message\":\"one of many\",\"generation\":1}\n");
	fclose(log);
	event(&context, (struct event){ .kind = EVENT_GUARD }, "%s", what);
}

static bool hears(const char *what)
{
	const char *got;

	hook_turn(&hook);
	if (!CHECK(ends(), "%s: it runs on", what))
		return false;
	got = said();
	return CHECK(!strncmp(got, what, strlen(what)), "'%s', not '%s'", got, what);
}

/* What matters does not wait behind others; what is lost by then is said, and it is told. */
static void too_slow(void)
{
	begin("echo \"$XDP_BLOOM_EVENT: $XDP_BLOOM_MESSAGE\" >>out");
	happens("one");
	happens("two");
	flood("three");
	hears("guard: three");
	hears("add: one");
	CHECK(!access(STATE_BEHIND, F_OK), "it is not said that it is behind");
	hears("fault: the hook is behind: ");
	hears("add: two");
	flood("four");
	CHECK(!*warned, "%s", warned);
	hears("guard: four");
	hears("ban: one of many");
	CHECK(strstr(warned, "the hook has not heard of all bans and other changes: "), "'%s'", warned);
	hears("fault: the hook has not heard of all bans and other changes: ");
	hears("ban: one of many");
	/* Of both. */
	flood("five");
	flood("six");
	hears("guard: five");
	hears("guard: six");
	hears("fault: the hook has not heard of all that is refused or fails: ");
	hook_end(&hook);
	CHECK(access(STATE_BEHIND, F_OK), "behind, and not run");
}

/* It has standard error, and nothing else of the service's. */
static void no_files(void)
{
	int least = dup2(STDOUT_FILENO, 3), most = dup2(STDOUT_FILENO, 1023);

	begin("for fd in 3 1023; do [ ! -e /proc/$$/fd/$fd ] || echo $fd >>out; done; : >&2 && echo done >>out");
	happens("one");
	hook_turn(&hook);
	CHECK(ends() && !strcmp(said(), "done\n"), "files are open");
	close(least);
	close(most);
}

/* What cannot be run costs its event, and no more. */
/* The service has raised its own: whoever has more than 1,024 must know that he has. */
static void as_many_files(void)
{
	struct rlimit was, few;

	if (!CHECK(!getrlimit(RLIMIT_NOFILE, &was), "no limit"))
		return;
	few = (struct rlimit){ 97, was.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	begin("ulimit -n >>out");
	setrlimit(RLIMIT_NOFILE, &was);
	happens("files");
	hook_turn(&hook);
	CHECK(ends() && !strcmp(said(), "97\n"), "it may have another number of files open");
	hook_end(&hook);
}

static void not_run(void)
{
	static const struct {
		const char *text;
		mode_t mode;
		bool forks;
		const char *warned;
	} known[] = {
		{ TELLS, 0755, false, "the hook is not run: Resource temporarily unavailable" },
		{ TELLS, 0777, true, "the hook is not run: " },
		{ "exit 127", 0755, true, ": cannot be run" },
		{ NULL, 0, true, ": cannot be run" },
		{ "exit 126", 0755, true, NULL },
		{ "kill -9 $$", 0755, true, NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		begin(known[i].text ?: "");
		if (known[i].text)
			chmod(program, known[i].mode);
		else
			unlink(program);
		forks = known[i].forks;
		happens("lost");
		hook_turn(&hook);
		CHECK(ends() && !*said(), "%zu: it is run", i);
		CHECK(known[i].warned ? strstr(warned, known[i].warned) != NULL : !*warned, "%zu: '%s'", i, warned);
		forks = true;
		script(program, TELLS, 0755);
		happens("next");
		if (!tells("next"))
			return;
	}
}

/* It has begun, and has said so in out. */
static pid_t runs(const char *text)
{
	begin(text);
	happens("one");
	hook_turn(&hook);
	for (int i = 0; i < 2000 && access(out, F_OK); i++)
		poll(NULL, 0, 5);
	return CHECK(hook.running > 0 && !access(out, F_OK), "it is not run") ? hook.running : 0;
}

static void hangs(void)
{
	pid_t pid;

	pid = runs("echo there >>out; exec sleep 100");
	if (!pid)
		return;
	happens("two");
	later = HOOK_SECONDS * 1000 - 500;
	hook_turn(&hook);
	CHECK(hook.running == pid && !*warned, "after less than a minute: %s", warned);
	script(program, TELLS, 0755);
	later = HOOK_SECONDS * 1000 + 1;
	hook_turn(&hook);
	CHECK(hook.running != pid && kill(pid, 0) && strstr(warned, "ran for more than 60 s and was stopped"), "'%s'",
	      warned);
	ends();
	CHECK(strstr(said(), "|two|"), "the next is not told");
	/* At the service's end: asked first, and after a second not any more. */
	runs("trap 'echo asked >>out; exit' TERM; echo there >>out; while :; do sleep 0.05; done");
	hook_end(&hook);
	CHECK(!hook.running && !strcmp(said(), "there\nasked\n"), "it is not asked to end");
	pid = runs("trap '' TERM; echo there >>out; exec sleep 100");
	hook_end(&hook);
	CHECK(!hook.running && kill(pid, 0), "it runs on");
	hook_end(&hook);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each event, once", each_event }, { "what matters first", too_slow },
		{ "what is open there", no_files }, { "how much may be open", as_many_files },
		{ "what cannot be run", not_run },  { "one that hangs", hangs },
	};
	int status;

	if (!mkdtemp(directory) || chdir(directory))
		return KTAP_FAIL;
	context.state = directory;
	snprintf(program, sizeof(program), "%s/hook", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	snprintf(out, sizeof(out), "%s/out", directory);
	snprintf(events, sizeof(events), "%s/events", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(program);
	unlink(other);
	unlink(out);
	unlink(events);
	unlink(STATE_EVENTS_OLD);
	if (chdir("/") || rmdir(directory))
		printf("# %s stays\n", directory);
	return status;
}
