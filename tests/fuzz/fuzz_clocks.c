// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as what the system's bus answers: as soon as it is known, the server is that which all of them say, and one
 * at most. And as what ntpd says of a peer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "change/own_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct addr server;
static int said;

#define own_learn(l, addr, what, where) ((void)(l), server = (addr), said++)
#include "change/own_clocks.c"
#include "change/own_timesync.c"

static void hold(bool ok)
{
	if (!ok)
		abort();
}

/* Behind it nothing may be read. */
static bool answers(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	bool all;

	hold(copy);
	memcpy(copy, data, size);
	said = 0;
	server = (struct addr){ 0 };
	on_peer(&(struct asking){ 0 }, (const char *)copy, size);
	hold(said <= 1);
	said = 0;
	server = (struct addr){ 0 };
	all = is_answered(&(struct learned){ 0 }, copy, size);
	free(copy);
	hold(said <= all && (!server.family || server.family == 4 || server.family == 6));
	return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool all = answers(data, size), before = false;
	struct addr is = server;

	for (size_t n = 0; n < size && n < 512 && !before; n++)
		before = answers(data, n);
	hold(!before || (all && server.num == is.num && server.family == is.family));
	return 0;
}
