// SPDX-License-Identifier: GPL-2.0-only
#include "image/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/arrays.h"
#include "filter/roster_table.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/new_file.h"
#include "sets/list.h"

struct writer {
	int fd, err;
	uint64_t sum, at;
};

static void put(struct writer *w, const void *data, size_t bytes)
{
	const char *from = data;

	w->sum = image_checksum(data, bytes, w->sum);
	w->at += bytes;
	while (bytes && !w->err) {
		ssize_t done = write(w->fd, from, bytes);

		if (done < 0) {
			w->err = -errno;
		} else {
			from += done;
			bytes -= (size_t)done;
		}
	}
}

static void put_padding(struct writer *w)
{
	static const char zeros[IMAGE_ALIGN];

	put(w, zeros, (IMAGE_ALIGN - w->at % IMAGE_ALIGN) % IMAGE_ALIGN);
}

static void put_header(struct writer *w, const struct image_source *source)
{
	struct image_header header = { .version = IMAGE_VERSION,
				       .byte_order = IMAGE_BYTE_ORDER,
				       .generation = sizeof(struct generation),
				       .asked = source->asked,
				       .g = *source->g };

	memcpy(header.magic, IMAGE_MAGIC, sizeof(header.magic));
	for (size_t i = 0; i < source->lists_n; i++)
		header.lists += source->lists[i].label != 0;
	header.bytes = image_bytes(source->g, header.lists);
	utc_text(header.saved, time(NULL));
	for (enum array a = 0; a < ARRAYS; a++) {
		*generation_member(&header.g, array_kinds[a].member) = array_bytes(source->g, a) > 0;
		/* Whether an array is one value depends on the kernel that loads it. */
		if (array_kinds[a].flat)
			*generation_member(&header.g, array_kinds[a].flat) = 0;
	}
	header.g.edits = 0;
	/* Nothing in an image ends. */
	header.g.ends = 0;
	if (source->g->ends && header.g.gate4_label == LABEL_ENDS)
		header.g.gate4_label = LABEL_LIVE;
	header.g.embedded = header.g.inner = 0; /* as the machine that loads it wants it */
	put(w, &header, sizeof(header));
}

/* Labels of bans that end become those of bans that do not. */
static void forget_ends(const struct generation *g, char *block, enum array a)
{
	struct codes4 *codes = (struct codes4 *)block;
	struct bucket4 *four = (struct bucket4 *)block;
	struct bucket6 *six = (struct bucket6 *)block;
	__u8 *labels[] = { a == ARRAY_ROSTER6 ? six->label
			   : keeps_codes4(g)  ? codes[0].label
					      : four[0].label,
			   keeps_codes4(g) ? codes[1].label : four[1].label };
	size_t labels_n = a == ARRAY_ROSTER4 && keeps_codes4(g) ? sizeof(codes->label) : sizeof(four->label);

	for (size_t at = 0; a == ARRAY_GATE4_LABELS && at < BLOCK_BYTES; at++)
		if ((__u8)block[at] == LABEL_ENDS)
			block[at] = LABEL_LIVE;
	for (size_t i = 0; i < (a == ARRAY_ROSTER4 ? 2 : a == ARRAY_ROSTER6); i++)
		for (size_t at = 0; at < labels_n; at++)
			if (labels[i][at] == LABEL_ENDS)
				labels[i][at] = LABEL_LIVE;
}

static void put_array(struct writer *w, const struct generation *g, enum array a, const char *from)
{
	bool labels = a == ARRAY_GATE4_LABELS || a == ARRAY_ROSTER4 || a == ARRAY_ROSTER6;
	char copy[1 << 16] __attribute__((aligned(8)));
	uint64_t bytes = array_bytes(g, a);

	if (!g->ends || !labels) {
		put(w, from, bytes);
		return;
	}
	for (uint64_t at = 0; at < bytes; at += sizeof(copy)) {
		size_t n = bytes - at < sizeof(copy) ? bytes - at : sizeof(copy);

		memcpy(copy, from + at, n);
		for (size_t block = 0; block < n; block += BLOCK_BYTES)
			forget_ends(g, copy + block, a);
		put(w, copy, n);
	}
}

static void put_list(struct writer *w, const struct list_info *from)
{
	struct image_list list = { .kind = from->kind, .label = from->label, .prefixes = from->prefixes };

	snprintf(list.name, sizeof(list.name), "%s", from->name);
	snprintf(list.addresses, sizeof(list.addresses), "%s", from->addresses);
	snprintf(list.loaded, sizeof(list.loaded), "%s", from->loaded);
	put(w, &list, sizeof(list));
}

static int put_all(int fd, const struct image_source *source, char id[IMAGE_ID_MAX])
{
	struct writer w = { .fd = fd };
	uint64_t sum;

	put_header(&w, source);
	for (size_t i = 0; i < source->lists_n; i++)
		if (source->lists[i].label)
			put_list(&w, &source->lists[i]);
	for (enum array a = 0; a < ARRAYS; a++) {
		put_padding(&w);
		put_array(&w, source->g, a,
			  (const char *)(uintptr_t)*generation_member((struct generation *)source->g,
								      array_kinds[a].member));
	}
	put_padding(&w);
	sum = w.sum;
	snprintf(id, IMAGE_ID_MAX, "%016llx", (unsigned long long)sum);
	put(&w, &sum, sizeof(sum));
	return w.err;
}

int image_write(const char *path, const struct image_source *source, char id[IMAGE_ID_MAX])
{
	struct new_file file;
	struct image image;
	int err = new_file_begin(&file, path);

	if (err)
		return err;
	err = put_all(file.fd, source, id);
	if (err)
		err = because(err, "%s: %s", path, errno_text(err));
	/* An image that could not be loaded is not saved. */
	if (!err) {
		err = image_open(&image, file.beside, path, true);
		if (!err)
			image_close(&image);
	}
	return new_file_end(&file, 0600, err); /* there are secret seeds in it */
}
