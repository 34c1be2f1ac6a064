/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis: the order graph and the threads' records beside their readers, and the primitives while they are watched
 * and while that is switched.
 */
#include "../model/diagnosis.h"
#include "work.h"
#include <diagnostics/observe.h>
#include <diagnostics/report.h>
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>

/* ---- The graph ---- */

/* Locks that nothing guards: the threads only say that they take them, so that no schedule deadlocks. */
static struct {
    char a, b, c;
    unsigned ended;
} said;

static void setup_graph(void) {
    *ex_reports() = (struct ex_reports){0};
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    (void)ilk__object_begin(&said.a, ILK_OBJECT_MUTEX, 0, 0);
    (void)ilk__object_begin(&said.b, ILK_OBJECT_MUTEX, 0, 0);
    (void)ilk__object_begin(&said.c, ILK_OBJECT_MUTEX, 0, 0);
}

static void take(const char *object) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, object, ILK_OBJECT_MUTEX, ILK__SHARE_WRITE, false, UINT64_MAX, NULL);
    ilk__watch_end(&watch, true, false);
}
static void take_both(const char *first, const char *second) {
    take(first);
    take(second);
    ilk__watch_release(second, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(first, ILK__SHARE_WRITE, NULL);
}
static void a_then_b(void) {
    take_both(&said.a, &said.b);
}
static void b_then_a(void) {
    take_both(&said.b, &said.a);
}
static void b_then_c(void) {
    take_both(&said.b, &said.c);
}
static void c_then_a(void) {
    take_both(&said.c, &said.a);
}
static void c_ends(void) {
    ilk__object_forget(&said.c);
    (void)ilk__object_begin(&said.c, ILK_OBJECT_MUTEX, 0, 0);
}

static void check_one_inversion(void) {
    ex_expect(ex_reports()->inversions == 1, "%u inversions are reported", ex_reports()->inversions);
}
static void check_circle_of_three(void) {
    check_one_inversion();
    ex_assert(ex_reports()->latest_count == 3);
}
static void check_silence(void) {
    ex_expect(ex_reports()->inversions == 0, "%u inversions are reported", ex_reports()->inversions);
}

#define GRAPH(identifier, text, says, checks, ...)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "order-" text, .claim = says, .setup = setup_graph, .threads = {__VA_ARGS__},                \
        .check = checks, .step_limit = 20000, .sc_bound = 2, .weak_bound = 1                                 \
    }

GRAPH(order_two, "opposite", "of two opposite orders exactly one is reported", check_one_inversion, a_then_b,
      b_then_a);
GRAPH(order_three, "three", "the third of three orders in a circle is reported", check_circle_of_three,
      a_then_b, b_then_c, c_then_a);
GRAPH(order_same, "same", "the same order is silent", check_silence, a_then_b, a_then_b);
GRAPH(order_ended, "ended", "an order with what has ended is not one with its successor", check_silence,
      a_then_b, a_then_b, c_ends);

static void c_then_a_after_end(void) {
    c_ends();
    take_both(&said.c, &said.a);
}
GRAPH(order_reused, "reused", "orders of an object that has ended do not close a circle", check_silence,
      c_then_a_after_end, b_then_c);

/* ---- Records ---- */

static void setup_record(void) {
    setup_graph();
    said.ended = 0;
}

static void hold_and_release(void) {
    take(&said.a);
    take(&said.b);
    ilk__watch_release(&said.a, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
}

/* Every copy is a state that the record has had: nothing, a, a and b, or b. */
static void copy_record(void) {
    static struct ilk__record copy;
    for (struct ilk__record *record = ilk__records_first(); record != NULL; record = record->next) {
        if (!ilk__record_copy(record, &copy)) {
            continue;
        }
        const unsigned count = ilk__held_places(&copy);
        ex_assert(count <= 2);
        const void *first = count > 0 ? ilk__object_address(ilk__held_object(&copy.held[0])) : NULL;
        const void *second = count > 1 ? ilk__object_address(ilk__held_object(&copy.held[1])) : NULL;
        ex_expect(count != 2 || (first == &said.a && second == &said.b), "a copy mixes two states");
        ex_expect(count != 1 || first == &said.a || first == &said.b, "a copy has what was never held");
    }
}

EX_SCENARIO(record_copy){
    .name = "record-copy",
    .claim = "a copy of a record is one of its states",
    .setup = setup_record,
    .threads = {hold_and_release, copy_record},
    .step_limit = 40000,
    .sc_bound = 2,
    .weak_bound = 1,
};

/* ---- Watched primitives ---- */

static struct {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    uint32_t expected;
} s;

static void setup_watched(uint32_t what) {
    *ex_reports() = (struct ex_reports){0};
    begin_work();
    s.expected = 0;
    ilk_diagnose(what);
    ilk_mutex_init(&s.mutex, false);
    ilk_rwlock_init(&s.lock);
    ilk_semaphore_init(&s.semaphore, 1);
}
static void setup_on(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
}
static void setup_off(void) {
    setup_watched(0);
}
static void work_alone(void) {
    do_work(0);
    s.expected++;
}

static void lock(void) {
    ilk_mutex_lock(&s.mutex);
    work_alone();
    ilk_mutex_unlock(&s.mutex);
}
static void try_lock(void) {
    if (ilk_mutex_try_lock(&s.mutex)) {
        work_alone();
        ilk_mutex_unlock(&s.mutex);
    }
}
static void lock_until(void) {
    if (ilk_mutex_lock_until(&s.mutex, SOON) == ILK_OK) {
        work_alone();
        ilk_mutex_unlock(&s.mutex);
    }
}
static void write(void) {
    ilk_rwlock_write_lock(&s.lock);
    do_work(1);
    ilk_rwlock_write_unlock(&s.lock);
}
static void read(void) {
    ilk_rwlock_read_lock(&s.lock);
    see_work(1, 0);
    ilk_rwlock_read_unlock(&s.lock);
}
static void permit(void) {
    ilk_semaphore_wait(&s.semaphore);
    work_alone();
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void switch_mutex(void) {
    ex_assert(ilk_mutex_observe(&s.mutex, ILK_DIAGNOSE_ORDER) == ILK_OK);
    ex_assert(ilk_mutex_observe(&s.mutex, 0) == ILK_OK);
}
static void switch_lock(void) {
    ex_assert(ilk_rwlock_observe(&s.lock, ILK_DIAGNOSE_ORDER) == ILK_OK);
    ex_assert(ilk_rwlock_observe(&s.lock, 0) == ILK_OK);
}
static void switch_semaphore(void) {
    ex_assert(ilk_semaphore_observe(&s.semaphore, ILK_DIAGNOSE_ORDER) == ILK_OK);
    ex_assert(ilk_semaphore_observe(&s.semaphore, 0) == ILK_OK);
}
static void switch_all(void) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_diagnose(0);
}

static void check_watched(void) {
    ex_assert(work[0] == s.expected);
    ex_expect((s.mutex.word & ~UINT32_C(0x40000000)) == 0, "the mutex's word is 0x%x after all",
              s.mutex.word);
    ex_expect((s.semaphore.word & ~UINT32_C(0x8)) == 0x10, "the semaphore's word is 0x%x after all",
              s.semaphore.word);
    ex_expect(ex_reports()->inversions + ex_reports()->self_waits == 0, "a correct program is reported");
    ilk_rwlock_destroy(&s.lock);
    ilk_semaphore_destroy(&s.semaphore);
}

#define WATCHED(identifier, text, sets_up, ...)                                                              \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "watched-" text, .claim = "watching changes no answer, and loses no wake-up",                \
        .setup = sets_up, .threads = {__VA_ARGS__}, .check = check_watched, .step_limit = 20000,             \
        .sc_bound = 2, .weak_bound = 1, .timeouts = 1, .spurious_wakeups = 1                                 \
    }

WATCHED(watched_lock_lock, "lock-lock", setup_on, lock, lock);
WATCHED(watched_lock_try_until, "lock-try_lock-lock_until", setup_on, lock, try_lock, lock_until);
WATCHED(watched_write_read, "write-read", setup_on, write, read);
WATCHED(watched_permits, "permit-permit", setup_on, permit, permit);
WATCHED(switched_mutex, "lock-lock-switch", setup_off, lock, lock_until, switch_mutex);
WATCHED(switched_lock, "write-read-switch", setup_off, write, read, switch_lock);
WATCHED(switched_semaphore, "permit-permit-switch", setup_off, permit, permit, switch_semaphore);
WATCHED(switched_all, "lock-write-switch_all", setup_off, lock, write, switch_all);
