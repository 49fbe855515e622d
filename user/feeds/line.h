/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A line of a stream: "+PREFIX [TTL|-] [REASON]" bans, "-PREFIX" takes a ban out; behind "@NAME" on the account of that
 * member.
 */
#ifndef FEEDS_LINE_H
#define FEEDS_LINE_H

#include <stddef.h>

#include "change/ban.h"

#define LINE_NOTHING ""

/*
 * line: `length` bytes, and one more, which becomes its end; the order's reason and account lie in it. NULL, or what is
 * wrong, or LINE_NOTHING: it is empty, or a comment.
 */
const char *line_parse(char *line, size_t length, struct ban_order *order);

#endif
