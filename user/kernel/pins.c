// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean_text.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/out.h"
#include "base/trusted_dir.h"

#define BPFFS_MOUNT "/sys/fs/bpf"

#define PINS_OF(match)                                                                                   \
	{                                                                                                \
		PIN_SLOT match, PIN_ROOT match, PIN_ROOT_BARE match, PIN_PROGRAM match, PIN_TRIAL match, \
			PIN_TRIAL_BEFORE match                                                           \
	}

const struct match_pins match_pins[MATCH_KINDS] = {
	PINS_OF(""),	  PINS_OF(PIN_TO),	   PINS_OF(PIN_BOTH),
	PINS_OF(PIN_OUT), PINS_OF(PIN_OUT PIN_TO), PINS_OF(PIN_OUT PIN_BOTH),
	PINS_OF(PIN_IN),  PINS_OF(PIN_IN PIN_TO),  PINS_OF(PIN_IN PIN_BOTH),
};

void pin_path(const struct context *context, char path[PIN_PATH_MAX], const char *name)
{
	snprintf(path, PIN_PATH_MAX, "%s/%s", context->bpffs, name);
}

DIR *pin_directory(const struct context *context, const char *name)
{
	char path[PIN_PATH_MAX];

	pin_path(context, path, name);
	return opendir(path);
}

const char *pin_next(DIR **dir)
{
	struct dirent *entry = NULL;

	while (*dir && (entry = readdir(*dir)) && entry->d_name[0] == '.')
		;
	if (*dir && !entry) {
		closedir(*dir);
		*dir = NULL;
	}
	return entry ? entry->d_name : NULL;
}

void pin_generation_path(const struct context *context, char path[PIN_PATH_MAX], __u64 number, const char *name)
{
	snprintf(path, PIN_PATH_MAX, "%s/%s/%llu%s%s", context->bpffs, PIN_GENERATIONS, (unsigned long long)number,
		 name[0] ? "/" : "", name);
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *at)
{
	(void)is;
	(void)kind;
	(void)at;
	return remove(path);
}

void pin_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool lacks(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &header, data) &&
	       !(data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

int because_program(int err, const char *what)
{
	struct utsname host = { 0 };

	if (err_is(err, EBADF))
		return err;
	/* The programs subtract pointers to count bytes, which the verifier allows only with CAP_PERFMON. */
	if (err_is(err, EPERM) || err_is(err, ENOMEM) || err_is(err, EMFILE) || err_is(err, ENFILE) ||
	    (err_is(err, EACCES) && lacks(CAP_PERFMON) && lacks(CAP_SYS_ADMIN)))
		return because_kernel(err, what);
	uname(&host);
	return because(err, "%s: kernel %s refuses the program (%s); 5.10 or newer is needed, and --verbose tells more",
		       what, host.release, errno_text(err));
}

int because_kernel(int err, const char *what)
{
	struct rlimit space;
	char text[BYTES_TEXT_MAX];

	if (-err >= 1 << ERRNO_BITS) /* it is said why */
		return err;
	if (err_is(err, EPERM) || err_is(err, EACCES))
		return because(err, "%s: root, or " NEEDED_CAPABILITIES ", is needed", what);
	/* Not even what the kernel would do may have had its room here. */
	if (err_is(err, ENOMEM) && !getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
		return because(
			err,
			"%s: there is not enough memory: this process may take %s of addresses (ulimit -v), if it is"
			" not the kernel that has no more",
			what, bytes_text(text, space.rlim_cur));
	if (err_is(err, ENOMEM))
		return because(err, "%s: the kernel has not enough memory", what);
	return because(err, "%s: %s", what, errno_text(err));
}

int pin_get(const struct context *context, const char *name)
{
	char path[PIN_PATH_MAX];
	int fd;

	pin_path(context, path, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

/* Where /proc is not mounted: each of these two calls looks first whether it was given what it is for. */
static enum pinned_kind kind_by_asking(int fd)
{
	char key[1 << 12]; /* hardly any map takes more than 512 bytes */

	if (!bpf_map_get_next_key(fd, NULL, key) || errno != EINVAL)
		return PINNED_MAP;
	return bpf_link_update(fd, -1, NULL) && errno == EBADF ? PINNED_LINK : PINNED_PROGRAM;
}

/* Asked with the structure of another kind, the kernel would fill it in all the same. */
static int kind_of(int fd)
{
	static const char *const kinds[] = {
		[PINNED_MAP] = "bpf-map", [PINNED_PROGRAM] = "bpf-prog", [PINNED_LINK] = "link"
	};
	char path[64], is[64] = "";
	int kind = PINNED_LINK;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, is, sizeof(is) - 1) < 0)
		return errno == ENOENT ? (int)kind_by_asking(fd) : -errno;
	while (kind > PINNED_OTHER && !strstr(is, kinds[kind]))
		kind--;
	return kind;
}

int pinned_info(int fd, struct pinned *pinned)
{
	struct bpf_map_info map = { 0 };
	struct bpf_link_info link = { 0 };
	const __u32 most = sizeof(pinned->maps) / sizeof(pinned->maps[0]);
	struct bpf_prog_info program = { .nr_map_ids = most, .map_ids = (__u64)(uintptr_t)pinned->maps };
	void *const infos[] = { NULL, &map, &program, &link };
	__u32 sizes[] = { 0, sizeof(map), sizeof(program), sizeof(link) };

	int kind = kind_of(fd);

	memset(pinned, 0, sizeof(*pinned));
	if (kind < 0)
		return kind;
	pinned->kind = (enum pinned_kind)kind;
	if (pinned->kind && bpf_obj_get_info_by_fd(fd, infos[pinned->kind], &sizes[pinned->kind]))
		return -errno;
	pinned->id = pinned->kind == PINNED_MAP ? map.id : pinned->kind == PINNED_LINK ? link.id : program.id;
	pinned->type = map.type;
	pinned->key_size = map.key_size;
	pinned->value_size = map.value_size;
	pinned->max_entries = map.max_entries;
	/* The kernel says how many there are, and fills in as many as there is room for. */
	pinned->n_maps = pinned->kind != PINNED_PROGRAM ? 0 : program.nr_map_ids < most ? program.nr_map_ids : most;
	pinned->jitted = pinned->kind == PINNED_PROGRAM && program.jited_prog_len;
	/* Of one by tcx it stands in the same place. */
	pinned->ifindex = link.type == BPF_LINK_TYPE_XDP || link.type == LINK_TCX ? link.xdp.ifindex : 0;
	pinned->program = pinned->kind == PINNED_PROGRAM ? pinned->id : link.prog_id;
	memcpy(pinned->name, pinned->kind == PINNED_MAP ? map.name : program.name, sizeof(pinned->name) - 1);
	return 0;
}

bool pinned_uses(const struct pinned *program, __u32 map)
{
	for (__u32 i = 0; i < program->n_maps; i++)
		if (program->maps[i] == map)
			return true;
	return false;
}

const char *pinned_text(char text[PINNED_TEXT_MAX], const struct pinned *pinned)
{
	static const char *const kinds[] = { "something else", "map", "program", "link" };
	int n = snprintf(text, PINNED_TEXT_MAX, "%s", kinds[pinned->kind]);

	if (pinned->kind)
		n += snprintf(text + n, PINNED_TEXT_MAX - (size_t)n, " %u", pinned->id);
	if (pinned->name[0])
		n += snprintf(text + n, PINNED_TEXT_MAX - (size_t)n, " '%s'", pinned->name);
	if (pinned->kind == PINNED_MAP)
		snprintf(text + n, PINNED_TEXT_MAX - (size_t)n, " (%s)",
			 libbpf_bpf_map_type_str((enum bpf_map_type)pinned->type) ?: "of an unknown type");
	clean_text(text);
	return text;
}

/* As the programs declare them (bpf/xdp_bloom.bpf.c), and kernel/detect.c and kernel/scopes.c make one each. */
static const struct shared_map {
	const char *name;
	__u32 type, key_size, value_size, max_entries;
} shared_maps[] = {
	{ PIN_SLOT, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_TO, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_BOTH, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_OUT, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_OUT PIN_TO, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_OUT PIN_BOTH, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_IN, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_IN PIN_TO, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_SLOT PIN_IN PIN_BOTH, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1 },
	{ PIN_COUNTERS, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), COUNTERS },
	{ PIN_COUNTERS_OUT, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), COUNTERS },
	{ PIN_LIST_COUNTERS, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), LABELS },
	{ PIN_POLICED, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), POLICED },
	{ PIN_UNREAD, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct tally), LABELS },
	{ PIN_SAMPLES, BPF_MAP_TYPE_RINGBUF, 0, 0, SAMPLES_RING },
	{ PIN_SAMPLE_SHARES, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct sample_share), LABELS },
	{ PIN_SAMPLE_BUDGET, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 4, 1 },
};

bool pin_is_ours(const char *name)
{
	bool ours = !strcmp(name, PIN_LINKS) || !strcmp(name, PIN_GENERATIONS);

	for (unsigned int m = 0; m < MATCH_KINDS; m++)
		ours = ours || !strcmp(name, match_pins[m].root) || !strcmp(name, match_pins[m].bare);
	for (size_t i = 0; i < sizeof(shared_maps) / sizeof(shared_maps[0]); i++)
		ours = ours || !strcmp(name, shared_maps[i].name);
	return ours;
}

static const struct shared_map *shared_map(const char *name)
{
	const struct shared_map *map = shared_maps;

	while (strcmp(map->name, name) != 0)
		map++;
	return map;
}

/* A pin of ours that is none. */
static int because_foreign(const struct context *context, const char *name, const struct pinned *is)
{
	char text[PINNED_TEXT_MAX];

	return because(-EBADF,
		       "%s/%s is %s, not ours: something else was pinned in its place; remove it, and 'xdp-bloom"
		       " restore' makes ours again",
		       context->bpffs, name, pinned_text(text, is));
}

int pin_shared_map(const struct context *context, const char *name)
{
	const struct shared_map *want = shared_map(name);
	struct pinned is;
	int fd = pin_get(context, name), err = fd < 0 ? fd : pinned_info(fd, &is);

	if (!err && (is.kind != PINNED_MAP || is.type != want->type || is.key_size != want->key_size ||
		     is.value_size != want->value_size || is.max_entries != want->max_entries))
		err = because_foreign(context, name, &is);
	if (err)
		close_fd(fd);
	return err ?: fd;
}

static __u32 id_of(int fd, const char *name)
{
	struct pinned is = { 0 };
	bool ours = fd >= 0 && !pinned_info(fd, &is) && is.kind == PINNED_MAP && !strcmp(is.name, name);

	close_fd(fd);
	return ours ? is.id : 0;
}

__u32 pin_shared_id(const struct context *context, const char *name)
{
	return id_of(pin_shared_map(context, name), name);
}

/*
 * By no descriptor of it: as one that is the last is closed the kernel clears the array, and where it was just about to
 * do that, the array stays for ever.
 */
bool pin_shared_lives(__u32 id)
{
	__u32 next = 0;
	int err = bpf_map_get_next_id(id - 1, &next) ? -errno : 0;

	return err_is(err, EPERM) || (!err && next == id);
}

static bool is_root(const struct pinned *is, bool bare)
{
	return is->kind == PINNED_PROGRAM &&
	       (bare ? !strcmp(is->name, ROOT_BARE) : !strcmp(is->name, ROOT_FRAGS) || !strcmp(is->name, ROOT_PLAIN));
}

int pin_root(const struct context *context, bool *frags)
{
	struct pinned is;
	int fd = pin_get(context, PIN_ROOT), err = fd < 0 ? fd : pinned_info(fd, &is);

	*frags = !err && !strcmp(is.name, ROOT_FRAGS);
	if (!err && !is_root(&is, false))
		err = because_foreign(context, PIN_ROOT, &is);
	if (err)
		close_fd(fd);
	return err ?: fd;
}

int pin_root_of(const struct context *context, unsigned int match, bool bare)
{
	const char *name = bare ? match_pins[match].bare : match_pins[match].root;
	struct pinned is = { 0 }, map = { 0 };
	int fd = pin_get(context, name), slot = fd < 0 ? fd : pin_shared_map(context, match_pins[match].slot),
	    err = slot;

	if (slot >= 0)
		err = pinned_info(fd, &is) ?: pinned_info(slot, &map);
	if (!err && !is_root(&is, bare))
		err = because_foreign(context, name, &is);
	if (!err && !pinned_uses(&is, map.id))
		err = -ENOENT;
	close_fd(slot);
	if (err)
		close_fd(fd);
	return err ?: fd;
}

bool pin_root_calls(const struct context *context, __u32 slot)
{
	struct pinned is;
	bool frags, it;
	int fd = pin_root(context, &frags);

	it = fd >= 0 && !pinned_info(fd, &is) && pinned_uses(&is, slot);
	close_fd(fd);
	return it;
}

int pins_are_ours(const struct context *context)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(shared_maps) / sizeof(shared_maps[0]) && !err; i++) {
		int fd = pin_shared_map(context, shared_maps[i].name);

		close_fd(fd);
		err = err_is(fd, EBADF) ? fd : 0;
	}
	return err;
}

static int on_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) ? -errno : (uint32_t)fs.f_type == BPF_FS_MAGIC;
}

/* One of our user's; what a link leads to stays as it is. With a slash behind it, a link would be followed. */
static int close_to_others(char path[PIN_PATH_MAX])
{
	int fd, err = 0;
	struct stat is;

	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd >= 0 && !fstat(fd, &is) && is.st_uid == geteuid() && (is.st_mode & 07777) != 0700 && fchmod(fd, 0700))
		err = errno == EPERM || errno == EROFS ? 0 : -errno;
	close_fd(fd);
	return err;
}

/* They were made by this process. */
static bool made;

static int make_directory(char path[PIN_PATH_MAX])
{
	int err = close_to_others(path);

	if (err_is(err, ENOENT)) {
		if (!mkdir(path, 0700))
			made = true;
		else if (errno != EEXIST)
			return because_kernel(-errno, path);
		err = close_to_others(path);
	}
	return err ? because_kernel(err, path) : trust_directory(path);
}

/* Of the nearest part of the path that exists: is it on a bpffs? */
static int find_bpffs(const struct context *context)
{
	char path[PIN_PATH_MAX];
	char *cut;
	int is;

	snprintf(path, sizeof(path), "%s", context->bpffs);
	while (err_is(is = on_bpffs(path), ENOENT) && (cut = strrchr(path, '/')) && cut != path)
		*cut = '\0';
	return is;
}

static bool stays;

void pins_stay(void)
{
	stays = true;
}

/* A mount namespace that was made for this command ends with it; one that it has in common with its caller does not. */
static bool is_apart(void)
{
	struct stat own, callers;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)getppid());
	return !stays && !stat("/proc/self/ns/mnt", &own) && !stat(path, &callers) && own.st_ino != callers.st_ino;
}

int pins_may(const struct context *context, bool *mounts)
{
	int is = find_bpffs(context);

	*mounts = false;
	if (strlen(context->bpffs) > PIN_PATH_MAX - 80)
		return because(-ENAMETOOLONG, "%s: the path is too long", context->bpffs);
	if (err_is(is, EPERM) && strchr((strrchr(context->bpffs, '/') ?: context->bpffs) + 1, '.'))
		return because(-EINVAL, "%s: a BPF file system takes no names with a dot", context->bpffs);
	if (is < 0 && !err_is(is, ENOENT))
		return because_kernel(is, context->bpffs);
	/* Do not mount over a bpffs: that would hide every pin. */
	*mounts = is != 1 && !strncmp(context->bpffs, BPFFS_MOUNT "/", strlen(BPFFS_MOUNT "/")) &&
		  on_bpffs(BPFFS_MOUNT) != 1;
	if (*mounts && is_apart())
		return because(-EXDEV, BPFFS_MOUNT
			       " is not mounted in this mount namespace ('ip netns exec' hides it), and "
			       "what is pinned would go with it: 'nsenter --net=/run/netns/NAME' sees it, or mount "
			       "one: mount -t bpf bpf " BPFFS_MOUNT);
	if (is != 1 && !*mounts)
		return because(-EINVAL, "%s is not on a BPF file system; mount one: mount -t bpf bpf DIR",
			       context->bpffs);
	return 0;
}

int pins_ready(const struct context *context, bool make)
{
	static const char *const names[] = { "", PIN_LINKS, PIN_GENERATIONS };
	char path[PIN_PATH_MAX];
	bool mounts;
	int err = pins_may(context, &mounts);

	if (!err && mounts && mount("bpf", BPFFS_MOUNT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		err = because_kernel(-errno, "mounting bpffs at " BPFFS_MOUNT);
	if (err)
		return err;
	if (!make && access(context->bpffs, F_OK) && errno == ENOENT)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++) {
		pin_path(context, path, names[i]);
		err = make_directory(path);
	}
	return err;
}

bool pins_are_there(const struct context *context)
{
	char path[PIN_PATH_MAX];

	pin_path(context, path, PIN_LINKS);
	return !access(path, F_OK);
}

void pins_leave(const struct context *context)
{
	char path[PIN_PATH_MAX], pin[PIN_PATH_MAX + NAME_MAX + 1];
	struct dirent *entry;
	DIR *dir;

	if (!made)
		return;
	made = false;
	pin_path(context, path, PIN_GENERATIONS);
	if (rmdir(path))
		return;
	pin_path(context, path, PIN_LINKS);
	if (rmdir(path))
		return;
	/* What every filter shares, and no filter has used. */
	pin_path(context, path, "");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(pin, sizeof(pin), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			unlink(pin);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}
