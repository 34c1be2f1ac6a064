/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot table as ordinary variables: systems other than GNU/Linux. See table.h.
 */
#include "rwlock/table.h"
#include "threads/port.h"

#if !ILK__PORT_UNIQUE_SYMBOLS

#define OCCUPIED UINT64_MAX
struct ilk__slot_block ilk__no_slots = {
    .slots = {OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED},
};

struct ilk__slot_table ilk__slot_table;

__thread struct ilk__slot_block *ilk__my_slots_pointer = &ilk__no_slots;

#endif
