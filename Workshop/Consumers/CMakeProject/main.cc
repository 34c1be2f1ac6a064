// SPDX-License-Identifier: Apache-2.0
//
// A consumer in C++: the same as main.c, with std::thread and lambdas.

#include <interlock/interlock.h>

#include <cstdio>
#include <thread>

int main() {
    constexpr long count = 10000;
    ilk_spsc *first = nullptr;
    ilk_mpmc *second = nullptr;
    if (ilk_spsc_create(&first, 3, sizeof(long)) != ILK_OK ||
        ilk_mpmc_create(&second, 100, sizeof(long)) != ILK_OK) {
        return 1;
    }
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    long relayed = 0;
    std::thread producer([first] {
        for (long number = 1; number <= count; number++) {
            if (ilk_spsc_push_until(first, &number, sizeof number, ILK_FOREVER) != ILK_OK) {
                break;
            }
        }
        ilk_spsc_close(first);
    });
    std::thread relay([first, second, &lock, &relayed] {
        long number;
        while (ilk_spsc_pop_until(first, &number, sizeof number, ILK_FOREVER) == ILK_OK &&
               ilk_mpmc_push_until(second, &number, sizeof number, ILK_FOREVER) == ILK_OK) {
            ilk_rwlock_write_lock(&lock);
            relayed++;
            ilk_rwlock_write_unlock(&lock);
        }
        ilk_mpmc_close(second);
    });
    long sum = 0, number;
    while (ilk_mpmc_pop_until(second, &number, sizeof number, ILK_FOREVER) == ILK_OK) {
        sum += number;
    }
    producer.join();
    relay.join();
    ilk_rwlock_read_lock(&lock);
    std::printf("relayed %ld numbers, sum %ld\n", relayed, sum);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_destroy(&lock);
    ilk_spsc_destroy(first);
    ilk_mpmc_destroy(second);
}
