/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program that speaks to a fleet's server, xdp-bloom-fleet, and the lines between it and this process: words by a
 * tab each. It has none of this process's rights, and nothing that it says is believed.
 */
#ifndef FEEDS_FLEET_TALK_H
#define FEEDS_FLEET_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/log.h"
#include "fleet/client.h"

#define TALK_LINE_MOST 1024
#define TALK_WORDS     8

struct fleet_talk {
	int fd;
	pid_t pid;
	char *in, *out;
	size_t start, end, sent, said;
	bool ended;
};

/* 0 or -errno with the reason recorded; talk_stop() comes after failures, too. */
int talk_start(struct fleet_talk *talk, const struct fleet_request *request);
void talk_stop(struct fleet_talk *talk);

/* A line to it; without the end. Where there is no room it has not read for long: it is ended. */
PRINTF(2, 3) void talk_say(struct fleet_talk *talk, const char *fmt, ...);
/* Is there so much room that a batch has it, too? */
bool talk_has_room(const struct fleet_talk *talk);
/* What there is to write is written, as far as it takes it; then it is read what has come. */
void talk_turn(struct fleet_talk *talk);
/* Does it wait for room to write? */
bool talk_waits(const struct fleet_talk *talk);

/*
 * The next line, as words that lie in it until talk_forget(): how many, at most TALK_WORDS, or -1: there is none. What
 * is behind the last is a part of it.
 */
int talk_words(struct fleet_talk *talk, char *words[TALK_WORDS]);
/* Is a whole line there? Where it has ended the last ones say why. */
bool talk_has_line(const struct fleet_talk *talk);
bool talk_is_full(const struct fleet_talk *talk);
void talk_forget(struct fleet_talk *talk);

#endif
