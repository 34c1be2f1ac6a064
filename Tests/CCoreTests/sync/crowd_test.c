/* SPDX-License-Identifier: Apache-2.0
 *
 * 64 threads at one ring, one semaphore, one mutex and one barrier, on any number of cores.
 */
#include "support/test.h"
#include <interlock/barrier.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/semaphore.h>

enum { CROWD = 64 };

struct crowd {
    ilk_mpmc *ring;
    ilk_semaphore semaphore;
    ilk_mutex mutex;
    ilk_barrier barrier;
    uint64_t locked; /* by the semaphore */
    uint64_t owned;  /* by the mutex */
    ILK_ATOMIC(uint64_t) sum_in, sum_out;
    int rounds;
};

struct member {
    struct crowd *crowd;
    int index;
};

static void take_part(void *context) {
    const struct member *self = context;
    struct crowd *crowd = self->crowd;
    uint64_t sum = 0;
    for (int round = 1; round <= crowd->rounds; round++) {
        uint64_t value = (uint64_t)round * CROWD + (uint64_t)self->index;
        if (self->index % 2 == 0) {
            check_equal(ilk_mpmc_push_until(crowd->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        } else {
            check_equal(ilk_mpmc_pop_until(crowd->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        }
        sum += value;
        ilk_semaphore_wait(&crowd->semaphore);
        crowd->locked++;
        ilk_semaphore_signal(&crowd->semaphore, 1);
        ilk_mutex_lock(&crowd->mutex);
        crowd->owned++;
        ilk_mutex_unlock(&crowd->mutex);
        if (round % 16 == 0) {
            (void)ilk_barrier_wait(&crowd->barrier);
        }
    }
    ilk_atomic_fetch_add(self->index % 2 == 0 ? &crowd->sum_in : &crowd->sum_out, sum, memory_order_relaxed);
}

TEST(sixty_four_threads_all_get_on) {
    static const size_t sizes[] = {1, 8, 1000};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        struct crowd crowd = {.rounds = stress_rounds(400)};
        check_equal(ilk_mpmc_create(&crowd.ring, sizes[size], sizeof(uint64_t)), ILK_OK);
        ilk_semaphore_init(&crowd.semaphore, 1);
        ilk_mutex_init(&crowd.mutex, false);
        ilk_barrier_init(&crowd.barrier, CROWD);
        struct member members[CROWD];
        for (int i = 0; i < CROWD; i++) {
            members[i] = (struct member){&crowd, i};
        }
        threads_run(CROWD, take_part, members, sizeof *members);
        check_equal(crowd.locked, (uint64_t)CROWD * (uint64_t)crowd.rounds);
        check_equal(crowd.owned, crowd.locked);
        check_equal(ilk_atomic_load(&crowd.sum_out, memory_order_relaxed),
                    ilk_atomic_load(&crowd.sum_in, memory_order_relaxed));
        ilk_semaphore_destroy(&crowd.semaphore);
        ilk_mpmc_destroy(crowd.ring);
    }
}
