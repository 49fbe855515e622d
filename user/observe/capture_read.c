// SPDX-License-Identifier: GPL-2.0-only
/* The formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; link types: tcpdump.org/linktypes.html */
#include "observe/capture_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress.h"
#include "observe/pcapng.h"

#define PCAP_MICROSECONDS 0xa1b2c3d4
#define PCAP_NANOSECONDS  0xa1b23c4d
#define BLOCK_SECTION	  0x0a0d0d0a
#define BLOCK_ORDER	  0x1a2b3c4d
#define BLOCK_INTERFACE	  1
#define BLOCK_PACKET_OLD  2
#define BLOCK_SIMPLE	  3
#define BLOCK_PACKET	  6
#define OPTION_FLAGS	  2 /* of a packet */
#define OPTION_TSRESOL	  9 /* of an interface */
#define OPTION_TSOFFSET	  14
#define OUTBOUND	  2

/* A block that is looked into is at most so long; others may be longer, and are passed over. */
#define BUFFER_BYTES   (2u * CAPTURED_MAX)
#define INTERFACES_MAX 4096

struct interface {
	uint16_t link;
	uint32_t limit;
	uint8_t resolution; /* of its clock, as the file writes it */
	int64_t offset;	    /* s */
};

struct file {
	const struct capture_calls *calls;
	struct capture_end *end;
	uint8_t *buf;
	size_t at, filled;
	uint64_t passed; /* bytes of the file before the buffer */
	bool ended, swapped, nanoseconds;
	struct interface *interface;
	uint32_t interfaces;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct file *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->end->error, sizeof(f->end->error), fmt, args);
	va_end(args);
	return -EPROTO;
}

static uint64_t here(const struct file *f)
{
	return f->passed + f->at;
}

/* As many of so many bytes as the file has, in one piece at [at]. Or -errno. */
static ssize_t look(struct file *f, size_t bytes)
{
	if (f->filled - f->at < bytes && !f->ended) {
		memmove(f->buf, f->buf + f->at, f->filled - f->at);
		f->passed += f->at;
		f->filled -= f->at;
		f->at = 0;
	}
	while (f->filled - f->at < bytes && !f->ended) {
		ssize_t n = f->calls->read(f->calls->arg, f->buf + f->filled, BUFFER_BYTES - f->filled);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		f->ended = n == 0;
		f->filled += (size_t)n;
	}
	return (ssize_t)(f->filled - f->at < bytes ? f->filled - f->at : bytes);
}

/* 1 where that many are there; 0: the file is cut off here; or -errno. */
static int have(struct file *f, size_t bytes)
{
	ssize_t n = look(f, bytes);

	if (n >= 0 && (size_t)n < bytes)
		f->end->cut = true;
	return n < 0 ? (int)n : (size_t)n == bytes;
}

static int pass_over(struct file *f, uint64_t bytes)
{
	while (bytes) {
		size_t some = bytes < BUFFER_BYTES ? (size_t)bytes : BUFFER_BYTES;
		int is = have(f, some);

		if (is <= 0)
			return is;
		f->at += some;
		bytes -= some;
	}
	return 1;
}

static uint16_t get16(const struct file *f, const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return f->swapped ? __builtin_bswap16(value) : value;
}

static uint32_t get32(const struct file *f, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return f->swapped ? __builtin_bswap32(value) : value;
}

static uint64_t get64(const struct file *f, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return f->swapped ? __builtin_bswap64(value) : value;
}

/* Where a cooked header says that the packet went out. */
static bool cooked_outgoing(const struct captured *p)
{
	return (p->link == 113 && p->size >= 2 && !p->bytes[0] && p->bytes[1] == 4) ||
	       (p->link == 276 && p->size >= 11 && p->bytes[10] == 4);
}

static int give(struct file *f, struct captured *p)
{
	if (!frame_link_known(p->link))
		return refuse(
			f, "packet %llu has link type %u, and replay reads Ethernet, raw IP, Linux cooked and loopback",
			(unsigned long long)f->end->packets + 1, p->link);
	if (p->length < p->size)
		p->length = p->size;
	p->outgoing |= cooked_outgoing(p);
	f->end->packets++;
	return f->calls->packet(f->calls->arg, p);
}

/* --- pcap --------------------------------------------------------------------------------------------------------- */

#define PCAP_HEADER 24
#define PCAP_RECORD 16

static int pcap_packet(struct file *f, uint16_t link)
{
	const uint8_t *at = f->buf + f->at;
	struct captured p = { .timed = true, .link = link };
	int is;

	p.time = get32(f, at) * 1000000000ULL + get32(f, at + 4) * (f->nanoseconds ? 1ULL : 1000ULL);
	p.size = get32(f, at + 8);
	p.length = get32(f, at + 12);
	if (p.size > CAPTURED_MAX)
		return refuse(f, "packet %llu, at byte %llu, says that %u bytes of it were captured: no capture does",
			      (unsigned long long)f->end->packets + 1, (unsigned long long)here(f), p.size);
	is = have(f, PCAP_RECORD + (size_t)p.size);
	if (is <= 0)
		return is;
	p.bytes = f->buf + f->at + PCAP_RECORD;
	f->at += PCAP_RECORD + p.size;
	return give(f, &p) ?: 1;
}

static int read_pcap(struct file *f)
{
	int is = have(f, PCAP_HEADER);
	const uint8_t *at;
	uint16_t link;

	if (is <= 0)
		return is;
	at = f->buf + f->at;
	if (get16(f, at + 4) != 2)
		return refuse(f, "it is pcap of version %u, and there is only 2", get16(f, at + 4));
	link = (uint16_t)get32(f, at + 20); /* above it: whether frames have a checksum behind them */
	f->at += PCAP_HEADER;
	while (is > 0 && look(f, 1) != 0) {
		is = have(f, PCAP_RECORD);
		if (is > 0)
			is = pcap_packet(f, link);
	}
	return is;
}

/* --- pcapng ------------------------------------------------------------------------------------------------------- */

static int refuse_block(struct file *f, const char *why)
{
	return refuse(f, "the block at byte %llu %s", (unsigned long long)here(f), why);
}

/* The value of an option, if it is there with so many bytes. */
static const uint8_t *option(const struct file *f, const uint8_t *at, const uint8_t *end, uint16_t code, size_t bytes)
{
	while (end - at >= 4) {
		size_t n = get16(f, at + 2), padded = (n + 3) / 4 * 4;
		uint16_t is = get16(f, at);

		if (!is || (size_t)(end - at) - 4 < padded)
			return NULL;
		if (is == code)
			return n == bytes ? at + 4 : NULL;
		at += 4 + padded;
	}
	return NULL;
}

static int take_interface(struct file *f, const uint8_t *body, const uint8_t *end)
{
	const uint8_t *resolution, *offset;
	struct interface *i;

	if (end - body < 8)
		return refuse_block(f, "is too short for an interface");
	if (f->interfaces == INTERFACES_MAX)
		return refuse_block(f, "is one interface more than replay takes (4096)");
	i = &f->interface[f->interfaces++];
	resolution = option(f, body + 8, end, OPTION_TSRESOL, 1);
	offset = option(f, body + 8, end, OPTION_TSOFFSET, 8);
	i->link = get16(f, body);
	i->limit = get32(f, body + 4);
	i->resolution = resolution ? *resolution : 6;
	i->offset = offset ? (int64_t)get64(f, offset) : 0;
	return 1;
}

/* In ns, whatever the clock's unit is: a power of ten, or with the upper bit of two. What cannot be is 0. */
static uint64_t time_of(const struct interface *i, uint64_t units)
{
	unsigned int power = i->resolution & 127;
	unsigned __int128 ns = units;
	__int128 sum;

	if (i->resolution & 128) {
		ns = ns * 1000000000 >> power;
	} else {
		for (; power < 9; power++)
			ns *= 10;
		for (; power > 9 && ns; power--)
			ns /= 10;
	}
	sum = (__int128)ns + (__int128)i->offset * 1000000000;
	return sum < 0 || sum > INT64_MAX ? 0 : (uint64_t)sum;
}

/* The same fields in both kinds, but for the interface's number. */
static int take_packet(struct file *f, const uint8_t *body, const uint8_t *end, bool old)
{
	struct captured p = { .timed = true };
	const uint8_t *flags;
	size_t room;

	if (end - body < 20)
		return refuse_block(f, "is too short for a packet");
	p.interface = old ? get16(f, body) : get32(f, body);
	if (p.interface >= f->interfaces)
		return refuse_block(f, "is a packet of an interface that the file does not describe");
	p.link = f->interface[p.interface].link;
	p.time = time_of(&f->interface[p.interface], (uint64_t)get32(f, body + 4) << 32 | get32(f, body + 8));
	p.size = get32(f, body + 12);
	p.length = get32(f, body + 16);
	p.bytes = body + 20;
	room = (size_t)(end - body) - 20;
	if (p.size > room)
		return refuse_block(f, "is shorter than its packet");
	if (p.size > CAPTURED_MAX)
		return refuse_block(f, "has more of a packet than any capture (256 KiB)");
	if (((size_t)p.size + 3) / 4 * 4 < room) {
		flags = option(f, p.bytes + ((size_t)p.size + 3) / 4 * 4, end, OPTION_FLAGS, 4);
		p.outgoing = flags && (get32(f, flags) & 3) == OUTBOUND;
	}
	return give(f, &p) ?: 1;
}

/* Without a time, and of the first interface. How much was captured follows from the interface's limit. */
static int take_simple(struct file *f, const uint8_t *body, const uint8_t *end)
{
	struct captured p = { 0 };

	if (end - body < 4)
		return refuse_block(f, "is too short for a packet");
	if (!f->interfaces)
		return refuse_block(f, "is a packet of an interface that the file does not describe");
	p.link = f->interface->link;
	p.length = get32(f, body);
	p.size = p.length;
	if (f->interface->limit && p.size > f->interface->limit)
		p.size = f->interface->limit;
	p.bytes = body + 4;
	if (p.size > (size_t)(end - body) - 4)
		return refuse_block(f, "is shorter than its packet");
	if (p.size > CAPTURED_MAX)
		return refuse_block(f, "has more of a packet than any capture (256 KiB)");
	return give(f, &p) ?: 1;
}

/* A new section may have the other byte order, and has interfaces of its own. */
static int take_section(struct file *f, const uint8_t *body, const uint8_t *end)
{
	if (end - body < 16)
		return refuse_block(f, "is too short for a section");
	if (get16(f, body + 4) != 1)
		return refuse_block(f, "begins a section of a version that is not 1");
	f->interfaces = 0;
	return 1;
}

static int take_block(struct file *f, uint32_t type, const uint8_t *body, const uint8_t *end)
{
	switch (type) {
	case BLOCK_SECTION:
		return take_section(f, body, end);
	case BLOCK_INTERFACE:
		return take_interface(f, body, end);
	case BLOCK_PACKET_OLD:
	case BLOCK_PACKET:
		return take_packet(f, body, end, type == BLOCK_PACKET_OLD);
	default:
		return take_simple(f, body, end);
	}
}

static bool is_looked_into(uint32_t type)
{
	return type == BLOCK_SECTION || type == BLOCK_INTERFACE || type == BLOCK_PACKET_OLD || type == BLOCK_SIMPLE ||
	       type == BLOCK_PACKET;
}

static int read_block(struct file *f)
{
	const uint8_t *at;
	uint32_t type, length;
	int is = have(f, 12);

	if (is <= 0)
		return is;
	at = f->buf + f->at;
	type = get32(f, at);
	/* Its type reads the same in both orders. */
	if (type == BLOCK_SECTION) {
		f->swapped = false;
		f->swapped = get32(f, at + 8) == __builtin_bswap32(BLOCK_ORDER);
		if (get32(f, at + 8) != BLOCK_ORDER)
			return refuse_block(f, "begins a section in no byte order");
	}
	length = get32(f, at + 4);
	if (length < 12 || length % 4)
		return refuse_block(f, "has a length that none has");
	if (!is_looked_into(type))
		return pass_over(f, length);
	if (length > BUFFER_BYTES)
		return refuse_block(f, "is longer than any packet");
	is = have(f, length);
	if (is <= 0)
		return is;
	at = f->buf + f->at;
	if (get32(f, at + length - 4) != length)
		return refuse_block(f, "ends with another length than it begins with");
	is = take_block(f, type, at + 8, at + length - 4);
	f->at += length;
	return is;
}

static int read_pcapng(struct file *f)
{
	int is = 1;

	f->interface = calloc(INTERFACES_MAX, sizeof(*f->interface));
	if (!f->interface)
		return -ENOMEM;
	while (is > 0 && look(f, 1) != 0)
		is = read_block(f);
	free(f->interface);
	return is;
}

/* --- Either ------------------------------------------------------------------------------------------------------- */

static int refuse_unknown(struct file *f, size_t n)
{
	static const char *const unpack[] = { [GZIP] = "zcat", [XZ] = "xzcat", [ZSTD] = "zstdcat" };
	enum packing packing = packing_of(f->buf, n);

	if (packing != PLAIN)
		return refuse(f, "it is compressed: %s FILE | xdp-bloom replay -", unpack[packing]);
	return refuse(f, n ? "it is neither pcap nor pcapng" : "it is empty");
}

static int read_any(struct file *f)
{
	ssize_t n = look(f, PACKING_BYTES);
	uint32_t magic;

	if (n < 4)
		return n < 0 ? (int)n : refuse_unknown(f, (size_t)n);
	magic = get32(f, f->buf);
	if (magic == BLOCK_SECTION)
		return read_pcapng(f);
	f->swapped = magic == __builtin_bswap32(PCAP_MICROSECONDS) || magic == __builtin_bswap32(PCAP_NANOSECONDS);
	magic = get32(f, f->buf);
	if (magic != PCAP_MICROSECONDS && magic != PCAP_NANOSECONDS)
		return refuse_unknown(f, (size_t)n);
	f->nanoseconds = magic == PCAP_NANOSECONDS;
	return read_pcap(f);
}

int capture_read(const struct capture_calls *calls, struct capture_end *end)
{
	struct file f = { .calls = calls, .end = end };
	int err;

	*end = (struct capture_end){ 0 };
	f.buf = malloc(BUFFER_BYTES);
	err = f.buf ? read_any(&f) : -ENOMEM;
	free(f.buf);
	if (err >= 0 && end->cut && !here(&f))
		err = refuse(&f, "it ends within its own header");
	return err < 0 ? err : 0;
}

/* --- Frames ------------------------------------------------------------------------------------------------------- */

#define LINK_NULL    0
#define LINK_RAW     101
#define LINK_LOOP    108
#define LINK_COOKED  113
#define LINK_IPV4    228
#define LINK_IPV6    229
#define LINK_COOKED2 276

#define ETHERNET_BYTES 14
#define TYPE_IPV4      0x0800
#define TYPE_IPV6      0x86dd
#define TYPE_NONE      0xffff /* reserved: nothing looks into it */

bool frame_link_known(uint16_t link)
{
	switch (link) {
	case LINK_NULL:
	case LINK_ETHERNET:
	case 12: /* raw IP, as some systems number it */
	case 14:
	case LINK_RAW:
	case LINK_LOOP:
	case LINK_COOKED:
	case LINK_IPV4:
	case LINK_IPV6:
	case LINK_COOKED2:
		return true;
	default:
		return false;
	}
}

/* The system's number for the family, in the byte order of the machine that captured it, or the network's. */
static uint16_t type_of_family(const uint8_t *at)
{
	unsigned int family = at[0] | at[1] ? (unsigned int)at[0] | (unsigned int)at[1] << 8
					    : (unsigned int)at[3] | (unsigned int)at[2] << 8;

	if (family == 2)
		return TYPE_IPV4;
	/* Linux, NetBSD, FreeBSD, macOS */
	return family == 10 || family == 24 || family == 28 || family == 30 ? TYPE_IPV6 : TYPE_NONE;
}

static uint16_t type_of_version(const uint8_t *at)
{
	return *at >> 4 == 4 ? TYPE_IPV4 : *at >> 4 == 6 ? TYPE_IPV6 : TYPE_NONE;
}

/* How long the capture's own header is, and the type that Ethernet would say. */
static uint32_t header_of(const struct captured *p, uint16_t *type)
{
	uint32_t header = p->link == LINK_COOKED2			 ? 20
			  : p->link == LINK_COOKED			 ? 16
			  : p->link == LINK_NULL || p->link == LINK_LOOP ? 4
									 : 0;

	*type = TYPE_IPV4; /* of which nothing was captured, then */
	if (p->size < header || !p->size)
		return p->size;
	if (p->link == LINK_COOKED2)
		*type = (uint16_t)(p->bytes[0] << 8 | p->bytes[1]);
	else if (p->link == LINK_COOKED)
		*type = (uint16_t)(p->bytes[14] << 8 | p->bytes[15]);
	else if (header)
		*type = type_of_family(p->bytes);
	else if (p->link == LINK_IPV4 || p->link == LINK_IPV6)
		*type = p->link == LINK_IPV4 ? TYPE_IPV4 : TYPE_IPV6;
	else
		*type = type_of_version(p->bytes);
	return header;
}

void frame_make_of(struct frame *frame, const struct captured *p)
{
	uint8_t *to = FRAME_AT(frame);
	uint32_t header = 0, made = 0;
	uint16_t type;

	if (p->link != LINK_ETHERNET) {
		header = header_of(p, &type);
		made = ETHERNET_BYTES;
		memset(to, 0, made);
		to[12] = (uint8_t)(type >> 8);
		to[13] = (uint8_t)type;
	}
	frame->n = p->size - header;
	if (frame->n > FRAME_BYTES - made)
		frame->n = FRAME_BYTES - made;
	memcpy(to + made, p->bytes + header, frame->n);
	frame->n += made;
}
