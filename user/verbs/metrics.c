// SPDX-License-Identifier: GPL-2.0-only
/* metrics: the same once, for a textfile collector */
#include "base/log.h"
#include "observe/metrics.h"
#include "base/out.h"
#include "verbs/verbs.h"

int verb_metrics(const struct call *call)
{
	int err = metrics_write(call->context, stdout);

	(void)call;
	return err ? fail("%s", reason(err)) : out_end();
}
