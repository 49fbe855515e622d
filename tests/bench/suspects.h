/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet of a suspect that floods: above a limit that drops, and, of another class, within one that would ban if the
 * packet proved itself. So each is asked for its proof, as those are that do get somebody banned, and none gets so far.
 */
#ifndef SUSPECTS_H
#define SUSPECTS_H

/* What SUBJECT() of rates.bpf.c makes of its only source. */
#define FLOODER (1U << 31)

enum { DROPS, BANS, LIMITS };

static struct rates *suspects_skel[LIMITS];
static struct detect suspects_detect[LIMITS];
static int suspects_maps[LIMITS][MAPS];
static struct connection connection;
static uint8_t frames[3][FRAME];

static struct subject suspected[] = {
	{ .name = "empty", .shown = "empty-loop" },	{ .name = "detector", .shown = "drops" },
	{ .name = "detector", .shown = "bans-udp" },	{ .name = "detector", .shown = "bans-no-socket" },
	{ .name = "detector", .shown = "bans-socket" },
};

#define SUSPECTED (sizeof(suspected) / sizeof(*suspected))

static int load_suspects(void)
{
	struct limits limits = { .on = true,
				 .of = { [CLASS_PACKETS] = { 1000, 0, THEN_POLICE },
					 [CLASS_BYTES] = { LIMIT_BYTES_MOST, 0, THEN_POLICE } } };
	struct connection other;

	/* Nowhere in the kernel's tables but there: warm, as a flood's is. */
	if (!connection_open(&connection, 4))
		return -1;
	other = connection;
	other.from_port ^= htons(1);
	frame_of(frames[0], &connection, 0, 0, 0, IPPROTO_UDP);
	frame_of(frames[1], &other, connection.next, connection.ours, 0x10, IPPROTO_TCP);
	frame_of(frames[2], &connection, connection.next, connection.ours, 0x10, IPPROTO_TCP);
	for (int i = 0; i < LIMITS; i++) {
		limits.of[CLASS_BYTES].then = i == BANS ? THEN_BAN : THEN_POLICE;
		if (load(&suspects_skel[i], &limits, true, &suspects_detect[i], suspects_maps[i]))
			return -1;
	}
	for (size_t i = 0; i < SUSPECTED; i++) {
		struct subject *s = &suspected[i];
		const struct rates *of = suspects_skel[i < 2 ? DROPS : BANS];

		s->fd = fd_of(of, s->name);
		s->runs = bpf_map__fd(of->maps.runs);
		s->frame = frames[i < 2 ? 2 : i - 2];
		s->frame_size = FRAME;
	}
	return 0;
}

/* Where the flood is in the table, after it; NULL: it is not. */
static const struct suspect *flooder(int limits, struct suspects *table)
{
	__u32 key = 0;

	if (bpf_map_lookup_elem(suspects_maps[limits][MAP_SUSPECTS], &key, table))
		return NULL;
	for (__u64 b = 0; b < suspects_detect[limits].buckets; b++)
		for (int i = 0; i < 4; i++)
			if (table[b].place[i].key == FLOODER && MARK_KIND(table[b].place[i].mark) == SUSPECT_IPV4)
				return &table[b].suspect[i];
	return NULL;
}

/* Nearly all are dropped, nobody is banned, and only packets of the connection count as proven. */
static bool suspects_are_right(void)
{
	bool all = true;

	suspected[0].right = true;
	for (size_t i = 1; i < SUSPECTED; i++) {
		struct loop_run many = { ROUNDS, 1, 0, 0 };
		struct subject *s = &suspected[i];
		int limits = i < 2 ? DROPS : BANS;
		const struct detect *d = &suspects_detect[limits];
		struct suspects *table = calloc(d->buckets, sizeof(*table));
		bool counts = i == SUSPECTED - 1 && d->tcp_rcv_nxt;
		const struct suspect *is;
		__u32 found;
		double ns;

		if (!table)
			exit(2);
		forget(d, suspects_maps[limits]);
		is = run_loop(s, &many, &ns, &found) ? flooder(limits, table) : NULL;
		s->right = is && is->dropped > ROUNDS / 2 && !is->until && !!is->proven[CLASS_BYTES] == counts;
		if (!s->right)
			fprintf(stderr, "rates: %s: %s: not printed\n", s->shown,
				!is	    ? "no suspect"
				: is->until ? "banned"
					    : "not what it should count");
		all = all && s->right;
		free(table);
	}
	return all;
}

#endif
