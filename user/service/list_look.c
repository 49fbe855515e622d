// SPDX-License-Identifier: GPL-2.0-only
#include "service/list_look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/path_walk.h"

/* What was written so lately may be written on, by another machine, too, whose writer the kernel does not see. */
#define YOUNG 60

static void look_for(struct list_look *look, const struct list_known *file, enum answers most)
{
	enum answers before = way_waits_for(most);
	struct stat is;

	*look = (struct list_look){ 0 };
	look->err = source_look(look->stamp, file->path);
	if (look->err) {
		snprintf(look->why, sizeof(look->why), "%s", reason(look->err));
		look->is_link = !way_look(file->path, false, &is) && S_ISLNK(is.st_mode);
	}
	look->is_news = !look->err && strcmp(look->stamp, file->stamp) != 0 && strcmp(look->stamp, file->tried) != 0;
	if (look->is_news)
		look->is_written =
			source_is_written(file->path) || (!file->reported && source_is_young(file->path, YOUNG));
	way_waits_for(before);
}

void list_look(struct list_look *look, const struct list_known *file)
{
	look_for(look, file, KERNEL_ANSWERS);
}

/* It may outlast the service, and what is open keeps a part of the filter in force. */
static void become(const struct list_known *file, int to)
{
	struct list_look look;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (dup2(to, STDIN_FILENO) || close_from(STDERR_FILENO + 1))
		_exit(1);
	look_for(&look, file, USER_ANSWERS);
	look.err = look.err ? -error_number(look.err) : 0;
	_exit(write(STDIN_FILENO, &look, sizeof(look)) != sizeof(look));
}

int looker_begin(struct looker *looker, const struct list_known *file, int64_t now)
{
	int ends[2], err = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		become(file, ends[1]);
	if (pid < 0)
		err = because(-errno, "no process could be started: %s", strerror(errno));
	else
		*looker = (struct looker){ .pid = pid, .from = ends[0], .since = now };
	close(ends[1]);
	if (err)
		close(ends[0]);
	return err;
}

bool looker_ended(struct looker *looker, struct list_look *look)
{
	if (!looker->pid || waitpid(looker->pid, NULL, WNOHANG) != looker->pid)
		return false;
	if (read(looker->from, look, sizeof(*look)) != sizeof(*look))
		look->err = -EREMOTE;
	close(looker->from);
	*looker = (struct looker){ 0 };
	return true;
}

void looker_stop(struct looker *looker)
{
	if (!looker->pid)
		return;
	kill(looker->pid, SIGKILL);
	waitpid(looker->pid, NULL, WNOHANG);
	close(looker->from);
	*looker = (struct looker){ 0 };
}
