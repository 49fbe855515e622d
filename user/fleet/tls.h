/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS by GnuTLS. hiredis has it by OpenSSL, whose licence does not fit ours; but what it reads and writes are bytes in
 * memory, wherever they come from.
 */
#ifndef FLEET_TLS_H
#define FLEET_TLS_H

#include <stddef.h>
#include <sys/types.h>

struct tls;

/* Once, before rights are given up: the authorities. 0 or -errno with the reason recorded. */
int tls_begin(const char *ca);
/* Over this socket, which does not block. NULL: there is no memory. */
struct tls *tls_new(int fd, const char *host);
void tls_free(struct tls *tls);
/* 0: done; 1: go on when poll(2) says so; -1: `why` is the reason. */
int tls_shake_hands(struct tls *tls, char *why, size_t size);
/* What poll(2) is to wait for while hands are shaken. */
short tls_wants(const struct tls *tls);
/* As send(2) and recv(2). */
ssize_t tls_send(struct tls *tls, const char *bytes, size_t n);
ssize_t tls_receive(struct tls *tls, char *bytes, size_t n);
size_t tls_pending(const struct tls *tls);

#endif
