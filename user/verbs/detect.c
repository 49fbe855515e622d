// SPDX-License-Identifier: GPL-2.0-only
/* detect: the detector, its limits, and what it sees now */
#include <math.h>
#include <net/if.h>
#include <poll.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "change/change.h"
#include "change/ports.h"
#include "kernel/attach.h"
#include "kernel/detect.h"
#include "kernel/detect_seen.h"
#include "sets/address.h"
#include "state/limits.h"
#include "state/proven.h"
#include "state/settings.h"
#include "observe/senders.h"
#include "observe/detector.h"
#include "observe/suspects.h"
#include "verbs/verbs.h"

/* Rates are of so long. */
#define LOOK_MS 500

/* How long suggest looks. */
#define SUGGEST_SECONDS 60

struct options {
	const char *burst, *then, *on, *pps, *suspects;
	struct number during, one_in;
};

const struct option_spec detect_options[] = {
	{ "burst", .type = OPTION_TEXT, AT(options, burst), .value = "N",
	  .does = "limit: so much at once (a second's worth)" },
	{ "then", .type = OPTION_TEXT, AT(options, then), .value = "watch|police|ban",
	  .does = "limit: what becomes of what is above it" },
	{ "on", .type = OPTION_TEXT, AT(options, on), .value = "IFNAME",
	  .does = "limit: for what comes in there alone" },
	{ "pps", .type = OPTION_TEXT, AT(options, pps), .value = "N|default",
	  .does = "room: for so many packets a second" },
	{ "suspects", .type = OPTION_TEXT, AT(options, suspects), .value = "N|default",
	  .does = "room: for so many sources above a limit at a time" },
	{ "for", .type = OPTION_TIME, AT(options, during), .value = "TIME", .does = "suggest: so long (1m)" },
	{ "one-in", .type = OPTION_WHOLE, AT(options, one_in), .least = 1, .most = 65536, .value = "N",
	  .does = "suggest: of one source in so many" },
	OPTIONS_END(struct options),
};

/* --- What is changed -----------------------------------------------------------------------------------------------
 */

static int find_class(const char *name)
{
	for (int class = 0; class < LIMITED; class ++)
		if (!strcmp(name, limit_names[class]))
			return class;
	return -1;
}

static int because_class(const char *name)
{
	return because(-EINVAL, "'%s' is not packets, bytes, syn, udp, icmp, fragments, unanswered or scan", name);
}

/* What a class does stays as it is where nothing is said of it; watch is what it begins with. */
static int set_then(struct limit *limit, const char *word)
{
	for (__u64 then = 0; word && then < THENS; then++)
		if (!strcmp(word, limit_thens[then])) {
			limit->then = then;
			return 0;
		}
	return word ? because(-EINVAL, "'%s' is not watch, police or ban", word) : 0;
}

/* What is said of it stands already; all that is not said of an interface's own is as in general. */
static struct limit limit_now(const struct limits *limits, const char *on, int class)
{
	const struct limits_on *own = on ? limits_of(limits, on) : NULL;

	if (!on)
		return limits->of[class];
	return own && own->of[class].rate > 0 ? own->of[class] : (struct limit){ .then = THENS };
}

static int put_limit(struct limits *limits, const char *on, int class, struct limit limit)
{
	if (!on)
		limits->of[class] = limit;
	else if (!limits_put_on(limits, on, (enum packet_class) class, limit))
		return because(-ENOSPC, "%d interfaces have limits of their own, and no more can", LIMITS_ON_MOST);
	return 0;
}

static int read_rate(struct limit *limit, const struct options *o, enum packet_class class, const char *word)
{
	double least;

	if (!limit_rate(class, word, &limit->rate))
		return because(-EINVAL, "'%s' is no rate of %s: %s, or none", word, limit_names[class],
			       class == CLASS_BYTES ? "16kbit to 800Gbit, as 100Mbit or 12MB/s"
						    : "1/s to 100M/s, as 200/s or 1kpps");
	least = limit_burst_least(class, limit->rate, (double)detect_tick());
	if (o->burst && (!limit_number(o->burst, &limit->burst) || limit->burst < least ||
			 limit->burst > limit->rate * LIMIT_BURST_SECONDS))
		return because(
			-EINVAL,
			"--burst takes %.0f, what comes in two ticks of the clock, to an hour's worth, %.0f%s, not '%s'",
			least, limit->rate * LIMIT_BURST_SECONDS, class == CLASS_BYTES ? " bytes" : "", o->burst);
	return 0;
}

static int set_limit(struct limits *limits, const struct options *o, int n, char **words)
{
	int class = n > 1 ? find_class(words[1]) : -1, err;
	struct limit limit = { 0 }, now;

	if (n != 3 && (n != 2 || !o->then || o->burst))
		return because(-EINVAL, "limit takes a class and a rate, as in: xdp-bloom detect limit syn 200/s");
	if (class < 0)
		return because_class(words[1]);
	now = limit_now(limits, o->on, class);
	if (n == 2 && now.rate <= 0)
		return because(-EINVAL, "%s has no limit%s%s; give a rate, too", words[1],
			       o->on ? " of its own on " : "", o->on ?: "");
	if (n == 2)
		return set_then(&now, o->then) ?: put_limit(limits, o->on, class, now);
	limit.then = now.then;
	if (strcmp(words[2], "none") != 0)
		err = read_rate(&limit, o, (enum packet_class) class, words[2]) ?: set_then(&limit, o->then);
	else if (o->burst || o->then)
		err = because(-EINVAL, "none has no --%s", o->burst ? "burst" : "then");
	else if (o->on && now.rate <= 0)
		err = because(-EINVAL,
			      "%s has no limit of its own on %s, so the general one holds; for more, give a rate",
			      words[1], o->on);
	else
		err = 0;
	return err ?: put_limit(limits, o->on, class, limit);
}

static int set_amount(double *amount, const char *name, const char *text, double least, double most)
{
	double number = 0;

	if (strcmp(text, "default") != 0 && (!limit_number(text, &number) || number < least || number > most))
		return because(-EINVAL, "--%s takes %.0f to %.0f, as 20000 or 20k, or default, not '%s'", name, least,
			       most, text);
	*amount = floor(number);
	return 0;
}

static int set_room(struct limits *limits, const struct options *o, int n)
{
	int err = 0;

	if (n > 1 || (!o->pps && !o->suspects))
		return because(-EINVAL, "room takes --pps N, --suspects N, or both");
	if (o->pps)
		err = set_amount(&limits->pps, "pps", o->pps, LIMIT_PPS_LEAST, LIMIT_PPS_MOST);
	if (!err && o->suspects)
		err = set_amount(&limits->suspects, "suspects", o->suspects, LIMIT_SUSPECTS_LEAST, LIMIT_SUSPECTS_MOST);
	return err;
}

static int set_networks(struct limits *limits, int n, char **words)
{
	char *end = NULL;
	unsigned long times = n == 2 && *words[1] == 'x' ? strtoul(words[1] + 1, &end, 10) : 0;

	if (n == 2 && !strcmp(words[1], "off")) {
		limits->networks = 0;
		return 0;
	}
	if (!end || *end || words[1][1] < '0' || words[1][1] > '9' || times < NETWORKS_LEAST || times > NETWORKS_MOST)
		return because(
			-EINVAL,
			"networks takes how many times the limit of one source: x%d to x%d, as in networks x8; or off",
			NETWORKS_LEAST, NETWORKS_MOST);
	limits->networks = (unsigned int)times;
	return 0;
}

/* Each option belongs to a word. */
static int check_stray(const struct options *o, const char *word)
{
	const struct {
		const char *name, *of;
		bool given;
	} all[] = {
		{ "burst", "limit", o->burst },
		{ "then", "limit", o->then },
		{ "on", "limit", o->on },
		{ "pps", "room", o->pps },
		{ "suspects", "room", o->suspects },
		{ "for", "suggest", o->during.given },
		{ "one-in", "suggest", o->one_in.given },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].given && strcmp(all[i].of, word) != 0)
			return because(-EINVAL, "--%s belongs to %s", all[i].name, all[i].of);
	return 0;
}

/* What the words make of it. */
static int set_words(struct limits *limits, const struct options *o, int n, char **words)
{
	bool on = !strcmp(words[0], "on");

	if (!strcmp(words[0], "limit"))
		return set_limit(limits, o, n, words);
	if (!strcmp(words[0], "room"))
		return set_room(limits, o, n);
	if (!strcmp(words[0], "networks"))
		return set_networks(limits, n, words);
	if ((!on && strcmp(words[0], "off") != 0) || n > 1)
		return because(-EINVAL, DETECT_ASKS);
	limits->on = on;
	return 0;
}

/* Where a connection of this machine cannot, and no interface does. */
/* A connection proves packets of TCP that acknowledge: none of these. */
#define PROVEN_BY_INTERFACE                                                                                      \
	(1u << CLASS_SYN | 1u << CLASS_UDP | 1u << CLASS_ICMP | 1u << CLASS_FRAGMENTS | 1u << CLASS_UNANSWERED | \
	 1u << CLASS_SCAN)

static bool nothing_proves(struct state *state, unsigned int classes)
{
	struct proven *proven = NULL;
	size_t n = 0;
	bool nothing = (!kernel_proves() || classes & PROVEN_BY_INTERFACE) && !state_proven(state, &proven, &n) && !n;

	free(proven);
	return nothing;
}

static bool is_one(const char *path)
{
	FILE *file = fopen(path, "re");
	bool one = file && fgetc(file) == '1';

	if (file)
		fclose(file);
	return one;
}

/* What is not seen of these classes; they were set just now. */
static void warn_unseen(const struct limits *limits, const struct limits *before)
{
	bool set = limits_look_up(limits) & ~limits_look_up(before);

	if (set && !kernel_looks_up())
		warn("this kernel's programs cannot ask which socket takes a packet: nothing counts as unanswered, or as a scan");
	else if (set && (is_one("/proc/sys/net/ipv4/ip_forward") || is_one("/proc/sys/net/ipv6/conf/all/forwarding")))
		warn("this machine forwards packets: of what comes by an interface that does, nothing counts as unanswered, and of scans only SYNs");
}

/* "": all interfaces are seen, or nobody may say which there are. */
static const char *unseen_now(char text[UNSEEN_TEXT_MAX], const struct context *context)
{
	struct attachment *on = NULL;
	size_t n = 0;

	if (attach_list(context, &on, &n))
		n = 0;
	detector_unseen(text, on, n);
	free(on);
	return text;
}

/* Whoever takes back that the detector bans does not want what it bans as bans of a ladder. */
static int let_all_go(struct change *change)
{
	return jail_let_go(change, (struct addr){ 0, 4 }, 0) ?: jail_let_go(change, (struct addr){ 0, 6 }, 0);
}

static int change(const struct call *call)
{
	static const struct apply_options rebuild = { 0 };
	struct limits limits = state_limits(NULL), before = limits;
	char unseen[UNSEEN_TEXT_MAX];
	struct change *change = NULL;
	struct options named = *(const struct options *)call->options;
	const struct options *o = &named;
	const char *typed = named.on;
	char own[IF_NAMESIZE];
	unsigned int begins = 0;
	bool warns = false;
	int err = 0;

	if (typed && read_interface(typed, own))
		return EXIT_ERROR;
	named.on = typed ? own : NULL;
	/* Are they words at all? As if all were there that they may change. */
	for (enum packet_class class = 0; class < LIMITED; class ++) {
		limits.of[class].rate = limits.of[class].rate ?: 1;
		if (o->on)
			limits_put_on(&limits, o->on, class, limits.of[class]);
	}
	err = set_words(&limits, o, call->n, call->operands);
	err = err ?: change_begin(&change, call->context);
	if (!err) {
		before = limits = state_limits(change->state);
		if (typed && limits_of(&limits, typed))
			named.on = typed;
		change_bans_less(change);
		err = set_words(&limits, o, call->n, call->operands);
		begins = limits_do(&limits, THEN_BAN) & ~limits_do(&before, THEN_BAN);
		warns = begins && nothing_proves(change->state, begins);
	}
	if (!err && memcmp(&limits, &before, sizeof(limits)) != 0) {
		/* Other limits have other maps, which know nothing of whom the detector bans. */
		if (limits.on && before.on)
			err = limits_do(&limits, THEN_BAN) ? jail_move(change, NULL, NULL) : let_all_go(change);
		err = err ?: state_limits_put(change->state, &limits);
		err = err ?: change_commit(change, limits.on || before.on ? &rebuild : NULL);
		if (!err && o->on && limits_of(&limits, o->on) && if_nametoindex(o->on))
			ports_say_unfiltered(change->state, o->on);
	} else if (!err) {
		err = change_commit(change, NULL);
	}
	change_end(change);
	if (err)
		return fail("detect: %s; nothing was changed", reason(err));
	if (warns)
		warn("%s: who is above the limit is policed, and banned only behind an interface of "
		     "'xdp-bloom detect proven IFNAME'",
		     kernel_proves() ? "a connection proves no packets of that class"
				     : "this kernel's connections prove no source");
	warn_unseen(&limits, &before);
	if (limits.on && !before.on && *unseen_now(unseen, call->context))
		warn("the detector sees nothing of %s: " UNSEEN_WHY, unseen);
	if (o->on && limits_of(&limits, o->on) && !if_nametoindex(o->on))
		warn("there is no interface '%s'; the service takes its limits up when it comes, and without one "
		     "'xdp-bloom rotate'",
		     o->on);
	return out_done(call->context);
}

/* --- What it sees --------------------------------------------------------------------------------------------------
 */

struct look {
	struct limits limits;
	struct seen before, now;
	json_t *said; /* what detect_said() has */
};

static double rate_of(const struct look *look, const struct suspect_seen *suspect, enum packet_class class)
{
	return suspect_rate(&look->before, &look->now, suspect, class);
}

static const char *source_text(char text[PREFIX_TEXT_MAX], const struct suspect_seen *suspect)
{
	return source_key_text(text, suspect->key, MARK_KIND(suspect->mark));
}

static json_t *with_rates(const struct look *look, const struct suspect_seen *suspect)
{
	json_t *object = suspect_json(&look->now, suspect), *rates = json_object();
	char text[PREFIX_TEXT_MAX];

	for (enum packet_class class = 0; class < LIMITED; class ++)
		json_object_set_new(rates, limit_names[class], json_real(rate_of(look, suspect, class)));
	json_object_set_new(object, "source", json_string(source_text(text, suspect)));
	json_object_set_new(object, "rates", rates);
	return object;
}

/* The sizes in force, or else those that a detector would have. */
static struct detect sizes_of(const struct look *look)
{
	struct detect sizes = look->now.with;

	if (!look->now.on)
		limits_plan(&sizes, &look->limits, detect_tick());
	return sizes;
}

static json_t *asked_json(double asked)
{
	return asked > 0 ? json_real(asked) : json_null();
}

static json_t *size_json(const struct look *look)
{
	struct detect sizes = sizes_of(look);
	double pps = limits_pps(&sizes, &look->limits);

	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:f}", "pps", asked_json(look->limits.pps), "suspects",
			 asked_json(look->limits.suspects), "cells", (json_int_t)sizes.cells, "places",
			 (json_int_t)(sizes.buckets * SUSPECTS_OF_BUCKET), "bytes", (json_int_t)limits_bytes(&sizes),
			 "pps_most", isfinite(pps) ? json_real(pps) : json_null(), "suspects_most",
			 limits_suspects(&sizes));
}

static json_t *limit_json(struct limit limit)
{
	return limit.rate > 0 ? json_pack("{s:f, s:f, s:s}", "rate", limit.rate, "burst", limit_burst(&limit), "then",
					  limit_thens[limit.then])
			      : json_null();
}

/* Those of its own alone. */
static json_t *interfaces_json(const struct limits *limits)
{
	json_t *interfaces = json_object();

	for (size_t i = 0; i < limits->interfaces; i++) {
		const struct limits_on *on = &limits->on_interface[i];
		json_t *own = json_object();

		for (enum packet_class class = 0; class < LIMITED; class ++)
			if (on->of[class].rate > 0)
				json_object_set_new(own, limit_names[class], limit_json(limit_on(limits, on, class)));
		json_object_set_new(interfaces, on->name,
				    json_pack("{s:b, s:o}", "there", if_nametoindex(on->name) != 0, "limits", own));
	}
	return interfaces;
}

static int show_json(const struct context *context, const struct look *look)
{
	json_t *limits = json_object(), *suspects = json_array(), *document;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		json_object_set_new(limits, limit_names[class], limit_json(look->limits.of[class]));
	for (size_t i = 0; i < look->now.n; i++)
		json_array_append_new(suspects, with_rates(look, &look->now.suspect[i]));
	document = json_pack("{s:b, s:b, s:o, s:o, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "on", look->limits.on,
			     "in_force", look->now.on, "limits", limits, "interfaces", interfaces_json(&look->limits),
			     "networks", (int)look->limits.networks, "suspects", suspects, "room",
			     (json_int_t)look->now.room, "above",
			     (json_int_t)(look->now.packets[DETECTED_OVER] + detector_dropped(look->now.packets)),
			     "dropped", (json_int_t)detector_dropped(look->now.packets), "banned",
			     (json_int_t)look->now.packets[DETECTED_BANNED], "untracked",
			     (json_int_t)look->now.packets[DETECTED_UNTRACKED], "size", size_json(look));
	json_object_update(document, look->said);
	return out_json(context, document);
}

static int by_over(const void *a, const void *b)
{
	__u64 x = suspect_over(a), y = suspect_over(b);

	return (x < y) - (x > y);
}

/* In front of it what stands there where it is the first. */
static bool show_limit(const struct limit *limit, enum packet_class class, bool first)
{
	char text[LIMIT_TEXT_MAX];

	if (limit->rate <= 0)
		return first;
	printf("%s%s %s%s", first ? "" : ", ", limit_names[class], limit_text(text, class, limit->rate),
	       limit->then == THEN_BAN	    ? " (banned)"
	       : limit->then == THEN_POLICE ? " (policed)"
					    : "");
	return false;
}

static void show_limits(const struct look *look)
{
	const struct limits *limits = &look->limits;
	bool first = true;

	printf("limits    ");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		first = show_limit(&limits->of[class], class, first);
	if (limits->networks)
		printf("%snetworks x%u", first ? "none, " : ", ", limits->networks);
	puts(first && !limits->networks ? "none" : "");
	for (size_t i = 0; i < limits->interfaces; i++) {
		const struct limits_on *on = &limits->on_interface[i];

		first = true;
		printf("on %-6s ", on->name);
		for (enum packet_class class = 0; class < LIMITED; class ++) {
			struct limit limit = limit_on(limits, on, class);

			if (on->of[class].rate > 0)
				first = show_limit(&limit, class, first);
		}
		puts(if_nametoindex(on->name) ? "" : " (not there)");
	}
}

static void show_room(const struct look *look)
{
	struct detect sizes = sizes_of(look);
	double pps = limits_pps(&sizes, &look->limits);
	char bytes[BYTES_TEXT_MAX], most[LIMIT_TEXT_MAX] = "any number";

	if (isfinite(pps))
		limit_text(most, CLASS_PACKETS, pps);
	printf("room      %s for the strictest limit, %.0f suspects at a time: %s\n", most, limits_suspects(&sizes),
	       bytes_text(bytes, limits_bytes(&sizes)));
}

static void show_suspect(const struct look *look, const struct suspect_seen *suspect)
{
	char text[PREFIX_TEXT_MAX], above[SUSPECT_ABOVE_MAX], rate[LIMIT_TEXT_MAX];

	printf("%-24s", source_text(text, suspect));
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (suspect_column(&look->now, class))
			printf(" %*s", suspect_column(&look->now, class),
			       limit_text(rate, class, rate_of(look, suspect, class)));
	printf("  %s\n", suspect_above(above, &look->now, suspect));
}

static bool polices(const struct look *look)
{
	return limits_do(&look->limits, THEN_POLICE);
}

static int show_text(const struct context *context, const struct look *look)
{
	char unseen[UNSEEN_TEXT_MAX];
	size_t above = 0, banned = seen_banned_n(&look->now), sources = suspects_above(&look->now);

	printf("detector  %s\n",
	       !look->limits.on ? "off; 'xdp-bloom detect on' watches who sends too much"
	       : !look->now.on	? "on, and not in force: nothing is loaded here, or 'xdp-bloom rotate' is to build it"
	       : polices(look)	? "on"
				: "on, and only watches");
	show_limits(look);
	show_room(look);
	print_said(look->said);
	if (!look->now.on)
		return out_end();
	while (above < look->now.n && suspect_over(&look->now.suspect[above]))
		above++;
	printf("suspects  %zu above a limit, of %zu that are looked at closely (room for %zu)\n", sources, look->now.n,
	       look->now.room);
	if (polices(look) || detector_dropped(look->now.packets))
		printf("dropped   %llu packets above a limit, %llu of who was banned\n",
		       (unsigned long long)look->now.packets[DETECTED_DROPPED],
		       (unsigned long long)look->now.packets[DETECTED_BANNED]);
	if (banned)
		printf("banned    %zu by the detector alone; 'xdp-bloom bans' has the others\n", banned);
	printf("untracked %llu packets found no place\n", (unsigned long long)look->now.packets[DETECTED_UNTRACKED]);
	if (*unseen_now(unseen, context))
		printf("unseen    %s: " UNSEEN_WHY "\n", unseen);
	if (above) {
		printf("%-24s", "SOURCE");
		for (enum packet_class class = 0; class < LIMITED; class ++)
			if (suspect_column(&look->now, class))
				printf(" %*s", suspect_column(&look->now, class), limit_names[class]);
		puts("  ABOVE THE LIMIT OF");
	}
	for (size_t i = 0; i < above; i++)
		show_suspect(look, &look->now.suspect[i]);
	return out_end();
}

static int take_look(const struct context *context, struct look *look)
{
	int err = kernel_seen(context, &look->before);

	if (!err && look->before.on && look->before.n)
		poll(NULL, 0, LOOK_MS);
	err = err ?: kernel_seen(context, &look->now);
	if (!err && look->now.n)
		qsort(look->now.suspect, look->now.n, sizeof(*look->now.suspect), by_over);
	return err_is(err, ENOENT) ? 0 : err;
}

static int show(const struct context *context)
{
	struct look look = { 0 };
	struct state *state = NULL;
	int err = state_open(&state, context, false), status;

	if (!err) {
		look.limits = state_limits(state);
		err = state_settings_fault(state) ?: detect_said(state, &look.said);
	}
	state_close(state);
	err = err ?: take_look(context, &look);
	if (err)
		status = fail("detect: %s", reason(err));
	else
		status = context->json ? show_json(context, &look) : show_text(context, &look);
	seen_free(&look.before);
	seen_free(&look.now);
	json_decref(look.said);
	return status;
}

int verb_detect(const struct call *call)
{
	const struct options *o = call->options;
	const char *word = call->n ? call->operands[0] : "";
	int err = check_stray(o, word);

	if (err)
		return fail("detect: %s", reason(err));
	if (call->n == 1 && !strcmp(word, "attacks"))
		return detect_attacks(call->context);
	if (call->n == 1 && !strcmp(word, "top"))
		return call->context->json ? show(call->context) : detect_top(call->context);
	if (call->n == 1 && !strcmp(word, "suggest"))
		return detect_suggest(call->context, o->during.given ? o->during.value : SUGGEST_SECONDS,
				      (unsigned int)o->one_in.value);
	if (!strcmp(word, "learn"))
		return detect_learn(call);
	if (!strcmp(word, "trust"))
		return detect_trust(call);
	if (!strcmp(word, "proven"))
		return detect_proven(call);
	if (!strcmp(word, "ladder"))
		return detect_ladder(call);
	return call->n ? change(call) : show(call->context);
}
