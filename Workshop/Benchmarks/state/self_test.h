/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the judgement, the states of tables and the wait, on given figures.
 */
#ifndef INTERLOCK_BENCHMARKS_STATE_SELF_TEST_H
#define INTERLOCK_BENCHMARKS_STATE_SELF_TEST_H

namespace bench {

/* Prints "ok CLAIM" or "FAILED CLAIM" for each check, then the totals; 0 if all passed. */
int self_test();

} // namespace bench

#endif
