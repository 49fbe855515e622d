/* SPDX-License-Identifier: GPL-2.0-only */
/* A public key of minisign: 56 characters, or a file that has them. */
#ifndef FETCH_PUBLIC_KEY_H
#define FETCH_PUBLIC_KEY_H

#include <stdint.h>

/* 42 bytes in base64, and the end. */
#define PUBLIC_KEY_MAX 57

/* 0, or -errno with the reason recorded: one line that says what it is instead. */
int public_key_read(char key[PUBLIC_KEY_MAX], const char *key_or_file);
/* How minisign calls a key, of the eight bytes that stand in it. */
uint64_t public_key_number(const unsigned char bytes[8]);

#endif
