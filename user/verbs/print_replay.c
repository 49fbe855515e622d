// SPDX-License-Identifier: GPL-2.0-only
#include "base/clock.h"
#include "observe/senders_json.h"
#include "verbs/replay.h"
#include "verbs/verbs.h"

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static uint64_t judged(const struct replay *r)
{
	return r->passed.packets + r->dropped.packets;
}

/* --- Text --------------------------------------------------------------------------------------------------------- */

static void print_tally(const char *what, const struct tally *t, uint64_t of)
{
	char bytes[BYTES_TEXT_MAX];

	printf("%-10s %14llu packets %12s", what, (unsigned long long)t->packets, bytes_text(bytes, t->bytes));
	if (of)
		printf(" %6.1f %%", share(t->packets, of));
	putchar('\n');
}

static void print_sums(const struct replayed *r)
{
	const struct replay *s = r->replay;
	char first[UTC_TEXT_MAX], last[UTC_TEXT_MAX];

	if (s->last)
		printf("from       %s to %s\n", utc_text(first, (int64_t)(s->first / 1000000000)),
		       utc_text(last, (int64_t)(s->last / 1000000000)));
	print_tally("passed", &s->passed, judged(s));
	print_tally("dropped", &s->dropped, judged(s));
	if (s->unparsed.packets)
		print_tally("unparsed", &s->unparsed, judged(s));
	if (s->hidden.packets)
		print_tally("hidden", &s->hidden, judged(s));
	if (s->too_short.packets)
		print_tally("too short", &s->too_short, 0);
	if (s->outgoing.packets)
		print_tally("outgoing", &s->outgoing, 0);
}

static const char *kind_of(const struct replayed *r, unsigned int label)
{
	for (size_t i = 0; i < r->e->n; i++)
		if (r->e->lists[i].label == label && r->e->lists[i].kind == LIST_SHADOW)
			return " (shadow: they pass)";
	return "";
}

static void print_lists(const struct replayed *r)
{
	const char *what = "lists";

	for (unsigned int label = 0; label <= LABELS; label++) {
		const struct tally *t = &r->replay->list[label];
		char bytes[BYTES_TEXT_MAX];

		if (!t->packets)
			continue;
		printf("%-10s %-43s %14llu packets %12s%s\n", what, replayed_list(r->e, label) ?: "(none is known)",
		       (unsigned long long)t->packets, bytes_text(bytes, t->bytes), kind_of(r, label));
		what = "";
	}
}

static const char *entry_text(char text[HIT_TEXT_MAX], const struct replay_entry *e)
{
	return hit_text(text, &(struct hit){ .lo = e->lo, .hi = e->hi }, e->family);
}

/* What sent least is forgotten where there are too many sources, and then no entry has it. */
static bool entries_are_exact(const struct replayed *r)
{
	return !r->replay->sources.floor;
}

static void print_entries(const struct replayed *r)
{
	for (size_t i = 0; i < r->entries_n && i < r->top; i++) {
		const struct replay_entry *e = &r->entries[i];
		char text[HIT_TEXT_MAX], line[LIST_NAME_MAX + 32];

		snprintf(line, sizeof(line), e->line ? "%s:%llu" : "%s", r->e->lists[e->list].name,
			 (unsigned long long)e->line);
		printf("%-10s %-43s %14llu packets%s  %s\n", i ? "" : "entries", entry_text(text, e),
		       (unsigned long long)e->dropped.packets, entries_are_exact(r) ? "" : " at least", line);
	}
}

static void print_sources(const struct replayed *r, const char *what, const struct replay_source *const *who, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[PREFIX_TEXT_MAX], bytes[BYTES_TEXT_MAX];

		printf("%-10s %-43s %14llu packets %12s", i ? "" : what,
		       prefix_text(text, (struct addr){ who[i]->num, who[i]->family }, -1),
		       (unsigned long long)who[i]->packets, bytes_text(bytes, who[i]->bytes));
		if (who[i]->error)
			printf("  up to %llu more", (unsigned long long)who[i]->error);
		if (who[i]->fate == FATE_DROPPED && !who[i]->by_filter && replayed_list(r->e, who[i]->label))
			printf("  %s", replayed_list(r->e, who[i]->label));
		putchar('\n');
	}
}

/* The seconds with the most of dropped packets. */
static void print_seconds(const struct replayed *r)
{
	const struct replay *s = r->replay;
	const struct replay_second *most = NULL;
	char when[UTC_TEXT_MAX];

	for (size_t i = 0; i < s->seconds_n; i++)
		if (!most || s->seconds[i].dropped.packets > most->dropped.packets)
			most = &s->seconds[i];
	if (most && most->dropped.packets)
		printf("peak       %llu packets dropped and %llu passed in the second of %s\n",
		       (unsigned long long)most->dropped.packets, (unsigned long long)most->passed.packets,
		       utc_text(when, most->second));
}

int replayed_text(const struct context *context, const struct replayed *r)
{
	print_sums(r);
	print_seconds(r);
	print_lists(r);
	print_entries(r);
	print_sources(r, "dropped", r->dropped, r->dropped_n);
	print_sources(r, "passed", r->passed, r->passed_n);
	if (r->replay->senders) {
		json_t *detect = NULL;

		if (senders_json(r->replay->senders, 1, &detect))
			return fail("replay: no memory");
		putchar('\n');
		print_senders(context, detect);
		json_decref(detect);
	}
	return out_end();
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static json_t *tally_json(const struct tally *t)
{
	return json_pack("{s:I, s:I}", "packets", (json_int_t)t->packets, "bytes", (json_int_t)t->bytes);
}

static json_t *lists_json(const struct replayed *r)
{
	json_t *array = json_array();

	for (unsigned int label = 0; label <= LABELS; label++) {
		const struct tally *t = &r->replay->list[label];
		const char *name = replayed_list(r->e, label);

		if (t->packets)
			json_array_append_new(array, json_pack("{s:s?, s:b, s:I, s:I}", "list", name, "shadow",
							       *kind_of(r, label) != 0, "packets",
							       (json_int_t)t->packets, "bytes", (json_int_t)t->bytes));
	}
	return array;
}

static json_t *entries_json(const struct replayed *r)
{
	json_t *array;

	if (!r->traced)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < r->entries_n; i++) {
		const struct replay_entry *e = &r->entries[i];
		char text[HIT_TEXT_MAX];

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:o, s:I, s:I, s:I, s:b}", "list",
						r->e->lists[e->list].name, "entry", entry_text(text, e), "line",
						e->line ? json_integer((json_int_t)e->line) : json_null(), "sources",
						(json_int_t)e->sources, "packets", (json_int_t)e->dropped.packets,
						"bytes", (json_int_t)e->dropped.bytes, "exact", entries_are_exact(r)));
	}
	return array;
}

static json_t *sources_json(const struct replayed *r, const struct replay_source *const *who, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		bool listed = who[i]->fate != FATE_PASSED && !who[i]->by_filter;
		char text[PREFIX_TEXT_MAX];

		json_array_append_new(array,
				      json_pack("{s:s, s:s?, s:I, s:I, s:I}", "address",
						prefix_text(text, (struct addr){ who[i]->num, who[i]->family }, -1),
						"list", listed ? replayed_list(r->e, who[i]->label) : NULL, "packets",
						(json_int_t)who[i]->packets, "bytes", (json_int_t)who[i]->bytes,
						"error", (json_int_t)who[i]->error));
	}
	return array;
}

static json_t *seconds_json(const struct replay *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->seconds_n; i++) {
		const struct replay_second *second = &s->seconds[i];
		char when[UTC_TEXT_MAX];

		json_array_append_new(array,
				      json_pack("{s:s, s:o, s:o}", "time", utc_text(when, second->second), "passed",
						tally_json(&second->passed), "dropped", tally_json(&second->dropped)));
	}
	return array;
}

int replayed_json(const struct context *context, const struct replayed *r)
{
	const struct replay *s = r->replay;
	json_t *sources, *detect = NULL;

	if (s->senders && senders_json(s->senders, 1, &detect))
		return fail("replay: no memory");
	sources =
		json_pack("{s:o, s:o, s:o}", "known",
			  s->sources.floor ? json_null() : json_integer((json_int_t)s->sources.n), "dropped",
			  sources_json(r, r->dropped, r->dropped_n), "passed", sources_json(r, r->passed, r->passed_n));
	return out_json(context,
			json_pack("{s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o*}",
				  "file", out_text(r->file), "against", r->against, "cut", r->cut, "passed",
				  tally_json(&s->passed), "dropped", tally_json(&s->dropped), "unparsed",
				  tally_json(&s->unparsed), "hidden", tally_json(&s->hidden), "too_short",
				  tally_json(&s->too_short), "outgoing", tally_json(&s->outgoing), "lists",
				  lists_json(r), "entries", entries_json(r), "sources", sources, "seconds",
				  seconds_json(s), "without_second", (json_int_t)s->without_second, "detect", detect));
}
