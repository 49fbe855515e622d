/* SPDX-License-Identifier: GPL-2.0-only */
/* A file of packets that is there whole or not at all: it is written beside its name, and renamed at the end. */
#ifndef VERBS_PACKETS_OUT_H
#define VERBS_PACKETS_OUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct pcapng;

struct packets_out {
	const char *path; /* NULL: not asked for */
	char real[PATH_MAX], beside[PATH_MAX];
	bool there;
	struct stat st; /* of what is there */
	struct pcapng *file;
};

/* Where it leads to; opens nothing. As the others 0 or -errno with the reason recorded. */
int packets_out_look(struct packets_out *out, const char *path);
/* Would writing the one change the other? A device is nobody's. */
bool packets_out_is(const struct packets_out *out, const struct stat *st);
bool packets_out_same(const struct packets_out *a, const struct packets_out *b);
/* What is no regular file, such as a pipe, is opened as it is. */
int packets_out_open(struct packets_out *out);
/* err: what went wrong until now; then nothing is left of it. */
int packets_out_close(struct packets_out *out, int err);
/* Gives it its name. */
int packets_out_keep(struct packets_out *out, int err);

#endif
