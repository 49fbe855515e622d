// SPDX-License-Identifier: GPL-2.0-only
/* The SSH_CONNECTION of one process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/rights.h"
#include "change/own_internal.h"

#define SSH_VARIABLE "SSH_CONNECTION="
/* sshd puts it at the beginning. What a process calls its environment may be terabytes, and without an end. */
#define ENVIRONMENT_MAX 65536

/* Text of that process's, as much as fits; "" where there is none. The kernel gives less than was asked for at its end.
 * Returns the length, or -errno. */
static ssize_t read_of_process(int pid, const char *what, char *text, size_t size)
{
	ssize_t got = -1;
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, text, size - 1);
	err = got < 0 ? -errno : 0;
	close_fd(fd);
	text[got > 0 ? got : 0] = '\0';
	return err ?: got;
}

/* Threads of the kernel, and who has ended, have no memory; and init is nobody's session. */
static bool may_be_session(int pid)
{
	char pages[2];

	return pid > 1 && (read_of_process(pid, "statm", pages, sizeof(pages)) != 1 || *pages != '0');
}

int own_ssh_of(int pid, char text[SSH_TEXT_MAX])
{
	static char all[ENVIRONMENT_MAX + 1];
	ssize_t got = read_of_process(pid, "environ", all, sizeof(all));
	int found = 0;

	if (err_is((int)got, EACCES) || err_is((int)got, EPERM))
		return may_be_session(pid) ? -EACCES : 0;
	for (const char *entry = all; entry < all + got && !found; entry += strlen(entry) + 1) {
		found = !strncmp(entry, SSH_VARIABLE, strlen(SSH_VARIABLE)) && entry[strlen(SSH_VARIABLE)] &&
			entry + strlen(entry) < all + got;
		if (found)
			snprintf(text, SSH_TEXT_MAX, "%s", entry + strlen(SSH_VARIABLE));
	}
	return found;
}

/* As under the units: hidepid=invisible, or 2; ptraceable, or 4. The last that is mounted there is what is seen. */
bool own_processes_hidden(void)
{
	bool may = rights_in_effect() >> CAP_SYS_PTRACE & 1;
	FILE *file = may ? NULL : fopen("/proc/self/mountinfo", "re");
	char *line = NULL, at[8];
	bool hidden = false;
	size_t room = 0;

	/* A part of a line would be another one: anybody may mount something whose line is long. */
	while (file && getline(&line, &room, file) > 0) {
		const char *said = strstr(line, "hidepid=");

		if (sscanf(line, "%*s %*s %*s %*s %7s", at) == 1 && !strcmp(at, "/proc"))
			hidden = said && strchr("ip24", said[strlen("hidepid=")]);
	}
	if (file)
		fclose(file);
	free(line);
	return hidden;
}

static int parent_of(int pid)
{
	static const char field[] = "\nPPid:";
	char text[512];
	const char *found;

	read_of_process(pid, "status", text, sizeof(text));
	found = strstr(text, field); /* among the first lines; a name's line feed is escaped */
	return found ? atoi(found + strlen(field)) : 0;
}

/* sudo and su remove SSH_CONNECTION, but a process above us still has it. */
int own_session(char text[SSH_TEXT_MAX])
{
	const char *own = getenv("SSH_CONNECTION");
	int pid = getppid();

	if (own && *own) {
		snprintf(text, SSH_TEXT_MAX, "%s", own);
		return getpid();
	}
	while (pid > 1 && own_ssh_of(pid, text) <= 0)
		pid = parent_of(pid);
	if (pid <= 1)
		*text = '\0';
	return pid;
}
