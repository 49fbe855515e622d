// SPDX-License-Identifier: GPL-2.0-only
/* fleet alone: who has said what, and how it goes with the server */
#include <time.h>

#include "base/clock.h"
#include "base/span.h"
#include "change/accounts.h"
#include "change/waiting.h"
#include "observe/fleet_view.h"
#include "state/state.h"
#include "verbs/fleet.h"
#include "verbs/verbs.h"

struct shown {
	const struct member *is;
	const struct member_limits *limits;
	bool accepted;
	int64_t held;
	size_t waiting;			/* of these */
	const char *need;		/* of the first that is needed still, or NULL */
	const struct member_seen *seen; /* NULL: by no server */
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

/* Whatever came last: a ban, or that it is there. */
static int64_t last_word(const struct shown *s)
{
	int64_t seen = s->seen ? s->seen->heard / 1000 : 0;

	return seen > s->is->heard ? seen : s->is->heard;
}

static json_t *member_json(const struct shown *s)
{
	const struct member *m = s->is;
	const struct member_seen *seen = s->seen;
	char heard[UTC_TEXT_MAX];
	int64_t word = last_word(s);
	json_t *of = json_pack("{s:s, s:s, s:b, s:o, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:o}", "member", m->name,
			       "rule", rule_word(s), "own_rule", m->rule != MEMBER_BY_ANY, "limits",
			       s->accepted ? limits_json(s->limits) : json_null(), "bans", (json_int_t)s->held,
			       "waiting", (json_int_t)s->waiting, "needed", s->need ? out_text(s->need) : json_null(),
			       "last_word", word ? json_string(utc_text(heard, word)) : json_null(), "taken",
			       (json_int_t)m->taken, "ended", (json_int_t)m->ended, "refused", (json_int_t)m->refused,
			       "refused_last", m->why[0] ? out_text(m->why) : json_null());

	json_object_set_new(of, "server",
			    !seen ? json_null()
				  : json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "entries", (json_int_t)seen->entries,
					      "gaps", (json_int_t)seen->gaps, "malformed", (json_int_t)seen->bad,
					      "trouble", seen->why[0] ? out_text(seen->why) : json_null(), "p50_ms",
					      seen->p50 < 0 ? json_null() : json_real(seen->p50), "p99_ms",
					      seen->p99 < 0 ? json_null() : json_real(seen->p99)));
	return of;
}

#define TOOK_MAX 16

static const char *took(char text[TOOK_MAX], double ms)
{
	if (ms < 0)
		return "-";
	snprintf(text, TOOK_MAX, ms < 9999.5 ? "%.0f ms" : "%.3g s", ms < 9999.5 ? ms : ms / 1e3);
	return text;
}

static void member_text(const struct shown *s, bool joined, int64_t now)
{
	const struct member *m = s->is;
	char ago[SPAN_TEXT_MAX] = "-", half[TOOK_MAX], most[TOOK_MAX];
	int64_t word = last_word(s);

	if (word)
		span_text(ago, now > word ? now - word : 0);
	printf("%-32s %-9s %9lld %10lld %10lld %10lld", m->name, rule_word(s), (long long)s->held, (long long)m->taken,
	       (long long)m->ended, (long long)m->refused);
	if (joined)
		printf(" %8s %8s", took(half, s->seen ? s->seen->p50 : -1), took(most, s->seen ? s->seen->p99 : -1));
	printf("  %s\n", ago);
	if (s->waiting)
		printf("  waiting until this machine needs it no more: %zu%s%s\n", s->waiting, s->need ? "; " : "",
		       s->need ?: "");
	if (m->why[0])
		printf("  refused last: %s\n", m->why);
	if (s->seen && (s->seen->gaps || s->seen->bad))
		printf("  gaps: %lld, malformed: %lld, last: %s\n", (long long)s->seen->gaps, (long long)s->seen->bad,
		       s->seen->why);
}

static bool is_word(const char *say)
{
	return !strcmp(say, FLEET_SAY_ALL) || !strcmp(say, FLEET_SAY_ADD) || !strcmp(say, FLEET_SAY_DETECTOR);
}

static void server_text(const struct fleet_view *v)
{
	const struct fleet_seen *seen = &v->seen;
	char since[UTC_TEXT_MAX];

	printf("%s at %s: ", v->is.name, v->is.url);
	if (!v->runs)
		puts("nobody takes part in it: xdp-bloom run does");
	else if (!v->known)
		puts("it begins");
	else if (seen->up)
		printf("up since %s, %s; its clock %+lld ms, %lld ms away\n", utc_text(since, seen->since),
		       seen->version, (long long)seen->offset, (long long)seen->rtt);
	else
		printf("DOWN since %s: %s\n", utc_text(since, seen->since), seen->why);
	printf("  says %s%s%s: %lld entries, %s", is_word(v->is.say) ? "" : "what begins with '", v->is.say,
	       is_word(v->is.say) ? "" : "'", (long long)v->is.n, v->is.all ? "all is said again" : "");
	if (!v->is.all)
		printf("%lld wait", (long long)v->waiting);
	putchar('\n');
	if (seen->lost_at)
		printf("  at %s: %s\n", utc_text(since, seen->lost_at), seen->lost);
	if (v->known && seen->unsaid[0])
		printf("  the server refuses it: %s\n", seen->unsaid);
}

struct showing {
	const struct context *context;
	struct fleet_view view;
	struct member *members;
	struct said_count *counts;
	struct waiting *waiting;
	size_t n, counts_n, waiting_n;
	json_t *array; /* NULL: as text */
};

static void show_member(const struct showing *w, const struct member *m)
{
	const struct member *any = w->n && !strcmp(w->members->name, MEMBER_ANY) ? w->members : NULL;
	struct shown s = { .is = m, .seen = fleet_seen_of(&w->view.seen, m->name) };

	s.limits = member_limits_of(m, any, &s.accepted);
	for (size_t k = 0; k < w->counts_n; k++)
		if (m->id && w->counts[k].member == m->id)
			s.held = w->counts[k].n;
	for (size_t k = 0; k < w->waiting_n; k++) {
		if (strcmp(w->waiting[k].member, m->name) != 0)
			continue;
		s.waiting++;
		if (!s.need && w->waiting[k].need[0])
			s.need = w->waiting[k].need;
	}
	if (w->array)
		json_array_append_new(w->array, member_json(&s));
	else
		member_text(&s, w->view.joined, time(NULL));
}

static bool is_member(const struct showing *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->members[i].name, name))
			return true;
	return false;
}

static int print(struct showing *w)
{
	const struct fleet_seen *seen = &w->view.seen;
	bool any = w->n || seen->n;

	if (!w->array && w->view.joined)
		server_text(&w->view);
	if (!w->array && any)
		printf("%-32s %-9s %9s %10s %10s %10s%s  %s\n", "MEMBER", "RULE", "BANS", "TAKEN", "ENDED", "REFUSED",
		       w->view.joined ? "      P50      P99" : "", "LAST WORD");
	for (size_t i = 0; i < w->n; i++)
		show_member(w, &w->members[i]);
	/* Those that have said nothing yet. */
	for (size_t i = 0; i < seen->n; i++) {
		struct member none = { .limits = member_limits_default };

		memcpy(none.name, seen->members[i].name, sizeof(none.name));
		if (!is_member(w, none.name))
			show_member(w, &none);
	}
	if (w->array)
		return out_json(w->context,
				json_pack("{s:O, s:o}", "members", w->array, "server", out_fleet(&w->view)));
	if (!any)
		puts("no member is accepted; as in: xdp-bloom fleet accept edge-7");
	return out_end();
}

int fleet_show(const struct context *context)
{
	struct showing w = { .context = context, .array = context->json ? json_array() : NULL };
	struct state *state = NULL;
	int err = state_open(&state, context, false) ?:
		  state_members(state, &w.members, &w.n) ?:
		  state_said_counts(state, &w.counts, &w.counts_n) ?:
		  waiting_read(state, &w.waiting, &w.waiting_n) ?:
		  fleet_view_take(&w.view, context, state),
	    status;

	status = err ? fail("fleet: %s", reason(err)) : print(&w);
	json_decref(w.array);
	fleet_view_free(&w.view);
	free(w.counts);
	free(w.waiting);
	free(w.members);
	state_close(state);
	return status;
}
