// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attach.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/dispatcher.h"
#include "kernel/dispatcher_refresh.h"

/* 0 or 1, or -errno where that cannot be seen. */
static int is_pinned(const char *path)
{
	return !access(path, F_OK) ? 1 : errno == ENOENT ? 0 : because(-errno, "%s: %s", path, strerror(errno));
}

int attach_find(const struct context *context, const char *name)
{
	char path[PIN_PATH_MAX];

	for (int shared = 0; shared < 2 && *name; shared++) {
		int is;

		attachment_pin(context, path, name, shared);
		is = is_pinned(path);
		if (is)
			return is < 0 ? is : 0;
	}
	return because(-ENOENT, "%s: the filter is not attached there", name);
}

static int unpin(const char *name, const char *path)
{
	return unlink(path)
		       ? because(-errno, "%s: filtering has stopped, but %s stays: %s", name, path, strerror(errno))
		       : 0;
}

static int detach_link(const char *name, const char *path)
{
	int fd = bpf_obj_get(path);
	/* Detach now, not when the last user of the link is gone. */
	int err = fd < 0 || bpf_link_detach(fd) ? -errno : 0;

	close_fd(fd);
	if (err && !err_is(err, ENOLINK) && !err_is(err, EINVAL) && !err_is(err, EOPNOTSUPP))
		return because_kernel(err, path);
	return unpin(name, path);
}

int detach_one(const struct context *context, const char *name)
{
	char link[PIN_PATH_MAX], shared[PIN_PATH_MAX];
	int is_link, is_shared, err = 0;

	attachment_pin(context, link, name, false);
	attachment_pin(context, shared, name, true);
	is_link = is_pinned(link);
	is_shared = is_link < 0 ? is_link : is_pinned(shared);
	if (is_shared < 0)
		return is_shared;
	if (!is_link && !is_shared)
		return attach_find(context, name);
	if (is_link)
		err = detach_link(name, link);
	if (!err && is_shared) {
		__u32 id = shared_id(shared);
		unsigned int ifindex = shared_where(if_nametoindex(name), id);

		err = shared_remove(name, id) ?: attach_end_exchange(context, name, ifindex) ?: unpin(name, shared);
	}
	return err;
}

int attach_take_back(const struct context *context, const char *name)
{
	unsigned int ifindex = if_nametoindex(name);
	int err = attach_find(context, name);

	if (!err_is(err, ENOENT))
		return err ?: detach_one(context, name);
	return ifindex && shared_is_there((int)ifindex) ? attach_sweep(context, name, ifindex) : 0;
}
