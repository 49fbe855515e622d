// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/match.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "kernel/attach.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "kernel/programs.h"
#include "kernel/root.h"

/* By the names of the pins alone: this is asked in every command that builds something. */
static int find_uses(const struct context *context, unsigned int *uses)
{
	DIR *dir = pin_directory(context, PIN_LINKS);
	struct attachment at;
	const char *name;

	*uses = 0;
	/* None that can be read is not none: what is in use would stay behind, or go. */
	if (!dir && errno != ENOENT)
		return because_kernel(-errno, PIN_LINKS);
	while ((name = pin_next(&dir)))
		if (attachment_of_pin(name, &at))
			*uses |= MATCH_BIT(at.match, at.bare);
	return 0;
}

unsigned int match_uses(const struct context *context)
{
	unsigned int uses;

	find_uses(context, &uses);
	return uses;
}

bool match_known(const struct context *context)
{
	char path[PIN_PATH_MAX];
	bool known = false;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !known; m++)
		for (int bare = 0; bare < 2; bare++) {
			pin_path(context, path, bare ? match_pins[m].bare : match_pins[m].root);
			known = known || !access(path, F_OK);
		}
	return known;
}

static bool is_used(unsigned int uses, unsigned int match)
{
	return uses & (MATCH_BIT(match, false) | MATCH_BIT(match, true));
}

int match_ready(const struct context *context)
{
	unsigned int uses;
	int err = find_uses(context, &uses);

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++)
		for (int bare = 0; bare < 2 && !err; bare++) {
			int root = uses & MATCH_BIT(m, bare) ? root_of(context, m, bare) : -1;

			err = uses & MATCH_BIT(m, bare) && root < 0 ? root : 0;
			close_fd(root);
		}
	return err;
}

static int put_into(const struct context *context, unsigned int match, int program)
{
	int slot = pin_shared_map(context, match_pins[match].slot), err;
	__u32 key = 0;

	err = slot < 0 ? slot : bpf_map_update_elem(slot, &key, &program, BPF_ANY) ? -errno : 0;
	close_fd(slot);
	return err;
}

/* The generation of that number has it pinned? */
static int pinned_in(const struct context *context, __u64 number, const char *pin)
{
	char path[PIN_PATH_MAX];
	int fd;

	pin_generation_path(context, path, number, pin);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int pin_in(const struct context *context, __u64 number, const char *pin, int fd)
{
	char path[PIN_PATH_MAX];

	pin_generation_path(context, path, number, pin);
	unlink(path);
	return bpf_obj_pin(fd, path) ? because_kernel(-errno, path) : 0;
}

static const struct match_programs none = { -1, -1, -1 };

/* term: the map of the generation's trial; -1: it is not on trial. */
static int load(const struct context *context, unsigned int match, const struct generation *g, const int *maps,
		int term, struct match_programs *to)
{
	struct bpf_program *judge, *trial;
	struct bpf_object *object;
	int err;

	*to = none;
	err = programs_open_match(context, match, &object);
	if (err)
		return err;
	judge = bpf_object__find_program_by_name(object, "xdp_bloom_gen");
	trial = bpf_object__find_program_by_name(object, "xdp_bloom_trial");
	bpf_program__set_autoload(judge, true);
	if (term >= 0) {
		struct bpf_map *its = bpf_object__find_map_by_name(object, "trial");

		programs_add(trial, its, bpf_object__find_map_by_name(object, "before"));
		err = bpf_map__reuse_fd(its, term);
	}
	err = err ?: programs_load_match(object, match, g, maps);
	if (!err) {
		to->program = dup(bpf_program__fd(judge));
		if (term >= 0) {
			to->on_trial = dup(bpf_program__fd(trial));
			to->before = dup(bpf_object__find_map_fd_by_name(object, "before"));
		}
		if (to->program < 0 || (term >= 0 && (to->on_trial < 0 || to->before < 0)))
			err = -errno;
	}
	bpf_object__close(object);
	return err ? because_program(err, "loading a generation's program") : 0;
}

static void let_go(struct match_programs *of)
{
	close_fd(of->program);
	close_fd(of->on_trial);
	close_fd(of->before);
	*of = none;
}

/* Into the generation in force, which had no use for it. */
static int add(const struct context *context, unsigned int match, int slot)
{
	struct match_programs its = none;
	struct live live;
	int maps[MAPS], err = live_open(&live, context);
	__u32 key = 0;

	if (err) {
		/* Nothing is loaded yet; or something of another version, and what comes next builds it anew. */
		live_close(&live);
		return err_is(err, ENOENT) || err_is(err, EPROTO) ? 0 : err;
	}
	err = live_maps(&live, maps);
	its.program = pinned_in(context, live.number,
				live.number == live.on_trial ? match_pins[match].trial : match_pins[match].program);
	if (!err && its.program < 0 && live.on_trial)
		err = because(-EBUSY, "what is in force is on trial: 'xdp-bloom confirm' first");
	else if (!err && its.program < 0)
		err = load(context, match, &live.g, maps, -1, &its)
			      ?: pin_in(context, live.number, match_pins[match].program, its.program);
	err = err ?: pin_in(context, live.number, match_pins[match].slot, slot);
	if (!err && bpf_map_update_elem(slot, &key, &its.program, BPF_ANY))
		err = because_kernel(-errno, match_pins[match].slot);
	for (unsigned int a = 0; a < MAPS; a++)
		close_fd(maps[a]);
	let_go(&its);
	live_close(&live);
	return err;
}

int match_fill(const struct context *context, unsigned int match, int slot)
{
	__u32 key = 0, id;

	return bpf_map_lookup_elem(slot, &key, &id) ? add(context, match, slot) : 0;
}

/* What comes back may have had no use for it: then packets pass, as on an interface that was not attached. */
static int begin_trial(const struct context *context, struct candidate *c, unsigned int match)
{
	int program = c->trial.before ? pinned_in(context, c->trial.before, match_pins[match].program) : -1, err;
	__u32 key = 0;

	err = program >= 0 && bpf_map_update_elem(c->match[match].before, &key, &program, BPF_ANY) ? -errno : 0;
	close_fd(program);
	return err;
}

int match_load(const struct context *context, struct candidate *c, const int *maps)
{
	unsigned int uses;
	int err = find_uses(context, &uses);

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !err; m++) {
		if (!is_used(uses, m))
			continue;
		err = load(context, m, &c->g, maps, c->term, &c->match[m]);
		if (!err && c->term >= 0)
			err = begin_trial(context, c, m);
	}
	return err;
}

int match_pin(const struct context *context, const struct candidate *c)
{
	int err = 0;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !err; m++) {
		const struct match_programs *its = &c->match[m];
		int slot;

		if (its->program < 0)
			continue;
		/* As for the others, the slot has a second pin, or it would empty itself with the first. */
		slot = pin_shared_map(context, match_pins[m].slot);
		err = slot < 0 ? slot : pin_in(context, c->g.number, match_pins[m].slot, slot);
		err = err ?: pin_in(context, c->g.number, match_pins[m].program, its->program);
		if (!err && its->on_trial >= 0)
			err = pin_in(context, c->g.number, match_pins[m].before, its->before)
				      ?: pin_in(context, c->g.number, match_pins[m].trial, its->on_trial);
		close_fd(slot);
	}
	return err;
}

int match_switch(const struct context *context, const struct candidate *c)
{
	int err = 0;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !err; m++) {
		const struct match_programs *its = &c->match[m];

		if (its->program >= 0)
			err = put_into(context, m, its->on_trial < 0 ? its->program : its->on_trial);
	}
	return err;
}

int match_keep(const struct context *context, __u64 number)
{
	int err = 0;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !err; m++) {
		int program = pinned_in(context, number, match_pins[m].program);

		err = program >= 0 ? put_into(context, m, program) : err_is(program, ENOENT) ? 0 : program;
		close_fd(program);
	}
	return err;
}

static int turn_all(const struct context *context)
{
	int root = pin_get(context, PIN_ROOT), err = root < 0 ? root : attach_new_root(context, MATCH_KINDS, root);

	close_fd(root);
	return err;
}

void match_sweep(const struct context *context)
{
	unsigned int uses;
	char path[PIN_PATH_MAX];
	bool turned = false;

	if (find_uses(context, &uses))
		return;
	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++) {
		const char *const pins[] = { match_pins[m].root, match_pins[m].bare, match_pins[m].slot };

		for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]) && !is_used(uses, m); i++) {
			pin_path(context, path, pins[i]);
			if (access(path, F_OK))
				continue;
			/* A command that was to turn a link to another match may have been killed before it did. */
			if (!turned && turn_all(context))
				return;
			turned = true;
			unlink(path);
		}
	}
}

void match_release(struct candidate *c)
{
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		let_go(&c->match[m]);
}
