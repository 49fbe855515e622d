// SPDX-License-Identifier: GPL-2.0-only
#include "service/hook.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "observe/lines_down.h"

#define HOOK_SECONDS 60

static void keep_behind(struct hook *h, bool is)
{
	static const struct lines_down none;

	if (is && !h->behind)
		line_down_say(
			h->context, STATE_BEHIND, true,
			"the hook is behind: a whole file of events waits for it, and is lost when the next one is full");
	else if (!is && h->behind)
		lines_down_keep(h->context, STATE_BEHIND, &none);
	h->behind = is;
}

static void follow_from_now(struct hook *h)
{
	events_begin(&h->tail, h->context->state);
	h->first = h->tail;
}

void hook_begin(struct hook *h, const struct context *context, const char *program)
{
	*h = (struct hook){ .context = context, .program = program, .behind = true };
	keep_behind(h, false); /* of a service that was killed */
	getrlimit(RLIMIT_NOFILE, &h->files);
	follow_from_now(h);
}

void hook_change(struct hook *h, const char *program)
{
	if (!h->program)
		follow_from_now(h); /* not what happened before there was a hook */
	if (!program)
		keep_behind(h, false);
	h->program = program;
}

static void export(const json_t *event, const char *member, const char *variable)
{
	const char *text = json_string_value(json_object_get(event, member));

	setenv(variable, text ? text : "", 1);
}

/* In the child. No shell: the program is a path; the event is in its environment and on its standard input. */
static void become(const struct hook *h, const char *line)
{
	json_t *event = json_loads(line, 0, NULL);
	sigset_t none;
	char number[32];
	int pipes[2];

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setpgid(0, 0); /* to stop it together with what it starts */
	export(event, "event", "XDP_BLOOM_EVENT");
	export(event, "message", "XDP_BLOOM_MESSAGE");
	export(event, "time", "XDP_BLOOM_TIME");
	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(json_object_get(event, "generation")));
	setenv("XDP_BLOOM_GENERATION", number, 1);
	/* A line fits into a pipe. */
	if (!pipe(pipes) && write(pipes[1], line, strlen(line)) > 0 && write(pipes[1], "\n", 1) > 0)
		dup2(pipes[0], STDIN_FILENO);
	close_from(3);
	setrlimit(RLIMIT_NOFILE, &h->files);
	execl(h->program, h->program, NULL);
	_exit(127);
}

static void see_to(struct hook *h)
{
	const char *name = h->program ? h->program : "the hook";
	int status;
	pid_t pid = waitpid(h->running, &status, WNOHANG);

	if (!pid && clock_ms() - h->since > HOOK_SECONDS * 1000) {
		warn("%s: ran for more than %d s and was stopped", name, HOOK_SECONDS);
		kill(-h->running, SIGKILL);
		pid = waitpid(h->running, &status, 0);
	}
	if (!pid)
		return;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		warn("%s: cannot be run", name);
	h->running = 0;
}

/* Which it hears of next, as it matters. */
static void say_lost(const struct hook *h, struct events_tail *tail, const char *what)
{
	static const char why[] = "the log began another file before it was ready for them";

	if (!tail->lost)
		return;
	tail->lost = false;
	warn("the hook has not heard of %s: %s", what, why);
	event(h->context, (struct event){ EVENT_FAULT, .generation = h->context->generation },
	      "the hook has not heard of %s: %s", what, why);
}

/* Each line is handed over by one of the two. */
static bool next(struct hook *h, struct events_tail *tail, char line[EVENT_LINE_MAX])
{
	bool matters = tail == &h->first, is = false;

	while (!is && events_next(tail, line)) {
		say_lost(h, tail, matters ? "all that is refused or fails" : "all bans and other changes");
		is = event_matters(line) == matters;
	}
	return is;
}

static bool next_of_all(struct hook *h, char line[EVENT_LINE_MAX])
{
	bool is = next(h, &h->first, line) || next(h, &h->tail, line);

	keep_behind(h, h->tail.old);
	return is;
}

void hook_turn(struct hook *h)
{
	char line[EVENT_LINE_MAX];
	int err;

	if (h->running > 0)
		see_to(h); /* even if the hook was taken away */
	if (!h->program || h->running || !next_of_all(h, line))
		return;
	/* It may be another's since the service began. */
	err = access(h->program, F_OK) ? 0 : trust_file(h->program, "what it runs");
	if (err) {
		warn("the hook is not run: %s", reason(err));
		return;
	}
	h->since = clock_ms();
	h->running = fork();
	if (!h->running)
		become(h, line);
	if (h->running < 0) {
		warn("the hook is not run: %s", strerror(errno));
		h->running = 0;
	} else {
		setpgid(h->running, 0); /* the child does it, too: one of them is first */
	}
}

void hook_end(struct hook *h)
{
	if (h->running > 0)
		child_end(h->running, true);
	h->running = 0;
	keep_behind(h, false);
}
