/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_rwlock, each with the state of the lock.
 */
#ifndef INTERLOCK_RWLOCK_REPORT_H
#define INTERLOCK_RWLOCK_REPORT_H

#include <interlock/rwlock.h>

/* `what`, and the state that `word` stands for. */
ILK_COLD ILK_NORETURN void ilk__rwlock_misuse(const char *call, const ilk_rwlock *lock, uint32_t word,
                                              const char *what);

/* No thread holds a share that the bits of `held` name. */
ILK_COLD ILK_NORETURN void ilk__rwlock_no_holder(const char *call, const ilk_rwlock *lock, uint32_t word,
                                                 uint32_t held);

#endif
