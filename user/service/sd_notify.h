/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports to the service manager, as sd_notify(3) describes it: datagrams to $NOTIFY_SOCKET. */
#ifndef SERVICE_SD_NOTIFY_H
#define SERVICE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/* Call once. Takes the socket and the watchdog's time out of the environment, so that no child reports for us. */
void notify_open(void);
/* "READY=1\nSTATUS=..."; without a manager it does nothing. False: the socket is full now. */
PRINTF(1, 2) bool notify(const char *fmt, ...);
/* How long we may be silent, in microseconds; 0: without limit. */
uint64_t notify_watchdog(void);

#endif
