/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan as arrays, for those who ask them. */
#ifndef BUILT_H
#define BUILT_H

#include <errno.h>

#include "base/log.h"
#include "filter/build.h"
#include "filter/verify.h"
#include "bpf/decide.h"
#include "ktap.h"
#include "naive.h"

__attribute__((unused)) static __u32 decide(const struct generation *g, int family, ip6 num)
{
	return family == 4 ? decide_ipv4(g, (__u32)num) : decide_ipv6(g, (__u64)(num >> 64), (__u64)num);
}

/* Filled, and proven. */
__attribute__((unused)) static bool build(struct generation *g, const struct owned *owned)
{
	int err = -EAGAIN;

	memory_take(g);
	for (int attempt = 0; err_is(err, EAGAIN) && attempt < 8; attempt++) {
		if (attempt)
			memory_clear(g);
		seeds_set(g);
		err = build_arrays(g, owned);
	}
	if (!CHECK(!err, "not built: error %d", err))
		return false;
	err = check_arrays(g, owned);
	return CHECK(!err, "check_arrays says %d; exact %d, %llu rungs, gates %d and %d", err, g->roster4 || g->roster6,
		     g->rungs, !!g->gate4, !!g->gate6);
}

#endif
