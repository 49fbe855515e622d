// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as what a server answers, in two ways to cut them: the same elements come, and no text is longer than it
 * may be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/entry.h"
#include "fleet/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

struct sum {
	uint64_t hash, replies;
	struct entry entry;
	char name[8];
};

static void mix(struct sum *s, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->hash = (s->hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
}

static void take(void *arg, const struct reply_value *v)
{
	struct sum *s = arg;

	hold(v->length <= REPLY_TEXT_MOST && v->depth <= REPLY_DEPTH && (!v->text || !v->text[v->length]));
	mix(s, &v->kind, sizeof(v->kind));
	mix(s, v->at, (size_t)v->depth * sizeof(*v->at));
	mix(s, &v->number, sizeof(v->number));
	if (!v->text)
		return;
	mix(s, v->text, v->length);
	/* And as fields of an entry. */
	entry_field(&s->entry, s->name, v->text);
	hold(strlen(s->entry.reason) < REASON_MAX && strlen(s->entry.prefix) < PREFIX_TEXT_MAX && s->entry.ttl >= 0 &&
	     s->entry.ttl <= TTL_MOST);
	strncpy(s->name, v->text, sizeof(s->name) - 1);
}

static void end(void *arg)
{
	((struct sum *)arg)->replies++;
}

static struct sum sum_of(const char *bytes, size_t n, size_t piece)
{
	struct sum s = { .hash = 0xcbf29ce484222325 };
	struct replies *r = replies_new(take, end, &s);
	int err = 0;

	for (size_t at = 0; at < n && !err; at += piece)
		err = replies_feed(r, bytes + at, n - at < piece ? n - at : piece);
	replies_free(r);
	/* What came before it was refused may differ: a whole piece, or a part of it. */
	if (err)
		s.hash = s.replies = 0;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum whole = sum_of((const char *)data, size, size ? size : 1), cut;

	cut = sum_of((const char *)data, size, 1 + size % 7);
	hold(whole.hash == cut.hash && whole.replies == cut.replies);
	return 0;
}
