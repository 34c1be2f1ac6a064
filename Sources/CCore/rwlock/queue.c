/* SPDX-License-Identifier: Apache-2.0
 *
 * The fairness rule of ilk_rwlock. See queue.h.
 */
#include "rwlock/queue.h"

#include "rwlock/report.h"
#include <stddef.h>

static void move_list(struct ilk__rwlock_list *from, struct ilk__rwlock_list *to) {
    TAILQ_INIT(to);
    TAILQ_CONCAT(to, from, link);
}

/* A waiter in whose node the queue can live. */
static struct ilk__rwlock_waiter *some_waiter(const struct ilk__rwlock_queue *queue) {
    struct ilk__waiter *waiter = queue->upgrade;
    if (waiter == NULL) {
        waiter = TAILQ_FIRST(&queue->exclusives);
    }
    if (waiter == NULL) {
        waiter = TAILQ_FIRST(&queue->readers);
    }
    return (struct ilk__rwlock_waiter *)waiter;
}

/* The queue must not stay on the stack of a thread no longer queued. */
static void migrate(ilk_rwlock *lock) {
    struct ilk__rwlock_queue *old = lock->queue;
    struct ilk__rwlock_waiter *host = some_waiter(old);
    if (host == NULL) {
        lock->queue = NULL;
        return;
    }
    if (&host->queue == old) {
        return;
    }
    host->queue.upgrade = old->upgrade;
    host->queue.reader_count = old->reader_count;
    host->queue.writer_count = old->writer_count;
    move_list(&old->readers, &host->queue.readers);
    move_list(&old->exclusives, &host->queue.exclusives);
    lock->queue = &host->queue;
}

void ilk__rwlock_enqueue(ilk_rwlock *lock, struct ilk__rwlock_waiter *waiter) {
    ilk_plain_write(&lock->queue, sizeof lock->queue);
    if (lock->queue == NULL) {
        TAILQ_INIT(&waiter->queue.readers);
        TAILQ_INIT(&waiter->queue.exclusives);
        waiter->queue.upgrade = NULL;
        waiter->queue.reader_count = 0;
        waiter->queue.writer_count = 0;
        lock->queue = &waiter->queue;
    }
    struct ilk__rwlock_queue *queue = lock->queue;
    waiter->waiter.queued = true;
    switch ((enum ilk__rwlock_kind)waiter->waiter.kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
        TAILQ_INSERT_TAIL(&queue->readers, &waiter->waiter, link);
        queue->reader_count++;
        break;
    case ILK__WRITE:
        queue->writer_count++;
        TAILQ_INSERT_TAIL(&queue->exclusives, &waiter->waiter, link);
        break;
    case ILK__UPGRADABLE:
        TAILQ_INSERT_TAIL(&queue->exclusives, &waiter->waiter, link);
        break;
    case ILK__UPGRADE:
        queue->upgrade = &waiter->waiter;
        break;
    }
}

static void unlink_waiter(struct ilk__rwlock_queue *queue, struct ilk__waiter *waiter) {
    waiter->queued = false;
    switch ((enum ilk__rwlock_kind)waiter->kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
        TAILQ_REMOVE(&queue->readers, waiter, link);
        queue->reader_count--;
        break;
    case ILK__WRITE:
        queue->writer_count--;
        TAILQ_REMOVE(&queue->exclusives, waiter, link);
        break;
    case ILK__UPGRADABLE:
        TAILQ_REMOVE(&queue->exclusives, waiter, link);
        break;
    case ILK__UPGRADE:
        queue->upgrade = NULL;
        break;
    }
}

void ilk__rwlock_dequeue(ilk_rwlock *lock, struct ilk__waiter *waiter) {
    ilk_plain_write(&lock->queue, sizeof lock->queue);
    unlink_waiter(lock->queue, waiter);
    migrate(lock);
}

struct ilk__rwlock_plan ilk__rwlock_plan(const ilk_rwlock *lock, uint32_t word, bool readers_first) {
    const uint32_t queue_state = ILK__RWLOCK_QUEUE_LOCKED | ILK__RWLOCK_QUEUE_CONTENDED |
                                 ILK__RWLOCK_HAS_WAITERS | ILK__RWLOCK_READERS_HELD;
    struct ilk__rwlock_plan plan = {.next = word & ~queue_state};
    ilk_plain_read(&lock->queue, sizeof lock->queue);
    const struct ilk__rwlock_queue *queue = lock->queue;
    if (queue == NULL) {
        return plan;
    }
    bool has_writer = (word & ILK__RWLOCK_WRITER) != 0;
    bool has_upgradable = (word & ILK__RWLOCK_UPGRADABLE) != 0;
    bool has_readers = (word & ILK__RWLOCK_READERS) != 0;
    const struct ilk__waiter *first = TAILQ_FIRST(&queue->exclusives);
    bool writer_is_first = first != NULL && first->kind == ILK__WRITE;
    bool readers_wait = queue->reader_count > 0;

    if (queue->upgrade != NULL) {
        /* First: its thread is inside already. */
        plan.upgrade = !has_readers;
    } else if (!has_writer) {
        bool free_for_writer = !has_upgradable && !has_readers;
        /* A queued writer holds readers back until a write has ended. */
        plan.all_readers = readers_wait && (readers_first || queue->writer_count == 0);
        if (writer_is_first) {
            plan.first_exclusive = free_for_writer && !plan.all_readers;
        } else {
            plan.first_exclusive = first != NULL && !has_upgradable;
        }
    }

    uint32_t writers_left = queue->writer_count;
    bool exclusives_left = first != NULL;
    if (plan.upgrade) {
        plan.next = (plan.next & ~ILK__RWLOCK_UPGRADABLE) | ILK__RWLOCK_WRITER;
    }
    if (plan.all_readers) {
        if (queue->reader_count > (~word & ILK__RWLOCK_READERS) / ILK__RWLOCK_ONE_READER) {
            ilk__rwlock_misuse("ilk_rwlock_read_lock", lock, word, "more readers than the lock can count");
        }
        plan.next += queue->reader_count * ILK__RWLOCK_ONE_READER;
    }
    if (plan.first_exclusive) {
        plan.next |= writer_is_first ? ILK__RWLOCK_WRITER : ILK__RWLOCK_UPGRADABLE;
        writers_left -= writer_is_first ? 1 : 0;
        exclusives_left = TAILQ_NEXT(first, link) != NULL;
    }
    bool upgrade_left = queue->upgrade != NULL && !plan.upgrade;
    bool readers_left = readers_wait && !plan.all_readers;
    if (upgrade_left || readers_left || exclusives_left) {
        plan.next |= ILK__RWLOCK_HAS_WAITERS;
    }
    if (upgrade_left || writers_left > 0) {
        plan.next |= ILK__RWLOCK_READERS_HELD;
    }
    return plan;
}

void ilk__rwlock_take_out(ilk_rwlock *lock, const struct ilk__rwlock_plan *plan,
                          struct ilk__rwlock_list *admitted) {
    struct ilk__rwlock_queue *queue = lock->queue;
    if (queue == NULL) {
        return;
    }
    ilk_plain_write(&lock->queue, sizeof lock->queue);
    if (plan->upgrade) {
        struct ilk__waiter *waiter = queue->upgrade;
        unlink_waiter(queue, waiter);
        TAILQ_INSERT_TAIL(admitted, waiter, link);
    }
    if (plan->first_exclusive) {
        struct ilk__waiter *waiter = TAILQ_FIRST(&queue->exclusives);
        unlink_waiter(queue, waiter);
        TAILQ_INSERT_TAIL(admitted, waiter, link);
    }
    if (plan->all_readers) {
        struct ilk__waiter *waiter;
        TAILQ_FOREACH(waiter, &queue->readers, link) {
            waiter->queued = false;
        }
        queue->reader_count = 0;
        TAILQ_CONCAT(admitted, &queue->readers, link);
    }
    migrate(lock);
}
