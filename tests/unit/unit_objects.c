// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF objects as they are opened for each match, and made ready to be loaded: which programs and maps the kernel
 * is to get, and where they are pinned. They are the real ones; the kernel is made up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/context.h"
#include "base/log.h"
#include "bpf/detect.h"
#include "filter/build.h"
#include "kernel/pins.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_objects.txt"
};

static struct shows shows = { .file = "tests/unit/unit_objects.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own_context = { .bpffs = "P" };

static const char *fails;
static unsigned int handlers; /* how many are registered */
static struct detect has;     /* what the kernel has of a detector */

static bool is_to_fail(const char *call)
{
	errno = EPERM;
	return fails && !strcmp(fails, call);
}

static int given_register(const char *section, enum bpf_prog_type type)
{
	printf("register %s, %s\n", section, type == BPF_PROG_TYPE_XDP ? "XDP" : "tc");
	return is_to_fail(section) ? -EPERM : (int)++handlers;
}

static int given_ours(const struct context *context)
{
	printf("are pins of %s ours? %s\n", context->bpffs, is_to_fail("ours") ? "no" : "yes");
	return is_to_fail("ours") ? -EBADF : 0;
}

static int given_lookup(int fd, const __u32 *key, struct detect *value)
{
	if (is_to_fail("lookup") || fd != 9 || *key)
		return -1;
	*value = has;
	return 0;
}

static int given_load(struct bpf_object *object);
static struct bpf_object *given_open(const void *bytes, size_t size);

#define libbpf_register_prog_handler(section, type, attach, opts) (given_register(section, type))
#define pins_are_ours						  given_ours
#define bpf_map_lookup_elem					  given_lookup
#define bpf_object__open_mem(bytes, size, opts)			  given_open(bytes, size)
#define bpf_object__open_skeleton(skel, opts)			  (is_to_fail("open") ? -EPERM : bpf_object__open_skeleton(skel, opts))
#define bpf_object__load					  given_load
#include "kernel/programs.c"
#undef bpf_object__open_mem
#undef bpf_object__open_skeleton

static struct bpf_object *given_open(const void *bytes, size_t size)
{
	static const struct {
		const char *name;
		const void *(*bytes)(size_t *size);
	} each[] = {
		{ "sources", xdp_bloom_bpf__elf_bytes },	{ "to", xdp_bloom_to_bpf__elf_bytes },
		{ "both", xdp_bloom_both_bpf__elf_bytes },	{ "out", xdp_bloom_out_bpf__elf_bytes },
		{ "out, to", xdp_bloom_out_to_bpf__elf_bytes }, { "out, both", xdp_bloom_out_both_bpf__elf_bytes }
	};
	size_t is;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		if (bytes == each[i].bytes(&is) && size == is)
			printf("object: %s\n", each[i].name);
	return is_to_fail("open") ? NULL : bpf_object__open_mem(bytes, size, NULL);
}

/* With which constants, and what there is of a detector then. */
static int given_load(struct bpf_object *object)
{
	struct bpf_program *program;
	unsigned int frags = 0, others = 0;

	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__flags(program) & BPF_F_XDP_HAS_FRAGS)
			frags += bpf_program__type(program) == BPF_PROG_TYPE_XDP ? 1 : 1000;
		else
			others++;
	}
	printf("load: number %lld, map %d, cells %lld, %s; frags %s\n", loading ? (long long)loading->number : -1,
	       loading_maps ? loading_maps[0] : -1, (long long)loading_detect.cells,
	       loading_coming ? "what comes" : "as it is",
	       !frags	       ? "none"
	       : frags >= 1000 ? "where there are none"
	       : others	       ? "some"
			       : "all");
	return is_to_fail("load") ? -EPERM : 0;
}

static void begin(void)
{
	fails = NULL;
	has = (struct detect){ 0 };
}

static void put_programs(struct bpf_object *object)
{
	struct bpf_program *program;
	unsigned int others = 0;

	printf(" ");
	bpf_object__for_each_program(program, object)
	{
		others += !bpf_program__autoload(program);
		if (bpf_program__autoload(program))
			printf(" %s,", bpf_program__name(program) + strlen("xdp_bloom_"));
	}
	printf(" and %u that are not loaded\n", others);
}

static void put_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) if (!bpf_map__is_internal(map))
		printf("  %s at %s%s\n", bpf_map__name(map), bpf_map__pin_path(map) ?: "no pin",
		       bpf_map__autocreate(map) ? "" : ", is not made");
}

static void opened(const struct context *context, const char *fail)
{
	struct xdp_bloom_bpf *skel = (void *)&fails;
	int err;

	fails = fail;
	err = programs_open(context, &skel);
	fails = NULL;
	printf("%s: %s\n", fail ?: context ? "opened" : "opened without pins", err ? reason(err) : "done");
	if (err) {
		CHECK(!skel, "%s: something is left", fail);
		return;
	}
	put_programs(skel->obj);
	put_maps(skel->obj);
	xdp_bloom_bpf__destroy(skel);
}

static void sources(void)
{
	opened(&own_context, NULL);
	opened(NULL, NULL);
	opened(&own_context, "open");
	opened(&own_context, "ours");
}

static void opened_match(const struct context *context, unsigned int match, const char *fail)
{
	struct bpf_object *object = (void *)&fails;
	int err;

	fails = fail;
	err = programs_open_match(context, match, &object);
	fails = NULL;
	printf("match %u, %s: %s\n", match,
	       fail
		       ?: context ? "opened"
				  : "opened without pins",
	       err ? reason(err) : "done");
	if (err) {
		CHECK(!object, "%s: something is left", fail);
		return;
	}
	put_programs(object);
	put_maps(object);
	bpf_object__close(object);
}

static void matches(void)
{
	for (unsigned int match = 1; match < MATCH_KINDS; match++)
		opened_match(&own_context, match, NULL);
	opened_match(NULL, MATCH_BOTH, NULL);
	opened_match(&own_context, MATCH_BOTH, "open");
	opened_match(&own_context, MATCH_BOTH, "ours");
}

/* Each section once. Where one fails that is final, so it happens in a process of its own. */
static void registers(void)
{
	static const char *const each[] = { "xdp", "tc" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			fails = each[i];
			printf("%s: %s\n", fails, err_is(programs_register(), EPERM) ? "refused" : "done");
			fails = NULL;
			printf("again: %s\n", err_is(programs_register(), EPERM) ? "refused" : "done");
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (size_t i = 0; i < 2; i++)
		printf("none fails: %s\n", programs_register() ? "refused" : "done");
}

/* Which program judges, and which are loaded with it. */
static void judges(void)
{
	for (unsigned int i = 0; i < 16; i++) {
		struct xdp_bloom_bpf *skel;
		const char *name;
		int maps[MAPS];

		for (unsigned int map = 0; map < MAPS; map++)
			maps[map] = -1;
		maps[MAP_DETECT] = i & 1 ? 9 : -1;
		maps[MAP_SLOTS] = i & 2 ? 10 : -1;
		has = (struct detect){ .cells = 64, .looks_up = i & 4 ? 1 : 0 };
		fails = i & 8 ? "lookup" : NULL;
		if (programs_open(NULL, &skel))
			abort();
		name = bpf_program__name(programs_judge(skel, maps));
		printf("%s%s%s%s: %s\n", i & 1 ? "a detector" : "none", i & 2 ? ", slots" : "",
		       i & 4 ? ", looks up" : "", i & 8 ? ", cannot be read" : "", name);
		put_programs(skel->obj);
		xdp_bloom_bpf__destroy(skel);
	}
}

static void trials(void)
{
	struct xdp_bloom_bpf *skel;

	for (int both = 0; both < 2; both++) {
		if (programs_open(NULL, &skel))
			abort();
		programs_add(skel->progs.xdp_bloom_trial, skel->maps.trial, both ? skel->maps.before : NULL);
		printf("%s, %s, %s\n", bpf_program__autoload(skel->progs.xdp_bloom_trial) ? "loaded" : "not loaded",
		       bpf_map__autocreate(skel->maps.trial) ? "made" : "not made",
		       bpf_map__autocreate(skel->maps.before) ? "made" : "not made");
		xdp_bloom_bpf__destroy(skel);
	}
}

/* Functions that verifiers look at by themselves. */
static void put_apart(const char *what, struct bpf_object *object)
{
	const struct btf *btf = bpf_object__btf(object);

	printf("%s:", what);
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_is_func(type) && btf_vlen(type) == BTF_FUNC_GLOBAL && strncmp(name, "xdp_bloom_", 10) != 0)
			printf(" %s", name);
	}
	putchar('\n');
}

static void apart(void)
{
	static const char *const words[] = { "neither", "scopes", "inner", "both" };
	struct xdp_bloom_bpf *skel;

	for (unsigned int i = 0; i < 6; i++) {
		struct generation g = { .scoped = i & 1, .inner = i & 2 ? 1 : 0 };

		if (programs_open(NULL, &skel))
			abort();
		if (!i)
			put_apart("as it is", skel->obj);
		if (i < 5)
			programs_constants(skel->obj, i < 4 ? &g : NULL, NULL);
		else
			programs_not_apart(skel->obj);
		put_apart(i < 4 ? words[i] : i < 5 ? "no generation" : "none apart", skel->obj);
		programs_constants(NULL, NULL, NULL);
		xdp_bloom_bpf__destroy(skel);
	}
}

static void loads(void)
{
	for (unsigned int match = 0; match < MATCH_KINDS; match++) {
		struct generation g = { .number = 40 + match, .frags = match & 1 };
		struct bpf_object *object;
		int maps[MAPS], err;

		for (unsigned int map = 0; map < MAPS; map++)
			maps[map] = -1;
		maps[0] = 20;
		maps[MAP_DETECT] = match & 2 ? 9 : -1;
		has.cells = 64;
		fails = NULL;
		if (programs_open_match(NULL, match, &object))
			abort();
		fails = match == 4 ? "lookup" : match == 7 ? "load" : NULL;
		err = programs_load_match(object, match, &g, maps);
		printf("match %u: %s\n", match, err ? errno_text(err) : "done");
		CHECK(!loading && !loading_maps && !loading_detect.cells && !loading_coming, "something is left");
		fails = NULL;
		err = programs_load_match(object, match, match == 5 ? &g : NULL, match == 5 ? NULL : maps);
		printf("%s: %s\n", match == 5 ? "without maps" : "without a generation",
		       err ? errno_text(err) : "done");
		bpf_object__close(object);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "handlers", registers },   { "sources", sources },	     { "other matches", matches },
		{ "who judges", judges },    { "what is on trial", trials }, { "functions apart", apart },
		{ "what is loaded", loads },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
