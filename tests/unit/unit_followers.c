// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of the config file that go on, and the fleet: which process begins, is told to end, and begins again, and when,
 * while lines come and go; word for word.
 */
#include <stdlib.h>
#include <string.h>

#include "base/state_path.h"
#include "observe/lines_down.h"
#include "model_jobs.h"

static int memory = -1; /* so many allocations succeed, and the next does not; below 0: all do */

static bool no_memory(void)
{
	return memory >= 0 && !memory--;
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory() ? NULL : calloc(n, size);
}

static char *given_strdup(const char *text)
{
	return no_memory() ? NULL : strdup(text);
}

static void given_keep(const struct context *its, const char *file, const struct lines_down *down)
{
	static bool any;

	if (!its || strcmp(file, STATE_LINES) != 0)
		abort();
	for (size_t i = 0; i < down->n; i++)
		line("shown: %s", down->text[i]);
	if (any && !down->n)
		line("shown: none fails");
	any = down->n;
}

#undef strdup
#define lines_down_keep given_keep
#define calloc		given_calloc
#define strdup		given_strdup
#include "service/followers.c"
#undef calloc
#undef strdup

static const struct shown known[] = {
#include "unit_followers.txt"
};

static struct shows shows = { .file = "tests/unit/unit_followers.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context context = CONTEXT_DEFAULT;
static struct followers all;

#define LINES_MOST 4

/* The config file is read: these lines. */
static void config_is(const char *const texts[])
{
	static const struct verb verbs[] = { { .name = "follow" }, { .name = "announce" }, { .name = "allow" } };
	struct config_line lines[LINES_MOST];
	struct config is = { .lines = lines };

	for (; texts[is.n]; is.n++) {
		const struct verb *verb = verbs;

		lines[is.n].number = (unsigned int)is.n + 1;
		if (words_split(&lines[is.n].words, texts[is.n]))
			abort();
		while (strcmp(verb->name, lines[is.n].words.words[0]) != 0)
			verb++;
		lines[is.n].verb = verb;
		line("line %zu: %s", is.n + 1, texts[is.n]);
	}
	followers_expect(&all, &is);
	for (size_t i = 0; i < is.n; i++)
		words_free(&lines[i].words);
}

#define CONFIG(...) config_is((const char *const[]){ __VA_ARGS__, NULL })

static void turn(void)
{
	int64_t due;

	followers_turn(&all, now_ms);
	due = followers_due(&all);
	if (due != INT64_MAX)
		line("due in %lld", (long long)(due ? due - now_ms : 0));
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

static void is_over(pid_t pid, int status)
{
	ended_pid = pid;
	ended_status = status;
	followers_ended(&all, now_ms);
	if (ended_pid)
		line("%d was nobody's", (int)pid);
	if (followers_due(&all) <= now_ms)
		line("due");
}

static void ends(pid_t pid, int status)
{
	is_over(pid, status);
	turn();
}

static void fleet(bool joined)
{
	line(joined ? "a fleet is joined" : "no fleet");
	followers_fleet(&all, joined);
}

/* --- What happens --- */

static void again(void)
{
	CONFIG("allow 192.0.2.1", "follow exec a 'b c'");
	turn();
	turn();
	ends(7, EXITS(1));
	for (int i = 1; i <= 8; i++) {
		ends(i, EXITS(2));
		if (i == 1)
			after(999);
		after(followers_due(&all) - now_ms);
	}
	now_ms += LASTED - 1;
	ends(9, SIGKILL);
	after(60000);
	now_ms += LASTED;
	ends(10, SIGSEGV);
	after(1000);
	no_process = true;
	now_ms += 5;
	ends(11, EXITS(0));
	after(2000);
	after(4000);
	no_process = false;
	after(8000);
	after(GOES_ON - 1);
	after(1);
}

static void lines_change(void)
{
	CONFIG("follow a", "follow b");
	turn();
	CONFIG("allow 192.0.2.1", "follow b", "follow c");
	turn();
	now_ms += 10;
	ends(1, SIGTERM);
	ends(2, EXITS(2));
	/* Again before it has ended, and before it is forgotten. */
	CONFIG("follow c");
	turn();
	CONFIG("follow c", "follow b");
	turn();
	CONFIG("follow b");
	CONFIG("follow b", "follow c");
	ends(3, SIGTERM);
	CONFIG("follow b");
	is_over(4, SIGTERM);
	CONFIG("follow b", "follow c x");
	turn();
	after(2000);
	CONFIG("follow b");
	is_over(5, SIGTERM);
	CONFIG("follow c x", "follow b");
	turn();
}

static void announcers(void)
{
	CONFIG("announce --table 667", "announce --table=668", "follow --table 667");
	turn();
	CONFIG("announce --family 4 --table 667", "announce --table=668");
	turn();
	CONFIG("announce --family 4 --table 667", "follow --table 668");
	turn();
	CONFIG("announce --table=667", "announce --family 4 --table 667");
	turn();
	CONFIG("announce --family 4 --table 667");
	turn();
	CONFIG("announce --clean --table", "announce --table 66");
	turn();
	CONFIG("announce --table 667");
}

static void fleets(void)
{
	fleet(false);
	turn();
	fleet(true);
	CONFIG("follow a");
	turn();
	fleet(true);
	CONFIG("follow b");
	turn();
	ends(2, SIGTERM);
	/* Another was joined; and one that failed. */
	ends(1, EXITS(0));
	ends(4, EXITS(1));
	after(1000);
	ends(5, EXITS(1));
	ends(3, EXITS(0));
	fleet(false);
	turn();
	fleet(true);
	turn();
	fleet(false);
	turn();
	fleet(true);
	ends(6, SIGTERM);
	after(1000);
	fleet(false);
	is_over(8, SIGTERM);
	fleet(true);
	turn();
	CONFIG("allow 192.0.2.1");
	turn();
}

/* What failed is told until it has been done: a line is, and no list, of which it is said why. */
static void others(void)
{
	char *allow[] = { NULL, (char *)(uintptr_t) "allow", NULL },
	     *load[] = { NULL, (char *)(uintptr_t) "load", NULL };
	struct job each[] = { { .kind = JOB_LINE, .line = 4, .args = allow, .again = true, .failed = true },
			      { .kind = JOB_LINE, .line = 5, .args = load, .again = true, .failed = true },
			      { .kind = JOB_LINE, .line = 6, .args = allow, .again = true },
			      { .kind = JOB_LOAD, .args = load, .failed = true },
			      { .kind = JOB_LINE, .line = 7, .args = allow, .again = true, .failed = true } };
	struct jobs jobs = { .first = &each[0], .deferred = &each[2] };

	all.others = &jobs;
	each[0].next = &each[1];
	each[2].next = &each[3];
	each[3].next = &each[4];
	CONFIG("follow a");
	turn();
	ends(1, SIGKILL);
	jobs.deferred = NULL;
	followers_tell(&all);
	line("more of them than are told");
	each[1].next = &each[0];
	followers_tell(&all);
	jobs.first = NULL;
}

/* Whose words find no room is left out, and the others are not; with the next config file it begins. */
static void no_room(void)
{
	for (int i = 0; i < 8; i++) {
		line("%d allocations succeed", i);
		memory = i;
		CONFIG("follow exec a", "follow b");
		memory = -1;
		turn();
		CONFIG("follow exec a", "follow b");
		turn();
		followers_stop(&all);
	}
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "it begins again", again },
		     { "lines change", lines_change },
		     { "announcements", announcers },
		     { "a fleet", fleets },
		     { "others", others },
		     { "no memory", no_room } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		model_begin();
		all = (struct followers){ .context = &context };
		shows_begin(&shows);
		each[i].happens();
		line("the service ends");
		followers_stop(&all);
		shows_as(&shows, each[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
