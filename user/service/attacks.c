// SPDX-License-Identifier: GPL-2.0-only
#include "service/attacks.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/span.h"
#include "filter/limits.h"
#include "kernel/detect.h"
#include "kernel/live.h"
#include "state/events.h"

#define EVERY_MS 1000
/* So long nobody is above a limit, and it is over. */
#define QUIET_MS 60000
/* Two CPUs that meet at one bucket leave a packet or two without a place: that is no attack. */
#define UNTRACKED_FEW 100

void attacks_expect(struct attacks *a, bool expected)
{
	if (!expected)
		attacks_end(a);
	a->expected = expected;
}

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

/* Sources that find no place are more than the detector can tell apart. */
static const char *kind(const struct attacks *a)
{
	return a->untracked > a->above ? "more sources than there is room for"
	       : a->sources > 1	       ? "many sources"
				       : "one source";
}

static void say(struct attacks *a, time_t ended)
{
	char began[UTC_TEXT_MAX], end[UTC_TEXT_MAX], lasted[SPAN_TEXT_MAX], classes[96];
	unsigned long long generation = kernel_live_generation(a->context);
	struct event what = { .kind = EVENT_ATTACK, .generation = generation };

	what.more = json_pack("{s:{s:s, s:o, s:s, s:I, s:s, s:o, s:I, s:I, s:I}}", "attack", "began",
			      utc_text(began, a->began), "ended",
			      ended ? json_string(utc_text(end, ended)) : json_null(), "kind", kind(a), "sources",
			      (json_int_t)a->sources, "busiest", a->busiest, "classes", classes_json(a), "above",
			      (json_int_t)a->above, "untracked", (json_int_t)a->untracked, "peak", (json_int_t)a->peak);
	if (!ended)
		event(a->context, what, "begins: %s%s%s above %s", kind(a), *a->busiest ? ", " : "", a->busiest,
		      classes_text(a, classes));
	else
		event(a->context, what,
		      "ended after %s: %s, at most %zu at a time, most often %s; %llu packets above %s, "
		      "%llu in the worst second",
		      span_text(lasted, ended - a->began), kind(a), a->sources,
		      *a->busiest ? a->busiest : "nobody known", (unsigned long long)(a->above + a->untracked),
		      classes_text(a, classes), (unsigned long long)a->peak);
}

void attacks_end(struct attacks *a)
{
	if (a->began)
		say(a, time(NULL) - (time_t)((clock_ms() - a->last) / 1000));
	a->began = 0;
	a->known = false;
}

static __u64 more(const struct attacks *a, const struct detector_sums *now, enum detected of)
{
	/* Another detector counts from 0. */
	return now->packets[of] < a->before.packets[of] ? now->packets[of] : now->packets[of] - a->before.packets[of];
}

static void note_more(struct attacks *a, const struct detector_sums *now, __u64 above, __u64 untracked)
{
	a->above += above;
	a->untracked += untracked;
	if (above + untracked > a->peak)
		a->peak = above + untracked;
	if (now->above > a->sources)
		a->sources = now->above;
	a->classes |= now->classes;
	if (now->over >= a->busiest_over) {
		a->busiest_over = now->over;
		memcpy(a->busiest, now->busiest, sizeof(a->busiest));
	}
}

void attacks_turn(struct attacks *a, int64_t now)
{
	struct detector_sums sums;
	__u64 above, untracked;
	bool begins;

	if (!a->expected || now < a->next)
		return;
	a->next = now + EVERY_MS;
	/* A tick before the last look: the clock of a packet may have been behind. */
	if (detector_sum(a->context, a->before.now ? a->before.now - detect_tick() : 0, &sums))
		return;
	above = a->known ? more(a, &sums, DETECTED_OVER) + more(a, &sums, DETECTED_DROPPED) : 0;
	untracked = a->known ? more(a, &sums, DETECTED_UNTRACKED) : 0;
	a->before = sums;
	a->known = true;
	if (above || untracked >= (a->began ? 1 : UNTRACKED_FEW)) {
		begins = !a->began;
		if (begins) {
			*a = (struct attacks){ .context = a->context,
					       .expected = true,
					       .known = true,
					       .before = a->before,
					       .next = a->next,
					       .began = time(NULL) };
		}
		a->last = now;
		note_more(a, &sums, above, untracked);
		if (begins)
			say(a, 0);
	} else if (a->began && now - a->last >= QUIET_MS) {
		attacks_end(a);
		a->known = true;
	}
}
