// SPDX-License-Identifier: GPL-2.0-only
/* What the service has done for it: in what order, and for how long. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "service/retry.h"
#include "ktap.h"

static const char *failing = "";
static int strdups;

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0)
		return false;
	errno = EAGAIN;
	return true;
}

#define malloc(n)	(fails("malloc") ? NULL : malloc(n))
#define calloc(n, size) (fails("calloc") ? NULL : calloc(n, size))
#define strdup(text)	(fails("strdup") && !strdups-- ? NULL : strdup(text))
#define fork()		(fails("fork") ? -1 : fork())
#define prctl(...)	(fails("prctl") ? -1 : prctl(__VA_ARGS__))
#define getppid()	(fails("parent") ? 1 : getppid())
#define execv(to, args) (fails("exec") ? -1 : execv(to, args))
#include "service/jobs.c"
#undef malloc
#undef calloc
#undef strdup
#undef fork
#undef prctl

static int nothing(const struct context *of, void *unused)
{
	(void)unused;
	(void)of;
	return 0;
}

static int for_ever(const struct context *of, void *unused)
{
	(void)unused;
	(void)of;
	alarm(60); /* the test must end, too */
	return pause();
}

static const struct context own = CONTEXT_DEFAULT;

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
	struct jobs jobs = { .context = &own };
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
	struct jobs jobs = { .context = &own };
	struct job *job = NULL;
	int status = 0;
	pid_t pid;

	log_settings.quiet = true;
	jobs_limit(&jobs, INT64_MAX);
	jobs_add(&jobs, &(struct job){ .kind = JOB_MEASURE, .run = for_ever }, NULL, NULL, 0);
	CHECK(!jobs_start(&jobs) && jobs.pid > 0 && jobs.since && jobs.first->since > 0, "not started");
	pid = jobs.pid;
	CHECK(!jobs_start(&jobs) && jobs.pid == pid, "another is started beside it");
	jobs_limit(&jobs, jobs.since + 600000);
	CHECK(!jobs_ended(&jobs, &job, &status) && !job && jobs.pid == pid, "it was stopped within ten minutes");
	jobs_limit(&jobs, jobs.since + 600001);
	CHECK(jobs.since > 0, "it runs since %lld", (long long)jobs.since);
	job = end_of(&jobs, &status);
	CHECK(job && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
	CHECK(!jobs.pid && !jobs.first, "it runs still");
	if (job)
		job_free(job);
	jobs_stop(&jobs);
}

/* A new version of a list that takes long goes on beside the others, as one at a time. */
static void aside(void)
{
	static const struct {
		struct job job;
		bool goes;
	} each[] = {
		{ { .kind = JOB_LOAD, .list = "one" }, true },
		{ { .kind = JOB_NETWORKS }, true },
		{ { .kind = JOB_LINE, .line = 3, .list = "one", .again = true }, true },
		{ { .kind = JOB_LINE, .line = 3, .list = "one" }, false }, /* those behind it may need it */
		{ { .kind = JOB_LINE, .line = 3, .again = true }, false },
		{ { .kind = JOB_ROTATE }, false },
		{ { .kind = JOB_RESTORE }, false },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct jobs jobs = { .context = &own }, slow = jobs;
		struct job job = each[i].job;
		int status = 0;
		pid_t pid;

		CHECK(!jobs_set_aside(&jobs, &slow, INT64_MAX), "there is none");
		job.run = for_ever;
		jobs_add(&jobs, &job, NULL, NULL, 0);
		add(&jobs, (struct job){ .kind = JOB_ROTATE, .line = 7 });
		CHECK(!jobs_set_aside(&jobs, &slow, INT64_MAX), "%zu: it does not run yet", i);
		jobs_start(&jobs);
		pid = jobs.pid;
		CHECK(!jobs_set_aside(&jobs, &slow, jobs.since + 10000) && jobs.pid == pid, "%zu: it was not long", i);
		CHECK(jobs_set_aside(&jobs, &slow, jobs.since + 10001) == each[i].goes, "%zu: it is not", i);
		if (each[i].goes) {
			CHECK(slow.pid == pid && is(slow.first, &job) && !slow.first->next && slow.since == jobs.since,
			      "%zu: another is aside", i);
			CHECK(!jobs.pid && jobs.first && jobs.first->line == 7, "%zu: the others wait", i);
			/* The same list once more stays where it is. */
			jobs_stop(&jobs);
			jobs_add(&jobs, &job, NULL, NULL, 0);
			jobs_start(&jobs);
			CHECK(!jobs_set_aside(&jobs, &slow, INT64_MAX) && jobs.pid, "%zu: two are aside", i);
			kill(slow.pid, SIGKILL);
			job_free(end_of(&slow, &status));
			CHECK(!slow.pid && !slow.first, "%zu: it is there still", i);
		} else {
			CHECK(jobs.pid == pid && !slow.first, "%zu: it is gone", i);
		}
		jobs_stop(&jobs);
		jobs_stop(&slow);
	}
}

/* It is said once in ten minutes. */
static void limit_is_said(void)
{
	int was = dup(STDERR_FILENO), said = memfd_create("said", MFD_CLOEXEC);
	struct jobs jobs = { .context = &own };
	char text[1000] = "";

	log_settings.quiet = false;
	jobs_add(&jobs, &(struct job){ .kind = JOB_LOAD, .run = for_ever, .list = "one" }, NULL, NULL, 0);
	jobs_start(&jobs);
	jobs.since = 1000;
	dup2(said, STDERR_FILENO);
	jobs_limit(&jobs, 601001);
	jobs_limit(&jobs, 1201001);
	dup2(was, STDERR_FILENO);
	CHECK(jobs.since == 601001, "since %lld", (long long)jobs.since);
	CHECK(pread(said, text, sizeof(text) - 1, 0) > 0 &&
		      !strcmp(text, "xdp-bloom: load one: ran for more than 600 s and was stopped\n"),
	      "it says '%s'", text);
	close(was);
	close(said);
	jobs_stop(&jobs);
}

/* One that was stopped is ended, too. */
static void stopped(void)
{
	struct jobs jobs = { .context = &own };
	int64_t began = clock_ms();
	siginfo_t info;

	jobs_add(&jobs, &(struct job){ .kind = JOB_MEASURE, .run = for_ever }, NULL, NULL, 0);
	add(&jobs, (struct job){ .kind = JOB_ROTATE });
	jobs_start(&jobs);
	kill(jobs.pid, SIGSTOP);
	CHECK(!waitid(P_PID, (id_t)jobs.pid, &info, WSTOPPED | WNOWAIT), "it does not stop");
	jobs_stop(&jobs);
	CHECK(!jobs.pid && !jobs.first && waitpid(-1, NULL, WNOHANG) < 0, "it is there still");
	CHECK(clock_ms() - began < 50000, "it has ended by itself");
}

static void texts(void)
{
	static const struct {
		struct job job;
		const char *text;
	} each[] = {
		{ { .kind = JOB_START }, "start" },
		{ { .kind = JOB_RESTORE }, "restore" },
		{ { .kind = JOB_LINE, .line = 7 }, "line 7" },
		{ { .kind = JOB_LOAD, .list = "a" }, "load a" },
		{ { .kind = JOB_FEED, .list = "a", .line = 7 }, "load a" },
		{ { .kind = JOB_ROTATE }, "rotate" },
		{ { .kind = JOB_EXPIRE }, "what ran out of time" },
		{ { .kind = JOB_MEASURE }, "the filter's rate" },
		{ { .kind = JOB_HEAL }, "what is gone of the filter" },
		{ { .kind = JOB_JAIL }, "whom the detector bans" },
		{ { .kind = JOB_LEARN }, "what sources send" },
		{ { .kind = JOB_FOLLOW, .line = 7, .list = "a" }, "line 7" },
		{ { .kind = JOB_NETWORKS }, "the table of networks" },
		{ { .kind = JOB_NEEDS }, "what this machine needs" },
		{ { .kind = JOB_ERRANDS }, "commands of others" },
		{ { .kind = JOB_FLEET }, "fleet" },
	};
	char text[JOB_TEXT_MAX];

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		CHECK(!strcmp(job_text(text, &each[i].job), each[i].text), "'%s', not '%s'", text, each[i].text);
}

static void joined(const struct jobs *jobs, const char *wanted)
{
	char text[500] = "";

	for (char **arg = jobs->first->args; *arg; arg++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", *arg);
	CHECK(!strcmp(text, wanted), "'%s', not '%s'", text, wanted);
}

/* The command of a job: the verb, what every command gets, the option, what a load gets, the other words. */
static void words(void)
{
	char *line[] = { "load", "a", "/a b", NULL };
	static const char *const wanted[] = {
		"",
		" xdp-bloom load --state /var/lib/xdp-bloom --bpffs /sys/fs/bpf/xdp-bloom --log=text --spare",
		" xdp-bloom load --state /var/lib/xdp-bloom --bpffs /sys/fs/bpf/xdp-bloom --log=text --spare a",
		" xdp-bloom load --state /var/lib/xdp-bloom --bpffs /sys/fs/bpf/xdp-bloom --log=text --spare a /a b",
	};
	struct jobs jobs = { .context = &own };

	for (size_t n = 0; n < 4; n++) {
		CHECK(!jobs_add(&jobs, &(struct job){ .kind = JOB_LOAD }, NULL, line, n), "no memory");
		joined(&jobs, wanted[n]);
		jobs_stop(&jobs);
	}
	log_settings.json = true;
	CHECK(!jobs_add(&jobs, &(struct job){ .kind = JOB_LOAD }, "--if-changed", line, 2), "no memory");
	joined(&jobs,
	       " xdp-bloom load --state /var/lib/xdp-bloom --bpffs /sys/fs/bpf/xdp-bloom --log=json --if-changed --spare a");
	log_settings.json = false;
	jobs_stop(&jobs);
	CHECK(!jobs_verb(&jobs, JOB_ROTATE, "rotate") && jobs.first->kind == JOB_ROTATE, "no memory");
	joined(&jobs, " xdp-bloom rotate --state /var/lib/xdp-bloom --bpffs /sys/fs/bpf/xdp-bloom --log=text");
	jobs_stop(&jobs);
}

static void no_memory(void)
{
	static const char *const each[] = { "malloc", "calloc", "strdup", "strdup", "strdup" };
	struct jobs jobs = { .context = &own };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		failing = each[i];
		strdups = i < 3 ? 0 : i == 3 ? 3 : 6;
		CHECK(err_is(jobs_verb(&jobs, JOB_ROTATE, "rotate"), ENOMEM) && !jobs.first, "%zu: it is there", i);
	}
	failing = "";
	CHECK(!jobs_verb(&jobs, JOB_ROTATE, "rotate"), "there is memory");
	failing = "fork";
	CHECK(err_is(jobs_start(&jobs), EAGAIN) && !jobs.pid && jobs.first, "it is started");
	failing = "";
	jobs_stop(&jobs);
}

/* --- What it becomes: this program once more --- */

#define TOLD "XDP_BLOOM_UNIT_JOBS" /* the file that it writes into what it sees */

static int tells(int argc, char **argv)
{
	FILE *to = fopen(getenv(TOLD), "w"), *score = fopen("/proc/self/oom_score_adj", "r");
	char line[20] = "", text[200] = "";
	int death = -1;
	sigset_t mask;

	if (!to)
		return 1;
	for (int i = 0; i < argc; i++)
		fprintf(to, "%s ", i == 3 || i == 5 ? "..." : argv[i]);
	if (score && fgets(line, sizeof(line), score))
		fprintf(to, "goes at %d, ", atoi(line));
	if (!fgets(text, sizeof(text), stdin))
		strcpy(text, "nothing");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	prctl(PR_GET_PDEATHSIG, &death);
	fprintf(to, "reads %s, writes to %s, blocks %s, SIGPIPE %s, ends by %d\n", text,
		ttyname(STDOUT_FILENO) || lseek(STDOUT_FILENO, 0, SEEK_END) ? "something" : "nothing",
		sigismember(&mask, SIGUSR2) ? "some" : "none",
		signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "ends it" : "does not", death);
	return fclose(to) ? 1 : 9;
}

static void becomes_one(struct job what, int in, int exit_status, const char *wanted)
{
	char path[] = "/tmp/unit_jobs.XXXXXX", text[500] = "", *line[] = { "verb", "word" };
	struct jobs jobs = { .context = &own };
	int fd = mkstemp(path), status = 0;
	struct job *job;
	sigset_t mask;

	setenv(TOLD, path, 1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	what.in = in;
	CHECK(!jobs_add(&jobs, &what, NULL, line, 2) && !jobs_start(&jobs), "not started");
	job = end_of(&jobs, &status);
	CHECK(job && WIFEXITED(status) && WEXITSTATUS(status) == exit_status, "status %x", status);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) >= 0 && !strcmp(text, wanted), "'%s', not '%s'", text, wanted);
	if (job)
		job_free(job);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	close(fd);
	unlink(path);
}

#define SEES(words, death)                                                                 \
	"xdp-bloom verb --state ... --bpffs ... --log=text word goes at 500, reads " words \
	", writes to nothing, blocks none, SIGPIPE ends it, ends by " death "\n"

static void becomes(void)
{
	static const enum job_kind goes_on[] = { JOB_FOLLOW, JOB_FLEET, JOB_ERRANDS };
	int pipes[2], was = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (pipe(pipes) || write(pipes[1], "a line", 6) != 6)
		abort();
	close(pipes[1]);
	becomes_one((struct job){ .kind = JOB_LOAD }, 0, 9, SEES("nothing", "0"));
	becomes_one((struct job){ .kind = JOB_LOAD }, pipes[0], 9, SEES("a line", "0"));
	close(pipes[0]);
	for (size_t i = 0; i < 3; i++)
		becomes_one((struct job){ .kind = goes_on[i] }, 0, 9, SEES("nothing", "15"));
	dup2(null, STDERR_FILENO);
	close(null);
	for (size_t i = 0; i < 3; i++) {
		static const char *const each[] = { "prctl", "parent", "exec" };

		failing = each[i];
		becomes_one((struct job){ .kind = JOB_FLEET }, 0, EXIT_ERROR, "");
		becomes_one((struct job){ .kind = JOB_LOAD }, 0, i < 2 ? 9 : EXIT_ERROR,
			    i < 2 ? SEES("nothing", "0") : "");
	}
	failing = "";
	dup2(was, STDERR_FILENO);
	close(was);
}

/* A line that failed is deferred; a new config file drops those that wait, that are deferred, and the one that runs. */
static void lines(void)
{
	struct jobs jobs = { .context = &own };
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
	/* What runs is no line, and what is deferred is one. */
	jobs_start(&jobs);
	for (unsigned int i = 4; i <= 5; i++) {
		job = calloc(1, sizeof(*job));
		job->kind = i == 4 ? JOB_LINE : JOB_LOAD;
		job->line = i;
		jobs_defer(&jobs, job);
	}
	CHECK(jobs_defers_line(&jobs, 4) && !jobs_defers_line(&jobs, 5) && jobs.deferred->again, "no line is deferred");
	jobs_drop_lines(&jobs);
	CHECK(!jobs.first->unwanted && jobs.deferred && jobs.deferred->line == 5 && !jobs.deferred->next,
	      "another is dropped");
	jobs_again(&jobs);
	CHECK(jobs.first->next && jobs.first->next->line == 5 && !jobs.deferred, "it is not there again");
	jobs_stop(&jobs);
}

/* What stood in the way of a line was over before the line ended: it waits for nothing. Of the next time that is
 * unknown. */
static void overtaken(void)
{
	struct jobs jobs = { .context = &own };
	struct job *job;
	int status;

	jobs_overtake(&jobs);
	for (unsigned int i = 1; i <= 2; i++)
		add(&jobs, (struct job){ .kind = JOB_LINE, .line = i });
	jobs_overtake(&jobs);
	jobs_start(&jobs);
	CHECK(!jobs.first->overtaken, "it does not run yet");
	jobs_overtake(&jobs);
	job = end_of(&jobs, &status);
	if (!CHECK(job && job->overtaken && !jobs.first->overtaken, "another is"))
		return;
	jobs_defer(&jobs, job);
	CHECK(!jobs.deferred && jobs.first->next == job && job->again, "it waits");
	jobs_start(&jobs);
	job_free(end_of(&jobs, &status));
	jobs_start(&jobs);
	job = end_of(&jobs, &status);
	if (!CHECK(job && job->line == 1 && !job->overtaken, "it is for ever"))
		return;
	jobs_defer(&jobs, job);
	CHECK(jobs.deferred == job && !jobs.first, "it does not wait");
	jobs_stop(&jobs);
}

/* What does not even end when it is killed is given up, and not waited for. */
static void given_up(void)
{
	sigset_t told, before;
	struct jobs jobs = { .context = &own };
	struct job *job = NULL;
	int status = 0;
	pid_t pid;

	jobs_add(&jobs, &(struct job){ .kind = JOB_MEASURE, .run = for_ever }, NULL, NULL, 0);
	CHECK(!jobs_start(&jobs) && jobs.pid > 0, "not started");
	pid = jobs.pid;
	jobs.since = clock_ms() - END_MS;
	CHECK(!jobs_ended(&jobs, &job, &status), "one that was not stopped is given up");
	/* As if it had been killed, for it would end by that. */
	jobs.first->stopped = true;
	jobs_limit(&jobs, jobs.since + 700000);
	CHECK(jobs.since < clock_ms() - END_MS + 1000, "it is killed again");
	jobs.since = clock_ms();
	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigprocmask(SIG_BLOCK, &told, &before);
	jobs_limit(&jobs, jobs.since + END_MS - 1);
	CHECK(!sigpending(&told) && !sigismember(&told, SIGCHLD), "one that was stopped just now is to be looked at");
	CHECK(!jobs_ended(&jobs, &job, &status), "one that was stopped just now is given up");
	jobs_limit(&jobs, jobs.since + END_MS);
	CHECK(!sigpending(&told) && sigismember(&told, SIGCHLD), "nobody is told");
	sigprocmask(SIG_SETMASK, &before, NULL);
	jobs.since = clock_ms() - END_MS;
	CHECK(jobs_ended(&jobs, &job, &status) && !jobs.pid && !jobs.first && job, "it is waited for");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
	if (job)
		job_free(job);
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "it has gone");
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

int main(int argc, char **argv)
{
	static const struct ktap_case cases[] = {
		{ "one after another, and what is urgent first", order },
		{ "one that was overtaken", overtaken },
		{ "one that does not end is stopped", limit },
		{ "a list that takes long", aside },
		{ "that is said once", limit_is_said },
		{ "one that was stopped", stopped },
		{ "one that does not end even so", given_up },
		{ "what each is called", texts },
		{ "the words of each", words },
		{ "without memory", no_memory },
		{ "what it becomes", becomes },
		{ "lines of the config file", lines },
		{ "when it tries again", tries_again },
	};

	return getenv(TOLD) ? tells(argc, argv) : ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
