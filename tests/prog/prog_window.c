// SPDX-License-Identifier: GPL-2.0-only
/* Windows on maps that are kept: the same map has the same memory again, whatever became of it, and no other map has.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/map_window.h"
#include "kernel/pins.h"
#include "ktap.h"

#define BYTES (1u << 20)

static int new_map(unsigned int bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "window", 4, bytes, 1, &opts);

	CHECK(fd >= 0, "a map: %s", strerror(errno));
	return fd;
}

/* Bytes of maps that this process has mapped. */
static size_t mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512];
	size_t bytes = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "bpf-map") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			bytes += to - from;
	if (maps)
		fclose(maps);
	return bytes;
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void not_kept(void)
{
	int map = new_map(BYTES);
	char *at = map < 0 ? MAP_FAILED : window_open(map, BYTES);

	if (at == MAP_FAILED)
		return;
	at[0] = 1;
	window_close(at, BYTES);
	CHECK(!mapped(), "%zu bytes are mapped, though nobody asked that they are kept", mapped());
	close(map);
}

static void kept(void)
{
	int free_before = lowest_free(), map = new_map(BYTES), other = new_map(BYTES), again;
	char *at = map < 0 || other < 0 ? MAP_FAILED : window_open(map, BYTES), *second;
	unsigned int key = 0;
	static char value[BYTES];
	struct pinned is;
	size_t once;

	if (at == MAP_FAILED)
		return;
	at[BYTES / 2] = 1;
	once = mapped();
	CHECK(once && once < BYTES, "%zu bytes are mapped", once);
	window_close(at, BYTES);
	CHECK(mapped() == once, "not kept");
	CHECK(!pinned_info(map, &is), "its number");
	/* By another descriptor, after somebody has written into it. */
	value[BYTES / 2] = 2;
	value[7] = 3;
	CHECK(!bpf_map_update_elem(map, &key, value, BPF_ANY), "%s", strerror(errno));
	close(map);
	again = bpf_map_get_fd_by_id(is.id);
	CHECK(again >= 0, "the map is gone");
	second = window_open(again, BYTES);
	CHECK(second == at && mapped() == once, "mapped anew: %zu bytes in place of %zu", mapped(), once);
	CHECK(second[BYTES / 2] == 2 && second[7] == 3, "what is in it is %d and %d", second[BYTES / 2], second[7]);
	/* Open, it is nobody else's, and no other forgets it. */
	at = window_open(other, BYTES);
	CHECK(at != second && !at[BYTES / 2] && !at[7], "the other has what is in the first");
	CHECK(second[7] == 3, "the first is gone");
	at[7] = 4;
	window_close(second, BYTES);
	close(again);
	window_close(at, BYTES);
	/* What is small is mapped each time, and is no reason to forget. */
	again = new_map(4096);
	second = window_open(again, 4096);
	CHECK(second != MAP_FAILED && !second[7], "a small one");
	window_close(second, 4096);
	close(again);
	second = window_open(other, BYTES);
	CHECK(second == at && second[7] == 4, "forgotten");
	window_close(second, BYTES);
	/* Another generation's: those before are of no use. */
	again = new_map(BYTES);
	second = window_open(again, BYTES);
	CHECK(second != MAP_FAILED && !mapped(), "%zu bytes of maps before are mapped", mapped());
	CHECK(!second[7] && mapped(), "not mapped, or with what is in another");
	window_close(second, BYTES);
	close(again);
	close(other);
	windows_forget();
	CHECK(!mapped(), "%zu bytes are mapped in the end", mapped());
	CHECK(lowest_free() == free_before, "descriptor %d is still open", lowest_free() - 1);
}

/* A map is in memory while somebody has it mapped. */
static void too_large(void)
{
	size_t bytes = (64u << 20) + 4096;
	int map = new_map((unsigned int)bytes), before = new_map(BYTES);
	char *at = map < 0 || before < 0 ? MAP_FAILED : window_open(before, BYTES);

	if (at == MAP_FAILED)
		return;
	at[0] = 1;
	window_close(at, BYTES);
	at = window_open(map, bytes);
	CHECK(at != MAP_FAILED && !mapped(), "%zu bytes of maps before are mapped", mapped());
	close(before);
	at[0] = 1;
	window_close(at, bytes);
	CHECK(!mapped(), "%zu bytes of a large one are kept", mapped());
	close(map);
}

static void all_of_it(void)
{
	not_kept();
	windows_keep();
	kept();
	too_large();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "kept windows", all_of_it } };

	if (geteuid()) {
		printf("TAP version 13\n1..0 # SKIP needs root\n");
		return KTAP_SKIP;
	}
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
