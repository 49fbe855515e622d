// SPDX-License-Identifier: GPL-2.0-only
/* image, save and load --image: which files are read and written with which options, and what is said; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/label.h"
#include "change/change.h"
#include "change/image_file.h"
#include "filter/measured_rate.h"
#include "filter/settings.h"
#include "image/image.h"
#include "image/make.h"
#include "image/union.h"
#include "naive.h"
#include "typed.h"
#include "verbs/list_files.h"

static const struct shown known[] = {
#include "unit_image_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_image_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char directory[200];
static int calls, fails_at, open_images, files_held;
static bool is_passed, waits;
static struct image_header header = { .saved = "2026-01-01T00:00:00Z", .lists = 2, .asked = 0.01 };

__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	puts(fails ? ": fails" : "");
	va_end(args);
	return fails ? because(-EIO, "it was not to be") : 0;
}

static int given_open(struct image *image, const char *path, const char *name, bool whole)
{
	int err = call("open %s as %s%s", path, name, whole ? ", all of it" : "");

	*image = (struct image){
		.header = &header, .id = "0123456789abcdef", .size = 4096, .memory = err ? NULL : &header
	};
	open_images += !err;
	return err;
}

static void given_close(struct image *image)
{
	open_images -= image->memory != NULL;
	image->memory = NULL;
}

static int given_read(struct list_files *files, const struct context *loaded, const struct reader_options *reading,
		      char **names, size_t n)
{
	files->n = n;
	files_held++;
	if (loaded)
		puts("  of those that are loaded?");
	for (size_t i = 0; i < n && n < 5; i++)
		printf("  list %s\n", names[i]);
	return call("%zu lists, as %s%s", n, reading->format ?: "they are",
		    reading->skip_bad ? ", what can be read" : "");
}

static int given_settle(const struct list_files *files, struct owned *owned)
{
	if (!files || !owned)
		puts("  of none?");
	return call("whose is what");
}

static void given_free(struct list_files *files)
{
	files_held -= files->n > 0;
}

static int given_make(const char *path, const struct owned *owned, const struct list_info *lists, size_t n,
		      const struct settings *settings, const struct image *like)
{
	(void)owned;
	(void)lists;
	return call("%s is made of %zu%s%s, headroom %g", path, n, settings->exact ? ", exact" : "",
		    like ? ", like another" : "", settings->headroom);
}

static int given_union(const char *path, const struct image *a, const struct image *b)
{
	return call("%s is of both%s", path, a->memory && b->memory ? "" : ", which are not open");
}

static void given_measure(const struct generation *g, struct rate *rate)
{
	(void)g;
	*rate = (struct rate){ .fpr = 0.0234 };
}

static bool given_passed(const struct rate *rate, double asked)
{
	if (rate->fpr != 0.0234 || asked != header.asked)
		puts("  of another rate?");
	return is_passed;
}

static int given_save(struct context *context, const char *path)
{
	(void)context;
	return call("save %s", path);
}

static int given_load(struct context *context, const struct image_load_options *o, struct image *image)
{
	int err = call("load %s%s%s%s%s, confirm %g", o->image, o->dry_run ? ", dry run" : "",
		       o->ban_own ? ", own" : "", o->wide ? ", wide" : "", o->force ? ", force" : "", o->confirm.value);

	context->waits = waits;
	if (!err)
		given_open(image, o->image, o->image, true);
	return err;
}

#define image_open		  given_open
#define image_close		  given_close
#define list_files_read		  given_read
#define list_files_settle	  given_settle
#define list_files_free		  given_free
#define image_make		  given_make
#define image_union		  given_union
#define rate_measure		  given_measure
#define rate_passed		  given_passed
#define image_save		  given_save
#define image_load		  given_load
#define change_check(of, words)	  ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#define kernel_live_generation(c) ((void)(c), 7ULL)
#include "kernel/live.h"
#include "verbs/answer.c"
#include "verbs/image.c"
#include "verbs/save.c"

static void begin(void)
{
	calls = fails_at = open_images = files_held = 0;
	is_passed = waits = false;
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
		if (open_images || files_held)
			printf("  %d images are open, %d times lists are held\n", open_images, files_held);
		open_images = files_held = 0;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void makes(void)
{
	TYPES("image", "image make", "image make out", "image make out a", "image make out a b",
	      "image make out a --json", "image make out a --quiet", "image make out a --exact off",
	      "image make out a --exact on", "image make out a --headroom 25", "image make out a --headroom 0",
	      "image make out a --headroom 1001", "image make out a --like b",
	      "image make out a --format csv --skip-bad", "image make out a --exact maybe");
	for (fails_at = 1; fails_at <= 5; fails_at++)
		TYPES("image make out a --like b");
	fails_at = 0;
	is_passed = true;
	TYPES("image make out a", "image make out a --json");
}

/* Each list has a label. */
static void many(void)
{
	char line[3000] = "image make out";

	for (int i = 1; i <= LABELS; i++) {
		sprintf(line + strlen(line), " l%d", i);
		if (i >= LABELS - 2) {
			struct words w = { 0 };
			struct context context = CONTEXT_DEFAULT;
			int stderr_is = dup(STDERR_FILENO);

			ENOUGH(!words_split(&w, line) && stderr_is >= 0);
			printf("-- %d lists\n", i);
			fflush(stdout);
			dup2(STDOUT_FILENO, STDERR_FILENO);
			printf("= %d\n", verb_run(verb_find(verbs, &w), &context, &w));
			fflush(stdout);
			dup2(stderr_is, STDERR_FILENO);
			close(stderr_is);
			words_free(&w);
		}
	}
}

static void unites(void)
{
	TYPES("image union", "image union out", "image union out a", "image union out a b", "image union out a b c",
	      "image union out a b --json", "image show", "image show a", "image show a b", "image show a --json",
	      "image sho a", "image make a");
	for (fails_at = 1; fails_at <= 4; fails_at++)
		TYPES("image union out a b");
	fails_at = 1;
	TYPES("image show a");
}

static void saves(void)
{
	TYPES("save", "save f", "save f g", "save f --json", "save f --quiet");
	for (fails_at = 1; fails_at <= 2; fails_at++)
		TYPES("save f");
}

static void loads(void)
{
	static const mode_t modes[] = { 0600, 0640, 0604, 0610, 0601, 04700, 04644 };

	TYPES("load --image f", "load --image f --dry-run", "load --image f --confirm 60s", "load --image f --ban-own",
	      "load --image f --wide", "load --image f --force", "load --image f --json", "load --image f --quiet",
	      "load --image f g", "load --image f --dry-run --confirm 60s", "load --image f --json --confirm 60s");
	waits = true;
	TYPES("load --image f --confirm 60s");
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		int fd = open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		ENOUGH(fd >= 0 && !fchmod(fd, modes[i]));
		close(fd);
		printf("-- of mode %o\n", modes[i]);
		TYPES("load --image f");
	}
	fails_at = 1;
	TYPES("load --image f");
	unlink("f");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "makes", makes }, { "many", many }, { "unites", unites }, { "saves", saves }, { "loads", loads },
	};
	const char *temporary = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-image-XXXXXX", temporary ?: "/tmp");
	if (!CHECK(mkdtemp(directory), "%s: %s", directory, strerror(errno)))
		return;
	typed_in(directory, &shows);
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	rmdir(directory);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
