// SPDX-License-Identifier: GPL-2.0-only
#include "change/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/errand.h"
#include "base/label.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "change/apply.h"
#include "change/attachments.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "state/events.h"
#include "state/settings.h"

/* Its entry goes before the filter: else whoever heals would attach it again. Its row says until then what is to be
 * done. */
static int forget(struct change *change, const struct ports_due *due)
{
	char label[LABEL_MAX];
	int err = state_interface_drop(change->state, label_of(label, due->name, due->leaves ? MATCH_LEAVING(0) : 0));

	return err_is(err, ENOENT) ? 0 : err; /* somebody has detached it */
}

/* Is it filtered, and not as a port? */
static bool is_its_own(const struct ports_kept *kept, const char *name, bool leaves)
{
	for (size_t i = 0; i < kept->rows_n; i++)
		if (!strcmp(kept->rows[i].name, name) && kept->rows[i].leaves == leaves)
			return false;
	return ports_kept_has(kept, name, leaves);
}

static bool is_renamed(const struct attachment *at, const struct port_row *row)
{
	return !at->moved && strcmp(at->name, row->name) != 0;
}

/* Is it that row's filter? Its interface may have another name by now, and one that is filtered for itself its name. */
static bool is_of(const struct ports_kept *kept, const struct attachment *at, const struct port_row *row)
{
	if (MATCH_LEAVES(at->match) != row->leaves)
		return false;
	if (!strcmp(at->as, row->name))
		return !is_renamed(at, row) || !is_its_own(kept, at->name, row->leaves);
	return !at->moved && !is_renamed(at, row) && (at->set_aside || !is_its_own(kept, at->as, row->leaves));
}

/* It came while nothing could be written (no_room.c): of that there is no word. */
static bool is_unwritten(const struct ports_kept *kept, const struct attachment *at)
{
	bool leaves = MATCH_LEAVES(at->match);

	return !ports_kept_has(kept, at->as, leaves) && !ports_kept_has(kept, at->name, leaves);
}

static bool is_port_of(const struct port_of *ports, size_t n, const char *name, const char *of)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(ports[i].name, name) && !strcmp(ports[i].of, of))
			return true;
	return false;
}

int ports_detach(const struct context *context, const char *label, const struct ports_kept *kept)
{
	struct attachment *list = NULL;
	struct port_of *ports = NULL;
	char name[IF_NAMESIZE];
	bool leaves = label_split(label, name);
	size_t n = 0, ports_n = 0;
	int err = attach_list(context, &list, &n);

	if (ports_look(&ports, &ports_n))
		ports_n = 0;
	for (size_t i = 0; i < n && !err; i++) {
		const struct attachment *at = &list[i];
		bool is = MATCH_LEAVES(at->match) == leaves && !at->moved && is_unwritten(kept, at) &&
			  (at->gone || is_port_of(ports, ports_n, at->name, name));

		for (size_t j = 0; j < kept->rows_n && !is; j++) {
			const struct port_row *row = &kept->rows[j];

			is = row->leaves == leaves && !strcmp(row->of, name) && is_of(kept, at, row);
		}
		err = is ? detach_at(context, at) : 0;
	}
	free(list);
	free(ports);
	return err;
}

/* It is a port of one with a rule of its own by now, whether or not that waits. */
static bool comes_again(const struct ports_kept *kept, const struct port_row *row, const struct port_of *ports,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < kept->rules_n; j++)
			if (!strcmp(ports[i].name, row->name) && !strcmp(ports[i].of, kept->rules[j].name) &&
			    MATCH_LEAVES(kept->rules[j].match) == row->leaves)
				return true;
	return ports_kept_wait(kept, ports, n, row);
}

/* Under the name that it has by now. */
static int stays_port(const struct ports_kept *kept, const struct attachment *at, bool *stays)
{
	struct port_row today = { .leaves = MATCH_LEAVES(at->match) };
	struct port_of *ports = NULL;
	size_t n = 0;
	int err = ports_look(&ports, &n);

	memcpy(today.name, at->name, sizeof(today.name));
	*stays = !err && comes_again(kept, &today, ports, n);
	free(ports);
	return err;
}

/* Wherever it is; in another namespace it is no port. */
static int let_go(struct change *change, const struct ports_kept *kept, const struct ports_due *due)
{
	struct port_row row = { .leaves = due->leaves };
	struct attachment *list = NULL;
	char label[LABEL_MAX];
	bool any_stays = false;
	size_t n = 0;
	int err = attach_list(change->context, &list, &n);

	snprintf(row.name, sizeof(row.name), "%s", due->name);
	for (size_t i = 0; i < n && !err; i++) {
		bool stays = false;

		if (!is_of(kept, &list[i], &row))
			continue;
		err = is_renamed(&list[i], &row) ? stays_port(kept, &list[i], &stays) : 0;
		if (!err && !stays)
			err = detach_at(change->context, &list[i]);
		any_stays = any_stays || stays;
	}
	free(list);
	/* That waits to be confirmed, say: until its pin has its name, too, the row says whose it is. */
	if (!err)
		return any_stays ? 0 : state_port_forget(change->state, due->name, due->leaves);
	label_of(label, due->name, due->leaves ? MATCH_LEAVING(0) : 0);
	warn("%s is no port any more, and cannot be detached: %s", label, reason(err));
	return 0; /* the next command tries again */
}

static bool is_misnamed(const struct ports_kept *kept, const struct attachment *at)
{
	if (at->gone || at->moved || (!at->set_aside && !strcmp(at->as, at->name)))
		return false;
	for (size_t i = 0; i < kept->rows_n; i++)
		if (!strcmp(kept->rows[i].name, at->name) && is_of(kept, at, &kept->rows[i]))
			return true;
	return false;
}

/*
 * What is a port under another name by now is pinned under that: else nobody would know whose filter it is when it is
 * renamed once more. The list's order is that of the interfaces' names.
 */
static void follow_names(const struct change *change)
{
	struct attachment *list = NULL;
	struct ports_kept kept;
	size_t n = 0;
	int err = ports_kept_take(&kept, change->state) ?: attach_list(change->context, &list, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (!is_misnamed(&kept, &list[i]))
			continue;
		err = attach_rename(change->context, &list[i]);
		/* Another's pin may have made room for it. */
		free(list);
		list = NULL;
		err = err ?: attach_list(change->context, &list, &n);
	}
	if (err)
		warn("a port that was renamed may still be pinned under its name before: %s", reason(err));
	free(list);
	ports_kept_free(&kept);
}

int ports_row_put(struct state *state, const struct ports_due *due)
{
	struct port_row row = { .leaves = due->leaves };

	memcpy(row.of, due->of->name, sizeof(row.of));
	snprintf(row.name, sizeof(row.name), "%s", due->name);
	return state_port_put(state, &row);
}

static struct interface_info entry_of(const struct ports_due *due)
{
	struct interface_info entry = *due->of;

	snprintf(entry.name, sizeof(entry.name), "%s", due->name);
	return entry;
}

static int take_in(struct change *change, const struct ports_due *due)
{
	struct interface_info entry = entry_of(due);

	/* Whom the guard rails ask for only the command itself can see. */
	if (errand.here)
		return errand_decline("a port has come, which is to be filtered");
	return state_interface_put(change->state, &entry) ?: ports_row_put(change->state, due);
}

int ports_come(struct state *state, struct interface_info **entries, size_t *n)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	struct ports_kept kept;
	size_t due_n = 0;
	int err = ports_kept_take(&kept, state) ?: ports_compare(&kept, &ports, &due, &due_n);

	*n = 0;
	*entries = err ? NULL : calloc(due_n + 1, sizeof(**entries));
	for (size_t i = 0; i < due_n && *entries; i++)
		if (due[i].of && !due[i].stays)
			(*entries)[(*n)++] = entry_of(&due[i]);
	free(due);
	free(ports);
	ports_kept_free(&kept);
	return err ?: *entries ? 0 : -ENOMEM;
}

static bool had_filter(const struct ports_kept *kept, const struct port_row *row)
{
	for (size_t i = 0; i < kept->interfaces_n; i++)
		if (!strcmp(kept->interfaces[i].name, row->name) &&
		    MATCH_LEAVES(kept->interfaces[i].match) == row->leaves)
			return true;
	return false; /* somebody has detached it */
}

/* What is called otherwise by now cannot be told from what is gone. */
static void say_lost(const struct change *change, const struct ports_kept *kept, const struct interface_info *rule,
		     const struct port_of *ports, size_t n)
{
	struct event fault = { .kind = EVENT_FAULT, .generation = change->live.g.number };
	char text[EVENT_MESSAGE_MAX], label[LABEL_MAX];
	size_t length, begins;

	length = begins =
		(size_t)snprintf(text, sizeof(text), "%s are not filtered any more, as there is no such interface:",
				 label_of_ports(label, rule->name, rule->match));
	for (size_t i = 0; i < kept->rows_n && length < sizeof(text); i++) {
		const struct port_row *row = &kept->rows[i];

		if (!row->waits && row->leaves == MATCH_LEAVES(rule->match) && !strcmp(row->of, rule->name) &&
		    if_nametoindex(row->name) && had_filter(kept, row) && !comes_again(kept, row, ports, n))
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %s",
						   length > begins ? "," : "", row->name);
	}
	if (length == begins)
		return;
	warn("%s", text);
	event(change->context, fault, "%s", text);
}

static void say_all_lost(const struct change *change, const struct ports_kept *kept)
{
	struct port_of *ports = NULL;
	size_t n = 0;

	for (size_t i = 0; i < kept->rules_n; i++) {
		if (if_nametoindex(kept->rules[i].name))
			continue;
		if (!ports && ports_look(&ports, &n))
			return;
		say_lost(change, kept, &kept->rules[i], ports, n);
	}
	free(ports);
}

/*
 * Is its filter on what had that name before? What was tried in vain has no such pin any more, so that it is not tried
 * by each command.
 */
static bool is_on_another(const struct port_row *row, const struct attachment *list, size_t n)
{
	unsigned int match = row->leaves ? MATCH_LEAVING(0) : 0;
	bool on_another = false;
	char label[LABEL_MAX];

	label_of(label, row->name, match);
	for (size_t i = 0; i < n; i++) {
		if (!list[i].gone && !list[i].moved && label_is(label, list[i].name, list[i].match))
			return false;
		on_another = on_another || (!list[i].set_aside && label_is(label, list[i].as, list[i].match));
	}
	return on_another && if_nametoindex(row->name);
}

/* What left under another name, while another port has got the one that it had, and has a filter of its own. */
static void end_stray(const struct change *change, const struct ports_kept *kept, const struct attachment *at)
{
	bool strays = false, stays = is_misnamed(kept, at);
	char label[LABEL_MAX];
	int err;

	for (size_t i = 0; i < kept->rows_n && !stays; i++)
		strays = strays ||
			 (!kept->rows[i].waits && is_renamed(at, &kept->rows[i]) && is_of(kept, at, &kept->rows[i]));
	err = strays ? stays_port(kept, at, &stays) : 0;
	if (strays && !err && !stays)
		err = detach_at(change->context, at);
	if (err)
		warn("%s is no port any more, and cannot be detached: %s", label_of(label, at->name, at->match),
		     reason(err));
}

/* A port was made again under its name, and nothing of what is kept has changed. The service sees to it itself. */
static void find_again(struct change *change, const struct ports_kept *kept)
{
	struct attachment *list = NULL;
	size_t n = 0;
	bool asks = kept->rules_n && !errand.here;
	int err = asks ? attach_list(change->context, &list, &n) : 0;

	for (size_t i = 0; i < kept->rows_n && !err && !change->ports_came; i++)
		change->ports_came = had_filter(kept, &kept->rows[i]) && is_on_another(&kept->rows[i], list, n);
	/* Not before: its pin tells the others that the port is to be attached. */
	for (size_t i = 0; i < n && !err && !change->ports_came; i++)
		end_stray(change, kept, &list[i]);
	for (size_t i = 0; i < n && !err; i++)
		if (list[i].gone && is_unwritten(kept, &list[i]))
			err = detach_at(change->context, &list[i]);
	if (err)
		warn("whether all ports are filtered cannot be told: %s", reason(err));
	free(list);
}

static bool noted_that_came(struct state *state)
{
	return state_setting(state, SETTING_PORTS_CAME, 0) != 0;
}

static int note_that_came(struct state *state, bool came)
{
	return came == noted_that_came(state) ? 0 : state_set(state, SETTING_PORTS_CAME, came);
}

static int settle_once(struct change *change, size_t *n)
{
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	struct ports_kept kept;
	bool came;
	int err = ports_kept_take(&kept, change->state) ?: ports_compare(&kept, &ports, &due, n);

	came = kept.rules_n && !errand.here && noted_that_came(change->state);
	for (size_t i = 0; i < *n && !err; i++)
		err = due[i].stays ? ports_row_put(change->state, &due[i])
		      : due[i].of  ? take_in(change, &due[i])
				   : forget(change, &due[i]);
	for (size_t i = 0; i < *n && !err; i++)
		came = came || (due[i].of && !due[i].stays);
	/* Whoever is killed from here on leaves entries that the next command attaches. */
	if (*n && !err)
		err = note_that_came(change->state, came) ?: state_commit(change->state);
	change->ports_came = change->ports_came || (came && !err);
	if (*n && !err)
		err = state_again(change->state);
	if (*n && !err)
		follow_names(change);
	for (size_t i = 0; i < *n && !err; i++)
		err = due[i].of ? 0 : let_go(change, &kept, &due[i]);
	if (*n && !err)
		err = state_commit(change->state) ?: state_again(change->state);
	if (*n && !err)
		say_all_lost(change, &kept);
	else if (!err)
		find_again(change, &kept);
	free(due);
	free(ports);
	ports_kept_free(&kept);
	return err;
}

/*
 * One that has moved to another's ports, which are filtered otherwise, goes first, and has come then. What cannot go is
 * tried no more than twice.
 */
int ports_settle(struct change *change)
{
	size_t n = 1;
	int err = 0;

	for (int round = 0; round < 2 && n && !err; round++) {
		n = 0;
		err = settle_once(change, &n);
	}
	return err;
}

/* The filter begins where it was not. What the command forced is granted by now, unless it failed. */
static int ask_guard(struct change *change)
{
	struct guard guard = { .afresh = true };
	/* What a command that failed has left in the state goes back. */
	int err = state_again(change->state) ?:
		  apply_if_needed(change->state, &change->live, &guard) ?:
		  state_again(change->state);

	guard_free(&guard);
	return err;
}

void ports_attach(struct change *change)
{
	struct attachment *list = NULL;
	struct port_row *rows = NULL;
	size_t n = 0, rows_n = 0;
	int err = ask_guard(change) ?:
		  state_port_rows(change->state, &rows, &rows_n) ?:
		  attachments_kept(change->state, &list, &n);

	change->ports_came = false;
	for (size_t i = 0; i < n && !err; i++) {
		bool port = false;

		for (size_t j = 0; j < rows_n; j++)
			port = port ||
			       (!strcmp(rows[j].name, list[i].name) && rows[j].leaves == MATCH_LEAVES(list[i].match));
		if (!port || list[i].until)
			continue;
		err = attach_one(change->context, &list[i]);
		if (!err)
			attachment_warn(&list[i]);
		if (err_is(err, EEXIST) || err_is(err, ENODEV))
			err = 0;
		else if (err && !err_is(err, ENOMEM))
			err = (warn("%s", reason(err)), 0);
	}
	if (err)
		warn("ports that have come are not filtered, which 'restore' mends: %s", reason(err));
	else
		err = note_that_came(change->state, false) ?: state_commit(change->state);
	if (err)
		note("the next command attaches them: %s", reason(err));
	free(list);
	free(rows);
}

int ports_of(struct change *change, char *const *names, int names_n, unsigned int match, struct port_of **ports,
	     size_t *n)
{
	bool leaves = MATCH_LEAVES(match);
	struct ports_kept kept = { 0 };
	size_t all = 0;
	int err = ports_look(ports, &all) ?:
		  state_port_rows(change->state, &kept.rows, &kept.rows_n) ?:
		  state_interfaces(change->state, &kept.interfaces, &kept.interfaces_n);

	*n = 0;
	for (size_t i = 0; i < all && !err; i++)
		for (int j = 0; j < names_n; j++)
			if (!strcmp((*ports)[i].of, names[j]) && !is_its_own(&kept, (*ports)[i].name, leaves)) {
				(*ports)[(*n)++] = (*ports)[i];
				break;
			}
	ports_kept_free(&kept);
	return err;
}

static bool is_among(const struct interface_info *all, size_t n, const char *name)
{
	while (n && strcmp(all[n - 1].name, name) != 0)
		n--;
	return n;
}

/* What comes in by its ports comes in by it. */
static bool is_handed_on(const char *name)
{
	struct port_of *ports = NULL;
	bool is = false;
	size_t n = 0;

	for (size_t i = ports_look(&ports, &n) ? n : 0; i < n; i++)
		is = is || (ports[i].hands_on && !strcmp(ports[i].of, name));
	free(ports);
	return is;
}

/* It may come later, so it is no error; and before anything is filtered nothing is known of it. */
void ports_say_unfiltered(struct state *state, const char *name)
{
	struct interface_info *entries = NULL, *rules = NULL;
	size_t n = 0, rules_n = 0;
	int err = state_interfaces(state, &entries, &n) ?: state_ports(state, &rules, &rules_n);
	bool own = is_among(entries, n, name), ports = is_among(rules, rules_n, name);

	if (!err && ports && !own && !is_handed_on(name))
		warn("nothing is seen to come in by %s, as not it but its ports are filtered: name those instead",
		     name);
	else if (!err && (n || rules_n) && !own && !ports)
		warn("nothing is seen to come in by %s, as it is not filtered: 'xdp-bloom attach %s'", name, name);
	free(entries);
	free(rules);
}
