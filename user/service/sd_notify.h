/* SPDX-License-Identifier: GPL-2.0-only */
/* What the service tells the one that started it, as sd_notify(3) has it: datagrams to $NOTIFY_SOCKET. */
#ifndef SERVICE_SD_NOTIFY_H
#define SERVICE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/* Once: takes the socket and the watchdog's time out of the environment, so that no child speaks for us. */
void notify_open(void);
/* "READY=1\nSTATUS=..."; nothing where nobody listens. False where who does has no room for it now. */
PRINTF(1, 2) bool notify(const char *fmt, ...);
/* How long we may be silent, in microseconds; 0: nobody watches. */
uint64_t notify_watchdog(void);

#endif
