/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking and leaving an ilk_rwlock off the fast paths: what the calls (calls.c) are made of.
 */
#ifndef INTERLOCK_RWLOCK_LOCK_H
#define INTERLOCK_RWLOCK_LOCK_H

#include <interlock/inline/rwlock.h>

struct ilk__watch;

/* Takes the lock for reading until `deadline_ns` at most, and says how the reader came in. Misuse is that of `call`.
 * `watch`: of the acquisition, if it is watched; else NULL. */
ilk_status ilk__rwlock_read_until(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns,
                                  const char *call, struct ilk__watch *watch);
/* With WRITE and UPGRADE, waits for the readers in slots too. */
ilk_status ilk__rwlock_take_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                                  const char *call, struct ilk__watch *watch);
/* For READ, READ_FURTHER and WRITE. */
bool ilk__rwlock_try_take(ilk_rwlock *lock, enum ilk__rwlock_kind kind) ILK_NONBLOCKING;

void ilk__rwlock_leave_as(ilk_rwlock *lock, enum ilk__rwlock_kind kind);
void ilk__rwlock_leave_write_for_read(ilk_rwlock *lock);

/* The slow calls of calls.c, made at `site`. */
void ilk__rwlock_lock_at(ilk_rwlock *lock, enum ilk__rwlock_kind kind, const void *site);
ilk_status ilk__read_section_begin_at(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns,
                                      const void *site);

#endif
