/* SPDX-License-Identifier: Apache-2.0
 *
 * Further reads of a thread whose slot names the lock already, and what a signal handler leaves behind. A slot holds
 * its thread's share: while it names lock L, the thread's tries and unlocks of L change the slot alone.
 *
 * The slot, and how many of the thread's reads of L its word counts
 *   from              by                                                        to
 *   free              a read by way of slots (RW10, RW15)                       L
 *   L                 read_unlock (RW12), or a read that may not stay (RW24)    free
 *   L, n further      ilk_rwlock_try_read_lock (RW19)                           L, n + 1 further; back, if L does not
 *                                                                               admit it
 *   L, n + 1 further  read_unlock (RW9)                                         L, n further
 *   free, or another  any other read of L; the unlock of it                     the same; one more or less counted
 * Calls that may wait, and sections (read_section.h), are counted beside a slot that names L. The thread's shares are
 * alike: whichever an unlock gives up, as many are left.
 *
 * A handler may run between any two steps of its thread, which goes on by what it saw. So a handler that gives up what
 * it took must leave the slot, and the count, as it found them. Where the slot names L, its tries and unlocks add to
 * the slot and take from it again. Where it does not, its tries are counted, or fill a free slot; its unlocks empty
 * that before they count one off; in the end both are as before.
 *
 * Must not happen
 *   1. A share that no thread has any more (with a try that is counted beside a slot):
 *        the thread's read_unlock                     its handler
 *          slot == L? yes
 *                                                       try_read_lock: count + 1
 *                                                       read_unlock: slot == L? yes; slot = free
 *          slot = free, as it is; the count stays
 *   2. A reader that no writer sees: the handler interrupts its thread between announcing L and the recheck, where the
 *      announcement may have no fence, and L be fenced by now. So a further read announces with a fence, and rechecks
 *      the word, itself.
 *   3. A share lost: the handler returns with a share of M, of the same slot as L:
 *        the thread's read_lock                       its handler
 *          slot free? yes
 *                                                       try_read_lock: slot = M
 *          slot = L
 *      A compare-and-swap would see it, and cost each read a locked instruction. So a handler gives up what it took
 *      before it returns (rwlock.h).
 *   4. A section ends, which frees the slot unread, before a further read within it: such a try is given up first.
 *   5. The share of 1 once more, for L has left slots since the thread saw it there, so that its handler is counted:
 *        the thread's read_lock                       its handler
 *          slot = L
 *                                                       try_read_lock: no SLOTS; count + 1
 *                                                       read_unlock: slot == L? yes; slot = free
 *          no SLOTS: may not stay; takes L back:
 *          the slot is free
 *      So the thread, which looks as it takes its announcement back, has the counted share, and reads.
 */
#include "rwlock/further_reads.h"

#include "platform/reaches.h"

bool ilk__slot_try_further(ilk_rwlock *lock) ILK_NONBLOCKING {
    struct ilk__slot_block *block = ilk__my_slots();
    const size_t number = ilk__rwlock_slot_number(lock);
    const uint64_t seen = ilk__slot_load(block, number);
    if (ilk__slot_further_reads(seen, lock) >= ILK__SLOT_FURTHER_READS) {
        return false;
    }
    /* RW19 seq_cst, pairs with RW1, RW5 and RW13. It carries what RW10 does; see 2. */
    (void)ilk_atomic_exchange(&block->slots[number], seen + 1, memory_order_seq_cst);
    const uint32_t now = ilk_atomic_load(&lock->word, memory_order_seq_cst); /* RW11 */
    const uint32_t kept_out = ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD;
    const bool stays = (now & (kept_out | ILK__RWLOCK_SLOTS)) == ILK__RWLOCK_SLOTS;
    ILK__REACHES(SLOT_READ_FURTHER, stays);
    ILK__REACHES(SLOT_FURTHER_REFUSED, !stays);
    if (!stays) {
        ilk__slot_leave_further(lock);
    }
    return stays;
}

void ilk__slot_leave_further(ilk_rwlock *lock) ILK_NONBLOCKING {
    struct ilk__slot_block *block = ilk__my_slots();
    const size_t number = ilk__rwlock_slot_number(lock);
    /* RW9: the slot still names the lock, so no writer comes in; RW12 carries what this share has read. */
    ilk_atomic_store(&block->slots[number], ilk__slot_load(block, number) - 1, memory_order_relaxed);
}
