// SPDX-License-Identifier: GPL-2.0-only
/* Users by their names and numbers, and as they are shown. */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/types.h>

#include "base/log.h"
#include "ktap.h"

static int look_err;
static const char *name_of_5;

static struct passwd *given_name(const char *name)
{
	static struct passwd one = { .pw_uid = 4711 };

	if (look_err)
		errno = look_err;
	return !look_err && !strcmp(name, "edge") ? &one : NULL;
}

static struct passwd *given_number(uid_t uid)
{
	static struct passwd one;

	one.pw_name = (char *)(uintptr_t)name_of_5;
	return uid == 5 && name_of_5 ? &one : NULL;
}

#define getpwnam given_name
#define getpwuid given_number
#include "base/users.c"

static void named(void)
{
	static const struct {
		const char *text;
		uid_t uid;
		const char *wrong; /* NULL: it is one */
	} cases[] = {
		{ "0", 0, NULL },
		{ "010", 10, NULL },
		{ "4294967294", 4294967294u, NULL },
		{ "4294967295", 0, "4294967295: there is no such user" },
		{ "99999999999999999999999", 0, "99999999999999999999999: there is no such user" },
		{ "edge", 4711, NULL },
		{ "none", 0, "none: there is no such user" },
		{ "5x", 0, "5x: there is no such user" },
		{ "", 0, ": there is no such user" },
		{ "-1", 0, "-1: there is no such user" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uid_t uid = 77;
		int err;

		errno = EBADF; /* of something before */
		err = user_named(cases[i].text, &uid);
		CHECK(cases[i].wrong ? err_is(err, ENOENT) && !strcmp(reason(err), cases[i].wrong) && uid == 77
				     : !err && uid == cases[i].uid,
		      "'%s' is %u: %s", cases[i].text, uid, err ? reason(err) : "found");
	}
	look_err = EIO;
	CHECK(err_is(user_named("edge", &(uid_t){ 0 }), EIO), "another error");
	look_err = 0;
}

static void shown_as(void)
{
	static const char *const names[][2] = { { NULL, "user 5" },
						{ "edge", "user 5 (edge)" },
						{ "e\x1b", "user 5 (e?)" } };
	static char long_one[200];
	char text[USER_TEXT_MAX];

	for (size_t i = 0; i < 3; i++) {
		name_of_5 = names[i][0];
		CHECK(!strcmp(user_text(text, 5), names[i][1]), "'%s'", text);
	}
	memset(long_one, 'x', sizeof(long_one) - 1);
	name_of_5 = long_one;
	CHECK(!strncmp(user_text(text, 5), "user 5 (xxx", 11) && strlen(text) < USER_TEXT_MAX, "'%s'", text);
	CHECK(!strcmp(user_text(text, 4294967295u), "user 4294967295"), "'%s'", text);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "whose a text is", named },
		{ "how they are shown", shown_as },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
