// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that speaks to a fleet's server, one part at a time: whose an answer is, when somebody has waited for too
 * long, how soon it looks again, and what time it is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/internal.h"
#include "ktap.h"

static int64_t now_given;

static int64_t boot_given(void)
{
	return now_given;
}

static bool no_memory;

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define boot_ms boot_given
#define calloc	given_calloc
#include "fleet/server.c"
#include "fleet/wire.c"
#undef calloc

/* --- A server at the other end --- */

static struct fleet_request request;
static struct fleet_url url;
static struct server server;
static int there;
static char came[4096];

static void put(const char *fmt, ...)
{
	size_t n = strlen(came);
	va_list args;

	va_start(args, fmt);
	vsnprintf(came + n, sizeof(came) - n, fmt, args);
	va_end(args);
}

static void took(void *arg, const struct reply_value *v)
{
	put("%s=%s ", (const char *)arg, v->kind == REPLY_ARRAY ? "*" : v->text);
}

static void ended(void *arg)
{
	put("%s. ", (const char *)arg);
}

static void dropped(void *arg)
{
	put("%s! ", (const char *)arg);
}

static void too_long(void *arg)
{
	put("%s+ ", (const char *)arg);
}

static const struct taker taker = { took, ended, dropped, too_long, 0 }, pushed = { .take = took },
			  short_one = { took, ended, dropped, too_long, 16 }, without = { .take = took };

static bool begin(void)
{
	int pair[2];

	*came = '\0';
	now_given = 1000;
	free(server.asked);
	server = (struct server){ 0 };
	server_begin(&server, &request, &url);
	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return false;
	server.fd = pair[0];
	there = pair[1];
	server.open = true;
	server.replies = replies_new(on_element, on_end, &server);
	return CHECK(server.replies, "no memory");
}

static void end(void)
{
	server_close(&server);
	close(there);
}

static void says(const char *text)
{
	CHECK(write(there, text, strlen(text)) == (ssize_t)strlen(text), "'%s' is not taken", text);
	server_io(&server, POLLIN, true);
}

static bool is(const char *what, const char *wanted, const char *why)
{
	bool same = CHECK(!strcmp(came, wanted) && !strcmp(server.why, why), "%s: '%s' '%s', not '%s' '%s'", what, came,
			  server.why, wanted, why);

	*came = '\0';
	return same;
}

static void whose(void)
{
	static const char nobody[] = "it says something that nobody has asked for";
	char wanted[4096] = "", name[300][8];

	if (!begin())
		return;
	says("+OK\r\n");
	is("unasked", "", nobody);
	CHECK(server.fd < 0, "it is still open");
	end();
	if (!begin())
		return;
	server.push = &pushed;
	server.push_arg = "push";
	says("$4\r\nbell\r\n");
	is("unasked, where something comes so", "push=bell ", "");
	ASK(&server, &taker, "a", "ONE");
	ASK(&server, &without, "b", "TWO");
	says("*2\r\n$1\r\nx\r\n$1\r\ny\r\n+z\r\n-ERR no\r\n");
	is("asked, then unasked", "a=* a=x a=y a. b=z push=ERR no ", "");
	/* More than there was room for, and around its end. */
	for (int i = 0; i < 300; i++) {
		snprintf(name[i], sizeof(name[i]), "%d", i);
		ASK(&server, &taker, name[i], "X");
		if (i % 3 == 2) {
			says("+v\r\n");
			snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%d=v %d. ", i / 3, i / 3);
		}
	}
	is("in their order", wanted, "");
	CHECK(server.n == 200, "%zu wait", server.n);
	*wanted = '\0';
	for (int i = 100; i < 300; i++)
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%d! ", i);
	end();
	is("what waits when it is closed", wanted, "");
	ASK(&server, &taker, "c", "THREE");
	is("where there is no connection", "", "");
	CHECK(!server.n, "it waits");
	for (int i = 0; i < 4; i++) {
		static const char *const errors[] = { "LOADING x", "MASTERDOWN x", "BUSY x", "BUSYGROUP x" };
		char line[64];

		if (!begin())
			return;
		ASK(&server, &taker, "a", "ONE");
		snprintf(line, sizeof(line), "-%s\r\n", errors[i]);
		says(line);
		is(errors[i], i < 3 ? "a! " : "a=BUSYGROUP x a. ", i < 3 ? errors[i] : "");
		end();
	}
	if (!begin())
		return;
	ASK(&server, &taker, "a", "ONE");
	says("-LOADING x\r\n+y\r\n");
	is("what comes behind that", "a! ", "LOADING x");
	end();
	if (!begin())
		return;
	ASK(&server, &taker, "a", "ONE");
	ASK(&server, &taker, "b", "TWO");
	says("*2\r\n-LOADING x\r\n$1\r\ny\r\n");
	is("what only begins so within an answer", "a=* a=LOADING x a=y a. ", "");
	end();
}

static void how_long(void)
{
	for (int over = 0; over < 2; over++) {
		if (!begin())
			return;
		ASK(&server, &short_one, "a", "ONE");
		ASK(&server, &taker, "b", "TWO");
		/* Of 16 bytes, without its end; and of 17. */
		says(over ? "$20\r\n0123456789ab" : "$20\r\n0123456789a");
		is("an answer", over ? "a+ a! b! " : "",
		   over ? "an answer of it is longer than what was asked for can be" : "");
		end();
	}
	/* What comes whole in one piece never is, and the next has its own. */
	if (!begin())
		return;
	ASK(&server, &short_one, "a", "ONE");
	ASK(&server, &short_one, "b", "TWO");
	says("$20\r\n0123456789abcdefghij\r\n$1\r\nx\r\n");
	*came = '\0';
	CHECK(!*server.why && !server.n && !server.since, "%s, %zu", server.why, server.n);
	end();
	/* The next one has its own bound, and its own bytes: from the piece on in which the one before has ended. */
	if (!begin())
		return;
	ASK(&server, &taker, "a", "ONE");
	ASK(&server, &short_one, "b", "TWO");
	says("$10\r\n012");
	says("3456789\r\n");
	says("$20\r\n01");
	is("two of them", "a=0123456789 a. ", "");
	says("2");
	is("the second is longer", "b+ b! ", "an answer of it is longer than what was asked for can be");
	end();
	if (!begin())
		return;
	ASK(&server, &without, "a", "ONE");
	server.most = 3;
	says("$9\r\n");
	is("nobody is told", "", "an answer of it is longer than what was asked for can be");
	end();
}

static void patience(void)
{
	static const struct {
		bool open;
		int64_t waits, rests;
		const char *why;
	} known[] = {
		{ true, 9999, 0, "" },
		{ true, 10000, 0, "it does not answer" },
		{ true, 99999, 1, "" },
		{ false, 9999, 0, "" },
		{ false, 10000, 0, "it does not accept a connection" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!begin())
			return;
		if (!known[i].rests)
			ASK(&server, &taker, "a", "ONE");
		server.open = known[i].open;
		server_patience(&server, 1000 + known[i].waits, 10000);
		is("it waits", *known[i].why ? "a! " : "", known[i].why);
		CHECK((server.fd < 0) == (*known[i].why != '\0'), "%zu: it is open: %d", i, server.fd);
		end();
		*came = '\0';
	}
	/* It is the first answer's time, and a piece of it begins it anew. */
	if (!begin())
		return;
	ASK(&server, &taker, "a", "ONE");
	now_given = 5000;
	ASK(&server, &taker, "b", "TWO");
	CHECK(server.since == 1000, "since %lld", (long long)server.since);
	now_given = 7000;
	says("*2\r\n+x\r\n");
	CHECK(server.since == 7000, "since %lld", (long long)server.since);
	now_given = 8000;
	says("+y\r\n");
	CHECK(server.since == 8000, "since %lld", (long long)server.since);
	now_given = 9000;
	says("+z\r\n");
	CHECK(!server.since, "since %lld", (long long)server.since);
	end();
}

/* --- The wire --- */

/* It neither sleeps over what is due, nor looks without an end. */
static void until_it_is_due(void)
{
	struct wire *w = calloc(1, sizeof(*w));
	int64_t all[4], least;

	if (!w)
		abort();
	now_given = 50000;
	w->talk.fd = -1;
	w->again_at = 50700;
	CHECK(until_due(w, 50000) == -1, "the command has not said where it is: %d", until_due(w, 50000));
	w->own.told = true;
	CHECK(until_due(w, 50000) == 700 && until_due(w, 50699) == 1, "a new try: %d", until_due(w, 50000));
	CHECK(!until_due(w, 50700) && !until_due(w, 90000), "it is due: %d", until_due(w, 50700));
	w->again_at = 50000 + 60000;
	CHECK(until_due(w, 50000) == 60000 && until_due(w, 49999) == 60000, "a minute: %d", until_due(w, 49999));
	w->talk.fd = 0;
	CHECK(until_due(w, 50000) == 1000, "it connects: %d", until_due(w, 50000));
	w->up = true;
	w->read = &w->talk;
	w->clock_at = INT64_MAX;
	for (int i = 0; i < 2000; i++) {
		w->clock_at = i % 2 ? INT64_MAX : 50000 + (int64_t)(ktap_random() % 3000);
		w->own.check_at = w->own.touch_at = w->own.prune_at = 50000 + (int64_t)(ktap_random() % 3000);
		w->follow.set_at = w->follow.read_at = w->follow.all_at = w->follow.ping_at =
			50000 + (int64_t)(ktap_random() % 3000);
		all[0] = own_due(w);
		all[1] = follow_due(w);
		all[2] = snapshot_due(w);
		all[3] = w->clock_at;
		least = 51000;
		for (int k = 0; k < 4; k++)
			least = all[k] < least ? all[k] : least;
		if (!CHECK(until_due(w, 50000) == (least < 50000 ? 0 : least - 50000),
			   "%d, not %lld: of %lld, %lld, %lld, %lld", until_due(w, 50000), (long long)least - 50000,
			   (long long)all[0], (long long)all[1], (long long)all[2], (long long)all[3]))
			break;
	}
	free(w);
}

/* The first of its times; nothing is due while it waits for an answer, or has none. */
static void own_is_due(void)
{
	static const int64_t times[][3] = {
		{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 }
	};
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		w->own.state = OWN_KNOWN;
		w->own.touch_at = times[i][0];
		w->own.check_at = times[i][1];
		w->own.prune_at = times[i][2];
		CHECK(own_due(w) == 1, "case %zu: at %lld", i, (long long)own_due(w));
	}
	w->own.busy = true;
	CHECK(own_due(w) == INT64_MAX, "it is busy");
	w->own.busy = false;
	w->own.made = 1;
	CHECK(own_due(w) == INT64_MAX, "something is made");
	w->own.made = 0;
	w->own.next[0] = 'x';
	CHECK(own_due(w) == INT64_MAX, "all of it is said");
	w->own.next[0] = '\0';
	w->own.state = OWN_LOST;
	CHECK(own_due(w) == INT64_MAX, "it is lost");
	free(w);
}

/* As long as the server takes what is asked of it. */
static void listens(void)
{
	struct wire *w = calloc(1, sizeof(*w));
	static char some[1 << 20];

	if (!w)
		abort();
	CHECK(may_listen(w), "it does not listen");
	w->own.busy = true;
	CHECK(!may_listen(w), "it listens while it is busy");
	w->own.busy = false;
	w->talk.n = ASKED_MOST - 1;
	CHECK(may_listen(w), "it does not listen");
	w->talk.n = ASKED_MOST;
	CHECK(!may_listen(w), "it listens while so much is asked");
	w->talk.n = 0;
	if (!outgoing_add(&w->talk.out, some, TALK_MOST - 1))
		abort();
	CHECK(may_listen(w), "it does not listen");
	if (!outgoing_add(&w->talk.out, some, 1))
		abort();
	CHECK(!may_listen(w), "it listens while so much waits");
	outgoing_free(&w->talk.out);
	free(w);
}

/* While the command does not read, no server is heard; whose answer may have come is not said to be late. */
static void waits_for_the_command(void)
{
	static char some[1 << 20];
	struct wire *w = calloc(1, sizeof(*w));
	int command[2], talk[2], full[2], in = dup(0);
	char text[8];

	if (!w || in < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, command) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, talk) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, full))
		abort();
	while (write(full[0], some, sizeof(some)) > 0)
		;
	dup2(command[0], 0);
	w->request = &request;
	w->talk.fd = talk[0];
	w->talk.open = true;
	/* These two still connect. */
	w->ear.fd = w->other.fd = full[0];
	w->read = &w->talk;
	w->talk.since = w->other.since = 5;
	now_given = 50000;
	if (!outgoing_add(&w->out, some, sizeof(some)) || !outgoing_add(&w->talk.out, "asked", 5) ||
	    write(talk[1], "said", 4) != 4)
		abort();
	turn(w);
	CHECK(!w->ended && w->talk.since == 50000 && w->other.since == 50000, "since %lld, and %lld",
	      (long long)w->talk.since, (long long)w->other.since);
	CHECK(read(talk[0], text, 8) == 4 && read(talk[1], text, 8) == 5, "it is heard, or not asked");
	CHECK(!w->ear.open && !w->other.open, "one is open: %d, %d", w->ear.open, w->other.open);
	w->ear.fd = w->other.fd = -1;
	/* It speaks to nobody any more. */
	close(command[1]);
	turn(w);
	CHECK(w->ended, "it goes on without a command");
	outgoing_free(&w->out);
	outgoing_free(&w->talk.out);
	lines_free(&w->in);
	free(w);
	dup2(in, 0);
	close(in);
	close(command[0]);
	for (int i = 0; i < 2; i++) {
		close(talk[i]);
		close(full[i]);
	}
	no_memory = true;
	CHECK(err_is(wire_run(&request), ENOMEM), "it runs without memory");
	no_memory = false;
}

static void element(struct wire *w, int at, const char *text)
{
	take_time(w, &(struct reply_value){ .kind = REPLY_TEXT, .text = text, .depth = 1, .at = { at } });
}

/* "TIME" has seconds and microseconds. */
static void what_time_it_is(void)
{
	static const struct {
		const char *s, *us;
		int64_t ms; /* 0: it does not say */
	} known[] = {
		{ "1700000000", "123456", 1700000000123 },
		{ "1700000000", "0", 1700000000000 },
		{ "1700000001", "999999", 1700000001999 },
		{ "1099511627775", "1000", 1099511627775001 },
		{ "1700000000", "x", 0 },
		{ "1700000000", "1099511627776", 0 },
		{ "1700000000", "-1", 0 },
	};
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		w->clock = (struct server_clock){ 0 };
		w->asked_time = 5000;
		now_given = 5010;
		element(w, 0, known[i].s);
		element(w, 1, known[i].us);
		CHECK(w->clock.known == (known[i].ms != 0) && (!known[i].ms || w->clock.ahead == known[i].ms - 5005) &&
			      !*w->talk.why,
		      "%zu: %d, %lld ahead", i, w->clock.known, (long long)w->clock.ahead);
	}
	/* Once it is known, it is said, and asked for again. */
	w->up = true;
	w->clock = (struct server_clock){ .known = true, .rtt = 10 };
	end_time(w);
	CHECK(w->clock_at == 5010 + CLOCK_EVERY && !w->asked_time && outgoing_waits(&w->out) > 6 &&
		      !memcmp(w->out.bytes, "clock\t-", 7) && !memcmp(w->out.bytes + w->out.end - 4, "\t10\n", 4),
	      "asked again at %lld", (long long)w->clock_at);
	w->up = false;
	outgoing_sent(&w->out, outgoing_waits(&w->out));
	/* No time is none, and an error says why. */
	w->clock = (struct server_clock){ 0 };
	w->talk.fd = -1;
	end_time(w);
	CHECK(!strcmp(w->talk.why, "it does not say what time it is") && !w->up && !outgoing_waits(&w->out), "'%s'",
	      w->talk.why);
	*w->talk.why = '\0';
	take_time(w, &(struct reply_value){ .kind = REPLY_ERROR, .text = "NOPERM no" });
	CHECK(!strcmp(w->talk.why, "NOPERM no"), "'%s'", w->talk.why);
	outgoing_free(&w->out);
	free(w);
}

/* Each try waits twice as long, up to a bound; that it is down is said once. */
static void tries_again(void)
{
	static const int64_t waits[] = { 200, 400, 800, 1600, 3000, 3000 };
	struct wire *w = calloc(1, sizeof(*w));
	int64_t least = INT64_MAX, most = 0;

	if (!w)
		abort();
	w->talk.fd = w->other.fd = w->ear.fd = -1;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		size_t before = outgoing_waits(&w->out);

		now_given = 1000;
		go_down(w, "gone");
		CHECK(w->wait == waits[i] && w->again_at >= 1000 + waits[i] / 2 && w->again_at <= 1000 + waits[i],
		      "try %zu: %lld, at %lld", i, (long long)w->wait, (long long)w->again_at);
		CHECK((outgoing_waits(&w->out) > before) == !i, "try %zu: %zu bytes are said", i,
		      outgoing_waits(&w->out) - before);
	}
	CHECK(outgoing_waits(&w->out) == 10 && !memcmp(w->out.bytes + w->out.at, "down\tgone\n", 10),
	      "it says %zu bytes", outgoing_waits(&w->out));
	w->up = w->clock.known = true;
	w->asked_time = 5;
	w->greeting = 2;
	w->talk.fd = dup(0);
	w->other.fd = dup(0);
	w->ear.fd = dup(0);
	go_down(w, "gone");
	CHECK(w->talk.fd < 0 && w->other.fd < 0 && w->ear.fd < 0, "%d, %d, %d are open", w->talk.fd, w->other.fd,
	      w->ear.fd);
	CHECK(!w->asked_time && !w->greeting, "it waits for an answer");
	CHECK(outgoing_waits(&w->out) == 20 && !w->up && !w->clock.known, "it says %zu bytes", outgoing_waits(&w->out));
	/* It was up for so long that it is tried at once, or not. */
	for (int i = 0; i < 2; i++) {
		w->up = true;
		w->wait = 1600;
		w->up_at = now_given - AGAIN_MOST - i;
		go_down(w, "gone");
		CHECK(w->wait == (i ? 200 : 3000), "%lld", (long long)w->wait);
	}
	for (int i = 0; i < 5000; i++) {
		int64_t ms = with_jitter(100);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	CHECK(least == 50 && most == 100, "%lld to %lld", (long long)least, (long long)most);
	outgoing_free(&w->out);
	free(w);
}

/* Why it is down is told once; and once more that somebody else is there. */
static void is_told(void)
{
	static const struct {
		bool strange;
		const char *told;
	} each[] = {
		{ false, "down\twhy\n" },
		{ false, "" },
		{ true, "down\twhy\tstrange\n" },
		{ true, "" },
		{ false, "" },
		{ true, "down\twhy\tstrange\n" },
	};
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->talk.fd = w->other.fd = w->ear.fd = -1;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		w->ear.here.strange = each[i].strange;
		go_down(w, "why");
		CHECK(outgoing_waits(&w->out) == strlen(each[i].told) &&
			      (!*each[i].told || !memcmp(w->out.bytes + w->out.at, each[i].told, strlen(each[i].told))),
		      "%zu: %zu bytes", i, outgoing_waits(&w->out));
		outgoing_sent(&w->out, outgoing_waits(&w->out));
	}
	outgoing_free(&w->out);
	free(w);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "whose an answer is", whose },
		{ "how long it may be", how_long },
		{ "how long it may take", patience },
		{ "when something is due", until_it_is_due },
		{ "when its own is due", own_is_due },
		{ "when it listens", listens },
		{ "a command that does not read", waits_for_the_command },
		{ "what time it is", what_time_it_is },
		{ "when it is tried again", tries_again },
		{ "how often it is told", is_told },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
