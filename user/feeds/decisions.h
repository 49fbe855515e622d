/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions of a CrowdSec agent, and what they come to: one ban a prefix, which ends with the last of them. */
#ifndef FEEDS_DECISIONS_H
#define FEEDS_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change/ban.h"

#define CROWDSEC_REASON BAN_BY_CROWDSEC

struct decision {
	struct prefix prefix;
	int64_t id;  /* 0: a ban that was there before */
	int64_t end; /* seconds, by clock_boot() */
	bool lacked; /* by the last answer that should have had it */
	bool others; /* another's ban of the prefix stands in its place */
	char reason[BAN_REASON_MAX];
};

struct decisions {
	struct decision *at;
	size_t n;
};

/* An answer. `others`: those that no filter of addresses can enforce. */
struct decision_changes {
	struct decisions added, deleted;
	size_t others;
};

/* The open file is an answer of the API, whole; now: by clock_boot(). 0 or -errno with the reason recorded. */
int decisions_read(struct decision_changes *changes, int file, int64_t now);
void changes_free(struct decision_changes *changes);
void decisions_free(struct decisions *decisions);

/* What is there after these changes, in its order, less what is over by then. */
int decisions_merge(struct decisions *after, const struct decisions *before, struct decision_changes *changes,
		    int64_t now);
/*
 * The same for an answer that should have all. What it lacks and does not call deleted is there once more, and counted;
 * what the one before lacked, too, is not.
 */
int decisions_renew(struct decisions *after, const struct decisions *before, struct decision_changes *changes,
		    int64_t now, size_t *lacks);
/*
 * What has to be done; with `again`, also where another's ban stood before. free() the orders. Their reasons lie in
 * `after`.
 */
int decisions_orders(const struct decisions *before, const struct decisions *after, int64_t now, bool again,
		     struct ban_order **orders, size_t *n);
/* Where an order was missed, another's ban stands. */
void decisions_missed(struct decisions *after, const struct ban_order *orders, size_t n);
/* In the order of prefixes. */
void decisions_sort(struct decisions *decisions);

#endif
