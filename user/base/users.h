/* SPDX-License-Identifier: GPL-2.0-only */
/* Users by name and number. */
#ifndef BASE_USERS_H
#define BASE_USERS_H

#include <sys/types.h>

/* "crowdsec" or "998": 0, or -errno with the reason recorded. */
int user_named(const char *text, uid_t *uid);

/* NULL: it has none. Until the next question. */
const char *user_name(uid_t uid);

/* "user 998 (crowdsec)", or without a name where there is none. */
#define USER_TEXT_MAX 96
const char *user_text(char text[USER_TEXT_MAX], uid_t uid);

#endif
