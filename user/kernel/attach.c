// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attach.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "kernel/counters.h"
#include "base/context.h"
#include "base/log.h"
#include "kernel/dispatcher.h"

/* In which mode something runs there. Is it that program (0: any)? In another namespace the ifindex is another's. */
static enum attach_mode mode_of(int ifindex, __u32 id, bool *is_it)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	*is_it = true;
	if (bpf_xdp_query(ifindex, 0, &query))
		return MODE_NATIVE;
	*is_it = !id || id == query.drv_prog_id || id == query.skb_prog_id || id == query.hw_prog_id;
	return query.attach_mode == XDP_ATTACHED_SKB ? MODE_SKB : MODE_NATIVE;
}

/*
 * Looks at a pin of ours. 0: it filters. -ENOENT: there is none. -ENODEV: its interface is gone. -EXDEV: it filters,
 * but under another name or in another network namespace.
 */
static int link_state(const struct context *context, struct attachment *at)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);
	char path[PIN_PATH_MAX];
	unsigned int ifindex = if_nametoindex(at->name);
	bool is_it = true;
	int fd, err;

	attachment_pin(context, path, at->name, at->shared);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (at->shared)
		at->ifindex = shared_where(ifindex, shared_id(path));
	else
		at->ifindex = bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.xdp.ifindex;
	close(fd);
	if (at->ifindex && at->ifindex == ifindex)
		at->mode = mode_of((int)ifindex, info.prog_id, &is_it);
	err = !at->ifindex ? -ENODEV : at->ifindex != ifindex || !is_it ? -EXDEV : 0;
	at->gone = err_is(err, ENODEV);
	at->moved = err_is(err, EXDEV);
	return err;
}

static const char *why_not(int err)
{
	switch (error_number(err)) {
	case EBUSY:
		return "another XDP program is attached there; detach it, or try --shared";
	case EPERM:
	case EACCES:
		return "root, or " NEEDED_CAPABILITIES ", is needed";
	case EOPNOTSUPP:
		return "its driver has no XDP; use --mode skb";
	case ERANGE:
	case EINVAL:
		return "the driver refuses it (MTU too large for XDP, or LRO on?); use --mode skb";
	default:
		return errno_text(err);
	}
}

static int attach_link(const struct context *context, struct attachment *at, int ifindex)
{
	char path[PIN_PATH_MAX];
	int root = pin_get(context, PIN_ROOT), fd = -1, err = -EOPNOTSUPP;

	if (root < 0)
		return because(root, "the root program is gone from %s", context->bpffs);
	attachment_pin(context, path, at->name, false);
	for (enum attach_mode mode = MODE_NATIVE; mode <= MODE_SKB && fd < 0; mode++) {
		LIBBPF_OPTS(bpf_link_create_opts, opts,
			    .flags = mode == MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);

		if (at->mode != MODE_AUTO && at->mode != mode)
			continue;
		fd = bpf_link_create(root, ifindex, BPF_XDP, &opts);
		err = fd < 0 ? -errno : 0;
		if (err_is(err, EBUSY) || err_is(err, EEXIST) || err_is(err, EPERM))
			break;
		if (err && at->mode == MODE_AUTO && mode == MODE_NATIVE)
			warn("%s: no native mode (%s), using skb: slower, and behind the driver", at->name,
			     errno_text(err));
		if (!err)
			at->mode = mode;
	}
	close(root);
	if (err_is(err, EEXIST))
		err = -EBUSY;
	if (err)
		return because(err, "%s: %s", at->name, why_not(err));
	if (bpf_obj_pin(fd, path))
		err = because(-errno, "%s: %s", path, strerror(errno));
	close(fd);
	return err;
}

/* An interface's counters start at zero, unless a filtered one shares their row. */
static int take_row(const struct context *context, unsigned int ifindex)
{
	struct attachment *list;
	bool taken = false;
	size_t n;
	int err = attach_list(context, &list, &n);

	for (size_t i = 0; i < n && !err; i++)
		taken = taken || (!list[i].gone && PORT_OF(list[i].ifindex) == PORT_OF(ifindex));
	free(list);
	return err || taken ? err : kernel_retire_port(context, PORT_OF(ifindex));
}

/* On others (tun, ppp, sit) the program would read addresses at the wrong place, and let all pass. */
static int has_ethernet(const char *ifname)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	err = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request) ? -errno : 0;
	close_fd(fd);
	if (err)
		return because(err, "%s: %s", ifname, errno_text(err));
	if (request.ifr_hwaddr.sa_family == ARPHRD_ETHER || request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK)
		return 0;
	return because(-EOPNOTSUPP,
		       "%s: its packets have no Ethernet header, and the filter could not read them; attach to the"
		       " interface that they come in through",
		       ifname);
}

int attach_may(const struct context *context, const struct attachment *at)
{
	struct attachment old = *at;
	char path[PIN_PATH_MAX];

	if (!if_nametoindex(at->name))
		return because(-ENODEV, "%s: there is no such interface", at->name);
	for (int shared = 0; shared < 2; shared++) {
		old.shared = shared;
		switch (error_number(link_state(context, &old))) {
		case 0:
			return because(-EEXIST, "%s: the filter is attached there already (%s mode)", at->name,
				       attach_mode_names[old.mode]);
		case EXDEV:
			return because(-EXDEV,
				       "%s: the filter that was attached under this name goes on: the interface was "
				       "renamed, or is in another network namespace; detach %s first",
				       at->name, at->name);
		case ENODEV: /* an interface of that name came and went */
			attachment_pin(context, path, at->name, shared);
			unlink(path);
		}
	}
	return has_ethernet(at->name);
}

int attach_one(const struct context *context, struct attachment *at)
{
	unsigned int ifindex = if_nametoindex(at->name);
	char path[PIN_PATH_MAX];
	int err = attach_may(context, at) ?: take_row(context, ifindex);

	if (err)
		return err;
	if (at->shared || shared_is_there((int)ifindex)) {
		attachment_pin(context, path, at->name, true);
		return shared_attach(context, at, (int)ifindex, path);
	}
	return attach_link(context, at, (int)ifindex);
}

int attach_new_root(const struct context *context, int root)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(context, &list, &n);

	for (size_t i = 0; i < n && !err; i++) {
		char path[PIN_PATH_MAX];
		int fd;

		attachment_pin(context, path, list[i].name, false);
		fd = list[i].shared || list[i].gone ? -1 : bpf_obj_get(path);
		if (fd >= 0 && bpf_link_update(fd, root, NULL))
			err = because(-errno, "%s: the new root: %s", list[i].name, strerror(errno));
		close_fd(fd);
	}
	free(list);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct attachment *)a)->name, ((const struct attachment *)b)->name);
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
	while ((entry = readdir(dir))) {
		if (!attachment_of_pin(entry->d_name, &at) || err_is(link_state(context, &at), ENOENT))
			continue;
		if (!GROW(*list, *n)) {
			err = -ENOMEM;
			break;
		}
		(*list)[(*n)++] = at;
	}
	closedir(dir);
	if (*n)
		qsort(*list, *n, sizeof(**list), by_name);
	return err;
}
