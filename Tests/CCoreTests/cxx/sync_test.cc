// SPDX-License-Identifier: Apache-2.0
//
// Semaphore, latch and barrier under the names of C++20.
#include "cxx/test.hpp"

using namespace std::chrono_literals;
using interlock::barrier;
using interlock::counting_semaphore;
using interlock::latch;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;
// contract: ilk_semaphore_try_signal
TEST(a_semaphore_gives_its_permits) {
    counting_semaphore semaphore(2);
    check(semaphore.try_acquire() && semaphore.try_acquire_for(1ms) && !semaphore.try_acquire());
    check(!semaphore.try_acquire_for(1ms) && !semaphore.try_acquire_for(std::chrono::hours::min()));
    check(!semaphore.try_acquire_until(steady::now()) &&
          !semaphore.try_acquire_until(wall::time_point::min()));
    semaphore.release(3);
    semaphore.acquire();
    check(semaphore.try_acquire_until(steady::time_point::min()) && semaphore.try_acquire_until(wall::now()));
    check(!semaphore.try_acquire());
    semaphore.release();
    check(semaphore.try_acquire() && !semaphore.try_acquire());
    check(semaphore.try_release(counting_semaphore::max()) && !semaphore.try_release());
}

// contract: ilk_semaphore_init_barging
TEST(a_semaphore_may_barge) {
    counting_semaphore semaphore(1, interlock::barging);
    check(semaphore.try_acquire() && !semaphore.try_acquire_for(1ms));
    running waiter([&] { semaphore.acquire(); });
    waiter.await_sleep();
    semaphore.release();
}

TEST(a_semaphore_wakes_waits_of_every_kind) {
    counting_semaphore semaphore(0);
    running first([&] { semaphore.acquire(); });
    running second([&] { check(semaphore.try_acquire_for(std::chrono::hours::max())); });
    running third([&] { check(semaphore.try_acquire_until(wall::now() + far)); });
    first.await_sleep();
    second.await_sleep();
    third.await_sleep();
    semaphore.release(3);
}

TEST(a_latch_opens_at_zero) {
    latch done(3);
    check(!done.try_wait() && !done.wait_for(1ms) && !done.wait_until(wall::now()));
    done.count_down(2);
    check(!done.try_wait() && !done.wait_until(steady::time_point::min()));
    done.count_down();
    check(done.try_wait() && done.wait_for(-1s) && done.wait_until(steady::time_point::min()));
    done.wait();
    check(latch(0).try_wait());
}

TEST(a_latch_wakes_waits_of_every_kind) {
    latch done(2);
    running first([&] { done.wait(); });
    running second([&] { check(done.wait_for(std::chrono::nanoseconds::max())); });
    running third([&] { check(done.wait_until(steady::now() + far)); });
    running fourth([&] { done.arrive_and_wait(); });
    first.await_sleep();
    second.await_sleep();
    third.await_sleep();
    fourth.await_sleep();
    done.arrive_and_wait();
}

TEST(a_barrier_tells_one_party_a_round) {
    barrier meeting(2);
    const int rounds = stress_rounds(500);
    int lasts[2] = {0, 0};
    const auto meet = [&](int &mine) {
        for (int round = 0; round < rounds; round++) {
            mine += meeting.arrive_and_wait() ? 1 : 0;
        }
    };
    {
        const running other([&] { meet(lasts[1]); });
        meet(lasts[0]);
    }
    check_equal(lasts[0] + lasts[1], rounds);
}

// A late party takes its arrival back: the round needs two others.
TEST(a_barrier_that_is_not_complete_answers_nothing) {
    barrier meeting(2);
    check(!meeting.arrive_and_wait_for(1ms).has_value());
    check(!meeting.arrive_and_wait_until(wall::now()).has_value());
    std::optional<bool> first;
    {
        running waiter([&] { first = meeting.arrive_and_wait_for(std::chrono::hours::max()); });
        waiter.await_sleep();
        check(meeting.arrive_and_wait_until(steady::time_point::min()) == std::optional<bool>(true));
    }
    check(first == std::optional<bool>(false));
}

static void no_permits(void *) {
    const counting_semaphore semaphore(-0xFFFFFFFFLL); // cut to 32 bits it is 1
}
static void too_many_permits(void *) {
    counting_semaphore semaphore(counting_semaphore::max());
    semaphore.release();
}
static void less_than_none(void *) {
    counting_semaphore semaphore(1);
    semaphore.release(-1);
}
static void a_negative_count(void *) {
    const latch done(-1);
}
static void more_than_there_was(void *) {
    latch done(1);
    done.count_down(2);
}
static void fewer_than_none(void *) {
    latch done(1);
    done.count_down(-1);
}
static void no_parties(void *) {
    const barrier meeting(0x100000000);
}

TEST(numbers_out_of_range_are_misuse) {
    expect_misuse(no_permits, nullptr, "ilk_semaphore_init", "");
    expect_misuse(too_many_permits, nullptr, "ilk_semaphore_signal", "");
    expect_misuse(less_than_none, nullptr, "ilk_semaphore_signal", "");
    expect_misuse(a_negative_count, nullptr, "ilk_latch_init", "");
    expect_misuse(more_than_there_was, nullptr, "ilk_latch_count_down", "");
    expect_misuse(fewer_than_none, nullptr, "ilk_latch_count_down", "");
    expect_misuse(no_parties, nullptr, "ilk_barrier_init", "");
}
