/* SPDX-License-Identifier: GPL-2.0-only */
/* Signature files as minisign writes them, of both kinds, by libsodium. */
#ifndef MINISIGN_H
#define MINISIGN_H

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINISIGN_TEXT 12000

struct minisign {
	unsigned char number[8], public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
};

static inline void minisign_key(struct minisign *m, unsigned char seed)
{
	unsigned char seeds[crypto_sign_SEEDBYTES];

	memset(seeds, seed, sizeof(seeds));
	memset(m->number, seed, sizeof(m->number));
	crypto_sign_seed_keypair(m->public, m->secret, seeds);
}

static inline void minisign_public(const struct minisign *m, char text[64])
{
	unsigned char all[42] = "Ed";

	memcpy(all + 2, m->number, sizeof(m->number));
	memcpy(all + 10, m->public, sizeof(m->public));
	sodium_bin2base64(text, 64, all, sizeof(all), sodium_base64_VARIANT_ORIGINAL);
}

/* hashed: as minisign does it by default. Its length; it is ended. */
static inline size_t minisign_sign(const struct minisign *m, bool hashed, const char *list, size_t length,
				   const char *comment, char text[MINISIGN_TEXT])
{
	unsigned char all[74] = "ED", hash[crypto_generichash_BYTES_MAX], of_all[crypto_sign_BYTES];
	size_t n = strlen(comment);
	unsigned char *both = malloc(crypto_sign_BYTES + n);
	char first[128], second[128];

	if (!both)
		abort();
	if (!hashed)
		all[1] = 'd';
	memcpy(all + 2, m->number, sizeof(m->number));
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)list, length, NULL, 0);
	if (hashed)
		crypto_sign_detached(all + 10, NULL, hash, sizeof(hash), m->secret);
	else
		crypto_sign_detached(all + 10, NULL, (const unsigned char *)list, length, m->secret);
	memcpy(both, all + 10, crypto_sign_BYTES);
	memcpy(both + crypto_sign_BYTES, comment, n);
	crypto_sign_detached(of_all, NULL, both, crypto_sign_BYTES + n, m->secret);
	free(both);
	sodium_bin2base64(first, sizeof(first), all, sizeof(all), sodium_base64_VARIANT_ORIGINAL);
	sodium_bin2base64(second, sizeof(second), of_all, sizeof(of_all), sodium_base64_VARIANT_ORIGINAL);
	return (size_t)snprintf(text, MINISIGN_TEXT, "untrusted comment: by a test\n%s\ntrusted comment: %s\n%s\n",
				first, comment, second);
}

#endif
