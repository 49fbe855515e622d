// SPDX-License-Identifier: GPL-2.0-only
/* run: the service */
#include <unistd.h>

#include "service/config.h"
#include "base/lock.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "observe/web_address.h"
#include "service/service.h"
#include "state/state.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#define DAY 86400

struct options {
	const char *config, *listen, *hosts, *token, *hook;
	struct number rotate_every;
	bool page, errands;
};

static int read_hook(const struct option_spec *o, void *target, const char *value)
{
	*(const char **)target = value;
	return *value == '/' ? 0 : fail("--%s takes a program's whole path, not '%s'", o->name, value);
}

const struct option_spec run_service_options[] = {
	{ "config", .also = "-c -f", .type = OPTION_FILE, AT(options, config), .value = "FILE",
	  .does = "the file of commands (" CONFIG_DEFAULT ")" },
	{ "host", .type = OPTION_TEXT, AT(options, hosts), .value = "NAMES",
	  .does = "what it listens for is asked for by these" },
	{ "hook", .type = OPTION_READ, AT(options, hook), .value = "PROGRAM", .does = "run for each event",
	  .read = read_hook },
	{ "listen", .type = OPTION_TEXT, AT(options, listen), .value = "ADDRESS",
	  .does = "for a browser and Prometheus" },
	{ "listen-token", .type = OPTION_FILE, AT(options, token), .value = "FILE",
	  .does = "who asks has to know the token in it" },
	{ "page", AT(options, page), .does = "the page is for every user of this machine" },
	{ "rotate-every", .type = OPTION_TIME_OR_0, AT(options, rotate_every), .value = "TIME",
	  .does = "new seeds (1d; 0: never)", .wants = "a time such as 12h or 1d, or 0" },
	{ "errands", AT(options, errands), .hidden = true },
	OPTIONS_END(struct options),
};

/* The service with its options: those of the command line win over those of the file. */
struct running {
	struct service_options service;
	const struct context *context;
	const struct options *command;
};

/* The file that was named, or the usual one if it is there. */
static int read_config(const struct options *command, struct config *config)
{
	const char *path = command->config ? command->config : CONFIG_DEFAULT;

	*config = (struct config){ .path = path, .verbs = verbs };
	if (!command->config && access(path, F_OK))
		return 0;
	return config_read(config, path, verbs);
}

/* Reads the run lines; returns how many are wrong, after a message for each. */
static int read_run_lines(const struct context *context, struct options *said, const struct config *config)
{
	struct context line = *context;
	int faults = 0;

	line.line = true;
	for (size_t i = 0; i < config->n; i++) {
		const struct config_line *at = &config->lines[i];
		int n = at->words.n;
		char where[512];

		if (at->verb->run != verb_run_service)
			continue;
		snprintf(where, sizeof(where), "%s:%u", config->path, at->number);
		log_where(where);
		said->config = NULL;
		if (options_read(&line, at->verb->options, said, &n, at->words.words))
			faults++;
		else if (n > 1)
			faults += fail("run: takes no '%s'", at->words.words[1]) == EXIT_ERROR;
		else if (said->config)
			faults += fail("run: --config cannot stand in a config file") == EXIT_ERROR;
		log_where(NULL);
	}
	/* If none is wrong, -q and -v of a line apply from now on. */
	line.line = context->line;
	line.json = context->json;
	line.pretty = context->pretty;
	options_log(faults ? context : &line);
	return faults;
}

/* Checks every command except run: returns how many are wrong, or -errno. */
static int check_lines(const struct context *context, const struct config *config, bool files)
{
	char where[512];
	int faults = 0;

	for (size_t i = 0; i < config->n; i++) {
		const struct config_line *line = &config->lines[i];
		int wrong = 0;

		snprintf(where, sizeof(where), "%s:%u", config->path, line->number);
		if (line->verb->run != verb_run_service)
			wrong = verb_check(context, &line->words, where, files);
		if (wrong < 0)
			return wrong;
		faults += wrong;
	}
	return faults;
}

/* `files`: it has to be there; otherwise one that is not there yet may come. */
static int check_hook(const struct context *context, const char *hook, bool files)
{
	int err;

	if (!hook || (!files && context->check))
		return 0;
	if (access(hook, F_OK))
		return files ? because(-errno, "%s: %s", hook, strerror(errno)) : 0;
	err = trust_file(hook, "what it runs");
	if (!err && files && access(hook, X_OK))
		err = because(-errno, "%s: %s", hook, strerror(errno));
	return err;
}

/* `read`: also what is in the file. */
static int check_token(const char *path, bool listens, bool read)
{
	struct token token;
	int err = 0;

	if (path && !listens)
		err = because(-EINVAL, "there is no --listen that it would be for");
	else if (path && read)
		err = token_read(&token, path);
	explicit_bzero(&token, sizeof(token));
	return err;
}

/* The command line's options win. Faults have been reported. */
static int take_options(struct running *r, const struct options *said, bool files)
{
	const struct options *command = r->command;
	struct service_options *service = &r->service;
	struct listen_options listen = { command->listen ?: said->listen, command->hosts ?: said->hosts,
					 command->token ?: said->token, command->page || said->page };
	const char *hook = command->hook ?: said->hook, *of = "hook";
	struct sockaddr_storage at;
	int err = check_hook(r->context, hook, files);

	if (!err) {
		of = "listen-token";
		err = check_token(listen.token, listen.address, files || !r->context->check);
	}
	if (!err && listen.address) {
		of = "listen";
		err = web_address(&at, listen.address);
	}
	if (!err && listen.page && !listen.address) {
		of = "page";
		err = because(-EINVAL, "there is no --listen that it would be for");
	}
	if (err) {
		fail("run: --%s: %s", of, reason(err));
		return err;
	}
	service->hook = hook;
	service->listen = listen;
	service->rotate_every = command->rotate_every.given ? (long)command->rotate_every.value
				: said->rotate_every.given  ? (long)said->rotate_every.value
							    : DAY;
	return 0;
}

/* Reads and checks the file; `files`: also the files that it names. Faults have been reported. */
static int configure(struct service_options *service, struct config *config, bool files)
{
	struct running *r = (struct running *)service;
	struct options said = { 0 };
	int err = read_config(r->command, config), faults = err ?: check_lines(r->context, config, files);

	if (faults < 0) {
		err = faults;
		fail("%s", reason(err));
	} else {
		faults += read_run_lines(r->context, &said, config);
		err = faults ? -EINVAL : take_options(r, &said, files);
	}
	if (err)
		config_free(config);
	return err;
}

static int check(struct running *r)
{
	const struct context *context = r->context;
	struct config config;
	int n;

	if (configure(&r->service, &config, context->check == CHECK_FILES))
		return EXIT_ERROR;
	n = (int)config.n;
	config_free(&config);
	if (context->json)
		return out_json(context, json_pack("{s:o, s:i}", "config", out_text(config.path), "commands", n));
	if (!context->quiet && !n && access(config.path, F_OK))
		out_line("%s: there is none, and none is needed", config.path);
	else if (!context->quiet)
		out_line("%s: %d commands, all right", config.path, n);
	return out_end();
}

/* One service for each state directory. */
static int only_one(const struct context *context)
{
	char path[STATE_PATH_MAX];
	int err = state_make_directory(context->state);

	if (err)
		return err;
	return lock_take(state_path(path, context->state, STATE_SERVICE_LOCK), 0);
}

int verb_run_service(const struct call *call)
{
	struct running r = { .service.configure = configure, .context = call->context, .command = call->options };
	struct config config = { 0 };
	int lock, status = EXIT_ERROR;

	if (r.command->errands)
		return errand_serve(call->context);
	if (call->context->check)
		return check(&r);
	log_settings.kept = true;
	lock = only_one(call->context);
	if (lock < 0)
		return fail("%s", reason(lock));
	if (!configure(&r.service, &config, false))
		status = service_run(call->context, &r.service, &config);
	config_free(&config);
	close(lock);
	return status;
}
