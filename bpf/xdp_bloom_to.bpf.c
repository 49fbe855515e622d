// SPDX-License-Identifier: GPL-2.0-only
/* The programs that ask about destinations. */
#define MATCH MATCH_DESTINATION
#include "xdp_bloom.bpf.c"
