// SPDX-License-Identifier: GPL-2.0-only
/* batch: many commands from a file, all of them or none, and at most one new generation */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "cmd.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "verbs.h"
#include "words.h"

#define SAID (-ECANCELED)

struct batch {
	const char *name;
	size_t commands;
};

/* One line, as the command line would run it; what it says goes out under the line's name. */
static int run_line(void *arg, const struct words *w, unsigned int line)
{
	const char *state = opt_state, *bpffs = opt_bpffs;
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
	else
		status = verb->run(w->n, w->words);
	if (!status && (strcmp(state, opt_state) || strcmp(bpffs, opt_bpffs)))
		status = fail("-S and -B stand before batch; nothing was changed");
	opt_state = state;
	opt_bpffs = bpffs;
	log_where(NULL);
	b->commands++;
	return status ? SAID : 0;
}

static int run_file(struct batch *b, FILE *file)
{
	bool json = opt_json, quiet = opt_quiet, pretty = opt_pretty;
	int err = change_join();

	/* Nothing is done before all of it is: no line has a success to report. */
	opt_json = opt_pretty = false;
	opt_quiet = true;
	if (!err)
		err = change_join_end(words_file(file, b->name, run_line, b));
	opt_json = json;
	opt_pretty = pretty;
	opt_quiet = quiet;
	return err;
}

int cmd_batch(int argc, char **argv)
{
	struct batch b = { 0 };
	struct generation live;
	FILE *file;
	int err;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc != 2)
		return fail("batch: which file? (- reads standard input)");
	b.name = strcmp(argv[1], "-") ? argv[1] : "standard input";
	file = strcmp(argv[1], "-") ? fopen(argv[1], "re") : stdin;
	if (!file)
		return fail("%s: %s", argv[1], strerror(errno));
	err = run_file(&b, file);
	if (file != stdin)
		fclose(file);
	if (err == SAID)
		return EXIT_ERROR;
	if (err)
		return fail("%s; nothing was changed", reason(err));
	if (!opt_json)
		return EXIT_DONE;
	return out_json(json_pack("{s:I, s:I}", "generation", kernel_live(&live) ? 0 : (json_int_t)live.number,
				  "commands", (json_int_t)b.commands));
}
