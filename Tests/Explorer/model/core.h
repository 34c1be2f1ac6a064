/* SPDX-License-Identifier: Apache-2.0
 *
 * Put before every source of the core by -include: its heap is the model's, its fork handlers are the
 * model's to run, and its spin loops before sleeping are one turn long. A spin loop of many turns that
 * finds nothing is one of one turn, repeated: exploring the others would only hide the paths behind it.
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

/* The sources say `enum { SPIN_LIMIT = 64 };` and then compare with it. The definition must keep its
 * form and the uses see 1, so each mention of the name becomes another name: the first, ex_spin_0, is
 * the one defined there; the others are defined here. */
enum { ex_spin_1 = 1, ex_spin_2 = 1, ex_spin_3 = 1, ex_spin_4 = 1, ex_spin_5 = 1, ex_spin_6 = 1 };
#define EX_PASTE(a, b) a##b
#define EX_SPIN(count) EX_PASTE(ex_spin_, count)
#define SPIN_LIMIT EX_SPIN(__COUNTER__)

#endif
