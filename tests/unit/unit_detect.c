// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of bpf/detect.h, on the same code, against a naive model: the times of all packets of a source, and every
 * window between two of them. XDP_BLOOM_ROUNDS: the first two cases with so many seeds (make detect-test).
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "sets/bogons.h"
#include "detector.h"

enum { SOURCES = 40, PACKETS = 1200, CELLS_FEW = 16, BUCKETS_MANY = 4096 };

/* --- Against the model -----------------------------------------------------------------------------------------------
 */

/* How a source sends. */
enum manner { STEADY, RANDOM, BURSTS, GREEDY, MANNERS };

struct source_model {
	__u32 addr;
	enum manner manner;
	double pace;	/* of the limit, for packets */
	double next;	/* its next packet */
	double allowed; /* of a greedy one: the time up to which its allowance is used */
	double syn;	/* how many of its packets are */
	size_t n;
	double time[PACKETS];
	double weight[PACKETS][CLASS_SYN + 1];
	double found; /* when it was last found above a limit; before 0: never */
	bool untracked;
	unsigned int interface;	   /* that it comes in by */
	const struct slot *by;	   /* NULL: no interface has limits of its own */
	bool broke[CLASS_SYN + 1]; /* it has sent more than r * t + b in some window */
};

static void plan_next(struct source_model *s, const struct limit *limit)
{
	double gap = SECOND / limit->rate, burst = limit_burst(limit);

	switch (s->manner) {
	case STEADY:
		s->next += gap / s->pace;
		break;
	case RANDOM:
		s->next += -log(1 - uniform()) * gap / s->pace;
		break;
	case BURSTS:
		s->next += ktap_random() % (unsigned int)burst ? gap / 1000 : burst * gap / s->pace;
		break;
	default: /* all that it may: b at once, and then each when it is due, with pauses */
		if (!(ktap_random() % 50))
			s->next += burst * gap * uniform();
		s->allowed = fmax(s->allowed, s->next) + gap;
		if (s->allowed - s->next > burst * gap - gap)
			s->next = s->allowed - burst * gap + gap;
	}
}

/* The packet is the last one. In which window that ends with it is there more than r * t + over, if any? */
static double window_above(const struct source_model *s, enum packet_class class, double rate, double over)
{
	double sum = 0, end = s->time[s->n - 1];

	for (size_t i = s->n; i-- > 0;) {
		sum += s->weight[i][class];
		if (sum > rate * (end - s->time[i]) / SECOND + over)
			return s->time[i];
	}
	return -1;
}

/* A clock that counts ticks, and now and then stands for longer than one. */
struct clock {
	__u64 began;
	double stands; /* for so long of each second */
};

static __u64 clock_at(const struct clock *clock, double time)
{
	double second = fmod(time, SECOND);

	if (second < clock->stands)
		time -= second;
	return clock->began + (__u64)time / TICK * TICK;
}

/* What the clock may be behind in more than a tick is taken from the first bound, and added to the second. */
static bool judge(struct source_model *s, const struct limits *limits, const struct clock *clock,
		  const struct suspect *now, const __u64 over[CLASSES])
{
	for (enum packet_class class = 0; class <= CLASS_SYN; class ++) {
		const struct limit *limit = &limits->of[class];
		double b = limit_burst(limit), less = limit->rate * clock->stands / SECOND,
		       more = 2 * b + limit->rate * TICK / SECOND + less, since;

		if (limit->rate <= 0)
			continue;
		/* What is found out and what is not may differ by the rounding of a price. */
		s->broke[class] = s->broke[class] || window_above(s, class, limit->rate, b - less + 1e-6) >= 0;
		if (now &&
		    !CHECK(s->broke[class] || now->over[class] == over[class],
			   "%s: above the limit with its packet %zu, and in no window", limit_names[class], s->n))
			return false;
		since = s->untracked ? -1 : window_above(s, class, limit->rate * (1 + 1e-5), more * (1 + 1e-5));
		if (since >= 0 && !CHECK(s->found >= since, "%s: not found in %.6f s, packet %zu", limit_names[class],
					 (s->time[s->n - 1] - since) / SECOND, s->n))
			return false;
	}
	return true;
}

static bool one_packet(const struct detect *d, const struct limits *limits, struct source_model *s,
		       const struct clock *clock, bool syn, __u64 bytes)
{
	struct detect_packet packet = packet_of(d, s->addr, syn ? DETECT_BIT(CLASS_SYN) : 0, bytes);
	const struct suspect *was;
	__u64 over[CLASSES] = { 0 };
	enum detected found;

	packet.by = s->by;
	packet.hash = hash_in_slot(d, packet.hash, packet.by);
	was = suspect_of(d, &packet);
	if (was)
		memcpy(over, was->over, sizeof(over));
	s->time[s->n] = s->next;
	s->weight[s->n][CLASS_PACKETS] = 1;
	s->weight[s->n][CLASS_BYTES] = (double)bytes;
	s->weight[s->n++][CLASS_SYN] = syn;
	found = detect_packet(d, &packet, clock_at(clock, s->next));
	s->found = found == DETECTED_OVER ? s->next : s->found;
	s->untracked = s->untracked || found == DETECTED_UNTRACKED;
	return judge(s, limits, clock, suspect_of(d, &packet), over);
}

static __u64 any_bytes(void)
{
	return 64 + ktap_random() % 1437;
}

/* Across the end of 64 bits, or not; with a clock that stands, for half of the least burst at most, or not. */
static struct clock any_clock(const struct limits *limits, unsigned int interfaces)
{
	struct clock clock = { ktap_random() % 2 ? -(ktap_random() % 30000000000) : ktap_random() >> 2, 0 };
	double least = SECOND;

	for (unsigned int i = 0; i < interfaces; i++)
		for (enum packet_class class = 0; class <= CLASS_SYN; class ++)
			if (limits[i].of[class].rate > 0)
				least = fmin(least, limits[i].of[class].burst / limits[i].of[class].rate * SECOND);
	if (ktap_random() % 2)
		clock.stands = uniform() * least / 2;
	return clock;
}

static void raise_bursts(struct limits *limits)
{
	for (enum packet_class class = 0; class <= CLASS_SYN; class ++)
		limits->of[class].burst =
			fmax(limits->of[class].burst, limit_burst_least(class, limits->of[class].rate, TICK));
}

enum { INTERFACES = 3 };

/* Two interfaces have limits of their own for some classes. What holds by each is in by_interface. */
static void own_limits(struct limits *limits, struct limits by_interface[INTERFACES])
{
	static const char *const names[] = { NULL, "eth0", "eth1" };

	for (unsigned int i = 0; i < INTERFACES; i++) {
		by_interface[i] = *limits;
		for (enum packet_class class = 0; i && class <= CLASS_SYN; class ++) {
			struct limit *own = &by_interface[i].of[class];

			if (class != i - 1 && ktap_random() % 2)
				continue;
			own->rate *= 0.3 + 3 * uniform();
			own->burst = ceil(own->burst * (0.5 + uniform()));
			raise_bursts(&by_interface[i]);
			CHECK(limits_put_on(limits, names[i], class, *own), "no room for %s", names[i]);
		}
	}
}

static bool one_round(bool own)
{
	static struct source_model sources[SOURCES];
	static struct slot slots[SLOTS];
	const double paces[] = { 0.2, 0.9, 0.99, 1.05, 2, 20 };
	double rate = 20 + (double)(ktap_random() % 400);
	struct limits by_interface[INTERFACES],
		limits = { .on = true,
			   .of = { [CLASS_PACKETS] = { rate, ceil(rate * (0.1 + uniform())), THEN_WATCH },
				   [CLASS_BYTES] = { 900 * rate, 65536 + ceil(900 * rate * uniform()), THEN_WATCH },
				   [CLASS_SYN] = { rate / 4, ceil(rate * (0.1 + uniform() / 4)), THEN_WATCH } } };
	unsigned int interfaces = own ? INTERFACES : 1;
	struct clock clock;
	struct detect d;
	bool ok = true;

	raise_bursts(&limits);
	by_interface[0] = limits;
	if (own)
		own_limits(&limits, by_interface);
	clock = any_clock(by_interface, interfaces);
	d = plan_of(&limits, CELLS_FEW, BUCKETS_MANY, clock.began);
	limits_slots(slots, &limits, TICK);
	for (size_t i = 0; i < SOURCES; i++) {
		memset(&sources[i], 0, sizeof(sources[i]));
		/* The same source by each interface, in turn. */
		sources[i].addr = i % interfaces ? sources[i - 1].addr : (__u32)ktap_random();
		sources[i].interface = i % interfaces;
		sources[i].by = own ? &slots[i % interfaces] : NULL;
		sources[i].manner = ktap_random() % MANNERS;
		sources[i].pace = paces[ktap_random() % (sizeof(paces) / sizeof(*paces))];
		sources[i].syn = ktap_random() % 2 ? uniform() : 0;
		sources[i].next = 1e9 + uniform() * 1e9;
		sources[i].found = -2;
	}
	for (;;) {
		struct source_model *first = NULL;

		for (size_t i = 0; i < SOURCES; i++)
			if (sources[i].n < PACKETS && (!first || sources[i].next < first->next))
				first = &sources[i];
		if (!first || !ok)
			break;
		ok = one_packet(&d, &by_interface[first->interface], first, &clock, uniform() < first->syn,
				any_bytes());
		plan_next(first, &by_interface[first->interface].of[CLASS_PACKETS]);
	}
	plan_free(&d);
	return ok;
}

static int rounds(void)
{
	const char *n = getenv("XDP_BLOOM_ROUNDS");

	return n ? atoi(n) : 8;
}

static void windows(bool own)
{
	int n = rounds();

	for (int i = 0; i < n; i++)
		if (!one_round(own))
			return;
	printf("# %d packets\n", n * SOURCES * PACKETS);
}

static void every_window(void)
{
	windows(false);
}

/* What a source sends by one interface is nothing to what it may send by another. */
static void by_interfaces(void)
{
	windows(true);
}

/* --- The worst that can be done --------------------------------------------------------------------------------------
 */

/* What would become of it, of one that is alone in a sketch of one cell. */
static enum detected foresee(const struct detect *d, const struct detect_packet *packet, __u64 now)
{
	__u64 cell = *(__u64 *)(uintptr_t)d->sketch;
	struct suspects suspects = *(struct suspects *)(uintptr_t)d->suspects;
	struct detect copy = *d;

	copy.sketch = (uintptr_t)&cell;
	copy.suspects = (uintptr_t)&suspects;
	return detect_packet(&copy, packet, now);
}

/* Until the cell or an entry has forgotten something, or all; just before a tick, or just at it. */
static double worst_pause(const struct detect *d)
{
	const __u64 pauses[] = { 0,
				 1,
				 TICK,
				 d->cap,
				 d->most - d->cap,
				 d->most,
				 d->keep,
				 d->limit[CLASS_PACKETS].burst,
				 d->limit[CLASS_BYTES].burst,
				 d->limit[CLASS_SYN].burst,
				 (__u64)(uniform() * (double)d->most) };

	return (double)pauses[ktap_random() % (sizeof(pauses) / sizeof(*pauses))];
}

/*
 * One that knows all of it, is alone in its cell, and sends at each moment all that it can without being found: or only
 * up to where its cell would be hot. By the second bound that is never more than r * t + 2 * b and a tick's worth.
 */
static bool worst_round(void)
{
	static struct source_model s;
	double rate = 1000 + (double)(ktap_random() % 9000);
	struct limits limits = { .on = true,
				 .of = { [CLASS_PACKETS] = { rate, ceil(rate * uniform() / 30), THEN_WATCH },
					 [CLASS_BYTES] = { 900 * rate, ceil(900 * rate * uniform() / 10), THEN_WATCH },
					 [CLASS_SYN] = { rate / 4, ceil(rate / 4 * uniform() / 3), THEN_WATCH } } };
	unsigned int without = (unsigned int)ktap_random() % 4; /* all of them; or one alone, where it is exact */
	struct clock clock;
	struct detect d;
	bool ok = true;

	raise_bursts(&limits);
	for (enum packet_class class = 0; class <= CLASS_SYN; class ++)
		if (without && class != without - 1)
			limits.of[class] = (struct limit){ 0 };
	clock = any_clock(&limits, 1);
	d = plan_of(&limits, 1, 1, clock.began);
	memset(&s, 0, sizeof(s));
	s.found = -2;
	s.next = SECOND + TICK - 1;
	for (unsigned int moments = 0; ok && s.n < PACKETS && moments < PACKETS; moments++) {
		bool syn = without == CLASS_SYN + 1 || ktap_random() % 2, cold = !(ktap_random() % 4);
		__u64 bytes = any_bytes();
		struct detect_packet packet = packet_of(&d, 0, syn ? DETECT_BIT(CLASS_SYN) : 0, bytes);

		while (ok && s.n < PACKETS) {
			enum detected found = foresee(&d, &packet, clock_at(&clock, s.next));

			if (found == DETECTED_OVER || (cold && found != DETECTED_NOTHING))
				break;
			ok = one_packet(&d, &limits, &s, &clock, syn, bytes);
		}
		s.next += worst_pause(&d);
		if (ktap_random() % 2)
			s.next = (floor(s.next / TICK) + 1) * TICK - (double)(ktap_random() % 2);
	}
	plan_free(&d);
	return ok;
}

static void worst(void)
{
	int n = 20 * rounds();

	for (int i = 0; i < n; i++)
		if (!worst_round())
			return;
	printf("# at most %d packets\n", n * PACKETS);
}

/* --- The clock ------------------------------------------------------------------------------------------------------
 */

/* While it stands, a burst passes, and no more; then as much as it says again. */
static void clock_stands(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_WATCH } } };
	struct detect d = plan_of(&limits, CELLS_FEW, BUCKETS_MANY, 0);
	struct detect_packet packet = packet_of(&d, 7, 0, 64);
	__u64 now = 1ULL << 62;
	int passed = 0, over = 0;

	for (int i = 0; i < 1000; i++) {
		enum detected found = detect_packet(&d, &packet, now);

		passed += found == DETECTED_NOTHING || found == DETECTED_SUSPECT;
		over += found == DETECTED_OVER;
	}
	/* Up to 2 * b, and what comes in a tick. */
	CHECK(passed >= 50 && passed <= 101 && passed + over == 1000, "%d passed, %d above", passed, over);
	now += 500000000;
	over = 0;
	for (int i = 0; i < 50; i++)
		over += detect_packet(&d, &packet, now) == DETECTED_OVER;
	CHECK(!over, "%d above after half a second, the burst's worth", over);
	plan_free(&d);
}

/* --- Room -----------------------------------------------------------------------------------------------------------
 */

/* Ten times as many as there is room for: who is tracked stays, the others are counted; a pause makes room again. */
static void full(void)
{
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 10, THEN_WATCH } } };
	struct detect d = plan_of(&limits, 1, 16, 0);
	__u64 now = 1ULL << 62, untracked = 0;
	bool tracked[64 * 10] = { 0 };

	for (int round = 0; round < 50; round++) {
		now += TICK;
		for (__u32 i = 0; i < 64 * 10; i++) {
			struct detect_packet packet = packet_of(&d, i * 7919, 0, 64);
			enum detected found = detect_packet(&d, &packet, now);

			untracked += found == DETECTED_UNTRACKED;
			if (!CHECK(!tracked[i] || found != DETECTED_UNTRACKED, "%u lost its place", i))
				goto out;
			tracked[i] = tracked[i] || found == DETECTED_SUSPECT || found == DETECTED_OVER;
		}
	}
	CHECK(untracked > 50 * 64 * 8, "only %llu were not tracked", untracked);
	now += d.keep + TICK;
	for (__u32 i = 64 * 10; i < 64 * 10 + 16; i++) {
		struct detect_packet packet = packet_of(&d, i * 7919, 0, 64);
		int found = 0;

		for (int n = 0; n < 100; n++)
			found = detect_packet(&d, &packet, now);
		untracked = found == DETECTED_UNTRACKED;
		if (i == 64 * 10 && !CHECK(!untracked, "no place was given away after a pause"))
			goto out;
	}
out:
	plan_free(&d);
}

/* --- Many CPUs ------------------------------------------------------------------------------------------------------
 */

enum { EPOCHS = 40, GOOD = 64, BURST = 40 };

static struct many {
	struct detect d;
	struct limits limits;
	pthread_barrier_t barrier;
	__u64 now;
	unsigned int threads;
	unsigned int sent[EPOCHS][GOOD]; /* of those who keep the limit */
	unsigned int wrong, found, at_start;
} many;

/* They send half a burst in each time of a whole one's worth, by whatever CPUs; others flood from all of them. */
static void *one_cpu(void *arg)
{
	uint64_t random = (uintptr_t)arg * 0x9e3779b97f4a7c15ULL;

	for (unsigned int epoch = 0; epoch < EPOCHS; epoch++) {
		for (int i = 0; i < 20000; i++) {
			__u32 good = (__u32)(random >> 33) % GOOD, bad = 1000000 + (__u32)(random >> 40) % 500;
			struct detect_packet packet = packet_of(&many.d, bad, 0, 64);

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			if (detect_packet(&many.d, &packet, many.now) == DETECTED_OVER)
				__atomic_fetch_add(&many.found, 1, __ATOMIC_RELAXED);
			if (__atomic_fetch_add(&many.sent[epoch][good], 1, __ATOMIC_RELAXED) >= BURST / 2)
				continue;
			packet = packet_of(&many.d, good, 0, 64);
			if (detect_packet(&many.d, &packet, many.now) == DETECTED_OVER)
				__atomic_fetch_add(&many.wrong, 1, __ATOMIC_RELAXED);
		}
		if (pthread_barrier_wait(&many.barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			many.now +=
				epoch % 4 == 3 ? many.d.keep : (__u64)(BURST * SECOND / many.limits.of[0].rate) + TICK;
		pthread_barrier_wait(&many.barrier);
	}
	return NULL;
}

static void many_cpus(unsigned int threads)
{
	pthread_t thread[16];

	memset(&many, 0, sizeof(many));
	many.limits = (struct limits){ .on = true, .of = { [CLASS_PACKETS] = { 100, BURST, THEN_WATCH } } };
	many.now = -(__u64)(10 * SECOND);			 /* the clock's end is on the way */
	many.d = plan_of(&many.limits, CELLS_FEW, 32, many.now); /* room for a quarter: places change hands */
	pthread_barrier_init(&many.barrier, NULL, threads);
	for (uintptr_t i = 0; i < threads; i++)
		ENOUGH(!pthread_create(&thread[i], NULL, one_cpu, (void *)(ktap_random() | 1)));
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	CHECK(!many.wrong, "%u packets of those who keep the limit were found above it", many.wrong);
	CHECK(many.found, "nobody was found");
	pthread_barrier_destroy(&many.barrier);
	plan_free(&many.d);
}

enum { FLOOD = 30000, FLOODS = 10, FLOOD_BURST = 4000 };

/* One source by all queues at once, while the clock stands; and again when it is forgotten. */
static void *one_queue(void *arg)
{
	struct detect_packet packet = packet_of(&many.d, 7, 0, 64);

	(void)arg;
	for (unsigned int flood = 0; flood < FLOODS; flood++) {
		unsigned int passed = 0;

		/* All at the same moment, which a barrier is not. */
		__atomic_fetch_add(&many.at_start, 1, __ATOMIC_SEQ_CST);
		for (int i = 1; __atomic_load_n(&many.at_start, __ATOMIC_SEQ_CST) < many.threads * (flood + 1); i++)
			if (!(i % 10000))
				sched_yield();
		for (int i = 0; i < FLOOD; i++)
			passed += detect_packet(&many.d, &packet, many.now + flood * many.d.keep) != DETECTED_OVER;
		__atomic_fetch_add(&many.found, passed, __ATOMIC_RELAXED);
		pthread_barrier_wait(&many.barrier);
	}
	return NULL;
}

/*
 * What plain stores lose: at most n - 1 of n, and what comes while a CPU is away between its load and its store. That
 * is the machine's chance: at most nine of ten pass, which leaves room for dozens of times.
 */
static void many_queues(void)
{
	const double at_most = (2 * FLOOD_BURST + 1) * FLOODS;

	for (unsigned int n = 1; n <= 16; n *= 2) {
		pthread_t thread[16];

		memset(&many, 0, sizeof(many));
		many.limits =
			(struct limits){ .on = true, .of = { [CLASS_PACKETS] = { 100, FLOOD_BURST, THEN_WATCH } } };
		many.now = 1ULL << 62;
		many.threads = n;
		many.d = plan_of(&many.limits, CELLS_FEW, 32, many.now);
		pthread_barrier_init(&many.barrier, NULL, n);
		for (unsigned int i = 0; i < n; i++)
			ENOUGH(!pthread_create(&thread[i], NULL, one_queue, NULL));
		for (unsigned int i = 0; i < n; i++)
			pthread_join(thread[i], NULL);
		CHECK(n > 1 ? many.found < n * FLOOD * FLOODS / 10 * 9 : many.found <= at_most,
		      "%u CPUs: %u of %u passed", n, many.found, n * FLOOD * FLOODS);
		printf("# %u CPUs: %.2f times what the bound says\n", n, many.found / at_most);
		pthread_barrier_destroy(&many.barrier);
		plan_free(&many.d);
	}
}

static void one_cpu_alone(void)
{
	many_cpus(1);
}

static void two_cpus(void)
{
	many_cpus(2);
}

static void sixteen_cpus(void)
{
	many_cpus(16);
}

/* --- What a packet is ------------------------------------------------------------------------------------------------
 */

enum { LOOKS = 400000, IP_AT = 14, LONGEST = 128 };

/* What detect_parse() says, of a frame that ends where its memory ends; IP is aligned. */
static int parsed(const struct detect *d, const __u8 *frame, size_t size, int copied, struct detect_packet *packet)
{
	__u8 *memory = malloc(2 + size);
	int is;

	ENOUGH(memory);
	memcpy(memory + 2, frame, size);
	*packet = (struct detect_packet){ .classes = ~0U };
	is = detect_parse(d, memory + 2, memory + 2 + size, copied, packet);
	free(memory);
	return is;
}

/* As a person would read a dump of it. Copied: behind options nothing is read. */
static bool naive_is_syn(const __u8 *frame, size_t size, int copied)
{
	bool is6 = frame[12] == 0x86;
	size_t at = IP_AT + (is6 ? 40 : 4 * (size_t)(frame[IP_AT] & 15));

	if (frame[IP_AT + (is6 ? 6 : 9)] != 6 || (!is6 && copied && (frame[IP_AT] & 15) != 5))
		return false;
	if (!is6 && ((frame[IP_AT + 6] & 0x1f) || frame[IP_AT + 7]))
		return false;
	return size >= at + 14 && (frame[at + 13] & 2) && !(frame[at + 13] & 16);
}

static __u32 naive_classes(const __u8 *frame, size_t size, int copied)
{
	bool is6 = frame[12] == 0x86, in_parts;
	__u8 protocol = frame[IP_AT + (is6 ? 6 : 9)];
	__u32 classes = 0;

	in_parts = is6 ? protocol == 44 : (frame[IP_AT + 6] & 0x3f) || frame[IP_AT + 7];
	if (in_parts)
		classes |= 1u << CLASS_FRAGMENTS;
	if (protocol == 17)
		classes |= 1u << CLASS_UDP;
	if (protocol == 1 || protocol == 58)
		classes |= 1u << CLASS_ICMP;
	if (naive_is_syn(frame, size, copied))
		classes |= 1u << CLASS_SYN;
	return classes;
}

/* Discovery of neighbours, by one of them. */
static bool naive_is_discovery(const __u8 *frame, size_t size)
{
	return size > IP_AT + 40 && frame[IP_AT + 6] == 58 && frame[IP_AT + 7] == 255 &&
	       memchr("\x85\x86\x87\x88\x89", frame[IP_AT + 40], 5);
}

static __u64 naive_number(const __u8 *at, size_t n)
{
	__u64 number = 0;

	for (size_t i = 0; i < n; i++)
		number = number << 8 | at[i];
	return number;
}

static __u8 any_of(const char *values, size_t n)
{
	return (__u8)values[ktap_random() % n];
}

#define ANY_OF(values) any_of(values, sizeof(values) - 1)

/* IPv4 or IPv6, of what is told apart and of its neighbours. */
static void any_frame(__u8 frame[LONGEST])
{
	bool is6 = ktap_random() % 2;

	for (size_t i = 0; i < LONGEST; i++)
		frame[i] = (__u8)ktap_random();
	memcpy(frame + 12, is6 ? "\x86\xdd" : "\x08\x00", 2);
	frame[IP_AT] = is6 ? 0x60 : 0x40 | ANY_OF("\x5\x5\x5\x6\xf\x4\x0");
	frame[IP_AT + (is6 ? 6 : 9)] = ANY_OF("\x6\x6\x6\x11\x1\x3a\x2c\x2b\x3b\x7\x10\x2");
	if (is6) {
		frame[IP_AT + 7] = ANY_OF("\xff\xff\xff\xfe\x40\x1\x0");
		frame[IP_AT + 40] = ANY_OF("\x80\x81\x83\x84\x85\x86\x87\x88\x89\x8a\x8f\x0\x5\x7\x8\x9");
	}
	if (!is6) {
		frame[IP_AT + 6] = ANY_OF("\x0\x0\x40\x80\x20\x10\x1f\xff");
		frame[IP_AT + 7] = ANY_OF("\x0\x0\x0\x1");
	} else if (ktap_random() % 2) {
		memcpy(frame + IP_AT + 8, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		if (ktap_random() % 3)
			frame[IP_AT + 8 + ktap_random() % 12] ^= (__u8)(1u << ktap_random() % 8);
	}
}

static void packets_parsed(void)
{
	static const __u8 mapped[12] = { [10] = 0xff, 0xff };
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_WATCH } } };
	struct detect d = plan_of(&limits, 1, 1, 0);
	unsigned int of[CLASSES] = { 0 }, kinds[SUSPECT_IPV6 + 1] = { 0 }, as_ipv4 = 0, discovery = 0;

	for (int look = 0; look < LOOKS; look++) {
		__u8 frame[LONGEST];
		size_t size = ktap_random() % (LONGEST + 1);
		int copied = (int)(ktap_random() % 2);
		struct detect_packet packet;
		__u32 classes;
		bool is6, is_mapped;
		__u64 key, hash;

		any_frame(frame);
		is6 = frame[12] == 0x86;
		if (!CHECK(parsed(&d, frame, size, copied, &packet) == (size >= IP_AT + (is6 ? 40 : 20)),
			   "%zu bytes of IPv%c: there is a source, or there is none", size, is6 ? '6' : '4'))
			break;
		if (size < IP_AT + (is6 ? 40 : 20))
			continue;
		classes = naive_classes(frame, size, copied);
		is_mapped = is6 && !memcmp(frame + IP_AT + 8, mapped, sizeof(mapped));
		if (!CHECK(packet.classes == classes, "look %d: classes %#x, not %#x", look, packet.classes, classes))
			break;
		if (is6 && !is_mapped) {
			key = naive_is_discovery(frame, size) ? 0 : naive_number(frame + IP_AT + 8, 8);
			discovery += naive_is_discovery(frame, size);
			hash = hash_ipv6(d.hash, 0, key, 0);
			CHECK(packet.kind == SUSPECT_IPV6 && packet.rest == naive_number(frame + IP_AT + 16, 8),
			      "look %d: kind %llu, of another host", look, packet.kind);
		} else {
			key = naive_number(frame + IP_AT + (is6 ? 20 : 12), 4);
			hash = hash_ipv4(d.hash, (__u32)key);
			CHECK(packet.kind == SUSPECT_IPV4 && !packet.rest, "look %d: kind %llu, rest %llx", look,
			      packet.kind, packet.rest);
		}
		if (!CHECK(packet.key == key && packet.hash == hash, "look %d: key %llx, not %llx", look, packet.key,
			   key))
			break;
		kinds[packet.kind]++;
		as_ipv4 += is_mapped;
		for (enum packet_class class = 0; class < CLASSES; class ++)
			of[class] += classes >> class & 1;
	}
	CHECK(kinds[SUSPECT_IPV4] > 1000 && kinds[SUSPECT_IPV6] > 1000 && as_ipv4 > 1000 && discovery > 1000 &&
		      of[CLASS_SYN] > 1000 && of[CLASS_UDP] > 1000 && of[CLASS_ICMP] > 1000 &&
		      of[CLASS_FRAGMENTS] > 1000,
	      "too few of some kind");
	plan_free(&d);
}

/* What has no source; and what is hidden has none either. */
static void no_packets(void)
{
	static const char *const types[] = { "\x08\x06", "\x88\xcc", "\x08\x01", "\x86\xdc", "\x00\x08", "\x81\x00" };
	struct limits limits = { .on = true, .of = { [CLASS_PACKETS] = { 100, 50, THEN_WATCH } } };
	struct detect d = plan_of(&limits, 1, 1, 0);
	struct detect_packet packet;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		__u8 frame[LONGEST] = { 0 };

		/* Behind a tag: tags without end. */
		for (size_t at = 12; at < 48; at += 4)
			memcpy(frame + at, types[i], 2);
		CHECK(!parsed(&d, frame, sizeof(frame), 0, &packet), "type %02x%02x has a source", frame[12],
		      frame[13]);
	}
	plan_free(&d);
}

/* --- Words ----------------------------------------------------------------------------------------------------------
 */

static void rates(void)
{
	static const struct {
		enum packet_class class;
		const char *text;
		double rate; /* 0: refused */
		const char *shown;
	} cases[] = {
		{ CLASS_SYN, "200/s", 200, "200/s" },
		{ CLASS_SYN, "1kpps", 1000, "1k/s" },
		{ CLASS_UDP, "2.5M", 2.5e6, "2.5M/s" },
		{ CLASS_BYTES, "100Mbit", 12.5e6, "100Mbit" },
		{ CLASS_BYTES, "1Gbit/s", 125e6, "1Gbit" },
		{ CLASS_BYTES, "12MB/s", 12e6, "96Mbit" },
		{ CLASS_BYTES, "5kpps", 0, NULL },
		{ CLASS_SYN, "100Mbit", 0, NULL },
		{ CLASS_SYN, "0", 0, NULL },
		{ CLASS_SYN, "-1", 0, NULL },
		{ CLASS_SYN, "1e3", 0, NULL },
		{ CLASS_SYN, "nan", 0, NULL },
		{ CLASS_SYN, "", 0, NULL },
		{ CLASS_SYN, "0x10", 0, NULL },
		{ CLASS_SYN, "1.2.3", 0, NULL },
		{ CLASS_SYN, "200/m", 0, NULL },
		{ CLASS_SYN, "101M", 0, NULL },
		{ CLASS_BYTES, "900Gbit", 0, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[LIMIT_TEXT_MAX];
		double rate = 0;
		bool is = limit_rate(cases[i].class, cases[i].text, &rate);

		if (!CHECK(is == (cases[i].rate > 0) && (!is || rate == cases[i].rate), "'%s' is %g", cases[i].text,
			   rate) ||
		    (is && !CHECK(!strcmp(limit_text(text, cases[i].class, rate), cases[i].shown),
				  "'%s' is shown as %s", cases[i].text, text)))
			return;
	}
}

/* Whom the detector never bans, nobody else's word does: of IPv6 it knows the upper half alone. */
static void nobodys(void)
{
	static const char *const addresses[] = { "0.0.0.0", "::",	 "fe80::1",	"febf::ff",
						 "fec0::1", "192.0.2.1", "2001:db8::1", "fe7f::" };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		struct detect_packet packet = { .kind = SUSPECT_IPV4 };
		unsigned int length;
		struct addr addr;

		ENOUGH(!prefix_parse(addresses[i], strlen(addresses[i]), &addr, &length));
		packet.key = (__u64)addr.num;
		if (addr.family == 6) {
			packet.kind = SUSPECT_IPV6;
			packet.key = (__u64)(addr.num >> 64);
		}
		CHECK(is_nobody(&packet) == (i < 4) && source_is_shared(addr) == (i < 4), "%s", addresses[i]);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "both bounds, in every window", every_window },
		{ "both bounds, by interfaces with limits of their own", by_interfaces },
		{ "the most that is not found", worst },
		{ "a clock that stands", clock_stands },
		{ "ten times as many as there is room for", full },
		{ "one CPU", one_cpu_alone },
		{ "two CPUs", two_cpus },
		{ "sixteen CPUs", sixteen_cpus },
		{ "one source by many queues", many_queues },
		{ "what a packet is", packets_parsed },
		{ "what is no packet with a source", no_packets },
		{ "rates in words", rates },
		{ "what is nobody's", nobodys },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
