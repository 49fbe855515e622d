/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETS_ADDRESS_H
#define SETS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses are numbers in host order: uint32_t for IPv4, ip6 for IPv6. */
typedef unsigned __int128 ip6;

/* An address of either family; IPv4 in the low 32 bits. */
struct addr {
	ip6 num;
	int family; /* 4 or 6 */
};

static inline unsigned int addr_width(int family)
{
	return family == 4 ? 32 : 128;
}

/* The bits that a prefix of this length leaves free: the last address is first | mask. */
static inline ip6 addr_mask(int family, unsigned int length)
{
	unsigned int bits = addr_width(family) - length;

	return bits == 128 ? ~(ip6)0 : ((ip6)1 << bits) - 1;
}

/*
 * ::ffff:203.0.113.9 is how IPv6 sockets write 203.0.113.9, and packets carry the latter. ::ffff:0:0/96 as a whole
 * stays IPv6: lists of bogons contain it, and do not mean all of IPv4.
 */
static inline bool addr_mapped(ip6 first, ip6 last)
{
	return first >> 32 == 0xffff && last >> 32 == 0xffff && last - first < UINT32_MAX;
}

static inline void addr_unmap(struct addr *addr)
{
	if (addr->family == 6 && addr_mapped(addr->num, addr->num))
		*addr = (struct addr){ (uint32_t)addr->num, 4 };
}

#define PREFIX_TEXT_MAX 64 /* the longest prefix as text, with its NUL */

/*
 * Reads "address" or "address/length" from exactly len bytes. A host with a prefix length counts as its network, and
 * an IPv4 address within an IPv6 one as itself.
 * Returns NULL, or what is wrong in words that follow the quoted text: "prefix length must be 0 to 32".
 */
const char *prefix_parse(const char *text, size_t len, struct addr *first, unsigned int *length);

/*
 * Has what prefix_parse() took host bits, as in 8.8.8.8/8? *written is its address as it stands there, of the family of
 * `first`.
 */
bool prefix_is_masked(const char *text, size_t len, struct addr first, struct addr *written);
/* "8.8.8.8/8 is a host within 8.0.0.0/8" */
#define MASKED_TEXT_MAX 160
const char *masked_text(char buf[MASKED_TEXT_MAX], struct addr written, struct addr first, unsigned int length);

/* The reasons that say nothing about an address: a caller may know better what was expected. */
extern const char addr_is_none[], addr_is_none6[];

/* A single address, no length allowed; as it is written, see addr_unmap(). */
const char *addr_parse(const char *text, size_t len, struct addr *addr);

/*
 * Reads the IPv6 address that begins at p, as far as its groups go. Returns where it ends, or NULL: none, or one that
 * ends in an IPv4 address, which is for addr_parse() to decide.
 */
const char *addr6_scan(const char *p, const char *end, ip6 *num);

/* An IPv4 address as P2P lists write it: 001.002.003.004, decimal. */
const char *addr_parse_padded(const char *text, size_t len, struct addr *addr);

/* Writes at most PREFIX_TEXT_MAX bytes; length < 0 or the full width leaves the "/length" out. */
const char *prefix_text(char *buf, struct addr first, int length);

#define NUMBER_TEXT_MAX 48

/* Any number as decimal digits. */
const char *number_text(char buf[NUMBER_TEXT_MAX], ip6 number);
#endif
