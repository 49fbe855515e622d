// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "sets/address.h"

const char addr_is_none[] = "not an IPv4 or IPv6 address", addr_is_none6[] = "not an IPv6 address";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 1 + the digit; a table, since no branch could predict which digit it is. */
static const unsigned char hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,	['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Four decimal parts. Only lists that pad every part to three digits may begin one with a zero. */
static const char *parse4(const char *text, size_t len, bool padded, struct addr *addr)
{
	const char *p = text, *end = text + len;

	*addr = (struct addr){ 0, 4 };
	for (int part = 0; part < 4; part++) {
		const char *begin = p;
		unsigned int value = 0;

		if (part) {
			if (p == end)
				return "an IPv4 address has four parts";
			if (*p++ != '.')
				return addr_is_none;
			begin = p;
		}
		while (p < end && is_digit(*p) && p - begin < 4)
			value = value * 10 + (unsigned int)(*p++ - '0');
		if (p == begin)
			return part && (p == end || *p == '.') ? "an IPv4 address has four parts" : addr_is_none;
		if (!padded && *begin == '0' && p - begin > 1)
			return "an address has no leading zeros (octal?)";
		if (value > 255 || p - begin > 3)
			return "a part of an IPv4 address is 0 to 255";
		addr->num = addr->num << 8 | value;
	}
	if (p == end)
		return NULL;
	return *p == '.' ? "an IPv4 address has four parts" : addr_is_none;
}

const char *addr6_scan(const char *p, const char *end, ip6 *num)
{
	const unsigned int none = 9;
	unsigned int groups = 0, gap = none; /* the "::" stands before this group */
	ip6 high = 0;

	*num = 0;
	if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
		gap = 0;
		p += 2;
	}
	while (p < end) {
		const char *begin = p;
		unsigned int value = 0, digit;

		while (p < end && (digit = hex_digits[(unsigned char)*p]) && p - begin < 5) {
			value = value << 4 | (digit - 1);
			p++;
		}
		if (p == begin && groups == gap)
			break; /* behind the "::" there need be nothing */
		if (p == begin || p - begin > 4 || groups == 8)
			return NULL;
		*num = *num << 16 | value;
		groups++;
		if (p == end || *p != ':')
			break;
		if (++p == end)
			return NULL;
		if (*p == ':') {
			if (gap != none)
				return NULL;
			gap = groups;
			high = *num;
			*num = 0;
			p++;
		}
	}
	if (gap == none)
		return groups == 8 ? p : NULL;
	/* "::" stands for one group at least. */
	if (groups > 7)
		return NULL;
	if (gap)
		*num |= high << 16 * (8 - gap);
	return p;
}

static const char *parse6(const char *text, size_t len, ip6 *num)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (addr6_scan(text, text + len, num) == text + len)
		return NULL;
	/* An IPv4 address at its end, or none at all. */
	if (memchr(text, '%', len))
		return "an address in a list has no zone id (%)";
	if (len >= sizeof(copy) || memchr(text, '\0', len))
		return addr_is_none6;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET6, copy, &in6) != 1)
		return addr_is_none6;
	*num = 0;
	for (int i = 0; i < 16; i++)
		*num = *num << 8 | in6.s6_addr[i];
	return NULL;
}

/* The first group of an IPv6 address has at most four digits. */
static bool looks_like6(const char *text, size_t len)
{
	return memchr(text, ':', len < 5 ? len : 5);
}

const char *addr_parse(const char *text, size_t len, struct addr *addr)
{
	if (!looks_like6(text, len))
		return parse4(text, len, false, addr);
	addr->family = 6;
	return parse6(text, len, &addr->num);
}

const char *addr_parse_padded(const char *text, size_t len, struct addr *addr)
{
	return parse4(text, len, true, addr);
}

static const char *parse_length(const char *text, size_t len, int family, unsigned int *length)
{
	const char *range = family == 4 ? "prefix length must be 0 to 32" : "prefix length must be 0 to 128";

	*length = 0;
	if (!len || len > 3)
		return range;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(text[i]))
			return range;
		*length = *length * 10 + (unsigned int)(text[i] - '0');
	}
	if (*text == '0' && len > 1)
		return "a prefix length has no leading zeros";
	return *length <= addr_width(family) ? NULL : range;
}

const char *prefix_parse(const char *text, size_t len, struct addr *first, unsigned int *length)
{
	const char *slash = memchr(text, '/', len);
	size_t address_len = slash ? (size_t)(slash - text) : len;
	const char *reason = addr_parse(text, address_len, first);

	if (reason)
		return reason;
	*length = addr_width(first->family);
	if (slash)
		reason = parse_length(slash + 1, len - address_len - 1, first->family, length);
	if (reason)
		return reason;
	first->num &= ~addr_mask(first->family, *length);
	if (first->family == 6 && addr_mapped(first->num, first->num | addr_mask(6, *length))) {
		addr_unmap(first);
		*length -= 96;
	}
	return NULL;
}

bool prefix_is_masked(const char *text, size_t len, struct addr first, struct addr *written)
{
	const char *slash = memchr(text, '/', len);

	if (!slash || addr_parse(text, (size_t)(slash - text), written))
		return false;
	if (first.family == 4)
		addr_unmap(written);
	return written->num != first.num;
}

const char *masked_text(char buf[MASKED_TEXT_MAX], struct addr written, struct addr first, unsigned int length)
{
	char host[PREFIX_TEXT_MAX], network[PREFIX_TEXT_MAX];

	prefix_text(host, written, -1);
	snprintf(buf, MASKED_TEXT_MAX, "%s/%u is a host within %s", host, length,
		 prefix_text(network, first, (int)length));
	return buf;
}

const char *prefix_text(char *buf, struct addr first, int length)
{
	char *p = buf;

	if (first.family == 4) {
		for (int shift = 24; shift >= 0; shift -= 8) {
			unsigned int part = (unsigned int)(first.num >> shift) & 0xff;

			if (part >= 100)
				*p++ = (char)('0' + part / 100);
			if (part >= 10)
				*p++ = (char)('0' + part / 10 % 10);
			*p++ = (char)('0' + part % 10);
			*p++ = shift ? '.' : '\0';
		}
		p--;
	} else {
		struct in6_addr in6;

		for (int i = 0; i < 16; i++)
			in6.s6_addr[i] = (uint8_t)(first.num >> (120 - 8 * i));
		inet_ntop(AF_INET6, &in6, buf, PREFIX_TEXT_MAX);
		p += strlen(buf);
	}
	if (length >= 0 && (unsigned int)length < addr_width(first.family))
		snprintf(p, PREFIX_TEXT_MAX - (size_t)(p - buf), "/%d", length);
	return buf;
}

const char *number_text(char buf[NUMBER_TEXT_MAX], ip6 number)
{
	char *at = buf + NUMBER_TEXT_MAX - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + (int)(number % 10));
		number /= 10;
	} while (number);
	return at;
}
