/* SPDX-License-Identifier: Apache-2.0
 *
 * The event count by itself, used as its header says. No sleeper sleeps on while what it wants is there.
 */
#include "../explorer.h"
#include <interlock/deadline.h>
#include <string.h>
#include <wait/event_count.h>
#include <wait/fenced.h>

/* The owner's flag: a publisher that finds it and no thread calls. */
#define CALLS (ILK__EVENT_FENCED << 1)
/* Of all sleepers. */
enum { MARK = 1 };

static struct {
    ILK_ATOMIC(uint64_t) waiting;
    ILK_ATOMIC(uint32_t) epoch;
    ILK_ATOMIC(uint32_t) there[2]; /* published and not taken */
    uint32_t data[2];
    ILK_ATOMIC(uint32_t) called;
    ILK_ATOMIC(uint32_t) over;
} s;

static const struct ilk__event_count event = {&s.waiting, &s.epoch};

static void setup(void) {
    memset(&s, 0, sizeof s);
    s.waiting = ilk__event_at_rest();
}

/* It is known that membarrier is refused. */
static void setup_refused(void) {
    ilk__fence_heavy_alone();
    setup();
    ex_assert(s.waiting == ILK__EVENT_FENCED);
    ex_assert(!ilk__fenced_is_due(ILK__FENCED_STEPS, 0)); /* and stays up */
}

static void setup_fenced(void) {
    setup();
    s.waiting = ILK__EVENT_FENCED;
}

static void publish(unsigned which) {
    ilk_plain_write(&s.data[which], sizeof s.data[which]);
    s.data[which] = which + 1;
    ilk_atomic_store(&s.there[which], 1, memory_order_release);
    if (!ilk__event_has_waiters(event)) {
        return;
    }
    const uint64_t waiting = ilk__event_wake_one(event, MARK);
    if ((waiting & ILK__EVENT_THREADS) != 0) {
        return;
    }
    if (ilk__fence_heavy_is_cheap()) {
        ilk__event_drop_fenced(event, waiting, waiting & ~ILK__EVENT_FENCED); /* at every publication */
    }
    if ((waiting & CALLS) != 0) {
        ilk_atomic_store(&s.called, 1, memory_order_relaxed);
    }
}

static bool is_there(void) {
    return ilk_atomic_load(&s.there[0], memory_order_relaxed) != 0 ||
           ilk_atomic_load(&s.there[1], memory_order_relaxed) != 0;
}

static bool take(void) {
    for (unsigned which = 0; which < 2; which++) {
        if (ilk_atomic_load(&s.there[which], memory_order_relaxed) != 0 &&
            ilk_atomic_exchange(&s.there[which], 0, memory_order_acquire) != 0) {
            ilk_plain_read(&s.data[which], sizeof s.data[which]);
            ex_assert(s.data[which] == which + 1);
            return true;
        }
    }
    return false;
}

static void publish_first(void) {
    publish(0);
}
static void publish_second(void) {
    publish(1);
}
static void publish_both(void) {
    publish(0);
    publish(1);
}

/* Takes one, sleeping as a worker does; wakes the next if there is more. */
static void take_one(void) {
    bool was_woken = false;
    while (!take()) {
        (void)ilk__event_register(event, 0);
        const uint32_t epoch = ilk__event_acknowledge(event);
        if (!is_there()) {
            (void)ilk__event_park(event, epoch, ILK_FOREVER, MARK);
            (void)ilk__event_acknowledge(event);
        }
        (void)ilk__event_unregister(event);
        was_woken = true;
    }
    if (was_woken && is_there() && ilk__event_has_waiters(event)) {
        (void)ilk__event_wake_one(event, MARK);
    }
}
static void take_two(void) {
    take_one();
    take_one();
}

/* Gives up after one sleep, and passes its wake-up on. */
static void give_up(void) {
    (void)ilk__event_register(event, 0);
    const uint32_t epoch = ilk__event_acknowledge(event);
    if (!is_there()) {
        (void)ilk__event_park(event, epoch, 5000, MARK);
        (void)ilk__event_acknowledge(event);
    }
    (void)ilk__event_unregister(event);
    if (is_there() && ilk__event_has_waiters(event)) {
        (void)ilk__event_wake_one(event, MARK);
    }
}

static void check(void) {
    ex_assert(!is_there());
    ex_assert((s.waiting & ILK__EVENT_THREADS) == 0);
}

EX_SCENARIO(one){
    .name = "event-publish-take",
    .claim = "a sleeper does not miss what is published",
    .setup = setup,
    .threads = {publish_first, take_one},
    .check = check,
    .spurious_wakeups = 1,
};
EX_SCENARIO(refused){
    .name = "event-publish-take-without-membarrier",
    .claim = "nor where membarrier is missing, and FENCED up from the start",
    .setup = setup_refused,
    .threads = {publish_first, take_one},
    .check = check,
    .refuse_membarrier = true,
};
EX_SCENARIO(refused_late){
    .name = "event-publish-take-refused-late",
    .claim = "nor where membarrier is refused while the first thread registers",
    .setup = setup,
    .threads = {publish_first, take_one},
    .check = check,
    .refuse_membarrier = true,
};
EX_SCENARIO(one_twice){
    .name = "event-publish_both-take_two",
    .claim = "an acknowledged wake-up leaves the next one possible",
    .setup = setup,
    .threads = {publish_both, take_two},
    .check = check,
};
EX_SCENARIO(two_sleepers){
    .name = "event-publish_both-take-take",
    .claim = "with one wake-up at a time under way each of two sleepers comes to its own",
    .setup = setup,
    .threads = {publish_both, take_one, take_one},
    .check = check,
    .spurious_wakeups = 1,
};
EX_SCENARIO(two_publishers){
    .name = "event-publish-publish-take-take",
    .claim = "two publishers wake two sleepers",
    .setup = setup,
    .threads = {publish_first, publish_second, take_one, take_one},
    .check = check,
};
EX_SCENARIO(two_publishers_one){
    .name = "event-publish-publish-take_two",
    .claim = "a publisher that finds a wake-up under way is seen by the woken thread",
    .setup = setup,
    .threads = {publish_first, publish_second, take_two},
    .check = check,
};
EX_SCENARIO(unfenced){
    .name = "event-fenced-publish_both-take-take",
    .claim = "FENCED may go while a thread registers",
    .setup = setup_fenced,
    .threads = {publish_both, take_one, take_one},
    .check = check,
};
EX_SCENARIO(unfenced_two){
    .name = "event-fenced-publish-publish-take_two",
    .claim = "the same beside two publishers",
    .setup = setup_fenced,
    .threads = {publish_first, publish_second, take_two},
    .check = check,
};
EX_SCENARIO(gives_up){
    .name = "event-publish-take-beside-one-that-gives-up",
    .claim = "a wake-up is not lost with a sleeper that gives up",
    .setup = setup,
    .threads = {publish_first, take_one, give_up},
    .check = check,
    .timeouts = 1,
};

/* ---- All, and CALLS ---- */

static void end_all(void) {
    ilk_plain_write(&s.data[0], sizeof s.data[0]);
    s.data[0] = 1;
    ilk_atomic_store(&s.over, 1, memory_order_relaxed);
    ilk__event_wake_all(event);
}

static void await_end(void) {
    while (ilk_atomic_load(&s.over, memory_order_relaxed) == 0) {
        (void)ilk__event_register(event, 0);
        const uint32_t epoch = ilk__event_acknowledge(event);
        if (ilk_atomic_load(&s.over, memory_order_relaxed) == 0) {
            (void)ilk__event_park(event, epoch, ILK_FOREVER, MARK);
        }
        (void)ilk__event_unregister(event);
    }
}

EX_SCENARIO(all){
    .name = "event-wake_all-wait-wait",
    .claim = "wake_all wakes every registered thread",
    .setup = setup,
    .threads = {end_all, await_end, await_end},
};

static void raise_calls(void) {
    ilk__event_set_flag(event, CALLS, true);
    if (is_there()) {
        ilk_atomic_store(&s.called, 1, memory_order_relaxed);
    }
}
static void check_called(void) {
    ex_assert(s.called == 1);
}
static void publish_second_too(void) {
    raise_calls();
    publish(1);
    ilk__event_set_flag(event, CALLS, false);
}

EX_SCENARIO(calls){
    .name = "event-call-publish",
    .claim = "the thread that raises CALLS sees a publication, or its publisher sees CALLS",
    .setup = setup,
    .threads = {raise_calls, publish_first},
    .check = check_called,
};
/*   publisher               raises CALLS            sleeper
 *   publishes; 0 waiting
 *                           FENCED, too early
 *                                                   fences by itself, misses it, parks
 *                           heavy fence: finds it, and leaves it there        */
EX_SCENARIO(calls_beside_sleeper){
    .name = "event-call-publish-take",
    .claim = "a sleeper that relies on another's FENCED sees what that one's fence has shown",
    .setup = setup,
    .threads = {raise_calls, publish_first, take_one},
    .check = check,
};
EX_SCENARIO(calls_fenced){
    .name = "event-call-publish-fenced",
    .claim = "the same where FENCED is up and going",
    .setup = setup_fenced,
    .threads = {raise_calls, publish_first},
    .check = check_called,
};
EX_SCENARIO(calls_refused){
    .name = "event-call-publish-without-membarrier",
    .claim = "the same without membarrier",
    .setup = setup_refused,
    .threads = {raise_calls, publish_first},
    .check = check_called,
    .refuse_membarrier = true,
};
EX_SCENARIO(calls_cleared){
    .name = "event-call-and-clear-publish",
    .claim = "a publisher is called while CALLS is up",
    .setup = setup,
    .threads = {publish_second_too, publish_first},
    .check = check_called,
};

EX_MUST_REACH(states){
    {"event-call-*", {EX_EVENT_FLAGGED}},
    {"event-call-publish-take", {EX_SLEEPER_WOKEN, EX_EVENT_WAKES}},
    {"event-fenced-*", {EX_SLEEPER_WOKEN, EX_EVENT_FENCED_DOWN, EX_EVENT_WAKE_PENDS, EX_EVENT_ACKNOWLEDGED}},
    {"event-call-publish event-call-and-* event-publish*-take event-publish*-take_two event-*-late "
     "event-publish*-up "
     "event-wake_all-*",
     {EX_EVENT_FENCED_UP}},
    {"event-publish*", {EX_SLEEPER_WOKEN, EX_EVENT_WAKES, EX_EVENT_ACKNOWLEDGED}},
    {"event-publish_both-*", {EX_EVENT_WAKE_PENDS}},
};

EX_CANNOT_REACH(no_states){
    {"event-*-without-membarrier", {EX_EVENT_FENCED_UP}},
    {"event-publish_both-take_two", {EX_EVENT_FLAGGED}},
};
