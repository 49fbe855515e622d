// SPDX-License-Identifier: GPL-2.0-only
/* Bytes as a capture: packets within bounds, or refused in words; the same in whatever pieces they are read. */
#include <stdlib.h>
#include <string.h>

#include "observe/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct generation nothing = { .version = GENERATION_VERSION };

struct input {
	const uint8_t *data;
	size_t size, at, chunk;
	struct replay replay;
	uint64_t packets, sum;
};

static void hold(int ok)
{
	if (!ok)
		abort();
}

static ssize_t read_some(void *arg, void *buf, size_t size)
{
	struct input *in = arg;
	size_t n = in->size - in->at;

	n = n < size ? n : size;
	n = n < in->chunk ? n : in->chunk;
	memcpy(buf, in->data + in->at, n);
	in->at += n;
	return (ssize_t)n;
}

/* In memory of its own: a look behind what was captured is seen. */
static int take(void *arg, const struct captured *p)
{
	struct input *in = arg;
	struct captured copy = *p;
	uint8_t *memory;
	__u32 answer;
	bool judged;

	hold(p->size <= CAPTURED_MAX && p->size <= p->length && p->size <= in->size && frame_link_known(p->link));
	hold(++in->packets <= in->size);
	memory = malloc(p->size ? p->size : 1);
	hold(memory != NULL);
	memcpy(memory, p->bytes, p->size);
	copy.bytes = memory;
	hold(!replay_packet(&in->replay, &copy, &answer, &judged));
	in->sum = in->sum * 31 + answer + p->time + p->length;
	free(memory);
	return 0;
}

static int read_in(struct input *in, const uint8_t *data, size_t size, size_t chunk, struct capture_end *end)
{
	struct capture_calls calls = { read_some, take, in };
	int err;

	*in = (struct input){ .data = data, .size = size, .chunk = chunk, .replay = { .g = &nothing } };
	err = capture_read(&calls, end);
	hold(end->packets >= in->packets && memchr(end->error, 0, sizeof(end->error)) != NULL);
	hold((err != 0) == (end->error[0] != 0));
	hold(in->replay.seconds_n <= REPLAY_SECONDS_MAX);
	replay_free(&in->replay);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_end whole_end, end;
	struct input whole, pieces;
	int err;

	if (!size)
		return 0;
	err = read_in(&whole, data, size, size, &whole_end);
	hold(read_in(&pieces, data, size, 1 + data[size - 1] % 64, &end) == err);
	hold(whole.packets == pieces.packets && whole.sum == pieces.sum && whole_end.cut == end.cut &&
	     !strcmp(whole_end.error, end.error));
	return 0;
}
