// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a packet. The parser reads none behind its end (the sanitizer sees that), and what it found in a packet
 * it finds in the same one with more behind it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* As much in front as makes the address aligned, as drivers do. */
#define ALIGN 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(ALIGN + size), *longer = calloc(1, ALIGN + size + HEADERS_MAX);
	struct source one = { 0 }, other = { 0 };
	int family;

	if (!exact || !longer)
		abort();
	memcpy(exact + ALIGN, data, size);
	memcpy(longer + ALIGN, data, size);
	family = parse_source(exact + ALIGN, exact + ALIGN + size, &one);
	if (family != SOURCE_NONE) {
		if (parse_source(longer + ALIGN, longer + ALIGN + size + HEADERS_MAX, &other) != family)
			abort();
		if (family == SOURCE_IPV4 && one.ipv4 != other.ipv4)
			abort();
		if (family == SOURCE_IPV6 &&
		    (source_ipv6(&one, 0) != source_ipv6(&other, 0) || source_ipv6(&one, 1) != source_ipv6(&other, 1)))
			abort();
	}
	free(exact);
	free(longer);
	return 0;
}
