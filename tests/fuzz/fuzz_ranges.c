// SPDX-License-Identifier: GPL-2.0-only
/* Bytes as operations on two range sets in a small universe, against the naive model. */
#include <stdint.h>
#include <stdlib.h>

#define UNIVERSE 96U /* small: most of the time goes into the model */
#include "sets/ranges.h"
#include "ranges_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

typedef int algebra_fn(struct ranges *out, const struct ranges *a, const struct ranges *b);

static void apply(algebra_fn *algebra, struct ranges *a, const struct ranges *b, struct model *model, const bool *in)
{
	struct ranges out;

	hold(!algebra(&out, a, b));
	memcpy(model->in, in, sizeof(model->in));
	for (unsigned int i = 0; i < UNIVERSE; i++)
		hold(ranges_have(&out, model_addr(model, i)) == in[i]);
	ranges_free(a);
	*a = out;
}

/* Each step takes three bytes: what to do, where, how far. The first byte of all says where the universe lies. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ranges set[2] = { RANGES_EMPTY, RANGES_EMPTY };
	struct model model[2];
	bool in[3][UNIVERSE];

	if (!size)
		return 0;
	model[0] = model[1] = (struct model){ .family = *data & 1 ? 6 : 4, .place = (*data >> 1) % 3 };
	for (data++, size--; size >= 3; data += 3, size -= 3) {
		int which = *data & 1;
		unsigned int lo = data[1] % UNIVERSE, hi = lo + data[2] % UNIVERSE;

		if (hi >= UNIVERSE)
			hi = UNIVERSE - 1;
		if (*data >> 1 & 3) {
			model_add(&model[which], &set[which], lo, *data & 2 ? hi : lo);
			continue;
		}
		hold(!ranges_finish(&set[0]) && !ranges_finish(&set[1]));
		for (unsigned int i = 0; i < UNIVERSE; i++) {
			in[0][i] = model[0].in[i] || model[1].in[i];
			in[1][i] = model[0].in[i] && model[1].in[i];
			in[2][i] = model[which].in[i] && !model[!which].in[i];
		}
		if (*data >> 3 & 1)
			apply(ranges_union, &set[which], &set[!which], &model[which], in[0]);
		else if (*data >> 4 & 1)
			apply(ranges_intersect, &set[which], &set[!which], &model[which], in[1]);
		else
			apply(ranges_subtract, &set[which], &set[!which], &model[which], in[2]);
	}
	for (int i = 0; i < 2; i++) {
		hold(!ranges_finish(&set[i]));
		hold(!model_compare(&model[i], &set[i]));
		ranges_free(&set[i]);
	}
	return 0;
}
