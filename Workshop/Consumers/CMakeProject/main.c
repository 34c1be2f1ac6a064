/* SPDX-License-Identifier: Apache-2.0
 *
 * A consumer in C: threads pass numbers through both rings under a semaphore and a lock, and meet at a latch.
 * Prints the sum of the arrived numbers.
 */
#include <interlock/interlock.h>
#include <pthread.h>
#include <stdio.h>

enum { COUNT = 10000 };

static ilk_spsc *first;
static ilk_mpmc *second;
static ilk_rwlock lock = ILK_RWLOCK_INIT;
static ilk_semaphore permits = ILK_SEMAPHORE_INIT(2);
static ilk_latch done;
static long relayed; /* guarded by lock */

static void *produce(void *unused) {
    for (long number = 1; number <= COUNT; number++) {
        if (ilk_spsc_push_until(first, &number, sizeof number, ILK_FOREVER) != ILK_OK) {
            break;
        }
    }
    ilk_spsc_close(first);
    ilk_latch_count_down(&done);
    return unused;
}

static void *relay(void *unused) {
    long number;
    ilk_semaphore_wait(&permits);
    while (ilk_spsc_pop_until(first, &number, sizeof number, ILK_FOREVER) == ILK_OK) {
        if (ilk_mpmc_push_until(second, &number, sizeof number, ILK_FOREVER) != ILK_OK) {
            break;
        }
        ilk_rwlock_write_lock(&lock);
        relayed++;
        ilk_rwlock_write_unlock(&lock);
    }
    ilk_mpmc_close(second);
    ilk_semaphore_signal(&permits, 1);
    ilk_latch_count_down(&done);
    return unused;
}

int main(void) {
    if (ilk_spsc_create(&first, 3, sizeof(long)) != ILK_OK ||
        ilk_mpmc_create(&second, 100, sizeof(long)) != ILK_OK) {
        return 1;
    }
    ilk_latch_init(&done, 2);
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, produce, NULL) != 0 ||
        pthread_create(&threads[1], NULL, relay, NULL) != 0) {
        return 1;
    }
    long sum = 0, number;
    while (ilk_mpmc_pop_until(second, &number, sizeof number, ILK_FOREVER) == ILK_OK) {
        sum += number;
    }
    if (ilk_latch_wait_until(&done, ILK_FOREVER) != ILK_OK) {
        return 1;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ilk_rwlock_read_lock(&lock);
    printf("relayed %ld numbers, sum %ld\n", relayed, sum);
    ilk_rwlock_read_unlock(&lock);
    ilk_spsc_destroy(first);
    ilk_mpmc_destroy(second);
    return 0;
}
