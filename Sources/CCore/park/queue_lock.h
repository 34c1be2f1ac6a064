/* SPDX-License-Identifier: Apache-2.0
 *
 * The short lock that guards a primitive's waiter queue, in two bits of the primitive's own word, so
 * that releasing the queue and changing the state are one atomic step. That matters: the thread the
 * new state lets in may free the memory at once, so nothing may touch it afterwards.
 *
 *   bit 0  ILK__QUEUE_LOCKED     somebody has the queue
 *   bit 1  ILK__QUEUE_CONTENDED  somebody sleeps for it; set by the one who will sleep
 * Every word that uses this has those two bits in those places.
 *
 *   state                 who moves it                     to
 *   neither               a locker                         LOCKED
 *   LOCKED                a locker about to sleep          LOCKED|CONTENDED
 *   LOCKED                the holder                       neither, with the new state
 *   LOCKED|CONTENDED      the holder                       neither, then wakes all who sleep
 * A woken locker competes anew. Must not happen: a locker sleeps on a word without LOCKED (the park
 * layer compares the whole word), or the holder releases without seeing CONTENDED (the release is a
 * read-modify-write of the whole word and clears both bits together).
 *
 * The holder never waits for anything while it holds the queue, so the lock is held for tens of
 * nanoseconds; a holder preempted meanwhile makes others sleep, not spin.
 */
#ifndef INTERLOCK_PARK_QUEUE_LOCK_H
#define INTERLOCK_PARK_QUEUE_LOCK_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

#define ILK__QUEUE_LOCKED UINT32_C(0x1)
#define ILK__QUEUE_CONTENDED UINT32_C(0x2)
#define ILK__QUEUE_BITS (ILK__QUEUE_LOCKED | ILK__QUEUE_CONTENDED)

/* Takes the queue of `word`; spins briefly, then sleeps. */
void ilk__queue_lock(ILK_ATOMIC(uint32_t) * word);

/* Releases the queue and moves the rest of the word from `*seen` to `next` in one step. `next` has
 * neither queue bit. True when done. False when the word had changed: `*seen` is then what it holds
 * now and the caller, who still has the queue, computes `next` anew. */
bool ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next);

/* What the caller, who has the queue, bases its next state on. */
uint32_t ilk__queue_look(ILK_ATOMIC(uint32_t) * word);

#endif
