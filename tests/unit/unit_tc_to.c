// SPDX-License-Identifier: GPL-2.0-only
/* The programs of tc about destinations, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#define MATCH MATCH_DESTINATION
#include "bpf/tc.h"

#include "made_program.h"
#include "made_sockets.h"

static const struct shown known[] = {
#include "unit_tc_to.txt"
};

static struct shows shows = { .file = "tests/unit/unit_tc_to.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct made_map maps[] = {
	MADE_MAPS(counters_out),
	{ .map = NULL },
};

#include "made_worlds.h"
#include "made_tc.h"

static void word_for_word(void)
{
	made_maps = maps;
	in_each_world("", xdp_bloom_gen);
	of_tc();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
