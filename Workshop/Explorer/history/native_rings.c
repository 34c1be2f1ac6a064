/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads: the rings, and the deque of a worker.
 */
#include "native.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>
#include <stdlib.h>
#include <string.h>

#define ILK__DEQUE_PLACES 4
#include <pool/deque.h>

static ilk_mpmc *mpmc;
static ilk_spsc *spsc;
static struct deque deque;
static ilk_job jobs[TURNS];

static const ex_queue_parameters ring = {.capacity = 3, .inexact = true};
static const ex_queue_parameters places = {.capacity = DEQUE_PLACES};

static void prepare_mpmc(void) {
    ilk_mpmc_destroy(mpmc);
    if (ilk_mpmc_create(&mpmc, ring.capacity, sizeof(uint64_t)) != ILK_OK) {
        exit(2);
    }
}
static void mpmc_turn(unsigned thread, uint64_t random, uint64_t number) {
    uint64_t element = random % 2 == 0 ? number * MOST_THREADS + thread + 1 : 0;
    const size_t operation = ex_begin(element != 0 ? EX_PUSH : EX_POP, element);
    if (element != 0) {
        const bool pushed = ilk_mpmc_try_push(mpmc, &element, sizeof element);
        ex_end(operation, pushed ? EX_DONE : EX_REFUSED);
    } else {
        const bool popped = ilk_mpmc_try_pop(mpmc, &element, sizeof element);
        ex_end(operation, popped ? element : EX_EMPTY);
    }
}

static void prepare_spsc(void) {
    ilk_spsc_destroy(spsc);
    if (ilk_spsc_create(&spsc, ring.capacity, sizeof(uint64_t)) != ILK_OK) {
        exit(2);
    }
}
static void spsc_turn(unsigned thread, uint64_t random, uint64_t number) {
    (void)random;
    uint64_t element = thread == 0 ? number + 1 : 0;
    const size_t operation = ex_begin(element != 0 ? EX_PUSH : EX_POP, element);
    if (element != 0) {
        const bool pushed = ilk_spsc_try_push(spsc, &element, sizeof element);
        ex_end(operation, pushed ? EX_DONE : EX_REFUSED);
    } else {
        const bool popped = ilk_spsc_try_pop(spsc, &element, sizeof element);
        ex_end(operation, popped ? element : EX_EMPTY);
    }
}

static void prepare_deque(void) {
    memset(&deque, 0, sizeof deque);
}
static uint64_t number_of(const ilk_job *job, uint64_t otherwise) {
    return job != NULL ? (uint64_t)(job - jobs) + 1 : otherwise;
}
/* The first thread owns it. Long and empty in turns. */
static void deque_turn(unsigned thread, uint64_t random, uint64_t number) {
    const bool pushes = random % 4 < (number / 16 % 2 == 0 ? 3 : 2);
    if (thread != 0) {
        const size_t operation = ex_begin(EX_POP, 0);
        bool lost = false;
        const ilk_job *job = deque_steal(&deque, NULL, &lost);
        ex_end(operation, number_of(job, lost ? EX_REFUSED : EX_EMPTY));
    } else if (pushes) {
        const size_t operation = ex_begin(EX_PUSH, number + 1);
        ex_end(operation, deque_push(&deque, &jobs[number], NULL) ? EX_DONE : EX_REFUSED);
    } else {
        const size_t operation = ex_begin(EX_TAKE_LAST, 0);
        ex_end(operation, number_of(deque_take(&deque), EX_EMPTY));
    }
}

const subject ring_subjects[] = {
    {"mpmc", "try_push and try_pop", 0, &ex_bounded_queue, &ring, prepare_mpmc, mpmc_turn},
    {"spsc", "try_push and try_pop", 2, &ex_bounded_queue, &ring, prepare_spsc, spsc_turn},
    {"deque", "the owner's push and take, steals", 0, &ex_deque, &places, prepare_deque, deque_turn},
    {NULL, NULL, 0, NULL, NULL, NULL, NULL},
};
