// SPDX-License-Identifier: GPL-2.0-only
/* metrics: the same once, for a textfile collector */
#include "verbs/cmd.h"
#include "base/log.h"
#include "observe/metrics.h"
#include "base/out.h"

int cmd_metrics(struct context *context, int argc, char **argv)
{
	int err;

	if (options_read(context, &argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc > 1)
		return fail("metrics: takes no '%s'", argv[1]);
	err = metrics_write(stdout);
	return err ? fail("%s", reason(err)) : out_end();
}
