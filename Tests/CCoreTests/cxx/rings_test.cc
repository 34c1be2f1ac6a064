// SPDX-License-Identifier: Apache-2.0
//
// Rings of objects: every lifetime is balanced, a failed push changes nothing, waits end. One body for both rings, and
// for elements that are bytes and that are not.
#include "cxx/test.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using interlock::mpmc_ring;
using interlock::ring_status;
using interlock::spsc_ring;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;

// Counts objects; knows its address, as the strings of libstdc++ do; refuses copies if told to.
struct counted {
    explicit counted(int value) : number(value), self(this) {
        refuse_if_told();
        alive++;
    }
    counted(const counted &other) : number(other.number), self(this) {
        refuse_if_told();
        alive++;
    }
    counted(counted &&other) noexcept : number(std::exchange(other.number, -1)), self(this) {
        alive++;
    }
    counted &operator=(const counted &) = delete;
    ~counted() {
        check(self == this);
        alive--;
    }

    static void refuse_if_told() {
        if (refuses) {
            throw std::runtime_error("refused");
        }
    }

    int number;
    counted *self;
    static inline std::atomic<int> alive = 0;
    static inline bool refuses = false;
};

template <template <class> class Ring> static void lifetimes_are_balanced() {
    {
        Ring<counted> ring(3);
        check_equal(ring.capacity(), 3);
        for (int lap = 0; lap < 5; lap++) {
            check(ring.try_emplace(1) && ring.try_push(counted(2)) && ring.size() == 2);
            check(ring.try_pop()->number == 1 && ring.pop()->number == 2 && !ring.try_pop());
            check_equal(counted::alive, 0);
        }
        check(ring.try_emplace(1) && ring.try_emplace(2) && ring.try_emplace(3) && !ring.try_emplace(4));
        check_equal(counted::alive, 3);
        ring.close();
        check_equal(ring.pop()->number, 1);
        check_equal(counted::alive, 2); // left in the ring
    }
    check_equal(counted::alive, 0);
}

TEST(every_element_is_destroyed_once) {
    lifetimes_are_balanced<spsc_ring>();
    lifetimes_are_balanced<mpmc_ring>();
}

template <template <class> class Ring> static void failed_pushes_change_nothing() {
    Ring<std::unique_ptr<int>> ring(1);
    check(ring.try_push(std::make_unique<int>(1)));
    auto kept = std::make_unique<int>(2);
    check(!ring.try_push(std::move(kept)) && kept != nullptr);
    check(ring.push_for(std::move(kept), 1ms) == ring_status::timed_out && kept != nullptr);
    check(ring.push_until(std::move(kept), wall::now()) == ring_status::timed_out && kept != nullptr);
    check(ring.push_until(std::move(kept), steady::time_point::min()) == ring_status::timed_out &&
          kept != nullptr);
    ring.close();
    check(ring.is_closed() && !ring.try_push(std::move(kept)) && kept != nullptr);
    check(ring.push(std::move(kept)) == ring_status::closed && kept != nullptr);
    check(ring.push_for(std::move(kept), far) == ring_status::closed && kept != nullptr && *kept == 2);
    check(**ring.pop() == 1 && !ring.pop());
}

TEST(a_push_that_fails_leaves_its_value) {
    failed_pushes_change_nothing<spsc_ring>();
    failed_pushes_change_nothing<mpmc_ring>();
}

template <template <class> class Ring> static void exceptions_change_nothing() {
    Ring<counted> ring(2);
    const counted original(7);
    check(ring.try_push(original) && original.number == 7);
    counted::refuses = true;
    check(throws<std::runtime_error>([&] { (void)ring.try_push(original); }));
    check(throws<std::runtime_error>([&] { (void)ring.push(original); }));
    check(throws<std::runtime_error>([&] { (void)ring.push_for(original, far); }));
    check(throws<std::runtime_error>([&] { (void)ring.push_until(original, steady::now()); }));
    check(throws<std::runtime_error>([&] { (void)ring.try_emplace(8); }));
    counted::refuses = false;
    check(ring.size() == 1 && counted::alive == 2);
    check(ring.push_until(original, steady::now()) == ring_status::ok); // the ring goes on
    check(ring.try_pop()->number == 7 && ring.try_pop()->number == 7 && !ring.try_pop());
}

TEST(an_exception_leaves_the_ring_as_it_was) {
    exceptions_change_nothing<spsc_ring>();
    exceptions_change_nothing<mpmc_ring>();
}

// Of both kinds of elements; `Value` is made from a number.
static int number_of(int value) {
    return value;
}
static int number_of(const std::string &value) {
    return std::stoi(value);
}
template <class Value> static Value value_of(int number) {
    if constexpr (std::is_same_v<Value, int>) {
        return number;
    } else {
        return std::to_string(number);
    }
}

// consumer    waits: asleep --------- takes it         waits: asleep ------- is told of the end
// test                       pushes                                  closes
template <class Ring> static void sleepers_wake() {
    using value = typename Ring::value_type;
    Ring ring(1);
    int sum = 0;
    {
        running consumer([&] {
            ring_status status = ring_status::closed;
            sum += number_of(*ring.pop());
            sum += number_of(*ring.pop_for(std::chrono::hours::max(), &status));
            check(status == ring_status::ok);
            sum += number_of(*ring.pop_until(wall::now() + far, &status));
            check(!ring.pop_for(std::chrono::nanoseconds::max(), &status) && status == ring_status::closed);
        });
        for (int number = 1; number <= 3; number++) {
            consumer.await_sleep();
            check(ring.try_push(value_of<value>(number)));
            while (ring.size() > 0) {
                std::this_thread::yield();
            }
        }
        consumer.await_sleep();
        ring.close();
    }
    check_equal(sum, 6);
    check(!ring.pop());
}

template <class Ring> static void pushers_wake() {
    using value = typename Ring::value_type;
    Ring ring(1);
    check(ring.push(value_of<value>(0)) == ring_status::ok);
    running producer([&] {
        check(ring.push(value_of<value>(1)) == ring_status::ok);
        const value again = value_of<value>(2);
        check(ring.push_for(again, std::chrono::hours::max()) == ring_status::ok);
        check(ring.push_until(again, wall::now() + far) == ring_status::closed);
    });
    for (int number = 0; number < 2; number++) {
        producer.await_sleep();
        check_equal(number_of(*ring.try_pop()), number);
        while (ring.size() == 0) {
            std::this_thread::yield();
        }
    }
    producer.await_sleep();
    ring.close();
}

template <class Ring> static void late_waits_end() {
    Ring ring(1);
    ring_status status = ring_status::ok;
    check(!ring.try_pop());
    check(!ring.pop_for(1ms, &status) && status == ring_status::timed_out);
    check(!ring.pop_for(-1h) && !ring.pop_until(steady::time_point::min(), &status));
    check(status == ring_status::timed_out);
    check(!ring.pop_until(wall::now() + 1ms, &status) && status == ring_status::timed_out);
    ring.close();
    check(!ring.pop_until(steady::time_point::min(), &status) && status == ring_status::closed);
}

template <class Ring> static void every_wait_ends() {
    sleepers_wake<Ring>();
    pushers_wake<Ring>();
    late_waits_end<Ring>();
}

TEST(waits_end_by_an_element_room_close_or_limit) {
    every_wait_ends<spsc_ring<int>>();
    every_wait_ends<mpmc_ring<int>>();
    every_wait_ends<spsc_ring<std::string>>();
    every_wait_ends<mpmc_ring<std::string>>();
}

// `pairs` producers and consumers; a closing consumer drains the ring first.
template <class Ring> static void all_arrive(int pairs) {
    using value = typename Ring::value_type;
    Ring ring(3);
    const int count = stress_rounds(20000);
    std::atomic<long> sum = 0;
    {
        std::vector<std::unique_ptr<running>> consumers, producers;
        for (int i = 0; i < pairs; i++) {
            consumers.push_back(std::make_unique<running>([&] {
                while (const std::optional<value> element = ring.pop()) {
                    sum += number_of(*element);
                }
            }));
            producers.push_back(std::make_unique<running>([&] {
                for (int number = 1; number <= count; number++) {
                    check(ring.push(value_of<value>(number)) == ring_status::ok);
                }
            }));
        }
        producers.clear(); // joins them
        ring.close();
    }
    check_equal(sum, static_cast<long>(pairs) * count * (count + 1) / 2);
}

TEST(what_is_pushed_is_popped_once_under_load) {
    all_arrive<spsc_ring<std::string>>(1);
    all_arrive<mpmc_ring<std::string>>(2);
    all_arrive<spsc_ring<int>>(1);
    all_arrive<mpmc_ring<int>>(2);
}

// The consumer closes while the producer pushes, at another element each round: what was accepted comes out.
template <class Ring> static void nothing_accepted_is_lost() {
    for (int round = 0; round < stress_rounds(400); round++) {
        Ring ring(2);
        int accepted = 0, popped = 0;
        {
            const running producer([&] {
                while (ring.push(std::to_string(accepted)) == ring_status::ok) {
                    accepted++;
                }
            });
            while (popped < round % 8 && ring.pop()) {
                popped++;
            }
            ring.close();
            while (ring.pop()) {
                popped++;
            }
        }
        check_equal(popped, accepted);
    }
}

TEST(a_close_beside_pushes_loses_nothing) {
    nothing_accepted_is_lost<spsc_ring<std::string>>();
    nothing_accepted_is_lost<mpmc_ring<std::string>>();
}

// ---- A wait whose arm a close takes down while a push is halfway ----

// The linker puts this where a waiter has raised its flag, and not probed the ring yet.
static thread_local std::function<void()> placed;
extern "C" void __real_ilk__fence_heavy_alone();
extern "C" void __wrap_ilk__fence_heavy_alone();
extern "C" void __wrap_ilk__fence_heavy_alone() {
    if (const auto body = std::exchange(placed, nullptr)) {
        body();
    }
    __real_ilk__fence_heavy_alone();
}

// Stops its thread while it moves into the ring, where that is told to.
struct halting {
    halting() = default;
    halting(halting &&) noexcept {
        if (halts != nullptr) {
            stage_reach(halts, 1);
            stage_await(halts, 2);
        }
    }
    static inline thread_local stage *halts = nullptr;
};

// producer                        consumer
//   push: has the slot
//                                   pop: finds nothing, raises its flag
//                                     another thread closes the ring: takes the flag down
//                                   nothing is there, but something follows: sleeps
//   the element is in
//                                   takes it; the next pop finds the end
template <template <class> class Ring> static void pop_awaits_a_push_halfway() {
    Ring<halting> ring(1);
    stage steps = STAGE_INIT;
    const running producer([&] {
        halting::halts = &steps;
        check(ring.push(halting()) == ring_status::ok);
    });
    stage_await(&steps, 1);
    {
        running consumer([&] {
            placed = [&] { ring.close(); };
            ring_status status = ring_status::closed;
            check(ring.pop_for(far, &status) && status == ring_status::ok);
            check(placed == nullptr);
            check(!ring.pop_for(far, &status) && status == ring_status::closed);
        });
        consumer.await_sleep();
        stage_reach(&steps, 2);
    }
}

TEST(a_pop_beside_a_close_awaits_the_push_that_is_halfway) {
    pop_awaits_a_push_halfway<spsc_ring>();
    pop_awaits_a_push_halfway<mpmc_ring>();
}

// The producer's part is the consumer's thread's at first: a reservation in the middle of the arm, given up.
TEST(a_pop_of_an_open_ring_does_not_end) {
    spsc_ring<std::string> ring(1);
    stage steps = STAGE_INIT;
    running consumer([&] {
        placed = [&] {
            std::size_t count = 1;
            check(ilk_spsc_reserve(ring.native_handle(), &count) != nullptr);
            ilk_spsc_commit(ring.native_handle(), 0);
            stage_reach(&steps, 1); // the part is the main thread's from here on
        };
        check(ring.pop() == "one");
        check(placed == nullptr);
    });
    stage_await(&steps, 1);
    consumer.await_sleep();
    check(ring.push("one") == ring_status::ok);
}

// closer                          producer, and the ring is full
//   close: pushes fail from now on
//                                   push: has no more to wait for, and ends
//   pops may end the ring
TEST(a_push_beside_a_close_that_is_halfway_ends) {
    spsc_ring<std::string> ring(1);
    check(ring.try_push("one"));
    stage steps = STAGE_INIT;
    const running closer([&] {
        placed = [&] {
            stage_reach(&steps, 1);
            stage_await(&steps, 2);
        };
        ring.close();
    });
    stage_await(&steps, 1);
    check(ring.push_for("two", 1ms) == ring_status::closed);
    check(!ring.is_closed()); // not yet for pops
    stage_reach(&steps, 2);
}

struct alignas(128) wide {
    explicit wide(int value) : number(std::make_unique<int>(value)) {
        check(reinterpret_cast<std::uintptr_t>(this) % alignof(wide) == 0);
    }
    wide(wide &&other) noexcept : number(std::move(other.number)) {
        check(reinterpret_cast<std::uintptr_t>(this) % alignof(wide) == 0);
    }
    std::unique_ptr<int> number;
};

TEST(wide_alignments_are_kept) {
    spsc_ring<wide> spsc(3);
    mpmc_ring<wide> mpmc(3);
    for (int i = 0; i < 3; i++) {
        check(spsc.try_emplace(i) && mpmc.try_emplace(i));
    }
    check(*spsc.pop()->number == 0 && *mpmc.pop()->number == 0);
}

TEST(capacities_that_do_not_fit_are_refused) {
    check(throws<std::invalid_argument>([] { const spsc_ring<int> ring(0); }));
    check(throws<std::invalid_argument>([] { const mpmc_ring<std::string> ring(PTRDIFF_MAX); }));
}

TEST(a_full_ring_is_overwritten) {
    mpmc_ring<int> ring(2);
    check(!ring.push_overwriting(1) && !ring.push_overwriting(2));
    check(ring.push_overwriting(3) == 1);
    ring.close();
    check(ring.push_overwriting(4) == 4);
    check(ring.pop() == 2 && ring.pop() == 3 && !ring.pop());
}

TEST(the_hook_tells_of_elements_and_room) {
    spsc_ring<int> spsc(1);
    mpmc_ring<int> mpmc(1);
    int told = 0;
    const ilk_notify hook = [](void *sum, ilk_ring_event event) { *static_cast<int *>(sum) += event; };
    spsc.set_notify(hook, &told);
    mpmc.set_notify(hook, &told);
    check(spsc.arm_pop() && mpmc.arm_pop() && told == 0);
    check(spsc.try_push(1) && mpmc.try_push(1) && told == 2 * ILK_READABLE);
    check(spsc.arm_push() && mpmc.arm_push() && !spsc.arm_pop());
    check(spsc.try_pop() && mpmc.try_pop() && told == 2 * (ILK_READABLE + ILK_WRITABLE));
}
