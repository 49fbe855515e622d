// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attachment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const attach_mode_names[] = { "auto", "native", "skb", "tc" };
const char *const attach_mode_words[] = { "auto", "native", "skb", "tc", NULL };

const char *const match_names[] = { "source", "destination", "both", NULL };
const char *const match_texts[MATCH_KINDS] = { "",
					       ", destinations",
					       ", sources and destinations",
					       ", sources of what leaves",
					       ", destinations of what leaves",
					       ", sources and destinations of what leaves",
					       "",
					       ", destinations",
					       ", sources and destinations" };
static const char *const matches[MATCH_KINDS] = {
	"",	   ATTACH_TO,	 ATTACH_BOTH,	ATTACH_OUT_FROM, ATTACH_OUT, ATTACH_OUT_BOTH,
	ATTACH_IN, ATTACH_IN_TO, ATTACH_IN_BOTH
};
const char *const direction_names[] = { "ingress", "egress" };

/* How the pin's name goes on where another interface has the name: by the number of the link or program. */
#define ASIDE "%link"

/* bpffs has no names with dots, interfaces do (eth0.100): '.' and '%' are written as in an URL. */
void attachment_path(const struct context *context, char path[PIN_PATH_MAX], const struct attachment *at)
{
	const char *as = at->as;
	char name[96];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s/", PIN_LINKS);

	for (; *as; as++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, *as == '.' || *as == '%' ? "%%%02x" : "%c",
				      (unsigned char)*as);
	if (at->set_aside)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%s%u", ASIDE, at->set_aside);
	snprintf(name + n, sizeof(name) - n, "%s%s", matches[at->match],
		 at->shared ? ATTACH_SHARED
		 : at->bare ? ATTACH_BARE
			    : "");
	pin_path(context, path, name);
}

/* Takes it off. */
static bool ends_with(const char *text, size_t *length, const char *end)
{
	size_t n = strlen(end);

	if (*length <= n || strncmp(text + *length - n, end, n) != 0)
		return false;
	*length -= n;
	return true;
}

bool attachment_of_pin(const char *file, struct attachment *at)
{
	size_t n = 0, length = strlen(file);
	const char *aside = strstr(file, ASIDE);

	memset(at, 0, sizeof(*at));
	at->shared = ends_with(file, &length, ATTACH_SHARED);
	at->bare = !at->shared && ends_with(file, &length, ATTACH_BARE);
	for (unsigned int m = MATCH_SOURCE + 1; m < MATCH_KINDS && !at->match; m++)
		at->match = ends_with(file, &length, matches[m]) ? m : MATCH_SOURCE;
	if (aside) {
		char *end;

		at->set_aside = (unsigned int)strtoul(aside + strlen(ASIDE), &end, 10);
		if (end != file + length || !at->set_aside)
			return false;
		length = (size_t)(aside - file);
	}
	for (size_t i = 0; i < length && n + 1 < sizeof(at->as); i++) {
		unsigned int c = (unsigned char)file[i];

		if (c == '%') {
			if (sscanf(file + i + 1, "%2x", &c) != 1)
				return false;
			i += 2;
		}
		at->as[n++] = (char)c;
	}
	memcpy(at->name, at->as, sizeof(at->name));
	return n > 0 && file[0] != '.';
}

bool attachment_is_watched(const struct attachment *at)
{
	return at->match == MATCH_SOURCE;
}
