/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of the service that changes nothing: counts, reads samples, keeps the history, answers browsers and
 * Prometheus. */
#ifndef SERVICE_OBSERVER_H
#define SERVICE_OBSERVER_H

#include <poll.h>

#include "observe/metrics_pages.h"

#define OBSERVER_FDS (2 + WEB_FDS)

struct observer;

/* Where it answers, by which names, and the file of the token that it wants; NULL: none. Is the page shown without? */
struct listen_options {
	const char *address, *hosts, *token;
	bool page;
};

/* 0 or -errno with the reason recorded. */
int observer_open(const struct context *context, struct observer **observer, const struct listen_options *listen);
void observer_close(struct observer *observer);
/* It listens as it was opened: warns of each that is another now. */
void observer_asked(const struct observer *observer, const struct listen_options *listen);

/* Something was loaded or changed: samples may be there now, or at another rate. */
void observer_look(struct observer *observer);
/* For /healthz and the metrics. */
void observer_faults(struct observer *observer, const struct faults *faults);
/* For /healthz: can the state be read? */
void observer_state(struct observer *observer, bool readable);

/* What to wait for, at most OBSERVER_FDS: fills fds, returns how many. */
unsigned int observer_fds(struct observer *observer, struct pollfd *fds);
/* At most so many ms. */
int observer_timeout(struct observer *observer);
/* After the wait, whatever ended it. `spares`: others may need what room there is on a full disk, a name, too. */
void observer_turn(struct observer *observer, bool spares);

#endif
