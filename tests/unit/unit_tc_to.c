// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc about destinations, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#define MATCH MATCH_DESTINATION
#include "bpf/tc.h"

#define SHOWN_TEXT "unit_tc_to.txt"
#include "made_unit.h"
