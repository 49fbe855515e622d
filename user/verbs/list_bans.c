// SPDX-License-Identifier: GPL-2.0-only
/* bans: those in force, all of them or some */
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "kernel/detect_seen.h"
#include "change/live_scopes.h"
#include "sets/networks.h"
#include "sets/prefixes.h"
#include "sets/ranges.h"
#include "sets/writer.h"
#include "observe/documents.h"
#include "state/members.h"
#include "state/said.h"
#include "state/state.h"
#include "verbs/verbs.h"

enum order { BY_PREFIX = 1, BY_ADDED, BY_END, BY_REASON };

static const char *const orders[] = { "prefix", "added", "end", "reason", NULL };

struct options {
	struct number ends_within, since;
	const char *reason, *from;
	int sort;
	bool count;
};

const struct option_spec bans_options[] = {
	{ "reason", .type = OPTION_TEXT, AT(options, reason), .value = "WORD",
	  .does = "only those with that in their reason" },
	{ "from", .type = OPTION_TEXT, AT(options, from), .value = "MEMBER",
	  .does = "what that member of the fleet says, in force or not" },
	{ "ends-within", .type = OPTION_TIME, AT(options, ends_within), .value = "TIME",
	  .does = "only those that end by then" },
	{ "since", .type = OPTION_TIME, AT(options, since), .value = "TIME",
	  .does = "only those that were added so long ago at most" },
	{ "sort", .type = OPTION_WORD, AT(options, sort), .words = orders,
	  .does = "the latest added, the next end first" },
	{ "count", AT(options, count), .does = "only how many there are" },
	OPTIONS_END(struct options),
};

#define NETWORK_COLUMN 32

static json_t *all_packets(json_t *ban)
{
	json_object_set_new(ban, "scope", json_null());
	return ban;
}

static void ban_text(const struct ban *ban, int64_t now, const struct networks *networks)
{
	char text[PREFIX_TEXT_MAX], added[UTC_TEXT_MAX], left[32], network[NETWORK_TEXT_MAX];

	snprintf(left, sizeof(left), ban->expires ? "%lld s" : "-", (long long)(ban->expires - now));
	printf("%-43s %-20s %10s  ", prefix_text(text, ban->first, (int)ban->length),
	       ban->added ? utc_text(added, ban->added) : "waits", left);
	if (networks)
		printf("%-*s  ", NETWORK_COLUMN, networks_text(network, networks, ban->first, ban->length));
	puts(ban->reason);
}

/* What is asked for, as a set: one of them lies within it, or holds a part of it. */
static bool meets(const struct ban *ban, const struct ranges *wanted)
{
	return (!wanted->n4 && !wanted->n6) || ranges_touch(wanted, ban->first, ban->length);
}

static bool is_wanted(const struct ban *ban, const struct options *o, const struct ranges *wanted, int64_t now)
{
	if (!ban_in_force(ban, now) || (o->reason && !strcasestr(ban->reason, o->reason)))
		return false;
	if (o->ends_within.given && (!ban->expires || ban->expires > now + (int64_t)o->ends_within.value))
		return false;
	return (!o->since.given || ban->added >= now - (int64_t)o->since.value) && meets(ban, wanted);
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_added(const void *a, const void *b)
{
	return compare(((const struct ban *)b)->added, ((const struct ban *)a)->added);
}

/* Those without an end come last. */
static int by_end(const void *a, const void *b)
{
	const struct ban *x = a, *y = b;

	return compare(x->expires ?: INT64_MAX, y->expires ?: INT64_MAX);
}

static int by_reason(const void *a, const void *b)
{
	return strcmp(((const struct ban *)a)->reason, ((const struct ban *)b)->reason);
}

/* The order of prefixes is that of the state. Equal ones stay in it: glibc merges where there is memory. */
static void sort(struct ban *bans, size_t n, int order)
{
	if (n && order > BY_PREFIX)
		qsort(bans, n, sizeof(*bans), order == BY_ADDED ? by_added : order == BY_END ? by_end : by_reason);
}

/* Nobody who looks at bans needs a detector, or the right to see one. */
static void say_detector(const struct context *context)
{
	struct seen seen;
	size_t n;

	if (kernel_seen(context, &seen))
		return;
	n = seen_banned_n(&seen);
	if (n)
		printf("and %zu that the detector bans by itself: 'xdp-bloom detect' shows them\n", n);
	seen_free(&seen);
}

/* Those with a scope: of each the prefixes, without a time of their own. */
struct scoped {
	const struct ranges *wanted;
	const char *scope;
	json_t *array; /* or they are counted, */
	size_t n;
	bool print, head; /* or printed, below that */
};

static void print_head(const struct networks *networks)
{
	printf("%-43s %-20s %10s  %-*s%s\n", "BAN", "ADDED", "LEFT", networks ? NETWORK_COLUMN + 2 : 0,
	       networks ? "NETWORK" : "", "REASON");
}

static void scoped_prefix(struct addr first, unsigned int length, void *arg)
{
	struct scoped *s = arg;
	char text[PREFIX_TEXT_MAX];

	if (!meets(&(struct ban){ .first = first, .length = length }, s->wanted))
		return;
	s->n++;
	prefix_text(text, first, (int)length);
	if (s->array) {
		json_array_append_new(s->array,
				      json_pack("{s:s, s:n, s:n, s:n, s:n, s:o}", "prefix", text, "added", "expires",
						"seconds_left", "reason", "scope", scope_json(s->scope)));
	} else if (s->print) {
		if (!s->head)
			print_head(NULL);
		s->head = true;
		printf("%-43s %-20s %10s  only %s\n", text, "-", "-", s->scope);
	}
}

/* None of them has what these options ask for. */
static bool asks_for_more(const struct options *o)
{
	return o->reason || o->from || o->ends_within.given || o->since.given;
}

static int each_scoped(struct state *state, struct scoped *s)
{
	struct list_info *lists = NULL;
	size_t n = 0;
	int err = state_lists(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct ranges set;

		if (!live_scope_is(&lists[i]))
			continue;
		err = state_list_whole_set(state, &lists[i], &set);
		if (err)
			break;
		s->scope = lists[i].scope;
		writer_prefixes(&set, scoped_prefix, s);
		ranges_free(&set);
	}
	free(lists);
	return err;
}

/* whole: nothing was asked for but all. */
static int print_all(const struct context *context, const struct ban *bans, size_t n, int64_t now, bool whole,
		     struct state *state, struct scoped *scoped)
{
	json_t *array = context->json ? json_array() : NULL;
	struct networks *networks = networks_open(context->state);
	int err;

	scoped->array = array;
	scoped->print = true;
	scoped->head = n;
	if (!array && n)
		print_head(networks);
	for (size_t i = 0; i < n; i++) {
		if (array)
			json_array_append_new(array, all_packets(out_ban(&bans[i], now, networks)));
		else
			ban_text(&bans[i], now, networks);
	}
	networks_close(networks);
	err = state ? each_scoped(state, scoped) : 0;
	if (err)
		warn("those with a scope cannot be read: %s", reason(err));
	if (!array && whole)
		say_detector(context);
	return array ? out_json(context, array) : out_end();
}

static int print_count(const struct context *context, size_t n)
{
	if (context->json)
		return out_json(context, json_pack("{s:I}", "count", (json_int_t)n));
	printf("%zu\n", n);
	return out_end();
}

static bool is_whole(const struct call *call)
{
	return !call->n && !asks_for_more(call->options);
}

static int read_from(struct state *state, const char *name, struct ban **bans, size_t *n)
{
	struct said *said = NULL;
	struct member member;
	int err = state_member_get(state, name, &member);

	if (err_is(err, ENOENT))
		err = because(-ENOENT, "nothing was heard of a member '%s'; 'xdp-bloom fleet' shows all", name);
	err = err ?: state_said_by(state, member.id, &said, n);
	*bans = err ? NULL : calloc(*n + 1, sizeof(**bans));
	if (!err && !*bans)
		err = -ENOMEM;
	for (size_t i = 0; i < *n && !err; i++)
		(*bans)[i] = said[i].ban;
	free(said);
	return err;
}

int verb_bans(const struct call *call)
{
	const struct options *o = call->options;
	struct prefixes prefixes = { 0 };
	struct ranges wanted = RANGES_EMPTY;
	struct state *state = NULL, *has_scopes;
	struct ban *bans = NULL;
	int64_t now = time(NULL);
	struct scoped scoped = { .wanted = &wanted };
	size_t n = 0, kept = 0;
	int err = prefixes_read(call->context, &prefixes, call->n, call->operands), status;

	if (!err)
		prefixes_warn_masked(&prefixes);
	for (size_t i = 0; i < prefixes.n && !err; i++)
		err = ranges_add_prefix(&wanted, prefixes.at[i].first, prefixes.at[i].length);
	if (!err)
		err = ranges_finish(&wanted) ?:
		      state_open(&state, call->context, false) ?:
		      (o->from ? read_from(state, o->from, &bans, &n) : state_bans(state, &bans, &n));
	for (size_t i = 0; i < n && !err; i++)
		if (is_wanted(&bans[i], o, &wanted, now))
			bans[kept++] = bans[i];
	has_scopes = asks_for_more(o) ? NULL : state;
	if (!err && o->count && has_scopes)
		err = each_scoped(state, &scoped);
	if (!err)
		sort(bans, kept, o->sort);
	if (err)
		status = fail("%s", reason(err));
	else if (o->count)
		status = print_count(call->context, kept + scoped.n);
	else
		status = print_all(call->context, bans, kept, now, is_whole(call), has_scopes, &scoped);
	state_close(state);
	free(bans);
	prefixes_free(&prefixes);
	ranges_free(&wanted);
	return status;
}
