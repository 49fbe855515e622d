// SPDX-License-Identifier: GPL-2.0-only
/* A generation: its maps, programs and pins, and the one write that puts it into force. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/detect_maps.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "kernel/map_window.h"
#include "kernel/match.h"
#include "kernel/pins.h"
#include "kernel/programs.h"
#include "kernel/root.h"
#include "xdp_bloom.skel.h"

/* One value if the kernel allows one that large (4 MiB at most before 6.8), otherwise an array of blocks. */
static int create_map(const struct array_kind *kind, __u64 bytes, bool *flat)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = -E2BIG;

	*flat = kind->flat != offsetof(struct generation, no_flat);
	/* The verifier's limit for offsets into a value is 2^29. */
	if (*flat && bytes < 1u << 29)
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, kind->name, 4, (__u32)bytes, 1, &opts);
	if (fd >= 0 || !kind->flat || (!err_is(fd, E2BIG) && !err_is(fd, EINVAL)))
		return fd;
	*flat = false;
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, kind->name, 4, BLOCK_BYTES, (__u32)(bytes / BLOCK_BYTES), &opts);
}

int kernel_ends_map(size_t most)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, PIN_ENDS, sizeof(struct end_key), sizeof(__u64), (__u32)most,
				&opts);

	return fd < 0 ? because_kernel(-errno, PIN_ENDS) : fd;
}

#define MANY_ENDS 512

/* Since 5.14 a call for many; how many of them are in, the caller puts in the rest. Each may be put in again. */
static size_t put_many(int map, const struct end *at, size_t n)
{
	struct end_key *keys = malloc(n * sizeof(*keys));
	__u64 *until = malloc(n * sizeof(*until));
	__u32 put = 0;

	for (size_t i = 0; keys && until && i < n && at[i].until; i++, put++) {
		keys[i] = at[i].key;
		until[i] = at[i].until;
	}
	if (put && bpf_map_update_batch(map, keys, until, &put, NULL))
		put = 0;
	free(keys);
	free(until);
	return put;
}

/*
 * Its end could not be put in. What ends it sooner is taken out, also the entry of a wider ban: without one it is
 * dropped until the state ends it. That takes no memory.
 */
static void end_untold(int map, const struct end *end)
{
	struct end_key at = end->key;
	__u64 until;

	while (bpf_map_lookup_elem(map, &at, &until) ? errno != ENOENT : until < end->until) {
		bpf_map_delete_elem(map, &at);
		if (at.bits-- == END_KEY_BITS(0))
			return;
	}
}

int kernel_ends_put(int map, const struct ends *ends)
{
	size_t first = 0, put = 1;
	int err = 0;

	while (ends->n - first >= MANY_ENDS && put) {
		put = put_many(map, ends->at + first, MANY_ENDS);
		first += put;
	}
	for (size_t i = first; i < ends->n; i++) {
		const struct end *end = &ends->at[i];

		if (end->until && !err && bpf_map_update_elem(map, &end->key, &end->until, BPF_ANY))
			err = because_kernel(-errno, PIN_ENDS);
		if (end->until && err)
			end_untold(map, end);
		else if (!end->until && bpf_map_delete_elem(map, &end->key) && errno != ENOENT && !err)
			err = because_kernel(-errno, PIN_ENDS);
	}
	return err;
}

size_t kernel_ends_room(int map)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);

	return bpf_obj_get_info_by_fd(map, &info, &size) ? 0 : info.max_entries;
}

/* Room for more bans until the next generation; it takes no memory. */
#define ENDS_LEAST (1u << 16)

static int open_ends(struct candidate *c, const struct ends *ends)
{
	c->ends = kernel_ends_map(4 * ends->n > ENDS_LEAST ? 4 * ends->n : ENDS_LEAST);
	return c->ends < 0 ? c->ends : kernel_ends_put(c->ends, ends);
}

enum sight { TO_READ, TO_FILL, TO_EDIT };

/* The candidate owns the descriptor from now on, even after an error. */
static int take_map(struct candidate *c, enum array a, int fd, __u64 bytes, enum sight sight)
{
	__u64 page = (__u64)sysconf(_SC_PAGESIZE);
	void *mem;

	c->map[a].fd = fd;
	c->map[a].size = (bytes + page - 1) & ~(page - 1);
	mem = sight == TO_EDIT ? window_open(fd, c->map[a].size)
			       : mmap(NULL, c->map[a].size, sight == TO_FILL ? PROT_READ | PROT_WRITE : PROT_READ,
				      MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return because_kernel(-errno, array_kinds[a].name);
	*generation_member(&c->g, array_kinds[a].member) = (__u64)(uintptr_t)mem;
	return 0;
}

static int open_array(struct candidate *c, enum array a, __u64 bytes)
{
	const struct array_kind *kind = &array_kinds[a];
	bool flat;
	int fd = create_map(kind, bytes, &flat), err;

	if (fd < 0)
		return because_kernel(fd, kind->name);
	err = take_map(c, a, fd, bytes, TO_FILL);
	if (!err && kind->flat)
		*generation_member(&c->g, kind->flat) = flat;
	return err;
}

static void begin(struct candidate *c, const struct generation *g)
{
	memset(c, 0, sizeof(*c));
	c->g = *g;
	c->program = c->ask = c->meta = c->on_trial = c->before = c->term = c->ends = c->scopes = c->unread = -1;
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		c->match[m] = (struct match_programs){ -1, -1, -1 };
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		c->detect[map - MAP_DETECT] = -1;
	for (enum array a = 0; a < ARRAYS; a++) {
		c->map[a].fd = -1;
		*generation_member(&c->g, array_kinds[a].member) = 0;
	}
}

int kernel_arrays(struct candidate *c, const struct generation *planned)
{
	begin(c, planned);
	for (enum array a = 0; a < ARRAYS; a++) {
		__u64 bytes = array_bytes(planned, a);
		int err = bytes ? open_array(c, a, bytes) : 0;

		if (err) {
			kernel_release(c);
			return err;
		}
	}
	return 0;
}

int live_map(const struct live *live, struct candidate *c, bool edit)
{
	int maps[MAPS], err;

	begin(c, &live->g);
	err = live_maps(live, maps);
	c->ends = maps[MAP_ENDS];
	c->scopes = maps[MAP_SCOPES];
	c->unread = maps[MAP_UNREAD];
	for (enum array a = 0; a < ARRAYS; a++) {
		if (maps[a] >= 0 && !err)
			err = take_map(c, a, maps[a], array_bytes(&live->g, a), edit ? TO_EDIT : TO_READ);
		else if (maps[a] >= 0)
			close(maps[a]);
	}
	if (err)
		kernel_release(c);
	return err;
}

bool live_map_failed(const struct candidate *c)
{
	struct generation g = c->g;
	bool failed = false;

	for (enum array a = 0; a < ARRAYS; a++)
		failed = failed || window_failed((void *)(uintptr_t)*generation_member(&g, array_kinds[a].member));
	return failed;
}

int kernel_open_live(const struct context *context, struct candidate *c)
{
	struct live live;
	int err;

	live_open(&live, context);
	do
		err = live_map(&live, c, false);
	while (err_is(err, ENOENT) && live_overtaken(&live));
	live_close(&live);
	return err;
}

static int pin(struct candidate *c, int fd, const char *name)
{
	char path[2 * PIN_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", c->dir, name);
	return bpf_obj_pin(fd, path) ? -errno : 0;
}

/* The generation's description: the same constants, with 0 or 1 for each map. */
static int write_meta(struct candidate *c)
{
	struct generation g = c->g;
	__u32 key = 0;

	for (enum array a = 0; a < ARRAYS; a++)
		*generation_member(&g, array_kinds[a].member) = c->map[a].fd >= 0;
	c->meta = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN_META, 4, sizeof(g), 1, NULL);
	if (c->meta < 0)
		return -errno;
	return bpf_map_update_elem(c->meta, &key, &g, BPF_ANY) ? -errno : 0;
}

static int pin_all(const struct context *context, struct candidate *c)
{
	int slot = pin_shared_map(context, PIN_SLOT), err;

	pin_generation_path(context, c->dir, c->g.number, "");
	pin_remove(c->dir); /* left over from a command that was killed */
	err = mkdir(c->dir, 0700) ? -errno : 0;
	err = err ?: pin(c, c->program, PIN_PROGRAM) ?: pin(c, c->ask, PIN_ASK) ?: pin(c, c->meta, PIN_META);
	if (!err && c->on_trial >= 0)
		err = pin(c, c->term, PIN_TRIAL_TERM)
			      ?: pin(c, c->before, PIN_TRIAL_BEFORE)
			      ?: pin(c, c->on_trial, PIN_TRIAL);
	/* The slot empties itself when its last pin is removed: here is another. */
	err = err ?: slot < 0 ? slot : pin(c, slot, PIN_SLOT);
	for (enum array a = 0; a < ARRAYS && !err; a++)
		if (c->map[a].fd >= 0)
			err = pin(c, c->map[a].fd, array_kinds[a].name);
	if (!err && c->ends >= 0)
		err = pin(c, c->ends, PIN_ENDS);
	if (!err && c->scopes >= 0)
		err = pin(c, c->scopes, PIN_SCOPES);
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT && !err; map++)
		if (c->detect[map - MAP_DETECT] >= 0)
			err = pin(c, c->detect[map - MAP_DETECT], detect_pin(map));
	close_fd(slot);
	return err ? because_kernel(err, c->dir) : match_pin(context, c);
}

static struct bpf_program *trial_of(const struct candidate *c, const struct xdp_bloom_bpf *skel)
{
	return c->detect[MAP_SLOTS - MAP_DETECT] >= 0 ? skel->progs.xdp_bloom_trial_slots : skel->progs.xdp_bloom_trial;
}

/* What comes back may be nothing at all: then packets pass. */
static int begin_trial(const struct context *context, struct candidate *c, const struct xdp_bloom_bpf *skel)
{
	char path[PIN_PATH_MAX];
	__u32 key = 0;
	int program, err;

	c->term = dup(bpf_map__fd(skel->maps.trial));
	c->before = dup(bpf_map__fd(skel->maps.before));
	c->on_trial = dup(bpf_program__fd(trial_of(c, skel)));
	if (c->term < 0 || c->before < 0 || c->on_trial < 0 || bpf_map_update_elem(c->term, &key, &c->trial, BPF_ANY))
		return -errno;
	if (!c->trial.before)
		return 0;
	pin_generation_path(context, path, c->trial.before, PIN_PROGRAM);
	program = bpf_obj_get(path);
	err = program < 0 || bpf_map_update_elem(c->before, &key, &program, BPF_ANY) ? -errno : 0;
	close_fd(program);
	return err;
}

int kernel_load(const struct context *context, struct candidate *c, const struct ends *ends)
{
	struct xdp_bloom_bpf *skel;
	struct bpf_program *gen;
	int maps[MAPS], frags = kernel_frags(context);
	int err = frags < 0 ? frags : c->g.ends ? open_ends(c, ends) : 0;

	err = err ?: programs_open(context, &skel);
	if (err)
		return err;
	maps[MAP_ENDS] = c->ends;
	maps[MAP_SCOPES] = c->scopes;
	maps[MAP_UNREAD] = c->unread;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		maps[map] = c->detect[map - MAP_DETECT];
	for (enum array a = 0; a < ARRAYS; a++)
		maps[a] = c->map[a].fd;
	bpf_program__set_autoload(skel->progs.xdp_bloom_root, false);
	bpf_program__set_autoload(skel->progs.xdp_bloom_frags, false);
	gen = programs_judge(skel, maps);
	c->g.frags = (__u64)frags;
	if (c->trial.until)
		programs_add(trial_of(c, skel), skel->maps.trial, skel->maps.before);
	err = programs_load(skel->obj, &c->g, maps);
	if (!err) {
		c->program = dup(bpf_program__fd(gen));
		c->ask = dup(bpf_program__fd(skel->progs.xdp_bloom_ask));
	}
	if (!err && c->trial.until)
		err = begin_trial(context, c, skel);
	xdp_bloom_bpf__destroy(skel);
	if (!err && (c->program < 0 || c->ask < 0))
		err = -errno;
	err = err ?: write_meta(c);
	if (err)
		return because_program(err, "loading a generation's program");
	return match_load(context, c, maps) ?: pin_all(context, c);
}

/* The generation in the slot, and the one that comes back if that is on trial. */
#define KEPT 2

/* Packets that are still in a generation finish first: the kernel waits for them. */
static void remove_others(const struct context *context, const __u64 kept[KEPT])
{
	DIR *dir = pin_directory(context, PIN_GENERATIONS);
	char path[PIN_PATH_MAX];
	const char *name;

	while ((name = pin_next(&dir))) {
		__u64 other = strtoull(name, NULL, 10);

		if (other == kept[0] || other == kept[1])
			continue;
		pin_generation_path(context, path, other, "");
		pin_remove(path);
	}
}

void kernel_sweep(struct live *live)
{
	__u64 kept[KEPT] = { live->on_trial ?: live->number, live->trial.before };

	if ((!live->err || live->on_trial) && live->others)
		remove_others(live->context, kept);
	live->others = false;
}

static int put_into_slot(const struct context *context, int program)
{
	__u32 key = 0;
	int slot = pin_shared_map(context, PIN_SLOT), err;

	if (slot < 0)
		return slot;
	err = bpf_map_update_elem(slot, &key, &program, BPF_ANY) ? -errno : 0;
	close(slot);
	return err;
}

int kernel_switch(const struct context *context, struct candidate *c)
{
	int err = -EAGAIN;

	/* What is called in force is what is in this slot: it comes last. */
	for (int i = 0; err && i < TRIES_ONCE_COMMITTED; i++)
		err = match_switch(context, c) ?: put_into_slot(context, c->on_trial < 0 ? c->program : c->on_trial);
	if (err)
		return because_kernel(err, "putting the generation into force");
	c->dir[0] = '\0';
	match_sweep(context);
	remove_others(context, (__u64[KEPT]){ c->g.number, c->trial.before });
	return 0;
}

int kernel_keep(struct live *live)
{
	char path[PIN_PATH_MAX];
	int program, err = -EAGAIN;

	if (!live->on_trial)
		return 0;
	pin_generation_path(live->context, path, live->on_trial, PIN_PROGRAM);
	for (int i = 0; err && i < TRIES_ONCE_COMMITTED; i++) {
		program = bpf_obj_get(path);
		err = program < 0 ? -errno
				  : match_keep(live->context, live->on_trial) ?: put_into_slot(live->context, program);
		close_fd(program);
	}
	if (err)
		return because_kernel(err, "keeping the generation in force");
	live_look(live);
	kernel_sweep(live);
	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		pin_generation_path(live->context, path, live->number, match_pins[m].trial);
		unlink(path);
		pin_generation_path(live->context, path, live->number, match_pins[m].before);
		unlink(path);
	}
	pin_generation_path(live->context, path, live->number, PIN_TRIAL_TERM);
	unlink(path);
	return 0;
}

void kernel_release(struct candidate *c)
{
	for (enum array a = 0; a < ARRAYS; a++) {
		__u64 *member = generation_member(&c->g, array_kinds[a].member);

		if (*member)
			window_close((void *)(uintptr_t)*member, c->map[a].size);
		*member = 0;
		close_fd(c->map[a].fd);
		c->map[a].fd = -1;
	}
	close_fd(c->program);
	close_fd(c->ask);
	close_fd(c->meta);
	close_fd(c->on_trial);
	close_fd(c->before);
	close_fd(c->term);
	close_fd(c->ends);
	close_fd(c->scopes);
	close_fd(c->unread);
	c->program = c->ask = c->meta = c->on_trial = c->before = c->term = c->ends = c->scopes = c->unread = -1;
	match_release(c);
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++) {
		close_fd(c->detect[map - MAP_DETECT]);
		c->detect[map - MAP_DETECT] = -1;
	}
	if (c->dir[0])
		pin_remove(c->dir);
	c->dir[0] = '\0';
}

int kernel_map_bytes(const struct candidate *c, __u64 bytes[ARRAYS])
{
	for (enum array a = 0; a < ARRAYS; a++) {
		struct bpf_map_info info = { 0 };
		__u32 size = sizeof(info);

		bytes[a] = 0;
		if (c->map[a].fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(c->map[a].fd, &info, &size))
			return because_kernel(-errno, "the size of an array");
		bytes[a] = (__u64)info.value_size * info.max_entries;
	}
	return 0;
}
