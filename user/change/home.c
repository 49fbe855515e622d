// SPDX-License-Identifier: GPL-2.0-only
#include "change/home.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/pins.h"
#include "state/ports.h"
#include "state/settings.h"
#include "state/state.h"

/* In ms. */
#define LET_GO	    3000
#define LET_GO_TURN 10

static int keep_pins(struct state *state, double pins, __u32 slot, double boot)
{
	return state_set(state, SETTING_PINS, pins) ?:
	       state_set(state, SETTING_SLOT, slot) ?:
	       state_set(state, SETTING_SLOT_BOOT, boot);
}

/*
 * May the slot of that number be called by what is pinned elsewhere? Of what was removed here the kernel lets go a
 * little later, and tells nobody; where that was another file system, nothing was removed.
 */
static bool lives_elsewhere(const struct context *context, __u32 slot, bool another)
{
	int waited = 0;

	if (pin_root_calls(context, slot))
		return false;
	while (pin_shared_lives(slot)) {
		if (another || waited == LET_GO)
			return true;
		poll(NULL, 0, LET_GO_TURN);
		waited += LET_GO_TURN;
	}
	return false;
}

/*
 * A BPF file system is known by its device; the slot, which all that filters calls, by its number, which is another
 * map's after the next start of the machine.
 */
static int look_at_pins(struct change *change)
{
	const struct context *context = change->context;
	double pins = state_setting(change->state, SETTING_PINS, 0), boot = (double)clock_boot_number();
	__u32 was = state_setting(change->state, SETTING_SLOT_BOOT, 0) == boot
			    ? (__u32)state_setting(change->state, SETTING_SLOT, 0)
			    : 0;
	struct stat is;
	__u32 slot;

	/* Why it cannot be read is said by who needs it. */
	if (stat(context->bpffs, &is) || (change->live.err && !err_is(change->live.err, ENOENT)))
		return 0;
	slot = pin_shared_id(context, PIN_SLOT);
	/* Of a filter that was found a moment ago the slot cannot be asked for: then it is that one. */
	if (was && pins == (double)is.st_dev && (slot == was || (!slot && !change->live.err)))
		return 0;
	if (was && slot != was && !context->settles && lives_elsewhere(context, was, pins != (double)is.st_dev))
		return because(-EXDEV,
			       "the filter in force is pinned elsewhere than in %s: do this where it is seen, or "
			       "'xdp-bloom restore' puts one into force here",
			       context->bpffs);
	/* Where there was nothing yet, there is nothing to keep. */
	return slot || was ? keep_pins(change->state, (double)is.st_dev, slot, boot) : 0;
}

/* Which of what filters is here, and which elsewhere. */
static int count(const struct context *context, size_t *here, size_t *away)
{
	struct attachment *list = NULL;
	size_t n = 0;
	int err = attach_list(context, &list, &n);

	*here = *away = 0;
	for (size_t i = 0; i < n && !err; i++) {
		*here += !list[i].gone && !list[i].moved;
		*away += !list[i].gone && list[i].moved;
	}
	free(list);
	return err;
}

/* Is any interface to be filtered, or the ports of one? */
static int asks_for_any(struct state *state, bool *any)
{
	struct interface_info *interfaces = NULL, *rules = NULL;
	size_t n = 0, rules_n = 0;
	int err = state_interfaces(state, &interfaces, &n) ?: state_ports(state, &rules, &rules_n);

	free(interfaces);
	free(rules);
	*any = n || rules_n;
	return err;
}

/* A change that changes nothing else writes nothing. */
static int here_from_now_on(struct change *change, double network)
{
	change->context->abroad = false;
	return state_setting(change->state, SETTING_NETWORK, 0) == network
		       ? 0
		       : state_set(change->state, SETTING_NETWORK, network);
}

/*
 * Where interfaces are filtered in two of them, home is the first, until 'restore' is run in the other. So it is where
 * none is filtered just now, as the names that the state has are names there.
 */
static int look_at_network(struct change *change)
{
	double network = state_setting(change->state, SETTING_NETWORK, 0);
	struct context *context = change->context;
	size_t here, away;
	struct stat is;

	context->abroad = false;
	if (stat("/proc/self/ns/net", &is) || network == (double)is.st_ino)
		return 0;
	if (count(context, &here, &away))
		here = away = network > 0; /* who knows? */
	if (here && (!away || context->settles || network <= 0))
		return here_from_now_on(change, (double)is.st_ino);
	context->abroad = away;
	return away || context->settles || network <= 0 ? 0 : asks_for_any(change->state, &context->abroad);
}

int home_look(struct change *change)
{
	return look_at_pins(change) ?: look_at_network(change);
}

int home_settle(struct change *change)
{
	struct stat is;

	return change->context->abroad || stat("/proc/self/ns/net", &is) ? 0
									 : here_from_now_on(change, (double)is.st_ino);
}

void home_say(const struct context *context)
{
	if (context->abroad)
		warn("some or all of what is to be filtered is in another network namespace: interfaces that come and go are "
		     "looked at there alone");
}
