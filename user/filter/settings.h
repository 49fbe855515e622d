/* SPDX-License-Identifier: GPL-2.0-only */
/* The settings of a filter: the one table, for the state, for tune, plan and image make. */
#ifndef FILTER_SETTINGS_H
#define FILTER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "fetch/request.h"
#include "filter/formulas.h"
#include "filter/line_times.h"

#define LAYOUT_AUTO LAYOUTS

extern const char *const layout_names[LAYOUTS + 2]; /* ended by NULL */

/* type, name in the state, option (NULL: none), kind of value, least and most, default, help */
#define SETTINGS_TO_TUNE(X)                                                                                           \
	X(bool, exact, "exact", SETTING_SWITCH, 0, 1, true, "with a roster: no stranger is dropped")                  \
	X(bool, labels, "labels", SETTING_SWITCH, 0, 1, true, "keep whose /24 the gate drops")                        \
	X(enum layout, layout, "layout", SETTING_LAYOUT, 0, LAYOUT_AUTO, LAYOUT_AUTO, "auto, or one of the filter")   \
	X(unsigned int, k, "k", SETTING_WHOLE, 0, CLASSIC_K_MAX, 0, "of the classic layout; 0: the best")             \
	X(bool, embedded, "embedded", SETTING_SWITCH, 0, 1, false, "judge 6to4, Teredo, NAT64, ISATAP by their IPv4") \
	X(bool, inner, "inner", SETTING_SWITCH, 0, 1, false, "look into IP in IP, 6in4 and GRE, too")                 \
	X(double, fpr, "fpr", SETTING_RATE, 1e-7, 0.5, 0, "of the filter, headroom used up; auto: fastest")           \
	X(double, headroom, "headroom", SETTING_PERCENT, 0, 10, 0.1, "keys that can be added later")                  \
	X(double, samples, "samples", SETTING_FLOOR, 0, 100000, 100, "of dropped packets, a second and CPU")          \
	X(uint64_t, memory_max, "memory", SETTING_BYTES, 0, 1e18, 0, "in the kernel; 0: half of what is free")

/* Of lists that are fetched: no filter is built for these. */
#define SETTINGS_TO_FETCH(X)                                                                                    \
	X(uint64_t, fetch_most, "fetch-most", SETTING_FETCH, 1024, FETCH_BYTES_MOST, FETCH_BYTES,               \
	  "of a list that is fetched, as sent")                                                                 \
	X(uint64_t, fetch_unpacked, "fetch-unpacked", SETTING_FETCH, 1024, FETCH_UNPACKED_MOST, FETCH_UNPACKED, \
	  "of a list that is fetched, unpacked")

#define SETTINGS(X)         \
	SETTINGS_TO_TUNE(X) \
	SETTINGS_TO_FETCH(X) X(double, bits_per_key, NULL, SETTING_NUMBER, 0, 512, BITS_USUAL, "where fpr is 0")

struct settings {
#define SETTINGS_MEMBER(type, name, ...) type name;
	SETTINGS(SETTINGS_MEMBER)
	struct line_times lines; /* of this machine; without them a filter whose rate is open has bits_per_key */
};

#define SETTINGS_VALUE(type, name, option, kind, least, most, value, help) .name = (value),
#define SETTINGS_DEFAULT						   ((struct settings){ SETTINGS(SETTINGS_VALUE) })

enum setting_kind {
	SETTING_SWITCH,
	SETTING_LAYOUT,
	SETTING_NUMBER,
	SETTING_RATE,	 /* or auto, kept as 0 */
	SETTING_WHOLE,	 /* a fraction is refused */
	SETTING_FLOOR,	 /* a fraction is cut off */
	SETTING_PERCENT, /* kept as a share */
	SETTING_BYTES,
	SETTING_FETCH, /* bytes, of what the filter has nothing to do with */
};

struct setting {
	const char *name, *option, *help;
	enum setting_kind kind;
	double least, most; /* an earlier version may have kept less than the least */
};

/* Is the filter's size open, so that what a packet costs may decide? With a roster the rate is nothing but time. */
bool settings_auto(const struct settings *settings);

extern const struct setting settings_table[];
extern const unsigned int settings_n;

/* The value of an option of the table, as the state keeps it. NULL: it is not valid, and that has been printed. */
const struct setting *setting_parse(const char *option, const char *value, double *number);

#endif
