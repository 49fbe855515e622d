// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process of a fleet: when it starts the program and asks it what, when it looks at the state, what it says of a
 * server that is down, and what it keeps; the state is real, clock, program, members and sayings are made up, word for
 * word.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "own_state.h"
#include "base/lock.h"
#include "feeds/fleet_members.h"
#include "feeds/fleet_saying.h"
#include "feeds/state_watch.h"
#include "state/grants.h"
#include "model_feed.h"

static const struct shown texts[] = {
#include "unit_fleet_run.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_run.txt",
			      .known = texts,
			      .n = sizeof(texts) / sizeof(texts[0]) };

#define PROGRAM 1000000 /* a descriptor that nobody has */
#define LINES	32

/* --- The state ---------------------------------------------------------------------------------------------------- */

/* It need not outlast the machine: the disk is not waited for. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

static int states, arrays; /* that are not given back yet */

static int given_open(struct state **state, struct context *context, bool change)
{
	int err = fails("state");

	if (change)
		line("the state is opened, to be changed");
	*state = NULL;
	err = err ?: state_open(state, context, change);
	states += !err;
	return err;
}

static void given_close(struct state *state)
{
	states -= state != NULL;
	state_close(state);
}

static int given_fleet(struct state *state, struct fleet *fleet)
{
	return fails("fleet") ?: state_fleet(state, fleet);
}

static int given_servers(struct state *state, struct addr **servers, size_t *n)
{
	int err = fails("servers") ?: state_fleet_servers(state, servers, n);

	arrays += !err && *servers;
	return err;
}

static int given_servers_put(struct state *state, const struct addr *servers, size_t n)
{
	char text[PREFIX_TEXT_MAX];

	begin_line();
	printf("servers:");
	for (size_t i = 0; i < n; i++)
		printf(" %s", prefix_text(text, servers[i], -1));
	putchar('\n');
	return fails("servers_put") ?: state_fleet_servers_put(state, servers, n);
}

static int given_commit(struct state *state)
{
	return fails("commit") ?: state_commit(state);
}

static void given_free(void *array)
{
	arrays -= array != NULL;
	free(array);
}

/* --- The program -------------------------------------------------------------------------------------------------- */

static char lines[LINES][200]; /* of it, that are not forgotten */
static size_t lines_n, read_n, arrived;
static bool ends, slow;

static int given_start(struct fleet_talk *talk, const struct fleet_request *r)
{
	*talk = (struct fleet_talk){ .fd = -1 };
	line("the program begins: '%s' as '%s', user '%s', prefix '%s', read '%s', ca '%s', pace %llu", r->url, r->name,
	     r->user, r->prefix, r->read, r->ca, (unsigned long long)r->pace);
	if (r->users[HERE_ALSO - 1])
		line("its server may be user %llu's", (unsigned long long)r->users[HERE_ALSO - 1]);
	if (*r->password)
		line("with a password of %zu bytes, '%.10s'", strlen(r->password), r->password);
	if (fails("program"))
		return because(-EAGAIN, "no process could be started");
	talk->fd = PROGRAM;
	lines_n = read_n = arrived = 0;
	return 0;
}

static void given_talk_stop(struct fleet_talk *talk)
{
	if (talk->said)
		line("%zu lines to the program are lost", talk->said);
	line("the program is ended%s", talk->fd < 0 ? ", which none was" : "");
	lines_n = read_n = arrived = 0;
	*talk = (struct fleet_talk){ .fd = -1, .ended = true };
}

__attribute__((format(printf, 2, 3))) static void given_say(struct fleet_talk *talk, const char *fmt, ...)
{
	va_list args;
	char text[400];

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (char *at = text; (at = strchr(at, '\t'));)
		*at = '|';
	line("to the program: %s", text);
	talk->said++;
}

static void given_turn(struct fleet_talk *talk)
{
	if (talk->fd != PROGRAM)
		abort();
	if (talk->said && !slow) {
		line("it reads %zu lines", talk->said);
		talk->said = 0;
	}
	if (arrived < lines_n)
		line("it has written %zu lines", lines_n - arrived);
	arrived = lines_n;
	talk->ended = talk->ended || ends;
	ends = false;
}

static bool given_waits(const struct fleet_talk *talk)
{
	return talk->said > 0;
}

static int given_words(struct fleet_talk *talk, char *words[TALK_WORDS])
{
	char *at = lines[read_n];
	int n = 0;

	(void)talk;
	if (read_n == arrived)
		return -1;
	for (words[n++] = at; n < TALK_WORDS && (at = strchr(at, '|')); words[n++] = at)
		*at++ = '\0';
	for (int i = n; i < TALK_WORDS; i++)
		words[i] = (char *)"";
	read_n++;
	return n;
}

static bool given_has_line(const struct fleet_talk *talk)
{
	(void)talk;
	return read_n < arrived;
}

static void given_forget(struct fleet_talk *talk)
{
	(void)talk;
	memmove(lines, lines + read_n, sizeof(lines[0]) * (lines_n - read_n));
	lines_n -= read_n;
	arrived -= read_n;
	read_n = 0;
}

/* --- What members say, and this machine --------------------------------------------------------------------------- */

static size_t taken, full;	/* full: so many at once; 0: any number */
static bool stops, late;	/* a signal comes while they go into force, or a line */
static bool last_word, overdue; /* it ends with one when all has been read; there is more to say at once */
static int64_t due_at;
static struct fleet_seen *the_seen;

static int given_members_begin(struct fleet_members *m, struct context *context, struct fleet_talk *talk,
			       const char *own)
{
	*m = (struct fleet_members){ .context = context, .talk = talk };
	taken = 0;
	line("there are members for '%s'", own);
	return fails("members");
}

static void given_members_end(struct fleet_members *m)
{
	(void)m;
	line("there are no members any more");
}

static void given_members_again(struct fleet_members *m)
{
	(void)m;
	taken = 0;
	line("members are told again");
}

static int given_expect(struct fleet_members *m, struct state *state)
{
	if (!state)
		abort();
	m->talk->said++;
	return fails("expect");
}

static bool given_members_take(struct fleet_members *m, char *words[TALK_WORDS])
{
	(void)m;
	taken += *words[0] == '+';
	return *words[0] == '+';
}

static bool given_full(const struct fleet_members *m)
{
	(void)m;
	return full && taken >= full;
}

static int given_into_force(struct fleet_members *m)
{
	int err;

	(void)m;
	if (!taken)
		return 0;
	line("%zu lines of members go into force", taken);
	taken = 0;
	err = fails("force");
	if (stops)
		stop_asked = SIGTERM;
	if (late)
		strcpy(lines[lines_n++], "+");
	late = false;
	return err;
}

static void given_ask_again(struct fleet_members *m)
{
	line("what waits is asked for again");
	m->ask_at = now_ms + 30000;
}

static int given_seen(const struct fleet_members *m, struct member_seen **seen, size_t *n)
{
	(void)m;
	if (*seen || *n)
		abort();
	*seen = calloc(1, sizeof(**seen));
	*n = 1;
	arrays++;
	return fails("members_seen");
}

static void given_saying_begin(struct fleet_saying *own, struct context *context, struct fleet_talk *talk,
			       struct fleet_seen *seen)
{
	*own = (struct fleet_saying){ .context = context, .talk = talk, .seen = seen };
	the_seen = seen;
	line("there is something to say");
}

static void given_saying_again(struct fleet_saying *own)
{
	(void)own;
	line("it is asked again what the server has");
}

static bool given_saying_take(struct fleet_saying *own, char *words[TALK_WORDS], int *err)
{
	if (strcmp(words[0], "said") != 0)
		return false;
	own->seen->said++;
	*err = fails("said");
	return true;
}

static int given_saying_turn(struct fleet_saying *own)
{
	int err = fails("saying");

	if (last_word) {
		strcpy(lines[lines_n++], "failed|its last word");
		ends = true;
		last_word = false;
	}
	if (own->again)
		line("what is to be said is looked for");
	own->again = false;
	if (due_at <= now_ms) {
		line("what was due is said");
		due_at = INT64_MAX;
	}
	return err;
}

static int64_t given_due(const struct fleet_saying *own)
{
	(void)own;
	if (overdue) {
		overdue = false;
		return 0;
	}
	return due_at;
}

/* --- The rest ----------------------------------------------------------------------------------------------------- */

static int the_lock, the_watch;

static int given_lock(const char *path, long seconds)
{
	line("the lock '%s' is waited for for %ld s", path + strlen(directory) + 1, seconds);
	the_lock = fails("lock") ? because(-EBUSY, "another process takes part") : open("/dev/null", O_RDONLY);
	return the_lock;
}

static int given_watch(const char *of)
{
	if (strcmp(of, directory) != 0)
		abort();
	the_watch = fails("watch") ? because(-EMFILE, "no watch") : state_watch_open(of);
	return the_watch;
}

static int given_seen_write(const struct context *context, const struct fleet_seen *s)
{
	(void)context;
	line("shown: %s since %lld, at %lld, version '%s', why '%s', %s %lld ms, %lld ms, %lld said, %zu members",
	     s->up ? "up" : "down", s->since ? (long long)s->since - DATE : -1, (long long)s->at - DATE, s->version,
	     s->why, s->clock_known ? "its clock" : "no clock", (long long)s->offset, (long long)s->rtt,
	     (long long)s->said, s->n);
	return fails("seen_write");
}

static void given_seen_forget(const struct context *context)
{
	(void)context;
	line("nothing is shown any more");
}

static void given_seen_free(struct fleet_seen *seen)
{
	if (seen != the_seen)
		abort();
	given_free(seen->members);
}

static void given_wipe(void *bytes, size_t n)
{
	line("%zu bytes are wiped", n);
	memset(bytes, 0, n);
}

static void given_signal(int signal, void (*how)(int))
{
	line("signal %s %s", signal == SIGPIPE ? "PIPE" : "of another kind",
	     how == SIG_IGN ? "does nothing" : "does something");
}

#define state_open(s, c, change) given_open(s, c, change)
#define state_close(s)		 given_close(s)
#define state_commit(s)		 given_commit(s)
#define state_fleet(s, f)	 given_fleet(s, f)
#define state_fleet_servers	 given_servers
#define state_fleet_servers_put	 given_servers_put
#define free(array)		 given_free(array)
#define talk_start		 given_start
#define talk_stop		 given_talk_stop
#define talk_say		 given_say
#define talk_turn		 given_turn
#define talk_waits		 given_waits
#define talk_words		 given_words
#define talk_has_line		 given_has_line
#define talk_forget		 given_forget
#define members_begin		 given_members_begin
#define members_end		 given_members_end
#define members_again		 given_members_again
#define members_expect		 given_expect
#define members_take		 given_members_take
#define members_full		 given_full
#define members_into_force	 given_into_force
#define members_ask_again	 given_ask_again
#define members_seen(m, seen, n) given_seen(m, seen, n)
#define saying_begin		 given_saying_begin
#define saying_again		 given_saying_again
#define saying_take		 given_saying_take
#define saying_turn		 given_saying_turn
#define saying_due		 given_due
#define lock_take		 given_lock
#define state_watch_open	 given_watch
#define fleet_seen_write	 given_seen_write
#define fleet_seen_forget	 given_seen_forget
#define fleet_seen_free		 given_seen_free
#define explicit_bzero		 given_wipe
#define signal(number, how)	 given_signal(number, how)
#include "feeds/fleet.c"
#undef state_open
#undef state_close
#undef state_commit
#undef state_fleet
#undef free

/* --- What happens ------------------------------------------------------------------------------------------------- */

static struct fleet joined;

static const char *waits_for(int fd)
{
	return fd == PROGRAM ? "the program" : fd == the_watch ? "the state" : "something else";
}

static void join(void)
{
	struct state *s = opened(true);

	if (state_fleet_join(s, &joined) || state_commit(s))
		abort();
	state_close(s);
}

static void leave(void)
{
	struct state *s = opened(true);

	if (state_fleet_leave(s) || state_commit(s))
		abort();
	state_close(s);
}

static void is_said(const char *epoch, long long n)
{
	struct state *s = opened(true);

	if (state_fleet_said(s, epoch, n, 0, 0) || state_commit(s))
		abort();
	state_close(s);
}

/* A file of that mode with that text; "xN": so many bytes. */
static void put_file(const char *name, const char *what)
{
	unsigned int mode, n = 0;
	const char *text = what;
	int length = 0, fd;

	sscanf(what, "%o%n", &mode, &length);
	text += length + 1;
	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, mode))
		abort();
	if (sscanf(text, "x%u", &n) == 1)
		for (unsigned int i = 0; i < n; i++)
			CHECK(write(fd, "x", 1) == 1, "not written");
	else
		CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "not written");
	close(fd);
}

static void happens(const char *what)
{
	long long number = 0;
	char word[32];

	if (!strncmp(what, "says ", 5)) {
		if (lines_n == LINES)
			abort();
		snprintf(lines[lines_n++], sizeof(lines[0]), "%s", what + 5);
		return;
	}
	if (!strncmp(what, "password ", 9)) {
		put_file("password", what + 9);
		return;
	}
	if (!strncmp(what, "ca ", 3)) {
		put_file("ca", what + 3);
		return;
	}
	line("* %s", what);
	if (!strcmp(what, "ends"))
		ends = true;
	else if (!strcmp(what, "slow") || !strcmp(what, "quick"))
		slow = *what == 's';
	else if (!strcmp(what, "no password"))
		unlink("password");
	else if (!strcmp(what, "stops"))
		stops = true;
	else if (!strcmp(what, "late"))
		late = true;
	else if (!strcmp(what, "a last word"))
		last_word = true;
	else if (!strcmp(what, "overdue"))
		overdue = true;
	else if (!strcmp(what, "leave"))
		leave();
	else if (!strcmp(what, "write"))
		state_close(opened(true));
	else if (sscanf(what, "said %31s %lld", word, &number) == 2)
		is_said(word, number);
	else if (sscanf(what, "full %lld", &number) == 1)
		full = (size_t)number;
	else if (sscanf(what, "due %lld", &number) == 1)
		due_at = now_ms + number;
	else if (sscanf(what, "join %31s", word) == 1) {
		snprintf(joined.name, sizeof(joined.name), "%s", word);
		join();
	} else {
		abort();
	}
}

#define UP "says up|7.2|192.0.2.1|192.0.2.1"

static const struct step goes_well[] = {
	{ 0, UP },
	{ 3, "says clock|-12|4" },
	{ 100, "says +|b|192.0.2.9" },
	{ 100, "says said|1" },
	{ 100, "says nothing|that|is|known" },
	{ 700, "due 50" },
	{ 800, "slow" },
	{ 800, "write" },
	{ 801, "quick" },
	{ 12000, "says said|2" },
	{ 12000, "says said|3" },
	{ 12400, "says said|4" },
	{ 13000, "says down|no\033 route" },
	{ 13100, "says down|no host" },
	{ 13110, "says down|somebody else|strange" },
	{ 13120, "says down|somebody else|strange" },
	{ 13130, "says down|nobody" },
	{ 13200, UP },
	{ 13300, "says up|7.3\033|192.0.2.1|192.0.2.1" },
	{ 25000, "TERM" },
	{ 0, NULL },
};

static const struct step ends_often[] = {
	{ 0, "ends" },
	{ 150, "says failed|no such\033 host" },
	{ 300, "says failed|no such\033 host" },
	{ 300, "ends" },
	{ 800, "says up|7.2|-|-" },
	{ 801, "ends" },
	{ 1200, "says down|it is busy" },
	{ 1300, "ends" },
	{ 1900, "ends" },
	{ 2700, "ends" },
	{ 4000, "ends" },
	{ 8000, "ends" },
	{ 15000, "ends" },
	{ 22000, "says up|7.2|-|-" },
	{ 23000, "ends" },
	{ 23000, "INT" },
	{ 0, NULL },
};

/* What it has written at its end is read first. */
static const struct step last_words[] = {
	{ -1, "full 1" }, { 10, "says +" },	  { 10, "says +" },   { 10, "says failed|the name is taken" },
	{ 10, "ends" },	  { 300, "a last word" }, { 400, "overdue" }, { 1000, "TERM" },
	{ 0, NULL },
};

static const struct step passwords[] = {
	{ -1, "ca 600 " },
	{ -1, "password 600 " },
	{ 1, "password 600 geheim\r\nmore" },
	{ 210, "ends" },
	{ 220, "password 640 geheim" },
	{ 700, "password 600 \ngeheim" },
	{ 2000, "password 600 ge\theim" },
	{ 4000, "password 600 x511" },
	{ 7000, "password 600 x510" },
	{ 11300, "said 0123456789abcdef 17" },
	{ 11310, "no password" },
	{ 11310, "ends" },
	{ 17000, "password 600 geheim\nmore" },
	{ 21400, "ca 602 " },
	{ 21400, "ends" },
	{ 27000, "ca 600 " },
	{ 32000, "TERM" },
	{ 0, NULL },
};

static const struct step servers[] = {
	{ 0, "says up|1|-|-" },
	{ 10, "says up|1|192.0.2.1|192.0.2.1" },
	{ 20, "says up|1|192.0.2.1|" },
	{ 30, "says up|1|192.0.2.1|192.0.2.2" },
	{ 40, "says up|1|192.0.2.2|192.0.2.1" },
	{ 50, "says up|1|192.0.2.2|192.0.2.3" },
	{ 60, "says up|1|-|192.0.2.3" },
	{ 70, "says up|1|::c000:203|-" },
	{ 80, "says up|1|2001:db8::1|192.0.2.4" },
	{ 90, "says up|1|192.0.2.4|2001:db8::1" },
	{ 95, "says up|1|::c000:204|192.0.2.4" },
	{ 100, "says up|1|no|" },
	{ 110, "says up|1|no|" },
	{ 120, "fail servers 5 1" },
	{ 120, "says up|1|192.0.2.1|192.0.2.1" },
	{ 500, "fail commit 5 1" },
	{ 500, "says up|1|192.0.2.1|192.0.2.1" },
	{ 950, "fail servers_put 5 1" },
	{ 950, "says up|1|192.0.2.1|192.0.2.1" },
	{ 1800, "fail state 5 1" },
	{ 1800, "says up|1|192.0.2.1|192.0.2.1" },
	{ 3500, "fail state 5 2" },
	{ 3500, "says up|1|192.0.2.1|192.0.2.1" },
	{ 6800, "says up|1|192.0.2.1|192.0.2.1" },
	{ 6900, "says down|it is gone" },
	{ 7000, "TERM" },
	{ 0, NULL },
};

static const struct step leaves[] = {
	{ 1, "said 0123456789abcdef 17" },
	{ 2, "write" },
	{ 21000, "write" },
	{ 21004, "write" },
	{ 21500, "leave" },
	{ 22000, "TERM" },
	{ 0, NULL },
};

/* While the program is not there. */
static const struct step joins_another[] = {
	{ 1, "ends" }, { 150, "write" }, { 160, "join edge-8" }, { 22000, "TERM" }, { 0, NULL },
};

static const struct step joins_at_once[] = { { 1, "join edge-8" }, { 0, NULL } };

static const struct step batches[] = {
	{ -1, "full 2" },   { 10, "says +" },	  { 10, "says +" },    { 10, "says +" },   { 10, "says said" },
	{ 10, "says +" },   { 20, "says +" },	  { 20, "says said" }, { 20, "says +" },   { 20, "fail said 5 1" },
	{ 500, "says +" },  { 500, "says said" }, { 500, "says +" },   { 500, "says +" },  { 500, "fail force 5 1" },
	{ 1000, "says +" }, { 1000, "late" },	  { 1100, "says +" },  { 1100, "says +" }, { 1100, "says +" },
	{ 1100, "stops" },  { 0, NULL },
};

static const struct step fails_sometimes[] = {
	{ -1, "fail program 11 1" },
	{ 1, "fail fleet 5 1" },
	{ 300, "fail state 5 1" },
	{ 700, "fail expect 12 1" },
	{ 2000, "fail saying 5 1" },
	{ 6000, UP },
	{ 6100, "fail saying 5 1" },
	{ 6100, "write" },
	{ 6400, UP },
	{ 6500, "fail state 5 1" },
	{ 6500, "write" },
	{ 6800, UP },
	{ 6900, "fail expect 5 1" },
	{ 6900, "write" },
	{ 7200, UP },
	{ 8000, "says said" },
	{ 8000, "fail seen_write 5 1" },
	{ 9000, "says said" },
	{ 19000, "says said" },
	{ 19000, "fail members_seen 12 1" },
	{ 20000, "says said" },
	{ 20500, "TERM" },
	{ 0, NULL },
};

static const struct step begins_badly[] = { { -1, "fail state 5 2" }, { 20, "TERM" }, { 0, NULL } };
static const struct step begins_worse[] = { { -1, "fail fleet 5 2" }, { 20, "TERM" }, { 0, NULL } };
static const struct step stops_at_once[] = { { -1, "TERM" }, { 0, NULL } };
static const struct step none_joined[] = { { -1, "leave" }, { 0, NULL } };
static const struct step not_read[] = { { -1, "fail state 5 1" }, { 0, NULL } };
static const struct step not_known[] = { { -1, "fail fleet 5 1" }, { 0, NULL } };
static const struct step not_alone[] = { { -1, "fail lock 16 1" }, { 0, NULL } };
static const struct step no_watch[] = { { -1, "fail watch 24 1" }, { 0, NULL } };
static const struct step no_memory[] = { { -1, "fail members 12 1" }, { 0, NULL } };

static void word_for_word(void)
{
	static const struct {
		const char *name;
		const struct step *steps;
		bool all;
	} each[] = {
		{ "it goes well", goes_well, false },
		{ "the program ends", ends_often, false },
		{ "last words", last_words, false },
		{ "passwords", passwords, true },
		{ "servers", servers, false },
		{ "it leaves", leaves, false },
		{ "it joins another", joins_another, false },
		{ "it joins another at once", joins_at_once, false },
		{ "batches", batches, false },
		{ "it fails sometimes", fails_sometimes, false },
		{ "the state cannot be read at first", begins_badly, false },
		{ "nor the fleet at first", begins_worse, false },
		{ "it stops at once", stops_at_once, false },
		{ "none is joined", none_joined, false },
		{ "the state cannot be read", not_read, false },
		{ "nor the fleet", not_known, false },
		{ "another takes part", not_alone, false },
		{ "without a watch", no_watch, false },
		{ "without memory", no_memory, false },
	};

	const int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		int err = chdir(directory);

		empty_directory();
		joined = (struct fleet){ .url = "redis://a", .name = "edge-7", .say = "all" };
		if (each[i].all)
			joined = (struct fleet){ .url = "rediss://a:1",
						 .name = "edge-7",
						 .user = "u",
						 .prefix = "p:",
						 .read = "redis://b",
						 .ca = "ca",
						 .pace = 77,
						 .say = "add",
						 .password_file = "password" };
		join();
		states = arrays = 0;
		the_lock = the_watch = -1;
		ends = slow = stops = late = last_word = overdue = false;
		full = 0;
		due_at = INT64_MAX;
		shows_begin(&shows);
		model_begin(each[i].steps);
		err = fleet_run(&own_context);
		line("it ends: %s", err ? reason(err) : "done");
		if (states || arrays)
			line("%d states and %d arrays are left", states, arrays);
		if ((the_lock >= 0 && fcntl(the_lock, F_GETFD) >= 0) ||
		    (the_watch >= 0 && fcntl(the_watch, F_GETFD) >= 0))
			line("a descriptor is left");
		unlink("password");
		unlink("ca");
		ENOUGH(!fchdir(top));
		shows_as(&shows, each[i].name);
	}
	close(top);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
