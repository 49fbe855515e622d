// SPDX-License-Identifier: GPL-2.0-only
#include "change/jail.h"

#include <endian.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/grow.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/span.h"
#include "base/state_path.h"
#include "bpf/detect.h"
#include "change/change.h"
#include "change/ends.h"
#include "change/guard_rails.h"
#include "change/own_addresses.h"
#include "kernel/detect_in_force.h"
#include "kernel/detect_seen.h"
#include "state/events.h"
#include "state/limits.h"
#include "state/strikes.h"
#include "state/until.h"

static struct prefix prefix_of(const struct suspect_seen *suspect)
{
	if (MARK_KIND(suspect->mark) == SUSPECT_IPV4)
		return (struct prefix){ { suspect->key, 4 }, 32 };
	return (struct prefix){ { (ip6)suspect->key << 64, 6 }, 64 };
}

static int jailed_set(const struct seen *seen, struct ranges *set)
{
	int err = 0;

	for (size_t i = 0; i < seen->n && !err; i++)
		if (seen_banned(seen, &seen->suspect[i])) {
			struct prefix p = prefix_of(&seen->suspect[i]);

			err = ranges_add_prefix(set, p.first, p.length);
		}
	return err ?: ranges_finish(set);
}

int jail_set(const struct context *context, struct ranges *set)
{
	struct seen seen;
	int err;

	*set = RANGES_EMPTY;
	err = kernel_seen(context, &seen);
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	err = jailed_set(&seen, set);
	seen_free(&seen);
	return err;
}

bool jail_has(const struct context *context, struct addr first, unsigned int length)
{
	struct ranges set;
	bool has = !jail_set(context, &set) && ranges_touch(&set, first, length);

	ranges_free(&set);
	return has;
}

int jail_let_go(struct change *change, struct addr first, unsigned int length)
{
	return ranges_add_prefix(&change->jail.let_go, first, length);
}

int jail_all(const struct context *context, struct prefix **at, size_t *n)
{
	struct seen seen;
	int err = kernel_seen(context, &seen);

	*at = err ? NULL : calloc(seen.n + 1, sizeof(**at));
	*n = 0;
	for (size_t i = 0; *at && i < seen.n; i++)
		if (seen_banned(&seen, &seen.suspect[i]))
			(*at)[(*n)++] = prefix_of(&seen.suspect[i]);
	seen_free(&seen);
	return err ?: *at ? 0 : -ENOMEM;
}

/* --- What may not be banned -----------------------------------------------------------------------------------------
 */

struct moving {
	struct change *change;
	struct ladder ladder;
	int64_t now;
	struct seen seen;
	struct ranges jailed, allowed;
	const struct ranges *only, *needed;
	struct own_address *needs; /* of whom the detector bans */
	size_t needs_n;
};

static bool is_jailed(const void *arg, struct addr addr)
{
	return ranges_covering(arg, addr) >= 0;
}

static const struct own_address *need_of(const struct moving *m, const struct prefix *p)
{
	for (size_t i = 0; i < m->needs_n; i++)
		if (m->needs[i].addr.family == p->first.family &&
		    !((m->needs[i].addr.num ^ p->first.num) & ~addr_mask(p->first.family, p->length)))
			return &m->needs[i];
	return NULL;
}

/* By which prefix it is judged. */
static struct prefix judged(const struct end_key *key)
{
	ip6 first = be32toh(key->addr[0]);

	if (key->family == 4)
		return (struct prefix){ { first, 4 }, 32 };
	return (struct prefix){ { (first << 32 | be32toh(key->addr[1])) << 64, 6 }, 64 };
}

static bool is_spared_still(const struct ranges *needs, const struct prefix *p)
{
	return ranges_touch(needs, p->first, p->length) || guard_prefix(p->first, p->length);
}

/* What this machine needed, as this generation was built or since, and needs no more. */
static int end_spared(struct state *state, const struct context *context)
{
	struct ranges spared = RANGES_EMPTY, needs = RANGES_EMPTY;
	struct own_address *own = NULL;
	struct end_key *keys;
	size_t n, own_n = 0, ended = 0;
	int err = kernel_spared(context, &keys, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct prefix p = judged(&keys[i]);

		err = ranges_add_prefix(&spared, p.first, p.length);
	}
	err = err ?: ranges_finish(&spared) ?: own_addresses(state, false, is_jailed, &spared, &own, &own_n);
	for (size_t i = 0; i < own_n && !err; i++)
		err = ranges_add_prefix(&needs, own[i].addr, addr_width(own[i].addr.family));
	err = err ?: ranges_finish(&needs);
	for (size_t i = 0; i < n && !err; i++) {
		struct prefix p = judged(&keys[i]);

		if (!is_spared_still(&needs, &p))
			keys[ended++] = keys[i];
	}
	err = err ?: kernel_unspare(context, keys, ended);
	ranges_free(&spared);
	ranges_free(&needs);
	free(own);
	free(keys);
	return err;
}

static int spare_needs(struct moving *m, struct state *state, const struct context *context, struct ranges *needed)
{
	struct spared *who = NULL;
	size_t n = 0;
	int err = 0, let_go;

	for (size_t i = 0; i < m->seen.n && !err; i++) {
		struct prefix p = prefix_of(&m->seen.suspect[i]);
		const struct own_address *need = need_of(m, &p);

		if (!seen_banned(&m->seen, &m->seen.suspect[i]) || !need)
			continue;
		if (!GROW(who, n)) {
			err = -ENOMEM;
			break;
		}
		who[n++] = (struct spared){ end_key_of(p.first, p.length), need->guest };
		err = ranges_add_prefix(needed, p.first, p.length);
	}
	err = err ?: ranges_finish(needed);
	/* In this order: a packet in between would have them banned again, as it has those who find no room. */
	if (n && !err) {
		err = kernel_spare(context, who, n);
		if (err_is(err, ENOSPC))
			err = end_spared(state, context) ?: kernel_spare(context, who, n);
		let_go = kernel_unjail_set(context, needed);
		err = err ?: let_go;
	}
	free(who);
	return err;
}

int jail_spare(const struct context *context, struct ranges *needed)
{
	struct moving m = { 0 };
	struct state *state = NULL;
	int err = kernel_seen(context, &m.seen);
	bool some, ends;

	*needed = RANGES_EMPTY;
	if (err_is(err, ENOENT))
		return 0;
	err = err ?: jailed_set(&m.seen, &m.jailed);
	some = !err && (m.jailed.n4 || m.jailed.n6);
	ends = !err && seen_spared(&m.seen);
	if (some || ends)
		err = state_open(&state, context, false);
	if (some && !err)
		err = own_addresses(state, false, is_jailed, &m.jailed, &m.needs, &m.needs_n)
			      ?: spare_needs(&m, state, context, needed);
	if (ends && !err)
		err = end_spared(state, context);
	state_close(state);
	free(m.needs);
	ranges_free(&m.jailed);
	seen_free(&m.seen);
	return err;
}

void jail_spare_alone(const struct context *context)
{
	struct ranges needed;
	char text[PREFIX_TEXT_MAX];
	int err;

	if (lock_is_held(context->state, STATE_SERVICE_LOCK))
		return;
	err = jail_spare(context, &needed);
	for (size_t i = 0; i < needed.n4 && !err; i++)
		for (uint64_t at = needed.v4[i].lo; at <= needed.v4[i].hi; at++)
			warn("%s: the detector banned it, and this machine needs it: it is let go",
			     prefix_text(text, (struct addr){ at, 4 }, -1));
	for (size_t i = 0; i < needed.n6 && !err; i++)
		for (ip6 at = needed.v6[i].lo >> 64; at <= needed.v6[i].hi >> 64; at++)
			warn("%s: the detector banned it, and this machine needs it: it is let go",
			     prefix_text(text, (struct addr){ at << 64, 6 }, 64));
	if (err)
		warn("what the detector bans by itself stays banned until that ends: %s", reason(err));
	ranges_free(&needed);
}

/* False: nothing is in its way. */
static bool is_refused(const struct moving *m, const struct prefix *p, char why[256])
{
	const struct own_address *need = need_of(m, p);
	char host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];
	int err = need ? 0 : guard_prefix(p->first, p->length);

	if (need)
		snprintf(why, 256, "this machine needs %s, %s", prefix_text(host, need->addr, -1),
			 own_text(what, need));
	else if (err)
		snprintf(why, 256, "%s", reason(err));
	return need || err;
}

/* The detector is told each time; it is said once an hour, or to who has strikes, which stay. */
static int refuse(struct moving *m, const struct prefix *p, const char *why)
{
	const struct own_address *need = need_of(m, p);
	struct jail *jail = &m->change->jail;
	struct strike strike;
	int err = state_strike_get(m->change->state, p->first, p->length, &strike);
	bool is_new = err_is(err, ENOENT);

	if (err && !is_new)
		return err;
	if (!GROW(jail->spared, jail->spared_n))
		return -ENOMEM;
	jail->spared[jail->spared_n++] = (struct spared){ end_key_of(p->first, p->length), need && need->guest };
	if (!is_new && !strike.strikes && m->now >= strike.ended && m->now - strike.ended < STRIKE_SAID)
		return 0;
	if (!GROW(jail->refused, jail->refused_n))
		return -ENOMEM;
	jail->refused[jail->refused_n] = (struct refused){ .first = p->first, .length = p->length };
	snprintf(jail->refused[jail->refused_n++].why, sizeof(jail->refused->why), "%s", why);
	if (!is_new && strike.strikes)
		return 0;
	return state_strike_put(m->change->state, &(struct strike){ p->first, p->length, 0, m->now });
}

/* --- What is banned ------------------------------------------------------------------------------------------------
 */

/* "detector: syn, 41.2k/s for 3s, 123600 packets; strike 2" */
static void write_reason(char text[BAN_REASON_MAX], const struct moving *m, const struct suspect_seen *suspect,
			 unsigned int strikes)
{
	const struct suspect *is = &suspect->is;
	__u64 lasted = is->over_at > is->since ? is->over_at - is->since : 0;
	double seconds = (double)(lasted > m->seen.with.tick ? lasted : m->seen.with.tick) / 1e9;
	enum packet_class of = CLASS_PACKETS;
	char rate[LIMIT_TEXT_MAX], span[SPAN_TEXT_MAX];
	size_t n = (size_t)snprintf(text, BAN_REASON_MAX, BAN_BY_DETECTOR);

	/* The most special one of them is the one that says most. */
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (is->banned_for & 1ULL << class) {
			n += (size_t)snprintf(text + n, BAN_REASON_MAX - n, "%s, ", limit_names[class]);
			of = class;
		}
	if (seconds < 1)
		snprintf(span, sizeof(span), "%.2gs", seconds);
	else
		span_text(span, (int64_t)(seconds + 0.5));
	n += (size_t)snprintf(text + n, BAN_REASON_MAX - n, "%s for %s, %llu packets",
			      limit_text(rate, of, (double)is->count[of] / seconds), span,
			      (unsigned long long)is->count[of == CLASS_BYTES ? CLASS_PACKETS : of]);
	if (strikes > 1)
		snprintf(text + n, BAN_REASON_MAX - n, "; strike %u", strikes);
}

static double draw(void)
{
	uint32_t random = UINT32_MAX / 2;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		note("no random number: bans of one step end together");
	return random * 0x1p-32;
}

static int strikes_now(struct moving *m, const struct prefix *p, unsigned int *strikes)
{
	struct strike before;
	int err = state_strike_get(m->change->state, p->first, p->length, &before);

	*strikes = err ? 0 : ladder_left(&m->ladder, before.strikes, before.ended, m->now);
	*strikes += *strikes < m->ladder.n;
	return err_is(err, ENOENT) ? 0 : err;
}

static int plan_ban(struct moving *m, const struct suspect_seen *suspect, const struct prefix *p, struct jailed *one)
{
	int64_t seconds;
	int err;

	*one = (struct jailed){ .ban = { .first = p->first, .length = p->length, .added = m->now } };
	err = strikes_now(m, p, &one->strikes);
	if (err)
		return err;
	seconds = ladder_seconds(&m->ladder, one->strikes, draw());
	one->ban.expires = m->now + seconds;
	one->ban.due = clock_boot() + seconds * 1000000000;
	write_reason(one->ban.reason, m, suspect, one->strikes);
	return 0;
}

/* One on trial that ends later stays in force as long as it waits. */
static int put_ban(struct change *change, const struct ban *ban)
{
	struct ban own;
	int err = account_own(change->state, ban->first, ban->length, &own);

	if (err && !err_is(err, ENOENT))
		return err;
	err = !err && ban_in_force(&own, ban->added) && ban_ends_later(&own, ban)
		      ? change_touch(change, ban->first, ban->length)
		      : account_own_put(change, ban);
	return err ?: state_ban_stays(change->state, ban);
}

static int ban(struct moving *m, const struct jailed *one)
{
	struct jail *jail = &m->change->jail;
	const struct ban *is = &one->ban;

	if (!GROW(jail->at, jail->n))
		return -ENOMEM;
	jail->at[jail->n++] = *one;
	return put_ban(m->change, is)
		       ?: state_strike_put(m->change->state,
					   &(struct strike){ is->first, is->length, one->strikes, is->expires });
}

static int move_one(struct moving *m, const struct suspect_seen *suspect)
{
	struct prefix p = prefix_of(suspect);
	int allowed = ranges_covering(&m->allowed, p.first), held;
	struct jailed one;
	char why[256];

	if (allowed >= 0 && allowed <= (int)p.length)
		return 0;
	held = plan_ban(m, suspect, &p, &one) ?: state_ban_held(m->change->state, &one.ban, m->now);
	if (held)
		return held < 0 ? held : 0;
	return is_refused(m, &p, why) ? refuse(m, &p, why) : ban(m, &one);
}

/* Who was let go before, and is needed still. */
static int say_needed(struct moving *m, struct addr first, unsigned int length)
{
	struct prefix p = { first, length };
	char why[256];

	return need_of(m, &p) && is_refused(m, &p, why) ? refuse(m, &p, why) : 0;
}

static int say_all_needed(struct moving *m)
{
	const struct ranges *set = m->needed;
	int err = 0;

	for (size_t i = 0; set && i < set->n4; i++)
		for (uint64_t at = set->v4[i].lo; at <= set->v4[i].hi && !err; at++)
			err = say_needed(m, (struct addr){ at, 4 }, 32);
	for (size_t i = 0; set && i < set->n6; i++)
		for (ip6 at = set->v6[i].lo >> 64; at <= set->v6[i].hi >> 64 && !err; at++)
			err = say_needed(m, (struct addr){ at << 64, 6 }, 64);
	return err;
}

static int move_all(struct moving *m)
{
	const struct suspect_seen *last = NULL;
	struct state *state = m->change->state;
	int err = state_allowed_staying(state, &m->allowed) ?:
		  own_addresses(state, false, is_jailed, &m->jailed, &m->needs, &m->needs_n) ?:
		  state_strikes_fall(state, &m->ladder, m->now) ?:
		  say_all_needed(m);

	for (size_t i = 0; i < m->seen.n && !err; i++) {
		const struct suspect_seen *one = &m->seen.suspect[i];
		struct prefix p = prefix_of(one);

		/* One source by two interfaces is one ban. */
		if (!seen_banned(&m->seen, one) || (last && seen_same_source(last, one)) ||
		    (m->only && ranges_covering(m->only, p.first) < 0))
			continue;
		err = move_one(m, one) ?: jail_let_go(m->change, p.first, p.length);
		last = one;
	}
	return err ?: state_strikes_bound(state);
}

/* Those that were let go before, too: of whom is it asked whether this machine needs them? */
static int add_needed(struct moving *m)
{
	struct ranges either = RANGES_EMPTY;
	int err = m->needed ? ranges_union(&either, &m->jailed, m->needed) : 0;

	if (!err && m->needed) {
		ranges_free(&m->jailed);
		m->jailed = either;
	}
	return err;
}

int jail_move(struct change *change, const struct ranges *only, const struct ranges *needed)
{
	struct moving m = { .change = change, .now = time(NULL), .only = only, .needed = needed };
	int err = kernel_seen(change->context, &m.seen);

	if (err_is(err, ENOENT))
		return 0;
	err = err ?: jailed_set(&m.seen, &m.jailed) ?: add_needed(&m) ?: state_ladder(change->state, m.ladder.seconds, &m.ladder.n);
	if (!err && (m.jailed.n4 || m.jailed.n6))
		err = move_all(&m);
	ranges_free(&m.jailed);
	ranges_free(&m.allowed);
	free(m.needs);
	seen_free(&m.seen);
	return err;
}

/* --- What is said of it ---------------------------------------------------------------------------------------------
 */

/* An event is a line, and so many of them have room in it. */
#define SAID_MOST 8

static json_t *bans_json(const struct jail *jail)
{
	json_t *array = json_array();

	for (size_t i = 0; i < jail->n && i < SAID_MOST; i++) {
		const struct jailed *one = &jail->at[i];
		char text[PREFIX_TEXT_MAX], until[UTC_TEXT_MAX];

		prefix_text(text, one->ban.first, (int)one->ban.length);
		json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:i}", "prefix", text, "reason",
						       one->ban.reason, "expires", utc_text(until, one->ban.expires),
						       "strikes", (int)one->strikes));
	}
	return array;
}

static void say_banned(const struct context *context, const struct jail *jail, unsigned long long generation)
{
	struct event what = { .kind = EVENT_BAN, .generation = generation };
	const struct ban *first = &jail->at->ban;
	char text[PREFIX_TEXT_MAX], span[SPAN_TEXT_MAX];

	what.more = json_pack("{s:I, s:o}", "bans", (json_int_t)jail->n, "banned", bans_json(jail));
	prefix_text(text, first->first, (int)first->length);
	span_text(span, first->expires - first->added);
	if (jail->n == 1)
		event(context, what, "%s for %s: %s", text, span, first->reason);
	else
		event(context, what, "%zu sources, among them %s for %s: %s", jail->n, text, span, first->reason);
}

void jail_made(const struct context *context, struct jail *jail, unsigned long long generation)
{
	char text[PREFIX_TEXT_MAX];
	int err, let_go;

	if (jail->n)
		say_banned(context, jail, generation);
	for (size_t i = 0; i < jail->refused_n; i++)
		event(context, (struct event){ .kind = EVENT_GUARD, .generation = generation },
		      "the detector does not ban %s: %s",
		      prefix_text(text, jail->refused[i].first, (int)jail->refused[i].length), jail->refused[i].why);
	/* In this order: a packet in between would have them banned again. */
	err = kernel_spare(context, jail->spared, jail->spared_n);
	let_go = ranges_finish(&jail->let_go) ?: kernel_unjail_set(context, &jail->let_go);
	err = err ?: let_go;
	if (err)
		warn("what the detector bans by itself stays banned until that ends: %s", reason(err));
}

void jail_free(struct jail *jail)
{
	ranges_free(&jail->let_go);
	free(jail->at);
	free(jail->refused);
	free(jail->spared);
	*jail = (struct jail){ 0 };
}
