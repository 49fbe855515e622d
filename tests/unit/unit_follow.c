// SPDX-License-Identifier: GPL-2.0-only
/* follow: lines until their end, in which order they come into force, and what it ends with; word for word. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/context.h"
#include "base/log.h"
#include "base/stop.h"
#include "feeds/batch.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_follow.txt"
};

static struct shows shows = { .file = "tests/unit/unit_follow.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* What happens: each turn brings so many lines. */
static struct {
	int begin_err, open_err, put_err, status;
	bool no_text; /* it could not be opened */
	unsigned int turns, put_at, stop_at, bad;
} story;
static unsigned int turn;

static int given_begin(struct batch *b, struct context *context)
{
	*b = (struct batch){ .most = 7 };
	printf("a batch begins%s\n", context->json ? ", JSON" : "");
	return story.begin_err ? because(story.begin_err, "no change can be made") : 0;
}

static void given_end(struct batch *b)
{
	printf("a batch ends: %zu, lines from %s\n", b->most, b->f.from ?: "nobody");
}

static int given_open(struct stream *s, const char *path, char *const *command)
{
	printf("opens %s, in %d, out %d%s\n", path ?: command[0], s->in, s->out, s->json ? ", JSON" : "");
	if (story.no_text)
		return -ENOMEM;
	s->name = path ?: command[0];
	s->text = malloc(1);
	return story.open_err ? because(story.open_err, "it cannot be opened") : 0;
}

static void given_wait(struct stream *s)
{
	printf("waits%s\n", s->ended ? ", though it has ended" : "");
}

static bool given_collect(struct batch *b, struct stream *s, size_t most)
{
	turn++;
	b->n = 2;
	s->number += 2;
	s->ended = turn == story.turns;
	s->bad_n = story.bad;
	if (turn == story.stop_at)
		stop_asked = SIGTERM;
	printf("turn %u: %s lines\n", turn, most == SIZE_MAX ? "all" : "some");
	return false;
}

static int given_put(struct batch *b)
{
	printf("%zu lines into force\n", b->n);
	return turn == story.put_at ? because(story.put_err, "it was not to be") : 0;
}

static void given_acknowledge(struct stream *s, unsigned long long number)
{
	printf("ok %llu of %llu\n", number, s->number);
}

static void given_forget(struct stream *s)
{
	printf("forgets up to %llu\n", s->number);
}

static void given_next(struct batch *b)
{
	b->n = 0;
	printf("the next batch\n");
}

static int given_close(struct stream *s)
{
	printf("closes %s\n", s->name);
	free(s->text);
	return story.status;
}

static void given_stop_on(int signal)
{
	printf("stops on %s\n", signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "another");
}

#define batch_begin	   given_begin
#define batch_end	   given_end
#define batch_collect	   given_collect
#define batch_put	   given_put
#define batch_next	   given_next
#define stream_open	   given_open
#define stream_wait	   given_wait
#define stream_acknowledge given_acknowledge
#define stream_forget	   given_forget
#define stream_close	   given_close
#define stop_on		   given_stop_on
#include "feeds/follow.c"

static void tell(const char *name, const char *path, bool json)
{
	char *const command[] = { "a-command", NULL };
	struct context context = CONTEXT_DEFAULT;
	int err;

	context.json = json;
	turn = 0;
	shows_begin(&shows);
	err = follow_lines(&context, path, path ? NULL : command);
	printf("%d: %s\n", err < 0 ? -1 : err, err < 0 ? reason(err) : "well");
	stop_asked = 0;
	shows_as(&shows, name);
	memset(&story, 0, sizeof(story));
}

static void word_for_word(void)
{
	story.turns = 2;
	tell("two turns", "-", false);
	story.turns = 1;
	story.bad = 3;
	tell("some lines are bad, JSON", "a-file", true);
	story.turns = 1;
	story.status = 7 << 8;
	story.bad = 1;
	tell("a command that ends with 7", NULL, false);
	story.turns = 1;
	story.status = SIGKILL;
	tell("a command that is killed", NULL, false);
	story.turns = 3;
	story.put_at = 1;
	story.put_err = -EIO;
	story.status = 7 << 8;
	tell("nothing comes into force", NULL, false);
	story.turns = 3;
	story.put_at = 2;
	story.put_err = -EINTR;
	story.bad = 1;
	tell("interrupted", "-", false);
	story.turns = 3;
	story.stop_at = 1;
	tell("stopped", "-", false);
	story.begin_err = -EPERM;
	tell("no change can be made", "-", false);
	story.open_err = -ENOENT;
	tell("it cannot be opened", "a-file", false);
	story.no_text = true;
	tell("no memory", "a-file", false);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
