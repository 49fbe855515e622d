// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one decision costs in the kernel: the data path's own code and its peers, each in a loop of its own (see
 * lookup.bpf.c), over one list and one sequence of addresses. Verdicts are checked before anything is timed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "check.h"
#include "kernel.h"
#include "lists.h"
#include "log.h"
#include "lookup.h"
#include "owned.h"
#include "peers.h"
#include "plan.h"
#include "programs.h"

#define REPEATS_MAX 1024
#define RUN_NS	    1000000 /* of one run: short beside what disturbs it */
#define WARM_RUNS   8
#define ATTEMPTS    4
#define USUAL_MAX   10000000 /* entries, unless asked for */

enum { FOR_HOSTS = 1, GUESSES = 2, IN_MAP = 4 /* of the kernel's, that holds the list once more */ };

struct subject {
	const char *program, *name;
	int family;
	unsigned int traits;
	/* of the scenario at hand */
	int fd;
	bool right;
	__u64 rounds;
	double ns[REPEATS_MAX];
};

static struct subject subjects[] = {
	{ .program = "empty4", .name = "empty-loop", .family = 4 },
	{ .program = "floor4", .name = "floor", .family = 4 },
	{ .program = "ours4", .name = "xdp-bloom", .family = 4 },
	{ .program = "map_in_map4", .name = "map-in-map", .family = 4 },
	{ .program = "bloom4_map", .name = "bloom-map", .family = 4, .traits = IN_MAP | FOR_HOSTS | GUESSES },
	{ .program = "bloom4_hash", .name = "bloom+hash", .family = 4, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "hash4_map", .name = "hash-map", .family = 4, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "lpm4_map", .name = "lpm-trie", .family = 4, .traits = IN_MAP },
	{ .program = "empty6", .name = "empty-loop", .family = 6 },
	{ .program = "floor6", .name = "floor", .family = 6 },
	{ .program = "ours6", .name = "xdp-bloom", .family = 6 },
	{ .program = "bloom6_map", .name = "bloom-map", .family = 6, .traits = IN_MAP | FOR_HOSTS | GUESSES },
	{ .program = "bloom6_hash", .name = "bloom+hash", .family = 6, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "hash6_map", .name = "hash-map", .family = 6, .traits = IN_MAP | FOR_HOSTS },
	{ .program = "lpm6_map", .name = "lpm-trie", .family = 6, .traits = IN_MAP },
};

#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

struct scenario {
	const char *name;
	int family;
	bool mix;
	__u64 entries_max;
	unsigned int traffic; /* bits of enum traffic */
	unsigned int quick;   /* powers of ten of entries in a quick run, as bits */
	bool file;	      /* what --file names, instead of a list that is made */
};

#define PASS_DROP (1u << TRAFFIC_PASS | 1u << TRAFFIC_DROP)
#define ALL_THREE (PASS_DROP | 1u << TRAFFIC_NEAR)

static const struct scenario scenarios[] = {
	{ "ipv4-hosts", 4, false, 100000000, PASS_DROP, 1u << 4 | 1u << 6, false },
	{ "ipv4-mix", 4, true, 1000000, PASS_DROP, 1u << 5, false },
	{ "ipv6-hosts", 6, false, 10000000, ALL_THREE, 1u << 4, false },
	{ "ipv6-mix", 6, true, 100000, ALL_THREE, 1u << 4, false },
	{ "ipv4-real", 4, true, 10000000, PASS_DROP, 0, true },
	{ "ipv6-real", 6, true, 10000000, ALL_THREE, 0, true },
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const char *const traffic_names[] = { "pass", "near", "drop" };

static struct {
	bool quick, list;
	const char *scenario, *subject, *traffic, *file;
	__u64 entries, seed, peers_max;
	unsigned int repeats;
	double bits, gate; /* bits a key of the filter; with a gate or without: negative is as planned */
	const char *layout;
	double fpr;
	bool inexact;
} opt = { .repeats = 51, .bits = -1, .gate = -1, .peers_max = 10000000, .layout = "auto" };

static int complain(const char *what, int err)
{
	fprintf(stderr, "lookup: %s: %s\n", what, reason(err));
	return err;
}

static bool chosen(const char *choice, const char *name)
{
	return !choice || strstr(choice, name);
}

/* --- A generation, as production plans and builds it -----------------------------------------------------------------
 */

static int make_generation(struct candidate *c, const struct list *list)
{
	struct account accounts[LIST_SHARES];
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges none = RANGES_EMPTY;
	struct generation g;
	struct owned owned;
	int err;

	for (unsigned int i = 0; i < LIST_SHARES; i++)
		accounts[i] = (struct account){ &list->share[i], (__u8)(i + 1) };
	if (opt.bits > 0)
		settings.bits_per_key = opt.bits;
	for (enum layout layout = 0; layout <= LAYOUT_AUTO; layout++)
		if (!strcmp(opt.layout, layout_names[layout]))
			settings.layout = layout;
	settings.fpr = opt.fpr;
	settings.exact = !opt.inexact;
	err = owned_settle(&owned, accounts, LIST_SHARES, &none);
	if (!err)
		err = plan_generation(&g, &owned, &settings);
	if (!err && opt.gate >= 0)
		g.gate4 = opt.gate > 0;
	for (unsigned int i = 0; !err && i < ATTEMPTS; i++) {
		err = build_seeds(&g);
		if (!err)
			err = kernel_arrays(c, &g);
		if (!err)
			err = build_arrays(&c->g, &owned);
		if (err != -EAGAIN)
			break;
		kernel_release(c);
	}
	if (!err)
		err = check_arrays(&c->g, &owned);
	owned_free(&owned);
	return err;
}

static int load_peers(struct lookup **skel, struct candidate *c, const struct list *list)
{
	int maps[ARRAYS], err = programs_register();

	if (err)
		return err;
	*skel = lookup__open();
	if (!*skel)
		return -errno;
	for (enum array a = 0; a < ARRAYS; a++)
		maps[a] = c->map[a].fd;
	err = peers_size(*skel, list, list->n <= opt.peers_max, arrays_total(&c->g));
	for (size_t i = 0; i < SUBJECTS; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name((*skel)->obj, subjects[i].program);

		bpf_program__set_autoload(program, subjects[i].family == list->family);
	}
	return err ? err : programs_load((*skel)->obj, &c->g, maps);
}

/* --- Runs ------------------------------------------------------------------------------------------------------------
 */

/* One run of a loop: nanoseconds, and how many it found. */
static int run_loop(struct lookup *skel, int fd, const struct run *run, double *ns, __u32 *found)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = 1);
	unsigned char frame[64] = { 0 };
	__u32 zero = 0;

	opts.data_in = frame;
	opts.data_size_in = sizeof(frame);
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.runs), &zero, run, BPF_ANY) || bpf_prog_test_run_opts(fd, &opts))
		return -errno;
	*ns = opts.duration;
	*found = opts.retval;
	return 0;
}

/* How many of the first round's addresses the list holds, by a search of its ranges. */
static __u32 count_truth(const struct list *list, const struct run *run, enum traffic traffic)
{
	__u64 x = run->random;
	__u32 found = 0;

	if (run->from_keys)
		return traffic == TRAFFIC_DROP ? (__u32)run->rounds : 0;
	for (__u64 i = 0; i < run->rounds; i++) {
		x = RANDOM_NEXT(x);
		found += ranges_have(&list->set, (struct addr){ x >> 32, 4 });
	}
	return found;
}

/* A subject that guesses may find a few too many, never too few. */
static bool verdicts_right(const struct subject *subject, __u32 found, __u32 truth, __u64 rounds)
{
	if (subject->traits & GUESSES || opt.inexact)
		return found >= truth && found <= truth + rounds / 20;
	return found == truth;
}

static int check_subject(struct lookup *skel, struct subject *subject, const struct run *run, __u32 truth)
{
	double ns, each;
	__u32 found;
	int err = run_loop(skel, subject->fd, run, &ns, &found);

	if (err)
		return err;
	subject->right = strstr(subject->name, "empty") || !strcmp(subject->name, "floor") ||
			 verdicts_right(subject, found, truth, run->rounds);
	if (!subject->right)
		fprintf(stderr, "lookup: %s: %u found, %u banned: not timed\n", subject->program, found, truth);
	err = run_loop(skel, subject->fd, run, &ns, &found);
	each = ns / (double)run->rounds;
	subject->rounds = (__u64)(RUN_NS / (each > 0.1 ? each : 0.1));
	return err;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct subject *subject, double q)
{
	return subject->ns[(unsigned int)(q * (opt.repeats - 1) + 0.5)];
}

static void print_rows(const char *scenario, __u64 entries, const struct subject *first, const struct subject *ours)
{
	double empty = quantile(first, 0.5), base = ours ? quantile(ours, 0.5) - empty : 0;

	printf("\n%s, %llu entries; the empty loop takes %.2f ns\n%-12s %9s %9s %9s %9s\n", scenario,
	       (unsigned long long)entries, empty, "subject", "ns", "least", "p99", "ratio");
	for (int results = 0; results < 2; results++) {
		for (const struct subject *s = first + 1; s < subjects + SUBJECTS && s->family == first->family; s++) {
			double ns = quantile(s, 0.5) - empty, p99 = quantile(s, 0.99) - empty;

			if (!s->right)
				continue;
			if (results)
				printf("RESULT scenario=%s subject=%s entries=%llu ns=%.2f p99=%.2f ratio=%.2f\n",
				       scenario, s->name, (unsigned long long)entries, ns, p99,
				       base > 0 ? ns / base : 0);
			else
				printf("%-12s %9.2f %9.2f %9.2f %9.2f\n", s->name, ns,
				       quantile(s, 0) - quantile(first, 0), p99, base > 0 ? ns / base : 0);
		}
	}
}

/* Interleaved, so that whatever else the machine does falls on all alike. */
static int time_subjects(struct lookup *skel, struct run *run, struct subject *first)
{
	int err = 0;

	for (unsigned int r = 0; r < opt.repeats && !err; r++) {
		for (struct subject *s = first; s < subjects + SUBJECTS && s->family == first->family && !err; s++) {
			__u32 found;
			double ns;

			if (!s->right)
				continue;
			/* The subject before has had the caches, for memory far larger than this one's. */
			run->rounds = s->rounds * WARM_RUNS;
			err = run_loop(skel, s->fd, run, &ns, &found);
			run->first += run->rounds;
			run->rounds = s->rounds;
			run->random = RANDOM_NEXT(run->random ^ r);
			if (!err)
				err = run_loop(skel, s->fd, run, &ns, &found);
			s->ns[r] = ns / (double)s->rounds;
		}
	}
	for (struct subject *s = first; s < subjects + SUBJECTS && s->family == first->family; s++)
		qsort(s->ns, opt.repeats, sizeof(s->ns[0]), by_size);
	return err;
}

static int measure(struct lookup *skel, struct list *list, const struct scenario *scenario, enum traffic traffic)
{
	struct run run = { .rounds = KEYS, .random = list_random(list) };
	struct subject *first = NULL, *ours = NULL;
	char name[64];
	__u32 truth;
	int err = 0;

	/* Hosts leave nearly every address clean: as many different ones as the generator makes. */
	run.from_keys = traffic != TRAFFIC_PASS || list->mix || list->family == 6;
	if (run.from_keys)
		err = peers_keys(skel, list, traffic);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s-%s", scenario->name, traffic_names[traffic]);
	truth = count_truth(list, &run, traffic);
	for (struct subject *s = subjects; s < subjects + SUBJECTS && !err; s++) {
		s->right = false;
		if (s->family != list->family)
			continue;
		if (!first)
			first = s;
		else if ((list->mix && s->traits & FOR_HOSTS) || (list->n > opt.peers_max && s->traits & IN_MAP) ||
			 !chosen(opt.subject, s->name))
			continue;
		s->fd = bpf_program__fd(bpf_object__find_program_by_name(skel->obj, s->program));
		err = check_subject(skel, s, &run, truth);
		if (!strcmp(s->name, "xdp-bloom") && s->right)
			ours = s;
	}
	if (!err)
		err = time_subjects(skel, &run, first);
	if (!err)
		print_rows(name, list->n, first, ours);
	return err;
}

static int run_scenario(const struct scenario *scenario, __u64 entries)
{
	struct list list = { .family = scenario->family,
			     .path = scenario->file ? opt.file : NULL,
			     .mix = scenario->mix,
			     .n = entries,
			     .state = opt.seed };
	struct lookup *skel = NULL;
	struct candidate c;
	int err = list_make(&list);

	if (!err)
		err = make_generation(&c, &list);
	if (err) {
		list_free(&list);
		return complain("building a generation", err);
	}
	err = load_peers(&skel, &c, &list);
	if (!err && entries <= opt.peers_max)
		err = peers_fill(skel, &list);
	if (!err && list.family == 4)
		err = peers_fill_inner(skel, &c.g);
	for (enum traffic t = TRAFFIC_PASS; t <= TRAFFIC_DROP && !err; t++)
		if (scenario->traffic & 1u << t && chosen(opt.traffic, traffic_names[t]))
			err = measure(skel, &list, scenario, t);
	lookup__destroy(skel);
	kernel_release(&c);
	list_free(&list);
	return err ? complain(scenario->name, err) : 0;
}

/* The list itself, for those who measure how long it takes to load one. */
static int print_list(const struct scenario *scenario, __u64 entries)
{
	struct list list = { .family = scenario->family, .mix = scenario->mix, .n = entries, .state = opt.seed };
	int err = list_make(&list);
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < list.n && !err; i++)
		puts(prefix_text(text, list.at[i].first, (int)list.at[i].length));
	list_free(&list);
	return err;
}

static const struct option options[] = {
	{ "quick", no_argument, NULL, 'q' },	       { "list", no_argument, NULL, 'l' },
	{ "scenario", required_argument, NULL, 's' },  { "subject", required_argument, NULL, 'S' },
	{ "traffic", required_argument, NULL, 't' },   { "entries", required_argument, NULL, 'n' },
	{ "repeats", required_argument, NULL, 'r' },   { "seed", required_argument, NULL, 'x' },
	{ "peers-max", required_argument, NULL, 'p' }, { "bits", required_argument, NULL, 'b' },
	{ "gate", required_argument, NULL, 'g' },      { "layout", required_argument, NULL, 'L' },
	{ "fpr", required_argument, NULL, 'f' },       { "inexact", no_argument, NULL, 'i' },
	{ "file", required_argument, NULL, 'F' },      { 0 },
};

static int read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'q':
			opt.quick = true;
			break;
		case 'l':
			opt.list = true;
			break;
		case 's':
			opt.scenario = optarg;
			break;
		case 'S':
			opt.subject = optarg;
			break;
		case 't':
			opt.traffic = optarg;
			break;
		case 'n':
			opt.entries = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			opt.repeats = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'x':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			opt.peers_max = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			opt.bits = strtod(optarg, NULL);
			break;
		case 'F':
			opt.file = optarg;
			break;
		case 'g':
			opt.gate = strtod(optarg, NULL);
			break;
		case 'L':
			opt.layout = optarg;
			break;
		case 'f':
			opt.fpr = strtod(optarg, NULL);
			break;
		case 'i':
			opt.inexact = true;
			break;
		default:
			return -EINVAL;
		}
	}
	return opt.repeats && opt.repeats <= REPEATS_MAX ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	int err = 0;

	if (read_options(argc, argv)) {
		fprintf(stderr,
			"Usage: lookup [--quick] [--scenario NAMES] [--traffic pass,near,drop] [--subject NAMES] "
			"[--entries N] [--repeats N] [--seed N] [--peers-max N] [--bits N] [--gate 0|1] "
			"[--layout NAME] [--fpr P] [--inexact] [--list]\n"
			"       lookup --scenario ipv4-real|ipv6-real --file PREFIXES [...]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	libbpf_set_print(NULL);
	for (size_t i = 0; i < SCENARIOS && !err; i++) {
		const struct scenario *s = &scenarios[i];
		unsigned int power = 4;

		if (!chosen(opt.scenario, s->name) || s->file != (opt.file != NULL))
			continue;
		if (s->file) {
			err = run_scenario(s, s->entries_max);
			continue;
		}
		if (opt.list)
			return print_list(s, opt.entries) ? 2 : 0;
		if (opt.entries && opt.entries <= s->entries_max)
			err = run_scenario(s, opt.entries);
		for (__u64 entries = 10000; !opt.entries && entries <= s->entries_max && !err; entries *= 10, power++)
			if (opt.quick ? s->quick & 1u << power : entries <= USUAL_MAX)
				err = run_scenario(s, entries);
	}
	return err ? 2 : 0;
}
