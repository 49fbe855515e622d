// SPDX-License-Identifier: GPL-2.0-only
/* The programs that ask where packets come from that leave. */
#include "egress.h"
