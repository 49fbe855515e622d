// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/name.h"

#include <string.h>

bool fleet_name_is_sound(const char *name)
{
	size_t n = strlen(name);

	return n && n < MEMBER_NAME_MAX && strspn(name, MEMBER_NAME_BYTES) == n && *name != '-';
}
