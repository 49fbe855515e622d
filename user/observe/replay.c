// SPDX-License-Identifier: GPL-2.0-only
#include "observe/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bpf/hash.h"
#include "bpf/inner.h"
#include "filter/arrays.h"
#include "observe/senders.h"

_Static_assert(FRAME_BYTES >= HEADERS_MAX, "a frame has all that is ever looked at");

/* What a frame's type leads to lies behind what was captured of it. */
static bool ends_too_early(const struct frame *frame, const struct captured *p)
{
	const uint8_t *at = FRAME_AT(frame);
	uint16_t type;

	if (p->size >= p->length || frame->n >= HEADERS_MAX)
		return false;
	if (frame->n < ETH_HLEN)
		return true;
	type = (uint16_t)(at[12] << 8 | at[13]);
	return type == ETH_P_IP || type == ETH_P_IPV6 || type == ETH_P_8021Q || type == ETH_P_8021AD ||
	       type == ETH_P_PPP_SES;
}

static void read_source(const struct frame *frame, __u32 answer, struct replay_source *who)
{
	const struct packet_bytes bytes = { FRAME_AT(frame), frame->n };
	struct source source;
	struct inner inner = { 0 };
	uint64_t where;

	if (answer & ANSWER_INNER) {
		where = find_inner(&bytes);
		inner_read(&bytes, where, &inner);
		who->family = (uint8_t)INNER_FAMILY(where);
		source = (struct source){ .ipv4 = NET32(inner.source[0]), .ipv6 = inner.source };
	} else {
		who->family = (uint8_t)parse_source(bytes.at, bytes.at + bytes.n, &source);
	}
	if (who->family == SOURCE_IPV4)
		who->num = source.ipv4;
	else if (who->family == SOURCE_IPV6)
		who->num = (ip6)source_ipv6(&source, 0) << 64 | source_ipv6(&source, 1);
	else
		who->family = 0;
}

bool replay_judge(const struct generation *g, const struct captured *p, __u32 *answer, struct replay_source *who)
{
	struct frame frame = { .n = 0 };
	__s64 is;

	*who = (struct replay_source){ .fate = FATE_PASSED };
	*answer = ANSWER_UNPARSED;
	if (p->outgoing)
		return false;
	frame_make_of(&frame, p);
	is = decide_packet(g, FRAME_AT(&frame), FRAME_AT(&frame) + frame.n);
	if (is >= 0 && !(is & ANSWER_DROP) && g->inner)
		is = inner_judge(g, &(struct packet_bytes){ FRAME_AT(&frame), frame.n }, (__u32)is);
	if (is == INNER_HIDDEN)
		is = (int)ANSWER_HIDDEN;
	/* What ends has not ended yet. */
	if (is > 0 && label_is_live(g, ANSWER_LABEL(is)))
		is &= ~(__s64)0xff;
	*answer = (__u32)is;
	if (is < 0)
		return *answer != ANSWER_UNPARSED || !ends_too_early(&frame, p);
	read_source(&frame, *answer, who);
	if (!(is & (ANSWER_DROP | ANSWER_SHADOW)))
		return true;
	who->fate = is & ANSWER_DROP ? FATE_DROPPED : FATE_SHADOW;
	who->label = ANSWER_LABEL(is);
	who->by_filter = ANSWER_STAGE(is) == STAGE_FILTER;
	return true;
}

static void count(struct tally *tally, uint64_t bytes)
{
	tally->packets++;
	tally->bytes += bytes;
}

#define SECOND_SLOTS (1u << 18)

_Static_assert(2 * REPLAY_SECONDS_MAX < SECOND_SLOTS, "a free slot is found soon");

/* In the order in which they come, until replay_end(); NULL: there are too many, or there is no memory. */
static struct replay_second *second_of(struct replay *r, int64_t second)
{
	uint32_t at = (uint32_t)fold((uint64_t)second * 0x9e3779b97f4a7c15ULL ^ replay_seed()) & (SECOND_SLOTS - 1);

	if (r->seconds_n && r->seconds[r->seconds_n - 1].second == second)
		return &r->seconds[r->seconds_n - 1];
	if (!r->second_at)
		r->second_at = calloc(SECOND_SLOTS, sizeof(*r->second_at));
	if (!r->second_at)
		return NULL;
	for (; r->second_at[at]; at = (at + 1) & (SECOND_SLOTS - 1))
		if (r->seconds[r->second_at[at] - 1].second == second)
			return &r->seconds[r->second_at[at] - 1];
	if (r->seconds_n == REPLAY_SECONDS_MAX || !GROW(r->seconds, r->seconds_n))
		return NULL;
	r->seconds[r->seconds_n++] = (struct replay_second){ .second = second };
	r->second_at[at] = (uint32_t)r->seconds_n;
	return &r->seconds[r->seconds_n - 1];
}

static int by_second(const void *a, const void *b)
{
	const struct replay_second *x = a, *y = b;

	return x->second < y->second ? -1 : x->second > y->second;
}

void replay_end(struct replay *r)
{
	if (r->seconds_n)
		qsort(r->seconds, r->seconds_n, sizeof(*r->seconds), by_second);
	free(r->second_at);
	r->second_at = NULL;
}

static void count_second(struct replay *r, const struct captured *p, bool dropped)
{
	struct replay_second *second = p->timed ? second_of(r, (int64_t)(p->time / 1000000000)) : NULL;

	if (second)
		count(dropped ? &second->dropped : &second->passed, p->length);
	else
		r->without_second++;
	if (!p->timed)
		return;
	if (!r->last || p->time < r->first)
		r->first = p->time;
	if (p->time > r->last)
		r->last = p->time;
}

static int count_sender(struct replay *r, const struct captured *p)
{
	struct frame frame = { .n = 0 };

	if (!r->senders || !p->timed)
		return 0;
	frame_make_of(&frame, p);
	return senders_add(r->senders, (int64_t)(p->time / 1000000000), FRAME_AT(&frame), frame.n, p->length, 1);
}

int replay_packet(struct replay *r, const struct captured *p, __u32 *answer, bool *judged)
{
	struct replay_source who;
	bool dropped;

	*judged = replay_judge(r->g, p, answer, &who);
	if (!*judged) {
		count(p->outgoing ? &r->outgoing : &r->too_short, p->length);
		return 0;
	}
	dropped = *answer == ANSWER_HIDDEN || who.fate == FATE_DROPPED;
	count(dropped ? &r->dropped : &r->passed, p->length);
	count_second(r, p, dropped);
	if (*answer == ANSWER_HIDDEN || *answer == ANSWER_UNPARSED) {
		count(*answer == ANSWER_HIDDEN ? &r->hidden : &r->unparsed, p->length);
		return 0;
	}
	if (who.fate != FATE_PASSED)
		count(&r->list[who.by_filter || (who.label == LABEL_LIVE && !r->live_is_known) ? REPLAY_UNLISTED
											       : who.label],
		      p->length);
	return (dropped ? 0 : count_sender(r, p)) ?: replay_table_count(&r->sources, &who, p->length);
}

void replay_free(struct replay *r)
{
	free(r->second_at);
	free(r->sources.slot);
	free(r->seconds);
	senders_free(r->senders);
}
