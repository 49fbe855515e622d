// SPDX-License-Identifier: GPL-2.0-only
/* The lines of xdp-bloom-fleet, both ways: cut off, too long, and in pieces of any size. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fleet/lines.h"
#include "ktap.h"

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

/* The longest line each way, and one byte more; and as many fields as there may be. */
static void longest(void)
{
	char *fields[FLEET_FIELDS], text[2 * FLEET_LINE_MAX], *line, eight[] = "1\t2\t3\t4\t5\t6\t7\t8",
								     nine[] = "1\t2\t3\t4\t5\t6\t7\t8\t9";
	int pair[2], n;

	n = lines_fields(eight, fields);
	CHECK(n == 8 && !strcmp(fields[7], "8"), "%d, the last is '%s'", n, fields[7]);
	n = lines_fields(nine, fields);
	CHECK(n == 9 && !strcmp(fields[7], "8"), "%d, the last is '%s'", n, fields[7]);
	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	memset(text, 'x', sizeof(text));
	for (n = FLEET_LINE_MAX - 3; n <= FLEET_LINE_MAX + 1; n++) {
		int kept = n < FLEET_LINE_MAX - 2 ? n : FLEET_LINE_MAX - 2;
		struct outgoing out = { 0 };
		struct lines in = { 0 };

		CHECK(outgoing_line(&out, "%.*s", n, text) && outgoing_waits(&out) == (size_t)kept + 1,
		      "a line of %d bytes: %zu", n, outgoing_waits(&out));
		outgoing_free(&out);
		CHECK(write(pair[1], text, (size_t)n) == n && write(pair[1], "\n", 1) == 1, "no room");
		CHECK(lines_fill(&in, pair[0]) == 1, "nothing came");
		line = lines_next(&in);
		CHECK(line && strlen(line) == (n < FLEET_LINE_MAX ? (size_t)n : 0), "a line of %d bytes: %zu", n,
		      line ? strlen(line) : 0);
		CHECK(!lines_next(&in) && !lines_full(&in), "another line");
		lines_free(&in);
		CHECK(!in.bytes && !in.end, "it is still there");
	}
	{
		struct lines in = { 0 };

		CHECK(write(pair[1], "a\0b\nc\n", 6) == 6 && lines_fill(&in, pair[0]) == 1, "nothing came");
		line = lines_next(&in);
		CHECK(line && !*line, "a line with a NUL");
		line = lines_next(&in);
		CHECK(line && !strcmp(line, "c"), "the line behind it");
		lines_free(&in);
	}
	close(pair[0]);
	close(pair[1]);
}

/* Added and sent in any pieces, against all that was ever added. */
static void queue(void)
{
	static char all[1 << 22];
	struct outgoing out = { 0 };
	size_t added = 0, sent = 0;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)ktap_random();
	for (int i = 0; i < 4000 && added < sizeof(all) - 20000; i++) {
		size_t n = 1 + ktap_random() % (ktap_random() % 8 ? 300 : 20000), waits = outgoing_waits(&out);

		if (ktap_random() % 2) {
			CHECK(outgoing_add(&out, all + added, n), "no memory");
			added += n;
		} else if (waits) {
			n = ktap_random() % 5 && n < waits ? n : waits;
			outgoing_sent(&out, n);
			sent += n;
			CHECK(outgoing_waits(&out) || (!out.at && !out.end && out.room <= 64 << 10),
			      "%zu bytes are kept for nothing", out.room);
		}
		if (!CHECK(outgoing_waits(&out) == added - sent && out.end <= out.room &&
				   !memcmp(out.bytes ? out.bytes + out.at : all, all + sent, added - sent),
			   "after %d: %zu of %zu wait", i, outgoing_waits(&out), added - sent))
			break;
	}
	outgoing_free(&out);
	CHECK(!out.bytes && !out.room && !outgoing_waits(&out), "it is still there");
}

static const struct ktap_case cases[] = {
	{ "lines", lines },
	{ "longest", longest },
	{ "queue", queue },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
