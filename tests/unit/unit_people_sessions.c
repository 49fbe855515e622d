// SPDX-License-Identifier: GPL-2.0-only
/* Whose sessions there are: as the environments of processes say, of which others may have a say in some. */
#include "made_people.h"

/* sshd's own processes say whose they are; those of others do not count. */
static void sessions(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(610, "environ", "SSH_CONNECTION=192.0.2.4 50004 192.0.2.99 22\0"); /* of a server that is not root's */
	PUT(600, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0HOME=/root");
	PUT(601, "environ", "HOME=/root\0SSH_CONNECTION=2001:db8::1%eth0 50001 2001:db8::99 22\0");
	PUT(602, "environ", "X=SSH_CONNECTION=192.0.2.3 50003 192.0.2.99 22\0NOT_SSH_CONNECTION=1 2 3 4\0");
	PUT(603, "environ", "SSH_CONNECTION=192.0.2.2 50009 192.0.2.99 22\0");	/* another connection of his */
	PUT(604, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 222\0"); /* another server's */
	PUT(605, "environ", "SSH_CONNECTION=192.0.2.2 50002\0");
	PUT(606, "environ", "SSH_CONNECTION=");
	PUT(607, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22"); /* cut off */
	PUT(608, "status", "nothing else");
	learns("192.0.2.1 the peer of an SSH session (environment of process 600)\n"
	       "2001:db8::1 the peer of an SSH session (environment of process 601)\n",
	       NULL, (struct learned){ 0 });
	PUT(609, "environ", "SSH_CONNECTION=::ffff:192.0.2.2 50002 192.0.2.99 22\0");
	n_sockets = 3;
	sockets = many + 1;
	learns("2001:db8::1 the peer of an SSH session (environment of process 601)\n"
	       "192.0.2.2 the peer of an SSH session (environment of process 609)\n",
	       NULL, (struct learned){ 0 });
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
	for (int pid = 600; pid < 611; pid++)
		remove_process(pid);
}

/* A pipe that nobody writes to is not even opened. */
static void put_stuck(int pid)
{
	char path[128];

	PUT(pid, "status", "");
	snprintf(path, sizeof(path), "%s/%d/environ", proc, pid);
	if (mkfifo(path, 0600))
		abort();
}

#define NOT_ALL "xdp-bloom: not all SSH sessions may be known: of "

/* Whoever has the reading of his environment take for ever hides nobody else's session. */
static void stuck(void)
{
	sockets = many;
	n_sockets = 5;
	put_stuck(701);
	PUT(801, "environ", "SSH_CONNECTION=192.0.2.3 50003 192.0.2.99 22\0");
	PUT(702, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	PUT(703, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n"
		       "192.0.2.3 the peer of an SSH session (environment of process 801)\n",
		       NOT_ALL
		       "4 processes the environments of 1 could not be read in time, that of process 701 first");
	/* That is said once: nor does it delay what comes next. */
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n"
		       "192.0.2.3 the peer of an SSH session (environment of process 801)\n",
		       NULL);
	CHECK(is_slow(701) && !is_slow(702), "who is left out is another");
	memset(slow, 0, sizeof(slow));
	remove_process(801);
	for (int pid = 901; pid < 2001; pid += 100)
		put_stuck(pid);
	all_ms = 6000;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 702)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 703)\n",
		       NOT_ALL "14 processes the environments of 12 could not be read in time, that of process ");
	all_ms = 60000;
	/* Nor is one waited for where no connection is asked about. */
	n_sockets = 0;
	learns("", NULL, (struct learned){ 0 });
	memset(slow, 0, sizeof(slow));
	for (int pid = 701; pid < 704; pid++)
		remove_process(pid);
	for (int pid = 901; pid < 2001; pid += 100)
		remove_process(pid);
}

/* Nor do many of them hide whoever has a number above theirs; and root they hide never. */
static void many_stuck(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (int pid = 701; pid < 741; pid++)
		put_stuck(pid);
	PUT(799, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 799)\n",
		       NOT_ALL "42 processes the environments of 40 could not be read in time, that of process ");
	memset(slow, 0, sizeof(slow));
	remove_process(799);
	for (int pid = 741; pid < 800; pid++)
		put_stuck(pid);
	all_ms = 3000;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n",
		       NOT_ALL "100 processes the environments of 99 could not be read in time, that of process ");
	all_ms = 60000;
	memset(slow, 0, sizeof(slow));
	for (int pid = 700; pid < 800; pid++)
		remove_process(pid);
}

/* Where no more processes can be started, those that are there go on. */
static void few_readers(void)
{
	sockets = many;
	n_sockets = 5;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (int pid = 701; pid < 704; pid++)
		put_stuck(pid);
	PUT(799, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	forks_left = 2;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n"
		       "192.0.2.2 the peer of an SSH session (environment of process 799)\n",
		       NOT_ALL "5 processes the environments of 3 could not be read in time, that of process ");
	memset(slow, 0, sizeof(slow));
	forks_left = 0;
	learns("", "no process could be started", (struct learned){ 0 });
	for (int pid = 700; pid < 800; pid++)
		remove_process(pid);
}

#define NOT_IN_TIME \
	"xdp-bloom: not all SSH sessions may be known: of those that processes name not all could be looked for"

/* Behind a crowd what is bound to a device is asked for by each, as long as that may take for all sessions. */
static void bound(void)
{
	static const struct socket_is all[] = {
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.1", 50000, BOUND, 0, 0, NULL },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "fe80::1", 50001, BOUND, 0, 0, "fe80::99" },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.2", 50002, BOUND, 1000, 0, NULL },
	};

	sockets = all;
	n_sockets = sizeof(all) / sizeof(all[0]);
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 2222\0");
	PUT(701, "environ", "SSH_CONNECTION=fe80::1%eth0 50001 fe80::99%eth0 2222\0");
	PUT(702, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 2222\0"); /* of a server that is not root's */
	PUT(703, "environ", "SSH_CONNECTION=192.0.2.3 50003 192.0.2.99 2222\0"); /* of nobody any more */
	cut_off = 1;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n"
		       "fe80::1 the peer of an SSH session (environment of process 701)\n",
		       NULL);
	remove_process(702);
	remove_process(703);
	cut_off = 1;
	slow_device = 1;
	learns_in_time("", NOT_IN_TIME);
	/* That is said once. */
	cut_off = 1;
	slow_device = 7;
	remove_process(701);
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	slow_device = 0;
	cut_off = 1;
	no_links = true;
	learns_in_time("", NULL);
	no_links = false;
	remove_process(700);
}

#define WITHOUT_DIAG                                                                                                   \
	"xdp-bloom: not all servers and guests of this machine may be known: the kernel does not say whom its sockets" \
	" are connected to, as it lacks the module tcp_diag or udp_diag (of OpenWrt's kmod-inet-diag)"

/* Where MPTCP carries a session, it says the first of its connections alone, also when that is over. */
static void joined(void)
{
	static const struct socket_is all[] = {
		{ AF_INET, MPTCP, TCP_ESTABLISHED, "192.0.2.1", 51000, JOINED, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.2", 51001, JOINED, 0, 0, NULL },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "2001:db8::2", 51002, JOINED, 0, 0, NULL },
		{ AF_INET6, MPTCP, TCP_ESTABLISHED, "192.0.2.3", 52000, JOINED, 0, 0, NULL },
		{ AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.3", 52000, JOINED, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.4", 52001, JOINED, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.9", 51003, 22, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.10", 51004, 22, 0, 0, NULL },
		/* Who tries passwords, and a server that is not root's. */
		{ AF_INET, MPTCP, TCP_ESTABLISHED, "192.0.2.5", 53000, JOINED, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.6", 53001, JOINED, 0, 0, NULL },
		{ AF_INET, MPTCP, TCP_ESTABLISHED, "192.0.2.7", 54000, JOINED, 1000, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.8", 54001, JOINED, 1000, 0, NULL },
	};
	static const char known[] = "192.0.2.1 the peer of an SSH session (environment of process 700)\n"
				    "192.0.2.2 the peer of an SSH session (environment of process 700)\n"
				    "2001:db8::2 the peer of an SSH session (environment of process 700)\n"
				    "192.0.2.3 the peer of an SSH session (environment of process 701)\n"
				    "192.0.2.4 the peer of an SSH session (environment of process 701)\n"
				    "192.0.2.9 the peer of an SSH session (environment of process 703)\n",
			  by_tcp[] = "192.0.2.9 the peer of an SSH session (environment of process 703)\n"
				     "192.0.2.3 the peer of an SSH session (environment of process 701)\n";
	const unsigned int second = 0xc0000202;

	sockets = all;
	n_sockets = sizeof(all) / sizeof(all[0]);
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 51000 192.0.2.99 2223\0");
	PUT(701, "environ", "SSH_CONNECTION=192.0.2.3 52000 192.0.2.99 2223\0");
	PUT(702, "environ", "SSH_CONNECTION=192.0.2.7 54000 192.0.2.99 2223\0");
	PUT(703, "environ", "SSH_CONNECTION=192.0.2.9 51003 192.0.2.99 22\0");
	has_mptcp = true;
	learns_in_time(known, NULL);
	CHECK(asked == 7, "%d questions", asked);
	learns("192.0.2.2 the peer of an SSH session (environment of process 700)\n", NULL,
	       (struct learned){ .wanted = is_no_other, .arg = &second });
	cut_off = 1;
	learns_in_time(known, NULL);
	/* Behind a crowd of its own that is known no more, and said. */
	said_late = false;
	said_cut_off = true;
	cut_off = 6;
	learns_in_time(by_tcp, NOT_IN_TIME);
	cut_off = 0;
	has_mptcp = false;
	learns_in_time(by_tcp, NULL);
	for (int pid = 700; pid < 704; pid++)
		remove_process(pid);
}

static void put_end(FILE *file, int family, struct addr addr, unsigned int port)
{
	__be32 words[4];

	put_address(words, family, addr);
	for (size_t i = 0; i < (family == AF_INET6 ? 4 : 1); i++)
		fprintf(file, "%08X", words[i]);
	fprintf(file, ":%04X ", port);
}

/* As the kernel writes them. */
static void put_table(const char *name, int family)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	file = fopen(path, "we");
	if (!file)
		abort();
	fprintf(file,
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n");
	for (size_t i = 0; i < n_sockets; i++) {
		const struct socket_is *is = &sockets[i];

		if (is->protocol != IPPROTO_TCP || is->family != family)
			continue;
		fprintf(file, "%4zu: ", i);
		put_end(file, family, local_of(is), is->port);
		put_end(file, family, peer_of(is), is->peer_port);
		fprintf(file,
			"%02X 00000000:00000000 02:000006F4 00000000 %5u        0 12345 2 0000000000000000 20 4 0 10 -1\n",
			is->state, is->uid);
	}
	fclose(file);
}

static void remove_table(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	unlink(path);
}

/* Where sockets cannot be asked about, who is connected is read: sessions and guests, but no servers. */
static void without_diag(void)
{
	static const char known[] = "192.0.2.1 the peer of an SSH session (environment of process 600)\n"
				    "192.0.2.5 somebody who is connected (TCP port 8443)\n"
				    "192.0.2.6 somebody who is connected (TCP port 65535)\n",
			  known_6[] = "2001:db8::1 the peer of an SSH session (environment of process 601)\n"
				      "192.0.2.2 the peer of an SSH session (environment of process 602)\n";
	char all[sizeof(known) + sizeof(known_6)];

	snprintf(all, sizeof(all), "%s%s", known, known_6);
	sockets = many;
	n_sockets = sizeof(many) / sizeof(many[0]);
	PUT(600, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	PUT(601, "environ", "SSH_CONNECTION=2001:db8::1 50001 2001:db8::99 22\0");
	PUT(602, "environ", "SSH_CONNECTION=192.0.2.2 50002 192.0.2.99 22\0");
	PUT(603, "environ", "SSH_CONNECTION=192.0.2.2 50009 192.0.2.99 22\0");
	PUT(604, "environ", "SSH_CONNECTION=192.0.2.4 50004 192.0.2.99 22\0");
	put_table("tcp", AF_INET);
	put_table("tcp6", AF_INET6);
	fails = -EPROTONOSUPPORT;
	learns_in_time(all, WITHOUT_DIAG);
	/* That is said once by each command, and by one process of the service's. */
	fails = -ENOENT;
	fails_at = TCPDIAG_GETSOCK;
	learns_in_time(all, NULL);
	log_settings.kept = true;
	due_name = STATE_UNASKED;
	for (int i = 0; i < 2; i++) {
		due = i;
		unasked_again = 0;
		fails = -EPROTONOSUPPORT;
		learns_in_time(all, i ? WITHOUT_DIAG : NULL);
	}
	log_settings.kept = false;
	due_name = STATE_UNSEEN;
	remove_table("tcp6");
	fails = -EOPNOTSUPP;
	fails_at = TCPDIAG_GETSOCK;
	learns_in_time(known, NULL);
	/* Nor may that be read, or it has no end. */
	for (int i = 0; i < 2; i++) {
		remove_table("tcp");
		said_late = false;
		endless = i;
		fails = -EPROTONOSUPPORT;
		learns_in_time("", NOT_IN_TIME);
	}
	endless = false;
	for (int pid = 600; pid < 605; pid++)
		remove_process(pid);
}

#define UNSEEN \
	"xdp-bloom: not all SSH sessions may be known: this process may not read the environments of all others, which "
#define WITHOUT_RIGHTS UNSEEN "takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

/* What may not be read is said, if somebody is there whom nothing else knows. */
static void refused_to_us(void)
{
	sockets = many;
	n_sockets = 2;
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.1 50000 192.0.2.99 22\0");
	for (refused_pid = 601; refused_pid <= 602; refused_pid++) {
		PUT(refused_pid, "statm", "2210 519 410 7 0 300 0\n");
		unseen_again = 0;
		for (int i = 0; i < 2; i++)
			learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n",
				       i	? NULL
				       : rights ? UNSEEN "SELinux, AppArmor or a user namespace forbids"
						: WITHOUT_RIGHTS);
		remove_process(refused_pid);
		rights = 0;
	}
	/* A thread of the kernel has no environment, and who is gone has none any more. */
	PUT(refused_pid, "statm", "0 0 0 0 0 0 0\n");
	unseen_again = 0;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	PUT(604, "status", "");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	refused_pid = 1;
	PUT(1, "statm", "2210");
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	remove_process(1);
	refused_pid = 603;
	/* All are known. */
	PUT(refused_pid, "statm", "2210");
	n_sockets = 1;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	n_sockets = 0;
	learns_in_time("", NULL);
	/* In the service's log one of its processes says it. */
	n_sockets = 2;
	log_settings.kept = true;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", WITHOUT_RIGHTS);
	unseen_again = 0;
	due = false;
	learns_in_time("192.0.2.1 the peer of an SSH session (environment of process 700)\n", NULL);
	log_settings.kept = false;
	due = true;
	remove_process(refused_pid);
	refused_pid = 0;
	rights = ~(uint64_t)0;
	remove_process(604);
	remove_process(700);
}

#define TEN	 "xxxxxxxxxx"
#define HUNDRED	 TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED

/* Nor are processes read that are not shown. */
static void hidden_from_us(void)
{
	static const uint64_t all = ~(uint64_t)0, trace = 1ULL << CAP_SYS_PTRACE, search = 1ULL << CAP_DAC_READ_SEARCH,
			      override = 1ULL << CAP_DAC_OVERRIDE;
	static const struct {
		const char *mounts;
		uint64_t rights;
		bool said;
	} each[] = {
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", 0, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n", ~trace, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=ptraceable\n", search | override, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,gid=4,hidepid=4,subset=pid\n", 0, true },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", all, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n", trace, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=noaccess\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=1\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=off\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw\n", 0, false },
		{ "21 1 0:20 / /mnt/proc rw - proc proc rw,hidepid=invisible\n", 0, false },
		{ "21 1 0:20 / /proc/sys ro - proc proc rw,hidepid=invisible\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n22 21 0:21 / /proc rw - proc proc rw\n", 0, false },
		{ "21 1 0:20 / /proc rw - proc proc rw\n22 21 0:21 / /proc rw - proc proc rw,hidepid=2\n", 0, true },
		{ "", 0, false },
		/* As anybody may mount something: his line is no two. */
		{ "21 1 0:20 / /proc rw - proc proc rw,hidepid=2\n22 1 0:21 / /home/" THOUSAND
		  " rw,nosuid shared:1 - fuse.x /proc rw\n",
		  0, true },
	};
	char path[96];

	sockets = many;
	n_sockets = 2;
	snprintf(path, sizeof(path), "%s/mountinfo", proc);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		FILE *file = fopen(path, "we");

		if (!file)
			return (void)CHECK(false, "%s cannot be written", path);
		fputs(each[i].mounts, file);
		fclose(file);
		rights = each[i].rights;
		unseen_again = 0;
		learns_in_time("", each[i].said ? WITHOUT_RIGHTS : NULL);
		if (i == 0) {
			n_sockets = 0;
			unseen_again = 0;
			learns_in_time("", NULL);
			n_sockets = 2;
		}
	}
	rights = ~(uint64_t)0;
	unlink(path);
}

/* Our own: in our environment, or that of the nearest process above. */
static void ancestors(void)
{
	static char large[70000];

	n_sockets = 0;
	setenv("SSH_CONNECTION", "192.0.2.30 50000 192.0.2.99 22", 1);
	PUT(500, "environ", "SSH_CONNECTION=192.0.2.31 50000 192.0.2.99 22\0");
	learns("192.0.2.30 the peer of this SSH session (environment of process me)\n", NULL, (struct learned){ 0 });
	setenv("SSH_CONNECTION", "", 1);
	learns("192.0.2.31 the peer of this SSH session (environment of process 500)\n", NULL, (struct learned){ 0 });
	unsetenv("SSH_CONNECTION");
	PUT(500, "environ", "HOME=/root\0");
	PUT(500, "status", "Name:\tPPid: 9\nUmask:\t0022\nPPid:\t400\nTracerPid:\t0\n");
	PUT(400, "status", "Name:\tx\nPPid:\t300\n");
	PUT(300, "environ", "SSH_CONNECTION=2001:db8::31%eth0 50000 2001:db8::99 22\0");
	PUT(300, "status", "Name:\tx\nPPid:\t200\n");
	PUT(200, "environ", "SSH_CONNECTION=192.0.2.39 50000 192.0.2.99 22\0");
	learns("2001:db8::31 the peer of this SSH session (environment of process 300)\n", NULL, (struct learned){ 0 });
	/* It stands at the beginning, if anywhere. */
	memset(large, 'x', sizeof(large));
	memcpy(large + 65500, "\0SSH_CONNECTION=192.0.2.38 50000 192.0.2.99 22", 46);
	put(300, "environ", large, sizeof(large));
	learns("192.0.2.39 the peer of this SSH session (environment of process 200)\n", NULL, (struct learned){ 0 });
	PUT(200, "environ", "SSH_CONNECTION=nobody 50000 192.0.2.99 22\0");
	learns("", NULL, (struct learned){ 0 });
	/* init has none of its own. */
	PUT(200, "environ", "");
	PUT(200, "status", "Name:\tx\nPPid:\t1\n");
	PUT(1, "environ", "SSH_CONNECTION=192.0.2.37 50000 192.0.2.99 22\0");
	learns("", NULL, (struct learned){ 0 });
	remove_process(1);
	for (int pid = 200; pid <= 500; pid += 100)
		remove_process(pid);
}

#define TUNNEL(from)                                                                                                   \
	"xdp-bloom: this SSH session (" from ") comes through a tunnel of a process, whose far end the guard rails do" \
	" not know: 'xdp-bloom allow ADDRESS' lets it through, whatever is banned"
#define PEER	 " the peer of this SSH session (environment of process me)\n"
#define ANOTHERS "10.8.0.2 the peer of this SSH session (environment of process 0)\n"

/* Once in a day, where what carries it is not known; a log has it from nobody. */
static void tunnels(void)
{
	static const struct {
		const char *from, *known, *said;
	} each[] = {
		{ "127.0.0.1 40000 127.0.0.1 22", "", TUNNEL("127.0.0.1, lo") },
		{ "::1 40000 ::1 22", "", TUNNEL("::1, lo") },
		{ "::ffff:127.0.0.2 40000 ::1 22", "", TUNNEL("127.0.0.2, lo") },
		{ "10.8.0.2 40000 10.8.0.1 22", "10.8.0.2" PEER, TUNNEL("10.8.0.2, tun0") },
		{ "192.0.2.30 40000 192.0.2.99 22", "192.0.2.30" PEER, NULL },
		{ "2001:db8::1 40000 2001:db8::99 22", "2001:db8::1" PEER, NULL },
		{ "nobody 40000 192.0.2.99 22", "", NULL },
	};

	n_sockets = 0;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		setenv("SSH_CONNECTION", each[i].from, 1);
		log_settings.kept = true;
		learns_in_time(each[i].known, NULL);
		log_settings.kept = false;
		log_settings.quiet = true;
		learns_in_time(each[i].known, NULL);
		log_settings.quiet = false;
		CHECK(due, "whoever does not say it keeps others from it");
		learns_in_time(each[i].known, each[i].said);
		learns_in_time(each[i].known, NULL);
		CHECK(due == !each[i].said, "%s: it is said that it was said", each[i].from);
		due = true;
	}
	/* Of what is done for another process. */
	unsetenv("SSH_CONNECTION");
	errand = (struct errand){ .here = true, .ssh = "10.8.0.2 40000 10.8.0.1 22" };
	learns(ANOTHERS, "its SSH session comes through a tunnel", (struct learned){ 0 });
	CHECK(due && errand.declined, "it says that itself");
	due = false;
	errand = (struct errand){ .here = true, .ssh = "10.8.0.2 40000 10.8.0.1 22" };
	learns_in_time(ANOTHERS, NULL);
	CHECK(!errand.declined, "once in a day is enough");
	errand = (struct errand){ 0 };
	due = true;
}

#define SSH_SERVER "192.0.2.60 an SSH server in use (a socket to its port 22)\n"

/* What root is connected to may bring a session back, as `ssh -R` does; nobody else's is, nor who comes to us. */
static void jump_hosts(void)
{
	static const struct socket_is to[] = {
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.60", 22, 40010, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.61", 22, 40011, 33, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.62", 22, 40012, 1000, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.63", 22, 80, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, "192.0.2.64", 22, NOT_ACCEPTED, 0, 0, NULL },
		{ AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, "192.0.2.65", 22, 40013, 0, 0, NULL },
		{ AF_INET, IPPROTO_TCP, TCP_LISTEN, NULL, 0, 80, 0, 0, NULL },
	};
	unsigned int another = 0xc0000201;

	sockets = to;
	n_sockets = sizeof(to) / sizeof(to[0]);
	setenv("SSH_CONNECTION", "127.0.0.1 40000 127.0.0.1 22", 1);
	learns_in_time(SSH_SERVER, NULL);
	/* Also where nobody asks about it; nor is any process looked at for that. */
	PUT(700, "environ", "SSH_CONNECTION=192.0.2.60 22 192.0.2.99 40010\0");
	learns("", NULL, (struct learned){ .wanted = is_no_other, .arg = &another });
	CHECK(due, "a tunnel is said to be unknown");
	setenv("SSH_CONNECTION", "10.8.0.2 40000 10.8.0.1 22", 1);
	sockets = to + 1;
	n_sockets--;
	learns_in_time("10.8.0.2" PEER, TUNNEL("10.8.0.2, tun0"));
	due = true;
	setenv("SSH_CONNECTION", "127.0.0.1 40000 127.0.0.1 22", 1);
	learns_in_time("", TUNNEL("127.0.0.1, lo"));
	due = true;
	unsetenv("SSH_CONNECTION");
	remove_process(700);
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "sessions of sshd", sessions },
		{ "in time", stuck },
		{ "in time, of many", many_stuck },
		{ "by few", few_readers },
		{ "bound to a device", bound },
		{ "by MPTCP", joined },
		{ "without inet_diag", without_diag },
		{ "what may not be read", refused_to_us },
		{ "what is not shown", hidden_from_us },
		{ "our own session", ancestors },
		{ "a session through a tunnel", tunnels },
		{ "where root is connected by SSH", jump_hosts },
	};

	return people_run(run, sizeof(run) / sizeof(*run));
}
