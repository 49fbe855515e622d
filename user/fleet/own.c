// SPDX-License-Identifier: GPL-2.0-only
/*
 * What this machine says: a log for those who follow, and a set for those who begin or have missed something. Both are
 * written by one EXEC, so nobody sees one without the other. One EXEC at a time is on its way; what comes meanwhile
 * waits in the command's stream, and goes with the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/internal.h"

/* As many entries as the log keeps, about: whoever sleeps longer takes the set. */
#define LOG_MOST    "100000"
#define BATCH_MOST  ((size_t)256 << 10)
#define CHECK_EVERY 2000
#define TOUCH_EVERY 10000
#define PRUNE_EVERY 10000
#define NUMBER_ROOM 24

static struct own *of(struct wire *w)
{
	return &w->own;
}

static const char *decimal(char to[NUMBER_ROOM], uint64_t number)
{
	snprintf(to, NUMBER_ROOM, "%llu", (unsigned long long)number);
	return to;
}

/* When it ends, by the server's clock. */
static const char *score(char to[NUMBER_ROOM], const struct wire *w, int64_t ttl)
{
	if (!ttl)
		snprintf(to, NUMBER_ROOM, "+inf");
	else
		decimal(to, (uint64_t)(server_now(&w->clock) + ttl));
	return to;
}

static const char *proof(char to[EPOCH_MAX + 1], const char *epoch)
{
	to[0] = '#';
	strcpy(to + 1, epoch);
	return to;
}

/* Where a key is of another type, there is no log that could go on behind its last id. */
static void note_type(struct own *own, const char *why)
{
	own->wrong = own->wrong || begins_with(why, "WRONGTYPE");
}

static void lose(struct wire *w, const char *why)
{
	note_type(&w->own, why);
	if (w->own.state == OWN_KNOWN)
		tell(w, "own-lost\t%s", why);
	w->own.state = OWN_LOST;
}

static void refuse(struct wire *w, uint64_t number, const char *why)
{
	tell(w, "unsaid\t%llu\t%s", (unsigned long long)number, why);
}

/* --- Batches --- */

static void make(struct wire *w, int n, const char *const words[])
{
	if (!command_add(&w->own.commands, n, words, NULL))
		w->ended = true;
	w->own.made++;
}

#define MAKE(...)                                                         \
	do {                                                              \
		const char *const words_[] = { __VA_ARGS__ };             \
		make(w, (int)(sizeof(words_) / sizeof(*words_)), words_); \
	} while (0)

static void clear_batches(struct own *own)
{
	outgoing_free(&own->commands);
	own->made = 0;
	own->n_batches = 0;
	own->why[0] = '\0';
	own->broken = false;
}

static void note_why(char why[160], const char *text)
{
	if (!*why)
		snprintf(why, 160, "%s", *text ? text : "no reason");
}

/* Each of them is answered by QUEUED, or the whole of it fails. */
static void take_queued(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;

	if (v->kind == REPLY_ERROR && v->depth == 0)
		note_why(w->own.why, v->text);
}

static void take_done(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;

	if (v->kind == REPLY_NIL && v->depth == 0)
		note_why(w->own.why, "it was given up");
	if (v->kind != REPLY_ERROR)
		return;
	/* One that fails among others that were done: a key is of another type. */
	w->own.broken = v->depth > 0;
	note_why(w->own.why, v->text);
}

static void end_done(void *arg)
{
	struct wire *w = arg;
	struct own *own = of(w);

	own->busy = false;
	for (unsigned int i = 0; i < own->n_batches; i++)
		if (*own->why)
			refuse(w, own->batches[i], own->why);
		else
			tell(w, "said\t%llu\t%s\t%llu", (unsigned long long)own->batches[i], own->epoch,
			     (unsigned long long)own->n);
	if (!*own->why)
		own->sure = own->n;
	else
		own->n = own->n_before;
	if (*own->why && own->partial) {
		own->torn = true;
		note_why(own->torn_why, own->why);
	}
	if (own->broken)
		lose(w, own->why);
	/* Behind a name there may be another server by now. */
	if (begins_with(own->why, "READONLY"))
		server_failed(&w->talk, "%s", own->why);
	clear_batches(own);
}

static const struct taker queued = { .take = take_queued }, done = { .take = take_done, .end = end_done };

/* Whoever follows reads then, and only then. */
static void add_bell(struct wire *w)
{
	char bell[KEY_MAX];

	MAKE("PUBLISH", key_of(bell, w, "bell", ""), w->request->name);
}

static void say(struct wire *w)
{
	struct own *own = of(w);
	char head[KEY_MAX], n[NUMBER_ROOM], now[NUMBER_ROOM];

	if (!own->made)
		own->n_before = own->n;
	own->busy = true;
	key_of(head, w, w->request->name, "head");
	MAKE("HSET", head, "e", own->epoch, "n", decimal(n, own->n), "t", decimal(now, (uint64_t)server_now(&w->clock)),
	     "v", VERSION);
	add_bell(w);
	ASK(&w->talk, &queued, w, "MULTI");
	server_ask_made(&w->talk, &queued, w, &own->commands, own->made);
	ASK(&w->talk, &done, w, "EXEC");
	outgoing_free(&own->commands);
	own->made = 0;
}

/* A change of the log, by the next number. */
static void add_entry(struct wire *w, const char *does, const char *prefix, const char *ttl, const char *reason)
{
	char key[KEY_MAX], n[NUMBER_ROOM];

	if (!w->own.made)
		w->own.n_before = w->own.n;
	key_of(key, w, w->request->name, "log");
	decimal(n, ++w->own.n);
	if (*reason)
		MAKE("XADD", key, "MAXLEN", "~", LOG_MOST, "*", "e", w->own.epoch, "n", n, "o", does, "p", prefix, "t",
		     ttl, "r", reason);
	else if (*ttl)
		MAKE("XADD", key, "MAXLEN", "~", LOG_MOST, "*", "e", w->own.epoch, "n", n, "o", does, "p", prefix, "t",
		     ttl);
	else
		MAKE("XADD", key, "MAXLEN", "~", LOG_MOST, "*", "e", w->own.epoch, "n", n, "o", does, "p", prefix);
}

static void add_ban(struct wire *w, const char *prefix, uint64_t ttl, const char *reason)
{
	char now[KEY_MAX], why[KEY_MAX], number[NUMBER_ROOM], end[NUMBER_ROOM];

	key_of(now, w, w->request->name, "now");
	key_of(why, w, w->request->name, "why");
	add_entry(w, "+", prefix, decimal(number, ttl), reason);
	MAKE("ZADD", now, score(end, w, (int64_t)ttl), prefix);
	if (*reason)
		MAKE("HSET", why, prefix, reason);
	else
		MAKE("HDEL", why, prefix);
}

static void add_end(struct wire *w, const char *prefix)
{
	char now[KEY_MAX], why[KEY_MAX];

	key_of(now, w, w->request->name, "now");
	key_of(why, w, w->request->name, "why");
	add_entry(w, "-", prefix, "", "");
	MAKE("ZREM", now, prefix);
	MAKE("HDEL", why, prefix);
}

/* --- All of it, in a new epoch --- */

static void begin_all(struct wire *w, const char *epoch)
{
	struct own *own = of(w);
	char now[KEY_MAX], why[KEY_MAX];

	own->next[0] = own->why[0] = '\0';
	own->has_reasons = false;
	own->lines = 0;
	if (!w->up || !epoch_is_sound(epoch))
		return;
	memcpy(own->next, epoch, EPOCH_MAX);
	ASK(&w->talk, &queued, w, "DEL", key_of(now, w, w->request->name, "new"),
	    key_of(why, w, w->request->name, "new-why"));
}

static void add_to_all(struct wire *w, const char *prefix, uint64_t ttl, const char *reason)
{
	char key[KEY_MAX], end[NUMBER_ROOM];

	w->own.lines++;
	ASK(&w->talk, &queued, w, "ZADD", key_of(key, w, w->request->name, "new"), score(end, w, (int64_t)ttl), prefix);
	if (!*reason)
		return;
	ASK(&w->talk, &queued, w, "HSET", key_of(key, w, w->request->name, "new-why"), prefix, reason);
	w->own.has_reasons = true;
}

static void end_all_done(void *arg)
{
	struct wire *w = arg;
	struct own *own = of(w);

	own->busy = false;
	if (*own->why) {
		note_type(own, own->why);
		refuse(w, own->all_number, own->why);
	} else {
		own->wrong = false;
		memcpy(own->epoch, own->next, EPOCH_MAX);
		own->n = own->sure = 1;
		own->state = OWN_KNOWN;
		tell(w, "said\t%llu\t%s\t1", (unsigned long long)own->all_number, own->epoch);
	}
	own->next[0] = own->why[0] = '\0';
	own->broken = false;
}

static void count_bans(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;

	take_queued(w, v);
	if (v->kind == REPLY_INTEGER && v->depth == 0)
		w->own.there = (uint64_t)v->number;
}

/*
 * In the place of what was there. The log is emptied, not taken away: it then goes on behind its last id, and who
 * follows sees the new epoch there. A key of another type is in the way, and goes. Only if each line has come to its
 * place, and none of another saying, of a connection that was lost, lies between them: it would be believed to be
 * whole.
 */
static void put_in_place(void *arg)
{
	static const struct taker all_done = { .take = take_done, .end = end_all_done };
	struct wire *w = arg;
	struct own *own = of(w);
	char now[KEY_MAX], new[KEY_MAX], why[KEY_MAX], new_why[KEY_MAX], log[KEY_MAX], head[KEY_MAX];
	char time[NUMBER_ROOM];
	const char *name = w->request->name;

	if (!*own->why && own->there != own->lines + 1)
		note_why(own->why, "something else was said in between");
	if (*own->why) {
		end_all_done(w);
		return;
	}
	ASK(&w->talk, &queued, w, "MULTI");
	ASK(&w->talk, &queued, w, "RENAME", key_of(new, w, name, "new"), key_of(now, w, name, "now"));
	if (own->has_reasons)
		ASK(&w->talk, &queued, w, "RENAME", key_of(new_why, w, name, "new-why"), key_of(why, w, name, "why"));
	else
		ASK(&w->talk, &queued, w, "DEL", key_of(why, w, name, "why"));
	key_of(log, w, name, "log");
	key_of(head, w, name, "head");
	if (own->state == OWN_LOST)
		ASK(&w->talk, &queued, w, "DEL", head);
	if (own->wrong)
		ASK(&w->talk, &queued, w, "DEL", log);
	ASK(&w->talk, &queued, w, "XTRIM", log, "MAXLEN", "0");
	ASK(&w->talk, &queued, w, "XADD", log, "*", "e", own->next, "n", "1", "o", "=");
	ASK(&w->talk, &queued, w, "HSET", head, "e", own->next, "n", "1", "t",
	    decimal(time, (uint64_t)server_now(&w->clock)), "v", VERSION);
	ASK(&w->talk, &queued, w, "PUBLISH", key_of(new, w, "bell", ""), name);
	ASK(&w->talk, &all_done, w, "EXEC");
}

static void end_all(struct wire *w, uint64_t number)
{
	static const struct taker counted = { .take = count_bans, .end = put_in_place };
	struct own *own = of(w);
	char new[KEY_MAX], whole[EPOCH_MAX + 1];

	if (!*own->next) {
		refuse(w, number, w->up ? "lost" : "down");
		return;
	}
	own->busy = true;
	own->all_number = number;
	own->there = 0;
	ASK(&w->talk, &queued, w, "ZADD", key_of(new, w, w->request->name, "new"), "+inf", proof(whole, own->next));
	ASK(&w->talk, &counted, w, "ZCARD", new);
}

/* --- Lines of the command --- */

static const char *unfit(const struct wire *w)
{
	return !w->up ? "down" : "lost";
}

static void end_batch(struct wire *w, uint64_t number)
{
	struct own *own = of(w);

	own->partial = false;
	if (own->torn || own->state != OWN_KNOWN) {
		refuse(w, number, own->torn ? own->torn_why : unfit(w));
		own->torn = false;
		own->torn_why[0] = '\0';
		return;
	}
	own->batches[own->n_batches++] = number;
	if (own->n_batches == sizeof(own->batches) / sizeof(*own->batches) ||
	    outgoing_waits(&own->commands) > BATCH_MOST)
		say(w);
}

static void change(struct wire *w, char *fields[])
{
	struct own *own = of(w);
	char prefix[PREFIX_TEXT_MAX], reason[REASON_MAX];
	unsigned int length;
	uint64_t ttl = 0;
	struct addr first;
	bool ends = *fields[0] == '-';

	if (!*own->next)
		own->partial = true;
	if (prefix_canonical(prefix, fields[1], &first, &length) ||
	    (!ends && (!number_read(fields[2], &ttl) || ttl > TTL_MOST))) {
		tell(w, "bad\t-\tthe command's own line is none");
		return;
	}
	reason_copy(reason, fields[3]);
	if (*own->next) {
		if (!ends)
			add_to_all(w, prefix, ttl, reason);
		return;
	}
	if (own->torn || own->state != OWN_KNOWN)
		return;
	if (ends)
		add_end(w, prefix);
	else
		add_ban(w, prefix, ttl, reason);
	/* One without an end goes in parts. */
	if (outgoing_waits(&own->commands) > 2 * BATCH_MOST)
		say(w);
}

static void where_it_is(struct own *own, const char *epoch, const char *n)
{
	if (epoch_is_sound(epoch) && number_read(n, &own->n)) {
		memcpy(own->epoch, epoch, EPOCH_MAX);
	} else {
		strcpy(own->epoch, EPOCH_NONE);
		own->n = 0;
	}
	own->sure = own->n;
	own->told = true;
}

void own_line(struct wire *w, int n, char *fields[])
{
	uint64_t number = 0;
	bool is_number = number_read(fields[1], &number);

	if (!strcmp(fields[0], "own") && n == 3 && !w->own.told)
		where_it_is(&w->own, fields[1], fields[2]);
	else if (!strcmp(fields[0], "+") || !strcmp(fields[0], "-"))
		change(w, fields);
	else if (!strcmp(fields[0], "batch") && is_number)
		end_batch(w, number);
	else if (!strcmp(fields[0], "all") && n == 2)
		begin_all(w, fields[1]);
	else if (!strcmp(fields[0], "all-end") && is_number)
		end_all(w, number);
	else
		tell(w, "bad\t-\tthe command's own line is none");
}

void own_pause(struct wire *w)
{
	struct own *own = of(w);

	if (own->n_batches && !own->partial && !own->busy && w->up)
		say(w);
}

/* --- What the server has of it --- */

static void take_head(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	struct own *own = of(w);

	if (v->kind == REPLY_ERROR)
		note_why(own->head_why, v->text);
	if (v->depth != 1 || v->kind != REPLY_TEXT)
		return;
	if (v->at[0] == 0 && epoch_is_sound(v->text))
		memcpy(own->head_epoch, v->text, EPOCH_MAX);
	if (v->at[0] == 1)
		number_read(v->text, &own->head_n);
}

static void take_proof(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;

	w->own.head_whole = v->kind == REPLY_TEXT;
	if (v->kind == REPLY_ERROR)
		note_why(w->own.head_why, v->text);
}

static const char *lost(const struct own *own)
{
	if (*own->head_why)
		return own->head_why;
	if (!*own->head_epoch)
		return "the server has nothing of this machine any more";
	if (strcmp(own->head_epoch, own->epoch) != 0)
		return "the server has another epoch of this machine: it is an older copy, or another machine has this name";
	if (own->head_n < own->checked)
		return "the server has less of this machine than it has taken: it was restored, or is an older copy";
	if (own->head_n > own->n)
		return "the server has more of this machine than it has said: another machine has this name";
	return own->head_whole ? NULL : "the server has only a part of this machine's bans";
}

static void end_check(void *arg)
{
	struct wire *w = arg;
	const char *why = lost(&w->own);

	if (why && w->own.state == OWN_KNOWN && !*w->own.next)
		lose(w, why);
}

static void end_first(void *arg)
{
	struct wire *w = arg;
	struct own *own = of(w);
	bool is_there = *own->head_epoch && own->head_whole && !*own->head_why;

	tell(w, "own-is\t%s\t%llu", is_there ? own->head_epoch : EPOCH_NONE,
	     is_there ? (unsigned long long)own->head_n : 0);
	own->state = OWN_LOST;
	note_type(own, own->head_why);
	if (!is_there || strcmp(own->head_epoch, own->epoch) != 0 || own->head_n < own->n)
		return;
	own->n = own->sure = own->head_n;
	own->state = OWN_KNOWN;
}

static void look(struct wire *w, const struct taker *then)
{
	static const struct taker head = { .take = take_head };
	struct own *own = of(w);
	char key[KEY_MAX], now[KEY_MAX], whole[EPOCH_MAX + 1];

	own->head_epoch[0] = own->head_why[0] = '\0';
	own->head_n = 0;
	own->checked = own->sure;
	own->check_at = boot_ms() + CHECK_EVERY;
	ASK(&w->talk, &head, w, "HMGET", key_of(key, w, w->request->name, "head"), "e", "n");
	ASK(&w->talk, then, w, "ZSCORE", key_of(now, w, w->request->name, "now"), proof(whole, own->epoch));
}

static void take_pruned(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;

	if (v->depth == 1 && v->kind == REPLY_TEXT && v->length < PREFIX_TEXT_MAX && w->own.n_pruned < PRUNED_MOST)
		memcpy(w->own.pruned[w->own.n_pruned++], v->text, v->length + 1);
}

/* Nothing was said since they were asked for. */
static void end_pruned(void *arg)
{
	struct wire *w = arg;
	struct own *own = of(w);
	const char *words[PRUNED_MOST + 2];
	char key[KEY_MAX];

	own->busy = false;
	if (!own->n_pruned)
		return;
	for (unsigned int i = 0; i < own->n_pruned; i++)
		words[i + 2] = own->pruned[i];
	words[0] = "ZREM";
	words[1] = key_of(key, w, w->request->name, "now");
	server_ask_words(&w->talk, &take_nothing, w, (int)own->n_pruned + 2, words);
	words[0] = "HDEL";
	key_of(key, w, w->request->name, "why");
	server_ask_words(&w->talk, &take_nothing, w, (int)own->n_pruned + 2, words);
	if (own->n_pruned == PRUNED_MOST)
		own->prune_at = 0;
}

/* What has run out leaves the set. */
static void prune(struct wire *w, int64_t now)
{
	static const struct taker pruned = { .take = take_pruned, .end = end_pruned };
	char key[KEY_MAX], until[NUMBER_ROOM + 1];

	w->own.busy = true;
	w->own.n_pruned = 0;
	w->own.prune_at = now + PRUNE_EVERY;
	snprintf(until, sizeof(until), "(%lld", (long long)server_now(&w->clock));
	ASK(&w->talk, &pruned, w, "ZRANGEBYSCORE", key_of(key, w, w->request->name, "now"), "-inf", until, "LIMIT", "0",
	    "256");
}

void own_up(struct wire *w)
{
	static const struct taker first = { .take = take_proof, .end = end_first };

	w->own.touch_at = w->own.prune_at = boot_ms() + TOUCH_EVERY;
	look(w, &first);
}

void own_down(struct wire *w)
{
	struct own *own = of(w);

	for (unsigned int i = 0; i < own->n_batches; i++)
		refuse(w, own->batches[i], "down");
	if (*own->next && own->busy)
		refuse(w, own->all_number, "down");
	clear_batches(own);
	own->next[0] = '\0';
	if (own->partial) {
		own->torn = true;
		note_why(own->torn_why, "down");
	}
	own->n = own->sure;
	own->busy = false;
	own->state = OWN_UNKNOWN;
}

void own_turn(struct wire *w, int64_t now)
{
	static const struct taker checked = { .take = take_proof, .end = end_check };
	struct own *own = of(w);
	char key[KEY_MAX], time[NUMBER_ROOM];

	if (own->busy || own->state != OWN_KNOWN || own->made || *own->next)
		return;
	if (now >= own->touch_at) {
		own->touch_at = now + TOUCH_EVERY;
		ASK(&w->talk, &take_nothing, w, "HSET", key_of(key, w, w->request->name, "head"), "t",
		    decimal(time, (uint64_t)server_now(&w->clock)));
	}
	if (now >= own->check_at)
		look(w, &checked);
	if (now >= own->prune_at)
		prune(w, now);
}

int64_t own_due(const struct wire *w)
{
	const struct own *own = &w->own;
	int64_t due = own->touch_at < own->check_at ? own->touch_at : own->check_at;

	if (own->busy || own->state != OWN_KNOWN || own->made || *own->next)
		return INT64_MAX;
	return due < own->prune_at ? due : own->prune_at;
}
