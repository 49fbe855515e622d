// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSH_CONNECTION of other processes. To read an environment the kernel waits for what the process does with its
 * memory, and its owner can make that last for ever. So children read, which can be killed while they wait: where one
 * waits, another goes on with what belongs to others, root and the users of the system before those whom anybody may
 * have made.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/helper.h"
#include "change/own_internal.h"

/* For one environment, and for all of them. */
#define ONE_MS 1000
#ifndef ALL_MS
#define ALL_MS 3000
#endif
/* Who says nothing for so long waits, and another reader is started beside it. */
#define WAITS_MS 20
#define READERS	 32

/* A command asks more than once, and one that follows others for ever: who took too long is left out for so long. */
#define SLOW_MS	 10000
#define SLOW_MAX (3 * READERS)

static struct {
	int pid;
	int64_t until;
} slow[SLOW_MAX];
static size_t slow_n;

static bool is_slow(int pid)
{
	for (size_t i = 0; i < SLOW_MAX; i++)
		if (slow[i].pid == pid && clock_ms() < slow[i].until)
			return true;
	return false;
}

struct process {
	int pid;
	uid_t owner;
};

/* One owner's. Those before `at` are done with. */
struct share {
	size_t at, end;
	unsigned int delays; /* so many took too long */
	bool given;	     /* a reader has it */
};

struct reader {
	pid_t pid;
	int fd;
	struct share *share; /* NULL: it has nothing to do */
	int64_t said;	     /* when it was heard last; 0: not yet, as it has just been given something */
};

struct scan {
	struct process *all;
	size_t n;
	struct share *shares;
	size_t n_shares;
	struct reader readers[READERS];
	size_t n_readers, readers_most;
	bool refused;
	size_t missed;
	int first_missed;
	int64_t until;
	own_session_fn *each;
	void *arg;
};

/* --- A reader --- */

/* What it is to read, from one process to another. */
struct part {
	size_t at, end;
};

/* Before each process it says where it is, and then what was found. */
struct said {
	size_t at;
	bool refused; /* it may not be asked */
	char text[SSH_TEXT_MAX];
};

static bool say(const struct said *said)
{
	return send(0, said, sizeof(*said), MSG_NOSIGNAL) == (ssize_t)sizeof(*said);
}

static bool read_part(const struct scan *s, const struct part *part)
{
	struct said said = { .at = part->at };

	while (say(&said) && said.at < part->end) {
		int found = own_ssh_of(s->all[said.at].pid, said.text);

		said.refused = found < 0;
		if (found && !say(&said))
			return false;
		said = (struct said){ .at = said.at + 1 };
	}
	return said.at == part->end;
}

/* Without our locks, and not for longer than we are there: who is gone already says nothing more. */
__attribute__((noreturn)) static void read_parts(const struct scan *s, int fd)
{
	struct part part;

	if (dup2(fd, 0) < 0 || close_from(3) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		_exit(1);
	while (recv(0, &part, sizeof(part), 0) == (ssize_t)sizeof(part) && read_part(s, &part))
		;
	_exit(0);
}

/* --- All of them --- */

static int start(struct scan *s)
{
	struct reader *r = &s->readers[s->n_readers];
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return because(-errno, "environments of processes cannot be read: %s", strerror(errno));
	*r = (struct reader){ .pid = fork(), .fd = pair[0] };
	if (!r->pid)
		read_parts(s, pair[1]);
	err = r->pid < 0 ? because(-errno, "no process could be started: %s", strerror(errno)) : 0;
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		s->n_readers++;
	return err;
}

static void stop(struct scan *s, struct reader *r)
{
	helper_stop(r->fd, r->pid);
	*r = s->readers[--s->n_readers];
}

/* Whose process took too long has his others read last: he delays nobody but himself. */
static struct share *next_share(const struct scan *s)
{
	struct share *next = NULL;

	for (struct share *share = s->shares; share < s->shares + s->n_shares; share++)
		if (!share->given && share->at < share->end && (!next || share->delays < next->delays))
			next = share;
	return next;
}

/* A reader that is gone is noticed where it is heard. */
static void hand_out(struct scan *s)
{
	for (struct reader *r = s->readers; r < s->readers + s->n_readers; r++) {
		struct share *share = r->share ? NULL : next_share(s);

		if (!share)
			continue;
		share->given = true;
		r->share = share;
		r->said = 0;
		send(r->fd, &(struct part){ share->at, share->end }, sizeof(struct part), MSG_NOSIGNAL);
	}
}

static void put_off(struct scan *s, struct reader *r)
{
	struct share *share = r->share;
	int pid = s->all[share->at++].pid;

	if (!s->missed++)
		s->first_missed = pid;
	slow[slow_n].pid = pid;
	slow[slow_n].until = clock_ms() + SLOW_MS;
	slow_n = (slow_n + 1) % SLOW_MAX;
	share->delays++;
	share->given = false;
	stop(s, r);
}

/* All that has been said; false: it is gone. */
static bool hear(struct scan *s, struct reader *r)
{
	while (r->share) {
		struct said said;
		ssize_t got = recv(r->fd, &said, sizeof(said), MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (got != (ssize_t)sizeof(said))
			return false;
		r->said = clock_ms();
		r->share->at = said.at;
		s->refused = s->refused || said.refused;
		if (*said.text)
			s->each(s->arg, s->all[said.at].pid, said.text);
		if (said.at < r->share->end)
			continue;
		r->share->given = false;
		r->share = NULL;
	}
	return true;
}

/* From when on all readers have waited for long; they have something to do, each of them. */
static int64_t all_wait(const struct scan *s)
{
	int64_t last = 0;

	for (size_t i = 0; i < s->n_readers; i++) {
		if (!s->readers[i].said)
			return s->until;
		last = s->readers[i].said > last ? s->readers[i].said : last;
	}
	return s->n_readers ? last + WAITS_MS : 0;
}

/* Only who has begun with a process waits for it: on a busy machine a new one is not there at once. */
static bool is_late(const struct reader *r)
{
	return r->share && r->said && clock_ms() >= r->said + ONE_MS;
}

static void hear_all(struct scan *s, int64_t until)
{
	struct pollfd fds[READERS];
	int64_t ms;

	for (size_t i = 0; i < s->n_readers; i++) {
		const struct reader *r = &s->readers[i];

		fds[i] = (struct pollfd){ .fd = r->share ? r->fd : -1, .events = POLLIN };
		if (r->share && r->said && r->said + ONE_MS < until)
			until = r->said + ONE_MS;
	}
	ms = until - clock_ms();
	if (poll(fds, s->n_readers, ms > 0 ? (int)ms : 0) < 0)
		return;
	/* From the end: what takes the place of one that is put off has been heard. */
	for (size_t i = s->n_readers; i-- > 0;) {
		struct reader *r = &s->readers[i];

		if ((fds[i].revents && !hear(s, r)) || is_late(r))
			put_off(s, r);
	}
}

static bool is_busy(const struct scan *s)
{
	for (size_t i = 0; i < s->n_readers; i++)
		if (s->readers[i].share)
			return true;
	return false;
}

/* Only the first reader has to be there. */
static int read_all(struct scan *s)
{
	for (;;) {
		int64_t another;
		bool more;
		int err;

		hand_out(s);
		more = next_share(s);
		if ((!more && !is_busy(s)) || clock_ms() >= s->until)
			return 0;
		another = more && s->n_readers < s->readers_most ? all_wait(s) : s->until;
		if (clock_ms() < another) {
			hear_all(s, another < s->until ? another : s->until);
			continue;
		}
		err = start(s);
		if (err && !s->n_readers)
			return err;
		if (err)
			s->readers_most = s->n_readers;
	}
}

static bool owner_of(int pid, uid_t *owner)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (lstat(path, &st))
		return false;
	*owner = st.st_uid;
	return true;
}

static int list_processes(struct scan *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		struct process one = { .pid = atoi(entry->d_name) };

		if (*entry->d_name < '1' || *entry->d_name > '9' || is_slow(one.pid) || !owner_of(one.pid, &one.owner))
			continue;
		if (GROW(s->all, s->n))
			s->all[s->n++] = one;
		else
			err = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return err;
}

static int by_owner(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->owner != y->owner ? (x->owner > y->owner) - (x->owner < y->owner)
				    : (x->pid > y->pid) - (x->pid < y->pid);
}

static int share_out(struct scan *s)
{
	if (s->n)
		qsort(s->all, s->n, sizeof(*s->all), by_owner);
	for (size_t i = 0; i < s->n; i++) {
		if (i && s->all[i].owner == s->all[i - 1].owner) {
			s->shares[s->n_shares - 1].end++;
			continue;
		}
		if (!GROW(s->shares, s->n_shares))
			return -ENOMEM;
		s->shares[s->n_shares++] = (struct share){ .at = i, .end = i + 1 };
	}
	return 0;
}

static void say_missed(struct scan *s)
{
	for (const struct share *share = s->shares; share < s->shares + s->n_shares; share++) {
		if (share->at < share->end && !s->missed)
			s->first_missed = s->all[share->at].pid;
		s->missed += share->end - share->at;
	}
	if (s->missed)
		warn("not all SSH sessions may be known: of %zu processes the environments of %zu could not be read in"
		     " time, that of process %d first",
		     s->n, s->missed, s->first_missed);
}

int own_each_session(own_session_fn *each, void *arg, bool *refused)
{
	struct scan s = { .until = clock_ms() + ALL_MS, .readers_most = READERS, .each = each, .arg = arg };
	int err = list_processes(&s) ?: share_out(&s) ?: read_all(&s);

	while (s.n_readers)
		stop(&s, &s.readers[s.n_readers - 1]);
	if (!err)
		say_missed(&s);
	*refused = s.refused;
	free(s.shares);
	free(s.all);
	return err;
}
