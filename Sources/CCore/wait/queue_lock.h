/* SPDX-License-Identifier: Apache-2.0
 *
 * The short lock of a primitive's waiter queue, in two bits of the primitive's own word: releasing the queue
 * and changing the state are one step. The thread that the new state lets in may free the memory at once:
 * nothing touches it afterwards. The same bits in every such word:
 *
 *   bit 0  ILK__QUEUE_LOCKED     a thread has the queue
 *   bit 1  ILK__QUEUE_CONTENDED  a thread sleeps for it; set by the thread that will sleep
 *
 *   state                 moved by                         to
 *   neither               a locker                         LOCKED
 *   LOCKED                a locker about to sleep          LOCKED|CONTENDED
 *   LOCKED                the holder                       neither, with the new state
 *   LOCKED|CONTENDED      the holder                       neither, then wakes all sleepers
 * Woken lockers compete anew.
 * Must not happen: a locker sleeps on a word without LOCKED (the park layer compares the whole word), or the
 * holder releases without seeing CONTENDED (the release is a read-modify-write of the whole word).
 *
 * Only a thread that joins or leaves the queue for itself waits for this lock. A thread that gives up a share
 * or a permit changes the rest of the word alone while another has the queue:
 *
 *   giver, finds LOCKED              holder
 *                                      next = state without the share
 *     word -= share                    release: word == seen?
 *   first: the release fails; the holder computes the next state anew and lets the next waiter in.
 *   second: the word has no LOCKED, the giver's step fails, and it takes the queue itself.
 * Must not happen: the share is given up, the queue released, and a waiter that now fits stays queued. Both
 * steps are read-modify-writes of one word.
 *
 * The holder waits for nothing: tens of nanoseconds; but for a wait set's, through a spin or a heavy fence. While the
 * system keeps it off its core, lockers sleep.
 */
#ifndef INTERLOCK_WAIT_QUEUE_LOCK_H
#define INTERLOCK_WAIT_QUEUE_LOCK_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

#define ILK__QUEUE_LOCKED UINT32_C(0x1)
#define ILK__QUEUE_CONTENDED UINT32_C(0x2)
#define ILK__QUEUE_BITS (ILK__QUEUE_LOCKED | ILK__QUEUE_CONTENDED)

/* Takes the queue of `word`: spins briefly, then sleeps. ILK_OK: taken; `*seen` is what the word held then.
 * ILK_TIMEDOUT: not taken. */
ilk_status ilk__queue_lock_until(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns, uint32_t *seen);

/* Takes the queue of `word`, however long it takes. */
void ilk__queue_lock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen);

/* One attempt on a word that held `*seen`, without LOCKED. Never waits. `*seen` is then what the word
 * holds. */
bool ilk__queue_try_lock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen) ILK_NONBLOCKING;

/* Releases the queue and moves the word from `*seen` to `next`, which has neither queue bit, in one step.
 * False: the word had changed; `*seen` is what it holds now, and the caller still has the queue. */
bool ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next);

#endif
