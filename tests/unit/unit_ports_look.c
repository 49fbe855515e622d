// SPDX-License-Identifier: GPL-2.0-only
/* Which interfaces are ports of which, by what the kernel says: its messages are made up, and its failures. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"
#include "base/ports.h"
#include "ktap.h"

struct nl_socket {
	bool open;
};

struct link {
	unsigned int number, above;
	const char *name; /* NULL: it says none */
	size_t length;	  /* of the name, where not with its end */
	const char *kind; /* of what is above; NULL: none */
};

static const struct link *given;
static size_t given_n;
static struct nl_socket the_one;
static int open_err, dump_err;
static bool no_memory;
static const char *its_kind;

static void *given_grow(void *array, size_t n, size_t size)
{
	return no_memory ? NULL : grow(array, n, size);
}

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	if (family != NETLINK_ROUTE || flags || groups)
		abort();
	the_one.open = !open_err;
	*socket = open_err ? NULL : &the_one;
	return open_err;
}

static void given_close(struct nl_socket *socket)
{
	CHECK(socket == &the_one && socket->open, "what is not open is closed");
	socket->open = false;
}

static int given_links(struct nl_socket *socket, netlink_each_fn *each, void *arg)
{
	static char room[256] __attribute__((aligned(NLMSG_ALIGNTO)));

	if (!socket->open)
		abort();
	for (size_t i = 0; i < given_n; i++) {
		struct nlmsghdr *m = nl_put_header(room);
		struct ifinfomsg *is = nl_put_extra(m, sizeof(*is));
		const struct link *link = &given[i];

		is->ifi_index = (int)link->number;
		nl_put_u32(m, IFLA_MTU, 1500);
		if (link->above)
			nl_put_u32(m, IFLA_MASTER, link->above);
		if (link->name)
			nl_put(m, IFLA_IFNAME, link->length ? link->length : strlen(link->name) + 1, link->name);
		if (link->kind) {
			struct nlattr *info = nl_nest_begin(m, IFLA_LINKINFO);

			nl_put(m, IFLA_INFO_KIND, 5, "veth");
			nl_put(m, IFLA_INFO_SLAVE_KIND, strlen(link->kind) + 1, link->kind);
			nl_nest_end(m, info);
		}
		each(arg, m);
	}
	return dump_err;
}

/* There is none of number 9. */
static char *given_name(unsigned int number, char *name)
{
	return number == 9 ? NULL : strcpy(name, number == 3 ? "br0" : "bond0");
}

static unsigned int given_number(const char *name)
{
	return !strcmp(name, "br0") ? 3 : 0;
}

static int given_kind(unsigned int number, char to[NETLINK_KIND_MAX])
{
	if (number != 3)
		abort();
	strcpy(to, its_kind ? its_kind : "bridge");
	return its_kind ? 0 : -ENODEV;
}

#define grow	       given_grow
#define netlink_open   given_open
#define nl_close       given_close
#define netlink_links  given_links
#define netlink_kind   given_kind
#define if_indextoname given_name
#define if_nametoindex given_number
#include "base/ports.c"

/* "eth1 of br0, ..." */
static void look(const struct link *are, size_t n, const char *said)
{
	struct port_of *ports = (struct port_of *)1;
	char text[400] = "";
	size_t all = 99, length = 0;
	int err;

	given = are;
	given_n = n;
	err = ports_look(&ports, &all);
	for (size_t i = 0; i < all; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %u of %s %u", i ? ", " : "",
					   ports[i].name, ports[i].ifindex, ports[i].of, ports[i].above);
	if (err)
		snprintf(text, sizeof(text), "%s", reason(err));
	CHECK(!strcmp(text, said), "'%s', not '%s'", text, said);
	CHECK(!the_one.open && (!err || (!ports && !all)), "something is left");
	free(ports);
}

#define LOOK(said, ...)                                           \
	do {                                                      \
		const struct link are_[] = { __VA_ARGS__ };       \
		look(are_, sizeof(are_) / sizeof(are_[0]), said); \
	} while (0)

static void looked_at(void)
{
	look(NULL, 0, "");
	LOOK("", { 1, 0, "lo", 0, NULL }, { 2, 3, NULL, 0, NULL }, { 4, 3, "", 0, NULL });
	LOOK("e 2 of br0 3", { 2, 3, "e", 0, NULL });
	LOOK("eth1 2 of br0 3", { 2, 3, "eth1", 0, NULL });
	LOOK("eth1 2 of br0 3, eth2 4 of bond0 5", { 2, 3, "eth1", 0, NULL }, { 3, 0, "br0", 0, NULL },
	     { 4, 5, "eth2", 0, NULL });
	/* What is above it has gone meanwhile. */
	LOOK("eth2 4 of br0 3", { 2, 9, "eth1", 0, NULL }, { 4, 3, "eth2", 0, NULL });
	/* One that is said twice is what it was said to be last. */
	LOOK("eth1 2 of br0 3, eth3 6 of br0 3, eth5 8 of bond0 5", { 2, 3, "eth1", 0, NULL },
	     { 6, 5, "eth2", 0, NULL }, { 6, 3, "eth3", 0, NULL }, { 8, 5, "eth5", 0, NULL });
	/* A text without an end is no name. */
	LOOK("", { 2, 3, "eth1", 4, NULL });
}

/* What comes in by a bond's port comes in by the bond, and what by the port of a device of no kind, as hv_netvsc is. */
static void handed_on(void)
{
	static const struct link are[] = {
		{ 2, 3, "a", 0, "bond" }, { 4, 3, "b", 0, "bridge" }, { 5, 3, "c", 0, "team" },
		{ 6, 2, "d", 0, NULL },	  { 7, 6, "e", 0, "vrf" },    { 8, 7, "f", 0, "bond" },
		{ 10, 11, "g", 0, NULL }, { 11, 10, "h", 0, NULL },
	};
	static const struct {
		unsigned int from, to;
		bool is;
	} known[] = { { 2, 3, true },  { 4, 3, false }, { 5, 3, false }, { 6, 2, true },   { 6, 3, true },
		      { 7, 6, false }, { 8, 7, true },	{ 8, 6, false }, { 3, 3, false },  { 2, 2, false },
		      { 2, 6, false }, { 9, 3, false }, { 2, 0, false }, { 10, 11, true }, { 10, 3, false } };
	struct port_of *ports;
	size_t n;

	given = are;
	given_n = sizeof(are) / sizeof(*are);
	if (!CHECK(!ports_look(&ports, &n), "no ports"))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(ports_hand_on(ports, n, known[i].from, known[i].to) == known[i].is, "%u to %u", known[i].from,
		      known[i].to);
	CHECK(!ports_hand_on(NULL, 0, 2, 3), "without any");
	free(ports);
}

static void fails(void)
{
	open_err = -EPERM;
	LOOK("which interfaces are ports: Operation not permitted", { 2, 3, "eth1", 0, NULL });
	open_err = 0;
	dump_err = -EIO;
	LOOK("which interfaces are ports: Input/output error", { 2, 3, "eth1", 0, NULL });
	dump_err = 0;
	no_memory = true;
	LOOK("which interfaces are ports: Cannot allocate memory", { 2, 3, "eth1", 0, NULL },
	     { 4, 3, "eth2", 0, NULL });
	no_memory = false;
}

static void may_have_ports(void)
{
	static const char *const kinds[] = { "bridge", "bond", "team", "vrf" }, *const others[] = { "", "veth",
												    "bridges" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		its_kind = kinds[i];
		CHECK(ports_may("br0"), "a %s has none", its_kind);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		its_kind = others[i];
		CHECK(!ports_may("br0"), "'%s' has some", its_kind);
	}
	CHECK(!ports_may("none"), "what is not there has some");
	its_kind = NULL;
	CHECK(!ports_may("br0"), "what goes away has some");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "ports of what", looked_at },
		{ "what a port hands on", handed_on },
		{ "what fails", fails },
		{ "what may have ports", may_have_ports },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
