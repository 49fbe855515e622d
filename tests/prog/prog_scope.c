// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists with a scope, from the state to the real program, against a naive model: lists, exceptions, live bans that have
 * ended or not, shadows, and packets with random addresses, protocols, ports, options, fragments and interfaces; by
 * their source, destination or both, and of what comes in and what leaves. XDP_BLOOM_PACKETS=1000000 of each is the
 * whole of it; with XDP_BLOOM_LISTS, a directory of real lists, as many again where these are the lists.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "change/ends.h"
#include "kernel/attachment.h"
#include "kernel/counters.h"
#include "kernel/match.h"
#include "kernel/pins.h"
#include "kernel/root.h"
#include "own_pins.h"
#include "scope_world.h"
#include "stacks.h"

enum { DROP = 1, PASS = 2, OF_A_WORLD = 2000, WORLDS = 100, FRAME = 256 };

static int list_counters;
static bool frags;

/* --- A packet --------------------------------------------------------------------------------------------------------
 */

struct packet {
	uint8_t frame[FRAME];
	size_t size;
	struct addr source, to;
	int protocol; /* -1: it cannot be told */
	long port;    /* -1: the same */
	unsigned int interface;
	bool mapped, to_mapped;
};

static void put16(uint8_t *at, unsigned int value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_num(uint8_t *at, ip6 num, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(num >> 8 * (bytes - 1 - i));
}

static struct addr one_of(const char *const *texts)
{
	const char *text = texts[below(3)];
	struct addr first;
	unsigned int length;

	ENOUGH(!prefix_parse(text, strlen(text), &first, &length));
	first.num |= ktap_random() & addr_mask(first.family, length) & 0xff;
	if (!below(3))
		first.num ^= (ip6)1 << below(first.family == 4 ? 16 : 100);
	return first;
}

/* Somewhere in what the lists may hold. */
static struct addr random_source(int family)
{
	struct addr at;
	struct area a;
	ip6 offset;

	if (held_n && below(8))
		for (int i = 0; i < 16; i++)
			if (near_held(&at, family))
				return at;
	if (family == 4)
		return (struct addr){ BASE4 | below(1 << 11), 4 };
	do
		a = w.n && below(2) && w.list[0].n ? w.list[below((unsigned int)w.n)].area[0] : random_area();
	while (a.family != 6);
	offset = below(3) ? ktap_random() & 7 : (ip6)ktap_random() << 64 | ktap_random();
	return (struct addr){ a.lo + (offset & (a.hi - a.lo)), 6 };
}

static uint8_t *put_ipv4(struct packet *p, uint8_t *at)
{
	unsigned int words = 5 + (below(4) ? 0 : below(11)), fragment = below(8) ? 0 : below(3);
	/* Any, or one of which either byte is 0. */
	unsigned int where = below(2) ? 1 + below(0x1fff) : below(2) ? 1U << below(13) : 0x100 * (1 + below(31));

	at[0] = (uint8_t)(0x40 | words);
	/* None, the first of some, or another one; "do not fragment" means nothing. */
	put16(at + 6, fragment == 0 ? below(2) << 14 : fragment == 1 ? 0x2000 : where);
	/* A time to live that looks like a protocol. */
	at[8] = (uint8_t)protocols[below(9)];
	at[9] = (uint8_t)p->protocol;
	put_num(at + 12, p->source.num, 4);
	put_num(at + 16, p->to.num, 4);
	if (fragment == 2)
		p->port = -1;
	return at + 4 * words;
}

static uint8_t *put_ipv6(struct packet *p, uint8_t *at, ip6 source, ip6 to)
{
	unsigned int extensions = below(3) ? 0 : below(11);
	uint8_t *next = at + 6, *end = at + 40;
	bool here = true;

	at[0] = 0x60;
	put_num(at + 8, source, 16);
	put_num(at + 24, to, 16);
	for (unsigned int i = 0; i < extensions && here; i++) {
		static const uint8_t kinds[] = { 0, 43, 60, 135, 51, 44 };
		uint8_t kind = kinds[below(6)];
		size_t bytes = kind == 44 ? 8 : 8 * (1 + (size_t)below(2));

		*next = kind;
		memset(end, 0, bytes);
		end[1] = (uint8_t)(kind == 51 ? bytes / 4 - 2 : kind == 44 ? 0 : bytes / 8 - 1);
		if (kind == 44 && below(2)) {
			put16(end + 2, (1 + below(0x1fff)) << 3 | below(2));
			here = false;
			p->port = -1;
		}
		next = end;
		end += bytes;
		/* Behind so many it is not looked for. */
		if (i == 8) {
			p->protocol = -1;
			p->port = -1;
		}
	}
	*next = p->protocol < 0 ? 6 : (uint8_t)p->protocol;
	return end;
}

static void make_packet(struct packet *p)
{
	int family = below(2) ? 4 : 6;
	bool mapped = family == 4 && !below(6);
	uint8_t *at = p->frame + 14, *type = p->frame + 12, *end;

	memset(p->frame, 0, sizeof(p->frame));
	p->source = random_source(family);
	p->protocol = protocols[below(9)];
	p->port = -1;
	if (p->protocol == 6 || p->protocol == 17 || p->protocol == 132)
		p->port = (long)(ports[below(9)] + below(2) * below(3));
	if (p->port > 65535)
		p->port = 65535;
	p->interface = (unsigned int[]){ 1, 1, 2, 77 }[below(4)];
	p->mapped = mapped;
	p->to_mapped = mapped && below(2);
	if (below(2))
		p->to = one_of(family == 4 && (!mapped || p->to_mapped) ? others4 : others6);
	else
		p->to = random_source(mapped && !p->to_mapped ? 6 : family);
	for (unsigned int tags = below(4) ? 0 : below(3); tags; tags--) {
		put16(type, 0x8100);
		type += 4;
		at += 4;
	}
	put16(type, family == 4 && !mapped ? 0x0800 : 0x86dd);
	/* Before the header is made: it may hide it. */
	end = family == 4 && !mapped ? put_ipv4(p, at)
				     : put_ipv6(p, at, mapped ? MAPPED | p->source.num : p->source.num,
						p->to_mapped ? MAPPED | p->to.num : p->to.num);
	if (p->port >= 0)
		put16(end + 2, (unsigned int)p->port);
	else
		put16(end + 2, ports[below(9)]); /* what looks like one */
	p->size = (size_t)(end - p->frame) + 8;
	if (!below(16)) { /* cut within the ports */
		p->size = (size_t)(end - p->frame) + below(4);
		p->port = -1;
	}
}

/* --- What should become of it ----------------------------------------------------------------------------------------
 */

static bool holds(const struct model_list *l, struct addr addr)
{
	if (l->held)
		return held_has(l->held, addr);
	for (size_t i = 0; i < l->n; i++)
		if (in_area(&l->area[i], addr))
			return true;
	return false;
}

enum taken { NO, YES, UNREAD };

static enum taken takes(const struct scope *s, const struct packet *p)
{
	bool only = !s->only_n, unread = false, to = !s->to_n, on = !s->on_n;

	for (size_t i = 0; i < s->only_n; i++) {
		const struct scope_rule *r = &s->only[i];

		if (p->protocol < 0)
			unread = true;
		else if (p->protocol == r->protocol && scope_rule_is_whole(r))
			only = true;
		else if (p->protocol == r->protocol && p->port < 0)
			unread = true;
		else if (p->protocol == r->protocol && p->port >= r->lo && p->port <= r->hi)
			only = true;
	}
	for (size_t i = 0; i < s->to_n; i++)
		to = to || (s->to[i].first.family == p->to.family &&
			    !((s->to[i].first.num ^ p->to.num) >> (addr_width(p->to.family) - s->to[i].length)));
	for (size_t i = 0; i < s->on_n; i++)
		on = on || (!strcmp(s->on[i], "lo") && p->interface == 1);
	return !to || !on ? NO : only ? YES : unread ? UNREAD : NO;
}

/* Of one of its addresses. On which label it counts, or -1; unread: the first list that could not be asked, where
 * nothing drops it. */
static bool model_drops(const struct packet *p, struct addr addr, bool mapped, int *label, int *unread)
{
	bool scopes = false, ended = false;
	int live_label = -1;

	for (size_t i = 0; i < w.n; i++)
		scopes = scopes || !scope_is_all(&w.list[i].scope);
	*label = *unread = -1;
	for (size_t i = 0; i < w.n; i++)
		if (w.list[i].kind == LIST_ALLOW && holds(&w.list[i], addr))
			return false;
	for (size_t i = 0; i < w.n; i++)
		if (w.list[i].kind == LIST_BAN && scope_is_all(&w.list[i].scope) && holds(&w.list[i], addr)) {
			*label = addr.family == 4 ? w.list[i].label : -2; /* of IPv6 the longest prefix says it */
			return true;
		}
	for (size_t i = 0; i < w.bans; i++)
		if (in_area(&w.ban[i].area, addr)) {
			live_label = w.ban[i].over ? live_label : 0;
			ended = ended || w.ban[i].over;
		}
	*label = addr.family == 4 ? live_label : -2;
	if (!live_label)
		return true;
	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < w.n; i++) {
			const struct model_list *l = &w.list[i];
			enum taken taken;

			if (l->kind != (pass ? LIST_SHADOW : LIST_BAN) || scope_is_all(&l->scope) != (pass == 2) ||
			    !holds(l, addr))
				continue;
			taken = takes(&l->scope, p);
			if (taken == YES) {
				/* What a mapped source only counts is not counted. */
				*label = pass && mapped ? -1 : l->label;
				/* Without scopes a ban that has just ended hides it until a command takes it out. */
				if (pass && ended && !scopes)
					*label = -2;
				*unread = -1;
				return !pass;
			}
			if (taken == UNREAD && *unread < 0)
				*unread = l->label;
		}
	*label = -1;
	return false;
}

static bool model_of(unsigned int kind, const struct packet *p, int *label, int *unread)
{
	int to_label, to_unread;

	*label = *unread = -1;
	if (MATCH_OF(kind) != MATCH_DESTINATION && model_drops(p, p->source, p->mapped, label, unread))
		return true;
	if (MATCH_OF(kind) == MATCH_SOURCE)
		return false;
	if (model_drops(p, p->to, p->to_mapped, &to_label, &to_unread)) {
		*label = to_label;
		*unread = -1;
		return true;
	}
	*label = to_label != -1 ? to_label : *label;
	*unread = *label != -1 ? -1 : *unread >= 0 ? *unread : to_unread;
	return false;
}

/* --- Both ------------------------------------------------------------------------------------------------------------
 */

static int get_pin(__u64 number, const char *name)
{
	char path[PIN_PATH_MAX];

	pin_generation_path(&own_context, path, number, name);
	return bpf_obj_get(path);
}

/* first: how much of it lies in its first buffer; 0: all. */
static int run(int fd, const struct packet *p, size_t first)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->frame, .data_size_in = (__u32)p->size, .repeat = 1);
	struct xdp_md cut = { .data_end = (__u32)first };

	if (first) {
		opts.ctx_in = &cut;
		opts.ctx_size_in = sizeof(cut);
	}
	return bpf_prog_test_run_opts(fd, &opts) ? -1 : (int)opts.retval;
}

static uint64_t counted_on(int label)
{
	int cpus = libbpf_num_possible_cpus();
	struct tally tally[cpus];
	uint64_t sum = 0;

	ENOUGH(!bpf_map_lookup_elem(list_counters, &label, tally));
	for (int i = 0; i < cpus; i++)
		sum += tally[i].packets;
	return sum;
}

/* As test runs have it: what the program itself sees is of the loopback. */
static bool judge(unsigned int kind, const struct packet *p, int program, uint64_t unread[LABELS])
{
	int label, blind, verdict;
	bool drops = model_of(kind, p, &label, &blind);
	uint64_t before = label >= 0 ? counted_on(label) : 0;
	size_t first = 0;

	if (frags && !MATCH_BY_TC(kind) && !below(3))
		first = 14 + below((unsigned int)p->size - 14);
	verdict = run(program, p, first);
	if (MATCH_BY_TC(kind))
		verdict = verdict == TC_ACT_UNSPEC ? PASS : verdict == TC_ACT_SHOT ? DROP : -1;
	if (verdict != (drops ? DROP : PASS))
		return CHECK(false, "kind %u: the program says %d, and is to %s; once more it says %d", kind, verdict,
			     drops ? "drop" : "pass", run(program, p, first));
	if (blind >= 0)
		unread[blind]++;
	return CHECK(label < 0 || counted_on(label) == before + 1, "kind %u: it is not counted on the account %d", kind,
		     label);
}

static bool ask(struct packet *p, int program)
{
	struct ask_frame made = { .ifindex = p->interface, .scopes = 1 };
	int label, blind, answer, counted;
	bool drops = model_drops(p, p->source, p->mapped, &label, &blind);

	memcpy(p->frame, &made, 12);
	answer = run(program, p, 0);
	counted = answer & (ANSWER_DROP | ANSWER_SHADOW) ? (int)ANSWER_LABEL(answer) : -1;
	return CHECK(answer >= 0 && !!(answer & ANSWER_DROP) == drops, "answer %x", answer) &&
	       CHECK(ANSWER_STAGE(answer) != STAGE_PARSE, "answer %x is of no stage that asks for the source",
		     answer) &&
	       CHECK(label == -2 || counted == label, "answer %x is on the account %d, not %d", answer, counted, label);
}

/* When its ban ends, by the generation's own map. */
static void say_end(const char *whose, struct addr addr)
{
	struct end_key key = end_key_of(addr, (unsigned int)addr_width(addr.family));
	int map = get_pin(kernel_live_generation(&own_context), PIN_ENDS);
	__u64 until;

	if (map >= 0 && !bpf_map_lookup_elem(map, &key, &until))
		printf("# the %s's ends in %" PRId64 " ms\n", whose, ((int64_t)until - clock_boot()) / 1000000);
	close_fd(map);
}

static void say(struct packet *p, int asking)
{
	struct ask_frame made = { .ifindex = p->interface, .scopes = 1 };
	char source[PREFIX_TEXT_MAX], to[PREFIX_TEXT_MAX];

	printf("# %s to %s, protocol %d, port %ld, on %u, %zu bytes:", prefix_text(source, p->source, -1),
	       prefix_text(to, p->to, -1), p->protocol, p->port, p->interface, p->size);
	for (size_t i = 0; i < p->size; i++)
		printf("%s%02x", i % 4 ? "" : " ", p->frame[i]);
	putchar('\n');
	for (size_t i = 0; i < w.n; i++) {
		char text[SCOPE_TEXT_MAX];

		scope_text(text, &w.list[i].scope);
		printf("# list %zu, label %u, %s, '%s'%s%s\n", i, w.list[i].label, list_kind_names[w.list[i].kind],
		       text, holds(&w.list[i], p->source) ? ": has the source" : "",
		       holds(&w.list[i], p->to) ? ": has the destination" : "");
	}
	for (size_t i = 0; i < w.bans; i++)
		if (in_area(&w.ban[i].area, p->source) || in_area(&w.ban[i].area, p->to))
			printf("# a ban of the %s that%s\n", in_area(&w.ban[i].area, p->to) ? "destination" : "source",
			       w.ban[i].over   ? " is over"
			       : w.ban[i].ends ? " ends"
					       : " does not end");
	say_end("source", p->source);
	say_end("destination", p->to);
	memcpy(p->frame, &made, sizeof(made));
	printf("# asked: %x\n", (unsigned int)run(asking, p, 0));
}

/* The verifier gives up at a million; another compiler's programs, or a larger set's, need more than these. */
static bool verified(unsigned int kind, int program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(program, &info, &size);

	return CHECK(!err && info.verified_insns < 500000, "kind %u: %d, %u instructions are verified", kind, err,
		     info.verified_insns) &&
	       CHECK(stack_fits(program, "with scopes"), "kind %u: %u bytes of stack", kind, stack_of(program));
}

/* The same packets through all of them. */
static void some_packets(unsigned long n, const int program[MATCH_KINDS], int asking, uint64_t unread[LABELS])
{
	for (unsigned long i = 0; i < n && !ktap_failed; i++) {
		struct packet p;
		bool well = true;

		make_packet(&p);
		for (unsigned int m = 0; m < MATCH_KINDS && well && p.interface == 1; m++)
			well = judge(m, &p, program[m], unread);
		if (!well || !ask(&p, asking))
			say(&p, asking);
	}
}

static void packets(void)
{
	const char *asked = getenv("XDP_BLOOM_PACKETS");
	unsigned long left = asked ? strtoul(asked, NULL, 10) : 16000, worlds = 0, all = left;
	static struct counted before, after;
	uint64_t unread_sum = 0;

	for (; left && !ktap_failed; worlds++) {
		unsigned long n = all / WORLDS > OF_A_WORLD ? all / WORLDS : OF_A_WORLD;
		uint64_t unread[LABELS] = { 0 };
		int program[MATCH_KINDS], asking;
		bool there = true;
		__u64 number;

		if (!make_world())
			return;
		n = left < n ? left : n;
		number = kernel_live_generation(&own_context);
		asking = get_pin(number, "ask");
		for (unsigned int m = 0; m < MATCH_KINDS; m++) {
			program[m] = get_pin(number, match_pins[m].program);
			there = there && program[m] >= 0 && verified(m, program[m]);
		}
		if (CHECK(there && asking >= 0 && !kernel_counters(&own_context, &before), "no program"))
			some_packets(n, program, asking, unread);
		CHECK(!kernel_counters(&own_context, &after), "no counters");
		for (unsigned int i = 0; i < LABELS && !ktap_failed; i++) {
			unread_sum += unread[i];
			CHECK(after.unread[i].packets - before.unread[i].packets == unread[i],
			      "label %u: %llu packets could not be read, not %" PRIu64, i,
			      after.unread[i].packets - before.unread[i].packets, unread[i]);
		}
		for (unsigned int m = 0; m < MATCH_KINDS; m++)
			close_fd(program[m]);
		close_fd(asking);
		left -= n;
	}
	printf("# %lu packets in %lu worlds, %" PRIu64 " could not be read\n", all - left, worlds, unread_sum);
}

/* A ban that is over and one that is not, each of a packet that is cut at each of its bytes, with a roster of codes. */
static void cut_anywhere(void)
{
	struct ban ban = { .added = 1, .reason = "", .first = { 0x2d000009, 4 }, .length = 32 };
	struct packet p = { .size = 60 };
	bool renewed;
	int err;

	if (!frags)
		return ktap_skip("this kernel has no packets in several buffers");
	err = without_lists();
	if (!err && !put_many())
		err = -EINVAL;
	ban.expires = time(NULL) + 3600;
	for (int lasts = 0; lasts < 2 && !err; lasts++, ban.first.num++) {
		ban.due = clock_boot() + (lasts ? 3600 * 1000000000LL : SOON);
		err = state_ban_put(state, &ban, &renewed);
	}
	if (!put_in_force(err))
		return;
	put16(p.frame + 12, 0x0800);
	p.frame[14] = 0x45;
	for (unsigned int m = 0; m < MATCHES; m++) {
		int program = get_pin(kernel_live_generation(&own_context), match_pins[m].program);

		for (int lasts = 0; lasts < 2; lasts++)
			for (size_t first = 14; first < p.size && !ktap_failed; first++) {
				put_num(p.frame + 26, 0x2d000009 + (ip6)lasts, 4);
				put_num(p.frame + 30, 0x2d000009 + (ip6)lasts, 4);
				CHECK(run(program, &p, first) == (lasts ? DROP : PASS), "match %u, cut at %zu: %s", m,
				      first, lasts ? "it passes" : "it is dropped, and its ban is over");
			}
		close_fd(program);
	}
}

static void real_lists(void)
{
	const char *folder = getenv("XDP_BLOOM_LISTS");

	if (!folder)
		return ktap_skip("XDP_BLOOM_LISTS names no folder of real lists");
	read_all_held(folder);
	printf("# %zu lists\n", held_n);
	if (CHECK(held_n, "no lists in %s", folder))
		packets();
	while (held_n)
		free(held[--held_n].at);
}

/* As if interfaces were attached: their pins are looked at. */
static void use_all(void)
{
	bool all = true;

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++) {
		char path[PIN_PATH_MAX];

		attachment_path(&own_context, path, &(struct attachment){ .as = "x", .match = m });
		all = all && !bpf_obj_pin(list_counters, path);
	}
	CHECK(all && !match_ready(&own_context), "no roots: %s", reason(0));
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = { { "roots for all of it", use_all },
						  { "cut anywhere", cut_anywhere },
						  { "packets", packets },
						  { "real lists", real_lists } };
	int err = kernel_ready(&own_context) ?: kernel_base(&own_context, (struct committed){ 0 });

	list_counters = err ? -1 : pin_get(&own_context, PIN_LIST_COUNTERS);
	frags = !err && kernel_frags(&own_context) == 1;
	if (err) {
		printf("Bail out! %s\n", reason(err));
		return KTAP_FAIL;
	}
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	char directory[] = "/tmp/xdp-bloom-scope-XXXXXX";
	int status;

	if (!mkdtemp(directory))
		return KTAP_FAIL;
	own_context.state = directory;
	status = own_pins_run(run_cases);
	nftw(directory, own_pins_remove, 8, FTW_DEPTH | FTW_PHYS);
	return status;
}
