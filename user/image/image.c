// SPDX-License-Identifier: GPL-2.0-only
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>

#include "filter/arrays.h"
#include "filter/verify.h"
#include "base/clean_text.h"
#include "base/confined.h"
#include "base/log.h"
#include "base/mapped.h"
#include "image/validate.h"
#include "sets/list.h"

_Static_assert(sizeof(((struct image_list *)0)->name) == LIST_NAME_MAX, "a list's name fits");

uint64_t image_checksum(const void *memory, size_t size, uint64_t before)
{
	return lzma_crc64(memory, size, before);
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
}

uint64_t image_bytes(const struct generation *g, uint64_t lists)
{
	uint64_t bytes = aligned(sizeof(struct image_header) + lists * sizeof(struct image_list));

	for (enum array a = 0; a < ARRAYS; a++)
		bytes += aligned(array_bytes(g, a));
	return bytes + sizeof(uint64_t);
}

static bool is_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return len && len < size;
}

static bool is_name(const char *text, size_t size)
{
	return is_text(text, size) && !text[strspn(text, LIST_NAME_BYTES "()")];
}

static const char *lists_fault(const struct image_header *header, const struct image_list *lists)
{
	__u64 shadow[LABELS / 64] = { 0 }, any;
	bool taken[LABELS] = { false };

	for (__u64 i = 0; i < header->lists; i++) {
		const struct image_list *list = &lists[i];

		if (!is_name(list->name, sizeof(list->name)) || !is_text(list->addresses, sizeof(list->addresses)) ||
		    !is_text(list->loaded, sizeof(list->loaded)))
			return "a list's name is none";
		if (!list->label || list->label >= LABELS || taken[list->label] ||
		    (list->kind != LIST_BAN && list->kind != LIST_SHADOW))
			return "its lists do not fit together";
		for (__u64 j = 0; j < i; j++)
			if (!strcmp(list->name, lists[j].name))
				return "two of its lists have one name";
		taken[list->label] = true;
		if (list->kind == LIST_SHADOW)
			shadow[list->label / 64] |= 1ULL << (list->label % 64);
	}
	any = shadow[0] | shadow[1] | shadow[2] | shadow[3];
	if (memcmp(shadow, header->g.shadow, sizeof(shadow)) || header->g.shadows != !!any)
		return "its shadow lists do not fit together";
	return NULL;
}

/* From the outside in: sizes are checked before what they lead to. */
static const char *header_fault(const struct image_header *header, size_t size)
{
	const char *fault = image_fault(&header->g);

	if (fault)
		return fault;
	if (header->lists >= LABELS || image_bytes(&header->g, header->lists) != size)
		return "its sizes do not fit together";
	if (!(header->asked >= 0 && header->asked <= 1))
		return "the rate that was asked for is none";
	if (!is_text(header->saved, sizeof(header->saved)))
		return "it does not say when it was saved";
	return lists_fault(header, (const struct image_list *)(header + 1));
}

/* Whatever the arrays hold, no look-up leaves them; but they must hold what a build could have made. */
static const char *arrays_fault(const struct image *image)
{
	bool known[LABELS] = { [LABEL_LIVE] = true };

	for (__u64 i = 0; i < image->header->lists; i++)
		known[image->lists[i].label] = true;
	return check_stored(&image->g, known);
}

static void point(struct image *image)
{
	char *at = (char *)image->memory +
		   aligned(sizeof(struct image_header) + image->header->lists * sizeof(struct image_list));

	image->lists = (const struct image_list *)(image->header + 1);
	image->g = image->header->g;
	for (enum array a = 0; a < ARRAYS; a++) {
		uint64_t bytes = array_bytes(&image->header->g, a);

		*generation_member(&image->g, array_kinds[a].member) = bytes ? (__u64)(uintptr_t)at : 0;
		at += aligned(bytes);
	}
}

int image_parse(struct image *image, const char *name, const void *memory, size_t size, bool whole)
{
	const struct image_header *header = memory;
	const char *fault;
	uint64_t sum;

	memset(image, 0, sizeof(*image));
	if (size < sizeof(header->magic) || memcmp(header->magic, IMAGE_MAGIC, sizeof(header->magic)))
		return because(-EINVAL, "%s is not an image of xdp-bloom", name);
	if (size < sizeof(*header) + sizeof(sum))
		return because(-EUCLEAN, "%s is cut short", name);
	if (header->byte_order == __builtin_bswap32(IMAGE_BYTE_ORDER))
		return because(-EPROTO,
			       "%s was saved on a machine of the other byte order; load its lists here instead", name);
	if (header->version != IMAGE_VERSION || header->byte_order != IMAGE_BYTE_ORDER ||
	    header->generation != sizeof(header->g) || !generation_is_known(header->g.version))
		return because(-EPROTO, "%s is an image of another version of xdp-bloom; save it again with this one",
			       name);
	if (header->bytes != size)
		return because(-EUCLEAN, "%s is cut short, or longer than it says", name);
	memcpy(&sum, (const char *)memory + size - sizeof(sum), sizeof(sum));
	if (whole && image_checksum(memory, size - sizeof(sum), 0) != sum)
		return because(-EUCLEAN, "%s is damaged: the checksum is wrong", name);
	fault = header_fault(header, size);
	if (fault)
		return because(-EUCLEAN, "%s is damaged: %s", name, fault);
	image->header = header;
	image->memory = (void *)(uintptr_t)memory;
	image->size = size;
	snprintf(image->id, sizeof(image->id), "%016llx", (unsigned long long)sum);
	point(image);
	fault = whole ? arrays_fault(image) : NULL;
	return fault ? because(-EUCLEAN, "%s is damaged: %s", name, fault) : 0;
}

/* What a process without rights found. */
struct finding {
	int32_t err;
	char text[512];
};

struct judged {
	const char *name;
	const void *memory;
	size_t size;
};

static void judge(void *arg, int answer)
{
	const struct judged *it = arg;
	struct finding finding = { 0 };
	struct image image;
	int err = image_parse(&image, it->name, it->memory, it->size, true);

	if (err) {
		finding.err = -error_number(err);
		snprintf(finding.text, sizeof(finding.text), "%s", reason(err));
	}
	confined_tell(answer, &finding, sizeof(finding));
}

/* All of it is looked through where a hole in what looks is not root; then only its sizes are believed here, once more.
 */
static int parse_whole(struct image *image, const char *name, const void *memory, size_t size)
{
	struct judged it = { name, memory, size };
	struct finding finding;
	struct confined process;
	char how[96], text[sizeof(finding.text)];
	int err = confined_start(&process, -1, 0, judge, &it);

	if (err)
		return because(err, "%s: %s", name, errno_text(err));
	if (confined_answer(&process, &finding, sizeof(finding))) {
		confined_end(&process, how, sizeof(how));
		return because(-EIO, "%s: the process that checks it did not come to an end: %s", name, how);
	}
	confined_stop(&process);
	if (finding.err > 0 || -finding.err >= 1 << ERRNO_BITS)
		return because(-EPROTO, "%s: the process that checks it gave no proper answer", name);
	finding.text[sizeof(finding.text) - 1] = '\0';
	if (finding.err)
		return because(finding.err, "%s", clean_copy(text, sizeof(text), finding.text));
	return image_parse(image, name, memory, size, false);
}

/* Header and lists, as many as there can be. */
#define HEAD_MOST (sizeof(struct image_header) + LABELS * sizeof(struct image_list))

int image_open(struct image *image, const char *path, const char *name, bool whole)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	void *memory = NULL;
	struct stat st = { 0 };

	if (fd < 0 || fstat(fd, &st)) {
		err = because(-errno, "%s: %s", name, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		err = because(-EINVAL, "%s is not an image of xdp-bloom", name);
	} else {
		memory = mapped_file(fd, (size_t)st.st_size, PROT_READ, MAP_PRIVATE);
		err = memory ? 0 : because(-errno, "%s: %s", name, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	/* Its owner may write to it at any time: sizes and names stay those that were checked. */
	if (memory)
		err = mapped_own(memory, (size_t)st.st_size < HEAD_MOST ? (size_t)st.st_size : HEAD_MOST);
	if (memory && err)
		err = because(err, "%s: %s", name, errno_text(err));
	else if (memory)
		err = whole ? parse_whole(image, name, memory, (size_t)st.st_size)
			    : image_parse(image, name, memory, (size_t)st.st_size, false);
	if (memory && mapped_is_cut(memory))
		err = because(-EUCLEAN, "%s was cut while it was read", name);
	if (err && memory)
		mapped_end(memory, (size_t)st.st_size);
	if (err)
		memset(image, 0, sizeof(*image));
	return err;
}

void image_close(struct image *image)
{
	if (image->memory)
		mapped_end(image->memory, image->size);
	memset(image, 0, sizeof(*image));
}

bool image_is(const char *path)
{
	char magic[sizeof(IMAGE_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		  !memcmp(magic, IMAGE_MAGIC, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

int image_lists(const struct image *image, struct list_info **lists, size_t *n)
{
	*n = image->header->lists;
	*lists = calloc(*n + 1, sizeof(**lists));
	if (!*lists)
		return -ENOMEM;
	for (size_t i = 0; i < *n; i++) {
		const struct image_list *from = &image->lists[i];
		struct list_info *to = &(*lists)[i];

		to->kind = (enum list_kind)from->kind;
		to->label = (uint8_t)from->label;
		to->prefixes = from->prefixes;
		snprintf(to->name, sizeof(to->name), "%s", from->name);
		snprintf(to->addresses, sizeof(to->addresses), "%s", from->addresses);
		snprintf(to->loaded, sizeof(to->loaded), "%s", from->loaded);
		snprintf(to->source, sizeof(to->source), "image %s", image->id);
	}
	return 0;
}
