/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the filter of a state is. The state's directory can be seen from other mount namespaces, which have other pins,
 * and pins from other network namespaces, which have other interfaces.
 */
#ifndef CHANGE_HOME_H
#define CHANGE_HOME_H

struct change;
struct context;

/*
 * Before anything else of a change. Sets context->abroad: what is to be filtered is in another network namespace, where
 * interfaces come and go unseen. -EXDEV with the reason recorded where the filter in force is at other pins than those
 * that are seen here: what this command did would be in force nowhere.
 */
int home_look(struct change *change);
/* Whoever attaches is at home, unless some are filtered elsewhere. */
int home_settle(struct change *change);
/* Of a command that did something: what it left alone. */
void home_say(const struct context *context);

#endif
