/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_condition: wait, signal and broadcast; and misuse of waiting under a lock.
 */
#include "diagnostics/reports.h"
#include "support/fork.h"
#include "support/misuse.h"
#include <interlock/condition.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct waiter {
    ilk_condition *condition;
    ilk_mutex *mutex;
    uint64_t deadline_ns;
    ilk_status status;
    int *order; /* guarded */
    int place;
    struct thread thread;
    bool waits; /* guarded */
};

static void wait_once(void *context) {
    struct waiter *self = context;
    ilk_mutex_lock(self->mutex);
    self->waits = true;
    self->status = ilk_condition_wait_until(self->condition, self->mutex, self->deadline_ns);
    self->place = ++*self->order; /* under the mutex again, whatever the answer */
    ilk_mutex_unlock(self->mutex);
}
/* It is in the queue once the mutex is free again: a thread that sleeps may still wait for the mutex. */
static void await_queued(struct waiter *waiter) {
    for (bool waits = false; !waits; sched_yield()) {
        ilk_mutex_lock(waiter->mutex);
        waits = waiter->waits;
        ilk_mutex_unlock(waiter->mutex);
    }
}
static void start_waiters(struct waiter *waiters, size_t count, struct waiter like) {
    for (size_t index = 0; index < count; index++) {
        waiters[index] = like;
        thread_start(&waiters[index].thread, wait_once, &waiters[index]);
        await_queued(&waiters[index]);
        thread_await_sleep(&waiters[index].thread);
    }
}

struct ordered {
    ilk_mutex *mutex;
    const int *order; /* guarded */
    int last;
    struct thread thread;
};
static bool has_come(void *context) {
    const struct ordered *self = context;
    return *self->order == self->last;
}
static void await_order(void *context) {
    struct ordered *self = context;
    ilk_mutex_lock(self->mutex);
    check_equal(ilk_mutex_await_until(self->mutex, has_come, self, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(self->mutex);
}

/* contract: condition.F, condition.G, ilk_condition_signal, ilk_condition_wait_until, ilk_condition_init */
static void a_signal_wakes_the_waiter_that_came_first(void **state) {
    (void)state;
    enum { WAITERS = 4 };
    ilk_condition condition;
    ilk_condition_init(&condition);
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    struct waiter waiters[WAITERS];
    ilk_condition_signal(&condition); /* no thread waits: nothing is kept */
    start_waiters(waiters, WAITERS,
                  (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    for (int index = 0; index < WAITERS; index++) {
        ilk_condition_signal(&condition);
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].status, ILK_OK);
        check_equal(waiters[index].place, index + 1);
        check(index + 1 == WAITERS || thread_sleeps(&waiters[index + 1].thread));
    }
}

/* More than wait/address_queue.c has buckets: some share one. */
/* contract: condition.G */
static void a_signal_wakes_a_waiter_of_its_own_condition(void **state) {
    (void)state;
    enum { CONDITIONS = 100 };
    static ilk_condition conditions[CONDITIONS];
    static struct waiter waiters[CONDITIONS];
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    for (int index = 0; index < CONDITIONS; index++) {
        start_waiters(
            &waiters[index], 1,
            (struct waiter){&conditions[index], &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    }
    for (int index = CONDITIONS - 1; index >= 0; index--) { /* the newest of a bucket first */
        ilk_condition_signal(&conditions[index]);
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].place, CONDITIONS - index);
    }
}

/* contract: ilk_condition_broadcast */
static void a_broadcast_wakes_every_waiter(void **state) {
    (void)state;
    enum { WAITERS = 8 };
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    struct waiter waiters[WAITERS];
    start_waiters(waiters, WAITERS,
                  (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
    ilk_condition_broadcast(&condition);
    for (int index = 0; index < WAITERS; index++) {
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].status, ILK_OK);
    }
    check_equal(order, WAITERS);
}

/* Under the mutex: the waiters are moved, none wakes before it is given up. Threads that wait under it for a predicate
 * put marks into its word. */
/* contract: condition.H */
static void a_signal_under_the_mutex_wakes_its_waiter_once_it_is_given_up(void **state) {
    (void)state;
    for (int awaited = 0; awaited <= 1; awaited++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiter;
        struct ordered ordered = {&mutex, &order, 1, {0}};
        if (awaited) {
            thread_start(&ordered.thread, await_order, &ordered);
            thread_await_sleep(&ordered.thread);
        }
        start_waiters(&waiter, 1,
                      (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        ilk_mutex_lock(&mutex);
        const long slept = thread_times_slept(&waiter.thread);
        ilk_condition_signal(&condition);
        const uint64_t soon =
            ilk_deadline_in_ns(MILLISECONDS(20)); /* a woken thread would sleep again meanwhile */
        while (ilk_now_ns() < soon) {
            check_equal(thread_times_slept(&waiter.thread), slept);
        }
        ilk_mutex_unlock(&mutex);
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_OK);
        if (awaited) {
            thread_join(&ordered.thread);
        }
    }
}

enum { AT_ONCE = 4, BROADCAST_WAITERS = 8 };

/* Broadcasts and has the mutex again before a woken waiter has it, which then sleeps for it. False: too late. */
static bool broadcast_and_lock_again(ilk_condition *condition, struct waiter *waiters) {
    long slept[BROADCAST_WAITERS];
    ilk_mutex *mutex = waiters[0].mutex;
    ilk_mutex_lock(mutex);
    for (int index = 0; index < BROADCAST_WAITERS; index++) {
        slept[index] = thread_times_slept(&waiters[index].thread);
    }
    ilk_condition_broadcast(condition);
    ilk_mutex_unlock(mutex);
    ilk_mutex_lock(mutex);
    const bool is_first = *waiters[0].order == 0;
    for (int index = 0; is_first && index < AT_ONCE; index++) {
        while (thread_times_slept(&waiters[index].thread) == slept[index]) {
            sched_yield();
        }
    }
    for (int index = AT_ONCE; is_first && index < BROADCAST_WAITERS; index++) {
        check_equal(thread_times_slept(&waiters[index].thread), slept[index]);
    }
    ilk_mutex_unlock(mutex);
    return is_first;
}

/* contract: condition.F, condition.H */
static void a_broadcast_under_the_mutex_wakes_four_at_once_in_order_of_arrival(void **state) {
    (void)state;
    for (bool was_first = false; !was_first;) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiters[BROADCAST_WAITERS];
        start_waiters(waiters, BROADCAST_WAITERS,
                      (struct waiter){&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        was_first = broadcast_and_lock_again(&condition, waiters);
        for (int index = 0; index < BROADCAST_WAITERS; index++) {
            thread_join(&waiters[index].thread);
            check_equal(waiters[index].status, ILK_OK);
            check(waiters[index].place >
                  index + 1 - AT_ONCE); /* the earlier ones that are not on their way have come */
        }
    }
}

/* contract: condition.G */
static void a_wait_that_timed_out_took_no_signal(void **state) {
    (void)state;
    ilk_mutex mutex = ILK_MUTEX_INIT;
    for (int round = 0; round < stress_rounds(3000); round++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        int order = 0;
        struct waiter late = {&condition, &mutex, ilk_deadline_in_ns((uint64_t)(round % 50) * 2000),
                              ILK_CLOSED, &order, 0,
                              {0},        false};
        struct waiter other = late;
        other.deadline_ns = ILK_FOREVER;
        thread_start(&late.thread, wait_once, &late);
        thread_start(&other.thread, wait_once, &other);
        await_queued(&other);
        ilk_condition_signal(&condition);
        thread_join(&late.thread);
        if (late.status == ILK_OK) {
            ilk_condition_signal(&condition); /* that one had the first */
        }
        thread_join(&other.thread);
        check_equal(other.status, ILK_OK);
    }
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex_lock(&mutex);
    check_equal(ilk_condition_wait_until(&condition, &mutex, 0), ILK_TIMEDOUT);
    check_equal(ilk_condition_wait_until(&condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(2))),
                ILK_TIMEDOUT);
    ilk_mutex_unlock(&mutex);
}

/* The next unlock of this thread is followed by a call. The linker puts the function before the core's. */
static __thread void (*call_after_unlock)(void *context);
static __thread void *context_after_unlock;

static void after_next_unlock(void (*call)(void *context), void *context) {
    call_after_unlock = call;
    context_after_unlock = context;
}
void __real_ilk_mutex_unlock(ilk_mutex *mutex);
void __wrap_ilk_mutex_unlock(ilk_mutex *mutex);
void __wrap_ilk_mutex_unlock(ilk_mutex *mutex) {
    __real_ilk_mutex_unlock(mutex);
    void (*const call)(void *context) = call_after_unlock;
    call_after_unlock = NULL;
    if (call != NULL) {
        call(context_after_unlock);
    }
}
static void signal_it(void *condition) {
    ilk_condition_signal(condition);
}
/* As soon as the mutex is free another thread may take it and signal. */
/* contract: condition.F */
static void a_signal_after_the_unlock_finds_the_waiter(void **state) {
    (void)state;
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        after_next_unlock(signal_it, &condition);
        check_equal(ilk_condition_wait_until(&condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(3000))),
                    ILK_OK);
        check(call_after_unlock == NULL);
        ilk_mutex_unlock(&mutex);
    }
}

/* The mutex is free all the time: nothing but the limit ends the wait. */
/* contract: condition.G, ilk_condition_wait_until */
static void a_wait_is_not_early_and_survives_signals_of_the_system(void **state) {
    (void)state;
    thread_allow_interrupts();
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_condition condition = ILK_CONDITION_INIT;
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        int order = 0;
        struct waiter waiter = {
            &condition, &mutex, ilk_deadline_in_ns(MILLISECONDS(30)), ILK_CLOSED, &order, 0, {0}, false};
        thread_start(&waiter.thread, wait_once, &waiter);
        while (!thread_is_done(&waiter.thread)) {
            thread_interrupt(&waiter.thread);
        }
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_TIMEDOUT);
        check(ilk_now_ns() >= waiter.deadline_ns);
        check_equal(ilk_atomic_load(&condition.word, memory_order_relaxed), 0); /* it has left */
    }
}

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
static void threads_that_signal_each_other_leave_a_predicate_its_turn(void **state) {
    (void)state;
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
static void a_buffer_of_one_place_loses_no_signal(void **state) {
    (void)state;
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
static void readers_and_writers_wait_on_a_condition(void **state) {
    (void)state;
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

/* ---- Freed by the thread that was woken ---- */

struct shared {
    ilk_condition condition;
    bool is_set; /* guarded */
};
struct owner {
    ilk_mutex mutex;
    struct shared *shared;
};
static void wait_and_free(void *context) {
    struct owner *owner = context;
    ilk_mutex_lock(&owner->mutex);
    struct shared *shared = owner->shared;
    while (!shared->is_set) {
        check_equal(ilk_condition_wait_until(&shared->condition, &owner->mutex, ILK_FOREVER), ILK_OK);
    }
    ilk_mutex_unlock(&owner->mutex);
    memset(shared, 0xA5, sizeof *shared);
    free(shared);
}
/* contract: condition.I */
static void the_woken_thread_may_free_the_condition(void **state) {
    (void)state;
    for (int round = 0; round < stress_rounds(3000); round++) {
        struct owner owner;
        ilk_mutex_init(&owner.mutex, false);
        owner.shared = calloc(1, sizeof *owner.shared);
        check(owner.shared != NULL);
        struct thread thread;
        thread_start(&thread, wait_and_free, &owner);
        ilk_mutex_lock(&owner.mutex);
        owner.shared->is_set = true;
        ilk_condition_signal(&owner.shared->condition); /* the waiter frees it once the mutex is free */
        ilk_mutex_unlock(&owner.mutex);
        thread_join(&thread);
    }
}

/* On a page of its own, which goes: a waiter on its way out that touched the condition would crash. */
/* contract: condition.I */
static void the_thread_that_woke_the_last_may_free_the_condition(void **state) {
    (void)state;
    enum { WAITERS = 4 };
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    for (int round = 0; round < stress_rounds(1000); round++) {
        ilk_condition *condition =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(condition != MAP_FAILED);
        ilk_mutex mutex = ILK_MUTEX_INIT;
        int order = 0;
        struct waiter waiters[WAITERS];
        start_waiters(waiters, WAITERS,
                      (struct waiter){condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false});
        const bool owns = round % 2 == 0, broadcasts = round % 4 < 2;
        if (owns) {
            ilk_mutex_lock(&mutex);
        }
        for (int index = 0; index < (broadcasts ? 1 : WAITERS); index++) {
            (broadcasts ? ilk_condition_broadcast : ilk_condition_signal)(condition);
        }
        check_equal(munmap(condition, size), 0);
        if (owns) {
            ilk_mutex_unlock(&mutex);
        }
        for (int index = 0; index < WAITERS; index++) {
            thread_join(&waiters[index].thread);
            check_equal(waiters[index].status, ILK_OK);
        }
    }
}

/* A condition, and the mutex that lies there once it is gone. */
union place {
    ilk_condition condition;
    ilk_mutex mutex;
};
static void signal_and_make_a_mutex(void *context) {
    union place *place = context;
    ilk_condition_signal(&place->condition);
    ilk_mutex_init(&place->mutex, false);
    check_equal(ilk_mutex_observe(&place->mutex, ILK_DIAGNOSE_HANG), ILK_OK);
}
/* The signal comes before the waiter sleeps. */
/* contract: condition.I */
static void a_signalled_wait_leaves_alone_what_diagnosis_watches_there(void **state) {
    (void)state;
    union place place = {.condition = ILK_CONDITION_INIT};
    ilk_mutex mutex = ILK_MUTEX_INIT;
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_HANG), ILK_OK); /* the wait is watched, too */
    ilk_mutex_lock(&mutex);
    after_next_unlock(signal_and_make_a_mutex, &place);
    check_equal(ilk_condition_wait_until(&place.condition, &mutex, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_lock(&place.mutex);
    char expected[64];
    snprintf(expected, sizeof expected, "  holds mutex %p ", (void *)&place.mutex);
    check_contains(diagnosis(ILK_AS_TEXT), expected);
    ilk_mutex_unlock(&place.mutex);
}

/* ---- Fork ---- */

/* contract: condition.h */
static void a_child_finds_no_waiter_of_a_condition(void **state) {
    (void)state;
    need_children();
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex mutex = ILK_MUTEX_INIT;
    int order = 0;
    const struct waiter waiting = {&condition, &mutex, ILK_FOREVER, ILK_CLOSED, &order, 0, {0}, false};
    struct waiter waiter, own;
    start_waiters(&waiter, 1, waiting);
    const pid_t child = fork();
    if (is_child(child)) {
        ilk_condition_signal(&condition);
        check_equal(ilk_atomic_load(&condition.word, memory_order_relaxed), 0);
        ilk_condition_broadcast(&condition);
        start_waiters(&own, 1, waiting);
        ilk_condition_signal(&condition);
        thread_join(&own.thread);
        _exit(own.status == ILK_OK ? 0 : 1);
    }
    expect_exit(child, 0);
    check(!thread_is_done(&waiter.thread));
    ilk_condition_signal(&condition);
    thread_join(&waiter.thread);
}

/* ---- Misuse ---- */

static ilk_mutex mutex;
static ilk_rwlock lock;
static bool judged;

static bool locks_the_mutex(void *unused) {
    (void)unused;
    ilk_mutex_lock(&mutex);
    return true;
}
static bool unlocks_the_mutex_when_judged(void *unused) {
    (void)unused;
    if (judged) {
        ilk_mutex_unlock(&mutex);
    }
    return false;
}
static bool reads_under_the_lock_when_judged(void *unused) {
    (void)unused;
    if (judged) {
        ilk_rwlock_read_lock(&lock);
    }
    return false;
}
static bool writes_under_the_lock(void *unused) {
    (void)unused;
    ilk_rwlock_write_lock(&lock);
    return true;
}
static bool never(void *unused) {
    (void)unused;
    return false;
}
/* Another lock's predicate is judged within this one's. */
static bool writes_after_another_predicate(void *unused) {
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, never, NULL, 0);
    ilk_mutex_unlock(&mutex);
    return writes_under_the_lock(unused);
}

static void predicate_locks(void *context) {
    (void)context;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, locks_the_mutex, NULL, ILK_FOREVER);
}
static void await_mutex(void *predicate) {
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, *(ilk_predicate *)predicate, NULL, ILK_FOREVER);
}
static void predicate_unlocks(void *context) {
    (void)context;
    static ilk_predicate predicate = unlocks_the_mutex_when_judged;
    ilk_mutex_init(&mutex, false);
    misuse_beside(await_mutex, &predicate);
    ilk_mutex_lock(&mutex);
    judged = true;
    ilk_mutex_unlock(&mutex);
}
static void await_rwlock(void *predicate) {
    ilk_rwlock_read_lock(&lock);
    (void)!ilk_rwlock_read_await_until(&lock, *(ilk_predicate *)predicate, NULL, ILK_FOREVER);
}
static void predicate_reads(void *context) {
    (void)context;
    static ilk_predicate predicate = reads_under_the_lock_when_judged;
    ilk_rwlock_init(&lock);
    misuse_beside(await_rwlock, &predicate);
    ilk_rwlock_write_lock(&lock);
    judged = true;
    ilk_rwlock_write_unlock(&lock);
}
static void predicate_writes(void *context) {
    (void)context;
    ilk_rwlock_init(&lock);
    ilk_rwlock_write_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, writes_under_the_lock, NULL, ILK_FOREVER);
}
static void predicate_writes_after_another(void *context) {
    (void)context;
    ilk_rwlock_init(&lock);
    ilk_rwlock_write_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, writes_after_another_predicate, NULL, ILK_FOREVER);
}
static void await_without_the_mutex(void *context) {
    (void)context;
    ilk_mutex_init(&mutex, false);
    (void)!ilk_mutex_await_until(&mutex, never, NULL, ILK_FOREVER);
}
static void await_without_the_lock(void *context) {
    (void)context;
    ilk_rwlock_init(&lock);
    ilk_rwlock_read_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, never, NULL, ILK_FOREVER);
}
static void wait_without_the_mutex(void *context) {
    (void)context;
    static ilk_condition condition;
    ilk_mutex_init(&mutex, true);
    (void)!ilk_condition_wait_until(&condition, &mutex, ILK_FOREVER);
}
static void destroy_awaited(void *context) {
    (void)context;
    static ilk_predicate predicate = never;
    ilk_rwlock_init(&lock);
    misuse_beside(await_rwlock, &predicate);
    ilk_rwlock_destroy(&lock);
}

static const struct misuse table[] = {
    {predicate_locks, "ilk_mutex_lock", "locked again by its owner"},
    {predicate_unlocks, "ilk_mutex_unlock", "called by the predicate of a thread that waits under this lock"},
    {predicate_reads, "ilk_rwlock_read_lock",
     "called by the predicate of a thread that waits under this lock"},
    {predicate_writes, "ilk_rwlock_write_lock",
     "called by the predicate of a thread that waits under this lock"},
    {predicate_writes_after_another, "ilk_rwlock_write_lock",
     "called by the predicate of a thread that waits under this lock"},
    {await_without_the_mutex, "ilk_mutex_await_until", "does not own it"},
    {await_without_the_lock, "ilk_rwlock_write_await_until", "no writer holds the lock"},
    {wait_without_the_mutex, "ilk_mutex_unlock", "does not own it"},
    {destroy_awaited, "ilk_rwlock_destroy", "a thread waits under it for a condition"},
};
/* contract: condition.h */
static void misuse_is_reported_by_name(void **state) {
    (void)state;
    EXPECT_ALL(table);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_signal_wakes_the_waiter_that_came_first),
    cmocka_unit_test(a_signal_wakes_a_waiter_of_its_own_condition),
    cmocka_unit_test(a_broadcast_wakes_every_waiter),
    cmocka_unit_test(a_signal_under_the_mutex_wakes_its_waiter_once_it_is_given_up),
    cmocka_unit_test(a_broadcast_under_the_mutex_wakes_four_at_once_in_order_of_arrival),
    cmocka_unit_test(a_wait_that_timed_out_took_no_signal),
    cmocka_unit_test(a_signal_after_the_unlock_finds_the_waiter),
    cmocka_unit_test(a_wait_is_not_early_and_survives_signals_of_the_system),
    cmocka_unit_test(threads_that_signal_each_other_leave_a_predicate_its_turn),
    cmocka_unit_test(a_buffer_of_one_place_loses_no_signal),
    cmocka_unit_test(readers_and_writers_wait_on_a_condition),
    cmocka_unit_test(the_woken_thread_may_free_the_condition),
    cmocka_unit_test(the_thread_that_woke_the_last_may_free_the_condition),
    cmocka_unit_test(a_signalled_wait_leaves_alone_what_diagnosis_watches_there),
    cmocka_unit_test(a_child_finds_no_waiter_of_a_condition),
    cmocka_unit_test(misuse_is_reported_by_name),
};

TEST_MAIN(tests)
