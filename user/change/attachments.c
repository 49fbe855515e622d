// SPDX-License-Identifier: GPL-2.0-only
#include "change/attachments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/log.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/device.h"
#include "kernel/link_header.h"
#include "kernel/match.h"
#include "state/ports.h"

int attachment_is_kept(struct state *state, const char *label, bool *found)
{
	struct interface_info *kept = NULL;
	bool ports = label_ports(label);
	char is[LABEL_MAX];
	size_t n = 0;
	int err = (ports ? state_ports : state_interfaces)(state, &kept, &n);

	*found = false;
	for (size_t i = 0; i < n && !err; i++)
		*found = *found || !strcmp(label, (ports ? label_of_ports : label_of)(is, kept[i].name, kept[i].match));
	free(kept);
	return err;
}

struct attachment attachment_kept(const struct interface_info *kept)
{
	struct attachment at = { .shared = kept->shared,
				 .match = kept->match,
				 .mode = MATCH_BY_TC(kept->match) ? MODE_TC : MODE_AUTO };

	snprintf(at.name, sizeof(at.name), "%s", kept->name);
	while (at.mode < MODE_SKB && strcmp(attach_mode_names[at.mode], kept->mode))
		at.mode++;
	link_fit(&at); /* a version before may have taken skb there */
	return at;
}

int attachments_kept(struct state *state, struct attachment **list, size_t *n)
{
	struct interface_info *kept = NULL;
	struct pending *pending = NULL;
	size_t pending_n = 0;
	int err = state_interfaces(state, &kept, n) ?: state_pending(state, &pending, &pending_n);

	*list = NULL;
	if (!err && *n) {
		*list = calloc(*n, sizeof(**list));
		err = *list ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < *n && !err; i++) {
		(*list)[i] = attachment_kept(&kept[i]);
		for (size_t j = 0; j < pending_n; j++)
			if (pending[j].kind == PENDING_INTERFACE &&
			    label_is(pending[j].name, kept[i].name, kept[i].match))
				(*list)[i].until = pending[j].due;
	}
	free(pending);
	free(kept);
	return err;
}

void attachments_complete(const struct change *change)
{
	struct attachment *list = NULL, *kept = NULL;
	size_t n = 0, kept_n = 0;
	char label[LABEL_MAX];
	int err = !match_known(change->context) ? 0
						: attach_list(change->context, &list, &n)
							  ?: attachments_kept(change->state, &kept, &kept_n);

	for (size_t i = 0; i < n && !err; i++) {
		unsigned int match = list[i].match;

		if (list[i].gone || list[i].moved || list[i].shared)
			continue;
		label_of(label, list[i].name, match);
		for (size_t j = 0; j < kept_n; j++)
			if (label_is(label, kept[j].name, kept[j].match) && !kept[j].shared &&
			    MATCH_BY_TC(kept[j].match) == MATCH_BY_TC(match))
				match = kept[j].match;
		err = match == list[i].match ? attach_turned(change->context, &list[i])
					     : attach_rematch(change->context, &list[i], match);
	}
	if (err)
		warn("what is asked about was left half changed: %s", reason(err));
	free(list);
	free(kept);
}

void attachment_warn(const struct attachment *at)
{
	char misses[DEVICE_TEXT_MAX];

	if (!MATCH_LEAVES(at->match) && device_gone_round(at->name, at->mode, misses))
		warn("%s: %s", at->name, misses);
}

int attachments_settle(const struct context *context, struct state *state)
{
	struct attachment *kept;
	size_t n;
	int err = attachments_kept(state, &kept, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = attach_settle(context, &kept[i], false);
	free(kept);
	return err;
}

/* A missing interface is no reason to leave the others unfiltered. */
bool attachment_restore(const struct context *context, struct attachment *at)
{
	int err = attach_settle(context, at, true) ?: attach_one(context, at);

	if (!err)
		attachment_warn(at);
	if (!err || err_is(err, EEXIST))
		return true;
	fail("%s; the rest is restored", reason(err));
	return false;
}
