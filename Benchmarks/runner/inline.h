/* SPDX-License-Identifier: Apache-2.0
 *
 * How adapters are compiled into the loops.
 */
#ifndef INTERLOCK_BENCHMARKS_INLINE_H
#define INTERLOCK_BENCHMARKS_INLINE_H

/* On every call of an adapter: it becomes part of the loop, and with it the library's own function that
 * it calls, where the library's header has its body. Left to the compiler, whether that happens depends
 * on how much else the loop holds, and decides more than the algorithms do: a reader–writer lock's
 * reads went from 281 to 483 million a second. What the library's function calls in turn is the
 * compiler's choice, as it is in a user's program. */
#define BENCH_INLINE [[gnu::always_inline, gnu::flatten]] inline

#endif
