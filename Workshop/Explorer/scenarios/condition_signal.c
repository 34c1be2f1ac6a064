/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting on an ilk_condition, which other threads signal with the mutex and without it.
 */
/* contract: condition.F, condition.G, condition.H, condition.I */
#include "condition_state.h"

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

EX_SCENARIO(broadcast_to_three){
    .name = "condition-broadcast-under-the-mutex-to-three",
    .claim = "a broadcast under the mutex wakes more waiters than are on their way at once",
    .setup = setup,
    .threads = {fill_one, see_filled, see_filled, see_filled},
    .check = check_filled,
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
    {"condition-signal-put-* condition-broadcast-read-*", {EX_CONDITION_SIGNALS}},
    {"condition-signal-*", {EX_CONDITION_MOVES}},
    {"condition-broadcast-under-*", {EX_CONDITION_MOST_SIGNALLED}},
    {"condition-signal-under-*", {EX_CONDITION_LATE_AND_MOVED}},
    {"condition-signal-put-get-get_late", {EX_CONDITION_LATE, EX_CONDITION_LATE_AND_SIGNALLED}},
};
