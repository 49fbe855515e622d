/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs: the one table, and what all of them use. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/out.h"
#include "base/verb.h"

struct change;
struct forecasts;
struct generation;
struct image;
struct pending;
struct senders;
struct sizing;
struct stage_bytes;
struct state;

/* In the order of the help. */
extern const struct verb verbs[];

/* Each prints what there is to say, and returns the exit status. */
verb_fn verb_add, verb_allow, verb_announce, verb_attach, verb_bans, verb_batch, verb_compare, verb_confirm, verb_del,
	verb_detach, verb_detect, verb_disallow, verb_doctor, verb_enforce, verb_events, verb_feeds, verb_fleet,
	verb_flush, verb_follow, verb_guards, verb_image, verb_lists, verb_load, verb_load_image, verb_metrics,
	verb_plan, verb_replay, verb_report, verb_restore, verb_rotate, verb_run_service, verb_save, verb_set,
	verb_shadow, verb_show, verb_state, verb_stats, verb_status, verb_test, verb_top, verb_tune, verb_unload,
	verb_watch;
extern const struct option_spec add_options[], announce_options[], attach_options[], bans_options[], capture_options[],
	compare_options[], confirm_options[], del_options[], detach_options[], detect_options[], events_options[],
	feeds_options[], fleet_options[], follow_options[], force_options[], guards_options[], image_options[],
	load_image_options[], load_list_options[], plan_options[], replay_options[], report_options[],
	restore_options[], rotate_options[], run_service_options[], set_options[], stats_options[], top_options[],
	tune_options[], test_options[];

/* Where an option goes: into a member of what the options are read into. */
#define AT(type, member) .target = offsetof(struct type, member)

/* What several verbs take. */
#define CONFIRM_OPTION(of)                                                        \
	{                                                                         \
		"confirm", .type = OPTION_TIME, AT(of, confirm), .value = "TIME", \
			   .does = "goes back unless 'confirm' comes first"       \
	}
#define FORCE_OPTION(of)                                                       \
	{                                                                      \
		"force", AT(of, force), .does = "even against the guard rails" \
	}
#define WHERE_OPTION(of, its_where)                                                                           \
	{                                                                                                     \
		"where", .type = OPTION_READ, AT(of, its_where), .read = read_where, .value = "COLUMN=VALUE", \
			 .does = "only such rows of a table; given again: both"                               \
	}
#define READING_OPTIONS(of, its_format, its_skip_bad, its_where)                                                  \
	{ "format",	     .type = OPTION_TEXT,	 AT(of, its_format),                                      \
	  .value = "FORMAT", .words_of = reader_formats, .does = "read files as that, whatever they look like" }, \
		{ "skip-bad", AT(of, its_skip_bad), .does = "leave out lines that cannot be read" },              \
		WHERE_OPTION(of, its_where)
#define SCOPE_OPTIONS(of, its_scope)                                                                     \
	{ "only", .type = OPTION_READ, AT(of, its_scope), .read = read_scope, .value = "tcp/22,udp" },   \
		{ "to", .type = OPTION_READ, AT(of, its_scope), .read = read_scope, .value = "PREFIX" }, \
	{                                                                                                \
		"on", .type = OPTION_READ, AT(of, its_scope), .read = read_scope, .value = "IFNAME",     \
		      .does = "only such packets"                                                        \
	}
int read_scope(const struct option_spec *o, void *scope, const char *value);

/* For options that say which rows of a table are taken (sets/where.h). */
int read_where(const struct option_spec *o, void *where, const char *condition);

/* Of verbs that ask the guard rails. */
struct force_options {
	bool force;
	struct number confirm;
};

/*
 * Checks a line of a file of commands; `files`: also the files that it names. 0, or 1 after a message that begins with
 * `where`, or -EAGAIN if no process could be started for it.
 */
int verb_check(const struct context *context, const struct words *line, const char *where, bool files);

/* Of a word that is no verb: the nearest one, or what to do with an address, an interface or a file; or `otherwise`. */
const char *verb_meant(struct nearest *near, const char *otherwise);

/* All verbs, or one of them. */
int verbs_help(void);
int verb_help(const char *name);
/* For completions: a verb's options and the common ones, one a line; without a verb the common ones and the verbs. */
int verbs_list(const char *name);

/* Logs an event if the verb that has ended changed something or was refused. */
void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status);

/* The end of a verb that changed something: with --json, the generation that is in force now. */
int out_done(const struct context *context);

/* With --confirm: how long there is to confirm it. The exit status. */
int out_confirm(const struct context *context, const char *what, const struct number *confirm);

/* The interface that somebody calls `word`: its own name where there is one today, which is said, or else the word. */
int read_interface(const char *word, char name[IF_NAMESIZE]);
/* Of all operands, which become what is in *names; free() it, after failures too. Both return the exit status. */
int read_interfaces(const struct call *call, char (**names)[IF_NAMESIZE]);
/* Is it another name of one that is there? Then it is said what its own is. */
bool own_name(const char *word, char own[IF_NAMESIZE]);

/* Warns of bans of a change that an allow list exempts. */
void say_exempt(const struct change *change);

/* feeds known [PATTERN]. The exit status. */
int feeds_known(const struct call *call);
/* feeds check URL|@FEED. The exit status. */
int feeds_check(const struct call *call);

json_t *out_rungs(const struct generation *g);
/* All that is known of one list. Returns the exit status. */
int one_list(const struct context *context, const char *name);
/* What goes back unless it is confirmed; not what a command that was cut short left to be taken back. */
int waiting_of(struct state *state, struct pending **pending, size_t *n);
double waiting_seconds(const struct pending *pending);
void waiting_line(bool first, const char *what, double seconds);
/* ", behind 2 others": programs of tc that are asked first. */
#define BEHIND_TEXT_MAX 32
const char *behind_text(char text[BEHIND_TEXT_MAX], unsigned int behind);
/* Whose ports are filtered as they come and go: none, no line. */
struct ports_kept;
void ports_text(const struct ports_kept *kept);
json_t *out_ports(const struct ports_kept *kept);
json_t *out_waiting(const struct pending *pending, size_t n);
json_t *out_memory(const struct stage_bytes *bytes);
/* Why the filter has its size, where what a packet costs decides; otherwise null, and no line. */
json_t *out_sizing(const struct sizing *sizing);
void sizing_text(const struct sizing *sizing);

/* What senders_json() made: what each class is, and the limits that would be proposed. */
void print_senders(const struct context *context, const json_t *senders);
#define DETECT_ASKS "on, off, limit CLASS RATE, or what else of 'xdp-bloom help detect'?"

/* Both return the exit status. */
int detect_attacks(const struct context *context);
int detect_top(const struct context *context);
int detect_learn(const struct call *call);
int detect_proven(const struct call *call);
/* Its ladder, which interfaces are proven, and whom it trusts: as JSON, and the last two as text. */
int detect_said(struct state *state, json_t **said);
void print_said(const json_t *said);
int detect_trust(const struct call *call);
int detect_ladder(const struct call *call);
/* detect suggest; one_in 0: by how much passes. */
int detect_suggest(const struct context *context, double seconds, unsigned int one_in);

/* On one line, or as JSON: the file, what the command did, what is in it. Returns the exit status. */
int image_report(const struct context *context, const struct image *image, const char *path, const char *did);

/* plan --detect. Returns the exit status. */
struct detect_ask {
	double pps, sources, attackers; /* attackers: 0: a table of them */
	const char *limit;		/* NULL: those of the state */
};
int plan_detect(const struct context *context, const struct detect_ask *ask);

/* What plan prints. Both return the exit status. */
int forecast_text(const struct forecasts *all);
int forecast_json(const struct context *context, const struct forecasts *all);

#endif
