// SPDX-License-Identifier: GPL-2.0-only
#include "observe/suspects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bpf/detect.h"
#include "filter/limits.h"

const struct suspect_seen *suspect_of(const struct seen *seen, struct addr addr)
{
	const struct suspect_seen *found = NULL;
	__u64 key, kind;

	addr_unmap(&addr);
	key = addr.family == 4 ? (__u64)addr.num : (__u64)(addr.num >> 64);
	kind = addr.family == 4 ? SUSPECT_IPV4 : SUSPECT_IPV6;
	for (size_t i = 0; i < seen->n; i++) {
		const struct suspect_seen *one = &seen->suspect[i];

		if (one->key != key || MARK_KIND(one->mark) != kind)
			continue;
		if (!found || seen_banned(seen, one) > seen_banned(seen, found) ||
		    (seen_banned(seen, one) == seen_banned(seen, found) && suspect_over(one) > suspect_over(found)))
			found = one;
	}
	return found;
}

const char *suspect_interface(const struct seen *seen, const struct suspect_seen *suspect)
{
	unsigned int slot = MARK_SLOT(suspect->mark) & (SLOTS - 1);

	return *seen->interface[slot] ? seen->interface[slot] : NULL;
}

size_t suspects_above(const struct seen *seen)
{
	const struct suspect_seen **who = calloc(seen->n + 1, sizeof(*who));
	size_t n = 0;

	for (size_t i = 0; who && i < seen->n; i++)
		if (suspect_over(&seen->suspect[i]))
			who[n++] = &seen->suspect[i];
	n = who ? seen_once(who, n) : 0;
	free(who);
	return n;
}

int suspect_column(const struct seen *seen, enum packet_class class)
{
	int width = (int)strlen(limit_names[class]);

	if (class >= LIMITED_ALONE && class < LIMITED && !(seen->with.looks_up >> class & 1))
		return 0;
	return width > 9 ? width : 9;
}

bool suspect_is_allowed(const struct suspect_seen *suspect)
{
	return suspect->is.asked && !suspect->is.scale;
}

/* By the detector alone. */
static const char *banned_until(char text[UTC_TEXT_MAX], const struct seen *seen, const struct suspect_seen *suspect)
{
	return utc_text(text, time(NULL) + (time_t)((suspect->is.until - seen->now) / 1000000000));
}

double seen_seconds_ago(const struct seen *seen, __u64 then)
{
	return seen->now > then ? (double)(seen->now - then) / 1e9 : 0;
}

static const struct suspect_seen *same_before(const struct seen *before, const struct suspect_seen *which)
{
	return before->n ? bsearch(which, before->suspect, before->n, sizeof(*which), seen_by_source) : NULL;
}

double seen_between(const struct seen *before, const struct seen *now)
{
	return now->now > before->now && before->now ? (double)(now->now - before->now) / 1e9 : 1;
}

double suspect_rate(const struct seen *before, const struct seen *now, const struct suspect_seen *suspect,
		    enum packet_class class)
{
	const struct suspect_seen *was = same_before(before, suspect);

	return (double)(suspect->is.count[class] - (was ? was->is.count[class] : 0)) / seen_between(before, now);
}

double suspect_over_rate(const struct seen *before, const struct seen *now, const struct suspect_seen *suspect)
{
	const struct suspect_seen *was = same_before(before, suspect);

	return (double)(suspect_over(suspect) - (was ? suspect_over(was) : 0)) / seen_between(before, now);
}

const char *suspect_above(char text[SUSPECT_ABOVE_MAX], const struct seen *seen, const struct suspect_seen *suspect)
{
	char until[UTC_TEXT_MAX];
	size_t n = 0;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (suspect->is.over[class])
			n += (size_t)snprintf(text + n, SUSPECT_ABOVE_MAX - n, "%s%s", n ? "," : "",
					      limit_names[class]);
	n += (size_t)snprintf(text + n, SUSPECT_ABOVE_MAX - n, " (%llu packets, the last %.0f s ago",
			      (unsigned long long)suspect_over(suspect), seen_seconds_ago(seen, suspect->is.over_at));
	if (suspect_interface(seen, suspect))
		n += (size_t)snprintf(text + n, SUSPECT_ABOVE_MAX - n, "; on %s", suspect_interface(seen, suspect));
	if (seen_banned(seen, suspect))
		n += (size_t)snprintf(text + n, SUSPECT_ABOVE_MAX - n, "; banned until %s",
				      banned_until(until, seen, suspect));
	if (suspect->is.dropped)
		n += (size_t)snprintf(text + n, SUSPECT_ABOVE_MAX - n, "; %llu dropped",
				      (unsigned long long)suspect->is.dropped);
	snprintf(text + n, SUSPECT_ABOVE_MAX - n, ")");
	return text;
}

json_t *suspect_json(const struct seen *seen, const struct suspect_seen *suspect)
{
	json_t *above = json_object();
	char until[UTC_TEXT_MAX];

	for (enum packet_class class = 0; suspect && class < LIMITED; class ++)
		if (suspect->is.over[class])
			json_object_set_new(above, limit_names[class],
					    json_integer((json_int_t)suspect->is.over[class]));
	if (!suspect) {
		json_decref(above);
		return json_null();
	}
	return json_pack("{s:o, s:s?, s:I, s:I, s:f, s:o, s:I, s:b, s:o}", "above", above, "interface",
			 suspect_interface(seen, suspect), "packets", (json_int_t)suspect->is.count[CLASS_PACKETS],
			 "bytes", (json_int_t)suspect->is.count[CLASS_BYTES], "tracked_for",
			 seen_seconds_ago(seen, suspect->is.since), "last_above",
			 suspect->is.over_at ? json_real(seen_seconds_ago(seen, suspect->is.over_at)) : json_null(),
			 "dropped", (json_int_t)suspect->is.dropped, "allowed", suspect_is_allowed(suspect),
			 "banned_until",
			 seen_banned(seen, suspect) ? json_string(banned_until(until, seen, suspect)) : json_null());
}
