/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of ilk_spsc share: spsc.c moves elements, spsc_wait.c wakes, waits and closes,
 * spsc_watch.c is for wait sets.
 */
#ifndef INTERLOCK_RING_SPSC_H
#define INTERLOCK_RING_SPSC_H

#include <interlock/spsc.h>

static inline uint64_t own_tail(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ilk_atomic_load(&ring->tail, memory_order_relaxed); /* SP4 */
}

static inline uint64_t own_head(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ilk_atomic_load(&ring->head, memory_order_relaxed); /* SP7 */
}

static inline bool is_reserved(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->reserved_count > 0;
}

static inline bool is_shown(const ilk_spsc *ring) ILK_NONBLOCKING {
    return ring->pop_back_off == ILK__SPSC_SHOWN;
}

/* The address in whose queue the watchers of a side stand: the word that the other side publishes. */
static inline const void *spsc_watched_word(const ilk_spsc *ring, ilk_ring_event event) ILK_NONBLOCKING {
    return event == ILK_READABLE ? (const void *)&ring->tail : (const void *)&ring->head;
}

/* Whether there is room for one, or an element; `call` is what misuse is reported of. */
bool ilk__spsc_has_room(ilk_spsc *ring, size_t element_size, const char *call) ILK_NONBLOCKING;
bool ilk__spsc_has_element(ilk_spsc *ring, size_t element_size, const char *call) ILK_NONBLOCKING;

/* Free slots as the producer knows them; probes head if fewer than `wanted`. */
size_t ilk__spsc_room(ilk_spsc *ring, uint64_t tail, size_t wanted, const char *call) ILK_NONBLOCKING;
/* Likewise elements, by tail. */
size_t ilk__spsc_ready(ilk_spsc *ring, uint64_t head, size_t wanted, const char *call) ILK_NONBLOCKING;

/* Whether a closed ring has elements; seals it if not. Reports a pop while elements are shown. */
bool ilk__spsc_find_last(ilk_spsc *ring, const char *call) ILK_NONBLOCKING;
void ilk__spsc_report_pop_while_shown(const ilk_spsc *ring, const char *call) ILK_NONBLOCKING;

/* After a publication: wakes or notifies a consumer that waits. After a reservation that pushed nothing: the same on a
 * closed ring, where a consumer may wait for its end. */
void ilk__spsc_wake_consumer(ilk_spsc *ring) ILK_NONBLOCKING;
void ilk__spsc_wake_drained_consumer(ilk_spsc *ring) ILK_NONBLOCKING;

/* The first or the second, where a flag is up. */
static inline void spsc_wake_flagged_consumer(ilk_spsc *ring, bool pushed) ILK_NONBLOCKING {
    ilk_compiler_fence(); /* as in ilk__spsc_publish */
    if (ILK_UNLIKELY((ilk__spsc_flags(ring) & ~ILK__SPSC_PRODUCER_WAITS) != 0)) {
        if (pushed) {
            ilk__spsc_wake_consumer(ring);
        } else {
            ilk__spsc_wake_drained_consumer(ring);
        }
    }
}

#endif
