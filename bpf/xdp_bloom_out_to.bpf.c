// SPDX-License-Identifier: GPL-2.0-only
/* The programs that ask where packets go that leave. */
#define MATCH MATCH_DESTINATION
#include "egress.h"
