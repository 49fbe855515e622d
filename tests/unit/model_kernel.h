/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel that is a table: programs, maps and links are entries, pins are files in a directory of the test's own that
 * name one, and interfaces have a link, another's program or a dispatcher. What user/kernel calls of libbpf, libxdp and
 * the kernel for that comes here (--wrap in tests/Makefile), and each call can be made to fail.
 */
#ifndef MODEL_KERNEL_H
#define MODEL_KERNEL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <linux/if_arp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/context.h"
#include "base/interfaces.h"
#include "base/log.h"
#include "base/netlink.h"
#include "filter/arrays.h"
#include "kernel/attachment.h"
#include "kernel/host.h"
#include "kernel/port.h"
#include "ktap.h"

#define THINGS 64
#define IFACES 16
#define BEHIND 6

struct thing {
	enum pinned_kind kind;
	__u32 id;
	char name[16];
	__u32 type, key_size, value_size, max_entries;
	__u32 maps[8], n_maps;
	__u32 ifindex, program;
	bool skb, full, away; /* away: of an interface in another network namespace */
	__u32 tc;	      /* ATTACH_TCX_..., of a link by tc */
	_Alignas(struct generation) unsigned char value[sizeof(struct generation)];
};

struct iface {
	unsigned int index;
	char name[IF_NAMESIZE];
	bool elsewhere; /* in another network namespace */
	int hardware, native;
	short flags;	     /* IFF_... */
	unsigned int queues; /* of a veth, whose other end sends from two */
	const char *kind;    /* as rtnetlink has it; NULL: by its hardware */
	__u32 foreign;	     /* another's program, not through libxdp */
	bool dispatcher, skb;
	__u32 behind[BEHIND];
	unsigned int n;
};

static struct thing things[THINGS];
static struct iface ifaces[IFACES];
static unsigned int n_things, n_ifaces;
static bool freplace;	      /* libxdp can put a dispatcher somewhere */
static __u32 uses[8], n_uses; /* by a program that libxdp loads */
static char model[64];
static struct context model_context;

static unsigned int calls, fail_at, multis, programs_open_now;
static int fail_errno, pins_refused, trial_fd = -1; /* each pin is refused with that */
static const char *failed;

static bool fails(const char *name)
{
	if (++calls != fail_at)
		return false;
	failed = name;
	errno = fail_errno;
	return true;
}

#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* Of what grows. */
WRAPPED(void *, reallocarray, void *old, size_t n, size_t size)
{
	return fails("reallocarray") ? NULL : __real_reallocarray(old, n, size);
}

/* --- Things, and descriptors of them --- */

static struct thing *thing_by_id(enum pinned_kind kind, __u32 id)
{
	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == kind && things[i].id == id)
			return &things[i];
	errno = ENOENT;
	return NULL;
}

static struct thing *thing_new(enum pinned_kind kind, const char *name)
{
	struct thing *new = &things[n_things];
	__u32 id = 1;

	for (unsigned int i = 0; i < n_things; i++)
		id += things[i].kind == kind;
	if (n_things == THINGS)
		abort();
	n_things++;
	*new = (struct thing){ .kind = kind, .id = id };
	snprintf(new->name, sizeof(new->name), "%s", name);
	return new;
}

/* As /proc/self/fd has them. */
static const char *thing_file(const struct thing *thing, char path[96])
{
	static const char *const kinds[] = { "", "bpf-map", "bpf-prog", "link" };

	snprintf(path, 96, "%s/things/%s-%u", model, kinds[thing->kind], thing->id);
	return path;
}

static int thing_open(const struct thing *thing)
{
	char path[96];

	return thing ? open(thing_file(thing, path), O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
}

static struct thing *thing_called(const char *text)
{
	const char *file = strrchr(text, '/');
	enum pinned_kind kind = strstr(text, "bpf-map-")    ? PINNED_MAP
				: strstr(text, "bpf-prog-") ? PINNED_PROGRAM
							    : PINNED_LINK;

	file = strrchr(file ?: text, '-');
	return file ? thing_by_id(kind, (__u32)strtoul(file + 1, NULL, 10)) : NULL;
}

static struct thing *thing_of(int fd)
{
	char path[64], is[96];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, is, sizeof(is) - 1);
	if (n < 0) {
		errno = EBADF;
		return NULL;
	}
	is[n] = '\0';
	return thing_called(is);
}

static int pin(const struct thing *thing, const char *pin_name)
{
	char path[PIN_PATH_MAX + 8], file[96];
	int fd;

	snprintf(path, sizeof(path), "%s%s", *pin_name == '/' ? "" : "pins/", pin_name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1; /* the base's, still there */
	thing_file(thing, file);
	if (write(fd, file, strlen(file)) < 0)
		abort();
	return close(fd);
}

/* What happens as soon as that pin has been opened so often; no times: nothing. */
static struct {
	const char *pin;
	unsigned int times;
	void (*then)(void);
} when_opened;

WRAPPED(int, bpf_obj_get, const char *path)
{
	char text[97] = "";
	int fd;

	if (fails("bpf_obj_get"))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		abort();
	close(fd);
	if (when_opened.times && !strcmp(path, when_opened.pin) && !--when_opened.times)
		when_opened.then();
	return thing_open(thing_called(text));
}

WRAPPED(int, bpf_obj_pin, int fd, const char *path)
{
	const struct thing *thing;

	if (fails("bpf_obj_pin"))
		return -1;
	if (pins_refused) {
		errno = pins_refused;
		return -1;
	}
	thing = thing_of(fd);
	return thing ? pin(thing, strncmp(path, "pins/", 5) ? path : path + 5) : -1;
}

WRAPPED(int, bpf_obj_get_info_by_fd, int fd, void *info, __u32 *size)
{
	const struct thing *is;

	if (fails("bpf_obj_get_info_by_fd"))
		return -1;
	is = thing_of(fd);
	if (!is)
		return -1;
	if (is->kind == PINNED_MAP) {
		struct bpf_map_info *map = info;

		map->id = is->id;
		map->type = is->type;
		map->key_size = is->key_size;
		map->value_size = is->value_size;
		map->max_entries = is->max_entries;
		memcpy(map->name, is->name, sizeof(is->name));
	} else if (is->kind == PINNED_PROGRAM) {
		struct bpf_prog_info *program = info;

		program->id = is->id;
		for (__u32 i = 0; program->map_ids && i < is->n_maps && i < program->nr_map_ids; i++)
			((__u32 *)(uintptr_t)program->map_ids)[i] = is->maps[i];
		program->nr_map_ids = is->n_maps;
		memcpy(program->name, is->name, sizeof(is->name));
	} else {
		struct bpf_link_info *link = info;

		link->id = is->id;
		link->type = BPF_LINK_TYPE_XDP;
		link->prog_id = is->program;
		link->xdp.ifindex = is->ifindex;
	}
	(void)size;
	return 0;
}

WRAPPED(int, bpf_prog_get_fd_by_id, __u32 id)
{
	return fails("bpf_prog_get_fd_by_id") ? -1 : thing_open(thing_by_id(PINNED_PROGRAM, id));
}

WRAPPED(int, bpf_map_get_fd_by_id, __u32 id)
{
	return fails("bpf_map_get_fd_by_id") ? -1 : thing_open(thing_by_id(PINNED_MAP, id));
}

WRAPPED(int, bpf_prog_get_next_id, __u32 id, __u32 *next)
{
	if (fails("bpf_prog_get_next_id"))
		return -1;
	*next = id + 1;
	return 0;
}

WRAPPED(int, bpf_map_lookup_elem, int fd, const void *key, void *value)
{
	const struct thing *map;

	if (fails("bpf_map_lookup_elem"))
		return -1;
	map = thing_of(fd);
	if (!map)
		return -1;
	if (map->type == BPF_MAP_TYPE_PERCPU_ARRAY) {
		memset(value, 0, (size_t)map->value_size * (size_t)libbpf_num_possible_cpus());
		return 0;
	}
	if (!map->full || *(const __u32 *)key) {
		errno = ENOENT;
		return -1;
	}
	memcpy(value, map->value, map->value_size);
	return 0;
}

/* An array of programs takes a descriptor, and gives an id. */
WRAPPED(int, bpf_map_update_elem, int fd, const void *key, const void *value, __u64 flags)
{
	struct thing *map, *program;

	(void)key;
	(void)flags;
	if (fails("bpf_map_update_elem"))
		return -1;
	map = thing_of(fd);
	if (!map)
		return -1;
	if (map->type == BPF_MAP_TYPE_PROG_ARRAY) {
		program = thing_of(*(const int *)value);
		if (!program)
			return -1;
		memcpy(map->value, &program->id, sizeof(program->id));
	} else if (map->type != BPF_MAP_TYPE_PERCPU_ARRAY) {
		memcpy(map->value, value, map->value_size);
	}
	map->full = true;
	return 0;
}

WRAPPED(int, bpf_map__fd, const struct bpf_map *map)
{
	return !strcmp(bpf_map__name(map), "trial") ? trial_fd : -1;
}

/* --- Interfaces and links --- */

static struct iface *iface_at(unsigned int index)
{
	for (unsigned int i = 0; i < n_ifaces; i++)
		if (ifaces[i].index == index)
			return &ifaces[i];
	return NULL;
}

static struct iface *iface_here(unsigned int index)
{
	for (unsigned int i = 0; i < n_ifaces; i++)
		if (ifaces[i].index == index && !ifaces[i].elsewhere)
			return &ifaces[i];
	return NULL;
}

static struct iface *iface_new(unsigned int index, const char *name)
{
	struct iface *new = &ifaces[n_ifaces++];

	*new = (struct iface){ .index = index, .hardware = ARPHRD_ETHER };
	snprintf(new->name, sizeof(new->name), "%s", name);
	return new;
}

static void iface_gone(unsigned int index)
{
	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == PINNED_LINK && things[i].ifindex == index)
			things[i].ifindex = 0;
	*iface_at(index) = ifaces[--n_ifaces];
}

static struct thing *link_on(unsigned int index)
{
	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == PINNED_LINK && things[i].ifindex == index && !things[i].away && !things[i].tc)
			return &things[i];
	return NULL;
}

WRAPPED(unsigned int, if_nametoindex, const char *name)
{
	for (unsigned int i = 0; i < n_ifaces; i++)
		if (!ifaces[i].elsewhere && !strcmp(ifaces[i].name, name))
			return ifaces[i].index;
	errno = ENODEV;
	return 0;
}

WRAPPED(char *, if_indextoname, unsigned int index, char *name)
{
	const struct iface *is;

	if (fails("if_indextoname"))
		return NULL;
	is = iface_here(index);
	errno = ENXIO;
	return is ? strcpy(name, is->name) : NULL;
}

WRAPPED(struct if_nameindex *, interfaces_all, void)
{
	struct if_nameindex *all = calloc(n_ifaces + 1, sizeof(*all));
	unsigned int n = 0;

	for (unsigned int i = 0; all && i < n_ifaces; i++)
		if (!ifaces[i].elsewhere)
			all[n++] = (struct if_nameindex){ ifaces[i].index, ifaces[i].name };
	return all;
}

WRAPPED(void, interfaces_free, struct if_nameindex *all)
{
	free(all);
}

int __wrap_ioctl(int fd, unsigned long what, struct ifreq *request);
int __wrap_ioctl(int fd, unsigned long what, struct ifreq *request)
{
	const struct iface *is = iface_here(__wrap_if_nametoindex(request->ifr_name));

	if (fails("ioctl"))
		return -1;
	if (fd < 0 || !is)
		return -1;
	if (what == SIOCGIFFLAGS)
		request->ifr_flags = is->flags;
	else
		request->ifr_hwaddr.sa_family = (sa_family_t)is->hardware;
	return what == SIOCGIFFLAGS || what == SIOCGIFHWADDR ? 0 : -1;
}

static bool is_pinned(const struct thing *thing);

/* It goes with its last descriptor. */
static void let_go(struct thing *link)
{
	bool open = false;

	for (int fd = 3; fd < 64 && link; fd++)
		open = open || thing_of(fd) == link;
	if (link && !open && !is_pinned(link))
		link->ifindex = 0;
}

WRAPPED(int, bpf_link_create, int program, int ifindex, enum bpf_attach_type type,
	const struct bpf_link_create_opts *opts)
{
	const struct iface *at = iface_here((unsigned int)ifindex);
	const struct thing *runs = thing_of(program);
	bool by_tc = (__u32)type == ATTACH_TCX_INGRESS || (__u32)type == ATTACH_TCX_EGRESS;
	bool skb = !by_tc && opts->flags & XDP_FLAGS_SKB_MODE;
	struct thing *link;

	if (fails("bpf_link_create"))
		return -1;
	let_go(link_on((unsigned int)ifindex));
	errno = !at || !runs || (type != BPF_XDP && !by_tc)	      ? EINVAL
		: by_tc						      ? 0
		: at->foreign || at->dispatcher || link_on(at->index) ? EBUSY
		: skb						      ? 0
								      : at->native;
	if (errno)
		return -1;
	link = thing_new(PINNED_LINK, "");
	link->ifindex = at->index;
	link->program = runs->id;
	link->skb = skb;
	link->tc = by_tc ? (__u32)type : 0;
	return thing_open(link);
}

WRAPPED(int, bpf_prog_query_opts, int ifindex, enum bpf_attach_type type, struct bpf_prog_query_opts *opts)
{
	__u32 n = 0;

	if (fails("bpf_prog_query_opts"))
		return -1;
	if (!iface_here((unsigned int)ifindex)) {
		errno = ENODEV;
		return -1;
	}
	for (unsigned int i = 0; i < n_things && n < opts->prog_cnt; i++)
		if (things[i].kind == PINNED_LINK && things[i].ifindex == (__u32)ifindex && !things[i].away &&
		    things[i].tc == (__u32)type)
			opts->prog_ids[n++] = things[i].program;
	opts->prog_cnt = n;
	return 0;
}

static unsigned int kernel_is = KERNEL_VERSION(6, 12, 0); /* with links of tc */

unsigned int __wrap_host_kernel(void);
unsigned int __wrap_host_kernel(void)
{
	return kernel_is;
}

WRAPPED(int, bpf_link_detach, int fd)
{
	struct thing *link;

	if (fails("bpf_link_detach"))
		return -1;
	link = thing_of(fd);
	if (!link || link->kind != PINNED_LINK) {
		errno = EINVAL;
		return -1;
	}
	link->ifindex = 0;
	return 0;
}

WRAPPED(int, bpf_link_update, int fd, int program, const struct bpf_link_update_opts *opts)
{
	struct thing *link, *runs;

	(void)opts;
	if (fails("bpf_link_update"))
		return -1;
	link = thing_of(fd);
	runs = thing_of(program);
	if (!link || !runs || !link->ifindex) {
		errno = link && runs ? ENOLINK : EBADF;
		return -1;
	}
	link->program = runs->id;
	return 0;
}

WRAPPED(int, port_xdp, unsigned int ifindex, struct port_xdp *is)
{
	const struct iface *at = iface_here(ifindex);
	const struct thing *link;
	__u32 id;
	bool skb;

	*is = (struct port_xdp){ 0 };
	if (fails("port_xdp"))
		return -errno;
	if (!at)
		return -ENODEV;
	link = link_on(at->index);
	id = link ? link->program : at->foreign ?: at->dispatcher ? 99 : 0;
	skb = link ? link->skb : at->skb;
	is->programs[skb] = id;
	is->skb = id && skb;
	return 0;
}

/* --- Dispatchers --- */

struct xdp_multiprog {
	struct iface *at;
	struct xdp_program *programs;
};

struct xdp_program {
	__u32 id;
	int fd;
	char name[64];
	bool frags, chained;
};

static bool dispatches(const struct iface *at)
{
	return at && (at->dispatcher || at->foreign || link_on(at->index));
}

static void speak(libxdp_print_fn_t fn, enum libxdp_print_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fn(level, format, args);
	va_end(args);
}

/* It has something to say at once. */
libxdp_print_fn_t libxdp_set_print(libxdp_print_fn_t fn)
{
	speak(fn, LIBXDP_WARN, "libxdp warns of %d\n", 1);
	speak(fn, LIBXDP_INFO, "libxdp mentions %d\n", 2);
	speak(fn, LIBXDP_DEBUG, "libxdp babbles of %d\n", 3);
	return fn;
}

/* An error is a pointer of the last page. */
long libxdp_get_error(const void *ptr)
{
	return (uintptr_t)ptr > (uintptr_t)-4096 ? (long)(intptr_t)ptr : 0;
}

struct xdp_multiprog *xdp_multiprog__get_from_ifindex(int ifindex)
{
	struct iface *at = iface_here((unsigned int)ifindex);
	struct xdp_multiprog *multi;

	if (fails("xdp_multiprog__get_from_ifindex"))
		return (struct xdp_multiprog *)(intptr_t)-errno;
	if (!dispatches(at))
		return (struct xdp_multiprog *)(intptr_t)-ENOENT;
	multi = calloc(1, sizeof(*multi));
	multi->at = at;
	multi->programs = calloc(BEHIND, sizeof(*multi->programs));
	for (unsigned int i = 0; i < at->n; i++)
		multi->programs[i].id = at->behind[i];
	multis++;
	return multi;
}

bool xdp_multiprog__is_legacy(const struct xdp_multiprog *multi)
{
	return !multi->at->dispatcher;
}

enum xdp_attach_mode xdp_multiprog__attach_mode(const struct xdp_multiprog *multi)
{
	return multi->at->skb ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

struct xdp_program *xdp_multiprog__next_prog(const struct xdp_program *program, const struct xdp_multiprog *multi)
{
	size_t next = program ? (size_t)(program - multi->programs) + 1 : 0;

	return next < multi->at->n ? &multi->programs[next] : NULL;
}

void xdp_multiprog__close(struct xdp_multiprog *multi)
{
	multis--;
	free(multi->programs);
	free(multi);
}

struct xdp_program *xdp_program__create(struct xdp_program_opts *opts)
{
	struct xdp_program *program;

	if (fails("xdp_program__create"))
		return (struct xdp_program *)(intptr_t)-errno;
	program = calloc(1, sizeof(*program));
	program->fd = -1;
	snprintf(program->name, sizeof(program->name), "%s", opts->prog_name);
	programs_open_now++;
	return program;
}

int xdp_program__set_xdp_frags_support(struct xdp_program *program, bool frags)
{
	if (fails("xdp_program__set_xdp_frags_support"))
		return -errno;
	program->frags = frags;
	return 0;
}

int xdp_program__set_chain_call_enabled(struct xdp_program *program, unsigned int action, bool enabled)
{
	if (fails("xdp_program__set_chain_call_enabled"))
		return -errno;
	program->chained = enabled && action == 2; /* XDP_PASS */
	return 0;
}

/* Where there is no dispatcher, and none can be put there, it is attached alone. */
int xdp_program__attach(struct xdp_program *program, int ifindex, enum xdp_attach_mode mode, unsigned int flags)
{
	struct iface *at = iface_here((unsigned int)ifindex);
	bool skb = mode == XDP_MODE_SKB;
	struct thing *loaded;

	if (fails("xdp_program__attach"))
		return -errno;
	if (!at || flags)
		return -EINVAL;
	if (at->foreign || link_on(at->index) || at->n == BEHIND || (at->dispatcher && at->skb != skb))
		return -EBUSY;
	if (!skb && at->native)
		return -at->native;
	loaded = thing_new(PINNED_PROGRAM, program->name);
	loaded->n_maps = n_uses;
	memcpy(loaded->maps, uses, sizeof(uses));
	loaded->full = program->chained;
	loaded->skb = program->frags;
	if (!strcmp(program->name, "xdp_bloom_trial_shared")) {
		struct thing *trial = thing_new(PINNED_MAP, "trial");

		trial->value_size = sizeof(struct trial);
		loaded->maps[loaded->n_maps++] = trial->id;
		trial_fd = thing_open(trial);
	}
	program->id = loaded->id;
	program->fd = thing_open(loaded);
	at->skb = skb;
	at->dispatcher = freplace;
	if (freplace)
		at->behind[at->n++] = loaded->id;
	else
		at->foreign = loaded->id;
	return 0;
}

int xdp_program__detach(struct xdp_program *program, int ifindex, enum xdp_attach_mode mode, unsigned int flags)
{
	struct iface *at = iface_here((unsigned int)ifindex);
	unsigned int i = 0;

	if (fails("xdp_program__detach"))
		return -errno;
	if (!at || flags || (mode == XDP_MODE_SKB) != at->skb)
		return -EINVAL;
	if (at->foreign == program->id) {
		at->foreign = 0;
		return 0;
	}
	while (i < at->n && at->behind[i] != program->id)
		i++;
	if (i == at->n)
		return -ENOENT;
	memmove(&at->behind[i], &at->behind[i + 1], (at->n - i - 1) * sizeof(at->behind[0]));
	at->n--;
	at->dispatcher = at->n > 0;
	return 0;
}

int xdp_program__fd(const struct xdp_program *program)
{
	return program->fd;
}

uint32_t xdp_program__id(const struct xdp_program *program)
{
	return program->id;
}

void xdp_program__close(struct xdp_program *program)
{
	if (program->fd >= 0)
		close(program->fd);
	if (trial_fd >= 0)
		close(trial_fd);
	trial_fd = -1;
	programs_open_now--;
	free(program);
}

/* --- What is loaded for good, and not here --- */

int __wrap_kernel_ready(const struct context *context);
int __wrap_kernel_ready(const struct context *context)
{
	(void)context;
	if (fails("kernel_ready"))
		return -errno;
	mkdir("pins", 0700);
	mkdir("pins/links", 0700);
	mkdir("pins/generation", 0700);
	return 0;
}

int __wrap_root_on_trial(const struct context *context, int64_t until, unsigned int match, bool bare);
int __wrap_root_on_trial(const struct context *context, int64_t until, unsigned int match, bool bare)
{
	struct thing *root, *trial;

	(void)context;
	(void)match;
	(void)bare;
	if (fails("root_on_trial"))
		return -errno;
	root = thing_new(PINNED_PROGRAM, "xdp_bloom_trial_root");
	trial = thing_new(PINNED_MAP, "trial");
	trial->value_size = sizeof(struct trial);
	trial->full = true;
	memcpy(trial->value, &(struct trial){ .until = (__u64)until }, sizeof(struct trial));
	root->maps[root->n_maps++] = trial->id;
	return thing_open(root);
}

/* Nothing here has no slot. */
int __wrap_root_of(const struct context *context, unsigned int match, bool bare);
int __wrap_root_of(const struct context *context, unsigned int match, bool bare)
{
	(void)context;
	return fails("root_of") ? -errno
				: thing_open(thing_new(PINNED_PROGRAM, bare    ? "xdp_bloom_bare"
								       : match ? "xdp_bloom_frags"
									       : "xdp_bloom_root"));
}

int __wrap_netlink_kind(unsigned int ifindex, char kind[NETLINK_KIND_MAX]);
int __wrap_netlink_kind(unsigned int ifindex, char kind[NETLINK_KIND_MAX])
{
	const struct iface *is = iface_here(ifindex);

	snprintf(kind, NETLINK_KIND_MAX, "%s",
		 is && is->kind			     ? is->kind
		 : is && is->hardware == ARPHRD_NONE ? "wireguard"
						     : "ppp");
	return fails("netlink_kind") ? -errno : 0;
}

/* Nothing is known of what lies under it. */
int __wrap_port_look(struct port *port, const char *name);
int __wrap_port_look(struct port *port, const char *name)
{
	(void)port;
	(void)name;
	return -ENODEV;
}

/* Of a veth. */
unsigned int __wrap_port_receive_on(const char *name, unsigned int queues);
unsigned int __wrap_port_receive_on(const char *name, unsigned int queues)
{
	struct iface *at = NULL;

	for (unsigned int i = 0; i < n_ifaces; i++)
		if (!strcmp(ifaces[i].name, name))
			at = &ifaces[i];
	if (!at || !at->queues)
		return 0;
	at->native = !queues && at->queues > 1 ? 0 : ENOSPC;
	if (!fail_at)
		printf("%s receives on %s\n", name, queues ? "as many queues as before" : "all of its queues");
	return 1;
}

int __wrap_kernel_retire_port(const struct context *context, unsigned int port);
int __wrap_kernel_retire_port(const struct context *context, unsigned int port)
{
	(void)context;
	(void)port;
	return fails("kernel_retire_port") ? -errno : 0;
}

WRAPPED(int, rename, const char *from, const char *to)
{
	return fails("rename") ? -1 : __real_rename(from, to);
}

/* Put aside: where a file is removed, file systems give its inode to the next one. */
__attribute__((unused)) static int put_aside(const char *path)
{
	static unsigned int n;
	char aside[64];

	snprintf(aside, sizeof(aside), "things/gone-%u", n++);
	return __real_rename(path, aside);
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	return fails("unlink") ? -1 : put_aside(path);
}

WRAPPED(int, mkdir, const char *path, mode_t mode)
{
	return fails("mkdir") ? -1 : __real_mkdir(path, mode);
}

WRAPPED(DIR *, opendir, const char *path)
{
	return fails("opendir") ? NULL : __real_opendir(path);
}

/* In the order of their names, whatever file system it is: calls are counted. */
struct dirent *__wrap_readdir(DIR *dir);
int __wrap_closedir(DIR *dir);
struct dirent *__real_readdir(DIR *dir);
int __real_closedir(DIR *dir);

static struct listing {
	DIR *dir;
	struct dirent at[64];
	size_t n, next;
} listings[8];

static int listing_fails; /* so, behind the first entry */

static int by_entry(const void *a, const void *b)
{
	return strcmp(((const struct dirent *)a)->d_name, ((const struct dirent *)b)->d_name);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	struct listing *is = NULL;
	struct dirent *entry;

	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++)
		if (listings[i].dir == dir)
			is = &listings[i];
	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]) && !is; i++) {
		if (listings[i].dir)
			continue;
		is = &listings[i];
		*is = (struct listing){ .dir = dir };
		while (is->n < 64 && (entry = __real_readdir(dir)))
			is->at[is->n++] = *entry;
		qsort(is->at, is->n, sizeof(is->at[0]), by_entry);
	}
	if (!is)
		abort();
	if (listing_fails && is->next == 3) {
		errno = listing_fails;
		return NULL;
	}
	return is->next < is->n ? &is->at[is->next++] : NULL;
}

int __wrap_closedir(DIR *dir)
{
	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++)
		if (listings[i].dir == dir)
			listings[i].dir = NULL;
	return __real_closedir(dir);
}

#endif
