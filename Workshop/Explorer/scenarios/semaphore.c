/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_semaphore: histories against a counting semaphore, the order of service, and freeing by the last thread
 * served (guarantees A to D of <interlock/semaphore.h>).
 */
/* contract: semaphore.A, semaphore.B, semaphore.C, semaphore.D */
#include "../explorer.h"
#include "../history/models.h"
#include <interlock/semaphore.h>

static struct {
    ilk_semaphore semaphore;
    ilk_semaphore *heap;
    uint32_t data; /* what one permit guards */
    ILK_ATOMIC(uint32_t) served;
    uint32_t first_permits;
    uint32_t given; /* by signals that may be refused */
} s;

static void begin_with(uint32_t permits, void (*init)(ilk_semaphore *semaphore, uint32_t permits)) {
    ex_history_reset();
    init(&s.semaphore, permits);
    s.first_permits = permits;
    s.data = 0;
    s.served = 0;
    s.given = 0;
    s.heap = NULL;
}
static void begin(uint32_t permits) {
    begin_with(permits, ilk_semaphore_init);
}
static void setup_empty(void) {
    begin(0);
}
static void setup_one(void) {
    begin(1);
}
static void setup_barging_empty(void) {
    begin_with(0, ilk_semaphore_init_barging);
}
static void setup_barging_one(void) {
    begin_with(1, ilk_semaphore_init_barging);
}

static void check(void) {
    ex_history_check(&ex_semaphore, &s.first_permits);
    ex_expect((s.semaphore.word & 0xF) == 0, "the semaphore's word is 0x%x after all", s.semaphore.word);
    ilk_semaphore_destroy(&s.semaphore);
}

static void wait(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    ilk_semaphore_wait(&s.semaphore);
    ex_end(operation, EX_DONE);
}

static bool try_wait(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool taken = ilk_semaphore_try_wait(&s.semaphore);
    ex_end(operation, taken ? EX_DONE : EX_REFUSED);
    return taken;
}

enum { SOON = 5000 };

static bool wait_until(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    ilk_status status = ilk_semaphore_wait_until(&s.semaphore, SOON);
    ex_end(operation, status == ILK_OK ? EX_DONE : EX_TIMEDOUT);
    return status == ILK_OK;
}

static void signal_many(uint32_t permits) {
    size_t operation = ex_begin(EX_SIGNAL, permits);
    ilk_semaphore_signal(&s.semaphore, permits);
    ex_end(operation, EX_DONE);
}
static void signal_one(void) {
    signal_many(1);
}
static void signal_two(void) {
    signal_many(2);
}
static void signal_twice(void) {
    signal_many(1);
    signal_many(1);
}

/* The first waiter has seen the permit, and is about to be served. It is not queued yet: the permit may be taken. */
static void signal_and_retake(void) {
    signal_many(1);
    if (try_wait()) {
        signal_many(1);
    }
}

static void wait_until_once(void) {
    (void)wait_until();
}
static void try_wait_once(void) {
    (void)try_wait();
}

/* With one permit, a user is alone. */
static void change(void) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
}
static void use(void) {
    wait();
    change();
    signal_one();
}
static void try_use(void) {
    if (try_wait()) {
        change();
        signal_one();
    }
}
static void use_until(void) {
    if (wait_until()) {
        change();
        signal_one();
    }
}

#define SCENARIO(identifier, text, start, ...)                                                               \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "semaphore-" text, .claim = "a permit has one owner at a time; none is lost or made up",     \
        .setup = start, .threads = {__VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1       \
    }

SCENARIO(wait_signal, "wait-signal", setup_empty, wait, signal_one);
SCENARIO(use_use, "use-use", setup_one, use, use);
SCENARIO(use_try, "use-try_use", setup_one, use, try_use);
SCENARIO(use_until_use, "use-use_until", setup_one, use, use_until);
SCENARIO(until_until, "use_until-use_until", setup_one, use_until, use_until);
SCENARIO(wait_wait_two, "wait-wait-signal_two", setup_empty, wait, wait, signal_two);
SCENARIO(wait_wait_twice, "wait-wait-signal_twice", setup_empty, wait, wait, signal_twice);
SCENARIO(three_users, "use-use-use", setup_one, use, use, use);
SCENARIO(two_and_try, "use-use-try_use", setup_one, use, use, try_use);
SCENARIO(two_and_until, "use-use-use_until", setup_one, use, use, use_until);

SCENARIO(until_two, "wait-wait_until-signal_two", setup_empty, wait, wait_until_once, signal_two);
SCENARIO(until_until_two, "wait_until-wait_until-signal_two", setup_empty, wait_until_once, wait_until_once,
         signal_two);
SCENARIO(try_two, "wait-try_wait-signal_two", setup_empty, wait, try_wait_once, signal_two);
SCENARIO(signal_signal, "wait-signal-signal_two", setup_empty, wait, signal_one, signal_two);

SCENARIO(retaken, "wait-signal_and_retake", setup_empty, wait, signal_and_retake);

/* Refused, or given in whole: where one signal has the queue, the other's permit may take the room that it counted. */
static void try_signal(uint32_t permits) {
    if (ilk_semaphore_try_signal(&s.semaphore, permits)) {
        s.given += permits;
    }
}
static void try_signal_three(void) {
    try_signal(3);
}
static void try_signal_most(void) {
    try_signal(ILK_SEMAPHORE_MAX);
}
static void wait_for_any(void) {
    ilk_semaphore_wait(&s.semaphore);
}
static void check_given(void) {
    const int64_t left = ilk_semaphore_value(&s.semaphore);
    ex_expect(left == (int64_t)s.given - 1, "%lld permits are left of %u", (long long)left, s.given);
    ilk_semaphore_destroy(&s.semaphore);
}
EX_SCENARIO(no_room){
    .name = "semaphore-try_signal-no-room",
    .claim = "a signal that is refused gives nothing, and one that is not gives all",
    .setup = setup_empty,
    .threads = {wait_for_any, try_signal_most, try_signal_three},
    .check = check_given,
    .spurious_wakeups = 1,
};

/* The last waiter to leave leaves nothing for a signal to mend. */
SCENARIO(no_signal, "wait_until-wait_until-no-signal", setup_empty, wait_until_once, wait_until_once);

EX_SCENARIO(two_leave){
    .name = "semaphore-two-time-out",
    .claim = "a permit has one owner at a time; none is lost or made up",
    .setup = setup_one,
    .threads = {use, use_until, use_until},
    .check = check,
    .timeouts = 2,
};

/* Guarantee A: the first in the queue gets the permit. The second reads from the count that it waits behind
 * the first; the second permit comes after the first was taken. */
static void be_first(void) {
    ilk_semaphore_wait(&s.semaphore);
    ilk_atomic_store(&s.served, 1, memory_order_relaxed);
}
static void be_second(void) {
    bool behind = ilk_semaphore_value(&s.semaphore) < 0;
    ilk_semaphore_wait(&s.semaphore);
    ex_expect(!behind || ilk_atomic_load(&s.served, memory_order_relaxed) != 0,
              "a later thread was served before the first in the queue");
    ilk_atomic_store(&s.served, 1, memory_order_relaxed);
}
static void signal_one_by_one(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
    while (ilk_atomic_load(&s.served, memory_order_relaxed) == 0) {
        ilk_cpu_relax();
    }
    ilk_semaphore_signal(&s.semaphore, 1);
}
EX_SCENARIO(order){
    .name = "semaphore-order",
    .claim = "waiters are served in the order in which they came",
    .setup = setup_empty,
    .threads = {be_first, be_second, signal_one_by_one},
    .titles = {"first", "second", "signaller"},
    .check = check,
    .modes = EX_SC, /* "served" is the scenario's own, and relaxed */
    .spurious_wakeups = 1,
};

/* Guarantee A: the queued waiter gets the permit, not a later thread. A count below zero shows that the first
 * is queued. */
static void first_in_queue(void) {
    wait();
}
static void latecomer(void) {
    bool behind = ilk_semaphore_value(&s.semaphore) < 0;
    if (ilk_semaphore_try_wait(&s.semaphore)) {
        ex_expect(!behind, "the permit of a thread in the queue was taken by one that came later");
        ilk_semaphore_signal(&s.semaphore, 1);
    }
}
static void give_one(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void wait_plainly(void) {
    ilk_semaphore_wait(&s.semaphore);
}
static void check_end(void) {
    ex_expect(s.semaphore.word == 0, "the semaphore's word is 0x%x after all", s.semaphore.word);
    ilk_semaphore_destroy(&s.semaphore);
}

EX_SCENARIO(no_stealing){
    .name = "semaphore-no-stealing",
    .claim = "a permit goes to the thread in the queue, not to one that comes later",
    .setup = setup_empty,
    .threads = {wait_plainly, latecomer, give_one},
    .titles = {"first", "latecomer", "signaller"},
    .check = check_end,
};

/* The same with a thread that has locked the queue: the only permit is in the word for a moment. The first is
 * queued before the others begin. */
static void await_first(void) {
    while (!ex_is_waiting(1)) {
        ilk_cpu_relax();
    }
}
static void count_queue(void) {
    await_first();
    (void)ilk_semaphore_value(&s.semaphore);
}
static void give_and_try(void) {
    await_first();
    give_one();
    ex_expect(!ilk_semaphore_try_wait(&s.semaphore), "the permit of a thread in the queue was taken");
}
static void give_and_try_off_the_fast_path(void) {
    await_first();
    give_one();
    ex_expect(!ilk__semaphore_try_wait_slow(&s.semaphore), "the permit of a thread in the queue was taken");
}
#define NO_STEALING(identifier, text, give)                                                                  \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "semaphore-no-stealing-" text,                                                               \
        .claim = "a permit goes to the thread in the queue, not to one that comes later",                    \
        .setup = setup_empty, .threads = {wait_plainly, count_queue, give},                                  \
        .titles = {"first", "has the queue", "signaller"}, .check = check_end                                \
    }
NO_STEALING(no_stealing_busy, "while-another-has-the-queue", give_and_try);
NO_STEALING(no_stealing_slowly, "off-the-fast-path", give_and_try_off_the_fast_path);

static void watch(void) {
    int64_t value = ilk_semaphore_value(&s.semaphore);
    ex_expect(value >= -1 && value <= 1, "a value of %lld was seen", (long long)value);
}
EX_SCENARIO(value){
    .name = "semaphore-value",
    .claim = "the counter shown is one the semaphore had",
    .setup = setup_empty,
    .threads = {first_in_queue, watch, signal_one},
    .check = check,
};

/* Guarantee D. */
static void setup_heap(void) {
    begin(0);
    s.heap = ex_allocate(sizeof *s.heap, 16);
    ilk_semaphore_init(s.heap, 0);
}
static void wait_and_free(void) {
    ilk_semaphore *semaphore = s.heap;
    ilk_semaphore_wait(semaphore);
    ilk_semaphore_destroy(semaphore);
    ex_free(semaphore);
}
static void wait_until_and_free(void) {
    ilk_semaphore *semaphore = s.heap;
    if (ilk_semaphore_wait_until(semaphore, SOON) != ILK_OK) {
        ilk_semaphore_wait(semaphore);
    }
    ilk_semaphore_destroy(semaphore);
    ex_free(semaphore);
}
static void signal_heap(void) {
    ilk_semaphore_signal(s.heap, 1);
}
static void try_signal_heap(void) {
    ex_expect(ilk_semaphore_try_signal(s.heap, 1), "refused");
}

EX_SCENARIO(freed){
    .name = "semaphore-freed-by-the-waiter",
    .claim = "the signal does not touch the semaphore after its permit has been taken",
    .setup = setup_heap,
    .threads = {wait_and_free, signal_heap},
    .titles = {"waiter", "signaller"},
    .spurious_wakeups = 1,
};

EX_SCENARIO(freed_late){
    .name = "semaphore-freed-by-the-late-waiter",
    .claim = "the same when the waiter's deadline has just passed",
    .setup = setup_heap,
    .threads = {wait_until_and_free, signal_heap},
    .titles = {"waiter", "signaller"},
    .timeouts = 1,
};

EX_SCENARIO(freed_beside_try){
    .name = "semaphore-freed-by-the-waiter-try_signal",
    .claim = "nor does a signal that might have been refused",
    .setup = setup_heap,
    .threads = {wait_and_free, try_signal_heap},
    .titles = {"waiter", "signaller"},
    .spurious_wakeups = 1,
};

/* ---- Barging (F) ---- */

static void use_twice(void) {
    use();
    use();
}
SCENARIO(barging_again, "barging-use-use_twice", setup_barging_one, use, use_twice);
SCENARIO(barging_until_again, "barging-use_until-use_twice", setup_barging_one, use_until, use_twice);
SCENARIO(barging_three, "barging-use-use-use", setup_barging_one, use, use, use);
SCENARIO(barging_until, "barging-use-use_until-use_until", setup_barging_one, use, use_until, use_until);
SCENARIO(barging_two, "barging-wait-wait-signal_two", setup_barging_empty, wait, wait, signal_two);
SCENARIO(barging_twice, "barging-wait-wait-signal_twice", setup_barging_empty, wait, wait, signal_twice);
SCENARIO(barging_until_two, "barging-wait-wait_until-signal_two", setup_barging_empty, wait, wait_until_once,
         signal_two);
SCENARIO(barging_retaken, "barging-wait-signal_and_retake", setup_barging_empty, wait, signal_and_retake);
SCENARIO(barging_signals, "barging-wait-signal-signal_and_retake", setup_barging_empty, wait, signal_one,
         signal_and_retake);

/* Its turn is marked when the first has been called and has found the permit taken: in the explorer once. */
static void pass_once(void) {
    await_first();
    give_one();
    if (!ilk_semaphore_try_wait(&s.semaphore)) {
        return;
    }
    const uint32_t queue = ilk_atomic_load(&s.semaphore.queue, memory_order_relaxed);
    const bool in_turn = (queue & ILK__SEMAPHORE_IN_TURN) != 0;
    give_one();
    if (ilk_semaphore_try_wait(&s.semaphore)) {
        ex_expect(!in_turn, "a thread whose turn it was was passed again");
        give_one();
    }
}
EX_SCENARIO(barging_bound){
    .name = "semaphore-barging-bound",
    .claim = "a thread is passed so often, and then has the next permit",
    .setup = setup_barging_empty,
    .threads = {wait_plainly, pass_once},
    .titles = {"first", "passes it"},
    .check = check_end,
};
/* The permit lies in the word until the queue is released. The turn is a hint, and relaxed. */
EX_SCENARIO(barging_bound_busy){
    .name = "semaphore-barging-bound-while-another-has-the-queue",
    .claim = "a thread is passed so often, and then has the next permit",
    .setup = setup_barging_empty,
    .threads = {wait_plainly, pass_once, count_queue},
    .titles = {"first", "passes it", "has the queue"},
    .check = check_end,
    .modes = EX_SC,
};

/* The first has counted the permit as its own when another thread takes it: it stays the first. */
static void be_behind(void) {
    await_first();
    wait_plainly();
}
static void await_two(void) {
    while ((ilk_atomic_load(&s.semaphore.queue, memory_order_relaxed) & ILK__SEMAPHORE_WAITER_COUNT) < 2 ||
           (ilk_atomic_load(&s.semaphore.word, memory_order_relaxed) & ILK__SEMAPHORE_QUEUE_LOCKED) != 0) {
        ilk_cpu_relax();
    }
}
static void pass_the_first_of_two(void) {
    await_two();
    give_one();
    if (ilk_semaphore_try_wait(&s.semaphore)) {
        while (!ex_is_waiting(1)) {
            ilk_cpu_relax();
        }
        give_one();
        ex_expect(!ilk_semaphore_try_wait(&s.semaphore), "a thread whose turn it was was passed again");
    }
    give_one();
}
EX_SCENARIO(barging_first){
    .name = "semaphore-barging-stays-first",
    .claim = "a thread is passed so often, and then has the next permit",
    .setup = setup_barging_empty,
    .threads = {wait_plainly, be_behind, pass_the_first_of_two},
    .titles = {"first", "second", "passes the first"},
    .check = check_end,
    .modes = EX_SC,
};

/* Its permit was taken before it had left the queue's lock: it goes back to where it stood, behind the first, which has
 * been passed (in the explorer once is enough). */
static void queue_behind(void) {
    await_first();
    ilk_semaphore_wait(&s.semaphore);
}
static void give_two_and_pass(void) {
    await_first();
    ilk_semaphore_signal(&s.semaphore, 2);
    const uint32_t word = ilk_atomic_load(&s.semaphore.word, memory_order_relaxed);
    const bool is_called = (word & ILK__SEMAPHORE_QUEUE_LOCKED) == 0;
    uint32_t taken = 0;
    while (taken < 2 && ilk_semaphore_try_wait(&s.semaphore)) {
        taken++;
    }
    if (taken == 2) {
        while (!ex_is_waiting(1) || !ex_is_waiting(2)) {
            ilk_cpu_relax();
        }
        ilk_semaphore_signal(&s.semaphore, 1);
        taken--;
        ex_expect(!is_called || !ilk_semaphore_try_wait(&s.semaphore), "one that was passed is passed again");
    }
    ilk_semaphore_signal(&s.semaphore, taken);
}
EX_SCENARIO(barging_place){
    .name = "semaphore-barging-keeps-its-place",
    .claim = "a thread is passed so often, and then has the next permit",
    .setup = setup_barging_empty,
    .threads = {wait_plainly, queue_behind, give_two_and_pass},
    .titles = {"first", "second", "passes them"},
    .check = check_end,
    .modes = EX_SC,
};

static void setup_barging_heap(void) {
    setup_heap();
    ilk_semaphore_init_barging(s.heap, 0);
}
#define BARGING_FREED(identifier, text, waits)                                                               \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "semaphore-barging-freed-by-the-" text,                                                      \
        .claim = "the signal does not touch the semaphore after its permit has been taken",                  \
        .setup = setup_barging_heap, .threads = {waits, signal_heap}, .titles = {"waiter", "signaller"},     \
        .timeouts = 1, .spurious_wakeups = 1                                                                 \
    }
BARGING_FREED(barging_freed, "waiter", wait_and_free);
BARGING_FREED(barging_freed_late, "late-waiter", wait_until_and_free);

EX_MUST_REACH(states){
    {"semaphore-try_signal-no-room",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_HANDS_OVER, EX_SEMAPHORE_LEFT_TO_HOLDER}},
    {"semaphore-wait-signal", {EX_WAITER_SLEEPS, EX_WAITER_GRANTED_AWAKE}},
    {"semaphore-wait-signal_and_retake",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_UNSERVED, EX_SEMAPHORE_HANDS_OVER, EX_SEMAPHORE_LEFT_TO_HOLDER}},
    {"semaphore-wait*signal_two semaphore-no-* semaphore-order semaphore-value",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_HANDS_OVER, EX_SEMAPHORE_LEFT_TO_HOLDER}},
    {"semaphore-use* semaphore-freed-by-the-waiter* semaphore-wait-*",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_HANDS_OVER}},
    {"semaphore-use*use_until semaphore-freed-by-the-late-waiter semaphore-two-time-out",
     {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_HANDS_OVER, EX_SEMAPHORE_LEFT_TO_HOLDER, EX_SEMAPHORE_LATE_IN_QUEUE,
      EX_SEMAPHORE_LATE_AND_SERVED}},
    {"semaphore-wait*wait_until-signal_two", {EX_SEMAPHORE_LATE_IN_QUEUE, EX_SEMAPHORE_LATE_AND_SERVED}},
    {"semaphore-wait_until-wait_until-no-signal", {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_LATE_IN_QUEUE}},
    {"semaphore-barging-*", {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_CALLS}},
    {"semaphore-barging-use-use_twice semaphore-barging-wait-signal_and_retake",
     {EX_SEMAPHORE_BARGED, EX_SEMAPHORE_IN_TURN, EX_SEMAPHORE_UNSERVED}},
    {"semaphore-barging-bound*", {EX_SEMAPHORE_PASSED, EX_SEMAPHORE_IN_TURN, EX_SEMAPHORE_HANDS_OVER}},
    {"semaphore-barging-stays-first",
     {EX_SEMAPHORE_PASSED, EX_SEMAPHORE_IN_TURN, EX_SEMAPHORE_HANDS_OVER, EX_SEMAPHORE_UNSERVED}},
    {"semaphore-barging-*until* semaphore-barging-*late-waiter",
     {EX_SEMAPHORE_LATE_IN_QUEUE, EX_SEMAPHORE_LATE_AND_CALLED}},
};

EX_CANNOT_REACH(no_states){
    {"semaphore-no-stealing-*", {EX_WAITER_GRANTED_AWAKE}},
    {"semaphore-wait_until-wait_until-no-signal", {EX_SEMAPHORE_LATE_AND_SERVED}},
};
