/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads: bounded buffers (buffer.h). Half of the threads push, half pop, in each burst as many:
 * each wait without a limit ends, unless a wake-up is lost.
 */
#include "buffer.h"
#include "native.h"
#include <string.h>

static const ex_queue_parameters parameters = {.capacity = BUFFER_CAPACITY};

/* Waits until a limit first, every other time, then without. */
static void move(unsigned thread, uint64_t random, uint64_t number) {
    const uint64_t element = thread % 2 == 0 ? number * MOST_THREADS + thread + 1 : 0;
    if (random % 2 == 0 || !move_until(element, soon(random / 2))) {
        while (!move_until(element, ILK_FOREVER)) { /* misjudged, which the check finds */
        }
    }
}

static void by_mutex(void) {
    begin_buffer(wait_by_mutex);
}
static void by_inheriting_mutex(void) {
    begin_buffer(wait_by_mutex);
    ilk_mutex_init(&buffer.mutex, true);
}
static void by_rwlock(void) {
    begin_buffer(wait_by_rwlock);
}
static void by_condition(void) {
    begin_buffer(wait_by_condition);
}
static void by_rwlock_condition(void) {
    begin_buffer(wait_by_rwlock_condition);
}

#define BUFFER(name, what, prepare)                                                                          \
    { name, what, MOST_THREADS, &ex_bounded_queue, &parameters, prepare, move }

const subject condition_subjects[] = {
    BUFFER("await-mutex", "a buffer under a mutex", by_mutex),
    BUFFER("await-inherit", "the same with priority inheritance", by_inheriting_mutex),
    BUFFER("await-rwlock", "a buffer under a reader-writer lock", by_rwlock),
    BUFFER("condition", "a buffer with two conditions", by_condition),
    BUFFER("condition-rwlock", "the same with a reader-writer lock", by_rwlock_condition),
    {NULL, NULL, 0, NULL, NULL, NULL, NULL},
};
