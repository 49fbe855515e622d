// SPDX-License-Identifier: GPL-2.0-only
/* attach, detach */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/apply.h"
#include "kernel/attach.h"
#include "kernel/detach.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "base/clean_text.h"
#include "verbs/cmd.h"
#include "kernel/root.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/answer.h"
#include "state/state.h"

static enum attach_mode wanted_mode;
static bool wanted_shared, if_needed, all;
static long confirm_seconds;

static int attach_option(int option, const char *value)
{
	if (option == 's') {
		wanted_shared = true;
		return 0;
	}
	if (option == 'i') {
		if_needed = true;
		return 0;
	}
	if (option == 'c') {
		confirm_seconds = option_seconds(value);
		return confirm_seconds < 0 ? fail("--confirm takes a time such as 60s or 5m, not '%s'", value) : 0;
	}
	for (int mode = MODE_AUTO; mode <= MODE_SKB; mode++) {
		if (!strcmp(value, attach_mode_names[mode])) {
			wanted_mode = mode;
			return 0;
		}
	}
	return fail("--mode is auto, native or skb, not '%s'", value);
}

static int report(const struct attachment *done, int n)
{
	char name[IF_NAMESIZE];
	json_t *array;

	if (!opt_json) {
		for (int i = 0; i < n && !opt_quiet; i++)
			printf("%s: filtering, %s mode%s\n", clean_copy(name, sizeof(name), done[i].name),
			       attach_mode_names[done[i].mode], done[i].shared ? ", shared" : "");
		return out_end();
	}
	array = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(array, json_pack("{s:o, s:s, s:b}", "name", out_text(done[i].name), "mode",
						       attach_mode_names[done[i].mode], "shared", done[i].shared));
	return out_json(array);
}

static int keeps(struct state *state, const char *name, bool *found)
{
	struct interface_info *kept;
	size_t n;
	int err = state_interfaces(state, &kept, &n);

	*found = false;
	for (size_t i = 0; i < n && !err; i++)
		*found = *found || !strcmp(name, kept[i].name);
	free(kept);
	return err;
}

static struct interface_info as_kept(const char *name)
{
	struct interface_info kept = { .shared = wanted_shared };

	snprintf(kept.name, sizeof(kept.name), "%s", name);
	snprintf(kept.mode, sizeof(kept.mode), "%s", attach_mode_names[wanted_mode]);
	return kept;
}

/* What of an interface is in the state before the packets are touched. */
enum announced { NOTHING, THAT_IT_WAITS, ALL };

/* What the state does not know of, nobody would take back where we are killed. */
static int announce(struct change *change, const char *name, enum announced *announced)
{
	struct pending pending = { .kind = PENDING_INTERFACE, .deadline = PENDING_DOING };
	struct interface_info interface = as_kept(name);
	struct attachment at = { 0 };
	bool kept = false;
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	snprintf(pending.name, sizeof(pending.name), "%s", name);
	if (attach_may(&at))
		return 0; /* attach_one() says why */
	err = change_pending(change, PENDING_INTERFACE, name, confirm_seconds);
	if (!err)
		err = keeps(change->state, name, &kept);
	if (err || (kept && !confirm_seconds))
		return err;
	*announced = kept ? THAT_IT_WAITS : ALL;
	if (!kept)
		err = state_interface_put(change->state, &interface);
	return err || confirm_seconds ? err : state_pending_add(change->state, &pending);
}

static int announce_all(struct change *change, int argc, char **argv, enum announced *announced)
{
	bool any = false;
	int err = 0;

	for (int i = 1; i < argc && !err; i++) {
		bool twice = false;

		for (int j = 1; j < i; j++)
			twice = twice || !strcmp(argv[i], argv[j]);
		err = twice ? 0 : announce(change, argv[i], &announced[i]);
		any = any || announced[i];
	}
	return err || !any ? err : state_commit(change->state) ?: state_again(change->state);
}

/* Of what is done nothing waits but for confirmation. */
static int announce_end(struct state *state, int argc, char **argv, const enum announced *announced)
{
	int err = 0;

	for (int i = 1; i < argc && !err && !confirm_seconds; i++)
		if (announced[i])
			err = state_pending_forget(state, PENDING_INTERFACE, argv[i]);
	return err;
}

static void take_back(struct state *state, int argc, char **argv, const enum announced *announced)
{
	int err = state_again(state);

	for (int i = 1; i < argc && !err; i++) {
		if (announced[i] == ALL)
			err = state_interface_drop(state, argv[i]);
		else if (announced[i])
			err = state_pending_forget(state, PENDING_INTERFACE, argv[i]);
		if (err_is(err, ENOENT)) /* it was not committed */
			err = 0;
	}
	if (!err)
		err = state_commit(state);
	if (err)
		note("the next command takes it back once more: %s", reason(err));
}

int cmd_attach(struct context *context, int argc, char **argv)
{
	static const struct option own[] = {
		{ "mode", required_argument, NULL, 'm' },
		{ "shared", no_argument, NULL, 's' },
		{ "confirm", required_argument, NULL, 'c' },
		{ "if-needed", no_argument, NULL, 'i' },
		{ 0 },
	};
	struct change *change = NULL;
	struct attachment *done;
	enum announced *announced;
	bool missing = false;
	char why[512];
	int n = 0, err, status;

	if (options_read(context, &argc, argv, own, attach_option))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("attach: which interface?");
	for (int i = 1; i < argc; i++)
		if (strlen(argv[i]) >= IF_NAMESIZE)
			return fail("%s: there is no such interface", argv[i]);
	done = calloc((size_t)argc, sizeof(*done));
	announced = calloc((size_t)argc, sizeof(*announced));
	err = done && announced ? change_begin(&change, context) : -ENOMEM;
	if (!err)
		err = kernel_base();
	if (!err)
		err = announce_all(change, argc, argv, announced);
	for (int i = 1; !err && i < argc; i++) {
		struct attachment *at = &done[n];
		struct interface_info kept = as_kept(argv[i]);

		snprintf(at->name, sizeof(at->name), "%s", argv[i]);
		at->mode = wanted_mode;
		at->shared = wanted_shared;
		err = attach_one(at);
		if (err_is(err, EEXIST) && if_needed) {
			err = state_interface_put(change->state, &kept);
			continue;
		}
		if ((err_is(err, ENODEV) || err_is(err, EXDEV)) && if_needed) {
			warn("%s%s", reason(err),
			     err_is(err, ENODEV) ? "; it is kept in mind: 'restore' or the service attaches it" : "");
			missing = true;
			err = state_interface_put(change->state, &kept);
			continue;
		}
		if (err)
			break;
		n++;
		err = state_interface_put(change->state, &kept);
	}
	if (!err)
		err = announce_end(change->state, argc, argv, announced);
	/* Last, as this commits: the slot is empty or as before until then, so that packets pass or are judged as
	 * before. */
	if (!err)
		err = apply_if_needed(change->state);
	if (err) {
		snprintf(why, sizeof(why), "%s", reason(err));
		while (n-- > 0)
			detach_one(done[n].name);
		if (change && change->state)
			take_back(change->state, argc, argv, announced);
		status = fail("%s; nothing was changed", why);
	} else {
		status = report(done, n) ?: missing ? EXIT_MISSING : EXIT_DONE;
	}
	change_end(change);
	free(announced);
	free(done);
	return status;
}

static int detach_option(int option, const char *value)
{
	(void)option;
	(void)value;
	all = true;
	return 0;
}

/* Every interface that the filter is on. */
static int detach_all(void)
{
	struct attachment *list = NULL;
	size_t n;
	int err = attach_list(&list, &n), one;

	for (size_t i = 0; i < n; i++) {
		one = detach_one(list[i].name);
		err = err ? err : one;
	}
	free(list);
	return err;
}

/* It is not to be attached again. NULL: none is. */
static int forget(const char *name)
{
	struct interface_info *kept = NULL;
	struct state *state = NULL;
	size_t n = 0;
	int err = state_open(&state, true);

	/* A command that we waited for may have attached it again. */
	if (!err)
		err = !name ? detach_all() : attach_find(name) ? 0 : detach_one(name);
	if (!err)
		err = state_interfaces(state, &kept, &n);
	for (size_t i = 0; i < n && !err; i++)
		if (!name || !strcmp(name, kept[i].name))
			err = state_interface_drop(state, kept[i].name);
	if (!err)
		err = state_commit(state);
	free(kept);
	state_close(state);
	return err;
}

/* An interface that is gone, but was to be attached when it comes back. */
static bool is_kept(const char *name)
{
	struct state *state = NULL;
	bool found = false;

	if (!state_open(&state, false) && keeps(state, name, &found))
		found = false;
	state_close(state);
	return found;
}

int cmd_detach(struct context *context, int argc, char **argv)
{
	static const struct option own[] = { { "all", no_argument, NULL, 'a' }, { 0 } };
	int err, kept;

	if (options_read(context, &argc, argv, own, detach_option))
		return EXIT_ERROR;
	if (argc < 2 && !all)
		return fail("detach: which interface? or --all");
	if (argc >= 2 && all)
		return fail("detach: either interfaces or --all");
	change_check(context, false);
	err = kernel_ready();
	/* Look before anything is done: either all of them or none. */
	for (int i = 1; i < argc && !err; i++)
		if (!is_kept(argv[i]))
			err = attach_find(argv[i]);
	if (err)
		return fail("%s", reason(err));
	/* The packets first: whoever detaches in trouble is not kept waiting for a state that is in trouble too. */
	if (all)
		err = detach_all();
	for (int i = 1; i < argc && !err; i++)
		if (!attach_find(argv[i]))
			err = detach_one(argv[i]);
	if (err)
		return fail("%s", reason(err));
	for (int i = 0; i < argc; i++) {
		if (!i && !all)
			continue;
		kept = forget(all ? NULL : argv[i]);
		if (kept)
			return fail("filtering has stopped, but will be back after 'restore': %s", reason(kept));
		if (all)
			break;
	}
	return out_done();
}
