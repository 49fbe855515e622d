// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/drivers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kernel/host.h"
#include "kernel/port.h"

#define SMALL_PAGE 4096U

/*
 * Read from Linux 5.10.223, 6.1.192 and 6.12.117; docs/drivers.md names the functions. A row holds from that kernel on,
 * until another one of the same driver: those between the versions that were read go with the newer one.
 */
static const struct driver {
	const char *name; /* as ethtool says it */
	unsigned int from;
	unsigned int mtu;	      /* the highest, with pages of 4 KiB; 0: any */
	unsigned int mtu_large_pages; /* with larger ones, where it does not grow; 0: the same */
	unsigned int cpus;	      /* at most; 0: any number */
	enum {
		LRO = 1,	   /* no LRO */
		GRO_HW = 2,	   /* no GRO by the device */
		HALF_QUEUES = 4,   /* as many queues again as there are in use */
		PEER_QUEUES = 8,   /* of veth: a queue for each that the other end sends from */
		HOST_JOINS = 16,   /* of virtio: none of that by the host */
		NO_FUNCTIONS = 32, /* no SR-IOV */
		ONE_KIND = 64,	   /* combined queues only */
	} wants;
	bool grows; /* the MTU, with the page */
	bool frags; /* any MTU, with a program that takes such packets */
} drivers[] = {
	{ "atlantic", KERNEL_VERSION(5, 11, 0), .mtu = 2048, .frags = true },
	{ "bnxt_en", 0, .mtu = 3502, .grows = true, .wants = ONE_KIND },
	{ "bnxt_en", KERNEL_VERSION(5, 11, 0), .mtu = 3502, .grows = true, .frags = true, .wants = ONE_KIND },
	{ "ena", 0, .mtu = 3498, .grows = true, .wants = HALF_QUEUES },
	{ "gve", KERNEL_VERSION(6, 2, 0), .mtu = 2032, .wants = LRO | HALF_QUEUES },
	{ "hv_netvsc", 0, .mtu = 3506, .grows = true, .wants = LRO },
	{ "i40e", 0, .mtu = 3050, .mtu_large_pages = 2026 },
	{ "i40e", KERNEL_VERSION(6, 2, 0), .mtu = 3046, .mtu_large_pages = 2022, .frags = true },
	{ "ice", 0, .mtu = 3046, .mtu_large_pages = 1766 },
	{ "ice", KERNEL_VERSION(5, 11, 0), .mtu = 3046 },
	{ "ice", KERNEL_VERSION(6, 2, 0), .mtu = 3046, .frags = true },
	{ "igb", 0, .mtu = 3046, .mtu_large_pages = 2022 },
	{ "igc", KERNEL_VERSION(5, 11, 0), .mtu = 1500 },
	{ "ixgbe", 0, .mtu = 3050, .mtu_large_pages = 2026, .wants = LRO | NO_FUNCTIONS, .cpus = 64 },
	{ "ixgbe", KERNEL_VERSION(5, 11, 0), .mtu = 3050, .mtu_large_pages = 2026, .wants = LRO | NO_FUNCTIONS,
	  .cpus = 128 },
	{ "ixgbevf", 0, .mtu = 3050, .mtu_large_pages = 2026 },
	{ "mlx4_en", 0, .mtu = 3498, .grows = true },
	{ "mlx5_core", 0, .mtu = 3498, .grows = true, .wants = LRO | GRO_HW },
	{ "mlx5_core", KERNEL_VERSION(6, 2, 0), .mtu = 3498, .grows = true, .frags = true, .wants = LRO | GRO_HW },
	{ "mvneta", 0, .mtu = 3520, .grows = true },
	{ "mvneta", KERNEL_VERSION(5, 11, 0), .mtu = 3520, .grows = true, .frags = true },
	{ "st_gmac", KERNEL_VERSION(5, 11, 0), .mtu = 1500 },
	{ "st_mac100", KERNEL_VERSION(5, 11, 0), .mtu = 1500 },
	{ "st_xgmac", KERNEL_VERSION(5, 11, 0), .mtu = 1500 },
	{ "tun", 0, .mtu = 0 },
	{ "veth", 0, .mtu = 3506, .grows = true, .wants = PEER_QUEUES },
	{ "veth", KERNEL_VERSION(5, 11, 0), .mtu = 3506, .grows = true, .frags = true, .wants = PEER_QUEUES },
	{ "vif", 0, .mtu = 3840 },
	{ "virtio_net", 0, .mtu = 4080, .grows = true, .wants = HOST_JOINS },
	{ "virtio_net", KERNEL_VERSION(5, 11, 0), .mtu = 4064, .grows = true, .wants = HOST_JOINS },
	{ "virtio_net", KERNEL_VERSION(6, 2, 0), .mtu = 3506, .grows = true, .frags = true, .wants = HOST_JOINS },
	{ "vmxnet3", KERNEL_VERSION(6, 2, 0), .mtu = 3494, .grows = true },
};

/* None of these has native mode, whatever lies under it. */
static const char *const never[] = { "bridge",	"dummy", "geneve", "ifb", "ipvlan", "macvlan",
				     "macvtap", "team",	 "vlan",   "vrf", "vxlan" };

static const struct driver *find(const struct host *host, const struct port *port)
{
	const struct driver *found = NULL;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!strcmp(drivers[i].name, port->driver) && host->kernel >= drivers[i].from)
			found = &drivers[i];
	return found;
}

/* Only in some version later than this kernel? */
static bool comes_later(const struct host *host, const struct port *port)
{
	bool later = false;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		later = later || !strcmp(drivers[i].name, port->driver);
	return later && !find(host, port);
}

static bool is_never(const struct port *port)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (!strcmp(never[i], port->kind))
			return true;
	return false;
}

/* Of veth that says no more than that the other end has more queues. */
static bool says_no_xdp(const struct port *port)
{
	return port->features >= 0 && !(port->features & PORT_XDP);
}

bool native_known(const struct host *host, const struct port *port)
{
	return port->features >= 0 || find(host, port);
}

/* Does the driver take packets that lie in several buffers? It says so itself, where the kernel is new enough. */
static bool takes_frags(const struct port *port, const struct driver *driver)
{
	return port->features >= 0 && port->features & PORT_XDP ? port->features & PORT_FRAGS : driver->frags;
}

unsigned int native_mtu(const struct host *host, const struct port *port, bool frags)
{
	const struct driver *driver = find(host, port);

	if (!driver || (frags && takes_frags(port, driver)))
		return 0;
	if (host->page <= SMALL_PAGE || !driver->mtu)
		return driver->mtu;
	return driver->grows ? driver->mtu + host->page - SMALL_PAGE : driver->mtu_large_pages ?: driver->mtu;
}

#define SAYS(...) (snprintf(text, NATIVE_TEXT_MAX, __VA_ARGS__), true)

/* What the other end of a veth has is not seen in another network namespace: the error tells. */
static bool peer_refused(const struct port *port, int err, char text[NATIVE_TEXT_MAX])
{
	if (port->peer_is_away && err_is(err, ENOSPC))
		return SAYS("its other end, in another network namespace, sends from more queues than it can receive on"
			    " (%u)",
			    port->rx_most);
	return port->peer_is_away && err_is(err, ERANGE) &&
	       SAYS("the MTU of its other end, in another network namespace, is too large");
}

static bool queues_refused(const struct port *port, unsigned int wants, char text[NATIVE_TEXT_MAX])
{
	/* attach sees to it that all receive. */
	if (wants & PEER_QUEUES && port->rx_most && port->peer_tx > port->rx_most)
		return SAYS("its other end sends from %u queues, and it can receive on %u: ethtool -L %s tx %u",
			    port->peer_tx, port->rx_most, port->peer, port->rx_most);
	if (wants & PEER_QUEUES && says_no_xdp(port) && port->rx >= port->rx_most)
		return peer_refused(port, -ENOSPC, text);
	if (wants & HALF_QUEUES && port->tx_most && 2 * port->tx > port->tx_most)
		return SAYS("it uses %u of %u queues, and native mode wants as many again: ethtool -L %s %s %u",
			    port->tx, port->tx_most, port->name, strcmp(port->driver, "gve") ? "combined" : "tx",
			    port->tx_most / 2);
	if (wants & HALF_QUEUES && !strcmp(port->driver, "gve") && port->rx != port->tx)
		return SAYS(
			"it receives on %u queues and sends from %u: native mode wants as many of both: ethtool -L %s",
			port->rx, port->tx, port->name);
	return false;
}

static bool joining_refused(const struct port *port, unsigned int wants, char text[NATIVE_TEXT_MAX])
{
	if (wants & LRO && port->lro)
		return SAYS("LRO is on: ethtool -K %s lro off", port->name);
	if (wants & GRO_HW && port->gro_hw)
		return SAYS("its device joins packets (GRO_HW): ethtool -K %s rx-gro-hw off", port->name);
	if (wants & HOST_JOINS && port->host_joins)
		return SAYS("the host joins packets or leaves out their checksums, and does not let this machine change"
			    " that (of QEMU: ctrl_guest_offloads=on, or guest_tso4=off and the like)");
	return false;
}

bool native_refused(const struct host *host, const struct port *port, bool frags, char text[NATIVE_TEXT_MAX])
{
	const struct driver *driver = find(host, port);
	unsigned int mtu = strcmp(port->kind, "veth") || !port->peer_mtu ? port->mtu : port->peer_mtu;
	unsigned int most = native_mtu(host, port, frags);

	if (driver && (queues_refused(port, driver->wants, text) || joining_refused(port, driver->wants, text)))
		return true;
	if (driver && driver->cpus && host->cpus > driver->cpus)
		return SAYS("its driver (%s) has no native mode with more than %u CPUs", port->driver, driver->cpus);
	if (driver && driver->wants & NO_FUNCTIONS && port->has_functions)
		return SAYS("it is shared out to virtual functions (SR-IOV)");
	if (driver && driver->wants & ONE_KIND && port->rx && !port->combined)
		return SAYS("its queues are not combined: ethtool -L %s rx 0 tx 0 combined N", port->name);
	if (most && mtu > most)
		return SAYS("%sMTU is %u, and its driver (%s) has at most %u in native mode",
			    mtu == port->mtu ? "its " : "its other end's ", mtu, port->driver, most);
	if (driver && driver->wants & PEER_QUEUES)
		return false;
	if (port->features >= 0 ? says_no_xdp(port) : is_never(port))
		return SAYS("its driver (%s) has no XDP", port->driver[0] ? port->driver
							  : port->kind[0] ? port->kind
									  : "it has no name");
	if (port->features < 0 && comes_later(host, port))
		return SAYS("its driver (%s) has no XDP in this kernel", port->driver);
	return false;
}

/* What was found by then: asked of a driver that has refused. */
static bool refused_there(const char *ifname, int err, bool frags, char text[NATIVE_TEXT_MAX])
{
	struct host host;
	struct port port;

	host_look(&host);
	return !port_look(&port, ifname) &&
	       (native_refused(&host, &port, frags, text) || peer_refused(&port, err, text));
}

bool native_why_not(const char *ifname, int err, bool frags, char text[NATIVE_TEXT_MAX])
{
	char why[NATIVE_TEXT_MAX];

	return refused_there(ifname, err, frags, why) && SAYS("%.200s; --mode skb works", why);
}

void native_missing(const char *ifname, int err, bool frags)
{
	char why[NATIVE_TEXT_MAX];

	warn("%s: no native mode (%s), using skb: slower, and behind the driver", ifname,
	     refused_there(ifname, err, frags, why) ? why : errno_text(err));
}

unsigned int native_room(const char *ifname, int err)
{
	return err_is(err, ENOSPC) ? port_receive_on(ifname, 0) : 0;
}

void native_room_end(const char *ifname, unsigned int before, int err)
{
	if (err)
		port_receive_on(ifname, before);
	else
		warn("%s: it receives on all of its queues from now on, and no longer on %u: native mode wants as many"
		     " as its other end sends from",
		     ifname, before);
}

const char *port_busy(const struct port *port, char text[NATIVE_TEXT_MAX])
{
	if (port && !port->program && port->above_filtered)
		snprintf(
			text, NATIVE_TEXT_MAX,
			"%s, which it is a port of, has an XDP program, and then its ports can have none; detach that one, or use"
			" --mode tc",
			port->above);
	else
		snprintf(text, NATIVE_TEXT_MAX,
			 "another XDP program is attached there; detach it, or try --shared or"
			 " --mode tc");
	return text;
}
