// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc about sources, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#include "bpf/tc.h"

#define SHOWN_TEXT "unit_tc.txt"
#include "made_unit.h"
