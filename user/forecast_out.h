/* SPDX-License-Identifier: GPL-2.0-only */
/* What the plan verb prints. Both return the exit status. */
#ifndef FORECAST_OUT_H
#define FORECAST_OUT_H

struct forecasts;

int forecast_text(const struct forecasts *all);
int forecast_json(const struct forecasts *all);

#endif
