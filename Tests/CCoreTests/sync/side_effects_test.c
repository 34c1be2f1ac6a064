/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call of the core leaves alone, whether it sleeps, wakes or meets a refusal: errno, and a cancellation that is
 * pending. The same calls run with membarrier(2), where it is refused from the start, in a process that enters a
 * sandbox late, where they sleep until stores can be seen, and with diagnosis, which asks the system for names of
 * threads.
 */
/* contract: status.h */
#include "rwlock/slot_table.h"
#include "support/fork.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/sandbox.h"
#include "support/test.h"

#include <errno.h>
#include <interlock/inline/fence.h>
#include <interlock/interlock.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint64_t item;

/* What the calls meet, made before the sandbox. The main thread holds what is held. */
static struct {
    ilk_rwlock fence_free, read, written;
    ilk_mutex held, inheriting, free, first, second;
    ilk_semaphore semaphore;
    ilk_latch latch;
    ilk_barrier barrier;
    ilk_spsc *spsc, *spsc_full, *spsc_armed, *spsc_closing;
    ilk_mpmc *mpmc, *mpmc_full, *mpmc_armed, *mpmc_closing, *mpmc_held;
    ilk_pool *pool;
    ilk_wait_set *set;
    void *unmapped;
} s;

static void hear(void *context, ilk_ring_event event) {}

static void set_up(void) {
    const item value = 1;
    if (membarrier_works()) {
        move_to_fence_free(&s.fence_free);
    }
    ilk_rwlock_read_lock(&s.read);
    ilk_rwlock_write_lock(&s.written);
    ilk_mutex_init(&s.held, false);
    ilk_mutex_init(&s.inheriting, true);
    ilk_mutex_init(&s.free, true);
    ilk_mutex_init(&s.first, false);
    ilk_mutex_init(&s.second, false);
    ilk_mutex_lock(&s.held);
    ilk_mutex_lock(&s.inheriting);
    ilk_semaphore_init(&s.semaphore, 0);
    ilk_latch_init(&s.latch, 1);
    ilk_barrier_init(&s.barrier, 2);
    ilk_spsc **spsc[] = {&s.spsc, &s.spsc_full, &s.spsc_armed, &s.spsc_closing};
    ilk_mpmc **mpmc[] = {&s.mpmc, &s.mpmc_full, &s.mpmc_armed, &s.mpmc_closing, &s.mpmc_held};
    for (size_t i = 0; i < sizeof spsc / sizeof *spsc; i++) {
        check_equal(ilk_spsc_create(spsc[i], 1, sizeof value), ILK_OK);
    }
    for (size_t i = 0; i < sizeof mpmc / sizeof *mpmc; i++) {
        check_equal(ilk_mpmc_create(mpmc[i], 1, sizeof value), ILK_OK);
    }
    check(ilk_spsc_try_push(s.spsc_full, &value, sizeof value));
    check(ilk_mpmc_try_push(s.mpmc_full, &value, sizeof value));
    check(ilk_mpmc_try_push(s.mpmc_held, &value, sizeof value));
    ilk_spsc_set_notify(s.spsc_armed, hear, NULL);
    ilk_mpmc_set_notify(s.mpmc_armed, hear, NULL);
    const ilk_pool_options options = {.threads = 1};
    check_equal(ilk_pool_create(&s.pool, &options), ILK_OK);
    int descriptor;
    check_equal(ilk_wait_set_create(&s.set), ILK_OK);
    check_equal(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_READABLE, s.spsc), ILK_OK);
    check_equal(ilk_wait_set_descriptor(s.set, &descriptor), ILK_OK);
    s.unmapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check_equal(munmap(s.unmapped, 4096), 0);
}

/* ---- The calls ---- */

static uint64_t soon(void) {
    return ilk_deadline_in_ns(MILLISECONDS(1));
}

static void write_a_fence_free_lock(void) {
    ilk_rwlock_write_lock(&s.fence_free);
    ilk_rwlock_write_unlock(&s.fence_free);
}
static void wait_for_a_reader(void) {
    check_equal(ilk_rwlock_write_lock_until(&s.read, soon()), ILK_TIMEDOUT);
}
static void wait_for_a_writer(void) {
    check_equal(ilk_rwlock_read_lock_until(&s.written, soon()), ILK_TIMEDOUT);
    check_equal(ilk_rwlock_upgradable_lock_until(&s.written, soon()), ILK_TIMEDOUT);
}
static void wait_for_an_owner(void) {
    check_equal(ilk_mutex_lock_until(&s.held, soon()), ILK_TIMEDOUT);
}
static void wait_for_an_owner_of_priority(void) {
    check_equal(ilk_mutex_lock_until(&s.inheriting, soon()), ILK_TIMEDOUT);
}
static void take_both(ilk_mutex *first, ilk_mutex *second) {
    ilk_mutex_lock(first);
    ilk_mutex_lock(second);
    ilk_mutex_unlock(second);
    ilk_mutex_unlock(first);
}
/* The second order is reported where it is watched. With no file left to open a thread has no name. */
static void take_two_in_both_orders(void) {
    struct rlimit files;
    check_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit none = {STDERR_FILENO + 1, files.rlim_max};
    check_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    take_both(&s.first, &s.second);
    take_both(&s.second, &s.first);
    check_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}
static void wait_for_a_permit(void) {
    check_equal(ilk_semaphore_wait_until(&s.semaphore, soon()), ILK_TIMEDOUT);
}
static void wait_for_a_latch(void) {
    check_equal(ilk_latch_wait_until(&s.latch, soon()), ILK_TIMEDOUT);
}
static void wait_for_a_party(void) {
    check_equal(ilk_barrier_wait_until(&s.barrier, soon(), NULL), ILK_TIMEDOUT);
}
static bool never(void *unused) {
    return false;
}
static void wait_under_a_lock(void) {
    ilk_condition condition = ILK_CONDITION_INIT;
    ilk_mutex_lock(&s.free);
    check_equal(ilk_mutex_await_until(&s.free, never, NULL, soon()), ILK_TIMEDOUT);
    check_equal(ilk_condition_wait_until(&condition, &s.free, soon()), ILK_TIMEDOUT);
    ilk_mutex_unlock(&s.free);
    ilk_rwlock_read_lock(&s.read);
    check_equal(ilk_rwlock_read_await_until(&s.read, never, NULL, soon()), ILK_TIMEDOUT);
    check_equal(ilk_condition_read_wait_until(&condition, &s.read, soon()), ILK_TIMEDOUT);
    ilk_rwlock_read_unlock(&s.read);
}
/* With a descriptor, which a wake makes readable and a wait that finds nothing reads. */
static void wait_on_a_set(void) {
    void *keys[1];
    size_t count;
    check_equal(ilk_wait_set_wait_until(s.set, keys, 1, &count, soon()), ILK_TIMEDOUT);
    ilk_wait_set_wake(s.set);
    check_equal(ilk_wait_set_wait_until(s.set, keys, 1, &count, soon()), ILK_OK);
    check_equal(ilk_wait_set_wait_until(s.set, keys, 1, &count, 0), ILK_TIMEDOUT);
}
static void wait_in_spsc(void) {
    item value = 1;
    check_equal(ilk_spsc_pop_until(s.spsc, &value, sizeof value, soon()), ILK_TIMEDOUT);
    check_equal(ilk_spsc_push_until(s.spsc_full, &value, sizeof value, soon()), ILK_TIMEDOUT);
}
static void wait_in_mpmc(void) {
    item value = 1;
    check_equal(ilk_mpmc_pop_until(s.mpmc, &value, sizeof value, soon()), ILK_TIMEDOUT);
    check_equal(ilk_mpmc_push_until(s.mpmc_full, &value, sizeof value, soon()), ILK_TIMEDOUT);
}
static void arm(void) {
    check(ilk_spsc_arm_pop(s.spsc_armed));
    check(ilk_mpmc_arm_pop(s.mpmc_armed));
}
static void close_rings(void) {
    ilk_spsc_close(s.spsc_closing);
    ilk_mpmc_close(s.mpmc_closing);
    check(ilk_spsc_is_closed(s.spsc_closing));
    check(ilk_mpmc_is_closed(s.mpmc_closing));
}
static void wait_for_a_pool(void) {
    check_equal(ilk_pool_wait_until(s.pool, soon()), ILK_TIMEDOUT);
}
static void wake_where_no_memory_is(void) {
    ilk_park_wake(s.unmapped, ILK_PARK_ALL);
}
static void park(void) {
    ILK_ATOMIC(uint32_t) word = 0;
    check_equal(ilk_park_wait(&word, 1, ILK_FOREVER), ILK_OK); /* holds something else */
    check_equal(ilk_park_wait(&word, 0, soon()), ILK_TIMEDOUT);
}
/* AddressSanitizer ends the process else. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void ask_for_too_much(void) {
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    const size_t too_much = (size_t)PTRDIFF_MAX / 16;
    check_equal(ilk_spsc_create(&spsc, too_much, sizeof(item)), ILK_NOMEM);
    check_equal(ilk_mpmc_create(&mpmc, too_much / 2, sizeof(item)), ILK_NOMEM);
}

/* Another thread holds the slot at hand and releases it once this one sleeps. */
struct slot_holder {
    struct thread thread;
    struct thread *waits;
    struct stage shown;
};
static void hold_slot(void *context) {
    struct slot_holder *holder = context;
    size_t count = 1;
    check(ilk_mpmc_peek(s.mpmc_held, &count) != NULL);
    stage_reach(&holder->shown, 1);
    stage_await(&holder->shown, 2);
    while (!thread_sleeps(holder->waits)) {
    }
    ilk_mpmc_release(s.mpmc_held, 1);
}

static const struct {
    const char *name;
    void (*body)(void);
} calls[] = {
    {"a write of a fence-free lock", write_a_fence_free_lock},
    {"a wait for a reader", wait_for_a_reader},
    {"a wait for a writer", wait_for_a_writer},
    {"a wait for an owner", wait_for_an_owner},
    {"a wait for an owner that inherits priority", wait_for_an_owner_of_priority},
    {"two locks in both orders", take_two_in_both_orders},
    {"a wait for a permit", wait_for_a_permit},
    {"a wait for a latch", wait_for_a_latch},
    {"a wait for a party", wait_for_a_party},
    {"a wait under a lock", wait_under_a_lock},
    {"a wait on a set", wait_on_a_set},
    {"a wait in ilk_spsc", wait_in_spsc},
    {"a wait in ilk_mpmc", wait_in_mpmc},
    {"an arm", arm},
    {"a close", close_rings},
    {"a wait for a pool", wait_for_a_pool},
    {"a wake-up where no memory is", wake_where_no_memory_is},
    {"parking", park},
    {"a ring too large", ask_for_too_much},
};

enum { CALLS = sizeof calls / sizeof *calls, MINE = 4711 };

struct caller {
    struct thread thread;
    struct slot_holder *holder; /* NULL: makes all the calls instead */
    bool with_cancellation;
    struct stage ended;
};

/* One claim at a time: a failed check prints, which is a cancellation point. */
static void check_errno(const struct caller *caller) {
    if (!caller->with_cancellation) {
        check_equal(errno, MINE);
    }
}

static void make_calls(struct caller *caller) {
    for (size_t i = 0; caller->holder == NULL && i < CALLS; i++) {
        check_during(calls[i].name, 0);
        errno = MINE;
        calls[i].body();
        check_errno(caller);
    }
    if (caller->holder != NULL) {
        const item value = 2;
        item evicted;
        check_during("an overwriting push", 0);
        errno = MINE;
        check(!ilk_mpmc_push_overwriting(s.mpmc_held, &value, sizeof value, &evicted));
        check_errno(caller);
    }
}

/* If a call acts on the cancellation, its thread ends before the stage. */
static void run_caller(void *context) {
    struct caller *caller = context;
    int state;
    check_equal(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
    if (caller->holder != NULL) {
        stage_await(&caller->holder->shown, 1);
        stage_reach(&caller->holder->shown, 2);
    }
    if (caller->with_cancellation) {
        check_equal(pthread_cancel(pthread_self()), 0);
    }
    check_equal(pthread_setcancelstate(state, &state), 0);
    make_calls(caller);
    check_equal(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
    stage_reach(&caller->ended, 1);
}

static void run(struct slot_holder *holder, bool with_cancellation) {
    struct caller caller = {.holder = holder, .with_cancellation = with_cancellation, .ended = STAGE_INIT};
    if (holder != NULL) {
        holder->waits = &caller.thread;
        thread_start(&holder->thread, hold_slot, holder);
    }
    thread_start(&caller.thread, run_caller, &caller);
    void *result;
    check_equal(pthread_join(caller.thread.id, &result), 0);
    check(result != PTHREAD_CANCELED);
    check_equal(stage_now(&caller.ended), 1);
    if (holder != NULL) {
        thread_join(&holder->thread);
    }
}

/* ---- The places ---- */

static void with_membarrier(void) {
    set_up();
}

static void refused_from_the_start(void) {
    ilk_atomic_store(&ilk__membarrier_works, false, memory_order_relaxed);
    set_up();
}

static void in_a_late_sandbox(void) {
    set_up();
    check(sandbox_refuse(SYS_membarrier, EPERM));
}

static void in_a_late_sandbox_of_an_old_kernel(void) {
    set_up();
    check(sandbox_refuse(SYS_membarrier, ENOSYS));
    check(sandbox_refuse_futex(FUTEX_LOCK_PI2, ENOSYS));
}

static void watched(void) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    set_up();
}

static void run_everywhere(bool with_cancellation) {
    need_children();
    static const struct {
        const char *name;
        void (*enter)(void);
    } places[] = {
        {"with membarrier", with_membarrier},
        {"refused from the start", refused_from_the_start},
        {"in a late sandbox", in_a_late_sandbox},
        {"in a late sandbox of an old kernel", in_a_late_sandbox_of_an_old_kernel},
        {"watched", watched},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        fprintf(stderr, "%s\n", places[i].name);
        fflush(NULL);
        pid_t child = fork();
        if (is_child(child)) {
            places[i].enter();
            run(NULL, with_cancellation);
            struct slot_holder holder = {.shown = STAGE_INIT};
            run(&holder, with_cancellation);
            _exit(7);
        }
        expect_exit(child, 7);
    }
}
/* contract: ilk_mpmc_close, ilk_spsc_close */
TEST(no_call_is_a_cancellation_point) {
    run_everywhere(true);
}

TEST(every_call_keeps_errno) {
    run_everywhere(false);
}

/* A thread that reads where all blocks are taken, and is refused memory for more. */
static void read_without_memory(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check(sandbox_refuse(SYS_mmap, ENOMEM));
    errno = MINE;
    check_equal(ilk_rwlock_read_lock_until(&lock, 0), ILK_OK);
    check_equal(errno, MINE);
    check(ilk__my_slots() == &ilk__no_slots_2);
    ilk_rwlock_read_unlock(&lock);
}

TEST(a_read_without_memory_keeps_errno) {
    need_children();
    skip_if(HAS_ADDRESS_SANITIZER, "AddressSanitizer maps memory for each thread, which the test refuses");
    fflush(NULL);
    pid_t child = fork();
    if (is_child(child)) {
        for (size_t block = 0; block < ILK__CHUNK_BLOCKS; block++) {
            ilk_atomic_store(&ilk__slot_table_2.chunks.blocks[block].taken, 1, memory_order_relaxed);
        }
        ilk_atomic_store(&ilk__slot_table_2.block_count, ILK__CHUNK_BLOCKS, memory_order_seq_cst);
        struct thread thread;
        thread_start(&thread, read_without_memory, NULL);
        thread_join(&thread);
        _exit(7);
    }
    expect_exit(child, 7);
}
