/* SPDX-License-Identifier: Apache-2.0
 *
 * How adapters are compiled into the loops.
 */
#ifndef INTERLOCK_BENCHMARKS_INLINE_H
#define INTERLOCK_BENCHMARKS_INLINE_H

/* On every call of an adapter: it becomes part of the loop, with the library's function that it calls, where
 * the header has its body. The compiler's choice would depend on the rest of the loop, and decide more than
 * the algorithms: a reader–writer lock's reads went from 281 to 483 million a second. */
#define BENCH_INLINE [[gnu::always_inline, gnu::flatten]] inline

#endif
