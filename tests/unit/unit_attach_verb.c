// SPDX-License-Identifier: GPL-2.0-only
/* attach, detach: what is asked for by what is typed, what is said of it, and what --purge asks; word for word. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/other_name.h"
#include "change/attach.h"
#include "change/change.h"
#include "change/detach.h"
#include "change/purge.h"
#include "feeds/announce.h"
#include "kernel/device.h"
#include "kernel/live.h"
#include "naive.h"
#include "observe/detector.h"
#include "state/limits.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_attach_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_attach_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int calls, fails_at, done_n, labels_each, no_memory; /* the last: which allocation fails */
static bool one_missing, stops, does_miss, does_not_see, detects, no_state, there_is_all, knows, terminal_in,
	terminal_err;
static struct attachment attached[3];
static FILE *answers;

__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	puts(fails ? ": fails" : "");
	va_end(args);
	return fails ? because(-EIO, "it was not to be") : 0;
}

static int given_attach(struct context *context, const struct attach_options *o, char *const *names, int n,
			struct attachment **done, int *done_of, bool *missing_one)
{
	char all[200] = "";
	int err;

	for (int i = 0; i < n; i++)
		sprintf(all + strlen(all), " %s", names[i]);
	err = call("attach%s: mode %d, match %d%s%s%s%s%s%s, confirm %g", all, o->mode, o->match,
		   o->shared ? ", shared" : "", o->egress ? ", egress" : "", o->ports ? ", ports" : "",
		   o->if_needed ? ", if needed" : "", o->force ? ", force" : "", context->check ? ", check" : "",
		   o->confirm.value);
	*missing_one = one_missing;
	if (err)
		return err;
	*done_of = done_n;
	*done = malloc(sizeof(attached));
	ENOUGH(*done);
	memcpy(*done, attached, sizeof(attached));
	return 0;
}

static bool given_misses(const char *name, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	snprintf(text, DEVICE_TEXT_MAX, "what is between the ports of %s is not seen in mode %s", name,
		 attach_mode_names[mode]);
	return does_miss;
}

static const char *given_unseen(char text[UNSEEN_TEXT_MAX], const struct attachment *on, size_t n)
{
	snprintf(text, UNSEEN_TEXT_MAX, "%zu from %s on", n, on->name);
	if (!does_not_see)
		*text = '\0';
	return text;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (change)
		puts("  state for a change?");
	return no_state ? -EIO : 0;
}

static struct limits given_limits(struct state *state)
{
	(void)state;
	return (struct limits){ .on = detects };
}

static bool given_own(const char *word, char own[IF_NAMESIZE])
{
	bool other = !strncmp(word, "other-", 6);

	if (other)
		snprintf(own, IF_NAMESIZE, "%s", word + 6);
	return other;
}

static bool given_knows(const struct context *context, const char *name, const struct detach_what *what)
{
	(void)context;
	call("is %s there%s%s%s", name, what->comes_in ? ", in" : "", what->leaves ? ", out" : "",
	     what->ports ? ", ports" : "");
	return knows;
}

static int given_labels(const struct context *context, const char *name, const struct detach_what *what,
			char labels[DETACH_LABELS][LABEL_MAX])
{
	(void)context;
	for (int i = 0; i < labels_each; i++)
		snprintf(labels[i], LABEL_MAX, "%s %d", name, i);
	call("labels of %s%s%s%s", name, what->comes_in ? ", in" : "", what->leaves ? ", out" : "",
	     what->ports ? ", ports" : "");
	return labels_each;
}

static int given_detach(const struct context *context, char *const *labels, int n, bool *stopped)
{
	char all[500] = "";

	(void)context;
	for (int i = 0; i < n; i++)
		sprintf(all + strlen(all), " '%s'", labels[i]);
	*stopped = stops;
	return call("detach %d:%s", n, all);
}

static void given_find(struct announced *announced, const struct context *context)
{
	call("what is announced of %s", context->state);
	announced->n = 7;
}

static void given_clean(const struct announced *announced)
{
	call("%zu are taken out", announced->n);
}

static int given_purge(const struct context *context, bool *stopped)
{
	*stopped = stops;
	return call("purge of %s", context->state);
}

static int given_done(const struct context *context)
{
	printf("  done in '%s'%s\n", context->state, context->json ? ", as JSON" : "");
	return context->json ? 42 : 0;
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory && !--no_memory ? NULL : calloc(n, size);
}

static bool given_terminal(int fd)
{
	return fd == STDIN_FILENO ? terminal_in : fd == STDERR_FILENO && terminal_err;
}

#define attach_interfaces	given_attach
#define device_misses		given_misses
#define detector_unseen		given_unseen
#define state_open		given_open
#define state_close(state)	((void)(state))
#define state_limits		given_limits
#define is_other_name		given_own
#define if_nametoindex(name)	(there_is_all ? 3u : 0u)
#define detach_knows		given_knows
#define detach_labels		given_labels
#define detach_interfaces	given_detach
#define announced_find		given_find
#define announced_clean		given_clean
#define purge			given_purge
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#define calloc			given_calloc
#define isatty			given_terminal
#define out_done		given_done
#undef stdin
#define stdin answers
#include "verbs/attach.c"
#include "verbs/interface.c"

static void begin(void)
{
	static const struct attachment made[] = {
		{ .name = "eth0", .mode = MODE_NATIVE, .match = MATCH_SOURCE },
		{ .name = "eth1", .mode = MODE_SKB, .match = MATCH_BOTH, .shared = true },
		{ .name = "eth\n2", .mode = MODE_TC, .match = MATCH_LEAVING(MATCH_DESTINATION) },
	};

	calls = fails_at = no_memory = 0;
	one_missing = stops = does_miss = does_not_see = detects = no_state = false;
	there_is_all = knows = terminal_in = terminal_err = false;
	done_n = 1;
	labels_each = 1;
	memcpy(attached, made, sizeof(attached));
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void attaches(void)
{
	TYPES("attach", "attach eth0", "attach eth0 --mode native", "attach eth0 --mode skb", "attach eth0 --mode auto",
	      "attach eth0 --mode tc", "attach eth0 --mode none", "attach eth0 --match source",
	      "attach eth0 --match destination", "attach eth0 --match either", "attach eth0 --match x",
	      "attach eth0 --egress", "attach eth0 --ports", "attach eth0 --shared", "attach eth0 --if-needed",
	      "attach eth0 --force", "attach eth0 --confirm 60s", "attach eth0 --egress --mode skb",
	      "attach eth0 --egress --shared", "attach eth0 --egress --mode skb --shared",
	      "attach eth0 --mode tc --shared", "attach eth0 --mode skb --shared", "attach eth0 eth1 other-eth2",
	      "attach a-name-too-long-by-far", "attach eth0 a/b eth1", "attach ''", "attach eth0 --json",
	      "attach eth0 --quiet");
	one_missing = true;
	TYPES("attach eth0", "attach eth0 --json");
	one_missing = false;
	fails_at = 1;
	TYPES("attach eth0", "attach eth0 --json");
	no_memory = 1;
	TYPES("attach eth0");
}

static void said(void)
{
	for (done_n = 0; done_n <= 3; done_n++) {
		printf("-- %d\n", done_n);
		does_miss = does_not_see = detects = false;
		TYPES("attach eth0", "attach eth0 --json", "attach eth0 --quiet");
		does_miss = does_not_see = true;
		TYPES("attach eth0", "attach eth0 --json");
	}
	done_n = 1;
	detects = true;
	TYPES("attach eth0");
	no_state = true;
	TYPES("attach eth0");
	no_state = does_not_see = false;
	TYPES("attach eth0");
}

static void detaches(void)
{
	TYPES("detach", "detach eth0", "detach eth0 eth1 eth2", "detach eth0 --ingress", "detach eth0 --egress",
	      "detach eth0 --ingress --egress", "detach eth0 --ports", "detach eth0 --json", "detach --all",
	      "detach --all --json", "detach eth0 --all", "detach --all --egress", "detach --all --ingress",
	      "detach --all --ports", "detach --all --egress --ingress --ports", "detach --purge",
	      "detach eth0 --purge", "detach eth0 --yes", "detach --all --yes", "detach all", "detach eth0 all",
	      "detach other-eth0", "detach other-eth0 eth1");
	there_is_all = knows = true;
	TYPES("detach all", "detach other-eth0");
	for (labels_each = 2; labels_each <= DETACH_LABELS; labels_each += 2)
		TYPES("detach eth0", "detach eth0 eth1");
	labels_each = 1;
	for (int i = 0; i < 2; i++) {
		stops = i;
		fails_at = 3;
		TYPES("detach eth0");
		fails_at = 1;
		TYPES("detach --all", "detach --all --json");
	}
	for (int i = 1; i <= 2; i++) {
		no_memory = i;
		TYPES("detach eth0");
	}
}

static void purges(void)
{
	static const char *const texts[] = { "yes\n", "no\n", "yes", "yess\n", "y\n", "" };

	TYPES("detach --all --purge --yes", "detach --all --purge --yes --json", "detach --all --purge --yes --quiet",
	      "detach --all --purge");
	for (int i = 0; i < 2; i++) {
		stops = i;
		fails_at = 2;
		TYPES("detach --all --purge --yes");
	}
	fails_at = 0;
	terminal_in = true;
	TYPES("detach --all --purge");
	terminal_in = false;
	terminal_err = true;
	TYPES("detach --all --purge");
	terminal_in = true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		answers = fmemopen((void *)(uintptr_t)texts[i], strlen(texts[i]) + 1, "r");
		ENOUGH(answers);
		printf("-- '%.*s'%s\n", (int)strcspn(texts[i], "\n"), texts[i],
		       strchr(texts[i], '\n') ? ", and so" : "");
		TYPES("detach --all --purge");
		fclose(answers);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "attaches", attaches },
		{ "said", said },
		{ "detaches", detaches },
		{ "purges", purges },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	typed_context.state = "/the/state";
	typed_context.bpffs = "/the/pins";
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
