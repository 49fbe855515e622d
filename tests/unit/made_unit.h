/* SPDX-License-Identifier: GPL-2.0-only */
/* Behind one program: all frames in each world, and what is of tc alone, as NAME.txt has it. */
#ifndef MADE_UNIT_H
#define MADE_UNIT_H

#include "made_program.h"
#include "made_sockets.h"

static const struct shown known[] = {
#include SHOWN_TEXT
};

static struct shows shows = { .file = "tests/unit/" SHOWN_TEXT, .known = known, .n = sizeof(known) / sizeof(known[0]) };

#include "made_worlds.h"

#ifdef TC_H
#include "made_tc.h"
static const struct made_map maps[] = { MADE_MAPS(counters_out), { .map = NULL } };
#else
#define of_tc() ((void)0)
static const struct made_map maps[] = { MADE_MAPS(counters), { .map = NULL } };
#endif

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

#endif
