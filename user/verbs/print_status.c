// SPDX-License-Identifier: GPL-2.0-only
/* status on a screen, and as JSON */
#include "base/clean_text.h"
#include "base/clock.h"
#include "base/span.h"
#include "sets/address.h"
#include "kernel/device.h"
#include "observe/documents.h"
#include "verbs/status.h"
#include "verbs/verbs.h"

/* So many fit on a screen with all the rest. */
#define LISTS_SHOWN 8

#define MORE_TROUBLES "and %u more"

static const char *const words[] = { "sound", "degraded", "not filtering", "unknown" };

static double loaded_seconds(const struct status *s)
{
	return (double)(clock_boot() - (int64_t)s->live.loaded) / 1e9;
}

static void interfaces_text(const struct status *s)
{
	char name[IF_NAMESIZE], behind[BEHIND_TEXT_MAX], misses[DEVICE_TEXT_MAX];
	int n = 0;

	printf("interfaces  ");
	for (size_t i = 0; i < s->on_n; i++)
		if (!s->on[i].gone)
			printf("%s%s (%s%s%s%s%s)", n++ ? ", " : "", clean_copy(name, sizeof(name), s->on[i].name),
			       attach_mode_names[s->on[i].mode], s->on[i].shared ? ", shared" : "",
			       match_texts[s->on[i].match], behind_text(behind, s->on[i].behind),
			       s->on[i].moved ? ", in another network namespace" : "");
	puts(n ? "" : s->looked ? "none" : "not known");
	for (size_t i = 0; i < s->on_n; i++)
		if (s->on[i].behind)
			printf("            %s: who is asked before the filter may let %s what is banned: bpftool net show"
			       " dev %s\n",
			       clean_copy(name, sizeof(name), s->on[i].name),
			       MATCH_LEAVES(s->on[i].match) ? "out" : "in", name);
	for (size_t i = 0; i < s->on_n; i++)
		if (!s->on[i].gone && !s->on[i].moved && !MATCH_LEAVES(s->on[i].match) &&
		    device_gone_round(s->on[i].name, s->on[i].mode, misses))
			printf("            %s: %s\n", clean_copy(name, sizeof(name), s->on[i].name), misses);
}

static void packets_text(const struct status *s)
{
	if (s->passed >= 0)
		printf("packets     %.0f a second pass, %.0f a second are dropped\n", s->passed, s->dropped);
	else if (s->counted)
		printf("packets     %llu passed, %llu dropped in all%s\n",
		       (unsigned long long)s->sums.verdict[PASSED].packets,
		       (unsigned long long)s->sums.verdict[DROPPED].packets,
		       s->service ? "" : "; a service (xdp-bloom run) counts them by the second");
}

static void detector_text(const struct status *s)
{
	const struct detector_sums *d = &s->detector;
	char unseen[UNSEEN_TEXT_MAX];

	if (!d->in_force)
		return;
	if (d->above)
		printf("detector    %zu above a limit, most often %s (%llu packets): xdp-bloom detect\n", d->above,
		       d->busiest, (unsigned long long)d->over);
	else
		puts("detector    nobody is above a limit");
	if (d->banned)
		printf("            %zu banned by the detector alone; 'xdp-bloom bans' has the others\n", d->banned);
	if (detector_dropped(d->packets))
		printf("            %llu packets were dropped, %llu of them of who was banned\n",
		       (unsigned long long)detector_dropped(d->packets),
		       (unsigned long long)d->packets[DETECTED_BANNED]);
	if (d->packets[DETECTED_UNTRACKED])
		printf("            %llu packets of suspects found no place; room is for %zu\n",
		       (unsigned long long)d->packets[DETECTED_UNTRACKED], d->room);
	if (*detector_unseen(unseen, s->on, s->on_n))
		printf("            sees nothing of %s: " UNSEEN_WHY "\n", unseen);
}

static json_t *detector_json(const struct detector_sums *d)
{
	if (!d->in_force)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:s?, s:I, s:I}", "room", (json_int_t)d->room, "suspects",
			 (json_int_t)d->tracked, "above", (json_int_t)d->above, "untracked",
			 (json_int_t)d->packets[DETECTED_UNTRACKED], "busiest", d->above ? d->busiest : NULL, "dropped",
			 (json_int_t)detector_dropped(d->packets), "banned_sources", (json_int_t)d->banned);
}

static void lists_text(const struct status *s)
{
	char age[SPAN_TEXT_MAX], good[SPAN_TEXT_MAX];

	if (!s->lists_n)
		printf("lists       %s\n", s->known ? "none" : "not known");
	for (size_t i = 0; i < s->lists_n && i < LISTS_SHOWN; i++) {
		const struct list_info *l = &s->lists[i];
		const struct fresh *f = fresh_find(s->fresh, s->fresh_n, l->name);
		int64_t seconds = list_age(l, s->now);

		printf("%-11s %-20s %-6s %10llu prefixes, loaded %s ago%s%s%s%s%s%s\n", i ? "" : "lists", l->name,
		       list_kind_names[l->kind], (unsigned long long)l->prefixes,
		       seconds < 0 ? "a time" : span_text(age, seconds), f && f->age >= 0 ? ", renewed " : "",
		       f && f->age >= 0 ? span_text(good, f->age) : "", f && f->age >= 0 ? " ago" : "",
		       l->scope[0] ? ", only " : "", l->scope,
		       list_failure_of(s->failed, s->failed_n, l->name) ? ", NEXT VERSION REFUSED" : "");
	}
	if (s->lists_n > LISTS_SHOWN)
		printf("            and %zu more: xdp-bloom lists\n", s->lists_n - LISTS_SHOWN);
}

/* The one that nobody has renewed for the longest time. */
static void feeds_text(const struct status *s)
{
	const struct fresh *oldest = NULL;
	char age[SPAN_TEXT_MAX];
	size_t fresh = 0;

	for (size_t i = 0; i < s->fresh_n; i++) {
		fresh += !strcmp(s->fresh[i].is, "fresh");
		if (s->fresh[i].age >= 0 && (!oldest || s->fresh[i].age > oldest->age))
			oldest = &s->fresh[i];
	}
	if (!s->fresh_n)
		return;
	printf("feeds       %zu of %zu fresh", fresh, s->fresh_n);
	if (oldest)
		printf("; the oldest is %s, renewed %s ago", oldest->list, span_text(age, oldest->age));
	puts(": xdp-bloom feeds");
}

static void fleet_text(const struct status *s)
{
	const struct fleet_view *f = &s->fleet;

	if (f->joined)
		printf("fleet       %s of %zu others, %s; %lld wait to be said: xdp-bloom fleet\n", f->is.name,
		       f->seen.n, f->known && f->seen.up ? "up" : "not reached", (long long)f->waiting);
}

static bool bans_nothing(const struct status *s)
{
	bool bans = !s->known || s->bans || s->detector.banned;

	for (size_t i = 0; i < s->lists_n; i++)
		bans = bans || s->lists[i].kind == LIST_BAN;
	return !bans;
}

int status_text(const struct status *s)
{
	char text[SPAN_TEXT_MAX];

	puts(s->is == SOUND	  ? bans_nothing(s)
					    ? "sound       but nothing is banned: every packet passes; 'load' or 'add' bans"
					    : "sound       all that is to be filtered is"
	     : s->is == DEGRADED  ? "DEGRADED"
	     : s->is == NOT_KNOWN ? "NOT KNOWN"
				  : "NOT FILTERING");
	for (unsigned int i = 0; i < s->troubles_n; i++)
		out_line("            %s", s->troubles[i]);
	if (s->troubles_more)
		out_line("            " MORE_TROUBLES, s->troubles_more);
	interfaces_text(s);
	ports_text(&s->ports);
	if (s->live.g.number)
		printf("generation  %llu, in force for %s\n", (unsigned long long)s->live.g.number,
		       span_text(text, (int64_t)loaded_seconds(s)));
	packets_text(s);
	detector_text(s);
	lists_text(s);
	feeds_text(s);
	fleet_text(s);
	if (s->known && s->bans && s->next)
		printf("bans        %llu, the next ends in %s\n", (unsigned long long)s->bans,
		       span_text(text, s->next > s->now ? s->next - s->now : 0));
	else if (s->known)
		printf("bans        %llu\n", (unsigned long long)s->bans);
	for (size_t i = 0; i < s->waiting_n; i++)
		waiting_line(!i, s->waiting[i].name, waiting_seconds(&s->waiting[i]));
	if (s->last[0])
		out_line("last refused %s: %s", s->last_at, s->last);
	return out_end();
}

static json_t *rate(double rate)
{
	return rate < 0 ? json_null() : json_real(rate);
}

int status_json(const struct context *context, const struct status *s)
{
	json_t *troubles = json_array(), *failed = json_array();
	int status;
	bool blind = s->is == NOT_KNOWN && !s->known;
	char when[UTC_TEXT_MAX];

	for (unsigned int i = 0; i < s->troubles_n; i++)
		json_array_append_new(troubles, out_text(s->troubles[i]));
	if (s->troubles_more)
		json_array_append_new(troubles, json_sprintf(MORE_TROUBLES, s->troubles_more));
	for (size_t i = 0; i < s->failed_n; i++)
		json_array_append_new(failed, out_failure(&s->failed[i]));
	status = out_json(
		context,
		json_pack(
			"{s:s, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			"status", words[s->is], "troubles", troubles, "interfaces",
			s->looked ? out_interfaces(s->on, s->on_n) : json_null(), "generation",
			s->is == NOT_KNOWN && !s->live.g.number ? json_null()
								: json_integer((json_int_t)s->live.g.number),
			"loaded_seconds", s->live.g.number ? json_real(loaded_seconds(s)) : json_null(), "packets",
			"passed_per_second", rate(s->passed), "dropped_per_second", rate(s->dropped), "passed",
			s->counted ? json_integer((json_int_t)s->sums.verdict[PASSED].packets) : json_null(), "dropped",
			s->counted ? json_integer((json_int_t)s->sums.verdict[DROPPED].packets) : json_null(), "lists",
			blind ? json_null() : out_lists(s->lists, s->lists_n, s->failed, s->failed_n, s->now), "bans",
			s->known ? json_integer((json_int_t)s->bans) : json_null(), "next_end",
			s->next ? json_string(utc_text(when, s->next)) : json_null(), "waiting",
			blind ? json_null() : out_waiting(s->waiting, s->waiting_n), "refused",
			blind ? json_null() : json_incref(failed), "last_refused",
			s->last[0] ? json_pack("{s:s, s:o}", "time", s->last_at, "message", out_text(s->last))
				   : json_null(),
			"detector", detector_json(&s->detector), "service",
			blind ? json_null() : json_boolean(s->service), "feeds",
			blind ? json_null() : out_fresh(s->fresh, s->fresh_n), "fleet", out_fleet(&s->fleet),
			"crowdsec", out_agent(&s->agent), "ports", blind ? json_null() : out_ports(&s->ports)));
	json_decref(failed);
	return status;
}
