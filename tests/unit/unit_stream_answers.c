// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the writer of lines is told: nothing that is refused is said behind what is acknowledged after it, and nothing
 * is forgotten where nobody reads.
 */
#include "made_stream.h"

/* How much one of the answers says of; *ok: what it acknowledges. */
static unsigned long long answer(const char *line, bool json, unsigned long long *ok, unsigned long long *no)
{
	unsigned long long more = 0;

	*ok = *no = 0;
	if (sscanf(line, json ? "{\"ok\":%llu}" : "ok %llu", ok) == 1)
		return 0;
	if (sscanf(line, json ? "{\"unsaid\":%llu}" : "no more %llu", &more) == 1)
		return more;
	CHECK(sscanf(line, json ? "{\"refused\":%llu,\"why\":\"it? is" : "no %llu it? is", no) == 1, "'%s'",
	      line ?: "its end");
	return 1;
}

/* Refused and acknowledged in their order, with a reader that now and then reads nothing for long. */
static void answers(void)
{
	static char text[1 << 20], more[20000];

	for (int json = 0; json < 2 && !ktap_failed; json++) {
		unsigned long long number = 0, refused = 0, said = 0, ok, no, last_ok = 0, last_no = 0,
				   acknowledged = 0;
		struct stream s;
		bool reads = false, unsaid = false;

		text[0] = '\0';
		if (!shared(&s, json))
			return;
		for (int step = 0; step < 4000; step++) {
			if (step > 2000 && ktap_random() % 100 == 0)
				reads = !reads;
			number++;
			if (ktap_random() % 3) {
				stream_refuse(&s, number, NULL, "it\x1b is wrong");
				refused++;
			} else {
				stream_acknowledge(&s, number);
				acknowledged = number;
			}
			unsaid = unsaid || s.unsaid;
			CHECK(s.answer_n <= 8 << 10, "%zu bytes of answers", s.answer_n);
			if (reads && heard(more, sizeof(more)))
				strcat(text, more);
		}
		while (stream_tell(&s) && !ktap_failed)
			if (heard(more, sizeof(more)))
				strcat(text, more);
		heard(more, sizeof(more));
		strcat(text, more);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			said += answer(line, json, &ok, &no);
			CHECK((!no || (no > last_no && no > last_ok)) && (!ok || ok > last_ok),
			      "'%s' behind no %llu, ok %llu", line, last_no, last_ok);
			last_ok = ok ?: last_ok;
			last_no = no ?: last_no;
		}
		CHECK(said == refused && last_ok == acknowledged && s.bad_n == refused && unsaid,
		      "%llu of %llu refused; %llu of %llu acknowledged", said, refused, last_ok, acknowledged);
		close(other);
		stream_refuse(&s, 1, NULL, "it is wrong");
		stream_acknowledge(&s, number + 1);
		CHECK(!stream_tell(&s) && s.out == -1, "nobody is there, and something is due");
		stream_end(&s);
	}
}

/* In their order, and each once, wherever there is no room. */
static void no_room(void)
{
	for (unsigned int n = 0; n < 6; n++) {
		struct stream s;
		char text[200];
		size_t length = 0;

		if (!shared(&s, false))
			return;
		sends_until = n;
		stream_refuse(&s, 5, NULL, "it is wrong");
		s.unsaid = 3;
		stream_refuse(&s, 8, NULL, "it is not");
		stream_acknowledge(&s, 9);
		for (int i = 0; i < 5; i++) {
			length += heard(text + length, sizeof(text) - length);
			stream_tell(&s);
		}
		CHECK(s.told == 9 && !s.answer_n, "told %llu", s.told);
		CHECK(!strcmp(text, "no 5 it is wrong\nno more 3\nno 8 it is not\nok 9\n"),
		      "without room for the %u.: '%s'", n, text);
		sends_until = 0;
		close(other);
		stream_end(&s);
	}
}

/* Where nobody reads, so many are kept, and of the rest how many they were. */
static void kept_answers(void)
{
	size_t kept = 0, n = 0;
	struct stream s;

	if (!shared(&s, false))
		return;
	no_sends = true;
	for (unsigned int i = 100; i < 900; i++) {
		if (kept + 2 * 512 <= 8192) {
			kept += strlen("no 100 it is wrong\n");
			n++;
		}
		stream_refuse(&s, i, NULL, "it is wrong");
	}
	CHECK(s.answer_n == kept && s.unsaid == 800 - n, "%zu bytes, not %zu; %llu more", s.answer_n, kept, s.unsaid);
	no_sends = false;
	close(other);
	stream_end(&s);
}

/* Until the next word is said: that nobody reads, or how many lines more were bad. */
static void next_word(void)
{
	static const struct {
		int64_t stalled;
		bool said;
		unsigned int more;
		int64_t since;
		int until;
	} cases[] = {
		{ 0, false, 0, 0, -1 },		 { 50000, false, 0, 0, 10000 },	  { 50000, true, 0, 0, -1 },
		{ 40001, false, 0, 0, 1 },	 { 40000, false, 0, 0, 0 },	  { 30000, false, 0, 0, 0 },
		{ 0, false, 1, 50000, 1000 },	 { 0, false, 1, 49001, 1 },	  { 0, false, 1, 49000, 0 },
		{ 40100, false, 7, 49200, 100 }, { 40300, false, 7, 49200, 200 }, { 40100, true, 7, 49200, 200 },
	};

	now_given = 50000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream s = { .stalled = cases[i].stalled,
				    .stall_said = cases[i].said,
				    .bad = { .more = cases[i].more, .since = cases[i].since } };

		CHECK(until_word(&s) == cases[i].until, "case %zu: %d", i, until_word(&s));
	}
	now_given = 0;
}

static void answers_as_json(void)
{
	static char text[ANSWER_MOST], line[ANSWER_MOST];

	CHECK(!json_line(line, NULL), "nothing is a line");
	/* {"a":""}, and its end. */
	for (size_t n = ANSWER_MOST - 11; n < ANSWER_MOST - 7; n++) {
		size_t fits = n + 9 <= ANSWER_MOST ? n + 9 : 0, is;

		memset(text, 'x', n);
		text[n] = '\0';
		is = json_line(line, json_pack("{s:s}", "a", text));
		CHECK(is == fits && (!fits || line[fits - 1] == '\n'), "of %zu bytes %zu, not %zu", n, is, fits);
	}
}

static void broken(void)
{
	struct stream s = {
		.name = "name", .in = open(directory, O_RDONLY | O_CLOEXEC), .room = 100, .text = malloc(101)
	};
	int ends[2];

	NEEDED(s.in >= 0 && s.text && !pipe(ends));
	close(ends[0]);
	s.out = ends[1];
	signal(SIGPIPE, SIG_IGN);
	hush();
	CHECK(!stream_read(&s) && s.ended, "a directory has lines");
	stream_acknowledge(&s, 7);
	CHECK(s.out == -1 && s.due == 7 && !s.told && is_open(ends[1]), "it is told");
	stream_acknowledge(&s, 8);
	CHECK(!stream_tell(&s), "something is due still");
	said_is("xdp-bloom: name: Is a directory\n"
		"xdp-bloom: name: what is in force cannot be acknowledged any more: Broken pipe; lines are taken as before\n");
	CHECK(!closed(&s), "a status");
	close(ends[1]);
	/* Over a socket its end is what its writer sees. */
	NEEDED((s.in = open(directory, O_RDONLY | O_CLOEXEC)) >= 0);
	for (int i = 0; i < 2; i++) {
		s = (struct stream){ .name = "name", .in = s.in, .out = -1, .room = 100, .text = malloc(101) };
		reads_fail = i ? EAGAIN : EINTR;
		CHECK(!stream_read(&s) && !s.ended && !reads_fail, "it has ended");
		free(s.text);
	}
	s = (struct stream){ .name = "name", .in = s.in, .out = -1, .shared = true, .room = 100, .text = malloc(101) };
	hush();
	CHECK(!stream_read(&s) && s.ended, "a directory has lines");
	said_is("");
	stream_end(&s);
}

/* What it waits for and what it says comes in by one pipe: it has a line once it has said one. */
static void stalled(void)
{
	static char text[1 << 17];
	int ends[2], own[2], was = dup(STDERR_FILENO);
	struct stream s = deaf(ends);
	int64_t before = clock_ms();
	size_t length;
	char *line;

	NEEDED(!pipe2(own, O_NONBLOCK | O_CLOEXEC));
	s.in = own[0];
	stream_acknowledge(&s, 9);
	CHECK(s.stalled >= before && s.stalled <= clock_ms() && stream_tell(&s), "it does not stall");
	s.stalled -= 10000;
	dup2(own[1], STDERR_FILENO);
	line = next_line(&s, &length);
	CHECK(line && !strcmp(line,
			      "xdp-bloom: name: nobody has read for 10 s what is acknowledged, up to line 9; lines"
			      " are taken as before"),
	      "'%s'", line ?: "its end");
	CHECK(s.stall_said && s.stalled, "it is not known that it was said");
	/* Once; then what else there is to say, when it is time. */
	s.bad.more = 5;
	s.bad.last = 30;
	s.bad.since = clock_ms() - 1000;
	line = next_line(&s, &length);
	CHECK(line && !strcmp(line, "xdp-bloom: name: and 5 more lines up to line 30 were not taken"), "'%s'",
	      line ?: "its end");
	CHECK(!s.bad.more, "%llu more", s.bad.more);
	dup2(was, STDERR_FILENO);
	close(was);
	drain(ends[0], text, sizeof(text));
	CHECK(!stream_tell(&s) && s.told == 9 && !s.stalled && !s.stall_said, "told %llu", s.told);
	drain(ends[0], text, sizeof(text));
	CHECK(!strcmp(text, "ok 9\n"), "'%s'", text);
	closed(&s);
	close(own[1]);
	close(ends[0]);
	close(ends[1]);
}

/* At its end it waits for who reads late. */
static void reads_late(void)
{
	int ends[2];
	struct stream s = deaf(ends);
	char text[100];

	stream_acknowledge(&s, 12);
	drained = ends[0];
	waits = 0;
	hush();
	CHECK(!closed(&s) && waits == 1 && waits_for == -1 && s.told == 12, "told %llu, waited %u times", s.told,
	      waits);
	CHECK(waits_s >= 8 && waits_s <= 10, "for %lld s", (long long)waits_s);
	said_is("");
	drained = -1;
	drain(ends[0], text, sizeof(text));
	CHECK(!strcmp(text, "ok 12\n"), "'%s'", text);
	close(ends[0]);
	close(ends[1]);
}

static void how_long_it_waits(void)
{
	static const struct {
		int milliseconds;
		bool reads, due;
		const char *is;
	} cases[] = {
		{ -1, true, false, "5 -1, -1.000000000 s" },  { 0, true, false, "5 -1, 0.000000000 s" },
		{ 1, true, false, "5 -1, 0.001000000 s" },    { 999, true, true, "5 6, 0.999000000 s" },
		{ 1000, false, true, "-1 6, 1.000000000 s" }, { 12345, false, true, "-1 6, 12.345000000 s" },
	};

	does_not_wait = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream s = { .in = 5, .out = 6, .due = cases[i].due };

		wait_for(&s, cases[i].reads, cases[i].milliseconds);
		CHECK(!strcmp(waited_for, cases[i].is), "case %zu: '%s'", i, waited_for);
	}
	does_not_wait = false;
}

static int reader, writer;

/* There is room again, and a line. */
static void reads_and_writes(void)
{
	static char text[1 << 17];

	drain(reader, text, sizeof(text));
	NEEDED(write(writer, "line\n", 5) == 5);
	on_wait = NULL;
}

/* While it waits for lines, too, what is due is told; and more bad ones not before it is time. */
static void tells_meanwhile(void)
{
	int ends[2], own[2];
	struct stream s = deaf(ends);

	NEEDED(!pipe2(own, O_NONBLOCK | O_CLOEXEC));
	s.in = own[0];
	reader = ends[0];
	writer = own[1];
	on_wait = reads_and_writes;
	now_given = 50000;
	stream_acknowledge(&s, 9);
	s.bad.more = 2;
	s.bad.last = 7;
	s.bad.since = 49001;
	hush();
	stream_wait(&s);
	said_is("");
	CHECK(s.told == 9 && s.bad.more == 2 && !on_wait, "told %llu, %llu bad", s.told, s.bad.more);
	/* At its end it is time. */
	hush();
	closed(&s);
	said_is("xdp-bloom: name: and 2 more lines up to line 7 were not taken\n");
	now_given = 0;
	close(own[1]);
	close(ends[0]);
	close(ends[1]);
}

/* Of many bad lines a second only some are said, and how many more there were. */
static void many_bad(void)
{
	int was = dup(STDERR_FILENO), fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static char text[20000];
	struct stream s = { .name = "name", .in = -1, .out = -1 };
	size_t n = 0;
	ssize_t got;

	dup2(fd, STDERR_FILENO);
	s.bad.since = INT64_MAX / 2; /* now, for ever */
	for (unsigned int i = 1; i <= 25; i++)
		stream_refuse(&s, i, i == 20 ? "a line\nand what is behind it" : NULL, "bad");
	s.bad.since = clock_ms() - 1000;
	now_given = clock_ms();
	stream_refuse(&s, 26, NULL, "bad");
	/* As long as it is the same second, more are not said. */
	s.bad.said = 20;
	now_given += 999;
	stream_refuse(&s, 27, NULL, "bad");
	CHECK(s.bad.more == 1 && s.bad.last == 27, "%llu more", s.bad.more);
	s.bad.more = 0;
	s.bad.said = 1;
	now_given -= 999;
	s.bad_n--;
	CHECK(s.bad.since == now_given, "since %lld", (long long)s.bad.since);
	now_given = 0;
	dup2(was, STDERR_FILENO);
	close(was);
	got = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	unlink(file);
	text[got > 0 ? got : 0] = '\0';
	for (const char *c = text; (c = strstr(c, ": bad\n")); c++)
		n++;
	CHECK(n == 21 && strstr(text, "name:1: bad\n") && strstr(text, "name:20: 'a line") && !strstr(text, "name:21"),
	      "%zu of them are said: %s", n, text);
	CHECK(strstr(text, "name: and 5 more lines up to line 25 were not taken\n") && strstr(text, "name:26: bad\n"),
	      "%s", text);
	CHECK(s.bad_n == 26 && s.bad.said == 1 && !s.bad.more, "%llu bad", s.bad_n);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "answers", answers },
		{ "many_bad", many_bad },
		{ "broken", broken },
		{ "stalled", stalled },
		{ "read late", reads_late },
		{ "answers as JSON", answers_as_json },
		{ "no room", no_room },
		{ "answers that are kept", kept_answers },
		{ "the next word", next_word },
		{ "how long it waits", how_long_it_waits },
		{ "what is told meanwhile", tells_meanwhile },
	};

	return stream_run(cases, sizeof(cases) / sizeof(*cases));
}
