// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each driver wants before it runs XDP itself, asked of every one with one thing amiss at a time, and in which
 * words it is said; limits of the MTU by kernel and page are in unit_doctor. Machines and interfaces are made up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kernel/host.h"
#include "kernel/port.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_drivers.txt"
};

static struct shows shows = { .file = "tests/unit/unit_drivers.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct host the_host;
static struct port the_port;
static bool none; /* there is no such interface any more */

static void given_host(struct host *host)
{
	*host = the_host;
}

static int given_port(struct port *port, const char *name)
{
	*port = the_port;
	printf("(looks at %s) ", name);
	return none ? -ENODEV : 0;
}

static void given_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static unsigned int received; /* so many receive; 0: that cannot be changed */

static unsigned int given_queues(const char *name, unsigned int queues)
{
	printf("(%s receives on %s", name, queues ? "" : "all) ");
	if (queues)
		printf("%u) ", queues);
	return received;
}

#define host_look	given_host
#define port_look	given_port
#define port_receive_on given_queues
#define warn		given_warn
#include "kernel/drivers.c"

#define V(major, minor) KERNEL_VERSION(major, minor, 0)

static void begin(void)
{
	the_host = (struct host){ .kernel = V(6, 1), .page = 4096, .cpus = 4 };
	the_port = (struct port){ .name = "eth1", .mtu = 1500, .features = -1 };
	none = false;
}

static void is_driver(const char *driver)
{
	snprintf(the_port.driver, sizeof(the_port.driver), "%s", driver);
}

static void says(const char *what, bool frags)
{
	char text[NATIVE_TEXT_MAX] = "";

	if (native_refused(&the_host, &the_port, frags, text))
		printf("  %s: %s\n", what, text);
	else if (*text)
		printf("  %s: is not refused, and yet: %s\n", what, text);
}

/* One thing amiss each; on the bound, and one above it. */
static void one_thing(void)
{
	static const unsigned int cpus[] = { 64, 65, 128, 129 }, mtus[] = { 1500, 1501, 3046, 3047 };
	const struct port sound = the_port;
	char what[32];

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		the_port.mtu = mtus[i];
		snprintf(what, sizeof(what), "MTU %u", mtus[i]);
		says(what, false);
	}
	the_port = sound;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		the_host.cpus = cpus[i];
		snprintf(what, sizeof(what), "%u CPUs", cpus[i]);
		says(what, true);
	}
	the_host.cpus = 4;
	the_port.lro = true;
	says("LRO", true);
	the_port = sound;
	the_port.gro_hw = true;
	says("GRO", true);
	the_port = sound;
	the_port.host_joins = true;
	says("the host joins", true);
	the_port = sound;
	the_port.has_functions = true;
	says("functions", true);
	the_port = sound;
	the_port.rx = 2;
	says("queues of two kinds", true);
	the_port.tx = 2;
	the_port.tx_most = 4;
	the_port.combined = true;
	says("half of the queues", true);
	the_port.tx_most = 3;
	says("more than half of the queues", true);
	the_port.tx = 1;
	says("more queues to receive on", true);
	the_port = sound;
	the_port.peer_tx = 3;
	snprintf(the_port.peer, sizeof(the_port.peer), "wire0");
	says("the other end sends, and it does not say on how many it receives", true);
	the_port.rx = 2;
	the_port.rx_most = 3;
	the_port.combined = true;
	says("it can have as many queues as the other end", true);
	the_port.rx_most = 2;
	says("fewer queues than the other end", true);
	the_port = sound;
}

static void each_driver(void)
{
	static const unsigned int kernels[] = { V(5, 10), V(5, 11), V(6, 2) };

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (i && !strcmp(drivers[i].name, drivers[i - 1].name))
			continue;
		is_driver(drivers[i].name);
		for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
			the_host.kernel = kernels[k];
			printf("%s, Linux %u.%u: %s, MTU %u, with frags %u\n", drivers[i].name, kernels[k] >> 16,
			       kernels[k] >> 8 & 255, native_known(&the_host, &the_port) ? "known" : "not known",
			       native_mtu(&the_host, &the_port, false), native_mtu(&the_host, &the_port, true));
			if (native_known(&the_host, &the_port))
				one_thing();
			else
				says("MTU 1500", true);
		}
	}
	is_driver("mlx6");
	printf("%s: %s\n", the_port.driver, native_known(&the_host, &the_port) ? "known" : "not known");
	one_thing();
}

static void each_kind(void)
{
	static const char *const others[] = { "", "veth", "bond", "ipvla", "vlan1" };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		snprintf(the_port.kind, sizeof(the_port.kind), "%s", never[i]);
		says(never[i], true);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(the_port.kind, sizeof(the_port.kind), "%s", others[i]);
		says(others[i], true);
	}
	is_driver("a-driver");
	snprintf(the_port.kind, sizeof(the_port.kind), "team");
	says("a team with a driver", true);
	the_port.features = PORT_XDP;
	says("a team that says that it has XDP", true);
	the_port.features = PORT_FRAGS;
	says("a team that says that it has none", true);
	*the_port.driver = *the_port.kind = '\0';
	says("one without a name that says that it has none", true);
}

/* What the driver says of itself, where the table has it too. */
static void each_feature(void)
{
	static const int features[] = { -1, 0, PORT_XDP, PORT_FRAGS, PORT_XDP | PORT_FRAGS, 2 };
	static const char *const names[] = { "veth", "vmxnet3", "e1000e" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t k = 0; k < 2 * sizeof(features) / sizeof(features[0]); k++) {
			is_driver(names[i]);
			the_host.kernel = k % 2 ? V(6, 1) : V(6, 12);
			the_port.features = features[k / 2];
			printf("%s, %s, features %d: %s, MTU %u, with frags %u\n", names[i], k % 2 ? "6.1" : "6.12",
			       the_port.features, native_known(&the_host, &the_port) ? "known" : "not known",
			       native_mtu(&the_host, &the_port, false), native_mtu(&the_host, &the_port, true));
			says("MTU 1500", true);
			the_port.mtu = 9000;
			says("MTU 9000", true);
			the_port.mtu = 1500;
		}
}

static void pages(void)
{
	static const unsigned int sizes[] = { 2048, 4096, 4097, 16384, 65536 };
	static const char *const names[] = { "ena", "igb", "igc", "tun", "e1000e" };

	the_host.kernel = V(6, 12);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		is_driver(names[i]);
		printf("%s:", names[i]);
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			the_host.page = sizes[k];
			printf(" %u", native_mtu(&the_host, &the_port, true));
		}
		putchar('\n');
	}
}

/* Of a veth the MTU of its other end counts, where that is seen. */
static void other_ends(void)
{
	static const char *const kinds[] = { "veth", "vlan" };

	is_driver("veth");
	for (size_t i = 0; i < 8; i++) {
		snprintf(the_port.kind, sizeof(the_port.kind), "%s", kinds[i / 4]);
		the_port.mtu = i & 1 ? 3507 : 3506;
		the_port.peer_mtu = i & 2 ? 4000 : 0;
		printf("%s, MTU %u, the other end's %u\n", the_port.kind, the_port.mtu, the_port.peer_mtu);
		says("refused", false);
	}
}

/* And it is not seen from how many queues that one sends; what the driver says of itself tells. */
static void other_end_away(void)
{
	is_driver("veth");
	the_port.peer_is_away = true;
	for (unsigned int rx = 1; rx <= 2; rx++)
		for (int features = -1; features <= 1; features++) {
			the_port.rx = rx;
			the_port.rx_most = 2;
			the_port.features = features;
			printf("receives on %u of 2, features %d\n", rx, features);
			says("refused", true);
		}
}

static void refused_by(int err, const char *what, bool frags)
{
	char text[NATIVE_TEXT_MAX] = "";

	printf("%s: ", what);
	printf("%s", native_why_not("eth1", err, frags, text) ? text : "who knows?");
	printf("\n  ");
	native_missing("eth1", err, frags);
}

static void refused(const char *what, bool frags)
{
	refused_by(-EOPNOTSUPP, what, frags);
}

static void of_one_that_refused(void)
{
	is_driver("veth");
	the_port.mtu = 9000;
	refused("an MTU too large", false);
	refused("with frags", true);
	the_port.features = 0;
	none = true;
	refused("it is gone", false);
	none = false;
	the_port.features = 0;
	memset(the_port.driver, 'x', sizeof(the_port.driver) - 1);
	refused("a long name", true);
	is_driver("virtio_net");
	the_port.features = -1;
	the_port.host_joins = true;
	refused("many words", true);
	is_driver("veth");
	the_port.rx = the_port.rx_most = 2;
	the_port.mtu = 1500;
	refused_by(-ENOSPC, "both ends are here", true);
	the_port.peer_is_away = true;
	refused_by(-ENOSPC, "queues of an end that is away", true);
	refused_by(-ERANGE, "its MTU", false);
	refused_by(-ENOMEM, "another reason", true);
}

static void room(void)
{
	static const int errors[] = { -ENOSPC, -ERANGE, -EBUSY };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		for (received = 0; received < 2; received++) {
			printf("%s: ", errno_text(errors[i]));
			printf("%u before\n", native_room("eth1", errors[i]));
		}
	printf("in vain: ");
	native_room_end("eth1", 1, -ENOSPC);
	printf("\nnot in vain: ");
	native_room_end("eth1", 1, 0);
}

static void busy(void)
{
	char text[NATIVE_TEXT_MAX];

	printf("not known: %s\n", port_busy(NULL, text));
	printf("no program is seen: %s\n", port_busy(&the_port, text));
	snprintf(the_port.above, sizeof(the_port.above), "a-long-name-br0");
	printf("a port of one without a program: %s\n", port_busy(&the_port, text));
	the_port.above_filtered = true;
	printf("a port of one with a program: %s\n", port_busy(&the_port, text));
	the_port.program = 1;
	printf("and it has one itself: %s\n", port_busy(&the_port, text));
	CHECK(port_busy(&the_port, text) == text, "the words are elsewhere");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "each driver", each_driver },
		{ "each kind", each_kind },
		{ "what it says of itself", each_feature },
		{ "pages", pages },
		{ "the other end of a veth", other_ends },
		{ "the other end is away", other_end_away },
		{ "one that has refused", of_one_that_refused },
		{ "room for its queues", room },
		{ "another program is attached", busy },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
