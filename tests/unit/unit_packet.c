// SPDX-License-Identifier: GPL-2.0-only
/* What is said of a sampled packet: protocols, ports and extension headers, and every frame cut off at every byte. */
#include "bpf/abi.h"
#include "frames.h"
#include "ktap.h"
#include "observe/packet.h"

/* The memory ends where the packet ends: the sanitizers see a look beyond it. */
static struct packet read_copy(const uint8_t *frame, size_t size)
{
	uint8_t *memory = malloc(2 + size);
	struct packet p;

	if (!memory)
		abort();
	memcpy(memory + 2, frame, size);
	packet_read(&p, memory + 2, size);
	free(memory);
	return p;
}

/* In a sample they lie otherwise. */
static bool same_sampled(const struct packet *p, const uint8_t *frame, size_t size)
{
	struct sample sample = { .captured = (__u16)size };
	struct packet sampled;

	memcpy(sample.bytes, frame, size);
	packet_sampled(&sampled, &sample);
	return CHECK(sampled.source.family == p->source.family && sampled.source.num == p->source.num &&
			     sampled.destination.num == p->destination.num && sampled.protocol == p->protocol &&
			     sampled.source_port == p->source_port && sampled.destination_port == p->destination_port,
		     "%zu bytes, sampled", size);
}

static void every_shape(void)
{
	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		for (int round = 0; round < 50; round++) {
			const struct frame_shape *shape = &frame_shapes[i];
			uint8_t frame[FRAME_MAX];
			ip6 num = frame_make_random(frame, shape);

			for (size_t size = 0; size <= FRAME_MAX; size++) {
				struct packet p = read_copy(frame, size);
				int wanted = size >= shape->needed && shape->family != HIDDEN ? shape->family : 0;

				if (!CHECK(p.source.family == wanted && (!wanted || p.source.num == num),
					   "%s cut to %zu bytes: family %d", shape->name, size, p.source.family))
					return;
				if (size <= SAMPLE_BYTES && !same_sampled(&p, frame, size))
					return;
			}
		}
	}
}

/* Hex with blanks into bytes. */
static size_t hex(uint8_t *bytes, const char *text)
{
	size_t n = 0;

	while (*text) {
		unsigned int value;

		if (*text == ' ') {
			text++;
			continue;
		}
		if (sscanf(text, "%2x", &value) != 1)
			abort();
		bytes[n++] = (uint8_t)value;
		text += 2;
	}
	return n;
}

#define ETH4 "000102030405 060708090a0b 0800 "
#define ETH6 "000102030405 060708090a0b 86dd "
#define IP6  "20010db8000000000000000000000007 20010db8000000000000000000000001 "

static const struct {
	const char *what, *bytes;
	int protocol, from, to;
} known[] = {
	{ "tcp", ETH4 "45000028 00000000 40060000 c0000207 c6336401 04d20050", 6, 1234, 80 },
	{ "udp behind options", ETH4 "46000020 00000000 40110000 c0000207 c6336401 01020304 00350036", 17, 53, 54 },
	{ "a later fragment has no ports", ETH4 "45000028 00000001 40110000 c0000207 c6336401 00350036", 17, -1, -1 },
	{ "the first fragment has", ETH4 "45000028 00002000 40110000 c0000207 c6336401 00350036", 17, 53, 54 },
	{ "a header length of 16", ETH4 "44000028 00000000 40110000 c0000207 c6336401 00350036", 17, -1, -1 },
	{ "icmp has none", ETH4 "4500001c 00000000 40010000 c0000207 c6336401 08000000", 1, -1, -1 },
	{ "ports cut off", ETH4 "45000028 00000000 40060000 c0000207 c6336401 04d200", 6, -1, -1 },
	{ "IPv6, udp", ETH6 "60000000 00081140 " IP6 "00350036", 17, 53, 54 },
	{ "IPv6, hop by hop and destination options, tcp",
	  ETH6 "60000000 00180040 " IP6 "3c00000000000000 0600000000000000 01bb1000", 6, 443, 4096 },
	{ "IPv6, a later fragment", ETH6 "60000000 00102c40 " IP6 "1100 0008 00000001 00350036", 17, -1, -1 },
	{ "IPv6, the first fragment", ETH6 "60000000 00102c40 " IP6 "1100 0001 00000001 00350036", 17, 53, 54 },
	{ "IPv6, an extension longer than the packet", ETH6 "60000000 00100040 " IP6 "11ff0000 00000000 00350036", 17,
	  -1, -1 },
};

static void what_is_known(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint8_t frame[FRAME_MAX];
		size_t size = hex(frame, known[i].bytes);
		struct packet p = read_copy(frame, size);
		char text[PREFIX_TEXT_MAX];

		CHECK(p.protocol == known[i].protocol && p.source_port == known[i].from &&
			      p.destination_port == known[i].to,
		      "%s: protocol %d, ports %d and %d", known[i].what, p.protocol, p.source_port, p.destination_port);
		prefix_text(text, p.destination, -1);
		CHECK(!strcmp(text, p.source.family == 4 ? "198.51.100.1" : "2001:db8::1"), "%s: to %s", known[i].what,
		      text);
		for (size_t cut = 0; cut < size; cut++)
			read_copy(frame, cut);
	}
}

/* Each protocol by its name, or its number. */
static void names(void)
{
	static const struct {
		int number;
		const char *name;
	} named[] = { { -1, "-" },    { 1, "icmp" }, { 2, "igmp" }, { 4, "ipip" }, { 6, "tcp" },    { 17, "udp" },
		      { 41, "ipv6" }, { 47, "gre" }, { 50, "esp" }, { 51, "ah" },  { 58, "icmp6" }, { 132, "sctp" } };
	size_t met = 0;

	for (int number = -1; number < 256; number++) {
		char buf[16], digits[16];
		const char *name = packet_protocol(number, buf);

		snprintf(digits, sizeof(digits), "%d", number);
		if (met < sizeof(named) / sizeof(named[0]) && named[met].number == number)
			CHECK(!strcmp(name, named[met++].name), "%d is '%s'", number, name);
		else
			CHECK(!strcmp(name, digits), "%d is '%s'", number, name);
	}
	CHECK(met == sizeof(named) / sizeof(named[0]), "%zu names", met);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every shape, cut off at every byte", every_shape },
		{ "protocols and ports", what_is_known },
		{ "names of protocols", names },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
