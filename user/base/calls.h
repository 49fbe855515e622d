/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of system calls that a process may make, as seccomp takes them. */
#ifndef BASE_CALLS_H
#define BASE_CALLS_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names of calls, which some C libraries have as macros. */
#undef pread64
#undef prlimit64

/* A sanitizer's own calls and its shadow memory are beyond all bounds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__)
#define CALLS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CALLS_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define CALLS_ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define CALLS_ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define CALLS_ARCHITECTURE AUDIT_ARCH_S390X
#endif

/* Each begins with these: another architecture's numbers mean other calls. */
#define CALLS_BEGIN                                                              \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALLS_ARCHITECTURE, 1, 0),   \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),             \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define CALLS_END(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)

#define IF_CALL(number, verdict) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict)
#define ALLOW(number) IF_CALL(number, SECCOMP_RET_ALLOW)
/* What a C library may try, and does without. */
#define REFUSE(number) IF_CALL(number, SECCOMP_RET_ERRNO | EPERM)

/* The lower half of an argument. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CALL_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#else
#define CALL_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#endif

#endif
