/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of every verb of ilk_spsc (ring_fuzz.h).
 */
#include "rings/spsc_face.h"

#include "rings/ring_fuzz.h"
/* contract: ilk_mpmc_capacity, ilk_mpmc_close, ilk_spsc_capacity, ilk_spsc_close, spsc.D */
static void every_verb_of_spsc_agrees_with_a_model(void **state) {
    (void)state;
    fuzz_ring();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_verb_of_spsc_agrees_with_a_model),
};

TEST_MAIN(tests)
