/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader slots: a reader announces its lock in memory of its own thread, so that readers of one lock share no
 * cache line. The process has one table (rwlock/reader_slots.c), with one block a thread. A lock's slot has
 * the same index in every block, so a writer probes one slot a thread.
 *
 * Source: Dice, Kogan, "BRAVO: biased locking for reader-writer locks", USENIX ATC 2019. There readers of all
 * locks announce in one hashed table by compare-and-swap, and a writer that meets the bias ends it and scans the
 * table. Here a block has one owner, so an exchange or a store announces, and the lock stays in its mode.
 *
 * A slot, written by its owner (after fork also by the child), read by writers, has from the high end the lock's
 * address without its eight high bits, and the number of the owner's further reads under that lock, in eleven
 * bits: the lock's alignment frees three. It is 0 while it is free. The eight bits may be a tag that the
 * processor ignores: pointers with unlike tags name one lock (docs/rwlock.md). A reader whose pointer has more
 * than 56 bits never moves its lock to slots: bits that are no tag would be lost.
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
/* The most of them; rwlock/further_reads.c has which reads they are. */
#define ILK__SLOT_FURTHER_READS UINT64_C(0x7FF)
/* Uses with a fence between two visits to the slow path, where the mode is decided; a power of two. */
#define ILK__SLOT_USES_PER_VISIT UINT32_C(1024)

/* A block's `drain`: writers' requests, and above them how often they were acknowledged: a writer about to
 * sleep must not take another's request for its own. */
#define ILK__DRAIN_WAKE UINT32_C(1)   /* a writer sleeps until a slot is freed */
#define ILK__DRAIN_FENCED UINT32_C(2) /* no membarrier: the owner fences before it reads the requests */
#define ILK__DRAIN_REQUESTS (ILK__DRAIN_WAKE | ILK__DRAIN_FENCED)
#define ILK__DRAIN_ONE_ACKNOWLEDGED UINT32_C(4)

/* What a thread remembers of a lock it writes, to choose the mode. */
struct ilk__slot_sample {
    uint32_t tag;    /* the lock, truncated: a collision spoils a guess, no more */
    uint16_t writes; /* the lock's writes */
    uint16_t mine;   /* uses of the thread's own slot, truncated */
    uint32_t uses;   /* uses of all its slots */
    uint32_t ticks;  /* the coarse clock */
};

/* 256 bytes, aligned to 128. */
struct ilk__slot_block {
    /* The readers' cache line: the owner writes it at every lock and unlock, writers read it. */
    ILK_ATOMIC(uint64_t) slots[ILK__SLOT_COUNT];
    /* The cache line of both sides. */
    ILK_ATOMIC(uint32_t) drain;                 /* the word that writers sleep on */
    ILK_ATOMIC(uint32_t) taken;                 /* 1: a thread owns the block */
    ILK_ATOMIC(uint32_t) uses[ILK__SLOT_COUNT]; /* with a fence, wrapping; hints to other threads */
    ILK_ATOMIC(uint32_t) owner_fences;          /* 1: FENCED is up, and the owner, if any, has seen it */
    unsigned char pad_meeting[64 - (3 + ILK__SLOT_COUNT) * sizeof(uint32_t)];
    /* The owner's, as a writer. */
    struct ilk__slot_sample samples[ILK__SLOT_COUNT];
};

/* The block of a thread that has none: every slot is occupied, so that fast paths go slow. */
extern struct ilk__slot_block ilk__no_slots_2;

/* Visible: all copies of the library in a process share one. */
struct ilk__slot_table;
extern struct ilk__slot_table ilk__slot_table_2;

ILK_END_DECLARATIONS

#include <interlock/inline/my_slots.h>

#endif
