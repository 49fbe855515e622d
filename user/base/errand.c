// SPDX-License-Identifier: GPL-2.0-only
#include "base/errand.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"

struct errand errand;

int errand_decline(const char *why)
{
	if (!errand.declined)
		snprintf(errand.why, sizeof(errand.why), "%s", why);
	errand.declined = true;
	return because(-ECANCELED, "%s", why);
}
