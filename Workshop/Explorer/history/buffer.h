/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded buffer made of a lock and a wait under it, for histories of real threads and of scenarios.
 */
#ifndef EXPLORER_HISTORY_BUFFER_H
#define EXPLORER_HISTORY_BUFFER_H

#include "models.h"
#include <interlock/condition.h>
#include <string.h>

#ifndef BUFFER_CAPACITY
#define BUFFER_CAPACITY 2
#endif

/* Enters the lock, and waits until `predicate` holds, or `deadline_ns`. */
typedef enum buffer_answer { LATE, IN_TIME, MISJUDGED } buffer_answer;
typedef buffer_answer (*buffer_wait)(ilk_predicate predicate, uint64_t deadline_ns);

static struct {
    buffer_wait wait;
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_condition filled, emptied;
    uint64_t elements[BUFFER_CAPACITY]; /* guarded by the mutex or the lock, with the rest */
    uint64_t first, count;
} buffer;

static inline void begin_buffer(buffer_wait wait) {
    memset(&buffer, 0, sizeof buffer);
    buffer.wait = wait;
}

static inline bool has_room(void *unused) {
    (void)unused;
    ilk_plain_read(&buffer.count, sizeof buffer.count);
    return buffer.count < BUFFER_CAPACITY;
}
static inline bool has_element(void *unused) {
    (void)unused;
    ilk_plain_read(&buffer.count, sizeof buffer.count);
    return buffer.count > 0;
}

/* ---- Ways to wait ---- */

static inline buffer_answer judged(ilk_status status, ilk_predicate predicate) {
    const bool holds = predicate(NULL);
    return holds != (status == ILK_OK) ? MISJUDGED : holds ? IN_TIME : LATE;
}

static inline buffer_answer wait_by_mutex(ilk_predicate predicate, uint64_t deadline_ns) {
    ilk_mutex_lock(&buffer.mutex);
    return judged(ilk_mutex_await_until(&buffer.mutex, predicate, NULL, deadline_ns), predicate);
}

/* As a reader first. */
static inline buffer_answer wait_by_rwlock(ilk_predicate predicate, uint64_t deadline_ns) {
    ilk_rwlock_read_lock(&buffer.lock);
    const buffer_answer answer =
        judged(ilk_rwlock_read_await_until(&buffer.lock, predicate, NULL, deadline_ns), predicate);
    ilk_rwlock_read_unlock(&buffer.lock);
    ilk_rwlock_write_lock(&buffer.lock);
    return answer != IN_TIME
               ? answer
               : judged(ilk_rwlock_write_await_until(&buffer.lock, predicate, NULL, deadline_ns), predicate);
}

static inline buffer_answer wait_by_condition(ilk_predicate predicate, uint64_t deadline_ns) {
    ilk_condition *condition = predicate == has_room ? &buffer.emptied : &buffer.filled;
    ilk_mutex_lock(&buffer.mutex);
    bool in_time = true;
    while (!predicate(NULL) && in_time) {
        in_time = ilk_condition_wait_until(condition, &buffer.mutex, deadline_ns) == ILK_OK;
    }
    return predicate(NULL) ? IN_TIME : LATE;
}

/* As a reader first. */
static inline buffer_answer wait_by_rwlock_condition(ilk_predicate predicate, uint64_t deadline_ns) {
    ilk_condition *condition = predicate == has_room ? &buffer.emptied : &buffer.filled;
    bool in_time = true;
    ilk_rwlock_read_lock(&buffer.lock);
    while (!predicate(NULL) && in_time) {
        in_time = ilk_condition_read_wait_until(condition, &buffer.lock, deadline_ns) == ILK_OK;
    }
    ilk_rwlock_read_unlock(&buffer.lock);
    ilk_rwlock_write_lock(&buffer.lock);
    while (!predicate(NULL) && in_time) {
        in_time = ilk_condition_write_wait_until(condition, &buffer.lock, deadline_ns) == ILK_OK;
    }
    return predicate(NULL) ? IN_TIME : LATE;
}

/* ---- Verbs, recorded ---- */

static inline void give_up_lock(void) {
    if (buffer.wait == wait_by_rwlock || buffer.wait == wait_by_rwlock_condition) {
        ilk_rwlock_write_unlock(&buffer.lock);
    } else {
        ilk_mutex_unlock(&buffer.mutex);
    }
}

/* Signals with the lock held or not, or broadcasts. */
static inline void leave(uint64_t moved, ilk_condition *condition) {
    const bool tells =
        (buffer.wait == wait_by_condition || buffer.wait == wait_by_rwlock_condition) && moved != 0;
    if (tells && moved % 3 == 0) {
        ilk_condition_broadcast(condition);
    } else if (tells && moved % 3 == 1) {
        ilk_condition_signal(condition);
    }
    give_up_lock();
    if (tells && moved % 3 == 2) {
        ilk_condition_signal(condition);
    }
}

/* Pushes `element`, or pops if it is 0. */
static inline bool move_until(uint64_t element, uint64_t deadline_ns) {
    const bool pushes = element != 0;
    const size_t operation = ex_begin(pushes ? EX_PUSH : EX_POP, element);
    const buffer_answer answer = buffer.wait(pushes ? has_room : has_element, deadline_ns);
    const bool in_time = answer == IN_TIME;
    if (in_time) {
        ilk_plain_write(&buffer.count, sizeof buffer.count);
    }
    if (in_time && pushes) {
        buffer.elements[(buffer.first + buffer.count++) % BUFFER_CAPACITY] = element;
    } else if (in_time) {
        element = buffer.elements[buffer.first++ % BUFFER_CAPACITY];
        buffer.count--;
    }
    leave(in_time ? element : 0, pushes ? &buffer.filled : &buffer.emptied);
    if (answer == LATE) {
        ex_not_before(operation, deadline_ns);
    }
    /* No buffer is closed: a misjudged wait does not fit. */
    ex_end(operation, in_time ? pushes ? EX_DONE : element : answer == LATE ? EX_TIMEDOUT : EX_CLOSED);
    return in_time;
}

#endif
