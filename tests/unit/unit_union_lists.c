// SPDX-License-Identifier: GPL-2.0-only
/* Which lists a union of two images has, and what refuses one; how the arrays are united is for unit_union.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"

/* The lists of an image are made up here. */
static int made_lists(const struct image *image, struct list_info **lists, size_t *n);
#define image_lists made_lists
#include "image/union.c"
#undef image_lists

#include "ktap.h"

static struct list_info of_a[LABELS], of_b[LABELS];
static size_t a_n, b_n;
static int a_err, b_err;
static const struct image a, b;

static int made_lists(const struct image *image, struct list_info **lists, size_t *n)
{
	const struct list_info *from = image == &a ? of_a : of_b;
	int err = image == &a ? a_err : b_err;

	*n = image == &a ? a_n : b_n;
	*lists = err ? NULL : malloc(*n * sizeof(**lists) + 1);
	if (err)
		*n = 0;
	else
		memcpy(*lists, from, *n * sizeof(**lists));
	return err;
}

static struct list_info list(const char *name, enum list_kind kind, uint8_t label, const char *addresses, int day)
{
	struct list_info is = { .kind = kind, .label = label, .prefixes = label };

	snprintf(is.name, sizeof(is.name), "%s", name);
	snprintf(is.addresses, sizeof(is.addresses), "%s", addresses);
	snprintf(is.loaded, sizeof(is.loaded), "2026-01-%02dT00:00:00Z", day);
	return is;
}

static int merged(struct merge *m)
{
	memset(m, 0, sizeof(*m));
	m->a = &a;
	m->b = &b;
	return merge_lists(m);
}

static void begin(void)
{
	a_n = b_n = 0;
	a_err = b_err = 0;
}

/* Those of one name are one; those of b alone get labels that a has not. */
static void labels(void)
{
	static const struct {
		const char *name, *addresses, *loaded;
		uint8_t label;
		size_t prefixes;
	} known[] = {
		{ "one", "12", "2026-01-05T00:00:00Z", 1, 1 },
		{ "both", "340282366920938463463374607431768211455", "2026-01-09T00:00:00Z", 3, 4 },
		{ "watch", "1099", "2026-01-08T00:00:00Z", 130, 194 },
		{ "two", "7", "2026-01-03T00:00:00Z", 2, 3 },
		{ "shadow", "5", "2026-01-03T00:00:00Z", 4, 200 },
	};
	static struct merge m;
	int err;

	begin();
	of_a[a_n++] = list("one", LIST_BAN, 1, "12", 5);
	of_a[a_n++] = list("both", LIST_BAN, 3, "340282366920938463463374607431768211450", 4);
	of_a[a_n++] = list("watch", LIST_SHADOW, 130, "999", 8);
	of_b[b_n++] = list("two", LIST_BAN, 3, "7", 3);
	of_b[b_n++] = list("both", LIST_BAN, 1, "5", 9);
	of_b[b_n++] = list("watch", LIST_SHADOW, 64, "100", 7);
	of_b[b_n++] = list("shadow", LIST_SHADOW, 200, "5", 3);
	err = merged(&m);
	if (!CHECK(!err && m.lists_n == sizeof(known) / sizeof(*known), "%zu lists: %s", m.lists_n, reason(err)))
		return;
	for (size_t i = 0; i < m.lists_n; i++)
		CHECK(!strcmp(m.lists[i].name, known[i].name) && !strcmp(m.lists[i].addresses, known[i].addresses) &&
			      !strcmp(m.lists[i].loaded, known[i].loaded) && m.lists[i].label == known[i].label &&
			      m.lists[i].prefixes == known[i].prefixes,
		      "%zu: %s, %u, %llu prefixes, %s addresses, %s", i, m.lists[i].name, m.lists[i].label,
		      (unsigned long long)m.lists[i].prefixes, m.lists[i].addresses, m.lists[i].loaded);
	CHECK(m.label_of_b[0] == LABEL_LIVE && m.label_of_b[3] == 2 && m.label_of_b[1] == 3 &&
		      m.label_of_b[64] == 130 && m.label_of_b[200] == 4,
	      "b's labels are others");
	CHECK(m.g.shadows && m.g.shadow[0] == 1 << 4 && !m.g.shadow[1] && m.g.shadow[2] == 1 << 2 && !m.g.shadow[3],
	      "who only counts: %llx, %llx, %llx, %llx", m.g.shadow[0], m.g.shadow[1], m.g.shadow[2], m.g.shadow[3]);
	/* Without any. */
	a_n = 2;
	b_n = 2;
	err = merged(&m);
	CHECK(!err && !m.g.shadows && m.lists_n == 3, "%zu lists, %llu: %s", m.lists_n, m.g.shadows, reason(err));
}

static void refuses(int number, const char *words)
{
	static struct merge m;
	int err = merged(&m);

	CHECK(err_is(err, number) && !strcmp(reason(err), words), "%d, '%s'", err, reason(err));
}

static void refused(void)
{
	static struct merge m;
	char name[16];

	begin();
	of_a[a_n++] = list("one", LIST_BAN, 1, "1", 1);
	of_b[b_n++] = list("two", LIST_BAN, 1, "1", 1);
	of_b[b_n++] = list("one", LIST_SHADOW, 2, "1", 1);
	of_b[b_n++] = list("three", LIST_BAN, 3, "1", 1);
	refuses(EINVAL, "'one' bans in one image and only counts in the other");
	begin();
	a_err = -ENOMEM;
	refuses(ENOMEM, "Cannot allocate memory");
	a_err = 0;
	b_err = -ENOMEM;
	refuses(ENOMEM, "Cannot allocate memory");
	/* As many as there are labels, and one more. */
	begin();
	for (; a_n < LABELS - 2; a_n++) {
		snprintf(name, sizeof(name), "list%zu", a_n);
		of_a[a_n] = list(name, LIST_BAN, (uint8_t)(a_n + 1), "1", 1);
	}
	of_b[b_n++] = list("list0", LIST_BAN, 1, "1", 1);
	of_b[b_n++] = list("one", LIST_BAN, 2, "1", 1);
	CHECK(!merged(&m) && m.lists_n == LABELS - 1 && m.label_of_b[2] == LABELS - 1, "%zu lists, the last on %u",
	      m.lists_n, m.label_of_b[2]);
	of_b[b_n++] = list("two", LIST_BAN, 3, "1", 1);
	refuses(ENOSPC, "together they have more than 255 lists");
	merged(&m);
	CHECK(m.lists_n == LABELS - 1, "%zu lists, one without a label", m.lists_n);
}

/* What two filters without rosters must have in common. */
static void gates(void)
{
	static const struct {
		__u64 gate_a, gate_b, keys_a, keys_b;
		bool are;
	} known[] = {
		{ 1, 1, 5, 5, true }, { 0, 0, 5, 5, true }, { 1, 0, 5, 5, false }, { 0, 1, 5, 5, false },
		{ 1, 0, 0, 5, true }, { 1, 0, 5, 0, true }, { 0, 1, 0, 0, true },
	};
	struct image x = { .g = { .filter = 1, .filter_blocks = 8, .keys6 = 5 } }, y = x;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int err;

		x.g.gate4 = known[i].gate_a;
		y.g.gate4 = known[i].gate_b;
		x.g.keys4 = known[i].keys_a;
		y.g.keys4 = known[i].keys_b;
		err = check_shapes(&x, &y);
		CHECK(known[i].are ? !err
				   : err_is(err, EINVAL) &&
					     !strcmp(reason(err),
						     "without rosters, only one of the images has an IPv4 gate"),
		      "%zu: %d, '%s'", i, err, reason(err));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "labels", labels },
		{ "what is refused", refused },
		{ "gates without rosters", gates },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
