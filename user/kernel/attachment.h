/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter on an interface, and the pin that stands for it. */
#ifndef KERNEL_ATTACHMENT_H
#define KERNEL_ATTACHMENT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/pins.h"

enum attach_mode { MODE_AUTO, MODE_NATIVE, MODE_SKB, MODE_TC };

struct attachment {
	char name[IF_NAMESIZE]; /* its own today, where it is in this network namespace */
	char as[IF_NAMESIZE];	/* the name under which it was attached */
	unsigned int
		set_aside; /* its pin has this number, too, as another interface is called `as` now; 0: it has not */
	enum attach_mode mode; /* never MODE_AUTO once attached */
	bool shared;	       /* through libxdp */
	bool bare;	       /* its packets begin with IP: it has a root of its own */
	unsigned int match;   /* which addresses are asked about: MATCH_..., or by tc MATCH_LEAVING(), MATCH_COMING() */
	bool gone;	      /* the interface has vanished, or another program took it out of a dispatcher */
	bool moved;	      /* still filtering, but in another network namespace */
	unsigned int behind;  /* so many programs are asked before it, and may let through what is banned (tcx) */
	unsigned int ifindex; /* where it filters; 0: nowhere */
	int64_t until;	      /* to be attached on trial, until then by clock_boot(); 0: for good */
};

extern const char *const attach_mode_names[], *const attach_mode_words[]; /* words: those that one may ask for */
extern const char *const match_names[];					  /* by MATCH_OF() */
extern const char *const match_texts[];					  /* "" or ", destinations" */
extern const char *const direction_names[];				  /* by MATCH_LEAVES() */

/* How the pin's name ends behind a dispatcher: there it is a program's, not a link's. */
#define ATTACH_SHARED "%shared"
/* And where packets have no header of a link. */
#define ATTACH_BARE "%ip"
/* Before these, what else than sources is asked about. What is behind '%' begins like no number in hex. */
#define ATTACH_TO   "%to"
#define ATTACH_BOTH "%or"
/* Of what leaves, by its destination, its source, or both. */
#define ATTACH_OUT	"%out"
#define ATTACH_OUT_FROM "%outfrom"
#define ATTACH_OUT_BOTH "%outor"
/* Of what comes in, by tc. */
#define ATTACH_IN      "%in"
#define ATTACH_IN_TO   "%into"
#define ATTACH_IN_BOTH "%inor"
/* Of an attachment, by what it was attached as. */
void attachment_path(const struct context *context, char path[PIN_PATH_MAX], const struct attachment *at);
/* By the detector: it looks at what comes in by XDP, where sources alone are asked about. */
bool attachment_is_watched(const struct attachment *at);
/* The reverse, from the name of a pin's file: name, as, set_aside, shared, bare, match; false for one that is none of
 * ours. */
bool attachment_of_pin(const char *file, struct attachment *at);

#endif
