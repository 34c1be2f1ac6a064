/* SPDX-License-Identifier: Apache-2.0
 *
 * What the layouts of ilk_spsc and ilk_mpmc share.
 */
#ifndef INTERLOCK_INLINE_RING_H
#define INTERLOCK_INLINE_RING_H

/* The distance that keeps the two sides of a ring from sharing cache lines: two lines, because x86 prefetches lines
 * in pairs, and Apple's arm64 has lines of 128 bytes. */
#define ILK__RING_SEPARATION 128

#endif
