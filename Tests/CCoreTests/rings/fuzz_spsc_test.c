/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of every verb of ilk_spsc (ring_fuzz.h).
 */
#include "rings/spsc_face.h"

#include "rings/ring_fuzz.h"
/* contract: ilk_mpmc_capacity, ilk_mpmc_close, ilk_spsc_capacity, ilk_spsc_close, spsc.D */
TEST(every_verb_of_spsc_agrees_with_a_model) {
    fuzz_ring();
}
