// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of every shape as a capture: what replay says of each is what the kernel's program does with the same frame,
 * and both count the same. XDP_BLOOM_PACKETS: so many.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "captures.h"
#include "observe/capture_apart.h"
#include "observe/replay.h"
#include "tunnels.h"

#define ETHERNET_BYTES 14 /* the kernel runs no test on less */
#define AT_ONCE	       512

static struct replay replay;
static uint64_t packets, ran;

/* The captures come through a pipe, from a process that makes them. */
static void make_packets(int to, uint64_t n)
{
	static uint8_t room[AT_ONCE * (FRAME_BYTES + 64)];
	struct capture_file file = { .bytes = room };
	FILE *out = fdopen(to, "w");

	if (!out)
		_exit(1);
	pcapng_section(&file);
	pcapng_interface(&file, 1, 0, 9, 0);
	for (uint64_t i = 0; i < n; i++) {
		const struct frame_shape *shape = &frame_shapes[ktap_random() % FRAME_SHAPES];
		/* Three in four are whole; of the others any number of bytes was sent. */
		uint32_t size = ktap_random() % 4 ? FRAME_MAX : (uint32_t)(ETHERNET_BYTES + ktap_random() % 90);
		uint8_t frame[FRAME_MAX];
		struct tunnel tunnel;

		frame_make(frame, shape, worth_asking(shape->family == 6 ? 6 : 4));
		if (i % 4) {
			pcapng_packet_of(&file, 0, i, frame, size, size, 0);
		} else {
			make_tunnel(&tunnel);
			size = tunnel.size < FRAME_BYTES ? (uint32_t)tunnel.size
							 : FRAME_BYTES; /* replay looks no further */
			pcapng_packet_of(&file, 0, i, tunnel.frame, size, size, 0);
		}
		if (i % AT_ONCE == AT_ONCE - 1 || i == n - 1) {
			if (fwrite(file.bytes, 1, file.n, out) != file.n)
				_exit(1);
			file.n = 0;
		}
	}
	_exit(fclose(out) != 0);
}

static int compare(void *arg, const struct captured *p)
{
	uint8_t frame[FRAME_BYTES];
	__u32 answer;
	struct run run;
	bool judged, drops;

	(void)arg;
	if (!CHECK(p->size <= FRAME_BYTES && !replay_packet(&replay, p, &answer, &judged), "packet %" PRIu64, packets))
		return -EINVAL;
	packets++;
	memcpy(frame, p->bytes, p->size);
	drops = answer == ANSWER_HIDDEN || (answer != ANSWER_UNPARSED && answer & ANSWER_DROP);
	run = run_program(root, frame, p->size);
	ran += run.ran;
	if (!CHECK(judged && run.ran && run.result == (drops ? DROP : PASS),
		   "packet %" PRIu64 " of %u bytes: the kernel says %u, replay %x", packets, p->size, run.result,
		   answer))
		return -EINVAL;
	return 0;
}

static void same_as_kernel(const struct settings *settings, const __u64 *shadow, uint64_t n)
{
	struct tally parsed;
	struct capture_end end;
	int pipes[2], status = 0, err;
	pid_t maker;

	if (!install(settings, shadow) || !CHECK(!pipe2(pipes, O_CLOEXEC), "no pipe"))
		return;
	replay = (struct replay){ .g = &live.g, .live_is_known = true };
	packets = ran = 0;
	fflush(stdout);
	maker = fork();
	if (!maker) {
		close(pipes[0]);
		make_packets(pipes[1], n);
	}
	ktap_random(); /* the two go on from different numbers */
	close(pipes[1]);
	err = capture_read_apart(pipes[0], true, compare, NULL, &end);
	close(pipes[0]);
	waitpid(maker, &status, 0);
	if (ktap_failed || !CHECK(!err && !status && packets == n && ran == n && !end.cut,
				  "%" PRIu64 " of %" PRIu64 " packets: %s", packets, n, reason(err)))
		return;
	parsed = (struct tally){ replay.passed.packets - replay.unparsed.packets,
				 replay.passed.bytes - replay.unparsed.bytes };
	tally_add(&wanted[PASSED], &parsed);
	tally_add(&wanted[DROPPED], &replay.dropped);
	tally_add(&wanted[UNPARSED], &replay.unparsed);
	for (unsigned int label = 0; label <= LABELS; label++)
		tally_add(&wanted_lists[label == REPLAY_UNLISTED ? LABEL_LIVE : label], &replay.list[label]);
	check_all_counters();
	CHECK(replay.dropped.packets > n / 10 && parsed.packets > n / 10 && replay.unparsed.packets > n / 20,
	      "too few packets of a kind");
	printf("# %" PRIu64 " packets: %llu dropped, %llu passed, %llu unparsed\n", n, replay.dropped.packets,
	       parsed.packets, replay.unparsed.packets);
	replay_free(&replay);
}

static uint64_t wanted_packets(void)
{
	const char *n = getenv("XDP_BLOOM_PACKETS");

	return n ? strtoull(n, NULL, 10) : 20000;
}

static void with_roster(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	everything();
	same_as_kernel(&settings, NULL, wanted_packets());
}

/* Less of it is on a list's account, or judged otherwise. */
static void other_settings(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	__u64 shadow[LABELS / 64] = { [200 / 64] = 1ULL << 200 % 64 };
	uint64_t n = wanted_packets() / 5;

	everything();
	settings.embedded = true;
	same_as_kernel(&settings, shadow, n);
	settings.embedded = false;
	settings.inner = true;
	model.label[2] = LABEL_ENDS - 1; /* what is looked into takes a list of that label for live bans */
	same_as_kernel(&settings, shadow, n);
	settings.exact = false;
	same_as_kernel(&settings, NULL, n);
	hosts_only();
	settings.inner = false;
	settings.exact = true;
	same_as_kernel(&settings, NULL, n);
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "every stage", with_roster },
		{ "other settings", other_settings },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return own_pins_run(run_cases);
}
