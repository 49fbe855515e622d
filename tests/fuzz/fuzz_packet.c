// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a packet. The parser reads none behind its end (the sanitizer sees that), and what it found in a packet
 * it finds in the same one with more behind it. The command, which shows samples of what is dropped, finds the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observe/packet.h"
#include "bpf/parse.h"

/* As much in front as makes the address aligned, as drivers do. */
#define ALIGN 2

static void hold(bool ok)
{
	if (!ok)
		abort();
}

static void shown(const uint8_t *bytes, size_t size, int family, const struct source *source)
{
	struct packet p;
	char buf[16];

	packet_read(&p, bytes, size);
	if (family == SOURCE_HIDDEN)
		family = SOURCE_NONE;
	hold(p.source.family == family && p.destination.family == family && *packet_protocol(p.protocol, buf));
	hold(family != SOURCE_IPV4 || p.source.num == source->ipv4);
	hold(family != SOURCE_IPV6 ||
	     (p.source.num >> 64 == source_ipv6(source, 0) && (uint64_t)p.source.num == source_ipv6(source, 1)));
	hold(p.protocol >= -1 && p.protocol < 256 && p.source_port >= -1 && p.source_port < 1 << 16 &&
	     p.destination_port >= -1 && p.destination_port < 1 << 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(ALIGN + size), *longer = calloc(1, ALIGN + size + HEADERS_MAX);
	struct source one = { 0 }, other = { 0 };
	int family;

	hold(exact && longer);
	memcpy(exact + ALIGN, data, size);
	memcpy(longer + ALIGN, data, size);
	family = parse_source(exact + ALIGN, exact + ALIGN + size, &one);
	shown(exact + ALIGN, size, family, &one);
	if (family != SOURCE_NONE) {
		hold(parse_source(longer + ALIGN, longer + ALIGN + size + HEADERS_MAX, &other) == family);
		hold(family != SOURCE_IPV4 || one.ipv4 == other.ipv4);
		hold(family != SOURCE_IPV6 || (source_ipv6(&one, 0) == source_ipv6(&other, 0) &&
					       source_ipv6(&one, 1) == source_ipv6(&other, 1)));
	}
	free(exact);
	free(longer);
	return 0;
}
