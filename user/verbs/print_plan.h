/* SPDX-License-Identifier: GPL-2.0-only */
/* What the plan verb prints. Both return the exit status. */
#ifndef VERBS_PRINT_PLAN_H
#define VERBS_PRINT_PLAN_H

struct context;
struct forecasts;

int forecast_text(const struct forecasts *all);
int forecast_json(const struct context *context, const struct forecasts *all);

#endif
