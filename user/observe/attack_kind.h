/* SPDX-License-Identifier: GPL-2.0-only */
/* What kind of attack it is that the detector sees: who sends, and what. */
#ifndef OBSERVE_ATTACK_KIND_H
#define OBSERVE_ATTACK_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "kernel/detect_seen.h"
#include "sets/address.h"

/*
 * Who sends; the texts stand in events, and stay. Proven: most of them are banned, which nobody is whose source may be
 * forged. A carpet: most are of one /24 or /48. Forged: far more than is usual, each with hardly more than a packet.
 */
#define ATTACK_KINDS(X)                                          \
	X(ATTACK_ONE, "one source")                              \
	X(ATTACK_MANY, "many sources")                           \
	X(ATTACK_PROVEN, "many proven sources")                  \
	X(ATTACK_CARPET, "carpet")                               \
	X(ATTACK_NO_ROOM, "more sources than there is room for") \
	X(ATTACK_FORGED, "forged flood")

enum attack_kind {
#define KIND(kind, text) kind,
	ATTACK_KINDS(KIND)
#undef KIND
		ATTACK_UNKNOWN
};

extern const char *const attack_kinds[ATTACK_UNKNOWN];

/* What they send: a class, or answers of a service that others asked in our name. */
struct attack_what {
	const char *name;    /* of a class, or "reflection"; NULL: not known */
	const char *service; /* of a reflection: "dns" */
	unsigned int port;
};

/* "SYN", "DNS reflection". */
#define ATTACK_WHAT_MAX 40
const char *attack_what_text(char text[ATTACK_WHAT_MAX], const char *what, const char *service);

struct attack_look {
	enum attack_kind kind;
	struct attack_what what;
	char network[PREFIX_TEXT_MAX]; /* of a carpet; else "" */
};

/* Of those that were above a limit since then. So many packets found no place, and so many were above a limit. */
void attack_look_at(struct attack_look *look, const struct seen *seen, __u64 since, __u64 above, __u64 untracked);

/* --- Forged sources ----------------------------------------------------------------------------------------------- */

/* How many distinct sources sent in a time, from which cells of the sketch it moved. */
struct strangers {
	double sources;
	bool at_least; /* hardly a cell did not: it may be any number more */
};

/* Of one detector, a while apart. false: they are not of one. */
bool strangers_between(struct strangers *strangers, const struct seen *before, const struct seen *now);

/* A second that has fewer has no flood of forged ones, nor one that has hardly more than is usual. */
#define FORGED_LEAST 10000.0
#define FORGED_TIMES 10.0
bool strangers_are_many(const struct strangers *second, double usual);

/*
 * Who is forged is not seen again: in a part of a second, as many of them come as its part of the whole. Those who
 * are there, and send more than two packets each, come back.
 */
bool strangers_are_fresh(const struct strangers *second, const struct strangers *moment, double seconds);

#endif
