// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of tables, of csv and JSON: what is taken of small texts at the bounds of what is a row, a range, a heading and
 * a name, and what is said of the others; word for word.
 */
#include "reader_shown.h"

static const struct shown known[] = {
#include "unit_reader_rows.txt"
};

static struct shows shows = { .file = "tests/unit/unit_reader_rows.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int on_row(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	(void)arg;
	put_range(family, lo, hi);
	printf(" is %s AS%u '%s',", network->country, network->asn, network->name);
	return 0;
}

static int on_entry(void *arg, int family, ip6 lo, ip6 hi, uint64_t line)
{
	(void)arg;
	put_range(family, lo, hi);
	printf(" in line %d,", (int)line);
	return 0;
}

static void of_names(const char *const *texts, size_t n, const char *format)
{
	for (size_t i = 0; i < n; i++) {
		printf("%zu:", i);
		read_text(texts[i], strlen(texts[i]), (struct reader_options){ .format = format, .named = on_row });
	}
}

#define NAMED(format, ...)                                                    \
	do {                                                                  \
		static const char *const texts_[] = { __VA_ARGS__ };          \
		of_names(texts_, sizeof(texts_) / sizeof(texts_[0]), format); \
	} while (0)

/* --- Tables of csv --- */

static void columns(void)
{
	OF(NULL, "cc=DE", "net,cc\n1.0.0.0/8,DE\n2.0.0.0/8,FR\n", "net;cc\n1.0.0.0/8;DE\n", "net\tcc\n1.0.0.0/8\tDE\n",
	   "net|cc\n1.0.0.0/8|de\n", "# net,cc\n1.0.0.0/8,DE\n", "#cc\n1.0.0.0/8,DE\n", "1.0.0.0/8,DE\n",
	   "a,cc\nb,DE\n", "", "\n\n", "net,land\n1.0.0.0/8,DE\n",
	   "cc,net\nDE,1.0.0.0/8\nDE\n,3.0.0.0/8\nDE,4.0.0.0/8,more\n",
	   "cc,net\r\nDE,1.0.0.0/8\r\n\r\nDE,2.0.0.0/8\r\n", "net,cc\n1.0.0.0/8,DE", "net,cc\n1.0.0.0/8, DE \n",
	   "net,c\xc3\xa4\n1.0.0.0/8,DE\n", "net,cc\n1.0.0.1/8,DE\n1.0.0.0/8,DE\n1.2.0.0/16,DE\n",
	   "; ; net,cc\n1.0.0.0/8,DE\n", "1.0.0.0/8,DE\nnet,cc\n", "net cc\n1.0.0.0/8 DE\n");
	hidden = true;
	OF(NULL, "cc=DE", "net,land\n1.0.0.0/8,DE\n", "1.0.0.0/8,DE\n", "net,cc\nrubbish,DE\n1.0.0.0/8,DE\n");
	hidden = false;
}

static void numbers(void)
{
	OF(NULL, "2=DE", "1.0.0.0/8,DE\n2.0.0.0/8,FR\n3.0.0.0/8\n", "net,cc\n1.0.0.0/8,DE\n", "1.0.0.0/8\n");
	OF(NULL, "3=x", "net,cc\n1.0.0.0/8,DE\n", "1.0.0.0/8,DE\n", "1.0.0.0/8,DE,x\n2.0.0.0/8,FR\n");
	OF("csv:2", "1=DE", "DE,1.0.0.0/8\nFR,2.0.0.0/8\nDE,rubbish\nDE\n", "DE\n", "DE,1.0.0.0,1.0.0.9\n");
	OF("csv:1", "cc=DE", "net,cc\n1.0.0.0/8,DE\n", "rubbish,DE\n");
	OF(NULL, "cc=DE&asn=5,7", "net,cc,asn\n1.0.0.0/8,DE,5\n2.0.0.0/8,DE,6\n3.0.0.0/8,FR,5\n4.0.0.0/8,DE,AS7\n",
	   "net,cc\n1.0.0.0/8,DE\n", "net,asn,cc\n1.0.0.0/8,7,DE\n1.0.0.0/8,7\n");
}

static void quotes(void)
{
	OF(NULL, "cc=DE", "net,cc,x\n1.0.0.0/8,\"DE\",\"a,b\"\n", "net,cc\n\"1.0.0.0/8\",\"DE\"\n",
	   "net,x,cc\n1.0.0.0/8,\"a\nb\",DE\n2.0.0.0/8,\"c\n\nd\",DE\n3.0.0.0,,DE\n",
	   "net,x,cc\n1.0.0.0/8,\"a\"\"b\",DE\n", "net,x,cc\n1.0.0.0/8,\"a\" b,DE\n2.0.0.0/8,,DE\n",
	   "net,x,cc\n1.0.0.0/8,\"a,DE\n2.0.0.0/8,,DE\n", "net,x,cc\n2.0.0.0/8,,DE\n1.0.0.0/8,\"a,DE",
	   "net\tx\tcc\n1.0.0.0/8\t\"a\tDE\n", "net\tx\tcc\n1.0.0.0/8\t\"a\"\t\"DE\"\n", "net\tcc\n1.0.0.0/8\t\"\n",
	   "net,cc\n1.0.0.0/8,a\"b\n2.0.0.0/8,DE\n", "net,cc\n1.0.0.0/8, \"DE\" \n", "net,\"cc\"\n1.0.0.0/8,DE\n",
	   "net,cc\n1.0.0.0/8,\"\"\n2.0.0.0/8,\"DE\"\n");
	OF(NULL, "x=a\"b", "net,x\n1.0.0.0/8,\"a\"\"b\"\n2.0.0.0/8,\"a\"\"\"\"b\"\n");
}

static void ranges_of_two(void)
{
	OF(NULL, "cc=DE", "start,end,cc\n1.0.0.0,1.0.0.9,DE\n1.0.0.20,1.0.0.29,DE\n", "a,b,cc\n1.0.0.0,1.0.0.9,DE\n",
	   "from,to,cc\n1.0.0.9,1.0.0.0,DE\n", "start,end,cc\n1.0.0.0,1.0.0.9,DE\n1.0.0.9,1.0.0.0,DE\n",
	   "start,end,cc\n1.0.0.0,1.0.0.9,DE\n1.0.1.0/24,1.0.2.0,DE\n",
	   "start,end,cc\n1.0.0.0,1.0.0.9,DE\n1.0.1.0,rubbish,DE\n",
	   "start,end,cc\n1.0.0.0,1.0.0.9,DE\n1.0.1.0,::1,DE\n", "start,end,cc\n::1,::5,DE\n",
	   "cc,x_first,y\nDE,1.0.0.0,1.0.0.9\n", "cc,low,high\nDE,1.0.0.0,1.0.0.9\nDE,1.0.1.0,\n");
	OF(NULL, "3=DE", "1.0.0.0,1.0.0.9,DE\n1.0.0.20,1.0.0.29,DE\n", "1.0.0.0,1.0.0.9,DE\n",
	   "1.0.0.0,1.0.0.9,DE\n1.0.0.5,1.0.0.29,DE\n", "1.0.0.0,1.0.0.9,DE\n1.0.0.10,1.0.0.29,DE\n",
	   "1.0.0.0,1.0.0.9,DE\n::1,::2,DE\n1.0.0.20,1.0.0.29,DE\n", "1.0.0.0,1.0.0.9,DE\n1.0.0.20,,DE\n");
	/* By the time the first row is gone from what is looked at, it is decided. */
	OF("csv", "2=DE", "1.0.0.0,DE\n1.0.1.0-1.0.1.9,DE\n");
}

static void several(void)
{
	OF(NULL, "cc=DE", "a,b,cc\n1.0.0.0,5.0.0.0,DE\n2.0.0.0,x,DE\n",
	   "a,b,cc\n1.0.0.0,5.0.0.0,DE\n2.0.0.0,6.0.0.0,DE\n",
	   "a,b,cc\n1.0.0.0,5.0.0.0,DE\n2.0.0.0,x,DE\n3.0.0.0,x,DE\n", "a,b,cc\nx,5.0.0.0,DE\n2.0.0.0,6.0.0.0,DE\n");
}

static void named(void)
{
	NAMED(NULL, "network,cc,asn,name\n1.0.0.0/8,DE,5,a\n", "1.0.0.0/8,DE,AS5,some name\n2.0.0.0/8,FR,AS6,another\n",
	      "network,country,country_code\n1.0.0.0/8,Germany,DE\n", "network,name\n1.0.0.0/8,\"a \"\"b\"\"\"\n",
	      "network,cc,asn\n1.0.0.0/8,DE\n2.0.0.0/8\n", "start,end,asn\n1.0.0.0,1.0.0.9,5\n",
	      "1.0.0.0/8\n2.0.0.0/8\n",
	      "network,asn\n1.0.0.0/8,4294967295\n2.0.0.0/8,4294967296\n3.0.0.0/8,AS\n4.0.0.0/8,-1\n",
	      "network,cc\n1.0.0.0/8,d\n2.0.0.0/8,deu\n3.0.0.0/8,de\n4.0.0.0/8,d1\n5.0.0.0/8,None\n",
	      "1.0.0.0/8,first,DE,second\n2.0.0.0/8,third,FR,fourth\n", "network,as_name,organization\n1.0.0.0/8,a,b\n",
	      "network,organization,as_name\n1.0.0.0/8,a,b\n", "network,asn\n1.0.0.0/8,5\nrubbish,6\n2.0.0.0/8,7\n");
	NAMED("json", "[{\"network\":\"1.0.0.0/8\",\"cc\":\"DE\",\"asn\":5,\"name\":\"a\"}]",
	      "{\"start\":\"1.0.0.0\",\"end\":\"1.0.0.9\",\"asn\":\"AS5\"}\n{\"first\":\"2.0.0.0\",\"last\":\"2.0.0.9\",\"asn\":-5}\n",
	      "{\"start\":\"1.0.0.9\",\"end\":\"1.0.0.0\",\"asn\":5}\n",
	      "{\"start\":\"1.0.0.0/8\",\"end\":\"1.0.0.9\"}\n", "{\"start\":\"1.0.0.0\",\"end\":5}\n{\"network\":5}\n",
	      "{\"asn\":5}\n{\"asn\":6}\n",
	      "{\"ip\":\"1.0.0.1\",\"organization\":\"b\",\"as_name\":\"a\",\"asn\":null}\n{\"ip\":\"1.0.0.2\",\"asn\":7,\"name\":\"x\\ny\"}\n",
	      "{\"ip\":\"1.0.0.1\",\"asn\":7}\n{\"ip\":\"1.0.0.2\",\"asn\":8}\n{\"ip\":\"1.0.0.3\",\"asn\":true}\n{\"ip\":\"\",\"asn\":9}\n");
}

/* --- JSON --- */

static void members_of(void)
{
	OF("json", "", "[\"1.0.0.1\",\"1.0.0.2\"]", "[]", "{}", "null", "\"1.0.0.1\"", "5", "[5]", "[\"x\"]",
	   "[\"1.0.0.1\",\"x\",5,null,\"\"]", "{\"ip\":\"1.0.0.1\",\"x\":\"1.0.0.2\"}", "{\"ip\":5}",
	   "{\"ip\":[\"1.0.0.1\",[\"1.0.0.2\"]]}", "{\"a\":{\"b\":[{\"cidr\":\"1.0.0.0/8\"}]}}",
	   "{\"ip\":\"1.0.0.1\",\"scope\":\"Country\"}", "{\"value\":\"1.0.0.1\",\"scope\":\"ip\"}",
	   "{\"value\":\"1.0.0.0/8\",\"scope\":\"RANGE\"}", "{\"value\":\"DE\",\"scope\":5}",
	   "{\"key\":\"a\",\"value\":\"1.0.0.1\"}", "{\"key\":\"a\",\"value\":\"1.0.0.1\",\"scope\":\"ip\"}",
	   "{\"ip\":null,\"ip_prefix\":\"\",\"ipv6_prefix\":\"::/64\"}", "{\"x\":[\"a\",\"1.0.0.1\"]}",
	   "{\"x\":[\"a\",\"b\"]}", "[{\"ip\":\"1.0.0.1\"},{\"ip\":\"x\"},{\"ip\":\"1.0.0.2\"}]",
	   "{\"ip\":\"1.0.0.1\"}\n{\"ip\":\"x\"}\n{\"ip\":\"1.0.0.2\"}\n");
}

static void syntax(void)
{
	OF("json", "", "[\"1.0.0.1\"", "[\"1.0.0.1\",]", "[\"1.0.0.1\" \"1.0.0.2\"]", "[\"1.0.0.1\",\n\"x]\n",
	   "{\"ip\":\"1.0.0.1\"\n", "{\"ip\":\"1.0.0.1\"}\nrubbish\n{\"ip\":\"1.0.0.2\"}\n",
	   "{\"ip\":\"1.0.0.1\",\"ip\":\"1.0.0.2\"}", "[\"1.0.0.1\"]]", "[\"1.0.0.1\"]\n[\"1.0.0.2\"]", "[ ]",
	   "[ \n ]\n", "[,]", "{\n\"ip\":\n\"1.0.0.1\",\n\"cidr\":\n\"x\"}\n", "[\"1.0.0.0\\/8\",\n\"1.0.0.0\\/x\"]",
	   "[\"\\u0031.0.0.1\",\n\"\\u0078\"]", "{\"ip\":\"\xc3\xa4\"}", "{\"ip\":\"\xff\"}\n",
	   "{\"ip\":\n\n\"1.0.0.1\",x\"\xc3\xa4\"}\n{\"ip\":\"1.0.0.2\"}", " \t\r\n");
	hidden = true;
	OF("json", "", "[\"1.0.0.1\"", "{\"ip\":\"x\"}", "[\"1.0.0.1\" \"1.0.0.2\"]");
	hidden = false;
}

static void rows_of_json(void)
{
	OF("json", "cc=DE",
	   "[{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"},{\"ip\":\"1.0.0.2\",\"cc\":\"FR\"},{\"ip\":\"1.0.0.3\"}]",
	   "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}\n{\"ip\":\"1.0.0.2\",\"cc\":\"de\"}\n{\"ip\":\"1.0.0.3\",\"cc\":\"FR\"}\n{\"ip\":\"x\",\"cc\":\"DE\"}\n",
	   "{\"network\":\"1.0.0.0/8\",\"cc\":\"DE\"}\n{\"network\":\"2.0.0.0/8\",\"cc\":\"DE\"}\n{\"network\":5,\"cc\":\"DE\"}\n",
	   "{\"start\":\"1.0.0.0\",\"end\":\"1.0.0.9\",\"cc\":\"DE\"}\n{\"start\":\"2.0.0.0\",\"end\":\"2.0.0.9\",\"cc\":\"DE\"}\n{\"start\":\"2.0.0.9\",\"end\":\"2.0.0.0\",\"cc\":\"DE\"}\n",
	   "{\"rows\":[{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}],\"cc\":\"FR\"}",
	   "{\"rows\":[{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}],\"cc\":[\"DE\"]}",
	   "{\"ip\":\"1.0.0.1\",\"land\":\"DE\",\"x\xc3\xa4\":1}", "{}", "[]", "[{}]",
	   "{\"cc\":\"DE\"}\n{\"cc\":\"DE\"}\n",
	   "[{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"},{\"ip\":\"x\",\"cc\":\"DE\"},{\"ip\":\"1.0.0.2\",\"cc\":\"DE\"}]",
	   "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}\n{\"ip\":\"1.0.0.2\",\"cc\":\"DE\",\"scope\":\"ip\"}\n{\"value\":\"1.0.0.3\",\"key\":\"1\",\"cc\":\"DE\"}\n");
	OF("json", "x=5,true,false",
	   "{\"ip\":\"1.0.0.1\",\"x\":5}\n{\"ip\":\"1.0.0.2\",\"x\":\"5\"}\n{\"ip\":\"1.0.0.3\",\"x\":true}\n{\"ip\":\"1.0.0.4\",\"x\":false}\n{\"ip\":\"1.0.0.5\",\"x\":null}\n{\"ip\":\"1.0.0.6\",\"x\":5.0}\n{\"ip\":\"1.0.0.7\",\"x\":6}\n",
	   "[{\"ip\":\"1.0.0.1\",\"x\":5},{\"ip\":\"1.0.0.2\",\"x\":\"5\"},{\"ip\":\"1.0.0.3\",\"x\":true},{\"ip\":\"1.0.0.4\",\"x\":false},{\"ip\":\"1.0.0.5\",\"x\":null},{\"ip\":\"1.0.0.6\",\"x\":5.0},{\"ip\":\"1.0.0.7\",\"x\":6}]");
	OF("json",
	   "x=", "{\"ip\":\"1.0.0.1\",\"x\":null}\n{\"ip\":\"1.0.0.2\",\"x\":\"\"}\n{\"ip\":\"1.0.0.3\",\"x\":0}\n");
	OF("json", "cc=DE&asn=5",
	   "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\",\"asn\":5}\n{\"ip\":\"1.0.0.2\",\"cc\":\"DE\",\"asn\":6}\n{\"ip\":\"1.0.0.3\",\"cc\":\"DE\"}\n{\"ip\":\"1.0.0.4\",\"asn\":5}\n",
	   "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}");
	hidden = true;
	OF("json", "cc=DE", "{\"ip\":\"1.0.0.1\",\"land\":\"DE\"}");
	hidden = false;
}

/* --- Each entry, with its line --- */

static void entries(void)
{
	static const struct {
		const char *format, *where, *text;
	} texts[] = {
		{ "json", "", "[\"1.0.0.1\",\n\"1.0.0.2\",\n\n\"1.0.0.0\\/8\"]" },
		{ "json", "", "{\"ip\":\n\"1.0.0.1\"}\n{\"ip\":\"1.0.0.2\"}\n" },
		{ "json", "cc=DE", "{\"ip\":\"1.0.0.1\",\"cc\":\"DE\"}\n\n{\"ip\":\"1.0.0.2\",\"cc\":\"DE\"}\n" },
		{ "json", "cc=DE",
		  "[{\"start\":\"1.0.0.1\",\"end\":\"1.0.0.2\",\"cc\":\"DE\"},\n{\"start\":\"1.0.0.5\",\"end\":\"1.0.0.9\",\"cc\":\"DE\"}]" },
		{ "csv", "cc=DE", "net,x,cc\n1.0.0.0/8,\"a\nb\",DE\n2.0.0.0/8,,DE\n" },
		{ NULL, "", "1.0.0.1\n\n# a comment\n2.0.0.0/8\n" },
		{ NULL, "", "a,1.0.0.1\nb,1.0.0.2\n" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct reader_options o = { .format = texts[i].format, .each = on_entry };

		snprintf(o.where, sizeof(o.where), "%s", texts[i].where);
		printf("%zu:", i);
		read_text(texts[i].text, strlen(texts[i].text), o);
	}
}

/* --- Longer than what is looked at, or than a line may be --- */

static void long_ones(void)
{
	static char text[1 << 20];
	struct reader_options o = { .where = "cc=DE" };
	size_t at = 0;

	/* Behind the first rows stands what would be another heading. */
	at += (size_t)sprintf(text, "net,cc\n");
	for (unsigned int i = 0; i < 40000; i++)
		at += (size_t)sprintf(text + at, "10.%u.%u.1,%s\n", i / 256, i % 256, i % 20000 ? "FR" : "DE");
	printf("many rows:");
	read_text(text, at, o);
	at = (size_t)sprintf(text, "net,cc,x\n");
	for (unsigned int i = 0; i < 200; i++) {
		at += (size_t)sprintf(text + at, "10.0.%u.1,%s,", i, i % 2 ? "FR" : "DE");
		memset(text + at, 'x', 2000);
		at += 2000;
		text[at++] = '\n';
	}
	printf("rows that the first look cuts:");
	read_text(text, at, o);
	for (unsigned int more = 0; more < 2; more++) {
		at = (size_t)sprintf(text, "net,x,cc\n1.0.0.0/8,");
		memset(text + at, 'x', 1 << 17);
		at = 9 + (1 << 16) - 3 + more;
		at += (size_t)sprintf(text + at, ",DE\n2.0.0.0/8,,DE\n");
		printf("a line of 64 KiB and %u:", more);
		read_text(text, at, o);
	}
	/* One row that the window cuts. */
	at = (size_t)sprintf(text, "net,x,cc\n1.0.0.0/8,\"");
	memset(text + at, '\n', 300000);
	at += 300000;
	at += (size_t)sprintf(text + at, "\",DE\n2.0.0.0/8,,DE\n");
	printf("a quote over many lines:");
	read_text(text, at, o);
	printf("a NUL:");
	read_text("net,cc\n1.0.0.0/8,\0DE\n2.0.0.0/8,DE\n", 34, o);
}

static const struct scene scenes[] = {
	{ "whose they are", named }, /* first: the conditions of others would stay in this process */
	{ "columns", columns },
	{ "columns by number", numbers },
	{ "quotes", quotes },
	{ "ranges of two columns", ranges_of_two },
	{ "several columns of addresses", several },
	{ "members", members_of },
	{ "syntax", syntax },
	{ "rows of JSON", rows_of_json },
	{ "each entry", entries },
	{ "long ones", long_ones },
};

static void happens(void)
{
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "rows", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
