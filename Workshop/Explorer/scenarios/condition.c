/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a predicate, and on an ilk_condition. A buffer of one place shows what is lost: an element
 * put in twice or taken out twice fails an assertion, a lost wake-up is a deadlock.
 */
/* contract: condition.A, condition.B, condition.C, condition.D, condition.E */
/* contract: condition.F, condition.G, condition.H, condition.I */
#include "work.h"
#include <interlock/inline/awaited.h>

static struct {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_condition filled, emptied;
    uint32_t full;  /* guarded: elements in the buffer, 0 or 1 */
    uint32_t taken; /* guarded */
    uint32_t steps; /* guarded by the rwlock */
} s;

static void begin(bool inherits) {
    ilk_mutex_init(&s.mutex, inherits);
    ilk_rwlock_init(&s.lock);
    ilk_condition_init(&s.filled);
    ilk_condition_init(&s.emptied);
    s.full = s.taken = s.steps = 0;
}
static void setup(void) {
    begin(false);
}

static bool is_full(void *unused) {
    (void)unused;
    ilk_plain_read(&s.full, sizeof s.full);
    return s.full == 1;
}
static bool is_empty(void *unused) {
    return !is_full(unused);
}
static void fill(void) {
    ilk_plain_write(&s.full, sizeof s.full);
    ex_assert(s.full == 0);
    s.full = 1;
}
static void take(void) {
    ilk_plain_write(&s.full, sizeof s.full);
    ex_assert(s.full == 1);
    s.full = 0;
    s.taken++;
}

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
static void check_two(void) {
    ex_assert(s.taken == 2 && s.full == 0);
    ex_expect((s.mutex.word & UINT32_C(0x3FFFFFFF)) == 0, "the mutex's word is 0x%x", s.mutex.word);
    ex_expect((s.mutex.settings & 4) == 0, "the mutex's settings are 0x%x: it is said to be awaited",
              s.mutex.settings);
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

static bool has_begun(void *unused) {
    (void)unused;
    ilk_plain_read(&s.steps, sizeof s.steps);
    return s.steps > 0;
}
static void step(void) {
    ilk_rwlock_write_lock(&s.lock);
    ilk_plain_write(&s.steps, sizeof s.steps);
    s.steps++;
    ilk_rwlock_write_unlock(&s.lock);
}
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

/* ---- ilk_condition ---- */

static void signal_put(void) {
    ilk_mutex_lock(&s.mutex);
    while (s.full != 0) {
        ex_assert(ilk_condition_wait_until(&s.emptied, &s.mutex, ILK_FOREVER) == ILK_OK);
    }
    fill();
    ilk_mutex_unlock(&s.mutex);
    ilk_condition_signal(&s.filled); /* without the mutex */
}
static void signal_put_two(void) {
    signal_put();
    signal_put();
}
static void signal_get_by(uint64_t deadline_ns) {
    ilk_mutex_lock(&s.mutex);
    while (s.full == 0) {
        if (ilk_condition_wait_until(&s.filled, &s.mutex, deadline_ns) != ILK_OK) {
            deadline_ns = ILK_FOREVER;
        }
    }
    take();
    ilk_condition_signal(&s.emptied);
    ilk_mutex_unlock(&s.mutex);
}
static void signal_get(void) {
    signal_get_by(ILK_FOREVER);
}
static void signal_get_two(void) {
    signal_get();
    signal_get();
}
static void signal_get_late(void) {
    signal_get_by(SOON);
}
static void check_signals(void) {
    check_two();
    ex_assert(s.filled.word == 0 && s.emptied.word == 0);
}

#define SIGNALS(identifier, text, ...)                                                                       \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "condition-signal-" text, .claim = "no signal is lost, and a late wait takes none",          \
        .setup = setup, .threads = {__VA_ARGS__}, .check = check_signals, .timeouts = 1,                     \
        .spurious_wakeups = 1                                                                                \
    }

SIGNALS(signal_two, "put-get", signal_put_two, signal_get_two);
SIGNALS(signal_consumers, "put-get-get_late", signal_put_two, signal_get, signal_get_late);

static void fill_one(void) {
    ilk_mutex_lock(&s.mutex);
    fill();
    ilk_condition_broadcast(&s.filled); /* under the mutex */
    ilk_mutex_unlock(&s.mutex);
}
static void see_filled_by(uint64_t deadline_ns) {
    ilk_mutex_lock(&s.mutex);
    while (!is_full(NULL)) {
        if (ilk_condition_wait_until(&s.filled, &s.mutex, deadline_ns) != ILK_OK) {
            deadline_ns = ILK_FOREVER;
        }
    }
    ilk_mutex_unlock(&s.mutex);
}
static void see_filled(void) {
    see_filled_by(ILK_FOREVER);
}
static void see_filled_late(void) {
    see_filled_by(SOON);
}
static void check_filled(void) {
    ex_assert(s.full == 1 && s.filled.word == 0);
    ex_expect((s.mutex.settings & 4) == 0, "the mutex's settings are 0x%x: it is said to be awaited",
              s.mutex.settings);
}
EX_SCENARIO(under){
    .name = "condition-signal-under-the-mutex",
    .claim = "waiters that are signalled under the mutex come through when it is given up",
    .setup = setup,
    .threads = {fill_one, see_filled, see_filled_late},
    .check = check_filled,
    .timeouts = 1,
    .spurious_wakeups = 1,
};

/* One signal, for the waiter that is late or for the other: a late one that has it passes it on. */
static void fill_for_one(void) {
    ilk_mutex_lock(&s.mutex);
    fill();
    ilk_condition_signal(&s.filled);
    ilk_mutex_unlock(&s.mutex);
}
static void pass_on_or_be_late(void) {
    ilk_mutex_lock(&s.mutex);
    if (!is_full(NULL) && ilk_condition_wait_until(&s.filled, &s.mutex, SOON) == ILK_OK) {
        ilk_condition_signal(&s.filled);
    }
    ilk_mutex_unlock(&s.mutex);
}
EX_SCENARIO(under_for_one){
    .name = "condition-signal-under-the-mutex-for-one",
    .claim = "a wait that has timed out has taken no signal, also where the signaller has the mutex",
    .setup = setup,
    .threads = {fill_for_one, see_filled, pass_on_or_be_late},
    .check = check_filled,
    .timeouts = 1,
    .spurious_wakeups = 1,
};

static void fill_then_signal_one(void) {
    ilk_mutex_lock(&s.mutex);
    fill();
    ilk_mutex_unlock(&s.mutex);
    ilk_condition_signal(&s.filled);
}
EX_SCENARIO(for_one){
    .name = "condition-signal-for-one",
    .claim = "a wait that has timed out has taken no signal",
    .setup = setup,
    .threads = {fill_then_signal_one, see_filled, pass_on_or_be_late},
    .check = check_filled,
    .timeouts = 1,
    .spurious_wakeups = 1,
};

static void wait_late(void) {
    ilk_mutex_lock(&s.mutex);
    (void)!ilk_condition_wait_until(&s.filled, &s.mutex, SOON);
    ilk_mutex_unlock(&s.mutex);
}
/* Whatever step of the other's wait it is in. */
static void fork_signal_and_wait(void) {
    static ilk_mutex own;
    ilk_mutex_init(&own, false);
    ex_fork();
    ilk_condition_signal(&s.filled);
    ilk_mutex_lock(&own);
    ex_assert(ilk_condition_wait_until(&s.filled, &own, SOON) == ILK_TIMEDOUT);
    ilk_mutex_unlock(&own);
}
EX_SCENARIO(forked){
    .name = "condition-fork-beside-waiter",
    .claim = "in a child no thread waits on a condition, and its own may",
    .setup = setup,
    .threads = {wait_late, fork_signal_and_wait},
    .timeouts = 2,
};

static void await_begun(void) {
    ilk_rwlock_read_lock(&s.lock);
    while (!has_begun(NULL)) {
        ex_assert(ilk_condition_read_wait_until(&s.filled, &s.lock, ILK_FOREVER) == ILK_OK);
    }
    ilk_rwlock_read_unlock(&s.lock);
}
static void step_and_broadcast(void) {
    step();
    ilk_condition_broadcast(&s.filled);
}
EX_SCENARIO(broadcast){
    .name = "condition-broadcast-read-read",
    .claim = "a broadcast wakes every waiter",
    .setup = setup,
    .threads = {step_and_broadcast, await_begun, await_begun},
};

static struct { ilk_condition *condition; } heap_condition;

static void setup_heap_condition(void) {
    setup();
    heap_condition.condition = ex_allocate(sizeof *heap_condition.condition, 16);
    ilk_condition_init(heap_condition.condition);
}
static void wait_and_free(void) {
    ilk_condition *condition = heap_condition.condition;
    ilk_mutex_lock(&s.mutex);
    while (s.full == 0) {
        (void)!ilk_condition_wait_until(condition, &s.mutex, ILK_FOREVER);
    }
    ilk_mutex_unlock(&s.mutex);
    ex_free(condition);
}
static void fill_and_signal(void) {
    ilk_mutex_lock(&s.mutex);
    fill();
    ilk_condition_signal(heap_condition.condition);
    ilk_mutex_unlock(&s.mutex);
}
EX_SCENARIO(condition_freed){
    .name = "condition-signal-freed-by-the-waiter",
    .claim = "a signal does not touch the condition once its waiter may run",
    .setup = setup_heap_condition,
    .threads = {wait_and_free, fill_and_signal},
    .spurious_wakeups = 1,
};

EX_MUST_REACH(states){
    {"condition-fork-*", {EX_FORKED}},
    {"condition-put-* condition-rwlock-*", {EX_CONDITION_SLEEPS, EX_CONDITION_CHOSEN}},
    {"condition-put-get-get", {EX_CONDITION_LEFT_TO_WOKEN, EX_CONDITION_WOKEN_TOO_LATE}},
    {"condition-put-get-get_late condition-freed-by-the-waiter", {EX_CONDITION_LATE_AND_CHOSEN}},
    {"condition-signal-put-* condition-broadcast-*", {EX_CONDITION_SIGNALS}},
    {"condition-signal-*", {EX_CONDITION_MOVES}},
    {"condition-signal-under-*", {EX_CONDITION_LATE_AND_MOVED}},
    {"condition-signal-put-get-get_late", {EX_CONDITION_LATE, EX_CONDITION_LATE_AND_SIGNALLED}},
};
