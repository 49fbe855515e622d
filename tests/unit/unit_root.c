// SPDX-License-Identifier: GPL-2.0-only
/*
 * The roots: what is loaded and pinned where some of it was lost, what goes into a new slot first, and what is said
 * where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include "kernel/attach.h"
#include "kernel/match.h"
#include "kernel/programs.h"
#include "kernel/root.h"
#include "xdp_bloom.skel.h"

static const struct shown known[] = {
#include "unit_root.txt"
};

static struct shows shows = { .file = "tests/unit/unit_root.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own_context = { .bpffs = "P" };

/* What the kernel refuses: programs that take packets in several buffers, all, or without a link's header. */
static bool no_frags, no_bare, no_names, no_jit;
static struct made_map *not_used; /* by the root */

static struct bpf_program programs[6];
static struct bpf_map object_maps[2];
static struct bpf_object the_object;
static struct xdp_bloom_bpf skeleton;

static void object_new(void)
{
	static const char *const names[] = { "xdp_bloom_root", "xdp_bloom_frags",      "xdp_bloom_bare",
					     "xdp_bloom_gen",  "xdp_bloom_trial_root", "xdp_bloom_bare_trial" };

	for (size_t i = 0; i < 6; i++)
		programs[i] = (struct bpf_program){ .name = names[i], .loads = true };
	object_maps[0] = (struct bpf_map){ .name = "slot", .type = BPF_MAP_TYPE_PROG_ARRAY, .value_size = 4 };
	object_maps[1] = (struct bpf_map){ .name = "trial", .value_size = 16, .reused = true, .fd = -1 };
	the_object = (struct bpf_object){ programs, 6, object_maps, 2 };
	if (made_pin_at("P/slot") < made_pins_n) {
		object_maps[0].reused = true;
		object_maps[0].fd = made_get("P/slot");
	}
	objects_open++;
}

static int given_programs(const struct context *context, struct xdp_bloom_bpf **skel)
{
	*skel = NULL;
	if (fails("programs_open"))
		return -errno;
	does("open the object%s", context ? "" : ", without pins");
	object_new();
	skeleton = (struct xdp_bloom_bpf){ .obj = &the_object,
					   .maps = { .slot = &object_maps[0], .trial = &object_maps[1] },
					   .progs = { .xdp_bloom_root = &programs[0],
						      .xdp_bloom_frags = &programs[1],
						      .xdp_bloom_bare = &programs[2],
						      .xdp_bloom_gen = &programs[3] } };
	*skel = &skeleton;
	return 0;
}

static int given_open_match(const struct context *context, unsigned int match, struct bpf_object **to)
{
	(void)context;
	*to = NULL;
	if (fails("programs_open_match"))
		return -errno;
	does("open the object of match %u", match);
	object_new();
	*to = &the_object;
	return 0;
}

static struct bpf_program *given_next_program(const struct bpf_object *of, struct bpf_program *last)
{
	size_t next = last ? (size_t)(last - of->programs) + 1 : 0;

	return next < of->n_programs ? &of->programs[next] : NULL;
}

static int given_programs_load(struct bpf_object *of, const struct generation *g, const int *maps)
{
	for (unsigned int i = 0; i < MAPS; i++)
		if (maps[i] != -1)
			printf(" map %u is one\n", i);
	if ((no_frags && g->frags) || (no_bare && programs[2].loads)) {
		does("refused, frags %llu", g->frags);
		return -EINVAL;
	}
	return made_load(of, g->frags ? " with frags" : "");
}

static void given_closing(struct bpf_object *of)
{
	if (object_maps[0].reused)
		given_close(object_maps[0].fd);
	given_object_close(of);
}

static void given_destroy(struct xdp_bloom_bpf *skel)
{
	given_closing(skel->obj);
}

static int given_autocreate(struct bpf_map *map, bool made)
{
	map->reused = !made;
	return 0;
}

static int given_program_pin(struct bpf_program *program, const char *path)
{
	return given_obj_pin(program->fd, path);
}

static int given_pinned(int fd, struct pinned *is)
{
	int err = given_info(fd, is);

	if (err)
		return err;
	if (no_names)
		is->name[0] = '\0';
	is->jitted = !no_jit;
	is->id = (__u32)(made_of(fd) - made_maps) + 1;
	is->n_maps = 0;
	/* It uses the slot. */
	for (size_t i = 0; i < made_n && is->kind == PINNED_PROGRAM; i++)
		if (!strcmp(made_maps[i].name, "slot") && &made_maps[i] != not_used)
			is->maps[is->n_maps++] = (__u32)i + 1;
	return 0;
}

static int given_pin_root(const struct context *context, bool *frags)
{
	int fd;

	(void)context;
	*frags = false;
	if (fails("pin_root"))
		return -errno;
	fd = made_get("P/root");
	*frags = fd >= 0 && !strcmp(made_of(fd)->name, "xdp_bloom_frags");
	return fd;
}

static int given_pin_root_of(const struct context *context, unsigned int match, bool bare)
{
	char path[PIN_PATH_MAX];

	if (fails("pin_root_of"))
		return -errno;
	pin_path(context, path, bare ? match_pins[match].bare : match_pins[match].root);
	return made_get(path);
}

static int given_ready(const struct context *context)
{
	(void)context;
	does("match_ready");
	return fails("match_ready") ? -errno : 0;
}

static int given_fill(const struct context *context, unsigned int match, int slot)
{
	(void)context;
	does("fill %s of match %u", made_text(slot), match);
	return fails("match_fill") ? -errno : 0;
}

static int given_new_root(const struct context *context, unsigned int match, int root)
{
	(void)context;
	does("links of match %u to %s", match, made_text(root));
	return fails("attach_new_root") ? -errno : 0;
}

static int given_pins_ready(const struct context *context, bool make)
{
	(void)context;
	does("pins are ready%s", make ? ", or made" : "");
	return fails("pins_ready") ? -errno : 0;
}

static int given_because(int err, const char *what)
{
	return because(err, "%s: it is refused (%s)", what, errno_text(err));
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	printf("%u", *(const __u32 *)key);
}

static void put_value(const struct made_map *map, const void *value)
{
	if (map->value_size == 4)
		fputs(made_text(*(const int *)value), stdout);
	else
		printf("until %llu", ((const struct trial *)value)->until);
}

#define bpf_map_lookup_elem		 given_lookup
#define bpf_map_update_elem		 given_update
#define bpf_obj_get			 given_obj_get
#define bpf_obj_pin			 given_obj_pin
#define bpf_map__fd			 given_map_fd
#define bpf_map__set_autocreate		 given_autocreate
#define bpf_program__fd			 given_program_fd
#define bpf_program__pin		 given_program_pin
#define bpf_program__set_autoload	 given_autoload
#define bpf_object__next_program	 given_next_program
#define bpf_object__find_program_by_name given_program_called
#define bpf_object__find_map_by_name	 given_map_called
#define bpf_object__find_map_fd_by_name	 given_map_fd_called
#define bpf_object__close		 given_closing
#define xdp_bloom_bpf__destroy		 given_destroy
#define programs_open			 given_programs
#define programs_open_match		 given_open_match
#define programs_load			 given_programs_load
#define pinned_info			 given_pinned
#define pin_root			 given_pin_root
#define pin_root_of			 given_pin_root_of
#define pin_shared_map			 given_shared_map
#define pin_directory			 given_directory
#define pin_next			 given_next
#define pins_ready			 given_pins_ready
#define match_ready			 given_ready
#define match_fill			 given_fill
#define attach_new_root			 given_new_root
#define access				 given_access
#define unlink				 given_unlink
#define close				 given_close
#define dup				 given_dup
#define because_program			 given_because
#define note				 given_warn
static libbpf_print_fn_t libbpf_says;

static void given_set_print(libbpf_print_fn_t fn)
{
	libbpf_says = fn;
}

#define libbpf_set_print given_set_print
#define fputs(text, to)	 ((to) == stderr ? printf("%s", text) : -1)

#include "kernel/root.c"

#undef fputs

#undef close
#undef dup
#undef access
#undef unlink

static struct committed given_committed;

static void begin(void)
{
	made_pins_begin();
	no_frags = no_bare = no_names = no_jit = false;
	not_used = NULL;
	given_committed = (struct committed){ .number = 5 };
}

static void generations(void)
{
	made_pin_old("P/generation/3/program", "program of 3", 0);
	made_pin_old("P/generation/5/program", "program of 5", 0);
	made_pin_old("P/generation/4/program", "program of 4", 0);
	made_pin_old("P/generation/4/term", "term", 0);
}

static void all_there(void)
{
	made_pin_old("P/root", "xdp_bloom_frags", 0);
	made_pin_old("P/slot", "slot", BPF_MAP_TYPE_PROG_ARRAY);
}

static void slot_lost(void)
{
	struct made_map *slot = made_new("slot", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);

	slot->old = true;
	made_pin_old("P/root", "xdp_bloom_frags", 0);
	generations();
	made_pin("P/generation/5/slot", slot);
	made_pin_old("P/generation/4/slot", "another slot", BPF_MAP_TYPE_PROG_ARRAY);
}

static void slot_of_another(void)
{
	slot_lost();
	not_used = &made_maps[0];
}

static void slot_lost_with_all(void)
{
	made_pin_old("P/root", "xdp_bloom_frags", 0);
}

static void slot_no_map(void)
{
	slot_lost();
	made_maps[0].program = true;
}

static void refused_frags(void)
{
	no_frags = true;
}

static void nameless(void)
{
	no_names = true;
}

static void without_jit(void)
{
	no_jit = true;
	no_frags = true;
}

static void refused_bare(void)
{
	no_bare = true;
}

static void root_again(void)
{
	generations();
}

static void root_again_slot_full(void)
{
	__u32 key = 0, id = 9;

	generations();
	made_put(made_pin_old("P/slot", "slot", BPF_MAP_TYPE_PROG_ARRAY), &key, &id);
}

static void root_again_on_trial(void)
{
	generations();
	made_pin_old("P/generation/5/trial", "trial of 5", 0);
	given_committed.on_trial = true;
}

/* It has lost its clock: the one before that is there for good. */
static void root_again_without_clock(void)
{
	generations();
	given_committed.on_trial = true;
}

static void root_again_none(void)
{
	generations();
	given_committed.number = 9;
}

static int base(void)
{
	int err = kernel_base(&own_context, given_committed);

	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
	return err;
}

static int ends_with(int fd)
{
	if (fd >= 0) {
		does("it is %s", made_text(fd));
		given_close(fd);
	}
	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
	return fd < 0 ? fd : 0;
}

static int of_to(void)
{
	return ends_with(root_of(&own_context, MATCH_DESTINATION, false));
}

static int of_bare(void)
{
	return ends_with(root_of(&own_context, MATCH_SOURCE, true));
}

static int of_tc(void)
{
	return ends_with(root_of(&own_context, MATCH_COMING(MATCH_SOURCE), false));
}

static int trial_plain(void)
{
	return ends_with(root_on_trial(&own_context, 42, MATCH_SOURCE, false));
}

static int trial_to(void)
{
	return ends_with(root_on_trial(&own_context, 42, MATCH_DESTINATION, false));
}

static int trial_bare_to(void)
{
	return ends_with(root_on_trial(&own_context, 42, MATCH_DESTINATION, true));
}

static void plain_root(void)
{
	made_pin_old("P/root", "xdp_bloom_root", 0);
	made_pin_old("P/slot", "slot", BPF_MAP_TYPE_PROG_ARRAY);
}

static void to_is_there(void)
{
	all_there();
	made_pin_old("P/root_to", "root of to", 0);
}

static int tries(bool bare)
{
	struct root_tried tried = { 0 };
	int err = root_loads(bare, &tried);

	if (!fail_at)
		printf(" frags %d, jitted %d\n", tried.frags, tried.jitted);
	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
	return err;
}

static int tries_plain(void)
{
	return tries(false);
}

static int tries_bare(void)
{
	return tries(true);
}

static int asks_frags(void)
{
	return kernel_frags(&own_context);
}

static int readies(void)
{
	return kernel_ready(&own_context) ?: kernel_ready_to_look(&own_context);
}

static int hides(void)
{
	static const char *const texts[] = { "",
					     "r1 = 12345",
					     "r1 = 123456 r2=0xdeadbeef",
					     "abcde abcdef",
					     "12345g123456g1",
					     "ABCDEF0",
					     "size 1 of 99999",
					     "100000" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", texts[i]);
		hide_long_numbers(text);
		printf(" '%s': '%s'\n", texts[i], text);
	}
	return 0;
}

static void say(enum libbpf_print_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	libbpf_says(level, format, args);
	va_end(args);
}

static int listens(void)
{
	libbpf_says = NULL;
	if (kernel_ready_to_look(&own_context) || !libbpf_says)
		return -EIO;
	for (int verbose = 0; verbose < 2; verbose++) {
		log_settings.verbose = verbose;
		printf(" %s\n", verbose ? "verbose" : "as it is");
		say(LIBBPF_WARN, " it warns of %d and of r%d = %#llx\n", 12345, 1, 0x123456789abcULL);
		say(LIBBPF_INFO, " it mentions %u\n", 123456);
		say(LIBBPF_DEBUG, " it babbles\n");
	}
	log_settings.verbose = false;
	return 0;
}

static const struct scenario all[] = {
	{ "all is there", all_there, base, EACH_FAILS },
	{ "nothing is there", NULL, base, BY_EACH_ERRNO },
	{ "the slot is lost", slot_lost, base, EACH_FAILS },
	{ "the slot is lost, and another's is there", slot_of_another, base, ONCE },
	{ "the slot is lost, and there is none", slot_lost_with_all, base, ONCE },
	{ "the slot is lost, and no map is there", slot_no_map, base, ONCE },
	{ "frags are refused", refused_frags, base, ONCE },
	{ "the root has no name", nameless, base, ONCE },
	{ "the root is lost", root_again, base, EACH_FAILS },
	{ "the root is lost, and the slot is full", root_again_slot_full, base, ONCE },
	{ "the root is lost on trial", root_again_on_trial, base, EACH_FAILS },
	{ "the root is lost on trial, without its clock", root_again_without_clock, base, ONCE },
	{ "the root is lost with the generation", root_again_none, base, ONCE },
	{ "the root of another match", all_there, of_to, EACH_FAILS },
	{ "the root of another match is there", to_is_there, of_to, ONCE },
	{ "the root of another match, without frags", plain_root, of_to, ONCE },
	{ "the bare root", all_there, of_bare, EACH_FAILS },
	{ "the root by tc", all_there, of_tc, ONCE },
	{ "on trial", all_there, trial_plain, EACH_FAILS },
	{ "on trial, bare and of another match", all_there, trial_bare_to, EACH_FAILS },
	{ "on trial, the root of another match is there", to_is_there, trial_to, ONCE },
	{ "try", NULL, tries_plain, EACH_FAILS },
	{ "try, frags are refused", without_jit, tries_plain, ONCE },
	{ "try the bare one", NULL, tries_bare, ONCE },
	{ "try the bare one, which is refused", refused_bare, tries_bare, ONCE },
	{ "frags?", all_there, asks_frags, EACH_FAILS },
	{ "frags? of a plain root", plain_root, asks_frags, ONCE },
	{ "ready", NULL, readies, EACH_FAILS },
	{ "long numbers", NULL, hides, ONCE },
	{ "what libbpf says", NULL, listens, ONCE },
};

static const int errnos[] = { EIO, EINVAL, EBADF };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "roots", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
