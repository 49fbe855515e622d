// SPDX-License-Identifier: GPL-2.0-only
#include "filter/settings.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"

const char *const layout_names[LAYOUTS + 2] = {
	[LAYOUT_LANES] = "lanes",
	[LAYOUT_LANES2] = "lanes2",
	[LAYOUT_CLASSIC] = "classic",
	[LAYOUT_AUTO] = "auto",
};

const struct setting settings_table[] = {
#define ROW(type, name, option, kind, least, most, value, help) { #name, option, help, kind, least, most },
	SETTINGS(ROW)
};

const unsigned int settings_n = sizeof(settings_table) / sizeof(settings_table[0]);

bool settings_auto(const struct settings *s)
{
	return s->exact && !(s->fpr > 0) && s->bits_per_key == BITS_USUAL &&
	       (s->layout == LAYOUT_AUTO || s->layout == LAYOUT_LANES);
}

static int parse_layout(const char *value, double *number)
{
	for (enum layout layout = 0; layout <= LAYOUT_AUTO; layout++) {
		*number = layout;
		if (!strcmp(value, layout_names[layout]))
			return 0;
	}
	return fail("--layout is auto, lanes, lanes2 or classic, not '%s'", value);
}

static int parse(const struct setting *s, const char *value, double *number)
{
	double scale = s->kind == SETTING_PERCENT ? 100 : 1;
	int status;

	if (s->kind == SETTING_LAYOUT)
		return parse_layout(value, number);
	if (s->kind == SETTING_BYTES)
		return option_bytes(s->option, value, number);
	if (s->kind == SETTING_FETCH) {
		status = option_bytes(s->option, value, number);
		return status || (*number >= s->least && *number <= s->most)
			       ? status
			       : fail("--%s takes from 1K to %.0fG, not '%s'", s->option, s->most / (1 << 30), value);
	}
	if (s->kind == SETTING_SWITCH) {
		*number = !strcmp(value, "on");
		return *number > 0 || !strcmp(value, "off") ? 0 : fail("--%s is on or off, not '%s'", s->option, value);
	}
	if (s->kind == SETTING_RATE)
		return option_rate(s->option, value, s->least, s->most, number);
	status = option_number(s->option, value, s->least * scale, s->most * scale, number);
	if (!status && s->kind == SETTING_WHOLE && *number != floor(*number))
		return fail("--%s takes a whole number, not '%s'", s->option, value);
	*number = s->kind == SETTING_FLOOR ? floor(*number) : *number / scale;
	return status;
}

const struct setting *setting_parse(const char *option, const char *value, double *number)
{
	const struct setting *s = settings_table;

	while (!s->option || strcmp(s->option, option))
		s++;
	return parse(s, value, number) ? NULL : s;
}
