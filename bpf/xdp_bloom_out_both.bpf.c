// SPDX-License-Identifier: GPL-2.0-only
/* The programs that ask about both addresses of packets that leave. */
#define MATCH MATCH_BOTH
#include "egress.h"
