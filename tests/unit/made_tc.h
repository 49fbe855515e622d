/* SPDX-License-Identifier: GPL-2.0-only */
/* What is of tc alone: packets that begin with IP, of several segments, in several buffers, and what comes in. */
#ifndef MADE_TC_H
#define MADE_TC_H

static void one(const char *text, int (*program)(struct made_packet *))
{
	const __u32 held = held_bytes;

	make(text);
	printf("  %s:", text);
	printf(" = %d", judged(program));
	held_bytes = held;
	say_counts();
	putchar('\n');
}

static const char *const packets[] = {
	"s45.0.0.1 d45.0.2.5 4:17 p9:53",
	"4:17",
	"4o:6 T2:9:22",
	"s45.0.4.4 d45.0.4.4 4:6 T2:9:22",
	"s2001:db8:4::4 d2001:db8:4::4 6:6 T2:9:22",
	"6:60 x6:2 T2:9:22",
	"6:6",
	"h60 z38",
	"h40 z18",
	"h50 z30",
	"h45",
	"s198.51.100.1 d203.0.113.8 4:4 s45.0.2.5 d45.0.2.5 4:17 p9:53",
	"h00008100 h00000800 s45.0.0.1 d45.0.0.1 4:17 p9:53",
	"h000088a8 h00008100 h000086dd s2001:db8:1::7 d2001:db8:1::7 6:17 p9:53",
	"h00008100 h00008100 h00008100 h00000800 4:17 p9:53",
	"h00008100 h00008100 h00008100 h00008100 h00000800 4:17 p9:53",
	"h00008100 h00008100 z4",
	"h00000800 4:17 p9:53",
	"h00078100 h00000800 4:17 p9:53",
};

static void each_packet(void)
{
	anew();
	for (size_t i = 0; i < sizeof(packets) / sizeof(*packets); i++)
		one(packets[i], xdp_bloom_gen);
}

static void begin(unsigned int how)
{
	clock_is = 1500;
	make_ends();
	make_world(how);
	shows_begin(&shows);
}

static void end(const char *name)
{
	shows_as(&shows, name);
	end_world();
	held_bytes = segments = says_type = bare_is = 0;
	given_coming = false;
	memset(made_shares, 0, sizeof(made_shares));
}

static void bare(void)
{
	begin(WORLD_SCOPED | WORLD_ENDS | WORLD_INNER);
	bare_is = 1;
	each_packet();
	puts(" behind a tag that was taken off");
	says_type = NET16(ETH_P_8021Q);
	each_packet();
	for (held_bytes = 1; held_bytes < 60; held_bytes += 13) {
		printf(" %u bytes in the first buffer\n", held_bytes);
		each_packet();
	}
	end("bare");
}

/* As what comes in is delivered: by what the kernel says that it is. */
static void bare_coming(void)
{
	static const char *const others[] = {
		"h00058100 h00070800 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"h45000800 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"h00058100 h00078864 h11000001 h00200021 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"h45000001 h00200021 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"h45000001 h00380057 s2001:db8:1::7 d2001:db8:1::7 6:17 p9:53",
		"h45000001 h00202145 z28",
		"h4500c021 h00080101",
	};
	/* What begins as IP does: STP, MPLS; in frames that say that, or IP, or something else. */
	static const char *const framed[] = {
		"e26 h42420300 h00000000 h80000200 h2d000005 z22",
		"e8847 h45000001 h40000000 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"e800 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"e86dd s2001:db8:1::7 d2001:db8:1::7 6:17 p9:53",
		"e88b5 s45.0.0.1 d45.0.2.5 4:17 p9:53",
		"e806 h00010800 h06040001 z20",
	};
	static const __u16 types[] = { ETH_P_IP, ETH_P_8021Q, ETH_P_8021AD, ETH_P_PPP_SES, ETH_P_ARP };
	static const __u16 said[] = { ETH_P_802_2, ETH_P_MPLS_UC, ETH_P_IP, 0x88b5 };

	begin(WORLD_SCOPED);
	bare_is = 1;
	for (int coming = 0; coming < 2; coming++)
		for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
			given_coming = coming;
			says_type = NET16(types[t]);
			printf(" %s as %x\n", coming ? "comes in" : "leaves", types[t]);
			anew();
			for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
				one(others[i], xdp_bloom_gen);
		}
	given_coming = true;
	link_header = sizeof(struct ethernet);
	for (size_t t = 0; t < sizeof(said) / sizeof(*said); t++) {
		says_type = NET16(said[t]);
		printf(" comes in as %x\n", said[t]);
		anew();
		for (size_t i = 0; i < sizeof(framed) / sizeof(*framed); i++)
			one(framed[i], xdp_bloom_gen);
	}
	link_header = 0;
	end("bare, by type");
}

/* What is around the packet stands before it: what is to be brought in lies farther than that is thought to take. */
static void behind_much(void)
{
	static const char *const within[] = {
		"z120 s45.0.4.4 d45.0.4.4 4:6 T2:9:22",
		"z120 s2001:db8:4::4 d2001:db8:4::4 6:60 x6:2 T2:9:22",
		"z120 4:47 h00000800 s45.0.0.1 d45.0.2.5 4:17 p9:53",
	};

	begin(WORLD_SCOPED | WORLD_ENDS | WORLD_INNER);
	bare_is = 1;
	link_header = 120;
	anew();
	for (held_bytes = 120; held_bytes <= 160; held_bytes += 20) {
		printf(" %u bytes in the first buffer\n", held_bytes);
		for (size_t i = 0; i < sizeof(within) / sizeof(*within); i++)
			one(within[i], xdp_bloom_gen);
	}
	link_header = 0;
	end("behind much");
}

static void of_tc(void)
{
	static const __u32 each[] = { 0, 1, 2, 45 };

	bare();
	bare_coming();
	behind_much();
	begin(0);
	for (size_t i = 0; i < 4; i++) {
		segments = each[i];
		printf(" %u segments\n", segments);
		anew();
		one("e806 z28", xdp_bloom_gen);
		one("e8100 t8100 t8100 t8100 t8100 t800 4:17", xdp_bloom_gen);
		one("e800 d203.0.113.8 4:17 p9:53", xdp_bloom_gen);
		one("e800 s45.0.3.3 d45.0.3.3 4:17 p9:53", xdp_bloom_gen);
		one("e800 s45.0.2.5 d45.0.2.5 4:17 p9:53", xdp_bloom_gen);
	}
	end("segments");
	begin(WORLD_SCOPED | WORLD_INNER);
	silent = true;
	each_frame(xdp_bloom_gen);
	silent = false;
	given_coming = true;
	each_frame(xdp_bloom_gen);
	end("what comes in");
	begin(0);
	given.samples = 1;
	for (bare_is = 0; bare_is < 2; bare_is++) {
		for (size_t i = 0; i < 3; i++)
			made_shares[i == 2 ? LABEL_A : i].left = 9;
		anew();
		one(bare_is ? "s45.0.0.1 d45.0.2.5 4:17 p9:53 z90" : "e800 s45.0.0.1 d45.0.2.5 4:17 p9:53 z90",
		    xdp_bloom_gen);
		one(bare_is ? "s2001:db8:1::7 d2001:db8:1::7 6:17 p9:53"
			    : "e86dd s2001:db8:1::7 d2001:db8:1::7 6:17 p9:53",
		    xdp_bloom_gen);
		one(bare_is ? "h00008100 h00000800 4:17 p9:53" : "e8100 t800 4:17 p9:53", xdp_bloom_gen);
	}
	held_bytes = 20;
	bare_is = 1;
	one("4:17 p9:53 z90", xdp_bloom_gen);
	end("samples");
	begin(0);
	made_trial.until = 2000;
	anew();
	for (size_t jump = 0; jump < 3; jump++) {
		jumps_to = jump == 2 ? (const void *)&before : jump ? (const void *)&slot : NULL;
		for (clock_is = 1999; clock_is <= 2000; clock_is++) {
			printf(" to %zu, at %llu\n", jump, (unsigned long long)clock_is);
			one("e800 s45.0.0.1 d45.0.2.5 4:17 p9:53", xdp_bloom_root);
			one("e800 4:17 p9:53", xdp_bloom_bare);
			one("e800 4:17 p9:53", xdp_bloom_trial);
			one("e800 4:17 p9:53", xdp_bloom_trial_root);
			one("e800 4:17 p9:53", xdp_bloom_bare_trial);
		}
	}
	jumps_to = NULL;
	end("roots");
}

#endif
