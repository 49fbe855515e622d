// SPDX-License-Identifier: GPL-2.0-only
/* save, load --image: a generation as a file, and back; image: files alone, without a kernel */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply.h"
#include "bans.h"
#include "change.h"
#include "cmd.h"
#include "guard.h"
#include "image.h"
#include "image_kept.h"
#include "image_union.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "owned.h"
#include "rate.h"
#include "reader.h"
#include "state.h"
#include "state_bans.h"

/* What there is to say of an image. */
static int report(const struct image *image, const char *path, const char *did)
{
	const struct generation *g = &image->g;
	char text[NUMBER_TEXT_MAX];

	if (opt_json)
		return out_json(json_pack("{s:o, s:s, s:s, s:I, s:I, s:{s:I, s:I}, s:I, s:b}", "file", out_text(path),
					  "id", image->id, "saved", image->header->saved, "bytes",
					  (json_int_t)image->size, "lists", (json_int_t)image->header->lists, "keys",
					  "ipv4", (json_int_t)g->keys4, "ipv6", (json_int_t)g->keys6, "banned24",
					  (json_int_t)g->all24, "exact", !g->filter || g->roster4 || g->roster6));
	if (!opt_quiet)
		printf("%s: %s image %s, %s, %llu lists: %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6\n", path, did,
		       image->id, bytes_text(text, image->size), (unsigned long long)image->header->lists,
		       (unsigned long long)g->keys4, (unsigned long long)g->all24, (unsigned long long)g->keys6);
	return out_end();
}

/* An image in force is saved as what it is; otherwise the rate is that of the settings. */
static double asked_for(struct state *state)
{
	struct settings settings = settings_read(state);
	double asked = rate_asked(&settings);
	struct image image;

	if (!image_kept_open(state, &image, false)) {
		asked = image.header->asked;
		image_close(&image);
	}
	return asked;
}

/* Under the state's lock, so that nobody edits what is being copied. */
static int save(const char *path)
{
	struct image_source source = { 0 };
	struct list_info *lists = NULL;
	struct state *state = NULL;
	struct candidate live;
	char id[IMAGE_ID_MAX];
	int err = change_begin(&state);

	if (!err)
		err = lists_in_force(state, &lists, &source.lists_n);
	if (!err) {
		err = kernel_open_live(&live, false);
		if (err == -ENOENT)
			err = because(err, "nothing is loaded here");
	}
	if (!err) {
		if (!bans_agree(state))
			err = because(-EAGAIN, "program and lists disagree; 'xdp-bloom rotate' builds it anew");
		source.g = &live.g;
		source.lists = lists;
		source.asked = asked_for(state);
		if (!err)
			err = image_write(path, &source, id);
		kernel_release(&live);
	}
	free(lists);
	state_close(state);
	return err;
}

int cmd_save(int argc, char **argv)
{
	struct image image;
	int err, status;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc != 2)
		return fail("save: into which file?");
	err = save(argv[1]);
	if (!err)
		err = image_open(&image, argv[1], argv[1], false);
	if (err)
		return fail("%s; nothing was saved", reason(err));
	status = report(&image, argv[1], "saved");
	image_close(&image);
	return status;
}

static const char *image_path;
static bool force, ban_own, dry_run;

static int image_option(int option, const char *value)
{
	switch (option) {
	case 'i':
		image_path = value;
		return 0;
	case 'o':
		ban_own = true;
		return 0;
	case 'n':
		dry_run = true;
		return 0;
	default:
		force = true;
		return 0;
	}
}

/* The image takes the place of all there is, in one switch. */
static int drop_lists(struct state *state)
{
	struct list_info *lists;
	size_t n;
	int err = state_lists(state, &lists, &n);

	if (!err && !force && state_bans_any(state))
		err = because(-EPERM, "an image takes the place of live bans, too; --force drops them");
	if (!err && n && !force)
		err = because(-EPERM, "an image takes the place of all lists, and %zu %s loaded; --force drops %s", n,
			      n == 1 ? "is" : "are", n == 1 ? "it" : "them");
	for (size_t i = 0; i < n && !err; i++)
		err = state_list_drop(state, lists[i].name);
	free(lists);
	return err ? err : state_bans_clear(state);
}

/* What a label counted was another list's. */
static int count_anew(struct state *state, void *arg)
{
	(void)state;
	(void)arg;
	kernel_zero_labels();
	return 0;
}

int cmd_load_image(int argc, char **argv)
{
	static const struct option own[] = {
		{ "image", required_argument, NULL, 'i' },
		{ "force", no_argument, NULL, 'F' },
		{ "ban-own", no_argument, NULL, 'o' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ 0 },
	};
	struct apply_options options = { .last = count_anew };
	struct image image = { 0 };
	struct state *state = NULL;
	bool kept = false;
	int err, status;

	force = ban_own = dry_run = false;
	if (options_read(&argc, argv, own, image_option))
		return EXIT_ERROR;
	if (argc != 1)
		return fail("load: an image has its lists' names in it; '%s' is not wanted", argv[1]);
	options.guarded = !force && !ban_own;
	options.dry_run = dry_run;
	change_check(true);
	err = opt_check ? image_open(&image, image_path, image_path, true) : 0;
	if (!err)
		err = change_begin(&state);
	if (!err)
		err = drop_lists(state);
	if (!err) {
		err = image_keep(state, image_path, &image);
		kept = !err;
	}
	if (!err)
		err = change_commit(state, &options);
	if (kept && (err || dry_run))
		image_discard(state);
	change_end(state);
	status = err ? fail("%s; nothing was loaded", reason(err))
		     : report(&image, image_path, dry_run ? "would load" : "loaded");
	image_close(&image);
	return status;
}

/* --- Without a kernel ------------------------------------------------------------------------------------------------
 */

static struct reader_options reading;
static struct settings making = SETTINGS_DEFAULT;
static const char *like_path;

static int make_option(int option, const char *value)
{
	switch (option) {
	case 'l':
		like_path = value;
		return 0;
	case 'e':
		return option_switch("exact", value, &making.exact);
	case 'h':
		if (option_number("headroom", value, 0, 1000, &making.headroom))
			return EXIT_ERROR;
		making.headroom /= 100;
		return 0;
	case 'f':
		reading.format = value;
		return 0;
	default:
		reading.skip_bad = true;
		return 0;
	}
}

/* "lists/drop.txt" is the list "drop". */
static void name_list(struct list_info *list, const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strcspn(base, ".");

	if (!len)
		len = strlen(base);
	snprintf(list->name, sizeof(list->name), "%.*s", (int)len, base);
	for (char *c = list->name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
}

/* What packets from outside should not have as a source is left out, as load does. */
static int read_list(const char *path, struct list_info *list, struct ranges *set)
{
	struct reader_report report;
	char error[READER_TEXT_MAX], number[NUMBER_TEXT_MAX];
	bool found[64];
	time_t now = time(NULL);
	struct tm utc;
	int err = reader_read(path, &reading, set, &report, error);

	if (err)
		return because(err, "%s", error);
	err = guard_apply_bogons(set, BOGONS_LEAVE_OUT, found);
	name_list(list, path);
	list->kind = LIST_BAN;
	list->prefixes = ranges_count_prefixes(set);
	snprintf(list->addresses, sizeof(list->addresses), "%s", number_text(number, ranges_count(set)));
	strftime(list->loaded, sizeof(list->loaded), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	return err;
}

static int make_from(const char *path, char **files, size_t n, const struct image *like)
{
	struct ranges *sets = calloc(n, sizeof(*sets)), none = RANGES_EMPTY;
	struct account *accounts = calloc(n, sizeof(*accounts));
	struct list_info *lists = calloc(n, sizeof(*lists));
	struct owned owned = { 0 };
	int err = sets && accounts && lists ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		lists[i].label = (uint8_t)(i + 1);
		accounts[i] = (struct account){ &sets[i], lists[i].label };
		err = read_list(files[i], &lists[i], &sets[i]);
		for (size_t j = 0; j < i && !err; j++)
			if (!strcmp(lists[i].name, lists[j].name))
				err = because(-EEXIST, "two lists would be called '%s'", lists[i].name);
	}
	if (!err)
		err = owned_settle(&owned, accounts, n, &none);
	if (!err)
		err = image_make(path, &owned, lists, n, &making, like);
	owned_free(&owned);
	for (size_t i = 0; sets && i < n; i++)
		ranges_free(&sets[i]);
	free(sets);
	free(accounts);
	free(lists);
	return err;
}

static int make(const char *path, char **files, size_t n)
{
	struct image like = { 0 };
	int err = like_path ? image_open(&like, like_path, like_path, true) : 0;

	if (!err)
		err = make_from(path, files, n, like_path ? &like : NULL);
	image_close(&like);
	return err;
}

static int unite(const char *path, char **files)
{
	struct image a = { 0 }, b = { 0 };
	int err = image_open(&a, files[0], files[0], true);

	if (!err)
		err = image_open(&b, files[1], files[1], true);
	if (!err)
		err = image_union(path, &a, &b);
	image_close(&a);
	image_close(&b);
	return err;
}

static int report_made(const char *path, const char *did)
{
	struct image image;
	struct rate rate;
	int err = image_open(&image, path, path, true), status;

	if (err)
		return fail("%s", reason(err));
	rate_measure(&image.g, &rate);
	status = report(&image, path, did);
	if (rate_passed(&rate, image.header->asked))
		warn("%s: the filter says yes to %.4f %% of others, and %.4f %% were asked for: make it with more --headroom",
		     path, rate.fpr * 100, image.header->asked * 100);
	image_close(&image);
	return status;
}

int cmd_image(int argc, char **argv)
{
	static const struct option own[] = {
		{ "like", required_argument, NULL, 'l' },     { "exact", required_argument, NULL, 'e' },
		{ "headroom", required_argument, NULL, 'h' }, { "format", required_argument, NULL, 'f' },
		{ "skip-bad", no_argument, NULL, 's' },	      { 0 },
	};
	const char *what;
	int err;

	if (options_read(&argc, argv, own, make_option))
		return EXIT_ERROR;
	what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "show") && argc == 3)
		return report_made(argv[2], "holds");
	if (!strcmp(what, "make") && argc > 3 && argc - 3 < LABELS)
		err = make(argv[2], argv + 3, (size_t)argc - 3);
	else if (!strcmp(what, "union") && argc == 5)
		err = unite(argv[2], argv + 3);
	else
		return fail("image: show FILE, make OUT LIST... or union OUT A B; see xdp-bloom --help");
	if (err)
		return fail("image %s: %s; nothing was written", what, reason(err));
	return report_made(argv[2], "wrote");
}
