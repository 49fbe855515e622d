// SPDX-License-Identifier: GPL-2.0-only
#include "sets/list.h"

const char *const list_kind_names[] = { "ban", "allow", "shadow" };
