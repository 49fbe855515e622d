/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a bus error say where it was? qemu-user says it of big-endian machines with the two halves of the address
 * exchanged; no kernel does. What is cut while it is mapped can then not be tried.
 */
#ifndef BUS_ERROR_H
#define BUS_ERROR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUS_ERROR_SKIP "the emulator exchanges the halves of a bus error's address"

static void *volatile bus_error_page, *volatile bus_error_address;

static void bus_error_seen(int number, siginfo_t *info, void *context)
{
	(void)context;
	bus_error_address = info->si_addr;
	if (mmap(bus_error_page, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(number, SIG_DFL);
}

static bool bus_errors_say_where(void)
{
	struct sigaction action = { .sa_sigaction = bus_error_seen, .sa_flags = SA_SIGINFO }, before;
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	FILE *f = tmpfile();
	bool right = true;

	if (!f)
		return true;
	bus_error_page = mmap(NULL, size, PROT_READ, MAP_SHARED, fileno(f), 0);
	if (bus_error_page != MAP_FAILED) {
		sigaction(SIGBUS, &action, &before);
		(void)*(volatile char *)bus_error_page;
		sigaction(SIGBUS, &before, NULL);
		right = (uintptr_t)bus_error_address / size == (uintptr_t)bus_error_page / size;
		munmap(bus_error_page, size);
	}
	fclose(f);
	return right;
}

#endif
