// SPDX-License-Identifier: GPL-2.0-only
/* The programs that ask about both addresses. */
#define MATCH MATCH_BOTH
#include "xdp_bloom.bpf.c"
