// SPDX-License-Identifier: GPL-2.0-only
#include "observe/agent_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/out.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "state/unshown.h"

#define FRESH STATE_AGENT ".new"

static void forget(const struct context *context)
{
	char path[STATE_PATH_MAX];

	unlink(state_path(path, context->state, STATE_AGENT));
}

void agent_word_begin(struct agent_word *word, const struct context *context)
{
	char path[STATE_PATH_MAX];
	int err = trust_directory(context->state);

	*word = (struct agent_word){ context,
				     err ? -1 : lock_take(state_path(path, context->state, STATE_AGENT_LOCK), 0) };
	/* Of one that was killed. */
	if (word->lock >= 0)
		forget(context);
}

/* In its file: "since\nurl\nwhy\n". */
bool agent_word_silent(const struct agent_word *word, const char *url, int64_t since, const char *why)
{
	char fresh[STATE_PATH_MAX], path[STATE_PATH_MAX], text[sizeof(((struct agent_seen *)0)->why)];
	FILE *out;
	int fd;

	if (word->lock < 0)
		return true;
	clean_copy(text, sizeof(text), why);
	state_path(fresh, word->context->state, FRESH);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out)
		fprintf(out, "%lld\n%.255s\n%s\n", (long long)since, url, text);
	if (!out || fclose(out) || rename(fresh, state_path(path, word->context->state, STATE_AGENT))) {
		warn("%s: %s; 'status' will not show that the agent does not answer", fresh, strerror(errno));
		unlink(fresh);
		unshown_note(word->context->state);
		return false;
	}
	return true;
}

void agent_word_answers(const struct agent_word *word)
{
	if (word->lock >= 0)
		forget(word->context);
}

void agent_word_end(struct agent_word *word)
{
	agent_word_answers(word);
	close_fd(word->lock);
	word->lock = -1;
}

static void take_line(char *to, size_t size, const char **at)
{
	char line[1024];
	size_t length = strcspn(*at, "\n");

	snprintf(line, sizeof(line), "%.*s", (int)length, *at);
	clean_copy(to, size, line);
	*at += length + ((*at)[length] == '\n');
}

void agent_seen_take(struct agent_seen *seen, const struct context *context)
{
	char path[STATE_PATH_MAX], text[1024];
	const char *at;
	long long since;
	int fd, skip = 0;
	ssize_t n;

	*seen = (struct agent_seen){ .followed = lock_is_held(context->state, STATE_AGENT_LOCK) };
	if (!seen->followed)
		return;
	fd = open(state_path(path, context->state, STATE_AGENT), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close_fd(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%lld\n%n", &since, &skip) != 1 || !skip || since <= 0 || since > TIME_MOST)
		return;
	seen->since = since;
	at = text + skip;
	take_line(seen->url, sizeof(seen->url), &at);
	take_line(seen->why, sizeof(seen->why), &at);
}

bool agent_trouble(const struct agent_seen *seen, char text[AGENT_TEXT_MAX])
{
	char since[UTC_TEXT_MAX];

	text[0] = '\0';
	if (seen->since)
		snprintf(text, AGENT_TEXT_MAX,
			 "crowdsec: %s does not answer since %s: %s: what is banned stays until its end", seen->url,
			 utc_text(since, seen->since), seen->why);
	return text[0];
}

json_t *out_agent(const struct agent_seen *seen)
{
	char since[UTC_TEXT_MAX];

	if (!seen->followed)
		return json_null();
	if (!seen->since)
		return json_pack("{s:b, s:n, s:n, s:n}", "answers", 1, "url", "since", "why");
	return json_pack("{s:b, s:o, s:s, s:o}", "answers", 0, "url", out_text(seen->url), "since",
			 utc_text(since, seen->since), "why", out_text(seen->why));
}
