// SPDX-License-Identifier: GPL-2.0-only
#include "observe/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define ADAPT	   100	     /* after so many samples, or when as many should have come; */
#define AT_ONCE	   200	     /* so many, and it does not wait until then */
#define MANY	   65536     /* of all that some sources send; and more than wait at a time */
#define QUIETER	   8	     /* less than wanted: so many times as likely, at most */
#define QUEUE	   (1 << 20) /* what nobody reads for a moment: a second or two of what is wanted */
#define QUEUE_ALL  (4 << 20) /* where all that some sources send is wanted */
#define OF_ALL	   4294967296.0
#define ALL	   1.0
#define HEADER_TCP 20
#define HEADER_UDP 8
#define TAG	   4
#define GSO_UDP_L4 5 /* VIRTIO_NET_HDR_GSO_UDP_L4, which older headers do not have */

struct taps {
	struct tap {
		int fd;
		unsigned int ifindex;
		bool whole; /* XDP saw it as the stack does, however many packets were put together */
	} tap[TAPS_MAX];
	unsigned int n, rate;
	double chance;	     /* of a packet to be taken, 0 to 1 */
	unsigned int one_in; /* sources, all of whose packets are taken; 0: packets by chance */
	uint32_t seed[3];
	int64_t adapted;
};

struct taps *taps_new(unsigned int per_second)
{
	struct taps *taps = calloc(1, sizeof(*taps));

	if (!taps)
		return NULL;
	taps->rate = per_second;
	taps->chance = ALL;
	taps->adapted = clock_ms();
	return taps;
}

struct taps *taps_of_sources(unsigned int one_in)
{
	struct taps *taps = taps_new(0);

	if (!taps || getrandom(taps->seed, sizeof(taps->seed), 0) != sizeof(taps->seed)) {
		free(taps);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(taps->seed) / sizeof(*taps->seed); i++)
		taps->seed[i] |= 1;
	taps->one_in = one_in;
	return taps;
}

void taps_free(struct taps *taps)
{
	for (unsigned int i = 0; taps && i < taps->n; i++)
		close(taps->tap[i].fd);
	free(taps);
}

static int set_filter(int fd, struct sock_filter *code, size_t n)
{
	struct sock_fprog filter = { .len = (unsigned short)n, .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ? -errno : 0;
}

static int set_chance(int fd, double chance)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)(SKF_AD_OFF + SKF_AD_RANDOM)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (__u32)(chance * OF_ALL - 1), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SAMPLE_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return set_filter(fd, code, sizeof(code) / sizeof(*code));
}

#define TYPE_AT	   12
#define SOURCE4_AT (ETH_HLEN + 12)
#define SOURCE6_AT (ETH_HLEN + 8)

/* The source is multiplied and folded twice; its upper bits decide. The kernel has taken a first tag off already. */
static int set_sources(int fd, const struct taps *taps)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SOURCE4_AT),
		BPF_STMT(BPF_JMP | BPF_JA, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 12),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SOURCE6_AT),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, taps->seed[0]),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SOURCE6_AT + 4),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, taps->seed[1]),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 15),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, taps->seed[2]),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (__u32)(OF_ALL / taps->one_in - 1), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SAMPLE_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return set_filter(fd, code, sizeof(code) / sizeof(*code));
}

static int set_choice(int fd, const struct taps *taps)
{
	return taps->one_in > 1 ? set_sources(fd, taps) : set_chance(fd, taps->chance);
}

int taps_thin(struct taps *taps, unsigned int one_in)
{
	int err = 0;

	taps->one_in = one_in;
	for (unsigned int i = 0; i < taps->n && !err; i++)
		err = set_choice(taps->tap[i].fd, taps);
	return err;
}

/* It gets nothing before it is bound: no packet comes by another filter or from another interface. */
static int open_tap(struct tap *tap, const struct taps *taps)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)tap->ifindex };
	int on = 1, queue = taps->one_in ? QUEUE_ALL : QUEUE, err;

	tap->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (tap->fd < 0)
		return -errno;
	err = set_choice(tap->fd, taps);
	if (!err && (setsockopt(tap->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
		     setsockopt(tap->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
		     setsockopt(tap->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on))))
		err = -errno;
	/* Without the right to more, a burst is sampled from its beginning. */
	if (!err && setsockopt(tap->fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof(queue)))
		setsockopt(tap->fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof(queue));
	if (!err && bind(tap->fd, (struct sockaddr *)&at, sizeof(at)))
		err = -errno;
	if (err)
		close(tap->fd);
	return err;
}

static int cannot(int err)
{
	if (err_is(err, EPERM))
		return because(err, "what passes is seen by a packet socket, and that takes CAP_NET_RAW");
	if (err_is(err, EAFNOSUPPORT))
		return because(
			err,
			"what passes is seen by a packet socket, and there is none: the kernel has no CONFIG_PACKET, or "
			"RestrictAddressFamilies= of the unit no AF_PACKET");
	return because(err, "what passes cannot be seen: %s", errno_text(err));
}

static const struct attachment *on_this(const struct tap *tap, const struct attachment *on, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (on[i].ifindex == tap->ifindex && !on[i].gone && !on[i].moved && !MATCH_BY_TC(on[i].match))
			return &on[i];
	return NULL;
}

/* The kernel takes an interface that goes away from its sockets for good, whatever has its number afterwards. */
static bool still_there(const struct tap *tap)
{
	struct sockaddr_ll at = { 0 };
	socklen_t size = sizeof(at);

	return !getsockname(tap->fd, (struct sockaddr *)&at, &size) && at.sll_ifindex == (int)tap->ifindex;
}

static bool has_tap(const struct taps *taps, unsigned int ifindex)
{
	for (unsigned int i = 0; i < taps->n; i++)
		if (taps->tap[i].ifindex == ifindex)
			return true;
	return false;
}

int taps_follow(struct taps *taps, const struct attachment *on, size_t n)
{
	unsigned int kept = 0;
	int err = 0;

	for (unsigned int i = 0; i < taps->n; i++) {
		const struct attachment *here = on_this(&taps->tap[i], on, n);

		if (here && still_there(&taps->tap[i])) {
			taps->tap[kept] = taps->tap[i];
			taps->tap[kept++].whole = here->mode == MODE_SKB;
		} else {
			close(taps->tap[i].fd);
		}
	}
	taps->n = kept;
	for (size_t i = 0; i < n && taps->n < TAPS_MAX && !err; i++) {
		struct tap tap = { .ifindex = on[i].ifindex, .whole = on[i].mode == MODE_SKB };

		if (on[i].gone || on[i].moved || MATCH_BY_TC(on[i].match) || !tap.ifindex || has_tap(taps, tap.ifindex))
			continue;
		err = open_tap(&tap, taps);
		if (!err)
			taps->tap[taps->n++] = tap;
		else if (err_is(err, ENODEV) || err_is(err, ENXIO))
			err = 0;
	}
	return err ? cannot(err) : 0;
}

unsigned int taps_fds(const struct taps *taps, struct pollfd *fds)
{
	for (unsigned int i = 0; i < taps->n; i++)
		fds[i] = (struct pollfd){ .fd = taps->tap[i].fd, .events = POLLIN };
	return taps->n;
}

/* Of packets that the stack has put together: how many they were, by what each of them carried. */
static double put_together(const struct virtio_net_hdr *h, const struct sample *s)
{
	size_t ip = ETH_HLEN, at = ip + (s->bytes[ip] >> 4 == 6 ? 40 : (s->bytes[ip] & 15) * 4);
	uint32_t headers = (uint32_t)at;

	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE || !h->gso_size)
		return 1;
	if (h->gso_type == GSO_UDP_L4)
		headers += HEADER_UDP;
	else
		headers += at + HEADER_TCP <= s->captured ? (s->bytes[at + 12] >> 4) * 4 : HEADER_TCP;
	return s->length <= headers ? 1 : (s->length - headers + h->gso_size - 1) / h->gso_size;
}

/* The stack has taken the outer tag off; the frame is shown as it came. */
static void put_back(struct sample *s, const struct tpacket_auxdata *how)
{
	const size_t at = 2 * ETH_ALEN;
	const uint16_t tag[] = { htons(how->tp_status & TP_STATUS_VLAN_TPID_VALID ? how->tp_vlan_tpid : ETH_P_8021Q),
				 htons(how->tp_vlan_tci) };

	if (s->captured < at)
		return;
	s->length += TAG;
	s->captured = s->captured + TAG < SAMPLE_BYTES ? s->captured + TAG : SAMPLE_BYTES;
	memmove(s->bytes + at + TAG, s->bytes + at, s->captured - at - TAG);
	memcpy(s->bytes + at, tag, TAG);
}

/* 1, 0 where there is none, or -errno for one that cannot be had. */
static int next_sample(const struct tap *tap, struct sample *s, double *packets)
{
	struct virtio_net_hdr how;
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))] __attribute__((aligned(8)));
	struct iovec parts[] = { { &how, sizeof(how) }, { s->bytes, sizeof(s->bytes) } };
	struct msghdr message = {
		.msg_iov = parts, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(tap->fd, &message, MSG_DONTWAIT);
	struct tpacket_auxdata aux = { 0 };
	struct cmsghdr *c;

	if (n < 0)
		return errno == EAGAIN || errno == ENETDOWN ? 0 : -errno;
	if ((size_t)n < sizeof(how))
		return -EINVAL;
	s->captured = (__u16)((size_t)n - sizeof(how));
	for (c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA)
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
	s->length = aux.tp_len ?: s->captured;
	*packets = tap->whole ? 1 : put_together(&how, s);
	if (aux.tp_status & TP_STATUS_VLAN_VALID)
		put_back(s, &aux);
	return 1;
}

/* Returns how many; at most so many from each, for more come meanwhile. */
static unsigned int drain(struct taps *taps, unsigned int most,
			  void (*each)(void *arg, const struct sample *sample, double packets), void *arg)
{
	struct sample s = { .time = (__u64)clock_ns(CLOCK_MONOTONIC) };
	unsigned int sum = 0;
	double packets = 1;
	int got;

	for (unsigned int i = 0; i < taps->n; i++) {
		s.ifindex = taps->tap[i].ifindex;
		for (unsigned int n = 0; n < most && (got = next_sample(&taps->tap[i], &s, &packets)); n++) {
			sum++;
			if (got > 0)
				each(arg, &s, packets / taps->chance);
		}
	}
	return sum;
}

/* What the filters took since the last time, and of it what there was no room for. */
static struct tpacket_stats taken(const struct taps *taps)
{
	struct tpacket_stats s, sum = { 0 };

	for (unsigned int i = 0; i < taps->n; i++) {
		socklen_t size = sizeof(s);

		if (getsockopt(taps->tap[i].fd, SOL_PACKET, PACKET_STATISTICS, &s, &size))
			continue;
		sum.tp_packets += s.tp_packets;
		sum.tp_drops += s.tp_drops;
	}
	return sum;
}

uint64_t taps_missed(const struct taps *taps)
{
	return taken(taps).tp_drops;
}

void taps_read(struct taps *taps, void (*each)(void *arg, const struct sample *sample, double packets), void *arg)
{
	unsigned int n = drain(taps, taps->one_in ? MANY : AT_ONCE, each, arg);
	int64_t now = clock_ms();
	double wanted = fmax((double)taps->rate * (double)(now - taps->adapted) / 1000, 1), more;

	if (taps->one_in || (n < AT_ONCE && wanted < ADAPT))
		return;
	more = wanted / fmax(taken(taps).tp_packets, wanted / QUIETER);
	taps->adapted = now;
	more = fmin(taps->chance * more, ALL);
	if (more > .8 * taps->chance && more < 1.25 * taps->chance && more < ALL)
		return;
	/* What is queued was taken by the old chance, and stands for as many as that says. */
	for (unsigned int i = 0; i < taps->n; i++) {
		if (!set_chance(taps->tap[i].fd, more))
			continue;
		while (i--)
			set_chance(taps->tap[i].fd, taps->chance);
		return;
	}
	drain(taps, MANY, each, arg);
	taps->chance = more;
}
