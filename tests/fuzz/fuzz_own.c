// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a resolver's, a lease's or a clock's file: each address that is found stands in the text, or in a
 * lease's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "change/own_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	const char *at;
	size_t size, found;
};

static void hold(bool ok)
{
	if (!ok)
		abort();
}

/* As a naive reader would look for it: from anywhere, of any length. */
static bool stands_in(const struct text *t, const struct addr *wanted)
{
	for (size_t from = 0; from < t->size; from++)
		for (size_t n = 2; n <= 45 && from + n <= t->size; n++) {
			struct addr addr;

			if (!addr_parse(t->at + from, n, &addr) && addr.family == wanted->family &&
			    addr.num == wanted->num)
				return true;
		}
	return false;
}

static void found(void *arg, struct addr addr, const char *what)
{
	struct text *t = arg;

	hold(what && *what);
	hold(++t->found <= t->size);
	hold(t->size > 512 || stands_in(t, &addr));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char lease[OWN_LEASE_TEXT_MAX];
	struct text text;

	if (!size)
		return 0;
	if (*data == 255) { /* of dhcpcd */
		text = (struct text){ lease, own_lease_text(lease, data + 1, size - 1, 0), 0 };
		hold(text.size <= sizeof(lease));
		own_scan(OWN_LEASE, lease, text.size, 1795355458, found, &text);
		return 0;
	}
	text = (struct text){ (const char *)data + 1, size - 1, 0 };
	own_scan((enum own_format)(*data % OWN_FORMATS), text.at, text.size, 1795355458, found, &text);
	return 0;
}
