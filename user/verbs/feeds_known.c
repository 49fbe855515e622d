// SPDX-License-Identifier: GPL-2.0-only
/* feeds known: the public feeds of the catalog */
#include <errno.h>

#include "base/span.h"
#include "change/catalog.h"
#include "verbs/verbs.h"

static json_t *text_or_null(const char *text)
{
	return text ? out_text(text) : json_null();
}

static json_t *was_json(const struct catalog_feed *f)
{
	json_t *was = json_array();

	for (size_t i = 0; i < CATALOG_WAS_MOST && f->was[i]; i++)
		json_array_append_new(was, out_text(f->was[i]));
	return was;
}

static json_t *known_json(const struct catalog_feed *f)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "name", f->name,
			 "by", f->by, "holds", f->holds, "family", f->family, "url", f->url, "was", was_json(f),
			 "every", (json_int_t)f->every, "every_by", f->every_by, "terms", f->terms, "size", f->size,
			 "account", text_or_null(f->account), "format", text_or_null(f->format), "where",
			 text_or_null(f->where), "note", text_or_null(f->note), "written", f->written);
}

static void known_text(const struct catalog_feed *f)
{
	char every[SPAN_TEXT_MAX];

	printf("%-22s %-4s %5s  %s%s\n", f->name, f->family, span_text(every, f->every), f->holds,
	       f->account ? " (needs an account)" : "");
}

/* Of one alone, all that is known. */
static void one_text(const struct catalog_feed *f)
{
	char every[SPAN_TEXT_MAX];

	printf("%s: %s\n  by       %s\n  family   %s\n  from     %s\n", f->name, f->holds, f->by, f->family, f->url);
	for (size_t i = 0; i < CATALOG_WAS_MOST && f->was[i]; i++)
		printf("  was      %s\n", f->was[i]);
	printf("  every    %s at most, says: %s\n  terms    %s\n  size     %s\n", span_text(every, f->every),
	       f->every_by, f->terms, f->size);
	if (f->account)
		printf("  account  %s\n", f->account);
	if (f->note)
		printf("  note     %s\n", f->note);
	printf("  written  %s\n", f->written);
}

int feeds_known(const struct call *call)
{
	const char *pattern = call->n > 1 ? call->operands[1] : "";
	const struct catalog_feed *one = NULL;
	json_t *array = json_array();
	struct catalog catalog;
	int err = catalog_read(&catalog, NULL);
	size_t found = 0;

	if (!err && *pattern == '@')
		err = catalog_find(&catalog, pattern, &one);
	for (size_t i = 0; i < catalog.n && !err; i++) {
		const struct catalog_feed *f = &catalog.feeds[i];

		if (one ? f != one : !catalog_matches(f, pattern))
			continue;
		if (call->context->json)
			json_array_append_new(array, known_json(f));
		else if (one)
			one_text(f);
		else if (!found)
			printf("%-22s %-4s %5s  %s\n", "FEED", "IP", "EVERY", "HOLDS");
		if (!call->context->json && !one)
			known_text(f);
		found++;
	}
	if (!err && !found)
		err = because(-ENOENT,
			      "no feed is known with '%.100s' in what is known of it; 'xdp-bloom feeds known' "
			      "lists all",
			      pattern);
	if (!err && call->context->json) {
		err = out_json(call->context, array);
		catalog_free(&catalog);
		return err;
	}
	json_decref(array);
	catalog_free(&catalog);
	return err ? fail("feeds: %s", reason(err)) : out_end();
}
