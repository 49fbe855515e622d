/* SPDX-License-Identifier: GPL-2.0-only */
/* What whoever asks the service has to know, where that is wanted: a line of a file. */
#ifndef OBSERVE_TOKEN_H
#define OBSERVE_TOKEN_H

#include <stdbool.h>

#define TOKEN_MAX 256

struct token {
	bool wanted;
	char text[TOKEN_MAX]; /* zeros behind it */
};

/* 0 or -errno with the reason recorded, which never has the token in it. */
int token_read(struct token *token, const char *path);
/* How long that takes says nothing of what is right in it. said: NULL where nothing was. */
bool token_is(const struct token *token, const char *said);

#endif
