// SPDX-License-Identifier: GPL-2.0-only
/* fleet: what the members of a fleet say, what each may, and what this machine makes of it */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/span.h"
#include "change/change.h"
#include "verbs/verbs.h"

struct options {
	struct number entries, ttl, quorum;
	const char *wide, *rate;
	bool shadow;
};

const struct option_spec fleet_options[] = {
	{ "max-entries", .type = OPTION_WHOLE, AT(options, entries), .value = "N", .least = 0,
	  .most = MEMBER_ENTRIES_MOST, .does = "of accept: so many bans at a time (100000)" },
	{ "max-ttl", .type = OPTION_TIME, AT(options, ttl), .value = "TIME", .least = 1, .most = MEMBER_TTL_MOST,
	  .does = "longer ones are shortened to that (1d)" },
	{ "prefix-at-least", .type = OPTION_TEXT, AT(options, wide), .value = "/N[,/N]",
	  .does = "none wider, and of IPv6 (/24,/48)" },
	{ "rate", .type = OPTION_TEXT, AT(options, rate), .value = "N/s",
	  .does = "so many a second, after the first N (1000/s)" },
	{ "quorum", .type = OPTION_WHOLE, AT(options, quorum), .value = "N", .least = 1, .most = MEMBER_QUORUM_MOST,
	  .does = "in force once so many members say it (1)" },
	{ "shadow", AT(options, shadow), .does = "its bans are kept and shown, and drop nothing" },
	OPTIONS_END(struct options),
};

/* --- accept, refuse, forget --------------------------------------------------------------------------------------- */

static bool take_length(const char **at, unsigned int most, unsigned int *length)
{
	char *end;
	unsigned long n;

	*at += **at == '/';
	n = strtoul(*at, &end, 10);
	if (end == *at || **at < '0' || **at > '9' || n > most)
		return false;
	*length = (unsigned int)n;
	*at = end;
	return true;
}

static int read_wide(const char *text, unsigned int wide[2])
{
	const char *at = text;
	bool read = take_length(&at, 32, &wide[0]);

	if (read && *at == ',') {
		at++;
		read = take_length(&at, 128, &wide[1]);
	}
	return read && !*at ? 0
			    : because(-EINVAL,
				      "--prefix-at-least '%s': a length of IPv4, and of IPv6 behind a comma, as in"
				      " /24 or /24,/48",
				      text);
}

static int read_rate(const char *text, double *rate)
{
	char *end;

	*rate = strtod(text, &end);
	if (end != text && (!*end || !strcmp(end, "/s")) && *rate >= 0.001 && *rate <= MEMBER_RATE_MOST)
		return 0;
	return because(-EINVAL, "--rate '%s': bans a second, up to a million, as in 100/s", text);
}

static int limits_asked(const struct options *o, struct member_limits *limits)
{
	int err = 0;

	*limits = member_limits_default;
	if (o->entries.given)
		limits->entries = (int64_t)o->entries.value;
	if (o->ttl.given)
		limits->ttl = (int64_t)o->ttl.value;
	if (o->quorum.given)
		limits->quorum = (unsigned int)o->quorum.value;
	limits->shadow = o->shadow;
	if (o->wide)
		err = read_wide(o->wide, limits->wide);
	if (!err && o->rate)
		err = read_rate(o->rate, &limits->rate);
	return err;
}

static bool is_same(const struct member *m, const struct member_limits *limits)
{
	if (!limits)
		return m->rule == MEMBER_REFUSED;
	return m->rule == MEMBER_ACCEPTED && m->limits.entries == limits->entries && m->limits.ttl == limits->ttl &&
	       m->limits.wide[0] == limits->wide[0] && m->limits.wide[1] == limits->wide[1] &&
	       m->limits.rate == limits->rate && m->limits.shadow == limits->shadow &&
	       m->limits.quorum == limits->quorum;
}

/* limits NULL: it is refused from now on. */
static int rule(const struct call *call, const struct member_limits *limits)
{
	const char *name = call->operands[1];
	struct change *change = NULL;
	struct member before;
	int err = change_begin(&change, call->context) ?: state_member_get(change->state, name, &before);

	if (err_is(err, ENOENT))
		err = 0;
	else if (!err && is_same(&before, limits))
		call->context->unchanged = true;
	if (!err && !call->context->unchanged)
		err = account_rule(change, name, limits) ?: change_commit(change, NULL);
	change_end(change);
	return err ? fail("fleet: %s; nothing was changed", reason(err)) : out_done(call->context);
}

static int forget(const struct call *call)
{
	const char *name = call->operands[1];
	struct change *change = NULL;
	size_t n = 0;
	int err = change_begin(&change, call->context);

	if (!err)
		change_bans_less(change);
	err = err ?: account_forget(change, name, &n);
	if (err_is(err, ENOENT))
		err = because(-ENOENT, "nothing was heard of a member '%s'", name);
	err = err ?: change_commit(change, NULL);
	change_end(change);
	if (err)
		return fail("fleet: %s; nothing was changed", reason(err));
	if (call->context->json)
		return out_json(call->context,
				json_pack("{s:I, s:I}", "generation", (json_int_t)call->context->generation,
					  "forgotten", (json_int_t)n));
	if (!call->context->quiet)
		out_line("%zu bans of %s are forgotten; what it says from now on is taken as before (fleet refuse %s)",
			 n, name, name);
	return out_end();
}

/* --- What there is ------------------------------------------------------------------------------------------------ */

struct shown {
	const struct member *is;
	const struct member_limits *limits;
	bool accepted;
	int64_t held;
};

static const char *rule_word(const struct shown *s)
{
	if (!s->accepted)
		return s->is->rule == MEMBER_REFUSED ? "refused" : "none";
	return s->limits->shadow ? "shadow" : "accepted";
}

static json_t *limits_json(const struct member_limits *l)
{
	return json_pack("{s:I, s:I, s:i, s:i, s:f, s:b, s:i}", "max_entries", (json_int_t)l->entries, "max_ttl",
			 (json_int_t)l->ttl, "prefix4_at_least", (int)l->wide[0], "prefix6_at_least", (int)l->wide[1],
			 "rate", l->rate, "shadow", l->shadow, "quorum", (int)l->quorum);
}

static json_t *member_json(const struct shown *s)
{
	const struct member *m = s->is;
	char heard[UTC_TEXT_MAX];

	return json_pack("{s:s, s:s, s:b, s:o, s:I, s:o, s:I, s:I, s:I, s:o}", "member", m->name, "rule", rule_word(s),
			 "own_rule", m->rule != MEMBER_BY_ANY, "limits",
			 s->accepted ? limits_json(s->limits) : json_null(), "bans", (json_int_t)s->held, "last_word",
			 m->heard ? json_string(utc_text(heard, m->heard)) : json_null(), "taken", (json_int_t)m->taken,
			 "ended", (json_int_t)m->ended, "refused", (json_int_t)m->refused, "refused_last",
			 m->why[0] ? out_text(m->why) : json_null());
}

static void member_text(const struct shown *s, int64_t now)
{
	const struct member *m = s->is;
	char ago[SPAN_TEXT_MAX] = "-";

	if (m->heard)
		span_text(ago, now > m->heard ? now - m->heard : 0);
	printf("%-32s %-9s %9lld %10lld %10lld %10lld  %s\n", m->name, rule_word(s), (long long)s->held,
	       (long long)m->taken, (long long)m->ended, (long long)m->refused, ago);
	if (m->why[0])
		printf("  refused last: %s\n", m->why);
}

static int print(const struct context *context, struct state *state, const struct member *members, size_t n)
{
	const struct member *any = n && !strcmp(members->name, MEMBER_ANY) ? members : NULL;
	json_t *array = context->json ? json_array() : NULL;
	struct said_count *counts = NULL;
	int64_t now = time(NULL);
	size_t counts_n = 0;
	int err = state_said_counts(state, &counts, &counts_n);

	if (!err && !array && n)
		printf("%-32s %-9s %9s %10s %10s %10s  %s\n", "MEMBER", "RULE", "BANS", "TAKEN", "ENDED", "REFUSED",
		       "LAST WORD");
	for (size_t i = 0; i < n && !err; i++) {
		struct shown s = { .is = &members[i] };

		s.limits = member_limits_of(&members[i], any, &s.accepted);
		for (size_t k = 0; k < counts_n; k++)
			if (counts[k].member == members[i].id)
				s.held = counts[k].n;
		if (array)
			json_array_append_new(array, member_json(&s));
		else
			member_text(&s, now);
	}
	free(counts);
	if (err) {
		json_decref(array);
		return fail("fleet: %s", reason(err));
	}
	if (array)
		return out_json(context, json_pack("{s:o}", "members", array));
	if (!n)
		puts("no member is accepted; as in: xdp-bloom fleet accept edge-7");
	return out_end();
}

static int show(const struct context *context)
{
	struct state *state = NULL;
	struct member *members = NULL;
	size_t n = 0;
	int err = state_open(&state, context, false) ?: state_members(state, &members, &n), status;

	status = err ? fail("fleet: %s", reason(err)) : print(context, state, members, n);
	free(members);
	state_close(state);
	return status;
}

static bool any_option(const struct options *o)
{
	return o->entries.given || o->ttl.given || o->quorum.given || o->wide || o->rate || o->shadow;
}

int verb_fleet(const struct call *call)
{
	const struct options *o = call->options;
	const char *what = call->n ? call->operands[0] : "";
	bool accepts = !strcmp(what, "accept"), refuses = !strcmp(what, "refuse"), forgets = !strcmp(what, "forget");
	struct member_limits limits;
	int err;

	if (!accepts && any_option(o))
		return fail("fleet: these options are for accept");
	if (!call->n)
		return show(call->context);
	if ((!accepts && !refuses && !forgets) || call->n < 2)
		return fail("fleet: %s", call->verb->asks);
	if (!member_name_is_sound(call->operands[1], !forgets))
		return fail("fleet: '%s': a member is called by up to %d letters, digits, and ._-%s", call->operands[1],
			    MEMBER_NAME_MAX - 1, forgets ? "" : "; * is whoever has no rule of its own");
	if (forgets)
		return forget(call);
	err = accepts ? limits_asked(o, &limits) : 0;
	return err ? fail("fleet: %s", reason(err)) : rule(call, accepts ? &limits : NULL);
}
