// SPDX-License-Identifier: GPL-2.0-only
/* Images made from sets, and united: against a model that asks every range of both. */
#include <errno.h>
#include <unistd.h>

#include "bpf/decide.h"
#include "image/image.h"
#include "image/make.h"
#include "image/write.h"
#include "image/contents.h"
#include "image/union.h"
#include "ktap.h"
#include "base/log.h"
#include "naive.h"
#include "filter/plan_sizes.h"
#include "ranges_have.h"
#include "state/state.h"

#define EACH (NAIVE_ACCOUNTS / 2) /* lists of each image */

static char directory[] = "/tmp/unit_union.XXXXXX", path[3][64];

/* Accounts 0 to 3 are the first image's, 4 to 7 the second's; united they keep their order, and get new labels.
 */
static struct naive half[2], both;

static void add(int image, int family, ip6 lo, ip6 hi)
{
	unsigned int account = (unsigned int)(ktap_random() % EACH);

	naive_add(&half[image], family, lo, hi, account);
	naive_add(&both, family, lo, hi, account + (unsigned int)image * EACH);
}

static void draw(int family, unsigned int ranges)
{
	half[0].n = half[1].n = both.n = 0;
	for (unsigned int a = 0; a < NAIVE_ACCOUNTS; a++) {
		half[0].label[a] = half[1].label[a] = (uint8_t)(1 + a % EACH);
		both.label[a] = (uint8_t)(1 + a);
	}
	for (unsigned int i = 0; i < ranges; i++) {
		int image = (int)(ktap_random() & 1);
		uint32_t v4 = 0x2d000000 + (uint32_t)(ktap_random() & 0x3fff), mask = 0xff >> ktap_random() % 9;
		ip6 v6 = (ip6)0x2a00 << 112 | (ip6)(ktap_random() & 0xfff) << 84;
		unsigned int length = 32 + 16 * (unsigned int)(ktap_random() % 3);

		if (family != 6)
			add(image, 4, v4 & ~mask, v4 | mask);
		if (family != 4)
			add(image, 6, v6 & ~addr_mask(6, length), v6 | addr_mask(6, length));
	}
	/* Both have every family and rung, so that either can be like the other. */
	for (int i = 0; i < 2 && family != 6; i++)
		add(i, 4, 0x2e000000 + (ip6)i, 0x2e000000 + (ip6)i);
	for (unsigned int i = 0; i < 6 && family != 4; i++) {
		ip6 first = (ip6)(0x2a01 + i / 2) << 112;

		add((int)i & 1, 6, first, first | addr_mask(6, 32 + i / 2 * 16));
	}
}

static void name_lists(struct list_info lists[EACH], int image, bool same, bool shadow)
{
	memset(lists, 0, EACH * sizeof(*lists));
	for (unsigned int i = 0; i < EACH; i++) {
		snprintf(lists[i].name, sizeof(lists[i].name), "%s%u", same || !image ? "list" : "other", i);
		snprintf(lists[i].addresses, sizeof(lists[i].addresses), "%u", 10 * i);
		snprintf(lists[i].loaded, sizeof(lists[i].loaded), "2026-01-0%dT00:00:00Z", image + 1);
		lists[i].label = (uint8_t)(1 + i);
		lists[i].prefixes = i;
		/* The account that counts least, as apply() has it. */
		lists[i].kind = shadow && i == EACH - 1 ? LIST_SHADOW : LIST_BAN;
	}
}

static bool make(int image, const struct settings *settings, bool same, const struct image *like)
{
	struct list_info lists[EACH];
	struct owned owned;
	int err;

	name_lists(lists, image, same, false);
	naive_settle(&half[image], &owned);
	err = image_make(path[image], &owned, lists, EACH, settings, like);
	owned_free(&owned);
	return CHECK(!err, "image %d is not made: %s", image, reason(err));
}

static __u32 decide(const struct image *image, int family, ip6 num)
{
	return family == 4 ? decide_ipv4(&image->g, (__u32)num)
			   : decide_ipv6(&image->g, (__u64)(num >> 64), (__u64)num);
}

/* Does this account have anything of the address's /24? */
static bool has_some(const struct naive *m, uint32_t addr, __u32 label, bool same)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->range[i].family == 4 &&
		    (same ? 1 + m->range[i].account % EACH : m->label[m->range[i].account]) == label &&
		    m->range[i].lo >> 8 <= addr >> 8 && m->range[i].hi >> 8 >= addr >> 8)
			return true;
	return false;
}

static bool ask(const struct image *image, const struct naive *m, int family, ip6 num, bool exact, bool same)
{
	__u32 answer = decide(image, family, num);
	int wanted = naive_label(m, family, num);

	if (!exact)
		return CHECK(wanted < 0 || answer & ANSWER_DROP, "IPv%d %" PRIx64 " passes", family, (uint64_t)num) &&
		       CHECK(!(answer & ANSWER_DROP) || ANSWER_STAGE(answer) != STAGE_GATE ||
				     has_some(m, (uint32_t)num, ANSWER_LABEL(answer), same),
			     "the /24 of %" PRIx64 " is on the account of %u", (uint64_t)num, ANSWER_LABEL(answer));
	if (!CHECK(!!(answer & ANSWER_DROP) == (wanted >= 0), "IPv%d %" PRIx64 " %" PRIx64 ": answer %x, label %d",
		   family, (uint64_t)(num >> 64), (uint64_t)num, answer, wanted))
		return false;
	/* IPv6: the narrower prefix decides, whichever list it is of. */
	return wanted < 0 || family == 6 || same ||
	       CHECK((int)ANSWER_LABEL(answer) == wanted, "%" PRIx64 " is on the account of %u, not %d", (uint64_t)num,
		     ANSWER_LABEL(answer), wanted);
}

static bool ask_all(const struct image *image, const struct naive *m, bool exact, bool same)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct naive_range *r = &m->range[i];

		if (!ask(image, m, r->family, r->lo, exact, same) || !ask(image, m, r->family, r->hi, exact, same) ||
		    !ask(image, m, r->family, r->lo - 1, exact, same) ||
		    !ask(image, m, r->family, r->hi + 1, exact, same))
			return false;
	}
	for (uint32_t addr = 0x2d000000; addr < 0x2d001000; addr++)
		if (!ask(image, m, 4, addr, exact, same))
			return false;
	return true;
}

/* How many keys it says that it has, against the roster. */
static bool counts_fit(const struct image *image)
{
	struct tag6 *tags = NULL;
	size_t n = 0;
	bool fit = !image_tags6(image, &tags, &n);

	free(tags);
	return fit && CHECK(image->g.keys6 == n, "%llu keys of IPv6, not %zu", image->g.keys6, n);
}

static bool unite_drawn(bool exact, int family, bool same)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image first = { 0 }, second = { 0 }, image = { 0 };
	bool ok = false;
	int err;

	settings.exact = exact;
	settings.headroom = 10;
	if (!make(0, &settings, same, NULL) || image_open(&first, path[0], "first", true) ||
	    !make(1, &settings, same, &first) || image_open(&second, path[1], "second", true))
		goto out;
	err = image_union(path[2], &first, &second);
	if (!CHECK(!err, "not united: %s", reason(err)))
		goto out;
	err = image_open(&image, path[2], "the union", true);
	if (!CHECK(!err, "%s", reason(err)))
		goto out;
	CHECK(image.header->lists == (same ? EACH : 2 * EACH), "%llu lists", image.header->lists);
	if (same)
		CHECK(image.lists[3].prefixes == 6 && !strcmp(image.lists[3].addresses, "60") &&
			      !strcmp(image.lists[3].loaded, "2026-01-02T00:00:00Z"),
		      "list %s has %llu prefixes and %s addresses, loaded %s", image.lists[3].name,
		      image.lists[3].prefixes, image.lists[3].addresses, image.lists[3].loaded);
	if (exact && !CHECK(counts_fit(&image), "the union of images of family %d", family))
		goto out;
	ok = ask_all(&first, &half[0], exact, false) && ask_all(&second, &half[1], exact, false) &&
	     ask_all(&image, &both, exact, same);
out:
	image_close(&first);
	image_close(&second);
	image_close(&image);
	return ok;
}

static bool unite(bool exact, int family, bool same, unsigned int ranges)
{
	draw(family, ranges);
	return unite_drawn(exact, family, same);
}

/* Of either family and of both; an image is megabytes, so that rounds are few. */
static void unions(bool exact, bool same)
{
	static const int families[] = { 0, 4, 6 };

	for (int i = 0; i < 3; i++)
		if (!CHECK(unite(exact, families[i], same, 1 + (unsigned int)(ktap_random() % 200)), "family %d",
			   families[i]))
			return;
}

static void exact_unions(void)
{
	unions(true, false);
	unions(true, true);
}

/* The same one in both: the least that a roster can hold. */
static void one_host(void)
{
	draw(4, 0);
	half[1].range[0].lo = half[1].range[0].hi = both.range[1].lo = both.range[1].hi = half[0].range[0].lo;
	CHECK(unite_drawn(true, 4, true), "not united");
}

/* Which lists they have in common is settled before, as in exact ones. */
static void unions_of_bits(void)
{
	unions(false, ktap_random() & 1);
}

/* Only one of them has a gate, and the other nothing that would stand in it. */
static void gates_of_one(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image image[3] = { 0 };
	size_t kept = 0;
	int err = -EIO;

	settings.exact = false;
	settings.headroom = 10;
	draw(0, 100);
	for (size_t i = 0; i < half[1].n; i++)
		if (half[1].range[i].family == 6)
			half[1].range[kept++] = half[1].range[i];
	half[1].n = kept;
	for (int i = 0; i < 2; i++)
		if (!make(i, &settings, false, i ? &image[0] : NULL) || image_open(&image[i], path[i], "one", true))
			goto out;
	image[1].g.gate4 = image[1].g.gate4_labels = 0;
	CHECK(image[0].g.gate4 && !image[1].g.keys4, "there is another gate");
	for (int i = 0; i < 2; i++) {
		err = image_union(path[2], &image[i], &image[!i]) ?: image_open(&image[2], path[2], "the union", true);
		for (size_t k = 0; k < half[0].n + half[1].n && !err; k++) {
			const struct naive_range *r = k < half[0].n ? &half[0].range[k] : &half[1].range[k - half[0].n];

			CHECK(decide(&image[2], r->family, r->lo) & ANSWER_DROP &&
				      decide(&image[2], r->family, r->hi) & ANSWER_DROP,
			      "range %zu passes", k);
		}
		CHECK(!err, "%s", reason(err));
		image_close(&image[2]);
	}
out:
	image_close(&image[0]);
	image_close(&image[1]);
}

/* What one image bans and the other only counts is banned, wherever the gate and the roster hold it. */
static void bans_go_before_shadows(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image image[3] = { 0 };
	struct list_info lists[EACH];
	int err = 0;

	settings.headroom = 10;
	draw(4, 120);
	for (int i = 0; i < 2 && !err; i++) {
		struct owned owned;

		/* image_make() knows no shadows: the last list becomes one in the file that it wrote. */
		name_lists(lists, i, false, true);
		naive_settle(&half[i], &owned);
		for (unsigned int l = 0; l < EACH; l++)
			lists[l].kind = LIST_BAN;
		err = image_make(path[2], &owned, lists, EACH, &settings, i ? &image[0] : NULL);
		owned_free(&owned);
		if (!err)
			err = image_open(&image[2], path[2], "made", true);
		if (!err) {
			struct generation shadowed = image[2].g;
			struct image_source source = { .g = &shadowed, .lists = lists, .lists_n = EACH };
			char id[IMAGE_ID_MAX];

			lists[EACH - 1].kind = LIST_SHADOW;
			shadowed.shadows = 1;
			shadowed.shadow[0] = 1ULL << EACH;
			err = image_write(path[i], &source, id);
		}
		image_close(&image[2]);
		if (!err)
			err = image_open(&image[i], path[i], "shadowed", true);
	}
	if (!err)
		err = image_union(path[2], &image[0], &image[1]);
	if (!err)
		err = image_open(&image[2], path[2], "the union", true);
	CHECK(!err, "%s", reason(err));
	for (uint32_t addr = 0x2d000000; addr < 0x2d004000 && !err; addr++) {
		int first = naive_label(&half[0], 4, addr), second = naive_label(&half[1], 4, addr);
		bool banned = (first >= 1 && first < EACH) || (second >= 1 && second < EACH);
		bool counted = first == EACH || second == EACH;
		__u32 answer = decide_shadow(&image[2].g, decide_ipv4(&image[2].g, addr));

		if (!CHECK(!!(answer & ANSWER_DROP) == banned, "%x: answer %x; labels %d and %d", addr, answer, first,
			   second) ||
		    !CHECK(!!(answer & ANSWER_SHADOW) == (counted && !banned), "%x: answer %x; labels %d and %d", addr,
			   answer, first, second))
			break;
	}
	for (int i = 0; i < 3; i++)
		image_close(&image[i]);
}

static void sets_come_back(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges banned;
	struct image image;

	draw(4, 300);
	if (!make(0, &settings, false, NULL) || !CHECK(!image_open(&image, path[0], "it", true), "not opened"))
		return;
	if (!CHECK(!image_banned4(&image, &banned), "no set"))
		return;
	for (uint32_t addr = 0x2cffff00; addr < 0x2d004200; addr++)
		if (!CHECK(ranges_have(&banned, (struct addr){ addr, 4 }) == (naive_label(&half[0], 4, addr) >= 0),
			   "%x is answered wrongly", addr))
			break;
	ranges_free(&banned);
	image_close(&image);
}

static void others_are_refused(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image first = { 0 }, second = { 0 };
	int err;

	draw(0, 50);
	if (!make(0, &settings, false, NULL) || !make(1, &settings, false, NULL) ||
	    !CHECK(!image_open(&first, path[0], "first", true) && !image_open(&second, path[1], "second", true),
		   "not opened"))
		return;
	err = image_union(path[2], &first, &second);
	CHECK(err_is(err, EINVAL), "images of different seeds are united: %d", err);
	image_close(&second);
	image_close(&first);
}

/* Refused with these words is an image like the first that has as many prefixes of this length instead. */
static void unlike(const struct image *first, unsigned int length, unsigned int many, const char *words)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct list_info lists[EACH];
	struct ranges set = { 0 };
	struct owned owned;
	int err = 0;

	for (unsigned int i = 0; i < many && !err; i++)
		err = ranges_add_prefix(&set, (struct addr){ (ip6)0x2b << 120 | (ip6)i << (130 - length), 6 }, length);
	ENOUGH(!err && !ranges_finish(&set) && !owned_take(&owned, &set, 1));
	name_lists(lists, 1, false, false);
	err = image_make(path[1], &owned, lists, EACH, &settings, first);
	CHECK(words ? err && strstr(reason(err), words) : !err, "%u of /%u, %s: %d, %s", many, length,
	      image_is_exact(first) ? "exact" : "bits", err, err ? reason(err) : "made");
	owned_free(&owned);
}

/* Rungs are /32, /48 and /64: nothing longer has one, and nobody has room for many times as much. */
static void shapes_have_an_end(void)
{
	for (int exact = 0; exact < 2; exact++) {
		struct settings settings = SETTINGS_DEFAULT;
		struct image first = { 0 };
		unsigned int room;

		settings.exact = exact;
		draw(0, 50);
		if (!make(0, &settings, false, NULL) ||
		    !CHECK(!image_open(&first, path[0], "first", true), "not opened"))
			return;
		room = (unsigned int)(exact ? first.g.roster6_buckets * ROSTER6_SLOTS
					    : first.g.filter_blocks * BLOCK_BYTES * 8);
		unlike(&first, 64, (unsigned int)first.g.keys6 / 2, NULL);
		unlike(&first, 65, 1, "no rung for prefixes as long");
		unlike(&first, 128, 3000, "no rung for prefixes as long");
		unlike(&first, 64, 2 * room, "that shape is too small");
		image_close(&first);
	}
}

/* Of what the shape has and the sets have not, all is there; what it has not, nothing gets. */
static void shapes_are_whole(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image first = { 0 }, second = { 0 };

	draw(0, 50);
	if (!make(0, &settings, true, NULL) || image_open(&first, path[0], "first", true))
		return;
	unlike(&first, 64, 0, NULL);
	if (!CHECK(!image_open(&second, path[1], "second", true), "not opened"))
		return;
	CHECK(second.g.roster6 && first.g.roster6 && second.g.roster6_buckets == first.g.roster6_buckets &&
		      second.g.rungs == first.g.rungs,
	      "nothing is there of IPv6");
	image_close(&second);
	image_close(&first);
	draw(4, 50);
	if (!make(0, &settings, true, NULL) || image_open(&first, path[0], "first", true))
		return;
	unlike(&first, 64, 1, first.g.filter ? "no rung for prefixes as long" : "has no filter");
	image_close(&first);
}

/* The rate that was asked for is the shape's, whatever is asked of what is made like it. */
static void rates_are_the_shape_s(void)
{
	struct settings settings = SETTINGS_DEFAULT, others = SETTINGS_DEFAULT;
	struct image first = { 0 }, second = { 0 };

	settings.fpr = 0.01;
	others.exact = false;
	others.fpr = 0.001;
	draw(0, 50);
	if (!make(0, &settings, true, NULL) || image_open(&first, path[0], "first", true) ||
	    !make(1, &others, true, &first) || image_open(&second, path[1], "second", true))
		return;
	CHECK(first.header->asked == second.header->asked && first.header->asked > 0, "%g and %g are asked for",
	      first.header->asked, second.header->asked);
	CHECK(image_is_exact(&second), "an image like an exact one is not exact");
	image_close(&second);
	image_close(&first);
}

/* One number of the second image is another, then of the first; or it has no such array: refused with these words. */
static void differing(struct image *first, struct image *second, size_t at, bool is_there, const char *words)
{
	for (int i = 0; i < 2; i++) {
		__u64 *number = (__u64 *)((char *)(i ? &first->g : &second->g) + at), before = *number;
		int err;

		*number = is_there ? 0 : before ^ 1;
		err = image_union(path[2], first, second);
		CHECK(err_is(err, EINVAL) && strstr(reason(err), words), "member %zu of the %s: %s", at,
		      i ? "first" : "second", reason(err));
		*number = before;
	}
}

static void every_difference(void)
{
	static const size_t shape[] = {
		offsetof(struct generation, hash),	    offsetof(struct generation, tag),
		offsetof(struct generation, gate6_add),	    offsetof(struct generation, gate6_mul),
		offsetof(struct generation, gate6_log2),    offsetof(struct generation, filter_blocks),
		offsetof(struct generation, filter_layout), offsetof(struct generation, filter_k),
		offsetof(struct generation, rungs),	    offsetof(struct generation, roster6_buckets),
	};
	static const size_t arrays[] = {
		offsetof(struct generation, gate6),
		offsetof(struct generation, filter),
		offsetof(struct generation, roster4),
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct image first = { 0 }, second = { 0 };
	int err;

	settings.headroom = 10;
	draw(0, 50);
	if (!make(0, &settings, true, NULL) || image_open(&first, path[0], "first", true) ||
	    !make(1, &settings, true, &first) || image_open(&second, path[1], "second", true))
		return;
	err = image_union(path[2], &first, &second);
	CHECK(!err, "%s", reason(err));
	for (size_t i = 0; i < sizeof(shape) / sizeof(*shape); i++)
		differing(&first, &second, shape[i], false, "differ in shape or seeds");
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		differing(&first, &second, arrays[i], true, "differ in shape or seeds");
	differing(&first, &second, offsetof(struct generation, shadows), false,
		  "shadow lists and IPv6 cannot be united");
	image_close(&second);
	image_close(&first);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "every difference", every_difference },
		{ "exact unions", exact_unions },
		{ "one host", one_host },
		{ "unions of bits", unions_of_bits },
		{ "gates of one", gates_of_one },
		{ "bans go before shadows", bans_go_before_shadows },
		{ "sets come back", sets_come_back },
		{ "others are refused", others_are_refused },
		{ "shapes have an end", shapes_have_an_end },
		{ "shapes are whole", shapes_are_whole },
		{ "rates are the shape's", rates_are_the_shape_s },
	};
	int status;

	ENOUGH(mkdtemp(directory));
	for (int i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d", directory, i);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	for (int i = 0; i < 3; i++)
		unlink(path[i]);
	rmdir(directory);
	return status;
}
