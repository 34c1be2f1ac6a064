/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier. Results have no sequential model; that no party leaves a round early shows in the work that
 * each party sees afterwards.
 */
/* contract: barrier.A, barrier.B, barrier.D, barrier.F */
#include "work.h"
#include <interlock/barrier.h>

static struct {
    ilk_barrier barrier;
    uint32_t last; /* parties that were told they are last */
    uint32_t met, late;
    uint32_t expected;
} s;

static void begin_barrier(uint32_t parties) {
    ilk_barrier_init(&s.barrier, parties);
    begin_work();
    s.last = 0;
}
static void setup_two_parties(void) {
    begin_barrier(2);
    s.expected = 2;
}
static void setup_three_parties(void) {
    begin_barrier(3);
    s.expected = 1;
}

static void meet(uint32_t parties, uint32_t rounds) {
    unsigned me = ex_thread_index() - 1;
    for (uint32_t round = 1; round <= rounds; round++) {
        do_work(me);
        if (ilk_barrier_wait(&s.barrier)) {
            ilk_plain_write(&s.last, sizeof s.last);
            s.last++;
        }
        for (unsigned other = 0; other < parties; other++) {
            see_work(other, round);
        }
        if (round < rounds) {
            (void)ilk_barrier_wait(&s.barrier); /* no party works again before all have seen */
        }
    }
}
static void meet_twice(void) {
    meet(2, 2);
}
static void meet_once(void) {
    meet(3, 1);
}
static void check_last(void) {
    ex_expect(s.last == s.expected, "%u parties were told they are last, in %u rounds", s.last, s.expected);
}

EX_SCENARIO(barrier_two){
    .name = "barrier-two-parties-three-rounds",
    .claim = "every party sees every party's work, round after round; one is last in each",
    .setup = setup_two_parties,
    .threads = {meet_twice, meet_twice},
    .check = check_last,
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_three){
    .name = "barrier-three-parties",
    .claim = "every party sees every party's work; one is last",
    .setup = setup_three_parties,
    .threads = {meet_once, meet_once, meet_once},
    .check = check_last,
    .spurious_wakeups = 1,
};

/* ---- With a deadline: `s.met` counts the waits that returned ILK_OK, `s.late` those that timed out ---- */
static void setup_late_two(void) {
    begin_barrier(2);
    s.met = s.late = 0;
}
static void setup_late_three(void) {
    begin_barrier(3);
    s.met = s.late = 0;
}

static bool arrive_by(uint64_t deadline) {
    bool last = true;
    if (ilk_barrier_wait_until(&s.barrier, deadline, &last) == ILK_OK) {
        s.met++;
        s.last += last ? 1 : 0;
        return true;
    }
    ex_assert(!last);
    s.late++;
    return false;
}
static void arrive_once(void) {
    do_work(ex_thread_index() - 1);
    (void)arrive_by(SOON);
}
static void arrive_until_met(void) {
    do_work(ex_thread_index() - 1);
    if (!arrive_by(SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    see_work(0, 1);
    see_work(1, 1);
}
static void arrive_until_met_of_three(void) {
    arrive_until_met();
    see_work(2, 1);
}
static void arrive_and_stay(void) {
    do_work(ex_thread_index() - 1);
    ex_assert(arrive_by(ILK_FOREVER));
    see_work(0, 1);
    see_work(1, 1);
}
static void arrive_and_stay_of_three(void) {
    arrive_and_stay();
    see_work(2, 1);
}
static void expect_no_party_left(uint32_t rounds) {
    ex_expect(s.barrier.state == (uint64_t)rounds << 32, "the barrier's state is 0x%llx after %u rounds",
              (unsigned long long)s.barrier.state, rounds);
    ex_assert(s.last == rounds);
}
static void check_all_or_none(void) {
    ex_expect(s.met == 0 || s.met == 2, "%u of 2 parties met, %u were late", s.met, s.late);
    expect_no_party_left(s.met / 2);
}
static void check_met_once(void) {
    ex_assert(s.met == s.barrier.parties);
    expect_no_party_left(1);
}
static void see_the_others_work(void) {
    do_work(ex_thread_index() - 1);
    if (arrive_by(SOON)) {
        see_work(0, 1);
        see_work(1, 1);
    }
}

EX_SCENARIO(barrier_late_and_wait){
    .name = "barrier-wait-wait_until",
    .claim = "a party that times out arrives again, and the other has not met it before",
    .setup = setup_late_two,
    .threads = {arrive_and_stay, arrive_until_met},
    .check = check_met_once,
    .timeouts = 1,
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_late_both){
    .name = "barrier-wait_until-wait_until",
    .claim = "both meet or neither does, and parties that met see each other's work",
    .setup = setup_late_two,
    .threads = {see_the_others_work, see_the_others_work},
    .check = check_all_or_none,
    .timeouts = 2,
};
EX_SCENARIO(barrier_late_surplus){
    .name = "barrier-wait_until-three-threads-two-parties",
    .claim = "two parties meet or none, though parties leave meanwhile; none takes back the arrival of "
             "another round",
    .setup = setup_late_two,
    .threads = {arrive_once, arrive_once, arrive_once},
    .check = check_all_or_none,
    .timeouts = 2,
};
EX_SCENARIO(barrier_late_three){
    .name = "barrier-wait-wait-wait_until",
    .claim = "three parties meet once though one times out first",
    .setup = setup_late_three,
    .threads = {arrive_and_stay_of_three, arrive_and_stay_of_three, arrive_until_met_of_three},
    .check = check_met_once,
    .timeouts = 1,
};

/* It does not sleep on the word of the round before. */
static void arrive_twice(void) {
    do_work(ex_thread_index() - 1);
    ex_assert(arrive_by(ILK_FOREVER));
    ex_assert(arrive_by(ILK_FOREVER));
    see_work(0, 1);
    see_work(1, 1);
}
static void arrive_twice_late(void) {
    do_work(ex_thread_index() - 1);
    if (!arrive_by(SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    if (!arrive_by(2 * SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    see_work(0, 1);
    see_work(1, 1);
}
static void check_met_twice(void) {
    ex_assert(s.met == 4);
    expect_no_party_left(2);
}
EX_SCENARIO(barrier_late_rounds){
    .name = "barrier-wait-wait_until-two-rounds",
    .claim = "after a round whose party left and arrived again comes another round",
    .setup = setup_late_two,
    .threads = {arrive_twice, arrive_twice_late},
    .check = check_met_twice,
    .timeouts = 2,
};

/* ---- Destroyed by a party that has returned (guarantee F): a later touch is a touch of freed memory ---- */
static ilk_barrier *owned;

static void setup_owned(uint32_t parties) {
    owned = ex_allocate(sizeof *owned, _Alignof(ilk_barrier));
    ilk_barrier_init(owned, parties);
    begin_work();
}
static void setup_owned_by_two(void) {
    setup_owned(2);
}
static void setup_owned_by_three(void) {
    setup_owned(3);
}
static void free_owned(void) {
    ilk_barrier_destroy(owned);
    ilk_plain_write(owned, sizeof *owned); /* beside no party's last touch */
    ex_free(owned);
}
static void last_frees(void) {
    do_work(ex_thread_index() - 1);
    if (ilk_barrier_wait(owned)) {
        free_owned();
    }
}
static void others_free(void) {
    do_work(ex_thread_index() - 1);
    if (!ilk_barrier_wait(owned)) {
        free_owned();
    }
}
static void last_frees_though_late(void) {
    do_work(ex_thread_index() - 1);
    bool last;
    ilk_status status = ilk_barrier_wait_until(owned, SOON, &last);
    if (status == ILK_TIMEDOUT) {
        status = ilk_barrier_wait_until(owned, ILK_FOREVER, &last);
    }
    ex_assert(status == ILK_OK);
    if (last) {
        free_owned();
    }
}
EX_SCENARIO(barrier_last_frees){
    .name = "barrier-last-destroys",
    .claim = "the last party may destroy and free the barrier",
    .setup = setup_owned_by_three,
    .threads = {last_frees, last_frees, last_frees},
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_other_frees){
    .name = "barrier-other-destroys",
    .claim = "the party that was let go on may destroy and free the barrier beside the last party",
    .setup = setup_owned_by_two,
    .threads = {others_free, others_free},
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_late_last_frees){
    .name = "barrier-last-destroys-wait_until",
    .claim = "the last party may destroy the barrier though a party has timed out before, or finds out late",
    .setup = setup_owned_by_two,
    .threads = {last_frees, last_frees_though_late},
    .timeouts = 1,
};

/* The others do not arrive before the first has given up, and know nothing else of it. */
static ILK_ATOMIC(uint32_t) gave_up;

static void setup_given_up(void) {
    setup_owned(2);
    ilk_atomic_store(&gave_up, 0, memory_order_relaxed);
}
static void give_up(void) {
    ex_assert(ilk_barrier_wait_until(owned, SOON, NULL) == ILK_TIMEDOUT);
    ilk_atomic_store(&gave_up, 1, memory_order_relaxed);
}
static void last_frees_what_was_given_up(void) {
    while (ilk_atomic_load(&gave_up, memory_order_relaxed) == 0) {
        ilk_cpu_relax();
    }
    last_frees();
}
EX_SCENARIO(barrier_given_up_frees){
    .name = "barrier-last-destroys-given_up",
    .claim =
        "the last party may free the barrier though a thread that is no party of the round had timed out",
    .setup = setup_given_up,
    .threads = {give_up, last_frees_what_was_given_up, last_frees_what_was_given_up},
    .timeouts = 1,
};

EX_MUST_REACH(states){
    {"barrier-*", {EX_SLEEPER_WOKEN}},
    {"barrier-*-destroys*", {EX_BARRIER_DESTROYER_WAITS}},
    {"barrier-*wait_until", {EX_SLEEPER_WOKEN, EX_BARRIER_WITHDRAWS, EX_BARRIER_LATE_AND_DONE}},
};
