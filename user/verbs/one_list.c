// SPDX-License-Identifier: GPL-2.0-only
/* lists NAME: where it comes from, how old it is, what others hold of it, what it drops */
#include <time.h>

#include "base/clock.h"
#include "kernel/counters.h"
#include "observe/history.h"
#include "sets/address.h"
#include "observe/documents.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "verbs/verbs.h"

#define BUSIEST 10

struct busy {
	struct addr first;
	unsigned int length;
	uint64_t samples;
	double packets; /* what they stand for */
};

struct one {
	const struct context *context;
	struct list_info list, *lists;
	struct ranges set;
	size_t n;
	bool image;	   /* its lists have no sets */
	uint64_t *shared4; /* addresses that other lists hold, too */
	ip6 *shared6;
	bool counted;
	struct tally drops;
	__u64 unread; /* by its scope */
	struct busy busiest[TOP_ENTRIES];
	size_t busiest_n;
};

static int find_overlap(struct one *o, struct state *state)
{
	int err = 0;

	o->shared4 = calloc(o->n + 1, sizeof(*o->shared4));
	o->shared6 = calloc(o->n + 1, sizeof(*o->shared6));
	if (!o->shared4 || !o->shared6)
		return -ENOMEM;
	for (size_t i = 0; i < o->n && !err; i++) {
		struct ranges other = RANGES_EMPTY, both = RANGES_EMPTY;

		if (!strcmp(o->lists[i].name, o->list.name))
			continue;
		err = state_list_set(state, o->lists[i].name, &other) ?: ranges_intersect(&both, &o->set, &other);
		if (!err) {
			o->shared4[i] = ranges_count4(&both);
			o->shared6[i] = ranges_count6(&both);
		}
		ranges_free(&other);
		ranges_free(&both);
	}
	return err;
}

static int by_packets(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	return (y->packets > x->packets) - (y->packets < x->packets);
}

/* Of the last hour's most frequent sources those that it holds, by what holds them. */
static void find_busiest(struct one *o)
{
	static struct history_report report;
	struct history *history = NULL;

	if (history_open(o->context, &history, false))
		return;
	if (history_read(history, (uint64_t)time(NULL), HISTORY_HOUR, &report))
		memset(&report, 0, sizeof(report));
	history_close(history);
	for (size_t i = 0; i < TOP_ENTRIES && report.sums.top[TOP_SOURCES][i].family; i++) {
		const struct top_entry *e = &report.sums.top[TOP_SOURCES][i];
		struct addr source = { e->family == 6 ? (ip6)e->hi << 64 | e->lo : e->lo, (int)e->family };
		int length = ranges_covering(&o->set, source);
		size_t at = 0;

		if (length < 0)
			continue;
		source.num &= ~addr_mask(source.family, (unsigned int)length);
		while (at < o->busiest_n &&
		       (o->busiest[at].first.family != source.family || o->busiest[at].first.num != source.num))
			at++;
		if (at == o->busiest_n)
			o->busiest[o->busiest_n++] = (struct busy){ source, (unsigned int)length, 0, 0 };
		o->busiest[at].samples += e->samples;
		o->busiest[at].packets += e->packets;
	}
	qsort(o->busiest, o->busiest_n, sizeof(o->busiest[0]), by_packets);
	if (o->busiest_n > BUSIEST)
		o->busiest_n = BUSIEST;
}

static int take(struct one *o, struct state *state, const char *name)
{
	struct counted counted;
	size_t i = 0;
	int err = lists_in_force(state, &o->lists, &o->n);

	while (!err && i < o->n && strcmp(o->lists[i].name, name))
		i++;
	if (!err && i == o->n)
		err = because_no_list(state, name);
	if (err)
		return err;
	o->list = o->lists[i];
	o->image = image_kept(state);
	if (!o->image || o->list.kind == LIST_ALLOW)
		err = state_list_set(state, name, &o->set) ?: find_overlap(o, state);
	if (!err && list_counts(&o->list) && !kernel_counters(o->context, &counted)) {
		o->drops = counted.list[o->list.label];
		o->unread = counted.unread[o->list.label].packets;
		o->counted = true;
	}
	if (!err)
		find_busiest(o);
	return err;
}

static bool overlaps(const struct one *o, size_t i)
{
	return o->shared4 && (o->shared4[i] || o->shared6[i]);
}

static int print_text(const struct one *o, const struct list_failure *failure)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], bytes[BYTES_TEXT_MAX], prefix[PREFIX_TEXT_MAX], when[UTC_TEXT_MAX];

	printf("%-11s %s (%s)\n", "list", o->list.name, list_kind_names[o->list.kind]);
	out_line("%-11s %s%s%s", "source", o->list.source, o->list.where[0] ? " where " : "", o->list.where);
	if (o->list.scope[0])
		printf("%-11s %s\n", "only", o->list.scope);
	printf("%-11s %s\n", "loaded", o->list.loaded);
	if (failure)
		out_line("%-11s since %s: %s", "refused", utc_text(when, failure->since), failure->why);
	printf("%-11s %llu prefixes, %s addresses\n", "entries", (unsigned long long)o->list.prefixes,
	       o->list.addresses);
	for (size_t i = 0; i < o->n; i++)
		if (overlaps(o, i))
			printf("%-11s %s: %s IPv4 and %s IPv6 addresses of it\n", "overlap", o->lists[i].name,
			       number_text(a, o->shared4[i]), number_text(b, o->shared6[i]));
	if (o->counted)
		printf("%-11s %llu packets, %s\n", o->list.kind == LIST_SHADOW ? "would drop" : "dropped",
		       (unsigned long long)o->drops.packets, bytes_text(bytes, o->drops.bytes));
	if (o->counted && o->unread)
		printf("%-11s %llu packets, whose port could not be read\n", "passed", (unsigned long long)o->unread);
	for (size_t i = 0; i < o->busiest_n; i++)
		printf("%-11s %-43s about %.0f packets in the last hour\n", i ? "" : "busiest",
		       prefix_text(prefix, o->busiest[i].first, (int)o->busiest[i].length), o->busiest[i].packets);
	return out_end();
}

static int print_json(const struct one *o, const struct list_failure *failure)
{
	json_t *overlap = json_array(), *busiest = json_array();
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], prefix[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < o->n; i++)
		if (overlaps(o, i))
			json_array_append_new(overlap, json_pack("{s:s, s:s, s:s}", "list", o->lists[i].name, "ipv4",
								 number_text(a, o->shared4[i]), "ipv6",
								 number_text(b, o->shared6[i])));
	for (size_t i = 0; i < o->busiest_n; i++)
		json_array_append_new(busiest,
				      json_pack("{s:s, s:I, s:f}", "entry",
						prefix_text(prefix, o->busiest[i].first, (int)o->busiest[i].length),
						"samples", (json_int_t)o->busiest[i].samples, "packets",
						o->busiest[i].packets));
	return out_json(o->context,
			json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
				  o->list.name, "kind", list_kind_names[o->list.kind], "prefixes",
				  (json_int_t)o->list.prefixes, "addresses", o->list.addresses, "source",
				  o->list.source, "loaded", o->list.loaded, "refused", out_failure(failure), "overlap",
				  overlap, "drops",
				  o->counted ? json_pack("{s:I, s:I}", "packets", (json_int_t)o->drops.packets, "bytes",
							 (json_int_t)o->drops.bytes)
					     : json_null(),
				  "busiest", busiest, "where", out_where(&o->list), "scope", scope_json(o->list.scope),
				  "unread",
				  o->counted && o->list.scope[0] ? json_integer((json_int_t)o->unread) : json_null()));
}

int one_list(const struct context *context, const char *name)
{
	struct one o = { .context = context, .set = RANGES_EMPTY };
	struct list_failure *failed = NULL;
	const struct list_failure *failure;
	struct state *state = NULL;
	size_t failed_n = 0;
	int err = state_open(&state, context, false) ?: take(&o, state, name), status;

	state_close(state);
	if (err) {
		status = fail("%s", reason(err));
	} else {
		list_failures(context, &failed, &failed_n);
		failure = list_failure_of(failed, failed_n, name);
		status = context->json ? print_json(&o, failure) : print_text(&o, failure);
	}
	free(failed);
	free(o.lists);
	free(o.shared4);
	free(o.shared6);
	ranges_free(&o.set);
	return status;
}
