/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock, by its answers: a buffer is a bounded queue, however it waits.
 */
/* contract: condition.A, condition.B, condition.F, condition.G */
#include "work.h"
#define BUFFER_CAPACITY 1 /* soon full */
#include "../history/buffer.h"

static const ex_queue_parameters parameters = {.capacity = BUFFER_CAPACITY};

static void setup_mutex(void) {
    ex_history_reset();
    begin_buffer(wait_by_mutex);
}
static void setup_rwlock(void) {
    ex_history_reset();
    begin_buffer(wait_by_rwlock);
}
static void setup_condition(void) {
    ex_history_reset();
    begin_buffer(wait_by_condition);
}
static void setup_rwlock_condition(void) {
    ex_history_reset();
    begin_buffer(wait_by_rwlock_condition);
}

enum { POP = 0 };

static void move(uint64_t element) {
    ex_assert(move_until(element, ILK_FOREVER));
}
static void move_late(uint64_t element) {
    if (!move_until(element, SOON)) {
        move(element);
    }
}
static void push_two(void) {
    move(10);
    move_late(11);
}
static void push(void) {
    move(12);
}
static void pop(void) {
    move(POP);
}
static void pop_late(void) {
    move_late(POP);
}
static void pop_two(void) {
    move_late(POP);
    move_late(POP);
}
static void check(void) {
    while (move_until(POP, 0)) {
    }
    ex_history_check(&ex_bounded_queue, &parameters);
}

#define BUFFER(identifier, text, begins, ...)                                                                \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "condition-buffer-" text, .claim = "a bounded queue, and no wake-up is lost",                \
        .setup = begins, .threads = {__VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1      \
    }

BUFFER(mutex, "mutex", setup_mutex, push_two, pop_two);
BUFFER(mutex_two, "mutex-pop-pop", setup_mutex, push_two, pop_late, pop);
BUFFER(rwlock, "rwlock", setup_rwlock, push_two, pop_two);
BUFFER(rwlock_two, "rwlock-pop-pop", setup_rwlock, push_two, pop_late, pop);
BUFFER(condition, "condition", setup_condition, push_two, pop_two);
BUFFER(condition_two, "condition-push-push", setup_condition, push_two, pop_two, push);
BUFFER(rwlock_condition, "on-rwlock", setup_rwlock_condition, push_two, pop_two);
BUFFER(rwlock_condition_two, "on-rwlock-pop-pop", setup_rwlock_condition, push_two, pop_late, pop);

EX_MUST_REACH(states){
    {"condition-buffer-mutex* condition-buffer-rwlock*", {EX_CONDITION_SLEEPS, EX_CONDITION_CHOSEN}},
    {"condition-buffer-on-rwlock*", {EX_CONDITION_SIGNALS, EX_CONDITION_LATE}},
    {"condition-buffer-condition*", {EX_CONDITION_SIGNALS, EX_CONDITION_MOVES, EX_CONDITION_LATE}},
};
