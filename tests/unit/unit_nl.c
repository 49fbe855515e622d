// SPDX-License-Identifier: GPL-2.0-only
/* Messages of netlink: written, byte for byte, and read, to the last byte that is there and no further. */
#include <endian.h>

#include "base/nl.h"
#include "ktap.h"

static char room[512] __attribute__((aligned(NLMSG_ALIGNTO)));

/* "10 00 00 00 ..." */
static void is(const void *bytes, size_t n, const char *expected)
{
	char text[600] = "";

	for (size_t i = 0; i < n; i++)
		snprintf(text + 3 * i, sizeof(text) - 3 * i, "%02x ", ((const uint8_t *)bytes)[i]);
	CHECK(!strcmp(text, expected), "'%s', not '%s'", text, expected);
}

static void written(void)
{
	struct nlmsghdr *m;
	struct nlattr *outer;
	uint8_t *extra;

	if (htole16(1) != 1) {
		ktap_skip("the bytes of a number are the other way round");
		return;
	}
	memset(room, 0xee, sizeof(room));
	m = nl_put_header(room);
	is(m, 17, "10 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ee ");
	extra = nl_put_extra(m, 5);
	CHECK((char *)extra == room + 16 && m->nlmsg_len == 24, "%u bytes", m->nlmsg_len);
	is(extra, 9, "00 00 00 00 00 00 00 00 ee ");
	nl_put(m, 0x102, 3, "abc");
	CHECK(m->nlmsg_len == 32, "%u bytes", m->nlmsg_len);
	is(room + 24, 9, "07 00 02 01 61 62 63 00 ee ");
	nl_put(m, 3, 4, "abcd");
	is(room + 32, 9, "08 00 03 00 61 62 63 64 ee ");
	outer = nl_nest_begin(m, 4);
	nl_put_u32(m, 5, 0x01020304);
	nl_nest_end(m, outer);
	CHECK(m->nlmsg_len == 52, "%u bytes", m->nlmsg_len);
	is(room + 40, 13, "0c 00 04 80 08 00 05 00 04 03 02 01 ee ");
	CHECK(nl_attr_type(outer) == 4 && nl_attr_len(outer) == 8, "type %u", nl_attr_type(outer));
	/* Behind a length that is not aligned. */
	m->nlmsg_len = 50;
	nl_put(m, 6, 0, "");
	is(room + 52, 5, "04 00 06 00 ee ");
	m->nlmsg_len = 53;
	CHECK((char *)nl_put_extra(m, 4) == room + 56 && m->nlmsg_len == 60, "%u bytes", m->nlmsg_len);
	m->nlmsg_len = 57;
	CHECK((char *)nl_nest_begin(m, 6) == room + 60, "%u bytes", m->nlmsg_len);
}

static void messages(void)
{
	static const struct {
		uint32_t length;
		int left;
		bool ok;
	} cases[] = {
		{ 16, 16, true },  { 16, 15, false }, { 15, 16, false },  { 17, 16, false }, { 17, 17, true },
		{ 16, -1, false }, { 16, 0, false },  { ~0u, 16, false }, { 0, 16, false },
	};
	struct nlmsghdr *m = nl_put_header(room);
	int left = 100;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		m->nlmsg_len = cases[i].length;
		CHECK(nl_ok(m, cases[i].left) == cases[i].ok, "case %zu", i);
	}
	m->nlmsg_len = 21;
	CHECK((char *)nl_next(m, &left) == room + 24 && left == 76, "%d are left", left);
	CHECK((char *)nl_payload(m) == room + 16 && nl_payload_len(m) == 5, "%zu bytes", (size_t)nl_payload_len(m));
}

static void attributes(void)
{
	static const struct {
		uint16_t length;
		int left;
		bool ok;
	} cases[] = {
		{ 4, 4, true }, { 4, 3, false }, { 3, 4, false },  { 5, 4, false },
		{ 5, 5, true }, { 4, 0, false }, { 4, -1, false }, { 0, 8, false },
	};
	struct nlattr *at = (struct nlattr *)room;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		at->nla_len = cases[i].length;
		CHECK(nl_attr_ok(at, cases[i].left) == cases[i].ok, "case %zu", i);
	}
	at->nla_len = 9;
	CHECK((char *)nl_attr_next(at) == room + 12 && (char *)nl_attr_payload(at) == room + 4,
	      "the next is elsewhere");
	memcpy(room + 4, "abcd\0ef", 7);
	for (uint16_t length = 0; length < 8; length++) {
		at->nla_len = (uint16_t)(4 + length);
		CHECK(nl_attr_len(at) == length && nl_attr_is_text(at) == (length == 5), "%u bytes", length);
	}
	memset(room, 0, 8);
	at->nla_len = 4;
	CHECK(!nl_attr_is_text(at), "nothing is a text");
	memcpy(room + 4, &(uint32_t){ 0x04030201 }, 4);
	CHECK(nl_attr_u32(at) == 0x04030201, "%x", nl_attr_u32(at));
	memcpy(room + 4, &(uint16_t){ 0x0203 }, 2);
	CHECK(nl_attr_u16(at) == 0x0203, "%x", nl_attr_u16(at));
	CHECK(nl_attr_text(at) == room + 4, "its text is elsewhere");
	at->nla_type = 0xc123;
	CHECK(nl_attr_type(at) == 0x0123, "type %x", nl_attr_type(at));
}

/* The types that are met, one after the other. */
static void each(const struct nlmsghdr *m, size_t extra, const char *expected)
{
	const struct nlattr *at, *in;
	char text[100] = "";
	size_t n = 0;

	nl_each (at, m, extra) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u ", nl_attr_type(at));
		if (nl_attr_type(at) == 9)
			nl_each_nested (in, at)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "(%u) ", nl_attr_type(in));
	}
	CHECK(!strcmp(text, expected), "'%s', not '%s'", text, expected);
}

static void all_of_them(void)
{
	struct nlmsghdr *m = nl_put_header(room);
	struct nlattr *outer;

	each(m, 0, "");
	each(m, 8, "");
	nl_put_extra(m, 6);
	each(m, 6, "");
	nl_put_u32(m, 1, 7);
	nl_put(m, 2, 1, "x");
	outer = nl_nest_begin(m, 9);
	nl_put_u32(m, 4, 7);
	nl_put(m, 5, 0, "");
	nl_nest_end(m, outer);
	nl_put(m, 6, 0, "");
	each(m, 6, "1 2 9 (4) (5) 6 ");
	/* Cut: the last of them is not whole. */
	m->nlmsg_len--;
	each(m, 6, "1 2 9 (4) (5) ");
	m->nlmsg_len = 24 + 8 + 5;
	each(m, 6, "1 2 ");
	m->nlmsg_len--;
	each(m, 6, "1 ");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is written", written },
		{ "messages", messages },
		{ "attributes", attributes },
		{ "all of them", all_of_them },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
