// SPDX-License-Identifier: GPL-2.0-only
/* Whether the agent answers, as one process says it and another shows it; and a file that holds something else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "ktap.h"

static bool held;

static bool held_given(const char *directory, const char *name)
{
	(void)directory, (void)name;
	return held;
}

/* Nobody sees his own lock. */
#define lock_is_held held_given

#include "observe/agent_seen.c"

static char directory[] = "/tmp/unit_agent_seen.XXXXXX", file[64], fresh[64];
static struct context context = CONTEXT_DEFAULT;

#define URL "http://127.0.0.1:8080/"
#define WHY "Connection refused"

static bool shows(const char *what, struct agent_seen wanted, const char *trouble)
{
	char text[AGENT_TEXT_MAX];
	struct agent_seen seen;
	bool said;

	memset(&seen, 0xff, sizeof(seen));
	agent_seen_take(&seen, &context);
	said = agent_trouble(&seen, text);
	return CHECK(seen.followed == wanted.followed && seen.since == wanted.since && !strcmp(seen.url, wanted.url) &&
			     !strcmp(seen.why, wanted.why),
		     "%s: since %lld, '%s', '%s'", what, (long long)seen.since, seen.url, seen.why) &&
	       CHECK(said == (*trouble != '\0') && !strcmp(text, trouble), "%s: '%s', not '%s'", what, text, trouble);
}

/* A line of what is shown as JSON, without what is not asked for. */
static bool json_is(const char *wanted)
{
	struct agent_seen seen;
	json_t *out;
	char *text;
	bool is;

	agent_seen_take(&seen, &context);
	out = out_agent(&seen);
	text = json_dumps(out, JSON_ENCODE_ANY | JSON_COMPACT);
	is = CHECK(text && !strcmp(text, wanted), "'%s', not '%s'", text, wanted);
	free(text);
	json_decref(out);
	return is;
}

static void comes_through(void)
{
	struct agent_seen answers = { .followed = true }, silent = { true, 1700000000, URL, WHY };
	struct agent_word word, other = { &context, -1 };
	struct stat st;

	held = false;
	shows("nobody follows it", (struct agent_seen){ 0 }, "");
	json_is("null");
	agent_word_begin(&word, &context);
	if (!CHECK(word.lock >= 0, "it cannot be said"))
		return;
	held = true;
	shows("it answers", answers, "");
	json_is("{\"answers\":true,\"url\":null,\"since\":null,\"why\":null}");
	agent_word_silent(&word, URL, 1700000000, WHY);
	shows("it is silent", silent,
	      "crowdsec: " URL " does not answer since 2023-11-14T22:13:20Z: " WHY
	      ": what is banned stays until its end");
	json_is("{\"answers\":false,\"url\":\"" URL "\",\"since\":\"2023-11-14T22:13:20Z\",\"why\":\"" WHY "\"}");
	CHECK(!stat(file, &st) && (st.st_mode & 0777) == 0600 && stat(fresh, &st), "what lies there is %o", st.st_mode);
	/* Who has not the word says nothing, and takes nothing back. */
	agent_word_answers(&other);
	agent_word_silent(&other, "other", 5, "other");
	agent_word_end(&other);
	shows("another", silent,
	      "crowdsec: " URL " does not answer since 2023-11-14T22:13:20Z: " WHY
	      ": what is banned stays until its end");
	held = false;
	shows("it is followed no more", (struct agent_seen){ 0 }, "");
	held = true;
	agent_word_silent(&word, URL, 1700000000, "a\nb\x1b[2J\n");
	snprintf(silent.why, sizeof(silent.why), "a?b?[2J?");
	shows("control characters", silent,
	      "crowdsec: " URL " does not answer since 2023-11-14T22:13:20Z: a?b?[2J?"
	      ": what is banned stays until its end");
	agent_word_answers(&word);
	shows("it answers again", answers, "");
	agent_word_silent(&word, URL, 1, WHY);
	agent_word_end(&word);
	CHECK(word.lock == -1 && stat(file, &st), "it is left behind");
	/* Killed, it leaves it behind: the next begins anew. */
	agent_word_begin(&word, &context);
	agent_word_silent(&word, URL, 1, WHY);
	close(word.lock);
	agent_word_begin(&word, &context);
	CHECK(word.lock >= 0 && stat(file, &st), "the word of one that was killed is left");
	agent_word_end(&word);
}

/* What is said where it cannot be shown. */
static bool cannot_show(const char *errno_is)
{
	struct agent_word word = { &context, 0 };
	char said[400], wanted[400];
	FILE *messages = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	agent_word_silent(&word, URL, 1, WHY);
	fclose(stderr);
	stderr = messages;
	snprintf(said, sizeof(said), "%s", text);
	free(text);
	snprintf(wanted, sizeof(wanted), "%s: %s; 'status' will not show that the agent does not answer\n", fresh,
		 errno_is);
	return CHECK(strstr(said, wanted), "'%s', not '%s'", said, wanted);
}

static void cannot_be_written(void)
{
	char in_it[80];

	CHECK(!mkdir(fresh, 0700), "no directory");
	cannot_show("Is a directory");
	CHECK(!rmdir(fresh) && access(file, F_OK), "it is shown");
	/* Nor put in its place: nothing is left of it. */
	snprintf(in_it, sizeof(in_it), "%s/x", file);
	CHECK(!mkdir(file, 0700) && !mkdir(in_it, 0700), "no directory");
	cannot_show("Is a directory");
	CHECK(access(fresh, F_OK), "a file is left behind");
	CHECK(!rmdir(in_it) && !rmdir(file), "it is another");
}

static char long_word[2000];

static void as_it_lies_there(void)
{
	const struct {
		const char *what, *text;
		struct agent_seen seen;
	} known[] = {
		{ "whole", "7\nurl\nwhy\n", { true, 7, "url", "why" } },
		{ "cut", "7\nurl\nwh", { true, 7, "url", "wh" } },
		{ "no reason", "7\nurl\n", { true, 7, "url", "" } },
		{ "no end", "7\nurl", { true, 7, "url", "" } },
		{ "more", "7\nurl\nwhy\nmore\n", { true, 7, "url", "why" } },
		{ "last year", "253402300799\nurl\nwhy\n", { true, 253402300799, "url", "why" } },
		{ "one more", "253402300800\nurl\nwhy\n", { .followed = true } },
		{ "none", "0\nurl\nwhy\n", { .followed = true } },
		{ "before", "-7\nurl\nwhy\n", { .followed = true } },
		{ "no number", "x\nurl\nwhy\n", { .followed = true } },
		{ "empty", "", { .followed = true } },
		{ "control", "7\nu\x1br\x01l\nw\x7fhy\n", { true, 7, "u?r?l", "w?hy" } },
		{ "long", long_word, { true, 7, "", "" } },
	};
	struct agent_seen seen;
	FILE *f;

	memset(long_word, 'x', sizeof(long_word) - 1);
	memcpy(long_word, "7\n", 2);
	long_word[900] = '\n';
	held = true;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		f = fopen(file, "we");
		if (!CHECK(f && fputs(known[i].text, f) >= 0 && !fclose(f), "%s", file))
			return;
		agent_seen_take(&seen, &context);
		if (known[i].text == long_word)
			CHECK(seen.since == 7 && strlen(seen.url) == sizeof(seen.url) - 1 &&
				      strlen(seen.why) == 1023 - 901,
			      "long: %zu, %zu", strlen(seen.url), strlen(seen.why));
		else
			CHECK(seen.followed && seen.since == known[i].seen.since &&
				      !strcmp(seen.url, known[i].seen.url) && !strcmp(seen.why, known[i].seen.why),
			      "%s: since %lld, '%s', '%s'", known[i].what, (long long)seen.since, seen.url, seen.why);
	}
	/* Nobody is led elsewhere by what lies there, and nobody waits for it. */
	unlink(file);
	CHECK(!symlink("/etc/hostname", file), "%s", file);
	shows("a link", (struct agent_seen){ .followed = true }, "");
	unlink(file);
	CHECK(!mkfifo(file, 0600), "%s", file);
	shows("a pipe", (struct agent_seen){ .followed = true }, "");
	unlink(file);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is said is shown", comes_through },
		{ "whatever lies there", as_it_lies_there },
		{ "it cannot be written", cannot_be_written },
	};
	char lock[64];
	int status;

	if (!mkdtemp(directory))
		return KTAP_FAIL;
	context.state = directory;
	snprintf(file, sizeof(file), "%s/" STATE_AGENT, directory);
	snprintf(fresh, sizeof(fresh), "%s/" FRESH, directory);
	snprintf(lock, sizeof(lock), "%s/" STATE_AGENT_LOCK, directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(file);
	unlink(lock);
	if (rmdir(directory))
		printf("# %s stays\n", directory);
	return status;
}
