// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/pins.h"

/* The id of the program in the slot. */
static int in_slot(const struct context *context, __u32 *id)
{
	int slot = pin_shared_map(context, PIN_SLOT), err = slot;
	__u32 key = 0;

	*id = 0;
	if (slot < 0)
		return err;
	err = bpf_map_lookup_elem(slot, &key, id) ? -errno : 0;
	close(slot);
	return err;
}

static __u32 pinned_id(const struct live *live, __u64 number, const char *pin, __u64 *loaded)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	char path[PIN_PATH_MAX];
	int fd;

	pin_generation_path(live->context, path, number, pin);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		info.id = 0;
	*loaded = info.load_time;
	close_fd(fd);
	return info.id;
}

/* A generation on trial has another program in the slot than the one that it would have for good. */
static bool is_number(struct live *live, __u64 number)
{
	__u64 loaded;

	if (pinned_id(live, number, PIN_PROGRAM, &loaded) != live->program) {
		if (pinned_id(live, number, PIN_TRIAL, &loaded) != live->program)
			return false;
		live->on_trial = number;
	}
	live->number = number;
	live->loaded = loaded;
	return true;
}

static bool trial_is_over(const struct live *live)
{
	return live->on_trial && clock_boot() >= (int64_t)live->trial.until;
}

/* What the slot's program does at this moment, if it is on trial. */
static int look_at_trial(struct live *live)
{
	char path[PIN_PATH_MAX];
	__u32 key = 0;
	int fd;

	if (!live->on_trial)
		return 0;
	pin_generation_path(live->context, path, live->on_trial, PIN_TRIAL_TERM);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &live->trial)) {
		close_fd(fd);
		return -errno;
	}
	close_fd(fd);
	if (!trial_is_over(live))
		return 0;
	live->number = live->trial.before;
	return live->number && pinned_id(live, live->number, PIN_PROGRAM, &live->loaded) ? 0 : -ENOENT;
}

/* A generation's number is only in the path of its pins. */
static int find_number(struct live *live)
{
	DIR *dir = pin_directory(live->context, PIN_GENERATIONS);
	const char *name;
	int err = -ENOENT;

	live->others = false;
	live->on_trial = 0;
	live->trial = (struct trial){ 0 };
	while ((name = pin_next(&dir))) {
		if (err && is_number(live, strtoull(name, NULL, 10)))
			err = 0;
		else
			live->others = true;
	}
	return err;
}

static int open_meta(struct live *live)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);
	char path[PIN_PATH_MAX];

	pin_generation_path(live->context, path, live->number, PIN_META);
	live->meta = bpf_obj_get(path);
	if (live->meta < 0 || bpf_obj_get_info_by_fd(live->meta, &info, &size))
		return -errno;
	/* The kernel would write a larger value past the end of ours. */
	return info.value_size == sizeof(live->g) ? 0 : -EPROTO;
}

static int look_once(struct live *live)
{
	__u32 key = 0, id;
	int err = in_slot(live->context, &id);

	if (err || id != live->program || live->err || (trial_is_over(live) && live->number == live->on_trial)) {
		live_close(live);
		live->program = id;
		err = err ?: find_number(live) ?: look_at_trial(live) ?: open_meta(live);
	}
	if (!err && bpf_map_lookup_elem(live->meta, &key, &live->g))
		err = -errno;
	if (!err && !generation_is_known(live->g.version))
		err = -EPROTO;
	if (err)
		memset(&live->g, 0, sizeof(live->g));
	return err_is(err, EPROTO) ? because(err, "another version of xdp-bloom put the filter in force;"
						  " 'xdp-bloom rotate' rebuilds it")
				   : err;
}

/* Each further look needs another rotation in between. */
#define LOOKS 10

int live_look(struct live *live)
{
	__u32 before;
	int looks = 0;

	do {
		before = live->program;
		live->err = look_once(live);
	} while (err_is(live->err, ENOENT) && live->program && live->program != before && ++looks < LOOKS);
	return live->err;
}

int live_open(struct live *live, const struct context *context)
{
	*live = (struct live){ .context = context, .err = -ENOENT, .meta = -1 };
	return live_look(live);
}

void live_close(struct live *live)
{
	close_fd(live->meta);
	live->meta = -1;
	live->err = -ENOENT;
}

int live_pin(const struct live *live, const char *name)
{
	char path[PIN_PATH_MAX];
	int fd;

	/* The pins of another version have the same names. */
	if (live->err && !err_is(live->err, EPROTO))
		return live->err;
	pin_generation_path(live->context, path, live->number, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

int live_maps(const struct live *live, int maps[MAPS])
{
	int err = live->err;

	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		maps[map] = -1;
	maps[MAP_ENDS] = !err && live->g.ends ? live_pin(live, PIN_ENDS) : -1;
	if (!err && live->g.ends && maps[MAP_ENDS] < 0)
		err = because_kernel(maps[MAP_ENDS], PIN_ENDS);
	maps[MAP_SCOPES] = !err && live->g.scoped ? live_pin(live, PIN_SCOPES) : -1;
	maps[MAP_UNREAD] = !err && live->g.scoped ? pin_shared_map(live->context, PIN_UNREAD) : -1;
	if (!err && live->g.scoped && (maps[MAP_SCOPES] < 0 || maps[MAP_UNREAD] < 0))
		err = because_kernel(maps[MAP_SCOPES] < 0 ? maps[MAP_SCOPES] : maps[MAP_UNREAD], PIN_SCOPES);
	for (enum array a = 0; a < ARRAYS; a++) {
		int fd = !err && array_bytes(&live->g, a) ? live_pin(live, array_kinds[a].name) : -1;

		maps[a] = fd >= 0 ? fd : -1;
		if (!err && array_bytes(&live->g, a) && fd < 0)
			err = because_kernel(fd, array_kinds[a].name);
	}
	return err;
}

bool live_overtaken(struct live *live)
{
	__u32 before = live->program;

	live_look(live);
	return live->program != before && ++live->overtaken < LOOKS;
}

__u64 live_before(const struct live *live)
{
	if (live->on_trial)
		return live->trial.before;
	/* One of another version can be called, too. */
	return !live->err || err_is(live->err, EPROTO) ? live->number : 0;
}

int live_open_before(const struct live *live, struct live *before)
{
	__u32 key = 0;

	*before = (struct live){ .context = live->context, .err = -ENOENT, .meta = -1, .number = live->trial.before };
	if (!live->on_trial || live->number != live->on_trial || !before->number)
		return -ENOENT;
	before->err = open_meta(before);
	if (!before->err && bpf_map_lookup_elem(before->meta, &key, &before->g))
		before->err = -errno;
	if (!before->err && !generation_is_known(before->g.version))
		before->err = -EPROTO;
	return before->err;
}

int live_note(struct live *live, const struct generation *edited)
{
	struct generation g = live->g;
	__u32 key = 0;

	g.keys4 = edited->keys4;
	g.keys6 = edited->keys6;
	g.all24 = edited->all24;
	g.prefixes6 = edited->prefixes6;
	g.stale = edited->stale;
	g.edits = edited->edits;
	if (bpf_map_update_elem(live->meta, &key, &g, BPF_ANY))
		return because_kernel(-errno, PIN_META);
	live->g = g;
	return 0;
}

int kernel_live(const struct context *context, struct generation *g)
{
	struct live live;
	int err = live_open(&live, context);

	*g = live.g;
	live_close(&live);
	return err;
}

unsigned long long kernel_live_generation(const struct context *context)
{
	struct generation live;

	return context->generation ? context->generation : kernel_live(context, &live) ? 0 : live.number;
}

int kernel_age(const struct context *context, double *seconds)
{
	struct timespec now;
	struct live live;
	int err = live_open(&live, context);

	live_close(&live);
	clock_gettime(CLOCK_BOOTTIME, &now);
	*seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)live.loaded / 1e9;
	return err_is(err, EPROTO) ? 0 : err;
}
