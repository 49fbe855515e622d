/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads lists again whose file has a new version. Notices the end of every command, by the lock that it leaves. */
#ifndef SERVICE_RELOAD_H
#define SERVICE_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct jobs;
struct reload;
struct state;

/* 0 or -errno with the reason recorded. */
int reload_open(struct reload **reload);
void reload_close(struct reload *reload);
int reload_fd(const struct reload *reload);

/* From now on the files of the lists that the state has, and of the lines that failed and are deferred. */
int reload_follow(struct reload *reload, struct state *state, const struct config *config, const struct jobs *jobs);
/* Looks at every file, as if each had been written. */
void reload_all(struct reload *reload);

/* A version that could not be loaded is to be tried once more. */
void reload_again(struct reload *reload);

/* Reads what is to be read. True: a command has ended, the state may be another. */
bool reload_read(struct reload *reload, int64_t now);
/* Has anything changed, or may it have? */
bool reload_waits(const struct reload *reload);
/* When reload_turn() is to be called, in ms of CLOCK_MONOTONIC. */
int64_t reload_due(const struct reload *reload);
/*
 * A job for every list whose file is not the version that is loaded, nor one that was tried already. True: lines that
 * failed are to be tried again, for the file of one has changed.
 */
bool reload_turn(struct reload *reload, const struct config *config, struct jobs *jobs, int64_t now);

#endif
