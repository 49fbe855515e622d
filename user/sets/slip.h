/* SPDX-License-Identifier: GPL-2.0-only */
/* What was meant by what is no address. */
#ifndef SETS_SLIP_H
#define SETS_SLIP_H

#include <stddef.h>

#define SLIP_TEXT_MAX 160

/* What is wrong with these bytes and what to type in their place; `fault`: what prefix_parse() or addr_parse() said. */
const char *address_slip(char buf[SLIP_TEXT_MAX], const char *text, size_t length, const char *fault);

#endif
