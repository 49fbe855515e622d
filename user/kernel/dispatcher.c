// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/dispatcher.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/close_fd.h"
#include "base/interfaces.h"
#include "base/log.h"
#include "kernel/detect_maps.h"
#include "kernel/drivers.h"
#include "kernel/live.h"
#include "kernel/programs.h"
#include "kernel/root.h"
#include "xdp_bloom.skel.h"

static int no_print(enum libxdp_print_level level, const char *fmt, va_list args)
{
	if (!log_settings.verbose || level == LIBXDP_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* *multi is NULL where there is none. */
static int open_dispatcher(int ifindex, struct xdp_multiprog **multi)
{
	int err;

	libxdp_set_print(no_print);
	*multi = xdp_multiprog__get_from_ifindex(ifindex);
	err = (int)libxdp_get_error(*multi);
	if (err)
		*multi = NULL;
	return err_is(err, ENOENT) ? 0 : err;
}

/* The mode in which a dispatcher runs there, or MODE_AUTO: there is none. */
static enum attach_mode dispatcher_mode(int ifindex)
{
	enum attach_mode mode = MODE_AUTO;
	struct xdp_multiprog *multi;

	if (open_dispatcher(ifindex, &multi) || !multi)
		return mode;
	if (!xdp_multiprog__is_legacy(multi))
		mode = xdp_multiprog__attach_mode(multi) == XDP_MODE_SKB ? MODE_SKB : MODE_NATIVE;
	xdp_multiprog__close(multi);
	return mode;
}

bool shared_is_there(int ifindex)
{
	return dispatcher_mode(ifindex) != MODE_AUTO;
}

bool shared_possible(void)
{
	return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_EXT, NULL) > 0;
}

int shared_allowed(const char *ifname)
{
	__u32 id;

	if (!bpf_prog_get_next_id(0, &id) || errno != EPERM)
		return 0;
	return because(-EPERM, "%s: to share an interface with other programs, libxdp wants CAP_SYS_ADMIN, too",
		       ifname);
}

static enum xdp_attach_mode libxdp_mode(enum attach_mode mode)
{
	return mode == MODE_NATIVE ? XDP_MODE_NATIVE : XDP_MODE_SKB;
}

/*
 * Behind a dispatcher runs the generation's own program, not the root: libxdp loads it as an extension of the
 * dispatcher, and most kernels refuse the root's tail call there (5.10, 6.12 and 7.2 did, 6.1 did not).
 */
static int create_shared(const struct context *context, struct xdp_bloom_bpf **skel, struct xdp_program **program,
			 bool frags, const int *maps, bool on_trial)
{
	int err = programs_open(context, skel);
	struct bpf_program *judge, *trial = NULL;

	if (err)
		return err;
	bpf_map__set_autocreate((*skel)->maps.slot, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_root, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_frags, false);
	bpf_program__set_autoload((*skel)->progs.xdp_bloom_ask, false);

	judge = programs_judge(*skel, maps);
	if (on_trial) {
		bpf_program__set_autoload(judge, false);
		trial = maps[MAP_SLOTS] >= 0 ? (*skel)->progs.xdp_bloom_trial_shared_slots
					     : (*skel)->progs.xdp_bloom_trial_shared;
		programs_add(trial, (*skel)->maps.trial, NULL);
	}

	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = (*skel)->obj,
			    .prog_name = bpf_program__name(trial ?: judge));
	*program = xdp_program__create(&opts);
	err = (int)libxdp_get_error(*program);
	if (err)
		*program = NULL;
	/* What we let pass goes on to the next program. */
	return err ?:
	       xdp_program__set_xdp_frags_support(*program, frags) ?:
	       xdp_program__set_chain_call_enabled(*program, XDP_PASS, true);
}

static void fresh_path(char path[PIN_PATH_MAX], const char *pin)
{
	snprintf(path, PIN_PATH_MAX, "%s%%new", pin);
}

/* By a rename, so that there is always a pin: the old program's or the new one's. */
static int replace_pin(int fd, const char *pin)
{
	char fresh[PIN_PATH_MAX];

	fresh_path(fresh, pin);
	unlink(fresh);
	return bpf_obj_pin(fd, fresh) || rename(fresh, pin) ? -errno : 0;
}

/* In the mode asked for, else in that of the programs there, else native where that works. */
static int attach_behind(struct xdp_program *program, struct attachment *at, int ifindex, const char *pin, bool frags)
{
	enum attach_mode there = dispatcher_mode(ifindex);
	bool any = at->mode == MODE_AUTO && there == MODE_AUTO;
	unsigned int before;
	int err;

	if (at->mode == MODE_AUTO)
		at->mode = any ? MODE_NATIVE : there;
	err = xdp_program__attach(program, ifindex, libxdp_mode(at->mode), 0);
	before = at->mode == MODE_NATIVE ? native_room(at->name, err) : 0;
	if (before) {
		err = xdp_program__attach(program, ifindex, libxdp_mode(at->mode), 0);
		native_room_end(at->name, before, err);
	}
	if (err && !err_is(err, EBUSY) && any) {
		native_missing(at->name, err, frags);
		at->mode = MODE_SKB;
		err = xdp_program__attach(program, ifindex, libxdp_mode(at->mode), 0);
	}
	if (err)
		return err;
	/* Without freplace libxdp attaches our program alone, and no other could ever join it. */
	err = shared_is_there(ifindex) ? replace_pin(xdp_program__fd(program), pin) : -EOPNOTSUPP;
	if (err)
		xdp_program__detach(program, ifindex, libxdp_mode(at->mode), 0);
	return err;
}

static int why_not(int err, const char *ifname)
{
	if (err_is(err, EOPNOTSUPP))
		return because(err, "%s: this kernel does not let libxdp run several XDP programs; leave out --shared",
			       ifname);
	if (err_is(err, EBUSY))
		return because(err, "%s: another XDP program is attached there, and not through libxdp; detach it",
			       ifname);
	return because(err, "%s: attaching through libxdp: %s", ifname, errno_text(err));
}

/* The interface may be on trial, or the generation. */
static struct trial first_end(const struct attachment *at, const struct live *live)
{
	struct trial term = { .until = live->number == live->on_trial ? live->trial.until : 0 };

	if (at->until && (!term.until || (__u64)at->until < term.until))
		term.until = (__u64)at->until;
	return term;
}

/* Old kernels do not see in an extension that what its functions take is a packet. */
static int attach_program(const struct context *context, struct attachment *at, int ifindex, const char *pin,
			  const struct live *live, const int *maps, const struct trial *term, bool apart)
{
	struct xdp_program *program = NULL;
	struct xdp_bloom_bpf *skel = NULL;
	__u32 key = 0;
	int err = create_shared(context, &skel, &program, live->g.frags, maps, term->until);

	if (!err) {
		if (!apart)
			programs_not_apart(skel->obj);
		programs_constants(skel->obj, &live->g, maps);
		err = attach_behind(program, at, ifindex, pin, live->g.frags);
		programs_constants(NULL, NULL, NULL);
	}
	if (!err && term->until && bpf_map_update_elem(bpf_map__fd(skel->maps.trial), &key, term, BPF_ANY))
		err = -errno;
	if (program)
		xdp_program__close(program);
	xdp_bloom_bpf__destroy(skel);
	return err;
}

int shared_attach(const struct context *context, struct attachment *at, int ifindex, const char *pin)
{
	enum attach_mode asked = at->mode;
	struct trial term;
	struct live live;
	int maps[MAPS], frags, err = shared_allowed(at->name);

	if (err)
		return err;
	at->shared = true;
	live_open(&live, context);
	err = live_maps(&live, maps) ?: live_detect(&live, maps);
	if (err_is(live.err, ENOENT))
		err = 0; /* nothing is banned yet */
	frags = err ?: kernel_frags(context);
	live.g.frags = frags > 0;
	term = first_end(at, &live);
	err = frags < 0 ? frags : attach_program(context, at, ifindex, pin, &live, maps, &term, true);
	if (err_is(err, EINVAL) || err_is(err, EACCES)) {
		at->mode = asked;
		err = attach_program(context, at, ifindex, pin, &live, maps, &term, false);
	}
	for (unsigned int a = 0; a < MAPS; a++)
		close_fd(maps[a]);
	live_close(&live);
	return err ? why_not(err, at->name) : 0;
}

__u32 shared_id(const char *pin)
{
	struct pinned is;
	int fd = bpf_obj_get(pin);

	if (fd < 0 || pinned_info(fd, &is) || is.kind != PINNED_PROGRAM)
		is.id = 0;
	close_fd(fd);
	return is.id;
}

/* It counts where this instance does. */
static bool is_ours(const struct context *context, __u32 id)
{
	int program = bpf_prog_get_fd_by_id(id), counters = pin_get(context, PIN_COUNTERS);
	struct pinned of, map;
	bool is = program >= 0 && counters >= 0 && !pinned_info(program, &of) && !pinned_info(counters, &map) &&
		  pinned_uses(&of, map.id);

	close_fd(program);
	close_fd(counters);
	return is;
}

/* The program with this id, or with `kept`, one of ours that is not to be kept. */
struct wanted {
	__u32 id;
	const struct context *context;
	shared_kept_fn *kept;
};

static bool is_wanted(const struct wanted *w, __u32 id)
{
	return w->kept ? is_ours(w->context, id) && !w->kept(w->context, id) : id == w->id;
}

/* Does the interface's dispatcher have such a program? With take_out, takes it out. */
static int look_behind(unsigned int ifindex, const struct wanted *wanted, bool *found, bool take_out)
{
	struct xdp_program *program = NULL;
	struct xdp_multiprog *multi;
	int err = open_dispatcher((int)ifindex, &multi);

	*found = false;
	if (!multi)
		return err;
	while (!*found && (program = xdp_multiprog__next_prog(program, multi)))
		*found = is_wanted(wanted, xdp_program__id(program));
	if (*found && take_out)
		err = xdp_program__detach(program, (int)ifindex, xdp_multiprog__attach_mode(multi), 0);
	xdp_multiprog__close(multi);
	return err;
}

unsigned int shared_where(unsigned int ifindex, __u32 id)
{
	const struct wanted wanted = { .id = id };
	struct if_nameindex *all;
	unsigned int where = 0;
	bool found;

	if (ifindex && (look_behind(ifindex, &wanted, &found, false) || found))
		return ifindex;
	all = interfaces_all();
	for (struct if_nameindex *at = all; at && at->if_index && !where; at++)
		if (at->if_index != ifindex && !look_behind(at->if_index, &wanted, &found, false) && found)
			where = at->if_index;
	interfaces_free(all);
	return where;
}

/* By its id: another instance's has the same name. */
int shared_remove(const char *name, __u32 id)
{
	const struct wanted wanted = { .id = id };
	unsigned int ifindex = shared_where(if_nametoindex(name), id);
	int err = shared_allowed(name);
	bool found;

	if (err)
		return err;
	/* Nowhere: gone with its interface, or with the dispatcher. */
	err = ifindex ? look_behind(ifindex, &wanted, &found, true) : 0;
	return err ? because(err, "%s: detaching through libxdp: %s", name, errno_text(err)) : 0;
}

int shared_sweep(const struct context *context, const char *ifname, unsigned int ifindex, const char *pin,
		 shared_kept_fn *kept)
{
	char fresh[PIN_PATH_MAX];
	const struct wanted wanted = { .context = context, .kept = kept };
	bool found;
	int err;

	fresh_path(fresh, pin);
	unlink(fresh);
	do
		err = look_behind(ifindex, &wanted, &found, true);
	while (!err && found);
	return err ? because(err, "%s: taking an older program out through libxdp: %s", ifname, errno_text(err)) : 0;
}

bool shared_is_live(const struct context *context, const char *pin)
{
	int program, fd = bpf_obj_get(pin);
	struct pinned of, its;
	struct live in_force;
	bool is = true;

	live_open(&in_force, context);
	program = live_pin(&in_force, PIN_PROGRAM);
	live_close(&in_force);

	if (fd >= 0 && program >= 0 && !pinned_info(program, &of) && of.n_maps) {
		is = !pinned_info(fd, &its);
		for (__u32 i = 0; i < of.n_maps; i++)
			is = is && pinned_uses(&its, of.maps[i]);
	}
	close_fd(program);
	close_fd(fd);
	return is;
}
