// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the packet within a packet begins: IP in IP, 6in4 and GRE, behind options, headers of IPv6, tags, fragments;
 * and that where there is none, none is found. Each frame is also cut at each of its bytes. And what its addresses
 * make of the answer, against a naive reading.
 */
#include <errno.h>

#include "base/log.h"
#include "bpf/match.h"

/* Programs are of one of these each; here it is any of them in turn. */
static __u32 match;
#undef MATCH
#define MATCH match
#include "bpf/inner.h"

#include "edited.h"
#include "made_frames.h"

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

/* --- What it makes of the answer -------------------------------------------------------------------------------------
 */

enum { LABEL_SHADOW = 200, JUDGED = 200000 };

enum fate { PASSES, COUNTED, DROPPED_BY };

/* What becomes of an address, and by whose account; of IPv6, by its own number or by the IPv4 one that it carries. */
static const struct known_address {
	const char *name;
	__u32 addr[4];
	enum fate own;
	__u8 label;
	const char *carried; /* the address that it carries, if any */
	bool mapped;	     /* whether generations ask for that or not */
} known_addresses[] = {
	{ "192.0.2.1", { 0xc0000201 }, DROPPED_BY, LABEL_LIST, NULL, false },
	{ "192.0.2.2", { 0xc0000202 }, COUNTED, LABEL_SHADOW, NULL, false },
	{ "192.0.2.3", { 0xc0000203 }, PASSES, 0, NULL, false },
	{ "2001:db8::1", { 0x20010db8, 0, 0, 1 }, DROPPED_BY, LABEL_OTHER, NULL, false },
	{ "2001:db8::2", { 0x20010db8, 0, 0, 2 }, COUNTED, LABEL_SHADOW, NULL, false },
	{ "2001:db8::3", { 0x20010db8, 0, 0, 3 }, PASSES, 0, NULL, false },
	{ "::ffff:192.0.2.1", { 0, 0, 0xffff, 0xc0000201 }, PASSES, 0, "192.0.2.1", true },
	{ "::ffff:192.0.2.2", { 0, 0, 0xffff, 0xc0000202 }, PASSES, 0, "192.0.2.2", true },
	{ "::ffff:192.0.2.3", { 0, 0, 0xffff, 0xc0000203 }, DROPPED_BY, LABEL_OTHER, "192.0.2.3", true },
	{ "6to4", { 0x2002c000, 0x02010000, 0, 9 }, PASSES, 0, "192.0.2.1", false },
	{ "6to4, banned itself", { 0x2002c000, 0x02020000, 0, 9 }, DROPPED_BY, LABEL_OTHER, "192.0.2.2", false },
	{ "Teredo", { 0x20010000, 0x01020304, 5, ~0xc0000201U }, PASSES, 0, "192.0.2.1", false },
	{ "Teredo of the server", { 0x20010000, 0xc0000201, 5, 0xc0000201 }, PASSES, 0, NULL, false },
	{ "beside Teredo", { 0x20010001, 0x01020304, 5, ~0xc0000201U }, PASSES, 0, NULL, false },
	{ "NAT64", { 0x0064ff9b, 0, 0, 0xc0000201 }, PASSES, 0, "192.0.2.1", false },
	{ "NAT64 of one's own", { 0x0064ff9b, 0x00010000, 0, 0xc0000201 }, PASSES, 0, NULL, false },
	{ "ISATAP", { 0x20010db8, 7, 0x00005efe, 0xc0000201 }, PASSES, 0, "192.0.2.1", false },
	{ "ISATAP, global", { 0x20010db8, 7, 0x02005efe, 0xc0000201 }, PASSES, 0, "192.0.2.1", false },
	{ "beside ISATAP", { 0x20010db8, 7, 0x01005efe, 0xc0000201 }, PASSES, 0, NULL, false },
	{ "::192.0.2.1", { 0, 0, 0, 0xc0000201 }, PASSES, 0, "192.0.2.1", false },
};

#define KNOWN (sizeof(known_addresses) / sizeof(*known_addresses))
enum { KNOWN4 = 3 };

static ip6 known_num(const struct known_address *a)
{
	ip6 num = 0;

	if (a < known_addresses + KNOWN4)
		return a->addr[0];
	for (int i = 0; i < 4; i++)
		num = num << 32 | a->addr[i];
	return num;
}

/* Three lists of them, one a shadow; those of IPv6, if any. */
static bool make_generation(struct generation *g, bool embedded, bool with6)
{
	const __u8 labels[] = { LABEL_LIST, LABEL_OTHER, LABEL_SHADOW };
	struct settings settings = SETTINGS_DEFAULT;
	struct account accounts[3];
	struct ranges sets[3] = { 0 };
	bool is;

	settings.inner = true;
	settings.embedded = embedded;
	for (size_t list = 0; list < 3; list++) {
		for (size_t i = 0; i < KNOWN; i++) {
			ip6 num = known_num(&known_addresses[i]);

			if (known_addresses[i].own == PASSES || known_addresses[i].label != labels[list])
				continue;
			if (i < KNOWN4)
				ENOUGH(!ranges_add_host(&sets[list], (uint32_t)num));
			else if (with6)
				ENOUGH(!ranges_add6(&sets[list], num, num));
		}
		ENOUGH(!ranges_finish(&sets[list]));
		accounts[list] = (struct account){ &sets[list], labels[list] };
	}
	is = generate_with(g, accounts, 3, &settings);
	for (size_t list = 0; list < 3; list++)
		ranges_free(&sets[list]);
	g->shadows = 1;
	g->shadow[LABEL_SHADOW / 64] = 1ULL << LABEL_SHADOW % 64;
	return is && CHECK(g->inner && !!g->embedded == embedded && !!g->rungs == with6, "another generation");
}

static const struct known_address *known_by_name(const char *name)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (!strcmp(known_addresses[i].name, name))
			return &known_addresses[i];
	abort();
}

/* A drop by what is carried comes first; what is only counted there says nothing. */
static enum fate naive_fate(const struct known_address *a, bool embedded, bool with6, __u8 *label)
{
	const struct known_address *carried = a->carried ? known_by_name(a->carried) : NULL;

	if (carried && (a->mapped || embedded) && carried->own == DROPPED_BY) {
		*label = carried->label;
		return DROPPED_BY;
	}
	if (a >= known_addresses + KNOWN4 && !with6)
		return PASSES;
	*label = a->label;
	return a->own;
}

/* Flags and label: of which stage is not asked. */
static __u32 naive_judge(const struct known_address *from, const struct known_address *to, bool embedded, bool with6,
			 __u32 answer)
{
	__u8 label = 0;
	enum fate fate = match == MATCH_DESTINATION ? PASSES : naive_fate(from, embedded, with6, &label);

	if (fate != PASSES)
		answer = (fate == COUNTED ? ANSWER_SHADOW : ANSWER_DROP) | ANSWER_INNER | label;
	if (match == MATCH_SOURCE || answer & ANSWER_DROP)
		return answer;
	fate = naive_fate(to, embedded, with6, &label);
	if (fate != PASSES)
		answer = (fate == COUNTED ? ANSWER_SHADOW : ANSWER_DROP) | ANSWER_INNER | ANSWER_TO | label;
	return answer;
}

static void make_within(const struct known_address *from, const struct known_address *to)
{
	bool is4 = from < known_addresses + KNOWN4;
	__u32 at, words = is4 ? 1 : 4;

	make(is4 ? "e800 4:4 4:17" : "e800 4:41 6:17");
	at = is4 ? 34 + 12 : 34 + 8;
	frame_n = at;
	for (__u32 i = 0; i < words; i++)
		put(from->addr[i], 4);
	for (__u32 i = 0; i < words; i++)
		put(to->addr[i], 4);
}

static bool one_judged(const struct generation *g, bool embedded, bool with6)
{
	bool is4 = ktap_random() % 2;
	const struct known_address *first = is4 ? known_addresses : known_addresses + KNOWN4,
				   *from = &first[ktap_random() % (is4 ? KNOWN4 : KNOWN - KNOWN4)],
				   *to = &first[ktap_random() % (is4 ? KNOWN4 : KNOWN - KNOWN4)];
	__u32 outer = ktap_random() % 2 ? ANSWER(STAGE_GATE, 0, 0) : ANSWER_SHADOW | ANSWER(STAGE_GATE, 0, 77), wanted,
	      is;
	struct packet_bytes bytes = { made, 0 };

	match = (__u32)(ktap_random() % MATCHES);
	make_within(from, to);
	bytes.n = frame_n;
	wanted = naive_judge(from, to, embedded, with6, outer);
	is = inner_judge(g, &bytes, outer);
	if (wanted != outer)
		is &= ANSWER_DROP | ANSWER_SHADOW | ANSWER_INNER | ANSWER_TO | 0xff;
	if (!CHECK(is == wanted, "%s to %s, match %u, embedded %d: %#x, not %#x", from->name, to->name, match, embedded,
		   is, wanted))
		return false;
	/* Cut within its addresses it is not judged. */
	bytes.n -= 1;
	return CHECK(inner_judge(g, &bytes, outer) == outer, "%s to %s: judged without its end", from->name, to->name);
}

static void judged(void)
{
	for (int round = 0; round < 4; round++) {
		bool embedded = round & 1, with6 = round & 2, ok;
		struct packet_bytes bytes = { made, 0 };
		struct generation g;

		ok = make_generation(&g, embedded, with6);
		for (int i = 0; ok && i < JUDGED / 4; i++)
			ok = one_judged(&g, embedded, with6);
		make("e800 4:17 z8");
		bytes.n = frame_n;
		CHECK(inner_judge(&g, &bytes, 0x123) == 0x123, "there is nothing within, and something is said");
		make("e800 4:47 g0000:8100 t8100 t8100 t8100 t8100 t8100 t800 4:17");
		bytes.n = frame_n;
		CHECK(inner_judge(&g, &bytes, 0x123) == INNER_HIDDEN, "what is hidden is not");
		memory_release(&g);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "where it begins", where_it_begins },
		{ "many tags", many_tags },
		{ "what it makes of the answer", judged },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
