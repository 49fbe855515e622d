// SPDX-License-Identifier: GPL-2.0-only
#include "change/packed_change.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "sets/packed.h"
#include "sets/reader.h"
#include "state/state.h"

/* What is in force has no bogons, and the sum is of what was read. format: NULL: found by content. */
static int read_again(struct ranges *set, struct state *state, const struct list_info *list, const char *format)
{
	struct reader_options options = { .name = list->name, .format = format, .skip_bad = true };
	char path[64], error[READER_TEXT_MAX];
	struct reader_report report;
	int fd = state_text_get(state, list->name), err;

	if (fd < 0)
		return fd;
	memcpy(options.where, list->where, sizeof(options.where));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = reader_read(path, &options, set, &report, error);
	close(fd);
	return err ? because(err, "the version before: %s", error) : 0;
}

bool packed_change_sum(const struct context *context, const char *list, char sum[SHA256_TEXT])
{
	struct ranges set = RANGES_EMPTY;
	struct state *state = NULL;
	struct list_info info;
	int err = state_open(&state, context, false) ?: state_list_get(state, list, &info);

	/* Every other list has no such head, and nothing more of it is read. */
	err = err ?: info.where[0] ? -ENOENT : read_again(&set, state, &info, "packed");
	state_close(state);
	if (!err)
		packed_sum(&set, sum);
	ranges_free(&set);
	return !err;
}

int packed_change_begin(struct packed_change *change, const struct context *context, const char *list, int text)
{
	struct state *state = NULL;
	struct list_info info;
	int err;

	*change = (struct packed_change){ .is = packed_is_change(text) };
	if (!change->is)
		return 0;
	err = state_open(&state, context, false) ?: state_list_get(state, list, &info);
	if (!err)
		err = state_list_set(state, list, &change->settled)
			      ?: read_again(&change->read, state, &info, info.format[0] ? info.format : NULL);
	state_close(state);
	return err_is(err, ENOENT) ? because(-EINVAL,
					     "a change of a list, and there is no list '%s' that it could change: load"
					     " it whole, once",
					     list)
				   : err;
}

int packed_change_text(const struct ranges *set)
{
	int fd = memfd_create("list", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : packed_write(fd, set, NULL, PACKED_QUICK);

	if (!err && lseek(fd, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		return fd;
	close_fd(fd);
	return because(err, "the list that the change makes: %s", errno_text(err));
}

int packed_change_still(const struct packed_change *change, const char *list, const struct ranges *now)
{
	return !change->is || ranges_equal(&change->settled, now)
		       ? 0
		       : because(-EBUSY, "'%s' was changed meanwhile: once more", list);
}

void packed_change_end(struct packed_change *change)
{
	ranges_free(&change->read);
	ranges_free(&change->settled);
}
