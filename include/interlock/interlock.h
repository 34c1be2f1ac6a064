/* SPDX-License-Identifier: Apache-2.0
 *
 * All headers; each can be included alone. status.h has answers, deadline.h time, park.h what all waiting
 * rests on, diagnostics.h names for reports; rwlock.h, semaphore.h, latch.h, barrier.h, mutex.h and
 * recursive_mutex.h what threads wait for; spsc.h and mpmc.h rings, notify.h how an event loop waits for one,
 * wait_set.h how a thread waits for several; pool.h a worker pool.
 *
 *     #include <interlock/interlock.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         static ilk_rwlock lock = ILK_RWLOCK_INIT;
 *         ilk_spsc *ring;
 *         int total = 0; // guarded by the lock
 *         if (ilk_spsc_create(&ring, 3, sizeof(int)) != ILK_OK) return 1;
 *         for (int i = 1; ilk_spsc_try_push(ring, &i, sizeof i); i++) {} // in the producer's thread; 3 fit
 *         ilk_spsc_close(ring);
 *         for (int i; ilk_spsc_pop_until(ring, &i, sizeof i, ILK_FOREVER) == ILK_OK;) { // in the consumer's
 *             ilk_rwlock_write_lock(&lock);
 *             total += i;
 *             ilk_rwlock_write_unlock(&lock);
 *         }
 *         printf("%d\n", total); // prints 6
 *         ilk_spsc_destroy(ring);
 *     }
 *
 * A child of fork finds an object as it was if no other thread held it, waited for it or was in a call on it.
 * For the others see docs/fork.md, rwlock.h and mutex.h.
 */
#ifndef INTERLOCK_INTERLOCK_H
#define INTERLOCK_INTERLOCK_H

#include <interlock/barrier.h>
#include <interlock/condition.h>
#include <interlock/deadline.h>
#include <interlock/diagnostics.h>
#include <interlock/latch.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/notify.h>
#include <interlock/park.h>
#include <interlock/pool.h>
#include <interlock/recursive_mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <interlock/status.h>
#include <interlock/wait_set.h>

#endif
