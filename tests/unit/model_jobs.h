/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service's processes as numbers, its clock, and what it says: each a line, for tests that include a source of
 * service/ behind this.
 */
#ifndef MODEL_JOBS_H
#define MODEL_JOBS_H

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/context.h"
#include "base/stop.h"
#include "kernel/live.h"
#include "service/jobs.h"
#include "state/events.h"
#include "model_clock.h"
#include "shown.h"

#define EXITS(status) ((status) << 8)

static pid_t last_pid;	/* of those that were started */
static pid_t ended_pid; /* that has just ended, and how */
static int ended_status;
static bool no_process; /* none can be started */

static void model_begin(void)
{
	now_ms = BEGINS;
	last_pid = ended_pid = 0;
	no_process = false;
}

static int given_start(struct jobs *jobs)
{
	char text[JOB_TEXT_MAX];

	if (jobs->pid || !jobs->first)
		return 0;
	if (no_process)
		return because(-EAGAIN, "no process could be started");
	jobs->pid = ++last_pid;
	jobs->since = now_ms;
	begin_line();
	printf("%d begins: %s%s", (int)jobs->pid, job_text(text, jobs->first), jobs->first->args[0] ? ":" : "");
	/* Without what every command gets: jobs_add(). */
	for (int i = 1; jobs->first->args[0] && jobs->first->args[i]; i++)
		if (i == 1 || i > 6)
			printf(" %s", jobs->first->args[i]);
	putchar('\n');
	return 0;
}

static bool given_ended(struct jobs *jobs, struct job **job, int *status)
{
	if (!jobs->pid || jobs->pid != ended_pid)
		return false;
	jobs->pid = ended_pid = 0;
	*status = ended_status;
	*job = jobs->first;
	jobs->first = (*job)->next;
	return true;
}

__attribute__((unused)) static int given_kill(pid_t pid, int how)
{
	line("signal %s to %d",
	     how == STOP_FOR_GOOD ? "for good"
	     : how == SIGTERM	  ? "TERM"
				  : "of another kind",
	     (int)pid);
	return 0;
}

static void given_stop(struct jobs *jobs)
{
	if (jobs->pid)
		line("%d is ended, and that is waited for", (int)jobs->pid);
	jobs->pid = 0;
	(jobs_stop)(jobs);
}

__attribute__((unused, format(printf, 1, 2))) static int given_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("       the job says: ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	return EXIT_ERROR;
}

__attribute__((unused, format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
								      const char *fmt, ...)
{
	va_list args;

	(void)context;
	va_start(args, fmt);
	begin_line();
	printf("event %s of %llu: ",
	       e.kind == EVENT_FAULT	 ? "fault"
	       : e.kind == EVENT_HEALED	 ? "healed"
	       : e.kind == EVENT_LEARNED ? "learned"
	       : e.kind == EVENT_REFUSED ? "refused"
					 : "of another kind",
	       e.generation);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((unused)) static unsigned int given_generation(const struct context *context)
{
	(void)context;
	return 7;
}

#define jobs_start(jobs)	  given_start(jobs)
#define jobs_ended(jobs, job, is) given_ended(jobs, job, is)
#define jobs_stop(jobs)		  given_stop(jobs)
#define kill(pid, how)		  given_kill(pid, how)
#define warn			  given_warn
#define event(...)		  given_event(__VA_ARGS__)
#define kernel_live_generation(c) given_generation(c)
#define clock_ms()		  given_ms()
#define time(to)		  given_time(to)

#endif
