// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends frames out of an interface as fast as the kernel can make them, on one CPU or several, and tells what one cost:
 * making, delivering, and all that the other end does with it, which happens on the same CPU before the next ones are
 * made.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "neighbours.h"
#include "packets.h"
#include "packets.skel.h"

#define CPUS_MAX    64
#define BATCH	    64 /* frames at a time: well under the 256 that a veth queues */
#define WARM_FRAMES 4096
#define PROBE	    8192 /* frames between two walks through memory */
#define LOOPBACK    1

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	char payload[22]; /* 64 bytes in all */
} __attribute__((packed));

struct sender {
	pthread_t thread;
	pthread_barrier_t *start;
	unsigned int cpu, frames;
	int program, err;
	double seconds;
};

static unsigned int rate; /* frames a second and CPU; 0: as many as can be */

/* Between probes memory is walked through, and all the time by another CPU. By the clock: tasks are charged by the
 * tick, which a probe is shorter than. */
static bool beside;

/* Not the clock, but the time of the tasks that make and take frames: what else runs on the machine does not count. */
static bool task_time;

static const struct frame pattern = {
	.eth = { .h_dest = { 2, 0, 0, 0, 0, 1 }, .h_source = { 2, 0, 0, 0, 0, 2 }, .h_proto = 0x0008 },
	.ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP, .daddr = 0x016433c6 }, /* 198.51.100.1 */
};

static struct frame make_frame(void)
{
	struct frame frame = pattern;

	frame.ip.tot_len = htons(sizeof(frame) - sizeof(frame.eth));
	frame.udp.source = frame.udp.dest = htons(9);
	frame.udp.len = htons(sizeof(frame.udp) + sizeof(frame.payload));
	return frame;
}

static __u16 checksum(const struct frame *frame)
{
	__u16 words[sizeof(frame->ip) / 2];
	__u32 sum = 0;

	memcpy(words, (const char *)frame + sizeof(frame->eth), sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~(sum + (sum >> 16));
}

/* Addresses in network order, from a file; over and over if there are few. */
static int read_addresses(const char *path, __u32 *address)
{
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file)
		return -errno;
	n = fread(address, sizeof(*address), SOURCES, file);
	fclose(file);
	for (size_t i = n; i < SOURCES && n; i++)
		address[i] = address[i % n];
	return n ? 0 : -ENODATA;
}

/* sources: a file, and then path is one of destinations; or NULL: path is one of sources. */
static int fill_stamps(int map, const char *sources, const char *path)
{
	struct frame frame = make_frame();
	size_t size = SOURCES * sizeof(struct stamp);
	__u32 *source = malloc(SOURCES * sizeof(*source)), *destination = malloc(SOURCES * sizeof(*destination));
	struct stamp *stamp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	int err = source && destination && stamp != MAP_FAILED ? read_addresses(sources ? sources : path, source)
							       : -errno;

	if (!err && sources)
		err = read_addresses(path, destination);
	for (size_t i = 0; i < SOURCES && !err; i++) {
		frame.ip.saddr = source[i];
		if (sources)
			frame.ip.daddr = destination[i];
		stamp[i] = (struct stamp){ .source = frame.ip.saddr,
					   .destination = frame.ip.daddr,
					   .checksum = checksum(&frame) };
	}
	free(source);
	free(destination);
	if (stamp != MAP_FAILED)
		munmap(stamp, size);
	return err;
}

static int send_frames(int program, unsigned int frames)
{
	struct frame frame = make_frame();
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &frame, .data_size_in = sizeof(frame), .repeat = (int)frames,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

	return bpf_prog_test_run_opts(program, &opts) ? -errno : 0;
}

/* Hundred times a second a share of them. */
static int send_paced(int program, unsigned int frames)
{
	struct timespec next;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned int n; frames && !err; frames -= n) {
		n = frames < rate / 100 ? frames : rate / 100;
		err = send_frames(program, n);
		next.tv_nsec += 10000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return err;
}

static double running_time(const char *path)
{
	unsigned long long ns = 0;
	FILE *file = fopen(path, "r");

	if (!file || fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return (double)ns / 1e9;
}

/* Frames are taken in by the sender itself, or by the CPU's softirq thread when there are many: thread 0 is not known.
 */
static double now(unsigned int softirqd)
{
	struct timespec t;
	char path[64];

	if (task_time) {
		snprintf(path, sizeof(path), "/proc/%u/schedstat", softirqd);
		return running_time("/proc/thread-self/schedstat") + running_time(path);
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Nothing but the sending counts. */
static int send_beside(int program, unsigned int frames, unsigned int softirqd, double *seconds)
{
	int err = 0;

	*seconds = 0;
	for (unsigned int n; frames && !err; frames -= n) {
		double start;

		n = frames < PROBE ? frames : PROBE;
		neighbours_walk();
		start = now(softirqd);
		err = send_frames(program, n);
		*seconds += now(softirqd) - start;
	}
	return err;
}

static unsigned int find_softirqd(unsigned int cpu)
{
	char name[32], comm[32], path[64];
	unsigned int pid = 0;

	snprintf(name, sizeof(name), "ksoftirqd/%u\n", cpu);
	/* Kernel threads of the first CPUs are born early. */
	for (unsigned int i = 2; i < 10000 && task_time && !pid; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%u/comm", i);
		file = fopen(path, "r");
		if (file && fgets(comm, sizeof(comm), file) && !strcmp(comm, name))
			pid = i;
		if (file)
			fclose(file);
	}
	return pid;
}

static void *run_sender(void *arg)
{
	struct sender *s = arg;
	unsigned int softirqd = find_softirqd(s->cpu);
	cpu_set_t set;
	double start;

	CPU_ZERO(&set);
	CPU_SET(s->cpu, &set);
	s->err = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (!s->err && !rate)
		s->err = send_frames(s->program, WARM_FRAMES);
	pthread_barrier_wait(s->start);
	if (!s->err && beside) {
		s->err = send_beside(s->program, s->frames, softirqd, &s->seconds);
		return NULL;
	}
	start = now(softirqd);
	if (!s->err)
		s->err = rate ? send_paced(s->program, s->frames) : send_frames(s->program, s->frames);
	s->seconds = now(softirqd) - start;
	return NULL;
}

/* All at once; the seconds of a frame, on the mean of the CPUs. */
static int time_frames(int program, unsigned int cpus, unsigned int frames, double *seconds)
{
	struct sender sender[CPUS_MAX];
	pthread_barrier_t start;
	unsigned int running;
	int err = 0;

	pthread_barrier_init(&start, NULL, cpus);
	*seconds = 0;
	for (running = 0; running < cpus; running++) {
		sender[running] =
			(struct sender){ .start = &start, .cpu = running, .frames = frames, .program = program };
		if (pthread_create(&sender[running].thread, NULL, run_sender, &sender[running]))
			exit(2); /* the others would wait for it forever */
	}
	while (running--) {
		pthread_join(sender[running].thread, NULL);
		err = err ? err : sender[running].err;
		*seconds += sender[running].seconds / frames / cpus;
	}
	pthread_barrier_destroy(&start);
	return err;
}

int main(int argc, char **argv)
{
	unsigned int cpus = 1, frames = 100000;
	const char *sources = NULL;
	struct packets *skel;
	double seconds;
	int option, err;

	while ((option = getopt(argc, argv, "c:f:n:r:tw")) != -1) {
		if (option == 'c')
			cpus = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'f')
			sources = optarg;
		else if (option == 'n')
			frames = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'r')
			rate = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 't')
			task_time = true;
		else if (option == 'w')
			beside = true;
		else
			cpus = 0;
	}
	if (argc - optind != 2 || !cpus || cpus > CPUS_MAX || !frames || (rate && rate < 100) ||
	    (beside && (rate || cpus > 1))) {
		fprintf(stderr,
			"Usage: packets [-c CPUS] [-f SOURCES] [-n FRAMES] [-r RATE | -w] [-t] IFNAME FILE\n"
			"Every CPU sends that many frames out of the interface, the sources from the file (four bytes\n"
			"each), and prints what one took, in nanoseconds, and how many were sent in all. -f: the\n"
			"sources are in that file, and the other one has destinations. -r: so many\n"
			"a second. -t: by the time of the tasks, where the kernel charges them for their softirqs.\n"
			"-w: another CPU walks through memory, and this one does between probes (one CPU sends).\n");
		return 2;
	}
	task_time = task_time && !beside;
	libbpf_set_print(NULL);
	skel = packets__open();
	if (!skel)
		return 2;
	skel->rodata->out = if_nametoindex(argv[optind]);
	bpf_program__set_autoload(skel->progs.drop_all, false);
	bpf_program__set_autoload(skel->progs.parse_count, false);
	err = packets__load(skel);
	if (!err)
		err = fill_stamps(bpf_map__fd(skel->maps.stamps), sources, argv[optind + 1]);
	/* The kernel waits for all CPUs around each run of a program that is on no interface: tens of milliseconds. */
	if (!err && (rate || beside))
		err = bpf_xdp_attach(LOOPBACK, bpf_program__fd(skel->progs.send_frame), XDP_FLAGS_SKB_MODE, NULL);
	if (!err && beside)
		err = neighbours_begin();
	if (!err)
		err = time_frames(bpf_program__fd(skel->progs.send_frame), cpus, frames, &seconds);
	if (beside)
		neighbours_end();
	if (rate || beside)
		bpf_xdp_detach(LOOPBACK, XDP_FLAGS_SKB_MODE, NULL);
	packets__destroy(skel);
	if (err) {
		fprintf(stderr, "packets: %s\n", strerror(-err));
		return 2;
	}
	printf("%.3f %llu\n", seconds * 1e9, (unsigned long long)cpus * (frames + (rate ? 0 : WARM_FRAMES)));
	return 0;
}
