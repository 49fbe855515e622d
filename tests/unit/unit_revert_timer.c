// SPDX-License-Identifier: GPL-2.0-only
/*
 * What waits for confirmation: who has to wait, the process that takes it back and when it looks, and what stays once
 * it is confirmed; where state, kernel, clocks and processes are made up, word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/revert_timer.h"
#include "kernel/attach.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/generation.h"
#include "shown.h"
#include "state/kept_image.h"
#include "state/settings.h"

static const struct shown known[] = {
#include "unit_revert_timer.txt"
};

static struct shows shows = { .file = "tests/unit/unit_revert_timer.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define STATE ((struct state *)&shows) /* nobody looks into it */
#define S     ((int64_t)1000000000)
#define DATE  1800000000 /* and since the start of the machine: 100 s */

static struct context given_context;
static struct pending waits[8];
static size_t waits_n;
static const char *failing; /* the step that does, so many times */
static int failing_times;
static int64_t boot, date;
static bool is_held, is_child, on_trial;
static unsigned int asleep; /* so many times it has slept */
static void (*while_asleep)(void);
static jmp_buf gone;
static double generation; /* that was in force at last */

/* True where it fails. */
__attribute__((format(printf, 1, 2))) static bool step(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("  %s\n", text);
	if (!failing || strncmp(text, failing, strlen(failing)) != 0 || failing_times-- <= 0)
		return false;
	errno = ENOSPC;
	return true;
}

/* Which may fail, and changes nothing. */
static int tried(const char *what)
{
	return step("%s", what) ? because(-EIO, "no %s", what) : 0;
}

static void mine(const struct context *context)
{
	if (context != &given_context)
		printf("  of another context\n");
}

static int given_state_open(struct state **state, const struct context *context, bool change)
{
	mine(context);
	*state = NULL;
	if (step("the state is opened%s", change ? " for change" : ""))
		return -EIO;
	*state = STATE;
	return 0;
}

static void given_state_close(struct state *state)
{
	if (state)
		step("the state is closed");
}

static int given_pending(struct state *state, struct pending **pending, size_t *n)
{
	*pending = NULL;
	*n = waits_n + 1;
	if (state != STATE || step("what waits?"))
		return -EUCLEAN;
	*n = waits_n;
	*pending = calloc(waits_n + 1, sizeof(**pending));
	if (!*pending)
		abort();
	memcpy(*pending, waits, waits_n * sizeof(*waits));
	return 0;
}

static int put_row(const char *how, const struct pending *p)
{
	if (step("%s: %d '%s', due in %lld, %lld", how, p->kind, p->name, (long long)(p->due - boot),
		 (long long)(p->deadline - date)))
		return -ENOSPC;
	waits[waits_n++] = *p;
	return 0;
}

static int given_add(struct state *state, const struct pending *pending)
{
	return put_row(state == STATE ? "added" : "added to another", pending);
}

static int given_drop(struct state *state, const struct pending *pending)
{
	return put_row(state == STATE ? "dropped" : "dropped from another", pending);
}

static int64_t given_left(const struct pending *p, int64_t at_least)
{
	if (p->deadline <= (date > at_least ? date : at_least))
		return 0;
	return p->due > boot ? p->due - boot : 0;
}

static int given_confirm(struct state *state)
{
	return state == STATE ? tried("confirmed") : -EINVAL;
}

static int given_again(struct state *state)
{
	return state == STATE ? tried("again") : -EINVAL;
}

static int given_settle(struct change *change)
{
	return change->state == STATE ? tried("ports") : -EINVAL;
}

static int given_commit(struct state *state)
{
	return state == STATE ? tried("committed") : -EINVAL;
}

static uint64_t given_kept(struct state *state)
{
	return state == STATE ? 4 : 0;
}

static void given_sweep(const struct state *state, uint64_t kept)
{
	step("images but %llu are swept%s", (unsigned long long)kept, state == STATE ? "" : " elsewhere");
}

static bool given_lock(const char *directory, const char *name)
{
	printf("  is %s/%s held? %s\n", directory, name, is_held ? "yes" : "no");
	return is_held;
}

static int given_attach_keep(const struct context *context)
{
	mine(context);
	return tried("interfaces stay");
}

static int given_attach_list(const struct context *context, struct attachment **list, size_t *n)
{
	mine(context);
	*list = NULL;
	if (step("a list"))
		return -ENOMEM;
	*list = calloc(2, sizeof(**list));
	*n = 2;
	return 0;
}

static void given_refresh(const struct context *context, struct attachment *list, size_t n)
{
	mine(context);
	step("%zu are refreshed%s", n, list ? "" : ", of none");
}

static int given_kernel_keep(struct live *live)
{
	return live->context == &given_context ? tried("the kernel keeps it") : -EINVAL;
}

static int given_live_open(struct live *live, const struct context *context)
{
	mine(context);
	*live = (struct live){ .on_trial = on_trial };
	step("live is opened");
	return 0;
}

static void given_live_close(struct live *live)
{
	(void)live;
	step("live is closed");
}

/* What is overdue goes back. */
static int given_begin(struct change **change, struct context *context, time_t at_least)
{
	size_t left = 0;

	mine(context);
	*change = (struct change *)&waits;
	if (step("a change, at least %lld", at_least ? (long long)at_least - DATE : 0))
		return -EBUSY;
	for (size_t i = 0; i < waits_n; i++)
		if (given_left(&waits[i], at_least))
			waits[left++] = waits[i];
		else
			printf("  '%s' goes back\n", waits[i].name);
	waits_n = left;
	return 0;
}

static void given_end(struct change *change)
{
	step("it ends%s", change == (struct change *)&waits ? "" : ", another");
}

/* --- Processes and clocks --- */

static int given_sleep(clockid_t clock, int flags, const struct timespec *wait, struct timespec *left)
{
	int64_t ns = wait->tv_sec * S + wait->tv_nsec;
	bool woken = failing && !strcmp(failing, "sleep") && failing_times-- > 0;

	printf("  sleep for %lld.%09ld%s\n", (long long)wait->tv_sec, wait->tv_nsec,
	       clock != CLOCK_BOOTTIME || flags ? " by another clock" : "");
	if (woken)
		ns /= 2;
	boot += ns;
	date += ns / S;
	*left = (struct timespec){ (wait->tv_sec * S + wait->tv_nsec - ns) / S,
				   (wait->tv_sec * S + wait->tv_nsec - ns) % S };
	if (++asleep == 20)
		longjmp(gone, 1);
	if (while_asleep)
		while_asleep();
	return woken ? EINTR : 0;
}

static char *given_realpath(const char *path, char *real)
{
	if (step("where is %s?", path))
		return NULL;
	snprintf(real, PATH_MAX, "/real%s", path);
	return real;
}

static pid_t given_fork(void)
{
	return step("a process") ? -1 : is_child ? 0 : 77;
}

static int opens;

static int given_open(const char *path, int flags)
{
	return step("open %s%s%s", path, (flags & O_ACCMODE) == O_RDWR ? ", read and write" : "",
		    flags & O_CLOEXEC ? ", closed by exec" : "")
		       ? -1
		       : 100 + opens++;
}

static ssize_t given_write(int fd, const void *bytes, size_t n)
{
	return step("write '%.*s' to %d", (int)n, (const char *)bytes, fd) ? -1 : (ssize_t)n;
}

__attribute__((format(printf, 1, 2))) static void given_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("  noted: ", stdout);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static void given_close_fd(int fd)
{
	step("close_fd %d", fd);
}

static int given_close_from(unsigned int first)
{
	step("all from %u on are closed", first);
	return 0;
}

static pid_t given_setsid(void)
{
	step("setsid");
	return 77;
}

static int given_dup2(int from, int to)
{
	step("dup2 %d %d", from, to);
	return to;
}

static int given_chdir(const char *path)
{
	return step("chdir %s", path) ? -1 : 0;
}

static void given_signal(int number, void (*how)(int))
{
	step("%s is %s", number == SIGHUP ? "SIGHUP" : "another signal", how == SIG_IGN ? "ignored" : "not ignored");
}

static void given_execl(const char *path, ...)
{
	va_list args;

	printf("  %s:", path);
	va_start(args, path);
	for (const char *word; (word = va_arg(args, const char *));)
		printf(" %s", word);
	va_end(args);
	putchar('\n');
}

__attribute__((noreturn)) static void given_exit(int status)
{
	printf("  it ends with %d\n", status);
	longjmp(gone, 1);
}

#define state_open	      given_state_open
#define state_close	      given_state_close
#define state_pending	      given_pending
#define state_pending_add     given_add
#define state_pending_drop    given_drop
#define state_pending_confirm given_confirm
#define state_commit	      given_commit
#define state_again	      given_again
#define ports_settle	      given_settle
#define state_setting(...)    generation
#define state_setting(...)    generation
#define pending_left	      given_left
#define image_kept	      given_kept
#define image_sweep	      given_sweep
#define lock_is_held	      given_lock
#define attach_keep	      given_attach_keep
#define attach_list	      given_attach_list
#define attach_refresh	      given_refresh
#define kernel_keep	      given_kernel_keep
#define live_open	      given_live_open
#define live_close	      given_live_close
#define change_begin_at	      given_begin
#define change_end	      given_end
#define clock_nanosleep	      given_sleep
#define clock_boot()	      boot
#define time(to)	      date
#define note		      given_note
#define realpath	      given_realpath
#define fork		      given_fork
#define open		      given_open
#define write		      given_write
#define close_fd	      given_close_fd
#define close_from	      given_close_from
#define setsid		      given_setsid
#define dup2		      given_dup2
#define chdir		      given_chdir
#define signal(number, how)   given_signal(number, how)
#define execl		      given_execl
#define _exit		      given_exit
#include "change/revert_timer.c"

/* --- What happens --- */

static void fails(const char *what, int times)
{
	failing = what;
	failing_times = times;
}

static void waiting(enum pending_kind kind, const char *name, int64_t seconds)
{
	struct pending *p = &waits[waits_n++];

	*p = (struct pending){ .kind = kind, .due = boot + seconds * S, .deadline = date + seconds };
	snprintf(p->name, sizeof(p->name), "%s", name);
}

static void begins(void)
{
	given_context = (struct context){ .state = "/s", .bpffs = "/b" };
	waits_n = 0;
	fails(NULL, 0);
	boot = 100 * S;
	date = DATE;
	is_held = is_child = on_trial = false;
	asleep = 0;
	opens = 0;
	while_asleep = NULL;
}

static int said(int err)
{
	if (err)
		printf("%s: %s\n", strerror(error_number(err)), reason(err));
	else
		puts("0");
	return err;
}

static struct change change;

static void change_new(void)
{
	change = (struct change){ .context = &given_context, .state = STATE };
	change.live.context = &given_context;
}

static void change_says(void)
{
	printf("it waits %ld s, due in %lld, %lld%s%s\n", change.waits, (long long)(change.due - boot),
	       (long long)(change.deadline - date), given_context.waits ? ", and says so" : "",
	       change.guard.waits ? ", to the guard rails, too" : "");
}

static void the_same(void)
{
	static const enum pending_kind kinds[] = { PENDING_LIST, PENDING_INTERFACE, PENDING_SETTING,
						   PENDING_BAN,	 PENDING_IMAGE,	    PENDING_LIST_KIND };
	size_t n = sizeof(kinds) / sizeof(kinds[0]);

	for (size_t i = 0; i < n; i++)
		waiting(kinds[i], i ? "eth0" : "drop", 60);
	for (size_t i = 0; i < n; i++) {
		change_new();
		said(change_pending(&change, kinds[i], "drop", 0));
		change_says();
		said(change_pending(&change, kinds[i], "eth0", 30));
		change_says();
	}
	fails("what", 1);
	said(change_pending(&change, PENDING_BAN, "192.0.2.1", 30));
}

static void how_long(void)
{
	static const char long_name[] = "0123456789012345678901234567890123456789012345678901234567890123456789";

	change_new();
	said(change_pending(&change, PENDING_LIST, "drop", 30));
	change_says();
	boot += 7;
	date++;
	/* The same command: one deadline, one process. */
	said(change_pending_drop(&change, "other", 30));
	change_says();
	said(change_pending(&change, PENDING_SETTING, long_name, 31));
	change_says();
	printf("%zu letters of it\n", strlen(waits[2].name));
	/* Lines of a batch, the last of which the filter does not have. */
	said(change_pending(&change, PENDING_LIST_KIND, "third", 3));
	said(change_pending(&change, PENDING_INTERFACE, "eth0", 40));
	CHECK(change.last_due == boot + 31 * S, "the filter's last is due in %lld",
	      (long long)(change.last_due - boot));
	said(change_pending(&change, PENDING_BAN, "192.0.2.1", 0));
	fails("added", 1);
	change_new();
	given_context.waits = false;
	said(change_pending(&change, PENDING_BAN, "192.0.2.1", 30));
	change_says();
}

static void nothing_to_go_back_to(void)
{
	for (int i = 0; i < 4; i++) {
		generation = i / 2;
		for (enum pending_kind kind = PENDING_LIST; kind <= PENDING_INTERFACE; kind++) {
			change_new();
			change.live.g.number = i % 2;
			waits_n = 0;
			said(change_pending(&change, kind, "new", 30));
			said(change_pending(&change, kind, "other", 0));
		}
	}
	generation = 0;
}

static void no_process(void)
{
	static const char *const each[] = { "where is /s", "where is /b", "a process" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		fails(each[i], 1);
		said(revert_timer_start(&given_context, 1234567890123));
	}
	change_new();
	fails("a process", 1);
	said(change_pending_drop(&change, "drop", 30));
}

/* Of its own, for setjmp(): what is kept in registers is not kept. */
__attribute__((noinline)) static void starts(void)
{
	if (!setjmp(gone))
		said(revert_timer_start(&given_context, 30));
}

static void a_process(void)
{
	static const char *const each[] = { "no step", "open /dev/null", "open /sys/fs/cgroup/systemd", "write",
					    "chdir" };

	is_child = true;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		printf("fails: %s\n", each[i]);
		opens = 0;
		fails(each[i], i == 3 ? 2 : 1);
		starts();
	}
}

static void until_when(void)
{
	__u64 until = 7;

	said(trial_until(STATE, &until));
	printf("%llu\n", (unsigned long long)until);
	waiting(PENDING_INTERFACE, "eth0", 1);
	said(trial_until(STATE, &until));
	printf("%llu\n", (unsigned long long)until);
	waiting(PENDING_LIST, "later", 60);
	waiting(PENDING_BAN, "192.0.2.1", 50);
	waiting(PENDING_IMAGE, "the image", 55);
	waiting(PENDING_SETTING, "of an older version", 10);
	waits[waits_n - 1].due = 0;
	waiting(PENDING_LIST, "of before the machine was started", 5);
	waits[waits_n - 1].rebooted = true;
	said(trial_until(STATE, &until));
	printf("%llu\n", (unsigned long long)until);
	fails("what", 1);
	said(trial_until(STATE, &until));
	printf("%llu\n", (unsigned long long)until);
}

__attribute__((noinline)) static void runs(long seconds)
{
	if (setjmp(gone))
		puts("it runs on");
	else
		revert_timer_run(&given_context, seconds);
}

static void in_time(void)
{
	waiting(PENDING_LIST, "drop", 12);
	waiting(PENDING_INTERFACE, "eth0", 12);
	runs(12);
}

static void is_confirmed(void)
{
	if (asleep == 2)
		waits_n = 0;
}

static void confirmed_before(void)
{
	waiting(PENDING_LIST, "drop", 30);
	while_asleep = is_confirmed;
	runs(30);
}

static void lock_goes(void)
{
	is_held = asleep < 3;
}

/* Who started it has not committed yet. */
static void not_yet_committed(void)
{
	is_held = true;
	while_asleep = lock_goes;
	runs(4);
}

static void more_comes(void)
{
	if (asleep == 1)
		waiting(PENDING_BAN, "192.0.2.1", 3);
}

static void one_after_the_other(void)
{
	waiting(PENDING_LIST, "drop", 3);
	waiting(PENDING_INTERFACE, "eth1", 8);
	while_asleep = more_comes;
	runs(3);
}

static void date_goes_back(void)
{
	if (asleep == 1)
		date -= 3600;
}

/* What was to be over by the date is over, whatever becomes of that. */
static void date_set_back(void)
{
	waiting(PENDING_LIST, "drop", 3);
	waits[0].due = INT64_MAX;
	while_asleep = date_goes_back;
	runs(3);
	runs(0);
}

static void not_now(void)
{
	waiting(PENDING_INTERFACE, "eth0", 1);
	waiting(PENDING_INTERFACE, "eth1", 1);
	waits[1].deadline = PENDING_IN_PROGRESS;
	waiting(PENDING_SETTING, "fpr", 1);
	fails("a change", 2);
	runs(1);
}

static void unreadable(void)
{
	waiting(PENDING_LIST, "drop", 1);
	fails("the state is opened", 2);
	runs(1);
	begins();
	waiting(PENDING_LIST, "drop", 1);
	fails("what waits", 3);
	runs(1);
}

static void trial_ends(void)
{
	on_trial = asleep < 3;
}

static void killed_before(void)
{
	on_trial = true;
	while_asleep = trial_ends;
	runs(2);
}

static void woken(void)
{
	waiting(PENDING_LIST, "drop", 4);
	fails("sleep", 2);
	runs(4);
}

static void keeps(void)
{
	static const char *const each[] = { NULL, "the kernel", "a list", "a list", "a list", "a list" };

	change_new();
	said(change_keep(&change.live));
	change.live.on_trial = 5;
	for (int i = 0; i < (int)(sizeof(each) / sizeof(each[0])); i++) {
		printf("fails: %s, %d times\n", each[i] ?: "nothing", i < 2 ? i : i - 1);
		fails(each[i], i < 2 ? i : i - 1);
		said(change_keep(&change.live));
	}
}

static void confirms(void)
{
	static const char *const each[] = { NULL,	 "what",       "interfaces", "a list", "confirmed",
					    "committed", "the kernel", "again",	     "ports" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begins();
		change_new();
		change.live.on_trial = 5;
		waiting(PENDING_LIST, "drop", 1);
		waiting(PENDING_INTERFACE, "eth0", 1);
		waiting(PENDING_BAN, "192.0.2.1", 1);
		printf("fails: %s\n", each[i] ?: "nothing");
		fails(each[i], 1);
		said(change_confirm(&change));
	}
	fails(NULL, 0);
	waits_n = 1;
	puts("no interface");
	said(change_confirm(&change));
	waiting(PENDING_BAN, "192.0.2.2", 0);
	waiting(PENDING_BAN, "192.0.2.3", 0);
	waiting(PENDING_BAN, "192.0.2.4", 1);
	said(change_confirm(&change));
	waits_n = change.live.on_trial = 0;
	puts("nothing");
	said(change_confirm(&change));
	given_context.abroad = true;
	puts("in another network namespace");
	said(change_confirm(&change));
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "of the same thing", the_same },
		{ "how long", how_long },
		{ "nothing to go back to", nothing_to_go_back_to },
		{ "no process", no_process },
		{ "a process", a_process },
		{ "until when", until_when },
		{ "in time", in_time },
		{ "confirmed before", confirmed_before },
		{ "not yet committed", not_yet_committed },
		{ "one after the other", one_after_the_other },
		{ "the date is set back", date_set_back },
		{ "not now", not_now },
		{ "unreadable", unreadable },
		{ "killed before the kernel", killed_before },
		{ "woken", woken },
		{ "keeps", keeps },
		{ "confirms", confirms },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begins);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
