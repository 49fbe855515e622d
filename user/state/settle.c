// SPDX-License-Identifier: GPL-2.0-only
#include "state/settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "filter/scopes.h"
#include "image/contents.h"
#include "image/image.h"
#include "sets/combined.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "state/bans.h"
#include "state/settings.h"

/* The lists as they are settled. */
struct sorted {
	const struct list_info *lists;
	struct ranges *sets;
	size_t n;
	struct account *accounts;
	size_t accounts_n;
	struct joint *joint; /* none where there is no scope */
	size_t joint_n;
	struct scoped scoped[SCOPES_MAX];
	size_t scoped_n;
};

/*
 * Live bans after the lists: what a list bans stays on its account. Then those with a scope, and shadow lists last:
 * they count what nothing bans. Without scopes, each address is on one account.
 */
static int order(struct sorted *o, const struct ranges *live, const struct ranges *ending, bool scopes)
{
	const struct list_info *lists = o->lists;
	struct account *accounts = o->accounts;
	int err = 0;

	for (size_t i = 0; i < o->n; i++)
		if (lists[i].kind == LIST_BAN && !lists[i].scope[0])
			accounts[o->accounts_n++] = (struct account){ &o->sets[i], lists[i].label };
	if (live->n4 || live->n6)
		accounts[o->accounts_n++] = (struct account){ live, LABEL_LIVE };
	if ((ending->n4 || ending->n6) && scopes)
		o->joint[o->joint_n++] = (struct joint){ ending, SCOPE_ENDS };
	else if (ending->n4 || ending->n6)
		accounts[o->accounts_n++] = (struct account){ ending, LABEL_ENDS };
	/* A shadow list without a scope hides those behind it. */
	for (int pass = 0; pass < 3 && !err; pass++)
		for (size_t i = 0; i < o->n && !err; i++) {
			enum list_kind kind = pass ? LIST_SHADOW : LIST_BAN;
			struct scoped *one = &o->scoped[o->scoped_n];

			if (lists[i].kind != kind || !lists[i].scope[0] != (pass == 2))
				continue;
			if (!scopes) {
				accounts[o->accounts_n++] = (struct account){ &o->sets[i], lists[i].label };
				continue;
			}
			if (o->scoped_n == SCOPES_MAX)
				return because(-E2BIG,
					       "lists with a scope, and shadow lists beside them, are more than %d",
					       SCOPES_MAX);
			err = scope_parse(&one->scope, lists[i].scope);
			one->label = lists[i].label;
			one->counts = pass > 0;
			o->joint[o->joint_n++] = (struct joint){ &o->sets[i], 1ULL << o->scoped_n++ };
		}
	return err;
}

/* Labels for what several lists hold. */
struct naming {
	const struct sorted *o;
	struct scopes *scopes;
	bool taken[LABELS];
	__u64 same[SCOPES_MAX]; /* of each, those before it that take the same packets */
	__u64 all;		/* those that take any */
};

/* Those of them that decide anything. */
static __u64 deciding(const struct naming *n, __u64 mask)
{
	for (size_t i = 0; i < n->o->scoped_n; i++) {
		if (!(mask >> i & 1))
			continue;
		if (mask & n->same[i])
			mask &= ~(1ULL << i);
		else if (n->all >> i & 1)
			return mask & (SCOPE_ENDS | ((2ULL << i) - 1));
	}
	return mask;
}

static int label_of(void *arg, uint64_t held, uint8_t *label)
{
	struct naming *n = arg;
	__u64 mask = deciding(n, held);
	__u8 *account = n->scopes->account;

	/* One alone that takes all packets is what it is without scopes. */
	if (!(mask & (mask - 1)) && (mask == SCOPE_ENDS || mask & n->all)) {
		*label = mask == SCOPE_ENDS ? LABEL_ENDS : account[SCOPE_PLACE(mask)];
		return 0;
	}
	for (unsigned int i = SCOPE_LABELS; i < LABEL_ENDS; i++)
		if (n->scopes->of[i] == mask) {
			*label = (uint8_t)i;
			return 0;
		}
	for (unsigned int i = LABEL_ENDS - 1; i >= SCOPE_LABELS; i--)
		if (!n->taken[i]) {
			n->taken[i] = true;
			n->scopes->of[i] = mask;
			*label = (uint8_t)i;
			return 0;
		}
	return because(-E2BIG, "lists with a scope hold the same addresses in more ways than there are labels for:"
			       " give some of them the same --only, --to and --on, or unload one");
}

static int name_labels(struct naming *n, const struct sorted *o, struct scopes *scopes)
{
	char texts[2][SCOPE_TEXT_MAX];
	int err = scopes_make(scopes, o->scoped, o->scoped_n);

	*n = (struct naming){ .o = o, .scopes = scopes };
	scopes->of[LABEL_ENDS] = SCOPE_ENDS;
	for (size_t i = 0; i < o->n; i++)
		n->taken[o->lists[i].label] = true;
	for (size_t i = 0; i < o->scoped_n; i++) {
		n->all |= scope_is_all(&o->scoped[i].scope) ? 1ULL << i : 0;
		scope_text(texts[0], &o->scoped[i].scope);
		for (size_t j = 0; j < i; j++) {
			scope_text(texts[1], &o->scoped[j].scope);
			n->same[i] |= strcmp(texts[0], texts[1]) ? 0 : 1ULL << j;
		}
	}
	return err;
}

static int settle_scopes(struct settled *s, const struct sorted *o)
{
	struct combined combined = { o->accounts, o->accounts_n, o->joint, o->joint_n, label_of, NULL };
	struct naming *naming = malloc(sizeof(*naming));
	int err;

	s->scopes = malloc(sizeof(*s->scopes));
	combined.arg = naming;
	err = naming && s->scopes ? name_labels(naming, o, s->scopes) : -ENOMEM;
	err = err ?: combined_settle(&s->owned, &combined, &s->allowed);
	free(naming);
	return err;
}

void settled_free(struct settled *s)
{
	owned_free(&s->owned);
	ranges_free(&s->allowed);
	free(s->scopes);
	s->scopes = NULL;
}

/* Only the roster says which drop is whose. And a list has that label where there are as many lists. */
bool settle_ends(struct state *state)
{
	bool is = settings_read(state).exact;
	struct list_info *lists = NULL;
	struct image image;
	size_t n = 0;

	if (!image_kept_open(state, &image, false)) {
		is = image_is_exact(&image);
		image_close(&image);
	}
	is = is && !lists_in_force(state, &lists, &n);
	for (size_t i = 0; i < n && is; i++)
		is = lists[i].kind == LIST_ALLOW || lists[i].label != LABEL_ENDS;
	free(lists);
	return is;
}

int settle(struct settled *s, struct state *state)
{
	struct list_info *lists = NULL;
	struct ranges live = RANGES_EMPTY, ending = RANGES_EMPTY;
	struct sorted *o = calloc(1, sizeof(*o));
	bool scopes = false;
	size_t n = 0;
	int err;

	memset(s, 0, sizeof(*s));
	err = o ? state_lists(state, &lists, &n) : -ENOMEM;
	if (!err) {
		o->lists = lists;
		o->n = n;
		o->sets = calloc(n + 1, sizeof(*o->sets));
		o->accounts = calloc(n + 3, sizeof(*o->accounts));
		o->joint = calloc(n + 1, sizeof(*o->joint));
		err = o->sets && o->accounts && o->joint ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++) {
		if (list_counts(&lists[i]))
			err = state_list_whole_set(state, &lists[i], &o->sets[i]);
		scopes = scopes || (list_counts(&lists[i]) && lists[i].scope[0]);
		if (lists[i].kind == LIST_SHADOW) {
			s->shadows = 1;
			s->shadow[lists[i].label / 64] |= 1ULL << (lists[i].label % 64);
		}
	}
	s->ends = !err && settle_ends(state);
	if (!err && s->ends)
		err = state_bans_sets(state, time(NULL), NULL, &live, &ending);
	else if (!err)
		err = state_bans_set(state, time(NULL), NULL, &live);
	s->ends = ending.n4 || ending.n6;
	err = err ?: state_allowed(state, &s->allowed) ?: order(o, &live, &ending, scopes);
	/* The usual case, and that of the largest sets, without a copy. */
	if (!err && scopes)
		err = settle_scopes(s, o);
	else if (!err && o->accounts_n == 1 && !s->allowed.n4 && !s->allowed.n6)
		err = owned_take(&s->owned, (struct ranges *)o->accounts->banned, o->accounts->label);
	else if (!err)
		err = owned_settle(&s->owned, o->accounts, o->accounts_n, &s->allowed);
	s->plain = !err && !scopes && o->accounts_n == 1 && !s->shadows;
	ranges_free(&live);
	ranges_free(&ending);
	for (size_t i = 0; o && o->sets && i < n; i++)
		ranges_free(&o->sets[i]);
	if (o) {
		free(o->sets);
		free(o->accounts);
		free(o->joint);
	}
	free(o);
	free(lists);
	if (err)
		settled_free(s);
	return err;
}

bool settled_shadow(const struct settled *s, uint8_t label)
{
	__u64 of = s->scopes ? s->scopes->of[label] : 0;

	return of ? !(of & ~s->scopes->counts) : s->shadow[label / 64] >> (label % 64) & 1;
}
