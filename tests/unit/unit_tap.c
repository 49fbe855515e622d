// SPDX-License-Identifier: GPL-2.0-only
/* What passes, from packet sockets that are a table: which interfaces have one, what each packet stands for, and how
 * likely a packet is to be taken. */
#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "ktap.h"

static int socket_given(int family, int type, int protocol);
static int setsockopt_given(int fd, int level, int what, const void *value, unsigned int size);
static int getsockopt_given(int fd, int level, int what, void *value, unsigned int *size);
static int bind_given(int fd, const void *at, unsigned int size);
static int getsockname_given(int fd, void *at, unsigned int *size);
static ssize_t recvmsg_given(int fd, void *message, int flags);
static int close_given(int fd);
static int64_t now_given(void);
static ssize_t random_given(void *to, size_t size, unsigned int flags);
static void *memory_given(size_t n, size_t size);

#define socket(family, type, protocol)		 socket_given(family, type, protocol)
#define setsockopt(fd, level, what, value, size) setsockopt_given(fd, level, what, value, size)
#define getsockopt(fd, level, what, value, size) getsockopt_given(fd, level, what, value, size)
#define bind(fd, at, size)			 bind_given(fd, at, size)
#define getsockname(fd, at, size)		 getsockname_given(fd, at, size)
#define recvmsg(fd, message, flags)		 recvmsg_given(fd, message, flags)
#define close(fd)				 close_given(fd)
#define clock_ms()				 now_given()
#define getrandom(to, size, flags)		 random_given(to, size, flags)
#define calloc(n, size)				 memory_given(n, size)

#include "observe/tap.c"
#undef calloc

#define FIRST 100
#define MOST  300

/* Who is asked of an interface that is not there is refused; so is the n-th call, if it is to fail. */
static struct {
	bool open, out, aux, vnet, forced, plain;
	int ifindex, queue;
	unsigned int allows; /* of 2^32 */
	bool sources;	     /* and of them, not of packets */
	unsigned int waiting, seen, dropped;
	__u32 times[3]; /* what a source is multiplied with */
} sockets[MOST];
static unsigned int opened, calls, fail_at;
static int fail_errno, lost = -1;
static int64_t now;

static bool fails(void)
{
	errno = fail_errno;
	return ++calls == fail_at;
}

static int64_t now_given(void)
{
	return now;
}

static int socket_given(int family, int type, int protocol)
{
	if (fails())
		return -1;
	if (family != AF_PACKET || type != (SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK) || protocol || opened == MOST)
		abort();
	memset(&sockets[opened], 0, sizeof(sockets[0]));
	sockets[opened].open = true;
	return FIRST + (int)opened++;
}

static int close_given(int fd)
{
	if (fd < FIRST || !sockets[fd - FIRST].open)
		abort();
	sockets[fd - FIRST].open = false;
	return 0;
}

static int setsockopt_given(int fd, int level, int what, const void *value, unsigned int size)
{
	const struct sock_fprog *filter = value;

	if (fails())
		return -1;
	if (level == SOL_SOCKET && what == SO_ATTACH_FILTER && size == sizeof(*filter) && filter->len == 4 &&
	    filter->filter[0].k == (__u32)(SKF_AD_OFF + SKF_AD_RANDOM) && filter->filter[2].k == SAMPLE_BYTES &&
	    !filter->filter[3].k && filter->filter[1].jt == 1 && !filter->filter[1].jf) {
		sockets[fd - FIRST].allows = filter->filter[1].k;
		sockets[fd - FIRST].sources = false;
	} else if (level == SOL_SOCKET && what == SO_ATTACH_FILTER && size == sizeof(*filter) && filter->len == 18 &&
		   filter->filter[15].code == (BPF_JMP | BPF_JGT | BPF_K) && filter->filter[15].jt == 1) {
		sockets[fd - FIRST].allows = filter->filter[15].k;
		sockets[fd - FIRST].sources = true;
		for (int i = 0; i < 3; i++)
			sockets[fd - FIRST].times[i] = filter->filter[6 + 4 * i].k;
	} else if (level == SOL_PACKET && size == sizeof(int) && *(const int *)value == 1)
		*(what == PACKET_IGNORE_OUTGOING ? &sockets[fd - FIRST].out
		  : what == PACKET_AUXDATA	 ? &sockets[fd - FIRST].aux
						 : &sockets[fd - FIRST].vnet) = true;
	else if (level == SOL_SOCKET && size == sizeof(int)) {
		*(what == SO_RCVBUFFORCE ? &sockets[fd - FIRST].forced : &sockets[fd - FIRST].plain) = true;
		sockets[fd - FIRST].queue = *(const int *)value;
	} else {
		abort();
	}
	return 0;
}

static int bind_given(int fd, const void *at, unsigned int size)
{
	const struct sockaddr_ll *to = at;

	if (fails())
		return -1;
	if (size != sizeof(*to) || to->sll_family != AF_PACKET || to->sll_protocol != htons(ETH_P_ALL))
		abort();
	errno = ENODEV;
	sockets[fd - FIRST].ifindex = to->sll_ifindex;
	return to->sll_ifindex != 90 ? 0 : -1;
}

static int getsockname_given(int fd, void *at, unsigned int *size)
{
	struct sockaddr_ll *is = at;

	if (fails() || *size != sizeof(*is))
		return -1;
	is->sll_ifindex = sockets[fd - FIRST].ifindex == lost ? -1 : sockets[fd - FIRST].ifindex;
	return 0;
}

static int getsockopt_given(int fd, int level, int what, void *value, unsigned int *size)
{
	struct tpacket_stats *stats = value;

	if (fails() || level != SOL_PACKET || what != PACKET_STATISTICS || *size != sizeof(*stats))
		return -1;
	*stats = (struct tpacket_stats){ .tp_packets = sockets[fd - FIRST].seen,
					 .tp_drops = sockets[fd - FIRST].dropped };
	sockets[fd - FIRST].seen = sockets[fd - FIRST].dropped = 0;
	return 0;
}

static bool no_random, no_memory;

static ssize_t random_given(void *to, size_t size, unsigned int flags)
{
	static const uint32_t even[] = { 2, 0x80000004, 6 };

	if (flags || size != sizeof(even))
		abort();
	memcpy(to, even, size);
	return no_random ? -1 : (ssize_t)size;
}

static void *memory_given(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

/* --- What comes --- */

struct comes {
	struct virtio_net_hdr how;
	size_t cut;
	unsigned char at_14, at_46, tagged, has_type;
	__u32 length;
	size_t captured;
	__u16 type;
};

static struct comes packet = { .captured = 60, .length = 60 };

static ssize_t recvmsg_given(int fd, void *arg, int flags)
{
	struct msghdr *m = arg;
	struct tpacket_auxdata aux = { .tp_len = packet.length, .tp_vlan_tci = 0x123, .tp_vlan_tpid = packet.type };
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (fails())
		return -1;
	errno = EAGAIN;
	if (flags != MSG_DONTWAIT || !sockets[fd - FIRST].waiting)
		return -1;
	sockets[fd - FIRST].waiting--;
	memcpy(m->msg_iov[0].iov_base, &packet.how, sizeof(packet.how));
	if (m->msg_iov[1].iov_len != SAMPLE_BYTES || m->msg_iovlen != 2)
		abort();
	for (size_t i = 0; i < SAMPLE_BYTES; i++)
		((unsigned char *)m->msg_iov[1].iov_base)[i] = (unsigned char)i;
	((unsigned char *)m->msg_iov[1].iov_base)[14] = packet.at_14;
	((unsigned char *)m->msg_iov[1].iov_base)[46] = packet.at_46;
	aux.tp_status = (packet.tagged ? TP_STATUS_VLAN_VALID : 0) | (packet.has_type ? TP_STATUS_VLAN_TPID_VALID : 0);
	c->cmsg_level = SOL_PACKET;
	c->cmsg_type = PACKET_AUXDATA;
	c->cmsg_len = CMSG_LEN(sizeof(aux));
	memcpy(CMSG_DATA(c), &aux, sizeof(aux));
	m->msg_controllen = c->cmsg_len;
	return packet.cut ? (ssize_t)packet.cut : (ssize_t)(sizeof(packet.how) + packet.captured);
}

static struct taken_sample {
	unsigned int n, ifindex;
	double packets, sum;
	struct sample s;
} last;

static void take(void *arg, const struct sample *s, double packets)
{
	struct taken_sample *to = arg;

	to->n++;
	to->ifindex = s->ifindex;
	to->packets = packets;
	to->sum += packets;
	to->s = *s;
}

/* --- Cases --- */

static const struct attachment three[] = {
	{ .ifindex = 2, .mode = MODE_NATIVE },
	{ .ifindex = 3, .mode = MODE_SKB },
	{ .ifindex = 5, .mode = MODE_NATIVE, .gone = true },
	{ .ifindex = 6, .mode = MODE_NATIVE, .moved = true },
	{ .ifindex = 0, .mode = MODE_NATIVE },
	{ .ifindex = 90, .mode = MODE_NATIVE }, /* goes meanwhile */
	{ .ifindex = 4, .mode = MODE_NATIVE },
};

static void text_of(const struct taps *taps, char text[512])
{
	struct pollfd fds[TAPS_MAX];
	unsigned int n = taps_fds(taps, fds);

	*text = '\0';
	for (unsigned int i = 0; i < n; i++)
		snprintf(text + strlen(text), 512 - strlen(text), "%d:%d%s%s ", fds[i].fd - FIRST,
			 sockets[fds[i].fd - FIRST].ifindex, taps->tap[i].whole ? "w" : "",
			 fds[i].events == POLLIN ? "" : "!");
	for (unsigned int i = 0; i < opened; i++)
		if (sockets[i].open)
			n--;
	if (n)
		strcat(text, "left open");
}

static bool follows(struct taps *taps, const struct attachment *on, size_t n, int wanted_err, const char *wanted)
{
	char text[512];
	int err = taps_follow(taps, on, n);
	bool ok = CHECK(wanted_err ? err_is(err, wanted_err) : !err, "%s", err ? reason(err) : "no error");

	text_of(taps, text);
	return CHECK(!strcmp(text, wanted), "'%s', not '%s'", text, wanted) && ok;
}

static void begin(void)
{
	opened = calls = fail_at = 0;
	lost = -1;
	now = 1000000;
	last = (struct taken_sample){ 0 };
	packet = (struct comes){ .captured = 60, .length = 60, .at_14 = 0x45 };
}

static void interfaces(void)
{
	struct attachment on[8];
	struct taps *taps;

	begin();
	taps = taps_new(1000);
	if (!follows(taps, three, 7, 0, "0:2 1:3w 3:4 "))
		goto out;
	CHECK(sockets[0].out && sockets[0].aux && sockets[0].vnet && sockets[0].forced && !sockets[0].plain,
	      "not all is asked of it");
	CHECK(sockets[0].allows == 4294967295U && sockets[0].queue == 1 << 20, "%u, %d", sockets[0].allows,
	      sockets[0].queue);
	memcpy(on, three, sizeof(three));
	on[0].mode = MODE_SKB;
	if (!follows(taps, on, 7, 0, "0:2w 1:3w 3:4 "))
		goto out;
	on[1].gone = true;
	if (!follows(taps, on, 7, 0, "0:2w 3:4 "))
		goto out;
	on[1].gone = false;
	if (!follows(taps, on, 7, 0, "0:2w 3:4 6:3w "))
		goto out;
	on[1].moved = true;
	lost = 2; /* went, and another has its number */
	if (!follows(taps, on, 7, 0, "3:4 8:2w "))
		goto out;
	lost = -1;
	follows(taps, on, 0, 0, "");
	taps_free(taps);
	begin();
	taps = taps_of_sources(1);
	CHECK(follows(taps, three, 1, 0, "0:2 ") && sockets[0].queue == 4 << 20, "%d", sockets[0].queue);
out:
	taps_free(taps);
}

static void most(void)
{
	struct attachment on[TAPS_MAX + 1] = { 0 };
	struct taps *taps;
	unsigned int n = 0;

	begin();
	taps = taps_new(1000);
	for (unsigned int i = 0; i <= TAPS_MAX; i++)
		on[i].ifindex = 100 + i;
	CHECK(!taps_follow(taps, on, TAPS_MAX + 1), "not followed");
	CHECK(opened == TAPS_MAX, "%u are opened", opened);
	taps_free(taps);
	for (unsigned int i = 0; i < opened; i++)
		n += sockets[i].open;
	CHECK(!n, "%u are left open", n);
	taps_free(NULL);
}

/* Each call failing once: socket, filter, three options, the queue, bind. */
static void refused(void)
{
	static const struct {
		int with;
		const char *says;
	} known[] = {
		{ EPERM, "takes CAP_NET_RAW" },
		{ EAFNOSUPPORT, "RestrictAddressFamilies=" },
		{ EIO, "what passes cannot be seen: Input/output error" },
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (unsigned int at = 1; at <= 7; at++) {
			struct taps *taps;
			int err;

			begin();
			taps = taps_new(1000);
			fail_at = at;
			fail_errno = known[i].with;
			err = taps_follow(taps, three, 1);
			if (at == 6) /* the smaller queue will do */
				CHECK(!err && sockets[0].plain && sockets[0].ifindex == 2, "%s", reason(err));
			else
				CHECK(err_is(err, known[i].with) && strstr(reason(err), known[i].says), "%u: '%s'", at,
				      err ? reason(err) : "no error");
			CHECK(taps_fds(taps, (struct pollfd[TAPS_MAX]){ { 0 } }) == (at == 6), "call %u", at);
			CHECK(!opened || sockets[0].open == (at == 6), "call %u leaves it open", at);
			taps_free(taps);
		}
	begin();
	fail_at = 7;
	fail_errno = ENXIO;
	{
		struct taps *taps = taps_new(1000);

		CHECK(!taps_follow(taps, three, 1) && !sockets[0].open, "an interface that goes is an error");
		taps_free(taps);
	}
}

#define GSO(kind, size)                                \
	{                                              \
		.gso_type = (kind), .gso_size = (size) \
	}

/* How many packets one stands for that the stack has put together, and where a tag is shown. */
static void stands_for(void)
{
	static const struct {
		struct comes p;
		bool whole;
		double packets;
		unsigned int length, captured;
	} known[] = {
		{ { GSO(0, 0), 0, 0x45, 0, 0, 0, 60, 60, 0 }, false, 1, 60, 60 },
		{ { GSO(0, 1000), 0, 0x45, 0, 0, 0, 3000, 60, 0 }, false, 1, 3000, 60 },
		{ { GSO(1, 0), 0, 0x45, 0x50, 0, 0, 3000, 60, 0 }, false, 1, 3000, 60 },
		/* IPv4: 34 and TCP's 20 */
		{ { GSO(1, 1000), 0, 0x45, 0x50, 0, 0, 3054, 60, 0 }, false, 3, 3054, 60 },
		{ { GSO(1, 1000), 0, 0x45, 0x50, 0, 0, 3055, 60, 0 }, false, 4, 3055, 60 },
		{ { GSO(1, 1000), 0, 0x45, 0x60, 0, 0, 3058, 60, 0 }, false, 3, 3058, 60 },
		{ { GSO(1, 1000), 0, 0x45, 0x60, 0, 0, 3059, 60, 0 }, false, 4, 3059, 60 },
		{ { GSO(1, 1000), 0, 0x45, 0x50, 0, 0, 54, 60, 0 }, false, 1, 54, 60 },
		{ { GSO(1, 1000), 0, 0x45, 0x50, 0, 0, 55, 60, 0 }, false, 1, 55, 60 },
		/* TCP's header is not in it: 20 are assumed */
		{ { GSO(1, 1000), 0, 0x45, 0xf0, 0, 0, 3054, 53, 0 }, false, 3, 3054, 53 },
		{ { GSO(1, 1000), 0, 0x45, 0xf0, 0, 0, 3054, 54, 0 }, false, 3, 3054, 54 },
		{ { GSO(1, 1000), 0, 0x45, 0xf0, 0, 0, 3095, 54, 0 }, false, 4, 3095, 54 },
		/* IPv6: 54 and UDP's 8 */
		{ { GSO(5, 1000), 0, 0x60, 0, 0, 0, 3062, 90, 0 }, false, 3, 3062, 90 },
		{ { GSO(5, 1000), 0, 0x60, 0, 0, 0, 3063, 90, 0 }, false, 4, 3063, 90 },
		{ { GSO(5, 1000), 0, 0x45, 0, 0, 0, 3042, 60, 0 }, false, 3, 3042, 60 },
		{ { GSO(5, 1000), 0, 0x45, 0, 0, 0, 3043, 60, 0 }, false, 4, 3043, 60 },
		{ { GSO(5, 1000), 0, 0x45, 0, 0, 0, 3043, 60, 0 }, true, 1, 3043, 60 },
		/* tags */
		{ { GSO(0, 0), 0, 0x45, 0, 1, 0, 60, 60, 0x88a8 }, false, 1, 64, 64 },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 60, 60, 0x88a8 }, false, 1, 64, 64 },
		{ { GSO(0, 0), 0, 0x45, 0, 0, 1, 60, 60, 0x88a8 }, false, 1, 60, 60 },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 900, SAMPLE_BYTES, 0x8100 }, false, 1, 904, SAMPLE_BYTES },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 900, SAMPLE_BYTES - 4, 0x8100 }, false, 1, 904, SAMPLE_BYTES },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 900, SAMPLE_BYTES - 5, 0x8100 }, false, 1, 904, SAMPLE_BYTES - 1 },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 12, 12, 0x8100 }, false, 1, 16, 16 },
		{ { GSO(0, 0), 0, 0x45, 0, 1, 1, 11, 11, 0x8100 }, false, 1, 11, 11 },
		{ { GSO(0, 0), 0, 0x45, 0, 0, 0, 0, 40, 0 }, false, 1, 40, 40 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct comes *p = &known[i].p;
		struct attachment on = { .ifindex = 2, .mode = known[i].whole ? MODE_SKB : MODE_NATIVE };
		unsigned int tag = p->tagged && p->captured >= 12 ? 4 : 0;
		bool same = true;
		struct taps *taps;

		begin();
		taps = taps_new(1000);
		CHECK(!taps_follow(taps, &on, 1), "not followed");
		packet = *p;
		sockets[0].waiting = 1;
		taps_read(taps, take, &last);
		CHECK(last.n == 1 && last.ifindex == 2 && last.packets > known[i].packets - .001 &&
			      last.packets < known[i].packets + .001,
		      "%zu: %u stands for %f, not %f", i, last.n, last.packets, known[i].packets);
		CHECK(last.s.length == known[i].length && last.s.captured == known[i].captured,
		      "%zu: %u bytes, %u of them here", i, last.s.length, last.s.captured);
		CHECK(last.s.time, "%zu: it has no time", i);
		for (size_t k = 0; k < last.s.captured; k++) {
			size_t of = k < 12 || !tag ? k : k - tag;
			unsigned char wanted = (unsigned char)(of == 14 ? p->at_14 : of == 46 ? p->at_46 : of);

			if (tag && k >= 12 && k < 16)
				wanted = (const unsigned char[]){ p->has_type ? (unsigned char)(p->type >> 8) : 0x81,
								  (unsigned char)(p->has_type ? p->type : 0), 1,
								  0x23 }[k - 12];
			same = same && last.s.bytes[k] == wanted;
		}
		CHECK(same, "%zu: other bytes", i);
		taps_free(taps);
	}
}

/* What cannot be had counts, and is not given to anybody; what is cut off neither. */
static void cannot_be_had(void)
{
	struct taps *taps;

	begin();
	taps = taps_new(1000);
	CHECK(!taps_follow(taps, three, 2), "not followed");
	sockets[0].waiting = 3;
	packet.cut = sizeof(packet.how) - 1;
	taps_read(taps, take, &last);
	CHECK(!last.n && !sockets[0].waiting, "%u are given", last.n);
	packet.cut = 0;
	sockets[0].waiting = sockets[1].waiting = 2;
	calls = 0;
	fail_at = 2;
	fail_errno = EIO;
	taps_read(taps, take, &last);
	CHECK(last.n == 4 && last.ifindex == 3, "%u are given", last.n);
	sockets[0].waiting = sockets[1].waiting = 2;
	calls = 0;
	fail_at = 1;
	fail_errno = ENETDOWN;
	last.n = 0;
	taps_read(taps, take, &last);
	CHECK(last.n == 2 && sockets[0].waiting == 2, "%u are given", last.n);
	taps_free(taps);
}

static bool allows(const char *when, double chance)
{
	double is = ((double)sockets[0].allows + 1) / 4294967296.0;

	return CHECK(is > chance * .999 && is < chance * 1.001, "%s: %f, not %f", when, is, chance);
}

static void comes_in(struct taps *taps, unsigned int ms, unsigned int seen, unsigned int waiting)
{
	now += ms;
	sockets[0].seen = seen;
	sockets[0].waiting = waiting;
	last = (struct taken_sample){ 0 };
	taps_read(taps, take, &last);
}

/* 1000 a second are wanted. */
static void adapts(void)
{
	struct taps *taps;

	begin();
	taps = taps_new(1000);
	CHECK(!taps_follow(taps, three, 1), "not followed");
	comes_in(taps, 99, 5000, 199);
	allows("it does not wait for as many", 1);
	CHECK(last.n == 199, "%u are given", last.n);
	comes_in(taps, 1, 1000, 0);
	allows("ten times as many came", .1);
	comes_in(taps, 100, 100, 5);
	allows("as many as wanted", .1);
	CHECK(last.n == 5 && last.packets > 9.999 && last.packets < 10.001, "one stands for %f", last.packets);
	comes_in(taps, 100, 124, 0);
	allows("hardly more", .1);
	comes_in(taps, 100, 126, 0);
	allows("more", .0793651);
	comes_in(taps, 100, 81, 0);
	allows("hardly less", .0793651);
	comes_in(taps, 100, 79, 0);
	allows("less", .1004621);
	comes_in(taps, 100, 0, 0);
	allows("none at all", .8036968);
	comes_in(taps, 100, 0, 0);
	allows("no more than all", 1);
	comes_in(taps, 10, 2000, 300);
	allows("it comes all at once", .005);
	CHECK(last.n == 300 && last.packets < 1.001, "%u are given, one stands for %f", last.n, last.packets);
	comes_in(taps, 1, 1, 199);
	allows("fewer than at once", .005);
	now += 9;
	CHECK(!taps_follow(taps, three, 2), "not followed");
	CHECK(sockets[1].allows == sockets[0].allows, "the second one is not as likely");
	comes_in(taps, 100, 11, 0);
	allows("of both, at most eight times as likely", .04);
	sockets[1].seen = 1000;
	calls = 0;
	fail_at = 5; /* drained twice, counted twice, then the filter */
	comes_in(taps, 100, 100, 0);
	CHECK(sockets[0].allows == sockets[1].allows, "the first has another chance than the second");
	allows("it cannot be set", .04);
	sockets[1].seen = 1000;
	calls = 0;
	fail_at = 6;
	comes_in(taps, 200, 100, 0);
	CHECK(sockets[0].allows == sockets[1].allows, "the first has another chance than the second");
	allows("it cannot be set for the second", .04);
	taps_free(taps);
}

/* More come all the time: what waits at a new chance is read, and not what comes with it. */
static void without_end(void)
{
	struct taps *taps;

	begin();
	taps = taps_new(1000);
	CHECK(!taps_follow(taps, three, 1), "not followed");
	comes_in(taps, 100, 5000, 1 << 20);
	CHECK(last.n == 200 + 65536 && sockets[0].waiting, "%u are read", last.n);
	taps_free(taps);
}

/* Of every socket, and of those that are opened later; one that cannot have it is told. */
static void thins(void)
{
	struct taps *taps;

	begin();
	taps = taps_of_sources(1);
	CHECK(!taps_follow(taps, three, 2) && !sockets[0].sources && sockets[0].allows == ~0u, "not all: %u",
	      sockets[0].allows);
	for (unsigned int one_in = 2; one_in <= 1u << 16; one_in *= 2) {
		CHECK(!taps_thin(taps, one_in), "refused");
		for (int i = 0; i < 2; i++)
			CHECK(sockets[i].sources && sockets[i].allows == 4294967296 / one_in - 1, "one in %u: %u",
			      one_in, sockets[i].allows);
	}
	CHECK(!taps_follow(taps, three, 7) && opened == 4 && sockets[3].open && sockets[3].sources &&
		      sockets[3].allows == 65535,
	      "a later one has %u", sockets[3].allows);
	calls = 0;
	fail_at = 2;
	fail_errno = ENOMEM;
	CHECK(err_is(taps_thin(taps, 4), ENOMEM) && calls == 2, "%u are asked", calls);
	CHECK(sockets[0].allows == (1u << 30) - 1 && sockets[1].allows == 65535, "%u and %u", sockets[0].allows,
	      sockets[1].allows);
	taps_free(taps);
}

/* Sources are multiplied with odd numbers, so that no two become one. */
static void multiplies(void)
{
	struct taps *taps;

	begin();
	taps = taps_of_sources(2);
	CHECK(!taps_follow(taps, three, 1) && sockets[0].sources && sockets[0].times[0] == 3 &&
		      sockets[0].times[1] == 0x80000005 && sockets[0].times[2] == 7,
	      "with %u, %u and %u", sockets[0].times[0], sockets[0].times[1], sockets[0].times[2]);
	taps_free(taps);
	no_random = true;
	CHECK(!taps_of_sources(2), "without random numbers");
	no_random = false;
	no_memory = true;
	CHECK(!taps_of_sources(2) && !taps_new(2), "without memory");
	no_memory = false;
}

/* Of all sockets, but one that does not say; counted once. */
static void missed(void)
{
	struct taps *taps;

	begin();
	taps = taps_of_sources(1);
	CHECK(!taps_follow(taps, three, 7) && opened == 4, "not followed");
	sockets[0].dropped = 5;
	sockets[1].dropped = 70;
	sockets[3].dropped = 900;
	calls = 0;
	fail_at = 2;
	CHECK(taps_missed(taps) == 905, "another number");
	CHECK(taps_missed(taps) == 70, "another number");
	CHECK(!taps_missed(taps), "they are counted again");
	taps_free(taps);
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "which interfaces", interfaces },	  { "no more than there is room for", most },
		{ "what is refused", refused },		  { "what a packet stands for", stands_for },
		{ "what cannot be had", cannot_be_had },  { "how likely one is taken", adapts },
		{ "they come without end", without_end }, { "fewer sources", thins },
		{ "by which numbers", multiplies },	  { "what there was no room for", missed },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
