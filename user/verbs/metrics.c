// SPDX-License-Identifier: GPL-2.0-only
/* metrics: the same once, for a textfile collector */
#include "base/log.h"
#include "observe/metrics.h"
#include "base/out.h"
#include "verbs/verbs.h"

static int run(const struct call *call)
{
	int err = metrics_write(stdout);

	(void)call;
	return err ? fail("%s", reason(err)) : out_end();
}

const struct verb verb_metrics = {
	.name = "metrics", .operands = "", .does = "the counters as Prometheus reads them", .run = run
};
