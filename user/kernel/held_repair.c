// SPDX-License-Identifier: GPL-2.0-only
/* Again as it was. */
#include "kernel/held_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "kernel/tc.h"
#include "kernel/root.h"

/* Does a command put it there, which has pinned it before? */
static bool is_of_a_command(const struct held *h)
{
	struct held now = { .context = h->context };
	bool is = held_take(&now) || now.number;

	held_clear(&now);
	return is;
}

/* locked: no command is at work. */
static int fill_slot(struct held *h, unsigned int match, bool locked)
{
	const struct part *slot = held_find(h, match_pins[match].slot),
			  *program = held_find_id(h, PINNED_PROGRAM, h->in_slot[match]);
	__u32 key = 0, is = held_in_slot(h, match);

	if (slot && program && is != h->in_slot[match] && (!is || locked || !is_of_a_command(h)) &&
	    bpf_map_update_elem(slot->fd, &key, &program->fd, BPF_ANY))
		return because_kernel(-errno, match_pins[match].slot);
	return 0;
}

int held_close_gap(struct held *h)
{
	int err = 0, one;

	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		if ((one = fill_slot(h, m, false)))
			err = one;
	for (size_t i = 0; i < h->n; i++) {
		const struct part *link = &h->parts[i], *root = link->group == LINK ? held_root(h, link) : NULL;

		if (!root || held_runs_root(h, link))
			continue;
		one = attachment_turn(h->context, &link->at, link->fd, link->where, root->fd);
		if (one)
			err = because(one, "%s: %s", link->name, errno_text(one));
	}
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
	pin_remove(path);
	return bpf_obj_pin(part->fd, path) ? because_kernel(-errno, path) : 0;
}

int held_repair(struct held *h)
{
	int err = kernel_ready(h->context), one = held_close_gap(h), filled;
	struct pinned is;

	/* Of a command that was killed: what is in the first slot is in force. */
	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS; m++)
		if ((filled = fill_slot(h, m, true)))
			one = filled;
	for (size_t i = 0; i < h->n && !err; i++)
		if (!h->parts[i].detached && !held_is_right(h, &h->parts[i], &is))
			err = pin_part(h, &h->parts[i]);
	return err ?: one;
}
