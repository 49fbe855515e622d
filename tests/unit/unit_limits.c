// SPDX-License-Identifier: GPL-2.0-only
/* Limits of the detector: how they are typed and said, prices and bursts, and those of interfaces; word for word. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/limits.h"
#include "ktap.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_limits.txt"
};

static struct shows shows = { .file = "tests/unit/unit_limits.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define U(number) ((unsigned long long)(number))
#define TICK	  4000000ULL

static void texts(void)
{
	static const char *const typed[] = {
		"0",	   "0.9",     "1",	 "1/s",	   "1pps",    "1.5kpps",  "1k",	      "1M",	 "1G",
		"1T",	   "100M",    "100.1M",	 "1e3",	   "-1",      "",	  "/s",	      "k",	 "1kk",
		"1 /s",	   "1.2.3/s", "2000/s",	 "1999/s", "2000B/s", "16000bit", "15999bit", "1Mbit/s", "1Mbps",
		"800Gbit", "801Gbit", "100GB/s", "12MB",   "1bit/",   ".5/s",	  "0.5k/s",
	};
	static const double rates[] = { 0, 1, 999, 1000, 1001, 99999, 1e6, 1234567, 1e9, 1e12, 125e6, 0.25 };
	char text[LIMIT_TEXT_MAX];
	double number;

	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		printf("'%s':", typed[i]);
		for (enum packet_class class = CLASS_PACKETS; class <= CLASS_BYTES; class ++) {
			if (limit_rate(class, typed[i], &number))
				printf(" %.10g", number);
			else
				printf(" none");
		}
		if (limit_number(typed[i], &number))
			printf(", as a number %.10g", number);
		puts("");
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		printf("%.10g: %s,", rates[i], limit_text(text, CLASS_SYN, rates[i]));
		printf(" %s\n", limit_text(text, CLASS_BYTES, rates[i]));
	}
	for (size_t i = 0; i < LIMITED; i++)
		printf("%s %.10g\n", limit_names[i], limit_rates[i]);
	for (size_t i = 0; i < THENS; i++)
		printf("%s\n", limit_thens[i]);
	printf("%d %d\n", !limit_names[LIMITED], !limit_thens[THENS]);
}

static void print_plan(const struct limits *limits, __u64 tick)
{
	struct detect d;

	limits_plan(&d, limits, tick);
	printf("version %llu, %llu cells, %llu buckets, tick %llu, cap %llu, most %llu, keep %llu, networks %llu, looks up %llx\n",
	       U(d.version), U(d.cells), U(d.buckets), U(d.tick), U(d.cap), U(d.most), U(d.keep), U(d.networks),
	       U(d.looks_up));
	printf("  then");
	for (size_t i = 0; i < THENS; i++)
		printf(" %llx", U(d.then[i]));
	for (size_t i = 0; i < CLASSES; i++)
		if (d.limit[i].price || d.moves[i])
			printf("; %zu: price %llu, burst %llu, moves %llu", i, U(d.limit[i].price), U(d.limit[i].burst),
			       U(d.moves[i]));
	printf("\n  strictest %.6g, holds %.6g pps, %.6g suspects, %llu bytes; does %x %x %x, looks up %x\n",
	       limits_strictest(limits), limits_pps(&d, limits), limits_suspects(&d), U(limits_bytes(&d)),
	       limits_do(limits, THEN_WATCH), limits_do(limits, THEN_POLICE), limits_do(limits, THEN_BAN),
	       limits_look_up(limits));
}

static void print_slots(const struct limits *limits)
{
	static struct slot slots[SLOTS];

	limits_slots(slots, limits, TICK);
	for (size_t s = 0; s < SLOTS; s++) {
		if (s > limits->interfaces && s != SLOTS - 1)
			continue;
		printf("  slot %llu '%s': then", U(slots[s].number), slots[s].name);
		for (size_t i = 0; i < THENS; i++)
			printf(" %llx", U(slots[s].then[i]));
		for (size_t i = 0; i < CLASSES; i++)
			if (slots[s].limit[i].price || slots[s].moves[i])
				printf("; %zu: %llu %llu %llu", i, U(slots[s].limit[i].price),
				       U(slots[s].limit[i].burst), U(slots[s].moves[i]));
			else if (slots[s].limit[i].burst != SLOT_UNLIMITED)
				printf("; %zu is limited", i);
		puts("");
	}
}

static void plans(void)
{
	struct limits limits = { .on = true };

	print_plan(&limits, TICK);
	print_slots(&limits);
	for (size_t i = 0; i < LIMITED; i++)
		limits.of[i] = (struct limit){ limit_rates[i], 0, i % THENS };
	print_plan(&limits, TICK);
	print_slots(&limits);
	/* Bursts: less than is exact, just that, more, and more than an hour. */
	for (size_t i = 0; i < LIMITED; i++) {
		limits = (struct limits){ .on = true };
		for (int k = -1; k <= 2; k++) {
			double rate = i == CLASS_BYTES ? 1e6 : 100,
			       least = limit_burst_least((enum packet_class)i, rate, TICK);

			limits.of[i] = (struct limit){ rate, k == 2 ? rate * 4000 : least + k, THEN_BAN };
			printf("%s: a burst of %.10g, the least %.10g\n", limit_names[i], limit_burst(&limits.of[i]),
			       least);
			print_plan(&limits, TICK);
		}
	}
	limits = (struct limits){ .on = true, .networks = 8, .pps = 1e8, .suspects = 5000 };
	limits.of[CLASS_PACKETS].rate = 3;
	print_plan(&limits, 1);
	limits.pps = 1e9;
	limits.suspects = 200000;
	print_plan(&limits, 1);
}

static void put(struct limits *limits, const char *name, enum packet_class class, double rate, __u64 then)
{
	bool fits = limits_put_on(limits, name, class, (struct limit){ rate, rate * 2, then });

	printf("%s, %s %g: %s, %zu:", name, limit_names[class], rate, fits ? "put" : "too many", limits->interfaces);
	for (size_t i = 0; i < limits->interfaces && i < 5; i++)
		printf(" %s", limits->on_interface[i].name);
	printf("%s%s\n", limits->interfaces > 5 ? " ..." : "",
	       limits->interfaces < LIMITS_ON_MOST && *limits->on_interface[limits->interfaces].name
		       ? ", and one is left"
		       : "");
}

static void interfaces(void)
{
	static struct limits limits;
	char name[SLOT_NAME];

	memset(&limits, 0, sizeof(limits));
	limits.of[CLASS_PACKETS] = (struct limit){ 1000, 0, THEN_POLICE };
	limits.of[CLASS_SYN] = (struct limit){ 10, 30, THEN_BAN };
	put(&limits, "eth1", CLASS_SYN, 0, THENS);
	put(&limits, "eth1", CLASS_SYN, 20, THENS);
	put(&limits, "eth0", CLASS_UDP, 5, THEN_WATCH);
	put(&limits, "eth2", CLASS_BYTES, 1e6, THEN_BAN);
	put(&limits, "eth1", CLASS_PACKETS, 500, THEN_BAN);
	put(&limits, "a-name-of-fifteen", CLASS_SCAN, 9, THEN_BAN);
	print_plan(&limits, TICK);
	print_slots(&limits);
	for (size_t i = 0; i <= limits.interfaces; i++)
		for (size_t class = 0; class < LIMITED; class ++) {
			const struct limits_on *on = i ? &limits.on_interface[i - 1] : NULL;
			struct limit l = limit_on(&limits, on, (enum packet_class) class);

			if (l.rate > 0)
				printf("%s: %s %g, %g, %llu\n", on ? on->name : "all", limit_names[class], l.rate,
				       l.burst, U(l.then));
		}
	printf("%d %d %d\n", limits_of(&limits, "eth0") == &limits.on_interface[1], !limits_of(&limits, "eth3"),
	       !limits_of(&limits, "a"));
	put(&limits, "eth1", CLASS_SYN, 0, THENS);
	put(&limits, "eth1", CLASS_PACKETS, 0, THENS);
	put(&limits, "eth2", CLASS_BYTES, 0, THENS);
	put(&limits, "none", CLASS_BYTES, 0, THENS);
	for (int i = 0; limits.interfaces < LIMITS_ON_MOST; i++) {
		snprintf(name, sizeof(name), "if%03d", i);
		limits_put_on(&limits, name, CLASS_ICMP, (struct limit){ 7, 0, THENS });
	}
	put(&limits, "more", CLASS_ICMP, 7, THENS);
	put(&limits, "eth0", CLASS_ICMP, 7, THENS);
	put(&limits, "more", CLASS_ICMP, 0, THENS);
	put(&limits, name, CLASS_ICMP, 0, THENS);
	put(&limits, "zzz", CLASS_ICMP, 7, THENS);
	printf("%s\n", limits.on_interface[LIMITS_ON_MOST - 1].name);
	put(&limits, "zzz", CLASS_ICMP, 0, THENS);
	printf("'%s'\n", limits.on_interface[LIMITS_ON_MOST - 1].name);
	print_plan(&limits, TICK);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "texts", texts }, { "plans", plans }, { "interfaces", interfaces } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
