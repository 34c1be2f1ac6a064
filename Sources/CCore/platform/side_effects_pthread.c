/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread_setcancelstate(3), which cannot fail. See side_effects.h.
 */
#include "platform/side_effects.h"

#include <errno.h>
#include <pthread.h>

void ilk__side_effects_hold(struct ilk__side_effects *before) {
    before->error = errno;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
}

void ilk__side_effects_release(const struct ilk__side_effects *before) {
    int held;
    (void)pthread_setcancelstate(before->cancel_state, &held);
    errno = before->error;
}
