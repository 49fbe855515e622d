/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts that name what this machine uses, in the forms of the programs that write them. */
#ifndef CHANGE_OWN_SCAN_H
#define CHANGE_OWN_SCAN_H

#include <stddef.h>

#include "sets/address.h"

enum own_format {
	OWN_RESOLV,   /* resolv.conf */
	OWN_LEASE,    /* of systemd-networkd and NetworkManager */
	OWN_DHCLIENT, /* leases of dhclient; those that have run out say nothing */
	OWN_CLOCK,    /* chrony, ntpd, ntpsec, openntpd */
	OWN_TIMESYNC, /* systemd-timesyncd */
	OWN_DNSMASQ,
	OWN_UNBOUND,
	OWN_UPSTREAM, /* of resolvers that only ask others: CoreDNS, stubby, dnscrypt-proxy, AdGuard, Pi-hole */
	OWN_SESSION,  /* of systemd-logind */
	OWN_BIND,
	OWN_OPENWRT,
	OWN_RECURSOR, /* of Knot and PowerDNS, which resolve by themselves */
	OWN_FORMATS,
	OWN_DHCPCD = OWN_FORMATS /* no text; own_lease_text() makes one of OWN_LEASE of it */
};

/* One of files is none again by a socket or a daemon's word. */
extern const char own_clock_is[];

/*
 * Calls `found` for each address that the text names as what it is for; `what` lives on: "a name server in use". Any
 * bytes are taken: what is no address says nothing. `now` is in seconds since the epoch.
 */
typedef void own_found_fn(void *arg, struct addr addr, const char *what);
void own_scan(enum own_format format, const char *text, size_t size, long long now, own_found_fn *found, void *arg);

/*
 * What a lease of dhcpcd says that is `age` seconds old, as systemd-networkd writes its own. Returns its length: 0
 * where it has run out, and where it is none; any bytes are taken.
 */
#define OWN_LEASE_TEXT_MAX 4352 /* 4 options of 255 bytes */
size_t own_lease_text(char text[OWN_LEASE_TEXT_MAX], const void *message, size_t size, long long age);

#endif
