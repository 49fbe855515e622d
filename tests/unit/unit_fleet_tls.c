// SPDX-License-Identifier: GPL-2.0-only
/*
 * TLS to a fleet's server: what GnuTLS is asked for, whose certificate is wanted, and what becomes of each of its
 * answers. The library is made up; what is asked of it is printed.
 */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_fleet_tls.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_tls.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define A_SESSION ((gnutls_session_t)&a_session)
#define SOME	  ((gnutls_certificate_credentials_t)&some)

static int a_session, some;
static struct {
	int allocate, file, system, init, priority, credentials, print;
	bool memory;
} fails; /* with these; file, system: or so many certificates */
static int shakes[4], direction;
static ssize_t moves;

static void session_is(const char *what, gnutls_session_t session)
{
	printf("  %s%s", what, session == A_SESSION ? "" : " of another");
}

static int given_allocate(gnutls_certificate_credentials_t *to)
{
	*to = SOME;
	return fails.allocate;
}

static int given_file(gnutls_certificate_credentials_t to, const char *path, gnutls_x509_crt_fmt_t kind)
{
	printf("  the authorities of %s%s%s\n", path, to == SOME ? "" : ", others",
	       kind == GNUTLS_X509_FMT_PEM ? "" : ", of another kind");
	return fails.file;
}

static int given_system(gnutls_certificate_credentials_t to)
{
	printf("  the system's authorities%s\n", to == SOME ? "" : ", others");
	return fails.system;
}

static int given_init(gnutls_session_t *to, unsigned int flags)
{
	printf("  a session%s%s%s%s\n", flags & GNUTLS_CLIENT ? ", a client's" : "",
	       flags & GNUTLS_NONBLOCK ? ", does not wait" : "", flags & GNUTLS_NO_SIGNAL ? ", no signals" : "",
	       flags & ~(unsigned int)(GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) ? ", and more" : "");
	*to = A_SESSION;
	return fails.init;
}

static int given_priority(gnutls_session_t session, const char *text, const char **at, unsigned int flags)
{
	session_is("versions", session);
	printf(" %s%s\n", text, at || flags ? ", and more" : "");
	return fails.priority;
}

static int given_credentials(gnutls_session_t session, gnutls_credentials_type_t kind, const void *is)
{
	session_is("certificates", session);
	puts(kind == GNUTLS_CRD_CERTIFICATE && is == SOME ? "" : ", others");
	return fails.credentials;
}

static int given_name(gnutls_session_t session, gnutls_server_name_type_t kind, const char *name, size_t n)
{
	session_is("a name", session);
	printf(" '%.*s'%s\n", (int)n, name, kind == GNUTLS_NAME_DNS ? "" : ", another kind");
	return 0;
}

static void given_verify(gnutls_session_t session, const char *name, unsigned int flags)
{
	session_is("verified for", session);
	printf(" %zu bytes '%.40s'%s\n", strlen(name), name, flags ? ", or not" : "");
}

static void given_transport(gnutls_session_t session, int fd)
{
	session_is("over", session);
	printf(" %d\n", fd);
}

static void given_deinit(gnutls_session_t session)
{
	session_is("ends", session);
	putchar('\n');
}

static int given_handshake(gnutls_session_t session)
{
	int n = shakes[0];

	session_is("hands", session);
	printf(" %d\n", n);
	memmove(shakes, shakes + 1, sizeof(shakes) - sizeof(shakes[0]));
	return n;
}

static unsigned int given_status(gnutls_session_t session)
{
	return session == A_SESSION ? 66 : 0;
}

static int given_print(unsigned int status, gnutls_certificate_type_t kind, gnutls_datum_t *to, unsigned int flags)
{
	static unsigned char text[] = "it is of nobody's. And more";

	printf("  status %u%s\n", status, kind == GNUTLS_CRT_X509 && !flags ? "" : ", of another kind");
	*to = (gnutls_datum_t){ text, 18 };
	return fails.print;
}

static void given_free(void *text)
{
	puts(text ? "  its text goes" : "  no text goes");
}

static int given_direction(gnutls_session_t session)
{
	return session == A_SESSION ? direction : -1;
}

static ssize_t given_moved(gnutls_session_t session, const void *bytes, size_t n)
{
	session_is("bytes", session);
	printf(" %zu %s\n", n, (const char *)bytes);
	return moves;
}

static size_t given_pending(gnutls_session_t session)
{
	return session == A_SESSION ? 99 : 0;
}

static void *given_calloc(size_t n, size_t size)
{
	return fails.memory ? NULL : calloc(n, size);
}

#define gnutls_certificate_allocate_credentials	 given_allocate
#define gnutls_certificate_set_x509_trust_file	 given_file
#define gnutls_certificate_set_x509_system_trust given_system
#define gnutls_init				 given_init
#define gnutls_set_default_priority_append	 given_priority
#define gnutls_credentials_set			 given_credentials
#define gnutls_server_name_set			 given_name
#define gnutls_session_set_verify_cert		 given_verify
/* Macros, in some of its versions. */
#undef gnutls_transport_set_int
#undef gnutls_free
#define gnutls_transport_set_int		     given_transport
#define gnutls_deinit				     given_deinit
#define gnutls_handshake			     given_handshake
#define gnutls_session_get_verify_cert_status	     given_status
#define gnutls_certificate_verification_status_print given_print
#define gnutls_free				     given_free
#define gnutls_record_get_direction		     given_direction
#define gnutls_record_send			     given_moved
#define gnutls_record_recv			     given_moved
#define gnutls_record_check_pending		     given_pending
#define gnutls_strerror(n)			     ((n) == -9 ? "error 9" : "another error")
#define calloc					     given_calloc
#include "fleet/tls.c"
#undef calloc

static void trusts(const char *ca)
{
	int err = tls_begin(ca);

	printf("= '%s': %s\n", ca, err ? reason(err) : "begun");
}

static void authorities(void)
{
	static const int numbers[] = { 1, 150, 0, -9 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		fails.file = fails.system = numbers[i];
		trusts("");
		trusts("/ca.pem");
	}
	fails.allocate = -9;
	trusts("");
	fails.allocate = 0;
}

static void sessions(void)
{
	static const char *const hosts[] = { "redis.example", "192.0.2.1", "2001:db8::1", "192.0.2", "" };
	char long_host[300];
	struct tls *tls;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		tls = tls_new(77, hosts[i]);
		printf("= %s\n", tls ? "begun" : "none");
		tls_free(tls);
	}
	memset(long_host, 'x', sizeof(long_host));
	long_host[299] = '\0';
	tls_free(tls_new(77, long_host));
	for (int i = 0; i < 4; i++) {
		fails.memory = i == 0;
		fails.init = i == 1 ? -9 : 0;
		fails.priority = i == 2 ? -9 : 0;
		fails.credentials = i == 3 ? -9 : 0;
		printf("= %s\n", tls_new(77, "host") ? "begun" : "none");
	}
	memset(&fails, 0, sizeof(fails));
	tls_free(NULL);
}

static void hands(void)
{
	static const int all[][4] = {
		{ 0 },
		{ 1 },
		{ GNUTLS_E_INTERRUPTED, GNUTLS_E_WARNING_ALERT_RECEIVED, 0 },
		{ GNUTLS_E_AGAIN },
		{ -9 },
		{ -1 },
		{ GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR },
		{ GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR },
	};
	char why[12];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct tls *tls = tls_new(77, "host");
		int n;

		if (!tls)
			abort();
		direction = 0;
		printf("it wants %s", tls_wants(tls) == POLLOUT ? "to speak" : "to hear");
		strcpy(why, "before");
		memcpy(shakes, all[i], sizeof(shakes));
		fails.print = i == 7 ? -9 : 0;
		putchar('\n');
		n = tls_shake_hands(tls, why, sizeof(why));
		printf("= %d, '%s'; it wants %s", n, why, tls_wants(tls) == POLLIN ? "to hear" : "to speak");
		direction = 1;
		printf(", and %s\n", tls_wants(tls) == POLLOUT ? "to speak" : "to hear");
		tls_free(tls);
	}
	fails.print = 0;
}

static void moved(ssize_t n)
{
	printf("= %zd%s%s\n", n, n < 0 ? ", " : "", n < 0 ? strerror(errno) : "");
}

static void bytes(void)
{
	static const ssize_t all[] = { 5, 1, 0, GNUTLS_E_AGAIN, GNUTLS_E_INTERRUPTED, -1, -9 };
	struct tls *tls = tls_new(77, "host");
	char text[] = "text";

	if (!tls)
		abort();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		moves = all[i];
		moved(tls_send(tls, text, 5));
		moved(tls_receive(tls, text, 5));
	}
	printf("%zu are held\n", tls_pending(tls));
	tls_free(tls);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "authorities", authorities }, { "sessions", sessions }, { "hands", hands }, { "bytes", bytes }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
