/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs. Each takes its own name and operands, prints what there is to say, and returns the exit status. */
#ifndef VERBS_CMD_H
#define VERBS_CMD_H

int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);

int cmd_load(int argc, char **argv);
/* load with --image */
int cmd_load_image(int argc, char **argv);
int cmd_save(int argc, char **argv);
int cmd_image(int argc, char **argv);
int cmd_unload(int argc, char **argv);
int cmd_lists(int argc, char **argv);
int cmd_enforce(int argc, char **argv);
int cmd_shadow(int argc, char **argv);

int cmd_add(int argc, char **argv);
int cmd_del(int argc, char **argv);
int cmd_bans(int argc, char **argv);
int cmd_batch(int argc, char **argv);

int cmd_allow(int argc, char **argv);
int cmd_disallow(int argc, char **argv);

int cmd_confirm(int argc, char **argv);

int cmd_plan(int argc, char **argv);

int cmd_tune(int argc, char **argv);

int cmd_test(int argc, char **argv);

int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);

int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_metrics(int argc, char **argv);

int cmd_watch(int argc, char **argv);
int cmd_capture(int argc, char **argv);

int cmd_rotate(int argc, char **argv);
int cmd_flush(int argc, char **argv);
int cmd_restore(int argc, char **argv);

int cmd_run(int argc, char **argv);

int cmd_state(int argc, char **argv);

int cmd_set(int argc, char **argv);
int cmd_compare(int argc, char **argv);

#endif
