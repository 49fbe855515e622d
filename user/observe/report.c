// SPDX-License-Identifier: GPL-2.0-only
#include "observe/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "sets/address.h"
#include "base/out.h"
#include "observe/attack_log.h"
#include "observe/documents.h"
#include "observe/packet.h"
#include "observe/weigh.h"

const char *const top_names[TOPS] = { "sources", "networks", "ports", "inside" };

/* Those that were not over when the window began. */
static json_t *detected_since(const struct context *context, uint64_t from)
{
	json_t *all = attack_log(context->state), *these = json_array(), *attack;
	char began[UTC_TEXT_MAX];
	size_t i;

	utc_text(began, (int64_t)from);
	json_array_foreach(all, i, attack)
	{
		const char *ended = json_string_value(json_object_get(attack, "ended"));

		if (from && (!ended || strcmp(ended, began) >= 0))
			json_array_append(these, attack);
	}
	json_decref(all);
	return these;
}

void report_end(struct report *r)
{
	networks_close(r->networks);
	r->networks = NULL;
	json_decref(r->detected);
	r->detected = NULL;
}

int report_take(const struct context *context, struct report *r, enum history_window window, unsigned int top)
{
	struct history *history = NULL;
	int err = history_open(context, &history, false);

	memset(r, 0, sizeof(*r));
	r->window = window;
	r->top = top;
	if (!err)
		err = history_read(history, (uint64_t)time(NULL), window, &r->history);
	history_close(history);
	if (!err)
		r->networks = networks_open(context->state);
	if (!err)
		r->detected = detected_since(context, r->history.sums.from);
	return err;
}

const char *report_time(char buf[UTC_TEXT_MAX], uint64_t at)
{
	return at ? utc_text(buf, (int64_t)at) : "-";
}

static struct addr entry_addr(const struct top_entry *e)
{
	return (struct addr){ (ip6)e->hi << 64 | e->lo, (int)e->family };
}

static unsigned int entry_length(enum top top, const struct top_entry *e)
{
	return top != TOP_NETWORKS ? addr_width((int)e->family) : e->family == 4 ? 24 : 48;
}

const char *report_network(char buf[NETWORK_TEXT_MAX], const struct networks *networks, enum top top,
			   const struct top_entry *e)
{
	buf[0] = '\0';
	return top == TOP_PORTS ? buf : networks_text(buf, networks, entry_addr(e), entry_length(top, e));
}

const char *report_entry(char buf[64], enum top top, const struct top_entry *e)
{
	struct addr addr = entry_addr(e);
	char protocol[16];

	if (top == TOP_PORTS) {
		int n = snprintf(buf, 64, "%s", packet_protocol((int)e->hi, protocol));

		if (e->lo)
			snprintf(buf + n, 64 - (size_t)n, " %d", (int)e->lo - 1);
		return buf;
	}
	return prefix_text(buf, addr, top != TOP_NETWORKS ? -1 : e->family == 4 ? 24 : 48);
}

static int by_packets(const void *a, const void *b, void *report)
{
	const struct history_report *h = report;
	const unsigned int *x = a, *y = b;
	uint64_t one = h->sums.list[*x].packets, two = h->sums.list[*y].packets;

	return one == two ? strcmp(h->lists[*x].name, h->lists[*y].name) : one > two ? -1 : 1;
}

size_t report_lists(const struct history_report *h, unsigned int sorted[LABELS])
{
	size_t n = 0;

	for (unsigned int place = 0; place < LABELS; place++)
		if (h->sums.list[place].packets)
			sorted[n++] = place;
	if (n)
		qsort_r(sorted, n, sizeof(sorted[0]), by_packets, (void *)h);
	return n;
}

const char *report_list(const struct history_report *h, unsigned int place)
{
	return h->lists[place].name[0] ? h->lists[place].name : "(no list named)";
}

static void text_top(const struct report *r, enum top top)
{
	char entry[64], network[NETWORK_TEXT_MAX];

	for (unsigned int i = 0; i < r->top && r->history.sums.top[top][i].family; i++) {
		const struct top_entry *e = &r->history.sums.top[top][i];

		report_network(network, r->networks, top, e);
		printf("%-10s %-43s %6.1f %% +-%4.1f  about %.0f packets%s%s\n", i ? "" : top_names[top],
		       report_entry(entry, top, e), 100 * weighed_share(&r->history.sums, e),
		       100 * weighed_error(&r->history.sums, e), e->packets, *network ? "  " : "", network);
	}
}

static void text_detected(const struct report *r)
{
	size_t n = json_array_size(r->detected);

	for (size_t i = n > r->top ? n - r->top : 0, first = i; i < n; i++) {
		const json_t *attack = json_array_get(r->detected, i);
		char lasted[SPAN_TEXT_MAX], kind[ATTACK_TEXT_MAX];

		out_line("%-10s %s (%s), %s, %llu packets above a limit, %lld in the worst second",
			 i == first ? "detected" : "", attack_field(attack, "began"), attack_lasted(lasted, attack),
			 attack_text(kind, attack), attack_packets(attack),
			 (long long)json_integer_value(json_object_get(attack, "peak")));
	}
}

int report_text(const struct report *r)
{
	const struct history_sums *s = &r->history.sums;
	unsigned int lists[LABELS];
	char a[32], b[32], bytes[BYTES_TEXT_MAX];
	size_t n = report_lists(&r->history, lists);

	printf("last %s   %s to %s\n", history_window_names[r->window], report_time(a, s->from),
	       report_time(b, s->until));
	printf("dropped    %llu packets, %s; %llu passed\n", (unsigned long long)s->verdict[DROPPED].packets,
	       bytes_text(bytes, s->verdict[DROPPED].bytes), (unsigned long long)s->verdict[PASSED].packets);
	if (s->leaving[DROPPED].packets || s->leaving[PASSED].packets)
		printf("leaving    %llu dropped, %s; %llu passed\n", (unsigned long long)s->leaving[DROPPED].packets,
		       bytes_text(bytes, s->leaving[DROPPED].bytes), (unsigned long long)s->leaving[PASSED].packets);
	printf("peak       %.0f packets a second at %s\n", s->peak, report_time(a, s->peak_at));
	for (size_t i = 0; i < n; i++)
		printf("%-10s %-20s %14llu packets %12s%s\n", i ? "" : "lists", report_list(&r->history, lists[i]),
		       (unsigned long long)s->list[lists[i]].packets, bytes_text(bytes, s->list[lists[i]].bytes),
		       r->history.lists[lists[i]].kind == LIST_SHADOW ? " (only counted)" : "");
	for (enum top t = 0; t < TOPS; t++)
		text_top(r, t);
	printf("samples    %llu, which stand for %.0f of the packets dropped; the tables below the lists come from them\n",
	       (unsigned long long)s->samples, s->weighed);
	for (unsigned int i = 0; i < r->history.attacks_n && i < r->top; i++) {
		const struct history_attack *attack = &r->history.attacks[i];

		printf("%-10s %s to %s, %llu packets, %s, peak %.0f a second\n", i ? "" : "attacks",
		       report_time(a, attack->begin), report_time(b, attack->end),
		       (unsigned long long)attack->dropped.packets, bytes_text(bytes, attack->dropped.bytes),
		       attack->peak);
	}
	text_detected(r);
	return out_end();
}

static json_t *time_json(uint64_t at)
{
	char buf[32];

	return at ? json_string(report_time(buf, at)) : json_null();
}

static json_t *tally_json(const struct tally *t)
{
	return json_pack("{s:I, s:I}", "packets", (json_int_t)t->packets, "bytes", (json_int_t)t->bytes);
}

json_t *report_top(const struct history_sums *s, enum top top, unsigned int n, const struct networks *networks)
{
	json_t *array = json_array();
	char entry[64];

	for (unsigned int i = 0; i < n && s->top[top][i].family; i++) {
		const struct top_entry *e = &s->top[top][i];

		/* The error was one of samples once. */
		json_t *one = json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "name", report_entry(entry, top, e),
					"samples", (json_int_t)e->samples, "error", (json_int_t)e->over, "packets",
					e->packets, "share", weighed_share(s, e), "share_error", weighed_error(s, e));

		if (top != TOP_PORTS)
			put_network(one, networks, entry_addr(e), entry_length(top, e));
		json_array_append_new(array, one);
	}
	return array;
}

/* Beside what came in. */
static json_t *leaving_json(const struct history_sums *s)
{
	return json_pack("{s:o, s:o}", "passed", tally_json(&s->leaving[PASSED]), "dropped",
			 tally_json(&s->leaving[DROPPED]));
}

static json_t *lists_json(const struct report *r)
{
	const struct history_report *h = &r->history;
	unsigned int lists[LABELS];
	size_t n = report_lists(h, lists);
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct history_list *list = &h->lists[lists[i]];
		const struct tally *t = &h->sums.list[lists[i]];

		json_array_append_new(array,
				      json_pack("{s:s?, s:s, s:I, s:I}", "name", list->name[0] ? list->name : NULL,
						"kind", list_kind_names[list->kind % 3], "packets",
						(json_int_t)t->packets, "bytes", (json_int_t)t->bytes));
	}
	return array;
}

static json_t *attacks_json(const struct report *r)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < r->history.attacks_n; i++) {
		const struct history_attack *attack = &r->history.attacks[i];

		json_array_append_new(array,
				      json_pack("{s:o, s:o, s:I, s:I, s:f}", "begin", time_json(attack->begin), "end",
						time_json(attack->end), "packets", (json_int_t)attack->dropped.packets,
						"bytes", (json_int_t)attack->dropped.bytes, "peak", attack->peak));
	}
	return array;
}

json_t *report_document(const struct report *r)
{
	const struct history_sums *s = &r->history.sums;
	json_t *document, *series = json_array();

	for (unsigned int i = 0; i < r->history.points_n; i++) {
		const struct history_point *p = &r->history.points[i];

		json_array_append_new(series, json_pack("[I, I, I]", (json_int_t)p->at, (json_int_t)p->passed,
							(json_int_t)p->dropped));
	}
	document = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:{s:f, s:o}, s:o, s:I, s:f}", "window",
			     history_window_names[r->window], "from", time_json(s->from), "until", time_json(s->until),
			     "passed", tally_json(&s->verdict[PASSED]), "dropped", tally_json(&s->verdict[DROPPED]),
			     "unparsed", tally_json(&s->verdict[UNPARSED]), "peak", "rate", s->peak, "at",
			     time_json(s->peak_at), "lists", lists_json(r), "samples", (json_int_t)s->samples,
			     "weighed", s->weighed);
	for (enum top t = 0; t < TOPS; t++)
		json_object_set_new(document, top_names[t], report_top(s, t, r->top, r->networks));
	json_object_set_new(document, "leaving", leaving_json(s));
	json_object_set_new(document, "attacks", attacks_json(r));
	if (r->detected)
		json_object_set(document, "detected", r->detected);
	json_object_set_new(document, "series", series);
	return document;
}

int report_json(const struct context *context, const struct report *r)
{
	return out_json(context, report_document(r));
}
