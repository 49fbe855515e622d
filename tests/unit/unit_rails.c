// SPDX-License-Identifier: GPL-2.0-only
/* The guard rails of amounts and widths: on both sides of each bound, and what is said. */
#include "change/guard_rails.c"
#include "ktap.h"

/* "192.0.2.0/24 2001:db8::/32+5": prefixes, or so many addresses from the beginning of one. */
static struct ranges set_of(const char *text)
{
	struct ranges set = RANGES_EMPTY;

	while (text && *text) {
		size_t length = strcspn(text, " +");
		unsigned int bits;
		struct addr first;
		ip6 last;

		if (prefix_parse(text, length, &first, &bits))
			abort();
		last = first.num | addr_mask(first.family, bits);
		if (text[length] == '+')
			last = first.num + strtoull(text + length + 1, NULL, 10) - 1;
		if (first.family == 4 ? ranges_add4(&set, (uint32_t)first.num, (uint32_t)last)
				      : ranges_add6(&set, first.num, last))
			abort();
		text += strcspn(text, " ");
		text += *text == ' ';
	}
	if (ranges_finish(&set))
		abort();
	return set;
}

static void says(int err, const char *wanted, const char *what)
{
	if (wanted)
		CHECK(err_is(err, GUARD_REFUSED) && !strcmp(reason(err), wanted), "%s: '%s', not '%s'", what,
		      err ? reason(err) : "done", wanted);
	else
		CHECK(!err, "%s: '%s'", what, reason(err));
}

#define LOADS "; --force or --big-change loads it"
#define WIDE  "; --force or --wide loads it"

static void growth(void)
{
	static const struct {
		struct amounts day, hand;
		const char *after, *says;
	} known[] = {
		{ { 0, 0 }, { 0, 0 }, "1.0.0.0/8+65536", NULL },
		{ { 0, 0 },
		  { 0, 0 },
		  "1.0.0.0/8+65537",
		  "list 'feed': it had no IPv4 addresses a day ago, and now has 6.55e+04" LOADS },
		{ { 1e5, 0 }, { 1e6, 0 }, "1.0.0.0/8+215536", NULL },
		{ { 1e5, 0 },
		  { 1e6, 0 },
		  "1.0.0.0/8+215537",
		  "list 'feed': it has 2.16 times as many IPv4 addresses as a day ago" LOADS },
		{ { 1e9, 0 }, { 1e5, 0 }, "1.0.0.0/8+465536", NULL },
		{ { 1e9, 0 },
		  { 1e5, 0 },
		  "1.0.0.0/8+465537",
		  "list 'feed': it has 4.66 times as many IPv4 addresses as when it was last accepted by hand" LOADS },
		{ { 0, 0 }, { 0, 0 }, "2600::/32", NULL },
		{ { 0, 0 },
		  { 0, 0 },
		  "2600::/32 2700::/78",
		  "list 'feed': it had no IPv6 addresses a day ago, and now has 7.92e+28" LOADS },
		{ { 0, 0x1p97 }, { 0, 0x1p98 }, "2600::/30", NULL },
		{ { 0, 0x1p97 },
		  { 0, 0x1p98 },
		  "2600::/30 2700::/78",
		  "list 'feed': it has 2 times as many IPv6 addresses as a day ago" LOADS },
		{ { 0, 0x1p120 }, { 0, 0x1p96 }, "2600::/30 2700::/32", NULL },
		{ { 0, 0x1p120 },
		  { 0, 0x1p96 },
		  "2600::/30 2700::/31",
		  "list 'feed': it has 6 times as many IPv6 addresses as when it was last accepted by hand" LOADS },
		{ { 1e6, 0x1p110 }, { 1e6, 0x1p110 }, "1.0.0.1 2600::1", NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct accepted a = { .known = true, .day = known[i].day, .hand = known[i].hand };
		struct ranges after = set_of(known[i].after);

		says(guard_growth("feed", &a, &after), known[i].says, known[i].after);
		ranges_free(&after);
	}
}

struct changes {
	const char *before, *after, *says;
};

static void changes(enum list_kind kind, const struct changes *known, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ranges before = set_of(known[i].before), after = set_of(known[i].after);

		says(guard_change(kind, "feed", &before, (struct amounts){ 0, 0 }, &after), known[i].says,
		     known[i].after);
		ranges_free(&before);
		ranges_free(&after);
	}
}

static void change(void)
{
	static const struct changes bans[] = {
		{ NULL, "1.0.0.0/8", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+500", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+499", "list 'feed': it lost 50 % of its IPv4 addresses" LOADS },
		{ "1.0.0.0/8+1000", NULL, "list 'feed': it lost 100 % of its IPv4 addresses" LOADS },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1500", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1501", "list 'feed': it gained 50 % IPv4 addresses" LOADS },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+400 2.0.0.0/8+1000",
		  "list 'feed': it lost 60 % of its IPv4 addresses" LOADS },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1000 2600::/32", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1000 2600::/32 2700::/78",
		  "list 'feed': it had no IPv6 addresses, and now has 7.92e+28" LOADS },
		/* Behind a NAT64 each stands for one of IPv4. */
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1000 64:ff9b::/112", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1000 64:ff9b::/96",
		  "list 'feed': it gained 4.29e+09 addresses of 64:ff9b::/96, behind which is IPv4" LOADS },
		{ "64:ff9b::/111 2600::/64", "64:ff9b::/110 2600::/64",
		  "list 'feed': it gained 1.31e+05 addresses of 64:ff9b::/96, behind which is IPv4" LOADS },
		{ "::/8", "::/8 2600::1", NULL },
		{ "2600::/64", "2600::/64 1.0.0.0/8+65536", NULL },
		{ "2600::/64", "2600::/64 1.0.0.0/8+65537",
		  "list 'feed': it had no IPv4 addresses, and now has 6.55e+04" LOADS },
		{ "2600::/64", "2600::/65", NULL },
		{ "2600::/64", "2600::/66", "list 'feed': it lost 75 % of its IPv6 addresses" LOADS },
		{ "2600::/64", "2600::/63", "list 'feed': it gained 100 % IPv6 addresses" LOADS },
	};
	static const struct changes lets_through[] = {
		{ "1.0.0.1", "1.0.0.2", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.1", NULL },
		{ "1.0.0.0/8+1000", NULL, NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1756", NULL },
		{ "1.0.0.0/8+1000", "1.0.0.0/8+1757", "list 'feed': it gained 76 % IPv4 addresses" LOADS },
		{ "1.0.0.1", "1.0.0.0/8+65538", "list 'feed': it gained 6553700 % IPv4 addresses" LOADS },
		{ "2600::/64", "2600::/48", NULL },
		{ "2600::/64", "2600::/47", "list 'feed': it gained 13107100 % IPv6 addresses" LOADS },
		{ "1.0.0.1", "1.0.0.1 64:ff9b::/96",
		  "list 'feed': it gained 4.29e+09 addresses of 64:ff9b::/96, behind which is IPv4" LOADS },
	};

	changes(LIST_BAN, bans, sizeof(bans) / sizeof(bans[0]));
	changes(LIST_ALLOW, lets_through, sizeof(lets_through) / sizeof(lets_through[0]));
	changes(LIST_TRUST, lets_through, sizeof(lets_through) / sizeof(lets_through[0]));
}

/* What was left out of the version before had come with it. */
static void left_out(void)
{
	static const struct {
		const char *before, *after, *says;
		struct amounts left;
	} known[] = {
		{ "1.0.0.4/30", "1.0.0.4/30 1.0.0.16/30 1.0.0.32/31", NULL, { 6, 0 } },
		{ "1.0.0.4/30",
		  "1.0.0.4/30 1.0.0.16/30 1.0.0.32/31",
		  "list 'feed': it gained 150 % IPv4 addresses" LOADS,
		  { 0, 6 } },
		{ "1.0.0.4/30", "1.0.0.4/30 1.0.0.16/29 1.0.0.32/31 1.0.0.48", NULL, { 6, 0 } },
		{ "1.0.0.4/30",
		  "1.0.0.4/30 1.0.0.16/29 1.0.0.32/30",
		  "list 'feed': it gained 60 % IPv4 addresses" LOADS,
		  { 6, 0 } },
		{ "1.0.0.4/30", "1.0.0.4/31", NULL, { 6, 0 } },
		{ "1.0.0.4/30", "1.0.0.4", "list 'feed': it lost 75 % of its IPv4 addresses" LOADS, { 6, 0 } },
		{ "2600::/126", "2600::/126 2600::10/126 2600::20/127", NULL, { 0, 6 } },
		{ "1.0.0.1", "1.0.0.1 2600::/126", NULL, { 0, 4 } },
		{ "1.0.0.1", "1.0.0.1 2600::/125", "list 'feed': it gained 100 % IPv6 addresses" LOADS, { 0, 4 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges before = set_of(known[i].before), after = set_of(known[i].after);

		says(guard_change(LIST_BAN, "feed", &before, known[i].left, &after), known[i].says, known[i].after);
		ranges_free(&before);
		ranges_free(&after);
	}
}

static void widths(void)
{
	static const struct {
		enum list_kind kind;
		const char *list, *before, *after, *says;
	} known[] = {
		{ LIST_BAN, "feed", NULL, "1.0.0.0/8", NULL },
		{ LIST_BAN, "feed", NULL, "1.0.0.0/8 2.0.0.0/8", NULL },
		{ LIST_BAN, "feed", NULL, "2.0.0.0/7",
		  "list 'feed': it bans all of 2.0.0.0/7, which is very wide" WIDE },
		{ LIST_BAN, NULL, NULL, "2.0.0.0/7", "the image: it bans all of 2.0.0.0/7, which is very wide" WIDE },
		{ LIST_BAN, "feed", NULL, "3.0.0.0/8 4.0.0.0/8 5.0.0.0/8",
		  "list 'feed': it bans all of 4.0.0.0/7, which is very wide" WIDE },
		{ LIST_BAN, "feed", "2.0.0.0/7", "2.0.0.0/7", NULL },
		{ LIST_BAN, "feed", "2.0.0.0/7", "4.0.0.0/7",
		  "list 'feed': it bans all of 4.0.0.0/7, which is very wide" WIDE },
		{ LIST_BAN, "feed", "2.0.0.0/8", "2.0.0.0/7",
		  "list 'feed': it bans all of 2.0.0.0/7, which is very wide" WIDE },
		{ LIST_BAN, "feed", NULL, "240.0.0.0/4", NULL }, /* reserved */
		{ LIST_BAN, "feed", NULL, "2600::/12", NULL },
		{ LIST_BAN, "feed", NULL, "2600::/11",
		  "list 'feed': it bans all of 2600::/11, which is very wide" WIDE },
		{ LIST_BAN, "feed", NULL, "8000::/1", NULL }, /* nobody's */
		{ LIST_ALLOW, "feed", NULL, "2.0.0.0/7",
		  "list 'feed': it allows all of 2.0.0.0/7, which is very wide" WIDE },
		{ LIST_TRUST, "feed", NULL, "0.0.0.0/1", "list 'feed': it trusts 57 % of all IPv4 addresses" WIDE },
		{ LIST_ALLOW, "feed", "2.0.0.0/7", "2.0.0.0/7", NULL },
		{ LIST_ALLOW, "feed", NULL, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 20.32.0.0/12 fc00::/7 fe80::/10",
		  NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges before = set_of(known[i].before), after = set_of(known[i].after);

		says(guard_wide(known[i].kind, known[i].list, &before, &after, (struct amounts){ 0, 0 }), known[i].says,
		     known[i].after);
		ranges_free(&before);
		ranges_free(&after);
	}
}

/* A quarter of IPv4 that is open to others, which is all but bogons and what is reserved. */
static void shares(void)
{
	static const struct {
		struct amounts granted, after;
		const char *says;
	} known[] = {
		{ { 0, 0 }, { 0x1p30, 0x1p120 }, NULL },
		{ { 0, 0 }, { 0x1p30 + 1, 0 }, "list 'feed': it bans 29 % of all IPv4 addresses" WIDE },
		{ { 0, 0 }, { 0, 0x1p121 }, "list 'feed': it bans 6 % of all IPv6 addresses" WIDE },
		{ { 0x1p30, 0 }, { 0x1p30 + 1, 0 }, "list 'feed': it bans 29 % of all IPv4 addresses" WIDE },
		{ { 0x1p31, 0 }, { 0x1p31 + 0x1p27, 0 }, NULL },
		{ { 0x1p31, 0 }, { 0x1p31 + 0x1p27 + 1, 0 }, "list 'feed': it bans 62 % of all IPv4 addresses" WIDE },
		{ { 0, 0x1p122 }, { 0, 0x1p122 }, NULL },
		{ { 0, 0x1p122 }, { 0, 0x1p123 }, "list 'feed': it bans 25 % of all IPv6 addresses" WIDE },
		{ { 0, 0 }, { 0x1p32, 0 }, "list 'feed': it bans 100 % of all IPv4 addresses" WIDE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char what[32];

		snprintf(what, sizeof(what), "number %zu", i);
		says(guard_share("list 'feed': it bans", known[i].granted, known[i].after), known[i].says, what);
	}
}

/* The same of live bans, which somebody may make beyond that, but in another way. */
static void live(void)
{
#define ELSE "; add bans so many, or a list with --wide"
	static const struct {
		const char *set, *says;
	} known[] = {
		{ "", NULL },
		{ "64.0.0.0/2", NULL },
		{ "64.0.0.0/2 128.0.0.0/14", NULL }, /* some of it is nobody's */
		{ "128.0.0.0/2 11.0.0.0/12", NULL },
		{ "32.0.0.0/3 64.0.0.0/3 192.0.2.0/24", "live bans would be of 29 % of all IPv4 addresses" ELSE },
		{ "0.0.0.0/0", "live bans would be of 100 % of all IPv4 addresses" ELSE },
		{ "2600::/8", NULL },
		{ "2600::/8 2000::/48", "live bans would be of 3 % of all IPv6 addresses" ELSE },
		{ "64.0.0.0/2 2600::/7", "live bans would be of 6 % of all IPv6 addresses" ELSE },
		{ "8000::/1", NULL }, /* nobody's */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges set = set_of(known[i].set);

		says(guard_live(&set), known[i].says, known[i].set);
		ranges_free(&set);
	}
}

/* One range, whose ends added up are next to nothing; and one that is no wider than a prefix may be, but is none. */
static void wide_ranges(void)
{
	static const struct {
		uint32_t lo, hi;
		const char *says;
	} known4[] = {
		{ 0x40000000, 0xc0fffffe, "feed: it bans all of 64.0.0.0/2, which is very wide" WIDE },
		{ 0x40000000, 0x40ffffff, NULL },
		{ 0x40000001, 0x41000000, NULL },
		{ 0x40000000, 0x41ffffff, "feed: it bans all of 64.0.0.0/7, which is very wide" WIDE },
		{ 0x40ffffff, 0x42fffffe, NULL },
		{ 0x40ffffff, 0x43000000, NULL },
		{ 0x41000000, 0x43ffffff, "feed: it bans all of 66.0.0.0/7, which is very wide" WIDE },
	};
	static const struct {
		ip6 lo, hi;
		const char *says;
	} known6[] = {
		{ (ip6)4 << 124, (ip6)0xc00f << 112 | ~(ip6)0 >> 20,
		  "feed: it bans all of 4000::/2, which is very wide" WIDE },
		{ (ip6)0x400 << 116, ((ip6)0x401 << 116) - 1, NULL },
		{ (ip6)0x400 << 116, ((ip6)0x402 << 116) - 1,
		  "feed: it bans all of 4000::/11, which is very wide" WIDE },
		{ ((ip6)0x400 << 116) + 1, (ip6)0x401 << 116, NULL },
	};
	struct ranges none = RANGES_EMPTY;

	for (size_t i = 0; i < sizeof(known4) / sizeof(known4[0]); i++) {
		struct ranges set = RANGES_EMPTY;

		if (ranges_add4(&set, known4[i].lo, known4[i].hi) || ranges_finish(&set))
			abort();
		says(check_widths("feed: it bans", &none, &set), known4[i].says, "IPv4");
		ranges_free(&set);
	}
	for (size_t i = 0; i < sizeof(known6) / sizeof(known6[0]); i++) {
		struct ranges set = RANGES_EMPTY;

		if (ranges_add6(&set, known6[i].lo, known6[i].hi) || ranges_finish(&set))
			abort();
		says(check_widths("feed: it bans", &none, &set), known6[i].says, "IPv6");
		ranges_free(&set);
	}
}

/* What is granted: of each family for itself, and no less than needs to be. */
static void shares_of(void)
{
	static const struct {
		const char *set;
		struct amounts is;
	} known[] = {
		{ "1.0.0.0/8", { 0, 0 } },
		{ "64.0.0.0/2", { 0, 0 } },
		{ "64.0.0.0/2 128.0.0.0/6 2600::/12", { 0x1p30 + 0x1p26 - 0x1p24 - 0x1p22, 0 } },
		{ "2600::/8 2.0.0.0/8", { 0, 0 } },
		{ "2600::/7 2.0.0.0/8", { 0, 0x1p121 } },
		{ "2600::/8", { 0, 0 } },
		{ "128.0.0.0/1 2600::/7", { 1609433088, 0x1p121 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges set = set_of(known[i].set);
		struct amounts is = { 7, 7 };

		CHECK(!guard_share_of(&set, &is), "%s: refused", known[i].set);
		CHECK(is.v4 == known[i].is.v4 && is.v6 == known[i].is.v6, "%s: %.0f and %.0f, which is 2^30%+.0f",
		      known[i].set, is.v4, is.v6, is.v4 - 0x1p30);
		ranges_free(&set);
	}
}

#define NOTHING "nothing would be dropped any more, whatever lists say; "

static void prefixes(void)
{
	static const struct {
		const char *prefix, *ban, *exception;
	} known[] = {
		{ "1.0.0.0/8", NULL, NULL },
		{ "2.0.0.0/7", "2.0.0.0/7 is very wide; --force bans it",
		  "of all 2.0.0.0/7 " NOTHING "--force allows it" },
		{ "0.0.0.0/0", "0.0.0.0/0 is very wide; --force bans it",
		  "of all 0.0.0.0/0 " NOTHING "--force allows it" },
		{ "10.0.0.0/8", NULL, NULL },
		{ "192.168.0.0/15", "192.168.0.0/15 bans addresses of 192.168.0.0/16 (private), too; --force bans it",
		  NULL },
		{ "192.168.0.0/16", NULL, NULL },
		{ "2600::/12", NULL, NULL },
		{ "2600::/11", "2600::/11 is very wide; --force bans it",
		  "of all 2600::/11 " NOTHING "--force allows it" },
		/* Each address of it is one of IPv4. */
		{ "64:ff9b::/104", NULL, NULL },
		{ "64:ff9b:1::/48", NULL, NULL },
		{ "64:ff9b::/96", "64:ff9b::/96 is very wide; --force bans it",
		  "of all 64:ff9b::/96 " NOTHING "--force allows it" },
		{ "64::/16", "64::/16 is very wide; --force bans it", "of all 64::/16 " NOTHING "--force allows it" },
		{ "65::/16", NULL, NULL },
		{ "fe80::/10", "fe80::/10 is very wide; --force bans it", NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned int length;
		struct addr first;

		if (prefix_parse(known[i].prefix, strlen(known[i].prefix), &first, &length))
			abort();
		says(guard_prefix(first, length), known[i].ban, known[i].prefix);
		says(guard_exception(first, length), known[i].exception, known[i].prefix);
	}
}

/* Whose sources are nobody's, and several's, by hand and by others' word. */
static void sources(void)
{
	static const struct {
		const char *prefix, *typed, *told;
	} known[] = {
		{ "0.0.0.0", "0.0.0.0 stands for no single host (0.0.0.0/8, this network); --force bans it",
		  "0.0.0.0 stands for no single host (0.0.0.0/8, this network)" },
		{ "0.0.0.0/8", "0.0.0.0/8 stands for no single host (0.0.0.0/8, this network); --force bans it",
		  "0.0.0.0/8 stands for no single host (0.0.0.0/8, this network)" },
		{ "127.1.0.0/16", "127.1.0.0/16 stands for no single host (127.0.0.0/8, loopback); --force bans it",
		  "127.1.0.0/16 stands for no single host (127.0.0.0/8, loopback)" },
		{ "::", ":: stands for no single host (::, unspecified); --force bans it",
		  ":: stands for no single host (::, unspecified)" },
		{ "::1", "::1 stands for no single host (::1, loopback); --force bans it",
		  "::1 stands for no single host (::1, loopback)" },
		{ "::/64", "::/64 bans addresses of :: (unspecified), too; --force bans it",
		  "::/64 bans addresses of :: (unspecified), too; --force bans it" },
		/* Where destinations are asked about, some may be banned. */
		{ "224.0.0.251", NULL, "224.0.0.251 stands for no single host (224.0.0.0/4, multicast)" },
		{ "255.255.255.255", NULL, "255.255.255.255 stands for no single host (255.255.255.255, broadcast)" },
		{ "ff02::1", NULL, "ff02::1 stands for no single host (ff00::/8, multicast)" },
		/* A neighbour, whom this machine's operator knows. */
		{ "fe80::1", NULL, "fe80::1 stands for no single host (fe80::/10, link-local)" },
		{ "fe80::/65", NULL, "fe80::/65 stands for no single host (fe80::/10, link-local)" },
		{ "64:ff9b::/119", NULL, "64:ff9b::/119 is very wide" },
		{ "64:ff9b::c000:200/120", NULL, NULL },
		{ "169.254.1.1", NULL, NULL },
		{ "10.0.0.0/8", NULL, NULL },
		{ "192.0.2.1", NULL, NULL },
		{ "fd00::/12", NULL, NULL },
		{ "::2", NULL, NULL },
		{ "240.0.0.0/8", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned int length;
		struct addr first;

		if (prefix_parse(known[i].prefix, strlen(known[i].prefix), &first, &length))
			abort();
		says(guard_typed(first, length), known[i].typed, known[i].prefix);
		says(guard_told(first, length), known[i].told, known[i].prefix);
	}
}

/* What no other network's packets come from: out of the list, or in it, or it is refused. */
static void bogons(void)
{
	static const struct {
		const char *set;
		enum bogons choice;
		const char *left, *found, *says;
	} known[] = {
		{ "45.0.0.1", BOGONS_LEAVE_OUT, "45.0.0.1", "", NULL },
		{ "45.0.0.1", BOGONS_REFUSE, "45.0.0.1", "", NULL },
		{ "10.0.0.1 45.0.0.1", BOGONS_KEEP, "10.0.0.1 45.0.0.1", "", NULL },
		{ "9.255.255.0/24 10.0.0.0 10.255.255.255 11.0.0.0", BOGONS_LEAVE_OUT, "9.255.255.0/24 11.0.0.0",
		  "10.0.0.0/8 ", NULL },
		{ "192.0.0.0/8", BOGONS_LEAVE_OUT,
		  "192.0.0.0/9 192.128.0.0/11 192.160.0.0/13 192.169.0.0/16 192.170.0.0/15 192.172.0.0/14 192.176.0.0/12"
		  " 192.192.0.0/10",
		  "192.168.0.0/16 ", NULL },
		{ "127.0.0.1 255.255.255.255 ::1 2600::1 fe80::1", BOGONS_LEAVE_OUT, "2600::1",
		  "127.0.0.0/8 255.255.255.255 ::1 fe80::/10 ", NULL },
		{ "45.0.0.1 127.0.0.1 fe80::1", BOGONS_REFUSE, NULL, NULL,
		  "it bans addresses of 127.0.0.0/8 (loopback); --bogons=keep or --force bans them" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges set = set_of(known[i].set), left = set_of(known[i].left);
		bool *found = malloc(bogon_table_n * sizeof(*found));
		char text[256] = "";

		if (!found)
			abort();
		memset(found, 1, bogon_table_n * sizeof(*found));
		says(guard_apply_bogons(&set, known[i].choice, found), known[i].says, known[i].set);
		for (size_t b = 0; b < bogon_table_n && known[i].found; b++)
			if (found[b])
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
					 bogon_table[b].prefix);
		CHECK(!known[i].found || !strcmp(text, known[i].found), "%s: it found '%s'", known[i].set, text);
		CHECK(!known[i].left || ranges_equal(&set, &left), "%s: something else is left", known[i].set);
		free(found);
		ranges_free(&set);
		ranges_free(&left);
	}
}

/* The same share of what may be allowed by hand. */
static void exceptions(void)
{
	static const struct {
		const char *before, *after, *says;
	} known[] = {
		{ NULL, "1.0.0.0/8", NULL },
		{ NULL, "0.0.0.0/2+1073741824", NULL }, /* some of it is nobody's */
		{ NULL, "16.0.0.0/4 32.0.0.0/3 64.0.0.0/3",
		  "of 36 % of all IPv4 addresses " NOTHING "--force allows it" },
		{ "16.0.0.0/4 32.0.0.0/3 64.0.0.0/3", "16.0.0.0/4 32.0.0.0/3 64.0.0.0/3", NULL },
		{ NULL, "2600::/8", NULL },
		{ NULL, "2600::/7", "of 6 % of all IPv6 addresses " NOTHING "--force allows it" },
		{ "2600::/7", "2600::/7", NULL },
		{ NULL, "fc00::/7 8000::/1", NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct ranges before = set_of(known[i].before), after = set_of(known[i].after);

		says(guard_allows(&before, &after), known[i].says, known[i].after);
		ranges_free(&before);
		ranges_free(&after);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "how fast it grows", growth },
		{ "how much changes", change },
		{ "what was left out", left_out },
		{ "how wide it is", widths },
		{ "how much of all", shares },
		{ "prefixes", prefixes },
		{ "what is nobody's", bogons },
		{ "what is allowed", exceptions },
		{ "wide ranges", wide_ranges },
		{ "what is granted", shares_of },
		{ "live bans", live },
		{ "sources", sources },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
