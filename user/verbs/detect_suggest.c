// SPDX-License-Identifier: GPL-2.0-only
/* detect suggest: looks at what passes for a while, and proposes limits. */
#include <signal.h>

#include "base/stop.h"
#include "kernel/root.h"
#include "observe/senders_json.h"
#include "observe/suggest.h"
#include "verbs/verbs.h"

int detect_suggest(const struct context *context, double seconds, unsigned int one_in)
{
	struct suggest s = { .context = context, .one_in = one_in };
	json_t *object = NULL;
	int err, status = 0;

	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = kernel_ready(context) ?: suggest_look(&s, seconds) ?: senders_json(s.senders, s.one_in, &object);
	if (!err && context->json) {
		status = out_json(context, json_pack("{s:O, s:I}", "detect", object, "missed", (json_int_t)s.missed));
	} else if (!err) {
		print_senders(context, object);
		if (s.missed)
			warn("%llu packets were not seen, as too many came at once", (unsigned long long)s.missed);
		status = out_end();
	}
	json_decref(object);
	suggest_free(&s);
	return err ? fail("detect suggest: %s", reason(err)) : status;
}
