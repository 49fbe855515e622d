// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/pins.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define BPFFS_MOUNT "/sys/fs/bpf"

void pin_path(const struct context *context, char path[PIN_PATH_MAX], const char *name)
{
	snprintf(path, PIN_PATH_MAX, "%s/%s", context->bpffs, name);
}

void pin_generation_path(const struct context *context, char path[PIN_PATH_MAX], __u64 number, const char *name)
{
	snprintf(path, PIN_PATH_MAX, "%s/%s/%llu%s%s", context->bpffs, PIN_GENERATIONS, (unsigned long long)number,
		 name[0] ? "/" : "", name);
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
	if (err_is(err, EPERM) || err_is(err, EACCES))
		return because(err, "%s: root, or " NEEDED_CAPABILITIES ", is needed", what);
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

static int on_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) ? -errno : fs.f_type == BPF_FS_MAGIC;
}

static int make_directory(const char *path)
{
	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST || (chmod(path, 0700) && errno != EPERM && errno != EROFS))
		return because_kernel(-errno, path);
	return trust_directory(path);
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

int pins_ready(const struct context *context)
{
	static const char *const names[] = { "", PIN_LINKS, PIN_GENERATIONS };
	char path[PIN_PATH_MAX];
	int is = find_bpffs(context), err = 0;

	if (strlen(context->bpffs) > PIN_PATH_MAX - 80)
		return because(-ENAMETOOLONG, "%s: the path is too long", context->bpffs);
	if (err_is(is, EPERM) && strchr((strrchr(context->bpffs, '/') ?: context->bpffs) + 1, '.'))
		return because(-EINVAL, "%s: a BPF file system takes no names with a dot", context->bpffs);
	if (is < 0 && !err_is(is, ENOENT))
		return because_kernel(is, context->bpffs);
	/* Do not mount over a bpffs: that would hide every pin. */
	if (is != 1 && !strncmp(context->bpffs, BPFFS_MOUNT "/", strlen(BPFFS_MOUNT "/")) &&
	    on_bpffs(BPFFS_MOUNT) != 1) {
		if (mount("bpf", BPFFS_MOUNT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
			return because_kernel(-errno, "mounting bpffs at " BPFFS_MOUNT);
		is = 1;
	}
	if (is != 1)
		return because(-EINVAL, "%s is not on a BPF file system; mount one: mount -t bpf bpf DIR",
			       context->bpffs);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++) {
		pin_path(context, path, names[i]);
		err = make_directory(path);
	}
	return err;
}
