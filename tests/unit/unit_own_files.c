// SPDX-License-Identifier: GPL-2.0-only
/* What files tell of needs: from a directory of sessions, and one file, of the test's own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/path_walk.h"
#include "ktap.h"

static DIR *directory_given(int fd);
static struct dirent *entry_given(DIR *dir);
static int directory_closed(DIR *dir);
static int file_given(const char *path, int flags);
static int way_given(const char *path, enum way_end end, bool theirs);

#define fdopendir directory_given
#define way_open  way_given
#define readdir	  entry_given
#define closedir  directory_closed
#define open	  file_given
#include "change/own_files.c"
#undef fdopendir
#undef way_open
#undef readdir
#undef closedir
#undef open

#define SESSIONS "/run/systemd/sessions/"

/* Sessions 1, 2 and so on. All are of one stranger's address but `ours`. */
static size_t sessions, ours, given;
static int directories;

static DIR *directory_given(int fd)
{
	directories++;
	close(fd);
	given = 0;
	return (DIR *)&given;
}

/* Behind each its pipe. */
static struct dirent *entry_given(DIR *dir)
{
	static struct dirent entry;

	if (dir != (DIR *)&given || given == 2 * sessions)
		return NULL;
	snprintf(entry.d_name, sizeof(entry.d_name), "%zu%s", given / 2 + 1, given % 2 ? ".ref" : "");
	given++;
	return &entry;
}

static int directory_closed(DIR *dir)
{
	directories -= dir == (DIR *)&given;
	return 0;
}

/* Which resolver has a file, and what is in it. */
static const char *resolver, *forwards;

static int text_given(const char *text)
{
	int fd = memfd_create("given", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* The resolver's file cannot be opened, for that reason. */
static int unopened;

static int way_given(const char *path, enum way_end end, bool theirs)
{
	bool is_resolver = resolver && !strcmp(path, resolver), is_named = !strcmp(path, "/run/named");

	/* Other users' file systems may not answer. */
	if (theirs != (is_named || !strcmp(path, "/run/none")) || way_waits_for(SERVER_ANSWERS) != SERVER_ANSWERS)
		abort();
	if (end == WAY_DIRECTORY)
		return strcmp(path, SESSIONS) != 0 ? -ENOENT : text_given("");
	if (is_resolver && unopened)
		return unopened == EXDEV ? because(-EXDEV, "another user's link leads to /proc") : -unopened;
	if (!strcmp(path, "/etc/resolv.conf"))
		return text_given("nameserver 192.0.2.1\n");
	if (is_named)
		return text_given("nameserver 192.0.2.4\n");
	return is_resolver ? text_given(forwards) : -ENOENT;
}

static int file_given(const char *path, int flags)
{
	if (strncmp(path, SESSIONS, strlen(SESSIONS)) != 0 || strstr(path, ".ref") ||
	    flags != (O_RDONLY | O_CLOEXEC | O_NONBLOCK))
		abort();
	return text_given(strtoul(path + strlen(SESSIONS), NULL, 10) == ours
				  ? "UID=0\nREMOTE=1\nREMOTE_HOST=192.0.2.2\n"
				  : "UID=1001\nREMOTE=1\nREMOTE_HOST=192.0.2.3\n");
}

/* Is ours among what is learned? `wanted` is what must be said of it. */
static bool knows_ours(const char *wanted)
{
	struct learned l = { 0 };
	FILE *messages = stderr;
	char *said = NULL;
	bool found = false;
	size_t size = 0;

	stderr = open_memstream(&said, &size);
	own_from_files(&l);
	fclose(stderr);
	stderr = messages;
	for (size_t i = 0; i < l.n; i++)
		found = found ||
			(CHECK(l.at[i].guest == (l.at[i].addr.num != 0xc0000201), "whose word is %s?", l.at[i].where) &&
			 l.at[i].addr.num == 0xc0000202);
	CHECK(!strcmp(said, wanted), "said: '%s'", said);
	CHECK(!l.err && !directories, "%s; %d directories are left open", l.err ? reason(l.err) : "all is well",
	      directories);
	CHECK(!l.guests, "whoever comes next is a guest, too");
	free(said);
	free(l.slots);
	free(l.at);
	return found;
}

/* Who has many sessions hides nobody else's, in whatever order they come. */
static void of_many(void)
{
	static const size_t many[] = { 1, 2, 257, 8192, FILES_MAX };

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		sessions = many[i];
		ours = 1;
		CHECK(knows_ours(""), "the first of %zu is not known", sessions);
		ours = sessions;
		CHECK(knows_ours(""), "the last of %zu is not known", sessions);
	}
}

/* Nor is it without an end, and that is said, once. */
static void of_too_many(void)
{
	ours = sessions = FILES_MAX + 1;
	CHECK(!knows_ours("xdp-bloom: not all that this machine needs may be known: " SESSIONS
			  " has more than 65536 files\n"),
	      "it is without an end");
	knows_ours("");
}

#define ROOTS 26

/* `resolves`: by itself, so that the root servers are known behind that one. */
static void asks(const char *path, const char *text, const char *where, bool resolves)
{
	char said[OWN_TEXT_MAX] = "", wanted[OWN_TEXT_MAX];
	struct learned l = { 0 };

	sessions = 0;
	resolver = path;
	forwards = text;
	own_from_files(&l);
	snprintf(wanted, sizeof(wanted), "a name server in use (%s)", where);
	CHECK(l.n == (resolves ? 2 + ROOTS : 2) && l.at[1].addr.num == 0xc0000204 && !l.at[1].guest &&
		      !strcmp(own_text(said, &l.at[1]), wanted),
	      "%s: %zu are known, '%s'", path, l.n, said);
	free(l.slots);
	free(l.at);
}

/* Whom a resolver on this machine asks, whichever it is, is root's word. */
static void of_resolvers(void)
{
	static const struct {
		const char *path, *text;
		bool resolves;
	} each[] = {
		{ "/etc/unbound/unbound.conf", "forward-zone:\n  name: .\n  forward-addr: 192.0.2.4\n", true },
		{ "/etc/bind/named.conf.options", "options {\n\tforwarders {\n\t\t192.0.2.4;\n\t};\n};\n", true },
		{ "/etc/named.conf", "options { forwarders { 192.0.2.4; }; };\n", true },
		{ "/etc/knot-resolver/kresd.conf", "policy.add(policy.all(policy.FORWARD('192.0.2.4')))\n", true },
		{ "/etc/knot-resolver/config.yaml", "forward:\n  - subtree: .\n    servers: [ 192.0.2.4 ]\n", true },
		{ "/etc/powerdns/recursor.conf", "forward-zones=.=192.0.2.4\n", true },
		{ "/etc/powerdns/recursor.yml",
		  "recursor:\n  forward_zones:\n  - zone: .\n    forwarders: [192.0.2.4]\n", true },
		{ "/etc/coredns/Corefile", ". {\n  forward . 192.0.2.4\n}\n", false },
		{ "/etc/stubby/stubby.yml", "upstream_recursive_servers:\n  - address_data: 192.0.2.4\n", false },
		{ "/etc/dnscrypt-proxy/dnscrypt-proxy.toml", "bootstrap_resolvers = ['192.0.2.4:53']\n", false },
		{ "/opt/AdGuardHome/AdGuardHome.yaml", "dns:\n  upstream_dns:\n    - 192.0.2.4\n", false },
		{ "/etc/pihole/pihole.toml", "[dns]\n  upstreams = [ \"192.0.2.4\" ]\n", false },
		{ "/etc/config/dhcp", "config dnsmasq\n\tlist server '192.0.2.4'\n", false },
		{ "/var/resolv.conf.d/resolv.conf.auto", "# Interface wan\nnameserver 192.0.2.4\n", false },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		asks(each[i].path, each[i].text, each[i].path, each[i].resolves);
	/* dnsmasq may be told to read another file. */
	asks("/etc/dnsmasq.conf", "server=192.0.2.4\nresolv-file=\nresolv-file=run/x\n#resolv-file=/run/named\n",
	     "/etc/dnsmasq.conf", false);
	asks("/etc/dnsmasq.conf", "port=53\nresolv-file=/run/none\n resolv-file = /run/named # x\nport=5\n",
	     "/run/named", false);
	asks("/etc/dnsmasq.conf", "resolv-file=/run/named", "/run/named", false);
	resolver = NULL;
}

/* Whom a resolver asks first whose file names nobody is nowhere written down. */
static void of_roots(void)
{
	static const struct {
		const char *path, *text;
	} each[] = {
		{ "/etc/bind/named.conf.options",
		  "options {\n\tdirectory \"/var/cache/bind\";\n\t// forwarders {\n\t// \t0.0.0.0;\n\t// };\n};\n" },
		{ "/etc/unbound/unbound.conf", "include-toplevel: \"/etc/unbound/unbound.conf.d/*.conf\"\n" },
		{ "/etc/knot-resolver/kresd.conf", "net.listen('127.0.0.1', 53, { kind = 'dns' })\n" },
		{ "/etc/pdns-recursor/recursor.conf", "" },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char said[OWN_TEXT_MAX], wanted[OWN_TEXT_MAX], first[PREFIX_TEXT_MAX], last[PREFIX_TEXT_MAX];
		struct learned l = { 0 };

		resolver = each[i].path;
		forwards = each[i].text;
		own_from_files(&l);
		snprintf(wanted, sizeof(wanted), "a name server in use (a root server, for the resolver of %s)",
			 resolver);
		CHECK(!l.err && l.n == 1 + ROOTS, "%s: %zu are known", resolver, l.n);
		for (size_t k = 1; k < l.n; k++)
			CHECK(!l.at[k].guest && !strcmp(own_text(said, &l.at[k]), wanted), "'%s'", said);
		prefix_text(first, l.at[l.n > 1].addr, -1);
		prefix_text(last, l.at[l.n - 1].addr, -1);
		CHECK(!strcmp(first, "198.41.0.4") && !strcmp(last, "2001:dc3::35"), "%s to %s", first, last);
		free(l.slots);
		free(l.at);
	}
	resolver = NULL;
}

/* Who has a resolver's user may put there what he likes: that refuses no ban, and nothing but a file is opened. */
static void of_no_file(void)
{
	static const struct {
		int error;
		const char *said, *refused;
	} each[] = {
		{ EACCES, "", NULL },
		{ EINVAL, "", NULL },
		{ EISDIR, "", NULL },
		{ EXDEV,
		  "xdp-bloom: not all that this machine needs may be known: %s: another user's link leads to /proc\n",
		  NULL },
		{ EAGAIN, "", NULL }, /* that was said */
		{ EMFILE, "", "%s: Too many open files, so the guard rails do not know what this machine needs" },
		{ ENOENT, "", NULL },
	};

	resolver = "/etc/pihole/pihole.toml";
	forwards = "upstreams = [ '192.0.2.4' ]\n";
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct learned l = { 0 };
		char *said = NULL, wanted[256] = "";
		FILE *messages = stderr;
		size_t size = 0;

		stderr = open_memstream(&said, &size);
		unopened = each[i].error;
		own_from_files(&l);
		unopened = 0;
		fclose(stderr);
		stderr = messages;
		snprintf(wanted, sizeof(wanted), each[i].said, resolver);
		CHECK(!strcmp(said, wanted), "%zu: said '%s'", i, said);
		if (each[i].refused) {
			snprintf(wanted, sizeof(wanted), each[i].refused, resolver);
			CHECK(l.err && !strcmp(reason(l.err), wanted), "%zu: %s", i, reason(l.err));
		} else {
			CHECK(!l.err && l.n == 1, "%zu: %zu are known, %s", i, l.n, l.err ? reason(l.err) : "");
		}
		free(said);
		free(l.slots);
		free(l.at);
	}
	resolver = NULL;
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "of resolvers", of_resolvers }, { "of root servers", of_roots }, { "of no file", of_no_file },
		{ "of many", of_many },		  { "of too many", of_too_many },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
