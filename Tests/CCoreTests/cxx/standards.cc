// SPDX-License-Identifier: Apache-2.0
//
// Compiled as each C++ standard, with the warnings that C++ projects turn on, and once without exceptions: compiling is
// the test.
#include <interlock/interlock.hpp>

#include <string>

template class interlock::detail::ring<int, interlock::detail::spsc_calls>;
template class interlock::spsc_ring<int *>;
template class interlock::mpmc_ring<double>;
template class interlock::spsc_ring<std::unique_ptr<int>>;
template class interlock::mpmc_ring<std::unique_ptr<int>>;

#if __cplusplus >= 202002L
constinit interlock::mutex constant_mutex;
constinit interlock::shared_mutex constant_shared_mutex;
constinit interlock::upgradable_mutex constant_upgradable_mutex;
#endif

bool use_every_type();
bool use_every_type() {
    using namespace std::chrono_literals;
    static interlock::upgradable_mutex mutex;
    interlock::upgradable_lock lock(mutex, 1.5s);
    bool all = lock.try_upgrade_until(std::chrono::system_clock::now());
    interlock::counting_semaphore semaphore(1);
    interlock::latch latch(1);
    interlock::barrier barrier(1);
    all = all && semaphore.try_acquire_for(1h) && barrier.arrive_and_wait() && !latch.try_wait();
    interlock::spsc_ring<std::string> strings(1);
    interlock::mpmc_ring<std::unique_ptr<int>> pointers(1);
    all = all && strings.try_push("one") && pointers.push(nullptr) == interlock::ring_status::ok;
    all = all && strings.pop_until(std::chrono::steady_clock::now()) && pointers.pop();
    interlock::wait_set set;
    interlock::ready_keys<2> ready;
    set.add_readable(strings);
    set.add_writable(pointers);
    set.add(latch);
    set.wake();
    all = all && set.wait_for(ready, 1h) && set.remove(&latch) && !ready.empty();
    interlock::pool pool;
    return all && pool.post([] {}) && pool.submit([] { return 1; }).get() == 1;
}
