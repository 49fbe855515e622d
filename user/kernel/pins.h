/* SPDX-License-Identifier: GPL-2.0-only */
/* The pins under the bpffs directory, and messages for what the kernel refuses. */
#ifndef KERNEL_PINS_H
#define KERNEL_PINS_H

#include "bpf/abi.h"

struct context;

#define NEEDED_CAPABILITIES "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"

#define PIN_PATH_MAX 256

#define PIN_PROGRAM "program"
#define PIN_ASK	    "ask"
#define PIN_META    "meta"

void pin_path(const struct context *context, char path[PIN_PATH_MAX], const char *name);
/* A generation's directory, or with a name one of its pins. */
void pin_generation_path(const struct context *context, char path[PIN_PATH_MAX], __u64 number, const char *name);

/* A descriptor, or -errno. */
int pin_get(const struct context *context, const char *name);

/* Makes the directories; an error unless they are ours. */
int pins_ready(const struct context *context);

/* Records the reason, in an operator's words, and returns err. */
int because_kernel(int err, const char *what);
/* The same for a program that does not load. */
int because_program(int err, const char *what);

#endif
