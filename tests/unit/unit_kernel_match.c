// SPDX-License-Identifier: GPL-2.0-only
/*
 * What interfaces need that ask about more than sources: which programs are loaded, pinned and put into which slot, in
 * which order, and what is said where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include "kernel/attach.h"
#include "kernel/generation.h"
#include "kernel/match.h"
#include "kernel/programs.h"
#include "kernel/root.h"

static const struct shown known_texts[] = {
#include "unit_kernel_match.txt"
};

static struct shows shows = { .file = "tests/unit/unit_kernel_match.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static const struct context own_context = { .bpffs = "P" };

static int live_err;
static __u64 live_number, live_on_trial;
static struct made_map *live_array;

static int given_live_open(struct live *live, const struct context *context)
{
	*live = (struct live){ .context = context, .number = live_number, .on_trial = live_on_trial };
	live->g.number = live_number;
	live->err = fails("live_open") ? -errno : live_err;
	return live->err;
}

static void given_live_close(struct live *live)
{
	(void)live;
	does("live is closed");
}

static int given_live_maps(const struct live *live, int maps[MAPS])
{
	(void)live;
	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = -1;
	if (fails("live_maps"))
		return -errno;
	maps[0] = made_fd(live_array);
	maps[MAPS - 1] = made_fd(live_array);
	return 0;
}

static struct bpf_program programs[2];
static struct bpf_map object_maps[2];
static struct bpf_object object_of;

static int given_open_match(const struct context *context, unsigned int match, struct bpf_object **object)
{
	(void)context;
	*object = NULL;
	if (fails("programs_open_match"))
		return -errno;
	does("open the object of match %u", match);
	programs[0] = (struct bpf_program){ .name = "xdp_bloom_gen" };
	programs[1] = (struct bpf_program){ .name = "xdp_bloom_trial" };
	object_maps[0] = (struct bpf_map){ .name = "trial", .value_size = 8 };
	object_maps[1] = (struct bpf_map){ .name = "before", .type = BPF_MAP_TYPE_PROG_ARRAY, .value_size = 4 };
	object_of = (struct bpf_object){ programs, 2, object_maps, 2 };
	objects_open++;
	*object = &object_of;
	return 0;
}

static void given_add(struct bpf_program *program, struct bpf_map *trial, struct bpf_map *before)
{
	does("add %s with %s and %s", program->name, trial->name, before->name);
	program->loads = true;
}

static int given_load_match(struct bpf_object *object, unsigned int match, const struct generation *g, const int *maps)
{
	char how[64];

	snprintf(how, sizeof(how), " match %u of %llu by %s", match, g->number, made_text(maps[0]));
	return made_load(object, how);
}

static int given_root_of(const struct context *context, unsigned int match, bool bare)
{
	(void)context;
	if (fails("root_of"))
		return -errno;
	does("the root of %u%s", match, bare ? ", bare" : "");
	return made_fd(live_array);
}

static int given_because(int err, const char *what)
{
	return because(err, "%s: it is refused (%s)", what, errno_text(err));
}

static int given_new_root(const struct context *context, unsigned int match, int root)
{
	(void)context;
	if (fails("attach_new_root"))
		return -errno;
	does("links of match %u to %s", match, made_text(root));
	return 0;
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	printf("%u", *(const __u32 *)key);
}

static void put_value(const struct made_map *map, const void *value)
{
	(void)map;
	fputs(made_text(*(const int *)value), stdout);
}

#define pin_directory			 given_directory
#define pin_next			 given_next
#define pin_shared_map			 given_shared_map
#define pin_get				 given_pin_get
#define access				 given_access
#define unlink				 given_unlink
#define close				 given_close
#define dup				 given_dup
#define bpf_obj_get			 given_obj_get
#define bpf_obj_pin			 given_obj_pin
#define bpf_map_update_elem		 given_update
#define bpf_map_lookup_elem		 given_lookup
#define bpf_object__find_program_by_name given_program_called
#define bpf_object__find_map_by_name	 given_map_called
#define bpf_object__find_map_fd_by_name	 given_map_fd_called
#define bpf_object__close		 given_object_close
#define bpf_program__set_autoload	 given_autoload
#define bpf_program__fd			 given_program_fd
#define bpf_map__reuse_fd		 given_reuse
#define programs_open_match		 given_open_match
#define programs_load_match		 given_load_match
#define programs_add			 given_add
#define live_open			 given_live_open
#define live_close			 given_live_close
#define live_maps			 given_live_maps
#define root_of				 given_root_of
#define attach_new_root			 given_new_root

#define because_program given_because

#include "kernel/match.c"

#undef close
#undef dup
#undef unlink
#undef access

static struct candidate candidate;

static void begin(void)
{
	made_pins_begin();
	live_err = 0;
	live_number = 3;
	live_on_trial = 0;
	live_array = made_new("array", BPF_MAP_TYPE_ARRAY, 4, 4, 1);
	candidate = (struct candidate){ .g.number = 7, .term = -1 };
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		candidate.match[m] = (struct match_programs){ -1, -1, -1 };
}

static void put_pins(void)
{
	for (size_t i = 0; i < made_pins_n && !fail_at; i++)
		if (strncmp(made_pins[i].path, "P/links", 7) != 0)
			printf(" %s is %s%s\n", made_pins[i].path, made_pins[i].is->old ? "old " : "",
			       made_pins[i].is->name);
}

static void link_at(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "P/links/%s", name);
	made_pin_old(path, "link", 0);
}

static void slot_of(unsigned int match)
{
	char path[PIN_PATH_MAX];

	pin_path(&own_context, path, match_pins[match].slot);
	made_pin_old(path, match_pins[match].slot, BPF_MAP_TYPE_PROG_ARRAY);
}

static void none_in_use(void)
{
	link_at("eth0");
	link_at("eth1%ip");
}

/* Destinations of what comes, by both kinds of root; both, of what leaves, and the last kind, bare. */
static void some_in_use(void)
{
	none_in_use();
	link_at("eth0" ATTACH_TO);
	link_at("eth1" ATTACH_TO ATTACH_BARE);
	link_at("eth2" ATTACH_OUT_BOTH);
	link_at("x%link12");
	link_at("x%link");
	link_at("wg0" ATTACH_IN_BOTH ATTACH_BARE);
	slot_of(MATCH_DESTINATION);
	slot_of(MATCH_LEAVING(MATCH_BOTH));
	slot_of(MATCH_COMING(MATCH_BOTH));
}

static void on_trial(void)
{
	some_in_use();
	candidate.term = made_fd(made_pin_old("P/term", "term", BPF_MAP_TYPE_ARRAY));
	candidate.trial = (struct trial){ .until = 5, .before = 2 };
	made_pin_old("P/generation/2/program_to", "program of 2", 0);
	made_pin_old("P/generation/2/program_in_both", "last of 2", 0);
}

static void on_trial_alone(void)
{
	on_trial();
	candidate.trial.before = 0;
	/* There is no generation of that number; were there one, it would not come back. */
	made_pin_old("P/generation/0/program_to", "program of 0", 0);
}

static void links_are_gone(void)
{
	begin();
}

static int uses(void)
{
	unsigned int is = match_uses(&own_context);

	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		for (int bare = 0; bare < 2; bare++)
			if (is & MATCH_BIT(m, bare))
				printf(" %u%s\n", m, bare ? ", bare" : "");
	return (int)is;
}

static int known_now(void)
{
	return match_known(&own_context);
}

#define ROOT_AT(name, path)                         \
	static void name(void)                      \
	{                                           \
		made_pin_old("P/" path, "root", 0); \
	}

ROOT_AT(plain_root, "root")
ROOT_AT(plain_bare, "root_bare")
ROOT_AT(second_root, "root_to")
ROOT_AT(second_bare, "root_bare_to")

static void last_root(void)
{
	char path[PIN_PATH_MAX];

	pin_path(&own_context, path, match_pins[MATCH_KINDS - 1].root);
	made_pin_old(path, "root", 0);
}

static void last_bare(void)
{
	char path[PIN_PATH_MAX];

	pin_path(&own_context, path, match_pins[MATCH_KINDS - 1].bare);
	made_pin_old(path, "root", 0);
}

static int ready(void)
{
	return match_ready(&own_context);
}

static void put_candidate(void)
{
	for (unsigned int m = 0; m < MATCH_KINDS && !fail_at; m++)
		if (candidate.match[m].program >= 0 || candidate.match[m].on_trial >= 0 ||
		    candidate.match[m].before >= 0)
			printf(" candidate, %u: %s, %s, %s\n", m, made_text(candidate.match[m].program),
			       made_text(candidate.match[m].on_trial), made_text(candidate.match[m].before));
}

static void release(void)
{
	match_release(&candidate);
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		if (candidate.match[m].program != -1 || candidate.match[m].on_trial != -1 ||
		    candidate.match[m].before != -1)
			printf(" not released: %u\n", m);
	if (candidate.term >= 0)
		given_close(candidate.term);
	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
}

static int loaded(void)
{
	int maps[MAPS], err;

	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = -1;
	maps[0] = made_fd(live_array);
	err = match_load(&own_context, &candidate, maps);
	put_candidate();
	release();
	given_close(maps[0]);
	return err;
}

/* All of it: loaded, pinned and put into force. */
static int into_force(void)
{
	int maps[MAPS], err;

	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = -1;
	maps[0] = made_fd(live_array);
	err = match_load(&own_context, &candidate, maps) ?:
	      match_pin(&own_context, &candidate) ?:
	      match_switch(&own_context, &candidate);
	put_pins();
	release();
	given_close(maps[0]);
	return err;
}

static void left_over(void)
{
	some_in_use();
	made_pin_old("P/generation/7/program_to", "left", 0);
	made_pin_old("P/generation/7/slot_to", "left", 0);
}

static void slot_is_lost(void)
{
	some_in_use();
	made_pins_n--;
}

static int kept(void)
{
	int err = match_keep(&own_context, 2);

	release();
	return err;
}

static int fill(void)
{
	struct made_map *slot = made_new("slot_to", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	int fd = made_fd(slot), err = match_fill(&own_context, MATCH_DESTINATION, fd);

	put_pins();
	given_close(fd);
	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
	return err;
}

static int fill_full(void)
{
	struct made_map *slot = made_new("slot_to", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	int fd = made_fd(slot), err;
	__u32 key = 0, id = 9;

	made_put(slot, &key, &id);
	err = match_fill(&own_context, MATCH_DESTINATION, fd);
	given_close(fd);
	return err;
}

static void none_loaded(void)
{
	live_err = -ENOENT;
}

static void other_version(void)
{
	live_err = -EPROTO;
}

static void unreadable(void)
{
	live_err = -EIO;
}

static void is_pinned(void)
{
	made_pin_old("P/generation/3/program_to", "pinned", 0);
	made_pin_old("P/generation/3/trial_to", "pinned trial", 0);
}

static void trial_is_pinned(void)
{
	is_pinned();
	live_on_trial = 3;
}

/* What was on trial is over: what is in force is the one before. */
static void trial_is_over(void)
{
	is_pinned();
	live_on_trial = 4;
}

static void trial_without(void)
{
	live_on_trial = 3;
}

static void another_trial_without(void)
{
	live_on_trial = 4;
}

static int swept(void)
{
	size_t before = made_pins_n;

	match_sweep(&own_context);
	put_pins();
	if (fail_at)
		printf(" %zu have gone\n", before - made_pins_n);
	return 0;
}

static void some_to_sweep(void)
{
	some_in_use();
	made_pin_old("P/root", "root", 0);
	made_pin_old("P/root_bare", "root", 0);
	made_pin_old("P/slot", "slot", 0);
	made_pin_old("P/root_to", "root", 0);
	made_pin_old("P/root_both", "root", 0);
	made_pin_old("P/root_bare_both", "root", 0);
	made_pin_old("P/slot_both", "slot", 0);
	last_root();
	made_pin_old("P/root_in", "root", 0);
}

static void last_to_sweep(void)
{
	none_in_use();
	made_pin_old("P/root", "root", 0);
	last_bare();
}

static void none_to_sweep(void)
{
	some_in_use();
	made_pin_old("P/root", "root", 0);
}

static void sweep_without_root(void)
{
	none_in_use();
	last_root();
}

static const struct scenario all[] = {
	{ "uses nothing", links_are_gone, uses, ONCE },
	{ "uses none of it", none_in_use, uses, EACH_FAILS },
	{ "uses some", some_in_use, uses, ONCE },
	{ "known, nothing", NULL, known_now, ONCE },
	{ "known, the plain root", plain_root, known_now, ONCE },
	{ "known, the plain bare root", plain_bare, known_now, ONCE },
	{ "known, the second root", second_root, known_now, ONCE },
	{ "known, the second bare root", second_bare, known_now, ONCE },
	{ "known, the last root", last_root, known_now, ONCE },
	{ "known, the last bare root", last_bare, known_now, ONCE },
	{ "ready, none of it", none_in_use, ready, ONCE },
	{ "ready, some", some_in_use, ready, BY_EACH_ERRNO },
	{ "load none", none_in_use, loaded, EACH_FAILS },
	{ "load some", some_in_use, loaded, BY_EACH_ERRNO },
	{ "load some on trial", on_trial, loaded, EACH_FAILS },
	{ "load some on trial, nothing before", on_trial_alone, loaded, ONCE },
	{ "into force", some_in_use, into_force, EACH_FAILS },
	{ "into force, none", none_in_use, into_force, ONCE },
	{ "into force on trial", on_trial, into_force, EACH_FAILS },
	{ "into force, pins are left over", left_over, into_force, ONCE },
	{ "into force, a slot is lost", slot_is_lost, into_force, ONCE },
	{ "keep none", none_in_use, kept, ONCE },
	{ "keep", on_trial, kept, BY_EACH_ERRNO },
	{ "fill", NULL, fill, BY_EACH_ERRNO },
	{ "fill what is full", NULL, fill_full, ONCE },
	{ "fill, nothing is loaded", none_loaded, fill, ONCE },
	{ "fill, of another version", other_version, fill, ONCE },
	{ "fill, what is in force cannot be read", unreadable, fill, ONCE },
	{ "fill, the program is pinned", is_pinned, fill, EACH_FAILS },
	{ "fill, it is on trial", trial_is_pinned, fill, ONCE },
	{ "fill, its trial is over", trial_is_over, fill, ONCE },
	{ "fill, it is on trial without such a program", trial_without, fill, EACH_FAILS },
	{ "fill, another is on trial", another_trial_without, fill, ONCE },
	{ "sweep", some_to_sweep, swept, BY_EACH_ERRNO },
	{ "sweep the last", last_to_sweep, swept, ONCE },
	{ "sweep nothing", none_to_sweep, swept, ONCE },
	{ "sweep, the root is lost", sweep_without_root, swept, ONCE },
};

static const int errnos[] = { EIO, ENOENT, EPERM };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "programs of each match", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
