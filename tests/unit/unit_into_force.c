// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of streams into force: which transactions are made of them where a guard rail or anything else is in the way,
 * how many lines go together, and what each stream is told; with changes and a clock that are made up, word for word.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "change/ban.h"
#include "change/ban_sum.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "state/events.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_into_force.txt"
};

static struct shows shows = { .file = "tests/unit/unit_into_force.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define FAULTS 12

static struct change made;
static int faults[FAULTS]; /* what each transaction fails with, one after the other */
static size_t faults_n;
static int begin_err, with_err;
static double now, takes;	/* s; takes: for each order */
static unsigned int stop_after; /* waits */

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%8.3f ", now);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static int begun, open_now;   /* changes */
static int callocs_left = -1; /* -1: all that are asked for */

static void *given_calloc(size_t n, size_t size)
{
	return callocs_left && callocs_left-- ? calloc(n, size) : NULL;
}

static int given_begin(struct change **change, struct context *context)
{
	(void)context;
	*change = &made;
	begun++;
	open_now++;
	made.live.g.number = 7;
	return begin_err ? because(begin_err, "no change can be made") : 0;
}

static void given_end(struct change *change)
{
	if (change && change != &made)
		abort();
	open_now -= change != NULL;
}

/* What is wider than /9 is too much. */
static int given_sum(struct state *state, struct ban_order *orders, size_t n, char why[256])
{
	if (state != made.state)
		abort();
	for (size_t i = 0; i < n; i++)
		if (!orders[i].del && !orders[i].much && orders[i].prefix.length < 9 && n > 1) {
			orders[i].much = true;
			snprintf(why, 256, "%zu together are too much", n);
		}
	return 0;
}

/* An address that ends with .66 a guard rail refuses, nor .67, even if it is to wait; .88 only where others say it; .77
 * is not there to be taken out.
 */
static int given_orders(struct change *change, const struct ban_options *options, const char *whose,
			struct ban_order *orders, size_t n, struct banned *banned)
{
	char text[PREFIX_TEXT_MAX];
	int err = faults_n < FAULTS ? faults[faults_n++] : 0;
	bool refused = false;

	(void)change;
	(void)options;
	printf("%8.3f orders%s%s:", now, whose ? " of " : "", whose ?: "");
	for (size_t i = 0; i < n; i++) {
		uint8_t last = (uint8_t)orders[i].prefix.first.num;

		if (i < 4 || i + 1 == n)
			printf(" %s%s%s%s", i == 4 ? "... " : "", orders[i].waits ? "waiting " : "",
			       orders[i].del	   ? "-"
			       : orders[i].account ? "@"
						   : "+",
			       prefix_text(text, orders[i].prefix.first, (int)orders[i].prefix.length));
		if (orders[i].much) {
			printf(" without %zu", i);
			continue;
		}
		orders[i].waits = orders[i].waits && last != 67;
		refused = refused || ((last == 66 || last == 67) && !orders[i].waits);
		orders[i].missed = orders[i].del && last == 77;
		banned->added += !orders[i].del && last < 50 && !orders[i].waits;
		banned->renewed += !orders[i].del && last >= 50 && last < 60;
		banned->kept += !orders[i].del && last >= 60 && last != 88 && !orders[i].waits;
		banned->refused += last == 88;
	}
	printf(" (%zu)\n", n);
	now += takes * (double)n;
	return err ? because(err, "not now") : refused ? guard_because("an address of this machine") : 0;
}

static int given_commit(struct change *change, const struct apply_options *options)
{
	(void)change;
	(void)options;
	return 0;
}

static void given_banned(struct banned *banned)
{
	(void)banned;
}

static void given_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	if (fds || n)
		abort();
	line("waits %lld s", (long long)time->tv_sec);
	now += (double)time->tv_sec;
	if (stop_after && !--stop_after)
		stop_asked = SIGTERM;
}

static double given_seconds(void)
{
	return now;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%8.3f ! ", now);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	va_list args;

	(void)context;
	va_start(args, fmt);
	printf("%8.3f event%s %s of %llu: ", now,
	       e.kind == EVENT_DONE	? ""
	       : e.kind == EVENT_FAULT	? ", a fault"
	       : e.kind == EVENT_HEALED ? ", healed"
					: " of another kind",
	       e.verb ?: "-", e.generation);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

#define calloc		given_calloc
#define change_begin	given_begin
#define change_end	given_end
#define change_commit	given_commit
#define ban_orders	given_orders
#define ban_sum		given_sum
#define banned_free	given_banned
#define stop_poll	given_poll
#define clock_seconds() given_seconds()
#define warn		given_warn
#define note		given_warn
#define event(...)	given_event(__VA_ARGS__)
#include "feeds/into_force.c"
#include "feeds/batch.c"

static struct context context = CONTEXT_DEFAULT;

/* --- Orders --- */

static struct into_force f;

static void on_refused(void *arg, size_t at, const char *why)
{
	CHECK(arg == &f, "what is refused is another's");
	line("order %zu is refused: %s", at, why);
}

static void on_done(void *arg, size_t n)
{
	CHECK(arg == &f, "what is done is another's");
	line("%zu are in force", n);
}

static int on_with(void *arg, struct change *change, size_t n)
{
	CHECK(arg == &f && change == &made, "it is put with another's");
	line("with them, of %zu", n);
	return with_err ? because(with_err, "that cannot be kept") : 0;
}

static void put(const char *text)
{
	struct ban_order orders[32];
	size_t n = 0;
	int err;

	while (*text) {
		size_t length = strcspn(text, " ");

		orders[n] = (struct ban_order){ .del = *text == '-', .account = *text == '@' ? "edge-7" : NULL };
		if (prefix_parse(text + 1, length - 1, &orders[n].prefix.first, &orders[n].prefix.length))
			abort();
		n++;
		text += length + (text[length] == ' ');
	}
	err = into_force(&f, orders, n);
	line("%s; %zu bans, %zu kept, %zu ended, %zu missed, %zu refused, %zu wait, longest %.3f s",
	     err ? errno_text(err) : "done", f.bans, f.kept, f.ended, f.missed, f.refused_n, f.waits, f.longest);
}

static void goes_well(void)
{
	put("");
	put("+192.0.2.1 +192.0.2.2 +192.0.2.55 +192.0.2.60 -192.0.2.9 -192.0.2.77");
	put("+192.0.2.60 -192.0.2.77");
	put("-192.0.2.77 +192.0.2.88 -192.1.2.77 +192.0.2.88 -192.0.2.1 -192.0.2.8");
	put("+192.0.2.88");
	f.verb = "fleet";
	f.whose = "crowdsec ";
	f.with = on_with;
	put("-192.0.2.9");
	put("+192.0.2.55");
}

static void is_refused(void)
{
	/* For good, whatever is tried: beside an image that has no place for it, above the limit of memory. */
	faults[0] = faults[1] = -EXFULL;
	put("+192.0.2.1 +192.0.2.2");
	faults_n = 0;
	faults[0] = faults[1] = -E2BIG;
	put("+192.0.2.1 -192.0.2.2");
	faults_n = 0;
	memset(faults, 0, sizeof(faults));
	put("+192.0.2.66");
	put("+192.0.2.1 +192.0.2.2 +192.0.2.3 +192.0.2.4 +192.0.2.5 +192.0.2.66 +192.0.2.7 +192.0.2.8 +192.0.2.9 +192.0.2.10"
	    " +192.0.2.11");
	put("+192.0.2.66 +192.1.2.66");
	/* What is too much is found once, for all of them. */
	put("+16.0.0.0/8 +192.0.2.1 +17.0.0.0/8 +192.0.2.66 +18.0.0.0/8");
	put("+16.0.0.0/8 +17.0.0.0/8");
	put("+16.0.0.0/8");
	/* What a member says waits then: but for .67, which counts already. */
	put("@192.0.2.66");
	put("@192.0.2.66 @192.0.2.1 @192.1.2.66 +192.0.2.66 @192.0.2.67 @192.2.2.66");
	faults_n = 0;
	faults[0] = -EXFULL;
	put("@192.0.2.1");
	faults_n = 0;
	memset(faults, 0, sizeof(faults));
}

static void is_tried_again(void)
{
	for (size_t i = 0; i < 8; i++)
		faults[i] = -EBUSY;
	put("+192.0.2.1 +192.0.2.2");
	put("+192.0.2.3");
	faults_n = 0;
	memset(faults, 0, sizeof(faults));
	faults[0] = faults[2] = faults[3] = -ENOSPC;
	put("+192.0.2.1 +192.0.2.66");
	f.with = on_with;
	with_err = -EIO;
	stop_after = 2;
	put("+192.0.2.1");
	stop_asked = 0;
	begin_err = -EBUSY;
	stop_after = 1;
	put("+192.0.2.1");
	put("+192.0.2.1");
}

/* --- Lines --- */

static struct batch b;
static struct stream streams[2];
static int others[2];

static void open_streams(void)
{
	static const char *const names[] = { "one", "two" };

	for (int i = 0; i < 2; i++) {
		int pair[2];

		streams[i] = (struct stream){ 0 };
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ||
		    stream_share(&streams[i], names[i], pair[0]))
			abort();
		others[i] = pair[1];
	}
}

static void write_to(int i, const char *text)
{
	if (send(others[i], text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
}

static void collect_from(int i, size_t most)
{
	bool more = batch_collect(&b, &streams[i], most);

	line("of %s: %zu lines in the batch%s", streams[i].name, b.n, more ? ", and there may be more" : "");
}

static void put_batch(void)
{
	int err = batch_put(&b);

	line("%s%s; the next has %zu at most", err ? errno_text(err) : "done", b.refused ? ", and refused" : "",
	     b.most);
	for (int i = 0; i < 2; i++) {
		char text[4096];
		ssize_t n;

		if (!err)
			stream_acknowledge(&streams[i], streams[i].number);
		n = recv(others[i], text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"))
			line("%s hears: %s", streams[i].name, at);
		if (streams[i].refused)
			line("%s: refused", streams[i].name);
		streams[i].refused = false;
		stream_forget(&streams[i]);
	}
	batch_next(&b);
}

static void lines(void)
{
	open_streams();
	write_to(0, "+192.0.2.1 1h\n# nothing\n\n+192.0.2\n+192.0.2.66\n-192.0.2.77\n");
	write_to(1, "@edge-1 +192.0.3.1 1h\n+192.0.3.2\n");
	streams[1].for_us = true;
	collect_from(0, 100);
	collect_from(1, 100);
	put_batch();
	/* So many, and no more, of each. */
	write_to(0, "+192.0.2.1\n+192.0.2.2\n+192.0.2.3\n+192.0.2.4\n");
	write_to(1, "+192.0.3.1\n+192.0.3.2\n+192.0.3.3\n");
	b.most = 5;
	collect_from(0, 2);
	collect_from(1, 1);
	collect_from(0, 1);
	collect_from(1, 4); /* one is left */
	put_batch();
	collect_from(0, 9);
	collect_from(1, 9);
	put_batch();
	collect_from(1, 9);
	put_batch();
	/* What is not there, first and last; and nothing of that later. */
	write_to(0, "-192.0.2.77\n-192.0.2.77\n");
	collect_from(0, 9);
	put_batch();
	write_to(0, "+192.0.2.1\n");
	collect_from(0, 9);
	put_batch();
	/* What has been put into force before it is to end is acknowledged. */
	write_to(0, "+192.0.2.1\n+192.0.2.66\n+192.0.2.2\n");
	write_to(1, "+192.0.3.1\n");
	collect_from(0, 9);
	collect_from(1, 9);
	memset(faults, 0, sizeof(faults));
	faults[4] = -ENOSPC;
	faults_n = 0;
	stop_after = 1;
	put_batch();
	stop_asked = 0;
	for (int i = 0; i < 2; i++) {
		stream_end(&streams[i]);
		close(others[i]);
	}
}

/* As many as take half a second to one. */
static void sizes(void)
{
	static char many[600 * 11 + 1];
	static const struct {
		size_t n, most;
		double took;
	} each[] = { { 8192, 8192, 0.4 },   { 8191, 8192, 0.1 },   { 8192, 8192, 0.5 },	 { 8192, 8192, 1.0 },
		     { 8192, 8192, 1.1 },   { 512, 8192, 1.1 },	   { 514, 8192, 1.1 },	 { 257, 8192, 1.1 },
		     { 256, 8192, 1.1 },    { 256, 256, 9 },	   { 256, 256, 0.499 },	 { 32768, 32768, 0.1 },
		     { 32767, 32767, 0.1 }, { 40000, 40000, 0.1 }, { 65536, 65536, 0.1 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct batch is = { .n = each[i].n, .most = each[i].most };

		adapt(&is, each[i].took);
		line("%zu of %zu lines took %g s: then %zu", each[i].n, each[i].most, each[i].took, is.most);
	}
	takes = 0.002;
	open_streams();
	for (int i = 0; i < 600; i++)
		strcat(many, "+192.0.2.1\n");
	write_to(0, many);
	collect_from(0, SIZE_MAX);
	put_batch();
	for (int i = 0; i < 2; i++) {
		stream_end(&streams[i]);
		close(others[i]);
	}
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "it goes well", goes_well },
		     { "a guard rail refuses", is_refused },
		     { "it is tried again", is_tried_again },
		     { "lines of two streams", lines },
		     { "how many go together", sizes } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		now = 0;
		takes = 0.0625;
		begin_err = with_err = 0;
		stop_asked = 0;
		stop_after = 0;
		memset(faults, 0, sizeof(faults));
		faults_n = 0;
		f = (struct into_force){
			.context = &context, .from = "a test", .refused = on_refused, .done = on_done, .arg = &f
		};
		shows_begin(&shows);
		if (batch_begin(&b, &context))
			abort();
		b.f.from = "a test";
		each[i].happens();
		batch_end(&b);
		shows_as(&shows, each[i].name);
	}
}

/* Whatever is wrong from the start: but not what may be better later. */
static void begins(void)
{
	static const struct {
		int err;
		bool begins;
	} each[] = { { 0, true }, { -EBUSY, true }, { -ENOSPC, true }, { -EPERM, false }, { -EUCLEAN, false } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin_err = each[i].err;
		CHECK(!batch_begin(&b, &context) == each[i].begins, "%s", errno_text(begin_err));
		CHECK(!each[i].begins || (b.most == 8192 && b.orders && b.lines), "%zu at first", b.most);
		batch_end(&b);
		CHECK(!b.orders && !b.lines, "it has something after its end");
		batch_end(&b);
	}
	begin_err = 0;
	for (callocs_left = 0; callocs_left < 2;) {
		int n = callocs_left;

		CHECK(err_is(batch_begin(&b, &context), ENOMEM), "it begins without memory, after %d", n);
		batch_end(&b);
		callocs_left = n + 1;
	}
	callocs_left = -1;
	CHECK(begun && !open_now, "of %d changes %d are open", begun, open_now);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word },
						  { "what is wrong from the start", begins } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
