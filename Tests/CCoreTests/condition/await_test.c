/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a mutex or a reader–writer lock for a predicate.
 */
/* contract: condition.h */
#include "condition/guard.h"
#include <interlock/inline/awaited.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- What a call answers ---- */

static void answers(struct guard *guard) {
    int value = 1;
    struct waiter self = {.guard = guard, .value = &value, .wanted = 1};
    guard_lock(guard);
    check_equal(guard_await(guard, has_wanted, &self, 0), ILK_OK); /* a passed deadline still judges */
    check_equal(self.judged, 1);
    value = 2;
    check_equal(guard_await(guard, has_wanted, &self, 0), ILK_TIMEDOUT);
    check_equal(self.judged, 2);
    const uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(2));
    check_equal(guard_await(guard, has_wanted, &self, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    guard_unlock(guard); /* held all the time, whatever the answer */
    guard_lock(guard);
    guard_unlock(guard);
}
/* contract: condition.A, ilk_mutex_await_until, ilk_rwlock_write_await_until */
TEST(a_wait_answers_what_the_predicate_said_last) {
    for_each_guard(answers);
}

/* ---- Which waiter is woken ---- */

enum { HUNDRED = 100 };

static void distinct(struct guard *guard) {
    static struct waiter waiters[HUNDRED];
    int value = 0;
    memset(waiters, 0, sizeof waiters);
    for (int index = 0; index < HUNDRED; index++) {
        waiters[index] =
            (struct waiter){.guard = guard, .value = &value, .wanted = index + 1, .deadline_ns = ILK_FOREVER};
        start_waiter(&waiters[index]);
    }
    const long last_slept = thread_times_slept(&waiters[HUNDRED - 1].thread);
    for (int changes = 0; changes < 1000; changes++) {
        set_value(guard, &value, -changes);
    }
    for (int index = 0; index < HUNDRED - 1; index++) {
        set_value(guard, &value, index + 1);
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].status, ILK_OK);
        check(!thread_is_done(&waiters[index + 1].thread));
    }
    check_equal(thread_times_slept(&waiters[HUNDRED - 1].thread), last_slept); /* it was never woken */
    set_value(guard, &value, HUNDRED);
    thread_join(&waiters[HUNDRED - 1].thread);
}
/* contract: condition.C */
TEST(a_hundred_waiters_are_woken_each_by_its_own_change) {
    for_each_guard(distinct);
}

static void in_order(struct guard *guard) {
    enum { WAITERS = 5 };
    struct waiter waiters[WAITERS];
    int value = 0, order = 0;
    for (int index = 0; index < WAITERS; index++) {
        waiters[index] = (struct waiter){
            .guard = guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER, .order = &order};
        start_waiter(&waiters[index]);
    }
    set_value(guard, &value, 1);
    for (int index = 0; index < WAITERS; index++) {
        thread_join(&waiters[index].thread);
        check_equal(waiters[index].place, index + 1);
    }
}
/* contract: condition.D */
TEST(waiters_that_write_come_through_in_order_of_arrival) {
    for_each_guard(in_order);
}

struct reader {
    ilk_rwlock *lock;
    const int *value;
    struct stage *inside;
    struct thread thread;
};
static bool is_positive(void *value) {
    return *(const int *)value > 0;
}
static void read_when_positive(void *context) {
    struct reader *self = context;
    ilk_rwlock_read_lock(self->lock);
    check_equal(ilk_rwlock_read_await_until(self->lock, is_positive, (void *)(uintptr_t)self->value, 0),
                ILK_TIMEDOUT);
    check_equal(
        ilk_rwlock_read_await_until(self->lock, is_positive, (void *)(uintptr_t)self->value, ILK_FOREVER),
        ILK_OK);
    check(*self->value > 0);
    stage_advance(self->inside);
    stage_await(self->inside, 3); /* all are inside together */
    ilk_rwlock_read_unlock(self->lock);
}
/* contract: condition.D, ilk_rwlock_read_await_until */
TEST(readers_are_woken_together) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    int value = 0;
    struct stage inside = STAGE_INIT;
    struct reader readers[3];
    for (int index = 0; index < 3; index++) {
        readers[index] = (struct reader){&lock, &value, &inside, {0}};
        thread_start(&readers[index].thread, read_when_positive, &readers[index]);
        thread_await_sleep(&readers[index].thread);
    }
    ilk_rwlock_read_lock(&lock); /* a reader changes nothing, and judges nothing */
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_write_lock(&lock);
    value = 1;
    ilk_rwlock_downgrade(&lock); /* judges too */
    for (int index = 0; index < 3; index++) {
        thread_join(&readers[index].thread);
    }
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_destroy(&lock);
}
static void read_at_once(void *context) {
    struct reader *self = context;
    ilk_rwlock_read_lock(self->lock);
    check(*self->value > 0);
    ilk_rwlock_read_unlock(self->lock);
}
struct stepper {
    ilk_rwlock *lock;
    int *value;
    struct thread thread;
};
static void add_when_positive(void *context) {
    struct stepper *self = context;
    ilk_rwlock_write_lock(self->lock);
    check_equal(ilk_rwlock_write_await_until(self->lock, is_positive, self->value, ILK_FOREVER), ILK_OK);
    (*self->value)++;
    ilk_rwlock_write_unlock(self->lock);
}
/* contract: condition.D */
TEST(readers_are_woken_beside_a_writer) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    int value = 0;
    struct stage inside = STAGE_INIT;
    stage_reach(&inside, 2); /* the reader is the third that it waits for */
    struct stepper writer = {&lock, &value, {0}};
    thread_start(&writer.thread, add_when_positive, &writer);
    thread_await_sleep(&writer.thread);
    struct reader reader = {&lock, &value, &inside, {0}};
    thread_start(&reader.thread, read_when_positive, &reader);
    thread_await_sleep(&reader.thread);
    const long before = thread_times_slept(&reader.thread);
    ilk_rwlock_write_lock(&lock);
    value = 1;
    ilk_rwlock_downgrade(&lock); /* the writer cannot come in yet: nothing else wakes the reader */
    yield_while(!thread_is_done(&reader.thread) && thread_times_slept(&reader.thread) == before);
    ilk_rwlock_read_unlock(&lock);
    thread_join(&writer.thread);
    thread_join(&reader.thread);
    check_equal(value, 2);
}
/* contract: condition.B */
TEST(an_upgrade_that_ends_judges) {
    static struct guard guard = {.is_rwlock = true};
    guard_init(&guard);
    int value = 0;
    struct waiter waiter = {.guard = &guard, .value = &value, .wanted = 7, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    ilk_rwlock_upgradable_lock(&guard.lock);
    ilk_rwlock_upgrade(&guard.lock);
    value = 7;
    ilk_rwlock_write_unlock(&guard.lock);
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_OK);
}

/* The value is changed by a thread that does not hold the lock. */
static void unguarded(struct guard *guard) {
    int value = 0;
    struct waiter waiter = {.guard = guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    set_value(guard, &value, 0);
    const int before = waiter.judged;
    value = 1;
    if (guard->is_rwlock) {
        ilk_rwlock_read_lock(&guard->lock);
        ilk_rwlock_read_unlock(&guard->lock);
    }
    check_equal(waiter.judged, before);
    guard_lock(guard);
    guard_unlock(guard);
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_OK);
}
/* contract: condition.h */
TEST(a_change_outside_the_lock_is_noticed_as_it_is_next_given_up_after_writing) {
    for_each_guard(unguarded);
}

/* ---- A buffer of one place, with deadlines ---- */

struct buffer {
    struct guard *guard;
    uint64_t put, taken, sum; /* guarded */
    uint64_t element;         /* guarded: 0 is no element */
    uint64_t last;            /* guarded: the producers end after it */
};
struct client {
    struct buffer *buffer;
    uint32_t random;
    bool puts;
};

static bool has_element(void *context) {
    const struct buffer *buffer = context;
    return buffer->element != 0 || buffer->put == buffer->last;
}
static bool has_room(void *context) {
    const struct buffer *buffer = context;
    return buffer->element == 0 || buffer->put == buffer->last;
}
static uint64_t any_deadline(uint32_t *random) {
    const uint32_t kind = next_random(random) % 4;
    return kind == 0 ? ILK_FOREVER : kind == 1 ? 0 : ilk_deadline_in_ns(next_random(random) % 100000);
}
static void move_elements(void *context) {
    struct client *self = context;
    struct buffer *buffer = self->buffer;
    for (bool more = true; more;) {
        guard_lock(buffer->guard);
        const ilk_status status = guard_await(buffer->guard, self->puts ? has_room : has_element, buffer,
                                              any_deadline(&self->random));
        if (self->puts) {
            more = buffer->put < buffer->last;
            if (more && status == ILK_OK) {
                check_equal(buffer->element, 0);
                buffer->element = ++buffer->put;
            }
        } else if (status == ILK_OK && buffer->element != 0) {
            buffer->sum += buffer->element;
            buffer->element = 0;
            buffer->taken++;
        } else {
            check(status == ILK_TIMEDOUT || buffer->put == buffer->last);
            more = buffer->put < buffer->last;
        }
        guard_unlock(buffer->guard);
    }
}
static void moves_every_element(struct guard *guard) {
    const uint64_t last = (uint64_t)stress_rounds(40000);
    struct buffer buffer = {.guard = guard, .last = last};
    struct client clients[6];
    for (int index = 0; index < 6; index++) {
        clients[index] = (struct client){&buffer, (uint32_t)index + 1, index % 2 == 0};
    }
    threads_run(6, move_elements, clients, sizeof *clients);
    const uint64_t left = buffer.element;
    check_equal(buffer.put, last);
    check_equal(buffer.taken + (left != 0), last);
    check_equal(buffer.sum + left, last * (last + 1) / 2);
}
/* contract: condition.B */
TEST(a_buffer_of_one_place_moves_every_element_once) {
    for_each_guard(moves_every_element);
}

/* ---- A wait that times out beside the change ---- */

static void late(struct guard *guard) {
    for (int round = 0; round < stress_rounds(3000); round++) {
        int value = 0;
        struct waiter first = {.guard = guard, .value = &value, .wanted = 1};
        struct waiter second = {.guard = guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
        first.deadline_ns = ilk_deadline_in_ns((uint64_t)(round % 50) * 2000);
        thread_start(&first.thread, wait_for_wanted, &first);
        thread_start(&second.thread, wait_for_wanted, &second);
        set_value(guard, &value, 1);
        thread_join(&second.thread); /* whatever became of the first */
        thread_join(&first.thread);
    }
}
/* contract: condition.B */
TEST(a_late_waiter_keeps_no_wake_up) {
    for_each_guard(late);
}

static void give_up(void *mutex) {
    check_equal(ilk_mutex_lock_until(mutex, ilk_deadline_in_ns(MILLISECONDS(5))), ILK_TIMEDOUT);
}
/* A locker of an inheriting mutex that gives up leaves the kernel's mark; the unlock clears the whole word. */
/* contract: condition.B */
TEST(a_waiter_is_judged_after_a_locker_has_given_up) {
    static struct guard guard = {.inherits = true};
    guard_init(&guard);
    int value = 0;
    struct waiter waiter = {.guard = &guard, .value = &value, .wanted = 1, .deadline_ns = ILK_FOREVER};
    start_waiter(&waiter);
    guard_lock(&guard);
    struct thread locker;
    thread_start(&locker, give_up, &guard.mutex);
    thread_join(&locker);
    guard_unlock(&guard);
    set_value(&guard, &value, 1);
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_OK);
}

/* A thread that judges nothing is not taken for one that judges this lock, whatever the address. */
/* contract: condition.h */
TEST(a_lock_at_any_address_may_be_waited_for) {
    /* Addresses whose low 34 bits are 0, below this stack: a sanitizer keeps most of the others for itself. */
    const uintptr_t step = (uintptr_t)1 << 34;
    const size_t size = sizeof(struct guard);
    uintptr_t address = (uintptr_t)&size & ~(step - 1);
    void *given = MAP_FAILED;
    for (int tries = 0; given == MAP_FAILED && tries < 64; tries++) {
        address -= step;
        given = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    check_equal((uintptr_t)given, address);
    ilk_rwlock *lock = given;
    ilk_rwlock_init(lock);
    int value = 1;
    struct stage inside = STAGE_INIT;
    stage_reach(&inside, 2);
    struct reader reader = {lock, &value, &inside, {0}};
    ilk_rwlock_write_lock(lock);
    thread_start(&reader.thread, read_at_once, &reader);
    thread_await_sleep(&reader.thread);
    ilk_rwlock_write_unlock(lock);
    thread_join(&reader.thread);
    ilk_rwlock_destroy(lock);
    check_equal(munmap(given, size), 0);
}

/* ---- Tasks of the facade, which wait without a thread ---- */

struct task {
    ilk__task_wait *wait;
    const int *value;
    int wanted, resumed;
};
static bool task_has_wanted(void *context) {
    const struct task *task = context;
    return *task->value == task->wanted;
}
static void count_resume(void *context) {
    ((struct task *)context)->resumed++;
}
static void task_begin(struct guard *guard, struct task *task) {
    task->wait = ilk__task_wait_create(task_has_wanted, count_resume, task, true);
    check(task->wait != NULL);
    guard_lock(guard);
    guard->is_rwlock ? ilk__task_wait_begin_rwlock(&guard->lock, task->wait)
                     : ilk__task_wait_begin_mutex(&guard->mutex, task->wait);
    guard_unlock(guard);
}
static bool task_judges(struct guard *guard, struct task *task) {
    guard_lock(guard);
    const bool holds = guard->is_rwlock ? ilk__task_wait_judge_rwlock(&guard->lock, task->wait)
                                        : ilk__task_wait_judge_mutex(&guard->mutex, task->wait);
    guard_unlock(guard);
    return holds;
}
static void task_end(struct guard *guard, struct task *task) {
    guard_lock(guard);
    guard->is_rwlock ? ilk__task_wait_end_rwlock(&guard->lock, task->wait)
                     : ilk__task_wait_end_mutex(&guard->mutex, task->wait);
    guard_unlock(guard);
    ilk__task_wait_destroy(task->wait);
}

/* The first is resumed, judges too late, and waits again; the cancelled one is passed over; the last has its turn as
 * the first leaves. */
static void resume_tasks(struct guard *guard) {
    int value = 0;
    struct task first = {.value = &value, .wanted = 1}, cancelled = first, last = first;
    task_begin(guard, &first);
    task_begin(guard, &cancelled);
    task_begin(guard, &last);
    set_value(guard, &value, 2);
    check_equal(first.resumed, 0);
    set_value(guard, &value, 1);
    check_equal(first.resumed, 1);
    set_value(guard, &value, 0);
    check(!task_judges(guard, &first));
    check(ilk__task_wait_cancel(cancelled.wait) && !ilk__task_wait_cancel(cancelled.wait));
    set_value(guard, &value, 1);
    check_equal(first.resumed, 2);
    check_equal(last.resumed, 0);
    check(task_judges(guard, &first));
    task_end(guard, &first);
    check_equal(last.resumed, 1);
    check(!ilk__task_wait_cancel(last.wait));
    check(task_judges(guard, &last));
    task_end(guard, &last);
    task_end(guard, &cancelled);
    check_equal(cancelled.resumed, 0);
}
TEST(tasks_that_write_are_resumed_one_at_a_time) {
    for_each_guard(resume_tasks);
}
