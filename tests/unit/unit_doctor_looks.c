// SPDX-License-Identifier: GPL-2.0-only
/*
 * What doctor looks at, and what it makes of each answer: the program, the pins, the state, interfaces, and ports that
 * are followed. Kernel and state are made up.
 */
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rights.h"
#include "kernel/attach.h"
#include "kernel/detect.h"
#include "kernel/device.h"
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
#include "shown.h"

static const struct shown known[] = {
#include "unit_doctor_looks.txt"
};

static struct shows shows = { .file = "tests/unit/unit_doctor_looks.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct {
	uint64_t rights, service;
	unsigned int kernel;
	bool mounts, frags, shares, looks_up, dispatcher, followed, no_room;
	bool inner, no_diag;
	const char *unwraps;
	int pins, program, bare_program, shared, state, interfaces, ports, due, jitted;
} world;

static struct made_interface {
	const char *name;
	int may, header, look, behind;
	enum attach_mode mode; /* in which it is filtered */
	const char *why;       /* of may */
	bool bare, misses, outer;
	struct port port;
} made[8];
static struct if_nameindex indexes[9];
static struct interface_info keeps[4], rules[3];
static struct ports_due dues[2];
static size_t keeps_n, rules_n, due_n;
static unsigned int held;

static int fails(int err, const char *what)
{
	return err ? because(err, "%s", what) : 0;
}

static struct made_interface *named(const char *name)
{
	static struct made_interface none = { .look = -ENODEV };

	for (struct made_interface *m = made; m < made + 8 && m->name; m++)
		if (!strncmp(m->name, name, strlen(m->name)) && strchr(" ", name[strlen(m->name)]))
			return m;
	return &none;
}

static void given_host(struct host *host)
{
	*host = (struct host){ .kernel = world.kernel,
			       .release = "invented",
			       .page = 4096,
			       .cpus = 4,
			       .btf = true,
			       .bpf = EINVAL,
			       .jit = 1,
			       .unprivileged = 2,
			       .selinux = HOST_NONE,
			       .unwraps = world.unwraps,
			       .capabilities = world.rights,
			       .service = ~0ULL,
			       .memlock = ~0ULL };
}

static uint64_t given_capabilities(pid_t pid)
{
	return pid == 77 ? world.service : 0;
}

static pid_t given_holder(const char *directory, const char *name)
{
	return !strcmp(directory, "state") && !strcmp(name, STATE_SERVICE_LOCK) ? 77 : 1;
}

static int given_pins(const struct context *context, bool *mounts)
{
	(void)context;
	*mounts = world.mounts;
	return fails(world.pins, "pins cannot be had");
}

static int given_loads(bool bare, struct root_tried *tried)
{
	*tried = (struct root_tried){ .frags = world.frags, .jitted = world.jitted };
	return bare ? fails(world.bare_program, "that root is refused")
		    : fails(world.program, "the program is refused");
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	(void)change;
	*state = NULL;
	held += !world.state;
	return fails(world.state, "no state");
}

static void given_close(struct state *state)
{
	(void)state;
	held -= !world.state;
}

static int given_interfaces(struct state *state, struct interface_info **to, size_t *n)
{
	(void)state;
	if (world.interfaces)
		return fails(world.interfaces, "no interfaces");
	*to = malloc(sizeof(keeps));
	memcpy(*to, keeps, sizeof(keeps));
	*n = keeps_n;
	return 0;
}

static int given_kept(struct ports_kept *to, struct state *state)
{
	(void)state;
	*to = (struct ports_kept){ .rules = rules, .rules_n = rules_n };
	held++;
	return fails(world.ports, "no ports");
}

static void given_kept_free(struct ports_kept *to)
{
	held -= to->rules != NULL;
}

static int given_compare(const struct ports_kept *of, struct port_of **ports, struct ports_due **to, size_t *n)
{
	(void)of;
	*ports = NULL;
	*to = malloc(sizeof(dues));
	memcpy(*to, dues, sizeof(dues));
	*n = due_n;
	return fails(world.due, "no comparison");
}

static int given_may(const struct context *context, const struct attachment *at)
{
	const struct made_interface *m = named(at->name);

	(void)context;
	return m->may ? because(m->may, "%s", m->why ?: "it may not be") : 0;
}

static int given_is(const struct context *context, const char *label, struct attachment *at)
{
	const struct made_interface *m = named(label);

	(void)context;
	*at = (struct attachment){ .behind = (unsigned int)abs(m->behind), .mode = m->mode };
	return m->behind < 0 ? -ENOENT : 0;
}

static int given_header(const struct attachment *at, bool *bare)
{
	*bare = named(at->name)->bare;
	return named(at->name)->header ? because(named(at->name)->header, "%s: no such link", at->name) : 0;
}

static void given_fit(struct attachment *at)
{
	if (named(at->name)->outer)
		at->match = MATCH_COMING(at->match);
}

static int given_look(struct port *port, const char *name)
{
	const struct made_interface *m = named(name);

	*port = m->port;
	snprintf(port->name, sizeof(port->name), "%s", name);
	return m->look ? because(m->look, "%s: there is none", name) : 0;
}

static bool given_misses(const char *name, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	snprintf(text, DEVICE_TEXT_MAX, "its device hides something in %s mode", attach_mode_names[mode]);
	return named(name)->misses;
}

static bool given_round(const char *name, enum attach_mode mode, char text[DEVICE_TEXT_MAX])
{
	snprintf(text, DEVICE_TEXT_MAX, "it is gone round in %s mode", attach_mode_names[mode]);
	return named(name)->misses && mode != MODE_NATIVE;
}

static bool given_there(int ifindex)
{
	return world.dispatcher && ifindex == 9;
}

static int given_allowed(const char *name)
{
	return world.shared ? because(world.shared, "%s: not beside these", name) : 0;
}

static unsigned int given_index(const char *name)
{
	return !strcmp(name, "br0");
}

static struct if_nameindex *given_names(void)
{
	for (size_t i = 0; i < 8 && made[i].name; i++)
		indexes[i] = (struct if_nameindex){ (unsigned int)i + 1, (char *)(uintptr_t)made[i].name };
	held++;
	return indexes;
}

static void given_names_end(struct if_nameindex *all)
{
	(void)all;
	held--;
}

static bool given_lock(const char *directory, const char *name)
{
	return world.followed && given_holder(directory, name) == 77;
}

static struct settings given_settings(struct state *state)
{
	(void)state;
	return (struct settings){ .inner = world.inner };
}

#define settings_read	   given_settings
#define host_look	   given_host
#define host_capabilities  given_capabilities
#define host_has_diag()	   (!world.no_diag)
#define lock_holder	   given_holder
#define lock_is_held	   given_lock
#define memory_available() (1ULL << 30)
#define pins_may	   given_pins
#define root_loads	   given_loads
#define shared_possible()  (world.shares)
#define shared_is_there	   given_there
#define shared_allowed	   given_allowed
#define kernel_looks_up()  (world.looks_up)
#define state_open	   given_open
#define state_close	   given_close
#define state_interfaces   given_interfaces
#define ports_kept_take	   given_kept
#define ports_kept_free	   given_kept_free
#define ports_compare	   given_compare
#define attach_may	   given_may
#define attach_is	   given_is
#define link_header	   given_header
#define link_fit	   given_fit
#define port_look	   given_look
#define device_misses	   given_misses
#define device_gone_round  given_round
#define if_nametoindex	   given_index
#define interfaces_all()   given_names()
#define interfaces_free	   given_names_end
#undef GROW
#define GROW(array, n) (!world.no_room && ((array) = grow(array, n, sizeof(*(array)))))
#include "observe/doctor.c"

static struct context context = CONTEXT_DEFAULT;

static void begin(void)
{
	memset(&world, 0, sizeof(world));
	memset(made, 0, sizeof(made));
	memset(indexes, 0, sizeof(indexes));
	world.rights = world.service = ~0ULL;
	world.kernel = KERNEL_VERSION(6, 1, 0);
	world.frags = world.shares = world.looks_up = true;
	world.jitted = 1;
	keeps_n = rules_n = due_n = held = 0;
	context.state = "state";
	context.bpffs = "pins";
}

/* only: of all that is no interface, these. */
static void looks(const char *what, char *const *of, int n, const char *only)
{
	struct findings found = { 0 };

	doctor(&context, of, n, &found);
	printf("-- %s\n", what);
	for (size_t i = 0; i < found.n; i++)
		if (!only || found.of[i].is_interface || strstr(only, found.of[i].about))
			printf("%s%s %s: %s\n", finding_levels[found.of[i].level],
			       found.of[i].is_interface ? ", interface" : "", found.of[i].about, found.of[i].text);
	if (held)
		printf("%u are not given back\n", held);
	if (found.lost)
		puts("some are lost");
	free(found.of);
}

static void machine(void)
{
	looks("all is well", NULL, 0, NULL);
	world.service = 0;
	looks("a service without rights", NULL, 0, NULL);
	world.rights = 0;
	world.kernel = HOST_FRAGS - 1;
	looks("no rights", NULL, 0, NULL);
	world.no_room = true;
	looks("no memory", NULL, 0, NULL);
}

static void pins(void)
{
	static const int errors[] = { -EACCES, -EPERM, -EIO, 0 };

	for (size_t i = 0; i < 4; i++) {
		world.pins = errors[i];
		looks("pins", NULL, 0, "bpffs");
	}
	world.mounts = true;
	looks("not mounted", NULL, 0, "bpffs");
	world.rights = ~(1ULL << CAP_SYS_ADMIN);
	looks("not mounted, and no right to", NULL, 0, "bpffs");
	world.mounts = false;
	looks("mounted, and no right to", NULL, 0, "bpffs");
}

static void program(void)
{
	static const char about[] = "program JIT --shared detect";

	looks("all", NULL, 0, about);
	world.frags = world.shares = world.looks_up = false;
	world.jitted = 0;
	looks("hardly anything", NULL, 0, about);
	world.program = -EINVAL;
	looks("refused", NULL, 0, about);
}

static void state(void)
{
	static const int errors[] = { -EACCES, -EPERM, -EIO };

	for (size_t i = 0; i < 3; i++) {
		world.state = errors[i];
		looks("to open", NULL, 0, "state");
		world.state = 0;
		world.interfaces = errors[i];
		looks("to read", NULL, 0, "state");
		world.interfaces = 0;
	}
}

static void unwraps(void)
{
	world.unwraps = "seg6_enabled";
	looks("routing headers are taken off", NULL, 0, "IPv6");
	world.inner = true;
	looks("and looked behind", NULL, 0, "IPv6");
	world.inner = false;
	world.no_diag = true;
	looks("sockets cannot be asked about", NULL, 0, "sockets");
	world.state = -EACCES;
	looks("or who knows?", NULL, 0, "IPv6");
}

static struct port port(const char *driver, unsigned int mtu)
{
	struct port p = { .ifindex = 9, .mtu = mtu, .features = -1 };

	snprintf(p.driver, sizeof(p.driver), "%s", driver);
	return p;
}

static void made_interfaces(void)
{
	made[0] = (struct made_interface){ .name = "lo", .port = port("veth", 1500) };
	made[1] = (struct made_interface){ .name = "eth0", .port = port("veth", 1500) };
	made[2] = (struct made_interface){ .name = "eth1", .port = port("veth", 9000) };
	made[3] = (struct made_interface){
		.name = "eth2", .may = -EACCES, .port = port("of_no_note", 1500), .misses = true
	};
	made[4] = (struct made_interface){ .name = "eth3", .may = -EPERM, .bare = true, .port = port("", 1500) };
	made[5] = (struct made_interface){ .name = "eth4", .may = -EIO, .why = "eth4: it is broken", .misses = true };
	made[6] = (struct made_interface){ .name = "eth5", .look = -ENODEV };
	made[7] = (struct made_interface){ .name = "eth6", .header = -EOPNOTSUPP, .port = port("", 1500) };
}

static void interfaces(void)
{
	char *const two[] = { (char[]){ "eth4" }, (char[]){ "eth1" }, (char[]){ "nowhere" } };

	made_interfaces();
	looks("all", NULL, 0, "none");
	looks("three", two, 3, "none");
	world.frags = false;
	world.bare_program = -EINVAL;
	looks("without what is large", NULL, 0, "none");
	world.rights = 0;
	world.kernel = HOST_FRAGS;
	looks("without rights", NULL, 0, "none");
	world.kernel = HOST_FRAGS - 1;
	looks("an older kernel, without rights", NULL, 0, "none");
	made[2].port.driver[0] = made[3].port.driver[0] = '\0';
	looks("no names of drivers", NULL, 0, "none");
}

/* What is kept can be a problem; of others only a note. */
static void kept_ones(void)
{
	char *const one[] = { (char[]){ "eth4" } };

	made_interfaces();
	keeps[0] = (struct interface_info){ .name = "eth4" };
	keeps[1] = (struct interface_info){ .name = "eth1", .match = MATCH_COMING(MATCH_SOURCE) };
	keeps[2] = (struct interface_info){ .name = "eth0", .match = MATCH_LEAVING(MATCH_DESTINATION) };
	keeps[3] = (struct interface_info){ .name = "eth4", .match = MATCH_LEAVING(MATCH_DESTINATION) };
	for (keeps_n = 0; keeps_n <= 4; keeps_n++)
		looks("some are kept", NULL, 0, "eth0 egress, eth4 egress");
	keeps_n = 4;
	looks("one is named", one, 1, "none");
}

static void busy(void)
{
	made[0] = (struct made_interface){ .name = "eth0", .port = port("veth", 1500) };
	made[0].port.program = 5;
	looks("another program", NULL, 0, "none");
	world.dispatcher = true;
	looks("a dispatcher", NULL, 0, "none");
	world.shared = -EBUSY;
	looks("a dispatcher that is full", NULL, 0, "none");
	made[0].port.program = 0;
	made[0].port.above_filtered = true;
	strcpy(made[0].port.above, "br0");
	looks("what it is a port of", NULL, 0, "none");
	made[0].port.ifindex = 8;
	made[0].port.program = 5;
	looks("a dispatcher elsewhere", NULL, 0, "none");
	keeps[0] = (struct interface_info){ .name = "eth0", .match = MATCH_COMING(MATCH_SOURCE) };
	keeps_n = 1;
	made[0].misses = true;
	looks("by tc it may be", NULL, 0, "none");
	keeps_n = 0;
	made[0] = (struct made_interface){ .name = "gre1", .bare = true, .outer = true, .port = port("", 1476) };
	looks("an outer header", NULL, 0, "none");
}

static void filtered(void)
{
	made[0] = (struct made_interface){
		.name = "eth0", .may = -EEXIST, .why = "eth0: filtered already", .misses = true, .mode = MODE_NATIVE
	};
	keeps[0] = (struct interface_info){ .name = "eth0" };
	keeps[1] = (struct interface_info){ .name = "eth0", .match = MATCH_LEAVING(MATCH_DESTINATION) };
	keeps_n = 2;
	looks("it is the first", NULL, 0, "eth0 egress");
	made[0].mode = MODE_SKB;
	looks("in skb mode", NULL, 0, "eth0 egress");
	made[0].behind = 2;
	looks("it is not the first", NULL, 0, "eth0 egress");
	made[0].behind = -1;
	looks("whether it is cannot be seen", NULL, 0, "eth0 egress");
	made[0].may = -EIO;
	made[0].why = "eth0: broken";
	looks("it cannot be", NULL, 0, "eth0 egress");
}

static void ports(void)
{
	static const char about[] = "eth1, eth2 egress, ports of br0 egress, ports of br1 egress";

	rules[0] = (struct interface_info){ .name = "br0" };
	rules[1] = (struct interface_info){ .name = "br1", .match = MATCH_LEAVING(MATCH_DESTINATION) };
	rules[2] = (struct interface_info){ .name = "br0", .match = MATCH_LEAVING(MATCH_DESTINATION) };
	dues[0] = (struct ports_due){ .name = "eth1", .of = &rules[0] };
	dues[1] = (struct ports_due){ .name = "eth2", .leaves = true };
	for (rules_n = 0; rules_n <= 3; rules_n++) {
		due_n = rules_n < 2 ? rules_n : 2;
		looks("not followed", NULL, 0, about);
	}
	rules_n = 3;
	world.followed = true;
	looks("followed", NULL, 0, about);
	world.ports = -EIO;
	looks("they cannot be read", NULL, 0, about);
	world.ports = 0;
	world.due = -EIO;
	looks("they cannot be compared", NULL, 0, about);
	{
		char *const one[] = { (char[]){ "eth4" } };

		looks("others were named", one, 1, about);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "machine", machine },	      { "pins", pins },	      { "program", program }, { "state", state },
		{ "interfaces", interfaces }, { "kept", kept_ones },  { "busy", busy },	      { "filtered", filtered },
		{ "ports", ports },	      { "unwraps", unwraps },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
