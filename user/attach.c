// SPDX-License-Identifier: GPL-2.0-only
#include "attach.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "abi.h"
#include "kernel.h"
#include "log.h"
#include "pins.h"
#include "programs.h"
#include "xdp_bloom.skel.h"

/* Behind a dispatcher the pin is a program's, not a link's: its name says so. */
#define SHARED_SUFFIX "%shared"

const char *const attach_mode_names[] = { "auto", "native", "skb" };

static int no_print(enum libxdp_print_level level, const char *fmt, va_list args)
{
	if (!opt_verbose || level == LIBXDP_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* bpffs has no names with dots, interfaces do (eth0.100): '.' and '%' are written as in an URL. */
static void link_path(char *path, size_t size, const char *ifname, bool shared)
{
	char name[64];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s/", PIN_LINKS);

	for (; *ifname && n + 4 < sizeof(name); ifname++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, *ifname == '.' || *ifname == '%' ? "%%%02x" : "%c",
				      (unsigned char)*ifname);
	pin_path(path, size, name);
	if (shared)
		strncat(path, SHARED_SUFFIX, size - strlen(path) - 1);
}

/* The reverse; false for a name that is none of ours. */
static bool link_name(const char *file, struct attachment *at)
{
	size_t n = 0, length = strlen(file), suffix = strlen(SHARED_SUFFIX);

	memset(at, 0, sizeof(*at));
	if (length > suffix && !strcmp(file + length - suffix, SHARED_SUFFIX)) {
		at->shared = true;
		length -= suffix;
	}
	for (size_t i = 0; i < length && n + 1 < sizeof(at->name); i++) {
		unsigned int c = (unsigned char)file[i];

		if (c == '%') {
			if (sscanf(file + i + 1, "%2x", &c) != 1)
				return false;
			i += 2;
		}
		at->name[n++] = (char)c;
	}
	return n > 0 && file[0] != '.';
}

static enum attach_mode mode_of(int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (bpf_xdp_query(ifindex, 0, &query))
		return MODE_NATIVE;
	return query.attach_mode == XDP_ATTACHED_SKB ? MODE_SKB : MODE_NATIVE;
}

/*
 * What a pin of ours says: 0 where it is in force, -ENOENT where there is none, -ENODEV where its interface is gone,
 * -EXDEV where it filters on, but under another name or in another network namespace.
 */
static int link_state(struct attachment *at)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);
	char path[256];
	int fd, err = 0;
	unsigned int ifindex = if_nametoindex(at->name);

	link_path(path, sizeof(path), at->name, at->shared);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (!at->shared && bpf_obj_get_info_by_fd(fd, &info, &size))
		info.xdp.ifindex = 0;
	close(fd);
	if (at->shared ? !ifindex : !info.xdp.ifindex)
		err = -ENODEV;
	else if (!at->shared && info.xdp.ifindex != ifindex)
		err = -EXDEV;
	at->gone = err == -ENODEV;
	if (!err)
		at->mode = mode_of((int)ifindex);
	return err;
}

static const char *why_not(int err)
{
	switch (err) {
	case -EBUSY:
		return "another XDP program is attached there; detach it, or try --shared";
	case -EPERM:
	case -EACCES:
		return "root, or CAP_BPF and CAP_NET_ADMIN, is needed";
	case -EOPNOTSUPP:
		return "its driver has no XDP; use --mode skb";
	case -ERANGE:
	case -EINVAL:
		return "the driver refuses it (MTU too large for XDP, or LRO on?); use --mode skb";
	default:
		return strerror(-err);
	}
}

static int attach_link(struct attachment *at, int ifindex)
{
	char path[256];
	int root = kernel_root_fd(), fd = -1, err = -EOPNOTSUPP;

	if (root < 0)
		return because(root, "the root program is gone from %s", opt_bpffs);
	link_path(path, sizeof(path), at->name, false);
	for (enum attach_mode mode = MODE_NATIVE; mode <= MODE_SKB && fd < 0; mode++) {
		LIBBPF_OPTS(bpf_link_create_opts, opts,
			    .flags = mode == MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);

		if (at->mode != MODE_AUTO && at->mode != mode)
			continue;
		fd = bpf_link_create(root, ifindex, BPF_XDP, &opts);
		err = fd < 0 ? -errno : 0;
		if (err == -EBUSY || err == -EEXIST || err == -EPERM)
			break;
		if (err && at->mode == MODE_AUTO && mode == MODE_NATIVE)
			warn("%s: no native mode (%s), using skb: slower, and behind the driver", at->name,
			     strerror(-err));
		if (!err)
			at->mode = mode;
	}
	close(root);
	if (err == -EEXIST)
		err = -EBUSY;
	if (err)
		return because(err, "%s: %s", at->name, why_not(err));
	if (bpf_obj_pin(fd, path))
		err = because(-errno, "%s: %s", path, strerror(errno));
	close(fd);
	return err;
}

static bool has_dispatcher(int ifindex)
{
	struct xdp_multiprog *multi = xdp_multiprog__get_from_ifindex(ifindex);
	bool is = !libxdp_get_error(multi) && !xdp_multiprog__is_legacy(multi);

	if (!libxdp_get_error(multi))
		xdp_multiprog__close(multi);
	return is;
}

static enum xdp_attach_mode libxdp_mode(enum attach_mode mode)
{
	return mode == MODE_NATIVE ? XDP_MODE_NATIVE : XDP_MODE_SKB;
}

/* libxdp makes a copy of the root that its dispatcher calls: it needs the object, and our slot in it. */
static int attach_shared(struct attachment *at, int ifindex)
{
	struct xdp_program *program = NULL;
	struct xdp_bloom_bpf *skel = NULL;
	enum attach_mode mode;
	char path[256];
	int err = programs_open(&skel);

	if (!err) {
		bpf_map__set_autocreate(skel->maps.counters, false);
		bpf_map__set_autocreate(skel->maps.list_counters, false);
		bpf_program__set_autoload(skel->progs.xdp_bloom_gen, false);
		bpf_program__set_autoload(skel->progs.xdp_bloom_ask, false);

		DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = skel->obj, .prog_name = "xdp_bloom_root");
		program = xdp_program__create(&opts);
		err = (int)libxdp_get_error(program);
	}
	/* What we let pass goes on to the next program; it comes late, so that others may be in front. */
	if (!err)
		err = xdp_program__set_chain_call_enabled(program, XDP_PASS, true);
	if (!err) {
		for (mode = MODE_NATIVE; mode <= MODE_SKB; mode++) {
			if (at->mode != MODE_AUTO && at->mode != mode)
				continue;
			err = xdp_program__attach(program, ifindex, libxdp_mode(mode), 0);
			if (!err)
				break;
		}
		if (!err)
			at->mode = mode;
	}
	if (!err) {
		/* Without freplace libxdp puts the one program there alone, and nobody could ever join it. */
		link_path(path, sizeof(path), at->name, true);
		if (!has_dispatcher(ifindex))
			err = -EOPNOTSUPP;
		else if (bpf_obj_pin(xdp_program__fd(program), path))
			err = -errno;
		if (err)
			xdp_program__detach(program, ifindex, libxdp_mode(at->mode), 0);
	}
	if (!libxdp_get_error(program))
		xdp_program__close(program);
	xdp_bloom_bpf__destroy(skel);
	at->shared = true;
	if (err == -EOPNOTSUPP)
		return because(err, "%s: this kernel does not let libxdp run several XDP programs; leave out --shared",
			       at->name);
	return err ? because(err, "%s: attaching through libxdp: %s", at->name, strerror(-err)) : 0;
}

int attach_one(struct attachment *at)
{
	unsigned int ifindex = if_nametoindex(at->name);
	struct attachment old = *at;
	char path[256];

	libxdp_set_print(no_print);
	if (!ifindex)
		return because(-ENODEV, "%s: there is no such interface", at->name);
	for (int shared = 0; shared < 2; shared++) {
		old.shared = shared;
		switch (link_state(&old)) {
		case 0:
			return because(-EEXIST, "%s: the filter is attached there already (%s mode)", at->name,
				       attach_mode_names[old.mode]);
		case -EXDEV:
			return because(-EEXIST,
				       "%s: the filter that was attached under this name goes on: the interface was "
				       "renamed, or is in another network namespace; detach %s first",
				       at->name, at->name);
		case -ENODEV: /* an interface of that name came and went */
			link_path(path, sizeof(path), at->name, shared);
			unlink(path);
		}
	}
	if (at->shared || has_dispatcher((int)ifindex))
		return attach_shared(at, (int)ifindex);
	return attach_link(at, (int)ifindex);
}

static __u32 pinned_id(const char *name)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	char path[256];
	int fd;

	link_path(path, sizeof(path), name, true);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		info.id = 0;
	if (fd >= 0)
		close(fd);
	return info.id;
}

static int detach_shared(const char *name)
{
	unsigned int ifindex = if_nametoindex(name);
	struct xdp_multiprog *multi = ifindex ? xdp_multiprog__get_from_ifindex((int)ifindex) : NULL;
	struct xdp_program *program = NULL;
	__u32 ours = pinned_id(name);
	int err = 0;

	if (!multi || libxdp_get_error(multi))
		return 0; /* gone with its interface, or somebody took the dispatcher away */
	while (!err && (program = xdp_multiprog__next_prog(program, multi))) {
		/* Another instance's root has the same name. */
		if (xdp_program__id(program) != ours)
			continue;
		err = xdp_program__detach(program, (int)ifindex, xdp_multiprog__attach_mode(multi), 0);
		break;
	}
	xdp_multiprog__close(multi);
	return err ? because(err, "%s: detaching through libxdp: %s", name, strerror(-err)) : 0;
}

int attach_find(const char *name)
{
	char path[256];

	for (int shared = 0; shared < 2; shared++) {
		link_path(path, sizeof(path), name, shared);
		if (!access(path, F_OK))
			return 0;
	}
	return because(-ENOENT, "%s: the filter is not attached there", name);
}

int detach_one(const char *name)
{
	char path[256];
	int err = attach_find(name);

	libxdp_set_print(no_print);
	link_path(path, sizeof(path), name, false);
	if (!access(path, F_OK)) {
		int fd = bpf_obj_get(path);

		/* Now, not when the last user of the link goes. */
		err = fd < 0 ? -errno : bpf_link_detach(fd) ? -errno : 0;
		if (fd >= 0)
			close(fd);
		if (err == -ENOLINK || err == -EINVAL || err == -EOPNOTSUPP)
			err = 0;
		if (!err && unlink(path))
			err = -errno;
	}
	link_path(path, sizeof(path), name, true);
	if (!access(path, F_OK)) {
		err = detach_shared(name);
		if (!err && unlink(path))
			err = -errno;
	}
	return err;
}

int attach_refresh(int root)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(&list, &n);

	for (size_t i = 0; i < n && !err; i++) {
		char path[256];
		int fd;

		link_path(path, sizeof(path), list[i].name, false);
		fd = list[i].shared || list[i].gone ? -1 : bpf_obj_get(path);
		if (fd >= 0 && bpf_link_update(fd, root, NULL))
			err = because(-errno, "%s: the new root: %s", list[i].name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	free(list);
	return err;
}

int attach_list(struct attachment **list, size_t *n)
{
	struct attachment *grown, at;
	struct dirent *entry;
	char path[256];
	DIR *dir;
	int err = 0;

	*list = NULL;
	*n = 0;
	pin_path(path, sizeof(path), PIN_LINKS);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		if (!link_name(entry->d_name, &at) || link_state(&at) == -ENOENT)
			continue;
		grown = realloc(*list, (*n + 1) * sizeof(**list));
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		*list = grown;
		(*list)[(*n)++] = at;
	}
	closedir(dir);
	return err;
}
