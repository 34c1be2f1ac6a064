/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis: the primitives while they are watched, and while that is switched.
 */
#include "../model/core.h" /* as the core: its records have these sizes */
#include "../model/diagnosis.h"
#include "work.h"
#include <diagnostics/order.h>
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <rwlock/slot_table.h>

static struct {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    uint64_t mutex_before, lock_before; /* ids of objects */
    uint32_t stage;
    ilk_object_kind kind; /* of what goes through the stages */
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

/* Beside the first call of each, which finds that it is not to be watched. */
static void observe_mutex(void) {
    ex_assert(ilk_mutex_observe(&s.mutex, ILK_DIAGNOSE_ORDER) == ILK_OK);
}
static void observe_lock(void) {
    ex_assert(ilk_rwlock_observe(&s.lock, ILK_DIAGNOSE_ORDER) == ILK_OK);
}
static void observe_semaphore(void) {
    ex_assert(ilk_semaphore_observe(&s.semaphore, ILK_DIAGNOSE_ORDER) == ILK_OK);
}
static void setup_first_calls(void) {
    setup_watched(0);
    s.mutex = (ilk_mutex)ILK_MUTEX_INIT;
    s.lock = (ilk_rwlock)ILK_RWLOCK_INIT;
    s.semaphore.word = 0x18;
}
/* Known to the tables, and not watched any more: calls that do not wait forget them, or leave that to the next while a
 * third thread has the tables. */
static void setup_watched_before(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
    ilk_diagnose(0);
}
/* Likewise, and the permit is out: a try that has taken something raises the mark again. */
static void setup_taken_before(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
    ex_assert(ilk_semaphore_try_wait(&s.semaphore));
    ilk_diagnose(0);
}
static void try_write(void) {
    if (ilk_rwlock_try_write_lock(&s.lock)) {
        do_work(1);
        ilk_rwlock_write_unlock(&s.lock);
    }
}
static void try_permit(void) {
    if (ilk_semaphore_try_wait(&s.semaphore)) {
        work_alone();
        ilk_semaphore_signal(&s.semaphore, 1);
    }
}
static void check_observed_mutex(void) {
    ex_assert((s.mutex.word & UINT32_C(0x40000000)) != 0 && ilk__object_is_watched_at(&s.mutex));
}
static void check_observed_lock(void) {
    ex_assert((s.lock.word & 0x10) != 0 && ilk__object_is_watched_at(&s.lock));
}
static void check_observed_semaphore(void) {
    ex_assert((s.semaphore.word & 0x8) != 0 && ilk__object_is_watched_at(&s.semaphore));
}

#define OBSERVED(identifier, text, begins, checks, ...)                                                      \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "watched-observe-" text, .claim = "what observe has answered stands beside other calls",     \
        .setup = begins, .threads = {__VA_ARGS__}, .check = checks, .step_limit = 20000, .sc_bound = 2,      \
        .weak_bound = 2                                                                                      \
    }

OBSERVED(observed_lock, "lock", setup_first_calls, check_observed_mutex, observe_mutex, lock);
OBSERVED(observed_try_lock, "try_lock", setup_first_calls, check_observed_mutex, observe_mutex, try_lock);
OBSERVED(observed_write, "write", setup_first_calls, check_observed_lock, observe_lock, write);
OBSERVED(observed_try_write, "try_write", setup_first_calls, check_observed_lock, observe_lock, try_write);
OBSERVED(observed_permit, "permit", setup_first_calls, check_observed_semaphore, observe_semaphore, permit);
OBSERVED(observed_try_permit, "try_permit", setup_first_calls, check_observed_semaphore, observe_semaphore,
         try_permit);
OBSERVED(observed_again, "again-try_lock", setup_watched_before, check_observed_mutex, observe_mutex,
         try_lock, observe_semaphore);
OBSERVED(observed_again_write, "again-try_write", setup_watched_before, check_observed_lock, observe_lock,
         try_write, observe_mutex);
OBSERVED(observed_again_permit, "again-try_permit", setup_watched_before, check_observed_semaphore,
         observe_semaphore, try_permit, observe_mutex);
OBSERVED(observed_again_taken, "again-try_taken", setup_taken_before, check_observed_semaphore,
         observe_semaphore, try_permit, observe_mutex);

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

/* A thread that comes late does not make anew what the other has, and what is known of it. */
static void setup_first_permits(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
    ilk_semaphore_destroy(&s.semaphore);
    s.semaphore.word = 0x18;
}
static void check_known_permit(void) {
    const struct ilk__object *object = ilk__object_find(&s.semaphore);
    ex_expect(ilk__object_has_traits(object, ILK__IS_BALANCED) &&
                  !ilk__object_has_traits(object, ILK__IS_SIGNALLED),
              "a permit that each thread gives back is not known for a lock");
    check_watched();
}
EX_SCENARIO(first_permits){
    .name = "watched-permit-permit-first",
    .claim = "two first calls make one object, which is known for a lock",
    .setup = setup_first_permits,
    .threads = {permit, permit},
    .check = check_known_permit,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 1,
};

/* Defined where locks were that have ended without a word, and were watched by themselves. */
static uint64_t id_before(const void *address) {
    return address == &s.mutex ? s.mutex_before : s.lock_before;
}
static void setup_defined_anew(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
    observe_mutex();
    observe_lock();
    s.mutex_before = ilk__object_id(ilk__object_find(&s.mutex));
    s.lock_before = ilk__object_id(ilk__object_find(&s.lock));
    s.mutex = (ilk_mutex)ILK_MUTEX_INIT;
    s.lock = (ilk_rwlock)ILK_RWLOCK_INIT;
}
static void expect_to_hold(const void *address) {
    const struct ilk__record *record = ilk__record_mine();
    const uint64_t id = ilk__record_get(&record->held[0].id);
    ex_expect(ilk__held_places(record) == 1 && id != id_before(address) &&
                  id == ilk__object_id(ilk__object_find(address)),
              "a thread does not hold what it has locked, but what was there before");
}
static void lock_defined(void) {
    ilk_mutex_lock(&s.mutex);
    expect_to_hold(&s.mutex);
    work_alone();
    ilk_mutex_unlock(&s.mutex);
}
static void write_defined(void) {
    ilk_rwlock_write_lock(&s.lock);
    expect_to_hold(&s.lock);
    do_work(1);
    ilk_rwlock_write_unlock(&s.lock);
}
#define DEFINED(identifier, text, ...)                                                                       \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "watched-defined-" text, .claim = "what a thread takes is held of the lock that is there",   \
        .setup = setup_defined_anew, .threads = {__VA_ARGS__}, .check = check_watched, .step_limit = 20000,  \
        .sc_bound = 2, .weak_bound = 2, .stale_in_a_row = 8                                                  \
    }
DEFINED(defined_mutexes, "lock-lock", lock_defined, lock_defined);
DEFINED(defined_locks, "write-write", write_defined, write_defined);
DEFINED(defined_observed, "observe-write", observe_lock, write_defined);

/* What is held stays known while diagnosis is off, or is forgotten with the lock. */
static void expect_to_hold_nothing(void) {
    const struct ilk__record *record = ilk__record_mine();
    ex_expect(ilk__held_places(record) == 0 || !ilk__is_held_still(&record->held[0]),
              "a thread holds what it has given up");
}
static void setup_held(void) {
    setup_watched(ILK_DIAGNOSE_ALL);
}
static void lock_and_unlock_unwatched(void) {
    ilk_rwlock_write_lock(&s.lock);
    ilk_diagnose(0);
    ilk_rwlock_write_unlock(&s.lock);
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    expect_to_hold_nothing();
}
static void try_to_write(void) {
    if (ilk_rwlock_try_write_lock(&s.lock)) {
        ilk_rwlock_write_unlock(&s.lock);
    }
}
EX_SCENARIO(watched_off_on){
    .name = "watched-off-on",
    .claim = "a lock that is given up while diagnosis is off is not held when it is on again",
    .setup = setup_held,
    .threads = {lock_and_unlock_unwatched, try_to_write, observe_mutex},
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 1,
};

/* An observe that forgets the object and begins it anew, beside the call that notes what it takes, and a next one. */
static void setup_observed(void) {
    setup_watched(0);
    observe_mutex();
    observe_lock();
    observe_semaphore();
}
static void lock_observed(void) {
    lock();
    lock();
}
static void try_lock_observed(void) {
    try_lock();
    lock();
}
static void write_observed(void) {
    write();
    write();
}
static void try_write_observed(void) {
    try_write();
    write();
}
static void permit_observed(void) {
    permit();
    permit();
}
static void try_permit_observed(void) {
    try_permit();
    permit();
}
/* The reader has a slot, which a fast path gives up without a look at the word. */
static void setup_slots(void) {
    setup_observed();
    s.lock.word |= ILK__RWLOCK_SLOTS;
    ilk__slot_table_2.chunks.blocks[0].taken = 1;
    ilk__slot_table_2.block_count = 1;
}
static void read_observed(void) {
    ilk__set_my_slots(&ilk__slot_table_2.chunks.blocks[0]);
    read();
    write();
}
static void observe_mutex_anew(void) {
    ex_assert(ilk_mutex_observe(&s.mutex, 0) == ILK_OK);
    observe_mutex();
}
static void observe_lock_anew(void) {
    ex_assert(ilk_rwlock_observe(&s.lock, 0) == ILK_OK);
    observe_lock();
}
static void observe_semaphore_anew(void) {
    ex_assert(ilk_semaphore_observe(&s.semaphore, 0) == ILK_OK);
    observe_semaphore();
}
/* OBSERVED goes down while a thread holds, and comes up after it has given up: what it has noted is held of the object
 * before. The model does not see the stages, which order nothing. */
static void wait_for(uint32_t stage) {
    while (s.stage < stage) {
        ilk_cpu_relax();
    }
}
static void setup_stages(void) {
    setup_observed();
    permit(); /* which is known for a lock then */
    s.stage = 0;
}
static void setup_mutex_stages(void) {
    setup_stages();
    s.kind = ILK_OBJECT_MUTEX;
}
static void setup_lock_stages(void) {
    setup_stages();
    s.kind = ILK_OBJECT_RWLOCK;
}
static void setup_permit_stages(void) {
    setup_stages();
    s.kind = ILK_OBJECT_SEMAPHORE;
}
static void take(void) {
    if (s.kind == ILK_OBJECT_MUTEX) {
        ilk_mutex_lock(&s.mutex);
    } else if (s.kind == ILK_OBJECT_RWLOCK) {
        ilk_rwlock_write_lock(&s.lock);
    } else {
        ilk_semaphore_wait(&s.semaphore);
    }
}
static void give(void) {
    if (s.kind == ILK_OBJECT_MUTEX) {
        ilk_mutex_unlock(&s.mutex);
    } else if (s.kind == ILK_OBJECT_RWLOCK) {
        ilk_rwlock_write_unlock(&s.lock);
    } else {
        ilk_semaphore_signal(&s.semaphore, 1);
    }
}
static void observe(uint32_t what) {
    ex_assert((s.kind == ILK_OBJECT_MUTEX    ? ilk_mutex_observe(&s.mutex, what)
               : s.kind == ILK_OBJECT_RWLOCK ? ilk_rwlock_observe(&s.lock, what)
                                             : ilk_semaphore_observe(&s.semaphore, what)) == ILK_OK);
}
static void take_in_stages(void) {
    take();
    s.stage = 1;
    wait_for(2);
    give();
    s.stage = 3;
    wait_for(4);
    take();
    give();
}
static void observe_in_stages(void) {
    wait_for(1);
    observe(0);
    s.stage = 2;
    wait_for(3);
    observe(ILK_DIAGNOSE_ORDER);
    s.stage = 4;
}
/* Beside a call that finds no object yet: OBSERVED does not go down between what it asks and what it does. */
static void setup_first_stages(void) {
    setup_first_calls();
    s.stage = 0;
}
static void write_watched(void) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_rwlock_write_lock(&s.lock);
    s.stage = 1;
    wait_for(2);
    ilk_rwlock_write_unlock(&s.lock);
    wait_for(3);
    write();
}
static void try_read_in_stages(void) {
    wait_for(1);
    s.stage = 2;
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        ilk_rwlock_read_unlock(&s.lock);
    }
    s.stage = 3;
}

#define ANEW(identifier, text, begins, ...)                                                                  \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "watched-anew-" text, .claim = "a thread does not wait for what it has given up",            \
        .setup = begins, .threads = {__VA_ARGS__}, .check = check_watched, .step_limit = 20000,              \
        .sc_bound = 3, .weak_bound = 1, .stale_in_a_row = 8                                                  \
    }
ANEW(anew_lock, "lock", setup_observed, lock_observed, observe_mutex_anew);
ANEW(anew_try_lock, "try_lock", setup_observed, try_lock_observed, observe_mutex_anew);
ANEW(anew_write, "write", setup_observed, write_observed, observe_lock_anew);
ANEW(anew_try_write, "try_write", setup_observed, try_write_observed, observe_lock_anew);
ANEW(anew_read, "read", setup_slots, read_observed, observe_lock_anew);
ANEW(anew_permit, "permit", setup_observed, permit_observed, observe_semaphore_anew);
ANEW(anew_try_permit, "try_permit", setup_observed, try_permit_observed, observe_semaphore_anew);
ANEW(anew_stages_lock, "stages-lock", setup_mutex_stages, take_in_stages, observe_in_stages);
ANEW(anew_stages_write, "stages-write", setup_lock_stages, take_in_stages, observe_in_stages);
ANEW(anew_stages_first, "stages-first", setup_first_stages, write_watched, try_read_in_stages);
ANEW(anew_stages_permit, "stages-permit", setup_permit_stages, take_in_stages, observe_in_stages);

WATCHED(switched_mutex, "lock-lock-switch", setup_off, lock, lock_until, switch_mutex);
WATCHED(switched_lock, "write-read-switch", setup_off, write, read, switch_lock);
WATCHED(switched_semaphore, "permit-permit-switch", setup_off, permit, permit, switch_semaphore);
WATCHED(switched_all, "lock-write-switch_all", setup_off, lock, write, switch_all);

EX_MUST_REACH(states){
    {"watched-lock-lock", {EX_MUTEX_SLEEPS, EX_MUTEX_WAKES}},
    {"watched-lock-lock-switch", {EX_MUTEX_WAKES}},
    {"watched-lock-try_lock-lock_until", {EX_MUTEX_SLEEPS, EX_MUTEX_WAKES, EX_MUTEX_LATE}},
    {"watched-permit-permit watched-permit-permit-switch", {EX_SEMAPHORE_WAITS}},
    {"watched-write-read", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS}},
};

EX_CANNOT_REACH(no_states){
    {"watched-observe-permit watched-observe-try_permit", {EX_SEMAPHORE_LEFT_TO_HOLDER}},
};
