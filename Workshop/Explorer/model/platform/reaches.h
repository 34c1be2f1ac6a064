/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's copy of the core's marks: see states.h.
 */
#ifndef INTERLOCK_PLATFORM_REACHES_H
#define INTERLOCK_PLATFORM_REACHES_H

#include "../../states.h"

#define ILK__REACHES(state, condition) ex_pass(EX_##state, (condition))

#endif
