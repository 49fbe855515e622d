/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fleet that this machine has joined: where its server is, what is still to be said there, and how far each
 * member's word has been taken. The tables are made by joining and go with leaving: whoever has not joined has none.
 */
#ifndef STATE_FLEET_H
#define STATE_FLEET_H

#include "fleet/request.h"
#include "sets/prefixes.h"
#include "state/bans.h"
#include "state/members.h"

#define FLEET_USER_MAX	64
#define FLEET_FILE_MAX	256
#define FLEET_EPOCH_MAX 17		/* 16 hex digits; "": nothing was said yet */
#define FLEET_ID_MAX	48		/* of an entry, as its server writes it */
#define FLEET_N_MOST	(INT64_MAX / 2) /* a row with more is damaged */

/* Which bans go out; anything else: those whose reason begins with it. */
#define FLEET_SAY_ALL	   "all"
#define FLEET_SAY_ADD	   "add"
#define FLEET_SAY_DETECTOR "detector"

/* What others could change who may write to its files. */
#define FLEET_PASSWORD_IS "the password of this member"
#define FLEET_CA_IS	  "which server is believed"

struct fleet {
	char url[FLEET_URL_MAX], name[MEMBER_NAME_MAX], user[FLEET_USER_MAX], prefix[FLEET_PREFIX_MAX];
	char password_file[FLEET_FILE_MAX], say[BAN_REASON_MAX];
	char read[FLEET_URL_MAX]; /* where members are read; empty: at url */
	char ca[FLEET_FILE_MAX];  /* whose certificates are believed; empty: as the system has it */
	int64_t pace;		  /* ms between two readings, at least; 0: as the program has it */
	int64_t server_user;	  /* whose a server on this machine may be, too; 0: nobody else's */
	char epoch[FLEET_EPOCH_MAX];
	int64_t n;   /* so many entries of that epoch are said */
	int64_t all; /* not 0: everything is to be said again; another number each time */
};

/* How far a member's word is in force. */
struct fleet_at {
	char member[MEMBER_NAME_MAX], epoch[FLEET_EPOCH_MAX], id[FLEET_ID_MAX];
	int64_t n;
};

/* A prefix whose own ban has changed since it was said. */
struct fleet_out {
	int64_t number;
	struct addr first;
	unsigned int length;
};

/* So many may wait: beyond that, everything is said again. */
#define FLEET_OUT_MOST 100000

/* Asks nothing: it is known since the state was opened. */
bool state_joined(const struct state *state);
/* Do both say the same, but for what was said and taken? */
bool fleet_is_same(const struct fleet *a, const struct fleet *b);
/* -ENOENT: it has not joined. */
int state_fleet(struct state *state, struct fleet *fleet);
/* With another server or prefix, what was taken and said counts from the beginning. */
int state_fleet_join(struct state *state, const struct fleet *fleet);
/* -ENOENT: it has not joined. What members have said stays until it ends. */
int state_fleet_leave(struct state *state);
/* Everything is to be said again. */
int state_fleet_say_all(struct state *state);
/* `entries` up to that number, and everything, if all is what fleet.all was then, have been said. */
int state_fleet_said(struct state *state, const char *epoch, int64_t n, int64_t number, int64_t all);

/* Does such a ban go out? */
bool fleet_says(const char *say, const struct ban *ban);
/* This machine's own ban of the prefix has changed: ban NULL: it is taken back. `fresh`: there was none before. */
int state_own_changed(struct state *state, const struct prefix *prefix, const struct ban *ban, bool fresh);
/* The first of them, in their order; free() the array. */
int state_fleet_out(struct state *state, size_t most, struct fleet_out **out, size_t *n);
int state_fleet_waiting(struct state *state, int64_t *n);
/* The last number in use. */
int state_fleet_out_last(struct state *state, int64_t *number);

/* By name; free() the array. */
int state_fleet_ats(struct state *state, struct fleet_at **at, size_t *n);
int state_fleet_at_put(struct state *state, const struct fleet_at *at);
/* there: false where it has no row, and gets none. */
int state_fleet_at_move(struct state *state, const struct fleet_at *at, bool *there);
/* member NULL: of all. Its word is taken from the beginning. */
int state_fleet_at_drop(struct state *state, const char *member);

#endif
