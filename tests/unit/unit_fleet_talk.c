// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lines between the service and the program that speaks to a fleet's server, the program being this test: what is
 * said goes out whole and in its order, however slowly it is read, and what comes is cut into words at every place.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fleet/client.h"
#include "ktap.h"

static int mallocs_left = -1; /* -1: all that are asked for */
static int start_err;

static void *given_malloc(size_t n)
{
	return mallocs_left && mallocs_left-- ? malloc(n) : NULL;
}

static int given_start(const struct fleet_request *request, pid_t *pid)
{
	*pid = request ? 7 : 0;
	return start_err ? because(start_err, "it cannot be started") : dup(0);
}

static int stopped_n;

/* Nothing is closed that was not there. */
static void given_stop(int fd, pid_t pid)
{
	CHECK(fd >= 0, "what is not there is stopped");
	stopped_n++;
	fleet_stop(fd, pid);
}

#define malloc	    given_malloc
#define fleet_stop  given_stop
#define fleet_start given_start
#include "feeds/fleet_talk.c"
#undef malloc

#define ROOM ((size_t)4 << 20) /* for what comes */

static int other;

/* In the place of those of the library: pieces are no longer than that, and each other call is interrupted. */
static size_t piece = SIZE_MAX;
static bool interrupts;

static bool interrupted(void)
{
	static bool now;

	now = interrupts && !now;
	if (now)
		errno = EINTR;
	return now;
}

/* Where nothing has failed, errno says nothing. */
static ssize_t done(ssize_t n)
{
	errno = n < 0 ? errno : EINTR;
	return n;
}

ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
	return interrupted() ? -1 : done(sendto(fd, bytes, n < piece ? n : piece, flags, NULL, 0));
}

ssize_t recv(int fd, void *bytes, size_t n, int flags)
{
	return interrupted() ? -1 : done(recvfrom(fd, bytes, n < piece ? n : piece, flags, NULL, NULL));
}

static bool begun(struct fleet_talk *w)
{
	int pair[2];

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "no sockets"))
		return false;
	*w = (struct fleet_talk){ .fd = pair[0], .in = malloc(ROOM + 1), .out = malloc(2 << 20) };
	if (!w->in || !w->out)
		abort();
	other = pair[1];
	return true;
}

static void ended(struct fleet_talk *w)
{
	close(w->fd);
	if (other >= 0)
		close(other);
	free(w->in);
	free(w->out);
}

static void come(const char *text, size_t n)
{
	CHECK(write(other, text, n) == (ssize_t)n, "it takes no more");
}

static void words(void)
{
	static const char text[] = "one\t\tthree\n\na\tb\tc\td\te\tf\tg\th\ti\thalf\nhalf";
	struct fleet_talk w;
	char *word[TALK_WORDS];

	if (!begun(&w))
		return;
	CHECK(!talk_waits(&w) && talk_words(&w, word) == -1 && !w.ended, "words of nothing");
	interrupts = true;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		come(text + i, 1);
		talk_turn(&w);
	}
	interrupts = false;
	CHECK(talk_words(&w, word) == 3 && !strcmp(word[0], "one") && !*word[1] && !strcmp(word[2], "three"),
	      "'%s' '%s' '%s'", word[0], word[1], word[2]);
	for (int i = 3; i < TALK_WORDS; i++)
		CHECK(!*word[i], "word %d is '%s'", i, word[i]);
	CHECK(talk_words(&w, word) == 1 && !*word[0] && !*word[7], "an empty line: '%s'", word[0]);
	talk_forget(&w);
	CHECK(talk_words(&w, word) == TALK_WORDS && !strcmp(word[0], "a") && !strcmp(word[6], "g") &&
		      !strcmp(word[7], "h\ti\thalf"),
	      "the last is '%s'", word[7]);
	CHECK(talk_words(&w, word) == -1 && !w.ended, "half a line");
	talk_forget(&w);
	come("\n", 1);
	talk_turn(&w);
	CHECK(talk_words(&w, word) == 1 && !strcmp(word[0], "half"), "'%s'", word[0]);
	talk_forget(&w);
	CHECK(!w.start && !w.end && !w.ended, "something is left");
	ended(&w);
}

/* Who writes without an end is not the program that was started. */
static void endless(void)
{
	static char line[TALK_LINE_MOST + 2];
	char *word[TALK_WORDS];
	struct fleet_talk w;

	memset(line, 'x', sizeof(line));
	if (!begun(&w))
		return;
	come("y\n", 2);
	come(line, TALK_LINE_MOST);
	talk_turn(&w);
	CHECK(talk_words(&w, word) == 1 && talk_words(&w, word) == -1 && !w.ended, "the longest line is none");
	come(line, 1);
	talk_turn(&w);
	CHECK(talk_words(&w, word) == -1 && w.ended, "a longer one is");
	ended(&w);
	if (!begun(&w))
		return;
	come("failed\tof this\nha", 17);
	close(other);
	other = -1;
	talk_turn(&w);
	CHECK(w.ended && talk_has_line(&w), "with its end the last line is gone");
	CHECK(talk_words(&w, word) == 2 && !talk_has_line(&w) && talk_words(&w, word) == -1, "an end is none");
	ended(&w);
}

static void full(void)
{
	static char lines[1 << 16];
	char *word[TALK_WORDS];
	struct fleet_talk w;
	size_t n = 0;

	memset(lines, '\n', sizeof(lines));
	if (!begun(&w))
		return;
	for (; n < ROOM; n += sizeof(lines)) {
		CHECK(!talk_is_full(&w), "full after %zu", n);
		come(lines, sizeof(lines));
		talk_turn(&w);
	}
	CHECK(talk_is_full(&w) && !w.ended, "not full: %zu", w.end);
	talk_turn(&w);
	CHECK(!w.ended, "full is an end");
	CHECK(talk_words(&w, word) == 1, "no words");
	talk_forget(&w);
	CHECK(!talk_is_full(&w) && w.end == ROOM - 1, "%zu are left", w.end);
	ended(&w);
}

/* As many as there is room for; and with a reader that takes a few bytes now and then. */
static void said(void)
{
	static char heard[4 << 20], wanted[4 << 20];
	size_t heard_n = 0, wanted_n = 0, lines = 0;
	struct fleet_talk w;
	char filler[200];
	ssize_t n;

	memset(filler, 'x', sizeof(filler));
	if (!begun(&w))
		return;
	CHECK(talk_has_room(&w), "no room at the start");
	while (wanted_n < sizeof(wanted) / 2) {
		piece = ktap_random() % 2 ? SIZE_MAX : 1 + ktap_random() % 1000;
		interrupts = ktap_random() % 2;
		while (talk_has_room(&w) && wanted_n < sizeof(wanted) / 2) {
			int length = (int)(ktap_random() % sizeof(filler));

			talk_say(&w, "%zu\t%.*s", lines, length, filler);
			wanted_n += (size_t)snprintf(wanted + wanted_n, sizeof(wanted) - wanted_n, "%zu\t%.*s\n",
						     lines++, length, filler);
		}
		CHECK(w.said < ((size_t)512 << 10) + sizeof(filler) + 30, "%zu wait", w.said);
		talk_turn(&w);
		interrupts = false;
		piece = SIZE_MAX;
		n = recv(other, heard + heard_n, 1 + ktap_random() % 100000, MSG_DONTWAIT);
		heard_n += n > 0 ? (size_t)n : 0;
	}
	while (talk_waits(&w) && !w.ended) {
		talk_turn(&w);
		n = recv(other, heard + heard_n, sizeof(heard) - heard_n, MSG_DONTWAIT);
		heard_n += n > 0 ? (size_t)n : 0;
	}
	while ((n = recv(other, heard + heard_n, sizeof(heard) - heard_n, MSG_DONTWAIT)) > 0)
		heard_n += (size_t)n;
	CHECK(!w.ended && heard_n == wanted_n && !memcmp(heard, wanted, wanted_n), "%zu of %zu bytes", heard_n,
	      wanted_n);
	ended(&w);
}

/* To the byte: what there is room for, and what is a batch. */
static void room(void)
{
	struct fleet_talk w;

	if (!begun(&w))
		return;
	for (size_t left = 3; left <= 8; left++)
		for (int n = 0; n <= 8; n++) {
			w.ended = false;
			w.said = (2 << 20) - left;
			talk_say(&w, "%.*s", n, "12345678");
			/* Behind it stand its end, and vsnprintf()'s. */
			CHECK(w.ended == ((size_t)n + 1 >= left) &&
				      w.said == (2 << 20) - left + (w.ended ? 0 : (size_t)n + 1),
			      "%d bytes where %zu are left: %zu", n, left, w.said);
			CHECK(w.ended || (w.out[w.said - 1] == '\n' && (!n || w.out[w.said - 2] == '0' + n)),
			      "another line");
		}
	for (size_t waits = (512 << 10) - 1; waits <= (512 << 10) + 1; waits++) {
		w.said = waits;
		CHECK(talk_has_room(&w) == (waits < 512 << 10) && talk_waits(&w), "room with %zu bytes", waits);
	}
	ended(&w);
}

/* Where nobody reads, it is ended before anything is written behind its room; and where nobody is there. */
static void unheard(void)
{
	struct fleet_talk w;
	size_t lines = 0;

	if (!begun(&w))
		return;
	for (; !w.ended && lines < 3 << 20; lines++)
		talk_say(&w, "x");
	CHECK(w.ended && w.said <= 2 << 20 && w.said > (2 << 20) - 4, "after %zu lines: %zu", lines, w.said);
	ended(&w);
	if (!begun(&w))
		return;
	close(other);
	other = -1;
	talk_say(&w, "x");
	talk_turn(&w);
	CHECK(w.ended, "nobody is there");
	talk_stop(&w);
	CHECK(w.ended && w.fd == -1 && !w.in && !w.out, "it is not stopped");
}

/* It does not read any more, and has not ended. */
static void deaf(void)
{
	struct fleet_talk w;

	if (!begun(&w))
		return;
	shutdown(other, SHUT_RD);
	talk_turn(&w);
	CHECK(!w.ended, "it has ended, and nothing was said");
	talk_say(&w, "x");
	talk_turn(&w);
	CHECK(w.ended, "what nobody takes is no end");
	ended(&w);
}

/* Its process ends with it, and its socket is closed. */
static void stopped(void)
{
	struct fleet_talk w;
	pid_t child;
	int fd;

	stopped_n = 0;
	if (!begun(&w))
		return;
	fd = w.fd;
	child = w.pid = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	if (child < 0)
		abort();
	talk_stop(&w);
	CHECK(kill(child, 0) && errno == ESRCH, "it goes on");
	CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "it stays open");
	close(other);
	/* Once more there is nothing to stop. */
	talk_stop(&w);
	CHECK(w.fd == -1 && w.ended && stopped_n == 1, "it has begun again, and is stopped %d times", stopped_n);
}

static void starts(void)
{
	struct fleet_request request = { 0 };
	struct fleet_talk w;

	for (int n = 0; n < 2; n++) {
		mallocs_left = n;
		CHECK(err_is(talk_start(&w, &request), ENOMEM) && w.fd == -1, "it starts without memory, after %d", n);
		mallocs_left = -1;
		talk_stop(&w);
	}
	start_err = -EAGAIN;
	CHECK(err_is(talk_start(&w, &request), EAGAIN) && w.fd < 0, "it starts");
	w.fd = -1;
	talk_stop(&w);
	start_err = 0;
	CHECK(!talk_start(&w, &request) && w.fd > 0 && w.pid == 7 && !w.ended && !w.said && !w.end, "it is not there");
	close(w.fd);
	w.fd = -1;
	talk_stop(&w);
}

/* What lay there before is no line. */
static void what_was_there(void)
{
	char *got[TALK_WORDS];
	struct fleet_talk w;

	if (!begun(&w))
		return;
	come("a\nbb\n", 5);
	talk_turn(&w);
	CHECK(talk_has_line(&w) && talk_words(&w, got) == 1 && !strcmp(got[0], "a"), "no line");
	talk_forget(&w);
	CHECK(talk_has_line(&w) && talk_words(&w, got) == 1 && !strcmp(got[0], "bb"), "no other line");
	CHECK(!talk_has_line(&w) && talk_words(&w, got) == -1 && !w.ended, "another line");
	ended(&w);
}

static const struct ktap_case cases[] = {
	{ "starts", starts }, { "what was there", what_was_there },
	{ "words", words },   { "endless", endless },
	{ "full", full },     { "said", said },
	{ "room", room },     { "unheard", unheard },
	{ "deaf", deaf },     { "stopped", stopped },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
