// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/into_force.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "change/ban_sum.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "state/events.h"

#define AGAIN_FIRST 1
#define AGAIN_MOST  30 /* seconds */
/* What another command does takes less; what lasts longer is a fault. */
#define FAULT_SECONDS 15

static void tell(struct into_force *f, const struct ban_order *orders, size_t n, const struct banned *banned,
		 const struct change *change)
{
	const struct ban_order *one = NULL;
	char text[PREFIX_TEXT_MAX];
	size_t ended = 0, missed = 0;

	for (size_t i = 0; i < n; i++) {
		if (!one && !orders[i].much &&
		    (orders[i].del ? !orders[i].missed : !orders[i].waits && (banned->added || banned->renewed)))
			one = &orders[i];
		missed += orders[i].missed;
		f->waits += orders[i].waits;
		ended += orders[i].del && !orders[i].missed;
	}
	f->bans += banned->added + banned->renewed;
	f->kept += banned->kept;
	f->refused_n += banned->refused;
	f->ended += ended;
	f->missed += missed;
	if (!one)
		return;
	event(f->context,
	      (struct event){ EVENT_DONE, .verb = f->verb ?: "follow", .generation = change->live.g.number },
	      "%s: %zu banned, %zu renewed, %zu taken out, among them %s", f->from, banned->added, banned->renewed,
	      ended, prefix_text(text, one->prefix.first, (int)one->prefix.length));
}

static int make(struct into_force *f, struct ban_order *orders, size_t at, size_t n)
{
	struct change *change = NULL;
	struct banned banned = { 0 };
	double began = clock_seconds();
	int err = change_begin(&change, f->context) ?:
		  ban_sum(change->state, orders + at, n, f->much) ?:
		  ban_orders(change, &f->options, f->whose, orders + at, n, &banned) ?:
		  (f->with ? f->with(f->arg, change, at + n) : 0) ?:
		  change_commit(change, NULL);

	if (!err)
		tell(f, orders + at, n, &banned, change);
	change_end(change);
	banned_free(&banned);
	if (clock_seconds() - began > f->longest)
		f->longest = clock_seconds() - began;
	return err;
}

/* Returns at once where a signal has come, or comes. */
static void wait_a_while(int seconds)
{
	struct timespec time = { seconds, 0 };

	stop_poll(NULL, 0, &time);
}

/* Since when it cannot be put into force for what passes; and whether monitoring was told. */
struct vain {
	double since; /* 0: it works */
	bool told;
};

static void in_vain(const struct into_force *f, struct vain *vain, int err)
{
	double seconds = clock_seconds();

	if (!vain->since) {
		warn("%s: %s; nothing of it is lost, it is tried again", f->from, reason(err));
		vain->since = seconds;
	} else if (!vain->told && seconds - vain->since >= FAULT_SECONDS) {
		event(f->context, (struct event){ .kind = EVENT_FAULT },
		      "%s: nothing that it says has come into force for %.0f s: %s; nothing of it is lost, it is tried again",
		      f->from, seconds - vain->since, reason(err));
		vain->told = true;
	}
}

static void works_again(const struct into_force *f, struct vain *vain)
{
	warn("%s: it works again", f->from);
	if (vain->told)
		event(f->context, (struct event){ .kind = EVENT_HEALED }, "%s: what it says comes into force again",
		      f->from);
	*vain = (struct vain){ 0 };
}

int into_force(struct into_force *f, struct ban_order *orders, size_t n)
{
	size_t at = 0, size = n;
	struct vain vain = { 0 };
	bool waits = false;
	int again = 0;

	f->longest = 0;
	while (at < n) {
		size_t some = size < n - at ? size : n - at;
		int err = make(f, orders, at, some);

		if (vain.since && (!err || change_refuses(err))) {
			works_again(f, &vain);
			again = 0;
		}
		if (change_refuses(err) && some > 1) {
			size = some / 2;
			continue;
		}
		if (err && !change_refuses(err)) {
			if (stop_asked)
				return -EINTR;
			in_vain(f, &vain, err);
			again = !again ? AGAIN_FIRST : 2 * again < AGAIN_MOST ? 2 * again : AGAIN_MOST;
			wait_a_while(again);
			if (stop_asked)
				return -EINTR;
			continue;
		}
		if (err_is(err, GUARD_REFUSED) && orders[at].account && !orders[at].del && !waits) {
			orders[at].waits = waits = true;
			continue;
		}
		if (err)
			f->refused(f->arg, at, reason(err));
		for (size_t i = at; i < at + some && !err; i++)
			if (orders[i].much)
				f->refused(f->arg, i, f->much);
		waits = false;
		at += some;
		size = 2 * some;
		f->done(f->arg, at);
	}
	return 0;
}
