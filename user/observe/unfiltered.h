/* SPDX-License-Identifier: GPL-2.0-only */
/* An interface that is to be filtered and is not, and why: status and the service say the same of it. */
#ifndef OBSERVE_UNFILTERED_H
#define OBSERVE_UNFILTERED_H

#include "base/label.h"
#include "kernel/attach.h"
#include "kernel/drivers.h"

struct unfiltered {
	char label[LABEL_MAX];
	char of[IF_NAMESIZE];	   /* it is to be filtered as a port of that one; "": for itself */
	char why[NATIVE_TEXT_MAX]; /* "": nothing is known to be in the way */
	bool missing;		   /* there is no such interface, so nothing passes it by */
};

/* Of those that the filter is on: is it on what has that name today? */
bool is_filtered(const struct attachment *on, size_t n, const char *name, unsigned int match);

/* It is to be filtered, as a port of `of` (NULL: for itself). False: it is. */
bool unfiltered(const struct context *context, const struct attachment *on, size_t n, const char *name,
		unsigned int match, const char *of, struct unfiltered *is);

#define UNFILTERED_TEXT_MAX (NATIVE_TEXT_MAX + 160)
const char *unfiltered_text(char text[UNFILTERED_TEXT_MAX], const struct unfiltered *is);

#endif
