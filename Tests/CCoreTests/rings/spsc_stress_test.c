/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc under load: that of both rings, one thread a side.
 */
#include "rings/spsc_face.h"

#include "rings/ring_stress.h"
