/* SPDX-License-Identifier: GPL-2.0-only */
/* A generation that is to be edited. */
#ifndef EDITED_H
#define EDITED_H

#include "bpf/decide.h"
#include "filter/build.h"
#include "filter/edit.h"
#include "filter/plan_sizes.h"
#include "in_codes.h"
#include "ktap.h"
#include "naive.h"

#define LABEL_LIST  7
#define LABEL_OTHER 8

/* A generation of these lists. */
__attribute__((unused)) static bool generate_with(struct generation *g, const struct account *accounts, size_t count,
						  const struct settings *settings)
{
	struct ranges none = RANGES_EMPTY;
	struct owned owned;
	int err;

	ENOUGH(!owned_settle(&owned, accounts, count, &none));
	err = plan_generation(g, &owned, settings);
#ifdef EDITED_IN_CODES /* some of them */
	if (!err && !g->gate4 && ktap_random() % 2)
		keep_codes(g);
#endif
	memory_take(g);
	/* Of some seeds a roster that is to be full finds no place for a key: others are drawn. */
	for (int attempt = 0; !err || (err_is(err, EAGAIN) && attempt < 8); attempt++) {
		memory_clear(g);
		seeds_set(g);
		err = build_arrays(g, &owned);
		if (!err)
			break;
	}
	owned_free(&owned);
	return CHECK(!err, "not built: %d", err);
}

__attribute__((unused)) static bool is_dropped6(const struct generation *g, ip6 addr)
{
	return decide_ipv6(g, (__u64)(addr >> 64), (__u64)addr) & ANSWER_DROP;
}

#endif
