// SPDX-License-Identifier: GPL-2.0-only
/* batch: many commands from a file, all of them or none, and at most one new generation */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "change/change.h"
#include "verbs/cmd.h"
#include "kernel/live.h"
#include "base/log.h"
#include "base/out.h"
#include "base/stdin.h"
#include "verbs/verbs.h"
#include "base/words.h"

#define SAID (-ECANCELED)

struct batch {
	struct context *context;
	const char *name;
	size_t commands, faults;
};

static int run_line(void *arg, const struct words *w, unsigned int line)
{
	struct batch *b = arg;
	const struct verb *verb = verb_find(w->words[0]);
	char where[512];
	int status;

	snprintf(where, sizeof(where), "%s:%u", b->name, line);
	log_where(where);
	if (!verb)
		status = fail("there is no verb '%s'; nothing was changed", w->words[0]);
	else if (!verb->joins)
		status = fail("'%s' does not go into a batch; nothing was changed", verb->name);
	else if (opt_check)
		status = verb_check(b->context, w, where, !opt_check_words);
	else
		status = verb->run(b->context, w->n, w->words);
	log_where(NULL);
	b->commands++;
	if (!status)
		return 0;
	b->faults++;
	/* Who checks wants to know of all that is wrong. */
	return status < 0 ? status : opt_check ? 0 : SAID;
}

static int check_file(struct batch *b, FILE *file)
{
	int err = words_file(file, b->name, run_line, b);

	return !err && b->faults ? SAID : err;
}

/* Each line as the command line would run it; what it says goes out under the line's name. */
static int run_file(struct batch *b, FILE *file)
{
	bool json = opt_json, quiet = opt_quiet, pretty = opt_pretty, verbose = opt_verbose;
	int err = change_join(b->context);

	/* Nothing is done before all of it is: no line has a success to report. */
	opt_json = opt_pretty = false;
	opt_quiet = opt_line = true;
	if (!err)
		err = change_join_end(b->context, words_file(file, b->name, run_line, b));
	opt_line = false;
	opt_json = json;
	opt_pretty = pretty;
	opt_quiet = quiet;
	opt_verbose = verbose;
	return err;
}

/* What is no file is read to its end first: whoever writes it may take his time, and nobody is to wait for him. */
static int open_file(const char *path, FILE **file)
{
	bool input = !strcmp(path, "-");
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
	*file = fd < 0 ? NULL : fdopen(fd, "r");
	return *file ? 0 : because(-errno, "%s: %s", input ? "standard input" : path, strerror(errno));
}

static int report(const struct batch *b)
{
	struct generation live;

	if (opt_check && !opt_json && !opt_quiet)
		printf("%s: %zu commands, all right\n", b->name, b->commands);
	if (!opt_json)
		return out_end();
	return out_json(json_pack("{s:I, s:I}", "generation", kernel_live(&live) ? 0 : (json_int_t)live.number,
				  "commands", (json_int_t)b->commands));
}

int cmd_batch(struct context *context, int argc, char **argv)
{
	struct context lines = *context; /* the options of a line are its own */
	struct batch b = { .context = &lines };
	FILE *file = NULL;
	int err = 0;

	if (options_read(context, &argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc != 2)
		return fail("batch: which file? (- reads standard input)");
	b.name = argv[1];
	if (!strcmp(b.name, "-")) {
		b.name = "standard input";
		err = standard_input();
	}
	if (!err)
		err = open_file(argv[1], &file);
	if (!err)
		err = opt_check ? check_file(&b, file) : run_file(&b, file);
	if (file && file != stdin)
		fclose(file);
	if (err == SAID)
		return EXIT_ERROR;
	if (err)
		return fail("%s; nothing was changed", reason(err));
	return report(&b);
}
