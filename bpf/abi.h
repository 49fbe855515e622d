/* SPDX-License-Identifier: GPL-2.0-only */
/* The contract between the programs in the kernel and the command: all sizes, names and layouts. */
#ifndef ABI_H
#define ABI_H

#include <linux/types.h>

#define BLOCK_BYTES 64 /* a cache line: one block of the filter, one or two buckets of a roster */
#define RUNGS_MAX   8

/*
 * Names under the bpffs directory. What asks about destinations, or both addresses, has these behind the names of root,
 * slot and programs; and what asks by tc about packets that leave, or that come in, one of the other two before these.
 */
#define PIN_TO		  "_to"
#define PIN_BOTH	  "_both"
#define PIN_OUT		  "_out"
#define PIN_IN		  "_in"
#define PIN_ROOT	  "root"
#define PIN_ROOT_BARE	  "root_bare" /* where an interface whose packets begin with IP is attached */
#define PIN_SLOT	  "slot"
#define PIN_COUNTERS	  "counters"
#define PIN_COUNTERS_OUT  "counters_out" /* of what leaves; there once any of it was filtered */
#define PIN_LIST_COUNTERS "list_counters"
#define PIN_SAMPLES	  "samples"
#define PIN_SAMPLE_SHARES "sample_shares"
#define PIN_SAMPLE_BUDGET "sample_budget" /* until 0.1 one for all lists; programs of then still ask it */
#define PIN_LINKS	  "links"
#define PIN_GENERATIONS	  "generation"
#define PIN_ENDS	  "ends"   /* of a generation that has any */
#define PIN_SCOPES	  "scopes" /* the same */
/* Of a generation with a detector; the next one takes them over. */
#define PIN_DETECT   "detect"
#define PIN_SKETCH   "sketch"
#define PIN_SUSPECTS "suspects"
#define PIN_CLAIMS   "claims"
#define PIN_DETECTED "detected"
#define PIN_TRUSTED  "trusted" /* of this generation alone */
#define PIN_PROVEN   "proven"  /* the same */
#define PIN_SLOTS    "slots"   /* the same, where interfaces have limits of their own */
#define PIN_SLOT_OF  "slot_of"
/* Of all of them; there once a detector was on. */
#define PIN_POLICED "policed"
/* The same, once there was a list with a scope. */
#define PIN_UNREAD "unread"

/*
 * Which address of a packet is asked about: what but the first is in use on some interface has a root, a slot and a
 * program of a generation of its own.
 */
#define MATCH_SOURCE	  0
#define MATCH_DESTINATION 1
#define MATCH_BOTH	  2
#define MATCHES		  3
/*
 * The same by tc, behind those: of packets that leave, where a packet's destination is asked about unless one says
 * else; and of packets that come in.
 */
#define MATCH_LEAVING(match) (MATCHES + (match))
#define MATCH_COMING(match)  (2 * MATCHES + (match))
#define MATCH_KINDS	     (3 * MATCHES)
#define MATCH_BY_TC(kind)    ((kind) >= MATCHES)
#define MATCH_LEAVES(kind)   ((kind) / MATCHES == 1)
#define MATCH_OF(kind)	     ((kind) % MATCHES)

/* What became of a packet, in sum. */
enum verdict { PASSED, DROPPED, UNPARSED, VERDICTS };

/* The value of both counter maps, per CPU. */
struct tally {
	__u64 packets;
	__u64 bytes;
};

/*
 * The counters: a row for each interface, by the low bits of its number, and in it one for each verdict and the stage
 * that reached it. One more row behind them: the counts of interfaces that the filter was detached from.
 */
#define PORTS		      256
#define PORT_OF(n)	      ((n) & (PORTS - 1))
#define PORT_RETIRED	      PORTS
#define COUNTER_ROW	      8
#define COUNTER(port, reason) ((port)*COUNTER_ROW + (reason))
#define COUNTERS	      COUNTER(PORTS + 1, 0)

/* How long something is on trial, and what comes back then. */
struct trial {
	__u64 until;  /* CLOCK_BOOTTIME, ns; 0: not on trial */
	__u64 before; /* the generation's number; 0: there was none, and packets pass */
};

/* Who banned an address: 0 is a live ban, 1 to 255 a list. The index into the list counters, and what rosters keep. */
#define LABELS	   256
#define LABEL_LIVE 0

/*
 * A live ban that has an end carries this label in the arrays, and no answer outside of them: the clock turns it into
 * LABEL_LIVE, or into a pass. One bit of it sends a packet there, in a test that each packet passes anyway; so labels
 * that share the bit take two instructions more where there are such bans.
 */
#define LABEL_ENDS 255
#define LABEL_DETECTOR \
	LABEL_ENDS /* of answers alone: its drops are counted and sampled as if by a list of that number */
#define LABEL_ENDS_BIT 0x80

/* When they end: the longest prefix that holds an address says it, in CLOCK_BOOTTIME ns. What has no entry goes on. */
struct end_key {
	__u32 bits; /* of what follows */
	__u32 family;
	__u32 addr[4]; /* in network order; IPv4: the first */
};
#define END_KEY_BITS(length) (32 + (length))

/*
 * Lists with a scope: of an address that they hold, only some packets are dropped. They are asked behind a "yes", by
 * the label, which stands for all that hold the address: one with LABEL_ENDS_BIT that is no list's. A scope has a bit,
 * and the first of those that a packet fits decides; those that drop come before those that only count.
 */
#define SCOPES_MAX   48
#define SCOPE_ENDS   (1ULL << 63) /* beside them, a live ban that ends */
#define SCOPE_LABELS LABEL_ENDS_BIT
#define SCOPE_NETS   32
#define SCOPE_NAMES  32
#define SLOT_NAME    16 /* an interface's, with its end */

/* Of a mask, where its lowest bit has its account: each bit has another place. */
#define SCOPE_PLACE(mask) (((mask) & -(mask)) * 0x03f79d71b4cb0a89ULL >> 58)

/* Protocols that have ports, and, of packets that do not say it where it is looked for, which is unknown. */
enum scope_ported { SCOPE_TCP, SCOPE_UDP, SCOPE_SCTP, SCOPE_PORTED, SCOPE_UNKNOWN = SCOPE_PORTED, SCOPE_KINDS };

/* What the program of a generation with scopes asks, as one value of a map. All masks have a bit for each scope. */
struct scopes {
	__u64 of[LABELS]; /* what a label stands for; 0: for its list, whatever the packet is */
	__u64 fits[256];  /* which ones take a packet of that class. 0: of any protocol, whatever its ports are */
	__u64 unread[SCOPE_KINDS]; /* which ones could have taken it, if its port or its protocol had been known */
	__u64 any_to, any_on;	   /* which ones ask for no other address, and for no interface */
	__u64 counts;		   /* which ones only count */
	struct scope_net {
		__u64 hi, lo, mask_hi, mask_lo;
		__u64 of;
	} net[SCOPE_NETS]; /* the other address of the packet; IPv4 as ::ffff:a.b.c.d */
	struct scope_name {
		__u64 ifindex; /* 0: it is not there */
		__u64 of;
		char name[SLOT_NAME];
	} on[SCOPE_NAMES];
	__u64 nets, names;
	__u8 account[64];		   /* the label that a scope counts on, by its SCOPE_PLACE() */
	__u8 protocol[256];		   /* the class of a packet without ports */
	__u8 port[SCOPE_PORTED][1u << 16]; /* and of one that has them */
};

enum stage { STAGE_PARSE, STAGE_GATE, STAGE_FILTER, STAGE_ROSTER, STAGE_DETECTOR };

/*
 * An answer: is the address dropped, which stage decided it, on which account, and for IPv6 on which rung. The asking
 * program returns it.
 */
#define ANSWER_INNER		   (1u << 28) /* of the packet within it */
#define ANSWER_OUT		   (1u << 27) /* of a packet that was to leave */
#define ANSWER_TO		   (1u << 26) /* the destination's, not the source's */
#define ANSWER_SHADOW		   (1u << 25) /* would be dropped, were the list not a shadow */
#define ANSWER_DROP		   (1u << 24)
#define ANSWER(stage, rung, label) ((__u32)(rung) << 16 | (__u32)(stage) << 8 | (__u32)(label))
#define ANSWER_UNPARSED		   (~0u) /* there is no source address */
#define ANSWER_HIDDEN		   (~1u) /* there is one where only the stack would find it: dropped, on no list's account */
/* In programs alone: the filter says yes, and a roster of codes is still to be asked. A rare answer, with ends, too. */
#define ANSWER_CODES	     0xc0u
#define ANSWER_STAGE(answer) ((answer) >> 8 & 0xff)
#define ANSWER_RUNG(answer)  ((answer) >> 16 & 0xff)
#define ANSWER_LABEL(answer) ((answer)&0xff)

/* In the place of the addresses of Ethernet, in a packet that is made to be asked. */
struct ask_frame {
	__u32 ifindex; /* where it came in */
	__u16 scopes;  /* 0: the answer is what the arrays say, and its label may stand for lists with scopes */
	__u16 rest[3];
} __attribute__((packed, aligned(2))); /* as an Ethernet header is */

/* Drops are the upper four of a row. Of the parser: no address at all, and one that is hidden. */
#define REASON(answer)	((answer) >> 8 & 3 | ((answer) >> 22 & 4))
#define REASON_UNPARSED 0
#define REASON_DROPPED	4
#define REASON_HIDDEN	REASON_DROPPED
/* What the detector drops has a map of its own, with a value for each row: a row of the counters is full. */
#define REASON_POLICED COUNTER_ROW
#define POLICED	       (PORTS + 1)
#define REASONS	       (COUNTER_ROW + 1)

/* IPv4 gate: two bits for each /24. */
#define GATE4_BYTES (4u << 20)
enum gate4 {
	GATE4_CLEAR = 0,
	GATE4_SOME = 1,	 /* ask the filter */
	GATE4_ALL = 2,	 /* banned, on the account of the gate's label */
	GATE4_MIXED = 3, /* banned, but a host in the roster may carry another label */
};

/* IPv6 gate: one hashed byte for each /32, with a bit for each rung; 2^12 to 2^24 bytes. */
#define GATE6_LOG2_MIN 12
#define GATE6_LOG2_MAX 24

/* One label byte for each /24 that the gate bans. */
#define GATE4_LABEL_BYTES (1u << 24)

/* How the filter lays its bits: bpf/filter.h. */
enum layout { LAYOUT_LANES, LAYOUT_LANES2, LAYOUT_CLASSIC, LAYOUTS };

struct bucket4 {
	__u32 addr[6];
	__u8 label[8]; /* six in use: roster4_label_index() */
};

/* Of a roster that keeps codes (bpf/codes.h) in place of addresses. */
struct codes4 {
	__u8 label[12]; /* ten in use: codes4_label_index() */
	__u16 code[10]; /* 0: vacant */
};

struct bucket6 {
	__u64 key[7];
	__u8 label[8]; /* seven in use: roster6_label_index() */
};

/*
 * A dropped packet, as it goes through the ring buffer. Each is paid from its list's share of a budget per CPU, which
 * the reader refills: where there is no reader, no sample is taken, and a flood cannot ask for more.
 *
 * A list's drops on a CPU are cut into blocks, and of each block one packet is taken, any with the same probability.
 * So a sample stands for as many packets as its block has, however they come, in bursts too. The first block after a
 * refill is one packet: no list that drops is without a sample. What follows has the size that the reader foresees,
 * and where more comes than that, each block is four times as large as the one before.
 */
struct sample_share {
	__u32 left;    /* samples until the next refill; 0: nobody reads */
	__u32 skip;    /* drops until the one that is taken */
	__u32 behind;  /* of its block */
	__u16 growing; /* with fewer samples left than this, blocks grow */
	__u8 block;    /* log2 of its size, which the sample carries, ... */
	__u8 next;     /* ... and of the next one's */
};
#define SAMPLE_BLOCK_MAX 30

#define SAMPLE_BYTES 96
#define SAMPLES_RING (256u << 10)

struct sample {
	__u64 time; /* CLOCK_MONOTONIC, ns */
	__u32 ifindex;
	__u32 length; /* of the packet */
	__u32 answer; /* ANSWER() */
	/* How many of the bytes are set, and log2 of how many drops this one stands for; until 0.1 one number. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u16 captured, block;
#else
	__u16 block, captured;
#endif
	__u8 bytes[SAMPLE_BYTES];
};

struct hash_seeds {
	__u64 add, mul1, mul2, mul3;
};

struct rung {
	__u64 length;
	__u64 mask_hi, mask_lo; /* of the address, in host order */
	__u64 salt;		/* sets the rungs' keys apart; see SALT_WIDE */
};

/*
 * A generation. Every member is a constant of its program: the loader writes it into the instructions, so that a stage
 * whose size is 0 is dead code to the verifier and vanishes. The last group stands for maps; see constants.h.
 */
#define GENERATION_VERSION 4
#define GENERATION_CODES   5 /* the same with an IPv4 roster of codes: what does not know that is to leave it alone */

/* Of roster4_buckets: it keeps codes. */
#define ROSTER4_CODES (1ULL << 63)

struct generation {
	__u64 version; /* of this structure: one of these two */
	__u64 number;
	struct hash_seeds hash; /* the filter's key, and where an IPv4 address lives in its roster */
	struct hash_seeds tag;	/* what the IPv6 roster keeps */
	__u64 gate6_add, gate6_mul;
	__u64 gate6_log2;    /* 0: no IPv6 gate */
	__u64 filter_blocks; /* 0: no keys, so nothing to ask behind the gates */
	__u64 filter_layout;
	__u64 lanes_blocks;    /* the same, or 0 where the filter's layout is classic */
	__u64 filter_k;	       /* bits of a key: 8 with lanes, 16 with two blocks of them, 1 to 24 with classic */
	__u64 no_flat;	       /* 0: for arrays that are read only on the way to a drop */
	__u64 filter_flat;     /* all blocks are one map value: no look-up call, no null check */
	__u64 roster4_buckets; /* 0: no IPv4 hosts, or the filter decides alone. Of codes: codes4_shape() */
	__u64 roster6_buckets; /* the same for IPv6 */
	__u64 roster4_flat;
	__u64 gate4_label; /* the label of every /24 when they share one */
	__u64 samples;	   /* are dropped packets sampled? */
	__u64 frags;	   /* may a packet lie in several buffers? As the root decided. */
	__u64 shadows;	   /* is any list a shadow? Then a bit for each label. */
	__u64 shadow[LABELS / 64];
	__u64 rungs; /* 0: no IPv6 */
	struct rung rung[RUNGS_MAX];
	__u64 keys4, keys6; /* how many the filter holds */
	__u64 all24;	    /* how many /24 the gate bans whole */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u32 minorities; /* hosts in the roster for their label alone (GATE4_MIXED) */
	/* Does an IPv4 address within an IPv6 one count, and a packet within a packet? Until 0.1 the upper half of a
	   number, 0; until 0.2 one switch, so that what does not know the second one may take it for the first. */
	__u16 embedded, inner;
#else
	__u16 inner, embedded;
	__u32 minorities;
#endif
	__u64 prefixes6;
	__u64 capacity; /* how many keys the filter was sized for, and each roster */
	__u64 capacity4, capacity6;
	__u64 edits; /* how often it was edited in place */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u32 stale; /* keys that were taken out, and whose bits the filter still has */
	/* Have bans that end a label of their own, and has any list a scope? What does not know it finds much stale,
	   and edits nothing. */
	__u16 ends, scoped;
#else
	__u16 scoped, ends;
	__u32 stale;
#endif

	__u64 gate4; /* each 0 where the generation has no such map */
	__u64 gate4_labels;
	__u64 gate6;
	__u64 filter;
	__u64 roster4;
	__u64 roster6;
};

/*
 * The detector (bpf/detect.h). What a packet counts as: as a packet and its bytes, and as what else it is. The numbers
 * are indices into a suspect's stamps and counts, and names in the state: they stay.
 */
enum packet_class {
	CLASS_PACKETS,
	CLASS_BYTES,
	CLASS_SYN,
	CLASS_UDP,
	CLASS_ICMP,
	CLASS_FRAGMENTS,
	CLASS_UNANSWERED, /* for this machine, and no socket of it takes it */
	CLASS_SCAN,	  /* to an address and port that is none of its last */
	CLASSES
};

/* What a key is: 0 is no one. Networks are numbered by their length. */
enum suspect_kind { SUSPECT_IPV4 = 4, SUSPECT_IPV6 = 6, SUSPECT_NET4 = 24, SUSPECT_NET6 = 48 };

/* Five cache lines. All of a stamp, a time and a mark is in ns of the detector's clock. */
struct suspect {
	__u64 stamp[CLASSES];
	__u64 count[CLASSES]; /* since it is tracked, and while its cell is hot */
	__u64 over[CLASSES];  /* packets that were above the limit of that class */
	union {
		__u64 proven[CLASSES]; /* stamps of those packets alone whose source was proven */
		struct {
			__u64 hosts[2]; /* of a network: who sent, a bit each by its hash, in this second and before */
			__u64 hosts_at; /* when this second began */
		};
	};
	__u64 since, over_at; /* tracked since; the last packet above a limit, 0: none was */
	__u64 dropped;	      /* packets that it has lost */
	__u64 scale;	      /* of its prices, in parts of TRUST_ALL, as asked in ... */
	__u64 asked;	      /* ... the generation of that number */
	__u64 until;	      /* banned until then */
	__u32 banned_for;     /* the classes of that ban, a bit each */
	__u32 port;	      /* 1 + the UDP source port of the last packet above a limit; 0: there was none */
	__u64 pairs;	      /* the last addresses and ports that were new, a hash each; 0: none */
};

#define SUSPECTS_OF_BUCKET 4
#define SUSPECTS_NONE	   SUSPECTS_OF_BUCKET

/* Keys in a line of their own, so that looking for one reads one line. */
struct suspects {
	struct {
		__u64 key;  /* IPv4: the address; IPv6: its upper half */
		__u64 mark; /* MARK() in bpf/detect.h */
	} place[SUSPECTS_OF_BUCKET];
	struct suspect suspect[SUSPECTS_OF_BUCKET];
};

/* What became of a kept packet in the detector: counted per CPU, but for the first. */
enum detected {
	DETECTED_NOTHING,
	DETECTED_SUSPECT,
	DETECTED_OVER,
	DETECTED_UNTRACKED,
	DETECTED_DROPPED,
	DETECTED_BANNED,
	DETECTEDS
};

/* What becomes of a packet that is above the limit of its class; later ones are severer. */
enum then { THEN_WATCH, THEN_POLICE, THEN_BAN, THENS };

/*
 * The limits of an interface that has some of its own, with the general ones where it has none, by its slot. Slot 0 has
 * the general ones alone. Where there is no limit, no packet has a price, and the burst is beyond all stamps.
 */
#define SLOTS	       32 /* a power of two */
#define SLOT_UNLIMITED (1ULL << 62)

struct slot {
	__u64 number;
	struct slot_limit {
		__u64 price, burst; /* as in struct detect */
	} limit[CLASSES];
	__u64 moves[CLASSES]; /* as there, too */
	__u64 then[THENS];
	char name[SLOT_NAME];
};

/* Constants of the program, as those of struct generation; its last group stands for maps. */
#define DETECT_VERSION	  5
#define DETECT_BYTE_SHIFT 16 /* a byte's price is finer than a ns */

/*
 * Whom the operator trusts, by the longest prefix (struct end_key): so much of each price is charged, in parts of
 * TRUST_ALL; of nobody else, all of it. 0: an allow list has it, and it is not judged at all.
 */
#define TRUST_SHIFT 16
#define TRUST_ALL   (1u << TRUST_SHIFT)
/* This machine needs it: it may lose what is above a limit, and is never banned. */
#define TRUST_NO_BAN (1ULL << 63)
/* And which addresses are this machine's own, as families of their own. */
#define END_KEY_OWN 256

struct detect {
	__u64 version;
	struct hash_seeds hash;
	__u64 cells;   /* of the sketch; 0: there is no detector */
	__u64 buckets; /* of suspects */
	__u64 tick;    /* of the clock, in ns */
	__u64 cap;     /* a cell is hot that is further ahead of the clock than this, ... */
	__u64 most;    /* ... and is never further ahead than this */
	__u64 keep;    /* how long the place of a suspect is kept that sends nothing */
	struct {
		__u64 price; /* of a packet, in ns; of a byte, in ns << DETECT_BYTE_SHIFT. 0: there is no limit */
		__u64 burst; /* in ns, with a tick */
	} limit[CLASSES];
	__u64 moves[CLASSES]; /* what a packet of the class moves its cell by */
	__u64 looks_up;	      /* classes that a packet alone does not tell, and that have a limit: a bit each */
	__u64 then[THENS];    /* classes for which it is that or severer, a bit each */
	__u64 jail;	      /* how long a ban lasts, in ns, and up to a tenth more or less */
	__u64 networks;	      /* of a network's prices, as `scale` of a suspect; 0: they are not judged */
	/* Where a socket of the kernel has these, in bytes; 0: that is not known, so no socket proves anything. */
	__u64 tcp_rcv_nxt, tcp_rcv_wnd, tcp_snd_una, tcp_snd_nxt, tcp_max_window, tcp_sk_uid;
	/* Of this generation: its number; does the map of the trusted tell addresses of one /64 apart; is
	   LABEL_DETECTOR no list's? */
	__u64 number, trusts_hosts, account;
	__u64 sketch;
	__u64 suspects;
	__u64 claims;
	__u64 detected;
	__u64 trusted;
	__u64 policed;
	__u64 proven;  /* interfaces whose network lets nobody forge a source, by their index */
	__u64 slots;   /* struct slot; 0: no interface has limits of its own */
	__u64 slot_of; /* the number of its slot, of an interface that has some, by its index */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct suspect) == 5 * BLOCK_BYTES, "a suspect is five cache lines");
_Static_assert(sizeof(struct suspects) == 21 * BLOCK_BYTES, "their keys are one");
_Static_assert(2 * sizeof(struct bucket4) == BLOCK_BYTES, "two buckets are a cache line");
_Static_assert(2 * sizeof(struct codes4) == BLOCK_BYTES, "so are two of codes");
_Static_assert(sizeof(struct bucket6) == BLOCK_BYTES, "a bucket is a cache line");
_Static_assert(sizeof(struct sample_share) == 16, "a line has four");
_Static_assert(sizeof(struct tally) == 16, "the value of the counter maps");
_Static_assert(sizeof(struct generation) % 8 == 0, "constants are numbered by eights");
#endif

#endif
