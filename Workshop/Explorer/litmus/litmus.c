/* SPDX-License-Identifier: Apache-2.0
 *
 * Litmus tests: the model's outcomes compared with C11's. Each shape runs with every combination of memory
 * orders, to exhaustion. The outcomes must be exactly what C11 allows, with two exceptions that the model
 * never shows (load buffering, 2+2W).
 */
#include "../engine/explore.h"
#include "../engine/state.h"
#include <platform/membarrier.h>
#include <stdatomic.h>
#include <string.h>

static struct {
    ILK_ATOMIC(uint32_t) x, y;
    uint32_t r[4];
    int order[4];
    int fence[2];      /* -1: none */
    uint32_t outcomes; /* a bit for each of 16 */
} s;

static void setup(void) {
    s.x = 0;
    s.y = 0;
    memset(s.r, 0, sizeof s.r);
}

/* The registers, a bit each, from r0 up. */
static unsigned outcome_of(unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
    return r0 | r1 << 1 | r2 << 2 | r3 << 3;
}

static void collect(void) {
    s.outcomes |= UINT32_C(1) << outcome_of(s.r[0], s.r[1], s.r[2], s.r[3]);
}

static void fence(int which) {
    if (s.fence[which] >= 0) {
        ilk_atomic_fence(s.fence[which]);
    }
}

/* SB: both store, then load the other's. */
static void sb_left(void) {
    ilk_atomic_store(&s.x, 1, s.order[0]);
    fence(0);
    s.r[0] = ilk_atomic_load(&s.y, s.order[1]);
}
static void sb_right(void) {
    ilk_atomic_store(&s.y, 1, s.order[2]);
    fence(1);
    s.r[1] = ilk_atomic_load(&s.x, s.order[3]);
}
static const ex_scenario sb = {
    .name = "SB", .setup = setup, .threads = {sb_left, sb_right}, .check = collect};

/* The same with exchanges for stores. */
static void sbx_left(void) {
    (void)ilk_atomic_exchange(&s.x, 1, s.order[0]);
    s.r[0] = ilk_atomic_load(&s.y, s.order[1]);
}
static void sbx_right(void) {
    (void)ilk_atomic_exchange(&s.y, 1, s.order[2]);
    s.r[1] = ilk_atomic_load(&s.x, s.order[3]);
}
static const ex_scenario sbx = {
    .name = "SB+rmw", .setup = setup, .threads = {sbx_left, sbx_right}, .check = collect};

/* The same with membarrier on one side only. */
static void sbm_right(void) {
    ilk_atomic_store(&s.y, 1, memory_order_relaxed);
    (void)ilk__membarrier();
    s.r[1] = ilk_atomic_load(&s.x, memory_order_relaxed);
}
static const ex_scenario sbm = {
    .name = "SB+membarrier", .setup = setup, .threads = {sb_left, sbm_right}, .check = collect};

/* MP: data, then flag; flag, then data. */
static void mp_writer(void) {
    ilk_atomic_store(&s.x, 1, memory_order_relaxed);
    fence(0);
    ilk_atomic_store(&s.y, 1, s.order[0]);
}
static void mp_reader(void) {
    s.r[0] = ilk_atomic_load(&s.y, s.order[1]);
    fence(1);
    s.r[1] = ilk_atomic_load(&s.x, memory_order_relaxed);
}
static const ex_scenario mp = {
    .name = "MP", .setup = setup, .threads = {mp_writer, mp_reader}, .check = collect};

/* LB: both load, then store. */
static void lb_left(void) {
    s.r[0] = ilk_atomic_load(&s.x, memory_order_relaxed);
    ilk_atomic_store(&s.y, 1, memory_order_relaxed);
}
static void lb_right(void) {
    s.r[1] = ilk_atomic_load(&s.y, memory_order_relaxed);
    ilk_atomic_store(&s.x, 1, memory_order_relaxed);
}
static const ex_scenario lb = {
    .name = "LB", .setup = setup, .threads = {lb_left, lb_right}, .check = collect};

/* 2+2W: both store to both, in opposite order; outcome: which store was last. */
static void ww_left(void) {
    ilk_atomic_store(&s.x, 1, memory_order_relaxed);
    ilk_atomic_store(&s.y, 2, memory_order_relaxed);
}
static void ww_right(void) {
    ilk_atomic_store(&s.y, 1, memory_order_relaxed);
    ilk_atomic_store(&s.x, 2, memory_order_relaxed);
}
static void ww_check(void) {
    s.r[0] = s.x == 1;
    s.r[1] = s.y == 1;
    collect();
}
static const ex_scenario ww = {
    .name = "2+2W", .setup = setup, .threads = {ww_left, ww_right}, .check = ww_check};

/* IRIW: two writers, two readers that load in opposite order. */
static void iriw_x(void) {
    ilk_atomic_store(&s.x, 1, s.order[0]);
}
static void iriw_y(void) {
    ilk_atomic_store(&s.y, 1, s.order[0]);
}
static void iriw_left(void) {
    s.r[0] = ilk_atomic_load(&s.x, s.order[1]);
    fence(0);
    s.r[1] = ilk_atomic_load(&s.y, s.order[1]);
}
static void iriw_right(void) {
    s.r[2] = ilk_atomic_load(&s.y, s.order[1]);
    fence(0);
    s.r[3] = ilk_atomic_load(&s.x, s.order[1]);
}
static const ex_scenario iriw = {
    .name = "IRIW", .setup = setup, .threads = {iriw_x, iriw_y, iriw_left, iriw_right}, .check = collect};

/* WRC: the second thread passes on what it read from the first. */
static void wrc_middle(void) {
    s.r[0] = ilk_atomic_load(&s.x, memory_order_relaxed);
    ilk_atomic_store(&s.y, 1, s.order[1]);
}
static void wrc_last(void) {
    s.r[1] = ilk_atomic_load(&s.y, s.order[2]);
    s.r[2] = ilk_atomic_load(&s.x, memory_order_relaxed);
}
static const ex_scenario wrc = {
    .name = "WRC", .setup = setup, .threads = {iriw_x, wrc_middle, wrc_last}, .check = collect};

/* CoRR: two loads of one variable never go back. */
static void corr_reader(void) {
    s.r[0] = ilk_atomic_load(&s.x, memory_order_relaxed);
    s.r[1] = ilk_atomic_load(&s.x, memory_order_relaxed);
}
static const ex_scenario corr = {
    .name = "CoRR", .setup = setup, .threads = {iriw_x, corr_reader}, .check = collect};

static const int store_orders[] = {memory_order_relaxed, memory_order_release, memory_order_seq_cst};
static const int load_orders[] = {memory_order_relaxed, memory_order_acquire, memory_order_seq_cst};
static const int fence_orders[] = {-1, memory_order_acquire, memory_order_release, memory_order_acq_rel,
                                   memory_order_seq_cst};

static unsigned combinations, wrong;

static uint32_t outcomes_of(const ex_scenario *scenario, bool weak) {
    static ex_finding finding;
    s.outcomes = 0;
    ex_search search = {EX_DEPTH_FIRST, weak, EX_UNBOUNDED, 0, UINT64_C(10000000)};
    ex_find(scenario, &search, &finding);
    if (!finding.exhausted) {
        printf("%s: not exhausted\n", scenario->name);
        wrong++;
    }
    return s.outcomes;
}

/* One combination: the strong outcomes always, the weak one if C11 allows it. */
static bool compare(const ex_scenario *scenario, uint32_t strong, unsigned weak_outcome, bool allowed) {
    uint32_t expected = strong | (allowed ? UINT32_C(1) << weak_outcome : 0);
    uint32_t seen = outcomes_of(scenario, true);
    uint32_t seen_sc = outcomes_of(scenario, false);
    combinations++;
    if (seen != expected || seen_sc != strong) {
        wrong++;
        printf("WRONG %s orders %d %d %d %d fences %d %d: outcomes %x, C11 allows %x; in sc mode %x, of %x\n",
               scenario->name, s.order[0], s.order[1], s.order[2], s.order[3], s.fence[0], s.fence[1], seen,
               expected, seen_sc, strong);
    }
    return allowed;
}

static uint32_t bits(unsigned count, const unsigned *outcomes) {
    uint32_t set = 0;
    for (unsigned i = 0; i < count; i++) {
        set |= UINT32_C(1) << outcomes[i];
    }
    return set;
}

static void report(const char *shape, const char *outcome, unsigned total, unsigned allowed,
                   const char *remark) {
    printf("%-14s %-22s %3u combinations, allowed in %3u  %s\n", shape, outcome, total, allowed, remark);
}

static void no_fences(void) {
    s.fence[0] = s.fence[1] = -1;
}

static void store_buffering(void) {
    uint32_t strong =
        bits(3, (unsigned[]){outcome_of(0, 1, 0, 0), outcome_of(1, 0, 0, 0), outcome_of(1, 1, 0, 0)});
    unsigned total = 0, allowed = 0, total_rmw = 0, allowed_rmw = 0;
    no_fences();
    for (int i = 0; i < 81; i++) {
        s.order[0] = store_orders[i % 3];
        s.order[1] = load_orders[i / 3 % 3];
        s.order[2] = store_orders[i / 9 % 3];
        s.order[3] = load_orders[i / 27 % 3];
        bool all_sc = true;
        for (int j = 0; j < 4; j++) {
            all_sc = all_sc && s.order[j] == memory_order_seq_cst;
        }
        total++;
        allowed += compare(&sb, strong, 0, !all_sc);
        total_rmw++;
        allowed_rmw += compare(&sbx, strong, 0, !all_sc);
    }
    report("SB", "both read 0", total, allowed, "forbidden only if all four are seq_cst");
    report("SB, exchanges", "both read 0", total_rmw, allowed_rmw, "a seq_cst exchange is no fence");
    total = allowed = 0;
    for (int i = 0; i < 4; i++) {
        s.order[i] = memory_order_relaxed;
    }
    for (int i = 0; i < 25; i++) {
        s.fence[0] = fence_orders[i % 5];
        s.fence[1] = fence_orders[i / 5];
        bool both_sc = s.fence[0] == memory_order_seq_cst && s.fence[1] == memory_order_seq_cst;
        total++;
        allowed += compare(&sb, strong, 0, !both_sc);
    }
    report("SB, fences", "both read 0", total, allowed, "forbidden only if both fences are seq_cst");
    no_fences();
    compare(&sbm, strong, 0, false);
    report("SB, membarrier", "both read 0", 1, 0, "relaxed accesses, membarrier on one side");
}

static void message_passing(void) {
    uint32_t strong =
        bits(3, (unsigned[]){outcome_of(0, 0, 0, 0), outcome_of(0, 1, 0, 0), outcome_of(1, 1, 0, 0)});
    unsigned total = 0, allowed = 0;
    for (int i = 0; i < 9 * 25; i++) {
        s.order[0] = store_orders[i % 3];
        s.order[1] = load_orders[i / 3 % 3];
        s.fence[0] = fence_orders[i / 9 % 5];
        s.fence[1] = fence_orders[i / 45];
        bool releases = s.order[0] != memory_order_relaxed || s.fence[0] == memory_order_release ||
                        s.fence[0] == memory_order_acq_rel || s.fence[0] == memory_order_seq_cst;
        bool acquires = s.order[1] != memory_order_relaxed || s.fence[1] == memory_order_acquire ||
                        s.fence[1] == memory_order_acq_rel || s.fence[1] == memory_order_seq_cst;
        /* Two seq_cst fences order the data by themselves when the flag is read. */
        total++;
        allowed += compare(&mp, strong, outcome_of(1, 0, 0, 0), !(releases && acquires));
    }
    report("MP", "flag 1, data 0", total, allowed, "forbidden if one side releases and the other acquires");
    no_fences();
}

static void others(void) {
    no_fences();
    /* LB: C11 allows 1/1 with relaxed accesses; the model never shows it. */
    uint32_t strong =
        bits(3, (unsigned[]){outcome_of(0, 0, 0, 0), outcome_of(0, 1, 0, 0), outcome_of(1, 0, 0, 0)});
    compare(&lb, strong, outcome_of(1, 1, 0, 0), false);
    report("LB", "both read 1", 1, 1, "NEVER SHOWN: loads do not read from later stores here");
    compare(&ww, strong, outcome_of(1, 1, 0, 0), false);
    report("2+2W", "both first stores last", 1, 1, "NEVER SHOWN: modification order is execution order here");

    uint32_t all_but = 0xFFFF & ~(UINT32_C(1) << outcome_of(1, 0, 1, 0));
    unsigned allowed = 0;
    static const int pairs[][2] = {{memory_order_relaxed, memory_order_relaxed},
                                   {memory_order_release, memory_order_acquire},
                                   {memory_order_seq_cst, memory_order_seq_cst}};
    for (int i = 0; i < 3; i++) {
        s.order[0] = pairs[i][0];
        s.order[1] = pairs[i][1];
        allowed += compare(&iriw, all_but, outcome_of(1, 0, 1, 0), pairs[i][0] != memory_order_seq_cst);
    }
    s.order[0] = s.order[1] = memory_order_relaxed;
    s.fence[0] = memory_order_seq_cst;
    compare(&iriw, all_but, outcome_of(1, 0, 1, 0), false);
    no_fences();
    report("IRIW", "readers disagree", 4, allowed, "forbidden with seq_cst accesses or fences");

    strong = 0xFF & ~(UINT32_C(1) << outcome_of(1, 1, 0, 0));
    allowed = 0;
    for (int i = 0; i < 9; i++) {
        s.order[0] = memory_order_relaxed;
        s.order[1] = store_orders[i % 3];
        s.order[2] = load_orders[i / 3];
        bool passed_on = s.order[1] != memory_order_relaxed && s.order[2] != memory_order_relaxed;
        allowed += compare(&wrc, strong, outcome_of(1, 1, 0, 0), !passed_on);
    }
    report("WRC", "effect without cause", 9, allowed, "forbidden if the second releases, the third acquires");

    strong = bits(3, (unsigned[]){outcome_of(0, 0, 0, 0), outcome_of(0, 1, 0, 0), outcome_of(1, 1, 0, 0)});
    s.order[0] = memory_order_relaxed;
    compare(&corr, strong, outcome_of(1, 0, 0, 0), false);
    report("CoRR", "1, then 0", 1, 0, "one variable never goes back");
}

int main(void) {
    store_buffering();
    message_passing();
    others();
    printf("%u combinations, %u not as C11 has them\n", combinations, wrong);
    return wrong == 0 ? 0 : 1;
}
