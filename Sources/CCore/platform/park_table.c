/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer without futex(2): a fixed table of buckets, each a mutex and a list of sleepers, chosen by
 * the address slept on. For systems other than Linux; built and tested on Linux too.
 *
 * Every sleeper has a condition variable on its own stack: no wake-up goes to the wrong thread
 * (platform/native.h on glibc's bug 25847), and sleepers wake in order of arrival.
 *
 * Invariants
 *   - A sleeper is in its bucket's list exactly while `awake` is false.
 *   - The list and `awake` change under the bucket's mutex only. The word is compared under it too, and a
 *     waker takes it: comparing and sleeping are one step (guarantee A).
 *   - A waker touches a sleeper under the mutex only, so the sleeper's stack is still there.
 *
 * Fork. A child has no sleepers: every bucket begins anew, also a locked one. So fork waits for no thread.
 * The child of a signal handler that interrupted a sleeper or a waker must not go on with that, whose bucket
 * is another now (docs/fork.md).
 *
 * Source: WebKit's ParkingLot (Pizlo, 2015), with a table that does not grow.
 */
#include "platform/port.h"
#include <interlock/park.h>

#if !ILK__PARK_FUTEX

#include "platform/bsd.h"
#include "platform/native.h"
#include "platform/park_marked.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct sleeper {
    TAILQ_ENTRY(sleeper) link;
    const void *address;
    ilk__native_condition condition;
    bool awake;
};

TAILQ_HEAD(sleeper_list, sleeper);

struct bucket {
    ilk__native_mutex mutex;
    struct sleeper_list sleepers;
    bool initialised; /* the list's head points at itself, which no static initialiser can say here */
};

/* A prime number: locks in arrays stand at even distances. */
#define BUCKET_COUNT 61
#define BUCKET_INIT                                                                                          \
    { ILK__NATIVE_MUTEX_INIT, {NULL, NULL}, false }
#define BUCKETS_10                                                                                           \
    BUCKET_INIT, BUCKET_INIT, BUCKET_INIT, BUCKET_INIT, BUCKET_INIT, BUCKET_INIT, BUCKET_INIT, BUCKET_INIT,  \
        BUCKET_INIT, BUCKET_INIT
static struct bucket buckets[BUCKET_COUNT] = {BUCKETS_10, BUCKETS_10, BUCKETS_10, BUCKETS_10,
                                              BUCKETS_10, BUCKETS_10, BUCKET_INIT};

static void after_fork_in_child(void) {
    for (unsigned index = 0; index < BUCKET_COUNT; index++) {
        buckets[index].mutex = (ilk__native_mutex)ILK__NATIVE_MUTEX_INIT;
        buckets[index].initialised = false;
    }
}

__attribute__((constructor)) static void watch_fork(void) {
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

static struct bucket *lock_bucket_of(const void *address) {
    struct bucket *bucket = &buckets[((uintptr_t)address / sizeof(uint32_t)) % BUCKET_COUNT];
    ilk__native_mutex_lock(&bucket->mutex);
    if (!bucket->initialised) {
        TAILQ_INIT(&bucket->sleepers);
        bucket->initialised = true;
    }
    return bucket;
}

ilk_status ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    struct bucket *bucket = lock_bucket_of((const void *)word);
    /* PK1 relaxed: under the bucket's mutex, which the waker takes after changing the word: either we see the
     * change, or it finds us in the list. */
    if (ilk_atomic_load(word, memory_order_relaxed) != expected) {
        ilk__native_mutex_unlock(&bucket->mutex);
        return ILK_OK;
    }
    struct sleeper self = {.address = (const void *)word, .awake = false};
    ilk__native_condition_init(&self.condition);
    TAILQ_INSERT_TAIL(&bucket->sleepers, &self, link);
    bool in_time = true;
    while (!self.awake && in_time) {
        in_time = ilk__native_condition_wait(&self.condition, &bucket->mutex, deadline_ns);
    }
    /* Woken and late at once counts as woken. */
    ilk_status status = self.awake ? ILK_OK : ILK_TIMEDOUT;
    if (!self.awake) {
        TAILQ_REMOVE(&bucket->sleepers, &self, link);
    }
    ilk__native_mutex_unlock(&bucket->mutex);
    ilk__native_condition_destroy(&self.condition);
    return status;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) ILK_NONBLOCKING {
    struct bucket *bucket = lock_bucket_of((const void *)word);
    struct sleeper *sleeper, *next;
    TAILQ_FOREACH_SAFE(sleeper, &bucket->sleepers, link, next) {
        if (count == 0) {
            break;
        }
        if (sleeper->address == (const void *)word) {
            TAILQ_REMOVE(&bucket->sleepers, sleeper, link);
            sleeper->awake = true;
            ilk__native_condition_signal(&sleeper->condition);
            count--;
        }
    }
    ilk__native_mutex_unlock(&bucket->mutex);
}
ILK_TRUSTED_NONBLOCKING_END

ilk_status ilk__park_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                                 uint32_t mark) {
    (void)mark;
    return ilk_park_wait(word, expected, deadline_ns);
}

bool ilk__park_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark) ILK_NONBLOCKING {
    (void)word;
    (void)mark;
    return false;
}

#endif
