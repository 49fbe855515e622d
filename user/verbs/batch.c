// SPDX-License-Identifier: GPL-2.0-only
/* batch: many commands from a file, all of them or none, and at most one new generation */
#include <sys/stat.h>

#include "change/change.h"
#include "base/errand.h"
#include "kernel/live.h"
#include "base/progress.h"
#include "base/stdin.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#define SAID (-ECANCELED)

/* How far it is is not asked for each. */
#define LINES_A_LOOK 256

struct batch {
	const struct context *context, *whole; /* of a line, and of the command */
	int fd;
	const char *name;
	size_t commands, faults;
};

static int run_line(void *arg, const struct words *w, unsigned int line)
{
	struct batch *b = arg;
	struct context line_context = *b->context; /* its options are its own */
	const struct verb *verb = verb_find(verbs, w);
	struct nearest near = { .word = w->words[0] };
	char where[512];
	int status;

	snprintf(where, sizeof(where), "%s:%u", b->name, line);
	log_where(where);
	if (!verb) {
		status = fail("there is no verb '%s'%s; nothing was changed", near.word, verb_meant(&near, ""));
	} else if (!(verb->flags & VERB_JOINS)) {
		status = fail("'%s' does not go into a batch; nothing was changed", verb->name);
	} else if (errand.here && !(verb->flags & VERB_ERRAND)) {
		status = errand_decline("a batch of more than bans");
	} else if (b->context->check) {
		status = verb_check(b->context, w, where, b->context->check == CHECK_FILES);
	} else {
		status = verb_run(verb, &line_context, w);
	}
	log_where(NULL);
	if (!(++b->commands % LINES_A_LOOK))
		progress(b->whole, "reading the commands", progress_of(b->fd));
	if (!status)
		return 0;
	b->faults++;
	/* A check reports everything that is wrong. */
	return status < 0 ? status : b->context->check ? 0 : SAID;
}

static int check_file(struct batch *b, FILE *file)
{
	int err = words_file(file, b->name, run_line, b);

	return !err && b->faults ? SAID : err;
}

/* Who is allowed is known at the end: a later line may allow what an earlier one bans. */
static void say_made(const struct change *change)
{
	if (change->context->warns)
		say_exempt(change);
}

/* Runs each line as the command line would; messages begin with the place of the line. */
static int run_file(struct batch *b, FILE *file)
{
	const struct context *whole = b->context;
	struct context line = *whole;
	int err = change_join(&line);

	/* Nothing is done before the end of the batch: no line reports success. */
	line.json = line.pretty = false;
	line.quiet = line.line = true;
	line.warns = !whole->quiet;
	log_by_kind(true);
	b->context = &line;
	if (!err)
		err = change_join_end(&line, words_file(file, b->name, run_line, b), say_made);
	b->context = whole;
	options_log(whole);
	log_where(b->name);
	log_by_kind(false);
	log_where(NULL);
	return err;
}

/* Read a pipe to its end before taking the lock: its writer may be slow, and other commands must not wait for it. */
static int open_file(const char *path, FILE **file)
{
	bool input = errand.here || !strcmp(path, "-");
	struct stat st;
	int fd;

	*file = input ? stdin : fopen(path, "re");
	if (!*file || fstat(fileno(*file), &st))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		return 0;
	fd = standard_keep(fileno(*file));
	if (!input)
		fclose(*file);
	*file = NULL;
	if (fd < 0)
		return because(fd, "%s: %s", input ? "standard input" : path, reason(fd));
	*file = fdopen(fd, "r");
	return *file ? 0 : because(-errno, "%s: %s", input ? "standard input" : path, strerror(errno));
}

static int report(const struct batch *b)
{
	if (b->context->check && !b->context->json && !b->context->quiet)
		out_line("%s: %zu commands, all right", b->name, b->commands);
	if (!b->context->json)
		return out_end();
	return out_json(b->context,
			json_pack("{s:I, s:I}", "generation", (json_int_t)kernel_live_generation(b->context),
				  "commands", (json_int_t)b->commands));
}

int verb_batch(const struct call *call)
{
	const char *path = call->operands[0];
	struct batch b = { .context = call->context, .whole = call->context, .name = path };
	FILE *file = NULL;
	int err = 0, status;

	if (!strcmp(b.name, "-")) {
		b.name = "standard input";
		err = standard_input(call->context);
	}
	if (!err)
		err = open_file(path, &file);
	if (!err)
		b.fd = fileno(file);
	if (!err && errand_sent(call, b.fd, &status)) {
		if (file != stdin)
			fclose(file);
		return status;
	}
	if (!err)
		err = b.context->check ? check_file(&b, file) : run_file(&b, file);
	progress_end();
	if (file && file != stdin)
		fclose(file);
	if (err == SAID)
		return EXIT_ERROR;
	if (err)
		return fail("%s; nothing was changed", reason(err));
	return report(&b);
}
