/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox entered after the library has begun to count on membarrier(2): a seccomp filter refuses it.
 * Waiting and excluding go on, with fences. rwlock_refused_test.c has the processes that never had it.
 */
/* contract: docs/memory-model.md, docs/rwlock.md */
#include "rwlock/reader_slots.h"
#include "rwlock_two_libraries.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/sandbox.h"
#include "support/test.h"
#include <dlfcn.h>
#include <errno.h>
#include <interlock/interlock.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 60 };

/* Later threads inherit the filter. */
static void enter_sandbox(void) {
    check(sandbox_refuse(SYS_membarrier, EPERM));
    check_equal(syscall(SYS_membarrier, 0, 0, 0), -1);
}

/* A process of its own: nothing leaves a sandbox. */
static void in_a_process(void (*body)(void)) {
    skip_if(HAS_THREAD_SANITIZER,
            "ThreadSanitizer does not support threads in the child of a process with threads");
    skip_if(!membarrier_works(), "membarrier is refused already");
    fflush(NULL);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        alarm(LONGEST);
        body();
        fflush(NULL);
        _exit(7);
    }
    int status;
    check_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
        fprintf(stderr, "the process ended with status %#x\n", (unsigned)status);
        check_failed(__FILE__, __LINE__, "it goes on in the sandbox");
    }
}

/* ---- Rings ---- */

typedef uint64_t item;

enum { ITEMS = 500 };

static void push_slowly_spsc(void *context) {
    for (item i = 1; i <= ITEMS; i++) {
        check_equal(ilk_spsc_push_until(context, &i, sizeof i, ILK_FOREVER), ILK_OK);
    }
}

static void push_slowly_mpmc(void *context) {
    for (item i = 1; i <= ITEMS; i++) {
        check_equal(ilk_mpmc_push_until(context, &i, sizeof i, ILK_FOREVER), ILK_OK);
    }
}

static void pop_first(void *context) {
    item out;
    check_equal(ilk_mpmc_pop_until(context, &out, sizeof out, ILK_FOREVER), ILK_OK);
    check_equal(out, 1);
}

/* Both sides sleep again and again: a lost wake-up is a hang. */
static void rings(void) {
    ilk_spsc *one;
    ilk_mpmc *many;
    item out;
    check_equal(ilk_spsc_create(&one, 1, sizeof out), ILK_OK);
    check_equal(ilk_mpmc_create(&many, 1, sizeof out), ILK_OK);
    enter_sandbox();
    struct thread thread;
    thread_start(&thread, pop_first, many);
    thread_await_sleep(&thread);
    check(!membarrier_works());
    check(ilk_mpmc_try_push(many, &(item){1}, sizeof(item)));
    thread_join(&thread);
    check_equal(ilk_mpmc_pop_until(many, &out, sizeof out, ilk_deadline_in_ns(1000000)), ILK_TIMEDOUT);
    check_equal(ilk_spsc_pop_until(one, &out, sizeof out, ilk_deadline_in_ns(1000000)), ILK_TIMEDOUT);
    thread_start(&thread, push_slowly_spsc, one);
    for (item i = 1; i <= ITEMS; i++) {
        check_equal(ilk_spsc_pop_until(one, &out, sizeof out, ILK_FOREVER), ILK_OK);
        check_equal(out, i);
    }
    thread_join(&thread);
    thread_start(&thread, push_slowly_mpmc, many);
    for (item i = 1; i <= ITEMS; i++) {
        check_equal(ilk_mpmc_pop_until(many, &out, sizeof out, ILK_FOREVER), ILK_OK);
        check_equal(out, i);
    }
    thread_join(&thread);
    ilk_spsc_close(one);
    ilk_mpmc_close(many);
    check_equal(ilk_spsc_pop_until(one, &out, sizeof out, ILK_FOREVER), ILK_CLOSED);
    check_equal(ilk_mpmc_pop_until(many, &out, sizeof out, ILK_FOREVER), ILK_CLOSED);
    ilk_spsc_destroy(one);
    ilk_mpmc_destroy(many);
}

TEST(rings_go_on) {
    in_a_process(rings);
}

static void close_spsc(void) {
    ilk_spsc *ring;
    item out;
    check_equal(ilk_spsc_create(&ring, 1, sizeof out), ILK_OK);
    enter_sandbox();
    ilk_spsc_close(ring);
    check_equal(ilk_spsc_pop_until(ring, &out, sizeof out, ILK_FOREVER), ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

TEST(a_ring_can_be_closed) {
    in_a_process(close_spsc);
}

/* ---- fork ---- */

void __real_ilk__wait_for_stores(void);
void __wrap_ilk__wait_for_stores(void);

static ILK_ATOMIC(int) waits;
static struct stage *stops_in_wait; /* 1: stopped, 2: goes on */

void __wrap_ilk__wait_for_stores(void) {
    ilk_atomic_fetch_add(&waits, 1, memory_order_relaxed);
    if (stops_in_wait != NULL) {
        stage_reach(stops_in_wait, 1);
        stage_await(stops_in_wait, 2);
    }
    __real_ilk__wait_for_stores();
}

/* As if a signal ended each sleep at once. */
ilk_status __real_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);
ilk_status __wrap_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);

static _Thread_local bool is_interrupted;

ilk_status __wrap_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    return is_interrupted ? ILK_OK : __real_ilk_park_wait(word, expected, deadline_ns);
}

/* Stores that are waited for too short may not be seen yet. */
TEST(a_signal_does_not_shorten_the_wait_for_stores) {
    const uint64_t begin_ns = ilk_now_ns();
    is_interrupted = true;
    __real_ilk__wait_for_stores();
    is_interrupted = false;
    check(ilk_now_ns() - begin_ns >= MILLISECONDS(10));
}

static void fork_beside_the_change(void) {
    ilk_mpmc *ring;
    check_equal(ilk_mpmc_create(&ring, 1, sizeof(item)), ILK_OK);
    enter_sandbox();
    struct stage progress = STAGE_INIT;
    struct thread thread;
    stops_in_wait = &progress;
    thread_start(&thread, pop_first, ring);
    stage_await(&progress, 1);
    fflush(NULL);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        alarm(LONGEST);
        stops_in_wait = NULL;
        ilk_atomic_store(&waits, 0, memory_order_relaxed);
        ilk_spsc *own;
        check_equal(ilk_spsc_create(&own, 1, sizeof(item)), ILK_OK);
        ilk_spsc_close(own); /* executes a heavy fence */
        _exit(ilk_atomic_load(&waits, memory_order_relaxed) == 0 ? 7 : 3);
    }
    int status;
    check_equal(waitpid(child, &status, 0), child);
    check(WIFEXITED(status));
    check_equal(WEXITSTATUS(status), 7);
    stage_reach(&progress, 2);
    check(ilk_mpmc_try_push(ring, &(item){1}, sizeof(item)));
    thread_join(&thread);
    ilk_mpmc_destroy(ring);
}

TEST(a_child_does_not_wait_for_a_change_that_no_thread_makes) {
    in_a_process(fork_beside_the_change);
}

/* ---- Locks ---- */

static void sleep_for_a_slot(void) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    enter_sandbox();
    for (int round = 0; round < 20; round++) { /* the block is this thread's, from before */
        struct actor writer;
        ilk_rwlock_read_lock(&lock);
        check(is_in_a_slot(&lock));
        actor_queue(&writer, &lock, WRITE, NULL);
        ilk_rwlock_read_unlock(&lock);
        actor_await_inside(&writer);
        actor_leave(&writer);
        if (mode_of(&lock) == 0) {
            move_to_slots(&lock);
        }
    }
    check_free_and_destroy(&lock);
}

TEST(a_writer_sleeps_for_a_slot_that_was_taken_before) {
    in_a_process(sleep_for_a_slot);
}

struct guarded {
    ilk_rwlock lock;
    ILK_ATOMIC(int) stop;
    volatile uint64_t first, second; /* volatile, so that a broken lock shows */
};

static void read_on(void *context) {
    struct guarded *guarded = context;
    while (ilk_atomic_load(&guarded->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_read_lock(&guarded->lock);
        check_equal(guarded->first, guarded->second);
        ilk_rwlock_read_unlock(&guarded->lock);
    }
}

static void write_on(struct guarded *guarded, void (*lock)(ilk_rwlock *), void (*unlock)(ilk_rwlock *),
                     int writes) {
    for (int i = 0; i < writes; i++) {
        lock(&guarded->lock);
        guarded->first = guarded->first + 1;
        for (int pause = 0; pause < 20; pause++) {
            ilk_cpu_relax();
        }
        guarded->second = guarded->second + 1;
        unlock(&guarded->lock);
        for (volatile int pause = 0; pause < 500; pause++) {
        }
    }
}

static void write_lock(ilk_rwlock *lock) {
    ilk_rwlock_write_lock(lock);
}

static void write_unlock(ilk_rwlock *lock) {
    ilk_rwlock_write_unlock(lock);
}

static void fence_free_lock(void) {
    struct guarded guarded = {.lock = ILK_RWLOCK_INIT};
    move_to_fence_free(&guarded.lock);
    struct thread reader;
    thread_start(&reader, read_on, &guarded); /* outside: its membarrier would be granted */
    enter_sandbox();
    write_on(&guarded, write_lock, write_unlock, stress_rounds(20000));
    check_equal(mode_of(&guarded.lock) & ILK__RWLOCK_FENCE_FREE, 0);
    check(!membarrier_works());
    ilk_atomic_store(&guarded.stop, 1, memory_order_relaxed);
    thread_join(&reader);
    check_free_and_destroy(&guarded.lock);
}

TEST(a_lock_without_fences_gets_them_and_excludes) {
    in_a_process(fence_free_lock);
}

/* A try fails, and changes nothing, until a writer that may wait has led the lock out of this mode. */
static void tried_fence_free_lock(void) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_fence_free(&lock);
    enter_sandbox();
    check(!ilk_rwlock_try_write_lock(&lock));
    check_equal(word_of(&lock) & ILK__RWLOCK_WRITER, 0);
    check(ilk_rwlock_try_read_lock(&lock)); /* readers are not kept out by it */
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
    check_equal(mode_of(&lock) & ILK__RWLOCK_FENCE_FREE, 0);
    check(ilk_rwlock_try_write_lock(&lock));
    ilk_rwlock_write_unlock(&lock);
    check_free_and_destroy(&lock);
}
/* contract: ilk_rwlock_try_write_lock, rwlock.G */
TEST(a_try_to_write_waits_for_no_fence_that_is_refused) {
    in_a_process(tried_fence_free_lock);
}

/* Ten milliseconds each: once for the process, once for a lock whose readers had left the fence out, once for
 * a thread that a writer sleeps for. */
static void write_locks_with_a_limit(void) {
    ilk_rwlock fence_free = ILK_RWLOCK_INIT, fenced = ILK_RWLOCK_INIT;
    move_to_fence_free(&fence_free);
    move_to_slots(&fenced);
    enter_sandbox();
    ilk_atomic_store(&waits, 0, memory_order_relaxed);
    for (int round = 0; round < 20; round++) {
        ilk_rwlock_write_lock(&fence_free);
        ilk_rwlock_write_unlock(&fence_free);
        check_equal(ilk_atomic_load(&waits, memory_order_relaxed), 2);
    }
    for (int round = 0; round < 20; round++) { /* the block is this thread's, from before */
        struct actor writer;
        if (mode_of(&fenced) == 0) {
            move_to_slots(&fenced);
        }
        ilk_rwlock_read_lock(&fenced);
        actor_queue(&writer, &fenced, WRITE, NULL);
        check_equal(ilk_atomic_load(&waits, memory_order_relaxed), 3);
        ilk_rwlock_read_unlock(&fenced);
        actor_await_inside(&writer);
        actor_leave(&writer);
    }
    check_equal(ilk_atomic_load(&waits, memory_order_relaxed), 3);
}
/* contract: rwlock.D */
TEST(each_wait_for_refused_fences_is_made_once) {
    in_a_process(write_locks_with_a_limit);
}

/* The copy never had membarrier; the program's readers count on its writers to have it. */
static void fence_free_lock_of_two_copies(void) {
    struct guarded guarded = {.lock = ILK_RWLOCK_INIT};
    move_to_fence_free(&guarded.lock);
    struct thread reader;
    thread_start(&reader, read_on, &guarded);
    enter_sandbox();
    void *library = dlopen(FIRST_COPY, RTLD_NOW | RTLD_LOCAL);
    check(library != NULL);
    const struct rwlock_copy *calls = dlsym(library, "rwlock_copy");
    check(calls != NULL);
    calls->write_lock(&guarded.lock);
    check_equal(mode_of(&guarded.lock) & ILK__RWLOCK_FENCE_FREE, 0);
    calls->write_unlock(&guarded.lock);
    write_on(&guarded, calls->write_lock, calls->write_unlock, stress_rounds(20000));
    ilk_atomic_store(&guarded.stop, 1, memory_order_relaxed);
    thread_join(&reader);
    check_free_and_destroy(&guarded.lock);
}

TEST(a_copy_opened_in_the_sandbox_excludes_too) {
    in_a_process(fence_free_lock_of_two_copies);
}

/* The producer, outside, has membarrier and makes no fence of its own; the consumer's copy never had it. */
static void ring_of_two_copies(void) {
    ilk_spsc *ring;
    item out;
    check_equal(ilk_spsc_create(&ring, 1, sizeof out), ILK_OK);
    struct thread producer;
    thread_start(&producer, push_slowly_spsc, ring);
    enter_sandbox();
    void *library = dlopen(FIRST_COPY, RTLD_NOW | RTLD_LOCAL);
    check(library != NULL);
    const struct rwlock_copy *calls = dlsym(library, "rwlock_copy");
    check(calls != NULL);
    for (item i = 1; i <= ITEMS; i++) {
        check_equal(calls->pop(ring, &out), ILK_OK);
        check_equal(out, i);
    }
    thread_join(&producer);
    ilk_spsc_destroy(ring);
}

TEST(a_ring_may_be_waited_for_in_a_copy_opened_in_the_sandbox) {
    in_a_process(ring_of_two_copies);
}
