// SPDX-License-Identifier: GPL-2.0-only
/* Every format as text, good and damaged. Files as such are for unit_reader_files.c. */
#include <arpa/inet.h>

#include "ktap.h"
#include "ranges_have.h"
#include "sets/ranges.h"
#include "reader_texts.h"

/* "first-last first-last ...", or "first" for a single address. */
static char *set_text(const struct ranges *set, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	for (size_t i = 0; i < set->n4 + set->n6; i++) {
		size_t k = i - set->n4;
		struct addr lo = i < set->n4 ? (struct addr){ set->v4[i].lo, 4 } : (struct addr){ set->v6[k].lo, 6 };
		struct addr hi = i < set->n4 ? (struct addr){ set->v4[i].hi, 4 } : (struct addr){ set->v6[k].hi, 6 };
		char buf[PREFIX_TEXT_MAX];

		fprintf(out, "%s%s", i ? " " : "", prefix_text(buf, lo, -1));
		if (lo.num != hi.num)
			fprintf(out, "-%s", prefix_text(buf, hi, -1));
	}
	fputc('\0', out);
	fclose(out);
	return text;
}

struct good {
	const char *format, *text, *set;
};

static const struct good good_texts[] = {
	{ "plain", "", "" },
	{ "plain", "# nothing\n\n  \t\n; nothing\n", "" },
	{ "plain", "1.2.3.4", "1.2.3.4" },
	{ "plain",
	  "\xef\xbb\xbf"
	  "1.2.3.4\n",
	  "1.2.3.4" },
	{ "plain", "1.2.3.4\r\n 5.6.7.8 \r\n\t9.9.9.9\t# last\r\n", "1.2.3.4 5.6.7.8 9.9.9.9" },
	{ "plain", "1.2.3.4\n1.2.3.5\n1.2.3.4\n", "1.2.3.4-1.2.3.5" },
	{ "plain", "10.1.2.3/8 # a host in it\n1.4.0.0/17 ; SBL256893\n2.2.2.2#x\n3.3.3.3;x\n",
	  "1.4.0.0-1.4.127.255 2.2.2.2 3.3.3.3 10.0.0.0-10.255.255.255" },
	{ "plain", "255.255.255.255\n0.0.0.0\n", "0.0.0.0 255.255.255.255" },
	{ "plain", "2001:db8::/32\n::ffff:1.2.3.4\n1.2.3.4/32\n",
	  "1.2.3.4 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" },
	{ "plain", "::ffff:1.2.3.4\n::ffff:102:305\n::ffff:0102:0308/126\n::ffff:2.0.0.0/104 # x\n",
	  "1.2.3.4-1.2.3.5 1.2.3.8-1.2.3.11 2.0.0.0-2.255.255.255" },
	{ "plain", "::ffff:0:0/96\n1.2.3.4\n", "1.2.3.4 ::ffff:0.0.0.0-::ffff:255.255.255.255" },
	{ "plain", "::ffff:0:0/96 # x\n1.2.3.4\n", "1.2.3.4 ::ffff:0.0.0.0-::ffff:255.255.255.255" },
	{ "range", "::ffff:1.2.3.4-::ffff:1.2.3.9\n::ffff:2.0.0.1 - ::ffff:2.0.0.1\n::fffe:0:1-::ffff:0:5\n",
	  "1.2.3.4-1.2.3.9 2.0.0.1 ::fffe:0:1-::ffff:0.0.0.5" },
	{ "json", "[\"::ffff:1.2.3.4\", \"::ffff:1.2.4.0/120\"]\n", "1.2.3.4 1.2.4.0-1.2.4.255" },
	{ "netmask", "10.0.0.0/255.0.0.0\n1.2.3.4/255.255.255.255\n1.2.3.0/24\n9.9.9.9\n0.0.0.0/128.0.0.0\n",
	  "0.0.0.0-127.255.255.255" },
	{ "range", "1.2.3.4-1.2.3.9\n2.0.0.1 - 2.0.0.3 # x\n3.0.0.1- 3.0.0.1\n9.9.9.9\n::1-::5\n::7 - ::9\n",
	  "1.2.3.4-1.2.3.9 2.0.0.1-2.0.0.3 3.0.0.1 9.9.9.9 ::1-::5 ::7-::9" },
	{ "mixed", "1.2.3.4-1.2.3.9\n10.0.0.0/255.0.0.0\n", "1.2.3.4-1.2.3.9 10.0.0.0-10.255.255.255" },
	{ "label", "1.2.3.4\t7\n5.6.7.8\t10\n", "1.2.3.4 5.6.7.8" },
	{ "label", "1.2.3.4 some text; more\n1.2.3.0/24 - a dash\n9.9.9.9\n", "1.2.3.0-1.2.3.255 9.9.9.9" },
	{ "label", "::1 one\n::2 two\n", "::1-::2" },
	/* One that packets may come from is enough, whichever path reads it. */
	{ "label", "::1 a\n::1 b\n1.0.0.127\n", "1.0.0.127 ::1" },
	{ "label", "::1 a\n::1 b\n1.0.0.127/32\n", "1.0.0.127 ::1" },
	{ "label", "::1 a\n::1 b\n128.0.0.0/32\n", "128.0.0.0 ::1" },
	{ "label", "::1 a\n::1 b\n0.0.0.1\n", "0.0.0.1 ::1" },
	{ "label", "::1 a\n::1 b\n127.0.0.0/31\n", "127.0.0.0-127.0.0.1 ::1" },
	{ "label", "::1 a\n::1 b\n::/127\n", "::-::1" },
	{ "label", "::1 a\n::1 b\n::2/128\n", "::1-::2" },
	/* Names with a dot are a hosts file's where they are more than half, and where one address stands before them.
	 */
	{ "label", "1.2.3.4 a.example\n1.2.3.5 b.example\n1.2.3.6 one\n1.2.3.7 two\n", "1.2.3.4-1.2.3.7" },
	{ "hosts", "1.2.3.4 a.example\n1.2.3.5 b.example\n1.2.3.6 one\n", "1.2.3.4-1.2.3.6" },
	{ "label", "1.2.3.0/24 a.example\n1.2.5.0/24 b.example\n", "1.2.3.0-1.2.3.255 1.2.5.0-1.2.5.255" },
	/* Labels are taken where more than half of the lines have one. */
	{ "label", "1.2.3.4\n1.2.3.6 one\n1.2.3.7 two\n", "1.2.3.4 1.2.3.6-1.2.3.7" },
	{ "hosts", "::2 a.example\n::3 b.example\n", "::2-::3" },
	{ "hosts", "::2 azAZ09._-.example\n", "::2" },
	{ "hosts", "::1 a.example\n1.0.0.127 b.example\n126.255.255.255 c.example\n", "1.0.0.127 126.255.255.255 ::1" },
	{ "hosts", "1.2.3.4 ads.example www.ads.example # x\n5.6.7.8\tb.example\n::5 c.example\n",
	  "1.2.3.4 5.6.7.8 ::5" },
	{ "hosts", "127.0.0.1 localhost.localdomain localhost\n1.2.3.4 ads.example\n", "1.2.3.4 127.0.0.1" },
	{ "p2p", "Some: name:1.2.3.4-1.2.3.9\n:005.006.007.008-005.006.007.009\n# x\n",
	  "1.2.3.4-1.2.3.9 5.6.7.8-5.6.7.9" },
	{ "p2p", "[Name], Inc 1.2.3.4:1.2.3.4-1.2.3.4\n", "1.2.3.4" },
	{ "dat", "001.002.003.004 - 001.002.003.255 , 000 , name\n1.2.4.0-1.2.4.9\n", "1.2.3.4-1.2.4.9" },
	{ "dat", "001.002.003.004 - 001.002.003.005 , 127 , out\n001.002.004.004 - 001.002.004.255 , 128 , let in\n",
	  "1.2.3.4-1.2.3.5" },
	{ "csv",
	  "# x\n\"first\",\"dst_ip\",\"port\"\n\"2020-01-01 00:00:00\",\"1.2.3.4\",\"443\"\n\"2020\",\"1.2.3.5\",\"\"\n",
	  "1.2.3.4-1.2.3.5" },
	{ "csv", "1.2.3.4,a\n1.2.3.5,\"b, \"\"c\"\"\"\n", "1.2.3.4-1.2.3.5" },
	{ "csv", "a;1.2.3.0/24;b\nb;2001:db8::1;\n", "1.2.3.0-1.2.3.255 2001:db8::1" },
	{ "csv", "name|net\nx|1.2.3.4-1.2.3.9\n", "1.2.3.4-1.2.3.9" },
	{ "csv:2", "1.0.0.0,2.0.0.0,AU\n", "2.0.0.0" },
	{ "json", "[]", "" },
	{ "json", "null\n", "" },
	{ "json", "[\"1.2.3.4\", \"10.0.0.0/8\",\n\"::1\"]\n", "1.2.3.4 10.0.0.0-10.255.255.255 ::1" },
	{ "json",
	  "{\"cidr\":\"1.10.16.0/20\",\"sblid\":\"SBL1\"}\n{\"cidr\":\"::/16\"}\n{\"type\":\"metadata\",\"size\":2}\n",
	  "1.10.16.0-1.10.31.255 ::-0:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	{ "json",
	  "{\"syncToken\":\"1\",\"prefixes\":[{\"ip_prefix\":\"3.5.140.0/22\",\"region\":\"x\"}],"
	  "\"ipv6_prefixes\":[{\"ipv6_prefix\":\"2600::/128\"}]}",
	  "3.5.140.0-3.5.143.255 2600::" },
	{ "json", "[{\"scope\":\"Ip\",\"value\":\"1.2.3.4\"},{\"scope\":\"Range\",\"value\":\"1.2.4.0/24\"}]",
	  "1.2.3.4 1.2.4.0-1.2.4.255" },
	{ "json", "{\"ssh\":[\"a b\"],\"web\":[\"1.2.3.4\"],\"meta\":{\"key\":\"x\",\"value\":\"y\"},\"ip\":null}",
	  "1.2.3.4" },
	{ "json", "{\"prefixes\":[]}", "" },
	{ "json", "\n\n{\n\"ip\": [\"1.2.3.4\"]\n}\n", "1.2.3.4" },
	{ "ipset",
	  "create a hash:net family inet hashsize 1024 maxelem 65536 timeout 0 comment\n"
	  "add a 1.2.3.0/24 timeout 7 comment \"nomatch x\"\nadd a 1.2.4.1\nadd a 1.2.5.1-1.2.5.3 packets 1\n",
	  "1.2.3.0-1.2.3.255 1.2.4.1 1.2.5.1-1.2.5.3" },
	{ "nft",
	  "table inet filter {\n\tset b {\n\t\ttype ipv4_addr\n\t\tflags interval,timeout\n\t\tcomment \"a } b\"\n"
	  "\t\telements = { 1.2.3.4, 10.0.0.0/8 timeout 1h expires 5m,\n\t\t\t     1.2.3.4-1.2.3.9 comment \"x, }\" }\n"
	  "\t}\n\tset c {\n\t\ttype ipv6_addr\n\t\telements = { ::1 }\n\t}\n}\n",
	  "1.2.3.4-1.2.3.9 10.0.0.0-10.255.255.255 ::1" },
	{ "nft", "#!/usr/sbin/nft -f\nadd element inet f b { 1.2.3.4, 1.2.3.5 }\nadd element ip f b { 9.9.9.9 }\n",
	  "1.2.3.4-1.2.3.5 9.9.9.9" },
	{ "nft", "define bad = {\n1.2.3.4,\n1.2.3.5, # x }\n}\n", "1.2.3.4-1.2.3.5" },
	{ "nft", "flush set inet f b\nadd element inet f b { 1.2.3.4 counter packets 1 bytes 2, ::1 }\n",
	  "1.2.3.4 ::1" },
	{ "nft", "{ 1.2.3.4 }", "1.2.3.4" },
};

/* By content and by name; the report says which format it was. */
static void good(void)
{
	for (size_t i = 0; i < sizeof(good_texts) / sizeof(*good_texts); i++) {
		const struct good *text = &good_texts[i];

		for (int named = 0; named < 2; named++) {
			struct ranges set;
			char found[1024];
			int err;

			if (!named && strchr(text->format, ':'))
				continue;
			strcpy(error, "of another file");
			err = read_text(text->text, strlen(text->text), named ? text->format : NULL, false, &set);
			if (!CHECK(!err && !*error, "%s", error) ||
			    !CHECK(!strncmp(report.format, text->format, strlen(report.format)), "%s is read as %s",
				   text->format, report.format) ||
			    !CHECK(!strcmp(set_text(&set, found, sizeof(found)), text->set), "%s '%s' gives %s",
				   text->format, text->text, found)) {
				ranges_free(&set);
				return;
			}
			ranges_free(&set);
		}
	}
}

static const struct {
	const char *format, *text, *error; /* the end of the message, behind the name of the file */
} bad_texts[] = {
	{ NULL, "10.0.0.0/33", ":1: '10.0.0.0/33': prefix length must be 0 to 32" },
	{ NULL, "1.2.3.4\n# x\n 1.2.3.04 \n", ":3: '1.2.3.04': an address has no leading zeros (octal?)" },
	{ NULL, "1.2.3.4\n1.2.3.4\n1.2.3.4 5.6.7.8\n", ":3: '1.2.3.4 5.6.7.8': there is text behind the address" },
	{ NULL, "1.2.3.4 x\n1.2.3.4 y\n1.2.3.4 5.6.7.8\n", ":3: '1.2.3.4 5.6.7.8': there is a second address" },
	{ NULL, "ads.example\nb.example\n", ":1: 'ads.example': expected an address" },
	{ NULL, "0.0.0.0 ads.example\n0.0.0.0 b.example\n", ": every address is 0.0.0.0" },
	{ NULL, "127.0.0.1 ads.example\n", ": every address is 0.0.0.0" },
	{ NULL, "127.9.8.7 a.example\n::1 b.example\n:: c.example\n0.0.0.0 d.example\n", ": every address is 0.0.0.0" },
	{ NULL, "::1 a.example\n", ": every address is 0.0.0.0" },
	/* By the fast path, too, in all its ways. */
	{ "label", "127.0.0.1 a\n127.0.0.2/32\n", ": every address is 0.0.0.0" },
	{ "label", "127.0.0.1 a\n127.0.0.2\n127.255.255.255/32\n0.0.0.0/32\n0.0.0.0\n::\n::1\n::/128\n::1/128\n",
	  ": every address is 0.0.0.0" },
	{ NULL, ":: a.example\n", ": every address is 0.0.0.0" },
	{ NULL, "1.2.3.4\n1.2.3.5\n1.2.3.6 one\n1.2.3.7 two\n", ":3: '1.2.3.6 one': there is text behind" },
	{ NULL, "fe80::1%lo0\n", ":1: 'fe80::1%lo0': an address in a list has no zone id" },
	{ NULL, "1.2.3.4/0.0.0.255\n", ":1: '1.2.3.4/0.0.0.255': a netmask is" },
	{ NULL, "::1/255.0.0.0\n", ":1: '::1/255.0.0.0': only an IPv4 address" },
	{ NULL, "1.2.3.9-1.2.3.4\n", ":1: '1.2.3.9-1.2.3.4': a range begins at its lower" },
	{ NULL, "1.2.3.9-::\n", ":1: '1.2.3.9-::': a range begins and ends in the same" },
	{ NULL, "1.2.3.4\n1.2.3.4-1.2.3.400\n", ":2: '1.2.3.4-1.2.3.400': a part of" },
	{ NULL, "1.2.3.4\n1.2.3.4 - 1.2.3.400\n", ":2: '1.2.3.4 - 1.2.3.400': a part of" },
	{ NULL, "001.002.003.004\n", ":1: '001.002.003.004': an address has no leading zeros" },
	{ NULL, "\x01\xffx\n", ":1: '\\x01\\xffx': expected an address" },
	{ NULL, "x:1.2.3.4-1.2.3.5\nx:1.2.3.4-1.2.3.5\nx:1.2.3.4\n", ":3: 'x:1.2.3.4': there is no second" },
	{ NULL, "start,end\n1.0.0.0,1.0.0.255\n", ":1: 'start,end': more than one column" },
	{ NULL, "a,1.2.3.4\nb,1.2.3.4\nc,1.2.3.x\n", ":3: 'c,1.2.3.x': not an IPv4" },
	{ NULL, "a,1.2.3.4\nb,1.2.3.4\n\"c,1.2.3.4\n", ":3: '\"c,1.2.3.4': a quote is not closed" },
	{ NULL, "a,1.2.3.4\nb,1.2.3.4\nc\n", ":3: 'c': the line has too few columns" },
	{ NULL, "[\"1.2.3.4\",\n\"1.2.3\"]", ":2: '1.2.3': an IPv4 address has four parts" },
	{ NULL, "[\"1.2.3.4\",\n\"1.2.3.4\"", ": expected , or ]" },
	{ NULL, "[\"1.2.3.4\",\n x]", ": not JSON" },
	{ NULL, "[\"1.2.3.4\" \"1.2.3.4\"]", ": expected , or ]" },
	{ NULL, "{\"ip\":7}", ": expected a string with an address" },
	{ NULL, "{\"ip\":\"1.2.3.4\",\"ip\":\"1.2.3.5\"}", ": not JSON: duplicate" },
	{ NULL, "{\"foo\":\"bar\"}", ": no address in this JSON" },
	{ NULL, "[{\"scope\":\"Country\",\"value\":\"CN\"}]", ":1: 'Country': a decision of this scope" },
	{ "ipset", "create a hash:ip,port family inet\n", ":1: 'create a hash:ip,port family inet': only sets" },
	{ "ipset", "create a hash:ip family inet netmask 24\n", ": a set with a netmask of its own" },
	{ NULL, "create a hash:net family inet\nadd a 1.2.3.4 nomatch\n", ": an exception (nomatch)" },
	{ NULL, "add element inet f b { 1.2.3.4 1.2.3.5 }\n", ":1: '1.2.3.4': expected a comma" },
	{ NULL, "add element inet f b { 1.2.3.4,\n1.2.3.5\n", ": the elements have no closing }" },
	{ NULL, "add element inet f b { 1.2.3.4 . 80 }\n", ":1: '1.2.3.4': expected a comma" },
	{ NULL, "table inet f {\nchain c {\n", ":2: 'chain': expected sets of addresses" },
	{ NULL, "table inet f {\nset c {\n", ": a block has no closing }" },
	{ "nft", "add element inet f b { 1.2.3.4, \"a\n", ": a quote is not closed on the line" },
	{ "nft", "add element inet f b { 1.2.3.4 = 5 }\n", ": expected a comma or } behind an element" },
	{ "nft", "add element inet f b { 1.2.3.4 { 5 }\n", ": expected a comma or } behind an element" },
	{ "nft", "add element inet f b { 1.2.3.4; 5 }\n", ": expected a comma or } behind an element" },
	{ "nft", "add element inet f b { = }\n", ": expected an address" },
	{ "nft", "add element inet f b { { }\n", ": expected an address" },
	{ "nft", "add element inet f b { ; }\n", ": expected an address" },
	{ "nft", "add element inet f b {", ": the elements have no closing }" },
	{ "nft", "add element inet f b { 1.2.3.4", ": the elements have no closing }" },
	{ "nft", "add element inet f b { 1.2.3.4 comment 1.2.3.5 }\n",
	  ":1: '1.2.3.4': a comma is missing behind the address" },
	{ "nft", "add element inet f b { 1.2.3.4 counter ::1 }\n", ":1: '1.2.3.4': a comma is missing" },
	{ "nft", "flush set inet f b { 1.2.3.4 }\n", ": this has no elements that are addresses" },
	{ "nft", "table inet f {\n}\n}\n", ":3: '}': this } closes nothing" },
	{ "nft", "add element inet f b\n{ 1.2.3.4 }\n", ": expected { and addresses behind this word" },
	{ "nft", "add element inet f b; { 1.2.3.4 }\n", ": expected { and addresses behind this word" },
	{ "ipset", "add\n", ": there is no name of a set" },
	{ "ipset", "create\n", ": there is no name of a set" },
	{ "plain", "1.2.3.4-1.2.3.9\n", ": this is an entry of another format" },
	{ "plain", "1.2.3.4/255.0.0.0\n", ": this is an entry of another format" },
	{ "range", "1.2.3.4/255.0.0.0\n", ": this is an entry of another format" },
	{ "plain", "1.2.3.4 7\n", ": there is text behind the address" },
	{ "label", "1.2.3.4,7\n", ": there is no blank between" },
	{ "hosts", "1.2.3.4\n", ": there is no host name" },
	{ "hosts", "1.2.3.4 a@b\n", ": that is no host name" },
	{ "hosts", "1.2.3.4 a[b\n", ": that is no host name" },
	{ "hosts", "1.2.3.4 a`b\n", ": that is no host name" },
	{ "hosts", "1.2.3.4 a{b\n", ": that is no host name" },
	{ "hosts", "1.2.3.4 a/b\n", ": that is no host name" },
	{ "hosts", "1.2.3.4 a:b\n", ": that is no host name" },
	{ "hosts", "1.2.3.0/24 x.example\n", ": a line of a hosts file begins with one address" },
	{ "p2p", "1.2.3.4\n", ": expected name:first-last" },
	{ "dat", "001.002.003.004 - 001.002.003.005 , 256 , x\n", ": expected an access level" },
	{ "dat", "001.002.003.004 - 001.002.003.005 , x , x\n", ": expected an access level" },
	{ "dat", "001.002.003.004 - 001.002.003.005 , -1 , x\n", ": expected an access level" },
	{ "ipset", "1.2.3.4\n", ": expected what 'ipset save' prints" },
	{ "csv", "foo\n", ": no column holds an address" },
	{ "csv:0", "1.2.3.4\n", ": the column in --format csv:N" },
	{ "csv:", "1.2.3.4\n", ": the column in --format csv:N" },
	{ "csv:1x", "1.2.3.4\n", ": the column in --format csv:N" },
	{ "csv:65", "1.2.3.4\n", ": the column in --format csv:N" },
	{ "csv:64", "1.2.3.4\n", ":1: '1.2.3.4': the line has too few columns" },
	{ "csv:9", "a,b,c,d,e,f,g,h,1.2.3.4\nx\n", ":2: 'x': the line has too few columns" },
	{ "csv:10", "a,b,c,d,e,f,g,h,i,1.2.3.4\nx\n", ":2: 'x': the line has too few columns" },
	{ "json", "1.2.3.4\n", ": not JSON" },
	{ "json", "{ \xc3\xa9\x7f }\n",
	  "near '?"
	  "?'" },
	{ "hosts", "1.2.3.4 a.example \tb!d.example\n", "that is no host name behind the address" },
	{ "nft", "1.2.3.4\n", ":1: '1.2.3.4': expected sets of addresses" },
	{ "nft",
	  "flush set inet f aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
	  "a word of more than 128 bytes" },
	{ "foo", "1.2.3.4\n", ": there is no format 'foo'" },
};

static void bad(void)
{
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++) {
		const char *text = bad_texts[i].text, *wanted = bad_texts[i].error;
		struct ranges set;
		int err = read_text(text, strlen(text), bad_texts[i].format, false, &set);

		if (!CHECK(err < 0 && strstr(error, wanted) && !strncmp(error, path, strlen(path)), "'%s': %d, '%s'",
			   text, err, err ? error : "accepted") ||
		    !CHECK(!set.n4 && !set.n6 && !set.hosts, "something is left in the set"))
			return;
	}
}

/* Behind a byte that is in no text nothing is believed, in whichever format. */
static void nul_bytes(void)
{
	static const struct {
		const char *format, *before;
	} texts[] = {
		{ "nft", "table inet f {\nset s {\nelements = { 1.2.3.4" },
		{ "plain", "1.2.3.4\n" },
		{ NULL, "" },
		{ NULL, "x" },
		{ NULL, "1.2.3.4\nx" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct ranges set;
		size_t n = strlen(texts[i].before);
		char text[100] = "";

		memcpy(text, texts[i].before, n);
		memcpy(text + n, "\0 }}}\n", 7);
		CHECK(read_text(text, n + 7, texts[i].format, false, &set) < 0 && strstr(error, "NUL byte"), "%zu: %s",
		      i, error);
	}
}

/* One value is held whole, up to a bound. */
static void large_values(void)
{
	const size_t most = (size_t)32 << 20;

	for (int more = 0; more < 2; more++) {
		size_t n = most + (more ? 100 : -100);
		char *text = malloc(n + 16);
		struct ranges set;
		int err;

		if (!CHECK(text, "no memory"))
			return;
		memset(text, ' ', n);
		memcpy(text, "{\"ip\":\"1.2.3.4\"", 15);
		text[n - 1] = '}';
		err = read_text(text, n, "json", false, &set);
		CHECK(more ? err < 0 && strstr(error, "one JSON value is larger than 32 MiB") : !err, "%zu bytes: %s",
		      n, err ? error : "taken");
		if (!err)
			ranges_free(&set);
		free(text);
	}
}

/* No format takes what is another one's: every good sample under every other name is refused or means the same. */
static void not_another(void)
{
	for (size_t i = 0; i < sizeof(good_texts) / sizeof(*good_texts); i++) {
		for (const char *const *format = reader_formats(); *format; format++) {
			const char *text = good_texts[i].text;
			struct ranges set;
			char found[1024];

			if (read_text(text, strlen(text), *format, false, &set))
				continue;
			set_text(&set, found, sizeof(found));
			ranges_free(&set);
			if (!CHECK(!strcmp(found, good_texts[i].set), "'%s' read as %s gives '%s'", text, *format,
				   found))
				return;
		}
	}
}

static void counts(void)
{
	static const char text[] = "# x\n1.2.3.4\n1.2.3.4\n1.2.3.5\n1.2.3.0/24\n1.2.3.0/24\n1.2.4.0/24\n\n::1\n::1\n";
	struct ranges set;

	if (!CHECK(!read_text(text, strlen(text), NULL, false, &set), "%s", error))
		return;
	CHECK(report.lines == 10, "%" PRIu64 " lines", report.lines);
	CHECK(report.entries == 8, "%" PRIu64 " entries", report.entries);
	CHECK(report.duplicates == 3, "%" PRIu64 " duplicates", report.duplicates);
	CHECK(report.merged == 3, "%" PRIu64 " merged", report.merged);
	ranges_free(&set);
}

static void skip_bad(void)
{
	char text[8192] = "";
	struct ranges set;

	for (int i = 0; i < 100; i++)
		sprintf(text + strlen(text), i % 5 ? "10.0.%d.1\n" : "10.0.%d.256\n", i);
	CHECK(read_text(text, strlen(text), NULL, false, &set) < 0, "damaged lines were taken");
	if (!CHECK(!read_text(text, strlen(text), NULL, true, &set), "%s", error))
		return;
	CHECK(report.bad == 20 && ranges_count4(&set) == 80, "%" PRIu64 " bad", report.bad);
	CHECK(strstr(report.bad_text[9], ":46: '10.0.45.256': a part"), "%s", report.bad_text[9]);
	ranges_free(&set);
	strcpy(text, "{\"ip\":\"1.2.3.4\"}\n{\"ip\" \"x\"}\n{\"ip\":\"1.2.3.5\"}\n{\"ip\":\"1.2.3.600\"}\n");
	if (!CHECK(!read_text(text, strlen(text), NULL, true, &set), "%s", error))
		return;
	CHECK(report.bad == 2 && report.lines == 4 && ranges_count4(&set) == 2, "%" PRIu64 " bad", report.bad);
	ranges_free(&set);
	strcpy(text, "{ 1.2.3.4, 1.2.3.400, 1.2.3.5 }\n");
	if (!CHECK(!read_text(text, strlen(text), NULL, true, &set), "%s", error))
		return;
	CHECK(report.bad == 1 && ranges_count4(&set) == 2, "%" PRIu64 " bad", report.bad);
	ranges_free(&set);
}

/* Longer than a value may be, and the first line is damaged: that is no reason to keep the others in memory. */
static void damaged_before_much(void)
{
	size_t lines = 36000, size = 0;
	char *text = malloc(lines * 1024);
	struct ranges set;

	if (!text)
		return ktap_skip("no memory");
	for (size_t i = 0; i < lines; i++)
		size += (size_t)sprintf(text + size, "{\"cidr\":%s\"10.0.%zu.%zu\",\"x\":\"%0960d\"}\n",
					i == 1 ? "," : "", i >> 8, i & 255, 0);
	CHECK(size > 33u << 20, "%zu bytes are too few", size);
	CHECK(read_text(text, size, NULL, false, &set) < 0 && strstr(error, ":2: '{\"cidr\":,"), "%s", error);
	if (CHECK(!read_text(text, size, NULL, true, &set), "%s", error))
		CHECK(report.bad == 1 && ranges_count4(&set) == lines - 1, "%" PRIu64 " bad", report.bad);
	ranges_free(&set);
	free(text);
}

struct expected_line {
	uint64_t entries, wrong;
};

static int check_line(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	struct expected_line *e = arg;

	(void)family, (void)hi;
	/* The first line is the brace; then two lines an entry. */
	e->wrong += line != 2 + 2 * (uint64_t)(lo & 0xffff) || e->entries != (lo & 0xffff);
	e->entries++;
	return 0;
}

/* Where each string of one large value stands, also where its slash is written as PHP does. */
static void json_line_numbers(void)
{
	struct expected_line e = { 0 };
	struct reader_options options = { .each = check_line, .arg = &e };
	struct ranges set = RANGES_EMPTY;
	size_t entries = 3000, size = 0;
	char *text = malloc(entries * 64);

	if (!text)
		return ktap_skip("no memory");
	size += (size_t)sprintf(text, "{\"ip\":[\n");
	for (size_t i = 0; i < entries; i++)
		size += (size_t)sprintf(text + size, "%s\"10.0.%zu.%zu%s\"\n", i ? ",\n" : "", i >> 8, i & 255,
					i % 3 ? "\\/32" : "");
	size += (size_t)sprintf(text + size, "]}\n");
	/* It keeps none, and says so. */
	if (CHECK(write_file(text, size), "cannot write %s", path))
		reader_read(path, &options, &set, &report, error);
	CHECK(e.entries == entries && !e.wrong, "%" PRIu64 " entries, %" PRIu64 " on a wrong line", e.entries, e.wrong);
	free(text);
}

/* What must not be repeated is not, but for where it stands. */
static void hidden(void)
{
	static const char *const texts[] = { "root:secret\n", "{\"secret\"\n", "add a secret\n",
					     "1.2.3.4\nsecret,1\n" };
	struct reader_options options = { .hidden = true };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct ranges set = RANGES_EMPTY;

		options.skip_bad = i == 3;
		write_file(texts[i], strlen(texts[i]));
		CHECK((reader_read(path, &options, &set, &report, error) < 0) == !options.skip_bad, "'%s' is taken",
		      texts[i]);
		CHECK(!strstr(error, "secret") && (options.skip_bad || strstr(error, "/list:")), "%s", error);
		CHECK(!options.skip_bad || (report.bad == 1 && !strstr(report.bad_text[0], "secret")), "%s",
		      report.bad_text[0]);
		ranges_free(&set);
	}
}

/* The fast path and the careful one agree, and with inet_pton(); lines lie across the edges of the window. */
static void like_inet_pton(void)
{
	static const char letters[] = "01234567890123456789..x/ #\n";
	size_t lines = 200000, size = 0, good_lines = 0;
	char *text = malloc(lines * 20);
	struct ranges set, one = RANGES_EMPTY, missing, extra;

	if (!text)
		return ktap_skip("no memory");
	while (lines--) {
		uint32_t random = (uint32_t)ktap_random() & (ktap_random() % 4 ? UINT32_MAX : 0x7f0f3f07);
		char *line = text + size, *end;
		struct in_addr in = { htonl(random) };

		inet_ntop(AF_INET, &in, line, INET_ADDRSTRLEN);
		if (!(ktap_random() % 50))
			line[ktap_random() % strlen(line)] = letters[ktap_random() % (sizeof(letters) - 1)];
		size += strlen(line);
		text[size++] = '\n';
		/* As the reader must see it: without a comment, and without what may be a prefix. */
		for (char *p = line; p < text + size; p = end + 1) {
			char copy[32] = "", *trimmed = copy;

			end = memchr(p, '\n', (size_t)(text + size - p));
			memcpy(copy, p, (size_t)(end - p));
			copy[strcspn(copy, "#")] = '\0';
			trimmed += strspn(copy, " ");
			trimmed[strcspn(trimmed, " ")] = strchr(trimmed, ' ') && strchr(trimmed, ' ')[1] ? 'x' : '\0';
			if (strchr(trimmed, '/')) {
				struct addr first;
				unsigned int length;

				if (!prefix_parse(trimmed, strlen(trimmed), &first, &length)) {
					ranges_add_prefix(&one, first, length);
					good_lines++;
				}
			} else if (inet_pton(AF_INET, trimmed, &in) == 1) {
				ranges_add_host(&one, ntohl(in.s_addr));
				good_lines++;
			}
		}
	}
	ranges_finish(&one);
	if (CHECK(!read_text(text, size - 1, "plain", true, &set), "%s", error)) {
		ranges_subtract(&missing, &one, &set);
		ranges_subtract(&extra, &set, &one);
		CHECK(report.entries == good_lines, "%" PRIu64 " entries of %zu", report.entries, good_lines);
		CHECK(!missing.n4, "%" PRIu64 " addresses are missing", ranges_count4(&missing));
		CHECK(!extra.n4, "%" PRIu64 " addresses are too many", ranges_count4(&extra));
		ranges_free(&missing);
		ranges_free(&extra);
	}
	ranges_free(&one);
	ranges_free(&set);
	free(text);
}

/* Every string of one to four digits, as each part of an address, and of one to three as a length. */
static void each_number(void)
{
	static const char *const lines[] = { "%.*s.0.99.255\n",	    "7.%.*s.0.100\n", "255.9.%.*s.10\n",
					     "100.255.0.%.*s\n",    "0.0.0.0/%.*s\n", "::/%.*s\n",
					     "1.2.3.4-1.2.3.%.*s\n" };
	static const unsigned int most[] = { 255, 255, 255, 255, 32, 128, 255 }, least[] = { 0, 0, 0, 0, 0, 0, 4 };

	for (size_t l = 0; l < sizeof(lines) / sizeof(*lines); l++) {
		char *text = malloc(12000 * 24);
		size_t size = 0, n = 0, good = most[l] - least[l] + 1;
		struct ranges set;

		if (!text)
			return ktap_skip("no memory");
		for (int digits = 1; digits <= (l == 4 || l == 5 ? 3 : 4); digits++) {
			for (int number = 0; number < (digits == 1   ? 10
						       : digits == 2 ? 100
						       : digits == 3 ? 1000
								     : 10000);
			     number++, n++) {
				char word[8];

				snprintf(word, sizeof(word), "%0*d", digits, number);
				size += (size_t)sprintf(text + size, lines[l], digits, word);
			}
		}
		if (CHECK(!read_text(text, size, l == 6 ? "range" : "plain", true, &set), "%s", error)) {
			CHECK(report.entries == good && report.bad == n - good, "of %s %" PRIu64 " are good", lines[l],
			      report.entries);
			CHECK(l > 3 || ranges_count4(&set) == 256, "of %s there are %" PRIu64, lines[l],
			      ranges_count4(&set));
			for (unsigned int i = 0; i < 256 && l < 4; i++) {
				char line[24], number[8];
				struct addr is;

				snprintf(number, sizeof(number), "%u", i);
				sprintf(line, lines[l], 3, number);
				CHECK(!addr_parse(line, strlen(line) - 1, &is) && ranges_have(&set, is), "no %s", line);
			}
		}
		ranges_free(&set);
		free(text);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "good", good },
		{ "bad", bad },
		{ "NUL bytes", nul_bytes },
		{ "large values", large_values },
		{ "not_another", not_another },
		{ "counts", counts },
		{ "skip_bad", skip_bad },
		{ "like_inet_pton", like_inet_pton },
		{ "each_number", each_number },
		{ "damaged_before_much", damaged_before_much },
		{ "json_line_numbers", json_line_numbers },
		{ "hidden", hidden },
	};

	return reader_texts_run(cases, sizeof(cases) / sizeof(*cases));
}
