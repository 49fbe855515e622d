// SPDX-License-Identifier: GPL-2.0-only
/*
 * All bans of a member that run, of one moment: by one EXEC its head, the end of its log, and its set; then their
 * reasons, which are words only. One member at a time, so that the memory is that of one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "fleet/internal.h"

/* Whatever the command asks for: 64 bytes each. */
#define BANS_MOST ((uint64_t)1 << 20)
#define REASONS	  256
/* Of a reason 140 bytes; of a ban 100. */
#define REASONS_BYTES ((uint64_t)1 << 20)
#define BAN_BYTES     ((uint64_t)128)

static void finish(struct wire *w)
{
	struct snapshot *s = &w->snapshot;
	struct member_heard *m = s->member;

	free(s->bans);
	*s = (struct snapshot){ 0 };
	m->used--;
}

static void tell_ban(struct wire *w, const struct banned *b, const char *reason)
{
	struct snapshot *s = &w->snapshot;
	char prefix[PREFIX_TEXT_MAX], clean[REASON_MAX];
	double left = b->end - (double)server_now(&w->clock);

	if (left < 1)
		return;
	if (!isinf(b->end) && left > (double)TTL_MOST)
		left = (double)TTL_MOST;
	reason_copy(clean, reason);
	tell(w, "+\t%s\t%s\t%lld\t%s", s->member->name, prefix_text(prefix, b->first, (int)b->length),
	     isinf(b->end) ? 0LL : (long long)left, clean);
}

static void end_it(struct wire *w)
{
	struct snapshot *s = &w->snapshot;
	struct member_heard *m = s->member;

	memcpy(m->at.epoch, s->epoch, EPOCH_MAX);
	memcpy(m->at.id, s->id, ID_MAX);
	m->at.n = s->n;
	m->suspect.epoch[0] = '\0';
	/* What was told before it has no end of its own. */
	m->slots = 0;
	m->lines = 0;
	m->wants_snapshot = false;
	m->rung = true;
	tell(w, "snapshot-end\t%s\t%s\t%s\t%llu\t%s", m->name, s->whole ? "complete" : "incomplete", s->epoch,
	     (unsigned long long)s->n, s->id);
	finish(w);
}

static void over(void *arg)
{
	struct wire *w = arg;

	follow_leave_alone(w, w->snapshot.member);
}

/* --- Reasons --- */

static void take_reason(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	struct snapshot *s = &w->snapshot;

	if (v->depth != 1 || s->told >= s->asked)
		return;
	tell_ban(w, &s->bans[s->told++], v->kind == REPLY_TEXT ? v->text : "");
}

static void end_reasons(void *arg)
{
	struct wire *w = arg;
	struct snapshot *s = &w->snapshot;

	/* Of a key of another type there is none. */
	while (s->told < s->asked)
		tell_ban(w, &s->bans[s->told++], "");
	s->asking = false;
	if (s->told == s->n_bans)
		end_it(w);
}

static void ask_reasons(struct wire *w)
{
	static const struct taker reasons = {
		.take = take_reason, .end = end_reasons, .over = over, .most = REASONS_BYTES
	};
	struct snapshot *s = &w->snapshot;
	char key[KEY_MAX], texts[REASONS][PREFIX_TEXT_MAX];
	const char *words[REASONS + 2] = { "HMGET", key_of(key, w, s->member->name, "why") };
	int n = 2;

	for (; n < REASONS + 2 && s->asked < s->n_bans; n++, s->asked++) {
		const struct banned *b = &s->bans[s->asked];

		words[n] = prefix_text(texts[n - 2], b->first, (int)b->length);
	}
	s->asking = true;
	server_ask_words(w->read, &reasons, w, n, words);
}

/* --- The set --- */

static void take_member(struct wire *w, const struct reply_value *v)
{
	struct snapshot *s = &w->snapshot;
	const char *fault;
	struct banned b;
	char text[PREFIX_TEXT_MAX];
	char *end;

	if (v->at[1] % 2 == 0) {
		s->has_prefix = v->kind == REPLY_TEXT && v->length < sizeof(s->prefix) && strlen(v->text) == v->length;
		snprintf(s->prefix, sizeof(s->prefix), "%.63s", s->has_prefix ? v->text : "");
		if (*s->prefix == '#') {
			snprintf(s->proof, sizeof(s->proof), "%.16s", s->prefix + 1);
			s->has_prefix = false;
			return;
		}
		s->over++;
		return;
	}
	if (*s->prefix == '#' || v->kind != REPLY_TEXT)
		return;
	b.end = strtod(v->text, &end);
	fault = s->has_prefix && !*end && b.end == b.end ? prefix_canonical(text, s->prefix, &b.first, &b.length) : "";
	if (fault) {
		if (!*s->why)
			snprintf(s->why, sizeof(s->why), "a prefix in its set is none");
		return;
	}
	if (s->n_bans >= BANS_MOST || s->n_bans >= s->member->most || !GROW(s->bans, s->n_bans)) {
		s->failed = true;
		return;
	}
	s->bans[s->n_bans++] = b;
}

static void take_snapshot(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	struct snapshot *s = &w->snapshot;
	int64_t ms;

	if (v->depth == 0)
		w->read->most = REASONS_BYTES + BAN_BYTES * (s->member->most < BANS_MOST ? s->member->most : BANS_MOST);
	if (v->kind == REPLY_ERROR && !s->failed) {
		snprintf(s->why, sizeof(s->why), "%.150s", v->text);
		s->failed = true;
	}
	if (v->depth == 2 && v->at[0] == 0 && v->kind == REPLY_TEXT) {
		if (v->at[1] == 0 && epoch_is_sound(v->text))
			memcpy(s->epoch, v->text, EPOCH_MAX);
		if (v->at[1] == 1)
			number_read(v->text, &s->n);
	}
	if (v->depth == 3 && v->at[0] == 1 && v->at[2] == 0 && v->kind == REPLY_TEXT && id_read(v->text, &ms))
		snprintf(s->id, sizeof(s->id), "%.43s", v->text);
	if (v->depth == 2 && v->at[0] == 2)
		take_member(w, v);
}

static void end_snapshot(void *arg)
{
	struct wire *w = arg;
	struct snapshot *s = &w->snapshot;

	if (*s->why)
		tell(w, "bad\t%s\t%s", s->member->name, s->why);
	if (!s->member->followed) {
		s->member->wants_snapshot = false;
		finish(w);
		return;
	}
	s->whole = !s->failed && !strcmp(s->proof, s->epoch);
	/* Another saying than the one that was heard, and older: a copy of before. */
	if (strcmp(s->member->at.epoch, EPOCH_NONE) != 0 && strcmp(s->member->at.epoch, s->epoch) != 0 &&
	    !id_is_later(s->id, s->member->at.id))
		s->whole = false;
	tell(w, "snapshot\t%s", s->member->name);
	if (s->n_bans)
		ask_reasons(w);
	else
		end_it(w);
}

static void begin(struct wire *w, struct member_heard *m)
{
	static const struct taker taker = { .take = take_snapshot, .end = end_snapshot, .over = over };
	struct snapshot *s = &w->snapshot;
	char head[KEY_MAX], log[KEY_MAX], now[KEY_MAX], from[24], most[24];

	*s = (struct snapshot){ .member = m, .id = ID_NONE, .epoch = EPOCH_NONE };
	m->used++;
	snprintf(from, sizeof(from), "(%lld", (long long)server_now(&w->clock));
	/* One more, to see that there are more; and the proof. */
	snprintf(most, sizeof(most), "%llu", (unsigned long long)(m->most < BANS_MOST ? m->most : BANS_MOST) + 2);
	ASK(w->read, &take_nothing, w, "MULTI");
	ASK(w->read, &take_nothing, w, "HMGET", key_of(head, w, m->name, "head"), "e", "n");
	ASK(w->read, &take_nothing, w, "XREVRANGE", key_of(log, w, m->name, "log"), "+", "-", "COUNT", "1");
	ASK(w->read, &take_nothing, w, "ZREVRANGEBYSCORE", key_of(now, w, m->name, "now"), "+inf", from, "WITHSCORES",
	    "LIMIT", "0", most);
	ASK(w->read, &taker, w, "EXEC");
}

void snapshot_down(struct wire *w)
{
	/* Of what was told, nothing is missed: it begins again. */
	if (w->snapshot.member) {
		w->snapshot.member->wants_snapshot = true;
		finish(w);
	}
}

/* Where a step waits for something else, the answer of that wakes us. */
void snapshot_turn(struct wire *w, int64_t now)
{
	struct follow *f = &w->follow;
	struct snapshot *s = &w->snapshot;

	if (s->member && s->n_bans && !s->asking && s->told && outgoing_waits(&w->out) < OUT_MOST)
		ask_reasons(w);
	/* Between two of them others have their turn, and logs that are read at that moment end before. */
	for (size_t i = 0; i < f->n && !s->member; i++) {
		struct member_heard *m = f->members[i];

		if (m->followed && m->wants_snapshot && now >= m->snapshot_at)
			begin(w, m);
	}
}

int64_t snapshot_due(const struct wire *w)
{
	const struct follow *f = &w->follow;
	int64_t due = INT64_MAX;

	if (w->snapshot.member)
		return due;
	for (size_t i = 0; i < f->n; i++)
		if (f->members[i]->followed && f->members[i]->wants_snapshot && f->members[i]->snapshot_at < due)
			due = f->members[i]->snapshot_at;
	return due;
}
