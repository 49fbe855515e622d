// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that nobody here asked for, and scans, in the real kernel with real sockets: what a connection or a server
 * takes never counts, however much it is; what finds no socket does, and where that cannot be known nothing does.
 */
#include <fcntl.h>
#include <linux/if_link.h>

#include "base/close_fd.h"
#include "by_connection.h"

enum { RATE = 1000, BURST = 100, FLOOD = 20 * BURST };
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

static struct trusted own[2];
static bool by_interface; /* the limits are its own alone */

/* Each time with limits that the detector has not seen yet: it begins empty. They are of these classes alone. */
static bool begin(enum packet_class class)
{
	static double rate = RATE;
	struct settings settings = SETTINGS_DEFAULT;

	if (!kernel_looks_up()) {
		ktap_skip("this kernel's programs cannot ask for sockets");
		return false;
	}
	rate++;
	with_limits = (struct limits){ .on = true };
	if (by_interface)
		limits_put_on(&with_limits, "lo", class, (struct limit){ rate, BURST, THEN_POLICE });
	else
		with_limits.of[class] = (struct limit){ rate, BURST, THEN_POLICE };
	own[0] = (struct trusted){ { END_KEY_BITS(32), END_KEY_OWN + 4, { htonl(INADDR_LOOPBACK) } }, 1 };
	own[1] = (struct trusted){ { END_KEY_BITS(128), END_KEY_OWN + 6, { 0 } }, 1 };
	inet_pton(AF_INET6, SERVER6, own[1].key.addr);
	with_detector.trusted = own;
	with_detector.trusted_n = 2;
	model = (struct naive){ .label = { 3 } };
	naive_add(&model, 4, 0x0b000000, 0x0b00ffff, 0);
	/* As prog_detect.c: a program that is run and on no interface makes the kernel wait. */
	return install(&settings, NULL) &&
	       CHECK(!bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL), "loopback: %s", strerror(errno));
}

/*
 * So many of a frame: are the last of them dropped, and are so many of that class, give or take what comes back? Of the
 * other class, which has no limit, nothing is.
 */
static void counts(const uint8_t *frame, const struct connection *c, enum packet_class class, bool all,
		   const char *what)
{
	__u64 before = find(c).is.count[class], n;
	__u32 verdict = send_frames(frame, FLOOD);
	struct found found = find(c);

	n = found.is.count[class] - before;
	CHECK(found.known, "%s: a flood is no suspect", what);
	/* The first of them are not yet looked at. */
	CHECK(all ? n >= FLOOD - 3 * BURST : !n, "%s: %llu of %d count", what, n, FLOOD);
	CHECK(!found.is.count[CLASS_UNANSWERED + CLASS_SCAN - class], "%s: %u count as what has no limit", what,
	      (unsigned int)found.is.count[CLASS_UNANSWERED + CLASS_SCAN - class]);
	CHECK(verdict == (all ? DROP : PASS), "%s: a flood is %s", what, all ? "not policed" : "policed");
}

static struct connection other_port(const struct connection *c, __u16 port)
{
	struct connection other = *c;

	other.to_port = htons(port);
	return other;
}

/* --- Unanswered --------------------------------------------------------------------------------------------------- */

static void connections(int family)
{
	uint8_t frame[FRAME];
	struct connection c, closed, stranger;

	if (!begin(CLASS_UNANSWERED) || !connection_open(&c, family))
		return;
	/* With numbers that TCP would not take, too: who floods a connection is no question of this class. */
	frame_of(frame, &c, c.next, c.ours, ACK, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, false, "a connection");
	frame_of(frame, &c, 1, 1, RST, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, false, "a connection's reset");
	frame_of(frame, &c, 1, 0, SYN, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, false, "a SYN");
	stranger = c;
	stranger.from_port ^= htons(1);
	frame_of(frame, &stranger, 1, 1, ACK, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, true, "forged acknowledgements to a listener");
	frame_of(frame, &stranger, 1, 1, SYN | ACK, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, true, "reflected answers to a SYN");
	closed = other_port(&stranger, 1);
	frame_of(frame, &closed, 1, 1, RST, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, true, "resets to a closed port");
	frame_of(frame, &closed, 1, 1, 0, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, true, "no flag at all");
	/* What is policed is this class alone. */
	frame_of(frame, &c, c.next, c.ours, ACK, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, false, "the connection beside it");
	connection_close(&c);
	frame_of(frame, &closed, 1, 1, ACK, IPPROTO_TCP);
	counts(frame, &c, CLASS_UNANSWERED, true, "a port that is closed");
}

static void connections4(void)
{
	connections(4);
}

static void connections6(void)
{
	connections(6);
}

static int udp_socket(const struct connection *c, __u16 *port, const struct connection *peer)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr *at = c->family == 4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t size = c->family == 4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(at->sa_family, SOCK_DGRAM, 0);

	memcpy(c->family == 4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr, c->to, c->family == 4 ? 4 : 16);
	CHECK(fd >= 0 && !bind(fd, at, size) && !getsockname(fd, at, &size), "a UDP socket: %s", strerror(errno));
	*port = c->family == 4 ? v4.sin_port : v6.sin6_port;
	if (peer) {
		memcpy(c->family == 4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr, peer->from,
		       c->family == 4 ? 4 : 16);
		*(c->family == 4 ? &v4.sin_port : &v6.sin6_port) = peer->from_port;
		CHECK(!connect(fd, at, size), "connected: %s", strerror(errno));
	}
	return fd;
}

static struct connection client_of(int family)
{
	struct connection c = { .family = family, .from_port = htons(4711), .to_port = htons(9) };

	inet_pton(family == 4 ? AF_INET : AF_INET6, family == 4 ? CLIENT4 : CLIENT6, c.from);
	inet_pton(family == 4 ? AF_INET : AF_INET6, family == 4 ? "127.0.0.1" : SERVER6, c.to);
	return c;
}

static void udp(int family)
{
	struct connection c = client_of(family), other = c;
	uint8_t frame[FRAME];
	int fd;

	if (!begin(CLASS_UNANSWERED))
		return;
	fd = udp_socket(&c, &c.to_port, NULL);
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	counts(frame, &c, CLASS_UNANSWERED, false, "a server's requests");
	close(fd);
	counts(frame, &c, CLASS_UNANSWERED, true, "UDP where nothing listens");
	fd = udp_socket(&c, &c.to_port, &c);
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	counts(frame, &c, CLASS_UNANSWERED, false, "who was asked");
	other.to_port = c.to_port;
	other.from_port ^= htons(1);
	frame_of(frame, &other, 0, 0, 0, IPPROTO_UDP);
	counts(frame, &c, CLASS_UNANSWERED, true, "an answer from another port");
	close(fd);
}

static void udp4(void)
{
	udp(4);
}

static void udp6(void)
{
	udp(6);
}

static bool forward(int family, bool on)
{
	const char *path =
		family == 4 ? "/proc/sys/net/ipv4/conf/lo/forwarding" : "/proc/sys/net/ipv6/conf/lo/forwarding";
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, on ? "1" : "0", 1) == 1;

	close_fd(fd);
	return done;
}

/* Where it cannot be known. */
static void unknown(int family)
{
	struct connection c = client_of(family), guest = c;
	uint8_t frame[FRAME], tagged[FRAME] = { 0 };

	if (!begin(CLASS_UNANSWERED))
		return;
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	memcpy(tagged, frame, 12);
	memcpy(tagged + 16, frame + 12, FRAME - 16);
	tagged[12] = 0x81;
	counts(tagged, &c, CLASS_UNANSWERED, false, "behind a tag");
	guest.to[family == 4 ? 3 : 15] ^= 0x80;
	frame_of(frame, &guest, 0, 0, 0, IPPROTO_UDP);
	counts(frame, &c, CLASS_UNANSWERED, false, "to another's address");
	frame_of(frame, &c, 0, 0, 0, family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	counts(frame, &c, CLASS_UNANSWERED, false, "ICMP");
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	if (family == 4) {
		frame[14 + 6] = 0x20;
		counts(frame, &c, CLASS_UNANSWERED, false, "a fragment");
		frame[14 + 6] = 0;
	}
	if (!CHECK(forward(family, true), "forwarding: %s", strerror(errno)))
		return;
	counts(frame, &c, CLASS_UNANSWERED, false, "where packets are forwarded");
	CHECK(forward(family, false), "forwarding: %s", strerror(errno));
	counts(frame, &c, CLASS_UNANSWERED, true, "where they are not");
}

static void unknown4(void)
{
	unknown(4);
}

static void unknown6(void)
{
	unknown(6);
}

/* With cookies there is no connection before the client's acknowledgement, which only a listener is there for. */
static void cookies(void)
{
	int fd = open("/proc/sys/net/ipv4/tcp_syncookies", O_WRONLY | O_CLOEXEC);
	struct connection c = client_of(4), real;
	uint8_t frame[FRAME];
	__u64 before;

	if (!CHECK(fd >= 0 && write(fd, "2", 1) == 1, "cookies: %s", strerror(errno)) || !begin(CLASS_UNANSWERED))
		return;
	inet_pton(AF_INET, CLIENT4, c.from);
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	counts(frame, &c, CLASS_UNANSWERED, true, "a suspect");
	before = find(&c).is.count[CLASS_UNANSWERED];
	for (int i = 0; i < 8 && connection_open(&real, 4); i++)
		connection_close(&real);
	CHECK(find(&c).is.count[CLASS_PACKETS] > FLOOD - 3 * BURST + 8, "its connections are not seen");
	CHECK(find(&c).is.count[CLASS_UNANSWERED] == before, "%llu of a handshake with cookies count",
	      find(&c).is.count[CLASS_UNANSWERED] - before);
	close(fd);
}

/* --- Scans -------------------------------------------------------------------------------------------------------- */

/* One each to n ports from there on, so often; how many were dropped. */
static unsigned int knock(const struct connection *c, __u16 port, unsigned int n, unsigned int times, int protocol)
{
	unsigned int dropped = 0;
	uint8_t frame[FRAME];

	for (unsigned int i = 0; i < n * times; i++) {
		struct connection to = other_port(c, (__u16)(port + i % n));

		frame_of(frame, &to, 1, 0, protocol == IPPROTO_TCP ? SYN : 0, protocol);
		dropped += send_frames(frame, 1) == DROP;
	}
	return dropped;
}

/* Not all is seen before it is a suspect; behind that it is exact, but for hashes that are the same. */
static void scan(int family)
{
	struct connection c = client_of(family), many = c;
	unsigned int dropped;
	uint8_t frame[FRAME];
	struct found found;

	if (!begin(CLASS_SCAN))
		return;
	frame_of(frame, &c, 1, 0, SYN, IPPROTO_TCP);
	CHECK(send_frames(frame, FLOOD) == PASS, "one port often is a scan");
	found = find(&c);
	CHECK(found.known && found.is.count[CLASS_SCAN] == 1, "%llu of one port", found.is.count[CLASS_SCAN]);
	CHECK(!knock(&c, 8, 4, FLOOD / 4, IPPROTO_TCP), "four ports are a scan");
	found = find(&c);
	CHECK(found.is.count[CLASS_SCAN] <= 4, "%llu of four ports", found.is.count[CLASS_SCAN]);
	dropped = knock(&c, 1000, FLOOD, 1, IPPROTO_TCP);
	CHECK(dropped && !find(&c).banned, "%u of %u ports were dropped", dropped, FLOOD);
	/* What is dropped is not known the next time. */
	CHECK(knock(&c, 10000, FLOOD, 1, IPPROTO_TCP), "a scan passes");
	many.to[family == 4 ? 2 : 14] = 1;
	for (unsigned int i = dropped = 0; i < FLOOD; i++) {
		many.to[family == 4 ? 3 : 15] = (uint8_t)i;
		many.to[family == 4 ? 1 : 13] = (uint8_t)(i >> 8);
		frame_of(frame, &many, 1, 0, SYN, IPPROTO_TCP);
		dropped += send_frames(frame, 1) == DROP;
	}
	CHECK(dropped, "many addresses are no scan");
	found = find(&c);
	CHECK(found.is.over[CLASS_SCAN] == found.is.dropped && !found.is.over[CLASS_PACKETS], "%llu over, %llu lost",
	      found.is.over[CLASS_SCAN], found.is.dropped);
}

static void scan4(void)
{
	scan(4);
}

static void scan6(void)
{
	scan(6);
}

/* Answers come to as many ports as there were questions: but somebody asked. */
static void scan_udp(void)
{
	struct connection c = client_of(ktap_random() & 1 ? 4 : 6), to = c;
	enum { ASKED = 3 * BURST };
	static int fd[ASKED];
	uint8_t frame[FRAME];
	unsigned int n = 0;

	if (!begin(CLASS_SCAN))
		return;
	/* As a suspect. */
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	CHECK(send_frames(frame, FLOOD) == PASS, "one port is a scan");
	CHECK(find(&c).is.count[CLASS_SCAN] == 1, "%llu of one port", find(&c).is.count[CLASS_SCAN]);
	for (n = 0; n < ASKED && !ktap_failed; n++) {
		fd[n] = udp_socket(&c, &to.to_port, NULL);
		frame_of(frame, &to, 0, 0, 0, IPPROTO_UDP);
		CHECK(send_frames(frame, 1) == PASS, "an answer is dropped");
	}
	CHECK(find(&c).is.count[CLASS_SCAN] == 1, "%llu of a resolver's answers", find(&c).is.count[CLASS_SCAN]);
	while (n)
		close(fd[--n]);
	CHECK(knock(&c, 20, FLOOD, 1, IPPROTO_UDP), "a scan by UDP passes");
}

/* Who has limits of other classes only. */
static void off(void)
{
	struct connection c = client_of(4);
	uint8_t frame[FRAME];
	struct found found;

	if (!begin(CLASS_UDP))
		return;
	frame_of(frame, &c, 0, 0, 0, IPPROTO_UDP);
	CHECK(send_frames(frame, FLOOD) == DROP, "a flood passes");
	found = find(&c);
	CHECK(found.known && !found.is.count[CLASS_UNANSWERED] && !found.is.count[CLASS_SCAN], "seen without a limit");
}

static void slots(void)
{
	by_interface = true;
	connections(4);
	connections(6);
	scan(4);
	scan_udp();
	by_interface = false;
}

/* Older kernels have no more stack than it takes. */
static void on_trial(void)
{
	with_trial = INT64_MAX;
	for (int i = 0; i < 2; i++) {
		by_interface = i;
		begin(CLASS_UNANSWERED);
		begin(CLASS_SCAN);
	}
	by_interface = false;
	with_trial = 0;
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "what a connection of IPv4 takes is answered, and nothing else", connections4 },
		{ "the same of IPv6", connections6 },
		{ "what a server takes by UDP is answered, and nothing else", udp4 },
		{ "the same of IPv6", udp6 },
		{ "what cannot be known does not count", unknown4 },
		{ "the same of IPv6", unknown6 },
		{ "a handshake with cookies does not count", cookies },
		{ "who goes to many ports or addresses scans, who goes to four does not", scan4 },
		{ "the same of IPv6", scan6 },
		{ "answers by UDP are no scan", scan_udp },
		{ "without a limit nothing is looked up", off },
		{ "limits of an interface: the same", slots },
		{ "on trial", on_trial },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	if (!geteuid() && (unshare(CLONE_NEWNET) || !loopback_up())) {
		printf("Bail out! no network namespace: %s\n", strerror(errno));
		return KTAP_FAIL;
	}
	return own_pins_run(run_cases);
}
