// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/out.h"

const struct verb *const verbs[] = {
	&verb_attach,  &verb_detach,	  &verb_load,	 &verb_load_image, &verb_save,	  &verb_unload,	  &verb_enforce,
	&verb_shadow,  &verb_add,	  &verb_del,	 &verb_bans,	   &verb_allow,	  &verb_disallow, &verb_batch,
	&verb_confirm, &verb_lists,	  &verb_test,	 &verb_show,	   &verb_stats,	  &verb_top,	  &verb_report,
	&verb_metrics, &verb_watch,	  &verb_capture, &verb_plan,	   &verb_tune,	  &verb_rotate,	  &verb_flush,
	&verb_restore, &verb_run_service, &verb_state,	 &verb_set,	   &verb_compare, &verb_image,	  NULL,
};

/* In a process of its own: --check ends it. */
int verb_check(const struct context *context, const struct words *w, const char *where, bool files)
{
	struct context line = *context;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		log_where(where);
		line.line = true;
		line.check = files ? CHECK_FILES : CHECK_WORDS;
		status = verb_run(verb_find(verbs, w), &line, w);
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return because(-EAGAIN, "%s: no process to check it", where);
	return status != 0;
}

int verbs_help(void)
{
	puts("usage: xdp-bloom [OPTIONS] VERB [ARGS]\n");
	for (size_t i = 0; verbs[i]; i++)
		printf("  %-8s %-52s %s\n", verbs[i]->name, verbs[i]->operands, verbs[i]->does);
	puts("\n'xdp-bloom help VERB' shows the options of one. Those of all:\n");
	options_help(options_common);
	puts("  -V, --version\n  -h, --help\n\n"
	     "Exit status: 0 done, or every address banned; 1 (test) some address passes; 2 error, nothing changed.");
	return out_end();
}

int verb_help(const struct verb *verb)
{
	for (size_t i = 0; verbs[i]; i++) {
		if (strcmp(verbs[i]->name, verb->name) != 0)
			continue;
		printf("xdp-bloom %s %s\n  %s\n", verb->name, verbs[i]->operands, verbs[i]->does);
		options_help(verbs[i]->options);
	}
	return out_end();
}

int verbs_list(const char *name)
{
	for (size_t i = 0; verbs[i]; i++) {
		if (!name && (!i || strcmp(verbs[i]->name, verbs[i - 1]->name) != 0))
			puts(verbs[i]->name);
		if (!name || strcmp(verbs[i]->name, name) != 0)
			continue;
		if (verbs[i]->completes && !verbs[i]->with)
			printf("\t%s\n", verbs[i]->completes);
		options_list(verbs[i]->options);
	}
	options_list(options_common);
	return out_end();
}
