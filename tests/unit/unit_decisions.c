// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CrowdSec agent's answers come to: read, and put together over time, against a naive agent that knows which
 * of its decisions are in force. An answer that has too little never lets anybody go by itself.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "feeds/decisions.h"
#include "ktap.h"

enum { PREFIXES = 12, MOST = 4096, ROUNDS = 12, STEPS = 40, NEAR = 3 };

#define NOW 1000000

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static int read_text(struct decision_changes *c, const char *text, int64_t now)
{
	int fd = file_of(text, strlen(text)), err = decisions_read(c, fd, now);

	close(fd);
	return err;
}

/* --- Reading ------------------------------------------------------------------------------------------------------ */

#define ONE(id, scope, value, duration, type)                                                      \
	"{\"id\":" #id ",\"scope\":\"" scope "\",\"value\":\"" value "\",\"duration\":\"" duration \
	"\",\"type\":\"" type "\",\"origin\":\"cscli\",\"scenario\":\"test/ssh\"}"
#define NEW(one) "{\"new\":[" one "],\"deleted\":null}"

static void reads(void)
{
	static const struct {
		const char *text;
		int err; /* 1: another kind of decision */
		int64_t lasts;
		unsigned int length;
	} answers[] = {
		{ NEW(ONE(7, "Ip", "192.0.2.1", "3h59m57.5s", "ban")), 0, 14397, 32 },
		{ NEW(ONE(7, "ip", "192.0.2.1", "1m", "Ban")), 0, 60, 32 },
		{ NEW(ONE(7, "Range", "192.0.2.0/24", "90s", "ban")), 0, 90, 24 },
		{ NEW(ONE(7, "Range", "2001:db8::/48", "2s500ms", "ban")), 0, 2, 48 },
		{ NEW(ONE(7, "Ip", "2001:db8::1", "1500000µs", "ban")), 0, 1, 128 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "-1h2m3s", "ban")), 0, -3723, 32 },
		{ NEW(ONE(7, "Country", "FR", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "As", "64500", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "1h", "captcha")), 1, 0, 0 },
		{ NEW(ONE(7, "Ip", "nonsense", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Range", "192.0.2.0/33", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "User-Agent", "", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Username", "a\\u0000", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Username", "]}\\\\\\\"]}],", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1\\u0000", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Range", "192.0.2.1", "1h", "ban")), 0, 3600, 32 },
		{ NEW(ONE(7, "Ip", "192.0.2.1/32", "1h", "ban")), 0, 3600, 32 },
		{ NEW(ONE(7, "Ip", "192.0.2.0/24", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "ip", "192.0.2.0/31", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Ip", "2001:db8::/48", "1h", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "", "ban")), -1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "-", "ban")), -1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "1", "ban")), -1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "1y", "ban")), -1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "nan", "ban")), -1, 0, 0 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "9e99h", "ban")), 0, 6000000000, 32 },
		{ NEW(ONE(7, "Ip", "192.0.2.1", "-9e99h", "ban")), 0, -6000000000, 32 },
		{ NEW(ONE(7, "Country", "FR", "soon", "ban")), 1, 0, 0 },
		{ NEW(ONE(7, "", "192.0.2.1", "1h", "ban")), -1, 0, 0 },
		{ NEW("7"), -1, 0, 0 },
		{ "{\"new\":7,\"deleted\":null}", -1, 0, 0 },
		{ "{\"new\":[]}", -1, 0, 0 },
		{ "{\"message\":\"access forbidden\"}", -1, 0, 0 },
		{ "[]", -1, 0, 0 },
		{ "", -1, 0, 0 },
		{ "null", -1, 0, 0 },
		{ "<html>", -1, 0, 0 },
		{ " {\t\"deleted\" : null , \"\\u006eew\":\r\n[ " ONE(
			  7, "Ip", "192.0.2.1", "1h",
			  "ban") " ] , \"links\": {\"new\":[7,{}]}, \"n\": -1.5e3, \"more\": \"}\" }\n",
		  0, 3600, 32 },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct decision_changes c;
		int err = read_text(&c, answers[i].text, NOW), wanted = answers[i].err;

		if (!CHECK((err < 0) == (wanted < 0), "%s: %s", answers[i].text, err ? reason(err) : "no error"))
			return;
		if (err)
			continue;
		CHECK(c.others == (wanted == 1) && c.added.n == !wanted && !c.deleted.n, "%s: %zu, %zu others",
		      answers[i].text, c.added.n, c.others);
		if (!wanted)
			CHECK(c.added.at[0].id == 7 && c.added.at[0].end == NOW + answers[i].lasts &&
				      c.added.at[0].prefix.length == answers[i].length &&
				      !strcmp(c.added.at[0].reason, "crowdsec cscli test/ssh"),
			      "%s: ends %lld, '%s'", answers[i].text, (long long)c.added.at[0].end - NOW,
			      c.added.at[0].reason);
		changes_free(&c);
	}
}

/* Damage of the document around its decisions, which no library reads as a whole. */
static void refuses(void)
{
	static const char *const answers[] = {
		"{\"new\":[],\"deleted\":[],\"deleted\":null}",
		"{\"new\":[],\"new\":[],\"deleted\":[]}",
		"{\"new\":[],\"deleted\":[]}{",
		"{\"new\":[],\"deleted\":[]",
		"{\"new\":[]\"deleted\":[]}",
		"{\"new\":[],\"deleted\":[],}",
		"{\"new\"[],\"deleted\":[]}",
		"{\"new\",\"deleted\":[]}",
		"{7:[],\"new\":[],\"deleted\":[]}",
		"{\"deleted\":[],[]:7,\"new\":[]}",
		"{}",
		"{",
		"{\"new\":[",
		"{\"new\":[],\"deleted\":",
		"{\"new\":[],\"deleted\":[],\"\\",
		"{\"new\":[\"",
		"{\"new\":[{\"id\":7],\"deleted\":[]}",
		"{\"new\":[7}],\"deleted\":[]}",
		"{\"new\":[],\"deleted\":[],\"more\":}",
		"{\"new\":[,7],\"deleted\":[]}",
		NEW(ONE(7, "Ip", "192.0.2.1", "1h", "ban") ","),
		NEW(ONE(7, "Ip", "192.0.2.1", "1h", "ban") " 7"),
		NEW("{\"id\":7,\"id\":7,\"scope\":\"As\",\"value\":\"1\",\"duration\":\"1h\"}"),
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct decision_changes c;
		int err = read_text(&c, answers[i], NOW);

		CHECK(err < 0 && *reason(err), "%s is taken", answers[i]);
		if (!err)
			changes_free(&c);
	}
}

static void cannot_be_read(void)
{
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct decision_changes c;

	err = decisions_read(&c, -1, NOW);
	CHECK(err_is(err, EBADF) && !strcmp(reason(err), "the answer cannot be read: Bad file descriptor"), "%s",
	      reason(err));
	err = decisions_read(&c, directory, NOW);
	CHECK(err_is(err, EISDIR) && !strcmp(reason(err), "the answer cannot be read: Is a directory"), "%s",
	      reason(err));
	close(directory);
}

/* --- The naive agent ---------------------------------------------------------------------------------------------- */

struct told {
	int prefix;
	int64_t end; /* becomes now where it is deleted */
	int64_t made, deleted;
};

static struct told told[MOST];
static size_t told_n;
static int64_t in_force[PREFIXES]; /* until when, by the orders; 0: no ban */
static bool mine[PREFIXES];	   /* another's ban stands there */
static char text[1 << 20];

static const char *prefix_of(int i)
{
	static char words[64];

	if (i % 3 == 2)
		snprintf(words, sizeof(words), "2001:db8:%x::/%d", i, i % 2 ? 48 : 64);
	else
		snprintf(words, sizeof(words), "198.51.%d.0/%d", i, i % 2 ? 24 : 32);
	return words;
}

static size_t write_one(size_t at, const char *before, size_t id, int64_t now)
{
	const struct told *t = &told[id];
	long long left = t->end - now;
	const char *sign = left < 0 ? "-" : "";

	left = llabs(left);
	return at + (size_t)snprintf(
			    text + at, sizeof(text) - at,
			    "%s{\"id\":%zu,\"scope\":\"Range\",\"value\":\"%s\",\"duration\":\"%s%lldh%lldm%lld.25s\","
			    "\"type\":\"ban\",\"origin\":\"CAPI\",\"scenario\":\"s\"}",
			    before, id + 1, prefix_of(t->prefix), sign, left / 3600, left / 60 % 60, left % 60);
}

/* since < 0: all. Of ten new ones it forgets `forgets`, and then all that are deleted. */
static void answer(struct decision_changes *c, int64_t since, int64_t now, unsigned int forgets)
{
	const char *comma = "";
	size_t at = (size_t)snprintf(text, sizeof(text), "{\"new\":[");
	int err;

	for (size_t i = 0; i < told_n; i++)
		if (told[i].end > now && told[i].made > since && ktap_random() % 10 >= forgets) {
			at = write_one(at, comma, i, now);
			comma = ",";
		}
	at += (size_t)snprintf(text + at, sizeof(text) - at, "],\"deleted\":[");
	comma = "";
	for (size_t i = 0; i < told_n && !forgets; i++)
		if (told[i].end <= now && told[i].end > since - 2) {
			at = write_one(at, comma, i, now);
			comma = ",";
		}
	snprintf(text + at, sizeof(text) - at, "]}");
	err = read_text(c, text, now);
	if (err) {
		CHECK(false, "%s", reason(err));
		abort();
	}
}

static int64_t should(int prefix, int64_t now)
{
	int64_t end = 0;

	for (size_t i = 0; i < told_n; i++)
		if (told[i].prefix == prefix && told[i].end > now && told[i].end > end)
			end = told[i].end;
	return end;
}

static int number_of(const struct prefix *p)
{
	char words[PREFIX_TEXT_MAX];

	prefix_text(words, p->first, (int)p->length);
	for (int i = 0; i < PREFIXES; i++)
		if (!strncmp(words, prefix_of(i), strcspn(prefix_of(i), "/")))
			return i;
	abort();
}

/* What the state and the kernel do with them. */
static void obey(struct decisions *all, struct decisions *after, int64_t now)
{
	struct ban_order *orders;
	size_t n;

	if (decisions_orders(all, after, now, true, &orders, &n))
		abort();
	for (size_t i = 0; i < n; i++) {
		int p = number_of(&orders[i].prefix);

		orders[i].missed = mine[p] || (orders[i].del && !in_force[p]);
		if (!mine[p])
			in_force[p] = orders[i].del ? 0 : now + (int64_t)orders[i].ttl;
	}
	decisions_missed(after, orders, n);
	free(orders);
	decisions_free(all);
	*all = *after;
}

static void decides(int64_t now)
{
	for (unsigned int i = (unsigned int)(ktap_random() % 4); i && told_n < MOST; i--)
		told[told_n++] = (struct told){ .prefix = (int)(ktap_random() % PREFIXES),
						.end = now + 1 + (int64_t)(ktap_random() % 300),
						.made = now };
	for (unsigned int i = (unsigned int)(ktap_random() % 2); i && told_n; i--) {
		struct told *t = &told[ktap_random() % told_n];

		if (t->end > now)
			t->end = now;
	}
}

static bool right(int64_t now, const char *after)
{
	for (int p = 0; p < PREFIXES; p++) {
		int64_t end = should(p, now), is = in_force[p] > now ? in_force[p] : 0;

		if (!mine[p] && llabs(end - is) > NEAR && end > now + NEAR &&
		    !CHECK(false, "after %s: %s ends in %lld s, and should in %lld", after, prefix_of(p),
			   is ? (long long)(is - now) : 0, (long long)(end - now)))
			return false;
		if (!mine[p] && !end && is > now + NEAR && !CHECK(false, "after %s: %s is banned", after, prefix_of(p)))
			return false;
	}
	return true;
}

/* Nobody goes who was there and has a decision. */
static bool stays(const int64_t before[PREFIXES], int64_t now)
{
	for (int p = 0; p < PREFIXES; p++) {
		int64_t end = should(p, now), had = before[p] < end ? before[p] : end;

		if (!mine[p] && had > now + NEAR &&
		    !CHECK(in_force[p] >= had - NEAR, "%s was let go: ends in %lld s, and should in %lld", prefix_of(p),
			   in_force[p] ? (long long)(in_force[p] - now) : 0, (long long)(end - now)))
			return false;
	}
	return true;
}

static bool take_whole(struct decisions *all, int64_t now, unsigned int forgets)
{
	int64_t before[PREFIXES];
	struct decision_changes c;
	struct decisions after;
	size_t lacks;

	memcpy(before, in_force, sizeof(before));
	answer(&c, -1, now, forgets);
	if (decisions_renew(&after, all, &c, now, &lacks))
		abort();
	obey(all, &after, now);
	changes_free(&c);
	return stays(before, now);
}

static bool take_delta(struct decisions *all, int64_t since, int64_t now)
{
	struct decision_changes c;
	struct decisions after;

	answer(&c, since, now, 0);
	if (decisions_merge(&after, all, &c, now))
		abort();
	obey(all, &after, now);
	changes_free(&c);
	return right(now, "changes");
}

static bool round_of(void)
{
	struct decisions all = { 0 };
	int64_t now = NOW, since = now - 1;
	bool good = true;
	int other;

	told_n = 0;
	memset(in_force, 0, sizeof(in_force));
	memset(mine, 0, sizeof(mine));
	for (int step = 0; step < STEPS && good; step++) {
		now += 1 + (int64_t)(ktap_random() % 20);
		decides(now);
		now++;
		switch (step ? ktap_random() % 5 : 0) {
		case 0: /* its database was emptied */
			for (size_t i = 0; i < told_n && step && ktap_random() % 4 == 0; i++)
				told[i].end = told[i].end > now ? 0 : told[i].end;
			good = take_whole(&all, now, 0) && take_whole(&all, now, 0) && right(now, "two whole answers");
			break;
		case 1: /* too little, for once */
			good = take_whole(&all, now, 1 + (unsigned int)(ktap_random() % 10)) &&
			       take_whole(&all, now, 0) && take_whole(&all, now, 0) &&
			       right(now, "one that has too little");
			break;
		case 2: /* another's ban comes where there is none, or goes, and the next question finds it */
			other = (int)(ktap_random() % PREFIXES);
			mine[other] = !mine[other] && in_force[other] <= now;
			good = take_whole(&all, now, 0) && take_whole(&all, now, 0) && right(now, "another's ban");
			break;
		default:
			good = take_delta(&all, since, now);
		}
		since = now;
	}
	decisions_free(&all);
	return good;
}

static void over_time(void)
{
	for (int round = 0; round < ROUNDS; round++)
		if (!round_of())
			return;
}

/* A ban that an earlier process left is there without its decisions: it goes only as others do. */
static void left_over(void)
{
	struct decisions all = { calloc(1, sizeof(*all.at)), 1 };

	told_n = 0;
	memset(mine, 0, sizeof(mine));
	memset(in_force, 0, sizeof(in_force));
	told[told_n++] = (struct told){ .prefix = 1, .end = NOW + 50, .made = NOW };
	told[told_n++] = (struct told){ .prefix = 1, .end = NOW + 500, .made = NOW };
	if (prefix_parse(prefix_of(1), strlen(prefix_of(1)), &all.at[0].prefix.first, &all.at[0].prefix.length))
		abort();
	all.at[0].end = in_force[1] = NOW + 500;
	told[1].made = NOW + 1000; /* not in the first answer */
	told[1].end = NOW - 1;
	{
		struct decision_changes c;
		struct decisions after;
		size_t lacks;

		answer(&c, -1, NOW, 0);
		decisions_free(&c.deleted);
		if (decisions_renew(&after, &all, &c, NOW, &lacks))
			abort();
		CHECK(lacks == 1, "%zu are lacking", lacks);
		obey(&all, &after, NOW);
		changes_free(&c);
	}
	CHECK(in_force[1] >= NOW + 500 - NEAR, "it ends in %lld s by one answer", (long long)in_force[1] - NOW);
	take_whole(&all, NOW, 0);
	CHECK(llabs(in_force[1] - NOW - 50) <= NEAR, "it ends in %lld s", (long long)in_force[1] - NOW);
	decisions_free(&all);
}

/* How often this process has asked the kernel for bytes of a file. */
static long long reads_so_far(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	long long n = -1;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "syscr: %lld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* A long answer is not asked for byte by byte: that took 25 of the 28 seconds of 100,000 decisions. */
static void at_once(void)
{
	enum { MANY = 20000 };
	size_t room = (size_t)MANY * 200, n = 0;
	char *answer = malloc(room);
	struct decision_changes c;
	long long before = reads_so_far();
	int fd, err;

	if (!answer)
		return ktap_skip("no memory on this machine");
	if (before < 0) {
		free(answer);
		return ktap_skip("this kernel does not count what is read");
	}
	n = (size_t)snprintf(answer, room, "{\"deleted\":null,\"new\":[");
	for (int i = 0; i < MANY; i++)
		n += (size_t)snprintf(
			answer + n, room - n,
			"%s{\"id\":%d,\"scope\":\"Ip\",\"value\":\"45.0.%d.%d\",\"duration\":\"3h\",\"type\":\"ban\"}",
			i ? "," : "", i + 1, i / 256, i % 256);
	n += (size_t)snprintf(answer + n, room - n, "]}");
	fd = file_of(answer, n);
	before = reads_so_far();
	err = decisions_read(&c, fd, NOW);
	CHECK(reads_so_far() - before < 100, "%lld times", reads_so_far() - before);
	CHECK(!err && c.added.n == MANY && !c.deleted.n, "%d", err);
	if (!err)
		changes_free(&c);
	close(fd);
	free(answer);
}

/* Both sides of each bound: when one is over, takes the place of one from before, or is a new end. */
static void bounds(void)
{
	static const struct {
		int64_t old_id, old, new_id, new; /* ends */
		size_t merged, orders;
	} known[] = {
		{ 0, NOW + 100, 7, NOW + 98, 1, 0 },
		{ 0, NOW + 100, 7, NOW + 97, 2, 0 },
		{ 0, NOW + 100, 7, NOW + 102, 1, 0 },
		{ 0, NOW + 100, 7, NOW + 103, 1, 1 },
		{ 5, NOW + 100, 7, NOW + 99, 2, 0 },
		{ 5, NOW + 100, 7, NOW + 102, 2, 0 },
		{ 5, NOW + 100, 7, NOW + 103, 2, 1 },
		{ 5, NOW + 100, 5, NOW + 97, 1, 1 },
		{ 5, NOW + 100, 5, NOW + 98, 1, 0 },
		{ 5, NOW + 100, 7, NOW, 1, 0 },
		{ 5, NOW + 1, 7, NOW + 1, 2, 0 },
		{ 5, NOW, 7, NOW + 1, 1, 0 },
		{ 5, NOW, 7, NOW, 0, 0 },
	};
	struct prefix prefix = { .first = { 0xc0000201, 4 }, .length = 32 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct decision old = { .prefix = prefix, .id = known[i].old_id, .end = known[i].old },
				new = { .prefix = prefix, .id = known[i].new_id, .end = known[i].new };
		struct decisions before = { &old, 1 }, after;
		struct decision_changes c = { .added = { &new, 1 } };
		struct ban_order *orders = NULL;
		size_t n = 0;
		int err = decisions_merge(&after, &before, &c, NOW)
				  ?: decisions_orders(&before, &after, NOW, false, &orders, &n);

		CHECK(!err && after.n == known[i].merged && n == known[i].orders, "%zu: %d, %zu decisions, %zu orders",
		      i, err, after.n, n);
		free(orders);
		decisions_free(&after);
	}
}

/* `before`, `each` so often with commas between, and `behind`: no buffer of the test's has it. */
static int file_of_many(const char *before, const char *each, size_t n, const char *behind)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		abort();
	fputs(before, file);
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%s%s", i ? "," : "", each);
	fputs(behind, file);
	if (fflush(file))
		abort();
	fd = dup(fileno(file));
	fclose(file);
	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static long most_memory(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss;
}

/* An answer takes little more memory than its bytes, whatever is in it: a tree of 2 MB took 165. */
static void bounded(void)
{
	static const char other[] = "{\"scope\":\"As\",\"value\":\"1\",\"duration\":\"1h\"}";
	static const struct {
		const char *before, *each;
		size_t n;
		const char *behind, *why; /* why: NULL: it is taken */
		size_t others, added;
	} answers[] = {
		{ "{\"deleted\":null,\"new\":[", other, 200000, "]}", NULL, 200000, 0 },
		{ "{\"deleted\":null,\"new\":[", "{}", 3000000, "]}", "without a scope", 0, 0 },
		{ "{\"deleted\":null,\"new\":[{\"scope\":[", "[]", 3000000, "]}]}", NULL, 1, 0 },
		{ "{\"deleted\":null,\"new\":[],\"more\":[", "1", 5000000, "]}", NULL, 0, 0 },
		/* As somebody's name: what is behind it is read. */
		{ "{\"deleted\":null,\"new\":[{\"scope\":\"Username\",\"duration\":\"4h\",\"value\":\"", "\\u003c",
		  3000000, "\"}," ONE(7, "Ip", "192.0.2.1", "1h", "ban") "]}", NULL, 1, 1 },
		{ "{\"deleted\":null,\"new\":[", other, 1000001, "]}", "more than 1000000", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		int fd = file_of_many(answers[i].before, answers[i].each, answers[i].n, answers[i].behind);
		long before = most_memory(), bytes = (long)lseek(fd, 0, SEEK_END) / 1024, more;
		struct decision_changes c;
		int err = decisions_read(&c, fd, NOW);

		close(fd);
		more = most_memory() - before;
		CHECK(answers[i].why ? err && strstr(reason(err), answers[i].why)
				     : !err && c.others == answers[i].others && c.added.n == answers[i].added,
		      "%zu: %s", i, err ? reason(err) : "it is taken");
		if (!err)
			changes_free(&c);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
		CHECK(more < bytes + 8192, "%zu: %ld KiB for %ld", i, more, bytes);
#endif
	}
}

static const struct ktap_case cases[] = {
	{ "bounded", bounded }, { "reads", reads },   { "refuses", refuses },	  { "cannot be read", cannot_be_read },
	{ "at once", at_once }, { "bounds", bounds }, { "over time", over_time }, { "left over", left_over },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
