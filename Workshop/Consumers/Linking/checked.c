/* SPDX-License-Identifier: Apache-2.0
 *
 * A user of a checked build. Both halves of a lock must be checked, or neither: after an unchecked inline
 * unlock the library would still count the lock as held, and report the last call as a wait for itself.
 */
#include <interlock/deadline.h>
#include <interlock/rwlock.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static ilk_rwlock lock = ILK_RWLOCK_INIT;
static pthread_barrier_t held;

static void *hold(void *unused) {
    ilk_rwlock_write_lock(&lock);
    pthread_barrier_wait(&held);
    while ((ilk__rwlock_probe(&lock) & ILK__RWLOCK_HAS_WAITERS) == 0) {
        sched_yield();
    }
    ilk_rwlock_write_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    if (ilk_rwlock_write_lock_until(&lock, ILK_FOREVER) != ILK_OK) {
        return 1;
    }
    ilk_rwlock_write_unlock(&lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold, NULL) != 0) {
        return 1;
    }
    pthread_barrier_wait(&held);
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
    pthread_join(thread, NULL);
    puts("fine");
    return 0;
}
