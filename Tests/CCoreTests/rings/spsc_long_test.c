/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc after long use: that of both rings.
 */
#include "rings/spsc_face.h"

#include "rings/ring_long.h"
