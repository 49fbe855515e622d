// SPDX-License-Identifier: GPL-2.0-only
/* Where the filter of a state is: at these pins or at others, in this network namespace or in another. All is made up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "ktap.h"
#include "state/settings.h"

#define STATE ((struct state *)&kept)
#define BOOT  4503599627370495

static struct {
	const char *name;
	double value;
} kept[] = { { SETTING_PINS, 0 }, { SETTING_SLOT, 0 }, { SETTING_SLOT_BOOT, 0 }, { SETTING_NETWORK, 0 } };

#define KEPT (sizeof(kept) / sizeof(kept[0]))

static struct context its_context;
static struct change its_change;
static unsigned long device, its_network, its_slot, alive;
static bool no_pins, no_network;
static char said[400];
static int attached, gone, list_err, written, fails_at, warned;

static double *setting(struct state *state, const char *name)
{
	CHECK(state == STATE, "another state");
	for (size_t i = 0; i < KEPT; i++)
		if (!strcmp(kept[i].name, name))
			return &kept[i].value;
	abort();
}

static int given_set(struct state *state, const char *name, double value)
{
	if (++written == fails_at)
		return because(-EIO, "it is not kept");
	*setting(state, name) = value;
	return 0;
}

static int given_stat(const char *path, struct stat *is)
{
	bool of_pins = !strcmp(path, "/pins");

	CHECK(of_pins || !strcmp(path, "/proc/self/ns/net"), "%s is looked at", path);
	memset(is, 0x5a, sizeof(*is));
	if (of_pins ? no_pins : no_network)
		return -1;
	if (of_pins)
		is->st_dev = device;
	else
		is->st_ino = its_network;
	return 0;
}

static int given_list(const struct context *of, struct attachment **list, size_t *n)
{
	CHECK(of == &its_context, "of another");
	if (list_err)
		return list_err;
	*n = (size_t)attached;
	*list = calloc((size_t)attached + 1, sizeof(**list));
	for (int i = 0; i < gone; i++)
		(*list)[i].gone = true;
	return 0;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	CHECK(strstr(text, "another network namespace"), "it says: %s", text);
	warned++;
}

#define state_setting(state, name, otherwise) (*setting(state, name) ?: (otherwise))
#define state_set			      given_set
#define stat(path, is)			      given_stat(path, is)
#define attach_list			      given_list
#define clock_boot_number()		      BOOT
#define pin_shared_id(of, name) \
	((const struct context *)&its_context == (of) && !strcmp(name, "slot") ? (__u32)its_slot : 0)
#define pin_shared_lives(id, name) ((id) == alive && !strcmp(name, "slot"))
#define warn			   given_warn
#include "change/home.c"

/* What becomes of it: 0, or the errno; what is kept is compared by whoever asks. */
static int looks(void)
{
	int err;

	its_change = (struct change){ .context = &its_context, .state = STATE, .live.err = its_change.live.err };
	written = warned = 0;
	err = home_look(&its_change);
	CHECK(warned == (!err && its_context.abroad), "%d warnings, abroad: %d", warned, its_context.abroad);
	snprintf(said, sizeof(said), "%s", err ? reason(err) : "");
	return !err ? 0 : err_is(err, EXDEV) ? EXDEV : err_is(err, EIO) ? EIO : -1;
}

static bool kept_is(double pins, double of_slot, double boot, double of_network)
{
	return CHECK(kept[0].value == pins && kept[1].value == of_slot && kept[2].value == boot &&
			     kept[3].value == of_network,
		     "kept are %g, %g, %.17g and %g", kept[0].value, kept[1].value, kept[2].value, kept[3].value);
}

static void begins(void)
{
	for (size_t i = 0; i < KEPT; i++)
		kept[i].value = 0;
	its_context = (struct context){ .bpffs = "/pins" };
	its_change.live.err = 0;
	device = 40;
	its_network = 4026531840;
	its_slot = alive = 0;
	no_pins = no_network = false;
	attached = gone = list_err = fails_at = 0;
}

static void at_home(void)
{
	begins();
	its_slot = alive = 17;
	CHECK(!looks() && written == 4 && !its_context.abroad, "the first: %d written", written);
	kept_is(40, 17, BOOT, 4026531840);
	attached = 2;
	CHECK(!looks() && !written && !its_context.abroad, "again: %d written", written);
	/* Without a filter yet its slot is not known, and then it is. */
	begins();
	its_change.live.err = -ENOENT;
	CHECK(!looks() && written == 4, "nothing in force: %d written", written);
	kept_is(40, 0, BOOT, 4026531840);
	CHECK(!looks() && !written, "nothing in force, again: %d written", written);
	its_slot = alive = 18;
	its_change.live.err = 0;
	CHECK(!looks() && written == 3, "something in force: %d written", written);
	kept_is(40, 18, BOOT, 4026531840);
	/* The pins went, and others came in the same place. */
	its_slot = 0;
	its_change.live.err = -ENOENT;
	CHECK(!looks(), "pins are gone");
	kept_is(40, 0, BOOT, 4026531840);
	its_slot = 19;
	its_change.live.err = 0;
	CHECK(!looks(), "pins have come");
	kept_is(40, 19, BOOT, 4026531840);
}

static void at_other_pins(void)
{
	for (int live = 0; live < 2; live++) {
		begins();
		its_slot = alive = 17;
		if (!CHECK(!looks(), "the first is refused"))
			return;
		device = 41;
		its_slot = live ? 23 : 0;
		its_change.live.err = live ? 0 : -ENOENT;
		CHECK(looks() == EXDEV && !written, "at other pins: %d written", written);
		kept_is(40, 17, BOOT, 4026531840);
		CHECK(strstr(said, "/pins") != NULL, "it says: %s", said);
		/* The same, pinned there, too. */
		its_slot = 17;
		CHECK(!looks(), "the same at other pins");
		kept_is(41, 17, BOOT, 4026531840);
		device = 42;
		its_slot = live ? 23 : 0;
		/* What is put into force here is asked for here. */
		its_context.settles = true;
		CHECK(!looks(), "refused though it settles");
		kept_is(42, (double)its_slot, BOOT, 4026531840);
	}
}

/* What has ended, whatever has its number by now, keeps nobody out. */
static void what_has_ended(void)
{
	begins();
	its_slot = alive = 17;
	if (!CHECK(!looks(), "the first is refused"))
		return;
	device = 41;
	its_slot = 0;
	alive = 16;
	CHECK(!looks(), "refused for a filter that is gone");
	kept_is(41, 0, BOOT, 4026531840);
	begins();
	its_slot = alive = 17;
	if (!CHECK(!looks(), "the first is refused"))
		return;
	device = 41;
	its_slot = 0;
	kept[2].value = BOOT - 1;
	CHECK(!looks(), "refused for a filter of before a reboot");
	kept_is(41, 0, BOOT, 4026531840);
	/* Nobody has kept where it was. */
	begins();
	kept[1].value = alive = 17;
	kept[2].value = BOOT;
	CHECK(!looks(), "refused, and nobody knows where it is");
	begins();
	kept[0].value = 39;
	kept[2].value = BOOT;
	CHECK(!looks(), "refused for a slot without a number");
}

static void in_another_network(void)
{
	for (int how = 0; how < 5; how++) {
		begins();
		its_slot = alive = 17;
		if (!CHECK(!looks(), "the first is refused"))
			return;
		its_network = 4026532000;
		attached = how ? 3 : 0;
		gone = how == 1 ? 3 : how == 2 ? 2 : 0;
		list_err = how == 4 ? -EPERM : 0;
		CHECK(!looks() && its_context.abroad == (how > 1), "%d: abroad %d", how, its_context.abroad);
		kept_is(40, 17, BOOT, how > 1 ? 4026531840 : 4026532000);
		its_network = 4026531840;
		CHECK(!looks() && its_context.abroad == (how == 1 && attached > gone), "%d, back: abroad %d", how,
		      its_context.abroad);
	}
	/* Of an older version nothing is known: whoever comes is at home. */
	begins();
	attached = 2;
	CHECK(!looks() && !its_context.abroad, "it is abroad");
	kept_is(40, 0, BOOT, 4026531840);
}

static void what_cannot_be_seen(void)
{
	begins();
	no_pins = no_network = true;
	CHECK(!looks() && !written && !its_context.abroad, "%d written", written);
	for (fails_at = 1; fails_at <= 4;) {
		int at = fails_at;

		begins();
		fails_at = at;
		its_slot = 17;
		CHECK(looks() == EIO && written == at, "%d: %d written", at, written);
		fails_at = at + 1;
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "at home", at_home },
		{ "at other pins", at_other_pins },
		{ "what has ended", what_has_ended },
		{ "in another network", in_another_network },
		{ "what cannot be seen", what_cannot_be_seen },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
