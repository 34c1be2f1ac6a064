/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc: a bounded ring for any number of producer and consumer threads.
 *
 *     #include <interlock/mpmc.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_mpmc *ring;
 *         if (ilk_mpmc_create(&ring, 3, sizeof(int)) != ILK_OK) return 1;
 *         for (int i = 1; ilk_mpmc_try_push(ring, &i, sizeof i); i++) {} // any threads push; 3 fit
 *         int newest = 4, oldest;
 *         if (ilk_mpmc_push_overwriting(ring, &newest, sizeof newest, &oldest)) {
 *             printf("%d\n", oldest); // prints 1
 *         }
 *         ilk_mpmc_close(ring);
 *         for (int i; ilk_mpmc_pop_until(ring, &i, sizeof i, ILK_FOREVER) == ILK_OK;) { // any threads pop
 *             printf("%d\n", i); // prints 2 3 4
 *         }
 *         ilk_mpmc_destroy(ring);
 *     }
 *
 * Elements are bytes of one size, copied in and out, or written and read in place. Any capacity
 * from 1 up is honoured exactly. Each slot carries a sequence number that says whose turn it is, so
 * that producers and consumers meet only at the slot they share.
 *
 * Concurrency matrix: every call but create, destroy and set_notify may run beside every other, from any
 * thread.
 *
 * Guarantees
 *   A  First in, first out by the order in which pushes claim their slots: the elements of one
 *      producer keep their order. What a producer did before a push is visible to the consumer of
 *      that element.
 *   B  A push that answered true or ILK_OK, and a committed reservation, is popped exactly once, also
 *      when close comes at the same moment: pop_until answers ILK_CLOSED only when nothing pushed
 *      with success is left and nothing can follow.
 *   C  After close: pushes and reserve fail; claims made before it, reservations among them, are
 *      completed; pops drain what is there, then fail. Every waiter wakes. A push that had claimed its slot
 *      before the close, an overwriting one too, may answer after close has returned; it counts (B).
 *   D  full and empty may be answered while a neighbour is halfway: try_pop may find nothing while an
 *      earlier push is in progress and a later one is done, and try_push may find no room while an
 *      earlier pop is in progress and a later one is done. Where no call is in progress both are exact.
 *      A batch likewise stops at the first slot that someone is in the middle of, and so may move fewer than
 *      are there or fit.
 *   E  try_ calls, reserve, commit, peek and release never block or allocate, and make a system call only to
 *      wake a sleeper; where the hook is armed they call it. One that finds nothing while the other side is
 *      at full speed, or loses its slot to another thread, may pause before it probes again, each time for at
 *      most 32 of the processor's pause instructions: some hundred nanoseconds, on some processors more than
 *      a microsecond. push_overwriting may wait for a thread that is in the middle of the one slot it needs.
 *   F  A waiter that times out passes a wake-up it got on to another.
 *
 * Every call but create and the waiting ones is O(1) beside the retries that other threads' progress
 * causes, or O(count) for its copies. Waits are not cancellation points.
 *
 * docs/rings.md draws the protocol.
 *
 * Source: Vyukov, "Bounded MPMC queue" (2010), with positions that count turns and slots apart, so
 * that a capacity need not be a power of two and may be 1.
 */
#ifndef INTERLOCK_MPMC_H
#define INTERLOCK_MPMC_H

#include <interlock/deadline.h>
#include <interlock/inline/attributes.h>
#include <interlock/notify.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

typedef struct ilk_mpmc ilk_mpmc;

/* Makes a ring of `capacity` elements of `element_size` bytes, empty and open, in `*out`. Allocates
 * all the memory it will ever use. Elements lie at multiples of element_size from a 128-byte
 * boundary. ILK_INVALID: capacity or element_size is 0, or the memory would exceed PTRDIFF_MAX.
 * ILK_NOMEM: no memory. `*out` is written on ILK_OK only. */
ILK_MUST_USE ilk_status ilk_mpmc_create(ilk_mpmc **out, size_t capacity, size_t element_size);

/* Frees `ring` and the elements left in it; NULL does nothing. Nobody else may be using it.
 * Misuse: a thread waits in it, or slots are reserved or shown and not given back. */
void ilk_mpmc_destroy(ilk_mpmc *ring);

/* Copies one element in: true when pushed, false when full (guarantee D) or closed. `element_size`
 * must be the ring's (misuse otherwise): a constant lets the compiler turn the copy into a move. */
ILK_MUST_USE static inline bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Moves the oldest element out into `element`: true when popped, false when empty (guarantee D).
 * pop_until with deadline 0 tells an empty ring from a drained one. */
ILK_MUST_USE static inline bool ilk_mpmc_try_pop(ilk_mpmc *ring, void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Copies in as many of the `count` elements as fit, in order and next to each other, claimed by one
 * operation. The number pushed, from the front. */
ILK_MUST_USE size_t ilk_mpmc_try_push_many(ilk_mpmc *ring, const void *elements, size_t count,
                                           size_t element_size) ILK_NONBLOCKING;

/* Moves up to `count` elements out, oldest first, claimed by one operation. The number popped. */
ILK_MUST_USE size_t ilk_mpmc_try_pop_many(ilk_mpmc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING;

/* Pushes one element; when the ring is full, evicts the oldest in the same step: true when `evicted`
 * was filled with an element that is no longer in the ring. On a closed ring that is the element
 * itself, given back: nothing is ever dropped. `evicted` may be `element`: one buffer, which then holds what
 * came out, or as it was. Waits for other threads only while they are in the middle of the slot it needs.
 * Misuse: the two overlap otherwise; or the calling thread itself has the slot it needs reserved or shown. */
bool ilk_mpmc_push_overwriting(ilk_mpmc *ring, const void *element, size_t element_size, void *evicted);

/* Pushes one element, waiting for room until `deadline_ns` at most. ILK_OK: pushed. ILK_TIMEDOUT or
 * ILK_CLOSED: not pushed. A deadline that has passed still pushes where there is room. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_push_until(ilk_mpmc *ring, const void *element,
                                                          size_t element_size, uint64_t deadline_ns);

/* Pops one element, waiting for one until `deadline_ns` at most. ILK_OK: popped. ILK_TIMEDOUT: none
 * came. ILK_CLOSED: none will ever come. A deadline that has passed still pops what is there. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_pop_until(ilk_mpmc *ring, void *element, size_t element_size,
                                                         uint64_t deadline_ns);

/* Claims free slots for writing in place. In: `*count` slots are wanted; out: that many or fewer,
 * contiguous, at the address returned; NULL and 0 when full or closed, or when 0 were wanted. Slots
 * hold whatever was there before. The calling thread must commit every slot it reserved, soon: pops
 * and pushes that come to those slots find an operation in progress (guarantee D). Beside that every call may
 * be made meanwhile, from this thread too, and goes on with other slots.
 * Misuse: more than ILK_MPMC_MAX_CLAIMS reservations and peeks open in the calling thread, or a
 * reservation of the same ring; and a push_until or pop_until without a deadline that comes to wait for a
 * slot that the calling thread itself has open, which would be for ever. With a deadline it times out. */
ILK_MUST_USE void *ilk_mpmc_reserve(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Pushes the next `count` of the calling thread's reserved slots, oldest first; when all are, the
 * reservation has ended. Misuse: the thread has reserved fewer. */
void ilk_mpmc_commit(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Takes the oldest elements out for reading in place. In: at most `*count` elements are wanted, 0 for
 * as many as there are; out: how many stand at the address returned, contiguous; NULL and 0 when
 * empty. They belong to the calling thread, which must release every one. Misuse: as reserve, with a peek of
 * the same ring. */
ILK_MUST_USE const void *ilk_mpmc_peek(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Gives the next `count` of the slots shown to the calling thread back, oldest first. Misuse: fewer
 * have been shown. */
void ilk_mpmc_release(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Reservations and peeks that one thread may have open at the same time, over all rings. */
#define ILK_MPMC_MAX_CLAIMS 8

/* Closes the ring (guarantee C); twice does nothing more. Makes system calls. */
void ilk_mpmc_close(ilk_mpmc *ring);

/* True once the ring is closed: no push that starts now can succeed. */
bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* Installs the ring's hook (see notify.h), in place of an earlier one; NULL takes it away. One thread at a
 * time, and beside no arm call and no destroy; any other call may run beside it. Disarms both sides, then
 * waits for a call of the earlier hook that another thread is in, so the caller must not hold a lock that the
 * hook takes. The hook itself may call it, and is not waited for. */
void ilk_mpmc_set_notify(ilk_mpmc *ring, ilk_notify function, void *context);

/* Arms the hook for elements: true when armed (guarantees A to C of notify.h); false when an element is
 * there, or came meanwhile, or none will ever come: probe again, do not wait. Arming what is armed is
 * harmless. Does not block; makes system calls. Any thread. Misuse: no hook is installed. */
ILK_MUST_USE bool ilk_mpmc_arm_pop(ilk_mpmc *ring);

/* Arms the hook for room: true when armed; false when there is room, or was meanwhile, or the ring is closed.
 * Any thread. As arm_pop. */
ILK_MUST_USE bool ilk_mpmc_arm_push(ilk_mpmc *ring);

/* The number of elements in the ring, those being pushed included and those being popped not: a
 * snapshot that may be old. Never above capacity. */
size_t ilk_mpmc_count(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* The capacity it was made with. */
size_t ilk_mpmc_capacity(const ilk_mpmc *ring) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#include <interlock/inline/mpmc.h>

#endif
