/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures, written by hand as the two formats have them, in either byte order. */
#ifndef CAPTURES_H
#define CAPTURES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct capture_file {
	uint8_t *bytes;
	size_t n;
	bool swapped;
};

__attribute__((unused)) static void put16(struct capture_file *f, uint16_t value)
{
	value = f->swapped ? __builtin_bswap16(value) : value;
	memcpy(f->bytes + f->n, &value, sizeof(value));
	f->n += sizeof(value);
}

__attribute__((unused)) static void put32(struct capture_file *f, uint32_t value)
{
	value = f->swapped ? __builtin_bswap32(value) : value;
	memcpy(f->bytes + f->n, &value, sizeof(value));
	f->n += sizeof(value);
}

__attribute__((unused)) static void put64(struct capture_file *f, uint64_t value)
{
	value = f->swapped ? __builtin_bswap64(value) : value;
	memcpy(f->bytes + f->n, &value, sizeof(value));
	f->n += sizeof(value);
}

__attribute__((unused)) static void put_bytes(struct capture_file *f, const void *bytes, size_t n)
{
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

__attribute__((unused)) static void pcap_begin(struct capture_file *f, bool nanoseconds, uint16_t link)
{
	put32(f, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
	put16(f, 2);
	put16(f, 4);
	put32(f, 0);
	put32(f, 0);
	put32(f, 262144);
	put32(f, link);
}

__attribute__((unused)) static void pcap_packet(struct capture_file *f, uint32_t seconds, uint32_t fraction,
						const void *bytes, uint32_t size, uint32_t length)
{
	put32(f, seconds);
	put32(f, fraction);
	put32(f, size);
	put32(f, length);
	put_bytes(f, bytes, size);
}

/* A block of this type with this body, which is a multiple of four. */
__attribute__((unused)) static void pcapng_block(struct capture_file *f, uint32_t type, const struct capture_file *body)
{
	put32(f, type);
	put32(f, (uint32_t)body->n + 12);
	put_bytes(f, body->bytes, body->n);
	put32(f, (uint32_t)body->n + 12);
}

__attribute__((unused)) static void pcapng_section(struct capture_file *f)
{
	uint8_t room[64];
	struct capture_file body = { room, 0, f->swapped };

	put32(&body, 0x1a2b3c4d);
	put16(&body, 1);
	put16(&body, 0);
	put32(&body, ~0u);
	put32(&body, ~0u);
	pcapng_block(f, 0x0a0d0d0a, &body);
}

/* Its clock counts in this unit, as the option has it, from so many seconds on. */
__attribute__((unused)) static void pcapng_interface(struct capture_file *f, uint16_t link, uint32_t limit,
						     uint8_t resolution, uint32_t offset)
{
	uint8_t room[64];
	struct capture_file body = { room, 0, f->swapped };

	put16(&body, link);
	put16(&body, 0);
	put32(&body, limit);
	put16(&body, 9);
	put16(&body, 1);
	put_bytes(&body, (uint8_t[4]){ resolution }, 4);
	put16(&body, 14);
	put16(&body, 8);
	put64(&body, offset);
	put32(&body, 0);
	pcapng_block(f, 1, &body);
}

/* flags: of the packet, 0 for none. */
__attribute__((unused)) static void pcapng_packet_of(struct capture_file *f, uint32_t interface, uint64_t time,
						     const void *bytes, uint32_t size, uint32_t length, uint32_t flags)
{
	uint8_t room[1024] = { 0 };
	struct capture_file body = { room, 0, f->swapped };

	put32(&body, interface);
	put32(&body, (uint32_t)(time >> 32));
	put32(&body, (uint32_t)time);
	put32(&body, size);
	put32(&body, length);
	put_bytes(&body, bytes, size);
	body.n = (body.n + 3) / 4 * 4;
	if (flags) {
		put16(&body, 2);
		put16(&body, 4);
		put32(&body, flags);
		put32(&body, 0);
	}
	pcapng_block(f, 6, &body);
}

#endif
