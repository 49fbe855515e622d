// SPDX-License-Identifier: GPL-2.0-only
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define OPTIONS_MAX 24

/* Without a letter. */
enum { OPTION_CHECK = 256, OPTION_WAIT, OPTION_LOG, OPTION_OWN };

bool opt_line;
bool opt_json, opt_pretty, opt_quiet, opt_verbose, opt_log_json, opt_check, opt_check_words;
long opt_wait = 60;
const char *opt_state = "/var/lib/xdp-bloom";
const char *opt_bpffs = "/sys/fs/bpf/xdp-bloom";

bool opt_force;
const struct option options_force[] = { { "force", no_argument, NULL, 'F' }, { 0 } };

int options_force_fn(int option, const char *value)
{
	(void)option;
	(void)value;
	opt_force = true;
	return 0;
}

static const struct option common[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "state", required_argument, NULL, 'S' },
	{ "bpffs", required_argument, NULL, 'B' },
	{ "log", required_argument, NULL, OPTION_LOG },
	{ "check", optional_argument, NULL, OPTION_CHECK },
	{ "wait", required_argument, NULL, OPTION_WAIT },
};

#define COMMON (sizeof(common) / sizeof(common[0]))

static int wait_option(const char *value)
{
	char *end;

	opt_wait = strtol(value, &end, 10);
	if (end == value || *end || opt_wait < 0 || opt_wait > 86400)
		return fail("--wait takes seconds, not '%s'", value);
	return 0;
}

/* The name of an option that holds for all lines of a file; NULL: it is none. */
static const char *for_all_lines(int option)
{
	if (option != 'S' && option != 'B' && option != OPTION_LOG && option != OPTION_CHECK && option != OPTION_WAIT)
		return NULL;
	for (size_t i = 0; i < COMMON; i++)
		if (common[i].val == option)
			return common[i].name;
	return NULL;
}

/* OPTION_OWN: it is the verb's. */
static int common_option(int option)
{
	if (opt_line && for_all_lines(option))
		return fail("--%s stands on the command line, not in a file of commands", for_all_lines(option));
	switch (option) {
	case 'p':
		opt_pretty = opt_pretty || !opt_line;
		/* fall through */
	case 'j':
		/* A line has nothing to show: what it does is done with all others, or not at all. */
		opt_json = opt_json || !opt_line;
		return 0;
	case 'q':
		opt_quiet = true;
		return 0;
	case 'v':
		opt_verbose = true;
		return 0;
	case 'S':
		opt_state = optarg;
		return 0;
	case 'B':
		opt_bpffs = optarg;
		return 0;
	case OPTION_LOG:
		opt_log_json = !strcmp(optarg, "json");
		if (!opt_log_json && strcmp(optarg, "text"))
			return fail("--log is text or json, not '%s'", optarg);
		return 0;
	case OPTION_CHECK:
		opt_check = true;
		opt_check_words = optarg && !strcmp(optarg, "words");
		return 0;
	case OPTION_WAIT:
		return wait_option(optarg);
	default:
		return OPTION_OWN;
	}
}

/* While opt_* are still read. */
const struct context *context_ambient(void)
{
	static struct context now;

	now = (struct context){ .state = opt_state,
				.bpffs = opt_bpffs,
				.wait = opt_wait,
				.check = opt_check_words ? CHECK_WORDS
					 : opt_check	 ? CHECK_FILES
							 : CHECK_NOT,
				.line = opt_line,
				.json = opt_json,
				.pretty = opt_pretty,
				.quiet = opt_quiet };
	return &now;
}

int options_read(struct context *context, int *argc, char **argv, const struct option *own, option_fn *each)
{
	struct option all[OPTIONS_MAX + 1] = { 0 };
	struct change *joined;
	const char *letters = ":jpqvS:B:";
	size_t n = 0;
	int c, status, operands = 1;

	memcpy(all, common, sizeof(common));
	while (own && own[n].name && COMMON + n < OPTIONS_MAX) {
		all[COMMON + n] = own[n];
		if (own[n].val == 'w') /* a file to write has a letter of its own: everybody's fingers know it */
			letters = ":jpqvS:B:w:";
		n++;
	}
	opt_force = false;
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(*argc, argv, letters, all, NULL)) != -1) {
		if (c == '?')
			return optopt ? fail("%s: unknown option '-%c'; see xdp-bloom --help", argv[0], optopt)
				      : fail("%s: unknown option '%s'; see xdp-bloom --help", argv[0],
					     argv[optind - 1]);
		if (c == ':')
			return fail("%s: option '%s' needs a value", argv[0], argv[optind - 1]);
		status = common_option(c);
		if (status == OPTION_OWN)
			status = each ? each(c, optarg) : EXIT_ERROR;
		if (status)
			return EXIT_ERROR;
	}
	joined = context->joined;
	*context = *context_ambient();
	context->joined = joined;
	for (int i = optind; i < *argc; i++)
		argv[operands++] = argv[i];
	argv[operands] = NULL;
	*argc = operands;
	return 0;
}

int option_switch(const char *name, const char *value, bool *on)
{
	*on = !strcmp(value, "on");
	return *on || !strcmp(value, "off") ? 0 : fail("--%s is on or off, not '%s'", name, value);
}

int option_number(const char *name, const char *value, double lowest, double highest, double *number)
{
	char *end;

	*number = strtod(value, &end);
	if (end == value || *end || !(*number >= lowest && *number <= highest))
		return fail("--%s takes a number from %g to %g, not '%s'", name, lowest, highest, value);
	return 0;
}

int option_bytes(const char *name, const char *value, double *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	*bytes = strtod(value, &end);
	unit = *end ? strchr(units, *end) : NULL;
	if (end == value || !(*bytes >= 0) || (*end && (!unit || end[1])))
		return fail("--%s takes bytes, such as 64M, not '%s'", name, value);
	for (int i = 0; unit && i <= unit - units; i++)
		*bytes *= 1024;
	if (*bytes > 1e18 || (*bytes > 0 && *bytes < 1))
		return fail("--%s takes bytes, such as 64M, not '%s'", name, value);
	return 0;
}

long option_seconds(const char *text)
{
	static const char units[] = "smhd";
	static const long seconds[] = { 1, 60, 3600, 86400 };
	const char *unit;
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || n < 1 || n > 366L * 86400)
		return -1;
	if (!*end)
		return n;
	unit = strchr(units, *end);
	return unit && !end[1] && n <= 366L * 86400 / seconds[unit - units] ? n * seconds[unit - units] : -1;
}
