/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set: its members, and the one thread that waits. wait/inbox.h draws how it sleeps and is woken,
 * ring/watch.h, sync/latch_watch.h and member.c how each kind of member is watched.
 *
 *   member        moved by                                             to
 *   in the inbox  add; a notifier                                      in hand, by the next that takes the inbox
 *   in hand       the waiting thread, which finds it ready, twice at   in hand, at the end: answered
 *                 most: before and after arming it
 *   in hand       the waiting thread, which finds it not ready         armed
 *   armed         a notifier                                           in the inbox
 *   any           remove                                               gone
 * "In hand" is a list, oldest first, so that each has its turn. Lists and members change under the set's lock; a
 * notifier takes none, and touches a member by its watcher only.
 *
 * Must not happen:
 *   - A member is ready, neither in hand nor in the inbox, and the arm of its object is spent: see wait/inbox.h.
 *   - A member is in hand, and PENDING is down. The waiting thread lowers PENDING, under the set's lock, with nothing
 *     in hand; only it and remove take the inbox.
 *   - A member is freed that is in the inbox or in hand. remove ends the marks, then takes the inbox.
 *   - A permit is taken and neither answered nor given back.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/event_descriptor.h"
#include "platform/reaches.h"
#include "wait/queue_lock.h"
#include "wait/spin.h"
#include "wait_set/member.h"
#include <interlock/inline/notified_set.h>
#include <stdlib.h>

TAILQ_HEAD(members, member);

struct ilk_wait_set {
    struct ilk__inbox inbox;
    ILK_ATOMIC(uint32_t) lock;   /* of the queue lock */
    ILK_ATOMIC(uint32_t) waited; /* 1: a thread is in a wait */
    struct members members;
    struct members in_hand;
    uint32_t failed_spins; /* the waiting thread's; see wait/spin.h */
    bool has_descriptor;
};

static void lock_set(ilk_wait_set *set) {
    uint32_t seen;
    ilk__queue_lock(&set->lock, &seen);
    ilk_plain_write(&set->members, sizeof set->members + sizeof set->in_hand);
}

static void unlock_set(ilk_wait_set *set) {
    uint32_t seen = ILK__QUEUE_LOCKED;
    while (!ilk__queue_unlock(&set->lock, &seen, 0)) {
    }
}

ilk_status ilk_wait_set_create(ilk_wait_set **out) {
    ilk_wait_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return ILK_NOMEM;
    }
    TAILQ_INIT(&set->members);
    TAILQ_INIT(&set->in_hand);
    *out = set;
    return ILK_OK;
}

/* ---- Members ---- */

static void take_in_hand(ilk_wait_set *set, struct member *member) {
    TAILQ_INSERT_TAIL(&set->in_hand, member, in_hand);
    member->is_in_hand = true;
}

static void take_out_of_hand(ilk_wait_set *set, struct member *member) {
    TAILQ_REMOVE(&set->in_hand, member, in_hand);
    member->is_in_hand = false;
}

static void take_inbox(ilk_wait_set *set) {
    struct ilk__watcher *watcher = ilk__inbox_take(&set->inbox);
    while (watcher != NULL) {
        struct ilk__watcher *const following = watcher->next;
        take_in_hand(set, (struct member *)watcher);
        watcher = following;
    }
}

static struct member *find(ilk_wait_set *set, const void *key) {
    struct member *member;
    TAILQ_FOREACH(member, &set->members, in_set) {
        if (member->key == key) {
            return member;
        }
    }
    return NULL;
}

static ilk_status add(ilk_wait_set *set, const struct member_kind *kind, void *object, ilk_ring_event event,
                      void *key) {
    if (event != ILK_READABLE && event != ILK_WRITABLE) {
        return ILK_INVALID;
    }
    struct member *member = calloc(1, sizeof *member);
    if (member == NULL) {
        return ILK_NOMEM;
    }
    *member = (struct member){
        .watcher = {.inbox = &set->inbox}, .kind = kind, .object = object, .key = key, .event = event};
    struct ilk__inbox_wake wake;
    bool wakes = false;
    lock_set(set);
    const bool is_new = find(set, key) == NULL;
    if (is_new) {
        kind->begin(member);
        TAILQ_INSERT_TAIL(&set->members, member, in_set);
        wakes = ilk__watcher_mark(&member->watcher, &wake); /* to be probed and armed */
    }
    unlock_set(set);
    if (wakes) {
        ilk__inbox_wake(&wake);
    }
    if (!is_new) {
        free(member);
    }
    return is_new ? ILK_OK : ILK_INVALID;
}

ilk_status ilk_wait_set_add_spsc(ilk_wait_set *set, ilk_spsc *ring, ilk_ring_event event, void *key) {
    return add(set, &ilk__spsc_member, ring, event, key);
}
ilk_status ilk_wait_set_add_mpmc(ilk_wait_set *set, ilk_mpmc *ring, ilk_ring_event event, void *key) {
    return add(set, &ilk__mpmc_member, ring, event, key);
}
ilk_status ilk_wait_set_add_semaphore(ilk_wait_set *set, ilk_semaphore *semaphore, void *key) {
    return add(set, &ilk__semaphore_member, semaphore, ILK_READABLE, key);
}
ilk_status ilk_wait_set_add_latch(ilk_wait_set *set, ilk_latch *latch, void *key) {
    return add(set, &ilk__latch_member, latch, ILK_READABLE, key);
}

/* Under the set's lock. */
static void take_member_out(ilk_wait_set *set, struct member *member) {
    member->kind->end(member);
    take_inbox(set);
    if (member->is_in_hand) {
        ILK__REACHES(WAIT_SET_REMOVES_MARKED, true);
        take_out_of_hand(set, member);
    }
    TAILQ_REMOVE(&set->members, member, in_set);
}

static void free_member(struct member *member) {
    if (member->is_held) {
        ILK__REACHES(WAIT_SET_GIVES_BACK, true);
        member->kind->give_back(member->object);
    }
    free(member);
}

bool ilk_wait_set_remove(ilk_wait_set *set, void *key) {
    lock_set(set);
    struct member *member = find(set, key);
    if (member != NULL) {
        take_member_out(set, member);
    }
    unlock_set(set);
    if (member != NULL) {
        free_member(member);
    }
    return member != NULL;
}

void ilk_wait_set_destroy(ilk_wait_set *set) {
    if (set == NULL) {
        return;
    }
    if (ilk_atomic_load(&set->waited, memory_order_relaxed) != 0) { /* WS1 */
        ilk__misuse("ilk_wait_set_destroy", set, "destroyed while a thread waits");
    }
    struct member *member;
    while ((member = TAILQ_FIRST(&set->members)) != NULL) {
        lock_set(set);
        take_member_out(set, member);
        unlock_set(set);
        free_member(member);
    }
    ilk__calls_await(&set->inbox.calls, 0);
    if (set->has_descriptor) {
        ilk__event_descriptor_close(set->inbox.descriptor);
    }
    ilk__name_forget(set);
    free(set);
}

/* ---- Waiting ---- */

/* The member is in hand, and not ready: it is armed, and probed once more. */
static bool becomes_ready(ilk_wait_set *set, struct member *member) {
    take_out_of_hand(set, member);
    ilk__watcher_unmark(&member->watcher);
    member->kind->arm(member);
    if (!member->kind->is_ready(member)) {
        return false;
    }
    ILK__REACHES(WAIT_SET_READY_AS_IT_ARMS, true);
    if (ilk__watcher_retake(&member->watcher)) {
        take_in_hand(set, member);
    }
    return true;
}

/* Which of the members that are not ready are armed. Those that have a queue always are: else they would never have
 * their turn beside a member that stays ready. Those that two waits in a row found idle are: else each wait would probe
 * them, however many there are. A busy ring that is empty for once is not: its other side would notify. */
enum arming { ARM_QUEUED, ARM_IDLE, ARM_ALL };

static bool is_to_arm(struct member *member, enum arming arming) {
    const bool was_idle = member->is_idle;
    member->is_idle = member->is_idle || arming == ARM_IDLE;
    return arming == ARM_ALL || member->kind->has_queue || (arming == ARM_IDLE && was_idle);
}

/* Goes once over what is in hand, from the oldest; the keys of those that are ready. */
static size_t answer(ilk_wait_set *set, void **keys, size_t capacity, enum arming arming) {
    take_inbox(set);
    size_t count = 0;
    struct member *const last = TAILQ_LAST(&set->in_hand, members);
    struct member *member, *following = TAILQ_FIRST(&set->in_hand);
    while (count < capacity && (member = following) != NULL) {
        following = member == last ? NULL : TAILQ_NEXT(member, in_hand);
        if (member->kind->is_ready(member)) {
            take_out_of_hand(set, member);
            take_in_hand(set, member); /* at the end */
        } else if (!is_to_arm(member, arming) || !becomes_ready(set, member)) {
            continue;
        }
        member->is_idle = false;
        member->is_held = false;
        keys[count++] = member->key;
    }
    return count;
}

/* Spins as a ring's side does (docs/rings.md): a wake-up would take longer than many an element. */
static size_t spin(ilk_wait_set *set, void **keys, size_t capacity, uint64_t deadline_ns) {
    size_t count = answer(set, keys, capacity, ARM_IDLE);
    const int probes = count > 0 || ilk__clock_is_past(deadline_ns)
                           ? 0
                           : ilk__spin_probes(ILK__SPIN_RING, set->failed_spins);
    for (int probe = 0; probe < probes && !ilk__inbox_is_woken(&set->inbox); probe++) {
        ilk__spin_pause(ILK__SPIN_RING, probe);
        count = answer(set, keys, capacity, ARM_QUEUED);
        if (count > 0) {
            set->failed_spins = ilk__spin_succeeded(set->failed_spins);
            return count;
        }
    }
    set->failed_spins += probes > 0 ? 1 : 0;
    return count;
}

/* `watch` begins as the thread first sleeps. */
static ilk_status wait_for_any(ilk_wait_set *set, void **keys, size_t capacity, size_t *count,
                               uint64_t deadline_ns, struct ilk__idle_watch *watch, const void *site) {
    bool is_late = false;
    lock_set(set);
    *count = spin(set, keys, capacity, deadline_ns);
    for (;;) {
        const bool is_woken = ilk__inbox_take_wake(&set->inbox);
        if (*count > 0 || is_woken) {
            unlock_set(set);
            return ILK_OK;
        }
        *count = answer(set, keys, capacity, ARM_ALL);
        if (*count > 0 || !ilk__inbox_rest(&set->inbox)) {
            continue;
        }
        unlock_set(set);
        if (is_late || ilk__clock_is_past(deadline_ns)) {
            return ILK_TIMEDOUT;
        }
        ilk__watch_idle(watch, set, ILK_OBJECT_WAIT_SET, deadline_ns, site);
        is_late = ilk__inbox_sleep(&set->inbox, deadline_ns) == ILK_TIMEDOUT;
        lock_set(set);
    }
}

ILK_NOINLINE ilk_status ilk_wait_set_wait_until(ilk_wait_set *set, void **keys, size_t capacity,
                                                size_t *count, uint64_t deadline_ns) {
    if (capacity == 0) {
        return ILK_INVALID;
    }
    /* WS1 relaxed: the program orders one wait after another; else it is misuse. */
    if (ilk_atomic_exchange(&set->waited, 1, memory_order_relaxed) != 0) {
        ilk__misuse("ilk_wait_set_wait_until", set, "another thread waits on the set");
    }
    struct ilk__idle_watch watch = ILK__IDLE_WATCH_NONE;
    const ilk_status status = wait_for_any(set, keys, capacity, count, deadline_ns, &watch, ILK__CALLER);
    ilk__watch_idle_end(&watch);
    ilk_atomic_store(&set->waited, 0, memory_order_relaxed); /* WS1 */
    return status;
}

void ilk_wait_set_wake(ilk_wait_set *set) ILK_NONBLOCKING {
    ilk__inbox_wake_owner(&set->inbox);
}

/* ---- Beside a thread ---- */

ilk_status ilk_wait_set_descriptor(ilk_wait_set *set, int *out) {
    if (!ilk__event_descriptor_exists()) {
        return ILK_INVALID;
    }
    lock_set(set);
    if (!set->has_descriptor) {
        const int made = ilk__event_descriptor_open();
        if (made >= 0) {
            ilk_plain_write(&set->inbox.descriptor, sizeof set->inbox.descriptor);
            set->inbox.descriptor = made;
            set->has_descriptor = true;
            ilk__inbox_extend(&set->inbox, ILK__INBOX_DESCRIPTOR);
        }
    }
    const bool has_one = set->has_descriptor;
    unlock_set(set);
    if (!has_one) {
        return ILK_NOMEM;
    }
    *out = set->inbox.descriptor;
    return ILK_OK;
}

void ilk__wait_set_notify(ilk_wait_set *set, void (*function)(void *context), void *context) {
    set->inbox.notify = function;
    set->inbox.context = context;
    ilk__inbox_extend(&set->inbox, ILK__INBOX_NOTIFIES);
}
