/* SPDX-License-Identifier: Apache-2.0
 *
 * See watchers.h.
 */
#include "wait/watchers.h"

#include <stddef.h>

void ilk__watchers_join(const void *address, struct ilk__watcher *watcher) {
    struct ilk__address_bucket *bucket = ilk__address_lock(address);
    (void)ilk__address_enqueue(bucket, address, &watcher->entry);
    ilk__address_unlock(bucket);
}

void ilk__watchers_leave(const void *address, struct ilk__watcher *watcher) {
    struct ilk__address_bucket *bucket = ilk__address_lock(address);
    (void)ilk__address_dequeue(bucket, address, &watcher->entry);
    ilk__address_unlock(bucket);
}

/* A notifier remembers so many inboxes that it owes a wake-up. With more it goes round. A watcher is met once: one that
 * its owner has armed again since needs another notification. */
#ifndef ILK__MOST_WAKES /* the explorer's is one */
#define ILK__MOST_WAKES 8
#endif
enum { MOST_WAKES = ILK__MOST_WAKES };

/* Marks watchers that the notification has not met until `wakes` is full: how many wake-ups are owed. `*number` is the
 * notification's, 0 before it has one. */
static size_t mark_all(const void *address, struct ilk__inbox_wake *wakes, uint64_t *number) {
    size_t count = 0;
    struct ilk__address_bucket *bucket = ilk__address_lock(address);
    if (*number == 0) {
        *number = ilk__address_next_number(bucket);
    }
    /* NULL: all have left; or a child of fork, which has none of them. */
    const struct ilk__address_queue *queue = ilk__address_find(bucket, address);
    if (queue != NULL) {
        struct ilk__waiter *each;
        TAILQ_FOREACH(each, &queue->waiters, link) {
            struct ilk__watcher *watcher = (struct ilk__watcher *)each;
            if (watcher->notified >= *number) {
                continue; /* by this notification, or one that began later */
            }
            watcher->notified = *number;
            if (ilk__watcher_mark(watcher, &wakes[count]) && ++count == MOST_WAKES) {
                break;
            }
        }
    }
    ilk__address_unlock(bucket);
    return count;
}

ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk__watchers_notify(const void *address) ILK_NONBLOCKING {
    struct ilk__inbox_wake wakes[MOST_WAKES];
    uint64_t number = 0;
    size_t count;
    do {
        count = mark_all(address, wakes, &number);
        for (size_t i = 0; i < count; i++) {
            ilk__inbox_wake(&wakes[i]);
        }
    } while (count == MOST_WAKES);
}
ILK_TRUSTED_NONBLOCKING_END
