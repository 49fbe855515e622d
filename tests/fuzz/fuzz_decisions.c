// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as two answers of a CrowdSec agent, one after the other: what is read are prefixes with ends that a number
 * holds and texts that a terminal may see; what is missing from an answer that should have all stays once; and what has
 * to be done is in order, each prefix once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "feeds/decisions.h"

#define NOW 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

static void hold_sound(const struct decisions *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct prefix *p = &d->at[i].prefix;

		hold(p->first.family == 4 || p->first.family == 6);
		hold(p->length <= addr_width(p->first.family) &&
		     !(p->first.num & addr_mask(p->first.family, p->length)));
		hold(memchr(d->at[i].reason, '\0', sizeof(d->at[i].reason)));
		for (const char *c = d->at[i].reason; *c; c++)
			hold((unsigned char)*c >= ' ' && *c != 0x7f);
		hold(d->at[i].end > -((int64_t)1 << 40) && d->at[i].end < (int64_t)1 << 40);
	}
}

/* From what is there to what is there after it. */
static void take(struct decisions *all, const uint8_t *data, size_t size, int64_t now, bool whole)
{
	struct decision_changes changes;
	struct decisions after = { 0 };
	struct ban_order *orders = NULL;
	size_t n = 0, lacks = 0;
	int fd = memfd_create("answer", MFD_CLOEXEC), err;

	hold(fd >= 0 && write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
	err = decisions_read(&changes, fd, now);
	close(fd);
	if (err) {
		hold(*reason(err));
		return;
	}
	hold_sound(&changes.added);
	hold_sound(&changes.deleted);
	hold(!(whole ? decisions_renew(&after, all, &changes, now, &lacks)
		     : decisions_merge(&after, all, &changes, now)));
	hold_sound(&after);
	hold(lacks <= after.n && after.n <= all->n + changes.added.n);
	for (size_t i = 0; i < after.n; i++)
		hold(after.at[i].end > now && (!i || prefix_order(&after.at[i - 1].prefix, &after.at[i].prefix) <= 0));
	hold(!decisions_orders(all, &after, now, false, &orders, &n));
	for (size_t i = 0; i < n; i++)
		hold((orders[i].del || (orders[i].reason && orders[i].ttl > 0)) &&
		     (!i || prefix_order(&orders[i - 1].prefix, &orders[i].prefix) < 0));
	decisions_missed(&after, orders, n);
	free(orders);
	changes_free(&changes);
	decisions_free(all);
	*all = after;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	size_t first = line ? (size_t)(line - data) : size;
	struct decisions all = { 0 };

	take(&all, data, first, NOW, true);
	if (line)
		take(&all, line + 1, size - first - 1, NOW + 5, size % 2);
	/* Nobody answers for a while. */
	take(&all, (const uint8_t *)"{\"new\":null,\"deleted\":null}", 27, NOW + 10, true);
	decisions_free(&all);
	return 0;
}
