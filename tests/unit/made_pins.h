/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins of what made_maps.h makes: a table of paths, and objects whose programs and maps are made when they are loaded.
 */
#ifndef MADE_PINS_H
#define MADE_PINS_H

#include "made_maps.h"

#include "kernel/live.h"

static struct {
	char path[2 * PIN_PATH_MAX];
	struct made_map *is;
} made_pins[64];
static size_t made_pins_n;

static size_t made_pin_at(const char *path)
{
	size_t at = 0;

	while (at < made_pins_n && strcmp(made_pins[at].path, path) != 0)
		at++;
	return at;
}

static void made_pin(const char *path, struct made_map *is)
{
	if (made_pins_n == sizeof(made_pins) / sizeof(made_pins[0]))
		abort();
	snprintf(made_pins[made_pins_n].path, sizeof(made_pins[0].path), "%s", path);
	made_pins[made_pins_n++].is = is;
}

__attribute__((unused)) static struct made_map *made_pin_old(const char *path, const char *name, __u32 type)
{
	struct made_map *is = made_new(name, type, 4, 4, 1);

	is->old = true;
	is->program = !type;
	made_pin(path, is);
	return is;
}

static int made_get(const char *path)
{
	size_t at = made_pin_at(path);

	if (at == made_pins_n) {
		errno = ENOENT;
		return -ENOENT;
	}
	return made_fd(made_pins[at].is);
}

__attribute__((unused)) static int given_obj_get(const char *path)
{
	return fails("bpf_obj_get") ? -errno : made_get(path);
}

__attribute__((unused)) static int given_obj_pin(int fd, const char *path)
{
	if (fails("bpf_obj_pin"))
		return -errno;
	does("pin %s at %s", made_text(fd), path);
	if (made_pin_at(path) < made_pins_n) {
		errno = EEXIST;
		return -EEXIST;
	}
	made_pin(path, made_of(fd));
	return 0;
}

__attribute__((unused)) static int given_unlink(const char *path)
{
	size_t at = made_pin_at(path);

	if (fails("unlink"))
		return -1;
	if (at == made_pins_n) {
		errno = ENOENT;
		return -1;
	}
	does("remove %s", path);
	made_pins_n--;
	memmove(&made_pins[at], &made_pins[at + 1], (made_pins_n - at) * sizeof(made_pins[0]));
	return 0;
}

__attribute__((unused)) static int given_access(const char *path, int how)
{
	if (how != F_OK)
		printf(" not whether it is there: %s\n", path);
	return made_pin_at(path) < made_pins_n ? 0 : -1;
}

__attribute__((unused)) static int given_shared_map(const struct context *context, const char *name)
{
	char path[PIN_PATH_MAX];

	if (fails("pin_shared_map"))
		return -errno;
	pin_path(context, path, name);
	return made_get(path);
}

__attribute__((unused)) static int given_pin_get(const struct context *context, const char *name)
{
	char path[PIN_PATH_MAX];

	if (fails("pin_get"))
		return -errno;
	pin_path(context, path, name);
	return made_get(path);
}

/* A directory is its path, and the names in it that were not told yet: those of files are by the table's order. */
static char made_directory[PIN_PATH_MAX];
static size_t made_next;

__attribute__((unused)) static DIR *given_directory(const struct context *context, const char *name)
{
	pin_path(context, made_directory, name);
	made_next = 0;
	return fails("pin_directory") ? NULL : (DIR *)(void *)made_directory;
}

__attribute__((unused)) static const char *given_next(DIR **dir)
{
	static char name[2 * PIN_PATH_MAX];
	size_t n = strlen(made_directory);

	for (; *dir && made_next < made_pins_n; made_next++) {
		const char *path = made_pins[made_next].path;

		if (strncmp(path, made_directory, n) != 0 || path[n] != '/')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(path + n + 1, "/"), path + n + 1);
		made_next++;
		return name;
	}
	*dir = NULL;
	return NULL;
}

/* --- Objects --- */

struct bpf_program {
	const char *name;
	bool loads, loaded;
	int fd;
};

struct bpf_map {
	const char *name;
	bool made, reused;
	__u32 type, value_size;
	int fd;
};

struct bpf_object {
	struct bpf_program *programs;
	size_t n_programs;
	struct bpf_map *maps;
	size_t n_maps;
};

static int objects_open;

/* What is to be loaded is loaded, and its maps are made. */
__attribute__((unused)) static int made_load(struct bpf_object *object, const char *how)
{
	if (fails("load"))
		return -errno;
	for (size_t i = 0; i < object->n_maps; i++)
		if (!object->maps[i].reused) {
			object->maps[i].fd = made_fd(
				made_new(object->maps[i].name, object->maps[i].type, 4, object->maps[i].value_size, 1));
			object->maps[i].made = true;
		}
	if (!fail_at && !quiet)
		printf(" load%s:", how);
	for (size_t i = 0; i < object->n_programs; i++) {
		struct bpf_program *at = &object->programs[i];
		struct made_map *is;

		if (!at->loads)
			continue;
		if (!fail_at && !quiet)
			printf(" %s", at->name);
		is = made_new(at->name, 0, 0, 0, 0);
		is->program = true;
		at->loaded = true;
		at->fd = made_fd(is);
	}
	if (!fail_at && !quiet)
		putchar('\n');
	return 0;
}

__attribute__((unused)) static void given_object_close(struct bpf_object *object)
{
	for (size_t i = 0; i < object->n_maps; i++)
		if (object->maps[i].made)
			given_close(object->maps[i].fd);
	for (size_t i = 0; i < object->n_programs; i++)
		if (object->programs[i].loaded)
			given_close(object->programs[i].fd);
	objects_open--;
	does("the object is closed");
}

__attribute__((unused)) static struct bpf_program *given_program_called(const struct bpf_object *object,
									const char *name)
{
	for (size_t i = 0; i < object->n_programs; i++)
		if (!strcmp(object->programs[i].name, name))
			return &object->programs[i];
	printf(" no program %s\n", name);
	return NULL;
}

__attribute__((unused)) static struct bpf_map *given_map_called(const struct bpf_object *object, const char *name)
{
	for (size_t i = 0; i < object->n_maps; i++)
		if (!strcmp(object->maps[i].name, name))
			return &object->maps[i];
	printf(" no map %s\n", name);
	return NULL;
}

__attribute__((unused)) static int given_map_fd_called(const struct bpf_object *object, const char *name)
{
	return given_map_called(object, name)->fd;
}

__attribute__((unused)) static int given_map_fd(const struct bpf_map *map)
{
	return map->fd;
}

__attribute__((unused)) static int given_program_fd(const struct bpf_program *program)
{
	return program->loaded ? program->fd : -1;
}

__attribute__((unused)) static int given_autoload(struct bpf_program *program, bool loads)
{
	program->loads = loads;
	return 0;
}

__attribute__((unused)) static int given_reuse(struct bpf_map *map, int fd)
{
	if (fails("bpf_map__reuse_fd"))
		return -errno;
	does("the object has %s for %s", made_text(fd), map->name);
	map->reused = true;
	map->fd = fd;
	return 0;
}

__attribute__((unused)) static void made_pins_begin(void)
{
	made_pins_n = 0;
	objects_open = 0;
}

#endif
