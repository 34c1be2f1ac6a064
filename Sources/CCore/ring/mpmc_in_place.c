/* SPDX-License-Identifier: Apache-2.0
 *
 * Access in place to ilk_mpmc: a thread claims slots, uses them where they are, and gives them back. Its
 * thread-local state lists its claims: commit and release need no handle.
 */
#include "ring/mpmc.h"

#include "diagnostics/misuse.h"
#include "platform/local.h"

/* What the bit field holds; a ring's capacity is less. */
#define CLAIM_COUNT (UINT64_MAX >> 1)

_Static_assert(ILK__THREAD_CLAIMS == ILK_MPMC_MAX_CLAIMS, "a thread has as many claims as the header says");

/* For NULL a free entry. */
static struct ilk__thread_claim *find_claim(const ilk_mpmc *ring, bool for_reading) ILK_NONBLOCKING {
    struct ilk__thread_state *thread = ilk__thread_state();
    for (size_t index = 0; index < ILK__THREAD_CLAIMS; index++) {
        struct ilk__thread_claim *claim = &thread->claims[index];
        if (claim->ring == ring && (ring == NULL || claim->for_reading == for_reading)) {
            return claim;
        }
    }
    return NULL;
}

static void *open_claim(const char *call, ilk_mpmc *ring, bool for_reading, size_t *count) ILK_NONBLOCKING {
    struct ilk__thread_claim *claim = find_claim(NULL, false);
    if (ILK_UNLIKELY(find_claim(ring, for_reading) != NULL)) {
        ilk__misuse(call, ring, "this thread has slots of the ring open from an earlier call");
    }
    if (ILK_UNLIKELY(claim == NULL)) {
        ilk__misuse(call, ring, "this thread has %d claims open already", ILK_MPMC_MAX_CLAIMS);
    }
    size_t wanted = *count < ring->capacity ? *count : ring->capacity;
    uint64_t position = 0;
    const struct claims side = for_reading ? pops_of(ring) : pushes_of(ring);
    *count = wanted == 0 ? 0 : ilk__mpmc_claim_many(ring, &side, wanted, true, &position);
    if (*count == 0) {
        return NULL;
    }
    *claim = (struct ilk__thread_claim){ring, position, *count & CLAIM_COUNT, for_reading};
    return ilk__mpmc_element(ring, position, ring->element_size);
}

/* False for none: no thread is to be woken. */
static bool end_claim(const char *call, ilk_mpmc *ring, bool for_reading, size_t count) ILK_NONBLOCKING {
    struct ilk__thread_claim *claim = find_claim(ring, for_reading);
    size_t open = claim == NULL ? 0 : claim->count;
    if (ILK_UNLIKELY(count > open)) {
        ilk__misuse(call, ring, "%zu elements; this thread has %zu slots %s", count, open,
                    for_reading ? "shown" : "reserved");
    }
    if (count == 0) {
        return false;
    }
    for (size_t index = 0; index < count; index++) {
        if (for_reading) {
            ilk__mpmc_give_back(ring, claim->position);
        } else {
            ilk__mpmc_publish(ring, claim->position);
        }
        claim->position = ilk__mpmc_next(ring, claim->position);
    }
    claim->count = (claim->count - count) & CLAIM_COUNT;
    if (claim->count == 0) {
        claim->ring = NULL;
    }
    return true;
}

void *ilk_mpmc_reserve(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING {
    return open_claim("ilk_mpmc_reserve", ring, false, count);
}

void ilk_mpmc_commit(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING {
    if (end_claim("ilk_mpmc_commit", ring, false, count)) {
        ilk__mpmc_pushed(ring);
    }
}

const void *ilk_mpmc_peek(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING {
    if (*count == 0) {
        *count = ring->capacity;
    }
    return open_claim("ilk_mpmc_peek", ring, true, count);
}

void ilk_mpmc_release(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING {
    if (end_claim("ilk_mpmc_release", ring, true, count)) {
        ilk__mpmc_popped(ring);
    }
}

void ilk__mpmc_refuse_own_slot(const char *call, const ilk_mpmc *ring, bool pushes) {
    const uint64_t position =
        ilk_atomic_load(pushes ? &ring->tail : &ring->head, memory_order_relaxed); /* MP2 */
    const size_t slot = ilk__mpmc_slot(ring, position);
    const struct ilk__thread_state *thread = ilk__thread_state();
    for (size_t index = 0; index < ILK__THREAD_CLAIMS; index++) {
        const struct ilk__thread_claim *claim = &thread->claims[index];
        if (claim->ring == ring && slot - ilk__mpmc_slot(ring, claim->position) < claim->count) {
            ilk__misuse(call, ring, "waits for a slot that this thread itself has %s",
                        claim->for_reading ? "been shown and not released" : "reserved and not committed");
        }
    }
}
