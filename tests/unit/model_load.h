/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a load calls, made up: a file, or a server's answer, of the text that a test gives; a state of one list; a
 * change of the filter, and guard rails that say what they are asked. Each prints a line, and fails where a test wants
 * it to.
 */
#ifndef MODEL_LOAD_H
#define MODEL_LOAD_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
#include "change/load_internal.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "naive.h"
#include "shown.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/sources.h"

static struct context its;

#define DATE   1800000000
#define STATE  ((struct state *)&its) /* nobody looks into it */
#define PACKER ((struct packer *)&its)
#define THREE  "192.0.2.1 192.0.2.2 192.0.2.4/31"
#define OTHER  "192.0.2.2 192.0.2.8/30 2001:db8::/127"

static const char *failing; /* the step that does */
static int failing_with;
static bool brief, has_failed; /* brief: what comes before it is not printed */
static const char *content;    /* of the file or of the server's answer; NULL: there is none */
static mode_t mode;
static bool of_the_kernel, is_written, is_loaded, named_here, of_another;
static unsigned int packed_is, bad;

static struct {
	bool is;
	struct list_info info;
	const char *set;
	struct accepted accepted;
} there;

static struct change under_way;

/* What the server's list is. */
static struct {
	struct feed *row;
	bool same, known, whole, ends;
	uint64_t signed_at;
} server;

__attribute__((format(printf, 1, 2))) static int step(const char *fmt, ...)
{
	char said[600];
	va_list args;
	bool fails;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	fails = failing && !strncmp(said, failing, strlen(failing));
	has_failed = has_failed || fails;
	if (!brief || has_failed)
		printf("  %s\n", said);
	return fails ? because(failing_with, "no: %s", said) : 0;
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("  warning: ", stdout);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static void parse(struct ranges *set, const char *prefixes)
{
	*set = RANGES_EMPTY;
	while (*prefixes) {
		size_t length = strcspn(prefixes, " ");
		struct addr first;
		unsigned int prefix;

		ENOUGH(!prefix_parse(prefixes, length, &first, &prefix) && !ranges_add_prefix(set, first, prefix));
		prefixes += length + (prefixes[length] == ' ');
	}
	ENOUGH(!ranges_finish(set));
}

/* So many addresses of each family. */
static unsigned long long count(const struct ranges *set)
{
	return ranges_count4(set) * 100 + (unsigned long long)ranges_count6(set);
}

/* --- Files --- */

static int text_fd(void)
{
	int fd = memfd_create("list", MFD_CLOEXEC);

	ENOUGH(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	return fd;
}

static int given_named(const char *path)
{
	int err = step("open %s", path);

	return !content ? -ENOENT : err ? -error_number(err) : text_fd();
}

static int given_way(const char *path, enum way_end end, bool theirs)
{
	int err = step("open %s, without waiting%s", path, end != WAY_FILE || theirs ? ", otherwise" : "");

	if (S_ISFIFO(mode))
		return because(-EINVAL, "not a regular file");
	return !content ? -ENOENT : err ?: text_fd();
}

static int given_fstat(int fd, struct stat *st)
{
	*st = (struct stat){ .st_mode = mode };
	errno = EIO;
	return fd < 0 || step("what is it?") ? -1 : 0;
}

static bool given_hidden(int fd, const char *path)
{
	if (fstat(fd, &(struct stat){ 0 }) || (*path && strcmp(path, "/lists/drop.txt") != 0))
		printf("  is another hidden, %s?\n", path);
	return of_another;
}

static int given_locate(char absolute[PATH_MAX], const char *path)
{
	snprintf(absolute, PATH_MAX, "/lists/%s", path);
	return step("where is %s?", path);
}

static void given_stamp(char stamp[SOURCE_STAMP_MAX], const struct stat *st)
{
	snprintf(stamp, SOURCE_STAMP_MAX, "mode %o", st->st_mode);
}

static bool given_of_the_kernel(int fd)
{
	return fd >= 0 && of_the_kernel;
}

static enum answers who_answers;

static enum answers given_answers(unsigned long mount)
{
	return mount == 7 ? who_answers : KERNEL_ANSWERS;
}

static int given_keep(int from)
{
	return step("a copy") ?: from < 0 ? -EBADF : text_fd();
}

static int given_access(const char *path, int how)
{
	return how == F_OK && step("is there a file %s?", path) == 0 && named_here ? 0 : -1;
}

static int given_input(const struct context *context)
{
	return context == &its ? step("standard input") : -EINVAL;
}

static int given_read(const char *path, const struct reader_options *o, struct ranges *set,
		      struct reader_report *report, char error[READER_TEXT_MAX])
{
	int fd, err = step("read %s as %s%s%s%s%s%s", o->name, o->format ?: "it is",
			   o->skip_bad ? ", bad lines left out" : "", o->hidden ? ", hidden" : "",
			   o->progress ? ", with progress" : "", *o->where ? ", where " : "", o->where);
	char all[256] = "";

	ENOUGH(sscanf(path, "/proc/self/fd/%d", &fd) == 1 && pread(fd, all, sizeof(all) - 1, 0) >= 0);
	if (lseek(fd, 0, SEEK_CUR))
		printf("  from its middle\n");
	if (o->before)
		printf("  as a change of %llu\n", count(o->before));
	snprintf(error, READER_TEXT_MAX, "%s:1: is not read", o->name);
	*report = (struct reader_report){ .bad = bad, .taken = strlen(all) };
	for (unsigned int i = 0; i < READER_BAD_MAX; i++)
		snprintf(report->bad_text[i], READER_TEXT_MAX, "%s:%u: 'x'", o->name, i);
	parse(set, err ? "" : all);
	return err ? -EINVAL : 0;
}

static void given_masked(const struct reader_report *report)
{
	step("what is masked of %llu bad ones is said", (unsigned long long)report->bad);
}

static struct packer *given_packer(int fd)
{
	return fd < 0 || step("packed") ? NULL : PACKER;
}

static void given_packer_most(struct packer *packer, uint64_t bytes)
{
	CHECK(packer == PACKER, "of another");
	printf("  of its text %llu bytes\n", (unsigned long long)bytes);
}

static void given_packer_free(struct packer *packer)
{
	if (packer)
		step("the packer ends");
}

static int given_packed(struct packed_change *p, const struct context *context, const char *list, int fd)
{
	int err = step("is it a change of %s?", list);

	p->is = packed_is && context == &its && fd >= 0;
	return err;
}

static int given_packed_text(const struct ranges *set)
{
	int err = step("all of it, %llu", count(set));

	return err ?: text_fd();
}

static int given_still(const struct packed_change *p, const char *list, const struct ranges *now)
{
	return step("is %s still %llu%s?", list, count(now), p->is ? ", which is changed" : "");
}

static void given_packed_end(struct packed_change *p)
{
	if (p->is)
		step("what it changed is forgotten");
}

/* --- The state --- */

static int given_state_open(struct state **state, const struct context *context, bool change)
{
	int err = step("the state is opened%s", change || context != &its ? ", otherwise" : "");

	*state = err ? NULL : STATE;
	return err;
}

static void given_state_close(struct state *state)
{
	if (state)
		step("the state is closed");
}

/* What fetched it is what the state has of it. */
static int64_t its_age;

static int given_feed_get(struct state *state, const char *name, struct feed *row)
{
	bool is = its_age;

	(void)state;
	(void)name;
	*row = (struct feed){ .aged = its_age };
	its_age = 0;
	return is ? 0 : because(-ENOENT, "no feed");
}

static int given_list_get(struct state *state, const char *name, struct list_info *list)
{
	int err = step("%s is looked for%s", name, state == STATE ? "" : " elsewhere");

	if (!err && there.is)
		*list = there.info;
	return err ?: there.is ? 0 : -ENOENT;
}

static int given_list_set(struct state *state, const char *name, struct ranges *set)
{
	int err = step("what %s holds%s", name, state == STATE ? "" : " elsewhere");

	parse(set, err ? "" : there.set);
	return err;
}

static int given_list_put(struct state *state, struct list_info *list, const struct ranges *set)
{
	list->label_is_new = !there.is;
	list->label = 7;
	return step(
		"put %s, kind %d, times %u, %llu prefixes of %s addresses, %llu, from %s at %s, as '%s' where '%s', only '%s'%s",
		list->name, list->kind, list->times, (unsigned long long)list->prefixes, list->addresses, count(set),
		list->source, list->loaded, list->format, list->where, list->scope, state == STATE ? "" : " elsewhere");
}

static void says_accepted(const char *what, const struct accepted *a)
{
	if (brief && !has_failed)
		return;
	printf("  %s: %d, hand %g %g, day %g %g of %lld, wide %g %g", what, a->known, a->hand.v4, a->hand.v6, a->day.v4,
	       a->day.v6, a->day_at ? (long long)(a->day_at - DATE) : 0, a->wide.v4, a->wide.v6);
	if (a->left.v4 > 0 || a->left.v6 > 0)
		printf(", left out %g %g", a->left.v4, a->left.v6);
	putchar('\n');
}

static int given_accepted_get(struct state *state, const char *list, struct accepted *a)
{
	*a = there.accepted;
	return step("what was accepted of %s%s", list, state == STATE ? "" : " elsewhere");
}

static int given_accepted_put(struct state *state, const char *list, const struct accepted *a)
{
	says_accepted("accepted", a);
	return step("that is kept of %s%s", list, state == STATE ? "" : " elsewhere");
}

static int given_signed_get(struct state *state, const char *list, uint64_t *when)
{
	*when = 5;
	return step("when was %s signed?%s", list, state == STATE ? "" : " Elsewhere");
}

static int given_signed_put(struct state *state, const char *list, uint64_t when)
{
	return step("%s was signed at %llu%s", list, (unsigned long long)when, state == STATE ? "" : " elsewhere");
}

static int given_state_commit(struct state *state)
{
	return step("the state is written%s", state == STATE ? "" : " elsewhere");
}

static int given_source_put(struct state *state, const struct source *s)
{
	return step("%s is from '%s', %s, by '%s'%s", s->list, s->path, s->stamp, s->options,
		    state == STATE ? "" : " elsewhere");
}

static int given_text_put(struct state *state, const char *name, struct packer *packer)
{
	return step("the text of %s is put%s", name, state == STATE && packer == PACKER ? "" : ", another");
}

static bool given_is_loaded(const struct context *context, const struct source *source)
{
	step("is %s loaded from %s?%s", source->list, source->path, context == &its ? "" : " Elsewhere");
	return is_loaded;
}

static bool given_is_written(const char *path)
{
	step("is %s written?", path);
	return is_written;
}

/* --- The change --- */

static void given_check(const struct context *context, bool words)
{
	if (context != &its || !words)
		printf("  it is checked otherwise\n");
}

static int given_begin(struct change **change, struct context *context)
{
	int err = step("a change begins");

	under_way = (struct change){ .context = context, .state = STATE };
	*change = &under_way;
	return err;
}

/* So many addresses from 192.0.2.2 on are somebody's who is connected. */
static unsigned int guests;

static int leave_guests(struct guard *guard)
{
	struct guard_leaves *l = guard->leaves;

	if (!l || !guests)
		return 0;
	l->n = guests;
	l->own = calloc(l->n, sizeof(*l->own));
	ENOUGH(l->own);
	for (unsigned int i = 0; i < guests; i++)
		l->own[i] = (struct own_address){ .addr = { 0xc0000202 + i, 4 },
						  .what = "somebody who is connected",
						  .where = "TCP port 22" };
	return l->leave(l->arg);
}

static void given_end(struct change *change)
{
	if (change)
		step("it ends%s", change->guard.list ? ", and the list's name stays" : "");
}

static int given_commit(struct change *change, const struct apply_options *o)
{
	int err = step("the change of %s is made%s%s", change->guard.list, o->dry_run ? ", dry" : "",
		       change->guard.text > STDERR_FILENO ? "" : ", without its text");

	return err ?: leave_guests(&change->guard) ?: o->before_commit(change->state, o->arg);
}

static int given_force(struct change *change, const struct ranges *set)
{
	return step("forced, %llu%s", count(set), change == &under_way ? "" : " elsewhere");
}

static void given_zero(struct change *change, uint8_t label)
{
	step("count %u begins anew%s", label, change == &under_way ? "" : " elsewhere");
}

static void given_zero_given(struct change *change, uint8_t label)
{
	step("count %u was given%s", label, change == &under_way ? "" : " elsewhere");
}

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	return step("%s waits for %ld s%s", name, seconds,
		    change == &under_way && kind == PENDING_LIST ? "" : ", otherwise");
}

static struct list_failure last_failure;

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	*failures = NULL;
	*n = (size_t)step("what has failed%s", context == &its ? "" : " elsewhere");
}

static const struct list_failure *given_failure(const struct list_failure *failures, size_t n, const char *list)
{
	return failures || n || !*list || !*last_failure.why ? NULL : &last_failure;
}

static void given_failed(const struct context *context, const char *list, const char *why)
{
	snprintf(last_failure.why, sizeof(last_failure.why), "%s", why);
	step("%s has failed: %s%s", list, why, context == &its ? "" : " elsewhere");
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event what,
							      const char *fmt, ...)
{
	char said[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	step("event %d of %llu: %s%s", what.kind, what.generation, said, context == &its ? "" : " elsewhere");
}

static void given_succeeded(const struct context *context, const char *list)
{
	step("%s has succeeded%s", list, context == &its ? "" : " elsewhere");
}

static void given_change_succeeded(struct change *change, const char *list)
{
	step("%s will have succeeded%s", list, change == its.joined ? "" : " elsewhere");
}

/* --- Guard rails --- */

static int given_bogons(struct ranges *set, enum bogons choice, bool *found)
{
	found[1] = true;
	return step("bogons of %llu: %d", count(set), choice);
}

static int given_wide(enum list_kind kind, const char *name, const struct ranges *before, const struct ranges *after,
		      struct amounts granted)
{
	return step("is %s wide? %llu to %llu, granted %g %g%s%s", name, count(before), count(after), granted.v4,
		    granted.v6, kind == LIST_BAN ? "" : ", for ", kind == LIST_BAN ? "" : list_kind_names[kind]);
}

static int given_guard_change(enum list_kind kind, const char *name, const struct ranges *before, struct amounts left,
			      const struct ranges *after)
{
	char out[64] = "";

	if (left.v4 > 0 || left.v6 > 0)
		snprintf(out, sizeof(out), ", without %g %g", left.v4, left.v6);
	return step("is %s another? %llu%s to %llu%s%s", name, count(before), out, count(after),
		    kind == LIST_BAN ? "" : ", for ", kind == LIST_BAN ? "" : list_kind_names[kind]);
}

static int given_growth(const char *name, const struct accepted *a, const struct ranges *after)
{
	says_accepted("so far", a);
	return step("has %s grown? to %llu", name, count(after));
}

static int given_share(const struct ranges *set, struct amounts *share)
{
	share->v4 = (double)ranges_count4(set) / 2;
	return step("the share of %llu", count(set));
}

/* --- Servers --- */

static int given_feed(struct load *l)
{
	int err = step("fetch %s", l->path);

	l->feed = server.row;
	its_age = l->feed ? l->feed->aged : 0;
	server.row = NULL;
	l->feed_known = server.known;
	l->feed_asked = true;
	l->feed_ends = server.ends;
	if (err)
		return err;
	l->fetched = true;
	l->answer.signed_at = server.signed_at;
	l->text = text_fd();
	return 0;
}

static int given_feed_put(struct load *l, struct state *state)
{
	return step("the feed of %s is put%s", l->name, state == STATE ? "" : " elsewhere");
}

static bool feed_is_late; /* somebody has renewed it meanwhile */

static bool given_feed_note(const struct load *l, int err)
{
	if (l->feed_asked)
		step("it is noted: %s", err ? reason(err) : "it came");
	return !feed_is_late;
}

static void given_page(struct feed *row, int fd)
{
	step("%s sent a page%s", row->url, fd < 0 ? ", of none" : "");
}

static int given_rollback(const struct feed *row, const struct fetch_answer *answer)
{
	return step("is %s older?%s", row->url, answer->comment);
}

static int given_fresh(const struct fetch_answer *answer, const char *name, uint64_t before)
{
	return step("is %s, '%s', signed after %llu?", name, answer->comment, (unsigned long long)before);
}

static int given_guard_feed(const struct fetch_answer *answer, const struct ranges *set, bool bans)
{
	return step("does %llu ban its server? %d%s", count(set), bans, answer->comment);
}

static int given_check_file(const char *key, const char *path, int list, struct fetch_answer *answer)
{
	snprintf(answer->comment, sizeof(answer->comment), "weekly");
	answer->signed_at = 9;
	return step("is %s signed by %s?%s", path, key, list < 0 ? " None" : "");
}

static bool given_wants_whole(const struct load *l, int err)
{
	return err && server.whole && !l->whole;
}

static bool given_is_same(const struct load *l)
{
	return server.same && !l->otherwise;
}

static void given_describe(const struct load *l, char *to, size_t size)
{
	snprintf(to, size, "%s", l->reading.format ?: "no format");
}

static struct catalog_feed catalog_has;

static int given_catalog(struct catalog *catalog, const char *path)
{
	(void)catalog;
	return step("the catalog%s", path ? ", another" : "");
}

static int given_find(const struct catalog *catalog, const char *name, const struct catalog_feed **feed)
{
	(void)catalog;
	*feed = &catalog_has;
	return step("%s in it", name);
}

static void given_catalog_free(struct catalog *catalog)
{
	(void)catalog;
}

#define dup(fd)		      text_fd()
#define fstat		      given_fstat
#define source_is_hidden      given_hidden
#define access		      given_access
#define source_locate	      given_locate
#define source_stamp	      given_stamp
#define way_open	      given_way
#define way_open_named	      given_named
#define way_is_of_the_kernel  given_of_the_kernel
#define source_is_loaded      given_is_loaded
#define source_is_written     given_is_written
#define standard_keep	      given_keep
#define mount_of(fd)	      ((fd) < 0 ? 0UL : 7UL)
#define mount_answers	      given_answers
#define standard_input	      given_input
#define reader_read	      given_read
#define reader_warn_masked    given_masked
#define packer_begin	      given_packer
#define packer_most	      given_packer_most
#define packer_free	      given_packer_free
#define packed_change_begin   given_packed
#define packed_change_text    given_packed_text
#define packed_change_still   given_still
#define packed_change_end     given_packed_end
#define state_open	      given_state_open
#define state_close	      given_state_close
#define state_list_get	      given_list_get
#define state_feed_get	      given_feed_get
#define state_list_set	      given_list_set
#define state_list_put	      given_list_put
#define state_accepted_get    given_accepted_get
#define state_accepted_put    given_accepted_put
#define state_signed_get      given_signed_get
#define state_signed_put      given_signed_put
#define state_commit	      given_state_commit
#define state_source_put      given_source_put
#define state_text_put	      given_text_put
#define change_check	      given_check
#define change_begin	      given_begin
#define change_end	      given_end
#define change_commit	      given_commit
#define change_force	      given_force
#define change_zero	      given_zero
#define change_zero_given     given_zero_given
#define change_pending	      given_pending
#define change_succeeded      given_change_succeeded
#define list_failed	      given_failed
#define list_failures	      given_failures
#define list_failure_of	      given_failure
#define event(...)	      given_event(__VA_ARGS__)
#define list_succeeded	      given_succeeded
#define guard_apply_bogons    given_bogons
#define guard_wide	      given_wide
#define guard_change	      given_guard_change
#define guard_growth	      given_growth
#define guard_share_of	      given_share
#define load_begins(l)	      ((void)step("what there is, before it is read"))
#define load_is_as_begun(l)   step("is it as it was?")
#define load_begun_free(l)    ((void)step("that is forgotten"))
#define load_feed	      given_feed
#define load_feed_put	      given_feed_put
#define load_feed_note	      given_feed_note
#define load_feed_wants_whole given_wants_whole
#define load_feed_is_same     given_is_same
#define load_describe	      given_describe
#define feed_keep_page	      given_page
#define feed_rollback	      given_rollback
#define feed_fresh	      given_fresh
#define feed_guard	      given_guard_feed
#define feed_check_file	      given_check_file
#define catalog_read	      given_catalog
#define catalog_find	      given_find
#define catalog_free	      given_catalog_free
#define warn		      given_warn
#define time(to)	      DATE

#endif
