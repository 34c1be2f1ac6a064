/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences of the locks' headers that no test of one primitive holds.
 *
 * Has been seen to fail on: an inheriting mutex that waits without the kernel's inheritance; spins a hundred times as
 * long, or anew for each reader's slot; a yield in a try call; a latch that wakes without a sleeper; a heavy fence
 * beside the membarrier of a try to write; a try call that takes a block of reader slots; fifteen listed locks; a fork
 * handler that empties the table of slots.
 */
/* contract: interlock.h, mutex.h, rwlock.h */
#include "rwlock/reader_slots.h"
#include "support/fork.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <fcntl.h>
#include <interlock/interlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Priorities ---- */

enum { OWNER = 2, BELOW = 3, ABOVE = 4 };

struct scheduled {
    pthread_t id;
    thread_body *body;
    ilk_mutex *mutex;
    int priority;
    int place; /* among those that got the mutex, from 1 */
};

static int places;

static void *run_scheduled(void *context) {
    struct scheduled *self = context;
    self->body(self);
    return NULL;
}

/* Starts `body` under SCHED_FIFO. False: the system refuses. */
static bool start_at(struct scheduled *thread, int priority, thread_body *body, ilk_mutex *mutex) {
    *thread = (struct scheduled){.body = body, .mutex = mutex, .priority = priority};
    return thread_try_real_time(&thread->id, priority, run_scheduled, thread);
}

static void join(struct scheduled *thread) {
    check_equal(pthread_join(thread->id, NULL), 0);
}

static void run_at(int priority, thread_body *body, ilk_mutex *mutex) {
    thread_share_one_core();
    struct scheduled thread;
    skip_if(!start_at(&thread, priority, body, mutex), "no right to SCHED_FIFO here");
    join(&thread);
}

/* The calling thread's real-time priority with lent ones: the 18th field of stat(5) is minus one more. */
static int effective_priority(void) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)syscall(SYS_gettid));
    int file = open(path, O_RDONLY);
    check(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    check(length > 0);
    check_equal(close(file), 0);
    text[length] = '\0';
    const char *field = strrchr(text, ')'); /* ends the second */
    for (int number = 2; number < 18; number++) {
        field = strchr(field + 1, ' ');
        check(field != NULL);
    }
    int priority = 0;
    check_equal(sscanf(field, "%d", &priority), 1);
    return -1 - priority;
}

static void lock_in_turn(void *context) {
    struct scheduled *self = context;
    ilk_mutex_lock(self->mutex);
    self->place = ++places;
    ilk_mutex_unlock(self->mutex);
}

/*   owner, priority 2                  waiter, priority 4
 *     locks
 *     runs at 2
 *     starts waiter ------------------>  waits (sleeps)
 *     runs at 4; without inheritance at 2
 *     unlocks ------------------------>  locks
 *     runs at 2                                                                      */
static bool inherits(ilk_mutex *mutex) {
    return ilk_atomic_load(&mutex->settings, memory_order_relaxed) != 0;
}

static void own_below_a_waiter(void *context) {
    struct scheduled *self = context, waiter;
    ilk_mutex_lock(self->mutex);
    check_equal(effective_priority(), OWNER);
    check(start_at(&waiter, ABOVE, lock_in_turn, self->mutex));
    check_equal(effective_priority(), inherits(self->mutex) ? ABOVE : OWNER);
    ilk_mutex_unlock(self->mutex);
    join(&waiter);
    check_equal(effective_priority(), OWNER);
}

TEST(the_owner_runs_at_the_priority_of_its_highest_waiter) {
    for (int inherits = 0; inherits < 2; inherits++) { /* without: the control */
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        run_at(OWNER, own_below_a_waiter, &mutex);
    }
}

static void own_below_two_waiters(void *context) {
    struct scheduled *self = context, below, above;
    ilk_mutex_lock(self->mutex);
    check(start_at(&below, BELOW, lock_in_turn, self->mutex)); /* sleeps first */
    check(start_at(&above, ABOVE, lock_in_turn, self->mutex));
    places = 0;
    ilk_mutex_unlock(self->mutex);
    join(&below);
    join(&above);
    check_equal(above.place, 1);
    check_equal(below.place, 2);
}
/* contract: mutex.B */
TEST(an_inheriting_mutex_goes_to_the_sleeper_of_highest_priority) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    skip_if(ilk_atomic_load(&mutex.settings, memory_order_relaxed) == 0,
            "there is no priority inheritance in this build");
    run_at(OWNER, own_below_two_waiters, &mutex);
}

static void give_up_in_time(void *context) {
    struct scheduled *self = context;
    check_equal(ilk_mutex_lock_until(self->mutex, ilk_deadline_in_ns(MILLISECONDS(5))), ILK_TIMEDOUT);
}

static void own_below_a_waiter_that_gives_up(void *context) {
    struct scheduled *self = context, waiter;
    ilk_mutex_lock(self->mutex);
    check(start_at(&waiter, ABOVE, give_up_in_time, self->mutex)); /* sleeps first */
    check_equal(effective_priority(), inherits(self->mutex) ? ABOVE : OWNER);
    join(&waiter);
    check_equal(effective_priority(), OWNER); /* nothing is lent any more */
    ilk_mutex_unlock(self->mutex);
}
/* contract: ilk_mutex_lock_until */
TEST(a_waiter_that_gives_up_lends_no_priority) {
    for (int inherits = 0; inherits < 2; inherits++) { /* without: the control */
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        run_at(OWNER, own_below_a_waiter_that_gives_up, &mutex);
    }
}

/* ---- Spins ---- */

enum { ATTEMPTS = 50, LONGEST_SPIN_NS = 1000000 }; /* ten times the headers' figure, for slow machines */

struct held {
    ilk_rwlock written, upgradable;
    ilk_semaphore semaphore;
    ilk_mutex mutexes[2];
    ilk_barrier barrier;
    ilk_latch latch;
};

static ilk_status read_lock(struct held *held) {
    return ilk_rwlock_read_lock_until(&held->written, 0);
}
static ilk_status write_lock(struct held *held) {
    return ilk_rwlock_write_lock_until(&held->written, 0);
}
static ilk_status upgradable_lock(struct held *held) {
    return ilk_rwlock_upgradable_lock_until(&held->upgradable, 0);
}
static ilk_status semaphore_wait(struct held *held) {
    return ilk_semaphore_wait_until(&held->semaphore, 0);
}
static ilk_status mutex_lock(struct held *held) {
    return ilk_mutex_lock_until(&held->mutexes[0], 0);
}
static ilk_status inheriting_mutex_lock(struct held *held) {
    return ilk_mutex_lock_until(&held->mutexes[1], 0);
}
static ilk_status barrier_wait(struct held *held) {
    return ilk_barrier_wait_until(&held->barrier, 0, NULL);
}
static ilk_status latch_wait(struct held *held) {
    return ilk_latch_wait_until(&held->latch, 0);
}

/* Of the calling thread: each yield of a spin may take a busy thread's time slice. */
static uint64_t processor_time_ns(void) {
    struct timespec now;
    check_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void wait_for_what_is_held(void *context) {
    static const struct {
        const char *name;
        ilk_status (*wait)(struct held *held);
    } waits[] = {{"read_lock", read_lock},
                 {"write_lock", write_lock},
                 {"upgradable_lock", upgradable_lock},
                 {"semaphore", semaphore_wait},
                 {"mutex", mutex_lock},
                 {"inheriting mutex", inheriting_mutex_lock},
                 {"barrier", barrier_wait},
                 {"latch", latch_wait}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        uint64_t shortest = UINT64_MAX; /* the others were interrupted */
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            uint64_t start = processor_time_ns();
            check_equal(waits[i].wait(context), ILK_TIMEDOUT);
            uint64_t took = processor_time_ns() - start;
            shortest = took < shortest ? took : shortest;
        }
        if (shortest >= LONGEST_SPIN_NS) {
            fprintf(stderr, "%s: %llu ns at least\n", waits[i].name, (unsigned long long)shortest);
            check_failed(__FILE__, __LINE__, "a limit that has passed ends a wait after its spin");
        }
    }
}
/* contract: ilk_latch_wait_until, ilk_semaphore_wait, mutex.C, rwlock.D, semaphore.C */
TEST(a_limit_that_has_passed_ends_a_wait_after_its_spin) {
    static struct held held;
    ilk_rwlock_write_lock(&held.written);
    ilk_rwlock_upgradable_lock(&held.upgradable);
    ilk_barrier_init(&held.barrier, 2);
    ilk_latch_init(&held.latch, 1);
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex_init(&held.mutexes[inherits], inherits == 1);
        ilk_mutex_lock(&held.mutexes[inherits]);
    }
    struct thread thread;
    thread_start(&thread, wait_for_what_is_held, &held);
    thread_join(&thread);
    ilk_rwlock_write_unlock(&held.written);
    ilk_rwlock_upgradable_unlock(&held.upgradable);
    ilk_mutex_unlock(&held.mutexes[0]);
    ilk_mutex_unlock(&held.mutexes[1]);
}

void __real_ilk__thread_yield(void);
void __wrap_ilk__thread_yield(void);

static ILK_ATOMIC(int) yields;

void __wrap_ilk__thread_yield(void) {
    ilk_atomic_fetch_add(&yields, 1, memory_order_relaxed);
    __real_ilk__thread_yield();
}

/* The writer sleeps for each of the readers, which leave one after the other, and spins once for all: its spins end in
 * 32 yields before it has WRITER and 32 for readers in slots. */
/* contract: rwlock.H */
TEST(a_writer_spins_once_however_many_readers_are_in_slots) {
    enum { READERS = 8, YIELDS_OF_A_WAIT = 64 };
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct actor readers[READERS], writer;
    for (int i = 0; i < READERS; i++) {
        actor_enter(&readers[i], &lock, READ);
    }
    check_equal(counted_readers(&lock), 0);
    ilk_atomic_store(&yields, 0, memory_order_relaxed);
    actor_queue(&writer, &lock, WRITE, NULL);
    check(ilk_atomic_load(&yields, memory_order_relaxed) > 0);
    for (int i = 0; i < READERS; i++) {
        thread_await_sleep(&writer.thread);
        actor_leave(&readers[i]);
    }
    actor_await_inside(&writer);
    check(ilk_atomic_load(&yields, memory_order_relaxed) <= YIELDS_OF_A_WAIT);
    actor_leave(&writer);
    check_free_and_destroy(&lock);
}

/* ---- System calls ---- */

/* No thread is asleep. In the strict mode of seccomp(2) any system call but read, write and exit kills the
 * process. */
static void use_without_waiting(ilk_rwlock *lock) {
    for (int round = 0; round < 3; round++) {
        check(ilk_rwlock_try_read_lock(lock));
        check(!ilk_rwlock_try_write_lock(lock));
        check(ilk_rwlock_try_read_lock(lock));
        ilk_rwlock_read_unlock(lock);
        ilk_rwlock_read_unlock(lock);
        check(ilk_rwlock_try_write_lock(lock));
        check(!ilk_rwlock_try_read_lock(lock));
        check(!ilk_rwlock_try_write_lock(lock));
        ilk_rwlock_downgrade(lock);
        ilk_rwlock_read_unlock(lock);
        check(ilk_rwlock_try_write_lock(lock));
        ilk_rwlock_write_unlock(lock);
        ilk_rwlock_upgradable_lock(lock);
        check(!ilk_rwlock_try_write_lock(lock));
        ilk_rwlock_upgradable_unlock(lock);
    }
}

static void use_what_does_not_wait(void) {
    ilk_rwlock central = ILK_RWLOCK_INIT, slots = ILK_RWLOCK_INIT;
    move_to_slots(&slots);
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    ilk_latch latch;
    ilk_latch_init(&latch, 2);
    ilk_mutex mutexes[2];
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex_init(&mutexes[inherits], inherits == 1);
        check(ilk_mutex_try_lock(&mutexes[inherits])); /* a thread's first call learns its id */
        ilk_mutex_unlock(&mutexes[inherits]);
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        _exit(8);
    }
    use_without_waiting(&central);
    use_without_waiting(&slots);
    check(!ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_signal(&semaphore, 2);
    check(ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_wait(&semaphore);
    for (int count = 2; count > 0; count--) {
        check(!ilk_latch_try_wait(&latch));
        check_equal(ilk_latch_count(&latch), count);
        ilk_latch_count_down(&latch);
    }
    check(ilk_latch_try_wait(&latch));
    for (int inherits = 0; inherits < 2; inherits++) {
        check(ilk_mutex_try_lock(&mutexes[inherits]));
        check(!ilk_mutex_try_lock(&mutexes[inherits]));
        ilk_mutex_unlock(&mutexes[inherits]);
    }
    syscall(SYS_exit, 7);
}
/* contract: ilk_latch_count, ilk_latch_count_down, ilk_latch_try_wait, ilk_mutex_try_lock */
/* contract: ilk_semaphore_signal, rwlock.F, semaphore.E */
TEST(what_does_not_wait_makes_no_system_call) {
    need_children();
    int status;
    pid_t child = fork();
    check(child >= 0);
    if (is_child(child)) {
        use_what_does_not_wait();
    }
    check_equal(waitpid(child, &status, 0), child);
    skip_if(WIFEXITED(status) && WEXITSTATUS(status) == 8, "seccomp has no strict mode here");
    check(WIFEXITED(status)); /* not killed */
    check_equal(WEXITSTATUS(status), 7);
}

/* ---- membarrier(2) ---- */

bool __real_ilk__membarrier(void);
bool __wrap_ilk__membarrier(void);

static unsigned membarriers;

bool __wrap_ilk__membarrier(void) {
    membarriers++;
    return __real_ilk__membarrier();
}
/* contract: ilk_rwlock_try_write_lock, rwlock.F */
TEST(a_try_to_write_makes_one_membarrier_where_readers_leave_the_fence_out) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    membarriers = 0;
    use_without_waiting(&lock);
    check_equal(membarriers, 0);
    skip_if(!membarrier_works(), "membarrier is refused here");
    move_to_fence_free(&lock);
    for (unsigned round = 1; round <= 3; round++) { /* the second without a read since the last write */
        membarriers = 0;
        check(ilk_rwlock_try_write_lock(&lock));
        check_equal(membarriers, 1);
        ilk_rwlock_downgrade(&lock);
        ilk_rwlock_read_unlock(&lock);
        check(ilk_rwlock_try_read_lock(&lock));
        check_equal(membarriers, 1);
        check(!ilk_rwlock_try_write_lock(&lock)); /* a reader in a slot */
        check_equal(membarriers, 2);
        ilk_rwlock_read_unlock(&lock);
        check(ilk_rwlock_try_write_lock(&lock));
        ilk_rwlock_write_unlock(&lock);
        check_equal(membarriers, 3);
    }
    check_free_and_destroy(&lock);
}

/* ---- Reader slots, lists of checked builds, sizes ---- */

static void try_then_wait(void *context) {
    ilk_rwlock *lock = context;
    for (int round = 0; round < 3; round++) {
        check(ilk_rwlock_try_read_lock(lock));
        check_equal(counted_readers(lock), 1);
        check(!is_in_a_slot(lock));
        ilk_rwlock_read_unlock(lock);
    }
    ilk_rwlock_read_lock(lock); /* gets its slots */
    check_equal(counted_readers(lock), 0);
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
    check(ilk_rwlock_try_read_lock(lock));
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
}
/* contract: ilk_rwlock_try_read_lock */
TEST(a_thread_that_has_only_tried_is_counted) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct thread thread;
    thread_start(&thread, try_then_wait, &lock);
    thread_join(&thread);
    check_free_and_destroy(&lock);
}

enum { LISTED = 16 };
static ilk_rwlock listed[LISTED];

static void take_all_listed(void) {
    for (int i = 0; i < LISTED; i++) {
        ilk_rwlock_write_lock(&listed[i]);
    }
}

static void take_the_last_again(void *context) {
    take_all_listed();
    ilk_rwlock_write_lock(&listed[LISTED - 1]);
}

static void unlock_anothers_beside_sixteen(void *context) {
    take_all_listed();
    ilk_rwlock_write_unlock(context);
}

static void unlock_elsewhere_beside_sixteen(void *context) {
    static ilk_rwlock lock;
    static struct thread thread;
    ilk_rwlock_write_lock(&lock);
    thread_start(&thread, unlock_anothers_beside_sixteen, &lock);
    thread_join(&thread);
}

TEST(a_checked_build_lists_sixteen_locks_of_a_thread) {
    skip_unless_checked();
    expect_misuse(take_the_last_again, NULL, "ilk_rwlock_write_lock", "would wait for itself");
    expect_misuse(unlock_elsewhere_beside_sixteen, NULL, "ilk_rwlock_write_unlock", "another thread does");
}

/* ---- Fork ---- */

static struct {
    ilk_semaphore semaphore;
    ilk_latch latch;
    ilk_barrier barrier;
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
} idle;

static void use_idle_objects(void) {
    int out = 0;
    check_equal(ilk_semaphore_value(&idle.semaphore), 3);
    check(ilk_semaphore_try_wait(&idle.semaphore));
    check_equal(ilk_latch_count(&idle.latch), 2);
    ilk_latch_count_down(&idle.latch);
    ilk_latch_count_down(&idle.latch);
    check_equal(ilk_latch_wait_until(&idle.latch, 0), ILK_OK);
    check(ilk_barrier_wait(&idle.barrier));
    check(ilk_mutex_try_lock(&idle.mutex));
    ilk_mutex_unlock(&idle.mutex);
    ilk_rwlock_write_lock(&idle.lock);
    ilk_rwlock_write_unlock(&idle.lock);
    check(ilk_spsc_try_pop(idle.spsc, &out, sizeof out));
    check_equal(out, 5);
    check(ilk_mpmc_try_pop(idle.mpmc, &out, sizeof out));
    check_equal(out, 6);
    ilk_spsc_destroy(idle.spsc);
    ilk_mpmc_destroy(idle.mpmc);
    _exit(7);
}

TEST(a_child_finds_idle_objects_as_they_were) {
    need_children();
    const int five = 5, six = 6;
    ilk_semaphore_init(&idle.semaphore, 3);
    ilk_latch_init(&idle.latch, 2);
    ilk_barrier_init(&idle.barrier, 1);
    ilk_mutex_init(&idle.mutex, false);
    move_to_slots(&idle.lock);
    check_equal(ilk_spsc_create(&idle.spsc, 2, sizeof five), ILK_OK);
    check_equal(ilk_mpmc_create(&idle.mpmc, 2, sizeof six), ILK_OK);
    check(ilk_spsc_try_push(idle.spsc, &five, sizeof five));
    check(ilk_mpmc_try_push(idle.mpmc, &six, sizeof six));
    pid_t child = fork();
    check(child >= 0);
    if (is_child(child)) {
        use_idle_objects();
    }
    expect_exit(child, 7);
    ilk_spsc_destroy(idle.spsc);
    ilk_mpmc_destroy(idle.mpmc);
}
