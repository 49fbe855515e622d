// SPDX-License-Identifier: GPL-2.0-only
/* One entry of a list: an address, a prefix, a network with a dotted mask, or a range. */
#include <string.h>

#include "sets/reader_internal.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

const char *skip_word(const char *p, const char *end)
{
	while (p < end && !is_blank(*p))
		p++;
	return p;
}

void trim_blanks(const char **text, size_t *len)
{
	const char *end = *text + *len;

	*text = skip_blanks(*text, end);
	while (end > *text && is_blank(end[-1]))
		end--;
	*len = (size_t)(end - *text);
}

bool starts_comment(const char *p, const char *end)
{
	return p < end && (*p == '#' || *p == ';');
}

bool line_is_empty(const char *text, size_t len)
{
	const char *p = skip_blanks(text, text + len);

	return p == text + len || starts_comment(p, text + len);
}

static const char *netmask_item(const char *text, const char *slash, const char *end, struct item *item)
{
	struct addr first, mask;
	const char *reason = addr_parse(text, (size_t)(slash - text), &first);
	uint32_t free_bits;

	if (!reason)
		reason = addr_parse(slash + 1, (size_t)(end - slash - 1), &mask);
	if (reason)
		return reason;
	if (first.family != 4 || mask.family != 4)
		return "only an IPv4 address has a dotted netmask";
	free_bits = ~(uint32_t)mask.num;
	if (free_bits & (free_bits + 1))
		return "a netmask is a row of one bits, then a row of zero bits";
	*item = (struct item){
		4, ITEM_NETMASK, first.num & mask.num, first.num | free_bits, first.num & free_bits, first.num
	};
	return NULL;
}

static const char *single_item(const char *text, const char *end, struct item *item)
{
	const char *slash = memchr(text, '/', (size_t)(end - text));
	struct addr first, written;
	unsigned int length;
	const char *reason;

	if (slash && memchr(slash, '.', (size_t)(end - slash)))
		return netmask_item(text, slash, end, item);
	reason = prefix_parse(text, (size_t)(end - text), &first, &length);
	if (reason)
		return reason;
	*item = (struct item){ first.family, ITEM_PREFIX,
			       first.num,    first.num | addr_mask(first.family, length),
			       false,	     0 };
	item->masked = prefix_is_masked(text, (size_t)(end - text), first, &written);
	if (item->masked)
		item->host = written.num;
	return NULL;
}

const char *item_range(const struct addr *first, const struct addr *last, struct item *item)
{
	if (first->family != last->family)
		return "a range begins and ends in the same family";
	if (first->num > last->num)
		return "a range begins at its lower address";
	*item = (struct item){ first->family, ITEM_RANGE, first->num, last->num, false, 0 };
	if (item->family == 6 && addr_mapped(item->lo, item->hi))
		*item = (struct item){ 4, ITEM_RANGE, (uint32_t)item->lo, (uint32_t)item->hi, false, 0 };
	return NULL;
}

/* Where an entry, or its half of a range, ends. */
static const char *skip_address(const char *p, const char *end)
{
	static const bool ends[256] = {
		[' '] = true, ['\t'] = true, ['\r'] = true, ['\v'] = true, ['\f'] = true,
		['-'] = true, [','] = true,  ['#'] = true,  [';'] = true,
	};

	while (p < end && !ends[(unsigned char)*p])
		p++;
	return p;
}

/* After a dash: the other end of a range, or text? What looks like an address must be a valid one. */
static bool could_be_address(const char *p, const char *end)
{
	size_t len = (size_t)(end - p);

	return memchr(p, ':', len) || (len && *p >= '0' && *p <= '9' && memchr(p, '.', len));
}

const char *item_take(const char *text, size_t len, struct item *item, const char **rest)
{
	const char *end = text + len;
	const char *first_end = skip_address(text, end);
	const char *last = skip_blanks(first_end, end), *last_end;
	struct addr from, to;
	const char *reason;

	*rest = first_end;
	if (last == end || *last != '-')
		return single_item(text, first_end, item);
	last = skip_blanks(last + 1, end);
	last_end = skip_address(last, end);
	if (first_end < end && is_blank(*first_end) && !could_be_address(last, last_end))
		return single_item(text, first_end, item);
	*rest = last_end;
	reason = addr_parse(text, (size_t)(first_end - text), &from);
	if (!reason)
		reason = addr_parse(last, (size_t)(last_end - last), &to);
	return reason ? reason : item_range(&from, &to, item);
}

const char *item_parse(const char *text, size_t len, struct item *item)
{
	const char *rest, *reason;

	trim_blanks(&text, &len);
	if (!len)
		return "there is no address";
	reason = item_take(text, len, item, &rest);
	if (!reason && rest != text + len)
		return "there is something behind the address";
	return reason;
}
