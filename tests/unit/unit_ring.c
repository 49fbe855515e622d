// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who reads the samples: what each list may sample on each CPU until the next refill, what is written into which map in
 * which order, and what is said where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "kernel/counters.h"
#include "kernel/ring.h"

static const struct shown known[] = {
#include "unit_ring.txt"
};

static struct shows shows = { .file = "tests/unit/unit_ring.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own_context = { .bpffs = "P", .state = "S" };

static int64_t now_ms;
static int cpus_there;
static __u64 dropped[LABELS][MADE_CPUS];
static bool is_locked;

struct ring_buffer {
	ring_buffer_sample_fn call;
	void *arg;
};

static struct ring_buffer buffer;
static unsigned int buffers;
/* The sizes of what waits in it. */
static size_t waiting[4], n_waiting;

static struct ring_buffer *given_buffer(int map, ring_buffer_sample_fn call, void *arg,
					const struct ring_buffer_opts *opts)
{
	if (fails("ring_buffer__new"))
		return NULL;
	does("a reader of %s%s", made_text(map), opts ? ", by options" : "");
	buffer = (struct ring_buffer){ call, arg };
	buffers++;
	return &buffer;
}

static int given_consume(struct ring_buffer *is)
{
	static struct sample sample;

	if (fails("ring_buffer__consume"))
		return -errno;
	does("take %zu samples", n_waiting);
	for (size_t i = 0; i < n_waiting; i++) {
		sample.time = i + 1;
		if (is->call(is->arg, &sample, waiting[i]))
			printf(" stopped\n");
	}
	n_waiting = 0;
	return 3;
}

static void given_buffer_free(struct ring_buffer *is)
{
	if (is)
		buffers--;
	does("the reader goes%s", is ? "" : ", there was none");
}

static int given_epoll(const struct ring_buffer *is)
{
	return is == &buffer ? 77 : -1;
}

static int given_cpus(void)
{
	return cpus_there;
}

static int64_t given_ms(void)
{
	return now_ms;
}

static int given_trust(const char *path)
{
	does("is %s trusted?", path);
	return fails("trust_directory") ? -errno : 0;
}

static int given_open(const char *path, int flags, mode_t mode)
{
	if (fails("open"))
		return -1;
	does("open %s, %s%s, mode %o", path, flags & O_CREAT ? "made where it is not there" : "",
	     flags & O_CLOEXEC && (flags & O_ACCMODE) == O_RDWR ? "" : ", otherwise", mode);
	return made_fd(made_new("lock", 0, 0, 0, 0));
}

static int given_lock(int fd, int how)
{
	if (fails("flock"))
		return -1;
	does("lock %s%s", made_text(fd), how == (LOCK_EX | LOCK_NB) ? "" : ", otherwise");
	errno = EWOULDBLOCK;
	return is_locked ? -1 : 0;
}

static int given_packets(const struct context *context, __u64 *packets, int cpus)
{
	(void)context;
	if (fails("kernel_list_packets"))
		return -errno;
	for (unsigned int label = 0; label < LABELS; label++)
		for (int cpu = 0; cpu < cpus; cpu++)
			packets[label * (unsigned int)cpus + (unsigned int)cpu] = dropped[label][cpu];
	return 0;
}

static void put_share(const struct sample_share *share)
{
	for (int cpu = 0; cpu < MADE_CPUS; cpu++)
		printf(" [%u growing %u next %u%s]", share[cpu].left, share[cpu].growing, share[cpu].next,
		       share[cpu].skip || share[cpu].behind || share[cpu].block ? ", otherwise" : "");
}

/* Labels in a row that get the same are one line. */
static struct sample_share row[MADE_CPUS];
static __u32 row_first, row_n;

static void put_row(void)
{
	if (row_n && !fail_at) {
		printf(" shares %u-%u:", row_first, row_first + row_n - 1);
		put_share(row);
		putchar('\n');
	}
	row_n = 0;
}

static int given_put(int fd, const void *key, const void *value, __u64 flags)
{
	const struct made_map *map = made_of(fd);
	__u32 label = *(const __u32 *)key;
	const __u32 *each = value;

	if (fails("bpf_map_update_elem"))
		return -errno;
	if (flags != BPF_ANY)
		printf(" not put as anything\n");
	if (map->value_size == sizeof(struct sample_share)) {
		if (row_n && (label != row_first + row_n || memcmp(row, value, sizeof(row)) != 0))
			put_row();
		if (!row_n)
			row_first = label;
		row_n++;
		memcpy(row, value, sizeof(row));
		return 0;
	}
	put_row();
	does("budget %u: %u,%u %u,%u %u,%u", label, each[0], each[1], each[2], each[3], each[4], each[5]);
	return 0;
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	(void)key;
}

static void put_value(const struct made_map *map, const void *value)
{
	(void)map;
	(void)value;
}

#define put_share		 put_its_share
#define pin_shared_map		 given_shared_map
#define bpf_map_update_elem	 given_put
#define ring_buffer__new	 given_buffer
#define ring_buffer__consume	 given_consume
#define ring_buffer__free	 given_buffer_free
#define ring_buffer__epoll_fd	 given_epoll
#define libbpf_num_possible_cpus given_cpus
#define kernel_list_packets	 given_packets
#define trust_directory		 given_trust
#define open(path, flags, mode)	 given_open(path, flags, mode)
#define flock(fd, how)		 given_lock(fd, how)
#define clock_ms		 given_ms
#define close			 given_close
#define calloc(n, size)		 given_calloc(n, size)

#include "kernel/ring.c"

#undef put_share
#undef close
#undef open
#undef calloc

static double rate;

static void begin(void)
{
	made_pins_begin();
	now_ms = 5000;
	cpus_there = MADE_CPUS;
	memset(dropped, 0, sizeof(dropped));
	is_locked = false;
	buffers = 0;
	n_waiting = 0;
	row_n = 0;
	rate = 100;
}

static void pin_map(const char *path, const char *name, __u32 value_size)
{
	made_pin_old(path, name, BPF_MAP_TYPE_HASH)->value_size = value_size;
}

static void pinned_without_budget(void)
{
	pin_map("P/samples", "samples", 0);
	pin_map("P/sample_shares", "sample_shares", sizeof(struct sample_share));
}

static void pinned(void)
{
	pinned_without_budget();
	pin_map("P/sample_budget", "sample_budget", 4);
}

static void pinned_by_the_first(void)
{
	pin_map("P/samples", "samples", 0);
	pin_map("P/sample_budget", "sample_budget", 4);
}

static void pinned_without_shares(void)
{
	pin_map("P/samples", "samples", 0);
}

static void pinned_without_samples(void)
{
	pin_map("P/sample_shares", "sample_shares", sizeof(struct sample_share));
	pin_map("P/sample_budget", "sample_budget", 4);
}

static void without_cpus(void)
{
	pinned();
	cpus_there = 0;
}

static void locked(void)
{
	pinned();
	is_locked = true;
}

/* A killed reader has left some. */
static void left_over(void)
{
	pinned();
	waiting[0] = waiting[1] = sizeof(struct sample);
	n_waiting = 2;
}

static struct ring *opened(int *err)
{
	struct ring *ring = (struct ring *)&rate;

	*err = ring_open(&own_context, &ring, rate);
	put_row();
	if (*err && ring)
		printf(" a ring in spite of it\n");
	if (!*err)
		does("refilled at %lld, to poll: %d", (long long)ring->refilled, ring_fd(ring));
	return ring;
}

static int closed(struct ring *ring, int err)
{
	ring_close(ring);
	put_row();
	if (buffers)
		printf(" %u readers are left\n", buffers);
	return err;
}

static int open_close(void)
{
	int err;
	struct ring *ring = opened(&err);

	return closed(ring, err);
}

static void drops(unsigned int label, unsigned int cpu, __u64 n)
{
	dropped[label][cpu] += n;
}

static int refill(struct ring *ring, int64_t after)
{
	int err;

	now_ms += after;
	err = ring_refill(ring);
	put_row();
	does("after %lld ms: %s", (long long)after, err ? reason(err) : "refilled");
	if (!err && ring->refilled != now_ms)
		printf(" not refilled now\n");
	return err;
}

/* Of three lists, on some CPUs; then of one, after another time; then none. */
static int refills(void)
{
	int err;
	struct ring *ring = opened(&err);

	if (err)
		return closed(ring, err);
	drops(0, 0, 1);
	drops(7, 1, 1000);
	drops(7, 2, 28);
	drops(255, 2, 1000000);
	err = refill(ring, 1000);
	if (!err) {
		drops(7, 1, 1000);
		err = refill(ring, 1000);
	}
	if (!err)
		err = refill(ring, 1000);
	return closed(ring, err);
}

/* How long it has been since says how many come until the next: the same in a second, in less, and in more. */
static int refills_late(void)
{
	static const int64_t after[] = { 0, 999, 1000, 1001, 1500, 2000, 10000 };
	int err;
	struct ring *ring = opened(&err);

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]) && !err; i++) {
		/* As many as just fit, and one more. */
		drops(3, 0, 76);
		drops(3, 1, 77);
		drops(3, 2, 152);
		err = refill(ring, after[i]);
	}
	return closed(ring, err);
}

/* The label begins again; and on one CPU it has as many as before by chance. */
static int began_again(void)
{
	int err;
	struct ring *ring;

	drops(9, 0, 5000);
	drops(9, 1, 10);
	ring = opened(&err);
	dropped[9][0] = 200;
	err = err ?: refill(ring, 1000);
	dropped[9][0] = 200;
	dropped[9][1] = 9;
	err = err ?: refill(ring, 1000);
	return closed(ring, err);
}

static unsigned int handed_on;

static void hand(void *arg, const struct sample *sample)
{
	does("sample %llu for %s", sample->time, (const char *)arg);
	handed_on++;
}

static int reads(void)
{
	int err;
	struct ring *ring = opened(&err);
	char whom[] = "somebody";

	if (err)
		return closed(ring, err);
	waiting[0] = sizeof(struct sample);
	waiting[1] = sizeof(struct sample) - 1;
	waiting[2] = sizeof(struct sample) + 8;
	n_waiting = 3;
	err = ring_read(ring, hand, whom);
	return closed(ring, err);
}

static int closes_none(void)
{
	ring_close(NULL);
	return 0;
}

static int by_rates(void)
{
	static const double rates[] = { 0, 0.5, 1, 3, 3.9, 4, 5, 100, 59999, 60000, 60001, 1e9 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const struct ring ring = { .rate = rates[i] };

		printf(" %g:", rates[i]);
		for (unsigned int lists = 0; lists < 5; lists++)
			printf(" %u", samples_each(&ring, lists));
		printf(" ... %u\n", samples_each(&ring, 256));
	}
	return 0;
}

static int by_samples(void)
{
	static const __u32 samples[] = {
		0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 23, 24, 27, 28, 29, 31, 32, 100, 1000, 60000
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		__u32 n = samples[i], planned = n - share_growing(n);

		printf(" %u: growing %u, blocks", n, share_growing(n));
		for (__u64 by = 0; n && by < 5; by++)
			printf(" %u %u", share_block(by * planned, n), share_block(by * planned + 1, n));
		printf("%s\n", n ? "" : " none");
	}
	printf(" most: %u, %u, %u\n", share_block(1ULL << 29, 1), share_block((1ULL << 29) + 1, 1),
	       share_block(~0ULL, 60000));
	return 0;
}

static const struct scenario all[] = {
	{ "open and close", pinned, open_close, BY_EACH_ERRNO },
	{ "open, without a budget", pinned_without_budget, open_close, ONCE },
	{ "open, of programs of the first version", pinned_by_the_first, open_close, EACH_FAILS },
	{ "open, nothing is loaded", NULL, open_close, ONCE },
	{ "open, without shares", pinned_without_shares, open_close, ONCE },
	{ "open, without samples", pinned_without_samples, open_close, ONCE },
	{ "open, without CPUs", without_cpus, open_close, ONCE },
	{ "open, another reads", locked, open_close, ONCE },
	{ "open, some are left over", left_over, open_close, ONCE },
	{ "refill", pinned, refills, EACH_FAILS },
	{ "refill, late", pinned, refills_late, ONCE },
	{ "refill, of programs of the first version", pinned_by_the_first, refills, ONCE },
	{ "a label begins again", pinned, began_again, ONCE },
	{ "read", pinned, reads, EACH_FAILS },
	{ "close none", NULL, closes_none, ONCE },
	{ "how many of a rate", NULL, by_rates, ONCE },
	{ "which blocks", NULL, by_samples, ONCE },
};

static const int errnos[] = { EIO, ENOENT, EBADF, EPERM };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "who reads the samples", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
