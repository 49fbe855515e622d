// SPDX-License-Identifier: GPL-2.0-only
#include "observe/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/counters.h"
#include "base/log.h"
#include "observe/packet.h"
#include "state/bans.h"

#define HISTORY_MAGIC	0x78626c6f6f6d6831ULL
#define HISTORY_VERSION 2
#define BUCKETS_MAX	25

const char *const history_window_names[] = { "minute", "hour", "day", NULL };

/* Each window is a ring of buckets, one more than it takes: the oldest is only partly in it. */
static const struct {
	uint64_t period;
	unsigned int buckets;
} windows[HISTORY_WINDOWS] = { { 10, 7 }, { 300, 13 }, { 3600, 25 } };

struct file {
	uint64_t magic, version, size;
	uint64_t sequence; /* odd while it is being written */
	struct history_list list[LABELS];
	struct history_sums bucket[HISTORY_WINDOWS][BUCKETS_MAX];
	struct history_point second[HISTORY_SECONDS], minute[HISTORY_MINUTES];
	struct history_attack attack[HISTORY_ATTACKS];
	uint64_t attacks; /* ever */
};

struct history {
	struct file *file;
	uint8_t place[LABELS]; /* of each label */
};

int history_open(struct history **history, bool write)
{
	struct history *h = calloc(1, sizeof(*h));
	struct stat is = { 0 };
	char path[512];
	void *mem;
	int fd, err = 0;

	*history = NULL;
	if (!h)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/history", opt_state);
	fd = open(path, write ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &is))
		err = -errno;
	/* All of it is there from the beginning: a full disk shows now, not as a signal later. */
	if (!err && write && is.st_size != sizeof(struct file) &&
	    (ftruncate(fd, 0) || posix_fallocate(fd, 0, sizeof(struct file))))
		err = -ENOSPC;
	if (!err && !write && is.st_size != sizeof(struct file))
		err = -EPROTO;
	mem = err ? MAP_FAILED
		  : mmap(NULL, sizeof(struct file), write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (!err && mem == MAP_FAILED)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err) {
		free(h);
		if (err_is(err, ENOENT))
			return because(err, "there is no history: the service keeps it (xdp-bloom run)");
		return because(err, "%s: %s", path, err_is(err, EPROTO) ? "of another version" : errno_text(err));
	}
	h->file = mem;
	*history = h;
	if (h->file->magic == HISTORY_MAGIC && h->file->version == HISTORY_VERSION &&
	    h->file->size == sizeof(struct file))
		return 0;
	if (!write) {
		history_close(h);
		*history = NULL;
		return because(-EPROTO, "%s: of another version", path);
	}
	memset(h->file, 0, sizeof(*h->file));
	h->file->version = HISTORY_VERSION;
	h->file->size = sizeof(struct file);
	h->file->magic = HISTORY_MAGIC;
	return 0;
}

int history_private(struct history **history)
{
	struct history *h = calloc(1, sizeof(*h));

	*history = h;
	if (!h)
		return -ENOMEM;
	h->file = mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->file != MAP_FAILED)
		return 0;
	free(h);
	*history = NULL;
	return -ENOMEM;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	munmap(h->file, sizeof(*h->file));
	free(h);
}

/* Readers take no lock: they look whether somebody wrote meanwhile. */
static void begin(struct history *h)
{
	h->file->sequence |= 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end(struct history *h)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	h->file->sequence++;
}

/* Time may have been set back: then the ring goes on where it is. */
static struct history_sums *bucket_at(struct history *h, unsigned int window, uint64_t now)
{
	uint64_t number = now / windows[window].period;
	struct history_sums *b = &h->file->bucket[window][number % windows[window].buckets];
	uint64_t from = number * windows[window].period;

	if (b->from != from) {
		memset(b, 0, sizeof(*b));
		b->from = from;
	}
	return b;
}

/* What a place holds, in all windows together: to tell which is missed least. */
static uint64_t weight(const struct file *f, unsigned int place)
{
	uint64_t packets = 0;

	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++)
		for (unsigned int i = 0; i < windows[w].buckets; i++)
			packets += f->bucket[w][i].list[place].packets;
	return packets;
}

unsigned int history_place(const struct history_list places[LABELS], const struct list_info *list)
{
	unsigned int place = 1;

	while (place < LABELS &&
	       (places[place].kind != list->kind || strncmp(places[place].name, list->name, sizeof(list->name)) != 0))
		place++;
	return place < LABELS ? place : 0;
}

/* One that nobody has, or the lightest of those whose list is gone. */
static unsigned int take_place(struct file *f, const struct list_info *list, const bool taken[LABELS])
{
	unsigned int place = 0;
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 1; i < LABELS && least; i++) {
		uint64_t is = f->list[i].name[0] ? 1 + weight(f, i) : 0;

		if (!taken[i] && is < least) {
			least = is;
			place = i;
		}
	}
	if (!place)
		return 0;
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++)
		for (unsigned int i = 0; i < windows[w].buckets; i++)
			f->bucket[w][i].list[place] = (struct tally){ 0 };
	f->list[place].kind = list->kind;
	memcpy(f->list[place].name, list->name, sizeof(list->name));
	return place;
}

void history_lists(struct history *h, const struct list_info *lists, size_t n, bool live_exact)
{
	bool taken[LABELS] = { false };

	begin(h);
	memset(h->place, 0, sizeof(h->place));
	memset(&h->file->list[LABEL_LIVE], 0, sizeof(h->file->list[LABEL_LIVE]));
	if (live_exact)
		strcpy(h->file->list[LABEL_LIVE].name, LIVE_LIST);
	for (size_t i = 0; i < n; i++)
		taken[history_place(h->file->list, &lists[i])] = true;
	for (size_t i = 0; i < n; i++) {
		unsigned int place = lists[i].kind == LIST_ALLOW ? 0 : history_place(h->file->list, &lists[i]);

		if (!place && lists[i].kind != LIST_ALLOW)
			place = take_place(h->file, &lists[i], taken);
		taken[place] = true;
		if (lists[i].kind != LIST_ALLOW)
			h->place[lists[i].label] = (uint8_t)place;
	}
	end(h);
}

static void count_attack(struct file *f, uint64_t now, double rate, const struct tally *dropped)
{
	struct history_attack *last = &f->attack[(f->attacks + HISTORY_ATTACKS - 1) % HISTORY_ATTACKS];
	bool goes_on = f->attacks && now >= last->end && now - last->end <= ATTACK_BREAK;

	if (rate < ATTACK_RATE)
		return;
	if (!goes_on) {
		last = &f->attack[f->attacks++ % HISTORY_ATTACKS];
		*last = (struct history_attack){ .begin = now };
	}
	last->end = now;
	tally_add(&last->dropped, dropped);
	if (rate > last->peak)
		last->peak = rate;
}

static void count_point(struct history_point *point, uint64_t at, const struct counted *n)
{
	if (point->at != at)
		*point = (struct history_point){ .at = at };
	point->passed += n->verdict[PASSED].packets;
	point->dropped += n->verdict[DROPPED].packets;
	point->dropped_bytes += n->verdict[DROPPED].bytes;
}

void history_count(struct history *h, uint64_t now, double seconds, const struct counted *n)
{
	double rate = seconds > 0 ? (double)n->verdict[DROPPED].packets / seconds : 0;
	struct file *f = h->file;

	begin(h);
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++) {
		struct history_sums *b = bucket_at(h, w, now);

		for (unsigned int v = 0; v < VERDICTS; v++)
			tally_add(&b->verdict[v], &n->verdict[v]);
		for (unsigned int l = 0; l < LABELS; l++)
			tally_add(&b->list[h->place[l]], &n->list[l]);
		if (rate > b->peak) {
			b->peak = rate;
			b->peak_at = now;
		}
		b->until = now;
	}
	count_point(&f->second[now % HISTORY_SECONDS], now, n);
	count_point(&f->minute[now / 60 % HISTORY_MINUTES], now / 60 * 60, n);
	count_attack(f, now, rate, &n->verdict[DROPPED]);
	end(h);
}

/* Space-saving: who is new takes the place of the rarest, and inherits its count as an error. */
static void count_top(struct top_entry table[TOP_ENTRIES], const struct top_entry *who)
{
	unsigned int rarest = 0;

	for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
		if (table[i].family == who->family && table[i].hi == who->hi && table[i].lo == who->lo) {
			table[i].count++;
			return;
		}
		if (table[i].count < table[rarest].count)
			rarest = i;
	}
	table[rarest] = (struct top_entry){ .hi = who->hi,
					    .lo = who->lo,
					    .family = who->family,
					    .count = table[rarest].count + 1,
					    .error = table[rarest].count };
}

void history_sample(struct history *h, uint64_t now, const struct packet *p)
{
	uint32_t family = p->source.family == 4 ? 4 : 6;
	ip6 net = p->source.num & ~addr_mask((int)family, family == 4 ? 24 : 48);
	struct top_entry source = { .hi = (uint64_t)(p->source.num >> 64),
				    .lo = (uint64_t)p->source.num,
				    .family = family };
	struct top_entry network = { .hi = (uint64_t)(net >> 64), .lo = (uint64_t)net, .family = family };
	/* A family that no address has; the port is one more, so that none is 0. */
	struct top_entry port = { (uint64_t)p->protocol, (uint64_t)(p->destination_port + 1), 1, 0, 0, 0 };

	if (!p->source.family)
		return;
	begin(h);
	for (unsigned int w = 0; w < HISTORY_WINDOWS; w++) {
		struct history_sums *b = bucket_at(h, w, now);

		b->samples++;
		count_top(b->top[TOP_SOURCES], &source);
		count_top(b->top[TOP_NETWORKS], &network);
		count_top(b->top[TOP_PORTS], &port);
	}
	end(h);
}

static int by_key(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return x->lo == y->lo ? 0 : x->lo < y->lo ? -1 : 1;
}

static int by_count(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	return x->count == y->count ? by_key(a, b) : x->count > y->count ? -1 : 1;
}

/* The buckets' tables into one: equal keys add up, the most frequent stay. */
static void merge_top(struct top_entry out[TOP_ENTRIES], const struct history_sums *const *in, unsigned int n,
		      enum top top)
{
	static struct top_entry all[BUCKETS_MAX * TOP_ENTRIES];
	unsigned int count = 0, merged = 0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int e = 0; e < TOP_ENTRIES; e++)
			if (in[i]->top[top][e].family)
				all[count++] = in[i]->top[top][e];
	qsort(all, count, sizeof(*all), by_key);
	for (unsigned int i = 0; i < count; i++) {
		if (merged && !by_key(&all[merged - 1], &all[i])) {
			all[merged - 1].count += all[i].count;
			all[merged - 1].error += all[i].error;
		} else {
			all[merged++] = all[i];
		}
	}
	qsort(all, merged, sizeof(*all), by_count);
	memset(out, 0, TOP_ENTRIES * sizeof(*out));
	memcpy(out, all, (merged < TOP_ENTRIES ? merged : TOP_ENTRIES) * sizeof(*out));
}

static void sum_up(struct history_sums *sums, const struct file *f, uint64_t now, enum history_window window)
{
	uint64_t span = windows[window].period * (windows[window].buckets - 1);
	const struct history_sums *in[BUCKETS_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < windows[window].buckets; i++) {
		const struct history_sums *b = &f->bucket[window][i];

		if (b->from && b->from + windows[window].period + span > now && b->from <= now)
			in[n++] = b;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (!sums->from || in[i]->from < sums->from)
			sums->from = in[i]->from;
		if (in[i]->until > sums->until)
			sums->until = in[i]->until;
		for (unsigned int v = 0; v < VERDICTS; v++)
			tally_add(&sums->verdict[v], &in[i]->verdict[v]);
		for (unsigned int l = 0; l < LABELS; l++)
			tally_add(&sums->list[l], &in[i]->list[l]);
		sums->samples += in[i]->samples;
		if (in[i]->peak > sums->peak) {
			sums->peak = in[i]->peak;
			sums->peak_at = in[i]->peak_at;
		}
	}
	for (enum top t = 0; t < TOPS; t++)
		merge_top(sums->top[t], in, n, t);
}

/* Every second or minute of the window, also those in which nobody counted. */
static void copy_points(struct history_report *r, const struct file *f, uint64_t now, enum history_window window)
{
	static const unsigned int counts[] = { 60, 60, 1440 };

	r->points_n = counts[window];
	r->point_seconds = window == HISTORY_MINUTE ? 1 : 60;
	for (unsigned int i = 0; i < r->points_n; i++) {
		uint64_t at = (now / r->point_seconds - (r->points_n - 1 - i)) * r->point_seconds;
		const struct history_point *p = r->point_seconds == 1 ? &f->second[at % HISTORY_SECONDS]
								      : &f->minute[at / 60 % HISTORY_MINUTES];

		r->points[i] = p->at == at ? *p : (struct history_point){ .at = at };
	}
}

static void read_once(const struct file *f, uint64_t now, enum history_window window, struct history_report *r)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->lists, f->list, sizeof(r->lists));
	for (unsigned int i = 0; i < LABELS; i++)
		r->lists[i].name[LIST_NAME_MAX - 1] = '\0';
	sum_up(&r->sums, f, now, window);
	copy_points(r, f, now, window);
	for (uint64_t i = f->attacks; i-- > 0 && f->attacks - i <= HISTORY_ATTACKS;)
		r->attacks[r->attacks_n++] = f->attack[i % HISTORY_ATTACKS];
}

int history_read(const struct history *h, uint64_t now, enum history_window window, struct history_report *report)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		uint64_t before = __atomic_load_n(&h->file->sequence, __ATOMIC_ACQUIRE);

		read_once(h->file, now, window, report);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		/* A writer that was killed in between leaves it odd: what it left is still the best there is. */
		if (before == __atomic_load_n(&h->file->sequence, __ATOMIC_ACQUIRE) && (!(before & 1) || attempt > 100))
			return 0;
	}
	return because(-EAGAIN, "the history changes faster than it can be read");
}
