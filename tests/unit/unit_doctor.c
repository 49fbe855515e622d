// SPDX-License-Identifier: GPL-2.0-only
/* What doctor makes of machines and interfaces that are not at hand: drivers' limits by kernel and page, and the rest.
 */
#include <errno.h>
#include <linux/capability.h>

#include "base/rights.h"
#include "kernel/drivers.h"
#include "kernel/host.h"
#include "kernel/port.h"
#include "observe/doctor.h"
#include "ktap.h"

#define V(major, minor) KERNEL_VERSION(major, minor, 0)
#define ALL_RIGHTS	(~(uint64_t)0)

static struct host host_of(unsigned int kernel, unsigned int page)
{
	return (struct host){ .kernel = kernel,
			      .release = "invented",
			      .page = page,
			      .cpus = 4,
			      .btf = true,
			      .bpf = EINVAL,
			      .jit = 1,
			      .unprivileged = 2,
			      .selinux = HOST_NONE,
			      .capabilities = ALL_RIGHTS,
			      .service = ALL_RIGHTS,
			      .memlock = ~(uint64_t)0 };
}

/* The highest MTU that is let into native mode, found by asking for each. 0: none; 65536: any. */
static unsigned int highest(const struct host *host, struct port port, bool frags)
{
	char why[NATIVE_TEXT_MAX];
	unsigned int most = 0;

	for (port.mtu = 68; port.mtu <= 65536; port.mtu++)
		if (!native_refused(host, &port, frags, why))
			most = port.mtu;
	return most;
}

#define ANY 65536U

/* As the kernel's sources say, added up by hand: what the frame, its headers and the rest of the buffer leave of a
 * page. */
static const struct {
	const char *driver;
	unsigned int kernel, page;
	bool frags;
	unsigned int mtu;
} limits[] = {
	/* 256 before the packet, 320 behind it, Ethernet 14 */
	{ "veth", V(5, 10), 4096, false, 4096 - 256 - 320 - 14 },
	{ "veth", V(6, 1), 4096, false, 4096 - 256 - 320 - 14 },
	{ "veth", V(6, 1), 4096, true, ANY },
	{ "veth", V(6, 1), 65536, false, 65536 - 256 - 320 - 14 },
	{ "virtio_net", V(5, 10), 4096, false, 4096 - 16 },
	{ "virtio_net", V(6, 1), 4096, true, 4096 - 32 },
	{ "virtio_net", V(6, 12), 4096, false, 4096 - 256 - 320 - 14 },
	{ "virtio_net", V(6, 12), 4096, true, ANY },
	/* and a VLAN's 4, and the sum's 4 */
	{ "ixgbe", V(6, 12), 4096, true, 3072 - 14 - 4 - 4 },
	{ "ixgbe", V(6, 12), 65536, true, 2048 - 14 - 4 - 4 },
	{ "ixgbevf", V(6, 1), 4096, true, 3072 - 22 },
	{ "i40e", V(6, 1), 4096, true, 3072 - 22 },
	{ "i40e", V(6, 12), 4096, false, 3072 - 26 },
	{ "i40e", V(6, 12), 4096, true, ANY },
	{ "ice", V(6, 1), 4096, true, 3072 - 26 },
	{ "ice", V(5, 10), 65536, false, 2048 - 256 - 26 },
	{ "ice", V(6, 12), 4096, true, ANY },
	{ "igb", V(6, 1), 4096, true, 3072 - 26 },
	{ "igc", V(6, 1), 4096, true, 1500 },
	{ "igc", V(5, 10), 4096, false, 0 },
	{ "mlx4_en", V(6, 1), 4096, true, 4096 - 14 - 8 - 256 - 320 },
	{ "mlx5_core", V(6, 1), 4096, true, 4096 - 256 - 320 - 22 },
	{ "mlx5_core", V(6, 12), 4096, true, ANY },
	{ "mvneta", V(5, 10), 4096, false, 4096 - 320 - 256 },
	{ "mvneta", V(6, 1), 4096, true, ANY },
	{ "st_gmac", V(6, 12), 4096, true, 1500 },
	{ "st_gmac", V(5, 10), 4096, false, 0 },
	{ "ena", V(6, 12), 4096, true, 4096 - 14 - 4 - 4 - 256 - 320 },
	{ "gve", V(6, 1), 4096, true, 0 },
	{ "gve", V(6, 12), 4096, true, 2048 - 14 - 2 },
	{ "bnxt_en", V(5, 10), 4096, false, 4096 - 18 - 256 - 320 },
	{ "bnxt_en", V(6, 1), 4096, true, ANY },
	{ "hv_netvsc", V(6, 1), 4096, true, 3520 - 14 },
	{ "vmxnet3", V(6, 1), 4096, true, 0 },
	{ "vmxnet3", V(6, 12), 4096, true, 4096 - 256 - 320 - 14 - 8 - 4 },
	{ "vif", V(6, 1), 4096, true, 4096 - 256 },
	{ "atlantic", V(6, 1), 4096, false, 2048 },
	{ "tun", V(5, 10), 4096, false, ANY },
	{ "st_xgmac", V(6, 12), 4096, true, 1500 },
	{ "st_xgmac", V(5, 10), 4096, false, 0 },
	{ "st_mac100", V(6, 12), 4096, true, 1500 },
	{ "st_mac100", V(5, 10), 4096, false, 0 },
	{ "atlantic", V(5, 10), 4096, false, 0 },
	{ "atlantic", V(6, 1), 4096, true, ANY },
	{ "ice", V(5, 10), 4096, false, 3072 - 26 },
	{ "ice", V(6, 1), 65536, true, 3072 - 26 },
	{ "ice", V(6, 12), 4096, false, 3072 - 26 },
	/* What lies in more than a page does not help where a buffer is a part of one, of what size ever that is. */
	{ "i40e", V(6, 1), 65536, true, 2048 - 22 },
	{ "i40e", V(6, 12), 65536, false, 2048 - 26 },
	{ "ixgbe", V(5, 10), 4096, false, 3072 - 22 },
	{ "ixgbe", V(5, 10), 65536, false, 2048 - 22 },
	{ "ixgbevf", V(6, 12), 65536, true, 2048 - 22 },
	{ "igb", V(6, 12), 65536, true, 2048 - 26 },
	{ "bnxt_en", V(5, 10), 65536, false, 65536 - 18 - 256 - 320 },
	{ "bnxt_en", V(6, 1), 4096, false, 4096 - 18 - 256 - 320 },
	{ "bnxt_en", V(6, 1), 65536, false, 65536 - 18 - 256 - 320 },
	{ "ena", V(6, 12), 65536, true, 65536 - 14 - 4 - 4 - 256 - 320 },
	{ "hv_netvsc", V(6, 1), 65536, true, 65536 - 4096 + 3520 - 14 },
	{ "mlx4_en", V(6, 1), 65536, true, 65536 - 14 - 8 - 256 - 320 },
	{ "mlx5_core", V(6, 1), 65536, true, 65536 - 256 - 320 - 22 },
	{ "mlx5_core", V(6, 12), 4096, false, 4096 - 256 - 320 - 22 },
	{ "mlx5_core", V(6, 12), 65536, false, 65536 - 256 - 320 - 22 },
	{ "mvneta", V(5, 10), 65536, false, 65536 - 320 - 256 },
	{ "mvneta", V(6, 1), 4096, false, 4096 - 320 - 256 },
	{ "mvneta", V(6, 1), 65536, false, 65536 - 320 - 256 },
	{ "veth", V(5, 10), 65536, false, 65536 - 256 - 320 - 14 },
	{ "virtio_net", V(5, 10), 65536, false, 65536 - 16 },
	{ "virtio_net", V(6, 1), 65536, true, 65536 - 32 },
	{ "virtio_net", V(6, 12), 65536, false, 65536 - 256 - 320 - 14 },
	{ "vmxnet3", V(6, 12), 65536, true, 65536 - 256 - 320 - 14 - 8 - 4 },
	{ "vif", V(6, 1), 65536, true, 4096 - 256 },
	{ "e1000e", V(6, 1), 4096, true, ANY }, /* nobody knows */
};

/* A kernel between two of those that were read goes with the newer one. */
static void between(void)
{
	static const unsigned int same[][2] = { { V(4, 19), V(5, 10) }, { V(5, 11), V(6, 1) }, { V(6, 2), V(6, 12) } };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (size_t k = 0; k < 2 * sizeof(same) / sizeof(same[0]); k++) {
			struct host older = host_of(same[k / 2][0], limits[i].page),
				    newer = host_of(same[k / 2][1], limits[i].page);
			struct port port = { .features = -1, .mtu = 1500 };
			char why[NATIVE_TEXT_MAX];

			snprintf(port.driver, sizeof(port.driver), "%s", limits[i].driver);
			CHECK(native_mtu(&older, &port, k % 2) == native_mtu(&newer, &port, k % 2) &&
				      native_known(&older, &port) == native_known(&newer, &port) &&
				      native_refused(&older, &port, k % 2, why) ==
					      native_refused(&newer, &port, k % 2, why),
			      "%s, frags %zu: another than in the newer kernel %x", port.driver, k % 2, same[k / 2][1]);
		}
}

static void mtu(void)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct host host = host_of(limits[i].kernel, limits[i].page);
		struct port port = { .features = -1 };
		unsigned int most;

		snprintf(port.driver, sizeof(port.driver), "%s", limits[i].driver);
		most = highest(&host, port, limits[i].frags);
		CHECK(most == limits[i].mtu, "%s, row %zu: %u, not %u", port.driver, i, most, limits[i].mtu);
	}
}

/* What the driver says of itself comes before what the table has. */
static void features(void)
{
	struct host host = host_of(V(6, 12), 4096);
	struct port port = { .driver = "virtio_net", .features = PORT_XDP, .mtu = 9000 };
	char why[NATIVE_TEXT_MAX];

	CHECK(highest(&host, port, true) == 3506, "without frags: %u", highest(&host, port, true));
	port.features |= PORT_FRAGS;
	CHECK(highest(&host, port, true) == ANY, "with frags: %u", highest(&host, port, true));
	port = (struct port){ .driver = "e1000e", .features = 0, .mtu = 1500 };
	CHECK(native_refused(&host, &port, true, why) && strstr(why, "(e1000e) has no XDP"), "it has none: %s", why);
	CHECK(native_known(&host, &port), "what it says of itself is not known");
	port.features = -1;
	CHECK(!native_refused(&host, &port, true, why) && !native_known(&host, &port), "it is known");
	snprintf(port.kind, sizeof(port.kind), "vxlan");
	CHECK(native_refused(&host, &port, true, why), "a vxlan");
}

/* Each of them alone is what is named. */
static const struct {
	struct port port;
	unsigned int kernel, cpus;
	const char *says; /* NULL: nothing is in the way */
} wants[] = {
	{ { .driver = "mlx5_core" }, V(6, 1), 4, NULL },
	{ { .driver = "mlx5_core", .lro = true }, V(6, 1), 4, "LRO is on: ethtool -K edge0 lro off" },
	{ { .driver = "mlx5_core", .gro_hw = true }, V(6, 12), 4, "rx-gro-hw off" },
	{ { .driver = "mlx4_en", .lro = true }, V(6, 1), 4, NULL },
	{ { .driver = "ixgbe", .lro = true }, V(5, 10), 4, "LRO is on" },
	{ { .driver = "ixgbe" }, V(5, 10), 65, "more than 64 CPUs" },
	{ { .driver = "ixgbe" }, V(6, 1), 128, NULL },
	{ { .driver = "ixgbe" }, V(6, 1), 129, "more than 128 CPUs" },
	{ { .driver = "ixgbe", .has_functions = true }, V(6, 1), 4, "SR-IOV" },
	{ { .driver = "i40e", .has_functions = true }, V(6, 1), 4, NULL },
	{ { .driver = "ena", .rx = 4, .tx = 4, .tx_most = 8, .combined = true }, V(6, 1), 4, NULL },
	{ { .driver = "ena", .rx = 5, .tx = 5, .tx_most = 8, .combined = true },
	  V(6, 1),
	  4,
	  "ethtool -L edge0 combined 4" },
	{ { .driver = "gve", .rx = 4, .tx = 4, .tx_most = 8 }, V(6, 12), 4, NULL },
	{ { .driver = "gve", .rx = 8, .tx = 8, .tx_most = 8 }, V(6, 12), 4, "ethtool -L edge0 tx 4" },
	{ { .driver = "gve", .rx = 3, .tx = 4, .tx_most = 8 }, V(6, 12), 4, "as many of both" },
	{ { .driver = "gve", .rx = 4, .tx = 4, .tx_most = 8, .lro = true }, V(6, 12), 4, "LRO is on" },
	{ { .driver = "gve" }, V(6, 1), 4, "(gve) has no XDP in this kernel" },
	{ { .driver = "bnxt_en", .rx = 4, .tx = 4, .combined = true }, V(6, 1), 4, NULL },
	{ { .driver = "bnxt_en", .rx = 4, .tx = 4 }, V(6, 1), 4, "its queues are not combined" },
	{ { .driver = "virtio_net", .rx = 1, .tx = 1, .tx_most = 1 }, V(6, 1), 4, NULL },
	{ { .driver = "virtio_net", .host_joins = true }, V(6, 1), 4, "the host joins packets" },
	{ { .driver = "veth", .kind = "veth", .rx = 1, .rx_most = 2, .peer = "wire0", .peer_tx = 2, .peer_mtu = 1500 },
	  V(6, 1),
	  4,
	  NULL },
	{ { .driver = "veth", .kind = "veth", .rx = 1, .rx_most = 2, .peer = "wire0", .peer_tx = 3, .peer_mtu = 1500 },
	  V(6, 1),
	  4,
	  "sends from 3 queues, and it can receive on 2: ethtool -L wire0 tx 2" },
	{ { .driver = "veth", .kind = "veth", .peer = "wire0", .peer_mtu = 9000 },
	  V(5, 10),
	  4,
	  "its other end's MTU is 9000" },
	{ { .driver = "veth", .kind = "veth", .peer = "wire0", .peer_mtu = 9000 }, V(6, 1), 4, NULL },
};

static void conflicts(void)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		struct host host = host_of(wants[i].kernel, 4096);
		struct port port = wants[i].port;
		char why[NATIVE_TEXT_MAX] = "nothing";
		bool refused;

		host.cpus = wants[i].cpus;
		port.features = -1;
		port.mtu = 1500;
		snprintf(port.name, sizeof(port.name), "edge0");
		refused = native_refused(&host, &port, wants[i].kernel >= HOST_FRAGS, why);
		CHECK(refused == (wants[i].says != NULL) && (!refused || strstr(why, wants[i].says)), "%s, row %zu: %s",
		      port.driver, i, why);
	}
}

/* found as LEVEL: about ABOUT, with those words. */
static bool has(const struct findings *found, int level, const char *about, const char *words)
{
	for (size_t i = 0; i < found->n; i++)
		if ((int)found->of[i].level == level && !strcmp(found->of[i].about, about) &&
		    strstr(found->of[i].text, words))
			return true;
	return false;
}

static void machines(void)
{
	static const struct {
		const char *what;
		struct host change; /* where it is not 0, it takes the place of what a sound machine has */
		bool no_btf, no_limit;
		int level;
		const char *about, *words;
	} known[] = {
		{ "sound", .level = FOUND_OK, .about = "rights", .words = "CAP_PERFMON" },
		{ "old", { .kernel = V(5, 4) }, .level = FOUND_PROBLEM, .about = "kernel", .words = "5.10 or newer" },
		{ "without bpf()",
		  { .bpf = ENOSYS },
		  .level = FOUND_PROBLEM,
		  .about = "bpf()",
		  .words = "CONFIG_BPF_SYSCALL" },
		{ "in a container",
		  { .bpf = EPERM, .seccomp = true },
		  .level = FOUND_PROBLEM,
		  .about = "bpf()",
		  .words = "a seccomp filter" },
		{ "under SELinux",
		  { .bpf = EPERM, .selinux = 1 },
		  .level = FOUND_PROBLEM,
		  .about = "bpf()",
		  .words = "SELinux" },
		{ "enforcing", { .selinux = 1 }, .level = FOUND_NOTE, .about = "SELinux", .words = "enforces" },
		{ "confined",
		  { .apparmor = "docker-default (enforce)" },
		  .level = FOUND_NOTE,
		  .about = "AppArmor",
		  .words = "docker-default" },
		{ "one right",
		  { .capabilities = ALL_RIGHTS & ~(1ULL << CAP_NET_ADMIN) },
		  .level = FOUND_PROBLEM,
		  .about = "rights",
		  .words = "lacks CAP_NET_ADMIN" },
		{ "three",
		  { .capabilities = 1ULL << CAP_BPF | 1ULL << CAP_NET_ADMIN | 1ULL << CAP_PERFMON },
		  .level = FOUND_OK,
		  .about = "rights",
		  .words = "has" },
		{ "no sight",
		  { .capabilities = ALL_RIGHTS & ~(1ULL << CAP_SYS_PTRACE) },
		  .level = FOUND_NOTE,
		  .about = "SSH",
		  .words = "this process knows of SSH sessions only by logins" },
		{ "no right to files",
		  { .capabilities = ALL_RIGHTS & ~(1ULL << CAP_DAC_READ_SEARCH) & ~(1ULL << CAP_DAC_OVERRIDE) },
		  .level = FOUND_NOTE,
		  .about = "SSH",
		  .words = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH" },
		{ "sight by CAP_PERFMON",
		  { .kernel = V(6, 15), .capabilities = ALL_RIGHTS & ~(1ULL << CAP_SYS_PTRACE) },
		  .level = FOUND_OK,
		  .about = "rights",
		  .words = "has" },
		{ "a service of the unit",
		  { .service = 1ULL << CAP_BPF | 1ULL << CAP_NET_ADMIN | 1ULL << CAP_PERFMON },
		  .level = FOUND_NOTE,
		  .about = "SSH",
		  .words = "the service knows of SSH sessions only by logins" },
		{ "without tcp_diag",
		  { .no_diag = true },
		  .level = FOUND_NOTE,
		  .about = "sockets",
		  .words = "load tcp_diag and udp_diag" },
		{ "as before 5.8",
		  { .capabilities = 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_NET_ADMIN },
		  .level = FOUND_OK,
		  .about = "rights",
		  .words = "has" },
		{ "locked down",
		  { .lockdown = "confidentiality" },
		  .level = FOUND_OK,
		  .about = "lockdown",
		  .words = "confidentiality" },
		{ "without BTF", .no_btf = true, .level = FOUND_NOTE, .about = "BTF", .words = "detect" },
		{ "open",
		  { .unprivileged = -100 },
		  .level = FOUND_NOTE,
		  .about = "bpf()",
		  .words = "unprivileged_bpf_disabled=2" },
		{ "5.10, a small limit",
		  { .kernel = V(5, 10),
		    .memlock = 65536,
		    .capabilities = 1ULL << CAP_BPF | 1ULL << CAP_NET_ADMIN | 1ULL << CAP_PERFMON },
		  .level = FOUND_NOTE,
		  .about = "memory",
		  .words = "RLIMIT_MEMLOCK, which is 65.5 kB" },
		{ "a small group",
		  { .memory = 64 << 20 },
		  .level = FOUND_NOTE,
		  .about = "memory",
		  .words = "may have 67.1 MB" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct host host = host_of(V(6, 12), 4096);
		const struct host *change = &known[i].change;
		struct findings found = { 0 };
		size_t problems = 0, sight = 0;

		host.kernel = change->kernel ?: host.kernel;
		host.bpf = change->bpf ?: host.bpf;
		host.seccomp = change->seccomp;
		host.selinux = change->selinux ?: host.selinux;
		host.capabilities = change->capabilities ?: host.capabilities;
		host.service = change->service ?: host.service;
		host.memlock = change->memlock ?: host.memlock;
		host.memory = change->memory;
		host.no_diag = change->no_diag;
		host.btf = !known[i].no_btf;
		if (change->unprivileged)
			host.unprivileged = 0;
		memcpy(host.apparmor, change->apparmor, sizeof(host.apparmor));
		memcpy(host.lockdown, change->lockdown, sizeof(host.lockdown));
		doctor_host(&host, &found);
		for (size_t j = 0; j < found.n; j++)
			problems += found.of[j].level == FOUND_PROBLEM;
		for (size_t j = 0; j < found.n; j++)
			sight += !strcmp(found.of[j].about, "SSH");
		CHECK(sight == !rights_read_others(host.capabilities & host.service, host.kernel >= V(6, 15)),
		      "%s: %zu words of SSH", known[i].what, sight);
		CHECK(has(&found, known[i].level, known[i].about, known[i].words), "%s: no '%s' of %s", known[i].what,
		      known[i].words, known[i].about);
		CHECK(problems == (known[i].level == FOUND_PROBLEM), "%s: %zu problems", known[i].what, problems);
		free(found.of);
	}
}

static void jit(void)
{
	static const struct {
		int jitted, sysctl, level;
		const char *words;
	} known[] = {
		{ 1, 1, FOUND_OK, "on" },
		{ 1, HOST_NONE, FOUND_OK, "on" }, /* in a container */
		{ 0, 0, FOUND_NOTE, "bpf_jit_enable=1" },
		{ 0, HOST_NONE, FOUND_NOTE, "interpreted" },
		{ -1, 1, FOUND_OK, "on" },
		{ -1, 0, FOUND_NOTE, "off" },
		{ -1, HOST_UNSEEN, FOUND_NOTE, "without root" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct host host = host_of(V(6, 12), 4096);
		struct findings found = { 0 };

		host.jit = known[i].sysctl;
		doctor_jit(&host, known[i].jitted, &found);
		CHECK(found.n == 1 && has(&found, known[i].level, "JIT", known[i].words), "row %zu: %s", i,
		      found.n ? found.of[0].text : "nothing");
		free(found.of);
	}
}

static void modes(void)
{
	struct host host = host_of(V(5, 10), 4096);
	struct port port = { .name = "edge0", .driver = "veth", .kind = "veth", .features = -1, .mtu = 1500 };
	struct findings found = { 0 };

	doctor_mode(&host, &port, false, &found);
	CHECK(has(&found, FOUND_OK, "edge0", "native mode (veth, MTU 1500 of at most 3506)"), "%s", found.of[0].text);
	port.mtu = 3507;
	doctor_mode(&host, &port, false, &found);
	CHECK(has(&found, FOUND_NOTE, "edge0", "skb mode, slower and behind the driver: its MTU is 3507"), "%s",
	      found.of[1].text);
	snprintf(port.driver, sizeof(port.driver), "e1000e");
	doctor_mode(&host, &port, false, &found);
	CHECK(has(&found, FOUND_NOTE, "edge0", "native mode if its driver (e1000e) has it"), "%s", found.of[2].text);
	free(found.of);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "the highest MTU", mtu }, { "kernels between", between },
						  { "features", features },   { "conflicts", conflicts },
						  { "machines", machines },   { "JIT", jit },
						  { "modes", modes } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
