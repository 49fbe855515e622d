/* SPDX-License-Identifier: GPL-2.0-only */
/* The root on interfaces: through a pinned link of its own, or beside other programs through libxdp. */
#ifndef KERNEL_ATTACH_H
#define KERNEL_ATTACH_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

enum attach_mode { MODE_AUTO, MODE_NATIVE, MODE_SKB };

struct attachment {
	char name[IF_NAMESIZE];
	enum attach_mode mode; /* never MODE_AUTO once attached */
	bool shared;	       /* through libxdp */
	bool gone;	       /* the interface has vanished under it, or others took it out of a dispatcher */
	bool moved;	       /* it filters on, but under another name or in another network namespace */
	unsigned int ifindex;  /* where it filters; 0 where that is gone */
};

extern const char *const attach_mode_names[];

/*
 * Attaches to one interface; fills in what came of mode and shared. -EEXIST where it is attached already, -EXDEV where
 * what was attached under this name filters on elsewhere, and this one is open.
 */
int attach_one(struct attachment *at);
/* What of that can be said before it is tried. */
int attach_may(const struct attachment *at);
/* Both -ENOENT where the filter is not on that interface. */
int attach_find(const char *name);
int detach_one(const char *name);

/* Every link runs this root from now on: the one before was lost. */
int attach_new_root(int root);

/* Every interface that the filter is on, by the kernel's word; free() the list. */
int attach_list(struct attachment **list, size_t *n);

/* Behind a dispatcher the pin is a program's, not a link's: so its name ends. */
#define ATTACH_SHARED "%shared"
void attach_shared_pin(char *path, size_t size, const char *ifname);

#endif
