// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "kernel/attach.h"
#include "kernel/pins.h"
#include "kernel/programs.h"
#include "xdp_bloom.skel.h"

/* With --verbose, libbpf prints the verifier's log, in which the secret seeds are numbers: those are not shown. */
#define DIGITS_SHOWN 5 /* of offsets, counts and the like */

/* A seed, or what the verifier computes from one, is a long number, decimal or hex. */
static void hide_long_numbers(char *text)
{
	char *to = text;

	while (*text) {
		size_t digits = strspn(text, "0123456789abcdefABCDEF"), n = digits ? digits : 1;

		if (digits > DIGITS_SHOWN) {
			*to++ = '#';
		} else {
			memmove(to, text, n);
			to += n;
		}
		text += n;
	}
	*to = '\0';
}

static int print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text;

	if (!log_settings.verbose || level == LIBBPF_DEBUG || vasprintf(&text, fmt, args) < 0)
		return 0;
	hide_long_numbers(text);
	fputs(text, stderr);
	free(text);
	return 0;
}

int kernel_ready(const struct context *context)
{
	libbpf_set_print(print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL); /* with it, libbpf raises RLIMIT_MEMLOCK where maps count (5.10) */
	return pins_ready(context);
}

/* The root's name says whether it takes packets of several buffers. */
static int takes_frags(int root)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(root, &info, &size))
		return because_kernel(-errno, PIN_ROOT);
	return !strcmp(info.name, "xdp_bloom_frags");
}

static int load_root(const struct context *context, bool frags)
{
	struct xdp_bloom_bpf *skel;
	struct generation g = { .frags = frags };
	struct bpf_program *program = NULL, *root;
	char path[PIN_PATH_MAX];
	int err = programs_open(context, &skel);

	if (err)
		return err;
	root = frags ? skel->progs.xdp_bloom_frags : skel->progs.xdp_bloom_root;
	while ((program = bpf_object__next_program(skel->obj, program)))
		bpf_program__set_autoload(program, program == root);
	err = programs_load(skel->obj, &g, NULL);
	pin_path(context, path, PIN_ROOT);
	/* Without memory libbpf may take it that the kernel knows no program names. */
	if (!err && takes_frags(bpf_program__fd(root)) != frags)
		err = -ENOMEM;
	if (!err) {
		unlink(path);
		err = bpf_program__pin(root, path) ?: attach_new_root(context, bpf_program__fd(root));
	}
	xdp_bloom_bpf__destroy(skel);
	return err;
}

int kernel_frags(const struct context *context)
{
	int fd = pin_get(context, PIN_ROOT), frags;

	if (fd < 0)
		return because_kernel(fd, PIN_ROOT);
	frags = takes_frags(fd);
	close(fd);
	return frags;
}

int kernel_base(const struct context *context)
{
	int fd = pin_get(context, PIN_ROOT), err;

	if (fd >= 0) {
		close(fd);
		fd = pin_get(context, PIN_SLOT);
	}
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = load_root(context, true);
	if (err_is(err, EINVAL))
		err = load_root(context, false);
	return err ? because_program(err, "loading the root program") : 0;
}
