// SPDX-License-Identifier: GPL-2.0-only
/* What the service has done for it: in what order, and for how long. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "service/jobs.h"
#include "service/retry.h"
#include "ktap.h"
#include "base/log.h"

static int nothing(const struct context *context, void *unused)
{
	(void)unused;
	(void)context;
	return 0;
}

static int for_ever(const struct context *context, void *unused)
{
	(void)unused;
	(void)context;
	alarm(60); /* the test must end, too */
	return pause();
}

static const struct context context = CONTEXT_DEFAULT;

static void add(struct jobs *jobs, struct job job)
{
	job.run = nothing;
	jobs_add(jobs, &job, NULL, NULL, 0);
}

static bool is(const struct job *a, const struct job *b)
{
	return a->kind == b->kind && a->line == b->line && !strcmp(a->list, b->list);
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
	static const struct job wanted[] = {
		{ .kind = JOB_ROTATE },
		{ .kind = JOB_EXPIRE },
		{ .kind = JOB_LOAD, .list = "first" },
		{ .kind = JOB_LOAD, .list = "second" },
		{ .kind = JOB_ROTATE },
	};
	struct jobs jobs = { .context = &context };
	int status;

	add(&jobs, wanted[0]);
	CHECK(!jobs_start(&jobs), "not started");
	add(&jobs, wanted[2]);
	add(&jobs, wanted[3]);
	add(&jobs, wanted[2]); /* it waits already */
	add(&jobs, wanted[4]); /* the one that runs may have read already what is new now */
	add(&jobs, wanted[1]);
	jobs_hurry(&jobs, JOB_EXPIRE);
	jobs_hurry(&jobs, JOB_MEASURE); /* there is none */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char text[JOB_TEXT_MAX], other[JOB_TEXT_MAX];
		struct job *job;

		jobs_start(&jobs);
		job = end_of(&jobs, &status);
		if (!CHECK(job && is(job, &wanted[i]), "job %zu is '%s', not '%s'", i,
			   job ? job_text(text, job) : "none", job_text(other, &wanted[i])))
			break;
		job_free(job);
	}
	CHECK(!jobs.first, "one is left");
	jobs_stop(&jobs);
}

static void limit(void)
{
	struct jobs jobs = { .context = &context };
	struct job *job;
	int status = 0;

	log_settings.quiet = true;
	jobs_add(&jobs, &(struct job){ .kind = JOB_MEASURE, .run = for_ever }, NULL, NULL, 0);
	jobs_start(&jobs);
	jobs_limit(&jobs, clock_ms());
	CHECK(!waitpid(jobs.pid, NULL, WNOHANG), "it was stopped at once");
	jobs_limit(&jobs, clock_ms() + 3600000);
	job = end_of(&jobs, &status);
	CHECK(job && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
	if (job)
		job_free(job);
	jobs_stop(&jobs);
}

/* A line that failed is deferred; a new config file drops those that wait, that are deferred, and the one that runs. */
static void lines(void)
{
	struct jobs jobs = { .context = &context };
	struct job *job;
	int status;

	for (unsigned int i = 1; i <= 3; i++)
		add(&jobs, (struct job){ .kind = JOB_LINE, .line = i });
	add(&jobs, (struct job){ .kind = JOB_LOAD, .list = "line 2" });
	jobs_start(&jobs);
	job = end_of(&jobs, &status);
	if (!CHECK(job && job->line == 1 && !job->again, "another line"))
		return;
	jobs_defer(&jobs, job);
	CHECK(jobs_defers_line(&jobs, 1) && !jobs_defers_line(&jobs, 2), "another line is deferred");
	jobs_again(&jobs);
	CHECK(!jobs_defers_line(&jobs, 1) && jobs.first->line == 2, "it comes before the others");
	jobs_start(&jobs);
	jobs_drop_lines(&jobs);
	job = end_of(&jobs, &status);
	CHECK(job && job->line == 2 && job->unwanted, "the one that runs is wanted still");
	if (job)
		job_free(job);
	CHECK(jobs.first && jobs.first->kind == JOB_LOAD && !jobs.first->next, "lines wait, or a list does not");
	jobs_stop(&jobs);
}

/* Twice as long each time, up to the most. */
static void tries_again(void)
{
	static const int64_t waits[] = { 100, 200, 400, 800, 1000, 1000 };
	struct retry r = { .first = 100, .most = 1000, .at = INT64_MAX };

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
			retry_later(&r, 5000);
			CHECK(r.at == 5000 + waits[i], "wait %zu is %lld", i, (long long)r.at - 5000);
		}
		retry_forget(&r);
		CHECK(r.at == INT64_MAX, "it tries what did not fail");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one after another, and what is urgent first", order },
		{ "one that does not end is stopped", limit },
		{ "lines of the config file", lines },
		{ "when it tries again", tries_again },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
