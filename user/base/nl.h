/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of netlink, and the attributes in them: read, where the kernel's lengths are believed only as far as the
 * bytes go, and written into room that the caller has.
 */
#ifndef BASE_NL_H
#define BASE_NL_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- Messages --- */

static inline void *nl_payload(const struct nlmsghdr *m)
{
	return (char *)m + NLMSG_HDRLEN;
}

static inline size_t nl_payload_len(const struct nlmsghdr *m)
{
	return m->nlmsg_len - NLMSG_HDRLEN;
}

/* Is there a whole message in the `left` bytes from m on? */
static inline bool nl_ok(const struct nlmsghdr *m, int left)
{
	return left >= (int)sizeof(*m) && m->nlmsg_len >= sizeof(*m) && m->nlmsg_len <= (uint32_t)left;
}

static inline struct nlmsghdr *nl_next(const struct nlmsghdr *m, int *left)
{
	*left -= (int)NLMSG_ALIGN(m->nlmsg_len);
	return (struct nlmsghdr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));
}

static inline struct nlmsghdr *nl_put_header(void *room)
{
	struct nlmsghdr *m = room;

	memset(m, 0, NLMSG_HDRLEN);
	m->nlmsg_len = NLMSG_HDRLEN;
	return m;
}

/* What follows the header: zeros, for the caller to fill. */
static inline void *nl_put_extra(struct nlmsghdr *m, size_t size)
{
	void *extra = (char *)m + NLMSG_ALIGN(m->nlmsg_len);

	memset(extra, 0, NLMSG_ALIGN(size));
	m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + (uint32_t)NLMSG_ALIGN(size);
	return extra;
}

/* --- Attributes --- */

static inline uint16_t nl_attr_type(const struct nlattr *at)
{
	return at->nla_type & NLA_TYPE_MASK;
}

static inline void *nl_attr_payload(const struct nlattr *at)
{
	return (char *)at + NLA_HDRLEN;
}

static inline size_t nl_attr_len(const struct nlattr *at)
{
	return at->nla_len - (size_t)NLA_HDRLEN;
}

static inline const char *nl_attr_text(const struct nlattr *at)
{
	return nl_attr_payload(at);
}

/* Does its text end within it? */
static inline bool nl_attr_is_text(const struct nlattr *at)
{
	return nl_attr_len(at) && !((const char *)nl_attr_payload(at))[nl_attr_len(at) - 1];
}

static inline uint16_t nl_attr_u16(const struct nlattr *at)
{
	uint16_t value;

	memcpy(&value, nl_attr_payload(at), sizeof(value));
	return value;
}

static inline uint32_t nl_attr_u32(const struct nlattr *at)
{
	uint32_t value;

	memcpy(&value, nl_attr_payload(at), sizeof(value));
	return value;
}

static inline bool nl_attr_ok(const struct nlattr *at, ptrdiff_t left)
{
	return left >= (ptrdiff_t)sizeof(*at) && at->nla_len >= sizeof(*at) && at->nla_len <= left;
}

static inline struct nlattr *nl_attr_next(const struct nlattr *at)
{
	return (struct nlattr *)((char *)at + NLA_ALIGN(at->nla_len));
}

/* for (attribute in `size` bytes from `from` on) */
#define nl_each_in(at, from, size)                 \
	for ((at) = (const struct nlattr *)(from); \
	     nl_attr_ok((at), (const char *)(from) + (size) - (const char *)(at)); (at) = nl_attr_next(at))
/* Of a message, behind its extra header; and in another attribute. */
#define nl_each(at, m, extra)                                             \
	nl_each_in (at, (const char *)nl_payload(m) + NLMSG_ALIGN(extra), \
		    (ptrdiff_t)nl_payload_len(m) - (ptrdiff_t)NLMSG_ALIGN(extra))
#define nl_each_nested(at, nest) nl_each_in (at, nl_attr_payload(nest), nl_attr_len(nest))

static inline void nl_put(struct nlmsghdr *m, uint16_t type, size_t size, const void *bytes)
{
	struct nlattr *at = (struct nlattr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));
	size_t whole = NLA_HDRLEN + size;

	at->nla_type = type;
	at->nla_len = (uint16_t)whole;
	memcpy(nl_attr_payload(at), bytes, size);
	memset((char *)at + whole, 0, NLA_ALIGN(whole) - whole);
	m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + (uint32_t)NLA_ALIGN(whole);
}

static inline void nl_put_u32(struct nlmsghdr *m, uint16_t type, uint32_t value)
{
	nl_put(m, type, sizeof(value), &value);
}

static inline struct nlattr *nl_nest_begin(struct nlmsghdr *m, uint16_t type)
{
	struct nlattr *nest = (struct nlattr *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));

	nl_put(m, type | NLA_F_NESTED, 0, "");
	return nest;
}

static inline void nl_nest_end(const struct nlmsghdr *m, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)((const char *)m + m->nlmsg_len - (char *)nest);
}

#endif
