/* SPDX-License-Identifier: GPL-2.0-only */
/* This machine's bans as blackhole routes of a table of the kernel, which a routing daemon tells others. */
#ifndef FEEDS_ANNOUNCE_H
#define FEEDS_ANNOUNCE_H

#include <stdbool.h>
#include <stddef.h>

struct context;

struct announce_options {
	unsigned int table;
	int family;  /* 4 or 6; 0: both */
	size_t most; /* routes */
	bool clean;  /* at its end they are taken out; as always at that by STOP_FOR_GOOD */
};

/* Until SIGTERM or SIGINT. 0 or -errno with the reason recorded. */
int announce(struct context *context, const struct announce_options *options);

/* The tables that there were announcements in, as this state knows them. */
#define ANNOUNCED_MOST 64
struct announced {
	unsigned int table[ANNOUNCED_MOST];
	size_t n;
};
void announced_find(struct announced *announced, const struct context *context);
/* Takes all routes of ours out of them. What fails is a warning. */
void announced_clean(const struct announced *announced);

#endif
