/* SPDX-License-Identifier: GPL-2.0-only */
/* What lies in the state directory. */
#ifndef BASE_STATE_PATH_H
#define BASE_STATE_PATH_H

#include <limits.h>
#include <stdio.h>

#define STATE_DATABASE	     "state.db"
#define STATE_LOCK	     "lock"
#define STATE_ERRANDS_SOCKET "errands.sock"
#define STATE_SERVICE_LOCK   "service.lock"
#define STATE_SAMPLES_LOCK   "samples.lock"
#define STATE_SAMPLES_SOCKET "samples.sock"
#define STATE_FOLLOW_SOCKET  "follow.sock"
#define STATE_FOLLOW_LOCK    "follow.lock"
#define STATE_FOLLOWS_LOCK   "follows."	  /* and a list's name */
#define STATE_ANNOUNCES_LOCK "announces." /* and a table's number */
#define STATE_HISTORY	     "history"
#define STATE_EVENTS	     "events"
#define STATE_FAILED	     "failed" /* a directory: lists by name */
#define STATE_EVENTS_OLD     "events.1"
#define STATE_IMAGE	     "image." /* and a number */
#define STATE_FLEET	     "fleet"  /* what the process of it has seen */
#define STATE_FLEET_LOCK     "fleet.lock"
#define STATE_AGENT	     "crowdsec" /* while it does not answer */
#define STATE_AGENT_LOCK     "crowdsec.lock"
#define STATE_LINES	     "lines"  /* of the config file, while they fail */
#define STATE_NEEDS	     "needs"  /* of this machine, while something drops them */
#define STATE_LISTEN	     "listen" /* why the service does not, while it cannot */
#define STATE_UNTOLD	     "untold" /* why it is not told what other commands do */
#define STATE_BEHIND	     "behind" /* the hook, while it is */
#define STATE_LEARNED	     "learned"
#define STATE_NETWORKS	     "networks"
#define STATE_UNSEEN	     "unseen"  /* when it was said last that sessions may not be known */
#define STATE_CARRIED	     "carried" /* when it was said last that a tunnel carries a session */
#define STATE_UNHEARD	     "unheard" /* and that not all who are logged in count */
#define STATE_UNASKED	     "unasked" /* and that the kernel cannot be asked about sockets */
#define STATE_TUNNELS	     "tunnels" /* their far ends, when all could be asked for last */
#define STATE_AHEAD	     "ahead"   /* what was attached, and nobody was asked about yet */
#define STATE_WORKSHOP	     "recovering"
#define STATE_RESERVE	     "reserve" /* room on the disk */

/* All of it, for whoever takes it away. With a dot or a dash at its end a name stands for all that begins so. */
#define STATE_ALL                                                                                                     \
	STATE_DATABASE, STATE_DATABASE ".", STATE_DATABASE "-", STATE_LOCK, STATE_ERRANDS_SOCKET, STATE_SERVICE_LOCK, \
		STATE_SAMPLES_LOCK, STATE_SAMPLES_SOCKET, STATE_FOLLOW_SOCKET, STATE_FOLLOW_LOCK, STATE_FOLLOWS_LOCK, \
		STATE_ANNOUNCES_LOCK, STATE_HISTORY, STATE_EVENTS, STATE_FAILED, STATE_EVENTS_OLD, STATE_IMAGE,       \
		STATE_FLEET, STATE_FLEET ".", STATE_AGENT, STATE_AGENT ".", STATE_LEARNED, STATE_LEARNED ".",         \
		STATE_LINES, STATE_LINES ".", STATE_LISTEN, STATE_LISTEN ".", STATE_NEEDS, STATE_NEEDS ".",           \
		STATE_NETWORKS, STATE_NETWORKS ".", STATE_UNSEEN, STATE_CARRIED, STATE_UNHEARD, STATE_UNASKED,        \
		STATE_UNTOLD, STATE_UNTOLD ".", STATE_TUNNELS, STATE_TUNNELS ".", STATE_BEHIND, STATE_BEHIND ".",     \
		STATE_AHEAD, STATE_WORKSHOP, STATE_RESERVE, STATE_RESERVE "."

#define STATE_PATH_MAX PATH_MAX

/* Fills in the path and returns it. One that is too long becomes "", which nothing can be opened by. */
static inline const char *state_path(char path[STATE_PATH_MAX], const char *directory, const char *name)
{
	if ((unsigned int)snprintf(path, STATE_PATH_MAX, "%s/%s", directory, name) >= STATE_PATH_MAX)
		path[0] = '\0';
	return path;
}

#endif
