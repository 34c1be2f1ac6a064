/* SPDX-License-Identifier: Apache-2.0
 *
 * Wait sets: a thread waits for two rings, a semaphore and a latch, until all that two others send has come.
 */
#include "soak.h"

#include <poll.h>

enum { SENT = 200 };

struct waited {
    ilk_wait_set *set;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    ilk_semaphore semaphore;
    ilk_latch latch;
};

static void set_up_waited(void *state, int variant) {
    struct waited *me = state;
    (void)variant;
    at("create");
    *me = (struct waited){.set = NULL};
    ilk_semaphore_init(&me->semaphore, 0);
    ilk_latch_init(&me->latch, 2);
    /* Until there is memory. */
    while (ilk_wait_set_create(&me->set) != ILK_OK) {
    }
    while (ilk_spsc_create(&me->spsc, 1 + chance(8), sizeof(int)) != ILK_OK) {
    }
    while (ilk_mpmc_create(&me->mpmc, 1 + chance(8), sizeof(int)) != ILK_OK) {
    }
    while (ilk_wait_set_add_spsc(me->set, me->spsc, ILK_READABLE, me->spsc) == ILK_NOMEM) {
    }
    while (ilk_wait_set_add_mpmc(me->set, me->mpmc, ILK_READABLE, me->mpmc) == ILK_NOMEM) {
    }
    while (ilk_wait_set_add_semaphore(me->set, &me->semaphore, &me->semaphore) == ILK_NOMEM) {
    }
    while (ilk_wait_set_add_latch(me->set, &me->latch, &me->latch) == ILK_NOMEM) {
    }
}

static void send_all(struct waited *me, int index) {
    for (int i = 0; i < SENT; i++) {
        if (index == 1) {
            at("spsc push_until, to a set");
            expect(ilk_spsc_push_until(me->spsc, &i, sizeof i, ILK_FOREVER) == ILK_OK);
        } else {
            at("mpmc push_until, to a set");
            expect(ilk_mpmc_push_until(me->mpmc, &i, sizeof i, ILK_FOREVER) == ILK_OK);
        }
        if (chance(2) == 0) {
            ilk_semaphore_signal(&me->semaphore, 2);
            ilk_semaphore_signal(&me->semaphore, 0);
        } else {
            ilk_semaphore_signal(&me->semaphore, 1);
            ilk_semaphore_signal(&me->semaphore, 1);
        }
        if (chance(20) == 0) {
            ilk_wait_set_wake(me->set);
        }
    }
    ilk_latch_count_down(&me->latch);
}

/* As a loop of its own does: by the descriptor. */
static void poll_set(struct waited *me) {
    int descriptor, before;
    ilk_status status = ilk_wait_set_descriptor(me->set, &descriptor);
    expect(status == ILK_OK);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    at("poll");
    poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1,
         -1); /* or a signal: the wait does not block */
    pthread_setcancelstate(before, NULL);
}

static void use_set(void *state, int index) {
    struct waited *me = state;
    if (index != 0) {
        send_all(me, index);
        return;
    }
    int from_spsc = 0, from_mpmc = 0, permits = 0, latches = 0, element;
    bool polls = chance(3) == 0;
    while (from_spsc < SENT || from_mpmc < SENT || permits < 4 * SENT || latches < 1) {
        void *keys[4];
        size_t count = 0, capacity = 1 + chance(4);
        uint64_t deadline = polls ? 0 : some_deadline();
        at("ilk_wait_set_wait_until");
        ilk_status status = ilk_wait_set_wait_until(me->set, keys, capacity, &count, deadline);
        expect(count <= capacity &&
               (status == ILK_OK || (status == ILK_TIMEDOUT && count == 0 && deadline != ILK_FOREVER)));
        for (size_t i = 0; i < count; i++) {
            if (keys[i] == me->spsc) {
                for (; ilk_spsc_try_pop(me->spsc, &element, sizeof element); from_spsc++) {
                    expect(element == from_spsc);
                }
            } else if (keys[i] == me->mpmc) {
                for (; ilk_mpmc_try_pop(me->mpmc, &element, sizeof element); from_mpmc++) {
                    expect(element == from_mpmc);
                }
            } else if (keys[i] == &me->semaphore) {
                permits++;
            } else {
                expect(keys[i] == &me->latch && ilk_latch_try_wait(&me->latch));
                expect(ilk_wait_set_remove(me->set, &me->latch));
                latches++;
            }
        }
        if (polls && status == ILK_TIMEDOUT) {
            poll_set(me);
        }
    }
    expect(from_spsc == SENT && from_mpmc == SENT && permits == 4 * SENT && latches == 1);
}

static void check_set(void *state, bool is_last) {
    struct waited *me = state;
    (void)is_last;
    if (chance(2) == 0) {
        expect(ilk_wait_set_remove(me->set, &me->semaphore) && !ilk_wait_set_remove(me->set, &me->semaphore));
        expect(ilk_semaphore_value(&me->semaphore) == 0);
    }
    ilk_wait_set_destroy(me->set);
    expect(ilk_semaphore_value(&me->semaphore) == 0);
    ilk_semaphore_destroy(&me->semaphore);
    ilk_spsc_destroy(me->spsc);
    ilk_mpmc_destroy(me->mpmc);
}

const struct activity wait_sets[] = {
    {number_of_wait_set, 3, sizeof(struct waited), 0, set_up_waited, use_set, check_set},
    {.threads = 0},
};
