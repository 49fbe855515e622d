// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines as they come, against a naive cut of the same text: over a socket, from files, and from named pipes, whose
 * writers come and go.
 */
#include "made_stream.h"

static void lines(void)
{
	static char text[1 << 18];
	static size_t begins[4000], ends[4000];
	size_t n = 0, at = 0, next = 0, refused = 0, lost = 0;
	struct stream s;

	for (size_t end = 0; n < 4000 && end < sizeof(text) - 10000; n++) {
		unsigned int kind = (unsigned int)(ktap_random() % 200);
		size_t length = !kind	     ? 4096 + ktap_random() % 4096
				: kind == 1  ? 4094 + ktap_random() % 5
				: kind < 100 ? ktap_random() % 20
					     : ktap_random() % 200;

		begins[n] = end;
		memset(text + end, 'a' + (int)(n % 26), length);
		end += length;
		ends[n] = end;
		text[end++] = '\n';
	}
	if (!shared(&s, false))
		return;
	while (at < ends[n - 1] + 1 && !ktap_failed) {
		size_t most = ends[n - 1] + 1 - at, some = 1 + ktap_random() % (ktap_random() % 4 ? 300 : 6000), length;
		char *line;
		ssize_t put = write(other, text + at, some < most ? some : most);

		at += put > 0 ? (size_t)put : 0;
		while (stream_read(&s))
			;
		while ((line = stream_line(&s, &length))) {
			/* Those between were too long. */
			for (; next + 1 < s.number; next++, refused++)
				if (ends[next] - begins[next] <= STREAM_LINE_MOST)
					lost++;
			CHECK(s.number == next + 1 && next < n && length == ends[next] - begins[next] &&
				      !memcmp(line, text + begins[next], length) && line[length] == '\n',
			      "line %llu of %zu bytes", s.number, length);
			next++;
		}
		CHECK(!stream_has_line(&s) && !stream_is_full(&s), "a line is left");
		stream_forget(&s);
		CHECK(!s.start && s.end <= STREAM_LINE_MOST + 1, "%zu bytes are kept", s.end);
		heard((char[9000]){ 0 }, 9000);
	}
	for (; next < n; next++, refused++)
		lost += ends[next] - begins[next] <= STREAM_LINE_MOST;
	CHECK(!lost && s.bad_n == refused, "%zu lost; %zu refused, and it says %llu", lost, refused, s.bad_n);
	CHECK(!s.ended, "it has ended");
	close(other);
	CHECK(!stream_read(&s) && s.ended, "its end is none");
	stream_end(&s);
}

/* One that is exactly too long. */
static void longest(void)
{
	static char line[STREAM_LINE_MOST + 1], text[200];
	struct stream s;
	size_t length;

	memset(line, 'x', sizeof(line));
	if (!shared(&s, false))
		return;
	CHECK(write(other, line, STREAM_LINE_MOST) == STREAM_LINE_MOST && stream_read(&s), "no bytes");
	CHECK(!stream_line(&s, &length) && !s.bad_n && !s.number, "the longest line is refused");
	CHECK(write(other, "\n", 1) == 1 && stream_read(&s), "no bytes");
	CHECK(stream_line(&s, &length) && length == STREAM_LINE_MOST && s.number == 1, "%zu bytes", length);
	stream_forget(&s);
	CHECK(write(other, line, sizeof(line)) == sizeof(line) && stream_read(&s), "no bytes");
	CHECK(!stream_line(&s, &length) && s.bad_n == 1 && s.number == 1 && s.skips, "a longer one is not");
	CHECK(write(other, "more\nnext\n", 10) == 10 && stream_read(&s), "no bytes");
	CHECK(stream_line(&s, &length) && length == 4 && s.number == 3 && s.bad_n == 1, "line %llu", s.number);
	stream_tell(&s);
	heard(text, sizeof(text));
	CHECK(!strcmp(text, "no 2 it is too long\n"), "'%s'", text);
	/* What has no end when its writer goes. */
	CHECK(write(other, "half", 4) == 4 && stream_read(&s) && !stream_line(&s, &length), "no bytes");
	shutdown(other, SHUT_WR);
	CHECK(!stream_read(&s) && s.ended && s.number == 4, "line %llu", s.number);
	stream_tell(&s);
	heard(text, sizeof(text));
	CHECK(!strcmp(text, "no 4 it has no end, and was not taken\n"), "'%s'", text);
	close(other);
	stream_end(&s);
}

static void files(void)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stream s;

	CHECK(fd >= 0 && write(fd, "one\n\ntwo\nhalf", 13) == 13, "no file");
	close(fd);
	s = opened(file, NULL, 0);
	expect(&s, "one");
	expect(&s, "");
	expect(&s, "two");
	expect(&s, NULL);
	CHECK(s.number == 4 && s.bad_n == 1 && s.out == STDOUT_FILENO, "line %llu, %llu bad", s.number, s.bad_n);
	CHECK(!closed(&s), "a status");
	unlink(file);
	s = opened("-", NULL, 0);
	CHECK(!strcmp(s.name, "standard input") && s.in == 0 && s.out == 1 && !closed(&s) && fcntl(0, F_GETFD) >= 0,
	      "'%s'", s.name);
	s = opened(file, NULL, ENOENT);
	closed(&s);
	s = opened(directory, NULL, EISDIR);
	closed(&s);
}

/* Writers come and go; what one leaves without an end is not the next one's beginning. */
static void writers(void)
{
	struct stream s;
	int fd;

	CHECK(!mkfifo(file, 0600), "no pipe");
	s = opened(file, NULL, 0);
	CHECK(fcntl(s.in, F_GETFD) == FD_CLOEXEC, "it goes to commands, too");
	for (int i = 0; i < 3; i++) {
		fd = open(file, O_WRONLY | O_CLOEXEC);
		CHECK(write(fd, "one\nhalf", 8) == 8, "it takes no more");
		expect(&s, "one");
		close(fd);
		CHECK(!stream_read(&s) && !s.ended && fcntl(s.in, F_GETFD) == FD_CLOEXEC &&
			      s.number == 2 * (unsigned int)(i + 1) && s.bad_n == i + 1U,
		      "line %llu, %llu bad", s.number, s.bad_n);
	}
	fd = open(file, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	CHECK(fd >= 0, "nobody reads it");
	CHECK(write(fd, "two\n", 4) == 4, "it takes no more");
	expect(&s, "two");
	close(fd);
	closed(&s);
	unlink(file);
}

/* As much as any pipe may have, up to a megabyte. */
static void large_pipe(void)
{
	int most[2];
	struct stream s;

	NEEDED(!pipe2(most, O_CLOEXEC) && !mkfifo(file, 0600));
	fcntl(most[0], F_SETPIPE_SZ, 1 << 20);
	s = opened(file, NULL, 0);
	CHECK(fcntl(s.in, F_GETPIPE_SZ) == fcntl(most[0], F_GETPIPE_SZ), "%d bytes", fcntl(s.in, F_GETPIPE_SZ));
	closed(&s);
	close(most[0]);
	close(most[1]);
	unlink(file);
}

/* What was written whole is taken before its end is one. */
static void lines_before_the_end(void)
{
	char text[20];
	size_t length;
	struct stream s;
	char *line;

	if (!shared(&s, false))
		return;
	stream_refuse(&s, 1, NULL, "it is wrong");
	stream_refuse(&s, 2, NULL, "it is wrong");
	CHECK(heard(text, sizeof(text)) == 17 && !strcmp(text, "no 1 it is wrong\n"), "'%s' is told at once", text);
	stream_tell(&s);
	heard(text, sizeof(text));
	stream_acknowledge(&s, 0);
	stream_acknowledge(&s, 3);
	CHECK(heard(text, sizeof(text)) == 5 && !strcmp(text, "ok 3\n"), "'%s' is told at once", text);
	CHECK(write(other, "a\nb", 3) == 3 && stream_read(&s), "no bytes");
	shutdown(other, SHUT_WR);
	CHECK(!stream_read(&s) && !s.ended && s.bad_n == 2, "it has ended");
	line = stream_line(&s, &length);
	CHECK(line && length == 1 && *line == 'a', "no line");
	CHECK(!stream_read(&s) && s.ended && s.bad_n == 3, "it has not ended");
	close(other);
	stream_end(&s);
}

static void without_memory(void)
{
	struct stream s = { 0 };

	mallocs_left = 0;
	CHECK(err_is(stream_open(&s, "-", NULL), ENOMEM), "it is open");
	for (int n = 0; n < 2; n++) {
		mallocs_left = n;
		CHECK(err_is(stream_share(&s, "name", -1), ENOMEM), "after %d it is shared", n);
		stream_end(&s);
	}
	mallocs_left = -1;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "lines", lines },
		{ "longest", longest },
		{ "files", files },
		{ "writers", writers },
		{ "a large pipe", large_pipe },
		{ "lines before the end", lines_before_the_end },
		{ "without memory", without_memory },
	};

	return stream_run(cases, sizeof(cases) / sizeof(*cases));
}
