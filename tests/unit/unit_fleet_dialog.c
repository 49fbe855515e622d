// SPDX-License-Identifier: GPL-2.0-only
/*
 * xdp-bloom-fleet between a command and a server that are both made up here: what each of them is told, word for word,
 * and when. Its time is what this test says; no byte leaves the process.
 *
 * What is said to whom is in unit_fleet_dialog.txt: each line there that is not indented is a step, and what follows
 * from it stands below it.
 *   == NAME [URL]    begins a dialog; the others are read at that URL
 *   > WORDS          the command says; _ is a space within a word
 *   many N WORDS     it says so N times
 *   = WORDS: ANSWER  whatever begins with these words is answered so from now on; 1 for =: once
 *   | TEXT           the step before goes on
 *   + MS             so much time goes by
 *   quiet WORDS      of what begins so, nothing is printed from now on
 *   push ANSWER      the server says it to those who listen
 *   ahead            how many lines of whom the command has not taken yet is printed
 *   hold, let        the server answers nothing; all that was asked meanwhile
 *   interrupted, broken  what it waits by fails, once or for ever
 *   cut, refuse, accept  the server ends all connections; takes none; takes them again
 * An ANSWER: [several of them], :5, -ERR an error, +a status, nil, 'a text', word; word*1000 is a long one, and (a
 * b)#500 comes so often, and silence is none.
 */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "fleet/internal.h"
#include "shown.h"

/* The file, as it was when this was made. */
__asm__(".section .rodata\n.balign 8\nknown_text: .incbin \"unit/unit_fleet_dialog.txt\"\n.byte 0\n.previous");
extern const char known_text[];

static struct shows shows = { .file = "tests/unit/unit_fleet_dialog.txt", .plain = true };

#define BEGINS	 100000 /* this machine's ms */
#define SERVER	 1700000000000
#define FOR_EVER 100000

static int64_t now, until;
static char *steps; /* those that are still to come */
static struct wire *wire;
static bool held, refused;
static int wait_fails; /* with that */
static unsigned int turns;

/* One line; of many that are alike, the first and how many. */
__attribute__((format(printf, 1, 2))) static void emit(const char *fmt, ...)
{
	static char last[4200];
	static unsigned int again;
	char line[4200] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (*line == ' ' && !strcmp(line, last)) {
		again++;
		return;
	}
	if (again)
		printf("         %u more\n", again);
	again = 0;
	memcpy(last, line, sizeof(last));
	fputs(line, stdout);
}

/* --- The server --- */

enum { TALK, EAR, OTHER, LINES };

static const char *const line_names[] = { "talk", "ear", "other" };

static struct line {
	int fd; /* our end; 0: none */
	char in[1 << 20];
	size_t n;
	int queued; /* behind MULTI; -1: nothing is */
	char *answers;
	size_t answers_n;
	bool aborted;
	char *out; /* on its way */
	size_t out_n;
} lines[LINES];

#define RULES 64

static struct {
	char *words, *answer;
	bool once;
} rules[RULES];
static size_t rules_n;

__attribute__((format(printf, 3, 4))) static void put(char **to, size_t *n, const char *fmt, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	*to = realloc(*to, *n + (size_t)length + 1);
	memcpy(*to + *n, text, (size_t)length + 1);
	*n += (size_t)length;
	free(text);
}

static const char *put_several(char **to, size_t *n, const char *at, unsigned int *count);

/* One answer of the text, as the server writes it; the end of its text. */
static const char *put_answer(char **to, size_t *n, const char *at)
{
	at += strspn(at, " ");
	if (*at == '[') {
		char *inner = NULL;
		size_t inner_n = 0;
		unsigned int count = 0;

		for (at++; *(at += strspn(at, " ")) && *at != ']';)
			at = put_several(&inner, &inner_n, at, &count);
		put(to, n, "*%u\r\n%s", count, inner ? inner : "");
		free(inner);
		return at + 1;
	}
	if ((*at == '-' && (!at[1] || isupper((unsigned char)at[1]))) ||
	    (*at == '+' && isalpha((unsigned char)at[1])) || *at == ':') {
		size_t length = *at == ':' ? strcspn(at, " ]") : strcspn(at, "]");

		put(to, n, "%.*s\r\n", (int)length, at);
		return at + length;
	}
	if (*at == '\'') {
		size_t length = strcspn(at + 1, "'");

		put(to, n, "$%zu\r\n%.*s\r\n", length, (int)length, at + 1);
		return at + length + 2;
	}
	size_t length = strcspn(at, " ])*");

	if (at[length] == '*') {
		char *end, *long_word;
		size_t times = strtoul(at + length + 1, &end, 10);

		long_word = malloc(length * times + 1);
		if (!long_word)
			abort();
		for (size_t i = 0; i < times; i++)
			memcpy(long_word + i * length, at, length);
		long_word[length * times] = '\0';
		put(to, n, "$%zu\r\n%s\r\n", length * times, long_word);
		free(long_word);
		return end;
	}
	if (length == 3 && !strncmp(at, "nil", 3))
		put(to, n, "$-1\r\n");
	else
		put(to, n, "$%zu\r\n%.*s\r\n", length, (int)length, at);
	return at + length;
}

/* One of several; or a few, again and again. */
static const char *put_several(char **to, size_t *n, const char *at, unsigned int *count)
{
	const char *end = at;
	char *more;

	if (*at != '(') {
		++*count;
		return put_answer(to, n, at);
	}
	for (unsigned long times = 0, most = 1; times < most; times++) {
		for (end = at + 1; *(end += strspn(end, " ")) != ')'; ++*count)
			end = put_answer(to, n, end);
		most = strtoul(end + 2, &more, 10);
		end = more;
	}
	return end;
}

/* Its answer; the newest one's. */
static const char *rule_of(const char *asked)
{
	for (size_t i = rules_n; i--;)
		if (*rules[i].words && !strncmp(asked, rules[i].words, strlen(rules[i].words))) {
			if (rules[i].once)
				*rules[i].words = '\0';
			return rules[i].answer;
		}
	return NULL;
}

static void answer_to(char **to, size_t *n, const char *asked)
{
	const char *rule = rule_of(asked);
	char time[64];

	snprintf(time, sizeof(time), "[%lld %lld]", (long long)(SERVER + now - BEGINS) / 1000,
		 (long long)(SERVER + now - BEGINS) % 1000 * 1000);
	if (rule && !strcmp(rule, "silence"))
		return;
	if (rule)
		put_answer(to, n, rule);
	else if (!strncmp(asked, "HELLO", 5))
		put_answer(to, n,
			   "[server redis version 7.0.15 proto :2 id :3 mode standalone role master modules []]");
	else if (!strncmp(asked, "PING", 4))
		put_answer(to, n, "+PONG");
	else if (!strncmp(asked, "TIME", 4))
		put_answer(to, n, time);
	else
		put_answer(to, n, ":1");
}

/* What fits, now; the rest is written as it is read. */
static bool flush_line(struct line *line)
{
	ssize_t done = line->out_n ? send(line->fd, line->out, line->out_n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (done <= 0)
		return false;
	line->out_n -= (size_t)done;
	memmove(line->out, line->out + done, line->out_n);
	return true;
}

static void send_to(struct line *line, const char *bytes, size_t n)
{
	line->out = realloc(line->out, line->out_n + n);
	memcpy(line->out + line->out_n, bytes, n);
	line->out_n += n;
	flush_line(line);
}

static void answer(struct line *line, const char *asked)
{
	char *all = NULL, key[80];
	const char *rule;
	size_t n = 0;

	snprintf(key, sizeof(key), "%s%.70s", line->queued >= 0 && strcmp(asked, "EXEC") ? "queue " : "", asked);
	if (!strcmp(asked, "MULTI")) {
		line->queued = 0;
		line->aborted = false;
		put(&all, &n, "+OK\r\n");
	} else if (!strcmp(asked, "EXEC")) {
		rule = rule_of(asked);
		if (rule)
			put_answer(&all, &n, rule);
		else if (line->aborted)
			put(&all, &n, "-EXECABORT Transaction discarded because of previous errors.\r\n");
		else
			put(&all, &n, "*%d\r\n%s", line->queued, line->answers ? line->answers : "");
		line->queued = -1;
		free(line->answers);
		line->answers = NULL;
		line->answers_n = 0;
	} else if (line->queued >= 0) {
		rule = rule_of(key);
		line->queued++;
		answer_to(&line->answers, &line->answers_n, asked);
		line->aborted = line->aborted || rule;
		put_answer(&all, &n, rule ? rule : "+QUEUED");
	} else {
		answer_to(&all, &n, asked);
	}
	if (n)
		send_to(line, all, n);
	free(all);
}

/* The command's words, one after the other; false: it is not whole yet. */
static bool take_asked(struct line *line, char asked[4096])
{
	char *at = line->in, *end = line->in + line->n;
	unsigned int words;
	size_t n = 0;

	if (line->n < 4 || !memchr(at, '\n', line->n))
		return false;
	words = (unsigned int)strtoul(at + 1, &at, 10);
	at += 2;
	asked[0] = '\0';
	for (unsigned int i = 0; i < words; i++) {
		size_t length;

		if (at >= end || !memchr(at, '\n', (size_t)(end - at)))
			return false;
		length = strtoul(at + 1, &at, 10);
		at += 2;
		if (at + length + 2 > end)
			return false;
		if (i < 14 || i == words - 1)
			n += (size_t)snprintf(asked + n, 4096 - n, "%s%.*s", i ? " " : "",
					      length > 300 ? 300 : (int)length, at);
		else if (i == 14)
			n += (size_t)snprintf(asked + n, 4096 - n, " ...%u", words);
		at += length + 2;
	}
	line->n -= (size_t)(at - line->in);
	memmove(line->in, at, line->n);
	return true;
}

static const char *quiet[16];
static size_t quiet_n;

/* How this version is called, and what time it was when the test ran, are of no interest. */
static void print_asked(const char *name, char *asked)
{
	char *version = strstr(asked, " v ");

	if (version)
		version[3] = '\0';
	for (size_t i = 0; i < quiet_n; i++)
		if (!strncmp(asked, quiet[i], strlen(quiet[i])))
			return;
	emit("  %6lld %s: %s\n", (long long)(now - BEGINS), name, asked);
}

static bool serve(void)
{
	char asked[4096];
	bool any = false;

	for (int i = 0; i < LINES && !held; i++) {
		struct line *line = &lines[i];
		ssize_t n;

		any = flush_line(line) || any;
		while (line->fd &&
		       (n = recv(line->fd, line->in + line->n, sizeof(line->in) - line->n, MSG_DONTWAIT)) > 0) {
			line->n += (size_t)n;
			while (take_asked(line, asked)) {
				print_asked(line_names[i], asked);
				answer(line, asked);
			}
			any = true;
		}
	}
	return any;
}

/* --- The command --- */

static int command;
static char told[1 << 16];
static size_t told_n;

static void print_told(char *line)
{
	/* How far its clock is from this machine's own, which is a real one. */
	if (!strncmp(line, "clock\t", 6))
		memmove(line + 5, strrchr(line, '\t'), strlen(strrchr(line, '\t')) + 1);
	for (size_t i = 0; i < quiet_n; i++)
		if (!strncmp(line, quiet[i], strlen(quiet[i])))
			return;
	emit("  %6lld < %s\n", (long long)(now - BEGINS), line);
}

static bool hear_command(void)
{
	bool any = false;
	ssize_t n;
	char *end;

	while ((n = recv(command, told + told_n, sizeof(told) - told_n, MSG_DONTWAIT)) > 0) {
		told_n += (size_t)n;
		any = true;
		while ((end = memchr(told, '\n', told_n))) {
			size_t length = (size_t)(end - told) + 1;

			*end = '\0';
			print_told(told);
			told_n -= length;
			memmove(told, told + length, told_n);
		}
	}
	return any;
}

static void say(const char *text, unsigned long times)
{
	static char all[1 << 17];
	size_t n = 0;

	for (; times && n + strlen(text) < sizeof(all); times--) {
		for (const char *c = text; *c; c++)
			all[n++] = *c == ' ' ? '\t' : *c == '_' ? ' ' : *c;
		all[n++] = '\n';
	}
	CHECK(!times && send(command, all, n, MSG_NOSIGNAL) == (ssize_t)n, "'%s' is not taken", text);
}

static void say_many(char *text)
{
	char *words;
	unsigned long times = strtoul(text, &words, 10);

	say(words + 1, times);
}

/* --- Steps --- */

static void cut(void)
{
	for (int i = 0; i < LINES; i++) {
		if (lines[i].fd)
			close(lines[i].fd);
		free(lines[i].answers);
		free(lines[i].out);
		lines[i].answers = lines[i].out = NULL;
		lines[i].answers_n = lines[i].out_n = lines[i].n = 0;
		lines[i].fd = 0;
		lines[i].queued = -1;
	}
}

static void push(const char *text)
{
	char *all = NULL;
	size_t n = 0;

	put_answer(&all, &n, text);
	send_to(&lines[EAR], all, n);
	free(all);
}

static void add_rule(char *text, bool once)
{
	char *answer = strstr(text, ": ");

	if (!CHECK(answer && rules_n < RULES, "no rule: '%s'", text))
		return;
	*answer = '\0';
	rules[rules_n].words = text;
	rules[rules_n].answer = answer + 2;
	rules[rules_n++].once = once;
}

/* The next one, in one line. */
static char *next_step(void)
{
	char *text = steps, *end = steps, *from = steps;

	do {
		size_t length = strcspn(from, "\n"), mark = from > text;

		emit("%.*s\n", (int)length, from);
		memmove(end, from + mark, length - mark);
		end += length - mark;
		from += length + 1;
	} while (*from == '|');
	*end = '\0';
	steps = from;
	return text;
}

static void print_ahead(void)
{
	const struct follow *f = &wire->follow;

	for (size_t i = 0; i < f->n; i++)
		emit("  %6lld %s: %u steps, %llu lines\n", (long long)(now - BEGINS), f->members[i]->name,
		     f->members[i]->slots, (unsigned long long)f->members[i]->lines);
}

static void do_step(void)
{
	char *text = next_step();

	if (*text == '>')
		say(text + 2, 1);
	else if (!strncmp(text, "many ", 5))
		say_many(text + 5);
	else if (*text == '=')
		add_rule(text + 2, false);
	else if (*text == '1')
		add_rule(text + 2, true);
	else if (*text == '+')
		until = now + strtol(text + 2, NULL, 10);
	else if (!strncmp(text, "push ", 5))
		push(text + 5);
	else if (!strncmp(text, "quiet ", 6) && quiet_n < sizeof(quiet) / sizeof(*quiet))
		quiet[quiet_n++] = text + 6;
	else if (!strcmp(text, "ahead"))
		print_ahead();
	else if (!strcmp(text, "hold"))
		held = true;
	else if (!strcmp(text, "let"))
		held = false;
	else if (!strcmp(text, "interrupted"))
		wait_fails = EINTR;
	else if (!strcmp(text, "broken"))
		wait_fails = EBADF;
	else if (!strcmp(text, "cut"))
		cut();
	else if (!strcmp(text, "refuse"))
		refused = true;
	else if (!strcmp(text, "accept"))
		refused = false;
	else
		CHECK(false, "what is '%s'?", text);
}

int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length);
int __wrap_getpeername(int fd, struct sockaddr *to, socklen_t *length);
ssize_t __wrap_getrandom(void *to, size_t n, unsigned int flags);
void __wrap_follow_begin(struct wire *w);
void __real_follow_begin(struct wire *w);

/* Where it waits, the others have their turn; then time goes by, and then comes the next step. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int ready = __real_poll(fds, n, 0), most;

	if (ready || serve() || hear_command()) {
		turns++;
		CHECK(turns < FOR_EVER, "it goes on for ever");
		return turns < FOR_EVER ? ready : -1;
	}
	if (until > now) {
		most = until - now > 1 << 20 ? 1 << 20 : (int)(until - now);
		turns = timeout ? 0 : turns + 1;
		CHECK(turns < 100, "it waits for nothing");
		now += turns >= 100 || timeout < 0 || timeout > most ? most : timeout;
		return 0;
	}
	turns = 0;
	if (*steps)
		do_step();
	else
		shutdown(command, SHUT_RDWR);
	errno = wait_fails;
	wait_fails = 0;
	return errno ? -1 : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, t);
	*t = (struct timespec){ now / 1000, now % 1000 * 1000000 };
	return 0;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	int pair[2], i = fd == wire->talk.fd ? TALK : fd == wire->ear.fd ? EAR : OTHER;

	(void)to;
	(void)length;
	emit("  %6lld %s: %s\n", (long long)(now - BEGINS), line_names[i], refused ? "refused" : "connected");
	errno = ECONNREFUSED;
	if (refused || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	dup2(pair[0], fd);
	close(pair[0]);
	if (lines[i].fd)
		close(lines[i].fd);
	lines[i].fd = pair[1];
	lines[i].n = lines[i].out_n = 0;
	lines[i].queued = -1;
	return 0;
}

int __wrap_getpeername(int fd, struct sockaddr *to, socklen_t *length)
{
	struct sockaddr_in *at = (struct sockaddr_in *)to;

	(void)length;
	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr = { htonl(fd == wire->talk.fd ? 0xc0000201 : 0xc0000202) } };
	return 0;
}

/* Of what is at random, always the least. */
ssize_t __wrap_getrandom(void *to, size_t n, unsigned int flags)
{
	(void)flags;
	memset(to, 0, n);
	return (ssize_t)n;
}

void __wrap_follow_begin(struct wire *w)
{
	wire = w;
	__real_follow_begin(w);
}

#define KEPT 64

static struct wire *kept[KEPT]; /* what the process would give back by ending */
static size_t kept_n;

/* What stands between two heads: with what is answered, or without. */
static void copy_lines(char *to, const char *from, bool steps_only)
{
	while (*from && strncmp(from, "== ", 3) != 0) {
		size_t length = strcspn(from, "\n") + 1;

		if (*from != ' ' || !steps_only) {
			memcpy(to, from, length);
			to += length;
		}
		from += length;
	}
	*to = '\0';
}

static void dialog(const char *name, const char *read)
{
	struct fleet_request request = { .name = "me", .prefix = "p:", .url = "redis://192.0.2.1:6379", .pace = 50 };
	int pair[2], in = dup(0);

	snprintf(request.read, sizeof(request.read), "%s", read);
	if (!CHECK(in >= 0 && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return;
	dup2(pair[0], 0);
	close(pair[0]);
	command = pair[1];
	now = until = BEGINS;
	held = refused = false;
	told_n = rules_n = quiet_n = turns = 0;
	cut();
	shows_begin(&shows);
	wire_run(&request);
	emit("%s", "");
	shows_as(&shows, name);
	server_close(&wire->talk);
	server_close(&wire->ear);
	server_close(&wire->other);
	kept[kept_n++ % KEPT] = wire;
	cut();
	close(command);
	dup2(in, 0);
	close(in);
}

static void word_for_word(void)
{
	static char expected[1 << 17], todo[1 << 17];
	struct shown shown = { .text = expected };

	shows.known = &shown;
	shows.n = 1;
	for (const char *at = known_text; (at = strstr(at, "== "));) {
		char head[100], *read;

		at += 3;
		snprintf(head, sizeof(head), "%.*s", (int)strcspn(at, "\n"), at);
		at += strcspn(at, "\n") + 1;
		shown.name = head;
		copy_lines(expected, at, false);
		copy_lines(todo, at, true);
		steps = todo;
		read = strstr(head, " redis://");
		dialog(head, read ? read + 1 : "");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
