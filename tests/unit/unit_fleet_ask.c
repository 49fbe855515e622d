// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is asked of a fleet's server goes out whole, in pieces as it is taken; and which member's head is asked for
 * when, so that all have their turn and the server its rest. The server and the clock are made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fleet/internal.h"
#include "fleet/tls.h"
#include "shown.h"

static const struct shown known_texts[] = {
#include "unit_fleet_ask.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_ask.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static int64_t now_ms;
static unsigned int asked_n, no_memory;
static int last_words;
static const char *last_key;

static void given_ask(const struct server *s, const struct taker *taker, void *arg, int n, const char *const words[])
{
	static char key[400];

	(void)s;
	asked_n++;
	last_words = n;
	snprintf(key, sizeof(key), "%s", n > 1 ? words[1] : "");
	last_key = key;
	if (asked_n < 25) {
		printf("%7lld", (long long)now_ms);
		for (int i = 0; i < n; i++)
			printf(" %s", words[i]);
		printf(", %llu bytes at most\n", (unsigned long long)taker->most);
	}
	if (taker->drop)
		taker->drop(arg);
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define server_ask_words given_ask
#define calloc(n, size)	 given_calloc(n, size)
#include "fleet/follow.c"
#undef server_ask_words
#undef calloc

/* --- What goes out --- */

static const int *takes; /* so many bytes each time; or -errno; behind the last 0, all */
static bool by_tls;

static ssize_t taken(const char *bytes, size_t n)
{
	int some = *takes ? *takes++ : (int)n;

	printf("  %zu bytes: '%.*s': ", n, (int)n, bytes);
	if (some < 0) {
		errno = -some;
		puts(strerror(errno));
		errno = -some;
		return -1;
	}
	printf("%d\n", some);
	return some;
}

static ssize_t given_send(int fd, const void *bytes, size_t n, int flags)
{
	if (by_tls || fd != 77 || flags != MSG_NOSIGNAL)
		puts("  otherwise");
	return taken(bytes, n);
}

static ssize_t given_tls_send(const struct tls *tls, const void *bytes, size_t n)
{
	if (!by_tls || tls != (struct tls *)&by_tls)
		puts("  otherwise");
	return taken(bytes, n);
}

#define send	 given_send
#define tls_send given_tls_send
#include "fleet/server.c"
#undef send

static void sends(const char *text, const int *some)
{
	struct server s = { .fd = 77, .tls = by_tls ? (struct tls *)&by_tls : NULL };

	if (*text && !outgoing_add(&s.out, text, strlen(text)))
		abort();
	takes = some;
	for (int i = 0; i < 3; i++) {
		send_out(&s);
		printf("= %zu wait%s%s\n", outgoing_waits(&s.out), *s.why ? ", " : "", s.why);
	}
	outgoing_free(&s.out);
}

static void goes_out(void)
{
	static const int all[] = { 0 }, pieces[] = { 1, 3, -EAGAIN, 2, 0 }, wait[] = { -EAGAIN, -EAGAIN, 0 },
			 fails[] = { 2, -EPIPE, 0 }, at_once[] = { -ECONNRESET, 0 };

	for (int i = 0; i < 2; i++) {
		by_tls = i;
		sends("", all);
		sends("question", all);
		sends("question", pieces);
		sends("question", wait);
		sends("question", fails);
		sends("question", at_once);
	}
}

/* --- Heads --- */

static struct wire wire;
static struct member_heard heard[600];
static struct member_heard *members[600];
static struct fleet_request request = { .prefix = "xb:" };

static void followed(size_t n)
{
	memset(&wire, 0, sizeof(wire));
	wire.request = &request;
	wire.follow.members = members;
	wire.follow.n = n;
	for (size_t i = 0; i < n; i++) {
		heard[i] = (struct member_heard){ .followed = true };
		snprintf(heard[i].name, sizeof(heard[i].name), "m%zu", i);
		members[i] = &heard[i];
	}
	asked_n = 0;
	now_ms = 0;
}

static void until(int64_t end, int64_t step)
{
	for (; now_ms < end; now_ms += step)
		ask_heads(&wire, now_ms);
	printf("= %u asked by %lld, the next at %lld\n", asked_n, (long long)now_ms, (long long)wire.follow.next_head);
}

static void heads(void)
{
	static const size_t numbers[] = { 0, 1, 3, 7, 199, 600 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		printf("-- %zu members\n", numbers[i]);
		followed(numbers[i]);
		until(i < 4 ? 20001 : 1001, 1);
	}
	puts("-- some are not followed, one was asked already");
	followed(5);
	heard[1].followed = heard[4].followed = false;
	heard[2].head_at = 15000;
	until(25000, 10);
	puts("-- nobody is followed");
	for (int i = 0; i < 5; i++)
		heard[i].followed = false;
	until(40000, 10);
	puts("-- seldom looked at, and again at once");
	followed(2);
	until(30000, 9000);
	ask_heads(&wire, now_ms);
	ask_heads(&wire, now_ms + 4999);
	ask_heads(&wire, now_ms + 5000);
	puts("-- no memory");
	followed(2);
	no_memory = 1;
	until(6000, 10);
	no_memory = 0;
	until(20000, 10);
}

/* Whatever joins and leaves, everybody who is followed is asked within two rounds. */
static void all_have_their_turn(void)
{
	for (int round = 0; round < 50 && !ktap_failed; round++) {
		size_t n = 1 + ktap_random() % 50;
		int64_t asked_at[50] = { 0 }, begin = 0;

		followed(n);
		for (size_t i = 0; i < n; i++)
			heard[i].followed = ktap_random() % 4;
		asked_n = 100; /* in silence */
		for (; now_ms < 100000; now_ms += 1 + (int64_t)(ktap_random() % 100)) {
			unsigned int before = asked_n;

			last_key = NULL;
			ask_heads(&wire, now_ms);
			if (!CHECK(asked_n - before <= 1, "%u at once", asked_n - before))
				return;
			for (size_t i = 0; i < n && last_key; i++) {
				size_t length = strlen(last_key), name = strlen(heard[i].name);
				const char *at = strstr(last_key, heard[i].name);

				if (at && at + name <= last_key + length && (at[name] < '0' || at[name] > '9')) {
					if (!CHECK(heard[i].followed, "%s is not followed", heard[i].name))
						return;
					asked_at[i] = now_ms;
				}
			}
			for (size_t i = 0; i < n; i++)
				if (heard[i].followed && !CHECK(now_ms - (asked_at[i] ?: begin) <= 2 * 10000 + 200,
								"%zu members: %s was not asked since %lld", n,
								heard[i].name, (long long)asked_at[i]))
					return;
		}
	}
}

/* --- What is told the command --- */

static void say_told(void)
{
	printf("%.*s", (int)outgoing_waits(&wire.out), outgoing_waits(&wire.out) ? wire.out.bytes + wire.out.at : "");
	outgoing_sent(&wire.out, outgoing_waits(&wire.out));
}

/* Each time for twice as long, up to ten minutes. */
static void left_alone(void)
{
	followed(1);
	for (int i = 0; i < 12; i++) {
		follow_leave_alone(&wire, &heard[0]);
		say_told();
	}
	outgoing_free(&wire.out);
}

static void on_line(char *a, char *b, char *c)
{
	char *fields[FLEET_FIELDS] = { a, b, c, c, c, c, c, c };

	follow_line(&wire, strcmp(a, "follow") ? 2 : 6, fields);
}

/* Nobody new is taken, whoever speaks of them; and who is there stays. */
static void no_more_members(void)
{
	static struct server talk = { .fd = -1 };
	char follow[] = "follow", unfollow[] = "unfollow", name[] = "new", old[] = "m0", none[] = "1";
	struct reply_value member = { .kind = REPLY_TEXT, .text = "new", .length = 3, .depth = 1 };

	followed(3);
	wire.read = &talk;
	no_memory = 1;
	on_line(follow, name, none);
	on_line(unfollow, name, none);
	take_name(&wire, &member);
	on_line(unfollow, old, none);
	heard[0].followed = true;
	heard[0].alone = true;
	probe(&wire, &heard[0]);
	say_told();
	printf("= %zu members, %u asked, %zu asked alone, %s\n", wire.follow.n, asked_n, wire.follow.probes,
	       heard[0].refused ? "one is refused" : "none is refused");
	no_memory = 0;
	outgoing_free(&wire.out);
}

/* A hundred in one question, and then those behind them. */
static void many_logs(void)
{
	followed(150);
	for (size_t i = 0; i < 150; i++)
		heard[i].rung = true;
	for (int i = 0; i < 3; i++) {
		size_t read = 0;

		asked_n = 100; /* in silence */
		last_words = 0;
		wire.follow.reading = false;
		read_some(&wire);
		for (size_t k = 0; k < 150; k++)
			read += heard[k].reading;
		printf("%d words of %zu logs, %s %s, the next is %zu\n", last_words, read,
		       wire.follow.reading ? "reads" : "reads nothing", heard[120].rung ? "without m120" : "with m120",
		       wire.follow.next_log);
	}
}

/* Nothing of an answer is left that was cut off. */
static void cut_off(void)
{
	followed(1);
	wire.follow.member = &heard[0];
	wire.follow.reading = wire.follow.failed = wire.follow.moved = true;
	wire.follow.probes = 3;
	follow_down(&wire);
	CHECK(!wire.follow.member && !wire.follow.reading && !wire.follow.failed && !wire.follow.moved &&
		      !wire.follow.probes,
	      "something is left");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "goes out", goes_out },
					       { "heads", heads },
					       { "left alone", left_alone },
					       { "no more members", no_more_members },
					       { "many logs", many_logs } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "word for word", word_for_word },
		{ "all have their turn", all_have_their_turn },
		{ "an answer that is cut off", cut_off },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
