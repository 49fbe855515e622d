// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/fleet_members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/stop.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "change/waiting.h"
#include "state/events.h"
#include "state/said.h"

/* Lines a batch; another command waits for no more than that. */
#define ORDERS_MOST 8192
#define MARKS_MOST  8192
/*
 * So often it is asked for again what waits until this machine needs it no more; where nothing waits, it may come back
 * with an image, or by `follow`.
 */
#define WAITS_MS 30000
#define NONE_MS	 600000

/* --- Who ---------------------------------------------------------------------------------------------------------- */

int members_begin(struct fleet_members *m, struct context *context, struct fleet_talk *talk, const char *own)
{
	*m = (struct fleet_members){ .context = context, .talk = talk, .any = -1 };
	snprintf(m->own, sizeof(m->own), "%s", own);
	m->orders = calloc(ORDERS_MOST, sizeof(*m->orders));
	m->marks = calloc(MARKS_MOST, sizeof(*m->marks));
	return m->orders && m->marks ? 0 : -ENOMEM;
}

static void forget(struct followed *f)
{
	free(f->seen);
	free(f);
}

void members_end(struct fleet_members *m)
{
	for (size_t i = 0; i < m->n; i++)
		forget(m->all[i]);
	free(m->all);
	free(m->orders);
	free(m->marks);
	*m = (struct fleet_members){ 0 };
}

static void no_snapshot(struct followed *f)
{
	free(f->seen);
	f->seen = NULL;
	f->seen_n = f->refused = 0;
	f->snapshot = f->whole = false;
}

void members_again(struct fleet_members *m)
{
	for (size_t i = 0; i < m->n; i++) {
		m->all[i]->told = m->all[i]->again = false;
		no_snapshot(m->all[i]);
	}
	m->any = -1;
	m->orders_n = m->marks_n = 0;
}

static int by_name(const void *key, const void *of)
{
	return strcmp(key, (*(struct followed *const *)of)->at.member);
}

static struct followed *find(const struct fleet_members *m, const char *name)
{
	struct followed **found = m->n ? bsearch(name, m->all, m->n, sizeof(*m->all), by_name) : NULL;

	return found ? *found : NULL;
}

/* NULL: it is none. */
static struct followed *find_or_add(struct fleet_members *m, const char *name)
{
	struct followed *f = find(m, name);
	size_t at = m->n;

	if (f || !member_name_is_sound(name, false) || !strcmp(name, m->own))
		return f;
	f = calloc(1, sizeof(*f));
	if (!f || !GROW(m->all, m->n)) {
		free(f);
		return NULL;
	}
	snprintf(f->at.member, sizeof(f->at.member), "%s", name);
	f->most = -1;
	for (; at && strcmp(m->all[at - 1]->at.member, name) > 0; at--)
		m->all[at] = m->all[at - 1];
	m->all[at] = f;
	m->n++;
	return f;
}

/* Whom no rule names is followed as long as there is room; what is beyond it is said, once. */
static struct followed *by_any(struct fleet_members *m, const char *name, bool is_new)
{
	struct followed *f = find(m, name);

	if (f || m->n < MEMBERS_MOST)
		return f ? f : find_or_add(m, name);
	if (!member_name_is_sound(name, false) || !strcmp(name, m->own))
		return NULL;
	/* Once for what it begins; lines of it may be on their way. */
	if (is_new)
		talk_say(m->talk, "unfollow\t%s", name);
	if (m->said_full)
		return NULL;
	m->said_full = true;
	warn("fleet: %s is one of more than %d members, and not followed: name those that matter (fleet accept NAME)",
	     name, MEMBERS_MOST);
	event(m->context, (struct event){ .kind = EVENT_FAULT },
	      "fleet: there are more than %d members; those beyond are not followed, unless a rule names them",
	      MEMBERS_MOST);
	return NULL;
}

/* Whom nobody named may have come by `any`: then it is followed from where its row says, if there is one. */
static void tell(struct fleet_members *m, struct followed *f, int64_t most)
{
	if (f->told && f->most == most)
		return;
	f->told = true;
	f->most = most;
	if (most < 0)
		talk_say(m->talk, "unfollow\t%s", f->at.member);
	else if (f->kept)
		talk_say(m->talk, "follow\t%s\t%s\t%lld\t%s\t%lld", f->at.member, *f->at.epoch ? f->at.epoch : "-",
			 (long long)f->at.n, *f->at.id ? f->at.id : "-", (long long)most);
	else
		talk_say(m->talk, "follow\t%s\t-\t0\t-\t%lld", f->at.member, (long long)most);
}

struct rules {
	struct member *members;
	size_t n;
	const struct member *any;
};

static int by_member(const void *name, const void *of)
{
	return strcmp(name, ((const struct member *)of)->name);
}

static int64_t most_of(const struct rules *r, const char *name)
{
	struct member none = { .rule = MEMBER_BY_ANY };
	const struct member *is = &none;
	const struct member_limits *limits;
	bool accepted;

	if (r->n)
		is = bsearch(name, r->members, r->n, sizeof(*r->members), by_member) ?: &none;
	limits = member_limits_of(is, r->any, &accepted);
	return accepted ? limits->entries : -1;
}

static int by_at(const void *name, const void *of)
{
	return strcmp(name, ((const struct fleet_at *)of)->member);
}

/* It is to be taken from the beginning, and so is what is on its way. */
static void take_again(struct fleet_members *m, struct followed *f)
{
	f->kept = false;
	f->again = f->told && f->most >= 0;
	if (f->again)
		talk_say(m->talk, "again\t%s", f->at.member);
}

/* What the state has of them. One whose row is gone is to be taken from the beginning. */
static int read_kept(struct fleet_members *m, struct state *state)
{
	struct fleet_at *at = NULL;
	size_t n = 0;
	int err = state_fleet_ats(state, &at, &n);

	for (size_t i = 0; i < m->n && !err; i++) {
		struct followed *f = m->all[i];

		if (f->kept && (!n || !bsearch(f->at.member, at, n, sizeof(*at), by_at)))
			take_again(m, f);
	}
	for (size_t i = 0; i < n && !err; i++) {
		struct followed *f = find_or_add(m, at[i].member);

		if (f) {
			f->at = at[i];
			f->kept = true;
		}
	}
	free(at);
	return err;
}

int members_expect(struct fleet_members *m, struct state *state)
{
	struct rules r = { 0 };
	int64_t any = -1;
	int err = read_kept(m, state) ?: state_members(state, &r.members, &r.n);

	if (err)
		return err;
	if (r.n && !strcmp(r.members->name, MEMBER_ANY))
		r.any = r.members;
	for (size_t i = 0; i < r.n; i++)
		if (r.members[i].rule != MEMBER_BY_ANY && &r.members[i] != r.any)
			find_or_add(m, r.members[i].name);
	for (size_t i = 0; i < m->n; i++)
		tell(m, m->all[i], most_of(&r, m->all[i]->at.member));
	any = r.any && r.any->rule == MEMBER_ACCEPTED ? r.any->limits.entries : -1;
	if (any != m->any && any >= 0)
		talk_say(m->talk, "any\t%lld", (long long)any);
	else if (any != m->any)
		talk_say(m->talk, "any\t-");
	m->any = any;
	free(r.members);
	return 0;
}

/* --- What they say ------------------------------------------------------------------------------------------------ */

static bool take_number(const char *text, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	return !errno && end != text && !*end;
}

static void bad(struct followed *f, const char *why)
{
	f->bad++;
	clean_copy(f->why, sizeof(f->why), why);
}

static bool take_prefix(const char *text, struct prefix *p)
{
	struct addr written;
	size_t n = strlen(text);

	return !prefix_parse(text, n, &p->first, &p->length) && !prefix_is_masked(text, n, p->first, &written);
}

static void order(struct fleet_members *m, struct followed *f, char *words[TALK_WORDS], bool del)
{
	struct ban_order *o = &m->orders[m->orders_n];
	int64_t left = 0;
	int err;

	*o = (struct ban_order){ .account = f->at.member, .del = del };
	if (!take_prefix(words[2], &o->prefix) || (!del && (!take_number(words[3], &left) || left < 0))) {
		bad(f, "a prefix or a time that is none");
		return;
	}
	err = del ? 0 : guard_told(o->prefix.first, o->prefix.length);
	if (err) {
		bad(f, reason(err));
		return;
	}
	/* What has half a second left has one. */
	o->ttl = left ? (double)((left - 1) / 1000 + 1) : 0;
	o->reason = *words[4] ? words[4] : NULL;
	m->orders_n++;
	if (!f->snapshot || !f->whole)
		return;
	if ((int64_t)f->seen_n > f->most || !GROW(f->seen, f->seen_n)) {
		f->whole = false;
		return;
	}
	f->seen[f->seen_n++] = o->prefix;
}

static bool take_at(struct fleet_at *at, const struct followed *f, const char *epoch, const char *n, const char *id)
{
	*at = f->at;
	if (strlen(epoch) >= sizeof(at->epoch) || strspn(epoch, "0123456789abcdef") != FLEET_EPOCH_MAX - 1 ||
	    strlen(id) >= sizeof(at->id) || id[strspn(id, "0123456789-")] || !take_number(n, &at->n) || at->n < 0 ||
	    at->n > FLEET_N_MOST)
		return false;
	snprintf(at->epoch, sizeof(at->epoch), "%s", epoch);
	snprintf(at->id, sizeof(at->id), "%s", id);
	return true;
}

static void mark(struct fleet_members *m, struct followed *f, const struct fleet_at *at, double latency, bool ends)
{
	m->marks[m->marks_n++] = (struct mark){
		.of = f, .at = *at, .after = m->orders_n, .latency = latency, .since = clock_seconds(), .ends = ends
	};
	f->heard = clock_ns(CLOCK_REALTIME) / 1000000;
	f->entries++;
}

static void at(struct fleet_members *m, struct followed *f, char *words[TALK_WORDS])
{
	struct fleet_at is;
	int64_t latency;

	if (!take_at(&is, f, words[2], words[3], words[4]))
		bad(f, "an end of a batch that is none");
	else
		mark(m, f, &is, take_number(words[5], &latency) && latency >= 0 ? (double)latency : 0, false);
}

static void snapshot_end(struct fleet_members *m, struct followed *f, char *words[TALK_WORDS])
{
	struct fleet_at is;

	if (!f->snapshot)
		return;
	if (!strcmp(words[2], "complete") && take_at(&is, f, words[3], words[4], words[5]))
		mark(m, f, &is, -1, true);
	else
		no_snapshot(f);
}

static void gap(struct followed *f, const char *why)
{
	f->gaps++;
	clean_copy(f->why, sizeof(f->why), why);
	note("fleet: %s: %s; all that it says is read again", f->at.member, f->why);
}

static void quiet(struct followed *f, const char *age)
{
	int64_t ms, now = clock_ns(CLOCK_REALTIME) / 1000000;

	if (take_number(age, &ms) && ms >= 0 && ms < now)
		f->heard = now - ms;
}

bool members_take(struct fleet_members *m, char *words[TALK_WORDS])
{
	static const char *const known[] = {
		"+", "-", "at", "snapshot", "snapshot-end", "gap", "bad", "quiet", "member"
	};
	struct followed *f;
	size_t what = 0;

	while (what < sizeof(known) / sizeof(*known) && strcmp(words[0], known[what]) != 0)
		what++;
	if (what == sizeof(known) / sizeof(*known))
		return false;
	f = by_any(m, words[1], what == 3 || what == 8);
	if (!f)
		return true;
	switch (what) {
	case 0:
	case 1:
		order(m, f, words, what == 1);
		break;
	case 2:
		at(m, f, words);
		break;
	case 3:
		no_snapshot(f);
		f->snapshot = f->whole = true;
		f->again = false;
		break;
	case 4:
		snapshot_end(m, f, words);
		break;
	case 5:
		gap(f, words[2]);
		break;
	case 6:
		bad(f, words[2]);
		break;
	case 7:
		quiet(f, words[2]);
		break;
	default:
		break;
	}
	return true;
}

/* What ends with a snapshot is seen once the snapshot itself is in force. */
bool members_full(const struct fleet_members *m)
{
	return m->orders_n == ORDERS_MOST || m->marks_n == MARKS_MOST || (m->marks_n && m->marks[m->marks_n - 1].ends);
}

/* --- Into force --------------------------------------------------------------------------------------------------- */

/* Where its row is gone, somebody wants it from the beginning: it is no end then, and nobody writes over that. */
static int keep_mark(struct fleet_members *m, struct state *state, const struct mark *mark)
{
	struct followed *f = mark->of;
	bool there = false;
	int err;

	if (f->again)
		return 0;
	err = f->kept ? state_fleet_at_move(state, &mark->at, &there) : state_fleet_at_put(state, &mark->at);
	if (!err && f->kept && !there)
		take_again(m, f);
	return err;
}

/* Those that are reached by the first n orders: the last of each member is kept. */
static int keep_marks(struct fleet_members *m, struct state *state, size_t n)
{
	int err = 0;

	for (m->marks_kept = 0; m->marks_kept < m->marks_n && m->marks[m->marks_kept].after <= n; m->marks_kept++)
		;
	for (size_t i = m->marks_kept; i-- > 0 && !err;) {
		if (!m->marks[i].of->marked && !m->marks[i].ends)
			err = keep_mark(m, state, &m->marks[i]);
		m->marks[i].of->marked = true;
	}
	for (size_t i = 0; i < m->marks_kept; i++)
		m->marks[i].of->marked = false;
	return err;
}

static int with(void *arg, struct change *change, size_t n)
{
	struct fleet_members *m = arg;

	return keep_marks(m, change->state, n);
}

static void refused(void *arg, size_t i, const char *why)
{
	struct fleet_members *m = arg;
	const struct ban_order *o = &m->orders[i];
	struct followed *f = find(m, o->account);

	if (f) {
		f->refused++;
		bad(f, why);
	}
}

static void done(void *arg, size_t n)
{
	(void)arg;
	(void)n;
}

/* Some of them may stand behind orders that a guard rail refused. */
static int keep_rest(struct fleet_members *m)
{
	struct state *state = NULL;
	int err = state_open(&state, m->context, true);

	err = err ?: keep_marks(m, state, SIZE_MAX) ?: state_commit(state);
	state_close(state);
	return err;
}

static void told(struct fleet_members *m, const struct mark *mark)
{
	struct followed *f = mark->of;

	if (!f->again) {
		f->at = mark->at;
		f->kept = true;
	}
	if (mark->latency >= 0)
		f->latency[f->latencies++ % LATENCIES] = (float)(mark->latency + (clock_seconds() - mark->since) * 1e3);
	talk_say(m->talk, "took\t%s\t%s", f->at.member, mark->at.id);
}

static int by_prefix(const void *a, const void *b)
{
	return prefix_order(a, b);
}

/* What a whole snapshot lacks is not said any more. */
static int absent(struct fleet_members *m, struct followed *f, struct ban_order **orders, size_t *n)
{
	struct state *state = NULL;
	struct member member;
	struct said *said = NULL;
	size_t said_n = 0;
	int err = state_open(&state, m->context, false) ?: state_member_get(state, f->at.member, &member);

	if (!err)
		err = state_said_by(state, member.id, &said, &said_n);
	state_close(state);
	if (err_is(err, ENOENT))
		err = 0;
	if (f->seen_n)
		qsort(f->seen, f->seen_n, sizeof(*f->seen), by_prefix);
	for (size_t i = 0; i < said_n && !err; i++) {
		struct prefix p = { said[i].ban.first, said[i].ban.length };

		if (f->seen_n && bsearch(&p, f->seen, f->seen_n, sizeof(p), by_prefix))
			continue;
		if (!GROW(*orders, *n))
			err = -ENOMEM;
		else
			(*orders)[(*n)++] = (struct ban_order){ .prefix = p, .account = f->at.member, .del = true };
	}
	free(said);
	return err;
}

/*
 * Its end is a transaction of its own: with what it lacks taken out, and only then how far it is. What found no room
 * before that has it now, and is asked for again.
 */
static int end_snapshot(struct fleet_members *m, const struct mark *mark)
{
	struct followed *f = mark->of;
	struct ban_order *orders = NULL, *batch = m->orders;
	size_t n = 0, lacked = f->refused;
	bool whole = f->whole;
	int err = whole ? absent(m, f, &orders, &n) : 0;

	m->marks[0] = *mark;
	m->marks[0].ends = false;
	m->marks[0].after = n;
	m->marks_n = 1;
	m->marks_kept = 0;
	m->orders = orders;
	if (!err && n)
		err = into_force(&m->force, orders, n);
	if (!err && !m->marks_kept)
		err = keep_rest(m);
	m->orders = batch;
	free(orders);
	no_snapshot(f);
	if (err)
		return err;
	told(m, &m->marks[0]);
	if (n && lacked)
		talk_say(m->talk, "again\t%s", f->at.member);
	return 0;
}

static void ask_soon(struct fleet_members *m)
{
	if (m->ask_at > clock_ms() + WAITS_MS)
		m->ask_at = clock_ms() + WAITS_MS;
}

int members_into_force(struct fleet_members *m)
{
	struct mark last = { 0 };
	size_t before;
	int err = 0;

	if (!m->orders_n && !m->marks_n)
		return 0;
	m->force = (struct into_force){ .context = m->context,
					.from = "fleet",
					.verb = "fleet",
					.with = with,
					.refused = refused,
					.done = done,
					.arg = m };
	if (m->marks_n && m->marks[m->marks_n - 1].ends)
		last = m->marks[m->marks_n - 1];
	m->marks_kept = 0;
	if (m->orders_n)
		err = into_force(&m->force, m->orders, m->orders_n);
	before = m->marks_n - (last.of != NULL);
	if (!err && m->marks_kept < before)
		err = keep_rest(m);
	for (size_t i = 0; i < before && !err; i++)
		told(m, &m->marks[i]);
	for (size_t i = 0; i < m->n; i++)
		m->all[i]->refused += m->all[i]->snapshot ? m->force.refused_n : 0;
	if (!err && last.of)
		err = end_snapshot(m, &last);
	m->orders_n = m->marks_n = 0;
	if (m->force.waits)
		ask_soon(m);
	return err;
}

/* It goes on waiting. */
static void needed_still(void *arg, size_t i, const char *why)
{
	(void)arg;
	(void)i;
	(void)why;
}

void members_ask_again(struct fleet_members *m)
{
	struct into_force f = {
		.context = m->context, .from = "fleet", .verb = "fleet", .refused = needed_still, .done = done
	};
	struct state *state = NULL;
	struct waiting *waiting = NULL;
	struct ban_order *orders = NULL;
	size_t n = 0, over = 0;
	int err = state_open(&state, m->context, false) ?: waiting_read(state, &waiting, &n);

	state_close(state);
	m->ask_at = clock_ms() + (err || n ? WAITS_MS : NONE_MS);
	for (size_t i = 0; i < n && !err; i++) {
		if (waiting[i].need[0])
			continue;
		if (!GROW(orders, over))
			err = -ENOMEM;
		else
			orders[over++] = (struct ban_order){ .prefix = waiting[i].prefix,
							     .account = waiting[i].member,
							     .again = true };
	}
	if (!err && over)
		err = into_force(&f, orders, over);
	if (err && !stop_asked)
		note("fleet: what waits until this machine needs it no more cannot be asked for: %s", reason(err));
	free(orders);
	free(waiting);
}

/* --- What was seen ------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measured(const struct followed *f, struct member_seen *s)
{
	float sorted[LATENCIES];
	size_t n = f->latencies < LATENCIES ? f->latencies : LATENCIES;

	s->p50 = s->p99 = -1;
	if (!n)
		return;
	memcpy(sorted, f->latency, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	s->p50 = (double)sorted[n / 2];
	s->p99 = (double)sorted[n * 99 / 100];
}

int members_seen(const struct fleet_members *m, struct member_seen **seen, size_t *n)
{
	struct member_seen *all = calloc(m->n + 1, sizeof(*all));

	*seen = all;
	*n = 0;
	for (size_t i = 0; all && i < m->n; i++) {
		const struct followed *f = m->all[i];
		struct member_seen *s = &all[(*n)++];

		memcpy(s->name, f->at.member, sizeof(s->name));
		memcpy(s->why, f->why, sizeof(s->why));
		s->heard = f->heard;
		s->entries = f->entries;
		s->gaps = f->gaps;
		s->bad = f->bad;
		measured(f, s);
	}
	return all ? 0 : -ENOMEM;
}
