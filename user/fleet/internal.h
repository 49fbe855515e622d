/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of xdp-bloom-fleet share: see docs/design.md, "A fleet's server". */
#ifndef FLEET_INTERNAL_H
#define FLEET_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/entry.h"
#include "fleet/lines.h"
#include "fleet/request.h"
#include "fleet/server.h"
#include "fleet/server_clock.h"

#define KEY_MAX (FLEET_PREFIX_MAX + MEMBER_NAME_MAX + 16)
/* So many members are known at most, whatever stands in the set. */
#define KNOWN_MOST 16384
/* While so much waits for the command, no server is heard; while so much waits for the server, the command is not. */
#define OUT_MOST   ((size_t)256 << 10)
#define TALK_MOST  ((size_t)1 << 20)
#define ASKED_MOST 4096

struct wire;

/* A position in a member's log. */
struct place {
	char epoch[EPOCH_MAX]; /* EPOCH_NONE: nowhere */
	uint64_t n;
	char id[ID_MAX];
};

#define AHEAD_SLOTS 32

struct member_heard {
	char name[MEMBER_NAME_MAX];
	bool in_set, seen;     /* in the set of members; while that is read */
	bool refused;	       /* not even by the word for any */
	bool rung;	       /* its bell has rung, or its log was not read to the end */
	bool followed, by_any; /* by its own word, or by that for any */
	bool forgotten;	       /* once nobody points to it */
	unsigned int used;     /* answers about it that are on their way */
	uint64_t most;	       /* bans, in a snapshot */
	struct place at;
	/* Snapshots */
	bool wants_snapshot;
	int64_t snapshot_at, snapshot_wait; /* not before; and how long it waited last */
	/* A key of a wrong type, or one that may not be read: it is asked alone, and not often. */
	bool alone, reading;
	int64_t alone_at, alone_wait;
	/* Its head */
	int64_t head_at;      /* asked next */
	struct place suspect; /* that its head has said, and its log not yet */
	bool empty;	      /* its head was not there */
	/* Lines that the command has not put into force yet: up to each of these ids, the oldest first. */
	struct {
		char id[ID_MAX];
		uint64_t lines;
	} ahead[AHEAD_SLOTS];
	unsigned int slots;
	uint64_t lines; /* in all of them */
};

/* --- own.c: what this machine says --- */

#define PRUNED_MOST 256

struct own {
	enum { OWN_UNKNOWN, OWN_LOST, OWN_KNOWN } state;
	bool told;	       /* the command has said where it is */
	char epoch[EPOCH_MAX]; /* the last that it said, or EPOCH_NONE */
	uint64_t n;	       /* with what is on its way */
	uint64_t sure;	       /* that is there */
	bool busy;	       /* nothing more is taken from the command until the server has answered */
	/* Batches: their commands, as many of them as were made, and up to where whole batches go. */
	struct outgoing commands;
	int made;
	uint64_t batches[64];
	unsigned int n_batches;
	bool partial; /* there are lines behind the last whole one */
	bool torn;    /* the rest of it is of no use, because of: */
	char torn_why[160];
	uint64_t n_before;
	char why[160]; /* the server refuses it */
	bool broken;   /* it was taken in part */
	/* A whole saying */
	char next[EPOCH_MAX];	 /* empty: there is none */
	bool has_reasons, wrong; /* wrong: a key is of another type */
	uint64_t lines, there;	 /* of all of it: said, and counted at the server */
	uint64_t all_number;
	/* What the server has */
	int64_t check_at, touch_at, prune_at;
	char head_epoch[EPOCH_MAX];
	uint64_t head_n, checked; /* checked: `sure`, when the head was asked for */
	bool head_whole;
	char head_why[160];
	char pruned[PRUNED_MOST][PREFIX_TEXT_MAX];
	unsigned int n_pruned;
};

void own_line(struct wire *w, int n, char *fields[]);
/* No more lines are there for now. */
void own_pause(struct wire *w);
void own_up(struct wire *w);
void own_down(struct wire *w);
void own_turn(struct wire *w, int64_t now);
int64_t own_due(const struct wire *w);
static inline bool own_is_busy(const struct own *own)
{
	return own->busy;
}

/* --- follow.c, snapshot.c: what the others say --- */

struct follow {
	struct member_heard **members; /* by name */
	size_t n;
	bool any;
	uint64_t any_most;
	int64_t set_at, read_at, next_head;
	int64_t all_at, ping_at; /* all logs are read, bell or not; the bell's line is tried */
	int64_t asked_at;	 /* the reading that is on its way */
	bool is_message;	 /* that comes by the bell's line */
	size_t heads, next_log;	 /* which is asked next */
	/* The answer of XREAD that is being read */
	bool reading, failed;
	size_t probes;
	struct member_heard *member;
	int64_t entries, left_fields;
	char id[ID_MAX], field[8];
	bool field_known;
	struct entry entry;
	bool moved;
	int64_t newest;
	uint64_t set_n, set_bad, set_bad_told; /* names in the set, and those that are none */
	bool set_failed, set_failed_told;
};

struct member_heard *follow_find(struct wire *w, const char *name);
void follow_line(struct wire *w, int n, char *fields[]);
/* Once. */
void follow_begin(struct wire *w);
void follow_up(struct wire *w);
void follow_down(struct wire *w);
void follow_turn(struct wire *w, int64_t now);
int64_t follow_due(const struct wire *w);
/* `why` is told; the rest of the log is not read before its snapshot. */
void follow_gap(struct wire *w, struct member_heard *m, const char *why);
/* It is taken, but not as often as its member would have it. */
void follow_wants_snapshot(struct member_heard *m);
/* An answer about it was too long, which has cost a connection: it is not asked for soon, and each time later. */
void follow_leave_alone(struct wire *w, struct member_heard *m);
/* Behind lines that were told of it. */
void follow_told(struct member_heard *m, const char *id, uint64_t lines);

struct banned {
	struct addr first;
	unsigned int length;
	double end;
};

struct snapshot {
	struct member_heard *member; /* NULL: none is taken */
	char epoch[EPOCH_MAX], proof[EPOCH_MAX], id[ID_MAX];
	uint64_t n;
	char prefix[PREFIX_TEXT_MAX];
	bool has_prefix, failed, whole;
	char why[160];
	struct banned *bans;
	size_t n_bans, told, asked, at;
	uint64_t over;
	bool asking; /* for reasons */
	int64_t began;
};

void snapshot_down(struct wire *w);
void snapshot_turn(struct wire *w, int64_t now);
int64_t snapshot_due(const struct wire *w);

/* --- wire.c --- */

struct wire {
	const struct fleet_request *request;
	struct fleet_url url;
	struct fleet_url read_url;
	struct server talk, other, ear; /* the ear hears bells, so nothing is asked there */
	struct server *read;		/* talk, or other: where the members are read */
	struct lines in;
	struct outgoing out;
	struct server_clock clock;
	struct own own;
	struct follow follow;
	struct snapshot snapshot;
	bool up, ended;
	bool strange;		/* somebody else was where its server is to be */
	int64_t again_at, wait; /* when it is tried again; how long it waited last */
	int64_t up_at;
	int64_t clock_at, asked_time;
	int clock_field;
	uint64_t clock_s;
	bool clock_failed;
	int greeting; /* clocks that are still asked for */
};

__attribute__((format(printf, 2, 3))) void tell(struct wire *w, const char *fmt, ...);
/* From half of it to all of it. */
int64_t with_jitter(int64_t ms);
const char *key_of(char key[KEY_MAX], const struct wire *w, const char *name, const char *what);
/* A taker of answers that are of no interest unless they are errors. */
extern const struct taker take_nothing;
/* Runs until the command is gone. */
int wire_run(const struct fleet_request *request);

#endif
