/* SPDX-License-Identifier: Apache-2.0
 *
 * The guarantees of <interlock/rwlock.h> beyond exclusion: the order of service (A), readers held back (B),
 * no trace of a time-out (D), freeing by the last owner (E), and try calls on a free lock (G). The scenarios
 * read the lock's queue, whose waiters lie on their threads' stacks.
 */
/* contract: rwlock.A, rwlock.B, rwlock.C, rwlock.E, rwlock.G */
#include "../explorer.h"
#include <interlock/rwlock.h>
#include <rwlock/queue.h>

static struct {
    ilk_rwlock lock;
    ilk_rwlock *heap;
    uint32_t writes;
    bool readers_are_next;   /* at the hand-over, readers and a writer were in the queue */
    uint32_t handed_over_at; /* writes done then */
    unsigned first_in_queue; /* the thread that waits before the other; 0: not known */
    bool first_was_in;
} s;

static void setup(void) {
    ilk_rwlock_init(&s.lock);
    s.writes = 0;
    s.readers_are_next = false;
    s.first_in_queue = 0;
    s.first_was_in = false;
}

static void check(void) {
    ex_expect(ilk__rwlock_is_idle(s.lock.word), "the lock's word is 0x%x after every thread has left",
              s.lock.word);
    ilk_rwlock_destroy(&s.lock);
}

static void record_write(void) {
    ilk_plain_write(&s.writes, sizeof s.writes);
    s.writes++;
}

/* ---- A: order of service ---- */

/* Until both others sleep in the queue, or have ended. */
static void await_both(void) {
    while (!ex_is_waiting(2) || !ex_is_waiting(3)) {
        ilk_cpu_relax();
    }
}

/*   holder                reader          writer
 *   write_lock
 *                         waits           waits
 *   write_unlock -------> is let in; not before it: the writer                                      */
static void hand_over(void) {
    ilk_rwlock_write_lock(&s.lock);
    record_write();
    await_both();
    const struct ilk__rwlock_queue *queue = s.lock.queue;
    if (queue != NULL && queue->reader_count > 0 && queue->writer_count > 0) {
        s.readers_are_next = true;
        s.handed_over_at = s.writes;
        ex_note("a reader and a writer are in the queue");
    }
    ilk_rwlock_write_unlock(&s.lock);
}

static void read(void) {
    ilk_rwlock_read_lock(&s.lock);
    ilk_plain_read(&s.writes, sizeof s.writes);
    ex_expect(!s.readers_are_next || s.writes == s.handed_over_at,
              "a writer was let in before the reader that waited through a write");
    ilk_rwlock_read_unlock(&s.lock);
}

static void write(void) {
    ilk_rwlock_write_lock(&s.lock);
    record_write();
    ilk_rwlock_write_unlock(&s.lock);
}

EX_SCENARIO(phase_fair){
    .name = "rwlock-fair-waiting-reader-before-next-writer",
    .claim = "a reader that waits is let in after at most one write",
    .setup = setup,
    .threads = {hand_over, read, write},
    .titles = {"holder", "reader", "writer"},
    .check = check,
};

/* The same; a thread that has just locked the queue gets the hand-over. */
static void be_upgradable(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    ilk_plain_read(&s.writes, sizeof s.writes);
    ilk_rwlock_upgradable_unlock(&s.lock);
}
EX_SCENARIO(phase_fair_beside_a_third){
    .name = "rwlock-fair-while-another-has-the-queue",
    .claim = "a reader that waits is let in after at most one write",
    .setup = setup,
    .threads = {hand_over, read, write, be_upgradable},
    .titles = {"holder", "reader", "writer", "has the queue"},
    .check = check,
};

static void hand_over_in_order(void) {
    ilk_rwlock_write_lock(&s.lock);
    await_both();
    const struct ilk__rwlock_queue *queue = s.lock.queue;
    if (queue != NULL && TAILQ_FIRST(&queue->exclusives) != NULL &&
        TAILQ_NEXT(TAILQ_FIRST(&queue->exclusives), link) != NULL) {
        s.first_in_queue = ex_stack_owner(TAILQ_FIRST(&queue->exclusives));
        ex_note("thread %u is first in the queue", s.first_in_queue);
    }
    ilk_rwlock_write_unlock(&s.lock);
}

static void come_in(void) {
    if (s.first_in_queue == ex_thread_index()) {
        s.first_was_in = true;
    }
    ex_expect(s.first_in_queue == 0 || s.first_was_in, "the second in the queue was let in before the first");
}

static void write_in_order(void) {
    ilk_rwlock_write_lock(&s.lock);
    come_in();
    ilk_rwlock_write_unlock(&s.lock);
}

static void upgradable_in_order(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    come_in();
    ilk_rwlock_upgradable_unlock(&s.lock);
}

EX_SCENARIO(writers_in_order){
    .name = "rwlock-fair-writers-in-queue",
    .claim = "writers are served first come, first served",
    .setup = setup,
    .threads = {hand_over_in_order, write_in_order, write_in_order},
    .titles = {"holder", "writer 1", "writer 2"},
    .check = check,
};

EX_SCENARIO(exclusives_in_order){
    .name = "rwlock-fair-writer-and-upgradable-in-queue",
    .claim = "writers and upgradables are served in one order",
    .setup = setup,
    .threads = {hand_over_in_order, write_in_order, upgradable_in_order},
    .titles = {"holder", "writer", "upgradable"},
    .check = check,
};

/* ---- B: readers held back ---- */

static void read_and_try_again(void) {
    ilk_rwlock_read_lock(&s.lock);
    uint32_t word = ilk_atomic_load(&s.lock.word, memory_order_relaxed);
    if ((word & ILK__RWLOCK_READERS_HELD) != 0) {
        ex_expect(!ilk_rwlock_try_read_lock(&s.lock), "a reader came in past a waiting writer");
    }
    ilk_rwlock_read_unlock(&s.lock);
}

static void upgrade(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    ilk_rwlock_upgrade(&s.lock);
    record_write();
    ilk_rwlock_write_unlock(&s.lock);
}

/* The word itself must show a queued writer. */
static void probe_while_reading(void) {
    ilk_rwlock_read_lock(&s.lock);
    const struct ilk__rwlock_queue *queue = s.lock.queue;
    bool locked = (s.lock.word & ILK__RWLOCK_QUEUE_LOCKED) != 0;
    if (queue != NULL && !locked && (queue->writer_count > 0 || queue->upgrade != NULL)) {
        ex_expect((s.lock.word & ILK__RWLOCK_READERS_HELD) != 0,
                  "a writer is in the queue and readers are not held");
    }
    ilk_rwlock_read_unlock(&s.lock);
}

EX_SCENARIO(held_back_by_writer){
    .name = "rwlock-waiting-writer-holds-readers-back",
    .claim = "a reader that comes after a waiting writer waits too",
    .setup = setup,
    .threads = {read_and_try_again, write, probe_while_reading},
    .titles = {"reader", "writer", "onlooker"},
    .check = check,
};

EX_SCENARIO(held_back_by_upgrade){
    .name = "rwlock-waiting-upgrade-holds-readers-back",
    .claim = "a reader that comes after a waiting upgrade waits too",
    .setup = setup,
    .threads = {read_and_try_again, upgrade, probe_while_reading},
    .titles = {"reader", "upgrader", "onlooker"},
    .check = check,
};

/* ---- D: a writer that timed out holds no thread back ---- */

static void read_long(void) {
    ilk_rwlock_read_lock(&s.lock);
    ex_time_passes(10000); /* past the writer's deadline */
    ilk_rwlock_read_unlock(&s.lock);
}

static void give_up_writing(void) {
    if (ilk_rwlock_write_lock_until(&s.lock, 5000) == ILK_OK) {
        record_write();
        ilk_rwlock_write_unlock(&s.lock);
    } else {
        /* The readers that the attempt held back are in. The word keeps nothing of it once the queue is
         * unlocked, unless another writer waits. */
        ilk_rwlock_read_lock(&s.lock);
        ilk_rwlock_read_unlock(&s.lock);
    }
}

EX_SCENARIO(gave_up){
    .name = "rwlock-writer-that-timed-out",
    .claim = "a wait that timed out leaves nothing behind",
    .setup = setup,
    .threads = {read_long, give_up_writing, read},
    .titles = {"reader", "writer", "second reader"},
    .check = check,
    .timeouts = 1,
};

/* ---- E: freeing by the last owner ---- */

static void setup_heap(void) {
    setup();
    s.heap = ex_allocate(sizeof *s.heap, 16);
    ilk_rwlock_init(s.heap);
}
static void setup_written(void) {
    setup_heap();
    ilk_rwlock_write_lock(s.heap); /* unlocked by another thread, which this lock does not detect */
}
static void setup_read(void) {
    setup_heap();
    ilk_rwlock_read_lock(s.heap);
}
static void setup_upgradable(void) {
    setup_heap();
    ilk_rwlock_upgradable_lock(s.heap);
}
static void write_unlock(void) {
    ilk_rwlock_write_unlock(s.heap);
}
static void read_unlock(void) {
    ilk_rwlock_read_unlock(s.heap);
}
static void upgradable_unlock(void) {
    ilk_rwlock_upgradable_unlock(s.heap);
}
static void write_and_free(void) {
    ilk_rwlock *lock = s.heap;
    ilk_rwlock_write_lock(lock);
    ilk_rwlock_write_unlock(lock);
    ilk_rwlock_destroy(lock);
    ex_free(lock);
}
static void read_and_free(void) {
    ilk_rwlock *lock = s.heap;
    ilk_rwlock_read_lock(lock);
    ilk_rwlock_read_unlock(lock);
    ilk_rwlock_destroy(lock);
    ex_free(lock);
}
static void try_write_and_free(void) {
    ilk_rwlock *lock = s.heap;
    while (!ilk_rwlock_try_write_lock(lock)) {
        ilk_cpu_relax();
    }
    ilk_rwlock_write_unlock(lock);
    ex_free(lock);
}

#define FREED(identifier, text, start, give, take)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-freed-after-" text,                                                                  \
        .claim = "an unlock does not touch a lock that another thread has owned since", .setup = start,      \
        .threads = {give, take}, .titles = {#give, #take}, .spurious_wakeups = 1                             \
    }

FREED(freed_write_write, "write_unlock-by-writer", setup_written, write_unlock, write_and_free);
FREED(freed_write_read, "write_unlock-by-reader", setup_written, write_unlock, read_and_free);
FREED(freed_write_try, "write_unlock-by-try", setup_written, write_unlock, try_write_and_free);
FREED(freed_read_write, "read_unlock-by-writer", setup_read, read_unlock, write_and_free);
FREED(freed_read_try, "read_unlock-by-try", setup_read, read_unlock, try_write_and_free);
FREED(freed_upgradable_write, "upgradable_unlock-by-writer", setup_upgradable, upgradable_unlock,
      write_and_free);
FREED(freed_upgradable_try, "upgradable_unlock-by-try", setup_upgradable, upgradable_unlock,
      try_write_and_free);

/* ---- G: try calls ---- */

static void try_on_free(void) {
    ex_expect(ilk_rwlock_try_write_lock(&s.lock), "try_write_lock failed on a free lock");
    ilk_rwlock_write_unlock(&s.lock);
    ex_expect(ilk_rwlock_try_read_lock(&s.lock), "try_read_lock failed on a free lock");
    ilk_rwlock_read_unlock(&s.lock);
}

static void stay_away(void) {
    ex_time_passes(1);
}

static void try_read_beside_reader(void) {
    ex_expect(ilk_rwlock_try_read_lock(&s.lock), "try_read_lock failed beside readers only");
    ilk_rwlock_read_unlock(&s.lock);
}

EX_SCENARIO(try_free){
    .name = "rwlock-try-on-a-free-lock",
    .claim = "a try call does not fail on a free lock",
    .setup = setup,
    .threads = {try_on_free, stay_away},
    .check = check,
    .weak_failures = 3,
};

EX_SCENARIO(try_read_free){
    .name = "rwlock-try_read-beside-readers",
    .claim = "try_read_lock does not fail beside readers only",
    .setup = setup,
    .threads = {try_read_beside_reader, try_read_beside_reader, read},
    .check = check,
    .weak_failures = 3,
};

EX_MUST_REACH(states){
    {"rwlock-*back rwlock-fair-waiting-reader-before-next-writer "
     "rwlock-freed-after-write_unlock-by-reader",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS}},
    {"rwlock-*queue rwlock-*writer", {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-fair-while-another-has-the-queue",
     {EX_LOCK_READER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_READERS}},
    {"rwlock-fair-writer-and-upgradable-in-queue", {EX_LOCK_UPGRADABLE_WAITS}},
    {"rwlock-waiting-upgrade-holds-readers-back", {EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_UPGRADE}},
    {"rwlock-writer-that-timed-out",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
};

EX_CANNOT_REACH(no_states){
    {"rwlock-try_read-beside-readers", {EX_LOCK_READER_LEAVES_OTHERS, EX_LOCK_LEFT_TO_QUEUE_HOLDER}},
};
