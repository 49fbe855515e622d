/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks for a while at what passes: how much each source sends, for detect suggest, and for the service that learns. */
#ifndef OBSERVE_SUGGEST_H
#define OBSERVE_SUGGEST_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct senders;
struct taps;

struct suggest {
	const struct context *context;
	unsigned int one_in; /* sources; 0: by how much passes, and more where it becomes more */
	bool quiet;	     /* without progress */
	struct senders *senders;
	struct taps *taps;
	uint64_t missed; /* packets that came too fast */
	uint64_t read;	 /* in this second */
	double seconds;	 /* looked */
	int err;
};

/* For so long, or until stop_asked. 0 or -errno with the reason recorded; then suggest_free(). */
int suggest_look(struct suggest *suggest, double seconds);
void suggest_free(struct suggest *suggest);

#endif
