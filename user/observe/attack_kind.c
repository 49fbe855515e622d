// SPDX-License-Identifier: GPL-2.0-only
#include "observe/attack_kind.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/detect.h"
#include "filter/formulas.h"
#include "observe/senders.h"
#include "observe/suspects.h"

const char *const attack_kinds[ATTACK_UNKNOWN] = {
#define TEXT(kind, text) [kind] = text,
	ATTACK_KINDS(TEXT)
#undef TEXT
};

/* Services by UDP that answer with more than they are asked, whoever asks. */
static const struct service {
	unsigned int port;
	const char *name, *text;
} services[] = {
	{ 17, "qotd", "QOTD" },
	{ 19, "chargen", "chargen" },
	{ 53, "dns", "DNS" },
	{ 69, "tftp", "TFTP" },
	{ 111, "portmap", "portmap" },
	{ 123, "ntp", "NTP" },
	{ 137, "netbios", "NetBIOS" },
	{ 161, "snmp", "SNMP" },
	{ 389, "cldap", "CLDAP" },
	{ 427, "slp", "SLP" },
	{ 500, "ike", "IKE" },
	{ 520, "rip", "RIP" },
	{ 1434, "mssql", "MS SQL" },
	{ 1900, "ssdp", "SSDP" },
	{ 3283, "ard", "ARD" },
	{ 3702, "wsd", "WS-Discovery" },
	{ 5093, "sentinel", "Sentinel" },
	{ 5353, "mdns", "mDNS" },
	{ 5683, "coap", "CoAP" },
	{ 10001, "ubiquiti", "Ubiquiti" },
	{ 11211, "memcached", "memcached" },
	{ 37810, "dhdiscover", "DHDiscover" },
};

#define SERVICES (sizeof(services) / sizeof(*services))

static const struct service *service_of(unsigned int port)
{
	for (size_t i = 0; i < SERVICES; i++)
		if (services[i].port == port)
			return &services[i];
	return NULL;
}

const char *attack_what_text(char text[ATTACK_WHAT_MAX], const char *what, const char *service)
{
	bool is_short = !strcmp(what, "syn") || !strcmp(what, "udp") || !strcmp(what, "icmp");
	const char *name = service;

	for (size_t i = 0; service && i < SERVICES; i++)
		if (!strcmp(services[i].name, service))
			name = services[i].text;
	snprintf(text, ATTACK_WHAT_MAX, "%.20s%s%.16s", name ?: "", name ? " " : "", what);
	for (char *c = text; is_short && *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return text;
}

/* Those of one network stand together, since a /24 or /48 is the upper part of the key. */
#define SHIFT4	 8
#define SHIFT6	 16
#define TOGETHER 4 /* fewer are no carpet */

static int by_network(const void *a, const void *b)
{
	const struct suspect_seen *const *x = a, *const *y = b;
	__u64 kind_x = MARK_KIND((*x)->mark), kind_y = MARK_KIND((*y)->mark);

	if (kind_x != kind_y)
		return kind_x < kind_y ? -1 : 1;
	return ((*x)->key > (*y)->key) - ((*x)->key < (*y)->key);
}

static bool is_network(const struct suspect_seen *suspect)
{
	return MARK_KIND(suspect->mark) == SUSPECT_NET4 || MARK_KIND(suspect->mark) == SUSPECT_NET6;
}

static __u64 upper_of(const struct suspect_seen *suspect)
{
	return MARK_KIND(suspect->mark) == SUSPECT_IPV4 ? suspect->key >> SHIFT4 : suspect->key >> SHIFT6;
}

static bool of_one(const struct suspect_seen *a, const struct suspect_seen *b)
{
	return MARK_KIND(a->mark) == MARK_KIND(b->mark) && upper_of(a) == upper_of(b);
}

/* The network with the most of them, if that is most of them. */
static bool is_carpet(const struct suspect_seen **who, size_t n, char text[PREFIX_TEXT_MAX])
{
	size_t most = 0, at = 0;

	qsort(who, n, sizeof(*who), by_network);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (!of_one(who[first], who[i]))
			first = i;
		if (i - first + 1 > most) {
			most = i - first + 1;
			at = i;
		}
	}
	if (most < TOGETHER || most * 2 <= n)
		return false;
	source_key_text(text, upper_of(who[at]),
			MARK_KIND(who[at]->mark) == SUSPECT_IPV4 ? SUSPECT_NET4 : SUSPECT_NET6);
	return true;
}

/* One that is judged as such, and whose hosts are not: those of them that are may be above a limit by themselves. */
static bool is_of_network(const struct suspect_seen *most, const struct suspect_seen **who, size_t n,
			  char text[PREFIX_TEXT_MAX])
{
	__u64 by_hosts = 0;

	for (size_t i = 0; i < n; i++)
		by_hosts += suspect_over(who[i]);
	if (!most || suspect_over(most) <= by_hosts)
		return false;
	source_key_text(text, most->key, MARK_KIND(most->mark));
	return true;
}

static void look_at_who(struct attack_look *look, const struct seen *seen, const struct suspect_seen *network,
			const struct suspect_seen **who, size_t n)
{
	bool of_network = is_of_network(network, who, n, look->network);
	size_t banned = 0;

	n = seen_once(who, n);
	for (size_t i = 0; i < n; i++)
		banned += who[i]->is.until > seen->now;
	look->kind = of_network || is_carpet(who, n, look->network) ? ATTACK_CARPET
		     : banned > 1 && banned * 2 > n		    ? ATTACK_PROVEN
		     : n > 1					    ? ATTACK_MANY
								    : ATTACK_ONE;
}

/* The class of most of what was above a limit; a kind of packets says more than that there were many. */
static enum packet_class main_class(const __u64 over[CLASSES])
{
	enum packet_class most = CLASS_PACKETS;
	__u64 all = over[CLASS_PACKETS] > over[CLASS_BYTES] ? over[CLASS_PACKETS] : over[CLASS_BYTES];

	for (enum packet_class class = CLASS_SYN; class < LIMITED; class ++)
		if (over[class] > 0 && over[class] >= all / 2 && (most == CLASS_PACKETS || over[class] > over[most]))
			most = class;
	return most == CLASS_PACKETS && over[CLASS_BYTES] > over[CLASS_PACKETS] ? CLASS_BYTES : most;
}

static void look_at_what(struct attack_look *look, const struct suspect_seen **who, size_t n)
{
	__u64 over[CLASSES] = { 0 }, by[SERVICES] = { 0 }, all = 0;

	for (size_t i = 0; i < n; i++) {
		const struct service *service = who[i]->is.port ? service_of((unsigned int)who[i]->is.port - 1) : NULL;

		for (enum packet_class class = 0; class < LIMITED; class ++)
			over[class] += who[i]->is.over[class];
		all += suspect_over(who[i]);
		if (service)
			by[service - services] += suspect_over(who[i]);
	}
	if (!all)
		return;
	look->what.name = limit_names[main_class(over)];
	for (size_t i = 0; i < SERVICES; i++)
		if (by[i] * 2 > all)
			look->what = (struct attack_what){ "reflection", services[i].name, services[i].port };
}

void attack_look_at(struct attack_look *look, const struct seen *seen, __u64 since, __u64 above, __u64 untracked)
{
	const struct suspect_seen **who = calloc(seen->n + 1, sizeof(*who)), *network = NULL;
	size_t n = 0;

	*look = (struct attack_look){ .kind = ATTACK_ONE };
	for (size_t i = 0; who && i < seen->n; i++) {
		const struct suspect_seen *one = &seen->suspect[i];

		if (!suspect_over(one) || one->is.over_at < since)
			continue;
		if (!is_network(one))
			who[n++] = one;
		else if (!network || suspect_over(one) > suspect_over(network))
			network = one;
	}
	if (who) {
		/* What was sent is the sum of all interfaces; who sent it counts once. */
		look_at_what(look, n || !network ? who : &network, n || !network ? n : 1);
		look_at_who(look, seen, network, who, n);
	}
	/* They are more than the detector can tell apart. */
	if (untracked > above)
		look->kind = ATTACK_NO_ROOM;
	if (look->kind != ATTACK_CARPET)
		*look->network = '\0';
	free(who);
}

bool strangers_between(struct strangers *strangers, const struct seen *before, const struct seen *now)
{
	double cells = (double)now->cells, moved = 0;

	if (!before->cell || !now->cell || before->with.cells != now->with.cells || before->cells != now->cells ||
	    memcmp(&before->with.hash, &now->with.hash, sizeof(now->with.hash)) != 0)
		return false;
	for (size_t i = 0; i < now->cells; i++)
		moved += before->cell[i] != now->cell[i];
	/* Where only a handful did not, their number says little. */
	strangers->at_least = moved > cells - fmax(16, cells / 1000);
	strangers->sources =
		sources_of(fmin(moved, cells - fmax(16, cells / 1000)), cells).value * (double)now->with.cells / cells;
	return true;
}

bool strangers_are_many(const struct strangers *second, double usual)
{
	return second->sources >= FORGED_LEAST && second->sources >= FORGED_TIMES * usual;
}

bool strangers_are_fresh(const struct strangers *second, const struct strangers *moment, double seconds)
{
	/* Who sends so much that all of it moves even in a moment may be anybody. */
	if (second->at_least)
		return moment->at_least || moment->sources / seconds >= FORGED_LEAST;
	return moment->sources < 2 * seconds * second->sources;
}
