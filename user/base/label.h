/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an attachment is called: an interface may have one of what comes in, by its name, and one of what leaves, by
 * that and a word. No interface's name has a blank. What is done with all that are ports of an interface, as of a
 * bridge, is called "ports of" that.
 */
#ifndef BASE_LABEL_H
#define BASE_LABEL_H

#include <net/if.h>
#include <stdbool.h>

#define LABEL_LEAVES " egress"
#define LABEL_PORTS  "ports of "
#define LABEL_MAX    (IF_NAMESIZE + sizeof(LABEL_LEAVES) + sizeof(LABEL_PORTS))

/* match: MATCH_... of bpf/abi.h, which says which of the two it is. */
const char *label_of(char label[LABEL_MAX], const char *name, unsigned int match);
const char *label_of_ports(char label[LABEL_MAX], const char *name, unsigned int match);
bool label_is(const char *label, const char *name, unsigned int match);
/* Is it of ports? */
bool label_ports(const char *label);
/* The name in it; is it of what leaves? */
bool label_split(const char *label, char name[IF_NAMESIZE]);

#endif
