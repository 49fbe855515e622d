// SPDX-License-Identifier: GPL-2.0-only
#include "service/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"

/* The largest lists take a minute: a job that takes this long hangs. */
#define JOB_SECONDS 600
/* A process ends at once when it is killed, but where it waits for a file system that does not answer. */
#define END_MS	    10000
#define END_LOOK_MS 10
/* Nor does a list's new version hold up the others for longer than this: its owner may make it take long. */
#define LIST_SECONDS 10

void job_free(struct job *job)
{
	for (char **arg = job->args; arg && *arg; arg++)
		free(*arg);
	free(job->args);
	free(job);
}

const char *job_text(char buf[JOB_TEXT_MAX], const struct job *job)
{
	static const char *const texts[] = {
		[JOB_START] = "start",
		[JOB_RESTORE] = "restore",
		[JOB_LINE] = "line ",
		[JOB_LOAD] = "load ",
		[JOB_FEED] = "load ",
		[JOB_FEED_LOST] = "what came of ",
		[JOB_ROTATE] = "rotate",
		[JOB_EXPIRE] = "what ran out of time",
		[JOB_MEASURE] = "the filter's rate",
		[JOB_HEAL] = "what is gone of the filter",
		[JOB_JAIL] = "whom the detector bans",
		[JOB_LEARN] = "what sources send",
		[JOB_FOLLOW] = "line ",
		[JOB_NETWORKS] = "the table of networks",
		[JOB_NEEDS] = "what this machine needs",
		[JOB_ERRANDS] = "commands of others",
		[JOB_FLEET] = "fleet",
	};
	if (job->kind == JOB_LINE || job->kind == JOB_FOLLOW)
		snprintf(buf, JOB_TEXT_MAX, "%s%u", texts[job->kind], job->line);
	else
		snprintf(buf, JOB_TEXT_MAX, "%s%s", texts[job->kind], job->list);
	return buf;
}

const char *job_end_text(char buf[JOB_END_MAX], const struct job *job, int status)
{
	int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (by && job->stopped)
		snprintf(buf, JOB_END_MAX, "it ran for more than %d s and was stopped", JOB_SECONDS);
	else if (by)
		snprintf(buf, JOB_END_MAX, "it was ended by signal %d%s", by, by == SIGKILL ? " (memory?)" : "");
	else
		snprintf(buf, JOB_END_MAX, "it ended with status %d", WEXITSTATUS(status));
	return buf;
}

static bool job_same(const struct job *a, const struct job *b)
{
	return a->kind == b->kind && a->line == b->line && !strcmp(a->list, b->list);
}

/* Unless the same waits already. The running job does not count: it may have read the old version. */
static void append(struct jobs *jobs, struct job *job)
{
	struct job **end = jobs->pid ? &jobs->first->next : &jobs->first;

	while (*end && !job_same(*end, job))
		end = &(*end)->next;
	if (*end)
		job_free(job);
	else
		*end = job;
}

int jobs_add(struct jobs *jobs, const struct job *what, const char *option, char *const *words, size_t n)
{
	const struct context *c = jobs->context;
	const char *head[9] = { "xdp-bloom",
				n ? words[0] : NULL,
				"--state",
				c->state,
				"--bpffs",
				c->bpffs,
				log_settings.json ? "--log=json" : "--log=text" };
	size_t heads = n ? 7 : 0, all;
	struct job *job = malloc(sizeof(*job));
	bool whole;

	if (!job)
		return -ENOMEM;
	if (n && option)
		head[heads++] = option;
	/* Nobody is there who could answer a guard rail. */
	if (n && !strcmp(words[0], "load"))
		head[heads++] = "--spare";
	all = heads + n - !!n;
	*job = *what;
	job->args = calloc(all + 1, sizeof(*job->args));
	whole = job->args;
	for (size_t i = 0; whole && i < all; i++) {
		job->args[i] = strdup(i < heads ? head[i] : words[i - heads + 1]);
		whole = job->args[i];
	}
	if (whole)
		append(jobs, job);
	else
		job_free(job);
	return whole ? 0 : -ENOMEM;
}

int jobs_verb(struct jobs *jobs, enum job_kind kind, const char *verb)
{
	char *word = (char *)(uintptr_t)verb;

	return jobs_add(jobs, &(struct job){ .kind = kind }, NULL, &word, 1);
}

int jobs_restore(struct jobs *jobs, enum job_kind kind)
{
	char *words[] = { "restore", "--spare" };

	return jobs_add(jobs, &(struct job){ .kind = kind }, NULL, words, 2);
}

void jobs_hurry(struct jobs *jobs, enum job_kind kind)
{
	struct job **front = jobs->pid ? &jobs->first->next : &jobs->first, **at = front;

	while (*at && (*at)->kind != kind)
		at = &(*at)->next;
	if (*at) {
		struct job *job = *at;

		*at = job->next;
		job->next = *front;
		*front = job;
	}
}

/* If a list needs more memory than there is, the kernel should end this process and no other. */
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "500", 3) < 0)
		note("/proc/self/oom_score_adj: %s", strerror(errno));
	close_fd(fd);
}

static void become(const struct context *context, struct job *job, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool goes_on;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0) {
		dup2(job->in ? job->in : null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (job->run) {
		log_subject = (struct log_subject){ "run", NULL, clock_seconds() };
		_exit(job->run(context, job->arg ?: job));
	}
	/* Others end by themselves. */
	goes_on = job->kind == JOB_FOLLOW || job->kind == JOB_FLEET || job->kind == JOB_ERRANDS;
	if (goes_on && prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0))
		_exit(fail("%s", strerror(errno)));
	/* It may have ended before it could be asked for that signal. */
	if (goes_on && getppid() != parent)
		_exit(EXIT_ERROR);
	be_first_to_go();
	execv("/proc/self/exe", job->args);
	_exit(fail("/proc/self/exe: %s", strerror(errno)));
}

int jobs_start(struct jobs *jobs)
{
	pid_t parent = getpid(), pid;

	if (jobs->pid || !jobs->first)
		return 0;
	pid = fork();
	if (!pid)
		become(jobs->context, jobs->first, parent);
	if (pid < 0)
		return because(-errno, "no process could be started: %s", strerror(errno));
	jobs->pid = pid;
	jobs->since = clock_ms();
	jobs->first->since = clock_seconds();
	jobs->first->overtaken = false;
	return 0;
}

void jobs_limit(struct jobs *jobs, int64_t now)
{
	char text[JOB_TEXT_MAX];

	if (jobs->pid && jobs->first->stopped && now - jobs->since >= END_MS)
		raise(SIGCHLD); /* it is given up: jobs_ended() */
	if (!jobs->pid || jobs->first->stopped || now - jobs->since <= JOB_SECONDS * 1000)
		return;
	warn("%s: ran for more than %d s and was stopped", job_text(text, jobs->first), JOB_SECONDS);
	jobs->first->stopped = true;
	kill(jobs->pid, SIGKILL);
	jobs->since = now;
}

bool jobs_set_aside(struct jobs *jobs, struct jobs *aside, int64_t now)
{
	struct job *job = jobs->first;

	if (!jobs->pid || aside->first || now - jobs->since <= LIST_SECONDS * 1000 ||
	    (job->kind != JOB_LOAD && job->kind != JOB_NETWORKS &&
	     !(job->kind == JOB_LINE && job->again && job->list[0])))
		return false;
	aside->first = job;
	aside->pid = jobs->pid;
	aside->since = jobs->since;
	jobs->first = job->next;
	jobs->pid = 0;
	job->next = NULL;
	return true;
}

static bool has_ended(const struct jobs *jobs, int *status)
{
	if (!jobs->pid)
		return false;
	if (waitpid(jobs->pid, status, WNOHANG) == jobs->pid)
		return true;
	*status = SIGKILL;
	return jobs->first->stopped && clock_ms() - jobs->since >= END_MS;
}

bool jobs_ended(struct jobs *jobs, struct job **job, int *status)
{
	if (!has_ended(jobs, status))
		return false;
	jobs->pid = 0;
	*job = jobs->first;
	jobs->first = (*job)->next;
	return true;
}

void jobs_defer(struct jobs *jobs, struct job *job)
{
	struct job **end = &jobs->deferred;

	job->next = NULL;
	job->again = true;
	if (job->overtaken) {
		append(jobs, job);
		return;
	}
	while (*end)
		end = &(*end)->next;
	*end = job;
}

bool jobs_defers_line(const struct jobs *jobs, unsigned int line)
{
	const struct job *job = jobs->deferred;

	while (job && (job->kind != JOB_LINE || job->line != line))
		job = job->next;
	return job;
}

void jobs_overtake(struct jobs *jobs)
{
	if (jobs->pid)
		jobs->first->overtaken = true;
}

void jobs_again(struct jobs *jobs)
{
	while (jobs->deferred) {
		struct job *job = jobs->deferred;

		jobs->deferred = job->next;
		job->next = NULL;
		append(jobs, job);
	}
}

static void drop(struct job **at, bool lines_only)
{
	while (*at) {
		struct job *job = *at;

		if (lines_only && job->kind != JOB_LINE) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		job_free(job);
	}
}

void jobs_drop_lines(struct jobs *jobs)
{
	struct job *running = jobs->pid ? jobs->first : NULL;

	if (running)
		running->unwanted = running->kind == JOB_LINE;
	drop(running ? &running->next : &jobs->first, true);
	drop(&jobs->deferred, true);
}

static void wait_for(pid_t pid)
{
	const struct timespec while_it_ends = { .tv_nsec = END_LOOK_MS * 1000000L };

	for (int ms = 0; ms < END_MS && !waitpid(pid, NULL, WNOHANG); ms += END_LOOK_MS)
		nanosleep(&while_it_ends, NULL);
}

void jobs_stop(struct jobs *jobs)
{
	if (jobs->pid) {
		kill(jobs->pid, SIGTERM);
		kill(jobs->pid, SIGCONT); /* a stopped process would not get the signal */
		wait_for(jobs->pid);
	}
	jobs->pid = 0;
	drop(&jobs->first, false);
	drop(&jobs->deferred, false);
}
