// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore, and what completes a change that was left half done: what is asked of the kernel in which order, and what is
 * attached and kept afterwards; over a state in a directory of the test's own and a kernel that is made up, word for
 * word.
 */
#include "made_interfaces.h"

/* What has become a port since. */
static struct interface_info new_ports[2];
static size_t new_n;

static int given_come(struct state *state, struct interface_info **entries, size_t *n)
{
	int err = state ? call("which ports came") : -EINVAL;

	*n = err ? 0 : new_n;
	*entries = err ? NULL : malloc(sizeof(new_ports));
	if (*entries)
		memcpy(*entries, new_ports, sizeof(new_ports));
	return err;
}

static int given_live(struct live *live, const struct context *context)
{
	(void)context;
	*live = (struct live){ .meta = -1 };
	return call("what is in force");
}

static void given_close(struct live *live)
{
	(void)live;
	puts("  and enough of it");
}

static int given_take(const char *path, long seconds)
{
	return call("the lock, for %ld s", seconds) ?: lock_take(path, seconds);
}

static int given_in_force(const struct context *context, struct generation *g)
{
	(void)context;
	*g = (struct generation){ 0 };
	return call("what is in force");
}

static bool given_filtered(const struct context *context, const char *label)
{
	(void)context;
	return find(label);
}

#define ports_come	   given_come
#define attach_is_filtered given_filtered
#define live_open	   given_live
#define live_close	   given_close
#define kernel_ready	   given_ready
#define lock_take	   given_take
#include "change/no_room.c"
#define attach_all  attach_ahead
#define kernel_live given_in_force
#include "change/ahead.c"

static const struct shown known[] = {
#include "unit_restoring.txt"
};

static struct shows shows = { .file = "tests/unit/unit_restoring.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void restores(bool spare, bool force)
{
	const struct restore_options o = { spare, force };
	size_t gone = 0;
	int err = restore(&own_context, &o, &gone);

	printf("  %s, %zu are missing\n", err ? reason(err) : "done", gone);
	print_state();
}

/* What is there of it on trial alone is asked about until that goes back; whatever comes for good, for good. */
static void restored_beside_a_trial(void)
{
	for (int at = 0; at < 4; at++) {
		struct pending pending = { .kind = PENDING_INTERFACE, .deadline = 4000000000, .due = DUE };
		struct state *s;

		anew();
		kept("eth0", "native", MATCH_SOURCE, NULL, at == 0);
		kept("eth1", "native", MATCH_SOURCE, NULL, at == 1);
		kept("eth2", "native", MATCH_SOURCE, NULL, at == 2);
		s = opened(true);
		for (int i = 0; i < 2; i++) {
			snprintf(pending.name, sizeof(pending.name), "eth%d", i ? 2 : 0);
			if (!s || (!(at == 3 && i) && state_pending_add(s, &pending)))
				abort();
		}
		if (state_commit(s))
			abort();
		state_close(s);
		printf("-- there is eth%d, and on trial eth0%s\n", at, at < 3 ? " and eth2" : "");
		restores(false, false);
	}
}

static void restored(void)
{
	for (int at = 0; at <= 12; at++) {
		restore_before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		restores(at & 1, at & 2);
	}
	puts("-- the service runs");
	restore_before();
	watched = true;
	restores(false, false);
	for (int at = 0; at <= 12; at++)
		for (int times = 1; times < (at == 3 ? 3 : 2); times++) {
			restore_before();
			reserve = true;
			fails_at = at;
			fails_on = times > 1;
			fails_with = -ENOSPC;
			printf("-- the disk is full at call %d%s\n", at, fails_on ? ", and all that follow" : "");
			restores(false, false);
		}
	puts("-- there is no reserve");
	restore_before();
	fails_at = 1;
	fails_with = -ENOSPC;
	restores(false, false);
	puts("-- all is there");
	anew();
	eth0_is();
	restores(false, false);
	puts("-- a tunnel of which XDP sees the outer header");
	anew();
	links[1] = "gre1";
	kept("gre1", "skb", MATCH_SOURCE, NULL, true);
	restores(false, false);
	restored_beside_a_trial();
}

/* What is needed is asked about once more when a service begins for the first time, and only then. */
struct early_step {
	const char *is;
	bool watched, spare, fails;
	enum agreement agrees;
	bool gateway;
	int64_t seconds;
};

static void steps_of(const struct early_step *steps, size_t n)
{
	anew();
	eth0_is();
	filtered_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct state *state;

		printf("-- %s\n", steps[i].is);
		watched = steps[i].watched;
		agrees = steps[i].agrees;
		has_gateway = steps[i].gateway;
		booted_for = steps[i].seconds;
		calls = 0;
		fails_at = steps[i].fails ? 3 : 0;
		restores(steps[i].spare, false);
		state = opened(false);
		printf("  early: %d\n", restore_is_early(state));
		state_close(state);
	}
}

static void restored_early(void)
{
	static const struct early_step comes_up[] = {
		{ "before the service", false, true, false, BEHIND, true, 5 },
		{ "once more", false, true, false, AGREED, true, 6 },
		{ "by hand beside the service", true, false, false, AGREED, true, 7 },
		{ "the service, and it fails", true, true, true, AGREED, true, 8 },
		{ "the service, and what was to come into force fails", true, true, true, BEHIND, true, 9 },
		{ "the service, where the network is not up", true, true, false, AGREED, false, 10 },
		{ "the service, where it is", true, true, false, AGREED, true, 609 },
		{ "the service again", true, true, false, AGREED, false, 609 },
	};
	static const struct early_step never[] = {
		{ "before a service that begins much later", false, true, false, BEHIND, false, 5 },
		{ "the service, where the network is not up", true, true, false, AGREED, false, 7200 },
		{ "nor ten minutes later", true, true, false, AGREED, false, 7799 },
		{ "nor ever", true, true, false, AGREED, true, 7800 },
		{ "the service again", true, true, false, AGREED, true, 7700 },
	};

	steps_of(comes_up, sizeof(comes_up) / sizeof(comes_up[0]));
	steps_of(never, sizeof(never) / sizeof(never[0]));
	has_gateway = true;
}

/* Where nothing can be written, what is to be filtered is so. */
static void restored_without_room(void)
{
	static const enum agreement in_force[] = { AGREED, BEHIND, UNKNOWN, NOTHING_LIVE };

	for (size_t is = 0; is < 4; is++)
		for (int at = 1; at <= (is ? 1 : 8); at++) {
			restore_before();
			agrees = in_force[is];
			reserve = true;
			new_ports[0] = (struct interface_info){ .name = "p1", .mode = "skb", .match = MATCH_BOTH };
			new_ports[1] = (struct interface_info){ .name = "eth7", .mode = "auto" };
			new_n = 2;
			fails_at = 1;
			fails_too = at > 1 ? at : 0;
			fails_with = -ENOSPC;
			printf("-- what is in force is %zu; call %d fails, too\n", is, fails_too);
			restores(at & 1, at == 5);
		}
	puts("-- all is filtered");
	anew();
	eth0_is();
	new_n = 0;
	fails_at = 1;
	fails_with = -ENOSPC;
	restores(true, false);
}

/* It was filtered; its interface went, and one of its name came. */
static void back(const char *name, unsigned int match, const char *of)
{
	kept(name, "auto", match, of, true);
	filtered[filtered_n - 1].gone = true;
}

static void back_eth0(void)
{
	back("eth0", MATCH_SOURCE, NULL);
}

static void back_for_others(void)
{
	struct interface_info shared = { .name = "p1", .mode = "auto", .shared = true };
	struct state *s;

	back("eth0", MATCH_DESTINATION, NULL);
	back("eth1", MATCH_LEAVING(MATCH_SOURCE), NULL);
	back("p1", MATCH_SOURCE, NULL);
	back("eth9", MATCH_SOURCE, NULL); /* that is not there */
	s = opened(true);
	if (!s || state_interface_put(s, &shared) || state_commit(s))
		abort();
	state_close(s);
}

static void back_on_trial(void)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .name = "eth0", .deadline = 4000000000, .due = DUE };
	struct state *s;

	back_eth0();
	s = opened(true);
	if (!s || state_pending_add(s, &pending) || state_commit(s))
		abort();
	state_close(s);
}

/* detach takes the pin away before it waits for the lock itself. */
static void detached(void)
{
	kept("eth0", "auto", MATCH_SOURCE, NULL, false);
}

static void is_there(void)
{
	eth0_is();
	filtered[filtered_n++] = (struct attachment){ .name = "eth9", .as = "eth0", .mode = MODE_NATIVE };
}

static void nothing_in_force(void)
{
	back_eth0();
	agrees = NOTHING_LIVE;
}

static void not_known(void)
{
	back_eth0();
	agrees = UNKNOWN;
}

static void is_behind(void)
{
	back_eth0();
	agrees = BEHIND;
}

static void comes(const char *name, unsigned int match)
{
	new_ports[new_n] = (struct interface_info){ .mode = "skb", .match = match };
	strcpy(new_ports[new_n++].name, name);
}

static void ports_came(void)
{
	comes("p2", MATCH_SOURCE);
	comes("p1", MATCH_LEAVING(MATCH_SOURCE));
}

static void eth0_is_not_wanted(int turn)
{
	struct state *s = turn ? NULL : opened(true);

	if (s && (state_interface_drop(s, "eth0") || state_commit(s)))
		abort();
	state_close(s);
}

static void not_wanted(void)
{
	back_eth0();
	happens = eth0_is_not_wanted;
}

static void not_wanted_at_once(void)
{
	not_wanted();
	waits_for_lock = 1;
}

static void goes_and_comes(int turn)
{
	(void)turn;
	if (find("eth0"))
		find("eth0")->gone = true;
}

static void back_again(void)
{
	back_eth0();
	happens = goes_and_comes;
}

static void p2_is_another(int turn)
{
	if (!turn && find("p2"))
		find("p2")->gone = true;
	else if (find("p2"))
		new_n = 0; /* it is no port any more */
}

static void port_back_again(void)
{
	comes("p2", MATCH_SOURCE);
	happens = p2_is_another;
	waits_for_lock = 4;
}

static void p2_is_detached(int turn)
{
	(void)turn;
	if (find("p2"))
		take_off(find("p2"));
}

static void port_detached(void)
{
	comes("p2", MATCH_SOURCE);
	happens = p2_is_detached;
}

/* Another command has the lock: what has come back, or is a port now, does not wait for it. */
static void restored_ahead(void)
{
	static const struct {
		const char *is;
		void (*make)(void);
	} cases[] = {
		{ "it is back", back_eth0 },
		{ "they are of another kind, or not there", back_for_others },
		{ "it is on trial", back_on_trial },
		{ "it is being detached", detached },
		{ "it is filtered, and what had its name before, too", is_there },
		{ "nothing is in force", nothing_in_force },
		{ "what is in force is not known", not_known },
		{ "what is in force is behind", is_behind },
		{ "ports came", ports_came },
		{ "it is not wanted any more", not_wanted },
		{ "it is not wanted any more, under the lock", not_wanted_at_once },
		{ "it goes and comes again", back_again },
		{ "a port goes and comes again, and is none then", port_back_again },
		{ "a port comes, and is detached", port_detached },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		anew();
		new_n = 0;
		waits_for_lock = 2;
		cases[i].make();
		printf("-- %s\n", cases[i].is);
		restores(true, false);
	}
	new_n = 0;
	for (int at = 1; at <= 5; at++) {
		anew();
		back_eth0();
		waits_for_lock = 1;
		happens = eth0_is_not_wanted;
		fails_at = at < 5 ? at : 7;
		printf("-- call %d fails\n", fails_at);
		restores(true, false);
	}
	puts("-- by hand");
	anew();
	back_eth0();
	waits_for_lock = 1;
	restores(false, false);
}

static void a_port(void)
{
	eth0_is();
	comes("p2", MATCH_SOURCE);
}

/* The call that asks, where one has come back. */
#define ASKED 4

/* That one was attached ahead outlives whoever did: it waits, and ends before it has the lock, as by kill -9. */
static void ended_ahead(void)
{
	static const struct {
		const char *is;
		void (*make)(void);
		bool is_dropped; /* out of the state, before the next one */
	} cases[] = { { "it is back", back_eth0, false },
		      { "it is back, and is not wanted any more", back_eth0, true },
		      { "a port came", a_port, false } };
	char path[STATE_PATH_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int at = 0; at < 3; at++) {
			struct ahead ahead = { .context = &own_context };

			anew();
			new_n = 0;
			cases[i].make();
			printf("-- %s%s\n", cases[i].is,
			       at == 1	 ? "; what is asked fails"
			       : at == 2 ? "; without room"
					 : "");
			ahead_attach(&ahead);
			free(ahead.names);
			if (cases[i].is_dropped)
				eth0_is_not_wanted(0);
			calls = 0;
			fails_at = at == 1 ? ASKED : at == 2;
			fails_with = at == 2 ? -ENOSPC : -EIO;
			restores(true, false);
			puts("-- the next one");
			calls = fails_at = 0;
			restores(true, false);
		}
	puts("-- it cannot be written");
	anew();
	new_n = 0;
	back_eth0();
	if (mkdir(state_path(path, directory, STATE_AHEAD), 0700))
		abort();
	waits_for_lock = 1;
	restores(true, false);
}

static void completes(void)
{
	struct change change = { .context = &own_context };

	for (int at = 0; at <= 5; at++) {
		anew();
		kept("eth0", "auto", MATCH_SOURCE, NULL, true);
		kept("eth1", "auto", MATCH_SOURCE, NULL, true);
		kept("p1", "auto", MATCH_DESTINATION, NULL, true);
		kept("p2", "auto", MATCH_DESTINATION, NULL, true);
		kept("p2", "tc", MATCH_LEAVING(MATCH_SOURCE), NULL, true);
		filtered[1].match = MATCH_BOTH;
		filtered[2].gone = true;
		filtered[3].match = MATCH_COMING(MATCH_SOURCE);
		filtered[3].mode = MODE_TC;
		matches = at;
		fails_at = at - 1;
		printf("-- call %d fails\n", at - 1);
		change.state = opened(false);
		attachments_complete(&change);
		state_close(change.state);
		print_state();
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "restore", restored },     { "early", restored_early },    { "without room", restored_without_room },
		{ "ahead", restored_ahead }, { "ended ahead", ended_ahead }, { "half changed", completes }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	anew();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
