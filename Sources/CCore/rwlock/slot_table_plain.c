/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot table as ordinary variables (slot_table.h): systems other than Linux, and the explorer.
 */
#include "rwlock/slot_table.h"

#include "diagnostics/misuse.h"
#include "platform/port.h"

#if !ILK__PORT_ELF

/* Apple's linker and dyld take one definition of a weak symbol for all images of a process. By the
 * documentation: never run there. */
#if defined(__APPLE__)
#define ONE_FOR_ALL_IMAGES __attribute__((weak, visibility("default")))
#else
#define ONE_FOR_ALL_IMAGES
#endif

#define OCCUPIED UINT64_MAX
ONE_FOR_ALL_IMAGES struct ilk__slot_block ilk__no_slots_2 = {
    .slots = {OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED, OCCUPIED},
};

ONE_FOR_ALL_IMAGES struct ilk__slot_table ilk__slot_table_2;

ONE_FOR_ALL_IMAGES __thread struct ilk__slot_block *ilk__my_slots_pointer_2 = &ilk__no_slots_2;

/* Nothing here finds other tables. */
bool ilk__table_is_in_charge(void) {
    return true;
}

void ilk__table_report_another(const ilk_rwlock *lock) ILK_NONBLOCKING {
    ilk__misuse("ilk_rwlock", lock,
                "the lock uses reader slots that this copy of Interlock does not see: another copy in the "
                "process has a table of its own");
}

#endif
