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
	char directory[] = "/tmp/made_networks.XXXXXX", file[64];
	struct networks_source source = { 0 };
	struct networks *networks = NULL;
	FILE *f;

	if (!mkdtemp(directory))
		return NULL;
	snprintf(file, sizeof(file), "%s/table", directory);
	f = fopen(file, "we");
	if (f && fputs(table, f) >= 0 && !fclose(f) && !networks_make(directory, file, &source))
		networks = networks_open(directory);
	unlink(file);
	networks_forget(directory);
	rmdir(directory);
	return networks;
}

#endif
