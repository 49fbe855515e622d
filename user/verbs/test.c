// SPDX-License-Identifier: GPL-2.0-only
/* test: what the loaded program does with an address, and why */
#include <net/if.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/span.h"
#include "bpf/decide.h"
#include "change/change.h"
#include "observe/documents.h"
#include "observe/explain.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "sets/networks.h"
#include "sets/slip.h"
#include "observe/suspects.h"
#include "verbs/verbs.h"

#define ASK_AGAIN 100

struct test_options {
	struct scope_asked asked;
};

static int read_proto(const struct option_spec *o, void *target, const char *value)
{
	struct scope_asked *asked = target;
	int protocol = scope_protocol(value, strlen(value));

	(void)o;
	if (protocol < 0)
		return fail("--proto '%s': a protocol is tcp, udp, icmp, icmpv6, sctp or its number", value);
	asked->protocol_given = true;
	asked->protocol = (uint8_t)protocol;
	return 0;
}

static int read_dport(const struct option_spec *o, void *target, const char *value)
{
	struct scope_asked *asked = target;
	double port;

	if (option_number(o->name, value, 0, UINT16_MAX, &port))
		return 1;
	asked->port_given = true;
	asked->port = (uint16_t)port;
	return 0;
}

static int read_to(const struct option_spec *o, void *target, const char *value)
{
	struct scope_asked *asked = target;
	const char *fault = addr_parse(value, strlen(value), &asked->to);

	(void)o;
	if (fault)
		return fail("--to '%s': %s", value, fault);
	addr_unmap(&asked->to);
	asked->to_given = true;
	return 0;
}

static int read_on(const struct option_spec *o, void *target, const char *value)
{
	struct scope_asked *asked = target;

	(void)o;
	if (!own_name(value, asked->on)) {
		if (!is_interface_name(value))
			return fail("--on '%s': that is no name of an interface", value);
		snprintf(asked->on, sizeof(asked->on), "%s", value);
	}
	asked->on_given = true;
	return 0;
}

const struct option_spec test_options[] = {
	{ "proto", .type = OPTION_READ, AT(test_options, asked), .read = read_proto, .value = "tcp" },
	{ "dport", .type = OPTION_READ, AT(test_options, asked), .read = read_dport, .value = "PORT",
	  .does = "of such a packet" },
	{ "to", .type = OPTION_READ, AT(test_options, asked), .read = read_to, .value = "ADDR" },
	{ "on", .type = OPTION_READ, AT(test_options, asked), .read = read_on, .value = "IFNAME",
	  .does = "to there, and by that" },
	OPTIONS_END(struct test_options),
};

struct question {
	const struct scope_asked *packet;
	struct addr *asked; /* as they are written */
	struct addr *addrs; /* whom the lists are asked for */
	size_t n;
	struct seen seen; /* by the detector, if there is one */
	struct networks *networks;
};

/* ::ffff:a.b.c.d is a.b.c.d; but for that, an address is called as it was written. */
static struct addr shown(const struct question *q, size_t i)
{
	return addr_mapped(q->asked[i].num, q->asked[i].num) ? q->addrs[i] : q->asked[i];
}

static int ask_for(struct question *q, const char *text, size_t len)
{
	char slip[SLIP_TEXT_MAX];
	const char *fault;

	if (!GROW(q->addrs, q->n) || !GROW(q->asked, q->n))
		return fail("out of memory");
	fault = addr_parse(text, len, &q->asked[q->n]);
	if (fault)
		return fail("test: '%.*s': %s", (int)len, text, address_slip(slip, text, len, fault));
	q->n++;
	return 0;
}

static int ask_for_lines(struct question *q)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int status = 0;

	while (!status && (len = getline(&line, &room, stdin)) > 0) {
		while (len && strchr(" \t\r\n", line[len - 1]))
			len--;
		if (len)
			status = ask_for(q, line, (size_t)len);
	}
	if (!status && !feof(stdin))
		status = fail("test: standard input cannot be read to its end");
	free(line);
	return status;
}

static const char *word(bool drop)
{
	return drop ? "drop" : "pass";
}

/* Do the lists say that it should be dropped? For an image, only the program can tell. */
static bool lists_drop_of(const struct explanation *e, const struct scope_asked *packet, size_t addr, __u32 answer)
{
	enum scope_takes takes;
	const struct hit *decider = explain_decider_of(e, addr, packet, &takes);

	return e->image ? answer_drops(answer) : decider && e->lists[decider->list].kind == LIST_BAN;
}

static bool lists_drop(const struct explanation *e, const struct question *q, size_t addr, __u32 answer)
{
	return lists_drop_of(e, q->packet, addr, answer);
}

/* A ban that the image in force has no place for was left out of its arrays. */
static bool is_left_out(const struct explanation *e, const struct hit *hit, __u32 answer)
{
	return e->image && e->lists[hit->list].kind == LIST_BAN && !answer_drops(answer);
}

static const struct hit *decider_of(const struct explanation *e, const struct question *q, size_t addr, __u32 answer)
{
	enum scope_takes takes;
	const struct hit *decider = explain_decider_of(e, addr, q->packet, &takes);

	return decider && !is_left_out(e, decider, answer) ? decider : NULL;
}

/* An image has no sets, but its arrays know which list drops. */
static const char *list_name(const struct explanation *e, const struct question *q, size_t addr, __u32 answer)
{
	const struct hit *decider = decider_of(e, q, addr, answer);

	if (decider)
		return e->lists[decider->list].name;
	if (!e->image || answer == ANSWER_UNPARSED || !(answer & (ANSWER_DROP | ANSWER_SHADOW)))
		return NULL;
	for (size_t i = 0; i + 1 < e->n; i++)
		if (e->lists[i].label == ANSWER_LABEL(answer))
			return e->lists[i].name;
	/* The gate and the filter answer with this label when they know none. */
	return ANSWER_STAGE(answer) == STAGE_ROSTER && ANSWER_LABEL(answer) == LABEL_LIVE ? LIVE_LIST : NULL;
}

/* A drop without a list is a false positive if the filter decides alone; anywhere else it is a fault. */
static bool false_positive(const struct explanation *e, const struct question *q, size_t addr, __u32 answer)
{
	return answer_drops(answer) && !lists_drop(e, q, addr, answer) && ANSWER_STAGE(answer) == STAGE_FILTER;
}

/* Of the packets that the lists let pass. */
static bool detector_drops(const struct question *q, size_t addr, __u32 answer)
{
	const struct suspect_seen *suspect = suspect_of(&q->seen, q->asked[addr]);

	return !answer_drops(answer) && suspect && seen_banned(&q->seen, suspect) && !suspect_is_allowed(suspect);
}

static bool is_dropped(const struct question *q, size_t addr, __u32 answer)
{
	return answer_drops(answer) || detector_drops(q, addr, answer);
}

static const char *stage_text(const struct question *q, size_t addr, __u32 answer)
{
	return answer_stage(detector_drops(q, addr, answer) ? ANSWER(STAGE_DETECTOR, 0, 0) : answer);
}

/* What only a live ban has: null for entries of lists. */
static void put_ban(json_t *object, const struct ban *ban)
{
	char expires[UTC_TEXT_MAX], added[UTC_TEXT_MAX];

	json_object_set_new(object, "reason", ban && ban->reason[0] ? out_text(ban->reason) : json_null());
	json_object_set_new(object, "expires",
			    ban && ban->expires ? json_string(utc_text(expires, ban->expires)) : json_null());
	json_object_set_new(object, "added",
			    ban && ban->added ? json_string(utc_text(added, ban->added)) : json_null());
}

static json_t *said_json(const struct explanation *e, const struct hit *hit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < hit->said_n; i++) {
		const char *member = explain_member(e, &hit->said[i]);
		json_t *one = json_pack("{s:o}", "member", member ? json_string(member) : json_null());

		put_ban(one, &hit->said[i].ban);
		json_array_append_new(array, one);
	}
	return array;
}

/* "banned by edge-7, 3m ago, 41 k SYN/s (until 2026-11-23T20:10:00Z)" */
static void said_text(const struct explanation *e, const struct hit *hit, int64_t now)
{
	for (size_t i = 0; i < hit->said_n; i++) {
		const struct ban *ban = &hit->said[i].ban;
		const char *member = explain_member(e, &hit->said[i]);
		char ago[SPAN_TEXT_MAX], until[UTC_TEXT_MAX];

		if (!ban_in_force(ban, now))
			continue;
		if (said_waits(&hit->said[i]))
			printf("    to be banned by %s, when this machine needs it no more%s%s", member,
			       *ban->reason ? ", " : "", ban->reason);
		else
			printf("    banned by %s, %s ago%s%s", member ?: "this machine",
			       span_text(ago, now > ban->added ? now - ban->added : 0), *ban->reason ? ", " : "",
			       ban->reason);
		if (ban->expires)
			printf(" (until %s)", utc_text(until, ban->expires));
		putchar('\n');
	}
}

static json_t *hit_json(const struct explanation *e, const struct hit *hit, int family)
{
	char text[HIT_TEXT_MAX];
	json_t *object = json_pack("{s:s, s:s, s:s, s:o}", "list", e->lists[hit->list].name, "kind",
				   list_kind_names[e->lists[hit->list].kind], "entry", hit_text(text, hit, family),
				   "line", hit->line ? json_integer((json_int_t)hit->line) : json_null());

	put_ban(object, hit->ban);
	json_object_set_new(object, "scope", scope_json(e->lists[hit->list].scope));
	if (hit->said_n)
		json_object_set_new(object, "said", said_json(e, hit));
	return object;
}

static json_t *answer_json(const struct explanation *e, const struct question *q, size_t i, __u32 answer)
{
	struct addr addr = q->addrs[i];
	char text[PREFIX_TEXT_MAX], prefix[HIT_TEXT_MAX];
	const struct hit *decider = decider_of(e, q, i, answer);
	const char *list = list_name(e, q, i, answer);
	json_t *entries = json_array(), *object;

	for (size_t h = 0; h < e->traced[i].n; h++)
		json_array_append_new(entries, hit_json(e, &e->traced[i].hits[h], addr.family));
	prefix_text(text, shown(q, i), -1);
	object = json_pack("{s:s, s:s, s:s, s:o, s:o, s:b, s:b, s:b}", "address", text, "verdict",
			   word(is_dropped(q, i, answer)), "stage", stage_text(q, i, answer), "list",
			   list ? json_string(list) : json_null(), "prefix",
			   decider ? json_string(hit_text(prefix, decider, addr.family)) : json_null(), "allowed",
			   decider && e->lists[decider->list].kind == LIST_ALLOW, "shadow",
			   answer != ANSWER_UNPARSED && answer & ANSWER_SHADOW, "false_positive",
			   false_positive(e, q, i, answer));
	put_ban(object, decider ? decider->ban : NULL);
	json_object_set_new(object, "scope", scope_json(decider ? e->lists[decider->list].scope : ""));
	json_object_set_new(object, "entries", entries);
	json_object_set_new(object, "detector", suspect_json(&q->seen, suspect_of(&q->seen, q->asked[i])));
	put_network(object, q->networks, shown(q, i), addr_width(shown(q, i).family));
	return object;
}

static void answer_text(const struct explanation *e, const struct question *q, size_t i, __u32 answer)
{
	static const char *const does[] = { "banned by", "allowed by", "counted by", "trusted by the detector, as in" };
	const char *list_of_image = e->image ? list_name(e, q, i, answer) : NULL;
	const struct hit *decider = decider_of(e, q, i, answer);
	char text[HIT_TEXT_MAX], added[UTC_TEXT_MAX], expires[UTC_TEXT_MAX], above[SUSPECT_ABOVE_MAX],
		network[NETWORK_TEXT_MAX];
	const struct suspect_seen *suspect;
	enum scope_takes takes = SCOPE_ALWAYS;
	bool perhaps = decider && explain_decider_of(e, i, q->packet, &takes) && takes == SCOPE_PERHAPS;

	printf("%s: %s (%s)%s%s%s\n", prefix_text(text, shown(q, i), -1), word(is_dropped(q, i, answer)),
	       stage_text(q, i, answer), perhaps ? ", only " : "", perhaps ? e->lists[decider->list].scope : "",
	       false_positive(e, q, i, answer) ? ": a false positive of the filter, no list has it" : "");
	if (*networks_text(network, q->networks, shown(q, i), addr_width(shown(q, i).family)))
		printf("  of %s\n", network);
	if (list_of_image && !decider)
		printf("  %s %s, by the image in force\n", answer & ANSWER_DROP ? "banned by" : "counted by",
		       list_of_image);
	for (size_t h = 0; e->lists && h < e->traced[i].n; h++) {
		const struct hit *hit = &e->traced[i].hits[h];
		const struct list_info *list = &e->lists[hit->list];

		printf("  %s %s: %s",
		       !decider && is_left_out(e, hit, answer) ? "not in force, as the image has no place for it:"
							       : does[list->kind],
		       list->name, hit_text(text, hit, q->addrs[i].family));
		if (hit->line)
			printf(" (%s:%llu)", list->source, (unsigned long long)hit->line);
		if (list->scope[0])
			printf(", only %s", list->scope);
		if (hit->ban && hit->ban->reason[0])
			printf(" (%s)", hit->ban->reason);
		if (hit->ban)
			printf(" since %s", utc_text(added, hit->ban->added));
		if (hit->ban && hit->ban->expires)
			printf(" until %s", utc_text(expires, hit->ban->expires));
		putchar('\n');
		said_text(e, hit, time(NULL));
	}
	suspect = suspect_of(&q->seen, q->asked[i]);
	if (suspect && suspect_over(suspect))
		printf("  the detector: above the limit of %s\n", suspect_above(above, &q->seen, suspect));
}

/* Prints every answer. True where program and lists disagree about one. */
static bool print_answers(const struct explanation *e, const struct question *q, const __u32 *answers, json_t *array)
{
	bool disagree = false;

	for (size_t i = 0; i < q->n; i++) {
		if (array)
			json_array_append_new(array, answer_json(e, q, i, answers[i]));
		else
			answer_text(e, q, i, answers[i]);
		if (answer_drops(answers[i]) != lists_drop(e, q, i, answers[i]) &&
		    !false_positive(e, q, i, answers[i]) && !e->traced[i].ran_out) {
			char text[PREFIX_TEXT_MAX];

			fail("%s: the program says %s, the lists say %s; 'xdp-bloom rotate' rebuilds it",
			     prefix_text(text, shown(q, i), -1), word(answer_drops(answers[i])),
			     word(lists_drop(e, q, i, answers[i])));
			disagree = true;
		}
	}
	return disagree;
}

/* Does the kernel have the lists that were explained already? */
static bool is_known(const struct explanation *e, const struct generation *g)
{
	return e->generation < g->number || (e->generation == g->number && e->edits <= g->edits);
}

/* Any change removes bans that have run out: begin one if there are some. */
static void pass_by(struct context *context)
{
	struct change *change;
	struct state *state = NULL;
	int64_t next = 0;

	if (!state_open(&state, context, false))
		next = state_bans_next(state);
	state_close(state);
	if (!next || next > time(NULL))
		return;
	change_begin(&change, context);
	change_end(change);
}

/* An address is dropped for what it is, or for an IPv4 address within it: what the lists know of the other one. */
static bool other_address(struct addr asked, struct addr *addr)
{
	__u32 ipv4;

	if (asked.family != addr->family)
		*addr = asked;
	else if (asked.family == 6 && ipv4_within((__u64)(asked.num >> 64), (__u64)asked.num, &ipv4))
		*addr = (struct addr){ ipv4, 4 };
	else
		return false;
	return true;
}

static int explain_all(const struct context *context, struct explanation *e, const struct question *q,
		       const __u32 *answers)
{
	bool others = false;
	int err;

	for (size_t i = 0; i < q->n; i++) {
		q->addrs[i] = q->asked[i];
		addr_unmap(&q->addrs[i]);
	}
	err = explain(context, e, q->addrs, q->n);
	for (size_t i = 0; i < q->n && !err; i++)
		if (answer_drops(answers[i]) && !lists_drop_of(e, &(struct scope_asked){ 0 }, i, answers[i]))
			others |= other_address(q->asked[i], &q->addrs[i]);
	if (!others)
		return err;
	explain_free(e);
	return explain(context, e, q->addrs, q->n);
}

/* Where lists with a scope hold an address, and enough is known of the packet, the program is asked for that. */
static int ask_scopes(const struct context *context, const struct explanation *e, const struct question *q,
		      __u32 *answers)
{
	const struct scope_asked *given = q->packet;
	struct asked_packet packet = { .protocol = given->protocol_given ? given->protocol : 253,
				       .port = given->port,
				       .to = given->to,
				       .ifindex = given->on_given ? if_nametoindex(given->on) : 0 };
	int err = 0;

	packet.ifindex = packet.ifindex ?: ~0U;
	for (size_t i = 0; i < q->n && !err; i++) {
		enum scope_takes takes = SCOPE_ALWAYS;
		const struct hit *decider = explain_decider_of(e, i, given, &takes);

		if (!answer_drops(answers[i]) || ANSWER_LABEL(answers[i]) < SCOPE_LABELS || e->image)
			continue;
		if (!decider || takes == SCOPE_ALWAYS)
			err = kernel_ask_packet(context, &q->asked[i], &packet, &answers[i]);
		else if (e->lists[decider->list].kind == LIST_SHADOW)
			answers[i] ^= ANSWER_DROP | ANSWER_SHADOW;
	}
	return err;
}

/* While another command makes a change, the program may be a moment behind the lists: then ask both again. */
static int ask_and_explain(const struct context *context, struct explanation *e, const struct question *q,
			   __u32 *answers)
{
	int err = 0;

	for (int attempt = 0; attempt < ASK_AGAIN; attempt++) {
		struct generation before = { 0 }, after = { 0 };

		explain_free(e);
		kernel_live(context, &before);
		err = kernel_ask(context, q->asked, q->n, answers);
		if (!err)
			err = explain_all(context, e, q, answers) ?: ask_scopes(context, e, q, answers);
		kernel_live(context, &after);
		if (err || (before.number == after.number && before.edits == after.edits && is_known(e, &after)))
			break;
		poll(NULL, 0, 10);
	}
	return err;
}

int verb_test(const struct call *call)
{
	struct explanation e = { 0 };
	const struct test_options *o = call->options;
	struct question q = { .packet = &o->asked };
	json_t *array = NULL;
	__u32 *answers = NULL;
	int status = 0, err;
	bool disagree, passes = false;

	for (int i = 0; i < call->n && !status; i++)
		status = strcmp(call->operands[i], "-") ? ask_for(&q, call->operands[i], strlen(call->operands[i]))
							: ask_for_lines(&q);
	if (!status && !q.n)
		status = fail("test: no address");
	if (status)
		goto out;
	pass_by(call->context);
	answers = calloc(q.n + 1, sizeof(*answers));
	err = answers ? ask_and_explain(call->context, &e, &q, answers) : -ENOMEM;
	if (err) {
		status = fail("%s", reason(err));
		goto out;
	}
	if (kernel_seen(call->context, &q.seen))
		q.seen = (struct seen){ 0 };
	q.networks = networks_open(call->context->state);
	if (call->context->json)
		array = json_array();
	for (size_t i = 0; i < q.n; i++)
		passes = passes || !is_dropped(&q, i, answers[i]);
	disagree = print_answers(&e, &q, answers, array);
	status = call->context->json ? out_json(call->context, array) : out_end();
	if (!status)
		status = disagree ? EXIT_ERROR : passes ? EXIT_PASSES : EXIT_DONE;
out:
	explain_free(&e);
	seen_free(&q.seen);
	networks_close(q.networks);
	free(answers);
	free(q.addrs);
	free(q.asked);
	return status;
}
