// SPDX-License-Identifier: Apache-2.0
//
// The headers as C++17: every one is included, every primitive is used through its inline functions, and
// the layouts are handed to layout_test.c, which compares them with C's.

#include <interlock/interlock.h>

#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

// std::atomic stands in for _Atomic: same size, same alignment, no lock in a table beside it.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && alignof(std::atomic<uint32_t>) == 4, "");
static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) && alignof(std::atomic<uint64_t>) == 8, "");
static_assert(sizeof(std::atomic<bool>) == sizeof(bool), "");
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free, "");

static_assert(sizeof(ilk_rwlock) <= 16, "a lock fits in 16 bytes");
static_assert(sizeof(ilk_latch) == 4 && sizeof(ilk_barrier) == 16 && sizeof(ilk_mutex) == 8, "");

extern "C" {

size_t cxx_size_of_rwlock() {
    return sizeof(ilk_rwlock);
}
size_t cxx_size_of_semaphore() {
    return sizeof(ilk_semaphore);
}
size_t cxx_size_of_spsc() {
    return sizeof(ilk_spsc);
}
size_t cxx_size_of_mpmc() {
    return sizeof(ilk_mpmc);
}
size_t cxx_offset_of_spsc_head() {
    return offsetof(ilk_spsc, head);
}
size_t cxx_offset_of_mpmc_not_full() {
    return offsetof(ilk_mpmc, not_full);
}
void cxx_use_every_primitive();
}

static void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

static void use_rwlock() {
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    int guarded = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&guarded] {
            for (int round = 0; round < 1000; round++) {
                ilk_rwlock_write_lock(&lock);
                guarded++;
                ilk_rwlock_downgrade(&lock);
                ilk_rwlock_read_unlock(&lock);
                ilk_rwlock_upgradable_lock(&lock);
                ilk_rwlock_upgrade(&lock);
                guarded++;
                ilk_rwlock_write_unlock(&lock);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    require(guarded == 8000);
    require(ilk_rwlock_try_read_lock(&lock));
    require(!ilk_rwlock_try_write_lock(&lock));
    require(ilk_rwlock_write_lock_until(&lock, ilk_now_ns()) == ILK_TIMEDOUT);
    require(ilk_rwlock_upgradable_lock_until(&lock, ilk_now_ns()) == ILK_OK);
    ilk_rwlock_upgradable_unlock(&lock);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_destroy(&lock);
}

static void use_rings() {
    ilk_spsc *spsc = nullptr;
    ilk_mpmc *mpmc = nullptr;
    require(ilk_spsc_create(&spsc, 3, sizeof(long)) == ILK_OK);
    require(ilk_mpmc_create(&mpmc, 3, sizeof(long)) == ILK_OK);
    constexpr long count = 5000;
    std::thread first([spsc] {
        for (long i = 0; i < count; i++) {
            require(ilk_spsc_push_until(spsc, &i, sizeof i, ILK_FOREVER) == ILK_OK);
        }
        ilk_spsc_close(spsc);
    });
    std::thread second([spsc, mpmc] {
        long value;
        while (ilk_spsc_pop_until(spsc, &value, sizeof value, ILK_FOREVER) == ILK_OK) {
            require(ilk_mpmc_push_until(mpmc, &value, sizeof value, ILK_FOREVER) == ILK_OK);
        }
        ilk_mpmc_close(mpmc);
    });
    long value, expected = 0;
    while (ilk_mpmc_pop_until(mpmc, &value, sizeof value, ILK_FOREVER) == ILK_OK) {
        require(value == expected++);
    }
    first.join();
    second.join();
    require(expected == count);
    require(!ilk_spsc_try_pop(spsc, &value, sizeof value) && !ilk_mpmc_try_push(mpmc, &value, sizeof value));
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}

static void use_the_others() {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(1);
    ilk_latch latch;
    ilk_latch_init(&latch, 2);
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    int guarded = 0, lasts = 0;
    auto body = [&] {
        ilk_semaphore_wait(&semaphore);
        guarded++;
        ilk_semaphore_signal(&semaphore, 1);
        bool last = ilk_barrier_wait(&barrier);
        ilk_mutex_lock(&mutex);
        lasts += last ? 1 : 0;
        ilk_mutex_unlock(&mutex);
        ilk_latch_count_down(&latch);
    };
    std::thread thread(body);
    body();
    require(ilk_latch_wait_until(&latch, ILK_FOREVER) == ILK_OK);
    thread.join();
    require(guarded == 2 && lasts == 1);
    require(ilk_semaphore_try_wait(&semaphore) && !ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_destroy(&semaphore);
    ILK_ATOMIC(uint32_t) word(1);
    require(ilk_park_wait(&word, 0, ILK_FOREVER) == ILK_OK);
    ilk_park_wake(&word, ILK_PARK_ALL);
    char name[ILK_NAME_SIZE];
    require(ilk_set_name(&word, "word") == ILK_OK && ilk_get_name(&word, name, sizeof name));
    require(ilk_set_name(&word, nullptr) == ILK_OK);
    require(ilk_status_name(ILK_OK)[4] == 'O');
}

void cxx_use_every_primitive() {
    use_rwlock();
    use_rings();
    use_the_others();
}
