// SPDX-License-Identifier: GPL-2.0-only
#include "standard.h"

#include <errno.h>
#include <stdbool.h>

#include "log.h"

int standard_input(void)
{
	static bool taken;

	if (opt_line)
		return because(-EINVAL, "'-': a line of a file of commands reads no standard input");
	if (taken)
		return because(-EBUSY, "'-': standard input can be read only once");
	taken = true;
	return 0;
}
