// SPDX-License-Identifier: GPL-2.0-only
/* Captures of both formats, in both byte orders, of every link type, cut off anywhere; and who sent most. */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "captures.h"
#include "frames.h"
#include "ktap.h"
#include "observe/replay.h"
#include "observe/senders.h"

/* Nothing is banned: what is asked is whether a source is found, and which. */
static const struct generation nothing = { .version = GENERATION_VERSION };

static uint8_t room[1 << 18];
static struct capture_file file = { .bytes = room };

/* --- Read ----------------------------------------------------------------------------------------------------------
 */

struct seen {
	uint64_t time;
	uint32_t interface, length, size;
	uint16_t link;
	bool outgoing, judged;
	__u32 answer;
	struct replay_source source;
};

static struct reading {
	size_t at, size, chunk; /* so many bytes at a time */
	struct seen seen[256];
	size_t n;
	struct capture_end end;
	int err;
	bool interrupted; /* each other time */
	size_t fails_at;  /* from there on; 0: nowhere */
} reading;

static ssize_t read_some(void *arg, void *buf, size_t size)
{
	struct reading *r = arg;
	size_t n = r->size - r->at;
	static bool again;

	again = r->interrupted && !again;
	if (again || (r->fails_at && r->at >= r->fails_at)) {
		errno = again ? EINTR : EIO;
		return -1;
	}
	n = n < size ? n : size;
	n = n < r->chunk ? n : r->chunk;
	memcpy(buf, file.bytes + r->at, n);
	r->at += n;
	return (ssize_t)n;
}

/* The memory ends where the packet ends: the sanitizers see a look beyond it. */
static int see(void *arg, const struct captured *p)
{
	struct reading *r = arg;
	struct captured copy = *p;
	uint8_t *memory = malloc(p->size ? p->size : 1);
	struct seen *s = &r->seen[r->n++ % 256];

	if (!memory)
		abort();
	memcpy(memory, p->bytes, p->size);
	copy.bytes = memory;
	*s = (struct seen){ p->time, p->interface, p->length, p->size, p->link, p->outgoing, false, 0, { 0 } };
	s->judged = replay_judge(&nothing, &copy, &s->answer, &s->source);
	free(memory);
	return 0;
}

/* The first so many bytes of the file. */
static void read_file(size_t size)
{
	struct capture_calls calls = { read_some, see, &reading };

	reading.at = reading.n = 0;
	reading.size = size;
	reading.err = capture_read(&calls, &reading.end);
}

static void begin(bool swapped)
{
	file.n = 0;
	file.swapped = swapped;
	reading.chunk = 1 + ktap_random() % 5000;
}

/* Those that are whole are read, whatever follows; and it is said where one is not. The file's own must be. */
static void cut_anywhere(const size_t *ends, size_t n, size_t header)
{
	size_t whole = 0;

	for (size_t size = 0; size <= file.n; size++) {
		while (whole < n && ends[whole] <= size)
			whole++;
		read_file(size);
		if (size < header) {
			if (!CHECK(err_is(reading.err, EPROTO) && reading.end.error[0], "%zu bytes are taken", size))
				return;
		} else if (!CHECK(!reading.err && reading.n == whole && reading.end.packets == whole,
				  "%zu of %zu bytes: error %d (%s), %zu packets, not %zu", size, file.n, reading.err,
				  reading.end.error, reading.n, whole) ||
			   !CHECK(reading.end.cut == (size != header && (!whole || ends[whole - 1] != size)),
				  "%zu bytes: cut is %d", size, reading.end.cut)) {
			return;
		}
	}
}

static void every_shape(void)
{
	for (unsigned int kind = 0; kind < 6; kind++) {
		bool swapped = kind & 1, nanoseconds = kind & 2, pcapng = kind >= 4;
		ip6 sources[FRAME_SHAPES];
		size_t ends[FRAME_SHAPES], header;

		begin(swapped);
		if (pcapng) {
			pcapng_section(&file);
			header = file.n;
			pcapng_interface(&file, 1, 0, 9, 0);
		} else {
			pcap_begin(&file, nanoseconds, 1);
			header = file.n;
		}
		for (size_t i = 0; i < FRAME_SHAPES; i++) {
			uint8_t frame[FRAME_MAX];

			sources[i] = frame_make_random(frame, &frame_shapes[i]);
			if (pcapng)
				pcapng_packet_of(&file, 0, 1700000000123456789, frame, FRAME_MAX, FRAME_MAX, 0);
			else
				pcap_packet(&file, 1700000000, nanoseconds ? 123456789 : 123456, frame, FRAME_MAX,
					    FRAME_MAX);
			ends[i] = file.n;
		}
		read_file(file.n);
		CHECK(!reading.err && !reading.end.cut && reading.n == FRAME_SHAPES,
		      "kind %u: error %d (%s), %zu packets", kind, reading.err, reading.end.error, reading.n);
		for (size_t i = 0; i < FRAME_SHAPES && !ktap_failed; i++) {
			const struct seen *s = &reading.seen[i];
			int family = frame_shapes[i].family;
			bool found = family == 4 || family == 6;

			CHECK(s->judged && s->length == FRAME_MAX && s->size == FRAME_MAX && s->link == 1 &&
				      s->time == (pcapng || nanoseconds ? 1700000000123456789 : 1700000000123456000),
			      "%s: %u of %u bytes at %llu", frame_shapes[i].name, s->size, s->length,
			      (unsigned long long)s->time);
			CHECK(s->answer == (found	       ? ANSWER(STAGE_GATE, 0, 0)
					    : family == HIDDEN ? ANSWER_HIDDEN
							       : ANSWER_UNPARSED) &&
				      s->source.family == (found ? family : 0) &&
				      (!found || s->source.num == sources[i]),
			      "%s: answer %x, family %d", frame_shapes[i].name, s->answer, s->source.family);
		}
		if (pcapng) /* an interface without packets is whole, too */
			continue;
		cut_anywhere(ends, FRAME_SHAPES, header);
	}
}

/* What a signal interrupts is read on, and what cannot be read is no end of it. */
static void interrupted(void)
{
	uint8_t frame[FRAME_MAX];
	size_t ends[2];

	begin(false);
	pcap_begin(&file, false, 1);
	for (size_t i = 0; i < 2; i++) {
		frame_make_random(frame, &frame_shapes[0]);
		pcap_packet(&file, 17, 0, frame, FRAME_MAX, FRAME_MAX);
		ends[i] = file.n;
	}
	reading.chunk = 7;
	reading.interrupted = true;
	read_file(file.n);
	CHECK(!reading.err && reading.n == 2 && !reading.end.cut, "error %d, %zu packets", reading.err, reading.n);
	reading.chunk = ends[0];
	reading.fails_at = ends[0];
	read_file(file.n);
	CHECK(err_is(reading.err, EIO) && reading.n == 1, "error %d, %zu packets", reading.err, reading.n);
	reading.interrupted = false;
	reading.fails_at = 0;
}

/* An interface of which nothing is said counts in millionths of a second. */
static void without_options(void)
{
	uint8_t frame[FRAME_MAX], room_of[8] = { 0 };

	for (int swapped = 0; swapped < 2; swapped++) {
		begin(swapped);
		pcapng_section(&file);
		room_of[swapped ? 1 : 0] = 1; /* Ethernet */
		room_of[swapped ? 0 : 1] = 0;
		pcapng_block(&file, 1, &(struct capture_file){ room_of, sizeof(room_of), swapped });
		frame_make_random(frame, &frame_shapes[0]);
		pcapng_packet_of(&file, 0, 17000001, frame, FRAME_MAX, FRAME_MAX, 0);
		read_file(file.n);
		CHECK(!reading.err && reading.n == 1 && reading.seen[0].time == 17000001000 &&
			      reading.seen[0].link == 1 && reading.seen[0].judged,
		      "error %d, %zu packets, at %llu, link %u", reading.err, reading.n,
		      (unsigned long long)reading.seen[0].time, reading.seen[0].link);
	}
}

static void pcapng_cut(void)
{
	size_t ends[6], header;
	uint8_t frame[FRAME_MAX];

	for (int swapped = 0; swapped < 2; swapped++) {
		begin(swapped);
		pcapng_section(&file);
		header = file.n;
		for (size_t i = 0; i < 6; i++) {
			frame_make_random(frame, &frame_shapes[i]);
			if (i == 3) {
				/* What is in the first 28 bytes is passed over. */
				pcapng_block(&file, 4, &(struct capture_file){ frame, 28, false });
			}
			if (!i)
				pcapng_interface(&file, 1, 0, 6, 0);
			pcapng_packet_of(&file, 0, i, frame, 60 + (uint32_t)i, 60 + (uint32_t)i, (uint32_t)i & 1);
			ends[i] = file.n;
		}
		for (size_t size = 4; size < header; size++) {
			read_file(size);
			if (!CHECK(err_is(reading.err, EPROTO), "%zu bytes are taken", size))
				return;
		}
		for (size_t size = header; size <= file.n; size++) {
			size_t whole = 0;

			while (whole < 6 && ends[whole] <= size)
				whole++;
			read_file(size);
			if (!CHECK(!reading.err && reading.n == whole, "%zu of %zu bytes: error %d (%s), %zu packets",
				   size, file.n, reading.err, reading.end.error, reading.n) ||
			    !CHECK(reading.end.cut || size == header || size == header + 44 || size == ends[2] + 40 ||
					   (whole && ends[whole - 1] == size),
				   "%zu bytes are not said to be cut", size))
				return;
		}
	}
}

/* --- Less of a packet, and other links ---------------------------------------------------------------------------- */

/* A packet of which less was captured is judged, and rightly, or it is said that it cannot be. */
static void captured_in_part(void)
{
	unsigned int told = 0, not_told = 0;

	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		uint8_t frame[FRAME_MAX];
		ip6 source = frame_make_random(frame, &frame_shapes[i]);
		int family = frame_shapes[i].family;

		for (uint32_t size = 0; size <= FRAME_MAX; size++) {
			const struct seen *s = &reading.seen[0];
			bool found = family == 4 || family == 6;

			begin(false);
			pcap_begin(&file, false, 1);
			pcap_packet(&file, 1, 1, frame, size, FRAME_MAX);
			read_file(file.n);
			told += s->judged;
			not_told += !s->judged;
			if (!s->judged) {
				CHECK(size < 80, "%s: %u bytes are too short", frame_shapes[i].name, size);
				continue;
			}
			CHECK(s->answer == (found	       ? ANSWER(STAGE_GATE, 0, 0)
					    : family == HIDDEN ? ANSWER_HIDDEN
							       : ANSWER_UNPARSED) &&
				      (!found || (s->source.family == family && s->source.num == source)),
			      "%s, %u bytes of it: answer %x", frame_shapes[i].name, size, s->answer);
			if (ktap_failed)
				return;
		}
	}
	CHECK(told > 1000 && not_told > 1000, "%u were judged, %u not", told, not_told);
}

/* The header that a capture has in the place of Ethernet's. */
static const struct link {
	const char *what;
	uint16_t link;
	uint8_t header[20];
	uint32_t bytes;
	int family;
	bool outgoing;
} links[] = {
	{ "raw, IPv4", 101, { 0 }, 0, 4, false },
	{ "raw, IPv6", 101, { 0 }, 0, 6, false },
	{ "raw as BSD has it, IPv4", 12, { 0 }, 0, 4, false },
	{ "raw as OpenBSD has it, IPv6", 14, { 0 }, 0, 6, false },
	{ "IPv4", 228, { 0 }, 0, 4, false },
	{ "IPv6", 229, { 0 }, 0, 6, false },
	{ "null, IPv4, little end first", 0, { 2 }, 4, 4, false },
	{ "null, IPv4, big end first", 0, { 0, 0, 0, 2 }, 4, 4, false },
	{ "null, IPv6, Linux", 0, { 10 }, 4, 6, false },
	{ "null, IPv6, NetBSD", 0, { 24 }, 4, 6, false },
	{ "null, IPv6, FreeBSD", 0, { 0, 0, 0, 28 }, 4, 6, false },
	{ "loop, IPv6, macOS", 108, { 0, 0, 0, 30 }, 4, 6, false },
	{ "null, little end first, no family", 0, { 2, 1 }, 4, 0, false },
	{ "null, big end first, no family", 0, { 0, 0, 1, 2 }, 4, 0, false },
	{ "null, IPv6, FreeBSD, little end first", 0, { 28 }, 4, 6, false },
	{ "loop, IPv6, macOS, little end first", 108, { 30 }, 4, 6, false },
	{ "loop, something else", 108, { 0, 0, 0, 7 }, 4, 0, false },
	{ "cooked, IPv4", 113, { [1] = 0, [3] = 1, [14] = 8 }, 16, 4, false },
	{ "cooked, IPv6", 113, { [14] = 0x86, [15] = 0xdd }, 16, 6, false },
	{ "cooked, ARP", 113, { [14] = 8, [15] = 6 }, 16, 0, false },
	{ "cooked, sent by this machine", 113, { [1] = 4, [14] = 8 }, 16, 0, true },
	{ "cooked 2, IPv4", 276, { 8 }, 20, 4, false },
	{ "cooked 2, IPv6", 276, { 0x86, 0xdd }, 20, 6, false },
	{ "cooked 2, sent by this machine", 276, { 8, [10] = 4 }, 20, 0, true },
};

static void other_links(void)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		const struct link *l = &links[i];
		/* IPv4 or IPv6 behind Ethernet: what is behind that goes behind the other header. */
		const struct frame_shape *shape = &frame_shapes[l->family == 6 ? 2 : 0];
		const struct seen *s = &reading.seen[0];
		uint8_t frame[FRAME_MAX], packet[FRAME_MAX + 20];
		ip6 source = frame_make_random(frame, shape);

		memcpy(packet, l->header, l->bytes);
		memcpy(packet + l->bytes, frame + 14, FRAME_MAX - 14);
		for (uint32_t size = 0; size <= l->bytes + FRAME_MAX - 14; size++) {
			uint32_t needed = l->bytes + (uint32_t)shape->needed - 14;

			begin(i & 1);
			pcap_begin(&file, true, l->link);
			pcap_packet(&file, 1, 1, packet, size, size);
			read_file(file.n);
			CHECK(!reading.err && reading.n == 1, "%s: error %d (%s)", l->what, reading.err,
			      reading.end.error);
			CHECK(s->outgoing == (l->outgoing && size >= (l->link == 113 ? 2 : 11)), "%s: outgoing %d",
			      l->what, s->outgoing);
			if (l->outgoing)
				continue;
			CHECK(s->judged && s->source.family == (size >= needed ? l->family : 0) &&
				      (!l->family || size < needed || s->source.num == source),
			      "%s, %u bytes: family %d, answer %x", l->what, size, s->source.family, s->answer);
		}
		/* Less than the header was captured: nobody can tell. */
		begin(false);
		pcap_begin(&file, true, l->link);
		pcap_packet(&file, 1, 1, packet, 1, 100);
		read_file(file.n);
		CHECK(!s->judged, "%s: a byte is judged", l->what);
	}
}

/* --- Interfaces and clocks ---------------------------------------------------------------------------------------- */

static void interfaces(void)
{
	static const struct {
		uint8_t resolution;
		uint32_t offset;
		uint64_t units, ns;
	} clocks[] = {
		{ 0, 0, 17, 17000000000 },
		{ 3, 0, 17001, 17001000000 },
		{ 6, 5, 17000001, 22000001000 },
		{ 9, 0, 17000000001, 17000000001 },
		{ 12, 0, 17000000001999, 17000000001 },
		{ 127, 0, UINT64_MAX, 0 },
		{ 0x80, 0, 17, 17000000000 },
		{ 0x81, 0, 17, 8500000000 },
		{ 0x9e, 1, 1 << 30, 2000000000 },
		{ 0xff, 0, UINT64_MAX, 0 },
		{ 0, 0, UINT64_MAX, 0 },
	};
	uint8_t frame[FRAME_MAX];
	const size_t n = sizeof(clocks) / sizeof(*clocks);

	for (int swapped = 0; swapped < 2; swapped++) {
		begin(swapped);
		pcapng_section(&file);
		for (unsigned int i = 0; i < 64; i++)
			pcapng_interface(&file, i & 1 ? 101 : 1, 0, clocks[i % n].resolution, clocks[i % n].offset);
		for (unsigned int i = 0; i < 64; i++) {
			frame_make(frame, &frame_shapes[0], 0xc0000200 + i);
			pcapng_packet_of(&file, i, clocks[i % n].units, frame + (i & 1 ? 14 : 0), 60, 1500, i & 2);
		}
		/* Another section, in the other order, and with an interface of its own. */
		file.swapped = !file.swapped;
		pcapng_section(&file);
		pcapng_interface(&file, 1, 0, 9, 0);
		pcapng_packet_of(&file, 0, 77, frame, 60, 60, 0);
		read_file(file.n);
		if (!CHECK(!reading.err && reading.n == 65, "error %d (%s), %zu packets", reading.err,
			   reading.end.error, reading.n))
			return;
		for (unsigned int i = 0; i < 64 && !ktap_failed; i++) {
			const struct seen *s = &reading.seen[i];

			CHECK(s->interface == i && s->time == clocks[i % n].ns && s->length == 1500 && s->size == 60 &&
				      s->outgoing == !!(i & 2) && s->judged == !(i & 2),
			      "interface %u: at %llu, not %llu; outgoing %d", i, (unsigned long long)s->time,
			      (unsigned long long)clocks[i % n].ns, s->outgoing);
			CHECK(i & 2 || (s->source.family == 4 && s->source.num == 0xc0000200 + i),
			      "interface %u: family %d", i, s->source.family);
		}
		CHECK(reading.seen[64].time == 77 && !reading.seen[64].interface, "the other section");
		/* One more than the section describes. */
		pcapng_packet_of(&file, 1, 77, frame, 60, 60, 0);
		read_file(file.n);
		CHECK(err_is(reading.err, EPROTO) && strstr(reading.end.error, "does not describe"), "it says '%s'",
		      reading.end.error);
	}
}

/* --- What is refused ---------------------------------------------------------------------------------------------- */

static void refused(const char *why)
{
	read_file(file.n);
	CHECK(err_is(reading.err, EPROTO) && strstr(reading.end.error, why) && !strchr(reading.end.error, '\n'),
	      "error %d, it says '%s', not '%s'", reading.err, reading.end.error, why);
}

/* A block of a section with one interface, with these words in it. */
static void refused_block(uint32_t type, uint32_t length, uint32_t at_end, const uint32_t *words, size_t n,
			  const char *why)
{
	begin(ktap_random() & 1);
	pcapng_section(&file);
	pcapng_interface(&file, 1, 0, 9, 0);
	put32(&file, type);
	put32(&file, length);
	for (size_t i = 0; i < n; i++)
		put32(&file, words[i]);
	put32(&file, at_end);
	for (size_t i = 0; i < 64; i++)
		put32(&file, 0);
	refused(why);
}

/* Without a time, of the first interface; no more of it than the interface's limit is there. */
static void simple_packets(void)
{
	static const struct {
		uint32_t limit, length, bytes,
			size; /* of the interface, the packet, and in the block; how much is read */
	} known[] = {
		{ 0, 60, 60, 60 }, { 60, 60, 60, 60 }, { 59, 60, 60, 59 }, { 20, 60, 20, 20 }, { 61, 60, 60, 60 }
	};
	uint8_t frame[FRAME_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint8_t body[80];
		struct capture_file block = { body, 0, i & 1 };
		const struct seen *s = &reading.seen[0];

		begin(i & 1);
		pcapng_section(&file);
		pcapng_interface(&file, 1, known[i].limit, 9, 0);
		pcapng_interface(&file, 113, 0, 9, 0);
		frame_make_random(frame, &frame_shapes[0]);
		put32(&block, known[i].length);
		put_bytes(&block, frame, known[i].bytes);
		pcapng_block(&file, 3, &block);
		read_file(file.n);
		CHECK(!reading.err && reading.n == 1 && s->length == known[i].length && s->size == known[i].size &&
			      s->link == 1 && !s->interface && !s->time && !s->outgoing,
		      "%zu: error %d (%s), %u of %u bytes", i, reading.err, reading.end.error, s->size, s->length);
	}
	begin(false);
	pcapng_section(&file);
	pcapng_block(&file, 3, &(struct capture_file){ frame, 64, false });
	refused("does not describe");
}

/* The file has one packet, the largest that is taken, or so many bytes more. */
static void largest(const char *why, unsigned int more)
{
	if (more)
		refused(why);
	else
		read_file(file.n);
	CHECK(more || (!reading.err && reading.seen[0].size == CAPTURED_MAX), "error %d (%s)", reading.err,
	      reading.end.error);
}

/* As long as one may be, and a word more. */
static void longest(void)
{
	static uint8_t large[CAPTURED_MAX * 2];
	struct capture_file whole = file, block = { large, 0, false };
	uint8_t *bytes = calloc(1, CAPTURED_MAX * 2 + 1024);

	file.bytes = bytes;
	for (unsigned int more = 0; more < 5; more += 4) {
		block.n = 0;
		begin(false);
		pcapng_section(&file);
		pcapng_interface(&file, 1, 0, 9, 0);
		put32(&block, 0);
		put32(&block, 0);
		put32(&block, 0);
		put32(&block, CAPTURED_MAX + more);
		put32(&block, CAPTURED_MAX + more);
		block.n += CAPTURED_MAX + more;
		pcapng_block(&file, 6, &block);
		largest("the block at byte 72 has more of a packet than any capture (256 KiB)", more);
		begin(false);
		pcapng_section(&file);
		pcapng_interface(&file, 1, 0, 9, 0);
		block.n = 0;
		put32(&block, CAPTURED_MAX + more);
		block.n += CAPTURED_MAX + more;
		pcapng_block(&file, 3, &block);
		largest("the block at byte 72 has more of a packet than any capture (256 KiB)", more);
		begin(false);
		pcap_begin(&file, false, 1);
		pcap_packet(&file, 1, 1, large, CAPTURED_MAX + more, 10);
		largest("packet 1, at byte 24, says that 262148 bytes of it were captured: no capture does", more);
		/* No packet is shorter than what was captured of it. */
		CHECK(more || reading.seen[0].length == CAPTURED_MAX, "%u bytes", reading.seen[0].length);
	}
	block.n = 0;
	/* Whatever is behind the packet, the block is read in one piece, and stands behind others. */
	begin(false);
	pcapng_section(&file);
	pcapng_interface(&file, 1, 0, 9, 0);
	memset(large, 0, sizeof(large));
	for (int i = 0; i < 3; i++)
		put32(&block, 0);
	put32(&block, 60);
	put32(&block, 60);
	block.n = CAPTURED_MAX * 2 - 12;
	pcapng_block(&file, 6, &block);
	read_file(file.n);
	CHECK(!reading.err && !reading.end.cut && reading.n == 1 && reading.seen[0].size == 60,
	      "error %d (%s), cut: %d", reading.err, reading.end.error, reading.end.cut);
	free(bytes);
	file = whole;
}

static void refusals(void)
{
	static const uint32_t zeros[16];
	uint8_t frame[FRAME_MAX] = { 0 };

	for (uint32_t magic = 0xa1b2c3d3; magic <= 0xa1b2c3d5; magic += 2) {
		begin(magic & 2);
		pcap_begin(&file, false, 1);
		memcpy(file.bytes, &magic, sizeof(magic));
		refused("neither pcap nor pcapng");
	}
	begin(false);
	put_bytes(&file,
		  "\xfd"
		  "7zXZ\0\0\0",
		  8);
	refused("it is compressed: xzcat FILE | xdp-bloom replay -");
	begin(false);
	put_bytes(&file, "\x28\xb5\x2f\xfd\0\0\0\0", 8);
	refused("it is compressed: zstdcat FILE | xdp-bloom replay -");
	begin(false);
	pcapng_section(&file);
	memcpy(file.bytes + 4, &(uint32_t){ 24 }, 4); /* its header, without the length of what follows */
	refused("ends with another length");
	begin(false);
	put32(&file, 0x0a0d0d0a);
	put32(&file, 24);
	put32(&file, 0x1a2b3c4d);
	put32(&file, 1);
	put32(&file, 0);
	put32(&file, 24);
	refused("is too short for a section");

	begin(false);
	refused("it is empty");
	put_bytes(&file, "192.0.2.1\n", 10);
	refused("neither pcap nor pcapng");
	begin(false);
	put_bytes(&file, "\x1f\x8b\x08\0\0\0\0\0", 8);
	refused("zcat");
	begin(false);
	pcap_begin(&file, false, 1);
	memcpy(file.bytes + 4, &(uint16_t){ 3 }, 2);
	refused("version 3");
	begin(true);
	pcap_begin(&file, false, 9);
	pcap_packet(&file, 1, 1, frame, 60, 60);
	refused("link type 9");
	begin(true);
	pcap_begin(&file, false, 1);
	pcap_packet(&file, 1, 1, frame, 60, 60);
	put32(&file, 0);
	put32(&file, 0);
	put32(&file, CAPTURED_MAX + 1);
	put32(&file, 0);
	refused("packet 2, at byte 100");
	begin(false);
	pcapng_section(&file);
	memcpy(file.bytes + 12, &(uint16_t){ 2 }, 2);
	refused("version");
	begin(false);
	pcapng_section(&file);
	file.bytes[8] = 0;
	refused("no byte order");
	refused_block(6, 8, 8, NULL, 0, "a length that none has");
	refused_block(6, 33, 33, zeros, 5, "a length that none has");
	refused_block(6, 28, 28, zeros, 4, "too short for a packet");
	refused_block(6, 32, 36, zeros, 5, "another length");
	refused_block(6, 32, 32, (uint32_t[]){ 0, 0, 0, 1, 1 }, 5, "shorter than its packet");
	refused_block(6, 32, 32, (uint32_t[]){ 0, 0, 0, ~0u, 1 }, 5, "shorter than its packet");
	refused_block(6, 32, 32, (uint32_t[]){ 1, 0, 0, 0, 0 }, 5, "does not describe");
	refused_block(6, 1 << 20, 1 << 20, zeros, 5, "longer than any packet");
	refused_block(2, 28, 28, zeros, 4, "too short for a packet");
	refused_block(3, 16, 16, (uint32_t[]){ 4 }, 1, "shorter than its packet");
	refused_block(3, 12, 12, NULL, 0, "too short for a packet");
	refused_block(1, 16, 16, zeros, 1, "too short for an interface");
	begin(false);
	pcapng_section(&file);
	for (unsigned int i = 0; i < 4097; i++)
		pcapng_interface(&file, 1, 0, 9, 0);
	refused("4096");
}

/* --- Who sent most ------------------------------------------------------------------------------------------------ */

/* More sources than the table holds: counts are too low by their error at most, and whoever is above the floor is
 * there. */
static void many_sources(void)
{
	enum { BUSY = 1000, RARE_ONES = 200000, KNOWN = BUSY + RARE_ONES, ROUNDS = 6 * REPLAY_SOURCES_MAX };
	struct replay_table table = { 0 };
	const struct replay_source **top;
	static uint64_t sent[KNOWN];
	size_t n, found = 0, again = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct replay_source who = { .family = 4, .fate = FATE_PASSED };

		/* Half are seen once, the busy often, and the rare are forgotten before they come again. */
		if (i % 2)
			who.num = KNOWN + i;
		else
			who.num = i % 16 ? ktap_random() % BUSY : BUSY + i / 16 % RARE_ONES;
		if (who.num < KNOWN)
			sent[who.num]++;
		if (!CHECK(!replay_table_count(&table, &who, 60), "out of memory"))
			return;
	}
	CHECK(table.floor && table.n <= REPLAY_SOURCES_MAX, "floor %llu, %zu sources", (unsigned long long)table.floor,
	      table.n);
	if (!CHECK(!replay_table_top(&table, FATE_PASSED, SIZE_MAX, &top, &n), "out of memory"))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct replay_source *who = top[i];

		CHECK(!i || who->packets <= top[i - 1]->packets, "out of order");
		CHECK(who->error <= table.floor, "error %llu, floor %llu", (unsigned long long)who->error,
		      (unsigned long long)table.floor);
		if (who->num >= KNOWN)
			continue;
		found += who->num < BUSY;
		again += who->packets < sent[who->num];
		CHECK(who->packets <= sent[who->num] && who->packets + who->error >= sent[who->num] &&
			      who->bytes == 60 * who->packets,
		      "%llu packets, %llu of them unsure, of %llu", (unsigned long long)who->packets,
		      (unsigned long long)who->error, (unsigned long long)sent[who->num]);
		if (ktap_failed)
			break;
	}
	CHECK(found == BUSY && again > 100, "%zu of the busy are there, %zu came back", found, again);
	free((void *)top);
	CHECK(!replay_table_top(&table, FATE_DROPPED, BUSY, &top, &n) && !n, "%zu were dropped", n);
	free((void *)top);
	free(table.slot);
}

/* Seconds in any order are kept in theirs; those beyond the bound are counted in sum. */
static void seconds(void)
{
	struct replay r = { .g = &nothing };
	uint8_t frame[FRAME_MAX];
	__u32 answer;
	bool judged;

	frame_make(frame, &frame_shapes[0], 0xc0000201);
	for (unsigned int i = 0; i < REPLAY_SECONDS_MAX + 100; i++) {
		struct captured p = { .time = (uint64_t)(i ^ 5) * 1000000000 + 7,
				      .timed = true,
				      .link = 1,
				      .length = 100,
				      .size = FRAME_MAX,
				      .bytes = frame };

		replay_packet(&r, &p, &answer, &judged);
		replay_packet(&r, &p, &answer, &judged);
	}
	CHECK(r.first == 7 && r.last > r.first, "from %llu to %llu", (unsigned long long)r.first,
	      (unsigned long long)r.last);
	for (uint64_t first = r.first, last = r.last, i = 0; i < 2; i++) {
		struct captured p = {
			.time = i ? 0 : UINT64_MAX, .link = 1, .length = 100, .size = FRAME_MAX, .bytes = frame
		};

		replay_packet(&r, &p, &answer, &judged);
		CHECK(judged && r.first == first && r.last == last && r.without_second == 201 + i,
		      "without a time: from %llu to %llu", (unsigned long long)r.first, (unsigned long long)r.last);
	}
	replay_end(&r);
	CHECK(r.seconds_n == REPLAY_SECONDS_MAX && r.without_second == 202, "%llu seconds, %llu packets without",
	      (unsigned long long)r.seconds_n, (unsigned long long)r.without_second);
	for (size_t i = 0; i < r.seconds_n; i++)
		if (!CHECK((!i || r.seconds[i].second > r.seconds[i - 1].second) && r.seconds[i].passed.packets == 2 &&
				   r.seconds[i].passed.bytes == 200,
			   "second %zu is %lld with %llu packets", i, (long long)r.seconds[i].second,
			   (unsigned long long)r.seconds[i].passed.packets))
			break;
	CHECK(r.passed.packets == 2 * (REPLAY_SECONDS_MAX + 100) + 2 && r.first == 7, "%llu passed",
	      (unsigned long long)r.passed.packets);
	replay_free(&r);
}

/* What a sender sends within one second is counted together, and no more. */
static void busiest_second(void)
{
	static const uint64_t times[] = { 9000000000, 10000000000, 10999999999 };
	struct replay r = { .g = &nothing, .senders = senders_new() };
	struct sender_class packets;
	uint8_t frame[FRAME_MAX];

	frame_make(frame, &frame_shapes[0], 0xc0000201);
	for (size_t i = 0; i < 3; i++) {
		struct captured p = {
			.time = times[i], .timed = true, .link = 1, .length = 100, .size = FRAME_MAX, .bytes = frame
		};
		__u32 answer;
		bool judged;

		CHECK(!replay_packet(&r, &p, &answer, &judged) && judged, "packet %zu", i);
	}
	CHECK(!senders_class(r.senders, CLASS_PACKETS, &packets) && packets.sources == 1 &&
		      packets.busiest[0].peak == 2,
	      "%llu of %llu sources in a second", (unsigned long long)packets.busiest[0].peak,
	      (unsigned long long)packets.sources);
	replay_free(&r);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every shape, in every kind of file, cut off anywhere", every_shape },
		{ "blocks cut off anywhere", pcapng_cut },
		{ "packets captured in part", captured_in_part },
		{ "other links", other_links },
		{ "interfaces and their clocks", interfaces },
		{ "what is refused", refusals },
		{ "packets without a time", simple_packets },
		{ "the longest", longest },
		{ "more sources than there is room for", many_sources },
		{ "seconds in any order", seconds },
		{ "what a sender sends in a second", busiest_second },
		{ "interrupted", interrupted },
		{ "an interface without options", without_options },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
