/* SPDX-License-Identifier: Apache-2.0
 *
 * Several copies of this library in one process, on ELF systems: at most one table of a process is in charge,
 * that is, hands out blocks. A note in each object's program headers (slot_table_elf.S) leads to the role of
 * its copy's table; no form of linking hides it. The table of the first copy whose constructor runs takes
 * charge; a later copy with another leaves that idle (docs/rwlock.md).
 *
 * Exclusion would be lost in one case: a lock that the copy in charge has moved to slots, whose readers the
 * idle copy cannot see. What the idle copy reads anyway shows it: the word has SLOTS, and its own table is
 * empty, which that of the copy that set SLOTS never is. So fast paths pay nothing, and slow ones report it
 * (ilk__table_report_another).
 *
 * Rejected: a rendezvous by symbol (a link may hide it), by a file or socket (sandboxes; they survive fork),
 * by a page at a fixed address (sanitizers and layouts differ). Rejected too: letting the idle copy walk the
 * other's table. Thread-locals that it cannot reach name its threads' blocks: a lock taken in one copy and
 * given up in the other would still break.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "rwlock/slot_table.h"

#include "platform/port.h"

#if ILK__PORT_ELF

#include "diagnostics/misuse.h"
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

typedef ILK_ATOMIC(uint32_t) table_role;

_Static_assert(offsetof(struct ilk__slot_table, role) == ILK__TABLE_ROLE_OFFSET, "as in the assembly");
_Static_assert(sizeof(struct ilk__slot_table) <= 8320, "as in the assembly");
_Static_assert(sizeof(struct ilk__slot_block) == 256, "as in the assembly");
_Static_assert(sizeof(uintptr_t) == 8, "as in the assembly");

extern table_role *const ilk__role_here __attribute__((visibility("hidden")));

/* ---- Finding copies ---- */

struct copies {
    const char *in_charge; /* the object of another table in charge, or about to be */
    const char *self;      /* this copy's object */
};

static void see_copy(struct copies *copies, const char *object, table_role *const *role_there) {
    if (role_there == &ilk__role_here) {
        copies->self = object;
    } else if (*role_there != ilk__role_here) {
        /* TC2 seq_cst, pairs with TC1.
         * Forbids: both candidates, each sees the other undecided. */
        uint32_t role = ilk_atomic_load(*role_there, memory_order_seq_cst);
        if (role == ILK__TABLE_CANDIDATE || role == ILK__TABLE_IN_CHARGE) {
            copies->in_charge = object;
        }
    }
}

static size_t padded(size_t size, size_t alignment) {
    return (size + alignment - 1) & ~(alignment - 1);
}

static void see_notes(struct copies *copies, const char *object, const char *notes, size_t size,
                      size_t alignment) {
    static const char name[] = "Interlock";
    size_t offset = 0;
    while (size - offset >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        memcpy(&header, notes + offset, sizeof header);
        const size_t content = padded(offset + sizeof header + header.n_namesz, alignment);
        const size_t next = padded(content + header.n_descsz, alignment);
        if (content > size || next < content || content + header.n_descsz > size) {
            return;
        }
        if (header.n_type == ILK__TABLE_NOTE_TYPE && header.n_namesz == sizeof name &&
            header.n_descsz == sizeof(int64_t) &&
            memcmp(notes + offset + sizeof header, name, sizeof name) == 0) {
            int64_t distance;
            memcpy(&distance, notes + content, sizeof distance);
            see_copy(copies, object,
                     (table_role *const *)((uintptr_t)(notes + content) + (uintptr_t)distance));
        }
        if (next >= size) {
            return;
        }
        offset = next;
    }
}

static int see_object(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    for (size_t index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[index];
        if (header->p_type == PT_NOTE) {
            see_notes(context, object->dlpi_name, (const char *)(object->dlpi_addr + header->p_vaddr),
                      header->p_memsz, header->p_align == 8 ? 8 : 4);
        }
    }
    return 0;
}

static struct copies find_copies(void) {
    struct copies copies = {NULL, NULL};
    (void)dl_iterate_phdr(see_object, &copies);
    return copies;
}

/* ---- Loading a copy ---- */

/* Constructors run one after the other, but for a library that a thread opens beside the program's own. So
 * each candidate says so before it checks: two tables are never in charge. None may be, if two come at once,
 * which costs time only. */
__attribute__((constructor)) static void choose_table(void) {
    uint32_t undecided = ILK__TABLE_UNDECIDED;
    /* TC1 seq_cst, pairs with TC2: of two candidates at most one finds the other undecided. */
    bool decides = ilk_atomic_compare_exchange(ilk__role_here, &undecided, ILK__TABLE_CANDIDATE,
                                               memory_order_seq_cst, memory_order_relaxed);
    const struct copies copies = find_copies();
    if (decides) {
        /* TC3 relaxed: read by threads that want a block; carries nothing. */
        ilk_atomic_store(ilk__role_here, copies.in_charge == NULL ? ILK__TABLE_IN_CHARGE : ILK__TABLE_IDLE,
                         memory_order_relaxed);
    }
}

/* ---- Afterwards ---- */

bool ilk__table_is_in_charge(void) {
    return ilk_atomic_load(ilk__role_here, memory_order_relaxed) == ILK__TABLE_IN_CHARGE; /* TC3 */
}

static const char *file_of(const char *object) {
    return object == NULL ? "?" : object[0] == '\0' ? "the program" : object;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk__table_report_another(const ilk_rwlock *lock) ILK_NONBLOCKING {
    const struct copies copies = find_copies();
    ilk__misuse("ilk_rwlock", lock,
                "two copies of Interlock that do not share their reader slots use this lock; link both as "
                "pkg-config --libs interlock-static says, or both to libinterlock.so; the copies are in %s "
                "and in %s",
                file_of(copies.in_charge), file_of(copies.self));
}
ILK_TRUSTED_NONBLOCKING_END

#endif
