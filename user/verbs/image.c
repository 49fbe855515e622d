// SPDX-License-Identifier: GPL-2.0-only
/* image: files alone, without a kernel */
#include "change/change.h"
#include "image/image.h"
#include "image/make.h"
#include "image/union.h"
#include "filter/measured_rate.h"
#include "filter/settings.h"
#include "verbs/list_files.h"
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
	READING_OPTIONS(options, reading.format, reading.skip_bad, reading.where),
	OPTIONS_END(struct options),
};

static int make(const struct context *context, const struct options *o, const char *path, char **names, size_t n)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct list_files files = { 0 };
	struct owned owned = { 0 };
	struct image like = { 0 };
	int err = 0;

	if (o->like)
		err = image_open(&like, o->like, o->like, true);
	settings.exact = o->exact != 2;
	if (o->headroom.given)
		settings.headroom = o->headroom.value / 100;
	err = err ?: list_files_read(&files, NULL, &o->reading, names, n) ?: list_files_settle(&files, &owned);
	if (!err) {
		change_check(context, false);
		err = image_make(path, &owned, files.lists, n, &settings, o->like ? &like : NULL);
	}
	owned_free(&owned);
	image_close(&like);
	list_files_free(&files);
	return err;
}

static int unite(const struct context *context, const char *path, char **files)
{
	struct image a = { 0 }, b = { 0 };
	int err = image_open(&a, files[0], files[0], true);

	if (!err)
		err = image_open(&b, files[1], files[1], true);
	if (!err) {
		change_check(context, false);
		err = image_union(path, &a, &b);
	}
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
		err = make(call->context, call->options, path, call->operands + 2, (size_t)n);
	else if (!strcmp(what, "union") && n == 2)
		err = unite(call->context, path, call->operands + 2);
	else
		return fail("image: show FILE, make OUT LIST... or union OUT A B; see xdp-bloom help image");
	if (err)
		return fail("image %s: %s; nothing was written", what, reason(err));
	return report_made(call, path, "wrote");
}
