// SPDX-License-Identifier: GPL-2.0-only
/* Which files the service watches, when it looks at them, what it has loaded then, and what it says; word for word. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/path_walk.h"
#include "base/state_path.h"
#include "base/words.h"
#include "change/feed.h"
#include "model_clock.h"
#include "observe/lines_down.h"
#include "service/config.h"
#include "service/file_watch.h"
#include "service/jobs.h"
#include "sets/networks.h"
#include "shown.h"
#include "state/failed.h"
#include "state/sources.h"

static const struct shown known[] = {
#include "unit_reload_turns.txt"
};

static struct shows shows = { .file = "tests/unit/unit_reload_turns.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context in_state = { .state = "/state", .bpffs = "/pins" };
static struct jobs its_jobs = { .context = &in_state };
static struct config lines_of;

/* The files of lists, in the state and as they are. */
static struct file_of {
	const char *list, *path, *options, *stamp; /* as the state has it; list NULL: nothing more */
	const char *now;			   /* NULL: it is gone; "!": may not be seen; "?": a link to nowhere */
	bool written, young, unwatched, unseen;
	bool far, silent; /* who answers for it may not; nor does he */
} files[5];
static const char *of_networks, *networks_stamp; /* of networks; NULL: there is none */
static const char *failing = "";
static bool lock_unwatched, job_fails;
static int forgotten;	       /* what another service left */
static size_t told[4], told_n; /* what the kernel reports */

static bool fails(const char *call)
{
	errno = EAGAIN;
	return !strcmp(call, failing);
}

static struct file_of *file_at(const char *path)
{
	static struct file_of of_table;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (files[i].list && !strcmp(files[i].path, path))
			return &files[i];
	of_table = (struct file_of){ .now = networks_stamp };
	return &of_table;
}

static struct file_watch *given_open(void)
{
	return fails("watch") ? NULL : (struct file_watch *)told;
}

static int given_add(struct file_watch *w, const char *path, size_t number, bool by_closing)
{
	bool lock = !strcmp(path, "/state/lock");

	(void)w;
	word("%s as %s%zu%s", path,
	     number == SIZE_MAX	      ? "the lock "
	     : number == SIZE_MAX - 1 ? "a failed "
				      : "",
	     number > 99 ? 0 : number, by_closing ? ", closed" : "");
	if (lock ? lock_unwatched : file_at(path)->unwatched)
		return because(-ENOSPC, "%s: too many watches", path);
	return !lock && file_at(path)->far ? because(-EREMOTE, "%s may not answer", path) : 0;
}

static void given_read(struct file_watch *w, void (*each)(void *arg, size_t number), void *arg)
{
	(void)w;
	for (size_t i = 0; i < told_n; i++)
		each(arg, told[i]);
	told_n = 0;
}

static int given_sources(struct state *state, struct source **sources, size_t *n)
{
	(void)state;
	*sources = NULL;
	*n = 0;
	if (fails("sources"))
		return because(-EIO, "it cannot be read");
	*sources = calloc(6, sizeof(**sources));
	for (*n = 0; *n < 5 && files[*n].list; ++*n) {
		struct source *s = &(*sources)[*n];

		snprintf(s->list, sizeof(s->list), "%s", files[*n].list);
		snprintf(s->path, sizeof(s->path), "%s", files[*n].path);
		snprintf(s->options, sizeof(s->options), "%s", files[*n].options ?: "");
		snprintf(s->stamp, sizeof(s->stamp), "%s", files[*n].stamp);
	}
	return 0;
}

static const struct networks_source *given_from(const struct networks *n)
{
	static struct networks_source from;

	if (!n)
		return NULL;
	snprintf(from.path, sizeof(from.path), "%s", of_networks);
	snprintf(from.stamp, sizeof(from.stamp), "%s", "t1");
	return &from;
}

static enum answers waits = USER_ANSWERS;

static enum answers given_waits(enum answers most)
{
	enum answers before = waits;

	waits = most;
	return before;
}

static int given_look(char stamp[SOURCE_STAMP_MAX], const char *path)
{
	const char *now = file_at(path)->now;

	if (file_at(path)->far && waits == KERNEL_ANSWERS)
		return because(-EREMOTE, "%s may not answer", path);
	/* In a process of its own. */
	if (file_at(path)->silent)
		pause();

	if (!now || *now == '?')
		return because(-ENOENT, "%s: it is gone", path);
	if (*now == '!')
		return because(-EACCES, "%s: it may not be seen", path);
	snprintf(stamp, SOURCE_STAMP_MAX, "%s", now);
	return 0;
}

static int given_way(const char *path, bool follow, struct stat *st)
{
	const char *now = file_at(path)->now;

	if (follow)
		return file_at(path)->unseen ? -EACCES : 0;
	*st = (struct stat){ .st_mode = now && *now == '?' ? S_IFLNK : S_IFREG };
	return now ? 0 : -1;
}

static bool given_young(const char *path, int64_t seconds)
{
	if (seconds != 60)
		line("young within %lld", (long long)seconds);
	return file_at(path)->young;
}

static int given_job(struct jobs *of, const struct job *job, const char *option, char *const *words, size_t n)
{
	begin_line();
	printf("job %s '%s' %s:",
	       job->kind == JOB_LOAD	   ? "load"
	       : job->kind == JOB_NETWORKS ? "networks"
					   : "?",
	       job->list, option ?: "as it is");
	for (size_t i = 0; i < n; i++)
		printf(" %s", words[i]);
	puts(of == &its_jobs ? "" : " of another");
	return job_fails ? -ENOMEM : 0;
}

static void given_failed(const struct context *context, const char *list, const char *why)
{
	line("%s '%s' fails: %s", context == &in_state ? "list" : "of another", list, why);
}

static void given_succeeded(const struct context *context, const char *list)
{
	line("%s '%s' fails no more", context == &in_state ? "list" : "of another", list);
}

static void given_keep(const struct context *context, const char *file, const struct lines_down *down)
{
	if (context != &in_state || strcmp(file, STATE_UNTOLD) != 0 || down->n)
		abort();
	forgotten++;
}

__attribute__((format(printf, 4, 5))) static void given_say(const struct context *context, const char *file, bool down,
							    const char *fmt, ...)
{
	char text[LINE_DOWN_MAX];
	va_list args;

	if (context != &in_state || strcmp(file, STATE_UNTOLD) != 0)
		abort();
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line("%s: %s", down ? "fault" : "healed", text);
}

static bool given_defers(const struct jobs *of, unsigned int number)
{
	return of == &its_jobs && number % 2;
}

static bool given_loads(const struct config_line *l, const char **list, const char **file)
{
	*list = "x";
	*file = l->words.words[1];
	return l->words.n > 1;
}

#define file_watch_open		  given_open
#define file_watch_close(w)	  ((void)(w))
#define file_watch_fd(w)	  ((w) == (const struct file_watch *)told ? 7 : -1)
#define file_watch_begin(w)	  ((void)(w), word("watches"))
#define file_watch_add		  given_add
#define file_watch_end(w)	  ((void)(w), end_words())
#define file_watch_read		  given_read
#define state_sources		  given_sources
#define networks_open(state)	  (of_networks && !strcmp(state, "/state") ? (struct networks *)told : NULL)
#define networks_from		  given_from
#define networks_close(n)	  ((void)(n))
#define source_look		  given_look
#define source_is_written(path)	  (file_at(path)->written)
#define source_is_young		  given_young
#define jobs_add		  given_job
#define jobs_defers_line	  given_defers
#define config_loads		  given_loads
#define config_load_of(all, name) ((all)->n && !strcmp(name, "lined") ? (all)->lines : NULL)
#define list_failed		  given_failed
#define lines_down_keep		  given_keep
#define line_down_say		  given_say
#define list_succeeded		  given_succeeded
#define way_look		  given_way
#define way_waits_for		  given_waits
#define fork()			  (fails("fork") ? -1 : fork())
#define pipe2(ends, how)	  (fails("pipe") ? -1 : pipe2(ends, how))
#define warn			  given_warn
#define clock_ms()		  now_ms
#define malloc(n)		  (fails("malloc") ? NULL : malloc(n))
#define calloc(n, size)		  (fails("calloc") ? NULL : calloc(n, size))
#include "service/list_look.c"
#include "service/reload.c"
#undef malloc
#undef calloc
#undef fork

static struct reload *r;
static bool slow; /* what is to be loaded takes until ends() */

static void follows(void)
{
	int err = reload_follow(r, NULL, &lines_of, &its_jobs);

	end_words();
	line("%s, %zu files, due %lld", err ? reason(err) : "followed", r->n,
	     (long long)(reload_due(r) ? reload_due(r) - now_ms : -1));
}

static void ends(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && files[i].list; i++)
		reload_ended(r, files[i].list, now_ms);
	reload_ended(r, "", now_ms);
}

static void turn(void)
{
	bool unseen = reload_unseen(r, now_ms), again = reload_turn(r, &lines_of, &its_jobs, now_ms);

	end_words();
	if (!slow)
		ends();
	line("%s%sdue in %lld", unseen ? "the state is looked at, " : "", again ? "lines again, " : "",
	     (long long)(reload_due(r) - now_ms));
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

static void tells(size_t number)
{
	told[told_n++] = number;
	if (reload_read(r, now_ms))
		line("a command has ended");
	line("told of %zu: due in %lld", number > 99 ? 0 : number, (long long)(reload_due(r) - now_ms));
}

static void anew(void)
{
	memset(files, 0, sizeof(files));
	files[0] = (struct file_of){ "one", "/l/one", "--format plain", "s1", "s1", .written = false };
	of_networks = networks_stamp = NULL;
	failing = "";
	lock_unwatched = job_fails = slow = false;
	told_n = 0;
	lines_of = (struct config){ 0 };
	now_ms = BEGINS;
	reload_close(r);
	if (reload_open(&r))
		abort();
}

static void versions(void)
{
	line("%d", reload_fd(r));
	forgotten = 0;
	follows();
	follows();
	if (forgotten != 1)
		line("what another service left is forgotten %d times", forgotten);
	turn();
	follows();
	after(1000);
	files[0].now = "s2";
	tells(0);
	after(199);
	after(1);
	after(1000);
	tells(0);
	after(200);
	files[0].stamp = "s2";
	follows();
	files[0].now = "s3";
	line("nobody tells");
	after(57000);
	after(60000);
	after(59999);
	after(1);
	line("gone");
	files[0].now = NULL;
	tells(0);
	after(200);
	line("and back");
	files[0].now = "s4";
	tells(0);
	after(200);
}

static void written(void)
{
	follows();
	turn();
	files[0].now = "s2";
	files[0].written = true;
	tells(0);
	after(200);
	files[0].written = false;
	tells(0);
	after(200);
	line("young, and nobody tells");
	files[0].now = "s3";
	files[0].young = true;
	after(60000);
	files[0].written = true;
	after(60000);
	files[0].written = files[0].young = false;
	after(60000);
	line("young, and told");
	after(1000);
	files[0].now = "s4";
	files[0].young = true;
	tells(0);
	after(200);
}

static void not_seen(void)
{
	of_networks = "/l/table";
	networks_stamp = "!";
	files[0].now = "!";
	follows();
	turn();
	after(60000);
	files[0].now = "s1";
	networks_stamp = "t1";
	after(60000);
	after(60000);
	files[0].now = "!";
	tells(0);
	after(200);
}

static void becomes(const char *now)
{
	line("%s", now ?: "gone");
	files[0].now = now;
	tells(0);
	after(200);
	after(1000);
}

/* Whatever it leads to, it fails from when it led to no list until it does: it says nothing of what there is. */
static void to_nowhere(void)
{
	follows();
	turn();
	becomes("refused");
	becomes("?");
	becomes("refused");
	becomes("?");
	becomes("s1");
	becomes("?");
	becomes(NULL);
}

static void several(void)
{
	static char *of_line[] = { "load", "lined", "/l/lined", "--allow" };
	static struct config_line lines[] = { { .number = 1, .words = { of_line, 4 } } };
	static const struct verb verb = { .name = "load", .if_news = "--if-news" };

	lines[0].verb = &verb;
	files[1] = (struct file_of){ "two", "/l/two", "", "s1", "s2", .written = false };
	files[2] = (struct file_of){ "lined", "/l/lined", "--x", "s1", "s2", .written = false };
	files[3] = (struct file_of){ "two", "/l/other", "--only 'tcp/22' -j", "s1", "s2", .written = false };
	of_networks = "/l/table";
	networks_stamp = "t2";
	lines_of = (struct config){ .lines = lines, .n = 1 };
	follows();
	turn();
	tells(0);
	tells(4);
	tells(5);
	tells(99);
	tells(LOCK_NUMBER);
	tells(FAILED_NUMBER);
	after(200);
	lines_of.n = 0;
	line("all");
	reload_all(r);
	turn();
	line("those that failed");
	files[1].stamp = "s2";
	follows();
	reload_again(r);
	turn();
	after(1000);
	line("no memory for a job");
	job_fails = true;
	reload_all(r);
	turn();
	line("bad options");
	job_fails = false;
	files[0].options = "'";
	files[0].now = "s9";
	follows();
	failing = "calloc";
	reload_all(r);
	turn();
	failing = "";
	files[1].list = NULL;
	of_networks = NULL;
	follows();
}

static void failed_lines(void)
{
	static char *words[][2] = {
		{ "load", "/l/a" }, { "load", "/l/b" }, { "load", "https://h/c" }, { "tune", NULL }, { "load", "/l/e" }
	};
	static struct config_line lines[5];

	for (unsigned int i = 0; i < 5; i++)
		lines[i] = (struct config_line){ .number = i + 1, .words = { words[i], words[i][1] ? 2 : 1 } };
	lines[3].number = 7;
	lines_of = (struct config){ .lines = lines, .n = 5 };
	follows();
	turn();
	tells(FAILED_NUMBER);
	after(200);
	after(200);
}

static void not_watched(void)
{
	lock_unwatched = files[0].unwatched = true;
	follows();
	turn();
	after(60000);
	lock_unwatched = files[0].unwatched = false;
	after(60000);
	lock_unwatched = files[0].unwatched = files[0].unseen = true;
	after(60000);
	files[0].unseen = false;
	after(60000);
	files[0].unwatched = false;
	after(60000);
	of_networks = "/l/table";
	networks_stamp = "t1";
	follows();
	files[0].unwatched = true;
	after(60000);
}

/* Nothing is told at all: the state is looked at each second, and that is said once. */
static void untold(void)
{
	files[1] = (struct file_of){ "two", "/l/two", "", "s1", "s2", .unwatched = true };
	lock_unwatched = files[0].unwatched = true;
	forgotten = 0;
	follows();
	turn();
	for (int i = 0; i < 3; i++) {
		after(999);
		after(1);
		follows();
	}
	files[0].now = "s9";
	after(1000);
	lock_unwatched = files[0].unwatched = files[1].unwatched = false;
	follows();
	turn();
	after(1000);
	after(1000);
	if (forgotten)
		line("it was forgotten");
}

/* Those that look, but the silent ones, have ended; which of them, nobody was told. */
static void looked(void)
{
	siginfo_t of_one;

	for (size_t i = 0; i < r->n; i++)
		if (r->lists[i].looker.pid && !file_at(r->lists[i].path)->silent &&
		    waitid(P_PID, (id_t)r->lists[i].looker.pid, &of_one, WEXITED | WNOWAIT))
			abort();
	reload_looked(r, &lines_of, &its_jobs, now_ms);
	if (!slow)
		ends();
	line("looked: due in %lld", (long long)(reload_due(r) - now_ms));
}

static void speaks(size_t i)
{
	/* It was asked while it was silent: as if it answered now. */
	files[i].silent = false;
	if (kill(r->lists[i].looker.pid, SIGKILL))
		abort();
	looked();
}

/* A process looks at what may not answer, and nobody waits for that. */
static void far(void)
{
	int status;

	files[0].far = true;
	follows();
	turn();
	looked();
	line("a new version");
	files[0].now = "s2";
	after(60000);
	looked();
	files[0].stamp = "s2";
	follows();
	line("it may be written on");
	files[0].now = "s3";
	files[0].young = true;
	after(60000);
	looked();
	files[0].young = false;
	after(60000);
	follows();
	looked();
	files[0].stamp = "s3";
	follows();
	line("no answer");
	files[0].silent = true;
	after(60000);
	looked();
	tells(0);
	after(200);
	after(9000);
	follows();
	after(800);
	after(50000);
	speaks(0);
	after(60000);
	looked();
	line("one at a time");
	files[1] = (struct file_of){ "two", "/l/two", "", "s1", "s2", .far = true };
	files[2] = (struct file_of){ "three", "/l/three", "", "s1", "s2", .far = false };
	files[0].now = "s4";
	slow = true;
	follows();
	turn();
	after(60000);
	looked();
	ends();
	after(1000);
	looked();
	ends();
	slow = false;
	line("no process");
	files[0].stamp = "s4";
	files[1].list = NULL;
	follows();
	failing = "fork";
	after(60000);
	failing = "pipe";
	after(60000);
	failing = "";
	line("gone, while it is looked at");
	files[0].silent = true;
	after(60000);
	files[0].list = NULL;
	follows();
	if (waitpid(-1, &status, 0) <= 0 || !WIFSIGNALED(status))
		line("it looks on");
}

/* As long as the name of a list may be. */
static void long_name(void)
{
	files[0].list = "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-123";
	files[0].unwatched = true;
	follows();
}

static void each_fails(void)
{
	static const char *const each[] = { "sources", "calloc", "malloc" };
	struct reload *other = (void *)1;
	int err;

	follows();
	turn();
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		failing = each[i];
		line("%s", failing);
		files[1] = (struct file_of){ "two", "/l/two", "", "s1", "s1", .written = false };
		follows();
		failing = "";
	}
	failing = "watch";
	err = reload_open(&other);
	line("%s%s", reason(err), other ? ", and something is left" : "");
	failing = "calloc";
	other = (void *)1;
	err = reload_open(&other);
	line("%s%s", reason(err), other ? ", and something is left" : "");
	failing = "";
	turn();
}

/* Whoever may write to a file does so at each moment. */
static void all_the_time(void)
{
	char versions[18][4];

	follows();
	turn();
	slow = true;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		snprintf(versions[i], sizeof(versions[i]), "v%zu", i);
		files[0].now = versions[i];
		tells(0);
		after(i ? reload_due(r) - now_ms : 200);
		tells(0);
		after(300);
		ends();
		line("it is loaded");
	}
	tells(0);
	after(1000);
	line("all");
	reload_all(r);
	turn();
	ends();
	line("and no more, but for one");
	after(65000);
	after(reload_due(r) - now_ms);
	files[0].now = "s12";
	tells(0);
	after(200);
	ends();
	tells(0);
	line("lines that fail");
	for (int i = 0; i < 4; i++) {
		tells(FAILED_NUMBER);
		after(i ? reload_due(r) - now_ms : 200);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "versions", versions },	  { "as it is written", written },
		{ "not seen", not_seen },	  { "to nowhere", to_nowhere },
		{ "several", several },		  { "lines that failed", failed_lines },
		{ "not watched", not_watched },	  { "untold", untold },
		{ "a long name", long_name },	  { "each fails", each_fails },
		{ "all the time", all_the_time }, { "may not answer", far },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
	reload_close(r);
	reload_close(NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
