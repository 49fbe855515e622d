// SPDX-License-Identifier: GPL-2.0-only
/* One process, two connections, and the command's stream: whatever comes is handed to whom it concerns. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "fleet/internal.h"

#define COMMAND 0

#define AGAIN_FIRST 200
#define AGAIN_MOST  3000
/* A server that rests for so long is gone: a line that loses packets rests, too. */
#define PATIENCE 10000
/* And one that accepts no connection for so long is tried anew: the kernel would try less and less often. */
#define TO_OPEN	    3000
#define CLOCK_EVERY 10000

void tell(struct wire *w, const char *fmt, ...)
{
	char line[FLEET_LINE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (!outgoing_line(&w->out, "%s", line))
		w->ended = true;
}

const char *key_of(char key[KEY_MAX], const struct wire *w, const char *name, const char *what)
{
	snprintf(key, KEY_MAX, "%s%s%s%s", w->request->prefix, name, *what ? ":" : "", what);
	return key;
}

static void take_any(void *arg, const struct reply_value *v)
{
	(void)arg;
	(void)v;
}

const struct taker take_nothing = { .take = take_any };

/* --- The server's clock --- */

static void take_time(void *arg, const struct reply_value *v)
{
	struct wire *w = arg;
	uint64_t number;

	if (v->kind == REPLY_ERROR) {
		server_failed(&w->talk, "%.160s", v->text);
	} else if (v->depth == 1 && v->kind == REPLY_TEXT && number_read(v->text, &number) && number < 1ULL << 40) {
		if (v->at[0] == 0)
			w->clock_s = number;
		else
			server_clock_learn(&w->clock, (int64_t)(w->clock_s * 1000 + number / 1000), w->asked_time,
					   boot_ms());
	}
}

static void ask_time(struct wire *w);

static void end_time(void *arg)
{
	struct wire *w = arg;
	char at[2][PREFIX_TEXT_MAX];

	if (w->greeting && --w->greeting) {
		ask_time(w);
		return;
	}
	if (!w->clock.known) {
		server_failed(&w->talk, "it does not say what time it is");
		return;
	}
	w->asked_time = 0;
	w->clock_at = boot_ms() + CLOCK_EVERY;
	tell(w, "clock\t%lld\t%lld", (long long)server_clock_offset(&w->clock), (long long)w->clock.rtt);
	if (w->up)
		return;
	w->up = true;
	w->up_at = boot_ms();
	server_peer(&w->talk, at[0]);
	server_peer(w->read, at[1]);
	tell(w, "up\t%s\t%s\t%s", w->talk.version, at[0], at[1]);
	own_up(w);
	follow_up(w);
}

static void ask_time(struct wire *w)
{
	static const struct taker time = { .take = take_time, .end = end_time };

	w->asked_time = boot_ms();
	w->clock_at = INT64_MAX;
	ASK(&w->talk, &time, w, "TIME");
}

/* --- Connections --- */

int64_t with_jitter(int64_t ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)boot_ms();
	return ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

static void go_down(struct wire *w, const char *why)
{
	bool strange = w->talk.here.strange || w->ear.here.strange || w->other.here.strange;
	int64_t now = boot_ms();

	/* What fails as soon as it is up is not tried ten times a second. */
	if (w->up && now - w->up_at > AGAIN_MOST)
		w->wait = 0;
	/* That somebody else is there says more than that nobody is. */
	if (!w->wait || w->up || (strange && !w->strange))
		tell(w, "down\t%s%s", why, strange ? "\tstrange" : "");
	w->strange = strange;
	w->wait = w->wait ? 2 * w->wait : AGAIN_FIRST;
	if (w->wait > AGAIN_MOST)
		w->wait = AGAIN_MOST;
	w->again_at = now + with_jitter(w->wait);
	server_close(&w->talk);
	server_close(&w->ear);
	server_close(&w->other);
	/* The next server may be another one. */
	w->clock = (struct server_clock){ 0 };
	w->up = false;
	w->asked_time = 0;
	w->greeting = 0;
	own_down(w);
	follow_down(w);
	snapshot_down(w);
}

static void look_after(struct wire *w, int64_t now)
{
	struct server *all[] = { &w->talk, &w->other, &w->ear };
	char why[sizeof(w->talk.why) + 32] = "";

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		server_patience(all[i], now, all[i]->open || all[i]->tls ? PATIENCE : TO_OPEN);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (*all[i]->why && !*why)
			snprintf(why, sizeof(why), "%s%s",
				 w->read == &w->talk || !i ? "" : "where it reads: ", all[i]->why);
	if (*why) {
		w->talk.why[0] = w->other.why[0] = w->ear.why[0] = '\0';
		go_down(w, why);
	}
	if (w->talk.fd < 0 && w->own.told && now >= w->again_at) {
		server_connect(&w->talk);
		if (!*w->talk.why)
			server_connect(&w->ear);
		if (!*w->talk.why && w->read != &w->talk)
			server_connect(&w->other);
		return;
	}
	if (w->up || w->greeting || !w->talk.greeted || !w->read->greeted || !w->ear.greeted)
		return;
	if (w->talk.replica) {
		server_failed(&w->talk, "READONLY it is a replica, which takes nothing");
		return;
	}
	w->greeting = 3;
	ask_time(w);
}

/* --- The command --- */

static void take_line(struct wire *w, char *line)
{
	char *fields[FLEET_FIELDS];
	int n = lines_fields(line, fields);
	static const char *const of_follow[] = { "follow", "unfollow", "any", "took", "again" };

	for (size_t i = 0; i < sizeof(of_follow) / sizeof(*of_follow); i++)
		if (!strcmp(fields[0], of_follow[i])) {
			follow_line(w, n, fields);
			return;
		}
	own_line(w, n, fields);
}

static bool may_listen(const struct wire *w)
{
	return !own_is_busy(&w->own) && outgoing_waits(&w->talk.out) < TALK_MOST && w->talk.n < ASKED_MOST;
}

static void listen_to_command(struct wire *w)
{
	char *line;

	while (may_listen(w)) {
		line = lines_next(&w->in);
		if (!line) {
			own_pause(w);
			return;
		}
		take_line(w, line);
	}
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int until_due(const struct wire *w, int64_t now)
{
	int64_t due = INT64_MAX;

	if (w->talk.fd < 0)
		due = w->own.told ? w->again_at : INT64_MAX;
	else if (!w->up)
		due = now + 1000;
	else
		due = earlier(earlier(own_due(w), follow_due(w)), earlier(snapshot_due(w), w->clock_at));
	if (w->up)
		due = earlier(due, now + 1000);
	if (due == INT64_MAX)
		return -1;
	return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

static void turn(struct wire *w)
{
	bool may_hear = outgoing_waits(&w->out) < OUT_MOST, may_take = may_listen(w) && !lines_full(&w->in);
	struct pollfd fds[] = {
		{ COMMAND, (short)((may_take ? POLLIN : 0) | (outgoing_waits(&w->out) ? POLLOUT : 0)), 0 },
		{ w->talk.fd, server_events(&w->talk, may_hear), 0 },
		{ w->ear.fd, server_events(&w->ear, true), 0 },
		{ w->other.fd, server_events(&w->other, may_hear), 0 },
	};
	int64_t now;

	if (poll(fds, 4, until_due(w, boot_ms())) < 0 && errno != EINTR)
		w->ended = true;
	if (fds[0].revents & POLLIN && lines_fill(&w->in, COMMAND) < 0)
		w->ended = true;
	if (fds[0].revents & (POLLHUP | POLLERR) && !(fds[0].revents & POLLIN))
		w->ended = true;
	server_io(&w->talk, fds[1].revents, may_hear);
	server_io(&w->ear, fds[2].revents, true);
	server_io(&w->other, fds[3].revents, may_hear);
	now = boot_ms();
	/* What is not listened to may have come. */
	if (!may_hear && w->talk.since)
		w->talk.since = now;
	if (!may_hear && w->other.since)
		w->other.since = now;
	look_after(w, now);
	listen_to_command(w);
	if (w->up) {
		if (!w->asked_time && now >= w->clock_at)
			ask_time(w);
		own_turn(w, now);
		snapshot_turn(w, now);
		follow_turn(w, now);
	}
	/* At once, not after the next poll(2). */
	server_io(&w->talk, 0, false);
	server_io(&w->ear, 0, false);
	server_io(&w->other, 0, false);
	if (outgoing_flush(&w->out, COMMAND))
		w->ended = true;
}

int wire_run(const struct fleet_request *request)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->request = request;
	fleet_url_read(&w->url, request->url);
	server_begin(&w->talk, request, &w->url);
	w->read_url = w->url;
	if (*request->read)
		fleet_url_read(&w->read_url, request->read);
	server_begin(&w->other, request, &w->read_url);
	server_begin(&w->ear, request, &w->read_url);
	w->read = *request->read ? &w->other : &w->talk;
	follow_begin(w);
	strcpy(w->own.epoch, EPOCH_NONE);
	while (!w->ended)
		turn(w);
	return 0;
}
