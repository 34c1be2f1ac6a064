/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that hand over by ilk_condition: no signal is lost, and no thread is kept waiting.
 */
#include "support/test.h"
#include <interlock/condition.h>
#include <string.h>

/* ---- Threads that pass tokens, and always signal one that waits ---- */

enum { PASSERS = 4, TOKENS = 2, PASSES = 100000 };
struct passing {
    ilk_mutex mutex;
    ilk_condition comes[PASSERS];
    bool has_token[PASSERS]; /* guarded, as all below */
    int passes;
    bool has_had_turn;
};
struct passer {
    struct passing *passing;
    int index;
    struct thread thread;
};

static bool has_passed_some(void *passing) {
    return ((struct passing *)passing)->passes >= 100;
}
static bool passing_is_over(const struct passing *passing) {
    return passing->has_had_turn || passing->passes >= PASSES;
}
static void await_turn(void *context) {
    struct passing *passing = context;
    ilk_mutex_lock(&passing->mutex);
    check_equal(ilk_mutex_await_until(&passing->mutex, has_passed_some, passing, ILK_FOREVER), ILK_OK);
    check(passing->passes < PASSES);
    passing->has_had_turn = true;
    ilk_mutex_unlock(&passing->mutex);
}
static void pass_to_next(struct passing *passing, int index) {
    int next = (index + 1) % PASSERS;
    while (passing->has_token[next]) {
        next = (next + 1) % PASSERS;
    }
    passing->has_token[index] = false;
    passing->has_token[next] = true;
    passing->passes++;
    ilk_condition_signal(&passing->comes[next]);
}
static void pass_tokens(void *context) {
    const struct passer *self = context;
    struct passing *passing = self->passing;
    ilk_mutex_lock(&passing->mutex);
    while (!passing_is_over(passing)) {
        if (passing->has_token[self->index]) {
            pass_to_next(passing, self->index);
        } else {
            check_equal(ilk_condition_wait_until(&passing->comes[self->index], &passing->mutex, ILK_FOREVER),
                        ILK_OK);
        }
    }
    for (int index = 0; index < PASSERS; index++) {
        ilk_condition_signal(&passing->comes[index]);
    }
    ilk_mutex_unlock(&passing->mutex);
}
/* At each unlock one of them is on its way to the mutex. */
/* contract: condition.D, condition.H */
TEST(threads_that_signal_each_other_leave_a_predicate_its_turn) {
    struct passing passing = {.mutex = ILK_MUTEX_INIT};
    struct thread waiter;
    thread_start(&waiter, await_turn, &passing);
    thread_await_sleep(&waiter);
    struct passer passers[PASSERS];
    for (int index = 0; index < PASSERS; index++) {
        passing.has_token[index] = index < TOKENS;
        passers[index] = (struct passer){&passing, index, {0}};
    }
    for (int index = 0; index < PASSERS; index++) {
        thread_start(&passers[index].thread, pass_tokens, &passers[index]);
    }
    thread_join(&waiter);
    for (int index = 0; index < PASSERS; index++) {
        thread_join(&passers[index].thread);
    }
}

/* ---- A buffer of one place ---- */

struct buffer {
    ilk_mutex mutex;
    ilk_condition filled, emptied;
    uint64_t element; /* guarded, as all below: 0 is no element */
    uint64_t put, taken, sum;
    uint64_t last; /* the threads end after it */
    bool has_limits;
};
struct client {
    struct buffer *buffer;
    uint32_t random;
    enum { PUTS, TAKES, COUNTS } part;
    uint64_t goal; /* of one that counts */
};

static bool is_over(const struct buffer *buffer) {
    return buffer->taken == buffer->last;
}
static bool may_go_on(const struct buffer *buffer, bool puts) {
    return is_over(buffer) ||
           (puts ? buffer->element == 0 && buffer->put < buffer->last : buffer->element != 0);
}
static void wait_for_turn(struct client *self) {
    struct buffer *buffer = self->buffer;
    while (!may_go_on(buffer, self->part == PUTS)) {
        const uint64_t deadline =
            buffer->has_limits ? ilk_deadline_in_ns(next_random(&self->random) % 100000) : ILK_FOREVER;
        const ilk_status status = ilk_condition_wait_until(
            self->part == PUTS ? &buffer->emptied : &buffer->filled, &buffer->mutex, deadline);
        check(status == ILK_OK || buffer->has_limits);
    }
}
static void move_elements(struct client *self) {
    struct buffer *buffer = self->buffer;
    for (bool over = false; !over;) {
        ilk_mutex_lock(&buffer->mutex);
        wait_for_turn(self);
        over = is_over(buffer);
        if (!over && self->part == PUTS) {
            buffer->element = ++buffer->put;
        } else if (!over) {
            buffer->sum += buffer->element;
            buffer->element = 0;
            buffer->taken++;
            over = is_over(buffer);
        }
        const bool ends = over;
        ilk_condition *const condition = self->part == PUTS ? &buffer->filled : &buffer->emptied;
        const bool is_late = next_random(&self->random) % 2 == 0; /* signals after the unlock */
        for (int after = 0; after <= 1; after++) {
            if (after == is_late && ends) {
                ilk_condition_broadcast(&buffer->filled);
                ilk_condition_broadcast(&buffer->emptied);
            } else if (after == is_late) {
                ilk_condition_signal(condition);
            }
            if (after == 0) {
                ilk_mutex_unlock(&buffer->mutex);
            }
        }
    }
}
static bool has_come_to_goal(void *client) {
    const struct client *self = client;
    return self->buffer->taken >= self->goal;
}
/* Joins and leaves the mutex's queue among those that are signalled, and goes on as they do. */
static void count_elements(struct client *self) {
    struct buffer *buffer = self->buffer;
    while (self->goal < buffer->last) {
        ilk_mutex_lock(&buffer->mutex);
        const uint64_t goal = buffer->taken + 1 + next_random(&self->random) % 16;
        self->goal = goal < buffer->last ? goal : buffer->last;
        check_equal(ilk_mutex_await_until(&buffer->mutex, has_come_to_goal, self, ILK_FOREVER), ILK_OK);
        ilk_mutex_unlock(&buffer->mutex);
    }
}
static void take_part(void *context) {
    struct client *self = context;
    (self->part == COUNTS ? count_elements : move_elements)(self);
}
static void run_buffer(int threads, int counters, bool inherits, bool has_limits) {
    struct buffer buffer = {.last = (uint64_t)stress_rounds(40000), .has_limits = has_limits};
    ilk_mutex_init(&buffer.mutex, inherits);
    ilk_condition_init(&buffer.filled);
    ilk_condition_init(&buffer.emptied);
    struct client clients[8];
    for (int index = 0; index < threads; index++) {
        clients[index] = (struct client){&buffer, (uint32_t)index + 1, index % 2 == 0 ? PUTS : TAKES, 0};
    }
    for (int index = 0; index < counters; index++) {
        clients[threads + index] = (struct client){&buffer, (uint32_t)index + 1, COUNTS, 0};
    }
    threads_run(threads + counters, take_part, clients, sizeof *clients);
    check_equal(buffer.put, buffer.last);
    check_equal(buffer.sum, buffer.last * (buffer.last + 1) / 2);
}
/* Without limits a signal that is lost is a hang. */
/* contract: condition.F, condition.G, condition.H */
TEST(a_buffer_of_one_place_loses_no_signal) {
    for (int kind = 0; kind < 4; kind++) {
        run_buffer(2, 0, kind % 2 == 1, kind / 2 == 1);
        run_buffer(6, 0, kind % 2 == 1, kind / 2 == 1);
        run_buffer(6, 2, kind % 2 == 1, kind / 2 == 1);
    }
}

/* ---- Under a reader–writer lock ---- */

struct rwlock_waiter {
    ilk_rwlock *lock;
    ilk_condition *condition;
    const bool *is_set; /* guarded */
    bool writes;
    struct thread thread;
};
static void wait_under_rwlock(void *context) {
    struct rwlock_waiter *self = context;
    if (self->writes) {
        ilk_rwlock_write_lock(self->lock);
        check_equal(ilk_condition_write_wait_until(self->condition, self->lock, 0), ILK_TIMEDOUT);
        while (!*self->is_set) {
            check_equal(ilk_condition_write_wait_until(self->condition, self->lock, ILK_FOREVER), ILK_OK);
        }
        ilk_rwlock_write_unlock(self->lock);
    } else {
        ilk_rwlock_read_lock(self->lock);
        while (!*self->is_set) {
            check_equal(ilk_condition_read_wait_until(self->condition, self->lock, ILK_FOREVER), ILK_OK);
        }
        ilk_rwlock_read_unlock(self->lock);
    }
}
/* contract: ilk_condition_read_wait_until, ilk_condition_write_wait_until */
TEST(readers_and_writers_wait_on_a_condition) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_condition condition = ILK_CONDITION_INIT;
    bool is_set = false;
    struct rwlock_waiter waiters[3];
    for (int index = 0; index < 3; index++) {
        waiters[index] = (struct rwlock_waiter){&lock, &condition, &is_set, index == 1, {0}};
        thread_start(&waiters[index].thread, wait_under_rwlock, &waiters[index]);
        thread_await_sleep(&waiters[index].thread);
    }
    ilk_rwlock_write_lock(&lock);
    is_set = true;
    ilk_condition_broadcast(&condition);
    ilk_rwlock_write_unlock(&lock);
    for (int index = 0; index < 3; index++) {
        thread_join(&waiters[index].thread);
    }
    ilk_rwlock_destroy(&lock);
}
