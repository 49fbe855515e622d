// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins: what is behind them, which of them are ours, where they can be, and what is said where the kernel refuses.
 * Files, mounts and the kernel are tables here, word for word.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "kernel/pins.h"
#include "shown.h"

/* A directory and all that is in it, but not what a link in it leads to. */
static void removes(void)
{
	char base[200], path[300], kept[300];

	snprintf(base, sizeof(base), "%.150s/xdp-bloom-pins-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!CHECK(mkdtemp(base) != NULL, "no directory"))
		return;
	snprintf(kept, sizeof(kept), "%s/kept", base);
	close(open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/pins", base);
	CHECK(!mkdir(path, 0700), "%s", path);
	snprintf(path, sizeof(path), "%s/pins/deep", base);
	CHECK(!mkdir(path, 0700), "%s", path);
	snprintf(path, sizeof(path), "%s/pins/deep/pin", base);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/pins/link", base);
	CHECK(!symlink(base, path), "%s", path);
	snprintf(path, sizeof(path), "%s/pins", base);
	pin_remove(path);
	CHECK(access(path, F_OK) && !access(kept, F_OK), "it is there still, or more is gone");
	pin_remove(path); /* none is there */
	pin_remove(kept);
	CHECK(access(kept, F_OK), "a file is there still");
	CHECK(!rmdir(base), "something is left");
}

static const struct shown known[] = {
#include "unit_pins.txt"
};

static struct shows shows = { .file = "tests/unit/unit_pins.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define FD 1000

/* --- The kernel --- */

static struct thing {
	const char *path;
	enum pinned_kind kind;
	struct bpf_map_info map;
	struct bpf_prog_info program;
	struct bpf_link_info link;
	__u32 maps[70];
	bool open;
} things[8];
static unsigned int things_n;
static bool no_proc;
static int info_fails, link_fails; /* errno */
static __u64 capabilities;
static bool brief; /* only what fails is printed */

static struct thing *thing(const char *path, enum pinned_kind kind)
{
	struct thing *new = &things[things_n++];

	*new = (struct thing){ .path = path, .kind = kind };
	new->map.id = new->program.id = new->link.id = 10 + things_n;
	return new;
}

static struct thing *map_at(const char *path, const char *name, __u32 type, __u32 key, __u32 value, __u32 entries)
{
	struct thing *new = thing(path, PINNED_MAP);

	new->map.type = type;
	new->map.key_size = key;
	new->map.value_size = value;
	new->map.max_entries = entries;
	snprintf(new->map.name, sizeof(new->map.name), "%s", name);
	return new;
}

static struct thing *program_at(const char *path, const char *name, __u32 uses)
{
	struct thing *new = thing(path, PINNED_PROGRAM);

	snprintf(new->program.name, sizeof(new->program.name), "%s", name);
	new->program.nr_map_ids = uses ? 1 : 0;
	new->maps[0] = uses;
	return new;
}

static struct thing *of(int fd)
{
	if (fd < FD || fd >= FD + (int)things_n || !things[fd - FD].open) {
		printf("%d is no descriptor\n", fd);
		return &things[7];
	}
	return &things[fd - FD];
}

static int given_obj_get(const char *path)
{
	for (unsigned int i = 0; i < things_n; i++)
		if (!strcmp(things[i].path, path)) {
			things[i].open = true;
			return FD + (int)i;
		}
	errno = ENOENT;
	return -1;
}

static void given_close(int fd)
{
	if (fd >= 0 && things_n)
		of(fd)->open = false;
	else if (fd >= 0 && !brief) /* of a directory */
		puts(" close");
}

static int given_info(int fd, void *to, __u32 *size)
{
	struct thing *is = of(fd);

	errno = info_fails;
	if (info_fails)
		return -1;
	if (is->kind == PINNED_MAP && *size == sizeof(is->map)) {
		memcpy(to, &is->map, sizeof(is->map));
	} else if (is->kind == PINNED_LINK && *size == sizeof(is->link)) {
		memcpy(to, &is->link, sizeof(is->link));
	} else if (is->kind == PINNED_PROGRAM && *size == sizeof(is->program)) {
		struct bpf_prog_info *program = to;
		__u32 room = program->nr_map_ids, *ids = (__u32 *)(uintptr_t)program->map_ids;

		*program = is->program;
		for (__u32 i = 0; i < room && i < program->nr_map_ids; i++)
			ids[i] = is->maps[i];
	} else {
		puts("it is asked as another kind");
	}
	return 0;
}

static ssize_t given_readlink(const char *path, char *to, size_t size)
{
	static const char *const names[] = { "anon_inode:[eventpoll]", "anon_inode:bpf-map", "anon_inode:bpf-prog",
					     "anon_inode:bpf_link" };
	char wanted[32];

	if (size != 63)
		printf(" %zu bytes of a link\n", size);
	errno = no_proc ? ENOENT : link_fails;
	if (errno)
		return -1;
	for (unsigned int i = 0; i < things_n; i++) {
		snprintf(wanted, sizeof(wanted), "/proc/self/fd/%u", FD + i);
		if (!strcmp(wanted, path))
			return (ssize_t)strlen(strncpy(to, names[things[i].kind], size));
	}
	printf("of no descriptor: %s\n", path);
	return -1;
}

/* Looks first whether it is a map; a ring has no keys. */
static int given_next_key(int fd, const void *key, void *next)
{
	const struct thing *is = of(fd);

	(void)next;
	errno = is->kind != PINNED_MAP || key ? EINVAL : is->map.type == BPF_MAP_TYPE_RINGBUF ? EOPNOTSUPP : ENOENT;
	return is->kind == PINNED_MAP && is->map.type == BPF_MAP_TYPE_HASH ? 0 : -1;
}

/* The same of links; then it misses the program. */
static int given_link_update(int fd, int program, const struct bpf_link_update_opts *opts)
{
	errno = of(fd)->kind == PINNED_LINK && program == -1 && !opts ? EBADF : EINVAL;
	return -1;
}

static long given_syscall(long number, struct __user_cap_header_struct *header, struct __user_cap_data_struct *data)
{
	if (number != SYS_capget || header->version != _LINUX_CAPABILITY_VERSION_3 || header->pid)
		return -1;
	data[0].effective = (__u32)capabilities;
	data[1].effective = (__u32)(capabilities >> 32);
	return 0;
}

static int given_uname(struct utsname *host)
{
	snprintf(host->release, sizeof(host->release), "5.4.0");
	return 0;
}

/* --- Files --- */

static struct directory {
	char path[PIN_PATH_MAX];
	mode_t mode;
	uid_t owner;
	bool made;
} directories[8];
static unsigned int directories_n;
static struct {
	const char *path;
	int err; /* 0: on another file system; 1: on a bpffs */
} mounted[16];
static unsigned int mounted_n;
static const char *files[8]; /* in the bpffs directory */
static unsigned int files_n, files_at, calls, fails_at;
static int fails_with;
static struct dirent told;
static struct context own_context;

static bool call(const char *what, const char *path)
{
	bool fails = ++calls == fails_at;

	if (fails || !brief)
		printf(" %s %s%s\n", what, path, fails ? ": fails" : "");
	errno = fails_with;
	return fails;
}

static struct directory *directory(const char *path)
{
	for (unsigned int i = 0; i < directories_n; i++)
		if (!strcmp(directories[i].path, path))
			return &directories[i];
	errno = ENOENT;
	return NULL;
}

static void directory_is(const char *path, mode_t mode, uid_t owner)
{
	struct directory *new = &directories[directories_n++];

	*new = (struct directory){ .mode = mode, .owner = owner };
	snprintf(new->path, sizeof(new->path), "%s", path);
}

static void on(const char *path, int err)
{
	mounted[mounted_n].path = path;
	mounted[mounted_n++].err = err;
}

static int given_statfs(const char *path, struct statfs *fs)
{
	*fs = (struct statfs){ 0 };
	for (unsigned int i = 0; i < mounted_n; i++) {
		if (strcmp(mounted[i].path, path) != 0)
			continue;
		fs->f_type = mounted[i].err == 1 ? (int)BPF_FS_MAGIC : EXT4_SUPER_MAGIC;
		errno = -mounted[i].err;
		return mounted[i].err < 0 ? -1 : 0;
	}
	errno = ENOENT;
	return -1;
}

static int given_mount(const char *what, const char *where, const char *type, unsigned long flags, const char *data)
{
	char how[200];

	snprintf(how, sizeof(how), "%s on %s, %s, %s%s%s%s", what, where, type, data,
		 flags & MS_NOSUID ? ", nosuid" : "", flags & MS_NODEV ? ", nodev" : "",
		 flags & MS_NOEXEC ? ", noexec" : "");
	return call("mount", how) ? -1 : 0;
}

static int given_mkdir(const char *path, mode_t mode)
{
	char how[PIN_PATH_MAX + 20];

	snprintf(how, sizeof(how), "%s, %o", path, mode);
	if (call("mkdir", how))
		return -1;
	directory_is(path, mode, geteuid());
	return 0;
}

static int given_open(const char *path, int flags)
{
	const struct directory *is = directory(path);

	if (flags != (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
		printf(" %s is opened otherwise\n", path);
	if (!is)
		return -1;
	if (call("open", path))
		return -1;
	return FD + (int)(is - directories);
}

static int given_fstat(int fd, struct stat *is)
{
	const struct directory *at = &directories[fd - FD];

	is->st_mode = S_IFDIR | at->mode;
	is->st_uid = at->owner;
	return call("stat", at->path) ? -1 : 0;
}

static int given_fchmod(int fd, mode_t mode)
{
	char how[PIN_PATH_MAX + 20];

	snprintf(how, sizeof(how), "%s, %o", directories[fd - FD].path, mode);
	if (call("chmod", how))
		return -1;
	directories[fd - FD].mode = mode;
	return 0;
}

static int given_trust(const char *path)
{
	return call("trust", path) ? because(-fails_with, "%s is not to be trusted", path) : 0;
}

static int given_access(const char *path, int how)
{
	return how == F_OK && directory(path) ? 0 : -1;
}

static int given_rmdir(const char *path)
{
	if (call("rmdir", path))
		return -1;
	return 0;
}

static int given_unlink(const char *path)
{
	return call("unlink", path) ? -1 : 0;
}

static DIR *given_opendir(const char *path)
{
	files_at = 0;
	return call("look into", path) ? NULL : (DIR *)(void *)files;
}

static struct dirent *given_readdir(DIR *dir)
{
	(void)dir;
	if (files_at == files_n)
		return NULL;
	snprintf(told.d_name, sizeof(told.d_name), "%s", files[files_at++]);
	return &told;
}

static int given_closedir(DIR *dir)
{
	(void)dir;
	puts(" it is closed");
	return 0;
}

static rlim_t addresses = RLIM_INFINITY; /* that this process may take */

static int given_limit(int which, struct rlimit *space)
{
	if (which != RLIMIT_AS)
		abort();
	*space = (struct rlimit){ addresses, RLIM_INFINITY };
	return 0;
}

/* Another libbpf knows more types, and this one's name is longer than all that is said of a pin. */
#define LONG_TYPE 9998

static const char *given_type(enum bpf_map_type type)
{
	return (int)type == LONG_TYPE ? "0123456789012345678901234567890123456789012345678901234567890123456789"
				      : libbpf_bpf_map_type_str(type);
}

#define libbpf_bpf_map_type_str given_type

#define getrlimit	       given_limit
#define bpf_obj_get	       given_obj_get
#define bpf_obj_get_info_by_fd given_info
#define bpf_map_get_next_key   given_next_key
#define bpf_link_update	       given_link_update
#define close_fd	       given_close
#define readlink	       given_readlink
#define syscall		       given_syscall
#define uname		       given_uname
#define statfs(path, to)       given_statfs(path, to)
#define mount		       given_mount
#define mkdir		       given_mkdir
#define open(path, flags)      given_open(path, flags)
#define fstat		       given_fstat
#define fchmod		       given_fchmod
#define trust_directory	       given_trust
#define access		       given_access
#define rmdir		       given_rmdir
#define unlink		       given_unlink
#define opendir		       given_opendir
#define readdir		       given_readdir
#define closedir	       given_closedir

#include "kernel/pins.c"

#undef open

static void begin(void)
{
	memset(things, 0, sizeof(things));
	things_n = directories_n = mounted_n = files_n = calls = fails_at = 0;
	no_proc = brief = false;
	info_fails = link_fails = 0;
	fails_with = EIO;
	capabilities = ~0ULL;
	own_context = (struct context){ .bpffs = "P" };
	made = false;
}

static void left(void)
{
	for (unsigned int i = 0; i < things_n; i++)
		if (things[i].open)
			printf(" left open: %s\n", things[i].path);
}

/* --- What happens --- */

static void says(const char *what, int err)
{
	printf("%s: %s\n", what, err < 0 ? reason(err) : "done");
	left();
}

/* A descriptor. */
static void opened(const char *what, int fd)
{
	if (fd >= 0) {
		printf("%s: %s\n", what, of(fd)->path);
		given_close(fd);
		left();
	} else {
		says(what, fd);
	}
}

static void shared(void)
{
	for (size_t i = 0; i < sizeof(shared_maps) / sizeof(shared_maps[0]); i++)
		printf("%s: %u of %u, %u -> %u\n", shared_maps[i].name, shared_maps[i].type, shared_maps[i].max_entries,
		       shared_maps[i].key_size, shared_maps[i].value_size);
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		printf("%u: %s %s %s, %s %s %s\n", m, match_pins[m].slot, match_pins[m].root, match_pins[m].bare,
		       match_pins[m].program, match_pins[m].trial, match_pins[m].before);
}

static void ours(void)
{
	static const char *const others[] = { PIN_LINKS, PIN_GENERATIONS, "root2",  "",
					      "slots",	 "count",	  "links2", "program" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		printf("'%s': %d\n", others[i], pin_is_ours(others[i]));
	for (size_t i = 0; i < sizeof(shared_maps) / sizeof(shared_maps[0]); i++)
		if (!pin_is_ours(shared_maps[i].name))
			printf("%s is not\n", shared_maps[i].name);
	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		if (!pin_is_ours(match_pins[m].root) || !pin_is_ours(match_pins[m].bare))
			printf("the roots of %u are not\n", m);
}

static void paths(void)
{
	char path[PIN_PATH_MAX];

	pin_path(&own_context, path, "counters");
	puts(path);
	pin_path(&own_context, path, "");
	puts(path);
	pin_generation_path(&own_context, path, 18446744073709551615ULL, "meta");
	puts(path);
	pin_generation_path(&own_context, path, 0, "");
	puts(path);
}

static void names_in(void)
{
	static const char *const all[] = { ".", "..", "one", ".hidden", "two" };
	const char *name;
	DIR *dir;

	for (size_t i = 0; i < 5; i++)
		files[files_n++] = all[i];
	dir = pin_directory(&own_context, PIN_LINKS);
	while ((name = pin_next(&dir)))
		puts(name);
	printf("it is %s\n", dir ? "open" : "none");
	printf("once more: %s\n", pin_next(&dir) ?: "none");
	fails_at = 2;
	dir = pin_directory(&own_context, PIN_LINKS);
	printf("of none: %s\n", pin_next(&dir) ?: "none");
}

/* As wanted, and each property another. */
static void shared_map_of(const char *name, const char *path)
{
	const struct shared_map *want = shared_map(name);
	struct thing *is = map_at(path, "is", want->type, want->key_size, want->value_size, want->max_entries);
	__u32 *const each[] = { &is->map.type, &is->map.key_size, &is->map.value_size, &is->map.max_entries };

	opened(name, pin_shared_map(&own_context, name));
	for (size_t i = 0; i < 4; i++) {
		++*each[i];
		opened(name, pin_shared_map(&own_context, name));
		--*each[i];
	}
	is->kind = PINNED_PROGRAM;
	opened(name, pin_shared_map(&own_context, name));
	is->kind = PINNED_MAP;
	info_fails = EIO;
	opened(name, pin_shared_map(&own_context, name));
	info_fails = 0;
}

static void shared_ones(void)
{
	opened("not there", pin_shared_map(&own_context, PIN_SLOT));
	printf("none is there: %d\n", pins_are_ours(&own_context));
	shared_map_of(PIN_SLOT, "P/" PIN_SLOT);
	shared_map_of(PIN_SAMPLES, "P/" PIN_SAMPLES);
	shared_map_of(PIN_SAMPLE_BUDGET, "P/" PIN_SAMPLE_BUDGET);
	says("these", pins_are_ours(&own_context));
	things[2].map.max_entries++;
	says("the last is another", pins_are_ours(&own_context));
	things[0].map.max_entries++;
	says("the first is another, too", pins_are_ours(&own_context));
	info_fails = EIO;
	says("what they are cannot be seen", pins_are_ours(&own_context));
}

static void info_of(const char *what, struct thing *is)
{
	int fd = given_obj_get(is->path), err;
	char text[2 * PINNED_TEXT_MAX];
	struct pinned p;

	memset(&p, 7, sizeof(p));
	err = pinned_info(fd, &p);
	given_close(fd);
	if (err) {
		says(what, err);
		return;
	}
	printf("%s: kind %d, id %u, type %u, %u -> %u, %u of them; uses %u, the last %u%s; interface %u, program %u; %s\n",
	       what, p.kind, p.id, p.type, p.key_size, p.value_size, p.max_entries, p.n_maps,
	       p.n_maps ? p.maps[p.n_maps - 1] : 0, p.jitted ? ", jitted" : "", p.ifindex, p.program,
	       pinned_text(text, &p));
	if (p.n_maps)
		printf(" it uses %u: %d, %u: %d\n", p.maps[0], pinned_uses(&p, p.maps[0]), 9999, pinned_uses(&p, 9999));
}

static void infos(void)
{
	struct thing *map = map_at("map", "its name", BPF_MAP_TYPE_ARRAY, 4, 8, 9),
		     *program = program_at("prog", "prg", 5), *link = thing("link", PINNED_LINK),
		     *other = thing("other", PINNED_OTHER);

	link->link.xdp.ifindex = 77;
	link->link.prog_id = 33;
	for (int turn = 0; turn < 2; turn++) {
		no_proc = turn;
		puts(turn ? "without /proc" : "with /proc");
		info_of("a map", map);
		program->program.nr_map_ids = 1;
		program->program.jited_prog_len = 0;
		info_of("a program", program);
		for (__u32 i = 0; i < 70; i++)
			program->maps[i] = 5 + i;
		for (__u32 n = 63; n < 66; n++) {
			program->program.nr_map_ids = n;
			program->program.jited_prog_len = 1;
			info_of("a program that uses many", program);
		}
		link->link.type = BPF_LINK_TYPE_XDP;
		info_of("a link", link);
		link->link.type = LINK_TCX;
		info_of("a link of tcx", link);
		link->link.type = BPF_LINK_TYPE_CGROUP;
		info_of("a link of another kind", link);
		if (!turn)
			info_of("something else", other);
	}
	map->map.type = BPF_MAP_TYPE_HASH;
	info_of("a map with keys", map);
	map->map.type = BPF_MAP_TYPE_RINGBUF;
	info_of("a ring", map);
	map->map.type = 9999;
	info_of("a map of no type that is known", map);
	map->map.type = LONG_TYPE;
	info_of("a map of a type with a long name", map);
	map->map.type = BPF_MAP_TYPE_ARRAY;
	snprintf(map->map.name, sizeof(map->map.name), "\x1b[2Jname of 15b");
	info_of("a map with a name for terminals", map);
	no_proc = false;
	link_fails = EACCES;
	info_of("/proc says no", map);
	link_fails = 0;
	info_fails = EPERM;
	info_of("the kernel says no", map);
}

static void roots(void)
{
	static const char *const names[] = { ROOT_PLAIN, ROOT_FRAGS, ROOT_BARE, "xdp_other" };
	struct thing *root;
	bool frags = true;

	opened("none", pin_root(&own_context, &frags));
	printf(" with frags: %d\n", frags);
	root = program_at("P/" PIN_ROOT, "", 5);
	for (size_t i = 0; i < 4; i++) {
		snprintf(root->program.name, sizeof(root->program.name), "%.15s", names[i]);
		opened(names[i], pin_root(&own_context, &frags));
		printf(" with frags: %d, calls 5: %d, 6: %d\n", frags, pin_root_calls(&own_context, 5),
		       pin_root_calls(&own_context, 6));
	}
	snprintf(root->program.name, sizeof(root->program.name), ROOT_FRAGS);
	snprintf(root->map.name, sizeof(root->map.name), ROOT_FRAGS);
	root->kind = PINNED_MAP;
	opened("a map of that name", pin_root(&own_context, &frags));
	info_fails = EIO;
	opened("it cannot be seen", pin_root(&own_context, &frags));
	printf(" with frags: %d\n", frags);
}

static void roots_of_matches(void)
{
	static const unsigned int matches[] = { MATCH_SOURCE, MATCH_BOTH, MATCH_KINDS - 1 };

	for (size_t i = 0; i < 3; i++)
		for (int bare = 0; bare < 2; bare++) {
			const struct match_pins *pins = &match_pins[matches[i]];
			char at[2][64];
			struct thing *slot, *root;

			printf("match %u%s\n", matches[i], bare ? ", bare" : "");
			things_n = 0;
			snprintf(at[0], sizeof(at[0]), "P/%s", bare ? pins->bare : pins->root);
			snprintf(at[1], sizeof(at[1]), "P/%s", pins->slot);
			opened("none", pin_root_of(&own_context, matches[i], bare));
			root = program_at(at[0], bare ? ROOT_BARE : ROOT_FRAGS, 12);
			opened("without a slot", pin_root_of(&own_context, matches[i], bare));
			slot = map_at(at[1], "slot", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
			opened("with one", pin_root_of(&own_context, matches[i], bare));
			root->maps[0] = 13;
			opened("with another", pin_root_of(&own_context, matches[i], bare));
			root->maps[0] = 12;
			snprintf(root->program.name, sizeof(root->program.name), "%.15s",
				 bare ? ROOT_PLAIN : ROOT_BARE);
			opened("the other kind", pin_root_of(&own_context, matches[i], bare));
			slot->map.max_entries = 2;
			opened("a slot that is none", pin_root_of(&own_context, matches[i], bare));
			info_fails = EIO;
			opened("it cannot be seen", pin_root_of(&own_context, matches[i], bare));
			info_fails = 0;
		}
}

static void reasons(void)
{
	static const int errnos[] = { EPERM, EACCES, ENOMEM, EMFILE, ENFILE, EBADF, EINVAL };
	static const struct {
		const char *name;
		__u64 has;
	} who[] = {
		{ "root", ~0ULL },
		{ "with CAP_PERFMON", 1ULL << CAP_PERFMON },
		{ "with CAP_SYS_ADMIN", 1ULL << CAP_SYS_ADMIN },
		{ "with others", ~(1ULL << CAP_PERFMON | 1ULL << CAP_SYS_ADMIN) },
	};

	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		says("map", because_kernel(-errnos[i], "a map"));
	addresses = 1ULL << 47;
	says("limited", because_kernel(-ENOMEM, "a map"));
	says("limited", because_kernel(-EIO, "a map"));
	addresses = RLIM_INFINITY;
	says("it is said", because_kernel(because(-EIO, "said before"), "a map"));
	for (size_t w = 0; w < sizeof(who) / sizeof(who[0]); w++) {
		capabilities = who[w].has;
		for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
			says(who[w].name, because_program(-errnos[i], "a program"));
	}
}

static void may(const char *bpffs)
{
	bool mounts = true;
	int err;

	own_context.bpffs = bpffs;
	err = pins_may(&own_context, &mounts);
	if (strlen(bpffs) > 100)
		printf("%zu bytes: %s\n", strlen(bpffs), err ? strchr(reason(err), ':') ?: reason(err) : "done");
	else
		says(bpffs, err);
	if (mounts)
		puts(" it mounts one");
}

static void where(void)
{
	static char path[PIN_PATH_MAX];

	on("/", 0);
	on("/sys/fs/bpf", 1);
	on("/sys/fs", 0);
	may("/sys/fs/bpf");
	may("/sys/fs/bpf/xdp-bloom");
	may("/sys/fs/bpf/a/b/c");
	may("/sys/fs/bpfx");
	may("/elsewhere");
	may("nowhere");
	for (size_t n = PIN_PATH_MAX - 81; n <= PIN_PATH_MAX - 79; n++) {
		memset(path, 'x', sizeof(path));
		memcpy(path, "/sys/fs/bpf/", 12);
		path[n] = '\0';
		may(path);
	}
	puts("none is mounted");
	mounted[1].err = 0;
	may("/sys/fs/bpf");
	may("/sys/fs/bpf/xdp-bloom");
	may("/sys/fs/bpfs/xdp-bloom");
	on("/sys/fs/bpf/mine", 1);
	may("/sys/fs/bpf/mine/xdp-bloom");
	on("/run/bpf", 1);
	may("/run/bpf/xdp-bloom");
	puts("the kernel says no");
	on("/run/bpf/x.y", -EPERM);
	may("/run/bpf/x.y");
	on("/run/b.pf/x", -EPERM);
	may("/run/b.pf/x");
	on("x.y", -EPERM);
	may("x.y");
	on("/run/bpf/z", -EACCES);
	may("/run/bpf/z");
}

static void ready(bool makes)
{
	calls = 0;
	says(makes ? "made ready" : "looked at", pins_ready(&own_context, makes));
	for (unsigned int i = 0; i < directories_n && !brief; i++)
		printf(" %s is %o\n", directories[i].path, directories[i].mode);
}

static void leaves(const char *what)
{
	printf("%s\n", what);
	calls = 0;
	pins_leave(&own_context);
}

static void makes_all(void)
{
	on("P", 1);
	ready(true);
	ready(true);
	printf("they are there: %d\n", pins_are_there(&own_context));
	leaves("left");
}

static void only_looks(void)
{
	on("P", 1);
	printf("they are there: %d\n", pins_are_there(&own_context));
	ready(false);
	directory_is("P", 0700, geteuid());
	ready(false);
}

static void closes_to_others(void)
{
	directory_is("P", 0701, geteuid());
	directory_is("P/links", 0710, geteuid());
	directory_is("P/generation", 04700, geteuid());
	on("P", 1);
	ready(true);
	directories_n = 0;
	own_context.bpffs = "P///";
	on("P///", 1);
	directory_is("P", 0755, geteuid());
	directory_is("P////links", 01700, geteuid());
	directory_is("P////generation", 0755, geteuid() + 1);
	ready(true);
}

static void mounts_one(void)
{
	on("/", 0);
	own_context.bpffs = "/sys/fs/bpf/xdp-bloom";
	ready(true);
	fails_at = 1;
	fails_with = EPERM;
	directories_n = 0;
	ready(true);
}

static void nowhere(void)
{
	on("P", 0);
	ready(true);
}

/* Where they are to be made, and where one is open to others. */
static void each_fails(void)
{
	static const int errnos[] = { EIO, EEXIST, EPERM, EROFS };

	for (unsigned int open_to_others = 0; open_to_others < 2; open_to_others++)
		for (size_t e = 0; e < 4; e++)
			for (unsigned int i = 1; i < (e ? 6 : 13); i++) {
				begin();
				on("P", 1);
				if (open_to_others)
					directory_is("P", 0755, geteuid());
				fails_at = i;
				fails_with = errnos[e];
				brief = true;
				printf("call %u: %s\n", i, strerror(errnos[e]));
				ready(true);
			}
}

static void goes(void)
{
	files[files_n++] = ".";
	files[files_n++] = "counters";
	files[files_n++] = "slot";
	leaves("not made by this process");
	for (fails_at = 0; fails_at < 6; fails_at++) {
		made = true;
		leaves("made");
		leaves("again");
	}
}

static const struct scene scenes[] = {
	{ "what filters share", shared },
	{ "which are ours", ours },
	{ "paths", paths },
	{ "names in a directory", names_in },
	{ "shared maps", shared_ones },
	{ "what is behind a descriptor", infos },
	{ "the root", roots },
	{ "roots of matches", roots_of_matches },
	{ "reasons", reasons },
	{ "where pins can be", where },
	{ "directories are made", makes_all },
	{ "directories are only looked at", only_looks },
	{ "directories are closed to others", closes_to_others },
	{ "one is mounted", mounts_one },
	{ "no file system for pins", nowhere },
	{ "each call fails", each_fails },
	{ "what was made goes", goes },
};

static void happens(void)
{
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "pins", happens }, { "pins are removed", removes } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
