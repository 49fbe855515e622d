// SPDX-License-Identifier: GPL-2.0-only
/* What a lease of dhcpcd says, and for how long. */
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"

static int addresses_given(struct ifaddrs **all);
static void addresses_gone(struct ifaddrs *all);

#define getifaddrs  addresses_given
#define freeifaddrs addresses_gone
#include "change/own_leases.c"
#undef getifaddrs
#undef freeifaddrs

/* The addresses of this machine: one. */
static struct sockaddr_in here = { .sin_family = AF_INET };
static bool unknown;

static int addresses_given(struct ifaddrs **all)
{
	static struct ifaddrs given[2] = { { .ifa_next = &given[1] }, { .ifa_addr = (struct sockaddr *)&here } };

	*all = unknown ? NULL : given;
	return unknown ? -1 : 0;
}

static void addresses_gone(struct ifaddrs *all)
{
	(void)all;
}

/* What the server answers, up to its options: 192.0.2.50 is ours. */
#define ANSWER 240
static void answer(unsigned char *message)
{
	memset(message, 0, ANSWER);
	memcpy(message, "\2\1\6\0\xf4\xe1\x91\x2f", 8);
	memcpy(message + 16, "\xc0\0\2\x32\xc0\0\2\1", 8);
	memcpy(message + 28, "\xfe\x6d\xb6\xf1\xaf\x2f", 6);
	memcpy(message + 236, "\x63\x82\x53\x63", 4);
}

#define IP(last)  "\xc0\0\2" last
#define SERVER	  "\x36\4" IP("\1")
#define HOUR	  "\x33\4\0\0\x0e\x10"
#define SENT(...) __VA_ARGS__, sizeof(__VA_ARGS__) - 1

#define ALONE "SERVER_ADDRESS=192.0.2.1 \nROUTER=\nDNS=\nNTP=\n"

/* As a dnsmasq sends it, and then what nobody sends. */
static void as_sent(void)
{
	static const struct {
		const char *options;
		size_t size;
		long long age;
		const char *says;
	} known[] = {
		{ SENT("\x35\1\5" SERVER HOUR "\x3a\4\0\0\7\x08\x3b\4\0\0\x0c\x4e\1\4\xff\xff\xff\0\x1c\4" IP(
			  "\xff") "\x2a\4" IP("\5") "\6\x08" IP("\2") IP("\3") "\3\4" IP("\4") "\xff"),
		  3599, "SERVER_ADDRESS=192.0.2.1 \nROUTER=192.0.2.4 \nDNS=192.0.2.2 192.0.2.3 \nNTP=192.0.2.5 \n" },
		{ SENT(HOUR "\0\0\0" SERVER), 0, ALONE },
		{ SENT(SERVER HOUR "\xff"), -5, ALONE },
		{ SENT(SERVER HOUR "\xff"), 3600, "" },
		{ SENT(SERVER "\x33\4\xff\xff\xff\xff\xff"), UINT32_MAX + 7LL, ALONE },
		{ SENT(SERVER "\x33\3\0\0\0\xff"), 3600, ALONE },
		{ SENT(SERVER "\xff\3\4" IP("\4")), 0, ALONE },
		{ SENT(SERVER "\3\7" IP("\4") "\xc0\0\2"), 0,
		  "SERVER_ADDRESS=192.0.2.1 \nROUTER=192.0.2.4 \nDNS=\nNTP=\n" },
		{ SENT(SERVER "\6\0\3\4" IP("\4") "\xff"), 0,
		  "SERVER_ADDRESS=192.0.2.1 \nROUTER=192.0.2.4 \nDNS=\nNTP=\n" },
		{ SENT(SERVER "\3\4\xc0\0\2"), 0, ALONE },
		{ SENT(SERVER "\3"), 0, ALONE },
		{ SENT(""), 0, "SERVER_ADDRESS=\nROUTER=\nDNS=\nNTP=\n" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t size = ANSWER + known[i].size, length;
		unsigned char *message = malloc(size); /* not a byte more may be read */
		char text[OWN_LEASE_TEXT_MAX];

		answer(message);
		memcpy(message + ANSWER, known[i].options, known[i].size);
		length = own_lease_text(text, message, size, known[i].age);
		CHECK(length == strlen(known[i].says) && !memcmp(text, known[i].says, length), "%zu: '%.*s', not '%s'",
		      i, (int)length, text, known[i].says);
		free(message);
	}
}

/* What has run out by the time of its file counts as long as its address is here. What is no lease says nothing. */
static void of_another_clock(void)
{
	unsigned char message[ANSWER + sizeof(SERVER HOUR)];
	char text[OWN_LEASE_TEXT_MAX];

	answer(message);
	memcpy(message + ANSWER, SERVER HOUR, sizeof(SERVER HOUR));
	memcpy(&here.sin_addr, IP("\x33"), 4);
	CHECK(!own_lease_text(text, message, sizeof(message), 3600), "another address is here");
	memcpy(&here.sin_addr, IP("\x32"), 4);
	CHECK(own_lease_text(text, message, sizeof(message), 3600), "its address is here");
	here.sin_family = AF_INET6;
	CHECK(!own_lease_text(text, message, sizeof(message), 3600), "another family");
	unknown = true;
	CHECK(own_lease_text(text, message, sizeof(message), 3600), "nobody knows");
	unknown = false;
	for (size_t size = 0; size < ANSWER; size++)
		CHECK(!own_lease_text(text, message, size, 0), "of %zu bytes", size);
	message[238]++;
	CHECK(!own_lease_text(text, message, sizeof(message), 0), "of something else");
}

/* As long as it can be: each option with 63 addresses, of 15 characters. */
static void of_many_addresses(void)
{
	static const unsigned char kinds[] = { 54, 3, 6, 42 };
	unsigned char message[ANSWER + sizeof(kinds) * 257];
	char text[OWN_LEASE_TEXT_MAX];
	size_t n = 0, length;

	memset(message, 222, sizeof(message));
	answer(message);
	for (size_t i = 0; i < sizeof(kinds); i++)
		memcpy(message + ANSWER + i * 257, (unsigned char[]){ kinds[i], 255 }, 2);
	length = own_lease_text(text, message, sizeof(message), 0);
	for (size_t i = 0; i < length; i++)
		n += text[i] == ' ';
	CHECK(n == 4 * 63 && length < sizeof(text), "%zu addresses, %zu bytes", n, length);
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "as a server sends them", as_sent },
		{ "by another clock", of_another_clock },
		{ "many addresses", of_many_addresses },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
