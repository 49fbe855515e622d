// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc that ask where packets come from. */
#include "tc.h"
