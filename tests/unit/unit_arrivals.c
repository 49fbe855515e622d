// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces that the filter should be on: which that come are reported, once and again later, and what follows their
 * names; the kernel's messages, its interfaces and the state are made up, and what is done is kept word for word.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/netlink.h"
#include "base/ports.h"
#include "kernel/attach.h"
#include "kernel/detect_in_force.h"
#include "kernel/dispatcher.h"
#include "kernel/port.h"
#include "kernel/scopes.h"
#include "service/arrivals.h"
#include "state/limits.h"
#include "state/ports.h"
#include "state/proven.h"
#include "state/reserve.h"
#include "state/state.h"
#include "model_clock.h"
#include "shown.h"

#define MOST 4

static const struct context own_context = CONTEXT_DEFAULT;
static char handles[4];

#define STATE  ((struct state *)&handles[1])
#define SOCKET ((struct nl_socket *)&handles[2])

/* What the kernel has. */
static struct {
	const char *name;
	unsigned int number;
} links[MOST];
static struct attachment attached[MOST];
static size_t attached_n;
/* What the state has. */
static struct interface_info interfaces[MOST];
static size_t interfaces_n;
static const char *proven_are[MOST], *scopes[MOST];
static struct limits limits_are;
/* Ports that have come or gone. */
static struct ports_due ports_are[MOST];
static size_t ports_n;
static struct interface_info rules[] = { { .name = "br0" } };
/* What fails. */
static int open_err, attach_err, follow_err, scopes_err, proven_err, lists_err, interfaces_err, ports_err, take_err;
static bool no_memory, no_pins, is_full;
/* What is read of the socket. */
static struct {
	char bytes[512] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t n;
	int err;
} reads[MOST];
static size_t read_next, reads_n;
static bool endless;		     /* the last of them comes again and again */
static unsigned int received, asked; /* messages that were read, and how often it was asked what is attached */
static int taken;		     /* what the state says of ports, and is not freed */

static void expects(bool holds, const char *what)
{
	if (!holds)
		line("NOT: %s", what);
}

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	expects(family == NETLINK_ROUTE && flags == SOCK_NONBLOCK && groups == RTMGRP_LINK, "messages of links");
	*socket = open_err ? NULL : SOCKET;
	return open_err ? because(open_err, "no socket") : 0;
}

static void given_close(struct nl_socket *socket)
{
	expects(socket == SOCKET, "its socket");
	line("the socket is closed");
}

static int given_fd(const struct nl_socket *socket)
{
	expects(socket == SOCKET, "its socket");
	return 7;
}

static ssize_t given_receive(const struct nl_socket *socket, void *room, size_t size)
{
	size_t i = read_next;

	expects(socket == SOCKET && size >= sizeof(reads[i].bytes), "room for messages");
	errno = EAGAIN;
	if (i == reads_n)
		return -1;
	received++;
	read_next += !endless || i + 1 < reads_n;
	errno = reads[i].err;
	if (reads[i].err)
		return -1;
	memcpy(room, reads[i].bytes, sizeof(reads[i].bytes));
	return reads[i].n;
}

static unsigned int given_number(const char *name)
{
	expects(*name, "an interface's name");
	for (size_t i = 0; i < MOST && links[i].name; i++)
		if (!strcmp(links[i].name, name))
			return links[i].number;
	return 0;
}

/* Another name, and that of its interface. */
static const char *other_is, *of_other;

static bool given_other(const char *name, char own_is[IF_NAMESIZE])
{
	if (!other_is || strcmp(other_is, name) != 0)
		return false;
	strcpy(own_is, of_other);
	return true;
}

static bool no_ports;

static bool given_may_have(const char *name)
{
	expects(!strcmp(name, of_other), "its own name");
	return !no_ports;
}

static int given_attached(const struct context *context, struct attachment **list, size_t *n)
{
	expects(context == &own_context, "its interfaces");
	asked++;
	*list = NULL;
	*n = 0;
	if (attach_err)
		return because(attach_err, "no pins");
	*n = attached_n;
	*list = malloc(sizeof(attached));
	memcpy(*list, attached, sizeof(attached));
	return 0;
}

static const char *refused; /* what cannot be attached, whatever is there */

static int given_may(const struct context *context, const struct attachment *at)
{
	expects(context == &own_context && at->name[0], "its interface");
	return refused ? because(-EOPNOTSUPP, "%s: %s", at->name, refused) : 0;
}

/* Another's programs, or that of what it is a port of. */
static unsigned int program, dispatcher;
static bool above;

static int given_look(struct port *port, const char *name)
{
	*port = (struct port){ .ifindex = given_number(name), .program = program, .above_filtered = above };
	strcpy(port->above, "br0");
	return port->ifindex ? 0 : -ENODEV;
}

static bool given_shared(int ifindex)
{
	return ifindex == (int)dispatcher;
}

static int given_follow(const struct context *context, const struct proven *its, size_t n)
{
	expects(context == &own_context, "its detector");
	begin_line();
	printf("the detector follows:");
	for (size_t i = 0; i < n; i++)
		printf(" %s", its[i].name);
	putchar('\n');
	return follow_err ? because(follow_err, "the detector: %s", errno_text(follow_err)) : 0;
}

static int given_scopes(const struct context *context)
{
	expects(context == &own_context, "its scopes");
	line("lists follow");
	return scopes_err ? because(scopes_err, "scopes: %s", errno_text(scopes_err)) : 0;
}

static struct limits given_limits(struct state *state)
{
	expects(state == STATE, "its limits");
	return limits_are;
}

static int given_proven(struct state *state, struct proven **its, size_t *n)
{
	expects(state == STATE, "who is proven");
	if (proven_err)
		return proven_err;
	*its = calloc(MOST, sizeof(**its));
	for (*n = 0; *n < MOST && proven_are[*n]; ++*n)
		strcpy((*its)[*n].name, proven_are[*n]);
	return 0;
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	expects(state == STATE, "its lists");
	if (lists_err)
		return lists_err;
	*lists = calloc(MOST, sizeof(**lists));
	for (*n = 0; *n < MOST && scopes[*n]; ++*n)
		strcpy((*lists)[*n].scope, scopes[*n]);
	return 0;
}

static int given_interfaces(struct state *state, struct interface_info **its, size_t *n)
{
	expects(state == STATE, "its interfaces");
	if (interfaces_err)
		return interfaces_err;
	*n = interfaces_n;
	*its = malloc(sizeof(interfaces));
	memcpy(*its, interfaces, sizeof(interfaces));
	return 0;
}

static int given_compare(const struct ports_kept *its_ports, struct port_of **ports, struct ports_due **its, size_t *n)
{
	expects(its_ports->rules_n == (size_t)taken, "what the state says of ports");
	*ports = malloc(1);
	*its = malloc(sizeof(ports_are));
	memcpy(*its, ports_are, sizeof(ports_are));
	*n = ports_n;
	return ports_err;
}

static int given_take(struct ports_kept *its_ports, struct state *state)
{
	expects(state == STATE && !taken, "its ports");
	taken++;
	*its_ports = (struct ports_kept){ .rules = rules, .rules_n = 1 };
	return take_err;
}

static void given_forget(struct ports_kept *its_ports)
{
	expects(its_ports->rules_n == (size_t)taken, "its ports");
	its_ports->rules_n = 0;
	taken = 0;
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

static bool given_pins(const struct context *its)
{
	(void)its;
	return !no_pins;
}

/* Of what was attached ahead. */
static bool nobody_was_asked;

static bool given_waits(const struct context *its)
{
	(void)its;
	return nobody_was_asked;
}

static bool given_is_full(const char *directory)
{
	if (strcmp(directory, own_context.state) != 0)
		line("NOT: its state's disk");
	return is_full;
}

static void given_fit(struct attachment *at)
{
	(void)at;
}

#define ahead_waits	     given_waits
#define netlink_open	     given_open
#define nl_close	     given_close
#define nl_fd		     given_fd
#define nl_receive	     given_receive
#define if_nametoindex	     given_number
#define is_other_name	     given_other
#define ports_may	     given_may_have
#define attach_list	     given_attached
#define pins_are_there	     given_pins
#define attach_may	     given_may
#define port_look	     given_look
#define link_fit	     given_fit
#define shared_is_there	     given_shared
#define kernel_follow	     given_follow
#define kernel_scopes_follow given_scopes
#define state_limits	     given_limits
#define state_proven	     given_proven
#define state_lists	     given_lists
#define state_interfaces     given_interfaces
#define ports_compare	     given_compare
#define ports_kept_take	     given_take
#define ports_kept_free	     given_forget
#define reserve_is_needed    given_is_full
#define calloc		     given_calloc
#define warn		     given_warn
static bool no_room;
#undef GROW
#define GROW(array, n) (!no_room && ((array) = grow(array, n, sizeof(*(array)))))
#include "observe/unfiltered.c"
#include "service/arrivals.c"

static const struct shown known[] = {
#include "unit_arrivals.txt"
};

static struct shows shows = { .file = "tests/unit/unit_arrivals.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct arrivals *a;

/* --- What is made up --- */

static void link_is(const char *name, unsigned int number)
{
	size_t i = 0;

	while (links[i].name && strcmp(links[i].name, name) != 0)
		i++;
	links[i].name = name;
	links[i].number = number;
}

static struct attachment *attach(const char *name, unsigned int match)
{
	struct attachment *is = &attached[attached_n++];

	*is = (struct attachment){ .match = match };
	strcpy(is->name, name);
	return is;
}

static void keep(const char *name, unsigned int match)
{
	strcpy(interfaces[interfaces_n].name, name);
	interfaces[interfaces_n++].match = match;
}

static void expect(void)
{
	int err = arrivals_expect(a, STATE);

	line("expects %zu interfaces: %s", a->n, err ? reason(err) : "done");
}

static void came(void)
{
	if (arrivals_came(a, now_ms))
		line("restore has to run");
	else
		line("nothing came");
}

static void after(int64_t ms)
{
	now_ms += ms;
	came();
}

static void left(void)
{
	bool open = arrivals_left_open(a, now_ms);

	if (arrivals_due(a, now_ms) == INT64_MAX)
		line("%s open, nothing is tried again", open ? "left" : "nothing");
	else
		line("%s open, again in %lld", open ? "left" : "nothing",
		     (long long)(arrivals_due(a, now_ms) - now_ms));
}

/* Which of them restore could not attach. */
static void unfiltered_are(void)
{
	char text[UNFILTERED_TEXT_MAX];
	struct unfiltered *list = NULL;
	size_t n = 0;
	int err = arrivals_unfiltered(a, &list, &n);

	if (err || !n)
		line("%s", err ? reason(err) : "none is unfiltered");
	for (size_t i = 0; i < n; i++)
		line("%s", unfiltered_text(text, &list[i]));
	free(list);
}

/* Into the next message that is read: of that type, with a name. */
static void message(uint16_t type, const char *name)
{
	static const uint32_t mtu = 1500;
	char *at = reads[reads_n].bytes + reads[reads_n].n;
	struct nlmsghdr *m = nl_put_header(at);

	m->nlmsg_type = type;
	nl_put_extra(m, sizeof(struct ifinfomsg));
	nl_put(m, IFLA_MTU, sizeof(mtu), &mtu);
	nl_put(m, IFLA_IFNAME, strlen(name) + 1, name);
	reads[reads_n].n += m->nlmsg_len;
}

static struct nlmsghdr *last(void)
{
	return (struct nlmsghdr *)reads[reads_n].bytes;
}

static void all_read(void)
{
	expects(read_next == reads_n, "all is read");
	memset(reads, 0, sizeof(reads));
	read_next = reads_n = 0;
	a->rested = 0; /* but for without_pause() each is the only one */
}

static void reads_now(void)
{
	arrivals_read(a, now_ms);
	all_read();
	came();
}

static void news_of(const char *name)
{
	message(RTM_NEWLINK, name);
	reads_n++;
	line("a message of %s", name);
	reads_now();
}

/* --- What happens --- */

static void comes(void)
{
	struct attachment *at;

	keep("eth0", MATCH_SOURCE);
	keep("eth1", MATCH_LEAVING(MATCH_SOURCE));
	link_is("lo", 1);
	expect();
	came();
	news_of("lo");
	news_of("eth0");
	link_is("eth0", 3);
	news_of("lo");
	news_of("eth0");
	news_of("eth0");
	link_is("eth0", 4);
	news_of("eth0");
	attach("eth0", MATCH_LEAVING(MATCH_DESTINATION));
	link_is("eth0", 5);
	news_of("eth0");
	at = attach("eth0", MATCH_COMING(MATCH_DESTINATION));
	link_is("eth0", 6);
	news_of("eth0");
	at->gone = true;
	news_of("eth0");
	at->gone = false;
	at->moved = true;
	link_is("eth0", 7);
	news_of("eth0");
	strcpy(at->name, "eth2");
	at->moved = false;
	link_is("eth0", 8);
	news_of("eth0");
	/* What is not known is not reported. */
	attach_err = -EACCES;
	link_is("eth0", 9);
	news_of("eth0");
	attach_err = 0;
	news_of("eth0");
	/* And what leaves. */
	link_is("eth1", 20);
	news_of("eth1");
	attach("eth1", MATCH_LEAVING(MATCH_BOTH));
	link_is("eth1", 21);
	news_of("eth1");
	attached[attached_n - 1].match = MATCH_SOURCE;
	news_of("eth1");
}

/* That one has gone, says a bridge or everybody. */
static void gone_of(unsigned char family, int number)
{
	struct ifinfomsg *link;

	message(RTM_DELLINK, "eth0");
	link = (struct ifinfomsg *)((char *)last() + NLMSG_HDRLEN);
	link->ifi_family = family;
	link->ifi_index = number;
	reads_n++;
	message(RTM_NEWLINK, "eth0");
	reads_n++;
	line("a message that %d has gone%s", number, family ? " from a bridge" : "");
	reads_now();
}

/* All is filtered, and the restore that attached it ended before it asked. */
static void nobody_asked(void)
{
	keep("eth0", MATCH_SOURCE);
	link_is("eth0", 3);
	attach("eth0", MATCH_SOURCE);
	expect();
	came();
	nobody_was_asked = true;
	left();
	after(1000);
	after(4000);
	left();
	nobody_was_asked = false;
	after(10000);
	left();
}

/* It comes again, and has the number that it had. */
static void same_number(void)
{
	keep("eth0", MATCH_SOURCE);
	link_is("eth0", 3);
	expect();
	came();
	left();
	no_room = true;
	unfiltered_are();
	no_room = false;
	unfiltered_are();
	line("another has gone, or it has gone from a bridge");
	gone_of(AF_UNSPEC, 4);
	gone_of(AF_BRIDGE, 3);
	unfiltered_are();
	line("it has gone, and is there again before that is read");
	gone_of(AF_UNSPEC, 3);
	unfiltered_are();
	news_of("eth0");
	left();
	unfiltered_are();
	line("its name is nobody's meanwhile");
	link_is("eth0", 0);
	news_of("eth0");
	link_is("eth0", 3);
	unfiltered_are();
	news_of("eth0");
	news_of("eth0");
	left();
	line("a restore has found it gone");
	link_is("eth0", 0);
	left();
	link_is("eth0", 3);
	news_of("eth0");
	line("it was attached");
	attach("eth0", MATCH_SOURCE);
	left();
	attached_n = 0;
	news_of("eth0");
	attached_n = 1;
	expect();
	attached_n = 0;
	news_of("eth0");
	news_of("eth0");
	line("whether it is cannot be told");
	attach_err = -EACCES;
	left();
	news_of("eth0");
	attach_err = 0;
	news_of("eth0");
}

/* What is remembered by a name that an interface has beside its own. */
static void by_other_name(void)
{
	keep("lan0", MATCH_SOURCE);
	expect();
	link_is("eth0", 3);
	news_of("eth0");
	link_is("lan0", 3);
	other_is = "lan0";
	of_other = "eth0";
	news_of("lo");
	news_of("eth0");
	left();
	unfiltered_are();
	attach("eth0", MATCH_SOURCE);
	unfiltered_are();
	left();
	news_of("eth0");
	strcpy(interfaces[0].name, "eth0");
	expect();
	came();
	line("an interface that was attached as that has gone");
	strcpy(interfaces[0].name, "lan0");
	attached_n = 0;
	expect();
	came();
	attach("lan0", MATCH_SOURCE)->gone = true;
	strcpy(attached[0].as, "lan0");
	link_is("lan0", 9);
	link_is("eth0", 9);
	news_of("eth0");
	left();
	unfiltered_are();
	link_is("eth0", 0);
	other_is = NULL;
	link_is("lan0", 10);
	news_of("lan0");
	attached[0].gone = false;
	strcpy(attached[0].name, "lan0");
	line("what has ports");
	other_is = "br0";
	of_other = "edge0";
	reads_now();
	reads_now();
	line("what has none");
	no_ports = true;
	left();
	no_ports = false;
	of_other = "edge1";
	reads_now();
}

static void count(void)
{
	size_t of, n = arrivals_attached(a, &of);

	line("%zu of %zu", n, of);
}

/* One that is there before it is looked. */
static void there(void)
{
	link_is("eth0", 3);
	link_is("eth1", 4);
	keep("eth0", MATCH_SOURCE);
	keep("eth1", MATCH_SOURCE);
	attach("eth1", MATCH_SOURCE);
	line("fd %d", arrivals_fd(a, now_ms));
	count();
	expect();
	came();
	came();
	count();
	/* The same again; in the other direction; and gone, and there again. */
	expect();
	came();
	interfaces[0].match = MATCH_DESTINATION;
	expect();
	came();
	interfaces[0].match = MATCH_LEAVING(MATCH_SOURCE);
	expect();
	came();
	strcpy(interfaces[0].name, "eth2");
	expect();
	came();
	strcpy(interfaces[0].name, "eth0");
	expect();
	came();
	attached_n = 0;
	count();
	expect();
	came();
	interfaces_n = 0;
	expect();
	came();
	count();
}

static void messages(void)
{
	keep("eth0", MATCH_SOURCE);
	keep("eth1", MATCH_SOURCE);
	expect();
	link_is("eth0", 3);
	link_is("eth1", 4);
	line("nothing to read");
	reads_now();
	line("of another kind");
	message(RTM_DELLINK, "eth0");
	reads_n++;
	message(RTM_NEWADDR, "eth0");
	reads_n++;
	reads_now();
	line("without a whole header");
	message(RTM_NEWLINK, "eth0");
	last()->nlmsg_len = NLMSG_HDRLEN + sizeof(struct ifinfomsg) - 1;
	reads_n++;
	message(RTM_NEWLINK, "eth0");
	reads[reads_n].n--;
	reads_n++;
	reads_now();
	line("without a name");
	message(RTM_NEWLINK, "eth0");
	last()->nlmsg_len = NLMSG_HDRLEN + sizeof(struct ifinfomsg);
	reads_n++;
	message(RTM_NEWLINK, "eth0");
	last()->nlmsg_len -= NLA_ALIGN(NLA_HDRLEN + sizeof("eth0"));
	reads_n++;
	line("with one that does not end");
	nl_put(nl_put_header(last()), IFLA_IFNAME, 0, "");
	last()->nlmsg_type = RTM_NEWLINK;
	last()->nlmsg_len = NLMSG_HDRLEN;
	nl_put_extra(last(), sizeof(struct ifinfomsg));
	nl_put(last(), IFLA_IFNAME, 4, "eth0");
	reads[reads_n].n = last()->nlmsg_len;
	reads_n++;
	reads_now();
	line("the second message of the second read");
	message(RTM_NEWLINK, "eth2");
	reads_n++;
	message(RTM_NEWLINK, "lo");
	message(RTM_NEWLINK, "eth0");
	reads_n++;
	reads_now();
	line("messages were lost, and more follow");
	link_is("eth0", 5);
	reads[reads_n++].err = ENOBUFS;
	message(RTM_NEWLINK, "lo");
	reads_n++;
	reads_now();
	line("a message is longer than its room");
	link_is("eth0", 6);
	reads[reads_n++].err = EMSGSIZE;
	reads_now();
	line("they cannot be read");
	link_is("eth0", 7);
	reads[reads_n++].err = EBADF;
	reads_now();
}

static void again(void)
{
	keep("eth0", MATCH_SOURCE);
	link_is("eth0", 3);
	expect();
	left();
	came();
	left();
	after(9999);
	after(1);
	came();
	for (int i = 0; i < 8; i++) {
		left();
		after(arrivals_due(a, now_ms) - now_ms);
	}
	left();
	/* The disk has become full, and has room again. */
	is_full = true;
	left();
	after(20000);
	left();
	is_full = false;
	after(20000);
	left();
	attach("eth0", MATCH_SOURCE);
	left();
	after(600000);
	/* From the beginning. */
	attached_n = 0;
	left();
	link_is("eth0", 0);
	after(4999);
	after(1);
	left();
	link_is("eth0", 3);
	attach_err = -EACCES;
	left();
	attach_err = 0;
	ports_n = 1;
	attach("eth0", MATCH_SOURCE);
	left();
	after(5000);
	ports_n = 0;
	left();
	/* One of several. */
	keep("eth1", MATCH_SOURCE);
	link_is("eth1", 4);
	expect();
	came();
	expect();
	came();
	left();
}

static void not_read(void)
{
	keep("eth0", MATCH_SOURCE);
	link_is("eth0", 3);
	limits_are.on = true;
	proven_err = -EUCLEAN;
	expect();
	proven_err = 0;
	interfaces_err = -EIO;
	expect();
	interfaces_err = 0;
	no_memory = true;
	expect();
	no_memory = false;
	take_err = -EACCES;
	expect();
	came();
	take_err = 0;
	ports_err = -EPERM;
	ports_n = 1;
	expect();
	came();
	/* What was known stays. */
	keep("eth1", MATCH_SOURCE);
	link_is("eth0", 4);
	interfaces_err = -EIO;
	expect();
	news_of("eth0");
	link_is("eth0", 5);
	interfaces_err = 0;
	take_err = -EIO;
	expect();
	news_of("eth0");
}

static void followed(void)
{
	expect();
	line("the detector is on");
	limits_are.on = true;
	expect();
	proven_are[0] = "eth0";
	proven_are[1] = "eth1";
	expect();
	news_of("eth0");
	proven_are[0] = NULL;
	limits_are.interfaces = 1;
	expect();
	limits_are.on = false;
	proven_are[0] = "eth0";
	expect();
	limits_are.on = true;
	limits_are.interfaces = 0;
	line("it cannot follow");
	follow_err = -EACCES;
	expect();
	news_of("eth0");
	follow_err = -ENOMEM;
	news_of("eth0");
	scopes[0] = "on eth0";
	expect();
	follow_err = 0;
	news_of("eth0");
	scopes_err = -ENOMEM;
	news_of("eth0");
	news_of("eth0");
	scopes_err = 0;
	news_of("eth0");
	scopes_err = -ENOMEM;
	news_of("eth0");
	scopes_err = 0;
	limits_are.on = false;
	line("lists alone");
	expect();
	scopes[0] = "tcp to 443";
	scopes[1] = "udp on eth1";
	expect();
	scopes[1] = "only";
	scopes[2] = "upon x";
	expect();
	scopes[0] = "on eth0";
	expect();
	lists_err = -EIO;
	expect();
}

static void port_is(size_t i, const char *name, bool leaves, bool comes)
{
	ports_are[i] = (struct ports_due){ .name = name, .of = comes ? rules : NULL, .leaves = leaves };
	ports_n = i + 1;
}

/* Each is another than the one before. */
static void ports(void)
{
	static const struct {
		const char *name;
		bool leaves, comes;
	} one[] = { { "a", false, false }, { "a", false, true },  { "a", true, true },	{ "a", true, false },
		    { "c", false, false }, { "a", true, false },  { "a", false, true }, { "b", false, true },
		    { "ab", false, true }, { "ba", false, true }, { "", false, false } };

	expect();
	came();
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		port_is(0, one[i].name, one[i].leaves, one[i].comes);
		line("due: '%s'%s%s", one[i].name, one[i].leaves ? ", what leaves" : "",
		     one[i].comes ? ", by a rule" : "");
		reads_now();
		reads_now();
	}
	line("two, and in the other order");
	port_is(0, "a", false, true);
	port_is(1, "b", false, true);
	reads_now();
	reads_now();
	port_is(0, "b", false, true);
	port_is(1, "a", false, true);
	reads_now();
	line("they cannot be compared");
	ports_err = -EPERM;
	ports_are[0].name = "c";
	reads_now();
	ports_err = 0;
	line("none, and one again");
	ports_n = 0;
	reads_now();
	port_is(0, "a", false, true);
	reads_now();
	line("at a look");
	expect();
	came();
	port_is(0, "b", false, true);
	expect();
	came();
	left();
	after(4999);
	after(1);
	left();
	reads_now();
}

/* Not before a restore has tried it, and as long as it is the same one. */
static void in_vain(void)
{
	keep("eth0", MATCH_SOURCE);
	keep("eth1", MATCH_LEAVING(MATCH_SOURCE));
	link_is("eth0", 3);
	program = 9;
	expect();
	unfiltered_are();
	came();
	unfiltered_are();
	left();
	unfiltered_are();
	after(5000);
	unfiltered_are();
	expect();
	line("why");
	dispatcher = 3;
	unfiltered_are();
	dispatcher = program = 0;
	unfiltered_are();
	above = true;
	unfiltered_are();
	refused = "it is a loopback";
	unfiltered_are();
	refused = NULL;
	above = false;
	line("one comes while it runs");
	link_is("eth1", 4);
	news_of("eth1");
	unfiltered_are();
	link_is("eth0", 5);
	message(RTM_NEWLINK, "eth0");
	reads_n++;
	arrivals_read(a, now_ms);
	all_read();
	left();
	unfiltered_are();
	came();
	left();
	program = 9;
	unfiltered_are();
	line("without any pin");
	no_pins = true;
	unfiltered_are();
	no_pins = false;
	program = 0;
	line("one is filtered, and one goes");
	attach("eth0", MATCH_SOURCE);
	unfiltered_are();
	link_is("eth1", 0);
	unfiltered_are();
	link_is("eth1", 4);
	attach_err = -EACCES;
	unfiltered_are();
	attach_err = 0;
	interfaces_n = 1;
	expect();
	unfiltered_are();
	line("ports");
	link_is("a", 6);
	link_is("b", 7);
	port_is(0, "a", false, true);
	port_is(1, "b", false, false);
	reads_now();
	unfiltered_are();
	left();
	unfiltered_are();
	ports_err = -EPERM;
	unfiltered_are();
	ports_err = 0;
	port_is(0, "b", false, true);
	ports_n = 1;
	unfiltered_are();
}

/* What the service does, for so long, with the time that it takes at each turn. */
static void turns(int64_t ms, int64_t each)
{
	for (int64_t until = now_ms + ms; now_ms < until;) {
		if (arrivals_fd(a, now_ms) < 0) {
			now_ms = arrivals_due(a, now_ms);
			continue;
		}
		received = asked = 0;
		arrivals_read(a, now_ms);
		line("%u messages are read, and it looked %u times", received, asked);
		now_ms += each;
	}
}

/* Whoever has the other end of one takes it up and down. */
static void without_pause(void)
{
	keep("eth0", MATCH_SOURCE);
	keep("eth1", MATCH_SOURCE);
	link_is("eth0", 3);
	attach("eth0", MATCH_SOURCE);
	expect();
	endless = true;
	message(RTM_NEWLINK, "eth0");
	reads_n++;
	turns(1000, 1);
	line("a second later");
	now_ms += 1000;
	turns(200, 20);
	line("a turn takes long");
	turns(2000, 150);
	line("what is due besides is not late");
	link_is("eth1", 4);
	left();
	a->retry.at = now_ms + 1;
	now_ms = arrivals_due(a, now_ms);
	came();
	left();
	line("no more");
	endless = false;
	reads_now();
	line("fd %d", arrivals_fd(a, now_ms));
	left();
	line("messages are lost without end");
	endless = true;
	reads[reads_n++].err = ENOBUFS;
	turns(50, 10);
	line("and then there are more than are read at once");
	read_next = 0;
	message(RTM_NEWLINK, "lo");
	reads_n++;
	turns(10, 10);
	came();
	link_is("eth1", 5);
	turns(120, 200);
	came();
	line("until all are read");
	endless = false;
	link_is("eth1", 6);
	reads_now();
	link_is("eth1", 7);
	news_of("lo");
	news_of("eth1");
}

static void not_open(void)
{
	open_err = -EMFILE;
	line("%s", reason(arrivals_open(&a, &own_context)));
	arrivals_close(a);
	open_err = 0;
	no_memory = true;
	line("%s", reason(arrivals_open(&a, &own_context)));
	arrivals_close(a);
	no_memory = false;
	line("%s", arrivals_open(&a, &own_context) ? "not open" : "open");
	came();
	left();
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = {
		{ "one comes", comes },	   { "the same number", same_number }, { "nobody was asked", nobody_asked },
		{ "one is there", there }, { "messages", messages },	       { "tried again", again },
		{ "not read", not_read },  { "what follows", followed },       { "ports", ports },
		{ "in vain", in_vain },	   { "other names", by_other_name },   { "without pause", without_pause },
		{ "not open", not_open },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		now_ms = BEGINS;
		memset(links, 0, sizeof(links));
		memset(interfaces, 0, sizeof(interfaces));
		memset(proven_are, 0, sizeof(proven_are));
		memset(scopes, 0, sizeof(scopes));
		memset(ports_are, 0, sizeof(ports_are));
		ports_are[0].name = "a";
		attached_n = interfaces_n = ports_n = 0;
		limits_are = (struct limits){ 0 };
		program = dispatcher = 0;
		above = false;
		refused = other_is = NULL;
		attach_err = follow_err = scopes_err = proven_err = lists_err = interfaces_err = ports_err = take_err =
			0;
		shows_begin(&shows);
		if (each[i].happens != not_open && arrivals_open(&a, &own_context))
			abort();
		each[i].happens();
		line("the service ends");
		arrivals_close(a);
		expects(!taken, "what is said of ports is freed");
		shows_as(&shows, each[i].name);
	}
	arrivals_close(NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
