// SPDX-License-Identifier: GPL-2.0-only
#include "observe/detector.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "bpf/detect.h"
#include "kernel/detect.h"
#include "observe/senders.h"
#include "observe/suspects.h"

static unsigned int classes_over(const struct suspect *suspect)
{
	unsigned int classes = 0;

	for (enum packet_class class = 0; class < LIMITED; class ++)
		classes |= (unsigned int)(suspect->over[class] > 0) << class;
	return classes;
}

void detector_sums_of(const struct seen *seen, __u64 since, struct detector_sums *sums)
{
	*sums = (struct detector_sums){
		.in_force = seen->on, .room = seen->room, .tracked = seen->n, .now = seen->now
	};
	memcpy(sums->packets, seen->packets, sizeof(sums->packets));
	for (size_t i = 0; i < seen->n; i++) {
		__u64 over = suspect_over(&seen->suspect[i]);

		if (!over || seen->suspect[i].is.over_at < since)
			continue;
		sums->above++;
		sums->classes |= classes_over(&seen->suspect[i].is);
		if (over <= sums->over)
			continue;
		sums->over = over;
		source_key_text(sums->busiest, seen->suspect[i].key, MARK_KIND(seen->suspect[i].mark));
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
