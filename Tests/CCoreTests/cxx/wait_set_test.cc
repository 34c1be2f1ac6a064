// SPDX-License-Identifier: Apache-2.0
//
// Wait sets of rings, semaphores and latches.
#include "cxx/wait_set_calls.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <poll.h>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using interlock::counting_semaphore;
using interlock::latch;
using interlock::mpmc_ring;
using interlock::ready_keys;
using interlock::spsc_ring;
using interlock::wait_set;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;

static_assert(!std::is_copy_constructible_v<wait_set> && !std::is_move_constructible_v<wait_set>);

// ---- Members ----

struct members {
    mpmc_ring<std::string> strings{1};
    spsc_ring<int> numbers{1};
    spsc_ring<std::unique_ptr<int>> full{1};
    mpmc_ring<int> crowded{1};
    counting_semaphore semaphore{0};
    latch opening{1};
    wait_set set;

    members() {
        check(full.try_push(nullptr) && crowded.try_push(1));
        set.add_readable(strings);
        set.add_readable(numbers);
        set.add_writable(full);
        set.add_writable(crowded);
        set.add(semaphore);
        set.add(opening);
    }
};

// Each makes a member ready, and answers its key.
static void *(*const kinds[])(members &) = {
    [](members &all) -> void * {
        check(all.strings.try_push("one"));
        return &all.strings;
    },
    [](members &all) -> void * {
        check(all.numbers.try_push(1));
        return &all.numbers;
    },
    [](members &all) -> void * {
        check(all.full.try_pop());
        return &all.full;
    },
    [](members &all) -> void * {
        check(all.crowded.try_pop());
        return &all.crowded;
    },
    [](members &all) -> void * {
        all.strings.close();
        return &all.strings;
    },
    [](members &all) -> void * {
        all.full.close();
        return &all.full;
    },
    [](members &all) -> void * {
        all.semaphore.release();
        return &all.semaphore;
    },
    [](members &all) -> void * {
        all.opening.count_down();
        return &all.opening;
    },
};

using timed_wait = bool (*)(wait_set &, ready_keys<4> &);
static const timed_wait waits[] = {
    [](wait_set &set, ready_keys<4> &ready) {
        set.wait(ready);
        return true;
    },
    [](wait_set &set, ready_keys<4> &ready) { return set.wait_for(ready, std::chrono::hours::max()); },
    [](wait_set &set, ready_keys<4> &ready) { return set.wait_until(ready, steady::now() + far); },
    [](wait_set &set, ready_keys<4> &ready) { return set.wait_until(ready, wall::now() + far); },
};

// contract: wait_set.A
TEST(each_kind_of_member_wakes_waits_of_every_kind) {
    for (auto *const make_ready : kinds) {
        for (const timed_wait wait : waits) {
            members all;
            ready_keys<4> ready;
            bool answered = false;
            void *key = nullptr;
            {
                running waiter([&] { answered = wait(all.set, ready); });
                waiter.await_sleep();
                key = make_ready(all);
            }
            check(answered && holds_only(ready, key));
        }
    }
}

// A wait of the ring goes by its hook (rings.hpp), beside the set.
// contract: wait_set.F
TEST(a_set_and_a_pop_wait_for_one_ring_of_objects) {
    mpmc_ring<std::string> ring(1);
    wait_set set;
    set.add_readable(ring);
    running popper([&] { check(ring.pop().has_value()); });
    running server([&] {
        ready_keys<1> ready;
        do {
            set.wait(ready);
        } while (!ring.try_pop());
    });
    popper.await_sleep();
    server.await_sleep();
    check(ring.push("one") == interlock::ring_status::ok && ring.push("two") == interlock::ring_status::ok);
}

// contract: ilk_wait_set_add_spsc, ilk_wait_set_add_mpmc, ilk_wait_set_add_semaphore, ilk_wait_set_add_latch
TEST(the_callers_key_stands_for_the_members_address) {
    spsc_ring<int> pair(2);
    mpmc_ring<int> crowd(2);
    counting_semaphore semaphore(1);
    latch open(0);
    int own = 0;
    wait_set set;
    check(pair.try_push(1) && crowd.try_push(1));
    for (void *key : {static_cast<void *>(&own), static_cast<void *>(nullptr)}) {
        const auto replaces = [&](auto add) {
            add();
            const bool is_answered = is_ready(set, key);
            return set.remove(key) && is_answered && is_idle(set);
        };
        check(replaces([&] { set.add_readable(pair, key); }));
        check(replaces([&] { set.add_writable(crowd, key); }));
        check(replaces([&] { set.add(semaphore, key); }));
        check(replaces([&] { set.add(open, key); }));
        semaphore.release();
    }
    set.add_readable(pair);
    set.add_writable(pair, &own); // both ends
    ready_keys<4> ready;
    check(set.try_wait(ready) && ready.size() == 2);
    for (void *key : ready) {
        check(key == &pair || key == &own);
        check(set.remove(key));
    }
    check(is_idle(set) && !set.remove(&pair));
}

// contract: wait_set.D
TEST(a_member_that_was_removed_may_be_destroyed) {
    wait_set set;
    {
        mpmc_ring<std::string> ring(1);
        counting_semaphore semaphore(0);
        set.add_readable(ring);
        set.add(semaphore);
        check(is_idle(set)); // from here on it is in the semaphore's queue
        check(ring.try_push("one"));
        check(set.remove(&ring) && set.remove(&semaphore));
    }
    check(is_idle(set));
}

TEST(an_add_that_throws_adds_nothing) {
    spsc_ring<int> ring(1);
    counting_semaphore semaphore(1);
    latch open(0);
    wait_set set;
    set.add_readable(ring);
    check(throws<std::invalid_argument>([&] { set.add_writable(ring); }));
    check(throws<std::invalid_argument>([&] { set.add_readable(ring); }));
    check(throws<std::invalid_argument>([&] { set.add(semaphore, &ring); }));
    check(throws<std::invalid_argument>([&] { set.add(open, &ring); }));
    no_memory = true;
    check(throws<std::bad_alloc>([&] { set.add(open); }));
    check(throws<std::bad_alloc>([] { const wait_set refused; }));
    no_memory = false;
    check(is_idle(set) && semaphore.try_acquire());
    check(ring.try_push(1));
    check(is_ready(set, &ring));
}

// contract: wait_set.C
TEST(an_answered_permit_is_the_callers) {
    counting_semaphore semaphore(0);
    {
        wait_set set;
        set.add(semaphore);
        check(is_idle(set));
        semaphore.release();
        check(is_ready(set, &semaphore) && !semaphore.try_acquire());
        check(is_idle(set));
        semaphore.release();
        check(set.remove(&semaphore) && semaphore.try_acquire()); // it goes back
        set.add(semaphore);
        check(is_idle(set));
        semaphore.release();
    }
    check(semaphore.try_acquire());
}

// ---- Answers ----

// contract: wait_set.B
TEST(a_wait_answers_as_many_as_there_is_room_for) {
    std::array<latch, 3> open{latch(0), latch(0), latch(0)};
    wait_set set;
    for (latch &each : open) {
        set.add(each);
    }
    std::array<int, 3> answers{};
    ready_keys<2> ready;
    for (int round = 0; round < 2; round++) {
        check(set.try_wait(ready) && ready.size() == 2);
        for (void *key : ready) {
            answers.at(static_cast<std::size_t>(static_cast<latch *>(key) - open.data()))++;
        }
    }
    check(answers[0] > 0 && answers[1] > 0 && answers[2] > 0);
    for (latch &each : open) {
        check(set.remove(&each));
    }
    check(!set.try_wait(ready) && ready.empty()); // the keys of the last wait are gone
}

// contract: ilk_wait_set_wait_until
TEST(a_wait_ends_at_its_limit) {
    latch opening(1);
    wait_set set;
    set.add(opening);
    ready_keys<1> ready;
    check(!set.try_wait(ready) && !set.wait_for(ready, 1ms) &&
          !set.wait_for(ready, std::chrono::hours::min()));
    check(!set.wait_until(ready, steady::now() + 1ms) && !set.wait_until(ready, wall::now() + 1ms));
    check(!set.wait_until(ready, wall::time_point::min()) && ready.empty());
    const auto begun = steady::now();
    check(!set.wait_for(ready, 20ms) && steady::now() >= begun + 20ms);
    opening.count_down(); // a passed limit answers what is ready
    check(set.wait_for(ready, -1h) && holds_only(ready, &opening));
    check(set.wait_until(ready, steady::time_point::min()) && holds_only(ready, &opening));
    check(set.wait_until(ready, wall::time_point::min()) && holds_only(ready, &opening));
}

// The clock stands still between readings: the wait goes on until its own clock has reached the limit.
TEST(a_wait_goes_by_the_clock_of_its_limit) {
    wait_set set;
    ready_keys<1> ready;
    set_clock::current = 0;
    set_clock::step = 1;
    check(!set.wait_until(ready, set_clock::time_point(5ms)));
    check(set_clock::current > 5);
}

// contract: ilk_wait_set_wake, wait_set.E
TEST(a_wake_ends_a_wait_with_what_is_ready) {
    latch opening(1);
    wait_set set;
    set.add(opening);
    ready_keys<4> ready;
    for (const timed_wait wait : waits) {
        bool answered = false;
        {
            running waiter([&] { answered = wait(set, ready); });
            waiter.await_sleep();
            set.wake();
        }
        check(answered && ready.empty());
        set.wake(); // before the wait
        check(wait(set, ready) && ready.empty());
    }
    set.wake();
    check(set.try_wait(ready) && ready.empty() && is_idle(set));
    opening.count_down();
    set.wake();
    check(set.try_wait(ready) && holds_only(ready, &opening));
}

// ---- The descriptor ----

#if defined(__linux__)
constexpr bool has_descriptors = true;
#else
constexpr bool has_descriptors = false;
#endif

static bool is_readable(int descriptor) {
    pollfd polled{descriptor, POLLIN, 0};
    return poll(&polled, 1, 0) == 1;
}

// contract: ilk_wait_set_descriptor
TEST(a_descriptor_is_readable_while_a_wait_has_an_answer) {
    spsc_ring<int> ring(1);
    wait_set set;
    set.add_readable(ring);
    const std::optional<int> descriptor = set.descriptor();
    check_equal(descriptor.has_value(), has_descriptors);
    if (descriptor) {
        check(is_idle(set) && !is_readable(*descriptor) && set.descriptor() == descriptor);
        check(ring.try_push(1) && is_readable(*descriptor));
        check(is_ready(set, &ring) && is_readable(*descriptor));
        check(ring.try_pop() == 1 && is_idle(set) && !is_readable(*descriptor));
    }
}

TEST(a_descriptor_that_the_system_refuses_is_nothing) {
    wait_set set;
    std::vector<int> taken;
    for (int next; (next = dup(0)) >= 0;) { // up to the limit
        taken.push_back(next);
    }
    check_equal(errno, EMFILE);
    const bool refused = !set.descriptor();
    for (const int each : taken) {
        close(each);
    }
    check(refused);
    check_equal(set.descriptor().has_value(), has_descriptors);
}
