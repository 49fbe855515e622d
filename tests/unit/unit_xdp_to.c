// SPDX-License-Identifier: GPL-2.0-only
/* The programs of XDP about destinations, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#define MATCH MATCH_DESTINATION
#include "bpf/xdp_bloom.bpf.c"

#include "made_program.h"
#include "made_sockets.h"

static const struct shown known[] = {
#include "unit_xdp_to.txt"
};

static struct shows shows = { .file = "tests/unit/unit_xdp_to.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct made_map maps[] = {
	MADE_MAPS(counters),
	{ .map = NULL },
};

#include "made_worlds.h"

static void word_for_word(void)
{
	made_maps = maps;
	in_each_world("", xdp_bloom_gen);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
