/* SPDX-License-Identifier: Apache-2.0
 *
 * How one slot table of a process takes charge (Sources/CCore/rwlock/slot_table_copies.c), for two copies
 * whose constructors run at once: each makes its own table a candidate, checks the other's role, and takes
 * charge if the other is neither a candidate nor in charge. Both may end idle. TC1 and TC2 are sequentially
 * consistent.
 */
#include "../explorer.h"

enum role { UNDECIDED, CANDIDATE, IN_CHARGE, IDLE };

static struct { ILK_ATOMIC(uint32_t) role[2]; } s;

static void setup(void) {
    s.role[0] = s.role[1] = UNDECIDED;
}

static void decide(unsigned me, uint32_t other_role) {
    bool taken = other_role == CANDIDATE || other_role == IN_CHARGE;
    ilk_atomic_store(&s.role[me], taken ? IDLE : IN_CHARGE, memory_order_relaxed);
}

static void choose(unsigned me) {
    uint32_t undecided = UNDECIDED;
    (void)ilk_atomic_compare_exchange(&s.role[me], &undecided, CANDIDATE, memory_order_seq_cst,
                                      memory_order_relaxed);
    decide(me, ilk_atomic_load(&s.role[1 - me], memory_order_seq_cst));
}

static void choose_weakly(unsigned me) {
    uint32_t undecided = UNDECIDED;
    (void)ilk_atomic_compare_exchange(&s.role[me], &undecided, CANDIDATE, memory_order_acq_rel,
                                      memory_order_relaxed);
    decide(me, ilk_atomic_load(&s.role[1 - me], memory_order_acquire));
}

static void check_first(unsigned me) {
    decide(me, ilk_atomic_load(&s.role[1 - me], memory_order_seq_cst));
}

static void first(void) {
    choose(0);
}
static void second(void) {
    choose(1);
}
static void first_weakly(void) {
    choose_weakly(0);
}
static void second_weakly(void) {
    choose_weakly(1);
}
static void first_checks(void) {
    check_first(0);
}
static void second_checks(void) {
    check_first(1);
}

static void check(void) {
    ex_assert(s.role[0] != IN_CHARGE || s.role[1] != IN_CHARGE);
}

EX_SCENARIO(candidates){
    .name = "one-in-charge",
    .claim = "of two tables at most one is in charge",
    .setup = setup,
    .threads = {first, second},
    .check = check,
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(weakly){
    .name = "one-in-charge-broken-order",
    .claim = "release and acquire do not keep a candidate from missing the other",
    .setup = setup,
    .threads = {first_weakly, second_weakly},
    .check = check,
    .finds = EX_ASSERTION,
    .finds_in = EX_WEAK,
};

EX_SCENARIO(checks){
    .name = "one-in-charge-broken-check",
    .claim = "checking the other before becoming a candidate: both take charge",
    .setup = setup,
    .threads = {first_checks, second_checks},
    .check = check,
    .finds = EX_ASSERTION,
};
