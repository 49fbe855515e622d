// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc that ask where packets go. */
#define MATCH MATCH_DESTINATION
#include "tc.h"
