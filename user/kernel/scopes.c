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
	for (__u64 i = 0, j; i < scopes->names && !err; i++) {
		for (j = 0; j < was->names && strcmp(was->on[j].name, scopes->on[i].name) != 0;)
			j++;
		if (j < was->names)
			scopes->on[i].ifindex = was->on[j].ifindex;
		else
			err = because(-EXDEV,
				      "%s: which interface that is can only be told in the network namespace of those "
				      "that are filtered",
				      scopes->on[i].name);
	}
	free(was);
	return err;
}

static void number(struct scopes *scopes)
{
	/* Programs read it meanwhile. */
	for (__u64 i = 0; i < scopes->names; i++)
		__atomic_store_n(&scopes->on[i].ifindex, if_nametoindex(scopes->on[i].name), __ATOMIC_RELAXED);
}

int kernel_scopes(const struct context *context, struct candidate *c, struct scopes *scopes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	__u32 key = 0;
	int err = 0;

	if (context && context->abroad)
		err = number_as_before(context, scopes);
	else
		number(scopes);
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
	int fd;

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
	number(at);
	munmap(at, size);
	return 0;
}
