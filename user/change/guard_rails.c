// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard_rails.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a prefix that stands in the code. */
static unsigned int length_of(const char *text, struct addr *first)
{
	unsigned int length = 0;

	*first = (struct addr){ 0 };
	prefix_parse(text, strlen(text), first, &length);
	return length;
}

static int add_text(struct ranges *set, const char *text)
{
	struct addr first;
	unsigned int length = length_of(text, &first);

	return ranges_add_prefix(set, first, length);
}

int guard_apply_bogons(struct ranges *set, enum bogons choice, bool *found)
{
	struct ranges bogons = RANGES_EMPTY, left;
	int err = 0;

	memset(found, 0, bogon_table_n * sizeof(*found));
	for (size_t i = 0; i < bogon_table_n && choice != BOGONS_KEEP && !err; i++) {
		struct addr first;
		unsigned int length = length_of(bogon_table[i].prefix, &first);

		found[i] = ranges_touch(set, first, length);
		if (found[i] && choice == BOGONS_REFUSE)
			err = guard_because("it bans addresses of %s (%s); --bogons=keep or --force bans them",
					    bogon_table[i].prefix, bogon_table[i].what);
		if (found[i] && !err)
			err = ranges_add_prefix(&bogons, first, length);
	}
	err = err ?: ranges_finish(&bogons);
	if (!err && (bogons.n4 || bogons.n6)) {
		err = ranges_subtract(&left, set, &bogons);
		if (!err) {
			ranges_free(set);
			*set = left;
		}
	}
	ranges_free(&bogons);
	return err;
}

/* No network is given a wider prefix. */
#define WIDEST4 8
#define WIDEST6 12
/* Only one country has more than a quarter of IPv4; no country has so much IPv6. */
#define MOST4 0x1p30
#define MOST6 0x1p120
/* A /16 and a /32, as one network has them, for a list that had none of the family. */
#define FIRST4 0x1p16
#define FIRST6 0x1p96
/* A /24 and a /48, which anybody may have. */
#define FEW4 0x1p8
#define FEW6 0x1p80
/* 64:ff9b::/96, where each address stands for one of IPv4, behind a NAT64 or a SIIT. */
#define NAT64	   ((ip6)0x64ff9b << 96)
#define NAT64_LAST (NAT64 | UINT32_MAX)

static bool stands_for_ipv4(struct addr first, unsigned int length)
{
	return first.family == 6 && first.num <= NAT64_LAST && (first.num | addr_mask(6, length)) >= NAT64;
}

static unsigned int widest(struct addr first, unsigned int length)
{
	return first.family == 4 ? WIDEST4 : stands_for_ipv4(first, length) ? 96 + WIDEST4 : WIDEST6;
}

int guard_prefix(struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	prefix_text(text, first, (int)length);
	if (length < widest(first, length))
		return guard_because("%s is very wide; --force bans it", text);
	for (size_t i = 0; i < bogon_table_n; i++) {
		const char *prefix = bogon_table[i].prefix;
		struct addr bogon;
		unsigned int width = length_of(prefix, &bogon);

		if (bogon.family != first.family || width <= length ||
		    (bogon.num & ~addr_mask(bogon.family, length)) != first.num)
			continue;
		return guard_because("%s bans addresses of %s (%s), too; --force bans it", text, prefix,
				     bogon_table[i].what);
	}
	return 0;
}

static int guard_source(struct addr first, unsigned int length, bool refused, const char *unless)
{
	const struct bogon *bogon = refused ? bogon_of(first, length) : NULL;
	char text[PREFIX_TEXT_MAX];

	if (!bogon)
		return 0;
	return guard_because("%s stands for no single host (%s, %s)%s", prefix_text(text, first, (int)length),
			     bogon->prefix, bogon->what, unless);
}

int guard_typed(struct addr first, unsigned int length)
{
	return guard_prefix(first, length)
		       ?: guard_source(first, length, source_is_nobodys(first), "; --force bans it");
}

int guard_told(struct addr first, unsigned int length)
{
	int err = guard_prefix(first, length) ?: guard_source(first, length, source_is_shared(first), "");
	char text[PREFIX_TEXT_MAX];

	/* Of what stands for IPv4 nobody adds up the pieces. */
	if (!err && stands_for_ipv4(first, length) && length < 96 + 24)
		return guard_because("%s is very wide", prefix_text(text, first, (int)length));
	return err;
}

int guard_exception(struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	/* Where no other network's packets come from, width is no loss. */
	if (length >= widest(first, length) || bogon_of(first, length))
		return 0;
	return guard_because("of all %s nothing would be dropped any more, whatever lists say; --force allows it",
			     prefix_text(text, first, (int)length));
}

/* Where other machines are: banning the rest locks out no one. */
static int open_space(struct ranges *open)
{
	static const char *const others[] = { "0.0.0.0/0", "2000::/3" }, reserved[] = "240.0.0.0/4";
	struct ranges all = RANGES_EMPTY, closed = RANGES_EMPTY;
	int err = add_text(&all, others[0]) ?: add_text(&all, others[1]) ?: add_text(&closed, reserved);

	for (size_t i = 0; i < bogon_table_n && !err; i++)
		err = add_text(&closed, bogon_table[i].prefix);
	err = err ?: ranges_finish(&all) ?: ranges_finish(&closed) ?: ranges_subtract(open, &all, &closed);
	ranges_free(&all);
	ranges_free(&closed);
	return err;
}

/* Prefixes that it had before are accepted. what: "list 'feed': it bans". */
static int check_width(const char *what, const struct ranges *before, struct addr first, unsigned int length)
{
	int covering = length < widest(first, length) ? ranges_covering(before, first) : 0;
	char text[PREFIX_TEXT_MAX];

	if (covering >= 0 && covering <= (int)length)
		return 0;
	return guard_because("%s all of %s, which is very wide; --force or --wide loads it", what,
			     prefix_text(text, first, (int)length));
}

static int check_widths(const char *what, const struct ranges *before, const struct ranges *after)
{
	int err = 0;

	for (size_t i = 0; i < after->n4 && !err; i++) {
		struct cut4 cut = { .lo = after->v4[i].lo, .hi = after->v4[i].hi };

		cut.done = cut.hi - cut.lo < UINT32_MAX >> WIDEST4;
		while (!err && range4_next_prefix(&cut))
			err = check_width(what, before, (struct addr){ cut.first, 4 }, cut.length);
	}
	for (size_t i = 0; i < after->n6 && !err; i++) {
		struct cut6 cut = { .lo = after->v6[i].lo, .hi = after->v6[i].hi };

		cut.done = cut.hi - cut.lo < ~(ip6)0 >> WIDEST6;
		while (!err && range6_next_prefix(&cut))
			err = check_width(what, before, (struct addr){ cut.first, 6 }, cut.length);
	}
	return err;
}

/* A list that was let through breathes. */
#define BREATH (17.0 / 16)

static bool is_much(double granted, double after, double most)
{
	return after > most && (granted <= most || after > granted * BREATH);
}

static int check_share(const char *what, double granted, double after, double most, double all, const char *family)
{
	if (after > all)
		after = all; /* counted by a rate, reserved ranges and all */
	if (!is_much(granted, after, most))
		return 0;
	return guard_because("%s %.0f %% of all %s addresses; --force or --wide loads it", what, 100 * after / all,
			     family);
}

/* Most lists ban less in all than one prefix may. */
static bool is_narrow(const struct ranges *set)
{
	return ranges_count4(set) <= UINT32_MAX >> WIDEST4 && ranges_count6(set) <= ~(ip6)0 >> WIDEST6;
}

static struct amounts amounts_of(const struct ranges *set)
{
	return (struct amounts){ (double)ranges_count4(set), (double)ranges_count6(set) };
}

int guard_share(const char *what, struct amounts granted, struct amounts after)
{
	struct ranges open = RANGES_EMPTY;
	int err = open_space(&open) ?:
		  check_share(what, granted.v4, after.v4, MOST4, (double)ranges_count4(&open), "IPv4") ?:
		  check_share(what, granted.v6, after.v6, MOST6, (double)ranges_count6(&open), "IPv6");

	ranges_free(&open);
	return err;
}

int guard_share_of(const struct ranges *set, struct amounts *share)
{
	struct ranges open = RANGES_EMPTY, is = RANGES_EMPTY;
	int err = is_narrow(set) ? 0 : open_space(&open) ?: ranges_intersect(&is, set, &open);

	*share = amounts_of(&is);
	if (share->v4 <= MOST4)
		share->v4 = 0;
	if (share->v6 <= MOST6)
		share->v6 = 0;
	ranges_free(&open);
	ranges_free(&is);
	return err;
}

static int judge(enum list_kind kind, const char *list, const struct ranges *before, const struct ranges *after,
		 struct amounts granted, bool widths)
{
	struct ranges open = RANGES_EMPTY, was = RANGES_EMPTY, is = RANGES_EMPTY;
	struct amounts old;
	char what[96] = "the image: it bans";
	int err;

	if (list)
		snprintf(what, sizeof(what), "list '%s': it %ss", list, list_kind_names[kind]);
	if (is_narrow(after))
		return 0;
	err = open_space(&open) ?: ranges_intersect(&was, before, &open) ?: ranges_intersect(&is, after, &open);
	old = amounts_of(&was);
	err = err ?:
	      guard_share(what, (struct amounts){ granted.v4 ?: old.v4, granted.v6 ?: old.v6 }, amounts_of(&is)) ?:
	      (widths ? check_widths(what, &was, &is) : 0);
	ranges_free(&open);
	ranges_free(&was);
	ranges_free(&is);
	return err;
}

int guard_wide(enum list_kind kind, const char *list, const struct ranges *before, const struct ranges *after,
	       struct amounts granted)
{
	return judge(kind, list, before, after, granted, true);
}

int guard_much(const char *list, const struct ranges *before, const struct ranges *after)
{
	return judge(LIST_BAN, list, before, after, (struct amounts){ 0 }, false);
}

static int check_live(double after, double most, double all, const char *family)
{
	if (after <= most)
		return 0;
	return guard_because(
		"live bans would be of %.0f %% of all %s addresses; add bans so many, or a list with --wide",
		100 * after / all, family);
}

int guard_live(const struct ranges *after)
{
	struct ranges open = RANGES_EMPTY, is = RANGES_EMPTY;
	int err = is_narrow(after) ? 0 : open_space(&open) ?: ranges_intersect(&is, after, &open);
	struct amounts all = amounts_of(&open), banned = amounts_of(&is);

	err = err ?: check_live(banned.v4, MOST4, all.v4, "IPv4") ?: check_live(banned.v6, MOST6, all.v6, "IPv6");
	ranges_free(&open);
	ranges_free(&is);
	return err;
}

static int check_open(double before, double after, double most, double all, const char *family)
{
	if (!is_much(before, after, most))
		return 0;
	return guard_because("of %.0f %% of all %s addresses nothing would be dropped any more, whatever lists say;"
			     " --force allows it",
			     100 * after / all, family);
}

int guard_allows(const struct ranges *before, const struct ranges *after)
{
	struct ranges open = RANGES_EMPTY, was = RANGES_EMPTY, is = RANGES_EMPTY;
	int err = is_narrow(after)
			  ? 0
			  : open_space(&open) ?: ranges_intersect(&was, before, &open) ?:
			    ranges_intersect(&is, after, &open);
	struct amounts all = amounts_of(&open), old = amounts_of(&was), new = amounts_of(&is);

	err = err ?:
	      check_open(old.v4, new.v4, MOST4, all.v4, "IPv4") ?:
	      check_open(old.v6, new.v6, MOST6, all.v6, "IPv6");
	ranges_free(&open);
	ranges_free(&was);
	ranges_free(&is);
	return err;
}

struct change_of {
	const char *list, *family;
	double before, after, kept;
	double left;   /* of before, and not in it */
	double first;  /* so many may come where there were none */
	double beside; /* and so many beside half of what there was */
	bool may_shrink;
};

static int check_change(const struct change_of *c)
{
	double gone = c->before - c->kept, come = c->after - c->kept - c->left, had = c->before + c->left;

	if (had == 0 && come > c->first)
		return guard_because("list '%s': it had no %s addresses, and now has %.3g; --force or --big-change"
				     " loads it",
				     c->list, c->family, come);
	if (had == 0)
		return 0;
	if (gone > c->before / 2 && !c->may_shrink)
		return guard_because("list '%s': it lost %.0f %% of its %s addresses; --force or --big-change loads it",
				     c->list, 100 * gone / c->before, c->family);
	if (come > had / 2 + c->beside)
		return guard_because("list '%s': it gained %.0f %% %s addresses; --force or --big-change loads it",
				     c->list, 100 * come / had, c->family);
	return 0;
}

static double behind_nat64(const struct ranges *set)
{
	double n = 0;

	for (size_t i = 0; i < set->n6 && set->v6[i].lo <= NAT64_LAST; i++) {
		ip6 lo = set->v6[i].lo > NAT64 ? set->v6[i].lo : NAT64;
		ip6 hi = set->v6[i].hi < NAT64_LAST ? set->v6[i].hi : NAT64_LAST;

		n += hi >= lo ? (double)(hi - lo) + 1 : 0;
	}
	return n;
}

/* As IPv6 it is next to nothing, and all of IPv4 to a machine that has IPv6 alone. */
static int check_nat64(const char *list, const struct ranges *kept, const struct ranges *after)
{
	double come = behind_nat64(after) - behind_nat64(kept);

	return come > FIRST4 ? guard_because("list '%s': it gained %.3g addresses of 64:ff9b::/96, behind which is"
					     " IPv4; --force or --big-change loads it",
					     list, come)
			     : 0;
}

/* Who is let through has a new address now and then, and others beside him; and is taken out. */
int guard_change(enum list_kind kind, const char *name, const struct ranges *before, struct amounts left,
		 const struct ranges *after)
{
	bool bans = kind != LIST_ALLOW && kind != LIST_TRUST;
	struct amounts was = amounts_of(before), is = amounts_of(after), both;
	struct ranges kept = RANGES_EMPTY;
	int err;

	/* A list that was empty gains all of what it has. */
	if (!before->n4 && !before->n6)
		return 0;
	err = ranges_intersect(&kept, before, after);
	both = amounts_of(&kept);
	err = err ?:
	      check_change(&(struct change_of){ name, "IPv4", was.v4, is.v4, both.v4, left.v4, FIRST4, bans ? 0 : FEW4, !bans }) ?:
	      check_change(&(struct change_of){ name, "IPv6", was.v6, is.v6, both.v6, left.v6, FIRST6, bans ? 0 : FEW6, !bans }) ?:
	      check_nat64(name, &kept, after);
	ranges_free(&kept);
	return err;
}

/* Of a day, and of all time since somebody looked. So few as FIRST4 are no harm. */
#define MOST_A_DAY  1.5
#define MOST_UNSEEN 4

static int grown(const char *name, double from, double to, double factor, double first, const char *family,
		 const char *since)
{
	if (to <= from * factor + first)
		return 0;
	if (from <= 0)
		return guard_because("list '%s': it had no %s addresses %s, and now has %.3g; --force or --big-change"
				     " loads it",
				     name, family, since, to);
	return guard_because("list '%s': it has %.3g times as many %s addresses as %s; --force or --big-change loads"
			     " it",
			     name, to / from, family, since);
}

int guard_growth(const char *name, const struct accepted *a, const struct ranges *after)
{
	static const char *const day = "a day ago", *const hand = "when it was last accepted by hand";
	struct amounts is = amounts_of(after);

	return grown(name, a->day.v4, is.v4, MOST_A_DAY, FIRST4, "IPv4", day) ?:
	       grown(name, a->day.v6, is.v6, MOST_A_DAY, FIRST6, "IPv6", day) ?:
	       grown(name, a->hand.v4, is.v4, MOST_UNSEEN, FIRST4, "IPv4", hand) ?:
	       grown(name, a->hand.v6, is.v6, MOST_UNSEEN, FIRST6, "IPv6", hand);
}
