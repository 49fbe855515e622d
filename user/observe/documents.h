/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of JSON documents that several verbs print, and the service's page. */
#ifndef OBSERVE_DOCUMENTS_H
#define OBSERVE_DOCUMENTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct attachment;
struct ban;
struct list_failure;
struct list_info;
struct networks;

json_t *out_interfaces(const struct attachment *list, size_t n);
/* Of a list whose last load was refused; NULL: null. */
json_t *out_failure(const struct list_failure *failure);
/* The conditions of a list that holds some rows of a table, an array; or null. */
json_t *out_where(const struct list_info *list);
/* Of a list, or a ban; null: all packets. */
json_t *scope_json(const char *scope);
/* Seconds since a list was loaded; -1: it is not known. */
int64_t list_age(const struct list_info *list, int64_t now);
json_t *out_lists(const struct list_info *lists, size_t n, const struct list_failure *failed, size_t failed_n,
		  int64_t now);
json_t *out_ban(const struct ban *ban, int64_t now, const struct networks *networks);
/* "network": whose it is, or null. Without a table of networks, no such member. */
void put_network(json_t *object, const struct networks *networks, struct addr first, unsigned int length);

#endif
