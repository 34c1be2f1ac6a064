/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of waiting under a lock.
 */
#include "support/misuse.h"
#include <interlock/condition.h>
#include <string.h>

static ilk_mutex mutex;
static ilk_rwlock lock;
static bool judged;

static bool locks_the_mutex(void *unused) {
    ilk_mutex_lock(&mutex);
    return true;
}
static bool unlocks_the_mutex_when_judged(void *unused) {
    if (judged) {
        ilk_mutex_unlock(&mutex);
    }
    return false;
}
static bool reads_under_the_lock_when_judged(void *unused) {
    if (judged) {
        ilk_rwlock_read_lock(&lock);
    }
    return false;
}
static bool writes_under_the_lock(void *unused) {
    ilk_rwlock_write_lock(&lock);
    return true;
}
static bool never(void *unused) {
    return false;
}
/* Another lock's predicate is judged within this one's. */
static bool writes_after_another_predicate(void *unused) {
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, never, NULL, 0);
    ilk_mutex_unlock(&mutex);
    return writes_under_the_lock(unused);
}

static void predicate_locks(void *context) {
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, locks_the_mutex, NULL, ILK_FOREVER);
}
static void await_mutex(void *predicate) {
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_await_until(&mutex, *(ilk_predicate *)predicate, NULL, ILK_FOREVER);
}
static void predicate_unlocks(void *context) {
    static ilk_predicate predicate = unlocks_the_mutex_when_judged;
    ilk_mutex_init(&mutex, false);
    misuse_beside(await_mutex, &predicate);
    ilk_mutex_lock(&mutex);
    judged = true;
    ilk_mutex_unlock(&mutex);
}
static void await_rwlock(void *predicate) {
    ilk_rwlock_read_lock(&lock);
    (void)!ilk_rwlock_read_await_until(&lock, *(ilk_predicate *)predicate, NULL, ILK_FOREVER);
}
static void predicate_reads(void *context) {
    static ilk_predicate predicate = reads_under_the_lock_when_judged;
    ilk_rwlock_init(&lock);
    misuse_beside(await_rwlock, &predicate);
    ilk_rwlock_write_lock(&lock);
    judged = true;
    ilk_rwlock_write_unlock(&lock);
}
static void predicate_writes(void *context) {
    ilk_rwlock_init(&lock);
    ilk_rwlock_write_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, writes_under_the_lock, NULL, ILK_FOREVER);
}
static void predicate_writes_after_another(void *context) {
    ilk_rwlock_init(&lock);
    ilk_rwlock_write_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, writes_after_another_predicate, NULL, ILK_FOREVER);
}
static void await_without_the_mutex(void *context) {
    ilk_mutex_init(&mutex, false);
    (void)!ilk_mutex_await_until(&mutex, never, NULL, ILK_FOREVER);
}
static void await_without_the_lock(void *context) {
    ilk_rwlock_init(&lock);
    ilk_rwlock_read_lock(&lock);
    (void)!ilk_rwlock_write_await_until(&lock, never, NULL, ILK_FOREVER);
}
static void wait_without_the_mutex(void *context) {
    static ilk_condition condition;
    ilk_mutex_init(&mutex, true);
    (void)!ilk_condition_wait_until(&condition, &mutex, ILK_FOREVER);
}
static void destroy_awaited(void *context) {
    static ilk_predicate predicate = never;
    ilk_rwlock_init(&lock);
    misuse_beside(await_rwlock, &predicate);
    ilk_rwlock_destroy(&lock);
}

static const struct misuse table[] = {
    {predicate_locks, "ilk_mutex_lock", "locked again by its owner"},
    {predicate_unlocks, "ilk_mutex_unlock", "called by the predicate of a thread that waits under this lock"},
    {predicate_reads, "ilk_rwlock_read_lock",
     "called by the predicate of a thread that waits under this lock"},
    {predicate_writes, "ilk_rwlock_write_lock",
     "called by the predicate of a thread that waits under this lock"},
    {predicate_writes_after_another, "ilk_rwlock_write_lock",
     "called by the predicate of a thread that waits under this lock"},
    {await_without_the_mutex, "ilk_mutex_await_until", "does not own it"},
    {await_without_the_lock, "ilk_rwlock_write_await_until", "no writer holds the lock"},
    {wait_without_the_mutex, "ilk_mutex_unlock", "does not own it"},
    {destroy_awaited, "ilk_rwlock_destroy", "a thread waits under it for a condition"},
};
/* contract: condition.h */
TEST(misuse_is_reported_by_name) {
    EXPECT_ALL(table);
}
