// SPDX-License-Identifier: GPL-2.0-only
/* From files: resolvers, upstreams of local ones, leases, clocks, logins. Which program wrote them does not matter. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/errand.h"
#include "base/log.h"
#include "base/path_walk.h"
#include "change/own_internal.h"
#include "change/own_scan.h"

/* Longer files are read up to there, and of a directory so many: logind has 8192 sessions where nobody says more. */
#define TEXT_MAX  65536
#define FILES_MAX 65536

/* A path that ends in '/': every file in it whose name has that ending. */
static const struct source {
	enum own_format format;
	const char *path, *ending;
} sources[] = {
	{ OWN_RESOLV, "/etc/resolv.conf", NULL },
	/* Behind a stub: systemd-resolved, NetworkManager, dnsmasq, unbound. */
	{ OWN_RESOLV, "/run/systemd/resolve/resolv.conf", NULL },
	{ OWN_RESOLV, "/run/NetworkManager/no-stub-resolv.conf", NULL },
	{ OWN_RESOLV, "/run/dnsmasq/resolv.conf", NULL },
	{ OWN_RESOLV, "/run/resolvconf/interface/", "" },
	{ OWN_DNSMASQ, "/etc/dnsmasq.conf", NULL },
	{ OWN_DNSMASQ, "/etc/dnsmasq.d/", "" },
	{ OWN_UNBOUND, "/etc/unbound/unbound.conf", NULL },
	{ OWN_UNBOUND, "/etc/unbound/unbound.conf.d/", ".conf" },
	{ OWN_BIND, "/etc/bind/named.conf.options", NULL },
	{ OWN_BIND, "/etc/bind/named.conf.local", NULL },
	{ OWN_BIND, "/etc/bind/named.conf", NULL },
	{ OWN_BIND, "/etc/named.conf", NULL },
	{ OWN_BIND, "/etc/named.d/", ".conf" },
	{ OWN_RECURSOR, "/etc/knot-resolver/kresd.conf", NULL },
	{ OWN_RECURSOR, "/etc/knot-resolver/config.yaml", NULL },
	{ OWN_RECURSOR, "/etc/powerdns/recursor.conf", NULL },
	{ OWN_RECURSOR, "/etc/powerdns/recursor.yml", NULL },
	{ OWN_RECURSOR, "/etc/powerdns/recursor.d/", "" },
	{ OWN_RECURSOR, "/etc/pdns-recursor/recursor.conf", NULL },
	{ OWN_RECURSOR, "/etc/pdns-recursor/recursor.yml", NULL },
	{ OWN_UPSTREAM, "/etc/coredns/Corefile", NULL },
	{ OWN_UPSTREAM, "/etc/stubby/stubby.yml", NULL },
	{ OWN_UPSTREAM, "/etc/dnscrypt-proxy/dnscrypt-proxy.toml", NULL },
	{ OWN_UPSTREAM, "/opt/AdGuardHome/AdGuardHome.yaml", NULL },
	{ OWN_UPSTREAM, "/etc/adguardhome/adguardhome.yaml", NULL },
	{ OWN_UPSTREAM, "/etc/adguardhome.yaml", NULL },
	{ OWN_UPSTREAM, "/etc/pihole/pihole.toml", NULL },
	/* OpenWrt: its /var is in memory. */
	{ OWN_OPENWRT, "/etc/config/dhcp", NULL },
	{ OWN_RESOLV, "/var/resolv.conf.d/resolv.conf.auto", NULL },
	{ OWN_LEASE, "/run/systemd/netif/leases/", "" },
	/* NetworkManager, from 1.40 on; until 1.18 it kept leases as systemd-networkd does. */
	{ OWN_LEASE, "/run/NetworkManager/devices/", "" },
	{ OWN_LEASE, "/var/lib/NetworkManager/", ".lease" },
	{ OWN_LEASE, "/run/wicked/", ".dhcp.ipv4" },
	/* Of udhcpc: its script writes them (packaging/openwrt). */
	{ OWN_LEASE, "/var/run/xdp-bloom-leases/", "" },
	{ OWN_DHCPCD, "/var/lib/dhcpcd/", ".lease" },
	{ OWN_DHCPCD, "/var/lib/dhcpcd5/", ".lease" },
	{ OWN_DHCPCD, "/var/db/dhcpcd/", ".lease" },
	{ OWN_DHCLIENT, "/var/lib/dhcp/", ".leases" },
	{ OWN_DHCLIENT, "/var/lib/dhcp/", ".lease" },
	{ OWN_DHCLIENT, "/var/lib/dhclient/", ".leases" },
	{ OWN_DHCLIENT, "/var/lib/dhclient/", ".lease" },
	{ OWN_DHCLIENT, "/var/lib/NetworkManager/", ".lease" },
	{ OWN_CLOCK, "/etc/chrony/chrony.conf", NULL },
	{ OWN_CLOCK, "/etc/chrony/conf.d/", ".conf" },
	{ OWN_CLOCK, "/etc/chrony/sources.d/", ".sources" },
	{ OWN_CLOCK, "/run/chrony-dhcp/", ".sources" },
	{ OWN_CLOCK, "/etc/chrony.conf", NULL },
	{ OWN_CLOCK, "/etc/ntp.conf", NULL },
	{ OWN_CLOCK, "/etc/ntpsec/ntp.conf", NULL },
	{ OWN_CLOCK, "/etc/openntpd/ntpd.conf", NULL },
	{ OWN_TIMESYNC, "/etc/systemd/timesyncd.conf", NULL },
	{ OWN_TIMESYNC, "/etc/systemd/timesyncd.conf.d/", ".conf" },
	{ OWN_TIMESYNC, "/run/systemd/timesyncd.conf.d/", ".conf" },
	{ OWN_SESSION, "/run/systemd/sessions/", "" },
};

/*
 * The root servers, of April 2024: a resolver that resolves by itself begins there, and mostly has them built in. One
 * of these addresses changes in some years, which leaves it the others.
 */
static const char root_servers[] =
	"nameserver 198.41.0.4 170.247.170.2 192.33.4.12 199.7.91.13 192.203.230.10 192.5.5.241 192.112.36.4"
	" 198.97.190.53 192.36.148.17 192.58.128.30 193.0.14.129 199.7.83.42 202.12.27.33"
	" 2001:503:ba3e::2:30 2801:1b8:10::b 2001:500:2::c 2001:500:2d::d 2001:500:a8::e 2001:500:2f::f"
	" 2001:500:12::d0d 2001:500:1::53 2001:7fe::53 2001:503:c27::2:30 2001:7fd::1 2001:500:9f::42 2001:dc3::35";

/*
 * Without the file nothing of it is used. One that cannot be read is no reason to refuse every ban: whose directory it
 * is in, as the user's of a resolver, may bring that about, by a socket in its place, a link into /proc or a lease of
 * it. What is no file says nothing; the others are said. But what we are short of ourselves passes.
 */
static void missing(struct learned *l, const char *path, int err)
{
	static const int usual[] = { ENOENT, EACCES, ENOTDIR, ELOOP, EISDIR, EINVAL };
	static bool said;

	if (errand.here && err_is(err, EACCES) && !l->err)
		l->err = errand_decline("a file may not be read here");
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (l->err || err_is(err, usual[i]))
			return;
	if (err_is(err, EMFILE) || err_is(err, ENFILE) || err_is(err, ENOMEM)) {
		l->err = because(err, "%s: %s, so the guard rails do not know what this machine needs", path,
				 errno_text(err));
		return;
	}
	if (!said)
		warn("not all that this machine needs may be known: %s: %s", path, reason(err));
	said = true;
}

/* What another file names may be the word of whoever writes to that. */
static int open_file(const struct source *source, const char *path)
{
	int fd;

	/* Of sessions, which are root's, there may be many. */
	if (source->format != OWN_SESSION)
		return way_open(path, WAY_FILE, !source->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

struct text {
	struct learned *l;
	const char *path;
};

static void found(void *arg, struct addr addr, const char *what)
{
	const struct text *text = arg;

	own_learn(text->l, addr, what, "%s", text->path);
}

static void found_root(void *arg, struct addr addr, const char *what)
{
	const struct text *text = arg;

	own_learn(text->l, addr, what, "a root server, for the resolver of %s", text->path);
}

/* Also where it is told of others to ask: BIND asks the root servers when these do not answer. */
static bool begins_at_root(enum own_format format)
{
	return format == OWN_BIND || format == OWN_UNBOUND || format == OWN_RECURSOR;
}

static long long age_of(int fd, long long now)
{
	struct stat is;

	return fstat(fd, &is) ? 0 : now - is.st_mtime;
}

static void read_named(struct learned *l, const char *at, const char *end, long long now);

static void read_file(struct learned *l, const struct source *source, const char *path, long long now)
{
	int fd = open_file(source, path);
	/* One that names another is read on behind that. */
	static char texts[2][TEXT_MAX], lease[OWN_LEASE_TEXT_MAX];
	char *text = texts[source->format == OWN_DNSMASQ];
	ssize_t got = fd < 0 ? -1 : read(fd, text, TEXT_MAX);
	struct text from = { l, path };

	if (got >= 0 && source->format == OWN_DHCPCD)
		own_scan(OWN_LEASE, lease, own_lease_text(lease, text, (size_t)got, age_of(fd, now)), now, found,
			 &from);
	else if (got >= 0)
		own_scan(source->format, text, (size_t)got, now, found, &from);
	else
		missing(l, path, fd < 0 ? fd : -errno);
	close_fd(fd);
	if (got >= 0 && begins_at_root(source->format))
		own_scan(OWN_RESOLV, root_servers, sizeof(root_servers) - 1, now, found_root, &from);
	if (got > 0 && source->format == OWN_DNSMASQ)
		read_named(l, text, text + got, now);
}

/* dnsmasq asks whom resolv.conf names, or another file of that form: "resolv-file=/run/resolv.dnsmasq". */
static void read_named(struct learned *l, const char *at, const char *end, long long now)
{
	static const struct source named = { OWN_RESOLV, NULL, NULL };
	char line[NAME_MAX + 64], path[NAME_MAX + 1];

	for (; at < end; at += strcspn(line, "\n") + 1) {
		size_t n = (size_t)(end - at) < sizeof(line) ? (size_t)(end - at) : sizeof(line) - 1;

		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		if (sscanf(line, " resolv-file = %255[^ \t\r\n]", path) == 1 && *path == '/')
			read_file(l, &named, path, now);
	}
}

static bool ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && !strcmp(name + n - m, ending);
}

/* Beside a session is a pipe by which its end is noticed. */
static bool is_read(const char *name, const char *ending)
{
	return *name != '.' && ends_in(name, ending) && !ends_in(name, ".ref");
}

static void say_more(const char *path)
{
	static bool said;

	if (!said)
		warn("not all that this machine needs may be known: %s has more than %d files", path, FILES_MAX);
	said = true;
}

static void read_directory(struct learned *l, const struct source *source, long long now)
{
	char path[NAME_MAX + 64];
	struct dirent *entry;
	int files = 0, fd = way_open(source->path, WAY_DIRECTORY, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		missing(l, source->path, fd < 0 ? fd : -errno);
		close_fd(fd);
	}
	while (dir && (entry = readdir(dir))) {
		if (!is_read(entry->d_name, source->ending))
			continue;
		if (files++ == FILES_MAX) {
			say_more(source->path);
			break;
		}
		snprintf(path, sizeof(path), "%s%s", source->path, entry->d_name);
		read_file(l, source, path, now);
	}
	if (dir)
		closedir(dir);
}

int own_from_files(struct learned *l)
{
	/* Each change asks, with the lock: no user's file system keeps it. */
	enum answers before = way_waits_for(SERVER_ANSWERS);
	long long now = time(NULL);

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]) && !l->err; i++) {
		/* Whoever has an account logs in from where he likes. */
		l->guests = sources[i].format == OWN_SESSION;
		if (sources[i].ending)
			read_directory(l, &sources[i], now);
		else
			read_file(l, &sources[i], sources[i].path, now);
	}
	l->guests = false;
	way_waits_for(before);
	return l->err;
}
