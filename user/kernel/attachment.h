/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter on an interface, and the pin that stands for it. */
#ifndef KERNEL_ATTACHMENT_H
#define KERNEL_ATTACHMENT_H

#include <net/if.h>
#include <stdbool.h>

#include "kernel/pins.h"

enum attach_mode { MODE_AUTO, MODE_NATIVE, MODE_SKB };

struct attachment {
	char name[IF_NAMESIZE];
	enum attach_mode mode; /* never MODE_AUTO once attached */
	bool shared;	       /* through libxdp */
	bool gone;	       /* the interface has vanished, or another program took it out of a dispatcher */
	bool moved;	       /* still filtering, but under another name or in another network namespace */
	unsigned int ifindex;  /* where it filters; 0: nowhere */
};

extern const char *const attach_mode_names[];

/* How the pin's name ends behind a dispatcher: there it is a program's, not a link's. */
#define ATTACH_SHARED "%shared"
void attachment_pin(const struct context *context, char path[PIN_PATH_MAX], const char *ifname, bool shared);
/* The reverse, from the name of a pin's file; false for one that is none of ours. */
bool attachment_of_pin(const char *file, struct attachment *at);

#endif
