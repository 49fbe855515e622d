// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/held_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "kernel/dispatcher.h"
#include "kernel/tc.h"

struct part *held_find(const struct held *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->parts[i].name, name))
			return &h->parts[i];
	return NULL;
}

const struct part *held_find_id(const struct held *h, enum pinned_kind kind, __u32 id)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->parts[i].is.kind == kind && h->parts[i].is.id == id)
			return &h->parts[i];
	return NULL;
}

__u32 held_id_of(const struct held *h, const char *name)
{
	const struct part *part = held_find(h, name);

	return part ? part->is.id : 0;
}

const struct part *held_generation_part(const struct held *h, const char *what)
{
	char name[sizeof(h->parts->name)];

	snprintf(name, sizeof(name), "%s/%llu/%s", PIN_GENERATIONS, (unsigned long long)h->number, what);
	return held_find(h, name);
}

void held_clear(struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		close_fd(h->parts[i].fd);
	free(h->parts);
	h->parts = NULL;
	h->n = 0;
}

__u32 held_in_slot(const struct held *h, unsigned int match)
{
	const struct part *slot = held_find(h, match_pins[match].slot);
	__u32 key = 0, id = 0;

	if (slot && slot->is.type == BPF_MAP_TYPE_PROG_ARRAY && slot->is.max_entries == 1 &&
	    bpf_map_lookup_elem(slot->fd, &key, &id))
		id = 0;
	return id;
}

unsigned int held_filters_where(const struct held *h, const struct part *part)
{
	struct pinned now;

	if (part->at.shared)
		return shared_where(part->where ?: if_nametoindex(part->at.name), part->is.id);
	/* What cannot be asked is as it was. */
	return attachment_runs(h->context, &part->at, part->fd, part->where, &now) ? part->where : now.ifindex;
}

bool held_stands(const struct held *h, const struct part *part, struct stat *st)
{
	char path[PIN_PATH_MAX];

	pin_path(h->context, path, part->name);
	return !lstat(path, st);
}

/* Its file is looked at before and afterwards: another may be put there in between. */
int held_get(const struct held *h, const struct part *part, struct stat *st)
{
	char path[PIN_PATH_MAX];
	struct stat before;
	bool was = held_stands(h, part, &before);
	int fd;

	pin_path(h->context, path, part->name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (was && held_stands(h, part, st) && st->st_dev == before.st_dev && st->st_ino == before.st_ino)
		return fd;
	close(fd);
	return -EAGAIN;
}

const struct part *held_root(const struct held *h, const struct part *link)
{
	return held_find(h, link->at.bare ? match_pins[link->at.match].bare : match_pins[link->at.match].root);
}

bool held_is_root(const struct held *h, __u32 id)
{
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		if (id && (held_id_of(h, match_pins[m].root) == id || held_id_of(h, match_pins[m].bare) == id))
			return true;
	return false;
}

/* What an interface is the first to need comes later than the others, and is not known before it has been seen. */
bool held_runs_root(const struct held *h, const struct part *link)
{
	const struct part *root = held_root(h, link);
	struct pinned now;

	return link->at.shared || attachment_runs(h->context, &link->at, link->fd, link->where, &now) || !now.ifindex ||
	       (root ? now.program == root->is.id : link->at.bare || link->at.match) || now.program == link->on_trial;
}

const struct attachment *held_detached(const struct held *h, size_t n, bool *by_force)
{
	const struct part *root = held_find(h, PIN_ROOT);
	struct stat st;

	for (size_t i = 0; i < h->n; i++) {
		if (!h->parts[i].detached || n--)
			continue;
		*by_force = held_stands(h, &h->parts[i], &st) || !root || !root->dev;
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
		held_clear(h);
	free(h);
}
