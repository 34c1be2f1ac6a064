/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc under load: both rings' tests, overwriting, and a crowd of sleepers.
 */
#include "rings/mpmc_face.h"

#include "rings/ring_stress.h"
/* contract: ilk_mpmc_close, ilk_mpmc_push_overwriting, mpmc.B */
TEST(overwriting_loses_nothing_but_what_it_hands_back) {
    static const struct load loads[] = {
        {.capacity = 1, .producers = 2, .consumers = 1, .count = 20000},
        {.capacity = 3, .producers = 3, .consumers = 1, .count = 20000},
        {.capacity = 16, .producers = 4, .consumers = 2, .count = 20000},
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct load load = loads[i];
        load.push = PUSH_OVERWRITING;
        load.pop = ANY_POP;
        run_load(load);
    }
}

/* All sides sleep all the time: a lost wake-up is a hang. */
struct relay {
    ilk_mpmc *from, *to;
    int rounds;
};

static void pass_on(void *context) {
    struct relay *relay = context;
    for (int round = 0; round < relay->rounds; round++) {
        uint64_t token;
        check_equal(ilk_mpmc_pop_until(relay->from, &token, sizeof token, ILK_FOREVER), ILK_OK);
        check_equal(ilk_mpmc_push_until(relay->to, &token, sizeof token, ILK_FOREVER), ILK_OK);
    }
}

TEST(no_wake_up_is_lost_among_many) {
    enum { COUNT = 4 };
    ilk_mpmc *rings[2];
    struct relay relays[COUNT];
    uint64_t token = 42;
    for (int i = 0; i < 2; i++) {
        check_equal(ilk_mpmc_create(&rings[i], 1, sizeof token), ILK_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        relays[i] = (struct relay){rings[i % 2], rings[(i + 1) % 2], stress_rounds(20000)};
    }
    check(ilk_mpmc_try_push(rings[0], &token, sizeof token));
    threads_run(COUNT, pass_on, relays, sizeof *relays);
    check(ilk_mpmc_try_pop(rings[0], &token, sizeof token));
    check_equal(token, 42);
    ilk_mpmc_destroy(rings[0]);
    ilk_mpmc_destroy(rings[1]);
}
