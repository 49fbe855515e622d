// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach: what it asks of the kernel in which order, what the state has afterwards, and what goes back where any of it
 * fails; over a state in a directory of the test's own and a kernel that is made up, word for word.
 */
#include "made_interfaces.h"

static const struct shown known[] = {
#include "unit_attaching.txt"
};

static struct shows shows = { .file = "tests/unit/unit_attaching.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static void attaches(const struct attach_options *o, char **names)
{
	struct attachment *done = NULL;
	bool missing = false;
	int n = 0, done_n = 0, err;

	while (names[n])
		n++;
	err = attach_interfaces(&own_context, o, names, n, &done, &done_n, &missing);
	printf("  %s, %d attached%s\n", err ? reason(err) : "done", done_n, missing ? ", some are missing" : "");
	free(done);
	print_state();
}

/* The same, and where each of the calls fails. */
static void attach_all_ways(void (*before)(void), const struct attach_options *o, char **names)
{
	int all;

	for (int at = 0, n = 1; at <= n; at++) {
		anew();
		if (before)
			before();
		fails_at = at;
		printf("-- call %d fails\n", at);
		attaches(o, names);
		all = at ? n : calls;
		n = all;
	}
}

#define NAMES(...)   ((char *[]){ __VA_ARGS__, NULL })
#define OPTIONS(...) (&(const struct attach_options){ __VA_ARGS__ })
#define MODE(mode)   ((mode) + 1)
#define ASKS(match)  ((match) + 1)

static void one(void)
{
	attach_all_ways(NULL, OPTIONS(0), NAMES("eth0", "eth1"));
	puts("-- one of them twice");
	anew();
	attaches(OPTIONS(0), NAMES("eth0", "eth1", "eth0"));
}

static void eth0_egress(void)
{
	kept("eth0", "tc", MATCH_LEAVING(MATCH_DESTINATION), NULL, true);
}

static void eth0_shared(void)
{
	eth0_is();
	filtered[0].shared = true;
}

static void eth0_tc(void)
{
	kept("eth0", "tc", MATCH_COMING(MATCH_BOTH), NULL, true);
}

static void eth0_open(void)
{
	kept("eth0", "native", MATCH_DESTINATION, NULL, false);
}

static void in_place(void)
{
	attach_all_ways(eth0_is, OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0", "eth1"));
	attach_all_ways(eth0_is, OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("eth0", "eth1"));
	puts("-- a mode that was asked for before");
	for (int i = 0; i < 2; i++) {
		anew();
		kept("eth0", "native", MATCH_SOURCE, NULL, true);
		attaches(OPTIONS(.match = ASKS(MATCH_BOTH), .if_needed = i), NAMES("eth0"));
	}
	puts("-- it is there, and not kept");
	anew();
	eth0_is();
	fails_at = 6;
	attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
	puts("-- and it cannot go back");
	anew();
	eth0_is();
	fails_at = 7;
	fails_on = true;
	attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- what mode it was asked for cannot be read");
	for (int n = 0; n < 4; n++) {
		anew();
		eth0_is();
		unread = "interfaces";
		reads = n;
		printf("-- after %d\n", n);
		attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("eth0"));
	}
	unread = NULL;
}

/* The second cannot be attached, and the first not go back. */
static void stuck(void)
{
	for (int i = 0; i < 2; i++)
		for (int at = 8; at < 12; at++) {
			anew();
			if (i)
				eth0_is();
			fails_at = at;
			fails_on = true;
			printf("-- call %d fails, and all behind it\n", at);
			attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0", "eth1"));
		}
}

static void on_trial(void)
{
	attach_all_ways(NULL, OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	attach_all_ways(eth0_open, OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	puts("-- and again");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0", "eth1"));
	attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
	attaches(OPTIONS(.confirm = { true, 60 }, .if_needed = true), NAMES("eth0"));
	puts("-- others beside it");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "p1", "p1"));
	puts("-- for good, and otherwise");
	attaches(OPTIONS(0), NAMES("eth0"));
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("p2", "eth0"));
	attaches(OPTIONS(.mode = MODE(MODE_SKB)), NAMES("eth0"));
	attaches(OPTIONS(.mode = MODE(MODE_SKB), .if_needed = true), NAMES("eth0"));
	attaches(OPTIONS(.egress = true), NAMES("eth0"));
	attach_all_ways(eth0_is, OPTIONS(.confirm = { true, 60 }, .mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- under another name by now");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0"));
	strcpy(filtered[0].as, "eth0");
	strcpy(filtered[0].name, "wan");
	links[0] = "wan";
	attaches(OPTIONS(.if_needed = true), NAMES("wan"));
	attaches(OPTIONS(0), NAMES("wan"));
	puts("-- and for good");
	filtered[0].until = 0;
	attaches(OPTIONS(.if_needed = true), NAMES("wan"));
}

static void options(void)
{
	static const struct {
		const char *what;
		struct attach_options o;
	} each[] = {
		{ "as it is", { 0 } },
		{ "egress", { .egress = true } },
		{ "egress, both", { .egress = true, .match = ASKS(MATCH_BOTH) } },
		{ "native", { .mode = MODE(MODE_NATIVE) } },
		{ "skb", { .mode = MODE(MODE_SKB) } },
		{ "tc", { .mode = MODE(MODE_TC) } },
		{ "tc, destinations", { .mode = MODE(MODE_TC), .match = ASKS(MATCH_DESTINATION) } },
		{ "auto", { .mode = MODE(MODE_AUTO) } },
		{ "shared", { .shared = true } },
		{ "destinations", { .match = ASKS(MATCH_DESTINATION) } },
		{ "if needed", { .if_needed = true } },
		{ "if needed, generic", { .if_needed = true, .mode = MODE(MODE_SKB) } },
		{ "force", { .force = true, .mode = MODE(MODE_SKB) } },
	};
	static void (*const before[])(void) = { NULL, eth0_is, eth0_egress, eth0_shared, eth0_tc, eth0_open };

	for (size_t j = 0; j < sizeof(before) / sizeof(before[0]); j++)
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			anew();
			if (before[j])
				before[j]();
			printf("-- %zu: %s\n", j, each[i].what);
			attaches(&each[i].o, NAMES("eth0"));
		}
}

/* A tunnel of which XDP's programs see the outer header: tc is taken, unless something else is asked for. */
static void outer(void)
{
	static const struct {
		const char *what;
		struct attach_options o;
	} each[] = {
		{ "as it is", { 0 } },
		{ "both", { .match = ASKS(MATCH_BOTH) } },
		{ "skb", { .mode = MODE(MODE_SKB) } },
		{ "shared", { .shared = true } },
		{ "if needed", { .if_needed = true } },
	};

	for (int is = 0; is < 2; is++)
		for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			anew();
			links[1] = "gre1";
			if (is)
				kept("gre1", "skb", MATCH_SOURCE, NULL, true);
			printf("-- %s%s\n", each[i].what, is ? ", in skb mode before" : "");
			attaches(&each[i].o, NAMES("gre1"));
		}
}

static void missing(void)
{
	static const int errors[] = { -EXDEV, -ENODEV, -EBUSY, -ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		anew();
		fails_at = 6;
		fails_with = errors[i];
		printf("-- %s, if needed\n", errno_text(errors[i]));
		attaches(OPTIONS(.if_needed = true), NAMES("eth0"));
		anew();
		bridge();
		fails_at = 8;
		fails_with = errors[i];
		printf("-- %s, a port\n", errno_text(errors[i]));
		attaches(OPTIONS(.ports = true), NAMES("br0"));
	}
	anew();
	puts("-- not there");
	attaches(OPTIONS(0), NAMES("eth0", "eth7"));
	puts("-- not there, if needed");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "eth7"));
	puts("-- again");
	attaches(OPTIONS(.if_needed = true), NAMES("eth0", "eth7"));
	puts("-- a mode that cannot be, if needed");
	calls = 0;
	fails_at = 7;
	attaches(OPTIONS(.if_needed = true, .mode = MODE(MODE_SKB)), NAMES("eth0"));
	puts("-- in doubt what is in force");
	anew();
	agrees = BEHIND;
	attaches(OPTIONS(0), NAMES("eth0"));
	puts("-- not there, if needed, on trial");
	anew();
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth0", "eth7"));
	puts("-- not there, on trial");
	anew();
	attaches(OPTIONS(.confirm = { true, 60 }), NAMES("eth0", "eth7"));
	puts("-- remembered before, on trial");
	anew();
	kept("eth7", "skb", MATCH_SOURCE, NULL, false);
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth7"));
	puts("-- and again");
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("eth7"));
	attaches(OPTIONS(.if_needed = true), NAMES("eth7"));
	attaches(OPTIONS(0), NAMES("eth7"));
}

static void of_ports(void)
{
	attach_all_ways(bridge, OPTIONS(.ports = true), NAMES("br0"));
	puts("-- on trial");
	anew();
	bridge();
	attaches(OPTIONS(.ports = true, .confirm = { true, 60 }), NAMES("br0"));
	puts("-- and one of them for itself");
	attaches(OPTIONS(0), NAMES("p1"));
	attaches(OPTIONS(.if_needed = true), NAMES("p1"));
	attaches(OPTIONS(.match = ASKS(MATCH_BOTH)), NAMES("p1"));
	puts("-- and what is filtered already");
	anew();
	bridge_is();
	attaches(OPTIONS(.ports = true, .confirm = { true, 60 }), NAMES("br0"));
	puts("-- again");
	anew();
	bridge_is();
	attaches(OPTIONS(.ports = true), NAMES("br0"));
	puts("-- one of them for itself, and whether it is one cannot be read");
	unread = "ports";
	attaches(OPTIONS(0), NAMES("p1"));
	unread = NULL;
	puts("-- one of them for itself");
	attaches(OPTIONS(0), NAMES("p1"));
	puts("-- twice");
	attaches(OPTIONS(.ports = true, .mode = MODE(MODE_SKB)), NAMES("br0", "br0"));
	puts("-- no ports");
	attaches(OPTIONS(.ports = true), NAMES("eth0"));
	puts("-- not there");
	anew();
	attaches(OPTIONS(.ports = true), NAMES("br7"));
	puts("-- not there, if needed");
	attaches(OPTIONS(.ports = true, .if_needed = true, .egress = true), NAMES("br7", "br0"));
	puts("-- one of them for itself, on trial, and one that is attached");
	anew();
	bridge_is();
	kept("p2", "auto", MATCH_SOURCE, "br0", false);
	attaches(OPTIONS(.if_needed = true, .confirm = { true, 60 }), NAMES("p1", "p2"));
}

/* What could not begin has nothing to take back. */
static void no_memory(void)
{
	for (int at = 1; at <= 8; at++) {
		bool ports = at > 3;

		anew();
		bridge();
		printf("-- number %d\n", at);
		calloc_fails = ports ? at - 3 : at;
		attaches(OPTIONS(.ports = ports), ports ? NAMES("br0") : NAMES("eth0"));
	}
	calloc_fails = 0;
	puts("-- of what is kept");
	for (int at = 1; at <= 2; at++) {
		struct attachment *list = NULL;
		struct state *s;
		size_t n = 0;
		int err;

		restore_before();
		s = opened(false);
		if (!s)
			abort();
		calloc_fails = at;
		err = attachments_kept(s, &list, &n);
		calloc_fails = 0;
		printf("  %s, %s, of %zu\n", err ? errno_text(err) : "known", list ? "with a list" : "without a list",
		       n);
		free(list);
		state_close(s);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "two", one },	       { "each option", options }, { "in place", in_place },
		{ "stuck", stuck },    { "on trial", on_trial },   { "not there", missing },
		{ "ports", of_ports }, { "no memory", no_memory }, { "an outer header", outer },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	anew();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
