// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attach.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/label.h"
#include "base/log.h"
#include "base/nearest.h"
#include "kernel/dispatcher.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/tc.h"

static int unpin(const char *name, const char *path)
{
	/* What takes back an attach that was not confirmed waits for nobody, and may have come first. */
	return unlink(path) && errno != ENOENT
		       ? because(-errno, "%s: filtering has stopped, but %s stays: %s", name, path, strerror(errno))
		       : 0;
}

static int detach_link(const struct context *context, const struct attachment *at, const char *path)
{
	int fd = bpf_obj_get(path);
	/* Detach now, not when the last user of the link is gone. */
	int err = fd < 0 ? -errno : attachment_detach(context, at, fd);

	close_fd(fd);
	if (err && !err_is(err, ENOENT) && !err_is(err, ENOLINK) && !err_is(err, EINVAL) && !err_is(err, EOPNOTSUPP))
		return because_kernel(err, path);
	return unpin(at->name, path);
}

int detach_at(const struct context *context, const struct attachment *at)
{
	char path[PIN_PATH_MAX];
	__u32 id;

	attachment_path(context, path, at);
	if (!at->shared)
		return detach_link(context, at, path);
	id = shared_id(path);
	return shared_remove(at->name, id) ?: attach_end_exchange(context, at) ?: unpin(at->name, path);
}

/* Is it the one that the operator means? Interfaces are called by their names of today, and else by those before. */
static bool is_meant(const struct attachment *at, const char *label, bool by_today)
{
	return by_today ? !at->moved && label_is(label, at->name, at->match) : label_is(label, at->as, at->match);
}

/* "; it is on eth0, eth1" */
static int because_not_there(const char *label, const struct attachment *list, size_t n)
{
	char name[IF_NAMESIZE], is[LABEL_MAX], where[96] = "";
	bool leaves = label_split(label, name);
	/* Whoever names an interface that is there has not mistyped another one. */
	struct nearest near = { .word = if_nametoindex(name) ? "" : name };
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].gone || list[i].moved)
			continue;
		nearest_try(&near, list[i].name);
		if (length < sizeof(where))
			length += (size_t)snprintf(where + length, sizeof(where) - length, "%s%s",
						   length ? ", " : "; it is on ",
						   label_of(is, list[i].name, list[i].match));
	}
	return because(-ENOENT, "%s: the filter is not attached there%s%s", name, leaves ? " to what leaves" : "",
		       nearest_text(&near, where));
}

/* It waits still, or let everything pass when its time was over; whatever its interface is called now, and wherever. */
static bool is_on_trial(const struct context *context, const struct attachment *at)
{
	char path[PIN_PATH_MAX];
	bool is;
	int fd;

	if (at->shared)
		return false;
	attachment_path(context, path, at);
	fd = bpf_obj_get(path);
	is = fd >= 0 && attach_until(fd);
	close_fd(fd);
	return is;
}

/* It is to be filtered by its name of today, too. On trial it goes with the name under which it was attached. */
static bool is_anothers(const struct context *context, const struct attachment *at, const struct attach_kept *kept)
{
	bool is = false;

	for (size_t i = 0; i < kept->n; i++)
		is = is || (!strcmp(kept->list[i].name, at->name) &&
			    MATCH_LEAVES(kept->list[i].match) == MATCH_LEAVES(at->match));
	return is && !at->moved && !is_on_trial(context, at);
}

static void say_it_stays(const struct attachment *at)
{
	char label[LABEL_MAX];

	warn("%s, attached as %s, stays filtered: 'xdp-bloom detach %s' ends that",
	     label_of(label, at->name, at->match), at->as, at->name);
}

/* Calls `each` for those of that name; kept: or else for those attached under it. */
static int for_named(const struct context *context, const char *label, const struct attach_kept *kept,
		     int (*each)(const struct context *context, const struct attachment *at))
{
	struct attachment *list = NULL;
	bool found = false;
	int names = kept ? 2 : 1;
	size_t n;
	int err = attach_list(context, &list, &n);

	for (int which = 0; which < names && !found && !err; which++)
		for (size_t i = 0; i < n && !err; i++) {
			if (!is_meant(&list[i], label, !which))
				continue;
			if (which && is_anothers(context, &list[i], kept)) {
				if (each)
					say_it_stays(&list[i]);
				continue;
			}
			found = true;
			err = each ? each(context, &list[i]) : 0;
		}
	if (!err && !found)
		err = because_not_there(label, list, n);
	free(list);
	return err;
}

int attach_find(const struct context *context, const char *label, const struct attach_kept *kept)
{
	return for_named(context, label, kept, NULL);
}

int detach_one(const struct context *context, const char *label, const struct attach_kept *kept)
{
	return for_named(context, label, kept, detach_at);
}

static int is_there(const struct context *context, const struct attachment *at)
{
	(void)context;
	return at->gone ? -ENODEV : 0;
}

bool attach_is_filtered(const struct context *context, const char *label)
{
	return !for_named(context, label, NULL, is_there);
}

int detach_again(const struct context *context, const char *label)
{
	int err = for_named(context, label, NULL, detach_at);

	return err_is(err, ENOENT) ? 0 : err;
}

/* What has the name today may be another one, which is filtered for good. */
bool attach_goes_back(const struct context *context, const struct attachment *at, const char *label)
{
	return is_meant(at, label, false) && (is_meant(at, label, true) || is_on_trial(context, at));
}

int attach_take_back(const struct context *context, const char *label)
{
	struct attachment at = { .shared = true }, *list = NULL;
	bool found = label_split(label, at.name);
	size_t n;
	int err = attach_list(context, &list, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (!attach_goes_back(context, &list[i], label))
			continue;
		found = found || is_meant(&list[i], label, true);
		err = detach_at(context, &list[i]);
	}
	free(list);
	if (err || found)
		return err;
	memcpy(at.as, at.name, sizeof(at.as));
	at.ifindex = if_nametoindex(at.name);
	return at.ifindex && shared_is_there((int)at.ifindex) ? attach_sweep(context, &at) : 0;
}
