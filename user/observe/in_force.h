/* SPDX-License-Identifier: GPL-2.0-only */
/* The generation in force and what can be measured of it, for show, metrics and top. */
#ifndef OBSERVE_IN_FORCE_H
#define OBSERVE_IN_FORCE_H

#include "filter/arrays.h"
#include "image/image.h"
#include "filter/layout.h"
#include "filter/measured_rate.h"

struct context;

struct inforce {
	struct generation g;
	struct stage_bytes bytes;
	double bits_per_key, asked;	    /* asked 0: not known */
	double verdict4, verdict6, verdict; /* the share of innocent addresses that is dropped; the larger one */
	struct rate rate;
	struct sizing sizing;
	char image[IMAGE_ID_MAX], saved[32]; /* of the image in force; "": there is none */
};

/* All zero where nothing is loaded. 0 or -errno with the reason recorded. */
int inforce_take(const struct context *context, struct inforce *inforce);

#endif
