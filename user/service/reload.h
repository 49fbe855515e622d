/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads lists again when their file has a new version. Notices the end of every command by its lock. */
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
/* To wait for; -1: nothing is told now. */
int reload_fd(const struct reload *reload);

/* Follows the files of the lists in the state, and of deferred lines. */
int reload_follow(struct reload *reload, struct state *state, const struct config *config, const struct jobs *jobs);
/* Looks at every file as if it had been written. */
void reload_all(struct reload *reload);

/* The command that loaded the list again was ended before it could say what came of that. */
void reload_lost(struct reload *reload, const char *list);
/* The command that loaded the list again has ended: the next version is not loaded at once. */
void reload_ended(struct reload *reload, const char *list, int64_t now);
/* Tries versions that could not be loaded once more. */
void reload_again(struct reload *reload);

/* True: a command has ended, so the state may have changed. */
bool reload_read(struct reload *reload, int64_t now);
/* Nobody tells what other commands do: true when it is time to look at the state. */
bool reload_unseen(struct reload *reload, int64_t now);
/* When to call reload_unseen() and reload_turn(), in ms of CLOCK_MONOTONIC. */
int64_t reload_due(const struct reload *reload);
/*
 * Queues a job for each list whose file is neither the loaded version nor one that was tried. True: the file of a
 * failed line has changed, try those lines again.
 */
bool reload_turn(struct reload *reload, const struct config *config, struct jobs *jobs, int64_t now);
/* The same for what a process had to look at, if it has ended (list_look.h). */
void reload_looked(struct reload *reload, const struct config *config, struct jobs *jobs, int64_t now);

#endif
