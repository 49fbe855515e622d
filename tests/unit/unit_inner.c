// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the packet within a packet begins: IP in IP, 6in4 and GRE, behind options, headers of IPv6, tags, fragments;
 * and that where there is none, none is found. Each frame is also cut at each of its bytes.
 */
#include "bpf/inner.h"

#include "ktap.h"

/* As a driver lays it: what is behind the Ethernet header is aligned. */
static _Alignas(4) __u8 room[2 + 2048];
static __u8 *const made = room + 2;
static __u32 frame_n;

static void put(unsigned int value, unsigned int bytes)
{
	while (bytes--)
		made[frame_n++] = (__u8)(value >> 8 * bytes);
}

static void zeros(unsigned int n)
{
	memset(made + frame_n, 0, n);
	frame_n += n;
}

/*
 * e800 Ethernet of that type; t800 a tag before that type; 4:6 IPv4 of that protocol, with options: 4o:6, a later
 * fragment: 4f:6, the first of several: 4m:6; 6:6 IPv6; x6:1 a header of IPv6 before that protocol, of 8 + 8 bytes;
 * f6:0 a fragment's at that place; a6:4 AH, of 24 bytes; g3000:800 GRE with these flags and what they want; z4 zeros.
 */
static void make(const char *text)
{
	frame_n = 0;
	for (; *text; text += strcspn(text, " "), text += *text == ' ') {
		unsigned int a = 0, b = 0;
		char how = 0;

		if (sscanf(text, "e%x", &a) == 1) {
			zeros(12);
			put(a, 2);
		} else if (sscanf(text, "t%x", &a) == 1) {
			put(7, 2);
			put(a, 2);
		} else if (sscanf(text, "4:%u", &a) == 1 || sscanf(text, "4%c:%u", &how, &a) == 2) {
			put(how == 'o' ? 0x47000000 : 0x45000000, 4);
			put(how == 'f' ? 0x00010001 : how == 'm' ? 0x00012000 : 0x00014000, 4);
			put(0x40000000 | a << 16, 4);
			put(0xcb007107, 4);
			put(0xcb007108, 4);
			zeros(how == 'o' ? 8 : 0);
		} else if (sscanf(text, "6:%u", &a) == 1) {
			put(0x60000000, 4);
			put(a << 8 | 64, 4);
			put(0x20010db8, 4);
			zeros(28);
		} else if (sscanf(text, "x%u:%u", &a, &b) == 2) {
			put(a << 8 | b, 2);
			zeros(6 + 8 * b);
		} else if (sscanf(text, "f%u:%u", &a, &b) == 2) {
			put(a << 8, 2);
			put(b << 3 | 1, 2);
			zeros(4);
		} else if (sscanf(text, "a%u:%u", &a, &b) == 2) {
			put(a << 8 | b, 2);
			zeros(4 * b + 6);
		} else if (sscanf(text, "g%x:%x", &a, &b) == 2) {
			put(a << 16 | b, 4);
			zeros((a & 0x8000 ? 4 : 0) + (a & 0x2000 ? 4 : 0) + (a & 0x1000 ? 4 : 0));
		} else if (sscanf(text, "z%u", &a) == 1) {
			zeros(a);
		} else {
			CHECK(false, "what is '%s'?", text);
		}
	}
}

/* "4 at 34"; "hidden"; "-" */
static const char *found(char text[32], __u32 n)
{
	struct packet_bytes bytes = { made, n };
	__u64 where = find_inner(&bytes);

	snprintf(text, 32, "%s at %llu",
		 INNER_FAMILY(where) == SOURCE_IPV4   ? "4"
		 : INNER_FAMILY(where) == SOURCE_IPV6 ? "6"
						      : "hidden",
		 INNER_AT(where));
	return where ? text : "-";
}

static void where_it_begins(void)
{
	/* And so many bytes are needed to know it; the inner header may still be cut. */
	static const struct {
		const char *frame, *where;
		__u32 needs;
	} known[] = {
		{ "e800 4:17 z8", "-", 0 },
		{ "e800 4:4 4:17", "4 at 34", 34 },
		{ "e800 4:41 6:17", "6 at 34", 34 },
		{ "e800 4o:4 4:17", "4 at 42", 34 },
		{ "e800 4f:4 4:17", "-", 0 },
		{ "e800 4m:4 4:17", "4 at 34", 34 },
		{ "e86dd 6:4 4:17", "4 at 54", 54 },
		{ "e86dd 6:41 6:17", "6 at 54", 54 },
		{ "e86dd 6:17 z8", "-", 0 },
		{ "e86dd 6:59 6:17", "-", 0 },
		{ "e8100 t800 4:4 4:17", "4 at 38", 38 },
		{ "e88a8 t8100 t86dd 6:41 6:17", "6 at 62", 62 },
		{ "e806 z28", "-", 0 },
		/* Headers of IPv6 between. */
		{ "e86dd 6:0 x41:0 6:17", "6 at 62", 56 },
		{ "e86dd 6:60 x4:2 4:17", "4 at 78", 56 },
		{ "e86dd 6:43 x41:1 6:17", "6 at 70", 56 },
		{ "e86dd 6:135 x41:1 6:17", "6 at 70", 56 },
		{ "e86dd 6:51 a41:4 6:17", "6 at 78", 56 },
		{ "e86dd 6:44 f41:0 6:17", "6 at 62", 58 },
		{ "e86dd 6:44 f41:1 6:17", "-", 0 },
		{ "e86dd 6:44 f60:1 x41:0 6:17", "-", 0 },
		{ "e86dd 6:0 x60:0 x43:0 x44:0 f41:0 6:17", "6 at 86", 82 },
		{ "e86dd 6:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x41:0 6:17", "6 at 118", 112 },
		{ "e86dd 6:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x41:0 6:17", "-", 0 },
		{ "e86dd 6:139 x41:0 6:17", "-", 0 },
		/* GRE. */
		{ "e800 4:47 g0000:800 4:17", "4 at 38", 38 },
		{ "e800 4:47 g0000:86dd 6:17", "6 at 38", 38 },
		{ "e800 4:47 g8000:800 4:17", "4 at 42", 38 },
		{ "e800 4:47 g2000:800 4:17", "4 at 42", 38 },
		{ "e800 4:47 g1000:800 4:17", "4 at 42", 38 },
		{ "e800 4:47 gb000:86dd 6:17", "6 at 50", 38 },
		{ "e800 4:47 g4000:800 4:17", "-", 0 },
		{ "e800 4:47 g0001:800 4:17", "-", 0 },
		{ "e800 4:47 g0002:800 4:17", "-", 0 },
		{ "e800 4:47 g0004:800 4:17", "-", 0 },
		{ "e800 4:47 g0800:800 4:17", "4 at 38", 38 },
		{ "e800 4:47 g0000:806 z28", "-", 0 },
		{ "e800 4f:47 g0000:800 4:17", "-", 0 },
		{ "e86dd 6:47 g2000:86dd 6:17", "6 at 62", 58 },
		{ "e86dd 6:60 x47:0 g0000:800 4:17", "4 at 66", 66 },
		{ "e800 4:47 g0000:883e 4:17", "4 at 38", 40 },
		{ "e800 4:47 g0000:883e z4 4:17", "4 at 42", 40 },
		{ "e800 4:47 g2000:883e z4 4:17", "-", 0 },
		{ "e800 4:47 g0000:8100 t800 4:17", "4 at 42", 42 },
		{ "e800 4:47 g0000:88a8 t8100 t86dd 6:17", "6 at 46", 46 },
		{ "e800 4:47 g0000:8100 t806 z28", "-", 0 },
		{ "e800 4:47 g0000:6558 e800 4:17", "4 at 52", 52 },
		{ "e800 4:47 g2000:6558 e86dd 6:17", "6 at 56", 56 },
		{ "e800 4:47 g0000:6558 e8100 t800 4:17", "4 at 56", 56 },
		{ "e800 4:47 g0000:6558 e806 z28", "-", 0 },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *is;

		make(known[i].frame);
		is = found(text, frame_n);
		CHECK(!strcmp(is, known[i].where), "%s: %s, not %s", known[i].frame, is, known[i].where);
		for (__u32 n = 0; n < frame_n; n++) {
			const char *wanted = n < known[i].needs ? "-" : known[i].where;

			is = found(text, n);
			if (!CHECK(!strcmp(is, wanted), "%s, %u bytes of it: %s, not %s", known[i].frame, n, is,
				   wanted))
				break;
		}
	}
}

/* More tags than are looked through: it is nowhere that is known, so it is nobody's. */
static void many_tags(void)
{
	char text[TAGS_MAX * 8 + 100], is[32];

	for (int tags = TAGS_MAX - 1; tags <= TAGS_MAX + 1; tags++) {
		char wanted[32];
		int n = sprintf(text, "e800 4:47 g0000:8100");

		for (int i = 1; i < tags; i++)
			n += sprintf(text + n, " t8100");
		sprintf(text + n, " t800 4:17");
		make(text);
		snprintf(wanted, sizeof(wanted), "%s at %d", tags > TAGS_MAX ? "hidden" : "4",
			 38 + 4 * (tags > TAGS_MAX ? TAGS_MAX : tags));
		CHECK(!strcmp(found(is, frame_n), wanted), "%d tags: %s, not %s", tags, is, wanted);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "where it begins", where_it_begins },
		{ "many tags", many_tags },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
