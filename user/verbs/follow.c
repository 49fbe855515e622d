// SPDX-License-Identifier: GPL-2.0-only
/* follow: bans as others send them, for as long as they do */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include "base/stdin.h"
#include "change/change.h"
#include "change/load.h"
#include "feeds/crowdsec.h"
#include "feeds/door.h"
#include "feeds/follow.h"
#include "feeds/routes.h"
#include "feeds/stream.h"
#include "verbs/verbs.h"

#define AGENT_URL     "http://127.0.0.1:8080"
#define AGENT_SECONDS 10

#ifdef WITHOUT_FEEDS
#define FEEDS false
#else
#define FEEDS true
#endif

struct options {
	struct number table, family, grace;
	uint64_t types;
	const char *list;
	bool shadow, wide;
	const char *url, *key_file;
	struct number interval;
	bool lan, insecure;
	const char *agent_user;
	const char *group;
};

/* "blackhole,prohibit" */
static int read_types(const struct option_spec *o, void *target, const char *value)
{
	static const struct {
		const char *name;
		unsigned int type;
	} names[] = { { "blackhole", RTN_BLACKHOLE },
		      { "unreachable", RTN_UNREACHABLE },
		      { "prohibit", RTN_PROHIBIT } };
	uint64_t *types = target;

	for (;; value++) {
		size_t n = strcspn(value, ","), i = 0;

		while (i < sizeof(names) / sizeof(*names) &&
		       (strlen(names[i].name) != n || strncmp(names[i].name, value, n) != 0))
			i++;
		if (i == sizeof(names) / sizeof(*names))
			return fail(
				"--%s: '%.*s': these there are: blackhole, unreachable, prohibit, with commas between them",
				o->name, (int)n, value);
		*types |= 1ULL << names[i].type;
		value += n;
		if (!*value)
			return 0;
	}
}

const struct option_spec follow_options[] = {
	{ "table", .type = OPTION_WHOLE, AT(options, table), .value = "NUMBER", .least = 1, .most = UINT32_MAX,
	  .wants = "the number of a route table" },
	{ "family", .type = OPTION_WHOLE, AT(options, family), .value = "4|6", .least = 4, .most = 6,
	  .does = "routes: of one family alone" },
	{ "type", .type = OPTION_READ, AT(options, types), .read = read_types, .value = "TYPE,...",
	  .does = "routes: not blackhole, but unreachable, prohibit" },
	{ "name", .type = OPTION_TEXT, AT(options, list), .value = "NAME", .does = "routes: of the list" },
	{ "grace", .type = OPTION_TIME_OR_0, AT(options, grace), .value = "TIME",
	  .does = "routes: so long they stay when most go at once (5m)" },
	{ "shadow", AT(options, shadow) },
	{ "wide", AT(options, wide), .does = "routes: it only counts; even much of the internet" },
	{ "url", .type = OPTION_TEXT, AT(options, url), .value = "URL" },
	{ "key-file", .type = OPTION_FILE, AT(options, key_file), .value = "FILE",
	  .does = "crowdsec: what cscli bouncers add printed" },
	{ "interval", .type = OPTION_TIME, AT(options, interval), .least = 0.1, .value = "TIME",
	  .does = "crowdsec: between two questions (10s)" },
	{ "lan", AT(options, lan) },
	{ "insecure", AT(options, insecure), .does = "crowdsec: in the own network; by http:// there" },
	{ "agent-user", .type = OPTION_TEXT, AT(options, agent_user), .value = "NAME",
	  .does = "crowdsec: whose agent it may be, beside root's" },
	{ "group", .type = OPTION_TEXT, AT(options, group), .value = "NAME",
	  .does = "socket: who may write to it beside root" },
	OPTIONS_END(struct options),
};

#define GRACE 300

static int routes(const struct call *call)
{
	const struct options *o = call->options;
	struct routes_options r = { .wish = { .table = (unsigned int)o->table.value,
					      .family = (int)o->family.value,
					      .types = o->types ?: 1ULL << RTN_BLACKHOLE },
				    .list = o->list,
				    .shadow = o->shadow,
				    .wide = o->wide,
				    .grace = (int64_t)(o->grace.given ? o->grace.value : GRACE) * 1000 };
	const char *fault = o->list ? list_name_fault(o->list) : NULL;
	int err;

	if (call->n > 1 || !o->table.given)
		return fail("follow: routes: of which table? follow routes --table 666");
	if (r.wish.family == 5)
		return fail("follow: routes: --family is 4 or 6");
	if (fault)
		return fail("follow: routes: '%s': %s", o->list, fault);
	change_check(call->context, false);
	err = follow_routes(call->context, &r);
	return err ? fail("follow: %s", reason(err)) : EXIT_DONE;
}

static bool any_routes(const struct options *o)
{
	return o->table.given || o->family.given || o->types || o->list || o->grace.given || o->shadow || o->wide;
}

static bool any_crowdsec(const struct options *o)
{
	return o->url || o->key_file || o->interval.given || o->lan || o->insecure || o->agent_user;
}

static int crowdsec(const struct call *call)
{
	const struct options *o = call->options;
	struct crowdsec_options agent = { .url = o->url ?: AGENT_URL,
					  .key_file = o->key_file,
					  .user = o->agent_user,
					  .every = o->interval.given ? o->interval.value : AGENT_SECONDS,
					  .insecure = o->insecure,
					  .lan = o->lan };

	if (call->n > 1 || !o->key_file)
		return fail(
			"follow: crowdsec: its key goes into a file: 'cscli -o raw bouncers add xdp-bloom >FILE', and"
			" --key-file FILE");
	if (call->context->check == CHECK_FILES && access(o->key_file, R_OK))
		return fail("follow: %s: %s", o->key_file, strerror(errno));
	change_check(call->context, false);
	return follow_crowdsec(call->context, &agent);
}

static int door(const struct call *call)
{
	const struct options *o = call->options;

	if (call->n > 2)
		return fail("follow: socket: one path at most");
	change_check(call->context, false);
	return follow_door(call->context, call->n > 1 ? call->operands[1] : NULL, o->group);
}

int verb_follow(const struct call *call)
{
	const char *from = call->operands[0];
	bool command = !strcmp(from, "exec");
	int err = 0;

	if (any_crowdsec(call->options) && strcmp(from, "crowdsec") != 0)
		return fail("follow: only 'follow crowdsec' takes such options");
	if (any_routes(call->options) && strcmp(from, "routes") != 0)
		return fail("follow: only 'follow routes' takes such options");
	if (((const struct options *)call->options)->group && strcmp(from, "socket") != 0)
		return fail("follow: only 'follow socket' takes --group");
	if (!FEEDS && (!strcmp(from, "routes") || !strcmp(from, "crowdsec")))
		return fail("follow: %s is " LEFT_OUT, from);
	if (FEEDS && !strcmp(from, "routes"))
		return routes(call);
	if (!strcmp(from, "socket")) {
		err = door(call);
		return err < 0 ? fail("follow: %s", reason(err)) : err;
	}
	if (FEEDS && !strcmp(from, "crowdsec")) {
		err = crowdsec(call);
		return err < 0 ? fail("follow: %s", reason(err)) : err;
	}
	if (command ? call->n < 2 : call->n > 1)
		return fail("follow: %s", command ? "exec: which command?" : call->verb->asks);
	if (call->context->check == CHECK_FILES && strcmp(from, "-") != 0) {
		err = stream_may_open(from, command ? call->operands + 1 : NULL);
		if (err)
			return fail("follow: %s", reason(err));
	}
	change_check(call->context, false);
	if (!strcmp(from, "-"))
		err = standard_input(call->context);
	err = err ?: follow_lines(call->context, from, command ? call->operands + 1 : NULL);
	return err < 0 ? fail("follow: %s", reason(err)) : err ? EXIT_DEGRADED : EXIT_DONE;
}
