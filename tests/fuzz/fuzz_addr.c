// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as an address or a prefix: what is taken for one is what inet_pton() takes it for, is printed as what is
 * read as the same, and nothing behind its end is read (the sanitizer sees that).
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sets/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

/* Where the text is an address to it. */
static bool peer(const char *text, size_t size, struct addr *addr)
{
	unsigned char bytes[16];
	char line[INET6_ADDRSTRLEN + 1] = "";
	int n;

	if (size >= sizeof(line) || memchr(text, '\0', size))
		return false;
	memcpy(line, text, size);
	addr->family = strchr(line, ':') ? 6 : 4;
	n = addr->family == 4 ? 4 : 16;
	if (inet_pton(addr->family == 4 ? AF_INET : AF_INET6, line, bytes) != 1)
		return false;
	addr->num = 0;
	for (int i = 0; i < n; i++)
		addr->num = addr->num << 8 | bytes[i];
	return true;
}

static void whole_prefix(const char *text, size_t size)
{
	struct addr first = { 0 }, again, known = { 0 };
	const char *slash = memchr(text, '/', size);
	size_t address = slash ? (size_t)(slash - text) : size;
	unsigned int length = 0, same;
	char printed[PREFIX_TEXT_MAX];

	if (prefix_parse(text, size, &first, &length)) {
		hold(slash || !peer(text, size, &known));
		return;
	}
	hold(length <= addr_width(first.family) && !(first.num & addr_mask(first.family, length)));
	hold(peer(text, address, &known));
	if (known.family == 6 && first.family == 4) {
		hold(known.num >> 32 == 0xffff && length);
		known.num &= UINT32_MAX;
	} else {
		hold(known.family == first.family);
	}
	hold((known.num & ~addr_mask(first.family, length)) == first.num);
	prefix_text(printed, first, (int)length);
	hold(!prefix_parse(printed, strlen(printed), &again, &same));
	hold(again.family == first.family && again.num == first.num && same == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct addr addr = { 0 }, known = { 0 };
	char *text = malloc(size ? size : 1);
	const char *end;
	ip6 num;

	if (!text)
		abort();
	memcpy(text, data, size);
	whole_prefix(text, size);
	if (!addr_parse(text, size, &addr))
		hold(peer(text, size, &known) && known.family == addr.family && known.num == addr.num);
	else
		hold(!peer(text, size, &known));
	end = addr6_scan(text, text + size, &num);
	if (end && peer(text, (size_t)(end - text), &known))
		hold(known.family == 6 && known.num == num);
	if (!addr_parse_padded(text, size, &addr))
		hold(addr.family == 4 && !(addr.num >> 32));
	free(text);
	return 0;
}
