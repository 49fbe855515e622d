// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one decision costs in the kernel: the data path's own code and its peers, each in a loop of its own (see
 * lookup.bpf.c), over one list and one sequence of addresses. Verdicts are checked before anything is timed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/build.h"
#include "filter/roster_table.h"
#include "filter/verify.h"
#include "kernel/generation.h"
#include "lists.h"
#include "base/log.h"
#include "lookup.h"
#include "lookup_options.h"
#include "sets/owned.h"
#include "peers.h"
#include "filter/plan_sizes.h"
#include "kernel/programs.h"
#include "subjects.h"

#define ATTEMPTS  4
#define USUAL_MAX 10000000 /* entries, unless asked for */

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
	{ "ipv6-hosts", 6, false, 10000000, ALL_THREE, 0, false },
	{ "ipv6-mix", 6, true, 100000, ALL_THREE, 1u << 4, false },
	{ "ipv4-real", 4, true, 10000000, PASS_DROP, 0, true },
	{ "ipv6-real", 6, true, 10000000, ALL_THREE, 0, true },
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const char *const traffic_names[] = { "pass", "near", "drop" };

static int complain(const char *what, int err)
{
	fprintf(stderr, "lookup: %s: %s\n", what, reason(err));
	return err;
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
	if (!err && opt.share4 > 0)
		g.roster4_buckets = (__u64)((double)g.keys4 * 1.1 / (ROSTER4_SLOTS * opt.share4)) + 1;
	for (unsigned int i = 0; !err && i < ATTEMPTS; i++) {
		err = build_seeds(&g);
		if (!err)
			err = kernel_arrays(c, &g);
		if (!err)
			err = build_arrays(&c->g, &owned);
		if (!err_is(err, EAGAIN))
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
	int maps[MAPS], err = programs_register();

	if (err)
		return err;
	*skel = lookup__open();
	if (!*skel)
		return -errno;
	for (unsigned int map = 0; map < MAPS; map++)
		maps[map] = map < ARRAYS ? c->map[map].fd : -1;
	err = peers_size(*skel, list, list->n <= opt.peers_max, arrays_total(&c->g));
	for (size_t i = 0; i < SUBJECTS; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name((*skel)->obj, subjects[i].program);

		bpf_program__set_autoload(program, subjects[i].family == list->family);
	}
	return err ? err : programs_load((*skel)->obj, &c->g, maps);
}

/* --- Scenarios, one after the other ----------------------------------------------------------------------------------
 */

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
		err = time_subjects(skel, &run, first, false);
	if (!err)
		print_rows(name, list->n, first, ours);
	if (err || opt.alone)
		return err;
	/* And with a program beside that walks through memory. */
	err = neighbours_begin() ?: time_subjects(skel, &run, first, true);
	neighbours_end();
	snprintf(name, sizeof(name), "%s-%s-neighbours", scenario->name, traffic_names[traffic]);
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

int main(int argc, char **argv)
{
	int err = 0;

	if (read_options(argc, argv)) {
		usage();
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
