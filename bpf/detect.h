/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who sends too much: a sketch that says "surely not" of nearly every source with one cell, and behind each "maybe" a
 * table of suspects that knows it exactly.
 *
 * Both keep a stamp in the place of a counter (GCRA, the leaky bucket's other form): the time up to which the allowance
 * is used. A packet moves it by its price, 1 s / limit; a stamp in the past is worth as much as none. So it forgets by
 * itself, and holds r * t + b over every window, not only over those that begin with a second.
 *
 * The clock is jiffies, in ns, read once a packet. It may be behind by a tick. Stamps have 64 bits: they last 292
 * years, and what is compared is a difference, so that even the clock's end changes nothing. While the clock stands, no
 * allowance comes back: as much passes as a burst. Where it is behind by s more than a tick (a virtual machine that was
 * not run), the first bound holds with r * s less, the second with r * s more.
 *
 * With a limit of r and a burst of b, of one class of packets (the others only make a cell hot earlier):
 *
 * 1. Who sends at most r * t + b in every window of t is never found to be over the limit, whatever all others send,
 *    on any number of CPUs. Nobody is judged by the sketch. A stamp of a suspect is moved by its own packets alone. Had
 *    they moved it to more than b / r + a tick ahead of the clock, then since it last was in the past they would be
 *    more than r * t + b: the clock that judges the last may be a tick behind, and for that tick there is one in the
 *    limit (detect_burst). CPUs that write the same stamp at once lose some of the packets, and add none.
 *
 * 2. Who sends more than r * t + 2 * b + a tick's worth in some window is found over the limit in it, while there is
 *    room among the suspects, and no update is lost. Up to the last packet that finds its cell not hot, the packets of
 *    the window are at most those that move a cell by t + b / r - a tick (the sketch's limit, detect_cap), since a cell
 *    is moved by all that is charged to it; and from there on all of them are charged to the suspect, who is found out
 *    beyond t' + b / r + a tick. Together, with a tick by which the clock may be ahead of the window's beginning, that
 *    is the sum. A cell is not moved further ahead than detect_most: what is cut off there is forgotten only by a time
 *    without packets that is worth more.
 *
 * 3. A suspect's place is given to another only after a time in which all its stamps have passed (detect_keep): then an
 *    entry is worth as much as a new one. So a flood takes nothing from those who are tracked, and who finds no place
 *    is counted, and passes.
 *
 * 4. A packet is dropped only where it is above the limit of a class that is policed: by 1, no packet of who keeps it.
 *    What passes is charged to each class that it is not above, and what is dropped to none; so of a policed class pass
 *    r * t + 2 * b and a tick's worth at most in any window, of a source that is tracked, while no update is lost.
 *
 * 5. Nobody is banned but by his own packets above the limit of a class that bans: those that prove themselves
 *    (proof.h) are charged to stamps of their own, dropped or not, and 1 holds for these. Who is banned keeps its place
 *    and its cell stays hot until the end, which is asked of each packet. An entry that is banned is never given away.
 *    Who is let out before the end begins with stamps and a cell that are empty. So for 2 the window of all who share
 *    that cell begins there anew.
 *
 * 6. A network is judged while at least eight of its hosts sent within the last two seconds, is never banned, and what
 *    1 and 4 say of a source holds of it, too; 2 does by chance, since one packet in eight makes its cell hot.
 *
 * 7. Where interfaces have limits of their own (slots), a source is another one in each slot: its key has the slot in
 *    it, and its hash, too. So all of the above holds as it stands of what a source sends by that interface, with that
 *    interface's r and b, and what it sends by another one takes nothing of it. Of the sketch b is the least of all.
 *    Packets of all interfaces without are of one slot.
 *
 * 8. Of a scan is a packet to a pair of address and port that is none of the four that were charged last. So who goes
 * to four pairs is never above that limit, nor who in every window changes from pair to pair at most r * t + b - 1
 *    times: of a row of packets to one pair at most one is charged, and the row may have begun before the window. To
 *    pairs where it never was a source is found beyond r * t + 2 * b and a tick's worth, as 2 says, but for those that
 *    pass for known: a pair is told by 14 bits, so of each new one four in 16,384.
 *
 * What plain stores lose, in 2: what other CPUs add to a stamp between a CPU's load of it and its store, a few ns. Of a
 * source whose packets all come by one queue that is nothing. Of one that comes by n queues at once, all of them always
 * busy with it, it is at most n - 1 of n: then it is found at n times the rate. A CPU that is interrupted just there
 * takes back what came meanwhile, once.
 */
#ifndef DETECT_H
#define DETECT_H

#include "ends.h"
#include "hash.h"
#include "parse.h"

#ifdef __bpf__

#define DETECT(d, field) ((void)(d), LOADED(CONSTANT_DETECT + DETECT_INDEX(field)))

#define detect_load(at)		(*(volatile __u64 *)(at))
#define detect_store(at, value) (*(volatile __u64 *)(at) = (value))

/* A lock that nobody waits for: there is no other that a program can take in 5.10 and a map without types can have. */
inline_always int detect_lock(const struct detect *d, __u32 bucket)
{
	__u32 mine = 1;

	return !bpf_map_update_elem((void *)DETECT(d, claims), &bucket, &mine, BPF_NOEXIST);
}

inline_always void detect_unlock(const struct detect *d, __u32 bucket)
{
	bpf_map_delete_elem((void *)DETECT(d, claims), &bucket);
}

inline_always const __u64 *detect_trusted(const struct detect *d, const struct end_key *key)
{
	return bpf_map_lookup_elem((void *)DETECT(d, trusted), key);
}

#define detect_random() bpf_get_prandom_u32()

#define D ((const struct detect *)NULL)

#include "proof.h"
#include "unasked.h"

#define DETECT_PROVEN(packet)	source_is_proven((packet)->from)
#define DETECT_UNASKED(packet)	unasked((packet)->from)
#define DETECT_UDP_PORT(packet) source_udp_port((packet)->from)

#else

#include "unasked.h"

#define DETECT(d, field) ((d)->field)

#define detect_load(at)		__atomic_load_n(at, __ATOMIC_RELAXED)
#define detect_store(at, value) __atomic_store_n(at, value, __ATOMIC_RELAXED)

/* A byte for each bucket. */
inline_always int detect_lock(const struct detect *d, __u32 bucket)
{
	return !__atomic_exchange_n((__u8 *)d->claims + bucket, 1, __ATOMIC_ACQUIRE);
}

inline_always void detect_unlock(const struct detect *d, __u32 bucket)
{
	__atomic_store_n((__u8 *)d->claims + bucket, 0, __ATOMIC_RELEASE);
}

inline_always __u32 detect_random(void)
{
	static __u64 state;
	__u64 next = __atomic_load_n(&state, __ATOMIC_RELAXED) * 6364136223846793005 + 1442695040888963407;

	__atomic_store_n(&state, next, __ATOMIC_RELAXED);
	return next >> 32;
}

#define DETECT_PROVEN(packet)	((packet)->from && ((const struct detect_from *)(packet)->from)->proven)
#define DETECT_UDP_PORT(packet) ((packet)->from ? ((const struct detect_from *)(packet)->from)->udp_port : 0)
#define DETECT_UNASKED(packet)	((packet)->from ? ((const struct detect_from *)(packet)->from)->unasked : 0)

struct detect_from {
	int proven, udp_port, unasked;
};

/* One address, if any. */
struct detect_trusted {
	struct end_key key;
	__u64 scale;
};

inline_always const __u64 *detect_trusted(const struct detect *d, const struct end_key *key)
{
	const struct detect_trusted *one = (const void *)d->trusted;

	return one && !__builtin_memcmp(one->key.addr, key->addr, sizeof(key->addr)) ? &one->scale : NULL;
}

#endif

/* --- Stamps ------------------------------------------------------------------------------------------------------- */

/* How far ahead of the clock; one in the past is not. */
inline_always __u64 stamp_ahead(__u64 stamp, __u64 now)
{
	__s64 ahead = stamp - now;

	return ahead > 0 ? ahead : 0;
}

/* --- The sketch --------------------------------------------------------------------------------------------------- */

inline_always __u64 *sketch_cell(const struct detect *d, __u64 hash)
{
	return (__u64 *)DETECT(d, sketch) + reduce(hash >> 32, DETECT(d, cells));
}

/* One load, one store. Is the source a suspect? A cell that a ban holds hot is left as it is. */
inline_always int sketch_charge(const struct detect *d, __u64 hash, __u64 now, __u64 price)
{
	__u64 *cell = sketch_cell(d, hash);
	__u64 was = stamp_ahead(detect_load(cell), now), ahead = was + price;

	if (ahead > DETECT(d, most)) {
		if (was > DETECT(d, most))
			return 1;
		ahead = DETECT(d, most);
	}
	detect_store(cell, now + ahead);
	return ahead > DETECT(d, cap);
}

inline_always int sketch_is_hot(const struct detect *d, __u64 hash, __u64 now)
{
	return stamp_ahead(detect_load(sketch_cell(d, hash)), now) > DETECT(d, cap);
}

/* --- Packets ------------------------------------------------------------------------------------------------------ */

/* What the classes of a packet are: a bit each. */
#define DETECT_BIT(class) (1u << (class))

#define IP_PROTO_ICMP	  1
#define IP_PROTO_TCP	  6
#define IP_PROTO_UDP	  17
#define IP_PROTO_FRAGMENT 44
#define IP_PROTO_ICMP6	  58

#define TCP_FLAGS_AT 13
#define TCP_SYN	     0x02
#define TCP_ACK	     0x10

/* at: the header of that protocol, if the packet has it at all. */
inline_always __u32 classes_of_protocol(__u32 protocol, const __u8 *at, const void *end, int has_header)
{
	if (protocol == IP_PROTO_UDP)
		return DETECT_BIT(CLASS_UDP);
	if (protocol == IP_PROTO_ICMP || protocol == IP_PROTO_ICMP6)
		return DETECT_BIT(CLASS_ICMP);
	if (protocol == IP_PROTO_TCP && has_header && PARSE_FITS(at, TCP_FLAGS_AT + 1, end) &&
	    (at[TCP_FLAGS_AT] & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		return DETECT_BIT(CLASS_SYN);
	return 0;
}

/* A fragment says where it belongs by more than "here" and "no more"; only the first has a header of its protocol. */
inline_always __u32 classes4(const struct ipv4_header *ip, const void *end, int copied)
{
	__u32 fragment = ip->rest[5] << 8 | ip->rest[6], classes = 0, words = ip->version_ihl & 15;
	int has_header = !(fragment & 0x1fff);

	if (fragment & 0x3fff)
		classes = DETECT_BIT(CLASS_FRAGMENTS);
	if (copied)
		return classes |
		       classes_of_protocol(ip->rest[8], (const __u8 *)(ip + 1), end, has_header && words == 5);
	return classes | classes_of_protocol(ip->rest[8], (const __u8 *)ip + words * 4, end, has_header);
}

inline_always __u32 classes6(const struct ipv6_header *ip, const void *end)
{
	__u32 protocol = ip->rest[5];

	if (protocol == IP_PROTO_FRAGMENT)
		return DETECT_BIT(CLASS_FRAGMENTS);
	return classes_of_protocol(protocol, (const __u8 *)(ip + 1), end, 1);
}

#define ND_FIRST     133 /* solicitations of routers */
#define ND_LAST	     137 /* redirects */
#define HOPS_OF_LINK 255

/* Of a neighbour, about neighbours: no router hands on so many hops. */
inline_always int is_discovery(const struct ipv6_header *ip, const void *end)
{
	const __u8 *type = (const __u8 *)(ip + 1);

	return ip->rest[5] == IP_PROTO_ICMP6 && ip->rest[6] == HOPS_OF_LINK && PARSE_FITS(type, 1, end) &&
	       *type >= ND_FIRST && *type <= ND_LAST;
}

/* A source as it is judged: the address, or of IPv6 the /64. */
struct detect_packet {
	__u64 key; /* 0: nobody's */
	__u64 kind;
	__u64 rest; /* of the address */
	__u64 hash;
	__u64 host, host_hash; /* of a network: the key of who sent it */
	__u64 bytes;
	__u32 classes;
	const struct slot *by; /* the limits of where it came in; NULL: the general ones */
	void *from;	       /* where more is asked of few: the context; in memory, struct detect_from or NULL */
};

#define LIMIT(d, packet, class, field) \
	((packet)->by ? detect_load(&(packet)->by->limit[class].field) : DETECT(d, limit[class].field))
#define LIMIT_THEN(d, packet, is) ((packet)->by ? detect_load(&(packet)->by->then[is]) : DETECT(d, then[is]))

/* Of a packet: is there a limit at all? In a slot the prices say it, and verifiers follow no branch. */
#define LIMIT_IS(d, packet, class)    ((packet)->by || DETECT(d, limit[class].price))
#define LIMIT_MOVES(d, packet, class) ((packet)->by || DETECT(d, moves[class]))

#define DETECT_IS_NETWORK(d, packet) (DETECT(d, networks) && (packet)->kind >= SUSPECT_NET4)

/* What is looked at in the longest of frames. */
#define DETECT_HEADERS (HEADERS_MAX + 16)

inline_always __u64 source_hash(struct hash_seeds seeds, __u64 kind, __u64 key)
{
	seeds.mul3 = 0;
	return kind == SUSPECT_IPV4 ? hash_ipv4(seeds, (__u32)key) : hash_ipv6(seeds, 0, key, 0);
}

/*
 * 0: there is no source. copied: the headers are on the stack, where verifiers take no offset from a packet; so of
 * packets with IP options it is not seen there whether they are SYN.
 */
inline_always int detect_parse(const struct detect *d, const void *data, const void *end, int copied,
			       struct detect_packet *packet)
{
	struct hash_seeds seeds = { DETECT(d, hash.add), DETECT(d, hash.mul1), DETECT(d, hash.mul2), 0 };
	struct source source;
	int family = parse_source(data, end, &source);

	if (family == SOURCE_IPV6) {
		const struct ipv6_header *ip =
			(const void *)((const char *)source.ipv6 - offsetof(struct ipv6_header, source));

		packet->classes = classes6(ip, end);
		if (!source_mapped(&source)) {
			packet->key = is_discovery(ip, end) ? 0 : source_ipv6(&source, 0);
			packet->kind = SUSPECT_IPV6;
			packet->rest = source_ipv6(&source, 1);
			packet->hash = source_hash(seeds, SUSPECT_IPV6, packet->key);
			return 1;
		}
		source.ipv4 = NET32(source.ipv6[3]);
	} else if (family == SOURCE_IPV4) {
		packet->classes = classes4(source.ipv4_at, end, copied);
	} else {
		return 0;
	}
	packet->key = source.ipv4;
	packet->kind = SUSPECT_IPV4;
	packet->rest = 0;
	packet->hash = source_hash(seeds, SUSPECT_IPV4, source.ipv4);
	return 1;
}

/* A source is another one in each slot. */
inline_always __u64 hash_in_slot(const struct detect *d, __u64 hash, const struct slot *by)
{
	return by ? hash + by->number * DETECT(d, hash.add) : hash;
}

/* What a packet takes of the allowance of its class; a class without a limit has no price. */
inline_always __u64 detect_price(const struct detect *d, int class, const struct detect_packet *packet)
{
	__u64 price = LIMIT(d, packet, class, price);

	if (class != CLASS_BYTES)
		return price;
	MULTIPLY(price, packet->bytes);
	return price >> DETECT_BYTE_SHIFT;
}

/* And what it moves its cell by. */
inline_always __u64 detect_moves(const struct detect *d, int class, const struct detect_packet *packet)
{
	if (class == CLASS_BYTES)
		return detect_price(d, class, packet);
	return packet->by ? detect_load(&packet->by->moves[class]) : DETECT(d, moves[class]);
}

/* Each packet is of the first two. */
#define DETECT_CLASSES(packet) ((packet)->classes | DETECT_BIT(CLASS_PACKETS) | DETECT_BIT(CLASS_BYTES))
#define DETECT_IS_OF(packet, class) \
	((class) == CLASS_PACKETS || (class) == CLASS_BYTES || (packet)->classes & DETECT_BIT(class))

#define DETECT_ADD(class)                                                         \
	do {                                                                      \
		if (LIMIT_MOVES(d, packet, class) && DETECT_IS_OF(packet, class)) \
			price += detect_moves(d, class, packet);                  \
	} while (0)

/*
 * The sum of what it takes of each: whoever is above the limit of one class is above this one's, too. What a packet
 * alone does not tell is in the price of more than it is: an unanswered one in that of each packet, one of a scan in
 * that of each SYN and of each of UDP (limits_plan). So such limits cost nothing here; who sends as much of the others
 * is looked at closely.
 */
inline_always __u64 detect_prices(const struct detect *d, const struct detect_packet *packet)
{
	__u64 price = 0;

	DETECT_ADD(CLASS_PACKETS);
	DETECT_ADD(CLASS_BYTES);
	DETECT_ADD(CLASS_SYN);
	DETECT_ADD(CLASS_UDP);
	DETECT_ADD(CLASS_ICMP);
	DETECT_ADD(CLASS_FRAGMENTS);
	return price;
}

/* --- Suspects ----------------------------------------------------------------------------------------------------- */

/* Beside the key: what it is, in which slot, and when it was last seen, in 65,536 ns. */
#define MARK(kind, now) ((kind) | (now) >> 16 << 16)
#define MARK_KIND(mark) ((mark)&0xff)
#define MARK_SLOT(mark) ((mark) >> 8 & 0xff)
#define MARK_IS(mark)	((mark)&0xffff)
#define MARK_SEEN(mark) ((mark) & ~0xffffULL)
/* Of a packet: with the slot. */
#define IN_SLOT(packet) ((packet)->kind | ((packet)->by ? detect_load(&(packet)->by->number) << 8 : 0))
/* Less than 0 for one that is kept until then: of who is banned. */
#define MARK_AGE(mark, now) ((__s64)((now)-MARK_SEEN(mark)))

#define SUSPECT_FIND(i)                                                              \
	do {                                                                         \
		if (found == SUSPECTS_NONE && bucket->place[i].key == packet->key && \
		    MARK_IS(bucket->place[i].mark) == IN_SLOT(packet))               \
			found = i;                                                   \
	} while (0)

inline_always __u32 suspect_find(const struct suspects *bucket, const struct detect_packet *packet)
{
	__u32 found = SUSPECTS_NONE;

	SUSPECT_FIND(0);
	SUSPECT_FIND(1);
	SUSPECT_FIND(2);
	SUSPECT_FIND(3);
	return found;
}

#define SUSPECT_FREE(i)                                                                  \
	do {                                                                             \
		__u64 mark_ = bucket->place[i].mark;                                     \
		if (!MARK_KIND(mark_) || MARK_AGE(mark_, now) >= (__s64)DETECT(d, keep)) \
			found = i;                                                       \
	} while (0)

inline_always __u32 suspect_room(const struct detect *d, const struct suspects *bucket, __u64 now)
{
	__u32 found = SUSPECTS_NONE;

	SUSPECT_FREE(3);
	SUSPECT_FREE(2);
	SUSPECT_FREE(1);
	SUSPECT_FREE(0);
	return found;
}

/*
 * A place for a new one, or again for one that was away. One CPU at a time gives away places of a bucket; who finds
 * another at it passes for this once, and is counted. Those who are at home need not ask: for the first half of the
 * time that a place is kept they use it, and only after all of it another gets it.
 */
inline_always __u32 suspect_claimed(const struct detect *d, struct suspects *bucket, const struct detect_packet *packet,
				    __u64 now)
{
	__u32 at = suspect_find(bucket, packet);
	struct suspect *suspect;

	if (at != SUSPECTS_NONE) {
		detect_store(&bucket->place[at & 3].mark, MARK(IN_SLOT(packet), now));
		return at;
	}
	at = suspect_room(d, bucket, now);
	if (at == SUSPECTS_NONE)
		return at;
	suspect = &bucket->suspect[at & 3];
	/* Its stamps have passed. */
	UNROLL
	for (int class = 0; class < CLASSES; class ++) {
		suspect->count[class] = 0;
		suspect->over[class] = 0;
		suspect->proven[class] = 0;
	}
	suspect->since = now;
	suspect->over_at = 0;
	suspect->dropped = 0;
	suspect->scale = TRUST_ALL;
	suspect->asked = 0;
	suspect->until = 0;
	suspect->banned_for = 0;
	suspect->port = 0;
	suspect->pairs = 0;
	bucket->place[at & 3].key = packet->key;
	detect_store(&bucket->place[at & 3].mark, MARK(IN_SLOT(packet), now));
	return at;
}

/*
 * How much of each price is charged. Asked for once in a generation: whatever changes the answer makes a new one; for
 * what stands for more than one address in the map, each time.
 */
inline_always __u64 suspect_scale(const struct detect *d, struct suspect *suspect, const struct detect_packet *packet)
{
	int network = DETECT_IS_NETWORK(d, packet), is6 = packet->kind == SUSPECT_IPV6 || packet->kind == SUSPECT_NET6;
	int within = network || (is6 && DETECT(d, trusts_hosts));
	__u64 address = network ? packet->host : packet->key, scale;
	struct end_key key = { .bits = END_KEY_BITS(32), .family = 4, .addr = { NET32((__u32)address) } };
	const __u64 *trusted;

	if (!within && suspect->asked == DETECT(d, number))
		return suspect->scale;
	if (is6)
		key = (struct end_key){ .bits = END_KEY_BITS(128),
					.family = 6,
					.addr = { NET32((__u32)(address >> 32)), NET32((__u32)address),
						  NET32((__u32)(packet->rest >> 32)), NET32((__u32)packet->rest) } };
	trusted = detect_trusted(d, &key);
	scale = trusted ? *trusted : TRUST_ALL;
	suspect->scale = scale;
	suspect->asked = DETECT(d, number);
	return scale;
}

/* What was found of a packet: a bit for each class that it is above the limit of, or is charged to. */
struct judged {
	__u64 scale, classes, above, charged;
	int looks_up; /* as the compiler knows */
};

inline_always __u64 suspect_price(const struct detect *d, int class, const struct detect_packet *packet,
				  const struct judged *is)
{
	return detect_price(d, class, packet) * is->scale >> TRUST_SHIFT;
}

/* Without branches: verifiers would follow each class to its end, above its limit and below. */
#define STAMP_JUDGE(stamp, class)                                                                            \
	do {                                                                                                 \
		if (LIMIT_IS(d, packet, class)) {                                                            \
			__u64 left_ = LIMIT(d, packet, class, burst) - suspect_price(d, class, packet, is) - \
				      stamp_ahead(detect_load(&(stamp)[class]), now);                        \
			is->above |= left_ >> 63 << (class) & is->classes;                                   \
			if ((packet)->by)                                                                    \
				SETTLE(is->above);                                                           \
		}                                                                                            \
	} while (0)

#define STAMP_CHARGE(stamp, class)                                                                           \
	do {                                                                                                 \
		if (LIMIT_IS(d, packet, class) && is->charged & DETECT_BIT(class))                           \
			detect_store(&(stamp)[class], now + stamp_ahead(detect_load(&(stamp)[class]), now) + \
							      suspect_price(d, class, packet, is));          \
	} while (0)

inline_always void stamps_judge(const struct detect *d, const __u64 *stamp, const struct detect_packet *packet,
				struct judged *is, __u64 now)
{
	STAMP_JUDGE(stamp, CLASS_PACKETS);
	STAMP_JUDGE(stamp, CLASS_BYTES);
	STAMP_JUDGE(stamp, CLASS_SYN);
	STAMP_JUDGE(stamp, CLASS_UDP);
	STAMP_JUDGE(stamp, CLASS_ICMP);
	STAMP_JUDGE(stamp, CLASS_FRAGMENTS);
	if (is->looks_up) {
		STAMP_JUDGE(stamp, CLASS_UNANSWERED);
		STAMP_JUDGE(stamp, CLASS_SCAN);
	}
}

inline_always void stamps_charge(const struct detect *d, __u64 *stamp, const struct detect_packet *packet,
				 const struct judged *is, __u64 now)
{
	STAMP_CHARGE(stamp, CLASS_PACKETS);
	STAMP_CHARGE(stamp, CLASS_BYTES);
	STAMP_CHARGE(stamp, CLASS_SYN);
	STAMP_CHARGE(stamp, CLASS_UDP);
	STAMP_CHARGE(stamp, CLASS_ICMP);
	STAMP_CHARGE(stamp, CLASS_FRAGMENTS);
	if (is->looks_up) {
		STAMP_CHARGE(stamp, CLASS_UNANSWERED);
		STAMP_CHARGE(stamp, CLASS_SCAN);
	}
}

#define SUSPECT_COUNT(counts, class, classes)     \
	do {                                      \
		if ((classes)&DETECT_BIT(class))  \
			suspect->counts[class]++; \
	} while (0)

/* Not those who sent by the hash of their address alone: eight bits are eight hosts, or more. */
#define HOSTS_ACTIVE 8
#define HOSTS_SECOND 1000000000ULL

/* Are so many of a network's hosts active that it is judged as one? */
inline_always int network_is_judged(struct suspect *suspect, const struct detect_packet *packet, __u64 now)
{
	__u64 age = now - suspect->hosts_at;

	if (age >= HOSTS_SECOND) {
		suspect->hosts[1] = age < 2 * HOSTS_SECOND ? suspect->hosts[0] : 0;
		suspect->hosts[0] = 0;
		suspect->hosts_at = now;
	}
	suspect->hosts[0] |= 1ULL << (packet->host_hash >> 58);
	return __builtin_popcountll(suspect->hosts[0] | suspect->hosts[1]) >= HOSTS_ACTIVE;
}

/*
 * Only what the source sent itself counts for a ban, and all of it, whether it is dropped or not. By 1 of these packets
 * alone, who keeps the limit is not banned, whatever others send in his name.
 */
inline_always int suspect_is_out(const struct detect *d, struct suspect *suspect, const struct detect_packet *packet,
				 const struct judged *all, __u64 now)
{
	struct judged proven = { .scale = all->scale,
				 .classes = all->classes & LIMIT_THEN(d, packet, THEN_BAN),
				 .looks_up = all->looks_up };
	__u64 part;

	if (!proven.classes || !DETECT_PROVEN(packet))
		return 0;
	stamps_judge(d, suspect->proven, packet, &proven, now);
	proven.charged = proven.classes;
	if (!proven.above) {
		stamps_charge(d, suspect->proven, packet, &proven, now);
		return 0;
	}
	part = (DETECT(d, jail) / 5 >> 16) * (detect_random() & 0xffff);
	suspect->until = now + DETECT(d, jail) - DETECT(d, jail) / 10 + part;
	suspect->banned_for = proven.above;
	return 1;
}

/* In 64 bits four of 16, none of which has the highest set. */
#define PAIR_EACH 0x0001000100010001ULL

inline_always int pair_is_known(__u64 pairs, __u64 pair)
{
	pairs ^= pair * PAIR_EACH;
	return !!((pairs - PAIR_EACH) & ~pairs & PAIR_EACH << 15);
}

/*
 * Of the classes that a packet alone does not tell: which it is of, a bit each, and from UNASKED_PAIR on where it goes.
 * It is of a scan only if that is none of the four that were charged last: who goes to four pairs of address and port
 * and no more is charged four packets in all the time that it is tracked, and that is within each burst (limits_plan).
 * The hosts of a network go to more, so it is not judged by them.
 */
inline_always __u32 suspect_unasked(const struct suspect *suspect, const struct detect_packet *packet, int network)
{
	__u32 found = DETECT_UNASKED(packet);

	if (network || pair_is_known(suspect->pairs, found >> UNASKED_PAIR))
		found &= ~DETECT_BIT(CLASS_SCAN);
	return found;
}

/*
 * Is it above a limit? A packet that is dropped is charged nothing, and one that passes nothing of the classes that it
 * is above the limit of: so what is over is what has to be dropped, or would have to be, for the rest to fit.
 */
inline_always enum detected suspect_charge(const struct detect *d, struct suspect *suspect,
					   const struct detect_packet *packet, __u64 now, int looks_up)
{
	__u64 scale = suspect_scale(d, suspect, packet);
	struct judged is = { .scale = scale & ~TRUST_NO_BAN, .classes = DETECT_CLASSES(packet), .looks_up = looks_up };
	int network = DETECT_IS_NETWORK(d, packet);
	__u32 pair = 0;

	if (!is.scale || (network && !network_is_judged(suspect, packet, now)))
		return DETECTED_NOTHING;
	if (network)
		is.scale = is.scale * DETECT(d, networks) >> TRUST_SHIFT;
	FORGET(is.classes, now);
	FORGET(is.scale, now);
	if (!network && LIMIT_THEN(d, packet, THEN_BAN) && (__s64)(suspect->until - now) > 0) {
		suspect->dropped++;
		return DETECTED_BANNED;
	}
	if (is.looks_up) {
		pair = suspect_unasked(suspect, packet, network);
		is.classes |= pair & (DETECT_BIT(CLASS_UNANSWERED) | DETECT_BIT(CLASS_SCAN));
		FORGET(is.classes, now);
	}
	suspect->count[CLASS_PACKETS]++;
	suspect->count[CLASS_BYTES] += packet->bytes;
	SUSPECT_COUNT(count, CLASS_SYN, is.classes);
	SUSPECT_COUNT(count, CLASS_UDP, is.classes);
	SUSPECT_COUNT(count, CLASS_ICMP, is.classes);
	SUSPECT_COUNT(count, CLASS_FRAGMENTS, is.classes);
	if (is.looks_up) {
		SUSPECT_COUNT(count, CLASS_UNANSWERED, is.classes);
		SUSPECT_COUNT(count, CLASS_SCAN, is.classes);
	}
	stamps_judge(d, suspect->stamp, packet, &is, now);
	if (is.above) {
		suspect->over_at = now;
		SUSPECT_COUNT(over, CLASS_PACKETS, is.above);
		SUSPECT_COUNT(over, CLASS_BYTES, is.above);
		SUSPECT_COUNT(over, CLASS_SYN, is.above);
		SUSPECT_COUNT(over, CLASS_UDP, is.above);
		SUSPECT_COUNT(over, CLASS_ICMP, is.above);
		SUSPECT_COUNT(over, CLASS_FRAGMENTS, is.above);
		if (is.looks_up) {
			SUSPECT_COUNT(over, CLASS_UNANSWERED, is.above);
			SUSPECT_COUNT(over, CLASS_SCAN, is.above);
		}
		if (is.classes & DETECT_BIT(CLASS_UDP))
			suspect->port = DETECT_UDP_PORT(packet);
	}
	if (!network && LIMIT_THEN(d, packet, THEN_BAN) && !(scale & TRUST_NO_BAN) &&
	    suspect_is_out(d, suspect, packet, &is, now)) {
		suspect->dropped++;
		return DETECTED_BANNED;
	}
	if (is.above & LIMIT_THEN(d, packet, THEN_POLICE)) {
		suspect->dropped++;
		return DETECTED_DROPPED;
	}
	is.charged = is.classes & ~is.above;
	stamps_charge(d, suspect->stamp, packet, &is, now);
	if (is.looks_up && is.charged & DETECT_BIT(CLASS_SCAN))
		suspect->pairs = suspect->pairs << 16 | pair >> UNASKED_PAIR;
	return is.above ? DETECTED_OVER : DETECTED_SUSPECT;
}

/* Which bucket: a word of its own, so that those who share a cell do not share a bucket. */
inline_always __u32 suspect_bucket(const struct detect *d, __u64 hash)
{
	return reduce(hash_more((struct hash_seeds){ .mul3 = DETECT(d, hash.mul3) }, hash) >> 32, DETECT(d, buckets));
}

/*
 * Who is banned keeps its place until the end, and its cell stays hot. Another CPU that writes the cell just then takes
 * that back, until the cell is hot again: so much passes once.
 */
inline_always void suspect_hold(const struct detect *d, struct suspects *bucket, __u64 at,
				const struct detect_packet *packet)
{
	__u64 until = bucket->suspect[at].until, hot = until + DETECT(d, cap) + 1;
	__u64 *cell = sketch_cell(d, packet->hash);

	detect_store(&bucket->place[at].mark, MARK(IN_SLOT(packet), until));
	if ((__s64)(hot - detect_load(cell)) > 0)
		detect_store(cell, hot);
}

/* Of one whose cell is hot. */
inline_always enum detected suspect_packet(const struct detect *d, const struct detect_packet *packet, __u64 now,
					   int looks_up)
{
	__u32 index = suspect_bucket(d, packet->hash), at;
	struct suspects *bucket = (struct suspects *)DETECT(d, suspects) + index;
	enum detected found;
	__u64 mark, place;

	at = suspect_find(bucket, packet);
	mark = at == SUSPECTS_NONE ? 0 : bucket->place[at & 3].mark;
	if (!mark || MARK_AGE(mark, now) > (__s64)(DETECT(d, keep) / 2)) {
		if (!mark && suspect_room(d, bucket, now) == SUSPECTS_NONE)
			return DETECTED_UNTRACKED;
		if (!detect_lock(d, index))
			return DETECTED_UNTRACKED;
		at = suspect_claimed(d, bucket, packet, now);
		detect_unlock(d, index);
		if (at == SUSPECTS_NONE)
			return DETECTED_UNTRACKED;
	} else if (MARK_AGE(mark, now) >= 65536) {
		detect_store(&bucket->place[at & 3].mark, MARK(IN_SLOT(packet), now));
	}
	place = at;
	FORGET(place, now);
	found = suspect_charge(d, &bucket->suspect[place & 3], packet, now, looks_up);
	if (found == DETECTED_BANNED)
		suspect_hold(d, bucket, place & 3, packet);
	return found;
}

/*
 * What all on a link share is nobody's: who has no address yet asks for one from there, and a router advertises itself.
 * One of them could use up the allowance of all. So are the packets of discovery: a neighbour's come from an address of
 * the link's /64, which others on it share, and which can be forged from afar.
 */
#define LINK_LOCAL (0xfe80ULL << 48)

inline_always int is_nobody(const struct detect_packet *packet)
{
	return !packet->key || (packet->kind == SUSPECT_IPV6 && packet->key >> 54 == LINK_LOCAL >> 54);
}

/* --- Networks ----------------------------------------------------------------------------------------------------- */

/*
 * One packet in eight is charged to its source's network, at eight times the price: the sketch's cell is hot as early,
 * give or take what chance does. Behind it all packets are charged, exactly, as far as enough of its hosts are active.
 */
#define NETWORKS_ONE_IN 8

inline_always struct detect_packet network_of(const struct detect *d, const struct detect_packet *host)
{
	struct hash_seeds seeds = { DETECT(d, hash.add), DETECT(d, hash.mul1), DETECT(d, hash.mul2), 0 };
	struct detect_packet network = *host;

	network.host = host->key;
	network.host_hash = host->hash;
	network.kind = host->kind == SUSPECT_IPV4 ? SUSPECT_NET4 : SUSPECT_NET6;
	network.key = host->key >> (host->kind == SUSPECT_IPV4 ? 8 : 16);
	network.hash = hash_in_slot(d, hash_ipv6(seeds, network.kind << 1, network.key, 0), host->by);
	return network;
}

inline_always int network_is_hot(const struct detect *d, const struct detect_packet *network, __u64 now, __u64 price)
{
	if (detect_random() % NETWORKS_ONE_IN)
		return sketch_is_hot(d, network->hash, now);
	price = (price * DETECT(d, networks) >> TRUST_SHIFT) * NETWORKS_ONE_IN;
	return sketch_charge(d, network->hash, now, price);
}

/* --- A packet that has a source, and that is kept ----------------------------------------------------------------- */

#ifdef __bpf__

/* what: its kind, its classes and its bytes. */
#define WHAT(packet)	   ((packet)->kind | (__u64)(packet)->classes << 8 | (packet)->bytes << 32)
#define WHAT_KIND(what)	   ((what)&0xff)
#define WHAT_CLASSES(what) ((what) >> 8 & 0xffffff)
#define WHAT_BYTES(what)   ((what) >> 32)
#define WHAT_PACKET(ctx, key_, rest_, hash_, what)                                        \
	{                                                                                 \
		.key = (key_), .kind = WHAT_KIND(what), .rest = (rest_), .hash = (hash_), \
		.classes = WHAT_CLASSES(what), .bytes = WHAT_BYTES(what), .from = (ctx)   \
	}

/* Verifiers learn from this that there are maps. */
#define DETECT_MAPS(d) (DETECT(d, sketch) && DETECT(d, suspects) && DETECT(d, claims) && DETECT(d, trusted))

/* Where some interfaces have limits of their own: those of the one that this packet came in by. NULL: nowhere. */
inline_always const struct slot *slot_of(struct xdp_md *ctx)
{
	__u32 interface = ctx->ingress_ifindex;
	const struct slot *slot;
	const __u32 *number;

	if (!DETECT(D, slots) || !DETECT(D, slot_of))
		return NULL;
	number = bpf_map_lookup_elem((void *)DETECT(D, slot_of), &interface);
	slot = (const struct slot *)DETECT(D, slots) + (number ? *number & (SLOTS - 1) : 0);
	SETTLE(slot);
	return slot;
}

/* by_slot, looks_up: known when it is compiled. With each these are functions of a program of its own. */
inline_always int suspect_apart(struct xdp_md *ctx, __u64 key, __u64 rest, __u64 hash, __u64 what, int by_slot,
				int looks_up)
{
	struct detect_packet packet = WHAT_PACKET(ctx, key, rest, hash, what);

	if (!DETECT_MAPS(D))
		return DETECTED_NOTHING;
	if (looks_up && !DETECT(D, looks_up))
		return DETECTED_NOTHING;
	if (by_slot) {
		packet.by = slot_of(ctx);
		if (!packet.by)
			return DETECTED_NOTHING;
	}
	return suspect_packet(D, &packet, bpf_jiffies64() * DETECT(D, tick), looks_up);
}

inline_always int network_apart(struct xdp_md *ctx, __u64 key, __u64 rest, __u64 hash, __u64 what, int by_slot,
				int looks_up)
{
	struct detect_packet host = WHAT_PACKET(ctx, key, rest, hash, what);
	struct detect_packet network;
	__u64 now;

	if (looks_up && !DETECT(D, looks_up))
		return DETECTED_NOTHING;
	if (!DETECT_MAPS(D) || !DETECT(D, networks))
		return DETECTED_NOTHING;
	if (by_slot) {
		host.by = slot_of(ctx);
		if (!host.by)
			return DETECTED_NOTHING;
	}
	network = network_of(D, &host);
	now = bpf_jiffies64() * DETECT(D, tick);
	if (!network_is_hot(D, &network, now, detect_prices(D, &host)))
		return DETECTED_NOTHING;
	return suspect_packet(D, &network, now, looks_up);
}

#define APART(name, of, by_slot, looks_up)                                                          \
	looked_at_apart int name(struct xdp_md *ctx, __u64 key, __u64 rest, __u64 hash, __u64 what) \
	{                                                                                           \
		return of##_apart(ctx, key, rest, hash, what, by_slot, looks_up);                   \
	}

APART(detect_suspect, suspect, 0, 0)
APART(detect_suspect_looking, suspect, 0, 1)
APART(slot_suspect, suspect, 1, 0)
APART(slot_suspect_looking, suspect, 1, 1)
APART(detect_network, network, 0, 0)
APART(detect_network_looking, network, 0, 1)
APART(slot_network, network, 1, 0)
APART(slot_network_looking, network, 1, 1)

#define CALL_APART(name, packet) name((packet)->from, (packet)->key, (packet)->rest, (packet)->hash, WHAT(packet))
#define DETECT_APART(of, packet, looks_up)                                                                     \
	((packet)->by ? ((looks_up) ? CALL_APART(slot_##of##_looking, packet) : CALL_APART(slot_##of, packet)) \
	 : (looks_up) ? CALL_APART(detect_##of##_looking, packet)                                              \
		      : CALL_APART(detect_##of, packet))
#define DETECT_SUSPECT(d, packet, now, looks_up) DETECT_APART(suspect, packet, looks_up)
#define DETECT_NETWORK(d, packet, now, looks_up) DETECT_APART(network, packet, looks_up)

#define DETECT_LOOKS_UP(d) 0

#else

#define DETECT_SUSPECT(d, packet, now, looks_up) suspect_packet(d, packet, now, looks_up)

inline_always enum detected detect_network(const struct detect *d, const struct detect_packet *host, __u64 now,
					   int looks_up)
{
	struct detect_packet network = network_of(d, host);

	if (!network_is_hot(d, &network, now, detect_prices(d, host)))
		return DETECTED_NOTHING;
	return suspect_packet(d, &network, now, looks_up);
}

#define DETECT_NETWORK(d, packet, now, looks_up) detect_network(d, packet, now, looks_up)

#define DETECT_LOOKS_UP(d) ((d)->looks_up != 0)

#endif

inline_always int detected_drops(__u32 found)
{
	return found == DETECTED_DROPPED || found == DETECTED_BANNED;
}

/* looks_up: are there limits of classes that a packet alone does not tell? The compiler knows. */
inline_always __u32 detect_one(const struct detect *d, const struct detect_packet *packet, __u64 now, int looks_up)
{
	__u32 found = DETECTED_NOTHING, network;

	if (sketch_charge(d, packet->hash, now, detect_prices(d, packet)) && !is_nobody(packet))
		found = DETECT_SUSPECT(d, packet, now, looks_up);
	if (!DETECT(d, networks) || detected_drops(found) || is_nobody(packet))
		return found;
	network = DETECT_NETWORK(d, packet, now, looks_up);
	return network > found ? network : found;
}

inline_always __u32 detect_packet(const struct detect *d, const struct detect_packet *packet, __u64 now)
{
	return detect_one(d, packet, now, DETECT_LOOKS_UP(d));
}

#endif
