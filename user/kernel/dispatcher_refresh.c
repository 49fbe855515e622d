// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/dispatcher_refresh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/dispatcher.h"

/* A directory beside the pin marks an exchange that goes on. */
static void exchange_path(const struct context *context, char path[PIN_PATH_MAX], const struct attachment *at)
{
	attachment_path(context, path, at);
	strncat(path, "%exchange", PIN_PATH_MAX - strlen(path) - 1);
}

/* True if that cannot be found out: then nothing is taken out. */
static bool is_pinned(const struct context *context, __u32 id)
{
	struct attachment *list;
	char pin[PIN_PATH_MAX];
	bool is = false;
	size_t n;

	if (attach_list(context, &list, &n))
		is = true;
	for (size_t i = 0; i < n && !is; i++) {
		attachment_path(context, pin, &list[i]);
		is = list[i].shared && shared_id(pin) == id;
	}
	free(list);
	return is;
}

int attach_sweep(const struct context *context, const struct attachment *at)
{
	char pin[PIN_PATH_MAX];

	attachment_path(context, pin, at);
	return shared_sweep(context, at->name, at->ifindex, pin, is_pinned);
}

int attach_end_exchange(const struct context *context, const struct attachment *at)
{
	char path[PIN_PATH_MAX];
	int err;

	exchange_path(context, path, at);
	if (access(path, F_OK))
		return 0;
	err = at->ifindex ? attach_sweep(context, at) : 0;
	if (!err)
		rmdir(path);
	return err;
}

/* The new program first: for a moment both run, and all that either bans is dropped. */
static int refresh_one(const struct context *context, struct attachment *at)
{
	char pin[PIN_PATH_MAX], path[PIN_PATH_MAX];
	int err;

	attachment_path(context, pin, at);
	exchange_path(context, path, at);
	if (mkdir(path, 0700) && errno != EEXIST)
		return because(-errno, "%s: %s", path, strerror(errno));
	err = shared_attach(context, at, (int)at->ifindex, pin);
	if (!err)
		return attach_end_exchange(context, at);
	rmdir(path);
	return err;
}

int attach_may_refresh(const struct attachment *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].shared && !list[i].gone)
			return shared_allowed(list[i].name);
	return 0;
}

void attach_refresh(const struct context *context, struct attachment *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int err = list[i].shared && !list[i].gone ? refresh_one(context, &list[i]) : 0;

		if (err)
			warn("%s; there the generation before is still in force: xdp-bloom rotate", reason(err));
	}
}

/* By the names alone: looking at each pin takes time in every command. */
static bool any_shared(const struct context *context)
{
	DIR *dir = pin_directory(context, PIN_LINKS);
	const char *name;
	bool any = false;

	while ((name = pin_next(&dir)))
		any = any || strstr(name, ATTACH_SHARED);
	return any;
}

void attach_catch_up(const struct context *context)
{
	struct attachment *list = NULL;
	char pin[PIN_PATH_MAX];
	size_t n = 0;

	if (any_shared(context) && attach_list(context, &list, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		int err = 0;

		attachment_path(context, pin, &list[i]);
		if (list[i].shared && !list[i].gone)
			err = shared_is_live(context, pin) ? attach_end_exchange(context, &list[i])
							   : refresh_one(context, &list[i]);
		if (err)
			warn("%s; there a generation before is still in force", reason(err));
	}
	free(list);
}
