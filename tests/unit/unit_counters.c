// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters as they are read from the kernel: summed over CPUs, in batches and one by one, while a row moves meanwhile,
 * and where a call fails. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include "bpf/abi.h"

static const struct shown known_texts[] = {
#include "unit_counters.txt"
};

static struct shows shows = { .file = "tests/unit/unit_counters.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static const struct context own_context = { .bpffs = "P" };

static int possible_cpus;
static bool no_batches;
static unsigned int most;	    /* of a batch; 0: all */
static unsigned int batches, moves; /* a row is retired in each of the first so many */

static struct made_map *counters(const char *name)
{
	char path[PIN_PATH_MAX];

	pin_path(&own_context, path, name);
	return made_pin_at(path) < made_pins_n ? made_pins[made_pin_at(path)].is : NULL;
}

static struct tally *at_key(struct made_map *map, __u32 key)
{
	return (struct tally *)map->value + key * MADE_CPUS;
}

/* Of interface 9, what one CPU has counted. */
static void retire_meanwhile(void)
{
	struct made_map *map = counters(PIN_COUNTERS);
	struct tally *from = at_key(map, COUNTER(9, 1)), *to = at_key(map, COUNTER(PORT_RETIRED, 1));

	to->packets++;
	from->packets--;
}

static int given_batch(int fd, void *before, void *last, void *keys, void *values, __u32 *count,
		       const struct bpf_map_batch_opts *opts)
{
	struct made_map *map = made_of(fd);
	__u32 first = before ? *(__u32 *)before + 1 : 0, asked = *count;

	(void)last;
	(void)keys;
	(void)opts;
	if (asked > 512) /* it has no room for */
		printf(" %u at once\n", asked);
	if (fails("bpf_map_lookup_batch") || no_batches) {
		errno = no_batches ? EINVAL : errno;
		*count = 0;
		return -errno;
	}
	*count = asked < map->max_entries - first ? asked : map->max_entries - first;
	if (most && *count > most)
		*count = most;
	memcpy(values, at_key(map, first), *count * MADE_CPUS * sizeof(struct tally));
	if (batches++ < moves)
		retire_meanwhile();
	/* As of an array that ends before all that was asked for. */
	if (*count < asked && !most) {
		errno = ENOENT;
		return -ENOENT;
	}
	return 0;
}

static int given_cpus(void)
{
	return possible_cpus;
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	printf("%u", *(const __u32 *)key);
}

static void put_value(const struct made_map *map, const void *value)
{
	const struct tally *each = value;

	(void)map;
	for (int cpu = 0; cpu < MADE_CPUS; cpu++)
		printf("%s%llu (%llu)", cpu ? ", " : "", each[cpu].packets, each[cpu].bytes);
}

/* One by one, so many more can be looked up; below 0: all. */
static int lookups = -1;

static int given_some(int fd, const void *key, void *value)
{
	if (!lookups) {
		errno = EIO;
		return -EIO;
	}
	lookups -= lookups > 0;
	return given_lookup(fd, key, value);
}

#define pin_shared_map		 given_shared_map
#define close			 given_close
#define calloc			 given_calloc
#define bpf_map_lookup_batch	 given_batch
#define bpf_map_lookup_elem	 given_some
#define bpf_map_update_elem	 given_update
#define libbpf_num_possible_cpus given_cpus

#include "kernel/counters.c"

#undef calloc
#undef close

/* What a CPU has counted at a key: another number everywhere. */
static struct tally counted_at(unsigned int map, __u32 key, int cpu)
{
	__u64 n = (map + 1) * 1000000 + key * 10 + (__u32)cpu;

	return (struct tally){ n, n * 64 };
}

static void fill(unsigned int which, const char *name, __u32 entries)
{
	char path[PIN_PATH_MAX];
	struct made_map *map = made_new(name, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), entries);

	for (__u32 key = 0; key < entries; key++)
		for (int cpu = 0; cpu < MADE_CPUS; cpu++)
			at_key(map, key)[cpu] = counted_at(which, key, cpu);
	pin_path(&own_context, path, name);
	made_pin(path, map);
}

static const struct {
	const char *name;
	__u32 entries;
} maps[] = {
	{ PIN_COUNTERS, COUNTERS },    { PIN_COUNTERS_OUT, COUNTERS }, { PIN_POLICED, POLICED },
	{ PIN_LIST_COUNTERS, LABELS }, { PIN_UNREAD, LABELS },
};

static void begin(void)
{
	made_pins_begin();
	possible_cpus = MADE_CPUS;
	no_batches = false;
	lookups = -1;
	most = batches = moves = 0;
}

static void all_count(void)
{
	for (unsigned int i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		fill(i, maps[i].name, maps[i].entries);
}

static void some_count(void)
{
	fill(0, maps[0].name, maps[0].entries);
	fill(3, maps[3].name, maps[3].entries);
}

static void one_by_one(void)
{
	all_count();
	no_batches = true;
}

static void some_one_by_one(void)
{
	one_by_one();
	lookups = COUNTER_ROW + 7;
}

static void in_small_batches(void)
{
	all_count();
	most = 7;
}

static void a_row_moves(void)
{
	all_count();
	moves = 3;
}

static void rows_always_move(void)
{
	all_count();
	moves = 100000;
}

static void no_cpus(void)
{
	all_count();
	possible_cpus = 0;
}

static void other_cpus(void)
{
	all_count();
	possible_cpus = MADE_CPUS - 1;
}

static struct tally sum_at(unsigned int map, __u32 key)
{
	struct tally sum = { 0 };

	for (int cpu = 0; cpu < MADE_CPUS; cpu++) {
		struct tally at = counted_at(map, key, cpu);

		sum.packets += at.packets;
		sum.bytes += at.bytes;
	}
	return sum;
}

/* How many are as they were counted, how many are 0, and others. */
struct found {
	unsigned int right, none, others;
};

static void look(struct found *f, const struct tally *is, unsigned int map, __u32 key)
{
	struct tally right = sum_at(map, key);

	if (!memcmp(is, &right, sizeof(right)))
		f->right++;
	else if (!is->packets && !is->bytes)
		f->none++;
	else
		f->others++;
}

static void say(const char *what, const struct found *f)
{
	printf(" %s: %u right, %u none", what, f->right, f->none);
	if (f->others)
		printf(", %u others", f->others);
	putchar('\n');
}

static int reads(void)
{
	static struct counted c;
	struct found in = { 0 }, out = { 0 }, policed = { 0 }, list = { 0 }, unread = { 0 };
	int err;

	memset(&c, 0xff, sizeof(c));
	err = kernel_counters(&own_context, &c);
	if (err)
		return err;
	for (__u32 port = 0; port <= PORTS; port++) {
		for (__u32 r = 0; r < COUNTER_ROW; r++) {
			look(&in, &c.port[port][r], 0, COUNTER(port, r));
			look(&out, &c.out[port][r], 1, COUNTER(port, r));
		}
		look(&policed, &c.port[port][REASON_POLICED], 2, port);
		if (c.out[port][REASON_POLICED].packets)
			printf(" what leaves is policed\n");
	}
	for (__u32 label = 0; label < LABELS; label++) {
		look(&list, &c.list[label], 3, label);
		look(&unread, &c.unread[label], 4, label);
	}
	say("in", &in);
	say("out", &out);
	say("policed", &policed);
	say("lists", &list);
	say("unread", &unread);
	printf(" %s\n", c.polices ? "it polices" : "it does not police");
	for (unsigned int i = 0; i < VERDICTS; i++)
		printf(" verdict %u: %llu packets, %llu bytes\n", i, c.verdict[i].packets, c.verdict[i].bytes);
	if (moves)
		printf(" interface 9: %lld, retired: %lld, in %u batches\n",
		       (long long)c.port[9][1].packets - (long long)sum_at(0, COUNTER(9, 1)).packets,
		       (long long)c.port[PORT_RETIRED][1].packets -
			       (long long)sum_at(0, COUNTER(PORT_RETIRED, 1)).packets,
		       batches);
	return 0;
}

static int reads_lists(void)
{
	static __u64 packets[LABELS * MADE_CPUS];
	unsigned int others = 0;
	int err;

	memset(packets, 0xff, sizeof(packets));
	err = kernel_list_packets(&own_context, packets, MADE_CPUS);
	for (__u32 i = 0; i < LABELS * MADE_CPUS; i++)
		others += packets[i] != counted_at(3, i / MADE_CPUS, i % MADE_CPUS).packets;
	if (!err)
		printf(" %u others\n", others);
	return err;
}

/* Which counters are not what they were. */
static void changes(void)
{
	for (unsigned int i = 0; i < sizeof(maps) / sizeof(maps[0]) && !fail_at; i++) {
		struct made_map *map = counters(maps[i].name);

		for (__u32 key = 0; map && key < maps[i].entries; key++)
			for (int cpu = 0; cpu < MADE_CPUS; cpu++) {
				struct tally was = counted_at(i, key, cpu), *is = &at_key(map, key)[cpu];

				if (cpu == 1 && memcmp(is, &was, sizeof(was)) != 0)
					printf(" %s, %u: %llu (%llu)\n", maps[i].name, key, is->packets, is->bytes);
			}
	}
}

static int retires(void)
{
	int err = kernel_retire_port(&own_context, 9, false);

	changes();
	return err;
}

static int retires_out(void)
{
	int err = kernel_retire_port(&own_context, PORTS - 1, true);

	changes();
	return err;
}

static int zeroes(void)
{
	int err = kernel_zero_label(&own_context, LABELS - 1);

	changes();
	return err;
}

static const struct scenario all[] = {
	{ "nothing counts yet", NULL, reads, EACH_FAILS },
	{ "all counts", all_count, reads, EACH_FAILS },
	{ "some counts", some_count, reads, ONCE },
	{ "one by one", one_by_one, reads, ONCE },
	{ "one by one, up to one that cannot be read", some_one_by_one, reads, ONCE },
	{ "in small batches", in_small_batches, reads, ONCE },
	{ "a row moves meanwhile", a_row_moves, reads, ONCE },
	{ "rows always move", rows_always_move, reads, ONCE },
	{ "no CPUs", no_cpus, reads, ONCE },
	{ "lists", all_count, reads_lists, BY_EACH_ERRNO },
	{ "lists, one by one", one_by_one, reads_lists, EACH_FAILS },
	{ "lists, without", NULL, reads_lists, ONCE },
	{ "lists, of other CPUs", other_cpus, reads_lists, ONCE },
	{ "retired", all_count, retires, EACH_FAILS },
	{ "retired, nothing counts", NULL, retires, ONCE },
	{ "retired of what leaves", all_count, retires_out, ONCE },
	{ "from 0", all_count, zeroes, EACH_FAILS },
	{ "from 0, nothing counts", NULL, zeroes, ONCE },
};

static const int errnos[] = { EIO, ENOENT, EPERM };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "what is counted", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
