/* SPDX-License-Identifier: GPL-2.0-only */
/* By which proxy lists are fetched: one line of a file, as it may have a password in it. */
#ifndef FETCH_PROXY_H
#define FETCH_PROXY_H

#include "fetch/request.h"

/* XDP_BLOOM_PROXY names another. */
#define PROXY_FILE "/etc/xdp-bloom.proxy"

/* "" where there is no such file. 0, or -errno with the reason recorded, which has nothing of what is in the file. */
int proxy_read(char proxy[FETCH_URL_MAX]);

#endif
