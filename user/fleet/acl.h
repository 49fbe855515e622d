/* SPDX-License-Identifier: GPL-2.0-only */
/* What the server is told of a member, by redis-cli or valkey-cli. */
#ifndef FLEET_ACL_H
#define FLEET_ACL_H

#include <stdio.h>

/*
 * Two commands. A member writes its own keys, reads those of the fleet, and can nothing else. password: NULL for a
 * place holder, or 64 hexadecimal digits, its SHA-256, with # before them.
 */
void fleet_acl(FILE *to, const char *prefix, const char *name, const char *password);

#endif
