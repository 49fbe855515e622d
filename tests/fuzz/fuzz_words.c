// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a file of commands: no more text comes out than went in, and every fault names its line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool ok)
{
	if (!ok)
		abort();
}

static int add_up(void *arg, const struct words *w, unsigned int line)
{
	hold(w->n > 0 && line > 0 && !w->words[w->n]);
	for (int i = 0; i < w->n; i++)
		*(size_t *)arg += strlen(w->words[i]) + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	size_t sum = 0;
	int err;

	if (!file)
		return 0;
	err = words_file(file, "conf", add_up, &sum);
	hold(sum <= size + 1);
	hold(!err || !strncmp(reason(err), "conf:", 5));
	fclose(file);
	return 0;
}
