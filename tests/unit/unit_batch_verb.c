// SPDX-License-Identifier: GPL-2.0-only
/* batch: which lines run, what of one that is wrong is said, from where they are read, and what is left; word for word.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/errand.h"
#include "base/progress.h"
#include "base/stdin.h"
#include "kernel/live.h"
#include "naive.h"
#include "typed.h"
#include "verb_change.h"
#include "verbs/errand.h"

static const struct shown known[] = {
#include "unit_batch_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_batch_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char directory[200];
static bool elsewhere, quiet_lines, no_stat, no_file, no_copy, declines;
static int held_files;
static FILE *typed_input;

static bool given_sent(const struct call *call, int fd, int *status)
{
	struct stat st;

	(void)call;
	if (fstat(fd, &st))
		puts("  sends nothing");
	*status = 42;
	return elsewhere;
}

static void of_line(const char *what, const struct context *context, const struct words *w)
{
	if (quiet_lines)
		return;
	printf("  %s:", what);
	for (int i = 0; i < w->n; i++)
		printf(" %s", w->words[i]);
	printf("%s%s%s%s%s%s\n", context->line ? ", of a file" : "", context->quiet ? ", quiet" : "",
	       context->warns ? ", warns" : "", context->json ? ", JSON" : "", context->pretty ? ", pretty" : "",
	       context->joined ? ", joined" : "");
}

/* What a line ends with: the number behind its "=". */
static int ends(const struct words *w)
{
	for (int i = 0; i < w->n; i++)
		if (w->words[i][0] == '=')
			return atoi(w->words[i] + 1);
	return 0;
}

static int given_verb(const struct verb *verb, struct context *context, const struct words *w)
{
	of_line(verb->name, context, w);
	warn("it warns");
	/* As its options have it, until the next line. */
	log_settings.quiet = !strcmp(verb->name, "del");
	return ends(w);
}

static int given_check(const struct context *context, const struct words *w, const char *where, bool files)
{
	of_line(files ? "checks, with files" : "checks", context, w);
	if (ends(w))
		printf("  of %s\n", where);
	return ends(w);
}

static int given_join(struct context *context)
{
	int err = call("changes are one");

	context->joined = err ? NULL : &the_change;
	return err;
}

static int given_join_end(struct context *context, int err, void (*made)(const struct change *change))
{
	printf("  the change ends: %s\n", err ? reason(err) : "made");
	the_change.context = context;
	if (!err)
		made(&the_change);
	return err ?: call("it is made");
}

static int given_keep(int from)
{
	return no_copy ? -ENOSPC : standard_keep(from);
}

static int given_stat(int fd, struct stat *st)
{
	errno = EIO;
	return no_stat ? -1 : fstat(fd, st);
}

static FILE *given_open(const char *path, const char *how)
{
	FILE *file = fopen(path, how);

	held_files += !!file;
	return file;
}

static FILE *given_fdopen(int fd, const char *how)
{
	FILE *file;

	errno = ENOMEM;
	if (no_file) {
		close(fd);
		return NULL;
	}
	file = fdopen(fd, how);
	held_files += !!file;
	return file;
}

static int given_close(FILE *file)
{
	held_files--;
	return fclose(file);
}

static void given_progress(const struct context *context, const char *what, double part)
{
	printf("  %s: %s%s\n", what, part > 0 && part <= 1 ? "a part" : "who knows",
	       context->warns ? " of a line" : "");
}

static void given_exempt(const struct change *change)
{
	(void)change;
	puts("  who is allowed is named");
}

static int given_decline(const char *why)
{
	printf("  declines %s\n", why);
	declines = true;
	return EXIT_ERROR;
}

static int given_input(const struct context *context)
{
	(void)context;
	return call("takes the input");
}

#define errand_sent		  given_sent
#define errand_decline		  given_decline
#define verb_run		  given_verb
#define verb_check		  given_check
#define change_join		  given_join
#define change_join_end		  given_join_end
#define say_exempt		  given_exempt
#define standard_keep		  given_keep
#define standard_input		  given_input
#define progress		  given_progress
#define progress_end()		  puts("  no more of how far it is")
#define fstat(fd, st)		  given_stat(fd, st)
#define fopen			  given_open
#define fdopen			  given_fdopen
#define fclose			  given_close
#define kernel_live_generation(c) ((void)(c), 7ULL)
#undef stdin
#define stdin typed_input
#include "verbs/batch.c"
#undef fstat
#undef fopen
#undef fclose
#undef fdopen
#undef verb_run

static void file_is(const char *name, const char *text)
{
	FILE *to = fopen(name, "w");

	ENOUGH(to);
	fputs(text, to);
	fclose(to);
}

static void input_ends(void)
{
	fclose(typed_input);
	typed_input = NULL;
}

static void begin(void)
{
	elsewhere = quiet_lines = no_stat = no_file = no_copy = declines = false;
	calls = fails_at = held_files = 0;
	memset(&errand, 0, sizeof(errand));
	file_is("f", "add 45.0.0.1\n\n# a comment\ndel '45.0.0.2' --reason 'a b'\n");
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
		if (held_files)
			printf("  %d files are open\n", held_files);
		held_files = 0;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void runs(void)
{
	TYPES("batch f", "batch f --json", "batch f --json --pretty", "batch f --quiet", "batch f --verbose", "batch",
	      "batch f g", "batch none");
	file_is("f", "");
	TYPES("batch f", "batch f --json", "batch f --check");
	elsewhere = true;
	TYPES("batch f");
	elsewhere = false;
	for (fails_at = 1; fails_at <= 2; fails_at++)
		TYPES("batch f");
}

static void faults(void)
{
	static const char *const texts[] = {
		"ad 45.0.0.1\n",
		"zzzz\n",
		"add x\nstatus\nadd y\n",
		"add x\nadd y =1\nadd z\n",
		"add x\nadd y =2\nadd z =1\n",
		"add x =-5\nadd y\n",
		"add 'x\n",
		"add x\nbatch f\n",
		"45.0.0.1\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		printf("-- %s", texts[i]);
		file_is("f", texts[i]);
		TYPES("batch f", "batch f --check", "batch f --check=words");
	}
	file_is("f", "add x =1\n");
	TYPES("batch f --check --json", "batch f --check --quiet");
	file_is("f", "add x\n");
	TYPES("batch f --check --json", "batch f --check --quiet", "batch f --check");
}

/* Where another process has asked for it. */
static void errands(void)
{
	errand.here = true;
	typed_input = fopen("f", "r");
	ENOUGH(typed_input);
	TYPES("batch f");
	rewind(typed_input);
	TYPES("batch -");
	input_ends();
	file_is("f", "add x\nload drop drop.txt\ndel y\n");
	typed_input = fopen("f", "r");
	ENOUGH(typed_input);
	TYPES("batch f");
	input_ends();
}

/* A pipe is read to its end first. */
static void pipes(void)
{
	int to[2];

	for (int i = 0; i < 9; i++) {
		ENOUGH(!pipe(to) && write(to[1], "add x\nadd y =1\n", i % 3 == 2 ? 15 : 6) > 0 &&
		       dup2(to[0], 50) == 50);
		close(to[0]);
		close(to[1]);
		typed_input = fdopen(50, "r");
		ENOUGH(typed_input);
		no_copy = i / 3 == 1;
		no_file = i / 3 == 2;
		TYPES(i % 3 ? "batch -" : "batch /dev/fd/50");
		no_copy = no_file = false;
		input_ends();
	}
	TYPES("batch .");
	typed_input = fopen("f", "r");
	ENOUGH(typed_input);
	TYPES("batch -");
	rewind(typed_input);
	fails_at = 1;
	TYPES("batch -");
	fails_at = 0;
	elsewhere = true;
	TYPES("batch -");
	elsewhere = false;
	no_stat = true;
	TYPES("batch f", "batch -");
	input_ends();
}

static void many(void)
{
	static const int numbers[] = { 255, 256, 257, 511, 512, 513 };

	quiet_lines = true;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		FILE *to = fopen("f", "w");

		ENOUGH(to);
		for (int k = 0; k < numbers[i]; k++)
			fputs("add x\n", to);
		fclose(to);
		printf("-- %d\n", numbers[i]);
		TYPES("batch f --json", "batch f --check=words");
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "runs", runs }, { "faults", faults }, { "errands", errands }, { "pipes", pipes }, { "many", many },
	};
	const char *temporary = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-batch-XXXXXX", temporary ?: "/tmp");
	if (!CHECK(mkdtemp(directory), "%s: %s", directory, strerror(errno)))
		return;
	typed_in(directory, &shows);
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	unlink("f");
	rmdir(directory);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
