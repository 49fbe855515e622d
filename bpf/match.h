/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which address of a packet is asked about: its source, its destination, or both. It is a matter of the whole program:
 * whoever asks about sources alone runs what knows of nothing else.
 */
#ifndef MATCH_H
#define MATCH_H

#include "decide.h"

#ifndef MATCH
#define MATCH MATCH_SOURCE
#endif

#if MATCH == MATCH_SOURCE

#define decide_matched	 decide_packet
#define decide_match_end decide_end

#else

/* What the clock makes of an answer: it says itself of which address it is. */
inline_never __u32 decide_match_end(const void *data, const void *end, __u32 answer)
{
	struct source source;
	int family = parse_source(data, end, &source), over = 0;

	if (answer & ANSWER_TO)
		source_turn(&source, family);
	if (family == SOURCE_IPV4)
		over = end_is_over4(NET32(source.ipv4));
	else if (family == SOURCE_IPV6)
		over = end_is_over6(source.ipv6);
	return end_answer(answer, over);
}

/* The answer for a packet: a drop, if either is to be dropped. The source is asked first. */
inline_always __s64 decide_matched(const struct generation *g, const void *data, const void *end)
{
	struct source source;
	int family = parse_source(data, end, &source);
	__s64 answer = 0, to;

	if (family != SOURCE_IPV4 && family != SOURCE_IPV6)
		return family == SOURCE_HIDDEN ? RARE((int)ANSWER_HIDDEN) : (int)ANSWER_UNPARSED;
	if (MATCH == MATCH_BOTH) {
		answer = decide_source(g, &source, family);
		RARE_ANSWER(answer, ends);
		goto ended;
	ends:
		if (ANSWER_LABEL(answer) == LABEL_ENDS)
			answer = decide_match_end(data, end, answer);
	ended:
		if (answer & ANSWER_DROP)
			return answer;
	}
	source_turn(&source, family);
	to = decide_source(g, &source, family);
	return to & (ANSWER_DROP | ANSWER_SHADOW) ? to | ANSWER_TO : answer & ANSWER_SHADOW ? answer : to;
}

#endif

#endif
