// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list that comes from a server: what is asked, in which order and with which descriptors, what each failure says,
 * and what is no list, or none to believe; with servers, files and signatures that are made up. Word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/stdin.h"
#include "base/trusted_dir.h"
#include "change/feed.h"
#include "change/guard_rails.h"
#include "fetch/client.h"
#include "fetch/proxy.h"
#include "fetch/public_key.h"
#include "naive.h"
#include "sets/address.h"
#include "shown.h"
#include "state/feeds.h"

static const struct shown known[] = {
#include "unit_feed.txt"
};

static struct shows shows = { .file = "tests/unit/unit_feed.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define URL  "https://example.net/drop.txt"
#define DATE 1800000000

enum { HEADERS = 10, BODY, SIGNATURE, LIST, BESIDE, COPY }; /* descriptors */

static const char *failing; /* the step that does */
static int failing_with;
static int outcome;	  /* of the list */
static bool no_signature; /* the server has none */
static bool is_other, long_one;

__attribute__((format(printf, 1, 2))) static int step(const char *fmt, ...)
{
	char text[FETCH_URL_MAX + 200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("  %.200s\n", text);
	return failing && !strncmp(text, failing, strlen(failing)) ? because(failing_with, "no: %.100s", text) : 0;
}

static int given_ask(const struct fetch_request *r, int headers, struct fetch_answer *answer, int *body)
{
	size_t n = strcspn(r->url, "?#");
	bool signature = n > 8 && !strncmp(r->url + n - 8, ".minisig", 8);
	int err =
		step("ask %s%s%s, %llu bytes in %llu and %llu s, %llu in %llu s, headers %d, etag '%s', modified '%s', "
		     "proxy '%s'",
		     r->url, r->insecure ? ", insecure" : "", r->lan ? ", lan" : "", (unsigned long long)r->bytes,
		     (unsigned long long)r->connect, (unsigned long long)r->seconds, (unsigned long long)r->floor,
		     (unsigned long long)r->floor_seconds, headers, r->etag, r->modified, r->proxy);

	*answer = (struct fetch_answer){ .outcome = outcome, .why = "404 Not Found", .too_long = long_one };
	*body = -1;
	if (err)
		return err;
	if (signature ? !no_signature : outcome == FETCH_NEW)
		*body = signature ? SIGNATURE : BODY;
	return 0;
}

static int given_verify(const char *key, int list, int signature, struct fetch_answer *answer)
{
	int err = step("verify %d by %d, %s", list, signature, key);

	*answer = (struct fetch_answer){ .outcome = is_other ? FETCH_FAILED : FETCH_SIGNED,
					 .why = "signed by another key",
					 .comment = "weekly",
					 .signed_at = 7,
					 .version = 8 };
	return err;
}

static int given_keep(int from)
{
	return step("a copy of %d", from) ?: COPY;
}

static int given_key(char key[PUBLIC_KEY_MAX], const char *key_or_file)
{
	snprintf(key, PUBLIC_KEY_MAX, "the key in %s", key_or_file);
	return step("read the key in %s", key_or_file);
}

static int given_proxy(char proxy[FETCH_URL_MAX])
{
	snprintf(proxy, FETCH_URL_MAX, "http://proxy");
	return step("by which proxy?");
}

static int given_trusted(const char *path, const char *what)
{
	return step("open %s, as others could change %s", path, what) ?: HEADERS;
}

static int given_secret(int fd, const char *path)
{
	return step("is %d, %s, secret?", fd, path);
}

static int given_open(const char *path, int flags)
{
	int err = step("open %s%s", path, flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK) ? "" : ", otherwise");

	errno = ENOENT;
	return err ? -1 : BESIDE;
}

static int given_close(int fd)
{
	step("close %d", fd);
	return 0;
}

static void given_close_fd(int fd)
{
	if (fd >= 0)
		step("close %d", fd);
}

static off_t given_lseek(int fd, off_t to, int whence)
{
	step("%d begins again%s", fd, !to && whence == SEEK_SET ? "" : ", elsewhere");
	return 0;
}

#define fetch_ask	given_ask
#define fetch_verify	given_verify
#define standard_keep	given_keep
#define public_key_read given_key
#define proxy_read	given_proxy
#define open_trusted	given_trusted
#define trust_secret	given_secret
#define open		given_open
#define close		given_close
#define close_fd	given_close_fd
#define lseek		given_lseek
#define time(to)	DATE
#include "change/feed.c"
#undef close

static void begins(void)
{
	failing = NULL;
	failing_with = -EIO;
	outcome = FETCH_NEW;
	no_signature = is_other = long_one = false;
}

static int says(int err)
{
	printf("%s%.400s\n", err_is(err, GUARD_REFUSED) ? "refused: " : "",
	       err < 0 ? reason(err)
	       : err   ? "another"
		       : "done");
	return err;
}

static const struct feed_options all = { .header_file = "/etc/token", .key = "/etc/key" };

static void opens(const struct feed_options *o, const char *url, const struct feed *row)
{
	struct fetch_answer answer = { 0 };
	int fd = feed_open(o, url, 1000, row, &answer);

	if (fd < 0) {
		says(fd);
		return;
	}
	printf("%d%s, '%s', signed at %llu, version %llu\n", fd, answer.outcome == FETCH_NEW ? "" : ", another answer",
	       answer.comment, (unsigned long long)answer.signed_at, (unsigned long long)answer.version);
}

/* --- What happens --- */

static void words(void)
{
	static const char *const paths[] = { "https://a",   "http://a", "HTTPS://a", "Http://a", "https:/a", "ftp://a",
					     "a/https://a", "http:a",	"http:/a",   "",	 "https//a" };
	struct feed_options o = { 0 };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		printf("'%s' %d\n", paths[i], feed_is_url(paths[i]));
	printf("%s\n", feed_option(&o) ?: "none");
	o.key = "key";
	o.usual = 1;
	o.again = true;
	printf("%s\n", feed_option(&o) ?: "none");
	o.then = 1;
	printf("%s\n", feed_option(&o));
	o.max_age.given = true;
	printf("%s\n", feed_option(&o));
	o.every.given = true;
	printf("%s\n", feed_option(&o));
	o.header_file = "file";
	printf("%s\n", feed_option(&o));
	o.lan = true;
	printf("%s\n", feed_option(&o));
	o.insecure = true;
	printf("%s\n", feed_option(&o));
}

static const char *long_url(char url[FETCH_URL_MAX], size_t length)
{
	memset(url, 'a', length);
	memcpy(url, "https://a/", 10);
	url[length] = '\0';
	return url;
}

static void beside(void)
{
	static const char *const urls[] = { URL, URL "?token=1", URL "#a?b", URL "?a#b", "" };
	char to[FETCH_URL_MAX], url[FETCH_URL_MAX];

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		printf("%d %s\n", feed_url_beside(to, urls[i], ".delta-", "abc"), to);
	for (size_t n = FETCH_URL_MAX - 12; n < FETCH_URL_MAX - 9; n++) {
		bool is = feed_url_beside(to, long_url(url, n), ".delta-", "abc");

		printf("%zu: %d, of %zu\n", n, is, strlen(to));
	}
}

static void asked(void)
{
	struct feed row = { .etag = "tag", .modified = "then" };
	struct feed_options o = { 0 };

	opens(&o, URL, NULL);
	opens(&o, URL, &row);
	o.insecure = true;
	opens(&o, "http://example.net/", NULL);
	o.lan = true;
	opens(&o, URL, NULL);
	o = (struct feed_options){ .key = "/etc/key" };
	opens(&o, "http://example.net/drop.txt?a=1", &row);
	opens(&all, URL, &row);
	/* A password goes nowhere by http, signed or not. */
	opens(&all, "http://example.net/", NULL);
	o = all;
	o.insecure = true;
	opens(&o, "http://example.net/", NULL);
	o = (struct feed_options){ 0 };
	opens(&o, "http://example.net/", NULL);
	opens(&o, "ftp://example.net/", NULL);
}

static void answered(void)
{
	for (outcome = FETCH_FAILED; outcome <= FETCH_SAME; outcome++)
		opens(&all, URL, NULL);
	outcome = FETCH_FAILED;
	long_one = true;
	opens(&all, URL, NULL);
	begins();
	no_signature = true;
	opens(&all, URL, NULL);
	begins();
	is_other = true;
	opens(&all, URL, NULL);
}

static void each_fails(void)
{
	static const char *const each[] = {
		"read the key", "by which", "open", "is 10", "ask " URL ",", "a copy", "ask " URL ".minisig", "verify"
	};
	char url[FETCH_URL_MAX];

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		failing = each[i];
		opens(&all, URL, NULL);
	}
	begins();
	opens(&all, long_url(url, FETCH_URL_MAX - 9), NULL);
	opens(&all, long_url(url, FETCH_URL_MAX - 8), NULL);
}

static void file(void)
{
	static const char *const each[] = { "nothing", "read the key", "open", "verify" };
	struct fetch_answer answer;
	char path[PATH_MAX + 1];

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		failing = each[i];
		answer = (struct fetch_answer){ .version = 3, .url = "before" };
		says(feed_check_file("/etc/key", "lists/drop.txt", LIST, &answer));
		printf("'%s', signed at %llu, version %llu, url '%s'\n", answer.comment,
		       (unsigned long long)answer.signed_at, (unsigned long long)answer.version, answer.url);
	}
	begins();
	is_other = true;
	says(feed_check_file("/etc/key", "lists/drop.txt", LIST, &answer));
	is_other = false;
	for (size_t n = PATH_MAX - 9; n < PATH_MAX - 7; n++) {
		memset(path, 'a', n);
		path[n] = '\0';
		says(feed_check_file("/etc/key", path, LIST, &answer));
	}
}

static void fresh(void)
{
	static const struct {
		uint64_t signed_at, version, before;
	} each[] = { { 0, 0, 0 },
		     { 0, 0, 1 },
		     { 0, 5, 5 },
		     { 0, 5, 6 },
		     { 0, 5, 4 },
		     { 100, 5, 100 },
		     { 100, 5, 101 },
		     { 100, 5, 99 },
		     { DATE + 86400, 0, 0 },
		     { DATE + 86401, 0, 0 },
		     { DATE, 9, DATE + 1 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct fetch_answer answer = { .signed_at = each[i].signed_at, .version = each[i].version };

		printf("%llu: ", (unsigned long long)feed_signed(&answer));
		says(feed_fresh(&answer, "drop.txt", each[i].before));
	}
}

static void looks(void)
{
	static char blanks[600];
	static const struct {
		const char *text, *type, *url, *format;
	} each[] = {
		{ "192.0.2.1\n", "text/plain", URL, NULL },
		{ "", "", URL, NULL },
		{ " \t\r\n", "", URL, NULL },
		{ "\xef\xbb\xbf", "", URL, NULL },
		{ "\xef\xbb\xbf 1", "", URL, NULL },
		{ "\xef\xbb", "", URL, NULL },
		{ "<html>", "", URL, NULL },
		{ "\xef\xbb\xbf\n <html>", "", URL, NULL },
		{ "1 <html>", "", URL, NULL },
		{ "192.0.2.1", "text/html", URL, NULL },
		{ "192.0.2.1", "TEXT/HTML; charset=utf-8", URL, NULL },
		{ "192.0.2.1", "text/htmlx", URL, NULL },
		{ "192.0.2.1", "text/htmlz", URL, NULL },
		{ "192.0.2.1", "text/html-X", URL, NULL },
		{ "192.0.2.1", "text/html+X", URL, NULL },
		{ "192.0.2.1", "text/htmlX", URL, NULL },
		{ "192.0.2.1", "text/htm", URL, NULL },
		{ "192.0.2.1", "application/xhtml+xml", URL, NULL },
		{ "{}", "", URL, NULL },
		{ "{}", "", URL, "json" },
		{ "{}", "", URL, "csv" },
		{ "{}", "", "https://example.net/drop.JSON?key=1", NULL },
		{ "{}", "", "https://example.net/drop.json", NULL },
		{ "{}", "", "https://example.net/drop.json.txt", NULL },
		{ "{}", "", "https://example.net/?drop.json", NULL },
		{ "{}", "", ".json", NULL },
		{ "{}", "", "a.json", NULL },
		{ "{}", "", "json", NULL },
		{ "[{", "", URL, NULL },
		{ "[\"", "", URL, NULL },
		{ "[]", "", URL, NULL },
		{ "[", "", URL, NULL },
		{ "[2001:db8::1]", "", URL, NULL },
		{ "\"", "", URL, NULL },
		{ "192.0.2.1", "application/json", URL, NULL },
		{ "192.0.2.1", "application/json", URL, "json" },
		{ "192.0.2.1", "application/jsonlines", URL, NULL },
		{ blanks, "", URL, NULL },
		{ blanks + 87, "", URL, NULL },
		{ blanks + 88, "", URL, NULL },
		{ blanks + 89, "", URL, NULL },
	};

	memset(blanks, ' ', sizeof(blanks) - 1);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct fetch_answer answer = { 0 };
		int fd = memfd_create("list", MFD_CLOEXEC);

		ENOUGH(pwrite(fd, each[i].text, strlen(each[i].text), 0) == (ssize_t)strlen(each[i].text));
		snprintf(answer.type, sizeof(answer.type), "%s", each[i].type);
		snprintf(answer.url, sizeof(answer.url), "%s", each[i].url);
		printf("%zu, %zu bytes %s%s%s: ", i, strlen(each[i].text), each[i].type, each[i].format ? " as " : "",
		       each[i].format ?: "");
		says(feed_looks_like_list(fd, &answer, each[i].format));
		close(fd);
	}
	says(feed_looks_like_list(-1, &(struct fetch_answer){ 0 }, NULL));
}

static void guards(void)
{
	static const struct {
		const char *address, *way;
	} each[] = { { "203.0.113.9", "" },
		     { "192.0.2.9", "" },
		     { "::ffff:192.0.2.9", "" },
		     { "2001:db8::9", "" },
		     { "2001:db9::9", "203.0.113.1 192.0.2.8 2001:db8::8 " },
		     { "192.0.2.9", "203.0.113.1  203.0.113.2 " },
		     { "", "" },
		     { "not one", " 192.0.2.300 192.0.2.7" } };
	struct ranges set = RANGES_EMPTY, one = RANGES_EMPTY, nothing = RANGES_EMPTY;
	struct fetch_answer answer = { .url = URL, .address = "192.0.2.9" };

	ENOUGH(!ranges_add4(&set, 0xc0000200, 0xc00002ff) &&
	       !ranges_add6(&set, (ip6)0x20010db8 << 96, ((ip6)0x20010db9 << 96) - 1));
	ENOUGH(!ranges_finish(&set) && !ranges_add6(&one, 5, 5) && !ranges_finish(&one));
	says(feed_guard(&answer, &nothing, false));
	says(feed_guard(&answer, &one, true));
	ranges_free(&one);
	one = RANGES_EMPTY;
	ENOUGH(!ranges_add4(&one, 5, 5) && !ranges_finish(&one));
	says(feed_guard(&answer, &one, true));
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		strcpy(answer.address, each[i].address);
		strcpy(answer.way, each[i].way);
		printf("'%s' by '%s':\n", answer.address, answer.way);
		says(feed_guard(&answer, &set, true));
		says(feed_guard(&answer, &set, false));
	}
	ranges_free(&set);
	ranges_free(&one);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "words", words },	  { "beside", beside },		  { "asked", asked },
		{ "answered", answered }, { "each fails", each_fails },	  { "a file", file },
		{ "fresh", fresh },	  { "looks like a list", looks }, { "guards", guards },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begins);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
