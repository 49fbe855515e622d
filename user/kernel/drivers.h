/* SPDX-License-Identifier: GPL-2.0-only */
/* What drivers want before they run XDP themselves ("native mode"), as the kernel's sources have it. */
#ifndef KERNEL_DRIVERS_H
#define KERNEL_DRIVERS_H

#include <stdbool.h>

struct host;
struct port;

#define NATIVE_TEXT_MAX 256

/* The highest MTU in native mode; 0: any, or it is not known. frags: the program takes packets that lie in several
 * buffers. */
unsigned int native_mtu(const struct host *host, const struct port *port, bool frags);
/* Why the driver will refuse native mode; false: nothing is known that it minds. */
bool native_refused(const struct host *host, const struct port *port, bool frags, char text[NATIVE_TEXT_MAX]);
/* Does anything tell that the driver has native mode at all? */
bool native_known(const struct host *host, const struct port *port);
/* The same of one that has just refused it with err, and what to type: "...; --mode skb works". False: who knows? */
bool native_why_not(const char *ifname, int err, bool frags, char text[NATIVE_TEXT_MAX]);
/* Warns that it gets the slower mode, and why. */
void native_missing(const char *ifname, int err, bool frags);
/*
 * The other end of a veth may send from more queues than this one receives on, which native mode does not take, and
 * whoever has that end says from how many. Where err says so, all queues that there are receive: then it is to be tried
 * again, and native_room_end() told how that ended. The number before; 0: nothing was changed.
 */
unsigned int native_room(const char *ifname, int err);
/* It says so; or nothing was changed, where it was in vain. */
void native_room_end(const char *ifname, unsigned int before, int err);
/* Why no program can be attached; NULL: nothing is known of the interface. */
const char *port_busy(const struct port *port, char text[NATIVE_TEXT_MAX]);

#endif
