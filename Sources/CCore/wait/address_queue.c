/* SPDX-License-Identifier: Apache-2.0
 *
 * See address_queue.h.
 */
#include "wait/address_queue.h"

#include "wait/queue_lock.h"
#include <pthread.h>
#include <stddef.h>

LIST_HEAD(address_queues, ilk__address_queue);

/* All zero bits are an empty bucket. Each has a cache line of its own. */
struct ilk__address_bucket {
    ILK_ATOMIC(uint32_t) word;
    struct address_queues queues;
    uint64_t last_number;
} __attribute__((aligned(64)));

enum { BUCKET_BITS = 6, BUCKET_COUNT = 1 << BUCKET_BITS };

static struct ilk__address_bucket buckets[BUCKET_COUNT];

static void buckets_after_fork_in_child(void) {
    for (size_t index = 0; index < BUCKET_COUNT; index++) {
        /* AQ1 relaxed: the child has one thread. */
        ilk_atomic_store(&buckets[index].word, 0, memory_order_relaxed);
        LIST_INIT(&buckets[index].queues);
    }
}

__attribute__((constructor)) static void buckets_watch_fork(void) {
    (void)pthread_atfork(NULL, NULL, buckets_after_fork_in_child);
}

struct ilk__address_bucket *ilk__address_lock(const void *address) {
    /* The top bits of a product spread neighbours apart. */
    const uint64_t product = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    struct ilk__address_bucket *bucket = &buckets[product >> (64 - BUCKET_BITS)];
    uint32_t seen;
    ilk__queue_lock(&bucket->word, &seen);
    ilk_plain_write(&bucket->queues, sizeof bucket->queues);
    return bucket;
}

void ilk__address_unlock(struct ilk__address_bucket *bucket) {
    uint32_t seen = ILK__QUEUE_LOCKED;
    while (!ilk__queue_unlock(&bucket->word, &seen, 0)) {
    }
}

uint64_t ilk__address_next_number(struct ilk__address_bucket *bucket) {
    return ++bucket->last_number;
}

struct ilk__address_queue *ilk__address_find(struct ilk__address_bucket *bucket, const void *address) {
    struct ilk__address_queue *queue;
    LIST_FOREACH(queue, &bucket->queues, link) {
        if (queue->address == address) {
            return queue;
        }
    }
    return NULL;
}

struct ilk__address_queue *ilk__address_enqueue(struct ilk__address_bucket *bucket, const void *address,
                                                struct ilk__address_waiter *waiter) {
    struct ilk__address_queue *queue = ilk__address_find(bucket, address);
    if (queue == NULL) {
        queue = &waiter->queue;
        queue->address = address;
        queue->marks = NULL;
        queue->woken = queue->woken_signalled = 0;
        TAILQ_INIT(&queue->waiters);
        LIST_INSERT_HEAD(&bucket->queues, queue, link);
    }
    waiter->waiter.queued = true;
    TAILQ_INSERT_TAIL(&queue->waiters, &waiter->waiter, link);
    return queue;
}

bool ilk__address_dequeue(struct ilk__address_bucket *bucket, const void *address,
                          struct ilk__address_waiter *waiter) {
    struct ilk__address_queue *queue = ilk__address_find(bucket, address);
    waiter->waiter.queued = false;
    if (queue == NULL) {
        return true;
    }
    TAILQ_REMOVE(&queue->waiters, &waiter->waiter, link);
    struct ilk__address_waiter *host = (struct ilk__address_waiter *)TAILQ_FIRST(&queue->waiters);
    if (host != NULL && queue != &waiter->queue) {
        return false;
    }
    LIST_REMOVE(queue, link);
    if (host == NULL) {
        return true;
    }
    host->queue.address = address;
    host->queue.marks = queue->marks;
    host->queue.woken = queue->woken;
    host->queue.woken_signalled = queue->woken_signalled;
    TAILQ_INIT(&host->queue.waiters);
    TAILQ_CONCAT(&host->queue.waiters, &queue->waiters, link);
    LIST_INSERT_HEAD(&bucket->queues, &host->queue, link);
    return false;
}
