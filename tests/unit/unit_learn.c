// SPDX-License-Identifier: GPL-2.0-only
/*
 * detect learn in the service: when it looks, for how long, what it keeps, and when it tries again; clock, process and
 * what it sees are made up, and what it does is kept word for word.
 */
#include <jansson.h>

#include "kernel/root.h"
#include "observe/learned.h"
#include "observe/senders_json.h"
#include "observe/suggest.h"
#include "model_jobs.h"

static const struct shown known[] = {
#include "unit_learn.txt"
};

static struct shows shows = { .file = "tests/unit/unit_learn.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int ready_err, look_err, senders_err, write_err;

static int given_ready(const struct context *context)
{
	(void)context;
	return ready_err ? because(ready_err, "no BPF here") : 0;
}

static int given_suggest(struct suggest *s, double seconds)
{
	if (!s->quiet || s->one_in)
		abort();
	line("looks for %g s", seconds);
	s->seconds = seconds - 0.5;
	s->missed = 7;
	s->one_in = 4;
	return look_err ? because(look_err, "nothing can be seen") : 0;
}

static void given_free(struct suggest *s)
{
	line("what it saw is freed");
	s->senders = NULL;
}

static int given_json(const struct senders *senders, uint64_t one_in, json_t **object)
{
	(void)senders;
	*object = senders_err ? NULL : json_pack("{s:I}", "one in", (json_int_t)one_in);
	return senders_err ? because(senders_err, "too many to sum up") : 0;
}

static int given_write(const struct context *context, const json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER);

	(void)context;
	line("keeps %s", text);
	free(text);
	return write_err;
}

#define kernel_ready  given_ready
#define suggest_look  given_suggest
#define suggest_free  given_free
#define senders_json  given_json
#define learned_write given_write
#define fail	      given_fail
#include "service/learn.c"
#undef time

static const struct context context = CONTEXT_DEFAULT;
static struct learn l;

static void turn(void)
{
	int64_t due;

	learn_turn(&l, now_ms);
	due = learn_due(&l);
	if (due == INT64_MAX)
		line("it waits for nothing");
	else
		line("due in %lld", (long long)(due ? due - now_ms : 0));
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

/* From and until then, s from the beginning. */
static void expect(int64_t from, int64_t until)
{
	line("from %lld until %lld", (long long)from, (long long)until);
	learn_expect(&l, from ? DATE + from : 0, until ? DATE + until : 0);
	turn();
}

/* The job that runs does its work, and has. */
static void works(int64_t ms)
{
	int is = l.jobs.first->run(&context, l.jobs.first->arg);

	now_ms += ms;
	ended_pid = l.jobs.pid;
	ended_status = EXITS(is);
	line("%d ends with %d", (int)ended_pid, is);
	turn();
}

static void learns(void)
{
	expect(0, 0);
	expect(-10, 600);
	turn();
	now_ms += 250000;
	works(350000);
	after(60000);
	/* Again, and in the middle of it for another time. */
	expect(660, 720);
	after(1000);
	expect(661, 800);
	expect(661, 800);
	works(10000);
	expect(0, 0);
	expect(100, 671);
	/* A second is left. */
	expect(100, 672);
	works(1000);
}

static void tries_again(void)
{
	expect(0, 1000);
	ready_err = -EPERM;
	works(10);
	after(59999);
	after(1);
	ready_err = 0;
	look_err = -ENODEV;
	works(10);
	after(60000);
	look_err = 0;
	senders_err = -EOVERFLOW;
	works(10);
	after(60000);
	senders_err = 0;
	write_err = -ENOSPC;
	works(10);
	after(60000);
	write_err = 0;
	ended_pid = l.jobs.pid;
	ended_status = SIGKILL;
	turn();
	no_process = true;
	after(60000);
	after(59999);
	no_process = false;
	after(1);
	/* Its time is over before it has begun. */
	now_ms = BEGINS + 2000000;
	works(0);
	expect(0, 2100);
	works(5000);
	look_err = -ENODEV;
	expect(2010, 2050);
	works(60000);
	look_err = 0;
}

static void is_ended(void)
{
	expect(0, 600);
	after(1000);
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "it learns", learns }, { "it tries again", tries_again }, { "the service ends", is_ended } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		model_begin();
		l = (struct learn){ .jobs = { .context = &context } };
		shows_begin(&shows);
		each[i].happens();
		line("the service ends");
		learn_stop(&l);
		shows_as(&shows, each[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
