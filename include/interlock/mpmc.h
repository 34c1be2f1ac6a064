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
 * from 1 up is honoured exactly. Each slot carries a stamp that says which position may use it next, so that
 * producers and consumers meet only at the slot they share.
 *
 * Concurrency matrix
 *   any thread     every call but these:
 *   its own rules  set_notify
 *   alone          create, destroy
 * A call of the first kind may run beside any other of it.
 *
 * Guarantees
 *   A  First in, first out by the order in which pushes claim their slots: the elements of one
 *      producer keep their order. What a producer did before a push is visible to the consumer of
 *      that element.
 *   B  A push that answered true or ILK_OK, and a committed reservation, is popped or handed back by
 *      push_overwriting exactly once, also beside a close. pop_until answers ILK_CLOSED only when nothing
 *      pushed with success is left and nothing can follow.
 *   C  After close: pushes and reserve fail; claims made before it, reservations among them, are completed;
 *      pops drain the ring, then fail. Waits for room end at once, waits for an element when the ring is
 *      drained and no push is in progress. A push that claimed its slot before the close, an overwriting one
 *      too, may answer after close has returned; B holds for its element.
 *   D  full and empty may be answered while a neighbour is halfway: try_pop may find nothing while an
 *      earlier push is in progress and a later one is done, and try_push may find no room while an
 *      earlier pop is in progress and a later one is done. Where no call is in progress, and nothing reserved
 *      or shown, both are exact. A batch likewise stops at the first slot that another call is in the middle
 *      of, and so may move fewer than are there or fit.
 *   E  try_ calls, reserve, commit, peek and release never block or allocate, and make a system call only to
 *      wake a sleeper. Where the hook is armed they call it. A call that finds nothing while the other side
 *      runs at full speed, or loses its slot to another thread, may back off before it probes again, each
 *      time for at most 32 of the processor's pause instructions: some hundred nanoseconds, on some
 *      processors more than a microsecond. push_overwriting may wait for a thread that is in the middle of
 *      the one slot it needs.
 *   F  A waiter that times out passes a wake-up it got on to another.
 *
 * Calls other than create, destroy and the waiting ones are O(1) beside the retries that other threads'
 * progress causes, or O(count) for their copies; destroy is O(capacity). Waits are not cancellation points.
 *
 * docs/rings.md draws the protocol.
 *
 * Source: Vyukov, "Bounded MPMC queue" (2010), with positions that count laps and slots apart, so
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

/* Frees `ring` and the elements left in it; NULL does nothing. No other call may use it any more.
 * Misuse: a thread waits in it, or slots are reserved or shown and not given back. */
void ilk_mpmc_destroy(ilk_mpmc *ring);

/* Copies one element in: true when pushed, false when full (guarantee D) or closed. `element_size`
 * must be the ring's (misuse otherwise): a constant lets the compiler turn the copy into a move. */
ILK_MUST_USE static inline bool ilk_mpmc_try_push(ilk_mpmc *ring, const void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Moves the oldest element out into `element`: true when popped, false when empty (guarantee D), `element`
 * then untouched. pop_until with deadline 0 tells an empty ring from a drained one. */
ILK_MUST_USE static inline bool ilk_mpmc_try_pop(ilk_mpmc *ring, void *element, size_t element_size)
    ILK_NONBLOCKING;

/* Copies in as many of the `count` elements as fit, in order. The number pushed, from the front. One
 * operation claims their slots: no other thread's element comes between them. */
ILK_MUST_USE size_t ilk_mpmc_try_push_many(ilk_mpmc *ring, const void *elements, size_t count,
                                           size_t element_size) ILK_NONBLOCKING;

/* Moves up to `count` elements out, oldest first. The number popped. One operation claims their slots: they
 * follow each other in the ring. */
ILK_MUST_USE size_t ilk_mpmc_try_pop_many(ilk_mpmc *ring, void *elements, size_t count, size_t element_size)
    ILK_NONBLOCKING;

/* Pushes one element; when the ring is full, evicts the oldest for it: true when `evicted` was filled with an
 * element that is no longer in the ring. On a closed ring that is the element itself, given back: none is
 * ever dropped. `evicted` may be `element`: one buffer, which then holds what came out, or is unchanged.
 * Waits for other threads only while they are in the middle of the slot it needs.
 * Misuse: the two overlap otherwise; or the calling thread itself has the slot it needs reserved or shown. */
bool ilk_mpmc_push_overwriting(ilk_mpmc *ring, const void *element, size_t element_size, void *evicted);

/* Pushes one element; waits for room until `deadline_ns` at most. ILK_OK: pushed. ILK_TIMEDOUT or
 * ILK_CLOSED: not pushed. A deadline that has passed still pushes where there is room. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_push_until(ilk_mpmc *ring, const void *element,
                                                          size_t element_size, uint64_t deadline_ns);

/* Pops one element; waits for one until `deadline_ns` at most. ILK_OK: popped. ILK_TIMEDOUT: none
 * came. ILK_CLOSED: none will ever come. A deadline that has passed still pops what is there. */
ILK_MUST_USE static inline ilk_status ilk_mpmc_pop_until(ilk_mpmc *ring, void *element, size_t element_size,
                                                         uint64_t deadline_ns);

/* Claims free slots for writing in place. In: `*count` slots are wanted; out: that many or fewer,
 * contiguous, at the address returned; NULL and 0 when full or closed, or when 0 were wanted. Slots
 * hold whatever was there before. The calling thread must commit every slot it reserved, soon: pops
 * and pushes that come to those slots find an operation in progress (guarantee D). Any other call may be made
 * meanwhile, from this thread too, and goes on with other slots.
 * Misuse: the calling thread has ILK_MPMC_MAX_CLAIMS reservations and peeks open already, or a reservation of
 * this ring. Misuse of push_until and pop_until without a deadline: the wait is for a slot that the calling
 * thread itself has open, and would never end. With a deadline it times out. */
ILK_MUST_USE void *ilk_mpmc_reserve(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Pushes the next `count` of the calling thread's reserved slots, oldest first. The last ends the
 * reservation. Misuse: the thread has reserved fewer. */
void ilk_mpmc_commit(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Takes the oldest elements out for reading in place. In: at most `*count` elements are wanted, 0 for
 * as many as there are; out: how many stand at the address returned, contiguous; NULL and 0 when
 * empty. They belong to the calling thread, which must release every one. Misuse: as reserve, with a peek of
 * this ring. */
ILK_MUST_USE const void *ilk_mpmc_peek(ilk_mpmc *ring, size_t *count) ILK_NONBLOCKING;

/* Gives the next `count` of the slots shown to the calling thread back, oldest first. Misuse: fewer
 * are shown to it. */
void ilk_mpmc_release(ilk_mpmc *ring, size_t count) ILK_NONBLOCKING;

/* Reservations and peeks that one thread may have open at the same time, over all rings. */
#define ILK_MPMC_MAX_CLAIMS 8

/* Closes the ring (guarantee C); twice does nothing more. Makes system calls. */
void ilk_mpmc_close(ilk_mpmc *ring);

/* True once the ring is closed: no push that starts now succeeds. What the closer did before is visible
 * then. */
bool ilk_mpmc_is_closed(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* Installs the ring's hook, or with NULL takes it away (notify.h). May wait for a call of it. */
void ilk_mpmc_set_notify(ilk_mpmc *ring, ilk_notify function, void *context);

/* Arms the hook for elements: true when armed (notify.h). */
ILK_MUST_USE bool ilk_mpmc_arm_pop(ilk_mpmc *ring);

/* Arms the hook for room: true when armed (notify.h). */
ILK_MUST_USE bool ilk_mpmc_arm_push(ilk_mpmc *ring);

/* The number of elements in the ring, at most capacity: those being pushed and slots reserved included, those
 * being popped and elements shown not. Beside other calls an estimate: what is pushed or popped
 * meanwhile may be counted or not. */
size_t ilk_mpmc_count(const ilk_mpmc *ring) ILK_NONBLOCKING;

/* The capacity it was made with. */
size_t ilk_mpmc_capacity(const ilk_mpmc *ring) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#include <interlock/inline/mpmc.h>

#endif
