/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock under load: exclusion, visibility, starvation, deadlines that race with grants, and locks
 * destroyed by the thread let in last. The guarded data are plain memory with checked invariants, for
 * ThreadSanitizer.
 */
#include "support/test.h"
#include <interlock/diagnostics.h>
#include <interlock/rwlock.h>
#include <stdio.h>
#include <stdlib.h>

/* A writer makes all of them the same new number, one by one. */
enum { FIELDS = 8 };

struct shared {
    ilk_rwlock lock;
    uint64_t fields[FIELDS];
    uint64_t writes;             /* plain: how often write_all ran */
    ILK_ATOMIC(int) readers;     /* inside now, for the exclusion check */
    ILK_ATOMIC(int) writers;     /* the same */
    ILK_ATOMIC(int) upgradables; /* the same */
};

static int inside(ILK_ATOMIC(int) * count, int change) {
    return ilk_atomic_fetch_add(count, change, memory_order_relaxed) + change;
}

static void read_all(struct shared *shared) {
    inside(&shared->readers, 1);
    check_equal(ilk_atomic_load(&shared->writers, memory_order_relaxed), 0);
    uint64_t first = shared->fields[0];
    for (int i = 1; i < FIELDS; i++) {
        check_equal(shared->fields[i], first);
    }
    inside(&shared->readers, -1);
}

static void write_all(struct shared *shared) {
    check_equal(inside(&shared->writers, 1), 1);
    check_equal(ilk_atomic_load(&shared->readers, memory_order_relaxed), 0);
    uint64_t next = shared->fields[0] + 1;
    for (int i = 0; i < FIELDS; i++) {
        check_equal(shared->fields[i], next - 1);
        shared->fields[i] = next;
    }
    shared->writes++;
    check_equal(inside(&shared->writers, -1), 0);
}

struct worker {
    struct shared *shared;
    uint32_t random;
    int rounds;
    int writes; /* how often it called write_all */
};

enum use {
    READ,
    READ_UNTIL,
    TRY_READ,
    WRITE,
    WRITE_UNTIL,
    TRY_WRITE_AND_DOWNGRADE,
    UPGRADABLE_AND_UPGRADE,
    UPGRADABLE
};

static enum use any_use(uint32_t *random) {
    static const uint32_t in_sixteen[] = {
        [READ] = 5,        [READ_UNTIL] = 2,
        [TRY_READ] = 1,    [WRITE] = 2,
        [WRITE_UNTIL] = 2, [TRY_WRITE_AND_DOWNGRADE] = 1,
        [UPGRADABLE] = 1,  [UPGRADABLE_AND_UPGRADE] = 2,
    };
    uint32_t choice = next_random(random) % 16;
    enum use use = READ;
    while (choice >= in_sixteen[use]) {
        choice -= in_sixteen[use];
        use++;
    }
    return use;
}

static void read_and_unlock(struct shared *shared) {
    read_all(shared);
    ilk_rwlock_read_unlock(&shared->lock);
}

static void write_and_unlock(struct worker *self) {
    write_all(self->shared);
    self->writes++;
    ilk_rwlock_write_unlock(&self->shared->lock);
}

/* One random use of the lock. */
static void use_lock(struct worker *self) {
    struct shared *shared = self->shared;
    ilk_rwlock *lock = &shared->lock;
    const enum use use = any_use(&self->random);
    const uint64_t soon = ilk_deadline_in_ns(next_random(&self->random) % 20000);
    switch (use) {
    case READ:
        ilk_rwlock_read_lock(lock);
        read_and_unlock(shared);
        break;
    case READ_UNTIL:
        if (ilk_rwlock_read_lock_until(lock, soon) == ILK_OK) {
            read_and_unlock(shared);
        }
        break;
    case TRY_READ:
        if (ilk_rwlock_try_read_lock(lock)) {
            read_and_unlock(shared);
        }
        break;
    case WRITE:
        ilk_rwlock_write_lock(lock);
        write_and_unlock(self);
        break;
    case WRITE_UNTIL:
        if (ilk_rwlock_write_lock_until(lock, soon) == ILK_OK) {
            write_and_unlock(self);
        }
        break;
    case TRY_WRITE_AND_DOWNGRADE:
        if (ilk_rwlock_try_write_lock(lock)) {
            write_all(shared);
            self->writes++;
            ilk_rwlock_downgrade(lock);
            read_and_unlock(shared);
        }
        break;
    case UPGRADABLE_AND_UPGRADE:
    case UPGRADABLE:
        ilk_rwlock_upgradable_lock(lock);
        check_equal(inside(&shared->upgradables, 1), 1);
        read_all(shared);
        uint64_t before = shared->fields[0];
        check_equal(inside(&shared->upgradables, -1), 0);
        if (use == UPGRADABLE_AND_UPGRADE) {
            ilk_rwlock_upgrade(lock);
            check_equal(shared->fields[0], before); /* no writer came between */
            write_and_unlock(self);
        } else {
            ilk_rwlock_upgradable_unlock(lock);
        }
    }
}

static void use_lock_often(void *context) {
    struct worker *self = context;
    for (int round = 0; round < self->rounds; round++) {
        use_lock(self);
    }
}

static void run_mixed_load(int threads, uint32_t watches) {
    struct shared shared = {.lock = ILK_RWLOCK_INIT};
    check_equal(ilk_rwlock_observe(&shared.lock, watches), ILK_OK);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    check(workers != NULL);
    uint32_t seed = (uint32_t)ilk_now_ns() | 1;
    printf("%d threads, seed %u\n", threads, (unsigned)seed);
    fflush(stdout);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.shared = &shared,
                                     .random = seed + (uint32_t)i * 2654435761U,
                                     .rounds = stress_rounds(60000 / threads)};
        workers[i].random |= 1;
    }
    threads_run(threads, use_lock_often, workers, sizeof *workers);
    uint64_t writes = 0;
    for (int i = 0; i < threads; i++) {
        writes += (uint64_t)workers[i].writes;
    }
    check_equal(shared.writes, writes);
    check_equal(shared.fields[FIELDS - 1], writes);
    uint32_t last_word = ilk_atomic_load(&shared.lock.word, memory_order_relaxed);
    check(ilk__rwlock_is_idle(last_word & ~ILK__RWLOCK_OBSERVED));
    check_equal((last_word & ILK__RWLOCK_OBSERVED) != 0, watches != 0);
    check(shared.lock.queue == NULL);
    ilk_rwlock_destroy(&shared.lock);
    free(workers);
}
/* contract: rwlock.C */
TEST(all_modes_together_exclude_and_order) {
    run_mixed_load(2, 0);
    run_mixed_load(3, 0);
    run_mixed_load(8, 0);
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(an_observed_lock_behaves_the_same) {
    run_mixed_load(2, ILK_DIAGNOSE_ALL);
    run_mixed_load(6, ILK_DIAGNOSE_ALL);
}

/* ---- Fairness, counted ---- */

/* A starving thread keeps the test from ending. At the end none may be far behind the busiest of its kind. */
struct hammer {
    ilk_rwlock *lock;
    ILK_ATOMIC(int) * satisfied; /* threads that reached their share */
    int threads;
    int share;
    bool writes;
    int entries;
};

static void hammer_on(void *context) {
    struct hammer *self = context;
    while (ilk_atomic_load(self->satisfied, memory_order_relaxed) < self->threads) {
        if (self->writes) {
            ilk_rwlock_write_lock(self->lock);
            ilk_rwlock_write_unlock(self->lock);
        } else {
            ilk_rwlock_read_lock(self->lock);
            for (int i = 0; i < 50; i++) {
                ilk_cpu_relax(); /* readers overlap, and a gap is rare */
            }
            ilk_rwlock_read_unlock(self->lock);
        }
        self->entries++;
        if (self->entries == self->share) {
            ilk_atomic_fetch_add(self->satisfied, 1, memory_order_relaxed);
        }
    }
}

static void run_saturated(int readers, int writers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ILK_ATOMIC(int) satisfied = 0;
    struct hammer hammers[8];
    int threads = readers + writers;
    for (int i = 0; i < threads; i++) {
        hammers[i] = (struct hammer){&lock, &satisfied, threads, stress_rounds(2000), i >= readers, 0};
    }
    threads_run(threads, hammer_on, hammers, sizeof *hammers);
    for (int i = 0; i < threads; i++) {
        printf("%s %d: %d times\n", hammers[i].writes ? "writer" : "reader", i, hammers[i].entries);
        check(hammers[i].entries >= hammers[i].share);
    }
    ilk_rwlock_destroy(&lock);
}
/* contract: rwlock.A */
TEST(no_thread_starves_when_readers_saturate_it) {
    run_saturated(4, 1);
}
/* contract: rwlock.A */
TEST(no_thread_starves_when_writers_saturate_it) {
    run_saturated(1, 4);
}

/* A reader queues while four writers wait; the writers count, under the lock, the writes that end before its
 * entry. */
struct phase {
    ilk_rwlock lock;
    uint64_t writes; /* guarded by the lock */
    ILK_ATOMIC(int) stop;
};

static void write_on(void *context) {
    struct phase *phase = context;
    while (ilk_atomic_load(&phase->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_write_lock(&phase->lock);
        phase->writes++;
        ilk_rwlock_write_unlock(&phase->lock);
    }
}

struct phase_reader {
    struct phase *phase;
    uint64_t saw;
};

static void read_once(void *context) {
    struct phase_reader *self = context;
    ilk_rwlock_read_lock(&self->phase->lock);
    self->saw = self->phase->writes;
    ilk_rwlock_read_unlock(&self->phase->lock);
}
/* contract: rwlock.A */
TEST(a_queued_reader_sees_one_write_at_most) {
    for (int round = 0; round < stress_rounds(100); round++) {
        struct phase phase = {.lock = ILK_RWLOCK_INIT};
        ilk_rwlock_write_lock(&phase.lock);
        struct thread writers[4], reader;
        for (int i = 0; i < 4; i++) {
            thread_start(&writers[i], write_on, &phase);
            thread_await_sleep(&writers[i]);
        }
        struct phase_reader context = {.phase = &phase};
        thread_start(&reader, read_once, &context);
        thread_await_sleep(&reader);
        uint64_t before = ++phase.writes; /* ours is the one write */
        ilk_rwlock_write_unlock(&phase.lock);
        thread_join(&reader);
        check_equal(context.saw, before);
        ilk_atomic_store(&phase.stop, 1, memory_order_relaxed);
        for (int i = 0; i < 4; i++) {
            thread_join(&writers[i]);
        }
        ilk_rwlock_destroy(&phase.lock);
    }
}

/* ---- Destroyed by the last one in (guarantee E) ---- */

/* The last thread to count down frees the lock. A later touch of it is seen by AddressSanitizer, or as a hang
 * or a misuse through the poisoned word. */
struct mortal {
    ilk_rwlock lock;
    int uses_left; /* guarded by the lock in an exclusive mode */
};

struct last_user {
    struct mortal **mortal;
    int rounds, index;
    pthread_barrier_t *round_begins;
};

static void drop(struct mortal *mortal) {
    ilk_rwlock_destroy(&mortal->lock);
    free(mortal);
}

enum last_use { WRITES, UPGRADES, DOWNGRADES, READS_AND_WRITES, LAST_USES };

static void use_and_maybe_free(void *context) {
    struct last_user *self = context;
    for (int round = 0; round < self->rounds; round++) {
        pthread_barrier_wait(self->round_begins);
        struct mortal *mortal = self->mortal[round];
        bool last = false;
        switch ((enum last_use)((self->index + round) % LAST_USES)) {
        case WRITES:
            ilk_rwlock_write_lock(&mortal->lock);
            last = --mortal->uses_left == 0;
            ilk_rwlock_write_unlock(&mortal->lock);
            break;
        case UPGRADES:
            ilk_rwlock_upgradable_lock(&mortal->lock);
            ilk_rwlock_upgrade(&mortal->lock);
            last = --mortal->uses_left == 0;
            ilk_rwlock_write_unlock(&mortal->lock);
            break;
        case DOWNGRADES:
            while (ilk_rwlock_write_lock_until(&mortal->lock, ilk_deadline_in_ns(1000)) != ILK_OK) {
            }
            last = --mortal->uses_left == 0;
            ilk_rwlock_downgrade(&mortal->lock);
            ilk_rwlock_read_unlock(&mortal->lock);
            break;
        case READS_AND_WRITES:
            ilk_rwlock_read_lock(&mortal->lock);
            ilk_rwlock_read_unlock(&mortal->lock);
            ilk_rwlock_write_lock(&mortal->lock);
            last = --mortal->uses_left == 0;
            ilk_rwlock_write_unlock(&mortal->lock);
            break;
        case LAST_USES:
            break;
        }
        if (last) {
            drop(mortal);
        }
    }
}
/* contract: rwlock.E */
TEST(the_last_user_may_free_it_at_once) {
    enum { THREADS = 4 };
    int rounds = stress_rounds(4000);
    struct mortal **mortals = calloc((size_t)rounds, sizeof *mortals);
    check(mortals != NULL);
    for (int i = 0; i < rounds; i++) {
        mortals[i] = calloc(1, sizeof **mortals);
        check(mortals[i] != NULL);
        mortals[i]->uses_left = THREADS;
    }
    pthread_barrier_t round_begins;
    pthread_barrier_init(&round_begins, NULL, THREADS);
    struct last_user users[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (struct last_user){mortals, rounds, i, &round_begins};
    }
    threads_run(THREADS, use_and_maybe_free, users, sizeof *users);
    pthread_barrier_destroy(&round_begins);
    free(mortals);
}
