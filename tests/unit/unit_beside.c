// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans and exceptions beside an image: against a model that asks every range of both, and for what has a limit, or is
 * refused, word for word.
 */
#include <errno.h>

#include "base/log.h"
#include "edited.h"
#include "filter/verify.h"
#include "image/image.h"
#include "sets/list.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_beside.txt"
};

static struct shows shows = { .file = "tests/unit/unit_beside.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int check_err, place_err; /* what these end with */

static int given_check(const struct generation *g, const struct owned *owned)
{
	return check_err ?: check_arrays(g, owned);
}

static int given_place(struct generation *g, const struct owned *owned, const struct build_how *how)
{
	return place_err ?: build_until_placed(g, owned, how);
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ! ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

#define check_arrays	   given_check
#define build_until_placed given_place
#define warn		   given_warn
#include "image/beside.c"
#undef check_arrays
#undef build_until_placed
#undef warn

#define LABEL_SHADOW 200

static __u32 decide(const struct generation *g, struct addr addr)
{
	return addr.family == 4 ? decide_ipv4(g, (__u32)addr.num)
				: decide_ipv6(g, (__u64)(addr.num >> 64), (__u64)addr.num);
}

/* Whose something is: the order is what counts, of lists before live bans. */
enum { LIST_A, LIST_B, LIVE, ENDING, SHADOW, OWNERS, ALLOWED = NAIVE_ALLOWED };

static const uint8_t labels[OWNERS] = { LABEL_LIST, LABEL_OTHER, LABEL_LIVE, LABEL_ENDS, LABEL_SHADOW };

/* --- Images in memory ------------------------------------------------------------------------------------------------
 */

static struct image_header header;
static struct image_list image_list[3];
static struct image image;

/* Of these sets, whose arrays the image keeps as a file would have them. */
static bool image_of(const struct ranges sets[OWNERS], const struct settings *settings)
{
	static const int order[] = { LIST_A, LIST_B, LIVE, SHADOW };
	struct account accounts[4];
	struct generation g;

	for (size_t i = 0; i < 4; i++)
		accounts[i] = (struct account){ &sets[order[i]], labels[order[i]] };
	header = (struct image_header){ .lists = 2 };
	memset(image_list, 0, sizeof(image_list));
	for (size_t i = 0; i < 3; i++) {
		snprintf(image_list[i].name, sizeof(image_list[i].name), "list%zu", i);
		image_list[i].label = i == 2 ? LABEL_SHADOW : labels[i];
		image_list[i].kind = i == 2 ? LIST_SHADOW : LIST_BAN;
	}
	if (!generate_with(&g, accounts, 4, settings))
		return false;
	if (sets[SHADOW].n4 || sets[SHADOW].n6) {
		header.lists = 3;
		g.shadows = 1;
		g.shadow[LABEL_SHADOW / 64] = 1ULL << LABEL_SHADOW % 64;
	}
	g.number = 77;
	g.samples = 7;
	g.embedded = g.inner = 7;
	g.edits = 7;
	image = (struct image){ .header = &header, .lists = image_list, .g = g, .id = "0123456789abcdef" };
	return true;
}

static void image_gone(void)
{
	memory_release(&image.g);
}

/* --- Whose memory the arrays are: either our own, or from here, where it is counted --- */

static struct generation given;
static int takes, take_err;

static int take(void *arg, struct generation *g)
{
	(void)arg;
	/* What is wanted, and no address of the image's: what fails from here on gives these back. */
	for (enum array a = 0; a < ARRAYS; a++)
		CHECK(*generation_member(g, array_kinds[a].member) <= 1, "%s is the image's", array_kinds[a].name);
	if (take_err)
		return take_err;
	memory_take(g);
	given = *g;
	takes++;
	return 0;
}

static void give_back(void *arg)
{
	(void)arg;
	memory_release(&given);
	takes--;
}

static const struct build_how ours = { 0 }, theirs = { .take = take, .release = give_back };

static void result_gone(struct generation *g, const struct build_how *how)
{
	if (how->release)
		give_back(NULL);
	else
		arrays_release(g);
}

/* With what a machine wants of its own, which is not what the image had. */
static int made_beside(struct generation *g, const struct beside *b, const struct settings *settings,
		       const struct build_how *how)
{
	struct settings wanted = *settings;
	int err;

	wanted.embedded = true;
	*g = (struct generation){ .number = 5, .samples = 1, .embedded = 1, .inner = 0, .edits = 9 };
	g->ends = b->ending.n4 || b->ending.n6;
	err = beside_build(g, &image, b, &wanted, how);
	CHECK(takes == (!err && how->take), "%d are taken", takes);
	if (err || ktap_failed)
		return err;
	CHECK(g->number == 5 && g->samples == 1 && g->embedded == 1 && !g->inner && !g->edits &&
		      g->ends == (b->ending.n4 || b->ending.n6) && g->shadows == image.g.shadows &&
		      !memcmp(g->shadow, image.g.shadow, sizeof(g->shadow)),
	      "number %llu, samples %llu, embedded %u, inner %u, edits %llu, ends %u, shadows %llu", g->number,
	      g->samples, g->embedded, g->inner, g->edits, g->ends, g->shadows);
	return 0;
}

/* --- Against the model -----------------------------------------------------------------------------------------------
 */

#define BASE4 0x2d000000u
#define BASE6 ((ip6)0x20010db8 << 96)

static struct naive before, both; /* the image; and with what is beside it */
static struct ranges image_sets[OWNERS];
static struct {
	unsigned int built, refused, keys6, ends6;
} seen;

static void put(struct ranges *set, struct naive *m, unsigned int owner, struct addr first, unsigned int length)
{
	ip6 last = first.num | addr_mask(first.family, length);

	naive_add(&both, first.family, first.num, last, owner);
	if (m)
		naive_add(m, first.family, first.num, last, owner);
	ENOUGH(!ranges_add_prefix(set, first, length));
}

static void draw4(struct ranges *set, struct naive *m, unsigned int owner, bool nets)
{
	unsigned int length = nets && ktap_random() % 4 == 0 ? 24 - (unsigned int)(ktap_random() % 2)
							     : 32 - (unsigned int)(ktap_random() % 4);
	struct addr first = { BASE4 | (ktap_random() & 0x1fff), 4 };

	first.num &= ~addr_mask(4, length);
	put(set, m, owner, first, length);
}

static void draw6(struct ranges *set, struct naive *m, unsigned int owner)
{
	static const unsigned int lengths[] = { 46, 48, 48, 56, 64, 64, 64 };
	unsigned int length = lengths[ktap_random() % 7];
	struct addr first = { BASE6 | (ip6)(ktap_random() % 32) << 80 | (ip6)(ktap_random() % 4) << 72 |
				      (ip6)(ktap_random() % 4) << 64,
			      6 };

	first.num &= ~addr_mask(6, length);
	put(set, m, owner, first, length);
}

static bool image_bans(int family, ip6 num)
{
	return naive_label(&before, family, num) >= 0;
}

/* Does a lasting ban hold it, whoever else does? */
static bool lasts(ip6 num)
{
	for (size_t i = 0; i < both.n; i++)
		if (both.range[i].account == LIVE && both.range[i].family == 6 && num >= both.range[i].lo &&
		    num <= both.range[i].hi)
			return true;
	return false;
}

static bool answers(const struct generation *g, int family, ip6 num, bool exact)
{
	struct addr addr = { num, family };
	__u32 answer = decide(g, addr), label = ANSWER_LABEL(answer);
	int wanted = naive_label(&both, family, num);

	if (!exact && wanted < 0 && ANSWER_STAGE(answer) == STAGE_FILTER)
		return true; /* by chance */
	if (!CHECK(!!(answer & ANSWER_DROP) == (wanted >= 0), "IPv%d %" PRIx64 " %" PRIx64 ": answer %x, label %d",
		   family, (uint64_t)(num >> 64), (uint64_t)num, answer, wanted))
		return false;
	if (wanted < 0 || ANSWER_STAGE(answer) == STAGE_FILTER)
		return true;
	if (family == 4)
		return !exact || CHECK((int)label == wanted, "%" PRIx64 " is on account %u, not %d", (uint64_t)num,
				       label, wanted);
	/* Of IPv6 the longest key decides; but what ends is on its account only where nothing lasts. */
	seen.ends6 += label == LABEL_ENDS;
	if (!image_bans(6, num) && !lasts(num))
		return CHECK(label == LABEL_ENDS, "%" PRIx64 " ends, and is on account %u", (uint64_t)(num >> 64),
			     label);
	return CHECK(label != LABEL_ENDS, "%" PRIx64 " lasts, and would end", (uint64_t)(num >> 64)) &&
	       (image_bans(6, num) ||
		CHECK(label == LABEL_LIVE, "%" PRIx64 " is on account %u, not live", (uint64_t)(num >> 64), label));
}

static bool answers_all(const struct generation *g, bool exact)
{
	for (ip6 addr = BASE4 - 256; addr < BASE4 + 0x2100; addr++)
		if (!answers(g, 4, addr, exact))
			return false;
	for (size_t i = 0; i < both.n; i++) {
		const struct naive_range *r = &both.range[i];

		if (!answers(g, r->family, r->lo, exact) || !answers(g, r->family, r->hi, exact) ||
		    !answers(g, r->family, r->lo - 1, exact) || !answers(g, r->family, r->hi + 1, exact))
			return false;
	}
	return true;
}

/* A part of a wider prefix of the image, or of one account's key, is allowed: then it may be refused. */
static bool may_refuse(const struct beside *b)
{
	for (size_t i = 0; i < b->allowed.n6; i++)
		for (size_t k = 0; k < before.n; k++) {
			const struct naive_range *r = &before.range[k];

			if (r->family == 6 && r->lo <= b->allowed.v6[i].hi && r->hi >= b->allowed.v6[i].lo)
				return true;
		}
	return false;
}

static void world(bool exact, bool four, bool six, bool shadows, bool nets, const struct settings *settings)
{
	struct beside b = { 0 };
	struct generation g;
	int err;

	before.n = both.n = 0;
	memcpy(before.label, labels, sizeof(labels));
	memcpy(both.label, labels, sizeof(labels));
	memset(image_sets, 0, sizeof(image_sets));
	for (int i = 0; i < 60; i++) {
		unsigned int owner = (unsigned int)(ktap_random() % 3);

		if (shadows && ktap_random() % 4 == 0)
			owner = SHADOW;
		if (four)
			draw4(&image_sets[owner], &before, owner, nets && i % 2);
		if (six)
			draw6(&image_sets[owner == SHADOW ? LIST_A : owner], &before, owner == SHADOW ? LIST_A : owner);
	}
	/* Each has a key of the shortest and of the longest length. */
	for (unsigned int length = 46; length <= 64 && six; length += 18)
		put(&image_sets[LIST_A], &before, LIST_A, (struct addr){ (ip6)0x2a00 << 112 | (ip6)length << 64, 6 },
		    length);
	if (four)
		put(&image_sets[LIST_B], &before, LIST_B, (struct addr){ 0x2e000001, 4 }, 32);
	for (int i = 0; i < 40; i++) {
		bool ends = exact && ktap_random() % 3 == 0, bans4 = exact || four;

		if (bans4 && i % 2)
			draw4(ends ? &b.ending : &b.lasting, NULL, ends ? ENDING : LIVE, nets);
		else if (six && !shadows)
			draw6(ends ? &b.ending : &b.lasting, NULL, ends ? ENDING : LIVE);
		if (exact && i % 8 == 0)
			draw4(&b.allowed, NULL, ALLOWED, nets);
		if (exact && six && i == 16 && ktap_random() % 2)
			draw6(&b.allowed, NULL, ALLOWED);
	}
	for (unsigned int i = 0; i < OWNERS; i++)
		ENOUGH(!ranges_finish(&image_sets[i]));
	ENOUGH(!ranges_finish(&b.lasting) && !ranges_finish(&b.ending) && !ranges_finish(&b.allowed));
	if (image_of(image_sets, settings)) {
		const struct build_how *how = ktap_random() % 2 ? &ours : &theirs;

		err = made_beside(&g, &b, settings, how);
		CHECK(!err || (err_is(err, EPERM) && may_refuse(&b)), "%s", reason(err));
		if (!err) {
			answers_all(&g, exact);
			seen.built++;
			seen.keys6 += g.keys6 > image.g.keys6;
			result_gone(&g, how);
		}
		seen.refused += err != 0;
		image_gone();
	}
	for (unsigned int i = 0; i < OWNERS; i++)
		ranges_free(&image_sets[i]);
	beside_free(&b);
	CHECK(!beside_any(&b), "there is something left");
}

static void worlds(void)
{
	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < 9 && !ktap_failed; i++) {
		struct settings settings = SETTINGS_DEFAULT;
		bool exact = i % 4, six = i % 3, four = i % 5 || !six;

		settings.exact = exact;
		settings.headroom = 4;
		settings.bits_per_key = 64;
		world(exact, four, six, exact && four && i % 2, i % 3 == 0, &settings);
		if (ktap_failed)
			printf("# world %d: exact %d, IPv4 %d, IPv6 %d\n", i, exact, four, six);
	}
	printf("# %u built, %u refused; %u with more keys of IPv6, %u addresses of IPv6 end\n", seen.built,
	       seen.refused, seen.keys6, seen.ends6);
	CHECK(seen.built > 3, "not all of it happened");
}

/* --- Word for word ---------------------------------------------------------------------------------------------------
 */

static struct settings settings;
static bool leave_out, arrives;
static struct ranges given_sets[OWNERS];

static char letter_of(__u32 label)
{
	for (size_t i = 0; i < OWNERS; i++)
		if (labels[i] == label)
			return "ABLES"[i];
	return '?';
}

/* "A192.0.2.0/24 L2001:db8::/48": each into the set of its letter; "A+192.0.2.1*3": so many, one after the other. */
static void parse(const char *text, struct ranges *(*set_of)(char letter, void *arg), void *arg)
{
	while (*text) {
		size_t length = strcspn(text, " "), star = strcspn(text, "* ");
		unsigned long many = star < length ? strtoul(text + star + 1, NULL, 10) : 1;
		struct ranges *set = set_of(*text, arg);
		struct addr first;
		unsigned int prefix;

		ENOUGH(set && !prefix_parse(text + 1, star - 1, &first, &prefix));
		for (unsigned long i = 0; i < many; i++) {
			ENOUGH(!ranges_add_prefix(set, first, prefix));
			/* Every second one, so that no two become one. */
			first.num += prefix ? (ip6)2 << (addr_width(first.family) - prefix) : 0;
		}
		text += length + (text[length] == ' ');
	}
}

static struct ranges *image_set(char letter, void *arg)
{
	const char *at = strchr("ABLES", letter);

	(void)arg;
	return at ? &given_sets[at - "ABLES"] : NULL;
}

static struct ranges *beside_set(char letter, void *arg)
{
	struct beside *b = arg;

	return letter == 'L' ? &b->lasting : letter == 'E' ? &b->ending : letter == '!' ? &b->allowed : NULL;
}

static void image_from(const char *text)
{
	memset(given_sets, 0, sizeof(given_sets));
	parse(text, image_set, NULL);
	for (size_t i = 0; i < OWNERS; i++)
		ENOUGH(!ranges_finish(&given_sets[i]));
	ENOUGH(image_of(given_sets, &settings));
	for (size_t i = 0; i < OWNERS; i++)
		ranges_free(&given_sets[i]);
}

static void print_answers(const struct generation *g, const char *asked)
{
	while (*asked) {
		size_t length = strcspn(asked, " ");
		unsigned int prefix;
		struct addr addr;
		__u32 answer;

		ENOUGH(!prefix_parse(asked, length, &addr, &prefix));
		answer = decide_shadow(g, decide(g, addr));
		printf("  %.*s: %s", (int)length, asked,
		       answer & ANSWER_SHADOW ? "counted"
		       : answer & ANSWER_DROP ? "dropped"
					      : "passes");
		if (answer & (ANSWER_DROP | ANSWER_SHADOW))
			printf(" by %s for %c",
			       ANSWER_STAGE(answer) == STAGE_GATE     ? "the gate"
			       : ANSWER_STAGE(answer) == STAGE_FILTER ? "the filter"
								      : "the roster",
			       letter_of(ANSWER_LABEL(answer)));
		putchar('\n');
		asked += length + (asked[length] == ' ');
	}
}

static void shape(const struct generation *g)
{
	printf("gate%s%s, %llu hosts, %llu nets, %u minorities, %llu keys of IPv6, room for %llu and %llu",
	       g->gate4 ? "" : " none", g->gate4_labels ? " with labels" : "", g->keys4, g->all24, g->minorities,
	       g->keys6, g->capacity, g->capacity4);
	printf(g->roster4_buckets && !g->roster4 ? ", buckets without a roster\n" : "\n");
}

/* Beside the image that there is. */
static void beside_it(const char *text, const char *asked)
{
	struct beside b = { .leave_out = leave_out, .arrives = arrives };
	struct generation g;
	int err;

	parse(text, beside_set, &b);
	ENOUGH(!ranges_finish(&b.lasting) && !ranges_finish(&b.ending) && !ranges_finish(&b.allowed));
	printf("%s%s%s\n", beside_any(&b) ? text : "nothing", leave_out ? ", left out" : "",
	       arrives ? ", arrives" : "");
	err = made_beside(&g, &b, &settings, &theirs);
	if (err) {
		printf("  %s: %s\n", errno_text(err), reason(err));
	} else {
		printf("  ");
		shape(&g);
		print_answers(&g, asked);
		give_back(NULL);
	}
	beside_free(&b);
}

static void beside_image(const char *text)
{
	image_from(text);
	printf("%s\n  ", text);
	shape(&image.g);
}

/* Whole networks on several accounts, with IPv6 and without: the image's gate has one label, or many. */
static void accounts_of_networks(void)
{
	static const char *const images[] = { "A45.0.0.0/24 A45.1.0.0/30 A2001:db8::/48", "A45.0.0.0/24 A45.1.0.0/30",
					      "A45.0.0.0/24 B45.2.0.0/24 A2001:db8::/48" };

	for (size_t i = 0; i < 3; i++) {
		beside_image(images[i]);
		beside_it("L45.3.0.0/24", "45.0.0.1 45.2.0.1 45.3.0.255 45.1.0.3 45.4.0.0");
		beside_it("E45.3.0.0/24", "45.0.0.1 45.2.0.1 45.3.0.255 45.1.0.3");
		if (!i) {
			beside_it("L45.3.0.0/24 E45.4.0.0/24 L45.3.0.0/25 !45.0.0.1",
				  "45.0.0.1 45.0.0.2 45.3.0.1 45.4.0.1");
			beside_it("L45.0.0.9 E45.0.0.10", "45.0.0.8 45.0.0.9 45.0.0.10");
			beside_it("E45.5.0.0/25 L45.5.0.128/25", "45.5.0.127 45.5.0.128");
		}
		image_gone();
	}
}

/* The gate comes, or goes: what the image has, and what is beside it, together. */
static void gates(void)
{
	beside_image("A45.0.0.1 A2001:db8::/48");
	beside_it("L45.1.0.0/24", "45.0.0.1 45.1.0.1");
	beside_it("E45.1.0.0/24", "45.0.0.1 45.1.0.1");
	beside_it("!45.0.0.1", "45.0.0.1 2001:db8::1");
	beside_it("!45.0.0.0/8 E45.0.0.2", "45.0.0.1 45.0.0.2");
	image_gone();
	beside_image("A45.0.0.1");
	beside_it("E2001:db8::/48", "45.0.0.1 2001:db8::1 2001:db8:1::1");
	beside_it("L2001:db8::/48 L45.0.0.2", "45.0.0.2 2001:db8::1 2001:db8:1::1");
	image_gone();
	beside_image("A2001:db8::/48");
	beside_it("L45.1.0.0/24", "45.1.0.1 45.2.0.1");
	beside_it("L45.1.0.1 E45.1.0.2 L2001:db8:0:1::/64", "45.1.0.1 45.1.0.2 45.1.0.3");
	image_gone();
	beside_image("A45.0.0.0/24 A2001:db8::/48");
	beside_it("!45.0.0.0/24", "45.0.0.1 2001:db8::1");
	beside_it("!45.0.0.7", "45.0.0.7 45.0.0.8");
	image_gone();
	beside_image("S45.0.0.0/24 S45.1.0.1 S45.1.0.2 A45.2.0.1");
	beside_it("L45.0.0.1 L45.1.0.1 E45.2.0.1", "45.0.0.1 45.0.0.2 45.1.0.1 45.1.0.2 45.2.0.1");
	image_gone();
	beside_image("S45.0.0.0/24 S45.1.0.1 L45.1.0.2 A2001:db8::/48");
	beside_it("L45.0.0.1 L45.1.0.1 E45.1.0.2", "45.0.0.1 45.0.0.2 45.1.0.1 45.1.0.2");
	beside_it("L2001:db8:1::/48", "2001:db8:1::");
	image_gone();
}

/* IPv6: what lasts stays where an end comes, and a wider prefix is cut where its keys would be too far away. */
static void prefixes6(void)
{
	settings.headroom = 4;
	beside_image("A2001:db8:0:1::/64 L2001:db8:7::/48 A2001:db8:8::/48");
	beside_it("E2001:db8:7::/64 E2001:db8:8::/64 E2001:db8:9::/64",
		  "2001:db8:7::1 2001:db8:8::1 2001:db8:9::1 2001:db8:9:1::");
	beside_it("L2001:db8:a::/48 E2001:db8:a:1::/64", "2001:db8:a::1 2001:db8:a:1::1");
	beside_it("E2001:db8:a::/48 L2001:db8:a:1::/64", "2001:db8:a::1 2001:db8:a:1::1");
	beside_it("E2001:db8:0:1::/64", "2001:db8:0:1::1");
	beside_it("L2001:db8::/48 E2001:db8::/48", "2001:db8::1 2001:db8:0:1::1");
	beside_it("L2001:db8::/48 E2001:db8::/47", "2001:db8::1 2001:db8:0:1::1 2001:db8:1::1");
	beside_it("E2001:db8:6::/47", "2001:db8:6::1 2001:db8:7::1");
	beside_it("L2001:db8:b:1::/64 E2001:db8:a::/47", "2001:db8:a::1 2001:db8:b::1 2001:db8:b:1::1");
	beside_it("L2001:db8:b::/48 E2001:db8:a::/47", "2001:db8:a::1 2001:db8:b::1");
	beside_it("L2001:db8:b:1::/64 E2001:db8:b::/60", "2001:db8:b::1 2001:db8:b:1::1 2001:db8:b:10::");
	/* More than there is room for. */
	beside_it("L2001:db8:b:1::/64 E2001:db8:b::/52", "2001:db8:b::1");
	beside_it("E2001:db8:a:1::1", "2001:db8:a:1::1");
	beside_it("E2001:db8:7:1::1 E2001:db8:8:1::1", "2001:db8:7:1::1 2001:db8:8:1::1");
	beside_it("L2001:db8:0:1::1", "2001:db8:0:1::1");
	beside_it("!2001:db8:0:1::/64 E2001:db8:0:1::/64 L2001:db8:0:1::/64", "2001:db8:0:1::1");
	beside_it("!2001:db8:a::/48 L2001:db8:a::/47", "2001:db8:a::1 2001:db8:b::1");
	beside_it("!2001:db8:7:1::/64", "");
	arrives = true;
	beside_it("!2001:db8:7:1::/64", "");
	arrives = false;
	image_gone();
	/* Each of these takes 4096 keys. */
	beside_image("A2001:db8::/64*9000");
	beside_it("L2001:dc0::/52", "2001:dc0:0:fff::1 2001:dc0:0:1000::1");
	beside_it("E2001:dc0::/51", "2001:dc0:0:1fff::1 2001:dc0:0:2000::1");
	beside_it("L2001:dc0::/51 E2001:dc0::/50", "2001:dc0:0:1fff::1 2001:dc0:0:2000::1 2001:dc0:0:3fff::1");
	settings.headroom = 0;
	image_gone();
	beside_image("A2000::/8");
	beside_it("L::/0", "::1 2001:: ffff::");
	beside_it("!::/0", "");
	beside_it("!2000::/8", "2000::1");
	image_gone();
}

static void no_place(void)
{
	static const char *const bans[] = { "L2001:db8:2:1::1 L2001:db8:3::/64",
					    "L2400::/24",
					    "L2400::/23",
					    "L2400::/14",
					    "E2400::/16",
					    "L2001:db8:2::/48" };

	beside_image("A2001:db8::/48 A2001:db8:1:1::/64");
	for (size_t i = 0; i < sizeof(bans) / sizeof(bans[0]); i++)
		for (int how = 0; how < 4; how++) {
			leave_out = how & 1 && i != 1;
			arrives = how & 2;
			if (leave_out || !(how & 1))
				beside_it(bans[i], i ? "2001:dc0::1" : "2001:db8:2:1::1 2001:db8:3::1");
		}
	leave_out = arrives = false;
	image_gone();
	/* All these have their keys, but for the last one. */
	beside_image("A2400::/24 A2001:db8:1::/48");
	image.g.capacity6 = 600; /* well below what there is place for, whatever the seeds */
	beside_it("L2500::/16", "2500::1 2501::1");
	beside_it("L2500::/16 L2700::/16 L2900::/16", "");
	leave_out = true;
	beside_it("E2500::/16 E2700::/16 E2900::/16", "2700::1 2900::1");
	leave_out = false;
	beside_it("L2502::/15", "");
	beside_it("E2500::/16 L2500::/24", "2500::1 2500:0100::1 2501::1");
	beside_it("E2500::/15 L2500::/24", "");
	image_gone();
	/* With no filter for IPv6 there is no rung. */
	settings.exact = false;
	beside_image("A45.0.0.1*100");
	for (int how = 0; how < 2; how++) {
		arrives = how;
		beside_it("L2001:db8::/48", "");
	}
	leave_out = true;
	beside_it("L45.0.0.2 L2001:db8::/48", "45.0.0.2 2001:db8::1");
	leave_out = arrives = false;
	image_gone();
}

/* So many keys, and not one more. */
static void room(void)
{
	char text[64];

	beside_image("A45.0.0.1*1000 A2001:db8::/48");
	for (unsigned long long most = 2 * image.g.capacity, keys = most - 2; keys <= most + 1; keys++) {
		snprintf(text, sizeof(text), "L46.0.0.1*%llu", keys - 1001);
		beside_it(text, "45.0.0.1 46.0.0.1 45.0.0.0");
	}
	arrives = true;
	snprintf(text, sizeof(text), "L46.0.0.1*%llu", 2 * image.g.capacity - 1000);
	beside_it(text, "");
	arrives = false;
	/* Where it gets more: with a tenth and 64. */
	for (unsigned long long keys = 0; keys < image.g.capacity; keys++)
		if (keys + keys / 10 + 64 >= image.g.capacity) {
			for (unsigned long long more = keys - 1; more < keys + 2; more++) {
				snprintf(text, sizeof(text), "L46.0.0.1*%llu", more - 1001);
				if (more > 1001)
					beside_it(text, "46.0.0.1");
			}
			break;
		}
	beside_it("L46.0.0.1*500", "46.0.0.1");
	/* Keys that were taken out count. */
	image.g.stale = (__u32)(2 * image.g.capacity - 1001);
	beside_it("!45.0.0.1", "45.0.0.1 45.0.0.3");
	beside_it("", "45.0.0.1");
	beside_it("L46.0.0.1", "");
	image.g.stale += 1;
	beside_it("!45.0.0.1", "45.0.0.1");
	beside_it("!46.0.0.1", "45.0.0.1");
	image_gone();
}

/* Above the limit of memory, by one byte. */
static void memory(void)
{
	static const struct {
		const char *image;
		bool exact;
	} each[] = { { "A45.0.0.0/24 A45.1.0.1 A2001:db8::/48", true }, { "A45.0.0.0/24 A45.1.0.1", false } };

	for (size_t i = 0; i < 2; i++) {
		struct generation g;
		struct beside b = { 0 };

		settings.exact = each[i].exact;
		settings.memory_max = 0;
		beside_image(each[i].image);
		ENOUGH(!ranges_add4(&b.lasting, 0x2e000001, 0x2e000001) && !ranges_finish(&b.lasting));
		ENOUGH(!made_beside(&g, &b, &settings, &theirs));
		settings.memory_max = 1; /* for the sizes alone */
		give_back(NULL);
		beside_it("L46.0.0.1", "46.0.0.1");
		settings.memory_max = arrays_total(&g) - 1;
		beside_it("L46.0.0.1", "46.0.0.1");
		settings.memory_max++;
		beside_it("L46.0.0.1", "46.0.0.1");
		beside_free(&b);
		image_gone();
	}
}

static void bits(void)
{
	settings.exact = false;
	settings.bits_per_key = 64;
	beside_image("A45.0.0.0/24 A45.1.0.1 A2001:db8::/48 A2001:db8:1:1::/64");
	beside_it("L45.3.0.0/24 L45.3.1.1 L2001:db8:2::/48",
		  "45.0.0.1 45.3.0.1 45.3.1.1 45.1.0.1 45.1.0.0 2001:db8:2::1 2001:db8:3::1");
	beside_it("!45.0.0.1", "");
	arrives = true;
	beside_it("!45.1.0.1", "");
	arrives = false;
	beside_it("!45.7.0.0/24 L45.7.0.0/23", "45.7.0.1 45.7.1.1");
	take_err = -ENOMEM;
	beside_it("L45.3.0.0/24", "");
	take_err = 0;
	image_gone();
	beside_image("A45.0.0.0/24 B45.2.0.0/24 A45.1.0.1");
	beside_it("L45.3.0.0/24", "45.0.0.1 45.2.0.1 45.3.0.1");
	image_gone();
	/* No network alone: no gate. */
	settings.exact = true;
	beside_image("A45.0.0.1 A45.1.0.1");
	free((void *)(uintptr_t)image.g.roster4);
	image.g.roster4 = 0; /* as if it had none */
	image.g.roster4_buckets = 0;
	beside_it("L45.3.0.1", "45.0.0.1 45.3.0.1");
	image_gone();
}

/* What a builder is never seen to do. */
static void faults(void)
{
	static const char *const images[] = { "A45.0.0.1 A2001:db8::/48", "A45.0.0.1" };

	for (size_t i = 0; i < 2; i++) {
		beside_image(images[i]);
		check_err = -EILSEQ;
		beside_it("L45.0.0.2", "");
		check_err = 0;
		place_err = -EAGAIN;
		beside_it("L45.0.0.2", "");
		place_err = 0;
		take_err = -ENOMEM;
		beside_it("L45.0.0.2", "");
		take_err = 0;
		beside_it("L45.0.0.2", "45.0.0.2");
		image_gone();
	}
}

static void live(const char *text, bool is)
{
	struct beside b = { 0 };

	parse(text, beside_set, &b);
	ENOUGH(!ranges_finish(&b.lasting));
	printf("  %s: %s\n", text, beside_is_live(&image, &b.lasting) ? "live" : "not live");
	CHECK(beside_is_live(&image, &b.lasting) == is, "%s", text);
	beside_free(&b);
}

static void whose_live(void)
{
	/* The gate says of what is not there that it is not, without a look at each. */
	beside_image("A45.0.0.0/16 L46.0.1.0 L46.0.3.255 L47.0.0.0/24 B255.255.255.255 A45.1.0.0");
	live("L45.0.0.0/16", false);
	live("L45.0.0.0/15", true); /* 65536 are asked, and those of the /24 that is open */
	live("L45.0.0.0/17 L45.0.128.0/17", false);
	live("L46.0.0.0/24", false);
	live("L46.0.0.0/23", true);
	live("L46.0.1.1 L46.0.1.255", false);
	live("L46.0.2.0/24", false);
	live("L46.0.2.255 L46.0.3.254", false);
	live("L46.0.3.255", true);
	live("L46.0.2.0/23", true);
	live("L47.0.0.9", true);
	live("L48.0.0.0/6", false);
	live("L255.255.255.255", false);
	live("L255.255.255.254/31", false);
	live("L46.0.0.255 L46.0.1.0", true);
	image_gone();
	beside_image("A45.0.0.1 L46.0.0.2 A2001:db8::/48 L2001:db8:1::/48");
	live("L45.0.0.0/16", false);
	live("L45.0.0.0/16 L47.0.0.0", true);
	live("L46.0.0.2", true);
	live("L46.0.0.1 L46.0.0.3", false);
	live("L2001:db8:2::/48", false);
	live("L2001:db8::/48", true);
	live("L2001:db8:1::1", true);
	live("L2001:db8:3::/64 L2001:db8:2::/48 L2001:db8:0:1::/64", true);
	image_gone();
}

static void any(void)
{
	static const char *const each[] = { "", "L45.0.0.1", "E45.0.0.1", "!45.0.0.1", "L::1", "E::1", "!::1" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct beside b = { 0 };

		parse(each[i], beside_set, &b);
		ENOUGH(!ranges_finish(&b.lasting) && !ranges_finish(&b.ending) && !ranges_finish(&b.allowed));
		CHECK(beside_any(&b) == !!*each[i], "'%s'", each[i]);
		beside_free(&b);
	}
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "whose networks are", accounts_of_networks },
		     { "gates", gates },
		     { "prefixes of IPv6", prefixes6 },
		     { "no place", no_place },
		     { "room", room },
		     { "memory", memory },
		     { "bits alone", bits },
		     { "faults", faults },
		     { "live", whose_live } };

	/* Whether all keys have a place depends on the seeds, now and then: what is recorded is of these. */
	ktap_state = 1;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		settings = SETTINGS_DEFAULT;
		settings.layout = LAYOUT_LANES;
		settings.headroom = 0;
		leave_out = arrives = false;
		shows_begin(&shows);
		each[i].happens();
		shows_as(&shows, each[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "any", any },
						  { "against the model", worlds },
						  { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
