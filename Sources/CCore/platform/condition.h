/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between systems of native.h's condition variables.
 */
#ifndef INTERLOCK_PLATFORM_CONDITION_H
#define INTERLOCK_PLATFORM_CONDITION_H

#include "platform/native.h"

/* 0, or pthread's error. */
int ilk__condition_prepare(ilk__native_condition *condition);

/* With `mutex` held. 0, or ETIMEDOUT once the deadline has passed; another error is a broken object. May wake
 * spuriously. */
int ilk__condition_wait_until(ilk__native_condition *condition, ilk__native_mutex *mutex,
                              uint64_t deadline_ns);

#endif
