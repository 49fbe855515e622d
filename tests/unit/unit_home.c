// SPDX-License-Identifier: GPL-2.0-only
/* Where the filter of a state is: at these pins or at others, in this network namespace or in another. All is made up.
 */
#include <errno.h>
#include <poll.h>
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
#include "state/ports.h"
#include "state/settings.h"
#include "state/state.h"

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
static bool no_pins, no_network, its_root;
static int moments, ends_at; /* that it waits, and after which of them what was removed is gone */
static char said[400];
static int attached, gone, moved, list_err, written, fails_at, warned, entries, port_rules, kept_err;

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
	for (int i = gone; i < gone + moved; i++)
		(*list)[i].moved = true;
	return 0;
}

static int given_kept(struct state *state, struct interface_info **list, size_t *n, int kept_n)
{
	CHECK(state == STATE, "another state");
	*list = calloc(1, sizeof(**list));
	*n = (size_t)kept_n;
	return kept_err;
}

static int given_poll(void *none, unsigned int n, int ms)
{
	CHECK(!none && !n && ms > 0 && ms < 100, "it waits for %u for %d ms", n, ms);
	if (++moments == ends_at)
		alive = 0;
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
#define state_interfaces(state, list, n)      given_kept(state, list, n, entries)
#define state_ports(state, list, n)	      given_kept(state, list, n, port_rules)
#define clock_boot_number()		      BOOT
#define pin_shared_id(of, name) \
	((const struct context *)&its_context == (of) && !strcmp(name, "slot") ? (__u32)its_slot : 0)
#define pin_root_calls(of, id) ((const struct context *)&its_context == (of) && its_root && (id) == 17)
#define poll(none, n, ms)      given_poll(none, n, ms)
#define pin_shared_lives(id)   ((id) == alive)
#define warn		       given_warn
#include "change/home.c"

/* What becomes of it: 0, or the errno; what is kept is compared by whoever asks. */
static int looks(void)
{
	int err;

	its_change = (struct change){ .context = &its_context, .state = STATE, .live.err = its_change.live.err };
	written = warned = moments = 0;
	err = home_look(&its_change);
	home_say(&its_context);
	CHECK(warned == its_context.abroad, "%d warnings, abroad: %d", warned, its_context.abroad);
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
	no_pins = no_network = its_root = false;
	ends_at = 0;
	attached = gone = moved = list_err = fails_at = entries = port_rules = kept_err = 0;
}

/* With one interface, at these pins. */
static bool filters(void)
{
	begins();
	attached = 1;
	its_slot = alive = 17;
	return CHECK(!looks(), "the first is refused");
}

static void at_home(void)
{
	begins();
	attached = 2;
	its_slot = alive = 17;
	CHECK(!looks() && written == 4 && !its_context.abroad, "the first: %d written", written);
	kept_is(40, 17, BOOT, 4026531840);
	CHECK(!looks() && !written && !its_context.abroad, "again: %d written", written);
	/* Without a filter yet nothing is kept, not even of a command that commits. */
	begins();
	its_change.live.err = -ENOENT;
	CHECK(!looks() && !written, "nothing in force: %d written", written);
	its_slot = alive = 18;
	its_change.live.err = 0;
	CHECK(!looks() && written == 3, "something in force: %d written", written);
	kept_is(40, 18, BOOT, 0);
	/* Whoever attaches is at home. */
	CHECK(!home_settle(&its_change) && !its_context.abroad, "it cannot settle");
	kept_is(40, 18, BOOT, 4026531840);
	CHECK(!home_settle(&its_change) && written == 4, "it is written again: %d", written);
	/* The pins went, and others came in the same place. */
	its_slot = alive = 0;
	its_change.live.err = -ENOENT;
	CHECK(!looks() && written == 3, "pins are gone: %d written", written);
	kept_is(40, 0, BOOT, 4026531840);
	its_slot = 19;
	its_change.live.err = 0;
	CHECK(!looks() && written == 3, "pins have come: %d written", written);
	kept_is(40, 19, BOOT, 4026531840);
	/* The machine starts, and all has the numbers that it had: it is of this start from now on. */
	kept[2].value = BOOT - 1;
	its_change.live.err = 0;
	CHECK(!looks() && written == 3, "after a reboot: %d written", written);
	kept_is(40, 19, BOOT, 4026531840);
}

static void at_other_pins(void)
{
	for (int live = 0; live < 2; live++) {
		if (!filters())
			return;
		device = 41;
		its_slot = live ? 23 : 0;
		its_change.live.err = live ? 0 : -ENOENT;
		CHECK(looks() == EXDEV && !written && !moments, "at other pins: %d written", written);
		kept_is(40, 17, BOOT, 4026531840);
		CHECK(strstr(said, "/pins") != NULL, "it says: %s", said);
		/* The same, pinned there, too. */
		its_slot = 17;
		CHECK(!looks(), "the same at other pins");
		kept_is(41, 17, BOOT, 4026531840);
		device = 42;
		its_slot = 23;
		/* What is put into force here is asked for here. */
		its_context.settles = true;
		CHECK(!looks(), "refused though it settles");
		kept_is(42, 23, BOOT, 4026531840);
	}
}

/* Of the same file system; with nothing there, or what filters for others. */
static void in_another_directory(void)
{
	for (int live = 0; live < 2; live++) {
		if (!filters())
			return;
		its_slot = live ? 23 : 0;
		its_change.live.err = live ? 0 : -ENOENT;
		CHECK(looks() == EXDEV && !written && moments > 10, "%d written after %d moments", written, moments);
		kept_is(40, 17, BOOT, 4026531840);
		CHECK(strstr(said, "/pins") != NULL, "it says: %s", said);
		/* They were removed here. */
		ends_at = 3;
		CHECK(!looks() && moments == 3, "refused though it is gone, after %d moments", moments);
		kept_is(40, its_slot, BOOT, 4026531840);
		filters();
		its_slot = live ? 23 : 0;
		its_change.live.err = live ? 0 : -ENOENT;
		its_context.settles = true;
		CHECK(!looks() && !moments, "refused though it settles");
		/* The slot alone was removed. */
		filters();
		its_slot = live ? 23 : 0;
		its_change.live.err = live ? 0 : -ENOENT;
		its_root = true;
		CHECK(!looks() && !moments, "refused where its root is");
		kept_is(40, its_slot, BOOT, 4026531840);
	}
	/* What could be found, and cannot be asked for now. */
	filters();
	its_slot = 0;
	CHECK(!looks() && !written && !moments, "%d written where the slot is not seen", written);
}

/* What has ended, whatever has its number by now, keeps nobody out. */
static void what_has_ended(void)
{
	for (int how = 0; how < 3; how++) {
		if (!filters())
			return;
		device = 41;
		its_slot = 23;
		alive = how ? 17 : 16;
		if (how == 1)
			kept[2].value = BOOT - 1;
		if (how == 2)
			kept[1].value = 0;
		CHECK(!looks(), "%d: refused for a filter that is gone", how);
		kept_is(41, 23, BOOT, 4026531840);
	}
}

/* So many are attached: of them so many are gone, and so many elsewhere. What is kept is another network, or nothing.
 */
static void in_another_network(void)
{
	static const struct {
		int attached, gone, moved;
		bool fails, settles, known, abroad, kept;
	} each[] = {
		{ 0, 0, 0, false, false, true, false, false }, /* home is where the next interface is attached */
		{ 3, 3, 0, false, false, true, false, false },	{ 3, 0, 3, false, false, true, true, false },
		{ 3, 2, 1, false, false, true, true, false },	{ 3, 2, 1, false, true, true, true, false },
		{ 3, 0, 0, false, false, true, false, true }, /* they have come from there */
		{ 3, 2, 0, false, false, true, false, true },	{ 3, 1, 1, false, false, true, true, false },
		{ 3, 1, 1, false, true, true, false, true },	{ 3, 0, 0, true, false, true, true, false },
		{ 3, 0, 0, true, true, true, false, true },	{ 3, 0, 0, true, false, false, false, false },
		{ 3, 1, 1, false, false, false, false, true },	{ 3, 0, 3, false, false, false, true, false },
		{ 0, 0, 0, false, false, false, false, false },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		double before = each[i].known ? 4026531999 : 0;

		begins();
		its_slot = alive = 17;
		kept[3].value = before;
		attached = each[i].attached;
		gone = each[i].gone;
		moved = each[i].moved;
		list_err = each[i].fails ? -EPERM : 0;
		its_context.settles = each[i].settles;
		CHECK(!looks() && its_context.abroad == each[i].abroad, "%zu: abroad %d", i, its_context.abroad);
		kept_is(40, 17, BOOT, each[i].kept ? 4026531840 : before);
		CHECK(!home_settle(&its_change) && its_context.abroad == each[i].abroad, "%zu: it cannot settle", i);
		kept_is(40, 17, BOOT, each[i].abroad ? before : 4026531840);
	}
}

/* None is filtered, and these are to be. */
static void none_just_now(void)
{
	for (int how = 0; how < 3; how++)
		for (int known = 0; known < 2; known++) {
			double before = known ? 4026531999 : 0;

			begins();
			kept[3].value = before;
			entries = how == 0;
			port_rules = how == 1;
			attached = gone = how == 2; /* one is gone, and is not to be filtered any more */
			CHECK(!looks() && its_context.abroad == (known && how < 2), "%d: abroad %d", how,
			      its_context.abroad);
			CHECK(!home_settle(&its_change), "it cannot settle");
			kept_is(0, 0, 0, known && how < 2 ? before : 4026531840);
			kept[3].value = before;
			its_context.settles = true;
			CHECK(!looks() && !its_context.abroad, "%d: it settles, and is abroad", how);
			CHECK(!home_settle(&its_change), "it cannot settle");
			kept_is(0, 0, 0, 4026531840);
		}
	begins();
	kept[3].value = 4026531999;
	kept_err = because(-EIO, "it cannot be read");
	CHECK(looks() == EIO, "a state that cannot be read is of no network");
}

static void what_cannot_be_seen(void)
{
	begins();
	no_pins = no_network = true;
	attached = 1;
	CHECK(!looks() && !written && !its_context.abroad, "%d written", written);
	CHECK(!home_settle(&its_change) && !written, "%d written by whoever settles", written);
	for (int at = 1; at <= 4; at++) {
		begins();
		attached = 1;
		fails_at = at;
		its_slot = 17;
		CHECK(looks() == EIO && written == at, "%d: %d written", at, written);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "at home", at_home },
		{ "at other pins", at_other_pins },
		{ "in another directory", in_another_directory },
		{ "what has ended", what_has_ended },
		{ "in another network", in_another_network },
		{ "none just now", none_just_now },
		{ "what cannot be seen", what_cannot_be_seen },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
