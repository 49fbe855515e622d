/* SPDX-License-Identifier: GPL-2.0-only */
/* What lookup is asked for on its command line. */
#ifndef LOOKUP_OPTIONS_H
#define LOOKUP_OPTIONS_H

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

#define REPEATS_MAX 1024

static struct {
	bool quick, list;
	const char *scenario, *subject, *traffic, *file;
	__u64 entries, seed, peers_max;
	unsigned int repeats;
	double bits, gate; /* bits a key of the filter; with a gate or without: negative is as planned */
	const char *layout;
	double fpr;
	bool inexact, alone;
	double share4; /* of an IPv4 roster of addresses, in place of what is planned, how full it is; 0: as planned */
} opt = { .repeats = 51, .bits = -1, .gate = -1, .peers_max = 10000000, .layout = "auto" };

static bool chosen(const char *choice, const char *name)
{
	return !choice || strstr(choice, name);
}

static const struct option options[] = {
	{ "quick", no_argument, NULL, 'q' },	       { "list", no_argument, NULL, 'l' },
	{ "scenario", required_argument, NULL, 's' },  { "subject", required_argument, NULL, 'S' },
	{ "traffic", required_argument, NULL, 't' },   { "entries", required_argument, NULL, 'n' },
	{ "repeats", required_argument, NULL, 'r' },   { "seed", required_argument, NULL, 'x' },
	{ "peers-max", required_argument, NULL, 'p' }, { "bits", required_argument, NULL, 'b' },
	{ "gate", required_argument, NULL, 'g' },      { "layout", required_argument, NULL, 'L' },
	{ "fpr", required_argument, NULL, 'f' },       { "inexact", no_argument, NULL, 'i' },
	{ "file", required_argument, NULL, 'F' },      { "alone", no_argument, NULL, 'a' },
	{ "addresses", required_argument, NULL, 'A' }, { 0 },
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
		case 'A':
			opt.share4 = strtod(optarg, NULL);
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
		case 'a':
			opt.alone = true;
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

static void usage(void)
{
	fprintf(stderr, "Usage: lookup [--quick] [--scenario NAMES] [--traffic pass,near,drop] [--subject NAMES] "
			"[--entries N] [--repeats N] [--seed N] [--peers-max N] [--bits N] [--gate 0|1] "
			"[--layout NAME] [--fpr P] [--inexact] [--alone] [--addresses LOAD] [--list]\n"
			"       lookup --scenario ipv4-real|ipv6-real --file PREFIXES [...]\n");
}

#endif
