// SPDX-License-Identifier: GPL-2.0-only
/* What the service has done for it: in what order, and for how long. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/jobs.h"
#include "ktap.h"
#include "base/log.h"

static int nothing(void)
{
	return 0;
}

static int for_ever(void)
{
	alarm(60); /* the test must end, too */
	return pause();
}

/* Waits until the one that runs has ended; NULL: none runs. */
static struct job *end_of(struct jobs *jobs, int *status)
{
	struct job *job = NULL;
	siginfo_t info;

	if (jobs->pid && !waitid(P_PID, (id_t)jobs->pid, &info, WEXITED | WNOWAIT))
		jobs_ended(jobs, &job, status);
	return job;
}

static void order(void)
{
	static const char *const wanted[] = { "runs", "urgent", "first", "second" };
	struct jobs jobs = { 0 };
	int status;

	jobs_function(&jobs, "runs", nothing);
	CHECK(!jobs_start(&jobs), "not started");
	jobs_function(&jobs, "first", nothing);
	jobs_function(&jobs, "second", nothing);
	jobs_function(&jobs, "urgent", nothing);
	jobs_hurry(&jobs, "urgent");
	jobs_hurry(&jobs, "runs");
	jobs_hurry(&jobs, "unknown");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct job *job;

		jobs_start(&jobs);
		job = end_of(&jobs, &status);
		CHECK(job && !strcmp(job->about, wanted[i]), "'%s', not '%s'", job ? job->about : "none", wanted[i]);
		job_free(job);
	}
	CHECK(!jobs.first, "one is left");
	jobs_stop(&jobs);
}

static void limit(void)
{
	struct jobs jobs = { 0 };
	struct job *job;
	int status = 0;

	opt_quiet = true;
	jobs_function(&jobs, "stuck", for_ever);
	jobs_start(&jobs);
	jobs_limit(&jobs, clock_ms());
	CHECK(!waitpid(jobs.pid, NULL, WNOHANG), "it was stopped at once");
	jobs_limit(&jobs, clock_ms() + 3600000);
	job = end_of(&jobs, &status);
	CHECK(job && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
	job_free(job);
	jobs_stop(&jobs);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one after another, and what is urgent first", order },
		{ "one that does not end is stopped", limit },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
