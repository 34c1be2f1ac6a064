/* SPDX-License-Identifier: Apache-2.0
 *
 * What diagnosis remembers of threads and objects, at the moments that stress seldom meets: the linker puts the test
 * where a signal, another thread or an end comes in between.
 */
/* contract: diagnostics.h */
#include "diagnostics/edges.h"
#include "diagnostics/observe.h"
#include "diagnostics/reports.h"
#include "diagnostics/rings.h"
#include "diagnostics/stack.h"
#include "diagnostics/tables.h"
#include "support/fork.h"
#include <interlock/inline/atomic.h>
#include <interlock/inline/diagnose.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void take(ilk_mutex *mutex) {
    ilk_mutex_lock(mutex);
    ilk_mutex_unlock(mutex);
}

static bool holds(struct ilk__record *record, const void *object) {
    for (unsigned place = 0; place < ilk__held_places(record); place++) {
        if (ilk__object_address(ilk__held_object(&record->held[place])) == object) {
            return true;
        }
    }
    return false;
}

static void on_signal(void (*handler)(int number)) {
    struct sigaction action = {.sa_handler = handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* ---- Objects that follow each other ---- */

/* Two mutexes of one list of the index: the second gets the first's place there. */
static struct {
    ilk_mutex first;
    ilk_mutex others[4096];
    ilk_mutex *second;
} places;

static uint64_t list_of(const void *object) {
    return ilk__index_hash((uintptr_t)object) >> 32 & (ILK__INDEX_FIRST - 1);
}

static void find_second(void) {
    places.second = places.others;
    while (list_of(places.second) != list_of(&places.first)) {
        places.second++;
        check(places.second < places.others + sizeof places.others / sizeof *places.others);
    }
}

static void take_each(void *unused) {
    take(&places.first);
    take(places.second);
}

/* Has the first locked, and the waiter asleep for it; its object in the table. */
static struct ilk__object *wait_for_first(struct thread *waiter) {
    find_second();
    ilk_mutex_init(&places.first, false);
    ilk_mutex_lock(&places.first);
    thread_start(waiter, take_each, NULL);
    thread_await_sleep(waiter);
    return ilk__object_find(&places.first);
}

/* The second takes the place of `object`, and the first is given up. */
static void replace_by_second(struct ilk__object *object, struct thread *waiter) {
    ilk_mutex_init(places.second, false);
    check(ilk__object_find(places.second) == object);
    ilk_mutex_unlock(&places.first);
    thread_join(waiter);
}

/*  main                          waiter
 *    locks the first
 *                                  waits for it
 *    switches off and on
 *    makes the second
 *    unlocks the first
 *                                  has it, and takes the second */
TEST(a_lock_is_not_held_by_a_thread_that_waited_for_the_one_before_it) {
    struct thread waiter;
    begin_reports();
    struct ilk__object *object = wait_for_first(&waiter);
    ilk_diagnose(0);
    check_equal(ilk_mutex_observe(&places.first, 0), ILK_OK);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    replace_by_second(object, &waiter);
    check_equal(reports.count, 0);
    check_equal(object->acquisitions, 1);
}

static bool find_figures(const void *object, const ilk_figures *figures, size_t count, ilk_figures *found) {
    for (size_t index = 0; index < count; index++) {
        if (figures[index].object == object) {
            *found = figures[index];
            return true;
        }
    }
    return false;
}

/* A call that finds the object not watched settles it; an observe has come in between. */
TEST(what_an_observe_has_begun_stands_as_another_call_settles) {
    static ilk_mutex mutex;
    check(ilk__object_watch(&mutex, ILK_OBJECT_MUTEX, ILK_DIAGNOSE_ORDER) != NULL);
    sigset_t before;
    ilk__tables_lock(&before);
    const bool stays = ilk__object_settle(&mutex, false);
    const bool stays_as_new = ilk__object_settle(&mutex, true);
    ilk__tables_unlock(&before);
    check(stays && !stays_as_new);
    check(ilk__object_find(&mutex) == NULL);
}

/* The object ends while a thread waits for it, and another one takes its place in the table. */
TEST(a_wait_for_what_has_ended_is_not_in_the_figures_of_the_next) {
    static ilk_figures figures[8];
    ilk_figures mine;
    struct thread waiter;
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    struct ilk__object *object = wait_for_first(&waiter);
    ilk__object_forget(&places.first);
    replace_by_second(object, &waiter);
    check(find_figures(places.second, figures, ilk_figures_snapshot(figures, 8), &mine));
    check_equal(mine.acquisitions, 1);
    check_equal(mine.hold.count, 1);
    check_equal(mine.wait.count, 0);
}

/* Its times are those of the one before, emptied. */
TEST(an_object_begins_with_times_of_its_own) {
    static ilk_mutex earlier, later;
    static ilk_figures figures[8];
    ilk_figures mine;
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_mutex_init(&earlier, false);
    take(&earlier);
    const size_t before = ilk_figures_snapshot(figures, 8);
    check(find_figures(&earlier, figures, before, &mine));
    check_equal(mine.hold.count, 1);
    const struct ilk__counters *times = ilk__object_times(ilk__object_find(&earlier));
    ilk__object_forget(&earlier);
    ilk_mutex_init(&later, false);
    check(ilk__object_times(ilk__object_find(&later)) == times);
    const size_t after = ilk_figures_snapshot(figures, 8);
    check(find_figures(&later, figures, after, &mine));
    check_equal(mine.hold.count, 0);
    check_equal(mine.hold.total_ns, 0);
    check_equal(mine.longest_holder, 0);
    for (unsigned bucket = 0; bucket < ILK_HISTOGRAM_BUCKETS; bucket++) {
        check_equal(mine.hold.buckets[bucket], 0);
    }
}

/* A lock that is initialised where it is defined has no call of its own as it begins. */
TEST(an_object_of_another_kind_at_an_address_is_another_object) {
    static const char memory = 0;
    const struct ilk__object *mutex = ilk__object_of(&memory, ILK_OBJECT_MUTEX);
    const uint64_t before = ilk__object_id(mutex);
    const struct ilk__object *lock = ilk__object_of(&memory, ILK_OBJECT_RWLOCK);
    check_equal(ilk__object_kind_of(lock), ILK_OBJECT_RWLOCK);
    check(ilk__object_id(lock) != before);
    check(ilk__object_of(&memory, ILK_OBJECT_RWLOCK) == lock);
    check(ilk__object_find(&memory) == lock);
}

TEST(what_has_ended_leaves_its_place_among_32_shares) {
    static ilk_mutex held[ILK__HELD_MOST], another;
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&another, false);
    for (unsigned index = 0; index < ILK__HELD_MOST; index++) {
        ilk_mutex_init(&held[index], false);
        ilk_mutex_lock(&held[index]);
    }
    ilk__object_forget(&held[1]);
    ilk_mutex_lock(&another);
    struct ilk__record *mine = ilk__record_mine();
    check(holds(mine, &another) && holds(mine, &held[0]) && holds(mine, &held[ILK__HELD_MOST - 1]));
    check_equal(ilk__held_places(mine), ILK__HELD_MOST);
}

/* The first and the last as well. */
TEST(what_has_ended_leaves_its_place_wherever_it_was_among_32_shares) {
    static ilk_mutex held[ILK__HELD_MOST], another;
    static const unsigned ended[] = {0, ILK__HELD_MOST - 1};
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    for (unsigned index = 0; index < ILK__HELD_MOST; index++) {
        ilk_mutex_init(&held[index], false);
        ilk_mutex_lock(&held[index]);
    }
    struct ilk__record *mine = ilk__record_mine();
    for (unsigned round = 0; round < sizeof ended / sizeof *ended; round++) {
        ilk__object_forget(ilk__object_address(ilk__held_object(&mine->held[ended[round]])));
        ilk_mutex_init(&another, false);
        ilk_mutex_lock(&another);
        check(holds(mine, &another));
        ilk_mutex_unlock(&another);
        ilk_mutex_init(&another, false);
        ilk_mutex_lock(&another); /* fills the place */
    }
}

static void expect_same_share(const struct ilk__held_share *held, const struct ilk__held_share *expected) {
    check(ilk__held_object(held) == ilk__held_object(expected));
    check_equal(ilk__record_get(&held->id), ilk__record_get(&expected->id));
    check_equal(ilk__record_get(&held->since_ns), ilk__record_get(&expected->since_ns));
    check_equal(ilk__record_get(&held->site), ilk__record_get(&expected->site));
    check_equal(ilk__record_get(&held->share), ilk__record_get(&expected->share));
}

TEST(of_two_reads_the_later_is_given_up_first) {
    static ilk_rwlock lock;
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_rwlock_init(&lock);
    ilk_rwlock_read_lock(&lock);
    struct ilk__record *mine = ilk__record_mine();
    const struct ilk__held_share expected = mine->held[0];
    while (ilk_now_ns() <= ilk__record_get(&expected.since_ns)) {
    }
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_unlock(&lock);
    check_equal(ilk__held_places(mine), 1);
    expect_same_share(&mine->held[0], &expected);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_destroy(&lock);
}

/* ---- Signals ---- */

static ilk_mutex of_handler;
static unsigned held_in_handler;
static bool known_in_handler;

static void try_in_handler(int number) {
    if (!ilk_mutex_try_lock(&of_handler)) {
        return;
    }
    struct ilk__record *mine = ilk__record_known();
    known_in_handler = mine != NULL;
    held_in_handler = mine != NULL ? ilk__held_places(mine) : 0;
    ilk_mutex_unlock(&of_handler);
}

TEST(a_handler_leaves_a_record_alone_that_it_has_interrupted) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&of_handler, false);
    take(&of_handler);
    on_signal(try_in_handler);
    struct ilk__record *mine = ilk__record_mine();
    const unsigned held = ilk__held_places(mine);
    check_equal(raise(SIGUSR1), 0);
    check(known_in_handler);
    check_equal(held_in_handler, held + 1);
    const uint32_t version = mine->version;
    ilk__record_begin(mine);
    check_equal(raise(SIGUSR1), 0);
    check(!known_in_handler);
    check_equal(mine->version, version + 1);
    ilk__record_end(mine);
    check_equal(raise(SIGUSR1), 0);
    check(known_in_handler);
}

static bool interrupts_hold;
bool __real_ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns);
bool __wrap_ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns);
bool __wrap_ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns) {
    if (interrupts_hold) {
        interrupts_hold = false;
        check_equal(raise(SIGUSR1), 0);
    }
    return __real_ilk__figures_add_hold(counters, hold_ns);
}

/* The handler's lock finds no place, and has the shares moved that have ended. */
TEST(a_handler_within_an_unlock_does_not_change_what_is_given_up) {
    static ilk_mutex held[ILK__HELD_MOST];
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_mutex_init(&of_handler, false);
    take(&of_handler);
    on_signal(try_in_handler);
    for (unsigned index = 0; index < ILK__HELD_MOST; index++) {
        ilk_mutex_init(&held[index], false);
        ilk_mutex_lock(&held[index]);
    }
    ilk__object_forget(&held[0]);
    interrupts_hold = true;
    ilk_mutex_unlock(&held[5]);
    check(!interrupts_hold);
    struct ilk__record *mine = ilk__record_mine();
    check(!holds(mine, &held[5]));
    for (unsigned index = 1; index < ILK__HELD_MOST; index++) {
        check(index == 5 || holds(mine, &held[index]));
    }
}

static ILK_ATOMIC(unsigned) allocations;
static bool allocation_fails; /* the next */
static _Thread_local bool allocations_fail;
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
    ilk_atomic_fetch_add(&allocations, 1, memory_order_relaxed);
    if (allocation_fails || allocations_fail) {
        allocation_fails = false;
        return NULL;
    }
    return __real_calloc(count, size);
}

/* contract: ilk_write_diagnosis */
TEST(an_object_that_there_is_no_memory_for_is_counted) {
    static ilk_mutex mutex;
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    allocation_fails = true;
    ilk_mutex_init(&mutex, false);
    check(!allocation_fails);
    check(ilk__object_find(&mutex) == NULL);
    check_contains(diagnosis(ILK_AS_JSON), "\"objects_lost\": 1,\n");
}

/* The thread does not remember it as one that is in the graph. */
TEST(an_order_that_there_is_no_memory_for_is_noted_the_next_time) {
    begin_reports();
    static ilk_mutex mutexes[3];
    for (unsigned index = 0; index < 3; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
    lock_both(&mutexes[0], &mutexes[2]); /* the thread is known from here on */
    allocation_fails = true;
    lock_both(&mutexes[0], &mutexes[1]);
    check(!allocation_fails);
    lock_both(&mutexes[0], &mutexes[1]);
    check_equal(reports.count, 0);
    lock_both(&mutexes[1], &mutexes[0]);
    check_equal(reports.count, 1);
}

static void expect_no_memory(const void *object, ilk_status status) {
    check_equal(status, ILK_NOMEM);
    check(!allocation_fails);
    check(ilk__object_find(object) == NULL);
    allocation_fails = true;
}
/* contract: ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe, ilk_semaphore_observe, ilk_spsc_observe */
TEST(what_there_is_no_memory_to_watch_is_not_watched) {
    static ilk_mutex mutex = ILK_MUTEX_INIT;
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    static ilk_semaphore permit = ILK_SEMAPHORE_INIT(1);
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    check_equal(ilk_spsc_create(&spsc, 4, sizeof(int)), ILK_OK);
    check_equal(ilk_mpmc_create(&mpmc, 4, sizeof(int)), ILK_OK);
    allocation_fails = true;
    expect_no_memory(&mutex, ilk_mutex_observe(&mutex, ILK_DIAGNOSE_ORDER));
    expect_no_memory(&lock, ilk_rwlock_observe(&lock, ILK_DIAGNOSE_ORDER));
    expect_no_memory(&permit, ilk_semaphore_observe(&permit, ILK_DIAGNOSE_ORDER));
    expect_no_memory(mpmc, ilk_mpmc_observe(mpmc, ILK_DIAGNOSE_ORDER));
    expect_no_memory(spsc, ilk_spsc_observe(spsc, ILK_DIAGNOSE_ORDER));
    allocation_fails = false;
    (void)ilk__object_of(spsc, ILK_OBJECT_SPSC);
    allocation_fails = true; /* for its samples */
    expect_no_memory(spsc, ilk_spsc_observe(spsc, ILK_DIAGNOSE_ORDER));
    allocation_fails = false;
    check_equal(ilk_spsc_observe(spsc, ILK_DIAGNOSE_ORDER), ILK_OK);
    check(ilk__object_find(spsc) != NULL);
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}

static void use_without_memory(void *mutex) {
    static ilk__facade_watch watch;
    allocations_fail = true;
    take(mutex);
    ilk__facade_work_begin(mutex, "work");
    ilk__facade_wait_begin(&watch, &watch, "wait", ILK_FOREVER);
    ilk__facade_wait_end(&watch);
    ilk__facade_work_end();
    check(ilk__record_mine() == NULL);
    allocations_fail = false;
    take(mutex);
    check(ilk__record_mine() != NULL);
}

/* It waits for the mutex, too. */
TEST(a_thread_that_there_is_no_memory_for_is_known_once_there_is) {
    static ilk_mutex mutex;
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    struct thread other;
    thread_start(&other, use_without_memory, &mutex);
    thread_await_sleep(&other);
    ilk_mutex_unlock(&mutex);
    thread_join(&other);
    check_equal(ilk__object_find(&mutex)->acquisitions, 3);
}

/* The permit that a thread gives may end the semaphore before the thread has noted that. */
TEST(a_release_says_nothing_of_the_next_object_there) {
    static ilk_semaphore permit;
    (void)ilk__object_of(&permit, ILK_OBJECT_SEMAPHORE);
    struct ilk__watch watch;
    ilk__watch_find(&watch, &permit);
    ilk__object_forget(&permit);
    const struct ilk__object *next = ilk__object_of(&permit, ILK_OBJECT_SEMAPHORE);
    ilk__watch_release_end(&watch, ILK__SHARE_WRITE, NULL);
    check(!ilk__object_has_traits(next, ILK__IS_SIGNALLED));
    ilk__watch_release(&permit, ILK__SHARE_WRITE, NULL);
    check(ilk__object_has_traits(next, ILK__IS_SIGNALLED));
}

static struct {
    ilk_rwlock lock;
    ilk_mutex mutex;
    ilk_semaphore permit;
} tried;

static void make_tried(void) {
    const ilk_rwlock lock = ILK_RWLOCK_INIT;
    const ilk_mutex mutex = ILK_MUTEX_INIT;
    const ilk_semaphore permit = ILK_SEMAPHORE_INIT(1);
    memcpy(&tried.lock, &lock, sizeof lock);
    memcpy(&tried.mutex, &mutex, sizeof mutex);
    memcpy(&tried.permit, &permit, sizeof permit);
}

static void try_each(void *unused) {
    check(ilk_rwlock_try_write_lock(&tried.lock));
    check(ilk_mutex_try_lock(&tried.mutex));
    check(ilk_semaphore_try_wait(&tried.permit));
}
static void give_each(void) {
    ilk_rwlock_downgrade(&tried.lock);
    ilk_rwlock_read_unlock(&tried.lock);
    ilk_mutex_unlock(&tried.mutex);
    ilk_semaphore_signal(&tried.permit, 1);
}
static void take_and_give_each(void) {
    ilk_rwlock_write_lock(&tried.lock);
    ilk_mutex_lock(&tried.mutex);
    ilk_semaphore_wait(&tried.permit);
    give_each();
}

static void try_and_give_without_a_record(void *unused) {
    const unsigned before = allocations;
    try_each(unused);
    give_each();
    check_equal(allocations, before);
}

/* A handler may have interrupted the allocator. */
TEST(what_handlers_call_allocates_nothing) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    make_tried();
    const unsigned before = allocations;
    try_each(NULL);
    give_each();
    check_equal(allocations, before);
    take_and_give_each();
    check(allocations > before);
    check(ilk__object_find(&tried.lock) != NULL && ilk__object_find(&tried.mutex) != NULL &&
          ilk__object_find(&tried.permit) != NULL);
    struct thread other; /* the objects are known, it is not */
    thread_start(&other, try_and_give_without_a_record, NULL);
    thread_join(&other);
}

TEST(a_lock_that_is_only_tried_is_fast_while_diagnosis_is_off) {
    make_tried();
    try_each(NULL);
    give_each();
    check_equal(ilk_atomic_load(&tried.lock.word, memory_order_relaxed), 0);
    check_equal(ilk_atomic_load(&tried.mutex.word, memory_order_relaxed), 0);
    check_equal(ilk_atomic_load(&tried.permit.word, memory_order_relaxed), 0x10);
}

static struct stage trying = STAGE_INIT;

static void try_each_and_give(void *unused) {
    sigset_t none, held;
    check_equal(sigemptyset(&none), 0);
    check_equal(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
    try_each(unused);
    give_each();
    check_equal(pthread_sigmask(SIG_SETMASK, NULL, &held), 0);
    check(!sigismember(&held, SIGUSR1) && !sigismember(&held, SIGTERM)); /* nor stay signals held back */
    stage_reach(&trying, 1);
}

/* Another thread has the tables, and it is switched off: what was watched leaves with the next call that finds the
 * tables free. */
TEST(tries_and_unlocks_do_not_wait_for_the_tables) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    make_tried();
    take_and_give_each();
    ilk_diagnose(0);
    sigset_t before;
    ilk__tables_lock(&before);
    struct thread trier;
    thread_start(&trier, try_each_and_give, NULL);
    stage_await(&trying, 1);
    ilk__tables_unlock(&before);
    thread_join(&trier);
    check(ilk__object_find(&tried.lock) != NULL && ilk__object_find(&tried.mutex) != NULL &&
          ilk__object_find(&tried.permit) != NULL);
    try_each(NULL);
    give_each();
    check(ilk__object_find(&tried.lock) == NULL && ilk__object_find(&tried.mutex) == NULL &&
          ilk__object_find(&tried.permit) == NULL);
}

/* ---- Fork ---- */

static struct stage forking = STAGE_INIT;

static void be_forked_within_a_change(void *mutex) {
    take(mutex);
    struct ilk__record *mine = ilk__record_mine();
    ilk__record_begin(mine);
    stage_reach(&forking, 1);
    stage_await(&forking, 2);
    ilk__record_end(mine);
}

static void tell_records(void *unused) {
    const struct ilk__record *mine = ilk__record_mine();
    for (const struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        const char *what = record == mine ? "mine" : ilk__record_thread(record) != 0 ? "kept" : "free";
        dprintf(STDERR_FILENO, "%s%s\n", what, (record->version & 1) != 0 ? ", within a change" : "");
    }
}

TEST(a_child_of_fork_frees_the_other_threads_records) {
    static ilk_mutex mutex;
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    take(&mutex);
    struct thread other;
    thread_start(&other, be_forked_within_a_change, &mutex);
    stage_await(&forking, 1);
    char output[256];
    check_equal(child_run(tell_records, NULL, output, sizeof output), 0);
    check_text(output, "free\nmine\n");
    stage_reach(&forking, 2);
    thread_join(&other);
}

static ILK_ATOMIC(bool) others_go_on;

/* In no module: the whole list is walked, and no file read. */
static void look_up(void *unused) {
    char module[ILK__MODULE_SIZE];
    do {
        (void)ilk__frame_function((const void *)16, module);
    } while (ilk_atomic_load(&others_go_on, memory_order_relaxed));
}

TEST(a_child_of_fork_looks_a_frame_up_though_other_threads_did) {
    need_children();
    ilk_atomic_store(&others_go_on, true, memory_order_relaxed);
    struct thread others[3];
    for (int i = 0; i < 3; i++) {
        thread_start(&others[i], look_up, NULL);
    }
    for (int i = 0; i < 200; i++) {
        const pid_t child = fork();
        if (is_child(child)) {
            /* It holds signals back where it hangs. */
            check_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
            ilk_atomic_store(&others_go_on, false, memory_order_relaxed);
            look_up(NULL);
            _exit(0);
        }
        expect_exit(child, 0);
    }
    ilk_atomic_store(&others_go_on, false, memory_order_relaxed);
    for (int i = 0; i < 3; i++) {
        thread_join(&others[i]);
    }
}

/* ---- Records that follow each other ---- */

static struct ilk__record *of_the_first;

static void leave_what_it_has(void *mutex) {
    static ilk__facade_watch watch;
    ilk__facade_work_begin(mutex, "work");
    take(mutex);
    ilk_mutex_lock(mutex);
    ilk__facade_wait_begin(&watch, &watch, "wait", ILK_FOREVER);
    of_the_first = ilk__record_mine();
    ilk__record_begin(of_the_first);
    ilk__record_add_event(of_the_first, ilk__object_find(mutex), ILK__SHARE_WRITE, 1, 1);
    ilk__record_end(of_the_first);
    check_equal(ilk__held_places(of_the_first), 1);
}

static void have_nothing(void *unused) {
    struct ilk__record *mine = ilk__record_mine();
    check(mine == of_the_first);
    check_equal(ilk__held_places(mine), 0);
    check_equal(ilk__record_get(&mine->waiting.address), 0);
    check_equal(ilk__record_get(&mine->work_count), 0);
    check_equal(ilk__record_get(&mine->event_count), 0);
}

TEST(a_record_is_empty_for_the_next_thread) {
    static ilk_mutex mutex;
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_mutex_init(&mutex, false);
    struct thread first, second;
    thread_start(&first, leave_what_it_has, &mutex);
    thread_join(&first);
    thread_start(&second, have_nothing, NULL);
    thread_join(&second);
}

static pthread_key_t late_key;
static ILK_ATOMIC(int) late_locks; /* Relaxed: of one thread until it is joined. */

/* Called twice: before the thread's record has ended, or after, and after. */
static void lock_late(void *mutex) {
    take(mutex);
    if (ilk_atomic_fetch_add(&late_locks, 1, memory_order_relaxed) == 0) {
        check_equal(pthread_setspecific(late_key, mutex), 0);
    } else {
        check(ilk__record_mine() == NULL);
    }
}
static void lock_now_and_late(void *mutex) {
    take(mutex);
    check_equal(pthread_setspecific(late_key, mutex), 0);
}

/* It would stay, and be of no thread. */
TEST(a_lock_in_a_destructor_of_thread_locals_begins_no_other_record) {
    static ilk_mutex mutex;
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_mutex_init(&mutex, false);
    check_equal(pthread_key_create(&late_key, lock_late), 0);
    struct thread thread;
    thread_start(&thread, lock_now_and_late, &mutex);
    check_equal(pthread_join(thread.id, NULL), 0);
    check_equal(ilk_atomic_load(&late_locks, memory_order_relaxed), 2);
    check_equal(ilk__object_find(&mutex)->acquisitions, 3);
}

/* ---- Names ---- */

/* contract: ilk_get_name, ilk_set_name */
TEST(each_of_many_objects_has_its_name) {
    enum { MANY = 20000 };
    static const char objects[MANY];
    char name[ILK_NAME_SIZE], expected[ILK_NAME_SIZE];
    for (int index = 0; index < MANY; index++) {
        snprintf(name, sizeof name, "object %d", index);
        check_equal(ilk_set_name(&objects[index], name), ILK_OK);
    }
    for (int index = 0; index < MANY; index += 2) {
        check_equal(ilk_set_name(&objects[index], NULL), ILK_OK);
    }
    for (int index = 0; index < MANY; index++) {
        snprintf(expected, sizeof expected, "object %d", index);
        check_equal(ilk_get_name(&objects[index], name, sizeof name), index % 2 == 1);
        check_text(name, index % 2 == 1 ? expected : "");
    }
}

/* ---- Visits ---- */

static bool counts_yields;
static unsigned yields;
void __real_ilk__thread_yield(void);
void __wrap_ilk__thread_yield(void);
void __wrap_ilk__thread_yield(void) {
    if (counts_yields) {
        sigset_t before;
        ilk__tables_lock(&before); /* another thread could */
        ilk__tables_unlock(&before);
        yields++;
    }
    __real_ilk__thread_yield();
}

static void visit(struct ilk__object *object, void *visits) {
    ++*(unsigned *)visits;
}

TEST(a_visit_of_many_objects_lets_others_have_the_tables) {
    enum { MANY = 1000 };
    static char objects[MANY];
    for (unsigned index = 0; index < MANY; index++) {
        check(ilk__object_of(&objects[index], ILK_OBJECT_MUTEX) != NULL);
    }
    unsigned visits = 0;
    counts_yields = true;
    ilk__objects_visit(visit, &visits);
    counts_yields = false;
    check_equal(visits, MANY);
    check(yields >= MANY / 100);
}

/* ---- Rings that end ---- */

static ILK_ATOMIC(uint32_t) depths_asked; /* also by the watching thread */
static size_t ask_depth(const void *ring) {
    ilk_atomic_fetch_add(&depths_asked, 1, memory_order_relaxed);
    return 0;
}

static uint32_t take_depths_asked(void) {
    return ilk_atomic_exchange(&depths_asked, 0, memory_order_relaxed);
}

TEST(a_ring_is_not_sampled_after_its_end) {
    const char ring = 0;
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk__ring_begin(&ring, ILK_OBJECT_SPSC, 4, ask_depth);
    check(!ilk__rings_sample(1)); /* contention is not watched */
    check_equal(take_depths_asked(), 0);
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    check(ilk__rings_sample(1));
    check(take_depths_asked() > 0);
    ilk__object_forget(&ring);
    (void)take_depths_asked();
    check(!ilk__rings_sample(1));
    check_equal(take_depths_asked(), 0);
}

TEST(a_ring_begins_with_samples_of_its_own) {
    static const char earlier = 0, later = 0;
    ilk_figures figures[8], mine;
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk__ring_begin(&earlier, ILK_OBJECT_SPSC, 4, ask_depth);
    check(ilk__rings_sample(1));
    ilk__object_forget(&earlier);
    ilk_diagnose(ILK_DIAGNOSE_ORDER); /* none is sampled from here on */
    ilk__ring_begin(&later, ILK_OBJECT_SPSC, 8, ask_depth);
    check(find_figures(&later, figures, ilk_figures_snapshot(figures, 8), &mine));
    check_equal(mine.capacity, 8);
    check_equal(mine.samples + mine.empty_samples, 0);
}

TEST(a_ring_may_end_while_diagnosis_is_off) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 4, sizeof(int)), ILK_OK);
    ilk_diagnose(0);
    ilk_spsc_destroy(ring);
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    check(!ilk__rings_sample(1));
}

TEST(a_destroyed_ring_is_sampled_no_more) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_spsc *spsc;
    check_equal(ilk_spsc_create(&spsc, 4, sizeof(int)), ILK_OK);
    check(ilk__rings_sample(1));
    ilk_spsc_destroy(spsc);
    check(!ilk__rings_sample(1));
    ilk_mpmc *mpmc;
    check_equal(ilk_mpmc_create(&mpmc, 4, sizeof(int)), ILK_OK);
    check(ilk__rings_sample(1));
    ilk_mpmc_destroy(mpmc);
    check(!ilk__rings_sample(1));
}
