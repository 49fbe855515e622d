/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs: the one table, and what it is made of. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include "base/verb.h"

/* In the order of the help. */
extern const struct verb verbs[];

/* Each prints what there is to say, and returns the exit status. */
verb_fn verb_add, verb_allow, verb_attach, verb_bans, verb_batch, verb_capture, verb_compare, verb_confirm, verb_del,
	verb_detach, verb_disallow, verb_enforce, verb_flush, verb_image, verb_lists, verb_load, verb_load_image,
	verb_metrics, verb_plan, verb_report, verb_restore, verb_rotate, verb_run_service, verb_save, verb_set,
	verb_shadow, verb_show, verb_state, verb_stats, verb_test, verb_top, verb_tune, verb_unload, verb_watch;
extern const struct option_spec add_options[], attach_options[], capture_options[], compare_options[],
	confirm_options[], del_options[], detach_options[], force_options[], image_options[], load_image_options[],
	load_list_options[], plan_options[], report_options[], run_service_options[], set_options[], stats_options[],
	tune_options[];

/* Of verbs that ask the guard rails. */
struct force_options {
	bool force;
};

/*
 * Could this line of a file of commands be said? `files`: and is what it names there and right? 0, or 1 where it is
 * wrong, and has said why under the name of the place; -EAGAIN where nobody could look.
 */
int verb_check(const struct context *context, const struct words *line, const char *where, bool files);

/* All verbs, or one of them. */
int verbs_help(void);
int verb_help(const char *name);
/* For completions: a verb's options and the common ones, one a line; without a verb the common ones and the verbs. */
int verbs_list(const char *name);

/* A verb has ended, under the context that it was called with: an event if it changed something, or was refused. */
void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status);

#endif
