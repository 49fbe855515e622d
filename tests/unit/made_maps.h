/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps that are memory, and descriptors that are numbers: what a file of user/kernel that is included does to them is a
 * line each. Calls can be made to fail, one at a time.
 */
#ifndef MADE_MAPS_H
#define MADE_MAPS_H

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/context.h"
#include "base/log.h"
#include "kernel/pins.h"
#include "ktap.h"
#include "shown.h"

#define MADE_PAGE    4096
#define MADE_ENTRIES 40
#define MADE_FD	     1000
#define MADE_CPUS    3

struct made_map {
	char name[24];
	__u32 type, key_size, value_size, max_entries, flags;
	bool old;	      /* it was there before */
	bool program;	      /* it is none */
	unsigned char *value; /* of an array; in whole pages */
	unsigned char key[MADE_ENTRIES][24];
	__u64 of[MADE_ENTRIES];
	size_t n;
};

static struct made_map made_maps[64];
static size_t made_n, made_mapped;
static struct made_map *made_open[256];

static unsigned int calls, fail_at;
static int fail_errno;
static bool quiet;

static const char *call_failed;

/* What that file keeps for as long as a process runs, and -1 is nothing of: it begins anew with each scenario. */
static int *made_kept[8];

__attribute__((unused)) static void made_keeps(int *kept)
{
	size_t i = 0;

	while (made_kept[i] && made_kept[i] != kept)
		i++;
	made_kept[i] = kept;
}

/* A line of what happens. */
__attribute__((format(printf, 1, 2))) static void does(const char *fmt, ...)
{
	va_list args;

	if (fail_at || quiet)
		return;
	putchar(' ');
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static bool fails(const char *name)
{
	if (++calls != fail_at)
		return false;
	call_failed = name;
	errno = fail_errno;
	return true;
}

/* What is larger has no memory, and nobody looks. */
#define MADE_MOST (1u << 26)

static size_t made_bytes(const struct made_map *map)
{
	return (size_t)map->value_size * map->max_entries * (map->type == BPF_MAP_TYPE_PERCPU_ARRAY ? MADE_CPUS : 1);
}

static struct made_map *made_new(const char *name, __u32 type, __u32 key_size, __u32 value_size, __u32 max_entries)
{
	struct made_map *new = &made_maps[made_n++];

	if (made_n > sizeof(made_maps) / sizeof(made_maps[0]))
		abort();
	*new = (struct made_map){
		.type = type, .key_size = key_size, .value_size = value_size, .max_entries = max_entries
	};
	snprintf(new->name, sizeof(new->name), "%s", name);
	if (type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY)
		new->value = calloc(made_bytes(new) > MADE_MOST ? 1 : made_bytes(new) / MADE_PAGE + 1, MADE_PAGE);
	return new;
}

static int made_fd(struct made_map *map)
{
	for (size_t i = 0; i < sizeof(made_open) / sizeof(made_open[0]); i++)
		if (!made_open[i]) {
			made_open[i] = map;
			return MADE_FD + (int)i;
		}
	abort();
}

static struct made_map *made_of(int fd)
{
	if (fd >= MADE_FD && fd < MADE_FD + 256 && made_open[fd - MADE_FD])
		return made_open[fd - MADE_FD];
	printf(" %d is no descriptor\n", fd);
	return &made_maps[63];
}

static const char *made_text(int fd)
{
	static char text[32][40];
	static unsigned int next;
	char *to = text[next++ % 32];

	if (fd < 0)
		return "-";
	snprintf(to, sizeof(text[0]), "%s%s", made_of(fd)->old ? "old " : "", made_of(fd)->name);
	return to;
}

/* What is still open, and mapped. */
__attribute__((unused)) static void made_left(void)
{
	for (size_t i = 0; i < sizeof(made_open) / sizeof(made_open[0]); i++)
		if (made_open[i])
			printf(" left open: %s%s\n", made_open[i]->old ? "old " : "", made_open[i]->name);
	if (made_mapped)
		printf(" left mapped: %zu\n", made_mapped);
}

/* How a unit writes keys and values of its own kinds. */
static void put_key(const struct made_map *map, const void *key);
static void put_value(const struct made_map *map, const void *value);

static void does_to(const char *what, const struct made_map *map, const void *key, const void *value)
{
	if (fail_at || quiet)
		return;
	printf(" %s %s%s: ", what, map->old ? "old " : "", map->name);
	put_key(map, key);
	if (value) {
		fputs(" is ", stdout);
		put_value(map, value);
	}
	putchar('\n');
}

__attribute__((unused)) static int given_close(int fd)
{
	int was = errno;

	made_of(fd);
	if (fd >= MADE_FD && fd < MADE_FD + 256)
		made_open[fd - MADE_FD] = NULL;
	errno = was;
	return 0;
}

__attribute__((unused)) static int given_dup(int fd)
{
	if (fails("dup"))
		return -1;
	does("once more: %s", made_text(fd));
	return made_fd(made_of(fd));
}

__attribute__((unused)) static int given_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
						    __u32 value_size, __u32 max_entries,
						    const struct bpf_map_create_opts *opts)
{
	if (fails("bpf_map_create"))
		return -errno;
	does("make %s: %s of %u, %u -> %u%s%s", name, libbpf_bpf_map_type_str(type), max_entries, key_size, value_size,
	     opts && opts->map_flags & BPF_F_MMAPABLE ? ", mappable" : "",
	     opts && opts->map_flags & BPF_F_NO_PREALLOC ? ", as it grows" : "");
	return made_fd(made_new(name, type, key_size, value_size, max_entries));
}

static size_t made_find(const struct made_map *map, const void *key)
{
	size_t at = 0;

	while (at < map->n && memcmp(map->key[at], key, map->key_size) != 0)
		at++;
	return at;
}

/* Of a trie the longest prefix that holds it. */
__attribute__((noinline)) static size_t made_longest(const struct made_map *map, const void *key)
{
	const struct end_key *is = key;
	size_t found = map->n;
	__u32 most = 0;

	for (size_t i = 0; i < map->n; i++) {
		const struct end_key *at = (const void *)map->key[i];
		bool holds = at->bits <= is->bits && at->bits >= most;

		for (__u32 bit = 0; bit < at->bits && holds; bit++)
			holds = !((map->key[i][4 + bit / 8] ^ ((const unsigned char *)key)[4 + bit / 8]) >>
					  (7 - bit % 8) &
				  1);
		if (!holds)
			continue;
		found = i;
		most = at->bits;
	}
	return found;
}

__attribute__((unused)) static int given_lookup(int fd, const void *key, void *value)
{
	const struct made_map *map = made_of(fd);
	size_t at, each = map->type == BPF_MAP_TYPE_PERCPU_ARRAY ? (map->value_size + 7) / 8 * 8 * MADE_CPUS
								 : map->value_size;

	if (fails("bpf_map_lookup_elem"))
		return -errno;
	if (map->value) {
		memcpy(value, map->value + *(const __u32 *)key * each, each);
		return 0;
	}
	at = map->type == BPF_MAP_TYPE_LPM_TRIE ? made_longest(map, key) : made_find(map, key);
	if (at == map->n) {
		errno = ENOENT;
		return -ENOENT;
	}
	memcpy(value, &map->of[at], map->value_size);
	return 0;
}

static void made_put(struct made_map *map, const void *key, const void *value)
{
	size_t at, each = map->type == BPF_MAP_TYPE_PERCPU_ARRAY ? (map->value_size + 7) / 8 * 8 * MADE_CPUS
								 : map->value_size;

	if (map->value) {
		memcpy(map->value + *(const __u32 *)key * each, value, each);
		return;
	}
	at = made_find(map, key);
	if (at == MADE_ENTRIES)
		abort();
	map->n += at == map->n;
	memcpy(map->key[at], key, map->key_size);
	memcpy(&map->of[at], value, map->value_size);
}

__attribute__((unused)) static int given_update(int fd, const void *key, const void *value, __u64 flags)
{
	struct made_map *map = made_of(fd);

	if (fails("bpf_map_update_elem"))
		return -errno;
	does_to(flags == BPF_ANY ? "put" : flags == BPF_EXIST ? "put again" : "put anew", map, key, value);
	made_put(map, key, value);
	return 0;
}

__attribute__((unused)) static int given_delete(int fd, const void *key)
{
	struct made_map *map = made_of(fd);
	size_t at = made_find(map, key);

	if (fails("bpf_map_delete_elem"))
		return -errno;
	does_to("take out of", map, key, NULL);
	if (at == map->n) {
		errno = ENOENT;
		return -ENOENT;
	}
	map->n--;
	memmove(&map->key[at], &map->key[at + 1], (map->n - at) * sizeof(map->key[0]));
	memmove(&map->of[at], &map->of[at + 1], (map->n - at) * sizeof(map->of[0]));
	return 0;
}

/* As of a hash: behind one that has gone it begins again. */
__attribute__((unused)) static int given_next_key(int fd, const void *key, void *next)
{
	const struct made_map *map = made_of(fd);
	size_t at = key ? made_find(map, key) + 1 : 0;

	if (fails("bpf_map_get_next_key"))
		return -errno;
	if (at == map->n + 1)
		at = 0;
	if (at >= map->n) {
		errno = ENOENT;
		return -ENOENT;
	}
	memcpy(next, map->key[at], map->key_size);
	return 0;
}

__attribute__((unused)) static void *given_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct made_map *map = made_of(fd);
	size_t most = ((size_t)map->value_size * map->max_entries + MADE_PAGE - 1) / MADE_PAGE * MADE_PAGE;

	if (fails("mmap"))
		return MAP_FAILED;
	if (at || flags != MAP_SHARED || offset || size > most)
		printf(" not as mmap() is called: %zu bytes of %zu\n", size, most);
	does("map %s: %zu pages%s%s", made_text(fd), size / MADE_PAGE, protection & PROT_READ ? ", to read" : "",
	     protection & PROT_WRITE ? ", to write" : "");
	made_mapped += size;
	return map->value;
}

__attribute__((unused)) static int given_munmap(void *at, size_t size)
{
	(void)at;
	made_mapped -= size;
	return 0;
}

__attribute__((unused)) static long given_sysconf(int which)
{
	return which == _SC_PAGESIZE ? MADE_PAGE : -1;
}

__attribute__((unused)) static int given_info(int fd, struct pinned *is)
{
	const struct made_map *map = made_of(fd);

	if (fails("pinned_info"))
		return -errno;
	*is = (struct pinned){ .kind = map->program ? PINNED_PROGRAM : PINNED_MAP,
			       .type = map->type,
			       .key_size = map->key_size,
			       .value_size = map->value_size,
			       .max_entries = map->max_entries };
	snprintf(is->name, sizeof(is->name), "%.15s", map->name);
	return 0;
}

__attribute__((unused)) static void *given_calloc(size_t n, size_t size)
{
	return fails("calloc") ? NULL : calloc(n, size);
}

__attribute__((unused)) static void *given_malloc(size_t size)
{
	return fails("malloc") ? NULL : malloc(size);
}

__attribute__((format(printf, 1, 2), unused)) static void given_warn(const char *fmt, ...)
{
	va_list args;

	fputs(" warns: ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

/* --- Scenarios --- */

struct scenario {
	const char *name;
	void (*before)(void);
	int (*what)(void);
	enum { ONCE, EACH_FAILS, BY_EACH_ERRNO } how;
};

static void made_replace(char *text, const char *word, const char *by)
{
	size_t from = strlen(word), to = strlen(by);

	for (char *at = text; (at = strstr(at, word)); at += to) {
		memmove(at + to, at + from, strlen(at + from) + 1);
		memcpy(at, by, to);
	}
}

/* Nothing is there yet. A unit sets what is its own. */
static void begin(void);

static void made_begin(void)
{
	for (size_t i = 0; i < made_n; i++)
		free(made_maps[i].value);
	for (size_t i = 0; made_kept[i]; i++)
		*made_kept[i] = -1;
	memset(made_maps, 0, sizeof(made_maps));
	memset(made_open, 0, sizeof(made_open));
	made_n = made_mapped = 0;
	fail_at = 0;
}

static char *made_run(const struct scenario *s, unsigned int at, int with)
{
	int to = memfd_create("said", MFD_CLOEXEC), out, err;
	char *text = calloc(1 << 16, 1);
	ssize_t n;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	dup2(to, STDOUT_FILENO);
	made_begin();
	begin();
	quiet = true;
	if (s->before)
		s->before();
	quiet = false;
	calls = 0;
	fail_at = at;
	fail_errno = with;
	err = s->what();
	if (err < 0)
		printf("%s\n", reason(err));
	else
		printf("%d\n", err);
	fail_at = 0;
	made_left();
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	n = pread(to, text, (1 << 16) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(to);
	if (at)
		made_replace(text, errno_text(-with), "<errno>");
	return text;
}

/* As it is, and with each call failing once; by a further errno only what ends in another way than by the first. */
static void made_play(const struct scenario *s, const int *errnos, size_t n_errnos)
{
	char *text = made_run(s, 0, 0), *known[512] = { 0 };
	unsigned int most = s->how == ONCE ? 0 : calls < 511 ? calls : 511;

	fputs(text, stdout);
	free(text);
	for (size_t e = 0; e < (s->how == BY_EACH_ERRNO ? n_errnos : 1); e++) {
		const char *last = "";
		char *before = NULL;

		for (unsigned int at = 1; at <= most; at++) {
			char *now = made_run(s, at, errnos[e]);
			if (e && !strcmp(now, known[at])) {
				free(now);
				continue;
			}
			/* The same of the same call, once. */
			if (!before || strcmp(before, now) != 0 || strcmp(last, call_failed) != 0)
				printf("%s fails%s%s%s:%s%s", call_failed, e ? " (" : "",
				       e ? errno_text(-errnos[e]) : "", e ? ")" : "", *now == ' ' ? "\n" : " ", now);
			last = call_failed;
			if (!e)
				known[at] = before = now;
			else {
				free(before);
				before = now;
			}
		}
		if (e)
			free(before);
	}
	for (unsigned int at = 0; at <= most; at++)
		free(known[at]);
}

__attribute__((unused)) static void made_play_all(const struct scenario *all, size_t n, struct shows *shows,
						  const int *errnos, size_t n_errnos)
{
	for (size_t i = 0; i < n; i++) {
		shows_begin(shows);
		made_play(&all[i], errnos, n_errnos);
		if (!shows_as(shows, all[i].name))
			break;
	}
	made_begin();
}

#endif
