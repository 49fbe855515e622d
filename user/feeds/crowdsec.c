// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/crowdsec.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/trusted_dir.h"
#include "base/users.h"
#include "change/accounts.h"
#include "change/guard_culprit.h"
#include "change/guard_rails.h"
#include "feeds/decisions.h"
#include "feeds/into_force.h"
#include "fetch/client.h"
#include "fetch/server_here.h"
#include "observe/agent_seen.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/said.h"
#include "state/servers.h"
#include "state/state.h"

#define KEY_MOST    256
#define ASK_SECONDS 120
/* So few may go at once on the word of two answers in a row; more of them, and more than half, wait half an interval.
 */
#define FEW 10
/*
 * An agent says a decision only once, and not at all one that it writes while it is asked (1.4.6), and says nothing of
 * a database that was emptied. So all is asked for again: as often as that takes a fiftieth of the time, within limits.
 */
#define WHOLE_SHARE	50
#define WHOLE_INTERVALS 3
#define WHOLE_MOST	900 /* seconds */
/* Whether another's ban is still there. */
#define AGAIN_SECONDS 30
/* How often the same servers are kept once more, as they are needed for 30 days from then on. */
#define SERVERS_SECONDS (24 * 3600)

struct agent {
	struct context *context;
	const struct crowdsec_options *options;
	struct server_here here;
	bool said;	      /* that the kernel does not say whose it is */
	struct decisions all; /* that are in force on the agent's account */
	bool follows, doubts;
	unsigned int fails; /* answers in a row */
	bool untold;	    /* that it does not answer could not be written */
	bool strange;	    /* it was said that somebody else listens in its place */
	int64_t fails_since;
	struct agent_word word;
	double took; /* the last answer */
	double whole_until, again_at;
	char servers[FETCH_WAY_MAX + 64]; /* that are kept, as the answer had them */
	double servers_until;
	int headers;
	size_t others;
	struct ban_order *orders;
	size_t much; /* of what is new, so many are left out together */
};

/* The key becomes a header line in memory: it stands on no command line, and in no other file. */
static int read_key(const char *path, int *headers)
{
	int fd = open_trusted(path, "the agent's key"), err = fd < 0 ? fd : trust_secret(fd, path);
	char key[KEY_MOST + 1] = "", line[KEY_MOST + 32];
	ssize_t n = -1;

	*headers = -1;
	if (!err)
		n = read(fd, key, KEY_MOST);
	close_fd(fd);
	if (err)
		return err;
	key[n > 0 ? strcspn(key, "\r\n") : 0] = '\0';
	for (const char *c = key; *c; c++)
		if (*c <= ' ' || *c > '~')
			key[0] = '\0';
	if (!*key || n == KEY_MOST)
		return because(-EINVAL, "%s: no key, as 'cscli bouncers add' prints it, on its first line", path);
	n = snprintf(line, sizeof(line), "X-Api-Key: %s\n", key);
	*headers = memfd_create("key", MFD_CLOEXEC);
	if (*headers < 0 || write(*headers, line, (size_t)n) != n)
		err = because(-errno, "the key cannot be kept: %s", strerror(errno));
	explicit_bzero(key, sizeof(key));
	explicit_bzero(line, sizeof(line));
	return err;
}

/* Of an agent on this machine without TLS, the kernel says whose it is. */
static int may_ask(struct agent *a)
{
	int err = server_here_may(&a->here);

	if (err || !a->here.bare || a->here.seen || a->said)
		return err;
	a->said = true;
	warn("crowdsec: this kernel does not say who listens (CONFIG_INET_DIAG): whoever answers at %s is believed",
	     a->options->url);
	return 0;
}

/* No list is to ban it: no decision would come any more. */
static int keep_servers(struct agent *a, const struct fetch_answer *answer)
{
	struct addr servers[FETCH_SERVERS];
	size_t n = a->here.here ? 0 : fetch_servers(answer, servers);
	char text[sizeof(a->servers)];
	struct state *state = NULL;
	int err;

	snprintf(text, sizeof(text), "%s%s", answer->way, answer->address);
	if (!n || (!strcmp(text, a->servers) && clock_seconds() < a->servers_until))
		return 0;
	err = state_open(&state, a->context, true)
		      ?: state_feed_servers_put(state, NULL, servers, n)
		      ?: state_commit(state);
	state_close(state);
	if (!err) {
		memcpy(a->servers, text, sizeof(text));
		a->servers_until = clock_seconds() + SERVERS_SECONDS;
	}
	return err;
}

static int ask(struct agent *a, bool whole, struct decision_changes *changes)
{
	const struct crowdsec_options *o = a->options;
	struct fetch_request request = { .insecure = o->insecure || a->here.here,
					 .lan = o->lan || a->here.here,
					 .connect = FETCH_CONNECT_SECONDS,
					 .seconds = ASK_SECONDS,
					 .bytes = 4 * FETCH_BYTES,
					 .floor = FETCH_FLOOR,
					 .floor_seconds = FETCH_FLOOR_SECONDS };
	struct fetch_answer answer;
	double began = clock_seconds();
	char host[SERVER_HOST_MAX], dropped[DROPPED_TEXT_MAX];
	int body = -1, err = may_ask(a);
	bool seen = a->here.seen;

	if (err)
		return err;
	/* Without dedup: of several decisions about one address it would tell only one, and nothing when that ends. */
	snprintf(request.url, sizeof(request.url), "%s%s%s/v1/decisions/stream?startup=%s&dedup=false",
		 seen ? "http://" : "", seen ? server_here_host(host, &a->here) : "", seen ? a->here.rest : o->url,
		 whole ? "true" : "false");
	lseek(a->headers, 0, SEEK_SET);
	err = fetch_ask(&request, a->headers, &answer, &body);
	if (!err && body < 0)
		err = because(-EIO, "%s%s", answer.outcome == FETCH_FAILED ? answer.why : "it says nothing",
			      answer.status ? "" : dropped_text(dropped, a->context, answer.address));
	err = err ?: server_here_same(&a->here);
	err = err ?: keep_servers(a, &answer);
	err = err ?: decisions_read(changes, body, clock_boot() / 1000000000);
	close_fd(body);
	a->took = clock_seconds() - began;
	return err;
}

static int64_t end_of(const struct ban *ban)
{
	return ban->due ? ban->due / 1000000000 : clock_boot() / 1000000000 + ban->expires - time(NULL);
}

/* What an earlier one of these has left in force: not what the members of a fleet say of it. */
static int read_own(struct agent *a)
{
	int64_t now = time(NULL);
	struct state *state = NULL;
	struct ban *bans = NULL;
	size_t n = 0;
	int err = state_open(&state, a->context, false);
	int members = err ? 0 : state_said_any(state);

	err = err ?: members < 0 ? members : state_bans(state, &bans, &n);
	for (size_t i = 0; i < n && !err; i++) {
		struct decision *d;

		err = members ? account_own(state, bans[i].first, bans[i].length, &bans[i]) : 0;
		if (err_is(err, ENOENT)) {
			err = 0;
			continue;
		}
		if (err || strncmp(bans[i].reason, CROWDSEC_REASON, strlen(CROWDSEC_REASON)) != 0 || !bans[i].expires ||
		    !ban_in_force(&bans[i], now))
			continue;
		if (!GROW(a->all.at, a->all.n)) {
			err = -ENOMEM;
			break;
		}
		d = &a->all.at[a->all.n++];
		*d = (struct decision){ .prefix = { bans[i].first, bans[i].length }, .end = end_of(&bans[i]) };
		memcpy(d->reason, bans[i].reason, sizeof(d->reason));
	}
	decisions_sort(&a->all);
	free(bans);
	state_close(state);
	return err;
}

static void refused(void *arg, size_t at, const char *why)
{
	struct agent *a = arg;
	const struct prefix *p = &a->orders[at].prefix;
	char text[PREFIX_TEXT_MAX];
	bool is_new = true;

	/* It may be needed for a while only: it is tried again, and said once. */
	a->orders[at].missed = true;
	for (size_t i = 0; i < a->all.n && is_new; i++)
		is_new = prefix_order(&a->all.at[i].prefix, p);
	a->much += is_new && a->orders[at].much;
	if (is_new && !a->orders[at].much)
		warn("crowdsec: %s: %s", prefix_text(text, p->first, (int)p->length), why);
}

static void done(void *arg, size_t n)
{
	(void)arg;
	(void)n;
}

/* Those that a guard rail refuses by their words alone are left out. */
static void leave_out(struct ban_order *orders, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		int err = orders[i].del ? 0 : guard_told(orders[i].prefix.first, orders[i].prefix.length);

		if (err)
			warn("crowdsec: %s", reason(err));
		else
			orders[kept++] = orders[i];
	}
	*n = kept;
}

static void say_much(struct agent *a, const char *why)
{
	char text[512];

	if (!a->much)
		return;
	snprintf(text, sizeof(text), "crowdsec: %zu of its decisions %s left out: %s", a->much,
		 a->much == 1 ? "is" : "are", why);
	warn("%s", text);
	event(a->context, (struct event){ EVENT_GUARD, .verb = "follow" }, "%s", text);
	a->much = 0;
}

/* From what is in force to `after`, which becomes the agent's. */
static int become(struct agent *a, struct decisions *after)
{
	struct into_force f = { .context = a->context,
				.whose = CROWDSEC_REASON,
				.from = "crowdsec",
				.refused = refused,
				.done = done,
				.arg = a };
	bool again = clock_seconds() > a->again_at;
	struct ban_order *orders = NULL;
	size_t n = 0;
	int err = decisions_orders(&a->all, after, clock_boot() / 1000000000, again, &orders, &n);

	if (!err)
		leave_out(orders, &n);
	a->orders = orders;
	err = err ?: into_force(&f, orders, n);
	if (!err)
		decisions_missed(after, orders, n);
	say_much(a, f.much);
	free(orders);
	if (err) {
		decisions_free(after);
		return err;
	}
	if (again)
		a->again_at = clock_seconds() + AGAIN_SECONDS;
	if (f.bans || f.ended)
		note("crowdsec: %zu decisions in force; %zu bans made, %zu taken out", after->n, f.bans, f.ended);
	decisions_free(&a->all);
	a->all = *after;
	*after = (struct decisions){ 0 };
	return 0;
}

static int delta(struct agent *a)
{
	struct decision_changes changes;
	struct decisions after = { 0 };
	int err = ask(a, false, &changes);

	if (err)
		return err;
	err = decisions_merge(&after, &a->all, &changes, clock_boot() / 1000000000) ?: become(a, &after);
	changes_free(&changes);
	return err;
}

static void say_others(struct agent *a, size_t others)
{
	if (others && !a->others)
		warn("crowdsec: decisions about other things than addresses, or of another type than ban, or that are"
		     " simulated, or call a network an Ip, are left out: %zu",
		     others);
	a->others = others;
}

/* An answer from the beginning; *lacks: how many it should have had. */
static int renew(struct agent *a, size_t *lacks)
{
	struct decision_changes changes;
	struct decisions after = { 0 };
	int err = ask(a, true, &changes);

	if (err)
		return err;
	say_others(a, changes.others);
	err = decisions_renew(&after, &a->all, &changes, clock_boot() / 1000000000, lacks) ?: become(a, &after);
	changes_free(&changes);
	return err;
}

/*
 * An agent that has trouble with its database answers with what it has read by then, and says that it is well. So
 * what is missing ends only where two answers in a row lack it; where most is missing, the second comes later.
 */
static int whole(struct agent *a)
{
	double rests;
	size_t lacks = 0;
	int err = renew(a, &lacks);

	if (!err && lacks && (lacks <= FEW || lacks <= a->all.n / 2))
		err = renew(a, &lacks);
	if (!err && lacks && !a->doubts)
		warn("crowdsec: of %zu decisions %zu are missing; they end if the next answer lacks them, too",
		     a->all.n, lacks);
	a->doubts = !err && lacks;
	rests = a->took * WHOLE_SHARE;
	rests = rests < WHOLE_MOST ? rests : WHOLE_MOST;
	if (rests < WHOLE_INTERVALS * a->options->every)
		rests = WHOLE_INTERVALS * a->options->every;
	a->whole_until = clock_seconds() + rests;
	return err;
}

static void forgive(struct agent *a)
{
	for (size_t i = 0; i < a->all.n; i++)
		a->all.at[i].lacked = false;
}

/* Once is no trouble yet: an agent may be restarted. */
static void failed(struct agent *a, const char *why)
{
	const char *url = a->options->url;

	if (!a->fails) {
		a->fails_since = time(NULL);
		warn("crowdsec: %s: %s; what is banned stays, and all is asked for again", url, why);
	} else if (a->fails == 1 || (a->here.strange && !a->strange)) {
		if (a->fails > 1)
			warn("crowdsec: %s: %s", url, why);
		a->strange = a->here.strange;
		event(a->context, (struct event){ .kind = EVENT_FAULT }, "crowdsec: %s: %s", url, why);
		a->untold = !agent_word_silent(&a->word, url, a->fails_since, why);
	} else if (a->untold) {
		a->untold = !agent_word_silent(&a->word, url, a->fails_since, why);
	}
	a->fails += a->fails < 2;
}

static void answers_again(struct agent *a)
{
	warn("crowdsec: %s answers again: %zu decisions are in force", a->options->url, a->all.n);
	if (a->fails > 1) {
		agent_word_answers(&a->word);
		event(a->context, (struct event){ .kind = EVENT_HEALED }, "crowdsec: %s answers again",
		      a->options->url);
	}
	a->fails = 0;
	a->strange = false;
}

static void turn(struct agent *a)
{
	int err = !a->follows || clock_seconds() > a->whole_until ? whole(a) : delta(a);

	a->follows = !err && !a->doubts;
	if (stop_asked)
		return;
	/* Who fails now may have had trouble when it said less, too. */
	if (err)
		forgive(a);
	if (err)
		failed(a, reason(err));
	else if (a->fails)
		answers_again(a);
}

static void rest(double seconds)
{
	struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	if (seconds > 0)
		stop_poll(NULL, 0, &time);
}

static int begin(struct agent *a)
{
	const struct crowdsec_options *o = a->options;
	int err = server_here_read(&a->here, o->url);
	const char *fault = fetch_url_fault(o->url, o->insecure || a->here.here);

	if (fault)
		return because(-EINVAL, "%.300s: %s", o->url, fault);
	if (!err && o->user && !a->here.bare)
		err = because(-EINVAL, "--agent-user: only of an agent on this machine that is asked by http:// is it"
				       " asked whose it is");
	if (!err && o->user)
		err = user_named(o->user, &a->here.also[0]);
	return err ?: read_key(o->key_file, &a->headers);
}

int follow_crowdsec(struct context *context, const struct crowdsec_options *options)
{
	struct agent a = { .context = context,
			   .options = options,
			   .headers = -1,
			   .word = { .lock = -1 },
			   .here = { .option = "--agent-user" } };
	int err = begin(&a);

	stop_on(SIGINT);
	stop_on(SIGTERM);
	if (!err)
		agent_word_begin(&a.word, context);
	err = err ?: read_own(&a);
	while (!err && !stop_asked) {
		double began = clock_seconds();

		turn(&a);
		rest(began + (a.doubts ? options->every / 2 : options->every) - clock_seconds());
	}
	agent_word_end(&a.word);
	decisions_free(&a.all);
	close_fd(a.headers);
	return err;
}
