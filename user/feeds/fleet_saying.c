// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/fleet_saying.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "change/accounts.h"
#include "change/behind.h"
#include "state/events.h"
#include "state/fleet.h"
#include "state/state.h"

#define BATCH_MOST 2000
#define PAGE	   1000
#define AGAIN_MS   5000 /* after the server has refused a batch */
/* Once it is at once; whoever loses it again soon after that waits, each time longer. */
#define LOST_FIRST  5000
#define LOST_MOST   300000
#define LOST_SOON   60000
#define LONGEST_TTL 6000000000LL

void saying_begin(struct fleet_saying *own, struct context *context, struct fleet_talk *talk, struct fleet_seen *seen)
{
	*own = (struct fleet_saying){ .context = context, .talk = talk, .seen = seen };
}

void saying_again(struct fleet_saying *own)
{
	own->is = OWN_SILENT;
}

/* --- What it is --------------------------------------------------------------------------------------------------- */

static void say_ban(struct fleet_talk *w, const struct ban *ban)
{
	char text[PREFIX_TEXT_MAX], reason[BAN_REASON_MAX];
	int64_t left = 0;

	if (ban->due) {
		left = (ban->due - clock_boot()) / 1000000;
		left = left < 1 ? 1 : left;
	} else if (ban->expires) {
		left = ban->expires - time(NULL);
		left = left < 1 ? 1 : left < LONGEST_TTL ? left * 1000 : LONGEST_TTL * 1000;
	}
	clean_copy(reason, sizeof(reason), ban->reason);
	talk_say(w, "+\t%s\t%lld\t%s", prefix_text(text, ban->first, (int)ban->length), (long long)left, reason);
}

/* This machine's own that is to be said: what is in force, or what is behind an agent's. -ENOENT: none. */
static int own_said(struct state *state, const char *say, const struct addr *first, unsigned int length,
		    struct ban *ban)
{
	int err = account_own(state, *first, length, ban);

	if (err || (ban_in_force(ban, time(NULL)) && fleet_says(say, ban)))
		return err;
	err = ban_is_agents(ban) ? behind_of(state, *first, length, ban) : -ENOENT;
	return err ?: fleet_says(say, ban) ? 0 : -ENOENT;
}

static int say_one(struct fleet_saying *own, struct state *state, const char *say, const struct fleet_out *out)
{
	char text[PREFIX_TEXT_MAX];
	struct ban ban;
	int err = own_said(state, say, &out->first, out->length, &ban);

	if (err && !err_is(err, ENOENT))
		return err;
	if (!err)
		say_ban(own->talk, &ban);
	else
		talk_say(own->talk, "-\t%s", prefix_text(text, out->first, (int)out->length));
	return 0;
}

static int say_changed(struct fleet_saying *own, struct state *state, const struct fleet *fleet)
{
	struct fleet_out *out = NULL;
	size_t n = 0;
	int err = state_fleet_out(state, BATCH_MOST, &out, &n);

	own->again = n == BATCH_MOST;
	for (size_t i = 0; i < n && !err; i++)
		err = say_one(own, state, fleet->say, &out[i]);
	if (!err && n) {
		own->number = out[n - 1].number;
		own->all = 0;
		talk_say(own->talk, "batch\t%lld", (long long)++own->batch);
		own->is = OWN_SENT;
	}
	free(out);
	return err;
}

static int begin_all(struct fleet_saying *own, struct state *state, const struct fleet *fleet)
{
	uint64_t random;
	int err = state_fleet_out_last(state, &own->number);

	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = because(-EIO, "the kernel gives no random number");
	if (err)
		return err;
	own->all = fleet->all;
	snprintf(own->epoch, sizeof(own->epoch), "%016llx", (unsigned long long)random);
	own->last = (struct ban){ 0 };
	talk_say(own->talk, "all\t%s", own->epoch);
	own->is = OWN_ALL;
	return 0;
}

/* A page at a time: what changes behind it waits as a change, and is said afterwards. */
static int say_page(struct fleet_saying *own, struct state *state, const struct fleet *fleet)
{
	struct ban *bans = NULL;
	size_t n = 0;
	int err = state_bans_page(state, &own->last, PAGE, &bans, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct ban ban;

		own->last = bans[i];
		err = own_said(state, fleet->say, &bans[i].first, bans[i].length, &ban);
		if (!err)
			say_ban(own->talk, &ban);
		err = err_is(err, ENOENT) ? 0 : err;
	}
	free(bans);
	if (!err && n < PAGE) {
		talk_say(own->talk, "all-end\t%lld", (long long)++own->batch);
		own->is = OWN_SENT;
		own->again = true;
	}
	return err;
}

int saying_turn(struct fleet_saying *own)
{
	struct state *state = NULL;
	struct fleet fleet;
	int err = 0;

	if (own->is == OWN_LATER && clock_ms() >= own->later_at) {
		own->is = OWN_READY;
		own->again = true;
	}
	while (!err && !own->talk->ended && talk_has_room(own->talk) &&
	       (own->is == OWN_ALL || (own->is == OWN_READY && own->again))) {
		err = state_open(&state, own->context, false) ?: state_fleet(state, &fleet);
		if (!err && own->is == OWN_ALL) {
			err = say_page(own, state, &fleet);
		} else if (!err) {
			own->again = false;
			err = fleet.all ? begin_all(own, state, &fleet) : say_changed(own, state, &fleet);
		}
		state_close(state);
	}
	/* It has left meanwhile, which is seen elsewhere. */
	return err_is(err, ENOENT) ? 0 : err;
}

int64_t saying_due(const struct fleet_saying *own)
{
	if ((own->is == OWN_ALL || (own->is == OWN_READY && own->again)) && talk_has_room(own->talk))
		return 0;
	return own->is == OWN_LATER ? own->later_at : INT64_MAX;
}

/* --- What becomes of it ------------------------------------------------------------------------------------------- */

static int keep_said(struct fleet_saying *own, const char *epoch, int64_t n)
{
	struct state *state = NULL;
	int err = state_open(&state, own->context, true);

	err = err ?: state_fleet_said(state, epoch, n, own->number, own->all) ?: state_commit(state);
	state_close(state);
	return err;
}

static int said(struct fleet_saying *own, char *words[TALK_WORDS])
{
	const char *epoch = words[2];
	int64_t n = strtoll(words[3], NULL, 10);
	int err;

	if (own->is != OWN_SENT || strtoll(words[1], NULL, 10) != own->batch || n < 0 || n > FLEET_N_MOST ||
	    strlen(epoch) != FLEET_EPOCH_MAX - 1 || strspn(epoch, "0123456789abcdef") != FLEET_EPOCH_MAX - 1)
		return 0;
	err = keep_said(own, epoch, n);
	if (err)
		return err;
	own->seen->said++;
	own->seen->unsaid[0] = '\0';
	if (own->refused)
		warn("fleet: the server takes again what this machine says");
	own->refused = false;
	own->is = OWN_READY;
	own->again = true;
	return 0;
}

static void unsaid(struct fleet_saying *own, char *words[TALK_WORDS])
{
	if (own->is != OWN_SENT || strtoll(words[1], NULL, 10) != own->batch)
		return;
	own->is = OWN_LATER;
	own->later_at = clock_ms() + AGAIN_MS;
	/* What the server does not have for its absence is told otherwise. */
	if (!strcmp(words[2], "down") || !strcmp(words[2], "lost"))
		return;
	clean_copy(own->seen->unsaid, sizeof(own->seen->unsaid), words[2]);
	if (!own->refused)
		warn("fleet: the server refuses what this machine says: %s; it stays queued", own->seen->unsaid);
	own->refused = true;
}

#define TWICE_TEXT                                                                                  \
	"another machine takes part as '%s', or a copy of this one: each takes away what the other" \
	" says; give one of them a name and a user of its own (fleet join --as)"

/* One that fights with itself: each says all of it as soon as the other has. */
static void say_twice(struct fleet_saying *own, const char *name)
{
	if (own->said_twice)
		return;
	own->said_twice = true;
	warn("fleet: " TWICE_TEXT, name);
	event(own->context, (struct event){ .kind = EVENT_FAULT }, "fleet: " TWICE_TEXT, name);
}

static void wait_longer(struct fleet_saying *own, const char *name)
{
	int64_t now = clock_ms();
	bool soon = own->lost_last && now - own->lost_last < LOST_SOON + own->lost_wait;

	if (soon && own->lost_wait)
		say_twice(own, name);
	if (!soon)
		own->lost_wait = 0;
	else
		own->lost_wait = !own->lost_wait		  ? LOST_FIRST
				 : 2 * own->lost_wait < LOST_MOST ? 2 * own->lost_wait
								  : LOST_MOST;
	own->lost_last = now;
}

/* That alone ends nothing on any other machine: they have what they have until its end. */
static int lost(struct fleet_saying *own, struct state *state, const char *name, const char *why)
{
	/* A server that is emptied again has all of it at once again. */
	if (strstr(why, "another machine"))
		wait_longer(own, name);
	clean_copy(own->seen->lost, sizeof(own->seen->lost), why);
	own->seen->lost_at = time(NULL);
	/* Whoever has been told that there are two need not hear of each time. */
	if (!own->said_twice) {
		warn("fleet: %s; all of it is said again", own->seen->lost);
		event(own->context, (struct event){ .kind = EVENT_DONE, .verb = "fleet" },
		      "%s; all of it is said again", own->seen->lost);
	}
	return state_fleet_say_all(state);
}

/* `why`: the program has found it lost; NULL: this is what there is. */
static int compare(struct fleet_saying *own, const char *epoch, int64_t n, const char *why)
{
	struct state *state = NULL;
	struct fleet fleet;
	int64_t waiting = 0;
	bool ours = false, changes = true;
	int err = state_open(&state, own->context, true) ?:
		  state_fleet(state, &fleet) ?:
		  state_fleet_waiting(state, &waiting);

	if (!err) {
		ours = !why && *fleet.epoch && !strcmp(fleet.epoch, epoch);
		if (fleet.all || (ours && n == fleet.n))
			changes = false;
		/* It came there, and nobody could tell us: what it was about still waits, and is said once more. */
		else if (ours && n > fleet.n && n - fleet.n <= waiting)
			err = state_fleet_said(state, epoch, n, 0, 0);
		else if (why)
			err = lost(own, state, fleet.name, why);
		else if (!strcmp(epoch, "-"))
			err = lost(own, state, fleet.name, "the server has nothing of what this machine had said");
		else
			err = lost(
				own, state, fleet.name,
				ours ? "the server has an earlier state of what this machine had said, or this one is an earlier state"
				     : "the server has something else than this machine had said: a copy of it, or an older one");
	}
	if (!err && changes)
		err = state_commit(state);
	state_close(state);
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	own->is = OWN_READY;
	own->again = true;
	if (own->lost_wait && clock_ms() < own->lost_last + own->lost_wait) {
		own->is = OWN_LATER;
		own->later_at = own->lost_last + own->lost_wait;
	}
	return 0;
}

bool saying_take(struct fleet_saying *own, char *words[TALK_WORDS], int *err)
{
	if (!strcmp(words[0], "own-is"))
		*err = compare(own, words[1], strtoll(words[2], NULL, 10), NULL);
	else if (!strcmp(words[0], "own-lost"))
		*err = compare(own, "-", 0, *words[1] ? words[1] : "the server has lost what this machine had said");
	else if (!strcmp(words[0], "said"))
		*err = said(own, words);
	else if (!strcmp(words[0], "unsaid"))
		unsaid(own, words);
	else
		return false;
	return true;
}
