// SPDX-License-Identifier: GPL-2.0-only
#include "observe/doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "base/lock.h"
#include "base/state_path.h"
#include "base/label.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out.h"
#include "base/rights.h"
#include "kernel/device.h"
#include "kernel/attach.h"
#include "kernel/detect.h"
#include "kernel/dispatcher.h"
#include "kernel/drivers.h"
#include "kernel/host.h"
#include "kernel/link_header.h"
#include "kernel/pins.h"
#include "kernel/port.h"
#include "kernel/root.h"
#include "state/ports.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/unshown.h"

const char *const finding_levels[] = { "problem", "note", "ok", NULL };

PRINTF(4, 5)
static void find(struct findings *found, int level, const char *about, const char *fmt, ...)
{
	struct finding *f;
	va_list args;

	if (!GROW(found->of, found->n)) {
		found->lost = true;
		return;
	}
	f = &found->of[found->n++];
	*f = (struct finding){ .level = level };
	snprintf(f->about, sizeof(f->about), "%s", about);
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
}

#define PROBLEM(...) find(found, FOUND_PROBLEM, __VA_ARGS__)
#define NOTE(...)    find(found, FOUND_NOTE, __VA_ARGS__)
#define OK(...)	     find(found, FOUND_OK, __VA_ARGS__)

/* --- The machine -----------------------------------------------------------------------------------------------------
 */

static void judge_rights(const struct host *host, struct findings *found)
{
	char lacks[HOST_LACKS_MAX];

	if (host_lacks_text(host, lacks)[0])
		PROBLEM("rights", "root, or " NEEDED_CAPABILITIES ", is needed; this process lacks %s", lacks);
	else
		OK("rights", "this process has " NEEDED_CAPABILITIES);
	if (host->bpf == ENOSYS)
		PROBLEM("bpf()", "this kernel has none (CONFIG_BPF_SYSCALL)");
	else if (host->bpf == EPERM && !lacks[0])
		PROBLEM("bpf()",
			"it is refused, although this process has the rights: by %s; a container wants --cap-add BPF,"
			" NET_ADMIN and PERFMON, and a seccomp profile that allows bpf()",
			host->seccomp ? "a seccomp filter" : "SELinux or AppArmor");
	if (host->unprivileged == 0)
		NOTE("bpf()", "every user may load programs, which the filter does not want: sysctl"
			      " kernel.unprivileged_bpf_disabled=2");
}

/* Whose connection is an SSH session is in the environments of other users' processes. */
static void judge_sight(const struct host *host, struct findings *found)
{
	bool perfmon = host->kernel >= HOST_PERFMON_READS;
	const char *who = !rights_read_others(host->capabilities, perfmon) ? "this process"
			  : !rights_read_others(host->service, perfmon)	   ? "the service"
									   : NULL;

	if (who)
		NOTE("SSH",
		     "%s knows of SSH sessions only by logins (logind, utmp), and may let them be banned otherwise: to read"
		     " the environments of all processes takes " READING_OTHERS,
		     who);
	if (host->no_diag)
		NOTE("sockets",
		     "the kernel does not say whom they are connected to, and servers that nothing else tells of may be"
		     " banned: load tcp_diag and udp_diag, on OpenWrt of kmod-inet-diag");
}

static void judge_security(const struct host *host, struct findings *found)
{
	if (!strcmp(host->lockdown, "integrity") || !strcmp(host->lockdown, "confidentiality"))
		OK("lockdown", "%s, which forbids nothing that the filter does", host->lockdown);
	if (host->selinux == 1)
		NOTE("SELinux",
		     "it enforces: where its policy keeps bpf() from this process, attach says that root is needed");
	if (host->apparmor[0])
		NOTE("AppArmor", "this process is confined by %s, which may keep bpf() from it", host->apparmor);
}

static void judge_memory(const struct host *host, struct findings *found)
{
	char text[BYTES_TEXT_MAX], limit[BYTES_TEXT_MAX];

	if (host->kernel && host->kernel < KERNEL_VERSION(5, 11, 0) && host->memlock != ~(uint64_t)0 &&
	    host_lacks(host, CAP_SYS_RESOURCE))
		NOTE("memory",
		     "kernels before 5.11 count the filter against RLIMIT_MEMLOCK, which is %s, and this process may not"
		     " raise it: ulimit -l unlimited, or of a unit LimitMEMLOCK=infinity",
		     bytes_text(text, host->memlock));
	if (host->memory)
		NOTE("memory", "%s is free, and this control group may have %s: plan says what a filter takes",
		     bytes_text(text, memory_available()), bytes_text(limit, host->memory));
	else
		OK("memory", "%s is free: plan says what a filter takes", bytes_text(text, memory_available()));
}

void doctor_host(const struct host *host, struct findings *found)
{
	if (host->kernel && host->kernel < HOST_OLDEST)
		PROBLEM("kernel", "%s: 5.10 or newer is needed", host->release);
	else
		OK("kernel", "%s", host->release);
	judge_rights(host, found);
	judge_sight(host, found);
	judge_security(host, found);
	if (!host->btf)
		NOTE("BTF",
		     "this kernel has none: detect cannot see by TCP who has proven its address, and never bans alone");
	else
		OK("BTF", "there");
	judge_memory(host, found);
}

static void look_at_pins(const struct context *context, const struct host *host, struct findings *found)
{
	bool mounts;
	int err = pins_may(context, &mounts);

	if (err_is(err, EACCES) || err_is(err, EPERM))
		NOTE("bpffs", "%s cannot be seen without root", context->bpffs);
	else if (err)
		PROBLEM("bpffs", "%s", reason(err));
	else if (mounts && host_lacks(host, CAP_SYS_ADMIN))
		PROBLEM("bpffs", "not mounted, and this process may not: mount -t bpf bpf /sys/fs/bpf");
	else if (mounts)
		NOTE("bpffs", "not mounted yet: attach mounts it at /sys/fs/bpf");
	else
		OK("bpffs", "mounted");
}

void doctor_jit(const struct host *host, int jitted, struct findings *found)
{
	if (jitted > 0 || (jitted < 0 && host->jit > 0))
		OK("JIT", "on");
	else if (jitted < 0 && host->jit < 0)
		NOTE("JIT", "whether it is on cannot be seen without root");
	else
		NOTE("JIT",
		     "off, or this kernel has none: the program is interpreted, and each packet costs several times more;"
		     " on: sysctl net.core.bpf_jit_enable=1, outside of containers");
}

/* It is tried: what is loaded for that goes again. */
static bool look_at_program(const struct host *host, struct findings *found)
{
	struct root_tried tried;
	int err = root_loads(false, &tried);

	if (err) {
		PROBLEM("program", "%s", reason(err));
		doctor_jit(host, -1, found);
		return false;
	}
	OK("program", "the kernel takes it%s",
	   tried.frags ? ", also for packets in several buffers (jumbo frames)" : "");
	doctor_jit(host, tried.jitted, found);
	if (!shared_possible())
		NOTE("--shared", "this kernel does not let libxdp run several XDP programs (no freplace)");
	if (!kernel_looks_up())
		NOTE("detect", "this kernel cannot see the classes unanswered and scan");
	return tried.frags;
}

/* Which interfaces are kept there; and the settings, where they can be read. */
static void look_at_state(const struct context *context, const struct host *host, struct interface_info **kept,
			  size_t *n, struct findings *found)
{
	struct state *state = NULL;
	char unshown[UNSHOWN_TEXT_MAX];
	int err = state_open(&state, context, false) ?: state_interfaces(state, kept, n);

	if (unshown_trouble(context->state, time(NULL), unshown))
		PROBLEM("state", "%s", unshown);
	if (!err && host->unwraps && !settings_read(state).inner)
		NOTE("IPv6",
		     "net.ipv6.conf.all.%s is on: where an interface has it, too, the kernel itself takes a packet out of"
		     " a routing header, and its source is not asked about; tune --inner on asks, one level deep",
		     host->unwraps);

	if (err_is(err, EACCES) || err_is(err, EPERM))
		NOTE("state", "%s cannot be seen without root", context->state);
	else if (err)
		PROBLEM("state", "%s", reason(err));
	state_close(state);
}

/* --- An interface ----------------------------------------------------------------------------------------------------
 */

enum attach_mode doctor_mode(const struct host *host, const struct port *port, bool frags, struct findings *found)
{
	unsigned int most = native_mtu(host, port, frags);
	char why[NATIVE_TEXT_MAX];

	if (native_refused(host, port, frags, why)) {
		NOTE(port->name, "skb mode, slower and behind the driver: %s", why);
		return MODE_SKB;
	}
	if (!native_known(host, port)) {
		NOTE(port->name, "native mode if its driver (%s) has it, which this kernel does not say; else skb mode",
		     port->driver[0] ? port->driver : "of no name");
		return MODE_AUTO;
	}
	if (most)
		OK(port->name, "native mode (%s, MTU %u of at most %u)", port->driver, port->mtu, most);
	else
		OK(port->name, "native mode (%s, MTU %u)", port->driver, port->mtu);
	return MODE_NATIVE;
}

/* "eth0: reason": the name stands there already. */
static const char *without_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2 : text;
}

static void look_at_busy(const struct port *port, struct findings *found)
{
	char why[NATIVE_TEXT_MAX];
	int err;

	if (!port->program || !shared_is_there((int)port->ifindex)) {
		PROBLEM(port->name, "%s", port_busy(port, why));
		return;
	}
	err = shared_allowed(port->name);
	if (err)
		PROBLEM(port->name, "%s", without_name(reason(err), port->name));
	else
		NOTE(port->name, "beside the programs that are there, through their dispatcher (libxdp)");
}

/* Packets that begin with IP: skb mode, by a root of its own. */
static void look_at_bare(const struct port *port, bool try, struct findings *found)
{
	struct root_tried tried;
	int err = try ? root_loads(true, &tried) : 0;

	if (err)
		PROBLEM(port->name, "%s", reason(err));
	else
		OK(port->name, "skb mode, as its packets have no Ethernet header");
}

/* By tc others may be asked before it. */
static void look_at_filtered(const struct context *context, const char *name, unsigned int match, const char *said,
			     struct findings *found)
{
	bool leaves = MATCH_LEAVES(match), seen;
	char label[LABEL_MAX], misses[DEVICE_TEXT_MAX];
	struct attachment is;

	label_of(label, name, match);
	seen = !attach_is(context, label, &is);
	if (seen && is.behind)
		NOTE(label,
		     "%u other programs are asked before the filter, and may let %s what is banned: 'bpftool net"
		     " show dev %s' names them; to be the first again: 'detach %s --%s' and 'attach' it",
		     is.behind, leaves ? "out" : "in", name, name, leaves ? "egress" : "ingress");
	else
		OK(label, "%s", without_name(said, name));
	if (seen && !leaves && device_gone_round(name, is.mode, misses))
		NOTE(label, "%s", misses);
}

static void look_at_interface(const struct context *context, const struct host *host, const char *name,
			      unsigned int match, bool frags, bool try, struct findings *found)
{
	struct attachment at = { .match = match };
	enum attach_mode mode = MODE_AUTO;
	char misses[DEVICE_TEXT_MAX];
	struct port port;
	bool bare = false;
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	link_fit(&at);
	err = attach_may(context, &at);
	if (err_is(err, EEXIST)) {
		look_at_filtered(context, name, match, reason(err), found);
		return;
	}
	if (!err || err_is(err, EACCES) || err_is(err, EPERM))
		err = link_header(&at, &bare); /* whether it is attached, only root sees */
	err = err ?: port_look(&port, name);
	if (err) {
		PROBLEM(name, "%s", without_name(reason(err), name));
		return;
	}
	if (MATCH_BY_TC(at.match)) {
		OK(name, "tc mode, as %s",
		   MATCH_BY_TC(match) ? "it was to be" : "XDP would see what is around the packets of this tunnel");
		mode = MODE_TC;
	} else if (port.program || port.above_filtered)
		look_at_busy(&port, found);
	else if (bare)
		look_at_bare(&port, try, found);
	else
		mode = doctor_mode(host, &port, frags, found);
	if (device_misses(name, mode, misses))
		NOTE(name, "%s", misses);
}

/* kept: how it is to be filtered. soft: nobody asked for it: that it cannot be is no problem yet. */
static void look_at(const struct context *context, const struct host *host, const char *name,
		    const struct interface_info *kept, bool frags, bool try, bool soft, struct findings *found)
{
	size_t first = found->n;

	look_at_interface(context, host, name, kept ? kept->match : 0, frags, try, found);
	for (size_t i = first; i < found->n; i++) {
		found->of[i].is_interface = true;
		if (soft && found->of[i].level == FOUND_PROBLEM)
			found->of[i].level = FOUND_NOTE;
	}
}

static const struct interface_info *find_kept(const struct interface_info *kept, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (label_is(label, kept[i].name, kept[i].match))
			return &kept[i];
	return NULL;
}

/* Whether what leaves can be filtered, where that is to be. */
static void look_at_egress(const struct context *context, const char *name, struct findings *found)
{
	struct attachment at = { .match = MATCH_LEAVING(MATCH_DESTINATION) };
	char label[LABEL_MAX];
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	label_of(label, name, at.match);
	err = attach_may(context, &at);
	if (err_is(err, EEXIST))
		look_at_filtered(context, name, at.match, reason(err), found);
	else
		PROBLEM(label, "%s",
			err ? without_name(reason(err), name) : "to be filtered, and is not: 'restore' attaches it");
}

/* Whose ports are to be filtered as they come and go. */
static void look_at_ports(const struct context *context, struct findings *found)
{
	bool service = lock_is_held(context->state, STATE_SERVICE_LOCK);
	struct ports_kept kept = { 0 };
	struct ports_due *due = NULL;
	struct port_of *ports = NULL;
	struct state *state = NULL;
	char label[LABEL_MAX];
	size_t n = 0;
	int err = state_open(&state, context, false) ?: ports_kept_take(&kept, state) ?:
		  ports_compare(&kept, &ports, &due, &n);

	for (size_t i = 0; i < n && !err; i++) {
		label_of(label, due[i].name, due[i].leaves ? MATCH_LEAVING(0) : 0);
		if (due[i].stays)
			continue;
		if (due[i].of)
			PROBLEM(label, "a port of %s, to be filtered, and is not: 'restore' attaches it",
				due[i].of->name);
		else
			NOTE(label, "no port any more: 'restore' detaches it");
	}
	for (size_t i = 0; i < kept.rules_n && !err; i++) {
		label_of_ports(label, kept.rules[i].name, kept.rules[i].match);
		if (!if_nametoindex(kept.rules[i].name))
			PROBLEM(label, "to be filtered, and are not: there is no such interface");
		else if (service)
			OK(label, "followed by the service");
		else
			NOTE(label, "no service (xdp-bloom run) follows them: who comes or goes is attached or detached"
				    " by 'restore', or the next command that changes something");
	}
	free(due);
	free(ports);
	ports_kept_free(&kept);
	state_close(state);
}

/* The worst first, each kind in the order in which it was found. */
static void sort(struct findings *found)
{
	for (size_t i = 1; i < found->n; i++) {
		struct finding one = found->of[i];
		size_t to = i;

		while (to && found->of[to - 1].level > one.level)
			to--;
		memmove(&found->of[to + 1], &found->of[to], (i - to) * sizeof(one));
		found->of[to] = one;
	}
}

void doctor(const struct context *context, char *const *names, int n, struct findings *found)
{
	struct interface_info *kept = NULL;
	struct if_nameindex *all;
	char lacks[HOST_LACKS_MAX];
	struct host host;
	bool frags, try;
	size_t kept_n = 0;

	host_look(&host);
	host.no_diag = !host_has_diag();
	host.service = host_capabilities(lock_holder(context->state, STATE_SERVICE_LOCK));
	try = !host_lacks_text(&host, lacks)[0];
	frags = host.kernel >= HOST_FRAGS;
	doctor_host(&host, found);
	look_at_pins(context, &host, found);
	if (try)
		frags = look_at_program(&host, found);
	else
		doctor_jit(&host, -1, found);
	look_at_state(context, &host, &kept, &kept_n, found);
	for (int i = 0; i < n; i++)
		look_at(context, &host, names[i], find_kept(kept, kept_n, names[i]), frags, try, false, found);
	all = n ? NULL : interfaces_all();
	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		const struct interface_info *is = find_kept(kept, kept_n, i->if_name);

		if (strcmp(i->if_name, "lo") != 0)
			look_at(context, &host, i->if_name, is, frags, try, !is, found);
	}
	for (size_t i = 0; i < kept_n && !n; i++)
		if (MATCH_LEAVES(kept[i].match))
			look_at_egress(context, kept[i].name, found);
	if (!n)
		look_at_ports(context, found);
	if (all)
		interfaces_free(all);
	free(kept);
	sort(found);
}
