// SPDX-License-Identifier: GPL-2.0-only
/* Who is connected or logged in, and what servers are in use: as sockets and utmp say. */
#include "made_people.h"

#define GUESTS                                                  \
	"192.0.2.5 somebody who is connected (TCP port 8443)\n" \
	"192.0.2.6 somebody who is connected (TCP port 65535)\n"
#define SERVERS_TCP                                                    \
	"192.0.2.10 a name server in use (a socket to its port 53)\n"  \
	"192.0.2.11 a name server in use (a socket to its port 853)\n" \
	"192.0.2.17 a BGP peer (a socket to its port 179)\n"
#define SERVERS                                                          \
	SERVERS_TCP                                                      \
	"192.0.2.20 a name server in use (a socket to its port 53)\n"    \
	"2001:db8::20 a time server in use (a socket to its port 123)\n" \
	"192.0.2.21 a time server in use (a socket to its port 123)\n"

static void connected(void)
{
	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	names_asked = 0;
	learns(GUESTS SERVERS, NULL, (struct learned){ 0 });
	CHECK(asked == 4 && names_asked == 6, "%d questions, %d of users", asked, names_asked);
	nameless = true;
	learns(GUESTS SERVERS "192.0.2.80 a name server in use (a socket to its port 53)\n"
			      "192.0.2.81 a name server in use (a socket to its port 853)\n"
			      "192.0.2.82 a BGP peer (a socket to its port 179)\n"
			      "192.0.2.83 a name server in use (a socket to its port 53)\n"
			      "192.0.2.84 a time server in use (a socket to its port 123)\n",
	       NULL, (struct learned){ 0 });
	nameless = false;
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
}

/*
 * As many sockets as a user likes: what he can have at no cost is not even shown to us, and what he has beside one of
 * ours hides it not.
 */
static void crowds(void)
{
	static const struct socket_is his[] = {
		{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_UDP, TCP_CLOSE, NULL, 0, 40002, 12345, 0, NULL },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "127.0.0.3", 53, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "127.0.0.3", 53, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_UDP, TCP_ESTABLISHED, "::1", 123, 40000, 12345, 0, "::1" },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.70", 54, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 40000, 12345, 0, "127.0.0.2" },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "127.0.0.2", 53, 8443, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "127.0.0.2", 53, 8443, 12345, 0, "127.0.0.2" },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "::1", 53, 8443, 12345, 0, "::1" },
		{ AF_INET, IPPROTO_TCP, TCP_CLOSE_WAIT, "192.0.2.71", 53, 8443, 12345, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_TIME_WAIT, "192.0.2.71", 53, 8443, 12345, 0, NULL },
	};
	static const struct socket_is ours = { AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.20", 53, 40000, 0,
					       0,	NULL };
	enum { CROWD = 12000 };
	struct socket_is *all = malloc((CROWD + 1) * sizeof(*all));

	if (!CHECK(all, "no memory"))
		return;
	for (size_t i = 0; i < CROWD; i++)
		all[i] = his[i % (sizeof(his) / sizeof(his[0]))];
	all[CROWD] = ours;
	sockets = all;
	n_sockets = CROWD + 1;
	learns("192.0.2.20 a name server in use (a socket to its port 53)\n", NULL, (struct learned){ 0 });
	CHECK(shown_n <= 2 && looked_up == 1, "%zu sockets are shown, %zu are looked for", shown_n, looked_up);
	free(all);
}

/* Where there are more than can be looked at in time, that is said; sessions are found by what they say. */
static void too_many(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(600, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0HOME=/root");
	PUT(601, "environ", "SSH_CONNECTION=2001:db8::1%eth0 50001 2001:db8::99%eth0 22\0");
	PUT(602, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	PUT(603, "environ", "SSH_CONNECTION=192.0.2.4 50004 192.0.2.99 22\0"); /* of a server that is not root's */
	PUT(604, "environ", "SSH_CONNECTION=192.0.2.3 50009 192.0.2.99 22\0"); /* of before: the listener is there */
	PUT(605, "environ", "SSH_CONNECTION=192.0.2.3 50003 192.0.2.98 22\0");
	PUT(606, "environ", "SSH_CONNECTION=192.0.2.3 50003 2001:db8::99 22\0");
	PUT(607, "environ", "SSH_CONNECTION=192.0.2.3 50003 nowhere 22\0");
	cut_off = 1;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 600)\n"
		       "2001:db8::1 the peer of an SSH session (environment of process 601)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 602)\n",
		       NULL);
	for (int pid = 600; pid < 608; pid++)
		remove_process(pid);
	n_sockets = sizeof(many) / sizeof(many[0]);
	cut_off = 3;
	learns_in_time("2001:db8::20 a time server in use (a socket to its port 123)\n"
		       "192.0.2.21 a time server in use (a socket to its port 123)\n",
		       "xdp-bloom: not all servers and guests of this machine may be known: its sockets that may be to"
		       " such could not all be looked at in time");
	CHECK(opened == 4, "%d sockets were opened", opened);
	/* It is said once. */
	cut_off = 4;
	learns_in_time("", NULL);
}

/* More ports are named than the kernel is told of. */
static void many_ports(void)
{
	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	for (named_more = 56; named_more < 59; named_more++) {
		size_t fewer = shown_n;

		learns(GUESTS SERVERS, NULL, (struct learned){ 0 });
		CHECK(named_more == 56 || (shown_n > fewer) == (named_more == 58), "with %d: %zu are shown", named_more,
		      shown_n);
	}
	named_more = 0;
}

static void put_login(FILE *file, short type, int pid, const char *line, const char *host, const char *address)
{
	struct login_record u = { .ut_type = type, .ut_pid = pid };
	struct addr addr = { 0 };

	memcpy(u.ut_line, line, strlen(line));
	memcpy(u.ut_host, host, strlen(host));
	if (address && !addr_parse(address, strlen(address), &addr))
		for (size_t i = 0; i < (addr.family == 6 ? 16 : 4); i++)
			((uint8_t *)u.ut_addr_v6)[i] = (uint8_t)(addr.num >> 8 * ((addr.family == 6 ? 15 : 3) - i));
	fwrite(&u, sizeof(u), 1, file);
}

#define OTHER_LOGINS                                                                            \
	"192.0.2.41 somebody who is logged in (" LOGINS ", :10)\n"                              \
	"2001:db8::40 somebody who is logged in (" LOGINS ", web console)\n"                    \
	"2001:db8::41 somebody who is logged in (" LOGINS ", :12)\n"                            \
	"192.0.2.45 somebody who is logged in (" LOGINS ", a-line-of-thirty-two-characters.)\n" \
	"2001:db8:1:: somebody who is logged in (" LOGINS ", :15)\n"                            \
	"::1:0:0 somebody who is logged in (" LOGINS ", :16)\n"

static void logins(void)
{
	char path[96];
	FILE *file;

	n_sockets = 0;
	snprintf(path, sizeof(path), "%s/utmp", proc);
	file = fopen(path, "we");
	if (!file)
		return (void)CHECK(false, "%s cannot be written", path);
	/* What is no pty no user has written. */
	put_login(file, USER_PROCESS, 10, ":10", "192.0.2.40", "192.0.2.41");
	put_login(file, USER_PROCESS, 10, "web console", "2001:db8::40%eth0", NULL);
	put_login(file, USER_PROCESS, 10, ":12", "elsewhere.example", "2001:db8::41");
	put_login(file, USER_PROCESS, 7, ":13", "192.0.2.43", NULL); /* gone */
	put_login(file, DEAD_PROCESS, 10, ":14", "192.0.2.44", NULL);
	put_login(file, USER_PROCESS, 10, "tty1", "", NULL);
	put_login(file, USER_PROCESS, 10, "a-line-of-thirty-two-characters.", "192.0.2.45", NULL);
	put_login(file, USER_PROCESS, 10, ":15", "x", "2001:db8:1::");
	put_login(file, USER_PROCESS, 10, ":16", "x", "0:0:0:0:0:1::");
	/* Of sshd's there is a connection. */
	put_login(file, USER_PROCESS, 10, "pts/0", "192.0.2.1", NULL);
	put_login(file, USER_PROCESS, 10, "pts/1", "::ffff:192.0.2.2", NULL);
	put_login(file, USER_PROCESS, 10, "pts/2", "a.name", "2001:db8::1");
	put_login(file, USER_PROCESS, 10, "pts/3", "192.0.2.46", NULL);
	put_login(file, USER_PROCESS, 10, "pts/4", "192.0.2.4", NULL); /* to another server */
	put_login(file, USER_PROCESS, 10, "pts/5", "192.0.2.42 via mosh [123]", NULL);
	put_login(file, USER_PROCESS, 10, "pts/901", "192.0.2.47 via mosh [123]", NULL);
	fwrite("cut off", 7, 1, file);
	fclose(file);
	sockets = many;
	n_sockets = 5;
	learns(OTHER_LOGINS "192.0.2.1 somebody who is logged in (" LOGINS ", pts/0)\n"
			    "192.0.2.2 somebody who is logged in (" LOGINS ", pts/1)\n"
			    "2001:db8::1 somebody who is logged in (" LOGINS ", pts/2)\n"
			    "192.0.2.42 somebody who is logged in (" LOGINS ", pts/5)\n",
	       NULL, (struct learned){ 0 });
	/* Where nobody knows of connections, that is taken from users, too. */
	fails = -ENOENT;
	learns(OTHER_LOGINS "192.0.2.1 somebody who is logged in (" LOGINS ", pts/0)\n"
			    "192.0.2.2 somebody who is logged in (" LOGINS ", pts/1)\n"
			    "2001:db8::1 somebody who is logged in (" LOGINS ", pts/2)\n"
			    "192.0.2.46 somebody who is logged in (" LOGINS ", pts/3)\n"
			    "192.0.2.4 somebody who is logged in (" LOGINS ", pts/4)\n"
			    "192.0.2.42 somebody who is logged in (" LOGINS ", pts/5)\n",
	       NULL, (struct learned){ 0 });
	unlink(path);
}

#define NOT_COUNTED "xdp-bloom: a login from 203.0.113.9 does not count: in " LOGINS " user 1"

/* By utempter a user says what he likes, and hides nobody who is another's. */
static void many_words(void)
{
	const unsigned int ninth = 0xcb007109, second = 0xcb007102;
	char path[96], line[16], host[64];
	FILE *file;

	n_sockets = 0;
	snprintf(path, sizeof(path), "%s/utmp", proc);
	file = fopen(path, "we");
	if (!file)
		return (void)CHECK(false, "%s cannot be written", path);
	for (int i = 0; i < 24; i++) {
		snprintf(line, sizeof(line), "pts/%d", 101 + 100 * i);
		snprintf(host, sizeof(host), "203.0.113.%d via mosh [10]", 1 + i / 2);
		put_login(file, USER_PROCESS, 10, line, host, NULL);
	}
	put_login(file, USER_PROCESS, 10, "pts/2", "203.0.113.12 via mosh [10]", NULL);
	fclose(file);
	unheard_again = 0;
	for (int kept = 0; kept < 4; kept++) {
		log_settings.kept = kept;
		unheard_again = kept == 1 ? unheard_again : 0;
		due = kept != 2;
		due_name = STATE_UNHEARD;
		learns_in_time("203.0.113.1 somebody who is logged in (" LOGINS ", pts/101)\n"
			       "203.0.113.2 somebody who is logged in (" LOGINS ", pts/301)\n"
			       "203.0.113.3 somebody who is logged in (" LOGINS ", pts/501)\n"
			       "203.0.113.4 somebody who is logged in (" LOGINS ", pts/701)\n"
			       "203.0.113.5 somebody who is logged in (" LOGINS ", pts/1001)\n"
			       "203.0.113.6 somebody who is logged in (" LOGINS ", pts/1101)\n"
			       "203.0.113.7 somebody who is logged in (" LOGINS ", pts/1301)\n"
			       "203.0.113.8 somebody who is logged in (" LOGINS ", pts/1501)\n"
			       "203.0.113.12 somebody who is logged in (" LOGINS ", pts/2)\n",
			       kept == 0 || kept == 3 ? NOT_COUNTED : NULL);
	}
	log_settings.kept = false;
	/* He who is asked about alone counts no more for that; and of whom nobody asked nothing is said. */
	unheard_again = 0;
	learns("", NULL, (struct learned){ .wanted = is_no_other, .arg = &ninth });
	unheard_again = 0;
	learns("203.0.113.2 somebody who is logged in (" LOGINS ", pts/301)\n", NULL,
	       (struct learned){ .wanted = is_no_other, .arg = &second });
	CHECK(!unheard_again, "what nobody asked about is said");
	due_name = STATE_UNSEEN;
	unlink(path);
}

/* Only what is asked for is looked at. */
static void wanted(void)
{
	unsigned int one = 0xc0000206;

	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	learns("192.0.2.6 somebody who is connected (TCP port 65535)\n", NULL,
	       (struct learned){ .wanted = is_no_other, .arg = &one });
}

/* What the kernel does not have, nobody is connected by; all else is said, and what is known stays. */
static void refused(void)
{
	static const int none[] = { -EPROTONOSUPPORT, -EOPNOTSUPP, -ENOENT };

	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		fails = none[i];
		learns("", NULL, (struct learned){ 0 });
		fails = none[i];
		fails_at = TCPDIAG_GETSOCK;
		learns("", NULL, (struct learned){ 0 });
	}
	fails = -EPERM;
	learns("", "cannot ask who is connected: Operation not permitted", (struct learned){ 0 });
	fails = -ENOENT;
	fails_at = SOCK_DIAG_BY_FAMILY;
	fails_family = AF_INET6;
	learns(GUESTS SERVERS_TCP "192.0.2.20 a name server in use (a socket to its port 53)\n", NULL,
	       (struct learned){ 0 });
	fails = -EOPNOTSUPP;
	fails_at = SOCK_DIAG_BY_FAMILY;
	learns(GUESTS SERVERS_TCP, NULL, (struct learned){ 0 });
	fails = -EINTR;
	fails_at = SOCK_DIAG_BY_FAMILY;
	learns(GUESTS SERVERS_TCP, "cannot ask who is connected: Interrupted", (struct learned){ 0 });
	fails = -EINTR;
	fails_at = TCPDIAG_GETSOCK;
	learns("", "cannot ask who is connected: Interrupted", (struct learned){ 0 });
	fails = -EINTR;
	fails_at = TCPDIAG_GETSOCK;
	learns("", "Cannot allocate", (struct learned){ .err = -ENOMEM });
	fails = -EIO;
	fails_at = 1;
	learns("", "cannot ask who is connected: the state cannot be read", (struct learned){ 0 });
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "who is connected", connected }, { "of a crowd", crowds },
		{ "too many", too_many },	   { "of many ports", many_ports },
		{ "who is logged in", logins },	   { "who says that he is logged in", many_words },
		{ "who is asked for", wanted },	   { "what is refused", refused },
	};

	return people_run(run, sizeof(run) / sizeof(*run));
}
