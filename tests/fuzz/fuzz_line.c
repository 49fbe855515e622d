// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a line that a program sends to follow: what is taken lies in the line, has no control character, and is
 * the same when it is written once more; what is not taken has a reason.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "feeds/line.h"
#include "state/members.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

static bool is_within(const char *text, const char *line, size_t size)
{
	if (!text)
		return true;
	hold(text >= line && text <= line + size);
	for (const char *p = text; *p; p++)
		hold((unsigned char)*p >= ' ' || *p == '\t');
	return text + strlen(text) <= line + size;
}

/* NULL and "" are the same: none. */
static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ban_order order, again;
	char *line = malloc(size + 1), *text = malloc(size + 512), prefix[PREFIX_TEXT_MAX];
	const char *fault;
	size_t n;

	hold(line && text);
	if (size)
		memcpy(line, data, size);
	fault = line_parse(line, size, &order);
	if (!fault) {
		hold(order.prefix.first.family == 4 || order.prefix.first.family == 6);
		hold(order.prefix.length <= addr_width(order.prefix.first.family));
		hold(!(order.prefix.first.num & addr_mask(order.prefix.first.family, order.prefix.length)));
		hold(!order.ttl || order.ttl >= 1);
		hold(is_within(order.reason, line, size) && is_within(order.account, line, size));
		hold(!order.account || member_name_is_sound(order.account, false));
		prefix_text(prefix, order.prefix.first, (int)order.prefix.length);
		n = (size_t)snprintf(text, size + 512, "%s%s%s%c%s", order.account ? "@" : "",
				     order.account ? order.account : "", order.account ? " " : "",
				     order.del ? '-' : '+', prefix);
		if (!order.del)
			n += (size_t)snprintf(text + n, size + 512 - n, " - %s", order.reason ? order.reason : "");
		hold(n < size + 512 && !line_parse(text, n, &again));
		hold(again.prefix.first.num == order.prefix.first.num && again.prefix.length == order.prefix.length &&
		     again.prefix.first.family == order.prefix.first.family && again.del == order.del);
		hold(same(again.reason, order.reason) && same(again.account, order.account));
	} else {
		hold(*fault || !line[strspn(line, " \t")] || line[strspn(line, " \t")] == '#');
	}
	free(line);
	free(text);
	return 0;
}
