/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VERBS_VERB_EVENT_H
#define VERBS_VERB_EVENT_H

#include "base/verb.h"

/* A verb has ended, under the context that it was called with: an event if it changed something, or was refused. */
void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status);

#endif
