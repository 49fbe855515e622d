/* SPDX-License-Identifier: GPL-2.0-only */
/* What Prometheus reads: its text format. */
#ifndef OBSERVE_METRICS_H
#define OBSERVE_METRICS_H

#include <stdio.h>

struct context;

/* 0 or -errno with the reason recorded. */
int metrics_write(const struct context *context, FILE *out);

#endif
