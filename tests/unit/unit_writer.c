// SPDX-License-Identifier: GPL-2.0-only
/* Sets as text: each format letter by letter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"
#include "naive.h"
#include "sets/ranges.h"
#include "sets/writer.h"

static struct ranges set_of(bool has4, bool has6, bool everything)
{
	struct ranges set = RANGES_EMPTY;

	if (has4 && everything)
		ENOUGH(!ranges_add4(&set, 0, UINT32_MAX));
	if (has6 && everything)
		ENOUGH(!ranges_add6(&set, 0, ~(ip6)0));
	if (has4 && !everything)
		ENOUGH(!ranges_add4(&set, 0x0a141e01, 0x0a141e01) && !ranges_add4(&set, 0x0a141e04, 0x0a141e06));
	if (has6 && !everything)
		ENOUGH(!ranges_add6(&set, (ip6)0x20010db8 << 96, (ip6)0x20010db9 << 96));
	ENOUGH(!ranges_finish(&set));
	return set;
}

static const struct {
	const char *format, *some4, *some6, *all4, *all6, *nothing;
} known[] = {
	{ "plain", "10.20.30.1\n10.20.30.4/31\n10.20.30.6\n", "2001:db8::/32\n2001:db9::\n", "0.0.0.0/0\n", "::/0\n",
	  "" },
	{ "netmask", "10.20.30.1/255.255.255.255\n10.20.30.4/255.255.255.254\n10.20.30.6/255.255.255.255\n",
	  "2001:db8::/32\n2001:db9::\n", "0.0.0.0/0.0.0.0\n", "::/0\n", "" },
	{ "range", "10.20.30.1-10.20.30.1\n10.20.30.4-10.20.30.6\n", "2001:db8::-2001:db9::\n",
	  "0.0.0.0-255.255.255.255\n", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n", "" },
	{ "p2p", "word:10.20.30.1-10.20.30.1\nword:10.20.30.4-10.20.30.6\n", NULL, "word:0.0.0.0-255.255.255.255\n",
	  NULL, "" },
	{ "dat", "010.020.030.001 - 010.020.030.001 , 000 , word\n010.020.030.004 - 010.020.030.006 , 000 , word\n",
	  NULL, "000.000.000.000 - 255.255.255.255 , 000 , word\n", NULL, "" },
	{ "csv", "family,addresses\n4,10.20.30.1-10.20.30.1\n4,10.20.30.4-10.20.30.6\n",
	  "family,addresses\n6,2001:db8::-2001:db9::\n", "family,addresses\n4,0.0.0.0-255.255.255.255\n",
	  "family,addresses\n6,::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n", "family,addresses\n" },
	{ "json", "[\n\"10.20.30.1\",\n\"10.20.30.4/31\",\n\"10.20.30.6\"\n]\n",
	  "[\n\"2001:db8::/32\",\n\"2001:db9::\"\n]\n", "[\n\"0.0.0.0/0\"\n]\n", "[\n\"::/0\"\n]\n", "[\n]\n" },
	/* ipset knows no prefix of length 0. */
	{ "ipset",
	  "create word hash:net family inet maxelem 65536\nadd word 10.20.30.1\nadd word 10.20.30.4/31\nadd word 10.20.30.6\n",
	  "create word6 hash:net family inet6 maxelem 65536\nadd word6 2001:db8::/32\nadd word6 2001:db9::\n",
	  "create word hash:net family inet maxelem 65536\nadd word 0.0.0.0/1\nadd word 128.0.0.0/1\n",
	  "create word6 hash:net family inet6 maxelem 65536\nadd word6 ::/1\nadd word6 8000::/1\n", "" },
	{ "nft",
	  "table inet xdp_bloom {\n\tset word {\n\t\ttype ipv4_addr\n\t\tflags interval\n"
	  "\t\telements = { 10.20.30.1,\n\t\t\t     10.20.30.4-10.20.30.6 }\n\t}\n}\n",
	  "table inet xdp_bloom {\n\tset word6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n"
	  "\t\telements = { 2001:db8::-2001:db9:: }\n\t}\n}\n",
	  "table inet xdp_bloom {\n\tset word {\n\t\ttype ipv4_addr\n\t\tflags interval\n"
	  "\t\telements = { 0.0.0.0-255.255.255.255 }\n\t}\n}\n",
	  "table inet xdp_bloom {\n\tset word6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n"
	  "\t\telements = { ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff }\n\t}\n}\n",
	  "table inet xdp_bloom {\n}\n" },
};

#define KNOWN (sizeof(known) / sizeof(*known))

static void writes(const struct ranges *set, const char *format, const char *wanted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const char *why;

	ENOUGH(out);
	why = writer_write(out, set, format, "word");
	fclose(out);
	CHECK(!why == !!wanted && !strcmp(text, wanted ? wanted : ""), "%s: %s\n%s", format, why ? why : "written",
	      text);
	free(text);
}

static void each_format(void)
{
	for (size_t i = 0; i < KNOWN; i++) {
		const char *const wanted[] = { known[i].some4, known[i].some6, known[i].all4, known[i].all6 };

		for (int family = 0; family < 2; family++) {
			for (int all = 0; all < 2; all++) {
				struct ranges set = set_of(!family, family, all);

				writes(&set, known[i].format, wanted[2 * all + family]);
				ranges_free(&set);
			}
		}
		writes(&RANGES_EMPTY, known[i].format, known[i].nothing);
	}
}

/* What one is separated by does not go on in the other. */
static void both_families(void)
{
	struct ranges set = set_of(true, true, false);

	writes(&set, "plain", "10.20.30.1\n10.20.30.4/31\n10.20.30.6\n2001:db8::/32\n2001:db9::\n");
	writes(&set, "dat", NULL);
	writes(&set, "json",
	       "[\n\"10.20.30.1\",\n\"10.20.30.4/31\",\n\"10.20.30.6\",\n\"2001:db8::/32\",\n\"2001:db9::\"\n]\n");
	writes(&set, "nft",
	       "table inet xdp_bloom {\n\tset word {\n\t\ttype ipv4_addr\n\t\tflags interval\n"
	       "\t\telements = { 10.20.30.1,\n\t\t\t     10.20.30.4-10.20.30.6 }\n\t}\n"
	       "\tset word6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n"
	       "\t\telements = { 2001:db8::-2001:db9:: }\n\t}\n}\n");
	CHECK(writer_prefixes(&set, NULL, NULL) == 5, "%zu prefixes", writer_prefixes(&set, NULL, NULL));
	ranges_free(&set);
}

/* ipset wants to know how many there will be: more than that are refused. */
static void many(void)
{
	for (uint32_t n = 65534; n <= 65537; n++) {
		struct ranges set = RANGES_EMPTY;
		char *text = NULL, wanted[80];
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		for (uint32_t i = 0; i < n; i++)
			ENOUGH(!ranges_add4(&set, 0x0a000000 + 2 * i, 0x0a000000 + 2 * i));
		ENOUGH(out && !ranges_finish(&set));
		writer_write(out, &set, "ipset", "word");
		fclose(out);
		snprintf(wanted, sizeof(wanted), "create word hash:net family inet maxelem %u\n",
			 n < 65536 ? 65536 : n + 1);
		CHECK(!strncmp(text, wanted, strlen(wanted)), "%u prefixes: %.60s", n, text);
		free(text);
		ranges_free(&set);
	}
}

static void names(void)
{
	char all[200] = "";

	for (size_t i = 0; i < KNOWN; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "", known[i].format);
	CHECK(!strcmp(writer_formats(), all), "formats: %s", writer_formats());
	writes(&RANGES_EMPTY, "no such", NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each format", each_format },
		{ "both families", both_families },
		{ "how many there are", many },
		{ "names", names },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
