// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/list_files.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "change/guard_rails.h"
#include "sets/list.h"
#include "state/bans.h"
#include "state/state.h"
#include "verbs/verbs.h"

/* "lists/drop.txt" is the list "drop". */
static void name_list(struct list_info *list, const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strcspn(base, ".");

	if (!len)
		len = strlen(base);
	snprintf(list->name, sizeof(list->name), "%.*s", (int)len, base);
	for (char *c = list->name; *(c += strspn(c, LIST_NAME_BYTES)); c++)
		*c = '_';
}

static int read_file(const struct reader_options *reading, const char *path, struct list_info *list, struct ranges *set)
{
	struct reader_report report;
	char error[READER_TEXT_MAX];
	bool found[64];
	int err = reader_read(path, reading, set, &report, error);

	if (err)
		return because(err, "%s", error);
	reader_warn_masked(&report);
	err = guard_apply_bogons(set, BOGONS_LEAVE_OUT, found);
	name_list(list, path);
	if (!err && !strcmp(list->name, LIVE_LIST))
		err = because(-EEXIST, "%s: live bans go by the name '%s': call the file something else", path,
			      list->name);
	list->kind = LIST_BAN;
	snprintf(list->source, sizeof(list->source), "%s", path);
	snprintf(list->format, sizeof(list->format), "%s", reading->format ? reading->format : "");
	memcpy(list->where, reading->where, sizeof(list->where));
	return err;
}

/*
 * 1 where there is none of that name, or it may not be read and there is such a file. A shadow list counts as what it
 * would be.
 */
static int read_loaded(const struct context *context, const char *name, struct list_info *list, struct ranges *set)
{
	struct state *state = NULL;
	int err = state_open(&state, context, false);

	if (!err)
		err = state_list_get(state, name, list);
	if (err_is(err, ENOENT) || (err && !access(name, F_OK))) {
		state_close(state);
		return 1;
	}
	if (!err)
		err = state_list_whole_set(state, list, set);
	if (list->kind == LIST_SHADOW)
		list->kind = LIST_BAN;
	state_close(state);
	return err;
}

/* As compare takes them: "./name" is the file. */
static int read_one(struct list_files *f, const struct context *loaded, const struct reader_options *reading,
		    const char *name)
{
	char number[NUMBER_TEXT_MAX];
	struct list_info *list = &f->lists[f->n];
	struct ranges *set = &f->sets[f->n];
	int err = loaded && !strchr(name, '/') ? read_loaded(loaded, name, list, set) : 1;

	if (err > 0 && loaded && !strchr(name, '/') && strcmp(name, "-") != 0 && access(name, F_OK))
		err = because(-ENOENT, "'%s' is neither a loaded list nor a file", name);
	if (err > 0) {
		f->paths[f->n] = name;
		err = read_file(reading, name, list, set);
	}
	if (err)
		return err;
	list->label = (uint8_t)(f->n + 1);
	list->prefixes = ranges_count_prefixes(set);
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(set)));
	utc_text(list->loaded, time(NULL));
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(list->name, f->lists[i].name))
			return because(-EEXIST, "two lists would be called '%s'", list->name);
	return 0;
}

int list_files_read(struct list_files *f, const struct context *loaded, const struct reader_options *reading,
		    char **names, size_t n)
{
	int err;

	f->lists = calloc(n, sizeof(*f->lists));
	f->sets = calloc(n, sizeof(*f->sets));
	f->paths = calloc(n, sizeof(*f->paths));
	f->n = 0;
	err = f->lists && f->sets && f->paths ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		err = read_one(f, loaded, reading, names[i]);
		f->n++;
	}
	return err;
}

int list_files_settle(const struct list_files *f, struct owned *owned)
{
	struct account *accounts = calloc(f->n + 1, sizeof(*accounts));
	struct ranges allowed = RANGES_EMPTY, sum;
	size_t n = 0;
	int err = accounts ? 0 : -ENOMEM;

	for (size_t i = 0; i < f->n && !err; i++) {
		if (f->lists[i].kind == LIST_TRUST)
			continue;
		if (f->lists[i].kind != LIST_ALLOW) {
			accounts[n++] = (struct account){ &f->sets[i], f->lists[i].label };
			continue;
		}
		err = ranges_union(&sum, &allowed, &f->sets[i]);
		ranges_free(&allowed);
		allowed = err ? RANGES_EMPTY : sum;
	}
	if (!err)
		err = owned_settle(owned, accounts, n, &allowed);
	ranges_free(&allowed);
	free(accounts);
	return err;
}

void list_files_free(struct list_files *f)
{
	for (size_t i = 0; f->sets && i < f->n; i++)
		ranges_free(&f->sets[i]);
	free(f->lists);
	free(f->sets);
	free((void *)f->paths);
	*f = (struct list_files){ 0 };
}
