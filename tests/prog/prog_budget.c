// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the verifier has to do for each shape of generation: how many instructions it goes through, how many states it
 * keeps, how long the program is that it leaves; and how many instructions of it a packet executes (ways.h). They must
 * not grow unseen: tests/prog/verifier-budget.txt and ways.txt have what is known, for one kernel and one compiler.
 * With others only the verdict counts. XDP_BLOOM_BUDGET=write writes the table anew.
 */
#include <errno.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "frames.h"
#include "kernel/detect.h"
#include "kernel/generation.h"
#include "kernel/root.h"
#include "ktap.h"
#include "naive.h"
#include "own_pins.h"
#include "stacks.h"
#include "filter/plan_sizes.h"
#include "kernel/programs.h"
#include "kernel/scopes.h"
#include "ways.h"
#include "xdp_bloom.skel.h"

#define LOG_STATS  4 /* of the verifier: what it did, without how */
#define TABLE	   "verifier-budget.txt"
#define WAYS_TABLE "ways.txt"

enum { SHAPE_GATED = 1000, SHAPE_UNGATED = 400000 }; /* hosts, each in a /24 of its own */

struct shape {
	const char *name;
	struct counts counts;
	unsigned int layout, k; /* of the filter */
	unsigned int exact, samples, shadows;
	unsigned int frags;    /* packets of several buffers */
	unsigned int ends;     /* some bans have an end */
	unsigned int scoped;   /* some lists have a scope */
	unsigned int inner;    /* packets are looked into */
	unsigned int detect;   /* who sends too much is found */
	unsigned int looks_up; /* and who sends what nobody here asked for, or scans */
	unsigned int slots;    /* by limits of an interface */
	unsigned int lengths;  /* IPv6 prefixes of so many lengths up to /128 */
};

#define DEFAULTS .layout = LAYOUT_LANES, .k = 8, .exact = 1, .samples = 100
#define EVERYTHING                                         \
	.lengths = 100, .counts = { .some24 = SHAPE_GATED, \
				    .hosts = SHAPE_GATED,  \
				    .all24 = 100,          \
				    .minorities = 9,       \
				    .labels_differ = true, \
				    .nets32 = 1000 }

static const struct shape shapes[] = {
	{ "empty", DEFAULTS },
	{ "hosts", DEFAULTS, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "hosts-frags", DEFAULTS, .frags = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "hosts-ungated", DEFAULTS, .counts = { .some24 = SHAPE_UNGATED, .hosts = SHAPE_UNGATED } },
	{ "networks", DEFAULTS, .counts = { .all24 = 100 } },
	{ "networks-labels", DEFAULTS, .counts = { .all24 = 100, .labels_differ = true } },
	{ "mixed", DEFAULTS,
	  .counts = { .some24 = SHAPE_GATED,
		      .hosts = SHAPE_GATED,
		      .all24 = 100,
		      .minorities = 9,
		      .labels_differ = true } },
	{ "ipv6-1-rung", DEFAULTS, .counts = { .v6[48] = 1000, .nets32 = 1000 } },
	{ "ipv6-8-rungs", DEFAULTS, .counts = { .nets32 = 1000 }, .lengths = 100 },
	{ "ipv6-ungated", DEFAULTS, .counts = { .v6[1] = 1, .nets32 = 1u << 31 } },
	{ "everything", DEFAULTS, EVERYTHING },
	{ "everything-frags", DEFAULTS, .frags = 1, EVERYTHING },
	{ "everything-lanes2", .layout = LAYOUT_LANES2, .k = 16, .exact = 1, .samples = 100, EVERYTHING },
	{ "everything-classic", .layout = LAYOUT_CLASSIC, .k = 24, .exact = 1, .samples = 100, EVERYTHING },
	{ "exact-off", .layout = LAYOUT_LANES, .k = 8, .samples = 100, .lengths = 100,
	  .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED, .all24 = 100, .nets32 = 1000 } },
	{ "no-samples", .layout = LAYOUT_LANES, .k = 8, .exact = 1,
	  .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "shadow", DEFAULTS, .shadows = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "networks-ends", DEFAULTS, .ends = 1, .counts = { .all24 = 100 } },
	{ "hosts-ends", DEFAULTS, .ends = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-ends", DEFAULTS, .ends = 1, EVERYTHING },
	{ "everything-frags-ends", DEFAULTS, .ends = 1, .frags = 1, EVERYTHING },
	{ "hosts-scoped", DEFAULTS, .scoped = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-scoped", DEFAULTS, .scoped = 1, .shadows = 1, .ends = 1, EVERYTHING },
	{ "everything-frags-scoped", DEFAULTS, .scoped = 1, .shadows = 1, .ends = 1, .frags = 1, EVERYTHING },
	{ "hosts-inner", DEFAULTS, .inner = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-inner", DEFAULTS, .inner = 1, EVERYTHING },
	{ "everything-all", DEFAULTS, .inner = 1, .scoped = 1, .shadows = 1, .ends = 1, .frags = 1, .detect = 1,
	  .looks_up = 1, .slots = 1, EVERYTHING },
	{ "empty-detect", DEFAULTS, .detect = 1 },
	{ "hosts-detect", DEFAULTS, .detect = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-detect", DEFAULTS, .detect = 1, EVERYTHING },
	{ "everything-frags-detect", DEFAULTS, .detect = 1, .ends = 1, .frags = 1, EVERYTHING },
	{ "hosts-looks", DEFAULTS, .detect = 1, .looks_up = 1,
	  .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-frags-looks", DEFAULTS, .detect = 1, .looks_up = 1, .ends = 1, .frags = 1, EVERYTHING },
	{ "hosts-slots", DEFAULTS, .detect = 1, .slots = 1, .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-frags-slots", DEFAULTS, .detect = 1, .slots = 1, .ends = 1, .frags = 1, EVERYTHING },
	{ "hosts-slots-looks", DEFAULTS, .detect = 1, .slots = 1, .looks_up = 1,
	  .counts = { .some24 = SHAPE_GATED, .hosts = SHAPE_GATED } },
	{ "everything-slots-looks", DEFAULTS, .detect = 1, .slots = 1, .looks_up = 1, .ends = 1, .frags = 1,
	  EVERYTHING },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* What one program costs. */
struct cost {
	unsigned int verified, states, instructions;
};

static struct row {
	char shape[32], program[8];
	struct cost cost;
} known[4 * SHAPES];
static size_t known_n;
static FILE *table; /* written, if it is */
static bool comparable;

/* --- The table -------------------------------------------------------------------------------------------------------
 */

static void environment(char *text, size_t size)
{
	struct utsname host;

	uname(&host);
	snprintf(text, size, "kernel %d.%d, clang %d, %s", atoi(host.release), atoi(strchr(host.release, '.') + 1),
		 atoi(CLANG_VERSION), host.machine);
}

static FILE *open_table(const char *mode, const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "tests/prog/%s", name);
	file = fopen(path, mode);
	return file || *mode == 'w' ? file : fopen(path + strlen("tests/"), mode); /* in a kernel tree */
}

static bool read_table(const char *here)
{
	FILE *file = open_table("r", TABLE);
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		struct row *row = &known[known_n];

		if (!strncmp(line, "# with ", 7)) {
			line[strcspn(line, "\n")] = '\0';
			comparable = !strcmp(line + 7, here);
		} else if (sscanf(line, "%31s %7s %u %u %u", row->shape, row->program, &row->cost.verified,
				  &row->cost.states, &row->cost.instructions) == 5 &&
			   known_n + 1 < sizeof(known) / sizeof(known[0])) {
			known_n++;
		}
	}
	fclose(file);
	return true;
}

static const struct cost *look_up(const char *shape, const char *program)
{
	for (size_t i = 0; i < known_n; i++)
		if (!strcmp(known[i].shape, shape) && !strcmp(known[i].program, program))
			return &known[i].cost;
	return NULL;
}

static void compare(const char *shape, const char *program, const struct cost *now)
{
	const struct cost *then = look_up(shape, program);

	if (table) {
		fprintf(table, "%-20s %-5s %8u %7u %13u\n", shape, program, now->verified, now->states,
			now->instructions);
		return;
	}
	if (!comparable) {
		printf("# %s: %u verified, %u states, %u instructions\n", program, now->verified, now->states,
		       now->instructions);
		return;
	}
	if (!CHECK(then, "%s is not in the table: make budget", program))
		return;
	CHECK(now->verified <= then->verified && now->states <= then->states && now->instructions <= then->instructions,
	      "%s: %u verified, %u states, %u instructions; the table has %u, %u, %u: less, or make budget", program,
	      now->verified, now->states, now->instructions, then->verified, then->states, then->instructions);
	if (now->verified < then->verified || now->instructions < then->instructions)
		printf("# %s is less than the table has, %u verified, %u instructions: make budget\n", program,
		       now->verified, now->instructions);
}

/* --- Ways ------------------------------------------------------------------------------------------------------------
 */

/* Frames by their shapes in frames.h, and what all arrays read as. */
static const char *const way_frames[] = {
	"IPv4",
	"IPv6",
	"802.1Q, IPv4",
	"802.1Q, IPv6",
	"802.1ad, 802.1Q, IPv4",
	"802.1ad, 802.1Q, IPv6",
	"PPPoE, IPv4",
	"PPPoE, IPv6",
	"802.1Q twice, PPPoE, IPv4",
	"802.1Q twice, PPPoE, IPv6",
	"ARP",
	"802.1Q, ARP",
};
static const uint8_t way_fills[] = { 0x00, 0xaa, 0xff };

#define WAY_FRAMES (sizeof(way_frames) / sizeof(way_frames[0]))
#define WAY_FILLS  (sizeof(way_fills) / sizeof(way_fills[0]))

static struct ways {
	char shape[32];
	unsigned int fill, n[WAY_FRAMES];
} known_ways[SHAPES * WAY_FILLS];
static size_t known_ways_n;
static FILE *ways_table; /* written, if it is */

static void read_ways(void)
{
	FILE *file = open_table("r", WAYS_TABLE);
	char line[256];

	while (file && fgets(line, sizeof(line), file) && known_ways_n < SHAPES * WAY_FILLS) {
		struct ways *row = &known_ways[known_ways_n];
		int at = 0, more = 0;

		if (*line == '#' || sscanf(line, "%31s %x%n", row->shape, &row->fill, &at) != 2)
			continue;
		for (size_t i = 0; i < WAY_FRAMES && sscanf(line + at, "%u%n", &row->n[i], &more) == 1; i++)
			at += more;
		known_ways_n++;
	}
	if (file)
		fclose(file);
}

static void write_ways_head(void)
{
	fprintf(ways_table,
		"# How many instructions a packet executes on its way through each shape of generation: make budget\n"
		"# writes it, for the kernel and the compiler of " TABLE
		". Fill: what the arrays read as. The columns:\n");
	for (size_t i = 0; i < WAY_FRAMES; i++)
		fprintf(ways_table, "# %zu: %s\n", i + 1, way_frames[i]);
}

static void compare_ways(const struct ways *now)
{
	const struct ways *then = NULL;

	for (size_t i = 0; i < known_ways_n; i++)
		if (!strcmp(known_ways[i].shape, now->shape) && known_ways[i].fill == now->fill)
			then = &known_ways[i];
	if (ways_table)
		fprintf(ways_table, "%-20s %02x", now->shape, now->fill);
	else if (comparable)
		CHECK(then, "%s has no ways in the table: make budget", now->shape);
	for (size_t i = 0; i < WAY_FRAMES; i++) {
		CHECK(now->n[i] || !(comparable || ways_table), "%s, %s: an instruction that ways.h does not know",
		      now->shape, way_frames[i]);
		if (ways_table)
			fprintf(ways_table, " %5u", now->n[i]);
		else if (comparable && then)
			CHECK(now->n[i] <= then->n[i],
			      "the way of a packet got longer: %s, arrays of %02x, %s: %u instructions, not %u",
			      now->shape, now->fill, way_frames[i], now->n[i], then->n[i]);
	}
	if (ways_table)
		fputc('\n', ways_table);
}

/*
 * Bans that end cost nobody else an instruction: what passes (00), and what is dropped with a label below that bit,
 * goes the same way as without them. And so it is with what passes beside lists with a scope.
 */
static void compare_without(const struct ways *now, const char *what)
{
	static struct ways seen[SHAPES * WAY_FILLS];
	static size_t n;
	size_t base = strlen(now->shape) - strlen(what);

	if (!*what)
		seen[n++] = *now;
	if (!*what || base > strlen(now->shape) || strcmp(now->shape + base, what) != 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (strlen(seen[i].shape) == base && !strncmp(seen[i].shape, now->shape, base) &&
		    seen[i].fill == now->fill && (!now->fill || !strcmp(now->shape, "networks-ends")))
			CHECK(!memcmp(seen[i].n, now->n, sizeof(now->n)), "%s, arrays of %02x: not as without %s",
			      now->shape, now->fill, what + 1);
}

static void walk(const struct shape *shape, const struct bpf_program *program)
{
	static struct bpf_insn insns[1 << 14];
	struct bpf_prog_info info = { .xlated_prog_insns = (__u64)(uintptr_t)insns, .xlated_prog_len = sizeof(insns) };
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size);

	CHECK(stack_fits(bpf_program__fd(program), bpf_program__name(program)), "%u bytes of stack",
	      stack_of(bpf_program__fd(program)));
	if (!CHECK(!err && info.xlated_prog_len <= sizeof(insns), "the program's instructions: %s", strerror(errno)))
		return;
	for (size_t f = 0; f < WAY_FILLS; f++) {
		struct ways now = { .fill = way_fills[f] };

		snprintf(now.shape, sizeof(now.shape), "%s", shape->name);
		for (size_t i = 0; i < WAY_FRAMES; i++) {
			uint8_t frame[FRAME_MAX];
			size_t s = 0;

			while (strcmp(frame_shapes[s].name, way_frames[i]))
				s++;
			ktap_state = 1;
			frame_make(frame, &frame_shapes[s], (ip6)0x20010db800000001 << 64 | 0xc0000207);
			now.n[i] = way_length(insns, frame, FRAME_MAX, now.fill);
		}
		compare_ways(&now);
		compare_without(&now, "");
		compare_without(&now, "-ends");
		if (!shape->shadows)
			compare_without(&now, "-scoped");
	}
}

/* --- The verifier ----------------------------------------------------------------------------------------------------
 */

static bool measure(const struct bpf_program *program, const char *log, struct cost *cost)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	const char *said = strstr(log, "processed "), *states = strstr(log, "total_states ");

	if (!CHECK(said && states, "the verifier does not say what it did: %.200s", log) ||
	    !CHECK(!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), "no information: %s",
		   strerror(errno)))
		return false;
	cost->verified = (unsigned int)strtoul(said + strlen("processed "), NULL, 10);
	cost->states = (unsigned int)strtoul(states + strlen("total_states "), NULL, 10);
	cost->instructions = info.xlated_prog_len / 8;
	/* Since 5.16 the kernel keeps the first of them itself. */
	return CHECK(!info.verified_insns || info.verified_insns == cost->verified, "%u verified, or %u?",
		     cost->verified, info.verified_insns);
}

static void load(const struct shape *shape, const struct generation *g, const int *maps)
{
	static char logs[2][1 << 16];
	struct xdp_bloom_bpf *skel;
	int err = programs_open(&own_context, &skel);

	if (!CHECK(!err, "%s", reason(err)))
		return;
	struct bpf_program *programs[] = { programs_judge(skel, maps), skel->progs.xdp_bloom_ask };

	bpf_program__set_autoload(skel->progs.xdp_bloom_root, false);
	bpf_program__set_autoload(skel->progs.xdp_bloom_frags, false);
	for (unsigned int i = 0; i < 2; i++) {
		bpf_program__set_log_level(programs[i], LOG_STATS);
		bpf_program__set_log_buf(programs[i], logs[i], sizeof(logs[i]));
	}
	err = programs_load(skel->obj, g, maps);
	CHECK(!err, "the verifier refuses it: %s, %.500s, %.500s", strerror(-err), logs[0], logs[1]);
	for (unsigned int i = 0; !err && i < 2; i++) {
		struct cost cost;

		if (measure(programs[i], logs[i], &cost))
			compare(shape->name,
				i		  ? "ask"
				: shape->slots	  ? "slots"
				: shape->looks_up ? "looks"
				: shape->detect	  ? "rates"
						  : "gen",
				&cost);
		if (!i)
			walk(shape, programs[i]);
	}
	xdp_bloom_bpf__destroy(skel);
}

/* --- Cases -----------------------------------------------------------------------------------------------------------
 */

static void generation(struct generation *g, const struct shape *shape)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct counts counts = shape->counts;
	int err;

	settings.exact = shape->exact;
	settings.samples = shape->samples;
	for (unsigned int i = 0; i < shape->lengths; i++)
		counts.v6[128 - i] = 10;
	err = plan_sizes(g, &counts, &settings);
	CHECK(!err, "no plan: %s", reason(err));
	if (shape->layout != LAYOUT_LANES) {
		g->filter_layout = shape->layout;
		g->filter_k = shape->k;
		g->lanes_blocks = shape->layout == LAYOUT_CLASSIC ? 0 : g->filter_blocks;
	}
	g->frags = shape->frags;
	g->ends = shape->ends;
	g->scoped = shape->scoped;
	g->inner = shape->inner;
	g->shadows = shape->shadows;
	g->shadow[0] = shape->shadows << 1;
	ktap_state = 1; /* the seeds are a part of the program */
	seeds_set(g);
}

static void one_shape(void)
{
	static const struct shape *next = shapes;
	const struct shape *shape = next++;
	struct detector detector = { .limits.on = shape->detect, .account = true };
	struct generation g;
	struct candidate c;
	int maps[MAPS], err;

	printf("# %s\n", shape->name);
	if (shape->frags && kernel_frags(&own_context) != 1)
		return ktap_skip("this kernel has no packets of several buffers");
	generation(&g, shape);
	if (ktap_failed)
		return;
	for (unsigned int class = 0; class < LIMITED; class ++)
		detector.limits.of[class] =
			(struct limit){ .rate = limit_rates[class] ?: shape->looks_up * 10, .then = THEN_POLICE };
	if (shape->slots)
		limits_put_on(&detector.limits, "lo", CLASS_SYN, (struct limit){ .rate = 1000, .then = THEN_BAN });
	err = kernel_arrays(&c, &g) ?: kernel_detect(NULL, &c, NULL, &detector);
	if (!CHECK(!err, "no maps: %s", reason(err)))
		return;
	for (enum array a = 0; a < ARRAYS; a++)
		maps[a] = c.map[a].fd;
	for (unsigned int map = MAP_DETECT; map < MAPS_DETECT; map++)
		maps[map] = c.detect[map - MAP_DETECT];
	maps[MAP_ENDS] = shape->ends ? kernel_ends_map(1) : -1;
	if (shape->scoped && kernel_scopes(NULL, &c, &(struct scopes){ 0 }))
		return (void)CHECK(0, "no map of scopes: %s", reason(0));
	maps[MAP_SCOPES] = c.scopes;
	maps[MAP_UNREAD] = c.unread;
	load(shape, &c.g, maps);
	close_fd(maps[MAP_ENDS]);
	kernel_release(&c);
}

static int run_cases(void)
{
	struct ktap_case cases[SHAPES];
	char here[128];
	int err = kernel_ready(&own_context) ?: kernel_base(&own_context, (struct committed){ 0 }), status;
	const char *asked = getenv("XDP_BLOOM_BUDGET");

	environment(here, sizeof(here));
	if (asked && !strcmp(asked, "write"))
		table = open_table("w", TABLE);
	if (err || (!table && !read_table(here))) {
		printf("Bail out! %s\n", err ? reason(err) : "no tests/prog/" TABLE);
		return KTAP_FAIL;
	}
	if (table)
		ways_table = open_table("w", WAYS_TABLE);
	if (ways_table)
		write_ways_head();
	else
		read_ways();
	if (table)
		fprintf(table,
			"# What the verifier has to do for each shape of generation: make budget writes it.\n"
			"# with %s\n%-20s %-5s %8s %7s %13s\n",
			here, "#shape", "prog", "verified", "states", "instructions");
	else if (!comparable)
		printf("# %s: the table has another's figures, so only the verdicts count\n", here);
	for (size_t i = 0; i < SHAPES; i++)
		cases[i] = (struct ktap_case){ shapes[i].name, one_shape };
	status = ktap_run(cases, SHAPES);
	if (table)
		fclose(table);
	if (ways_table)
		fclose(ways_table);
	return status;
}

int main(void)
{
	return own_pins_run(run_cases);
}
