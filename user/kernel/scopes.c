// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/scopes.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/ports.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "kernel/pins.h"

/* One for all generations. */
static int open_unread(const struct context *context)
{
	char path[PIN_PATH_MAX];
	int fd = context ? pin_shared_map(context, PIN_UNREAD) : -ENOENT;

	if (!err_is(fd, ENOENT))
		return fd;
	fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, PIN_UNREAD, 4, sizeof(struct tally), LABELS, NULL);
	if (fd < 0)
		return because_kernel(fd, PIN_UNREAD);
	if (context)
		pin_path(context, path, PIN_UNREAD);
	if (context && bpf_obj_pin(fd, path)) {
		int err = -errno;

		close(fd);
		return because_kernel(err, PIN_UNREAD);
	}
	return fd;
}

/*
 * Where what comes in by an interface has other numbers, too, its name has an entry for each, behind those of all
 * names. Programs read them meanwhile: of an entry that they see only the number changes; 0 is no interface's.
 */
static __u64 first_of(const struct scopes *scopes, const char *name)
{
	__u64 i = 0;

	while (i < scopes->names && strcmp(scopes->on[i].name, name) != 0)
		i++;
	return i;
}

static void set_number(struct scopes *scopes, __u64 i, unsigned int number)
{
	__atomic_store_n(&scopes->on[i].ifindex, number, __ATOMIC_RELAXED);
}

/* That name has this number, too. */
static int put_number(struct scopes *scopes, __u64 name, unsigned int number)
{
	__u64 i, at = scopes->names;

	for (i = scopes->names; i-- > name + 1;) {
		if (strcmp(scopes->on[i].name, scopes->on[name].name) != 0)
			continue;
		if (scopes->on[i].ifindex == number)
			return 0;
		at = scopes->on[i].ifindex ? at : i;
	}
	if (at < scopes->names) {
		set_number(scopes, at, number);
		return 0;
	}
	if (at == SCOPE_NAMES)
		return because(-E2BIG,
			       "the lists' scopes have more than %d interfaces in all for --on, with the ports"
			       " of bonds",
			       SCOPE_NAMES);
	scopes->on[at] = scopes->on[name];
	scopes->on[at].ifindex = number;
	__atomic_store_n(&scopes->names, at + 1, __ATOMIC_RELEASE);
	return 0;
}

/* From a network namespace that has not the interfaces: as they were. */
static int number_as_before(const struct context *context, struct scopes *scopes)
{
	struct scopes *was = calloc(1, sizeof(*was));
	struct live live;
	int err;

	live_open(&live, context);
	err = was ? kernel_scopes_read(&live, was) : -ENOMEM;
	live_close(&live);
	err = err_is(err, ENOENT) ? 0 : err;
	for (__u64 i = 0; i < scopes->names && !err; i++) {
		__u64 j = first_of(was, scopes->on[i].name);

		if (j < was->names)
			scopes->on[i].ifindex = was->on[j].ifindex;
		else
			err = because(-EXDEV,
				      "%s: which interface that is can only be told in the network namespace of those "
				      "that are filtered",
				      scopes->on[i].name);
	}
	for (__u64 j = 0, names = scopes->names; !err && j < was->names; j++) {
		__u64 i = first_of(scopes, was->on[j].name);

		if (i < names && was->on[j].ifindex && first_of(was, was->on[j].name) != j)
			err = put_number(scopes, i, (unsigned int)was->on[j].ifindex);
	}
	free(was);
	return err;
}

static int number(struct scopes *scopes)
{
	struct port_of *ports = NULL;
	__u64 names = scopes->names;
	size_t n = 0;
	int err;

	for (__u64 i = 0; i < names; i++)
		if (first_of(scopes, scopes->on[i].name) == i)
			set_number(scopes, i, if_nametoindex(scopes->on[i].name));
	err = names ? ports_look(&ports, &n) : 0;
	/* Those that have left make room. */
	for (__u64 i = 0; i < names && !err; i++) {
		__u64 name = first_of(scopes, scopes->on[i].name);

		if (name != i && !ports_hand_on(ports, n, (unsigned int)scopes->on[i].ifindex,
						(unsigned int)scopes->on[name].ifindex))
			set_number(scopes, i, 0);
	}
	for (__u64 i = 0; i < names; i++)
		for (size_t k = 0; k < n && !err; k++)
			if (ports[k].hands_on && first_of(scopes, scopes->on[i].name) == i &&
			    ports_hand_on(ports, n, ports[k].ifindex, (unsigned int)scopes->on[i].ifindex))
				err = put_number(scopes, i, ports[k].ifindex);
	free(ports);
	return err;
}

int kernel_scopes(const struct context *context, struct candidate *c, struct scopes *scopes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	__u32 key = 0;
	int err = 0;

	if (context && context->abroad)
		err = number_as_before(context, scopes);
	else
		err = number(scopes);
	if (err)
		return err;
	c->scopes = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_SCOPES, 4, sizeof(*scopes), 1, &opts);
	if (c->scopes < 0 || bpf_map_update_elem(c->scopes, &key, scopes, BPF_ANY))
		return because_kernel(-errno, PIN_SCOPES);
	c->unread = open_unread(context);
	return c->unread < 0 ? c->unread : 0;
}

/* Descriptor, or -errno; -ENOENT where it has no scopes. */
static int open_scopes(const struct live *live)
{
	struct pinned is;
	int fd = live->err ?: live->g.scoped ? live_pin(live, PIN_SCOPES) : -ENOENT;

	if (fd >= 0 && (pinned_info(fd, &is) || is.value_size != sizeof(struct scopes))) {
		close(fd);
		fd = because(-EPROTO, "the scopes of its lists are another version's; 'xdp-bloom rotate' makes ours");
	}
	return fd;
}

int kernel_scopes_read(const struct live *live, struct scopes *scopes)
{
	__u32 key = 0;
	int fd = open_scopes(live), err;

	if (fd < 0)
		return fd;
	err = bpf_map_lookup_elem(fd, &key, scopes) ? because_kernel(-errno, PIN_SCOPES) : 0;
	close(fd);
	return err;
}

int kernel_scopes_follow(const struct context *context)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (sizeof(struct scopes) + page - 1) / page * page;
	struct live live;
	void *at;
	int fd, err;

	live_open(&live, context);
	do
		fd = open_scopes(&live);
	while (err_is(fd, ENOENT) && live_overtaken(&live));
	live_close(&live);
	if (fd < 0)
		return err_is(fd, ENOENT) ? 0 : fd;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return because_kernel(-errno, PIN_SCOPES);
	err = number(at);
	munmap(at, size);
	return err;
}
