// SPDX-License-Identifier: GPL-2.0-only
/* What the guard rails ask of each need, what they say, and what is granted then: word for word. */
#include "own_state.h"
#include "shown.h"

#include "bpf/decide.h"
#include "change/exceptions.h"
#include "change/guard_culprit.h"
#include "change/guard_needs.h"
#include "change/guard_rails.h"
#include "change/guard_until.h"
#include "change/own_addresses.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/grants.h"
#include "state/until.h"

static const struct shown known[] = {
#include "unit_guard_needs.txt"
};

static struct shows shows = { .file = "tests/unit/unit_guard_needs.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* --- The machine: what it needs, and what is dropped of it
 * ------------------------------------------------------------ */

#define NEEDS 4

static const struct own_address machine[NEEDS] = {
	{ .addr = { 0xc6336401, 4 },
	  .source = { 0xc6336401, 4 },
	  .what = "a gateway in use",
	  .where = "route table 254" },
	{ .addr = { 0xc6336402, 4 },
	  .source = { 0xc6336402, 4 },
	  .what = "somebody who is connected",
	  .where = "TCP port 22",
	  .guest = true },
	{ .addr = { (ip6)0x20010db8 << 96 | 9, 6 },
	  .source = { (ip6)0x20010db8 << 96 | 9, 6 },
	  .what = "a name server in use",
	  .where = "/etc/resolv.conf" },
	{ .addr = { 0xcb007109, 4 },
	  .source = { 0xcb007109, 4 },
	  .what = "the server of a feed",
	  .where = "list 'drop'",
	  .guest = true,
	  .fetched = true },
};

static struct given {
	bool before[NEEDS], longer[NEEDS], ever[NEEDS];
	bool unanswered;
	int64_t until;	  /* what is longer */
	int64_t outlasts; /* until then all of them are dropped; 0: they are not */
	int needs_err, longer_err, ever_err, exception_err;
	const char *culprit;
	bool drops[NEEDS]; /* by what is in force */
} given;

static int given_needs(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		       struct own_address **list, size_t *n)
{
	(void)state;
	printf("  asked%s\n", destinations ? " about destinations" : "");
	*list = calloc(NEEDS, sizeof(**list));
	*n = 0;
	for (size_t i = 0; i < NEEDS && *list; i++)
		if (!wanted || wanted(arg, machine[i].addr))
			(*list)[(*n)++] = machine[i];
	return given.needs_err ? because(given.needs_err, "who is connected cannot be asked") : 0;
}

static size_t place(struct addr addr)
{
	size_t i = 0;

	while (i < NEEDS && machine[i].addr.num != addr.num)
		i++;
	ENOUGH(i < NEEDS);
	return i;
}

static bool given_before(const struct live *live, struct addr addr)
{
	(void)live;
	return !given.unanswered && given.before[place(addr)];
}

static int given_longer(struct state *state, const struct context *context, const struct own_address *own, size_t n,
			int64_t *longer)
{
	(void)state;
	(void)context;
	for (size_t i = 0; i < n; i++)
		longer[i] = given.longer[place(own[i].addr)] ? given.until : 0;
	return given.longer_err;
}

static int given_ever(struct state *state, const struct own_address *own, size_t n, bool *ever)
{
	(void)state;
	for (size_t i = 0; i < n; i++)
		ever[i] = given.ever[place(own[i].addr)];
	return given.ever_err;
}

static bool given_after(struct state *state, const struct own_address *own, int64_t after)
{
	(void)state;
	(void)own;
	return after < given.outlasts;
}

static const char *given_culprit(char text[CULPRIT_TEXT_MAX], const struct guard *guard, struct state *state,
				 struct addr addr)
{
	(void)guard;
	(void)state;
	(void)addr;
	snprintf(text, CULPRIT_TEXT_MAX, "%s", given.culprit ?: "");
	return text;
}

static int given_exception(struct state *state, struct addr addr)
{
	char text[PREFIX_TEXT_MAX];

	(void)state;
	printf("  an exception: %s\n", prefix_text(text, addr, -1));
	return given.exception_err;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ! ");
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event what,
							      const char *fmt, ...)
{
	va_list args;

	(void)context;
	printf("  event %s of %llu: ",
	       what.kind == EVENT_GUARD	  ? "guard"
	       : what.kind == EVENT_FAULT ? "fault"
					  : "?",
	       (unsigned long long)what.generation);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

#define ASKED 77
static size_t opens, closes;

static int given_ask(const struct live *live)
{
	(void)live;
	opens++;
	return ASKED;
}

static void given_close(int fd)
{
	ENOUGH(fd == ASKED);
	closes++;
}

static bool given_drops(int asked, struct addr addr)
{
	ENOUGH(asked == ASKED);
	return given.drops[place(addr)];
}

/* The state says that this has failed. */
static const char *state_fails;

static int may(const char *call)
{
	return state_fails && !strcmp(state_fails, call) ? because(-EIO, "the state fails: %s", call) : 0;
}

/* What waits has no row here. */
static int given_undo(const char *ban)
{
	printf("  what waits is held%s\n", ban ? " but for a ban" : "");
	return may("undo");
}

static int given_grants(struct state *state, struct addr **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	return may("grants") ?: state_grants(state, list, n);
}

#define state_grants		    given_grants
#define state_grant(s, addr, waits) (may("grant") ?: state_grant(s, addr, waits))
#define state_grant_drop(s, addr)   (may("drop") ?: state_grant_drop(s, addr))
#define state_grants_undo(s, ban)   given_undo(ban)
#define state_later(s, bans, set)   (may("later") ?: state_later(s, bans, set))
#define own_addresses		    given_needs
#define live_drops		    given_before
#define guard_longer		    given_longer
#define guard_ever		    given_ever
#define guard_after		    given_after
#define culprit_text		    given_culprit
#define exceptions_add		    given_exception
#define event(...)		    given_event(__VA_ARGS__)
#define warn			    given_warn
#define live_ask		    given_ask
#define ask_drops		    given_drops
#define close_fd		    given_close
#include "change/guard_needs.c"
#undef state_grants
#undef state_grant
#undef state_grant_drop
#undef state_grants_undo
#undef state_later
#undef own_addresses
#undef event
#undef warn

/* --- Scenes
 * ----------------------------------------------------------------------------------------------------------- */

static struct state *state;
static struct guard guard;
static const struct live live = { .context = &own_context, .g.number = 7 };

static void begin(void)
{
	given = (struct given){ .until = 7 };
	guard_free(&guard);
	guard = (struct guard){ 0 };
	ENOUGH(!state_again(state));
}

static struct ranges set_of(const char *prefixes)
{
	struct ranges set = RANGES_EMPTY;
	struct addr first;
	unsigned int length;

	while (*prefixes) {
		size_t n = strcspn(prefixes, " ");

		ENOUGH(!prefix_parse(prefixes, n, &first, &length) && !ranges_add_prefix(&set, first, length));
		prefixes += n + (prefixes[n] == ' ');
	}
	ENOUGH(!ranges_finish(&set));
	return set;
}

static void end(int err)
{
	struct addr *grants = NULL;
	char text[PREFIX_TEXT_MAX];
	size_t n = 0;

	if (err)
		printf("%s: %s\n", err_is(err, GUARD_REFUSED) ? "refused" : errno_text(err), reason(err));
	ENOUGH(!state_grants(state, &grants, &n));
	for (size_t i = 0; i < n; i++)
		printf("granted: %s\n", prefix_text(text, grants[i], -1));
	free(grants);
	if (guard.spared)
		printf("spared\n");
}

static void sets(const char *prefixes, bool whole)
{
	struct ranges set = set_of(prefixes);

	printf("%s%s\n", *prefixes ? prefixes : "nothing", whole ? " and no more" : "");
	end(guard_set(&guard, state, &live, &set, whole));
	ranges_free(&set);
}

#define ALL "198.51.100.0/24 2001:db8::/32"

static void refuses(void)
{
	sets("192.0.2.0/24", false);
	sets(ALL, false);
	sets("198.51.100.2", false);
	sets("2001:db8::8/127", false);
	given.culprit = "it is 198.51.100.0/24 in list 'drop', drop.txt:3";
	sets(ALL, false);
	guard.fixed = guard.destinations = true;
	sets(ALL, false);
}

static void goes_on(void)
{
	for (size_t i = 0; i < NEEDS; i++)
		given.before[i] = true;
	sets(ALL, false);
	given.longer[2] = true;
	sets(ALL, false);
	given.longer[2] = false;
	guard.afresh = true;
	sets(ALL, false);
	guard.afresh = false;
	given.unanswered = true;
	sets(ALL, false);
}

static void forces(void)
{
	struct ranges set = set_of("198.51.100.0/30");

	ENOUGH(!guard_force(&guard.forced, &set));
	ranges_free(&set);
	sets("198.51.100.0/24", false);
	sets(ALL, false);
	ENOUGH(!guard_force_prefix(&guard.forced, machine[2].addr, 128));
	sets(ALL, false);
	guard_free(&guard);
	guard = (struct guard){ 0 };
	sets(ALL, false);
	given.before[0] = true;
	sets(ALL, false);
	given.before[0] = false;
	given.longer[0] = true;
	sets(ALL, false);
	guard.everything = true;
	sets(ALL, false);
}

static void ends(void)
{
	struct ranges gone = set_of("198.51.100.1 198.51.100.3");

	guard.everything = true;
	sets(ALL, false);
	sets("198.51.100.0/31", true);
	sets(ALL, false);
	end(guard_gone(state, &(struct ranges){ 0 }));
	end(guard_gone(state, &gone));
	ranges_free(&gone);
	sets("", true);
}

static void spares(void)
{
	guard.spare = true;
	sets(ALL, false);
	guard.spare = true;
	sets(ALL, false);
	begin();
	guard.spare = guard.fixed = true;
	sets(ALL, false);
	begin();
	guard.spare = guard.tells = true;
	sets(ALL, false);
	begin();
	guard.spare = true;
	sets("198.51.100.2", false);
	given.exception_err = -EIO;
	sets("198.51.100.1", false);
}

static struct guard_leaves leaving;
static struct ranges version;
static int leave_err;

static int given_leave(void *arg)
{
	char text[PREFIX_TEXT_MAX];

	ENOUGH(arg == &leaving);
	for (size_t i = 0; i < leaving.n; i++)
		printf("  left out: %s\n", prefix_text(text, leaving.own[i].addr, -1));
	return leave_err ? because(leave_err, "it is not put") : 0;
}

static void may_leave_out(const char *prefixes)
{
	free(leaving.own);
	ranges_free(&version);
	version = set_of(prefixes);
	leaving = (struct guard_leaves){ .version = &version, .leave = given_leave, .arg = &leaving };
	guard.leaves = &leaving;
}

/* What a guest needs of a list that is loaded, and nothing else of it, where nothing else speaks against it. */
static void leaves_out(void)
{
	may_leave_out(ALL);
	sets(ALL, false);
	may_leave_out(ALL);
	given.before[0] = given.before[2] = true;
	sets(ALL, false);
	puts("who comes afterwards");
	sets(ALL, false);
	version.n4 = 0;
	sets(ALL, false);
	may_leave_out("198.51.100.0/31");
	sets(ALL, false);
	may_leave_out(ALL);
	guard.fixed = true;
	sets(ALL, false);
	guard.fixed = false;
	given.before[1] = true;
	sets(ALL, false);
	given.before[1] = false;
	leave_err = -EALREADY;
	sets(ALL, false);
	leave_err = 0;
}

/* An exception lets him through, and goes back. */
static void leaves_out_later(void)
{
	struct list_info list = { .kind = LIST_ALLOW, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct pending pending = { .kind = PENDING_LIST, .name = "friends", .deadline = 7 };
	struct ranges set = set_of("198.51.100.2");

	snprintf(list.name, sizeof(list.name), "friends");
	ENOUGH(!state_pending_add(state, &pending) && !state_list_put(state, &list, &set));
	ranges_free(&set);
	given.longer[1] = true;
	may_leave_out("198.51.100.0/24");
	sets("", false);
	may_leave_out("198.51.100.0/31");
	sets("", false);
	may_leave_out("");
}

/* Where a server of a feed is banned already, the filter begins all the same. */
static void fetched(void)
{
	struct list_info list = { .kind = LIST_ALLOW, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct pending pending = { .kind = PENDING_LIST, .name = "friends", .deadline = 7 };
	const char *server = "203.0.113.8/31";
	struct ranges set = set_of(server);

	sets(server, false);
	guard.afresh = true;
	sets(server, false);
	guard.afresh = false;
	given.longer[3] = true;
	sets(server, false);
	guard.spare = true;
	sets(server, false);
	guard.spare = false;
	may_leave_out(server);
	sets(server, false);
	guard.leaves = NULL;
	snprintf(list.name, sizeof(list.name), "friends");
	ENOUGH(!state_pending_add(state, &pending) && !state_list_put(state, &list, &set));
	sets("", false);
	given.longer[3] = false;
	given.ever[3] = guard.afresh = true;
	sets("", false);
	ranges_free(&set);
}

static void fails(void)
{
	given.needs_err = -EPROTO;
	sets(ALL, false);
	guard.spare = true;
	sets(ALL, false);
	given.needs_err = -ENOMEM;
	sets(ALL, false);
	begin();
	given.longer_err = -EUCLEAN;
	sets(ALL, false);
}

static void state_says_no(void)
{
	static const char *const calls[] = { "grants", "grant", "drop", "later", "undo" };
	struct ranges gone = set_of("198.51.100.1");

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		begin();
		guard.everything = true;
		guard.waits = i == 4 ? 7 : 0;
		sets(ALL, false);
		printf("%s\n", calls[i]);
		state_fails = calls[i];
		sets("198.51.100.0/31", true);
		end(guard_gone(state, &gone));
		state_fails = NULL;
	}
	ranges_free(&gone);
}

static void again(void)
{
	guard.everything = true;
	sets(ALL, false);
	guard.everything = false;
	guard.again = true;
	sets(ALL, false);
	sets("198.51.100.0/31", true);
}

static void in_force(void)
{
	end(guard_in_force(&guard, state, &live));
	given.drops[2] = true;
	end(guard_in_force(&guard, state, &live));
	given.before[2] = true;
	end(guard_in_force(&guard, state, &live));
	guard.afresh = true;
	end(guard_in_force(&guard, state, &live));
	guard.everything = true;
	end(guard_in_force(&guard, state, &live));
	CHECK(opens == 5 && closes == 5, "the program was opened %zu times for 5 looks", opens);
}

static void all_of_them(void)
{
	struct own_address *list = NULL;
	size_t n = 0;

	end(guard_all(&guard, state, &list, &n));
	printf("%zu needs\n", n);
	free(list);
	given.needs_err = -EPROTO;
	end(guard_all(&guard, state, &list, &n));
	free(list);
	guard.again = true;
	end(guard_all(&guard, state, &list, &n));
	printf("%zu needs, %s\n", n, list ? "and a list" : "none");
	guard.again = false;
	guard.spare = true;
	end(guard_all(&guard, state, &list, &n));
	printf("%zu needs, %s\n", n, list ? "and a list" : "none");
}

static int waits(const char *name, int64_t deadline)
{
	struct pending pending = { .kind = PENDING_LIST, .deadline = deadline };

	snprintf(pending.name, sizeof(pending.name), "%s", name);
	return state_pending_add(state, &pending);
}

static void list_on_trial(const char *name, int64_t deadline)
{
	struct list_info list = { .kind = LIST_BAN, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct ranges set = set_of("198.51.100.1");

	snprintf(list.name, sizeof(list.name), "%s", name);
	ENOUGH(!waits(name, deadline) && !state_list_put(state, &list, &set));
	ranges_free(&set);
}

/* A gateway that an exception lets through which waits. */
static void excepted(void)
{
	struct list_info list = { .kind = LIST_ALLOW, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct pending pending = { .kind = PENDING_LIST, .name = "friends", .deadline = 7 };
	struct ranges set = set_of("198.51.100.1");

	snprintf(list.name, sizeof(list.name), "friends");
	ENOUGH(!state_pending_add(state, &pending) && !state_list_put(state, &list, &set));
	ranges_free(&set);
	sets("", false);
	given.longer[0] = true;
	sets("", false);
	guard.again = true;
	sets("", false);
	guard.again = false;
	guard.spare = true;
	sets("", false);
	guard.spare = false;
	guard.waits = 7;
	ENOUGH(!guard_force_prefix(&guard.forced, machine[0].addr, 32));
	sets("", false);
	ENOUGH(!state_pending_undo(state, &pending));
	end(0);
	guard.waits = 0;
	sets("198.51.100.1", false);
	ENOUGH(!state_grants_undo(state, NULL));
	guard.waits = 7;
	sets("198.51.100.1", false);
	ENOUGH(!state_grants_undo(state, NULL));
	end(0);
	ENOUGH(!state_grant_drop(state, machine[0].addr));
	list_on_trial("foes", 7);
	sets("198.51.100.1", false);
	ENOUGH(!state_grants_confirm(state) && !state_grants_undo(state, NULL));
	end(0);
	/* What outlasts that is granted for good. */
	ENOUGH(!state_grant_drop(state, machine[0].addr));
	given.until = 8;
	sets("198.51.100.1", false);
	ENOUGH(!state_grants_undo(state, NULL));
	end(0);
	given.longer_err = -EUCLEAN;
	guard_free(&guard);
	guard = (struct guard){ 0 };
	ENOUGH(!state_pending_add(state, &pending));
	sets("", false);
}

/* And one that lets through whatever there is. */
static void all_excepted(void)
{
	struct list_info list = {
		.kind = LIST_ALLOW, .prefixes = 1, .addresses = "4294967296", .source = "-", .loaded = "-"
	};
	struct pending pending = { .kind = PENDING_LIST, .name = "all", .deadline = 7 };
	struct ranges set = RANGES_EMPTY;

	ENOUGH(!ranges_add_prefix(&set, (struct addr){ 0, 4 }, 0) && !ranges_finish(&set));
	snprintf(list.name, sizeof(list.name), "all");
	ENOUGH(!state_pending_add(state, &pending) && !state_list_put(state, &list, &set));
	ranges_free(&set);
	given.longer[0] = true;
	sets("", false);
}

/* In a batch, by lines that wait and by others, what is banned for as long already. */
static void by_lines(void)
{
	guard.waits = 7;
	ENOUGH(!guard_force_prefix(&guard.forced, machine[0].addr, 32) &&
	       !guard_force_prefix(&guard.lasts, machine[1].addr, 32));
	sets("198.51.100.0/24", false);
	ENOUGH(!state_grants_undo(state, NULL));
	end(0);
	sets(ALL, false);
	guard.everything = true;
	sets(ALL, false);
	ENOUGH(!state_grants_undo(state, NULL));
	end(0);
	guard.all_lasts = true;
	sets(ALL, false);
	ENOUGH(!state_grants_undo(state, NULL));
	end(0);
}

/* A list that bans a gateway, and comes back. No edit in place has a part in that. */
static void comes_back(void)
{
	struct list_info list = { .kind = LIST_BAN, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct pending pending = { .kind = PENDING_LIST, .name = "foes", .deadline = 7 };
	struct ranges set = set_of("198.51.100.1");

	snprintf(list.name, sizeof(list.name), "foes");
	ENOUGH(!state_list_put(state, &list, &set) && !state_pending_drop(state, &pending));
	ranges_free(&set);
	sets("", true);
	given.longer[0] = true;
	sets("", false);
	sets("", true);
	guard.again = true;
	sets("", true);
}

/* Where it begins to filter, what comes back counts, too, whether or not it was asked about before. */
static void begins_beside(void)
{
	struct list_info list = { .kind = LIST_BAN, .prefixes = 1, .addresses = "4", .source = "-", .loaded = "-" };
	struct pending pending = { .kind = PENDING_LIST, .name = "foes", .deadline = 7 };
	struct ranges set = set_of("198.51.100.0/30");

	snprintf(list.name, sizeof(list.name), "foes");
	ENOUGH(!state_list_put(state, &list, &set) && !state_pending_drop(state, &pending));
	ranges_free(&set);
	given.ever[0] = given.ever[1] = true;
	sets("", false);
	guard.afresh = true;
	sets("", false);
	given.ever[0] = false;
	sets("", true);
	given.ever[0] = true;
	guard.spare = true;
	sets("", false);
	sets("198.51.100.2", false);
	guard.spared = false;
	given.ever_err = -EUCLEAN;
	sets("", false);
	given.ever_err = -ENOMEM;
	sets("", false);
	given.ever_err = 0;
	guard.tells = true;
	sets("", false);
	guard.spare = guard.tells = guard.spared = false;
	guard.waits = 7;
	guard.everything = true;
	sets("", false);
	guard.everything = false;
	sets("", false);
	ENOUGH(!state_pending_forget(state, PENDING_LIST, "foes"));
	end(0);
}

/* Who waits longer, and what goes back first: or is taken back before its time, by whatever takes it. */
static void waits_with_another(void)
{
	for (int64_t first = 7; first < 10; first += 2)
		for (int64_t back = 7; back < 10; back++) {
			list_on_trial("foes", 7);
			list_on_trial("worse", 9);
			ENOUGH(!state_grant(state, machine[0].addr, first) &&
			       !state_grant(state, machine[0].addr, 16 - first));
			ENOUGH(back == 8 || !state_pending_forget(state, PENDING_LIST, back == 7 ? "foes" : "worse"));
			printf("%lld has gone back: until %lld\n", (long long)back,
			       (long long)state_granted(state, machine[0].addr));
			end(0);
			ENOUGH(!state_again(state));
		}
}

/* What else waits for another time makes nothing good that was granted for what is gone. */
static void is_taken_back(void)
{
	struct interface_info eth = { .name = "eth0", .mode = "native" };
	struct pending begins = { .kind = PENDING_INTERFACE, .name = "eth0", .deadline = 7 };

	ENOUGH(!waits("other", 9));
	list_on_trial("foes", 7);
	list_on_trial("worse", 7);
	ENOUGH(!state_pending_add(state, &begins) && !state_interface_put(state, &eth));
	ENOUGH(!state_grant(state, machine[0].addr, 7) && !state_grant(state, machine[1].addr, 0));
	ENOUGH(!state_list_drop(state, "foes"));
	printf("of three one is unloaded\n");
	end(0);
	ENOUGH(!state_interface_drop(state, "eth0"));
	printf("and one detached\n");
	end(0);
	ENOUGH(!state_list_drop(state, "worse"));
	printf("and the last unloaded\n");
	end(0);
	ENOUGH(!state_pending_confirm(state));
	printf("confirmed\n");
	end(0);
}

static void list_of(const char *name, enum list_kind kind, const char *scope, const char *prefixes)
{
	struct list_info list = { .kind = kind, .prefixes = 1, .addresses = "1", .source = "-", .loaded = "-" };
	struct ranges set = set_of(prefixes);

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.scope, sizeof(list.scope), "%s", scope);
	ENOUGH(!state_list_put(state, &list, &set));
	ranges_free(&set);
}

static void no_list(void)
{
}

static void bans_it(void)
{
	list_of("it", LIST_BAN, "", "198.51.100.0/30");
}

static void bans_its_ssh(void)
{
	list_of("it", LIST_BAN, "tcp/22", "198.51.100.1");
}

static void bans_another(void)
{
	list_of("it", LIST_BAN, "", "198.51.100.2");
}

static void counts_it(void)
{
	list_of("it", LIST_SHADOW, "", "198.51.100.1");
}

static void counts_its_ssh(void)
{
	list_of("it", LIST_SHADOW, "tcp/22", "198.51.100.1");
}

static void allows_it(void)
{
	list_of("it", LIST_ALLOW, "", "198.51.100.1");
}

static void allows_another(void)
{
	list_of("it", LIST_ALLOW, "", "198.51.100.2");
}

static void has_a_ban(void)
{
	struct ban ban = { .first = { 0xc6336400, 4 }, .length = 31, .added = 1 };
	bool renewed;

	ENOUGH(!state_ban_put(state, &ban, &renewed));
}

/* A grant ends with what bans its address of all that waits as long. */
static void held(void)
{
	static const struct {
		enum pending_kind kind;
		const char *name;
		void (*before)(void), (*does)(void);
		bool in_progress;
	} rows[] = {
		{ PENDING_LIST, "it", no_list, bans_it, false },
		{ PENDING_LIST, "it", no_list, bans_its_ssh, false },
		{ PENDING_LIST, "it", no_list, bans_another, false },
		{ PENDING_LIST, "it", no_list, counts_it, false },
		{ PENDING_LIST, "it", no_list, counts_its_ssh, false },
		{ PENDING_LIST, "it", no_list, allows_it, false },
		{ PENDING_LIST, "it", allows_it, allows_another, false },
		{ PENDING_LIST, "it", allows_another, allows_it, false },
		{ PENDING_LIST, "it", bans_it, bans_another, false },
		{ PENDING_LIST_KIND, "it", counts_it, bans_it, false },
		{ PENDING_LIST_KIND, "it", bans_it, counts_it, false },
		{ PENDING_BAN, "198.51.100.0/31", no_list, has_a_ban, false },
		{ PENDING_BAN, "198.51.100.0/31", has_a_ban, no_list, false },
		{ PENDING_BAN, "198.51.100.0/31", no_list, no_list, false },
		{ PENDING_BAN, "198.51.100.2", no_list, has_a_ban, false },
		{ PENDING_BAN, "::/0", no_list, no_list, false },
		{ PENDING_INTERFACE, "eth0", no_list, no_list, false },
		{ PENDING_INTERFACE, "eth0", no_list, no_list, true },
		{ PENDING_IMAGE, PENDING_IMAGE_NAME, no_list, no_list, false },
		{ PENDING_SETTING, "inner", no_list, no_list, false },
		{ PENDING_SETTING, "embedded", no_list, no_list, false },
		{ PENDING_SETTING, "headroom", no_list, no_list, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		printf("%zu: %s, granted until", i, rows[i].name);
		for (int64_t deadline = 5; deadline < 10; deadline += 2) {
			struct pending pending = { .kind = rows[i].kind, .deadline = deadline };

			if (rows[i].in_progress)
				pending.deadline = PENDING_IN_PROGRESS;
			snprintf(pending.name, sizeof(pending.name), "%s", rows[i].name);
			rows[i].before();
			ENOUGH(!state_pending_add(state, &pending) && !waits("other", 7));
			rows[i].does();
			ENOUGH(!state_grant(state, machine[0].addr, 7) && !state_grants_undo(state, NULL));
			printf(" %lld", (long long)state_granted(state, machine[0].addr));
			ENOUGH(!state_again(state));
		}
		puts(", where it waits until 5, 7, 9");
	}
}

/* Others that wait, and ban nothing of it, make nothing good. */
static void confirmed_beside(void)
{
	ENOUGH(!waits("other", 7));
	list_on_trial("foes", 7);
	ENOUGH(!state_grant(state, machine[0].addr, 7) && !state_list_drop(state, "foes"));
	printf("one is unloaded\n");
	end(0);
	ENOUGH(!state_grant(state, machine[0].addr, 7) && !state_pending_confirm(state));
	printf("the other is confirmed\n");
	end(0);
}

/* By what was granted until then: what begins for longer, for as long, or for good. */
static void begins_by_a_grant(void)
{
	static const int64_t until[] = { 0, 7, 8 }, outlasts[] = { 0, 7, 8 };

	guard.afresh = true;
	given.drops[0] = true;
	for (size_t i = 0; i < 9; i++) {
		ENOUGH(!state_grant(state, machine[0].addr, 7));
		guard.until = until[i / 3];
		given.outlasts = outlasts[i % 3];
		printf("until %lld, banned until %lld\n", (long long)guard.until, (long long)given.outlasts);
		end(guard_in_force(&guard, state, &live));
	}
	guard.until = 0;
	ENOUGH(!state_grant(state, machine[0].addr, 0));
	printf("granted for good\n");
	end(guard_in_force(&guard, state, &live));
}

/* What is not banned now, and will be, stays granted. */
static void ends_later(void)
{
	struct ranges gone = set_of("198.51.100.1 198.51.100.2");

	guard.everything = true;
	sets(ALL, false);
	given.ever[0] = true;
	sets("198.51.100.2", true);
	end(guard_gone(state, &gone));
	given.ever_err = -ENOMEM;
	end(guard_gone(state, &gone));
	given.ever_err = 0;
	given.ever[0] = false;
	sets("", true);
	ranges_free(&gone);
}

static void scenes(void)
{
	static const struct scene all[] = {
		{ "refuses", refuses },
		{ "goes on", goes_on },
		{ "forces", forces },
		{ "ends", ends },
		{ "spares", spares },
		{ "leaves out", leaves_out },
		{ "leaves out later", leaves_out_later },
		{ "fetched", fetched },
		{ "fails", fails },
		{ "again", again },
		{ "in force", in_force },
		{ "all of them", all_of_them },
		{ "excepted", excepted },
		{ "all is excepted", all_excepted },
		{ "by lines", by_lines },
		{ "comes back", comes_back },
		{ "begins beside a trial", begins_beside },
		{ "waits with another", waits_with_another },
		{ "is taken back", is_taken_back },
		{ "ends later", ends_later },
		{ "begins by a grant", begins_by_a_grant },
		{ "held", held },
		{ "confirmed beside", confirmed_beside },
		{ "the state fails", state_says_no },
	};

	state = opened(true);
	if (!state || !CHECK(!state_commit(state), "%s", reason(-EIO)))
		return;
	shows_scenes(&shows, all, sizeof(all) / sizeof(all[0]), begin);
	guard_free(&guard);
	state_close(state);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "scenes", scenes } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
