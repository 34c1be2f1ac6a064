/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc beyond its inline fast paths: batches, in-place access, overwriting, waiting, closing. The
 * layout, positions and sequence numbers are explained in <interlock/inline/mpmc.h>.
 *
 * Sleeping. The sleeper pays, not the other side:
 *     sleeper                                other side
 *       count itself in (…_waiting)            publish a slot (release store)
 *       heavy fence, raise FENCED              light fence (nothing at run time with membarrier)
 *         or, where FENCED is up: fence        …_waiting is 0? done
 *       look for a slot                        fence
 *       park while the gate is as read         someone counted in? wake one
 *   Must not happen: the sleeper misses the slot and the other side misses the sleeper. A heavy fence
 *   interrupts every running thread, which threads that sleep often cannot afford: so the first one leaves
 *   FENCED behind, which sends the other side through a fence of its own for as long as sleeping goes on.
 *   FENCED is raised after the heavy fence and before its raiser counts itself out: the word was never 0 in
 *   between, so every thread has been made to see it.
 *
 * Waking goes on by itself. One wake-up at a time is under way (the gate is odd), and publishing costs no
 * system call meanwhile:
 *     other side                             sleeper
 *       publish, fence                         wakes up; or was about to park, and finds the gate changed
 *       gate odd? done                         makes the gate even
 *       make it odd, wake one                  fence
 *                                              look for a slot
 *   Must not happen: the other side finds the gate odd and the sleeper misses what it published. The fences
 *   forbid it. A thread that is counted in looks at the gate before it parks and after, so an odd gate always
 *   has someone who will come round, or nobody is left to wake.
 *   A wake-up is not a promise: the slot it was for may be behind one that is still in progress, or
 *   taken by someone who never slept. So whoever leaves a wait passes on: if there is still something
 *   for a sleeper to do, or the ring is drained, it wakes one more. The one who finishes the slot in
 *   progress wakes too. Together: while the slot at head is full, or the ring is closed and
 *   drained, and somebody sleeps for it, a wake-up is under way.
 *
 * Overwriting, when full: the slot at tail is the slot at head, and full.
 *     1. move tail past it (from here on our push has happened, also for a close that comes now)
 *     2. move head past it: ours to evict; take the old element out, put the new one in, publish
 *        or find head moved: a consumer took the old one; wait until it has given the slot back.
 *   Between 1 and 2 the ring counts one too many, and a second overwriter waits for 2.
 *   The other order would open a hole: with head moved first, a close that comes between lets a
 *   consumer find the ring drained, before a push that will still succeed.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "ring/allocate.h"
#include "ring/copy.h"
#include "ring/hook.h"
#include "ring/patience.h"
#include "threads/clock.h"
#include "threads/local.h"
#include <interlock/mpmc.h>
#include <interlock/park.h>
#include <stdlib.h>

_Static_assert(offsetof(struct ilk_mpmc, tail) == ILK__RING_SEPARATION, "tail is apart");
_Static_assert(offsetof(struct ilk_mpmc, head) == 2 * ILK__RING_SEPARATION, "head is apart");
_Static_assert(offsetof(struct ilk_mpmc, not_empty) == 3 * ILK__RING_SEPARATION, "the gates are apart");
_Static_assert(sizeof(struct ilk_mpmc) == 4 * ILK__RING_SEPARATION, "the sequences are apart");
_Static_assert(ILK__THREAD_CLAIMS == ILK_MPMC_MAX_CLAIMS, "what the header says is what a thread has");

/* Looks at a slot that someone is in the middle of, before giving the core away. */
enum { LOOKS_AT_A_SLOT = 128 };

/* ---- Fetching ahead ---- */

/* A push writes two lines that are not its core's any more: the slot's, which a consumer has read, and that
 * of the slot's number, which one has written. It waits for them at the next compare-and-swap if not before,
 * one after the other. So a push that enters a group of slots asks for all lines of the group that follows,
 * and they come side by side while this group is pushed. Asking for one line at a time gains nothing: the
 * compare-and-swap waits for that as well. Nor does it for elements of several lines, whose own stores are
 * side by side. Pops do not ask: what is ahead of them may be what producers are at. Chosen by bench rings,
 * try. */
enum { LINE = 64, LONGEST_GROUP = 64, GROUP_BYTES = 512, SMALLEST_GROUP_BYTES = 256, GROUPS = 8 };

/* In slots, a power of two; 0 where nothing is fetched ahead. */
static size_t group_size(size_t capacity, size_t element_size) {
    size_t group = LONGEST_GROUP;
    while (group > 1 && (GROUP_BYTES / group < element_size || capacity / GROUPS < group)) {
        group /= 2;
    }
    return element_size > LINE || group * element_size < SMALLEST_GROUP_BYTES ? 0 : group;
}

static void fetch_for_writing(const void *memory, size_t bytes) ILK_NONBLOCKING {
    for (size_t at = 0; at < bytes; at += LINE) {
        const unsigned char *line = (const unsigned char *)memory + at;
#if defined(__x86_64__)
        /* The compilers make a fetch for reading of it, unless told of the processor; on one without, it does
         * nothing. */
        __asm__ __volatile__("prefetchw %0" : : "m"(*line));
#else
        __builtin_prefetch(line, 1);
#endif
    }
}

void ilk__mpmc_fetch_ahead(const ilk_mpmc *ring, size_t slot) ILK_NONBLOCKING {
    const size_t group = ring->group_mask + 1;
    const size_t next = (slot & ~ring->group_mask) + group;
    const size_t first = next < ring->capacity ? next : 0;
    if (group > 0 && ring->capacity - first >= group) {
        fetch_for_writing(ring->sequences + first, group * sizeof(ILK_ATOMIC(uint64_t)));
        fetch_for_writing(ring->slots + first * ring->element_size, group * ring->element_size);
    }
}

/* ---- Making and ending ---- */

/* The header is followed by the sequences, then by the elements. */
static size_t header_size(size_t capacity) {
    return sizeof(struct ilk_mpmc) + capacity * sizeof(ILK_ATOMIC(uint64_t));
}

ilk_status ilk_mpmc_create(ilk_mpmc **out, size_t capacity, size_t element_size) {
    if (capacity > ((size_t)PTRDIFF_MAX - sizeof(struct ilk_mpmc)) / sizeof(ILK_ATOMIC(uint64_t))) {
        return ILK_INVALID; /* the slots' numbers alone exceed it */
    }
    void *memory;
    ilk_status status = ilk__ring_allocate(header_size(capacity), capacity, element_size, &memory);
    if (status != ILK_OK) {
        return status;
    }
    ilk_mpmc *ring = memory;
    memset(ring, 0, sizeof *ring);
    ring->sequences = (ILK_ATOMIC(uint64_t) *)((unsigned char *)memory + sizeof *ring);
    ring->slots = (unsigned char *)memory + ilk__ring_elements_offset(header_size(capacity));
    ring->capacity = capacity;
    ring->element_size = element_size;
    ring->turn_step = ILK__MPMC_STEP;
    while (ring->turn_step / ILK__MPMC_STEP < capacity) {
        ring->turn_step *= 2;
    }
    ring->skip = ring->turn_step - capacity * ILK__MPMC_STEP;
    ring->group_mask = group_size(capacity, element_size) - 1;
    for (size_t slot = 0; slot < capacity; slot++) {
        /* MP7 relaxed: nobody else has the ring yet. */
        ilk_atomic_store(&ring->sequences[slot], slot * ILK__MPMC_STEP, memory_order_relaxed);
    }
    *out = ring;
    return ILK_OK;
}

/* The number of positions from `head` to `tail`; at most one more than the capacity (see overwriting). */
static size_t distance(const ilk_mpmc *ring, uint64_t tail, uint64_t head) ILK_NONBLOCKING {
    uint64_t turns = (tail & -ring->turn_step) - (head & -ring->turn_step);
    return (size_t)(turns / ring->turn_step) * ring->capacity + ilk__mpmc_slot(ring, tail) -
           ilk__mpmc_slot(ring, head);
}

/* Every slot is either full between head and tail, or free between tail and head. */
static bool has_open_claims(const ilk_mpmc *ring) {
    uint64_t position = ilk_atomic_load(&ring->head, memory_order_relaxed);                 /* MP2 */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed) & ~ILK__MPMC_CLOSED; /* MP2 */
    size_t count = distance(ring, tail, position);
    for (size_t index = 0; index < ring->capacity; index++) {
        if (ilk__mpmc_sequence(ring, position) != (index < count ? position | ILK__MPMC_FULL : position)) {
            return true;
        }
        position = ilk__mpmc_next(ring, position);
    }
    return false;
}

void ilk_mpmc_destroy(ilk_mpmc *ring) {
    if (ring == NULL) {
        return;
    }
    /* An armed hook is nobody who waits: the program has said it is done. */
    uint64_t consumers =
        ilk_atomic_load(&ring->consumers_waiting, memory_order_relaxed) & ILK__MPMC_THREADS; /* MP6 */
    uint64_t producers =
        ilk_atomic_load(&ring->producers_waiting, memory_order_relaxed) & ILK__MPMC_THREADS; /* MP6 */
    if (consumers + producers > 0) {
        ilk__misuse("ilk_mpmc_destroy", ring, "destroyed while %u consumers and %u producers wait",
                    (unsigned)consumers, (unsigned)producers);
    }
    if (has_open_claims(ring)) {
        ilk__misuse("ilk_mpmc_destroy", ring, "destroyed with slots reserved or shown and not given back");
    }
    ilk__name_forget(ring);
    free(ring);
}

void ilk__mpmc_wrong_size(const char *call, const ilk_mpmc *ring, size_t element_size) {
    ilk__misuse(call, ring, "an element of %zu bytes; the ring's are of %zu", element_size,
                ring->element_size);
}

static void mpmc_check_size(const char *call, const ilk_mpmc *ring, size_t element_size) ILK_NONBLOCKING {
    if (ILK_UNLIKELY(element_size != ring->element_size)) {
        ilk__mpmc_wrong_size(call, ring, element_size);
    }
}

/* ---- Waking ---- */

/* One side of the ring, for what is written once for both. */
struct mpmc_side {
    ILK_ATOMIC(uint64_t) * waiting;
    ILK_ATOMIC(uint32_t) * gate;
    ILK_ATOMIC(uint32_t) * vain;
    const ILK_ATOMIC(uint64_t) * counter; /* the other side's: it moves with every wake-up given */
    ILK_ATOMIC(uint64_t) * epoch;
    ilk_ring_event event;
    bool pushes;
};

static struct mpmc_side consumers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){&ring->consumers_waiting,
                              &ring->not_empty,
                              &ring->consumers_vain,
                              &ring->tail,
                              &ring->consumers_epoch,
                              ILK_READABLE,
                              false};
}

static struct mpmc_side producers_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct mpmc_side){&ring->producers_waiting,
                              &ring->not_full,
                              &ring->producers_vain,
                              &ring->head,
                              &ring->producers_epoch,
                              ILK_WRITABLE,
                              true};
}

/* Takes ARMED and ARMING down in one step with counting the take: true when ARMED was up, and its call is the
 * caller's to make. An arm that is under way finds the count changed. `waiting` is the word as last read. */
static bool take_arm(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    while ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) != 0) {
        const uint64_t taken =
            (waiting & ~(ILK__MPMC_ARMED | ILK__MPMC_ARMING)) + ILK__MPMC_ONE_TAKE; /* wraps round to 0 */
        /* MP13 acq_rel, pairs with MP14 (release, the arm is up) and with MP22 (acquire, taking the hook
         * away). Acquires the hook installed before; releases that this call is counted.
         * If weaker: we call by an old pointer, or set_notify does not wait for us. Acquire where it fails,
         * for set_notify: another has taken the arm, and is counted. */
        if (ilk_atomic_compare_exchange_weak(side->waiting, &waiting, taken, memory_order_acq_rel,
                                             memory_order_acquire)) {
            return (waiting & ILK__MPMC_ARMED) != 0;
        }
    }
    return false;
}

/* Calls the hook if it is armed for this side: not for an arm that is only under way, which then answers
 * false. It is foreign code that the contract asks to be quick. `waiting` is read behind MP15. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static void mpmc_notify(ilk_mpmc *ring, const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    if ((waiting & (ILK__MPMC_ARMED | ILK__MPMC_ARMING)) == 0) {
        return;
    }
    struct ilk__hook_call call;
    hook_begin(&ring->hook_calls, ring, &call);
    if (take_arm(side, waiting)) {
        ring->notify(ring->notify_context, side->event);
    }
    hook_end(&ring->hook_calls, &call);
}
ILK_TRUSTED_NONBLOCKING_END

/* Wakes one who sleeps on the gate, unless one is under way. Behind MP15. */
static void wake_one(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP12 relaxed: an odd gate ends it, and then MP15 orders what we published before the look of the one
     * who makes it even; an even one is a basis for MP8. */
    uint32_t gate = ilk_atomic_load(side->gate, memory_order_relaxed);
    do {
        if ((gate & ILK__MPMC_UNDER_WAY) != 0) {
            return;
        }
        /* MP8 relaxed: MP15, a release fence for it, carries the slot or the closed bit that the wake-up is
         * for to MP9. */
    } while (!ilk_atomic_compare_exchange_weak(side->gate, &gate, gate + 1, memory_order_relaxed,
                                               memory_order_relaxed));
    ilk_park_wake(side->gate, 1);
}

/* After something has been published, or found: wakes one who sleeps for it. The word of the side, as it then
 * was. */
static uint64_t wake_sleeper(const struct mpmc_side *side) ILK_NONBLOCKING {
    /* MP15 seq_cst, pairs with itself (a sleeper that found FENCED up, or that made the gate even), with
     * a sleeper's heavy fence, and with MP9 (acquire, reading the gate). Forbids: we publish and find nobody
     * counted in, or the gate odd, while the one counted in, or that made it even, misses what we published.
     */
    ilk_atomic_fence(memory_order_seq_cst);
    const uint64_t waiting = ilk_atomic_load(side->waiting, memory_order_relaxed); /* MP6 */
    if ((waiting & ILK__MPMC_THREADS) != 0) {
        wake_one(side);
    }
    return waiting;
}

/* Takes FENCED down where nobody waits, once in FENCED_STEPS steps of the counter. Quotients are compared,
 * for a batch may step over any one number. */
static void mpmc_drop_fenced(const struct mpmc_side *side, uint64_t waiting) ILK_NONBLOCKING {
    const uint64_t epoch = ilk_atomic_load(side->counter, memory_order_relaxed) / ILK__MPMC_STEP / /* MP2 */
                           FENCED_STEPS;
    /* MP23 relaxed: a hint. Two threads that both find it old drop FENCED twice, no more. */
    if (ilk_atomic_load(side->epoch, memory_order_relaxed) != epoch) {
        ilk_atomic_store(side->epoch, epoch, memory_order_relaxed); /* MP23 */
        /* MP19 relaxed: whoever counts itself in afterwards finds FENCED gone and fences heavily. */
        (void)ilk_atomic_compare_exchange(side->waiting, &waiting, 0, memory_order_relaxed,
                                          memory_order_relaxed);
    }
}

static void mpmc_wake(ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const uint64_t waiting = wake_sleeper(side);
    if ((waiting & ~ILK__MPMC_TAKES) == ILK__MPMC_FENCED) {
        mpmc_drop_fenced(side, waiting);
    }
    mpmc_notify(ring, side, waiting);
}

void ilk__mpmc_wake_consumers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = consumers_of(ring);
    mpmc_wake(ring, &side);
}

void ilk__mpmc_wake_producers(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct mpmc_side side = producers_of(ring);
    mpmc_wake(ring, &side);
}

/* Everyone, whether counted in already or only about to be. The gate is stepped in any case, and stays odd
 * if it was: whoever comes round first makes it even. Behind MP15. */
static void wake_everyone(const struct mpmc_side *side) {
    ilk_atomic_fetch_add(side->gate, 2, memory_order_relaxed); /* MP8 */
    ilk_park_wake(side->gate, ILK_PARK_ALL);
}

void ilk_mpmc_close(ilk_mpmc *ring) {
    /* MP10 release, pairs with MP11 (acquire, asking whether it is closed): what the closer did before is
     * visible to those who find the ring closed. Pushes are ordered against it by this word alone. */
    ilk_atomic_fetch_or(&ring->tail, ILK__MPMC_CLOSED, memory_order_release);
    /* An armer either sees the ring closed, or we see it armed. */
    ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    wake_everyone(&consumers);
    wake_everyone(&producers);
    /* The hook last: all that close does is done. */
    mpmc_notify(ring, &consumers, ilk_atomic_load(consumers.waiting, memory_order_relaxed)); /* MP6 */
    mpmc_notify(ring, &producers, ilk_atomic_load(producers.waiting, memory_order_relaxed)); /* MP6 */
}

bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING {
    /* MP11 acquire, pairs with MP10. */
    return (ilk_atomic_load(&ring->tail, memory_order_acquire) & ILK__MPMC_CLOSED) != 0;
}

/* Closed, and every element claimed by a pop: nothing will ever come. A closed tail stands still. */
static bool is_drained(const ilk_mpmc *ring) ILK_NONBLOCKING {
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_acquire); /* MP11 */
    return (tail & ILK__MPMC_CLOSED) != 0 &&
           ilk_atomic_load(&ring->head, memory_order_relaxed) == (tail & ~ILK__MPMC_CLOSED); /* MP2 */
}

/* ---- Claims of one slot, after one attempt in vain ---- */

/* Sides of the same speed meet at every element, and hand the lines of its slot to and fro for it; threads of
 * one side that claim at the same time hand over the line of their counter. Who gets ahead undisturbed for
 * some tens of elements is far faster. So a side that finds nothing pauses before it looks once more, as long
 * as lull_after says (ring/patience.h), and who lost its slot to another thread steps back before it tries
 * again, longer each time. Each at most 32 pauses, timed by bench rings. How far the other side has got is
 * not asked: its counter's line is what it needs most. */
enum { LONGEST_STEP_BACK = 32 }; /* chosen by bench rings, try */

/* What the claims of one side work on, for what is written once for both. */
struct claims {
    ILK_ATOMIC(uint64_t) * counter;
    ILK_ATOMIC(uint64_t) * miss;
    ILK_ATOMIC(uint32_t) * lull;
    uint64_t state; /* what a slot's number is beyond the position: 0 for a push, FULL for a pop */
};

static struct claims pushes_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct claims){&ring->tail, &ring->push_miss, &ring->push_lull, 0};
}

static struct claims pops_of(ilk_mpmc *ring) ILK_NONBLOCKING {
    return (struct claims){&ring->head, &ring->pop_miss, &ring->pop_lull, ILK__MPMC_FULL};
}

/* True when the slot at `position` is one that a claim may have. */
static bool is_ready(const ilk_mpmc *ring, const struct claims *claims, uint64_t position) ILK_NONBLOCKING {
    return ilk__mpmc_sequence(ring, position) == (position | claims->state);
}

/* The position `count` places further; count is at most the capacity. */
static uint64_t ahead(const ilk_mpmc *ring, uint64_t position, size_t count) ILK_NONBLOCKING {
    uint64_t skip = ilk__mpmc_slot(ring, position) + count >= ring->capacity ? ring->skip : 0;
    return position + count * ILK__MPMC_STEP + skip;
}

/* The side has found nothing at `position`: true after a lull, false where none is due. */
static bool lull(ilk_mpmc *ring, const struct claims *claims, uint64_t position) ILK_NONBLOCKING {
    if (ring->capacity < SMALLEST_WITH_LULLS) {
        return false;
    }
    /* MP21 relaxed: hints for how long to pause. One that is lost between two threads does no harm. */
    const uint64_t missed = ilk_atomic_load(claims->miss, memory_order_relaxed);
    const uint32_t before = ilk_atomic_load(claims->lull, memory_order_relaxed); /* MP21 */
    uint32_t pauses = before;
    if (position != missed) {
        ilk_atomic_store(claims->miss, position, memory_order_relaxed); /* MP21 */
        pauses = lull_before_look(before, distance(ring, position, missed));
    }
    pause_for(pauses);
    uint32_t after = pauses;
    if (pauses > 0) {
        const uint64_t far = ahead(ring, position, far_enough(ring->capacity));
        if (!is_ready(ring, claims, position) &&
            ilk_atomic_load(claims->counter, memory_order_relaxed) == position) { /* MP2 */
            after = 0;                                                            /* in vain */
        } else if (!is_ready(ring, claims, far)) {
            after = longer_lull(pauses, ring->capacity);
        }
    }
    if (after != before) {
        ilk_atomic_store(claims->lull, after, memory_order_relaxed); /* MP21 */
    }
    return pauses > 0;
}

static uint64_t claim_one(ilk_mpmc *ring, const struct claims *claims) ILK_NONBLOCKING {
    uint32_t step_back = 1;
    bool lulled = false;
    uint64_t position = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((position & ILK__MPMC_CLOSED) != 0) {
            return ILK__MPMC_NONE; /* tail only: head is never odd */
        }
        if (is_ready(ring, claims, position)) {
            if (ilk_atomic_compare_exchange_weak(claims->counter, &position, ilk__mpmc_next(ring, position),
                                                 memory_order_relaxed, memory_order_relaxed)) { /* MP2 */
                return position;
            }
            pause_for(step_back);
            step_back = step_back < LONGEST_STEP_BACK ? step_back * 2 : step_back;
            position = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
        } else {
            uint64_t now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            if (now == position) {
                if (lulled || !lull(ring, claims, position)) {
                    return ILK__MPMC_NONE;
                }
                lulled = true;
                now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            }
            position = now;
        }
    }
}

uint64_t ilk__mpmc_claim_push_slow(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct claims pushes = pushes_of(ring);
    return claim_one(ring, &pushes);
}

uint64_t ilk__mpmc_claim_pop_slow(ilk_mpmc *ring) ILK_NONBLOCKING {
    const struct claims pops = pops_of(ring);
    return claim_one(ring, &pops);
}

/* ---- Claims of several slots ---- */

/* How many of `most` slots next to each other are ready: their numbers go up by a step from `number` on. */
static size_t count_ready(const ILK_ATOMIC(uint64_t) * sequences, uint64_t number, size_t most)
    ILK_NONBLOCKING {
    size_t count = 0;
    while (count < most && ilk_atomic_load(&sequences[count], memory_order_acquire) == number) { /* MP1 */
        count++;
        number += ILK__MPMC_STEP;
    }
    return count;
}

/* Gives `count` slots next to each other their numbers, from the last one; see below. */
static void number_slots(ILK_ATOMIC(uint64_t) * sequences, uint64_t number, size_t count) ILK_NONBLOCKING {
    number += count * ILK__MPMC_STEP;
    while (count-- > 0) {
        number -= ILK__MPMC_STEP;
        ilk_atomic_store(&sequences[count], number, memory_order_release); /* MP4, MP5 */
    }
}

/* Claims up to `wanted` slots next to each other. They stay ready until the counter passes them, so that one
 * compare-and-swap claims all. `to_end`: stop at the last slot. The number claimed, from `*position`. */
static size_t claim_many(ilk_mpmc *ring, const struct claims *claims, size_t wanted, bool to_end,
                         uint64_t *position) ILK_NONBLOCKING {
    uint64_t first = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((first & ILK__MPMC_CLOSED) != 0) {
            return 0; /* tail only: head is never odd */
        }
        const size_t slot = ilk__mpmc_slot(ring, first);
        const size_t to_wrap = ring->capacity - slot;
        const size_t straight = wanted < to_wrap ? wanted : to_wrap;
        size_t count = count_ready(ring->sequences + slot, first | claims->state, straight);
        if (count == to_wrap && count < wanted && !to_end) {
            count += count_ready(ring->sequences, ahead(ring, first, count) | claims->state, wanted - count);
        }
        if (count > 0) {
            if (ilk_atomic_compare_exchange_weak(claims->counter, &first, ahead(ring, first, count),
                                                 memory_order_relaxed, memory_order_relaxed)) { /* MP2 */
                *position = first;
                return count;
            }
        } else {
            uint64_t now = ilk_atomic_load(claims->counter, memory_order_relaxed); /* MP2 */
            if (now == first) {
                return 0;
            }
            first = now;
        }
    }
}

/* A batch is published, and given back, from its end: whoever comes for the first slot finds all of them, and
 * not one at a time as they appear. Batches of a full ring would otherwise break up into single elements. */

/* Between `count` claimed slots from `slot` on, which do not wrap, and `elements`. */
static void mpmc_copy_in(ilk_mpmc *ring, size_t slot, const unsigned char *elements, size_t count,
                         size_t size) ILK_NONBLOCKING {
    if (count > 0) {
        copy_into_ring(ring->slots + slot * size, elements, count * size);
    }
}

static void mpmc_copy_out(const ilk_mpmc *ring, size_t slot, unsigned char *elements, size_t count,
                          size_t size) ILK_NONBLOCKING {
    if (count > 0) {
        copy_out_of_ring(elements, ring->slots + slot * size, count * size);
    }
}

size_t ilk_mpmc_try_push_many(ilk_mpmc *ring, const void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    mpmc_check_size("ilk_mpmc_try_push_many", ring, element_size);
    uint64_t position;
    size_t wanted = count < ring->capacity ? count : ring->capacity;
    const struct claims pushes = pushes_of(ring);
    size_t claimed = wanted == 0 ? 0 : claim_many(ring, &pushes, wanted, false, &position);
    if (claimed == 0) {
        return 0;
    }
    const size_t slot = ilk__mpmc_slot(ring, position);
    const size_t first = ring->capacity - slot < claimed ? ring->capacity - slot : claimed;
    if (((slot + claimed) & ~ring->group_mask) != (slot & ~ring->group_mask)) {
        ilk__mpmc_fetch_ahead(ring, slot + first - 1);
    }
    mpmc_copy_in(ring, slot, elements, first, element_size);
    mpmc_copy_in(ring, 0, (const unsigned char *)elements + first * element_size, claimed - first,
                 element_size);
    number_slots(ring->sequences, ahead(ring, position, first) | ILK__MPMC_FULL, claimed - first);
    number_slots(ring->sequences + slot, position | ILK__MPMC_FULL, first);
    ilk__mpmc_pushed(ring);
    return claimed;
}

size_t ilk_mpmc_try_pop_many(ilk_mpmc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING {
    mpmc_check_size("ilk_mpmc_try_pop_many", ring, element_size);
    uint64_t position;
    size_t wanted = count < ring->capacity ? count : ring->capacity;
    const struct claims pops = pops_of(ring);
    size_t claimed = wanted == 0 ? 0 : claim_many(ring, &pops, wanted, false, &position);
    if (claimed == 0) {
        return 0;
    }
    const size_t slot = ilk__mpmc_slot(ring, position);
    const size_t first = ring->capacity - slot < claimed ? ring->capacity - slot : claimed;
    mpmc_copy_out(ring, slot, elements, first, element_size);
    mpmc_copy_out(ring, 0, (unsigned char *)elements + first * element_size, claimed - first, element_size);
    number_slots(ring->sequences, ahead(ring, position, first) + ring->turn_step, claimed - first);
    number_slots(ring->sequences + slot, position + ring->turn_step, first);
    ilk__mpmc_popped(ring);
    return claimed;
}

/* ---- In place ---- */

/* The calling thread's open claim on `ring`, or with NULL a free entry. */
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
    *count = wanted == 0 ? 0 : claim_many(ring, &side, wanted, true, &position);
    if (*count == 0) {
        return NULL;
    }
    *claim = (struct ilk__thread_claim){ring, position, *count, for_reading};
    return ilk__mpmc_element(ring, position, ring->element_size);
}

static void settle_claim(const char *call, ilk_mpmc *ring, bool for_reading, size_t count) ILK_NONBLOCKING {
    struct ilk__thread_claim *claim = find_claim(ring, for_reading);
    size_t open = claim == NULL ? 0 : claim->count;
    if (ILK_UNLIKELY(count > open)) {
        ilk__misuse(call, ring, "%zu elements; this thread has %zu slots %s", count, open,
                    for_reading ? "shown" : "reserved");
    }
    if (count == 0) {
        return;
    }
    for (size_t index = 0; index < count; index++) {
        if (for_reading) {
            ilk__mpmc_give_back(ring, claim->position);
        } else {
            ilk__mpmc_publish(ring, claim->position);
        }
        claim->position = ilk__mpmc_next(ring, claim->position);
    }
    claim->count -= count;
    if (claim->count == 0) {
        claim->ring = NULL;
    }
}

/* Reports a wait for the slot at the side's counter if the calling thread itself has it open: nobody else can
 * make it ready, so the counter stands still and the wait would never end. */
static void refuse_own_slot(const char *call, const ilk_mpmc *ring, bool pushes) {
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

void *ilk_mpmc_reserve(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING {
    return open_claim("ilk_mpmc_reserve", ring, false, count);
}

void ilk_mpmc_commit(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING {
    settle_claim("ilk_mpmc_commit", ring, false, count);
    ilk__mpmc_pushed(ring);
}

const void *ilk_mpmc_peek(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING {
    if (*count == 0) {
        *count = ring->capacity;
    }
    return open_claim("ilk_mpmc_peek", ring, true, count);
}

void ilk_mpmc_release(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING {
    settle_claim("ilk_mpmc_release", ring, true, count);
    ilk__mpmc_popped(ring);
}

/* ---- Overwriting ---- */

/* Gives a thread that is in the middle of a slot time to finish: it needs nanoseconds, or if it was
 * preempted, a core. Sleeping, not yielding: a real-time caller would otherwise keep it off the core. */
static void give_time_to_finish(unsigned *turn) {
    if (*turn < LOOKS_AT_A_SLOT) {
        *turn += 1;
        ilk_cpu_relax();
        return;
    }
    ILK_ATOMIC(uint32_t) nobody_wakes;
    ilk_atomic_store(&nobody_wakes, 0, memory_order_relaxed); /* MP7 */
    const uint64_t microseconds = 20;
    (void)ilk_park_wait(&nobody_wakes, 0, ilk_deadline_in_ns(microseconds * 1000));
}

/* Moves tail past the slot at head, which is full, and with it the ring: true with the position ours. */
static bool claim_oldest(ilk_mpmc *ring, uint64_t *position) {
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed); /* MP2 */
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed); /* MP2 */
    if (tail != head + ring->turn_step || ilk__mpmc_sequence(ring, head) != (head | ILK__MPMC_FULL)) {
        return false;
    }
    *position = tail;
    return ilk_atomic_compare_exchange(&ring->tail, &tail, ilk__mpmc_next(ring, tail), memory_order_relaxed,
                                       memory_order_relaxed); /* MP2 */
}

/* The element in `slot` to `evicted`, and `element` into the slot. The two may be the same memory, so that
 * they go by pieces. */
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

/* Memory that overlaps and is not the same cannot hold both elements. */
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
    for (unsigned turn = 0; !claim_oldest(ring, &position);) {
        if (ilk_mpmc_try_push(ring, element, element_size)) {
            return false;
        }
        if (ilk_mpmc_is_closed(ring)) {
            if (evicted != element) {
                memcpy(evicted, element, element_size);
            }
            return true;
        }
        refuse_own_slot("ilk_mpmc_push_overwriting", ring, true);
        give_time_to_finish(&turn);
    }
    uint64_t oldest = position - ring->turn_step;
    unsigned char *slot = ilk__mpmc_element(ring, position, element_size);
    bool evicts = ilk_atomic_compare_exchange(&ring->head, &oldest, ilk__mpmc_next(ring, oldest),
                                              memory_order_relaxed, memory_order_relaxed); /* MP2 */
    if (evicts) {
        /* MP1 in claim_oldest, in this thread, read the number of the element that is still here. */
        exchange(slot, element, evicted, element_size);
    } else {
        for (unsigned turn = 0; ilk__mpmc_sequence(ring, position) != position;) {
            give_time_to_finish(&turn);
        }
        ilk_plain_write(slot, element_size);
        memcpy(slot, element, element_size);
    }
    ilk__mpmc_publish(ring, position);
    ilk__mpmc_pushed(ring);
    return evicts;
}

/* ---- Waiting ---- */

/* One attempt: ILK_OK done, ILK_CLOSED never, ILK_BUSY not now. */
static ilk_status attempt(ilk_mpmc *ring, const struct mpmc_side *side, void *element, size_t element_size) {
    if (side->pushes) {
        if (ilk_mpmc_try_push(ring, element, element_size)) {
            return ILK_OK;
        }
        return ilk_mpmc_is_closed(ring) ? ILK_CLOSED : ILK_BUSY;
    }
    if (ilk_mpmc_try_pop(ring, element, element_size)) {
        return ILK_OK;
    }
    return is_drained(ring) ? ILK_CLOSED : ILK_BUSY;
}

/* Could this side go on now: a free or full slot at its counter, or nothing to wait for any more? Asks the
 * counter again before it says no: a neighbour may have taken the slot it looked at and left one behind. What
 * the neighbour wrote into the slot's number (MP1) carries the counter's move. */
static bool can_go_on(const ilk_mpmc *ring, const struct mpmc_side *side) ILK_NONBLOCKING {
    const ILK_ATOMIC(uint64_t) *counter = side->pushes ? &ring->tail : &ring->head;
    uint64_t position = ilk_atomic_load(counter, memory_order_relaxed); /* MP2 */
    for (;;) {
        if ((position & ILK__MPMC_CLOSED) != 0) {
            return true; /* tail only: pushes fail at once */
        }
        if (ilk__mpmc_sequence(ring, position) == (side->pushes ? position : position | ILK__MPMC_FULL)) {
            return true;
        }
        uint64_t now = ilk_atomic_load(counter, memory_order_relaxed); /* MP2 */
        if (now == position) {
            return !side->pushes && is_drained(ring);
        }
        position = now;
    }
}

/* A thread is about to sleep, or with ARMING to arm the hook: from here on a thread that publishes sees it,
 * or has published what it will see. The word as it was before. */
static uint64_t count_in(const struct mpmc_side *side, uint64_t arming) {
    /* MP16 acquire, pairs with MP18 (release, raising FENCED).
     * Carries: what others had published before the heavy fence of whoever raised it.
     * If weaker: we rely on that fence and miss what it has shown. */
    uint64_t before = ilk_atomic_fetch_add(side->waiting, 1, memory_order_acquire);
    if (arming != 0) {
        /* Counted in first: TAKES does not start anew while we are. */
        before = ilk_atomic_fetch_or(side->waiting, arming, memory_order_acquire); /* MP16 */
    }
    if ((before & ILK__MPMC_FENCED) != 0) {
        ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
    } else {
        ilk__fence_heavy();
        /* MP18 release, pairs with MP16 (acquire, counting in). See there. */
        ilk_atomic_fetch_or(side->waiting, ILK__MPMC_FENCED, memory_order_release);
    }
    return before;
}

/* A sleeper leaves, and passes its wake-up on to those who still sleep: see the top of this file. It does not
 * call the hook: the thread that published has done that. */
static void count_out(ilk_mpmc *ring, const struct mpmc_side *side) {
    uint64_t before = ilk_atomic_fetch_sub(side->waiting, 1, memory_order_relaxed); /* MP6 */
    if ((before & ILK__MPMC_THREADS) == 1) {
        return;
    }
    if (can_go_on(ring, side)) {
        (void)wake_sleeper(side);
    }
}

/* Takes the wake-up that is under way upon itself, if there is one. The gate to park on, if what follows is
 * a look. */
static uint32_t come_round(const struct mpmc_side *side) {
    for (;;) {
        /* MP9 acquire, pairs with MP15 (before the gate is stepped).
         * Carries: the slot, or the closed bit, that the wake-up is for. A read-modify-write, for who has
         * been woken must not read the gate as it was before: it would leave it odd, and nobody would come.
         * If weaker: we read the new gate, miss the slot, and park on the new gate. */
        uint32_t gate = ilk_atomic_fetch_add(side->gate, 0, memory_order_acquire);
        if ((gate & ILK__MPMC_UNDER_WAY) == 0) {
            return gate;
        }
        /* MP20 relaxed: passes on what the step before it carried; MP15 orders it before our look. */
        if (ilk_atomic_compare_exchange(side->gate, &gate, gate + 1, memory_order_relaxed,
                                        memory_order_relaxed)) {
            ilk_atomic_fence(memory_order_seq_cst); /* MP15 */
            return gate + 1;
        }
    }
}

static ilk_status sleep_for_turn(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                                 size_t element_size, uint64_t deadline_ns) {
    if (deadline_ns != ILK_FOREVER && deadline_ns <= ilk__clock_now_ns()) {
        /* Asked again, because a closed ring has come here too. */
        ilk_status status = attempt(ring, side, element, element_size);
        return status == ILK_BUSY ? ILK_TIMEDOUT : status;
    }
    (void)count_in(side, 0);
    ilk_status status;
    bool late = false;
    for (;;) {
        uint32_t gate = come_round(side);
        status = attempt(ring, side, element, element_size);
        if (status != ILK_BUSY) {
            break;
        }
        if (late) {
            status = ILK_TIMEDOUT;
            break;
        }
        if (deadline_ns == ILK_FOREVER) {
            refuse_own_slot(side->pushes ? "ilk_mpmc_push_until" : "ilk_mpmc_pop_until", ring, side->pushes);
        }
        late = ilk_park_wait(side->gate, gate, deadline_ns) == ILK_TIMEDOUT;
    }
    count_out(ring, side);
    return status;
}

static ilk_status wait_for_turn(ilk_mpmc *ring, const struct mpmc_side *side, void *element,
                                size_t element_size, uint64_t deadline_ns) {
    /* MP17 relaxed: a hint for how long to look; a count lost between two threads does no harm. */
    uint32_t vain = ilk_atomic_load(side->vain, memory_order_relaxed);
    const int looks = looks_before_sleep(vain);
    for (int turn = 0; turn < looks; turn++) {
        ring_pause_before_look(turn);
        ilk_status status = attempt(ring, side, element, element_size);
        if (status != ILK_BUSY) {
            if (vain > 0) {
                ilk_atomic_store(side->vain, after_success(vain), memory_order_relaxed); /* MP17 */
            }
            return status;
        }
    }
    ilk_atomic_store(side->vain, vain + 1, memory_order_relaxed); /* MP17 */
    return sleep_for_turn(ring, side, element, element_size, deadline_ns);
}

ilk_status ilk__mpmc_push_slow(ilk_mpmc *ring, const void *element, size_t element_size,
                               uint64_t deadline_ns) {
    const struct mpmc_side producers = producers_of(ring);
    /* The element is only read: attempt() takes both directions through one pointer. */
    return wait_for_turn(ring, &producers, (void *)(uintptr_t)element, element_size, deadline_ns);
}

ilk_status ilk__mpmc_pop_slow(ilk_mpmc *ring, void *element, size_t element_size, uint64_t deadline_ns) {
    const struct mpmc_side consumers = consumers_of(ring);
    return wait_for_turn(ring, &consumers, element, element_size, deadline_ns);
}

/* ---- The hook ---- */

/* Disarms a side for good. */
static void disarm(const struct mpmc_side *side) {
    /* MP22 acquire, pairs with MP13 (acq_rel, taking an arm down): the thread that took one before is
     * counted. A read-modify-write, for it must not read the word as it was before that.
     * If weaker: a call is under way that we do not wait for. */
    (void)take_arm(side, ilk_atomic_fetch_add(side->waiting, 0, memory_order_acquire));
}

void ilk_mpmc_set_notify(ilk_mpmc *ring, ilk_notify function, void *context) {
    const struct mpmc_side consumers = consumers_of(ring);
    const struct mpmc_side producers = producers_of(ring);
    disarm(&consumers);
    disarm(&producers);
    hook_await_calls(&ring->hook_calls, ring);
    ring->notify = function;
    ring->notify_context = context;
}

/* Registers as a sleeper does, with ARMING, and probes the ring; if there is nothing, ARMED goes up in the
 * step that unregisters, provided nobody has taken ARMING down since. That step, the last atomic one, decides
 * the answer. ARMING may stay up: it calls nobody. docs/rings.md has the states. */
static bool mpmc_arm(ilk_mpmc *ring, const struct mpmc_side *side, const char *call) {
    if (ring->notify == NULL) {
        ilk__misuse(call, ring, "no hook is installed");
    }
    if (can_go_on(ring, side)) {
        return false;
    }
    const uint64_t takes = count_in(side, ILK__MPMC_ARMING) & ILK__MPMC_TAKES;
    if (!can_go_on(ring, side)) {
        uint64_t now = ilk_atomic_load(side->waiting, memory_order_relaxed); /* MP6 */
        while ((now & ILK__MPMC_TAKES) == takes) {
            /* MP14 release, pairs with MP13 (acq_rel, taking the arm down): carries the hook. See there.
             * Relaxed where it fails: the word has changed, and is judged anew. */
            if (ilk_atomic_compare_exchange_weak(side->waiting, &now, (now | ILK__MPMC_ARMED) - 1,
                                                 memory_order_release, memory_order_relaxed)) {
                return true;
            }
        }
    }
    ilk_atomic_fetch_sub(side->waiting, 1, memory_order_relaxed); /* MP6 */
    return false;
}

bool ilk_mpmc_arm_pop(ilk_mpmc *ring) {
    const struct mpmc_side side = consumers_of(ring);
    return mpmc_arm(ring, &side, "ilk_mpmc_arm_pop");
}

bool ilk_mpmc_arm_push(ilk_mpmc *ring) {
    const struct mpmc_side side = producers_of(ring);
    return mpmc_arm(ring, &side, "ilk_mpmc_arm_push");
}

/* ---- Figures ---- */

size_t ilk_mpmc_count(const ilk_mpmc *ring) ILK_NONBLOCKING {
    uint64_t head = ilk_atomic_load(&ring->head, memory_order_relaxed);                     /* MP2 */
    uint64_t tail = ilk_atomic_load(&ring->tail, memory_order_relaxed) & ~ILK__MPMC_CLOSED; /* MP2 */
    /* Two words, read one after the other and neither ordered: a tail from before the head is an empty ring,
     * one from long after it a full one. */
    if ((int64_t)(tail - head) <= 0) {
        return 0;
    }
    size_t count = distance(ring, tail, head);
    return count < ring->capacity ? count : ring->capacity;
}

size_t ilk_mpmc_capacity(const ilk_mpmc *ring) ILK_NONBLOCKING {
    return ring->capacity;
}
