// SPDX-License-Identifier: GPL-2.0-only
/* How the entry of a list is written that bans what is needed: as a prefix where it is one, else as a range. */
#include "change/guard_culprit.c"
#include "ktap.h"

static void entries(void)
{
	static const struct {
		const char *first, *last, *text;
	} known[] = {
		{ "192.0.2.0", "192.0.2.255", "192.0.2.0/24" },
		{ "192.0.2.7", "192.0.2.7", "192.0.2.7" },
		{ "192.0.2.1", "192.0.2.2", "192.0.2.1-192.0.2.2" },
		{ "192.0.2.0", "192.0.2.2", "192.0.2.0-192.0.2.2" },
		{ "192.0.2.128", "192.0.3.127", "192.0.2.128-192.0.3.127" },
		{ "0.0.0.0", "255.255.255.255", "0.0.0.0/0" },
		{ "2001:db8::", "2001:db8::ffff", "2001:db8::/112" },
		{ "2001:db8::1", "2001:db8::ffff", "2001:db8::1-2001:db8::ffff" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char text[2 * PREFIX_TEXT_MAX];
		struct addr first, last;
		struct search s = { 0 };

		if (addr_parse(known[i].first, strlen(known[i].first), &first) ||
		    addr_parse(known[i].last, strlen(known[i].last), &last))
			abort();
		s.addr = first;
		s.lo = first.num;
		s.hi = last.num;
		entry_text(text, &s);
		CHECK(!strcmp(text, known[i].text), "'%s', not '%s'", text, known[i].text);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "entries", entries } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
