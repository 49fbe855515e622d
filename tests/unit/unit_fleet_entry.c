// SPDX-License-Identifier: GPL-2.0-only
/* What xdp-bloom-fleet is asked, and what it reads of a member's entries: whole, damaged and hostile. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fleet/acl.h"
#include "fleet/entry.h"
#include "fleet/request.h"
#include "fleet/server_clock.h"
#include "ktap.h"

static void urls(void)
{
	static const struct {
		const char *text, *host, *port;
		int way;
	} good[] = {
		{ "redis://redis.example", "redis.example", "6379", FLEET_TCP },
		{ "redis://192.0.2.1:1", "192.0.2.1", "1", FLEET_TCP },
		{ "REDIS://a:65535/", "a", "65535", FLEET_TCP },
		{ "valkey://[2001:db8::1]:7000", "2001:db8::1", "7000", FLEET_TCP },
		{ "rediss://[::1]", "::1", "6379", FLEET_TLS },
		{ "valkeys://a!~/", "a!~", "6379", FLEET_TLS },
		{ "redis://a:9/", "a", "9", FLEET_TCP },
		{ "unix:///run/redis/redis.sock", "/run/redis/redis.sock", "", FLEET_UNIX },
	};
	static const char *const bad[] = {
		"",
		"redis.example",
		"http://a",
		"redis://",
		"redis://:6379",
		"redis://a:",
		"redis://a:0",
		"redis://a:65536",
		"redis://a:6379x",
		"redis://a:+1",
		"redis://a/0",
		"redis://a:1/0",
		"redis://a:-1",
		"redis://a:/",
		"redis://a\x7f",
		"redis://\xc3\xa4",
		"redis://[::1]x",
		"redis://[::1]6379",
		"redis:/a",
		"unix://",
		"redis://u:p@a",
		"redis://:p@a:6379",
		"redis://a b",
		"redis://a\n",
		"unix://run",
		"redis://[::1",
		"redis://[]:1",
		"redis://a:99999999999999999999",
		"unix:///01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456",
	};
	struct fleet_url url;
	char text[FLEET_URL_MAX + 1];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK(!fleet_url_read(&url, good[i].text) && (int)url.way == good[i].way &&
			      !strcmp(url.host, good[i].host) && !strcmp(url.port, good[i].port),
		      "%s: %d '%s' '%s'", good[i].text, url.way, url.host, url.port);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(fleet_url_fault(bad[i]), "'%s' is taken", bad[i]);
	/* A host, a path and a URL as long as they may be, and one byte longer. */
	for (int n = 254; n <= 256; n++) {
		snprintf(text, sizeof(text), "redis://%0*d", n, 0);
		CHECK(!fleet_url_fault(text) == (n < (int)sizeof(url.host)), "a host of %d bytes", n);
	}
	for (int n = 106; n <= 108; n++) {
		snprintf(text, sizeof(text), "unix:///%0*d", n - 1, 0);
		CHECK(!fleet_url_fault(text) == (n <= 107), "a path of %d bytes", n);
		CHECK(n > 107 || (!fleet_url_read(&url, text) && !strcmp(url.host, text + 7)), "another path");
	}
	for (int n = FLEET_URL_MAX - 1; n <= FLEET_URL_MAX; n++) {
		const char *fault;

		snprintf(text, sizeof(text), "redis://%0*d", n - 8, 0);
		fault = fleet_url_fault(text);
		CHECK(fault && (n >= FLEET_URL_MAX) == !strcmp(fault, "too long for a URL"), "%d bytes: %s", n, fault);
	}
}

static void prefixes(void)
{
	char text[FLEET_PREFIX_MAX + 2];

	for (int n = FLEET_PREFIX_MAX - 1; n <= FLEET_PREFIX_MAX; n++) {
		snprintf(text, sizeof(text), "%0*d", n, 0);
		CHECK(!fleet_prefix_fault(text) == (n < FLEET_PREFIX_MAX), "a prefix of %d bytes", n);
	}
	for (int c = 1; c < 256; c++) {
		bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    strchr("._-:/", c);

		snprintf(text, sizeof(text), "x%cx", c);
		CHECK(!fleet_prefix_fault(text) == good, "byte %d in a prefix", c);
	}
}

/* What is asked is believed as far as each of its fields may go. */
static void asked_bounds(void)
{
	struct fleet_request asked = { .url = "redis://a", .name = "edge-7", .prefix = "x:" }, read, was = asked;
	char *const one_line[] = { asked.url, asked.user, asked.password, asked.ca, asked.read };
	char message[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(message, sizeof(message), &asked);

	CHECK(fleet_request_read(&read, message, n - 1) && read.pace == FLEET_PACE, "pace %llu",
	      (unsigned long long)read.pace);
	for (uint64_t pace = FLEET_PACE_MOST; pace <= FLEET_PACE_MOST + 1; pace++) {
		asked.pace = pace;
		n = fleet_request_write(message, sizeof(message), &asked);
		CHECK(fleet_request_read(&read, message, n - 1) == (pace == FLEET_PACE_MOST) && read.pace == pace,
		      "pace %llu", (unsigned long long)pace);
	}
	asked.pace = 1;
	strcpy(asked.read, "redis://b:7");
	n = fleet_request_write(message, sizeof(message), &asked);
	CHECK(fleet_request_read(&read, message, n - 1) && !memcmp(&read, &asked, sizeof(read)), "another request");
	for (size_t size = 1; size <= n; size++)
		CHECK(!fleet_request_write(message, size, &asked), "%zu bytes are in %zu", n, size);
	CHECK(fleet_request_write(message, n + 1, &asked) == n, "its length is not enough");
	strcpy(asked.read, "http://b");
	n = fleet_request_write(message, sizeof(message), &asked);
	CHECK(!fleet_request_read(&read, message, n - 1), "read at something else");
	for (size_t i = 0; i < sizeof(one_line) / sizeof(*one_line); i++) {
		asked = was;
		strcpy(one_line[i], "a\nb");
		CHECK(!fleet_request_write(message, sizeof(message), &asked), "text %zu of two lines", i);
		strcpy(one_line[i], "a\rb");
		CHECK(!fleet_request_write(message, sizeof(message), &asked), "text %zu with a return", i);
	}
}

static void requests(void)
{
	struct fleet_request asked = { .url = "redis://a",
				       .name = "edge-7",
				       .user = "u",
				       .password = "p w=\"#",
				       .prefix = "x:",
				       .pace = 70 },
			     read;
	char message[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(message, sizeof(message), &asked);

	CHECK(n > 2 && message[n - 1] == '\n' && message[n - 2] == '\n', "no empty line ends it");
	CHECK(fleet_request_read(&read, message, n - 1) && !memcmp(&read, &asked, sizeof(read)), "another request");
	asked.prefix[0] = '\0';
	n = fleet_request_write(message, sizeof(message), &asked);
	CHECK(fleet_request_read(&read, message, n - 1) && !strcmp(read.prefix, FLEET_PREFIX), "prefix '%s'",
	      read.prefix);
	strcpy(asked.password, "a\nname evil");
	CHECK(!fleet_request_write(message, sizeof(message), &asked), "a password of two lines");
	strcpy(asked.password, "p");
	strcpy(asked.prefix, "x*");
	n = fleet_request_write(message, sizeof(message), &asked);
	CHECK(!fleet_request_read(&read, message, n - 1), "a pattern as a prefix");
	strcpy(asked.prefix, "x:");
	strcpy(asked.name, "a b");
	n = fleet_request_write(message, sizeof(message), &asked);
	CHECK(!fleet_request_read(&read, message, n - 1), "a name with a blank");
}

/* fields: names and values in turn. */
static struct entry entry_of(const char *const *fields)
{
	struct entry e = { 0 };

	for (; *fields; fields += 2)
		entry_field(&e, fields[0], strcmp(fields[1], "NULL") ? fields[1] : NULL);
	return e;
}

#define ENTRY(...) entry_of((const char *const[]){ __VA_ARGS__, NULL })
#define PLACE	   "e", "0123456789abcdef", "n", "7"

static void entries(void)
{
	struct entry e = ENTRY(PLACE, "o", "+", "p", "192.0.2.0/24", "t", "1000", "r", "a\tb\033[31m\xff");

	CHECK(!entry_fault(&e) && e.n == 7 && e.ttl == 1000 && !strcmp(e.prefix, "192.0.2.0/24"), "%s",
	      entry_fault(&e));
	CHECK(!strpbrk(e.reason, "\t\033\n") && !strncmp(e.reason, "a?b?", 4), "'%s'", e.reason);
	e = ENTRY(PLACE, "o", "-", "p", "2001:DB8::/32", "x", "later", "", "");
	CHECK(!entry_fault(&e) && !strcmp(e.prefix, "2001:db8::/32"), "'%s'", e.prefix);
	e = ENTRY(PLACE, "o", "=");
	CHECK(!entry_fault(&e), "%s", entry_fault(&e));
	e = ENTRY(PLACE, "o", "+", "p", "::ffff:192.0.2.1", "t", "0");
	CHECK(!entry_fault(&e) && !strcmp(e.prefix, "192.0.2.1"), "'%s'", e.prefix);
}

static void bad_entries(void)
{
	static const char *const bad[][13] = {
		{ "o", "+", "p", "192.0.2.1", "t", "1" },
		{ PLACE },
		{ PLACE, "o", "+", "p", "192.0.2.1" },
		{ PLACE, "o", "+", "t", "1" },
		{ PLACE, "o", "-" },
		{ PLACE, "o", "*", "p", "192.0.2.1", "t", "1" },
		{ PLACE, "o", "", "p", "192.0.2.1", "t", "1" },
		{ PLACE, "o", "+", "p", "192.0.2.256", "t", "1" },
		{ PLACE, "o", "+", "p", "", "t", "1" },
		{ PLACE, "o", "+", "p", "NULL", "t", "1" },
		{ PLACE, "o", "+", "p", "192.0.2.1", "t", "-1" },
		{ PLACE, "o", "+", "p", "192.0.2.1", "t", "1e3" },
		{ PLACE, "o", "+", "p", "192.0.2.1", "t", "999999999999999999" },
		{ PLACE, "o", "+", "p", "192.0.2.1", "t", "18446744073709551617" },
		{ "e", "0123456789ABCDEF", "n", "1", "o", "-", "p", "192.0.2.1" },
		{ "e", "0123456789abcde", "n", "1", "o", "-", "p", "192.0.2.1" },
		{ "e", "0123456789abcdef", "n", "0", "o", "-", "p", "192.0.2.1" },
		{ "e", "0123456789abcdef", "n", "-1", "o", "-", "p", "192.0.2.1" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct entry e = entry_of(bad[i]);

		CHECK(entry_fault(&e), "entry %zu is taken", i);
	}
}

/* What each field says, to its last digit; and what of it is kept. */
static void entry_bounds(void)
{
	static const struct {
		const char *text;
		bool is;
		uint64_t number;
	} numbers[] = {
		{ "0", true, 0 },
		{ "007", true, 7 },
		{ "999999999999999999", true, 999999999999999999 },
		{ "9999999999999999999", false, 0 },
		{ "0000000000000000001", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "1 ", false, 0 },
		{ "1x", false, 0 },
	};
	struct entry e = ENTRY(PLACE, "o", "+", "p", "192.0.2.1", "t", "315576000000000");
	uint64_t number = 0;

	CHECK(!entry_fault(&e) && e.ttl == TTL_MOST && e.has_ttl && e.has_prefix && e.does == '+' &&
		      !strcmp(e.epoch, "0123456789abcdef"),
	      "%s", entry_fault(&e));
	e = ENTRY(PLACE, "o", "+", "p", "192.0.2.1", "t", "315576000000001");
	CHECK(entry_fault(&e) && !strcmp(entry_fault(&e), "its time is none"), "%s", entry_fault(&e));
	/* The first fault is the one; names of more than a byte are a later version's. */
	e = ENTRY("n", "x", "o", "?", "ee", "x", "", "NULL");
	CHECK(entry_fault(&e) && !strcmp(entry_fault(&e), "its number is none"), "%s", entry_fault(&e));
	e = ENTRY("n", "5", "n", "x", "", "NULL");
	CHECK(entry_fault(&e) && !strcmp(entry_fault(&e), "its number is none"), "%s", entry_fault(&e));
	e = ENTRY("e", "0123456789abcdeg", "n", "5", "o", "=");
	CHECK(entry_fault(&e) && !strcmp(entry_fault(&e), "its epoch is none"), "%s", entry_fault(&e));
	e = ENTRY("ee", "x", "nn", "x", PLACE, "o", "=");
	CHECK(!entry_fault(&e), "%s", entry_fault(&e));
	e = (struct entry){ 0 };
	entry_field(&e, NULL, "x");
	CHECK(!e.fault, "a name that is too long: %s", e.fault);
	e = ENTRY("n", "7", "o", "=");
	CHECK(!entry_is_numbered(&e) && !strcmp(entry_fault(&e), "it lacks a field"), "%s", entry_fault(&e));
	e = ENTRY("e", "0123456789abcdef", "o", "=");
	CHECK(!entry_is_numbered(&e) && !strcmp(entry_fault(&e), "it lacks a field"), "%s", entry_fault(&e));
	e = ENTRY(PLACE, "o", "-");
	CHECK(entry_is_numbered(&e) && !strcmp(entry_fault(&e), "it lacks a prefix"), "%s", entry_fault(&e));
	e = ENTRY(PLACE, "o", "+", "p", "192.0.2.1");
	CHECK(!strcmp(entry_fault(&e), "it lacks a time"), "%s", entry_fault(&e));
	e = ENTRY(PLACE, "o", "+-", "p", "192.0.2.1", "t", "1");
	CHECK(!strcmp(entry_fault(&e), "it says neither + nor -"), "%s", entry_fault(&e));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		CHECK(number_read(numbers[i].text, &number) == numbers[i].is &&
			      (!numbers[i].is || number == numbers[i].number),
		      "'%s' is %llu", numbers[i].text, (unsigned long long)number);
}

/* One way to write each; and of one that is none, nothing. */
static void canonical(void)
{
	static const struct {
		const char *text, *is;
		unsigned int length;
	} good[] = {
		{ "192.0.2.77/24", "192.0.2.0/24", 24 },
		{ "192.0.2.1/32", "192.0.2.1", 32 },
		{ "2001:DB8:0::1/128", "2001:db8::1", 128 },
		{ "::ffff:192.0.2.1/120", "192.0.2.0/24", 24 },
	};
	static const char *const bad[] = { "", "x", "192.0.2.1/33", "192.0.2.1/", "2001:db8::/129" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char text[PREFIX_TEXT_MAX] = "";
		struct addr first = { 0 };
		unsigned int length = 0;

		CHECK(!prefix_canonical(text, good[i].text, &first, &length) && !strcmp(text, good[i].is) &&
			      length == good[i].length,
		      "%s: '%s', %u", good[i].text, text, length);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[PREFIX_TEXT_MAX] = "as before";
		struct addr first = { 0, 4 };
		unsigned int length = 32;

		CHECK(prefix_canonical(text, bad[i], &first, &length) && !strcmp(text, "as before"), "'%s': '%s'",
		      bad[i], text);
	}
}

static void ids(void)
{
	static const char *const bad[] = {
		"", "-", "1", "1-", "-1", "1-2-3", "1-x", " 1-2", "123456789012345678901-0", "+1-0"
	};
	int64_t ms = 0;

	CHECK(id_read("1795479929705-1", &ms) && ms == 1795479929705, "%lld", (long long)ms);
	CHECK(id_read("18446744073709551615-18446744073709551615", &ms) && ms > 1LL << 60, "%lld", (long long)ms);
	CHECK(id_read("999999999999999999-0", &ms) && ms == 999999999999999999, "%lld", (long long)ms);
	CHECK(id_read("1000000000000000000-0", &ms) && ms == INT64_MAX / 2, "%lld", (long long)ms);
	CHECK(id_read("12345678901234567890-12345678901234567890", &ms), "20 digits");
	CHECK(!id_read("1-123456789012345678901", &ms), "21 digits");
	CHECK(id_is_later("18446744073709551615-1", "18446744073709551614-2") && !id_is_later("9-9", "10-0"),
	      "another order");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!id_read(bad[i], &ms), "'%s' is an id", bad[i]);
	/* Numbers, and not texts; and none of another base. */
	CHECK(id_is_later("5-10", "5-9") && !id_is_later("5-9", "5-10") && id_is_later("5-010", "5-9") &&
		      id_is_later("010-0", "9-0") && !id_is_later("9-0", "010-0") && !id_is_later("5-9", "5-010") &&
		      id_is_later("6-1", "5-9"),
	      "another order");
	CHECK(id_is_later("10-0", "9-9") && id_is_later("9-10", "9-9") && !id_is_later("9-9", "9-9") &&
		      !id_is_later("9-8", "9-9"),
	      "another order");
}

static void clocks(void)
{
	struct server_clock c = { 0 };
	int64_t now = boot_ms(), least, is, most;

	least = clock_ns(CLOCK_BOOTTIME) / 1000000;
	is = boot_ms();
	most = clock_ns(CLOCK_BOOTTIME) / 1000000;
	CHECK(least <= is && is <= most, "%lld, and not from %lld to %lld", (long long)is, (long long)least,
	      (long long)most);
	server_clock_learn(&c, 1000000, now - 10, now);
	CHECK(c.known && c.rtt == 10 && server_now(&c) - 1000005 < 1000, "%lld", (long long)server_now(&c));
	server_clock_learn(&c, 1000100, now, now + 500);
	CHECK(c.rtt == 10, "a worse answer is believed");
	server_clock_learn(&c, 1000000 + 86400000, now, now + 500);
	CHECK(c.rtt == 500, "a clock that was set is not noticed");
	/* Two answers of which each is right within half of its time. */
	for (int64_t off = 99; off <= 101; off++)
		for (int sign = -1; sign <= 1; sign += 2) {
			c = (struct server_clock){ .known = true, .ahead = 0, .rtt = 10, .since = 0 };
			server_clock_learn(&c, 50 + sign * off, 0, 100);
			CHECK((c.rtt == 10) == (off <= 100), "off by %lld: %lld", (long long)(sign * off),
			      (long long)c.rtt);
			CHECK(c.rtt == 10 || (c.ahead == sign * off && c.since == 100 && c.known), "ahead %lld",
			      (long long)c.ahead);
		}
	/* The better one, and whatever comes a minute later. */
	c = (struct server_clock){ .known = true, .ahead = 3, .rtt = 10, .since = 0 };
	server_clock_learn(&c, 59999 - 10, 59999 - 20, 59999);
	CHECK(c.rtt == 10 && c.ahead == 3, "a worse one after %d ms is believed", 59999);
	server_clock_learn(&c, 60000 - 10, 60000 - 20, 60000);
	CHECK(c.rtt == 20 && c.ahead == 0 && c.since == 60000, "one after a minute is not believed");
	server_clock_learn(&c, 70000 - 5, 70000 - 20, 70000);
	CHECK(c.since == 70000 && c.ahead == 5, "one as good is not believed");
	c = (struct server_clock){ .rtt = 1 };
	server_clock_learn(&c, 50, 0, 100);
	CHECK(c.known && c.rtt == 100, "the first is not believed");
	c.ahead = 86400000;
	CHECK(llabs(server_clock_offset(&c) - (server_now(&c) - (int64_t)time(NULL) * 1000)) <= 2000, "offset %lld",
	      (long long)server_clock_offset(&c));
}

static void acl(void)
{
	char text[1024] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");

	fleet_acl(file, FLEET_PREFIX, "edge-7", NULL);
	fclose(file);
	CHECK(strstr(text,
		     "ACL SETUSER edge-7 reset on >PASSWORD ~xdp-bloom:edge-7:* %R~xdp-bloom:* resetchannels &xdp-bloom:bell "
		     "+hello") &&
		      strstr(text, "\nSADD xdp-bloom:members edge-7\n"),
	      "%s", text);
	for (int i = 0; i < 2; i++) {
		memset(text, 0, sizeof(text));
		file = fmemopen(text, sizeof(text), "w");
		fleet_acl(file, "x:", "a", i ? "secret" : "#0123");
		fclose(file);
		CHECK(strstr(text, i ? " on >secret ~x:a:* %R~x:* resetchannels &x:bell +"
				     : " on #0123 ~x:a:* %R~x:* resetchannels &x:bell +") &&
			      strstr(text, "\nSADD x:members a\n"),
		      "%s", text);
	}
}

static const struct ktap_case cases[] = {
	{ "urls", urls },
	{ "requests", requests },
	{ "entries", entries },
	{ "bad_entries", bad_entries },
	{ "prefixes", prefixes },
	{ "asked_bounds", asked_bounds },
	{ "entry_bounds", entry_bounds },
	{ "canonical", canonical },
	{ "ids", ids },
	{ "clocks", clocks },
	{ "acl", acl },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
