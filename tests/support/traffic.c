// SPDX-License-Identifier: GPL-2.0-only
/*
 * Real traffic for the tests: sends made frames out of one interface and counts those that come out of the filter on
 * another. A closed loop: a window of frames at a time, the next one when every clean frame of this one has arrived. So
 * no queue on the way can ever be full, and a frame that is missing was dropped by the filter.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "traffic_frames.h"

enum {
	WINDOW = 64, /* one bit each in a uint64_t, and well under the 256 frames a veth queues */
	RING_FRAME = 512,
	RING_FRAMES = 4096,
	RING_BLOCK = 1 << 16,
	PATIENCE_MS = 20000, /* what is lost comes never; what is late, on a busy machine, seconds later */
	LOSSES_MAX = 3,	     /* windows with a loss before it gives up */
	EARS = 5,
	NAMED_MAX = 5, /* wrong addresses that are named */
};

enum { PASSED_ALL = 0, WRONG = 1 };

/* A socket on IN. */
struct ear {
	int fd;
	uint8_t *ring;
	size_t next;
};

struct loop {
	int out; /* a socket */
	struct ear in[EARS];
	int ears;
	struct head v4, v6;
	struct sources banned, clean;
	uint64_t run, first, missing; /* the window: its first sequence number, and the clean frames not yet back */
	unsigned int named, losses;
};

static volatile sig_atomic_t stop;
static int behind_tc; /* what tc lets on is heard, by the kind of frame */
static int queued;    /* then a frame that is dropped on its way out is said to have found no room */

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static _Noreturn void usage(const char *why)
{
	fprintf(stderr,
		"traffic: %s\n"
		"usage: traffic [-b FILE] -c FILE [-d] [-e TAGS] [-n N] [-q] [-t] OUT IN\n"
		"Sends a frame from every source out of interface OUT, and counts what arrives at interface IN.\n"
		"  -b FILE  banned sources, an address a line: none may arrive\n"
		"  -c FILE  clean sources: each must arrive\n"
		"  -d       they are destinations\n"
		"  -e TAGS  vlan, qinq, pppoe, or several joined with '+'; default: plain. in4, in6, gre4, gre6: within\n"
		"           such a tunnel\n"
		"  -n N     every source N times; 0: says 'flowing', then goes on until SIGTERM\n"
		"  -q       through OUT's queue, as what the machine itself sends\n"
		"  -t       what IN's programs of tc let on, and not already what comes to them\n"
		"Prints what was sent and arrived, as JSON. Exit status: 0 as it must be, 1 a banned source\n"
		"came through or a clean one did not, 2 trouble.\n",
		why);
	exit(TROUBLE);
}

static int packet_socket(const char *interface, int protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(interface),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || !address.sll_ifindex || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		trouble(interface);
	return fd;
}

static void open_sockets(struct loop *l, const char *out, const char *in)
{
	const struct tpacket_req ring = {
		.tp_block_size = RING_BLOCK,
		.tp_block_nr = RING_FRAMES * RING_FRAME / RING_BLOCK,
		.tp_frame_size = RING_FRAME,
		.tp_frame_nr = RING_FRAMES,
	};
	static const int kinds[EARS] = { ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, ETH_P_8021AD, ETH_P_PPP_SES };
	const int version = TPACKET_V2, bypass = !queued, one = 1;

	l->out = packet_socket(out, 0);
	l->ears = behind_tc ? EARS : 1;
	if (setsockopt(l->out, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof(bypass)))
		trouble("packet socket");
	for (int i = 0; i < l->ears; i++) {
		struct ear *ear = &l->in[i];

		ear->fd = packet_socket(in, behind_tc ? kinds[i] : ETH_P_ALL);
		/* What leaves there is another's: it would fill the ring. */
		if (setsockopt(ear->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
		    setsockopt(ear->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
		    setsockopt(ear->fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
			trouble("packet socket");
		ear->ring = mmap(NULL, RING_FRAMES * RING_FRAME, PROT_READ | PROT_WRITE, MAP_SHARED, ear->fd, 0);
		if (ear->ring == MAP_FAILED)
			trouble("receive ring");
	}
}

/* One CPU for an interface: its frames keep their order, so what a window drops has been dropped when its last frame
 * is back.
 */
static void stay_on_one_cpu(const char *interface)
{
	unsigned int skip;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	skip = if_nametoindex(interface) / 2 % CPU_COUNT(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set) || skip--)
			continue;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		return;
	}
}

static void name_wrong(struct loop *l, const struct sources *from, size_t index, const char *what)
{
	char text[INET6_ADDRSTRLEN];

	if (l->named++ < NAMED_MAX)
		fprintf(stderr, "traffic: %s %s\n", what,
			inet_ntop(from->at[index].family, from->at[index].addr, text, sizeof(text)));
}

static void count_frame(struct loop *l, const uint8_t *frame, size_t length)
{
	struct mark mark;
	struct sources *from;

	if (length < sizeof(mark))
		return;
	memcpy(&mark, frame + length - sizeof(mark), sizeof(mark));
	if (mark.run != l->run)
		return;
	from = mark.banned ? &l->banned : &l->clean;
	from->arrived++;
	if (mark.banned)
		name_wrong(l, from, mark.source, "came through though banned:");
	else if (mark.sequence >= l->first)
		l->missing &= ~(1ULL << (mark.sequence - l->first));
}

static void drain_ear(struct loop *l, struct ear *ear)
{
	for (;;) {
		struct tpacket2_hdr *h = (void *)(ear->ring + ear->next * RING_FRAME);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			return;
		count_frame(l, (uint8_t *)h + h->tp_mac, h->tp_snaplen);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		ear->next = (ear->next + 1) % RING_FRAMES;
	}
}

static void drain(struct loop *l)
{
	for (int i = 0; i < l->ears; i++)
		drain_ear(l, &l->in[i]);
}

static void wait_for_window(struct loop *l, const struct mmsghdr *messages)
{
	struct pollfd in[EARS];

	for (int i = 0; i < l->ears; i++)
		in[i] = (struct pollfd){ .fd = l->in[i].fd, .events = POLLIN };
	for (drain(l); l->missing; drain(l)) {
		int ready = poll(in, (nfds_t)l->ears, PATIENCE_MS);

		if (ready < 0 && errno != EINTR)
			trouble("poll");
		if (!ready)
			break;
		/* The interface is gone, and with it what was on its way. */
		if (ready > 0 && in[0].revents & POLLERR) {
			errno = ENETDOWN;
			trouble("poll");
		}
	}
	for (int i = 0; i < WINDOW; i++) {
		const struct iovec *io = messages[i].msg_hdr.msg_iov;
		struct mark mark;

		if (!(l->missing >> i & 1))
			continue;
		memcpy(&mark, (uint8_t *)io->iov_base + io->iov_len - sizeof(mark), sizeof(mark));
		name_wrong(l, &l->clean, mark.source, "did not come through though clean:");
	}
	l->losses += l->missing != 0;
}

static size_t next_frame(const struct loop *l, uint8_t *frame, const struct sources *from, uint64_t sequence)
{
	const struct source *source = &from->at[from->next];
	const struct mark mark = {
		.run = l->run,
		.sequence = sequence,
		.source = from->next,
		.banned = from == &l->banned,
	};

	return make_frame(frame, source->family == AF_INET ? &l->v4 : &l->v6, source, &mark);
}

/* Every other frame banned while there are both; the last one of a window is always a clean one. */
static unsigned int fill_window(struct loop *l, struct mmsghdr *messages)
{
	struct sources *from = NULL;
	unsigned int count = 0;

	l->first += WINDOW;
	l->missing = 0;
	while (count < WINDOW && (l->banned.left || l->clean.left || from != &l->clean)) {
		struct iovec *io = messages[count].msg_hdr.msg_iov;

		from = &l->clean;
		if (l->banned.left && count != WINDOW - 1 && (count % 2 || !l->clean.left))
			from = &l->banned;
		io->iov_len = next_frame(l, io->iov_base, from, l->first + count);
		from->bytes += io->iov_len;
		from->next = (from->next + 1) % from->count;
		from->left -= from->left != 0;
		from->sent++;
		l->missing |= (uint64_t)(from == &l->clean) << count++;
	}
	return count;
}

static void run(struct loop *l, uint64_t times)
{
	static uint8_t frames[WINDOW][FRAME_MAX];
	struct mmsghdr messages[WINDOW] = { 0 };
	struct iovec io[WINDOW];

	for (int i = 0; i < WINDOW; i++) {
		io[i].iov_base = frames[i];
		messages[i].msg_hdr.msg_iov = &io[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	l->banned.left = times ? times * l->banned.count : l->banned.count ? UINT64_MAX : 0;
	l->clean.left = times ? times * l->clean.count : UINT64_MAX;
	while ((l->banned.left || l->clean.left) && !stop && l->losses < LOSSES_MAX) {
		unsigned int count = fill_window(l, messages);

		for (unsigned int sent = 0; sent < count;) {
			int done = sendmmsg(l->out, messages + sent, queued ? 1 : count - sent, 0);

			if (done < 0 && errno != EINTR && errno != ENOBUFS)
				trouble("send");
			if (done < 0 && errno == ENOBUFS && queued)
				done = 1;
			if (done > 0)
				sent += done;
		}
		wait_for_window(l, messages);
		if (!times && l->first == WINDOW) {
			puts("flowing");
			fflush(stdout);
		}
	}
}

static int report(const struct loop *l, double seconds)
{
	struct tpacket_stats kernel = { 0 };
	unsigned int drops = 0;
	uint64_t sent = l->banned.sent + l->clean.sent, lost = l->clean.sent - l->clean.arrived;

	for (int i = 0; i < l->ears; i++) {
		socklen_t size = sizeof(kernel);

		if (getsockopt(l->in[i].fd, SOL_PACKET, PACKET_STATISTICS, &kernel, &size))
			trouble("packet statistics");
		drops += kernel.tp_drops;
	}
	printf("{\"banned\":{\"sent\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"arrived\":%" PRIu64 "},"
	       "\"clean\":{\"sent\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"arrived\":%" PRIu64 ",\"lost\":%" PRIu64 "},"
	       "\"socket_drops\":%u,\"seconds\":%.3f,\"rate\":%.0f}\n",
	       l->banned.sent, l->banned.bytes, l->banned.arrived, l->clean.sent, l->clean.bytes, l->clean.arrived,
	       lost, drops, seconds, sent / seconds);
	if (drops) {
		fprintf(stderr, "traffic: the receiving socket itself dropped %u frames\n", drops);
		return TROUBLE;
	}
	return l->banned.arrived || lost ? WRONG : PASSED_ALL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct sigaction on_stop = { .sa_handler = on_signal };
	const char *tags = "plain", *why;
	struct loop l = { 0 };
	uint64_t times = 1;
	double start;
	int option, status;

	while ((option = getopt(argc, argv, "b:c:de:n:qt")) != -1) {
		if (option == 'b')
			read_sources(&l.banned, optarg);
		else if (option == 'c')
			read_sources(&l.clean, optarg);
		else if (option == 'd')
			as_destinations = 1;
		else if (option == 'e')
			tags = optarg;
		else if (option == 'n')
			times = strtoull(optarg, NULL, 10);
		else if (option == 'q')
			queued = 1;
		else if (option == 't')
			behind_tc = 1;
		else
			usage("unknown option");
	}
	if (argc - optind != 2)
		usage("needs two interfaces");
	if (!l.clean.count)
		usage("needs a clean source: it closes each window");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGTERM, &on_stop, NULL);
	sigaction(SIGINT, &on_stop, NULL);
	if (getrandom(&l.run, sizeof(l.run), 0) != sizeof(l.run))
		trouble("getrandom");
	why = make_head(&l.v4, AF_INET, tags);
	if (!why)
		why = make_head(&l.v6, AF_INET6, tags);
	if (why)
		usage(why);
	stay_on_one_cpu(argv[optind]);
	open_sockets(&l, argv[optind], argv[optind + 1]);
	start = now();
	run(&l, times);
	status = report(&l, now() - start);
	free(l.banned.at);
	free(l.clean.at);
	return status;
}
