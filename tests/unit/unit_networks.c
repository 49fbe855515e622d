// SPDX-License-Identifier: GPL-2.0-only
/* Whose an address is: tables of every kind, against a model that looks at all rows; and files that are damaged. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus_error.h"
#include "ktap.h"
#include "base/log.h"
#include "base/state_path.h"
#include "sets/networks.h"
#include "sets/ranges.h"
#include "sets/reader.h"

/* Each call that writes the file: what it takes at once, and which of them fails. */
static size_t at_once = SIZE_MAX;
static unsigned int writes, write_fails;
static int write_errno; /* 0: nothing is taken, and no reason given */

static bool write_is_refused(void)
{
	if (++writes != write_fails)
		return false;
	errno = write_errno;
	return true;
}

static ssize_t given_write(int fd, const void *data, size_t bytes)
{
	if (write_is_refused())
		return write_errno ? -1 : 0;
	return write(fd, data, bytes < at_once ? bytes : at_once);
}

static ssize_t given_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	if (write_is_refused())
		return write_errno ? -1 : 0;
	return pwrite(fd, data, bytes, at);
}

static off_t given_lseek(int fd, off_t at, int whence)
{
	if (write_is_refused()) {
		errno = EIO;
		return -1;
	}
	return lseek(fd, at, whence);
}

static uint64_t half; /* of what is free; 0: enough */

static uint64_t given_half(uint64_t most)
{
	return half ?: most;
}

#define memory_half given_half
#define write	    given_write
#define pwrite	    given_pwrite
#define lseek	    given_lseek
#include "sets/networks_make.c"
#undef write
#undef memory_half
#undef pwrite
#undef lseek

static char directory[] = "/tmp/unit_networks.XXXXXX", table[64], file[64];

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	exit(KTAP_FAIL);
}

static void write_table(const char *text, size_t bytes)
{
	FILE *f = fopen(table, "we");

	if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f))
		die("cannot write %s", table);
}

static int make(const char *text)
{
	struct networks_source source = { 0 };

	write_table(text, strlen(text));
	return networks_make(directory, table, &source);
}

static struct addr addr_of(const char *text)
{
	struct addr addr = { 0 };

	if (addr_parse(text, strlen(text), &addr))
		die("%s is no address", text);
	return addr;
}

static const char *name_of(const char *prefix)
{
	static char text[NETWORK_TEXT_MAX];
	struct networks *n = networks_open(directory);
	struct addr first = { 0 };
	unsigned int length = 0;

	if (prefix_parse(prefix, strlen(prefix), &first, &length))
		die("%s is no prefix", prefix);
	networks_text(text, n, first, length);
	networks_close(n);
	return text;
}

/* --- Tables as people have them --- */

static void kinds_of_tables(void)
{
	static const struct {
		const char *table, *asked, *is;
	} cases[] = {
		{ "1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUDFLARENET\n1.0.1.0\t1.0.3.255\t0\tNone\tNot routed\n"
		  "1.0.4.0\t1.0.7.255\t38803\tAU\tWPL-AS-AP\n",
		  "1.0.0.9", "US AS13335 CLOUDFLARENET" },
		{ "1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.3.255,CN\n", "1.0.2.0/24", "CN" },
		{ "1.0.0.0,1.0.0.255,13335,\"Cloudflare, Inc.\"\n1.0.1.0,1.0.3.255,4134,Chinanet\n", "1.0.0.1",
		  "AS13335 Cloudflare, Inc." },
		{ "network,autonomous_system_number,autonomous_system_organization\n1.0.0.0/24,13335,CLOUDFLARENET\n",
		  "1.0.0.1", "AS13335 CLOUDFLARENET" },
		{ "network,country,country_code,continent,continent_code,asn,as_name,as_domain\n"
		  "1.0.0.0/24,Australia,AU,Oceania,OC,AS13335,\"A \"\"b\"\", c\",x.org\n",
		  "1.0.0.1", "AU AS13335 A \"b\", c" },
		{ "# network;asn;cc\n1.0.0.0/24;AS5;de\n", "1.0.0.1", "DE AS5" },
		{ "1.0.0.0/24|OC|AU|x\n2.0.0.0/24|EU|FR|y\n", "2.0.0.1", "FR y" },
		{ "network,asn,org\n2001:db8::/32,64500,Docs\n", "2001:db8:1::/48", "AS64500 Docs" },
		{ "{\"network\":\"1.0.0.0/24\",\"country\":\"Australia\",\"country_code\":\"AU\",\"asn\":\"AS13335\","
		  "\"as_name\":\"Cloudflare, Inc.\"}\n",
		  "1.0.0.1", "AU AS13335 Cloudflare, Inc." },
		{ "{\"start_ip\":\"1.0.0.0\",\"end_ip\":\"1.0.0.255\",\"country\":\"AU\",\"asn\":13335,"
		  "\"as_name\":\"caf\\u00e9\"}\n",
		  "1.0.0.1", "AU AS13335 caf\xc3\xa9" },
		{ "{\"network\":\"1.0.0.0/24\",\"country_code\":\"AU\",\"country\":\"NZ\",\"asn\":5,"
		  "\"as_name\":\"a\",\"organization\":\"b\",\"name\":\"c\"}\n",
		  "1.0.0.1", "AU AS5 a" },
		{ "[{\"cidr\":\"1.0.0.0/24\",\"cc\":\"AU\"},{\"cidr\":\"1.0.1.0/24\",\"cc\":null}]", "1.0.0.1", "AU" },
		{ "[{\"cidr\":\"1.0.0.0/24\",\"cc\":\"AU\"},{\"cidr\":\"1.0.1.0/24\",\"cc\":null}]", "1.0.1.1", "" },
		/* What a terminal would obey, what turns the text round, and what is too long. */
		{ "network,name\n1.0.0.0/24,\x1b[2Jx\xe2\x80\xaey\n", "1.0.0.1", "?[2Jx???y" },
		{ "network,name\n1.0.0.0/24,"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\xc3\xa9\n",
		  "1.0.0.1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
		/* Both ends of a prefix are of one network, or nothing is said of it. */
		{ "network,asn\n1.0.0.0/24,5\n1.0.1.0/24,6\n", "1.0.0.0/23", "" },
		{ "network,asn\n1.0.0.0/24,5\n1.0.1.0/24,5\n", "1.0.0.0/23", "AS5" },
		/* The narrowest, wherever it stands; a row that says nothing is a hole; of equal ones the last. */
		{ "network,asn\n1.2.3.0/24,7\n1.0.0.0/8,5\n1.2.0.0/16,6\n", "1.2.3.4", "AS7" },
		{ "network,asn\n1.2.3.0/24,7\n1.0.0.0/8,5\n1.2.0.0/16,6\n", "1.2.4.4", "AS6" },
		{ "network,asn\n1.2.3.0/24,7\n1.0.0.0/8,5\n1.2.0.0/16,6\n", "1.3.0.0", "AS5" },
		{ "network,asn\n1.0.0.0/8,5\n1.2.0.0/16,0\n", "1.2.0.1", "" },
		{ "network,asn\n1.0.0.0/8,5\n1.0.0.0/8,6\n", "1.2.0.1", "AS6" },
		{ "network,asn\n0.0.0.0/0,5\n::/0,6\n", "255.255.255.255", "AS5" },
		{ "network,asn\n0.0.0.0/0,5\n::/0,6\n", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "AS6" },
		{ "network,colour\n1.0.0.0/24,red green\n", "1.0.0.1", "red green" },
		/* Lines that cannot be read are left out. */
		{ "network,asn\nrubbish,5\n1.0.0.0/8,6\n", "1.0.0.0", "AS6" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = make(cases[i].table);

		CHECK(!err && !strcmp(name_of(cases[i].asked), cases[i].is), "case %zu: '%s', not '%s' (%s)", i,
		      name_of(cases[i].asked), cases[i].is, err ? log_last() : "");
	}
}

/* What is in use stays. */
static void refused_tables(void)
{
	static const struct {
		const char *table, *why;
	} cases[] = {
		{ "1.0.0.0/24\n2.0.0.0/24\n", "no column holds an address" },
		{ "network,a,b\n1.0.0.0/24,,\n", "no column of it is" },
		{ "x,y\nz,w\n", "" },
		{ "", "" },
	};

	CHECK(!make("network,asn\n1.0.0.0/8,5\n"), "%s", log_last());
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = make(cases[i].table);

		CHECK(err && strstr(reason(err), cases[i].why), "case %zu: %d %s", i, err, err ? reason(err) : "");
		CHECK(!strcmp(name_of("1.2.3.4"), "AS5"), "case %zu: '%s'", i, name_of("1.2.3.4"));
	}
	errno = 0;
	CHECK(!networks_forget(directory) && !networks_open(directory) && !networks_forget(directory) &&
		      !networks_check(directory),
	      "%s", log_last());
}

/* Which lines are left out is said of the first. */
static void bad_lines(void)
{
	static const struct {
		const char *lines, *said;
	} cases[] = {
		{ "", "" },
		{ "rubbish,5\n", "table:2: 'rubbish,5': not an IPv4 or IPv6 address; that line is left out\n" },
		{ "rubbish,5\nmore,6\n",
		  "table:2: 'rubbish,5': not an IPv4 or IPv6 address; that line and 1 more are left out\n" },
		{ "rubbish,5\nmore,6\nall,7\n",
		  "table:2: 'rubbish,5': not an IPv4 or IPv6 address; that line and 2 more are left out\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct networks_source source = { 0 };
		char text[200], said[400] = "";
		int to = memfd_create("said", MFD_CLOEXEC), out = dup(STDERR_FILENO);

		snprintf(text, sizeof(text), "network,asn\n%s1.0.0.0/8,6\n", cases[i].lines);
		write_table(text, strlen(text));
		dup2(to, STDERR_FILENO);
		CHECK(!networks_make(directory, table, &source) && source.rows == 1 && source.bad == i,
		      "%d rows, %d bad", (int)source.rows, (int)source.bad);
		dup2(out, STDERR_FILENO);
		CHECK(pread(to, said, sizeof(said) - 1, 0) >= 0 &&
			      !strcmp(strstr(said, "table:") ?: said, cases[i].said),
		      "%zu bad lines: '%s'", i, said);
		close(to);
		close(out);
	}
}

/* --- Random ranges against a model --- */

struct model {
	int family;
	ip6 lo, hi;
	uint32_t asn;
};

static uint32_t expected(const struct model *rows, size_t n, struct addr addr)
{
	const struct model *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (rows[i].family == addr.family && rows[i].lo <= addr.num && addr.num <= rows[i].hi &&
		    (!best || rows[i].hi - rows[i].lo <= best->hi - best->lo))
			best = &rows[i];
	return best ? best->asn : 0;
}

static void put_range(FILE *f, const struct model *row)
{
	char lo[PREFIX_TEXT_MAX], hi[PREFIX_TEXT_MAX];

	prefix_text(lo, (struct addr){ row->lo, row->family }, -1);
	prefix_text(hi, (struct addr){ row->hi, row->family }, -1);
	fprintf(f, "%s,%s,%u\n", lo, hi, row->asn);
}

static void random_tables(void)
{
	for (unsigned int round = 0; round < 60; round++) {
		struct model rows[80];
		size_t n = 1 + (size_t)(ktap_random() >> 2) % 80;
		FILE *f = fopen(table, "we");
		struct networks_source source = { 0 };
		struct networks *networks;
		bool good = f;

		if (!f)
			die("cannot write %s", table);
		fputs("start,end,asn\n", f);
		for (size_t i = 0; i < n; i++) {
			bool four = (ktap_random() >> 2) % 2;
			ip6 most = four ? UINT32_MAX : ~(ip6)0, base = (ktap_random() >> 2) % 4 ? 0 : most - 255;
			ip6 a = base + (ip6)((ktap_random() >> 2) % 256), b = base + (ip6)((ktap_random() >> 2) % 256);

			rows[i] = (struct model){ four ? 4 : 6, a < b ? a : b, a < b ? b : a,
						  (uint32_t)((ktap_random() >> 2) % 5) };
			put_range(f, &rows[i]);
		}
		good = !fclose(f) && !networks_make(directory, table, &source) && source.rows == n;
		networks = networks_open(directory);
		for (unsigned int at = 0; at < 1024 && good; at++) {
			int family = at % 2 ? 4 : 6;
			ip6 most = family == 4 ? UINT32_MAX : ~(ip6)0;
			struct addr addr = { at % 4 < 2 ? at / 4 : most - at / 4, family };
			struct network is = { 0 };
			bool known = networks_find(networks, addr, addr_width(family), &is);

			good = known == (expected(rows, n, addr) != 0) && is.asn == expected(rows, n, addr);
		}
		networks_close(networks);
		if (!CHECK(good, "round %u (%s)", round, log_last()))
			return;
	}
	CHECK(!networks_check(directory), "%s", log_last());
}

/* --- Files that are damaged, cut, or somebody else's --- */

/* Whatever is in it: an answer, a warning, and nothing worse. */
static void look_everywhere(void)
{
	struct networks *n = NULL;

	networks_map(&n, directory);
	for (unsigned int i = 0; i < 2000; i++) {
		struct addr addr = { i % 2 ? (ip6)i << 21 & UINT32_MAX : (ip6)i << 117, i % 2 ? 4 : 6 };
		char text[NETWORK_TEXT_MAX];

		networks_text(text, n, addr, addr_width(addr.family));
		for (const char *p = text; *p; p++)
			if ((unsigned char)*p < ' ')
				die("a control character in a name");
	}
	networks_close(n);
}

static void damaged_files(void)
{
	static char text[65536], whole[65536], other[65536];
	size_t at = (size_t)snprintf(text, sizeof(text), "network,cc,asn,name\n"), bytes;
	unsigned int damaged = 0;
	struct networks *n;
	FILE *f;

	for (unsigned int i = 1; i < 500; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       i % 2 ? "%u.0.0.0/8,DE,%u,x%u\n" : "%x::/16,FR,%u,y%u\n", i % 2 ? i % 224 : i, i,
				       i);
	CHECK(!make(text), "%s", log_last());
	f = fopen(file, "re");
	bytes = f ? fread(whole, 1, sizeof(whole), f) : 0;
	CHECK(f && bytes > 4320 && bytes < sizeof(whole) && !fclose(f), "%zu bytes", bytes);
	for (unsigned int round = 0; round < 600; round++) {
		size_t left = round % 3 ? bytes : (size_t)(ktap_random() >> 2) % bytes;

		memcpy(other, whole, bytes);
		for (unsigned int k = 0; k < 4 && round % 3; k++) {
			size_t where = round % 3 == 1 ? (size_t)(ktap_random() >> 2) % bytes
						      : 80 + (size_t)(ktap_random() >> 2) % 32;

			other[where] = (char)(ktap_random() >> 2);
		}
		f = fopen(file, "we");
		if (!f || fwrite(other, 1, left, f) != left || fclose(f))
			die("cannot write %s", file);
		look_everywhere();
		damaged += networks_check(directory) != 0 || left == bytes;
	}
	CHECK(damaged == 600, "%u", damaged);
	/* One that is cut while it is mapped. */
	f = fopen(file, "we");
	CHECK(f && fwrite(whole, 1, bytes, f) == bytes && !fclose(f), "%s", file);
	n = networks_open(directory);
	{
		struct network is;

		CHECK(networks_find(n, addr_of("1.2.3.4"), 32, &is), "it is not found");
		CHECK(!bus_errors_say_where() || (!truncate(file, 0) && !networks_find(n, addr_of("1.2.3.4"), 32, &is)),
		      "it is found");
		networks_close(n);
	}
	f = fopen(file, "we");
	CHECK(f && fwrite(whole, 1, bytes, f) == bytes && !fclose(f) && !chmod(file, 0666), "%s", file);
	CHECK(networks_map(&n, directory) && !n, "others may write to it");
	CHECK(strstr(reason(networks_check(directory)), "others may write to it"), "it says why");
	CHECK(networks_check(directory) && !chmod(file, 0600) && !networks_check(directory), "%s", log_last());
}

/* What cannot be written is said, and the table of before stays. */
static void no_room(void)
{
	struct networks_source source = { 0 };
	struct rlimit before, least;
	char elsewhere[96];
	struct stat st;
	int err;

	CHECK(!make("network,asn,name\n1.0.0.0/8,5,a\n2001:db8::/32,6,b\n") && !stat(file, &st), "%s", log_last());
	write_table("network,asn,name\n1.0.0.0/8,7,a\n2001:db8::/32,6,b\n", 48);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	least = before;
	for (least.rlim_cur = 0; least.rlim_cur <= (rlim_t)st.st_size;
	     least.rlim_cur += 1 + 96 * (least.rlim_cur + 100 < (rlim_t)st.st_size && least.rlim_cur > 9)) {
		setrlimit(RLIMIT_FSIZE, &least);
		err = networks_make(directory, table, &source);
		setrlimit(RLIMIT_FSIZE, &before);
		if (least.rlim_cur < (rlim_t)st.st_size)
			CHECK(err_is(err, EFBIG) && strstr(reason(err), "networks: File too large"), "%lu bytes: %s",
			      (unsigned long)least.rlim_cur, err ? reason(err) : "is enough");
		else
			CHECK(!err, "%s", reason(err));
		CHECK(!strcmp(name_of("1.2.3.4"), err ? "AS5 a" : "AS7 a"), "%lu bytes: '%s'",
		      (unsigned long)least.rlim_cur, name_of("1.2.3.4"));
	}
	snprintf(elsewhere, sizeof(elsewhere), "%s/none", directory);
	err = networks_make(elsewhere, table, &source);
	CHECK(err_is(err, ENOENT) && strstr(reason(err), "/none/networks: No such file"), "%s", err ? reason(err) : "");
	unlink(file);
	CHECK(!mkdir(file, 0700), "%s", file);
	err = networks_make(directory, table, &source);
	CHECK(err && strstr(reason(err), "networks is a directory"), "%s", err ? reason(err) : "");
	rmdir(file);
}

static size_t file_is(char *bytes, size_t most)
{
	FILE *f = fopen(file, "re");
	size_t n = f ? fread(bytes, 1, most, f) : 0;

	if (!f || fclose(f))
		die("cannot read %s", file);
	return n;
}

#define THREE "network,asn,name\n1.0.0.0/8,5,a\n2.0.0.0/8,6,b\n2001:db8::/32,6,b\n"

/* Who writes the table does not say how much memory it takes. */
static void too_much(void)
{
	int err;

	half = 2 * sizeof(struct row);
	err = make(THREE);
	CHECK(err_is(err, EFBIG) && !strcmp(reason(err), "the table takes more than 96 B of memory, half of what "
							 "is free"),
	      "%s", reason(err));
	CHECK(!make("network,asn,name\n1.0.0.0/8,5,a\n"), "one row: %s", log_last());
	half = 0;
	CHECK(!make(THREE), "three rows: %s", log_last());
}

/* Whatever the kernel takes at once, and whoever interrupts it, the file is the same. */
static void bit_by_bit(void)
{
	static char whole[16384], other[16384];
	const size_t head = sizeof(struct networks_head); /* with the table's time */
	size_t n;

	CHECK(!make(THREE), "%s", log_last());
	n = file_is(whole, sizeof(whole));
	write_errno = EINTR;
	for (at_once = 1; at_once < 5000; at_once = 2 * at_once + 1) {
		writes = 0;
		write_fails = 3;
		CHECK(!make(THREE) && file_is(other, sizeof(other)) == n &&
			      !memcmp(whole + head, other + head, n - head),
		      "another file by %zu bytes", at_once);
	}
	write_fails = 0;
	at_once = SIZE_MAX;
}

/* Each of them: it is said, and the table of before stays. */
static void each_write_fails(void)
{
	static const int errnos[] = { EIO, 0 };
	unsigned int all;

	CHECK(!make("network,asn\n1.0.0.0/8,9\n"), "%s", log_last());
	writes = 0;
	CHECK(!make(THREE) && !strcmp(name_of("1.2.3.4"), "AS5 a"), "%s", log_last());
	all = writes;
	for (size_t e = 0; e < 2; e++)
		for (unsigned int i = 1; i <= all; i++) {
			int err;

			writes = 0;
			write_fails = i;
			write_errno = errnos[e];
			err = make("network,asn,name\n1.0.0.0/8,7,a\n2.0.0.0/8,8,b\n2001:db8::/32,8,b\n");
			write_fails = 0;
			CHECK(err_is(err, EIO) && strstr(reason(err), "networks: Input/output error"),
			      "call %u of %u: %s", i, all, err ? reason(err) : "done");
			CHECK(!strcmp(name_of("1.2.3.4"), "AS5 a"), "call %u: '%s'", i, name_of("1.2.3.4"));
		}
	unlink(file);
	CHECK(!mkdir(file, 0700) && err_is(networks_forget(directory), EISDIR), "a directory is forgotten");
	rmdir(file);
}

/* However many names there are: each is kept once. */
static void each_name_once(void)
{
	static char text[400000];

	for (int names = 511; names <= 3000; names = names < 514 ? names + 1 : names == 514 ? 3000 : 3001) {
		size_t at = (size_t)sprintf(text, "network,country,asn,org\n");
		struct networks_head head = { 0 };
		int fd;

		/* The same number and country has two names, and the same name two numbers. */
		for (int twice = 0; twice < 2; twice++)
			for (int i = 0; i < names; i++)
				at += (size_t)sprintf(text + at, "10.%d.%d.0/24,%s,%d,name %d\n", i / 256 + 100 * twice,
						      i % 256, i % 5 ? "DE" : "FR", 1 + i / 2, i % 1000);
		CHECK(!make(text), "%d names", names);
		fd = open(file, O_RDONLY | O_CLOEXEC);
		CHECK(fd >= 0 && read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
			      head.names == (uint64_t)names,
		      "%llu names of %d", (unsigned long long)head.names, names);
		close(fd);
		CHECK(!strcmp(name_of("10.101.7.9"), names > 263 ? "DE AS132 name 263" : ""), "'%s'",
		      name_of("10.101.7.9"));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "tables as people have them", kinds_of_tables },
		{ "tables that are refused", refused_tables },
		{ "lines that are left out", bad_lines },
		{ "random ranges against a model", random_tables },
		{ "files that are damaged, cut, or open to others", damaged_files },
		{ "no room for it", no_room },
		{ "each name once", each_name_once },
		{ "more memory than there is", too_much },
		{ "taken bit by bit", bit_by_bit },
		{ "each call that writes fails", each_write_fails },
	};
	int status;

	if (!mkdtemp(directory))
		die("no directory");
	snprintf(table, sizeof(table), "%s/table", directory);
	snprintf(file, sizeof(file), "%s/" STATE_NETWORKS, directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(table);
	unlink(file);
	rmdir(directory);
	return status;
}
