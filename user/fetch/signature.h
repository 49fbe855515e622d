/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a list signed by the key that it should be? As minisign does it, by libsodium: xdp-bloom-fetch alone has that. */
#ifndef FETCH_SIGNATURE_H
#define FETCH_SIGNATURE_H

#include <stddef.h>

struct fetch_answer;

/* Before the process gives up its rights: what the library reads once. 0 or -errno with the reason recorded. */
int signature_begin(void);
/*
 * key: as public_key_read() gives it; text: a .minisig file. The outcome is FETCH_SIGNED, with what the trusted comment
 * says, or FETCH_FAILED, with why.
 */
void signature_check(const char *key, const char *text, size_t length, int list, struct fetch_answer *answer);

#endif
