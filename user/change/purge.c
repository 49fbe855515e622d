// SPDX-License-Identifier: GPL-2.0-only
#include "change/purge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "change/detach.h"
#include "kernel/pins.h"

static const char *const kept[] = { STATE_ALL, NULL };

/* The units know no other state than that of a command without -S. */
static bool is_of_the_units(const struct context *context)
{
	static const struct context usual = CONTEXT_DEFAULT;

	return !strcmp(context->state, usual.state) && !strcmp(context->bpffs, usual.bpffs);
}

static void disable_units(void)
{
	static char *const words[] = { "systemctl", "--quiet",		 "disable",
				       "--now",	    "xdp-bloom.service", "xdp-bloom-restore.service",
				       NULL };
	static const char *const places[] = { "/usr/bin/systemctl", "/bin/systemctl", NULL };
	static char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int i = 0, err, status = 0;

	while (places[i] && access(places[i], X_OK))
		i++;
	if (!places[i] || posix_spawn_file_actions_init(&actions))
		return;
	/* Where there are no units, it says so. */
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawn(&pid, places[i], &actions, NULL, words, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (!err && waitpid(pid, &status, 0) == pid)
		note("%s ended with %d", places[i], WEXITSTATUS(status));
}

static bool is_kept(const char *name)
{
	for (const char *const *names = kept; *names; names++) {
		size_t n = strlen(*names);

		if (!strncmp(name, *names, n) && (!name[n] || strchr(".-", (*names)[n - 1])))
			return true;
	}
	return false;
}

/* Then the directory, if nothing else lies in it. */
static int remove_ours(const char *directory, bool (*is_ours)(const char *name))
{
	char path[STATE_PATH_MAX], theirs[NAME_MAX + 1] = "";
	struct dirent *entry;
	DIR *dir = opendir(directory);
	int err = 0;

	if (!dir)
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", directory, strerror(errno));
	while ((entry = readdir(dir)))
		if (is_ours(entry->d_name))
			pin_remove(state_path(path, directory, entry->d_name));
	rewinddir(dir);
	while (!err && (entry = readdir(dir))) {
		if (is_ours(entry->d_name))
			err = because(-EIO, "%s/%s cannot be removed", directory, entry->d_name);
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			snprintf(theirs, sizeof(theirs), "%s", entry->d_name);
	}
	closedir(dir);
	if (err)
		return err;
	if (*theirs)
		warn("%s stays: '%s' in it is not of xdp-bloom", directory, theirs);
	return *theirs || !rmdir(directory) ? 0 : because(-errno, "%s: %s", directory, strerror(errno));
}

static int remove_all(const struct context *context)
{
	char path[STATE_PATH_MAX];
	bool has_state = !access(context->state, F_OK);
	int err = has_state ? trust_directory(context->state) : 0, lock = -1;

	/* Who waits for it begins again, with nothing. */
	if (!err && has_state)
		err = lock = lock_take(state_path(path, context->state, STATE_LOCK), context->wait);
	if (err >= 0)
		err = remove_ours(context->bpffs, pin_is_ours) ?: remove_ours(context->state, is_kept);
	close_fd(lock);
	return err;
}

int purge(const struct context *context, bool *stopped)
{
	int err = 0;

	*stopped = false;
	if (is_of_the_units(context))
		disable_units();
	if (lock_is_held(context->state, STATE_SERVICE_LOCK))
		return because(-EBUSY, "the service still runs and would put all in place again: end it first");
	if (pins_are_there(context))
		err = detach_interfaces(context, NULL, 0, stopped);
	/* What was wrong with the state goes with it. */
	return err && !*stopped ? err : remove_all(context);
}
