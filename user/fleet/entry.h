/* SPDX-License-Identifier: GPL-2.0-only */
/* What a member has written into its keys, read without believing any of it. */
#ifndef FLEET_ENTRY_H
#define FLEET_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sets/address.h"

#define EPOCH_MAX  17 /* 16 hexadecimal digits */
#define EPOCH_NONE "-"
#define ID_MAX	   44 /* two numbers of 64 bits, and a dash */
#define ID_NONE	   "0-0"
#define REASON_MAX 128
/* Ten thousand years of ms: what is longer is no time that somebody meant. */
#define TTL_MOST 315576000000000LL

/* An entry of a log, by its fields. */
struct entry {
	char epoch[EPOCH_MAX];
	uint64_t n; /* from 1 on in its epoch */
	char does;  /* + - or =, which begins an epoch */
	char prefix[PREFIX_TEXT_MAX];
	int64_t ttl; /* ms; 0: none */
	char reason[REASON_MAX];
	bool has_prefix, has_ttl;
	const char *fault; /* the first thing that is wrong with a field */
};

void entry_field(struct entry *e, const char *name, const char *value);
/* Has it a place in the log? */
bool entry_is_numbered(const struct entry *e);
/* NULL, or what is wrong with it: it says nothing then. */
const char *entry_fault(const struct entry *e);

bool epoch_is_sound(const char *text);
/* A decimal number of at most 18 digits. */
bool number_read(const char *text, uint64_t *number);
/* The server's clock when it was written, in ms. */
bool id_read(const char *text, int64_t *ms);
/* Of two that id_read() has taken: is the first a later one? */
bool id_is_later(const char *id, const char *than);
/* The one way to write a prefix; NULL or what is wrong. */
const char *prefix_canonical(char to[PREFIX_TEXT_MAX], const char *text, struct addr *first, unsigned int *length);
/* Without what a terminal would obey, or a tab. */
void reason_copy(char to[REASON_MAX], const char *text);

#endif
