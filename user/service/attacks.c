// SPDX-License-Identifier: GPL-2.0-only
#include "service/attacks.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/span.h"
#include "filter/limits.h"
#include "kernel/detect.h"
#include "kernel/detect_seen.h"
#include "kernel/live.h"
#include "state/events.h"

#define EVERY_MS 1000
/* So long nobody is above a limit, and it is over. */
#define QUIET_MS 60000
/* Two CPUs that meet at one bucket leave a packet or two without a place: that is no attack. */
#define UNTRACKED_FEW 100
#define SAID_AGAIN_MS 5000
/* What is usual is that of about so long. */
#define USUAL_SECONDS 60
/* Long enough for a tick or more of the detector's clock, where it is looked at twice. */
#define MOMENT_MS 16

static json_t *classes_json(const struct attacks *a)
{
	json_t *array = json_array();

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (a->classes & 1u << class)
			json_array_append_new(array, json_string(limit_names[class]));
	return array;
}

static const char *classes_text(const struct attacks *a, char text[96])
{
	size_t n = 0;

	snprintf(text, 96, "a limit that is not known");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (a->classes & 1u << class)
			n += (size_t)snprintf(text + n, 96 - n, "%s%s", n ? ", " : "the limit of ", limit_names[class]);
	return text;
}

/* What it looked like in most of its packets. */
static enum attack_kind kind_of(const struct attacks *a)
{
	enum attack_kind most = ATTACK_ONE;

	for (enum attack_kind kind = 0; kind < ATTACK_UNKNOWN; kind++)
		if (a->kinds[kind].weight > a->kinds[most].weight)
			most = kind;
	return most;
}

#define LOOK_TEXT_MAX 160

/* "carpet of 203.0.113.0/24, SYN"; what a limit of packets or bytes is above is not a kind of its own. */
static const char *look_text(const struct attack_look *look, char text[LOOK_TEXT_MAX])
{
	const char *what = look->what.name;
	char name[ATTACK_WHAT_MAX];
	bool plain = !what || !strcmp(what, limit_names[CLASS_PACKETS]) || !strcmp(what, limit_names[CLASS_BYTES]);

	snprintf(text, LOOK_TEXT_MAX, "%s%s%s%s%s", attack_kinds[look->kind], *look->network ? " of " : "",
		 look->network, plain ? "" : ", ", plain ? "" : attack_what_text(name, what, look->what.service));
	return text;
}

#define ABOVE_TEXT_MAX 160

/* With that many others, who is above a limit is not what it is about. */
static const char *above_text(const struct attacks *a, const struct attack_look *look, char text[ABOVE_TEXT_MAX])
{
	char classes[96];

	if (look->kind == ATTACK_FORGED)
		snprintf(text, ABOVE_TEXT_MAX, "; %s %.0f sources a second, hardly a packet of each",
			 a->strangers.at_least ? "more than" : "about", a->strangers.sources);
	else
		snprintf(text, ABOVE_TEXT_MAX, "%s%s above %s", *a->busiest ? ", " : "", a->busiest,
			 classes_text(a, classes));
	return text;
}

static json_t *string_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *attack_json(const struct attacks *a, const struct attack_look *look, time_t ended)
{
	char began[UTC_TEXT_MAX], end[UTC_TEXT_MAX];

	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:b, s:s, s:o, s:I, s:I, s:I}", "began",
			 utc_text(began, a->began), "ended", ended ? json_string(utc_text(end, ended)) : json_null(),
			 "kind", attack_kinds[look->kind], "what", string_or_null(look->what.name), "service",
			 string_or_null(look->what.service), "port",
			 look->what.service ? json_integer(look->what.port) : json_null(), "network",
			 string_or_null(look->network), "sources", (json_int_t)a->sources, "distinct",
			 (json_int_t)a->strangers.sources, "distinct_at_least", a->strangers.at_least, "busiest",
			 a->busiest, "classes", classes_json(a), "above", (json_int_t)a->above, "untracked",
			 (json_int_t)a->untracked, "peak", (json_int_t)a->peak);
}

static void say(struct attacks *a, time_t ended)
{
	const struct attack_look *look = &a->kinds[kind_of(a)].look;
	char lasted[SPAN_TEXT_MAX], classes[96], kind[LOOK_TEXT_MAX], above[ABOVE_TEXT_MAX];
	struct event what = { .kind = EVENT_ATTACK, .generation = kernel_live_generation(a->context) };

	what.more = json_pack("{s:o}", "attack", attack_json(a, look, ended));
	look_text(look, kind);
	if (!ended)
		event(a->context, what, "%s: %s%s", a->said_at ? "goes on" : "begins", kind,
		      above_text(a, look, above));
	else if (look->kind == ATTACK_FORGED)
		event(a->context, what, "ended after %s: %s%s", span_text(lasted, ended - a->began), kind,
		      above_text(a, look, above));
	else
		event(a->context, what,
		      "ended after %s: %s, at most %zu at a time, most often %s; %llu packets above %s, "
		      "%llu in the worst second",
		      span_text(lasted, ended - a->began), kind, a->sources, *a->busiest ? a->busiest : "nobody known",
		      (unsigned long long)(a->above + a->untracked), classes_text(a, classes),
		      (unsigned long long)a->peak);
}

/* And again where it turns out to be of another kind. */
static void say_kind(struct attacks *a, int64_t now)
{
	enum attack_kind kind = kind_of(a);

	if (a->said_at && (kind == a->said || now - a->said_at < SAID_AGAIN_MS))
		return;
	say(a, 0);
	a->said = kind;
	a->said_at = now;
}

static void forget(struct attacks *a)
{
	seen_free(&a->seen);
	a->known = false;
	a->usual = 0;
}

void attacks_end(struct attacks *a)
{
	if (a->began)
		say(a, time(NULL) - (time_t)((clock_ms() - a->last) / 1000));
	a->began = 0;
}

void attacks_close(struct attacks *a)
{
	attacks_end(a);
	forget(a);
}

void attacks_expect(struct attacks *a, bool expected)
{
	if (!expected)
		attacks_close(a);
	a->expected = expected;
}

static __u64 more(const struct attacks *a, const struct detector_sums *now, enum detected of)
{
	/* Another detector counts from 0. */
	return now->packets[of] < a->before.packets[of] ? now->packets[of] : now->packets[of] - a->before.packets[of];
}

/* What a look has found since the one before. */
struct second {
	struct detector_sums sums;
	__u64 since, above, untracked;
	struct strangers strangers;
	bool forged;
};

/* Where so many come, whether they are there in each part of a second is looked at, too. */
static bool is_forged(const struct attacks *a, const struct seen *now, const struct strangers *second)
{
	int64_t began = clock_ns(CLOCK_MONOTONIC);
	struct strangers moment;
	struct seen later;
	bool fresh;

	if (!strangers_are_many(second, a->usual))
		return false;
	poll(NULL, 0, MOMENT_MS);
	if (kernel_seen_all(a->context, &later))
		return false;
	fresh = strangers_between(&moment, now, &later) &&
		strangers_are_fresh(second, &moment, (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e9);
	seen_free(&later);
	return fresh;
}

static void count_strangers(struct attacks *a, const struct seen *now, struct second *s)
{
	if (!strangers_between(&s->strangers, &a->seen, now))
		return;
	if (a->usual <= 0)
		a->usual = fmax(1, s->strangers.sources);
	s->forged = is_forged(a, now, &s->strangers);
	if (!a->began && !s->forged)
		a->usual += (s->strangers.sources - a->usual) / USUAL_SECONDS;
}

static void note_kind(struct attacks *a, const struct seen *now, const struct second *s)
{
	__u64 weight = s->above + s->untracked;
	struct attack_look look;

	attack_look_at(&look, now, s->since, s->above, s->untracked);
	if (s->forged) {
		look = (struct attack_look){ .kind = ATTACK_FORGED };
		weight += (__u64)s->strangers.sources;
	}
	a->kinds[look.kind].weight += weight;
	if (weight < a->kinds[look.kind].most)
		return;
	a->kinds[look.kind].most = weight;
	a->kinds[look.kind].look = look;
}

static void note_more(struct attacks *a, const struct second *s)
{
	a->above += s->above;
	a->untracked += s->untracked;
	if (s->above + s->untracked > a->peak)
		a->peak = s->above + s->untracked;
	if (s->sums.above > a->sources)
		a->sources = s->sums.above;
	if (s->strangers.sources > a->strangers.sources)
		a->strangers = s->strangers;
	a->classes |= s->sums.classes;
	if (s->sums.over >= a->busiest_over) {
		a->busiest_over = s->sums.over;
		memcpy(a->busiest, s->sums.busiest, sizeof(a->busiest));
	}
}

static void begin(struct attacks *a)
{
	*a = (struct attacks){ .context = a->context,
			       .expected = true,
			       .known = true,
			       .seen = a->seen,
			       .before = a->before,
			       .usual = a->usual,
			       .next = a->next,
			       .began = time(NULL) };
}

static void look(struct attacks *a, struct seen *now, int64_t ms)
{
	/* A tick before the last look: the clock of a packet may have been behind. */
	struct second s = { .since = a->before.now ? a->before.now - detect_tick() : 0 };

	detector_sums_of(now, s.since, &s.sums);
	if (a->known) {
		s.above = more(a, &s.sums, DETECTED_OVER) + more(a, &s.sums, DETECTED_DROPPED) +
			  more(a, &s.sums, DETECTED_BANNED);
		s.untracked = more(a, &s.sums, DETECTED_UNTRACKED);
		count_strangers(a, now, &s);
	}
	a->before = s.sums;
	a->known = true;
	if (s.above || s.forged || s.untracked >= (a->began ? 1 : UNTRACKED_FEW)) {
		if (!a->began)
			begin(a);
		a->last = ms;
		note_more(a, &s);
		note_kind(a, now, &s);
		say_kind(a, ms);
	} else if (a->began && ms - a->last >= QUIET_MS) {
		attacks_end(a);
	}
}

void attacks_turn(struct attacks *a, int64_t now)
{
	struct seen seen;
	int err;

	if (!a->expected || now < a->next)
		return;
	a->next = now + EVERY_MS;
	err = kernel_seen_all(a->context, &seen);
	if (err && !err_is(err, ENOENT))
		return;
	look(a, &seen, now);
	seen_free(&a->seen);
	a->seen = seen;
}
