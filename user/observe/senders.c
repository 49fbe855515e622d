// SPDX-License-Identifier: GPL-2.0-only
#include "observe/senders.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpf/detect.h"
#include "observe/capture_read.h"

#define SLOTS_LEAST 1024

struct sender {
	uint64_t key;
	int64_t second;
	uint64_t now[LIMITED], peak[LIMITED];
	uint8_t kind; /* 0: the slot is free */
};

struct senders {
	struct detect d; /* its seeds alone */
	struct sender *slot;
	size_t slots, n;
	unsigned int halved;
};

struct senders *senders_new(void)
{
	struct senders *s = calloc(1, sizeof(*s));
	uint64_t seeds[4];

	if (!s || getrandom(seeds, sizeof(seeds), 0) != sizeof(seeds)) {
		free(s);
		return NULL;
	}
	s->d.hash = (struct hash_seeds){ seeds[0], seeds[1] | 1, seeds[2] | 1, seeds[3] | 1 };
	return s;
}

void senders_free(struct senders *s)
{
	if (s)
		free(s->slot);
	free(s);
}

static uint64_t hash_of(const struct senders *s, uint64_t key, uint64_t kind)
{
	return kind == SUSPECT_IPV6 ? hash_ipv6(s->d.hash, 0, key, 0) : hash_ipv4(s->d.hash, (uint32_t)key);
}

static bool is_followed(const struct senders *s, uint64_t hash)
{
	return !(hash >> 32 & ((1ULL << s->halved) - 1));
}

/* The slot that has it, or the free one that it would go into. */
static struct sender *find(struct sender *slot, size_t slots, uint64_t hash, uint64_t key, uint64_t kind)
{
	size_t at = fold(hash * 0x9e3779b97f4a7c15ULL) & (slots - 1);

	while (slot[at].kind && (slot[at].key != key || slot[at].kind != kind))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int make_room(struct senders *s)
{
	size_t slots = s->slots ?: SLOTS_LEAST, kept = 0;
	struct sender *to;

	if (s->n >= SENDERS_MAX)
		s->halved++;
	else if (s->slots)
		slots *= 2;
	to = calloc(slots, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++) {
		const struct sender *from = &s->slot[i];
		uint64_t hash = hash_of(s, from->key, from->kind);

		if (!from->kind || !is_followed(s, hash))
			continue;
		*find(to, slots, hash, from->key, from->kind) = *from;
		kept++;
	}
	free(s->slot);
	s->slot = to;
	s->slots = slots;
	s->n = kept;
	return 0;
}

static void count(struct sender *who, enum packet_class class, uint64_t n)
{
	who->now[class] += n;
	if (who->now[class] > who->peak[class])
		who->peak[class] = who->now[class];
}

int senders_add(struct senders *s, int64_t second, const uint8_t *bytes, size_t size, uint64_t length, uint64_t packets)
{
	struct detect_packet packet = { .bytes = length };
	struct frame frame = { .n = (uint32_t)(size < FRAME_BYTES ? size : FRAME_BYTES) };
	struct sender *who;

	/* Some machines read an address only where it is aligned. */
	memcpy(FRAME_AT(&frame), bytes, frame.n);
	if (!detect_parse(&s->d, FRAME_AT(&frame), FRAME_AT(&frame) + frame.n, 0, &packet) || is_nobody(&packet) ||
	    !is_followed(s, packet.hash))
		return 0;
	if (s->n >= s->slots / 2) {
		int err = make_room(s);

		if (err || !is_followed(s, packet.hash))
			return err;
	}
	who = find(s->slot, s->slots, packet.hash, packet.key, packet.kind);
	if (!who->kind) {
		*who = (struct sender){ .key = packet.key, .kind = (uint8_t)packet.kind, .second = second };
		s->n++;
	}
	/* What comes late is counted with what came last: too much, rather than too little. */
	if (second > who->second)
		for (enum packet_class class = 0; class < LIMITED; class ++)
			who->now[class] = 0;
	who->second = second > who->second ? second : who->second;
	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (DETECT_IS_OF(&packet, class))
			count(who, class, class == CLASS_BYTES ? length : packets);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void note_busy(struct sender_class *c, const struct sender *who, enum packet_class class)
{
	size_t at = c->n < SENDERS_BUSIEST ? c->n++ : SENDERS_BUSIEST;

	while (at && c->busiest[at - 1].peak < who->peak[class]) {
		if (at < SENDERS_BUSIEST)
			c->busiest[at] = c->busiest[at - 1];
		at--;
	}
	if (at < SENDERS_BUSIEST) {
		c->busiest[at].key = who->key;
		c->busiest[at].kind = who->kind;
		c->busiest[at].peak = who->peak[class];
	}
}

/* 1, 2 or 5 and zeros. */
static double round_up(double rate)
{
	double ten = pow(10, floor(log10(rate)));

	return rate <= ten ? ten : rate <= 2 * ten ? 2 * ten : rate <= 5 * ten ? 5 * ten : 10 * ten;
}

static void propose(struct sender_class *c, enum packet_class class, const uint64_t *peak)
{
	double least = class == CLASS_BYTES ? LIMIT_BYTES_LEAST : 10 * LIMIT_LEAST,
	       most = class == CLASS_BYTES ? LIMIT_BYTES_MOST : LIMIT_MOST;
	uint64_t out = c->sources / 1000 ?: 1;

	if (out >= c->sources)
		out = c->sources - 1;
	c->proposed = fmin(fmax(round_up(2 * (double)peak[c->sources - 1 - out]), least), most);
	for (uint64_t i = c->sources; i && (double)peak[i - 1] > c->proposed / 2; i--)
		c->above++;
}

int senders_class(const struct senders *s, enum packet_class class, struct sender_class *is)
{
	uint64_t *peak = calloc(s->n + 1, sizeof(*peak));
	struct sender_class c = { 0 };

	if (!peak)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++) {
		const struct sender *who = &s->slot[i];

		if (!who->kind || !who->peak[class])
			continue;
		peak[c.sources++] = who->peak[class];
		note_busy(&c, who, class);
	}
	if (c.sources) {
		qsort(peak, c.sources, sizeof(*peak), by_size);
		c.median = peak[(c.sources - 1) / 2];
		c.most99 = peak[(uint64_t)ceil((double)c.sources * .99) - 1];
		c.most999 = peak[(uint64_t)ceil((double)c.sources * .999) - 1];
		propose(&c, class, peak);
	}
	free(peak);
	*is = c;
	return 0;
}

uint64_t senders_share(const struct senders *s)
{
	return 1ULL << s->halved;
}

const char *source_key_text(char text[PREFIX_TEXT_MAX], uint64_t key, uint64_t kind)
{
	if (kind == SUSPECT_IPV4)
		return prefix_text(text, (struct addr){ key, 4 }, -1);
	if (kind == SUSPECT_NET4)
		return prefix_text(text, (struct addr){ key << 8, 4 }, 24);
	if (kind == SUSPECT_NET6)
		return prefix_text(text, (struct addr){ (ip6)key << 80, 6 }, 48);
	return prefix_text(text, (struct addr){ (ip6)key << 64, 6 }, 64);
}
