/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of networks for tests of what is shown. */
#ifndef MADE_NETWORKS_H
#define MADE_NETWORKS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sets/networks.h"

/* NULL: it cannot be made. */
static struct networks *made_networks(void)
{
	static const char table[] =
		"network,cc,asn,org\n192.0.2.0/24,DE,64500,\"<Docs> & \"\"sons\"\"\"\n2001:db8::/32,,64501,\n";
	char where[] = "/tmp/made_networks.XXXXXX", path[64];
	struct networks_source source = { 0 };
	struct networks *networks = NULL;
	FILE *f;

	if (!mkdtemp(where))
		return NULL;
	snprintf(path, sizeof(path), "%s/table", where);
	f = fopen(path, "we");
	if (f && fputs(table, f) >= 0 && !fclose(f) && !networks_make(where, path, &source))
		networks = networks_open(where);
	unlink(path);
	networks_forget(where);
	rmdir(where);
	return networks;
}

#endif
