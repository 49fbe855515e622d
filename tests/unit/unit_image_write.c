// SPDX-License-Identifier: GPL-2.0-only
/* An image as it is written: what of a filter stays on its machine, and a file that takes it in pieces, or not. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* How the file takes it. */
static ssize_t file_takes(int fd, const void *from, size_t bytes);
#define write(fd, from, bytes) file_takes(fd, from, bytes)
#include "image/write.c"
#undef write

#include "bpf/decide.h"
#include "built.h"
#include "filter/settings.h"
#include "filter/plan_sizes.h"
#include "in_codes.h"
#include "no_disk.h"

static char directory[] = "/tmp/unit_image_write.XXXXXX", path[64];

static struct {
	size_t most; /* it takes so many bytes at once; 0: all */
	size_t writes, fails_at;
} file;

static ssize_t file_takes(int fd, const void *from, size_t bytes)
{
	file.writes++;
	if (file.writes == file.fails_at) {
		errno = ENOSPC;
		return -1;
	}
	return write(fd, from, file.most && bytes > file.most ? file.most : bytes);
}

/* More of each than is copied at once. */
#define HOSTS	 20000
#define PREFIXES 12000

#define LABEL_LIST 7

enum account_of { LIVE, ENDS, LIST, ACCOUNTS };
static const uint8_t labels[ACCOUNTS] = { LABEL_LIVE, LABEL_ENDS, LABEL_LIST };

struct shape {
	const char *name;
	uint32_t net24s;
	bool all_end; /* on one account */
	bool gate, gate_labels, codes;
};

static const struct shape shapes[] = {
	{ "codes", .codes = true },
	{ "addresses", .codes = false },
	{ "a gate of labels", 400, .gate = true, .gate_labels = true },
	{ "a gate of what ends", 400, .all_end = true, .gate = true },
};

static uint32_t host(uint32_t i)
{
	return 0x2d000000u + i * 7;
}

static uint32_t net24(uint32_t i)
{
	return 0x2e000000u + (i << 8);
}

static ip6 net64(uint32_t i)
{
	return (ip6)(0x2a00000000000000 | (i * 0x9e3779b97f4a7c15) >> 16) << 64;
}

/* Each key on an account of three; or all of them on that of what ends. */
static bool make(struct generation *g, const struct shape *shape)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges banned[ACCOUNTS] = { 0 };
	struct account accounts[ACCOUNTS];
	struct ranges none = RANGES_EMPTY;
	struct owned owned;
	bool made;

	for (uint32_t i = 0; i < HOSTS; i++)
		ENOUGH(!ranges_add_host(&banned[shape->all_end ? ENDS : i % ACCOUNTS], host(i)));
	for (uint32_t i = 0; i < shape->net24s; i++)
		ENOUGH(!ranges_add4(&banned[shape->all_end ? ENDS : i % ACCOUNTS], net24(i), net24(i) | 255));
	for (uint32_t i = 0; i < PREFIXES; i++)
		ENOUGH(!ranges_add6(&banned[shape->all_end ? ENDS : i % ACCOUNTS], net64(i), net64(i) | UINT64_MAX));
	for (int i = 0; i < ACCOUNTS; i++) {
		ENOUGH(!ranges_finish(&banned[i]));
		accounts[i] = (struct account){ &banned[i], labels[i] };
	}
	settings.labels = true;
	ENOUGH(!owned_settle(&owned, shape->all_end ? &accounts[ENDS] : accounts, shape->all_end ? 1 : ACCOUNTS,
			     &none));
	ENOUGH(!plan_generation(g, &owned, &settings) && (!shape->codes || keep_codes(g)));
	made = build(g, &owned);
	owned_free(&owned);
	for (int i = 0; i < ACCOUNTS; i++)
		ranges_free(&banned[i]);
	return made && CHECK(!!g->gate4 == shape->gate && !!g->gate4_labels == shape->gate_labels &&
				     keeps_codes4(g) == shape->codes && g->roster6,
			     "%s: gate %d, labels %d, codes %d, roster6 %d", shape->name, !!g->gate4, !!g->gate4_labels,
			     keeps_codes4(g), !!g->roster6);
}

/* What an answer says, of the account with no end. */
static __u32 without_end(__u32 answer, bool ends)
{
	return ends && ANSWER_LABEL(answer) == LABEL_ENDS ? answer & ~ANSWER(0, 0, 255) : answer;
}

/* Who ends is banned for good, and all others are as they were. */
static void compare(const struct generation *g, const struct generation *image, bool ends)
{
	for (uint32_t i = 0; i < HOSTS; i++)
		if (!CHECK(decide_ipv4(image, host(i)) == without_end(decide_ipv4(g, host(i)), ends), "host %u: %x", i,
			   decide_ipv4(image, host(i))))
			break;
	for (uint32_t i = 0; i < 400; i++)
		if (!CHECK(decide_ipv4(image, net24(i)) == without_end(decide_ipv4(g, net24(i)), ends), "/24 %u: %x", i,
			   decide_ipv4(image, net24(i))))
			break;
	for (uint32_t i = 0; i < PREFIXES; i++) {
		__u64 hi = (__u64)(net64(i) >> 64);

		if (!CHECK(decide_ipv6(image, hi, 1) == without_end(decide_ipv6(g, hi, 1), ends), "/64 %u: %x", i,
			   decide_ipv6(image, hi, 1)))
			break;
	}
	for (enum array a = 0; a < ARRAYS; a++) {
		const __u8 *was = (void *)*generation_member((struct generation *)g, array_kinds[a].member);
		const __u8 *is = (void *)*generation_member((struct generation *)image, array_kinds[a].member);
		uint64_t other = 0;

		for (uint64_t i = 0; i < array_bytes(g, a); i++)
			other += is[i] != was[i] && !(ends && was[i] == LABEL_ENDS && is[i] == LABEL_LIVE);
		CHECK(!other, "%s: %" PRIu64 " bytes are others", array_kinds[a].name, other);
	}
}

static int save_at(const char *where, const struct generation *g)
{
	static const struct list_info lists[] = {
		{ .name = "one", .kind = LIST_BAN, .label = LABEL_LIST, .addresses = "1", .loaded = "now" },
		{ .name = "allowed", .kind = LIST_ALLOW, .addresses = "1", .loaded = "now" },
		{ .name = "the255th", .kind = LIST_BAN, .label = LABEL_ENDS, .addresses = "1", .loaded = "now" },
	};
	struct image_source source = { .g = g, .lists = lists, .lists_n = g->ends ? 2 : 3 };
	char id[IMAGE_ID_MAX];

	file.writes = 0;
	return image_write(where, &source, id);
}

static int save(const struct generation *g)
{
	return save_at(path, g);
}

static void nothing_ends(void)
{
	for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(*shapes) && !ktap_failed; i++) {
		const struct shape *shape = &shapes[i / 2];
		struct generation g;
		struct image image;
		bool ends = i % 2;
		int err;

		if (!make(&g, shape))
			return;
		g.ends = ends;
		g.edits = 7;
		g.embedded = g.inner = 1;
		err = save(&g) ?: image_open(&image, path, path, true);
		if (CHECK(!err, "not saved: %s", reason(err))) {
			compare(&g, &image.g, ends);
			CHECK(image.g.gate4_label == (ends && g.gate4_label == LABEL_ENDS ? LABEL_LIVE : g.gate4_label),
			      "the gate is on account %u", (unsigned int)image.g.gate4_label);
			CHECK(!image.g.ends && !image.g.edits && !image.g.embedded && !image.g.inner,
			      "what is this machine's comes with it");
			image_close(&image);
		}
		if (ktap_failed)
			printf("# %s, %s\n", shape->name, ends ? "with ends" : "without");
		memory_release(&g);
	}
}

/* The file takes some of what it is given; image_write() reads it again. */
static void in_pieces(void)
{
	static const size_t most[] = { 0, 1000, 4095, 65537 };
	struct generation g;

	if (!make(&g, &shapes[0]))
		return;
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		struct image image;
		int err;

		file.most = most[i];
		err = save(&g) ?: image_open(&image, path, path, true);
		if (!CHECK(!err, "%zu bytes at once: %s", most[i], reason(err)))
			break;
		compare(&g, &image.g, false);
		image_close(&image);
	}
	file.most = 0;
	memory_release(&g);
}

/* Of files in this directory, in memory. */
static unsigned int mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, directory) != NULL;
	if (maps)
		fclose(maps);
	return n;
}

/* Where a write fails, the file that was there stays. */
static void each_write_fails(void)
{
	char said[128];
	struct generation g;
	struct stat before, after;
	size_t writes;

	snprintf(said, sizeof(said), "%s: No space left on device", path);
	if (!make(&g, &shapes[0]) || !CHECK(!save(&g) && !stat(path, &before), "not saved"))
		return;
	writes = file.writes;
	for (file.fails_at = 1; file.fails_at <= writes; file.fails_at++) {
		int err = save(&g);

		CHECK(err_is(err, ENOSPC) && !strcmp(reason(err), said), "write %zu of %zu: %d, '%s'", file.fails_at,
		      writes, err, reason(err));
		CHECK(file.writes == file.fails_at, "write %zu failed, and %zu were made", file.fails_at, file.writes);
		CHECK(!stat(path, &after) && after.st_ino == before.st_ino, "it is another file");
	}
	file.fails_at = 0;
	CHECK(!mapped(), "%u images are left in memory", mapped());
	CHECK(err_is(save_at("/nonexistent/image", &g), ENOENT), "saved into nowhere");
	/* What could not be loaded is not saved either. */
	g.keys4 = (1ULL << 32) + 1;
	CHECK(err_is(save(&g), EUCLEAN) && !stat(path, &after) && after.st_ino == before.st_ino, "it is saved");
	memory_release(&g);
	CHECK(!unlink(path) && !rmdir(directory), "what is half written is left: %s", strerror(errno));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing in it ends", nothing_ends },
		{ "a file that takes it in pieces", in_pieces },
		{ "each write that fails", each_write_fails },
	};

	ENOUGH(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/image", directory);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
