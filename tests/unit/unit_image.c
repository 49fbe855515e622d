// SPDX-License-Identifier: GPL-2.0-only
/* Images: what was written comes back, and what was damaged, cut or forged is refused or harmless. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/layout.h"
#include "image/validate.h"
#include "filter/build.h"
#include "images.h"
#include "bus_error.h"
#include "in_codes.h"
#include "ktap.h"
#include "base/log.h"
#include "base/mapped.h"
#include "naive.h"
#include "filter/plan_sizes.h"
#include "image/write.h"
#include "state/state.h"

#define LISTS 3

static char directory[] = "/tmp/unit_image.XXXXXX", path[64];

static const struct list_info lists[LISTS + 1] = {
	{ .name = "one",
	  .kind = LIST_BAN,
	  .label = 1,
	  .prefixes = 7,
	  .addresses = "12",
	  .loaded = "2026-01-01T00:00:00Z" },
	{ .name = "exceptions", .kind = LIST_ALLOW, .addresses = "1", .loaded = "2026-01-01T00:00:00Z" },
	{ .name = "two",
	  .kind = LIST_BAN,
	  .label = 200,
	  .addresses = "340282366920938463463374607431768211456",
	  .loaded = "2026-01-01T00:00:00Z" },
	{ .name = "s-h.a_d", .kind = LIST_SHADOW, .label = 255, .addresses = "0", .loaded = "2026-01-01T00:00:00Z" },
};

struct kind {
	bool exact, gate4;
	int only; /* a family, or 0 */
	bool codes;
};

/* A random set in arrays of its own. */
static bool make(struct generation *g, const struct kind *kind)
{
	struct settings settings = SETTINGS_DEFAULT;
	static const uint8_t labels[LISTS] = { 1, 200, 255 };
	static struct naive m;
	struct owned owned;
	int err = -EAGAIN;

	m.n = 0;
	for (unsigned int a = 0; a < NAIVE_ACCOUNTS; a++)
		m.label[a] = labels[a % (kind->exact ? LISTS : 2)];
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int account = (unsigned int)(ktap_random() % NAIVE_ACCOUNTS);
		uint32_t v4 = 0x2d000000 + (uint32_t)(ktap_random() & 0xffffff);
		ip6 v6 = (ip6)0x2a00 << 112 | (ip6)(ktap_random() >> 8) << 56;

		if (kind->only != 6)
			naive_add(&m, 4, v4, v4 | (ktap_random() % (i % 16 && kind->gate4 ? 16 : 4)), account);
		if (kind->only != 6 && kind->gate4 && i % 16 == 0)
			naive_add(&m, 4, v4 & ~255U, v4 | 255, account);
		if (kind->only != 4)
			naive_add(&m, 6, v6, v6 | (((ip6)1 << 64) - 1), account);
	}
	naive_settle(&m, &owned);
	settings.exact = kind->exact;
	if (!CHECK(!plan_generation(g, &owned, &settings), "no plan: %s", reason(0)))
		return false;
	if (!kind->gate4) {
		g->gate4 = g->gate4_labels = g->all24 = g->minorities = 0;
	}
	if (kind->codes)
		keep_codes(g);
	if (kind->exact) {
		g->shadows = 1;
		g->shadow[3] = 1ULL << 63;
	}
	memory_take(g);
	for (int attempt = 0; err_is(err, EAGAIN) && attempt < 8; attempt++) {
		memory_clear(g);
		seeds_set(g);
		err = build_arrays(g, &owned);
	}
	owned_free(&owned);
	return CHECK(!err, "not built: %d", err);
}

static bool saved(const struct generation *g, bool shadow, char id[IMAGE_ID_MAX])
{
	struct image_source source = { .g = g, .lists = lists, .lists_n = shadow ? LISTS + 1 : LISTS, .asked = 0.001 };
	int err = image_write(path, &source, id);

	return CHECK(!err, "not written: %s", reason(err));
}

/* The file's bytes, aligned as a mapping is. */
static unsigned char *bytes_of(size_t *size)
{
	int fd = open(path, O_RDONLY);
	void *memory = NULL;
	struct stat st;

	ENOUGH(fd >= 0 && !fstat(fd, &st));
	*size = (size_t)st.st_size;
	ENOUGH(!posix_memalign(&memory, IMAGE_ALIGN, *size));
	ENOUGH(read(fd, memory, *size) == (ssize_t)*size);
	close(fd);
	return memory;
}

static void same(const struct generation *g, const struct image *image)
{
	for (enum array a = 0; a < ARRAYS; a++) {
		unsigned int member = array_kinds[a].member;
		uint64_t n = array_bytes(g, a);

		if (!CHECK(array_bytes(&image->g, a) == n, "%s has %" PRIu64 " bytes, not %" PRIu64,
			   array_kinds[a].name, array_bytes(&image->g, a), n))
			return;
		CHECK(!n || !memcmp((void *)*generation_member((struct generation *)g, member),
				    (void *)*generation_member((struct generation *)&image->g, member), n),
		      "%s is another", array_kinds[a].name);
	}
	CHECK(!memcmp(&g->hash, &image->g.hash, sizeof(g->hash)) && !memcmp(&g->tag, &image->g.tag, sizeof(g->tag)) &&
		      !memcmp(g->rung, image->g.rung, sizeof(g->rung)),
	      "the seeds are others");
}

static const struct kind kinds[] = { { true, true, 0, false },	 { true, true, 4, false },  { true, false, 0, false },
				     { true, true, 6, false },	 { false, true, 0, false }, { false, true, 4, false },
				     { false, false, 6, false }, { true, false, 4, true } };

static void comes_back(void)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		char id[IMAGE_ID_MAX];
		struct list_info *told = NULL;
		struct generation g;
		struct image image;
		struct stat st;
		size_t n;
		int err;

		if (!make(&g, &kinds[k]) || !saved(&g, kinds[k].exact, id))
			return;
		err = image_open(&image, path, path, true);
		if (!CHECK(!err, "not opened: %s", reason(err)))
			return;
		same(&g, &image);
		CHECK(!strcmp(id, image.id), "it is %s, and was written as %s", image.id, id);
		CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600, "mode %o", st.st_mode & 07777);
		CHECK(image_bytes(&g, image.header->lists) == image.size, "%zu bytes", image.size);
		CHECK(image.header->asked == 0.001, "asked for %g", image.header->asked);
		CHECK(!image_lists(&image, &told, &n) && n == (kinds[k].exact ? LISTS : LISTS - 1), "%zu lists", n);
		CHECK(!strcmp(told[0].name, "one") && !strcmp(told[1].name, "two") && told[1].label == 200 &&
			      told[0].prefixes == 7 && !strcmp(told[1].addresses, lists[2].addresses),
		      "other lists");
		CHECK(image_is(path) && !image_is("/proc/self/exe"), "images are recognised wrongly");
		free(told);
		image_close(&image);
		memory_release(&g);
	}
}

/* Without the IPv4 gate, which alone has four megabytes. */
static bool small_image(struct generation *g, unsigned char **bytes, size_t *size)
{
	static const struct kind small = { true, false, 0, false };
	char id[IMAGE_ID_MAX];

	if (!make(g, &small) || !saved(g, true, id))
		return false;
	*bytes = bytes_of(size);
	return true;
}

static void every_byte_counts(void)
{
	struct generation g;
	struct image image;
	unsigned char *bytes;
	size_t size;

	if (!small_image(&g, &bytes, &size))
		return;
	CHECK(!image_parse(&image, "it", bytes, size, true), "the image itself is refused");
	for (size_t at = 0; at < size; at++) {
		unsigned char other = (unsigned char)(1 + ktap_random() % 255);

		bytes[at] ^= other;
		if (!CHECK(image_parse(&image, "it", bytes, size, true), "byte %zu of %zu is another, and it is taken",
			   at, size))
			break;
		bytes[at] ^= other;
	}
	free(bytes);
	memory_release(&g);
}

static void every_length_counts(void)
{
	struct generation g;
	struct image image;
	unsigned char *bytes;
	size_t size;

	if (!small_image(&g, &bytes, &size))
		return;
	for (size_t len = 0; len < size; len++) {
		/* Memory of just that size, so that the sanitizers see who reads beyond it. */
		void *cut = NULL;
		int err;

		ENOUGH(!posix_memalign(&cut, IMAGE_ALIGN, len ? len : 1));
		memcpy(cut, bytes, len);
		err = image_parse(&image, "it", cut, len, true);
		if (len > sizeof(struct image_header) + 8) {
			((struct image_header *)cut)->bytes = len;
			CHECK(image_parse(&image, "it", cut, len, false), "%zu bytes of %zu are sizes that fit", len,
			      size);
		}
		free(cut);
		if (!CHECK(err, "%zu bytes of %zu are taken", len, size))
			break;
	}
	free(bytes);
	memory_release(&g);
}

#define GENERATION_AT(member) (offsetof(struct image_header, g) + offsetof(struct generation, member))

/* Is there such an array, and how large? */
static bool is_size(size_t at)
{
	static const size_t sizes[] = {
		GENERATION_AT(gate6_log2), GENERATION_AT(gate4),   GENERATION_AT(gate4_labels), GENERATION_AT(gate6),
		GENERATION_AT(filter),	   GENERATION_AT(roster4), GENERATION_AT(roster6),
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i] == at)
			return true;
	return false;
}

/* A word of the header or of the lists becomes another, and the checksum is made to fit. */
static void forged_is_harmless(void)
{
	static const uint64_t values[] = { 0,	       1,
					   2,	       127,
					   128,	       129,
					   255,	       256,
					   1ULL << 31, (1ULL << 31) + 1,
					   1ULL << 32, 1ULL << 63,
					   ~0ULL,      0x100000000000001ULL,
					   64,	       65,
					   7,	       8,
					   9,	       15,
					   26,	       33 };
	unsigned int taken = 0, refused = 0;

	for (size_t k = 2; k < sizeof(kinds) / sizeof(*kinds); k += 4) {
		char id[IMAGE_ID_MAX];
		struct generation g;
		struct image image;
		unsigned char *bytes;
		size_t size, head;
		int err;

		if (!make(&g, &kinds[k]) || !saved(&g, kinds[k].exact, id))
			return;
		bytes = bytes_of(&size);
		head = sizeof(struct image_header) + LISTS * sizeof(struct image_list);
		for (size_t at = 0; at + 8 <= head; at += 8) {
			uint64_t before;

			memcpy(&before, bytes + at, 8);
			for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
				memcpy(bytes + at, &values[v], 8);
				image_forge(bytes, size);
				if (image_parse(&image, "it", bytes, size, true)) {
					refused++;
					continue;
				}
				taken++;
				CHECK(!is_size(at) || values[v] == before,
				      "word %zu became %" PRIu64 ", and it is taken", at / 8, values[v]);
				image_ask(&image, ktap_random());
			}
			memcpy(bytes + at, &before, 8);
		}
		image_forge(bytes, size);
		err = image_parse(&image, "it", bytes, size, true);
		CHECK(!err, "the image itself is refused: %s", reason(err));
		free(bytes);
		memory_release(&g);
	}
	printf("# %u forged images refused, %u harmless\n", refused, taken);
}

/* Each number at its limits, and beside them; and what one number says of another. */
static void numbers(void)
{
	static const struct {
		size_t at;
		__u64 most;
		const char *text;
	} limits[] = {
#define LIMIT(member, most, text) { offsetof(struct generation, member), most, text }
		LIMIT(version, GENERATION_VERSION, "it is of another version"),
		LIMIT(gate4, 1, "its arrays are none"),
		LIMIT(gate4_labels, 1, "its arrays are none"),
		LIMIT(gate6, 1, "its arrays are none"),
		LIMIT(filter, 1, "its arrays are none"),
		LIMIT(roster4, 1, "its arrays are none"),
		LIMIT(roster6, 1, "its arrays are none"),
		LIMIT(gate6_log2, GATE6_LOG2_MAX, "its IPv6 gate has no size"),
		LIMIT(gate4_label, LABELS - 1, "its IPv4 gate does not fit its labels"),
		LIMIT(filter_blocks, BLOCKS_MAX, "its filter has no size"),
		LIMIT(filter_layout, LAYOUTS - 1, "its filter's layout is none"),
		LIMIT(roster4_buckets, 2 * BLOCKS_MAX, "its roster has no size"),
		LIMIT(roster6_buckets, BLOCKS_MAX, "its roster has no size"),
		LIMIT(keys4, 1ULL << 32, "it cannot hold as many as it says"),
		LIMIT(keys6, 1ULL << 32, "it cannot hold as many as it says"),
		LIMIT(all24, 1ULL << 24, "it cannot hold as many as it says"),
		LIMIT(stale, UINT32_MAX, "it cannot hold as many as it says"),
		LIMIT(shadows, 1, "its shadow lists have no roster"),
		LIMIT(no_flat, 0, "it wants maps that there are not"),
#undef LIMIT
	};
	struct generation made, g;
	char id[IMAGE_ID_MAX];
	unsigned char *bytes;
	const char *fault;
	size_t size;

	if (!make(&made, &kinds[0]) || !saved(&made, true, id))
		return;
	bytes = bytes_of(&size);
	g = ((struct image_header *)bytes)->g;
	fault = image_fault(&g);
	CHECK(!fault && g.roster4 && g.roster6 && g.gate6 && g.rungs, "a sound one: %s",
	      fault ? fault : "without rosters");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		/* Of numbers that share a word, that of the word. */
		__u64 *number = generation_member(&g, (unsigned int)limits[i].at & ~7u), before = *number;

		*number = limits[i].most;
		fault = image_fault(&g);
		/* A layout says more than its number. */
		CHECK(!fault || (strcmp(fault, limits[i].text) ||
				 limits[i].at == offsetof(struct generation, filter_layout)),
		      "%zu at its most: %s", i, fault);
		*number = limits[i].most + 1;
		fault = image_fault(&g);
		CHECK(fault && !strcmp(fault, limits[i].text), "%zu above its most: %s", i, fault ? fault : "taken");
		*number = before;
	}
	CHECK(!image_fault(&g), "it is changed");
	/* One bucket is a size, and there is none of a roster that is not there. */
	g.roster6_buckets = 1;
	CHECK(!image_fault(&g), "one bucket: %s", image_fault(&g));
	g.roster6 = 0;
	g.version = generation_version(&g);
	fault = image_fault(&g);
	CHECK(fault && !strcmp(fault, "its roster has no size"), "buckets of no roster: %s", fault ?: "taken");
	CHECK(image_bytes(&g, 255) - image_bytes(&g, 0) >= 255 * sizeof(struct image_list), "255 lists take %llu bytes",
	      (unsigned long long)(image_bytes(&g, 255) - image_bytes(&g, 0)));
	free(bytes);
	memory_release(&made);
}

/* How many bits of a key each layout has, and seeds that make no choice. */
static void layouts(void)
{
	static const struct {
		__u32 layout, k;
		bool blocks, sound;
	} known[] = {
		{ LAYOUT_CLASSIC, 1, false, true },	      { LAYOUT_CLASSIC, CLASSIC_K_MAX, false, true },
		{ LAYOUT_CLASSIC, 0, false, false },	      { LAYOUT_CLASSIC, 1, true, false },
		{ LAYOUT_LANES, FILTER_LANES, true, true },   { LAYOUT_LANES, FILTER_LANES + 1, true, false },
		{ LAYOUT_LANES, FILTER_LANES, false, false }, { LAYOUT_LANES2, 2 * FILTER_LANES, true, true },
		{ LAYOUT_LANES2, FILTER_LANES, true, false },
	};
	/* Both buckets of every address are the first one; only the one; only the other. */
	static const struct hash_seeds seeds[] = { { 0, 1, 1, 1 },
						   { 16384, 1, 1, 52427 },
						   { 16384, 1, 52427, (1ULL << 32) + 1 } };
	static const char none[] = "its filter's layout is none";
	struct generation made, g;
	char id[IMAGE_ID_MAX];
	unsigned char *bytes;
	const char *fault;
	size_t size;

	if (!make(&made, &kinds[0]) || !saved(&made, true, id))
		return;
	bytes = bytes_of(&size);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		g = ((struct image_header *)bytes)->g;
		g.filter_layout = known[i].layout;
		g.filter_k = known[i].k;
		g.lanes_blocks = known[i].blocks ? g.filter_blocks : 0;
		g.version = generation_version(&g);
		fault = image_fault(&g);
		CHECK(known[i].sound ? !fault : fault && !strcmp(fault, none), "%zu: %s", i, fault ?: "taken");
	}
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		g = ((struct image_header *)bytes)->g;
		g.hash = seeds[i];
		fault = image_fault(&g);
		CHECK(fault && !strcmp(fault, "its seeds are none"), "seeds %zu: %s", i, fault ?: "taken");
	}
	free(bytes);
	memory_release(&made);
}

/* What the arrays hold must be something that a builder could have written. */
static void arrays_are_asked(void)
{
	static const struct kind small = { true, false, 4, false };
	char id[IMAGE_ID_MAX];
	struct generation g;
	struct image image;
	unsigned char *bytes;
	size_t size;
	struct bucket4 *bucket;
	__u64 *filter;
	struct image_list *names;
	__u32 before[3];

	if (!make(&g, &small) || !saved(&g, true, id))
		return;
	bytes = bytes_of(&size);
	ENOUGH(!image_parse(&image, "it", bytes, size, true));
	bucket = (struct bucket4 *)image.g.roster4;
	filter = (__u64 *)image.g.filter;

	memset(filter, 0, g.filter_blocks * BLOCK_BYTES);
	image_forge(bytes, size);
	CHECK(image_parse(&image, "it", bytes, size, true), "the filter is empty, the roster is not, and it is taken");
	memset(filter, 0xff, g.filter_blocks * BLOCK_BYTES);
	image_forge(bytes, size);
	CHECK(!image_parse(&image, "it", bytes, size, true), "a full filter is refused");
	for (__u64 b = 0; b < g.roster4_buckets; b++)
		for (int i = 0; i < 6; i++)
			if (bucket[b].addr[i])
				bucket[b].label[roster4_label_index(roster4_slot_bit((unsigned int)i))] = 77;
	image_forge(bytes, size);
	CHECK(image_parse(&image, "it", bytes, size, true), "addresses of no list are taken");
	for (__u64 b = 0; b < g.roster4_buckets; b++)
		for (int i = 0; i < 6; i++)
			if (bucket[b].addr[i])
				bucket[b].label[roster4_label_index(roster4_slot_bit((unsigned int)i))] = 1;
	image_forge(bytes, size);
	CHECK(!image_parse(&image, "it", bytes, size, true), "addresses of one list are refused");
	for (unsigned int i = 0; i < 3; i++) {
		before[i] = bucket[i * (g.roster4_buckets - 1) / 2].addr[0];
		bucket[i * (g.roster4_buckets - 1) / 2].addr[0] = 0x2d123456;
	}
	image_forge(bytes, size);
	CHECK(image_parse(&image, "it", bytes, size, true), "an address in three buckets is taken");
	for (unsigned int i = 0; i < 3; i++)
		bucket[i * (g.roster4_buckets - 1) / 2].addr[0] = before[i];
	names = (struct image_list *)(bytes + sizeof(struct image_header));
	image_forge(bytes, size);
	CHECK(!image_parse(&image, "it", bytes, size, true), "without it, it is refused");
	memcpy(names[1].name, names[0].name, sizeof(names[0].name));
	image_forge(bytes, size);
	CHECK(image_parse(&image, "it", bytes, size, true), "two lists of one name are taken");
	free(bytes);
	memory_release(&g);
}

/* One that is no address's, or 0: in some buckets there are as many addresses as codes. */
static __u16 nobodys_code(const struct generation *g, __u64 bucket)
{
	__u32 addr, code = CODES4_TOP;

	while (code && codes4_addr(g, bucket, code, &addr))
		code--;
	return (__u16)code;
}

/* The same where the roster keeps codes. */
static void codes_are_asked(void)
{
	static const struct kind large = { true, false, 4, true };
	char id[IMAGE_ID_MAX];
	struct generation g, *said;
	struct image image;
	unsigned char *bytes;
	struct codes4 *bucket;
	__u64 shape, used = 0;
	size_t size;

	if (!make(&g, &large) || !saved(&g, true, id))
		return;
	bytes = bytes_of(&size);
	ENOUGH(!image_parse(&image, "it", bytes, size, true));
	bucket = (struct codes4 *)image.g.roster4;
	said = &((struct image_header *)bytes)->g;
	shape = said->roster4_buckets;
	while (used < CODES4_BUCKETS(shape) && !(bucket[used].code[0] && nobodys_code(&image.g, used)))
		used++;
	ENOUGH(used < CODES4_BUCKETS(shape));
	for (unsigned int i = 0; i < 5; i++) {
		struct codes4 before = bucket[used];

		if (i ==
		    0) /* another address of the bucket: one that the filter, which is nearly empty, does not know */
			bucket[used].code[0] = bucket[used].code[0] % CODES4_SHARE(shape) + 1;
		else if (i == 1)
			bucket[used].label[codes4_label_index(codes4_slot_bit(0))] = 77;
		else if (i == 2)
			bucket[used].code[0] = nobodys_code(&image.g, used);
		if (i == 3)
			said->roster4_buckets += 1ULL << 32;
		if (i == 4)
			said->minorities = 1;
		image_forge(bytes, size);
		CHECK(image_parse(&image, "it", bytes, size, true), "change %u is taken", i);
		bucket[used] = before;
		said->roster4_buckets = shape;
		said->minorities = 0;
	}
	image_forge(bytes, size);
	CHECK(!image_parse(&image, "it", bytes, size, true), "without them it is refused");
	said->version = GENERATION_VERSION;
	size -= sizeof(uint64_t);
	*(uint64_t *)(bytes + size) = image_checksum(bytes, size, 0);
	CHECK(image_parse(&image, "it", bytes, size + sizeof(uint64_t), true), "codes are taken for addresses");
	free(bytes);
	memory_release(&g);
}

/* Its texts are shown: no control character, no space, nothing beyond ASCII, and an end. */
static void texts(void)
{
	static const struct kind small = { true, false, 4, false };
	static const struct {
		size_t at, size;
	} fields[] = {
		{ offsetof(struct image_header, saved), sizeof(((struct image_header *)0)->saved) },
		{ sizeof(struct image_header) + offsetof(struct image_list, name),
		  sizeof(((struct image_list *)0)->name) },
		{ sizeof(struct image_header) + offsetof(struct image_list, addresses),
		  sizeof(((struct image_list *)0)->addresses) },
		{ sizeof(struct image_header) + offsetof(struct image_list, loaded),
		  sizeof(((struct image_list *)0)->loaded) },
	};
	struct generation g;
	struct image image;
	char id[IMAGE_ID_MAX];
	unsigned char *bytes;
	size_t size;

	if (!make(&g, &small) || !saved(&g, true, id))
		return;
	bytes = bytes_of(&size);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		char *text = (char *)bytes + fields[i].at, before[64];

		memcpy(before, text, fields[i].size);
		for (int c = 1; c < 256; c++)
			for (size_t place = 0; place < 2; place++) {
				bool taken = i == 1 ? strchr(LIST_NAME_BYTES "()", c) != NULL : c > ' ' && c <= '~';

				snprintf(text, fields[i].size, "ab");
				text[place] = (char)c;
				image_forge(bytes, size);
				CHECK(!image_parse(&image, "it", bytes, size, true) == taken,
				      "field %zu, place %zu: %#x", i, place, (unsigned int)c);
			}
		memset(text, 0, fields[i].size);
		image_forge(bytes, size);
		CHECK(image_parse(&image, "it", bytes, size, true), "field %zu is empty, and taken", i);
		memset(text, 'a', fields[i].size);
		image_forge(bytes, size);
		CHECK(image_parse(&image, "it", bytes, size, true), "field %zu has no end, and is taken", i);
		text[fields[i].size - 1] = 0;
		image_forge(bytes, size);
		CHECK(!image_parse(&image, "it", bytes, size, true), "field %zu is full, and refused", i);
		memcpy(text, before, fields[i].size);
	}
	free(bytes);
	memory_release(&g);
}

static void other_files(void)
{
	static const char *const none[] = { "/dev/null", "/dev/zero",	 "/proc/self/exe",
					    "/",	 "/nonexistent", "/proc/version" };
	struct generation g;
	struct image_source source = { .g = &g, .lists = lists, .lists_n = LISTS };
	static const struct kind small = { true, false, 4, false };
	char id[IMAGE_ID_MAX];
	struct image image;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		memset(&image, 0xff, sizeof(image));
		CHECK(image_open(&image, none[i], none[i], true) && !image.memory, "%s is an image", none[i]);
	}
	if (!make(&g, &small))
		return;
	CHECK(err_is(image_write("/dev/null", &source, id), EEXIST), "a device is replaced");
	CHECK(err_is(image_write(directory, &source, id), EEXIST), "a directory is replaced");
	CHECK(err_is(image_write("/nonexistent/image", &source, id), ENOENT), "written into nowhere");
	memory_release(&g);
}

static void turn(unsigned char *bytes, const unsigned char bits[4])
{
	for (size_t i = 0; i < 4; i++)
		bytes[i] ^= bits[i];
}

/* What its head says of where it comes from, and what is said of that. */
static void from_elsewhere(void)
{
	static const char another[] = "it is an image of another version of xdp-bloom; save it again with this one";
	static const struct {
		size_t at;
		unsigned char other[4]; /* the bits that are turned, in the order of memory */
		int err;
		const char *says;
	} known[] = {
		{ offsetof(struct image_header, magic), { 1 }, EINVAL, "it is not an image of xdp-bloom" },
		{ offsetof(struct image_header, byte_order),
		  { 5, 1, 1, 5 },
		  EPROTO,
		  "it was saved on a machine of the other byte order; load its lists here instead" },
		{ offsetof(struct image_header, byte_order), { 1 }, EPROTO, another },
		{ offsetof(struct image_header, version), { 1 }, EPROTO, another },
		{ offsetof(struct image_header, generation), { 1 }, EPROTO, another },
		{ offsetof(struct image_header, bytes), { 1 }, EUCLEAN, "it is cut short, or longer than it says" },
		{ offsetof(struct image_header, saved), { 1 }, EUCLEAN, "it is damaged: the checksum is wrong" },
	};
	struct generation g;
	struct image image;
	unsigned char *bytes;
	size_t size;
	int err;

	if (!small_image(&g, &bytes, &size))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		turn(bytes + known[i].at, known[i].other);
		err = image_parse(&image, "it", bytes, size, true);
		CHECK(err_is(err, known[i].err) && !strcmp(reason(err), known[i].says), "%zu: %d, '%s'", i, err,
		      reason(err));
		turn(bytes + known[i].at, known[i].other);
	}
	err = image_parse(&image, "it", bytes, 7, true);
	CHECK(err_is(err, EINVAL), "7 bytes: '%s'", reason(err));
	for (size_t n = 8; n < sizeof(struct image_header) + 8; n++) {
		err = image_parse(&image, "it", bytes, n, true);
		if (!CHECK(err_is(err, EUCLEAN) && !strcmp(reason(err), "it is cut short"), "%zu bytes: '%s'", n,
			   reason(err)))
			break;
	}
	free(bytes);
	memory_release(&g);
}

/* Its file is cut while it is open: what is gone reads as zeros, and nobody is killed. */
static void cut(void)
{
	static const struct kind small = { true, true, 4, false };
	struct generation g;
	struct image image;
	char id[IMAGE_ID_MAX];

	if (!bus_errors_say_where()) {
		ktap_skip(BUS_ERROR_SKIP);
		return;
	}
	if (!make(&g, &small) || !saved(&g, true, id) ||
	    !CHECK(!image_open(&image, path, path, false), "it is not opened"))
		return;
	CHECK(!mapped_is_cut(image.memory), "cut while it is whole");
	CHECK(!truncate(path, 0), "truncate");
	image_checksum(image.memory, image.size, 0);
	CHECK(mapped_is_cut(image.memory) && !image.header->lists, "what is gone is there");
	image_close(&image);
	memory_release(&g);
}

/* Its owner writes to it while it is open, or makes it anew: what was checked of it stays, and names beyond its end are
 * none. */
static void written(void)
{
	static const struct kind small = { true, true, 4, false };
	static const char other[] = "\xff\xff\xff\xff";
	struct generation g;
	char id[IMAGE_ID_MAX];

	if (!make(&g, &small))
		return;
	for (int anew = 0; anew < 2; anew++) {
		size_t at = offsetof(struct image_header, lists);
		struct image_list list;
		struct image image;
		__u64 n;
		int fd;

		if (!saved(&g, true, id) || !CHECK(!image_open(&image, path, path, true), "it is not opened"))
			return;
		n = image.header->lists;
		list = image.lists[1];
		fd = open(path, O_WRONLY | O_CLOEXEC);
		CHECK(fd >= 0 && (!anew || (!ftruncate(fd, 0) && !ftruncate(fd, (off_t)image.size))), "the file");
		CHECK(pwrite(fd, other, 4, (off_t)at) == 4 &&
			      pwrite(fd, other, 4, (off_t)(sizeof(struct image_header) + sizeof(struct image_list))) ==
				      4,
		      "it is not written to");
		close(fd);
		CHECK(image.header->lists == n && !memcmp(&image.lists[1], &list, sizeof(list)),
		      "it has %llu lists by now, one is '%.64s'", (unsigned long long)image.header->lists,
		      image.lists[1].name);
		image_close(&image);
	}
	memory_release(&g);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "comes back", comes_back },
		{ "every byte counts", every_byte_counts },
		{ "every length counts", every_length_counts },
		{ "forged is harmless", forged_is_harmless },
		{ "numbers at their limits", numbers },
		{ "layouts", layouts },
		{ "arrays are asked", arrays_are_asked },
		{ "codes are asked", codes_are_asked },
		{ "texts", texts },
		{ "from elsewhere", from_elsewhere },
		{ "other files", other_files },
		{ "cut while it is open", cut },
		{ "written to while it is open", written },
	};
	int status;

	ENOUGH(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/image", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(path);
	rmdir(directory);
	return status;
}
