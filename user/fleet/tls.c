// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* 1.2 and 1.3, as far as this machine's own policy allows them. */
#define PRIORITIES "-VERS-TLS1.1:-VERS-TLS1.0"

static gnutls_certificate_credentials_t trusted;

struct tls {
	gnutls_session_t session;
	char host[256];
	bool begun;
};

int tls_begin(const char *ca)
{
	int n = gnutls_certificate_allocate_credentials(&trusted);

	if (n < 0)
		return because(-ENOMEM, "TLS: %s", gnutls_strerror(n));
	n = *ca ? gnutls_certificate_set_x509_trust_file(trusted, ca, GNUTLS_X509_FMT_PEM)
		: gnutls_certificate_set_x509_system_trust(trusted);
	if (n <= 0)
		return because(-EINVAL, "%s: no certificate of an authority%s%s", *ca ? ca : "the system's authorities",
			       n < 0 ? ": " : "", n < 0 ? gnutls_strerror(n) : "");
	return 0;
}

struct tls *tls_new(int fd, const char *host)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	unsigned char address[16];

	if (!tls)
		return NULL;
	snprintf(tls->host, sizeof(tls->host), "%s", host);
	if (gnutls_init(&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
		free(tls);
		return NULL;
	}
	if (gnutls_set_default_priority_append(tls->session, PRIORITIES, NULL, 0) < 0 ||
	    gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, trusted) < 0) {
		tls_free(tls);
		return NULL;
	}
	/* An address is no name that a server could be asked for; its certificate may have it. */
	if (inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1)
		gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, host, strlen(host));
	gnutls_session_set_verify_cert(tls->session, tls->host, 0);
	gnutls_transport_set_int(tls->session, fd);
	return tls;
}

void tls_free(struct tls *tls)
{
	if (tls)
		gnutls_deinit(tls->session);
	free(tls);
}

static void say_certificate(struct tls *tls, char *why, size_t size)
{
	gnutls_datum_t text;

	if (gnutls_certificate_verification_status_print(gnutls_session_get_verify_cert_status(tls->session),
							 GNUTLS_CRT_X509, &text, 0) < 0)
		return;
	snprintf(why, size, "%.*s", (int)text.size, (const char *)text.data);
	gnutls_free(text.data);
}

int tls_shake_hands(struct tls *tls, char *why, size_t size)
{
	int err;

	tls->begun = true;
	do
		err = gnutls_handshake(tls->session);
	while (err == GNUTLS_E_INTERRUPTED || err == GNUTLS_E_WARNING_ALERT_RECEIVED);
	if (err == GNUTLS_E_AGAIN)
		return 1;
	if (err >= 0)
		return 0;
	snprintf(why, size, "%s", gnutls_strerror(err));
	if (err == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
		say_certificate(tls, why, size);
	return -1;
}

short tls_wants(const struct tls *tls)
{
	/* We speak first. */
	return !tls->begun || gnutls_record_get_direction(tls->session) ? POLLOUT : POLLIN;
}

static ssize_t in_errno(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED ? EAGAIN : EIO;
	return -1;
}

ssize_t tls_send(struct tls *tls, const char *bytes, size_t n)
{
	/* After EAGAIN the same bytes are wanted, or none; ours are still there, with more behind them. */
	return in_errno(gnutls_record_send(tls->session, bytes, n));
}

ssize_t tls_receive(struct tls *tls, char *bytes, size_t n)
{
	return in_errno(gnutls_record_recv(tls->session, bytes, n));
}

size_t tls_pending(const struct tls *tls)
{
	return gnutls_record_check_pending(tls->session);
}
