// SPDX-License-Identifier: GPL-2.0-only
/* The lines that programs send to follow: what each part of one is taken for, and every part at its bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "feeds/line.h"
#include "ktap.h"

struct expected {
	const char *line;
	const char *prefix;
	bool del;
	double ttl;
	const char *reason, *account; /* NULL: none */
};

static bool same(const char *is, const char *wanted)
{
	return is && wanted ? !strcmp(is, wanted) : is == wanted;
}

/* With its length only, and rubbish behind it. */
static const char *parsed(const char *line, size_t n, struct ban_order *order, char room[256])
{
	memset(room, '+', 256);
	memcpy(room, line, n);
	return line_parse(room, n, order);
}

static void taken(void)
{
	static const struct expected lines[] = {
		{ "+192.0.2.1", "192.0.2.1", .ttl = 0 },
		{ "-192.0.2.1", "192.0.2.1", .del = true },
		{ "+192.0.2.0/24", "192.0.2.0/24", .ttl = 0 },
		{ "+2001:db8::/48", "2001:db8::/48", .ttl = 0 },
		{ "+2001:db8::1", "2001:db8::1", .ttl = 0 },
		{ "-0.0.0.0/1", "0.0.0.0/1", .del = true },
		{ "-0.0.0.0", "0.0.0.0", .del = true },
		{ "+192.0.2.1 10m", "192.0.2.1", .ttl = 600 },
		{ "+192.0.2.1 1", "192.0.2.1", .ttl = 1 },
		{ "+192.0.2.1 1.5s", "192.0.2.1", .ttl = 1.5 },
		{ "+192.0.2.1 - why", "192.0.2.1", .ttl = 0, .reason = "why" },
		{ "+192.0.2.1 1h why  and when", "192.0.2.1", .ttl = 3600, .reason = "why  and when" },
		{ "  \t+192.0.2.1 \t 90s \t why\tso \t\r", "192.0.2.1", .ttl = 90, .reason = "why\tso" },
		{ "+ 192.0.2.1", "192.0.2.1", .ttl = 0 },
		{ "+192.0.2.1 \r \t", "192.0.2.1", .ttl = 0 },
		{ "@web-1 +192.0.2.1 1d why", "192.0.2.1", .ttl = 86400, .reason = "why", .account = "web-1" },
		{ "@web.2 \t -192.0.2.1", "192.0.2.1", .del = true, .account = "web.2" },
		{ "+192.0.2.1 1h \xc3\xa4", "192.0.2.1", .ttl = 3600, .reason = "\xc3\xa4" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct expected *e = &lines[i];
		char room[256], prefix[PREFIX_TEXT_MAX];
		struct ban_order order;
		const char *fault = parsed(e->line, strlen(e->line), &order, room);

		if (!CHECK(!fault, "'%s': %s", e->line, fault))
			continue;
		prefix_text(prefix, order.prefix.first, (int)order.prefix.length);
		CHECK(!strcmp(prefix, e->prefix) && order.del == e->del && order.ttl == e->ttl && !order.missed &&
			      same(order.reason, e->reason) && same(order.account, e->account),
		      "'%s': %s, del %d, for %g s, reason '%s', account '%s'", e->line, prefix, order.del, order.ttl,
		      order.reason, order.account);
	}
}

static void refused(void)
{
	static const struct {
		const char *line, *fault;
	} lines[] = {
		{ "", LINE_NOTHING },
		{ " \t \r", LINE_NOTHING },
		{ "# a remark", LINE_NOTHING },
		{ " \t# a remark", LINE_NOTHING },
		{ "192.0.2.1", "a line begins with" },
		{ "=192.0.2.1", "a line begins with" },
		{ "@web-1 192.0.2.1", "a line begins with" },
		{ "@web-1", "a line begins with" },
		{ "@ +192.0.2.1", "behind @" },
		{ "@we,b +192.0.2.1", "behind @" },
		{ "@* +192.0.2.1", "behind @" },
		{ "+192.0.2.1\x01", "a control character" },
		{ "\x1f+192.0.2.1", "a control character" },
		{ "+192.0.2.1 1h why\x1b[31m", "a control character" },
		{ "+192.0.2.1 1h \r why", "a control character" },
		{ "+", NULL },
		{ "+nonsense", NULL },
		{ "+192.0.2.0/33", NULL },
		{ "+192.0.2.1/24", "a host within that network" },
		{ "-192.0.2.1/24", "a host within that network" },
		{ "-192.0.2.1 1h", "behind a prefix that is taken out" },
		{ "-192.0.2.1 why", "behind a prefix that is taken out" },
		{ "+192.0.2.1 why", "behind the prefix stands how long" },
		{ "+192.0.2.1 0", "behind the prefix stands how long" },
		{ "+192.0.2.1 0.9", "behind the prefix stands how long" },
		{ "+192.0.2.1 -1h", "behind the prefix stands how long" },
		{ "+192.0.2.1 -- why", "behind the prefix stands how long" },
		{ "+0.0.0.0/1", "very wide" },
		{ "+192.168.0.0/15", "bans addresses of" },
		{ "+0.0.0.0", "0.0.0.0 stands for no single host" },
		{ "+:: 1h why", ":: stands for no single host" },
		{ "@web-1 +fe80::1 1h", "fe80::1 stands for no single host" },
	};
	struct ban_order order;
	char room[256];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *wanted = lines[i].fault,
			   *fault = parsed(lines[i].line, strlen(lines[i].line), &order, room);

		CHECK(fault && (!wanted	  ? *fault
				: *wanted ? strstr(fault, wanted) != NULL
					  : !*fault),
		      "'%s': %s", lines[i].line, fault);
	}
	for (size_t at = 0; at < sizeof("+192.0.2.1 1h why") - 1; at++) {
		char line[] = "+192.0.2.1 1h why";
		const char *fault;

		line[at] = '\0';
		fault = parsed(line, sizeof(line) - 1, &order, room);
		CHECK(fault && strstr(fault, "NUL"), "a NUL at %zu: %s", at, fault);
	}
}

static const struct ktap_case cases[] = {
	{ "what is taken", taken },
	{ "what is refused", refused },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
