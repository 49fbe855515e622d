// SPDX-License-Identifier: GPL-2.0-only
/* run: the service */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change/change.h"
#include "verbs/cmd.h"
#include "service/config.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/out.h"
#include "service/service.h"
#include "state/state.h"
#include "verbs/verbs.h"

#define DEFAULT_CONFIG "/etc/xdp-bloom.conf"
#define DAY	       86400

/* On the command line, and in the file; NULL and -1: not said. */
static struct said {
	const char *config, *listen, *hook;
	long rotate_every;
} command = { .rotate_every = -1 }, file, *saying = &command;

static int run_option(int option, const char *value)
{
	switch (option) {
	case 'c':
		saying->config = value;
		return saying == &command ? 0 : fail("run: --config cannot stand in a config file");
	case 'l':
		saying->listen = value;
		return 0;
	case 'h':
		saying->hook = value;
		return *value == '/' ? 0 : fail("--hook takes a program's whole path, not '%s'", value);
	default:
		saying->rotate_every = strcmp(value, "0") ? option_seconds(value) : 0;
		return saying->rotate_every < 0
			       ? fail("--rotate-every takes a time such as 12h or 1d, or 0, not '%s'", value)
			       : 0;
	}
}

static const struct option own[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "hook", required_argument, NULL, 'h' },
	{ "listen", required_argument, NULL, 'l' },
	{ "rotate-every", required_argument, NULL, 'r' },
	{ 0 },
};

/* The file that was named, or the usual one if it is there. */
static int read_config(struct config *config)
{
	const char *path = command.config ? command.config : DEFAULT_CONFIG;

	*config = (struct config){ .path = path };
	if (!command.config && access(path, F_OK))
		return 0;
	return config_read(config, path);
}

/*
 * What the run lines say, into the options where the rest of the file is right, too (faults says how much is not).
 * Returns how much is wrong; the lines have said why.
 */
static int take_run_lines(struct service_options *options, const struct config *config, int faults)
{
	bool json = opt_json, pretty = opt_pretty, quiet = opt_quiet, verbose = opt_verbose;

	file = (struct said){ .rotate_every = -1 };
	saying = &file;
	opt_line = true;
	for (size_t i = 0; i < config->n; i++) {
		const struct config_line *line = &config->lines[i];
		struct context ignored;
		int argc = line->words.n;
		char where[512];

		if (strcmp(line->words.words[0], "run") != 0)
			continue;
		snprintf(where, sizeof(where), "%s:%u", config->path, line->number);
		log_where(where);
		if (options_read(&ignored, &argc, line->words.words, own, run_option))
			faults++;
		else if (argc > 1)
			faults += fail("run: takes no '%s'", line->words.words[1]) == EXIT_ERROR;
		log_where(NULL);
	}
	saying = &command;
	opt_line = false;
	opt_json = json;
	opt_pretty = pretty;
	if (faults) {
		opt_quiet = quiet;
		opt_verbose = verbose;
		return faults;
	}
	options->hook = command.hook ? command.hook : file.hook;
	options->listen = command.listen ? command.listen : file.listen;
	options->rotate_every = command.rotate_every >= 0 ? command.rotate_every
				: file.rotate_every >= 0  ? file.rotate_every
							  : DAY;
	return 0;
}

/* Has every command but run say whether it could be said so: how many could not, or -errno. */
static int check_lines(const struct context *context, const struct config *config, bool files)
{
	char where[512];
	int faults = 0;

	for (size_t i = 0; i < config->n; i++) {
		const struct config_line *line = &config->lines[i];
		int wrong = 0;

		snprintf(where, sizeof(where), "%s:%u", config->path, line->number);
		if (strcmp(line->words.words[0], "run") != 0)
			wrong = verb_check(context, &line->words, where, files);
		if (wrong < 0)
			return wrong;
		faults += wrong;
	}
	return faults;
}

/* The file with all that is in it; `files`: and what that names. What is wrong has been said. */
static int configure(struct service_options *options, struct config *config, bool files)
{
	struct context context = CONTEXT_DEFAULT;
	int err = read_config(config), faults;

	if (!err) {
		faults = check_lines(&context, config, files);
		err = faults < 0 ? faults : 0;
	}
	if (err) {
		fail("%s", reason(err));
		return err;
	}
	if (!take_run_lines(options, config, faults))
		return 0;
	config_free(config);
	return -EINVAL;
}

static int check(void)
{
	struct service_options options;
	struct config config;
	int n;

	if (configure(&options, &config, !opt_check_words))
		return EXIT_ERROR;
	n = (int)config.n;
	config_free(&config);
	if (opt_json)
		return out_json(json_pack("{s:s, s:i}", "config", config.path, "commands", n));
	if (!opt_quiet && !n && access(config.path, F_OK))
		printf("%s: there is none, and none is needed\n", config.path);
	else if (!opt_quiet)
		printf("%s: %d commands, all right\n", config.path, n);
	return out_end();
}

/* One service a directory. */
static int only_one(void)
{
	char path[PATH_MAX];
	int err = state_make_directory();

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" LOCK_SERVICE, opt_state);
	return lock_take(path, 0);
}

int cmd_run(struct context *context, int argc, char **argv)
{
	struct service_options options = { .configure = configure };
	struct config config = { 0 };
	int lock, status = EXIT_ERROR;

	if (options_read(context, &argc, argv, own, run_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("run: takes no '%s'", argv[1]);
	if (opt_check)
		return check();
	lock = only_one();
	if (lock < 0)
		return fail("%s", reason(lock));
	if (!configure(&options, &config, false))
		status = service_run(context, &options, &config);
	config_free(&config);
	close(lock);
	return status;
}
