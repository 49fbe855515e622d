/* SPDX-License-Identifier: GPL-2.0-only */
/* What would be in the way of the filter, said before anything is attached. Nothing is changed. */
#ifndef OBSERVE_DOCTOR_H
#define OBSERVE_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/attachment.h"

struct context;
struct host;
struct port;

struct finding {
	enum { FOUND_PROBLEM, FOUND_NOTE, FOUND_OK } level; /* problem: attach would fail */
	char about[24];
	bool is_interface; /* that is its name */
	char text[400];
};
extern const char *const finding_levels[];

struct findings {
	struct finding *of;
	size_t n;
	bool lost; /* no memory for some */
};

/*
 * Of the machine, and of these interfaces; without names of all, where only what was attached or remembered can be a
 * problem. The worst comes first. free() what it found.
 */
void doctor(const struct context *context, char *const *names, int n, struct findings *found);

/* The parts that only judge what was seen. frags: the kernel takes programs for packets in several buffers. */
void doctor_host(const struct host *host, struct findings *found);
/* jitted: is the program that was tried? -1: none was. */
void doctor_jit(const struct host *host, int jitted, struct findings *found);
/* The mode that attach will take, as far as that can be told; MODE_AUTO: it cannot. */
enum attach_mode doctor_mode(const struct host *host, const struct port *port, bool frags, struct findings *found);

#endif
