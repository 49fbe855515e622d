// SPDX-License-Identifier: GPL-2.0-only
/* The programs of XDP about sources, as plain C: what becomes of frames, word for word. */
#include "made_kernel.h"

#include "bpf/xdp_bloom.bpf.c"

#include "made_program.h"
#include "made_sockets.h"

static const struct shown known[] = {
#include "unit_xdp.txt"
};

static struct shows shows = { .file = "tests/unit/unit_xdp.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* Which interface nobody forges on; and the addresses of this machine. */
static struct {
	int any;
} map_of_proven, map_of_trusted;
static __u32 proven_on = 7;

static void *given_proven(const void *key)
{
	__u32 interface;

	memcpy(&interface, key, sizeof(interface));
	return interface == proven_on ? &proven_on : NULL;
}

static void *given_own(const void *key)
{
	struct end_key own4 = { .bits = END_KEY_BITS(32), .family = END_KEY_OWN + 4, .addr = { htonl(0xcb007108) } };
	struct end_key own6 = { .bits = END_KEY_BITS(128),
				.family = END_KEY_OWN + 6,
				.addr = { htonl(0x20010db8), htonl(0xff0000), 0, htonl(2) } };

	return !memcmp(key, &own4, sizeof(own4)) || !memcmp(key, &own6, sizeof(own6)) ? &map_of_trusted : NULL;
}

static const struct made_map maps[] = {
	MADE_MAPS(counters),
	{ .map = &map_of_proven, .find = given_proven },
	{ .map = &map_of_trusted, .find = given_own },
	{ .map = NULL },
};

#include "made_worlds.h"

/* A world, its frames as they are in it, and from then on what is otherwise. */
static void begin(unsigned int how)
{
	clock_is = 1500;
	make_ends();
	make_world(how);
	silent = true;
	each_frame(xdp_bloom_gen);
	silent = false;
	shows_begin(&shows);
}

static void end(const char *name)
{
	shows_as(&shows, name);
	end_world();
	held_bytes = 0;
	memset(&given_detect, 0, sizeof(given_detect));
}

/* The first buffer ends at each of the first bytes. */
static void buffers(unsigned int how, const char *name)
{
	begin(how);
	given.frags = 1;
	for (held_bytes = 14; held_bytes < 90; held_bytes += held_bytes < 20 ? 3 : 4) {
		printf(" %u bytes\n", held_bytes);
		each_frame(xdp_bloom_gen);
	}
	end(name);
}

static void counted(void)
{
	begin(0);
	make("e800 s45.0.2.5 4:1 z8");
	for (unsigned int i = 0; i < 3; i++)
		judged(xdp_bloom_gen);
	say_counts();
	putchar('\n');
	end("counted thrice");
}

static void long_frames(void)
{
	begin(0);
	given.frags = 1;
	for (held_bytes = 510; held_bytes < 514; held_bytes++) {
		printf(" %u bytes\n", held_bytes);
		anew();
		frame(0, "e800 s45.0.0.1 4:17 z1000", xdp_bloom_gen);
		frame(1, "e800 s198.51.100.1 4:17 z1000", xdp_bloom_gen);
	}
	end("long frames");
}

static void drops(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		make(i % 3 ? "e800 s45.0.1.77 4:1 z90" : "e800 s45.0.2.5 4:1 z8");
		printf("  = %d", judged(xdp_bloom_gen));
		say_counts();
		printf(", left %u, skip %u, behind %u, block %u, next %u\n", made_shares[LABEL_A].left,
		       made_shares[LABEL_A].skip, made_shares[LABEL_A].behind, made_shares[LABEL_A].block,
		       made_shares[LABEL_A].next);
	}
}

static void sampled(void)
{
	begin(0);
	drops(1);
	given.samples = 1;
	puts(" nobody reads");
	drops(1);
	made_shares[LABEL_A] = (struct sample_share){ .left = 5, .growing = 4, .next = 1 };
	puts(" five");
	drops(6);
	random_is = 0x12345;
	made_shares[LABEL_A] = (struct sample_share){ .left = 3, .growing = 3, .next = 2, .skip = 1, .behind = 1 };
	puts(" three");
	drops(8);
	for (unsigned int next = SAMPLE_BLOCK_MAX - 4; next <= SAMPLE_BLOCK_MAX; next++) {
		made_shares[LABEL_A] = (struct sample_share){ .left = 2, .growing = 4, .next = (__u8)next };
		drops(1);
	}
	ring_is_full = true;
	made_shares[LABEL_A] = (struct sample_share){ .left = 2 };
	puts(" it is full");
	drops(2);
	ring_is_full = false;
	random_is = 0;
	memset(made_shares, 0, sizeof(made_shares));
	end("samples");
}

/* Whoever is jumped to says 77. */
static void one(const char *what, const char *text, int (*program)(struct made_packet *))
{
	anew();
	make(text);
	printf("  %s, %s:", what, text);
	printf(" = %d", judged(program));
	say_counts();
	putchar('\n');
}

static void roots(void)
{
	static const struct {
		const char *name;
		int (*program)(struct made_packet *);
	} all[] = { { "root", xdp_bloom_root },
		    { "frags", xdp_bloom_frags },
		    { "trial", xdp_bloom_trial },
		    { "trial slots", xdp_bloom_trial_slots },
		    { "shared", xdp_bloom_trial_shared },
		    { "shared slots", xdp_bloom_trial_shared_slots },
		    { "trial root", xdp_bloom_trial_root },
		    { "rates", xdp_bloom_rates },
		    { "looks", xdp_bloom_looks },
		    { "slots", xdp_bloom_slots } };
	static const void *const jumps[] = { NULL, &slot, &before };

	begin(0);
	made_trial.until = 2000;
	for (size_t jump = 0; jump < 3; jump++) {
		jumps_to = jumps[jump];
		for (clock_is = 1999; clock_is <= 2001; clock_is++) {
			printf(" to %zu, at %llu\n", jump, (unsigned long long)clock_is);
			for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
				one(all[i].name, "e800 s45.0.0.1 4:17 p9:53", all[i].program);
				if (!jump)
					one(all[i].name, "e806 z28", all[i].program);
			}
		}
	}
	jumps_to = NULL;
	end("roots");
}

static void bare(void)
{
	static const char *const packets[] = {
		"4:17 p9:53",
		"6:17 p9:53",
		"z20",
		"h50 z30",
		"",
		"h00078100",
		"h00008100 4:17",
		"h60008100 6:17 z8",
		"h6000 h86dd 6:17 z8",
		"h00000800 4:17 z8",
		"h40000800 4:17 z8",
		"h60010800 4:17 z8",
		"h600086dd 4:17 z8",
	};

	begin(0);
	clock_is = 5;
	made_trial.until = 6;
	for (int jump = 0; jump < 2; jump++) {
		jumps_to = jump ? &slot : NULL;
		for (size_t i = 0; i < sizeof(packets) / sizeof(*packets); i++)
			for (head_fails = 0; head_fails < 3; head_fails++) {
				long fails = head_fails;

				one(fails ? "no room" : "bare", packets[i], xdp_bloom_bare);
				head_fails = fails;
			}
		head_fails = 0;
		one("trial", packets[0], xdp_bloom_bare_trial);
	}
	clock_is = 6;
	one("trial is over", packets[0], xdp_bloom_bare_trial);
	jumps_to = NULL;
	end("bare");
}

static int ask(struct made_packet *ctx)
{
	const struct ask_frame frame = { .ifindex = 3 };

	memcpy(made, &frame, sizeof(frame));
	return xdp_bloom_ask(ctx);
}

static int ask_scopes(struct made_packet *ctx)
{
	const struct ask_frame frame = { .ifindex = 4, .scopes = 1 };

	memcpy(made, &frame, sizeof(frame));
	return xdp_bloom_ask(ctx);
}

/* --- What the detector asks of sockets --- */

#define MANY(array) (sizeof(array) / sizeof(*(array)))

static const char *const sent[] = {
	"e800 s198.51.100.1 d203.0.113.8 4:6 T10:9:22",
	"e800 4:6 T2:9:22",
	"e800 4:6 T12:9:22",
	"e800 4:6 T0:9:22",
	"e800 4:6 T1:9:22",
	"e800 4:6 T4:9:22",
	"e800 4:6 T14:9:22",
	"e800 4o:6 T10:9:22",
	"e800 4m:6 T10:9:22",
	"e800 4f:6 T10:9:22",
	"e800 4:6 h00090016000003e8000007d050",
	"e800 4:6 h00090016000003e8000007d05010",
	"e800 4:6 p9:22",
	"e800 4:17 p9:53",
	"e800 4:17 h00090035",
	"e800 4:17 h0009",
	"e800 d203.0.113.9 4:17 p9:53",
	"e800 4:1 z20",
	"e86dd s2001:db8:ffff::1 d2001:db8:ff::2 6:6 T10:9:22",
	"e86dd 6:6 T2:9:22",
	"e86dd 6:17 p9:53",
	"e86dd d2001:db8:ff::3 6:17 p9:54",
	"e86dd 6:0 x6:0 T10:9:22",
	"e86dd 6:58 z20",
	"e86dd s::ffff:198.51.100.1 6:6 T10:9:22",
	"e8100 t800 4:6 T10:9:22",
	"e8100 t800 4:17 p9:53",
	"e806 z28",
	"z13",
};

static void each_sent(int (*program)(struct made_packet *))
{
	bool differs = false;

	anew();
	for (size_t i = 0; i < MANY(sent); i++)
		differs |= frame(i, sent[i], program);
	if (!differs)
		puts("  as before");
	CHECK(!sockets_held, "%d sockets are held", sockets_held);
}

static void detector(void)
{
	memset(&given_detect, 0, sizeof(given_detect));
	given_detect.hash = given.hash;
	given_detect.cells = 1;
	given_detect.proven = (__u64)(uintptr_t)&map_of_proven;
	given_detect.trusted = (__u64)(uintptr_t)&map_of_trusted;
	given_detect.then[THEN_BAN] = 1;
	given_detect.looks_up = 1 << CLASS_UNANSWERED | 1 << CLASS_SCAN;
	given_detect.tcp_rcv_nxt = offsetof(struct made_socket, rcv_nxt);
	given_detect.tcp_rcv_wnd = offsetof(struct made_socket, rcv_wnd);
	given_detect.tcp_snd_una = offsetof(struct made_socket, snd_una);
	given_detect.tcp_snd_nxt = offsetof(struct made_socket, snd_nxt);
	given_detect.tcp_max_window = offsetof(struct made_socket, max_window);
	given_detect.tcp_sk_uid = offsetof(struct made_socket, uid);
	given_tcp = (struct made_socket){ .sock = { .state = BPF_TCP_ESTABLISHED },
					  .rcv_wnd = 100,
					  .rcv_nxt = 1000,
					  .snd_una = 1990,
					  .snd_nxt = 2010,
					  .max_window = 50 };
	given_udp = (struct made_socket){ 0 };
	tcp_there = udp_there = is_tcp = listens = true;
	cookie_is = route_is = 0;
	proven_on = 7;
}

/* The frame's numbers are 1000 and 2000. */
static void numbers(void)
{
	static const struct {
		__u32 rcv_wnd, rcv_nxt, snd_una, snd_nxt, max_window;
	} each[] = {
		{ 100, 1100, 1990, 2010, 50 },	{ 100, 1101, 1990, 2010, 50 }, { 100, 901, 1990, 2010, 50 },
		{ 100, 900, 1990, 2010, 50 },	{ 0, 1000, 1990, 2010, 50 },   { 100, 1000, 1990, 2000, 50 },
		{ 100, 1000, 1990, 1999, 50 },	{ 100, 1000, 2050, 2060, 50 }, { 100, 1000, 2051, 2060, 50 },
		{ 2000, 1000, 1990, 2010, 50 }, { 100, 1000, 10, 2010, 5000 },
	};

	for (size_t i = 0; i < MANY(each); i++) {
		given_tcp.rcv_wnd = each[i].rcv_wnd;
		given_tcp.rcv_nxt = each[i].rcv_nxt;
		given_tcp.snd_una = each[i].snd_una;
		given_tcp.snd_nxt = each[i].snd_nxt;
		given_tcp.max_window = each[i].max_window;
		printf(" %zu\n", i);
		one("its numbers", "e800 s198.51.100.1 d203.0.113.8 4:6 T10:9:22", source_is_proven);
	}
}

static void of_connections(void)
{
	for (__u32 state = BPF_TCP_ESTABLISHED; state <= BPF_TCP_NEW_SYN_RECV; state++) {
		given_tcp.sock.state = state;
		printf(" state %u\n", state);
		each_sent(source_is_proven);
	}
	given_tcp.sock.state = BPF_TCP_ESTABLISHED;
	is_tcp = false;
	puts(" it is no connection");
	each_sent(source_is_proven);
	tcp_there = false;
	puts(" there is none");
	each_sent(source_is_proven);
}

/* Who listens, and whose the connection is. */
static void owners(void)
{
	static const __u32 each[][2] = { { 0, 0 }, { 0, 33 }, { 33, 33 }, { 33, 0 }, { 33, 34 } };

	proven_on = comes_in_by;
	for (size_t i = 0; i < 2 * MANY(each); i++) {
		given_tcp.sock.state = i < MANY(each) ? BPF_TCP_ESTABLISHED : BPF_TCP_FIN_WAIT2;
		given_tcp.rcv_nxt = i < MANY(each) ? 1000 : 5000;
		given_listener.uid = each[i % MANY(each)][0];
		given_tcp.uid = each[i % MANY(each)][1];
		printf(" state %u, %u listens, %u is connected\n", given_tcp.sock.state, given_listener.uid,
		       given_tcp.uid);
		one("its owners", "e800 s198.51.100.1 d203.0.113.8 4:6 T10:9:22", source_is_proven);
	}
	given_listener.uid = 0;
}

static void proofs(void)
{
	begin(0);
	for (int forges = 1; forges >= 0; forges--) {
		detector();
		proven_on = forges ? 7 : comes_in_by;
		printf(" its network lets %s forge, and somebody listens\n", forges ? "somebody" : "nobody");
		of_connections();
		detector();
		proven_on = forges ? 7 : comes_in_by;
		listens = false;
		puts(" nobody listens");
		of_connections();
	}
	given_detect.then[THEN_BAN] = 0;
	puts(" and nobody is banned");
	each_sent(source_is_proven);
	detector();
	given_detect.proven = 0;
	puts(" nothing is known of interfaces");
	each_sent(source_is_proven);
	detector();
	given_detect.tcp_rcv_nxt = 0;
	proven_on = comes_in_by;
	for (int no = 0; no < 2; no++) {
		listens = !no;
		printf(" nothing of connections' numbers, and %s listens\n", no ? "nobody" : "somebody");
		each_sent(source_is_proven);
	}
	detector();
	numbers();
	detector();
	owners();
	end("proofs");
	begin(0);
	detector();
	each_sent(source_udp_port);
	given_detect.cells = 0;
	puts(" without a detector");
	each_sent(source_udp_port);
	end("UDP ports");
}

static int given_unasked(struct made_packet *ctx)
{
	return unasked(ctx);
}

static void asked_for(void)
{
	begin(0);
	detector();
	tcp_there = udp_there = false;
	route_is = BPF_FIB_LKUP_RET_FWD_DISABLED;
	each_sent(given_unasked);
	for (__u32 state = BPF_TCP_ESTABLISHED; state <= BPF_TCP_LISTEN + 1; state++) {
		tcp_there = udp_there = true;
		given_tcp.sock.state = state;
		for (cookie_is = 0; cookie_is < 2; cookie_is++) {
			printf(" state %u, a cookie's answer: %d\n", state, !cookie_is);
			each_sent(given_unasked);
		}
	}
	tcp_there = udp_there = false;
	route_is = BPF_FIB_LKUP_RET_SUCCESS;
	puts(" it forwards");
	each_sent(given_unasked);
	route_is = BPF_FIB_LKUP_RET_FWD_DISABLED;
	for (__u64 classes = 0; classes < 4; classes++) {
		given_detect.looks_up = classes << CLASS_UNANSWERED;
		printf(" classes %llu\n", (unsigned long long)classes);
		each_sent(given_unasked);
	}
	detector();
	given_detect.trusted = 0;
	puts(" whose addresses are is not known");
	each_sent(given_unasked);
	end("unasked");
	begin(0);
	detector();
	each_sent(interface_forwards);
	given_detect.looks_up = 0;
	each_sent(interface_forwards);
	each_sent(nobody_takes);
	end("apart");
}

static void word_for_word(void)
{
	made_maps = maps;
	in_each_world("", xdp_bloom_gen);
	in_each_world("asked: ", ask);
	in_each_world("asked, with scopes: ", ask_scopes);
	buffers(0, "in several buffers");
	buffers(WORLD_INNER | WORLD_SCOPED | WORLD_ENDS | WORLD_EMBEDDED, "all of it in several buffers");
	buffers(WORLD_CODES | WORLD_SCOPED | WORLD_ENDS, "codes in several buffers");
	counted();
	long_frames();
	sampled();
	roots();
	bare();
	proofs();
	asked_for();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
