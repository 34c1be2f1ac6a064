/* SPDX-License-Identifier: Apache-2.0
 *
 * See inbox.h.
 */
#include "wait/inbox.h"

#include "platform/event_descriptor.h"
#include "platform/reaches.h"
#include <stddef.h>

/* ---- Notifying ---- */

/* The call is counted. Raises `flags` with PENDING: whether a wake-up is owed; if not the call has ended. */
static bool raise_pending(struct ilk__inbox *inbox, uint32_t flags, struct ilk__inbox_wake *wake) {
    /* IB2 acq_rel, pairs with IB3 and IB12.
     * Carries: the watcher pushed, what the waker did, and that this call is counted; acquires the descriptor.
     * If weaker: the owner finds the inbox empty and sleeps, or frees it under this call. */
    const uint32_t before =
        ilk_atomic_fetch_or(&inbox->state, ILK__INBOX_PENDING | flags, memory_order_acq_rel);
    if ((before & ILK__INBOX_PENDING) != 0) {
        ILK__REACHES(INBOX_PENDS, true);
        ilk__calls_end(&inbox->calls);
        return false;
    }
    *wake = (struct ilk__inbox_wake){inbox, before};
    return true;
}

bool ilk__watcher_mark(struct ilk__watcher *watcher, struct ilk__inbox_wake *wake) ILK_NONBLOCKING {
    /* IB1 acquire, pairs with IB6.
     * Carries: the owner has followed the watcher's link.
     * If weaker: we write that link while the owner reads it. */
    if (ilk_atomic_exchange(&watcher->marked, 1, memory_order_acquire) != 0) {
        return false;
    }
    struct ilk__inbox *inbox = watcher->inbox;
    ilk__calls_begin(&inbox->calls);
    struct ilk__watcher *latest = ilk_atomic_load(&inbox->latest, memory_order_relaxed); /* IB8 */
    do {
        ilk_plain_write(&watcher->next, sizeof watcher->next);
        watcher->next = latest;
        /* IB4 release, pairs with IB5: the watcher's link, and what it is notified of. */
    } while (!ilk_atomic_compare_exchange_weak(&inbox->latest, &latest, watcher, memory_order_release,
                                               memory_order_relaxed));
    return raise_pending(inbox, 0, wake);
}

ILK_TRUSTED_NONBLOCKING_BEGIN
static void reach_owner(struct ilk__inbox *inbox, uint32_t state) ILK_NONBLOCKING {
    if ((state & ILK__INBOX_SLEEPS) != 0) {
        ILK__REACHES(INBOX_WAKES, true);
        ilk_park_wake(&inbox->state, 1);
    }
    if ((state & ILK__INBOX_DESCRIPTOR) != 0) {
        ilk_plain_read(&inbox->descriptor, sizeof inbox->descriptor);
        ilk__event_descriptor_raise(inbox->descriptor);
    }
    if ((state & ILK__INBOX_NOTIFIES) != 0) {
        inbox->notify(inbox->context);
    }
}
ILK_TRUSTED_NONBLOCKING_END

void ilk__inbox_wake(const struct ilk__inbox_wake *wake) ILK_NONBLOCKING {
    reach_owner(wake->inbox, wake->state);
    ilk__calls_end(&wake->inbox->calls);
}

void ilk__inbox_wake_owner(struct ilk__inbox *inbox) ILK_NONBLOCKING {
    struct ilk__inbox_wake wake;
    ilk__calls_begin(&inbox->calls);
    if (raise_pending(inbox, ILK__INBOX_WOKEN, &wake)) {
        ilk__inbox_wake(&wake);
    }
}

/* ---- The owner ---- */

struct ilk__watcher *ilk__inbox_take(struct ilk__inbox *inbox) {
    /* IB8 relaxed: a basis for IB4; or a hint, behind IB3. */
    if (ilk_atomic_load(&inbox->latest, memory_order_relaxed) == NULL) {
        return NULL;
    }
    /* IB5 acquire, pairs with IB4.
     * Carries: the links of all watchers in the inbox.
     * If weaker: we follow a link that is not written yet. */
    struct ilk__watcher *latest = ilk_atomic_exchange(&inbox->latest, NULL, memory_order_acquire);
    struct ilk__watcher *oldest = NULL;
    while (latest != NULL) {
        ilk_plain_write(&latest->next, sizeof latest->next);
        struct ilk__watcher *following = latest->next;
        latest->next = oldest;
        oldest = latest;
        latest = following;
    }
    return oldest;
}

void ilk__watcher_unmark(struct ilk__watcher *watcher) {
    /* IB6 release, pairs with IB1: the owner is done with the watcher's link. */
    ilk_atomic_store(&watcher->marked, 0, memory_order_release);
}

bool ilk__watcher_retake(struct ilk__watcher *watcher) {
    /* IB9 relaxed: decides between owner and notifier. IB5 carries what the notifier did. */
    return ilk_atomic_exchange(&watcher->marked, 1, memory_order_relaxed) == 0;
}

/* By the owner, whom none need wake. */
static void raise_again(struct ilk__inbox *inbox) {
    /* IB10 relaxed: carries nothing of the owner's; IB3 has read what notifiers carry. */
    const uint32_t before = ilk_atomic_fetch_or(&inbox->state, ILK__INBOX_PENDING, memory_order_relaxed);
    if ((before & (ILK__INBOX_PENDING | ILK__INBOX_DESCRIPTOR)) == ILK__INBOX_DESCRIPTOR) {
        ilk__event_descriptor_raise(inbox->descriptor);
    }
}

bool ilk__inbox_rest(struct ilk__inbox *inbox) {
    /* IB11 relaxed: the owner's lock orders the descriptor; a wake is taken by IB3. */
    if ((ilk_atomic_load(&inbox->state, memory_order_relaxed) & ILK__INBOX_DESCRIPTOR) != 0) {
        ilk__event_descriptor_lower(inbox->descriptor);
    }
    /* IB3 acquire, pairs with IB2: what a notifier did that found PENDING up. */
    const uint32_t before = ilk_atomic_fetch_and(&inbox->state, ~ILK__INBOX_PENDING, memory_order_acquire);
    const bool has_come = ilk_atomic_load(&inbox->latest, memory_order_relaxed) != NULL; /* IB8 */
    if (!has_come && (before & ILK__INBOX_WOKEN) == 0) {
        return true;
    }
    ILK__REACHES(INBOX_COMES_AS_IT_RESTS, has_come);
    raise_again(inbox);
    return false;
}

bool ilk__inbox_is_woken(const struct ilk__inbox *inbox) {
    return (ilk_atomic_load(&inbox->state, memory_order_relaxed) & ILK__INBOX_WOKEN) != 0; /* IB11 */
}

bool ilk__inbox_take_wake(struct ilk__inbox *inbox) {
    if (!ilk__inbox_is_woken(inbox)) {
        return false;
    }
    ilk_atomic_fetch_and(&inbox->state, ~ILK__INBOX_WOKEN, memory_order_acquire); /* IB3 */
    return true;
}

ilk_status ilk__inbox_sleep(struct ilk__inbox *inbox, uint64_t deadline_ns) {
    /* IB7 relaxed: announces the sleep to IB2, which changes the same word; IB3 reads what that carries. */
    const uint32_t before = ilk_atomic_fetch_or(&inbox->state, ILK__INBOX_SLEEPS, memory_order_relaxed);
    ilk_status status = ILK_OK;
    if ((before & ILK__INBOX_PENDING) == 0) {
        ILK__REACHES(INBOX_SLEEPS, true);
        status = ilk_park_wait(&inbox->state, before | ILK__INBOX_SLEEPS, deadline_ns);
    }
    ilk_atomic_fetch_and(&inbox->state, ~ILK__INBOX_SLEEPS, memory_order_relaxed); /* IB7 */
    return status;
}

void ilk__inbox_extend(struct ilk__inbox *inbox, uint32_t flag) {
    /* IB12 release, pairs with IB2: the descriptor, or the function and its context. */
    const uint32_t before = ilk_atomic_fetch_or(&inbox->state, flag, memory_order_release);
    if ((before & ILK__INBOX_PENDING) != 0) {
        reach_owner(inbox, flag);
    }
}
