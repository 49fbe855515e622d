// SPDX-License-Identifier: GPL-2.0-only
/* load */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "change/apply.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "base/clean_text.h"
#include "verbs/cmd.h"
#include "change/guard.h"
#include "verbs/print_load.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/answer.h"
#include "base/compress.h"
#include "sets/reader.h"
#include "state/sources.h"
#include "base/stdin.h"
#include "state/bans.h"

static struct reader_options reading;
static enum list_kind kind;
static enum bogons bogons;
static bool kind_given, bogons_given, force, ban_own, big_change, wide, dry_run, if_changed;
static long confirm_seconds;

static int bogons_option(const char *value)
{
	if (!strcmp(value, "keep"))
		bogons = BOGONS_KEEP;
	else if (!strcmp(value, "refuse"))
		bogons = BOGONS_REFUSE;
	else
		return fail("--bogons is keep or refuse, not '%s'", value);
	bogons_given = true;
	return 0;
}

static int load_option(int option, const char *value)
{
	switch (option) {
	case 'a':
	case 's':
		kind = option == 'a' ? LIST_ALLOW : LIST_SHADOW;
		kind_given = true;
		return 0;
	case 'o':
		ban_own = true;
		return 0;
	case 'g':
		big_change = true;
		return 0;
	case 'w':
		wide = true;
		return 0;
	case 'k':
		reading.skip_bad = true;
		return 0;
	case 'F':
		force = true;
		return 0;
	case 'n':
		dry_run = true;
		return 0;
	case 'i':
		if_changed = true;
		return 0;
	case 'b':
		return bogons_option(value);
	case 'c':
		confirm_seconds = option_seconds(value);
		return confirm_seconds < 0 ? fail("--confirm takes a time such as 60s or 5m, not '%s'", value) : 0;
	default:
		reading.format = value; /* the reader knows which there are */
		return 0;
	}
}

static const char *name_fault(const char *name)
{
	if (!*name || strlen(name) >= LIST_NAME_MAX)
		return "a list's name has 1 to 63 characters";
	if (*name == '-')
		return "a list's name does not begin with '-'";
	if (name[strspn(name, LIST_NAME_BYTES)])
		return "a list's name has letters, digits, '.', '_' and '-'";
	return NULL;
}

/* A load on its way. */
struct load {
	struct change *change;
	const char *name, *path;
	int text; /* what the list was read from: the file, or a copy of standard input */
	struct source source;
	struct packer *packer;
	struct ranges before;
	struct loaded out; /* what there is to say about it */
};

/* How it is to be read again. What was forced was forced this once. */
static void describe_source(struct load *l, const struct stat *st)
{
	struct source *s = &l->source;
	bool keep_bogons = bogons_given ? bogons == BOGONS_KEEP : force;

	if (source_locate(s->path, l->path))
		s->path[0] = '\0';
	source_stamp(s->stamp, st);
	snprintf(s->options, sizeof(s->options), "%s%s%s%s", reading.format ? "--format=" : "",
		 reading.format ? reading.format : "", reading.skip_bad ? " --skip-bad" : "",
		 keep_bogons		   ? " --bogons=keep"
		 : bogons == BOGONS_REFUSE ? " --bogons=refuse"
					   : "");
}

/*
 * A link led to a file that others may not read: whoever made the link is not to find its lines in a log. By the file
 * that was opened, which no link that changes meanwhile can alter.
 */
static bool is_hidden(const struct load *l, const struct stat *st)
{
	char path[64], real[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->text);
	length = readlink(path, real, sizeof(real) - 1);
	real[length < 0 ? 0 : length] = '\0';
	return !(st->st_mode & S_IROTH) && strcmp(real, l->source.path) != 0;
}

/*
 * What is read again and again by the service must be a file: a pipe has no versions, and nobody may ever write into
 * it. Nor is one read to see whether its line is right: whoever runs the line would find it empty.
 */
static bool wants_file(void)
{
	return if_changed || (opt_check && opt_line);
}

/* Opens it once: the text that is kept is the text that was read, whatever becomes of the name. */
static int open_text(struct load *l)
{
	bool input = !strcmp(l->path, "-");
	const char *why = NULL;
	struct stat st;
	int fd = input ? dup(STDIN_FILENO) : open(l->path, O_RDONLY | O_CLOEXEC | (wants_file() ? O_NONBLOCK : 0));

	if (input)
		l->path = "standard input";
	if (fd < 0 || fstat(fd, &st)) {
		l->text = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		l->text = -EISDIR;
	} else if (wants_file() && !input && !S_ISREG(st.st_mode)) {
		l->text = -EINVAL;
		why = "not a regular file";
	} else if (S_ISREG(st.st_mode) && !input) {
		l->text = fd;
		fd = -1;
		describe_source(l, &st);
		reading.hidden = is_hidden(l, &st);
	} else {
		/* Its lines are to be named later. */
		l->text = standard_keep(fd);
	}
	if (fd >= 0)
		close(fd);
	return l->text < 0 ? because(l->text, "%s: %s", l->path, why ? why : errno_text(l->text)) : 0;
}

static int read_list(struct context *context, struct load *l)
{
	char error[READER_TEXT_MAX], path[64];
	int err;

	change_check(context, true);
	err = open_text(l);
	if (err)
		return err;
	if (if_changed && source_is_loaded(&l->source))
		return -EALREADY;
	if (if_changed && l->source.path[0] && source_is_written(l->path))
		return because(-EBUSY, "%s is being written", l->path);
	if (lseek(l->text, 0, SEEK_SET) < 0)
		return because(-errno, "%s: %s", l->path, strerror(errno));
	l->packer = dry_run ? NULL : packer_begin(l->text);
	if (!l->packer && !dry_run)
		return -ENOMEM;
	reading.name = l->path;
	/* Opened anew: the packer reads at a place of its own. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->text);
	err = reader_read(path, &reading, &l->out.set, &l->out.read, error);
	return err ? because(err, "%s", error) : 0;
}

static void describe(struct load *l)
{
	struct list_info *list = &l->out.list;
	char number[NUMBER_TEXT_MAX];

	list->kind = kind;
	list->prefixes = ranges_count_prefixes(&l->out.set);
	snprintf(list->name, sizeof(list->name), "%s", l->name);
	snprintf(list->source, sizeof(list->source), "%s", l->path);
	clean_text(list->source);
	snprintf(list->format, sizeof(list->format), "%s", reading.format ? reading.format : "");
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(&l->out.set)));
	utc_text(list->loaded, time(NULL));
	l->out.dry_run = dry_run;
	l->out.confirm_seconds = confirm_seconds;
}

/* What is new, what is gone, what stays. */
static int compare(struct load *l, struct state *state)
{
	struct list_info old;
	struct ranges kept;
	int err = state_list_get(state, l->name, &old);

	if (err_is(err, ENOENT))
		return 0;
	if (err)
		return err;
	err = state_list_set(state, l->name, &l->before);
	/* What is damaged is nothing to compare with, and goes; but only where somebody sees to it. */
	if (err_is(err, EUCLEAN) && !if_changed)
		err = 0;
	if (!err)
		err = ranges_intersect(&kept, &l->before, &l->out.set);
	if (err)
		return err;
	l->out.replaces = true;
	l->out.kept4 = ranges_count4(&kept);
	l->out.kept6 = ranges_count6(&kept);
	l->out.added4 = ranges_count4(&l->out.set) - l->out.kept4;
	l->out.added6 = ranges_count6(&l->out.set) - l->out.kept6;
	l->out.removed4 = ranges_count4(&l->before) - l->out.kept4;
	l->out.removed6 = ranges_count6(&l->before) - l->out.kept6;
	ranges_free(&kept);
	return 0;
}

static int put_text(struct state *state, void *arg)
{
	struct load *l = arg;

	/* The label may have been another list's once; nothing is counted on it yet. */
	if (l->out.list.fresh)
		change_zero_given(l->change, l->out.list.label);
	return state_source_put(state, &l->source) ?: state_text_put(state, l->name, l->packer);
}

static int put(struct load *l)
{
	struct apply_options options = {
		.guarded = !force && !ban_own, .dry_run = dry_run, .before_commit = put_text, .arg = l
	};
	int err = change_pending(l->change, PENDING_LIST, l->name, dry_run ? 0 : confirm_seconds);

	if (!err)
		err = state_list_put(l->change->state, &l->out.list, &l->out.set);
	return err ? err : change_commit(l->change, &options);
}

/* A list stays what it is until it is unloaded, or enforced: a job that loads it anew must not turn it over. */
static int choose_kind(struct state *state, const char *name)
{
	struct list_info old;
	int err = state_list_get(state, name, &old);

	/* Who had a list of that name before there were live bans keeps it. */
	if (err_is(err, ENOENT) && !strcmp(name, LIVE_LIST))
		return because(-EINVAL, "'%s' is what live bans are called; give the list another name", name);
	if (err_is(err, ENOENT))
		return 0;
	if (err)
		return err;
	if (kind_given && kind != old.kind)
		return because(-EEXIST, "'%s' is %s list; unload it first%s", name,
			       old.kind == LIST_ALLOW ? "an allow"
			       : old.kind == LIST_BAN ? "a ban"
						      : "a shadow",
			       old.kind == LIST_SHADOW || kind == LIST_SHADOW ? ", or use enforce and shadow" : "");
	kind = old.kind;
	return 0;
}

static int load(struct context *context, struct load *l)
{
	int err = read_list(context, l);

	if (!err)
		err = change_begin(&l->change, context);
	if (!err)
		err = choose_kind(l->change->state, l->name);
	if (!err && kind != LIST_ALLOW)
		err = guard_apply_bogons(&l->out.set, bogons_given || !force ? bogons : BOGONS_KEEP,
					 l->out.bogons_found);
	if (!err) {
		describe(l);
		err = compare(l, l->change->state);
	}
	if (!err && kind == LIST_BAN && !force && !wide)
		err = guard_wide(l->name, &l->before, &l->out.set);
	if (!err && l->out.replaces && kind != LIST_ALLOW && !force && !big_change)
		err = guard_change(l->name, &l->before, &l->out.set);
	if (!err)
		err = put(l);
	for (uint64_t i = 0; i < l->out.read.bad && i < READER_BAD_MAX && !err; i++)
		warn("%s; left out", l->out.read.bad_text[i]);
	change_end(l->change);
	return err;
}

int cmd_load(struct context *context, int argc, char **argv)
{
	static const struct option own[] = {
		{ "allow", no_argument, NULL, 'a' },
		{ "shadow", no_argument, NULL, 's' },
		{ "skip-bad", no_argument, NULL, 'k' },
		{ "force", no_argument, NULL, 'F' },
		{ "ban-own", no_argument, NULL, 'o' },
		{ "big-change", no_argument, NULL, 'g' },
		{ "wide", no_argument, NULL, 'w' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "if-changed", no_argument, NULL, 'i' },
		{ "bogons", required_argument, NULL, 'b' },
		{ "confirm", required_argument, NULL, 'c' },
		{ "format", required_argument, NULL, 'f' },
		{ 0 },
	};
	bool found[64] = { false };
	struct load l = { .text = -1, .out.bogons_found = found };
	const char *fault;
	int err, status;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strncmp(argv[i], "--image", strlen("--image")))
			return cmd_load_image(context, argc, argv);
	/* In a batch it is not the first. */
	reading = (struct reader_options){ 0 };
	kind = LIST_BAN;
	bogons = BOGONS_LEAVE_OUT;
	kind_given = bogons_given = force = ban_own = big_change = wide = dry_run = if_changed = false;
	confirm_seconds = 0;
	if (options_read(context, &argc, argv, own, load_option))
		return EXIT_ERROR;
	if (argc != 3)
		return fail("load: a name and a file, as in: xdp-bloom load drop drop.txt");
	l.name = argv[1];
	l.path = argv[2];
	fault = name_fault(l.name);
	if (fault)
		return fail("load: '%s': %s", l.name, fault);
	snprintf(l.source.list, sizeof(l.source.list), "%s", l.name);
	reading.progress = !opt_quiet && !opt_json;
	err = strcmp(l.path, "-") ? 0 : standard_input();
	if (!err)
		err = load(context, &l);
	if (err_is(err, EALREADY))
		status = out_done();
	else if (err)
		status = fail("%s; nothing was loaded", reason(err));
	else
		status = opt_json ? loaded_json(&l.out) : loaded_text(&l.out);
	packer_free(l.packer);
	if (l.text >= 0)
		close(l.text);
	ranges_free(&l.out.set);
	ranges_free(&l.before);
	return status;
}
