// SPDX-License-Identifier: GPL-2.0-only
/* A table of networks, read once and put in order for networks.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/new_file.h"
#include "base/out.h"
#include "base/path_walk.h"
#include "base/source_file.h"
#include "base/state_path.h"
#include "sets/networks_file.h"
#include "sets/ranges.h"
#include "sets/reader.h"

struct row {
	ip6 lo, hi;
	uint32_t is, family, number; /* is: which name, from 1 on; 0: it says nothing */
};

struct segments {
	ip6 *start;
	uint32_t *is;
	size_t n;
};

struct maker {
	struct row *rows;
	size_t n;
	struct networks_name *names;
	size_t names_n;
	char *text;
	size_t text_n, text_room;
	uint32_t *buckets; /* of a hash table of names; a power of two, at most half full */
	size_t buckets_n;
	uint64_t most; /* bytes of all that */
	/* While one family is put in order: rows by their width, the narrowest first. */
	uint32_t *heap;
	size_t heap_n;
};

/* --- Names, each once --- */

/* Of all its bytes up to the end of its name. */
static uint32_t hash_of(const struct network *n)
{
	const unsigned char *p = (const unsigned char *)n, *end = p + offsetof(struct network, name) + strlen(n->name);
	uint32_t h = 2166136261u;

	while (p < end)
		h = (h ^ *p++) * 16777619;
	return h ^ h >> 15;
}

static bool is_name(const struct maker *m, uint32_t is, const struct network *n)
{
	const struct networks_name *name = &m->names[is - 1];

	return name->asn == n->asn && !memcmp(name->country, n->country, sizeof(name->country)) &&
	       !strcmp(m->text + name->text, n->name);
}

static int more_buckets(struct maker *m)
{
	size_t n = m->buckets_n ? 2 * m->buckets_n : 1024;
	uint32_t *buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (uint32_t is = 1; is <= m->names_n; is++) {
		const struct networks_name *name = &m->names[is - 1];
		struct network network = { .asn = name->asn };
		size_t at;

		memcpy(network.country, name->country, sizeof(network.country));
		snprintf(network.name, sizeof(network.name), "%s", m->text + name->text);
		at = hash_of(&network) & (n - 1);
		while (buckets[at])
			at = (at + 1) & (n - 1);
		buckets[at] = is;
	}
	free(m->buckets);
	m->buckets = buckets;
	m->buckets_n = n;
	return 0;
}

static int put_text(struct maker *m, const char *text, uint32_t *at)
{
	size_t bytes = strlen(text) + 1;

	if (bytes == 1 && m->text_n) {
		*at = 0;
		return 0;
	}
	if (m->text_n + bytes > m->text_room) {
		size_t room = 2 * m->text_room + 65536;
		char *grown = room < UINT32_MAX ? realloc(m->text, room) : NULL;

		if (!grown)
			return -ENOMEM;
		m->text = grown;
		m->text_room = room;
	}
	*at = (uint32_t)m->text_n;
	memcpy(m->text + m->text_n, text, bytes);
	m->text_n += bytes;
	return 0;
}

static int put_name(struct maker *m, const struct network *network, uint32_t *is)
{
	struct networks_name name = { .asn = network->asn };
	size_t at;
	int err = 2 * (m->names_n + 1) > m->buckets_n ? more_buckets(m) : 0;

	if (err)
		return err;
	at = hash_of(network) & (m->buckets_n - 1);
	while (m->buckets[at] && !is_name(m, m->buckets[at], network))
		at = (at + 1) & (m->buckets_n - 1);
	if (!m->buckets[at]) {
		memcpy(name.country, network->country, sizeof(name.country));
		err = GROW(m->names, m->names_n) ? put_text(m, network->name, &name.text) : -ENOMEM;
		if (err)
			return err;
		m->names[m->names_n++] = name;
		m->buckets[at] = (uint32_t)m->names_n;
	}
	*is = m->buckets[at];
	return 0;
}

/* A row that says nothing makes a hole in a wider one, as tables name what is not routed. */
static int on_row(void *arg, int family, ip6 lo, ip6 hi, const struct network *network)
{
	struct maker *m = arg;
	struct row row = { lo, hi, 0, (uint32_t)family, (uint32_t)m->n };
	char text[BYTES_TEXT_MAX];
	int err = 0;

	if (m->n * sizeof(row) + m->names_n * sizeof(*m->names) + m->text_n >= m->most)
		return because(-EFBIG, "the table takes more than %s of memory, half of what is free",
			       bytes_text(text, m->most));
	if (m->n >= UINT32_MAX / 2 || !GROW(m->rows, m->n))
		return -ENOMEM;
	if (network->asn || network->country[0] || network->name[0])
		err = put_name(m, network, &row.is);
	if (!err)
		m->rows[m->n++] = row;
	return err;
}

/* --- Ranges that lie in each other, as segments that do not --- */

static int by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Which of two rows has the addresses of both? */
static bool is_before(const struct maker *m, uint32_t a, uint32_t b)
{
	ip6 wide_a = m->rows[a].hi - m->rows[a].lo, wide_b = m->rows[b].hi - m->rows[b].lo;

	return wide_a == wide_b ? m->rows[a].number > m->rows[b].number : wide_a < wide_b;
}

static void heap_add(struct maker *m, uint32_t row)
{
	size_t at = m->heap_n++;

	while (at && is_before(m, row, m->heap[(at - 1) / 2])) {
		m->heap[at] = m->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	m->heap[at] = row;
}

static void heap_take(struct maker *m)
{
	uint32_t last = m->heap[--m->heap_n];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < m->heap_n) {
		if (below + 1 < m->heap_n && is_before(m, m->heap[below + 1], m->heap[below]))
			below++;
		if (!is_before(m, m->heap[below], last))
			break;
		m->heap[at] = m->heap[below];
		at = below;
	}
	m->heap[at] = last;
}

static void put_segment(struct segments *s, ip6 start, uint32_t is)
{
	uint32_t before = s->n ? s->is[s->n - 1] : 0;

	if (is == before)
		return;
	s->start[s->n] = start;
	s->is[s->n++] = is;
}

/* Of the rows [first, end), which are sorted. Each begins a segment, and may leave one behind it. */
static int put_in_order(struct maker *m, size_t first, size_t end, struct segments *s)
{
	size_t next = first, room = 2 * (end - first) + 1;
	ip6 at = 0;

	s->start = malloc(room * sizeof(*s->start));
	s->is = malloc(room * sizeof(*s->is));
	m->heap = malloc((end - first + 1) * sizeof(*m->heap));
	m->heap_n = 0;
	if (!s->start || !s->is || !m->heap)
		return -ENOMEM;
	while (next < end || m->heap_n) {
		const struct row *top;

		if (!m->heap_n)
			at = m->rows[next].lo;
		while (next < end && m->rows[next].lo == at)
			heap_add(m, (uint32_t)next++);
		while (m->heap_n && m->rows[m->heap[0]].hi < at)
			heap_take(m);
		top = m->heap_n ? &m->rows[m->heap[0]] : NULL;
		put_segment(s, at, top ? top->is : 0);
		if (!top)
			continue;
		if (next < end && m->rows[next].lo <= top->hi)
			at = m->rows[next].lo;
		else if (top->hi == ~(ip6)0)
			break;
		else
			at = top->hi + 1;
	}
	return 0;
}

/* --- The file --- */

static int put(int fd, struct sha256 *sha, const void *data, size_t bytes)
{
	const char *at = data;

	sha256_add(sha, data, bytes);
	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* As they are kept: an IPv4 address takes 32 bits. */
static void narrow(struct segments *s)
{
	uint32_t *narrow = (uint32_t *)(void *)s->start;

	for (size_t i = 0; i < s->n; i++) {
		ip6 start = s->start[i];

		memcpy(&narrow[i], &(uint32_t){ (uint32_t)start }, sizeof(*narrow));
	}
}

static int write_all(const struct new_file *file, const struct maker *m, const struct segments *s6,
		     const struct segments *s4, struct networks_head *head)
{
	const size_t from = offsetof(struct networks_head, n6);
	struct sha256 sha;
	int fd = file->fd, err = lseek(fd, (off_t)from, SEEK_SET) < 0 ? -errno : 0;

	sha256_begin(&sha);
	err = err ?: put(fd, &sha, (const char *)head + from, sizeof(*head) - from);
	err = err ?: put(fd, &sha, s6->start, s6->n * sizeof(*s6->start));
	err = err ?: put(fd, &sha, s4->start, s4->n * sizeof(uint32_t));
	err = err ?: put(fd, &sha, s6->is, s6->n * sizeof(*s6->is));
	err = err ?: put(fd, &sha, s4->is, s4->n * sizeof(*s4->is));
	err = err ?: put(fd, &sha, m->names, m->names_n * sizeof(*m->names));
	err = err ?: put(fd, &sha, m->text, m->text_n);
	sha256_end(&sha, head->sum);
	if (!err && pwrite(fd, head, from, 0) != (ssize_t)from)
		err = errno ? -errno : -EIO;
	return err ? because(err, "%s: %s", file->path, errno_text(err)) : 0;
}

static int write_file(struct maker *m, const char *path, const struct networks_source *source)
{
	struct networks_head head = { .magic = NETWORKS_MAGIC, .source = *source };
	struct segments s4 = { 0 }, s6 = { 0 };
	struct new_file file;
	size_t fours = 0;
	int err;

	qsort(m->rows, m->n, sizeof(*m->rows), by_start);
	while (fours < m->n && m->rows[fours].family == 4)
		fours++;
	err = put_in_order(m, 0, fours, &s4);
	free(m->heap);
	m->heap = NULL;
	err = err ?: put_in_order(m, fours, m->n, &s6);
	if (!err) {
		/* Behind the last address of IPv4 nothing begins. */
		while (s4.n && s4.start[s4.n - 1] > UINT32_MAX)
			s4.n--;
		narrow(&s4);
		head.n4 = s4.n;
		head.n6 = s6.n;
		head.names = m->names_n;
		head.text = m->text_n;
		err = new_file_begin(&file, path);
		if (!err)
			err = new_file_end(&file, 0600, write_all(&file, m, &s6, &s4, &head));
	}
	free(s4.start);
	free(s4.is);
	free(s6.start);
	free(s6.is);
	return err;
}

/* Whoever may write to it has nobody wait, by a pipe in its place or a lease. */
static int open_table(const char *table)
{
	int fd = way_open(table, WAY_FILE, false);

	return fd < 0 ? because(fd, "%s: %s", table, reason(fd)) : fd;
}

int networks_make(const char *state, const char *table, struct networks_source *source)
{
	return networks_make_when(state, table, source, NULL, NULL);
}

int networks_make_when(const char *state, const char *table, struct networks_source *source, int (*ready)(void *arg),
		       void *arg)
{
	struct maker m = { .most = memory_half(UINT64_MAX) };
	struct reader_options options = { .named = on_row, .arg = &m, .skip_bad = true, .progress = true };
	struct reader_report report = { 0 };
	struct ranges none = RANGES_EMPTY;
	char path[STATE_PATH_MAX], opened[64], error[READER_TEXT_MAX];
	uint32_t empty;
	int err = source_locate(source->path, table), fd = -1;

	/* Its stamp first: what is written to it meanwhile is another version. */
	err = err ?: source_look(source->stamp, source->path);
	err = err ?: put_text(&m, "", &empty);
	if (!err) {
		fd = open_table(table);
		err = fd < 0 ? fd : 0;
	}
	if (!err) {
		options.name = table;
		options.hidden = source_is_hidden(fd, source->path);
		snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
		err = reader_read(opened, &options, &none, &report, error);
		if (err && error[0])
			err = because(err, "%s", error);
	}
	close_fd(fd);
	ranges_free(&none);
	if (!err && !m.n)
		err = because(-EINVAL, "%s: it holds no network", table);
	if (!err && ready)
		err = ready(arg);
	if (!err) {
		source->rows = m.n;
		source->bad = report.bad;
		if (state)
			err = write_file(&m, state_path(path, state, STATE_NETWORKS), source);
	}
	if (!err && report.bad > 1)
		warn("%s; that line and %llu more are left out", report.bad_text[0],
		     (unsigned long long)report.bad - 1);
	else if (!err && report.bad)
		warn("%s; that line is left out", report.bad_text[0]);
	free(m.rows);
	free(m.names);
	free(m.text);
	free(m.buckets);
	free(m.heap);
	return err;
}

int networks_forget(const char *state)
{
	char path[STATE_PATH_MAX];

	if (!unlink(state_path(path, state, STATE_NETWORKS)) || errno == ENOENT)
		return 0;
	return because(-errno, "%s: %s", path, strerror(errno));
}
