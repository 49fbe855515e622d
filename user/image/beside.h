/* SPDX-License-Identifier: GPL-2.0-only */
/* An image with live bans and exceptions beside it: what a machine that has no lists was asked for since. */
#ifndef IMAGE_BESIDE_H
#define IMAGE_BESIDE_H

#include <stdbool.h>

#include "sets/ranges.h"

struct build_how;
struct generation;
struct image;
struct settings;

struct beside {
	struct ranges lasting, ending; /* bans; those that end, where they have a label of their own */
	struct ranges allowed;
	/* What has no place is left out, and that is reported. Otherwise it is refused. */
	bool leave_out;
	bool arrives; /* the image: it is not in force yet */
};

bool beside_any(const struct beside *beside);
void beside_free(struct beside *beside);

/*
 * The image's arrays with all that beside them, every key checked. With a roster IPv4 is built again, so whatever is
 * asked for has its place; of IPv6 the arrays have only tags, and without a roster only bits: there an edit must do.
 * `how` says whose memory the arrays are. 0, or -errno with the reason recorded and nothing left.
 */
int beside_build(struct generation *g, const struct image *image, const struct beside *beside,
		 const struct settings *settings, const struct build_how *how);

/* Does the image by itself ban any of this as a live ban? Then an edit cannot tell whose it is. */
bool beside_is_live(const struct image *image, const struct ranges *set);

#endif
