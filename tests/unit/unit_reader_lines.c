// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of lines, and of sets of nftables: what is taken of a line at the bounds of what each format has in one, which
 * format a text is taken for, and what is said of what fits none; word for word.
 */
#include "reader_shown.h"

static const struct shown known[] = {
#include "unit_reader_lines.txt"
};

static struct shows shows = { .file = "tests/unit/unit_reader_lines.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void addresses(void)
{
	OF("plain", "", "0.0.0.0", "255.255.255.255", "256.1.1.1", "1.256.1.1", "1.1.1.256", "1.1.1.1000",
	   "1.1.1.10000", "1.1.1", "1.1.1.", "1.1.1.1.", "1.1.1.1.1", ".1.1.1", "1..1.1", "1.1.1.1x", "x1.1.1.1",
	   "1.1.1.x", "1,1.1.1", "01.1.1.1", "1.1.1.00", "1.1.1.0", "-1.1.1.1", "+1.1.1.1", "1.1.1.1 ", "\t1.1.1.1",
	   "\v1.1.1.1\f", "1 .1.1.1", "1:1.1.1", "12345:1", "a.b.c.d", "1.1.1.1\r", "1.1.1.1\r\r");
	OF("plain", "", "::", "::1", "1::", "1::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
	   "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4:5:6:7::8", "1:2:3:4::5:6:7:8", "1::2::3",
	   ":::", ":1", "1:", "1::1:", "::12345", "::g", "::fFfF", "::10000", "::1.2.3.4", "::ffff:1.2.3.4",
	   "::ffff:1.2.3.256", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "64:ff9b::1.2.3.4", "::1%eth0",
	   "0000:0000:0000:0000:0000:ffff:0102:0304", "00000:0000:0000:0000:0000:ffff:0102:0304", "::fffe:ffff:ffff",
	   "::1:0:0", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
	   "ffff:ffff:ffff:ffff:ffff:ffff:0255.255.255.255");
}

static void prefixes(void)
{
	OF("plain", "", "1.2.3.4/0", "0.0.0.0/0", "1.2.3.4/1", "128.0.0.0/1", "1.2.3.4/31", "1.2.3.4/32", "1.2.3.4/33",
	   "1.2.3.4/", "1.2.3.4/01", "1.2.3.4/00", "1.2.3.4/320", "1.2.3.4/1000", "1.2.3.4/x", "1.2.3.4/-1",
	   "1.2.3.4/3x", "1.2.3.4//1", "1.2.3.5/31", "::/0", "::1/127", "::1/128", "::1/129", "::1/1280", "::/01",
	   "::ffff:1.2.3.4/96", "::ffff:1.2.3.4/97", "::ffff:1.2.3.4/95", "::ffff:0:0/96", "::ffff:1.2.3.4/128",
	   "::ffff:1.2.3.4/127", "2001:db8::/32", "2001:db8::1/32", "/8", "1.2.3.4/8 # x", "1.2.3.4/8#x", "1.2.3.4/8;x",
	   "1.2.3.4/8 x");
	OF("netmask", "", "1.2.3.4/255.255.255.255", "1.2.3.4/0.0.0.0", "1.2.3.4/128.0.0.0", "1.2.3.4/255.255.255.254",
	   "1.2.3.4/255.255.255.253", "1.2.3.4/255.0.255.0", "1.2.3.4/0.255.255.255", "1.2.3.0/255.255.255.0",
	   "1.2.3.1/255.255.255.0", "::1/255.0.0.0", "1.2.3.4/::1.2.3.4", "1.2.3.4/1.2", "1.2.3/255.0.0.0", "1.2.3.4/.",
	   "1.2.3.4-1.2.3.5", "1.2.3.4/24");
	OF("range", "", "1.2.3.4-1.2.3.4", "1.2.3.4-1.2.3.5", "1.2.3.5-1.2.3.4", "1.2.3.4 - 1.2.3.5",
	   "1.2.3.4- 1.2.3.5", "1.2.3.4 -1.2.3.5", "1.2.3.4-", "1.2.3.4 -", "-1.2.3.4", "1.2.3.4-1.2.3",
	   "1.2.3.4 - 1.2.3", "1.2.3.4 - x", "1.2.3.4-x", "1.2.3.4 - 5", "1.2.3.4 - 5:", "1.2.3.4 - 5.",
	   "1.2.3.4 - 9.9.9", "1.2.3.4 - 0.", "1.2.3.4-::1", "::1-1.2.3.4", "::1-::2", "::2-::1",
	   "::ffff:1.2.3.4-::ffff:1.2.3.9", "::ffff:1.2.3.4-::1:0:0", "::fffe:ffff:ffff-::ffff:0:1",
	   "1.2.3.4/24-1.2.3.9", "1.2.3.4-1.2.3.9/32", "1.2.3.4-1.2.3.9 # x", "1.2.3.4-1.2.3.9#x", "1.2.3.4-1.2.3.9 x",
	   "1.2.3.4--1.2.3.9", "1.2.3.4-1.2.3.9-1.2.3.10", "0.0.0.0-255.255.255.255",
	   "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	OF("mixed", "", "1.2.3.4\n", "1.2.3.0/24\n", "1.2.3.4-1.2.3.9\n", "1.2.3.0/255.255.255.0\n",
	   "1.2.3.4-1.2.3.9\n1.2.4.0/255.255.255.0\n", "1.2.3.4\n1.2.4.0/255.255.255.0\n",
	   "1.2.3.4\n1.2.4.0-1.2.4.5\n");
}

/* What is only an address goes another way than what has more on its line. */
static void fast_or_not(void)
{
	OF("plain", "", "1.2.3.4\n1.2.3.5\n", "1.2.3.4\n1.2.3.5", "\n\n1.2.3.4\n\n1.2.3.5\n\n",
	   "1.2.3.4\n 1.2.3.5\n1.2.3.6\n", "1.2.3.4/32\n1.2.3.4/31\n1.2.3.5/31\n", "1.2.3.4\n1.2.3.256\n1.2.3.6\n",
	   "1.2.3.4\n1.2.3.04\n1.2.3.6\n", "1.2.3.4\n1.2.3.4/33\n1.2.3.6\n", "1.2.3.4\n1.2.3.4/024\n1.2.3.6\n",
	   "1.2.3.4\n1.2.3.0/24\n1.2.3.6/0\n", "10.20.30.40\n99.100.199.200\n249.250.255.9\n",
	   "1.2.3.4\n1234.1.1.1\n5.6.7.8\n", "1.2.3.4\n1.2.3.4.5\n5.6.7.8\n", "1.2.3.4\n1.2.3\n5.6.7.8\n",
	   "1.2.3.4\n1.2.3.\n5.6.7.8\n", "1.2.3.4\n...\n5.6.7.8\n", "1.2.3.4\n1.2.3.4/\n5.6.7.8\n",
	   "1.2.3.4\n1.2.3:4\n5.6.7.8\n", "1.2.3.4\n1/2.3.4\n5.6.7.8\n", "1.2.3.4\n100.200.100.2001\n5.6.7.8\n",
	   "::1\n::2/128\n::4/127\n::5/127\n", "::1\n::2/129\n::3\n", "::1\n::2/0128\n::3\n", "::1\n::2/\n::3\n",
	   "::1\n::2x\n::3\n",
	   "::1\n::ffff:1.2.3.4\n::ffff:102:305\n::ffff:102:306/128\n::ffff:0:0/96\n::ffff:0:0/97\n", "::1\n::3",
	   "1.2.3.4\n1.2.3.4 # x\n1.2.3.5\n", "1.2.3.4\r\n1.2.3.5\r\n", "1.2.3.4\n\r\n1.2.3.5\n",
	   "1.2.3.4\n# x\n;x\n1.2.3.5");
	OF("label", "", "0.0.0.0\n", "127.0.0.1\n", "127.0.0.1/32\n", "128.0.0.0\n", "126.0.0.1\n", "::\n", "::1\n",
	   "::2\n", "::1/128\n", "0.0.0.0/31\n", "::/127\n", "0.0.0.0/32\n1.2.3.4\n", "0.0.0.1\n", "127.0.0.1 x\n",
	   "128.0.0.1 x\n", ":: x\n", "::1 x\n", "::2 x\n", "0.0.0.0 x\n", "127.0.0.0-127.0.0.0 x\n",
	   "127.0.0.0-127.0.0.1 x\n");
}

static void labels(void)
{
	OF("label", "", "1.2.3.4 x", "1.2.3.4  x y", "1.2.3.4\tx", "1.2.3.4", "1.2.3.4x", "1.2.3.4 ,x", "1.2.3.4,x",
	   "1.2.3.4 #x", "1.2.3.4;x", "1.2.3.4 5.6.7.8", "1.2.3.4 x 5.6.7.8", "1.2.3.4 ::1 x", "1.2.3.4 5.6.7.8x",
	   "1.2.3.0/24 x", "1.2.3.4-1.2.3.5 x", "1.2.3.4 - x", "1.2.3.4 -x", "1.2.3.4-x", " 1.2.3.4 x", "x 1.2.3.4",
	   "1.2.3.4 1.2.3.0/24", "1.2.3.4 7");
	OF("label", "", "1.2.3.4 x\n \t \n1.2.3.5 y\n", " ", "\t\n1.2.3.4 x", "1.2.3.4 x\n\r\n");
	OF("hosts", "", "1.2.3.4 a.b", "1.2.3.4 a", "1.2.3.4", "1.2.3.4 #a", "1.2.3.4 a b c", "1.2.3.4 a #b",
	   "1.2.3.4 a !", "1.2.3.4 a;b", "1.2.3.4 @", "1.2.3.4 Z", "1.2.3.4 [", "1.2.3.4 `", "1.2.3.4 {", "1.2.3.4 0",
	   "1.2.3.4 9", "1.2.3.4 /", "1.2.3.4 :", "1.2.3.4 _", "1.2.3.4 -", "1.2.3.4 .", "1.2.3.0/24 a", "1.2.3.4/32 a",
	   "1.2.3.4-1.2.3.4 a", "1.2.3.4 5.6.7.8");
}

static void padded(void)
{
	OF("p2p", "", "x:1.2.3.4-1.2.3.5", ":1.2.3.4-1.2.3.5", "1.2.3.4-1.2.3.5", "a:b:1.2.3.4-1.2.3.5",
	   "a:b:c 1:1.2.3.4-1.2.3.5", "x:001.002.003.004-001.002.003.005", "x:1.2.3.4 - 1.2.3.5", "x: 1.2.3.4-1.2.3.5 ",
	   "x:1.2.3.4-1.2.3.5 y", "x:1.2.3.4", "x:1.2.3.4-", "x:1.2.3.4-1.2.3", "x:1.2.3.5-1.2.3.4",
	   "x:1.2.3.4-1.2.3.256", "x:0001.2.3.4-1.2.3.5", "x:", "x:y", "::1", "x:1.2.3.4_1.2.3.5", "x 1.2.3.4-1.2.3.5",
	   "x::1-::2", "abc:1.2.3.4-1.2.3.5", "ab:cd:1.2.3.4-1.2.3.5", "ab:cg:1.2.3.4-1.2.3.5");
	OF("dat", "", "1.2.3.4 - 1.2.3.5 , 0 , x", "001.002.003.004 - 001.002.003.005 , 000 , x", "1.2.3.4-1.2.3.5",
	   "1.2.3.4-1.2.3.5,127", "1.2.3.4-1.2.3.5,128", "1.2.3.4-1.2.3.5,255", "1.2.3.4-1.2.3.5,256",
	   "1.2.3.4-1.2.3.5,2550", "1.2.3.4-1.2.3.5,", "1.2.3.4-1.2.3.5,x", "1.2.3.4-1.2.3.5,1x", "1.2.3.4-1.2.3.5,1 x",
	   "1.2.3.4-1.2.3.5,1 ,", "1.2.3.4-1.2.3.5 x", "1.2.3.4-1.2.3.5;1", "1.2.3.4-1.2.3.5,/",
	   "1.2.3.4-1.2.3.5,:", "1.2.3.4-1.2.3.5,99999999999,x", "1.2.3.4,1", "1.2.3.4 - 1.2.3.5 ,  9  , x");
}

static void ipset(void)
{
	OF("ipset", "", "add x 1.2.3.4", "add x 1.2.3.0/24", "add x 1.2.3.4-1.2.3.9", "add x 1.2.3.4 timeout 5",
	   "add x 1.2.3.4 nomatch", "add x 1.2.3.4 comment \"nomatch\"", "add x 1.2.3.4 comment nomatch",
	   "add x 1.2.3.4 commentx nomatch", "add x rubbish", "add x", "add", "addx y 1.2.3.4", " add  x\t1.2.3.4 ",
	   "ADD x 1.2.3.4", "COMMIT", " COMMIT ", "COMMIT x", "commit", "create x hash:ip",
	   "create x hash:net family inet", "create x bitmap:ip range 1.2.3.0/24", "create x hash:ip,port",
	   "create x hash:mac", "create x", "create", "create x hash:ip netmask 24", "create x hash:ip netmask 32",
	   "create x hash:ip netmask 128", "create x hash:ip netmask 320", "create x hash:ip netmask",
	   "create x hash:ip comment netmask 24", "create x hash:ip netmaskx 24", "flush x", "1.2.3.4");
}

static void columns_of_csv(void)
{
	OF(NULL, "", "a,1.2.3.4\nb,1.2.3.5\n", "1.2.3.4,a\n1.2.3.5,b\n", "a;1.2.3.4\n", "a\t1.2.3.4\n", "a|1.2.3.4\n",
	   "a:1.2.3.4\n", "name,ip\na,1.2.3.4\n", "1name,ip\na,1.2.3.4\n", "na.me,ip\na,1.2.3.4\n",
	   "na:me,ip\na,1.2.3.4\n", ",ip\na,1.2.3.4\n", "_a,Z\na,1.2.3.4\n", "\"name\",\"ip\"\n\"a\",\"1.2.3.4\"\n",
	   "a,\"1.2.3.4\nb,1.2.3.5\nc,1.2.3.6\n", "a,\"1.2.3.4\"x\nb,1.2.3.5\nc,1.2.3.6\n",
	   "a,\"1.2.3.4\" \nb, 1.2.3.5 \n", "a\t\"1.2.3.4\" \nb\t1.2.3.5\n", "\"a\"\"b\",1.2.3.4\n\"c\"\"\",1.2.3.5\n",
	   "a,1.2.3.4,5.6.7.8\n", "a,1.2.3.4,5.6.7.8\nb,1.2.3.5,x\n", "a,1.2.3.4,5.6.7.8\nb,1.2.3.5,x\nc,1.2.3.6,x\n",
	   "a,1.2.3.4\nb\nc,1.2.3.6\n", "a,1.2.3.4\nb,\nc,1.2.3.6\n", "a,b\nc,d\n", "1.2.3.4,\n1.2.3.5,\n",
	   "a,1.2.3.0/24\nb,1.2.4.0-1.2.4.9\n", "a,1.2.3.4;5.6.7.8\n", "\"a,b\";1.2.3.4\n\"c,d\";1.2.3.5\n",
	   "x,y,1.2.3.4\nx,1.2.3.5,y\nx,y,1.2.3.6\n", "a, \"1.2.3.4\"\nb,  \"1.2.3.5\" \n");
	OF("csv:1", "", "1.2.3.4,a\n", "1.2.3.4\n", "\"1.2.3.4\"\n", "a,1.2.3.4\n", "\n1.2.3.4,a\n");
	OF("csv:2", "", "a,1.2.3.4\n", "a;1.2.3.4\n", "a,b\n", "a\n", "a,\n", "a,1.2.3.4,b,\"c\n");
	OF("csv", "", "a,1.2.3.4\n", "1.2.3.4\n", "a,b\n", "", "\n", "a,1.2.3.4,5.6.7.8\n");
	OF("csv:64", "", "1.2.3.4\n");
	OF("csv:65", "", "1.2.3.4\n");
	OF("csv:0", "", "1.2.3.4\n");
	OF("csv:2 ", "", "a,1.2.3.4\n");
}

static void sets_of_nft(void)
{
	OF("nft", "", "table inet f { set b { type ipv4_addr; elements = { 1.2.3.4 } } }",
	   "set b { elements = { 1.2.3.4, 1.2.3.5 } }", "elements = { 1.2.3.4 }", "define x = { 1.2.3.4 }",
	   "{ 1.2.3.4 }", "add element inet f b { 1.2.3.4 }", "create element inet f b { 1.2.3.4 }",
	   "add table inet f\nadd set inet f b { type ipv4_addr; }\nadd element inet f b { 1.2.3.4 }",
	   "flush set inet f b\n", "{ }", "{ , }", "{ 1.2.3.4, }", "{ 1.2.3.4,, 1.2.3.5 }", "{ 1.2.3.4\n1.2.3.5 }",
	   "{\n1.2.3.4,\n1.2.3.5\n}\n", "{ 1.2.3.4 timeout 1d expires 5h, 1.2.3.5 }",
	   "{ 1.2.3.4 counter packets 1 bytes 2 }", "{ 1.2.3.4 comment \"1.2.3.5\" }", "{ 1.2.3.4 comment \"a, b }\" }",
	   "{ 1.2.3.4 limit rate 5/second }", "{ 1.2.3.4 quota 5 bytes }", "{ 1.2.3.4 other 5 }",
	   "{ 1.2.3.4 timeout 1.2.3.5 }", "{ 1.2.3.4 timeout 1.2.3.x }", "{ 1.2.3.0/24, 1.2.4.0-1.2.4.9 }",
	   "{ 1.2.3.4 - 1.2.3.9 }", "{ rubbish }", "{ rubbish, 1.2.3.4 }", "{ \"1.2.3.4\" }",
	   "{ 1.2.3.4 # x\n, 1.2.3.5 }", "{ 1.2.3.4 { } }", "{ 1.2.3.4 ; }", "{ 1.2.3.4 = }", "{ = }", "{ ; }",
	   "{ { } }", "{ 1.2.3.4", "{ 1.2.3.4,", "{", "}", "table x {", "table x { } }", "set b { elements = 5 }",
	   "elements = 1.2.3.4\n", "elements", "define x\n", "add\n", "add rubbish\n", "type ipv4_addr\n", "rubbish\n",
	   "flush set x { 1.2.3.4 }", "#!/usr/sbin/nft -f\n{ 1.2.3.4 }", "{ 1.2.3.4 comment \"a\n\" }",
	   "table inet f {\nset b {\ntype ipv4_addr\nflags interval\nauto-merge\nsize 5\n"
	   "policy memory\ngc-interval 1d\ntimeout 1d\ntypeof ip saddr\ncounter\ncomment \"x\"\nelements = { 1.2.3.4,\n\t1.2.3.5 }\n}\n}\n",
	   "table x { chain y { } }", "table x { } ; }", "{ 1.2.3.4 }{ 1.2.3.5 }", "{ 1.2.3.4 };{ 1.2.3.5 }",
	   "{1.2.3.4,1.2.3.5}", "elements={1.2.3.4}");
	OF(NULL, "", "table inet f { set b { elements = { 1.2.3.4 } } }", "table inet f\n",
	   "set b { elements = { 1.2.3.4 } }", "set b\n", "add element inet f b { 1.2.3.4 }",
	   "create element inet f b { 1.2.3.4 }", "define x = { 1.2.3.4 }", "define x { 1.2.3.4 }",
	   "elements = { 1.2.3.4 }", "elements { 1.2.3.4 }", "flush set inet f b\n", "flush set \n", "flush set  \n",
	   "flush table x\n", "{ 1.2.3.4 }", "{ ::1 }", "{\n\t1.2.3.4 }", "{ f::1 }", "{ g }", "{", "{ ", "{1.2.3.4}",
	   "table {", "table x\n{ 1.2.3.4 }\n");
}

/* Words as long as they may be, and a byte longer; and a NUL. */
static void words_of_nft(void)
{
	struct reader_options o = { .format = "nft" };
	char text[300];

	for (size_t n = 127; n <= 129; n++) {
		size_t at = (size_t)sprintf(text, "\nadd set x ");

		memset(text + at, 'w', n);
		sprintf(text + at + n, "\nadd element x {\n1.2.3.4 }\n");
		read_once(text, strlen(text), &o);
		text[at] = '"';
		text[at + n - 1] = '"';
		read_once(text, strlen(text), &o);
	}
	read_once("{ 1.2.3.4,\n1.2.3\0.5 }", 20, &o);
	read_once("\0", 1, &o);
	OF("nft", "", "\nelements\n\n", "\nset x {\nelements = 1.2.3.4\n}\n", "\n{\n1.2.3.4\n=\n}\n", "\n{\n=\n}\n",
	   "\nflush set x\n\n{ 1.2.3.4", "table x\n{\n}\n}\n", "flush x\n\nflush y {", "\n\n{ 1.2.3.4,\n\n",
	   "{ 1.2.3.4\n\nx\n}", "\n\"", "\n{\n\"a\n", "{ 1.2.3.4, # {\n1.2.3.5 } # }\n", "# {\n{ 1.2.3.4 }",
	   "add#x {\n", "define x#y = { 1.2.3.4 }");
}

/* Which format it is. */
static void detected(void)
{
	OF(NULL, "", "", "\n", "# x\n", "1.2.3.4\n", "1.2.3.4 x\n", "1.2.3.4 x\n1.2.3.5\n",
	   "1.2.3.4 x\n1.2.3.5 y\n1.2.3.6\n", "1.2.3.4 a.b\n", "1.2.3.4 a.b\n1.2.3.5 c\n",
	   "1.2.3.4 a.b\n1.2.3.5 c.d\n1.2.3.6 e\n", "1.2.3.4 a.b\n1.2.3.5 c!d\n", "1.2.3.4 a.b c!\n",
	   "1.2.3.0/24 a.b\n", "1.2.3.4 #x\n1.2.3.5 #y\n", "x:1.2.3.4-1.2.3.5\n", "1.2.3.4 - 1.2.3.5 , 0 , x\n",
	   "1.2.3.4-1.2.3.5\n", "add x 1.2.3.4\n", "create x hash:ip\n", "rubbish\n", "rubbish\n1.2.3.4\n",
	   "1.2.3.4\nr\nr\nr\nr\nr\nr\nr\nr\nr\n", "1.2.3.4\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\n",
	   "1.2.3.4\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\nr\n", "1.2.3.4\n1.2.3\n", "1.2.3\n",
	   "1.2.3.4/33\n", "1.2.3.4\xff\n", "\x01\n", "AS5\n", "AS5 x\n", "as5\n", "aS5#x\n", "AS5;x\n", "AS5x\n",
	   "AS\n", "AS \n", "A5\n", "AS1234567890\n", "AS12345678901\n", "AT5\n", " AS5\n", "BS5\n", "1.2.3.x\nAS5\n",
	   "<html>\n", "x\n<html>\n", "BZh9\n", "BZ\n", "PK\3\4x\n", "PK\3\n", "\xff\xfex\n", "\xfe\xffx\n", "\xff\n",
	   "XDPBLOOM\n", "XDPBLOO\n", "XDPBLOOMx\n", "null", "null\n", "null x\n", "nullx\n", "nul", "[", "[]", "[ ]",
	   "[\n]", "[\"1.2.3.4\"]", "[5]", "[[\"1.2.3.4\"]]", "[{\"ip\":\"1.2.3.4\"}]", "{}", "{ }",
	   "{\"ip\":\"1.2.3.4\"}", "{ \"ip\":\"1.2.3.4\"}", "{x}", "[x]",
	   "\xef\xbb\xbf"
	   "1.2.3.4\n",
	   "\xef\xbb"
	   "1.2.3.4\n",
	   "\xef\xbb\xbf", "\xef\xbb\xbf\n[\"1.2.3.4\"]", "a,b\n1.2.3.4,x\n", "a,b,c\n1.2.3.4,x,1.2.3.5\n");
	OF("unknown", "", "1.2.3.4\n");
	OF("", "", "1.2.3.4\n");
	OF("plain", "cc=DE", "1.2.3.4\n");
	hidden = true;
	OF(NULL, "", "rubbish\n", "1.2.3.4\n1.2.3.256\n", "1.2.3.1/24\n", "::1/64\n", "<html>\n");
	hidden = false;
	OF(NULL, "", "1.2.3.1/24\n", "1.2.3.0/24\n1.2.3.1/24\n", "\n\n1.2.3.1/24\n1.2.4.1/24\n", "::1/64\n",
	   "::ffff:1.2.3.4/120\n", "a,1.2.3.1/24\n", "[\"1.2.3.1/24\",\n\"1.2.4.1/24\"]", "1.2.3.1/255.255.255.0\n",
	   "255.255.255.255/0\n");
}

/* What is said of a line shows so much of it, and of the file's name. */
static void long_ones(void)
{
	static char text[1 << 18], name[300];
	struct reader_options o = { .format = "plain" };

	for (size_t n = 47; n <= 50; n++) {
		memset(text, 'x', n);
		text[n] = '\n';
		read_text(text, n + 1, o);
		text[44] = '\x1b';
		read_text(text, n + 1, o);
		text[45] = '\x7f';
		read_text(text, n + 1, o);
	}
	for (size_t n = 65535; n <= 65538; n++) {
		static const char next[] = "\n1.2.3.4\n";

		memset(text, ' ', n);
		memcpy(text, "1.2.3.5", 7);
		memcpy(text + n, next, sizeof(next));
		printf("%zu bytes:", n);
		read_text(text, n + sizeof(next) - 1, o);
		read_text(text, n, o);
	}
	memset(text, ' ', sizeof(text));
	memcpy(text + 200000, "\n1.2.3.4", 8);
	printf("a long one:");
	read_text(text, 200008, o);
	printf("a longer one, to the end:");
	read_text(text, sizeof(text), o);
	printf("NUL:");
	read_text("1.2.3.4\n1.2.3\0.5\n1.2.3.6\n", 25, o);
	read_text("\0", 1, o);
	read_text("1.2.3.4\0", 8, o);
	for (size_t n = 95; n <= 98; n++) {
		struct reader reader = { .options = &o, .name = name };
		char message[READER_TEXT_MAX];

		memset(name, 'n', n);
		memcpy(name, "begin", 5);
		name[n] = '\0';
		compose(&reader, message, 0, "", 0, "a reason");
		printf("%s\n", message);
		compose(&reader, message, 7, " a text ", 8, "a reason");
		printf("%s\n", message);
	}
	/* One message with all that is long. */
	{
		struct reader reader = { .options = &o, .name = name };
		char message[READER_TEXT_MAX], reason[300];

		memset(reason, 'r', sizeof(reason) - 1);
		reason[sizeof(reason) - 1] = '\0';
		compose(&reader, message, 1ULL << 63, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c\x0d\x0e\x0f", 14,
			reason);
		printf("%s\n", message);
	}
}

/* As many lines as are looked at; and one that the window cuts is none of them. */
static void looked_at(void)
{
	static char text[1 << 19];
	struct reader_options o = { 0 };
	size_t n = 0;

	for (int i = 0; i < 256; i++)
		n += (size_t)sprintf(text + n, "1.2.3.4%s\n", i < 128 ? " # none" : " label");
	printf("half of them:");
	read_once(text, n, &o);
	n += (size_t)sprintf(text + n, "1.2.3.4 label\n");
	printf("half of them, and one more:");
	read_once(text, n, &o);
	memcpy(text, "1.2.3.4 label ", 14);
	printf("half of them and one:");
	read_once(text, n, &o);
	n = 0;
	for (int i = 0; i < 20000; i++)
		n += (size_t)sprintf(text + n, "10.0.%d.%d a label\n", i / 256, i % 256);
	printf("lines that the window cuts:");
	read_once(text, n, &o);
	/* One that is too long between others. */
	n = (size_t)sprintf(text, "1.2.3.4\nx\n1.2.3.5\n");
	memset(text + n, 'y', 200000);
	n += 200000;
	n += (size_t)sprintf(text + n, "\n1.2.3.6\nz\n");
	printf("too long:");
	read_text(text, n, o);
	for (int labels = 2; labels <= 3; labels++) {
		n = 0;
		for (int i = 0; i < 5; i++) {
			memset(text + n, 'x', 60000);
			memcpy(text + n, i < labels || i == 4 ? "1.2.3.4 a" : "1.2.3.4 #", 9);
			n += 60000;
			text[n++] = '\n';
		}
		printf("%d of four, and a fifth:", labels);
		read_once(text, n, &o);
	}
	OF(NULL, "", "1.2.3.4\n1.2.3.5 x\n1.2.3.6 y", "1.2.3.4\n1.2.3.5 x\n1.2.3.6 y\n",
	   "a\t\"1.2.3.4\"\r\nb\t\"1.2.3.5\"\r\n", "nulx\n", "nul \n", "[\t\"1.2.3.4\"]", "[\r\"1.2.3.4\"]",
	   "[\n\"1.2.3.4\"]", "[\v\"1.2.3.4\"]", "{\r\"ip\":\"1.2.3.4\"}");
	OF(NULL, "cc=DE", "[{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}]", "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}\n",
	   "ip,cc\n1.0.0.1,DE\n");
}

/* As many lines as are kept of those that are left out, and one more. */
static void many_bad(void)
{
	char text[200];
	size_t n = (size_t)sprintf(text, "1.2.3.4\n");
	struct reader_options o = { .format = "plain", .skip_bad = true };

	for (int i = 0; i < 12; i++) {
		n += (size_t)sprintf(text + n, "x%d\n", i);
		if (i >= 8)
			read_once(text, n, &o);
	}
}

static const struct scene scenes[] = {
	{ "addresses", addresses },
	{ "prefixes, netmasks and ranges", prefixes },
	{ "lines that are one address", fast_or_not },
	{ "labels and names", labels },
	{ "ranges with zeros in front", padded },
	{ "sets of ipset", ipset },
	{ "columns", columns_of_csv },
	{ "sets of nft", sets_of_nft },
	{ "words of nft", words_of_nft },
	{ "which format it is", detected },
	{ "long ones", long_ones },
	{ "how much is looked at", looked_at },
	{ "many that are left out", many_bad },
};

static void happens(void)
{
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "lines", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
