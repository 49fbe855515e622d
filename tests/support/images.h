/* SPDX-License-Identifier: GPL-2.0-only */
/* Images as bytes, for those who make, damage and compare them. */
#ifndef IMAGES_H
#define IMAGES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/arrays.h"
#include "bpf/decide.h"
#include "image/image.h"

/* Bytes become as good an image as they can: what a stranger would make who knows the format. */
__attribute__((unused)) static void image_forge(unsigned char *bytes, size_t size)
{
	struct image_header *header = (struct image_header *)bytes;
	uint64_t sum;

	if (size < sizeof(*header) + sizeof(sum))
		return;
	memcpy(header->magic, IMAGE_MAGIC, sizeof(header->magic));
	header->version = IMAGE_VERSION;
	header->byte_order = IMAGE_BYTE_ORDER;
	header->generation = sizeof(header->g);
	header->g.version = header->g.roster4_buckets & ROSTER4_CODES ? GENERATION_CODES : GENERATION_VERSION;
	header->bytes = size;
	sum = image_checksum(bytes, size - sizeof(sum), 0);
	memcpy(bytes + size - sizeof(sum), &sum, sizeof(sum));
}

/* An image that was taken for one may say anything, but only from within its arrays. */
__attribute__((unused)) static void image_ask(const struct image *image, uint64_t random)
{
	for (int i = 0; i < 64; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		decide_shadow(&image->g, decide_ipv4(&image->g, (__u32)(random >> 32)));
		decide_shadow(&image->g, decide_ipv6(&image->g, random, random << 7));
	}
}

#endif
