/* SPDX-License-Identifier: GPL-2.0-only */
/* The service itself: what its loop and its commands' ends share. */
#ifndef SERVICE_INTERNAL_H
#define SERVICE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "service/arrivals.h"
#include "service/attacks.h"
#include "service/errands.h"
#include "service/expiry.h"
#include "service/feeds.h"
#include "service/followers.h"
#include "service/hook.h"
#include "service/jail_watch.h"
#include "service/own_watch.h"
#include "service/jobs.h"
#include "service/keeper.h"
#include "service/learn.h"
#include "service/needs_watch.h"
#include "service/observer.h"
#include "service/rate_watch.h"
#include "service/reload.h"
#include "service/retry.h"
#include "service/service.h"

struct service {
	const struct context *context;
	struct service_options *options;
	struct config *config;
	struct jobs jobs;
	struct jobs slow;   /* a list that takes long, beside them */
	struct jobs urgent; /* for what ends: not held up by a list */
	struct jobs coming; /* for interfaces that come: nor by what ends, which waits for the lock */
	struct feeds feeds;
	struct followers followers;
	struct errands errands;
	struct reload *reload;
	struct arrivals *arrivals;
	struct observer *observer;
	struct keeper *keeper;
	struct hook hook;
	struct expiry expiry;
	struct rate_watch rate;
	struct attacks attacks;
	struct jail_watch jail;
	struct own_watch own;
	struct needs_watch needs;
	struct learn learn;
	struct retry retry; /* lines and lists that failed */
	int signals;
	int64_t look_at, rotate_at, notify_at; /* ms of CLOCK_MONOTONIC; INT64_MAX: not at all */
	int64_t glance_at;		       /* while jobs run: for what cannot wait */
	int64_t rotate_next;		       /* not before */
	bool started;			       /* the first job is done */
	bool ready, stop;
	char faulty[sizeof(((struct faults *)0)->text)]; /* as the service manager was told */
	bool blind;					 /* it was reported that the state cannot be read */
	int status;
};

/* For the journal, where the messages of the commands go, too. */
PRINTF(1, 2) void service_say(const char *fmt, ...);
void service_say_about(const struct log_subject *about, const char *line);
/* The state may have changed: at this time, in ms of CLOCK_MONOTONIC. */
void service_look_soon(struct service *s, int64_t at);
/* Interfaces may be filtered, or not to be filtered any more, that could not be. */
void service_see(struct service *s);
/* Frees the job, or defers it. The command itself has reported what was wrong. */
void service_job_ended(struct service *s, struct job *job, int status);

#endif
