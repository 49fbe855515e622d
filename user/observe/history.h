/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What attacks looked like over the last minute, hour and day, in a file of fixed size: the service writes it, report
 * reads it. Counts are exact; sources, networks and ports come from samples (weigh.h).
 */
#ifndef OBSERVE_HISTORY_H
#define OBSERVE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "observe/top_table.h"
#include "state/state.h"

struct counted;
struct packet;

/*
 * Of who is banned: where a packet came from, or went to where destinations are asked about. TOP_INSIDE: the sources of
 * the latter, who are somebody of ours.
 */
enum top { TOP_SOURCES, TOP_NETWORKS, TOP_PORTS, TOP_INSIDE, TOPS };

/*
 * The list that a place among the sums belongs to; "" where it is free. A label may pass to another list, a place does
 * not: what a list dropped stays its own when it is unloaded.
 */
struct history_list {
	char name[LIST_NAME_MAX];
	uint32_t kind;
};

/* 0: the list has none. */
unsigned int history_place(const struct history_list places[LABELS], const struct list_info *list);

struct history_sums {
	uint64_t from, until; /* seconds since the epoch */
	struct tally verdict[VERDICTS];
	struct tally leaving[VERDICTS]; /* of these, what was to leave */
	struct tally list[LABELS];	/* by place; 0: live bans, or where no list can be named */
	double peak;			/* the most dropped in a second */
	uint64_t peak_at;
	uint64_t samples;
	double weighed, spread; /* what they stand for, and what chance makes of that */
	struct top_entry top[TOPS][TOP_ENTRIES];
};

/* What the charts are drawn from: a second or a minute. */
struct history_point {
	uint64_t at;
	uint64_t passed, dropped, dropped_bytes;
};

/* Drops above a rate, with breaks shorter than a minute. */
struct history_attack {
	uint64_t begin, end; /* of the last second in it */
	struct tally dropped;
	double peak;
};

#define HISTORY_SECONDS 120
#define HISTORY_MINUTES 1500
#define HISTORY_ATTACKS 32
#define ATTACK_RATE	1000 /* packets dropped in a second */
#define ATTACK_BREAK	60

enum history_window { HISTORY_MINUTE, HISTORY_HOUR, HISTORY_DAY, HISTORY_WINDOWS };
extern const char *const history_window_names[];

struct history;

/* 0 or -errno with the reason recorded. The writer empties a damaged file, or one of another version. */
int history_open(const struct context *context, struct history **history, bool write);
/* In memory alone. */
int history_private(struct history **history);
void history_close(struct history *history);
/* Another process has cut or overwritten its file: it is to be opened anew. */
bool history_is_lost(const struct history *history);

/* The lists whose labels are counted from now on; live_exact: only live bans count on LABEL_LIVE. */
void history_lists(struct history *history, const struct list_info *lists, size_t n, bool live_exact);
/* Once a second: what was counted since the last time. */
void history_count(struct history *history, uint64_t now, double seconds, const struct counted *between);
/* A sample, and for how many packets it stands. */
void history_sample(struct history *history, uint64_t now, const struct packet *packet, double packets);

/* Whom a sample that stands for so many packets names in each table; family 0: nobody. False: it has no source. */
bool top_named(struct top_entry in[TOPS], const struct packet *packet, double packets);

struct history_report {
	struct history_list lists[LABELS];
	struct history_sums sums; /* top tables are sorted, the most frequent first */
	struct history_point points[HISTORY_MINUTES];
	unsigned int points_n, point_seconds;
	struct history_attack attacks[HISTORY_ATTACKS]; /* the latest first */
	unsigned int attacks_n;
};

/* -EAGAIN where the writer never paused; *report is large. */
int history_read(const struct history *history, uint64_t now, enum history_window window,
		 struct history_report *report);
/* Of a report of the last minute: packets a second, of the last few, so that it does not dance; -1: none was counted.
 */
void history_rates(const struct history_report *minute, uint64_t now, double *passed, double *dropped);

#endif
