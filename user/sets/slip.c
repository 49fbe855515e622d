// SPDX-License-Identifier: GPL-2.0-only
#include "sets/slip.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/nearest.h"
#include "sets/address.h"

#define OF_AN_ADDRESS "0123456789abcdefABCDEF.:/"

/* Does an address that was found end here? A port may follow one of IPv4, a path any. */
static bool ends(const char *at, int family)
{
	return !*at || !strchr(OF_AN_ADDRESS, *at) || (*at == '/' && (!at[1] || !strchr("0123456789", at[1]))) ||
	       (*at == ':' && family == 4);
}

/* What a URL, a port, brackets, quotes or commas stand around. Returns its length, or 0. */
static size_t find_within(const char *text, const char **found)
{
	struct addr addr;
	unsigned int bits;

	for (size_t n; *text; text += n ? n : 1) {
		const char *at = text + (strncmp(text, "://", 3) ? 0 : 3);

		n = strspn(text, OF_AN_ADDRESS);
		for (const char *end = text + n; end > at; end--) {
			if (prefix_parse(at, (size_t)(end - at), &addr, &bits) || !ends(end, addr.family))
				continue;
			*found = at;
			return (size_t)(end - at);
		}
	}
	return 0;
}

/* 192.0.2.0/255.255.255.0 and 192.0.2.* as prefixes; -1: it is neither. */
static int written_otherwise(const char *text, struct addr *first)
{
	const char *slash = strchr(text, '/');
	struct addr mask;
	char copy[64];
	size_t n = 0;
	int stars = 0;

	if (slash && !addr_parse(text, (size_t)(slash - text), first) && first->family == 4 &&
	    !addr_parse(slash + 1, strlen(slash + 1), &mask) && mask.family == 4) {
		uint32_t hosts = ~(uint32_t)mask.num;

		return hosts & (hosts + 1) ? -1 : 32 - __builtin_popcount(hosts);
	}
	for (; *text && n + 1 < sizeof(copy); text++) {
		if (stars && *text != '.' && *text != '*')
			return -1;
		stars += *text == '*';
		copy[n++] = *text == '*' ? '0' : *text;
	}
	return stars && stars < 4 && !addr_parse(copy, n, first) && first->family == 4 ? 32 - 8 * stars : -1;
}

static bool is_word(const char *text, const char *words)
{
	struct nearest near = { .word = text };

	nearest_try_also(&near, words, "it");
	return near.name[0];
}

/* What stands behind an address with other tools. */
static const char *of_another_tool(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (is_word(text, "timeout ttl bantime for"))
		return "a ban for a time: --ttl 10m";
	if (is_word(text, "comment reason because"))
		return "why it is banned: --reason TEXT";
	if (is_word(text, "any all everyone"))
		return "no address; all of them are 0.0.0.0/0 and ::/0";
	if (digits && (!text[digits] || (strchr("smhdwy", text[digits]) && !text[digits + 1])))
		return "a number, not an address; a time goes behind --ttl: --ttl 10m";
	if (!strncasecmp(text, "AS", 2) && text[2] && !text[2 + strspn(text + 2, "0123456789")])
		return "a number of an AS; a list of its prefixes is wanted: xdp-bloom load NAME FILE";
	if (strlen(text) == 17 && strspn(text, "0123456789abcdefABCDEF:") == 17 && text[2] == ':')
		return "a MAC address; the filter asks for the IP address of the source";
	return NULL;
}

static const char *by_kind(const char *text)
{
	if (strstr(text, "://"))
		return "a URL; an address of its host is wanted, or: xdp-bloom load NAME URL";
	if (!access(text, F_OK))
		return "a file; read a list with: xdp-bloom load NAME FILE, or bans with: xdp-bloom add - <FILE";
	if (strchr(text, '.') && strspn(text, "0123456789./") < strlen(text))
		return "a name, not an address; its addresses: getent ahosts NAME";
	return of_another_tool(text);
}

/* Too long by its end: a dot behind it, a zone. Not one with a length behind that: it would be lost. */
static size_t begins_right(const char *text)
{
	size_t length = strcspn(text, "%");
	struct addr addr;

	if (strchr(text + length, '/'))
		return 0;
	if (!text[length])
		length -= length && text[length - 1] == '.';
	return text[length] && !addr_parse(text, length, &addr) ? length : 0;
}

const char *address_slip(char buf[SLIP_TEXT_MAX], const char *text, size_t length, const char *fault)
{
	char copy[256], prefix[PREFIX_TEXT_MAX];
	const char *found = NULL, *kind;
	struct addr first;
	size_t n;
	int bits;

	if (!length || length >= sizeof(copy))
		return fault;
	memcpy(copy, text, length);
	copy[length] = '\0';
	bits = written_otherwise(copy, &first);
	n = bits < 0 ? begins_right(copy) : 0;
	if (n) {
		snprintf(buf, SLIP_TEXT_MAX, "%s; write %.*s", fault, (int)n, copy);
		return buf;
	}
	if (bits < 0 && strspn(copy, "0123456789") == length)
		return of_another_tool(copy);
	if (bits < 0 && fault != addr_is_none && fault != addr_is_none6)
		return fault;
	n = find_within(copy, &found);
	kind = by_kind(copy);
	if (bits >= 0)
		snprintf(buf, SLIP_TEXT_MAX, "write it as %s", prefix_text(prefix, first, bits));
	else if (strchr(copy, '-') && n)
		snprintf(buf, SLIP_TEXT_MAX,
			 "a range; 'xdp-bloom set union FILE' prints its prefixes, and load takes it");
	else if (n && n < length)
		snprintf(buf, SLIP_TEXT_MAX, "one address a word, and nothing else: %.*s", (int)n, found);
	else if (kind)
		return kind;
	else if (n)
		snprintf(buf, SLIP_TEXT_MAX, "a prefix; a single address is wanted");
	else
		snprintf(buf, SLIP_TEXT_MAX, "%s; write it as %s2001:db8::9 or 2001:db8::/48", fault,
			 fault == addr_is_none6 ? "" : "192.0.2.9, 192.0.2.0/24, ");
	return buf;
}
