// SPDX-License-Identifier: GPL-2.0-only
#include "change/load_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/compress.h"
#include "base/path_walk.h"
#include "base/span.h"
#include "base/stdin.h"
#include "base/words.h"
#include "change/catalog.h"
#include "change/feed_row.h"
#include "change/own_addresses.h"
#include "change/ports.h"
#include "change/revert_timer.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/sources.h"

const char *list_name_fault(const char *name)
{
	if (!*name || strlen(name) >= LIST_NAME_MAX)
		return "a list's name has 1 to 63 characters";
	if (list_name_is_dots(name))
		return "a list's name is not '.' or '..'";
	if (*name == '-')
		return "a list's name does not begin with '-'";
	if (name[strspn(name, LIST_NAME_BYTES)])
		return "a list's name has letters, digits, '.', '_' and '-'";
	return NULL;
}

static void describe_source(struct load *l, const struct stat *st)
{
	struct source *s = &l->source;

	if (source_locate(s->path, l->path))
		s->path[0] = '\0';
	source_stamp(s->stamp, st);
	load_describe(l, s->options, sizeof(s->options));
}

/* The service waits for nobody; neither do lines of a batch, under its lock, and their check must use nothing up. */
static bool wants_file(const struct load *l)
{
	return l->options->if_changed || l->context->line;
}

static int open_path(const struct load *l, bool input)
{
	int fd = input		 ? dup(STDIN_FILENO)
		 : wants_file(l) ? way_open(l->path, WAY_FILE, false)
				 : way_open_named(l->path);

	return fd < 0 && input ? -errno : fd;
}

/* Opened once, so that the text that is kept is the text that was read. */
static int open_file(struct load *l)
{
	bool input = !strcmp(l->path, "-"), here;
	const char *why = NULL;
	unsigned int bits;
	struct addr addr;
	struct stat st;
	int fd = open_path(l, input);

	if (input)
		l->path = "standard input";
	if (fd < 0) {
		l->text = fd;
	} else if (fstat(fd, &st)) {
		l->text = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		l->text = -EISDIR;
	} else if (wants_file(l) && !input && way_is_of_the_kernel(fd)) {
		l->text = -EINVAL;
		why = "a file of the kernel's, as in /proc, not one on a disk";
	} else if (S_ISREG(st.st_mode) && !input && !l->options->feed.key) {
		describe_source(l, &st);
		l->reading.hidden = source_is_hidden(fd, l->source.path);
		/* A copy of what nobody may answer for when it is read once more, under the lock. */
		here = *l->source.path && mount_answers(mount_of(fd)) == KERNEL_ANSWERS;
		l->text = here ? fd : standard_keep(fd);
		fd = l->text == fd ? -1 : fd;
	} else {
		/* A copy, as its lines may be shown later; and so that what was signed is what is read. */
		l->text = standard_keep(fd);
	}
	close_fd(fd);
	if (!why && err_is(l->text, ENOENT) && !strncmp(l->path, "file://", 7))
		why = "a file is named by its path alone, without file://";
	else if (!why && err_is(l->text, ENOENT) && strstr(l->path, "://"))
		why = "neither a file nor a URL that can be fetched: https:// is";
	else if (!why && err_is(l->text, ENOENT) && !prefix_parse(l->path, strlen(l->path), &addr, &bits))
		why = "an address, not a file; to ban it: xdp-bloom add";
	else if (!why && err_is(l->text, ENOENT) && !access(l->name, F_OK))
		why = "no such file, but one is called as the list: the name comes first, then the file";
	return l->text < 0 ? because(l->text, "%s: %s", l->path, why ? why : reason(l->text)) : 0;
}

/* A list that is signed is checked before its reader sees it, each time by hand: whoever follows files cannot. */
static int check_signature(struct load *l)
{
	const char *key = l->options->feed.key;

	if (!key || l->fetched)
		return 0;
	if (l->context->line || l->options->if_changed)
		return because(-EINVAL,
			       "%s: a signature is checked by the command alone, and not by a file of commands or the "
			       "service: xdp-bloom load %s FILE --key KEY",
			       l->path, l->name);
	return feed_check_file(key, l->path, l->text, &l->answer);
}

/* A service has no rights beyond the file's own, and a check is often run with all of them. */
static int check_readable(const struct load *l)
{
	struct stat st;

	if (l->context->check && l->source.path[0] && !fstat(l->text, &st) &&
	    !(st.st_mode & (S_IRUSR | S_IRGRP | S_IROTH)))
		return because(-EACCES, "%s: nobody may read it, by its mode; chmod u+r", l->path);
	return 0;
}

/* A change alone could not be read again. */
static int keep_whole(struct load *l)
{
	int fd = packed_change_text(&l->out->set);

	if (fd < 0)
		return fd;
	close(l->text);
	l->text = fd;
	l->packer = l->options->dry_run ? NULL : packer_begin(fd);
	return l->packer || l->options->dry_run ? 0 : -ENOMEM;
}

static int read_list(struct load *l)
{
	char error[READER_TEXT_MAX], path[64];
	int err;

	change_check(l->context, true);
	err = (feed_is_url(l->path) ? load_feed(l) : open_file(l)) ?: check_signature(l) ?: check_readable(l);
	if (err)
		return err;
	if (l->options->if_changed && source_is_loaded(l->context, &l->source))
		return -EALREADY;
	if (l->options->if_changed && l->source.path[0] && source_is_written(l->path))
		return because(-EBUSY, "%s is being written", l->path);
	if (lseek(l->text, 0, SEEK_SET) < 0)
		return because(-errno, "%s: %s", l->path, strerror(errno));
	err = packed_change_begin(&l->packed, l->context, l->name, l->text);
	if (err)
		return err;
	l->packer = l->options->dry_run || l->packed.is ? NULL : packer_begin(l->text);
	if (!l->packer && !l->options->dry_run && !l->packed.is)
		return -ENOMEM;
	l->reading.name = l->path;
	l->reading.before = l->packed.is ? &l->packed.read : NULL;
	/* Opened again, as the packer has its own file position. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->text);
	err = reader_read(path, &l->reading, &l->out->set, &l->out->read, error);
	if (err && l->feed)
		feed_keep_page(l->feed, l->text);
	if (err)
		return because(err, "%s", error);
	/* Under the lock nobody waits for what its owner writes behind what was read. */
	if (l->packer)
		packer_most(l->packer, l->out->read.taken);
	return l->packed.is ? keep_whole(l) : 0;
}

static void describe(struct load *l)
{
	struct list_info *list = &l->out->list;
	char number[NUMBER_TEXT_MAX];

	list->prefixes = ranges_count_prefixes(&l->out->set);
	snprintf(list->name, sizeof(list->name), "%s", l->name);
	snprintf(list->source, sizeof(list->source), "%s", l->path);
	if (l->options->feed.key)
		snprintf(l->out->signed_comment, sizeof(l->out->signed_comment), "%s",
			 *l->answer.comment ? l->answer.comment : "no comment");
	clean_text(list->source);
	snprintf(list->format, sizeof(list->format), "%s", l->reading.format ? l->reading.format : "");
	memcpy(list->where, l->reading.where, sizeof(list->where));
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(&l->out->set)));
	utc_text(list->loaded, time(NULL));
}

static int count_change(struct load *l)
{
	struct ranges kept;
	int err = ranges_intersect(&kept, &l->before, &l->out->set);

	if (err)
		return err;
	l->out->kept4 = ranges_count4(&kept);
	l->out->kept6 = ranges_count6(&kept);
	l->out->added4 = ranges_count4(&l->out->set) - l->out->kept4;
	l->out->added6 = ranges_count6(&l->out->set) - l->out->kept6;
	l->out->removed4 = ranges_count4(&l->before) - l->out->kept4;
	l->out->removed6 = ranges_count6(&l->before) - l->out->kept6;
	ranges_free(&kept);
	return 0;
}

static int compare(struct load *l, struct state *state)
{
	struct list_info old;
	int err = state_list_get(state, l->name, &old);

	if (err_is(err, ENOENT))
		return 0;
	if (err)
		return err;
	l->otherwise = strcmp(old.scope, l->out->list.scope) != 0 || strcmp(old.format, l->out->list.format) != 0 ||
		       strcmp(old.where, l->out->list.where) != 0;
	err = state_list_set(state, l->name, &l->before);
	/* A damaged list is replaced without a comparison, but not by the service. */
	if (err_is(err, EUCLEAN) && !l->options->if_changed)
		err = 0;
	err = err ?: packed_change_still(&l->packed, l->name, &l->before) ?: count_change(l);
	l->out->replaces = !err;
	return err;
}

static int put_text(struct state *state, void *arg)
{
	struct load *l = arg;

	/* The label may have counted for another list. */
	if (l->out->list.label_is_new)
		change_zero_given(l->change, l->out->list.label);
	return (l->options->feed.key ? state_signed_put(state, l->name, feed_signed(&l->answer))
				     : state_source_put(state, &l->source))
		       ?: load_feed_put(l, state)
		       ?: state_text_put(state, l->name, l->packer);
}

#define DAY (24 * 60 * 60)

/*
 * What the version before was measured by. A list of an older version, or an empty one, is measured by what it holds;
 * so is one that was enforced although it is wide. What was left out of it was in it.
 */
static int recall(struct load *l, struct state *state)
{
	int64_t now = time(NULL);
	struct amounts before = { (double)ranges_count4(&l->before), (double)ranges_count6(&l->before) };
	struct accepted *a = &l->accepted;
	int err = state_accepted_get(state, l->name, a);

	if (err || !l->out->replaces)
		return err;
	/* Dropped by age, it is measured by what it was before that. */
	if (a->known && l->aged && before.v4 <= 0 && before.v6 <= 0)
		return 0;
	before.v4 += a->left.v4;
	before.v6 += a->left.v6;
	if (!a->known || (a->hand.v4 <= 0 && a->hand.v6 <= 0))
		a->hand = before;
	if (!a->known || now - a->day_at >= DAY || a->day_at > now) {
		a->day = before;
		a->day_at = now;
	}
	if (a->wide.v4 <= 0 && a->wide.v6 <= 0 && l->out->list.kind != LIST_SHADOW)
		err = guard_share_of(&l->before, &a->wide);
	a->known = before.v4 > 0 || before.v6 > 0;
	return err;
}

/* What somebody has let through by hand is the measure from now on. */
static int remember(struct load *l, struct state *state)
{
	const struct load_options *o = l->options;
	struct accepted *a = &l->accepted;
	int err = 0;

	if (!a->known || o->force || o->big_change) {
		a->hand = (struct amounts){ (double)ranges_count4(&l->out->set), (double)ranges_count6(&l->out->set) };
		a->day = a->hand;
		a->day_at = time(NULL);
	}
	a->left = (struct amounts){ 0 };
	if (o->force || o->wide)
		err = guard_share_of(&l->out->set, &a->wide);
	return err ?: state_accepted_put(state, l->name, a);
}

/* What may be banned by it: exceptions ban whom they let in before. */
static const struct ranges *bans_of(const struct load *l)
{
	return l->out->list.kind == LIST_ALLOW ? &l->before : &l->out->set;
}

static void say_left_out(const struct load *l, ip6 n)
{
	const struct own_address *first = l->leaves.own;
	char host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX], number[NUMBER_TEXT_MAX];

	snprintf(l->out->left_out, sizeof(l->out->left_out), "%s, %s", prefix_text(host, first->addr, -1),
		 own_text(what, first));
	if (n > 1)
		snprintf(l->out->left_out, sizeof(l->out->left_out), "%s, %s, and %s more", host, what,
			 number_text(number, n - 1));
}

/* What is left is no version of the file, nor of the server: so it is loaded once more. */
static int leave_out(void *arg)
{
	struct load *l = arg;
	struct ranges these = RANGES_EMPTY, rest;
	bool label_is_new = l->out->list.label_is_new;
	int err = 0;

	for (size_t i = 0; i < l->leaves.n && !err; i++)
		err = ranges_add_prefix(&these, l->leaves.own[i].addr, addr_width(l->leaves.own[i].addr.family));
	err = err ?: ranges_finish(&these) ?: ranges_subtract(&rest, &l->out->set, &these);
	if (!err) {
		say_left_out(l, ranges_count(&these));
		l->accepted.left = (struct amounts){ (double)ranges_count4(&these), (double)ranges_count6(&these) };
		ranges_free(&l->out->set);
		l->out->set = rest;
		l->source.stamp[0] = l->answer.etag[0] = l->answer.modified[0] = '\0';
		describe(l);
		err = count_change(l);
	}
	ranges_free(&these);
	if (!err && (l->options->if_changed || l->options->feed.again) && !l->bans_again && load_is_same_set(l))
		return -EALREADY;
	err = err ?:
	      state_list_put(l->change->state, &l->out->list, &l->out->set) ?:
	      state_accepted_put(l->change->state, l->name, &l->accepted);
	l->out->list.label_is_new = label_is_new;
	return err;
}

static int put(struct load *l)
{
	const struct load_options *o = l->options;
	struct apply_options options = { .dry_run = o->dry_run, .before_commit = put_text, .arg = l };
	int err;

	l->change->guard.list = l->name;
	l->change->guard.text = l->text;
	l->leaves = (struct guard_leaves){ .version = &l->out->set, .leave = leave_out, .arg = l };
	if (o->spare && l->out->list.kind == LIST_BAN && !l->context->joined)
		l->change->guard.leaves = &l->leaves;
	err = change_pending(l->change, PENDING_LIST, l->name, o->dry_run ? 0 : (long)o->confirm.value) ?:
	      (o->force || o->ban_own ? change_force(l->change, bans_of(l)) : 0) ?:
	      state_list_put(l->change->state, &l->out->list, &l->out->set) ?:
	      remember(l, l->change->state);
	/* What it would have dropped is another count than what it drops. */
	if (!err && l->bans_again)
		change_zero(l->change, l->out->list.label);
	err = err ?: change_commit(l->change, &options);
	for (size_t i = 0; i < o->scope.on_n && !err && l->scope_is_news; i++)
		ports_say_unfiltered(l->change->state, o->scope.on[i]);
	return err;
}

/* Whatever it is loaded from by now. */
static int ask_age(struct load *l, struct state *state)
{
	struct feed *row = malloc(sizeof(*row));
	int err = row ? state_feed_get(state, l->name, row) : -ENOMEM;

	l->aged = !err && row->aged;
	free(row);
	return err_is(err, ENOENT) ? 0 : err;
}

/* Loading a list again keeps its kind: only unload, enforce and shadow change it. */
static int choose_kind(struct load *l, struct state *state)
{
	enum list_kind kind = (enum list_kind)l->options->kind;
	struct list_info old;
	int err = state_list_get(state, l->name, &old);

	l->out->list.kind = kind;
	l->out->list.times = kind == LIST_TRUST ? TRUST_TIMES : 0;
	/* A list of that name from before there were live bans stays. */
	if (err_is(err, ENOENT) && !strcmp(l->name, LIVE_LIST))
		return because(-EINVAL, "'%s' is what live bans are called; give the list another name", l->name);
	if (err_is(err, ENOENT))
		return 0;
	if (err)
		return err;
	if (l->feed && l->options->feed.again)
		kind = LIST_BAN; /* the kind that it was begun with was for the first time */
	err = ask_age(l, state);
	if (err)
		return err;
	/* One that was dropped by age is empty, and a shadow list where somebody wants it to be. */
	l->bans_again = l->aged && old.prefixes && old.kind == LIST_SHADOW;
	if (l->bans_again)
		old.kind = LIST_BAN;
	if (kind && kind != old.kind)
		return because(-EEXIST, "'%s' is %s list; unload it first%s", l->name,
			       old.kind == LIST_ALLOW	? "an allow"
			       : old.kind == LIST_BAN	? "a ban"
			       : old.kind == LIST_TRUST ? "a trust"
							: "a shadow",
			       old.kind != LIST_TRUST && kind != LIST_TRUST &&
					       (old.kind == LIST_SHADOW || kind == LIST_SHADOW)
				       ? ", or use enforce and shadow"
				       : "");
	l->out->list.kind = old.kind;
	l->out->list.times = old.times;
	memcpy(l->out->list.scope, old.scope, sizeof(old.scope));
	return 0;
}

bool load_has_scope(const struct load *l, const char *is)
{
	const struct scope *scope = &l->options->scope;
	char text[SCOPE_TEXT_MAX] = "";

	return (scope_is_all(scope) && !scope->any) || (scope_text(text, scope) && !strcmp(is, text));
}

/* The same for its scope, unless another was given. */
static int choose_scope(struct load *l)
{
	const struct scope *scope = &l->options->scope;

	l->scope_is_news = !load_has_scope(l, l->out->list.scope);
	if (scope->any || !scope_is_all(scope))
		l->out->list.scope[0] = '\0';
	if (!scope_is_all(scope) && !scope_text(l->out->list.scope, scope))
		return because(-EINVAL, "--only, --to and --on have no more than %d letters in all",
			       SCOPE_TEXT_MAX - 1);
	return 0;
}

static int ask_guard(struct load *l)
{
	const struct load_options *o = l->options;
	enum list_kind kind = l->out->list.kind;
	uint64_t before = 0;
	int err = 0;

	/* What is in force already is no older version, whatever it says. */
	if (l->feed && l->fetched && !o->force && !load_feed_is_same(l))
		err = feed_rollback(l->feed, &l->answer);
	if (!err && o->feed.key && !o->force && !load_feed_is_same(l))
		err = state_signed_get(l->change->state, l->name, &before) ?: feed_fresh(&l->answer, l->path, before);
	if (!err && l->fetched && !o->force)
		err = feed_guard(&l->answer, &l->out->set, list_counts(&l->out->list) && !o->ban_own);
	if (!err && kind != LIST_SHADOW && !o->force && !o->wide)
		err = guard_wide(kind, l->name, &l->before, &l->out->set, l->accepted.wide);
	if (!err && l->out->replaces && !o->force && !o->big_change)
		err = guard_change(kind, l->name, &l->before, l->accepted.left, &l->out->set);
	if (!err && l->accepted.known && !o->force && !o->big_change)
		err = guard_growth(l->name, &l->accepted, &l->out->set);
	return err;
}

/*
 * What holds the same set is no older version. Where it is signed later, whatever was signed before that is older from
 * now on; but where it is signed in the future, that would keep all later ones out.
 */
static int keep_signed(const struct load *l)
{
	struct state *state = l->change->state;
	uint64_t now = feed_signed(&l->answer), before = 0;
	int err = l->options->feed.key ? state_signed_get(state, l->name, &before) : 0;

	if (err || now <= before || feed_fresh(&l->answer, l->path, before))
		return err;
	return state_signed_put(state, l->name, now) ?: state_commit(state);
}

static int means_nothing(const struct load_options *o, enum list_kind kind, const char *path)
{
	if (o->feed.then && !o->feed.max_age.given && !o->feed.again)
		return because(-EINVAL, "--then says what becomes of a list that is older than --max-age: give both");
	if (o->feed.max_age.given && !o->feed.every.given && !o->feed.usual)
		return because(-EINVAL, "--max-age is for a list that is kept fresh: give --every, too");
	if (feed_option(&o->feed) && !feed_is_url(path))
		return because(-EINVAL, "%s is for a URL, and '%s' is a file: leave it out", feed_option(&o->feed),
			       path);
	if (o->feed.key && !strcmp(path, "-"))
		return because(-EINVAL,
			       "--key looks for a signature beside a file, and nothing is beside standard input");
	if ((kind != LIST_ALLOW && kind != LIST_TRUST) || (!o->ban_own && !o->scope.any && scope_is_all(&o->scope)))
		return 0;
	if (o->scope.any || !scope_is_all(&o->scope))
		return because(-EINVAL,
			       "--only, --to and --on are for lists that ban, and %s list bans nobody: leave"
			       " them out",
			       kind == LIST_ALLOW ? "an allow" : "a trust");
	return because(-EINVAL, "--ban-own is for lists that ban, and %s list bans nobody: leave it out",
		       kind == LIST_ALLOW ? "an allow" : "a trust");
}

int load_fits(struct load *l, struct state *state)
{
	return choose_kind(l, state) ?: choose_scope(l) ?: means_nothing(l->options, l->out->list.kind, l->path);
}

static int load(struct load *l)
{
	const struct load_options *o = l->options;
	enum bogons bogons = o->bogons ? (enum bogons)o->bogons : o->force ? BOGONS_KEEP : BOGONS_LEAVE_OUT;
	int err = means_nothing(o, (enum list_kind)o->kind, l->path) ?: read_list(l);

	l->about_it = err;
	err = err ?: change_begin(&l->change, l->context);
	l->about_it = l->about_it || !err;
	err = err ?: load_is_as_begun(l) ?: load_fits(l, l->change->state);
	if (!err && list_counts(&l->out->list))
		err = guard_apply_bogons(&l->out->set, bogons, l->out->bogons_found);
	if (!err) {
		describe(l);
		err = compare(l, l->change->state) ?:
		      recall(l, l->change->state) ?:
		      ask_guard(l) ?:
		      load_feed_is_same(l) ? keep_signed(l) ?: -EALREADY
					   : put(l);
	}
	for (uint64_t i = 0; i < l->out->read.bad && i < READER_BAD_MAX && !err; i++)
		warn("%s; left out", l->out->read.bad_text[i]);
	if (!err)
		reader_warn_masked(&l->out->read);
	if (l->change)
		l->change->guard.list =
			NULL; /* in a batch the change goes on, and from now on the state has the text */
	change_end(l->change);
	return err;
}

/* A feed of the catalog, by its name: where it is, and how it is read, where nothing else was said. */
static int take_known(struct load *l, struct feed_options *own, struct catalog *catalog)
{
	const struct catalog_feed *feed = NULL;
	char least[SPAN_TEXT_MAX];
	int err = catalog_read(catalog, NULL) ?: catalog_find(catalog, l->path, &feed);

	if (err)
		return err;
	if (feed->account && (!l->options->feed.header_file || strstr(feed->url, "/ID/")))
		return because(-EINVAL, "%s needs an account: %s", l->path, feed->account);
	if (l->options->feed.every.given && l->options->feed.every.value < (double)feed->every)
		return because(-EINVAL, "%s: %s says that it is asked for no more often than every %s", l->path,
			       feed->every_by ?: "the catalog", span_text(least, feed->every));
	if (!l->reading.format)
		l->reading.format = feed->format;
	if (feed->where && !*l->reading.where)
		where_add(l->reading.where, feed->where);
	l->path = feed->url;
	/* Who takes one by its name wants what is in it tomorrow, too. */
	if (!l->options->dry_run)
		own->usual = feed->every;
	return 0;
}

static bool is_known(const struct load *l)
{
	struct list_info list;
	struct state *state = NULL;
	bool known = !state_open(&state, l->context, false) && !state_list_get(state, l->name, &list);

	state_close(state);
	return known;
}

static bool is_said(const struct load *l, const char *why)
{
	struct list_failure *failed;
	const struct list_failure *last;
	size_t n;
	bool is;

	list_failures(l->context, &failed, &n);
	last = list_failure_of(failed, n, l->name);
	is = last && !strcmp(last->why, why);
	free(failed);
	return is;
}

/* Once more without the same it is no news, where nothing else came of it. */
static void partly(const struct load *l, int err)
{
	const char *out = l->out->left_out;
	char why[sizeof(l->out->left_out) + 32];
	bool is_news;

	snprintf(why, sizeof(why), "only in part, without %s", out);
	is_news = !err || !is_said(l, why);
	list_failed(l->context, l->name, why);
	if (!is_news)
		return;
	warn("list '%s' is loaded without %s; the service loads all of it as soon as that is over", l->name, out);
	event(l->context, (struct event){ EVENT_GUARD, .generation = l->context->generation },
	      "list '%s' is loaded without %s", l->name, out);
}

/*
 * Shown until it succeeds. A name that is no list's yet is a slip of the hand, but for the service's; a file that is
 * being written comes again.
 */
static void outcome(const struct load *l, int err)
{
	if (!load_feed_note(l, err) || l->context->check || l->options->dry_run || err_is(err, EBUSY))
		return;
	if (err && !err_is(err, EALREADY)) {
		/* Asked for as what it is not, nothing is wrong with its next version. */
		if (l->about_it && !err_is(err, EEXIST) && (l->options->if_changed || l->feed_known || is_known(l)))
			list_failed(l->context, l->name, reason(err));
	} else if (!err && l->feed_ends) {
		list_succeeded(l->context, l->name);
		warn("list '%s' is what this file holds from now on, and is not fetched any more", l->name);
	} else if (l->context->joined) {
		change_succeeded(l->context->joined, l->name); /* known at the end of the batch */
	} else if (*l->out->left_out) {
		partly(l, err);
	} else {
		list_succeeded(l->context, l->name);
	}
}

static void release(struct load *l)
{
	packer_free(l->packer);
	packed_change_end(&l->packed);
	close_fd(l->text);
	ranges_free(&l->before);
	free(l->feed);
	free(l->leaves.own);
}

int load_list(struct context *context, const struct load_options *options, const char *name, const char *path,
	      struct loaded *loaded)
{
	struct load_options own = *options;
	struct load l = { .context = context,
			  .options = &own,
			  .reading = options->reading,
			  .name = name,
			  .path = path,
			  .text = -1,
			  .out = loaded },
		    begun;
	const char *fault = list_name_fault(name);
	int err = fault ? because(-EINVAL, "load: '%s': %s", name, fault) : 0;
	struct catalog catalog = { 0 };

	*loaded = (struct loaded){ 0 };
	snprintf(l.source.list, sizeof(l.source.list), "%s", name);
	l.reading.progress = !context->quiet && !context->json;
	own.if_changed = own.if_changed || own.renew;
	if (!err)
		load_begins(&l);
	if (!err && !strcmp(path, "-"))
		err = standard_input(context);
	if (!err && *path == '@')
		err = take_known(&l, &own.feed, &catalog);
	begun = l;
	err = err ?: load(&l);
	if (load_feed_wants_whole(&l, err)) {
		release(&l);
		loaded_free(loaded);
		*loaded = (struct loaded){ 0 };
		l = begun;
		l.whole = true;
		err = load(&l);
	}
	loaded->answer = l.answer;
	loaded->every = l.feed ? l.feed->every : 0;
	outcome(&l, err);
	catalog_free(&catalog);
	release(&l);
	load_begun_free(&l);
	return err;
}

void loaded_free(struct loaded *loaded)
{
	ranges_free(&loaded->set);
}
