/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One filter in the model of a kernel, and what happens to it: as it is, and with each call failing once. What is said
 * and what is another then is printed, and compared word for word.
 */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include "model_kernel.h"
#include "shown.h"

static struct thing *map_new(const char *name, __u32 type, __u32 key, __u32 value, __u32 entries)
{
	struct thing *map = thing_new(PINNED_MAP, name);

	map->type = type;
	map->key_size = key;
	map->value_size = value;
	map->max_entries = entries;
	pin(map, name);
	return map;
}

static void program_uses(struct thing *program, const struct thing *map)
{
	program->maps[program->n_maps++] = map->id;
}

/* A generation's pins; its program uses the counters and one map of its own. */
static struct thing *generation_new(unsigned int number, const struct thing *counters)
{
	struct thing *program = thing_new(PINNED_PROGRAM, "xdp_bloom_gen"), *map, *ask;
	struct generation g = { .version = GENERATION_VERSION, .number = number, .gate4 = 1 };
	char name[64];

	snprintf(name, sizeof(name), "pins/generation/%u", number);
	__real_mkdir(name, 0700);
	snprintf(name, sizeof(name), "generation/%u/gate4", number);
	map = map_new(name, BPF_MAP_TYPE_ARRAY, 4, 8, 1);
	snprintf(map->name, sizeof(map->name), "gate4");
	program_uses(program, counters);
	program_uses(program, map);
	snprintf(name, sizeof(name), "generation/%u/program", number);
	pin(program, name);
	ask = thing_new(PINNED_PROGRAM, "xdp_bloom_ask");
	program_uses(ask, map);
	snprintf(name, sizeof(name), "generation/%u/ask", number);
	pin(ask, name);
	snprintf(name, sizeof(name), "generation/%u/meta", number);
	map = map_new(name, BPF_MAP_TYPE_ARRAY, 4, sizeof(g), 1);
	snprintf(map->name, sizeof(map->name), "meta");
	memcpy(map->value, &g, sizeof(g));
	map->full = true;
	return program;
}

static struct thing *slot_map, *counters_map, *root_program, *program3;

static void put_into_slot(const struct thing *program)
{
	memcpy(slot_map->value, &program->id, sizeof(program->id));
	slot_map->full = true;
	n_uses = program->n_maps;
	memcpy(uses, program->maps, sizeof(uses));
}

static int remove_below(const char *path)
{
	DIR *dir = __real_opendir(path);
	struct dirent *entry;
	int err = 0;

	while (dir && (entry = __real_readdir(dir))) {
		char below[512];

		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err |= unlinkat(AT_FDCWD, below, 0) && remove_below(below);
	}
	if (dir)
		__real_closedir(dir);
	return err || (rmdir(path) && errno != ENOENT);
}

/* Most leave the pins of the base and of generation 3 as they are: those are not made again for the next one. */
static bool touched = true;

static void make_again(void)
{
	if (touched ? remove_below("pins") : remove_below("pins/links") | remove_below("pins/generation/4"))
		abort();
	touched = false;
}

/* Everything that one filter with generation 3 in force has, and interfaces without it. */
static void world_new(void)
{
	struct iface *wg;

	make_again();
	n_things = n_ifaces = calls = fail_at = 0;
	failed = NULL;
	freplace = true;
	__real_mkdir("pins", 0700);
	__real_mkdir("pins/links", 0700);
	__real_mkdir("pins/generation", 0700);
	__real_mkdir("things", 0700);
	slot_map = map_new("slot", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	counters_map = map_new("counters", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), COUNTERS);
	map_new("list_counters", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), LABELS);
	map_new("samples", BPF_MAP_TYPE_RINGBUF, 0, 0, SAMPLES_RING);
	map_new("sample_shares", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sample_share), LABELS);
	map_new("sample_budget", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 4, 1);
	root_program = thing_new(PINNED_PROGRAM, "xdp_bloom_root");
	program_uses(root_program, slot_map);
	pin(root_program, "root");
	program3 = generation_new(3, counters_map);
	put_into_slot(program3);
	iface_new(2, "eth0");
	iface_new(3, "eth1")->native = EOPNOTSUPP;
	iface_new(4, "ppp0")->hardware = ARPHRD_PPP;
	wg = iface_new(14, "wg0");
	wg->hardware = ARPHRD_NONE;
	wg->native = EOPNOTSUPP;
	iface_new(5, "eth2")->foreign = 77;
	iface_new(6, "eth3.7");
}

/* A generation on trial in the slot: it is generation 4, which 3 comes back after. */
__attribute__((unused)) static void generation_on_trial(void)
{
	struct thing *program = generation_new(4, counters_map), *trial, *term;

	trial = thing_new(PINNED_PROGRAM, "xdp_bloom_trial");
	pin(trial, "generation/4/trial");
	term = thing_new(PINNED_MAP, "trial");
	term->value_size = sizeof(struct trial);
	term->full = true;
	memcpy(term->value, &(struct trial){ .until = (__u64)1 << 62, .before = 3 }, sizeof(struct trial));
	pin(term, "generation/4/term");
	put_into_slot(program);
	memcpy(slot_map->value, &trial->id, sizeof(trial->id));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_thing(FILE *to, const struct thing *is)
{
	static const char *const kinds[] = { "", "map", "program", "link" };
	const struct thing *runs = is->kind == PINNED_LINK ? thing_by_id(PINNED_PROGRAM, is->program) : NULL;

	fprintf(to, "%s %u%s%s", kinds[is->kind], is->id, is->name[0] ? " " : "", is->name);
	if (runs)
		fprintf(to, " on %u runs %s %u%s", is->ifindex, runs->name, runs->id,
			is->tc	  ? ", tc"
			: is->skb ? ", skb"
				  : "");
	if (is->kind == PINNED_MAP && is->value_size == sizeof(struct trial))
		fprintf(to, " until %llu", (unsigned long long)((const struct trial *)(const void *)is->value)->until);
}

/* Below pins/, in the order of their names; those of the base and of generation 3 only where they are not themselves.
 */
static void put_pins(FILE *to, const char *directory)
{
	char path[300], text[97], *names[64];
	DIR *dir;
	struct dirent *entry;
	size_t n = 0;

	snprintf(path, sizeof(path), "pins/%s", directory);
	dir = __real_opendir(path);
	while (dir && (entry = __real_readdir(dir)) && n < 64)
		if (*entry->d_name != '.')
			names[n++] = strdup(entry->d_name);
	if (dir)
		__real_closedir(dir);
	qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		FILE *file;

		snprintf(path, sizeof(path), "pins/%s%s%s", directory, *directory ? "/" : "", names[i]);
		if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
			fprintf(to, "  %s/ %o\n", path + 5, st.st_mode & 0700u);
			put_pins(to, path + 5);
		} else if ((file = fopen(path, "r"))) {
			const struct thing *is = fgets(text, sizeof(text), file) ? thing_called(text) : NULL;

			fclose(file);
			fprintf(to, "  %s: ", path + 5);
			is ? put_thing(to, is) : (void)fputs("nothing", to);
			fputc('\n', to);
		}
		free(names[i]);
	}
}

static bool is_pinned(const struct thing *link)
{
	DIR *dir = __real_opendir("pins/links");
	char path[300], text[97], file[96];
	struct dirent *entry;
	bool is = false;

	thing_file(link, file);
	while (dir && !is && (entry = __real_readdir(dir))) {
		int fd;
		ssize_t n;

		snprintf(path, sizeof(path), "pins/links/%s", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		is = !strcmp(text, file);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		__real_closedir(dir);
	return is;
}

static void put_world(FILE *to)
{
	const struct thing *in_slot = thing_by_id(PINNED_PROGRAM, *(const __u32 *)(const void *)slot_map->value);

	put_pins(to, "");
	fprintf(to, "  slot: %s %u\n", slot_map->full && in_slot ? in_slot->name : "empty", in_slot ? in_slot->id : 0);
	for (unsigned int i = 0; i < n_ifaces; i++) {
		const struct thing *link = link_on(ifaces[i].index);

		if (!link && !ifaces[i].n && !ifaces[i].foreign)
			continue;
		fprintf(to, "  %s:%s%s", ifaces[i].name, ifaces[i].elsewhere ? " (elsewhere)" : "",
			ifaces[i].skb ? " skb" : "");
		if (link) {
			fputc(' ', to);
			put_thing(to, link);
		}
		if (ifaces[i].foreign)
			fprintf(to, " program %u", ifaces[i].foreign);
		for (unsigned int k = 0; k < ifaces[i].n; k++) {
			const struct thing *is = thing_by_id(PINNED_PROGRAM, ifaces[i].behind[k]);

			fprintf(to, " behind: %u %s%s%s", ifaces[i].behind[k], is ? is->name : "another's",
				is && is->full ? ", chained" : "", is && is->skb ? ", frags" : "");
			for (__u32 m = 0; is && m < is->n_maps; m++) {
				const struct thing *map = thing_by_id(PINNED_MAP, is->maps[m]);

				fprintf(to, " %u", is->maps[m]);
				if (map && !strcmp(map->name, "trial"))
					fprintf(to, " until %llu",
						(unsigned long long)((const struct trial *)(const void *)map->value)
							->until);
			}
		}
		fputc('\n', to);
	}
}

/* A link that is pinned nowhere has gone with its last descriptor. */
static char *world_text(void)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == PINNED_LINK && !is_pinned(&things[i]))
			things[i].ifindex = 0;
	put_world(to);
	fclose(to);
	return text;
}

static unsigned int descriptors(void)
{
	DIR *dir = __real_opendir("/proc/self/fd");
	unsigned int n = 0;

	while (dir && __real_readdir(dir))
		n++;
	if (dir)
		__real_closedir(dir);
	return n;
}

/* What happens is printed: what it says, how it ends, and what is another then. */
struct happens {
	const char *name;
	void (*before)(void);
	int (*what)(void);
	enum { ONCE, EACH_FAILS, BY_EACH_ERRNO } how; /* with each call failing; by each errno that matters somewhere */
};

static bool model_begin(void)
{
	const char *in = getenv("TMPDIR");

	snprintf(model, sizeof(model), "%s/xdp-bloom-model-XXXXXX",
		 in			    ? in
		 : access("/dev/shm", W_OK) ? "/tmp"
					    : "/dev/shm");
	model_context = (struct context)CONTEXT_DEFAULT;
	model_context.bpffs = "pins";
	return mkdtemp(model) && !chdir(model);
}

static void model_end(void)
{
	if (!chdir("/"))
		remove_below(model);
}

/* The lines of the one that the other has not; both are sorted in the same way. */
static void put_lines_without(FILE *to, char sign, const char *text, const char *other)
{
	for (const char *end; *text; text = end + 1) {
		bool there = false;

		end = strchr(text, '\n');
		for (const char *at = other; *at && !there; at = strchr(at, '\n') + 1)
			there = !strncmp(at, text, (size_t)(end - text) + 1);
		if (!there)
			fprintf(to, " %c%.*s\n", sign, (int)(end - text), text);
	}
}

static void put_without(FILE *to, const char *text, const char *word)
{
	for (const char *at; (at = strstr(text, word)); text = at + strlen(word))
		fprintf(to, "%.*s<errno>", (int)(at - text), text);
	fputs(text, to);
}

/* Once, the call `at` failing. What was said, and all that follows; `before` is set by the first one. */
static char *happen(const struct happens *h, unsigned int at, int with, char **before, const char *done)
{
	static char said[1 << 14];
	int said_to = memfd_create("said", MFD_CLOEXEC), out, warnings, err;
	unsigned int opened;
	size_t size;
	char *text, *now;
	FILE *to;
	ssize_t n;

	world_new();
	if (h->before)
		h->before();
	if (!*before)
		*before = world_text();
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	warnings = dup(STDERR_FILENO);
	dup2(said_to, STDOUT_FILENO);
	dup2(said_to, STDERR_FILENO);
	opened = descriptors();
	calls = 0;
	fail_at = at;
	fail_errno = with;
	err = h->what();
	fail_at = 0;
	fflush(stdout);
	opened = descriptors() - opened;
	dup2(out, STDOUT_FILENO);
	dup2(warnings, STDERR_FILENO);
	close(out);
	close(warnings);
	n = pread(said_to, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(said_to);

	now = world_text();
	to = open_memstream(&text, &size);
	fputs(err < 0 ? "" : err ? "yes" : "done", to);
	if (err < 0)
		put_without(to, reason(err), at ? errno_text(-with) : "none");
	fputs(done && !strcmp(now, *before) ? "; as before\n" : "\n", to);
	put_without(to, said, at ? errno_text(-with) : "none");
	if (!done || (strcmp(now, done) && strcmp(now, *before))) {
		put_lines_without(to, '-', *before, now);
		put_lines_without(to, '+', now, *before);
	}
	if (opened || multis || programs_open_now)
		fprintf(to, "left open: %u descriptors, %u dispatchers, %u programs\n", opened, multis,
			programs_open_now);
	fclose(to);
	free(now);
	return text;
}

/* Something else than what is looked at: no call of it fails. */
static void quietly(int (*what)(void))
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	unsigned int called = calls, at = fail_at;

	fail_at = 0;
	fflush(stdout);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	if (what())
		abort();
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(nothing);
	calls = called;
	fail_at = at;
}

/* Those that failed in turn and ended alike: by their names, each once, for how many there are is nobody's business. */
static void put_group(const char *const *names, unsigned int first, unsigned int end, int with, const char *text)
{
	for (unsigned int at = first; at < end; at++) {
		bool again = false;

		for (unsigned int before = first; before < at; before++)
			again = again || !strcmp(names[before], names[at]);
		if (!again)
			printf("%s%s", at == first ? " " : ", ", names[at]);
	}
	if (with != EIO)
		printf(" (%s)", errno_text(-with));
	printf(": %s", text);
}

/* As it is, and with each call failing once; by a further errno only what ends in another way than by the first. */
static void put_happening(const struct happens *h)
{
	static const int errnos[] = { EIO,    EPERM,	  ENOENT,  ENODEV, EXDEV, EBUSY,
				      EEXIST, EOPNOTSUPP, ENOLINK, EINVAL, EBADF };
	static const char *names[2048];
	char *before = NULL, *text = happen(h, 0, 0, &before, NULL), *done = world_text(), *known[2048] = { 0 };
	unsigned int most = h->how == ONCE ? 0 : calls < 2046 ? calls : 2046;

	printf("%s: %s", h->name, text);
	free(text);
	for (size_t e = 0; e < (h->how == BY_EACH_ERRNO ? sizeof(errnos) / sizeof(errnos[0]) : 1); e++) {
		unsigned int first = 1;
		char *group = NULL;

		for (unsigned int at = 1; at <= most + 1; at++) {
			char *now = at > most ? NULL : happen(h, at, errnos[e], &before, done);

			names[at] = failed;
			if (now && e && !strcmp(now, known[at])) {
				free(now);
				now = NULL;
			}
			if (group && (!now || strcmp(now, group) != 0))
				put_group(names, first, at, errnos[e], group);
			if (!group || !now || strcmp(now, group) != 0) {
				free(group);
				group = now ? strdup(now) : NULL;
				first = at;
			}
			if (e)
				free(now);
			else
				known[at] = now;
		}
		free(group);
	}
	for (unsigned int at = 0; at <= most + 1; at++)
		free(known[at]);
	free(before);
	free(done);
}

static char outside[200]; /* of the model: where records are */

static void happen_all(const struct happens *all, size_t n, struct shows *shows)
{
	for (size_t i = 0; i < n; i++) {
		shows_begin(shows);
		put_happening(&all[i]);
		if (chdir(outside) || !shows_as(shows, all[i].name) || chdir(model))
			return;
	}
}

static int model_run(void (*happens)(void))
{
	const struct ktap_case cases[] = { { "each call failing once", happens } };
	int status;

	if (!getcwd(outside, sizeof(outside)) || !model_begin())
		return KTAP_FAIL;
	status = ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
	model_end();
	return status;
}

#endif
