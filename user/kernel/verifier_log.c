// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/verifier_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/log.h"

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

void verifier_log_ready(void)
{
	libbpf_set_print(print);
}
