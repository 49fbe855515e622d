// SPDX-License-Identifier: GPL-2.0-only
/* Rows of tables that --where takes: known ones, damaged ones, and random tables against the rows they were made of. */
#include <arpa/inet.h>

#include "ktap.h"
#include "reader_texts.h"
#include "sets/where.h"

#define ROUNDS 2000

static int read_rows(const char *text, size_t len, const char *format, bool skip_bad, const char *where,
		     struct ranges *set)
{
	struct reader_options options = { .format = format, .skip_bad = skip_bad };
	char conditions[256];

	*set = RANGES_EMPTY;
	snprintf(conditions, sizeof(conditions), "%s", where);
	for (char *c = strtok(conditions, "&"); c; c = strtok(NULL, "&")) {
		const char *reason = where_add(options.where, c);

		if (reason) {
			snprintf(error, sizeof(error), "%s: %s", path, reason);
			return -1;
		}
	}
	return write_file(text, len) ? reader_read(path, &options, set, &report, error) : -1;
}

static const char *set_text(const struct ranges *set)
{
	static char text[1024];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < set->n4 + set->n6 && n < sizeof(text); i++) {
		size_t k = i - set->n4;
		struct addr lo = i < set->n4 ? (struct addr){ set->v4[i].lo, 4 } : (struct addr){ set->v6[k].lo, 6 };
		struct addr hi = i < set->n4 ? (struct addr){ set->v4[i].hi, 4 } : (struct addr){ set->v6[k].hi, 6 };
		char a[PREFIX_TEXT_MAX], b[PREFIX_TEXT_MAX];

		prefix_text(a, lo, -1);
		prefix_text(b, hi, -1);
		n += (size_t)snprintf(text + n, sizeof(text) - n, lo.num == hi.num ? "%s%s" : "%s%s-%s", n ? " " : "",
				      a, b);
	}
	return text;
}

#define SMALL "network,country,asn\n1.2.3.0/24,CN,9009\n5.6.7.8,US,45090\n9.9.9.9,CN,45090\n"
#define IP2ASN \
	"1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUD, \"x\n1.0.1.0\t1.0.3.255\t0\tNone\tNot\n1.0.4.0\t1.0.4.9\t38803\tAU\tW\n"
#define IPINFO "start_ip,end_ip,country,asn\n1.0.0.0,1.0.0.255,AU,AS13335\n2001:db8::,2001:db8::ff,AU,AS7\n"
#define QUOTED "\"net\";\"name\"\n1.1.1.1;\"a;b\"\n2.2.2.2;\"say \"\"hi\"\"\"\n3.3.3.3;\"two\nlines\"\n"
#define LINES \
	"{\"ip\":\"1.1.1.1\",\"c\":\"x\",\"n\":7}\n{\"ip\":\"2.2.2.2\",\"c\":\"y\",\"n\":7,\"b\":true}\n{\"v\":1}\n"
#define CLOUD \
	"{\"v\":1,\"prefixes\":[{\"ip_prefix\":\"1.1.1.0/24\",\"region\":\"eu\"},{\"ip_prefix\":\"2.2.2.2/32\",\"region\":\"us\"}]}"

static const struct {
	const char *where, *format, *text, *set;
} taken[] = {
	{ "country=CN", NULL, SMALL, "1.2.3.0-1.2.3.255 9.9.9.9" },
	{ "country=cn", "csv", SMALL, "1.2.3.0-1.2.3.255 9.9.9.9" },
	{ " Country = cn ", NULL, SMALL, "1.2.3.0-1.2.3.255 9.9.9.9" },
	{ "country=CN&asn=45090", NULL, SMALL, "9.9.9.9" },
	{ "asn=AS9009", NULL, SMALL, "1.2.3.0-1.2.3.255" },
	{ "asn=9009,45090", NULL, SMALL, "1.2.3.0-1.2.3.255 5.6.7.8 9.9.9.9" },
	{ "asn=9009&asn=45090", NULL, SMALL, "" },
	{ "asn=900", NULL, SMALL, "" },
	{ "2=US", NULL, SMALL, "5.6.7.8" },
	{ "2=US", "csv:1", SMALL, "5.6.7.8" },
	{ "2=CN", NULL,
	  "\xef\xbb\xbf"
	  "1.1.1.1,CN\r\n2.2.2.2,US\r\n3.3.3.3,CN\r\n",
	  "1.1.1.1 3.3.3.3" },
	/* A first row that has no address, and names nothing. */
	{ "2=x", "csv", "n,1\n1.1.1.1,x\n", "1.1.1.1" },
	{ "b=", NULL, "a,b\n1.1.1.1,\n2.2.2.2,x\n", "1.1.1.1" },
	{ "b=x", NULL, "# made today\n# a,b\n1.1.1.1,y\n2.2.2.2,x\n", "2.2.2.2" },
	{ "4=AU,US", NULL, IP2ASN, "1.0.0.0-1.0.0.255 1.0.4.0-1.0.4.9" },
	{ "3=13335", NULL, IP2ASN, "1.0.0.0-1.0.0.255" },
	{ "5=CLOUD\\, \"x", NULL, IP2ASN, "1.0.0.0-1.0.0.255" },
	{ "asn=13335,7", NULL, IPINFO, "1.0.0.0-1.0.0.255 2001:db8::-2001:db8::ff" },
	{ "country=AU", "csv:2", IPINFO, "1.0.0.255 2001:db8::ff" },
	{ "name=a;b", NULL, QUOTED, "1.1.1.1" },
	{ "name=say \"hi\"", NULL, QUOTED, "2.2.2.2" },
	{ "name=x", NULL, QUOTED "4.4.4.4;x\n", "4.4.4.4" },
	{ "c=x", NULL, LINES, "1.1.1.1" },
	{ "n=7", "json", LINES, "1.1.1.1 2.2.2.2" },
	{ "n=7&b=true", NULL, LINES, "2.2.2.2" },
	{ "n=8", NULL, LINES, "" },
	{ "c=z", NULL, "[]", "" },
	{ "region=eu", NULL, CLOUD, "1.1.1.0-1.1.1.255" },
	{ "a=1", NULL,
	  "[{\"network\":\"1.1.1.0/31\",\"a\":1},{\"start_ip\":\"3.3.3.3\",\"end_ip\":\"3.3.3.5\",\"a\":\"AS1\"}]",
	  "1.1.1.0-1.1.1.1 3.3.3.3-3.3.3.5" },
	{ "a=x", NULL, "", "" },
	/* Rows that are not taken may hold anything where the address is. */
	{ "a=x", NULL, "n,a\n1.1.1.1,x\nnone,y\n", "1.1.1.1" },
};

static void takes(void)
{
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		const char *text = taken[i].text;
		struct ranges set;
		int err = read_rows(text, strlen(text), taken[i].format, false, taken[i].where, &set);

		if (!CHECK(!err, "%s: %s", taken[i].where, error) ||
		    !CHECK(!strcmp(set_text(&set), taken[i].set), "%s gives %s", taken[i].where, set_text(&set)))
			return;
		ranges_free(&set);
	}
}

#define TEN "a234567890"

static const struct {
	const char *where, *format, *text, *error; /* behind the name of the file */
} refused[] = {
	{ "contry=CN", NULL, SMALL, ": there is no column 'contry', but network, country, asn" },
	{ "4=CN", NULL, SMALL, ": there is no column '4', but network, country, asn" },
	{ "country=CN", NULL, IP2ASN, ": there is no column 'country': the table does not name them" },
	{ "country=CN", NULL, IP2ASN, "; take their numbers" },
	{ "x=y", NULL,
	  TEN "1" TEN "2" TEN "3"
	      "123456," TEN "1" TEN "2" TEN "3"
	      "1234567," TEN "1" TEN "2" TEN "3"
	      "12345678\n1.1.1.1,x,y\n",
	  "but " TEN "1" TEN "2" TEN "3"
	  "123456, " TEN "1" TEN "2" TEN "3"
	  "1234567, " TEN "1" TEN "2" TEN "3"
	  "1234567" },
	{ "x=y", NULL,
	  "ip,a\x1f"
	  " \x7f~\n1.1.1.1,x\n",
	  ": there is no column 'x', but ip, a? ?~" },
	{ "d=x", NULL, LINES, ": there is no member 'd', but ip, c, n" },
	{ "1=x", NULL, LINES, ": there is no member '1', but ip, c, n" },
	{ "c=x", "plain", LINES, ": --where takes rows of csv and json" },
	{ "asn=9009", "csv1", SMALL, ": --where takes rows of csv and json" },
	{ "b=x", NULL, "a,b\nc,d\n", ":1: 'a,b': no column holds an address" },
	{ "b=x", NULL, "<html>\n", ":1: '<html>': a web page" },
	{ "b=x", NULL, "n,b\n1.1.1.1,x\n2.2.2.2\n", ":3: '2.2.2.2': the line has too few columns" },
	{ "b=x", NULL, "n,b\n1.1.1.1,x\nfoo,x\n", ":3: 'foo,x': " },
	{ "b=x", NULL, "n,b\n1.1.1.1,x\n\"2.2.2.2,x\n3.3.3.3,x\n", ":3: '\"2.2.2.2,x': a quote is not closed" },
	{ "b=x", NULL, "n,b\n1.1.1.1,x\n\"2.2.2.2\"z,x\n",
	  ":3: '\"2.2.2.2\"z,x': there is text behind a closing quote" },
	{ "b=x", NULL, "from,to,b\n1.1.1.1,1.1.1.2,x\n2.2.2.2,9.2.2.1/31,x\n", "more than one column holds addresses" },
	{ "b=x", NULL, "from,to,b\n1.1.1.1,1.1.1.2,x\n2.2.2.2,,x\n", ":3: '2.2.2.2,,x'" },
	{ "b=x", NULL, "source,target,b\n1.1.1.1,2.2.2.2,x\n", "more than one column holds addresses" },
	{ "3=x", NULL, "1.1.1.1,9.2.2.2,x\n2.2.2.2,9.9.9.9,x\n", "more than one column holds addresses" },
	{ "a=x", NULL, "{\"a\":\"x\",\"b\":\"1.1.1.1\"}\n", ":1: '': no member of it is known to be an address" },
	{ "a=x", NULL, "{\"a\":\"x\",\"ip\":\"1.1.1\"}\n", ":1: '1.1.1': an IPv4 address has four parts" },
	{ "b", NULL, "", ": takes COLUMN=VALUE" },
	{ "=b", NULL, "", ": takes COLUMN=VALUE" },
	{ "0=b", NULL, "", ": counts columns from 1 to 64" },
	{ "65=b", NULL, "", ": counts columns from 1 to 64" },
	{ "a=b\\", NULL, "", ": takes nothing that ends with a backslash" },
	{ "a=b\n", NULL, "", ": takes no control characters" },
	{ "a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1", NULL, "", ": may be given 8 times" },
};

static void refuses(void)
{
	struct ranges set;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		const char *text = refused[i].text;
		int err = read_rows(text, strlen(text), refused[i].format, false, refused[i].where, &set);

		if (!CHECK(err && strstr(error, refused[i].error) && !strncmp(error, path, strlen(path)),
			   "%s of '%s': %s", refused[i].where, text, err ? error : "accepted"))
			return;
	}
	CHECK(read_rows("n,b\n1.1.1.1,x\n\0,x\n", 19, NULL, false, "b=x", &set) &&
		      strstr(error, ":3: '\\x00,x': a NUL byte"),
	      "a NUL: %s", error);
}

/* What --skip-bad leaves out is the line, not what follows it. */
static void leaves_out(void)
{
	static const char text[] =
		"n,b\n1.1.1.1,x\nfoo,x\n2.2.2.2\n3.3.3.3,\"x\ny\"\n4.4.4.4,x\n\"5.5.5.5,x\n6.6.6.6,x\n";
	struct ranges set;
	int err = read_rows(text, sizeof(text) - 1, NULL, true, "b=x", &set);

	CHECK(!err, "%s", error);
	CHECK(report.bad == 3 && report.lines == 9, "%d damaged of %d lines", (int)report.bad, (int)report.lines);
	CHECK(!strcmp(set_text(&set), "1.1.1.1 4.4.4.4 6.6.6.6"), "%s", set_text(&set));
	ranges_free(&set);
}

/* An AS number alone says which way to go. */
static void names_the_way(void)
{
	static const char *const lists[] = { "AS9009 # M247\nAS45090\n", "# drop\nas9009\n", "AS9009\tM247\n" };
	struct ranges set;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		CHECK(read_text(lists[i], strlen(lists[i]), NULL, false, &set) && strstr(error, "--where asn="),
		      "%s: %s", lists[i], error);
	CHECK(read_text("AS9009x\n", 8, NULL, false, &set) && !strstr(error, "--where"), "%s", error);
}

static const char *const values[] = { "CN", "a,b", "say \"\"x\"\"", "", "two\nlines", "AS7", "7", "x;y|z" };

/* A field as text, in quotes where it must be or by chance. */
static size_t put_field(char *to, const char *value)
{
	bool quote = strpbrk(value, ",\"\n;|") || ktap_random() % 2;

	return (size_t)sprintf(to, quote ? "\"%s\"" : "%s", value);
}

/* Long enough that windows cut rows; longer than the sample. */
static void random_tables(void)
{
	static char text[1 << 20];

	for (int round = 0; round < ROUNDS; round++) {
		size_t n = 0, rows = round % 100 ? 1 + ktap_random() % 50 : 12000, wanted = ktap_random() % 8;
		bool heading = ktap_random() % 2, crlf = ktap_random() % 2, range = ktap_random() % 2;
		const char separator = ",;|"[ktap_random() % 3], *end = crlf ? "\r\n" : "\n";
		struct ranges set, model = RANGES_EMPTY;
		uint32_t at = 1 << 24;
		char condition[64];
		int err;

		if (ktap_random() % 2)
			n += (size_t)sprintf(text, "\xef\xbb\xbf");
		if (heading)
			n += (size_t)sprintf(text + n, range ? "first_ip%clast_ip%ckind%cx%s" : "ip%cnone%ckind%cx%s",
					     separator, separator, separator, end);
		/* Two rows at least tell a range where nothing has a name. */
		for (size_t i = 0; i < rows + (range && !heading); i++) {
			size_t kind = ktap_random() % 8;
			uint32_t last = range ? at + ktap_random() % 100 : at;
			char a[32], b[32];

			inet_ntop(AF_INET, &(uint32_t){ htonl(at) }, a, sizeof(a));
			inet_ntop(AF_INET, &(uint32_t){ htonl(last) }, b, sizeof(b));
			n += put_field(text + n, a);
			text[n++] = separator;
			n += put_field(text + n, range ? b : "-");
			text[n++] = separator;
			n += put_field(text + n, values[kind]);
			text[n++] = separator;
			n += put_field(text + n, values[ktap_random() % 8]);
			n += (size_t)sprintf(text + n, "%s", end);
			if (kind == wanted || (kind > 4 && kind < 7 && wanted > 4 && wanted < 7))
				ranges_add4(&model, at, last);
			at = last + 1 + ktap_random() % 3;
		}
		if (wanted == 4) /* no value of a condition has a newline */
			wanted = 3, ranges_free(&model), model = RANGES_EMPTY;
		else
			ranges_finish(&model);
		snprintf(condition, sizeof(condition), "%s=%s", heading && ktap_random() % 2 ? "kind" : "3",
			 wanted == 1   ? "a\\,b"
			 : wanted == 2 ? "say \"x\""
				       : values[wanted]);
		if (!model.n4) {
			ranges_free(&model);
			continue;
		}
		err = read_rows(text, n, NULL, false, condition, &set);
		if (!CHECK(!err, "round %d, %s: %s", round, condition, error) ||
		    !CHECK(ranges_equal(&set, &model), "round %d, %s: other rows were taken of %s", round, condition,
			   rows < 10 ? text : "many"))
			return;
		ranges_free(&set);
		ranges_free(&model);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "rows that are taken", takes },	   { "tables that are refused", refuses },
		{ "lines that are left out", leaves_out }, { "AS numbers name the way", names_the_way },
		{ "random tables", random_tables },
	};

	return reader_texts_run(cases, sizeof(cases) / sizeof(*cases));
}
