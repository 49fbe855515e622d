// SPDX-License-Identifier: GPL-2.0-only
/* What goes to the fetcher and comes from it, whole and damaged; and which addresses and URLs it asks. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/address.h"
#include "fetch/request.h"
#include "ktap.h"

static const struct fetch_answer answered = {
	.outcome = FETCH_NEW,
	.status = 200,
	.etag = "\"a b\"",
	.modified = "Mon, 02 Nov 2026 03:04:05 GMT",
	.type = "text/plain",
	.url = "https://feeds.example/list",
	.address = "9.9.9.2",
	.way = "9.9.9.1 2001:db8::1 ",
	.bytes = 28,
	.announced = 29,
};

static void messages(void)
{
	struct fetch_request asked = { .url = "https://feeds.example/list",
				       .etag = "\"one\"",
				       .lan = true,
				       .connect = 1,
				       .seconds = 2,
				       .bytes = 3,
				       .floor = 4,
				       .floor_seconds = 2 },
			     request;
	char message[FETCH_MESSAGE_MAX], small[64];
	struct fetch_answer answer;
	size_t n;

	n = fetch_request_write(message, sizeof(message), &asked);
	CHECK(n && fetch_request_read(&request, message, n) && !memcmp(&request, &asked, sizeof(asked)),
	      "another request");
	n = fetch_answer_write(message, sizeof(message), &answered);
	CHECK(n && fetch_answer_read(&answer, message, n) && !memcmp(&answer, &answered, sizeof(answer)),
	      "another answer");
	CHECK(!fetch_answer_write(small, sizeof(small), &answered), "it fits into 64 bytes");
	strcpy(message, "url https://a/\n");
	CHECK(fetch_request_read(&request, message, strlen(message)) && request.seconds == FETCH_SECONDS &&
		      request.bytes == FETCH_BYTES && !request.insecure && !request.lan,
	      "other limits than the default");
}

static void damaged(void)
{
	static const char *const requests[] = {
		"",
		"\n",
		"etag \"one\"\n",
		"url https://a/",
		"url\n",
		"url https://a/\nx y\n",
		"url https://a/\nseconds 0\n",
		"url https://a/\nseconds -1\n",
		"url \n",
		"url https://a/\nlan 2\n",
		"url https://a/\nbytes 1000000000000000\n",
		"url https://a/\nbytes 1 2\n",
	};
	static const char *const answers[] = {
		"",
		"new",
		"good\n",
		"good\nwhy it\n",
		"new\nstatus 1e9\n",
		"failed\n",
		"new\nwhy it\n",
		"new\nbytes  1\n",
		"new\nstatus 99999999999999999999\n",
		"new\nwhy\n",
		"same\nother 1\n",
		"new\netag \"a\"",
	};
	char message[FETCH_MESSAGE_MAX], changed[FETCH_MESSAGE_MAX];
	struct fetch_request request;
	struct fetch_answer answer;
	size_t n;

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		strcpy(message, requests[i]);
		CHECK(!fetch_request_read(&request, message, strlen(message)), "believed: '%s'", requests[i]);
	}
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		strcpy(message, answers[i]);
		CHECK(!fetch_answer_read(&answer, message, strlen(message)), "believed: '%s'", answers[i]);
	}
	/* Every byte, cut off there and changed to each other one: whatever is believed has its texts ended and clean.
	 */
	n = fetch_answer_write(message, sizeof(message), &answered);
	for (size_t at = 0; at < n; at++) {
		memcpy(changed, message, n);
		fetch_answer_read(&answer, changed, at);
		for (int byte = 0; byte < 256; byte++) {
			memcpy(changed, message, n);
			changed[at] = (char)byte;
			if (fetch_answer_read(&answer, changed, n))
				CHECK(!strpbrk(answer.etag, "\x1b\r\n\x7f") && strlen(answer.url) < sizeof(answer.url),
				      "byte %zu as %d", at, byte);
		}
	}
}

/* Each outcome, and each limit with what is believed at its bounds. */
static void limits(void)
{
	static const struct {
		const char *line;
		bool good;
	} lines[] = {
		{ "connect 1", true },
		{ "connect 0", false },
		{ "connect 4294967", true },
		{ "connect 4294968", false },
		{ "seconds 30", true },
		{ "seconds 29", false }, /* shorter than what the floor is measured over */
		{ "seconds 1\nfloor_seconds 1", true },
		{ "seconds 1\nfloor_seconds 2", false },
		{ "seconds 0\nfloor_seconds 0", false },
		{ "seconds 4294967", true },
		{ "seconds 4294968", false },
		{ "bytes 1", true },
		{ "bytes 0", false },
		{ "bytes 1073741824", true },
		{ "bytes 1073741825", false },
		{ "floor 0", true },
		{ "floor 1073741823", true },
		{ "floor 1073741824", false },
		{ "floor_seconds 0", true },
		{ "key x", false }, /* a URL, or a key */
		{ "insecure 1", true },
		{ "insecure 0", false },
	};
	char message[FETCH_MESSAGE_MAX];
	struct fetch_request request;
	struct fetch_answer answer;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		int n = snprintf(message, sizeof(message), "url https://a/\n%s\n", lines[i].line);

		CHECK(fetch_request_read(&request, message, (size_t)n) == lines[i].good, "'%s' is %s", lines[i].line,
		      lines[i].good ? "refused" : "believed");
	}
	strcpy(message, "url https://a/\n");
	CHECK(fetch_request_read(&request, message, strlen(message)) && request.connect == FETCH_CONNECT_SECONDS &&
		      request.floor == FETCH_FLOOR && request.floor_seconds == FETCH_FLOOR_SECONDS,
	      "other limits than the default");
	/* Zeros in front mean nothing. */
	strcpy(message, "url https://a/\nseconds 040\nconnect 010\nbytes 0100\n");
	CHECK(fetch_request_read(&request, message, strlen(message)) && request.seconds == 40 &&
		      request.connect == 10 && request.bytes == 100,
	      "%llu s", (unsigned long long)request.seconds);
	strcpy(message, "url https://a/\nseconds 0x40\n");
	CHECK(!fetch_request_read(&request, message, strlen(message)), "hexadecimal");
	strcpy(message, "key RWQ\n");
	CHECK(fetch_request_read(&request, message, strlen(message)) && !strcmp(request.key, "RWQ"), "a key alone");
	for (int outcome = FETCH_FAILED; outcome <= FETCH_SIGNED; outcome++) {
		struct fetch_answer is = { .outcome = outcome, .signed_at = 4, .version = 5, .page = 6 };
		size_t n;

		strcpy(is.comment, "a comment");
		strcpy(is.why, outcome == FETCH_FAILED ? "it is gone" : "");
		is.here = outcome == FETCH_FAILED;
		n = fetch_answer_write(message, sizeof(message), &is);
		CHECK(n && fetch_answer_read(&answer, message, n) && !memcmp(&answer, &is, sizeof(is)),
		      "another answer than %d", outcome);
	}
}

/* A message that just fits, and one byte more. */
static void fits(void)
{
	char message[FETCH_MESSAGE_MAX];
	size_t n = fetch_answer_write(message, sizeof(message), &answered);

	CHECK(fetch_answer_write(message, n + 1, &answered) == n && strlen(message) == n, "its length is not enough");
	for (size_t size = 1; size <= n; size++) {
		bool beyond = false;

		memset(message, '#', sizeof(message));
		CHECK(!fetch_answer_write(message, size, &answered), "%zu bytes are in %zu", n, size);
		for (size_t i = size; i < sizeof(message); i++)
			beyond |= message[i] != '#';
		CHECK(!beyond, "more than %zu bytes are written", size);
	}
}

/* Texts as long as they may be, and one byte longer. */
static void long_texts(void)
{
	char message[FETCH_MESSAGE_MAX], url[FETCH_URL_MAX + 1];
	struct fetch_request request;

	for (size_t n = FETCH_URL_MAX - 2; n <= FETCH_URL_MAX; n++) {
		bool good = n < FETCH_URL_MAX;
		int length;

		memset(url, 'a', n);
		memcpy(url, "https://", 8);
		url[n] = '\0';
		length = snprintf(message, sizeof(message), "url %s\n", url);
		CHECK(!fetch_url_fault(url, false) == good, "of %zu bytes", n);
		CHECK(fetch_request_read(&request, message, (size_t)length) == good &&
			      (!good || !strcmp(request.url, url)),
		      "read: of %zu bytes", n);
	}
}

static void urls(void)
{
	static const struct {
		const char *url;
		bool secure, insecure;
	} known[] = {
		{ "https://a", true, true },
		{ "HTTPS://a.example:8443/x?y=1@2#z", true, true },
		{ "http://a.example/", false, true },
		{ "https://", false, false },
		{ "https:///x", false, false },
		{ "https://user@a/", false, false },
		{ "https://a b/", false, false },
		{ "https://a/\xc3\xa4", false, false },
		{ "https://a/\n", false, false },
		{ "https://a/\x7f", false, false },
		{ "https://a/~!", true, true },
		{ "https://a?@", true, true },
		{ "https://a#@", true, true },
		{ "https://?", false, false },
		{ "http://user@a/", false, false },
		{ "https:/a", false, false },
		{ "https://%31%30.0.0.1/", false, false },
		{ "https://[fe80::1%25eth0]/", false, false },
		{ "https://a%2f/", false, false },
		{ "https://a%", false, false },
		{ "https://a/%31?%32#%33", true, true },
		{ "https://a?%31", true, true },
		{ "http:/a", false, false },
		{ "file:///etc/passwd", false, false },
		{ "ftp://a/", false, false },
		{ "//a/", false, false },
		{ "", false, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(!fetch_url_fault(known[i].url, false) == known[i].secure &&
			      !fetch_url_fault(known[i].url, true) == known[i].insecure,
		      "'%s'", known[i].url);
}

static struct addr parsed(const char *text)
{
	struct addr addr = { 0 };

	CHECK(!addr_parse(text, strlen(text), &addr), "no address: %s", text);
	return addr;
}

static void addresses(void)
{
	static const char *const outside[] = { "9.9.9.9",
					       "172.32.0.1",
					       "2620:fe::fe",
					       "::ffff:9.9.9.9",
					       "64:ff9b::9.9.9.9",
					       "2002:909:909::1",
					       "2003:7f00:1::1",
					       "2001:7f00:1::1",
					       "::9.9.9.9",
					       "2620:fe::5efe:9.9.9.9",
					       "2001:0:909:909:0:0:f6f6:f6f6",
					       "64:ff9b:2::1",
					       "2002:909:909::a00:1",
					       "fe00::1",
					       "198.20.0.1",
					       "192.0.1.1" };
	static const char *const inside[] = { "0.0.0.0",
					      "10.0.0.1",
					      "100.64.0.1",
					      "127.0.0.1",
					      "127.255.255.254",
					      "169.254.169.254",
					      "172.31.255.255",
					      "192.168.0.1",
					      "224.0.0.1",
					      "255.255.255.255",
					      "::",
					      "::1",
					      "fc00::1",
					      "fe80::1",
					      "ff02::1",
					      "fec0::1",
					      "feff::1",
					      "64:ff9b:1::808:808",
					      "64:ff9b:1:ffff::1",
					      "192.0.0.1",
					      "198.18.0.1",
					      "198.19.255.255",
					      "240.0.0.1",
					      "100::1",
					      "5f00::1",
					      "::127.0.0.1",
					      "::ffff:0:10.0.0.1",
					      "2001:4860::5efe:10.0.0.1",
					      "2001:4860::200:5efe:192.168.0.1",
					      "2001:0:7f00:1::1",
					      "2001:0:a00:1:0:0:f6f6:f6f6",
					      "2002:a00:1::909:909",
					      "2001:0:808:404:0:0:f5ff:fffe",
					      "::ffff:10.0.0.1",
					      "64:ff9b::10.0.0.1",
					      "2002:7f00:1::1",
					      "8.8.8.8",
					      "::ffff:8.8.8.8",
					      "2001:db8::7",
					      "64:ff9b::8.8.8.8",
					      "2002:808:808::1",
					      "2620:fe::8" };
	struct addr ours[] = { parsed("8.8.8.8"), parsed("2001:db8::7"), parsed("2620:fe::8") };
	struct own_addresses own = { ours, 3 };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct addr addr, wanted = parsed("2001:db8::7");

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		CHECK(!address_fault(parsed(outside[i]), &own), "refused: %s", outside[i]);
	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		CHECK(address_fault(parsed(inside[i]), &own), "not refused: %s", inside[i]);
	inet_pton(AF_INET6, "2001:db8::7", &in6.sin6_addr);
	CHECK(address_of(&addr, (struct sockaddr *)&in6) && addr.family == 6 && addr.num == wanted.num, "another");
	inet_pton(AF_INET6, "::ffff:8.8.8.8", &in6.sin6_addr);
	CHECK(address_of(&addr, (struct sockaddr *)&in6) && addr.family == 4 && addr.num == 0x08080808, "another");
	inet_pton(AF_INET, "1.2.3.4", &in.sin_addr);
	CHECK(address_of(&addr, (struct sockaddr *)&in) && addr.family == 4 && addr.num == 0x01020304, "another");
	in.sin_family = AF_UNIX;
	CHECK(!address_of(&addr, (struct sockaddr *)&in), "of no family");
}

/* What is read is what the machine has; the loopback interface has one everywhere. */
static void own(void)
{
	struct own_addresses own;
	struct ifaddrs *all = NULL;
	bool loopback = false;
	size_t n = 0;

	CHECK(!own_addresses_read(&own) && !getifaddrs(&all), "they cannot be read");
	for (const struct ifaddrs *a = all; a; a = a->ifa_next)
		n += a->ifa_addr && (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6);
	if (all)
		freeifaddrs(all);
	CHECK(own.n == n, "%zu addresses of %zu", own.n, n);
	for (size_t i = 0; i < own.n; i++) {
		CHECK(own.addrs[i].family == 4 || own.addrs[i].family == 6, "address %zu has no family", i);
		CHECK(address_fault(own.addrs[i], &own), "address %zu is not refused", i);
		loopback = loopback || (own.addrs[i].family == 4 && own.addrs[i].num == 0x7f000001);
	}
	CHECK(loopback || !own.n, "%zu addresses, and not 127.0.0.1", own.n);
	free(own.addrs);
}

/* In a URL, for whoever looks it up: as any program may take it. */
static void hosts(void)
{
	static const char *const inside[] = { "10.0.0.1",
					      "[::1]",
					      "[::ffff:10.0.0.1]",
					      "10.1",
					      "0x0a000001",
					      "012.0.0.1",
					      "167772161",
					      "0x7f.1",
					      "127.1.",
					      "10.0.0.1.",
					      "0300.0250.0.1",
					      "0xA9FEA9FE",
					      "192.168.257",
					      "000000000000000000000012.1",
					      "192.0.2.1" };
	static const char *const outside[] = { "9.9.9.9",
					       "[2620:fe::fe]",
					       "0x09090909",
					       "9.9.9.9.",
					       "feeds.example",
					       "feeds.example.",
					       "10.0.0.a",
					       "a-very-long-name.that-is-no-address.example",
					       "0x0a00000z",
					       "",
					       ".",
					       "[",
					       "10.0.0.1.." };
	struct addr ours[] = { parsed("192.0.2.1") };
	struct own_addresses own = { ours, 1 };

	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		CHECK(host_fault(inside[i], &own), "not refused: %s", inside[i]);
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		CHECK(!host_fault(outside[i], &own), "refused: %s", outside[i]);
}

static const struct ktap_case cases[] = {
	{ "limits", limits },
	{ "fits", fits },
	{ "long_texts", long_texts },
	{ "own", own },

	{ "messages", messages },
	{ "damaged", damaged },
	{ "urls", urls },
	{ "addresses", addresses },
	{ "hosts", hosts },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
