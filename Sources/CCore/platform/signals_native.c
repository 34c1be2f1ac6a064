/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread_sigmask(3). See signals.h.
 */
#include "platform/signals.h"

#include <stddef.h>

void ilk__signals_hold(sigset_t *before) {
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before); /* cannot fail */
}

void ilk__signals_release(const sigset_t *before) {
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}
