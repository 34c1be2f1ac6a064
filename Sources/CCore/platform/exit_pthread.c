/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread exit through the destructor of one pthread key, made before main and before the constructors of a
 * program linked with the library: glibc keeps the first 32 keys of a process without allocation
 * (docs/rwlock.md).
 */
#include "platform/exit.h"

#include <errno.h>
#include <interlock/inline/atomic.h>
#include <pthread.h>
#include <stddef.h>

typedef void hook_function(void *context);

static pthread_key_t key;
static bool key_exists;
static ILK_ATOMIC(hook_function *) hook;

/* pthread has reset the key's value: a hook may register anew. */
static void run_at_exit(void *context) {
    /* TE1 relaxed: this thread wrote it by registering; others write the same value. */
    ilk_atomic_load(&hook, memory_order_relaxed)(context);
}

__attribute__((constructor(101))) static void make_key(void) {
    key_exists = pthread_key_create(&key, run_at_exit) == 0;
}

bool ilk__at_thread_exit(void (*function)(void *context), void *context) {
    ilk_atomic_store(&hook, function, memory_order_relaxed); /* TE1 */
    const int kept = errno;                                  /* as system_call.h: it may allocate */
    const bool is_set = key_exists && pthread_setspecific(key, context) == 0;
    errno = kept;
    return is_set;
}
