// SPDX-License-Identifier: GPL-2.0-only
/* Addresses and prefixes as text, against inet_pton() and inet_ntop(). */
#include <arpa/inet.h>

#include "sets/address.h"
#include "ktap.h"

#define ROUNDS 300000

static const char *parse(const char *text, struct addr *first, unsigned int *length)
{
	return prefix_parse(text, strlen(text), first, length);
}

static void good_prefixes(void)
{
	static const struct {
		const char *text, *printed;
	} cases[] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "255.255.255.255/32", "255.255.255.255" },
		{ "10.1.2.3/8", "10.0.0.0/8" },
		{ "192.168.1.1/31", "192.168.1.0/31" },
		{ "100.64.0.0/10", "100.64.0.0/10" },
		{ "::", "::" },
		{ "::/0", "::/0" },
		{ "2001:DB8::1/32", "2001:db8::/32" },
		{ "2001:0db8:0:0:0:0:0:1", "2001:db8::1" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::FFFF:102:304/128", "1.2.3.4" },
		{ "::ffff:1.2.3.4/120", "1.2.3.0/24" },
		{ "::ffff:129.2.3.4/97", "128.0.0.0/1" },
		{ "::ffff:1.2.3.4/96", "::ffff:0.0.0.0/96" },
		{ "::ffff:1.2.3.4/95", "::fffe:0:0/95" },
#ifdef __GLIBC__ /* musl writes the same address as it writes others */
		{ "::1.2.3.4", "::1.2.3.4" },
#else
		{ "::1.2.3.4", "::102:304" },
#endif
		{ "::fffe:1.2.3.4", "::fffe:102:304" },
		{ "::ffff:0:1.2.3.4", "::ffff:0:102:304" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127" },
		{ "fe80::1/128", "fe80::1" },
		{ "1:2:3:4:5:6:7:8/1", "::/1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char printed[PREFIX_TEXT_MAX];
		unsigned int length;
		struct addr first;
		const char *reason = parse(cases[i].text, &first, &length);

		if (!CHECK(!reason, "%s: %s", cases[i].text, reason))
			return;
		prefix_text(printed, first, (int)length);
		if (!CHECK(!strcmp(printed, cases[i].printed), "%s printed as %s", cases[i].text, printed))
			return;
	}
}

static void bad_prefixes(void)
{
	static const struct {
		const char *text, *word; /* that the reason must hold */
	} cases[] = {
		{ "", "not an" },
		{ " 1.2.3.4", "not an" },
		{ "1.2.3.4 ", "not an" },
		{ "1.2.3", "four parts" },
		{ "1.2.3.", "four parts" },
		{ "1", "four parts" },
		{ "1.2.3.4.5", "four parts" },
		{ "1..2.3", "four parts" },
		{ "1.2.3.256", "0 to 255" },
		{ "1.2.3.1000", "0 to 255" },
		{ "99999999999999999999.2.3.4", "0 to 255" },
		{ "01.2.3.4", "leading zero" },
		{ "1.2.3.04", "leading zero" },
		{ "1.2.3.00", "leading zero" },
		{ "0x1.2.3.4", "not an" },
		{ "1.2.3.4x", "not an" },
		{ "-1.2.3.4", "not an" },
		{ "ads.example", "not an" },
		{ "10.0.0.0/", "0 to 32" },
		{ "10.0.0.0/33", "0 to 32" },
		{ "10.0.0.0/-1", "0 to 32" },
		{ "10.0.0.0/8/8", "0 to 32" },
		{ "10.0.0.0/08", "leading zero" },
		{ "10.0.0.0/ 8", "0 to 32" },
		{ "10.0.0.0/4294967304", "0 to 32" },
		{ "/8", "not an" },
		{ "::/129", "0 to 128" },
		{ "::/", "0 to 128" },
		{ ":::", "IPv6" },
		{ "1::2::3", "IPv6" },
		{ "1:2:3:4:5:6:7", "IPv6" },
		{ "1:2:3:4:5:6:7:8:9", "IPv6" },
		{ "12345::", "0 to 255" },
		{ "::12345", "IPv6" },
		{ "::g", "IPv6" },
		{ "::1.2.3", "IPv6" },
		{ "::1.2.3.04", "IPv6" },
		{ "fe80::1%eth0", "zone" },
		{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", "IPv6" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned int length;
		struct addr first;
		const char *reason = parse(cases[i].text, &first, &length);

		if (!CHECK(reason && strstr(reason, cases[i].word), "'%s': %s", cases[i].text,
			   reason ? reason : "accepted"))
			return;
	}
}

/* Nothing behind the given length is looked at, and a NUL inside is no end. */
static void exact_length(void)
{
	struct addr addr;

	if (!CHECK(!addr_parse("1.2.3.45", 7, &addr) && addr.num == 0x01020304, "read beyond its length"))
		return;
	if (!CHECK(addr_parse("1.2.3.4\0", 8, &addr), "a NUL byte was taken"))
		return;
	if (!CHECK(addr_parse("::1\0", 4, &addr), "a NUL byte was taken"))
		return;
	CHECK(addr_parse("1.2.3.4/8", 9, &addr), "a length was taken");
}

static void padded(void)
{
	struct addr addr;

	if (!CHECK(!addr_parse_padded("001.002.003.099", 15, &addr) && addr.num == 0x01020363, "not decimal"))
		return;
	if (!CHECK(addr_parse_padded("0001.2.3.4", 10, &addr), "four digits were taken"))
		return;
	CHECK(addr_parse_padded("256.2.3.4", 9, &addr), "256 was taken");
}

static void like_inet_pton_4(void)
{
	static const char letters[] = "0123456789012345678901234567890.../x- ";

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t random = ktap_random();
		char text[32], theirs[INET_ADDRSTRLEN], ours[PREFIX_TEXT_MAX];
		struct in_addr in;
		struct addr addr;
		bool good;

		snprintf(text, sizeof(text), "%u.%u.%u.%u", (unsigned int)random & 0xff,
			 (unsigned int)random >> 8 & 0xff, (unsigned int)random >> 16 & 0xff,
			 (unsigned int)random >> 24);
		for (uint64_t n = ktap_random() % 3; n; n--)
			text[ktap_random() % strlen(text)] = letters[ktap_random() % (sizeof(letters) - 1)];
		good = inet_pton(AF_INET, text, &in) == 1;
		if (!CHECK(good == !addr_parse(text, strlen(text), &addr), "'%s': inet_pton says %d", text, good))
			return;
		if (!good)
			continue;
		if (!CHECK(addr.num == ntohl(in.s_addr), "'%s' is another number", text))
			return;
		inet_ntop(AF_INET, &in, theirs, sizeof(theirs));
		prefix_text(ours, addr, -1);
		if (!CHECK(!strcmp(ours, theirs), "'%s' is printed as '%s'", theirs, ours))
			return;
	}
}

static void like_inet_pton_6(void)
{
	static const char letters[] = "0123456789abcdefABCDEF::::::....%g";

	for (int i = 0; i < ROUNDS; i++) {
		char text[INET6_ADDRSTRLEN], theirs[INET6_ADDRSTRLEN], ours[PREFIX_TEXT_MAX];
		struct in6_addr in6;
		struct addr addr;
		bool good;

		for (int k = 0; k < 16; k += 2) {
			uint64_t group = ktap_random() % 3 ? ktap_random() : 0;

			in6.s6_addr[k] = (uint8_t)(group >> 8);
			in6.s6_addr[k + 1] = (uint8_t)group;
		}
		inet_ntop(AF_INET6, &in6, text, sizeof(text));
		for (uint64_t n = ktap_random() % 3; n; n--)
			text[ktap_random() % strlen(text)] = letters[ktap_random() % (sizeof(letters) - 1)];
		if (!memchr(text, ':', strlen(text)))
			continue;
		good = inet_pton(AF_INET6, text, &in6) == 1;
		if (!CHECK(good == !addr_parse(text, strlen(text), &addr), "'%s': inet_pton says %d", text, good))
			return;
		if (!good)
			continue;
		inet_ntop(AF_INET6, &in6, theirs, sizeof(theirs));
		prefix_text(ours, addr, -1);
		if (!CHECK(addr.family == 6 && !strcmp(ours, theirs), "'%s' is printed as '%s'", theirs, ours))
			return;
	}
}

/* A host behind which a shorter length stands, as it was written. */
static void masked(void)
{
	static const struct {
		const char *text;
		bool is;
		const char *says;
	} cases[] = {
		{ "192.0.2.0/24", false, NULL },
		{ "192.0.2.1/24", true, "192.0.2.1/24 is a host within 192.0.2.0/24" },
		{ "192.0.2.1", false, NULL },
		{ "192.0.2.1/32", false, NULL },
		{ "2001:db8::/32", false, NULL },
		{ "2001:db8::1/32", true, "2001:db8::1/32 is a host within 2001:db8::/32" },
		{ "::ffff:192.0.2.0/120", false, NULL },
		{ "::ffff:192.0.2.1/120", true, "192.0.2.1/24 is a host within 192.0.2.0/24" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[MASKED_TEXT_MAX];
		struct addr first, written;
		unsigned int length;
		bool is;

		if (!CHECK(!prefix_parse(cases[i].text, strlen(cases[i].text), &first, &length), "%s", cases[i].text))
			continue;
		is = prefix_is_masked(cases[i].text, strlen(cases[i].text), first, &written);
		CHECK(is == cases[i].is, "%s is %d", cases[i].text, is);
		if (is)
			CHECK(!strcmp(masked_text(text, written, first, length), cases[i].says), "%s: '%s'",
			      cases[i].text, masked_text(text, written, first, length));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "good_prefixes", good_prefixes },
		{ "bad_prefixes", bad_prefixes },
		{ "exact_length", exact_length },
		{ "padded", padded },
		{ "like_inet_pton_4", like_inet_pton_4 },
		{ "like_inet_pton_6", like_inet_pton_6 },
		{ "masked", masked },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
