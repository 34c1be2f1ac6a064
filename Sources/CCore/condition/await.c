/* SPDX-License-Identifier: Apache-2.0
 *
 * How a thread waits under an ilk_mutex or ilk_rwlock for a predicate. wait/conditions.h draws the protocol.
 */
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/reaches.h"
#include "rwlock/awaited.h"
#include "sync/mutex_awaited.h"
#include <interlock/inline/awaited.h>
#include <stddef.h>

/* How a thread holds a lock. */
struct held {
    void *lock;
    ilk__read_section *section; /* or NULL */
    const struct mode *mode;
};
struct mode {
    struct ilk__conditions (*conditions_of)(const struct held *held);
    void (*release)(const struct held *held);
    void (*acquire)(const struct held *held);
    ilk_object_kind kind;
    bool reads;
};

static struct ilk__conditions of_mutex(const struct held *held) {
    return ilk__mutex_conditions(held->lock);
}
static void release_mutex(const struct held *held) {
    ilk_mutex_unlock(held->lock);
}
static void acquire_mutex(const struct held *held) {
    ilk_mutex_lock(held->lock);
}
static struct ilk__conditions of_rwlock(const struct held *held) {
    return ilk__rwlock_conditions(held->lock);
}
static void release_write(const struct held *held) {
    ilk_rwlock_write_unlock(held->lock);
}
static void acquire_write(const struct held *held) {
    ilk_rwlock_write_lock(held->lock);
}
static void release_read(const struct held *held) {
    ilk_rwlock_read_unlock(held->lock);
}
static void acquire_read(const struct held *held) {
    ilk_rwlock_read_lock(held->lock);
}
static void release_owned(const struct held *held) {
    ilk__owned_write_unlock(held->lock);
}
static void acquire_owned(const struct held *held) {
    ilk__owned_write_lock(held->lock, "ilk__owned_write_await_until");
}
static void release_section(const struct held *held) {
    ilk__read_section_end(held->lock, *held->section);
}
static void acquire_section(const struct held *held) {
    *held->section = ilk__read_section_begin(held->lock);
}

static const struct mode mutex_mode = {of_mutex, release_mutex, acquire_mutex, ILK_OBJECT_MUTEX, false};
static const struct mode write_mode = {of_rwlock, release_write, acquire_write, ILK_OBJECT_RWLOCK, false};
static const struct mode read_mode = {of_rwlock, release_read, acquire_read, ILK_OBJECT_RWLOCK, true};
static const struct mode owned_mode = {of_rwlock, release_owned, acquire_owned, ILK_OBJECT_RWLOCK, false};
static const struct mode section_mode = {of_rwlock, release_section, acquire_section, ILK_OBJECT_RWLOCK,
                                         true};

static ilk_status sleep_watched(struct ilk__condition_waiter *self, const struct held *held,
                                uint64_t deadline_ns, const void *site) {
    struct ilk__idle_watch watch = ILK__IDLE_WATCH_NONE;
    ilk__watch_idle(&watch, held->lock, held->mode->kind, deadline_ns, site);
    const ilk_status status = ilk__waiter_sleep(&self->entry.waiter, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}

static ilk_status await_until(const struct held *held, ilk_predicate predicate, void *context,
                              uint64_t deadline_ns, const void *site) {
    const struct mode *mode = held->mode;
    struct ilk__condition_waiter self = {.predicate = predicate, .context = context, .reads = mode->reads};
    if (ilk__condition_holds(held->lock, &self)) {
        return ILK_OK;
    }
    if (ilk__clock_is_past(deadline_ns)) {
        return ILK_TIMEDOUT;
    }
    const struct ilk__conditions conditions = mode->conditions_of(held);
    ilk__condition_join(conditions, &self);
    bool holds, is_late;
    do {
        mode->release(held);
        ILK__REACHES(CONDITION_SLEEPS, true);
        is_late = sleep_watched(&self, held, deadline_ns, site) == ILK_TIMEDOUT;
        mode->acquire(held);
        holds = ilk__condition_judge_again(conditions, &self);
    } while (!holds && !is_late);
    ilk__condition_leave(conditions, &self);
    return holds ? ILK_OK : ILK_TIMEDOUT;
}

ILK_NOINLINE ilk_status ilk_mutex_await_until(ilk_mutex *mutex, ilk_predicate predicate, void *context,
                                              uint64_t deadline_ns) {
    ilk__mutex_require_owner(mutex, "ilk_mutex_await_until");
    const struct held held = {mutex, NULL, &mutex_mode};
    return await_until(&held, predicate, context, deadline_ns, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_rwlock_write_await_until(ilk_rwlock *lock, ilk_predicate predicate, void *context,
                                                     uint64_t deadline_ns) {
    ilk__rwlock_require_writer(lock, "ilk_rwlock_write_await_until");
    const struct held held = {lock, NULL, &write_mode};
    return await_until(&held, predicate, context, deadline_ns, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_rwlock_read_await_until(ilk_rwlock *lock, ilk_predicate predicate, void *context,
                                                    uint64_t deadline_ns) {
    const struct held held = {lock, NULL, &read_mode};
    return await_until(&held, predicate, context, deadline_ns, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk__owned_write_await_until(ilk__owned_rwlock *owned, ilk_predicate predicate,
                                                     void *context, uint64_t deadline_ns) {
    const struct held held = {&owned->lock, NULL, &owned_mode};
    return await_until(&held, predicate, context, deadline_ns, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk__read_section_await_until(ilk_rwlock *lock, ilk__read_section *section,
                                                      ilk_predicate predicate, void *context,
                                                      uint64_t deadline_ns) {
    const struct held held = {lock, section, &section_mode};
    return await_until(&held, predicate, context, deadline_ns, ILK__CALLER);
}
