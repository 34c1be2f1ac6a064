/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock under loads that drive it from mode to mode, and starvation measured in each. The guarded data
 * are plain memory: too little exclusion tears them, too little order is a race to ThreadSanitizer.
 */
#include "rwlock/slot_table.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- Loads that change the mode ---- */

enum { FIELDS = 8, WORKERS = 4 };

struct shared {
    ilk_rwlock lock;
    uint64_t fields[FIELDS];          /* guarded by the lock; all equal between writes */
    ILK_ATOMIC(uint32_t) write_share; /* writes in 1,024 uses */
    ILK_ATOMIC(int) stop;
};

struct worker {
    struct shared *shared;
    uint32_t random;
    uint64_t writes;
};

static void check_fields(const struct shared *shared) {
    for (int i = 1; i < FIELDS; i++) {
        check_equal(shared->fields[i], shared->fields[0]);
    }
}

static void change_fields(struct worker *self) {
    check_fields(self->shared);
    for (int i = 0; i < FIELDS; i++) {
        self->shared->fields[i]++;
    }
    self->writes++;
}

enum write_use { TRY_WRITE, WRITE_UNTIL, DOWNGRADE, UPGRADE, WRITE };

static void write_by_any_use(struct worker *self) {
    ilk_rwlock *lock = &self->shared->lock;
    uint64_t before;
    static const enum write_use uses[] = {TRY_WRITE, WRITE_UNTIL, DOWNGRADE, UPGRADE, WRITE, WRITE};
    switch (uses[next_random(&self->random) % (sizeof uses / sizeof *uses)]) {
    case TRY_WRITE:
        if (!ilk_rwlock_try_write_lock(lock)) {
            return;
        }
        change_fields(self);
        ilk_rwlock_write_unlock(lock);
        break;
    case WRITE_UNTIL:
        if (ilk_rwlock_write_lock_until(lock, ilk_deadline_in_ns(next_random(&self->random) % 30000)) !=
            ILK_OK) {
            return;
        }
        change_fields(self);
        ilk_rwlock_write_unlock(lock);
        break;
    case DOWNGRADE:
        ilk_rwlock_write_lock(lock);
        change_fields(self);
        before = self->shared->fields[0];
        ilk_rwlock_downgrade(lock);
        check_fields(self->shared);
        check_equal(self->shared->fields[0], before); /* no writer came between */
        ilk_rwlock_read_unlock(lock);
        break;
    case UPGRADE:
        ilk_rwlock_upgradable_lock(lock);
        check_fields(self->shared);
        before = self->shared->fields[0];
        ilk_rwlock_upgrade(lock);
        check_equal(self->shared->fields[0], before);
        change_fields(self);
        ilk_rwlock_write_unlock(lock);
        break;
    case WRITE:
        ilk_rwlock_write_lock(lock);
        change_fields(self);
        ilk_rwlock_write_unlock(lock);
        break;
    }
}

static void read_in(struct worker *self, enum manner manner) {
    ilk_rwlock *lock = &self->shared->lock;
    bool in = true;
    switch (manner) {
    case TRIES:
        in = ilk_rwlock_try_read_lock(lock);
        break;
    case LIMITED:
        in = ilk_rwlock_read_lock_until(lock, ilk_deadline_in_ns(next_random(&self->random) % 30000)) ==
             ILK_OK;
        break;
    case WAITS:
        ilk_rwlock_read_lock(lock);
    }
    if (in) {
        check_fields(self->shared);
        ilk_rwlock_read_unlock(lock);
    }
}

static void work(void *context) {
    struct worker *self = context;
    while (ilk_atomic_load(&self->shared->stop, memory_order_relaxed) == 0) {
        uint32_t share = ilk_atomic_load(&self->shared->write_share, memory_order_relaxed);
        if (next_random(&self->random) % 1024 < share) {
            write_by_any_use(self);
        } else {
            read_in(self, share == 0 ? WAITS : any_manner(&self->random));
        }
    }
}

static int await_mode(struct shared *shared, uint32_t write_share, uint32_t mode) {
    int changes = 0;
    uint32_t seen = mode_of(&shared->lock);
    ilk_atomic_store(&shared->write_share, write_share, memory_order_relaxed);
    while (seen != mode) {
        sched_yield();
        uint32_t now = mode_of(&shared->lock);
        changes += now != seen ? 1 : 0;
        seen = now;
    }
    return changes;
}

TEST(a_lock_changes_its_mode_under_load_and_excludes_in_each) {
    struct shared shared = {.lock = ILK_RWLOCK_INIT};
    struct worker workers[WORKERS];
    struct thread threads[WORKERS];
    uint32_t seed = (uint32_t)ilk_now_ns() | 1;
    printf("%d threads, seed %u\n", WORKERS, (unsigned)seed);
    fflush(stdout);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.shared = &shared, .random = (seed + (uint32_t)i * 2654435761U) | 1};
        thread_start(&threads[i], work, &workers[i]);
    }
    const uint32_t most_slots = membarrier_works() ? ILK__RWLOCK_MODE : ILK__RWLOCK_SLOTS;
    const int cycles = stress_rounds(30);
    int changes = 0;
    for (int cycle = 0; cycle < cycles; cycle++) {
        changes += await_mode(&shared, 0, most_slots); /* reads only */
        changes += await_mode(&shared, 3, most_slots); /* some of each, wherever that leads */
        changes += await_mode(&shared, 512, 0);        /* as many writes as reads */
    }
    ilk_atomic_store(&shared.stop, 1, memory_order_relaxed);
    uint64_t writes = 0;
    for (int i = 0; i < WORKERS; i++) {
        thread_join(&threads[i]);
        writes += workers[i].writes;
    }
    printf("%d changes of mode seen, %llu writes\n", changes, (unsigned long long)writes);
    check(changes > cycles);
    check_equal(shared.fields[0], writes);
    check_fields(&shared);
    check_free_and_destroy(&shared.lock);
}

/* A lock stays fence-free only while writes are rare: one reader comes and goes as fast as it can, and a
 * writer comes now and then. Only the explorer sees a missing membarrier. */
TEST(rare_writes_are_alone_in_a_fence_free_lock) {
    skip_if(!membarrier_works(), "membarrier(2) is refused here, so that no lock becomes fence-free");
    struct shared shared = {.lock = ILK_RWLOCK_INIT};
    struct worker reader = {.shared = &shared, .random = 1}, writer = {.shared = &shared, .random = 2};
    struct thread reading;
    thread_start(&reading, work, &reader);
    int fence_free_writes = 0;
    const int wanted = stress_rounds(4000);
    while (fence_free_writes < wanted) {
        while (mode_of(&shared.lock) != ILK__RWLOCK_MODE) {
            read_in(&writer, WAITS);
        }
        const struct timespec rarely = {.tv_nsec = 200000}; /* the load, not an order of events */
        nanosleep(&rarely, NULL);
        ilk_rwlock_write_lock(&shared.lock);
        fence_free_writes += mode_of(&shared.lock) == ILK__RWLOCK_MODE ? 1 : 0;
        change_fields(&writer);
        ilk_rwlock_write_unlock(&shared.lock);
    }
    ilk_atomic_store(&shared.stop, 1, memory_order_relaxed);
    thread_join(&reading);
    check_equal(shared.fields[0], writer.writes);
    check_free_and_destroy(&shared.lock);
}

/* ---- No thread starves, counted ---- */

static bool enter_mode(ilk_rwlock *lock, uint32_t mode) {
    if (mode == ILK__RWLOCK_MODE && !membarrier_works()) {
        printf("no membarrier(2): the fence-free mode is left out\n");
        return false;
    }
    ilk_rwlock_init(lock);
    if (mode == ILK__RWLOCK_SLOTS) {
        move_to_slots(lock);
    } else if (mode == ILK__RWLOCK_MODE) {
        move_to_fence_free(lock);
    }
    check_equal(mode_of(lock), mode);
    return true;
}

static const uint32_t modes[] = {0, ILK__RWLOCK_SLOTS, ILK__RWLOCK_MODE};
/* Each waiter first gives its core away some thirty times: long on a busy machine. */
enum { MODES = 3, MANY = 4, ROUNDS = 9 };

struct crowd {
    ilk_rwlock lock;
    uint64_t writes;                  /* guarded by the lock */
    ILK_ATOMIC(uint64_t) reads[MANY]; /* entries of each saturating reader */
    ILK_ATOMIC(int) stop;
};

struct one_of_many {
    struct crowd *crowd;
    int index;
    uint64_t saw;
};

static void write_on(void *context) {
    struct one_of_many *self = context;
    while (ilk_atomic_load(&self->crowd->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_write_lock(&self->crowd->lock);
        self->crowd->writes++;
        ilk_rwlock_write_unlock(&self->crowd->lock);
    }
}

static void read_and_probe(void *context) {
    struct one_of_many *self = context;
    ilk_rwlock_read_lock(&self->crowd->lock);
    self->saw = self->crowd->writes;
    ilk_rwlock_read_unlock(&self->crowd->lock);
}

static void hold_until_told(void *context) {
    struct stage *orders = ((void **)context)[1];
    ilk_rwlock *lock = ((void **)context)[0];
    ilk_rwlock_read_lock(lock);
    stage_reach(orders, 1);
    stage_await(orders, 2);
    ilk_rwlock_read_unlock(lock);
}

/* A reader is inside, four writers wait that will come again, and a reader queues behind them. It must see
 * one write at most. */
static void queue_behind_writers(struct crowd *crowd) {
    struct stage orders = STAGE_INIT;
    void *holding[] = {&crowd->lock, &orders};
    struct thread holder, writers[MANY], reader;
    struct one_of_many contexts[MANY], last = {.crowd = crowd};
    thread_start(&holder, hold_until_told, holding);
    stage_await(&orders, 1);
    for (int i = 0; i < MANY; i++) {
        contexts[i] = (struct one_of_many){.crowd = crowd, .index = i};
        thread_start(&writers[i], write_on, &contexts[i]);
        thread_await_sleep(&writers[i]);
    }
    thread_start(&reader, read_and_probe, &last);
    thread_await_sleep(&reader);
    stage_reach(&orders, 2);
    thread_join(&reader);
    check(last.saw <= 1);
    ilk_atomic_store(&crowd->stop, 1, memory_order_relaxed);
    for (int i = 0; i < MANY; i++) {
        thread_join(&writers[i]);
    }
    thread_join(&holder);
}

TEST(a_reader_behind_saturating_writers_waits_for_one_write_at_most) {
    for (int mode = 0; mode < MODES; mode++) {
        for (int round = 0; round < ROUNDS; round++) {
            struct crowd crowd = {.writes = 0};
            if (enter_mode(&crowd.lock, modes[mode])) {
                queue_behind_writers(&crowd);
                check_free_and_destroy(&crowd.lock);
            } else {
                break;
            }
        }
    }
}

static void read_on(void *context) {
    struct one_of_many *self = context;
    while (ilk_atomic_load(&self->crowd->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_read_lock(&self->crowd->lock);
        ilk_atomic_fetch_add(&self->crowd->reads[self->index], 1, memory_order_relaxed);
        for (int i = 0; i < 50; i++) {
            ilk_cpu_relax(); /* they overlap: a moment without readers is rare */
        }
        ilk_rwlock_read_unlock(&self->crowd->lock);
    }
}

static void write_and_probe(void *context) {
    struct one_of_many *self = context;
    ilk_rwlock_write_lock(&self->crowd->lock);
    for (int i = 0; i < MANY; i++) {
        self->saw += ilk_atomic_load(&self->crowd->reads[i], memory_order_relaxed);
    }
    ilk_rwlock_write_unlock(&self->crowd->lock);
}

static uint64_t all_reads(struct crowd *crowd) {
    uint64_t reads = 0;
    for (int i = 0; i < MANY; i++) {
        reads += ilk_atomic_load(&crowd->reads[i], memory_order_relaxed);
    }
    return reads;
}

/* A reader is inside and a writer waits for it, among four readers that come again: all end asleep behind the
 * writer. */
static void wait_among_readers(struct crowd *crowd) {
    struct stage orders = STAGE_INIT;
    void *holding[] = {&crowd->lock, &orders};
    struct thread holder, writer, readers[MANY];
    struct one_of_many contexts[MANY], first = {.crowd = crowd};
    thread_start(&holder, hold_until_told, holding);
    stage_await(&orders, 1);
    for (int i = 0; i < MANY; i++) {
        contexts[i] = (struct one_of_many){.crowd = crowd, .index = i};
        thread_start(&readers[i], read_on, &contexts[i]);
    }
    yield_while(all_reads(crowd) < 100);
    thread_start(&writer, write_and_probe, &first);
    thread_await_sleep(&writer);
    for (int i = 0; i < MANY; i++) {
        thread_await_sleep(&readers[i]);
    }
    uint64_t before = all_reads(crowd);
    stage_reach(&orders, 2);
    thread_join(&writer);
    check_equal(first.saw, before);
    ilk_atomic_store(&crowd->stop, 1, memory_order_relaxed);
    for (int i = 0; i < MANY; i++) {
        thread_join(&readers[i]);
    }
    thread_join(&holder);
}

TEST(a_writer_among_saturating_readers_waits_for_those_inside_only) {
    for (int mode = 0; mode < MODES; mode++) {
        for (int round = 0; round < ROUNDS; round++) {
            struct crowd crowd = {.writes = 0};
            if (enter_mode(&crowd.lock, modes[mode])) {
                wait_among_readers(&crowd);
                check_free_and_destroy(&crowd.lock);
            } else {
                break;
            }
        }
    }
}

/* ---- Tries ---- */

/* A reader and a writer try a free lock at the same moment, in rounds. If both are refused, each was put off
 * by the other's attempt. */
struct duel {
    ilk_rwlock lock;
    int rounds;
    ILK_ATOMIC(int) begin, middle, end; /* arrivals: two a round */
    bool read, wrote;                   /* of this round; between middle and end */
    int refused_both;
};

/* Both leave within nanoseconds of each other, unlike from a barrier that sleeps. */
static void meet(ILK_ATOMIC(int) * arrivals, int round) {
    ilk_atomic_fetch_add(arrivals, 1, memory_order_acq_rel);
    for (int probes = 1; ilk_atomic_load(arrivals, memory_order_acquire) < 2 * (round + 1); probes++) {
        if (probes % 2000 == 0) {
            sched_yield(); /* the other has no core */
        }
    }
}

static void try_to_read(void *context) {
    struct duel *self = context;
    ilk_rwlock_read_lock(&self->lock); /* gives this thread its slots, which a try does not */
    ilk_rwlock_read_unlock(&self->lock);
    for (int round = 0; round < self->rounds; round++) {
        meet(&self->begin, round);
        self->read = ilk_rwlock_try_read_lock(&self->lock);
        meet(&self->middle, round);
        self->refused_both += !self->read && !self->wrote ? 1 : 0;
        if (self->read) {
            ilk_rwlock_read_unlock(&self->lock);
        }
        meet(&self->end, round);
    }
}

static void try_to_write(void *context) {
    struct duel *self = context;
    for (int round = 0; round < self->rounds; round++) {
        meet(&self->begin, round);
        self->wrote = ilk_rwlock_try_write_lock(&self->lock);
        meet(&self->middle, round);
        check(!self->read || !self->wrote);
        if (self->wrote) {
            ilk_rwlock_write_unlock(&self->lock);
        }
        meet(&self->end, round);
    }
}

/* How often neither got in. */
static int try_at_once(void (*to_mode)(ilk_rwlock *lock)) {
    struct duel duel = {.lock = ILK_RWLOCK_INIT, .rounds = stress_rounds(200000)};
    to_mode(&duel.lock);
    struct thread reader, writer;
    thread_start(&reader, try_to_read, &duel);
    thread_start(&writer, try_to_write, &duel);
    thread_join(&reader);
    thread_join(&writer);
    check(ilk_rwlock_try_write_lock(&duel.lock));
    ilk_rwlock_write_unlock(&duel.lock);
    check(ilk_rwlock_try_read_lock(&duel.lock));
    ilk_rwlock_read_unlock(&duel.lock);
    check_free_and_destroy(&duel.lock);
    return duel.refused_both;
}

/* In slots both may be refused: the announcement and the writer's flag meet (guarantee F). */
TEST(of_two_that_try_at_once_not_both_get_in_and_a_lone_try_does) {
    check_equal(try_at_once(ilk_rwlock_init), 0);
    printf("in slots both were refused %d times\n", try_at_once(move_to_slots));
}

/* ---- Freed by the last user ---- */

/* The writer that waited may have freed the lock. */
struct mortal {
    ilk_rwlock lock;
};

struct meeting {
    struct mortal **mortals;
    int rounds;
    ILK_ATOMIC(int) * round; /* counts up as readers are inside */
};

static void read_each_once(void *context) {
    struct meeting *self = context;
    for (int round = 0; round < self->rounds; round++) {
        struct mortal *mortal = self->mortals[round];
        ilk_rwlock_read_lock(&mortal->lock);
        ilk_atomic_store(self->round, round + 1, memory_order_release);
        ilk_rwlock_read_unlock(&mortal->lock); /* it may be gone before this returns */
    }
}

TEST(a_lock_may_be_freed_as_soon_as_the_slots_let_a_writer_in) {
    int rounds = stress_rounds(20000);
    ILK_ATOMIC(int) reached = 0;
    struct meeting meeting = {calloc((size_t)rounds, sizeof(struct mortal *)), rounds, &reached};
    check(meeting.mortals != NULL);
    for (int i = 0; i < rounds; i++) {
        meeting.mortals[i] = calloc(1, sizeof(struct mortal));
        check(meeting.mortals[i] != NULL);
        move_to_slots(&meeting.mortals[i]->lock);
    }
    struct thread reader;
    thread_start(&reader, read_each_once, &meeting);
    for (int round = 0; round < rounds; round++) {
        struct mortal *mortal = meeting.mortals[round];
        for (int probes = 0; ilk_atomic_load(&reached, memory_order_acquire) <= round; probes++) {
            if (probes > 100) {
                sched_yield();
            }
        }
        ilk_rwlock_write_lock(&mortal->lock);
        ilk_rwlock_write_unlock(&mortal->lock);
        ilk_rwlock_destroy(&mortal->lock);
        free(mortal);
    }
    thread_join(&reader);
    free(meeting.mortals);
}

/* ---- Threads that come and go ---- */

static void visit(void *context) {
    struct worker *self = context;
    for (int i = 0; i < 40; i++) {
        read_in(self, WAITS);
    }
}

TEST(exclusion_and_memory_hold_while_threads_come_and_go) {
    struct shared shared = {.lock = ILK_RWLOCK_INIT};
    ilk_atomic_store(&shared.write_share, 20, memory_order_relaxed);
    move_to_slots(&shared.lock);
    struct worker writer = {.shared = &shared, .random = 77}, visitors[8];
    struct thread writing;
    thread_start(&writing, work, &writer);
    uint32_t peak = 0;
    for (int wave = 0; wave < stress_rounds(100); wave++) {
        for (int i = 0; i < 8; i++) {
            visitors[i] = (struct worker){.shared = &shared, .random = 1};
        }
        threads_run(8, visit, visitors, sizeof *visitors);
        peak = ilk_atomic_load(&ilk__slot_table_2.block_count, memory_order_relaxed);
    }
    ilk_atomic_store(&shared.stop, 1, memory_order_relaxed);
    thread_join(&writing);
    check(peak <= 8 + 2);
    check_equal(shared.fields[0], writer.writes);
    check_free_and_destroy(&shared.lock);
}
