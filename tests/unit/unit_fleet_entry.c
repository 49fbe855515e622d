// SPDX-License-Identifier: GPL-2.0-only
/* What xdp-bloom-fleet is asked, what it reads of a member's entries, and its lines: whole, damaged and hostile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fleet/acl.h"
#include "fleet/entry.h"
#include "fleet/lines.h"
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

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK(!fleet_url_read(&url, good[i].text) && (int)url.way == good[i].way &&
			      !strcmp(url.host, good[i].host) && !strcmp(url.port, good[i].port),
		      "%s: %d '%s' '%s'", good[i].text, url.way, url.host, url.port);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(fleet_url_fault(bad[i]), "'%s' is taken", bad[i]);
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

static void ids(void)
{
	static const char *const bad[] = {
		"", "-", "1", "1-", "-1", "1-2-3", "1-x", " 1-2", "123456789012345678901-0", "+1-0"
	};
	int64_t ms = 0;

	CHECK(id_read("1795479929705-1", &ms) && ms == 1795479929705, "%lld", (long long)ms);
	CHECK(id_read("18446744073709551615-18446744073709551615", &ms) && ms > 1LL << 60, "%lld", (long long)ms);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!id_read(bad[i], &ms), "'%s' is an id", bad[i]);
	CHECK(id_is_later("10-0", "9-9") && id_is_later("9-10", "9-9") && !id_is_later("9-9", "9-9") &&
		      !id_is_later("9-8", "9-9"),
	      "another order");
}

static void lines(void)
{
	char *fields[FLEET_FIELDS], *line, text[4096];
	struct outgoing out = { 0 };
	struct lines in = { 0 };
	int pair[2], n;

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	CHECK(!lines_next(&in) && !lines_fill(&in, pair[0]), "something came");
	memset(text, 'x', sizeof(text));
	outgoing_line(&out, "a\t\tb");
	outgoing_line(&out, "%.*s", (int)sizeof(text), text);
	outgoing_add(&out, "half", 4);
	CHECK(!outgoing_flush(&out, pair[1]) && !outgoing_waits(&out), "it does not go out");
	CHECK(lines_fill(&in, pair[0]) == 1, "nothing came");
	line = lines_next(&in);
	n = line ? lines_fields(line, fields) : 0;
	CHECK(n == 3 && !strcmp(fields[0], "a") && !*fields[1] && !strcmp(fields[2], "b") && !*fields[3], "%d fields",
	      n);
	line = lines_next(&in);
	CHECK(line && strlen(line) < FLEET_LINE_MAX, "a line that is too long");
	CHECK(!lines_next(&in), "half a line");
	/* One that has no end is given up, and what follows is read. */
	for (size_t i = 0; i < LINES_ROOM; i += sizeof(text)) {
		CHECK(write(pair[1], text, sizeof(text)) == sizeof(text), "no room");
		lines_fill(&in, pair[0]);
	}
	CHECK(lines_full(&in), "there is room");
	line = lines_next(&in);
	CHECK(line && !*line, "a line without an end is one");
	CHECK(write(pair[1], "\nlast\n", 6) == 6 && lines_fill(&in, pair[0]) >= 0, "it reads no more");
	while ((line = lines_next(&in)) && strcmp(line, "last") != 0)
		;
	CHECK(line || (lines_fill(&in, pair[0]) == 1 && lines_next(&in)), "the last line is lost");
	close(pair[1]);
	CHECK(err_is(lines_fill(&in, pair[0]), EPIPE), "its end is none");
	close(pair[0]);
	lines_free(&in);
	outgoing_free(&out);
}

static void clocks(void)
{
	struct server_clock c = { 0 };
	int64_t now = boot_ms();

	server_clock_learn(&c, 1000000, now - 10, now);
	CHECK(c.known && c.rtt == 10 && server_now(&c) - 1000005 < 1000, "%lld", (long long)server_now(&c));
	server_clock_learn(&c, 1000100, now, now + 500);
	CHECK(c.rtt == 10, "a worse answer is believed");
	server_clock_learn(&c, 1000000 + 86400000, now, now + 500);
	CHECK(c.rtt == 500, "a clock that was set is not noticed");
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
}

static const struct ktap_case cases[] = {
	{ "urls", urls }, { "requests", requests }, { "entries", entries }, { "bad_entries", bad_entries },
	{ "ids", ids },	  { "lines", lines },	    { "clocks", clocks },   { "acl", acl },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
