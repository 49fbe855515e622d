// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/tc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/interfaces.h"
#include "base/log.h"
#include "kernel/attachment.h"
#include "kernel/host.h"

/* Before the others; of Linux 6.6, too. */
#define TCX_FIRST (1U << 3)
/* The kernel has no more of them on an interface. */
#define TCX_MOST 64

/* Of clsact: the first priority, and in it a number that nobody else takes. */
#define FILTER_PRIORITY 1
#define FILTER_HANDLE	0x786462

static bool has_tcx(void)
{
	return host_kernel() >= KERNEL_VERSION(6, 6, 0);
}

#define FILTER_ON(hook, opts, interface, match)                                            \
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)(interface),                        \
		    .attach_point = MATCH_LEAVES(match) ? BPF_TC_EGRESS : BPF_TC_INGRESS); \
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTER_HANDLE, .priority = FILTER_PRIORITY)

static enum bpf_attach_type tcx_of(const struct attachment *at)
{
	return (enum bpf_attach_type)(MATCH_LEAVES(at->match) ? ATTACH_TCX_EGRESS : ATTACH_TCX_INGRESS);
}

/* Also in the place of the one that is there. */
static int filter_put(unsigned int ifindex, unsigned int match, int root)
{
	FILTER_ON(hook, opts, ifindex, match);
	int err = bpf_tc_hook_create(&hook);

	if (err && !err_is(err, EEXIST))
		return err;
	opts.prog_fd = root;
	opts.flags = BPF_TC_F_REPLACE;
	return bpf_tc_attach(&hook, &opts);
}

static int filter_take_off(unsigned int ifindex, unsigned int match)
{
	FILTER_ON(hook, opts, ifindex, match);

	return bpf_tc_detach(&hook, &opts);
}

/* No clsact or another kind of filter in its place, none, no interface, and a kernel without such filters. */
static bool says_none(int err)
{
	return err_is(err, EINVAL) || err_is(err, ENOENT) || err_is(err, ENODEV) || err_is(err, EOPNOTSUPP);
}

/* libbpf would say that there is no clsact, which is no fault. */
static int query_filter(unsigned int ifindex, unsigned int match, __u32 *id)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	FILTER_ON(hook, opts, ifindex, match);
	int err = bpf_tc_query(&hook, &opts);

	libbpf_set_print(print);
	*id = err ? 0 : opts.prog_id;
	return says_none(err) ? 0 : err;
}

/* The program of the filter; 0: there is none of ours. 0 or -errno. */
static int filter_program(unsigned int ifindex, unsigned int match, __u32 *program)
{
	struct pinned is = { 0 };
	__u32 id = 0;
	int err = ifindex ? query_filter(ifindex, match, &id) : 0, fd;

	*program = 0;
	if (err || !id)
		return err;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* it has gone since */
	err = pinned_info(fd, &is);
	close_fd(fd);
	if (!err && !strncmp(is.name, ROOT_BEGINS, strlen(ROOT_BEGINS)))
		*program = id;
	return err;
}

static int because_refused(const struct attachment *at, int err)
{
	if (err_is(err, ERANGE))
		return because(err, "%s: %d other programs are there, and the kernel has no more", at->name, TCX_MOST);
	if (err_is(err, EINVAL) && !has_tcx())
		return because(err,
			       "%s: another kind of filter has priority %d there ('tc filter show dev %s %s'),"
			       " or the kernel has no clsact",
			       at->name, FILTER_PRIORITY, at->name, direction_names[MATCH_LEAVES(at->match)]);
	return because_kernel(err, at->name);
}

static int pin(int fd, const char *path)
{
	return bpf_obj_pin(fd, path) ? because_kernel(-errno, path) : 0;
}

static int attach_by_link(const struct attachment *at, unsigned int ifindex, int root, const char *path)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_FIRST);
	int fd = bpf_link_create(root, (int)ifindex, tcx_of(at), &opts);
	int err = fd < 0 ? because_refused(at, -errno) : pin(fd, path);

	close_fd(fd);
	return err;
}

/* Nothing but its pin tells of a filter, so that comes first: whoever is killed leaves none that nobody knows of. */
static int attach_by_filter(const struct attachment *at, unsigned int ifindex, int root, const char *path)
{
	int err = pin(root, path), put;

	if (err)
		return err;
	put = filter_put(ifindex, at->match, root);
	if (put)
		unlink(path);
	else if (access(path, F_OK)) /* who detaches waits for nobody, and it was not there yet */
		err = pin(root, path);
	if (err)
		filter_take_off(ifindex, at->match);
	return put ? because_refused(at, put) : err;
}

int tc_attach(const struct attachment *at, unsigned int ifindex, int root, const char *path)
{
	return (has_tcx() ? attach_by_link : attach_by_filter)(at, ifindex, root, path);
}

int tc_runs(const struct attachment *at, __u32 id, bool *runs, unsigned int *behind)
{
	__u32 ids[TCX_MOST] = { 0 };
	LIBBPF_OPTS(bpf_prog_query_opts, query, .prog_ids = ids, .prog_cnt = TCX_MOST);
	__u32 program = 0;
	int err;

	*behind = 0;
	*runs = false;
	if (!has_tcx()) {
		err = filter_program(at->ifindex, at->match, &program);
		*runs = id && program == id;
		return err;
	}
	err = bpf_prog_query_opts((int)at->ifindex, tcx_of(at), &query) ? -errno : 0;
	for (__u32 i = 0; i < query.prog_cnt && !err && !*runs; i++) {
		*runs = ids[i] == id;
		*behind = i;
	}
	return err_is(err, ENODEV) || err_is(err, ENOENT) ? 0 : err;
}

/* Of a filter nothing but its interface is known: the one that has the name, unless another one has taken it over. */
static int filter_by_name(const struct attachment *at, unsigned int *where)
{
	unsigned int named = at->set_aside ? 0 : if_nametoindex(at->as);
	__u32 program;
	int err = filter_program(named, at->match, &program);

	*where = program ? named : 0;
	return err;
}

/* 0 or -errno; *program 0: it is none, or has gone since. */
static int program_of_pin(const char *path, __u32 *program)
{
	struct pinned is = { 0 };
	int fd = bpf_obj_get(path), err;

	*program = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = pinned_info(fd, &is);
	close_fd(fd);
	*program = is.kind == PINNED_PROGRAM ? is.id : 0;
	return err;
}

struct lost {
	const struct context *context;
	__u32 program;
	unsigned int match;
	const char *taken; /* is that an interface that a pin has? */
	bool is_taken;
	const char *before; /* those that come before this one count */
	unsigned int n;
};

static int look_at_pin(struct lost *lost, const struct attachment *at)
{
	char path[PIN_PATH_MAX];
	unsigned int where;
	__u32 program = 0;
	int err = filter_by_name(at, &where);

	if (err)
		return err;
	if (where) {
		lost->is_taken = lost->is_taken || (lost->taken && !strcmp(at->as, lost->taken));
		return 0;
	}
	attachment_path(lost->context, path, at);
	err = program_of_pin(path, &program);
	lost->n += program == lost->program && strcmp(path, lost->before) < 0;
	return err;
}

/* Pins that have lost their interface, as it was renamed, and that hold this program. */
static int lost_pins(struct lost *lost)
{
	DIR *dir = pin_directory(lost->context, PIN_LINKS);
	int err = dir || errno == ENOENT ? 0 : -errno;
	struct attachment at;
	const char *name;

	lost->is_taken = false;
	lost->n = 0;
	while ((name = pin_next(&dir)))
		if (!err && attachment_of_pin(name, &at) && MATCH_BY_TC(at.match) &&
		    MATCH_LEAVES(at.match) == MATCH_LEAVES(lost->match))
			err = look_at_pin(lost, &at);
	return err;
}

/* With as many filters that no pin has by their names as pins that have lost theirs, each of them has one. */
static int filter_where(const struct context *context, const struct attachment *at, __u32 program, unsigned int *where)
{
	struct lost lost = { .context = context, .program = program, .match = at->match };
	int err = filter_by_name(at, where);
	struct if_nameindex *all;
	char path[PIN_PATH_MAX];
	unsigned int skip;

	if (err || *where)
		return err;
	attachment_path(context, path, at);
	lost.before = path;
	err = lost_pins(&lost);
	if (err)
		return err;
	skip = lost.n;
	all = interfaces_all();
	err = all ? 0 : -errno;
	for (struct if_nameindex *i = all; i && i->if_index && !*where && !err; i++) {
		__u32 is;

		err = filter_program(i->if_index, at->match, &is);
		if (err || is != program)
			continue;
		lost.taken = i->if_name;
		err = lost_pins(&lost);
		if (!err && !lost.is_taken && !skip--)
			*where = i->if_index;
	}
	if (all)
		interfaces_free(all);
	return err;
}

int attachment_runs(const struct context *context, const struct attachment *at, int fd, unsigned int where,
		    struct pinned *now)
{
	int err = pinned_info(fd, now);

	if (err || now->kind != PINNED_PROGRAM)
		return err;
	err = (where ? 0 : filter_where(context, at, now->id, &where))
		      ?: filter_program(where, at->match, &now->program);
	now->ifindex = !err && now->program ? where : 0;
	return err;
}

static int pin_again(const struct context *context, const struct attachment *at, int root)
{
	char path[PIN_PATH_MAX], next[PIN_PATH_MAX + 8];

	/* There is always one: nothing else tells of a filter. */
	attachment_path(context, path, at);
	snprintf(next, sizeof(next), "%s%%next", path);
	unlink(next);
	return pin(root, next) ?: rename(next, path) ? because_kernel(-errno, path) : 0;
}

int attachment_turn(const struct context *context, const struct attachment *at, int fd, unsigned int where, int root)
{
	struct pinned is = { .kind = PINNED_LINK };
	int err = MATCH_BY_TC(at->match) ? pinned_info(fd, &is) : 0;
	__u32 program;

	if (err)
		return err;
	if (is.kind != PINNED_PROGRAM)
		return bpf_link_update(fd, root, NULL) ? -errno : 0;
	err = (where ? 0 : filter_where(context, at, is.id, &where)) ?: filter_program(where, at->match, &program);
	if (err)
		return err;
	if (!program)
		return -ENOLINK;
	return filter_put(where, at->match, root) ?: pin_again(context, at, root);
}

int attachment_detach(const struct context *context, const struct attachment *at, int fd)
{
	struct pinned is = { .kind = PINNED_LINK };
	int err = MATCH_BY_TC(at->match) ? attachment_runs(context, at, fd, at->ifindex, &is) : 0;

	if (err || is.kind != PINNED_PROGRAM)
		return err ?: bpf_link_detach(fd) ? -errno : 0;
	return is.ifindex ? filter_take_off(is.ifindex, at->match) : 0;
}
