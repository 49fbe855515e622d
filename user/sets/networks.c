// SPDX-License-Identifier: GPL-2.0-only
#include "sets/networks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/mapped.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "sets/networks_file.h"

struct networks {
	void *file;
	size_t bytes;
	struct networks_head head;
	/* In the file: */
	const ip6 *start6;
	const uint32_t *start4, *is6, *is4;
	const struct networks_name *names;
	const char *text;
};

/* Every number is believed only as far as the file is long. */
static bool head_fits(const struct networks_head *h, uint64_t bytes)
{
	uint64_t left = bytes - sizeof(*h);

	if (memcmp(h->magic, NETWORKS_MAGIC, sizeof(h->magic)) != 0 || h->n6 > left / 20 || h->n4 > left / 8 ||
	    h->names > left / sizeof(struct networks_name) || h->text > left || h->text > UINT32_MAX || !h->text)
		return false;
	return h->n6 * 20 + h->n4 * 8 + h->names * sizeof(struct networks_name) + h->text == left;
}

static void find_arrays(struct networks *n)
{
	const char *at = (const char *)n->file + sizeof(n->head);

	n->start6 = (const ip6 *)(const void *)at;
	n->start4 = (const uint32_t *)(n->start6 + n->head.n6);
	n->is6 = n->start4 + n->head.n4;
	n->is4 = n->is6 + n->head.n6;
	n->names = (const struct networks_name *)(const void *)(n->is4 + n->head.n4);
	n->text = (const char *)(n->names + n->head.names);
}

static int open_file(struct networks *n, const char *path)
{
	int fd = open_trusted(path, "what networks are called"), err = fd < 0 ? fd : 0;
	off_t bytes;

	if (err)
		return err;
	bytes = lseek(fd, 0, SEEK_END);
	if (bytes < (off_t)sizeof(n->head) || pread(fd, &n->head, sizeof(n->head), 0) != (ssize_t)sizeof(n->head) ||
	    !head_fits(&n->head, (uint64_t)bytes)) {
		err = because(-EUCLEAN,
			      "%s: it is damaged, or of another version; 'xdp-bloom tune --networks' makes it again",
			      path);
	} else {
		n->bytes = (size_t)bytes;
		n->file = mapped_file(fd, n->bytes, PROT_READ, MAP_SHARED);
		if (!n->file)
			err = because(-errno, "%s: %s", path, strerror(errno));
	}
	close_fd(fd);
	if (err)
		return err;
	n->head.source.path[PATH_MAX - 1] = n->head.source.stamp[SOURCE_STAMP_MAX - 1] = '\0';
	find_arrays(n);
	return 0;
}

int networks_map(struct networks **networks, const char *state)
{
	char path[STATE_PATH_MAX];
	struct networks *n;
	int err;

	*networks = NULL;
	if (access(state_path(path, state, STATE_NETWORKS), F_OK))
		return 0;
	n = calloc(1, sizeof(*n));
	err = n ? open_file(n, path) : -ENOMEM;
	if (err)
		free(n);
	else
		*networks = n;
	return err;
}

void networks_warn(int err)
{
	warn("whose addresses are is not shown: %s", reason(err));
}

struct networks *networks_open(const char *state)
{
	struct networks *n;
	int err = networks_map(&n, state);

	if (err)
		networks_warn(err);
	return n;
}

void networks_close(struct networks *n)
{
	if (n)
		mapped_end(n->file, n->bytes);
	free(n);
}

const struct networks_source *networks_from(const struct networks *n)
{
	return n ? &n->head.source : NULL;
}

/* The last of n that is not above it: n where there is none. */
static size_t last4(const uint32_t *start, size_t n, uint32_t addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (start[middle] <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : n;
}

static size_t last6(const ip6 *start, size_t n, ip6 addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (start[middle] <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : n;
}

static uint32_t name_of(const struct networks *n, int family, ip6 addr)
{
	size_t at;

	if (family == 4) {
		at = last4(n->start4, n->head.n4, (uint32_t)addr);
		return at < n->head.n4 ? n->is4[at] : 0;
	}
	at = last6(n->start6, n->head.n6, addr);
	return at < n->head.n6 ? n->is6[at] : 0;
}

bool networks_find(const struct networks *n, struct addr first, unsigned int length, struct network *network)
{
	struct networks_name name;
	uint32_t is;

	if (!n)
		return false;
	is = name_of(n, first.family, first.num);
	if (!is || is > n->head.names || name_of(n, first.family, first.num | addr_mask(first.family, length)) != is)
		return false;
	name = n->names[is - 1];
	if (name.text >= n->head.text)
		return false;
	if (network) {
		size_t most = n->head.text - name.text < NETWORK_NAME_MAX ? n->head.text - name.text : NETWORK_NAME_MAX;

		network->asn = name.asn;
		memcpy(network->country, name.country, sizeof(network->country));
		network->country[2] = network->country[3] = '\0';
		snprintf(network->name, sizeof(network->name), "%.*s", (int)most, n->text + name.text);
		clean_text(network->name);
		clean_text(network->country);
	}
	return true;
}

const char *networks_text(char buf[NETWORK_TEXT_MAX], const struct networks *n, struct addr first, unsigned int length)
{
	struct network is;
	char asn[16] = "";

	buf[0] = '\0';
	if (!networks_find(n, first, length, &is))
		return buf;
	if (is.asn)
		snprintf(asn, sizeof(asn), "AS%u", is.asn);
	snprintf(buf, NETWORK_TEXT_MAX, "%s%s%s%s%s", is.country, is.country[0] && asn[0] ? " " : "", asn,
		 (is.country[0] || asn[0]) && is.name[0] ? " " : "", is.name);
	return buf;
}

int networks_check(const char *state)
{
	char sum[SHA256_TEXT];
	struct networks *n;
	struct sha256 sha;
	size_t from = offsetof(struct networks_head, n6);
	int err = networks_map(&n, state);

	if (err || !n)
		return err;
	sha256_begin(&sha);
	sha256_add(&sha, (const char *)n->file + from, n->bytes - from);
	sha256_end(&sha, sum);
	if (memcmp(sum, n->head.sum, sizeof(sum)) != 0)
		err = because(-EUCLEAN,
			      "%s/" STATE_NETWORKS ": it is damaged; 'xdp-bloom tune --networks FILE' makes it again",
			      state);
	networks_close(n);
	return err;
}
