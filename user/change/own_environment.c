// SPDX-License-Identifier: GPL-2.0-only
/* The SSH_CONNECTION of one process. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "change/own_internal.h"

#define SSH_VARIABLE "SSH_CONNECTION="
/* sshd puts it at the beginning. What a process calls its environment may be terabytes, and without an end. */
#define ENVIRONMENT_MAX 65536

/* Text of that process's, as much as fits; "" where there is none. The kernel gives less than was asked for at its end.
 */
static size_t read_of_process(int pid, const char *what, char *text, size_t size)
{
	ssize_t got = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, text, size - 1);
	close_fd(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

bool own_ssh_of(int pid, char text[SSH_TEXT_MAX])
{
	static char all[ENVIRONMENT_MAX + 1];
	size_t got = read_of_process(pid, "environ", all, sizeof(all));
	bool found = false;

	for (const char *entry = all; entry < all + got && !found; entry += strlen(entry) + 1) {
		found = !strncmp(entry, SSH_VARIABLE, strlen(SSH_VARIABLE)) && entry[strlen(SSH_VARIABLE)] &&
			entry + strlen(entry) < all + got;
		if (found)
			snprintf(text, SSH_TEXT_MAX, "%s", entry + strlen(SSH_VARIABLE));
	}
	return found;
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
	while (pid > 1 && !own_ssh_of(pid, text))
		pid = parent_of(pid);
	if (pid <= 1)
		*text = '\0';
	return pid;
}
