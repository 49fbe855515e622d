// SPDX-License-Identifier: GPL-2.0-only
#include "change/home.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/pins.h"
#include "state/settings.h"

/* One that is gone ends with the map. Only a machine that was started anew has other maps of these numbers. */
static bool lives(struct state *state, __u32 slot)
{
	return state_setting(state, SETTING_SLOT_BOOT, 0) == (double)clock_boot_number() &&
	       pin_shared_lives(slot, PIN_SLOT);
}

static int keep_pins(struct state *state, double pins, __u32 slot)
{
	return state_set(state, SETTING_PINS, pins) ?:
	       state_set(state, SETTING_SLOT, slot) ?:
	       state_set(state, SETTING_SLOT_BOOT, (double)clock_boot_number());
}

/* A BPF file system is known by its device; the slot, which all that filters calls, by its number. */
static int look_at_pins(struct change *change)
{
	const struct context *context = change->context;
	double pins = state_setting(change->state, SETTING_PINS, 0);
	__u32 was = (__u32)state_setting(change->state, SETTING_SLOT, 0), slot;
	struct stat is;

	if (stat(context->bpffs, &is) || (pins == (double)is.st_dev && was && !change->live.err))
		return 0;
	slot = pin_shared_id(context, PIN_SLOT);
	if (pins == (double)is.st_dev && slot == was)
		return 0;
	if (pins > 0 && pins != (double)is.st_dev && was && slot != was && !context->settles &&
	    lives(change->state, was))
		return because(
			-EXDEV,
			"the filter in force is pinned in another BPF file system than the one at %s: do this where it is "
			"seen, or 'xdp-bloom restore' puts one into force here",
			context->bpffs);
	return keep_pins(change->state, (double)is.st_dev, slot);
}

static int filters_anything(const struct context *context, bool *any)
{
	struct attachment *list = NULL;
	size_t n = 0;
	int err = attach_list(context, &list, &n);

	*any = err != 0; /* who knows? */
	for (size_t i = 0; i < n && !err; i++)
		*any = *any || !list[i].gone;
	free(list);
	return err;
}

/* Where nothing is filtered, it is at home wherever the next command is. */
static int look_at_network(struct change *change)
{
	double network = state_setting(change->state, SETTING_NETWORK, 0);
	struct context *context = change->context;
	struct stat is;
	bool any;

	context->abroad = false;
	if (stat("/proc/self/ns/net", &is) || network == (double)is.st_ino)
		return 0;
	if (network > 0 && (filters_anything(context, &any) || any)) {
		context->abroad = true;
		warn("what is filtered is in another network namespace: interfaces that come and go there are not seen from here");
		return 0;
	}
	return state_set(change->state, SETTING_NETWORK, (double)is.st_ino);
}

int home_look(struct change *change)
{
	return look_at_pins(change) ?: look_at_network(change);
}
