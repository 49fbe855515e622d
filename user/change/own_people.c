// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is logged in, and who is connected (own_sockets.c). A connection alone makes nobody a guest of sshd: otherwise
 * whoever tries passwords could not be banned while he does. A process that sshd started for it does.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/grow.h"
#include "base/rights.h"
#include "base/state_path.h"
#include "base/users.h"
#include "change/own_sockets.h"
#include "change/own_utmp.h"
#include "state/due.h"
#include "state/grants.h"

static const char ssh_is[] = "the peer of this SSH session", others_is[] = "the peer of an SSH session",
		  login_is[] = "somebody who is logged in";

/* That user says that somebody is logged in from there. */
struct word {
	uid_t user;
	struct addr addr;
};

struct people {
	struct learned *l;
	struct sockets sockets;
	struct word *words;
	size_t words_n;
	struct word unheard; /* the first that does not count; family 0: none */
};

/* What is so for long is said so often. */
#define AGAIN_SECONDS 600
static int64_t unseen_again, unheard_again;
/* And what carries a session. */
#define CARRIED_SECONDS 86400
/* What other processes have a say in, once. */
static bool said_late;

bool own_is_due(int64_t *again, const struct state *state, const char *name)
{
	if (clock_ms() < *again)
		return false;
	*again = clock_ms() + AGAIN_SECONDS * 1000;
	return !log_settings.kept || state_due(state, name, AGAIN_SECONDS);
}

static struct addr first_word(const char *text)
{
	struct addr addr;

	if (addr_parse(text, strcspn(text, "% "), &addr))
		return (struct addr){ 0 };
	addr_unmap(&addr);
	return addr;
}

static bool is_loopback(struct addr addr)
{
	return addr.family == 4 ? addr.num >> 24 == 127 : addr.num == 1;
}

/*
 * A process carries it, and with whom that one speaks, nothing here knows. Said by the command itself: one that is done
 * for it may yet be declined, and what it says is lost.
 */
static void say_tunnel(const struct people *p, const struct state *state, struct addr peer)
{
	char name[IF_NAMESIZE] = "lo", text[PREFIX_TEXT_MAX];

	if (!peer.family || log_settings.kept || log_settings.quiet ||
	    !state_is_due(state, STATE_CARRIED, CARRIED_SECONDS) ||
	    (is_loopback(peer) ? p->sockets.reaches : !own_leaves_by_process(peer, name)))
		return;
	if (errand.here)
		p->l->err = p->l->err ?: errand_decline("its SSH session comes through a tunnel");
	else if (state_due(state, STATE_CARRIED, CARRIED_SECONDS))
		warn("this SSH session (%s, %s) comes through a tunnel of a process, whose far end the guard rails do not know:"
		     " 'xdp-bloom allow ADDRESS' lets it through, whatever is banned",
		     prefix_text(text, peer, -1), name);
}

static void ask_ancestors(const struct people *p, const struct state *state)
{
	char text[SSH_TEXT_MAX];
	int pid = errand.here ? errand.ssh_pid : own_session(text);
	struct addr peer = first_word(errand.here ? errand.ssh : text);

	own_learn(p->l, peer, ssh_is, "environment of process %d", pid);
	say_tunnel(p, state, peer);
}

/* The processes of a session may live on in screen or tmux: its connection must be there, too. */
static void on_session(void *arg, int pid, const char *text)
{
	struct people *p = arg;
	struct connection is = { 0 };
	char local[SSH_TEXT_MAX];
	uint32_t token = 0;
	bool found = false;

	if (sscanf(text, "%*s %u %127s %u", &is.peer_port, local, &is.port) != 3)
		return;
	is.peer = first_word(text);
	is.local = first_word(local);
	for (size_t i = 0; i < p->sockets.n && (!found || (p->sockets.joins && !token)); i++) {
		const struct connection *c = &p->sockets.at[i];

		if (!c->ssh || c->peer.num != is.peer.num || c->peer.family != is.peer.family ||
		    c->peer_port != is.peer_port || c->port != is.port)
			continue;
		found = true;
		token = c->token;
	}
	if (!found && p->sockets.more_ssh && is.peer.family && is.peer.family == is.local.family &&
	    own_wanted(p->l, is.peer))
		found = own_sockets_has(&p->sockets, &is);
	if (found)
		own_learn(p->l, is.peer, others_is, "environment of process %d", pid);
	for (size_t i = 0; i < p->sockets.n && token; i++)
		if (p->sockets.at[i].ssh && p->sockets.at[i].token == token)
			own_learn(p->l, p->sockets.at[i].peer, others_is, "environment of process %d", pid);
}

/* Whoever is known for another reason needs no session. */
static bool is_known(const struct learned *l, struct addr addr)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].addr.num == addr.num && l->at[i].addr.family == addr.family)
			return true;
	return false;
}

static void say_late(void)
{
	if (!said_late)
		warn("not all SSH sessions may be known: of those that processes name not all could be looked for");
	said_late = true;
}

/* Of the service's processes one says it for all. */
static void say_unseen(const struct people *p, const struct state *state)
{
	bool unknown = p->sockets.more_ssh;

	for (size_t i = 0; i < p->sockets.n && !unknown; i++)
		unknown = p->sockets.at[i].ssh && own_wanted(p->l, p->sockets.at[i].peer) &&
			  !is_known(p->l, p->sockets.at[i].peer);
	if (unknown && own_is_due(&unseen_again, state, STATE_UNSEEN))
		warn("not all SSH sessions may be known: this process may not read the environments of all others, which"
		     " %s",
		     rights_read_others(rights_in_effect(), false) ? "SELinux, AppArmor or a user namespace forbids"
								   : "takes " READING_OTHERS);
}

static int ask_processes(struct people *p, const struct state *state)
{
	bool any = p->sockets.more_ssh, refused;
	int err;

	for (size_t i = 0; i < p->sockets.n && !any; i++)
		any = p->sockets.at[i].ssh;
	if (!any)
		return 0;
	/* The service has no right to see other processes. */
	if (errand.here)
		return errand_decline("there is a connection that may be an SSH session");
	err = own_each_session(on_session, p, &refused);
	if (p->sockets.late)
		say_late();
	if (!err && (refused || own_processes_hidden()))
		say_unseen(p, state);
	return err;
}

/*
 * By utempter any user has rows in utmp, with what text he likes: of each pty that is his. So a pty's count by what is
 * there besides: the connection to sshd. mosh has none, "192.0.2.1 via mosh [123]": that is taken from its user, for so
 * many addresses.
 */
#define WORDS_MOST 8

static bool is_connected(const struct people *p, struct addr addr)
{
	for (size_t i = 0; i < p->sockets.n; i++)
		if (p->sockets.at[i].ssh && p->sockets.at[i].peer.num == addr.num &&
		    p->sockets.at[i].peer.family == addr.family)
			return true;
	return false;
}

static bool is_heard(struct people *p, uid_t user, struct addr addr)
{
	size_t of_his = 0;

	for (size_t i = 0; i < p->words_n; i++) {
		const struct word *w = &p->words[i];

		if (w->user == user && w->addr.num == addr.num && w->addr.family == addr.family)
			return true;
		of_his += w->user == user;
	}
	if (of_his < WORDS_MOST && GROW(p->words, p->words_n)) {
		p->words[p->words_n++] = (struct word){ user, addr };
		return true;
	}
	if (!p->unheard.addr.family && own_wanted(p->l, addr) && !is_known(p->l, addr))
		p->unheard = (struct word){ user, addr };
	return false;
}

static bool counts(struct people *p, const char *line, const char *host, struct addr addr)
{
	char path[64];
	struct stat st;

	if (strncmp(line, "pts/", 4) || is_connected(p, addr))
		return true;
	snprintf(path, sizeof(path), "/dev/%s", line);
	return (p->sockets.unseen || strstr(host, " via mosh [")) && !lstat(path, &st) && is_heard(p, st.st_uid, addr);
}

static void say_unheard(const struct people *p, const struct state *state)
{
	const struct word *w = &p->unheard;
	char text[PREFIX_TEXT_MAX], user[USER_TEXT_MAX];

	if (w->addr.family && own_is_due(&unheard_again, state, STATE_UNHEARD))
		warn("a login from %s does not count: in %s %s has logins from more than %d addresses without a"
		     " connection to sshd",
		     prefix_text(text, w->addr, -1), LOGINS, user_text(user, w->user), WORDS_MOST);
}

static void ask_utmp(struct people *p, const struct state *state)
{
	FILE *file = fopen(LOGINS, "re");
	struct login_record u;

	while (file && fread(&u, sizeof(u), 1, file) == 1) {
		char host[sizeof(u.ut_host) + 1], line[sizeof(u.ut_line) + 1];
		bool v4 = !u.ut_addr_v6[1] && !u.ut_addr_v6[2] && !u.ut_addr_v6[3];
		struct addr addr = own_bytes(v4 ? AF_INET : AF_INET6, u.ut_addr_v6, sizeof(u.ut_addr_v6));

		if (u.ut_type != USER_PROCESS || (kill(u.ut_pid, 0) && errno == ESRCH))
			continue;
		snprintf(host, sizeof(host), "%.*s", (int)sizeof(u.ut_host), u.ut_host);
		snprintf(line, sizeof(line), "%.*s", (int)sizeof(u.ut_line), u.ut_line);
		addr = addr.num ? addr : first_word(host);
		addr_unmap(&addr);
		if (addr.family && counts(p, line, host, addr))
			own_learn(p->l, addr, login_is, "%s, %s", LOGINS, line);
	}
	if (file)
		fclose(file);
	say_unheard(p, state);
}

void own_from_people(struct learned *l, struct state *state)
{
	bool *ports = calloc(TCP_PORTS, sizeof(*ports));
	struct people p = { .l = l, .sockets = { .l = l, .named = ports } };
	int err = ports ? state_guarded_ports(state, ports) : -ENOMEM;

	l->guests = true;
	err = err ?: own_sockets_ask(&p.sockets, state);
	if (err && !l->err)
		l->err = because(err, "the guard rails cannot ask who is connected: %s", reason(err));
	ask_ancestors(&p, state);
	ask_utmp(&p, state);
	if (!l->err)
		l->err = ask_processes(&p, state);
	l->guests = false;
	own_sockets_free(&p.sockets);
	free(ports);
	free(p.words);
}
