/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs. Each takes its own name and operands, prints what there is to say, and returns the exit status. */
#ifndef VERBS_CMD_H
#define VERBS_CMD_H

#include "base/context.h"

int cmd_attach(struct context *context, int argc, char **argv);
int cmd_detach(struct context *context, int argc, char **argv);

int cmd_load(struct context *context, int argc, char **argv);
/* load with --image */
int cmd_load_image(struct context *context, int argc, char **argv);
int cmd_save(struct context *context, int argc, char **argv);
int cmd_image(struct context *context, int argc, char **argv);
int cmd_unload(struct context *context, int argc, char **argv);
int cmd_lists(struct context *context, int argc, char **argv);
int cmd_enforce(struct context *context, int argc, char **argv);
int cmd_shadow(struct context *context, int argc, char **argv);

int cmd_add(struct context *context, int argc, char **argv);
int cmd_del(struct context *context, int argc, char **argv);
int cmd_bans(struct context *context, int argc, char **argv);
int cmd_batch(struct context *context, int argc, char **argv);

int cmd_allow(struct context *context, int argc, char **argv);
int cmd_disallow(struct context *context, int argc, char **argv);

int cmd_confirm(struct context *context, int argc, char **argv);

int cmd_plan(struct context *context, int argc, char **argv);

int cmd_tune(struct context *context, int argc, char **argv);

int cmd_test(struct context *context, int argc, char **argv);

int cmd_show(struct context *context, int argc, char **argv);
int cmd_stats(struct context *context, int argc, char **argv);

int cmd_top(struct context *context, int argc, char **argv);
int cmd_report(struct context *context, int argc, char **argv);
int cmd_metrics(struct context *context, int argc, char **argv);

int cmd_watch(struct context *context, int argc, char **argv);
int cmd_capture(struct context *context, int argc, char **argv);

int cmd_rotate(struct context *context, int argc, char **argv);
int cmd_flush(struct context *context, int argc, char **argv);
int cmd_restore(struct context *context, int argc, char **argv);

int cmd_run(struct context *context, int argc, char **argv);

int cmd_state(struct context *context, int argc, char **argv);

int cmd_set(struct context *context, int argc, char **argv);
int cmd_compare(struct context *context, int argc, char **argv);

#endif
