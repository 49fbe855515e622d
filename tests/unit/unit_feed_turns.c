// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which lists the service has fetched, and when: a few at a time, one of a host, each when it is due, whatever becomes
 * of the date; clocks, processes and what the state has of them are made up, and what is done is kept word for word.
 */
#include "state/feeds.h"
#include "model_jobs.h"

static const struct shown known[] = {
#include "unit_feed_turns.txt"
};

static struct shows shows = { .file = "tests/unit/unit_feed_turns.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define MOST 8

/* What the state has: when it was tried, and is due again, s from the beginning. */
static struct made {
	const char *list, *host;
	int64_t tried, next;
} lists[MOST];
static int state_err;
static int64_t slept, date_is_off; /* ms; s */

static int given_feeds(struct state *state, int (*look)(void *arg, const struct feed *feed), void *arg)
{
	int err = 0;

	(void)state;
	for (size_t i = 0; i < MOST && lists[i].list && !err; i++) {
		struct feed feed = { .every = 3600, .tried = DATE + lists[i].tried, .next = DATE + lists[i].next };

		snprintf(feed.list, sizeof(feed.list), "%s", lists[i].list);
		snprintf(feed.url, sizeof(feed.url), "https://%s/%s", lists[i].host, lists[i].list);
		err = look(arg, &feed);
	}
	return err ?: state_err;
}

/* It counts on while the machine sleeps. */
static int64_t given_ns(clockid_t clock)
{
	return clock == CLOCK_BOOTTIME ? (now_ms + slept) * 1000000 : 0;
}

static void given_limit(struct jobs *jobs, int64_t now)
{
	if (jobs->pid && now - jobs->since > 600000)
		line("%d has run for %lld", (int)jobs->pid, (long long)(now - jobs->since));
}

#undef time
#define time(to)	 (given_time(to) + date_is_off)
#define clock_ns	 given_ns
#define jobs_limit	 given_limit
#define state_feeds_each given_feeds
#include "service/feeds.c"
#undef time

static const struct context context = CONTEXT_DEFAULT;
static struct feeds f;

static void turn(void)
{
	int64_t due;

	feeds_turn(&f, now_ms);
	due = feeds_due(&f, now_ms);
	if (due == INT64_MAX)
		line("it waits for nothing");
	else
		line("due in %lld", (long long)(due - now_ms));
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

static void look(void)
{
	int err = feeds_expect(&f, NULL);

	line("a look: %s", err ? errno_text(err) : "done");
}

static void ends(pid_t pid)
{
	struct job *job;
	int status;

	ended_pid = pid;
	ended_status = EXITS(0);
	if (feeds_ended(&f, &job, &status)) {
		line("%d has ended: %s", (int)pid, job->list);
		job_free(job);
	} else {
		line("%d was nobody's", (int)pid);
	}
}

/* --- What happens --- */

static const struct made six[MOST] = { { "a", "x.example", 0, 0 },	{ "b", "y.example", 0, -100 },
				       { "c", "x.example", 0, -50 },	{ "d", "z.example", 0, 30 },
				       { "e", "w.example", -900, -10 }, { "f", "v.example", -900, -20 } };

static void at_once(void)
{
	memcpy(lists, six, sizeof(six));
	turn();
	look();
	turn();
	turn();
	ends(9);
	ends(1);
	turn();
	ends(2);
	turn();
	after(29999);
	after(1);
	ends(4);
	after(0);
	ends(3);
	ends(5);
	turn();
	ends(6);
	turn();
	/* What could not say when it is due again. */
	after(240000);
	after(30000);
	after(30000);
	lists[1].tried = 300;
	lists[1].next = 1000;
	look();
	turn();
	after(600000);
	after(60000);
}

static void sleeps(void)
{
	lists[0] = (struct made){ "a", "x.example", 0, 3600 };
	lists[1] = (struct made){ "b", "x.example", 0, 3601 };
	lists[2] = (struct made){ "c", "x.example", 0, 3500 };
	look();
	turn();
	after(60000);
	slept = 3500000;
	after(60000 - 20001);
	after(1);
	ends(1);
	after(1000);
	/* From another host: not while it is fetched from the one before. */
	lists[0] = (struct made){ "a", "q.example", 99, 100 };
	look();
	turn();
	ends(2);
	turn();
	slept = 0;
}

static void date_is_set(void)
{
	lists[0] = (struct made){ "a", "x.example", 0, 500 };
	lists[1] = (struct made){ "b", "y.example", 0, 500 };
	look();
	date_is_off = 100000;
	look();
	after(490000);
	date_is_off = 0;
	lists[1].next = 505;
	look();
	after(9999);
	after(1);
	after(5000);
	ends(1);
	lists[0] = (struct made){ "a", "x.example", 499, 500 };
	look();
	after(1000);
	state_err = -EUCLEAN;
	lists[1].list = NULL;
	ends(2);
	look();
	after(299000);
	ends(3);
	state_err = 0;
	look();
	turn();
}

static void no_job(void)
{
	memcpy(lists, six, sizeof(six));
	lists[2].list = NULL;
	no_process = true;
	look();
	turn();
	no_process = false;
	after(299999);
	after(1);
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "a few at once", at_once },
		     { "the machine sleeps", sleeps },
		     { "the date is set", date_is_set },
		     { "without a process", no_job } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		model_begin();
		memset(lists, 0, sizeof(lists));
		shows_begin(&shows);
		feeds_begin(&f, &context);
		each[i].happens();
		line("the service ends");
		feeds_stop(&f);
		turn();
		shows_as(&shows, each[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
