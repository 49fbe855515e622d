/* SPDX-License-Identifier: GPL-2.0-only */
/* What one program asks of another: lines "name value", by a table of the fields of a struct. */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

struct message_line {
	const char *name;
	size_t at, size; /* size: of a text; 0: a number, 1: a switch */
};

#define MESSAGE_TEXT(type, field)                                                       \
	{                                                                               \
#field, offsetof(struct type, field), sizeof(((struct type *)0)->field) \
	}
#define MESSAGE_NUMBER(type, field)                     \
	{                                               \
#field, offsetof(struct type, field), 0 \
	}
#define MESSAGE_SWITCH(type, field)                     \
	{                                               \
#field, offsetof(struct type, field), 1 \
	}

/* Behind what is in it, a text. The length of all; 0: it is too long. A table ends with a line without a name. */
size_t message_write(char *message, size_t size, const struct message_line *lines, const void *from);
/* Nothing is believed: false where it is no such message. Texts are cleaned; what it does not name stays. */
bool message_read(const struct message_line *lines, void *to, char *at, const char *end);

#endif
