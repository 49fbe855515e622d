// SPDX-License-Identifier: GPL-2.0-only
/* What the other members say: their logs, as they grow; who they are; and whether their keys still are what was read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "fleet/internal.h"

/* Entries of one member in one answer. */
#define COUNT	"500"
#define COUNTED 500
/* Logs in one question. */
#define KEYS_MOST 100
/* The server rests so many times as long as an answer took, besides the pace that was asked for. */
#define PACE_TIMES 5
/* All logs are read so often, whether their bells rang or not; and the bells' line is tried. */
#define ALL_EVERY  10000
#define PING_EVERY 2000
#define PATIENCE   10000
/* Who is told more than is in force waits. */
#define AHEAD_LINES 20000
#define SET_EVERY   5000
/* A member's head is asked for so often; of many, so many a second. */
#define HEAD_EVERY   10000
#define HEAD_LEAST   20
#define ALONE_FIRST  1000
#define ALONE_MOST   60000
#define LEFT_MOST    600000
#define SNAP_FIRST   200
#define SNAP_MOST    30000
#define WORDS_BEFORE 4
/* COUNTED entries have 400 bytes each; three numbers of a head are short. */
#define LOG_BYTES  ((uint64_t)1 << 20)
#define HEAD_BYTES ((uint64_t)64 << 10)

/* --- Members --- */

static int by_name(const void *key, const void *at)
{
	return strcmp(key, (*(struct member_heard *const *)at)->name);
}

struct member_heard *follow_find(struct wire *w, const char *name)
{
	struct follow *f = &w->follow;
	struct member_heard **found = f->n ? bsearch(name, f->members, f->n, sizeof(*f->members), by_name) : NULL;

	return found ? *found : NULL;
}

static struct member_heard *add(struct wire *w, const char *name)
{
	struct follow *f = &w->follow;
	struct member_heard *m;
	size_t at = f->n;

	if (f->n >= KNOWN_MOST || !GROW(f->members, f->n))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	snprintf(m->name, sizeof(m->name), "%s", name);
	strcpy(m->at.epoch, EPOCH_NONE);
	strcpy(m->at.id, ID_NONE);
	for (; at && strcmp(f->members[at - 1]->name, name) > 0; at--)
		f->members[at] = f->members[at - 1];
	f->members[at] = m;
	f->n++;
	return m;
}

/* Who is neither followed nor in the set is forgotten, once no answer about it is on its way. */
static void drop_some(struct wire *w)
{
	struct follow *f = &w->follow;
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct member_heard *m = f->members[i];

		if (m->followed || m->in_set || m->used || m->refused)
			f->members[kept++] = m;
		else
			free(m);
	}
	f->n = kept;
}

static void begin(struct member_heard *m, uint64_t most)
{
	m->most = most;
	if (m->followed)
		return;
	m->followed = true;
	m->rung = true;
	m->wants_snapshot = !strcmp(m->at.epoch, EPOCH_NONE);
	m->snapshot_at = m->head_at = 0;
}

static void end(struct member_heard *m)
{
	m->followed = m->by_any = m->wants_snapshot = m->alone = false;
	m->slots = 0;
	m->lines = 0;
}

void follow_told(struct member_heard *m, const char *id, uint64_t lines)
{
	if (!lines)
		return;
	if (m->slots == AHEAD_SLOTS)
		m->slots--;
	else
		m->ahead[m->slots].lines = 0;
	memcpy(m->ahead[m->slots].id, id, ID_MAX);
	m->ahead[m->slots++].lines += lines;
	m->lines += lines;
}

static void took(struct member_heard *m, const char *id)
{
	unsigned int n = 0;

	while (n < m->slots && strcmp(m->ahead[n].id, id) != 0)
		n++;
	if (n == m->slots)
		return;
	n++;
	for (unsigned int i = 0; i < n; i++)
		m->lines -= m->ahead[i].lines;
	m->slots -= n;
	memmove(m->ahead, m->ahead + n, m->slots * sizeof(*m->ahead));
}

static void by_any(struct wire *w, struct member_heard *m)
{
	if (!w->follow.any || m->followed || m->refused || !m->in_set || !strcmp(m->name, w->request->name))
		return;
	m->by_any = true;
	begin(m, w->follow.any_most);
}

static void follow_one(struct wire *w, char *fields[])
{
	struct member_heard *m = follow_find(w, fields[1]);
	uint64_t most, n;
	int64_t ms;

	if (!fleet_name_is_sound(fields[1]) || !number_read(fields[5], &most)) {
		tell(w, "bad\t-\tthe command's own line is none");
		return;
	}
	m = m ? m : add(w, fields[1]);
	if (!m) {
		tell(w, "bad\t%s\tthere are too many members", fields[1]);
		return;
	}
	if (!m->followed && epoch_is_sound(fields[2]) && number_read(fields[3], &n) && id_read(fields[4], &ms)) {
		memcpy(m->at.epoch, fields[2], EPOCH_MAX);
		snprintf(m->at.id, ID_MAX, "%s", fields[4]);
		m->at.n = n;
	}
	m->by_any = m->refused = false;
	begin(m, most);
}

void follow_line(struct wire *w, int n, char *fields[])
{
	struct follow *f = &w->follow;
	struct member_heard *m = follow_find(w, fields[1]);

	if (!strcmp(fields[0], "follow") && n == 6) {
		follow_one(w, fields);
	} else if (!strcmp(fields[0], "any") && number_read(fields[1], &f->any_most)) {
		f->any = true;
		for (size_t i = 0; i < f->n; i++) {
			if (f->members[i]->by_any)
				f->members[i]->most = f->any_most;
			by_any(w, f->members[i]);
		}
	} else if (!strcmp(fields[0], "any")) {
		f->any = false;
		for (size_t i = 0; i < f->n; i++)
			if (f->members[i]->by_any)
				end(f->members[i]);
	} else if (!strcmp(fields[0], "unfollow") && (m || fleet_name_is_sound(fields[1]))) {
		m = m ? m : add(w, fields[1]);
		if (m) {
			end(m);
			m->refused = true;
		}
	} else if (!strcmp(fields[0], "took") && m) {
		took(m, fields[2]);
	} else if (!strcmp(fields[0], "again") && m && m->followed) {
		follow_wants_snapshot(m);
	}
}

/* --- Who is in the set --- */

static void take_name(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	struct follow *f = &w->follow;
	struct member_heard *m;

	if (v->kind == REPLY_ERROR) {
		if (!f->set_failed_told)
			tell(w, "bad\t-\tthe set of members: %.100s", v->text);
		f->set_failed = f->set_failed_told = true;
	}
	if (v->depth != 1)
		return;
	f->set_n++;
	if (v->kind != REPLY_TEXT || strlen(v->text) != v->length || !fleet_name_is_sound(v->text)) {
		f->set_bad++;
		return;
	}
	if (!strcmp(v->text, w->request->name))
		return;
	m = follow_find(w, v->text);
	m = m ? m : add(w, v->text);
	if (!m)
		return;
	if (!m->in_set)
		tell(w, "member\t%s", m->name);
	m->in_set = m->seen = true;
	by_any(w, m);
}

static void end_names(void *arg)
{
	struct wire *w = arg;
	struct follow *f = &w->follow;

	f->set_at = boot_ms() + SET_EVERY;
	if (!f->set_failed) {
		tell(w, "members\t%llu", (unsigned long long)f->set_n);
		/* Once, and not each time that it is looked at. */
		if (f->set_bad && f->set_bad != f->set_bad_told)
			tell(w, "bad\t-\t%llu names in the set of members are none", (unsigned long long)f->set_bad);
		f->set_bad_told = f->set_bad;
		f->set_failed_told = false;
	}
	/* An empty one says that somebody has emptied the server, not that all have left. */
	for (size_t i = 0; i < f->n && f->set_n && !f->set_failed; i++) {
		struct member_heard *m = f->members[i];

		if (m->in_set && !m->seen) {
			m->in_set = false;
			tell(w, "gone\t%s", m->name);
			if (m->by_any)
				end(m);
		}
	}
	if (!f->reading && !w->snapshot.member)
		drop_some(w);
}

static void ask_names(struct wire *w)
{
	static const struct taker names = { .take = take_name, .end = end_names };
	struct follow *f = &w->follow;
	char key[KEY_MAX];

	for (size_t i = 0; i < f->n; i++)
		f->members[i]->seen = false;
	f->set_n = f->set_bad = 0;
	f->set_failed = false;
	f->set_at = INT64_MAX;
	ASK(w->read, &names, w, "SMEMBERS", key_of(key, w, "members", ""));
}

/* --- Heads: when a member spoke last, and whether its log has all of it --- */

struct head {
	struct wire *wire;
	struct member_heard *member;
	struct place said;
	uint64_t at;
	bool there;
};

static void take_head(void *arg, const struct reply_value *v)
{
	struct head *h = arg;

	if (v->depth != 1 || v->kind != REPLY_TEXT)
		return;
	if (v->at[0] == 0 && epoch_is_sound(v->text)) {
		memcpy(h->said.epoch, v->text, EPOCH_MAX);
		h->there = true;
	}
	if (v->at[0] == 1)
		number_read(v->text, &h->said.n);
	if (v->at[0] == 2)
		number_read(v->text, &h->at);
}

static bool same_place(const struct place *a, const struct place *b)
{
	return !strcmp(a->epoch, b->epoch) && a->n == b->n;
}

void follow_wants_snapshot(struct member_heard *m)
{
	int64_t now = boot_ms();

	m->wants_snapshot = true;
	/* Nobody makes this machine read it all the time. */
	if (now > m->snapshot_at + SNAP_MOST)
		m->snapshot_wait = 0;
	m->snapshot_at = now + m->snapshot_wait;
	m->snapshot_wait = m->snapshot_wait ? 2 * m->snapshot_wait : SNAP_FIRST;
	if (m->snapshot_wait > SNAP_MOST)
		m->snapshot_wait = SNAP_MOST;
}

void follow_gap(struct wire *w, struct member_heard *m, const char *why)
{
	tell(w, "gap\t%s\t%s", m->name, why);
	follow_wants_snapshot(m);
}

/* Its log may still be on its way here: only what is so twice in a row is a gap. */
static void judge(struct wire *w, struct member_heard *m, const struct place *said)
{
	bool behind = strcmp(said->epoch, m->at.epoch) != 0 || said->n > m->at.n;

	if (behind && same_place(said, &m->suspect) && !strcmp(m->suspect.id, m->at.id)) {
		m->suspect.epoch[0] = '\0';
		follow_gap(w, m, "its log lacks what it has said");
		return;
	}
	m->suspect = *said;
	if (behind)
		memcpy(m->suspect.id, m->at.id, ID_MAX);
	else
		m->suspect.epoch[0] = '\0';
}

static void end_head(void *arg)
{
	struct head *h = arg;
	struct member_heard *m = h->member;
	struct wire *w = h->wire;
	int64_t age = server_now(&w->clock) - (int64_t)h->at;

	if (m->followed && h->at)
		tell(w, "quiet\t%s\t%lld", m->name, (long long)(age > 0 ? age : 0));
	if (m->followed && !h->there && !m->empty && strcmp(m->at.epoch, EPOCH_NONE) != 0)
		tell(w, "bad\t%s\tits keys are gone from the server; what it has said stays", m->name);
	m->empty = !h->there;
	if (m->followed && h->there && !m->wants_snapshot && !m->alone && m->lines <= AHEAD_LINES)
		judge(w, m, &h->said);
	m->used--;
	free(h);
}

static void drop_head(void *arg)
{
	struct head *h = arg;

	h->member->used--;
	free(h);
}

void follow_leave_alone(struct wire *w, struct member_heard *m)
{
	m->alone_wait = m->alone_wait ? 2 * m->alone_wait : ALONE_FIRST;
	if (m->alone_wait > LEFT_MOST)
		m->alone_wait = LEFT_MOST;
	m->alone = true;
	m->alone_at = m->head_at = m->snapshot_at = boot_ms() + m->alone_wait;
	tell(w, "bad\t%s\twhat it has written is too long; it is left alone for %lld s", m->name,
	     (long long)m->alone_wait / 1000);
}

static void over_head(void *arg)
{
	struct head *h = arg;

	follow_leave_alone(h->wire, h->member);
}

static void ask_head(struct wire *w, struct member_heard *m)
{
	static const struct taker head = {
		.take = take_head, .end = end_head, .drop = drop_head, .over = over_head, .most = HEAD_BYTES
	};
	struct head *h = calloc(1, sizeof(*h));
	char key[KEY_MAX];

	if (!h)
		return;
	h->wire = w;
	h->member = m;
	m->used++;
	ASK(w->read, &head, h, "HMGET", key_of(key, w, m->name, "head"), "e", "n", "t");
}

/* One after the other, so that all have their turn. */
static void ask_heads(struct wire *w, int64_t now)
{
	struct follow *f = &w->follow;
	int64_t each = f->n ? HEAD_EVERY / (int64_t)f->n : HEAD_EVERY;

	if (now < f->next_head)
		return;
	for (size_t tried = 0; tried < f->n; tried++) {
		struct member_heard *m = f->members[f->heads++ % f->n];

		if (m->followed && now >= m->head_at) {
			m->head_at = now + HEAD_EVERY / 2;
			ask_head(w, m);
			break;
		}
	}
	f->next_head = now + (each < 1000 / HEAD_LEAST ? 1000 / HEAD_LEAST : each);
}

/* --- Logs --- */

static void say_entry(struct wire *w, struct member_heard *m, const struct entry *e, int64_t ms)
{
	int64_t now = server_now(&w->clock), left = e->ttl;

	/* Dated ahead it would last longer than it says. */
	if (ms > now)
		ms = now;
	if (e->ttl)
		left -= now - ms;
	if (e->does == '-' || (e->ttl && left <= 0))
		tell(w, "-\t%s\t%s", m->name, e->prefix);
	else
		tell(w, "+\t%s\t%s\t%lld\t%s", m->name, e->prefix, (long long)left, e->reason);
	w->follow.newest = now - ms;
	follow_told(m, w->follow.id, 1);
}

static void end_entry(struct wire *w)
{
	struct follow *f = &w->follow;
	struct member_heard *m = f->member;
	const char *fault = entry_fault(&f->entry);
	int64_t ms;

	if (!m || !m->followed || m->wants_snapshot)
		return;
	if (!id_read(f->id, &ms)) {
		tell(w, "bad\t%s\tan entry's id is none", m->name);
		return;
	}
	/* It was asked for before the snapshot, which has it. */
	if (!id_is_later(f->id, m->at.id))
		return;
	if (!entry_is_numbered(&f->entry)) {
		tell(w, "bad\t%s\t%s", m->name, fault ? fault : "it lacks a field");
	} else if (strcmp(f->entry.epoch, m->at.epoch) != 0) {
		follow_gap(w, m, f->entry.does == '=' ? "it says all again" : "it has another epoch");
		return;
	} else if (f->entry.n != m->at.n + 1) {
		follow_gap(w, m, "entries of its log are missing");
		return;
	} else {
		m->at.n = f->entry.n;
		if (fault)
			tell(w, "bad\t%s\t%s", m->name, fault);
		else if (f->entry.does != '=')
			say_entry(w, m, &f->entry, ms);
	}
	memcpy(m->at.id, f->id, ID_MAX);
	f->moved = true;
}

/* Up to here it is one step for the command. */
static void end_log(struct wire *w)
{
	struct follow *f = &w->follow;

	if (f->member && f->moved)
		tell(w, "at\t%s\t%s\t%llu\t%s\t%lld", f->member->name, f->member->at.epoch,
		     (unsigned long long)f->member->at.n, f->member->at.id, (long long)f->newest);
	f->moved = false;
	f->newest = 0;
	f->member = NULL;
}

/* The name of a log is its key; of what is shorter, the name would be a very long one. */
static struct member_heard *whose(struct wire *w, const char *key)
{
	size_t before = strlen(w->request->prefix), n = strlen(key);
	char name[MEMBER_NAME_MAX];

	if (n - before - 4 >= sizeof(name) || strcmp(key + n - 4, ":log") != 0)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(n - before - 4), key + before);
	return follow_find(w, name);
}

static void take_field(struct wire *w, const struct reply_value *v)
{
	struct follow *f = &w->follow;
	bool is_text = v->kind == REPLY_TEXT && strlen(v->text) == v->length;

	f->left_fields--;
	if (v->at[4] % 2 == 0) {
		f->field_known = is_text && v->length < sizeof(f->field);
		snprintf(f->field, sizeof(f->field), "%s", f->field_known ? v->text : "");
	} else if (f->field_known) {
		entry_field(&f->entry, f->field, is_text ? v->text : NULL);
	}
	if (!f->left_fields)
		end_entry(w);
}

/* [[key, [[id, [name, value, ...]], ...]], ...] */
static void take_logs(struct wire *w, const struct reply_value *v)
{
	struct follow *f = &w->follow;

	if (v->depth == 0 && v->kind == REPLY_ERROR) {
		f->failed = true;
		if (!begins_with(v->text, "WRONGTYPE") && !begins_with(v->text, "NOPERM"))
			server_failed(w->read, "%.160s", v->text);
	} else if (v->depth == 1) {
		end_log(w);
		w->read->most = w->read->bytes + LOG_BYTES;
	} else if (v->depth == 2 && v->at[1] == 0) {
		f->member = v->kind == REPLY_TEXT ? whose(w, v->text) : NULL;
	} else if (v->depth == 2) {
		/* There may be more of it. */
		if (f->member && v->number >= COUNTED)
			f->member->rung = true;
	} else if (v->depth == 3) {
		f->entry = (struct entry){ 0 };
		snprintf(f->id, sizeof(f->id), "-");
	} else if (v->depth == 4 && v->at[3] == 0) {
		snprintf(f->id, sizeof(f->id), "%.43s", v->kind == REPLY_TEXT ? v->text : "-");
	} else if (v->depth == 4) {
		f->left_fields = v->kind == REPLY_ARRAY ? v->number : 0;
		if (f->left_fields <= 0)
			end_entry(w);
	} else if (v->depth == 5) {
		take_field(w, v);
	}
}

static void take_all_logs(void *arg, const struct reply_value *v)
{
	take_logs(arg, v);
}

/* What comes behind it is not known; what is in force is in its set. */
static void over_log(struct wire *w, struct member_heard *m)
{
	int64_t ms;

	end_log(w);
	if (!m || !m->followed)
		return;
	if (id_read(w->follow.id, &ms) && id_is_later(w->follow.id, m->at.id))
		memcpy(m->at.id, w->follow.id, ID_MAX);
	m->wants_snapshot = true;
	follow_leave_alone(w, m);
}

static void over_all_logs(void *arg)
{
	struct wire *w = arg;

	over_log(w, w->follow.member);
}

static void pace(struct wire *w)
{
	int64_t now = boot_ms(), rest = PACE_TIMES * (now - w->follow.asked_at);

	w->follow.read_at = now + (rest > (int64_t)w->request->pace ? rest : (int64_t)w->request->pace);
}

static void end_all_logs(void *arg)
{
	struct wire *w = arg;
	struct follow *f = &w->follow;

	end_log(w);
	f->reading = false;
	pace(w);
	if (!f->failed)
		return;
	/* One key of another type fails them all: each is asked alone, and who fails again is left out for a while. */
	f->failed = false;
	for (size_t i = 0; i < f->n; i++)
		if (f->members[i]->followed && f->members[i]->reading) {
			f->members[i]->alone = true;
			f->members[i]->alone_at = 0;
		}
}

struct probe {
	struct wire *wire;
	struct member_heard *member;
	char why[100];
	bool over;
};

static void take_one_log(void *arg, const struct reply_value *v)
{
	struct probe *p = arg;

	if (v->depth == 0 && v->kind == REPLY_ERROR)
		snprintf(p->why, sizeof(p->why), "%.99s", v->text);
	take_logs(p->wire, v);
}

static void end_one_log(void *arg)
{
	struct probe *p = arg;
	struct wire *w = p->wire;
	struct member_heard *m = p->member;

	end_log(w);
	w->follow.failed = false;
	w->follow.probes--;
	if (*p->why) {
		/* Who turns it to and fro gains nothing. */
		m->alone_wait = m->alone_wait ? 2 * m->alone_wait : ALONE_FIRST;
		if (m->alone_wait > ALONE_MOST)
			m->alone_wait = ALONE_MOST;
		m->alone_at = boot_ms() + m->alone_wait;
		if (m->followed)
			tell(w, "bad\t%s\t%s", m->name, p->why);
	} else {
		m->alone = false;
		m->rung = true;
	}
	m->used--;
	free(p);
}

static void over_probe(void *arg)
{
	struct probe *p = arg;

	over_log(p->wire, p->member);
	p->over = true;
}

static void drop_probe(void *arg)
{
	struct probe *p = arg;

	if (!p->over)
		p->member->alone_at = 0;
	p->member->used--;
	free(p);
}

static bool is_read(const struct member_heard *m)
{
	return m->followed && !m->wants_snapshot && m->lines <= AHEAD_LINES;
}

static void probe(struct wire *w, struct member_heard *m)
{
	static const struct taker one = {
		.take = take_one_log, .end = end_one_log, .drop = drop_probe, .over = over_probe, .most = LOG_BYTES
	};
	struct probe *p = calloc(1, sizeof(*p));
	char key[KEY_MAX];

	if (!p)
		return;
	p->wire = w;
	p->member = m;
	m->used++;
	m->alone_at = INT64_MAX;
	w->follow.probes++;
	ASK(w->read, &one, p, "XREAD", "COUNT", COUNT, "STREAMS", key_of(key, w, m->name, "log"), m->at.id);
}

static bool is_due(const struct member_heard *m)
{
	return m->rung && !m->alone && is_read(m);
}

/* Those whose bells have rung. */
static void read_some(struct wire *w)
{
	static const struct taker all = {
		.take = take_all_logs, .end = end_all_logs, .over = over_all_logs, .most = LOG_BYTES
	};
	struct follow *f = &w->follow;
	const char *words[2 * KEYS_MOST + WORDS_BEFORE] = { "XREAD", "COUNT", COUNT, "STREAMS" };
	const char *ids[KEYS_MOST] = { NULL };
	char keys[KEYS_MOST][KEY_MAX];
	int n = 0;

	for (size_t i = 0; i < f->n; i++)
		f->members[i]->reading = false;
	/* From where it ended, so that nobody is always the last. */
	for (size_t tried = 0; tried < f->n && n < KEYS_MOST; tried++) {
		struct member_heard *m = f->members[f->next_log++ % f->n];

		if (!is_due(m))
			continue;
		m->rung = false;
		m->reading = true;
		ids[n] = m->at.id;
		words[WORDS_BEFORE + n] = key_of(keys[n], w, m->name, "log");
		n++;
	}
	for (int i = 0; i < n; i++)
		words[WORDS_BEFORE + n + i] = ids[i];
	if (!n)
		return;
	f->reading = true;
	f->asked_at = boot_ms();
	server_ask_words(w->read, &all, w, WORDS_BEFORE + 2 * n, words);
}

/* --- Bells --- */

static void take_bell(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	struct follow *f = &w->follow;
	struct member_heard *m;

	if (v->kind == REPLY_ERROR)
		server_failed(&w->ear, "%.160s", v->text);
	if (v->depth != 1 || v->kind != REPLY_TEXT)
		return;
	if (v->at[0] == 0)
		f->is_message = !strcmp(v->text, "message");
	m = v->at[0] == 2 && f->is_message ? follow_find(w, v->text) : NULL;
	if (m)
		m->rung = true;
}

void follow_begin(struct wire *w)
{
	static const struct taker bell = { .take = take_bell };

	w->ear.push = &bell;
	w->ear.push_arg = w;
}

/* A line that is dead is as silent as one where nothing happens. */
static void try_bells(struct wire *w, int64_t now)
{
	if (now < w->follow.ping_at)
		return;
	if (now - w->ear.heard > PATIENCE)
		server_failed(&w->ear, "it does not answer");
	ASK(&w->ear, NULL, NULL, "PING");
	w->follow.ping_at = now + PING_EVERY;
}

/* Should a bell be lost, or silenced. */
static void ring_all(struct wire *w, int64_t now)
{
	struct follow *f = &w->follow;

	for (size_t i = 0; i < f->n; i++)
		f->members[i]->rung = true;
	f->all_at = now + ALL_EVERY / 2 + with_jitter(ALL_EVERY);
}

void follow_up(struct wire *w)
{
	struct follow *f = &w->follow;
	int64_t now = boot_ms();

	char bell[KEY_MAX];

	f->read_at = f->next_head = 0;
	w->ear.heard = now;
	ASK(&w->ear, NULL, NULL, "SUBSCRIBE", key_of(bell, w, "bell", ""));
	f->ping_at = now + PING_EVERY;
	ring_all(w, now);
	for (size_t i = 0; i < f->n; i++) {
		f->members[i]->head_at = f->members[i]->alone ? f->members[i]->alone_at : now;
		f->members[i]->suspect.epoch[0] = '\0';
	}
	ask_names(w);
}

void follow_down(struct wire *w)
{
	struct follow *f = &w->follow;

	f->reading = f->failed = f->moved = false;
	f->member = NULL;
	f->probes = 0;
}

static bool any_due(const struct follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (is_due(f->members[i]))
			return true;
	return false;
}

void follow_turn(struct wire *w, int64_t now)
{
	struct follow *f = &w->follow;

	if (now >= f->set_at)
		ask_names(w);
	if (now >= f->all_at)
		ring_all(w, now);
	try_bells(w, now);
	ask_heads(w, now);
	if (f->reading || f->probes)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (f->members[i]->alone && is_read(f->members[i]) && now >= f->members[i]->alone_at)
			probe(w, f->members[i]);
	if (!f->probes && now >= f->read_at)
		read_some(w);
}

int64_t follow_due(const struct wire *w)
{
	const struct follow *f = &w->follow;
	int64_t due = f->set_at < f->next_head ? f->set_at : f->next_head;

	due = f->ping_at < due ? f->ping_at : due;
	return f->reading || f->probes || due < f->read_at || !any_due(f) ? due : f->read_at;
}
