// SPDX-License-Identifier: GPL-2.0-only
/*
 * A generation: which maps are made and how large, what is loaded and pinned, what goes into the slot and what goes
 * away, in which order, and what is said where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include <sys/stat.h>

#include "kernel/detect_maps.h"
#include "kernel/generation.h"
#include "kernel/map_window.h"
#include "kernel/match.h"
#include "kernel/programs.h"
#include "kernel/root.h"
#include "xdp_bloom.skel.h"

static const struct shown known[] = {
#include "unit_generation.txt"
};

static struct shows shows = { .file = "tests/unit/unit_generation.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own_context = { .bpffs = "P" };

static struct live in_force;
static struct made_map *live_map_of[MAPS];
static unsigned int overtaken, switch_fails, keep_fails;
static bool has_frags, no_window;
static size_t batch_most;

static int given_live_open(struct live *to, const struct context *context)
{
	*to = in_force;
	to->context = context;
	return to->err = fails("live_open") ? -errno : in_force.err;
}

static int given_live_maps(const struct live *of, int maps[MAPS])
{
	int err = of->err ?: fails("live_maps") ? -errno : 0;

	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = !err && live_map_of[i] ? made_fd(live_map_of[i]) : -1;
	return err;
}

static bool given_overtaken(struct live *of)
{
	if (!overtaken)
		return false;
	overtaken--;
	does("overtaken");
	in_force.err = of->err = 0;
	return true;
}

static void given_live_close(struct live *of)
{
	(void)of;
	does("live is closed");
}

static int given_look(struct live *of)
{
	does("look again");
	of->number = of->on_trial;
	of->on_trial = 0;
	of->others = true;
	return 0;
}

static int given_frags(const struct context *context)
{
	(void)context;
	return fails("kernel_frags") ? -errno : has_frags;
}

static struct bpf_program programs[7];
static struct bpf_map object_maps[2];
static struct bpf_object object;
static struct xdp_bloom_bpf skeleton;

static int given_programs(const struct context *context, struct xdp_bloom_bpf **skel)
{
	static const char *const names[] = { "gen", "slots", "trial", "trial_slots", "ask", "root", "frags" };

	(void)context;
	*skel = NULL;
	if (fails("programs_open"))
		return -errno;
	for (size_t i = 0; i < 7; i++)
		programs[i] = (struct bpf_program){ .name = names[i], .loads = i > 3 };
	object_maps[0] =
		(struct bpf_map){ .name = "term", .value_size = sizeof(struct trial), .reused = true, .fd = -1 };
	object_maps[1] = (struct bpf_map){
		.name = "before", .type = BPF_MAP_TYPE_PROG_ARRAY, .value_size = 4, .reused = true, .fd = -1
	};
	object = (struct bpf_object){ programs, 7, object_maps, 2 };
	skeleton = (struct xdp_bloom_bpf){ .obj = &object,
					   .maps = { .trial = &object_maps[0], .before = &object_maps[1] },
					   .progs = { .xdp_bloom_gen = &programs[0],
						      .xdp_bloom_slots = &programs[1],
						      .xdp_bloom_trial = &programs[2],
						      .xdp_bloom_trial_slots = &programs[3],
						      .xdp_bloom_ask = &programs[4],
						      .xdp_bloom_root = &programs[5],
						      .xdp_bloom_frags = &programs[6] } };
	objects_open++;
	*skel = &skeleton;
	return 0;
}

static struct bpf_program *given_judge(struct xdp_bloom_bpf *skel, const int *maps)
{
	struct bpf_program *judge = maps[MAP_SLOTS] >= 0 ? skel->progs.xdp_bloom_slots : skel->progs.xdp_bloom_gen;

	judge->loads = true;
	return judge;
}

static void given_add(struct bpf_program *program, struct bpf_map *trial, struct bpf_map *before)
{
	program->loads = true;
	trial->reused = before->reused = false;
}

static int given_programs_load(struct bpf_object *of, const struct generation *g, const int *maps)
{
	if (!fail_at && !quiet)
		printf(" with %llu, frags %llu, by", g->number, g->frags);
	for (unsigned int i = 0; i < MAPS && !fail_at && !quiet; i++)
		printf(" %s", made_text(maps[i]));
	if (!fail_at && !quiet)
		putchar('\n');
	return made_load(of, "");
}

static void given_destroy(struct xdp_bloom_bpf *skel)
{
	given_object_close(skel->obj);
}

static int given_because(int err, const char *what)
{
	return because(err, "%s: it is refused (%s)", what, errno_text(err));
}

static int given_match_load(const struct context *context, struct candidate *c, const int *maps)
{
	(void)context;
	if (fails("match_load"))
		return -errno;
	does("match_load of %llu, by %s", c->g.number, made_text(maps[ARRAY_FILTER]));
	return 0;
}

static int given_match_pin(const struct context *context, const struct candidate *c)
{
	(void)context;
	if (fails("match_pin"))
		return -errno;
	does("match_pin of %llu", c->g.number);
	return 0;
}

static int given_match_switch(const struct context *context, const struct candidate *c)
{
	(void)context;
	if (fails("match_switch") || (switch_fails && switch_fails--)) {
		does("match_switch fails");
		return -ENOMEM;
	}
	does("match_switch of %llu", c->g.number);
	return 0;
}

static int given_match_keep(const struct context *context, __u64 number)
{
	(void)context;
	if (fails("match_keep") || (keep_fails && keep_fails--)) {
		does("match_keep fails");
		return -ENOMEM;
	}
	does("match_keep of %llu", number);
	return 0;
}

static void given_match_sweep(const struct context *context)
{
	(void)context;
	does("match_sweep");
}

static void given_match_release(struct candidate *c)
{
	(void)c;
	does("match_release");
}

static int given_mkdir(const char *path, mode_t mode)
{
	if (fails("mkdir"))
		return -1;
	does("make %s, mode %o", path, mode);
	return 0;
}

/* All that lies there; the listing begins anew. */
static void given_remove(const char *path)
{
	size_t n = strlen(path), at = 0;

	does("remove all of %s", path);
	while (at < made_pins_n) {
		if (strncmp(made_pins[at].path, path, n) != 0 || made_pins[at].path[n] != '/') {
			at++;
			continue;
		}
		made_pins_n--;
		memmove(&made_pins[at], &made_pins[at + 1], (made_pins_n - at) * sizeof(made_pins[0]));
	}
	made_next = 0;
}

static int given_object_info(int fd, struct bpf_map_info *info, __u32 *size)
{
	const struct made_map *map = made_of(fd);

	if (fails("bpf_obj_get_info_by_fd"))
		return -errno;
	if (*size != sizeof(*info))
		printf(" not the size of what is asked for\n");
	info->value_size = map->value_size;
	info->max_entries = map->max_entries;
	return 0;
}

static int given_batch(int fd, const void *keys, const void *values, __u32 *n, const struct bpf_map_batch_opts *opts)
{
	const struct end_key *key = keys;
	const __u64 *value = values;

	if (fails("bpf_map_update_batch") || *n > batch_most) {
		errno = EINVAL;
		return -EINVAL;
	}
	does("put %u into %s at once%s: %u is %llu ... %u is %llu", *n, made_text(fd), opts ? ", by options" : "",
	     key[0].addr[0], value[0], key[*n - 1].addr[0], value[*n - 1]);
	return 0;
}

static void *given_window(int fd, size_t size)
{
	if (fails("window_open"))
		return MAP_FAILED;
	does("a window on %s", made_text(fd));
	made_mapped += size;
	return made_of(fd)->value;
}

static void given_window_close(void *at, size_t size)
{
	if (!at)
		printf(" closes what is none\n");
	made_mapped -= size;
}

static bool given_window_failed(const void *at)
{
	return no_window && at == live_map_of[ARRAY_ROSTER6]->value;
}

static void put_key(const struct made_map *map, const void *key)
{
	if (map->key_size == sizeof(struct end_key))
		printf("%u", ((const struct end_key *)key)->addr[0]);
	else
		printf("%u", *(const __u32 *)key);
}

static void put_generation(const struct generation *g)
{
	printf("number %llu, frags %llu, members %llu %llu %llu %llu %llu %llu, flat %llu %llu", g->number, g->frags,
	       g->gate4, g->gate4_labels, g->gate6, g->filter, g->roster4, g->roster6, g->filter_flat, g->roster4_flat);
}

static void put_value(const struct made_map *map, const void *value)
{
	if (map->value_size == sizeof(struct generation))
		put_generation(value);
	else if (map->value_size == sizeof(struct trial))
		printf("until %llu, before %llu", ((const struct trial *)value)->until,
		       ((const struct trial *)value)->before);
	else if (map->value_size == sizeof(__u64))
		printf("%llu", *(const __u64 *)value);
	else
		fputs(made_text(*(const int *)value), stdout);
}

/* Ends: those in a row that become of the same kind are one line. */
static unsigned int run_first, run_n;
static bool run_goes;

static void put_run(void)
{
	if (run_n && !fail_at && !quiet)
		printf(" %s ends %u-%u\n", run_goes ? "take out" : "put", run_first, run_first + run_n - 1);
	run_n = 0;
}

static void run_on(const struct end_key *key, bool goes)
{
	unsigned int at = key->addr[0];

	if (run_n && (goes != run_goes || at != run_first + run_n))
		put_run();
	if (!run_n)
		run_first = at;
	run_goes = goes;
	run_n++;
}

/* No end has an entry yet. */
static int given_ask(int fd, const void *key, void *value)
{
	made_of(fd);
	(void)key;
	(void)value;
	errno = ENOENT;
	return -errno;
}

static int given_put(int fd, const void *key, const void *value, __u64 flags)
{
	const struct end_key *at = key;

	if (made_of(fd)->key_size != sizeof(*at))
		return given_update(fd, key, value, flags);
	if (fails("bpf_map_update_elem"))
		return -errno;
	if (flags != BPF_ANY || *(const __u64 *)value != (at->bits ? 1000 + at->addr[0] : 1))
		printf(" not the end of %u\n", at->addr[0]);
	run_on(at, false);
	return 0;
}

static int given_take(int fd, const void *key)
{
	made_of(fd);
	if (fails("bpf_map_delete_elem"))
		return -errno;
	run_on(key, true);
	return 0;
}

#define bpf_map_create		  given_map_create
#define bpf_map_update_elem	  given_put
#define bpf_map_delete_elem	  given_take
#define bpf_map_lookup_elem	  given_ask
#define bpf_map_update_batch	  given_batch
#define bpf_obj_get_info_by_fd	  given_object_info
#define bpf_obj_get		  given_obj_get
#define bpf_obj_pin		  given_obj_pin
#define bpf_map__fd		  given_map_fd
#define bpf_program__fd		  given_program_fd
#define bpf_program__set_autoload given_autoload
#define xdp_bloom_bpf__destroy	  given_destroy
#define mmap			  given_mmap
#define window_open		  given_window
#define window_close		  given_window_close
#define window_failed		  given_window_failed
#define mkdir			  given_mkdir
#define unlink			  given_unlink
#define close			  given_close
#define dup			  given_dup
#define sysconf			  given_sysconf
#define malloc			  given_malloc
#define pin_remove		  given_remove
#define pin_shared_map		  given_shared_map
#define pin_directory		  given_directory
#define pin_next		  given_next
#define live_open		  given_live_open
#define live_maps		  given_live_maps
#define live_overtaken		  given_overtaken
#define live_close		  given_live_close
#define live_look		  given_look
#define kernel_frags		  given_frags
#define programs_open		  given_programs
#define programs_judge		  given_judge
#define programs_add		  given_add
#define programs_load		  given_programs_load
#define match_load		  given_match_load
#define match_pin		  given_match_pin
#define match_switch		  given_match_switch
#define match_keep		  given_match_keep
#define match_sweep		  given_match_sweep
#define match_release		  given_match_release
#define because_program		  given_because
#define pin			  pin_it
#define begin			  begin_candidate

#include "kernel/generation.c"

#undef close
#undef dup
#undef malloc
#undef mmap
#undef begin

static struct candidate candidate;
static struct end ends_at[1100];
static struct ends ends;

static struct generation planned(void)
{
	return (struct generation){ .version = GENERATION_VERSION,
				    .number = 7,
				    .gate4 = 1,
				    .gate4_labels = 1,
				    .gate6_log2 = 12,
				    .filter_blocks = 100,
				    .roster4_buckets = 9,
				    .roster6_buckets = 64 };
}

static void begin(void)
{
	made_pins_begin();
	run_n = 0;
	in_force = (struct live){ .context = &own_context, .number = 5, .g.number = 5 };
	memset(live_map_of, 0, sizeof(live_map_of));
	overtaken = switch_fails = keep_fails = 0;
	has_frags = true;
	no_window = false;
	batch_most = 1024;
	for (unsigned int i = 0; i < 1100; i++)
		ends_at[i] = (struct end){ .key = { .bits = END_KEY_BITS(32), .family = 4, .addr = { i } },
					   .until = 1000 + i };
	ends = (struct ends){ ends_at, 3 };
	begin_candidate(&candidate, &(struct generation){ 0 });
	made_pin_old("P/slot", "slot", BPF_MAP_TYPE_PROG_ARRAY);
	made_pin_old("P/generation/5/program", "program of 5", 0);
	made_pin_old("P/generation/5/meta", "meta of 5", 0);
	made_pin_old("P/generation/3/program", "program of 3", 0);
	made_pin_old("P/generation/4/program", "program of 4", 0);
	made_pin_old("P/generation/7/program", "left over", 0);
}

static void put_candidate(void)
{
	if (fail_at)
		return;
	printf(" candidate %llu:", candidate.g.number);
	for (enum array a = 0; a < ARRAYS; a++)
		printf(" %s%s", made_text(candidate.map[a].fd),
		       *generation_member(&candidate.g, array_kinds[a].member) ? " mapped" : "");
	printf(", flat %llu %llu %llu, ends %s, scopes %s %s, %s %s %s, %s %s %s\n", candidate.g.filter_flat,
	       candidate.g.roster4_flat, candidate.g.no_flat, made_text(candidate.ends), made_text(candidate.scopes),
	       made_text(candidate.unread), made_text(candidate.program), made_text(candidate.ask),
	       made_text(candidate.meta), made_text(candidate.on_trial), made_text(candidate.before),
	       made_text(candidate.term));
}

static int released(int err)
{
	const struct candidate *c = &candidate;

	put_candidate();
	kernel_release(&candidate);
	for (enum array a = 0; a < ARRAYS; a++)
		if (c->map[a].fd != -1 || *generation_member(&candidate.g, array_kinds[a].member))
			printf(" array %u is not released\n", a);
	for (unsigned int map = 0; map < MAPS_DETECT - MAP_DETECT; map++)
		if (c->detect[map] != -1)
			printf(" map %u of the detector is not released\n", map);
	if ((c->program & c->ask & c->meta & c->on_trial & c->before & c->term & c->ends & c->scopes & c->unread) !=
		    -1 ||
	    c->dir[0])
		printf(" not all is released\n");
	if (objects_open)
		printf(" %d objects are left open\n", objects_open);
	return err;
}

static int makes_arrays(void)
{
	const struct generation g = planned();

	return released(kernel_arrays(&candidate, &g));
}

static int makes_some_arrays(void)
{
	const struct generation g = { .number = 8, .filter_blocks = 1 };

	return released(kernel_arrays(&candidate, &g));
}

/* The size from which on an array is of blocks. */
static int makes_large_arrays(void)
{
	int err = 0;

	for (unsigned int less = 2; less-- && !err;) {
		const struct generation g = { .filter_blocks = (1u << 23) - less, .roster4_buckets = 2 };

		err = released(kernel_arrays(&candidate, &g));
	}
	return err;
}

static void with_arrays(void)
{
	const struct generation g = planned();

	kernel_arrays(&candidate, &g);
}

static void with_all(void)
{
	with_arrays();
	candidate.g.ends = 1;
	candidate.scopes = made_fd(made_new("scopes", BPF_MAP_TYPE_ARRAY, 4, 8, 1));
	candidate.unread = made_fd(made_new("unread", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1));
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		candidate.detect[map - MAP_DETECT] = made_fd(made_new(detect_pin(map), BPF_MAP_TYPE_HASH, 4, 4, 1));
}

static void with_trial(void)
{
	with_arrays();
	has_frags = false;
	candidate.trial = (struct trial){ .until = 99, .before = 5 };
}

static void with_all_on_trial(void)
{
	with_all();
	candidate.trial = (struct trial){ .until = 99, .before = 5 };
}

static void with_trial_alone(void)
{
	with_trial();
	candidate.trial.before = 0;
}

static void with_trial_after_none(void)
{
	with_trial();
	candidate.trial.before = 6;
}

static int load_it(void)
{
	int err = kernel_load(&own_context, &candidate, &ends);

	put_run();
	return released(err);
}

static int load_and_switch(void)
{
	int err = kernel_load(&own_context, &candidate, &ends) ?: kernel_switch(&own_context, &candidate);

	if (!err && candidate.dir[0])
		printf(" its pins would go\n");
	return released(err);
}

static void ready_to_switch(void)
{
	with_arrays();
	kernel_load(&own_context, &candidate, &ends);
}

static void ready_on_trial(void)
{
	with_trial();
	kernel_load(&own_context, &candidate, &ends);
}

static int switch_it(void)
{
	return released(kernel_switch(&own_context, &candidate));
}

static void switch_fails_twice(void)
{
	ready_to_switch();
	switch_fails = 2;
}

static void switch_fails_thrice(void)
{
	ready_to_switch();
	switch_fails = 3;
}

static void slot_is_lost(void)
{
	ready_to_switch();
	given_unlink("P/slot");
}

static void slot_was_lost(void)
{
	with_arrays();
	given_unlink("P/slot");
}

static int keep(void)
{
	return kernel_keep(&in_force);
}

static void on_trial(void)
{
	in_force.on_trial = 5;
	in_force.number = 4;
	in_force.trial.before = 4;
	made_pin_old("P/generation/5/trial", "trial", 0);
	made_pin_old("P/generation/5/before", "before", 0);
	made_pin_old("P/generation/5/term", "term", 0);
	made_pin_old("P/generation/5/trial_to", "trial", 0);
	made_pin_old("P/generation/5/before_to", "before", 0);
	made_pin_old("P/generation/5/trial_in_both", "trial", 0);
	made_pin_old("P/generation/5/before_in_both", "before", 0);
}

static void keep_fails_twice(void)
{
	on_trial();
	keep_fails = 2;
}

static void keep_fails_thrice(void)
{
	on_trial();
	keep_fails = 3;
}

static void on_trial_lost(void)
{
	on_trial();
	in_force.on_trial = 6;
}

static int sweep(void)
{
	kernel_sweep(&in_force);
	return in_force.others;
}

static void others(void)
{
	in_force.others = true;
}

static void others_on_trial(void)
{
	in_force.others = true;
	in_force.on_trial = 7;
	in_force.trial.before = 5;
	in_force.err = -EIO;
}

static void others_unreadable(void)
{
	in_force.others = true;
	in_force.err = -EIO;
}

static void live_arrays(void)
{
	in_force.g = planned();
	in_force.g.number = 5;
	for (enum array a = 0; a < ARRAYS; a++)
		if (a != ARRAY_GATE6) {
			live_map_of[a] = made_new(array_kinds[a].name, BPF_MAP_TYPE_ARRAY, 4,
						  (__u32)array_bytes(&in_force.g, a), 1);
			live_map_of[a]->old = true;
		}
	live_map_of[MAP_ENDS] = made_new("ends", BPF_MAP_TYPE_HASH, 4, 8, 1);
	live_map_of[MAP_SCOPES] = made_new("scopes", BPF_MAP_TYPE_HASH, 4, 8, 1);
	live_map_of[MAP_UNREAD] = made_new("unread", BPF_MAP_TYPE_HASH, 4, 8, 1);
}

static int map_to_read(void)
{
	int err = live_map(&in_force, &candidate, false);

	if (!err && live_map_failed(&candidate))
		printf(" a window failed\n");
	return released(err);
}

static int map_to_edit(void)
{
	int err = live_map(&in_force, &candidate, true);

	if (!err && live_map_failed(&candidate))
		printf(" a window failed\n");
	return released(err);
}

static void a_window_fails(void)
{
	live_arrays();
	no_window = true;
}

static int open_it(void)
{
	return released(kernel_open_live(&own_context, &candidate));
}

static void open_overtaken(void)
{
	live_arrays();
	in_force.err = -ENOENT;
	overtaken = 1;
}

static void nothing_in_force(void)
{
	in_force.err = -ENOENT;
}

static void unreadable(void)
{
	in_force.err = -EIO;
	overtaken = 1;
}

static int sizes(void)
{
	__u64 bytes[ARRAYS];
	int err;

	err = kernel_map_bytes(&candidate, bytes);
	for (enum array a = 0; a < ARRAYS && !err && !fail_at; a++)
		printf(" %s: %llu\n", array_kinds[a].name, bytes[a]);
	return released(err);
}

static int sizes_of_none(void)
{
	__u64 bytes[ARRAYS] = { 1, 2, 3, 4, 5, 6 };
	int err = kernel_map_bytes(&candidate, bytes);

	for (enum array a = 0; a < ARRAYS; a++)
		if (bytes[a])
			printf(" %s is %llu\n", array_kinds[a].name, bytes[a]);
	return err;
}

static int put_ends(size_t n)
{
	int map = kernel_ends_map(77), err;

	if (map < 0)
		return map;
	ends.n = n;
	if (kernel_ends_room(map) != 77 && !fail_at)
		printf(" room for %zu\n", kernel_ends_room(map));
	err = kernel_ends_put(map, &ends);
	put_run();
	given_close(map);
	return err;
}

static int put_three(void)
{
	ends_at[1].until = 0;
	return put_ends(3);
}

static int put_none(void)
{
	return put_ends(0);
}

static void one_at_a_time(void)
{
	batch_most = 0;
}

static void most_go(void)
{
	for (size_t i = 0; i < 1100; i++)
		ends_at[i].until = i % 500 ? 0 : 1000 + i;
}

static int put_511(void)
{
	return put_ends(511);
}

static int put_512(void)
{
	return put_ends(512);
}

static int put_1026(void)
{
	return put_ends(1026);
}

/* The first call takes as many as come before one that goes. */
static int put_with_gone(void)
{
	ends_at[510].until = 0;
	return put_ends(1025);
}

static int put_first_gone(void)
{
	for (size_t i = 0; i < 510; i++)
		ends_at[i].until = 0;
	return put_ends(512);
}

static int many_ends_open(void)
{
	static const size_t n[] = { 16384, 16385 };
	struct end *many = calloc(16385, sizeof(*many));
	int err = 0;

	for (size_t i = 0; i < 16385; i++)
		many[i].until = 1;
	for (size_t i = 0; i < 2 && !err; i++) {
		const struct ends all = { many, n[i] };

		quiet = true;
		err = open_ends(&candidate, &all);
		put_run();
		quiet = false;
		printf(" %zu: room for %zu\n", n[i], kernel_ends_room(candidate.ends));
		given_close(candidate.ends);
		candidate.ends = -1;
	}
	free(many);
	return err;
}

static const struct scenario all[] = {
	{ "arrays", NULL, makes_arrays, BY_EACH_ERRNO },
	{ "arrays, one", NULL, makes_some_arrays, ONCE },
	{ "arrays, large ones", NULL, makes_large_arrays, ONCE },
	{ "load", with_arrays, load_it, EACH_FAILS },
	{ "load all of it", with_all, load_it, EACH_FAILS },
	{ "load on trial", with_trial, load_it, EACH_FAILS },
	{ "load all of it on trial", with_all_on_trial, load_it, ONCE },
	{ "load on trial, nothing before", with_trial_alone, load_it, ONCE },
	{ "load on trial, the one before is gone", with_trial_after_none, load_it, ONCE },
	{ "load, the slot is lost", slot_was_lost, load_it, ONCE },
	{ "into force", with_arrays, load_and_switch, ONCE },
	{ "into force on trial", with_trial, load_and_switch, ONCE },
	{ "switch", ready_to_switch, switch_it, EACH_FAILS },
	{ "switch on trial", ready_on_trial, switch_it, ONCE },
	{ "switch, it fails twice", switch_fails_twice, switch_it, ONCE },
	{ "switch, it fails thrice", switch_fails_thrice, switch_it, ONCE },
	{ "switch, the slot is lost", slot_is_lost, switch_it, ONCE },
	{ "keep nothing", NULL, keep, ONCE },
	{ "keep", on_trial, keep, EACH_FAILS },
	{ "keep, it fails twice", keep_fails_twice, keep, ONCE },
	{ "keep, it fails thrice", keep_fails_thrice, keep, ONCE },
	{ "keep, what was on trial is lost", on_trial_lost, keep, ONCE },
	{ "sweep nothing", NULL, sweep, ONCE },
	{ "sweep", others, sweep, EACH_FAILS },
	{ "sweep beside one on trial", others_on_trial, sweep, ONCE },
	{ "sweep, what is in force cannot be read", others_unreadable, sweep, ONCE },
	{ "map to read", live_arrays, map_to_read, EACH_FAILS },
	{ "map to edit", live_arrays, map_to_edit, EACH_FAILS },
	{ "map to edit, a window fails", a_window_fails, map_to_edit, ONCE },
	{ "open", live_arrays, open_it, EACH_FAILS },
	{ "open, another comes into force", open_overtaken, open_it, ONCE },
	{ "open, nothing in force", nothing_in_force, open_it, ONCE },
	{ "open, what is in force cannot be read", unreadable, open_it, ONCE },
	{ "sizes", with_arrays, sizes, EACH_FAILS },
	{ "sizes of none", NULL, sizes_of_none, ONCE },
	{ "ends, none", NULL, put_none, EACH_FAILS },
	{ "ends, three, of which one goes", NULL, put_three, EACH_FAILS },
	{ "ends, many of which most go, one by one", most_go, put_511, ONCE },
	{ "ends, as many as are put at once", NULL, put_512, EACH_FAILS },
	{ "ends, as many, of a kernel that takes one at a time", one_at_a_time, put_512, ONCE },
	{ "ends, twice as many and two", NULL, put_1026, ONCE },
	{ "ends, one goes among many", NULL, put_with_gone, ONCE },
	{ "ends, most go first", NULL, put_first_gone, ONCE },
	{ "ends, how many there is room for", NULL, many_ends_open, ONCE },
};

static const int errnos[] = { EIO, E2BIG, EINVAL };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "a generation", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
