/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks for the explorer, whose own copy of this header comes first: there the mark counts a state of a protocol as
 * reached if the condition holds. Workshop/Explorer/states.h lists the states, and scenarios name those that they must
 * reach. Everywhere else a mark is nothing, and its condition is not compiled.
 */
#ifndef INTERLOCK_PLATFORM_REACHES_H
#define INTERLOCK_PLATFORM_REACHES_H

#define ILK__REACHES(state, condition) ((void)0)

#endif
