// SPDX-License-Identifier: GPL-2.0-only
#include "state/far_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/close_fd.h"
#include "base/new_file.h"
#include "state/internal.h"

/* In its file an address a line: what is none says nothing. */
int far_ends_kept(const struct state *state, struct ranges *ends)
{
	char path[STATE_PATH_MAX], line[PREFIX_TEXT_MAX];
	int fd =
		open(state_path(path, state->directory, STATE_TUNNELS), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct addr end;
	int err = 0;

	*ends = RANGES_EMPTY;
	while (file && !err && fgets(line, sizeof(line), file))
		if (!addr_parse(line, strcspn(line, "\n"), &end))
			err = ranges_add_prefix(ends, end, addr_width(end.family));
	if (file)
		fclose(file);
	else
		close_fd(fd);
	err = err ?: ranges_finish(ends);
	if (err)
		ranges_free(ends);
	return err;
}

void far_ends_each(const struct ranges *ends, far_end_fn *each, void *arg)
{
	for (size_t i = 0; i < ends->n4; i++)
		for (uint64_t at = ends->v4[i].lo; at <= ends->v4[i].hi; at++)
			each(arg, (struct addr){ at, 4 });
	for (size_t i = 0; i < ends->n6; i++)
		for (ip6 n = ends->v6[i].hi - ends->v6[i].lo, at = 0; at <= n; at++)
			each(arg, (struct addr){ ends->v6[i].lo + at, 6 });
}

struct to {
	int fd, err;
};

static void put(void *arg, struct addr end)
{
	struct to *to = arg;

	if (dprintf(to->fd, "%s\n", prefix_text((char[PREFIX_TEXT_MAX]){ 0 }, end, -1)) < 0)
		to->err = -errno;
}

void far_ends_keep(const struct state *state, const struct ranges *ends)
{
	char path[STATE_PATH_MAX];
	struct new_file file;
	struct to to = { 0 };

	if (new_file_begin(&file, state_path(path, state->directory, STATE_TUNNELS)))
		return;
	to.fd = file.fd;
	far_ends_each(ends, put, &to);
	new_file_end(&file, 0600, to.err);
}
