/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory of pins of a test's own, which goes with it: the cases run in a process of their own beneath it. */
#ifndef OWN_PINS_H
#define OWN_PINS_H

#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "base/log.h"

static int own_pins_remove(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

static struct context own_context = CONTEXT_DEFAULT;

static int own_pins_run(int (*run)(void))
{
	static char directory[64];
	int status = -1;
	pid_t pid;

	if (geteuid()) {
		printf("TAP version 13\n1..0 # SKIP needs root\n");
		return KTAP_SKIP;
	}
	snprintf(directory, sizeof(directory), "/sys/fs/bpf/xdp-bloom-test-%d", (int)getpid());
	own_context.bpffs = directory;
	pid = fork();
	if (pid == 0)
		exit(run());
	/* Whatever becomes of the child, and of an interrupt, its pins go. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	nftw(directory, own_pins_remove, 8, FTW_DEPTH | FTW_PHYS);
	if (WIFSIGNALED(status))
		printf("Bail out! killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : KTAP_FAIL;
}

#endif
