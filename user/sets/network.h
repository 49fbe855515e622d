/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose a network is: as a table of networks says. */
#ifndef SETS_NETWORK_H
#define SETS_NETWORK_H

#include <stdint.h>

#define NETWORK_NAME_MAX 64

struct network {
	uint32_t asn;	 /* 0: not known */
	char country[4]; /* two capital letters, or "" */
	char name[NETWORK_NAME_MAX];
};

#endif
