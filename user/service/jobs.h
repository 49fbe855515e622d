/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the service has done for it: commands, one after another, each in a process of its own, so that whatever goes
 * wrong in one ends with it, its memory goes, and the service can always be spoken to.
 */
#ifndef SERVICE_JOBS_H
#define SERVICE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a job for a line of the config file is about. */
#define JOB_LINE     "line "
#define JOB_LINE_MAX 24

struct job {
	char *about;	  /* what it does, for the log; two that wait do not do the same */
	char **args;	  /* a command's, from the verb on */
	int (*run)(void); /* or a function that returns its exit status */
	bool forgotten;	  /* it runs, and nobody wants it any more */
	bool again;	  /* it was kept: it failed before */
	struct job *next;
};

struct jobs {
	struct job *first; /* the one that runs, where pid is not 0 */
	pid_t pid;
	int64_t since;	  /* in ms of CLOCK_MONOTONIC */
	struct job *kept; /* what failed, for another time */
};

/* A command: the verb, an option (or NULL) right behind it, and n words more. -ENOMEM, or 0. */
int jobs_command(struct jobs *jobs, const char *about, const char *verb, const char *option, char *const *words,
		 size_t n);
int jobs_function(struct jobs *jobs, const char *about, int (*run)(void));

/* It is done before all others that wait. */
void jobs_hurry(struct jobs *jobs, const char *about);

/* Starts the first that waits, unless one runs. */
int jobs_start(struct jobs *jobs);
/* Kills one that has run for too long. */
void jobs_limit(struct jobs *jobs, int64_t now);
/* Has the one that ran ended? Then *job is it, to be freed, and *status what wait(2) says. */
bool jobs_ended(struct jobs *jobs, struct job **job, int *status);
/* Keeps one that ended for jobs_again(), which has all of them done once more. */
void jobs_keep(struct jobs *jobs, struct job *job);
bool jobs_keeps(const struct jobs *jobs, const char *about);
void jobs_again(struct jobs *jobs);
/* Those whose about begins so are not to be done any more. */
void jobs_forget(struct jobs *jobs, const char *about);
/* Ends the one that runs (commands may be killed at any time) and forgets the others. */
void jobs_stop(struct jobs *jobs);
void job_free(struct job *job);

void job_line(char about[JOB_LINE_MAX], unsigned int number);
bool job_is_line(const struct job *job);

#endif
