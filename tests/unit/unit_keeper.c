// SPDX-License-Identifier: GPL-2.0-only
/*
 * What keeps the filter whole: when it looks, when it has something made again, and tries that again, and what it says,
 * where what it holds and what heals are made up; word for word.
 */
#include <sys/stat.h>

#include "base/lock.h"
#include "change/heal.h"
#include "kernel/held.h"
#include "observe/metrics_pages.h"
#include "service/observer.h"
#include "model_jobs.h"

static const struct shown known[] = {
#include "unit_keeper.txt"
};

static struct shows shows = { .file = "tests/unit/unit_keeper.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const char *gone;     /* what a look finds */
static bool out_of_files;    /* it has nothing to look with */
static int heals, heals_err; /* what heal() says */
static struct stat state_is; /* of its file; inode 0: there is none */

static const struct context own = CONTEXT_DEFAULT;

static int given_open(struct held **held, const struct context *its)
{
	if (its != &own)
		abort();
	*held = (struct held *)&gone;
	return 0;
}

static void given_close(struct held *held)
{
	(void)held;
}

static unsigned int given_look(struct held *held)
{
	(void)held;
	line("a look: %s", gone ?: "all is there");
	return !gone ? 0 : out_of_files ? HELD_UNSEEN : HELD_PINS;
}

static const char *given_faults(const struct held *held)
{
	(void)held;
	return gone;
}

static void given_forget(struct held *held)
{
	(void)held;
	line("what was detached is forgotten");
}

static int given_heal(const struct context *its, struct held *held)
{
	if (its != &own || held != (struct held *)&gone)
		abort();
	return heals_err ? because(heals_err, "no memory for it") : heals;
}

static void given_told(struct observer *observer, const struct faults *faults)
{
	(void)observer;
	line("%llu faults, the last at %lld: %s%s", faults->n, (long long)(faults->last - DATE), faults->text,
	     faults->now ? ", now" : "");
}

static void given_limit(struct jobs *jobs, int64_t now)
{
	if (jobs->pid)
		line("%d has run for %lld", (int)jobs->pid, (long long)(now - jobs->since));
}

static int given_stat(const char *path, struct stat *is)
{
	if (strcmp(path, "/var/lib/xdp-bloom/state.db") != 0)
		abort();
	if (state_is.st_ino)
		*is = state_is;
	return state_is.st_ino ? 0 : -1;
}

static bool filtered; /* what was not */

static bool given_filtered(const struct context *its, const char *label)
{
	if (its != &own || !label[0])
		abort();
	return filtered;
}

static bool locked; /* by a command */

static bool given_locked(const char *directory, const char *name)
{
	if (strcmp(directory, own.state) != 0 || strcmp(name, STATE_LOCK) != 0)
		abort();
	return locked;
}

static bool no_memory;

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define attach_is_filtered   given_filtered
#define calloc		     given_calloc
#define held_open	     given_open
#define held_close	     given_close
#define held_look	     given_look
#define held_faults	     given_faults
#define held_forget_detached given_forget
#define heal		     given_heal
#define lock_is_held	     given_locked
#define fail		     given_fail
#define observer_faults	     given_told
#define jobs_limit	     given_limit
#define stat(path, is)	     given_stat(path, is)
#include "service/keeper.c"

static struct keeper *k;

static void turn(void)
{
	if (keeper_turn(k, now_ms))
		line("the state is another file");
	if (keeper_due(k) == INT64_MAX)
		line("it waits%s", keeper_heals(k) ? " for the job" : "");
	else
		line("due in %lld%s", (long long)(keeper_due(k) - now_ms), keeper_heals(k) ? " and heals" : "");
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

/* The job that runs has done its work, so many ms later. */
static void done(int64_t ms, int how, int err)
{
	heals = how;
	heals_err = err;
	turn();
	now_ms += ms;
	if (!err && how != HEAL_LATER)
		gone = NULL;
	ended_pid = k->jobs.pid;
	ended_status = EXITS(k->jobs.first->run(&own, k->jobs.first->arg));
	line("%d ends with %d", (int)ended_pid, WEXITSTATUS(ended_status));
	if (keeper_ended(k))
		line("what is filtered is looked at");
	turn();
}

/* --- What happens --- */

static void whole(void)
{
	turn();
	after(249);
	after(1);
	after(1000);
	now_ms += 10;
	keeper_look(k);
	turn();
	if (keeper_ended(k))
		line("what did not run has ended");
	state_is.st_ino = 8;
	after(250);
	after(250);
	state_is.st_dev = 3;
	after(250);
	state_is.st_ino = 0;
	after(250);
	after(250);
}

static void made_again(void)
{
	gone = "slot is gone";
	turn();
	after(100);
	done(30, HEAL_DONE, 0);
	after(250);
	gone = "counters is gone";
	after(250);
	done(30, HEAL_DONE, 0);
}

static void by_a_command(void)
{
	gone = "eth0 is detached";
	turn();
	done(30, HEAL_NOTHING, 0);
	after(250);
	gone = "eth0 is detached";
	after(250);
	done(30, HEAL_NOTHING, 0);
}

static void while_another_works(void)
{
	gone = "slot is gone";
	turn();
	done(300, HEAL_LATER, 0);
	after(250);
	done(300, HEAL_LATER, 0);
	after(499);
	done(20, HEAL_DONE, 0);
	gone = "slot is gone";
	after(1000);
	done(300, HEAL_LATER, 0);
	/* Who worked has made it again. */
	gone = NULL;
	after(500);
	after(250);
	/* And has just done so when it is to be made again. */
	gone = "slot is gone";
	after(250);
	done(300, HEAL_LATER, 0);
	after(250);
	done(20, HEAL_NOTHING, 0);
	after(250);
}

static void not_now(void)
{
	gone = "slot is gone";
	turn();
	for (int i = 0; i < 6; i++) {
		done(40, 0, -ENOMEM);
		now_ms += k->retry.wait - 1;
		keeper_look(k);
		turn();
		now_ms++;
		keeper_look(k);
		turn();
	}
	done(40, HEAL_DONE, 0);
	gone = "slot is gone";
	after(250);
	done(40, 0, -ENOMEM);
	/* Something else: at once; and it comes back by itself. */
	gone = "slot is gone; root is gone";
	after(250);
	done(40, 0, -ENOMEM);
	after(1000);
	done(40, 0, -ENOMEM);
	gone = NULL;
	after(250);
	after(250);
	gone = "slot is gone";
	after(250);
	/* Killed. */
	now_ms += 40;
	ended_pid = k->jobs.pid;
	ended_status = SIGKILL;
	keeper_ended(k);
	after(0);
	after(1250);
	done(40, HEAL_LATER, 0);
	after(250);
	done(40, HEAL_NOTHING, 0);
}

static void no_job(void)
{
	gone = "slot is gone";
	state_is.st_ino = 0;
	no_process = true;
	turn();
	after(250);
	no_process = false;
	after(250);
	done(40, HEAL_DONE, 0);
}

/* Nobody is sent to heal that. */
static void without_files(void)
{
	gone = "it cannot be looked at";
	out_of_files = true;
	turn();
	line("faulty: %s", keeper_faulty(k));
	after(999);
	after(1);
	out_of_files = false;
	gone = "slot is gone";
	after(1000);
	line("faulty: %s", keeper_faulty(k));
	done(40, HEAL_DONE, 0);
	gone = "it cannot be looked at";
	out_of_files = true;
	after(250);
	out_of_files = false;
	gone = NULL;
	after(1000);
	line("faulty: %s", keeper_faulty(k));
}

static void blind(void)
{
	keeper_state(k, NULL);
	now_ms += 5000;
	keeper_state(k, "state.db: damaged");
	now_ms += 5000;
	keeper_state(k, "state.db: gone");
	gone = "slot is gone";
	turn();
	done(40, HEAL_DONE, 0);
	now_ms += 5000;
	keeper_state(k, NULL);
	keeper_state(k, NULL);
	gone = "slot is gone";
	turn();
	done(40, 0, -ENOMEM);
	keeper_state(k, "state.db: damaged");
	keeper_state(k, NULL);
}

/* Those of these names cannot be filtered. */
static void unfiltered_are(const char *names)
{
	struct unfiltered list[4] = { 0 };
	size_t n = 0;

	for (; *names; names++, n++) {
		list[n].label[0] = *names;
		strcpy(list[n].why, "taken");
	}
	keeper_unfiltered(k, list, n);
	line("faulty: %s", keeper_faulty(k));
	if (keeper_doubts(k) != INT64_MAX)
		line("asks again in %lld", (long long)(keeper_doubts(k) - now_ms));
}

/* They are so for longer. */
static void unfiltered_stay(const char *names)
{
	unfiltered_are(names);
	now_ms += 5000;
	unfiltered_are(names);
	now_ms += 5000;
}

/* A command takes one off, and says so then; or says so, and attaches it. */
static void perhaps_not_filtered(void)
{
	unfiltered_are("a");
	now_ms += 400;
	unfiltered_are("a");
	now_ms += 100;
	unfiltered_are("");
	line("locked");
	locked = true;
	unfiltered_are("a");
	now_ms += 1000;
	unfiltered_are("ab");
	now_ms += 1000;
	unfiltered_are("a");
	now_ms += 250;
	unfiltered_are("");
	line("for too long");
	unfiltered_are("a");
	now_ms += 9999;
	unfiltered_are("a");
	now_ms += 1;
	unfiltered_are("a");
	line("at last");
	unfiltered_are("ab");
	now_ms += 1000;
	locked = false;
	unfiltered_are("ab");
}

static void not_filtered(void)
{
	unfiltered_are("");
	unfiltered_stay("a");
	unfiltered_are("a");
	unfiltered_stay("ab");
	filtered = true;
	unfiltered_are("b");
	no_memory = true;
	unfiltered_are("");
	no_memory = false;
	line("beside others");
	gone = "slot is gone";
	turn();
	done(40, 0, -ENOMEM);
	line("faulty: %s", keeper_faulty(k));
	keeper_state(k, "state.db: damaged");
	line("faulty: %s", keeper_faulty(k));
	gone = NULL;
	after(1000);
	line("faulty: %s", keeper_faulty(k));
	filtered = false;
	unfiltered_are("");
	keeper_state(k, NULL);
	line("faulty: %s", keeper_faulty(k));
	unfiltered_stay("cd");
	filtered = true;
	unfiltered_are("dc");
	unfiltered_stay("e");
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "all is there", whole },
		     { "made again", made_again },
		     { "by a command at work", by_a_command },
		     { "while a command works", while_another_works },
		     { "not now", not_now },
		     { "without a process", no_job },
		     { "without descriptors", without_files },
		     { "without the state", blind },
		     { "not filtered", not_filtered },
		     { "perhaps not filtered", perhaps_not_filtered } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		model_begin();
		gone = NULL;
		out_of_files = false;
		filtered = locked = false;
		state_is = (struct stat){ .st_ino = 7, .st_dev = 2 };
		shows_begin(&shows);
		if (keeper_open(&k, &own, NULL))
			abort();
		each[i].happens();
		line("the service ends");
		keeper_close(k);
		shows_as(&shows, each[i].name);
	}
	keeper_close(NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
