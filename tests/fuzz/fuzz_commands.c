// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a config file, and as a batch: lines, words, verbs and their options, as far as a verb goes that only
 * looks whether its words are right. It ends there with _exit(), which comes back here: an option of the linker does
 * that.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/config.h"
#include "base/log.h"
#include "verbs/verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int __lsan_is_turned_off(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

static jmp_buf ended;
static bool inside;
static FILE *nowhere;

static void hold(bool ok)
{
	if (!ok)
		abort();
}

/* A verb that ends leaves to its process what it had. */
int __lsan_is_turned_off(void)
{
	return 1;
}

void __wrap__exit(int status)
{
	if (!inside)
		__real__exit(status);
	hold(status == EXIT_DONE);
	longjmp(ended, 1);
}

static void run(const struct verb *verb, const struct words *w)
{
	struct context context = { .state = "/nowhere", .bpffs = "/nowhere", .check = CHECK_WORDS, .quiet = true };

	inside = true;
	if (!setjmp(ended)) {
		int status = verb_run(verb, &context, w);

		/* It has said what is wrong, or had nothing to do. */
		hold(status == EXIT_ERROR ? *log_last() : status == EXIT_DONE);
	}
	inside = false;
}

static int run_line(void *arg, const struct words *w, unsigned int line)
{
	const struct verb *verb = verb_find(verbs, w);

	(void)arg;
	hold(line > 0);
	if (verb && verb->flags & VERB_JOINS)
		run(verb, w);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;
	struct config config;
	int err;
	FILE *messages = stderr, *file;

	if (fd < 0) {
		fd = memfd_create("commands", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	hold(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	stderr = nowhere;
	err = config_read(&config, path, verbs);
	if (err) {
		hold(!config.n && !config.lines && *reason(err));
	} else {
		for (size_t i = 0; i < config.n; i++) {
			const struct verb *verb = config.lines[i].verb;

			hold(verb && config.lines[i].words.n > 0 &&
			     (!i || config.lines[i - 1].number < config.lines[i].number));
			if (verb->flags & VERB_JOINS)
				run(verb, &config.lines[i].words);
		}
		config_free(&config);
	}
	file = fopen(path, "re");
	words_file(file, path, run_line, NULL);
	fclose(file);
	stderr = messages;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nowhere = fopen("/dev/null", "we");
	hold(nowhere && freopen("/dev/null", "r", stdin));
	return 0;
}
