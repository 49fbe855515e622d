// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/line.h"

#include <string.h>

#include "base/log.h"
#include "base/span.h"
#include "change/guard_rails.h"
#include "state/members.h"

#define BLANKS " \t"

/* The word at *at, ended; *at behind it. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, BLANKS);

	*at = word + strcspn(word, BLANKS);
	if (**at)
		*(*at)++ = '\0';
	return word;
}

static const char *take_ttl(const char *word, double *ttl)
{
	double seconds = span_seconds(word);

	if (!strcmp(word, "-"))
		*ttl = 0;
	else if (seconds < 1)
		return "behind the prefix stands how long, such as 90s, 10m or 1h30m, or - for a ban without an end";
	else
		*ttl = seconds;
	return NULL;
}

static const char *take_prefix(const char *word, struct prefix *p)
{
	struct addr written;
	size_t length = strlen(word);
	const char *fault = prefix_parse(word, length, &p->first, &p->length);

	if (!fault && prefix_is_masked(word, length, p->first, &written))
		fault = "it is a host within that network: write the network, or the host alone";
	return fault;
}

const char *line_parse(char *line, size_t length, struct ban_order *order)
{
	const char *fault, *word;
	char *at = line;
	int err;

	while (length && memchr(BLANKS "\r", line[length - 1], sizeof(BLANKS "\r") - 1))
		length--;
	line[length] = '\0';
	if (strlen(line) != length)
		return "there is a NUL in it";
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' && line[i] != '\t')
			return "there is a control character in it";
	at += strspn(at, BLANKS);
	if (!*at || *at == '#')
		return LINE_NOTHING;
	*order = (struct ban_order){ 0 };
	if (*at == '@') {
		order->account = next_word(&at) + 1;
		if (!member_name_is_sound(order->account, false))
			return "behind @ stands the name of a member, of letters, digits, and ._-";
		at += strspn(at, BLANKS);
	}
	if (*at != '+' && *at != '-')
		return "a line begins with + or -, or with @ and whose it is";
	order->del = *at++ == '-';
	fault = take_prefix(next_word(&at), &order->prefix);
	if (fault)
		return fault;
	word = next_word(&at);
	if (order->del)
		return *word ? "behind a prefix that is taken out stands nothing" : NULL;
	fault = *word ? take_ttl(word, &order->ttl) : NULL;
	at += strspn(at, BLANKS);
	if (!fault && *at)
		order->reason = at;
	err = fault ? 0 : guard_told(order->prefix.first, order->prefix.length);
	return err ? reason(err) : fault;
}
