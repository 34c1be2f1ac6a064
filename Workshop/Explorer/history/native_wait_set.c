/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads: a wait set (members.h). The first thread waits and takes; the others push, signal, wake,
 * and once in a burst open the latch. In each burst as much is taken as comes: each wait without a limit ends, unless a
 * wake-up is lost. In every other burst nothing comes but one wake: a wait that times out behind it has lost it.
 */
#include "native.h"
#define LATCHES (TURNS / BURST)
#include "members.h"

enum { THREADS = 3, MOST_WAITS = 16 };

static void prepare(void) {
    end_members();
    begin_members(BURST);
}

static void wake_or_wait(unsigned thread, uint64_t random) {
    if (thread == 1) {
        wake();
    }
    for (unsigned left = thread == 0 ? MOST_WAITS : 0; left > 0; left--) {
        if (wait_for_members(1, soon(random >> left)) != EX_TIMEDOUT) {
            return;
        }
    }
}

static void turn(unsigned thread, uint64_t random, uint64_t number) {
    if (number / BURST % 2 == 1) {
        if (number % BURST == 0) {
            wake_or_wait(thread, random);
        }
    } else if (thread != 0) { /* each has a ring */
        const bool opens = thread == 1 && number % BURST == number / BURST % BURST;
        give(opens ? LATCH : random % 4 == 0 ? SEMAPHORE : thread % RINGS);
        if (random / 4 % 16 == 0) {
            wake();
        }
    } else if (number % BURST == 0) {
        for (int left = BURST * (THREADS - 1); left > 0; random = random >> 8 | random << 56) {
            const size_t capacity = 1 + random % EX_MEMBERS;
            left -= serve(capacity, random / 4 % 2 == 0 ? ILK_FOREVER : soon(random / 8));
        }
        add_latch(); /* behind the last, none opens it */
    }
}

const subject wait_set_subjects[] = {
    {"wait_set", "two rings, a semaphore, a latch", THREADS, &ex_ready_set, &taken_from, prepare, turn},
    {NULL, NULL, 0, NULL, NULL, NULL, NULL},
};
