/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel says of an interface that matters to XDP on it. */
#ifndef KERNEL_PORT_H
#define KERNEL_PORT_H

#include <net/if.h>
#include <stdbool.h>

#include "base/netlink.h"

struct port {
	char name[IF_NAMESIZE];
	char driver[32], kind[NETLINK_KIND_MAX]; /* as ethtool and ip link say; "": they do not */
	unsigned int ifindex, mtu;
	unsigned int rx, rx_most, tx, tx_most; /* queues in use, and how many there may be; 0: it does not say */
	bool combined;			       /* each of them for both ways */
	unsigned int program;		       /* an XDP program that is attached; 0: none */
	char above[IF_NAMESIZE];	       /* the bridge or bond that it is a port of; "": none */
	bool above_filtered;		       /* that one has an XDP program */
	/* The other end of a veth pair; "": it is away, in another network namespace. */
	char peer[IF_NAMESIZE];
	unsigned int peer_mtu, peer_tx;
	bool peer_is_away;
	int features;	    /* of XDP, as the driver says since 6.3 (PORT_XDP, ...); -1: it does not */
	bool lro, gro_hw;   /* the device joins packets */
	bool host_joins;    /* virtio: the host does, and cannot be told not to */
	bool has_functions; /* it is shared out (SR-IOV) */
};

enum { PORT_XDP = 1, PORT_FRAGS = 32 };

/* 0 or -errno; -ENODEV: there is no such interface. What the kernel does not say is 0, "" or -1. */
int port_look(struct port *port, const char *name);

/*
 * A veth receives on so many queues from now on; 0: on as many as it can. Returns how many it was before; 0: it is no
 * veth, or nothing was changed.
 */
unsigned int port_receive_on(const char *name, unsigned int queues);

/* What XDP runs there. 0 or -errno; -ENODEV: there is no such interface. */
struct port_xdp {
	bool skb;		  /* by the stack alone */
	unsigned int programs[3]; /* of the driver, the stack and the device; 0: none */
};
int port_xdp(unsigned int ifindex, struct port_xdp *on);

#endif
