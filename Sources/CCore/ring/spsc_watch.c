/* SPDX-License-Identifier: Apache-2.0
 *
 * How wait sets watch an ilk_spsc. ring/watch.h draws the protocol; spsc_wait.c notifies.
 */
#include "ring/watch.h"

#include "ring/spsc.h"
#include "wait/fence.h"
#include "wait/watchers.h"

void ilk__spsc_watch_begin(ilk_spsc *ring, ilk_ring_event event, struct ilk__watcher *watcher) {
    /* SP30 relaxed: read by destroy, which no other call may meet. */
    ilk_atomic_fetch_add(&ring->watchers, 1, memory_order_relaxed);
    ilk__watchers_join(spsc_watched_word(ring, event), watcher);
}

void ilk__spsc_watch_end(ilk_spsc *ring, ilk_ring_event event, struct ilk__watcher *watcher) {
    ilk__watchers_leave(spsc_watched_word(ring, event), watcher);
    ilk_atomic_fetch_sub(&ring->watchers, 1, memory_order_relaxed); /* SP30 */
}

void ilk__spsc_watch(ilk_spsc *ring, ilk_ring_event event) {
    const bool reads = event == ILK_READABLE;
    const uint32_t watched = reads ? ILK__SPSC_CONSUMER_WATCHED : ILK__SPSC_PRODUCER_WATCHED;
    const uint32_t fenced = reads ? ILK__SPSC_CONSUMER_WATCH_FENCED : ILK__SPSC_PRODUCER_WATCH_FENCED;
    /* SP28 release, pairs with SP29: the watcher's mark is down. The fence that follows acquires.
     * If weaker: the other side finds the mark up and does not wake the set. */
    const uint32_t before = ilk_atomic_fetch_or(&ring->flags, watched, memory_order_release);
    if ((before & (fenced | ILK__SPSC_ALWAYS_FENCED)) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* SP20 */
    } else {
        ILK__REACHES(SPSC_WATCH_FENCES_HEAVILY, true);
        ilk__fence_heavy_alone();
    }
}

bool ilk__spsc_is_ready(const ilk_spsc *ring, ilk_ring_event event) {
    const uint32_t flags = ilk__spsc_flags(ring);
    if (event == ILK_WRITABLE && (flags & ILK__SPSC_CLOSED) != 0) {
        return true;
    }
    /* SP31 relaxed: hints, behind the fence of ilk__spsc_watch where it counts. The caller's pop or push acquires. */
    const bool reserved = ilk_atomic_load(&ring->reserved, memory_order_relaxed) != 0;
    const uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed); /* SP31 */
    const uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed); /* SP31 */
    /* Below 0: the tail is older than the head. */
    const int64_t count = (int64_t)(tail - head);
    if (event == ILK_WRITABLE) {
        return count < (int64_t)ring->capacity;
    }
    /* A closed ring over an open reservation may still get its element, or its end. */
    return count > 0 || ((flags & ILK__SPSC_DRAINABLE) != 0 && !reserved);
}
