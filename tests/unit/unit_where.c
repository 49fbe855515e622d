// SPDX-License-Identifier: GPL-2.0-only
/* Which rows of a table are taken: how conditions are put together and read again, and what they hold of. */
#include "ktap.h"
#include "sets/where.h"

static void is(const char *reason, const char *wanted, const char *what)
{
	CHECK(!strcmp(reason ?: "taken", wanted), "%.40s: %s", what, reason ?: "taken");
}

static void refused(void)
{
	static const struct {
		const char *condition, *reason;
	} bad[] = {
		{ "a=1\n", "takes no control characters" },
		{ "a=\x7f", "takes no control characters" },
		{ "a=1\\", "takes nothing that ends with a backslash" },
		{ "0=1", "counts columns from 1 to 64" },
		{ "65=1", "counts columns from 1 to 64" },
		{ "99999999999999999999=1", "counts columns from 1 to 64" },
		{ "1=1", "taken" },
		{ "64=1", "taken" },
		{ "64x=1", "taken" },
		{ "-1=1", "taken" },
		{ "a=", "taken" },
	};
	static const char *const no_equals[] = { "", "a", "=1", " =1", "a\\=1" };
	char where[WHERE_MAX] = "", before[WHERE_MAX];
	struct where w;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		where[0] = '\0';
		is(where_add(where, bad[i].condition), bad[i].reason, bad[i].condition);
		CHECK(!strcmp(where, strcmp(bad[i].reason, "taken") ? "" : bad[i].condition), "'%s' became '%s'",
		      bad[i].condition, where);
	}
	for (size_t i = 0; i < sizeof(no_equals) / sizeof(no_equals[0]); i++) {
		where[0] = '\0';
		is(where_add(where, no_equals[i]), "takes COLUMN=VALUE, such as country=CN or asn=9009,45090",
		   no_equals[i]);
	}
	/* As many as there may be. */
	where[0] = '\0';
	for (int i = 0; i < WHERE_CONDITIONS; i++)
		is(where_add(where, "a=1"), "taken", "one of eight");
	memcpy(before, where, sizeof(where));
	is(where_add(where, "a=1"), "may be given 8 times", "the ninth");
	CHECK(!strcmp(before, where), "'%s' became '%s'", before, where);
	CHECK(!where_compile(&w, where) && w.n == WHERE_CONDITIONS, "%zu conditions", w.n);
}

/* The longest, and one byte more; the same where it is put together, and where each & takes two. */
static void longest(void)
{
	static const char more[] = "takes 1000 bytes at most, all together";
	char where[WHERE_MAX], condition[2 * WHERE_MAX];
	struct where w;

	for (size_t n = WHERE_MAX - 8; n < WHERE_MAX + 8; n++) {
		const char *wanted = n <= WHERE_MAX - 3 ? "taken" : more;

		memset(condition, 'x', n);
		condition[1] = condition[5] = '=';
		condition[n] = '\0';
		where[0] = '\0';
		is(where_add(where, condition), wanted, "one");
		strcpy(where, "a=1");
		is(where_add(where, condition + 4), wanted, "behind another");
		memset(condition + 2, '&', n / 2 - 1);
		condition[n / 2 + 1] = '\0';
		where[0] = '\0';
		is(where_add(where, condition), 2 * (n / 2) <= WHERE_MAX - 2 ? "taken" : more, "of &");
	}
	memset(condition, 'x', WHERE_MAX);
	condition[1] = '=';
	condition[WHERE_MAX] = '\0';
	is(where_compile(&w, condition), more, "as it is kept");
	condition[WHERE_MAX - 1] = '\0';
	is(where_compile(&w, condition), "taken", "as it is kept");
}

static void again(void)
{
	static const struct {
		const char *given, *kept;
	} conditions[] = {
		{ "country=CN,HK", "country=CN,HK" },
		{ "a\\=b=\\,x,\\\\", "a\\=b=\\,x,\\\\" },
		{ "c=x&y", "c=x\\&y" },
		{ " 3 = AS9009 , as12x,9", " 3 = AS9009 , as12x,9" },
		{ "d=", "d=" },
	};
	char where[WHERE_MAX] = "", condition[WHERE_MAX], copy[2 * WHERE_MAX] = "";
	struct where w;
	size_t at = 0, n = 0;

	for (size_t i = 0; i < 5; i++)
		is(where_add(where, conditions[i].given), "taken", conditions[i].given);
	while (where_next(where, &at, condition)) {
		if (!CHECK(n < 5 && !strcmp(condition, conditions[n].kept), "%zu is '%s'", n, condition))
			return;
		n++;
		strcat(strcat(copy, *copy ? "&" : ""), condition);
	}
	CHECK(n == 5 && !strcmp(copy, where), "'%s' of '%s'", copy, where);
	if (!CHECK(!where_compile(&w, where) && w.n == 5, "%zu conditions", w.n))
		return;
	CHECK(w.conditions[3].number == 3 && !w.conditions[0].number && w.conditions[1].values == 2,
	      "the third column");
	CHECK(where_holds(&w, 0, "CN", 2) && where_holds(&w, 0, " hk\t\r\n", 6) && !where_holds(&w, 0, "CNHK", 4) &&
		      !where_holds(&w, 0, "", 0) && !where_holds(&w, 0, "C", 1) && !where_holds(&w, 0, ",x", 2),
	      "a country");
	CHECK(where_holds(&w, 1, ",x", 2) && where_holds(&w, 1, "\\", 1) && !where_holds(&w, 1, "x", 1), "a comma");
	CHECK(where_holds(&w, 2, "X&Y", 3) && !where_holds(&w, 2, "x", 1), "an &");
	CHECK(where_holds(&w, 3, "9009", 4) && where_holds(&w, 3, "aS9009 ", 7) && where_holds(&w, 3, "AS9", 3) &&
		      !where_holds(&w, 3, "S9009", 5) && !where_holds(&w, 3, "12x", 3) &&
		      where_holds(&w, 3, "AS12X", 5) && !where_holds(&w, 3, "AS", 2),
	      "an AS");
	CHECK(where_holds(&w, 4, "", 0) && where_holds(&w, 4, " ", 1) && !where_holds(&w, 4, "d", 1), "nothing");
	CHECK(where_names(&w, 0, "Country", 7) && where_names(&w, 0, " country\t", 9) &&
		      !where_names(&w, 0, "countr", 6) && !where_names(&w, 0, "country code", 12) &&
		      !where_names(&w, 0, "", 0) && !where_names(&w, 0, "  ", 2),
	      "a column");
	where[0] = '\0';
	is(where_add(where, "asn=12,x5,AS,a"), "taken", "numbers");
	if (!CHECK(!where_compile(&w, where) && w.n == 1 && w.conditions[0].values == 4, "%zu conditions", w.n))
		return;
	CHECK(where_holds(&w, 0, "12", 2) && where_holds(&w, 0, "as12", 4) && where_holds(&w, 0, "AS012", 5) == false &&
		      !where_holds(&w, 0, "ax12", 4) && !where_holds(&w, 0, "xs12", 4) &&
		      !where_holds(&w, 0, "asx5", 4) && where_holds(&w, 0, "x5", 2) && where_holds(&w, 0, "as", 2) &&
		      where_holds(&w, 0, "A", 1) && !where_holds(&w, 0, "as1", 3) && !where_holds(&w, 0, "as12a", 5) &&
		      !where_holds(&w, 0, "bs12", 4),
	      "a number of an AS");
	is(where_add(where, "asn=12"), "taken", "another");
	CHECK(!where_compile(&w, where) && w.n == 2 && where_holds(&w, 1, "12", 2) && !where_holds(&w, 1, "x5", 2),
	      "the second has the values of the first");
	is(where_compile(&w, "country=CN&a\\=b\\,x=1"), "taken", "read again");
	CHECK(where_names(&w, 1, "a=b,x", 5) && w.conditions[1].values == 1, "a column with signs");
	is(where_add(where, "asn=5"), "taken", "the last");
	is(where_compile(&w, "a\\=b=\\,x&b=1"), "taken", "two");
	CHECK(where_names(&w, 0, "a=b", 3) && !where_names(&w, 0, "a\\=b", 4), "a column with a sign");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is refused", refused },
		{ "the longest", longest },
		{ "read again", again },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
