// SPDX-License-Identifier: GPL-2.0-only
#include "base/users.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/log.h"

/* By name, or where that is NULL by number. */
static const struct passwd *find(const char *name, uid_t uid)
{
#ifdef STATIC_COMMAND
	/* Others who know users would be libraries. */
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *found;

	if (!file)
		return NULL;
	do
		found = fgetpwent(file);
	while (found && (name ? strcmp(found->pw_name, name) != 0 : found->pw_uid != uid));
	fclose(file);
	return found;
#else
	return name ? getpwnam(name) : getpwuid(uid);
#endif
}

int user_named(const char *text, uid_t *uid)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long long number = digits && !text[digits] ? strtoull(text, NULL, 10) : ULLONG_MAX;
	const struct passwd *found;

	if (number < (uid_t)-1) {
		*uid = (uid_t)number;
		return 0;
	}
	errno = 0;
	found = find(text, 0);
	if (!found)
		return because(errno ? -errno : -ENOENT, "%s: %s", text,
			       errno ? strerror(errno) : "there is no such user");
	*uid = found->pw_uid;
	return 0;
}

const char *user_name(uid_t uid)
{
	const struct passwd *found = find(NULL, uid);

	return found ? found->pw_name : NULL;
}

const char *user_text(char text[USER_TEXT_MAX], uid_t uid)
{
	const char *found = user_name(uid);
	char name[64];

	if (found)
		snprintf(text, USER_TEXT_MAX, "user %u (%s)", uid, clean_copy(name, sizeof(name), found));
	else
		snprintf(text, USER_TEXT_MAX, "user %u", uid);
	return text;
}
