// SPDX-License-Identifier: GPL-2.0-only
/* What was counted between two looks: counters that go on, that begin again, and rows that are given away. */
#include <stdlib.h>
#include <string.h>

#include "kernel/counters.h"
#include "ktap.h"
#include "base/ports.h"

static const struct port_of given_ports[] = {
	{ .ifindex = 7, .above = 3, .hands_on = true },
	{ .ifindex = 8 + PORTS, .above = 3, .hands_on = true },
	{ .ifindex = 8, .above = 3, .hands_on = true },
	{ .ifindex = 9, .above = 8, .hands_on = true },
	{ .ifindex = 10, .above = 3 },
	{ .ifindex = 4, .above = 3, .hands_on = true },
	{ .ifindex = 11, .above = 20, .hands_on = true },
};
static int ports_err;

static int given_look(struct port_of **ports, size_t *n)
{
	*n = ports_err ? 0 : sizeof(given_ports) / sizeof(*given_ports);
	*ports = ports_err ? NULL : malloc(sizeof(given_ports));
	if (*ports)
		memcpy(*ports, given_ports, sizeof(given_ports));
	return ports_err;
}

#define ports_look given_look
#include "observe/tallies.c"

static struct counted before, now, between;

static struct tally row(__u64 packets, __u64 bytes)
{
	return (struct tally){ .packets = packets, .bytes = bytes };
}

static bool is(const struct tally *t, __u64 packets, __u64 bytes)
{
	return CHECK(t->packets == packets && t->bytes == bytes, "%llu packets, %llu bytes, not %llu, %llu", t->packets,
		     t->bytes, packets, bytes);
}

/* Either number that has become less says that all of it is new. */
static void goes_on_or_begins_again(void)
{
	static const struct {
		struct tally before, now, between;
	} known[] = {
		{ { 0, 0 }, { 0, 0 }, { 0, 0 } },	{ { 5, 500 }, { 5, 500 }, { 0, 0 } },
		{ { 5, 500 }, { 7, 640 }, { 2, 140 } }, { { 5, 500 }, { 5, 640 }, { 0, 140 } },
		{ { 5, 500 }, { 4, 640 }, { 4, 640 } }, { { 5, 500 }, { 7, 499 }, { 7, 499 } },
		{ { 5, 500 }, { 4, 400 }, { 4, 400 } }, { { 5, 500 }, { 0, 0 }, { 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		memset(&before, 0, sizeof(before));
		memset(&now, 0, sizeof(now));
		before.verdict[DROPPED] = before.list[LABELS - 1] = before.port[PORTS - 1][REASONS - 1] =
			known[i].before;
		now.verdict[DROPPED] = now.list[LABELS - 1] = now.port[PORTS - 1][REASONS - 1] = known[i].now;
		memset(&between, 0xff, sizeof(between));
		tallies_since(&between, &before, &now);
		if (!is(&between.verdict[DROPPED], known[i].between.packets, known[i].between.bytes) ||
		    !is(&between.list[LABELS - 1], known[i].between.packets, known[i].between.bytes) ||
		    !is(&between.port[PORTS - 1][REASONS - 1], known[i].between.packets, known[i].between.bytes) ||
		    !is(&between.list[0], 0, 0))
			return;
	}
}

/* Another interface takes a row: what it had counted until then moves to the retired row, and is not new there. */
static void retired(void)
{
	memset(&before, 0, sizeof(before));
	memset(&now, 0, sizeof(now));
	before.port[3][1] = row(100, 10000);
	before.port[PORT_RETIRED][1] = row(7, 700);
	now.port[3][1] = row(2, 150);
	now.port[PORT_RETIRED][1] = row(7 + 100 + 4, 700 + 10000 + 390); /* with what came after the first look */
	tallies_since(&between, &before, &now);
	is(&between.port[3][1], 2, 150);
	is(&between.port[PORT_RETIRED][1], 4, 390);
	/* Less than was there: nothing, and never below it. */
	now.port[PORT_RETIRED][1] = row(7 + 50, 700 + 5000);
	tallies_since(&between, &before, &now);
	is(&between.port[PORT_RETIRED][1], 0, 0);
	now.port[3][1] = before.port[3][1];
	tallies_since(&between, &before, &now);
	is(&between.port[3][1], 0, 0);
	is(&between.port[PORT_RETIRED][1], 50, 5000);
}

static void seconds(void)
{
	struct tallies a = { .at = { 10, 900000000 } }, b = { .at = { 12, 100000000 } };

	CHECK(tallies_seconds(&a, &b) > 1.1999 && tallies_seconds(&a, &b) < 1.2001, "%g s", tallies_seconds(&a, &b));
}

/* Interfaces whose numbers are a multiple of PORTS apart share a row, and its first has the counts; rows of nobody. */
static void ports(void)
{
	static struct attachment on[] = {
		{ .name = "eth0", .ifindex = 3 },
		{ .name = "a-long-name-001", .ifindex = 3 + PORTS },
		{ .name = "gone", .ifindex = 3 + 2 * PORTS, .gone = true },
		{ .name = "eth1", .ifindex = 4 },
		{ .name = "a-long-name-002", .ifindex = 3 + 3 * PORTS },
		{ .name = "a-long-name-003", .ifindex = 3 + 4 * PORTS },
		{ .name = "a-long-name-004", .ifindex = 3 + 5 * PORTS },
		{ .name = "eth\033", .ifindex = 5 },
		{ .name = "eth1", .ifindex = 4, .match = MATCH_LEAVING(MATCH_DESTINATION) },
	};
	static struct counted counted;
	struct tallies t = { .ports = on, .ports_n = sizeof(on) / sizeof(*on) };
	struct {
		char buf[64], behind[64];
	} name;

	for (unsigned int i = 0; i <= PORTS; i++) {
		counted.port[i][2] = row(i + 1, 2);
		counted.out[i][2] = row(1000 * (i + 1), 2);
	}
	memset(&name, 'x', sizeof(name));
	CHECK(!strcmp(tallies_port_name(&t, 0, name.buf),
		      "eth0+a-long-name-001+a-long-name-002+a-long-name-003+a-long-nam"),
	      "'%s'", name.buf);
	CHECK(name.behind[0] == 'x' && !memcmp(name.behind, name.behind + 1, 63), "it is written behind the name");
	CHECK(!strcmp(tallies_port_name(&t, 3, name.buf), "eth1"), "'%s'", name.buf);
	CHECK(!strcmp(tallies_port_name(&t, 6, name.buf), "a-long-name-004"), "'%s'", name.buf);
	CHECK(!strcmp(tallies_port_name(&t, 7, name.buf), "eth?"), "'%s'", name.buf);
	CHECK(!strcmp(tallies_port_name(&t, 9, name.buf), "(others before)"), "the last");
	CHECK(!strcmp(tallies_port_label(&t, 3, name.buf), "eth1"), "'%s'", name.buf);
	CHECK(!strcmp(tallies_port_label(&t, 8, name.buf), "eth1 egress"), "'%s'", name.buf);
	for (size_t i = 0; i < 10; i++) {
		unsigned int all = 0, is[] = { 4, 0, 0, 5, 0, 0, 0, 6, 5000 };

		for (unsigned int at = 0; at <= PORTS; at++)
			all += (at >= 3 && at <= 5 ? 0 : at + 1) + (at == 4 ? 0 : 1000 * (at + 1));
		CHECK(tallies_port(&t, &counted, i)[2].packets == (i < 9 ? is[i] : all), "%zu has %llu", i,
		      tallies_port(&t, &counted, i)[2].packets);
	}
}

/* What a bond counts in native mode has its ports' numbers, and a port that is filtered itself has its own. */
static void of_a_bond(void)
{
	static struct attachment on[] = {
		{ .name = "bond0", .ifindex = 3, .mode = MODE_NATIVE },
		{ .name = "eth1", .ifindex = 4, .mode = MODE_NATIVE },
		{ .name = "bond0", .ifindex = 3, .mode = MODE_TC, .match = MATCH_LEAVING(MATCH_DESTINATION) },
	};
	static struct counted counted;
	struct tallies t = { .ports = on, .ports_n = 3 };

	for (unsigned int i = 0; i < 16; i++)
		counted.port[i][2] = row(1ULL << i, 2);
	counted.out[3][2] = row(1 << 16, 2);
	t.below_n = tallies_below(on, t.ports_n, t.below);
	CHECK(t.below_n == 3, "%zu rows", t.below_n);
	is(&tallies_port(&t, &counted, 0)[2], 1 << 3 | 1 << 7 | 1 << 8 | 1 << 9, 8);
	is(&tallies_port(&t, &counted, 1)[2], 1 << 4, 2);
	is(&tallies_port(&t, &counted, 2)[2], 1 << 16, 2);
	is(&tallies_port(&t, &counted, 3)[2], 0xffff ^ (1 << 3 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 9), 11 * 2);
	ports_err = -EIO;
	CHECK(!tallies_below(on, t.ports_n, t.below), "rows of ports that are not known");
	ports_err = 0;
	/* By the stack they have its own. */
	on[0].mode = MODE_SKB;
	t.below_n = tallies_below(on, t.ports_n, t.below);
	is(&tallies_port(&t, &counted, 0)[2], 1 << 3, 2);
}

/* Whom the detector bans is counted once: at once where the list of its bans is not there yet. */
static void detectors(void)
{
	struct list_info *lists = NULL;
	size_t n = 0;

	CHECK(!lists_add_detector(&lists, &n) && n == 1 && lists[0].label == LABEL_DETECTOR &&
		      lists[0].kind == LIST_BAN && !strcmp(lists[0].name, DETECTOR_LIST),
	      "%zu lists", n);
	CHECK(!lists_add_detector(&lists, &n) && n == 1, "it is there %zu times", n);
	lists[0].label--;
	CHECK(!lists_add_detector(&lists, &n) && n == 2 && lists[1].label == LABEL_DETECTOR, "%zu lists", n);
	lists[1].kind = LIST_ALLOW;
	CHECK(!lists_add_detector(&lists, &n) && n == 3 && lists[2].label == LABEL_DETECTOR, "%zu lists", n);
	free(lists);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "goes on, or begins again", goes_on_or_begins_again },
		{ "a row that is retired", retired },
		{ "seconds", seconds },
		{ "interfaces that share a row", ports },
		{ "an interface that has ports", of_a_bond },
		{ "the detector's bans", detectors },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
