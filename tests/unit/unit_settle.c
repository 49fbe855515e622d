// SPDX-License-Identifier: GPL-2.0-only
/*
 * All lists together, with scopes and without, beside live bans and what is allowed: what becomes of each packet of
 * each address, against the lists themselves, one after the other. And how many lists with a scope there is room for.
 */
#include <time.h>

#include "base/log.h"
#include "own_state.h"
#include "state/bans.h"
#include "state/settle.h"

enum { HOSTS = 48, PREFIXES = 24, ASKED = HOSTS + 2 * PREFIXES, LISTS = 8, WORLDS = 150, LASTING = 1, ENDING = 2 };

static const char *const scopes[] = { "", "", "tcp/22", "tcp/22", "tcp", "udp/53", "tcp/80,udp/53" };
static const struct packet {
	uint8_t protocol;
	uint16_t port;
} packets[] = { { 6, 22 }, { 6, 80 }, { 6, 443 }, { 17, 53 }, { 17, 54 } };

#define KINDS (sizeof(packets) / sizeof(packets[0]))

static struct {
	size_t n;
	struct list_info list[LISTS];
	struct prefix six[PREFIXES]; /* many within others */
	bool has[LISTS][ASKED];
	int live[ASKED]; /* both, where a ban of each holds it */
} world;

/* IPv4, some beside each other, so that ranges are cut; then the first and the last address of each prefix of IPv6. */
static struct addr asked(unsigned int i)
{
	const struct prefix *p;

	if (i < HOSTS)
		return (struct addr){ 0x2d010000u + i / 8 * 300 + i % 8, 4 };
	p = &world.six[(i - HOSTS) / 2];
	return (struct addr){ p->first.num | (i % 2 ? addr_mask(6, p->length) : 0), 6 };
}

static bool covers(const struct prefix *p, struct addr addr)
{
	return p->first.family == addr.family && !((addr.num ^ p->first.num) & ~addr_mask(addr.family, p->length));
}

static struct prefix random_prefix(void)
{
	static const unsigned int lengths[] = { 32, 36, 48, 48, 60, 64, 64, 128 };
	struct prefix p = { { (ip6)0x20010db8 << 96, 6 }, lengths[ktap_random() % 8] };

	p.first.num |= (ip6)(ktap_random() % 2) << 92 | (ip6)(ktap_random() % 2) << 80 |
		       (ip6)(ktap_random() % 2) << 68 | (ip6)(ktap_random() % 2) << 64 | ktap_random() % 2;
	p.first.num &= ~addr_mask(6, p.length);
	return p;
}

static bool takes(const char *text, const struct packet *packet)
{
	struct scope_asked asked = {
		.protocol_given = true, .protocol = packet->protocol, .port_given = true, .port = packet->port
	};
	struct scope scope;

	ENOUGH(!scope_parse(&scope, text));
	return scope_takes(&scope, &asked) == SCOPE_ALWAYS;
}

static void put_list(struct state *s, size_t l, enum list_kind kind, const char *only)
{
	struct list_info *list = &world.list[l];
	struct ranges set = RANGES_EMPTY;
	struct scope scope = { 0 };

	*list = (struct list_info){ .kind = kind, .addresses = "1", .source = "a file" };
	snprintf(list->name, sizeof(list->name), "list-%zu", l);
	ENOUGH((!*only || !scope_add_only(&scope, only)) && scope_text(list->scope, &scope));
	for (unsigned int i = 0; i < HOSTS; i++) {
		world.has[l][i] = ktap_random() % 3 == 0;
		if (world.has[l][i])
			ENOUGH(!ranges_add_host(&set, (uint32_t)asked(i).num));
	}
	for (unsigned int p = 0; p < PREFIXES; p++) {
		if (ktap_random() % 6)
			continue;
		ENOUGH(!ranges_add_prefix(&set, world.six[p].first, world.six[p].length));
		for (unsigned int i = HOSTS; i < ASKED; i++)
			world.has[l][i] = world.has[l][i] || covers(&world.six[p], asked(i));
	}
	ENOUGH(!ranges_finish(&set));
	list->prefixes = ranges_count_prefixes(&set);
	ENOUGH(!state_list_put(s, list, &set));
	ranges_free(&set);
}

static void ban(struct state *s, const struct prefix *p)
{
	struct ban ban = { .first = p->first, .length = p->length, .added = 1 };
	int kind = ktap_random() % 2 ? LASTING : ENDING;
	bool fresh;

	if (kind == ENDING)
		ban.expires = time(NULL) + 86400;
	ENOUGH(!state_ban_new(s, &ban, &fresh));
	for (unsigned int i = 0; i < ASKED && fresh; i++)
		world.live[i] |= covers(p, asked(i)) ? kind : 0;
}

static struct state *random_world(void)
{
	struct state *s;

	empty_directory();
	s = opened(true);
	ENOUGH(s);
	memset(&world, 0, sizeof(world));
	world.n = ktap_random() % (LISTS + 1);
	for (unsigned int p = 0; p < PREFIXES; p++)
		world.six[p] = random_prefix();
	for (size_t l = 0; l < world.n; l++) {
		enum list_kind kind = ktap_random() % 6 == 0 ? LIST_ALLOW : ktap_random() % 3 ? LIST_BAN : LIST_SHADOW;

		put_list(s, l, kind,
			 kind == LIST_ALLOW ? "" : scopes[ktap_random() % (sizeof(scopes) / sizeof(scopes[0]))]);
	}
	for (unsigned int i = 0; i < HOSTS; i++)
		if (ktap_random() % 6 == 0)
			ban(s, &(struct prefix){ asked(i), 32 });
	for (unsigned int p = 0; p < PREFIXES; p++)
		if (ktap_random() % 12 == 0)
			ban(s, &world.six[p]);
	return s;
}

enum becomes { PASSES, IS_COUNTED, IS_DROPPED };

/* Of a packet from there; the label that it counts on, where there is one alone that it can be. */
static enum becomes naive(unsigned int i, const struct packet *packet)
{
	bool counted = false, dropped = world.live[i];

	for (size_t l = 0; l < world.n; l++) {
		if (!world.has[l][i])
			continue;
		if (world.list[l].kind == LIST_ALLOW)
			return PASSES;
		if (takes(world.list[l].scope, packet))
			*(world.list[l].kind == LIST_BAN ? &dropped : &counted) = true;
	}
	return dropped ? IS_DROPPED : counted ? IS_COUNTED : PASSES;
}

/* Of IPv6 the longest prefix says it. */
static int label_at(const struct settled *s, struct addr addr)
{
	ip6 narrowest = ~(ip6)0;
	int label = -1;

	for (size_t i = 0; i < s->owned.n4 && addr.family == 4; i++)
		if (s->owned.v4[i].lo <= addr.num && addr.num <= s->owned.v4[i].hi)
			label = s->owned.label4[i];
	for (size_t i = 0; i < s->owned.n6 && addr.family == 6; i++) {
		const struct range6 *range = &s->owned.v6[i];

		if (range->lo <= addr.num && addr.num <= range->hi && range->hi - range->lo < narrowest) {
			narrowest = range->hi - range->lo;
			label = s->owned.label6[i];
		}
	}
	return label;
}

/* Is it on an account that has it, and takes it? */
static bool is_theirs(unsigned int i, int label, const struct packet *packet, enum becomes becomes)
{
	for (size_t l = 0; l < world.n; l++)
		if (world.list[l].label == label && world.list[l].kind != LIST_ALLOW)
			return world.has[l][i] && takes(world.list[l].scope, packet) &&
			       (world.list[l].kind == LIST_BAN) == (becomes == IS_DROPPED);
	return becomes == IS_DROPPED &&
	       (label == LABEL_LIVE ? world.live[i] & LASTING : label == LABEL_ENDS && world.live[i] == ENDING);
}

/* As the program asks: the first that takes the packet. */
static enum becomes settled_as(const struct settled *s, unsigned int i, const struct packet *packet, int *label)
{
	__u64 of, fits;

	*label = label_at(s, asked(i));
	if (*label < 0)
		return PASSES;
	of = s->scopes ? s->scopes->of[*label] : 0;
	if (!of)
		return settled_shadow(s, (uint8_t)*label) ? IS_COUNTED : IS_DROPPED;
	CHECK(settled_shadow(s, (uint8_t)*label) == !(of & ~s->scopes->counts), "label %d only counts", *label);
	if (of & SCOPE_ENDS) {
		*label = LABEL_ENDS;
		return IS_DROPPED;
	}
	fits = of & s->scopes->fits[s->scopes->port[packet->protocol == 6 ? SCOPE_TCP : SCOPE_UDP][packet->port]];
	if (!fits)
		return PASSES;
	*label = s->scopes->account[SCOPE_PLACE(fits)];
	return s->scopes->counts & fits & -fits ? IS_COUNTED : IS_DROPPED;
}

static void against_the_lists(void)
{
	unsigned int became[3] = { 0 }, with = 0;

	for (int round = 0; round < WORLDS && !ktap_failed; round++) {
		struct state *state = random_world();
		struct settled s;
		bool scoped = false, shadows = false;
		int err = settle(&s, state), label;

		if (!CHECK(!err, "world %d: %s", round, reason(err)))
			return;
		for (size_t l = 0; l < world.n; l++) {
			scoped = scoped || world.list[l].scope[0];
			shadows = shadows || world.list[l].kind == LIST_SHADOW;
		}
		CHECK(!!s.scopes == scoped && !!s.shadows == shadows, "world %d: scopes %d, shadows %d", round,
		      !!s.scopes, (int)s.shadows);
		with += scoped;
		for (unsigned int i = 0; i < ASKED && !ktap_failed; i++)
			for (size_t k = 0; k < KINDS && !ktap_failed; k++) {
				enum becomes wanted = naive(i, &packets[k]),
					     is = settled_as(&s, i, &packets[k], &label);

				became[wanted]++;
				CHECK(is == wanted, "world %d, address %u, packet %zu: %d, not %d (label %d)", round, i,
				      k, is, wanted, label);
				CHECK(!is || is_theirs(i, label, &packets[k], is),
				      "world %d, address %u, packet %zu: %d on label %d", round, i, k, is, label);
			}
		settled_free(&s);
		state_close(state);
	}
	printf("# %u pass, %u are counted, %u dropped; %u worlds with scopes\n", became[PASSES], became[IS_COUNTED],
	       became[IS_DROPPED], with);
	CHECK(became[PASSES] && became[IS_COUNTED] && became[IS_DROPPED] && with && with < WORLDS, "not all of it");
}

/* What is too much is refused, and not forgotten. */
static void too_many(void)
{
	struct ranges set = RANGES_EMPTY;
	struct settled s;
	struct state *state;
	int err;

	empty_directory();
	state = opened(true);
	ENOUGH(state && !ranges_add_host(&set, 7) && !ranges_finish(&set));
	for (unsigned int i = 0; i <= SCOPES_MAX; i++) {
		struct list_info list = { .kind = LIST_BAN, .addresses = "1", .prefixes = 1 };
		struct scope scope = { 0 };
		char only[16];

		snprintf(list.name, sizeof(list.name), "list-%u", i);
		snprintf(only, sizeof(only), "tcp/%u", 1 + i);
		ENOUGH(!scope_add_only(&scope, only) && scope_text(list.scope, &scope));
		ENOUGH(!state_list_put(state, &list, &set));
		err = settle(&s, state);
		if (i < SCOPES_MAX) {
			if (!CHECK(!err, "%u lists: %s", i + 1, reason(err)))
				break;
			settled_free(&s);
		} else {
			CHECK(err_is(err, E2BIG) &&
				      !strcmp(reason(err),
					      "lists with a scope, and shadow lists beside them, are more than 48"),
			      "%u lists: '%s'", i + 1, reason(err));
		}
	}
	ranges_free(&set);
	state_close(state);
}

/* Of each number, those lists hold an address whose bits it has: as many ways as there are numbers. */
static void ways(unsigned int most, bool same, int wanted)
{
	struct ranges sets[8] = { RANGES_EMPTY };
	struct settled s;
	struct state *state;
	int err;

	empty_directory();
	state = opened(true);
	ENOUGH(state);
	for (unsigned int way = 1; way <= most; way++)
		for (unsigned int l = 0; l < 8; l++)
			if (way >> l & 1)
				ENOUGH(!ranges_add_host(&sets[l], 0x2d000000u + 2 * way));
	for (unsigned int l = 0; l < 8; l++) {
		struct list_info list = { .kind = LIST_BAN, .addresses = "1" };
		struct scope scope = { 0 };
		char only[16];

		ENOUGH(!ranges_finish(&sets[l]));
		list.prefixes = ranges_count_prefixes(&sets[l]);
		snprintf(list.name, sizeof(list.name), "list-%u", l);
		snprintf(only, sizeof(only), "udp/%u", same ? 1 : 1 + l);
		ENOUGH(!scope_add_only(&scope, only) && scope_text(list.scope, &scope));
		ENOUGH(!state_list_put(state, &list, &sets[l]));
		ranges_free(&sets[l]);
	}
	err = settle(&s, state);
	CHECK(wanted ? err_is(err, wanted) && strstr(reason(err), "in more ways than there are labels for: give some of"
								  " them the same --only")
		     : !err,
	      "%u ways: %s", most, err ? reason(err) : "settled");
	if (!err)
		settled_free(&s);
	state_close(state);
}

static void labels_of_ways(void)
{
	ways(LABEL_ENDS - SCOPE_LABELS, false, 0);
	ways(LABEL_ENDS - SCOPE_LABELS + 1, false, E2BIG);
	/* Of lists with the same scope the first one decides. */
	ways(255, true, 0);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "random lists, one after the other", against_the_lists },
		{ "as many lists as there is room for, and one more", too_many },
		{ "as many ways as there are labels, and one more", labels_of_ways },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
