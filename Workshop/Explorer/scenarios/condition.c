/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a predicate. A buffer of one place shows what is lost: an element put in twice or taken out
 * twice fails an assertion, a lost wake-up is a deadlock.
 */
/* contract: condition.A, condition.B, condition.C, condition.D, condition.E */
#include "condition_state.h"
#include <interlock/inline/awaited.h>

/* ---- A mutex and two predicates ---- */

static void put(void) {
    ilk_mutex_lock(&s.mutex);
    ex_assert(ilk_mutex_await_until(&s.mutex, is_empty, NULL, ILK_FOREVER) == ILK_OK);
    fill();
    ilk_mutex_unlock(&s.mutex);
}
static void put_two(void) {
    put();
    put();
}
static bool get_by(uint64_t deadline_ns) {
    ilk_mutex_lock(&s.mutex);
    const ilk_status status = ilk_mutex_await_until(&s.mutex, is_full, NULL, deadline_ns);
    if (status == ILK_OK) {
        take();
    } else {
        ex_assert(s.full == 0);
    }
    ilk_mutex_unlock(&s.mutex);
    return status == ILK_OK;
}
static void get(void) {
    ex_assert(get_by(ILK_FOREVER));
}
static void get_two(void) {
    get();
    get();
}
static void get_late(void) {
    if (!get_by(SOON)) {
        get();
    }
}
static void check_one_taken(void) {
    ex_assert(s.taken == 1 && s.full == 0);
}
#define BUFFER(identifier, text, ...)                                                                        \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "condition-" text, .claim = "every element is moved once, and every wait ends",              \
        .setup = setup, .threads = {__VA_ARGS__}, .check = check_two, .timeouts = 1, .spurious_wakeups = 1   \
    }

BUFFER(two, "put-get", put_two, get_two);
BUFFER(consumers, "put-get-get", put_two, get, get);
BUFFER(producers, "put-put-get", put, put, get_two);
BUFFER(late, "put-get-get_late", put_two, get, get_late);

/* ---- The same where the kernel keeps the mutex's waiters ---- */

#if !defined(ILK_PARK_BACKEND_PTHREAD)
static void setup_inherit(void) {
    begin(true);
}
static void pass_by(void) { /* its wait for the mutex may time out: then the kernel leaves no mark */
    if (ilk_mutex_lock_until(&s.mutex, SOON) == ILK_OK) {
        ilk_mutex_unlock(&s.mutex);
    }
}
static void put_past(void) {
    ilk_mutex_lock(&s.mutex);
    ilk_mutex_unlock(&s.mutex);
    put();
}
EX_SCENARIO(inherit){
    .name = "condition-inherit-put-get-lock_until",
    .claim = "a waiter is judged also after the kernel has left the mutex without a mark",
    .setup = setup_inherit,
    .threads = {get, put_past, pass_by},
    .check = check_one_taken,
    .timeouts = 1,
};
EX_SCENARIO(inherit_two){
    .name = "condition-inherit-put-get-get",
    .claim = "every element is moved once, and every wait ends",
    .setup = setup_inherit,
    .threads = {put_two, get, get},
    .check = check_two,
};
EX_MUST_REACH(inherit_states){
    {"condition-inherit-*", {EX_CONDITION_SLEEPS, EX_CONDITION_CHOSEN}},
    {"condition-inherit-put-get-lock_until", {EX_CONDITION_RETAKEN}},
};
#endif

/* ---- A reader–writer lock ---- */

static void step_and_downgrade(void) {
    ilk_rwlock_write_lock(&s.lock);
    ilk_plain_write(&s.steps, sizeof s.steps);
    s.steps++;
    ilk_rwlock_downgrade(&s.lock);
    ilk_rwlock_read_unlock(&s.lock);
}
static void read_when_begun(void) {
    ilk_rwlock_read_lock(&s.lock);
    ex_assert(ilk_rwlock_read_await_until(&s.lock, has_begun, NULL, ILK_FOREVER) == ILK_OK);
    ex_assert(has_begun(NULL));
    ilk_rwlock_read_unlock(&s.lock);
}
static void write_when_begun(void) {
    ilk_rwlock_write_lock(&s.lock);
    if (ilk_rwlock_write_await_until(&s.lock, has_begun, NULL, SOON) != ILK_OK) {
        ex_assert(!has_begun(NULL));
        ex_assert(ilk_rwlock_write_await_until(&s.lock, has_begun, NULL, ILK_FOREVER) == ILK_OK);
    }
    ilk_plain_write(&s.steps, sizeof s.steps);
    s.steps++;
    ilk_rwlock_write_unlock(&s.lock);
}
static void check_lock(void) {
    ex_expect((s.lock.word & UINT32_C(0xFFFFC07F)) == 0, "the lock's word is 0x%x", s.lock.word);
}

#define LOCK(identifier, text, ...)                                                                          \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "condition-rwlock-" text, .claim = "a writer that leaves wakes those whose condition holds", \
        .setup = setup, .threads = {__VA_ARGS__}, .check = check_lock, .timeouts = 1                         \
    }

LOCK(readers, "step-read-read", step, read_when_begun, read_when_begun);
LOCK(mixed, "step-read-write", step, read_when_begun, write_when_begun);
LOCK(writers, "step-write-write", step, write_when_begun, write_when_begun);
LOCK(downgraded, "downgrade-read-write", step_and_downgrade, read_when_begun, write_when_begun);

static void read_section_when_begun(void) {
    ilk__read_section section = ilk__read_section_begin(&s.lock);
    ex_assert(ilk__read_section_await_until(&s.lock, &section, has_begun, NULL, ILK_FOREVER) == ILK_OK);
    ex_assert(has_begun(NULL));
    ilk__read_section_end(&s.lock, section);
}
LOCK(sections, "step-section-section", step, read_section_when_begun, read_section_when_begun);

/* ---- Tasks ---- */

/* What a task's thread would do, with `resumed` for its continuation. */
static struct {
    ilk__task_wait *wait;
    ILK_ATOMIC(uint32_t) resumed; /* by the writer */
    bool cancelled_first;
} task;

static void resume(void *unused) {
    (void)unused;
    ilk_atomic_fetch_add(&task.resumed, 1, memory_order_release);
}
static void setup_task(void) {
    begin(false);
    task.resumed = 0;
    task.wait = ilk__task_wait_create(is_full, resume, NULL, true);
    ilk_mutex_lock(&s.mutex);
    ilk__task_wait_begin_mutex(&s.mutex, task.wait);
    ilk_mutex_unlock(&s.mutex);
}
static void cancel_task(void) {
    task.cancelled_first = ilk__task_wait_cancel(task.wait);
    while (!task.cancelled_first && ilk_atomic_load(&task.resumed, memory_order_acquire) == 0) {
        ilk_cpu_relax();
    }
    ilk_mutex_lock(&s.mutex);
    if (ilk__task_wait_judge_mutex(&s.mutex, task.wait)) {
        take();
    }
    ilk__task_wait_end_mutex(&s.mutex, task.wait);
    ilk_mutex_unlock(&s.mutex);
}
static void check_cancelled(void) {
    ilk__task_wait_destroy(task.wait);
    ex_assert(task.resumed == (task.cancelled_first ? 0 : 1));
    ex_assert(s.taken + s.full == 2);
}
EX_SCENARIO(task_cancelled){
    .name = "condition-task-put-get-cancel",
    .claim = "a task that is cancelled swallows no wake-up",
    .setup = setup_task,
    .threads = {put_two, get, cancel_task},
    .check = check_cancelled,
};

/* A task that is never run: what it was woken for, a thread gets too. */
static void put_one(void) {
    put();
}
static void end_task(void) {
    ilk_mutex_lock(&s.mutex);
    ilk__task_wait_end_mutex(&s.mutex, task.wait);
    ilk_mutex_unlock(&s.mutex);
    ilk__task_wait_destroy(task.wait);
    check_one_taken();
}
EX_SCENARIO(task_without_a_thread){
    .name = "condition-task-that-does-not-run",
    .claim = "a woken task that has no thread keeps no thread asleep",
    .setup = setup_task,
    .threads = {put_one, get},
    .check = end_task,
};

/* Tasks that read: a step wakes both. */
static struct reading_task {
    ilk__task_wait *wait;
    ILK_ATOMIC(uint32_t) resumed; /* by the writer */
} reading[2];

static void resume_reading(void *context) {
    ilk_atomic_fetch_add(&((struct reading_task *)context)->resumed, 1, memory_order_release);
}
static bool has_begun_for(void *context) {
    (void)context;
    return has_begun(NULL);
}
static void setup_reading(void) {
    begin(false);
    ilk_rwlock_read_lock(&s.lock);
    for (int index = 0; index < 2; index++) {
        reading[index].resumed = 0;
        reading[index].wait = ilk__task_wait_create(has_begun_for, resume_reading, &reading[index], false);
        ilk__task_wait_begin_rwlock(&s.lock, reading[index].wait);
    }
    ilk_rwlock_read_unlock(&s.lock);
}
static void run_reading(struct reading_task *self) {
    while (ilk_atomic_load(&self->resumed, memory_order_acquire) == 0) {
        ilk_cpu_relax();
    }
    ilk_rwlock_read_lock(&s.lock);
    ex_assert(ilk__task_wait_judge_rwlock(&s.lock, self->wait));
    ilk__task_wait_end_rwlock(&s.lock, self->wait);
    ilk_rwlock_read_unlock(&s.lock);
    ilk__task_wait_destroy(self->wait);
}
static void run_first(void) {
    run_reading(&reading[0]);
}
static void run_second(void) {
    run_reading(&reading[1]);
}
EX_SCENARIO(reading_tasks){
    .name = "condition-task-task-step",
    .claim = "a writer that leaves resumes every task that reads and whose condition holds",
    .setup = setup_reading,
    .threads = {step, run_first, run_second},
    .check = check_lock,
};

/* ---- Freeing ---- */

static struct {
    ilk_mutex *mutex;
    bool ready; /* guarded */
} heap;

static void setup_heap(void) {
    heap.mutex = ex_allocate(sizeof *heap.mutex, 16);
    ilk_mutex_init(heap.mutex, false);
    heap.ready = false;
}
static bool is_ready(void *unused) {
    (void)unused;
    ilk_plain_read(&heap.ready, sizeof heap.ready);
    return heap.ready;
}
static void await_and_free(void) {
    ilk_mutex *mutex = heap.mutex;
    ilk_mutex_lock(mutex);
    if (ilk_mutex_await_until(mutex, is_ready, NULL, SOON) != ILK_OK) {
        ex_assert(ilk_mutex_await_until(mutex, is_ready, NULL, ILK_FOREVER) == ILK_OK);
    }
    ilk_mutex_unlock(mutex);
    ex_free(mutex);
}
static void make_ready(void) {
    ilk_mutex *mutex = heap.mutex;
    ilk_mutex_lock(mutex);
    ilk_plain_write(&heap.ready, sizeof heap.ready);
    heap.ready = true;
    ilk_mutex_unlock(mutex);
}
EX_SCENARIO(freed){
    .name = "condition-freed-by-the-waiter",
    .claim = "an unlock that wakes does not touch the mutex after it is free",
    .setup = setup_heap,
    .threads = {await_and_free, make_ready},
    .timeouts = 1,
    .spurious_wakeups = 1,
};

/* With inheritance the model's kernel does not order its last touch with what follows: the waiter does not free the
 * mutex, but writes over its word. */
#if !defined(ILK_PARK_BACKEND_PTHREAD)
enum { WRITTEN_OVER = 0x15555555 };

static void await_and_write_over(void) {
    ilk_mutex_lock(&s.mutex);
    if (ilk_mutex_await_until(&s.mutex, is_full, NULL, SOON) != ILK_OK) {
        ex_assert(ilk_mutex_await_until(&s.mutex, is_full, NULL, ILK_FOREVER) == ILK_OK);
    }
    ilk_mutex_unlock(&s.mutex);
    ilk_atomic_store(&s.mutex.word, WRITTEN_OVER, memory_order_relaxed);
}
static void fill_last(void) {
    ilk_mutex_lock(&s.mutex);
    fill();
    ilk_mutex_unlock(&s.mutex);
}
static void check_written_over(void) {
    ex_expect(s.mutex.word == WRITTEN_OVER, "the mutex's word is 0x%x", s.mutex.word);
}
EX_SCENARIO(inherit_written_over){
    .name = "condition-inherit-written-over-by-the-waiter",
    .claim = "an unlock through the kernel does not touch the mutex after its waiter has gone",
    .setup = setup_inherit,
    .threads = {await_and_write_over, fill_last},
    .check = check_written_over,
    .timeouts = 1,
};
#endif

EX_MUST_REACH(states){
    {"condition-put-* condition-rwlock-*", {EX_CONDITION_SLEEPS, EX_CONDITION_CHOSEN}},
    {"condition-put-get-get", {EX_CONDITION_LEFT_TO_WOKEN, EX_CONDITION_WOKEN_TOO_LATE}},
    {"condition-put-get-get_late condition-freed-by-the-waiter", {EX_CONDITION_LATE_AND_CHOSEN}},
};
