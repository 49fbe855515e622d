// SPDX-License-Identifier: GPL-2.0-only
/* What resolvers, leases and clocks write down, and which addresses of it a machine needs. */
#include <string.h>

#include "change/own_scan.h"
#include "ktap.h"

#define NOW 1795355458 /* 2026-11-22 13:50:58 */

static void note(void *arg, struct addr addr, const char *what)
{
	char text[PREFIX_TEXT_MAX], *said = arg;

	prefix_text(text, addr, -1);
	/* "name server", "DHCP server", "gateway", "time server", "somebody": the first letter will do. */
	snprintf(said + strlen(said), 256 - strlen(said), "%s%c %s", *said ? ", " : "",
		 strncmp(what, "a", 1) ? *what == 't' ? 'd' : 's' : what[2], text);
}

static void texts(void)
{
	static const struct {
		enum own_format format;
		const char *text, *says;
	} known[] = {
		{ OWN_RESOLV, "nameserver 192.0.2.1\nnameserver\t2001:db8::1%eth0\r\n  NameServer 192.0.2.2 # old",
		  "n 192.0.2.1, n 2001:db8::1, n 192.0.2.2" },
		{ OWN_RESOLV, "#nameserver 192.0.2.1\nsearch 192.0.2.2\nnameserver x192.0.2.3\nnameserver 192.0.2",
		  "" },
		{ OWN_RESOLV, "nameservers 192.0.2.1\nnameserver\n192.0.2.2\nsearch nameserver 192.0.2.3", "" },
		{ OWN_LEASE,
		  "ADDRESS=192.0.2.9\nSERVER_ADDRESS=192.0.2.1\nDNS=192.0.2.2 192.0.2.3\nNTP=192.0.2.4\n"
		  "ROUTER=192.0.2.5\nDOMAINNAME=192.0.2.6\n",
		  "d 192.0.2.1, n 192.0.2.2, n 192.0.2.3, t 192.0.2.4, g 192.0.2.5" },
		{ OWN_LEASE,
		  "[device]\nmanaged=true\nnext-server=192.0.2.9\n\n[dhcp4]\ndhcp4.dhcp_server_identifier=192.0.2.1\n"
		  "dhcp4.domain_name_servers=192.0.2.2 192.0.2.3\ndhcp4.host_name=dhcp4.routers=192.0.2.9\n"
		  "dhcp4.ip_address=192.0.2.9\ndhcp4.ntp_servers=192.0.2.4\ndhcp4.routers=192.0.2.5\n",
		  "d 192.0.2.1, n 192.0.2.2, n 192.0.2.3, t 192.0.2.4, g 192.0.2.5" },
		{ OWN_LEASE,
		  "INTERFACE='eth0'\nTYPE='dhcp'\nIPADDR='192.0.2.9/24'\nROUTES='192.0.2.0,255.255.255.0,0.0.0.0'\n"
		  "GATEWAYS='192.0.2.5'\nDNSSERVERS='192.0.2.2 192.0.2.3'\nNTPSERVERS='192.0.2.4'\n"
		  "SERVERID='192.0.2.1'\nBOOTSERVERADDR='192.0.2.9'\n",
		  "g 192.0.2.5, n 192.0.2.2, n 192.0.2.3, t 192.0.2.4, d 192.0.2.1" },
		{ OWN_DHCLIENT,
		  "lease {\n option dhcp-server-identifier 192.0.2.1;\n expire 0 2026/11/22 13:50:57;\n}\n"
		  "lease {\n option dhcp-server-identifier 192.0.2.2;\n expire 0 2026/11/22 13:50:59;\n}\n",
		  "d 192.0.2.2" },
		{ OWN_DHCLIENT,
		  "lease {\n option routers 192.0.2.1,192.0.2.2;\n option ntp-servers 192.0.2.3;\n}\nlease {\n"
		  "expire never;option x 1;\noption domain-name-servers 192.0.2.4;\n}",
		  "g 192.0.2.1, g 192.0.2.2, t 192.0.2.3, n 192.0.2.4" },
		{ OWN_DHCLIENT,
		  "lease{\n expire epoch 1795355457; # then\noption routers 192.0.2.1; }\n"
		  "lease {\nexpire epoch 1795355459;\noption routers 192.0.2.2;\n}\nlease {\noption routers 192.0.2.3;",
		  "g 192.0.2.2, g 192.0.2.3" },
		{ OWN_CLOCK,
		  "server 192.0.2.1 iburst\npool 2.debian.pool.ntp.org iburst\npeer 2001:db8::1\n! server 192.0.2.2\n"
		  "local stratum 10\nallow 192.0.2.0/24\nserver time.example",
		  "t 192.0.2.1, t 2001:db8::1" },
		{ OWN_TIMESYNC, "[Time]\nNTP=192.0.2.1 time.example 2001:db8::1\n#NTP=192.0.2.2\nFallbackNTP=192.0.2.3",
		  "t 192.0.2.1, t 2001:db8::1, t 192.0.2.3" },
		{ OWN_DNSMASQ,
		  "server=192.0.2.1#5353\nserver=/local.example/192.0.2.2\nserver=2001:db8::1@eth0\n"
		  "listen-address=192.0.2.3\naddress=/x/192.0.2.4\n#server=192.0.2.5",
		  "n 192.0.2.1, n 192.0.2.2, n 2001:db8::1" },
		{ OWN_UNBOUND,
		  "forward-zone:\n  name: \".\"\n\tforward-addr: 192.0.2.1@853#dns.example\n  forward-addr: 2001:db8::1\n"
		  "  interface: 192.0.2.2\n",
		  "n 192.0.2.1, n 2001:db8::1" },
		/* BIND, as Debian has it; and on one line */
		{ OWN_BIND,
		  "options {\n\tdirectory \"/var/cache/bind\";\n\t// forwarders {\n\t// \t0.0.0.0;\n\t// };\n\tforwarders"
		  "\n\t{\n\t\t192.0.2.1;\n\n\t\t# the second\n\t\t2001:db8::1 port 5353; // 192.0.2.9\n192.0.2.2;\n\t};\n"
		  "\tlisten-on { 192.0.2.3; };\n\tallow-query {\n\t\t192.0.2.4; };\n};\n",
		  "n 192.0.2.1, n 2001:db8::1, n 192.0.2.2" },
		{ OWN_BIND,
		  "/* forwarders { 192.0.2.9; };\nforwarders {192.0.2.9;} */server 192.0.2.7 { bogus yes; };"
		  " zone \"x\" { type forward; forward only;"
		  " forwarders { 192.0.2.1; /* 192.0.2.9 */ 192.0.2.2; }; };\nacl x { 192.0.2.3; };\n/* forwarders {"
		  " 192.0.2.9; };",
		  "n 192.0.2.1, n 192.0.2.2" },
		/* Knot Resolver, before 6 and since */
		{ OWN_RECURSOR,
		  "net.listen('192.0.2.9', 53, { kind = 'dns' })\n--policy.add(policy.all(policy.FORWARD('192.0.2.8')))\n"
		  "policy.add(policy.suffix(policy.STUB('192.0.2.1@5353'), {todname('a')}))\n"
		  "policy.add(policy.all(policy.TLS_FORWARD({\n  {'192.0.2.2', hostname='x'},\n  {'2001:db8::1'},\n})))\n"
		  "policy.add(policy.all(policy.FORWARD({'192.0.2.3'})))\nx = '192.0.2.7'\n",
		  "n 192.0.2.1, n 192.0.2.2, n 2001:db8::1, n 192.0.2.3" },
		{ OWN_RECURSOR,
		  "network:\n  listen:\n    - interface: 192.0.2.9\nforward:\n  - subtree: .\n    servers:\n"
		  "      - address: [ 192.0.2.1, 2001:db8::1 ]\n        transport: tls\n      - address: 192.0.2.2@853\n"
		  "  - subtree: a\n    servers: [ 192.0.2.3 ]\nviews:\n  - subnets: [ 192.0.2.8 ]\n",
		  "n 192.0.2.1, n 2001:db8::1, n 192.0.2.2, n 192.0.2.3" },
		/* PowerDNS Recursor, before 5 and since */
		{ OWN_RECURSOR,
		  "# forward-zones=.=192.0.2.9\nlocal-address=192.0.2.9\nforward-zones=a.example=192.0.2.1, "
		  "b=192.0.2.2;192.0.2.3:5300;[2001:db8::1]:5300\nforward-zones-recurse+=.=192.0.2.4\n"
		  "query-local-address=192.0.2.8\n",
		  "n 192.0.2.1, n 192.0.2.2, n 192.0.2.3, n 2001:db8::1, n 192.0.2.4" },
		{ OWN_RECURSOR,
		  "incoming:\n  listen:\n  - 192.0.2.9\nrecursor:\n  forward_zones:\n  - zone: a\n    forwarders:\n"
		  "    - 192.0.2.1\n    - '[2001:db8::1]:53'\n  export_etc_hosts: true\n  - 192.0.2.8\n",
		  "n 192.0.2.1, n 2001:db8::1" },
		/* CoreDNS, stubby, dnscrypt-proxy, AdGuard Home, Pi-hole, OpenWrt */
		{ OWN_UPSTREAM,
		  ".:53 {\n  bind 192.0.2.9\n  forward . 192.0.2.1 192.0.2.2:5353 tls://[2001:db8::1]:853 /etc/resolv.conf"
		  " {\n    tls_servername dns.example\n    except 192.0.2.8\n  }\n}\n",
		  "n 192.0.2.1, n 192.0.2.2, n 2001:db8::1" },
		{ OWN_UPSTREAM,
		  "listen_addresses:\n  - 192.0.2.9\nupstream_recursive_servers:\n### Test\n  - address_data: 192.0.2.1\n"
		  "    tls_auth_name: \"dns.example\"\n#  - address_data: 192.0.2.8\n  - address_data: 2001:db8::1\n",
		  "n 192.0.2.1, n 2001:db8::1" },
		{ OWN_UPSTREAM,
		  "listen_addresses = ['192.0.2.9:53', '[2001:db8::9]:53']\n## People may need 192.0.2.8:53\n"
		  "bootstrap_resolvers = ['192.0.2.1:53', '[2001:db8::1]:53']\nfallback_resolver = '192.0.2.2:53'\n"
		  "ignore_system_dns = true\n",
		  "n 192.0.2.1, n 2001:db8::1, n 192.0.2.2" },
		{ OWN_UPSTREAM,
		  "dns:\n  bind_hosts:\n    - 192.0.2.9\n  upstream_dns:\n    - tls://192.0.2.1\n    - '# 192.0.2.8'\n"
		  "    - https://dns.example/dns-query\n    - '[/local/]192.0.2.2:53'\n    - '[//]192.0.2.3'\n"
		  "  upstream_dns_file: \"\"\n  bootstrap_dns:\n    - 2001:db8::1\n  fallback_dns: []\n"
		  "  allowed_clients:\n    - 192.0.2.7\n",
		  "n 192.0.2.1, n 192.0.2.2, n 192.0.2.3, n 2001:db8::1" },
		{ OWN_UPSTREAM,
		  "[dns]\n  # Example: upstreams = [ \"192.0.2.9\" ]\n  upstreams = [\n    \"192.0.2.1#5335\",\n"
		  "    \"dns.example\",\n    \"2001:db8::1\"\n  ] ### CHANGED, default = []\n\n  # hosts\n"
		  "  hosts = [ \"192.0.2.8 x\" ]\n",
		  "n 192.0.2.1, n 2001:db8::1" },
		{ OWN_OPENWRT,
		  "config dnsmasq\n\tlist server '192.0.2.1'\n\tlist server '/a/192.0.2.2'\n\tlist address '/x/192.0.2.8'\n"
		  "\tlist server '//192.0.2.3'\n\t#list server '192.0.2.7'\nconfig host\n\toption ip '192.0.2.9'\n",
		  "n 192.0.2.1, n 192.0.2.2, n 192.0.2.3" },
		{ OWN_SESSION, "UID=0\nREMOTE=1\nREMOTE_HOST=192.0.2.1\nREMOTE_USER=192.0.2.2\n", "s 192.0.2.1" },
		{ OWN_SESSION, "REMOTE_HOST=here.example\n", "" },
		{ OWN_RESOLV, "", "" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char said[256] = "";

		own_scan(known[i].format, known[i].text, strlen(known[i].text), NOW, note, said);
		CHECK(!strcmp(said, known[i].says), "%zu: '%s', not '%s'", i, said, known[i].says);
	}
}

static void count(void *arg, struct addr addr, const char *what)
{
	(void)addr, (void)what;
	++*(size_t *)arg;
}

/* However many there are on one line; of one lease, some. A NUL ends a line. */
static void many(void)
{
	char text[8192] = "nameserver";
	size_t n = 0;

	for (int i = 0; i < 300; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " 192.0.2.%d", i % 256);
	own_scan(OWN_RESOLV, text, strlen(text), NOW, count, &n);
	CHECK(n == 300, "%zu of a line", n);
	memcpy(text, "routers   ", 10);
	n = 0;
	own_scan(OWN_DHCLIENT, text, strlen(text), NOW, count, &n);
	CHECK(n == 32, "%zu of a lease", n);
	n = 0;
	own_scan(OWN_RESOLV, "nameserver 192.0.2.1\0 192.0.2.2\nnameserver 192.0.2.3", 53, NOW, count, &n);
	CHECK(n == 2, "%zu beside a NUL", n);
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "texts as programs write them", texts },
		{ "many addresses", many },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
