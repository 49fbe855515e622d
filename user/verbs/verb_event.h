/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VERBS_VERB_EVENT_H
#define VERBS_VERB_EVENT_H

/* A verb has ended: an event if it changed something, or was refused. */
void event_verb(int argc, char *const *argv, int status);

#endif
