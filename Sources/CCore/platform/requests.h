/* SPDX-License-Identifier: Apache-2.0
 *
 * Wake requests: bits that signal handlers and callers set for one thread, which sleeps until there are some. The one
 * port to a sleep that a handler may end. No file descriptor: a program that closes all it does not know would give the
 * number to a file of its own.
 */
#ifndef INTERLOCK_PLATFORM_REQUESTS_H
#define INTERLOCK_PLATFORM_REQUESTS_H

#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ilk__requests {
    ILK_ATOMIC(uint32_t) bits;
    ILK_ATOMIC(uint32_t) semaphore; /* on Apple systems */
};

/* Before there is a sleeper. False: the system gives no more semaphores. */
bool ilk__requests_prepare(struct ilk__requests *requests);

/* Signal-safe; keeps errno. */
void ilk__requests_post(struct ilk__requests *requests, uint32_t bits);

/* The bits that were posted, once there are some; 0 as the CLOCK_MONOTONIC deadline has passed. One thread. */
uint32_t ilk__requests_take(struct ilk__requests *requests, uint64_t deadline_ns);

/* In a child of fork, which has no sleeper. */
void ilk__requests_forget(struct ilk__requests *requests);

#endif
