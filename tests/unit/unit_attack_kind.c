// SPDX-License-Identifier: GPL-2.0-only
/* What kind an attack is, of suspects as the detector leaves them; and how many sources there are, by its own sketch.
 */
#include "observe/attack_kind.h"

#include "bpf/detect.h"
#include "filter/formulas.h"
#include "ktap.h"
#include "observe/detector.h"
#include "observe/suspects.h"
#include "naive.h"

#define NOW 1000000000000ULL

static struct suspect_seen suspects[256];
static struct seen seen;

static void none(void)
{
	memset(suspects, 0, sizeof(suspects));
	seen = (struct seen){ .on = true, .now = NOW, .suspect = suspects, .room = 4096 };
}

static struct suspect *add(__u64 kind, __u64 key, enum packet_class class, __u64 over)
{
	struct suspect_seen *s = &suspects[seen.n++];

	*s = (struct suspect_seen){ .key = key, .mark = MARK(kind, NOW), .is = { .over_at = NOW - 1000 } };
	s->is.over[class] = over;
	return &s->is;
}

static struct suspect *add4(__u32 addr, enum packet_class class, __u64 over)
{
	return add(SUSPECT_IPV4, addr, class, over);
}

static struct attack_look look(__u64 above, __u64 untracked)
{
	struct attack_look l;

	attack_look_at(&l, &seen, NOW - 1000000, above, untracked);
	return l;
}

static bool is(const struct attack_look *l, enum attack_kind kind, const char *what, const char *service)
{
	return CHECK(l->kind == kind && !strcmp(l->what.name ?: "", what ?: "") &&
			     !strcmp(l->what.service ?: "", service ?: ""),
		     "%s, %s, %s", attack_kinds[l->kind], l->what.name, l->what.service);
}

static void who(void)
{
	struct attack_look l;

	none();
	l = look(1, 0);
	is(&l, ATTACK_ONE, NULL, NULL);
	add4(0xc6336401, CLASS_PACKETS, 7)->until = NOW + 1;
	l = look(7, 0);
	is(&l, ATTACK_ONE, "packets", NULL);
	suspects[0].is.until = 0;
	/* Who was above one only before does not count, nor who never was. */
	add4(0xc6336501, CLASS_PACKETS, 90)->over_at = NOW - 2000000;
	add4(0xc6336601, CLASS_PACKETS, 0);
	l = look(7, 0);
	is(&l, ATTACK_ONE, "packets", NULL);
	add4(0xcb007107, CLASS_PACKETS, 7);
	l = look(14, 14);
	is(&l, ATTACK_MANY, "packets", NULL);
	l = look(14, 15);
	is(&l, ATTACK_NO_ROOM, "packets", NULL);
	suspects[0].is.until = NOW + 1;
	l = look(14, 0);
	is(&l, ATTACK_MANY, "packets", NULL);
	suspects[3].is.until = NOW + 1;
	l = look(14, 0);
	is(&l, ATTACK_PROVEN, "packets", NULL);
	/* Whose ban has ended is not banned. */
	suspects[3].is.until = NOW;
	l = look(14, 0);
	is(&l, ATTACK_MANY, "packets", NULL);
}

/* Where interfaces have limits of their own, a source is a suspect in each of them; it is one source all the same. */
static void by_interfaces(void)
{
	struct detector_sums sums;
	struct attack_look l;

	none();
	for (__u64 slot = 0; slot < 6; slot++)
		add(SUSPECT_IPV4 | slot << 8, 0xc6336401, slot & 1 ? CLASS_SYN : CLASS_SCAN, 5 + slot);
	l = look(45, 0);
	is(&l, ATTACK_ONE, "syn", NULL);
	detector_sums_of(&seen, 0, &sums);
	CHECK(sums.above == 1 && sums.above_of[CLASS_SYN] == 1 && sums.above_of[CLASS_SCAN] == 1 && !sums.banned,
	      "%zu are above a limit, %zu of SYN", sums.above, sums.above_of[CLASS_SYN]);
	CHECK(suspects_above(&seen) == 1, "%zu are above a limit", suspects_above(&seen));
	add4(0xcb007107, CLASS_SYN, 7);
	l = look(52, 0);
	is(&l, ATTACK_MANY, "syn", NULL);
	/* Banned for what came by some of them, and by the last, that sent the least. */
	suspects[1].is.until = suspects[0].is.until = suspects[6].is.until = NOW + 1;
	l = look(52, 0);
	is(&l, ATTACK_PROVEN, "syn", NULL);
	detector_sums_of(&seen, 0, &sums);
	CHECK(sums.above == 2 && sums.above_of[CLASS_SYN] == 2 && sums.above_of[CLASS_SCAN] == 1 && sums.banned == 2,
	      "%zu are above a limit, %zu of SYN, and %zu banned", sums.above, sums.above_of[CLASS_SYN], sums.banned);
	/* An address of IPv6 whose first half is the same number is another source. */
	add(SUSPECT_IPV6, 0xcb007107, CLASS_SYN, 7);
	CHECK(suspects_above(&seen) == 3, "%zu are above a limit", suspects_above(&seen));
}

static void carpets(void)
{
	struct attack_look l;

	none();
	for (__u32 i = 0; i < 3; i++)
		add4(0xcb007100 + i * 85, CLASS_SYN, 5);
	l = look(15, 0);
	is(&l, ATTACK_MANY, "syn", NULL);
	add4(0xcb0071ff, CLASS_SYN, 5);
	for (__u32 i = 0; i < 3; i++)
		add4(0xcb007200 + (i << 16), CLASS_SYN, 5);
	l = look(15, 0);
	if (is(&l, ATTACK_CARPET, "syn", NULL))
		CHECK(!strcmp(l.network, "203.0.113.0/24"), "of %s", l.network);
	/* Half of them are not most. */
	add4(0x01020304, CLASS_SYN, 5);
	l = look(15, 0);
	is(&l, ATTACK_MANY, "syn", NULL);
	CHECK(!*l.network, "of %s", l.network);
	none();
	for (__u64 i = 0; i < 5; i++)
		add(SUSPECT_IPV6, 0x20010db800050000 + i * 0x3333, CLASS_UDP, 5);
	l = look(15, 0);
	if (is(&l, ATTACK_CARPET, "udp", NULL))
		CHECK(!strcmp(l.network, "2001:db8:5::/48"), "of %s", l.network);
	/* A network that is judged as one, though its hosts are not, or less. */
	none();
	add(SUSPECT_NET4, 0xcb0072, CLASS_UDP, 5);
	add(SUSPECT_NET4, 0xcb0071, CLASS_UDP, 9);
	add4(0xcb007101, CLASS_UDP, 8);
	l = look(15, 0);
	if (is(&l, ATTACK_CARPET, "udp", NULL))
		CHECK(!strcmp(l.network, "203.0.113.0/24"), "of %s", l.network);
	suspects[2].is.over[CLASS_UDP] = 9;
	l = look(15, 0);
	is(&l, ATTACK_ONE, "udp", NULL);
	none();
	add(SUSPECT_NET6, 0x20010db80005, CLASS_ICMP, 9);
	l = look(15, 0);
	if (is(&l, ATTACK_CARPET, "icmp", NULL))
		CHECK(!strcmp(l.network, "2001:db8:5::/48"), "of %s", l.network);
	/* Whose upper half is another's address. */
	none();
	for (__u64 i = 0; i < 4; i++)
		add(i & 1 ? SUSPECT_IPV6 : SUSPECT_IPV4, 0xcb007100 + i, CLASS_UDP, 5);
	l = look(15, 0);
	is(&l, ATTACK_MANY, "udp", NULL);
}

static void what(void)
{
	char text[ATTACK_WHAT_MAX];
	struct attack_look l;

	none();
	add4(1, CLASS_PACKETS, 100)->over[CLASS_SYN] = 60;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "syn", NULL);
	suspects[0].is.over[CLASS_SYN] = 40;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "packets", NULL);
	suspects[0].is.over[CLASS_BYTES] = 101;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "bytes", NULL);
	suspects[0].is.over[CLASS_FRAGMENTS] = 90;
	suspects[0].is.over[CLASS_UDP] = 80;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "fragments", NULL);
	/* By what most of it comes from; a port of no service says nothing. */
	suspects[0].is.port = 53 + 1;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "reflection", "dns");
	CHECK(l.what.port == 53, "port %u", l.what.port);
	add4(2, CLASS_UDP, 101)->port = 54 + 1;
	l = look(1, 0);
	is(&l, ATTACK_MANY, "udp", NULL);
	add4(3, CLASS_UDP, 900)->port = 11211 + 1;
	l = look(1, 0);
	is(&l, ATTACK_MANY, "reflection", "memcached");
	none();
	add4(1, CLASS_SYN, 800)->over[CLASS_SCAN] = 990;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "scan", NULL);
	suspects[0].is.over[CLASS_UNANSWERED] = 2000;
	l = look(1, 0);
	is(&l, ATTACK_ONE, "unanswered", NULL);
	CHECK(!strcmp(attack_what_text(text, "reflection", "cldap"), "CLDAP reflection"), "%s", text);
	CHECK(!strcmp(attack_what_text(text, "syn", NULL), "SYN"), "%s", text);
	CHECK(!strcmp(attack_what_text(text, "fragments", NULL), "fragments"), "%s", text);
}

/* --- How many there are ------------------------------------------------------------------------------------------- */

#define CELLS 16384

static void send(struct seen *now, __u32 first, __u32 sources, unsigned int each)
{
	for (unsigned int n = 0; n < each; n++)
		for (__u32 i = 0; i < sources; i++)
			sketch_charge(&now->with, hash_ipv4(now->with.hash, first + i), now->now, 250000);
}

static bool between(struct strangers *s, const __u64 *before, struct seen *now)
{
	struct seen then = *now;

	then.cell = (__u64 *)before;
	return CHECK(strangers_between(s, &then, now), "they are of two detectors");
}

static void sources(void)
{
	static const __u32 numbers[] = { 0, 1, 100, 5000, 20000, 80000 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (unsigned int each = 1; each <= 3; each += 2) {
			static __u64 cells[CELLS], before[CELLS];
			struct seen now = { .now = NOW, .cell = cells, .cells = CELLS };
			struct estimate expected = sources_of(CELLS * -expm1(-(double)numbers[i] / CELLS), CELLS);
			struct strangers s;
			double off;

			now.with = (struct detect){
				.cells = CELLS, .cap = 10000000, .most = 1ULL << 40, .sketch = (uintptr_t)cells
			};
			now.with.hash = (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, 0 };
			/* What was there before, in the future and in the past, is not counted. */
			for (size_t c = 0; c < CELLS; c++)
				cells[c] = c & 1 ? NOW - c : NOW + c;
			memcpy(before, cells, sizeof(before));
			send(&now, (__u32)ktap_random(), numbers[i], each);
			if (!between(&s, before, &now))
				return;
			off = fabs(s.sources - numbers[i]);
			printf("# %u sources: %.0f, %.1f errors off\n", numbers[i], s.sources,
			       expected.error > 0 ? off / expected.error : 0);
			CHECK(off <= SIGMAS * expected.error + 1 && !s.at_least, "%u sources: %.0f%s, error %.0f",
			      numbers[i], s.sources, s.at_least ? " at least" : "", expected.error);
			/* With hardly a cell left, all that is known is that they are more. */
			send(&now, 0, 1000000, 1);
			CHECK(between(&s, before, &now) && s.at_least && s.sources > 100000 && s.sources < 1000000,
			      "a million: %.0f%s", s.sources, s.at_least ? " at least" : "");
		}
}

/* Of a larger sketch the first part is looked at. */
static void part(void)
{
	static __u64 cells[CELLS * 4], before[CELLS * 4];
	struct seen now = { .now = NOW, .cell = cells, .cells = CELLS };
	struct strangers s;

	now.with =
		(struct detect){ .cells = CELLS * 4, .cap = 10000000, .most = 1ULL << 40, .sketch = (uintptr_t)cells };
	now.with.hash = (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, 0 };
	send(&now, (__u32)ktap_random(), 40000, 1);
	/* A quarter of them is seen, and four times its error: 4 sqrt(10000) and some for the cells that they share. */
	CHECK(between(&s, before, &now) && fabs(s.sources - 40000) < SIGMAS * 4 * 120, "%.0f of 40000", s.sources);
}

/* A second's packets, of which one in 64 is seen apart: of sources that come once, and of those that send more. */
static void forged(void)
{
	for (unsigned int each = 1; each <= 4; each++) {
		static __u64 cells[CELLS], before[CELLS];
		struct seen now = { .now = NOW, .cell = cells, .cells = CELLS };
		struct strangers second, moment;

		now.with = (struct detect){
			.cells = CELLS, .cap = 10000000, .most = 1ULL << 40, .sketch = (uintptr_t)cells
		};
		now.with.hash = (struct hash_seeds){ ktap_random(), ktap_random() | 1, ktap_random() | 1, 0 };
		memset(cells, 0, sizeof(cells));
		memset(before, 0, sizeof(before));
		send(&now, 1000, 40000, each);
		if (!between(&second, before, &now))
			return;
		memcpy(before, cells, sizeof(before));
		send(&now, 90000000, 40000 * each / 64, 1);
		if (!between(&moment, before, &now))
			return;
		CHECK(strangers_are_many(&second, 3000) && !strangers_are_many(&second, 5000), "%.0f", second.sources);
		CHECK(each == 2 || strangers_are_fresh(&second, &moment, 1.0 / 64) == (each < 2),
		      "%u packets of each: %.0f in a second, %.0f in a moment", each, second.sources, moment.sources);
	}
}

/* Every port: what answers there with more than it was asked, and what it is called. */
static void services(void)
{
	static const struct {
		unsigned int port;
		const char *name, *text;
	} expected[] = {
		{ 17, "qotd", "QOTD reflection" },
		{ 19, "chargen", "chargen reflection" },
		{ 53, "dns", "DNS reflection" },
		{ 69, "tftp", "TFTP reflection" },
		{ 111, "portmap", "portmap reflection" },
		{ 123, "ntp", "NTP reflection" },
		{ 137, "netbios", "NetBIOS reflection" },
		{ 161, "snmp", "SNMP reflection" },
		{ 389, "cldap", "CLDAP reflection" },
		{ 427, "slp", "SLP reflection" },
		{ 500, "ike", "IKE reflection" },
		{ 520, "rip", "RIP reflection" },
		{ 1434, "mssql", "MS SQL reflection" },
		{ 1900, "ssdp", "SSDP reflection" },
		{ 3283, "ard", "ARD reflection" },
		{ 3702, "wsd", "WS-Discovery reflection" },
		{ 5093, "sentinel", "Sentinel reflection" },
		{ 5353, "mdns", "mDNS reflection" },
		{ 5683, "coap", "CoAP reflection" },
		{ 10001, "ubiquiti", "Ubiquiti reflection" },
		{ 11211, "memcached", "memcached reflection" },
		{ 37810, "dhdiscover", "DHDiscover reflection" },
	};
	size_t met = 0, wrong = 0;
	unsigned int where = 0;

	for (unsigned int port = 0; port <= 0xffff; port++) {
		bool is_next = met < sizeof(expected) / sizeof(*expected) && expected[met].port == port;
		char text[ATTACK_WHAT_MAX];
		struct attack_look l;

		none();
		add4(1, CLASS_UDP, 1)->port = port + 1;
		l = look(1, 0);
		attack_what_text(text, l.what.name, l.what.service);
		if (is_next ? l.what.port != port || strcmp(l.what.service ?: "", expected[met].name) != 0 ||
				      strcmp(text, expected[met].text) != 0
			    : l.what.service || strcmp(text, "UDP") != 0) {
			where = port;
			wrong++;
		}
		met += is_next;
	}
	CHECK(!wrong, "%zu ports, the last of them %u, are not what they were", wrong, where);
}

/* Of each source the one that is banned for longest, or was most above a limit, in front; whichever order they are in.
 */
static void each_once(void)
{
	static const struct {
		__u64 key, until;
		unsigned int over;
	} all[] = { { 1, 0, 5 },  { 1, 0, 9 },	{ 1, 0, 7 },   { 2, 50, 1 },
		    { 2, 70, 0 }, { 2, 0, 90 }, { 2, 60, 99 }, { 3, 0, 0 } };
	enum { N = sizeof(all) / sizeof(*all) };

	for (int round = 0; round < 1000 && !ktap_failed; round++) {
		const struct suspect_seen *who[N + 1];
		size_t n;

		none();
		for (size_t i = 0; i < N; i++) {
			who[i] = &suspects[seen.n];
			add(SUSPECT_IPV4, all[i].key, CLASS_SYN, all[i].over)->until = all[i].until;
		}
		who[N] = &suspects[seen.n]; /* another one */
		add(SUSPECT_IPV6, 1, CLASS_SYN, 0);
		for (size_t i = N; i; i--) {
			size_t other = ktap_random() % (i + 1);
			const struct suspect_seen *s = who[i];

			who[i] = who[other];
			who[other] = s;
		}
		n = seen_once(who, N + 1);
		if (!CHECK(n == 4, "%zu sources", n))
			break;
		for (size_t i = 0; i < n; i++) {
			const struct suspect_seen *s = who[i];
			bool six = MARK_KIND(s->mark) == SUSPECT_IPV6;

			CHECK(six || (s->key == 1 && suspect_over(s) == 9) || (s->key == 2 && s->is.until == 70) ||
				      s->key == 3,
			      "of source %llu it is the one until %llu, %llu over", s->key, s->is.until,
			      suspect_over(s));
		}
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "who sends", who },
		{ "one by several interfaces", by_interfaces },
		{ "carpets", carpets },
		{ "what they send", what },
		{ "what they reflect from", services },
		{ "how many there are", sources },
		{ "by a part of the sketch", part },
		{ "forged ones", forged },
		{ "each once", each_once },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
