/* SPDX-License-Identifier: GPL-2.0-only */
/* How much sources send, and the limits that follow from it, as a document. */
#ifndef OBSERVE_SENDERS_JSON_H
#define OBSERVE_SENDERS_JSON_H

#include <jansson.h>

#include "observe/senders.h"

/* one_in: of how many sources one was followed before. 0 or -ENOMEM. */
int senders_json(const struct senders *senders, uint64_t one_in, json_t **object);

#endif
