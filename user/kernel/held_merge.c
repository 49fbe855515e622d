// SPDX-License-Identifier: GPL-2.0-only
/* What is taken over: what commands have changed since the last look. */
#include "kernel/held_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "kernel/attach.h"

/* Everything that the program uses is pinned, too. */
static bool is_whole(const struct held *h, const struct part *program)
{
	for (__u32 i = 0; i < program->is.n_maps; i++)
		if (!held_find_id(h, PINNED_MAP, program->is.maps[i]))
			return false;
	return true;
}

/* The root that there is uses the slot that there is, and what is in that is whole. */
static bool is_sound(const struct held *h)
{
	const struct part *root = held_find(h, PIN_ROOT), *program = held_generation_part(h, PIN_PROGRAM),
			  *in_slot = held_find_id(h, PINNED_PROGRAM, h->in_slot[MATCH_SOURCE]);

	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++)
		if (h->in_slot[m] && !held_find_id(h, PINNED_PROGRAM, h->in_slot[m]))
			return false;

	return root && root->is.kind == PINNED_PROGRAM && pinned_uses(&root->is, held_id_of(h, PIN_SLOT)) && program &&
	       program->is.kind == PINNED_PROGRAM && in_slot && held_generation_part(h, PIN_ASK) &&
	       held_generation_part(h, PIN_META) && is_whole(h, program) && is_whole(h, in_slot);
}

static bool filters_by(const struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].group == LINK && !h->parts[i].at.shared && held_filters_where(h, &h->parts[i]) &&
		    held_runs_root(h, &h->parts[i]))
			return true;
	return false;
}

/* Is what is pinned now in force, by the doing of some command, in the place of what is held? */
static bool is_successor(const struct held *h, const struct held *now)
{
	if (!held_find(h, PIN_SLOT))
		return true;
	if (!is_sound(now))
		return false;
	if (now->number == h->number) /* confirmed, or still the same */
		return h->in_slot[MATCH_SOURCE] != now->in_slot[MATCH_SOURCE] &&
		       held_find_id(h, PINNED_PROGRAM, now->in_slot[MATCH_SOURCE]);
	if (held_id_of(h, PIN_SLOT) == held_id_of(now, PIN_SLOT))
		return h->in_slot[MATCH_SOURCE] != now->in_slot[MATCH_SOURCE];
	return now->number > h->number || !filters_by(h);
}

static void move_part(struct held *to, struct part *part)
{
	to->parts[to->n++] = *part;
	part->fd = -1;
}

/* Its pin has been renamed. Of a filter, of which an interface has one, the program is pinned, which many have. */
static bool is_renamed(const struct held *fresh, const struct part *link, unsigned int where)
{
	if (link->at.shared || link->is.kind == PINNED_LINK)
		return !link->at.shared && held_find_id(fresh, PINNED_LINK, link->is.id);
	for (size_t i = 0; i < fresh->n && where; i++) {
		const struct part *part = &fresh->parts[i];

		if (part->group == LINK && part->is.kind == PINNED_PROGRAM && !part->at.shared &&
		    part->where == where && MATCH_LEAVES(part->at.match) == MATCH_LEAVES(link->at.match))
			return true;
	}
	return false;
}

/* One of the links that are held. It is not pinned any more, or something else is in its place. */
static void keep_link(struct held *fresh, struct part *link, bool forget)
{
	char name[IF_NAMESIZE];
	unsigned int where = held_filters_where(fresh, link);
	bool there = where || (link->where && if_indextoname(link->where, name) && !forget);

	if (!there || (!where && held_find(fresh, link->name)))
		return;
	/* It asks about other addresses now, or its interface has another name. */
	if (is_renamed(fresh, link, where))
		return;
	/* Another is attached under that name now. */
	if (held_find(fresh, link->name)) {
		char path[PIN_PATH_MAX];

		link->at.set_aside = link->is.id;
		attachment_path(fresh->context, path, &link->at);
		snprintf(link->name, sizeof(link->name), "%s/%.64s", PIN_LINKS, strrchr(path, '/') + 1);
	}
	link->dev = 0;
	move_part(fresh, link);
}

/* A program that ends by itself, with whatever root it was made for. */
static void note_trial(struct part *link)
{
	struct pinned is;

	if (link->group == LINK && attach_until(link->fd) && !pinned_info(link->fd, &is))
		link->on_trial = is.program;
}

/*
 * The slot empties itself when it is let go, so who still runs the root before turns to the new one first. False if one
 * cannot: then nothing is taken over.
 */
static bool turn_links(struct held *h, const struct held *now)
{
	const struct part *root = held_find(now, PIN_ROOT);
	bool all = true;

	for (size_t i = 0; i < h->n && root && held_id_of(h, PIN_SLOT) != held_id_of(now, PIN_SLOT); i++) {
		struct part *link = &h->parts[i];

		if (link->group == LINK && !link->at.shared && held_filters_where(h, link))
			all = !attach_turn(h->context, &link->at, link->fd, root->fd) && all;
		note_trial(link);
	}
	return all;
}

/* Of which match a pin is that others than sources have of their own. */
static unsigned int match_of(const char *name)
{
	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++)
		if (!strcmp(name, match_pins[m].root) || !strcmp(name, match_pins[m].bare) ||
		    !strcmp(name, match_pins[m].slot) || !strcmp(name, match_pins[m].program))
			return m;
	return MATCH_SOURCE;
}

/* What an attachment is the first to need: a root, and with another match a slot and a program of the generation. */
static bool comes_later(const char *name)
{
	return !strcmp(name, PIN_ROOT_BARE) || !strcmp(name, PIN_COUNTERS_OUT) || match_of(name) != MATCH_SOURCE;
}

/* Nobody had a use for what is held of a match, or those that have it now run another root: that of a later attach().
 */
static bool is_renewed(const struct held *h, const struct held *now, unsigned int match)
{
	bool renewed = match != MATCH_SOURCE;

	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].group == LINK && h->parts[i].at.match == match)
			renewed = false;
	for (size_t i = 0; i < now->n && !renewed && match != MATCH_SOURCE; i++) {
		const struct part *link = &now->parts[i], *root = link->group == LINK ? held_root(now, link) : NULL,
				  *before = root ? held_root(h, link) : NULL;

		renewed = link->at.match == match && root && link->is.program == root->is.id &&
			  !(before && before->is.id == root->is.id);
	}
	return renewed;
}

static bool may_be(const struct part *link)
{
	if (link->is.kind == PINNED_PROGRAM)
		return link->at.shared || MATCH_BY_TC(link->at.match);
	return link->is.kind == PINNED_LINK && !link->at.shared;
}

/* Of a filter the program is pinned, which many have. */
static bool is_in(const struct held *h, const struct part *link)
{
	return link->is.kind == PINNED_PROGRAM && MATCH_BY_TC(link->at.match)
		       ? held_find(h, link->name) != NULL
		       : held_find_id(h, link->is.kind, link->is.id) != NULL;
}

void held_merge(struct held *h, struct held *now)
{
	/* Each part is moved once at most. Without memory nothing is, until the next look. */
	struct part *room = reallocarray(NULL, h->n + now->n, sizeof(*room));
	bool successor = room && is_successor(h, now) && turn_links(h, now);
	struct held *of = successor ? now : h;
	struct held fresh = { .context = h->context, .expected = h->expected, .number = of->number, .parts = room };
	bool renewed[MATCH_KINDS];

	if (!room)
		return;
	for (unsigned int m = 0; m < MATCH_KINDS; m++) {
		renewed[m] = !successor && is_renewed(h, now, m);
		fresh.in_slot[m] = held_find(of, match_pins[m].slot) && !renewed[m] ? of->in_slot[m] : now->in_slot[m];
	}
	for (size_t i = 0; i < of->n; i++)
		if (of->parts[i].group != LINK && !renewed[match_of(of->parts[i].name)])
			move_part(&fresh, &of->parts[i]);
	for (size_t i = 0; i < now->n; i++) {
		const struct part *old = held_find(h, now->parts[i].name);

		if (now->parts[i].group != LINK) {
			if (!successor && comes_later(now->parts[i].name) &&
			    (!old || renewed[match_of(now->parts[i].name)]))
				move_part(&fresh, &now->parts[i]);
			continue;
		}
		now->parts[i].on_trial = old && old->is.id == now->parts[i].is.id      ? old->on_trial
					 : held_is_root(now, now->parts[i].is.program) ? 0
										       : now->parts[i].is.program;
		note_trial(&now->parts[i]);
		/* Where it was is known only while it is there. */
		if (old && old->is.id == now->parts[i].is.id && !now->parts[i].where && !h->forget)
			now->parts[i].where = old->where;
		/* A pin of old, of what is attached to nothing any more. */
		if (old && old->is.id != now->parts[i].is.id && !now->parts[i].where && held_filters_where(h, old))
			continue;
		if (may_be(&now->parts[i]))
			move_part(&fresh, &now->parts[i]);
	}
	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].group == LINK && !is_in(&fresh, &h->parts[i]))
			keep_link(&fresh, &h->parts[i], h->forget);
	held_clear(h);
	*h = fresh;
}
