// SPDX-License-Identifier: GPL-2.0-only
/* Who sends how much in its busiest second, against a naive count; and the limits proposed, by the detector's own code.
 */
#include <math.h>
#include <sys/random.h>

#include "bpf/detect.h"
#include "frames.h"
#include "ktap.h"
#include "naive.h"
#include "observe/senders.h"

/* Random bytes, or these. */
static int given_bytes = -1;

static ssize_t given_random(void *to, size_t size, unsigned int flags)
{
	if (given_bytes < 0)
		return getrandom(to, size, flags);
	memset(to, given_bytes, size);
	return (ssize_t)size;
}

#define getrandom given_random
#include "observe/senders.c"
#undef getrandom

enum { FEW = 300, PACKETS = 200000, SPAN = 20, TICK = 4000000 };

#define SECOND 1000000000ULL

/* A frame of an IPv4 source: of UDP, TCP with SYN, TCP without, ICMP, or a fragment of UDP. */
enum kind { UDP, SYN, TCP, ICMP, FRAGMENT, KINDS };
static const __u8 protocols[KINDS] = { 17, 6, 6, 1, 17 };

static void frame_of(uint8_t frame[64], uint32_t source, enum kind kind)
{
	memset(frame, 0, 64);
	frame[12] = 8;
	frame[14] = 0x45;
	frame[20] = kind == FRAGMENT ? 0x20 : 0;
	frame[23] = protocols[kind];
	for (int i = 0; i < 4; i++)
		frame[26 + i] = (uint8_t)(source >> (24 - 8 * i));
	frame[47] = kind == SYN ? 2 : 16;
}

static bool is_of(enum kind kind, enum packet_class class)
{
	return class == CLASS_PACKETS || class == CLASS_BYTES || (class == CLASS_SYN && kind == SYN) ||
	       (class == CLASS_UDP && (kind == UDP || kind == FRAGMENT)) || (class == CLASS_ICMP && kind == ICMP) ||
	       (class == CLASS_FRAGMENTS && kind == FRAGMENT);
}

static struct sent {
	uint64_t time;
	uint32_t source, length;
	enum kind kind;
} sent[PACKETS];

static uint64_t naive[FEW][LIMITED][2 * SPAN], peaks[FEW][LIMITED];

/* Sources of rates over three orders of magnitude, in the order of time. */
static void make_packets(void)
{
	uint64_t now = 1700000000ULL * SECOND;

	memset(naive, 0, sizeof(naive));
	memset(peaks, 0, sizeof(peaks));
	for (size_t i = 0; i < PACKETS; i++) {
		double u = (double)(ktap_random() >> 11) / 9007199254740992.0;
		uint32_t who = (uint32_t)(FEW * u * u * u);
		struct sent *p = &sent[i];

		now += ktap_random() % (2 * SPAN * SECOND / PACKETS);
		*p = (struct sent){ now, who, 60 + (uint32_t)(ktap_random() % 1400),
				    (enum kind)(ktap_random() % KINDS) };
		for (enum packet_class class = 0; class < LIMITED_ALONE; class ++) {
			uint64_t *in = &naive[who][class][now / SECOND % (2 * SPAN)];

			if (!is_of(p->kind, class))
				continue;
			*in += class == CLASS_BYTES ? p->length : 1;
			if (*in > peaks[who][class])
				peaks[who][class] = *in;
		}
	}
}

static struct senders *add_all(void)
{
	struct senders *s = senders_new();

	ENOUGH(s);
	for (size_t i = 0; i < PACKETS; i++) {
		uint8_t frame[64];

		frame_of(frame, 0x0a000000 + sent[i].source, sent[i].kind);
		ENOUGH(!senders_add(s, (int64_t)(sent[i].time / SECOND), frame, sizeof(frame), sent[i].length, 1));
	}
	return s;
}

static bool as_counted(enum packet_class class, const struct sender_class *c)
{
	uint64_t all[FEW];
	size_t n = 0, above = 0;

	for (size_t i = 0; i < FEW; i++)
		if (peaks[i][class])
			all[n++] = peaks[i][class];
	qsort(all, n, sizeof(*all), by_size);
	for (size_t i = 0; i < n; i++)
		above += (double)all[i] > c->proposed / 2;
	for (size_t i = 0; i < c->n; i++)
		if (!CHECK(c->busiest[i].peak == all[n - 1 - i] &&
				   peaks[c->busiest[i].key - 0x0a000000][class] == c->busiest[i].peak,
			   "%s: the busiest but %zu sent %llu", limit_names[class], i,
			   (unsigned long long)c->busiest[i].peak))
			return false;
	return CHECK(c->sources == n && c->n == SENDERS_BUSIEST && c->above == above, "%s: %llu sources, %llu above",
		     limit_names[class], (unsigned long long)c->sources, (unsigned long long)c->above) &&
	       CHECK(c->median == all[(n - 1) / 2] && c->most99 == all[(n * 99 + 99) / 100 - 1] &&
			     c->most999 == all[(n * 999 + 999) / 1000 - 1],
		     "%s: %llu, %llu, %llu", limit_names[class], (unsigned long long)c->median,
		     (unsigned long long)c->most99, (unsigned long long)c->most999) &&
	       CHECK(c->proposed >= 2 * (double)all[n - 2], "%s: %g is proposed, and all but one sent %llu at most",
		     limit_names[class], c->proposed, (unsigned long long)all[n - 2]);
}

static void counted(void)
{
	struct senders *s;

	make_packets();
	s = add_all();
	CHECK(senders_share(s) == 1, "one source in %llu", (unsigned long long)senders_share(s));
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++) {
		struct sender_class c;

		if (!CHECK(!senders_class(s, class, &c), "no memory") || !as_counted(class, &c))
			break;
	}
	senders_free(s);
}

/* gcc takes it for an access beyond the frame where it knows the frame's size. */
__attribute__((noinline)) static int parse(const struct detect *d, const uint8_t *bytes, size_t size,
					   struct detect_packet *packet)
{
	return detect_parse(d, bytes, bytes + size, 0, packet);
}

/* Whoever is not said to be hit by a limit is not, in the detector with that limit; and some of those who are, are. */
static void nobody_else_is_hit(void)
{
	static bool hit[FEW];
	struct limits limits = { .on = true };
	struct senders *s;
	struct detect d;
	bool any = false;

	make_packets();
	s = add_all();
	/* Half of what is proposed, so that there are some. */
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++) {
		struct sender_class c;

		if (CHECK(!senders_class(s, class, &c), "no memory"))
			limits.of[class].rate = c.proposed / 16;
	}
	senders_free(s);
	limits_plan(&d, &limits, TICK);
	d.hash = (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, ktap_random() | 1 };
	d.cells = 1;
	d.sketch = (uintptr_t)calloc(d.cells, sizeof(__u64));
	d.suspects = (uintptr_t)calloc(d.buckets, sizeof(struct suspects));
	d.claims = (uintptr_t)calloc(d.buckets, 1);
	ENOUGH(d.sketch && d.suspects && d.claims);
	for (size_t i = 0; i < PACKETS; i++) {
		struct detect_packet packet = { .bytes = sent[i].length };
		_Alignas(4) uint8_t room[2 + 64];
		uint8_t *frame = room + 2;

		frame_of(frame, 0x0a000000 + sent[i].source, sent[i].kind);
		ENOUGH(parse(&d, frame, 64, &packet));
		/* All of them are suspects. */
		if (suspect_packet(&d, &packet, sent[i].time / TICK * TICK, 0) == DETECTED_OVER)
			hit[sent[i].source] = true;
	}
	for (size_t i = 0; i < FEW; i++) {
		bool said = false;

		for (enum packet_class class = 0; class < LIMITED_ALONE; class ++)
			said |= (double)peaks[i][class] > limits.of[class].rate / 2;
		if (!CHECK(!hit[i] || said, "source %zu is hit", i))
			break;
		any |= hit[i];
	}
	CHECK(any, "nobody is hit at all");
	free((void *)(uintptr_t)d.sketch);
	free((void *)(uintptr_t)d.suspects);
	free((void *)(uintptr_t)d.claims);
}

/* Of more sources than are followed, shares stay: a tenth of them send ten times as much. */
static void too_many(void)
{
	enum { SOURCES = 3 * SENDERS_MAX };
	struct senders *s = senders_new();
	struct sender_class c;
	double expected, error;

	ENOUGH(s);
	for (uint32_t i = 0; i < SOURCES; i++) {
		uint8_t frame[64];

		frame_of(frame, i * 2654435761u, UDP);
		ENOUGH(!senders_add(s, 7, frame, sizeof(frame), 60, i % 10 ? 1 : 10));
	}
	CHECK(!senders_class(s, CLASS_UDP, &c), "no memory");
	expected = (double)SOURCES / (double)senders_share(s);
	error = SIGMAS * sqrt(expected);
	CHECK(senders_share(s) >= 4 && fabs((double)c.sources - expected) < error, "one in %llu: %llu sources",
	      (unsigned long long)senders_share(s), (unsigned long long)c.sources);
	CHECK(c.median == 1 && c.most99 == 10 && c.busiest[9].peak == 10, "%llu and %llu", (unsigned long long)c.median,
	      (unsigned long long)c.most99);
	senders_free(s);
}

/* Packets that come late are not counted as if each began a second. */
static void out_of_order(void)
{
	struct senders *s = senders_new();
	struct sender_class c = { 0 };

	ENOUGH(s);
	for (int i = 0; i < 1000; i++) {
		uint8_t frame[64];

		frame_of(frame, 0x0a000001, UDP);
		ENOUGH(!senders_add(s, 100 + i % 2, frame, sizeof(frame), 60, 1));
	}
	CHECK(!senders_class(s, CLASS_UDP, &c) && c.busiest[0].peak >= 500, "%llu in the busiest second",
	      (unsigned long long)c.busiest[0].peak);
	senders_free(s);
}

/* All that is random in them; what multiplies is odd, as otherwise sources may all have one place. */
static void seeds(void)
{
	static const struct hash_seeds known[] = { { 0, 1, 1, 1 }, { ~0ULL, ~0ULL, ~0ULL, ~0ULL } };

	for (int i = 0; i < 2; i++) {
		struct senders *s;

		given_bytes = i ? 0xff : 0;
		s = senders_new();
		given_bytes = -1;
		ENOUGH(s);
		CHECK(!memcmp(&s->d.hash, &known[i], sizeof(known[i])), "of bytes that are %s", i ? "all ones" : "0");
		senders_free(s);
	}
}

static void keys(void)
{
	char text[PREFIX_TEXT_MAX];

	CHECK(!strcmp(source_key_text(text, 0xc0000201, SUSPECT_IPV4), "192.0.2.1"), "%s", text);
	CHECK(!strcmp(source_key_text(text, 0x20010db800010002, SUSPECT_IPV6), "2001:db8:1:2::/64"), "%s", text);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "against a naive count", counted },
		{ "nobody else is hit", nobody_else_is_hit },
		{ "more sources than are followed", too_many },
		{ "out of order", out_of_order },
		{ "seeds", seeds },
		{ "keys as text", keys },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
