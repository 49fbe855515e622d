// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc that ask about both addresses. */
#define MATCH MATCH_BOTH
#include "tc.h"
