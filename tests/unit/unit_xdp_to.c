// SPDX-License-Identifier: GPL-2.0-only
/* The programs of XDP about destinations, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#define MATCH MATCH_DESTINATION
#include "bpf/xdp_bloom.bpf.c"

#define SHOWN_TEXT "unit_xdp_to.txt"
#include "made_unit.h"
