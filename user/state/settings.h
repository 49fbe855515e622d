/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that the state keeps by name: the settings of the filter, and what commands keep for each other. */
#ifndef STATE_SETTINGS_H
#define STATE_SETTINGS_H

#include "filter/settings.h"

struct state;

/* The generation that was built from this state, and how often it was edited since: the kernel keeps them too. */
#define SETTING_GENERATION "generation"
#define SETTING_EDITS	   "edits"
/* Which start of the machine the ends of bans count from, as a number. */
#define SETTING_BOOT "boot"
/*
 * Where the filter is (change/home.h): the device of the pins' file system, the slot's number and the start of the
 * machine that this is of, the network namespace.
 */
#define SETTING_PINS	  "pins"
#define SETTING_SLOT	  "slot"
#define SETTING_SLOT_BOOT "slot boot"
#define SETTING_NETWORK	  "network"
/* The user, by number, whose a fleet's server on this machine may be, as fleet join says; none: nobody was named. */
#define SETTING_SERVER_USER "fleet user"
/* The start of the machine at which 'restore --spare' began to filter before any service ran; 0: what is needed was
   asked about again since. */
#define SETTING_EARLY "restored early"
/* Since a service asked, and no network was up: until when, in seconds since the machine's start, it may be asked once
   more. */
#define SETTING_EARLY_UNTIL "restored early until"
/* 1: ports have an entry since a change that has not attached them yet. */
#define SETTING_PORTS_CAME "ports came"
/* In front of a list's name. */
#define SETTING_TRUSTED "trusted "
/* In front of a family and a list's name (state/accepted.c). */
#define SETTING_LEFT "left out of "
/* How many bans there are, and of which generation and edit that is. */
#define SETTING_BANS	"bans"
#define SETTING_BANS_OF "bans of"

/* The number of that name, or the fallback. If it cannot be read, also the fallback, and state_commit() refuses. */
double state_setting(struct state *state, const char *name, double fallback);
/* What was wrong with one that was asked for; 0: nothing. For whoever only shows them. */
int state_settings_fault(const struct state *state);
int state_set(struct state *state, const char *name, double value);

/* As they are kept; tune changes them. */
struct settings settings_read(struct state *state);
/* The same, but never without a limit on memory. */
struct settings settings_limited(struct state *state);

#endif
