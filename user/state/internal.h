/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of this folder share: they alone speak SQLite. */
#ifndef STATE_INTERNAL_H
#define STATE_INTERNAL_H

#include <sqlite3.h>

#include "base/state_path.h"
#include "state/accepted.h"
#include "state/bans.h"
#include "state/state.h"

/* Where a list has a signature in place of a file: the root of all paths, as no list is read from that. */
#define SIGNED_PATH "/"

/* Of a row of `port` in pending's name of it: what leaves is called otherwise (base/label.h). */
#define PORT_LEAVES_TOO " || CASE leaves WHEN 1 THEN '" LABEL_LEAVES "' ELSE '' END"
/* It was attached for itself, and not with a rule that waits. */
#define PORT_WAITS_FOR_ITSELF                                                                           \
	"EXISTS (SELECT 1 FROM pending WHERE kind = 1 AND pending.name = port.name" PORT_LEAVES_TOO ")" \
	" AND NOT EXISTS (SELECT 1 FROM pending WHERE kind = 1 AND pending.name = '" LABEL_PORTS        \
	"' || port.of" PORT_LEAVES_TOO ")"

/* Statements that one command may run thousands of times. */
enum cached_statement {
	CACHED_SETTING,
	CACHED_PENDING_ANY,
	CACHED_BAN_GET,
	CACHED_BAN_NEW,
	CACHED_BAN_PUT,
	CACHED_BAN_DROP,
	CACHED_BAN_LENGTH,
	CACHED_BAN_TOUCHING,
	CACHED_BAN_ALL,
	CACHED_BAN_ENDING,
	CACHED_BAN_ENDING_ALL,
	CACHED_STRIKE_GET,
	CACHED_STRIKE_PUT,
	CACHED_STRIKE_DROP,
	CACHED_SAID_ANY,
	CACHED_SAID_OF,
	CACHED_SAID_NEW,
	CACHED_SAID_PUT,
	CACHED_SAID_DROP,
	CACHED_FLEET_OUT,
	CACHED_BEHIND_ANY,
	CACHED_BEHIND_GET,
	CACHED_BEHIND_PUT,
	CACHED_BEHIND_DROP,
	CACHED_STATEMENTS
};

/* From which version on what waits for confirmation has an end that setting the date does not move. */
#define VERSION_DUE 6
/* ...and lists have a row in `accepted`. */
#define VERSION_ACCEPTED 7
/* ...and bans. */
#define VERSION_ENDS 8
/* ...and there are strikes. */
#define VERSION_STRIKES 9
/* ...and lists may have a row in `chosen`. */
#define VERSION_CHOSEN 10
/* ...and there are feeds. */
#define VERSION_FEEDS 11
/* ...and what the members of a fleet say. */
#define VERSION_FLEET 12
/* ...and lists may have a row in `scope`. */
#define VERSION_SCOPES 13
/* ...and interfaces may have a row in `matched`. */
#define VERSION_MATCHED 14
/* ...and in `leaving`. */
#define VERSION_LEAVING 15
/* ...and those whose ports are filtered, in `ports`. */
#define VERSION_PORTS 16
/* ...and what members said waits beside an image. */
#define VERSION_SAID_BEFORE 17
/* ...and this machine's own bans behind an agent's. */
#define VERSION_BEHIND 18

/* What one question may cost, in instructions of SQLite's. */
struct steps {
	uint64_t done, most;
};

struct state {
	const char *directory;
	long wait;   /* for other commands, seconds */
	sqlite3 *db; /* NULL: looking at a state that does not exist */
	int lock;
	int version; /* of the tables */
	bool change;
	bool commits;	    /* state_commit() has begun */
	int made;	    /* so many directories, the last of the path, were made for it */
	int broken;	    /* why something could not be read: then nothing may be committed */
	uint64_t new_image; /* a copy that this command made; 0: none, or it is committed */
	sqlite3_stmt *cached[CACHED_STATEMENTS];
	struct steps *steps;
	/* What time it is, once it has been asked for: */
	bool clock_known, same_boot; /* do the ends of bans count from this start of the machine? */
	int64_t date_offset;	     /* from the time since then to the date, ns */
	int64_t boot_offset;	     /* from CLOCK_BOOTTIME here to the kernel's own, ns: in a time namespace */
	/* How many bans there are (bans_number.c), when it was looked at and now, and of what; -1: not known. */
	int64_t bans_before, bans;
	double bans_of;
	enum { SAID_UNKNOWN, SAID_NONE, SAID_SOME } said;	  /* does a member say anything? */
	enum { BEHIND_UNKNOWN, BEHIND_NONE, BEHIND_SOME } behind; /* is there any of behind.c? */
	bool said_back;	   /* so do they again, and it is to be judged what of it is in force */
	bool bans_kept;	   /* the settings have such a number, whether or not it still is right */
	bool stepped_back; /* it is not: a version that knows nothing of it, and of no fleet, has changed something */
	bool joined;	   /* a fleet: then its tables are there (fleet.c) */
	bool out_known;	   /* the two that follow, once they have been asked for */
	char say[BAN_REASON_MAX];
	int64_t out_first; /* the first number that waits */
};

/* Is it a state of ours? A command that changes something brings an older one up, in its transaction. */
int state_check_version(struct state *s);

/*
 * A process that runs errands keeps the file open in between, without a lock: after a commit state_park() takes the
 * state (false: close it), and state_parked() gives it back, unless the file is another now. Under the lock again: is
 * the schema as it was?
 */
bool state_park(struct state *state);
struct state *state_parked(const char *directory);
bool state_parked_same(const struct state *state);

/* As state_open(), with the directory's name instead of a context. */
int state_open_at(struct state **state, const char *directory, long wait, bool change);

/*
 * The file may be anybody's: nothing in it is run, no value in it is longer than ours, and a question ends after as
 * many steps as its file can be worth. Call it before anything is asked.
 */
void state_distrust(sqlite3 *db, struct steps *steps, const char *path);

int because_sqlite(const struct state *s, const char *what);

/* All of these statements. */
int state_run(struct state *s, const char *sql);
sqlite3_stmt *state_prepare(const struct state *s, const char *sql);
/* Prepared once, and the state's own: to be reset, not finished. */
sqlite3_stmt *state_cached(struct state *s, enum cached_statement which, const char *sql);
void state_bind_text(sqlite3_stmt *stmt, int at, const char *text);
/*
 * A row as it is read. A value of another type or beyond its limits, and a text that does not fit, make err -EUCLEAN;
 * what was asked for is then something harmless. -ENOMEM: a text could not be had.
 */
struct row {
	sqlite3_stmt *stmt;
	int err;
};
int64_t row_number(struct row *row, int column, int64_t least, int64_t most);
/* 0 where there is NULL. */
int64_t row_number_or_none(struct row *row, int column, int64_t least, int64_t most);
/* Seconds since the epoch, from 0 to TIME_MOST. */
int64_t row_time(struct row *row, int column);
void row_text(struct row *row, int column, char *to, size_t size);

/* The last step's code becomes 0 or -errno. */
int state_finish(const struct state *s, sqlite3_stmt *stmt, int code);
/* The end of reading rows; a state that does not exist has none. */
int state_end(const struct state *s, sqlite3_stmt *stmt, int code);
/* One row into one entry of zeros. */
typedef int state_row(const struct state *s, sqlite3_stmt *stmt, void *entry);
/* Every row of the statement, which this ends; free() *array, which is NULL after an error. */
int state_rows(struct state *s, sqlite3_stmt *stmt, state_row *read, size_t size, void *array, size_t *n);
/* One statement with these values: s, a text; i, an int; I, an sqlite3_int64; f, a double. */
int state_put(struct state *s, const char *sql, const char *types, ...);
/* The same about one thing of that name: -ENOENT where it changed nothing. */
int state_change(struct state *s, const char *sql, const char *name);

/* All lists, damaged entries too; free() the array. */
int state_entries(struct state *state, struct list_info **lists, size_t *n);
/* The versions that wait beside their lists, under those lists' names. */
int state_entries_before(struct state *state, struct list_info **lists, size_t *n);
/* A list's id and label, or -ENOENT. */
int state_list_find(struct state *s, const char *name, int64_t *id, uint8_t *label);
/* The ranges of a list that has none yet. */
int state_chunks_put(struct state *state, int64_t list, const struct ranges *set);
/* Does it hold as many prefixes as its entry says? */
bool state_list_is_whole(struct state *state, const struct list_info *list);
/* The same of a version that waits beside its list. */
bool state_list_before_is_whole(struct state *state, const struct list_info *list);
/* Copies every row of `from` that can be read; r says whether that was all. */
struct recovered;
int state_salvage(struct state *to, sqlite3 *from, struct recovered *r);
/* Is there one that no version of ours wrote? Its name, as far as it can be read. */
#define SETTING_ROW_MAX 128
bool state_setting_damaged(struct state *state, char name[SETTING_ROW_MAX]);
/* How many bans there are is looked at when a change begins, and kept when it is committed. */
void state_bans_look(struct state *s);
int state_bans_keep(struct state *s);
/* Is it another number than this one? */
bool state_bans_miscounted(struct state *s, size_t n);
/* So many more; or somebody else has to count them. */
void state_bans_more(struct state *s, int64_t n);
void state_bans_uncounted(struct state *s);
/* A statement about one prefix: its family, its length and its first address. */
int state_ban_statement(struct state *s, const char *sql, struct addr first, unsigned int length);
/* -EUCLEAN for a row that no version of ours wrote. */
state_row state_read_ban, state_read_interface, state_read_matched, state_read_leaving, state_read_pending,
	state_read_accepted, state_read_strike, state_read_feed, state_read_member, state_read_said, state_read_fleet,
	state_read_fleet_at, state_read_fleet_out, state_read_ports, state_read_port, state_read_behind;
/* Of an interface's row: a word, whatever it means to a newer version. */
bool is_mode(const char *mode);
/* chosen.c: what it reads goes into the lists' `where`; or it is put, once the list has its row. */
state_row state_read_chosen;
int state_chosen_add(struct state *state, struct list_info *lists, size_t n);
int state_chosen_put(struct state *state, int64_t list, const char *where);
/* scopes.c: the same for their scopes, and what kind they are then. */
state_row state_read_scope;
int state_scopes_add(struct state *state, struct list_info *lists, size_t n);
int state_scope_put(struct state *state, int64_t list, const struct list_info *is);
/* The list's row has got a kind: that is its scope's now. */
int state_scope_kind(struct state *state, const char *name);
/* All of them. */
int state_accepted_check(struct state *state);
int state_feeds_check(struct state *state);
int state_said_check(struct state *state);
int state_behind_check(struct state *state);
int state_fleet_check(struct state *state);
/* Makes the tables of whoever has joined one. */
int state_fleet_tables(struct state *state);
/* Only a change brings a state to the version that has its tables. */
bool state_has_fleet(const struct state *s);
/* The list, or the feed whose list has not come. -ENOENT where there is neither. */
int state_list_delete(struct state *state, const char *name);
/* What was left out of its version: part of struct accepted. */
int state_left_put(struct state *state, const char *list, struct amounts left);
/* A feed beside its list's version that waits: kept, taken back, or no longer needed. */
int state_feed_wait(struct state *state, const char *list);
int state_feed_back(struct state *state, const char *list);
int state_feed_kind_back(struct state *state, const char *list);
int state_feed_forget(struct state *state, const char *list);
/* Its servers, where it has no feed any more. */
int state_feed_servers_forget(struct state *state, const char *list);
/* The same of a whole row of its table. */
bool state_source_is_sound(sqlite3_stmt *stmt);
bool state_setting_is_sound(sqlite3_stmt *stmt);
bool state_setting_value_is_sound(const char *name, sqlite3_stmt *stmt, int column);

#define STATE_PAGE_LEAST 512 /* bytes, of any file of SQLite's */

/* Under the lock: where a file is made that becomes the state. state_exchange_undo() clears what is left there. */
int state_workshop(const char *directory, char file[STATE_PATH_MAX]);
bool state_in_workshop(const char *directory);
/* Under the lock, replaces the state by the one made in STATE_WORKSHOP. `kept`: where the old one is afterwards. */
int state_exchange(const char *directory, char kept[STATE_PATH_MAX]);
/* Undoes an exchange that was cut short, ours or a killed command's, and removes the workshop. */
void state_exchange_undo(const char *directory);

/* Removes the copy of an image that was not committed. */
void state_drop_new_image(struct state *s);

/* Is that the name of a setting that grants.c reads as one of its own, or of none of its? */
bool state_grant_is_sound(const char *name);
/* The same of servers.c, and of proven.c. */
bool state_server_is_sound(const char *name);
bool state_proven_is_sound(const char *name);
bool state_limit_on_is_sound(const char *name, double value);

#endif
