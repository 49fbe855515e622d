// SPDX-License-Identifier: GPL-2.0-only
/* The parser on every header shape, cut off at every byte, and on random bytes against a naive reading of them. */
#include "frames.h"
#include "ktap.h"
#include "bpf/parse.h"

#define ROUNDS 400000

/*
 * Drivers place the Ethernet header two bytes behind an aligned address, so that IP is aligned. The memory ends where
 * the packet ends: the sanitizers see a look beyond it.
 */
#define LEAD 2

static ip6 source_num(int family, const struct source *source)
{
	return family == 4 ? source->ipv4 : (ip6)source_ipv6(source, 0) << 64 | source_ipv6(source, 1);
}

static int parse_copy(const uint8_t *frame, size_t size, ip6 *num)
{
	struct source source = { 0 };
	uint8_t *memory = malloc(LEAD + size);
	int family;

	if (!memory)
		abort();
	memcpy(memory + LEAD, frame, size);
	family = parse_source(memory + LEAD, memory + LEAD + size, &source);
	*num = family > HIDDEN ? source_num(family, &source) : 0;
	free(memory);
	return family;
}

static void every_shape(void)
{
	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		const struct frame_shape *shape = &frame_shapes[i];

		for (int round = 0; round < 20; round++) {
			uint8_t frame[FRAME_MAX];
			ip6 num = frame_make_random(frame, shape);

			for (size_t size = 0; size <= FRAME_MAX; size++) {
				int wanted = size >= shape->needed ? shape->family : 0;
				ip6 got;
				int family = parse_copy(frame, size, &got);

				if (!CHECK(family == wanted, "%s cut to %zu bytes: family %d, not %d", shape->name,
					   size, family, wanted))
					return;
				if (family > HIDDEN &&
				    !CHECK(got == num, "%s cut to %zu bytes: another source", shape->name, size))
					return;
			}
		}
	}
}

static unsigned int naive16(const uint8_t *at)
{
	return at[0] * 256U + at[1];
}

/* Reads a frame as a person would read a dump of it: header by header, each only if all of it is there. */
static int naive_parse(const uint8_t *frame, size_t size, size_t *source_at)
{
	unsigned int type, tags = 0;
	size_t at = 14;

	if (size < 14)
		return 0;
	type = naive16(frame + 12);
	while (type == 0x8100 || type == 0x88a8) {
		if (++tags > 4)
			return HIDDEN;
		if (size < at + 4)
			return 0;
		type = naive16(frame + at + 2);
		at += 4;
	}
	if (type == 0x8864) {
		if (size < at + 8)
			return 0;
		type = naive16(frame + at + 6);
		if (type / 256 == 0x21 || type / 256 == 0x57)
			return HIDDEN;
		type = type == 0x0021 ? 0x0800 : type == 0x0057 ? 0x86dd : 0;
		at += 8;
	}
	if (type == 0x0800 && size >= at + 20) {
		*source_at = at + 12;
		return 4;
	}
	if (type == 0x86dd && size >= at + 40) {
		*source_at = at + 8;
		return 6;
	}
	return 0;
}

/* In the place of the source is what the header says behind it; of what has none, nothing is touched. */
static void destinations(void)
{
	for (size_t i = 0; i < FRAME_SHAPES; i++) {
		const struct frame_shape *shape = &frame_shapes[i];
		_Alignas(4) uint8_t room[LEAD + FRAME_MAX];
		uint8_t *frame = room + LEAD;
		struct source source = { .ipv4 = 7 }, was;
		ip6 destination = 0;
		size_t n = shape->family == 4 ? 4 : 16;
		int family;

		frame_make_random(frame, shape);
		family = parse_source(frame, frame + FRAME_MAX, &source);
		was = source;
		source_turn(&source, family);
		if (family <= HIDDEN) {
			CHECK(!memcmp(&was, &source, sizeof(was)), "%s: something was turned", shape->name);
			continue;
		}
		/* The address is the last of its header. */
		for (size_t at = shape->needed - n; at < shape->needed; at++)
			destination = destination << 8 | frame[at];
		CHECK(source_num(family, &source) == destination, "%s: another destination", shape->name);
	}
}

/* Of all first bytes. */
static void versions(void)
{
	for (unsigned int first = 0; first < 256; first++) {
		const uint8_t byte = (uint8_t)first;
		unsigned int wanted = first / 16 == 4 ? 0x0800 : first / 16 == 6 ? 0x86dd : 0;

		CHECK(NET16(parse_version(&byte)) == wanted, "%#x: %#x, not %#x", first, NET16(parse_version(&byte)),
		      wanted);
	}
}

static int bare_tag(const uint8_t *bytes, size_t size)
{
	uint8_t *memory = malloc(size ?: 1);
	int is;

	if (!memory)
		abort();
	memcpy(memory, bytes, size);
	is = parse_bare_tag(memory, memory + size);
	free(memory);
	return is;
}

/* What is behind a tag of VLAN 0 is another tag, or the version that the tag names. */
static void bare_tags(void)
{
	static const unsigned int types[] = { 0x0800, 0x86dd, 0x8100, 0x88a8, 0, 0x8101, 0x0801, 0x0008, 0xdd86 };
	static const unsigned int tcis[] = { 0, 0x1000, 0xe000, 0xf000, 1, 0x0800, 0x0100, 0x4500, 0x6000 };
	unsigned int found = 0;

	for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++)
		for (size_t tci = 0; tci < sizeof(tcis) / sizeof(*tcis); tci++)
			for (unsigned int behind = 0; behind < 256; behind++)
				for (size_t size = 0; size <= 6; size++) {
					uint8_t bytes[6] = { [4] = (uint8_t)behind, [5] = 0xff };
					unsigned int named = types[type];
					bool wanted = size >= 5 && !(tcis[tci] % 4096) &&
						      (named == 0x8100 || named == 0x88a8 ||
						       (named == 0x0800 && behind / 16 == 4) ||
						       (named == 0x86dd && behind / 16 == 6));

					frame_put(bytes, 0, tcis[tci], 2);
					frame_put(bytes, 2, named, 2);
					found += wanted;
					if (!CHECK(bare_tag(bytes, size) == wanted,
						   "tci %#x, type %#x, %#x behind it, %zu bytes: %s", tcis[tci], named,
						   behind, size, wanted ? "no tag" : "a tag"))
						return;
				}
	/* Five that name no VLAN, in two lengths: before anything, or before sixteen first bytes. */
	CHECK(found == 5 * 2 * (256 + 256 + 16 + 16), "%u are tags", found);
}

static void random_frames(void)
{
	/* What the parser looks for, and neighbours of it. */
	static const unsigned int words[] = { 0x0800, 0x86dd, 0x8100, 0x88a8, 0x8864, 0x8863, 0x1100, 0x0021,
					      0x0057, 0x2145, 0x5760, 0x1110, 0x9100, 0x8101, 0x0801, 0x86dc };
	unsigned int found[7] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		uint8_t frame[FRAME_MAX];
		size_t size = ktap_random() % (FRAME_MAX + 1), source_at = 0;
		ip6 got;
		int family, wanted;
		ip6 num = 0;

		for (size_t i = 0; i < FRAME_MAX; i += 2)
			frame_put(frame, i, words[ktap_random() % (sizeof(words) / sizeof(*words))], 2);
		wanted = naive_parse(frame, size, &source_at);
		family = parse_copy(frame, size, &got);
		if (!CHECK(family == wanted, "round %d, %zu bytes: family %d, not %d", round, size, family, wanted))
			return;
		found[family]++;
		if (family <= HIDDEN)
			continue;
		for (size_t i = 0; i < (family == 4 ? 4 : 16); i++)
			num = num << 8 | frame[source_at + i];
		if (!CHECK(got == num, "round %d: another source", round))
			return;
	}
	printf("# of %d random frames %u held IPv4, %u IPv6, %u hid what they hold\n", ROUNDS, found[4], found[6],
	       found[HIDDEN]);
	CHECK(found[4] > 100 && found[6] > 100 && found[HIDDEN] > 100, "too few frames that hold anything");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every header shape, cut off at every byte", every_shape },
		{ "random frames", random_frames },
		{ "the destination of every header shape", destinations },
		{ "the version of every first byte", versions },
		{ "tags of no VLAN that begin a packet", bare_tags },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
