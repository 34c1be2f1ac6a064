/* SPDX-License-Identifier: Apache-2.0
 *
 * fork in the middle of the library's own changes (a table that grows, a list of names, a bucket of
 * sleepers), by another thread or a signal handler. The linker (--wrap) puts functions of this file there.
 * See docs/fork.md.
 */
/* contract: diagnostics.h, docs/fork.md, docs/rwlock.md, rwlock.h */
#include "platform/exit.h"
#include "platform/native.h"
#include "platform/pages.h"
#include "platform/port.h"
#include "rwlock/reader_slots.h"
#include "rwlock/slot_table.h"
#include "support/fork.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include <interlock/interlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Places ---- */

/* What the next thread that passes does; once. */
static struct place {
    void (*action)(void *context);
    void *context;
} at_pages, at_exit_hook, at_copy, at_signal;

static void set(struct place *place, void (*action)(void *context), void *context) {
    place->context = context;
    __atomic_store_n(&place->action, action, __ATOMIC_RELEASE);
}

static void pass(struct place *place) {
    void (*action)(void *context) = __atomic_exchange_n(&place->action, NULL, __ATOMIC_ACQ_REL);
    if (action != NULL) {
        action(place->context);
    }
}

static bool was_passed(struct place *place) {
    return __atomic_load_n(&place->action, __ATOMIC_ACQUIRE) == NULL;
}

void *__real_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size);
bool __real_ilk__at_thread_exit(void (*hook)(void *context), void *context);
bool __wrap_ilk__at_thread_exit(void (*hook)(void *context), void *context);
size_t __real_strlcpy(char *to, const char *from, size_t size);
size_t __wrap_strlcpy(char *to, const char *from, size_t size);
void __real_ilk__native_condition_signal(ilk__native_condition *condition);
void __wrap_ilk__native_condition_signal(ilk__native_condition *condition);

/* A thread adds a new chunk's first block to the table of slots. */
void *__wrap_ilk__pages_allocate(size_t size) {
    pass(&at_pages);
    return __real_ilk__pages_allocate(size);
}

/* A thread has taken a block, and not recorded it yet. */
bool __wrap_ilk__at_thread_exit(void (*hook)(void *context), void *context) {
    pass(&at_exit_hook);
    return __real_ilk__at_thread_exit(hook, context);
}

/* A thread has the list of names. */
size_t __wrap_strlcpy(char *to, const char *from, size_t size) {
    pass(&at_copy);
    return __real_strlcpy(to, from, size);
}

/* A thread holds a bucket of sleepers: pthread park backend only. */
void __wrap_ilk__native_condition_signal(ilk__native_condition *condition) {
    pass(&at_signal);
    __real_ilk__native_condition_signal(condition);
}

static void fork_a_writer(void *context) {
    ilk_rwlock *lock = context;
    pid_t child = fork();
    if (is_child(child)) {
        ilk_rwlock_write_lock(lock);
        ilk_rwlock_write_unlock(lock);
        _exit(7);
    }
    expect_exit(child, 7);
}

/* ---- The table of slots ---- */

static uint32_t block_count(void) {
    return ilk_atomic_load(&ilk__slot_table_2.block_count, memory_order_relaxed);
}

/* Readers in all blocks of the first chunk: the next new reader makes a chunk. */
struct full_table {
    ilk_rwlock lock;
    struct actor readers[ILK__CHUNK_BLOCKS];
    int count;
};

static void fill_table(struct full_table *table) {
    memset(table, 0, sizeof *table);
    move_to_slots(&table->lock);
    while (block_count() < ILK__CHUNK_BLOCKS) {
        actor_enter(&table->readers[table->count++], &table->lock, READ);
    }
    check_equal(table->count, ILK__CHUNK_BLOCKS - 1); /* and this thread's */
}

static void empty_table(struct full_table *table) {
    while (table->count > 0) {
        actor_leave(&table->readers[--table->count]);
    }
    check_free_and_destroy(&table->lock);
}

/*  the thread that reads first            its signal handler
 *    has no block, and there is none free
 *    makes a chunk
 *                                           fork: does not wait for it
 *    goes on */
TEST(a_thread_that_adds_to_the_table_may_fork) {
    need_children();
    static struct full_table table;
    fill_table(&table);
    set(&at_pages, fork_a_writer, &table.lock);
    struct actor reader;
    actor_enter(&reader, &table.lock, READ);
    check(was_passed(&at_pages));
    check_equal(block_count(), ILK__CHUNK_BLOCKS + 1);
    actor_leave(&reader);
    empty_table(&table);
}

static void stop_until_forked(void *context) {
    struct stage *forked = context; /* 1: stopped here, 2: the other thread has forked */
    stage_reach(forked, 1);
    stage_await(forked, 2);
}

/*  a thread that reads first     another
 *    makes a chunk
 *                                  fork: does not wait for it, so that it may be of real-time priority and
 *                                  keep it off the core
 *    goes on */
TEST(fork_does_not_wait_for_a_thread_that_adds_to_the_table) {
    need_children();
    static struct full_table table;
    fill_table(&table);
    struct stage forked = STAGE_INIT;
    set(&at_pages, stop_until_forked, &forked);
    struct actor reader;
    actor_start(&reader, &table.lock, READ, NULL);
    stage_await(&forked, 1);
    fork_a_writer(&table.lock);
    stage_reach(&forked, 2);
    actor_await_inside(&reader);
    actor_leave(&reader);
    empty_table(&table);
}

/* Two threads make the same chunk: one of the two is freed. */
struct beside {
    struct full_table *table;
    struct actor reader;
};

static void read_beside(void *context) {
    struct beside *beside = context;
    actor_enter(&beside->reader, &beside->table->lock, READ);
}

TEST(two_threads_may_add_the_same_chunk) {
    alarm(LONGEST);
    static struct full_table table;
    fill_table(&table);
    struct beside beside = {.table = &table};
    set(&at_pages, read_beside, &beside);
    struct actor reader;
    actor_enter(&reader, &table.lock, READ);
    check(was_passed(&at_pages));
    check_equal(block_count(), ILK__CHUNK_BLOCKS + 2);
    for (int both = 0; both < 2; both++) {
        check(!ilk_rwlock_try_write_lock(&table.lock));
        actor_leave(both == 0 ? &reader : &beside.reader);
    }
    empty_table(&table);
}

/* ---- A block that its thread is taking ---- */

static ILK_ATOMIC(int) forked_by_handler;
static bool in_child;

static void fork_in_handler(int signal) {
    pid_t child = fork();
    if (is_child(child)) {
        in_child = true;
        return; /* the child goes on with what the signal interrupted */
    }
    expect_exit(child, 7);
    ilk_atomic_fetch_add(&forked_by_handler, 1, memory_order_relaxed);
}

static void raise_signal(void *context) {
    raise(SIGUSR1);
}

static unsigned blocks_that_hold(const ilk_rwlock *lock) {
    unsigned count = 0;
    for (uint32_t index = 0; index < block_count(); index++) {
        uint64_t seen =
            ilk__slot_load(&ilk__slot_table_2.chunks.blocks[index], ilk__rwlock_slot_number(lock));
        count += ilk__slot_names(seen, lock) ? 1 : 0;
    }
    return count;
}

static void read_where_a_signal_comes(void *context) {
    ilk_rwlock *lock = context;
    set(&at_exit_hook, raise_signal, NULL);
    ilk_rwlock_read_lock(lock);
    check(was_passed(&at_exit_hook));
    if (in_child) {
        struct actor readers[2]; /* one takes the first thread's block, which has no owner here */
        for (int i = 0; i < 2; i++) {
            actor_enter(&readers[i], lock, READ);
        }
        int answer = blocks_that_hold(lock) == 3 ? 7 : 3; /* each in a block of its own */
        for (int i = 0; i < 2; i++) {
            actor_leave(&readers[i]);
        }
        answer = ilk_rwlock_try_write_lock(lock) ? 4 : answer;
        ilk_rwlock_read_unlock(lock);
        answer = ilk_rwlock_try_write_lock(lock) ? answer : 5;
        _exit(answer);
    }
    ilk_rwlock_read_unlock(lock);
}

/*  the thread that reads first            its signal handler
 *    takes a free block
 *                                           fork; in the child, returns
 *    child: goes on to read in that block, which must have no other owner */
TEST(a_child_that_goes_on_reading_has_its_block_to_itself) {
    need_children();
    const struct sigaction action = {.sa_handler = fork_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct thread thread;
    thread_start(&thread, read_where_a_signal_comes, &lock);
    thread_join(&thread);
    check_equal(ilk_atomic_load(&forked_by_handler, memory_order_relaxed), 1);
    check_free_and_destroy(&lock);
}

static ilk_rwlock read_by_handler = ILK_RWLOCK_INIT;

static void read_in_handler(int signal) {
    ilk_rwlock_read_lock(&read_by_handler);
    check(is_in_a_slot(&read_by_handler));
    ilk_rwlock_read_unlock(&read_by_handler);
}

static void read_beside_a_handler(void *context) {
    const uint32_t before = block_count();
    read_where_a_signal_comes(context);
    check_equal(block_count(), before + 1); /* one for both */
}

TEST(a_handler_may_read_while_the_thread_takes_its_block) {
    alarm(LONGEST);
    const struct sigaction action = {.sa_handler = read_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    move_to_slots(&read_by_handler);
    struct thread thread;
    thread_start(&thread, read_beside_a_handler, &lock);
    thread_join(&thread);
    check_free_and_destroy(&lock);
    check_free_and_destroy(&read_by_handler);
}

/* ---- Names ---- */

static ILK_ATOMIC(int) fork_begins, fork_is_over;

/* Asleep, not in a short call of futex(2). */
static bool stays_asleep(const struct thread *thread) {
    for (int times = 0; times < 50; times++) {
        if (!thread_sleeps(thread)) {
            return false;
        }
        sched_yield();
    }
    return true;
}

static void stop_until_the_other_sleeps_or_has_forked(void *context) {
    struct thread *other = context;
    yield_while(ilk_atomic_load(&fork_begins, memory_order_acquire) == 0);
    yield_while(ilk_atomic_load(&fork_is_over, memory_order_acquire) == 0 && !stays_asleep(other));
}

struct naming {
    ilk_semaphore *object;
    struct stage progress; /* 1: the names are about to be taken */
};

static void give_name(void *context) {
    struct naming *naming = context;
    stage_reach(&naming->progress, 1);
    check_equal(ilk_set_name(naming->object, "named by another thread"), ILK_OK);
}

static void fork_and_destroy(void *context) {
    ilk_semaphore *object = context;
    yield_while(!was_passed(&at_copy));
    ilk_atomic_store(&fork_begins, 1, memory_order_release);
    pid_t child = fork();
    ilk_atomic_store(&fork_is_over, 1, memory_order_release);
    if (is_child(child)) {
        char name[ILK_NAME_SIZE];
        bool has_name = ilk_get_name(object, name, sizeof name);
        ilk_semaphore_destroy(object);
        _exit(has_name && strcmp(name, "named by another thread") == 0 ? 7 : 3);
    }
    expect_exit(child, 7);
}

/*  a thread that names an object     another
 *    has the list of names
 *                                      fork
 *    goes on
 *                                      child: asks for the name, and destroys the object */
TEST(a_child_can_use_the_names_that_another_thread_was_writing) {
    need_children();
    ilk_semaphore object;
    ilk_semaphore_init(&object, 1);
    struct thread forker, namer;
    struct naming naming = {.object = &object, .progress = STAGE_INIT};
    check_equal(ilk_set_name(&object, "named before"), ILK_OK); /* another name is written in the list */
    set(&at_copy, stop_until_the_other_sleeps_or_has_forked, &forker);
    thread_start(&forker, fork_and_destroy, &object);
    thread_start(&namer, give_name, &naming);
    thread_join(&namer);
    thread_join(&forker);
    ilk_semaphore_destroy(&object);
}

static void fork_in_handler_and_use_names(int signal) {
    pid_t child = fork();
    if (is_child(child)) {
        _exit(7);
    }
    expect_exit(child, 7);
    ilk_atomic_fetch_add(&forked_by_handler, 1, memory_order_relaxed);
}

TEST(a_handler_that_interrupts_naming_may_fork) {
    need_children();
    const struct sigaction action = {.sa_handler = fork_in_handler_and_use_names};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    int object = 0;
    check_equal(ilk_set_name(&object, "named before"), ILK_OK);
    set(&at_copy, raise_signal, NULL);
    check_equal(ilk_set_name(&object, "named"), ILK_OK);
    check(was_passed(&at_copy));
    check_equal(ilk_atomic_load(&forked_by_handler, memory_order_relaxed), 1);
    check_equal(ilk_set_name(&object, NULL), ILK_OK);
}

/* Handlers from before the library was loaded run while the library has its list of names. */
static int named_by_handlers;
static bool handlers_name;

static void name_in_fork_handler(void) {
    if (!handlers_name) {
        return;
    }
    char name[ILK_NAME_SIZE];
    check_equal(ilk_set_name(&named_by_handlers, "fork"), ILK_OK);
    check(ilk_get_name(&named_by_handlers, name, sizeof name));
    check_equal(ilk_set_name(&named_by_handlers, NULL), ILK_OK);
}

/* Before the library's own constructors. */
__attribute__((constructor(101))) static void watch_fork_early(void) {
    (void)pthread_atfork(name_in_fork_handler, name_in_fork_handler, name_in_fork_handler);
}

TEST(fork_handlers_of_any_age_may_use_names) {
    need_children();
    (void)pthread_atfork(name_in_fork_handler, name_in_fork_handler, name_in_fork_handler);
    handlers_name = true;
    fflush(NULL);
    pid_t child = fork();
    if (is_child(child)) {
        _exit(7);
    }
    expect_exit(child, 7);
}

/* ---- Sleepers ---- */

static ILK_ATOMIC(uint32_t) slept_on;

static void sleep_once(void *context) {
    while (ilk_atomic_load(&slept_on, memory_order_acquire) == 0) {
        (void)ilk_park_wait(&slept_on, 0, ILK_FOREVER);
    }
}

static void wake_sleepers(void *context) {
    ilk_atomic_store(&slept_on, 1, memory_order_release);
    ilk_park_wake(&slept_on, ILK_PARK_ALL);
}

/*  two sleepers    one that wakes them       another
 *    sleep
 *                    has the list of sleepers
 *                                              fork
 *                                              child: sleeps and wakes one, by the same list */
/* contract: park.E */
TEST(a_child_can_sleep_where_another_thread_was_waking) {
    need_children();
#if ILK__PARK_FUTEX
    skip_because("the kernel keeps the sleepers; the pthread park backend runs this");
#endif
    struct stage forked = STAGE_INIT;
    struct thread sleepers[2], waker;
    for (int i = 0; i < 2; i++) {
        thread_start(&sleepers[i], sleep_once, NULL);
        thread_await_sleep(&sleepers[i]);
    }
    set(&at_signal, stop_until_forked, &forked);
    thread_start(&waker, wake_sleepers, NULL);
    stage_await(&forked, 1);
    pid_t child = fork();
    if (is_child(child)) {
        struct thread another;
        ilk_atomic_store(&slept_on, 0, memory_order_release);
        thread_start(&another, sleep_once, NULL);
        thread_await_sleep(&another);
        ilk_atomic_store(&slept_on, 1, memory_order_release);
        ilk_park_wake(&slept_on, 1); /* the parent's sleepers are not in the way */
        thread_join(&another);
        _exit(ilk_park_wait(&slept_on, 1, ilk_now_ns()) == ILK_TIMEDOUT ? 7 : 3);
    }
    stage_reach(&forked, 2);
    expect_exit(child, 7);
    thread_join(&waker);
    for (int i = 0; i < 2; i++) {
        thread_join(&sleepers[i]);
    }
}
