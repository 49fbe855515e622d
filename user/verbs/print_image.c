// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/print_image.h"

#include <stdio.h>

#include "image/image.h"
#include "base/log.h"
#include "base/out.h"

int image_report(const struct image *image, const char *path, const char *did)
{
	const struct generation *g = &image->g;
	char text[BYTES_TEXT_MAX];

	if (opt_json)
		return out_json(json_pack("{s:o, s:s, s:s, s:I, s:I, s:{s:I, s:I}, s:I, s:b}", "file", out_text(path),
					  "id", image->id, "saved", image->header->saved, "bytes",
					  (json_int_t)image->size, "lists", (json_int_t)image->header->lists, "keys",
					  "ipv4", (json_int_t)g->keys4, "ipv6", (json_int_t)g->keys6, "banned24",
					  (json_int_t)g->all24, "exact", !g->filter || g->roster4 || g->roster6));
	if (!log_settings.quiet)
		printf("%s: %s image %s, %s, %llu list%s: %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6\n", path, did,
		       image->id, bytes_text(text, image->size), (unsigned long long)image->header->lists,
		       image->header->lists == 1 ? "" : "s", (unsigned long long)g->keys4, (unsigned long long)g->all24,
		       (unsigned long long)g->keys6);
	return out_end();
}
