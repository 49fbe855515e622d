/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands that the service runs: one after another, each in a process of its own. A failure ends with its process,
 * its memory is freed, and the service always answers. Only a new version of a list that takes long has others beside
 * it.
 */
#ifndef SERVICE_JOBS_H
#define SERVICE_JOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sets/list.h"

struct context;

#define JOB_END_MAX 64

enum job_kind {
	JOB_START, /* restore, when the service starts */
	JOB_RESTORE,
	JOB_LINE,      /* of the config file */
	JOB_LOAD,      /* a list whose file has a new version */
	JOB_FEED,      /* a list whose server is asked */
	JOB_FEED_LOST, /* it could not say itself what came of that */
	JOB_ROTATE,
	JOB_EXPIRE,   /* bans and unconfirmed changes whose time is over */
	JOB_MEASURE,  /* the filter's rate */
	JOB_HEAL,     /* what is gone of the filter */
	JOB_JAIL,     /* whom the detector bans */
	JOB_LEARN,    /* how much sources send; it may take days */
	JOB_FOLLOW,   /* a line of the config file that goes on */
	JOB_NETWORKS, /* the table of networks has a new version */
	JOB_NEEDS,    /* what this machine needs and is dropped */
	JOB_ERRANDS,  /* runs commands of others */
	JOB_FLEET,    /* what the fleet that was joined says */
};

struct job {
	enum job_kind kind;
	unsigned int line;	  /* of JOB_LINE */
	char list[LIST_NAME_MAX]; /* that it is about, if it is about one */
	/* A function that returns its exit status, instead of a command; of no argument it gets the job. */
	int (*run)(const struct context *, void *arg);
	void *arg;
	char **args;	       /* of a command */
	int in;		       /* its standard input; 0: none */
	bool unwanted;	       /* dropped while it runs: do not try again */
	bool again;	       /* it has run before */
	bool failed;	       /* then, and is tried again */
	bool overtaken;	       /* what stands in the way of it may have gone while it ran */
	bool stopped;	       /* it ran for too long */
	char why[JOB_END_MAX]; /* of JOB_FEED_LOST */
	double since;	       /* by clock_seconds() */
	struct job *next;
};

struct jobs {
	const struct context *context;
	struct job *first; /* it runs if pid is not 0 */
	pid_t pid;
	int64_t since;	      /* in ms of CLOCK_MONOTONIC */
	struct job *deferred; /* failed jobs that wait for jobs_again() */
};

/*
 * Queued last, unless the same job waits already. `what` has the kind and its line, list or function. A command has n
 * words from the verb on; `option`, unless NULL, stands before its operands. -ENOMEM, or 0.
 */
int jobs_add(struct jobs *jobs, const struct job *what, const char *option, char *const *words, size_t n);
/* A verb without operands. */
int jobs_verb(struct jobs *jobs, enum job_kind kind, const char *verb);
/* Nobody is there who could answer a guard rail; and without it there would be no filter. */
int jobs_restore(struct jobs *jobs, enum job_kind kind);

/* Moves it before all others that wait. */
void jobs_hurry(struct jobs *jobs, enum job_kind kind);

/* Starts the first, unless one runs. */
int jobs_start(struct jobs *jobs);
/* Kills one that has run for too long. */
void jobs_limit(struct jobs *jobs, int64_t now);
/*
 * One that runs goes on as the only one of `aside`, if it is a new version of a list that takes long, and none is
 * there: then the others have their turn.
 */
bool jobs_set_aside(struct jobs *jobs, struct jobs *aside, int64_t now);
/* Has the running job ended? Then the caller frees *job; *status is what wait(2) says. */
bool jobs_ended(struct jobs *jobs, struct job **job, int *status);
/* The job waits for jobs_again(), which queues all such jobs again. One that was overtaken does not wait. */
void jobs_defer(struct jobs *jobs, struct job *job);
bool jobs_defers_line(const struct jobs *jobs, unsigned int line);
void jobs_again(struct jobs *jobs);
/* The running job is, if one runs. */
void jobs_overtake(struct jobs *jobs);
/* Drops the jobs of the lines of the config file. */
void jobs_drop_lines(struct jobs *jobs);
/* Kills the running job (commands may be killed at any time) and drops the others. */
void jobs_stop(struct jobs *jobs);
void job_free(struct job *job);

/* For the log. */
#define JOB_TEXT_MAX (LIST_NAME_MAX + 24)
const char *job_text(char buf[JOB_TEXT_MAX], const struct job *job);
/* "it was ended by signal 9 (memory?)"; status: as wait(2) says. */
const char *job_end_text(char buf[JOB_END_MAX], const struct job *job, int status);

#endif
