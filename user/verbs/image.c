// SPDX-License-Identifier: GPL-2.0-only
/* image: files alone, without a kernel */
#include <time.h>

#include "change/guard_rails.h"
#include "image/image.h"
#include "image/make.h"
#include "image/union.h"
#include "base/clock.h"
#include "sets/list.h"
#include "sets/owned.h"
#include "filter/measured_rate.h"
#include "filter/settings.h"
#include "sets/reader.h"
#include "state/bans.h"
#include "verbs/verbs.h"

struct options {
	struct reader_options reading;
	const char *like;
	int exact; /* 2: off */
	struct number headroom;
};

const struct option_spec image_options[] = {
	{ "like", .type = OPTION_FILE, AT(options, like), .value = "IMAGE",
	  .does = "make: with its seeds and its shape" },
	{ "headroom", .type = OPTION_NUMBER, AT(options, headroom), .most = 1000, .value = "PERCENT",
	  .does = "make: for keys that are added later" },
	{ "exact", .type = OPTION_WORD, AT(options, exact), .words = option_on_off,
	  .does = "make: with a roster, or without" },
	READING_OPTIONS(options, reading.format, reading.skip_bad),
	OPTIONS_END(struct options),
};

/* "lists/drop.txt" is the list "drop". */
static void name_list(struct list_info *list, const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strcspn(base, ".");

	if (!len)
		len = strlen(base);
	snprintf(list->name, sizeof(list->name), "%.*s", (int)len, base);
	for (char *c = list->name; *(c += strspn(c, LIST_NAME_BYTES)); c++)
		*c = '_';
	if (list_name_is_dots(list->name))
		*list->name = '_';
}

/* Bogons are left out, as load does. */
static int read_list(const struct options *o, const char *path, struct list_info *list, struct ranges *set)
{
	struct reader_report report;
	char error[READER_TEXT_MAX], number[NUMBER_TEXT_MAX];
	bool found[64];
	int err = reader_read(path, &o->reading, set, &report, error);

	if (err)
		return because(err, "%s", error);
	reader_warn_masked(&report);
	err = guard_apply_bogons(set, BOGONS_LEAVE_OUT, found);
	name_list(list, path);
	if (!err && !strcmp(list->name, LIVE_LIST))
		err = because(-EEXIST, "%s: live bans go by the name '%s': call the file something else", path,
			      list->name);
	list->kind = LIST_BAN;
	list->prefixes = ranges_count_prefixes(set);
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(set)));
	utc_text(list->loaded, time(NULL));
	return err;
}

static int make(const struct options *o, const char *path, char **files, size_t n)
{
	struct ranges *sets = calloc(n, sizeof(*sets)), none = RANGES_EMPTY;
	struct account *accounts = calloc(n, sizeof(*accounts));
	struct list_info *lists = calloc(n, sizeof(*lists));
	struct settings settings = SETTINGS_DEFAULT;
	struct owned owned = { 0 };
	struct image like = { 0 };
	int err = sets && accounts && lists ? 0 : -ENOMEM;

	if (!err && o->like)
		err = image_open(&like, o->like, o->like, true);
	settings.exact = o->exact != 2;
	if (o->headroom.given)
		settings.headroom = o->headroom.value / 100;
	for (size_t i = 0; i < n && !err; i++) {
		lists[i].label = (uint8_t)(i + 1);
		accounts[i] = (struct account){ &sets[i], lists[i].label };
		err = read_list(o, files[i], &lists[i], &sets[i]);
		for (size_t j = 0; j < i && !err; j++)
			if (!strcmp(lists[i].name, lists[j].name))
				err = because(-EEXIST, "two lists would be called '%s'", lists[i].name);
	}
	if (!err)
		err = owned_settle(&owned, accounts, n, &none);
	if (!err)
		err = image_make(path, &owned, lists, n, &settings, o->like ? &like : NULL);
	owned_free(&owned);
	image_close(&like);
	for (size_t i = 0; sets && i < n; i++)
		ranges_free(&sets[i]);
	free(sets);
	free(accounts);
	free(lists);
	return err;
}

static int unite(const char *path, char **files)
{
	struct image a = { 0 }, b = { 0 };
	int err = image_open(&a, files[0], files[0], true);

	if (!err)
		err = image_open(&b, files[1], files[1], true);
	if (!err)
		err = image_union(path, &a, &b);
	image_close(&a);
	image_close(&b);
	return err;
}

static int report_made(const struct call *call, const char *path, const char *did)
{
	struct image image;
	struct rate rate;
	int err = image_open(&image, path, path, true), status;

	if (err)
		return fail("%s", reason(err));
	rate_measure(&image.g, &rate);
	status = image_report(call->context, &image, path, did);
	if (rate_passed(&rate, image.header->asked))
		warn("%s: the filter takes %.4f %% of other addresses, and the target is %.4f %%: make it with more --headroom",
		     path, rate.fpr * 100, image.header->asked * 100);
	image_close(&image);
	return status;
}

int verb_image(const struct call *call)
{
	const char *what = call->n ? call->operands[0] : "", *path = call->n ? call->operands[1] : NULL;
	int n = call->n - 2, err;

	if (!strcmp(what, "show") && n == 0)
		return report_made(call, path, "holds");
	if (!strcmp(what, "make") && n > 0 && n < LABELS)
		err = make(call->options, path, call->operands + 2, (size_t)n);
	else if (!strcmp(what, "union") && n == 2)
		err = unite(path, call->operands + 2);
	else
		return fail("image: show FILE, make OUT LIST... or union OUT A B; see xdp-bloom --help");
	if (err)
		return fail("image %s: %s; nothing was written", what, reason(err));
	return report_made(call, path, "wrote");
}
