/* SPDX-License-Identifier: Apache-2.0
 *
 * Overwriting in ilk_mpmc. In a full ring the slot at tail is the slot at head, and full:
 *     1. move tail past it: the push has happened, also for a close that comes now;
 *     2. move head past it: the oldest is evicted; exchange the elements, publish;
 *        or find head moved: a consumer has the oldest; wait until it has given the slot back.
 * Between 1 and 2 the ring counts one element too many, and a second overwriter waits for 2. Rejected: the
 * other order, where a close between the two lets a consumer find the ring drained, before a push that still
 * succeeds.
 */
#include "ring/mpmc.h"

#include "diagnostics/misuse.h"
#include "platform/park_alone.h"
#include "platform/reaches.h"
#include <interlock/deadline.h>
#include <string.h>

/* Probes of a slot that another thread is in the middle of, before the core is given away. */
enum { PROBES_OF_A_SLOT = 128 };

/* A thread in the middle of a slot needs nanoseconds or, if preempted, a core, which a real-time caller that
 * yields would not give: sleeps. */
static void give_time_to_finish(unsigned *probe) {
    if (*probe < PROBES_OF_A_SLOT) {
        *probe += 1;
        ilk_cpu_relax();
        return;
    }
    const uint64_t microseconds = 20;
    ilk__park_alone(ilk_deadline_in_ns(microseconds * 1000));
}

static bool claim_oldest(ilk_mpmc *ring, uint64_t *position) {
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed); /* MP2 */
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed); /* MP2 */
    if (tail != head + ring->lap_step || ilk__mpmc_stamp(ring, head) != (head | ILK__MPMC_FULL)) {
        return false;
    }
    *position = tail;
    return ilk_atomic_compare_exchange(&ring->tail, &tail, ilk__mpmc_next(ring, tail), memory_order_relaxed,
                                       memory_order_relaxed); /* MP2 */
}

/* `element` and `evicted` may be the same memory, exchanged piece by piece. */
static void exchange(unsigned char *slot, const unsigned char *element, unsigned char *evicted, size_t size) {
    ilk_plain_read(slot, size);
    ilk_plain_write(slot, size);
    if (element != evicted) {
        memcpy(evicted, slot, size);
        memcpy(slot, element, size);
        return;
    }
    unsigned char old[64];
    for (size_t at = 0; at < size; at += sizeof old) {
        const size_t piece = size - at < sizeof old ? size - at : sizeof old;
        memcpy(old, slot + at, piece);
        memcpy(slot + at, evicted + at, piece);
        memcpy(evicted + at, old, piece);
    }
}

/* Memory that overlaps in part cannot hold both elements. */
static void refuse_overlap(const ilk_mpmc *ring, const void *element, const void *evicted, size_t size) {
    const uintptr_t from = (uintptr_t)element, to = (uintptr_t)evicted;
    if (ILK_UNLIKELY(from != to && (from < to ? to - from : from - to) < size)) {
        ilk__misuse("ilk_mpmc_push_overwriting", ring, "element and evicted overlap by a part");
    }
}

bool ilk_mpmc_push_overwriting(ilk_mpmc *ring, const void *element, size_t element_size, void *evicted) {
    mpmc_check_size("ilk_mpmc_push_overwriting", ring, element_size);
    refuse_overlap(ring, element, evicted, element_size);
    uint64_t position;
    for (unsigned probe = 0; !claim_oldest(ring, &position);) {
        if (ilk_mpmc_try_push(ring, element, element_size)) {
            return false;
        }
        if (ilk_mpmc_is_closed(ring)) {
            if (evicted != element) {
                memcpy(evicted, element, element_size);
            }
            return true;
        }
        ilk__mpmc_refuse_own_slot("ilk_mpmc_push_overwriting", ring, true);
        give_time_to_finish(&probe);
    }
    uint64_t oldest = position - ring->lap_step;
    unsigned char *slot = ilk__mpmc_element(ring, position, element_size);
    bool evicts = ilk_atomic_compare_exchange(&ring->head, &oldest, ilk__mpmc_next(ring, oldest),
                                              memory_order_relaxed, memory_order_relaxed); /* MP2 */
    ILK__REACHES(MPMC_OVERWRITES, evicts);
    ILK__REACHES(MPMC_OVERWRITE_OUTRUN, !evicts);
    if (evicts) {
        /* MP1 in claim_oldest has acquired this element. */
        exchange(slot, element, evicted, element_size);
    } else {
        for (unsigned probe = 0; ilk__mpmc_stamp(ring, position) != position;) {
            give_time_to_finish(&probe);
        }
        ilk_plain_write(slot, element_size);
        memcpy(slot, element, element_size);
    }
    ilk__mpmc_publish(ring, position);
    ilk__mpmc_pushed(ring);
    return evicts;
}
