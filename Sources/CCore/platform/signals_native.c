/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread_sigmask(3), which cannot fail. See signals.h.
 */
#include "platform/signals.h"

#include <stddef.h>

static const int synchronous[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
enum { SYNCHRONOUS = sizeof synchronous / sizeof *synchronous };

void ilk__signals_hold(sigset_t *before) {
    sigset_t held;
    (void)sigfillset(&held);
    for (int index = 0; index < SYNCHRONOUS; index++) {
        (void)sigdelset(&held, synchronous[index]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &held, before); /* beside what the thread holds back by itself */
}

void ilk__signals_release(const sigset_t *before) {
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

void ilk__signals_allow_synchronous(void) {
    sigset_t allowed;
    (void)sigemptyset(&allowed);
    for (int index = 0; index < SYNCHRONOUS; index++) {
        (void)sigaddset(&allowed, synchronous[index]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &allowed, NULL);
}
