// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/door.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/trusted_dir.h"
#include "change/change.h"
#include "feeds/batch.h"
#include "state/state.h"

/* Of these the last are kept for root. Others wait until one has gone. */
#define GUESTS_MOST 64
#define ROOTS	    16
#define GROUPS_MOST 65536
/* What a guard rail refuses is looked for by many transactions: whose lines are such gets few of them at a time. */
#define REFUSED_LINES 16
#define REFUSED_MS    2000
#define LINES_LEAST   64
/* With who has sent all, and does not read what is acknowledged. */
#define PATIENCE_MS 10000

struct guest {
	struct stream stream;
	char name[64];
	bool root;
	int64_t refused_at, ended_at; /* clock_ms(); 0: not */
};

struct door {
	struct context *context;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int listener, lock;
	bool for_group;
	gid_t group;
	struct guest *guests[GUESTS_MOST];
	size_t n, first; /* first: whose turn it is */
	int64_t shut;	 /* accept_next() */
	struct batch batch;
};

/* --- The socket --- */

#ifdef STATIC_COMMAND
/* Others who know groups would be libraries. */
static const struct group *group_named(const char *name)
{
	FILE *file = fopen("/etc/group", "re");
	const struct group *found;

	if (!file)
		return NULL;
	do
		found = fgetgrent(file);
	while (found && strcmp(found->gr_name, name));
	fclose(file);
	return found;
}
#else
#define group_named getgrnam
#endif

static int find_group(struct door *d, const char *name)
{
	const struct group *found;

	if (!name)
		return 0;
	errno = 0;
	found = group_named(name);
	if (!found)
		return because(errno ? -errno : -ENOENT, "--group %s: %s", name,
			       errno ? strerror(errno) : "there is no such group");
	d->for_group = true;
	d->group = found->gr_gid;
	return 0;
}

static int find_path(struct door *d, const char *path)
{
	char directory[sizeof(d->path)];
	int n;

	if (path && !*path)
		return because(-EINVAL, "follow socket: a path is missing");
	if (!path && d->for_group)
		return because(-EINVAL,
			       "nobody but root gets into %s: for a group the socket lies elsewhere, such as"
			       " follow socket /run/xdp-bloom/follow.sock --group NAME",
			       d->context->state);
	n = path ? snprintf(d->path, sizeof(d->path), "%s", path)
		 : snprintf(d->path, sizeof(d->path), "%s/" STATE_FOLLOW_SOCKET, d->context->state);
	if (n < 0 || (size_t)n >= sizeof(d->path))
		return because(-ENAMETOOLONG, "%s: the path is too long for a socket", path ?: d->context->state);
	if (!path)
		return 0;
	/* Who may write there could put his own in its place. */
	memcpy(directory, d->path, sizeof(directory));
	return trust_directory(dirname(directory));
}

/* One at a time; what one that was killed has left is taken away. */
static int make_room(struct door *d)
{
	char path[STATE_PATH_MAX];
	struct stat is;
	int err = state_make_directory(d->context->state);

	if (err)
		return err;
	d->lock = lock_take(state_path(path, d->context->state, STATE_FOLLOW_LOCK), 0);
	if (d->lock < 0)
		return d->lock;
	if (lstat(d->path, &is))
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", d->path, strerror(errno));
	if (!S_ISSOCK(is.st_mode))
		return because(-EEXIST, "%s: there is something else than a socket", d->path);
	return unlink(d->path) ? because(-errno, "%s: %s", d->path, strerror(errno)) : 0;
}

static int open_door(struct door *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = 0;

	memcpy(address.sun_path, d->path, sizeof(d->path));
	d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->listener < 0)
		return because(-errno, "%s: %s", d->path, strerror(errno));
	/* Nobody comes in before it listens. */
	mask = umask(0177);
	if (bind(d->listener, (struct sockaddr *)&address, sizeof(address)))
		err = because(-errno, "%s: %s", d->path, strerror(errno));
	umask(mask);
	if (!err && d->for_group && (lchown(d->path, (uid_t)-1, d->group) || chmod(d->path, 0660)))
		err = because(-errno, "%s: it cannot be given to the group: %s", d->path, strerror(errno));
	if (!err && listen(d->listener, GUESTS_MOST))
		err = because(-errno, "%s: %s", d->path, strerror(errno));
	return err;
}

/* --- Who comes --- */

static bool is_of_group(int fd, const struct ucred *who, gid_t group)
{
	static gid_t groups[GROUPS_MOST];
	socklen_t size = sizeof(groups);

	if (who->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* Whoever opened it: the mode of a socket can be changed, and a descriptor handed on. */
static bool may_come(const struct door *d, int fd, struct ucred *who)
{
	socklen_t size = sizeof(*who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &size))
		return false;
	return !who->uid || who->uid == geteuid() || (d->for_group && is_of_group(fd, who, d->group));
}

static size_t others(const struct door *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += !d->guests[i]->root;
	return n;
}

static void send_away(const struct door *d, int fd, const char *why)
{
	char line[128];
	int n = snprintf(line, sizeof(line), d->context->json ? "{\"refused\":0,\"why\":\"%s\"}\n" : "no 0 %s\n", why);

	(void)!send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* False: nobody waits. */
static bool let_in(struct door *d)
{
	int fd = accept_next(d->listener, NULL, NULL, &d->shut);
	struct guest *g;
	struct ucred who = { .uid = (uid_t)-1 };

	if (fd < 0)
		return false;
	if (!may_come(d, fd, &who)) {
		warn("%s: process %d of user %u may not come in", d->path, (int)who.pid, (unsigned int)who.uid);
		send_away(d, fd, "you may not");
		return true;
	}
	if (who.uid && others(d) >= GUESTS_MOST - ROOTS) {
		send_away(d, fd, "too many are here: come again");
		return true;
	}
	g = calloc(1, sizeof(*g));
	if (g) {
		snprintf(g->name, sizeof(g->name), "process %d of user %u", (int)who.pid, (unsigned int)who.uid);
		g->root = !who.uid;
		g->stream.json = d->context->json;
	}
	if (!g || stream_share(&g->stream, g->name, fd)) {
		if (g) {
			g->stream.in = -1;
			stream_end(&g->stream);
		}
		free(g);
		send_away(d, fd, "no memory");
		return true;
	}
	g->stream.for_us = !g->root;
	note("%s: %s has come", d->path, g->name);
	d->guests[d->n++] = g;
	return true;
}

static void see_off(struct door *d, size_t at)
{
	struct guest *g = d->guests[at];

	note("%s: %s has gone: %llu lines, %llu of them refused", d->path, g->name, g->stream.number, g->stream.bad_n);
	stream_end(&g->stream);
	free(g);
	d->guests[at] = d->guests[--d->n];
	d->first = d->n ? d->first % d->n : 0;
}

/* Those that have sent all, and have been told all, or do not want to be. */
static void see_off_all(struct door *d, int64_t now)
{
	for (size_t i = d->n; i-- > 0;) {
		struct guest *g = d->guests[i];

		stream_tell(&g->stream);
		if (!g->stream.ended)
			continue;
		if (!g->ended_at)
			g->ended_at = now;
		if (!stream_tell(&g->stream) || now - g->ended_at >= PATIENCE_MS)
			see_off(d, i);
	}
}

/* --- What they send --- */

static size_t share_of(const struct door *d, const struct guest *g, int64_t now)
{
	size_t share = d->batch.most / d->n;

	if (g->refused_at && now - g->refused_at < REFUSED_MS)
		return REFUSED_LINES;
	return share > LINES_LEAST ? share : LINES_LEAST;
}

/* Each in turn, so much; who begins is another each time. */
static void collect(struct door *d, int64_t now)
{
	for (size_t i = 0; i < d->n; i++) {
		struct guest *g = d->guests[(d->first + i) % d->n];

		if (d->batch.n < d->batch.most)
			batch_collect(&d->batch, &g->stream, share_of(d, g, now));
	}
	d->first = d->n ? (d->first + 1) % d->n : 0;
}

static int put(struct door *d)
{
	int64_t now = clock_ms();
	int err;

	collect(d, now);
	err = batch_put(&d->batch);
	now = clock_ms();
	for (size_t i = 0; i < d->n; i++) {
		struct guest *g = d->guests[i];

		/* Of its lines since, none was a ban. */
		if (!err)
			stream_acknowledge(&g->stream, g->stream.number);
		if (g->stream.refused)
			g->refused_at = now;
		g->stream.refused = false;
		stream_forget(&g->stream);
	}
	batch_next(&d->batch);
	return err;
}

/* Until somebody comes, sends something, or can be told something. */
static void wait_for(const struct door *d)
{
	struct pollfd fds[GUESTS_MOST + 1];
	struct timespec second = { 1, 0 };
	bool ends = false, at_once = false, shut = d->shut && d->shut > clock_ms();

	for (size_t i = 0; i < d->n; i++) {
		struct stream *s = &d->guests[i]->stream;
		bool reads = !s->ended && !stream_is_full(s), tells = stream_tell(s);

		fds[i] = (struct pollfd){ .fd = reads || tells ? s->in : -1,
					  .events = (short)((reads ? POLLIN : 0) | (tells ? POLLOUT : 0)) };
		ends = ends || s->ended;
		at_once = at_once || (!s->ended && stream_has_line(s));
	}
	fds[d->n] = (struct pollfd){ .fd = d->n < GUESTS_MOST && !shut ? d->listener : -1, .events = POLLIN };
	if (at_once)
		second.tv_sec = 0;
	stop_poll(fds, d->n + 1, ends || at_once || shut ? &second : NULL);
}

int follow_door(struct context *context, const char *path, const char *group)
{
	struct door d = { .context = context, .listener = -1, .lock = -1 };
	int err = find_group(&d, group) ?: find_path(&d, path) ?: batch_begin(&d.batch, context) ?: make_room(&d);
	bool opened;

	signal(SIGPIPE, SIG_IGN);
	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = err ?: open_door(&d);
	opened = !err;
	d.batch.f.from = d.path;
	while (!err && !stop_asked) {
		wait_for(&d);
		while (d.n < GUESTS_MOST && let_in(&d))
			;
		err = put(&d);
		see_off_all(&d, clock_ms());
	}
	if (opened)
		unlink(d.path);
	close_fd(d.listener);
	while (d.n)
		see_off(&d, d.n - 1);
	close_fd(d.lock);
	batch_end(&d.batch);
	return err_is(err, EINTR) ? 0 : err;
}
