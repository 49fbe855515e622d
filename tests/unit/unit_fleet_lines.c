// SPDX-License-Identifier: GPL-2.0-only
/* The lines of xdp-bloom-fleet, both ways: cut off, too long, and in pieces of any size. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"

static bool no_memory;
static int fails;		 /* once, whatever is read or sent: with that */
static size_t some = ~(size_t)0; /* no more is sent at once */

static bool fails_once(void)
{
	errno = fails;
	fails = 0;
	return errno;
}

static ssize_t given_read(int fd, void *to, size_t n)
{
	ssize_t got = fails_once() ? -1 : read(fd, to, n);

	errno = got < 0 ? errno : EAGAIN; /* what is not asked for means nothing */
	return got;
}

static ssize_t given_send(int fd, const void *bytes, size_t n, int flags)
{
	if (flags != (MSG_NOSIGNAL | MSG_DONTWAIT))
		abort();
	return fails_once() ? -1 : send(fd, bytes, n < some ? n : some, flags);
}

#define malloc(n)	(no_memory ? NULL : malloc(n))
#define realloc(old, n) (no_memory ? NULL : realloc(old, n))
#define read		given_read
#define send		given_send
#include "fleet/lines.c"
#undef malloc
#undef realloc
#undef read
#undef send

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
	outgoing_line(&out, "%s", "");
	CHECK(outgoing_waits(&out) == 1 && !outgoing_flush(&out, pair[1]) && lines_fill(&in, pair[0]) == 1, "%zu bytes",
	      outgoing_waits(&out));
	line = lines_next(&in);
	CHECK(line && !strcmp(line, "half"), "'%s'", line ?: "none");
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
	char *fields[FLEET_FIELDS + 1] = { 0 }, text[2 * FLEET_LINE_MAX], *line, eight[] = "1\t2\t3\t4\t5\t6\t7\t8",
				    nine[] = "1\t2\t3\t4\t5\t6\t7\t8\t9";
	int pair[2], n;

	n = lines_fields(eight, fields);
	CHECK(n == 8 && !strcmp(fields[7], "8"), "%d, the last is '%s'", n, fields[7]);
	n = lines_fields(nine, fields);
	CHECK(n == 9 && !strcmp(fields[7], "8") && !fields[8], "%d, the last is '%s'", n, fields[7]);
	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	memset(text, 'x', sizeof(text));
	for (n = FLEET_LINE_MAX - 3; n <= FLEET_LINE_MAX + 1; n++) {
		int kept = n < FLEET_LINE_MAX - 2 ? n : FLEET_LINE_MAX - 2;
		struct outgoing out = { 0 };
		struct lines in = { 0 };

		CHECK(outgoing_line(&out, "%.*s", n, text) && outgoing_waits(&out) == (size_t)kept + 1 &&
			      !memcmp(out.bytes, text, (size_t)kept) && out.bytes[kept] == '\n',
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

static void without_memory(void)
{
	struct outgoing out = { 0 };
	struct lines in = { 0 };

	no_memory = true;
	CHECK(err_is(lines_fill(&in, 0), ENOMEM) && !lines_next(&in), "it is read");
	CHECK(!outgoing_add(&out, "a", 1) && !outgoing_line(&out, "a") && !outgoing_waits(&out), "it goes out");
	no_memory = false;
	CHECK(outgoing_add(&out, "ab", 2) && out.room == 4096, "%zu bytes of room", out.room);
	no_memory = true;
	/* There is room for so much, and what waits stays. */
	CHECK(outgoing_room(&out, 4094) == out.bytes + 2 && !outgoing_room(&out, 4095), "another room");
	CHECK(outgoing_waits(&out) == 2 && !memcmp(out.bytes, "ab", 2), "what waits is lost");
	/* And where what was sent lies before it: that is not moved where there is room behind it. */
	outgoing_sent(&out, 1);
	CHECK(outgoing_room(&out, 4094) == out.bytes + 2, "it is moved");
	CHECK(outgoing_room(&out, 4095) == out.bytes + 1 && *out.bytes == 'b', "there is no room");
	no_memory = false;
	CHECK(outgoing_room(&out, 4096) == out.bytes + 1 && out.room == 8192, "%zu bytes of room", out.room);
	CHECK(outgoing_room(&out, 20000) && out.room == 32768, "%zu bytes of room", out.room);
	outgoing_free(&out);
}

/* What a burst took is given back; what a line takes is kept. */
static void kept(void)
{
	static const size_t rooms[] = { 1, 4096, 65536, 65537 };

	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		struct outgoing out = { 0 };

		outgoing_added(&out, outgoing_room(&out, rooms[i]) ? 1 : 0);
		outgoing_sent(&out, 1);
		CHECK(!out.end && out.room == (i < 2	? 4096
					       : i == 2 ? 65536
							: 0),
		      "of %zu bytes %zu are kept", rooms[i], out.room);
		outgoing_free(&out);
	}
}

/* Half a line stays until the rest of it comes, and what lay there before is none of it. */
static void half_a_line(void)
{
	static const struct {
		const char *comes, *lines[4];
	} steps[] = {
		{ "xxxx\nyy\n\n", { "xxxx", "yy", "" } }, { "a\nbc", { "a" } }, { "d", { NULL } },
		{ "e\nf\ng", { "bcde", "f" } },		  { "\n", { "g" } },
	};
	struct lines in = { 0 };
	char *line;
	int pair[2];

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	CHECK(!lines_full(&in), "what is empty is full");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		ssize_t n = (ssize_t)strlen(steps[i].comes);

		CHECK(write(pair[1], steps[i].comes, (size_t)n) == n && lines_fill(&in, pair[0]) == 1, "nothing came");
		for (int k = 0; k < 4; k++) {
			line = lines_next(&in);
			CHECK(steps[i].lines[k] ? line && !strcmp(line, steps[i].lines[k]) : !line, "step %zu: '%s'", i,
			      line ?: "none");
			if (!line)
				break;
		}
	}
	/* Nor is what has moved. */
	CHECK(write(pair[1], "a\nb\n", 4) == 4 && lines_fill(&in, pair[0]) == 1, "nothing came");
	line = lines_next(&in);
	CHECK(line && !strcmp(line, "a") && write(pair[1], "c", 1) == 1 && lines_fill(&in, pair[0]) == 1, "'%s'",
	      line ?: "none");
	line = lines_next(&in);
	CHECK(line && !strcmp(line, "b") && !lines_next(&in), "'%s', and what is behind it", line ?: "none");
	lines_free(&in);
	close(pair[0]);
	close(pair[1]);
}

/* With all its room taken it reads nothing, and what is no whole line yet is given up only where it takes it all. */
static void full(void)
{
	static char text[LINES_ROOM];
	struct lines in = { 0 };
	int pair[2];
	char *line;

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	memset(text, 'x', sizeof(text));
	text[2] = '\n';
	for (size_t at = 0; at < sizeof(text); at += 4096)
		CHECK(write(pair[1], text + at, 4096) == 4096 && lines_fill(&in, pair[0]) == 1, "no room");
	CHECK(lines_full(&in) && !lines_fill(&in, pair[0]), "it reads on");
	line = lines_next(&in);
	CHECK(line && !strcmp(line, "xx"), "'%s'", line ?: "none");
	CHECK(!lines_full(&in) && !lines_next(&in), "half a line is one");
	CHECK(write(pair[1], "yyyy", 4) == 4 && lines_fill(&in, pair[0]) == 1, "it does not read on");
	line = lines_next(&in);
	CHECK(line && !*line, "'%.10s'", line ?: "none");
	CHECK(lines_fill(&in, pair[0]) == 1 && !lines_next(&in) && in.end == 1, "%zu bytes", in.end);
	lines_free(&in);
	close(pair[0]);
	close(pair[1]);
}

/* It is cut off, or interrupted. */
static void calls_fail(void)
{
	static const struct {
		int with, reads, sends;
	} known[] = { { EAGAIN, 0, 0 }, { EINTR, 0, 0 }, { EIO, EPIPE, EIO }, { ECONNRESET, EPIPE, ECONNRESET } };
	char text[8] = "";
	int pair[2];

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct outgoing out = { 0 };
		struct lines in = { 0 };
		int err;

		fails = known[i].with;
		err = lines_fill(&in, pair[0]);
		CHECK(known[i].reads ? err_is(err, known[i].reads) : !err, "%s: it reads %d", strerror(known[i].with),
		      err);
		outgoing_add(&out, "abc", 3);
		fails = known[i].with;
		err = outgoing_flush(&out, pair[1]);
		CHECK(known[i].sends ? err_is(err, known[i].sends) : !err, "%s: it sends %d", strerror(known[i].with),
		      err);
		CHECK(outgoing_waits(&out) == (known[i].with == EINTR ? 0 : 3), "%s: %zu wait", strerror(known[i].with),
		      outgoing_waits(&out));
		lines_free(&in);
		outgoing_free(&out);
	}
	CHECK(read(pair[0], text, 7) == 3 && !strcmp(text, "abc"), "'%s' has come", text);
	close(pair[0]);
	close(pair[1]);
}

/* By one byte at a time, and each is sent once. */
static void in_parts(void)
{
	struct outgoing out = { 0 };
	char text[16] = "";
	int pair[2];

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	some = 1;
	outgoing_add(&out, "abcdef", 6);
	CHECK(!outgoing_flush(&out, pair[1]) && !outgoing_waits(&out), "%zu wait", outgoing_waits(&out));
	CHECK(read(pair[0], text, 15) == 6 && !strcmp(text, "abcdef"), "'%s' has come", text);
	some = ~(size_t)0;
	outgoing_free(&out);
	close(pair[0]);
	close(pair[1]);
}

static const struct ktap_case cases[] = {
	{ "without memory", without_memory },
	{ "what is kept", kept },
	{ "half a line", half_a_line },
	{ "no more room", full },
	{ "calls that fail", calls_fail },
	{ "in parts", in_parts },
	{ "lines", lines },
	{ "longest", longest },
	{ "queue", queue },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
