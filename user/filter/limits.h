/* SPDX-License-Identifier: GPL-2.0-only */
/* The limits of the detector: what an operator says, and what the program needs of it. */
#ifndef FILTER_LIMITS_H
#define FILTER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

/* A second, or for bytes one byte a second. 0: there is no limit. */
struct limit {
	double rate;
	double burst; /* 0: as much as comes in a second */
	__u64 then;   /* enum then; of an interface's own, THENS: as the general one */
};

/* What holds for packets that come in by this interface. rate 0: the general limit does. */
struct limits_on {
	char name[SLOT_NAME];
	struct limit of[CLASSES];
};

#define LIMITS_ON_MOST (SLOTS - 1)

struct limits {
	bool on;
	/* A network may send so many times what one source may; 0: it is not judged. */
	unsigned int networks;
	struct limit of[CLASSES];
	/* What its tables are to have room for: packets a second, and suspects at a time. 0: as is the default. */
	double pps, suspects;
	struct limits_on on_interface[LIMITS_ON_MOST]; /* by name: their order is that of their slots, from 1 on */
	size_t interfaces;
};

/* Each class that a limit can have: its number, its name, and the limit that it begins with; 0: none. */
#define LIMIT_CLASSES(X)                     \
	X(CLASS_PACKETS, "packets", 20000)   \
	X(CLASS_BYTES, "bytes", 125e6)       \
	X(CLASS_SYN, "syn", 200)             \
	X(CLASS_UDP, "udp", 5000)            \
	X(CLASS_ICMP, "icmp", 100)           \
	X(CLASS_FRAGMENTS, "fragments", 500) \
	X(CLASS_UNANSWERED, "unanswered", 0) \
	X(CLASS_SCAN, "scan", 0)

#define LIMITED 8 /* the first so many classes */
/* The first so many are told by a packet alone. */
#define LIMITED_ALONE CLASS_UNANSWERED

extern const char *const limit_names[LIMITED + 1]; /* ended by NULL */
extern const double limit_rates[LIMITED];
extern const char *const limit_thens[THENS + 1]; /* ended by NULL */

#define NETWORKS_LEAST 1
#define NETWORKS_MOST  1000

/* Neither a price of nothing, nor one that a burst of a second never has. */
#define LIMIT_LEAST 1.0
#define LIMIT_MOST  1e8
/* Bytes: from a packet of every size a second up to 800 Gbit/s. */
#define LIMIT_BYTES_LEAST	2000.0
#define LIMIT_RATE_LEAST(class) ((class) == CLASS_BYTES ? LIMIT_BYTES_LEAST : LIMIT_LEAST)
#define LIMIT_BYTES_MOST	1e11
/* How long a burst may last at the limit's own rate. */
#define LIMIT_BURST_SECONDS 3600.0

/* With so many of the suspects without a place, there is no more room. */
#define LIMIT_SUSPECTS_LOST 0.01
/* What there can be room for. */
#define LIMIT_PPS_LEAST	     1e3
#define LIMIT_PPS_MOST	     1e9
#define LIMIT_SUSPECTS_LEAST 16.0
#define LIMIT_SUSPECTS_MOST  200000.0

/* An interface where nobody can forge a source. */
struct proven {
	char name[SLOT_NAME];
};

/* What holds for that class there. */
struct limit limit_on(const struct limits *limits, const struct limits_on *on, enum packet_class class);
/* The interface's own; NULL: it has none. */
struct limits_on *limits_of(const struct limits *limits, const char *name);
/* Puts it in; without a rate the interface has none of its own any more. false: too many interfaces have some. */
bool limits_put_on(struct limits *limits, const char *name, enum packet_class class, struct limit limit);
/* Of which classes this becomes of what is above a limit, or what is severer, on some interface: a bit each. */
unsigned int limits_do(const struct limits *limits, enum then then);
/* The classes with a limit, on some interface, that a packet alone does not tell: a bit each. */
unsigned int limits_look_up(const struct limits *limits);

/* The burst, where none is said too. */
double limit_burst(const struct limit *limit);
/* The least that is exact: what comes in two ticks of the clock, and a packet. */
double limit_burst_least(enum packet_class class, double rate, double tick);

/* "200/s", "1kpps", and of bytes "100Mbit", "12MB/s". false: it is none, or none that can be. */
bool limit_rate(enum packet_class class, const char *text, double *rate);
/* "2000", "50k", and of bytes "4M". */
bool limit_number(const char *text, double *number);
#define LIMIT_TEXT_MAX 32
const char *limit_text(char text[LIMIT_TEXT_MAX], enum packet_class class, double rate);

/* Packets a second of the strictest limit, where bytes come in full frames. */
double limits_strictest(const struct limits *limits);
/* What the sizes hold: packets a second of the class with the strictest limit, suspects at a time, and memory. */
double limits_pps(const struct detect *detect, const struct limits *limits);
double limits_suspects(const struct detect *detect);
__u64 limits_bytes(const struct detect *detect);

/* Sizes, prices and bursts of the program; not its seeds and maps. tick: of the clock, in ns. */
void limits_plan(struct detect *detect, const struct limits *limits, __u64 tick);
/* The slots of interfaces, where some have limits of their own. */
void limits_slots(struct slot slots[SLOTS], const struct limits *limits, __u64 tick);

#endif
