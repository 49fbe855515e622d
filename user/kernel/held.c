// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/held.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/grow.h"
#include "base/log.h"
#include "kernel/dispatcher.h"
#include "kernel/root.h"

enum group { BASE, GENERATION, LINK };

struct part {
	char name[PIN_PATH_MAX / 2]; /* of its pin, below the bpffs directory */
	int fd;
	enum group group;
	struct pinned is;
	dev_t dev; /* of the pin's file, when it was last seen to be right; 0: it was not */
	ino_t ino;
	/* Of a LINK: */
	struct attachment at;
	__u32 on_trial; /* the program that it was attached with until it is confirmed; 0: the root */
	/* The interface that it filters, or filtered until it was detached; 0: none that is there. */
	unsigned int where;
	bool detached;
};

struct held {
	const struct context *context;
	struct part *parts;
	size_t n;
	__u64 number;	/* of the generation that is in force by its pins; 0: none */
	__u32 in_slot;	/* the program that is, or is to be */
	__u64 expected; /* by the state; 0: not known */
	bool forget;	/* those that are detached now were detached by somebody who may */
	unsigned int found;
	char faults[512];
};

static const char *const base_names[] = { PIN_ROOT,	     PIN_SLOT,	  PIN_COUNTERS,
					  PIN_LIST_COUNTERS, PIN_SAMPLES, PIN_SAMPLE_BUDGET };

static struct part *find(const struct held *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->parts[i].name, name))
			return &h->parts[i];
	return NULL;
}

static const struct part *find_id(const struct held *h, enum pinned_kind kind, __u32 id)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].is.kind == kind && h->parts[i].is.id == id)
			return &h->parts[i];
	return NULL;
}

static __u32 id_of(const struct held *h, const char *name)
{
	const struct part *part = find(h, name);

	return part ? part->is.id : 0;
}

static const struct part *generation_part(const struct held *h, const char *what)
{
	char name[sizeof(h->parts->name)];

	snprintf(name, sizeof(name), "%s/%llu/%s", PIN_GENERATIONS, (unsigned long long)h->number, what);
	return find(h, name);
}

static void clear(struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		close_fd(h->parts[i].fd);
	free(h->parts);
	h->parts = NULL;
	h->n = 0;
}

/* Of its own descriptor: 0 where it filters nothing, as the interface is gone or it was detached. */
static unsigned int filters_where(const struct part *part)
{
	struct pinned now;

	if (part->at.shared)
		return shared_where(part->where ?: if_nametoindex(part->at.name), part->is.id);
	return pinned_info(part->fd, &now) ? 0 : now.ifindex;
}

static bool stands(const struct held *h, const struct part *part, struct stat *st)
{
	char path[PIN_PATH_MAX];

	pin_path(h->context, path, part->name);
	return !lstat(path, st);
}

/* --- What is pinned now ----------------------------------------------------------------------------------------------
 */

static int take_pin(struct held *h, const char *name, enum group group)
{
	struct part part = { .group = group };
	char path[PIN_PATH_MAX];
	struct stat st;

	snprintf(part.name, sizeof(part.name), "%s", name);
	pin_path(h->context, path, name);
	part.fd = bpf_obj_get(path);
	if (part.fd < 0)
		return 0;
	if (pinned_info(part.fd, &part.is) || !stands(h, &part, &st) || !GROW(h->parts, h->n)) {
		close(part.fd);
		return -EAGAIN;
	}
	part.dev = st.st_dev;
	part.ino = st.st_ino;
	h->parts[h->n++] = part;
	return 0;
}

static int take_directory(struct held *h, const char *directory, enum group group)
{
	char path[PIN_PATH_MAX], name[sizeof(h->parts->name)];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	pin_path(h->context, path, directory);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		struct attachment at;

		if (entry->d_name[0] == '.' ||
		    (size_t)snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name) >= sizeof(name) ||
		    (group == LINK && !attachment_of_pin(entry->d_name, &at)))
			continue;
		err = take_pin(h, name, group);
		if (err || group != LINK || !find(h, name))
			continue;
		h->parts[h->n - 1].at = at;
		h->parts[h->n - 1].where = filters_where(&h->parts[h->n - 1]);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* What belongs into the slot for a generation: on trial, or for good. */
static __u32 program_of(const struct held *h, __u64 number, const char *pin)
{
	char path[PIN_PATH_MAX];

	pin_generation_path(h->context, path, number, pin);
	return shared_id(path);
}

static int take_number(struct held *h, __u64 number)
{
	char name[sizeof(h->parts->name)];

	snprintf(name, sizeof(name), "%s/%llu", PIN_GENERATIONS, (unsigned long long)number);
	return number ? take_directory(h, name, GENERATION) : 0;
}

/* The generation whose program is in the slot, or else is expected there; and what comes back if it is on trial. */
static int take_generation(struct held *h)
{
	char path[PIN_PATH_MAX];
	struct dirent *entry;
	struct trial trial = { 0 };
	const struct part *term;
	__u32 key = 0;
	DIR *dir;
	int err;

	pin_path(h->context, path, PIN_GENERATIONS);
	dir = h->in_slot ? opendir(path) : NULL;
	while (dir && !h->number && (entry = readdir(dir))) {
		__u64 number = strtoull(entry->d_name, NULL, 10);

		if (number && (program_of(h, number, PIN_PROGRAM) == h->in_slot ||
			       program_of(h, number, PIN_TRIAL) == h->in_slot))
			h->number = number;
	}
	if (dir)
		closedir(dir);
	if (!h->number && h->expected && program_of(h, h->expected, PIN_PROGRAM)) {
		h->number = h->expected;
		h->in_slot = program_of(h, h->number, PIN_TRIAL) ?: program_of(h, h->number, PIN_PROGRAM);
	}
	err = take_number(h, h->number);
	term = generation_part(h, PIN_TRIAL_TERM);
	if (!err && term && term->is.value_size == sizeof(trial) && !bpf_map_lookup_elem(term->fd, &key, &trial))
		err = take_number(h, trial.before);
	return err;
}

/* -EAGAIN: something changed meanwhile. */
static int take(struct held *h)
{
	const struct part *slot;
	__u32 key = 0;
	int err = 0;

	for (size_t i = 0; i < sizeof(base_names) / sizeof(base_names[0]) && !err; i++)
		err = take_pin(h, base_names[i], BASE);
	slot = err ? NULL : find(h, PIN_SLOT);
	if (slot && slot->is.type == BPF_MAP_TYPE_PROG_ARRAY && slot->is.max_entries == 1)
		bpf_map_lookup_elem(slot->fd, &key, &h->in_slot);
	err = err ?: take_generation(h) ?: take_directory(h, PIN_LINKS, LINK);
	return err;
}

/* Everything that the program uses is pinned, too. */
static bool is_whole(const struct held *h, const struct part *program)
{
	const __u32 most = sizeof(program->is.maps) / sizeof(program->is.maps[0]);

	for (__u32 i = 0; i < program->is.n_maps && i < most; i++)
		if (!find_id(h, PINNED_MAP, program->is.maps[i]))
			return false;
	return true;
}

/* The root that there is uses the slot that there is, and what is in that is whole. */
static bool is_sound(const struct held *h)
{
	const struct part *root = find(h, PIN_ROOT), *program = generation_part(h, PIN_PROGRAM),
			  *in_slot = find_id(h, PINNED_PROGRAM, h->in_slot);

	return root && root->is.kind == PINNED_PROGRAM && pinned_uses(&root->is, id_of(h, PIN_SLOT)) && program &&
	       program->is.kind == PINNED_PROGRAM && in_slot && generation_part(h, PIN_ASK) &&
	       generation_part(h, PIN_META) && is_whole(h, program) && is_whole(h, in_slot);
}

/* --- What is taken over ----------------------------------------------------------------------------------------------
 */

static bool runs_root(const struct held *h, const struct part *link)
{
	struct pinned now;

	return link->at.shared || pinned_info(link->fd, &now) || !now.ifindex || now.program == id_of(h, PIN_ROOT) ||
	       now.program == link->on_trial;
}

static bool filters_by(const struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].group == LINK && !h->parts[i].at.shared && filters_where(&h->parts[i]) &&
		    runs_root(h, &h->parts[i]))
			return true;
	return false;
}

/* Is what is pinned now in force, by the doing of some command, in the place of what is held? */
static bool is_successor(const struct held *h, const struct held *now)
{
	if (!find(h, PIN_SLOT))
		return true;
	if (!is_sound(now))
		return false;
	if (now->number == h->number) /* confirmed, or still the same */
		return h->in_slot != now->in_slot && find_id(h, PINNED_PROGRAM, now->in_slot);
	if (id_of(h, PIN_ROOT) == id_of(now, PIN_ROOT) && id_of(h, PIN_SLOT) == id_of(now, PIN_SLOT))
		return h->in_slot != now->in_slot;
	return now->number > h->number || !filters_by(h);
}

static bool move_part(struct held *to, struct part *part)
{
	if (!GROW(to->parts, to->n))
		return false;
	to->parts[to->n++] = *part;
	part->fd = -1;
	return true;
}

/* One of the links that are held. It is not pinned any more, or something else is in its place. */
static bool keep_link(struct held *fresh, struct part *link, bool forget)
{
	char name[IF_NAMESIZE];
	unsigned int where = filters_where(link);
	bool there = where || (link->where && if_indextoname(link->where, name) && !forget);

	if (!there || (!where && find(fresh, link->name)))
		return true;
	/* Another is attached under that name now. */
	if (find(fresh, link->name)) {
		char path[PIN_PATH_MAX];

		link->at.set_aside = link->is.id;
		attachment_path(fresh->context, path, &link->at);
		snprintf(link->name, sizeof(link->name), "%s/%.64s", PIN_LINKS, strrchr(path, '/') + 1);
	}
	link->dev = 0;
	return move_part(fresh, link);
}

/*
 * The slot empties itself when it is let go, so who still runs the root before turns to the new one first. False if one
 * cannot: then nothing is taken over.
 */
static bool turn_links(const struct held *h, const struct held *now)
{
	const struct part *root = find(now, PIN_ROOT);
	bool all = true;

	for (size_t i = 0; i < h->n && root && id_of(h, PIN_SLOT) != id_of(now, PIN_SLOT); i++) {
		const struct part *link = &h->parts[i];

		if (link->group == LINK && !link->at.shared && filters_where(link))
			all = !bpf_link_update(link->fd, root->fd, NULL) && all;
	}
	return all;
}

/* Base and generation of one, the links of both. */
static void merge(struct held *h, struct held *now)
{
	bool successor = is_successor(h, now) && turn_links(h, now), whole = true;
	struct held *of = successor ? now : h;
	struct held fresh = {
		.context = h->context, .expected = h->expected, .number = of->number, .in_slot = of->in_slot
	};

	for (size_t i = 0; i < of->n && whole; i++)
		if (of->parts[i].group != LINK)
			whole = move_part(&fresh, &of->parts[i]);
	for (size_t i = 0; i < now->n && whole; i++) {
		const struct part *old = find(h, now->parts[i].name);

		if (now->parts[i].group != LINK)
			continue;
		now->parts[i].on_trial = old && old->is.id == now->parts[i].is.id	    ? old->on_trial
					 : now->parts[i].is.program != id_of(now, PIN_ROOT) ? now->parts[i].is.program
											    : 0;
		/* Where it was is known only while it is there. */
		if (old && old->is.id == now->parts[i].is.id && !now->parts[i].where && !h->forget)
			now->parts[i].where = old->where;
		/* A pin of old, of what is attached to nothing any more. */
		if (old && old->is.id != now->parts[i].is.id && !now->parts[i].where && filters_where(old))
			continue;
		if (now->parts[i].is.kind == (now->parts[i].at.shared ? PINNED_PROGRAM : PINNED_LINK))
			whole = move_part(&fresh, &now->parts[i]);
	}
	for (size_t i = 0; i < h->n && whole; i++)
		if (h->parts[i].group == LINK && !find_id(&fresh, h->parts[i].is.kind, h->parts[i].is.id))
			whole = keep_link(&fresh, &h->parts[i], h->forget);
	h->forget = false;
	if (!whole) { /* no memory: some were moved, all stay open */
		for (size_t i = 0; i < fresh.n; i++)
			close_fd(fresh.parts[i].fd);
		free(fresh.parts);
		return;
	}
	clear(h);
	*h = fresh;
}

/* --- What is wrong ---------------------------------------------------------------------------------------------------
 */

PRINTF(3, 4) static void say(struct held *h, unsigned int what, const char *fmt, ...)
{
	size_t n = strlen(h->faults);
	va_list args;

	h->found |= what;
	if (n)
		n += (size_t)snprintf(h->faults + n, sizeof(h->faults) - n, "; ");
	if (n >= sizeof(h->faults))
		return;
	va_start(args, fmt);
	vsnprintf(h->faults + n, sizeof(h->faults) - n, fmt, args);
	va_end(args);
}

/* Is its pin there, and is it its own? */
static bool is_right(const struct held *h, struct part *part, struct pinned *is)
{
	char path[PIN_PATH_MAX];
	struct stat st;
	int fd;

	memset(is, 0, sizeof(*is));
	pin_path(h->context, path, part->name);
	part->dev = 0;
	fd = bpf_obj_get(path);
	if (fd < 0 || pinned_info(fd, is) || is->kind != part->is.kind || is->id != part->is.id ||
	    !stands(h, part, &st)) {
		close_fd(fd);
		return false;
	}
	close(fd);
	part->dev = st.st_dev;
	part->ino = st.st_ino;
	return true;
}

static void look_at_pins(struct held *h)
{
	char text[PINNED_TEXT_MAX], gone[256] = "";
	struct pinned is;
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (h->parts[i].detached || is_right(h, &h->parts[i], &is))
			continue;
		if (is.kind) {
			say(h, HELD_PINS, "%s is %s, not ours", h->parts[i].name, pinned_text(text, &is));
		} else if (n++ < 3) {
			strncat(gone, n > 1 ? ", " : "", sizeof(gone) - strlen(gone) - 1);
			strncat(gone, h->parts[i].name, sizeof(gone) - strlen(gone) - 1);
		}
	}
	if (n > 3)
		say(h, HELD_PINS, "%s and %zu more pins are gone from %s", gone, n - 3, h->context->bpffs);
	else if (n)
		say(h, HELD_PINS, "%s %s gone from %s", gone, n > 1 ? "are" : "is", h->context->bpffs);
}

static __u32 in_slot(const struct held *h)
{
	const struct part *slot = find(h, PIN_SLOT);
	__u32 key = 0, id = 0;

	if (slot && bpf_map_lookup_elem(slot->fd, &key, &id))
		id = 0;
	return id;
}

static void look_at_links(struct held *h)
{
	char name[IF_NAMESIZE];

	for (size_t i = 0; i < h->n; i++) {
		struct part *part = &h->parts[i];
		unsigned int where = part->group == LINK ? filters_where(part) : 0;

		if (part->group != LINK)
			continue;
		part->detached = !where && part->where && if_indextoname(part->where, name);
		if (part->detached) {
			memcpy(part->at.name, name, sizeof(name));
			say(h, HELD_DETACHED, "%s is not filtered any more", name);
		} else {
			part->where = where;
		}
		if (!runs_root(h, part))
			say(h, HELD_GAP, "%s runs another program than ours", part->at.name);
	}
}

/* What can be seen without opening a pin. */
static bool is_untouched(const struct held *h)
{
	size_t links = 0, pinned = 0;
	struct dirent *entry;
	struct attachment at;
	char path[PIN_PATH_MAX];
	struct stat st;
	DIR *dir;

	if (!h->n || h->found || h->forget || h->expected || in_slot(h) != h->in_slot)
		return false;
	for (size_t i = 0; i < h->n; i++) {
		const struct part *part = &h->parts[i];

		if (!part->dev || !stands(h, part, &st) || st.st_dev != part->dev || st.st_ino != part->ino)
			return false;
		links += part->group == LINK;
		if (part->group == LINK && (filters_where(part) != part->where || !runs_root(h, part)))
			return false;
	}
	pin_path(h->context, path, PIN_LINKS);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		pinned += entry->d_name[0] != '.' && attachment_of_pin(entry->d_name, &at);
	if (dir)
		closedir(dir);
	return links == pinned;
}

unsigned int held_look(struct held *h)
{
	struct held now = { .context = h->context, .expected = h->expected };
	__u32 is;

	if (is_untouched(h))
		return 0;
	if (!take(&now) && (h->n || now.n))
		merge(h, &now);
	clear(&now);
	h->found = 0;
	h->faults[0] = '\0';
	is = in_slot(h);
	if (h->in_slot && !is)
		say(h, HELD_GAP, "the slot is empty");
	else if (is != h->in_slot)
		say(h, HELD_GAP, "the slot has another program than ours");
	look_at_links(h);
	look_at_pins(h);
	return h->found;
}

void held_expect(struct held *h, __u64 number)
{
	h->expected = number;
}

const char *held_faults(const struct held *h)
{
	return h->faults;
}

/* --- Again as it was -------------------------------------------------------------------------------------------------
 */

/* Does a command put it there, which has pinned it before? */
static bool is_of_a_command(const struct held *h)
{
	struct held now = { .context = h->context };
	bool is = take(&now) || now.number;

	clear(&now);
	return is;
}

int held_close_gap(struct held *h)
{
	const struct part *slot = find(h, PIN_SLOT), *root = find(h, PIN_ROOT),
			  *program = find_id(h, PINNED_PROGRAM, h->in_slot);
	__u32 key = 0, is = in_slot(h);
	int err = 0;

	if (slot && program && is != h->in_slot && (!is || !is_of_a_command(h)) &&
	    bpf_map_update_elem(slot->fd, &key, &program->fd, BPF_ANY))
		err = because_kernel(-errno, PIN_SLOT);
	for (size_t i = 0; i < h->n && root; i++)
		if (h->parts[i].group == LINK && !runs_root(h, &h->parts[i]) &&
		    bpf_link_update(h->parts[i].fd, root->fd, NULL))
			err = because(-errno, "%s: %s", h->parts[i].name, strerror(errno));
	return err;
}

/* Its directory is made as well; what is wrong with that shows when it is pinned. */
static int pin_part(const struct held *h, const struct part *part)
{
	char path[PIN_PATH_MAX];

	pin_path(h->context, path, part->name);
	if (part->group == GENERATION) {
		char *end = strrchr(path, '/');

		*end = '\0';
		mkdir(path, 0700);
		*end = '/';
	}
	if (unlink(path) && errno == EISDIR)
		rmdir(path);
	return bpf_obj_pin(part->fd, path) ? because_kernel(-errno, path) : 0;
}

int held_repair(struct held *h)
{
	int err = kernel_ready(h->context), one = held_close_gap(h);
	struct pinned is;

	for (size_t i = 0; i < h->n && !err; i++)
		if (!h->parts[i].detached && !is_right(h, &h->parts[i], &is))
			err = pin_part(h, &h->parts[i]);
	return err ?: one;
}

const struct attachment *held_detached(const struct held *h, size_t n, bool *by_force)
{
	const struct part *root = find(h, PIN_ROOT);
	struct stat st;

	for (size_t i = 0; i < h->n; i++) {
		if (!h->parts[i].detached || n--)
			continue;
		*by_force = stands(h, &h->parts[i], &st) || !root || !root->dev;
		return &h->parts[i].at;
	}
	return NULL;
}

void held_forget_detached(struct held *h)
{
	h->forget = h->found & HELD_DETACHED;
}

int held_open(struct held **held, const struct context *context)
{
	*held = calloc(1, sizeof(**held));
	if (!*held)
		return -ENOMEM;
	(*held)->context = context;
	return 0;
}

void held_close(struct held *h)
{
	if (h)
		clear(h);
	free(h);
}
