/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's mutex and condition; before Sources/CCore/platform/native.h on the include path. A condition's
 * second waiter ends the execution (see the original).
 */
#ifndef INTERLOCK_THREADS_NATIVE_H
#define INTERLOCK_THREADS_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t holder; /* its index plus 1; 0: free */
    uint32_t order;  /* never changes; stands for the mutex in the memory model */
} ilk__native_mutex;

typedef struct {
    uint32_t waiters;
} ilk__native_condition;

#define ILK__NATIVE_MUTEX_INIT                                                                               \
    { 0, 0 }

void ilk__native_mutex_lock(ilk__native_mutex *mutex);
bool ilk__native_mutex_try_lock(ilk__native_mutex *mutex);
void ilk__native_mutex_unlock(ilk__native_mutex *mutex);
void ilk__native_condition_init(ilk__native_condition *condition);
void ilk__native_condition_destroy(ilk__native_condition *condition);
bool ilk__native_condition_wait(ilk__native_condition *condition, ilk__native_mutex *mutex,
                                uint64_t deadline_ns);
void ilk__native_condition_signal(ilk__native_condition *condition);

#endif
