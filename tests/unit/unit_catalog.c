// SPDX-License-Identifier: GPL-2.0-only
/* The catalog that is shipped, and catalogs with a mistake: the line is named. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/beside.h"
#include "base/grow.h"
#include "change/catalog.h"
#include "ktap.h"

static int succeed = -1; /* so many calls succeed before one fails; -1: all of them */
static bool failed;

static bool fails(void)
{
	bool is = !succeed;

	succeed -= succeed >= 0;
	failed = failed || is;
	errno = is ? EIO : errno;
	return is;
}

static int made_find(char path[BESIDE_MAX], const char *const *places)
{
	snprintf(path, BESIDE_MAX, "/nowhere%s", *places);
	return -ENOENT;
}

#define beside_find    made_find
#define grow(...)      (fails() ? NULL : grow(__VA_ARGS__))
#define malloc(size)   (fails() ? NULL : malloc(size))
#define fstat(fd, is)  (fails() ? -1 : fstat(fd, is))
#define pread(fd, ...) (fails() ? -1 : pread(fd, __VA_ARGS__))
#include "change/catalog.c"
#undef malloc

#define BLOCK                                                                                                          \
	"by Us\nholds attackers\nfamily 4\nfrom https://a.example/list\nevery 1h provider\nterms none\nsize unknown\n" \
	"written 2026-11-23\n"

static const char *shipped;

static const struct catalog_feed *find(const struct catalog *c, const char *name)
{
	const struct catalog_feed *feed = NULL;

	return catalog_find(c, name, &feed) ? NULL : feed;
}

/* NULL: it can be read; then free it. */
static const char *read_as(const char *text, size_t length, struct catalog *c)
{
	char path[] = "/tmp/xdp-bloom-catalog-XXXXXX";
	static char why[512];
	int fd = mkstemp(path), err;

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		abort();
	err = catalog_read(c, path);
	snprintf(why, sizeof(why), "%s", err ? reason(err) : "");
	close(fd);
	unlink(path);
	return err ? why : NULL;
}

static void ships(void)
{
	struct catalog c;
	int err;

	if (access(shipped, R_OK)) {
		ktap_skip("the catalog is not here");
		return;
	}
	err = catalog_read(&c, shipped);
	if (!CHECK(!err, "%s", reason(err)))
		return;
	CHECK(c.n >= 60, "%zu feeds", c.n);
	for (size_t i = 0; i < c.n; i++) {
		const struct catalog_feed *f = &c.feeds[i];

		CHECK(f->every >= 300, "%s: every %lld", f->name, (long long)f->every);
		CHECK(f->http || !strncmp(f->url, "https://", 8), "%s: %s", f->name, f->url);
		CHECK(strncmp(f->written, "2026-11-23", 10) >= 0, "%s: %s", f->name, f->written);
		CHECK(!strcmp(f->size, "unknown") || strstr(f->size, " in 20"), "%s: '%s'", f->name, f->size);
		CHECK(!strcmp(f->every_by, "provider") || !strcmp(f->every_by, "ours") || strstr(f->every_by, " 20"),
		      "%s: '%s'", f->name, f->every_by);
		CHECK(find(&c, f->name) == f, "%s is not found", f->name);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(c.feeds[j].url, f->url) != 0, "%s and %s are one", c.feeds[j].name, f->name);
		for (size_t j = 0; j < CATALOG_WAS_MOST && f->was[j]; j++)
			CHECK(strcmp(f->was[j], f->url) != 0, "%s was where it is", f->name);
	}
	catalog_free(&c);
}

static void finds(void)
{
	const struct catalog_feed *f;
	struct catalog c;
	int err;

	if (catalog_read(&c, shipped)) {
		ktap_skip("the catalog is not here");
		return;
	}
	CHECK(find(&c, "@spamhaus-drop") == find(&c, "spamhaus-drop"), "with an '@', and without");
	err = catalog_find(&c, "@spamhaus-drpo", &f);
	CHECK(err_is(err, ENOENT) && strstr(reason(err), "did you mean 'spamhaus-drop'?"), "%s", reason(err));
	CHECK(!find(&c, "@") && !find(&c, ""), "no name");
	CHECK(catalog_matches(find(&c, "spamhaus-drop"), "SPAMHAUS"), "by who makes it");
	CHECK(!catalog_matches(find(&c, "dshield"), "spamhaus"), "by nothing");
	catalog_free(&c);
}

static void mistakes(void)
{
	static const struct {
		const char *text, *why;
	} known[] = {
		{ "by Us\n", ":1: a feed begins with 'feed NAME'" },
		{ "feed a\n" BLOCK "by Us\n", ":10: this word stands there twice" },
		{ "feed a\n" BLOCK "every 1h ours\n", ":10: 'every' stands there twice" },
		{ "feed a\n" BLOCK "colour red\n", ":10: a word that is not known" },
		{ "feed a\n" BLOCK "note\n", ":10: a line is a word and what it says" },
		{ "feed a\n" BLOCK "note \n", ":10: a line is a word and what it says" },
		{ "feed a\n" BLOCK "feed a\n" BLOCK, ":10: there is a feed of this name before" },
		{ "feed a\n" BLOCK "feed b/c\n" BLOCK, ":10: a feed is called as a list may be" },
		{ "feed a\n" BLOCK "feed b\nby Us\n", ":12: the feed before has no 'holds'" },
		{ "feed b\nby Us\nfeed a\n" BLOCK, ":3: the feed before has no 'holds'" },
		{ "feed a\n" BLOCK "format what\n", ": the format of the feed before" },
		{ "feed a\n" BLOCK "where what\n", ": the rows of the feed before" },
		{ "feed a\n" BLOCK "was ftp://a\n", ":10: only https:// is fetched" },
		{ "feed a\n" BLOCK "note \x1b[31m\n", ":10: a byte that is no printable ASCII" },
		{ "feed a\n" BLOCK "note \x1f\n", ":10: a byte that is no printable ASCII" },
		{ "feed a\n" BLOCK "note \x7f\n", ":10: a byte that is no printable ASCII" },
		{ "feed a\n" BLOCK "note\tx y\n", ":10: a byte that is no printable ASCII" },
		{ "feed a\n" BLOCK
		  "was https://a/1\nwas https://a/2\nwas https://a/3\nwas https://a/4\nwas https://a/5\n",
		  ":14: more addresses that it had than are kept" },
		{ "feed\n", ":1: a line is a word and what it says" },
		{ "feed -a\n" BLOCK, ":1: a feed is called as a list may be" },
		{ "feed .a\n" BLOCK, ":1: a feed is called as a list may be" },
		{ "feed a23456789b123456789c123456789d123456789e123456789f123456789g1234\n" BLOCK,
		  ":1: a feed is called as a list may be" },
		{ "feed a\n" BLOCK "format cs\n", ": the format of the feed before" },
		{ "feed a\n" BLOCK "format xcsv:1\n", ": the format of the feed before" },
		{ "feed a\nby Us\nholds x\nfamily 4\nfrom https://a.example/list\nterms none\nsize unknown\n"
		  "written 2026-11-23\n",
		  ":9: the feed before has no 'every'" },
	};
	static const struct {
		const char *from, *to, *why;
	} changed[] = {
		{ "every 1h", "every 4m", "'every' is 5m to 366d" },
		{ "every 1h", "every 299s", "'every' is 5m to 366d" },
		{ "every 1h", "every 31622401s", "'every' is 5m to 366d" },
		{ "2026-11-23", "202a-11-23", "was written on a day" },
		{ "2026-11-23", "2026x11-23", "was written on a day" },
		{ "2026-11-23", "2026-11-2", "was written on a day" },
		{ "2026-11-23", "2026-11-x3", "was written on a day" },
		{ "every 1h", "every often", "'every' is 5m to 366d" },
		{ "every 1h provider", "every 1h", "and who says so" },
		{ "family 4", "family 5", "is not 4, 6 or both" },
		{ "2026-11-23", "yesterday", "was written on a day" },
		{ "2026-11-23", "2026-11-23x", "was written on a day" },
		{ "https:", "http:", "says nothing about who answers" },
		{ "terms none", "note none", "has no 'terms'" },
	};
	/* What may stand there instead. */
	static const struct {
		const char *from, *to;
	} as_well[] = {
		{ "feed a", "feed a23456789b123456789c123456789d123456789e123456789f123456789g123" },
		{ "feed a", "feed a-.b" },
		{ "every 1h", "every 5m" },
		{ "every 1h", "every 366d" },
		{ "family 4", "family 6" },
		{ "family 4", "family both" },
		{ "terms none", "terms none ~\nformat csv:2" },
		{ "terms none", "terms none\r\nformat csv" },
		{ "terms none", "terms none\n\n  \n#\n# \x01\nwhere a=b" },
		{ "terms none", "terms none\nwas https://a/1\nwas https://a/2\nwas https://a/3\nwas https://a/4" },
		{ "from https:", "http it has no other\nfrom http:" },
	};
	static const char good[] = "feed a\n" BLOCK;
	char text[1024];
	struct catalog c;
	const char *why;

	for (size_t i = 0; i < sizeof(as_well) / sizeof(*as_well); i++) {
		const char *at = strstr(good, as_well[i].from);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, as_well[i].to,
			 at + strlen(as_well[i].from));
		why = read_as(text, strlen(text), &c);
		if (CHECK(!why, "'%s': %s", as_well[i].to, why))
			catalog_free(&c);
	}

	if (CHECK(!read_as(good, strlen(good), &c), "a good one")) {
		CHECK(c.n == 1 && c.feeds[0].every == 3600, "%zu", c.n);
		catalog_free(&c);
	}
	if (CHECK(!read_as("", 0, &c), "an empty one"))
		catalog_free(&c);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		why = read_as(known[i].text, strlen(known[i].text), &c);
		CHECK(why && strstr(why, known[i].why), "%zu: '%s'", i, why);
	}
	for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
		const char *at = strstr(good, changed[i].from);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, changed[i].to,
			 at + strlen(changed[i].from));
		why = read_as(text, strlen(text), &c);
		CHECK(why && strstr(why, changed[i].why), "'%s': '%s'", changed[i].to, why);
	}
	CHECK(strstr(read_as("feed a\0b\n", 9, &c), "a NUL byte"), "a NUL byte");
	CHECK(catalog_read(&c, "/nowhere") < 0 && catalog_read(&c, "/tmp") < 0, "no file");
}

/* What it is as a whole. */
static void as_a_file(void)
{
	size_t most = 4 << 20;
	char *text = malloc(most + 1);
	struct catalog c;
	const char *why;
	int err;

	if (!text)
		abort();
	memset(text, '#', most + 1);
	if (CHECK(!read_as(text, most, &c), "as long as it may be"))
		catalog_free(&c);
	why = read_as(text, most + 1, &c);
	CHECK(why && strstr(why, "not a regular file of at most 4 MiB"), "longer: %s", why);
	free(text);
	err = catalog_read(&c, "/dev/null");
	CHECK(err_is(err, EINVAL) && strstr(reason(err), "/dev/null: not a regular file"), "%s", reason(err));
	err = catalog_read(&c, NULL);
	CHECK(err_is(err, ENOENT) && !strcmp(reason(err), "the catalog of feeds is not where it was installed: "
							  "/nowhere/../share/xdp-bloom/feeds"),
	      "%s", reason(err));
	for (int at = 0; at < 100; at++) {
		failed = false;
		succeed = at;
		why = read_as("feed a\n" BLOCK, strlen("feed a\n" BLOCK), &c);
		succeed = -1;
		CHECK(!failed == !why && (!why || strstr(why, strerror(EIO)) || strstr(why, strerror(ENOMEM))),
		      "call %d fails: %s", at, why);
		if (!failed) {
			catalog_free(&c);
			break;
		}
	}
}

static void which_match(void)
{
	static const struct catalog_feed f = {
		.name = "One", .by = "Two", .holds = "Three", .url = "Four", .note = "Five"
	};

	CHECK(catalog_matches(&f, "one") && catalog_matches(&f, "WO") && catalog_matches(&f, "hre") &&
		      catalog_matches(&f, "four") && !catalog_matches(&f, "five"),
	      "what a word matches");
}

/* Any bytes: it is read or refused, and nothing stays. */
static void damaged(void)
{
	static const char good[] = "feed a\n" BLOCK;
	char text[sizeof(good)];
	struct catalog c;

	for (size_t at = 0; at + 1 < sizeof(good); at++) {
		if (!read_as(good, at, &c))
			catalog_free(&c);
		memcpy(text, good, sizeof(good));
		text[at] = (char)ktap_random();
		if (!read_as(text, sizeof(good) - 1, &c))
			catalog_free(&c);
	}
}

static const struct ktap_case cases[] = {
	{ "ships", ships },
	{ "finds", finds },
	{ "mistakes", mistakes },
	{ "as a file", as_a_file },
	{ "which match", which_match },
	{ "damaged", damaged },
};

int main(int argc, char **argv)
{
	static char path[4096];
	const char *slash = strrchr(argv[0], '/');

	/* The build's own, or where this runs from. */
	snprintf(path, sizeof(path), "%.*s/../feeds", slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
	shipped = argc > 1 ? argv[1] : path;
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
