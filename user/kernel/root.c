// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "filter/arrays.h"
#include "kernel/attach.h"
#include "kernel/match.h"
#include "kernel/pins.h"
#include "kernel/programs.h"
#include "xdp_bloom.skel.h"

/* With --verbose, libbpf prints the verifier's log, in which the secret seeds are numbers: those are not shown. */
#define DIGITS_SHOWN 5 /* of offsets, counts and the like */

/* A seed, or what the verifier computes from one, is a long number, decimal or hex. */
static void hide_long_numbers(char *text)
{
	char *to = text;

	while (*text) {
		size_t digits = strspn(text, "0123456789abcdefABCDEF"), n = digits ? digits : 1;

		if (digits > DIGITS_SHOWN) {
			*to++ = '#';
		} else {
			memmove(to, text, n);
			to += n;
		}
		text += n;
	}
	*to = '\0';
}

static int print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text;

	if (!log_settings.verbose || level == LIBBPF_DEBUG || vasprintf(&text, fmt, args) < 0)
		return 0;
	hide_long_numbers(text);
	fputs(text, stderr);
	free(text);
	return 0;
}

static void ready(void)
{
	libbpf_set_print(print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL); /* with it, libbpf raises RLIMIT_MEMLOCK where maps count (5.10) */
}

int kernel_ready(const struct context *context)
{
	ready();
	return pins_ready(context, true);
}

int kernel_ready_to_look(const struct context *context)
{
	ready();
	return pins_ready(context, false);
}

/* Was it loaded to be on trial? */
static bool has_term(const struct context *context, __u64 number)
{
	char path[PIN_PATH_MAX];

	pin_generation_path(context, path, number, PIN_TRIAL_TERM);
	return !access(path, F_OK);
}

/*
 * The number of the newest generation that is pinned, or of those before this one that are there for good; 0: there is
 * none.
 */
static __u64 newest_generation(const struct context *context, __u64 before)
{
	DIR *dir = pin_directory(context, PIN_GENERATIONS);
	const char *name;
	__u64 newest = 0;

	while ((name = pin_next(&dir))) {
		__u64 number = strtoull(name, NULL, 10);

		if (number > newest && (!before || (number < before && !has_term(context, number))))
			newest = number;
	}
	return newest;
}

/* The root's slot has a second pin beside each generation: the first one is made again from it. */
static int slot_again(const struct context *context, int root)
{
	struct pinned program = { 0 }, map = { 0 };
	char path[PIN_PATH_MAX];
	int fd, err;

	pin_generation_path(context, path, newest_generation(context, 0), PIN_SLOT);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	err = pinned_info(root, &program) ?: pinned_info(fd, &map);
	if (!err && (map.kind != PINNED_MAP || !pinned_uses(&program, map.id)))
		err = -ENOENT;
	pin_path(context, path, PIN_SLOT);
	if (!err && bpf_obj_pin(fd, path))
		err = -errno;
	close_fd(fd);
	return err;
}

/*
 * A new slot is empty. No interface turns to it before it has what is in force: that may be all that is left of it. Of
 * one on trial that lost its program with the clock, it is the generation before.
 */
static void fill_slot(const struct context *context, int slot, struct committed of)
{
	const struct {
		__u64 number;
		const char *pin;
	} tries[] = { { of.number, PIN_TRIAL },
		      { of.on_trial ? newest_generation(context, of.number) : of.number, PIN_PROGRAM } };
	int program = -1;
	char path[PIN_PATH_MAX];
	__u32 key = 0, id;

	if (!bpf_map_lookup_elem(slot, &key, &id))
		return;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && program < 0; i++) {
		pin_generation_path(context, path, tries[i].number, tries[i].pin);
		program = bpf_obj_get(path);
	}
	if (program >= 0 && bpf_map_update_elem(slot, &key, &program, BPF_ANY))
		note("%s: %s", path, strerror(errno)); /* of another version: it is built again */
	close_fd(program);
}

/* Loads this one of the programs, and this judge of an empty set where there is one, and no other. */
static int load_with(struct bpf_object *object, struct bpf_program *root, struct bpf_program *judge, bool frags)
{
	struct bpf_program *program = NULL;
	int maps[MAPS];

	for (size_t i = 0; i < MAPS; i++)
		maps[i] = -1;
	while ((program = bpf_object__next_program(object, program)))
		bpf_program__set_autoload(program, program == root || program == judge);
	return programs_load(object, &(struct generation){ .frags = frags }, maps);
}

static int load_only(struct bpf_object *object, struct bpf_program *root, bool frags)
{
	return load_with(object, root, NULL, frags);
}

/* Without memory libbpf may take it that the kernel knows no program names. */
static int is_named(struct bpf_program *root, const char *name)
{
	struct pinned loaded = { 0 };
	int err = pinned_info(bpf_program__fd(root), &loaded);

	return err ?: strcmp(loaded.name, name) != 0 ? -ENOMEM : 0;
}

static int pin_root_as(const struct context *context, struct bpf_program *root, const char *name)
{
	char path[PIN_PATH_MAX];

	pin_path(context, path, name);
	unlink(path);
	return bpf_program__pin(root, path);
}

static int load_root(const struct context *context, struct committed committed, bool frags)
{
	struct xdp_bloom_bpf *skel;
	struct bpf_program *root;
	int err = programs_open(context, &skel);

	if (err)
		return err;
	root = frags ? skel->progs.xdp_bloom_frags : skel->progs.xdp_bloom_root;
	err = load_only(skel->obj, root, frags) ?: is_named(root, frags ? ROOT_FRAGS : ROOT_PLAIN);
	if (!err) {
		fill_slot(context, bpf_map__fd(skel->maps.slot), committed);
		err = pin_root_as(context, root, PIN_ROOT)
			      ?: attach_new_root(context, MATCH_SOURCE, bpf_program__fd(root));
	}
	xdp_bloom_bpf__destroy(skel);
	return err;
}

static int because_root(int err, bool bare)
{
	if (bare && err_is(err, EINVAL))
		return because(err,
			       "this kernel cannot run the filter where packets have no Ethernet header: 5.10 can on"
			       " x86-64, 6.0 on arm64, and none without a JIT");
	return because_program(err, "loading the root program");
}

/* Without pins. */
static int try_root(bool bare, struct root_tried *tried)
{
	struct xdp_bloom_bpf *skel;
	struct bpf_program *root;
	struct pinned is;
	int err = programs_open(NULL, &skel);

	if (err)
		return err;
	root = bare	      ? skel->progs.xdp_bloom_bare
	       : tried->frags ? skel->progs.xdp_bloom_frags
			      : skel->progs.xdp_bloom_root;
	err = load_with(skel->obj, root, skel->progs.xdp_bloom_gen, tried->frags)
		      ?: pinned_info(bpf_program__fd(root), &is);
	tried->jitted = !err && is.jitted;
	xdp_bloom_bpf__destroy(skel);
	return err;
}

int root_loads(bool bare, struct root_tried *tried)
{
	int err;

	ready();
	tried->frags = true;
	err = try_root(bare, tried);
	if (err_is(err, EINVAL)) {
		tried->frags = false;
		err = try_root(bare, tried);
	}
	return err ? because_root(err, bare) : 0;
}

/* Whoever is attached by one that was lost turns to this one. */
static int load_of(const struct context *context, unsigned int match, bool bare, struct bpf_object *object, bool frags)
{
	const char *name = bare ? ROOT_BARE : frags && !MATCH_BY_TC(match) ? ROOT_FRAGS : ROOT_PLAIN;
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	int err = load_only(object, program, frags) ?: is_named(program, name);

	if (err)
		return because_root(err, bare);
	if (match)
		err = match_fill(context, match, bpf_object__find_map_fd_by_name(object, PIN_SLOT));
	err = err ?: pin_root_as(context, program, bare ? match_pins[match].bare : match_pins[match].root);
	if (!err && match)
		err = attach_new_root(context, match, bpf_program__fd(program));
	if (err)
		return err;
	err = dup(bpf_program__fd(program));
	return err < 0 ? -errno : err;
}

int root_of(const struct context *context, unsigned int match, bool bare)
{
	int root = pin_root_of(context, match, bare), frags, err;
	struct bpf_object *object;

	if (!err_is(root, ENOENT))
		return root;
	frags = kernel_frags(context);
	err = frags < 0 ? frags : programs_open_match(context, match, &object);
	if (err)
		return err;
	root = load_of(context, match, bare, object, frags);
	bpf_object__close(object);
	return root;
}

int root_on_trial(const struct context *context, int64_t until, unsigned int match, bool bare)
{
	struct trial term = { .until = (__u64)until };
	int frags = kernel_frags(context), root = -1, err;
	struct bpf_program *program;
	struct bpf_object *object;
	struct bpf_map *trial;
	__u32 key = 0;

	/* With its slot. */
	if (frags >= 0 && match)
		root = root_of(context, match, bare);
	err = frags < 0 ? frags : match && root < 0 ? root : programs_open_match(context, match, &object);
	close_fd(root);
	root = -1;
	if (err)
		return err;
	program = bpf_object__find_program_by_name(object, bare ? "xdp_bloom_bare_trial" : "xdp_bloom_trial_root");
	trial = bpf_object__find_map_by_name(object, "trial");
	bpf_map__set_autocreate(trial, true);
	err = load_only(object, program, frags);
	if (!err) {
		root = dup(bpf_program__fd(program));
		if (root < 0 || bpf_map_update_elem(bpf_map__fd(trial), &key, &term, BPF_ANY))
			err = -errno;
	}
	bpf_object__close(object);
	if (!err)
		return root;
	close_fd(root);
	return because_root(err, bare);
}

int kernel_frags(const struct context *context)
{
	bool frags;
	int fd = pin_root(context, &frags);

	close_fd(fd);
	return fd < 0 ? because_kernel(fd, PIN_ROOT) : frags;
}

int kernel_base(const struct context *context, struct committed committed)
{
	bool frags;
	int fd = pin_root(context, &frags), err;

	if (fd >= 0) {
		int slot = pin_shared_map(context, PIN_SLOT);

		if (err_is(slot, ENOENT) && !slot_again(context, fd))
			slot = pin_shared_map(context, PIN_SLOT);
		close(fd);
		fd = slot;
	}
	if (fd >= 0) {
		close(fd);
		return match_ready(context);
	}
	if (err_is(fd, EBADF))
		return fd;
	err = load_root(context, committed, true);
	if (err_is(err, EINVAL))
		err = load_root(context, committed, false);
	return err ? because_program(err, "loading the root program") : match_ready(context);
}
