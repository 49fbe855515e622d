/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 (FIPS 180-4). Written out here, as no command is to depend on a library of ciphers for one sum. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_BLOCK 64
/* As hexadecimal digits, with the NUL. */
#define SHA256_TEXT (2 * SHA256_BYTES + 1)

struct sha256 {
	uint32_t h[8];
	uint64_t bytes;
	unsigned char block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t bytes);
void sha256_end(struct sha256 *s, char text[SHA256_TEXT]);

#endif
