/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before every source of the core (-include): the model's heap, fork handlers, and spins of one probe and one
 * pause.
 */
#ifndef EXPLORER_MODEL_CORE_H
#define EXPLORER_MODEL_CORE_H

#define ILK_MODEL
#include "../engine/heap.h"
#include <pthread.h>
#include <stdlib.h>

#define malloc(size) ex_allocate((size), 16)
#define calloc(count, size) ex_allocate_zeroed((count), (size))
#define aligned_alloc(alignment, size) ex_allocate((size), (alignment))
#define posix_memalign(out, alignment, size) ex_allocate_into((out), (alignment), (size))
#define free(memory) ex_free(memory)

int ex_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
#define pthread_atfork(prepare, parent, child) ex_at_fork((prepare), (parent), (child))

/* wait/spin.h. A pause lets the others run until one writes: sixteen would let a lock's holder leave before a waiter
 * queues. */
#define ILK__SPIN_PROBES(count) 1
#define ILK__SPIN_PAUSES(count) ((count) > 0)

/* wait/conditions.c: three waiters are more than are woken at once. */
#define ILK__MOST_SIGNALLED 2

/* wait/watchers.c: two watchers are more than a notifier remembers. */
#define ILK__MOST_WAKES 1

/* pool/deque.h: full after two jobs. */
#define ILK__DEQUE_PLACES 2

/* diagnostics/records.h */
#define ILK__HELD_MOST 3
#define ILK__EVENTS_KEPT 1
#define ILK__KNOWN_ORDERS 2

/* diagnostics/index.h */
#define ILK__INDEX_FIRST 4

#endif
