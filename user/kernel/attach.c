// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attach.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "kernel/counters.h"
#include "base/context.h"
#include "base/label.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/other_name.h"
#include "kernel/dispatcher.h"
#include "kernel/drivers.h"
#include "kernel/tc.h"
#include "kernel/host.h"
#include "kernel/link_header.h"
#include "kernel/port.h"
#include "kernel/root.h"

/* In which mode something runs there. Is it that program (0: any)? */
static int mode_of(unsigned int ifindex, __u32 id, enum attach_mode *mode, bool *is_it)
{
	struct port_xdp on;
	int err = port_xdp(ifindex, &on);

	*is_it = !err && (!id || id == on.programs[0] || id == on.programs[1] || id == on.programs[2]);
	*mode = on.skb ? MODE_SKB : MODE_NATIVE;
	return err_is(err, ENODEV) ? 0 : err;
}

/*
 * Looks at a pin of ours. 0: it filters. -ENOENT: there is none. -ENODEV: its interface is gone. -EXDEV: it filters,
 * but in another network namespace, where the ifindex is another's. Any other: who knows?
 */
static int link_state(const struct context *context, struct attachment *at)
{
	char path[PIN_PATH_MAX], name[IF_NAMESIZE];
	struct pinned is = { 0 };
	bool is_it = false;
	int fd, err = 0;

	attachment_path(context, path, at);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (!at->shared)
		err = attachment_runs(context, at, fd, 0, &is);
	close(fd);
	if (err)
		return err;
	at->ifindex = at->shared ? shared_where(if_nametoindex(at->as), shared_id(path)) : is.ifindex;
	at->gone = !at->ifindex;
	if (MATCH_BY_TC(at->match))
		at->mode = MODE_TC;
	if (at->gone)
		return -ENODEV;
	if (if_indextoname(at->ifindex, name)) {
		err = MATCH_BY_TC(at->match) ? tc_runs(at, is.program, &is_it, &at->behind)
					     : mode_of(at->ifindex, at->shared ? 0 : is.program, &at->mode, &is_it);
		if (err)
			return err;
		if (is_it)
			memcpy(at->name, name, sizeof(name));
	} else if (errno != ENXIO) {
		return -errno;
	}
	at->moved = !is_it;
	return is_it ? 0 : -EXDEV;
}

static const char *why_not(const struct attachment *at, int err, bool frags, char text[NATIVE_TEXT_MAX])
{
	struct port port;

	switch (error_number(err)) {
	case EBUSY:
		return port_busy(port_look(&port, at->name) ? NULL : &port, text);
	case EPERM:
	case EACCES:
		return "root, or " NEEDED_CAPABILITIES ", is needed";
	}
	if (at->mode == MODE_NATIVE && native_why_not(at->name, err, frags, text))
		return text;
	switch (error_number(err)) {
	case EOPNOTSUPP:
		return at->mode == MODE_SKB ? "it has no XDP; use --mode tc" : "its driver has no XDP; use --mode skb";
	case ERANGE:
	case EINVAL:
		return "the driver refuses it (MTU too large for XDP, or LRO on?); use --mode skb";
	default:
		return errno_text(err);
	}
}

static int create_link(int root, int ifindex, enum attach_mode mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode == MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
	int fd = bpf_link_create(root, ifindex, BPF_XDP, &opts);

	return fd < 0 ? -errno : fd;
}

static int create_link_with_room(const struct attachment *at, int root, int ifindex, enum attach_mode mode)
{
	int fd = create_link(root, ifindex, mode);
	unsigned int before = fd < 0 && mode == MODE_NATIVE ? native_room(at->name, fd) : 0;

	if (!before)
		return fd;
	fd = create_link(root, ifindex, mode);
	native_room_end(at->name, before, fd < 0 ? fd : 0);
	return fd;
}

static int attach_link(const struct context *context, struct attachment *at, int ifindex)
{
	char path[PIN_PATH_MAX], why[NATIVE_TEXT_MAX];
	bool frags = host_kernel() >= HOST_FRAGS;
	bool other = at->bare || at->match;
	int root = at->until ? root_on_trial(context, at->until, at->match, at->bare)
		   : other   ? root_of(context, at->match, at->bare)
			     : pin_root(context, &frags);
	int fd = -1, err = -EOPNOTSUPP;

	if (root < 0)
		return at->until || other || err_is(root, EBADF)
			       ? root
			       : because(root, "the root program is gone from %s", context->bpffs);
	attachment_path(context, path, at);
	/* No driver of those has another. */
	if (at->bare && at->mode == MODE_AUTO)
		at->mode = MODE_SKB;
	for (enum attach_mode mode = MODE_NATIVE; mode <= MODE_SKB && fd < 0; mode++) {
		if (at->mode != MODE_AUTO && at->mode != mode)
			continue;
		fd = create_link_with_room(at, root, ifindex, mode);
		err = fd < 0 ? fd : 0;
		if (err_is(err, EBUSY) || err_is(err, EEXIST) || err_is(err, EPERM))
			break;
		if (err && at->mode == MODE_AUTO && mode == MODE_NATIVE)
			native_missing(at->name, err, frags);
		if (!err)
			at->mode = mode;
	}
	close(root);
	if (err_is(err, EEXIST))
		err = -EBUSY;
	if (err)
		return because(err, "%s: %s", at->name, why_not(at, err, frags, why));
	if (bpf_obj_pin(fd, path))
		err = because(-errno, "%s: %s", path, strerror(errno));
	close(fd);
	return err;
}

static int attach_by_tc(const struct context *context, struct attachment *at, unsigned int ifindex)
{
	int root = at->until ? root_on_trial(context, at->until, at->match, at->bare)
			     : root_of(context, at->match, at->bare);
	char path[PIN_PATH_MAX];
	int err;

	at->mode = MODE_TC;
	attachment_path(context, path, at);
	err = root < 0 ? root : tc_attach(at, ifindex, root, path);
	close_fd(root);
	return err;
}

/* An interface's counters start at zero, unless a filtered one shares their row. */
static int take_row(const struct context *context, unsigned int ifindex, bool leaves)
{
	struct attachment *list;
	bool taken = false;
	size_t n;
	int err = attach_list(context, &list, &n);

	for (size_t i = 0; i < n && !err; i++)
		taken = taken || (!list[i].gone && MATCH_LEAVES(list[i].match) == leaves &&
				  PORT_OF(list[i].ifindex) == PORT_OF(ifindex));
	free(list);
	return err || taken ? err : kernel_retire_port(context, PORT_OF(ifindex), leaves);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

/*
 * An interface of that name came and went, or was renamed, or is in another network namespace: its pin makes room. So
 * does what cannot be one.
 */
static int make_room(const struct context *context, const char *name, struct attachment old)
{
	char path[PIN_PATH_MAX], aside[PIN_PATH_MAX];
	struct pinned is = { 0 };
	int fd, err;

	snprintf(old.as, sizeof(old.as), "%s", name);
	attachment_path(context, path, &old);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		err = -errno;
		if (err_is(err, ENOENT))
			return 0;
		if (!is_directory(path))
			return because_kernel(err, path);
		pin_remove(path);
		return 0;
	}
	err = pinned_info(fd, &is);
	close_fd(fd);
	if (err)
		return because_kernel(err, path);
	err = link_state(context, &old);
	if (err_is(err, ENODEV)) {
		unlink(path);
		return 0;
	}
	if (err && !err_is(err, EXDEV))
		return because_kernel(err, path);
	old.set_aside = is.id;
	attachment_path(context, aside, &old);
	return rename(path, aside) ? because_kernel(-errno, path) : 0;
}

static int because_no_interface(const char *name)
{
	struct if_nameindex *all = interfaces_all();
	struct nearest near = { .word = name };
	const char *otherwise = "; 'ip link' shows those of this network namespace";

	if (strchr(name, ','))
		otherwise = "; several stand side by side, with blanks between";
	else if (strchr(name, '@'))
		otherwise = "; what 'ip link' shows behind '@' is no part of the name";
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		nearest_try(&near, i->if_name);
	interfaces_free(all);
	return because(-ENODEV, "%s: there is no such interface%s", name, nearest_text(&near, otherwise));
}

static int because_attached(const struct attachment *wanted, const struct attachment *is)
{
	return because(-EEXIST, "%s: the filter is attached there already (%s mode%s%s)", wanted->name,
		       attach_mode_names[is->mode], is->shared ? ", shared" : "", match_texts[is->match]);
}

bool attach_is_anothers(const struct attachment *list, size_t n, const char *name, unsigned int match, const char *own)
{
	bool is = false;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].as, name) != 0 || MATCH_LEAVES(list[i].match) != MATCH_LEAVES(match))
			continue;
		/* It was renamed. */
		if (!list[i].gone && !list[i].moved && !strcmp(list[i].name, own))
			return false;
		is = true;
	}
	return is;
}

/* Of one interface. */
static bool is_same(const struct attachment *one, const struct attachment *other)
{
	return one->match == other->match && one->shared == other->shared && one->set_aside == other->set_aside;
}

/* beside: may be there, too. bare: its packets begin with IP. */
static int may_attach(const struct context *context, const struct attachment *at, const struct attachment *beside,
		      bool *bare)
{
	unsigned int ifindex = if_nametoindex(at->name);
	char own[IF_NAMESIZE];
	struct attachment *list;
	size_t n;
	int err;

	if (!ifindex)
		return because_no_interface(at->name);
	err = attach_list(context, &list, &n);
	if (!err && attach_is_anothers(list, n, at->name, at->match, at->name) && is_other_name(at->name, own) &&
	    attach_is_anothers(list, n, at->name, at->match, own))
		err = because(-ENODEV, "%s: that is another name of %s, and another interface was attached under it",
			      at->name, own);
	for (size_t i = 0; i < n && !err; i++) {
		if (list[i].gone || list[i].ifindex != ifindex ||
		    MATCH_LEAVES(list[i].match) != MATCH_LEAVES(at->match) || (beside && is_same(&list[i], beside)))
			continue;
		if (!list[i].moved)
			err = because_attached(at, &list[i]);
		else if (!strcmp(list[i].as, at->name)) /* it could not be told which of the two is which */
			err = because(-EXDEV,
				      "%s: the filter that was attached under this name goes on, in another network"
				      " namespace, where the interface has the same number; detach %s first",
				      at->name, at->name);
	}
	free(list);
	*bare = false;
	return err ?: link_header(at, bare);
}

int attach_may(const struct context *context, const struct attachment *at)
{
	bool bare;

	return may_attach(context, at, NULL, &bare);
}

/* What is pinned under its name, and filters another interface by now, or none; but for that one. */
static int make_all_room(const struct context *context, const struct attachment *at, const struct attachment *beside)
{
	int err = 0;

	for (unsigned int i = 0; i < 2 * MATCH_KINDS + 1 && !err; i++) {
		struct attachment old = { .shared = !i };

		if (i) {
			old.match = (i - 1) / 2;
			old.bare = i % 2 == 0;
		}
		if (MATCH_LEAVES(old.match) == MATCH_LEAVES(at->match) &&
		    !(beside && is_same(&old, beside) && old.bare == beside->bare && !strcmp(beside->as, at->name)))
			err = make_room(context, at->name, old);
	}
	return err;
}

static int put_beside(const struct context *context, struct attachment *at, const struct attachment *beside)
{
	unsigned int ifindex = if_nametoindex(at->name);
	char path[PIN_PATH_MAX];
	int err = take_row(context, ifindex, MATCH_LEAVES(at->match));

	memcpy(at->as, at->name, sizeof(at->as));
	at->set_aside = 0;
	err = err ?: make_all_room(context, at, beside);
	if (err)
		return err;
	if (MATCH_BY_TC(at->match))
		return attach_by_tc(context, at, ifindex);
	if (at->match && (at->shared || shared_is_there((int)ifindex)))
		return because(-EOPNOTSUPP,
			       "%s: beside other XDP programs, through libxdp, only sources can be asked about: leave"
			       " out --match",
			       at->name);
	if (at->shared || (!at->bare && shared_is_there((int)ifindex))) {
		at->shared = true;
		attachment_path(context, path, at);
		return shared_attach(context, at, (int)ifindex, path);
	}
	return attach_link(context, at, (int)ifindex);
}

static int attach_beside(const struct context *context, struct attachment *at, const struct attachment *beside)
{
	char why[512];
	int err = may_attach(context, at, beside, &at->bare);

	if (err)
		return err;
	err = put_beside(context, at, beside);
	/* Something was put in its pin's place since room was made. */
	for (int again = 0; again < 3 && err_is(err, EEXIST); again++)
		err = put_beside(context, at, beside);
	if (!err_is(err, EEXIST))
		return err;
	/* That is no filter that is attached already. */
	snprintf(why, sizeof(why), "%s", reason(err));
	return because(-EBUSY, "%s", why);
}

int attach_one(const struct context *context, struct attachment *at)
{
	return attach_beside(context, at, NULL);
}

static int may_change(const struct attachment *at, int link)
{
	return attach_until(link)
		       ? because(-EBUSY, "%s: that it is attached is on trial: 'xdp-bloom confirm' first", at->name)
		       : 0;
}

/* The new one is there, so the old one goes; if it does not, the new one does. One of them filters. */
static int leave(const struct context *context, struct attachment *at, const struct attachment *then)
{
	int err = detach_at(context, at), filters = err ? link_state(context, at) : -ENOENT;
	char why[512];

	if (filters) {
		if (err)
			warn("%s", reason(err));
		*at = *then;
		return 0;
	}
	snprintf(why, sizeof(why), "%s", reason(err));
	detach_at(context, then);
	return because(err, "%s", why);
}

/* No kernel has XDP in two modes on an interface, not for a moment: so by tc while there is none. */
static int by_way_of_tc(const struct context *context, struct attachment *at, struct attachment *then)
{
	struct attachment way = { .mode = MODE_TC, .match = MATCH_COMING(at->match) }, before = *at;
	char why[512];
	int err;

	memcpy(way.name, at->name, sizeof(way.name));
	err = attach_beside(context, &way, at) ?: leave(context, at, &way);
	if (err)
		return err;
	err = attach_beside(context, then, at);
	if (!err)
		return leave(context, at, then);
	snprintf(why, sizeof(why), "%s", reason(err));
	if (attach_beside(context, &before, at) || leave(context, at, &before))
		return because(err, "%s; it is filtered by tc now: 'restore' brings the mode before", why);
	return because(err, "%s", why);
}

int attach_instead(const struct context *context, struct attachment *at, struct attachment *then)
{
	char path[PIN_PATH_MAX];
	int link, err;

	attachment_path(context, path, at);
	link = at->shared ? -1 : bpf_obj_get(path);
	err = link < 0 ? 0 : may_change(at, link);
	close_fd(link);
	memcpy(then->name, at->name, sizeof(then->name));
	if (err)
		return err;
	if (!MATCH_BY_TC(at->match) && !MATCH_BY_TC(then->match))
		return by_way_of_tc(context, at, then);
	return attach_beside(context, then, at) ?: leave(context, at, then);
}

int64_t attach_until(int link)
{
	struct pinned at, program = { 0 }, map;
	struct trial term = { 0 };
	__u32 key = 0;
	int fd = pinned_info(link, &at) ? -1 : bpf_prog_get_fd_by_id(at.program);

	if (fd < 0 || pinned_info(fd, &program))
		program.n_maps = 0;
	close_fd(fd);
	for (__u32 i = 0; i < program.n_maps; i++) {
		fd = bpf_map_get_fd_by_id(program.maps[i]);
		if (fd >= 0 && !pinned_info(fd, &map) && !strcmp(map.name, "trial") && map.value_size == sizeof(term))
			(void)bpf_map_lookup_elem(fd, &key, &term);
		close_fd(fd);
	}
	return (int64_t)term.until;
}

static int give_root(const struct context *context, const struct attachment *at, int link, int root)
{
	int err = attachment_turn(context, at, link, at->ifindex, root);

	return err ? because(err, "the new root: %s", errno_text(err)) : 0;
}

int attach_is(const struct context *context, const char *label, struct attachment *at)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(context, &list, &n), found = err ?: -ENOENT;

	for (size_t i = 0; i < n && !err; i++)
		if (!list[i].gone && !list[i].moved && label_is(label, list[i].name, list[i].match)) {
			*at = list[i];
			found = 0;
		}
	free(list);
	return found;
}

/* What the pin's name says comes first: where we are killed in between, that is what a link is given again. */
static int become(const struct context *context, struct attachment *at, const struct attachment *then)
{
	int root = then->match || then->bare ? root_of(context, then->match, then->bare) : pin_get(context, PIN_ROOT);
	char before[PIN_PATH_MAX], path[PIN_PATH_MAX];
	int link = -1, err;

	attachment_path(context, before, at);
	attachment_path(context, path, then);
	err = root < 0 ? root : (link = bpf_obj_get(before)) < 0 ? -errno : 0;
	err = err ?: may_change(at, link);
	if (!err && rename(before, path))
		err = because_kernel(-errno, path);
	if (!err) {
		err = give_root(context, then, link, root);
		if (err && rename(path, before))
			note("%s stays: %s", path, errno_text(-errno));
	}
	close_fd(link);
	close_fd(root);
	if (!err)
		*at = *then;
	return err;
}

int attach_rematch(const struct context *context, struct attachment *at, unsigned int match)
{
	struct attachment then = *at;

	then.match = match;
	return become(context, at, &then);
}

/* A version before may have taken its packets for others, with or without a header. */
static int fit_header(const struct context *context, struct attachment *at)
{
	struct attachment then = *at;
	int err = MATCH_BY_TC(at->match) ? link_header(at, &then.bare) : 0;

	return err || then.bare == at->bare ? err : become(context, at, &then);
}

int attach_settle(const struct context *context, const struct attachment *kept, bool instead)
{
	int err, one = -1, other = -1;
	struct attachment *list;
	size_t n;

	err = attach_list(context, &list, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (list[i].gone || list[i].moved || strcmp(list[i].name, kept->name) != 0 ||
		    MATCH_LEAVES(list[i].match) != MATCH_LEAVES(kept->match))
			continue;
		if (MATCH_BY_TC(list[i].match) == MATCH_BY_TC(kept->match))
			one = (int)i;
		else
			other = (int)i;
	}
	if (!err && one >= 0 && other >= 0)
		err = detach_at(context, &list[other]);
	if (!err && one >= 0 && (kept->mode == MODE_AUTO || list[one].mode == kept->mode || list[one].shared))
		instead = false;
	if (!err && instead && (one >= 0 || other >= 0)) {
		struct attachment then = *kept;

		err = attach_instead(context, &list[one >= 0 ? one : other], &then);
	} else if (!err && one >= 0 && !kept->until) {
		err = fit_header(context, &list[one]);
	}
	free(list);
	return err;
}

int attach_rename(const struct context *context, const struct attachment *at)
{
	char before[PIN_PATH_MAX], path[PIN_PATH_MAX];
	struct attachment then = *at;
	int link, err;
	bool waits;

	attachment_path(context, before, at);
	memcpy(then.as, at->name, sizeof(then.as));
	then.set_aside = 0;
	attachment_path(context, path, &then);
	link = at->shared ? -1 : bpf_obj_get(before);
	waits = link >= 0 && attach_until(link);
	close_fd(link);
	err = waits ? 0 : make_room(context, at->name, then);
	return err || waits || !rename(before, path) ? err : because_kernel(-errno, path);
}

static int turn(const struct context *context, const struct attachment *at, int link, int root, int64_t until)
{
	int its = until			  ? root_on_trial(context, until, at->match, at->bare)
		  : at->bare || at->match ? root_of(context, at->match, at->bare)
					  : root,
	    err;

	if (its < 0)
		return its;
	err = give_root(context, at, link, its);
	if (its != root)
		close(its);
	return err;
}

int attach_turned(const struct context *context, const struct attachment *at)
{
	struct pinned root = { 0 }, link = { 0 };
	char path[PIN_PATH_MAX];
	int fd, its, err;

	attachment_path(context, path, at);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return err_is(-errno, ENOENT) ? 0 : because_kernel(-errno, path);
	its = at->bare || at->match ? root_of(context, at->match, at->bare) : pin_get(context, PIN_ROOT);
	err = its < 0 ? its : pinned_info(its, &root) ?: attachment_runs(context, at, fd, at->ifindex, &link);
	if (!err && link.program != root.id && !attach_until(fd))
		err = give_root(context, at, fd, its);
	close_fd(its);
	close_fd(fd);
	return err;
}

int attach_turn(const struct context *context, const struct attachment *at, int link, int root)
{
	return turn(context, at, link, root, attach_until(link));
}

/* match: only to those; MATCH_KINDS: to all. */
static int give_roots(const struct context *context, unsigned int match, int root, bool keep)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(context, &list, &n);

	for (size_t i = 0; i < n && !err; i++) {
		char path[PIN_PATH_MAX];
		int fd;

		attachment_path(context, path, &list[i]);
		fd = list[i].shared || list[i].gone || (match < MATCH_KINDS && list[i].match != match)
			     ? -1
			     : bpf_obj_get(path);
		err = fd < 0 ? 0 : turn(context, &list[i], fd, root, keep ? 0 : attach_until(fd));
		close_fd(fd);
	}
	free(list);
	return err;
}

int attach_new_root(const struct context *context, unsigned int match, int root)
{
	return give_roots(context, match, root, false);
}

int attach_keep(const struct context *context)
{
	int root = pin_get(context, PIN_ROOT);
	int err = root < 0 ? 0 : give_roots(context, MATCH_KINDS, root, true); /* without a root nothing is attached */

	close_fd(root);
	return err;
}

/* What comes in first. */
static int by_name(const void *a, const void *b)
{
	const struct attachment *one = a, *other = b;

	return strcmp(one->name, other->name) ?: MATCH_LEAVES(one->match) - MATCH_LEAVES(other->match);
}

int attach_list(const struct context *context, struct attachment **list, size_t *n)
{
	struct attachment at;
	struct dirent *entry;
	char path[PIN_PATH_MAX];
	DIR *dir;
	int err = 0;

	*list = NULL;
	*n = 0;
	pin_path(context, path, PIN_LINKS);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", path, strerror(errno));
	while (errno = 0, entry = readdir(dir)) {
		if (!attachment_of_pin(entry->d_name, &at))
			continue;
		err = link_state(context, &at);
		if (err_is(err, ENOENT)) {
			err = 0;
			continue;
		}
		if (err_is(err, ENODEV) || err_is(err, EXDEV) || err_is(err, EPERM) || err_is(err, EACCES))
			err = 0; /* it is there all the same */
		if (!err && !GROW(*list, *n))
			err = -ENOMEM;
		if (err) {
			err = because_kernel(err, path);
			break;
		}
		(*list)[(*n)++] = at;
	}
	if (!entry && errno)
		err = because(-errno, "%s: %s", path, strerror(errno));
	closedir(dir);
	if (*n)
		qsort(*list, *n, sizeof(**list), by_name);
	return err;
}
