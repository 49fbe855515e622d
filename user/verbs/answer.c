// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include "filter/layout.h"
#include "image/image.h"
#include "kernel/live.h"

int out_done(const struct context *context)
{
	if (!context->json)
		return EXIT_DONE;
	return out_json(context, json_pack("{s:I}", "generation", (json_int_t)kernel_live_generation(context)));
}

int out_confirm(const struct context *context, const char *what, const struct number *confirm)
{
	if (confirm->given && !context->quiet && !context->json) {
		if (context->waits)
			out_line("%s: goes back in %.0f s unless you run: xdp-bloom confirm", what, confirm->value);
		else
			out_line("%s: all was so already; nothing waits to be confirmed", what);
	}
	return out_done(context);
}

json_t *out_rungs(const struct generation *g)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < g->rungs; i++)
		json_array_append_new(array, json_integer((json_int_t)g->rung[i].length));
	return array;
}

json_t *out_memory(const struct stage_bytes *bytes)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "gate", (json_int_t)bytes->gate, "filter",
			 (json_int_t)bytes->filter, "roster", (json_int_t)bytes->roster, "labels",
			 (json_int_t)bytes->labels, "total", (json_int_t)bytes->total);
}

json_t *out_sizing(const struct sizing *s)
{
	return s->by_cost ? json_pack("{s:f, s:f, s:f, s:b}", "bits_per_key", s->bits_per_key, "ns", s->ns, "ns_usual",
				      s->ns_usual, "measured", s->measured)
			  : json_null();
}

void sizing_text(const struct sizing *s)
{
	if (s->by_cost)
		printf("sized       %.1f bits a key: %.1f ns a kept packet, %.1f with 16 (%s)\n", s->bits_per_key,
		       s->ns, s->ns_usual, s->measured ? "measured" : "usual");
}

int image_report(const struct context *context, const struct image *image, const char *path, const char *did)
{
	const struct generation *g = &image->g;
	char text[BYTES_TEXT_MAX];

	if (context->json)
		return out_json(context,
				json_pack("{s:o, s:s, s:s, s:I, s:I, s:{s:I, s:I}, s:I, s:b}", "file", out_text(path),
					  "id", image->id, "saved", image->header->saved, "bytes",
					  (json_int_t)image->size, "lists", (json_int_t)image->header->lists, "keys",
					  "ipv4", (json_int_t)g->keys4, "ipv6", (json_int_t)g->keys6, "banned24",
					  (json_int_t)g->all24, "exact", !g->filter || g->roster4 || g->roster6));
	if (!context->quiet)
		out_line("%s: %s image %s, %s, %llu list%s: %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6", path, did,
			 image->id, bytes_text(text, image->size), (unsigned long long)image->header->lists,
			 image->header->lists == 1 ? "" : "s", (unsigned long long)g->keys4,
			 (unsigned long long)g->all24, (unsigned long long)g->keys6);
	return out_end();
}
