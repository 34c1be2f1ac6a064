/* SPDX-License-Identifier: Apache-2.0
 *
 * What the layouts of ilk_spsc and ilk_mpmc share.
 */
#ifndef INTERLOCK_INLINE_RING_H
#define INTERLOCK_INLINE_RING_H

/* Keeps the two sides of a ring apart: two cache lines of x86, which prefetches pairs, and one of Apple's
 * arm64. */
#define ILK__RING_SEPARATION 128

#endif
