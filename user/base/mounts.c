// SPDX-License-Identifier: GPL-2.0-only
#include "base/mounts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By what is open, not by a path: whom a path leads to would be asked on the way. */
unsigned long mount_of(int fd)
{
	unsigned long mount = 0;
	char path[64], line[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "mnt_id: %lu", &mount) == 1)
			break;
	if (file)
		fclose(file);
	return mount;
}

static bool is_served(const char *type)
{
	static const char *const served[] = { "9p",    "afs",	   "autofs", "beegfs", "ceph",	   "cifs",
					      "coda",  "gfs2",	   "gpfs",   "lustre", "nfs",	   "nfs4",
					      "ocfs2", "orangefs", "smb3",   "vboxsf", "virtiofs", "vmhgfs" };

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
		if (!strcmp(type, served[i]))
			return true;
	return false;
}

/* "fuse.sshfs", and "fuseblk" on a disk. Who mounted it says an option. */
static enum answers answers(const char *type, const char *options)
{
	const char *user = strstr(options, "user_id=");

	if (!strncmp(type, "fuse", 4) && strcmp(type, "fusectl") != 0)
		return user && strtoul(user + strlen("user_id="), NULL, 10) ? USER_ANSWERS : SERVER_ANSWERS;
	return is_served(type) ? SERVER_ANSWERS : KERNEL_ANSWERS;
}

enum answers mount_answers(unsigned long mount)
{
	FILE *file = mount ? fopen("/proc/self/mountinfo", "re") : NULL;
	enum answers who = KERNEL_ANSWERS;
	char *line = NULL, at[8], type[32];
	unsigned long number = 0;
	size_t room = 0;

	/* Fields of which there may be any number end with "-". A blank in a name is escaped. */
	while (number != mount && file && getline(&line, &room, file) > 0) {
		const char *rest = strstr(line, " - ");

		if (sscanf(line, "%lu %*s %*s %*s %7s", &number, at) == 2 && number == mount && strcmp(at, "/") != 0 &&
		    rest && sscanf(rest, " - %31s", type) == 1)
			who = answers(type, rest);
	}
	if (file)
		fclose(file);
	free(line);
	return who;
}
