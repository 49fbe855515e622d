/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libbpf's messages, with --verbose. They include the verifier's log, in which the secret seeds are numbers; those are
 * not shown.
 */
#ifndef KERNEL_VERIFIER_LOG_H
#define KERNEL_VERIFIER_LOG_H

void verifier_log_ready(void);

#endif
