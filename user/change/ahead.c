// SPDX-License-Identifier: GPL-2.0-only
#include "change/ahead.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/grow.h"
#include "base/label.h"
#include "base/state_path.h"
#include "bpf/abi.h"
#include "change/agreement.h"
#include "change/attachments.h"
#include "change/ports.h"
#include "kernel/attach.h"

/* Of the state, and the ports that it has not yet. */
struct expected {
	struct attachment *kept;
	struct interface_info *come;
	size_t kept_n, come_n;
};

static int look(struct expected *e, struct state *state)
{
	*e = (struct expected){ 0 };
	return attachments_kept(state, &e->kept, &e->kept_n) ?: ports_come(state, &e->come, &e->come_n);
}

static void let_go(struct expected *e)
{
	free(e->kept);
	free(e->come);
}

static bool is_expected(const struct expected *e, const char *name)
{
	bool is = false;

	for (size_t i = 0; i < e->kept_n; i++)
		is = is || label_is(name, e->kept[i].name, e->kept[i].match);
	for (size_t i = 0; i < e->come_n; i++)
		is = is || label_is(name, e->come[i].name, e->come[i].match);
	return is;
}

static bool has(const struct ahead *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->names[i], name))
			return true;
	return false;
}

static void add(struct ahead *a, const char *name)
{
	if (!has(a, name) && GROW(a->names, a->n))
		snprintf(a->names[a->n++], sizeof(*a->names), "%s", name);
}

static int file_open(const struct context *context, int flags)
{
	char path[STATE_PATH_MAX];

	return open(state_path(path, context->state, STATE_AHEAD), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* For whoever restores next, where we end before we have asked. Where it cannot be written, we alone know it. */
static void keep(struct ahead *a, const char *name)
{
	int fd = has(a, name) ? -1 : file_open(a->context, O_WRONLY | O_CREAT | O_APPEND);

	if (fd >= 0)
		dprintf(fd, "%s\n", name);
	close_fd(fd);
	add(a, name);
}

/* No name of an interface has a blank in it. */
void ahead_take(struct ahead *a)
{
	char name[IF_NAMESIZE];
	int fd = file_open(a->context, O_RDONLY);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");

	_Static_assert(IF_NAMESIZE == 16, "as the line below");
	while (in && fscanf(in, "%15s", name) == 1)
		add(a, name);
	if (in)
		fclose(in);
	else
		close_fd(fd);
}

bool ahead_begins(const struct ahead *a, const char *label)
{
	return has(a, label) || !attach_is_filtered(a->context, label);
}

static int detach_unexpected(struct ahead *a, const struct expected *e)
{
	int err = 0;

	for (size_t i = 0; i < a->n && !err; i++)
		err = is_expected(e, a->names[i]) ? 0 : detach_again(a->context, a->names[i]);
	return err;
}

/* Another one was attached under its name. Whoever detaches takes that pin away before he waits for the lock. */
static bool has_come_back(const struct attachment *list, size_t n, const char *name)
{
	bool was = false;

	for (size_t i = 0; i < n; i++) {
		if (MATCH_LEAVES(list[i].match))
			continue;
		if (!list[i].gone && !list[i].moved && !strcmp(list[i].name, name))
			return false;
		was = was || !strcmp(list[i].as, name);
	}
	return was;
}

/*
 * By the root that all have: those for other addresses come and go with what uses them, under the lock, and behind a
 * dispatcher the generation itself runs. What cannot be attached is said by who has the lock.
 */
static void attach(struct ahead *a, struct state *state, struct attachment at)
{
	if (at.match != MATCH_SOURCE || at.shared || !if_nametoindex(at.name) ||
	    state_pending_has(state, PENDING_INTERFACE, at.name))
		return;
	keep(a, at.name);
	if (!attach_one(a->context, &at))
		attachment_warn(&at);
}

static void attach_all(struct ahead *a, struct state *state, const struct expected *e)
{
	struct attachment *list = NULL;
	size_t n = 0;
	int err = attach_list(a->context, &list, &n);

	for (size_t i = 0; i < e->kept_n && !err; i++)
		if (has_come_back(list, n, e->kept[i].name))
			attach(a, state, e->kept[i]);
	for (size_t i = 0; i < e->come_n && !err; i++)
		if (!has(a, e->come[i].name) || has_come_back(list, n, e->come[i].name))
			attach(a, state, attachment_kept(&e->come[i]));
	free(list);
}

void ahead_attach(void *ahead)
{
	struct ahead *a = ahead;
	struct context own = *a->context;
	struct state *state = NULL;
	struct expected e = { 0 };
	struct generation live;
	enum agreement is = NOTHING_LIVE;

	own.wait = 0;
	/* The kernel first: whoever changes something commits the state before it. */
	if (!kernel_live(&own, &live) && !state_open(&state, &own, false))
		is = agreement(state, &live);
	if ((is == AGREED || is == BEHIND) && !look(&e, state) && !detach_unexpected(a, &e))
		attach_all(a, state, &e);
	let_go(&e);
	state_close(state);
}

int ahead_settle(struct ahead *a, struct state *state)
{
	struct expected e = { 0 };
	int err;

	ahead_take(a);
	err = a->n ? look(&e, state) ?: detach_unexpected(a, &e) : 0;

	let_go(&e);
	return err;
}

bool ahead_waits(const struct context *context)
{
	char path[STATE_PATH_MAX];

	return !access(state_path(path, context->state, STATE_AHEAD), F_OK);
}

void ahead_asked(const struct context *context)
{
	char path[STATE_PATH_MAX];

	unlink(state_path(path, context->state, STATE_AHEAD));
}
