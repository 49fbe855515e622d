/* SPDX-License-Identifier: GPL-2.0-only */
/* The frames that each program judges, in each world: the program is xdp_bloom_gen() of whoever includes this. */
#ifndef MADE_WORLDS_H
#define MADE_WORLDS_H

static const char *const frames[] = {
	/* What has no address, or hides it. */
	"e806 z28",
	"e800 z19",
	"z13",
	"e8100 z3",
	"e8100 t8100 t8100 t8100 t8100 t800 4:17",
	"e8864 h1100000100160021 s45.0.0.1 4:17 p1:2",
	"e8864 h1100000100160057 s2001:db8:1::7 6:17 p1:2",
	"e8864 h110000010016c021 z40",
	"e8864 h1100000100160121 z40",
	/* Each address, as a source, to somebody who is none of them. */
	"e800 s198.51.100.1 d203.0.113.8 4:17 p9:53",
	"e800 s45.0.0.1 4:17 p9:53",
	"e800 s45.0.0.2 4:6 T2:9:22",
	"e800 s45.0.0.9 4:6 T2:9:22",
	"e800 s45.0.1.77 4:1 z8",
	"e800 s45.0.2.5 4o:17 p9:53",
	"e800 s45.0.3.3 4:6 T10:9:22",
	"e800 s45.0.4.4 4:6 T2:9:22",
	"e800 4:6 T2:9:23",
	"e800 4:17 p9:22",
	"e800 4o:6 T2:9:22",
	"e800 4f:6 z20",
	"e800 4l:6 z20",
	"e800 4m:6 T2:9:22",
	"e800 4:6",
	"e800 4:6 h0009",
	"e800 4:132 p9:22",
	"e800 s45.0.5.5 4:17 p9:53",
	"e800 d203.0.114.8 4:17 p9:53",
	"e800 d203.0.113.255 4:6 T2:9:53",
	"e800 s45.0.6.6 4:1 z8",
	"e800 s45.0.7.7 4:6 T2:9:22",
	"e800 4:6 T2:9:80",
	"e800 4:6 T2:9:81",
	"e800 s45.0.8.8 4:6 T2:9:22",
	"e800 4:6 T2:9:23",
	"e8100 t800 s45.0.4.4 4:6 T2:9:22",
	"e88a8 t8100 t800 4:6 T2:9:22",
	"e88a8 t8100 t8100 t800 4:6 T2:9:22",
	"e8100 t800 s45.0.2.5 4:6 T2:9:22",
	"e86dd s2001:db8:ffff::1 d2001:db8:ff::2 6:17 p9:53",
	"e86dd s2001:db8:1::77 6:17 p9:53",
	"e86dd s2001:db8:9::9 6:17 p9:53",
	"e86dd s2001:db8:2::5 6:6 T2:9:22",
	"e86dd s2001:db8:3::3 6:6 T2:9:22",
	"e86dd s2001:db8:4::4 6:6 T2:9:22",
	"e86dd 6:6 T2:9:23",
	"e86dd 6:17 p9:22",
	"e86dd 6:0 x6:1 T2:9:22",
	"e86dd 6:44 f6:0 T2:9:22",
	"e86dd 6:44 f6:2 z20",
	"e86dd 6:60 x43:0 x6:2 T2:9:22",
	"e86dd 6:51 a6:4 T2:9:22",
	"e86dd 6:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x0:0 x6:0 T2:9:22",
	"e86dd 6:6",
	"e86dd 6:0",
	"e86dd s2001:db8:5::5 6:17 p9:53",
	"e86dd d2001:db8:cb::9 6:17 p9:53",
	"e86dd d2003:db8:cb::9 6:17 p9:53",
	"e86dd d2001:db8:cb:1::9 6:6 T2:9:53",
	"e86dd s2001:db8:6::6 6:58 z8",
	"e86dd s2001:db8:7::7 6:6 T2:9:80",
	"e86dd s2001:db8:8::8 6:6 T2:9:22",
	"e86dd 6:6 T2:9:23",
	"e8100 t86dd s2001:db8:4::4 6:6 T2:9:22",
	"e88a8 t8100 t86dd 6:6 T2:9:22",
	"e800 s45.0.9.9 4:132 p9:22",
	"e800 4:132 p9:23",
	"e800 4:113 z8",
	"e800 4:112 z8",
	"e800 4:131 p9:22",
	"e86dd s2001:db8:99::9 6:132 p9:22",
	"e86dd 6:113 z8",
	"e86dd 6:131 p9:22",
	/* Within IPv6. */
	"e86dd s::ffff:45.0.0.1 d2001:db8:ff::2 6:17 p9:53",
	"e86dd s::ffff:45.0.0.9 6:17 p9:53",
	"e86dd s::ffff:45.0.3.3 6:17 p9:53",
	"e86dd s::ffff:45.0.4.4 6:6 T2:9:22",
	"e86dd 6:6 T2:9:23",
	"e86dd s::ffff:45.0.8.8 6:6 T2:9:22",
	"e86dd s::fffe:45.0.0.1 6:17 p9:53",
	"e86dd s1::ffff:45.0.0.1 6:17 p9:53",
	"e86dd s2002:2d00:1::1 6:17 p9:53",
	"e86dd s64:ff9b::45.0.0.1 6:17 p9:53",
	"e86dd s64:ff9b::45.0.4.4 6:6 T2:9:22",
	"e86dd s2001:0:1:2:3:4:d2ff:fffe 6:17 p9:53",
	"e86dd s2001:db8:ffff::200:5efe:45.0.0.1 6:17 p9:53",
	"e86dd s::45.0.0.1 6:17 p9:53",
	"e86dd s2002:2d00:404::1 6:6 T2:9:22",
	/* As destinations. */
	"e800 s198.51.100.1 d45.0.0.1 4:17 p9:53",
	"e800 d45.0.0.9 4:17 p9:53",
	"e800 d45.0.1.7 4o:17 p9:53",
	"e800 d45.0.3.3 4:17 p9:53",
	"e800 d45.0.4.4 4:6 T2:9:22",
	"e800 4:6 T2:9:23",
	"e800 4f:6 z20",
	"e800 4l:6 z20",
	"e8100 t800 d45.0.2.5 4:6 T2:9:22",
	"e800 d45.0.8.8 4:6 T2:9:22",
	"e86dd s2001:db8:ffff::1 d2001:db8:1::7 6:17 p9:53",
	"e86dd d2001:db8:9::9 6:17 p9:53",
	"e86dd d2001:db8:3::3 6:17 p9:53",
	"e86dd d2001:db8:4::4 6:6 T2:9:22",
	"e86dd 6:6 T2:9:23",
	"e86dd d2001:db8:8::8 6:6 T2:9:22",
	"e86dd d::ffff:45.0.4.4 6:6 T2:9:22",
	"e86dd d::ffff:45.0.0.9 6:6 T2:9:22",
	/* Of both something is said. */
	"e800 s45.0.3.3 d45.0.0.1 4:17 p9:53",
	"e800 s45.0.0.1 d45.0.3.3 4:17 p9:53",
	"e800 s45.0.3.3 d45.0.3.3 4:17 p9:53",
	"e800 s45.0.0.9 d45.0.2.5 4:17 p9:53",
	"e800 s45.0.3.3 d45.0.0.9 4:17 p9:53",
	"e800 s45.0.0.9 d45.0.0.9 4:17 p9:53",
	"e800 s45.0.4.4 d45.0.2.5 4:6 T2:9:23",
	"e800 s45.0.3.3 d45.0.4.4 4:6 T2:9:23",
	"e800 s45.0.7.7 d45.0.4.4 4:6 T2:9:80",
	"e800 s45.0.7.7 d45.0.4.4 4f:6 z9",
	"e800 s45.0.7.7 d45.0.4.4 4l:6 T10:9:80",
	"e800 s45.0.4.4 d45.0.7.7 4f:6 z9",
	"e800 s198.51.100.1 d45.0.7.7 4f:6 z9",
	"e86dd s2001:db8:3::3 d2001:db8:1::7 6:17 p9:53",
	"e86dd s2001:db8:4::4 d2001:db8:3::3 6:6 T2:9:23",
	"e86dd s2001:db8:3::3 d2001:db8:4::4 6:6 T2:9:22",
	"e806 z28",
	/* What is for all of a link. */
	"e800 s198.51.100.1 d224.0.0.251 4:17 p9:53",
	"e800 s45.0.0.1 d255.255.255.255 4:17 p9:53",
	"e800 s198.51.100.1 d255.255.255.255 4:17 p9:53",
	"e800 d255.255.255.254 4:17 p9:53",
	"e800 d224.0.1.1 4:17 p9:53",
	"e86dd s2001:db8:1::1 dff02::1 6:17 p9:53",
	"e86dd s2001:db8:ffff::1 6:17 p9:53",
	"e86dd dff12::1 6:17 p9:53",
	"e86dd dff05::1 6:17 p9:53",
	"e86dd dfe02::1 6:17 p9:53",
	"e86dd s64:ff9b::45.0.4.4 d2001:db8:ff::2 6:44 f6:2 z20",
	/* Within another. */
	"e800 s198.51.100.1 d203.0.113.8 4:4 s45.0.0.1 4:17 p9:53",
	"e800 s198.51.100.1 4:4 d45.0.0.9 4:17 p9:53",
	"e800 s198.51.100.1 d203.0.113.8 4:41 s2001:db8:1::7 d2001:db8:3::3 6:17 p9:53",
	"e800 4:41 s2001:db8:ffff::1 d2001:db8:4::4 6:6 T2:9:22",
	"e800 4:41 s::ffff:45.0.0.1 6:6 T2:9:22",
	"e800 4:47 g2000:800 s45.0.3.3 4:17 p9:53",
	"e800 s198.51.100.1 4:4 s45.0.4.4 4:6 T2:9:22",
	"e800 s198.51.100.1 4:47 g0:8100 t8100 t8100 t8100 t8100 t8100 t800 4:17",
	"e800 s45.0.0.1 4:4 s198.51.100.1 4:17",
	"e86dd s2001:db8:ffff::1 d2001:db8:ff::2 6:4 s45.0.8.8 4:6 T2:9:22",
};

static const struct {
	const char *name;
	unsigned int how;
} worlds[] = {
	{ "lists", 0 },
	{ "alone", WORLD_ALONE },
	{ "codes", WORLD_CODES },
	{ "ends", WORLD_ENDS },
	{ "codes that end", WORLD_ENDS | WORLD_CODES },
	{ "scopes", WORLD_SCOPED },
	{ "few scopes", WORLD_SCOPED | WORLD_FEW },
	{ "scopes and ends", WORLD_SCOPED | WORLD_ENDS },
	{ "scopes and ends, in codes", WORLD_SCOPED | WORLD_ENDS | WORLD_CODES },
	{ "inner", WORLD_INNER },
	{ "inner, scopes and ends", WORLD_INNER | WORLD_SCOPED | WORLD_ENDS },
	{ "embedded, scopes and ends", WORLD_EMBEDDED | WORLD_SCOPED | WORLD_ENDS },
	{ "all of it", WORLD_EMBEDDED | WORLD_INNER | WORLD_SCOPED | WORLD_ENDS },
};

/* Some of it over, some not: 45.0.0.9 ends at 1000, 45.0.8.8 at 2000, and the IPv6 ones with them. */
static void make_ends(void)
{
	made_ends_n = 0;
	ends_at("45.0.0.9", 1000);
	ends_at("2001:db8:9::9", 1000);
	ends_at("45.0.8.0/24", 2000);
	ends_at("2001:db8:8::/48", 2000);
}

/* All that it makes of the addresses is new to the first world. */
static void anew(void)
{
	next4[0] = 0xc6336401;
	next4[1] = 0xcb007108;
	ENOUGH(inet_pton(AF_INET6, "2001:db8::", next6) == 1);
	memset(next6 + 16, 0, 16);
}

static void each_frame(int (*program)(struct made_packet *))
{
	bool differs = false;

	anew();
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		differs |= frame(i, frames[i], program);
	if (!differs && !silent)
		puts("  as before");
}

static void in_each_world(const char *what, int (*program)(struct made_packet *))
{
	make_ends();
	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		make_world(worlds[i].how);
		for (clock_is = 1000; clock_is <= 2000; clock_is += 1000) {
			char name[64];

			if (clock_is > 1000 && !(worlds[i].how & WORLD_ENDS))
				break;
			snprintf(name, sizeof(name), "%s%s%s", what, worlds[i].name, clock_is > 1000 ? ", later" : "");
			shows_begin(&shows);
			each_frame(program);
			shows_as(&shows, name);
		}
		end_world();
	}
}

#endif
