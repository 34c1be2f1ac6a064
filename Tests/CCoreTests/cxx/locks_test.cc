// SPDX-License-Identifier: Apache-2.0
//
// The lockable types with the standard library's lock objects.
#include "cxx/test.hpp"
#include "diagnostics/reports.h"

#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using interlock::shared_mutex;
using interlock::upgradable_lock;
using interlock::upgradable_mutex;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;

static_assert(sizeof(interlock::mutex) == 8 && sizeof(interlock::recursive_mutex) == 12 &&
                  sizeof(shared_mutex) == 16,
              "as small as the C objects");
static_assert(std::is_trivially_destructible_v<interlock::mutex> &&
                  std::is_trivially_destructible_v<interlock::recursive_mutex>,
              "a static one needs no destruction");

// Constant initialisation: a constructor that ran here later would free locks that are held.
extern interlock::mutex early_mutex;
extern interlock::recursive_mutex early_recursive_mutex;
extern shared_mutex early_lock;
static const bool taken_early =
    early_mutex.try_lock() && early_recursive_mutex.try_lock() && early_lock.try_lock();
interlock::mutex early_mutex;
interlock::recursive_mutex early_recursive_mutex;
shared_mutex early_lock;
static bool are_taken_then_give_up() {
    const bool taken = !early_mutex.try_lock() && !early_lock.try_lock_shared() &&
                       elsewhere([] { return !early_recursive_mutex.try_lock(); });
    early_mutex.unlock();
    early_recursive_mutex.unlock();
    early_lock.unlock();
    return taken;
}
static const bool taken_since = are_taken_then_give_up();

TEST(static_locks_are_there_before_any_constructor) {
    check(taken_early && taken_since);
}

// Every call that takes a lock of `Mutex`, by the calls of its exclusive mode.
template <class Mutex> static int takes(Mutex &mutex) {
    int taken = 0;
    const auto count = [&](bool success) {
        taken += success ? 1 : 0;
        if (success) {
            mutex.unlock();
        }
    };
    count(mutex.try_lock());
    count(mutex.try_lock_for(1ms));
    count(mutex.try_lock_for(-1h));
    count(mutex.try_lock_for(std::chrono::hours::min()));
    count(mutex.try_lock_until(steady::now()));
    count(mutex.try_lock_until(steady::time_point::min()));
    count(mutex.try_lock_until(wall::now() + 1ms));
    count(mutex.try_lock_until(wall::time_point::min()));
    return taken;
}

template <class Mutex> static int shared_takes(Mutex &mutex) {
    int taken = 0;
    const auto count = [&](bool success) {
        taken += success ? 1 : 0;
        if (success) {
            mutex.unlock_shared();
        }
    };
    count(mutex.try_lock_shared());
    count(mutex.try_lock_shared_for(1ms));
    count(mutex.try_lock_shared_for(-1h));
    count(mutex.try_lock_shared_until(steady::now()));
    count(mutex.try_lock_shared_until(wall::time_point::min()));
    return taken;
}

template <class Mutex> static void one_holder_keeps_all_out() {
    Mutex mutex;
    check_equal(takes(mutex), 8);
    {
        const std::lock_guard<Mutex> held(mutex);
        check(elsewhere([&] { return takes(mutex) == 0; }));
    }
    {
        const std::unique_lock<Mutex> held(mutex, std::chrono::hours::max());
        check(held.owns_lock());
        check(elsewhere([&] { return takes(mutex) == 0; }));
    }
    check_equal(takes(mutex), 8);
}

TEST(an_owner_keeps_all_out_by_every_call) {
    one_holder_keeps_all_out<interlock::mutex>();
    one_holder_keeps_all_out<interlock::recursive_mutex>();
    one_holder_keeps_all_out<shared_mutex>();
    one_holder_keeps_all_out<upgradable_mutex>();
}

TEST(the_owner_takes_a_recursive_mutex_again_by_every_call) {
    interlock::recursive_mutex mutex;
    {
        const std::lock_guard outer(mutex), again(mutex);
        check_equal(takes(mutex), 8);
        const std::unique_lock inner(mutex, std::try_to_lock);
        check(inner.owns_lock() && elsewhere([&] { return takes(mutex) == 0; }));
    }
    check(elsewhere([&] { return takes(mutex) == 8; }));
}

TEST(readers_hold_it_together_and_keep_writers_out) {
    shared_mutex mutex;
    const std::shared_lock<shared_mutex> reader(mutex);
    check(elsewhere([&] { return shared_takes(mutex) == 5; }));
    check(elsewhere(
        [&] { return std::shared_lock<shared_mutex>(mutex, steady::time_point::max()).owns_lock(); }));
    check(elsewhere([&] { return takes(mutex) == 0; }));
}

TEST(a_writer_keeps_readers_out) {
    shared_mutex mutex;
    const std::unique_lock<shared_mutex> writer(mutex, steady::time_point::max());
    check(elsewhere([&] { return shared_takes(mutex) == 0; }));
}

// holder      takes ------------------- gives up
// waiter            waits, for so long           takes
template <class Mutex> static void a_waiter_gets_it(void (*wait)(Mutex &)) {
    Mutex mutex;
    mutex.lock();
    running waiter([&] {
        wait(mutex);
        mutex.unlock();
    });
    waiter.await_sleep();
    mutex.unlock();
}

template <class Mutex> static void waiters_of_every_limit_get_it() {
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { mutex.lock(); });
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { check(mutex.try_lock_for(far)); });
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { check(mutex.try_lock_for(std::chrono::nanoseconds::max())); });
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { check(mutex.try_lock_until(steady::now() + far)); });
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { check(mutex.try_lock_until(wall::time_point::max())); });
    a_waiter_gets_it<Mutex>([](Mutex &mutex) { check(mutex.try_lock_until(wall::now() + far)); });
}

TEST(waits_with_any_limit_take_what_is_given_up) {
    waiters_of_every_limit_get_it<interlock::mutex>();
    waiters_of_every_limit_get_it<interlock::recursive_mutex>();
    waiters_of_every_limit_get_it<shared_mutex>();
}

TEST(two_locks_are_taken_together_in_any_order) {
    shared_mutex first;
    interlock::mutex second;
    const int rounds = stress_rounds(2000);
    int guarded = 0;
    {
        const running one([&] {
            for (int round = 0; round < rounds; round++) {
                const std::scoped_lock both(first, second);
                guarded++;
            }
        });
        const running other([&] {
            for (int round = 0; round < rounds; round++) {
                std::unique_lock<interlock::mutex> mine(second, std::defer_lock);
                std::unique_lock<shared_mutex> yours(first, std::defer_lock);
                std::lock(mine, yours);
                guarded++;
            }
        });
    }
    check_equal(guarded, 2 * rounds);
}

static ilk_mutex &mutex_of(interlock::mutex &mutex) {
    return *mutex.native_handle();
}
static ilk_mutex &mutex_of(interlock::recursive_mutex &mutex) {
    return mutex.native_handle()->mutex;
}
template <class Mutex> static void inherits_if_asked_for() {
    Mutex plain, inheriting(interlock::inherit_priority);
    // As in C: the pthread park backend has no inheritance.
    for (Mutex *mutex : {&plain, &inheriting}) {
        ilk_mutex same;
        ilk_mutex_init(&same, mutex == &inheriting);
        check_equal(mutex_of(*mutex).settings.load() & 1, same.settings.load() & 1);
    }
    check_equal(takes(inheriting), 8);
}
TEST(a_mutex_inherits_priorities_if_asked_for) {
    inherits_if_asked_for<interlock::mutex>();
    inherits_if_asked_for<interlock::recursive_mutex>();
}

TEST(a_downgraded_lock_admits_readers_and_no_writer) {
    shared_mutex mutex;
    std::unique_lock<shared_mutex> writer(mutex);
    std::shared_lock<shared_mutex> reader = interlock::downgrade(std::move(writer));
    check(!writer.owns_lock() && reader.owns_lock());
    check(elsewhere([&] { return shared_takes(mutex) == 5 && takes(mutex) == 0; }));
    reader.unlock();
    check_equal(takes(mutex), 8);
    std::unique_lock<shared_mutex> nothing;
    check(throws<std::system_error>([&] { (void)interlock::downgrade(std::move(nothing)); }));
}

static bool takes_upgradable(upgradable_mutex &mutex, int calls) {
    return elsewhere([&] {
        int taken = 0;
        taken += upgradable_lock(mutex, 1ms).owns_lock() ? 1 : 0;
        taken += upgradable_lock(mutex, steady::now()).owns_lock() ? 1 : 0;
        return taken == calls;
    });
}

TEST(an_upgradable_reads_beside_readers_and_alone_of_its_kind) {
    upgradable_mutex mutex;
    check(takes_upgradable(mutex, 2));
    const std::shared_lock<shared_mutex> reader(mutex);
    {
        const upgradable_lock held(mutex);
        check(held && !held.is_upgraded());
        check(elsewhere([&] { return shared_takes(mutex) == 5 && takes(mutex) == 0; }));
        check(takes_upgradable(mutex, 0));
    }
    check(takes_upgradable(mutex, 2));
}

TEST(an_upgrade_waits_for_readers_and_then_is_alone) {
    upgradable_mutex mutex;
    mutex.lock_shared();
    check(elsewhere([&] {
        upgradable_lock lock(mutex);
        return !lock.try_upgrade_for(1ms) && !lock.try_upgrade_until(wall::now()) && lock &&
               !lock.is_upgraded();
    }));
    running upgrader([&] {
        upgradable_lock lock(mutex);
        lock.upgrade();
        check(lock.is_upgraded());
        check(elsewhere([&] { return shared_takes(mutex) == 0; }));
        std::shared_lock<upgradable_mutex> reader = lock.downgrade();
        check(!lock.owns_lock() && reader.owns_lock());
        check(elsewhere([&] { return shared_takes(mutex) == 5 && takes(mutex) == 0; }));
    });
    upgrader.await_sleep();
    mutex.unlock_shared();
}

TEST(an_upgradable_lock_gives_up_what_it_has) {
    upgradable_mutex mutex;
    {
        upgradable_lock first(mutex, far);
        check(first.try_upgrade_for(std::chrono::hours::max()));
        upgradable_lock second(std::move(first));
        check(!first.owns_lock() && second.is_upgraded());
        upgradable_lock third;
        third = std::move(second);
        check(third.is_upgraded());
        check(throws<std::system_error>([&] { third.upgrade(); }));
    }
    check_equal(takes(mutex), 8);
    upgradable_lock again(mutex, steady::time_point::max());
    check(again.try_upgrade_until(steady::time_point::max()));
    again.unlock();
    check_equal(takes(mutex), 8);
    check(throws<std::system_error>([&] { again.unlock(); }));
    check(throws<std::system_error>([&] { (void)again.downgrade(); }));
}

static void destroy_while_held(void *) {
    shared_mutex mutex;
    mutex.lock_shared();
}

static void lock_twice(void *) {
    interlock::mutex mutex;
    mutex.lock();
    mutex.lock();
}

TEST(misuse_is_reported) {
    expect_misuse(destroy_while_held, nullptr, "ilk_rwlock_destroy", "");
    expect_misuse(lock_twice, nullptr, "ilk_mutex_lock", "");
}

namespace accounts {
static void book(interlock::mutex &mutex) {
    mutex.lock();
    __asm__ volatile(""); // no tail call
}
// The compiler neither inlines what is called through it nor makes a copy of it with another name.
static void (*volatile const booking)(interlock::mutex &) = book;
} // namespace accounts

// contract: ilk_write_diagnosis
TEST(a_report_has_the_plain_names_of_functions) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    interlock::mutex mutex;
    accounts::booking(mutex);
    check_contains(diagnosis(ILK_AS_TEXT), ", taken at accounts::book(interlock::mutex&)+0x");
    mutex.unlock();
}
