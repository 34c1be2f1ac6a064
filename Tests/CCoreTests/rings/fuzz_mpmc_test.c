/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of every verb of ilk_mpmc (ring_fuzz.h).
 */
#include "rings/mpmc_face.h"

#include "rings/ring_fuzz.h"
/* contract: mpmc.D */
TEST(every_verb_of_mpmc_agrees_with_a_model) {
    fuzz_ring();
}
