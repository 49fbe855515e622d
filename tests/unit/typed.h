/* SPDX-License-Identifier: GPL-2.0-only */
/* A command as it is typed, by the table of all verbs: what it says, its errors too, and how it ends. */
#ifndef TYPED_H
#define TYPED_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/context.h"
#include "base/log.h"
#include "base/verb.h"
#include "shown.h"
#include "verbs/verbs.h"

static struct context typed_context = CONTEXT_DEFAULT;
/* What the verb has left in its copy of that. */
__attribute__((unused)) static struct context typed_left;

/* In that directory; what is recorded goes where it would have gone from here. */
__attribute__((unused)) static void typed_in(const char *where, struct shows *of)
{
	static char path[PATH_MAX];
	char *top = getcwd(NULL, 0);

	if (top && *of->file != '/') {
		snprintf(path, sizeof(path), "%s/%s", top, of->file);
		of->file = path;
	}
	free(top);
	if (chdir(where)) {
		perror(where);
		exit(KTAP_FAIL);
	}
}

static int typed(const char *line)
{
	struct context context = typed_context;
	struct words words = { 0 };
	const struct verb *verb;
	char shown_line[1000];
	int status = EXIT_ERROR, err = dup(STDERR_FILENO);

	printf("$ %s\n", clean_copy(shown_line, sizeof(shown_line), line));
	fflush(stdout);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	log_settings = (struct log_settings){ 0 };
	if (!words_split(&words, line) && (verb = verb_find(verbs, &words)))
		status = verb_run(verb, &context, &words);
	typed_left = context;
	words_free(&words);
	fflush(stdout);
	dup2(err, STDERR_FILENO);
	close(err);
	printf("= %d\n", status);
	return status;
}

/* In a process of its own, for a command that takes for granted to be the only one. What it ends with; -1: by a signal.
 */
__attribute__((unused)) static int typed_apart(const char *line, int (*end)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		typed(line);
		status = end();
		fflush(stdout);
		_exit(status);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		return WEXITSTATUS(status);
	puts("  crashes");
	return -1;
}

#endif
