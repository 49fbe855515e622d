// SPDX-License-Identifier: GPL-2.0-only
/* fleet: what each member of a fleet may, and what this machine makes of it */
#include <math.h>

#include "change/change.h"
#include "fleet/request.h"
#include "verbs/fleet.h"
#include "verbs/verbs.h"

const struct option_spec fleet_options[] = {
	{ "max-entries", .type = OPTION_WHOLE, AT(fleet_verb_options, entries), .value = "N", .least = 0,
	  .most = MEMBER_ENTRIES_MOST, .does = "of accept: so many bans at a time (100000)" },
	{ "max-ttl", .type = OPTION_TIME, AT(fleet_verb_options, ttl), .value = "TIME", .least = 1,
	  .most = MEMBER_TTL_MOST, .does = "longer ones are shortened to that (1d)" },
	{ "prefix-at-least", .type = OPTION_TEXT, AT(fleet_verb_options, wide), .value = "/N[,/N]",
	  .does = "none wider, and of IPv6 (/24,/48)" },
	{ "rate", .type = OPTION_TEXT, AT(fleet_verb_options, rate), .value = "N/s",
	  .does = "so many a second, after the first N (1000/s)" },
	{ "quorum", .type = OPTION_WHOLE, AT(fleet_verb_options, quorum), .value = "N", .least = 1,
	  .most = MEMBER_QUORUM_MOST, .does = "in force once so many members say it (1)" },
	{ "shadow", AT(fleet_verb_options, shadow), .does = "its bans are kept and shown, and drop nothing" },
	{ "as", .type = OPTION_TEXT, AT(fleet_verb_options, as), .value = "NAME",
	  .does = "join: what this machine is called there" },
	{ "say", .type = OPTION_TEXT, AT(fleet_verb_options, say), .value = "WHICH",
	  .does = "join: add, detector, or a reason's beginning (all)" },
	{ "user", .type = OPTION_TEXT, AT(fleet_verb_options, user), .value = "USER" },
	{ "password-file", .type = OPTION_FILE, AT(fleet_verb_options, password_file), .value = "FILE",
	  .does = "join: the server asks for them" },
	{ "ca", .type = OPTION_FILE, AT(fleet_verb_options, ca), .value = "FILE" },
	{ "server-user", .type = OPTION_TEXT, AT(fleet_verb_options, server_user), .value = "NAME",
	  .does = "join: which server is believed" },
	{ "prefix", .type = OPTION_TEXT, AT(fleet_verb_options, prefix), .value = "TEXT" },
	{ "read", .type = OPTION_TEXT, AT(fleet_verb_options, read), .value = "URL" },
	{ "pace", .type = OPTION_TIME, AT(fleet_verb_options, pace), .least = 0.001, .most = FLEET_PACE_MOST / 1000,
	  .value = "TIME", .does = "join: see the manual page" },
	OPTIONS_END(struct fleet_verb_options),
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

static int limits_asked(const struct fleet_verb_options *o, struct member_limits *limits)
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

static bool any_option(const struct fleet_verb_options *o)
{
	return o->entries.given || o->ttl.given || o->quorum.given || o->wide || o->rate || o->shadow;
}

static bool any_of_join(const struct fleet_verb_options *o)
{
	return o->as || o->say || o->user || o->password_file || o->ca || o->read || o->server_user || o->pace.given;
}

/* NULL: it is none of these. */
static const char *other(const struct call *call, const struct fleet_verb_options *o, const char *what, int *status)
{
	static const char *const words[] = { "join", "leave", "resync", "acl", "init", "run" };
	size_t i = 0;

	while (i < sizeof(words) / sizeof(*words) && strcmp(what, words[i]) != 0)
		i++;
	switch (i) {
	case 0:
		*status = fleet_join(call, o);
		break;
	case 1:
		*status = fleet_leave(call);
		break;
	case 2:
		*status = fleet_resync(call);
		break;
	case 3:
		*status = fleet_print_acl(call, o);
		break;
	case 4:
		*status = fleet_init(call);
		break;
	case 5:
		*status = fleet_take_part(call);
		break;
	default:
		return NULL;
	}
	return words[i];
}

int verb_fleet(const struct call *call)
{
	const struct fleet_verb_options *o = call->options;
	const char *what = call->n ? call->operands[0] : "";
	bool accepts = !strcmp(what, "accept"), refuses = !strcmp(what, "refuse"), forgets = !strcmp(what, "forget");
	struct member_limits limits;
	int err, status;

	if (!accepts && any_option(o))
		return fail("fleet: these options are for accept");
	if ((strcmp(what, "join") != 0 && any_of_join(o)) || (o->prefix && strcmp(what, "join") && strcmp(what, "acl")))
		return fail("fleet: these options are for join");
	if (!call->n)
		return fleet_show(call->context);
	if (other(call, o, what, &status))
		return status;
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
