// SPDX-License-Identifier: GPL-2.0-only
/* What was meant by what is no address: each way in which addresses are written elsewhere, word for word. */
#include "ktap.h"
#include "sets/address.h"
#include "sets/slip.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_slip.txt"
};

static struct shows shows = { .file = "tests/unit/unit_slip.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void prefixes(void)
{
	static const char *const texts[] = {
		/* as prefixes */
		"192.0.2.0/255.255.255.0",
		"192.0.2.0/255.255.255.255",
		"192.0.2.0/0.0.0.0",
		"192.0.2.0/255.0.255.0",
		"192.0.2.0/255.255.255.1",
		"2001:db8::/255.255.255.0",
		"192.0.2.0/ffff::",
		"192.0.2/255.255.255.0",
		"192.0.2.*",
		"192.0.*.*",
		"192.*.*.*",
		"*.*.*.*",
		"192.0.2.*.*",
		"192.*.2.*",
		"192.*.2",
		"*",
		"192.0.2*",
		"::*",
		"2001:db8::*",
		"1.*",
		/* its end */
		"192.0.2.9.",
		"192.0.2.9..",
		"2001:db8::9%eth0",
		"fe80::1%eth0/64",
		"2001:db8::9.",
		"192.0.2.9%eth0",
		"%eth0",
		".",
		/* with something around */
		"192.0.2.9:443",
		"[2001:db8::9]:443",
		"[2001:db8::9]",
		"2001:db8::9:",
		"\"192.0.2.9\"",
		"192.0.2.9,",
		"192.0.2.9,192.0.2.10",
		"http://192.0.2.9/index.html",
		"https://[2001:db8::9]/",
		"https://list.example/drop.txt",
		"192.0.2.0/24,",
		":/192.0.2.9",
		"x://192.0.2.9",
		"192.0.2.0/24/",
		"x192.0.2.9",
		"192.0.2.9/x",
		"192.0.2.9/",
		"192.0.2.9:x",
		"ip=192.0.2.9",
		"192.0.2.9-192.0.2.20",
		"192.0.2.9-20",
		"-192.0.2.9",
		/* something else */
		"timeout",
		"TTL",
		"bantime",
		"for",
		"comment",
		"reason",
		"any",
		"all",
		"everyone",
		"anyone",
		"10m",
		"600",
		"10mm",
		"3d",
		"7q",
		"AS64500",
		"as64500",
		"AS",
		"ASx",
		"AS64500x",
		"AX64500",
		"00:16:3e:00:00:01",
		"00:16:3e:00:00:0",
		"0016:3e:00:00:0:01",
		"host.example",
		"host",
		"1.2.3",
		"1.2.3.4.5",
		"256.1.1.1",
		"/",
		"nothing-there",
		"",
		"1",
		"fe80::/10/x",
		"2001:db8:::1",
		"2001:db8::1::2",
	};
	char buf[SLIP_TEXT_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct addr addr;
		unsigned int bits;
		const char *fault = prefix_parse(texts[i], strlen(texts[i]), &addr, &bits), *alone;

		alone = addr_parse(texts[i], strlen(texts[i]), &addr);
		printf("%s: %s\n", texts[i], fault ? address_slip(buf, texts[i], strlen(texts[i]), fault) : "a prefix");
		if (!fault && alone)
			printf("%s, as an address: %s\n", texts[i],
			       address_slip(buf, texts[i], strlen(texts[i]), alone));
	}
}

/* No more than so many bytes are looked at, and no byte behind those that are given. */
static void bounds(void)
{
	char buf[SLIP_TEXT_MAX], text[512];

	for (size_t n = 254; n <= 257; n++) {
		memset(text, ' ', sizeof(text));
		memcpy(text, "192.0.2.9", 9);
		printf("%zu bytes: %s\n", n, address_slip(buf, text, n, addr_is_none));
	}
	printf("one of two: %s\n", address_slip(buf, "192.0.2.*.*", 9, addr_is_none));
	printf("none: %s\n", address_slip(buf, "", 0, addr_is_none));
}

static void word_for_word(void)
{
	shows_begin(&shows);
	prefixes();
	shows_as(&shows, "what was meant");
	shows_begin(&shows);
	bounds();
	shows_as(&shows, "how much of it");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
