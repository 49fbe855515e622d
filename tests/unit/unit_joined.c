// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a machine that has joined a fleet has to say there: however its own bans come and go, and whatever is said in
 * between or is lost on the way, whoever hears it knows what it bans itself. And who has not joined asks nothing of it.
 */
#include <sqlite3.h>
#include <time.h>

#include "base/clock.h"
#include "change/ban.h"
#include "change/change.h"
#include "state/fleet.h"
#include "state/internal.h"

#include "own_state.h"

enum { PREFIXES = 12, STEPS = 3000 };

static const struct fleet joined = {
	.url = "redis://127.0.0.1", .name = "edge-1", .prefix = FLEET_PREFIX, .say = FLEET_SAY_ALL
};
static const char *const says[] = { FLEET_SAY_ALL, FLEET_SAY_ADD, FLEET_SAY_DETECTOR, "fail2ban" };
static const char *const reasons[] = { "", "detector: syn, 4k/s", "crowdsec x", "fail2ban sshd", "mine" };

static struct prefix prefix_at(int i)
{
	char text[32];
	struct prefix p;

	snprintf(text, sizeof(text), i % 2 ? "2001:db8:%d::/48" : "198.51.%d.0/24", i);
	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	return p;
}

static void begin(struct change *change)
{
	*change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change->state);
}

static void end(struct change *change, bool commits)
{
	if (commits)
		CHECK(!accounts_put(change) && !state_commit(change->state), "the commit: %s", log_last());
	state_close(change->state);
	touched_free(&change->touched);
	guard_free(&change->guard);
	jail_free(&change->jail);
	accounts_free(&change->accounts);
}

/* What this machine itself bans, for as long as anybody could measure. */
static bool own_ban(struct state *state, int i, struct ban *ban)
{
	struct prefix p = prefix_at(i);
	int err = account_own(state, p.first, p.length, ban);

	ENOUGH(!err || err_is(err, ENOENT));
	return !err && ban_in_force(ban, time(NULL));
}

/* What has come to whoever listens: the reasons. */
static struct heard {
	bool is;
	char reason[BAN_REASON_MAX];
} heard[PREFIXES], way[PREFIXES]; /* and what is on its way */

static int index_of(struct addr first)
{
	for (int i = 0; i < PREFIXES; i++)
		if (prefix_at(i).first.num == first.num && prefix_at(i).first.family == first.family)
			return i;
	ENOUGH(false);
	return 0;
}

static void send_one(struct state *state, const char *say, int i)
{
	struct ban ban;

	way[i].is = own_ban(state, i, &ban) && fleet_says(say, &ban);
	memcpy(way[i].reason, way[i].is ? ban.reason : "", way[i].is ? sizeof(ban.reason) : 1);
}

/* As the process of a fleet does: what has changed is sent as it is now; only when that is there it is forgotten. */
static struct {
	bool any;
	int64_t number, all;
	char epoch[FLEET_EPOCH_MAX];
	bool said_all;
} sent;

static void send_some(struct change *change)
{
	struct fleet fleet;
	struct fleet_out *out;
	size_t n;

	ENOUGH(!state_fleet(change->state, &fleet));
	memcpy(way, heard, sizeof(way));
	sent.any = true;
	sent.all = fleet.all;
	if (fleet.all) {
		struct ban last = { 0 };

		ENOUGH(!state_fleet_out_last(change->state, &sent.number));
		memset(way, 0, sizeof(way));
		do {
			struct ban *bans;

			ENOUGH(!state_bans_page(change->state, &last, 2, &bans, &n));
			for (size_t i = 0; i < n; i++)
				send_one(change->state, fleet.say, index_of(bans[i].first));
			if (n)
				last = bans[n - 1];
			free(bans);
		} while (n == 2);
		return;
	}
	ENOUGH(!state_fleet_out(change->state, 1 + ktap_random() % 5, &out, &n));
	sent.number = n ? out[n - 1].number : 0;
	for (size_t i = 0; i < n; i++)
		send_one(change->state, fleet.say, index_of(out[i].first));
	free(out);
}

static void it_came(struct change *change, bool known)
{
	if (!sent.any)
		return;
	memcpy(heard, way, sizeof(way));
	sent.any = false;
	if (known)
		ENOUGH(!state_fleet_said(change->state, "0123456789abcdef", 1, sent.number, sent.all));
}

static void own(struct change *change, int i)
{
	struct prefix p = prefix_at(i);
	struct ban ban = { .first = p.first, .length = p.length, .added = time(NULL) };

	snprintf(ban.reason, sizeof(ban.reason), "%s", reasons[ktap_random() % 5]);
	if (ktap_random() % 2) {
		ban.expires = ban.added + 3600;
		ban.due = clock_boot() + 3600LL * 1000000000;
	}
	CHECK(!account_own_put(change, &ban), "own: %s", log_last());
}

/* As ban_add() and ban_orders() do. */
static void by_options(struct change *change, int i)
{
	struct prefix p = prefix_at(i);
	struct prefixes one = { .at = &p, .n = 1 };
	struct ban_options options = { .reason = reasons[ktap_random() % 5], .replace = ktap_random() % 2 };
	struct ban_order order = { .prefix = p, .del = ktap_random() % 2, .reason = options.reason };
	struct banned banned = { 0 };
	int err = ktap_random() % 2 ? ban_add(change, &options, &one, &banned)
				    : ban_orders(change, &options, NULL, &order, 1, &banned);

	CHECK(!err, "bans: %s", reason(err));
	banned_free(&banned);
}

static void step(struct change *change)
{
	int i = (int)(ktap_random() % PREFIXES), err;
	struct prefix p = prefix_at(i);
	bool taken, fresh;

	switch (ktap_random() % 16) {
	case 0:
	case 1:
	case 2:
		own(change, i);
		break;
	case 3:
	case 4:
		by_options(change, i);
		break;
	case 5:
	case 6:
		err = account_own_drop(change, p.first, p.length);
		CHECK(!err || err_is(err, ENOENT), "own end: %s", reason(err));
		break;
	case 7:
	case 8:
		CHECK(!account_say(change, "edge-7", &p, 600, "theirs", &taken, &fresh) && taken, "theirs");
		break;
	case 9:
		err = account_unsay(change, "edge-7", &p);
		CHECK(!err || err_is(err, ENOENT), "their end: %s", reason(err));
		break;
	case 10:
		if (!(ktap_random() % 20))
			ENOUGH(!state_bans_clear(change->state));
		break;
	case 11:
		if (!(ktap_random() % 20))
			ENOUGH(!state_fleet_say_all(change->state));
		break;
	case 12:
		send_some(change);
		break;
	case 13:
		/* Killed before it was known; or on the way. */
		it_came(change, ktap_random() % 3);
		break;
	case 14:
		sent.any = sent.any && ktap_random() % 3;
		break;
	default:
		it_came(change, true);
	}
}

static void all_hear(void)
{
	struct member_limits limits = member_limits_default;
	struct fleet fleet = joined;
	struct change change;
	int64_t waiting;

	memset(heard, 0, sizeof(heard));
	sent.any = false;
	snprintf(fleet.say, sizeof(fleet.say), "%s", says[ktap_random() % 4]);
	limits.rate = 1e6;
	begin(&change);
	own(&change, 1);
	ENOUGH(!state_fleet_join(change.state, &fleet) && !account_rule(&change, "edge-7", &limits));
	for (int i = 0; i < STEPS && !ktap_failed; i++) {
		step(&change);
		if (!(ktap_random() % 40)) {
			bool commits = ktap_random() % 4;

			/* What was said since is known to nobody, if it is undone. */
			if (!commits)
				sent.any = false;
			end(&change, commits);
			begin(&change);
			if (!commits && !err_is(state_fleet(change.state, &fleet), ENOENT))
				ENOUGH(!state_fleet_say_all(change.state));
			else if (!commits)
				ENOUGH(!state_fleet_join(change.state, &joined) &&
				       !account_rule(&change, "edge-7", &limits));
		}
	}
	for (int rounds = 0; rounds < 100; rounds++) {
		sent.any = false;
		send_some(&change);
		it_came(&change, true);
	}
	ENOUGH(!state_fleet(change.state, &fleet) && !state_fleet_waiting(change.state, &waiting));
	CHECK(!fleet.all && !waiting, "%d still wait, everything: %d", (int)waiting, (int)fleet.all);
	for (int i = 0; i < PREFIXES && !ktap_failed; i++) {
		struct ban ban;
		bool is = own_ban(change.state, i, &ban) && fleet_says(fleet.say, &ban);

		CHECK(is == heard[i].is && (!is || !strcmp(ban.reason, heard[i].reason)),
		      "prefix %d: %d, '%s'; they heard: %d, '%s'", i, is, is ? ban.reason : "", heard[i].is,
		      heard[i].reason);
	}
	end(&change, true);
	empty_directory();
}

/* So many that they are not kept one by one. */
static void too_many(void)
{
	struct change change;
	struct fleet fleet;
	int64_t waiting;

	begin(&change);
	ENOUGH(!state_fleet_join(change.state, &joined) &&
	       !state_fleet_said(change.state, "0123456789abcdef", 1, 0, 1));
	for (uint32_t i = 0; i < FLEET_OUT_MOST; i++)
		ENOUGH(!state_own_changed(change.state, &(struct prefix){ { i, 4 }, 32 }, NULL, false));
	ENOUGH(!state_fleet(change.state, &fleet) && !state_fleet_waiting(change.state, &waiting));
	CHECK(!fleet.all && waiting == FLEET_OUT_MOST, "%d wait", (int)waiting);
	ENOUGH(!state_own_changed(change.state, &(struct prefix){ { FLEET_OUT_MOST, 4 }, 32 }, NULL, false));
	ENOUGH(!state_fleet(change.state, &fleet) && !state_fleet_waiting(change.state, &waiting));
	CHECK(fleet.all && !waiting, "%d wait, everything: %d", (int)waiting, (int)fleet.all);
	end(&change, false);
	empty_directory();
}

static void rejoined(void)
{
	static const struct fleet_at at = { .member = "edge-7", .epoch = "0123456789abcdef", .n = 3, .id = "17-3" };
	struct fleet fleet = joined;
	struct fleet_at *ats;
	struct change change;
	size_t n;

	begin(&change);
	ENOUGH(!state_fleet_join(change.state, &fleet) && !state_fleet_at_put(change.state, &at) &&
	       !state_fleet_said(change.state, "fedcba9876543210", 7, 0, 1));
	snprintf(fleet.say, sizeof(fleet.say), "add");
	ENOUGH(!state_fleet_join(change.state, &fleet) && !state_fleet(change.state, &fleet) &&
	       !state_fleet_ats(change.state, &ats, &n));
	CHECK(n == 1 && ats->n == 3 && !strcmp(ats->id, "17-3") && fleet.n == 7 && fleet.all,
	      "the same server: %zu, %d said", n, (int)fleet.n);
	free(ats);
	/* By another name it has said nothing yet; with another prefix it has taken nothing, either. */
	snprintf(fleet.name, sizeof(fleet.name), "edge-2");
	ENOUGH(!state_fleet_join(change.state, &fleet) && !state_fleet(change.state, &fleet) &&
	       !state_fleet_ats(change.state, &ats, &n));
	CHECK(n == 1 && ats->n == 3 && !fleet.n && !*fleet.epoch && fleet.all, "another name: %zu, %d said", n,
	      (int)fleet.n);
	free(ats);
	snprintf(fleet.prefix, sizeof(fleet.prefix), "another");
	ENOUGH(!state_fleet_said(change.state, "fedcba9876543210", 7, 0, 0) &&
	       !state_fleet_join(change.state, &fleet) && !state_fleet(change.state, &fleet) &&
	       !state_fleet_ats(change.state, &ats, &n));
	CHECK(!n && !fleet.n && !*fleet.epoch && fleet.all, "another prefix: %zu, %d said", n, (int)fleet.n);
	free(ats);
	snprintf(fleet.url, sizeof(fleet.url), "redis://127.0.0.2");
	ENOUGH(!state_fleet_at_put(change.state, &at) && !state_fleet_said(change.state, "fedcba9876543210", 7, 0, 0) &&
	       !state_fleet_join(change.state, &fleet) && !state_fleet(change.state, &fleet) &&
	       !state_fleet_ats(change.state, &ats, &n));
	CHECK(!n && !fleet.n && !*fleet.epoch && fleet.all, "another server: %zu, %d said", n, (int)fleet.n);
	free(ats);
	CHECK(!state_fleet_leave(change.state) && err_is(state_fleet(change.state, &fleet), ENOENT) &&
		      err_is(state_fleet_leave(change.state), ENOENT),
	      "left");
	end(&change, true);
	empty_directory();
}

static int is_of_fleet(unsigned int what, void *count, void *stmt, void *sql)
{
	(void)what;
	(void)stmt;
	*(int *)count += strstr(sql, "fleet") != NULL;
	return 0;
}

static void asks_nothing(void)
{
	struct pending pending = { .kind = PENDING_BAN, .name = "198.51.0.0/24", .deadline = 4000000000 };
	struct change change;
	int count = 0;

	begin(&change);
	sqlite3_trace_v2(change.state->db, SQLITE_TRACE_STMT, is_of_fleet, &count);
	for (int i = 0; i < 50; i++) {
		struct prefix p = prefix_at(i % PREFIXES);
		int err;

		own(&change, i % PREFIXES);
		by_options(&change, i % PREFIXES);
		err = account_own_drop(&change, p.first, p.length);
		CHECK(!err || err_is(err, ENOENT), "%s", reason(err));
	}
	ENOUGH(!state_pending_add(change.state, &pending) && !state_pending_undo(change.state, &pending) &&
	       !state_bans_clear(change.state));
	end(&change, true);
	CHECK(!count, "%d statements about a fleet that there is not", count);
	empty_directory();
}

static void by_many_ways(void)
{
	for (int i = 0; i < 8 && !ktap_failed; i++)
		all_hear();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "who listens knows what it bans", by_many_ways },
		{ "too many to wait one by one", too_many },
		{ "the same server, another, none", rejoined },
		{ "who has joined none asks nothing", asks_nothing },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
