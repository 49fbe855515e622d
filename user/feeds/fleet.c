// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/fleet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/lock.h"
#include "base/stop.h"
#include "base/trusted_dir.h"
#include "base/users.h"
#include "feeds/fleet_members.h"
#include "feeds/fleet_saying.h"
#include "feeds/state_watch.h"
#include "state/events.h"
#include "state/grants.h"

#define START_FIRST  200 /* ms, when the program has ended */
#define START_MOST   5000
#define WRITE_MS     500   /* what is shown is as young as that */
#define UNWRITTEN_MS 10000 /* or is written again then */
#define LOOK_MS	     10000 /* of a mount over the state's directory nobody is told */
/*
 * A change is told when it is written, and seen only once it has reached the disk: then SQLite tells readers by memory
 * that they share, which no notice tells of. So after a notice it is looked again, this soon, and after twice as long
 * each time.
 */
#define LOOK_SOON_MS 5

#define SERVERS 2 /* where it says, and where it reads */

struct fleet_process {
	struct context *context;
	struct fleet fleet; /* as it began */
	struct fleet_talk talk;
	struct fleet_members members;
	struct fleet_saying own;
	struct fleet_seen seen;
	int watch;
	bool changed, left, said_down, news; /* news: the file does not have it yet */
	bool said_strange;		     /* that somebody else listens in its server's place */
	char failed[FLEET_WHY_MAX];	     /* its last word: why it cannot do its work */
	int64_t start_at, wait, write_at, look_at, look_wait;
};

/* --- The state ---------------------------------------------------------------------------------------------------- */

/* What other commands have changed. */
static int look(struct fleet_process *p)
{
	struct state *state = NULL;
	struct fleet now;
	int err = state_open(&state, p->context, false) ?: state_fleet(state, &now);

	p->changed = false;
	p->look_at = clock_ms() + p->look_wait;
	p->look_wait = 2 * p->look_wait < LOOK_MS ? 2 * p->look_wait : LOOK_MS;
	p->left = err_is(err, ENOENT) || (!err && !fleet_is_same(&p->fleet, &now));
	if (!err && !p->left && p->talk.fd >= 0)
		err = members_expect(&p->members, state);
	state_close(state);
	p->own.again = true;
	return p->left ? 0 : err;
}

/* --- The program -------------------------------------------------------------------------------------------------- */

static int read_password(const char *path, char password[FLEET_PASSWORD_MAX])
{
	int fd = open_trusted(path, FLEET_PASSWORD_IS), err = fd < 0 ? fd : trust_secret(fd, path);
	ssize_t n = -1;

	if (!err)
		n = read(fd, password, FLEET_PASSWORD_MAX - 1);
	close_fd(fd);
	if (err)
		return err;
	password[n > 0 ? n : 0] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	if (*password && !strchr(password, '\t') && n < FLEET_PASSWORD_MAX - 1)
		return 0;
	explicit_bzero(password, FLEET_PASSWORD_MAX);
	return because(-EINVAL, "%s: no password on its first line", path);
}

/* As whom the packages run it, and who was named. */
static void believe_users(const struct fleet *f, uint64_t users[HERE_ALSO])
{
	static const char *const usual[] = { "redis", "valkey" };
	uid_t uid;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		users[i] = user_named(usual[i], &uid) ? 0 : uid;
	users[HERE_ALSO - 1] = (uint64_t)f->server_user;
}

static int begin(struct fleet_process *p)
{
	const struct fleet *f = &p->fleet;
	struct fleet_request request = { 0 };
	struct state *state = NULL;
	struct fleet now = { 0 };
	int err = *f->password_file ? read_password(f->password_file, request.password) : 0;

	snprintf(request.url, sizeof(request.url), "%s", f->url);
	snprintf(request.name, sizeof(request.name), "%s", f->name);
	snprintf(request.user, sizeof(request.user), "%s", f->user);
	snprintf(request.prefix, sizeof(request.prefix), "%s", f->prefix);
	snprintf(request.read, sizeof(request.read), "%s", f->read);
	snprintf(request.ca, sizeof(request.ca), "%s", f->ca);
	request.pace = (uint64_t)f->pace;
	believe_users(f, request.users);
	p->failed[0] = '\0';
	err = err ?:
	      (*f->ca ? trust_file(f->ca, FLEET_CA_IS) : 0) ?:
	      talk_start(&p->talk, &request) ?:
	      state_open(&state, p->context, false) ?:
	      state_fleet(state, &now);
	explicit_bzero(request.password, sizeof(request.password));
	if (!err) {
		talk_say(&p->talk, "own\t%s\t%lld", *now.epoch ? now.epoch : "-", (long long)now.n);
		members_again(&p->members);
		saying_again(&p->own);
		err = members_expect(&p->members, state);
	}
	state_close(state);
	return err;
}

static void is_down(struct fleet_process *p, const char *why, bool strange)
{
	p->news = true;
	if (p->seen.up || !p->seen.since)
		p->seen.since = time(NULL);
	p->seen.up = false;
	clean_copy(p->seen.why, sizeof(p->seen.why), why);
	saying_again(&p->own);
	if (p->said_down && (p->said_strange || !strange))
		return;
	p->said_down = true;
	p->said_strange = strange;
	warn("fleet: %s: %s; what is banned stays, what this machine bans is said later", p->fleet.url, p->seen.why);
	event(p->context, (struct event){ .kind = EVENT_FAULT }, "fleet: %s: %s", p->fleet.url, p->seen.why);
}

/* No member, route or list is to ban it: nobody could take that back then. */
static int keep_servers(struct fleet_process *p, char *words[TALK_WORDS])
{
	struct addr is[SERVERS], *was = NULL;
	struct state *state = NULL;
	size_t n = 0, was_n = 0, known = 0;
	int err = state_open(&state, p->context, false) ?: state_fleet_servers(state, &was, &was_n);

	for (size_t i = 0; i < SERVERS; i++)
		if (!addr_parse(words[2 + i], strlen(words[2 + i]), &is[n]) &&
		    (!n || is[n].num != is[0].num || is[n].family != is[0].family))
			n++;
	for (size_t i = 0; i < n * was_n; i++)
		known += is[i / was_n].num == was[i % was_n].num && is[i / was_n].family == was[i % was_n].family;
	state_close(state);
	state = NULL;
	if (!err && (known != n || was_n != n))
		err = state_open(&state, p->context, true) ?: state_fleet_servers_put(state, is, n) ?: state_commit(state);
	state_close(state);
	free(was);
	return err;
}

static void is_up(struct fleet_process *p, const char *version)
{
	p->seen.since = time(NULL);
	p->seen.up = true;
	p->seen.why[0] = '\0';
	clean_copy(p->seen.version, sizeof(p->seen.version), version);
	p->wait = 0;
	if (p->said_down) {
		warn("fleet: %s answers again", p->fleet.url);
		event(p->context, (struct event){ .kind = EVENT_HEALED }, "fleet: %s answers again", p->fleet.url);
	}
	p->said_down = false;
}

static void stop(struct fleet_process *p, const char *why)
{
	talk_stop(&p->talk);
	members_again(&p->members);
	is_down(p, why, false);
	p->wait = !p->wait ? START_FIRST : 2 * p->wait < START_MOST ? 2 * p->wait : START_MOST;
	p->start_at = clock_ms() + p->wait;
}

static int take(struct fleet_process *p, char *words[TALK_WORDS])
{
	int err = 0;

	p->news = true;
	if (members_take(&p->members, words) || saying_take(&p->own, words, &err))
		return err;
	if (!strcmp(words[0], "up")) {
		/* Whoever cannot keep them is down: it is said once, and tried less and less often. */
		err = keep_servers(p, words);
		if (!err)
			is_up(p, words[1]);
	} else if (!strcmp(words[0], "down")) {
		is_down(p, words[1], !strcmp(words[2], "strange"));
	} else if (!strcmp(words[0], "clock")) {
		p->seen.clock_known = true;
		p->seen.offset = strtoll(words[1], NULL, 10);
		p->seen.rtt = strtoll(words[2], NULL, 10);
	} else if (!strcmp(words[0], "failed")) {
		clean_copy(p->failed, sizeof(p->failed), words[1]);
	}
	return err;
}

/* What has come goes into force, as much at once as there is at this moment. */
static int take_all(struct fleet_process *p)
{
	char *words[TALK_WORDS];
	bool more = true;
	int err = 0;

	talk_turn(&p->talk);
	while (!err && more && !stop_asked) {
		more = false;
		while (!err && !members_full(&p->members) && talk_words(&p->talk, words) > 0) {
			more = true;
			err = take(p, words);
		}
		err = err ?: members_into_force(&p->members);
		talk_forget(&p->talk);
		talk_turn(&p->talk);
	}
	return err;
}

/* --- What is shown ------------------------------------------------------------------------------------------------ */

static void show(struct fleet_process *p)
{
	free(p->seen.members);
	p->seen.members = NULL;
	p->seen.n = 0;
	p->seen.at = time(NULL);
	p->write_at = clock_ms() + WRITE_MS;
	p->news = false;
	if (!members_seen(&p->members, &p->seen.members, &p->seen.n) && fleet_seen_write(p->context, &p->seen)) {
		note("what the fleet does cannot be shown");
		p->news = true;
		p->write_at += UNWRITTEN_MS;
	}
}

/* --- All of it ---------------------------------------------------------------------------------------------------- */

static void rest(struct fleet_process *p)
{
	int64_t due[] = { p->talk.fd < 0 ? p->start_at : saying_due(&p->own), p->news ? p->write_at : INT64_MAX,
			  p->look_at, p->members.ask_at },
		first = INT64_MAX;
	struct pollfd fds[] = { { .fd = p->watch, .events = POLLIN },
				{ .fd = p->talk.fd,
				  .events = (short)(POLLIN | (talk_waits(&p->talk) ? POLLOUT : 0)) } };
	struct timespec time;
	int64_t ms;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	ms = first - clock_ms();
	ms = ms < 0 ? 0 : ms;
	time = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	stop_poll(fds, 2, &time);
}

static int turn(struct fleet_process *p)
{
	int err = 0;

	if (p->talk.fd < 0 && clock_ms() >= p->start_at)
		err = begin(p);
	if (!err && p->talk.fd >= 0)
		err = take_all(p);
	if (state_watch_ended(p->watch, p->context->state)) {
		p->changed = true;
		p->look_wait = LOOK_SOON_MS;
	}
	if (clock_ms() >= p->look_at)
		p->changed = true;
	if (!err && clock_ms() >= p->members.ask_at)
		members_ask_again(&p->members);
	if (!err && p->changed)
		err = look(p);
	if (!err && p->talk.fd >= 0 && !p->left)
		err = saying_turn(&p->own);
	if (!err && p->talk.fd >= 0)
		talk_turn(&p->talk);
	return err;
}

static int loop(struct fleet_process *p)
{
	while (!stop_asked && !p->left) {
		int err = turn(p);

		if (stop_asked || p->left)
			break;
		/* Nothing is lost: what is not in force is read again, what is not said waits. */
		if (err)
			stop(p, reason(err));
		else if (p->talk.ended && p->talk.fd >= 0 && !talk_has_line(&p->talk))
			stop(p, *p->failed ? p->failed : "the program that speaks to it has ended");
		if (p->news && clock_ms() >= p->write_at)
			show(p);
		if (!p->changed)
			rest(p);
	}
	return 0;
}

static int read_fleet(struct fleet_process *p)
{
	struct state *state = NULL;
	int err = state_open(&state, p->context, false) ?: state_fleet(state, &p->fleet);

	state_close(state);
	return err_is(err, ENOENT) ? because(-ENOENT, "this machine has not joined one: fleet join URL --as NAME")
				   : err;
}

int fleet_run(struct context *context)
{
	struct fleet_process p = {
		.context = context, .talk = { .fd = -1, .ended = true }, .watch = -1, .look_wait = LOOK_SOON_MS
	};
	char path[STATE_PATH_MAX];
	int err = read_fleet(&p), lock = err ? err : lock_take(state_path(path, context->state, STATE_FLEET_LOCK), 0);

	if (lock < 0)
		return lock;
	stop_on(SIGINT);
	stop_on(SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	p.watch = state_watch_open(context->state);
	err = p.watch < 0 ? p.watch : members_begin(&p.members, context, &p.talk, p.fleet.name);
	saying_begin(&p.own, context, &p.talk, &p.seen);
	if (!err)
		err = loop(&p);
	talk_stop(&p.talk);
	members_end(&p.members);
	fleet_seen_forget(context);
	fleet_seen_free(&p.seen);
	close_fd(p.watch);
	close(lock);
	return err;
}
