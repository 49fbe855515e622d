// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the detector is given of the state and of this machine: whom it trusts and how far, against a naive look at the
 * lists; whom it never bans; and which addresses are this machine's own, told again as they come and go. The machine is
 * made up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/log.h"
#include "change/own_addresses.h"
#include "kernel/detect.h"
#include "kernel/detect_in_force.h"

static int made_ifaddrs(struct ifaddrs **all);
static void made_ifaddrs_end(struct ifaddrs *all);
static int made_needs(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		      struct own_address **list, size_t *n);
static int made_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
		    size_t gone_n);

#define getifaddrs    made_ifaddrs
#define freeifaddrs   made_ifaddrs_end
#define own_addresses made_needs
#define kernel_own    made_own

#include "own_state.h"
#include "base/grow.h"
#include "change/ends.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/proven.h"

static int until = -1; /* so many calls succeed before one fails; -1: all of them */
static bool failed;

static int fails(void)
{
	bool is = !until;

	until -= until >= 0;
	failed = failed || is;
	return is ? because(-EIO, "a call fails") : 0;
}

#define CALL(function, ...)		       (fails() ?: function(__VA_ARGS__))
#define ranges_subtract(...)		       CALL(ranges_subtract, __VA_ARGS__)
#define ranges_union(...)		       CALL(ranges_union, __VA_ARGS__)
#define lists_in_force(...)		       CALL(lists_in_force, __VA_ARGS__)
#define state_allowed(...)		       CALL(state_allowed, __VA_ARGS__)
#define state_list_whole_set(state, list, set) (*(set) = RANGES_EMPTY, CALL(state_list_whole_set, state, list, set))
#define state_proven(...)		       CALL(state_proven, __VA_ARGS__)
#define state_ladder(...)		       CALL(state_ladder, __VA_ARGS__)
#define grow(...)			       (fails() ? NULL : grow(__VA_ARGS__))
#define calloc(...)			       (fails() ? NULL : calloc(__VA_ARGS__))
#include "change/detector.c"
#undef state_allowed
#undef grow
#undef calloc

/* --- The machine --- */

static struct {
	const char *own[8], *need[8]; /* "": an interface without an address, "-": one of hardware */
	int fails, needs_fail;	      /* errno */
	unsigned int given;	      /* lists of addresses that were not given back */
} machine;

static struct addr addr_of(const char *text)
{
	struct addr addr;

	ENOUGH(!addr_parse(text, strlen(text), &addr));
	return addr;
}

static int made_ifaddrs(struct ifaddrs **all)
{
	static struct ifaddrs list[8];
	static struct sockaddr_storage room[8];
	int n = 0;

	errno = machine.fails;
	if (machine.fails)
		return -1;
	machine.given++;
	memset(list, 0, sizeof(list));
	memset(room, 0, sizeof(room));
	for (; machine.own[n]; n++) {
		struct sockaddr_in *v4 = (void *)&room[n];
		struct sockaddr_in6 *v6 = (void *)&room[n];

		if (n)
			list[n - 1].ifa_next = &list[n];
		if (!*machine.own[n])
			continue;
		list[n].ifa_addr = (void *)&room[n];
		if (inet_pton(AF_INET, machine.own[n], &v4->sin_addr) == 1)
			v4->sin_family = AF_INET;
		else if (inet_pton(AF_INET6, machine.own[n], &v6->sin6_addr) == 1)
			v6->sin6_family = AF_INET6;
		else
			room[n].ss_family = AF_PACKET;
	}
	*all = n ? list : NULL;
	return 0;
}

static void made_ifaddrs_end(struct ifaddrs *all)
{
	(void)all;
	machine.given -= !machine.fails;
}

static int made_needs(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		      struct own_address **list, size_t *n)
{
	(void)destinations;
	(void)state;
	(void)arg;
	CHECK(!wanted, "it asks for some alone");
	*list = NULL;
	*n = 0;
	if (machine.needs_fail)
		return because(-machine.needs_fail, "the routes: nobody knows");
	*list = calloc(8, sizeof(**list));
	ENOUGH(*list);
	for (; machine.need[*n]; ++*n)
		(*list)[*n].addr = addr_of(machine.need[*n]);
	return 0;
}

/* What the kernel was told last. */
static struct {
	char now[256], gone[256];
	unsigned int times;
	int fails;
} told;

static const char *keys_text(char text[256], const struct end_key *keys, size_t n)
{
	char one[64];

	*text = '\0';
	for (size_t i = 0; i < n; i++) {
		bool six = keys[i].family == END_KEY_OWN + 6;

		if (!CHECK((six || keys[i].family == END_KEY_OWN + 4) && keys[i].bits == END_KEY_BITS(six ? 128 : 32),
			   "family %u, %u bits", keys[i].family, keys[i].bits))
			break;
		inet_ntop(six ? AF_INET6 : AF_INET, keys[i].addr, one, sizeof(one));
		snprintf(text + strlen(text), 256 - strlen(text), "%s%s", i ? " " : "", one);
	}
	return text;
}

static int made_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
		    size_t gone_n)
{
	CHECK(context == &own_context, "of another context");
	told.times++;
	keys_text(told.now, keys, n);
	keys_text(told.gone, gone, gone_n);
	return told.fails ? -told.fails : 0;
}

/* --- The state --- */

static void put_list(struct state *s, const char *name, enum list_kind kind, unsigned int times, const char *text)
{
	struct list_info list = { .kind = kind, .times = times, .addresses = "1", .source = "a file" };
	struct ranges set = RANGES_EMPTY;
	char copy[256], *rest = copy, *word;

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " "))) {
		unsigned int length;
		struct addr first;

		ENOUGH(!prefix_parse(word, strlen(word), &first, &length) && !ranges_add_prefix(&set, first, length));
	}
	ENOUGH(!ranges_finish(&set));
	list.prefixes = ranges_count_prefixes(&set);
	ENOUGH(!state_list_put(s, &list, &set));
	ranges_free(&set);
}

static void limits_put(struct state *s, enum then then, double unanswered)
{
	struct limits limits = state_limits(s);

	limits.on = true;
	limits.of[CLASS_SYN].then = then;
	limits.of[CLASS_UNANSWERED].rate = unanswered;
	ENOUGH(!state_limits_put(s, &limits));
}

/* What the kernel's trie says of it; TRUST_ALL: nothing. */
static __u64 scale_of(const struct detector *d, const char *text)
{
	struct addr addr = addr_of(text);
	struct end_key key = end_key_of(addr, addr_width(addr.family));
	__u64 scale = TRUST_ALL;
	__u32 longest = 0;

	for (size_t i = 0; i < d->trusted_n; i++)
		if (d->trusted[i].key.bits >= longest && end_key_holds(&d->trusted[i].key, &key)) {
			longest = d->trusted[i].key.bits;
			scale = d->trusted[i].scale;
		}
	return scale;
}

static bool fill(struct detector *d, struct state *s)
{
	int err;

	*d = (struct detector){ 0 };
	err = detector_fill(d, s);
	return CHECK(!err, "not filled: %s", reason(err)) && CHECK(!machine.given, "what is given is kept");
}

/* --- Cases --- */

static void whom_it_trusts(void)
{
	static const struct {
		const char *addr;
		__u64 scale;
	} known[] = {
		{ "192.0.2.1", 0 },
		{ "192.0.2.130", 0 }, /* in a list as well, by a longer prefix */
		{ "192.0.3.1", TRUST_ALL / 50 },
		{ "192.0.3.200", TRUST_ALL / 50 }, /* the more generous, whose prefix is shorter */
		{ "192.0.4.1", TRUST_ALL / 2 },
		{ "192.0.5.1", TRUST_ALL },
		{ "192.0.6.1", TRUST_ALL }, /* of a list that trusts once */
		{ "198.51.100.1", TRUST_ALL },
		{ "2001:db8::1", TRUST_ALL / 50 },
		{ "2001:db8:1::1", TRUST_ALL },
	};
	struct state *s;
	struct detector d;

	machine.own[0] = machine.need[0] = NULL;
	empty_directory();
	s = opened(true);
	if (!s)
		return;
	put_list(s, "banned", LIST_BAN, 0, "198.51.100.0/24");
	put_list(s, "few", LIST_TRUST, 2, "192.0.3.200 192.0.4.0/24 192.0.2.130");
	put_list(s, "many", LIST_TRUST, 50, "192.0.3.0/24 2001:db8::/48");
	put_list(s, "once", LIST_TRUST, 1, "192.0.6.0/24");
	put_list(s, "allowed", LIST_ALLOW, 0, "192.0.2.0/24");
	if (fill(&d, s))
		CHECK(!d.trusted_n && !d.limits.on && !d.jail_ns, "one that is off trusts %zu", d.trusted_n);
	detector_free(&d);
	limits_put(s, THEN_WATCH, 0);
	if (fill(&d, s)) {
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			CHECK(scale_of(&d, known[i].addr) == known[i].scale, "%s: %llu, not %llu", known[i].addr,
			      (unsigned long long)scale_of(&d, known[i].addr), (unsigned long long)known[i].scale);
		CHECK(!d.trusts_hosts && d.account && d.limits.on, "hosts %d, an account %d", d.trusts_hosts,
		      d.account);
	}
	detector_free(&d);
	put_list(s, "many", LIST_TRUST, 50, "2001:db8::/64");
	if (fill(&d, s))
		CHECK(!d.trusts_hosts, "a /64 is no host");
	detector_free(&d);
	put_list(s, "many", LIST_TRUST, 50, "2001:db8::/65 192.0.3.1");
	if (fill(&d, s))
		CHECK(d.trusts_hosts, "a /65 is longer than what suspects have");
	detector_free(&d);
	state_close(s);
}

/* What this machine needs, of IPv6 by its /64: only where somebody is banned, and never less trusted than before. */
static void whom_it_never_bans(void)
{
	static const struct {
		const char *addr;
		__u64 scale;
	} known[] = {
		{ "192.0.2.1", 0 }, /* allowed, and needed */
		{ "192.0.3.1", TRUST_ALL / 4 | TRUST_NO_BAN },
		{ "192.0.3.2", TRUST_ALL / 4 },
		{ "203.0.113.1", TRUST_ALL | TRUST_NO_BAN },
		{ "203.0.113.2", TRUST_ALL },
		{ "2001:db8::7", TRUST_ALL | TRUST_NO_BAN }, /* of that /64 */
		{ "2001:db8::9", TRUST_ALL / 4 | TRUST_NO_BAN },
		{ "2001:db8::a", 0 },
		{ "2001:db8:0:1::7", TRUST_ALL },
	};
	struct state *s;
	struct detector d;
	char *said = NULL;
	FILE *messages = stderr;
	size_t size;
	int err;

	machine.own[0] = NULL;
	machine.need[0] = "192.0.2.1";
	machine.need[1] = "192.0.3.1";
	machine.need[2] = "203.0.113.1";
	machine.need[3] = "2001:db8::1";
	machine.need[4] = NULL;
	empty_directory();
	s = opened(true);
	if (!s)
		return;
	put_list(s, "allowed", LIST_ALLOW, 0, "192.0.2.0/24 2001:db8::a");
	put_list(s, "some", LIST_TRUST, 4, "192.0.3.0/24 2001:db8::9");
	limits_put(s, THEN_POLICE, 0);
	if (fill(&d, s))
		CHECK(scale_of(&d, "203.0.113.1") == TRUST_ALL && scale_of(&d, "192.0.3.1") == TRUST_ALL / 4,
		      "nobody is banned");
	detector_free(&d);
	limits_put(s, THEN_BAN, 0);
	if (fill(&d, s))
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			CHECK(scale_of(&d, known[i].addr) == known[i].scale, "%s: %llx, not %llx", known[i].addr,
			      (unsigned long long)scale_of(&d, known[i].addr), (unsigned long long)known[i].scale);
	detector_free(&d);
	/* What is not known is said where somebody looks, and nothing stops for it. */
	machine.needs_fail = EIO;
	log_settings.verbose = true;
	stderr = open_memstream(&said, &size);
	d = (struct detector){ 0 };
	err = detector_fill(&d, s);
	fclose(stderr);
	stderr = messages;
	log_settings.verbose = false;
	CHECK(!err && scale_of(&d, "192.0.3.1") == TRUST_ALL / 4, "not filled: %s", reason(err));
	CHECK(strstr(said, "the detector does not know what this machine needs: the routes: nobody knows"), "said: %s",
	      said);
	free(said);
	detector_free(&d);
	machine.needs_fail = ENOMEM;
	d = (struct detector){ 0 };
	err = detector_fill(&d, s);
	CHECK(err_is(err, ENOMEM), "without memory: %s", reason(err));
	detector_free(&d);
	machine.needs_fail = 0;
	state_close(s);
}

/* For how long, where, and on whose account. */
static void the_rest(void)
{
	unsigned int ladder[] = { 90, 600 };
	struct state *s;
	struct detector d;
	char name[16];

	machine.own[0] = machine.need[0] = NULL;
	empty_directory();
	s = opened(true);
	if (!s)
		return;
	limits_put(s, THEN_WATCH, 0);
	if (fill(&d, s))
		CHECK(d.jail_ns == 60000000000ULL && !d.proven_n && d.account, "%llu ns, %zu proven",
		      (unsigned long long)d.jail_ns, d.proven_n);
	detector_free(&d);
	ENOUGH(!state_ladder_put(s, ladder, 2) && !state_prove(s, "eth1", true));
	for (int i = 1; i < LABEL_DETECTOR; i++) {
		snprintf(name, sizeof(name), "list-%d", i);
		put_list(s, name, LIST_BAN, 0, "198.51.100.1");
	}
	if (fill(&d, s))
		CHECK(d.jail_ns == 90000000000ULL && d.proven_n == 1 && !strcmp(d.proven->name, "eth1") && d.account,
		      "%llu ns, %zu proven, an account %d", (unsigned long long)d.jail_ns, d.proven_n, d.account);
	detector_free(&d);
	put_list(s, "last", LIST_BAN, 0, "198.51.100.1");
	if (fill(&d, s))
		CHECK(!d.account, "a list has its label");
	detector_free(&d);
	ENOUGH(!state_set(s, "ladder_2", 90));
	d = (struct detector){ 0 };
	CHECK(err_is(detector_fill(&d, s), EUCLEAN), "a ladder that does not rise");
	detector_free(&d);
	state_close(s);
}

static void its_own_addresses(void)
{
	struct own_told before = { 0 };
	struct limits limits;
	struct state *s;
	struct detector d;
	size_t none;
	int err;

	machine.own[0] = "";
	machine.own[1] = "192.0.2.1";
	machine.own[2] = "-";
	machine.own[3] = "2001:db8::1";
	machine.own[4] = "127.0.0.1";
	machine.own[5] = machine.need[0] = NULL;
	empty_directory();
	s = opened(true);
	if (!s)
		return;
	limits_put(s, THEN_WATCH, 0);
	limits = state_limits(s);
	if (fill(&d, s))
		CHECK(!d.trusted_n, "%zu, and nobody asks for them", d.trusted_n);
	none = d.trusted_n;
	detector_free(&d);
	CHECK(!detector_follow(&own_context, &limits, &before) && !told.times, "it is told, and nobody asks");
	limits_put(s, THEN_WATCH, 100);
	limits = state_limits(s);
	if (fill(&d, s)) {
		struct end_key keys[8];
		char text[256];

		for (size_t i = 0; i < d.trusted_n; i++) {
			keys[i] = d.trusted[i].key;
			CHECK(d.trusted[i].scale == 1, "own address %zu: %llu", i,
			      (unsigned long long)d.trusted[i].scale);
		}
		CHECK(!strcmp(keys_text(text, keys, d.trusted_n), "192.0.2.1 2001:db8::1 127.0.0.1") && !none, "%s",
		      text);
	}
	detector_free(&d);
	err = detector_follow(&own_context, &limits, &before);
	CHECK(!err && told.times == 1 && !strcmp(told.now, "192.0.2.1 2001:db8::1 127.0.0.1") && !*told.gone,
	      "at first: '%s', gone '%s'", told.now, told.gone);
	machine.own[1] = "192.0.2.2";
	machine.own[3] = "2001:db8::2";
	err = detector_follow(&own_context, &limits, &before);
	CHECK(!err && !strcmp(told.now, "192.0.2.2 2001:db8::2 127.0.0.1") &&
		      !strcmp(told.gone, "192.0.2.1 2001:db8::1"),
	      "then '%s', gone '%s'", told.now, told.gone);
	/* What could not be told is told again. */
	machine.own[1] = "192.0.2.3";
	told.fails = EIO;
	CHECK(err_is(detector_follow(&own_context, &limits, &before), EIO), "it fails in silence");
	told.fails = 0;
	err = detector_follow(&own_context, &limits, &before);
	CHECK(!err && !strcmp(told.now, "192.0.2.3 2001:db8::2 127.0.0.1") && !strcmp(told.gone, "192.0.2.2"),
	      "again '%s', gone '%s'", told.now, told.gone);
	err = detector_follow(&own_context, &limits, &before);
	CHECK(!err && !*told.gone && before.n == 3, "gone '%s', %zu were told", told.gone, before.n);
	machine.fails = EMFILE;
	told.times = 0;
	err = detector_follow(&own_context, &limits, &before);
	CHECK(err_is(err, EMFILE) && !strcmp(reason(err), "this machine's addresses: Too many open files") &&
		      !told.times && before.n == 3,
	      "'%s', told %u times", reason(err), told.times);
	d = (struct detector){ 0 };
	CHECK(err_is(detector_fill(&d, s), EMFILE), "it is filled without them");
	detector_free(&d);
	machine.fails = 0;
	/* Nobody asks any more. */
	limits.on = false;
	CHECK(!detector_follow(&own_context, &limits, &before) && !told.times && !before.n, "told %u times, %zu",
	      told.times, before.n);
	own_told_free(&before);
	state_close(s);
}

/* Whoever asked gets the error of each. */
static void each_call_fails(void)
{
	struct own_told before = { 0 };
	struct limits limits;
	struct state *s;

	machine.own[0] = "192.0.2.1";
	machine.own[1] = machine.need[1] = NULL;
	machine.need[0] = "192.0.3.1";
	empty_directory();
	s = opened(true);
	if (!s)
		return;
	put_list(s, "allowed", LIST_ALLOW, 0, "192.0.2.0/24");
	put_list(s, "some", LIST_TRUST, 4, "192.0.3.0/24 192.0.4.1");
	limits_put(s, THEN_BAN, 100);
	limits = state_limits(s);
	for (int at = 0; at < 100; at++) {
		struct detector d = { 0 };
		int err;

		failed = false;
		until = at;
		err = detector_fill(&d, s);
		until = -1;
		CHECK(failed ? err_is(err, EIO) || err_is(err, ENOMEM) : !err, "call %d: %s", at, reason(err));
		detector_free(&d);
		if (!failed)
			break;
	}
	for (int at = 0; at < 100; at++) {
		int err;

		failed = false;
		until = at;
		told.times = 0;
		err = detector_follow(&own_context, &limits, &before);
		until = -1;
		CHECK(failed ? err_is(err, ENOMEM) && !told.times && !before.n : !err && before.n == 1, "call %d: %s",
		      at, reason(err));
		if (!failed)
			break;
	}
	own_told_free(&before);
	state_close(s);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "whom it trusts", whom_it_trusts },
		{ "whom it never bans", whom_it_never_bans },
		{ "for how long, where, and on whose account", the_rest },
		{ "this machine's own addresses", its_own_addresses },
		{ "each call fails", each_call_fails },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
