// SPDX-License-Identifier: GPL-2.0-only
#include "service/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* The largest lists take a minute; what takes longer waits for something that does not come. */
#define JOB_SECONDS 600

void job_free(struct job *job)
{
	for (char **arg = job ? job->args : NULL; arg && *arg; arg++)
		free(*arg);
	if (job) {
		free(job->args);
		free(job->about);
	}
	free(job);
}

void job_line(char about[JOB_LINE_MAX], unsigned int number)
{
	snprintf(about, JOB_LINE_MAX, JOB_LINE "%u", number);
}

bool job_is_line(const struct job *job)
{
	return !strncmp(job->about, JOB_LINE, strlen(JOB_LINE));
}

/* Behind all others; not a second time what waits already. */
static int add(struct jobs *jobs, struct job *job)
{
	struct job **end = &jobs->first;
	bool runs = jobs->pid != 0, there = false;

	for (; *end; end = &(*end)->next) {
		there = there || (!runs && !strcmp((*end)->about, job->about));
		runs = false;
	}
	if (there)
		job_free(job);
	else
		*end = job;
	return 0;
}

static struct job *make(const char *about, size_t args)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->about = strdup(about);
	job->args = calloc(args + 1, sizeof(*job->args));
	if (job->about && job->args)
		return job;
	job_free(job);
	return NULL;
}

int jobs_command(struct jobs *jobs, const char *about, const char *verb, const char *option, char *const *words,
		 size_t n)
{
	const char *head[] = { "xdp-bloom", verb, "--state", opt_state, "--bpffs", opt_bpffs, option };
	size_t heads = sizeof(head) / sizeof(head[0]) - !option, all = 0;
	struct job *job = make(about, heads + n);
	bool whole = job;

	for (size_t i = 0; whole && i < heads + n; i++) {
		job->args[all] = strdup(i < heads ? head[i] : words[i - heads]);
		whole = job->args[all++];
	}
	if (whole)
		return add(jobs, job);
	job_free(job);
	return -ENOMEM;
}

int jobs_function(struct jobs *jobs, const char *about, int (*run)(void))
{
	struct job *job = make(about, 0);

	if (!job)
		return -ENOMEM;
	job->run = run;
	return add(jobs, job);
}

void jobs_hurry(struct jobs *jobs, const char *about)
{
	struct job **front = jobs->pid ? &jobs->first->next : &jobs->first;

	for (struct job **at = front; *at; at = &(*at)->next) {
		struct job *job = *at;

		if (strcmp(job->about, about) != 0)
			continue;
		*at = job->next;
		job->next = *front;
		*front = job;
		return;
	}
}

/* A list can ask for more memory than there is: then it is this that the kernel ends, and nobody else. */
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "500", 3) < 0)
		note("/proc/self/oom_score_adj: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void become(const struct job *job)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (job->run)
		_exit(job->run());
	be_first_to_go();
	execv("/proc/self/exe", job->args);
	_exit(fail("/proc/self/exe: %s", strerror(errno)));
}

int jobs_start(struct jobs *jobs)
{
	pid_t pid;

	if (jobs->pid || !jobs->first)
		return 0;
	pid = fork();
	if (!pid)
		become(jobs->first);
	if (pid < 0)
		return because(-errno, "no process could be started: %s", strerror(errno));
	jobs->pid = pid;
	jobs->since = clock_ms();
	return 0;
}

void jobs_limit(struct jobs *jobs, int64_t now)
{
	if (!jobs->pid || now - jobs->since <= JOB_SECONDS * 1000)
		return;
	warn("%s: ran for more than %d s and was stopped", jobs->first->about, JOB_SECONDS);
	kill(jobs->pid, SIGKILL);
	jobs->since = now;
}

bool jobs_ended(struct jobs *jobs, struct job **job, int *status)
{
	if (!jobs->pid || waitpid(jobs->pid, status, WNOHANG) != jobs->pid)
		return false;
	jobs->pid = 0;
	*job = jobs->first;
	jobs->first = (*job)->next;
	return true;
}

void jobs_keep(struct jobs *jobs, struct job *job)
{
	struct job **end = &jobs->kept;

	while (*end)
		end = &(*end)->next;
	job->next = NULL;
	job->again = true;
	*end = job;
}

bool jobs_keeps(const struct jobs *jobs, const char *about)
{
	for (const struct job *job = jobs->kept; job; job = job->next)
		if (!strcmp(job->about, about))
			return true;
	return false;
}

void jobs_again(struct jobs *jobs)
{
	struct job *job = jobs->kept;

	jobs->kept = NULL;
	while (job) {
		struct job *next = job->next;

		job->next = NULL;
		add(jobs, job);
		job = next;
	}
}

static void drop(struct job **at, const char *about)
{
	while (*at) {
		struct job *job = *at;

		if (strncmp(job->about, about, strlen(about)) != 0) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		job_free(job);
	}
}

void jobs_forget(struct jobs *jobs, const char *about)
{
	struct job *running = jobs->pid ? jobs->first : NULL;

	if (running)
		running->forgotten = !strncmp(running->about, about, strlen(about));
	drop(running ? &running->next : &jobs->first, about);
	drop(&jobs->kept, about);
}

void jobs_stop(struct jobs *jobs)
{
	drop(&jobs->kept, "");
	if (jobs->pid) {
		kill(jobs->pid, SIGTERM);
		kill(jobs->pid, SIGCONT); /* stopped, it would not hear of it */
		waitpid(jobs->pid, NULL, 0);
	}
	jobs->pid = 0;
	while (jobs->first) {
		struct job *job = jobs->first;

		jobs->first = job->next;
		job_free(job);
	}
}
