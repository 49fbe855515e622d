// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which generation is in force, while others are pinned, come, go, and are on trial: what is found and opened, and what
 * is said where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include <time.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "kernel/live.h"

static const struct shown known[] = {
#include "unit_live_look.txt"
};

static struct shows shows = { .file = "tests/unit/unit_live_look.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct context own_context;
static int64_t boot_time;
static struct made_map *the_slot;
static struct live seen;
static unsigned int rotates; /* so many times, each before the next look into the slot */

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	printf("%u", *(const __u32 *)key);
}

static void put_value(const struct made_map *map, const void *value)
{
	const struct generation *g = value;

	(void)map;
	printf("%llu and %llu keys, %llu whole, %llu prefixes, %u stale, %llu edits, number %llu", g->keys4, g->keys6,
	       g->all24, g->prefixes6, g->stale, g->edits, g->number);
}

static __u32 id_of(const struct made_map *is)
{
	return (__u32)(is - made_maps) + 1;
}

static void into_slot(const struct made_map *program)
{
	made_put(the_slot, &(__u32){ 0 }, &(__u64){ program ? id_of(program) : 7000 });
}

static int given_id(int fd, void *info, __u32 *size)
{
	const struct made_map *is = made_of(fd);

	if (fails("bpf_obj_get_info_by_fd"))
		return -errno;
	if (is->program && *size == sizeof(struct bpf_prog_info)) {
		struct bpf_prog_info *program = info;

		program->id = id_of(is);
		program->load_time = 1000 * program->id;
	} else if (!is->program && *size == sizeof(struct bpf_map_info)) {
		((struct bpf_map_info *)info)->value_size = is->value_size;
	} else {
		printf(" %s is asked as another kind\n", made_text(fd));
	}
	return 0;
}

static int given_open(const char *path)
{
	does("open %s", path);
	return given_obj_get(path);
}

static int given_slot(const struct context *context, const char *name)
{
	does("the map %s", name);
	if (!strcmp(name, PIN_SLOT) && rotates) {
		rotates--;
		into_slot(made_new("passing", 0, 0, 0, 0));
	}
	return given_shared_map(context, name);
}

/* Each directory once: the pins of one lie side by side. */
static const char *given_generation(DIR **dir)
{
	static unsigned long last;
	const char *name;

	if (!made_next)
		last = 0;
	do
		name = given_next(dir);
	while (name && strtoul(name, NULL, 10) == last);
	last = name ? strtoul(name, NULL, 10) : 0;
	return name;
}

static int64_t given_boot(void)
{
	return boot_time;
}

static int given_time(clockid_t clock, struct timespec *to)
{
	*to = (struct timespec){ .tv_sec = clock == CLOCK_BOOTTIME ? 100 : 0, .tv_nsec = 500000000 };
	return 0;
}

static void given_close_fd(int fd)
{
	if (fd >= 0)
		given_close(fd);
}

#define pin_shared_map	       given_slot
#define pin_directory	       given_directory
#define pin_next	       given_generation
#define bpf_obj_get	       given_open
#define bpf_obj_get_info_by_fd given_id
#define bpf_map_lookup_elem    given_lookup
#define bpf_map_update_elem    given_update
#define close		       given_close
#define close_fd	       given_close_fd
#define clock_boot	       given_boot
#define clock_gettime	       given_time

#include "kernel/live.c"

static void begin(void)
{
	made_pins_begin();
	memset(&own_context, 0, sizeof(own_context));
	own_context.bpffs = "P";
	boot_time = 500;
	the_slot = NULL;
	rotates = 0;
	memset(&seen, 0, sizeof(seen));
}

/* --- What there is --- */

static void slot_is_there(void)
{
	the_slot = made_pin_old("P/" PIN_SLOT, "slot", BPF_MAP_TYPE_PROG_ARRAY);
}

static void pins(unsigned int number, const char *name, struct made_map *is)
{
	char path[64];

	snprintf(path, sizeof(path), "P/" PIN_GENERATIONS "/%u/%s", number, name);
	made_pin(path, is);
}

static struct made_map *program_new(unsigned int number, const char *pin)
{
	char name[24];
	struct made_map *is;

	snprintf(name, sizeof(name), "%s %u", pin, number);
	is = made_new(name, 0, 0, 0, 0);
	is->program = true;
	pins(number, pin, is);
	return is;
}

static struct generation *described(unsigned int number)
{
	char name[24];
	struct made_map *meta;
	struct generation *g;

	snprintf(name, sizeof(name), "meta %u", number);
	meta = made_new(name, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct generation), 1);
	pins(number, PIN_META, meta);
	g = (struct generation *)(void *)meta->value;
	*g = (struct generation){ .version = GENERATION_VERSION, .number = number, .keys4 = 100 * number };
	return g;
}

static struct made_map *meta_of(unsigned int number)
{
	char path[64];

	snprintf(path, sizeof(path), "P/" PIN_GENERATIONS "/%u/" PIN_META, number);
	return made_pins[made_pin_at(path)].is;
}

static struct made_map *generation(unsigned int number)
{
	struct made_map *program = program_new(number, PIN_PROGRAM);

	described(number);
	return program;
}

static void one(void)
{
	slot_is_there();
	into_slot(generation(3));
}

static void one_of_codes(void)
{
	one();
	((struct generation *)(void *)meta_of(3)->value)->version = GENERATION_CODES;
}

static void empty(void)
{
	slot_is_there();
	generation(3);
}

static void another_is_in_the_slot(void)
{
	empty();
	into_slot(NULL);
}

static void second_of_three(void)
{
	slot_is_there();
	generation(3);
	into_slot(generation(4));
	generation(5);
}

static void without_description(void)
{
	slot_is_there();
	into_slot(program_new(3, PIN_PROGRAM));
}

static void of_another_size(void)
{
	one();
	meta_of(3)->value_size -= 8;
}

static void of_another_version(void)
{
	one();
	((struct generation *)(void *)meta_of(3)->value)->version = 99;
}

static void trial_without_term(void)
{
	slot_is_there();
	generation(3);
	generation(4);
	into_slot(program_new(4, PIN_TRIAL));
}

static struct made_map *term;

static void trial_before(unsigned int before)
{
	trial_without_term();
	term = made_new("term 4", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct trial), 1);
	pins(4, PIN_TRIAL_TERM, term);
	memcpy(term->value, &(struct trial){ .until = 1000, .before = before }, sizeof(struct trial));
}

static void on_trial(void)
{
	trial_before(3);
}

static void first_on_trial(void)
{
	trial_before(0);
}

static void a_moment_left(void)
{
	on_trial();
	boot_time = 999;
}

static void trial_is_past(void)
{
	on_trial();
	boot_time = 1000;
}

static void first_is_past(void)
{
	first_on_trial();
	boot_time = 1001;
}

static void before_is_gone(void)
{
	trial_before(2);
	boot_time = 1001;
}

static void before_of_another_size(void)
{
	on_trial();
	meta_of(3)->value_size += 8;
}

static void before_of_another_version(void)
{
	on_trial();
	((struct generation *)(void *)meta_of(3)->value)->version = 99;
}

static void rotates_once(void)
{
	one();
	rotates = 1;
}

static void rotates_without_end(void)
{
	one();
	rotates = 1000;
}

/* --- What is asked --- */

static void shows_live(const struct live *is)
{
	printf(" number %llu, loaded %llu, program %u%s; ", is->number, is->loaded, is->program,
	       is->others ? ", and others" : "");
	if (is->on_trial)
		printf("%llu is on trial until %llu, before it %llu; ", is->on_trial, is->trial.until,
		       is->trial.before);
	printf("%s, ", made_text(is->meta));
	put_value(NULL, &is->g);
	puts(is->err ? ": an error" : "");
}

static int opens(void)
{
	int err = live_open(&seen, &own_context);

	shows_live(&seen);
	live_close(&seen);
	if (seen.meta != -1 || !err_is(seen.err, ENOENT))
		printf(" it is still open\n");
	return err;
}

static int again(void (*happens)(void))
{
	int err = live_open(&seen, &own_context);

	if (happens)
		happens();
	does("again");
	err = live_look(&seen);
	shows_live(&seen);
	live_close(&seen);
	return err;
}

static int looks_again(void)
{
	return again(NULL);
}

static void next_comes(void)
{
	into_slot(generation(4));
}

static int looks_when_next_comes(void)
{
	return again(next_comes);
}

static void it_is_taken_back(void)
{
	into_slot(made_pins[made_pin_at("P/generation/3/" PIN_PROGRAM)].is);
}

static int looks_when_taken_back(void)
{
	return again(it_is_taken_back);
}

static void the_time_passes(void)
{
	boot_time = 2000;
}

static int looks_when_time_passes(void)
{
	return again(the_time_passes);
}

static int looks_when_time_has_passed(void)
{
	the_time_passes();
	return again(NULL);
}

static void slot_goes(void)
{
	made_pins[made_pin_at("P/" PIN_SLOT)].path[0] = '\0';
}

static int looks_when_slot_goes(void)
{
	return again(slot_goes);
}

static void edited_by_another(void)
{
	((struct generation *)(void *)meta_of(3)->value)->keys4 = 777;
}

static int looks_when_edited(void)
{
	return again(edited_by_another);
}

static int overtaken(void)
{
	unsigned int times = 0;

	live_open(&seen, &own_context);
	printf(" overtaken, and nobody came: %d\n", live_overtaken(&seen));
	quiet = true;
	do
		rotates = 1;
	while (live_overtaken(&seen) && ++times < 100);
	live_close(&seen);
	return (int)times;
}

static int pin_of(void)
{
	int fd;

	live_open(&seen, &own_context);
	fd = live_pin(&seen, PIN_META);
	if (fd >= 0) {
		does("it is %s", made_text(fd));
		given_close(fd);
		fd = 0;
	}
	live_close(&seen);
	return fd;
}

static int pin_that_is_not_there(void)
{
	int fd;

	live_open(&seen, &own_context);
	fd = live_pin(&seen, PIN_ASK);
	live_close(&seen);
	return fd;
}

/* Of each kind that there is. */
static void with_all_maps(void)
{
	struct generation *g;

	one();
	g = (struct generation *)(void *)meta_of(3)->value;
	g->gate4 = g->gate4_labels = g->gate6 = g->filter = g->roster4 = g->roster6 = 1;
	g->gate6_log2 = 12;
	g->filter_blocks = g->roster4_buckets = g->roster6_buckets = 64;
	g->ends = g->scoped = 1;
	for (enum array a = 0; a < ARRAYS; a++)
		pins(3, array_kinds[a].name, made_new(array_kinds[a].name, 0, 4, 4, 1));
	pins(3, PIN_ENDS, made_new("ends", 0, 4, 4, 1));
	pins(3, PIN_SCOPES, made_new("scopes", 0, 4, 4, 1));
	made_pin("P/" PIN_UNREAD, made_new("unread", 0, 4, 4, 1));
}

static void with_gate_alone(void)
{
	struct generation *g;

	with_all_maps();
	g = (struct generation *)(void *)meta_of(3)->value;
	g->gate4_labels = g->gate6_log2 = g->filter_blocks = g->roster4_buckets = g->roster6_buckets = 0;
	g->ends = g->scoped = 0;
}

static int maps_of(void)
{
	int maps[MAPS], err;

	for (unsigned int i = 0; i < MAPS; i++)
		maps[i] = -5;
	live_open(&seen, &own_context);
	err = live_maps(&seen, maps);
	for (unsigned int i = 0; i < MAPS; i++) {
		if (!fail_at)
			printf(" %s%s", maps[i] < -1 ? "not said" : made_text(maps[i]), i + 1 < MAPS ? "," : "\n");
		given_close_fd(maps[i]);
	}
	live_close(&seen);
	return err;
}

static int before_of(void)
{
	unsigned long long before;

	live_open(&seen, &own_context);
	before = live_before(&seen);
	live_close(&seen);
	return (int)before;
}

static int opens_before(void)
{
	struct live before;
	int err;

	live_open(&seen, &own_context);
	err = live_open_before(&seen, &before);
	shows_live(&before);
	live_close(&before);
	live_close(&seen);
	return err;
}

static int notes(void)
{
	struct generation g;
	int err = live_open(&seen, &own_context);

	if (err) {
		live_close(&seen);
		return err;
	}
	g = seen.g;
	g.keys4 = 11;
	g.keys6 = 12;
	g.all24 = 13;
	g.prefixes6 = 14;
	g.stale = 15;
	g.edits = 16;
	g.number = 99;
	err = live_note(&seen, &g);
	shows_live(&seen);
	live_close(&seen);
	return err;
}

static int in_one_call(void)
{
	struct generation g = { 0 };
	double seconds = 0;
	int err = kernel_live(&own_context, &g), age = kernel_age(&own_context, &seconds);

	does("%llu keys, generation %llu, %.6f s old: %s", g.keys4, kernel_live_generation(&own_context), seconds,
	     age ? reason(age) : "done");
	return err;
}

static int in_one_call_of_a_number(void)
{
	own_context.generation = 42;
	return in_one_call();
}

static const struct scenario all[] = {
	{ "opened, nothing is there", NULL, opens, EACH_FAILS },
	{ "opened, the slot is empty", empty, opens, ONCE },
	{ "opened, another's program is in the slot", another_is_in_the_slot, opens, ONCE },
	{ "opened", one, opens, EACH_FAILS },
	{ "opened, of codes", one_of_codes, opens, ONCE },
	{ "opened, the second of three", second_of_three, opens, EACH_FAILS },
	{ "opened, without a description", without_description, opens, ONCE },
	{ "opened, of another size", of_another_size, opens, ONCE },
	{ "opened, of another version", of_another_version, opens, ONCE },
	{ "opened, on trial", on_trial, opens, EACH_FAILS },
	{ "opened, the first, on trial", first_on_trial, opens, ONCE },
	{ "opened, on trial for a moment", a_moment_left, opens, ONCE },
	{ "opened, on trial, until when is not known", trial_without_term, opens, ONCE },
	{ "opened, the trial is over", trial_is_past, opens, EACH_FAILS },
	{ "opened, the trial of the first is over", first_is_past, opens, ONCE },
	{ "opened, the trial is over, and the one before gone", before_is_gone, opens, ONCE },
	{ "opened while another comes", rotates_once, opens, ONCE },
	{ "opened while others come without end", rotates_without_end, opens, ONCE },
	{ "seen again", one, looks_again, EACH_FAILS },
	{ "seen again, edited", one, looks_when_edited, ONCE },
	{ "seen again, the next came", one, looks_when_next_comes, EACH_FAILS },
	{ "seen again, on trial", on_trial, looks_again, ONCE },
	{ "seen again, the trial was taken back", on_trial, looks_when_taken_back, ONCE },
	{ "seen again, the trial ended meanwhile", on_trial, looks_when_time_passes, ONCE },
	{ "seen again, the trial had ended", on_trial, looks_when_time_has_passed, ONCE },
	{ "seen again, nothing was there", NULL, looks_again, ONCE },
	{ "seen again, the slot went", one, looks_when_slot_goes, ONCE },
	{ "seen again, of another version", of_another_version, looks_again, ONCE },
	{ "overtaken", one, overtaken, ONCE },
	{ "a pin", one, pin_of, EACH_FAILS },
	{ "a pin of another version", of_another_version, pin_of, ONCE },
	{ "a pin, nothing is there", NULL, pin_of, ONCE },
	{ "a pin that is not there", one, pin_that_is_not_there, ONCE },
	{ "all maps", with_all_maps, maps_of, EACH_FAILS },
	{ "one map", with_gate_alone, maps_of, ONCE },
	{ "maps, nothing is there", NULL, maps_of, ONCE },
	{ "the one before, nothing is there", NULL, before_of, ONCE },
	{ "the one before", one, before_of, ONCE },
	{ "the one before, of another version", of_another_version, before_of, ONCE },
	{ "the one before one on trial", on_trial, before_of, ONCE },
	{ "the one before the first on trial", first_on_trial, before_of, ONCE },
	{ "the one before is opened", on_trial, opens_before, EACH_FAILS },
	{ "the one before is opened, of another size", before_of_another_size, opens_before, ONCE },
	{ "the one before is opened, of another version", before_of_another_version, opens_before, ONCE },
	{ "the one before is opened, none is on trial", one, opens_before, ONCE },
	{ "the one before is opened, there is none", first_on_trial, opens_before, ONCE },
	{ "the one before is opened, it is in force again", trial_is_past, opens_before, ONCE },
	{ "an edit is noted", one, notes, EACH_FAILS },
	{ "in one call", one, in_one_call, EACH_FAILS },
	{ "in one call, nothing is there", NULL, in_one_call, ONCE },
	{ "in one call, of another version", of_another_version, in_one_call, ONCE },
	{ "in one call, a number is given", one, in_one_call_of_a_number, ONCE },
};

static const int errnos[] = { EIO };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, 1);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "which generation is in force", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
