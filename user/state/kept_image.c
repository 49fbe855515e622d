// SPDX-License-Identifier: GPL-2.0-only
#include "state/kept_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/arrays.h"
#include "image/image.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/state_path.h"
#include "state/internal.h"
#include "state/settings.h"

#define SETTING_IMAGE "image"

static const char *kept_path(char path[STATE_PATH_MAX], const struct state *s, uint64_t number)
{
	char name[32];

	snprintf(name, sizeof(name), STATE_IMAGE "%llu", (unsigned long long)number);
	return state_path(path, s->directory, name);
}

uint64_t image_kept(struct state *state)
{
	return (uint64_t)state_setting(state, SETTING_IMAGE, 0);
}

int image_kept_open(struct state *state, struct image *image, bool whole)
{
	uint64_t number = image_kept(state);
	char path[STATE_PATH_MAX];

	if (!number)
		return -ENOENT;
	kept_path(path, state, number);
	return image_open(image, path, path, whole);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* So many bytes, though the file may grow meanwhile. */
static int copy(int from, int to, size_t left)
{
	char buf[1 << 16];
	ssize_t got = 0;

	/* Where the file system can share the blocks, it does. */
	while (left && (got = copy_file_range(from, NULL, to, NULL, least(left, (size_t)1 << 30), 0)) > 0)
		left -= (size_t)got;
	if (got < 0 && errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	for (; got && left && (got = read(from, buf, least(left, sizeof(buf)))) > 0; left -= (size_t)got)
		for (ssize_t done = 0; done < got;) {
			ssize_t now = write(to, buf + done, (size_t)(got - done));

			if (now < 0)
				return -errno;
			done += now;
		}
	return got < 0 ? -errno : 0;
}

static int sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 || fsync(fd) ? -errno : 0;

	close_fd(fd);
	return err;
}

void state_drop_new_image(struct state *s)
{
	char path[STATE_PATH_MAX];

	if (s->new_image)
		unlink(kept_path(path, s, s->new_image));
	s->new_image = 0;
}

/* Under a number that no copy has: the image in force stays until another is committed. */
static int create(struct state *s, char path[STATE_PATH_MAX])
{
	uint64_t number = image_kept(s);
	int fd;

	do {
		fd = open(kept_path(path, s, ++number), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd < 0 && errno == EEXIST);
	if (fd >= 0)
		s->new_image = number;
	return fd < 0 ? -errno : fd;
}

/* The file may change at any time: from here on only the copy is read. */
static int copy_in(struct state *s, const char *path, size_t size, char to[STATE_PATH_MAX])
{
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fd = -1, err;

	if (from < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	fd = create(s, to);
	err = fd < 0 ? fd : copy(from, fd, size);
	if (!err && (fsync(fd) || sync_directory(s->directory)))
		err = -errno;
	if (err)
		err = because(err, "keeping a copy of the image in %s: %s", s->directory, errno_text(err));
	close(from);
	close_fd(fd);
	return err;
}

int image_fits(struct state *state, const struct image *image)
{
	unsigned long long needs = arrays_total(&image->g), limit = settings_limited(state).memory_max;

	return needs > limit
		       ? because(-E2BIG, "this image needs %llu bytes in the kernel; the limit is %llu", needs, limit)
		       : 0;
}

int image_keep(struct state *state, const char *path, struct image *image)
{
	int err = image_open(image, path, path, false);
	size_t size = image->size;
	char to[STATE_PATH_MAX];

	/* Do not copy a file that is no image, or one that is too large. */
	err = err ?: image_fits(state, image);
	image_close(image);
	state_drop_new_image(state); /* in a batch the last one counts */
	return err ?:
	       copy_in(state, path, size, to) ?:
	       image_open(image, to, path, true) ?:
	       state_set(state, SETTING_IMAGE, (double)state->new_image);
}

int image_leave(struct state *state)
{
	return state_set(state, SETTING_IMAGE, 0);
}

int image_before(const struct state *s, uint64_t *number)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT before FROM pending WHERE kind = 4 AND before NOT NULL");
	int code = stmt ? sqlite3_step(stmt) : SQLITE_DONE;

	*number = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
	return state_end(s, stmt, code);
}

int image_before_open(struct state *state, struct image *image)
{
	char path[STATE_PATH_MAX];
	uint64_t number;
	int err = image_before(state, &number);

	if (err || !number)
		return err ?: -ENOENT;
	kept_path(path, state, number);
	return image_open(image, path, path, false);
}

void image_sweep(const struct state *state, uint64_t kept)
{
	struct dirent *entry;
	uint64_t before, number;
	DIR *dir;

	/* What cannot be read may need any of them. */
	if (state_settings_fault(state) || image_before(state, &before))
		return;
	dir = opendir(state->directory);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, STATE_IMAGE, strlen(STATE_IMAGE)) != 0)
			continue;
		number = strtoull(entry->d_name + strlen(STATE_IMAGE), NULL, 10);
		if (number != kept && number != before)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

/* Live exceptions stand beside an image, too. */
static int add_exceptions(struct state *state, struct list_info **lists, size_t *n)
{
	struct list_info *kept, *grown;
	size_t kept_n;
	int err = state_lists(state, &kept, &kept_n);

	for (size_t i = 0; i < kept_n && !err; i++) {
		if (list_counts(&kept[i]))
			continue;
		grown = reallocarray(*lists, *n + 1, sizeof(*grown));
		if (grown) {
			*lists = grown;
			grown[(*n)++] = kept[i];
		} else {
			err = -ENOMEM;
		}
	}
	free(kept);
	return err;
}

int lists_in_force(struct state *state, struct list_info **lists, size_t *n)
{
	struct image image;
	int err = image_kept_open(state, &image, false);

	if (err_is(err, ENOENT) && !image_kept(state))
		return state_lists(state, lists, n);
	*lists = NULL;
	*n = 0;
	if (err)
		/* The filter goes on without the names, and so do commands that ask for something else. */
		warn("the names of lists are gone: %s", reason(err));
	else
		err = image_lists(&image, lists, n);
	image_close(&image);
	return err_is(err, ENOMEM) ? err : add_exceptions(state, lists, n);
}
