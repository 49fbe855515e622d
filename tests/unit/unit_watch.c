// SPDX-License-Identifier: GPL-2.0-only
/* watch and capture: what is asked of the kernel, and when it ends; what is printed or written of each packet. */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "bpf/abi.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "observe/packet.h"
#include "observe/pcapng.h"
#include "observe/samples.h"
#include "observe/tallies.h"
#include "observe/tap.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_watch.txt"
};

static struct shows shows = { .file = "tests/unit/unit_watch.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600LL /* 2026-01-01T00:00:00Z */

/* What comes at each look: packets by their letter, ! an end of the service, ~ a signal, + a second passes. */
static const char *script;
static int64_t now_ns, ahead_ns;
static int calls, fails_at, held;
static bool none_loaded, terminal, no_memory, brief; /* brief: of calls, only the one that fails is told */
static unsigned int sampled, tapped;
static int error_is;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	if (fails || !brief)
		printf("  %s%s\n", what, fails ? ": fails" : "");
	errno = error_is;
	return fails ? -error_is : 0;
}

static int given_live(const struct context *context, struct generation *g)
{
	(void)context;
	*g = (struct generation){ .samples = sampled };
	return none_loaded ? -ENOENT : call("the generation");
}

static int given_state(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (call(change ? "opens to change" : "opens the state"))
		return -EIO;
	held++;
	return 0;
}

static void given_close(struct state *state)
{
	(void)state;
	held--;
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	static const struct list_info all[] = { { .name = "watched", .kind = LIST_SHADOW, .label = 9 },
						{ .name = "one", .kind = LIST_BAN, .label = 7 },
						{ .name = "allowed", .kind = LIST_ALLOW, .label = 8 },
						{ .name = "more", .kind = LIST_BAN, .label = 8 } };

	(void)state;
	if (call("the lists"))
		return -EIO;
	*lists = malloc(sizeof(all));
	memcpy(*lists, all, sizeof(all));
	*n = sizeof(all) / sizeof(*all);
	return 0;
}

static int given_open(const struct context *context, struct samples **samples, double rate)
{
	(void)context;
	printf("  %g a second\n", rate);
	if (call("opens the samples"))
		return because(-EBUSY, "somebody reads them");
	*samples = (struct samples *)&script;
	held++;
	return 0;
}

static void given_end(struct samples *samples)
{
	held -= samples != NULL;
}

static struct taps *given_new(unsigned int rate)
{
	printf("  taps, %u a second\n", rate);
	if (no_memory)
		return NULL;
	held++;
	return (struct taps *)&script;
}

static void given_free(struct taps *taps)
{
	held -= taps != NULL;
}

static int given_attached(const struct context *context, struct attachment **on, size_t *n)
{
	(void)context;
	*on = malloc(1);
	*n = tapped;
	return call("which interfaces");
}

static int given_follow(struct taps *taps, const struct attachment *on, size_t n)
{
	(void)taps, (void)on;
	printf("  follows %zu\n", n);
	return call("taps");
}

static unsigned int given_fds(const struct taps *taps, struct pollfd *fds)
{
	(void)taps;
	for (unsigned int i = 0; i < tapped; i++)
		fds[i] = (struct pollfd){ .fd = (int)(40 + i), .events = POLLIN };
	return tapped;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (!brief)
		printf("  waits %d ms on %d, %d%s\n", ms, (int)n, n ? fds[0].fd : -1,
		       n && fds[0].events != POLLIN ? "?" : "");
	now_ns += ms * 1000000LL;
	return 0;
}

/* From 192.0.2.1, port 53, to 198.51.100.2, port 4000. */
static struct sample packet(char letter)
{
	static const uint8_t frame[] = {
		2, 0,  0,  0, 0, 1,   2, 0, 0, 0,   0,	2,   8, 0, 0x45, 0,  0,	  28, 0, 0, 0,
		0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2, 0, 53,	 15, 160, 0,  8, 0, 0
	};
	struct sample s = { .time = (uint64_t)now_ns - 1000, .ifindex = 2, .length = 999, .captured = sizeof(frame) };

	memcpy(s.bytes, frame, sizeof(frame));
	switch (letter) {
	case 'a':
		s.answer = ANSWER(STAGE_ROSTER, 0, 7) | ANSWER_DROP;
		break;
	case 'b':
		s.answer = ANSWER(STAGE_GATE, 0, LABEL_LIVE) | ANSWER_DROP;
		s.ifindex = 3;
		break;
	case 'c':
		s.answer = ANSWER(STAGE_FILTER, 2, 8) | ANSWER_DROP | ANSWER_INNER | ANSWER_OUT;
		s.ifindex = 4;
		break;
	case 'd':
		s.answer = ANSWER(STAGE_ROSTER, 0, 9) | ANSWER_DROP | ANSWER_TO | ANSWER_OUT;
		break;
	case 'e': /* to nobody: no ports, and hardly an address */
		s.answer = ANSWER(STAGE_ROSTER, 0, 6) | ANSWER_DROP | ANSWER_INNER;
		s.captured = 20;
		break;
	}
	return s;
}

static int look(void (*each)(void *arg, const struct sample *sample), void *arg)
{
	if (!*script)
		stop_asked = SIGINT;
	while (*script && *script != '.' && !stop_asked) {
		char next = *script++;
		struct sample s = packet(next);

		if (next == '!')
			return because(-EPIPE, "the service has gone");
		if (next == '~')
			stop_asked = SIGTERM;
		else if (next == '+')
			now_ns += 1000000000;
		else if (next == '-')
			now_ns += 999999999 - 100000000;
		else if (next == '>')
			ahead_ns += 5000000000;
		else
			each(arg, &s);
	}
	script += *script == '.';
	return call("looks");
}

static int given_read(struct samples *samples, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	(void)samples;
	return look(each, arg);
}

static void (*passed_to)(void *arg, const struct sample *sample, double packets);

static void passes(void *arg, const struct sample *sample)
{
	passed_to(arg, sample, 3);
}

static void given_taps_read(struct taps *taps, void (*each)(void *arg, const struct sample *sample, double packets),
			    void *arg)
{
	(void)taps;
	passed_to = each;
	look(passes, arg);
}

static int given_refill(struct samples *samples)
{
	(void)samples;
	return call("refills");
}

static char *given_name(unsigned int number, char name[IF_NAMESIZE])
{
	if (number == 2)
		strcpy(name, "eth0");
	if (number == 3)
		strcpy(name, "e\x1bth");
	return number < 4 ? name : NULL;
}

static int given_file(struct pcapng **file, const char *path)
{
	int err = call("opens the file");

	printf("  into %s\n", path);
	*file = err ? NULL : (struct pcapng *)&script;
	held += !err;
	return err;
}

static int given_packet(struct pcapng *p, const char *interface, uint16_t link, uint64_t time_ns, const void *bytes,
			size_t captured, size_t length, const char *comment)
{
	(void)p, (void)bytes;
	printf("  %s, link %u, at %lld.%09lld, %zu of %zu: %s\n", interface, link,
	       (long long)(time_ns / 1000000000) - DATE, (long long)(time_ns % 1000000000), captured, length, comment);
	return call("a packet");
}

static int given_flush(struct pcapng *p)
{
	(void)p;
	return call("flushes");
}

static int given_written(struct pcapng *p)
{
	(void)p;
	held--;
	return call("closes the file");
}

static int given_line(const struct context *context, const struct sample *s, const struct packet_origin *from)
{
	int status = packet_line(context, s, from);

	return call("a line") ? EXIT_ERROR : status;
}

static int64_t given_ns(clockid_t clock)
{
	return clock == CLOCK_REALTIME ? DATE * 1000000000 + ahead_ns + now_ns : now_ns;
}

#define kernel_ready_to_look(of)       (call("the kernel"))
#define kernel_live		       given_live
#define state_open		       given_state
#define state_close		       given_close
#define settings_read(state)	       ((struct settings){ .samples = 12.5 })
#define lists_in_force		       given_lists
#define live_label_is_exact(of, state) (ahead_ns == 0)
#define samples_open		       given_open
#define samples_close		       given_end
#define samples_fd(samples)	       (30)
#define samples_read		       given_read
#define samples_refill		       given_refill
#define taps_new		       given_new
#define taps_free		       given_free
#define taps_follow		       given_follow
#define taps_fds		       given_fds
#define taps_read		       given_taps_read
#define attach_list		       given_attached
#define if_indextoname		       given_name
#define pcapng_open		       given_file
#define pcapng_packet		       given_packet
#define pcapng_flush		       given_flush
#define pcapng_close		       given_written
#define packet_line		       given_line
#define poll			       given_poll
#define clock_ns		       given_ns
#define time(to)		       ((void)(to), (time_t)(DATE + now_ns / 1000000000))
#define stop_on(signal)		       printf("  ends by %d\n", signal)
#define isatty(fd)		       ((fd) == STDOUT_FILENO && terminal)
#define change_check(context, words)   ((void)(context), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/watch.c"
#undef time
#undef poll

static void anew(void)
{
	script = "";
	now_ns = 5000000000;
	ahead_ns = 0;
	calls = fails_at = held = 0;
	none_loaded = terminal = no_memory = brief = false;
	sampled = tapped = 1;
	error_is = EIO;
}

/* True: a call failed, or would have. */
static bool types(const char *line, const char *then)
{
	int64_t ahead = ahead_ns;

	script = then;
	now_ns = 5000000000;
	calls = held = 0;
	stop_asked = 0;
	typed(line);
	if (held)
		printf("  not given back: %d\n", held);
	ahead_ns = ahead;
	stop_asked = 0;
	return calls >= fails_at;
}

static void packets(void)
{
	types("watch", "");
	types("watch", "ab.c.de");
	types("watch --json", "abcde");
	types("watch --verbose", "a>.+ab.~.");
	ahead_ns = 1;
	types("watch", "b.-b.+b");
}

static void how_long(void)
{
	types("watch --count 1", "ab.a");
	types("watch --count 2", "a.bc.a");
	types("watch --count 3", "a.b.c.a");
	types("watch --duration 0.3", ".....");
	types("watch --duration 0.299", ".....");
	types("watch --duration 0.301 --count 1", "......");
	types("watch --duration 1s", "-....");
	types("watch", "-..+..");
	types("watch", "a.!");
	types("watch", "~");
}

static void passing(void)
{
	types("watch --passed", "ab.c");
	types("watch --passed --json", "a.+");
	tapped = 0;
	types("watch --passed", ".");
	types("watch --passed --quiet", ".");
	tapped = 3;
	types("watch --passed --count 1", "..aa");
	no_memory = true;
	types("watch --passed", "");
}

static void files(void)
{
	types("capture", "");
	types("capture -w f", "ab.c");
	types("capture -w f --verbose", "de");
	types("capture --write f --passed --verbose", "ab.");
	types("capture -w f --count 2 --verbose", "abc");
	types("watch -w f", "a");
	types("watch --write f", "a");
	types("capture -w -", "a");
	terminal = true;
	types("capture -w -", "a");
	types("capture -w f", "");
	types("watch", "");
}

static void cannot(void)
{
	none_loaded = true;
	types("watch", "");
	none_loaded = false;
	sampled = 0;
	types("watch", "");
	types("watch --passed", "");
	sampled = 1;
	brief = true;
	for (fails_at = 1; types("watch", "a.+b."); fails_at++)
		;
	for (fails_at = 1; types("watch --passed", "a.+."); fails_at++)
		;
	error_is = ENOSPC;
	for (fails_at = 1; types("capture -w f --verbose", "aa.+."); fails_at++)
		;
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "packets", packets },
					       { "how long", how_long },
					       { "what passes", passing },
					       { "files", files },
					       { "cannot", cannot } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	setenv("TZ", "XYZ-1", 1);
	tzset();
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
