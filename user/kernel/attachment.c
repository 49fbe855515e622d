// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/attachment.h"

#include <stdio.h>
#include <string.h>

const char *const attach_mode_names[] = { "auto", "native", "skb", NULL };

/* bpffs has no names with dots, interfaces do (eth0.100): '.' and '%' are written as in an URL. */
void attachment_pin(const struct context *context, char path[PIN_PATH_MAX], const char *ifname, bool shared)
{
	char name[64];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s/", PIN_LINKS);

	for (; *ifname && n + 4 < sizeof(name); ifname++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, *ifname == '.' || *ifname == '%' ? "%%%02x" : "%c",
				      (unsigned char)*ifname);
	pin_path(context, path, name);
	if (shared)
		strncat(path, ATTACH_SHARED, PIN_PATH_MAX - strlen(path) - 1);
}

bool attachment_of_pin(const char *file, struct attachment *at)
{
	size_t n = 0, length = strlen(file), suffix = strlen(ATTACH_SHARED);

	memset(at, 0, sizeof(*at));
	if (length > suffix && !strcmp(file + length - suffix, ATTACH_SHARED)) {
		at->shared = true;
		length -= suffix;
	}
	for (size_t i = 0; i < length && n + 1 < sizeof(at->name); i++) {
		unsigned int c = (unsigned char)file[i];

		if (c == '%') {
			if (sscanf(file + i + 1, "%2x", &c) != 1)
				return false;
			i += 2;
		}
		at->name[n++] = (char)c;
	}
	return n > 0 && file[0] != '.';
}
