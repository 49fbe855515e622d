/* SPDX-License-Identifier: GPL-2.0-only */
/* What a member of a fleet may be called: it is a part of its keys, and of patterns of an access list. */
#ifndef FLEET_NAME_H
#define FLEET_NAME_H

#include <stdbool.h>

#define MEMBER_NAME_MAX	  33
#define MEMBER_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

bool fleet_name_is_sound(const char *name);

#endif
