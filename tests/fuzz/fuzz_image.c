// SPDX-License-Identifier: GPL-2.0-only
/* Bytes as an image whose checksum is right: refused, or harmless whatever it is asked. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "filter/build.h"
#include "images.h"
#include "sets/owned.h"
#include "filter/plan_sizes.h"
#include "image/write.h"
#include "filter/measured_rate.h"
#include "state/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct list_info *lists;
	unsigned char *bytes;
	struct image image;
	struct rate rate;
	void *memory = NULL;
	size_t n;

	if (posix_memalign(&memory, IMAGE_ALIGN, size ? size : 1))
		return 0;
	bytes = memory;
	memcpy(bytes, data, size);
	/* As it is, and as an attacker makes it who computes the checksum. */
	image_parse(&image, "it", bytes, size, true);
	image_forge(bytes, size);
	if (!image_parse(&image, "it", bytes, size, true)) {
		image_ask(&image, size);
		rate_measure(&image.g, &rate);
		if (!image_lists(&image, &lists, &n))
			free(lists);
	}
	free(bytes);
	return 0;
}

/* Small images to begin with: without gates, which are megabytes. */
static void seed(const char *directory, int family, bool exact)
{
	static const struct list_info lists[] = {
		{ .name = "one", .kind = LIST_BAN, .label = 1, .addresses = "12", .loaded = "2026-01-01T00:00:00Z" }
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY, none = RANGES_EMPTY;
	struct account account = { &set, 1 };
	struct generation g;
	struct image_source source = { .g = &g, .lists = lists, .lists_n = 1 };
	char path[PATH_MAX], id[IMAGE_ID_MAX];
	struct owned owned;

	for (uint32_t i = 0; i < 40; i++) {
		ip6 net = (ip6)(0x2a000000 + i) << 96;

		if (family == 4 ? ranges_add4(&set, i << 20, i << 20) : ranges_add6(&set, net, net | ((ip6)i << 64)))
			return;
	}
	settings.exact = exact;
	if (ranges_finish(&set) || owned_settle(&owned, &account, 1, &none) || plan_generation(&g, &owned, &settings))
		return;
	g.gate4 = g.gate4_labels = 0;
	for (enum array a = 0; a < ARRAYS; a++)
		*generation_member(&g, array_kinds[a].member) =
			array_bytes(&g, a) ? (__u64)(uintptr_t)calloc(1, array_bytes(&g, a)) : 0;
	snprintf(path, sizeof(path), "%s/seed-%d-%d", directory, family, exact);
	if (!build_seeds(&g) && !build_arrays(&g, &owned))
		image_write(path, &source, id);
	for (enum array a = 0; a < ARRAYS; a++)
		free((void *)(uintptr_t)*generation_member(&g, array_kinds[a].member));
	owned_free(&owned);
	ranges_free(&set);
}

/* Into the first directory that the fuzzer is given. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		if ((*argv)[i][0] == '-')
			continue;
		for (int kind = 0; kind < 4; kind++)
			seed((*argv)[i], kind & 1 ? 6 : 4, kind & 2);
		break;
	}
	return 0;
}
