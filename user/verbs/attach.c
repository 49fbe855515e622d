// SPDX-License-Identifier: GPL-2.0-only
/* attach, detach */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "change/attach.h"
#include "change/change.h"
#include "change/detach.h"
#include "change/purge.h"
#include "feeds/announce.h"
#include "kernel/attach.h"
#include "kernel/device.h"
#include "observe/detector.h"
#include "state/limits.h"
#include "verbs/verbs.h"

const struct option_spec attach_options[] = {
	{ "mode", .type = OPTION_WORD, AT(attach_options, mode), .words = attach_mode_words,
	  .also = "--native --skb --generic --driver --drv --offload -m",
	  .does = "the driver's own, the slower one behind, or tc" },
	{ "match", .type = OPTION_WORD, AT(attach_options, match), .words = match_names,
	  .does = "what is asked about: the packets' source" },
	{ "egress", AT(attach_options, egress), .does = "what leaves, by where it goes" },
	{ "ports", AT(attach_options, ports), .does = "of a bridge or bond, as they come and go" },
	{ "shared", AT(attach_options, shared), .does = "beside other programs, through libxdp" },
	CONFIRM_OPTION(attach_options),
	{ "if-needed", AT(attach_options, if_needed), .does = "what is attached stays, what is missing comes later" },
	FORCE_OPTION(attach_options),
	OPTIONS_END(struct attach_options),
};

static bool is_detecting(const struct context *context)
{
	struct state *state;
	bool is = !state_open(&state, context, false) && state_limits(state).on;

	state_close(state);
	return is;
}

static bool misses_some(const struct attachment *at, char misses[DEVICE_TEXT_MAX])
{
	return !MATCH_LEAVES(at->match) && device_misses(at->name, at->mode, misses);
}

static int report(const struct context *context, const struct attachment *done, int n)
{
	char name[IF_NAMESIZE], misses[DEVICE_TEXT_MAX], unseen[UNSEEN_TEXT_MAX];
	json_t *array;

	for (int i = 0; i < n; i++)
		if (misses_some(&done[i], misses))
			warn("%s: %s", done[i].name, misses);
	if (*detector_unseen(unseen, done, (size_t)n) && is_detecting(context))
		warn("the detector sees nothing of %s: " UNSEEN_WHY, unseen);
	if (!context->json) {
		for (int i = 0; i < n && !context->quiet; i++)
			printf("%s: filtering, %s mode%s%s\n", clean_copy(name, sizeof(name), done[i].name),
			       attach_mode_names[done[i].mode], done[i].shared ? ", shared" : "",
			       match_texts[done[i].match]);
		return out_end();
	}
	array = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(array, json_pack("{s:o, s:s, s:s, s:s, s:b, s:o}", "name", out_text(done[i].name),
						       "mode", attach_mode_names[done[i].mode], "match",
						       match_names[MATCH_OF(done[i].match)], "direction",
						       direction_names[MATCH_LEAVES(done[i].match)], "shared",
						       done[i].shared, "misses",
						       misses_some(&done[i], misses) ? out_text(misses) : json_null()));
	return out_json(context, array);
}

int verb_attach(const struct call *call)
{
	const struct attach_options *o = call->options;
	struct attachment *done = NULL;
	char(*names)[IF_NAMESIZE];
	bool missing = false;
	int n, err, status;

	if (o->egress && (o->mode || o->shared))
		return fail("attach: --egress has one mode, and is beside other programs anyway: without %s",
			    o->mode ? "--mode" : "--shared");
	if (o->shared && o->mode == 1 + MODE_TC)
		return fail("attach: --mode tc is beside other programs anyway: without --shared");
	if (read_interfaces(call, &names)) {
		free(names);
		return EXIT_ERROR;
	}
	err = attach_interfaces(call->context, call->options, call->operands, call->n, &done, &n, &missing);
	status = err ? fail("%s; nothing was changed", reason(err))
		     : report(call->context, done, n) ?: missing ? EXIT_MISSING : EXIT_DONE;
	free(done);
	free(names);
	return status;
}

struct detach_options {
	bool all, egress, ingress, ports, purge, yes;
};

const struct option_spec detach_options[] = {
	{ "all", AT(detach_options, all), .also = "-a", .does = "from every interface" },
	{ "egress", AT(detach_options, egress), .does = "from what leaves alone" },
	{ "ingress", AT(detach_options, ingress), .does = "from what comes in alone" },
	{ "ports", AT(detach_options, ports), .does = "from its ports, and those to come" },
	{ "purge", AT(detach_options, purge), .does = "and take all lists, bans and pins away, for good" },
	{ "yes", AT(detach_options, yes), .does = "without asking" },
	OPTIONS_END(struct detach_options),
};

/* On a terminal somebody is asked. */
static int is_wanted(const struct context *context, bool yes)
{
	char answer[8] = "";

	if (yes)
		return 0;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fail(
			"detach: --purge takes away all lists, bans and settings, for good: --yes says that it may");
	fprintf(stderr, "All that is in %s and %s goes: lists, bans, settings, events. Type yes: ", context->state,
		context->bpffs);
	if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n") != 0)
		return fail("detach: nothing was changed");
	return 0;
}

static int detach_and_purge(const struct call *call, bool yes)
{
	struct announced announced;
	bool stopped;
	int err;

	if (is_wanted(call->context, yes))
		return EXIT_ERROR;
	announced_find(&announced, call->context);
	err = purge(call->context, &stopped);
	if (!err)
		announced_clean(&announced);
	/* A line in the event log would lie there again. */
	call->context->state = "";
	if (err)
		return fail("%s%s", stopped ? "filtering has stopped, but not all is gone: " : "", reason(err));
	if (!call->context->quiet && !call->context->json)
		puts("nothing is filtered, and what was loaded and pinned is gone; 'make uninstall', or removing the"
		     " package, takes the program away");
	return out_done(call->context) ?: out_end();
}

static int detach_named(const struct call *call, const struct detach_what *what, bool *stopped)
{
	char(*labels)[LABEL_MAX] = calloc(DETACH_LABELS * (size_t)call->n + 1, sizeof(*labels));
	char **each = calloc(DETACH_LABELS * (size_t)call->n + 1, sizeof(*each));
	int n = 0, err = labels && each ? 0 : -ENOMEM;

	for (int i = 0; i < call->n && !err; i++) {
		const char *word = call->operands[i];
		char own[IF_NAMESIZE];

		/* What was attached under that word goes by it, whatever has the name today. */
		if (!detach_knows(call->context, word, what) && own_name(word, own))
			word = own;
		n += detach_labels(call->context, word, what, &labels[n]);
	}
	for (int i = 0; i < n; i++)
		each[i] = labels[i];
	err = err ?: detach_interfaces(call->context, each, n, stopped);
	free(each);
	free(labels);
	return err;
}

int verb_detach(const struct call *call)
{
	const struct detach_options *o = call->options;
	bool stopped = false;
	int err;

	if (!call->n && !o->all)
		return fail("detach: which interface? or --all");
	if (call->n && o->all)
		return fail("detach: either interfaces or --all");
	if (o->purge && !o->all)
		return fail("detach: --purge takes all away: with --all");
	if (o->all && (o->egress || o->ingress || o->ports))
		return fail("detach: --all is all: without --%s", o->egress    ? "egress"
								  : o->ingress ? "ingress"
									       : "ports");
	if (o->yes && !o->purge)
		return fail("detach: --yes is an answer to --purge");
	for (int i = 0; i < call->n; i++)
		if (!strcmp(call->operands[i], "all") && !if_nametoindex("all"))
			return fail("detach: there is no interface 'all'; from every one: xdp-bloom detach --all");
	change_check(call->context, false);
	if (o->purge)
		return detach_and_purge(call, o->yes);
	err = detach_named(call, &(struct detach_what){ o->ingress || !o->egress, o->egress || !o->ingress, o->ports },
			   &stopped);
	if (err)
		return fail("%s%s", stopped ? "filtering has stopped, but will be back after 'restore': " : "",
			    reason(err));
	return out_done(call->context);
}
