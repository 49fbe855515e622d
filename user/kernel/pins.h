/* SPDX-License-Identifier: GPL-2.0-only */
/* The pins under the bpffs directory, and messages for what the kernel refuses. */
#ifndef KERNEL_PINS_H
#define KERNEL_PINS_H

#include <dirent.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct context;

#define NEEDED_CAPABILITIES "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"

#define PIN_PATH_MAX 256

#define PIN_PROGRAM "program"
#define PIN_ASK	    "ask"
#define PIN_META    "meta"
/* Of a generation on trial: its program that reads the clock, what that calls later, and struct trial. */
#define PIN_TRIAL	 "trial"
#define PIN_TRIAL_BEFORE "before"
#define PIN_TRIAL_TERM	 "term"

/* What asks about more than sources (MATCH_...) has pins of its own; the last three are of a generation. */
struct match_pins {
	const char *slot, *root, *bare, *program, *trial, *before;
};
extern const struct match_pins match_pins[MATCH_KINDS];

void pin_path(const struct context *context, char path[PIN_PATH_MAX], const char *name);
/* A generation's directory, or with a name one of its pins. */
void pin_generation_path(const struct context *context, char path[PIN_PATH_MAX], __u64 number, const char *name);
/* Does something of that name in the bpffs directory come from us? */
bool pin_is_ours(const char *name);
/* A pin, or a directory with all that is in it. */
void pin_remove(const char *path);

/*
 * What lies in a directory: pin_directory() opens it, NULL where there is none, and pin_next() names one after the
 * other. After the last it is closed, and NULL.
 */
DIR *pin_directory(const struct context *context, const char *name);
const char *pin_next(DIR **dir);

/* A descriptor, or -errno. */
int pin_get(const struct context *context, const char *name);

/* Of Linux 6.6, which older headers do not have. */
#define LINK_TCX	   11
#define ATTACH_TCX_INGRESS 46
#define ATTACH_TCX_EGRESS  47

/* What stands behind a descriptor. */
struct pinned {
	enum pinned_kind { PINNED_OTHER, PINNED_MAP, PINNED_PROGRAM, PINNED_LINK } kind;
	__u32 id;
	__u32 type, key_size, value_size, max_entries; /* of a map */
	__u32 n_maps, maps[64];			       /* of a program: what it uses, which is little */
	bool jitted;
	__u32 ifindex, program; /* of a link: 0 where it is attached to nothing; program: its own, of one */
	char name[16];		/* of a map or a program */
};
/* 0 or -errno. */
int pinned_info(int fd, struct pinned *pinned);
bool pinned_uses(const struct pinned *program, __u32 map);
/* For a message: "map 17 'counters' (array)". */
#define PINNED_TEXT_MAX 64
const char *pinned_text(char text[PINNED_TEXT_MAX], const struct pinned *pinned);

/*
 * One of the maps that all generations share: a descriptor, or -errno; -EBADF with the reason recorded, if the pin is
 * another map's.
 */
int pin_shared_map(const struct context *context, const char *name);
/* Its number, 0 where there is none; and may there be one of that number still, wherever it is pinned? */
__u32 pin_shared_id(const struct context *context, const char *name);
bool pin_shared_lives(__u32 id);
/* The root program, which the kernel knows by its name. *frags: it takes packets that lie in several buffers. */
#define ROOT_PLAIN  "xdp_bloom_root"
#define ROOT_BEGINS "xdp_bloom_" /* all of them, and those on trial */
#define ROOT_FRAGS  "xdp_bloom_frags"
int pin_root(const struct context *context, bool *frags);
/* Is that one here, and calls the slot of that number? */
bool pin_root_calls(const struct context *context, __u32 slot);
/* That of another match, or of interfaces without a link's header: -ENOENT where there is none, or its slot is another.
 */
#define ROOT_BARE "xdp_bloom_bare"
int pin_root_of(const struct context *context, unsigned int match, bool bare);
/* pin_shared_map() for all of them, those that are not there left out: 0 or -EBADF. */
int pins_are_ours(const struct context *context);

/*
 * 0, or why there can be no pins; -EXDEV: they would go with this process. *mounts: a bpffs has to be mounted first,
 * where it usually is.
 */
int pins_may(const struct context *context, bool *mounts);
/* Of who goes on running: what it mounts from now on does not go with it at once. */
void pins_stay(void);
/* An error where there is no bpffs, nor can be one. Makes the directories: an error unless they are ours. */
int pins_ready(const struct context *context, bool make);
bool pins_are_there(const struct context *context);
/* Under the state's lock: directories that this process made, and in which nothing came into force, go. */
void pins_leave(const struct context *context);

/* Records the reason, in an operator's words, and returns err. */
int because_kernel(int err, const char *what);
/* The same for a program that does not load. */
int because_program(int err, const char *what);

#endif
