/* SPDX-License-Identifier: Apache-2.0
 *
 * States that a scenario must reach (states.h). The first reaches its own. The others show that a state not reached is
 * a finding: one is behind a branch that no thread takes; one only behind a longer spin, in which the thread that is
 * waited for always finishes. And that a state is a finding that is reached where no thread can be in it.
 */
#include "../explorer.h"
#include <platform/reaches.h>

static struct { ILK_ATOMIC(int) flag; } s;

static void setup(void) {
    s.flag = 0;
}

static void raise_flag(void) {
    ilk_atomic_store(&s.flag, 1, memory_order_relaxed);
}

static void await_flag(int pauses) {
    for (; pauses > 0 && ilk_atomic_load(&s.flag, memory_order_relaxed) == 0; pauses--) {
        ilk_cpu_relax();
    }
    ILK__REACHES(CLASSIC_STATE, ilk_atomic_load(&s.flag, memory_order_relaxed) == 0);
}
static void spin_once(void) {
    await_flag(1);
}
static void spin_long(void) {
    await_flag(16);
}
/* The flag is 0 or 1: the first condition always holds, and the second never. */
static void see_any(void) {
    ILK__REACHES(CLASSIC_ALWAYS, ilk_atomic_load(&s.flag, memory_order_relaxed) < 2);
}
static void see_none(void) {
    ILK__REACHES(CLASSIC_ALWAYS, ilk_atomic_load(&s.flag, memory_order_relaxed) >= 2);
}
static void see_two(void) {
    ILK__REACHES(CLASSIC_STATE, ilk_atomic_load(&s.flag, memory_order_relaxed) == 2);
}

#define REACHED(identifier, text, says, verdict, waiter)                                                     \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "reached-" text, .claim = says, .setup = setup, .threads = {waiter, raise_flag},             \
        .titles = {"waiter", "holder"}, .finds = verdict                                                     \
    }
REACHED(once, "after-one-pause", "a waiter gives up its spin before the flag", EX_CLEAN, spin_once);
REACHED(never, "broken-never", "a state that does not exist is not reached", EX_UNREACHED, see_two);
REACHED(beyond, "broken-after-sixteen-pauses", "a long spin hides what comes after it", EX_UNREACHED,
        spin_long);

REACHED(any, "broken-always", "a state that no thread is in is reached", EX_UNREACHED, see_any);
REACHED(none, "by-none", "a state that no thread is in is not reached", EX_CLEAN, see_none);
REACHED(no_mark, "broken-without-a-mark", "a mark that is not passed tells nothing", EX_UNREACHED,
        raise_flag);

EX_MUST_REACH(states){
    {"reached-after-one-pause reached-broken-never reached-broken-after-sixteen-pauses", {EX_CLASSIC_STATE}},
};

EX_CANNOT_REACH(no_states){
    {"reached-broken-always reached-by-none reached-broken-without-a-mark", {EX_CLASSIC_ALWAYS}},
};
