/* SPDX-License-Identifier: Apache-2.0
 *
 * What a wait under a lock waits for: see <interlock/condition.h>.
 */
#ifndef INTERLOCK_INLINE_PREDICATE_H
#define INTERLOCK_INLINE_PREDICATE_H

#include <interlock/inline/attributes.h>
#include <stdbool.h>

ILK_BEGIN_DECLARATIONS

/* Whether the condition holds. Called with the lock held, by any thread that gives it up. */
typedef bool (*ilk_predicate)(void *context);

ILK_END_DECLARATIONS

#endif
