// SPDX-License-Identifier: GPL-2.0-only
/* unload, lists, enforce and shadow: what each does to the state, in which order, and what it prints; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change/apply.h"
#include "change/change.h"
#include "change/feed_row.h"
#include "change/guard_rails.h"
#include "change/revert_timer.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "typed.h"
#include "verb_change.h"

static const struct shown known[] = {
#include "unit_lists_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_lists_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static unsigned int lists_n, failed_n_is;
static bool of_image, too_wide, on_trial; /* on_trial: list none was dropped, and may come back */

static int given_commit(struct change *change, const struct apply_options *options)
{
	(void)change;
	return call(options ? "commits, and builds" : "commits");
}

static const struct {
	const char *name;
	enum list_kind kind;
	uint8_t label;
} all_lists[] = {
	{ "drop", LIST_BAN, 1 }, { "watch", LIST_SHADOW, 2 }, { "ours", LIST_ALLOW, 0 }, { "friends", LIST_TRUST, 0 }
};

static struct list_info list_at(size_t i)
{
	struct list_info l = { .kind = all_lists[i].kind,
			       .label = all_lists[i].label,
			       .prefixes = 7 + i,
			       .addresses = "99",
			       .source = "a file",
			       .loaded = "2025-12-31T23:59:00Z" };

	snprintf(l.name, LIST_NAME_MAX, "%s", all_lists[i].name);
	if (i == 1) {
		strcpy(l.where, "kind = x");
		strcpy(l.scope, "tcp/22");
	}
	l.times = i == 3 ? 4 : 0;
	return l;
}

static int given_lists(struct state *state, struct list_info **to, size_t *n)
{
	(void)state;
	*to = NULL;
	*n = 0;
	if (call("the lists"))
		return because(-EIO, "the lists: it was not to be");
	*n = lists_n;
	*to = calloc(lists_n + 1, sizeof(**to));
	for (size_t i = 0; i < lists_n; i++)
		(*to)[i] = list_at(i);
	return 0;
}

static int given_list(struct state *state, const char *name, struct list_info *list)
{
	(void)state;
	printf("  list '%s'\n", name);
	for (size_t i = 0; i < lists_n && !of_image; i++)
		if (!strcmp(all_lists[i].name, name)) {
			*list = list_at(i);
			return call("is there");
		}
	return because(-ENOENT, "there is no list '%s'", name);
}

static int given_drop(struct state *state, const char *name)
{
	struct list_info list;

	(void)state;
	return given_list(state, name, &list) ?: call("is dropped");
}

static int given_pending_drop(struct change *change, const char *name, long seconds)
{
	change->context->waits = true;
	printf("  waits for %ld\n", seconds);
	return given_drop(NULL, name);
}

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	(void)change;
	printf("  '%s' waits for %ld%s\n", name, seconds,
	       kind == PENDING_LIST_KIND	  ? ""
	       : kind == PENDING_LIST && !seconds ? ", itself"
						  : ", as another kind");
	if (on_trial && !strcmp(name, "none"))
		return because(-EBUSY, "'%s' waits", name);
	return call("waits");
}

static int given_set(struct state *state, const char *name, struct ranges *set)
{
	struct list_info list;

	held++;
	*set = (struct ranges){ .room4 = 1 };
	return given_list(state, name, &list) ?: call("its set");
}

static int given_whole(struct state *state, const struct list_info *list, struct ranges *set)
{
	return given_set(state, list->name, set);
}

static int given_counts(struct state *state, const struct list_info *list)
{
	(void)state;
	printf("  '%s' counts, whatever its age\n", list->name);
	return call("its feed");
}

static void given_free(struct ranges *set)
{
	held -= set->room4 == 1;
}

static int given_force(struct change *change, const struct ranges *set)
{
	(void)change;
	return call(set ? "forces it" : "forces all");
}

static int given_wide(enum list_kind kind, const char *name, const struct ranges *before, const struct ranges *after,
		      struct amounts granted)
{
	printf("  is '%s' too wide%s%s\n", name, kind == LIST_BAN ? "" : " as another kind",
	       before->n4 || after->n4 || granted.v4 > 0 ? ", against something" : "");
	return too_wide ? because(-GUARD_REFUSED, "'%s' is too wide", name) : 0;
}

static int given_kind(struct state *state, const char *name, enum list_kind kind)
{
	(void)state;
	printf("  '%s' becomes %s\n", name, list_kind_names[kind]);
	return call("its kind");
}

static void given_zero(struct change *change, uint8_t label)
{
	(void)change;
	printf("  label %u begins at nothing\n", label);
}

static void given_succeeded(struct change *change, const char *list)
{
	(void)change;
	printf("  no refusal of '%s' stays\n", list);
}

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	(void)context;
	*n = failed_n_is;
	*failures = calloc(3, sizeof(**failures));
	strcpy((*failures)[0].list, "drop");
	strcpy((*failures)[1].list, "new");
	for (int i = 0; i < 2; i++) {
		(*failures)[i].since = DATE + i;
		strcpy((*failures)[i].why, "no\tlist");
	}
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	if (call(change ? "opens to change" : "opens the state"))
		return because(-EIO, "it was not to be");
	*state = (struct state *)&held;
	held++;
	return 0;
}

static void given_close(struct state *state)
{
	held -= state != NULL;
}

#define change_begin	     given_begin
#define change_end	     given_end
#define change_commit	     given_commit
#define change_pending	     given_pending
#define change_pending_drop  given_pending_drop
#define change_force	     given_force
#define change_zero	     given_zero
#define change_succeeded     given_succeeded
#define state_open	     given_open
#define state_close	     given_close
#define state_lists	     given_lists
#define lists_in_force	     given_lists
#define state_list_get	     given_list
#define state_list_drop	     given_drop
#define state_list_set	     given_set
#define state_list_whole_set given_whole
#define state_list_set_kind  given_kind
#define feed_row_counts	     given_counts
#define ranges_free	     given_free
#define guard_wide	     given_wide
#define image_kept(state)    (of_image)
#define list_failures	     given_failures
#define one_list(of, name)   (printf("  all of '%s'\n", name), 7)
#define out_done(of)	     (puts("  done"), EXIT_DONE)
#define out_confirm(of, what, confirm) \
	(printf("  %s%s\n", what, (confirm)->given ? ", to be confirmed" : ""), EXIT_DONE)
#include "verbs/lists.c"

static void anew(void)
{
	fails_at = 0;
	lists_n = 4;
	failed_n_is = 0;
	of_image = too_wide = on_trial = false;
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = held = 0;
	typed(line);
	if (held)
		printf("  not given back: %d\n", held);
	return calls >= fails_at;
}

static void shows_them(void)
{
	for (failed_n_is = 0; failed_n_is < 3; failed_n_is++) {
		types("lists");
		types("lists --json");
	}
	failed_n_is = 2;
	lists_n = 1;
	types("lists");
	lists_n = 0;
	types("lists");
	types("lists --json");
	types("lists drop");
	failed_n_is = 0;
	types("lists");
	for (fails_at = 1; types("lists"); fails_at++)
		;
}

static void unloads(void)
{
	static const char *const each[] = {
		"unload drop",
		"unload drop ours watch",
		"unload none",
		"unload",
		"unload drop none",
		"unload drop --force",
		"unload none --force",
		"unload drop --confirm 1m",
		"unload drop ours --force --confirm 1m",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	puts("-- refused");
	failed_n_is = 2;
	types("unload new");
	types("unload drop new");
	types("unload none");
	failed_n_is = 0;
	puts("-- gone, and may come back");
	on_trial = true;
	types("unload none");
	types("unload drop none");
	types("unload none --force");
	types("unload drop");
	on_trial = false;
	puts("-- of an image");
	of_image = true;
	types("unload drop");
	types("unload none");
	of_image = false;
	puts("-- a call fails");
	for (fails_at = 1; types("unload drop ours --force"); fails_at++)
		;
}

static void kinds(void)
{
	static const char *const each[] = {
		"enforce drop",		 "enforce watch",
		"enforce ours",		 "enforce friends",
		"enforce none",		 "enforce",
		"enforce watch --force", "shadow drop",
		"shadow watch",		 "shadow drop --confirm 1m",
		"shadow ours",		 "enforce watch drop",
		"shadow drop --force",
	};

	for (int how = 0; how < 3; how++) {
		too_wide = how == 1;
		of_image = how == 2;
		printf("-- %s\n", how == 0 ? "each" : how == 1 ? "too wide" : "of an image");
		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
			types(each[i]);
	}
	too_wide = of_image = false;
	puts("-- a call fails");
	for (fails_at = 1; types("enforce watch"); fails_at++)
		;
	for (fails_at = 1; types("shadow drop --force"); fails_at++)
		;
	/* Whether an image has it is not known. */
	of_image = true;
	fails_at = 2;
	types("unload drop");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "shows", shows_them }, { "unloads", unloads }, { "kinds", kinds } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
