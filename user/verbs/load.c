// SPDX-License-Identifier: GPL-2.0-only
/* load */
#include <errno.h>

#include "base/log.h"
#include "base/out.h"
#include "change/load.h"
#include "verbs/answer.h"
#include "verbs/print_load.h"
#include "verbs/verbs.h"

#define AT(member) .target = offsetof(struct load_options, member)

static const char *const bogons_words[] = { "keep", "refuse", NULL };

const struct option_spec load_list_options[] = {
	{ "allow", .type = OPTION_KIND, AT(kind), .least = LIST_ALLOW, .does = "an allow list" },
	{ "shadow", .type = OPTION_KIND, AT(kind), .least = LIST_SHADOW, .does = "a list that only counts" },
	{ "format", .type = OPTION_TEXT, AT(reading.format), .value = "FORMAT", .words_of = reader_formats,
	  .does = "read it as that, whatever it looks like" },
	{ "skip-bad", AT(reading.skip_bad), .does = "leave out lines that cannot be read" },
	{ "dry-run", AT(dry_run), .does = "say what would happen" },
	{ "confirm", .type = OPTION_TIME, AT(confirm), .value = "TIME",
	  .does = "goes back unless 'confirm' comes first" },
	{ "if-changed", AT(if_changed), .does = "nothing, where it was loaded from this file as it is" },
	{ "bogons", .type = OPTION_WORD, AT(bogons), .words = bogons_words,
	  .does = "private, loopback, link-local, multicast: left out otherwise" },
	{ "ban-own", AT(ban_own), .does = "even addresses of this machine, or of who is logged in" },
	{ "wide", AT(wide), .does = "even if it bans a large part of the internet" },
	{ "big-change", AT(big_change), .does = "even if more than half of it comes or goes" },
	{ "force", AT(force), .does = "against all guard rails" },
	OPTIONS_END(struct load_options),
};

int verb_load(const struct call *call)
{
	const struct load_options *o = call->options;
	struct loaded loaded;
	int err = load_list(call->context, o, call->operands[0], call->operands[1], &loaded), status;

	if (err_is(err, EALREADY))
		status = out_done(call->context);
	else if (err)
		status = fail("%s; nothing was loaded", reason(err));
	else
		status = call->context->json ? loaded_json(&loaded, o) : loaded_text(call->context, &loaded, o);
	loaded_free(&loaded);
	return status;
}
