/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread_mutex_t, plain and with priority inheritance, and sem_t, as a lock of one permit and as a baton.
 */
#include "../baton.h"
#include "../lock.h"

#include <cerrno>
#include <pthread.h>
#include <semaphore.h>

namespace bench {
namespace {

template <bool inherits> struct Mutex {
    static constexpr const char *name = inherits ? "pthread_mutex (inheriting)" : "pthread_mutex";
    pthread_mutex_t mutex;

    Mutex() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setprotocol(&attributes, inherits ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
        pthread_mutex_init(&mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    ~Mutex() {
        pthread_mutex_destroy(&mutex);
    }
    BENCH_INLINE void lock() {
        pthread_mutex_lock(&mutex);
    }
    BENCH_INLINE void unlock() {
        pthread_mutex_unlock(&mutex);
    }
};

template <unsigned permits> struct Semaphore {
    static constexpr const char *name = "sem_t";
    sem_t semaphore;

    Semaphore() {
        sem_init(&semaphore, 0, permits);
    }
    ~Semaphore() {
        sem_destroy(&semaphore);
    }
    BENCH_INLINE void wait() {
        while (sem_wait(&semaphore) != 0 && errno == EINTR) {
        }
    }
    BENCH_INLINE void signal() {
        sem_post(&semaphore);
    }
    BENCH_INLINE void lock() {
        wait();
    }
    BENCH_INLINE void unlock() {
        signal();
    }
};

const Enlisted mutex{1, make_contender<OneMode<Mutex<false>>>()};
const Enlisted inheriting{3, make_contender<OneMode<Mutex<true>>>()};
const Enlisted semaphore{6, make_contender<OneMode<Semaphore<1>>>()};
const EnlistedBaton baton{2, {Semaphore<0>::name, pass_baton<Semaphore<0>>}};

} // namespace
} // namespace bench
