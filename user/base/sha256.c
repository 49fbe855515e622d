// SPDX-License-Identifier: GPL-2.0-only
#include "base/sha256.h"

#include <endian.h>
#include <string.h>

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_words[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned int bits)
{
	return word >> bits | word << (32 - bits);
}

static inline void one_round(uint32_t *words, size_t from, uint32_t word)
{
#define AT(i) words[(from + (i)) % 8]
	uint32_t one = AT(7) + (turn(AT(4), 6) ^ turn(AT(4), 11) ^ turn(AT(4), 25)) +
		       ((AT(4) & AT(5)) ^ (~AT(4) & AT(6))) + word;

	AT(3) += one;
	AT(7) = one + (turn(AT(0), 2) ^ turn(AT(0), 13) ^ turn(AT(0), 22)) +
		((AT(0) & AT(1)) ^ (AT(0) & AT(2)) ^ (AT(1) & AT(2)));
#undef AT
}

static void add_block(uint32_t h[8], const unsigned char *block)
{
	uint32_t w[64], a[8];

	for (size_t i = 0; i < 16; i++) {
		memcpy(&w[i], block + 4 * i, 4);
		w[i] = be32toh(w[i]);
	}
	for (size_t i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(a, h, sizeof(a));
	/* Eight at a time, so that the names turn and not the words. */
	for (size_t i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			one_round(a, 8 - j, round_words[i + j] + w[i + j]);
	}
	for (size_t i = 0; i < 8; i++)
		h[i] += a[i];
}

void sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
				     0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *data, size_t bytes)
{
	const unsigned char *from = data;
	size_t there = s->bytes % SHA256_BLOCK;

	s->bytes += bytes;
	while (bytes) {
		size_t now = SHA256_BLOCK - there < bytes ? SHA256_BLOCK - there : bytes;

		if (now == SHA256_BLOCK) {
			add_block(s->h, from);
		} else {
			memcpy(s->block + there, from, now);
			if (there + now == SHA256_BLOCK)
				add_block(s->h, s->block);
		}
		from += now;
		bytes -= now;
		there = 0;
	}
}

void sha256_end(struct sha256 *s, char text[SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char rest[SHA256_BLOCK] = { 0x80 };
	uint64_t bits = htobe64(8 * s->bytes);
	size_t there = s->bytes % SHA256_BLOCK;

	sha256_add(s, rest, (there < 56 ? 56 : 120) - there);
	sha256_add(s, &bits, sizeof(bits));
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		unsigned int byte = s->h[i / 4] >> (24 - i % 4 * 8) & 0xff;

		text[2 * i] = digits[byte >> 4];
		text[2 * i + 1] = digits[byte & 0xf];
	}
	text[SHA256_TEXT - 1] = '\0';
}
