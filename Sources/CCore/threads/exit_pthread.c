/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread exit through the destructor of one pthread key, made before main.
 */
#include "threads/exit.h"

#include <pthread.h>
#include <stddef.h>

struct hook {
    void (*function)(void *context);
    void *context;
};

static pthread_key_t key;
static bool key_exists;
static __thread struct hook hook __attribute__((tls_model("initial-exec")));

/* pthread has set the key's value back before the call, so that a hook may register anew. */
static void run(void *value) {
    const struct hook due = *(const struct hook *)value;
    due.function(due.context);
}

__attribute__((constructor)) static void make_key(void) {
    key_exists = pthread_key_create(&key, run) == 0;
}

bool ilk__at_thread_exit(void (*function)(void *context), void *context) {
    hook = (struct hook){function, context};
    return key_exists && pthread_setspecific(key, function != NULL ? &hook : NULL) == 0;
}
