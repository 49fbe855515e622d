// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CrowdSec agent that is followed: when all is asked for and when what is new, what becomes of answers that lack some
 * of it, and what is said of an agent that does not answer; agent, bans and clock are made up, word for word.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "own_state.h"
#include "base/clean_text.h"
#include "change/accounts.h"
#include "change/guard_culprit.h"
#include "change/guard_rails.h"
#include "feeds/decisions.h"
#include "feeds/into_force.h"
#include "fetch/client.h"
#include "fetch/server_here.h"
#include "observe/agent_seen.h"
#include "state/said.h"
#include "model_feed.h"

static const struct shown texts[] = {
#include "unit_crowdsec_run.txt"
};

static struct shows shows = { .file = "tests/unit/unit_crowdsec_run.txt",
			      .known = texts,
			      .n = sizeof(texts) / sizeof(texts[0]) };

#define ANSWERS 64

static double given_seconds(void)
{
	return (double)now_ms / 1000;
}

static int64_t given_boot(void)
{
	return now_ms * 1000000;
}

/* --- The agent ---------------------------------------------------------------------------------------------------- */

/*
 * What it answers, one after the other, so many ms later: what is new and what is deleted, as "+7=192.0.2.1,1h -8=..."
 * or "+7..9,1h" (of 198.51.100.7 to .9), "~" for a decision of another kind; or "!" and why there is none, "?" and why
 * nothing answers, "-" where it has no body, "{" as it stands; "@" and where it is, in front of that. After the last
 * nothing is new, and all of it has no body.
 */
static const char *answers[ANSWERS];
static size_t answers_n, answered, asked;
static bool stops; /* a signal comes meanwhile */

static void put_one(FILE *to, size_t *n, int id, const char *value, const char *left)
{
	fprintf(to,
		"%s{\"id\":%d,\"scope\":\"%s\",\"value\":\"%s\",\"duration\":\"%s\",\"type\":\"ban\",\"origin\":\"cscli\","
		"\"scenario\":\"ssh\"}",
		(*n)++ ? "," : "", id, strchr(value, '/') ? "Range" : "Ip", value, left);
}

static void put_all(FILE *to, const char *text, char kind)
{
	size_t n = 0;

	for (; *text; text += strcspn(text, " "), text += *text == ' ') {
		char value[80] = "", left[20] = "1h";
		int id = 0, last = 0;

		if (*text == '~' && kind == '+')
			fprintf(to,
				"%s{\"id\":99,\"scope\":\"Country\",\"value\":\"FR\",\"duration\":\"1h\",\"type\":\"ban\"}",
				n++ ? "," : "");
		if (*text != kind)
			continue;
		if (sscanf(text + 1, "%d=%79[^, ],%19s", &id, value, left) >= 2) {
			put_one(to, &n, id, value, left);
		} else if (sscanf(text + 1, "%d..%d,%19s", &id, &last, left) >= 2) {
			for (; id <= last; id++) {
				snprintf(value, sizeof(value), "198.51.100.%d", id);
				put_one(to, &n, id, value, left);
			}
		} else {
			abort();
		}
	}
}

static int body_of(const char *text)
{
	int fd = memfd_create("body", MFD_CLOEXEC);
	FILE *to = fdopen(dup(fd), "w");

	ENOUGH(to);
	if (*text == '{') {
		fputs(text, to);
	} else {
		fputs("{\"new\":[", to);
		put_all(to, text, '+');
		fputs("],\"deleted\":[", to);
		put_all(to, text, '-');
		fputs("]}", to);
	}
	fclose(to);
	return fd;
}

static void headers_are(int headers)
{
	char text[400];
	ssize_t n = read(headers, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '|';
	line("with '%.30s', %zd bytes", text, n);
}

static int given_ask(const struct fetch_request *r, int headers, struct fetch_answer *answer, int *body)
{
	const bool whole = strstr(r->url, "startup=true&");
	const char *text = answered < answers_n ? answers[answered++] : whole ? "0 -" : "0 ";
	int ms = atoi(text);

	line("asks %s%s%s", r->url, r->insecure ? ", http" : "", r->lan ? ", near" : "");
	if (r->connect != FETCH_CONNECT_SECONDS || r->seconds != 120 || r->bytes != 4 * FETCH_BYTES ||
	    r->floor != FETCH_FLOOR || r->floor_seconds != FETCH_FLOOR_SECONDS)
		line("with other limits");
	if (!asked++ || lseek(headers, 0, SEEK_CUR))
		headers_are(headers);
	lseek(headers, 0, SEEK_END);
	text = strchr(text, ' ') + 1;
	now_ms += ms;
	line("it answers: %s", text);
	*body = -1;
	*answer = (struct fetch_answer){ .outcome = *text == '-' ? FETCH_SAME : FETCH_FAILED };
	if (*text == '@') {
		snprintf(answer->address, sizeof(answer->address), "%.*s", (int)strcspn(text + 1, " "), text + 1);
		text += strcspn(text, " ") + 1;
	}
	if (stops)
		stop_asked = SIGTERM;
	if (*text == '?')
		return because(-ECONNREFUSED, "%s", text + 1);
	if (*text == '!')
		snprintf(answer->why, sizeof(answer->why), "%s", text + 1);
	if (*text == '!' || (*text == '-' && !text[1]))
		return 0;
	answer->outcome = FETCH_NEW;
	*body = body_of(text);
	return 0;
}

/* --- Bans --------------------------------------------------------------------------------------------------------- */

#define BANS 16

static int states;
static bool for_change;
static struct ban there[BANS];
static size_t there_n;

static int given_open(struct state **state, struct context *context, bool change)
{
	int err = fails("state");

	(void)context;
	for_change = change;
	*state = err ? NULL : (struct state *)&states;
	states += !err;
	return err;
}

static void given_state_close(struct state *state)
{
	states -= state != NULL;
}

static int given_servers(struct state *state, const char *list, const struct addr *servers, size_t n)
{
	char text[PREFIX_TEXT_MAX];

	if (state != (struct state *)&states || list || !for_change)
		abort();
	for (size_t i = 0; i < n; i++)
		line("it is at %s", prefix_text(text, servers[i], -1));
	return fails("servers");
}

static int given_commit(struct state *state)
{
	if (state != (struct state *)&states || !for_change)
		abort();
	line("that is kept");
	return fails("commit");
}

static const char *given_dropped(char text[DROPPED_TEXT_MAX], const struct context *context, const char *address)
{
	(void)context;
	snprintf(text, DROPPED_TEXT_MAX, "%s%s", *address ? "; dropped is " : "", address);
	return text;
}

static int given_bans(struct state *state, struct ban **bans, size_t *n)
{
	if (state != (struct state *)&states)
		abort();
	*bans = malloc(sizeof(there));
	ENOUGH(*bans);
	memcpy(*bans, there, sizeof(there));
	*n = there_n;
	return fails("bans");
}

/* Of 203.0.113.0/24 members of a fleet say it longer: .1 is this machine's own, too, for an hour; .2 is theirs alone.
 */
static int given_said_any(const struct state *state)
{
	if (state != (const struct state *)&states)
		abort();
	for (size_t i = 0; i < there_n; i++)
		if (there[i].first.num >> 8 == 0xcb0071)
			return 1;
	return 0;
}

static int given_own(const struct state *state, struct addr first, unsigned int length, struct ban *own)
{
	if (!given_said_any(state))
		abort();
	for (size_t i = 0; i < there_n; i++)
		if (there[i].first.num == first.num && there[i].length == length)
			*own = there[i];
	if (first.num == 0xcb007102)
		return -ENOENT;
	if (first.num != 0xcb007101)
		return 0;
	own->expires = DATE + 3600;
	own->due = (now_ms / 1000 + 3600) * 1000000000;
	snprintf(own->reason, sizeof(own->reason), "crowdsec behind a member");
	return 0;
}

/* What is wider than /9 is too much; an address that ends with .66 a guard rail refuses now; of .77 another's ban
 * stands there; .88 is kept as it is. */
static int given_into_force(struct into_force *f, struct ban_order *orders, size_t n)
{
	char text[PREFIX_TEXT_MAX];
	int err = fails("force");

	if (strcmp(f->whose, CROWDSEC_REASON) != 0 || strcmp(f->from, "crowdsec") != 0 || f->verb || f->with)
		line("somebody else's");
	if (!n)
		return err;
	begin_line();
	printf("orders:");
	for (size_t i = 0; i < n; i++) {
		if (i >= 4 && i + 1 < n)
			continue;
		printf(" %s%s%s", i >= 4 && n > 5 ? "... " : "", orders[i].del ? "-" : "+",
		       prefix_text(text, orders[i].prefix.first, (int)orders[i].prefix.length));
		if (!orders[i].del)
			printf(" for %g s", orders[i].ttl);
		if (orders[i].reason)
			printf(" (%s)", orders[i].reason);
	}
	printf(n > 5 ? "; %zu\n" : "\n", n);
	for (size_t i = 0; i < n; i++) {
		uint8_t last = (uint8_t)orders[i].prefix.first.num;

		orders[i].missed = last == 77;
		orders[i].much = !orders[i].del && orders[i].prefix.length < 9;
		if (orders[i].much) {
			snprintf(f->much, sizeof(f->much), "all of them are too much");
			f->refused(f->arg, i, f->much);
			continue;
		}
		if (last == 66)
			f->refused(f->arg, i, "a guard rail");
		else if (orders[i].del)
			f->ended++;
		else
			f->bans += last != 77 && last != 88;
	}
	f->done(f->arg, n);
	return err;
}

static void given_word_begin(struct agent_word *word, const struct context *context)
{
	word->context = context;
	line("whoever follows it is known");
}

static bool given_silent(const struct agent_word *word, const char *url, int64_t since, const char *why)
{
	(void)word;
	line("shown: %s is silent since %lld: %s", url, (long long)since - DATE, why);
	return !fails("silent");
}

static void given_answers(const struct agent_word *word)
{
	(void)word;
	line("shown: it answers");
}

static void given_word_end(struct agent_word *word)
{
	(void)word;
	line("nobody follows it any more");
}

static void given_wipe(void *bytes, size_t n)
{
	line("%zu bytes are wiped", n);
	memset(bytes, 0, n);
}

static int given_memory(const char *name, unsigned int flags)
{
	int fd = fails("memory") ? -1 : memfd_create(name, flags);

	if (fd < 0)
		errno = EMFILE;
	return fd;
}

/* Whose the sockets are is unit_server_here's: here it is root's, unless another's is to be there. */
static int given_may(struct server_here *h)
{
	h->seen = h->strange = false;
	if (!h->bare)
		return 0;
	h->strange = fails("root's");
	if (h->strange)
		return because(-EPERM, "it is another's: it is not asked");
	h->seen = !fails("sock_diag");
	return 0;
}

static int given_same(struct server_here *h)
{
	return h->seen && fails("same") ? because(-EAGAIN, "it is another's: its answer is not believed") : 0;
}

#define server_here_may		 given_may
#define server_here_same	 given_same
#define clock_seconds()		 given_seconds()
#define clock_boot()		 given_boot()
#define fetch_ask		 given_ask
#define state_open(s, c, change) given_open(s, c, change)
#define state_close(s)		 given_state_close(s)
#define state_bans(s, bans, n)	 given_bans(s, bans, n)
#define state_said_any(s)	 given_said_any(s)
#define state_feed_servers_put	 given_servers
#define state_commit(s)		 given_commit(s)
#define dropped_text		 given_dropped
#define account_own		 given_own
#define into_force(f, orders, n) given_into_force(f, orders, n)
#define agent_word_begin	 given_word_begin
#define agent_word_silent	 given_silent
#define agent_word_answers	 given_answers
#define agent_word_end		 given_word_end
#define explicit_bzero		 given_wipe
#define memfd_create(name, how)	 given_memory(name, how)
#include "feeds/crowdsec.c"

/* --- What happens ------------------------------------------------------------------------------------------------- */

static const char *waits_for(int fd)
{
	(void)fd;
	return "something";
}

/* "MODE text", or "MODE xN": so many bytes. */
static void key(const char *what)
{
	unsigned int mode, n = 0;
	int length = 0, fd;

	sscanf(what, "%o%n", &mode, &length);
	what += length + 1;
	unlink("key");
	fd = open("key", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, mode))
		abort();
	if (sscanf(what, "x%u", &n) == 1)
		while (n--)
			ENOUGH(write(fd, "x", 1) == 1);
	else
		ENOUGH(write(fd, what, strlen(what)) == (ssize_t)strlen(what));
	close(fd);
}

/* "prefix expires due reason": times in s from now on, 0: none; a reason that begins with '!' is of one that is over.
 */
static void ban(const char *what)
{
	struct ban *b = &there[there_n++];
	long long expires, due;
	char prefix[80];
	int length = 0;

	ENOUGH(there_n <= BANS && sscanf(what, "%79s %lld %lld %n", prefix, &expires, &due, &length) == 3);
	ENOUGH(!prefix_parse(prefix, strlen(prefix), &b->first, &b->length));
	b->expires = expires ? DATE + expires : 0;
	b->due = due ? (now_ms / 1000 + due) * 1000000000 : 0;
	b->over = what[length] == '!';
	snprintf(b->reason, sizeof(b->reason), "%s", what + length + b->over);
}

static void happens(const char *what)
{
	if (!strncmp(what, "key ", 4)) {
		key(what + 4);
	} else if (!strncmp(what, "ban ", 4)) {
		ban(what + 4);
	} else if (!strcmp(what, "stops")) {
		stops = true;
	} else {
		ENOUGH(answers_n < ANSWERS);
		answers[answers_n++] = what;
	}
}

#define END             \
	{               \
		0, NULL \
	}

static const struct step goes_well[] = {
	/* All of it: the next time is later than 30 s from its end. */
	{ -1, "0 +1=192.0.2.1,1h +2=192.0.2.2,2h +3=2001:db8::/48,30s" },
	{ -1, "0 " },
	{ -1, "100 +4=192.0.2.4,1h +5=192.0.2.1,3h" },
	{ -1, "0 -2=192.0.2.2" },
	{ -1, "700 +1=192.0.2.1,59m20s +4=192.0.2.4,59m40s +5=192.0.2.1,2h59m40s" },
	/* It took 0.7 s: 35 s. */
	{ -1, "0 " },
	{ -1, "0 +6=192.0.2.88" },
	{ -1, "19000 " },
	{ -1, "0 +1=192.0.2.1,58m +4=192.0.2.4,58m +5=192.0.2.1,2h58m +6=192.0.2.88" },
	{ 125000, "TERM" },
	END,
};

static const struct step is_slow[] = {
	/* Later than 750 s, and 900 s. */
	{ -1, "15000 +1=192.0.2.1,100h" },
	{ 765000, "25000 +1=192.0.2.1,99h45m" },
	{ 1770000, "0 +1=192.0.2.1,99h30m" },
	{ 1880000, "TERM" },
	END,
};

/* Few: the second answer decides at once, whatever it is. */
static const struct step lacks_few[] = {
	{ -1, "0 +1..12,5h" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	/* ten of twelve are missing, and still are */
	{ -1, "0 +1..2,5h" },
	{ -1, "0 +1..2,5h" },
	{ -1, "0 " },
	{ -1, "0 +3..12,5h" },
	{ -1, "0 " },
	/* eleven are missing, which is more than half: half an interval later they are not */
	{ -1, "0 +1..1,5h" },
	{ -1, "0 +1..12,5h" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 +1..1,5h" },
	/* it says nothing then: so it is no second time */
	{ -1, "0 ?it is gone" },
	{ -1, "0 +1..1,5h" },
	{ -1, "0 +2..2,5h" },
	{ -1, "0 +1..2,5h" },
	{ -1, "0 +1..2,5h" },
	{ 175000, "TERM" },
	END,
};

static const struct step lacks_many[] = {
	{ -1, "0 +1..22,5h" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	/* eleven of 22, and those of the second answer in their place */
	{ -1, "0 +1..11,5h" },
	{ -1, "0 +1..11,5h +23..34,5h" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	/* twelve of 23 */
	{ -1, "0 +1..11,5h" },
	{ -1, "0 +1..11,5h" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 ?no" },
	{ 155000, "TERM" },
	END,
};

/* And others in the second answer: it is doubted once more, and said once. */
static const struct step doubts_twice[] = {
	{ -1, "0 +1..30,5h" },	{ -1, "0 " },	       { -1, "0 " },	  { -1, "0 " }, { -1, "0 +1..14,5h" },
	{ -1, "0 +15..15,5h" }, { -1, "0 +1..15,5h" }, { 55000, "TERM" }, END,
};

static const struct step goes_badly[] = {
	{ -1, "0 ?it is not there" },
	{ -1, "0 +1=192.0.2.1,5h" },
	{ -1, "0 " },
	{ -1, "0 !403 Forbidden" },
	{ -1, "0 -" },
	{ -1, "0 {'no':1}" },
	{ -1, "0 +1=192.0.2.1,5h" },
	{ -1, "0 ?once more" },
	{ -1, "0 ?and more" },
	{ -1, "0 +1=192.0.2.1,5h" },
	{ 91000, "fail force 28 1" },
	{ 91000, "0 +2=192.0.2.2,5h" },
	{ 101000, "0 +1=192.0.2.1,5h +2=192.0.2.2,5h" },
	{ 111000, "stops" },
	{ 111000, "0 ?a signal came" },
	END,
};

/* What could not be written is written as it fails again. */
static const struct step cannot_say[] = {
	{ -1, "0 ?it is not there" },
	{ 5000, "fail silent 5 1" },
	{ -1, "0 ?nor now" },
	{ 15000, "fail silent 5 1" },
	{ -1, "0 ?nor later" },
	{ -1, "0 ?at last" },
	{ -1, "0 ?and again" },
	{ -1, "0 " },
	{ 55000, "TERM" },
	END,
};

/* Somebody else listens in its place, while it answered before and after it was silent; and in the middle of an answer.
 */
static const struct step anothers[] = {
	{ -1, "0 +1=192.0.2.1,5h" },
	{ 5000, "fail root's 1 2" },
	{ -1, "0 -1=192.0.2.1" },
	{ -1, "0 ?it is not there" },
	{ 65000, "fail root's 1 1" },
	{ -1, "0 +2=192.0.2.2,5h" },
	{ 125000, "fail same 1 1" },
	{ -1, "0 -2=192.0.2.2" },
	{ 185000, "fail sock_diag 1 2" },
	{ -1, "0 +3=192.0.2.3,5h" },
	{ -1, "0 +4=192.0.2.4,5h" },
	{ 210000, "TERM" },
	END,
};

/* It is said once; as there may be room later, it is tried again. */
static const struct step too_much[] = {
	{ -1, "0 +1=16.0.0.0/8,5h +2=192.0.2.1,5h +3=17.0.0.0/8,5h +4=10.0.0.0/7,5h +6=0.0.0.0,5h" },
	{ -1, "0 +5=18.0.0.0/8,5h" },
	{ -1, "0 -1=16.0.0.0/8" },
	{ -1, "0 " },
	{ -1, "0 +2=192.0.2.1,17960s +3=17.0.0.0/8,17960s +5=18.0.0.0/8,17970s" },
	{ -1, "0 +1=16.0.0.0/8,5h" },
	{ 55000, "TERM" },
	END,
};

static const struct step guards[] = {
	{ -1, "0 +1=192.0.2.66,5h +2=0.0.0.0/1,5h +3=192.0.2.1,5h +4=192.0.2.77,5h ~ ~" },
	{ -1, "0 +5=192.0.2.2,5h ~" },
	{ -1, "0 +6=192.0.3.66,5h" },
	{ -1, "0 " },
	/* What another's ban stands in the place of is tried again later than after 30 s. */
	{ -1, "0 +1=192.0.2.66,17960s +2=0.0.0.0/1,17960s +3=192.0.2.1,17960s +4=192.0.2.77,17960s +5=192.0.2.2,17970s"
	      " +6=192.0.3.66,17980s ~ ~ ~" },
	{ -1, "0 " },
	{ -1, "0 -2=0.0.0.0/1" },
	{ -1, "0 -4=192.0.2.77 -1=192.0.2.66" },
	{ -1, "0 +3=192.0.2.1,17920s +5=192.0.2.2,17930s +6=192.0.3.66,17940s" },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 " },
	{ -1, "0 +3=192.0.2.1,17880s +5=192.0.2.2,17890s +6=192.0.3.66,17900s ~" },
	{ 125000, "TERM" },
	END,
};

/* What was there before: its own, that end, and are not over. */
static const struct step was_there[] = {
	{ -1, "ban 192.0.2.1 3600 7200 crowdsec cscli ssh" },
	{ -1, "ban 192.0.2.2 3600 0 crowdsec cscli ssh" },
	{ -1, "ban 192.0.2.3 3600 3600 an operator" },
	{ -1, "ban 192.0.2.4 0 0 crowdsec for ever" },
	{ -1, "ban 192.0.2.5 3600 3600 !crowdsec is over" },
	{ -1, "ban 192.0.2.6 -5 0 crowdsec has expired" },
	{ -1, "ban 192.0.2.7 3600 3600 crowdsec" },
	{ -1, "ban 2001:db8::/48 3600 3600 crowdsec a reason" },
	{ -1, "ban 192.0.2.0/24 3600 3600 crowdsec a network" },
	{ -1, "0 +1=192.0.2.1,2h +2=192.0.2.2,1h" },
	{ -1, "0 +1=192.0.2.1,2h +2=192.0.2.2,1h" },
	{ -1, "0 " },
	{ -1, "stops" },
	END,
};

/* And members of a fleet say some of it, too: what was deleted meanwhile ends behind their words. */
static const struct step was_behind[] = {
	{ -1, "ban 192.0.2.1 3600 3600 crowdsec cscli ssh" },
	{ -1, "ban 203.0.113.1 7200 7200 m: x" },
	{ -1, "ban 203.0.113.2 7200 7200 m: crowdsec" },
	{ -1, "0 +1=192.0.2.1,1h" },
	{ -1, "0 +1=192.0.2.1,1h" },
	{ -1, "stops" },
	END,
};

static const struct step one_answer[] = { { -1, "0 +1=192.0.2.1" }, { 1, "TERM" }, END };
static const struct step no_answer[] = { { -1, "TERM" }, END };
static const struct step no_state[] = { { -1, "fail state 5 1" }, END };
static const struct step no_bans[] = { { -1, "fail bans 5 1" }, END };
static const struct step no_memory[] = { { -1, "fail memory 24 1" }, END };

static void run(const char *name, const struct step *all, const struct crowdsec_options *options)
{
	int err, low = dup(STDIN_FILENO), now;
	char title[80];

	close(low);
	states = 0;
	there_n = answers_n = answered = asked = 0;
	memset(there, 0, sizeof(there));
	stops = false;
	key("600 secret\nmore");
	model_begin(all);
	if (name)
		line("== %s", clean_copy(title, sizeof(title), name));
	err = follow_crowdsec(&own_context, options);
	line("it ends: %s", err ? reason(err) : "done");
	now = dup(STDIN_FILENO);
	close(now);
	if (states || low != now)
		line("%d states are left, or a descriptor", states);
	unlink("key");
}

static void keys(void)
{
	static const struct step texts_of[][3] = {
		{ { -1, "key 600 secret" }, { 1, "TERM" }, END },
		{ { -1, "key 600 secret\r\n" }, { 1, "TERM" }, END },
		{ { -1, "key 640 secret" }, END },
		{ { -1, "key 600 " }, END },
		{ { -1, "key 600 \nsecret" }, END },
		{ { -1, "key 600 sec ret" }, END },
		{ { -1, "key 600 !~" }, { 1, "TERM" }, END },
		{ { -1, "key 600 secret\x7f" }, END },
		{ { -1, "key 600 x255" }, { 1, "TERM" }, END },
		{ { -1, "key 600 x256" }, END },
		{ { -1, "key 600 x257" }, END },
	};
	static const struct crowdsec_options options = { .url = "https://a.example", .key_file = "key", .every = 10 };
	static const struct crowdsec_options none = { .url = "https://a.example", .key_file = "nokey", .every = 10 };

	for (size_t i = 0; i < sizeof(texts_of) / sizeof(texts_of[0]); i++)
		run(texts_of[i][0].what, texts_of[i], &options);
	run("no file", one_answer, &none);
	run("no memory", no_memory, &options);
	run("no state", no_state, &options);
	run("no bans", no_bans, &options);
	run("stopped before", no_answer, &options);
}

/* Elsewhere: where it is, is kept, and once more after a day. */
static void away(void)
{
	static const struct step well[] = {
		{ -1, "0 @192.0.2.9 +1=192.0.2.1,99h" },
		{ -1, "0 @192.0.2.9 " },
		{ -1, "0 @192.0.2.8 " },
		{ -1, "0 @192.0.2.8 !no connection" },
		{ -1, "0 ?nobody speaks to servers" },
		{ 55000, "TERM" },
		END,
	};
	static const struct step rarely[] = {
		{ -1, "0 @2001:db8::9 +1=192.0.2.1,99h" },
		{ -1, "0 @2001:db8::9 +1=192.0.2.1,74h" },
		{ 100000000, "TERM" },
		END,
	};
	static const struct step cut[] = {
		{ -1, "fail commit 28 1" },
		{ -1, "0 @192.0.2.9 +1=192.0.2.1,99h" },
		{ 5000, "TERM" },
		END,
	};
	const struct crowdsec_options options = { .url = "https://a.example", .key_file = "key", .every = 10 };
	const struct crowdsec_options seldom = { .url = "https://a.example", .key_file = "key", .every = 90000 };
	const struct crowdsec_options here = { .url = "http://127.0.0.1", .key_file = "key", .every = 10 };

	run("elsewhere", well, &options);
	run("for long", rarely, &seldom);
	run("it cannot be kept", cut, &options);
	run("here", well, &here);
}

static void urls(void)
{
	static const struct crowdsec_options each[] = {
		{ .url = "http://127.0.0.1:8080", .key_file = "key", .every = 10 },
		{ .url = "http://127.0.0.1/a", .key_file = "key", .every = 10 },
		{ .url = "http://LOCALHOST:1", .key_file = "key", .every = 10 },
		{ .url = "http://[::1]", .key_file = "key", .every = 10 },
		{ .url = "https://localhost", .key_file = "key", .every = 10 },
		{ .url = "http://localhost.example:1", .key_file = "key", .every = 10 },
		{ .url = "http://127.0.0.10", .key_file = "key", .every = 10 },
		{ .url = "http://a.example", .key_file = "key", .every = 10 },
		{ .url = "http://a.example", .key_file = "key", .every = 10, .insecure = true },
		{ .url = "https://10.0.0.1", .key_file = "key", .every = 10, .lan = true },
		{ .url = "https://a.example:8/localhost/", .key_file = "key", .every = 10 },
		{ .url = "localhost", .key_file = "key", .every = 10 },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		run(each[i].url, one_answer, &each[i]);
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		const struct step *steps;
	} each[] = { { "it goes well", goes_well },
		     { "it is slow", is_slow },
		     { "few are missing", lacks_few },
		     { "many are missing", lacks_many },
		     { "it is doubted twice", doubts_twice },
		     { "it goes badly", goes_badly },
		     { "nobody can be told", cannot_say },
		     { "it is another's", anothers },
		     { "guard rails", guards },
		     { "too much together", too_much },
		     { "what was there", was_there },
		     { "members say it, too", was_behind } };
	const struct crowdsec_options options = { .url = "http://127.0.0.1:8080", .key_file = "key", .every = 10 };
	const struct crowdsec_options seldom = { .url = "http://127.0.0.1:8080", .key_file = "key", .every = 125 };
	const int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]) + 3; i++) {
		const size_t n = sizeof(each) / sizeof(each[0]);

		ENOUGH(!chdir(directory));
		shows_begin(&shows);
		if (i < n)
			run(NULL, each[i].steps, each[i].steps == is_slow ? &seldom : &options);
		else
			(i == n ? keys : i == n + 1 ? urls : away)();
		ENOUGH(!fchdir(top));
		shows_as(&shows, i < n ? each[i].name : i == n ? "keys" : i == n + 1 ? "addresses" : "away");
	}
	close(top);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
