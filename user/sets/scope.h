/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scope of a list, or of a ban: which packets of the addresses that it holds are meant. As text it is
 * "tcp/22,udp/53 to 192.0.2.0/28 on eth0", each part only where it was asked for; "" is all packets.
 */
#ifndef SETS_SCOPE_H
#define SETS_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/prefixes.h"

#define SCOPE_TEXT_MAX	  1024
#define SCOPE_RULES	  64 /* a list's, of each kind */
#define SCOPE_TO	  32
#define SCOPE_ON	  16
#define SCOPE_IFNAME	  16
#define SCOPE_OPTIONS_MAX (SCOPE_TEXT_MAX + SCOPE_ON * SCOPE_IFNAME) /* names with a backslash before each letter */

struct scope {
	struct scope_rule {
		uint8_t protocol;
		uint16_t lo, hi; /* ports; all: of any packet of the protocol */
	} only[SCOPE_RULES];
	struct prefix to[SCOPE_TO];
	char on[SCOPE_ON][SCOPE_IFNAME];
	size_t only_n, to_n, on_n;
	bool any; /* --only any was given: no scope, whatever there was */
};

/* A packet, or as much of it as is known. */
struct scope_asked {
	bool protocol_given, port_given, to_given, on_given;
	uint8_t protocol;
	uint16_t port;
	struct addr to;
	char on[SCOPE_IFNAME];
};

/* Each adds what an option says, "tcp/22,udp/1000-2000"; 0, or -EINVAL with the reason recorded. */
int scope_add_only(struct scope *scope, const char *text);
int scope_add_to(struct scope *scope, const char *text);
int scope_add_on(struct scope *scope, const char *text);

/* Is all of IPv4 in it, as ::ffff:0:0/96? */
bool scope_net_holds_4(const struct prefix *net);

/* In one order, so that equal scopes have equal texts. False: it has no room, and is longer than SCOPE_TEXT_MAX. */
bool scope_text(char text[SCOPE_TEXT_MAX], const struct scope *scope);
/* What scope_text() wrote. -EINVAL with the reason recorded. */
int scope_parse(struct scope *scope, const char *text);
/* As options of the command, behind a blank. */
void scope_options(char *text, size_t size, const struct scope *scope);

static inline bool scope_is_all(const struct scope *scope)
{
	return !scope->only_n && !scope->to_n && !scope->on_n;
}

/* Does it ask for all ports of the protocol? */
static inline bool scope_rule_is_whole(const struct scope_rule *rule)
{
	return !rule->lo && rule->hi == UINT16_MAX;
}

/* Is every packet that the second takes one of the first's? Both as scope_parse() has them. */
bool scope_covers(const struct scope *scope, const struct scope *other);

enum scope_takes { SCOPE_NEVER, SCOPE_PERHAPS, SCOPE_ALWAYS };
/* Does it take a packet of which so much is known? */
enum scope_takes scope_takes(const struct scope *scope, const struct scope_asked *asked);

/* "tcp" or "6"; -1: none. */
int scope_protocol(const char *text, size_t len);
bool scope_has_ports(uint8_t protocol);

#endif
