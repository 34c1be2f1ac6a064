/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader slots: where a thread notes which reader–writer lock it reads, in memory of its own, so that
 * readers of one lock do not share a cache line. One table for the whole process, one block a thread;
 * rwlock/reader_slots.c keeps the table. A lock's slot has the same number in every block, so that a writer
 * looks at one slot a thread.
 *
 * A slot, from the low end:
 *   bits 0 to 10    how often the slot has been used with a fence. At 1,024 it is full: its owner carries that
 *                   over into `wraps` before the next use. Counted anywhere else it would be a store that the
 *                   next exchange has to wait for. A use without fence sets it back to 0.
 *   bits 11 to 63   the address of the lock without its three low bits, which are 0, and its eight high ones; 0
 *                   while the slot is free
 * So one comparison tells whether a slot can be used, and another whether it names a certain lock. It is written
 * by the owning thread only (but for a child after fork) and read by writers.
 *
 * The eight high bits of a pointer are 0 or a tag that the processor ignores (arm64, or address sanitizers
 * that use it): dropped here, so that pointers with unlike tags name one lock. A reader whose pointer has more
 * than 56 bits never moves its lock to slots: where such bits are no tag, they would be missed.
 */
#ifndef INTERLOCK_INLINE_SLOTS_H
#define INTERLOCK_INLINE_SLOTS_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

#define ILK__SLOT_COUNT 8
#define ILK__SLOT_ADDRESS_BITS 56
#define ILK__SLOT_USES UINT64_C(0x7FF)
#define ILK__SLOT_FULL UINT64_C(0x400)

/* In a block's drain: the requests, and above them how often they were granted, so that whoever was about to
 * sleep before does not take another's wake request for his own. */
#define ILK__DRAIN_WAKE UINT32_C(1) /* a writer sleeps until a slot is freed */
#define ILK__DRAIN_FENCED                                                                                    \
    UINT32_C(2) /* without membarrier: the owner needs a fence before it looks for requests */
#define ILK__DRAIN_REQUESTS (ILK__DRAIN_WAKE | ILK__DRAIN_FENCED)
#define ILK__DRAIN_ONE_ACKNOWLEDGED UINT32_C(4)

/* What a thread remembers of a lock it writes, to choose the lock's mode by. */
struct ilk__slot_sample {
    uint32_t tag;    /* the lock, cut short: a collision spoils a guess, nothing else */
    uint16_t writes; /* the lock's count of writes then */
    uint16_t mine;   /* the uses of the thread's own slot then, cut short */
    uint32_t uses;   /* the sum of the uses of all its slots then */
    uint32_t ticks;  /* the clock then, coarse */
};

/* 256 bytes, aligned to 128. */
struct ilk__slot_block {
    /* The reader's line: written at every lock and unlock, read by writers. */
    ILK_ATOMIC(uint64_t) slots[ILK__SLOT_COUNT];
    /* The meeting line. */
    ILK_ATOMIC(uint32_t) drain;                  /* writers' requests; where they sleep */
    ILK_ATOMIC(uint32_t) taken;                  /* 1: a thread owns the block */
    ILK_ATOMIC(uint32_t) wraps[ILK__SLOT_COUNT]; /* of the slots' counts of uses; hints to others */
    ILK_ATOMIC(uint32_t) owner_fences;           /* 1: FENCED is up and the owner, if any, has seen it */
    unsigned char pad_meeting[64 - (3 + ILK__SLOT_COUNT) * sizeof(uint32_t)];
    /* The owner's own, as a writer. */
    struct ilk__slot_sample samples[ILK__SLOT_COUNT];
};

/* Stands in for the block of a thread that has none: every slot occupied, so that fast paths turn to
 * their slow ones, which find out. */
extern struct ilk__slot_block ilk__no_slots;

/* The table. Visible so that all copies of the library in a process share one. */
struct ilk__slot_table;
extern struct ilk__slot_table ilk__slot_table;

ILK_END_DECLARATIONS

#include <interlock/inline/my_slots.h>

#endif
