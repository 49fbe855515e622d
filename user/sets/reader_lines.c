// SPDX-License-Identifier: GPL-2.0-only
/* The formats of one entry a line: each has a function that reads a line or says why it does not fit. */
#include <string.h>

#include "sets/reader_internal.h"

LINE_FUNCTION(plain)
{
	const char *end = text + len, *rest, *reason;

	text = skip_blanks(text, end);
	reason = item_take(text, (size_t)(end - text), item, &rest);
	if (reason)
		return reason;
	rest = skip_blanks(rest, end);
	if (rest < end && !starts_comment(rest, end))
		return "there is text behind the address (a comment begins with # or ;)";
	return NULL;
}

/* Leaves what follows the entry in [rest, end). */
const char *label_take(const char *text, const char *end, struct item *item, const char **rest)
{
	const char *reason, *label;
	struct item other;

	text = skip_blanks(text, end);
	reason = item_take(text, (size_t)(end - text), item, &label);
	if (reason)
		return reason;
	*rest = skip_blanks(label, end);
	if (*rest == end || starts_comment(*rest, end))
		return NULL;
	if (*rest == label || **rest == ',')
		return "there is no blank between the address and its label";
	if (!item_parse(*rest, (size_t)(skip_word(*rest, end) - *rest), &other))
		return "there is a second address on the line";
	return NULL;
}

LINE_FUNCTION(label)
{
	const char *rest;

	return label_take(text, text + len, item, &rest);
}

static bool is_name(const char *p, const char *end)
{
	for (; p < end; p++) {
		char c = (char)(*p | 0x20);

		if (!(c >= 'a' && c <= 'z') && !(*p >= '0' && *p <= '9') && !strchr("._-", *p))
			return false;
	}
	return true;
}

LINE_FUNCTION(hosts)
{
	const char *end = text + len, *rest, *reason;

	reason = label_take(text, end, item, &rest);
	if (reason)
		return reason;
	if (item->lo != item->hi)
		return "a line of a hosts file begins with one address";
	if (rest == end || starts_comment(rest, end))
		return "there is no host name behind the address";
	while (rest < end && !starts_comment(rest, end)) {
		const char *word_end = skip_word(rest, end);

		if (!is_name(rest, word_end))
			return "that is no host name behind the address";
		rest = skip_blanks(word_end, end);
	}
	return NULL;
}

/* "first-last" or "first - last", zero-padded or not; [*rest, end) is what follows. */
static const char *padded_range(const char *text, const char *end, struct item *item, const char **rest)
{
	struct addr ends[2];
	const char *p = skip_blanks(text, end);

	for (int i = 0; i < 2; i++) {
		const char *begin = p, *reason;

		while (p < end && ((*p >= '0' && *p <= '9') || *p == '.'))
			p++;
		reason = addr_parse_padded(begin, (size_t)(p - begin), &ends[i]);
		if (reason)
			return reason;
		*rest = p = skip_blanks(p, end);
		if (i == 0 && (p == end || *p != '-'))
			return "there is no second address (first-last)";
		if (i == 0)
			p = skip_blanks(p + 1, end);
	}
	return item_range(&ends[0], &ends[1], item);
}

/* What stands before the colon is a name unless it could belong to an IPv6 address. */
static bool is_p2p_name(const char *p, const char *end)
{
	return !memchr(p, ':', (size_t)(end - p)) || strspn(p, "0123456789abcdefABCDEF:") < (size_t)(end - p);
}

LINE_FUNCTION(p2p)
{
	const char *end = text + len, *colon = memrchr(text, ':', len), *rest, *reason;

	if (!colon || !is_p2p_name(text, colon))
		return "expected name:first-last";
	reason = padded_range(colon + 1, end, item, &rest);
	if (reason)
		return reason;
	return rest == end ? NULL : "there is text behind the range";
}

/* Such a list lets through what has an access level above 127. */
LINE_FUNCTION(dat)
{
	const char *end = text + len, *rest, *reason;
	unsigned int level = 0;

	reason = padded_range(text, end, item, &rest);
	if (reason || rest == end)
		return reason;
	if (*rest != ',')
		return "expected a comma behind the range";
	rest = skip_blanks(rest + 1, end);
	if (rest == end || *rest < '0' || *rest > '9')
		return "expected an access level of 0 to 255";
	while (rest < end && *rest >= '0' && *rest <= '9' && level < 256)
		level = level * 10 + (unsigned int)(*rest++ - '0');
	rest = skip_blanks(rest, end);
	if (level > 255 || (rest < end && *rest != ','))
		return "expected an access level of 0 to 255";
	if (level > 127)
		item->family = 0;
	return NULL;
}

static bool take_word(const char **text, const char *end, const char *word)
{
	const char *p = skip_blanks(*text, end), *word_end = skip_word(p, end);

	if ((size_t)(word_end - p) != strlen(word) || memcmp(p, word, strlen(word)) != 0)
		return false;
	*text = word_end;
	return true;
}

/* Looks for an option; a comment, always the last one, is the user's own words. */
static bool has_option(const char *text, const char *end, const char *option, const char **value)
{
	while (text < end) {
		if (take_word(&text, end, "comment"))
			return false;
		if (take_word(&text, end, option)) {
			*value = skip_blanks(text, end);
			return true;
		}
		text = skip_word(skip_blanks(text, end), end);
	}
	return false;
}

static const char *ipset_create(const char *p, const char *end)
{
	const char *value;

	if (!take_word(&p, end, "hash:ip") && !take_word(&p, end, "hash:net") && !take_word(&p, end, "bitmap:ip"))
		return "only sets of type hash:ip, hash:net and bitmap:ip are lists of addresses";
	if (has_option(p, end, "netmask", &value) && !take_word(&value, end, "32") && !take_word(&value, end, "128"))
		return "a set with a netmask of its own: its entries are not what they seem";
	return NULL;
}

LINE_FUNCTION(ipset)
{
	const char *p = text, *end = text + len, *name;
	bool create;

	if (take_word(&p, end, "COMMIT") && skip_blanks(p, end) == end)
		return NULL;
	create = take_word(&p, end, "create");
	if (!create && !take_word(&p, end, "add"))
		return "expected what 'ipset save' prints: create NAME ... or add NAME ADDRESS";
	name = skip_blanks(p, end);
	p = skip_word(name, end);
	if (p == name)
		return "there is no name of a set";
	if (create)
		return ipset_create(p, end);
	name = skip_blanks(p, end);
	p = skip_word(name, end);
	if (has_option(p, end, "nomatch", &text))
		return "an exception (nomatch) has no place in a list";
	return item_parse(name, (size_t)(p - name), item);
}
