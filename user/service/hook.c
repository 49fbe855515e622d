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
#include "base/trusted_dir.h"

#define HOOK_SECONDS 60

void hook_begin(struct hook *h, const struct context *context, const char *program)
{
	*h = (struct hook){ .context = context, .program = program };
	getrlimit(RLIMIT_NOFILE, &h->files);
	events_begin(&h->tail, context->state);
}

void hook_change(struct hook *h, const char *program)
{
	if (!h->program)
		events_begin(&h->tail, h->context->state); /* not what happened before there was a hook */
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

void hook_turn(struct hook *h)
{
	char line[EVENT_LINE_MAX];
	int err;

	if (h->running > 0)
		see_to(h); /* even if the hook was taken away */
	if (!h->program || h->running || !events_next(&h->tail, line))
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
}
