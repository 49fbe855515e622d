// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/live.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "kernel/pins.h"

/* The number of the generation whose program is in the slot, or -ENOENT; *in_slot is the program's, 0 for none. */
static int live_number(__u64 *number, __u32 *in_slot)
{
	/* The kernel gives no program the number of another: what was found out once stays true. */
	static __u32 known_id;
	static __u64 known;
	struct bpf_prog_info info;
	__u32 key = 0, id = 0, size = sizeof(info);
	int slot = pin_get(PIN_SLOT), err = -ENOENT;
	struct dirent *entry;
	char path[256];
	DIR *dir;

	*in_slot = 0;
	if (slot < 0)
		return slot;
	if (bpf_map_lookup_elem(slot, &key, &id)) {
		close(slot);
		return -ENOENT;
	}
	close(slot);
	*in_slot = id;
	if (id == known_id) {
		*number = known;
		return 0;
	}
	pin_path(path, sizeof(path), PIN_GENERATIONS);
	dir = opendir(path);
	while (dir && err && (entry = readdir(dir))) {
		__u64 candidate = strtoull(entry->d_name, NULL, 10);
		int fd;

		pin_generation_path(path, sizeof(path), candidate, PIN_PROGRAM);
		fd = entry->d_name[0] == '.' ? -1 : bpf_obj_get(path);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && info.id == id) {
			*number = known = candidate;
			known_id = id;
			err = 0;
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* A rotation a look would have to come in between each time. */
#define LOOKS 10

/* A pin of the generation in force. Whoever holds no lock finds it gone where another has come meanwhile: that one's.
 */
int live_pin(const char *name)
{
	__u32 id = 0, before;
	int fd, looks = 0;

	do {
		__u64 number;
		char path[256];

		before = id;
		fd = live_number(&number, &id);
		if (fd)
			continue;
		pin_generation_path(path, sizeof(path), number, name);
		fd = bpf_obj_get(path);
		if (fd < 0)
			fd = -errno;
	} while (err_is(fd, ENOENT) && id && id != before && ++looks < LOOKS);
	return fd;
}

int kernel_live_meta(void)
{
	return live_pin(PIN_META);
}

int kernel_live_program(void)
{
	return live_pin(PIN_PROGRAM);
}

int kernel_age(double *seconds)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	struct timespec now;
	int fd = kernel_live_program(), err;

	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &size) ? -errno : 0;
	close(fd);
	clock_gettime(CLOCK_BOOTTIME, &now);
	*seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)info.load_time / 1e9;
	return err;
}

int kernel_live(struct generation *g)
{
	struct bpf_map_info info;
	__u32 key = 0, size = sizeof(info);
	int fd = live_pin(PIN_META), err;

	if (fd < 0)
		return fd;
	/* The structure may have had another size then: the kernel would write past ours. */
	memset(&info, 0, sizeof(info));
	err = bpf_obj_get_info_by_fd(fd, &info, &size) ? -errno : 0;
	if (!err && info.value_size == sizeof(*g))
		err = bpf_map_lookup_elem(fd, &key, g) ? -errno : 0;
	if (!err && (info.value_size != sizeof(*g) || g->version != GENERATION_VERSION))
		err = because(
			-EPROTO,
			"another version of xdp-bloom put the filter in force; 'xdp-bloom rotate' builds it anew");
	if (err)
		memset(g, 0, sizeof(*g));
	close(fd);
	return err;
}

unsigned long long kernel_live_generation(void)
{
	struct generation live;

	return kernel_live(&live) ? 0 : live.number;
}

int kernel_live_maps(const struct generation *g, int maps[ARRAYS])
{
	int err = 0;

	for (enum array a = 0; a < ARRAYS; a++) {
		maps[a] = array_bytes(g, a) && !err ? live_pin(array_kinds[a].name) : -1;
		if (maps[a] < -1)
			err = because_kernel(maps[a], array_kinds[a].name);
	}
	return err;
}
