/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs. Each prints what there is to say, and returns the exit status. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include "base/verb.h"

extern const struct verb verb_add, verb_allow, verb_attach, verb_bans, verb_batch, verb_capture, verb_compare,
	verb_confirm, verb_del, verb_detach, verb_disallow, verb_enforce, verb_flush, verb_image, verb_lists, verb_load,
	verb_load_image, verb_metrics, verb_plan, verb_report, verb_restore, verb_rotate, verb_run_service, verb_save,
	verb_set, verb_shadow, verb_show, verb_state, verb_stats, verb_test, verb_top, verb_tune, verb_unload,
	verb_watch;

/* All of them, in the order of the help; ended by NULL. */
extern const struct verb *const verbs[];

/*
 * Could this line of a file of commands be said? `files`: and is what it names there and right? 0, or 1 where it is
 * wrong, and has said why under the name of the place; -EAGAIN where nobody could look.
 */
int verb_check(const struct context *context, const struct words *line, const char *where, bool files);

/* All verbs, or one of them. */
int verbs_help(void);
int verb_help(const struct verb *verb);
/* For completions: a verb's options and the common ones, one a line; without a verb the common ones and the verbs. */
int verbs_list(const char *name);

#endif
