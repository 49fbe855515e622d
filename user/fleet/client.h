/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts xdp-bloom-fleet; what goes over the stream then is in fleet/lines.h. */
#ifndef FLEET_CLIENT_H
#define FLEET_CLIENT_H

#include <sys/types.h>

#include "fleet/request.h"

/*
 * A stream socket, which does not block, or -errno with the reason recorded. It ends when that is closed; *pid is to be
 * waited for, by fleet_stop(), and 0 where it is no child of ours.
 */
int fleet_start(const struct fleet_request *request, pid_t *pid);
void fleet_stop(int fd, pid_t pid);

#endif
