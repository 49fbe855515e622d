/* SPDX-License-Identifier: GPL-2.0-only */
/* The decisions of a CrowdSec agent, as its local API gives them to bouncers. */
#ifndef FEEDS_CROWDSEC_H
#define FEEDS_CROWDSEC_H

#include <stdbool.h>

struct context;

struct crowdsec_options {
	const char *url, *key_file;
	const char *user; /* whose agent is believed on this machine, beside root's; NULL: nobody's */
	double every;	  /* seconds */
	bool insecure, lan;
};

/*
 * Until SIGINT or SIGTERM. Its bans are those whose reason begins with "crowdsec ": no other is ever taken out. 0 or
 * -errno with the reason recorded.
 */
int follow_crowdsec(struct context *context, const struct crowdsec_options *options);

#endif
