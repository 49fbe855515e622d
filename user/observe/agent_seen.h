/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the CrowdSec agent that is followed answers, for whoever shows it: a file of the state while it does not. */
#ifndef OBSERVE_AGENT_SEEN_H
#define OBSERVE_AGENT_SEEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct context;

/* Whoever follows it says so; where another does already, that one's word is what is shown. */
struct agent_word {
	const struct context *context;
	int lock; /* -1: another's */
};

void agent_word_begin(struct agent_word *word, const struct context *context);
/* It does not answer since then, or answers again. False: that could not be written, and is to be tried again. */
bool agent_word_silent(const struct agent_word *word, const char *url, int64_t since, const char *why);
void agent_word_answers(const struct agent_word *word);
void agent_word_end(struct agent_word *word);

struct agent_seen {
	bool followed;
	int64_t since; /* it does not answer since then; 0: it does */
	char url[256], why[512];
};

void agent_seen_take(struct agent_seen *seen, const struct context *context);

#define AGENT_TEXT_MAX 1024
/* False: nothing is wrong with it. */
bool agent_trouble(const struct agent_seen *seen, char text[AGENT_TEXT_MAX]);
/* null where nobody follows one. */
json_t *out_agent(const struct agent_seen *seen);

#endif
