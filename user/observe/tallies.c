// SPDX-License-Identifier: GPL-2.0-only
#include "observe/tallies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/settings.h"
#include "base/context.h"
#include "base/clean_text.h"
#include "base/label.h"
#include "base/grow.h"
#include "base/ports.h"
#include "kernel/live.h"
#include "state/kept_image.h"

const char *const verdict_names[VERDICTS] = { "passed", "dropped", "unparsed" };

const char *tallies_stage(unsigned int why)
{
	static const char *const names[] = { "parse", "gate", "filter", "roster" };

	return why == REASON_POLICED ? "detector" : names[why % REASON_DROPPED];
}

/* Without the roster, or without labels, drops cannot be assigned to lists: all count on LABEL_LIVE. */
bool live_label_is_exact(const struct context *context, struct state *state)
{
	struct generation g;

	return !kernel_live(context, &g) && (!g.keys4 || g.roster4_buckets) && (!g.keys6 || g.roster6_buckets) &&
	       state_setting(state, "labels", SETTINGS_DEFAULT.labels) != 0;
}

static bool by_driver(const struct attachment *at)
{
	return !at->gone && !at->moved && at->mode == MODE_NATIVE && !MATCH_LEAVES(at->match);
}

static bool has_own(const struct attachment *on, size_t n, unsigned int row, bool leaves)
{
	for (size_t i = 0; i < n; i++)
		if (!on[i].gone && MATCH_LEAVES(on[i].match) == leaves && PORT_OF(on[i].ifindex) == row)
			return true;
	return false;
}

size_t tallies_below(const struct attachment *on, size_t n, struct port_row below[PORTS])
{
	bool taken[PORTS] = { 0 };
	struct port_of *ports = NULL;
	size_t natives = 0, ports_n = 0, found = 0;

	for (size_t i = 0; i < n; i++)
		natives += by_driver(&on[i]);
	if (!natives || ports_look(&ports, &ports_n))
		return 0;
	for (size_t k = 0; k < ports_n; k++) {
		unsigned int row = PORT_OF(ports[k].ifindex);

		for (size_t i = 0; i < n && ports[k].hands_on && !taken[row]; i++)
			if (by_driver(&on[i]) && ports_hand_on(ports, ports_n, ports[k].ifindex, on[i].ifindex) &&
			    !has_own(on, n, row, false)) {
				taken[row] = true;
				below[found++] = (struct port_row){ row, PORT_OF(on[i].ifindex) };
			}
	}
	free(ports);
	return found;
}

int tallies_take(const struct context *context, struct tallies *c)
{
	struct state *state = NULL;
	int err;

	memset(c, 0, sizeof(*c));
	err = attach_list(context, &c->ports, &c->ports_n);
	if (!err)
		err = state_open(&state, context, false);
	if (!err)
		err = lists_in_force(state, &c->lists, &c->lists_n);
	if (!err)
		c->live_label_is_exact = live_label_is_exact(context, state);
	state_close(state);
	clock_gettime(CLOCK_MONOTONIC, &c->at);
	if (!err)
		err = kernel_counters(context, &c->counted);
	c->below_n = err ? 0 : tallies_below(c->ports, c->ports_n, c->below);
	if (err)
		tallies_free(c);
	return err;
}

void tallies_free(struct tallies *c)
{
	free(c->lists);
	free(c->ports);
	c->lists = NULL;
	c->ports = NULL;
	c->lists_n = c->ports_n = c->below_n = 0;
}

int lists_add_detector(struct list_info **lists, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (list_counts(&(*lists)[i]) && (*lists)[i].label == LABEL_DETECTOR)
			return 0;
	if (!GROW(*lists, *n))
		return -ENOMEM;
	(*lists)[(*n)++] = (struct list_info){ .name = DETECTOR_LIST, .kind = LIST_BAN, .label = LABEL_DETECTOR };
	return 0;
}

static bool restarted(const struct tally *before, const struct tally *now)
{
	return now->packets < before->packets || now->bytes < before->bytes;
}

static void since(struct tally *between, const struct tally *before, const struct tally *now, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool all = restarted(&before[i], &now[i]);

		between[i].packets = now[i].packets - (all ? 0 : before[i].packets);
		between[i].bytes = now[i].bytes - (all ? 0 : before[i].bytes);
	}
}

static __u64 less(__u64 a, __u64 b)
{
	return a < b ? 0 : a - b;
}

/* What a row had when it was retired was counted before: it only moved to the retired row. */
static void since_retired(struct tally between[REASONS], const struct tally (*before)[REASONS],
			  const struct tally (*now)[REASONS])
{
	for (unsigned int port = 0; port < PORTS; port++)
		for (unsigned int why = 0; why < REASONS; why++) {
			const struct tally *old = &before[port][why];

			if (!restarted(old, &now[port][why]))
				continue;
			between[why].packets = less(between[why].packets, old->packets);
			between[why].bytes = less(between[why].bytes, old->bytes);
		}
}

void tallies_since(struct counted *between, const struct counted *before, const struct counted *now)
{
	between->polices = now->polices;
	since(between->verdict, before->verdict, now->verdict, VERDICTS);
	since(between->port[0], before->port[0], now->port[0], (PORTS + 1) * REASONS);
	since(between->out[0], before->out[0], now->out[0], (PORTS + 1) * REASONS);
	since(between->list, before->list, now->list, LABELS);
	since_retired(between->port[PORT_RETIRED], before->port, now->port);
	since_retired(between->out[PORT_RETIRED], before->out, now->out);
}

double tallies_seconds(const struct tallies *before, const struct tallies *now)
{
	return (double)(now->at.tv_sec - before->at.tv_sec) + (double)(now->at.tv_nsec - before->at.tv_nsec) / 1e9;
}

static bool shares(const struct tallies *c, size_t a, size_t b)
{
	return !c->ports[a].gone && !c->ports[b].gone &&
	       MATCH_LEAVES(c->ports[a].match) == MATCH_LEAVES(c->ports[b].match) &&
	       PORT_OF(c->ports[a].ifindex) == PORT_OF(c->ports[b].ifindex);
}

static bool shown(const struct tallies *c, unsigned int row, bool leaves)
{
	for (size_t i = 0; i < c->below_n && !leaves; i++)
		if (c->below[i].row == row)
			return true;
	return has_own(c->ports, c->ports_n, row, leaves);
}

/* A row keeps its counts until another interface takes it, so it may belong to none. */
static const struct tally *others(const struct tallies *c, const struct counted *counted)
{
	static struct tally sum[REASONS];

	memset(sum, 0, sizeof(sum));
	for (unsigned int row = 0; row <= PORTS; row++)
		for (unsigned int why = 0; why < REASONS; why++) {
			if (row == PORT_RETIRED || !shown(c, row, false))
				tally_add(&sum[why], &counted->port[row][why]);
			if (row == PORT_RETIRED || !shown(c, row, true))
				tally_add(&sum[why], &counted->out[row][why]);
		}
	return sum;
}

const struct tally *tallies_port(const struct tallies *c, const struct counted *counted, size_t port)
{
	static const struct tally nothing[REASONS];
	static struct tally sum[REASONS];
	const struct attachment *at = &c->ports[port];

	if (port == c->ports_n)
		return others(c, counted);
	if (c->ports[port].gone)
		return nothing;
	for (size_t i = 0; i < port; i++)
		if (shares(c, i, port))
			return nothing;
	if (MATCH_LEAVES(at->match))
		return counted->out[PORT_OF(at->ifindex)];
	memcpy(sum, counted->port[PORT_OF(at->ifindex)], sizeof(sum));
	for (size_t i = 0; i < c->below_n; i++)
		for (unsigned int why = 0; why < REASONS && c->below[i].with == PORT_OF(at->ifindex); why++)
			tally_add(&sum[why], &counted->port[c->below[i].row][why]);
	return sum;
}

const char *tallies_port_name(const struct tallies *c, size_t port, char buf[64])
{
	size_t n;

	if (port == c->ports_n)
		return strcpy(buf, "(others before)");
	n = (size_t)snprintf(buf, 64, "%s", c->ports[port].name);
	for (size_t i = port + 1; i < c->ports_n && n < 64; i++)
		if (shares(c, port, i))
			n += (size_t)snprintf(buf + n, 64 - n, "+%s", c->ports[i].name);
	clean_text(buf);
	return buf;
}

const char *tallies_port_label(const struct tallies *c, size_t port, char buf[64])
{
	tallies_port_name(c, port, buf);
	if (port < c->ports_n && MATCH_LEAVES(c->ports[port].match))
		snprintf(buf + strlen(buf), 64 - strlen(buf), "%s", LABEL_LEAVES);
	return buf;
}

struct tally tallies_row(const struct tally row[REASONS], enum verdict verdict)
{
	struct tally sum = { 0 };

	for (unsigned int why = 0; why < REASONS; why++)
		if (reason_verdict(why) == verdict)
			tally_add(&sum, &row[why]);
	return sum;
}
