// SPDX-License-Identifier: GPL-2.0-only
#include "observe/detector.h"

#include <errno.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"
#include "bpf/detect.h"
#include "kernel/attachment.h"
#include "kernel/detect_seen.h"
#include "observe/senders.h"
#include "observe/suspects.h"

static unsigned int classes_over(const struct suspect *suspect)
{
	unsigned int classes = 0;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		classes |= (unsigned int)(suspect->over[class] > 0) << class;
	return classes;
}

static void add(struct detector_sums *sums, unsigned int classes)
{
	sums->above += classes != 0;
	sums->classes |= classes;
	for (enum packet_class class = 0; class < LIMITED; class ++)
		sums->above_of[class] += classes >> class & 1;
}

void detector_sums_of(const struct seen *seen, __u64 since, struct detector_sums *sums)
{
	unsigned int classes = 0; /* of one source, by all interfaces */

	*sums = (struct detector_sums){ .in_force = seen->on,
					.room = seen->room,
					.tracked = seen->n,
					.now = seen->now,
					.banned = seen_banned_n(seen),
					.limited = (unsigned int)seen->with.then[THEN_WATCH] };
	memcpy(sums->packets, seen->packets, sizeof(sums->packets));
	for (size_t i = 0; i < seen->n; i++) {
		const struct suspect_seen *one = &seen->suspect[i];
		__u64 over = suspect_over(one);

		if (over && one->is.over_at >= since) {
			classes |= classes_over(&one->is);
			if (over > sums->over) {
				sums->over = over;
				source_key_text(sums->busiest, one->key, MARK_KIND(one->mark));
			}
		}
		if (i + 1 == seen->n || !seen_same_source(one, one + 1)) {
			add(sums, classes);
			classes = 0;
		}
	}
}

int detector_sum(const struct context *context, __u64 since, struct detector_sums *sums)
{
	struct seen seen;
	int err = kernel_seen(context, &seen);

	*sums = (struct detector_sums){ 0 };
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	detector_sums_of(&seen, since, sums);
	seen_free(&seen);
	return 0;
}

const char *detector_unseen(char text[UNSEEN_TEXT_MAX], const struct attachment *on, size_t n)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n && len + IF_NAMESIZE + 2 < UNSEEN_TEXT_MAX; i++)
		if (!on[i].gone && !MATCH_LEAVES(on[i].match) && !attachment_is_watched(&on[i])) {
			char name[IF_NAMESIZE];

			len += (size_t)snprintf(text + len, UNSEEN_TEXT_MAX - len, "%s%s", len ? ", " : "",
						clean_copy(name, sizeof(name), on[i].name));
		}
	return text;
}

#define NOW_SECONDS 10

int detector_now(const struct context *context, struct detector_sums *sums)
{
	__u64 ns = NOW_SECONDS * 1000000000ULL;
	struct seen seen;
	int err = kernel_seen(context, &seen);

	*sums = (struct detector_sums){ 0 };
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	detector_sums_of(&seen, seen.now > ns ? seen.now - ns : 0, sums);
	seen_free(&seen);
	return 0;
}
