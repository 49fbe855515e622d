// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that are read without a tree: against jansson on made and damaged ones, and whole tables against the same
 * tables with an escape in each row, which the tree reads.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"
#include "sets/json_flat.h"
#include "sets/ranges.h"
#include "sets/reader.h"

#define OBJECTS 200000
#define TABLES	300
#define ROWS	40

static uint64_t below(uint64_t n)
{
	return ktap_random() % n;
}

#define ONE_OF(words) words[below(sizeof(words) / sizeof(*words))]

static const char *const names[] = { "country", "country", "asn",	"ip",		"ip",	"network", "start",
				     "end",	"scope",   "key",	"value",	"cidr", "x y",	   "ip_from",
				     "ip_to",	"",	   "as_number", "country_code", "name" };
static const char *const values[] = { "\"CN\"",
				      "\"CN\"",
				      "\"DE\"",
				      "\" cn \"",
				      "\"AS9009\"",
				      "9009",
				      "9009",
				      "-1",
				      "0",
				      "true",
				      "false",
				      "null",
				      "\"\"",
				      "\"203.0.113.7\"",
				      "\"198.51.100.0/24\"",
				      "\"2001:db8::/32\"",
				      "\"198.51.100.9\"",
				      "\"none\"",
				      "\"Ip\"",
				      "999999999999999999",
				      "\"a longer text that goes over several words\"" };
/* What a tree is needed for, or nobody takes. */
static const char *const odd[] = { "1.5",
				   "1e3",
				   "-0",
				   "99999999999999999999",
				   "\"a\\u0041\"",
				   "\"\xc3\xa4\"",
				   "\"\xff\"",
				   "{}",
				   "[]",
				   "[\"203.0.113.7\"]",
				   "01",
				   "tru",
				   "\"not \x01 clean\"" };

/* What a table has in a column of that name. */
static const char *fits(size_t name)
{
	static const char *const addresses[] = { "\"203.0.113.7\"", "\"198.51.100.9\"", "\"2001:db8::7\"",
						 "\"46.1.2.3\"" };

	return name < 2						? "\"CN\""
	       : name == 2 || !strcmp(names[name], "as_number") ? "9009"
	       : !strcmp(names[name], "x y")			? "true"
								: ONE_OF(addresses);
}

static size_t make(char *text, size_t size, bool plain, const char *more)
{
	static const char *const blanks[] = { "", "", "", " ", "\t", "  " };
	size_t n = (size_t)snprintf(text, size, "{%s", ONE_OF(blanks)), members = below(7);
	unsigned int used = 0;

	for (size_t i = 0; i < members; i++) {
		size_t name = below(sizeof(names) / sizeof(*names));
		const char *value = below(3) ? fits(name) : !plain && !below(12) ? ONE_OF(odd) : ONE_OF(values);

		if (plain && used >> name & 1)
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s\"%s\"%s:%s%s%s", used ? "," : "", names[name],
				      ONE_OF(blanks), ONE_OF(blanks), value, ONE_OF(blanks));
		/* The first ones stand there twice. */
		used |= 1U << name | (name < 2 ? 3 : 0) | (name == 3 || name == 4 ? 24 : 0);
	}
	if (*more)
		n += (size_t)snprintf(text + n, size - n, "%s%s", used ? "," : "", more);
	return n + (size_t)snprintf(text + n, size - n, "}");
}

static bool is_same(const struct flat_member *m, const json_t *value)
{
	char number[32];

	if (m->is_string)
		return json_is_string(value) && json_string_length(value) == m->value.len &&
		       !memcmp(json_string_value(value), m->value.text, m->value.len);
	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	if (!json_is_integer(value))
		snprintf(number, sizeof(number), "%s",
			 json_is_true(value)	? "true"
			 : json_is_false(value) ? "false"
			 : json_is_null(value)	? "null"
						: "another");
	return strlen(number) == m->value.len && !memcmp(number, m->value.text, m->value.len);
}

/* What is taken is what jansson finds, in its order. */
static bool agrees(const char *text, size_t length, size_t *taken)
{
	struct flat_member members[FLAT_MOST];
	size_t n, len = flat_object(text, text + length, members, &n), at = 0;
	const char *key;
	json_error_t error;
	json_t *tree, *value;
	bool same;

	if (!len)
		return true;
	++*taken;
	tree = json_loadb(text, length, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
	same = tree && (size_t)error.position == len && json_object_size(tree) == n;
	json_object_foreach(tree, key, value)
	{
		same = same && at < n && strlen(key) == members[at].name.len &&
		       !memcmp(key, members[at].name.text, members[at].name.len) && is_same(&members[at], value);
		at++;
	}
	json_decref(tree);
	return same;
}

static void objects(void)
{
	char text[2048];
	size_t taken = 0, n;

	for (size_t i = 0; i < OBJECTS; i++) {
		bool plain = below(2);

		n = make(text, sizeof(text), plain, "");
		if (!CHECK(agrees(text, n, &taken), "%s", text))
			return;
		if (below(2))
			text[below(n)] = (char)ktap_random();
		else
			n = below(n);
		if (!CHECK(agrees(text, n, &taken), "damaged: %.*s", (int)n, text))
			return;
	}
	CHECK(taken > OBJECTS / 2, "only %zu were taken", taken);
}

static void known(void)
{
	static const char *const not_taken[] = {
		"",
		"{",
		"[]",
		"{\"a\":1",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":01}",
		"{\"a\":-}",
		"{\"a\":1.0}",
		"{\"a\":1\n}",
		"{\"a\":\"\\n\"}",
		"{\"a\":\"\x7f\"}",
		"{\"a\":nul}",
		"{\"a\":-0}",
		"{a:1}",
		"{\"a\":1000000000000000000}",
	};
	static const char none[] = "{}x", one[] = "{\"a\": null}", negative[] = "{\"a\":-12}";
	struct flat_member members[FLAT_MOST];
	size_t n;

	for (size_t i = 0; i < sizeof(not_taken) / sizeof(*not_taken); i++)
		CHECK(!flat_object(not_taken[i], not_taken[i] + strlen(not_taken[i]), members, &n), "%s", not_taken[i]);
	CHECK(flat_object(none, none + strlen(none), members, &n) == 2 && !n, "none at all");
	CHECK(flat_object(one, one + strlen(one), members, &n) == 11 && n == 1, "one");
	CHECK(flat_object(negative, negative + strlen(negative), members, &n) == 9 && members[0].value.len == 3 &&
		      !memcmp(members[0].value.text, "-12", 3),
	      "a negative one");
}

static int read_rows(const char *text, size_t length, const struct reader_options *options, struct ranges *set,
		     struct reader_report *report, char error[READER_TEXT_MAX])
{
	char path[] = "/tmp/xdp-bloom-rows-XXXXXX";
	int fd = mkstemp(path), err;

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		abort();
	error[0] = '\0';
	*set = (struct ranges){ 0 };
	err = reader_read(path, options, set, report, error);
	close(fd);
	unlink(path);
	return err;
}

static int read_table(const char *text, size_t length, const char *where, bool skip_bad, struct ranges *set,
		      struct reader_report *report, char error[READER_TEXT_MAX])
{
	struct reader_options options = { .name = "rows", .format = "json", .skip_bad = skip_bad, .hidden = true };

	snprintf(options.where, sizeof(options.where), "%s", where);
	return read_rows(text, length, &options, set, report, error);
}

/* Rows that an escape in each makes a tree of; with the length of both texts. */
static void make_both(char *flat, char *tree, size_t size, size_t rows, bool plain, size_t *n, size_t *m)
{
	char text[2048];

	*n = *m = 0;
	for (size_t i = 0; i < rows; i++) {
		size_t length = make(text, sizeof(text), plain, "\"zz\":\"A\"");

		*n += (size_t)snprintf(flat + *n, size - *n, "%s\n", text);
		*m += (size_t)snprintf(tree + *m, size - *m, "%.*s\"\\u0041\"}\n", (int)(length - 4), text);
	}
}

static void tables(void)
{
	static const char *const wheres[] = { "country=CN", "country=CN,DE", "asn=9009", "country=CN&asn=9009",
					      "country=",   "x y=true",	     "none=1",	 "asn=-1,0" };
	static char flat[ROWS * 2048], tree[ROWS * 2048];
	char flat_error[READER_TEXT_MAX], tree_error[READER_TEXT_MAX];
	struct reader_report flat_report, tree_report;
	struct ranges flat_set, tree_set;
	uint64_t entries = 0;

	for (size_t t = 0; t < TABLES; t++) {
		const char *where = ONE_OF(wheres);
		bool skip_bad = below(4), plain = below(3);
		size_t n, m;
		int flat_err, tree_err;

		make_both(flat, tree, sizeof(flat), 1 + below(ROWS), plain, &n, &m);
		flat_err = read_table(flat, n, where, skip_bad, &flat_set, &flat_report, flat_error);
		tree_err = read_table(tree, m, where, skip_bad, &tree_set, &tree_report, tree_error);
		CHECK(!flat_err == !tree_err && !strcmp(flat_error, tree_error), "'%s', '%s'\n%s", flat_error,
		      tree_error, flat);
		CHECK(flat_set.n4 == tree_set.n4 && flat_set.n6 == tree_set.n6 &&
			      ranges_count(&flat_set) == ranges_count(&tree_set),
		      "%s\n%s", where, flat);
		if (!flat_err) {
			CHECK(flat_report.entries == tree_report.entries && flat_report.bad == tree_report.bad &&
				      flat_report.lines == tree_report.lines,
			      "%s\n%s", where, flat);
			entries += flat_report.entries;
		}
		ranges_free(&flat_set);
		ranges_free(&tree_set);
	}
	CHECK(entries > TABLES / 4, "only %llu entries", (unsigned long long)entries);
}

/* Rows as they are told. */
struct told {
	char text[ROWS * 256];
	size_t n, named;
};

static int tell(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	struct told *told = arg;

	told->n += (size_t)snprintf(told->text + told->n, sizeof(told->text) - told->n,
				    "%d %llx%016llx %llx%016llx %u '%s' '%s'\n", family, (unsigned long long)(lo >> 64),
				    (unsigned long long)lo, (unsigned long long)(hi >> 64), (unsigned long long)hi,
				    network->asn, network->country, network->name);
	told->named += network->asn || network->country[0] || network->name[0];
	return 0;
}

static int read_networks(const char *text, size_t length, bool skip_bad, struct told *told,
			 struct reader_report *report, char error[READER_TEXT_MAX])
{
	struct reader_options options = {
		.name = "rows", .format = "json", .skip_bad = skip_bad, .hidden = true, .named = tell, .arg = told
	};
	struct ranges none;
	int err;

	*told = (struct told){ .n = 0 };
	err = read_rows(text, length, &options, &none, report, error);
	ranges_free(&none);
	return err;
}

/* Tables of networks: whose they are is the same by both ways. */
static void networks(void)
{
	static char flat[ROWS * 2048], tree[ROWS * 2048];
	static struct told flat_told, tree_told;
	char flat_error[READER_TEXT_MAX], tree_error[READER_TEXT_MAX];
	struct reader_report flat_report, tree_report;
	size_t named = 0;

	for (size_t t = 0; t < TABLES; t++) {
		bool skip_bad = below(4), plain = below(3);
		int flat_err, tree_err;
		size_t n, m;

		make_both(flat, tree, sizeof(flat), 1 + below(ROWS), plain, &n, &m);
		flat_err = read_networks(flat, n, skip_bad, &flat_told, &flat_report, flat_error);
		tree_err = read_networks(tree, m, skip_bad, &tree_told, &tree_report, tree_error);
		if (!CHECK(!flat_err == !tree_err && !strcmp(flat_error, tree_error), "'%s', '%s'\n%s", flat_error,
			   tree_error, flat) ||
		    !CHECK(!strcmp(flat_told.text, tree_told.text), "%s is not\n%s, of\n%s", flat_told.text,
			   tree_told.text, flat))
			return;
		if (!flat_err)
			CHECK(flat_report.entries == tree_report.entries && flat_report.bad == tree_report.bad &&
				      flat_report.lines == tree_report.lines,
			      "%s", flat);
		named += flat_told.named;
	}
	CHECK(named > TABLES, "only %zu have a name", named);
}

static const struct ktap_case cases[] = {
	{ "known", known },
	{ "objects", objects },
	{ "tables", tables },
	{ "tables of networks", networks },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
