// SPDX-License-Identifier: GPL-2.0-only
/* run: the service */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"
#include "cmd.h"
#include "config.h"
#include "lock.h"
#include "log.h"
#include "out.h"
#include "service.h"
#include "state.h"

#define DEFAULT_CONFIG "/etc/xdp-bloom.conf"
#define DAY	       86400

/* On the command line, and in the file; NULL and -1: not said. */
static struct said {
	const char *config, *listen;
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
	default:
		saying->rotate_every = strcmp(value, "0") ? change_seconds(value) : 0;
		return saying->rotate_every < 0
			       ? fail("--rotate-every takes a time such as 12h or 1d, or 0, not '%s'", value)
			       : 0;
	}
}

static const struct option own[] = {
	{ "config", required_argument, NULL, 'c' },
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

/* What the run lines say; they have been checked. */
static void take_run_lines(struct service_options *options, const struct config *config)
{
	file = (struct said){ .rotate_every = -1 };
	saying = &file;
	for (size_t i = 0; i < config->n; i++) {
		int argc = config->lines[i].words.n;

		if (!strcmp(config->lines[i].words.words[0], "run"))
			options_read(&argc, config->lines[i].words.words, own, run_option);
	}
	saying = &command;
	options->listen = command.listen ? command.listen : file.listen;
	options->rotate_every = command.rotate_every >= 0 ? command.rotate_every
				: file.rotate_every >= 0  ? file.rotate_every
							  : DAY;
}

static int configure(struct service_options *options, struct config *config)
{
	int err = read_config(config), faults;

	if (err) {
		fail("%s", reason(err));
		return err;
	}
	faults = config_check(config, false);
	if (faults) {
		config_free(config);
		return -EINVAL;
	}
	take_run_lines(options, config);
	return 0;
}

static int check(void)
{
	struct config config;
	int err = read_config(&config), faults = 0, n;

	if (!err)
		faults = config_check(&config, true);
	n = (int)config.n;
	config_free(&config);
	if (err || faults < 0)
		return fail("%s", reason(err ? err : faults));
	if (faults)
		return EXIT_ERROR;
	if (opt_json)
		return out_json(json_pack("{s:s, s:i}", "config", config.path, "commands", n));
	if (!opt_quiet)
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
	snprintf(path, sizeof(path), "%s/service.lock", opt_state);
	return lock_take(path, 0);
}

int cmd_run(int argc, char **argv)
{
	struct service_options options = { .configure = configure };
	struct config config = { 0 };
	int lock, status = EXIT_ERROR;

	if (options_read(&argc, argv, own, run_option))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("run: takes no '%s'", argv[1]);
	change_check(true);
	if (opt_check)
		return check();
	lock = only_one();
	if (lock < 0)
		return fail("%s", reason(lock));
	if (!configure(&options, &config))
		status = service_run(&options, &config);
	config_free(&config);
	close(lock);
	return status;
}
