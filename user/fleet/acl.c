// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/acl.h"

/* All that own.c, follow.c, snapshot.c and server.c send. Without KEYS, SCAN, EVAL, CONFIG, FLUSHALL, and so on. */
#define COMMANDS                                                                                    \
	"+hello +ping +time +multi +exec +xadd +xtrim +xread +xrevrange +zadd +zcard +zscore +zrem" \
	" +zrangebyscore +zrevrangebyscore +hset +hdel +hmget +del +rename +smembers +publish +subscribe"

void fleet_acl(FILE *to, const char *prefix, const char *name, const char *password)
{
	fprintf(to, "ACL SETUSER %s reset on %s%s ~%s%s:* %%R~%s* resetchannels &%sbell " COMMANDS "\n", name,
		password && *password == '#' ? "" : ">", password ? password : "PASSWORD", prefix, name, prefix,
		prefix);
	fprintf(to, "SADD %smembers %s\n", prefix, name);
}
